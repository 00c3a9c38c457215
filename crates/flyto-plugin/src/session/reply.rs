//! What passes from the task of a session to a caller that waits.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use flyto_tools::Execution;
use tokio::sync::{mpsc, oneshot};

use super::answer::{Answer, Since};

/// An answer, and how the process was run that gave it.
pub(super) type Reply = (Answer, Option<Arc<Execution>>);

/// How far a call has come, in the plugin's words.
#[derive(Debug)]
pub(super) struct Progress {
    pub(super) progress: f64,
    pub(super) detail: String,
}

/// Where the streams were when the call came to the process: a [`Since`] that is set when the
/// call is queued while a process is up, and again when it is written.
#[derive(Debug, Default)]
pub(super) struct Mark {
    stdout: AtomicU64,
    stderr: AtomicU64,
}

impl Mark {
    /// The two numbers are stored one after the other; they serve a text, so no order is needed.
    pub(super) fn set(&self, since: Since) {
        self.stdout.store(since.stdout, Ordering::Relaxed);
        self.stderr.store(since.stderr, Ordering::Relaxed);
    }

    pub(super) fn since(&self) -> Since {
        let (stdout, stderr) =
            (self.stdout.load(Ordering::Relaxed), self.stderr.load(Ordering::Relaxed));
        Since { stdout, stderr }
    }
}

/// A call that is in the queue.
///
/// The caller's ends of its channels; the table of the session's state has the others.
pub(super) struct Queued {
    /// The id in the request; it is never used again in this session.
    pub(super) id: u64,
    /// From where on the streams belong to this call.
    pub(super) mark: Arc<Mark>,
    pub(super) reply: oneshot::Receiver<Reply>,
    /// `None` where the caller does not listen.
    pub(super) progress: Option<mpsc::Receiver<Progress>>,
    /// Whether the session has no task yet, so that the caller starts one.
    pub(super) needs_task: bool,
}
