//! Files on systems that are not Unix.

use std::{
    fs::{self, Metadata},
    io,
    path::Path,
    time::SystemTime,
};

/// Whether it may be executed; the system decides that by the name.
pub(crate) fn is_executable(_: &Metadata) -> bool {
    true
}

/// What lies there, with an article; `None` for a regular file.
pub(crate) fn other_kind(metadata: &Metadata) -> Option<&'static str> {
    match (metadata.is_file(), metadata.is_dir()) {
        (true, _) => None,
        (_, true) => Some("a directory"),
        _ => Some("no regular file"),
    }
}

/// What tells one state of a file from another: it is replaced, or written to.
///
/// Without the number of the file, a replacement of the same size and time goes unnoticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    size: u64,
    modified: Option<SystemTime>,
}

impl Identity {
    /// From one look at the file.
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self { size: metadata.len(), modified: metadata.modified().ok() }
    }
}

/// Creates a directory and what is missing above it. One that is there stays as it is.
pub(crate) fn create_private_dir(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)
}
