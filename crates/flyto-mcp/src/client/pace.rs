//! How fast a server is read that says more than it was asked.
//!
//! What it sends without end would cost a CPU for as long as it lives. Where it is read at a pace, its pipe or its socket
//! fills up, and it waits.

use std::time::{Duration, Instant};

/// What comes at once is taken at once, up to so much time of the pace.
const BURST: Duration = Duration::from_millis(100);

/// A pace in bytes per second.
#[derive(Debug)]
pub(super) struct Pace {
    bytes_per_second: u32,
    /// When the last byte would have come at this pace.
    due: Instant,
}

impl Pace {
    /// Messages while no request waits for an answer: 1 MiB/s, some ten thousand notifications.
    pub(super) fn unasked() -> Self {
        Self::new(1 << 20)
    }

    /// What a program complains about: 8 MiB/s.
    pub(super) fn complaints() -> Self {
        Self::new(8 << 20)
    }

    fn new(bytes_per_second: u32) -> Self {
        Self { bytes_per_second, due: Instant::now() }
    }

    /// Forgets what came before.
    pub(super) fn begin_anew(&mut self) {
        self.due = Instant::now();
    }

    /// How long to wait before more is read, once so many bytes have come; `None` where they are within the pace.
    pub(super) fn pause(&mut self, n_bytes: usize) -> Option<Duration> {
        let now = Instant::now();
        let n_bytes = u32::try_from(n_bytes).unwrap_or(u32::MAX);
        let time =
            Duration::from_secs(1).mul_f64(f64::from(n_bytes) / f64::from(self.bytes_per_second));
        self.due = self.due.max(now) + time;
        let ahead = self.due.duration_since(now);
        (ahead > BURST).then_some(ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_paced_and_a_burst_is_not() {
        let mut pace = Pace::new(1000);
        assert_eq!(pace.pause(90), None);
        let pause = pace.pause(910).unwrap();
        assert!(pause > BURST && pause <= Duration::from_secs(1), "{pause:?}");
        pace.begin_anew();
        assert_eq!(pace.pause(90), None);
    }
}
