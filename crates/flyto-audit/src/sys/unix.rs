//! Files on Unix.

use std::{
    fs::{DirBuilder, File},
    io,
    os::{
        fd::OwnedFd,
        unix::fs::{DirBuilderExt, FileExt},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{self, AtFlags, CWD, FileType, Mode, OFlags, Stat},
    io::Errno,
};

use super::{Access, FileId};
use crate::AuditError;

/// An open directory.
#[derive(Debug)]
pub(crate) struct Dir {
    path: PathBuf,
    fd: OwnedFd,
}

impl Dir {
    /// Opens a directory to write to, and makes it with mode 0700 where it does not exist.
    pub(crate) fn create(path: &Path) -> Result<Self, AuditError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        // A link or a file of that name is told as such below.
        if let Err(err) = made.as_ref()
            && err.kind() != io::ErrorKind::AlreadyExists
        {
            made.map_err(|err| AuditError::io("make the directory", path, err))?;
        }
        let res = Self::open(path)?;
        let stat = fs::fstat(&res.fd).map_err(|err| res.error("look at", "", err))?;
        match of_others(&stat) {
            Some(why) => Err(AuditError::Refused { path: res.path, why }),
            None => Ok(res),
        }
    }

    /// Opens a directory to read.
    pub(crate) fn open(path: &Path) -> Result<Self, AuditError> {
        // Without a slash at its end: behind one a link is followed.
        let path: PathBuf = path.components().collect();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match fs::openat(CWD, &path, flags, Mode::empty()) {
            Ok(fd) => Ok(Self { path, fd }),
            Err(Errno::LOOP | Errno::NOTDIR) => {
                Err(AuditError::Refused { path, why: "it is a link or no directory" })
            }
            Err(err) => Err(AuditError::io("open the directory", path, err.into())),
        }
    }

    /// Where a file of it is, for messages.
    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Opens a file of it; `None` where it does not exist and is only read.
    pub(crate) fn open_file(&self, name: &str, access: Access) -> Result<Option<File>, AuditError> {
        let flags = match access {
            Access::Read => OFlags::RDONLY,
            Access::Append => OFlags::RDWR | OFlags::APPEND | OFlags::CREATE,
            Access::Rewrite => OFlags::RDWR | OFlags::CREATE,
        };
        // A FIFO would hold the process without `NONBLOCK` (open(2)).
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let refused = |why| AuditError::Refused { path: self.path_of(name), why };
        const NO_FILE: &str = "it is a link or no regular file";
        let fd = match fs::openat(&self.fd, name, flags, Mode::RUSR | Mode::WUSR) {
            Ok(fd) => fd,
            Err(Errno::NOENT) if access == Access::Read => return Ok(None),
            Err(Errno::LOOP | Errno::NXIO | Errno::ISDIR | Errno::MLINK) => {
                return Err(refused(NO_FILE));
            }
            Err(err) => return Err(self.error("open", name, err)),
        };
        let stat = fs::fstat(&fd).map_err(|err| self.error("look at", name, err))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(refused(NO_FILE));
        }
        match of_others(&stat).filter(|_| access != Access::Read) {
            Some(why) => Err(refused(why)),
            None => Ok(Some(File::from(fd))),
        }
    }

    /// Which file a name leads to, itself and not through a link.
    pub(crate) fn find(&self, name: &str) -> Result<Option<FileId>, AuditError> {
        match look_at(&self.fd, name) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT) => Ok(None),
            Err(err) => Err(self.error("look at", name, err)),
        }
    }

    /// Which file is open, for comparison with [`find`](Self::find).
    pub(crate) fn id_of(&self, name: &str, file: &File) -> Result<FileId, AuditError> {
        let stat = fs::fstat(file).map_err(|err| self.error("look at", name, err))?;
        Ok(file_id(&stat))
    }

    /// Renames a file. The caller holds the lock and knows that `to` is free.
    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<(), AuditError> {
        fs::renameat(&self.fd, from, &self.fd, to).map_err(|err| self.error("rename", from, err))
    }

    /// Removes a file.
    pub(crate) fn remove(&self, name: &str) -> Result<(), AuditError> {
        fs::unlinkat(&self.fd, name, AtFlags::empty())
            .map_err(|err| self.error("remove", name, err))
    }

    /// Calls `each` with every name that is UTF-8, until it fails.
    pub(crate) fn for_each_name(
        &self,
        mut each: impl FnMut(&str) -> Result<(), AuditError>,
    ) -> Result<(), AuditError> {
        let failed = |err| self.error("list", "", err);
        for entry in fs::Dir::read_from(&self.fd).map_err(failed)? {
            if let Ok(name) = entry.map_err(failed)?.file_name().to_str() {
                each(name)?;
            }
        }
        Ok(())
    }

    /// Waits until new and renamed files are on the disk (fsync(2) of the directory).
    pub(crate) fn sync(&self) -> Result<(), AuditError> {
        fs::fsync(&self.fd).map_err(|err| self.error("write to the disk", "", err))
    }

    fn error(&self, doing: &'static str, name: &str, err: Errno) -> AuditError {
        let path = if name.is_empty() { self.path.clone() } else { self.path_of(name) };
        AuditError::io(doing, path, err.into())
    }
}

/// What keeps a writer from a file or directory: other users can change it.
fn of_others(stat: &Stat) -> Option<&'static str> {
    let user = rustix::process::geteuid();
    if !user.is_root() && stat.st_uid != user.as_raw() {
        return Some("it belongs to another user");
    }
    let is_open = stat.st_mode & 0o022 != 0;
    is_open.then_some("other users can write to it: take that right away (chmod go-w)")
}

/// Which file a name leads to, without its times: to ask for them makes the next write of the file set a finer one
/// (Linux 6.13, multigrain timestamps), which doubles what that write costs.
#[cfg(target_os = "linux")]
fn look_at(dir: &OwnedFd, name: &str) -> Result<FileId, Errno> {
    use rustix::fs::StatxFlags;
    let wanted = StatxFlags::TYPE | StatxFlags::INO | StatxFlags::SIZE;
    match fs::statx(dir, name, AtFlags::SYMLINK_NOFOLLOW, wanted) {
        Ok(it) => {
            let device = fs::makedev(it.stx_dev_major, it.stx_dev_minor);
            Ok(FileId { identity: (device, it.stx_ino), bytes: it.stx_size })
        }
        // Before Linux 4.11, and where a filter of system calls does not know it.
        Err(Errno::NOSYS | Errno::PERM) => look_at_all(dir, name),
        Err(err) => Err(err),
    }
}

#[cfg(not(target_os = "linux"))]
use look_at_all as look_at;

/// The same by fstatat(2), which asks for the times too.
fn look_at_all(dir: &OwnedFd, name: &str) -> Result<FileId, Errno> {
    fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).map(|it| file_id(&it))
}

fn file_id(stat: &Stat) -> FileId {
    // The types of these fields differ between systems.
    #[allow(clippy::unnecessary_cast, reason = "`st_dev` is an `i32` on macOS")]
    let identity = (stat.st_dev as u64, stat.st_ino as u64);
    FileId { identity, bytes: u64::try_from(stat.st_size).unwrap_or(0) }
}

/// pread(2).
pub(crate) fn read_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(buf, offset)
}

/// pwrite(2), of all of `bytes`.
pub(crate) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    file.write_all_at(bytes, offset)
}
