//! The start of a call, unless the call is over before it.

use std::future::{Future, pending};

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::{Ending, ErrorOutput, ExecError, Output, Running, Spec};

/// Tells the backend which streams something reads as a whole: an observer reads both, and so does the count against a
/// bound on output; a file reads its own.
pub(crate) fn want_all(spec: &mut Spec, is_observed: bool) {
    let all = is_observed || spec.limits.output_bytes.is_some();
    let captured = |it: &mut Output| {
        if let Output::Captured(capture) = it {
            capture.may_skip &= !all && capture.spill.is_none();
        }
    };
    captured(&mut spec.stdout);
    if let ErrorOutput::Separate(output) = &mut spec.stderr {
        captured(output);
    }
}

/// The moment of the deadline; `None` where there is none, or one beyond what the clock can express.
pub(crate) fn deadline_of(spec: &Spec, started: Instant) -> Option<Instant> {
    // A deadline beyond the clock's range is none.
    spec.deadline.and_then(|it| started.checked_add(it))
}

/// A call that is over already starts nothing.
pub(crate) fn may_begin(
    now: Instant,
    deadline: Option<Instant>,
    cancel: &CancellationToken,
) -> Result<(), Ending> {
    match deadline {
        _ if cancel.is_cancelled() => Err(Ending::Cancelled),
        Some(deadline) if deadline <= now => Err(Ending::TimedOut),
        _ => Ok(()),
    }
}

/// Waits for the start of a program unless the call is over first; then the dropped start leaves nothing behind.
///
/// The spec is in the start, and not in this future once more.
pub(crate) async fn begin(
    start: impl Future<Output = Result<Running, ExecError>>,
    now: Instant,
    deadline: Option<Instant>,
    cancel: &CancellationToken,
) -> Result<Result<Running, Ending>, ExecError> {
    if let Err(ending) = may_begin(now, deadline, cancel) {
        return Ok(Err(ending));
    }
    tokio::select! {
        biased;
        running = start => running.map(Ok),
        () = cancel.cancelled() => Ok(Err(Ending::Cancelled)),
        () = at(deadline) => Ok(Err(Ending::TimedOut)),
    }
}

/// Resolves at `at`; never without one.
pub(crate) async fn at(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}
