//! Files on systems that are not Unix.

use std::{
    fs::{self, Metadata},
    io,
    path::Path,
};

/// Whether somebody may execute it; the system decides that by the name.
pub(crate) fn is_executable(_: &Metadata) -> bool {
    true
}

/// Creates a directory and what is missing above it. One that is there stays as it is.
pub(crate) fn create_private_dir(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)
}
