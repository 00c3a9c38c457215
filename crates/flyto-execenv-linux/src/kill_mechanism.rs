//! By which means trees are ended.

/// By which means a tree is ended: the mechanisms of a ladder, the weakest first.
///
/// What holds against a program that tries to escape:
///
/// | mechanism | leaves its process group or session | kills its supervisor |
/// | --- | --- | --- |
/// | `Group` | escapes | there is none |
/// | `Subreaper` | is ended | may escape, unless [`adopt_orphans`] was called |
/// | `PidNamespace` | is ended | cannot see it |
/// | `Cgroup` | is ended | is ended, unless it left the control group before |
///
/// The order of the variants is that of [`Ord`].
///
/// [`adopt_orphans`]: crate::adopt_orphans
///
/// ```
/// use flyto_execenv_linux::KillMechanism;
///
/// assert!(KillMechanism::Group < KillMechanism::Cgroup);
/// assert_eq!(KillMechanism::PidNamespace.name(), "pid-namespace");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum KillMechanism {
    /// A process group: a process that leaves it is not ended. No tree kill.
    ///
    /// The only one that runs no supervisor.
    Group,
    /// A supervisor that is the subreaper: orphans are re-parented to it (`PR_SET_CHILD_SUBREAPER`, prctl(2)).
    ///
    /// Used where the number of processes can be bounded.
    Subreaper,
    /// … and a PID namespace for each program, which the kernel ends as a whole (pid_namespaces(7)).
    ///
    /// An ordinary user needs user namespaces for it (user_namespaces(7)).
    PidNamespace,
    /// A supervisor, and a control group that the kernel ends as a whole (`cgroup.kill`, cgroups(7)).
    ///
    /// Needs Linux 5.14 and a cgroup that was delegated to this user.
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
