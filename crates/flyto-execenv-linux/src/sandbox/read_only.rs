//! Paths that a program cannot change, whatever is granted: what they mean when a supervisor is started.
//!
//! Landlock adds up what is granted and takes nothing away, so it cannot keep a file unchanged below a directory
//! that may be written. A mount can: the supervisor makes a mount namespace, in which it mounts each such
//! path onto itself, read-only. The system removes and renames no directory or file that something is
//! mounted on, so the directories on the way are mounted onto themselves as well, as they are.
//!
//! Where mount namespaces cannot be made, [`landlock`](super::landlock) carves the paths out of the grants: then
//! nothing new can be made in the directories on the way.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::CString,
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use flyto_execenv::{Filesystem, Isolation};
use flyto_supervision::SelfMount;

use super::places::Places;

/// The paths of an isolation, as they were found.
///
/// `Default` keeps nothing.
#[derive(Debug, Default)]
pub(super) struct ReadOnly {
    /// What exists of them and could be changed without this, each without a link in it.
    kept: BTreeSet<PathBuf>,
    /// The directories on the way to them that could be renamed.
    way: BTreeSet<PathBuf>,
    /// All that was looked at, and all that is granted.
    places: Places,
}

impl ReadOnly {
    /// Looks what there is.
    ///
    /// # Errors
    ///
    /// Descriptors or memory are short.
    pub(super) fn find(isolation: &Isolation) -> io::Result<Self> {
        let mut res = Self::default();
        let mut looked_at = BTreeSet::new();
        for path in isolation.read_only.iter() {
            looked_at.insert(path.clone());
            // A directory on the way that becomes a link, or stops being one, changes what is meant.
            looked_at
                .extend(ancestors(path).filter(|it| is_inside(isolation, it)).map(Path::to_owned));
            let Some(kept) = meant(path) else { continue };
            if !can_change(isolation, &kept) || (kept != *path && is_granted(isolation, &kept)) {
                continue;
            }
            let way = ancestors(&kept)
                .filter(|it| it.parent().is_some_and(|it| is_writable(isolation, it)));
            res.way.extend(way.map(Path::to_owned));
            res.kept.insert(kept);
        }
        looked_at.extend(res.kept.iter().chain(&res.way).cloned());
        let (mut named, mut written) = (BTreeSet::new(), BTreeSet::new());
        if let Filesystem::Grants { read, write } = &isolation.filesystem {
            named.extend(read.iter().flat_map(|it| with_links_above(it)));
            for path in write.iter() {
                let is_directory = path.symlink_metadata().map_or(true, |it| it.is_dir());
                named.extend(with_links_above(path).filter(|it| it != path || !is_directory));
                // Under another name it is still the one that was granted, and the program may have given it that.
                written.extend(is_directory.then(|| path.clone()));
            }
        }
        res.places = Places::look(looked_at, &named, written)?;
        Ok(res)
    }

    /// Whether the paths that are kept are as they were found.
    pub(super) fn is_current(&self) -> bool {
        self.places.mounted_are_current()
    }

    /// A path, also one that is granted, at which something else would be found now.
    pub(super) fn outdated_by(&self) -> Option<&Path> {
        self.places.outdated_by()
    }

    /// Whether this is one of the paths, or lies below one.
    pub(super) fn keeps(&self, path: &Path) -> bool {
        self.kept.iter().any(|it| path.starts_with(it))
    }

    /// Whether one of the paths lies below this.
    pub(super) fn is_way(&self, path: &Path) -> bool {
        self.kept.iter().any(|it| it != path && it.starts_with(path))
    }

    /// What a supervisor mounts onto itself, as [`Setup::mounts`](flyto_supervision::Setup::mounts).
    ///
    /// Paths below another one of the list are left out: a mount keeps all that is below it. The
    /// supervisor compares device and inode with what it finds, so a path that was replaced
    /// meanwhile is an error and not another mount.
    pub(super) fn mounts(&self) -> Vec<u8> {
        let mut res = Vec::new();
        let way = self.way.iter().map(|it| (it, false));
        // In this order a directory comes before what is below it.
        let all: BTreeMap<_, _> = way.chain(self.kept.iter().map(|it| (it, true))).collect();
        for (path, read_only) in all {
            if self.kept.iter().any(|it| it != path && path.starts_with(it)) {
                continue;
            }
            let Some(identity) = self.places.found(path) else { continue };
            let path = CString::new(path.as_os_str().as_bytes()).expect("it exists");
            let (major, minor) = identity.device;
            let device = rustix::fs::makedev(major, minor);
            SelfMount { read_only, device, inode: identity.inode, path: &path }.write(&mut res);
        }
        res
    }
}

/// A path and the links on the way to it, where there are some: such a path grants nothing, until it is one without links.
fn with_links_above(path: &Path) -> impl Iterator<Item = PathBuf> {
    let is_link = |it: &&Path| it.symlink_metadata().is_ok_and(|it| it.is_symlink());
    [path].into_iter().chain(ancestors(path).filter(is_link)).map(Path::to_owned)
}

/// What is above a path, without the path itself and the root directory.
fn ancestors(path: &Path) -> impl Iterator<Item = &Path> {
    path.ancestors().skip(1).filter(|it| it.parent().is_some())
}

/// Whether this is what a grant names, and not what lies below it. A file that is granted has no settings of a project in it.
fn is_granted(isolation: &Isolation, path: &Path) -> bool {
    match &isolation.filesystem {
        Filesystem::Grants { write, .. } => {
            write.iter().any(|it| it == path || it.canonicalize().is_ok_and(|it| it == path))
        }
        _ => false,
    }
}

/// Whether grants let a program change this, or what is in it.
fn is_writable(isolation: &Isolation, path: &Path) -> bool {
    match &isolation.filesystem {
        Filesystem::Grants { write, .. } => write.iter().any(|it| path.starts_with(it)),
        _ => true,
    }
}

/// The same, or whether something below it can be changed.
fn can_change(isolation: &Isolation, path: &Path) -> bool {
    let is_above = || match &isolation.filesystem {
        Filesystem::Grants { write, .. } => write.iter().any(|it| it.starts_with(path)),
        _ => true,
    };
    is_writable(isolation, path) || is_above()
}

/// Whether this lies below a directory that is granted for writing.
fn is_inside(isolation: &Isolation, path: &Path) -> bool {
    path.parent().is_some_and(|it| is_writable(isolation, it))
}

/// Where a path leads; `None` where that does not exist. Where a file is in the way, it is what is meant.
fn meant(path: &Path) -> Option<PathBuf> {
    match path.canonicalize() {
        Ok(found) => Some(found),
        Err(err) if err.kind() == io::ErrorKind::NotADirectory => {
            ancestors(path).find_map(|it| it.canonicalize().ok())
        }
        Err(_) => None,
    }
}
