//! Output that is shown while the tool runs.
//!
//! A thread of its own writes it, because a reader may take its time (a pager, a terminal that is
//! stopped), and a call that waits for a write cannot see its deadline pass. The tool waits for the
//! reader as long as nothing else happens; see [`Live::release`].

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use flyto_tools::{CancellationToken, OutputChannel, OutputChunk, OutputSink};

use super::status::Status;

/// Bytes that wait for the reader before the tool does: what a pipe of the system holds as well.
const QUEUE_BYTES: usize = 64 * 1024;

/// Shows chunks in the order in which they come. Cloning gives another handle.
#[derive(Clone, Debug)]
pub(super) struct Live(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    status: Arc<Status>,
    /// When the call ends by itself. A tool is not kept waiting beyond that.
    deadline: Option<Instant>,
    /// Ends the call when its output has no reader any more.
    cancellation: CancellationToken,
    /// Whether what the tool says on stderr is shown as well.
    stderr: bool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<(OutputChannel, Vec<u8>)>,
    /// In the queue and on their way out of it.
    waiting_bytes: usize,
    /// The writer is there. It is started by the first chunk, for most tools show none.
    has_writer: bool,
    /// The reader is not waited for any more.
    is_released: bool,
    shown: Shown,
    /// Why nothing can be written.
    broken: Option<io::Error>,
}

/// What became of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shown {
    /// Whether there was some on stdout.
    pub(super) stdout: bool,
    /// Whether the last line of that has no end.
    pub(super) is_within_line: bool,
    /// Whether there was some on stderr.
    pub(super) stderr: bool,
    /// How much was not shown, because it was not read until the end of the call.
    pub(super) dropped_bytes: u64,
}

impl Live {
    pub(super) fn new(
        status: Arc<Status>,
        deadline: Option<Instant>,
        cancellation: CancellationToken,
        stderr: bool,
    ) -> Self {
        let (state, changed) = (Mutex::default(), Condvar::new());
        Self(Arc::new(Shared { status, deadline, cancellation, stderr, state, changed }))
    }

    /// Lets go of a tool that waits for the reader, because the call is to end.
    pub(super) fn release(&self) {
        self.0.lock().is_released = true;
        self.0.changed.notify_all();
    }

    /// Waits until everything is written, and says what became of it.
    ///
    /// # Errors
    ///
    /// What kept stdout from being written.
    pub(super) fn finish(&self) -> io::Result<Shown> {
        let mut state = self.0.lock();
        while state.waiting_bytes > 0 {
            state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        match state.broken.take() {
            Some(err) => Err(err),
            None => {
                self.0.status.finish()?;
                Ok(state.shown)
            }
        }
    }

    fn start_writer(&self, state: &mut State) {
        if state.has_writer {
            return;
        }
        let shared = Arc::clone(&self.0);
        let writer = thread::Builder::new().name("stdout".to_owned());
        match writer.spawn(move || shared.write_all()) {
            Ok(_) => state.has_writer = true,
            Err(err) => self.0.break_off(state, err),
        }
    }
}

impl OutputSink for Live {
    fn output(&self, chunk: OutputChunk<'_>) {
        let is_stdout = chunk.channel == OutputChannel::Output;
        if chunk.bytes.is_empty() || !(is_stdout || self.0.stderr) {
            return;
        }
        let mut state = self.0.lock();
        self.start_writer(&mut state);
        state = self.0.wait_for_room(state);
        if state.broken.is_some() {
            return;
        }
        if state.waiting_bytes >= QUEUE_BYTES {
            state.shown.dropped_bytes += chunk.bytes.len() as u64;
            return;
        }
        if is_stdout {
            state.shown.stdout = true;
            state.shown.is_within_line = !chunk.bytes.ends_with(b"\n");
        } else {
            state.shown.stderr = true;
        }
        state.waiting_bytes += chunk.bytes.len();
        state.queue.push_back((chunk.channel, chunk.bytes.to_vec()));
        self.0.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole between any two statements that change it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the reader has caught up, the call is to end, or nothing can be written.
    fn wait_for_room<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        while state.waiting_bytes >= QUEUE_BYTES && !state.is_released && state.broken.is_none() {
            state = match self.deadline {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        state.is_released = true;
                        return state;
                    }
                    let waited = self.changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        state
    }

    /// Writes whatever comes, as long as it can be written.
    fn write_all(&self) {
        let mut state = self.lock();
        loop {
            let Some((channel, bytes)) = state.queue.pop_front() else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(state);
            let res = match channel {
                OutputChannel::Output => self.status.write_stdout(&bytes),
                _ => {
                    self.status.write_stderr(&bytes);
                    Ok(())
                }
            };
            state = self.lock();
            if let Err(err) = res {
                self.break_off(&mut state, err);
                return;
            }
            state.waiting_bytes -= bytes.len();
            self.changed.notify_all();
        }
    }

    /// Ends the call: its output has nowhere to go.
    fn break_off(&self, state: &mut State, err: io::Error) {
        state.broken = Some(err);
        state.queue.clear();
        state.waiting_bytes = 0;
        self.cancellation.cancel();
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(deadline: Option<Instant>) -> Live {
        let status = Arc::new(Status::new("t", &crate::screen::Screen::plain()));
        Live::new(status, deadline, CancellationToken::new(), false)
    }

    /// A reader that never reads: the queue is full and stays so.
    fn stuck(live: &Live) {
        let mut state = live.0.lock();
        state.has_writer = true;
        state.waiting_bytes = QUEUE_BYTES;
    }

    fn chunk(bytes: &[u8], live: &Live) {
        let ctx = flyto_tools::CallContext::new().with_output(live.clone());
        ctx.emit(OutputChannel::Output, bytes);
    }

    #[test]
    fn a_tool_does_not_wait_beyond_the_deadline() {
        let live = live(Some(Instant::now()));
        stuck(&live);
        chunk(b"lost", &live);
        assert_eq!(live.0.lock().shown.dropped_bytes, 4);
    }

    #[test]
    fn a_call_that_is_to_end_is_let_go() {
        let live = live(None);
        stuck(&live);
        let tool = {
            let live = live.clone();
            thread::spawn(move || chunk(b"lost", &live))
        };
        live.release();
        tool.join().unwrap();
        assert_eq!(live.0.lock().shown, Shown { dropped_bytes: 4, ..Shown::default() });
    }

    #[test]
    fn a_closed_reader_ends_the_call() {
        let live = live(None);
        stuck(&live);
        live.0.break_off(&mut live.0.lock(), io::ErrorKind::BrokenPipe.into());
        chunk(b"late", &live);
        assert!(live.0.cancellation.is_cancelled());
        assert_eq!(live.finish().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn what_is_said_beside_the_output_is_shown_on_demand() {
        let live = live(None);
        let ctx = flyto_tools::CallContext::new().with_output(live.clone());
        ctx.emit(OutputChannel::Error, b"unseen");
        assert_eq!(live.finish().unwrap(), Shown::default());
    }
}
