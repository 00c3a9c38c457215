use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

/// Device and inode.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::watch) struct Identity(u64, u64);

/// What the directory at `path` is known by under every path; `None` where there is none.
pub(in crate::watch) fn identity(path: &Path) -> Option<Identity> {
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_dir)?;
    Some(Identity(metadata.dev(), metadata.ino()))
}
