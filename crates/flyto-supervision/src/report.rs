//! What a supervisor says to its host.

use super::Reader;

/// What a report says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportKind {
    /// The supervisor has done its [`Setup`](crate::Setup).
    Ready,
    /// The setup or the start failed at `stage` with `errno`; nothing ran.
    Failed,
    /// The program's image is in place.
    Started,
    /// The program has ended, and descendants of it are alive. `Ended` follows an [`Order::End`](crate::Order::End).
    Exited,
    /// Nothing of the program is left, as far as `confirmed` says; the supervisor takes the next one.
    Ended,
}

/// Where a setup or a start failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stage {
    /// Nowhere.
    #[default]
    None,
    /// The message was no record, or came without its descriptors.
    Message,
    /// Memory for arguments and environment.
    Memory,
    /// The namespaces.
    Namespace,
    /// The mount namespace, or the mounts in it.
    Mounts,
    /// The network namespace, or the socket in it.
    Network,
    /// The list of the supervisor's children, without which it cannot end them: `/proc` is missing, or
    /// Linux was built without it (`children`, proc_pid_task(5)).
    Children,
    /// The system call filter.
    Filter,
    /// The Landlock ruleset.
    Landlock,
    /// The new process.
    Clone,
    /// The cgroup that the new process puts itself into, where it could not be cloned into it.
    Cgroup,
    /// stdin, stdout and stderr.
    Streams,
    /// The working directory.
    Dir,
    /// The process group or session.
    ProcessGroup,
    /// The bounds of setrlimit(2).
    Bounds,
    /// Giving up privileges.
    Privileges,
    /// The program's image.
    Exec,
}

impl Stage {
    /// Every stage, in the order of a start.
    pub const ALL: [Self; 17] = [
        Self::None,
        Self::Message,
        Self::Memory,
        Self::Namespace,
        Self::Mounts,
        Self::Network,
        Self::Children,
        Self::Filter,
        Self::Landlock,
        Self::Clone,
        Self::Cgroup,
        Self::Streams,
        Self::Dir,
        Self::ProcessGroup,
        Self::Bounds,
        Self::Privileges,
        Self::Exec,
    ];

    /// What failed, in words: `enter the working directory`.
    #[must_use]
    pub const fn what(self) -> &'static str {
        match self {
            Self::None => "do nothing",
            Self::Message => "read the request",
            Self::Memory => "allocate memory for the arguments",
            Self::Namespace => "make the namespaces",
            Self::Mounts => "make the mounts of read-only paths and shared memory",
            Self::Network => "make a network namespace with a socket in it",
            Self::Children => "list the children of a process in /proc",
            Self::Filter => "load the system call filter",
            Self::Landlock => "enter the Landlock domain",
            Self::Clone => "make a process",
            Self::Cgroup => "put the process into its control group",
            Self::Streams => "put the streams in place",
            Self::Dir => "enter the working directory",
            Self::ProcessGroup => "make the process group",
            Self::Bounds => "set the bounds",
            Self::Privileges => "give up privileges",
            Self::Exec => "execute the program",
        }
    }

    fn from_u8(n: u8) -> Option<Self> {
        Self::ALL.get(usize::from(n)).copied()
    }
}

/// Which bound a supervisor ended a tree for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reached {
    /// None.
    #[default]
    Nothing,
    /// [`Start::cpu_ns`](crate::Start::cpu_ns).
    Cpu,
    /// [`Start::memory_bytes`](crate::Start::memory_bytes).
    Memory,
    /// [`Start::deadline_ns`](crate::Start::deadline_ns).
    Deadline,
}

/// What a supervisor says. Fields without meaning for the kind are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// What it says.
    pub kind: ReportKind,
    /// Where it failed.
    pub stage: Stage,
    /// The bound that the tree was ended for.
    pub reached: Reached,
    /// Whether nothing is left; `false` where something could not be ended in time.
    pub confirmed: bool,
    /// Whether the supervisor takes another program after this one.
    pub serves_on: bool,
    /// The error number of the failure. 0 says that the system answered success and a trial showed that nothing
    /// was done, as under a filter of system calls that answers in the kernel's place.
    pub errno: u32,
    /// The program's process, as the supervisor sees it.
    pub pid: u32,
    /// How the program ended, as wait(2) encodes it.
    pub status: u32,
    /// Descendants that outlived the program and were killed.
    pub leaked: u32,
    /// The largest resident set of one process, in KiB (getrusage(2)).
    pub max_rss_kib: u64,
    /// CPU time in user mode, in microseconds: that of the tree where `covers_tree`, else that of every process
    /// that was waited for, and of others as far as the supervisor has seen them while a bound on CPU time held.
    pub user_us: u64,
    /// CPU time in system mode, likewise.
    pub system_us: u64,
    /// Whether a cgroup counted the CPU time, so that it is that of every process of the tree.
    pub covers_tree: bool,
}

/// Bytes of a [`Report`].
pub const REPORT_BYTES: usize = 46;

impl Report {
    /// A report that says no more than its kind.
    #[must_use]
    pub const fn new(kind: ReportKind) -> Self {
        Self {
            kind,
            stage: Stage::None,
            reached: Reached::Nothing,
            confirmed: true,
            serves_on: true,
            errno: 0,
            pid: 0,
            status: 0,
            leaked: 0,
            max_rss_kib: 0,
            user_us: 0,
            system_us: 0,
            covers_tree: false,
        }
    }

    /// Reads a record.
    #[must_use]
    pub fn read(record: &[u8]) -> Option<Self> {
        let mut reader = Reader { rest: record };
        let kind = match reader.u8()? {
            1 => ReportKind::Ready,
            2 => ReportKind::Failed,
            3 => ReportKind::Started,
            4 => ReportKind::Exited,
            5 => ReportKind::Ended,
            _ => return None,
        };
        Some(Self {
            kind,
            stage: Stage::from_u8(reader.u8()?)?,
            reached: match reader.u8()? {
                0 => Reached::Nothing,
                1 => Reached::Cpu,
                2 => Reached::Memory,
                3 => Reached::Deadline,
                _ => return None,
            },
            confirmed: reader.u8()? != 0,
            serves_on: reader.u8()? != 0,
            errno: reader.u32()?,
            pid: reader.u32()?,
            status: reader.u32()?,
            leaked: reader.u32()?,
            max_rss_kib: reader.u64()?,
            user_us: reader.u64()?,
            system_us: reader.u64()?,
            covers_tree: reader.u8()? != 0,
        })
    }

    /// The record.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; REPORT_BYTES] {
        let mut res = [0; REPORT_BYTES];
        let head = [
            match self.kind {
                ReportKind::Ready => 1,
                ReportKind::Failed => 2,
                ReportKind::Started => 3,
                ReportKind::Exited => 4,
                ReportKind::Ended => 5,
            },
            self.stage as u8,
            match self.reached {
                Reached::Nothing => 0,
                Reached::Cpu => 1,
                Reached::Memory => 2,
                Reached::Deadline => 3,
            },
            u8::from(self.confirmed),
            u8::from(self.serves_on),
        ];
        res[..5].copy_from_slice(&head);
        res[5..9].copy_from_slice(&self.errno.to_le_bytes());
        res[9..13].copy_from_slice(&self.pid.to_le_bytes());
        res[13..17].copy_from_slice(&self.status.to_le_bytes());
        res[17..21].copy_from_slice(&self.leaked.to_le_bytes());
        res[21..29].copy_from_slice(&self.max_rss_kib.to_le_bytes());
        res[29..37].copy_from_slice(&self.user_us.to_le_bytes());
        res[37..45].copy_from_slice(&self.system_us.to_le_bytes());
        res[45] = u8::from(self.covers_tree);
        res
    }
}
