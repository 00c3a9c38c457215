//! Files of one directory, as the system gives them.
//!
//! The lock is flock(2) on Unix: it belongs to the open file, so that two logs in one process keep each other out, and
//! the end of the process opens it. Its wait has no bound of its own, hence the attempts in [`lock`].
//!
//! `unix.rs` opens everything relative to a descriptor of the directory and follows no link. Other systems use paths.

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

use std::{
    fs::{File, TryLockError},
    io, thread,
    time::{Duration, Instant},
};

#[cfg(not(unix))]
pub(crate) use other::{Dir, read_at, write_at};
#[cfg(unix)]
pub(crate) use unix::{Dir, read_at, write_at};

/// How a file is opened. Files are made with mode 0600.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// To read; it exists.
    Read,
    /// To read, and to write behind its end; it is made where it does not exist.
    Append,
    /// To read, and to write in place; it is made where it does not exist.
    Rewrite,
}

/// Which file a name leads to, and its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId {
    /// Its device and inode, or what the system has in their place.
    pub(crate) identity: (u64, u64),
    pub(crate) bytes: u64,
}

/// Times that a lock is asked for at once, before the thread sleeps between attempts: an append holds it for some
/// microseconds.
const EAGER_ATTEMPTS: u32 = 64;

/// The longest sleep between attempts.
const MAX_SLEEP: Duration = Duration::from_millis(1);

/// Locks a file until `deadline` (flock(2), or what the system has in its place); false where that passes.
pub(crate) fn lock(file: &File, shared: bool, deadline: Instant) -> io::Result<bool> {
    let mut sleep = Duration::from_micros(20);
    for attempt in 0_u32.. {
        match if shared { file.try_lock_shared() } else { file.try_lock() } {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(err)) if err.kind() == io::ErrorKind::Interrupted => continue,
            Err(TryLockError::Error(err)) => return Err(err),
            Err(TryLockError::WouldBlock) => {}
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        if attempt < EAGER_ATTEMPTS {
            thread::yield_now();
        } else {
            thread::sleep(sleep);
            sleep = (sleep * 2).min(MAX_SLEEP);
        }
    }
    Ok(false)
}

/// Reads until `buf` is full or the file ends.
pub(crate) fn read_full_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut n_read = 0;
    while n_read < buf.len() {
        match read_at(file, &mut buf[n_read..], offset + n_read as u64) {
            Ok(0) => break,
            Ok(n) => n_read += n,
            Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
            Err(err) => return Err(err),
        }
    }
    Ok(n_read)
}
