//! Checks that may take long, beside the task that asks for them.
//!
//! A check does not give way to other tasks, so one that may take long runs in a thread of its own.
//! The task waits for it, for the deadline and for cancellation. A thread that is abandoned ends at
//! the next pattern or `enum`, after [`MAX_STEPS`](super::budget::MAX_STEPS) at the latest, and counts
//! until then.
//!
//! There is no clock without a runtime in this crate, so each waiting check with a deadline has a
//! second thread for that, which ends with the check.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Instant;

use tokio::sync::{Semaphore, oneshot};
use tokio_util::sync::CancellationToken;

use super::budget::Budget;
use crate::call::CallContext;

/// Threads that check, with those that are abandoned. Further checks wait.
const MAX_THREADS: usize = 4;
/// What the deepest check takes, twice.
const STACK_BYTES: usize = 4 << 20;

/// Checks that run or wait to. Each with a deadline has a thread as its clock.
const MAX_CHECKS: usize = 64;

static THREADS: Semaphore = Semaphore::const_new(MAX_THREADS);
static CHECKS: Semaphore = Semaphore::const_new(MAX_CHECKS);

/// How work ended that was not carried out to its end.
///
/// What the check would have answered is not known in any of these cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Abandoned {
    /// The deadline came first.
    TimedOut,
    /// The context of the call was cancelled.
    Cancelled,
    /// There are too many checks, the system has no thread, or the work panicked.
    Failed,
}

/// Does `work` in a thread under `budget` until `deadline` at most.
///
/// Works under any executor. Dropping the future abandons the work as the deadline does.
///
/// # Errors
///
/// [`Abandoned`] says why there is no answer; the thread may go on until its next step is counted.
pub(super) async fn run<R: Send + 'static>(
    ctx: &CallContext,
    deadline: Option<Instant>,
    budget: &Arc<Budget>,
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R, Abandoned> {
    let _place = CHECKS.try_acquire().map_err(|_| Abandoned::Failed)?;
    // Also where the future is dropped.
    let _stop = StopOnDrop(Arc::clone(budget));
    let expired = CancellationToken::new();
    let _clock = clock(deadline, &expired).map_err(|_| Abandoned::Failed)?;
    let result = async {
        let permit = THREADS.acquire().await.map_err(|_| Abandoned::Failed)?;
        let (done, result) = oneshot::channel();
        let checker = thread::Builder::new().name("check".to_owned()).stack_size(STACK_BYTES);
        let work = move || {
            let _permit = permit;
            let _ = done.send(work());
        };
        checker.spawn(work).map_err(|_| Abandoned::Failed)?;
        result.await.map_err(|_| Abandoned::Failed)
    };
    match ctx.cancellation().run_until_cancelled(expired.run_until_cancelled(result)).await {
        None => Err(Abandoned::Cancelled),
        Some(None) => Err(Abandoned::TimedOut),
        Some(Some(result)) => result,
    }
}

/// Cancels `expired` at the deadline, unless what is returned is dropped before: a thread, because
/// this crate knows no runtime that has clocks.
fn clock(
    deadline: Option<Instant>,
    expired: &CancellationToken,
) -> std::io::Result<Option<mpsc::Sender<()>>> {
    let Some(deadline) = deadline else { return Ok(None) };
    let (sender, receiver) = mpsc::channel();
    let expired = expired.clone();
    thread::Builder::new().name("check clock".to_owned()).spawn(move || {
        let left = deadline.saturating_duration_since(Instant::now());
        if receiver.recv_timeout(left) == Err(mpsc::RecvTimeoutError::Timeout) {
            expired.cancel();
        }
    })?;
    Ok(Some(sender))
}

/// Stopping a check that has ended does nothing.
struct StopOnDrop(Arc<Budget>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}
