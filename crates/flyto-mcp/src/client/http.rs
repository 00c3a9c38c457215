//! A server that is reached over streamable HTTP.
//!
//! Each message is a request of its own, over a connection of its own: its answer is one message, or a stream of them that ends
//! with the answer. Where the era has sessions, the first answer names one, each further request carries it, and one more
//! stream brings what the server says by itself. Redirects are not followed: the credentials in the headers are for the
//! address that was declared.
//!
//! | answer | what becomes of it |
//! | --- | --- |
//! | 200 with JSON | one message, or an array of them |
//! | 200 with a stream of events | each event is a message; the request has failed where the stream ends before its answer |
//! | 202 | nothing: a notification was taken |
//! | 404 within a session | the server has ended the session, and with it the connection |
//! | another status | an error of the request: the one in the body where there is one, else the status with its sign turned |

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Body as _, Incoming},
    header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderName, HeaderValue},
};
use tokio::{
    sync::mpsc,
    task::{AbortHandle, JoinHandle},
    time::timeout,
};

use super::{
    connect::Target,
    events::{Event, Events},
    incoming::RpcError,
    options::ClientOptions,
    pace::Pace,
    peer::{Outgoing, OutgoingKind, Peer, RequestError},
};
use crate::Revision;

/// Bytes of an answer that says why a request failed.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;

/// How long the end of a session is waited for: 1 s. A server forgets sessions by itself.
const GOODBYE_TIME: Duration = Duration::from_secs(1);

/// The header with the name of a session.
const SESSION: &str = "mcp-session-id";

/// A server behind an address. Dropping it drops every request.
#[derive(Debug)]
pub(super) struct Link {
    exchange: Arc<Exchange>,
    sender: JoinHandle<()>,
}

/// What all requests to one server share: where they go, what each carries, and which are open. Its `Debug` shows the host and
/// nothing else.
struct Exchange {
    target: Target,
    headers: Vec<(HeaderName, HeaderValue)>,
    peer: Arc<Peer>,
    longest: usize,
    session: Mutex<Option<HeaderValue>>,
    /// Requests whose answers are read.
    open: Mutex<HashMap<u64, AbortHandle>>,
    /// The stream of what the server says by itself.
    listener: Mutex<Option<AbortHandle>>,
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Headers and addresses hold credentials.
        f.debug_struct("Exchange").field("host", &self.target.uri().host()).finish_non_exhaustive()
    }
}

impl Link {
    /// Begins to send what the peer has. Nothing is connected to before the first message.
    ///
    /// # Errors
    ///
    /// The address or a header cannot be used, in words.
    pub(super) fn start(
        url: &str,
        headers: &[(String, String)],
        peer: &Arc<Peer>,
        messages: mpsc::Receiver<Outgoing>,
        options: &ClientOptions,
    ) -> Result<Self, String> {
        let target = Target::parse(url, options.ca_file.as_deref())?;
        let header = |(name, value): &(String, String)| {
            let fault = || format!("the header {name} cannot be sent");
            let name = HeaderName::try_from(name.as_str()).map_err(|_| fault())?;
            let mut value = HeaderValue::try_from(value.as_str()).map_err(|_| fault())?;
            value.set_sensitive(true);
            Ok((name, value))
        };
        let headers = headers.iter().map(header).collect::<Result<_, String>>()?;
        let exchange = Arc::new(Exchange {
            target,
            headers,
            peer: Arc::clone(peer),
            longest: options.max_message_bytes,
            session: Mutex::default(),
            open: Mutex::default(),
            listener: Mutex::default(),
        });
        let sender = tokio::spawn(send_all(Arc::clone(&exchange), messages));
        Ok(Self { exchange, sender })
    }

    /// Ends every request, and the session where there is one.
    pub(super) async fn end(self) {
        self.exchange.stop();
        let session = lock(&self.exchange.session).take();
        if let Some(session) = session {
            let goodbye = self.exchange.send(Method::DELETE, None, Some(session));
            let _ = timeout(GOODBYE_TIME, goodbye).await;
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.sender.abort();
        self.exchange.stop();
    }
}

/// What a mutex guards, whatever became of its last holder: each value here is right after each step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends messages until there are no more. Requests do not wait for each other; notifications and answers go one by one.
///
/// One by one, so that `notifications/initialized` is at the server before the first request of the session is sent. A
/// server that is slow to answer a notification delays what comes behind it.
async fn send_all(exchange: Arc<Exchange>, mut messages: mpsc::Receiver<Outgoing>) {
    while let Some(message) = messages.recv().await {
        match message.kind {
            OutgoingKind::Request { id, .. } => {
                let (task, reader) = (Arc::clone(&exchange), Arc::clone(&exchange));
                let mut open = lock(&exchange.open);
                let task = tokio::spawn(async move {
                    if let Err(err) = task.request(id, message).await {
                        task.peer.fail(id, err);
                    }
                    lock(&reader.open).remove(&id);
                });
                open.insert(id, task.abort_handle());
            }
            OutgoingKind::Cancel { id } => {
                // The end of its stream takes a request back; in a session a notification does.
                if let Some(task) = lock(&exchange.open).remove(&id) {
                    task.abort();
                }
                if lock(&exchange.session).is_some() {
                    exchange.notify(message).await;
                }
            }
            OutgoingKind::Notification { .. } | OutgoingKind::Response => {
                exchange.notify(message).await;
                if !exchange.peer.revision().is_some_and(Revision::is_modern) {
                    exchange.listen();
                }
            }
        }
    }
}

impl Exchange {
    /// Aborts everything that is open: the requests, and the stream of what the server says by itself.
    fn stop(&self) {
        for (_, task) in lock(&self.open).drain() {
            task.abort();
        }
        if let Some(task) = lock(&self.listener).take() {
            task.abort();
        }
    }

    /// A request to its answer, which goes to the peer.
    ///
    /// # Errors
    ///
    /// There was no answer. After an answer there is an error as well, which finds no request that waits.
    async fn request(self: &Arc<Self>, id: u64, message: Outgoing) -> Result<(), RequestError> {
        let response = self.send(Method::POST, Some(&message), None).await.map_err(failed)?;
        let status = response.status();
        if let Some(session) = response.headers().get(SESSION)
            && matches!(message.kind, OutgoingKind::Request { method: "initialize", .. })
        {
            *lock(&self.session) = Some(session.clone());
        }
        if !status.is_success() {
            return Err(self.refused(id, response).await);
        }
        if let Some(why) = not_messages(&response) {
            return Err(failed(why));
        }
        match is_stream(&response) {
            true => self.events(response).await,
            false => match self.whole(response, self.longest).await {
                Ok(body) => self.peer.receive(&body),
                Err(err) => return Err(err),
            },
        }
        // A request that was answered has no use for this.
        Err(failed("the server ended its answer before it said anything".to_owned()))
    }

    /// Why a request has no answer. Servers of the era of handshakes answer some requests with a status and an error without
    /// an id.
    ///
    /// A body of at most 64 KiB is read for it. Without an error in it, the code is the status below zero (-401),
    /// which no code of JSON-RPC is, and the message has the status in words; the body is not shown.
    async fn refused(self: &Arc<Self>, id: u64, response: Response<Incoming>) -> RequestError {
        let status = response.status();
        if status == StatusCode::NOT_FOUND && lock(&self.session).is_some() {
            self.peer.close("the server ended the session");
        }
        let body = self.whole(response, MAX_REFUSAL_BYTES).await.unwrap_or_default();
        #[derive(serde::Deserialize)]
        struct Refusal {
            id: Option<u64>,
            error: RpcError,
        }
        match serde_json::from_slice::<Refusal>(&body) {
            Ok(it) if it.id.is_none_or(|it| it == id) => RequestError::Rpc(it.error),
            _ => {
                let reason = status.canonical_reason().unwrap_or_default();
                let message = format!("HTTP {} {reason}", status.as_u16());
                RequestError::Rpc(RpcError {
                    code: -i64::from(status.as_u16()),
                    message,
                    data: None,
                })
            }
        }
    }

    /// Sends a message that has no answer. Where that fails, the next request tells.
    async fn notify(self: &Arc<Self>, message: Outgoing) {
        let _ = self.send(Method::POST, Some(&message), None).await;
    }

    /// Opens the stream of what the server says by itself, once. A server without one says so, and is asked no more.
    fn listen(self: &Arc<Self>) {
        let mut listener = lock(&self.listener);
        if listener.is_some() {
            return;
        }
        let exchange = Arc::clone(self);
        let task = tokio::spawn(async move {
            if let Ok(response) = exchange.send(Method::GET, None, None).await
                && response.status().is_success()
                && is_stream(&response)
            {
                exchange.events(response).await;
            }
        });
        *listener = Some(task.abort_handle());
    }

    /// Hands each message of a stream to the peer.
    async fn events(&self, response: Response<Incoming>) {
        let mut body = response.into_body();
        let (mut events, mut pace) = (Events::new(self.longest), Pace::unasked());
        while let Some(Ok(frame)) = body.frame().await {
            let Ok(piece) = frame.into_data() else { continue };
            events.push(&piece, |event| match event {
                Event::Data(data) => self.peer.receive(data),
                Event::TooLong { start, bytes } => self.peer.receive_too_long(start, bytes),
            });
            if events.is_endless() {
                return;
            }
            tokio::task::yield_now().await;
            self.peer.keep_pace(&mut pace, piece.len()).await;
        }
    }

    /// The whole of a body, within a bound of bytes.
    ///
    /// # Errors
    ///
    /// It is longer, also by what it says of itself, or it broke off.
    async fn whole(
        &self,
        response: Response<Incoming>,
        longest: usize,
    ) -> Result<Vec<u8>, RequestError> {
        let mut body = response.into_body();
        let mut res = Vec::new();
        if body.size_hint().lower() > longest as u64 {
            return Err(RequestError::TooLong(body.size_hint().lower()));
        }
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|err| failed(format!("its answer broke off: {err}")))?;
            let Ok(piece) = frame.into_data() else { continue };
            if res.len() + piece.len() > longest {
                return Err(RequestError::TooLong((res.len() + piece.len()) as u64));
            }
            res.extend_from_slice(&piece);
        }
        Ok(res)
    }

    /// Makes one request, and waits for the head of its response.
    ///
    /// It carries what was declared, the session where there is one, and the revision once that is agreed on. In the new era
    /// the method and the name of the tool stand in headers as well, so that a proxy can tell requests apart.
    ///
    /// # Errors
    ///
    /// The server cannot be reached, in words.
    async fn send(
        &self,
        method: Method,
        message: Option<&Outgoing>,
        session: Option<HeaderValue>,
    ) -> Result<Response<Incoming>, String> {
        let uri = self.target.uri();
        let path = uri.path_and_query().map_or("/", |it| it.as_str());
        let mut request = Request::builder().method(&method).uri(path);
        let accepts = match method {
            Method::POST => "application/json, text/event-stream",
            _ => "text/event-stream",
        };
        request = request
            .header(HOST, uri.authority().map_or("", |it| it.as_str()))
            .header(ACCEPT, accepts);
        if let Some(session) = session.or_else(|| lock(&self.session).clone()) {
            request = request.header(SESSION, session);
        }
        let kind = message.map(|it| &it.kind);
        let is_discovery =
            matches!(kind, Some(OutgoingKind::Request { method: "server/discover", .. }));
        let revision = self.peer.revision().or(is_discovery.then_some(Revision::LATEST));
        if let Some(revision) = revision {
            request = request.header("mcp-protocol-version", revision.as_str());
        }
        if revision.is_some_and(Revision::is_modern) {
            let (named, name) = match kind {
                Some(OutgoingKind::Request { method, name, .. }) => {
                    (Some(*method), name.as_deref())
                }
                Some(OutgoingKind::Notification { method }) => (Some(*method), None),
                _ => (None, None),
            };
            for (header, value) in [("mcp-method", named), ("mcp-name", name)] {
                if let Some(value) = value {
                    request = request.header(header, header_value(value));
                }
            }
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let body = match message {
            Some(message) => {
                request = request.header(CONTENT_TYPE, "application/json");
                Full::new(Bytes::from(message.text.clone()))
            }
            None => Full::new(Bytes::new()),
        };
        let request = request.body(body).map_err(|err| err.to_string())?;
        self.target.send(request).await
    }
}

/// A request without an answer, for this reason.
fn failed(why: String) -> RequestError {
    RequestError::Closed(why.into())
}

/// Whether the body of a response is a stream of events, by its `content-type`.
fn is_stream(response: &Response<Incoming>) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    kind.is_some_and(|it| it.trim_start().to_ascii_lowercase().starts_with("text/event-stream"))
}

/// Why a body holds no messages, by its headers. One without a type may hold some.
fn not_messages(response: &Response<Incoming>) -> Option<String> {
    let shown = |name: HeaderName| {
        let value = response.headers().get(name)?.to_str().ok()?;
        let value: String = value.chars().take(100).collect();
        (!value.trim().is_empty()).then(|| value.to_ascii_lowercase())
    };
    if let Some(encoding) = shown(CONTENT_ENCODING).filter(|it| it != "identity") {
        return Some(format!(
            "the answer is encoded as {encoding:?}, which the request did not ask for"
        ));
    }
    let kind = shown(CONTENT_TYPE)?;
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let is_json = kind == "application/json" || kind.ends_with("+json") || kind == "text/json";
    let is_one = is_json || kind == "text/event-stream" || kind == "text/plain";
    (!is_one).then(|| {
        format!("the answer is of the type {kind:?} and holds no messages: is the address that of the server?")
    })
}

/// A value of a header that repeats a member of the message. What no header can hold is written in base64.
fn header_value(value: &str) -> String {
    let is_plain = value.bytes().all(|it| (b' '..=b'~').contains(&it)) && value.trim() == value;
    match is_plain && !value.starts_with("=?") {
        true => value.to_owned(),
        false => format!("=?base64?{}?=", BASE64_STANDARD.encode(value)),
    }
}
