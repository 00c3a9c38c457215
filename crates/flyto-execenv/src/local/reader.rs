//! Reading a stream that may turn out to be short, or long.
//!
//! A pipe of the program's output costs a place in the event loop, which a short call does not
//! need: when it has exited, all of its output lies in the pipe. So a [`PipeReader`] begins
//! unwatched, looks again after [`UNWATCHED`], and is watched from then on. A stream that turns out
//! to be long gets a wider pipe.

use std::{
    io,
    os::fd::OwnedFd,
    pin::Pin,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use rustix::io::Errno;
use tokio::{
    io::{AsyncRead, ReadBuf},
    net::unix::pipe,
    time::{Sleep, sleep},
};

use super::{late, system};

/// Bytes after which a stream counts as long: 512 KiB. A short one pays nothing.
const LONG_BYTES: usize = 512 * 1024;

/// What a pipe with a long stream holds: 256 KiB, four times the default (pipe(7)), so that the event
/// loop is asked a fourth as often. More no longer fits a core's second-level cache.
const WIDE_BYTES: usize = 256 * 1024;

/// How long a stream is left alone before the event loop watches it: 1 to 2 ms. Most programs that end at all
/// write little and are gone by then. A reader that is not woken for it reads all of it once they have
/// exited, which saves a fifteenth of a call.
const UNWATCHED: Duration = late::PAUSE;

/// Bytes read at a time while a stream is not watched. A program that fills that has more to say.
const EARLY_BYTES: usize = 4096;

/// Reads a pipe: first without the help of the event loop, then with it, and from a wider one once
/// much has come through.
///
/// An [`AsyncRead`] like any other; the states are not visible from outside.
pub(super) struct PipeReader {
    state: State,
    /// Counted until the pipe is wide.
    seen_bytes: usize,
}

/// It goes from `Unwatched` to `Watched`, and to `Closed` only where that failed.
enum State {
    Unwatched {
        pipe: OwnedFd,
        /// Since when a call waits for it.
        asked: Option<Instant>,
        alarm: Option<Alarm>,
    },
    Watched(pipe::Receiver),
    /// Watching it failed, which was told.
    Closed,
}

/// What ends the time in which the event loop does not watch.
enum Alarm {
    Late(late::Alarm),
    Timer(Pin<Box<Sleep>>),
}

impl PipeReader {
    /// Reads `pipe`, which does not block. It is watched once it has been open for a while.
    pub(super) fn new(pipe: OwnedFd) -> Self {
        Self { state: State::Unwatched { pipe, asked: None, alarm: None }, seen_bytes: 0 }
    }

    /// Reads `pipe`, which does not block. It is watched from the start.
    pub(super) fn watched(pipe: OwnedFd) -> io::Result<Self> {
        let mut res = Self::new(pipe);
        res.watch()?;
        Ok(res)
    }

    /// # Errors
    ///
    /// The runtime's event loop takes no more. Reading gives the end of the stream from then on.
    fn watch(&mut self) -> io::Result<()> {
        self.state = match std::mem::replace(&mut self.state, State::Closed) {
            State::Unwatched { pipe, .. } => {
                State::Watched(pipe::Receiver::from_owned_fd_unchecked(pipe)?)
            }
            other => other,
        };
        Ok(())
    }
}

impl AsyncRead for PipeReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if let State::Unwatched { pipe, asked, alarm } = &mut this.state {
            // The first look would come too early: the program was started just now.
            if asked.is_some() {
                let wanted = buf.remaining().min(EARLY_BYTES);
                match rustix::io::read(&*pipe, buf.initialize_unfilled_to(wanted)) {
                    Ok(n) => {
                        buf.advance(n);
                        this.seen_bytes += n;
                        if n == EARLY_BYTES {
                            this.watch()?;
                        }
                        return Poll::Ready(Ok(()));
                    }
                    Err(Errno::AGAIN | Errno::INTR) => {}
                    Err(err) => return Poll::Ready(Err(err.into())),
                }
            }
            let now = Instant::now();
            if now < *asked.get_or_insert(now) + UNWATCHED {
                let is_kept = match alarm {
                    None => false,
                    Some(Alarm::Late(alarm)) => alarm.wakes(cx.waker()),
                    Some(Alarm::Timer(_)) => true,
                };
                if !is_kept {
                    *alarm = Some(match late::wake_after(now, cx.waker()) {
                        Some(it) => Alarm::Late(it),
                        None => Alarm::Timer(Box::pin(sleep(UNWATCHED))),
                    });
                }
                match alarm {
                    Some(Alarm::Timer(timer)) => ready!(timer.as_mut().poll(cx)),
                    _ => return Poll::Pending,
                }
            }
            this.watch()?;
        }
        let State::Watched(pipe) = &mut this.state else { return Poll::Ready(Ok(())) };
        let before = buf.filled().len();
        ready!(Pin::new(&mut *pipe).poll_read(cx, buf))?;
        if this.seen_bytes < LONG_BYTES {
            this.seen_bytes += buf.filled().len() - before;
            if this.seen_bytes >= LONG_BYTES {
                system::widen(&*pipe, WIDE_BYTES);
            }
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use rustix::io::ioctl_fionbio;
    use tokio::io::AsyncReadExt;

    use super::*;

    fn pipe() -> (PipeReader, io::PipeWriter) {
        let (reader, writer) = io::pipe().expect("two descriptors");
        ioctl_fionbio(&reader, true).expect("a pipe");
        (PipeReader::new(reader.into()), writer)
    }

    fn is_watched(reader: &PipeReader) -> bool {
        matches!(reader.state, State::Watched(_))
    }

    #[tokio::test]
    async fn a_short_stream_that_is_over_was_never_watched() {
        let (mut reader, mut writer) = pipe();
        writer.write_all(b"short").expect("it fits");
        drop(writer);
        let mut read = Vec::new();
        reader.read_to_end(&mut read).await.expect("a pipe");
        assert_eq!((read.as_slice(), is_watched(&reader)), (&b"short"[..], false));
    }

    #[tokio::test]
    async fn a_stream_that_stays_open_is_watched_and_read_to_its_end() {
        let (mut reader, mut writer) = pipe();
        let mut read = [0; 3];
        writer.write_all(b"one").expect("it fits");
        reader.read_exact(&mut read).await.expect("it is there");
        assert!(!is_watched(&reader));
        let later = async {
            tokio::task::yield_now().await;
            writer.write_all(b"two").expect("it fits");
            drop(writer);
        };
        let (res, ()) = tokio::join!(reader.read_exact(&mut read), later);
        res.expect("it came");
        assert_eq!((&read, is_watched(&reader)), (b"two", true));
        assert_eq!(reader.read(&mut read).await.expect("a pipe"), 0);
    }

    #[tokio::test]
    async fn a_long_stream_is_watched_and_gets_a_wider_pipe() {
        let (mut reader, mut writer) = pipe();
        let long = vec![7; LONG_BYTES + 1];
        let input = long.clone();
        let writing = tokio::task::spawn_blocking(move || writer.write_all(&input));
        let mut read = Vec::new();
        reader.read_to_end(&mut read).await.expect("a pipe");
        writing.await.expect("no panic").expect("it was read");
        assert!(read == long);
        let State::Watched(pipe) = &reader.state else { panic!("it was long") };
        #[cfg(target_os = "linux")]
        assert_eq!(rustix::pipe::fcntl_getpipe_size(pipe).expect("a pipe"), WIDE_BYTES);
    }
}
