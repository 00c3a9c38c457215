//! One connection over a pair of streams: from lines to messages and back, from its begin to its end.
//!
//! Where the streams can be polled ([`no_wait`](super::no_wait)), tasks read and write them. A terminal and a file cannot, nor can the
//! streams of a host that gives others than its stdin and stdout: two threads wait for those, one for each direction. Between them and
//! the task that takes the messages are bounded queues: a client that writes faster than it is served waits at its pipe, and one that
//! does not read makes its calls wait with their results.
//!
//! The end has three steps: calls end by themselves where the client only closed its end, then they are cancelled, then they are
//! dropped. Each step has a bound, so that a server ends whatever its tools and its client do.

#[cfg(unix)]
use std::os::fd::AsFd;
use std::{
    io::{self, Read, Write},
    sync::Arc,
    time::Duration,
};

use flyto_tools::CancellationToken;
use serde_json::value::RawValue;
use tokio::{sync::oneshot, task::JoinSet, time::timeout};

use super::{
    ServerOptions, Shared,
    fault::Fault,
    incoming::Incoming,
    line::Line,
    message::{Frame, Response},
    outbox::Outbox,
    peer::{Peer, Session, Work},
};
#[cfg(unix)]
use super::{
    no_wait::NoWait,
    stdio::{Stdin, Stdout},
};

/// Answers that wait for a client that does not read, beside the calls in flight. With more, no further line is taken: what such a
/// client costs is bounded, however many calls it makes.
const MAX_ANSWERS_WAITING: usize = 64;
/// How long the end of a connection waits for a client that does not read what is left: 2 s.
const FLUSH: Duration = Duration::from_secs(2);

/// Why a connection ended. Whatever the reason, no call of it is left, and no process of one that the backend could end.
///
/// ```
/// use flyto_mcp::ConnectionEnd;
///
/// fn exit_code(end: &ConnectionEnd) -> u8 {
///     match end {
///         // A client that went away is no failure of the server.
///         ConnectionEnd::Closed => 0,
///         ConnectionEnd::Stopped => 143,
///         _ => 74,
///     }
/// }
/// assert_eq!(exit_code(&ConnectionEnd::Closed), 0);
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectionEnd {
    /// The client closed its end. Calls that ended in time were answered.
    Closed,
    /// The server was stopped.
    Stopped,
    /// The client does not read any more, or the streams are broken: the error that reading or writing gave, such as
    /// [`io::ErrorKind::BrokenPipe`].
    Broken(io::Error),
}

/// The streams of a client.
pub(crate) struct Streams {
    incoming: Incoming,
    outbox: Outbox,
    /// Told at the end: whether all was written.
    written: oneshot::Receiver<io::Result<()>>,
}

impl Streams {
    /// Any streams, which threads read and write.
    ///
    /// # Errors
    ///
    /// The system has no thread left.
    pub(crate) fn of(
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        options: &ServerOptions,
    ) -> io::Result<Self> {
        let (outbox, written) = Outbox::start(writer)?;
        let incoming = Incoming::of_reader(reader, options.max_message_bytes)?;
        Ok(Self { incoming, outbox, written })
    }

    /// stdin and stdout of this process.
    ///
    /// # Errors
    ///
    /// The system has no thread or descriptor left.
    #[cfg(unix)]
    pub(crate) fn of_stdio(options: &ServerOptions) -> io::Result<Self> {
        let reader = NoWait::new(io::stdin().as_fd().try_clone_to_owned()?);
        let writer = NoWait::new(io::stdout().as_fd().try_clone_to_owned()?);
        match reader.zip(writer) {
            Some((reader, writer)) => Self::of_polled(reader, writer, options),
            None => Self::of(Stdin, Stdout, options),
        }
    }

    /// The same on a system without descriptors.
    #[cfg(not(unix))]
    pub(crate) fn of_stdio(options: &ServerOptions) -> io::Result<Self> {
        Self::of(io::stdin(), io::stdout(), options)
    }

    /// Pipes or sockets, which tasks read and write.
    ///
    /// # Errors
    ///
    /// The system does not watch them.
    #[cfg(unix)]
    pub(crate) fn of_polled(
        reader: NoWait,
        writer: NoWait,
        options: &ServerOptions,
    ) -> io::Result<Self> {
        let (outbox, written) = Outbox::start_polled(writer)?;
        let incoming = Incoming::of_polled(reader, options.max_message_bytes)?;
        Ok(Self { incoming, outbox, written })
    }
}

/// Serves one client until it closes its end, does not read any more, or `stop` is cancelled.
pub(crate) async fn serve(
    server: Arc<Shared>,
    streams: Streams,
    stop: CancellationToken,
) -> ConnectionEnd {
    let Streams { incoming, outbox, written } = streams;
    let peer = Peer::new(server, outbox, Session::lasting(None));
    let mut calls = JoinSet::new();
    let end = take_lines(&peer, incoming, &mut calls, &stop).await;
    finish(&peer, calls, &end, &stop).await;
    drop(peer);
    let unwritten = match timeout(FLUSH, written).await {
        Ok(Ok(Err(err))) => Some(err),
        _ => None,
    };
    match (end, unwritten) {
        (Ended::Stop, _) => ConnectionEnd::Stopped,
        (_, Some(err)) | (Ended::Client(Err(err)), None) => ConnectionEnd::Broken(err),
        (Ended::Client(Ok(())), None) => ConnectionEnd::Closed,
        (Ended::Writer, None) => ConnectionEnd::Broken(io::ErrorKind::BrokenPipe.into()),
    }
}

/// Why no further line is taken.
#[derive(Debug)]
enum Ended {
    /// Its stream ended, or broke.
    Client(io::Result<()>),
    Writer,
    Stop,
}

/// Takes lines until there are no more, or the connection is to end. Calls run beside it; an answer is written as soon as it is
/// there, whatever came before it.
async fn take_lines(
    peer: &Arc<Peer>,
    mut lines: Incoming,
    calls: &mut JoinSet<()>,
    stop: &CancellationToken,
) -> Ended {
    // The registry outlives the connection; without it there is nothing to tell.
    let mut has_ended = false;
    let mut changes = peer.server.host.registry().watch();
    // A task runs a call, and then waits with its answer.
    let most_tasks = peer.server.options.max_calls.saturating_add(MAX_ANSWERS_WAITING);
    loop {
        // The end of a call does not wake this task: one that has ended is taken out with the next line.
        while calls.try_join_next().is_some() {}
        let line = tokio::select! {
            biased;
            () = stop.cancelled() => return Ended::Stop,
            () = peer.outbox.closed() => return Ended::Writer,
            Some(_) = calls.join_next(), if calls.len() >= most_tasks => continue,
            changed = changes.changed(), if !has_ended => match changed {
                Some(_) => None,
                None => { has_ended = true; continue }
            },
            line = lines.next(), if calls.len() < most_tasks => match line {
                Ok(Some(line)) => Some(line),
                Ok(None) => return Ended::Client(Ok(())),
                Err(err) => return Ended::Client(Err(err)),
            },
        };
        let work = async {
            match line {
                Some(line) => take(peer, line, calls).await,
                None => peer.tell_changes().await,
            }
        };
        // A client that does not read delays this, and does not delay the end of the server.
        tokio::select! {
            biased;
            () = work => {}
            () = stop.cancelled() => return Ended::Stop,
        }
    }
}

/// Takes one line: what can be answered at once is, and what takes time becomes a task of `calls`.
async fn take(peer: &Arc<Peer>, line: Line, calls: &mut JoinSet<()>) {
    let text = match line {
        Line::Whole(text) => text,
        Line::TooLong(bytes) => {
            let max = peer.server.options.max_message_bytes;
            let fault = Fault::invalid_request(format!(
                "a message of {bytes} bytes was dropped; at most {max} are taken"
            ));
            return peer.answer(None, &Err(fault)).await;
        }
    };
    if text.trim_ascii().is_empty() {
        return;
    }
    match Frame::parse(&text) {
        Frame::One(message) => match peer.receive(message) {
            Work::Silent => {}
            Work::Answered(id, outcome) => peer.answer(id.as_ref(), &outcome).await,
            Work::Subscribed(id) => peer.acknowledge(&id).await,
            Work::Running(id, work) => {
                let peer = Arc::clone(peer);
                calls.spawn(async move {
                    if let Some(outcome) = work.await {
                        peer.answer(Some(&id), &outcome).await;
                    }
                });
            }
        },
        Frame::Batch(messages) if messages.is_empty() || !peer.takes_batches() => {
            let why = match messages.is_empty() {
                true => "a batch must hold a message",
                false => "this revision of the protocol has no batches",
            };
            peer.answer(None, &Err(Fault::invalid_request(why))).await;
        }
        Frame::Batch(messages) => {
            let works: Vec<Work> = messages.into_iter().map(|it| peer.receive(it)).collect();
            let peer = Arc::clone(peer);
            calls.spawn(async move {
                let answers = answers(works).await;
                if !answers.is_empty() {
                    let _ = peer.outbox.send(&answers).await;
                }
            });
        }
    }
}

/// The answers of a batch in one array, in the order of its requests.
async fn answers(works: Vec<Work>) -> Vec<Box<RawValue>> {
    let n_works = works.len();
    let mut running = JoinSet::new();
    for (index, work) in works.into_iter().enumerate() {
        running.spawn(async move {
            let (id, outcome) = match work {
                // Batches are of an era without subscriptions.
                Work::Silent | Work::Subscribed(_) => return None,
                Work::Answered(id, outcome) => (id, outcome),
                Work::Running(id, work) => (Some(id), work.await?),
            };
            let response = Response::new(id.as_ref(), &outcome);
            Some((index, serde_json::value::to_raw_value(&response).ok()?))
        });
    }
    let mut res: Vec<Option<Box<RawValue>>> = vec![None; n_works];
    while let Some(done) = running.join_next().await {
        if let Ok(Some((index, response))) = done {
            res[index] = Some(response);
        }
    }
    res.into_iter().flatten().collect()
}

/// Lets calls in flight end: by themselves where the client may still read, then by cancellation, then by force.
async fn finish(peer: &Arc<Peer>, mut calls: JoinSet<()>, end: &Ended, stop: &CancellationToken) {
    let options = &peer.server.options;
    peer.session.questions.close();
    peer.session.waiting.end();
    if matches!(end, Ended::Client(_)) {
        tokio::select! {
            () = all_ended(&mut calls) => {}
            () = tokio::time::sleep(options.drain) => {}
            () = stop.cancelled() => {}
            () = peer.outbox.closed() => {}
        }
    }
    peer.session.cancel_all();
    let ending = async {
        tokio::join!(all_ended(&mut calls), peer.session.waiting.all_ended());
        peer.end_subscriptions().await;
    };
    let _ = timeout(options.grace, ending).await;
    peer.session.waiting.clear();
    calls.shutdown().await;
}

/// Waits for the end of every call.
async fn all_ended(calls: &mut JoinSet<()>) {
    while calls.join_next().await.is_some() {}
}
