//! Files on Unix: opened relative to their directory, part by part, without following links.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    os::fd::OwnedFd,
    time::Duration,
};

use rustix::{
    fs::{self, AtFlags, CWD, Dir, FileType, Mode, OFlags},
    io::Errno,
};

use super::{Disk, Files, LOCK, lock_file};

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// A FIFO would hold the process without `NONBLOCK` (open(2)).
const PLAIN: OFlags =
    OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

impl Disk {
    /// Opens a directory below the root, one part after the other, each relative to the one before
    /// (openat(2)). A part that is a link is refused, so no path leads out of the store, also where
    /// a part is exchanged meanwhile.
    fn open_dir(&self, dir: &str) -> io::Result<OwnedFd> {
        // The store's own directory may be reached through a link that its user made.
        let mut res = fs::openat(CWD, &self.root, DIRECTORY, Mode::empty())?;
        for part in dir.split('/').filter(|it| !it.is_empty()) {
            let opened = fs::openat(&res, part, DIRECTORY | OFlags::NOFOLLOW, Mode::empty());
            res = opened.map_err(|err| no_dir(&res, part, err))?;
        }
        Ok(res)
    }

    /// A new file with these bytes.
    fn written(&self, path: &str, bytes: &[u8]) -> io::Result<File> {
        let (dir, name) = split(path);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | PLAIN;
        let fd = fs::openat(self.open_dir(dir)?, name, flags, Mode::RUSR | Mode::WUSR)?;
        let mut file = File::from(fd);
        file.write_all(bytes)?;
        Ok(file)
    }
}

/// Splits a path into its directory, which may be empty, and its name.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Why a part of a path is not opened. Linux calls a link no directory (open(2), `O_NOFOLLOW`).
fn no_dir(parent: &OwnedFd, part: &str, err: Errno) -> io::Error {
    let what = |it: Errno| match fs::statat(parent, part, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_symlink() => told(Errno::LOOP),
        Ok(_) => io::Error::other(format!("{part} is no directory")),
        Err(_) => it.into(),
    };
    if err == Errno::NOTDIR { what(err) } else { told(err) }
}

/// A link where a file or directory should be is told as such.
fn told(err: Errno) -> io::Error {
    match err {
        Errno::LOOP | Errno::MLINK => io::Error::other("it is a link, and links are not followed"),
        err => err.into(),
    }
}

fn is_missing(err: &io::Error) -> bool {
    err.kind() == io::ErrorKind::NotFound
}

impl Files for Disk {
    fn make_dir(&self, dir: &str) -> io::Result<()> {
        if dir.is_empty() {
            use std::os::unix::fs::DirBuilderExt as _;
            return std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.root);
        }
        let (parent, name) = split(dir);
        match fs::mkdirat(self.open_dir(parent)?, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(err) => Err(err.into()),
        }
    }

    /// What was opened is looked at, and not its path, so nothing can be exchanged between the look
    /// and the read. One byte more than allowed is read to tell a file that is too long.
    fn read(&self, path: &str, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
        let (dir, name) = split(path);
        let dir = match self.open_dir(dir) {
            Err(err) if is_missing(&err) => return Ok(None),
            other => other?,
        };
        let fd = match fs::openat(&dir, name, OFlags::RDONLY | PLAIN, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            other => other.map_err(told)?,
        };
        if FileType::from_raw_mode(fs::fstat(&fd)?.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("it is no regular file"));
        }
        let mut res = Vec::new();
        File::from(fd).take(max_bytes + 1).read_to_end(&mut res)?;
        if res.len() as u64 > max_bytes {
            return Err(io::Error::other(format!("it is larger than {max_bytes} bytes")));
        }
        Ok(Some(res))
    }

    /// Names that are not UTF-8 are left out: no file of a store has one.
    fn names(&self, dir: &str) -> io::Result<Vec<String>> {
        let fd = match self.open_dir(dir) {
            Err(err) if is_missing(&err) => return Ok(Vec::new()),
            other => other?,
        };
        let mut res = Vec::new();
        for entry in Dir::read_from(&fd)? {
            let entry = entry?;
            // No name of a store is anything else than UTF-8.
            if let Ok(name) = entry.file_name().to_str()
                && name != "."
                && name != ".."
            {
                res.push(name.to_owned());
            }
        }
        res.sort_unstable();
        Ok(res)
    }

    /// The file is on the disk with its bytes when this returns; its name is once the directory was
    /// synced.
    fn write_new(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.written(path, bytes)?.sync_all()
    }

    fn write_unsynced(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.written(path, bytes).map(drop)
    }

    fn link(&self, from: &str, to: &str) -> io::Result<()> {
        let ((from_dir, from), (to_dir, to)) = (split(from), split(to));
        let (from_dir, to_dir) = (self.open_dir(from_dir)?, self.open_dir(to_dir)?);
        Ok(fs::linkat(from_dir, from, to_dir, to, AtFlags::empty())?)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let ((from_dir, from), (to_dir, to)) = (split(from), split(to));
        let (from_dir, to_dir) = (self.open_dir(from_dir)?, self.open_dir(to_dir)?);
        Ok(fs::renameat(from_dir, from, to_dir, to)?)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        let (dir, name) = split(path);
        match fs::unlinkat(self.open_dir(dir)?, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(err) => Err(err.into()),
        }
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        Ok(fs::fsync(self.open_dir(dir)?)?)
    }

    /// The lock ends with the process, also where it is killed (flock(2)).
    fn lock(&self, wait: Duration) -> io::Result<Option<File>> {
        let flags = OFlags::RDWR | OFlags::CREATE | PLAIN;
        let fd =
            fs::openat(self.open_dir("")?, LOCK, flags, Mode::RUSR | Mode::WUSR).map_err(told)?;
        lock_file(File::from(fd), wait)
    }
}
