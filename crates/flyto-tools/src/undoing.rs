//! Calls that take back what they did, which no call around them cuts short.

use std::sync::Arc;

use tokio::sync::watch;

/// How many calls take back what they did, counted apart for each call that calls others.
#[derive(Debug, Clone, Default)]
pub(crate) struct UndoingCalls {
    /// The calls of this context and those within them.
    own: Arc<watch::Sender<usize>>,
    /// The same of the calls around, the outermost first.
    around: Arc<[Arc<watch::Sender<usize>>]>,
}

impl UndoingCalls {
    /// For calls within this one.
    pub(crate) fn inner(&self) -> Self {
        let around = self.around.iter().chain([&self.own]).cloned().collect();
        Self { own: Arc::default(), around }
    }

    pub(crate) fn begin(&self) -> Undoing {
        let all: Vec<_> = self.around.iter().chain([&self.own]).cloned().collect();
        all.iter().for_each(|it| it.send_modify(|n| *n += 1));
        Undoing(all)
    }

    pub(crate) fn has_any(&self) -> bool {
        *self.own.borrow() > 0
    }

    /// Waits until there are none.
    pub(crate) async fn ended(&self) {
        // The sender is here, so that no error comes of it.
        let _ = self.own.subscribe().wait_for(|it| *it == 0).await;
    }
}

/// A call takes back what it did until this is dropped. See [`CallContext::undoing`](crate::CallContext::undoing).
#[derive(Debug)]
#[must_use = "the undoing is over when this is dropped"]
pub struct Undoing(Vec<Arc<watch::Sender<usize>>>);

impl Drop for Undoing {
    fn drop(&mut self) {
        self.0.iter().for_each(|it| it.send_modify(|n| *n -= 1));
    }
}
