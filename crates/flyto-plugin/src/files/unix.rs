//! Files on Unix.

use std::{
    fs::{DirBuilder, Metadata},
    io,
    os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt},
    path::Path,
};

/// Whether any user may execute it.
///
/// Which user will run it is not known here, so one bit of the three is enough.
pub(crate) fn is_executable(metadata: &Metadata) -> bool {
    metadata.permissions().mode() & 0o111 != 0
}

/// What lies there, with an article; `None` for a regular file.
pub(crate) fn other_kind(metadata: &Metadata) -> Option<&'static str> {
    let kind = metadata.file_type();
    Some(match () {
        () if kind.is_file() => return None,
        () if kind.is_dir() => "a directory",
        () if kind.is_socket() => "a socket",
        () if kind.is_fifo() => "a named pipe",
        () => "a device",
    })
}

/// What tells one state of a file from another: it is replaced, or written to.
///
/// A reload compares two of them to see that the program of a session was built anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl Identity {
    /// From the result of one stat(2); the times have the resolution of the file system.
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// Creates a directory and what is missing above it, open to its owner only. One that is there
/// stays as it is.
pub(crate) fn create_private_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}
