//! By which means trees are ended.

/// By which means a tree is ended: the mechanisms of a ladder, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum KillMechanism {
    /// A process group: a process that leaves it is not ended. No tree kill.
    Group,
    /// A supervisor that is the subreaper: orphans are re-parented to it (`PR_SET_CHILD_SUBREAPER`, prctl(2)).
    Subreaper,
    /// … and a PID namespace for each program, which the kernel ends as a whole (pid_namespaces(7)).
    PidNamespace,
    /// A supervisor, and a control group that the kernel ends as a whole (`cgroup.kill`, cgroups(7)).
    Cgroup,
}

impl KillMechanism {
    /// The name in reports and messages, such as `pid-namespace`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::Subreaper => "subreaper",
            Self::PidNamespace => "pid-namespace",
            Self::Cgroup => "cgroup",
        }
    }
}
