//! Control groups, where this user may make some: what kills a tree at once, and what bounds it.
//!
//! Below the cgroup that this process is in, so that bounds that it lives under hold on, each host makes
//! one directory, and in it one cgroup (a [`Leaf`]) for each supervisor. What can be used is found out by
//! using it ([`Cgroups::probe`]): a process is cloned into a cgroup, and joins one.
//!
//! | hierarchy | good for | how a program gets in |
//! | --- | --- | --- |
//! | version 2 | killing all at once | its supervisor is cloned into it (`CLONE_INTO_CGROUP`), or puts itself there where clone3(2) is refused |
//! | … where its controllers were handed down | also processes; and memory | likewise; and by itself |
//! | version 1, `pids` | processes | its supervisor is cloned into it |
//!
//! Version 2 hands controllers down only from a cgroup without processes of its own. So they are there
//! where this process stands in a cgroup made for it within a delegated one: `Delegate=yes` with
//! `DelegateSubgroup=` in systemd.exec(5), or a container whose start moved its processes one cgroup
//! down. The controller of version 1 for memory is left alone: it kills the largest process of a cgroup
//! and not the cgroup. A program can leave its cgroup where it may write to the cgroups above; a profile that denies
//! that is part of a bound on hostile programs.

mod end; //   the end of all that is in a cgroup
mod find; //  where this process stands
mod home; //  a host's directory
mod leaf; //  the cgroup of one supervisor

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::fd::AsFd,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use rustix::fs::getxattr;

use self::{
    find::Place,
    home::{Home, remove, write},
};
pub(crate) use self::{
    home::Refused,
    leaf::{Events, Leaf, bytes_held},
};
use crate::bare::trial;

/// What control groups are good for.
///
/// One [`Finding`] answers for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Use {
    /// Killing everything in a cgroup at once.
    Kill,
    /// Bounding the number of processes.
    Processes,
    /// Bounding memory.
    Memory,
    /// Counting CPU time, also that of processes that no parent waits for.
    CpuTime,
}

/// Whether control groups can be used for something here.
#[derive(Debug, Clone)]
pub(crate) struct Finding {
    /// For what.
    pub(crate) purpose: Use,
    /// The directory in which cgroups are made, or why there is none.
    pub(crate) found: Result<PathBuf, Refused>,
}

/// The control groups that this host can use. What a killed host leaves is removed by the next one, after its
/// supervisors have ended what they run.
///
/// Dropping this removes the host's directories. It is dropped after the supervisors whose cgroups came
/// from it: those that are still ending are waited for, 25 ms at most; so nothing is left behind where a
/// program ends right after that.
///
/// Made once for a backend and shared by its pools.
#[derive(Debug)]
pub(crate) struct Cgroups {
    homes: Arc<Homes>,
    findings: Vec<Finding>,
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        self.homes.all().for_each(Home::clear);
    }
}

/// This host's directories.
#[derive(Debug, Default)]
struct Homes {
    version_2: Option<Home>,
    /// Which bounds version 2 keeps.
    pids_in_2: bool,
    memory_in_2: bool,
    /// Whether version 2 counts CPU time.
    cpu_in_2: bool,
    /// The controller for processes of version 1.
    pids: Option<Home>,
    next: AtomicU32,
    /// Cgroups that were still in use when they were to be removed.
    left: Mutex<Vec<u32>>,
}

impl Homes {
    /// Those that there are: version 2 first, then `pids` of version 1.
    fn all(&self) -> impl Iterator<Item = &Home> {
        [&self.version_2, &self.pids].into_iter().flatten()
    }

    /// A cgroup that is still in use is noted, and tried again when the next one is made.
    fn remove_cgroup(&self, number: u32) {
        let is_left = self.all().filter(|it| remove(&it.cgroup(number)).is_err()).count() > 0;
        if is_left {
            self.left.lock().unwrap_or_else(PoisonError::into_inner).push(number);
        }
    }
}

impl Cgroups {
    /// Finds out what can be used, by using it: 1 to 2 ms, and 0.2 ms where nothing can. Then nothing is
    /// made.
    ///
    /// Processes are bounded by version 2 where it can, else by version 1; everything else by
    /// version 2 alone. A process is started in a cgroup of each hierarchy, and ends at once.
    pub(crate) fn probe() -> Self {
        let members = fs::read("/proc/self/cgroup").unwrap_or_default();
        let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
        let mut homes = Homes::default();

        let version_2 = find::version_2(&members, &mounts)
            .ok_or_else(|| not_mounted("cgroup2"))
            .and_then(|place| home_in_2(&place));
        let kill = version_2.as_ref().map(|it| it.path().to_owned()).map_err(Refused::clone);
        let (mut processes, memory) = match &version_2 {
            Ok(home) => (bound_in_2(home, "pids"), bound_in_2(home, "memory")),
            Err(refused) => (Err(refused.clone()), Err(refused.clone())),
        };
        homes.pids_in_2 = processes.is_ok();
        homes.memory_in_2 = memory.is_ok();
        if processes.is_err()
            && let Some(place) = find::version_1(&members, &mounts, "pids")
        {
            let home = home_in_1(&place);
            processes = home.as_ref().map(|it| it.path().to_owned()).map_err(Refused::clone);
            homes.pids = home.ok();
        }
        let cpu = version_2.as_ref().map_err(Refused::clone).and_then(counts_cpu_time);
        homes.cpu_in_2 = cpu.is_ok();
        homes.version_2 = version_2.ok();
        let findings = vec![
            Finding { purpose: Use::Kill, found: kill },
            Finding { purpose: Use::Processes, found: processes },
            Finding { purpose: Use::Memory, found: memory },
            Finding { purpose: Use::CpuTime, found: cpu },
        ];
        Self { homes: Arc::new(homes), findings }
    }

    /// Lets the next host find the directories of this one, as a host does that is killed.
    #[cfg(test)]
    pub(crate) fn abandon(&self) {
        self.homes.all().for_each(Home::unlock);
    }

    /// None at all, whatever the machine has.
    ///
    /// [`leaf`](Self::leaf) makes nothing then, and [`can`](Self::can) says no.
    pub(crate) fn none() -> Self {
        Self { homes: Arc::default(), findings: Vec::new() }
    }

    /// One line for each [`Use`], in order.
    pub(crate) fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Whether cgroups can be used for this.
    pub(crate) fn can(&self, purpose: Use) -> bool {
        self.findings.iter().any(|it| it.purpose == purpose && it.found.is_ok())
    }

    /// Makes a cgroup for a supervisor, without bounds; `None` where there are none.
    ///
    /// `helpers` is how many processes that are none of a program's will be in it: the supervisor, and
    /// the first one of its PID namespace if it makes one. They are allowed in addition to what
    /// [`Leaf::set_processes`] allows, where they are in the same cgroup. `own_cgroup` asks for one in which
    /// programs are alone: those with a bound on memory.
    ///
    /// # Errors
    ///
    /// Those of mkdir(2): `ENOSPC` where the cgroup above bounds the number of cgroups.
    ///
    /// Cgroups that could not be removed before are tried again first.
    pub(crate) fn leaf(&self, helpers: u64, own_cgroup: bool) -> io::Result<Option<Leaf>> {
        let homes = &self.homes;
        if homes.all().next().is_none() {
            return Ok(None);
        }
        let left = std::mem::take(&mut *homes.left.lock().unwrap_or_else(PoisonError::into_inner));
        left.into_iter().for_each(|it| homes.remove_cgroup(it));
        let number = homes.next.fetch_add(1, Ordering::Relaxed);
        Leaf::make(homes.clone(), number, helpers, own_cgroup).map(Some)
    }
}

/// The reason where no mounted hierarchy of this kind shows the cgroup of this process.
fn not_mounted(kind: &str) -> Refused {
    let error = io::Error::new(io::ErrorKind::NotFound, format!("no {kind} shows this process"));
    Refused::new("find a hierarchy in", "/proc/self/mountinfo", error)
}

/// A directory in the hierarchy of version 2, with all the controllers that it can have, after a process
/// was cloned into a cgroup in it. That cgroup stays, as the first one.
///
/// The directory is made beside this process's cgroup where what is above was delegated, since
/// controllers can be handed down there; else below that cgroup.
///
/// # Errors
///
/// What was tried first without success: making a cgroup, opening it, starting a process in it.
fn home_in_2(place: &Place) -> Result<Home, Refused> {
    let above = place.own.parent().filter(|it| place.own != place.mount && is_delegated(it, place));
    let home = match above.map(Home::make) {
        Some(Ok(home)) => home,
        _ => Home::make(&place.own)?,
    };
    let from = home.path().parent().unwrap_or(&place.own);
    // Only where no process is: one controller could be handed down beside processes, and would make
    // the cgroups below unfit for any (cgroups(7), "threaded").
    if Some(from) == above || is_root(from) {
        hand_down(from);
    }
    hand_down(home.path());
    let refused = |tried, path: &Path| {
        let path = path.to_owned();
        move |err| Refused::new(tried, path, err)
    };
    let cgroup = home.make_cgroup(0).map_err(refused("make a cgroup in", home.path()))?;
    let dir = File::open(&cgroup).map_err(refused("open", &cgroup))?;
    trial::clone_into_cgroup(dir.as_fd()).map_err(refused("start a process in", &cgroup))?;
    let kill = cgroup.join("cgroup.kill");
    OpenOptions::new().write(true).open(&kill).map_err(refused("open", &kill))?;
    Ok(home)
}

/// Whether the directory above this process's cgroup was handed to it: systemd marks what it delegates,
/// and the topmost directory that a container sees is the container's.
fn is_delegated(above: &Path, place: &Place) -> bool {
    let marked = ["user.delegate", "trusted.delegate"].iter().any(|name| {
        let mut value = [0_u8; 1];
        getxattr(above, *name, &mut value).is_ok_and(|_| value == *b"1")
    });
    let has_processes = || fs::read(above.join("cgroup.procs")).is_ok_and(|it| !it.is_empty());
    (marked || (above == place.mount && !is_root(above))) && !has_processes()
}

/// Whether this is the root of the machine's hierarchy, the only one without a type.
fn is_root(cgroup: &Path) -> bool {
    !cgroup.join("cgroup.type").exists()
}

/// Gives cgroups below this one the controllers that bound something, as far as there are some. One that
/// cannot be handed down is found missing later.
///
/// Needs a cgroup without processes of its own, but for the root of the hierarchy (the "no internal
/// processes" rule, cgroups(7)).
fn hand_down(cgroup: &Path) {
    let there = fs::read_to_string(cgroup.join("cgroup.controllers")).unwrap_or_default();
    for controller in ["memory", "pids"] {
        if there.split_whitespace().any(|it| it == controller) {
            let _ = write(&cgroup.join("cgroup.subtree_control"), &format!("+{controller}"));
        }
    }
}

/// Whether cgroups in this directory bound what `controller` counts.
fn bound_in_2(home: &Home, controller: &str) -> Result<PathBuf, Refused> {
    let file = home.cgroup(0).join(format!("{controller}.max"));
    match OpenOptions::new().write(true).open(&file) {
        Ok(_) => Ok(home.path().to_owned()),
        Err(err) => Err(Refused::new("open", file, err)),
    }
}

/// The file in which a cgroup of version 2 tells its CPU time. It is there without a controller, since Linux 4.15.
const CPU_STAT: &str = "cpu.stat";

/// Whether cgroups in this directory count CPU time.
fn counts_cpu_time(home: &Home) -> Result<PathBuf, Refused> {
    let file = home.cgroup(0).join(CPU_STAT);
    match fs::read_to_string(&file) {
        Ok(text) if text.starts_with("usage_usec ") => Ok(home.path().to_owned()),
        Ok(_) => Err(Refused::new("find usage_usec in", file, io::ErrorKind::InvalidData.into())),
        Err(err) => Err(Refused::new("read", file, err)),
    }
}

/// A directory in a hierarchy of version 1, after a process joined a cgroup in it.
///
/// # Errors
///
/// What was tried first without success: making a cgroup, or putting a process into it.
fn home_in_1(place: &Place) -> Result<Home, Refused> {
    let home = Home::make(&place.own)?;
    let members = leaf::members(&home, 0);
    let joined = home
        .make_cgroup(0)
        .and_then(|_| OpenOptions::new().write(true).open(&members))
        .and_then(|it| trial::join(it.as_fd()));
    joined.map_err(|err| Refused::new("put a process into", members, err))?;
    Ok(home)
}

#[cfg(test)]
mod tests;
