//! From isolation as data to what a supervisor enters.
//!
//! | asked for | kept by |
//! | --- | --- |
//! | [`Filesystem::Grants`], denied paths | Landlock, files: see [`landlock`] |
//! | read-only paths | a mount namespace with read-only mounts, else Landlock: see [`read_only`] |
//! | [`SharedMemory::Own`] | a file system in memory on `/dev/shm`, in a mount namespace, else Landlock: see [`shared_memory`] |
//! | [`Network::Off`] | the filter: no sockets but pairs; Landlock, ports, where the kernel has it |
//! | [`Network::Hosts`] | a network namespace with one way out, to a [proxy](crate::proxy); the filter: no Unix sockets but pairs, and no sockets that namespaces do not hold |
//! | [`LocalSockets::Off`] | the filter: no Unix sockets but pairs |
//! | [`SystemCalls::Restricted`] | the filter: see [`seccomp`] |
//! | [`Processes::Own`] | Landlock, a domain of its own for each program that signals do not leave (version 6), else a PID namespace; Landlock also keeps debuggers inside (ptrace(2)). The filter, for bounds, priorities and processors of others (prlimit(2), sched(7)), System V IPC and POSIX message queues |
//!
//! With any of them a program has no capabilities (capabilities(7)) and gains none by execution.
//!
//! [`Filesystem::Grants`]: flyto_execenv::Filesystem::Grants
//! [`Network::Off`]: flyto_execenv::Network::Off
//! [`Network::Hosts`]: flyto_execenv::Network::Hosts
//! [`SharedMemory::Own`]: flyto_execenv::SharedMemory::Own
//!
//! [`confine_as_granted`] turns an [`Isolation`] into a [`Confinement`]: rulesets, a filter, mounts
//! and flags, which one pool of supervisors enters. It refuses what [`Support`] lacks and leaves
//! nothing out. A confinement is about paths as they were when it was made;
//! [`Confinement::is_current`] tells whether it would be made in the same way now, and is asked
//! before each call.

mod bpf;
mod denied;
mod granted;
#[cfg(test)]
pub(crate) mod inside;
mod landlock;
mod places;
mod read_only;
mod seccomp;
mod shared_memory;
#[cfg(test)]
mod tests;

use std::{io, os::fd::OwnedFd, path::Path};

use flyto_execenv::{
    Capability, ExecError, ExecErrorKind, Filesystem, Isolation, KillScope, LocalSockets, Network,
    Processes, Spec, StartFiles, SystemCalls,
};

pub(crate) use self::granted::Granted;
pub(crate) use self::landlock::Closed;
use self::{
    landlock::{Outer, Seen},
    places::Identity,
    read_only::ReadOnly,
    seccomp::Rules,
};
use crate::bare::trial::{self, Namespace};

/// What this machine can keep a program from.
///
/// `Default` is a machine that can confine nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Support {
    /// The version of Landlock; 0 is none.
    pub(crate) landlock: u32,
    /// Whether system calls can be filtered.
    pub(crate) seccomp: bool,
    /// Whether a supervisor can start programs in PID namespaces, if need be in a user namespace that
    /// it makes. That is known once one has done so: [`Support::probe`] leaves it out.
    pub(crate) pid_namespaces: bool,
    /// Whether a supervisor can leave the machine's network, if need be in a user namespace that it makes.
    pub(crate) network_namespaces: bool,
    /// Whether a supervisor can make mounts in a mount namespace, if need be in a user namespace that it
    /// makes. That is known once one was asked to; [`Support::probe`] takes it for granted.
    pub(crate) mount_namespaces: bool,
}

/// Landlock that knows truncation; without it, a program could empty files that it may not write.
pub(crate) const LANDLOCK_FILES: u32 = 3;
/// Landlock that knows TCP ports.
pub(crate) const LANDLOCK_PORTS: u32 = 4;
/// Landlock that keeps signals and abstract Unix sockets inside.
pub(crate) const LANDLOCK_SCOPES: u32 = 6;

impl Support {
    /// Asks the kernel.
    ///
    /// Reads one file, asks Landlock for its version, and starts a process in a namespace.
    pub(crate) fn probe() -> Self {
        // There as soon as the kernel has filters (seccomp(2)).
        let seccomp = std::fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail")
            .is_ok_and(|it| ["kill_process", "errno", "allow"].iter().all(|one| has(&it, one)));
        let network_namespaces = has_network_namespaces();
        Self {
            landlock: crate::bare::landlock::version(),
            seccomp,
            network_namespaces,
            mount_namespaces: true,
            ..Self::default()
        }
    }

    /// What may be declared: what [`confine`] can really make.
    ///
    /// Read-only paths and shared memory need Landlock even where mounts do the work: a program
    /// could undo a mount otherwise, or go past it.
    pub(crate) fn capabilities(&self) -> impl Iterator<Item = Capability> {
        let files = self.landlock >= LANDLOCK_FILES;
        [
            (self.seccomp, Capability::NetworkOff),
            (self.seccomp && self.network_namespaces, Capability::NetworkHosts),
            (self.seccomp, Capability::LocalSocketsOff),
            (self.seccomp, Capability::SystemCallFilter),
            (files, Capability::FilesystemGrants),
            (files, Capability::FilesystemDenials),
            (files, Capability::FilesystemReadOnly),
            (files, Capability::OwnSharedMemory),
            (self.process_isolation().is_some(), Capability::ProcessIsolation),
        ]
        .into_iter()
        .filter_map(|(can, capability)| can.then_some(capability))
    }

    /// By which means programs are kept from signalling others, their supervisor among them.
    ///
    /// `None` without a filter of system calls, which has a part in it.
    pub(crate) fn process_isolation(&self) -> Option<&'static str> {
        match self.landlock {
            _ if !self.seccomp => None,
            LANDLOCK_SCOPES.. => Some("landlock-scope"),
            1.. if self.pid_namespaces => Some("pid-namespace"),
            _ => None,
        }
    }
}

/// Whether network namespaces can be made. One takes 0.7 ms, more than all that is tried at a start; what it
/// needs of a user is what one for names of hosts needs (`CAP_SYS_ADMIN` in its user namespace), so that is
/// made in its place.
fn has_network_namespaces() -> bool {
    let kernel_has = Path::new("/proc/self/ns/net").exists();
    let some_may_be = std::fs::read_to_string("/proc/sys/user/max_net_namespaces")
        .is_ok_and(|it| it.trim_ascii() != "0");
    let made = || trial::clone_into_namespace(Namespace::Names, needs_user_namespace());
    kernel_has && some_may_be && made().is_ok()
}

/// Whether namespaces are made in a user namespace first: root can make them in the one it has.
pub(crate) fn needs_user_namespace() -> bool {
    !rustix::process::geteuid().is_root()
}

/// Whether a word is among these, which blanks separate.
fn has(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|it| it == word)
}

/// What a supervisor enters once, and each of its programs.
///
/// `Default` keeps a program from nothing.
#[derive(Debug, Default)]
pub(crate) struct Confinement {
    /// The Landlock ruleset of the supervisor.
    pub(crate) ruleset: Option<OwnedFd>,
    /// The ruleset that each program enters, nested in the other.
    pub(crate) inner_ruleset: Option<OwnedFd>,
    /// The filter of system calls, as [`Setup::filter`](flyto_supervision::Setup) has it.
    pub(crate) filter: Vec<u8>,
    /// Programs gain no privileges by execution.
    pub(crate) no_new_privs: bool,
    /// Programs have no capabilities.
    pub(crate) no_capabilities: bool,
    /// Each program needs a PID namespace of its own.
    pub(crate) pid_namespace: bool,
    /// The supervisor leaves the machine's network.
    pub(crate) network_namespace: bool,
    /// What the supervisor mounts onto itself in a mount namespace; nothing is no mount namespace.
    pub(crate) mounts: Vec<u8>,
    /// Shared memory that the supervisor mounts for its programs.
    pub(crate) shared_memory: Option<flyto_supervision::SharedMemory>,
    /// What lets the supervisor's own clone3(2) and clone(2) through the filter.
    ///
    /// Secret: a program that knew it could make namespaces.
    pub(crate) cookie: [u64; 2],
    /// What the ruleset closes for sure.
    pub(crate) closes: Option<Closed>,
    /// The directories that were looked at.
    seen: Vec<Seen>,
    /// The paths that cannot be changed and those that are granted, as they were found.
    read_only: ReadOnly,
}

impl Confinement {
    /// Whether the supervisor needs a mount namespace.
    pub(crate) fn makes_mounts(&self) -> bool {
        !self.mounts.is_empty() || self.shared_memory.is_some()
    }

    /// Whether it would be made in the same way now. It grants the files and directories that the granted paths led to, so that
    /// another one at such a path is closed. It grants what lies beside a denied path one by
    /// one, so that a file which came later is closed, and one that was renamed may be. And it keeps
    /// paths from being changed that are there.
    pub(crate) fn is_current(&self) -> bool {
        self.outdated_by().is_none()
    }

    /// A path that is why it would be made in another way now.
    pub(crate) fn outdated_by(&self) -> Option<&Path> {
        let seen = self.seen.iter().find(|it| !it.is_current());
        seen.map(|it| &*it.path).or_else(|| self.read_only.outdated_by())
    }
}

/// Two numbers that cannot be guessed.
///
/// Made anew for each pool.
///
/// # Errors
///
/// Those of getrandom(2).
pub(crate) fn cookie() -> io::Result<[u64; 2]> {
    let mut bytes = [0; 16];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    let all = u128::from_ne_bytes(bytes);
    Ok([all as u64, (all >> 64) as u64])
}

/// What keeps a program to this isolation, where nothing was granted before.
///
/// # Errors
///
/// Those of [`confine_as_granted`].
#[cfg(any(test, feature = "examine"))]
pub(crate) fn confine(
    isolation: &Isolation,
    support: &Support,
    cookie: [u64; 2],
) -> Result<Confinement, ExecError> {
    confine_as_granted(isolation, support, cookie, &Granted::default())
}

/// What keeps a program to this isolation. Directories that were granted for writing before must be the same.
///
/// # Errors
///
/// [`ExecErrorKind::Unsupported`] where the machine cannot keep a part of it; nothing is left out.
/// [`ExecErrorKind::InvalidSpec`] where a path could mean something else than it says. Also where the
/// system does not make a ruleset.
pub(crate) fn confine_as_granted(
    isolation: &Isolation,
    support: &Support,
    cookie: [u64; 2],
    granted: &Granted,
) -> Result<Confinement, ExecError> {
    if isolation.is_none() {
        return Ok(Confinement::default());
    }
    let only = Spec::new("x").kill(KillScope::Leader).isolation(isolation.clone());
    let missing: Vec<_> = only
        .requirements()
        .into_iter()
        .filter(|it| !support.capabilities().any(|has| has == *it))
        .map(Capability::name)
        .collect();
    if !missing.is_empty() {
        let what = format!("confine a program: this machine does not offer {}", missing.join(", "));
        return Err(ExecError::new(ExecErrorKind::Unsupported, what));
    }
    if let Some(path) = isolation.odd_path() {
        let what = format!("confine a program: {path:?} must be absolute and without `..`");
        return Err(ExecError::new(ExecErrorKind::InvalidSpec, what));
    }
    let (shared_memory, isolation) = shared_memory::plan(isolation, support);
    let isolation = &isolation;
    let own = isolation.processes == Processes::Own;
    let scopes = support.landlock >= LANDLOCK_SCOPES;
    let (read_only, outer) = files(isolation, support, granted)?;
    let inner_ruleset = if own && scopes { Some(landlock::inner(isolation)?) } else { None };
    let network_own = matches!(isolation.network, Network::Hosts(_));
    let rules = Rules {
        restricted: isolation.system_calls == SystemCalls::Restricted,
        network_off: isolation.network == Network::Off,
        network_own,
        local_sockets_off: isolation.local_sockets == LocalSockets::Off,
        own_processes: own,
    };
    Ok(Confinement {
        ruleset: outer.ruleset,
        inner_ruleset,
        filter: seccomp::filter(rules, cookie),
        no_new_privs: true,
        no_capabilities: true,
        pid_namespace: own && !scopes,
        network_namespace: network_own,
        mounts: match support.mount_namespaces {
            true => mounts(&read_only)?,
            false => Vec::new(),
        },
        shared_memory,
        cookie,
        closes: outer.closes,
        seen: outer.seen,
        read_only,
    })
}

/// Adds which files and directories the paths of these grants lead to. A process that was started before its call has what they were
/// then: another one in their place is for the call's own start to grant, or to refuse.
pub(crate) fn add_granted(files: &mut StartFiles, isolation: &Isolation) {
    if let Filesystem::Grants { read, write } = &isolation.filesystem {
        for path in read.iter().chain(&**write) {
            files.add(path, Identity::at(path).map(Identity::to_bytes));
        }
    }
}

/// How often a ruleset is made again because what a path means has changed meanwhile.
const MAX_TRIES: u32 = 10;

/// What is kept from being changed, and the ruleset that goes with that.
///
/// # Errors
///
/// Those of making a ruleset; and paths that were replaced [`MAX_TRIES`] times in a row.
fn files(
    isolation: &Isolation,
    support: &Support,
    granted: &Granted,
) -> Result<(ReadOnly, Outer), ExecError> {
    for _ in 0..MAX_TRIES {
        let read_only = ReadOnly::find(isolation).map_err(landlock::unmade)?;
        let carved = (!support.mount_namespaces).then_some(&read_only);
        let outer = landlock::outer(isolation, support.landlock, carved, granted)?;
        if read_only.is_current() {
            return Ok((read_only, outer));
        }
    }
    let what = "confine a program: paths that it must not change are replaced all the time";
    Err(ExecError::new(ExecErrorKind::Other, what))
}

/// The most that can be told to a supervisor of its mounts, in bytes: what fits into a message beside the filter.
const MAX_MOUNTS_BYTES: usize = 20 * 1024;

/// # Errors
///
/// [`ExecErrorKind::InvalidSpec`] for more than [`MAX_MOUNTS_BYTES`].
fn mounts(read_only: &ReadOnly) -> Result<Vec<u8>, ExecError> {
    let res = read_only.mounts();
    if res.len() > MAX_MOUNTS_BYTES {
        let what = "confine a program: too many paths that it must not change, or too long ones";
        return Err(ExecError::new(ExecErrorKind::InvalidSpec, what));
    }
    Ok(res)
}
