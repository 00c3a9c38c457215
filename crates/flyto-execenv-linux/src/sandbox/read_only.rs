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
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use flyto_execenv::{Filesystem, Isolation};
use flyto_supervision::SelfMount;
use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, Statx, StatxFlags, fstat, openat, statx},
    io::Errno,
};

/// The paths of an isolation, as they were found.
///
/// `Default` keeps nothing.
#[derive(Debug, Default)]
pub(super) struct ReadOnly {
    /// What exists of them and could be changed without this, each without a link in it.
    kept: BTreeSet<PathBuf>,
    /// The directories on the way to them that could be renamed.
    way: BTreeSet<PathBuf>,
    /// All that was looked at.
    dirs: Vec<Directory>,
}

/// A directory, and what was looked at in it.
///
/// To look at every path at every call would be a twentieth of the call. As long as nothing was added to a
/// directory, removed or renamed, one look at that is enough.
#[derive(Debug)]
struct Directory {
    path: PathBuf,
    identity: Option<Identity>,
    entries: Vec<Seen>,
    /// The directory as it was when all entries were as they should be.
    settled: Mutex<Option<State>>,
}

/// Which directory it is, and when it was changed last (`st_ctime`, which no program can set).
///
/// Equal states mean that nothing was added, removed or renamed between two looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    identity: Identity,
    changed: (i64, u32),
}

/// How old the last change must be for the next one to have another time: 20 ms, twice the tick of a kernel
/// with the lowest frequency, 100 Hz (time(7)).
const TICK: Duration = Duration::from_millis(20);

/// What was at a path. A link is looked at itself.
///
/// `found` is `None` where nothing was there, or this user may not look.
#[derive(Debug)]
struct Seen {
    path: PathBuf,
    found: Option<Found>,
}

/// It is kept open: otherwise its number could be that of another file later.
#[derive(Debug)]
struct Found {
    _file: OwnedFd,
    identity: Identity,
}

/// The device and the number of an inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: (u32, u32),
    inode: u64,
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
        let mut by_dir: BTreeMap<PathBuf, Vec<Seen>> = BTreeMap::new();
        for path in looked_at {
            let dir = path.parent().unwrap_or(&path).to_owned();
            by_dir.entry(dir).or_default().push(Seen::look(path)?);
        }
        if let Filesystem::Grants { write, .. } = &isolation.filesystem {
            // Another directory in the place of a granted one is not what a ruleset was made for.
            for dir in write.iter().filter(|it| !it.is_file() && !is_device(it)) {
                by_dir.entry(dir.clone()).or_default();
            }
        }
        let dirs = by_dir.into_iter();
        res.dirs = dirs.map(|(path, entries)| Directory::new(path, entries)).collect();
        Ok(res)
    }

    /// Whether the same would be found now.
    pub(super) fn is_current(&self) -> bool {
        self.outdated_by().is_none()
    }

    /// A directory in which something else would be found now.
    ///
    /// One statx(2) for each directory where nothing has changed.
    pub(super) fn outdated_by(&self) -> Option<&Path> {
        self.dirs.iter().find(|it| !it.is_current()).map(|it| &*it.path)
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
            let mut seen = self.dirs.iter().flat_map(|it| &it.entries);
            let seen = seen.find(|it| it.path == *path);
            let Some(identity) = seen.and_then(|it| it.found.as_ref()).map(|it| it.identity) else {
                continue;
            };
            let path = CString::new(path.as_os_str().as_bytes()).expect("it exists");
            let (major, minor) = identity.device;
            let device = rustix::fs::makedev(major, minor);
            SelfMount { read_only, device, inode: identity.inode, path: &path }.write(&mut res);
        }
        res
    }
}

impl Directory {
    /// A directory that is not there has no identity, and is current as long as it is not there.
    fn new(path: PathBuf, entries: Vec<Seen>) -> Self {
        let identity = State::of(&path).map(|it| it.identity);
        Self { path, identity, entries, settled: Mutex::default() }
    }

    /// Remembers the state only where it is older than [`TICK`], since a later change could have
    /// the same time otherwise.
    fn is_current(&self) -> bool {
        // Before the entries: what changes meanwhile makes it look changed next time.
        let Some(now) = State::of(&self.path) else {
            return self.identity.is_none();
        };
        if Some(now.identity) != self.identity {
            return false;
        }
        let mut settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        if *settled == Some(now) {
            return true;
        }
        let is_current = self.entries.iter().all(Seen::is_current);
        *settled = (is_current && now.is_settled()).then_some(now);
        is_current
    }
}

impl State {
    fn of(dir: &Path) -> Option<Self> {
        let asked = StatxFlags::INO | StatxFlags::CTIME;
        let stat = statx(CWD, dir, AtFlags::empty(), asked).ok()?;
        let changed = (stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec);
        Some(Self { identity: Identity::of(&stat), changed })
    }

    /// Whether any change from now on has another time.
    fn is_settled(&self) -> bool {
        let (seconds, nanoseconds) = self.changed;
        let since_epoch = u64::try_from(seconds).map(|it| Duration::new(it, nanoseconds));
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        matches!((since_epoch, now), (Ok(then), Ok(now)) if then + TICK <= now)
    }
}

impl Identity {
    fn of(stat: &Statx) -> Self {
        Self { device: (stat.stx_dev_major, stat.stx_dev_minor), inode: stat.stx_ino }
    }
}

impl Seen {
    /// # Errors
    ///
    /// Descriptors or memory are short. What cannot be looked at counts as not there.
    fn look(path: PathBuf) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = match openat(CWD, &path, flags, Mode::empty()) {
            Ok(file) => {
                let stat = fstat(&file)?;
                let device = (rustix::fs::major(stat.st_dev), rustix::fs::minor(stat.st_dev));
                Some(Found { identity: Identity { device, inode: stat.st_ino }, _file: file })
            }
            Err(err @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => return Err(err.into()),
            Err(_) => None,
        };
        Ok(Self { path, found })
    }

    fn is_current(&self) -> bool {
        let stat = statx(CWD, &self.path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::INO);
        let now = stat.ok().map(|it| Identity::of(&it));
        now == self.found.as_ref().map(|it| it.identity)
    }
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

/// Whether this is a device, such as `/dev/null`: not a directory, and not replaced while the machine runs.
fn is_device(path: &Path) -> bool {
    let kind = |it: rustix::fs::Stat| FileType::from_raw_mode(it.st_mode);
    rustix::fs::stat(path).map(kind).is_ok_and(|it| it == FileType::CharacterDevice)
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
