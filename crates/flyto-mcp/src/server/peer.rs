//! One client: what it agreed on, what it has in flight, and which method does what.
//!
//! A peer knows no streams. It takes messages one after the other and says what becomes of each: nothing, an answer, a
//! subscription, or a future that gives the answer later. The connection writes the answers and runs the futures, each in a task of
//! its own; so a slow call delays no other message, and a message never waits for a call.
//!
//! What runs is found by its id: a cancellation of the client marks it as taken back, after which nothing is said about it. The end of
//! the server cancels it as well, and then it is answered, for its client may still read.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use flyto_tools::CancellationToken;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    Coming, Shared,
    approval::HeldRules,
    background::{
        OwnJobs,
        tasks::{self, TaskMethod},
    },
    call::{BegunCall, Read, ToolCall},
    fault::Fault,
    lifecycle,
    message::{Id, Message, Response, Unreadable},
    outbox::Outbox,
    params::{Negotiated, Params},
    question::Questions,
    result,
    subscription::Subscriptions,
    waiting::WaitingCalls,
};

/// Most bytes of the arguments of calls in flight: 64 MiB. A single call may have more than what is left.
const MAX_BYTES_IN_FLIGHT: usize = 64 * 1024 * 1024;

/// The result of a request as JSON, or what was wrong with it. Results are written once, when they are made: what waits to
/// be sent is bytes.
pub(crate) type Outcome = Result<Box<RawValue>, Fault>;

/// What becomes of a message.
pub(crate) enum Work {
    /// Nothing is answered.
    Silent,
    /// The answer is there.
    Answered(Option<Id>, Outcome),
    /// A subscription was opened: the client is told, and hears of changes from then on.
    Subscribed(Id),
    /// The answer comes; `None` where the request was cancelled, which is not answered.
    Running(Id, Pin<Box<dyn Future<Output = Option<Outcome>> + Send>>),
}

/// One client.
///
/// Messages are taken one after the other, so that what a handshake agrees on holds for the next message. Calls run beside each
/// other, and each holds the peer until it has its answer.
#[derive(Debug)]
pub(crate) struct Peer {
    /// What all clients of the server share.
    pub(crate) server: Arc<Shared>,
    /// The way to the client.
    pub(crate) outbox: Outbox,
    /// What the messages of one client have in common.
    pub(crate) session: Arc<Session>,
}

/// What the messages of one client have in common: over a pair of streams all that come over it, over HTTP those of one
/// session, and of the new era each by itself.
#[derive(Debug, Default)]
pub(crate) struct Session {
    /// What the handshake came to.
    legacy: OnceLock<Negotiated>,
    /// Requests that run, by their ids. The lock is never held while anything waits.
    in_flight: Mutex<HashMap<Id, Running>>,
    /// Of the new era: where changes of the tools are told.
    pub(crate) subscriptions: Subscriptions,
    /// Of the era of handshakes: what the client was asked.
    pub(crate) questions: Questions,
    /// What the user approved for the session; `None` where no later message belongs to it.
    pub(crate) held: Option<HeldRules>,
    /// The jobs that the client started.
    pub(crate) jobs: Arc<OwnJobs>,
    /// Of the new era: calls that wait for an answer of the client.
    pub(crate) waiting: Arc<WaitingCalls<BegunCall>>,
    /// Room for its calls; `None` where they are bounded by [`ServerOptions::max_calls`](crate::ServerOptions::max_calls) alone.
    pub(crate) room: Option<CallRoom>,
    /// Cancelled when a session over HTTP ends.
    pub(crate) ended: CancellationToken,
}

/// Room for the calls of one client, where clients share it.
#[derive(Debug, Clone)]
pub(crate) struct CallRoom {
    /// Of this client.
    own: Arc<Semaphore>,
    /// Of all clients.
    all: Arc<Semaphore>,
}

/// A place in the room, until it is dropped.
#[derive(Debug)]
pub(crate) struct CallPlace {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl CallRoom {
    /// Room for `n_calls` of one client among the calls of all.
    pub(crate) fn new(n_calls: usize, all: &Arc<Semaphore>) -> Self {
        Self { own: Arc::new(Semaphore::new(n_calls)), all: Arc::clone(all) }
    }

    /// A place, where there is one.
    pub(crate) fn take(&self) -> Option<CallPlace> {
        let own = Arc::clone(&self.own).try_acquire_owned().ok()?;
        let all = Arc::clone(&self.all).try_acquire_owned().ok()?;
        Some(CallPlace { _own: own, _all: all })
    }
}

/// What is known of a request that runs.
#[derive(Debug)]
struct Running {
    cancellation: CancellationToken,
    is_taken_back: Arc<AtomicBool>,
    /// Of its arguments.
    n_bytes: usize,
}

/// A request that runs: it can be cancelled by its id until this is dropped.
#[derive(Debug)]
pub(crate) struct InFlight {
    peer: Arc<Peer>,
    id: Id,
    pub(crate) cancellation: CancellationToken,
    is_taken_back: Arc<AtomicBool>,
    _place: Option<CallPlace>,
}

impl InFlight {
    /// Whether the client took the request back. The end of the server cancels it as well, and is answered.
    pub(crate) fn is_taken_back(&self) -> bool {
        self.is_taken_back.load(Ordering::Relaxed)
    }

    /// Waits for an answer that asks nothing of a tool. `None` where the client took the request back, or the server ends.
    async fn unless_cancelled(&self, work: impl Future<Output = Outcome>) -> Option<Outcome> {
        tokio::select! {
            biased;
            () = self.cancellation.cancelled() => None,
            outcome = work => Some(outcome),
        }
    }
}

impl Peer {
    /// A client whose messages belong to this session.
    pub(crate) fn new(server: Arc<Shared>, outbox: Outbox, session: Arc<Session>) -> Arc<Self> {
        Arc::new(Self { server, outbox, session })
    }

    /// Whether several messages may come as one array.
    pub(crate) fn takes_batches(&self) -> bool {
        self.session.legacy.get().is_some_and(|it| it.revision.has_batches())
    }

    /// Takes one message. Requests that take time are given back as futures; nothing here waits.
    pub(crate) fn receive(self: &Arc<Self>, message: Result<Message<'_>, Unreadable>) -> Work {
        match message {
            Ok(Message::Request { id, method, params }) => self.request(id, &method, params),
            Ok(Message::Notification { method, params }) => {
                self.notification(&method, params);
                Work::Silent
            }
            Ok(Message::Response { id, result }) => {
                self.session.questions.answer(&id, result);
                Work::Silent
            }
            Err(Unreadable { id, fault }) => Work::Answered(id, Err(fault)),
        }
    }

    /// Begins a request. Its parameters are read here, so that a future holds no borrowed line.
    fn request(self: &Arc<Self>, id: Id, method: &str, params: Option<&RawValue>) -> Work {
        match self.begin(&id, method, params) {
            Ok(Begun::Done(result)) => Work::Answered(Some(id), Ok(result)),
            Ok(Begun::Running(work)) => Work::Running(id, work),
            Ok(Begun::Subscribed) => Work::Subscribed(id),
            Err(fault) => Work::Answered(Some(id), Err(fault)),
        }
    }

    /// Chooses by what was negotiated for the request: those that it carries, else those of the handshake.
    ///
    /// # Errors
    ///
    /// Faults of the request. Nothing has begun then.
    fn begin(
        self: &Arc<Self>,
        id: &Id,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Begun, Fault> {
        let mut params = Params::read(params)?;
        let negotiated = params.take_terms()?;
        if let Some(negotiated) = negotiated {
            return match method {
                "server/discover" => done(&lifecycle::discover(&self.server)),
                "subscriptions/listen" => {
                    let filter = params.notifications;
                    let filter = filter
                        .ok_or_else(|| Fault::invalid_params("params lack \"notifications\""))?;
                    if self.in_flight().contains_key(id) {
                        return Err(in_use());
                    }
                    self.session.subscriptions.open(id, filter)?;
                    Ok(Begun::Subscribed)
                }
                _ => self.method(id, &negotiated, method, params),
            };
        }
        match (method, self.session.legacy.get()) {
            ("initialize", None) => {
                let negotiated = lifecycle::agree(&mut params)?;
                let result = lifecycle::initialized(&self.server, &negotiated);
                // Messages are taken one after the other, so no other handshake came between.
                let _ = self.session.legacy.set(negotiated);
                done(&result)
            }
            ("initialize", Some(_)) => {
                Err(Fault::invalid_request("the connection is initialised already"))
            }
            ("ping", _) => done(&serde_json::Map::new()),
            ("server/discover", None) => Err(lifecycle::no_terms()),
            (_, Some(negotiated)) => self.method(id, negotiated, method, params),
            (_, None) => Err(lifecycle::no_terms()),
        }
    }

    /// The methods that both eras have.
    fn method(
        self: &Arc<Self>,
        id: &Id,
        negotiated: &Negotiated,
        method: &str,
        mut params: Params<'_>,
    ) -> Result<Begun, Fault> {
        match method {
            "tools/list" => {
                if self.server.coming.as_ref().is_some_and(Coming::is_awaited)
                    && let Some(in_flight) = self.start(id, 0)?
                {
                    let (server, negotiated) = (Arc::clone(&self.server), negotiated.clone());
                    let cursor = params.cursor;
                    let list = async move {
                        if let Some(coming) = &server.coming {
                            coming.wait().await;
                        }
                        server.list_tools(&negotiated, cursor.as_deref())
                    };
                    let list = async move { in_flight.unless_cancelled(list).await };
                    return Ok(Begun::Running(Box::pin(list)));
                }
                self.server.list_tools(negotiated, params.cursor.as_deref()).map(Begun::Done)
            }
            "tools/call" => {
                let n_bytes = params.arguments.map_or(0, |it| it.get().len());
                let read = match ToolCall::read(self, negotiated, &mut params)? {
                    Read::Done(result) => return Ok(Begun::Done(result)),
                    read => read,
                };
                let Some(in_flight) = self.start(id, n_bytes)? else {
                    let text = "too many calls are in flight; call again when one has ended";
                    return result::error(&self.server, negotiated, text).map(Begun::Done);
                };
                let (server, negotiated) = (Arc::clone(&self.server), negotiated.clone());
                let session = Arc::clone(&self.session);
                Ok(Begun::Running(match read {
                    Read::Call(call) => Box::pin(call.run(Arc::clone(self), in_flight)),
                    Read::Answer(call) => Box::pin(call.run(Arc::clone(self), in_flight)),
                    Read::Job(call) => Box::pin(async move {
                        in_flight.unless_cancelled(call.run(&server, &session, &negotiated)).await
                    }),
                    Read::Missing(call) => Box::pin(async move {
                        in_flight.unless_cancelled(call.run(&server, &negotiated)).await
                    }),
                    Read::Done(result) => return Ok(Begun::Done(result)),
                }))
            }
            _ => self.task_method(id, negotiated, method, params),
        }
    }

    /// The methods of tasks, of the new era.
    ///
    /// # Errors
    ///
    /// There is no such method, or too many requests are in flight.
    fn task_method(
        self: &Arc<Self>,
        id: &Id,
        negotiated: &Negotiated,
        method: &str,
        params: Params<'_>,
    ) -> Result<Begun, Fault> {
        let is_there = negotiated.revision.is_modern() && self.server.jobs.is_some();
        let task_method = TaskMethod::parse(method).filter(|_| is_there);
        let task_method = task_method.ok_or_else(|| Fault::method_not_found(method))?;
        let in_flight = self.start(id, 0)?;
        let in_flight =
            in_flight.ok_or_else(|| Fault::invalid_request("too many requests are in flight"))?;
        let (server, session) = (Arc::clone(&self.server), Arc::clone(&self.session));
        let (id, answers) = (params.task_id, params.input_responses);
        let work = tasks::method(server, session, negotiated.clone(), task_method, id, answers);
        Ok(Begun::Running(Box::pin(async move { in_flight.unless_cancelled(work).await })))
    }

    /// Makes a request one that runs; `None` where there are too many.
    ///
    /// # Errors
    ///
    /// The id is that of another one that runs.
    fn start(self: &Arc<Self>, id: &Id, n_bytes: usize) -> Result<Option<InFlight>, Fault> {
        let mut in_flight = self.in_flight();
        if in_flight.contains_key(id) || self.session.subscriptions.is_open(id) {
            return Err(in_use());
        }
        let n_others: usize = in_flight.values().map(|it| it.n_bytes).sum();
        let is_full = in_flight.len() >= self.server.options.max_calls
            || (n_others > 0 && n_others + n_bytes > MAX_BYTES_IN_FLIGHT);
        if is_full {
            return Ok(None);
        }
        let place = match &self.session.room {
            None => None,
            Some(room) => match room.take() {
                None => return Ok(None),
                place => place,
            },
        };
        let cancellation = CancellationToken::new();
        let is_taken_back = Arc::new(AtomicBool::new(false));
        let running = Running {
            cancellation: cancellation.clone(),
            is_taken_back: Arc::clone(&is_taken_back),
            n_bytes,
        };
        in_flight.insert(id.clone(), running);
        let peer = Arc::clone(self);
        Ok(Some(InFlight { peer, id: id.clone(), cancellation, is_taken_back, _place: place }))
    }

    fn notification(&self, method: &str, params: Option<&RawValue>) {
        // A notification that cannot be read has no answer, and one that is not known no meaning.
        if method == "notifications/cancelled"
            && let Ok(Params { request_id: Some(id), .. }) = Params::read(params)
            && let Some(id) = Id::from_value(id)
        {
            self.take_back(&id);
        }
    }

    /// Whether the two have shaken hands.
    pub(crate) fn is_legacy(&self) -> bool {
        self.session.legacy.get().is_some()
    }

    /// Cancels a request that the client takes back; nothing more is said about it.
    pub(crate) fn take_back(&self, id: &Id) {
        self.session.subscriptions.close(id);
        if let Some(running) = self.in_flight().get(id) {
            running.is_taken_back.store(true, Ordering::Relaxed);
            running.cancellation.cancel();
        }
    }

    fn in_flight(&self) -> MutexGuard<'_, HashMap<Id, Running>> {
        // The map is whole between any two statements that change it.
        self.session.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes an answer; a peer that has gone does not get it.
    pub(crate) async fn answer(&self, id: Option<&Id>, outcome: &Outcome) {
        let _ = self.outbox.send(&Response::new(id, outcome)).await;
    }
}

impl Session {
    /// One that later messages belong to as well.
    pub(crate) fn lasting(room: Option<CallRoom>) -> Arc<Self> {
        let jobs = Arc::new(match room {
            Some(_) => OwnJobs::beside_others(),
            None => OwnJobs::default(),
        });
        Arc::new(Self { held: Some(HeldRules::default()), jobs, room, ..Self::default() })
    }

    /// That of a single message. `jobs` and `waiting` are those of all such messages.
    pub(crate) fn of_one_message(
        room: CallRoom,
        jobs: Arc<OwnJobs>,
        waiting: Arc<WaitingCalls<BegunCall>>,
    ) -> Arc<Self> {
        Arc::new(Self { room: Some(room), jobs, waiting, ..Self::default() })
    }

    /// Whether later messages belong to it as well.
    pub(crate) fn is_lasting(&self) -> bool {
        self.held.is_some()
    }

    /// Ends its streams of changes and its jobs. Requests that run are left alone.
    pub(crate) fn end(&self) {
        self.ended.cancel();
        self.jobs.end();
    }

    /// Cancels every request that runs.
    pub(crate) fn cancel_all(&self) {
        let in_flight = self.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        for running in in_flight.values() {
            running.cancellation.cancel();
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.peer.in_flight().remove(&self.id);
    }
}

/// What a request came to.
enum Begun {
    /// The result.
    Done(Box<RawValue>),
    /// A subscription, which is acknowledged.
    Subscribed,
    /// A call, which takes its time.
    Running(Pin<Box<dyn Future<Output = Option<Outcome>> + Send>>),
}

fn in_use() -> Fault {
    Fault::invalid_request("a request with this id is in flight")
}

fn done(result: &impl Serialize) -> Result<Begun, Fault> {
    to_raw_value(result).map(Begun::Done).map_err(|err| Fault::unwritable(&err))
}
