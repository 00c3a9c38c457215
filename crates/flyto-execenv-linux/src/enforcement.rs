//! Which bound of a spec is enforced by which mechanism, and how it is known that one was reached.
//!
//! | bound | kept by |
//! | --- | --- |
//! | CPU time | the supervisor, over the tree, by what a control group counts, else by samples; `RLIMIT_CPU` behind it |
//! | memory | a control group; else the supervisor, over the tree, with `RLIMIT_DATA` behind it |
//! | processes | a control group; else `RLIMIT_NPROC`, in a user namespace or over what the user has |
//! | file size, open files | `RLIMIT_FSIZE`, `RLIMIT_NOFILE` |
//!
//! Bounds of setrlimit(2) hold for each process by itself, but for `RLIMIT_NPROC`, which counts the
//! tasks of a user in a user namespace, since Linux 5.14; before that, in all of them. What other programs
//! of the user start counts as well, unless the supervisor has a namespace of its own. It has one where a PID
//! namespace or a network of its own needs that, and not for the count alone: in there every file of another
//! user belongs to no known user, and no program can become another user. Its `EAGAIN` (fork(2)) is counted
//! nowhere, and a tree that has as many processes as it may was perhaps refused none: that this bound was reached is
//! known from a control group alone (`pids.events`). No bound is ever set higher than this process's
//! own.

use std::{
    fs, io,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use flyto_execenv::{Capability, KillScope, LimitKind, Limits};
use flyto_supervision::{Bound, MAX_BOUNDS, Reached};
use rustix::{
    process::{Resource, getrlimit},
    system::{sysinfo, uname},
};

use crate::{
    bare::trial,
    cgroup::{Cgroups, Events, Leaf, Use},
    kernel::is_at_least,
};

/// Processes of a tree that is to be ended as a whole, where its spec names no bound: 1,024. A program that
/// makes processes faster than they can be ended comes to a stop there, within a second; the tools that
/// start most, builds and test runs, start some for each CPU.
pub(crate) const DEFAULT_PROCESSES: u64 = 1_024;

/// How long the number of a user's tasks is remembered. To count them takes 0.15 ms, which one call in a
/// second can bear.
const COUNT_FOR: Duration = Duration::from_secs(1);

/// What bounds the number of processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessEnforcement {
    /// A control group.
    Cgroup,
    /// `RLIMIT_NPROC`, in a user namespace that a supervisor has for itself.
    Namespace,
    /// `RLIMIT_NPROC`, on top of the tasks that the user has.
    User,
    /// Nothing: the kernel exempts root, and those with `CAP_SYS_RESOURCE`, from `RLIMIT_NPROC`.
    Unavailable,
}

/// Whether supervisors live in user namespaces of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Namespace {
    /// Each in one of its own, with this many processes that are none of a program's.
    Own {
        /// The supervisor, and the first process of its PID namespace if it makes one.
        helpers: u64,
    },
    /// In the one of the host.
    Hosts,
}

/// Since when `RLIMIT_NPROC` counts by user namespace.
const COUNTS_BY_NAMESPACE: (u32, u32) = (5, 14);

/// What enforces bounds on this machine.
///
/// Found once for a backend. The number of the user's tasks is the only part that changes later.
#[derive(Debug)]
pub(crate) struct LimitEnforcement {
    processes: ProcessEnforcement,
    /// Whether the tasks of a user namespace are counted by themselves.
    counts_by_namespace: bool,
    memory_in_cgroup: bool,
    /// Whether control groups count CPU time.
    cpu_in_cgroup: bool,
    /// Whether supervisors see what their trees use.
    sees_trees: bool,
    /// When the tasks of this user were counted last, and how many there were; `None` where they
    /// were never counted.
    counted: Mutex<Option<(Instant, u64)>>,
}

/// What is set for one program.
///
/// Made by [`LimitEnforcement::plan`] and read by the pool and by the record of a start. `Default`
/// bounds nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// For setrlimit(2); the first `n_bounds` are in use.
    bounds: [Bound; MAX_BOUNDS],
    n_bounds: usize,
    /// CPU time of the tree, in nanoseconds, for the supervisor to watch; 0 for none.
    pub(crate) cpu_ns: u64,
    /// Memory of the tree, in bytes, likewise: resident, in open files, in segments.
    pub(crate) memory_bytes: u64,
    /// Whether the spec bounds what a cgroup counts the refusals of.
    pub(crate) is_counted: bool,
    /// Processes and threads of the program's cgroup (`pids.max`), without helpers.
    cgroup_processes: Option<u64>,
    /// Memory of the program's cgroup in bytes (`memory.max`).
    cgroup_memory: Option<u64>,
}

impl Plan {
    /// Bounds of each process, for setrlimit(2).
    #[cfg(test)]
    fn bounds(&self) -> &[Bound] {
        self.bounds.get(..self.n_bounds).unwrap_or_default()
    }

    /// The same, as a record carries them.
    pub(crate) const fn all_bounds(&self) -> ([Bound; MAX_BOUNDS], usize) {
        (self.bounds, self.n_bounds)
    }

    /// Sets the cgroup's part of it. A cgroup that has it already is left alone.
    ///
    /// # Errors
    ///
    /// Those of [`Leaf::set_processes`] and [`Leaf::set_memory`].
    pub(crate) fn set_in(&self, leaf: &mut Leaf) -> io::Result<()> {
        leaf.set_processes(self.cgroup_processes)?;
        leaf.set_memory(self.cgroup_memory)
    }

    /// The bound on CPU time of each process is twice as high: what waits for its call may use all of it, and its call as well. The
    /// supervisor counts from the call on.
    pub(crate) fn waits_for_its_call(&mut self) {
        let bounds = self.bounds.iter_mut().take(self.n_bounds);
        for bound in bounds.filter(|it| it.resource == Resource::Cpu as u32) {
            let most = getrlimit(Resource::Cpu).maximum.unwrap_or(u64::MAX);
            bound.soft = bound.soft.saturating_mul(2).min(most);
            bound.hard = bound.hard.saturating_mul(2).min(most);
        }
    }

    /// Sets a bound, or the tighter one that this process has itself.
    ///
    /// There is room for [`MAX_BOUNDS`]; a plan sets five at most.
    fn bound(&mut self, resource: Resource, soft: u64, hard: u64) {
        let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let bound = Bound { resource: resource as u32, soft: soft.min(most), hard: hard.min(most) };
        if let Some(slot) = self.bounds.get_mut(self.n_bounds) {
            *slot = bound;
            self.n_bounds += 1;
        }
    }
}

impl LimitEnforcement {
    /// Finds out what enforces each bound, for supervisors that use these cgroups and namespaces.
    ///
    /// Reads the kernel's release, counts the tasks of the user, and asks whether `/proc` shows
    /// trees. The count takes most of the time.
    pub(crate) fn find(cgroups: &Cgroups, namespace: Namespace) -> Self {
        let count =
            if cgroups.can(Use::Processes) { None } else { trial::tasks_of_user().ok().flatten() };
        let kernel = uname();
        let counts_by_namespace =
            is_at_least(&kernel.release().to_string_lossy(), COUNTS_BY_NAMESPACE);
        let processes = match (cgroups.can(Use::Processes), count, namespace) {
            (true, ..) => ProcessEnforcement::Cgroup,
            (false, Some(_), Namespace::Own { .. }) if counts_by_namespace => {
                ProcessEnforcement::Namespace
            }
            (false, Some(_), _) => ProcessEnforcement::User,
            (false, None, _) => ProcessEnforcement::Unavailable,
        };
        Self {
            processes,
            counts_by_namespace,
            memory_in_cgroup: cgroups.can(Use::Memory),
            cpu_in_cgroup: cgroups.can(Use::CpuTime),
            sees_trees: sees_trees().is_ok(),
            counted: Mutex::new(count.map(|it| (Instant::now(), it))),
        }
    }

    /// What bounds the number of processes. A tree kill needs such a bound: without, a program can make them
    /// faster than they are ended.
    pub(crate) const fn processes(&self) -> ProcessEnforcement {
        self.processes
    }

    /// Whether a control group bounds memory.
    ///
    /// Then a program with a bound on memory needs a cgroup without its supervisor.
    pub(crate) const fn has_memory_in_cgroup(&self) -> bool {
        self.memory_in_cgroup
    }

    /// The names of the means ([`Capabilities::means`](flyto_execenv::Capabilities::means)), where several can do it.
    pub(crate) fn names(&self) -> impl Iterator<Item = (Capability, &'static str)> {
        let cpu = match (self.cpu_in_cgroup, self.sees_trees) {
            (true, _) => Some("cgroup"),
            (false, true) => Some("samples"),
            (false, false) => None,
        };
        let memory = match (self.memory_in_cgroup, self.sees_trees) {
            (true, _) => Some("cgroup"),
            (false, true) => Some("resident-and-open-files"),
            (false, false) => None,
        };
        let tree_usage = self.cpu_in_cgroup.then_some("cgroup");
        let all = [
            (Capability::CpuLimit, cpu),
            (Capability::MemoryLimit, memory),
            (Capability::TreeCpuUsage, tree_usage),
        ];
        all.into_iter().filter_map(|(it, name)| Some((it, name?)))
    }

    /// The bounds that can be declared for programs of a supervisor, each with the means in words.
    pub(crate) fn declared(&self) -> Vec<(Capability, &'static str)> {
        // `RLIMIT_CPU` and `RLIMIT_DATA` alone would give each process of a tree as much as all of it.
        let cpu = match (self.cpu_in_cgroup, self.sees_trees) {
            (true, _) => Some(
                "CPU time that a control group counts for the whole tree, read every 20 ms; RLIMIT_CPU for each process",
            ),
            (false, true) => Some(
                "samples of each process, every 20 ms: misses processes that live shorter and are reaped by the kernel; RLIMIT_CPU for each process",
            ),
            (false, false) => None,
        };
        let memory = match (self.memory_in_cgroup, self.sees_trees) {
            (true, _) => Some("a control group, page cache and swap included"),
            (false, true) => Some(
                "resident memory of the whole tree, its open files in memory and its System V segments, looked at every 20 ms: misses files in memory that are closed; RLIMIT_DATA for each process",
            ),
            (false, false) => None,
        };
        let processes = match self.processes {
            ProcessEnforcement::Cgroup => Some("a control group"),
            ProcessEnforcement::Namespace => Some(
                "RLIMIT_NPROC in a user namespace of the tree's own; the kernel does not tell that it was reached",
            ),
            ProcessEnforcement::User => Some(
                "RLIMIT_NPROC, over what the user has already; what the user starts elsewhere counts too, and the kernel does not tell that it was reached",
            ),
            ProcessEnforcement::Unavailable => None,
        };
        let kept = [
            (Capability::CpuLimit, cpu),
            (Capability::MemoryLimit, memory),
            (Capability::ProcessLimit, processes),
        ];
        let mut res: Vec<_> =
            kept.into_iter().filter_map(|(it, means)| Some((it, means?))).collect();
        res.push((Capability::FileSizeLimit, "RLIMIT_FSIZE"));
        res.push((Capability::OpenFilesLimit, "RLIMIT_NOFILE"));
        res
    }

    /// Says what is set for one program whose supervisor lives in this namespace.
    ///
    /// A limit that nothing enforces here has no part in the plan: [`declared`](Self::declared)
    /// does not list it, so the handle has refused the spec before.
    pub(crate) fn plan(&self, namespace: Namespace, limits: &Limits, kill: KillScope) -> Plan {
        let Limits { cpu_time, memory_bytes, processes, file_size_bytes, open_files, .. } = limits;
        let is_counted = memory_bytes.is_some() || processes.is_some();
        let mut res = Plan { is_counted, ..Plan::default() };
        if let Some(limit) = cpu_time {
            // 0 means no bound to a supervisor.
            res.cpu_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX).max(1);
            let seconds = limit.as_secs().saturating_add(u64::from(limit.subsec_nanos() > 0));
            // The first one is a signal that can be caught, the second one kills.
            res.bound(Resource::Cpu, seconds.saturating_add(1), seconds.saturating_add(2));
        }
        if let Some(limit) = *memory_bytes {
            if self.memory_in_cgroup {
                res.cgroup_memory = Some(limit);
            } else {
                res.memory_bytes = limit.max(1);
                let most = limit.saturating_add(data_beyond());
                res.bound(Resource::Data, most, most);
            }
        }
        let by_default = (kill == KillScope::Tree).then_some(DEFAULT_PROCESSES);
        if let Some(limit) = processes.or(by_default) {
            match (self.processes, namespace) {
                (ProcessEnforcement::Cgroup, _) => res.cgroup_processes = Some(limit),
                (
                    ProcessEnforcement::Namespace | ProcessEnforcement::User,
                    Namespace::Own { helpers },
                ) if self.counts_by_namespace => {
                    let most = limit.saturating_add(helpers);
                    res.bound(Resource::Nproc, most, most);
                }
                (ProcessEnforcement::Namespace | ProcessEnforcement::User, _) => {
                    let most = limit.saturating_add(self.count());
                    res.bound(Resource::Nproc, most, most);
                }
                (ProcessEnforcement::Unavailable, _) => {}
            }
        }
        if let Some(limit) = *file_size_bytes {
            res.bound(Resource::Fsize, limit, limit);
        }
        if let Some(limit) = *open_files {
            res.bound(Resource::Nofile, limit, limit);
        }
        res
    }

    /// The tasks of this user, as they were within the last second. A count that fails leaves the last
    /// one; a number that is too low makes a bound too tight, never too wide.
    ///
    /// The lock is held while the tasks are counted, so calls at the same time count once.
    fn count(&self) -> u64 {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        match *counted {
            Some((at, count)) if now.duration_since(at) < COUNT_FOR => count,
            last => {
                let fresh = trial::tasks_of_user().ok().flatten();
                let count = fresh.or(last.map(|(_, it)| it)).unwrap_or(0);
                *counted = Some((now, count));
                count
            }
        }
    }
}

/// Whether supervisors see their trees and what those use: `/proc` is of this process's own PID namespace, and
/// lists children.
///
/// # Errors
///
/// Those of reading it; [`io::ErrorKind::NotFound`] where it is another namespace's.
pub(crate) fn sees_trees() -> io::Result<()> {
    fs::read("/proc/thread-self/children")?;
    let own = fs::read_link("/proc/self")?;
    match own.to_str() == Some(&*std::process::id().to_string()) {
        true => Ok(()),
        false => {
            let why = "/proc is of another PID namespace";
            Err(io::Error::new(io::ErrorKind::NotFound, why))
        }
    }
}

/// How far `RLIMIT_DATA` lies above a bound on memory that is watched: a sixteenth of the machine's
/// memory, at least 1 GiB. It stands in where the supervisor comes late, and it counts what was asked for
/// and never used: a Java machine asks for a 64th of all memory before its first line runs.
fn data_beyond() -> u64 {
    let info = sysinfo();
    let total = info.totalram.saturating_mul(u64::from(info.mem_unit));
    (total / 16).max(1 << 30)
}

const SIGXCPU: u32 = 24;
const SIGXFSZ: u32 = 25;

/// Which of `limits` ended a program: what its supervisor ended it for, its status as wait(2) encodes
/// it, and what happened in its cgroup.
///
/// A program that had a process refused and still succeeded was not ended by that. Where no cgroup counts
/// refusals, they are not reported: the program has seen `EAGAIN` and said what it wanted.
///
/// The order decides where several are true: what the supervisor says comes first, since it has
/// ended the program itself, then memory, CPU time, file size, processes. `status` 0 is a program
/// that succeeded.
///
/// | bound | known by |
/// | --- | --- |
/// | CPU time | the supervisor's word, or the signal `SIGXCPU` |
/// | memory | the supervisor's word, or a kill for memory in the cgroup and a failed program |
/// | file size | the signal `SIGXFSZ` |
/// | processes | a fork that was refused in the cgroup and a failed program |
pub(crate) fn reached(
    limits: &Limits,
    by_supervisor: Reached,
    status: u32,
    events: Events,
) -> Option<LimitKind> {
    let signal = status & 0x7f;
    let failed = status != 0;
    let is = |kind, happened: bool| happened.then_some(kind);
    let supervisor = match by_supervisor {
        // A deadline is no bound of these.
        Reached::Nothing | Reached::Deadline => None,
        Reached::Cpu => Some(LimitKind::CpuTime),
        Reached::Memory => Some(LimitKind::Memory),
    };
    supervisor
        .or(is(LimitKind::Memory, limits.memory_bytes.is_some() && events.oom_kills > 0 && failed))
        .or(is(LimitKind::CpuTime, limits.cpu_time.is_some() && signal == SIGXCPU))
        .or(is(LimitKind::FileSize, limits.file_size_bytes.is_some() && signal == SIGXFSZ))
        // Counted where there is a bound, the one by default included.
        .or(is(LimitKind::Processes, events.refused_forks > 0 && failed))
}

#[cfg(test)]
mod tests;
