//! What came of a program.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    fmt, io,
    net::IpAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{Capability, ExecReadiness, LimitKind, Limits, Signal};

/// How the leader ended.
///
/// ```
/// use flyto_execenv::{Exit, Signal};
///
/// assert!(Exit::Code(0).success());
/// assert!(!Exit::Signal(Signal::KILL).success());
/// assert_eq!(Signal::KILL.name(), Some("SIGKILL"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// A signal ended it.
    Signal(Signal),
}

impl Exit {
    /// Whether it exited with code 0.
    #[must_use]
    pub const fn success(self) -> bool {
        matches!(self, Self::Code(0))
    }
}

/// Why the call is over. All of these are results: the call took place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ending {
    /// The leader ended by itself, or by a signal that was not ours.
    Exited(Exit),
    /// The deadline passed. What the leader did when it was asked to stop does not change that, nor does a
    /// bound that ended it then.
    TimedOut,
    /// The caller cancelled.
    Cancelled,
    /// A bound was reached.
    LimitReached(LimitKind),
}

/// What was kept of one stream.
///
/// ```
/// use flyto_execenv::{Capture, ExecEnv, Output, Spec, local::Local};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), flyto_execenv::ExecError> {
/// let env = ExecEnv::new(Local::new());
/// let spec = Spec::new("/bin/sh").args(["-c", "printf 0123456789"]);
/// let outcome = env.run(spec.stdout(Output::Captured(Capture::limit(4)))).await?;
/// // The start and the end are kept, and the middle is counted.
/// assert_eq!((&*outcome.stdout.bytes(), outcome.stdout.omitted_bytes()), (&b"0189"[..], 6));
/// # Ok(()) }
/// ```
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Captured {
    /// The start of the stream.
    pub head: Vec<u8>,
    /// Its end. Where nothing was left out, it continues `head`.
    pub tail: Vec<u8>,
    /// Bytes that arrived, kept or not.
    pub total_bytes: u64,
    /// The file that holds the whole stream, where one was asked for and the limit was outgrown.
    pub spill: Option<Spill>,
}

/// The file that a stream was written to.
#[derive(Debug)]
#[non_exhaustive]
pub struct Spill {
    /// Where it lies, or was to lie.
    pub path: PathBuf,
    /// The reason why there is no file with the whole stream: a full disk, or more than fits
    /// ([`io::ErrorKind::FileTooLarge`]).
    pub error: Option<io::Error>,
}

impl Captured {
    /// A stream of which everything was kept.
    #[must_use]
    pub fn complete(bytes: impl Into<Vec<u8>>) -> Self {
        let head = bytes.into();
        Self { total_bytes: head.len() as u64, head, tail: Vec::new(), spill: None }
    }

    /// Bytes that arrived and were not kept in memory, between head and tail. None where more was kept than is said to
    /// have arrived: the fields can be set to anything.
    #[must_use]
    pub fn omitted_bytes(&self) -> u64 {
        let kept = (self.head.len() as u64).saturating_add(self.tail.len() as u64);
        self.total_bytes.saturating_sub(kept)
    }

    /// Whether every byte was kept.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.omitted_bytes() == 0
    }

    /// Head and tail in one piece, whether or not something was left out between them.
    #[must_use]
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        if self.tail.is_empty() {
            Cow::Borrowed(&self.head)
        } else {
            Cow::Owned([self.head.as_slice(), &self.tail].concat())
        }
    }

    /// As [`Captured::bytes`], without a copy where there is no tail.
    #[must_use]
    pub fn into_bytes(mut self) -> Vec<u8> {
        self.head.append(&mut self.tail);
        self.head
    }

    /// Where the whole stream lies, if a file holds all of it.
    #[must_use]
    pub fn whole(&self) -> Option<&Path> {
        self.spill.as_ref().filter(|it| it.error.is_none()).map(|it| it.path.as_path())
    }
}

/// Peak memory, with what it was measured on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PeakMemory {
    /// Not measured.
    #[default]
    Unknown,
    /// Resident bytes of the largest single process: getrusage(2), `ru_maxrss`.
    LargestProcess(u64),
    /// As [`PeakMemory::LargestProcess`], and at most this: a program that `posix_spawn` started
    /// shares the host's memory until its image is in place, and Linux counts that in.
    AtMost(u64),
    /// Bytes of the whole tree at its peak, as a control group accounts for them.
    Tree(u64),
}

impl PeakMemory {
    /// The number of bytes, whatever it was measured on.
    #[must_use]
    pub const fn bytes(self) -> Option<u64> {
        match self {
            Self::Unknown => None,
            Self::LargestProcess(bytes) | Self::AtMost(bytes) | Self::Tree(bytes) => Some(bytes),
        }
    }
}

/// What the program used, as far as the backend measured it. What was not measured is absent, never zero.
///
/// ```
/// use std::time::Duration;
///
/// use flyto_execenv::{PeakMemory, Usage};
///
/// let usage = Usage::unknown()
///     .user_cpu(Duration::from_millis(20))
///     .system_cpu(Duration::from_millis(5))
///     .covers_tree(true)
///     .peak_memory(PeakMemory::Tree(8 << 20));
/// assert_eq!(usage.cpu(), Some(Duration::from_millis(25)));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// CPU time in user mode.
    pub user_cpu: Option<Duration>,
    /// CPU time in system mode.
    pub system_cpu: Option<Duration>,
    /// Whether CPU time covers every descendant, as a control group counts it; else it is that of the leader and
    /// of every process that was waited for, and can be too low. The kernel adds the time of a process to no other
    /// one where its parent ignores `SIGCHLD` (wait(2)). Of such a process the time counts then as far as a backend
    /// has seen it: with samples, while a limit on CPU time held.
    pub covers_tree: bool,
    /// Peak memory.
    pub peak_memory: PeakMemory,
    /// CPU time that a process used before its call, where it waited for it: `user_cpu` and `system_cpu` are without it.
    /// `None` where the process was started for the call, and where this was not measured; then they are with it.
    pub startup_cpu: Option<Duration>,
}

impl Usage {
    /// Nothing measured.
    #[must_use]
    pub fn unknown() -> Self {
        Self::default()
    }

    /// Sets the CPU time in user mode.
    #[must_use]
    pub fn user_cpu(mut self, time: Duration) -> Self {
        self.user_cpu = Some(time);
        self
    }

    /// Sets the CPU time in system mode.
    #[must_use]
    pub fn system_cpu(mut self, time: Duration) -> Self {
        self.system_cpu = Some(time);
        self
    }

    /// Sets whether CPU time covers every descendant.
    #[must_use]
    pub fn covers_tree(mut self, covers_tree: bool) -> Self {
        self.covers_tree = covers_tree;
        self
    }

    /// Sets the peak memory, with what it was measured on.
    #[must_use]
    pub fn peak_memory(mut self, peak: PeakMemory) -> Self {
        self.peak_memory = peak;
        self
    }

    /// The usage of a call whose process had used this much before it.
    pub(crate) fn since(mut self, before: &Self) -> Self {
        if let (Some(startup), Some(all)) = (before.cpu(), self.cpu()) {
            // Before the end only the sum is known; of what is left, the system's part is kept.
            let left = all.saturating_sub(startup);
            let user = self.user_cpu.unwrap_or_default().saturating_sub(startup).min(left);
            (self.user_cpu, self.system_cpu) = (Some(user), Some(left - user));
            self.startup_cpu = Some(startup.min(all));
        }
        self
    }

    /// User and system time together.
    #[must_use]
    pub fn cpu(&self) -> Option<Duration> {
        Some(self.user_cpu? + self.system_cpu?)
    }
}

/// A host that a program was blocked from connecting to, where its network is limited to named hosts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DeniedHost {
    /// Its name, or its address without brackets, as the program asked for it.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Why it was blocked.
    pub why: HostDenial,
}

/// Why a program was blocked from connecting to a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HostDenial {
    /// No pattern names it.
    NotNamed,
    /// Its name leads to this address, which is one inside of a network and is not named itself.
    Inside(IpAddr),
    /// A TLS connection to it named another host.
    OtherName,
    /// A TLS connection to it had an encrypted name beside its own (Encrypted Client Hello, RFC 9849), which may be
    /// that of another host.
    HiddenName,
}

impl DeniedHost {
    /// A host, and why a program was blocked from connecting to it.
    #[must_use]
    pub fn new(host: impl Into<String>, port: u16, why: HostDenial) -> Self {
        Self { host: host.into(), port, why }
    }

    /// Host and port as a [`HostPattern`](crate::HostPattern) has them: `example.org:443`, `[::1]:80`.
    #[must_use]
    pub fn place(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Display for HostDenial {
    /// What follows the host and a colon: `host not allowed`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotNamed => f.write_str("host not allowed"),
            Self::Inside(address) => {
                write!(f, "its name leads to {address}, an internal address that is not allowed")
            }
            Self::OtherName => f.write_str("the TLS connection named another host"),
            Self::HiddenName => f.write_str(
                "the TLS connection had an encrypted name (ECH), which may be that of another host",
            ),
        }
    }
}

/// How a tree was ended: what a backend reports once nothing is left of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// How the leader ended; `None` where it did not end within the backend's bound.
    pub exit: Option<Exit>,
    /// Descendants that outlived the leader and were ended; `None` where they cannot be counted.
    pub leaked: Option<u32>,
    /// Whether everything in the declared scope is known to be gone.
    pub confirmed: bool,
    /// The bound that ended the leader, where the backend keeps bounds and one did.
    pub limit: Option<LimitKind>,
    /// Whether the backend's own clock ended the leader at the deadline of the spec, before the handle did.
    pub timed_out: bool,
    /// What was used.
    pub usage: Usage,
    /// Hosts that the program was blocked from connecting to: the first of them, each once.
    pub denied_hosts: Vec<DeniedHost>,
}

impl Ended {
    /// A tree of which nothing is left and of which nothing had to be ended.
    #[must_use]
    pub fn clean(exit: Exit) -> Self {
        Self { exit: Some(exit), leaked: Some(0), confirmed: true, ..Self::default() }
    }

    /// Sets the bound that ended the leader.
    #[must_use]
    pub fn limit(mut self, limit: LimitKind) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Sets whether the backend's own clock ended the leader at its deadline.
    #[must_use]
    pub fn timed_out(mut self, timed_out: bool) -> Self {
        self.timed_out = timed_out;
        self
    }

    /// Sets how many descendants outlived the leader.
    #[must_use]
    pub fn leaked(mut self, leaked: Option<u32>) -> Self {
        self.leaked = leaked;
        self
    }

    /// Sets whether everything is known to be gone.
    #[must_use]
    pub fn confirmed(mut self, confirmed: bool) -> Self {
        self.confirmed = confirmed;
        self
    }

    /// Sets what was used.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Sets which hosts the program was blocked from connecting to.
    #[must_use]
    pub fn denied_hosts(mut self, hosts: Vec<DeniedHost>) -> Self {
        self.denied_hosts = hosts;
        self
    }
}

/// What a program did, and what it was bounded by.
///
/// ```
/// use std::time::Duration;
///
/// use flyto_execenv::{Ending, ExecEnv, Spec, local::Local};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), flyto_execenv::ExecError> {
/// let env = ExecEnv::new(Local::new());
/// let spec = Spec::new("/bin/sh").args(["-c", "echo working; exec sleep 60"]);
/// let outcome = env.run(spec.env_var("PATH", "/bin").deadline(Duration::from_millis(200))).await?;
/// match outcome.ending {
///     Ending::Exited(exit) => println!("it ended by itself: {exit:?}"),
///     Ending::TimedOut => println!("so far: {}", String::from_utf8_lossy(&outcome.stdout.bytes())),
///     other => println!("{other:?}"),
/// }
/// assert!(outcome.confirmed, "a process of the call may still be running");
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// Why the call is over.
    pub ending: Ending,
    /// How the leader ended, also where it was ended; `None` where nothing ran or its end could not
    /// be confirmed.
    pub exit: Option<Exit>,
    /// What was kept of stdout; with a merged stderr, both.
    pub stdout: Captured,
    /// What was kept of stderr.
    pub stderr: Captured,
    /// Whether a descendant still held stdout or stderr when the wait for it was given up.
    pub pipe_held: bool,
    /// Descendants that outlived the leader and were ended; `None` where they cannot be counted.
    pub leaked: Option<u32>,
    /// Whether everything in the kill scope is known to be gone.
    pub confirmed: bool,
    /// Time from the start of the program to the end of the call.
    pub wall: Duration,
    /// Time spent waiting for a free place among the calls in flight.
    pub queued: Duration,
    /// What was used.
    pub usage: Usage,
    /// Hosts that the program was blocked from connecting to, the first of them, each once; nothing where
    /// its network is not limited to named hosts, or the backend does not see what it asks for.
    pub denied_hosts: Vec<DeniedHost>,
    /// The backend that ran it.
    pub backend: String,
    /// What was in force: what was demanded, and what the backend keeps beyond that.
    pub enforced: BTreeSet<Capability>,
    /// The bounds that held: those of the spec as its class left them, and those that the backend keeps by itself
    /// ([`Capabilities::tree_limits`](crate::Capabilities::tree_limits)).
    pub limits: Limits,
    /// The names of the profiles that held ([`Spec::profiles`](crate::Spec::profiles)).
    pub profiles: Vec<String>,
    /// Whether a process waited for the call.
    pub readiness: ExecReadiness,
}

impl Outcome {
    /// Whether the leader ended by itself with code 0.
    #[must_use]
    pub const fn success(&self) -> bool {
        matches!(self.ending, Ending::Exited(Exit::Code(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_out_is_the_rest() {
        let captured =
            Captured { head: b"ab".to_vec(), tail: b"yz".to_vec(), total_bytes: 26, spill: None };
        assert_eq!((captured.omitted_bytes(), captured.is_complete()), (22, false));
        assert_eq!(&*captured.bytes(), b"abyz");
        assert_eq!(captured.into_bytes(), b"abyz");
        let odd = Captured { head: b"ab".to_vec(), total_bytes: 1, ..Captured::default() };
        assert_eq!((odd.omitted_bytes(), odd.is_complete()), (0, true));
    }
}
