//! Room for clients over HTTP, shared out so that none of them keeps the others out.
//!
//! A connection on which no request is being answered makes way for a new one, the one that has been silent longest first. So
//! sockets that say nothing, or a head that never ends, keep no client waiting. Of the connections that answer a request, a
//! quarter may be streams of changes and half of them calls, a quarter those of one client; the rest is for what is answered at
//! once: handshakes, lists, answers to questions.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Instant,
};

use bytes::Bytes;
use flyto_tools::CancellationToken;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::Semaphore;

use super::Body;
use crate::server::peer::CallRoom;

/// What each kind of request may take of the connections.
#[derive(Debug)]
pub(super) struct Shares {
    /// Streams that tell of changes, in both eras.
    pub(super) streams: Arc<Semaphore>,
    /// Calls of all clients.
    calls: Arc<Semaphore>,
    /// Calls that belong to no session, whichever client makes them.
    of_no_session: CallRoom,
    /// Calls of one client, at most.
    per_client: usize,
}

impl Shares {
    pub(super) fn of(max_connections: usize) -> Self {
        let per_client = (max_connections / 4).max(1);
        let calls = Arc::new(Semaphore::new((max_connections / 2).max(1)));
        let streams = Arc::new(Semaphore::new(max_connections / 4));
        let of_no_session = CallRoom::new(per_client, &calls);
        Self { streams, calls, of_no_session, per_client }
    }

    /// The room of a new session.
    pub(super) fn of_session(&self) -> CallRoom {
        CallRoom::new(self.per_client, &self.calls)
    }

    /// The room of a request that belongs to no session.
    pub(super) fn of_no_session(&self) -> CallRoom {
        self.of_no_session.clone()
    }
}

/// The connections that are open.
#[derive(Debug)]
pub(super) struct Connections {
    max: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    n_opened: u64,
    places: HashMap<u64, Place>,
}

/// One connection.
#[derive(Debug)]
struct Place {
    /// Requests that are being answered.
    n_requests: usize,
    /// Since when there is none.
    silent_since: Instant,
    /// Cancelled where the connection has to make way.
    makes_way: CancellationToken,
}

impl Connections {
    pub(super) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, open: Mutex::default() })
    }

    /// A place for a new connection, where needed that of the one that has been silent longest; `None` where each of them answers a
    /// request.
    pub(super) fn enter(self: &Arc<Self>) -> Option<Connection> {
        let mut open = self.open();
        if open.places.len() >= self.max {
            let silent = open.places.iter().filter(|(_, it)| it.n_requests == 0);
            let longest = *silent.min_by_key(|(_, it)| it.silent_since)?.0;
            if let Some(place) = open.places.remove(&longest) {
                place.makes_way.cancel();
            }
        }
        open.n_opened += 1;
        let (id, makes_way) = (open.n_opened, CancellationToken::new());
        let place =
            Place { n_requests: 0, silent_since: Instant::now(), makes_way: makes_way.clone() };
        open.places.insert(id, place);
        Some(Connection { all: Arc::clone(self), id, makes_way })
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one connection, until this is dropped.
#[derive(Debug)]
pub(super) struct Connection {
    all: Arc<Connections>,
    id: u64,
    /// Cancelled where it has to make way.
    pub(super) makes_way: CancellationToken,
}

impl Connection {
    /// A request is being answered until the result is dropped.
    pub(super) fn request(&self) -> Answering {
        if let Some(place) = self.all.open().places.get_mut(&self.id) {
            place.n_requests += 1;
        }
        Answering { all: Arc::clone(&self.all), id: self.id }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.all.open().places.remove(&self.id);
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct Answering {
    all: Arc<Connections>,
    id: u64,
}

impl Drop for Answering {
    fn drop(&mut self) {
        if let Some(place) = self.all.open().places.get_mut(&self.id) {
            place.n_requests = place.n_requests.saturating_sub(1);
            place.silent_since = Instant::now();
        }
    }
}

/// The body of an answer. Its request is being answered until it is sent.
pub(super) struct AnswerBody {
    pub(super) body: Body,
    pub(super) _answering: Answering,
}

impl HttpBody for AnswerBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_connection_makes_way_and_one_that_is_answered_does_not() {
        let all = Connections::new(2);
        let (first, second) = (all.enter().unwrap(), all.enter().unwrap());
        let answering = first.request();
        let third = all.enter().unwrap();
        assert!(!first.makes_way.is_cancelled() && second.makes_way.is_cancelled());
        let _answering = third.request();
        assert!(all.enter().is_none());
        // What made way has no place that its end could free.
        drop(second);
        assert!(all.enter().is_none());
        drop(answering);
        assert!(all.enter().is_some() && first.makes_way.is_cancelled());
    }

    #[test]
    fn no_client_takes_the_calls_of_the_others() {
        let shares = Shares::of(16);
        let (one, other) = (shares.of_session(), shares.of_session());
        let taken: Vec<_> = (0..16).map_while(|_| one.take()).collect();
        assert_eq!(taken.len(), 4);
        let other: Vec<_> = (0..16).map_while(|_| other.take()).collect();
        assert_eq!(other.len(), 4);
        // Those that belong to no session share one part; half of the connections are for calls.
        assert!(shares.of_no_session().take().is_none());
        drop(taken);
        assert!(shares.of_no_session().take().is_some());
    }
}
