//! The one loop that drives a program of any backend from its start to its end: deadline, cancellation, output
//! limit, and the drain time after its exit.
//!
//! [`drive`] is the same for every backend, in calls that run to their end and in programs that
//! stay. It looks at five things at once: both outputs, the exit, the input, the clock and the
//! cancellation. Output comes first, so that a program's last words are not lost to its end.
//!
//! After the ending is decided the tree is ended through [`Control::end`], also after an exit,
//! since descendants may be left. Nothing here knows how a backend does that.

use std::{
    collections::BTreeSet,
    pin::pin,
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
    time::Duration,
};

use bytes::Bytes;
use tokio::{
    io::AsyncWriteExt,
    sync::{mpsc, oneshot},
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    Capability, Captured, Chunk, Control, Ended, Ending, ErrorOutput, ExecError, ExecErrorKind,
    Exit, LimitKind, Output, Running, SkippedBytes, Spec, Stream,
    capture::Recorder,
    traits::{BoxedReader, BoxedWriter},
};

/// How long the output of a program that has exited is waited for: 2 s. A descendant that holds the
/// pipe costs this much at most; a pipe that is merely full is read in microseconds.
pub const DRAIN_TIME: Duration = Duration::from_secs(2);

/// How long output is read after the tree was killed: 200 ms. Everything in the kill scope is gone
/// then, so only an escapee can still hold the pipe, and it was not asked to hurry.
const LAST_DRAIN_TIME: Duration = Duration::from_millis(200);

/// Reads in a row before the loop looks at everything else: 16, at most 4 MiB of a program that
/// prints without end. Without a pause such a program would keep the loop from its clock.
///
/// The clock of a runtime with one thread stands still as long as a task does not yield.
const READS_IN_A_ROW: u32 = 16;

/// What the loop needs of a spec, once the program has been started from it.
///
/// Made before the start; `observer` is set afterwards where there is one.
pub(crate) struct Plan {
    /// What is written to stdin; `None` for no input, and for piped input.
    input: Option<Bytes>,
    /// `None` for a stream that is handed to the caller.
    stdout: Option<Recorder>,
    stderr: Option<Recorder>,
    /// Bytes of both streams together; `u64::MAX` is no limit.
    output_limit: u64,
    /// For an end by deadline, cancellation or a limit; zero kills at once.
    grace: Duration,
    /// The deadline as a point in time.
    ///
    /// `None` for no deadline.
    pub(crate) deadline: Option<Instant>,
    /// Gets each chunk of captured output.
    pub(crate) observer: Option<mpsc::Sender<Chunk>>,
}

impl Plan {
    /// A deadline is given as a point in time, since its clock began before the start.
    pub(crate) fn new(spec: &Spec, deadline: Option<Instant>) -> Self {
        let recorder = |output: &Output| match output {
            Output::Captured(capture) => Some(Recorder::new(capture)),
            Output::Null => Some(Recorder::discarding()),
            Output::Piped => None,
        };
        Self {
            input: match &spec.stdin {
                crate::Stdin::Bytes(bytes) => Some(bytes.clone()),
                _ => None,
            },
            stdout: recorder(&spec.stdout),
            stderr: match &spec.stderr {
                ErrorOutput::Separate(output) => recorder(output),
                ErrorOutput::Merged => Some(Recorder::discarding()),
            },
            output_limit: spec.limits.output_bytes.unwrap_or(u64::MAX),
            grace: spec.grace.unwrap_or(Duration::ZERO),
            deadline,
            observer: None,
        }
    }
}

/// The program's streams, as far as the loop has to do with them.
///
/// A stream is here or with the caller, never with both.
#[derive(Default)]
pub(crate) struct Streams {
    pub(crate) stdin: Option<BoxedWriter>,
    pub(crate) stdout: Option<BoxedReader>,
    pub(crate) stderr: Option<BoxedReader>,
    pub(crate) stdout_skipped: SkippedBytes,
    pub(crate) stderr_skipped: SkippedBytes,
    /// One for each stream that was handed to the caller; it resolves when the caller has seen the
    /// stream's end or dropped it.
    pub(crate) handed_out: Vec<oneshot::Receiver<()>>,
}

/// The streams of a program of which the caller gets none. Adds what is in force to what the spec demands.
pub(crate) fn streams_of(
    running: Running,
    enforced: &mut BTreeSet<Capability>,
) -> (Streams, Box<dyn Control>) {
    let Running { stdin, stdout, stderr, stdout_skipped, stderr_skipped, control, enforced: more } =
        running;
    enforced.extend(more);
    let handed_out = Vec::new();
    (Streams { stdin, stdout, stderr, stdout_skipped, stderr_skipped, handed_out }, control)
}

/// What the loop found out.
///
/// Together with the report of the handle it makes an [`Outcome`](crate::Outcome).
pub(crate) struct Driven {
    pub(crate) ending: Ending,
    pub(crate) ended: Ended,
    pub(crate) stdout: Captured,
    pub(crate) stderr: Captured,
    /// Some process held an output open when reading stopped.
    pub(crate) pipe_held: bool,
}

/// Why reading stopped before the end of the streams.
///
/// The end of a stream is no stop.
enum Stop {
    /// Both streams together passed the limit.
    OverLimit,
    /// A stream could not be read, so the program is lost sight of.
    Failed(ExecError),
}

/// Drives a program that was started: feeds stdin, drains both outputs, and ends the tree when the leader has
/// exited, the deadline has passed, the caller has cancelled or the output limit is reached. After the exit,
/// output is waited for at most [`DRAIN_TIME`].
///
/// Dropping the future leaves the end of the program to the destructor of `control`.
///
/// # Errors
///
/// [`ExecErrorKind::Lost`] where a stream cannot be read, and those of [`Control::wait`] and
/// [`Control::end`].
pub(crate) async fn drive(
    control: &dyn Control,
    mut streams: Streams,
    mut plan: Plan,
    cancel: &CancellationToken,
) -> Result<Driven, ExecError> {
    // Borrowed and not moved: what is moved takes its place in this future twice.
    let Streams { stdin, stdout, stderr, stdout_skipped, stderr_skipped, handed_out } =
        &mut streams;
    let handed_out = std::mem::take(handed_out);
    let out = plan.stdout.get_or_insert_with(Recorder::discarding);
    let err = plan.stderr.get_or_insert_with(Recorder::discarding);
    let tap = Tap {
        observer: plan.observer.take(),
        telling: AtomicU32::new(0),
        sequence: AtomicU64::new(0),
        total_bytes: AtomicU64::new(0),
        limit: plan.output_limit,
    };

    let mut io_done = false;
    let mut pipe_held = false;
    let ending = {
        let mut io = pin!(async {
            tokio::try_join!(
                drain(stdout, out, stdout_skipped, &tap, Stream::Stdout),
                drain(stderr, err, stderr_skipped, &tap, Stream::Stderr),
                handed_out_streams(handed_out),
            )
        });
        // With nothing to feed, the loop is not gone through once more for it.
        let mut fed = stdin.is_none();
        let mut feeding = pin!(feed(stdin.take(), plan.input.take()));
        let mut wait = pin!(control.wait());
        let mut exit: Option<Exit> = None;
        let mut alarm = plan.deadline;
        let mut clock = pin!(sleep_until(alarm.unwrap_or_else(Instant::now)));
        loop {
            tokio::select! {
                // Output first: what a program printed before it ended is never lost to its end.
                biased;
                read = &mut io, if !io_done => match (read, exit) {
                    (Ok(_), Some(exit)) => { io_done = true; break Ending::Exited(exit) }
                    (Ok(_), None) => io_done = true,
                    (Err(Stop::OverLimit), _) => break Ending::LimitReached(LimitKind::Output),
                    (Err(Stop::Failed(err)), _) => return Err(err),
                },
                status = &mut wait, if exit.is_none() => {
                    let status = status?;
                    if io_done {
                        break Ending::Exited(status);
                    }
                    exit = Some(status);
                    // The deadline also bounds the wait for output.
                    let drained_by = Instant::now() + DRAIN_TIME;
                    let at = alarm.map_or(drained_by, |it| it.min(drained_by));
                    alarm = Some(at);
                    clock.as_mut().reset(at);
                }
                () = &mut feeding, if !fed && exit.is_none() => fed = true,
                () = &mut clock, if alarm.is_some() => match exit {
                    Some(exit) => { pipe_held = !tap.is_telling(); break Ending::Exited(exit) }
                    None => break Ending::TimedOut,
                },
                () = cancel.cancelled() => match exit {
                    Some(exit) => { pipe_held = !tap.is_telling(); break Ending::Exited(exit) }
                    None => break Ending::Cancelled,
                },
            }
        }
    };

    let grace = if matches!(ending, Ending::Exited(_)) { Duration::ZERO } else { plan.grace };
    let ended = if io_done {
        control.end(grace).await?
    } else {
        // What the program prints while it is being ended is still its output. It is not shown
        // any more, so that an observer that stopped taking chunks cannot hold up the end.
        let tap = Tap { observer: None, limit: u64::MAX, ..tap };
        let mut io = pin!(async {
            tokio::join!(
                drain(stdout, out, stdout_skipped, &tap, Stream::Stdout),
                drain(stderr, err, stderr_skipped, &tap, Stream::Stderr),
            )
        });
        let mut end = pin!(control.end(grace));
        let ended = loop {
            tokio::select! {
                biased;
                _ = &mut io, if !io_done => io_done = true,
                ended = &mut end => break ended?,
            }
        };
        if !io_done && timeout(LAST_DRAIN_TIME, io).await.is_err() {
            pipe_held = true;
        }
        ended
    };
    // A program that a bound or the clock of the backend ended looks as if it had ended by itself.
    let ending = match (ending, ended.limit) {
        (Ending::Exited(_), _) if ended.timed_out => Ending::TimedOut,
        (Ending::Exited(_), Some(limit)) => Ending::LimitReached(limit),
        (ending, _) => ending,
    };
    let finished = |it: Option<Recorder>| it.unwrap_or_else(Recorder::discarding).finish();
    let (stdout, stderr) = (finished(plan.stdout), finished(plan.stderr));
    Ok(Driven { ending, ended, stdout, stderr, pipe_held })
}

/// Counts what is read, passes it on, and knows the limit of both streams together.
///
/// Shared by both streams, so that chunks have one order and the limit is one for both.
struct Tap {
    observer: Option<mpsc::Sender<Chunk>>,
    /// Streams whose latest chunk waits for the observer.
    telling: AtomicU32,
    /// The number of the next chunk.
    sequence: AtomicU64,
    total_bytes: AtomicU64,
    limit: u64,
}

impl Tap {
    /// Whether output is late because the observer is, and not because a descendant holds the pipe.
    fn is_telling(&self) -> bool {
        self.telling.load(Ordering::Relaxed) > 0
    }
}

/// Reads one stream to its end, and hands each chunk to the observer where there is one.
///
/// Returns at the end of the stream, and closes it then. A stream that is not there has ended.
async fn drain(
    reader: &mut Option<BoxedReader>,
    recorder: &mut Recorder,
    skipped: &SkippedBytes,
    tap: &Tap,
    stream: Stream,
) -> Result<(), Stop> {
    let Some(open) = reader else { return Ok(()) };
    let mut reads = 0;
    loop {
        if reads == READS_IN_A_ROW {
            tokio::task::yield_now().await;
            reads = 0;
        }
        reads += 1;
        let (new, n_skipped) = recorder.read_from(open, skipped).await.map_err(|err| {
            let what = format!("read {}", stream.name());
            Stop::Failed(ExecError::new(ExecErrorKind::Lost, what).with_source(err))
        })?;
        let is_end = new.is_empty();
        let n = n_skipped.saturating_add(new.len() as u64);
        if let Some(observer) = tap.observer.as_ref().filter(|_| !is_end) {
            let sequence = tap.sequence.fetch_add(1, Ordering::Relaxed);
            let chunk = Chunk { stream, sequence, bytes: Bytes::copy_from_slice(new) };
            tap.telling.fetch_add(1, Ordering::Relaxed);
            // An observer that went away has seen enough; capture goes on.
            let _ = observer.send(chunk).await;
            tap.telling.fetch_sub(1, Ordering::Relaxed);
        }
        if tap.total_bytes.fetch_add(n, Ordering::Relaxed).saturating_add(n) > tap.limit {
            return Err(Stop::OverLimit);
        }
        if is_end {
            // Closing our end at once lets a descendant that still writes hear about it.
            *reader = None;
            return Ok(());
        }
    }
}

/// Writes the input and closes the stream.
///
/// Errors are passed over: the broken pipe of a program that does not read is its own business.
async fn feed(stdin: Option<BoxedWriter>, input: Option<Bytes>) {
    let Some(mut stdin) = stdin else { return };
    if let Some(input) = input {
        // A program that does not read its input is no error, so neither is a closed pipe.
        let _ = stdin.write_all(&input).await;
        let _ = stdin.shutdown().await;
    }
}

/// Waits until the caller has read each of these to its end, or dropped it.
async fn handed_out_streams(streams: Vec<oneshot::Receiver<()>>) -> Result<(), Stop> {
    for closed in streams {
        // The sender is dropped, never used.
        let _ = closed.await;
    }
    Ok(())
}
