//! What the client writes, line by line: taken by the task that needs it where the stream can be polled, else by a thread.

#[cfg(unix)]
use std::os::fd::{AsRawFd, RawFd};
use std::{
    io::{self, Read},
    thread,
};

#[cfg(unix)]
use tokio::io::{Interest, unix::AsyncFd};
use tokio::sync::mpsc;

use super::line::{Line, Lines};
#[cfg(unix)]
use super::no_wait::{self, NoWait};

/// Lines that a thread has read and the connection has not taken yet, at most. A client that floods waits at its pipe.
const MAX_LINES_AHEAD: usize = 4;

/// The lines of a client.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// A thread waits for the stream, for as long as the process lives.
    Thread(mpsc::Receiver<io::Result<Line>>),
    /// The task of the connection reads them as it takes them.
    #[cfg(unix)]
    Polled(AsyncFd<Lines<NoWait>>),
}

impl Incoming {
    /// Reads in a thread of its own.
    ///
    /// It is not joined: a read of a pipe cannot be interrupted, so after a stop the thread stays until the client writes
    /// or goes.
    ///
    /// # Errors
    ///
    /// The system has no thread left.
    pub(crate) fn of_reader(
        reader: impl Read + Send + 'static,
        max_bytes: u64,
    ) -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel(MAX_LINES_AHEAD);
        thread::Builder::new().name("mcp-reader".to_owned()).spawn(move || {
            let mut lines = Lines::new(reader, max_bytes);
            while let Some(line) = lines.next().transpose() {
                let is_last = line.is_err();
                if sender.blocking_send(line).is_err() || is_last {
                    return;
                }
            }
        })?;
        Ok(Self::Thread(receiver))
    }

    /// Reads a stream that never waits.
    ///
    /// # Errors
    ///
    /// The system does not watch the stream (epoll_ctl(2)).
    ///
    /// # Panics
    ///
    /// There is no runtime with I/O around this.
    #[cfg(unix)]
    pub(crate) fn of_polled(stream: NoWait, max_bytes: u64) -> io::Result<Self> {
        let lines = Lines::new(stream, max_bytes);
        no_wait::watch(lines, Interest::READABLE).map(Self::Polled)
    }

    /// The next line; `None` at the end of what the client writes. Nothing is lost where the future is dropped.
    ///
    /// # Errors
    ///
    /// Those of the stream; no line comes behind one.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        match self {
            Self::Thread(lines) => lines.recv().await.transpose(),
            // It takes what is there already as readable: the stream has not said otherwise since.
            #[cfg(unix)]
            Self::Polled(lines) => lines.async_io_mut(Interest::READABLE, Lines::next).await,
        }
    }
}

#[cfg(unix)]
impl AsRawFd for Lines<NoWait> {
    fn as_raw_fd(&self) -> RawFd {
        self.reader().as_raw_fd()
    }
}
