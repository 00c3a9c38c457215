//! One connection to a server: requests that wait, and what the server says by itself.
//!
//! The streams, or the requests over HTTP, are a task's; it takes [`Outgoing`] messages from a queue, and hands what comes
//! to [`Peer::receive`]. Callers and the task meet in a table of requests by id. A request that is not waited for any
//! more is taken out of it, and the server is told.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use flyto_tools::CancellationToken;
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};
use tokio::sync::{Notify, Semaphore, mpsc, oneshot, watch};

use super::{
    elicitation::{Elicitation, ElicitationHandler},
    incoming::{self, Incoming, RpcError},
    options::ClientOptions,
    pace::Pace,
};
use crate::Revision;

/// Messages that wait to be written: 64. Beyond that, callers wait with theirs.
/// A server that does not read stdin is met here: its callers wait until their time is over.
const OUTBOX_MESSAGES: usize = 64;

/// Lines of one connection that are no message, 1,000. A server that prints more of them is no server.
const MAX_UNREADABLE: u32 = 1000;

/// Answers that no request waits for, 1,000: late ones are in order, and a flood is not.
const MAX_UNASKED: u32 = 1000;

/// Questions of a server that are asked at once.
/// A further one gets error -32603: each is a dialogue on the screen of the user, and a server could ask without end.
const MAX_QUESTIONS: usize = 4;

/// A message for the server, ready to be written.
#[derive(Debug, Clone)]
pub(super) struct Outgoing {
    /// One line of JSON without its end.
    pub(super) text: String,
    pub(super) kind: OutgoingKind,
}

/// What a message is, for a transport that has to know: over HTTP each request has an answer of its own.
#[derive(Debug, Clone)]
pub(super) enum OutgoingKind {
    /// A request; `name` is the tool of a call.
    Request { id: u64, method: &'static str, name: Option<String> },
    /// A notification.
    Notification { method: &'static str },
    /// The answer to a request of the server.
    Response,
    /// The request of this id is not waited for any more; the message tells the server.
    Cancel { id: u64 },
}

/// Why a request has no result.
#[derive(Debug, Clone)]
pub(super) enum RequestError {
    /// The server answered with an error.
    Rpc(RpcError),
    /// The connection has ended, for this reason.
    Closed(Arc<str>),
    /// Too many requests wait.
    Overloaded,
    /// The answer has more bytes than are taken.
    /// How many it has.
    TooLong(u64),
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rpc(RpcError { code, message, .. }) => write!(f, "error {code}: {message}"),
            Self::Closed(why) => f.write_str(why),
            Self::Overloaded => f.write_str("too many requests wait for this server"),
            Self::TooLong(bytes) => write!(f, "the answer has {bytes} bytes, more than are taken"),
        }
    }
}

/// The result as JSON text: a caller reads of it what it needs, and what it does not need is never parsed.
pub(super) type Answer = Result<Box<RawValue>, RequestError>;

/// How far a request has come, as the server last said.
///
/// "MCP 2025-11-25, Basic, Utilities, Progress": both numbers may be fractions, and the total may be unknown.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Note {
    pub(super) progress: f64,
    #[serde(default)]
    pub(super) total: Option<f64>,
    #[serde(default)]
    pub(super) message: Option<String>,
}

/// The request that has no answer before its end: changes are told meanwhile.
pub(super) const SUBSCRIBE: &str = "subscriptions/listen";

/// The newest note takes the place of the one before.
pub(super) type Notes = watch::Receiver<Option<Note>>;

#[derive(Debug)]
/// A request in the table: where its answer goes, and its progress until then. The token of its progress is its id.
struct Pending {
    answer: oneshot::Sender<Answer>,
    notes: watch::Sender<Option<Note>>,
    /// A subscription has no answer before its end.
    is_subscription: bool,
}

/// What callers and the task of a connection share.
///
/// It knows nothing of processes or sockets: a transport takes messages from the queue, hands in what comes by
/// [`receive`](Self::receive), and calls [`close`](Self::close) at its end. Ids count from 1 and are never used twice.
#[derive(Debug)]
pub(super) struct Peer {
    state: Mutex<State>,
    outbox: mpsc::Sender<Outgoing>,
    revision: OnceLock<Revision>,
    /// Woken when the server says that its tools changed.
    pub(super) tools_changed: Notify,
    /// Woken when a request begins.
    asked: Notify,
    /// Cancelled when the connection has ended.
    pub(super) closed: CancellationToken,
    handler: Option<Arc<dyn ElicitationHandler>>,
    questions: Arc<Semaphore>,
    server: String,
    info: Value,
    max_in_flight: usize,
    unreadable: AtomicU32,
    unasked: AtomicU32,
}

#[derive(Debug, Default)]
/// Ids begin with 1 and are never used again on a connection, as the protocol asks, so that a late answer meets no
/// other request.
struct State {
    last_id: u64,
    pending: HashMap<u64, Pending>,
    why_closed: Option<Arc<str>>,
}

impl Peer {
    /// A peer and the messages that its task writes. `server` is the name that questions carry.
    pub(super) fn new(
        server: &str,
        options: &ClientOptions,
        handler: Option<Arc<dyn ElicitationHandler>>,
    ) -> (Arc<Self>, mpsc::Receiver<Outgoing>) {
        let (outbox, messages) = mpsc::channel(OUTBOX_MESSAGES);
        let peer = Self {
            state: Mutex::default(),
            outbox,
            revision: OnceLock::new(),
            tools_changed: Notify::new(),
            asked: Notify::new(),
            closed: CancellationToken::new(),
            handler,
            questions: Arc::new(Semaphore::new(MAX_QUESTIONS)),
            server: server.to_owned(),
            info: json!({"name": options.name, "version": options.version}),
            max_in_flight: options.max_in_flight,
            unreadable: AtomicU32::new(0),
            unasked: AtomicU32::new(0),
        };
        (Arc::new(peer), messages)
    }

    /// The table of requests. Held for moments, never across a wait.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The name and the version of this client, as servers are told.
    pub(super) fn info(&self) -> &Value {
        &self.info
    }

    /// What this client can do: it asks its user, where there is a handler for that.
    pub(super) fn capabilities(&self) -> Value {
        if self.handler.is_some() { json!({"elicitation": {}}) } else { json!({}) }
    }

    /// Sets the revision that both sides agreed on; from then on it holds.
    pub(super) fn agree(&self, revision: Revision) {
        let _ = self.revision.set(revision);
    }

    /// The revision that both sides agreed on; `None` before.
    pub(super) fn revision(&self) -> Option<Revision> {
        self.revision.get().copied()
    }

    /// `_meta` of a request: in the era without handshakes the revision and the capabilities of the client, and where to send progress.
    fn meta(&self, method: &str, token: Option<u64>) -> Option<Map<String, Value>> {
        let mut res = Map::new();
        let is_modern = self.revision().is_some_and(Revision::is_modern);
        if is_modern || method == "server/discover" {
            let prefix = "io.modelcontextprotocol";
            res.insert(format!("{prefix}/protocolVersion"), Revision::LATEST.as_str().into());
            res.insert(format!("{prefix}/clientInfo"), self.info.clone());
            res.insert(format!("{prefix}/clientCapabilities"), self.capabilities());
        }
        if let Some(token) = token {
            res.insert("progressToken".to_owned(), token.into());
        }
        (!res.is_empty()).then_some(res)
    }

    /// Begins a request. `members` are those of its parameters, each value as JSON text: an input goes out as it came in, with
    /// its order of keys and its numbers, in one line. Dropping what is returned takes the request back.
    ///
    /// # Errors
    ///
    /// The connection has ended, or [`max_in_flight`](ClientOptions::max_in_flight) requests wait. Then nothing was sent.
    pub(super) async fn begin(
        self: &Arc<Self>,
        method: &'static str,
        members: &[(&str, &str)],
        wants_notes: bool,
    ) -> Result<InFlight, RequestError> {
        let (answer, answered) = oneshot::channel();
        let (notes, heard) = watch::channel(None);
        let id = {
            let mut state = self.state();
            if let Some(why) = &state.why_closed {
                return Err(RequestError::Closed(Arc::clone(why)));
            }
            if state.pending.len() >= self.max_in_flight {
                return Err(RequestError::Overloaded);
            }
            state.last_id += 1;
            let id = state.last_id;
            let is_subscription = method == SUBSCRIBE;
            state.pending.insert(id, Pending { answer, notes, is_subscription });
            id
        };
        self.asked.notify_waiters();
        let in_flight = InFlight { peer: Arc::clone(self), id, answered, notes: heard };
        let meta = self.meta(method, wants_notes.then_some(id));
        let text = request_text(id, method, members, meta.as_ref());
        let name = members.iter().find(|it| it.0 == "name");
        let name = name.and_then(|it| serde_json::from_str(it.1).ok());
        let message = Outgoing { text, kind: OutgoingKind::Request { id, method, name } };
        tokio::select! {
            biased;
            sent = self.outbox.send(message) => {
                if sent.is_err() {
                    return Err(RequestError::Closed(self.why_closed()));
                }
            }
            () = self.closed.cancelled() => return Err(RequestError::Closed(self.why_closed())),
        }
        Ok(in_flight)
    }

    /// A request to its end. Dropping the future takes it back.
    ///
    /// # Errors
    ///
    /// See [`RequestError`]: the request may have been carried out, unless the server answered with an error.
    pub(super) async fn request(
        self: &Arc<Self>,
        method: &'static str,
        members: &[(&str, &str)],
    ) -> Answer {
        self.begin(method, members, false).await?.answer().await
    }

    /// Sends a notification without parameters.
    pub(super) async fn notify(&self, method: &'static str) {
        let text = json!({"jsonrpc": "2.0", "method": method}).to_string();
        let message = Outgoing { text, kind: OutgoingKind::Notification { method } };
        tokio::select! {
            _ = self.outbox.send(message) => {}
            () = self.closed.cancelled() => {}
        }
    }

    /// Ends the connection: every request fails for this reason, and no further one begins. The first reason stays.
    ///
    /// Once the connection is made, the program or the session is ended by the task that waits for `closed`, not here:
    /// this never waits.
    pub(super) fn close(&self, why: impl Into<Arc<str>>) {
        let pending = {
            let mut state = self.state();
            state.why_closed.get_or_insert_with(|| why.into());
            std::mem::take(&mut state.pending)
        };
        let why = self.why_closed();
        for (_, it) in pending {
            let _ = it.answer.send(Err(RequestError::Closed(Arc::clone(&why))));
        }
        self.closed.cancel();
    }

    /// Why the connection has ended.
    pub(super) fn why_closed(&self) -> Arc<str> {
        let why = self.state().why_closed.clone();
        why.unwrap_or_else(|| "the connection was closed".into())
    }

    /// Fails one request; the others go on.
    pub(super) fn fail(&self, id: u64, err: RequestError) {
        let pending = self.state().pending.remove(&id);
        if let Some(it) = pending {
            let _ = it.answer.send(Err(err));
        }
    }

    /// A line that was longer than is taken: the request that it answers fails.
    pub(super) fn receive_too_long(&self, start: &[u8], bytes: u64) {
        match incoming::id_in(start) {
            Some(id) => self.fail(id, RequestError::TooLong(bytes)),
            None => self.unreadable(),
        }
    }

    /// What the server sent: one message, or an array of them.
    pub(super) fn receive(self: &Arc<Self>, line: &[u8]) {
        // Blank lines are no messages, and no fault.
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        incoming::read(line, |message| match message {
            Ok(Incoming::Response { id, outcome }) => {
                let answer = outcome.map(ToOwned::to_owned).map_err(RequestError::Rpc);
                let pending = self.state().pending.remove(&id);
                match pending {
                    Some(it) => drop(it.answer.send(answer)),
                    None => self.unasked(),
                }
            }
            Ok(Incoming::Foreign) => self.unasked(),
            Ok(Incoming::Notification { method, params }) => self.notified(&method, params),
            Ok(Incoming::Request { id, method, params }) => self.requested(id, &method, params),
            Err(()) => self.unreadable(),
        });
    }

    /// Waits as long as the pace says where so many bytes came and no request waits for an answer.
    pub(super) async fn keep_pace(&self, pace: &mut Pace, n_bytes: usize) {
        let asked = self.asked.notified();
        if self.state().pending.values().any(|it| !it.is_subscription) {
            return pace.begin_anew();
        }
        let Some(pause) = pace.pause(n_bytes) else { return };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = asked => {}
            () = self.closed.cancelled() => {}
        }
    }

    /// Counts a line that is no message, and ends the connection at the bound.
    fn unreadable(&self) {
        if self.unreadable.fetch_add(1, Ordering::Relaxed) >= MAX_UNREADABLE {
            self.close(format!("it sent more than {MAX_UNREADABLE} lines that are no messages"));
        }
    }

    /// Counts an answer that no request waits for, and ends the connection at the bound.
    fn unasked(&self) {
        if self.unasked.fetch_add(1, Ordering::Relaxed) >= MAX_UNASKED {
            self.close(format!("it sent more than {MAX_UNASKED} answers to no request"));
        }
    }

    /// What the server says without waiting for an answer: its tools changed, or how far a request has come.
    fn notified(&self, method: &str, params: Option<&RawValue>) {
        /// The parameters of `notifications/progress`.
        #[derive(Deserialize)]
        struct Progress {
            #[serde(rename = "progressToken")]
            token: u64,
            #[serde(flatten)]
            note: Note,
        }
        match method {
            "notifications/tools/list_changed" => self.tools_changed.notify_one(),
            "notifications/progress" => {
                let read = params.and_then(|it| serde_json::from_str::<Progress>(it.get()).ok());
                let Some(Progress { token, note }) = read else { return };
                if let Some(pending) = self.state().pending.get(&token) {
                    pending.notes.send_replace(Some(note));
                }
            }
            // Log lines, changes of what is not used here, and what later revisions add.
            _ => {}
        }
    }

    /// A request of the server: in the era of handshakes it may ask for a sign of life, and for an answer of the user.
    fn requested(self: &Arc<Self>, id: &RawValue, method: &str, params: Option<&RawValue>) {
        let asked = match (method, &self.handler) {
            ("ping", _) => return self.respond(id, Ok(json!({}))),
            ("elicitation/create", Some(handler)) => Arc::clone(handler),
            _ => return self.respond(id, Err((-32601, "the client does not offer this method"))),
        };
        let Ok(place) = Arc::clone(&self.questions).try_acquire_owned() else {
            return self.respond(id, Err((-32603, "too many questions at once")));
        };
        let params = params.and_then(|it| serde_json::from_str(it.get()).ok());
        let Some(question) = params.and_then(|it| Elicitation::read(&self.server, it)) else {
            return self.respond(id, Err((-32602, "the question cannot be read")));
        };
        let (peer, id) = (Arc::clone(self), id.to_owned());
        tokio::spawn(async move {
            let _place = place;
            tokio::select! {
                answer = asked.ask(&question) => peer.respond(&id, Ok(question.result(answer))),
                () = peer.closed.cancelled() => {}
            }
        });
    }

    /// Answers a request of the server. Where the server does not read, the answer is dropped.
    fn respond(&self, id: &RawValue, outcome: Result<Value, (i64, &str)>) {
        let rest = match outcome {
            Ok(result) => format!("\"result\":{result}"),
            Err((code, message)) => {
                format!("\"error\":{}", json!({"code": code, "message": message}))
            }
        };
        let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},{rest}}}", id.get());
        let _ = self.outbox.try_send(Outgoing { text, kind: OutgoingKind::Response });
    }

    /// Takes a request back that was not answered.
    ///
    /// Once it was answered, nothing is sent: "MCP 2025-11-25, Basic, Utilities, Cancellation" has a cancellation name
    /// a request that is believed to be in progress. A queue that is full drops the notification, and the server works
    /// for nothing.
    fn take_back(&self, id: u64) {
        if self.state().pending.remove(&id).is_none() {
            return;
        }
        let text = json!({
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": id, "reason": "the caller took the call back"},
        });
        let message = Outgoing { text: text.to_string(), kind: OutgoingKind::Cancel { id } };
        let _ = self.outbox.try_send(message);
    }
}

/// A request that waits for its answer. Dropping it takes it back.
#[derive(Debug)]
pub(super) struct InFlight {
    peer: Arc<Peer>,
    id: u64,
    answered: oneshot::Receiver<Answer>,
    /// How far it has come.
    pub(super) notes: Notes,
}

impl InFlight {
    /// Waits for the answer. May be called again where its future was dropped, and not after it gave an answer.
    pub(super) async fn answer(&mut self) -> Answer {
        match (&mut self.answered).await {
            Ok(answer) => answer,
            Err(_) => Err(RequestError::Closed(self.peer.why_closed())),
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.peer.take_back(self.id);
    }
}

/// The text of a request, in one line: an input may have line feeds, which JSON has between its parts only, as those within
/// strings are escaped. They become blanks.
fn request_text(
    id: u64,
    method: &str,
    members: &[(&str, &str)],
    meta: Option<&Map<String, Value>>,
) -> String {
    let mut params = String::new();
    let meta = meta.map(|it| Value::Object(it.clone()).to_string());
    let meta = meta.iter().map(|it| ("_meta", it.as_str()));
    for (name, value) in members.iter().copied().chain(meta) {
        if !params.is_empty() {
            params.push(',');
        }
        let value = value.replace(['\n', '\r'], " ");
        params.push_str(&format!("\"{name}\":{value}"));
    }
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{{params}}}}}")
}
