//! A plugin that says nothing after the deadline of a call has passed.
//!
//! A deadline alone does not show that a plugin hangs: the call may be slow. Only one that says
//! nothing at all is killed, after the time for an answer to a cancellation and to a ping.

use std::time::Duration;

use tokio::time::Instant;

/// Time for a sign of life after a deadline, until the plugin is pinged: 1 s. Most plugins answer the cancellation
/// that they are sent at the deadline.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(1);

/// Time for a sign of life after the ping: 1 s. With the time before, a plugin has 2 s, as long as a program has
/// to end after SIGTERM ([`flyto_execenv::DEFAULT_GRACE`]).
const PING_TIMEOUT: Duration = Duration::from_secs(1);

/// Since when the plugin has said nothing, and what was done about it.
///
/// Begins with a deadline that passes, and is dropped with the first message of the plugin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Silence {
    start: Instant,
    /// The last call at the start. Calls up to it that wait for their answers keep the process.
    last_id: u64,
    was_pinged: bool,
}

impl Silence {
    pub(super) fn new(last_id: u64) -> Self {
        Self { start: Instant::now(), last_id, was_pinged: false }
    }

    /// When to look at it again.
    pub(super) fn next(&self) -> Instant {
        let (ping, end) = (self.ping(), self.ping() + PING_TIMEOUT);
        if Instant::now() < ping { ping } else { end }
    }

    pub(super) fn needs_ping(&self) -> bool {
        !self.was_pinged && self.ping() <= Instant::now()
    }

    pub(super) fn set_pinged(&mut self) {
        self.was_pinged = true;
    }

    /// Whether the plugin had all the time it gets. One that reads nothing is not pinged either.
    pub(super) fn is_over(&self) -> bool {
        self.ping() + PING_TIMEOUT <= Instant::now()
    }

    fn ping(&self) -> Instant {
        self.start + CANCEL_TIMEOUT
    }

    /// Whether the silence began before this call was made.
    pub(super) fn is_older_than(&self, id: u64) -> bool {
        id > self.last_id
    }
}
