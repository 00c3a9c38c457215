//! The cgroup of one supervisor, in each hierarchy that is of use.
//!
//! Bounds are written before each program that has other ones than the last, and a bound that is in
//! force is not written again. Counts of the kernel only grow, so [`Leaf::events`] gives
//! differences.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::fd::{AsFd, BorrowedFd},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    CPU_STAT, Homes, end,
    home::{Home, number, number_in, write},
};

/// A cgroup for one supervisor and its programs. Removed when dropped: after its supervisor has ended and
/// was waited for, else it stays until the next one is made.
///
/// In version 2 the supervisor is cloned into it, and what it starts is there with it, at no cost. A
/// cgroup with a bound on memory is for the programs alone: it would be the supervisor's bound too, and the
/// kernel kills every process in the cgroup. To clone a process into another cgroup than that of its
/// parent is a twentieth of a call (`CLONE_INTO_CGROUP`, clone3(2)).
#[derive(Debug)]
pub(crate) struct Leaf {
    homes: Arc<Homes>,
    number: u32,
    helpers: u64,
    /// Whether programs are alone in the cgroup of version 2.
    own_cgroup: bool,
    version_2: Option<Version2>,
    /// The bounds that are in force.
    processes: Option<u64>,
    memory_bytes: Option<u64>,
    /// What the kernel had counted when it was last asked.
    seen: Events,
}

/// Descriptors that are opened once, as each call may need them.
#[derive(Debug)]
struct Version2 {
    dir: File,
    kill: File,
    /// Where the kernel counts CPU time in cgroups.
    cpu_stat: Option<File>,
}

/// What happened in a cgroup since it was last asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Events {
    /// Processes that were killed because memory ran out.
    pub(crate) oom_kills: u64,
    /// Processes that could not be made because there were too many.
    pub(crate) refused_forks: u64,
}

impl Leaf {
    /// # Errors
    ///
    /// Those of mkdir(2) and open(2). What was made until then is removed.
    pub(super) fn make(
        homes: Arc<Homes>,
        number: u32,
        helpers: u64,
        own_cgroup: bool,
    ) -> io::Result<Self> {
        // From here on, dropping it removes what was made.
        let mut res = Self {
            homes,
            number,
            helpers,
            own_cgroup,
            version_2: None,
            processes: None,
            memory_bytes: None,
            seen: Events::default(),
        };
        for home in res.homes.all() {
            home.make_cgroup(number)?;
        }
        if let Some(cgroup) = res.cgroup_in_2() {
            let open_to_write = |name| OpenOptions::new().write(true).open(cgroup.join(name));
            let cpu_stat = match res.homes.cpu_in_2 {
                true => Some(File::open(cgroup.join(CPU_STAT))?),
                false => None,
            };
            let (dir, kill) = (File::open(&cgroup)?, open_to_write("cgroup.kill")?);
            res.version_2 = Some(Version2 { dir, kill, cpu_stat });
            if res.homes.memory_in_2 && own_cgroup {
                // A part of a program is of no use, and swap is no way around the bound.
                write(&cgroup.join("memory.oom.group"), "1")?;
                ignore_missing(write(&cgroup.join("memory.swap.max"), "0"))?;
            }
        }
        Ok(res)
    }

    /// The directory of the cgroup that programs alone are to be started in, where they are.
    ///
    /// `None` where the supervisor is in the cgroup as well, so that programs are started there anyway,
    /// and where version 2 is not used.
    pub(crate) fn dir_of_programs(&self) -> Option<BorrowedFd<'_>> {
        self.version_2.as_ref().filter(|_| self.own_cgroup).map(|it| it.dir.as_fd())
    }

    /// The directory of the cgroup that the supervisor is to be cloned into, and its list of members.
    ///
    /// # Errors
    ///
    /// Those of opening `cgroup.procs`.
    pub(crate) fn dir_of_supervisor(&self) -> io::Result<Option<(BorrowedFd<'_>, File)>> {
        let cgroup = self.cgroup_in_2().zip(self.version_2.as_ref()).filter(|_| !self.own_cgroup);
        let Some((path, version_2)) = cgroup else { return Ok(None) };
        let members = OpenOptions::new().write(true).open(path.join("cgroup.procs"))?;
        Ok(Some((version_2.dir.as_fd(), members)))
    }

    /// The file that kills everything in the cgroup when "1" is written to it (`cgroup.kill`).
    ///
    /// After that this leaf is to be dropped: Linux kills whatever is started in such a cgroup later.
    pub(crate) fn kill_file(&self) -> Option<BorrowedFd<'_>> {
        self.version_2.as_ref().map(|it| it.kill.as_fd())
    }

    /// The file that tells the CPU time of all that is and was in the cgroup (`cpu.stat`), where the kernel counts it.
    pub(crate) fn cpu_stat(&self) -> Option<BorrowedFd<'_>> {
        self.version_2.as_ref()?.cpu_stat.as_ref().map(AsFd::as_fd)
    }

    /// Whether killing the cgroup leaves the supervisor alone.
    pub(crate) fn spares_supervisor(&self) -> bool {
        self.own_cgroup
    }

    /// Kills everything that was started in the cgroup, and says whether nothing of it is left: a write to
    /// `cgroup.kill` is no proof. This leaf is to be dropped then, see above.
    pub(crate) fn kill(&self) -> bool {
        let Some((path, version_2)) = self.cgroup_in_2().zip(self.version_2.as_ref()) else {
            return true;
        };
        // Also where this process may not open another file.
        let _ = rustix::io::write(&version_2.kill, b"1");
        end::kill(&path)
    }

    /// The list that a supervisor puts itself on before its first instruction
    /// ([`host::supervisor`](crate::bare::host::supervisor)). Only version 1 needs that.
    ///
    /// A process that moves itself is cheap. To move another one the kernel first waits until none is
    /// being made or ended anywhere, some 15 ms.
    ///
    /// # Errors
    ///
    /// Those of opening `tasks`.
    pub(crate) fn members(&self) -> io::Result<Option<File>> {
        let list = self.homes.pids.as_ref().map(|it| members(it, self.number));
        list.map(|it| OpenOptions::new().write(true).open(it)).transpose()
    }

    /// Bounds the number of processes and threads of programs; nothing is written where that bound is in
    /// force already. Without a controller for it nothing happens.
    ///
    /// # Errors
    ///
    /// Those of writing to `pids.max`.
    pub(crate) fn set_processes(&mut self, limit: Option<u64>) -> io::Result<()> {
        if limit == self.processes {
            return Ok(());
        }
        let text = |helpers| {
            let all = limit.map(|it| it.saturating_add(helpers).min(MOST_PROCESSES));
            all.map_or("max".to_owned(), |it| it.to_string())
        };
        if let Some(home) = &self.homes.pids {
            write(&home.cgroup(self.number).join("pids.max"), &text(self.helpers))?;
        } else if let Some(cgroup) = self.cgroup_in_2().filter(|_| self.homes.pids_in_2) {
            let helpers = if self.own_cgroup { 0 } else { self.helpers };
            write(&cgroup.join("pids.max"), &text(helpers))?;
        }
        self.processes = limit;
        Ok(())
    }

    /// Bounds memory, with swap, in bytes; otherwise as [`Leaf::set_processes`]. The kernel rounds down to
    /// whole pages. When there is too much, it kills every process in a cgroup of version 2, and in one of
    /// version 1 the largest process; what that one's parent makes of it is left to it.
    ///
    /// # Errors
    ///
    /// Those of writing to `memory.max`: `EBUSY` where more is in use.
    pub(crate) fn set_memory(&mut self, limit: Option<u64>) -> io::Result<()> {
        if limit == self.memory_bytes {
            return Ok(());
        }
        if let Some(cgroup) = self.cgroup_in_2().filter(|_| self.homes.memory_in_2) {
            let text = limit.map_or("max".to_owned(), |it| it.to_string());
            write(&cgroup.join("memory.max"), &text)?;
        }
        self.memory_bytes = limit;
        Ok(())
    }

    /// What happened since this was last asked. Of bounds that are not set nothing is read.
    pub(crate) fn events(&mut self) -> Events {
        let mut now = self.seen;
        if self.memory_bytes.is_some() {
            let file = self.cgroup_in_2().map(|it| it.join("memory.events"));
            now.oom_kills = read_or(now.oom_kills, file, "oom_kill");
        }
        if self.processes.is_some() {
            let cgroup = match &self.homes.pids {
                Some(home) => Some(home.cgroup(self.number)),
                None => self.cgroup_in_2(),
            };
            let file = cgroup.map(|it| it.join("pids.events"));
            now.refused_forks = read_or(now.refused_forks, file, "max");
        }
        let before = std::mem::replace(&mut self.seen, now);
        Events {
            oom_kills: now.oom_kills.saturating_sub(before.oom_kills),
            refused_forks: now.refused_forks.saturating_sub(before.refused_forks),
        }
    }

    /// Whether files in memory (tmpfs(5)), left by programs that are gone, count against the bound on
    /// memory. They cannot be reclaimed, so the next program would have less than it was promised: the
    /// cgroup is to be dropped, and its charges go to the one above. Without a bound nothing is read.
    pub(crate) fn is_worn(&self) -> bool {
        let file = self
            .cgroup_in_2()
            .filter(|_| self.memory_bytes.is_some())
            .map(|it| it.join("memory.stat"));
        let limit = self.memory_bytes.unwrap_or(u64::MAX);
        read_or(0, file, "shmem") > limit / MOST_WORN
    }

    /// The file from which [`bytes_held`] reads, where the kernel counts memory in cgroups.
    pub(crate) fn memory_counts(&self) -> Option<PathBuf> {
        self.cgroup_in_2().filter(|_| self.homes.memory_in_2).map(|it| it.join("memory.stat"))
    }

    /// The files that a process writes to when it moves itself into the cgroup.
    #[cfg(test)]
    pub(super) fn lists_of_members(&self) -> Vec<PathBuf> {
        let version_1 = self.homes.pids.iter().map(|it| members(it, self.number));
        version_1.chain(self.cgroup_in_2().map(|it| it.join("cgroup.procs"))).collect()
    }

    /// Its directory in version 2.
    #[cfg(test)]
    pub(crate) fn path(&self) -> Option<PathBuf> {
        self.cgroup_in_2()
    }

    /// The directory in version 2; `None` where that hierarchy is not used.
    fn cgroup_in_2(&self) -> Option<PathBuf> {
        self.homes.version_2.as_ref().map(|it| it.cgroup(self.number))
    }
}

impl Drop for Leaf {
    fn drop(&mut self) {
        self.homes.remove_cgroup(self.number);
    }
}

/// What `pids.max` takes: `PID_MAX_LIMIT` of the kernel.
const MOST_PROCESSES: u64 = 1 << 22;

/// A sixteenth of the memory that a program was promised may be taken already.
const MOST_WORN: u64 = 16;

/// Bytes of memory that a cgroup holds and that cannot be had back while its processes live: `memory.stat` without the cache of
/// files on disks. `None` where the file cannot be read.
pub(crate) fn bytes_held(counts: &PathBuf) -> Option<u64> {
    let text = fs::read_to_string(counts).ok()?;
    Some(["anon", "shmem", "kernel"].into_iter().map(|it| number(&text, it)).sum())
}

/// The list of members of a cgroup of version 1, thread by thread: a thread that adds itself to it is
/// moved without a wait.
pub(super) fn members(home: &Home, number: u32) -> PathBuf {
    home.cgroup(number).join("tasks")
}

/// The number in a file; `otherwise` where there is no file or it cannot be read.
fn read_or(otherwise: u64, file: Option<impl AsRef<Path>>, key: &str) -> u64 {
    file.and_then(|it| number_in(it.as_ref(), key).ok()).unwrap_or(otherwise)
}

/// A kernel without swap accounting has no such file.
fn ignore_missing(res: io::Result<()>) -> io::Result<()> {
    match res {
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(()),
        res => res,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_of_files_is_not_held() {
        let dir = tempfile::tempdir().expect("there is room");
        let counts = dir.path().join("memory.stat");
        assert_eq!(bytes_held(&counts), None);
        let text = "anon 4096\nfile 1000000\nkernel 512\nkernel_stack 64\nshmem 8192\n";
        fs::write(&counts, text).expect("it is ours");
        assert_eq!(bytes_held(&counts), Some(4096 + 512 + 8192));
    }
}
