//! Answers that come in parts: a stream of [server-sent events](https://html.spec.whatwg.org/multipage/server-sent-events.html).

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::{
    Response,
    body::{Body as HttpBody, Frame},
    header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue},
};
use tokio::sync::mpsc;

use super::Body;
use crate::server::outbox::Queued;

/// Messages as events, until no sender is left. The sender notices when this is dropped.
pub(super) struct Events {
    /// The first one, where it was waited for.
    first: Option<Queued>,
    rest: mpsc::Receiver<Queued>,
}

impl Events {
    /// A response whose events are these messages.
    pub(super) fn response(messages: mpsc::Receiver<Queued>) -> Response<Body> {
        Self { first: None, rest: messages }.into_response()
    }

    /// The same, once the first message is there: what is there then is one write with the head.
    pub(super) async fn begun(mut messages: mpsc::Receiver<Queued>) -> Response<Body> {
        let first = messages.recv().await;
        Self { first, rest: messages }.into_response()
    }

    fn into_response(self) -> Response<Body> {
        let mut res = Response::new(self.boxed_unsync());
        let headers = res.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        // A proxy in between sends each event at once.
        headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
        res
    }
}

impl HttpBody for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let message = match self.first.take() {
            Some(first) => Poll::Ready(Some(first)),
            None => self.rest.poll_recv(cx),
        };
        message.map(|message| {
            let Queued { bytes: message, .. } = message?;
            // JSON has no line breaks, so that an event has one line of data. A comment is a sign of life.
            let event = match message.is_empty() {
                true => b":\n\n".to_vec(),
                false => [b"event: message\ndata: ", message.as_slice(), b"\n\n"].concat(),
            };
            Some(Ok(Frame::data(event.into())))
        })
    }
}
