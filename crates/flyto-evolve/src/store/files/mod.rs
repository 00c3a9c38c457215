//! What a store asks of the file system. Tests put a layer in between that stops after any operation.
//!
//! Paths are relative to the store's directory, with `/` between their parts. No link is followed within it.

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

use std::{
    fmt,
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

#[cfg(unix)]
use rustix::io::Errno;

/// File operations of a store, each of which a crash can come before or behind.
pub(crate) trait Files: fmt::Debug + Send + Sync {
    /// Makes a directory (mode 0700); one that exists is as good.
    fn make_dir(&self, dir: &str) -> io::Result<()>;
    /// The bytes of a regular file; `None` where there is none. A file of more than `max_bytes` is an error.
    fn read(&self, path: &str, max_bytes: u64) -> io::Result<Option<Vec<u8>>>;
    /// The names in a directory, in order; none where it does not exist.
    fn names(&self, dir: &str) -> io::Result<Vec<String>>;
    /// Makes a file (mode 0600) that does not exist yet, with these bytes on the disk.
    fn write_new(&self, path: &str, bytes: &[u8]) -> io::Result<()>;
    /// Makes such a file, and leaves it to the system when its bytes come to the disk.
    fn write_unsynced(&self, path: &str, bytes: &[u8]) -> io::Result<()>;
    /// Gives a file a second name; fails with `AlreadyExists` where that is taken.
    fn link(&self, from: &str, to: &str) -> io::Result<()>;
    /// Gives a file another name, in place of a file that had it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file; one that does not exist is no error.
    fn remove(&self, path: &str) -> io::Result<()>;
    /// Waits until the names of a directory are on the disk.
    fn sync_dir(&self, dir: &str) -> io::Result<()>;
    /// Locks out other writers until the file is dropped; `None` where that takes longer than `wait`.
    fn lock(&self, wait: Duration) -> io::Result<Option<File>>;
}

/// The file system below a directory.
#[derive(Debug)]
pub(crate) struct Disk {
    root: PathBuf,
}

impl Disk {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }
}

/// Whether an error is about this process or the system, which may have no descriptors or memory left, and says nothing about a file.
pub(super) fn is_of_process(err: &io::Error) -> bool {
    #[cfg(unix)]
    if let Some(Errno::MFILE | Errno::NFILE) = Errno::from_io_error(err) {
        return true;
    }
    matches!(err.kind(), io::ErrorKind::OutOfMemory | io::ErrorKind::Interrupted)
}

/// The name of the lock file. It is never renamed and never removed.
const LOCK: &str = ".lock";

/// Asks for the lock of a file until `wait` is over (flock(2), or what the system has in its place).
fn lock_file(file: File, wait: Duration) -> io::Result<Option<File>> {
    let deadline = Instant::now() + wait;
    let mut sleep = Duration::from_micros(50);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::Error(err)) if err.kind() == io::ErrorKind::Interrupted => continue,
            Err(TryLockError::Error(err)) => return Err(err),
            Err(TryLockError::WouldBlock) => {}
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        thread::sleep(sleep);
        sleep = (sleep * 2).min(Duration::from_millis(5));
    }
}
