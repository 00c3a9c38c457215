//! Streams of bounded size, with a memory of what was done to them.
//!
//! Each stream is a duplex channel of [`PIPE_BYTES`], so a program waits for a reader as it would
//! on a pipe. Watches beside the streams tell the control what the handle has read and written.

use std::{
    fmt, io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf},
    sync::Mutex,
};

use crate::traits::{BoxedReader, BoxedWriter};

/// What a stream holds before its writer waits: 64 KiB, as a pipe does (pipe(7)).
pub(super) const PIPE_BYTES: usize = 64 * 1024;

/// A stream that a program writes. Clones are the same open file: its reader sees the end when the
/// last one is gone.
#[derive(Clone)]
pub struct Writer(Option<Arc<Mutex<DuplexStream>>>);

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("is_open", &self.0.is_some()).finish()
    }
}

impl Writer {
    /// Throws away what is written.
    #[must_use]
    pub fn nowhere() -> Self {
        Self(None)
    }

    /// Writes all of `bytes`; waits while the stream is full.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::BrokenPipe`] when the reader is gone; a real program would get `SIGPIPE`.
    pub async fn write(&self, bytes: &[u8]) -> io::Result<()> {
        match &self.0 {
            Some(stream) => stream.lock().await.write_all(bytes).await,
            None => Ok(()),
        }
    }

    /// Writes a line, whether or not it has a reader.
    ///
    /// Text and a line feed, in one piece.
    pub async fn line(&self, text: &str) {
        // A closed stream is no concern of a program that does not look.
        let _ = self.write(format!("{text}\n").as_bytes()).await;
    }
}

/// No input.
pub(super) fn nothing() -> BoxedReader {
    Box::new(tokio::io::empty())
}

/// Input that is there from the start.
pub(super) fn all_of(bytes: Bytes) -> BoxedReader {
    Box::new(io::Cursor::new(bytes))
}

/// What the handle wrote into stdin, and what it was to write.
#[derive(Debug)]
pub(super) struct InputWatch {
    expected: Option<usize>,
    written: Arc<AtomicUsize>,
}

impl InputWatch {
    /// How many bytes too many were written.
    pub(super) fn excess(&self) -> usize {
        let written = self.written.load(Ordering::Relaxed);
        self.expected.map_or(0, |it| written.saturating_sub(it))
    }
}

/// `expected` is how many bytes the handle has to write; `None` where the caller writes.
pub(super) fn input(expected: Option<usize>) -> (BoxedWriter, BoxedReader, InputWatch) {
    let (inner, reader) = tokio::io::duplex(PIPE_BYTES);
    let written = Arc::new(AtomicUsize::new(0));
    let writer = CountedWriter { inner, written: Arc::clone(&written) };
    (Box::new(writer), Box::new(reader), InputWatch { expected, written })
}

/// Counts what was accepted, not what was read.
struct CountedWriter {
    inner: DuplexStream,
    written: Arc<AtomicUsize>,
}

impl AsyncWrite for CountedWriter {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let res = Pin::new(&mut self.inner).poll_write(cx, bytes);
        if let Poll::Ready(Ok(n)) = res {
            self.written.fetch_add(n, Ordering::Relaxed);
        }
        res
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

/// Whether the handle read a captured stream to its end, and whether a program still holds it.
#[derive(Debug)]
pub(super) struct OutputWatch {
    must_be_drained: bool,
    ended: Arc<AtomicBool>,
    writer: std::sync::Weak<Mutex<DuplexStream>>,
}

impl OutputWatch {
    /// Whether bytes may have been left in a stream that no program holds any more.
    pub(super) fn was_left(&self) -> bool {
        let is_held = self.writer.strong_count() > 0;
        self.must_be_drained && !is_held && !self.ended.load(Ordering::Relaxed)
    }
}

/// `must_be_drained` is set for captured output, which the handle has to read to its end.
pub(super) fn output(must_be_drained: bool) -> (Writer, Option<BoxedReader>, Option<OutputWatch>) {
    let (writer, inner) = tokio::io::duplex(PIPE_BYTES);
    let writer = Arc::new(Mutex::new(writer));
    let ended = Arc::new(AtomicBool::new(false));
    let watch =
        OutputWatch { must_be_drained, ended: Arc::clone(&ended), writer: Arc::downgrade(&writer) };
    (Writer(Some(writer)), Some(Box::new(WatchedReader { inner, ended })), Some(watch))
}

/// Notes the end of the stream, or an error, when the handle sees it.
struct WatchedReader {
    inner: DuplexStream,
    ended: Arc<AtomicBool>,
}

impl AsyncRead for WatchedReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let res = Pin::new(&mut self.inner).poll_read(cx, buf);
        if res.is_ready() && buf.filled().len() == before {
            self.ended.store(true, Ordering::Relaxed);
        }
        res
    }
}
