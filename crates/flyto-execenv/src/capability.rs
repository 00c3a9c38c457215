//! What a backend can honour, as data.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use crate::Limits;

/// One thing that a [`Spec`](crate::Spec) can demand and a backend can declare.
///
/// A demand that the backend does not declare is refused before anything starts; there is no silent
/// fall-back to less. A caller that can do with less builds a spec that asks for less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Capability {
    /// Ending the program ends its whole process group.
    GroupKill,
    /// Ending the program ends every descendant, also those that left the group or the session.
    TreeKill,
    /// The tree is asked to stop (`SIGTERM`) and given time before it is killed.
    Grace,
    /// Signals can be sent to the leader and to the tree.
    Signals,
    /// stdin, stdout and stderr can be handed to the caller as live streams.
    PipedStreams,
    /// stderr can be the same open file as stdout, so that the order of writes is kept.
    MergedStderr,
    /// Arguments, environment and paths may be bytes that are not UTF-8.
    NonUtf8,
    /// The bytes that match a SHA-256 digest are the bytes that run.
    PinnedProgram,
    /// Files that the spec names by digest are there when the program starts.
    ShippedFiles,
    /// CPU time can be limited. Where [`Capabilities::means`] says `samples`, a process counts from the first sample
    /// that sees it, unless its parent waits for it.
    CpuLimit,
    /// Memory can be limited. Where [`Capabilities::means`] says `resident-and-open-files`, memory does not count that
    /// no process has mapped and that lies in a file which no process has open.
    MemoryLimit,
    /// The number of processes can be limited.
    ProcessLimit,
    /// The size of a written file can be limited.
    FileSizeLimit,
    /// The number of open files can be limited.
    OpenFilesLimit,
    /// The program can be cut off from the network.
    NetworkOff,
    /// The program's network can be limited to named hosts.
    NetworkHosts,
    /// The program can be cut off from named sockets of its machine.
    LocalSocketsOff,
    /// The program's view of the file system can be limited to what was granted.
    FilesystemGrants,
    /// Paths can be closed to the program, whatever is granted.
    FilesystemDenials,
    /// Paths can be kept from being changed, whatever is granted.
    FilesystemReadOnly,
    /// The program can be limited to the system calls of ordinary programs.
    SystemCallFilter,
    /// The program can be kept from signalling, tracing and looking into processes outside its own
    /// tree, so that [`TreeKill`](Self::TreeKill) holds against a hostile program too.
    ProcessIsolation,
    /// The program shares memory by name with its own tree only, and leaves none.
    OwnSharedMemory,
    /// The outcome carries CPU time.
    CpuUsage,
    /// CPU time covers every descendant, also those that lost their parents and those that no process waits for,
    /// where the kill scope is the tree.
    TreeCpuUsage,
    /// The outcome carries peak memory.
    PeakMemory,
    /// The outcome says how many descendants outlived the leader.
    LeakCount,
    /// Nothing of a call survives its host, also when that is ended by `SIGKILL`, where the kill scope is
    /// the tree.
    EndsWithHost,
}

impl Capability {
    /// Every capability, in declaration order.
    pub const ALL: &[Self] = &[
        Self::GroupKill,
        Self::TreeKill,
        Self::Grace,
        Self::Signals,
        Self::PipedStreams,
        Self::MergedStderr,
        Self::NonUtf8,
        Self::PinnedProgram,
        Self::ShippedFiles,
        Self::CpuLimit,
        Self::MemoryLimit,
        Self::ProcessLimit,
        Self::FileSizeLimit,
        Self::OpenFilesLimit,
        Self::NetworkOff,
        Self::NetworkHosts,
        Self::LocalSocketsOff,
        Self::FilesystemGrants,
        Self::FilesystemDenials,
        Self::FilesystemReadOnly,
        Self::SystemCallFilter,
        Self::ProcessIsolation,
        Self::OwnSharedMemory,
        Self::CpuUsage,
        Self::TreeCpuUsage,
        Self::PeakMemory,
        Self::LeakCount,
        Self::EndsWithHost,
    ];

    /// The name that reports and configuration use, such as `tree-kill`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::GroupKill => "group-kill",
            Self::TreeKill => "tree-kill",
            Self::Grace => "grace",
            Self::Signals => "signals",
            Self::PipedStreams => "piped-streams",
            Self::MergedStderr => "merged-stderr",
            Self::NonUtf8 => "non-utf8",
            Self::PinnedProgram => "pinned-program",
            Self::ShippedFiles => "shipped-files",
            Self::CpuLimit => "cpu-limit",
            Self::MemoryLimit => "memory-limit",
            Self::ProcessLimit => "process-limit",
            Self::FileSizeLimit => "file-size-limit",
            Self::OpenFilesLimit => "open-files-limit",
            Self::NetworkOff => "network-off",
            Self::NetworkHosts => "network-hosts",
            Self::LocalSocketsOff => "local-sockets-off",
            Self::FilesystemGrants => "filesystem-grants",
            Self::FilesystemDenials => "filesystem-denials",
            Self::FilesystemReadOnly => "filesystem-read-only",
            Self::SystemCallFilter => "system-call-filter",
            Self::ProcessIsolation => "process-isolation",
            Self::OwnSharedMemory => "own-shared-memory",
            Self::CpuUsage => "cpu-usage",
            Self::TreeCpuUsage => "tree-cpu-usage",
            Self::PeakMemory => "peak-memory",
            Self::LeakCount => "leak-count",
            Self::EndsWithHost => "ends-with-host",
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a backend declares: its name and what it can honour.
///
/// Declaring a capability is a promise that the conformance suite tests; leaving one out is tested
/// too, for its refusal.
///
/// ```
/// use flyto_execenv::{Capabilities, Capability, KillScope, Spec};
///
/// let offered = Capabilities::new("mine").with([Capability::GroupKill]);
/// let spec = Spec::new("make").kill(KillScope::Tree);
/// assert_eq!(offered.missing(&spec.requirements()), [Capability::TreeKill]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// The backend's name in outcomes, reports and audit lines, such as `local`.
    pub backend: String,
    /// What the backend can honour.
    pub supported: BTreeSet<Capability>,
    /// By which means, where a backend has several for one: a name of its own, such as `pid-namespace`. It
    /// is for reports; what is declared is honoured by whatever means. A name may be made at run time, as one that a remote
    /// end reports is.
    pub means: BTreeMap<Capability, Cow<'static, str>>,
    /// Bounds that a program has whose spec names none, where its tree is ended as a whole: what is made faster than it can
    /// be ended has to stop somewhere. None by default.
    pub tree_limits: Limits,
}

impl Capabilities {
    /// A backend that honours nothing beyond running a program and bounding it.
    #[must_use]
    pub fn new(backend: impl Into<String>) -> Self {
        Self {
            backend: backend.into(),
            supported: BTreeSet::new(),
            means: BTreeMap::new(),
            tree_limits: Limits::new(),
        }
    }

    /// Declares more capabilities.
    #[must_use]
    pub fn with(mut self, more: impl IntoIterator<Item = Capability>) -> Self {
        self.supported.extend(more);
        self
    }

    /// Declares a capability and says by which means it is honoured.
    #[must_use]
    pub fn with_means(
        mut self,
        capability: Capability,
        means: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.supported.insert(capability);
        self.means.insert(capability, means.into());
        self
    }

    /// Says which bounds a program has whose spec names none, where its tree is ended as a whole.
    #[must_use]
    pub fn with_tree_limits(mut self, limits: Limits) -> Self {
        self.tree_limits = limits;
        self
    }

    /// Withdraws a capability: for a machine that lacks it, and for tests of refusals.
    #[must_use]
    pub fn without(mut self, capability: Capability) -> Self {
        self.supported.remove(&capability);
        self.means.remove(&capability);
        self
    }

    /// Whether `capability` is declared.
    #[must_use]
    pub fn has(&self, capability: Capability) -> bool {
        self.supported.contains(&capability)
    }

    /// The demands in `required` that are not declared, in order.
    #[must_use]
    pub fn missing(&self, required: &BTreeSet<Capability>) -> Vec<Capability> {
        required.difference(&self.supported).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_capability_is_listed_once_under_its_own_name() {
        let names: BTreeSet<_> = Capability::ALL.iter().map(|it| it.name()).collect();
        assert_eq!(names.len(), Capability::ALL.len());
    }

    #[test]
    fn means_go_with_what_they_are_for() {
        let capabilities = Capabilities::new("x").with_means(Capability::TreeKill, "cgroup");
        assert!(capabilities.has(Capability::TreeKill));
        assert_eq!(capabilities.means[&Capability::TreeKill], "cgroup");
        assert!(capabilities.without(Capability::TreeKill).means.is_empty());
        let reported = String::from("gvisor-2026.1");
        let remote = Capabilities::new("remote").with_means(Capability::NetworkOff, reported);
        assert_eq!(remote.means[&Capability::NetworkOff], "gvisor-2026.1");
    }

    #[test]
    fn missing_lists_only_what_is_not_declared() {
        let capabilities = Capabilities::new("x").with([Capability::Grace, Capability::GroupKill]);
        let required = BTreeSet::from([Capability::Grace, Capability::NetworkOff]);
        assert_eq!(capabilities.missing(&required), [Capability::NetworkOff]);
        assert_eq!(
            capabilities.without(Capability::Grace).missing(&required),
            [Capability::Grace, Capability::NetworkOff]
        );
    }
}
