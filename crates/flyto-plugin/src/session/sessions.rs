//! All sessions of a host, to end them together.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use flyto_tools::CancellationToken;
use tokio::sync::watch;

/// The processes of all session plugins of a host.
///
/// A session ends by itself when it was idle for long enough or when its tools are dropped; dropping
/// the runtime kills what is left. A host that wants its plugins to end in peace waits for
/// [`close`](Self::close). Cloning is cheap, and clones are the same.
///
/// ```
/// use flyto_plugin::Sessions;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let sessions = Sessions::new();
/// // No plugin was called: this returns at once.
/// sessions.close().await;
/// assert!(sessions.unended().is_empty());
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Sessions {
    stop: CancellationToken,
    /// Cancelled where a plugin's last words are not waited for.
    abort: CancellationToken,
    /// How many tasks look after a session; each has at most one process.
    pub(super) running: watch::Sender<usize>,
    unended: Arc<Mutex<BTreeSet<String>>>,
}

impl Sessions {
    /// No processes yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends every session and returns when its process is gone.
    ///
    /// A plugin sees the end of its input and has 2 s to answer what it was asked; then it is
    /// killed. Later calls are refused.
    ///
    /// Once polled, it is not called off by a drop of the future: the sessions end all the same.
    pub async fn close(&self) {
        self.stop.cancel();
        self.gone().await;
    }

    /// Kills the process of every session and returns when all are gone. Later calls are refused.
    ///
    /// This also takes the grace from a [`close`](Self::close) that is under way.
    pub async fn abort(&self) {
        // Before the other: a session that is told to stop looks whether there is any grace.
        self.abort.cancel();
        self.stop.cancel();
        self.gone().await;
    }

    /// The programs of sessions that have ended without it being known that everything they started has:
    /// something of them may still run. A process ends with no call to tell it of, when it was idle or the
    /// host is closed, so it is told here, until the end of the host.
    #[must_use]
    pub fn unended(&self) -> BTreeSet<String> {
        self.unended.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A program stands once in the set, however many of its processes were not confirmed.
    pub(super) fn add_unended(&self, program: &str) {
        let mut unended = self.unended.lock().unwrap_or_else(PoisonError::into_inner);
        if !unended.contains(program) {
            unended.insert(program.to_owned());
        }
    }

    /// Ready when no task looks after a session.
    async fn gone(&self) {
        let mut running = self.running.subscribe();
        // The sender lives as long as `self`.
        let _ = running.wait_for(|it| *it == 0).await;
    }

    /// What tells one session to end: of its own, and with all others.
    pub(super) fn stop(&self) -> CancellationToken {
        self.stop.child_token()
    }

    /// What tells all sessions to end without grace.
    pub(super) fn aborted(&self) -> &CancellationToken {
        &self.abort
    }

    /// Counts a task for as long as the result lives.
    pub(super) fn enter(&self) -> Entered {
        self.running.send_modify(|it| *it += 1);
        Entered(self.running.clone())
    }
}

/// Made by [`Sessions::enter`]; dropping it says that the task, and its process, are gone.
#[derive(Debug)]
pub(super) struct Entered(watch::Sender<usize>);

impl Drop for Entered {
    fn drop(&mut self) {
        self.0.send_modify(|it| *it -= 1);
    }
}
