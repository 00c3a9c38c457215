//! What is tried, by whom, and what is promised of it.

use std::fmt;

use flyto_execenv_linux::KillRung;

/// Who the host is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum User {
    Root,
    Nobody,
}

/// How a call ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    /// The tool exits and leaves something behind.
    Exit,
    Deadline,
    Cancel,
    /// The future of the call is dropped.
    Drop,
    /// The host is killed with SIGKILL.
    HostKilled,
    /// The host exits in the middle of the call.
    HostExits,
}

impl Way {
    pub(crate) const ALL: [Self; 6] =
        [Self::Exit, Self::Deadline, Self::Cancel, Self::Drop, Self::HostKilled, Self::HostExits];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Exit => "exit",
            Self::Deadline => "deadline",
            Self::Cancel => "cancel",
            Self::Drop => "drop",
            Self::HostKilled => "host killed",
            Self::HostExits => "host exits",
        }
    }

    pub(crate) fn parse(name: &str) -> Self {
        Self::ALL.into_iter().find(|it| it.name() == name).expect("a way")
    }

    /// Whether the host lives on and says what came of the call.
    pub(crate) const fn leaves_the_host(self) -> bool {
        !matches!(self, Self::HostKilled | Self::HostExits)
    }
}

pub(crate) const RUNGS: [(KillRung, &str); 3] = [
    (KillRung::Group, "group"),
    (KillRung::Subreaper, "subreaper"),
    (KillRung::PidNamespace, "PID namespace"),
];

pub(crate) const KINDS: &[&str] = &[
    "child",
    "holds the pipes",
    "setsid",
    "double fork",
    "setsid, double fork",
    "daemon, closed pipes",
    "ignores signals",
    "stopped",
    "30 processes",
    "user and PID namespace",
    "subreaper",
    "from a thread",
    "child of the parent",
    "traced",
    "another cgroup",
    "another user",
    "attacks PID 1",
    "joins the host's namespace",
];

/// Each of these has a limit of processes to itself.
pub(crate) const BOMBS: &[&str] =
    &["fork bomb", "fork bomb, setsid", "fork and exit", "fork and exit, setsid"];

/// These turn on the supervisor. Without one the parent is the host itself.
pub(crate) const ATTACKS: &[&str] = &[
    "kills its parent",
    "kills its parent, setsid",
    "stops its parent",
    "stops its parent again and again",
    "traces its parent",
];

/// Whether nothing may be left of the call.
pub(crate) fn is_promised(user: User, rung: KillRung, way: Way, kind: &str) -> bool {
    match rung {
        KillRung::Group => matches!(kind, "child" | "holds the pipes") && way.leaves_the_host(),
        KillRung::Subreaper => match (kind, user) {
            // Nobody is left who would know of them: isolation and other rungs prevent that.
            ("kills its parent, setsid", _) => false,
            ("kills its parent", _) => false,
            // Once the host is gone, nobody wakes the supervisor time and again, or ends who traces it.
            ("stops its parent again and again", _) => way.leaves_the_host(),
            ("traces its parent", User::Root) => way.leaves_the_host(),
            // A process of root's is not ours to kill.
            ("another user", User::Nobody) => false,
            _ => true,
        },
        _ => true,
    }
}

/// What became of one call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    pub(crate) survivors: usize,
    /// How the host says that the call ended; empty where the host has ended as well.
    pub(crate) outcome: String,
    /// What the tool says of its attempts.
    pub(crate) said: String,
}

impl Cell {
    /// Whether the outcome says that not everything is known to be gone.
    pub(crate) fn is_honest(&self) -> bool {
        self.outcome.contains("Lost") || self.outcome.contains("unconfirmed")
    }

    pub(crate) fn to_line(&self, kind: &str) -> String {
        format!("{kind}\t{}\t{}\t{}", self.survivors, self.outcome, self.said)
    }

    pub(crate) fn parse(line: &str) -> Option<(String, Self)> {
        let mut fields = line.split('\t').map(str::to_owned);
        let kind = fields.next()?;
        let survivors = fields.next()?.parse().ok()?;
        Some((kind, Self { survivors, outcome: fields.next()?, said: fields.next()? }))
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.is_honest() { "?" } else { "" };
        write!(f, "{}{mark}", self.survivors)
    }
}
