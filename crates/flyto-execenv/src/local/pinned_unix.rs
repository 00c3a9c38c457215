//! Where memory cannot hold a program, each copy is a file.

use std::{convert::Infallible, ffi::OsStr, fs::File, io, path::PathBuf};

/// Memory that no process can change any more: there is none here.
#[derive(Debug)]
pub(super) struct Sealed(Infallible);

/// Empty memory for a program: none here.
pub(super) fn create(_: &OsStr) -> Option<File> {
    None
}

/// Makes what was written final.
pub(super) fn seal(_: File) -> io::Result<Sealed> {
    Err(io::ErrorKind::Unsupported.into())
}

impl Sealed {
    pub(super) fn file(&self) -> &File {
        match self.0 {}
    }

    /// The paths under which a child starts it, the better one first.
    pub(super) fn paths(&self) -> (PathBuf, Option<PathBuf>) {
        match self.0 {}
    }
}
