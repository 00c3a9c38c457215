//! A call in flight: it waits for its answer.

use std::sync::Arc;

use flyto_tools::Execution;
use tokio::sync::{mpsc, oneshot};

use super::{answer::Answer, shared::Shared};

/// An answer, and how the process was run that gave it.
pub(super) type Told = (Answer, Option<Arc<Execution>>);

/// How far a call has come, in the plugin's words.
#[derive(Debug)]
pub(super) struct Progress {
    pub(super) progress: f64,
    pub(super) detail: String,
}

/// A call that waits for its answer. Dropping it gives it up.
#[derive(Debug)]
pub(super) struct Pending {
    shared: Arc<Shared>,
    pub(super) id: u64,
    reply: oneshot::Receiver<Told>,
    progress: Option<mpsc::Receiver<Progress>>,
}

impl Pending {
    pub(super) fn new(
        shared: Arc<Shared>,
        id: u64,
        reply: oneshot::Receiver<Told>,
        progress: Option<mpsc::Receiver<Progress>>,
    ) -> Self {
        Self { shared, id, reply, progress }
    }

    /// Waits for the answer and tells of progress meanwhile. Cancel-safe until it returned.
    pub(super) async fn answer(&mut self, mut report: impl FnMut(Progress)) -> Told {
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
    pub(super) fn cancel(&self) -> bool {
        self.shared.cancel(self.id, false)
    }
}

fn received(answer: Result<Told, oneshot::error::RecvError>) -> Told {
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
