//! A stream that was inherited, read and written without waiting and without a change of its flags.
//!
//! `O_NONBLOCK` belongs to the open file description (open(2)), which a process shares with the one that started it: to set it
//! would have a shell or a client fail with `EAGAIN`. So each read and each write says by itself that it does not wait: by
//! `MSG_DONTWAIT` on a socket (recv(2)), and on a pipe by `RWF_NOWAIT` (preadv2(2)), which pipes know since Linux 6.4.

use std::{
    io::{self, Read, Write},
    os::fd::{AsFd, AsRawFd, OwnedFd, RawFd},
};

use rustix::fs::{FileType, fstat};
use tokio::io::{Interest, unix::AsyncFd};

/// A pipe or a socket of which every read and write gives [`io::ErrorKind::WouldBlock`] rather than to wait.
#[derive(Debug)]
pub(crate) struct NoWait {
    fd: OwnedFd,
    is_socket: bool,
}

impl NoWait {
    /// `None` where the file is neither, such as a terminal, or where the system has no such reads of pipes. It can be read
    /// and written in a thread.
    pub(crate) fn new(fd: OwnedFd) -> Option<Self> {
        let file_type = FileType::from_raw_mode(fstat(&fd).ok()?.st_mode);
        let is_socket = match file_type {
            FileType::Socket => true,
            FileType::Fifo if pipe::is_supported() => false,
            _ => return None,
        };
        Some(Self { fd, is_socket })
    }
}

/// Has the runtime around this tell when what holds a stream is ready.
///
/// # Errors
///
/// The system does not watch it (epoll_ctl(2)).
///
/// # Panics
///
/// There is no runtime with I/O.
pub(crate) fn watch<T: AsRawFd>(stream: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    #[expect(
        deprecated,
        reason = "its successor is unsafe for types that change their descriptor; a `NoWait` never does"
    )]
    AsyncFd::with_interest(stream, interest)
}

impl AsRawFd for NoWait {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl Read for NoWait {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        use rustix::net::{RecvFlags, recv};
        match self.is_socket {
            true => Ok(recv(&self.fd, bytes, RecvFlags::DONTWAIT)?.0),
            false => pipe::read(self.fd.as_fd(), bytes),
        }
    }
}

impl Write for NoWait {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        use rustix::net::{SendFlags, send};
        match self.is_socket {
            true => Ok(send(&self.fd, bytes, SendFlags::DONTWAIT)?),
            false => pipe::write(self.fd.as_fd(), bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Pipes, which have a position in no file: that is what the offset -1 says.
#[cfg(target_os = "linux")]
mod pipe {
    use std::{
        io::{self, IoSlice, IoSliceMut},
        os::fd::BorrowedFd,
    };

    use rustix::{
        io::{Errno, ReadWriteFlags, preadv2, pwritev2},
        pipe::{PipeFlags, pipe_with},
    };

    const NO_OFFSET: u64 = u64::MAX;

    /// Whether the kernel has such reads and writes of pipes, found out on a pipe of our own.
    pub(super) fn is_supported() -> bool {
        let Ok((reader, writer)) = pipe_with(PipeFlags::CLOEXEC) else { return false };
        let empty =
            preadv2(&reader, &mut [IoSliceMut::new(&mut [0])], NO_OFFSET, ReadWriteFlags::NOWAIT);
        let written = pwritev2(&writer, &[IoSlice::new(b"x")], NO_OFFSET, ReadWriteFlags::NOWAIT);
        empty == Err(Errno::AGAIN) && written == Ok(1)
    }

    pub(super) fn read(fd: BorrowedFd<'_>, bytes: &mut [u8]) -> io::Result<usize> {
        let bytes = &mut [IoSliceMut::new(bytes)];
        Ok(preadv2(fd, bytes, NO_OFFSET, ReadWriteFlags::NOWAIT)?)
    }

    pub(super) fn write(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &[IoSlice::new(bytes)];
        Ok(pwritev2(fd, bytes, NO_OFFSET, ReadWriteFlags::NOWAIT)?)
    }
}

/// No other system has them.
#[cfg(not(target_os = "linux"))]
mod pipe {
    use std::{io, os::fd::BorrowedFd};

    pub(super) fn is_supported() -> bool {
        false
    }

    pub(super) fn read(_fd: BorrowedFd<'_>, _bytes: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn write(_fd: BorrowedFd<'_>, _bytes: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::{
        fs::{OFlags, fcntl_getfl},
        net::{AddressFamily, SocketFlags, SocketType, socketpair},
        pipe::{PipeFlags, pipe_with},
    };

    use super::*;

    fn new_pipe() -> (OwnedFd, OwnedFd) {
        pipe_with(PipeFlags::CLOEXEC).expect("a pipe")
    }

    fn sockets() -> (OwnedFd, OwnedFd) {
        let kind = SocketType::STREAM;
        socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).expect("a pair")
    }

    fn would_wait<T: std::fmt::Debug>(res: io::Result<T>) {
        assert_eq!(res.expect_err("it would wait").kind(), io::ErrorKind::WouldBlock);
    }

    #[track_caller]
    fn check((reader, writer): (OwnedFd, OwnedFd)) {
        let other = writer.try_clone().expect("a descriptor");
        let mut reader = NoWait::new(reader).expect("it can be read without waiting");
        let mut writer = NoWait::new(writer).expect("it can be written without waiting");
        let mut bytes = [0; 8];
        would_wait(reader.read(&mut bytes));
        assert_eq!(writer.write(b"abc").expect("there is room"), 3);
        assert_eq!(reader.read(&mut bytes).expect("it is there"), 3);
        assert_eq!(&bytes[..3], b"abc");

        // Full, it says so, and what was taken is less than what was given.
        let full = std::iter::from_fn(|| writer.write(&[0; 100_000]).ok()).sum::<usize>();
        assert!(full > 0 && !full.is_multiple_of(100_000), "{full} bytes");
        would_wait(writer.write(b"x"));

        // Another holder of the same description waits as before.
        assert!(!fcntl_getfl(&other).expect("flags").contains(OFlags::NONBLOCK));
        assert!(!fcntl_getfl(&reader.fd).expect("flags").contains(OFlags::NONBLOCK));
        drop((writer, other));
        let n_read = std::iter::from_fn(|| reader.read(&mut [0; 4096]).ok().filter(|it| *it > 0));
        assert_eq!(n_read.sum::<usize>(), full);
        assert_eq!(reader.read(&mut bytes).expect("the end"), 0);
    }

    #[test]
    fn a_pipe_says_when_it_would_wait() {
        // Before Linux 6.4 there is a thread.
        if pipe::is_supported() {
            check(new_pipe());
        }
    }

    #[test]
    fn a_socket_says_when_it_would_wait() {
        check(sockets());
    }

    #[test]
    fn a_file_is_left_to_a_thread() {
        let file = tempfile::tempfile().expect("a file");
        assert!(NoWait::new(file.into()).is_none());
        let null = std::fs::File::open("/dev/null").expect("it is there");
        assert!(NoWait::new(null.into()).is_none());
    }
}
