//! Looks at a process that waits: when, and at what.

use std::{sync::Arc, time::Duration};

use tokio::task::spawn_blocking;

use super::state::Key;
use crate::MemoryMeter;

/// When a process that waits is looked at first, for its memory once it has loaded and for its files: after 1 s. Then every 10 s, or
/// when one that works may have used the processor time that it may.
pub(super) const FIRST_LOOK: Duration = Duration::from_secs(1);
const LOOK_TIME: Duration = Duration::from_secs(10);

/// The processor time that a process has used, where it is more than it may.
pub(super) fn above_bound(key: &Key, used: Option<Duration>) -> Option<Duration> {
    let most = key.spec.ready.as_ref()?.cpu_time?;
    used.filter(|it| *it > most)
}

/// How long a process is left alone that may use so much processor time, and had used these times at the last look and at this one.
pub(super) fn until_next_look(most: Option<Duration>, before: Duration, now: Duration) -> Duration {
    match most {
        Some(most) if now.saturating_sub(before) > FIRST_LOOK / 10 => {
            most.saturating_sub(now).clamp(FIRST_LOOK, LOOK_TIME)
        }
        _ => LOOK_TIME,
    }
}

/// Asks a meter on a thread that it may block.
pub(super) async fn measure(meter: Option<&MemoryMeter>) -> Option<u64> {
    let meter = Arc::clone(meter?);
    spawn_blocking(move || meter()).await.ok()?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(most: Option<u64>, before: u64, now: u64, expect: u64) {
        let seconds = Duration::from_secs;
        let found = until_next_look(most.map(seconds), seconds(before), seconds(now));
        assert_eq!(found, seconds(expect));
    }

    #[test]
    fn one_that_works_is_looked_at_once_its_time_may_be_over() {
        check(Some(3), 0, 1, 2);
        check(Some(30), 0, 1, 10);
        check(Some(30), 11, 21, 9);
        check(Some(2), 1, 2, 1);
        // It waits.
        check(Some(3), 1, 1, 10);
        check(None, 0, 1, 10);
    }
}
