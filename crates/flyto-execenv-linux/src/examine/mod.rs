//! What works on this machine, layer by layer, and why something does not.
//!
//! Each layer is found out by using it: processes are started, confined and refused, trees are ended.
//! Where one fails, what the machine says about itself ([`Machine`]) tells the likely cause and what
//! helps.
//!
//! ```
//! use flyto_execenv_linux::{Linux, examine};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let found = examine(&Linux::new()).await;
//! for check in &found.checks {
//!     println!("{}: {:?}", check.layer.name(), check.state);
//! }
//! println!("trees are ended by {}", found.mechanism.name());
//! # }
//! ```
//!
//! Start with [`examine`]. A [`Check`] is one [`Layer`] with its [`State`]; a [`Trouble`] is what a
//! state has where something is wrong, with a command that helps.
//! [`Examination::serves_by_default`] is the short answer for a program that only wants to know
//! whether tools can run as they should.
//!
//! Nothing is changed on the machine, and what a trial started is gone when it is over.

#[cfg(supervised)]
mod cause; //    from what failed to why
mod errnos; //   the names of error numbers
#[cfg_attr(
    not(supervised),
    expect(dead_code, reason = "read to find causes, of which one is left")
)]
mod machine; //  what the machine says about itself
#[cfg(not(supervised))]
mod portable; // the layers where the architecture has none
#[cfg(all(test, supervised))]
mod tests;
#[cfg(supervised)]
mod trials; //   the layers in use

use std::borrow::Cow;

use flyto_execenv::{Capability, Executor};

#[cfg(not(supervised))]
use self::portable::try_all;
#[cfg(supervised)]
use self::trials::Found;
pub use self::{errnos::errno_name, machine::Machine};
use crate::{KillMechanism, Linux};

/// Something that programs are started, ended or confined with.
///
/// A layer that fails need not matter: others may do the same in its place, and
/// [`Trouble::instead`] says which. The order of the variants is that of [`Ord`] and of
/// [`Layer::ALL`].
///
/// ```
/// use flyto_execenv_linux::examine::Layer;
///
/// for layer in Layer::ALL {
///     println!("{:20} {}", layer.name(), layer.gives());
/// }
/// assert_eq!(Layer::ALL[0], Layer::Threads);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Layer {
    /// Threads of the host, of which each call has some (pthread_create(3)).
    Threads,
    /// Starting a program as a child that shares the host's memory (clone3(2), else clone(2)).
    InProcessStart,
    /// Executing what lies in sealed memory (memfd_create(2)).
    SealedMemory,
    /// A supervisor: it starts, and answers.
    Supervisor,
    /// `/proc`, where a supervisor finds descendants and what they use.
    Proc,
    /// Ending a tree by its supervisor alone (`PR_SET_CHILD_SUBREAPER`, prctl(2)).
    Subreaper,
    /// A user namespace for a supervisor (user_namespaces(7)).
    UserNamespace,
    /// Ending a tree by its PID namespace (pid_namespaces(7)), in a user namespace unless root asks.
    PidNamespace,
    /// Ending a tree by its control group (`cgroup.kill`, cgroups(7)).
    CgroupKill,
    /// Bounding processes by a control group.
    ///
    /// The controller `pids`, of version 2 or of version 1.
    CgroupProcesses,
    /// Bounding memory by a control group.
    ///
    /// The controller `memory` of version 2, which ends a cgroup as a whole.
    CgroupMemory,
    /// Bounding the number of processes, by whatever there is.
    ProcessLimit,
    /// Bounding memory, by whatever there is.
    MemoryLimit,
    /// Bounding CPU time, by whatever there is.
    CpuLimit,
    /// Landlock's rules for files (landlock(7)).
    ///
    /// Version 3 at least, of Linux 6.2: without it a program could truncate what it may not write.
    LandlockFiles,
    /// Landlock's rules for TCP ports.
    ///
    /// Version 4, of Linux 6.7.
    LandlockPorts,
    /// Landlock's scopes for signals and abstract Unix sockets.
    ///
    /// Version 6, of Linux 6.12.
    LandlockScopes,
    /// Mounts that keep paths from being changed, in a mount namespace (mount_namespaces(7)), in a user
    /// namespace unless root asks.
    ReadOnlyPaths,
    /// A filter of system calls (seccomp(2)).
    SystemCallFilter,
    /// No network.
    NetworkOff,
    /// A network of named hosts: a namespace (network_namespaces(7)), in a user namespace unless root asks,
    /// and a proxy as the way out of it.
    NetworkHosts,
    /// A program with all isolation at once, below a supervisor.
    Confined,
}

impl Layer {
    /// Every layer, in the order in which they build on each other.
    pub const ALL: &[Self] = &[
        Self::Threads,
        Self::InProcessStart,
        Self::SealedMemory,
        Self::Supervisor,
        Self::Proc,
        Self::Subreaper,
        Self::UserNamespace,
        Self::PidNamespace,
        Self::CgroupKill,
        Self::CgroupProcesses,
        Self::CgroupMemory,
        Self::ProcessLimit,
        Self::MemoryLimit,
        Self::CpuLimit,
        Self::LandlockFiles,
        Self::LandlockPorts,
        Self::LandlockScopes,
        Self::ReadOnlyPaths,
        Self::SystemCallFilter,
        Self::NetworkOff,
        Self::NetworkHosts,
        Self::Confined,
    ];

    /// The name in reports, such as `pid-namespace`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::InProcessStart => "in-process-start",
            Self::SealedMemory => "sealed-memory",
            Self::Supervisor => "supervisor",
            Self::Proc => "proc",
            Self::Subreaper => "subreaper",
            Self::UserNamespace => "user-namespace",
            Self::PidNamespace => "pid-namespace",
            Self::CgroupKill => "cgroup-kill",
            Self::CgroupProcesses => "cgroup-processes",
            Self::CgroupMemory => "cgroup-memory",
            Self::ProcessLimit => "process-limit",
            Self::MemoryLimit => "memory-limit",
            Self::CpuLimit => "cpu-limit",
            Self::LandlockFiles => "landlock-files",
            Self::LandlockPorts => "landlock-ports",
            Self::LandlockScopes => "landlock-scopes",
            Self::ReadOnlyPaths => "read-only-paths",
            Self::SystemCallFilter => "system-call-filter",
            Self::NetworkOff => "network-off",
            Self::NetworkHosts => "network-hosts",
            Self::Confined => "confined-program",
        }
    }

    /// What it gives, in a few words.
    ///
    /// Follows the name in a report; without a full stop.
    #[must_use]
    pub const fn gives(self) -> &'static str {
        match self {
            Self::Threads => "calls can be made at all",
            Self::InProcessStart => "programs start faster than by posix_spawn",
            Self::SealedMemory => "the supervisor and a pinned program cannot be exchanged",
            Self::Supervisor => "trees are ended, bounded and confined",
            Self::Proc => "descendants are found, and what they use",
            Self::Subreaper => {
                "a tree is ended, also processes that leave its process group or session"
            }
            Self::UserNamespace => "an ordinary user can make other namespaces",
            Self::PidNamespace => "a tree is ended as a whole, by the kernel",
            Self::CgroupKill => "a tree is ended as a whole, also without its supervisor",
            Self::CgroupProcesses => "processes are bounded by tree, for root as well",
            Self::CgroupMemory => "memory is bounded by tree, at once",
            Self::ProcessLimit => "a fork bomb comes to a stop",
            Self::MemoryLimit => "a tree cannot take all memory",
            Self::CpuLimit => "a tree cannot compute for longer than it may",
            Self::LandlockFiles => "files are open only where granted",
            Self::LandlockPorts => "a second wall before the network",
            Self::LandlockScopes => "a program cannot end its supervisor",
            Self::ReadOnlyPaths => "hooks and settings of a project stay as they are",
            Self::SystemCallFilter => "only system calls of ordinary programs",
            Self::NetworkOff => "programs without network",
            Self::NetworkHosts => "programs that reach named hosts only",
            Self::Confined => "programs with all isolation at once",
        }
    }
}

/// What came of one layer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// It works, by these means.
    Works {
        /// In words: `version 2, in /sys/fs/cgroup`.
        by: String,
    },
    /// It works, and something is less than it could be.
    ///
    /// A call is served all the same, with the difference that [`Trouble::instead`] names.
    Partly {
        /// As for [`State::Works`].
        by: String,
        /// What is less.
        trouble: Trouble,
    },
    /// It does not work.
    ///
    /// The backend does not use it.
    Fails(Trouble),
}

/// What failed, and what is known about it.
///
/// All texts are for people; a program matches on [`errno`](Self::errno) or on the layer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trouble {
    /// What was tried, in words that follow "failed to".
    pub tried: String,
    /// The error number (errno(3)), where the system gave one.
    ///
    /// `Some(0)` where a call succeeded and had no effect, as under a filter of system calls that
    /// answers in the kernel's place. [`errno_name`] has names.
    pub errno: Option<i32>,
    /// The likely cause, one sentence without its full stop.
    pub cause: String,
    /// What helps: a command, or one sentence.
    pub fix: String,
    /// What happens instead until that is done.
    pub instead: String,
}

/// One layer, tried.
///
/// Layers that work have one as well.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Check {
    /// Which one.
    pub layer: Layer,
    /// What came of it.
    pub state: State,
}

impl Check {
    /// What is wrong, where it does not work at all.
    #[must_use]
    pub fn failed(&self) -> Option<&Trouble> {
        match &self.state {
            State::Fails(trouble) => Some(trouble),
            State::Works { .. } | State::Partly { .. } => None,
        }
    }
}

/// What was found on this machine.
///
/// ```
/// use flyto_execenv_linux::{Linux, examine, examine::Layer};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let found = examine(&Linux::new()).await;
/// if !found.serves_by_default() {
///     for capability in &found.missing {
///         println!("missing: {}", capability.name());
///     }
/// }
/// if let Some(trouble) = found.check(Layer::LandlockFiles).and_then(|it| it.failed()) {
///     println!("failed to {}: {}; {}", trouble.tried, trouble.cause, trouble.fix);
/// }
/// # }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Examination {
    /// What it says about itself.
    pub machine: Machine,
    /// One for each of [`Layer::ALL`], in that order.
    pub checks: Vec<Check>,
    /// By which means the backend ends trees.
    pub mechanism: KillMechanism,
    /// By which means the backend keeps a program with `Processes::Own` from its supervisor, so that a hostile
    /// one cannot break the end of its tree: `landlock-scope`, a Landlock domain for each program that signals do
    /// not leave, or `pid-namespace`. `None` where it does not offer that.
    pub process_isolation: Option<Cow<'static, str>>,
    /// What the backend does not offer of what every tool is given unless the operator says
    /// otherwise ([`BY_DEFAULT`]), or what did not hold when it was tried.
    ///
    /// In the order of [`BY_DEFAULT`]; empty on a machine that has it all.
    pub missing: Vec<Capability>,
}

/// What every tool is given unless the operator says otherwise: its tree is ended, and bounds hold.
pub const BY_DEFAULT: [Capability; 6] = [
    Capability::TreeKill,
    Capability::ProcessLimit,
    Capability::MemoryLimit,
    Capability::CpuLimit,
    Capability::FileSizeLimit,
    Capability::OpenFilesLimit,
];

impl Examination {
    /// Whether everything works that every tool is given by default. A layer that fails need not matter
    /// for that: others may stand in for it.
    #[must_use]
    pub fn serves_by_default(&self) -> bool {
        let has_threads = self.check(Layer::Threads).is_none_or(|it| it.failed().is_none());
        self.missing.is_empty() && has_threads
    }

    /// What came of this layer.
    #[must_use]
    pub fn check(&self, layer: Layer) -> Option<&Check> {
        self.checks.iter().find(|it| it.layer == layer)
    }
}

/// Tries every layer: some 30 processes, each of which is gone when this returns. It takes about 50 ms.
///
/// `linux` is the backend in use: what it does instead of what fails, and whether that is enough, is told
/// of it. Programs are tried with `/bin/sh`; without one that can be executed, supervisors are only started.
/// On an architecture without a supervisor nothing is tried, and every layer fails for that reason.
///
/// Must run in a Tokio runtime with I/O and time enabled. There is no error: what cannot be tried
/// is a layer that fails.
pub async fn examine(linux: &Linux) -> Examination {
    let machine = Machine::read();
    let checks = try_all(linux, &machine).await;
    let mechanism = linux.mechanism();
    let fails = |layer| checks.iter().any(|it| it.layer == layer && it.failed().is_some());
    // What is declared is missing all the same where it did not hold.
    let is_missing = |capability: &Capability| {
        let layer = match (capability, mechanism) {
            (Capability::ProcessLimit, _) => Some(Layer::ProcessLimit),
            (Capability::MemoryLimit, _) => Some(Layer::MemoryLimit),
            (Capability::CpuLimit, _) => Some(Layer::CpuLimit),
            (Capability::TreeKill, KillMechanism::Cgroup) => Some(Layer::CgroupKill),
            (Capability::TreeKill, KillMechanism::PidNamespace) => Some(Layer::PidNamespace),
            (Capability::TreeKill, KillMechanism::Subreaper) => Some(Layer::Subreaper),
            _ => None,
        };
        !linux.capabilities().has(*capability) || layer.is_some_and(fails)
    };
    let missing = BY_DEFAULT.into_iter().filter(is_missing).collect();
    let means = &linux.capabilities().means;
    let process_isolation = means.get(&Capability::ProcessIsolation).cloned();
    Examination { machine, checks, mechanism, process_isolation, missing }
}

/// Tries every layer, and asks why where one fails.
///
/// A layer that builds on one that failed has its cause, and so has one that fails with the same
/// error for the same reason; only others are asked about by themselves.
#[cfg(supervised)]
async fn try_all(linux: &Linux, machine: &Machine) -> Vec<Check> {
    let mut checks: Vec<Check> = Vec::with_capacity(Layer::ALL.len());
    for (layer, found) in trials::all(linux).await {
        let trouble = |failure: trials::Failure, is_partly| {
            let trials::Failure { tried, errno } = failure;
            let (cause, fix) = checks
                .iter()
                .filter_map(|it| Some((it.layer, it.failed()?)))
                .find(|(other, it)| {
                    let is_same = errno.is_some() && it.errno == errno;
                    cause::needs(layer).contains(other)
                        || (is_same && cause::resembles(layer).contains(other))
                })
                .map(|(_, it)| (it.cause.clone(), it.fix.clone()))
                .unwrap_or_else(|| cause::reason(layer, is_partly, errno, machine));
            let instead = cause::instead(layer, is_partly, linux);
            Trouble { tried, errno, cause, fix, instead }
        };
        let state = match found {
            Found::Works(by) => State::Works { by },
            Found::Partly(by, failure) => State::Partly { by, trouble: trouble(failure, true) },
            Found::Fails(failure) => State::Fails(trouble(failure, false)),
        };
        checks.push(Check { layer, state });
    }
    checks
}
