//! Bytes of a stream that a backend left out.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// How many bytes a reader has left out, shared by the reader and the handle. Clones count together.
///
/// A backend on the other side of a connection need not send what the handle would count and throw away: of a stream
/// whose [`Capture::may_skip`](crate::Capture::may_skip) is set, the start and the end are kept and nothing else. It
/// sends these and says how much lay between. The handle counts that as printed, in
/// [`Captured::total_bytes`](crate::Captured::total_bytes).
///
/// ```
/// use flyto_execenv::SkippedBytes;
///
/// let counted_by_reader = SkippedBytes::default();
/// let seen_by_handle = counted_by_reader.clone();
/// counted_by_reader.add(10_000_000_000);
/// assert_eq!(seen_by_handle.take(), 10_000_000_000);
/// assert_eq!(seen_by_handle.take(), 0);
/// ```
#[derive(Debug, Clone, Default)]
pub struct SkippedBytes(Arc<AtomicU64>);

impl SkippedBytes {
    /// Adds bytes that lay before those that the reader gives next, or before the end of the stream where it gives no
    /// more. One read gives no bytes from both sides of a gap.
    pub fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The bytes that were added since the last time: the handle asks after each read.
    #[must_use]
    pub fn take(&self) -> u64 {
        // Most readers leave nothing out, and a load is cheaper than an exchange.
        if self.0.load(Ordering::Relaxed) == 0 { 0 } else { self.0.swap(0, Ordering::Relaxed) }
    }
}
