//! Pieces of output as they arrive.

use bytes::Bytes;

/// Which of the two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Stream {
    /// `stdout` or `stderr`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// A piece of output as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Chunk {
    /// The stream it came from.
    pub stream: Stream,
    /// Its number among the chunks of both streams, from 0.
    pub sequence: u64,
    /// The bytes; never empty. A chunk may end inside a character.
    pub bytes: Bytes,
}
