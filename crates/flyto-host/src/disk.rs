//! Files that a host keeps for its user, for no other one to read.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// Makes a directory with mode 0700, and those above it that are missing. One that is there already is
/// [checked](check_private).
pub(crate) fn private_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    check_private(dir)
}

/// Refuses a directory in which another user could put or exchange files: a link, one of another user, and one that others
/// can write to. One that is not there is no error.
///
/// # Errors
///
/// [`io::ErrorKind::PermissionDenied`], and what the system says otherwise.
pub(crate) fn check_private(dir: &Path) -> io::Result<()> {
    // Without a slash at its end: behind one a link is followed.
    let dir: PathBuf = dir.components().collect();
    let found = match fs::symlink_metadata(dir) {
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    let user = rustix::process::geteuid();
    let why = if !found.is_dir() {
        "it is a link or no directory"
    } else if !user.is_root() && found.uid() != user.as_raw() {
        "it belongs to another user"
    } else if found.mode() & 0o022 != 0 {
        "other users can write to it: take that right away (chmod go-w)"
    } else {
        return Ok(());
    };
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

/// Makes a file with mode 0600. One that is there already is an error.
pub(crate) fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// Opens a plain file for reading. A link, a FIFO, a device or a directory in its place is an error, and is not
/// opened: it could block, or lead elsewhere.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no plain file"));
    }
    File::open(path)
}

/// Reads a plain file of at most `max_bytes`.
pub(crate) fn read(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        let what = format!("it is larger than {max_bytes} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok(bytes)
}

/// Locks a file for this process alone, and waits for other processes no longer than this (flock(2)). The thread waits.
///
/// # Errors
///
/// [`io::ErrorKind::WouldBlock`] where the time is over, and what the system says otherwise.
pub(crate) fn lock_within(file: &File, time: Duration) -> io::Result<()> {
    let deadline = Instant::now() + time;
    let mut pause = Duration::from_micros(50);
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(5));
            }
            Err(TryLockError::WouldBlock) => {
                let why = format!("another process has held the lock for {time:?}");
                return Err(io::Error::new(io::ErrorKind::WouldBlock, why));
            }
            Err(TryLockError::Error(err)) => return Err(err),
            Ok(()) => return Ok(()),
        }
    }
}

/// Whether another open file holds the lock on this one. The kernel releases a lock with the last process that has
/// the file open, however that process ends (flock(2)).
pub(crate) fn is_locked(file: &File) -> io::Result<bool> {
    match file.try_lock_shared() {
        Ok(()) => file.unlock().map(|()| false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(err)) => Err(err),
    }
}

/// The time of a file's last change; that of a directory is when a name in it changed.
pub(crate) fn modified(path: &Path) -> Option<std::time::SystemTime> {
    fs::symlink_metadata(path).and_then(|it| it.modified()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_files_within_the_bound_are_read() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a");
        fs::write(&path, b"1234").expect("written");
        assert_eq!(read(&path, 3).expect_err("too large").kind(), io::ErrorKind::InvalidData);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).expect("made");
        let fifo = dir.path().join("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).expect("made");
        for other in [&link, &fifo, &dir.path().to_owned()] {
            assert_eq!(open(other).expect_err("no file").kind(), io::ErrorKind::InvalidData);
        }
    }

    #[test]
    fn a_directory_that_others_can_fill_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().expect("a directory");
        let own = dir.path().join("a/own");
        private_dir(&own).expect("made");
        private_dir(&own).expect("it is there, and its user's alone");
        check_private(&dir.path().join("none")).expect("it is not there");
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&own, &link).expect("made");
        let file = dir.path().join("file");
        fs::write(&file, "").expect("written");
        for other in [&link, &link.join(""), &file] {
            let err = check_private(other).expect_err("no directory");
            assert_eq!(err.to_string(), "it is a link or no directory");
        }
        for (mode, is_refused) in [(0o755, false), (0o770, true), (0o702, true)] {
            fs::set_permissions(&own, fs::Permissions::from_mode(mode)).expect("changed");
            assert_eq!(private_dir(&own).is_err(), is_refused, "{mode:o}");
        }
    }

    #[test]
    fn a_lock_is_seen_through_another_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("lock");
        let owner = new_file(&path).expect("made");
        owner.try_lock().expect("free");
        let reader = open(&path).expect("there");
        assert!(is_locked(&reader).expect("a lock"));
        drop(owner);
        assert!(!is_locked(&reader).expect("a lock"));
        assert!(!is_locked(&reader).expect("the question leaves no lock"));
    }
}
