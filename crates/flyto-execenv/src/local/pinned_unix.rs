//! Where memory cannot hold a program, each copy is a file.

use std::{ffi::OsStr, fs::File, io, path::PathBuf};

/// Empty memory for a program: none here.
pub(super) fn create(_: &OsStr) -> Option<File> {
    None
}

/// Makes what was written final.
pub(super) fn seal(_: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The path under which a child starts it.
pub(super) fn path_of(_: &File) -> PathBuf {
    PathBuf::new()
}
