//! The streams of one process, and what is said over them.
//!
//! A [`Link`] lives as long as its process: [`talk`](Link::talk) until there is a reason to
//! stop, then [`finish`](Link::finish). One task polls all three streams by hand, and nothing
//! else reads or writes them. No step waits for one stream alone, so a plugin that waits for its
//! output to be read gets on.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};

use flyto_execenv::{BoxedReader, BoxedWriter, Ending, ExecError, Exit, Outcome, Process};
use flyto_tools::{CancellationToken, Failure};
use tokio::{
    io::{AsyncReadExt, AsyncWrite},
    task::yield_now,
    time::{Instant, sleep, sleep_until},
};

use super::{
    answer::ProcessExit,
    lines::Lines,
    outbox::Outbox,
    response_reader::ResponseReader,
    state::{Request, SessionState, Work},
};

/// Time between the end of its input and the kill: 2 s, as long as a terminal's Ctrl-C gets
/// ([`DEFAULT_GRACE`](flyto_execenv::DEFAULT_GRACE)).
const GRACE: Duration = flyto_execenv::DEFAULT_GRACE;

/// Reads in a row before the task lets others run: 16, at most 1 MiB of a plugin that prints without
/// end.
const READS_IN_A_ROW: u32 = 16;

/// Room for each read of stderr.
const STDERR_BYTES: usize = 4 * 1024;

/// Why the talk is over.
/// It decides whether the process may still finish what it was asked.
#[derive(Debug)]
pub(super) enum Stop {
    /// The host closes it, or no caller holds a tool of it any more.
    Asked,
    /// It had no calls for long enough.
    Idle,
    /// It ended, or closed one of its streams.
    Closed,
    /// It takes no notice of us, for this reason.
    Stuck(String),
}

/// The streams of one process.
pub(super) struct Link<'a> {
    shared: &'a SessionState,
    /// `None` once it was closed, which is how the process learns that it should end.
    stdin: Option<BoxedWriter>,
    /// `None` once it ended.
    stdout: Option<BoxedReader>,
    /// `None` once it ended; the process may go on without it.
    stderr: Option<BoxedReader>,
    /// What is being written.
    outbox: Outbox,
    /// What of a line has been read.
    lines: Lines,
    responses: ResponseReader,
    /// Scratch: one read.
    stderr_piece: Vec<u8>,
    /// Whether the last read answered several calls.
    is_busy: bool,
    /// Whether others had a chance to add to what is about to be written.
    has_waited: bool,
    /// When the last answer came with no other call in flight; the idle time counts from here.
    last_use: Instant,
}

impl<'a> Link<'a> {
    /// Takes the streams out of the process, which has to be started with all three piped.
    pub(super) fn new(shared: &'a SessionState, process: &mut Process) -> Self {
        Self {
            shared,
            stdin: process.stdin.take(),
            stdout: process.stdout.take(),
            stderr: process.stderr.take(),
            outbox: Outbox::default(),
            lines: Lines::new(),
            responses: ResponseReader::default(),
            stderr_piece: Vec::with_capacity(STDERR_BYTES),
            is_busy: false,
            has_waited: false,
            last_use: Instant::now(),
        }
    }

    /// Writes requests and hears answers until there is a reason to stop.
    /// Dropping the future loses no data: all state is in `self`. Idle time runs only while no
    /// caller waits.
    pub(super) async fn talk(&mut self) -> Stop {
        let shared = self.shared;
        let mut asked = pin!(shared.stop.cancelled());
        let mut clock = pin!(sleep_until(self.last_use + shared.idle));
        let mut silence = pin!(sleep_until(self.last_use));
        poll_fn(|cx| {
            // Set anew only where it is needed, so that a call does not touch it. When it rings, the
            // look for work below finds what that means.
            if let Some(next) = shared.next_look() {
                if silence.deadline() != next {
                    silence.as_mut().reset(next);
                }
                let _ = silence.as_mut().poll(cx);
            }
            if asked.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Stop::Asked);
            }
            if let Poll::Ready(stop) = self.poll_streams(cx) {
                return Poll::Ready(stop);
            }
            // The clock is set again only when it rang, so that a call does not touch it.
            while clock.as_mut().poll(cx).is_ready() {
                let now = Instant::now();
                let since = if shared.is_awaited() { now } else { self.last_use };
                if since + shared.idle <= now {
                    return Poll::Ready(Stop::Idle);
                }
                clock.as_mut().reset(since + shared.idle);
            }
            Poll::Pending
        })
        .await
    }

    /// One round is a read of stdout, a write, and a read of stderr. After [`READS_IN_A_ROW`]
    /// rounds the task wakes itself and returns, so that other tasks run.
    fn poll_streams(&mut self, cx: &mut Context<'_>) -> Poll<Stop> {
        for _ in 0..READS_IN_A_ROW {
            let heard = self.poll_stdout(cx);
            if let Poll::Ready(Some(stop)) = heard {
                return Poll::Ready(stop);
            }
            if let Poll::Ready(stop) = self.poll_stdin(cx) {
                return Poll::Ready(stop);
            }
            let complained = self.poll_stderr(cx);
            if heard.is_pending() && complained.is_pending() {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Reads once. Ready is `None` when more may follow.
    /// Answers go to their callers after each read, in one step. A reason to stop is the end of
    /// the stream, or an answer of which the call is not known.
    fn poll_stdout(&mut self, cx: &mut Context<'_>) -> Poll<Option<Stop>> {
        let Some(stdout) = &mut self.stdout else { return Poll::Pending };
        let read = pin!(stdout.read_buf(self.lines.room())).poll(cx);
        let Poll::Ready(read) = read else { return Poll::Pending };
        let (responses, shared) = (&mut self.responses, self.shared);
        // A stream that cannot be read has ended as well.
        let is_end = read.unwrap_or(0) == 0;
        if is_end {
            self.stdout = None;
            self.lines.finish(|line| responses.take(shared, line));
        } else {
            self.lines.take(|line| responses.take(shared, line));
        }
        let n_answers = responses.answers.len();
        if n_answers > 0 {
            self.is_busy = n_answers > 1;
            if !shared.answer(&mut responses.answers) {
                self.last_use = Instant::now();
            }
        }
        let stuck = responses.lost_thread.take().map(Stop::Stuck);
        Poll::Ready(stuck.or(is_end.then_some(Stop::Closed)))
    }

    /// Writes what there is to write. Ready is a reason to stop.
    /// Where several calls are in flight, it lets the other tasks run once before it writes, so
    /// that their requests go out in one write.
    fn poll_stdin(&mut self, cx: &mut Context<'_>) -> Poll<Stop> {
        if self.stdin.is_none() {
            return Poll::Pending;
        }
        loop {
            match self.shared.work(self.is_busy, !self.outbox.is_written(), cx.waker()) {
                Work::Stuck(why) => return Poll::Ready(Stop::Stuck(why)),
                _ if !self.outbox.is_written() => {}
                Work::Nothing => return Poll::Pending,
                Work::Soon if !self.has_waited => {
                    self.has_waited = true;
                    // Wakes this task when every other one that is ready has run.
                    let _ = pin!(yield_now()).poll(cx);
                    return Poll::Pending;
                }
                Work::Soon | Work::Write => {
                    self.has_waited = false;
                    self.is_busy = false;
                    self.hear_rest(cx);
                    self.outbox.fill(self.shared);
                }
            }
            let Some(stdin) = &mut self.stdin else { return Poll::Pending };
            match Pin::new(stdin).poll_write(cx, self.outbox.rest()) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(n)) if n > 0 => self.outbox.advance(n),
                Poll::Ready(_) => return Poll::Ready(Stop::Closed),
            }
        }
    }

    /// Reads what stderr has had so far: it is of earlier calls, not of those that are about to be
    /// written.
    /// Bounded by [`READS_IN_A_ROW`], for a plugin that prints without end.
    fn hear_rest(&mut self, cx: &mut Context<'_>) {
        for _ in 0..READS_IN_A_ROW {
            if self.poll_stderr(cx).is_pending() {
                return;
            }
        }
    }

    /// Writes what is left to be written, and then ends the input.
    /// A write that fails closes the input, and the process is ended all the same.
    fn poll_last_words(&mut self, cx: &mut Context<'_>) {
        while let Some(stdin) = &mut self.stdin {
            if self.outbox.is_written() {
                self.stdin = None;
                return;
            }
            match Pin::new(stdin).poll_write(cx, self.outbox.rest()) {
                Poll::Pending => return,
                Poll::Ready(Ok(n)) if n > 0 => self.outbox.advance(n),
                Poll::Ready(_) => self.stdin = None,
            }
        }
    }

    /// Reads once into the kept end of the stream. Ready as long as more may follow.
    fn poll_stderr(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(stderr) = &mut self.stderr else { return Poll::Pending };
        self.stderr_piece.clear();
        let read = pin!(stderr.read_buf(&mut self.stderr_piece)).poll(cx);
        let Poll::Ready(read) = read else { return Poll::Pending };
        match read.unwrap_or(0) {
            0 => self.stderr = None,
            _ => self.shared.stderr().push(&self.stderr_piece),
        }
        Poll::Ready(())
    }

    /// Ends the process, hears what it still has to say, and tells what became of it and which
    /// requests it cannot have seen.
    /// Its input ends, and it has [`GRACE`] to exit; `Sessions::abort` takes that time away. A
    /// process that is stuck is killed at once. The streams are read meanwhile, so that answers
    /// that were under way still reach their callers.
    pub(super) async fn finish(
        mut self,
        process: Process,
        kill: &CancellationToken,
        stop: Stop,
    ) -> (ProcessExit, Vec<Request>) {
        match stop {
            // The call that ended the session may have cancelled others just before.
            Stop::Asked | Stop::Idle => self.outbox.fill_last(self.shared),
            Stop::Closed | Stop::Stuck(_) => self.stdin = None,
        }
        if let Stop::Stuck(_) = stop {
            kill.cancel();
        }
        let mut ended = pin!(process.wait());
        let mut grace = pin!(sleep(GRACE));
        let mut aborted = pin!(self.shared.sessions.aborted().cancelled());
        let outcome = poll_fn(|cx| {
            if !kill.is_cancelled() && aborted.as_mut().poll(cx).is_ready() {
                kill.cancel();
            }
            if let Poll::Ready(outcome) = ended.as_mut().poll(cx) {
                return Poll::Ready(outcome);
            }
            // Before the streams: a plugin that prints without end must not keep the clock waiting.
            if !kill.is_cancelled() && grace.as_mut().poll(cx).is_ready() {
                kill.cancel();
            }
            // A process that is being killed is not to begin with its farewell.
            if !kill.is_cancelled() {
                self.poll_last_words(cx);
            }
            for _ in 0..READS_IN_A_ROW {
                let (heard, complained) = (self.poll_stdout(cx), self.poll_stderr(cx));
                if heard.is_pending() && complained.is_pending() {
                    return Poll::Pending;
                }
            }
            // More may follow without end: the clocks and the signals are looked at between.
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
        let process_exit = self.process_exit(stop, outcome);
        (process_exit, self.outbox.unseen())
    }

    /// The end in words and as a failure. An exit with code 0 that was not asked for fails the
    /// calls in flight as [`Failure::BadOutput`].
    fn process_exit(&self, stop: Stop, outcome: Result<Outcome, ExecError>) -> ProcessExit {
        let was_asked_for = matches!(stop, Stop::Asked | Stop::Idle);
        let ending = outcome.as_ref().map(|it| it.ending);
        let (why, failure) = match (stop, ending) {
            (Stop::Asked, _) => ("the session was closed".to_owned(), Failure::Cancelled),
            (Stop::Idle, _) => ("the session was idle".to_owned(), Failure::Cancelled),
            (Stop::Stuck(why), _) => (format!("the session was ended: {why}"), Failure::Lost),
            (Stop::Closed, Ok(Ending::Exited(Exit::Code(0)))) => {
                ("the session ended: exit code 0".to_owned(), Failure::BadOutput)
            }
            (Stop::Closed, Ok(Ending::Exited(Exit::Code(code)))) => {
                (format!("the session ended: exit code {code}"), Failure::exit_code(code))
            }
            (Stop::Closed, Ok(Ending::Exited(Exit::Signal(signal)))) => (
                format!("the session ended: killed by {signal}"),
                Failure::Signal { number: signal.0, name: signal.name().map(ToOwned::to_owned) },
            ),
            (Stop::Closed, Ok(Ending::LimitReached(limit))) => (
                format!("the session ended: it reached its limit of {}", limit.name()),
                Failure::limit(limit.name()),
            ),
            (Stop::Closed, Ok(_)) => {
                let why = "the session was ended: it closed its streams and did not exit";
                (why.to_owned(), Failure::Lost)
            }
            (Stop::Closed, Err(_)) => ("the session was lost".to_owned(), Failure::Lost),
        };
        let is_confirmed = outcome.as_ref().is_ok_and(|it| it.confirmed);
        let is_failure = !outcome.is_ok_and(|it| it.success());
        let (stdout, stderr) = (self.shared.noise().clone(), self.shared.stderr().clone());
        ProcessExit {
            why,
            failure,
            stdout,
            stderr,
            was_asked_for,
            is_failure,
            is_confirmed,
            execution: None,
        }
    }
}
