//! A bound on what there can be below a host, and the means to end all of it.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs, io,
    os::unix::fs::chown,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::processes::{alive, shown};

/// How long members are killed before that is given up: `SIGKILL` takes microseconds, unless a process
/// sleeps uninterruptibly in the kernel.
const END_TIME: Duration = Duration::from_secs(20);

/// Memory of a host and all below it: 1 GiB, several times of what the largest has.
const MEMORY_BYTES: u64 = 1 << 30;

/// Cgroups (cgroups(7)), which bind root as well: one in each hierarchy that bounds something, or in which
/// a backend makes cgroups of its own.
pub(crate) struct Limit {
    dirs: Vec<PathBuf>,
}

/// Where such cgroups can be made: in the hierarchies of the controllers and beside them, or in the one of
/// all.
const HIERARCHIES: [&str; 4] =
    ["/sys/fs/cgroup/pids", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"];

const PREFIX: &str = "flyto-escapes-";

impl Limit {
    pub(crate) fn new(processes: u32) -> io::Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let n = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{n}", std::process::id());
        let mut res = Self { dirs: Vec::new() };
        let mut bounded = Err(io::ErrorKind::NotFound.into());
        for place in hierarchies() {
            let dir = place.join(&name);
            fs::create_dir(&dir)?;
            res.dirs.push(dir.clone());
            for file in ["memory.limit_in_bytes", "memory.max"] {
                // Where there is none, the bound on processes has to do.
                let _ = fs::write(dir.join(file), MEMORY_BYTES.to_string());
            }
            if bounded.is_err() {
                bounded = fs::write(dir.join("pids.max"), processes.to_string());
            }
        }
        bounded.map(|()| res)
    }

    /// Lets this user make cgroups below, as a system's manager does that hands over a cgroup (cgroups(7),
    /// "Delegation").
    pub(crate) fn delegate(&self, user: u32) -> io::Result<()> {
        for dir in self.dirs.iter().filter(|it| it.join("cgroup.kill").exists()) {
            for file in ["", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"] {
                chown(dir.join(file), Some(user), Some(user))?;
            }
        }
        Ok(())
    }

    /// Moves a process into it, with all that it will make.
    pub(crate) fn add(&self, pid: i32) -> io::Result<()> {
        self.dirs.iter().try_for_each(|it| fs::write(it.join("cgroup.procs"), pid.to_string()))
    }

    /// All that are in it, and all with `marker` in their arguments, also those that have left it.
    fn members(&self, marker: &str) -> BTreeSet<i32> {
        let mut res: BTreeSet<_> =
            alive(marker).iter().map(|it| it.as_raw_nonzero().get()).collect();
        self.dirs.iter().for_each(|it| members_below(it, &mut res));
        res
    }

    /// The same, a line for each.
    pub(crate) fn shown(&self, marker: &str) -> String {
        let mut res = String::new();
        for pid in self.members(marker).into_iter().filter_map(Pid::from_raw) {
            let _ = writeln!(res, "  {}", shown(pid));
        }
        res
    }

    /// Ends all of them, and removes the cgroups with those that were made below; says what stays.
    pub(crate) fn end(&mut self, marker: &str) -> Result<(), String> {
        let give_up = Instant::now() + END_TIME;
        // No process makes another one any more.
        self.dirs.iter().for_each(|it| _ = fs::write(it.join("pids.max"), "0"));
        loop {
            let members = self.members(marker);
            for pid in members.iter().filter_map(|it| Pid::from_raw(*it)) {
                let _ = kill_process(pid, Signal::KILL);
            }
            // A process that has ended may still be on its way out of its cgroup.
            self.dirs.retain(|it| remove(it).is_err());
            if members.is_empty() && self.dirs.is_empty() {
                return Ok(());
            }
            if Instant::now() > give_up {
                let res = format!("cannot be ended:\n{}{:?}\n", self.shown(marker), self.dirs);
                self.dirs.clear();
                return Err(res);
            }
            thread::yield_now();
        }
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        if !self.dirs.is_empty() {
            // On the way out of a failure, which is what is told of.
            let _ = self.end("no process has this in its arguments");
        }
    }
}

/// Ends what drivers have left that were killed.
pub(crate) fn end_abandoned() {
    for place in hierarchies() {
        for dir in dirs_in(&place) {
            let name = dir.file_name().and_then(|it| it.to_str()).unwrap_or_default();
            let driver =
                name.strip_prefix(PREFIX).and_then(|it| it.split('-').next()?.parse().ok());
            if driver.and_then(Pid::from_raw).is_some_and(|it| test_kill_process(it).is_err()) {
                drop(Limit { dirs: vec![dir] });
            }
        }
    }
}

/// Those that are here. A directory without members is where others are mounted.
fn hierarchies() -> impl Iterator<Item = PathBuf> {
    HIERARCHIES.into_iter().map(PathBuf::from).filter(|it| it.join("cgroup.procs").exists())
}

fn dirs_in(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter(|it| it.file_type().is_ok_and(|it| it.is_dir())).map(|it| it.path())
}

fn members_below(dir: &Path, res: &mut BTreeSet<i32>) {
    let members = fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
    res.extend(members.lines().filter_map(|it| it.parse::<i32>().ok()).filter(|it| *it > 0));
    dirs_in(dir).for_each(|it| members_below(&it, res));
}

/// Removes a cgroup, after those below it.
fn remove(dir: &Path) -> io::Result<()> {
    dirs_in(dir).for_each(|it| _ = remove(&it));
    match fs::remove_dir(dir) {
        Err(err) if err.kind() != io::ErrorKind::NotFound => Err(err),
        _ => Ok(()),
    }
}
