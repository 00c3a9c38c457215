//! Waiting until a flurry of events is over.
//!
//! A flurry begins with the first event and is over after
//! [`WatchOptions::quiet`](super::WatchOptions::quiet) without another, or after `latest` in any
//! case. Events are judged as they arrive and are not kept.

use std::{
    collections::HashSet,
    path::PathBuf,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::interest::{Interests, Seen};

/// Where events arrive and the worker waits. However many events there are, they take no room.
#[derive(Debug)]
pub(super) struct Pause {
    quiet: Duration,
    latest: Duration,
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct State {
    interests: Interests,
    /// When the flurry began and when it went on last; `None` where nothing has happened.
    flurry: Option<(Instant, Instant)>,
    /// Watched directories of which the watch itself may be lost.
    doubtful: HashSet<PathBuf>,
    is_stopped: bool,
}

impl Pause {
    pub(super) fn new(quiet: Duration, latest: Duration) -> Self {
        Self { quiet, latest, state: Mutex::default(), wake: Condvar::new() }
    }

    /// Takes in an event, or the news that some were lost.
    pub(super) fn take(&self, event: notify::Result<notify::Event>) {
        let mut state = self.state();
        let seen = match event {
            Ok(event) => state.interests.see(&event),
            // What cannot be read may have been of interest.
            Err(_) => Seen { is_of_interest: true, doubtful: Vec::new() },
        };
        state.doubtful.extend(seen.doubtful);
        if seen.is_of_interest {
            self.note(state);
        }
    }

    /// Asks for one more look.
    pub(super) fn mark(&self) {
        self.note(self.state());
    }

    /// Ends the waiting for good.
    pub(super) fn stop(&self) {
        self.state().is_stopped = true;
        self.wake.notify_one();
    }

    /// Sets which events matter from now on.
    pub(super) fn set_interests(&self, interests: Interests) {
        self.state().interests = interests;
    }

    /// The directories whose watch may be lost, each told once.
    pub(super) fn take_doubtful(&self) -> HashSet<PathBuf> {
        std::mem::take(&mut self.state().doubtful)
    }

    /// Waits until it is time to look again: some time after events, or after `poll` without any.
    /// `false`: the watching has ended.
    pub(super) fn wait(&self, poll: Option<Duration>) -> bool {
        let next_poll = poll.and_then(|it| Instant::now().checked_add(it));
        let mut state = self.state();
        loop {
            if state.is_stopped {
                return false;
            }
            let due = match state.flurry {
                Some((first, last)) => Some((last + self.quiet).min(first + self.latest)),
                None => next_poll,
            };
            let now = Instant::now();
            state = match due {
                Some(due) if due <= now => {
                    state.flurry = None;
                    return true;
                }
                Some(due) => {
                    let res = self.wake.wait_timeout(state, due - now);
                    res.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.wake.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Starts a flurry, or prolongs the one that is going on.
    fn note(&self, mut state: MutexGuard<'_, State>) {
        let now = Instant::now();
        let is_first = state.flurry.is_none();
        let first = state.flurry.map_or(now, |(first, _)| first);
        state.flurry = Some((first, now));
        drop(state);
        // The wait for the end of a flurry looks at the clock by itself.
        if is_first {
            self.wake.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is whole between any two statements that change it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
