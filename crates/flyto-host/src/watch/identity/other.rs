use std::path::{Path, PathBuf};

/// The path without links.
pub(in crate::watch) type Identity = PathBuf;

/// What the directory at `path` is known by under every path; `None` where there is none.
pub(in crate::watch) fn identity(path: &Path) -> Option<Identity> {
    path.canonicalize().ok().filter(|it| it.is_dir())
}
