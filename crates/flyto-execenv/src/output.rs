//! What becomes of the streams that a program writes.

use std::path::PathBuf;

use crate::SpillBounds;

/// Bytes that a captured stream keeps unless the spec says otherwise: 4 MiB.
pub const DEFAULT_CAPTURE_BYTES: u64 = 4 * 1024 * 1024;

/// The end of a stream that is kept at most: 256 KiB. Endless output goes round and round in it, and
/// a ring that fits a core's second-level cache is read into at the speed of a buffer.
const LARGEST_TAIL_BYTES: u64 = 256 * 1024;

/// The largest file for a stream that outgrew its capture, unless the spec says otherwise: 1 GiB. A
/// program that prints without end must not fill the disk before its deadline.
pub const DEFAULT_SPILL_BYTES: u64 = 1024 * 1024 * 1024;

/// How much of a stream is kept, and where all of it goes.
///
/// ```
/// use flyto_execenv::{Capture, Output, Spec};
///
/// // 64 KiB in memory; more goes to a file as well, up to 1 GiB.
/// let capture = Capture::limit(64 * 1024).spill_to("/var/tmp/build.log");
/// let spec = Spec::new("make").stdout(Output::Captured(capture)).merge_stderr();
/// assert!(spec.check().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capture {
    /// Bytes kept; default [`DEFAULT_CAPTURE_BYTES`]. Half of them, and at most 256 KiB, are the end
    /// of the stream, the rest its start. The number of bytes printed is counted whatever the limit.
    pub limit_bytes: u64,
    /// A file for the whole stream. It is created, readable by its owner only, when more than
    /// `limit_bytes` arrive; until then nothing is missing from memory. It must not exist before.
    /// Missing directories above it are made, open to their owner only. It is removed where it
    /// cannot hold the whole stream, and when the call is dropped.
    pub spill: Option<PathBuf>,
    /// The largest file that is written; default [`DEFAULT_SPILL_BYTES`]. Of a longer stream there
    /// is no file.
    pub spill_limit_bytes: u64,
    /// What holds for all files in the directory of that file, which are removed where they are old; `None` for no bound.
    /// Where there is no room, there is no file: [`io::ErrorKind::QuotaExceeded`](std::io::ErrorKind::QuotaExceeded).
    pub spill_bounds: Option<SpillBounds>,
    /// Whether the backend may leave out bytes that are not kept, and say how many there were
    /// ([`SkippedBytes`](crate::SkippedBytes)). The handle clears it where something reads the whole stream: an observer,
    /// a file, or the count against [`Limits::output_bytes`](crate::Limits::output_bytes).
    pub may_skip: bool,
}

impl Default for Capture {
    fn default() -> Self {
        Self::limit(DEFAULT_CAPTURE_BYTES)
    }
}

impl Capture {
    /// Keeps at most `limit_bytes`.
    #[must_use]
    pub fn limit(limit_bytes: u64) -> Self {
        let spill_limit_bytes = DEFAULT_SPILL_BYTES;
        Self { limit_bytes, spill: None, spill_limit_bytes, spill_bounds: None, may_skip: true }
    }

    /// How many bytes are kept of the start of the stream and of its end: what a backend that leaves out the rest has to
    /// send.
    #[must_use]
    pub fn kept_bytes(&self) -> (u64, u64) {
        let tail = (self.limit_bytes / 2).min(LARGEST_TAIL_BYTES);
        (self.limit_bytes - tail, tail)
    }

    /// Writes the whole stream to `path` once it outgrows the limit, up to
    /// [`DEFAULT_SPILL_BYTES`].
    ///
    /// Its writer holds the lock on the file (flock(2)) until the call has ended, and sets its time of change then: a
    /// process that removes old files leaves one alone that is locked.
    #[must_use]
    pub fn spill_to(mut self, path: impl Into<PathBuf>) -> Self {
        self.spill = Some(path.into());
        self
    }

    /// Keeps all files in the directory of that file within these bounds. The directory must hold nothing else.
    #[must_use]
    pub fn spill_within(mut self, bounds: Option<SpillBounds>) -> Self {
        self.spill_bounds = bounds;
        self
    }
}

/// What becomes of a stream that the program writes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Output {
    /// Thrown away.
    Null,
    /// Kept up to a limit and counted.
    Captured(Capture),
    /// Handed to the caller as it comes. Demands [`Capability::PipedStreams`](crate::Capability::PipedStreams).
    Piped,
}

impl Default for Output {
    fn default() -> Self {
        Self::Captured(Capture::default())
    }
}

/// What becomes of the error stream.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorOutput {
    /// A stream of its own.
    Separate(Output),
    /// The same open file as stdout, so that the order of writes is kept. Demands
    /// [`Capability::MergedStderr`](crate::Capability::MergedStderr).
    Merged,
}

impl Default for ErrorOutput {
    fn default() -> Self {
        Self::Separate(Output::default())
    }
}
