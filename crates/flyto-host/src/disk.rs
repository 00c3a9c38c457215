//! Files that a host keeps for its user: private, and replaced in one step.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::Path,
};

/// Whether a file is on the disk when the function that writes it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sync {
    /// It is, also after a loss of power.
    Now,
    /// The system writes it when it likes. A process that dies loses nothing.
    Later,
}

/// Makes a directory with mode 0700, and those above it that are missing.
pub(crate) fn private_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Makes a file with mode 0600. One that is there already is an error.
pub(crate) fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// Puts `bytes` in the place of a file: a reader sees the former or the new content, whole. Where that fails,
/// the former content stays.
///
/// One process at a time replaces one file.
pub(crate) fn replace(path: &Path, bytes: &[u8], sync: Sync) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = Path::new(&name);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let written = options.open(new).and_then(|mut file| {
        file.write_all(bytes)?;
        if sync == Sync::Now { file.sync_all() } else { Ok(()) }
    });
    if let Err(err) = written.and_then(|()| fs::rename(new, path)) {
        let _ = fs::remove_file(new);
        return Err(err);
    }
    match path.parent() {
        Some(dir) if sync == Sync::Now => File::open(dir)?.sync_all(),
        _ => Ok(()),
    }
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
    fn a_file_is_replaced_whole_or_not_at_all() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a");
        for sync in [Sync::Later, Sync::Now] {
            replace(&path, b"first", sync).expect("written");
            replace(&path, b"2nd", sync).expect("written");
            assert_eq!(read(&path, 3).expect("there"), b"2nd");
        }
        // What cannot be written leaves the former content.
        fs::create_dir(dir.path().join("a.new")).expect("made");
        replace(&path, b"third", Sync::Later).expect_err("its new file is a directory");
        assert_eq!(read(&path, 3).expect("there"), b"2nd");
    }

    #[test]
    fn only_plain_files_within_the_bound_are_read() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a");
        replace(&path, b"1234", Sync::Later).expect("written");
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
    fn a_lock_is_seen_through_another_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("lock");
        let keeper = new_file(&path).expect("made");
        keeper.try_lock().expect("free");
        let reader = open(&path).expect("there");
        assert!(is_locked(&reader).expect("a lock"));
        drop(keeper);
        assert!(!is_locked(&reader).expect("a lock"));
        assert!(!is_locked(&reader).expect("the question leaves no lock"));
    }
}
