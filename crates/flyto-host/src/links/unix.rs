//! The owner of a link, by what the system says.

use std::{fs::Metadata, io, os::unix::fs::MetadataExt as _, path::Path};

use super::{Access, only_root_made};

/// Whether no program of this user can have made a link.
pub(super) fn is_of_root(link: &Path) -> bool {
    let found = || -> io::Result<bool> {
        let above: io::Result<Vec<Access>> =
            link.ancestors().skip(1).map(|it| Ok(access(&it.symlink_metadata()?))).collect();
        let user = rustix::process::geteuid().as_raw();
        Ok(only_root_made(user, access(&link.symlink_metadata()?), &above?))
    };
    found().unwrap_or(false)
}

/// Whether something belongs to the user of this process.
pub(crate) fn is_own(it: &Metadata) -> bool {
    it.uid() == rustix::process::geteuid().as_raw()
}

fn access(it: &Metadata) -> Access {
    Access { owner: it.uid(), mode: it.mode() }
}
