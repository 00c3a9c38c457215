//! Where programs run on Linux.

use std::path::PathBuf;

use flyto_execenv_linux::{Linux, adopt_orphans};

/// A backend that ends every descendant with its call, where the system lets it.
pub(crate) fn backend(pinned_dirs: Vec<PathBuf>) -> Linux {
    // This program has no other children. A kernel that refuses it leaves what was promised before.
    let _ = adopt_orphans();
    Linux::for_one_call().pinned_dirs(pinned_dirs)
}

/// The same for a program that makes calls until it is ended.
pub(crate) fn serving_backend(pinned_dirs: Vec<PathBuf>) -> Linux {
    let _ = adopt_orphans();
    Linux::new().pinned_dirs(pinned_dirs)
}
