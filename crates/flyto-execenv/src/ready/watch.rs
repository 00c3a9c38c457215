//! Waiting for the end of a process that no call has taken.

use std::{
    future::poll_fn,
    path::PathBuf,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::Poll,
    time::Duration,
};

use tokio::task::spawn_blocking;

use crate::{Control, ExecError, Exit};

type End = Pin<Box<dyn Future<Output = Result<Exit, ExecError>> + Send>>;

/// What looks after a process beside the call that takes it. It keeps no control: where that is dropped, the process ends.
pub(super) struct Watch {
    /// The wait for its end. One task at a time may wait ([`Control`]), so it is dropped before a call gets the process.
    end: Mutex<Option<End>>,
    control: Weak<dyn Control>,
}

impl Watch {
    pub(super) fn over(control: &Arc<dyn Control>) -> Self {
        let waits = Arc::clone(control);
        let end: End = Box::pin(async move { waits.wait().await });
        Self { end: Mutex::new(Some(end)), control: Arc::downgrade(control) }
    }

    /// Waits for its end, which comes never once this was stopped.
    pub(super) async fn ended(&self) -> Result<Exit, ExecError> {
        poll_fn(|cx| {
            let mut end = self.end();
            let Some(waits) = &mut *end else { return Poll::Pending };
            let res = waits.as_mut().poll(cx);
            if res.is_ready() {
                *end = None;
            }
            res
        })
        .await
    }

    /// Leaves the process to the caller.
    pub(super) fn stop(&self) {
        let end = self.end().take();
        drop(end);
    }

    /// [`Control::outdated_by`], and the processor time that it has used, looked at on a thread that this may block.
    pub(super) async fn look(&self) -> (Option<PathBuf>, Duration) {
        let Some(control) = self.control.upgrade() else { return Default::default() };
        let look = move || (control.outdated_by(), control.usage().cpu().unwrap_or_default());
        spawn_blocking(look).await.unwrap_or_default()
    }

    fn end(&self) -> MutexGuard<'_, Option<End>> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
