//! Reading a stream that may turn out to be long.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use rustix::pipe::fcntl_setpipe_size;
use tokio::{
    io::{AsyncRead, ReadBuf},
    net::unix::pipe,
};

/// Bytes after which a stream counts as long: 512 KiB. A short one pays nothing.
const LONG_BYTES: usize = 512 * 1024;

/// What a pipe with a long stream holds: 256 KiB, four times the default (pipe(7)), so that the event
/// loop is asked a fourth as often. More no longer fits a core's second-level cache.
const WIDE_BYTES: usize = 256 * 1024;

/// Reads a pipe, and widens it once much has come through it.
pub(super) struct WideningReader {
    pipe: pipe::Receiver,
    /// Counted until the pipe is wide.
    seen_bytes: usize,
}

impl WideningReader {
    pub(super) fn new(pipe: pipe::Receiver) -> Self {
        Self { pipe, seen_bytes: 0 }
    }
}

impl AsyncRead for WideningReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.pipe).poll_read(cx, buf))?;
        if self.seen_bytes < LONG_BYTES {
            self.seen_bytes += buf.filled().len() - before;
            if self.seen_bytes >= LONG_BYTES {
                // A user with many pipes may not have a wider one; this one works as well.
                let _ = fcntl_setpipe_size(&self.pipe, WIDE_BYTES);
            }
        }
        Poll::Ready(Ok(()))
    }
}
