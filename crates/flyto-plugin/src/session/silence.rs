//! A plugin that says nothing after the deadline of a call has passed.
//!
//! A deadline alone does not show that a plugin hangs: the call may be slow. Only one that says
//! nothing at all is killed, after the time for an answer to a cancellation and to a ping. A call that
//! comes meanwhile waits for that, and shortens it: the time that it has is for its own work.

use std::time::Duration;

use tokio::time::Instant;

/// Time for a sign of life after a deadline, until the plugin is pinged: 1 s. Most plugins answer the cancellation
/// that they are sent at the deadline.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(1);

/// Time for a sign of life after the ping: 1 s. With the time before, a plugin has 2 s, as long as a program has
/// to end after SIGTERM ([`flyto_execenv::DEFAULT_GRACE`]).
const PING_TIMEOUT: Duration = Duration::from_secs(1);

/// Each of the two is at most this part of the time of a call that waits: an eighth, so that three quarters of
/// it are left for a restart and the call itself.
const PART_OF_CALL: u32 = 8;

/// But no less than 100 ms each, in which a plugin answers that is at work on a busy machine.
const MIN_PART: Duration = Duration::from_millis(100);

/// Since when the plugin has said nothing, and what was done about it.
///
/// Begins with a deadline that passes, and is dropped with the first message of the plugin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Silence {
    /// When the plugin is pinged.
    ping: Instant,
    /// When it has had all the time it gets.
    end: Instant,
    /// The last call at the start. Calls up to it that wait for their answers keep the process.
    last_id: u64,
    was_pinged: bool,
}

impl Silence {
    pub(super) fn new(last_id: u64) -> Self {
        let ping = Instant::now() + CANCEL_TIMEOUT;
        Self { ping, end: ping + PING_TIMEOUT, last_id, was_pinged: false }
    }

    /// A call waits that has `timeout` from now on.
    pub(super) fn shorten(&mut self, timeout: Duration) {
        let now = Instant::now();
        let part = (timeout / PART_OF_CALL).max(MIN_PART);
        self.ping = self.ping.min(now + part);
        self.end = self.end.min(self.ping.max(now) + part);
    }

    /// When to look at it again.
    pub(super) fn next(&self) -> Instant {
        if Instant::now() < self.ping { self.ping } else { self.end }
    }

    pub(super) fn needs_ping(&self) -> bool {
        !self.was_pinged && self.ping <= Instant::now()
    }

    pub(super) fn set_pinged(&mut self) {
        self.was_pinged = true;
    }

    /// Whether the plugin had all the time it gets. One that reads nothing is not pinged either.
    pub(super) fn is_over(&self) -> bool {
        self.end <= Instant::now()
    }

    /// Whether the silence began before this call was made.
    pub(super) fn is_older_than(&self, id: u64) -> bool {
        id > self.last_id
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{advance, pause};

    use super::*;

    /// When the plugin is pinged and killed, in milliseconds from the beginning of the silence.
    fn times(silence: &Silence, start: Instant) -> (u128, u128) {
        ((silence.ping - start).as_millis(), (silence.end - start).as_millis())
    }

    #[tokio::test]
    async fn a_call_that_waits_keeps_three_quarters_of_its_time() {
        pause();
        let (mut silence, start) = (Silence::new(1), Instant::now());
        assert_eq!(times(&silence, start), (1000, 2000));
        silence.shorten(Duration::from_secs(30));
        assert_eq!(times(&silence, start), (1000, 2000));
        advance(Duration::from_millis(100)).await;
        silence.shorten(Duration::from_secs(2));
        assert_eq!(times(&silence, start), (350, 600));
        // One that comes after the ping shortens what is left.
        advance(Duration::from_millis(300)).await;
        assert!(silence.needs_ping());
        silence.shorten(Duration::from_millis(800));
        assert_eq!(times(&silence, start), (350, 500));
        assert_eq!(silence.next() - start, Duration::from_millis(500));
        advance(Duration::from_millis(100)).await;
        assert!(silence.is_over());
    }
}
