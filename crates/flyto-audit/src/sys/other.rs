//! Files on systems that are no Unix: by path, with the rights that the directory hands on.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use super::{Access, FileId};
use crate::AuditError;

/// A directory.
#[derive(Debug)]
pub(crate) struct Dir {
    path: PathBuf,
}

impl Dir {
    /// Opens a directory to write to, and makes it where it does not exist.
    pub(crate) fn create(path: &Path) -> Result<Self, AuditError> {
        fs::create_dir_all(path).map_err(|err| AuditError::io("make the directory", path, err))?;
        Self::open(path)
    }

    /// Opens a directory to read.
    pub(crate) fn open(path: &Path) -> Result<Self, AuditError> {
        let found = fs::symlink_metadata(path);
        let found = found.map_err(|err| AuditError::io("open the directory", path, err))?;
        let path = path.to_owned();
        match found.is_dir() {
            true => Ok(Self { path }),
            false => Err(AuditError::Refused { path, why: "it is a link or no directory" }),
        }
    }

    /// Where a file of it is.
    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Opens a file of it; `None` where it does not exist and is only read.
    pub(crate) fn open_file(&self, name: &str, access: Access) -> Result<Option<File>, AuditError> {
        let path = self.path_of(name);
        match fs::symlink_metadata(&path) {
            Ok(found) if !found.is_file() => {
                return Err(AuditError::Refused { path, why: "it is a link or no regular file" });
            }
            Err(err) if err.kind() == io::ErrorKind::NotFound && access == Access::Read => {
                return Ok(None);
            }
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.read(true);
        match access {
            Access::Read => {}
            // `write` too, for the right to cut a partial line off.
            Access::Append => _ = options.append(true).write(true).create(true),
            Access::Rewrite => _ = options.write(true).create(true).truncate(false),
        }
        options.open(&path).map(Some).map_err(|err| AuditError::io("open", path, err))
    }

    /// Which file a name leads to.
    pub(crate) fn find(&self, name: &str) -> Result<Option<FileId>, AuditError> {
        match fs::symlink_metadata(self.path_of(name)) {
            Ok(found) => Ok(Some(file_id(&found))),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(err) => Err(AuditError::io("look at", self.path_of(name), err)),
        }
    }

    /// Which file is open.
    pub(crate) fn id_of(&self, name: &str, file: &File) -> Result<FileId, AuditError> {
        let found = file.metadata();
        found
            .map(|it| file_id(&it))
            .map_err(|err| AuditError::io("look at", self.path_of(name), err))
    }

    /// Renames a file.
    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<(), AuditError> {
        fs::rename(self.path_of(from), self.path_of(to))
            .map_err(|err| AuditError::io("rename", self.path_of(from), err))
    }

    /// Removes a file.
    pub(crate) fn remove(&self, name: &str) -> Result<(), AuditError> {
        fs::remove_file(self.path_of(name))
            .map_err(|err| AuditError::io("remove", self.path_of(name), err))
    }

    /// Calls `each` with every name that is Unicode, until it fails.
    pub(crate) fn for_each_name(
        &self,
        mut each: impl FnMut(&str) -> Result<(), AuditError>,
    ) -> Result<(), AuditError> {
        let failed = |err| AuditError::io("list", self.path.clone(), err);
        for entry in fs::read_dir(&self.path).map_err(failed)? {
            if let Some(name) = entry.map_err(failed)?.file_name().to_str() {
                each(name)?;
            }
        }
        Ok(())
    }

    /// Directories are not written to the disk apart from their files here.
    #[expect(clippy::unnecessary_wraps, reason = "on Unix this can fail")]
    pub(crate) fn sync(&self) -> Result<(), AuditError> {
        Ok(())
    }
}

/// No number of a file is to be had: its creation stands in.
fn file_id(found: &fs::Metadata) -> FileId {
    let created = found.created().ok().and_then(|it| it.duration_since(UNIX_EPOCH).ok());
    let created = created.unwrap_or_default();
    FileId { identity: (created.as_secs(), u64::from(created.subsec_nanos())), bytes: found.len() }
}

/// Reads at an offset.
pub(crate) fn read_at(mut file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek(SeekFrom::Start(offset))?;
    file.read(buf)
}

/// Writes all of `bytes` at an offset.
pub(crate) fn write_at(mut file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(bytes)
}
