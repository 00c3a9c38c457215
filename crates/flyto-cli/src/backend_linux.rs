//! Where programs run on Linux.

use std::path::PathBuf;

use flyto_execenv_linux::Linux;

/// A backend that ends every descendant with its call, where the system lets it.
pub(crate) fn backend(pinned_dirs: Vec<PathBuf>) -> Linux {
    Linux::for_one_call().pinned_dirs(pinned_dirs)
}
