//! The time in which a person is asked, which no time limit counts.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long the calls of one outermost call waited for answers, all together. Where two questions are open, their time
/// counts once.
#[derive(Debug, Clone, Default)]
pub(crate) struct AskedTime(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    n_open: usize,
    /// Since when at least one is open.
    since: Option<Instant>,
    /// That of the times before.
    total: Duration,
}

impl AskedTime {
    /// Until now.
    pub(crate) fn total(&self) -> Duration {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.total + state.since.map_or(Duration::ZERO, |it| it.elapsed())
    }

    pub(crate) fn begin(&self) -> Asking {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.n_open += 1;
        state.since.get_or_insert_with(Instant::now);
        Asking(self.clone())
    }
}

/// A question that is open: time limits stand still until this is dropped. See
/// [`CallContext::asking`](crate::CallContext::asking).
#[derive(Debug)]
#[must_use = "the question is over when this is dropped"]
pub struct Asking(AskedTime);

impl Drop for Asking {
    fn drop(&mut self) {
        let mut state = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.n_open -= 1;
        if state.n_open == 0
            && let Some(since) = state.since.take()
        {
            state.total += since.elapsed();
        }
    }
}

/// A limit that stands still while a person is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeLimit {
    /// When it is reached, where no question is open from the time on that it was set.
    at: Instant,
    /// [`AskedTime::total`] at that time.
    asked: Duration,
}

impl TimeLimit {
    /// `None` where it lies beyond what clocks can tell.
    pub(crate) fn new(limit: Duration, asked: Duration) -> Option<Self> {
        Some(Self { at: Instant::now().checked_add(limit)?, asked })
    }

    /// When it is reached, where no question is open any more.
    pub(crate) fn reached(&self, asked: Duration) -> Option<Instant> {
        self.at.checked_add(asked.saturating_sub(self.asked))
    }
}
