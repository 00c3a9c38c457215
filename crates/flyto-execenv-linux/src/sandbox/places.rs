//! Paths that decide what a supervisor is kept to, as they were found, and whether they still are.
//!
//! A rule of Landlock is about a file, and a mount is too: once another file has its path, the rule is of no more use to it.
//! To look at every path before every call would take a tenth of the call. So the paths are looked at by their
//! directories: as long as nothing was added to one, removed or renamed, one look at that is enough. What is mounted over a
//! path leaves no trace in its directory; the kernel tells of that by the list of mounts (`/proc/PID/mountinfo`, proc(5)).

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{AtFlags, CWD, Mode, OFlags, Statx, StatxFlags, openat, statx},
    io::Errno,
};

/// The mounts that this process sees.
const MOUNTS: &str = "/proc/self/mountinfo";

/// Paths by their directories. `Default` has none, and is always current.
#[derive(Debug, Default)]
pub(super) struct Places {
    dirs: Vec<Directory>,
    /// `None` where the kernel does not tell of new mounts: then every path is looked at every time.
    mounts: Option<OwnedFd>,
}

/// A directory, and what was looked at in it.
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
    is_mounted: bool,
    found: Option<Found>,
}

/// A file that is to be mounted is kept open: otherwise its number could be that of another file later. Of one that a ruleset
/// grants, the ruleset sees to that.
#[derive(Debug)]
struct Found {
    _file: Option<OwnedFd>,
    identity: Identity,
}

/// Which file, directory or link: its device, its inode, and when that was made, where the file system knows. The number of a
/// removed inode is given again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) device: (u32, u32),
    pub(super) inode: u64,
    made: Option<(i64, u32)>,
}

impl Identity {
    pub(super) const ASKED: StatxFlags = StatxFlags::INO.union(StatxFlags::BTIME);

    /// Of what was asked for [`ASKED`](Self::ASKED).
    pub(super) fn of(stat: &Statx) -> Self {
        let knows = StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::BTIME);
        Self {
            device: (stat.stx_dev_major, stat.stx_dev_minor),
            inode: stat.stx_ino,
            made: knows.then_some((stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec)),
        }
    }

    /// What is at a path, a link itself; `None` where nothing is, or this user may not look.
    pub(super) fn at(path: &Path) -> Option<Self> {
        let stat = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, Self::ASKED).ok()?;
        Some(Self::of(&stat))
    }

    /// The same as bytes.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let device = u64::from(self.device.0) << 32 | u64::from(self.device.1);
        let (seconds, nanoseconds) = self.made.unwrap_or_default();
        let numbers = [device, self.inode, seconds.cast_unsigned(), nanoseconds.into()];
        numbers.into_iter().flat_map(u64::to_le_bytes).collect()
    }
}

impl Places {
    /// Looks at paths that are to be mounted, at others that are what they name, and at directories, to which a link may lead as
    /// well.
    ///
    /// # Errors
    ///
    /// Descriptors or memory are short.
    pub(super) fn look(
        mounted: BTreeSet<PathBuf>,
        named: &BTreeSet<PathBuf>,
        directories: BTreeSet<PathBuf>,
    ) -> io::Result<Self> {
        if mounted.is_empty() && named.is_empty() && directories.is_empty() {
            return Ok(Self::default());
        }
        // Before the paths: what is mounted meanwhile makes them be looked at once more.
        let mounts = match openat(CWD, MOUNTS, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
            Ok(mounts) => Some(mounts),
            Err(err) if is_short(err) => return Err(err.into()),
            Err(_) => None,
        };
        let mut by_dir: BTreeMap<_, Vec<Seen>> =
            directories.into_iter().map(|it| (it, Vec::new())).collect();
        let mut add = |seen: Seen| {
            let dir = seen.path.parent().unwrap_or(&seen.path).to_owned();
            by_dir.entry(dir).or_default().push(seen);
        };
        for path in named.difference(&mounted) {
            add(Seen::named(path));
        }
        for path in mounted {
            add(Seen::kept_open(path)?);
        }
        let dirs = by_dir.into_iter().map(|(path, entries)| Directory::new(path, entries));
        Ok(Self { dirs: dirs.collect(), mounts })
    }

    /// A path, or a directory of some, at which something else is now.
    ///
    /// One poll(2), and one statx(2) for each directory in which nothing has changed.
    pub(super) fn outdated_by(&self) -> Option<&Path> {
        if !self.dirs.is_empty() && self.has_new_mounts() {
            self.dirs.iter().for_each(|it| *it.settled() = None);
        }
        self.dirs.iter().find_map(Directory::outdated_by)
    }

    /// Whether the paths that are to be mounted are as they were found.
    pub(super) fn mounted_are_current(&self) -> bool {
        let mut all = self.dirs.iter().flat_map(|it| &it.entries);
        all.all(|it| !it.is_mounted || it.is_current())
    }

    /// What was found at one of the paths.
    pub(super) fn found(&self, path: &Path) -> Option<Identity> {
        let mut seen = self.dirs.iter().flat_map(|it| &it.entries);
        seen.find(|it| it.path == *path)?.found.as_ref().map(|it| it.identity)
    }

    /// Whether something was mounted or unmounted since the last look, or may have been.
    fn has_new_mounts(&self) -> bool {
        let Some(mounts) = &self.mounts else { return true };
        let mut polled = [PollFd::new(mounts, PollFlags::PRI)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        !matches!(poll(&mut polled, Some(&at_once)), Ok(0))
    }
}

/// Whether the system is short of something, and does not say what is at a path.
fn is_short(err: Errno) -> bool {
    matches!(err, Errno::MFILE | Errno::NFILE | Errno::NOMEM)
}

impl Directory {
    /// A directory that is not there has no identity, and is current as long as it is not there.
    fn new(path: PathBuf, entries: Vec<Seen>) -> Self {
        let identity = State::of(&path).map(|it| it.identity);
        Self { path, identity, entries, settled: Mutex::default() }
    }

    fn settled(&self) -> MutexGuard<'_, Option<State>> {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers the state only where it is older than [`TICK`], since a later change could have
    /// the same time otherwise.
    fn outdated_by(&self) -> Option<&Path> {
        // Before the entries: what changes meanwhile makes it look changed next time.
        let Some(now) = State::of(&self.path) else {
            return self.identity.map(|_| &*self.path);
        };
        if Some(now.identity) != self.identity {
            return Some(&self.path);
        }
        let mut settled = self.settled();
        if *settled == Some(now) {
            return None;
        }
        let outdated = self.entries.iter().find(|it| !it.is_current());
        *settled = (outdated.is_none() && now.is_settled()).then_some(now);
        outdated.map(|it| &*it.path)
    }
}

impl State {
    fn of(dir: &Path) -> Option<Self> {
        let asked = Identity::ASKED | StatxFlags::CTIME;
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

impl Seen {
    fn named(path: &Path) -> Self {
        let found = Identity::at(path).map(|identity| Found { _file: None, identity });
        Self { path: path.to_owned(), is_mounted: false, found }
    }

    /// # Errors
    ///
    /// Descriptors or memory are short. What cannot be looked at counts as not there.
    fn kept_open(path: PathBuf) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = match openat(CWD, &path, flags, Mode::empty()) {
            Ok(file) => {
                let stat = statx(&file, c"", AtFlags::EMPTY_PATH, Identity::ASKED)?;
                Some(Found { identity: Identity::of(&stat), _file: Some(file) })
            }
            Err(err) if is_short(err) => return Err(err.into()),
            Err(_) => None,
        };
        Ok(Self { path, is_mounted: true, found })
    }

    fn is_current(&self) -> bool {
        Identity::at(&self.path) == self.found.as_ref().map(|it| it.identity)
    }
}
