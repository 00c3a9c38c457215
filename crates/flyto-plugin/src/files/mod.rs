//! Files: reading them whole, and what differs between systems.
//!
//! Bytes are read by [`read`], which refuses what is no regular file and what is larger than 16
//! MiB.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(not(unix), path = "other.rs")]
mod platform;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use flyto_diagnostics::{
    Diagnostic, Location, Source,
    files::{ReadError, read, unreadable},
};

pub(crate) use self::platform::{Identity, create_private_dir, is_executable, other_kind};
use crate::codes;

/// Why there is no text.
/// A search passes over the first kind in silence; [`load`](crate::load()) makes a finding of
/// both.
pub(crate) enum Unread {
    /// There is no such file.
    Missing,
    /// There is something, and this is wrong with it.
    Found(Box<Diagnostic>),
}

/// Whether something has this name, a link that leads nowhere too. What cannot be looked at counts.
pub(crate) fn is_there(path: &Path) -> bool {
    !fs::symlink_metadata(path).is_err_and(|err| err.kind() == io::ErrorKind::NotFound)
}

/// Reads the text of a manifest.
///
/// A symbolic link that leads nowhere is [`Unread::Found`]: a plugin was meant to be there.
pub(crate) fn read_source(file: &Path) -> Result<Source, Unread> {
    match read(file) {
        Ok(bytes) => Source::from_bytes(file.to_string_lossy(), bytes).map_err(Unread::Found),
        Err(ReadError::Missing) if fs::symlink_metadata(file).is_err() => Err(Unread::Missing),
        Err(ReadError::Missing) => {
            let place = Location::file(file.display().to_string());
            let diag = Diagnostic::error(codes::NO_MANIFEST, place, "the link leads nowhere");
            Err(Unread::Found(Box::new(diag)))
        }
        Err(err) => Err(Unread::Found(Box::new(unreadable(file, &err)))),
    }
}

/// As [`Path::join`], which takes memory for `dir` first, and then again for both.
pub(crate) fn joined(dir: &Path, file: impl AsRef<Path>) -> PathBuf {
    let file = file.as_ref();
    let mut res = PathBuf::with_capacity(dir.as_os_str().len() + 1 + file.as_os_str().len());
    res.push(dir);
    res.push(file);
    res
}

/// Whether a path is from the root on, without `.` and empty parts: most are, and a look at their bytes tells.
fn is_clean(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    cfg!(unix)
        && bytes.starts_with(b"/")
        && bytes[1..].split(|it| *it == b'/').all(|it| !matches!(it, b"" | b"."))
}

/// The directory from the root on. Where the current directory is gone, nothing can be said.
/// The empty path is the current directory. Links and `..` stay in the path.
pub(crate) fn absolute(dir: &Path) -> PathBuf {
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    if is_clean(dir) {
        return dir.to_owned();
    }
    std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned())
}
