//! A call in flight: it waits for its answer.
//!
//! The caller's half of a call; the other half is in the table of
//! [`SessionState`], by its id.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::{
    answer::Answer,
    reply::{Mark, Progress, Queued, Reply},
    state::SessionState,
};

/// A call that waits for its answer. Dropping it gives it up.
/// Given up means: the plugin is told, and its answer is passed over.
#[derive(Debug)]
pub(super) struct Pending {
    shared: Arc<SessionState>,
    /// The id in the request; it is never used again in this session.
    pub(super) id: u64,
    /// From where on the streams belong to this call.
    pub(super) mark: Arc<Mark>,
    reply: oneshot::Receiver<Reply>,
    /// `None` where the caller does not listen.
    progress: Option<mpsc::Receiver<Progress>>,
}

impl Pending {
    pub(super) fn new(shared: Arc<SessionState>, queued: Queued) -> Self {
        let Queued { id, mark, reply, progress, .. } = queued;
        Self { shared, id, mark, reply, progress }
    }

    /// Waits for the answer and tells of progress meanwhile. Cancel-safe until it returned.
    /// All progress that came before the answer is reported before it returns.
    pub(super) async fn answer(&mut self, mut report: impl FnMut(Progress)) -> Reply {
        let Some(progress) = &mut self.progress else { return received((&mut self.reply).await) };
        let answer = loop {
            tokio::select! {
                biased;
                Some(it) = progress.recv() => report(it),
                answer = &mut self.reply => break received(answer),
            }
        };
        while let Ok(it) = progress.try_recv() {
            report(it);
        }
        answer
    }

    /// Asks the plugin to stop. Says whether it may still answer.
    /// `false` where it was answered already, or never written.
    pub(super) fn cancel(&self) -> bool {
        self.shared.cancel(self.id, false)
    }
}

/// The answer, or that there will be none.
fn received(answer: Result<Reply, oneshot::error::RecvError>) -> Reply {
    // The sender goes unused only where the task went with its runtime.
    answer.unwrap_or((Answer::Lost, None))
}

impl Drop for Pending {
    fn drop(&mut self) {
        // An answered call is no longer known, which costs a look only.
        if !self.reply.is_terminated() {
            self.shared.cancel(self.id, true);
        }
    }
}
