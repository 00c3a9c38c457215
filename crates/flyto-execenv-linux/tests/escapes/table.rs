//! What is tried, by which user, and what is promised of it.

use std::fmt;

use flyto_execenv_linux::KillMechanism;

/// The user of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum User {
    Root,
    Ordinary,
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
    /// The host is stopped before the deadline of the call, and killed when that has passed.
    HostStopped,
}

impl Way {
    pub(crate) const ALL: [Self; 7] = [
        Self::Exit,
        Self::Deadline,
        Self::Cancel,
        Self::Drop,
        Self::HostKilled,
        Self::HostExits,
        Self::HostStopped,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Exit => "exit",
            Self::Deadline => "deadline",
            Self::Cancel => "cancel",
            Self::Drop => "drop",
            Self::HostKilled => "host killed",
            Self::HostExits => "host exits",
            Self::HostStopped => "host stopped",
        }
    }

    pub(crate) fn parse(name: &str) -> Self {
        Self::ALL.into_iter().find(|it| it.name() == name).expect("a way")
    }

    /// Whether the host lives on and says what came of the call.
    pub(crate) const fn leaves_the_host(self) -> bool {
        !matches!(self, Self::HostKilled | Self::HostExits | Self::HostStopped)
    }
}

/// By which means a tree is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Means {
    pub(crate) mechanism: KillMechanism,
    /// Whether the host has adopted what a killed supervisor leaves.
    pub(crate) adopts: bool,
}

const fn means(mechanism: KillMechanism) -> Means {
    Means { mechanism, adopts: false }
}

pub(crate) const MEANS: [(Means, &str); 5] = [
    (means(KillMechanism::Group), "process group"),
    (means(KillMechanism::Subreaper), "subreaper"),
    (Means { mechanism: KillMechanism::Subreaper, adopts: true }, "subreaper, host adopts"),
    (means(KillMechanism::PidNamespace), "PID namespace"),
    (means(KillMechanism::Cgroup), "cgroup"),
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
    "first thread has ended",
    ORPHANED_NAMESPACE,
];

/// A PID namespace whose first process has lost its parent, with a process that the first one does not reap.
pub(crate) const ORPHANED_NAMESPACE: &str = "orphaned PID namespace";

/// Each of these has a limit of processes to itself.
pub(crate) const BOMBS: &[&str] =
    &["fork bomb", "fork bomb, setsid", "fork and exit", "fork and exit, setsid"];

/// How often one has to look to see a process of this kind: each of a chain is gone when its number has
/// just been read.
pub(crate) fn looks(kind: &str) -> u32 {
    if kind.starts_with("fork and exit") { 20 } else { 1 }
}

/// These turn on the supervisor. Without one the parent is the host itself.
pub(crate) const ATTACKS: &[&str] = &[
    "kills its parent",
    "kills its parent, setsid",
    "another cgroup, kills its parent",
    "first thread has ended, kills its parent",
    "takes its parent's descriptors",
    "stops its parent",
    "stops its parent again and again",
    "traces its parent",
];

/// Whether nothing may be left of the call.
pub(crate) fn is_promised(user: User, means: Means, way: Way, kind: &str) -> bool {
    match means.mechanism {
        // No process is left that knows of the process group.
        KillMechanism::Group if !way.leaves_the_host() => false,
        KillMechanism::Group => match kind {
            // A process of root's is not ours to kill.
            "another user" => user == User::Root,
            _ => STAY_IN_THE_PROCESS_GROUP.contains(&kind),
        },
        KillMechanism::Subreaper => match (kind, user) {
            // Only a host that adopts them knows of them: isolation and other mechanisms prevent that.
            _ if KILLERS.contains(&kind) => means.adopts && way.leaves_the_host(),
            // A process of root's is not ours to kill.
            ("another user", User::Ordinary) => false,
            _ => is_promised_of_a_stopped_supervisor(user, way, kind),
        },
        // A user that may write to the cgroups above its own leaves it: root, and the one they were delegated to.
        KillMechanism::Cgroup if kind == "another cgroup, kills its parent" => false,
        // Of both that know of the cgroup, none is left: the next host ends it.
        KillMechanism::Cgroup if KILLERS.contains(&kind) => way.leaves_the_host(),
        KillMechanism::Cgroup => is_promised_of_a_stopped_supervisor(user, way, kind),
        _ => true,
    }
}

/// Once the host is gone or stopped, no process wakes the supervisor time and again, or ends one that traces it.
fn is_promised_of_a_stopped_supervisor(user: User, way: Way, kind: &str) -> bool {
    match (kind, user) {
        // The end of its host wakes a supervisor once.
        ("stops its parent", _) => way != Way::HostStopped,
        ("stops its parent again and again", _) | ("traces its parent", User::Root) => {
            way.leaves_the_host()
        }
        _ => true,
    }
}

/// Whether something has to be left: where nothing ever is, the table would show a ladder that is not
/// climbed. Elsewhere what is not promised may hold all the same.
pub(crate) fn is_left(user: User, means: Means, way: Way, kind: &str) -> bool {
    // A look can miss every process of a chain, and a bomb that may have no more processes can be all in the process
    // group.
    let is_certain = !BOMBS.contains(&kind);
    means.mechanism == KillMechanism::Group && is_certain && !is_promised(user, means, way, kind)
}

/// The attacks that kill the supervisor.
const KILLERS: &[&str] = &[
    "kills its parent",
    "kills its parent, setsid",
    "another cgroup, kills its parent",
    "first thread has ended, kills its parent",
];

/// The kinds that stay in the process group of their call.
const STAY_IN_THE_PROCESS_GROUP: &[&str] =
    &["child", "holds the pipes", "double fork", "fork bomb", "fork and exit"];

/// Where a cell stands.
pub(crate) type Key = (User, Means, String, Way);

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
