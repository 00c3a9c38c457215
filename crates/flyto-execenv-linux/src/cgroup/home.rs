//! The directory of one host in one hierarchy: cgroups of programs are made below it.
//!
//! A directory is named `flyto-PID-N`. Its name alone proves nothing, since process numbers are
//! used again: the lock on it does. The first host that comes to a place removes the directories
//! there whose lock is free.

use std::{
    ffi::OsStr,
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::fs::{FlockOperation, flock};

use super::end;

/// What the names of our directories begin with.
const PREFIX: &str = "flyto-";

/// Names that are tried before a place counts as full of directories that cannot be removed.
///
/// A name can be taken by the directory of a process that had the same number.
const MAX_NAMES: u32 = 1_000;

/// The next number in a name. None is used twice, so that a name means one directory.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// Why control groups are of no use for something.
#[derive(Debug, Clone)]
pub(crate) struct Refused {
    /// What was tried, in words: `make a cgroup in`.
    pub(crate) tried: &'static str,
    /// On which file or directory.
    pub(crate) path: PathBuf,
    /// What the system said.
    pub(crate) error: Arc<io::Error>,
}

impl Refused {
    /// `tried` follows "failed to" and is followed by the path.
    pub(super) fn new(tried: &'static str, path: impl Into<PathBuf>, error: io::Error) -> Self {
        Self { tried, path: path.into(), error: Arc::new(error) }
    }
}

impl fmt::Display for Refused {
    /// `failed to make a cgroup in /sys/fs/cgroup/x`; the cause is the source.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to {} {}", self.tried, self.path.display())
    }
}

impl std::error::Error for Refused {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.error)
    }
}

/// A directory that is ours as long as its lock is held, and removed with all below it when dropped.
///
/// The lock (flock(2)) is what tells others that its host lives: the kernel takes it back however that
/// host ends, and neither process ids that are used again nor PID namespaces play a part.
#[derive(Debug)]
pub(super) struct Home {
    path: PathBuf,
    /// The process that made it. A fork of that has a copy of this, and leaves the directory alone.
    owner: u32,
    _lock: File,
}

impl Home {
    /// Makes a directory in `place`, after those that dead hosts have left there are removed.
    ///
    /// Blocks for some seconds where what a dead host left has to be ended first.
    ///
    /// # Errors
    ///
    /// What failed, on which path: those of mkdir(2), or [`io::ErrorKind::StorageFull`] after
    /// [`MAX_NAMES`] names.
    pub(super) fn make(place: &Path) -> Result<Self, Refused> {
        remove_abandoned(place);
        for _ in 0..MAX_NAMES {
            let n = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = place.join(format!("{PREFIX}{}-{n}", process::id()));
            match fs::create_dir(&path) {
                Ok(()) => {}
                Err(err) if err.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(err) => return Err(Refused::new("make a cgroup in", place, err)),
            }
            match lock(&path) {
                Some(lock) => return Ok(Self { path, owner: process::id(), _lock: lock }),
                // Another process that looked for abandoned ones was faster, and has removed it.
                None => continue,
            }
        }
        let full = io::Error::from(io::ErrorKind::StorageFull);
        Err(Refused::new("find a free name in", place, full))
    }

    /// Lets the next host find it, as a host does that is killed.
    #[cfg(test)]
    pub(super) fn unlock(&self) {
        flock(&self._lock, FlockOperation::Unlock).expect("it is locked");
    }

    /// Leaves it behind, as a host does that is killed.
    #[cfg(test)]
    pub(super) fn abandon(self) -> PathBuf {
        self.unlock();
        let path = self.path.clone();
        std::mem::forget(self);
        path
    }

    /// Removes it with all its cgroups, once no process is in them; gives up after 25 ms.
    ///
    /// In a fork of the process that made it, nothing happens.
    pub(super) fn clear(&self) {
        if !self.is_ours() {
            return;
        }
        let mut pause = Duration::from_micros(200);
        let is_busy = |it: io::Error| it.kind() == io::ErrorKind::ResourceBusy;
        while remove(&self.path).is_err_and(is_busy) && pause < LAST_PAUSE {
            thread::sleep(pause);
            pause *= 2;
        }
    }

    /// The directory itself, in which cgroups are made.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// `false` in a fork.
    fn is_ours(&self) -> bool {
        self.owner == process::id()
    }

    /// The directory of one cgroup. In a fork of the process that made this, the numbers go on where
    /// they were, so that its cgroups have names of their own.
    pub(super) fn cgroup(&self, number: u32) -> PathBuf {
        match self.is_ours() {
            true => self.path.join(number.to_string()),
            false => self.path.join(format!("{number}-{}", process::id())),
        }
    }

    /// Makes the directory of one cgroup, if it is not there.
    ///
    /// # Errors
    ///
    /// Those of mkdir(2), but for a directory that is there already.
    pub(super) fn make_cgroup(&self, number: u32) -> io::Result<PathBuf> {
        let path = self.cgroup(number);
        match fs::create_dir(&path) {
            Err(err) if err.kind() != io::ErrorKind::AlreadyExists => Err(err),
            _ => Ok(path),
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if self.is_ours() {
            // What is in use still is found by the next host.
            let _ = remove(&self.path);
        }
    }
}

/// Supervisors that were just let go are in their cgroups for some 100 µs more. They are waited for at
/// intervals that double up to this one, 25 ms in all.
const LAST_PAUSE: Duration = Duration::from_millis(20);

/// Locks a directory; `None` where another process has, or has removed it meanwhile.
///
/// The directory is looked at again after the lock: what was locked may be another one than what
/// has the name now.
fn lock(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    let (ours, there) = (file.metadata().ok()?, fs::metadata(path).ok()?);
    (ours.ino() == there.ino() && ours.dev() == there.dev()).then_some(file)
}

/// Removes directories whose host is gone. What is in one is ended first, by its supervisor where that is left.
///
/// That takes microseconds where nothing holds a process. Else each such directory can take 2 s in which its
/// supervisors may finish, 1 s for each supervisor that is held, and 1 s for the end of the cgroup
/// ([`end::finish_abandoned`]).
fn remove_abandoned(place: &Path) {
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    let is_ours = |name: &OsStr| {
        let numbers = name.to_str().and_then(|it| it.strip_prefix(PREFIX)?.split_once('-'));
        numbers.is_some_and(|(pid, n)| is_number(pid) && is_number(n))
    };
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        if is_ours(&entry.file_name())
            && let Some(_lock) = lock(&entry.path())
            && remove(&entry.path()).is_err()
        {
            end::finish_abandoned(&entry.path());
            let _ = remove(&entry.path());
        }
    }
}

/// Removes a cgroup and the cgroups below it, of which some may be a nested host's. Another process may be
/// removing them at the same time.
///
/// A cgroup can be removed only when it has no processes; files in it do not count (cgroups(7)).
///
/// # Errors
///
/// `EBUSY` where a process is in one of them. Cgroups that were removed before that stay removed.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let unless_gone = |res: io::Result<()>| match res {
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(()),
        res => res,
    };
    if unless_gone(fs::remove_dir(path)).is_ok() {
        return Ok(());
    }
    for cgroup in cgroups_below(path) {
        remove(&cgroup)?;
    }
    unless_gone(fs::remove_dir(path))
}

/// The cgroups directly below a cgroup.
///
/// Empty where the cgroup is gone or cannot be listed.
pub(super) fn cgroups_below(path: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.filter(|it| it.file_type().is_ok_and(|it| it.is_dir())).map(|it| it.path())
}

/// Writes a value to a file of a cgroup, in one piece. Files of cgroups are not made by us.
pub(super) fn write(path: &Path, value: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(value.as_bytes())
}

/// The number after `key` in a file of lines such as `oom_kill 3`; 0 where there is none.
///
/// # Errors
///
/// Those of reading the file.
pub(super) fn number_in(path: &Path, key: &str) -> io::Result<u64> {
    Ok(number(&fs::read_to_string(path)?, key))
}

/// As [`number_in`], of a text.
pub(super) fn number(text: &str, key: &str) -> u64 {
    let value = text.lines().find_map(|it| it.strip_prefix(key)?.strip_prefix(' '));
    value.and_then(|it| it.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(place: &Path) -> Vec<String> {
        let entries = fs::read_dir(place).expect("it is there").flatten();
        entries.map(|it| it.file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_home_goes_with_its_cgroups() {
        let place = tempfile::tempdir().expect("there is room");
        let home = Home::make(place.path()).expect("the place is ours");
        fs::create_dir(home.make_cgroup(3).expect("the home is ours").join("nested")).expect("so");
        assert_eq!(names(place.path()).len(), 1);
        drop(home);
        assert_eq!(names(place.path()), [""; 0]);
    }

    #[test]
    fn only_what_no_process_holds_is_removed() {
        let place = tempfile::tempdir().expect("there is room");
        let alive = Home::make(place.path()).expect("the place is ours");
        let cgroup = alive.make_cgroup(0).expect("the home is ours");
        fs::create_dir_all(place.path().join("flyto-1-0/7")).expect("the place is ours");
        let others = ["other-1-0", "flyto-x-1", "flyto-1"].map(|it| place.path().join(it));
        others.iter().for_each(|it| fs::create_dir(it).expect("the place is ours"));
        let second = Home::make(place.path()).expect("the place is ours");
        assert!(cgroup.is_dir());
        assert!(!place.path().join("flyto-1-0").exists());
        assert!(others.iter().all(|it| it.is_dir()));
        assert_ne!(alive.path(), second.path());
    }

    #[test]
    fn numbers_stand_after_their_own_key() {
        let text = "oom 1\noom_kill 12\noom_group_kill 3\n";
        assert_eq!(
            [number(text, "oom_kill"), number(text, "oom"), number(text, "max")],
            [12, 1, 0]
        );
    }
}
