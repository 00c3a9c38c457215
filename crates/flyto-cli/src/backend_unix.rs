//! Where programs run on a system without a backend of its own.

use std::path::PathBuf;

use flyto_execenv::{Executor, local::Local};

/// The portable backend, which ends a call's process group.
pub(crate) fn backend(pinned_dirs: Vec<PathBuf>) -> impl Executor {
    Local::new().pinned_dirs(pinned_dirs)
}

/// The same for a program that makes calls until it is ended.
pub(crate) fn serving_backend(pinned_dirs: Vec<PathBuf>) -> impl Executor {
    backend(pinned_dirs)
}
