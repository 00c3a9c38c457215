//! Landlock rulesets (landlock(7)).
//!
//! Landlock opens and never closes: a rule gives rights to a directory and all that lies below it. A
//! path that is denied below a granted one is therefore carved out: the directories on the way to it
//! get no rule, and everything beside the way gets one. From this follows what is said about
//! [`Isolation::denied`]: those directories can neither be listed nor get new entries, and what appears
//! in them later is closed until the next ruleset.
//!
//! In the same way a path is carved out of what may be written where it must not be changed and the system
//! makes no mount namespace ([`read_only`](super::read_only)). There the directories on the way can be read.
//!
//! Not bounded by any ruleset are looking a file up (stat(2)), reading its extended attributes, watching it
//! (inotify(7)), changing its mode, group, times or extended
//! attributes where the user may, and connecting to a Unix socket by its path; the latter is for the
//! filter. The others are not: a filter sees no paths, and ordinary programs make those calls for their own
//! files all the time.

use std::{
    ffi::OsStr,
    fs, io,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use flyto_execenv::{
    ExecError, ExecErrorKind, Filesystem, Isolation, LocalSockets, Network, SharedMemory,
};
use rustix::{
    fs::{
        AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, StatxFlags, openat, openat2, statx,
    },
    io::Errno,
};

use super::{Granted, LANDLOCK_PORTS, LANDLOCK_SCOPES, MAX_TRIES, ReadOnly, denied::Denied};
use crate::bare::landlock::{Handled, allow, ruleset};

// Rights to files, `LANDLOCK_ACCESS_FS_*` of `linux/landlock.h`.
const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const MAKE_CHARACTER_DEVICE: u64 = 1 << 6;
const MAKE_DIRECTORY: u64 = 1 << 7;
const MAKE_BLOCK_DEVICE: u64 = 1 << 11;
const TRUNCATE: u64 = 1 << 14;
const DEVICE_REQUESTS: u64 = 1 << 15;

/// All rights of version 1.
const FIRST: u64 = (1 << 13) - 1;
/// Linking and renaming between directories, of version 2.
const REFER: u64 = 1 << 13;

/// What a program does that reads and runs files.
const READ: u64 = EXECUTE | READ_FILE | READ_DIR;
/// Rights that something has which is no directory.
const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | DEVICE_REQUESTS;

/// Making device files, for which a program needs a capability that no confined one has.
const DEVICES: u64 = MAKE_CHARACTER_DEVICE | MAKE_BLOCK_DEVICE;

/// Binding and connecting TCP sockets, `LANDLOCK_ACCESS_NET_*`.
const TCP: u64 = 3;
/// `LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET`.
const ABSTRACT_SOCKETS: u64 = 1;
/// `LANDLOCK_SCOPE_SIGNAL`.
const SIGNALS: u64 = 2;

/// Where the supervisor finds the descendants that it ends.
const PROC: &str = "/proc";

/// All rights to files that this version knows.
///
/// Rights that a kernel does not know must not be asked of it: it answers `EINVAL`.
fn all_rights(version: u32) -> u64 {
    [(1, FIRST), (2, REFER), (3, TRUNCATE), (5, DEVICE_REQUESTS)]
        .into_iter()
        .filter(|(since, _)| version >= *since)
        .fold(0, |all, (_, rights)| all | rights)
}

/// What a supervisor enters.
#[derive(Debug, Default)]
pub(super) struct Outer {
    pub(super) ruleset: Option<OwnedFd>,
    /// The directories that were carved.
    pub(super) seen: Vec<Seen>,
    /// What the ruleset closes for sure, by which a supervisor tries that it is in force.
    pub(super) closes: Option<Closed>,
}

/// Something that every user may do, and a program in the ruleset may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closed {
    /// Listing the root directory.
    Root,
    /// Writing to files of its own in `/proc`.
    ProcWrites,
}

/// What these grants close, less what is denied.
///
/// `None` where these grants close nothing of what can be tried: then the supervisor cannot tell
/// whether the ruleset holds.
fn closes(filesystem: &Filesystem, denied: &Denied) -> Option<Closed> {
    let root = Path::new("/");
    let Filesystem::Grants { read, write } = filesystem else {
        return denied.is_way(root).then_some(Closed::Root);
    };
    if denied.is_way(root) || !read.iter().chain(write.iter()).any(|it| it == root) {
        return Some(Closed::Root);
    }
    let touches_proc = |it: &PathBuf| it.starts_with(PROC) || Path::new(PROC).starts_with(it);
    (!write.iter().any(touches_proc)).then_some(Closed::ProcWrites)
}

/// The ruleset of a supervisor and all its programs; none where nothing is asked of it. Paths that cannot be
/// changed are carved out of it if they are given.
///
/// # Errors
///
/// [`ExecErrorKind::Unsupported`] for a denied path in `/proc`, [`ExecErrorKind::Other`] where
/// links change all the time, those of [`Granted::check`], and those of the system.
pub(super) fn outer(
    isolation: &Isolation,
    version: u32,
    read_only: Option<&ReadOnly>,
    granted: &Granted,
) -> Result<Outer, ExecError> {
    // Mounts keep a program only where it makes none itself, and does not take the way through another
    // process (`/proc/PID/root`, proc(5)): a ruleset about files refuses both.
    let files = isolation.filesystem != Filesystem::Host
        || !isolation.denied.is_empty()
        || !isolation.read_only.is_empty()
        || isolation.shared_memory != SharedMemory::Host;
    let ports = isolation.network == Network::Off && version >= LANDLOCK_PORTS;
    // A program in a domain cannot trace those outside. Where no domain of its own does this for each
    // program, this one must, whatever it bounds besides.
    let own = isolation.processes == flyto_execenv::Processes::Own && version < LANDLOCK_SCOPES;
    if !files && !ports && !own {
        return Ok(Outer::default());
    }
    let handled = Handled {
        files: match (files, own) {
            (true, _) => all_rights(version),
            (false, true) => MAKE_BLOCK_DEVICE,
            (false, false) => 0,
        },
        ports: if ports { TCP } else { 0 },
        scoped: 0,
    };
    let denied = || Denied::new(&isolation.denied);
    for _ in 0..MAX_TRIES {
        let ruleset = ruleset(&handled).map_err(unmade)?;
        let mut rules = Rules { ruleset, denied: denied(), read_only, seen: Vec::new() };
        if let Some(denied) = rules.denied.iter().find(|it| touches_proc(it)) {
            let what = format!(
                "deny {denied:?}: what ends a program and its descendants finds them in {PROC}"
            );
            return Err(ExecError::new(ExecErrorKind::Unsupported, what));
        }
        if files {
            for (path, rights) in grants(&isolation.filesystem, handled.files) {
                let file = open_without_links(&path).map_err(unmade)?;
                if rights & MAKE_DIRECTORY != 0 && isolation.filesystem != Filesystem::Host {
                    granted.check(&path, file.as_ref())?;
                }
                if let Some(file) = file {
                    rules.open(&file, &path, rights).map_err(unmade)?;
                }
            }
        } else if own {
            rules.grant(Path::new("/"), handled.files).map_err(unmade)?;
        }
        // Another process may have led a link elsewhere since. From here on a carved directory tells of that.
        if denied() == rules.denied {
            let closes = closes(&isolation.filesystem, &rules.denied).filter(|_| files);
            return Ok(Outer { ruleset: Some(rules.ruleset), seen: rules.seen, closes });
        }
    }
    let what = "make a Landlock ruleset: links on the way to denied paths change all the time; deny \
                where they lead";
    Err(ExecError::new(ExecErrorKind::Other, what))
}

/// The ruleset of one program, nested in the other: signals, and abstract Unix sockets where sockets are
/// closed, do not leave it.
///
/// # Errors
///
/// Those of landlock_create_ruleset(2) and landlock_add_rule(2).
pub(super) fn inner(isolation: &Isolation) -> Result<OwnedFd, ExecError> {
    let closed = isolation.local_sockets == LocalSockets::Off || isolation.network != Network::Host;
    let scoped = if closed { SIGNALS | ABSTRACT_SOCKETS } else { SIGNALS };
    // Every ruleset refuses to link and rename between directories unless it says otherwise.
    let handled = Handled { files: REFER, scoped, ..Handled::default() };
    let mut rules = Rules {
        ruleset: ruleset(&handled).map_err(unmade)?,
        denied: Denied::new(&[]),
        read_only: None,
        seen: Vec::new(),
    };
    rules.grant(Path::new("/"), handled.files).map_err(unmade)?;
    Ok(rules.ruleset)
}

/// [`ExecErrorKind::Exhausted`] where descriptors or memory are short.
pub(super) fn unmade(err: io::Error) -> ExecError {
    let kind = match err.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM) => ExecErrorKind::Exhausted,
        _ => ExecErrorKind::Other,
    };
    ExecError::new(kind, "make a Landlock ruleset").with_source(err)
}

/// Paths and the rights to them.
///
/// `/proc` can always be read, since the supervisor enters the same ruleset and looks for
/// descendants there.
fn grants(filesystem: &Filesystem, all: u64) -> Vec<(PathBuf, u64)> {
    let Filesystem::Grants { read, write } = filesystem else {
        return vec![("/".into(), all)];
    };
    let write_rights = all & !DEVICES;
    let proc = (PathBuf::from(PROC), READ);
    let read = read.iter().map(|it| (it.clone(), READ));
    let write = write.iter().map(|it| (it.clone(), write_rights));
    read.chain(write).chain([proc]).collect()
}

/// All that a program may do below what it may write.
pub(super) fn rights_to_write(version: u32) -> u64 {
    all_rights(version) & !DEVICES
}

/// Whether this is `/proc`, in it, or above it.
fn touches_proc(denied: &Path) -> bool {
    denied.starts_with(PROC) || Path::new(PROC).starts_with(denied)
}

/// A directory as it was looked at.
///
/// It is kept open, since looking it up again at each call would take longer than what is asked of it.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) path: PathBuf,
    dir: OwnedFd,
    stamp: Stamp,
}

/// The time of a directory's last change.
type Stamp = (i64, u32);

impl Seen {
    /// Keeps a second descriptor of the directory.
    fn new(dir: &OwnedFd, path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), stamp: stamp(dir)?, dir: dir.try_clone()? })
    }

    /// Whether nothing was added, removed or renamed in it. Before Linux 6.13, a change within the clock
    /// tick of the look is not seen; what it added stays closed until another one.
    pub(super) fn is_current(&self) -> bool {
        stamp(&self.dir).is_ok_and(|it| it == self.stamp)
    }
}

/// The time of its last modification: entries that come, go or are renamed change it, contents of
/// files do not.
fn stamp(dir: &OwnedFd) -> io::Result<Stamp> {
    let time = statx(dir, c"", AtFlags::EMPTY_PATH, StatxFlags::MTIME)?.stx_mtime;
    Ok((time.tv_sec, time.tv_nsec))
}

/// A ruleset in the making.
struct Rules<'a> {
    ruleset: OwnedFd,
    denied: Denied,
    /// What is carved out of what may be written.
    read_only: Option<&'a ReadOnly>,
    seen: Vec<Seen>,
}

impl Rules<'_> {
    /// Grants rights to a path and what lies below, but for what is denied.
    fn grant(&mut self, path: &Path, rights: u64) -> io::Result<()> {
        let Some(file) = open_without_links(path)? else { return Ok(()) };
        self.open(&file, path, rights)
    }

    /// Decides by what is open and not by what has the path later. A denied path gets nothing, a
    /// link gets nothing, a directory on the way to a denied path is carved, everything else gets
    /// one rule.
    fn open(&mut self, file: &OwnedFd, path: &Path, rights: u64) -> io::Result<()> {
        if self.denied.covers(path) {
            return Ok(());
        }
        let rights = match self.read_only {
            Some(it) if it.keeps(path) => rights & READ,
            _ => rights,
        };
        let kind = FileType::from_raw_mode(rustix::fs::fstat(file)?.st_mode);
        let is_directory = kind == FileType::Directory;
        let denied_below = is_directory && self.denied.is_way(path);
        let read_only_below =
            is_directory && rights & !READ != 0 && self.read_only.is_some_and(|it| it.is_way(path));
        if read_only_below && !denied_below {
            // What lies below can be read: only what may be written is carved.
            allow(self.ruleset.as_fd(), rights & READ, file.as_fd())?;
        }
        match kind {
            FileType::Symlink => Ok(()),
            _ if denied_below || read_only_below => self.carve(file, path, rights),
            FileType::Directory => allow(self.ruleset.as_fd(), rights, file.as_fd()),
            _ => match rights & OF_FILES {
                0 => Ok(()),
                rights => allow(self.ruleset.as_fd(), rights, file.as_fd()),
            },
        }
    }

    /// Grants rights to what is in a directory, but for what is denied.
    ///
    /// Opens every entry of the directory; recursive along the ways to denied and read-only paths
    /// only.
    fn carve(&mut self, dir: &OwnedFd, path: &Path, rights: u64) -> io::Result<()> {
        // Before it is listed: what is added meanwhile makes it look changed.
        self.seen.push(Seen::new(dir, path)?);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        // What this user may not list stays closed.
        let Ok(listed) = openat(dir, ".", flags, Mode::empty()) else { return Ok(()) };
        for entry in Dir::new(listed)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            if let Some(file) = open(dir.as_fd(), Path::new(name))? {
                self.open(&file, &path.join(name), rights)?;
            }
        }
        Ok(())
    }
}

/// A descriptor that only names a file, which needs no right to read it (`O_PATH`, open(2)).
const PLACE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What is at this path; `None` where there is nothing to be granted.
///
/// A link grants nothing, and neither does a path with one on its way. Otherwise a process that may make one could
/// choose what is granted. To look for links first and to open the path then would leave time to make one
/// in between, so the kernel looks as it opens.
fn open_without_links(path: &Path) -> io::Result<Option<OwnedFd>> {
    let no_links = ResolveFlags::NO_SYMLINKS;
    match openat2(CWD, path, PLACE, Mode::empty(), no_links) {
        // A filter of system calls that is older than this one (Linux 5.6).
        Err(Errno::NOSYS | Errno::PERM) => {
            let found = there(openat(CWD, path, PLACE, Mode::empty()))?;
            Ok(found.filter(|it| is_at(it, path)))
        }
        res => there(res),
    }
}

/// Whether what is open lies at this path, as the kernel writes paths: without links.
fn is_at(file: &OwnedFd, path: &Path) -> bool {
    let said = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()));
    said.is_ok_and(|it| it.components().eq(path.components()))
}

/// What is at this name in a directory, without following a link; `None` where there is nothing to be granted.
fn open(dir: BorrowedFd<'_>, name: &Path) -> io::Result<Option<OwnedFd>> {
    there(openat(dir, name, PLACE, Mode::empty()))
}

/// What was opened; `None` where that is not there, or this user may not go there.
fn there(opened: Result<OwnedFd, Errno>) -> io::Result<Option<OwnedFd>> {
    match opened {
        Ok(file) => Ok(Some(file)),
        Err(err @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => Err(err.into()),
        Err(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        os::unix::fs::symlink,
        sync::atomic::{AtomicBool, Ordering},
        thread,
    };

    use rustix::fs::{RenameFlags, renameat_with};

    use super::*;

    /// What is granted of a directory whose listing is carved, by what the kernel was given; and the
    /// directories that were looked at.
    fn carved(isolation: &Isolation) -> Outer {
        let version = super::super::Support::probe().landlock;
        outer(isolation, version, None, &Granted::default()).expect("a ruleset can be made")
    }

    fn scene() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().expect("there is room");
        let path = dir.path().canonicalize().expect("it is there");
        for sub in ["home/.config/gh", "home/project", "real"] {
            fs::create_dir_all(path.join(sub)).expect("it is ours");
        }
        symlink(path.join("home"), path.join("link")).expect("it is ours");
        symlink(path.join("real"), path.join("home/.ssh")).expect("it is ours");
        (dir, path)
    }

    #[test]
    fn a_ruleset_is_current_until_a_carved_directory_changes() {
        let (_dir, path) = scene();
        let grants = Filesystem::Grants { read: [path.join("home")].into(), write: [].into() };
        let isolation = Isolation::new().filesystem(grants).deny(path.join("home/.config/gh"));
        let is_current = |it: &Outer| it.seen.iter().all(Seen::is_current);

        let made = carved(&isolation);
        // The home directory, and the one below it on the way.
        assert_eq!(made.seen.len(), 2);
        assert!(is_current(&made));
        // What lies beside the way is granted as a whole, and what is denied not at all.
        fs::write(path.join("home/project/new"), "").expect("it is ours");
        fs::write(path.join("home/.config/gh/new"), "").expect("it is ours");
        assert!(is_current(&made));

        fs::write(path.join("home/.config/new"), "").expect("it is ours");
        assert!(!is_current(&made));
        let made = carved(&isolation);
        fs::remove_dir_all(path.join("home")).expect("it is ours");
        assert!(!is_current(&made));
    }

    #[test]
    fn nothing_is_carved_where_nothing_is_granted() {
        let (_dir, path) = scene();
        let check = |read: &str, denied: &str| {
            let grants = Filesystem::Grants { read: [path.join(read)].into(), write: [].into() };
            let made = carved(&Isolation::new().filesystem(grants).deny(path.join(denied)));
            assert!(made.ruleset.is_some());
            assert_eq!(made.seen.len(), 0, "{read} without {denied}");
        };
        check("home/project", "home/.config/gh");
        check("home/.config/gh", "home/.config/gh");
        check("home/.config/gh", "home");
        check("not/there", "not/there/either");
        // A link grants nothing by itself.
        check("link", "home/.config/gh");
        check("home/.ssh", "real/key");
    }

    /// Exchanges a directory of the path for a link, over and over, while the path is opened.
    #[test]
    fn a_link_that_is_made_meanwhile_leads_nowhere() {
        let (_dir, path) = scene();
        let [granted, swapped, secret] =
            ["home/project/in", "home/other", "real/in"].map(|it| path.join(it));
        fs::create_dir(&granted).expect("it is ours");
        fs::create_dir(&secret).expect("it is ours");
        symlink(path.join("real"), &swapped).expect("it is ours");
        let number = |it: &OwnedFd| rustix::fs::fstat(it).expect("it is open").st_ino;
        let expected = number(&open(CWD, &granted).expect("room").expect("there"));
        let by_comparison = |path: &Path| {
            let found = there(openat(CWD, path, PLACE, Mode::empty()))?;
            Ok(found.filter(|it| is_at(it, path)))
        };
        let opened = AtomicBool::new(false);
        let found: BTreeSet<_> = thread::scope(|scope| {
            scope.spawn(|| {
                while !opened.load(Ordering::Relaxed) {
                    let (project, flags) = (path.join("home/project"), RenameFlags::EXCHANGE);
                    renameat_with(CWD, &project, CWD, &swapped, flags).expect("both are there");
                }
            });
            let found =
                (0..10_000).flat_map(|_| [open_without_links(&granted), by_comparison(&granted)]);
            let found =
                found.map(|it: io::Result<_>| it.ok().map(|it| it.as_ref().map(number))).collect();
            opened.store(true, Ordering::Relaxed);
            found
        });
        assert_eq!(found, BTreeSet::from([Some(None), Some(Some(expected))]));
    }

    #[test]
    fn nothing_to_do_with_landlock_is_no_ruleset() {
        assert!(carved(&Isolation::new()).ruleset.is_none());
        let calls = Isolation::new().system_calls(flyto_execenv::SystemCalls::Restricted);
        assert!(carved(&calls).ruleset.is_none());
        let off = Isolation::new().network(Network::Off);
        assert!(
            outer(&off, 3, None, &Granted::default()).expect("nothing to make").ruleset.is_none()
        );
        assert!(carved(&off).ruleset.is_some());
    }

    #[test]
    fn later_versions_know_more_rights() {
        let rights = [1, 2, 3, 4, 5, 7].map(|it| all_rights(it).count_ones());
        assert_eq!(rights, [13, 14, 15, 15, 16, 16]);
    }
}
