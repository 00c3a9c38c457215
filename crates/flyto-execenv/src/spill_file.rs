//! The file with the whole of one stream.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::SpillBounds;

/// A file that is removed unless it holds a whole stream in the end: a part under the name of the
/// whole would mislead, and one that is not reported would stay for ever.
///
/// Dropped with a call that is dropped, so that no part of a stream stays.
#[derive(Debug)]
pub(crate) struct SpillFile {
    path: PathBuf,
    file: File,
    is_whole: bool,
    bounds: Option<SpillBounds>,
    written_bytes: u64,
    /// The length of the file, where it has bounds.
    reserved_bytes: u64,
}

/// Room that a file takes at once: 16 MiB. The directory is looked at once for each.
const RESERVED_AT_ONCE: u64 = 16 * 1024 * 1024;

impl SpillFile {
    /// A new file that only its owner can read, with the directories above it.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AlreadyExists`] where something has the path, so that no file of another
    /// purpose is overwritten; else those of the system.
    pub(crate) fn create(path: &Path, bounds: Option<SpillBounds>) -> io::Result<Self> {
        let file = create_private(path)?;
        // Tells a process that makes room in the directory that the file is still written; the kernel releases
        // it with ours. Where the file system has no locks, the file has its age.
        let _ = file.try_lock();
        let path = path.to_owned();
        Ok(Self { path, file, is_whole: false, bounds, written_bytes: 0, reserved_bytes: 0 })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes what comes next, and takes room for it before where there are bounds.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::QuotaExceeded`] where there is no room; those of the system.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written_bytes = self.written_bytes + bytes.len() as u64;
        if let Some(bounds) = self.bounds
            && written_bytes > self.reserved_bytes
        {
            let dir = self.path.parent().unwrap_or(Path::new("."));
            let many = written_bytes.next_multiple_of(RESERVED_AT_ONCE);
            let few = written_bytes;
            let reserve = |it| bounds.reserve(&self.file, dir, self.reserved_bytes, it);
            self.reserved_bytes = match reserve(many) {
                Err(err) if err.kind() == io::ErrorKind::QuotaExceeded => {
                    reserve(few)?;
                    few
                }
                res => {
                    res?;
                    many
                }
            };
        }
        self.file.write_all(bytes)?;
        self.written_bytes = written_bytes;
        Ok(())
    }

    /// Gives back what was not needed, and leaves the file in place from here on.
    ///
    /// # Errors
    ///
    /// Those of the system; then the file is removed.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        if self.bounds.is_some() {
            self.file.set_len(self.written_bytes)?;
        }
        self.is_whole = true;
        // Its age is counted from here, whenever the program wrote last.
        let _ = self.file.set_modified(SystemTime::now());
        Ok(())
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        if !self.is_whole {
            // Where even that fails no reader is left.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A new file that only its owner can read, with the directories above it.
fn create_private(path: &Path) -> io::Result<File> {
    let mut dirs = DirBuilder::new();
    dirs.recursive(true);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        dirs.mode(0o700);
        options.mode(0o600);
    }
    if let Some(dir) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
        dirs.create(dir)?;
    }
    options.open(path)
}
