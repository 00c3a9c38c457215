//! The contract between callers and backends.

use std::{collections::BTreeSet, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{
    Capabilities, Capability, Ended, ExecError, Exit, InstallPlaces, Installed, Signal, Spec,
};

/// A stream that a program reads.
pub type BoxedWriter = Box<dyn AsyncWrite + Send + Unpin>;
/// A stream that a program writes.
pub type BoxedReader = Box<dyn AsyncRead + Send + Unpin>;

/// Runs programs somewhere: on this machine, in a container, on another host.
///
/// A backend is small because [`ExecEnv`](crate::ExecEnv) drives it: the handle refuses what the
/// backend does not declare, feeds stdin, drains and bounds output, keeps the deadline and the
/// drain time, and asks for the end of the tree. Every clause below is a case of the conformance
/// suite under the same name.
///
/// # What a start promises
///
/// - `argv-verbatim` — arguments arrive byte for byte; no shell is involved unless the program is one.
/// - `env-starts-empty` — the program sees the variables of the spec and no others.
/// - `lookup-is-the-specs` — a name without a slash is looked up in the spec's `PATH`, not in the host's, and the first executable hit runs.
/// - `relative-program-is-in-the-working-dir` — a relative program path is taken from the spec's working directory.
/// - `working-dir-is-the-specs` — the program starts in the spec's working directory.
/// - `working-dir-stays-clean` — the backend leaves no file of its own in the working directory.
/// - `missing-program` — a program that is nowhere is `ProgramNotFound`, and nothing ran.
/// - `not-executable` — a file without the right to execute is `NotExecutable`, and nothing ran.
/// - `directory-as-program` — a directory is `IsDirectory`, and nothing ran.
/// - `bad-interpreter` — a script whose interpreter is missing is `BadInterpreter`, and nothing ran.
/// - `bad-working-dir` — a working directory that is missing is `BadWorkingDir`, and nothing ran.
/// - `just-written-program-runs` — a program that was written a moment ago runs, also when others start at the same time.
/// - `pinned-bytes-run` — a pinned program whose file has the digest runs, found as any other, as often as it is called.
/// - `pinned-mismatch-is-refused` — a pinned program whose file has another digest is `DigestMismatch`, and nothing ran.
/// - `pinned-swap-is-caught` — when the file of a pinned program is replaced or rewritten, also between check and start, the pinned bytes run or nothing does.
/// - `no-extra-descriptors` — the program has descriptors 0, 1 and 2 and no others.
/// - `stdin-is-never-the-hosts` — without input the program reads the end of input at once.
/// - `impossible-specs-are-refused` — a NUL byte, a nameless variable, a relative working directory are `InvalidSpec`, and nothing ran.
/// - `undeclared-is-refused` — a spec that demands an undeclared capability is `Unsupported`, and nothing ran.
///
/// # What a run promises
///
/// - `exit-codes-are-exact` — codes 0, 1, 42 and 255 arrive as they are.
/// - `signals-are-exact` — death by a signal is that signal, not a code.
/// - `streams-are-bytes` — any bytes on stdin, stdout and stderr arrive unchanged.
/// - `big-input-does-not-deadlock` — input and output larger than any pipe pass through at once.
/// - `unread-stdin-is-no-error` — a program that never reads, or closes stdin early, succeeds.
/// - `output-is-bounded` — memory stays under the limit however much is printed; the true count is kept.
/// - `output-limit-ends-the-tree` — more output than the limit ends the program, and the outcome names the limit.
/// - `merged-stderr-keeps-order` — with a merged stderr, writes to both streams arrive in the order of the writes.
/// - `output-arrives-while-it-runs` — a program's first line can be observed before it ends.
/// - `slow-observer-slows-the-program` — a program waits for an observer that does not take its output.
/// - `piped-streams-talk` — a program with piped streams answers each request while it runs.
/// - `calls-do-not-mix` — many calls at once each get their own output and their own end.
/// - `nothing-is-left-behind` — after many calls the host has as many processes, descriptors and threads as before.
#[async_trait]
pub trait Executor: fmt::Debug + Send + Sync + 'static {
    /// What this backend can honour. The answer does not change during the backend's life.
    fn capabilities(&self) -> &Capabilities;

    /// What is known to keep this spec from starting, without starting it: a program that is not there,
    /// say. `Ok` promises nothing. By default nothing is known.
    ///
    /// # Errors
    ///
    /// What [`start`](Executor::start) would most likely answer.
    fn foresee(&self, _spec: &Spec) -> Result<(), ExecError> {
        Ok(())
    }

    /// What the program of this spec was installed with, by the rules of [`InstallPlaces`], so that it can be read. The
    /// handle adds it to the spec's grants. By default that is nothing.
    fn installed(&self, _spec: &Spec, _places: &Arc<InstallPlaces>) -> Installed {
        Installed::default()
    }

    /// Starts `spec`, or says why not and whether anything ran.
    ///
    /// The spec has passed [`Spec::check`] and demands nothing undeclared. Bytes for stdin are in
    /// the spec, so that a backend may write them into the pipe before the program starts: then
    /// [`Running::stdin`] is `None`; otherwise the handle writes them to [`Running::stdin`].
    /// Dropping the future leaves nothing running.
    ///
    /// # Errors
    ///
    /// One of the kinds that name a cause, with [`ExecError::did_start`] telling the truth.
    async fn start(&self, spec: Spec) -> Result<Running, ExecError>;
}

/// One running program: its streams, and what can be done to it. Dropping it kills the tree at once.
#[non_exhaustive]
pub struct Running {
    /// Where its input goes; `None` when it has none or already has all of it.
    pub stdin: Option<BoxedWriter>,
    /// Its output; `None` when it is thrown away.
    pub stdout: Option<BoxedReader>,
    /// Its error output; `None` when it is thrown away or merged into stdout.
    pub stderr: Option<BoxedReader>,
    /// What can be done to it.
    pub control: Box<dyn Control>,
    /// What is in force beyond what its spec demands, such as [`Capability::TreeKill`] where whoever keeps
    /// its bounds ends its tree.
    pub enforced: BTreeSet<Capability>,
}

impl Running {
    /// A program without streams; set the ones that it has.
    #[must_use]
    pub fn new(control: impl Control) -> Self {
        let (control, enforced) = (Box::new(control), BTreeSet::new());
        Self { stdin: None, stdout: None, stderr: None, control, enforced }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("control", &self.control).finish_non_exhaustive()
    }
}

/// What can be done to a running program.
///
/// The handle calls [`wait`](Control::wait) and [`end`](Control::end) from one task at a time;
/// [`signal`](Control::signal) may come from anywhere, also from a destructor without a runtime.
///
/// # What an end promises
///
/// - `exited-then-closed` — exit and end of output are two events; a descendant that holds the pipe is reported, not waited for.
/// - `chatty-leaker-is-cut-off` — a descendant that goes on writing after the leader's exit does not delay the result beyond the drain time.
/// - `leaked-are-ended` — what outlives the leader is ended and, where declared, counted; else the count is `None`.
/// - `deadline-ends-the-tree` — after a deadline nothing of the kill scope is alive, and the outcome is `TimedOut` with the output so far.
/// - `deadline-covers-stdin` — the deadline holds for a program that never reads its input.
/// - `cancel-ends-the-tree` — after a cancellation nothing of the kill scope is alive, and the outcome is `Cancelled`.
/// - `grace-asks-first` — with a grace, the program is asked to end, also a stopped one, and what it prints then is kept.
/// - `grace-is-bounded` — a program that ignores the request is killed after the grace.
/// - `no-grace-kills-at-once` — without a grace, a program that would end cleanly when asked is not asked.
/// - `stopped-is-ended` — a stopped program ends by its deadline as well.
/// - `escapees-are-ended` — where the kill scope is the tree, what left the leader's group, session or family ends with the leader, also a daemon, a stopped one and a whole tree.
/// - `escapees-end-by-the-deadline` — the same holds for a call that its deadline ends.
/// - `escapees-end-when-cancelled` — the same holds for a call that is cancelled.
/// - `escapees-end-when-dropped` — the same holds for a call that is dropped.
/// - `fork-bomb-is-ended` — where processes are limited and the kill scope is the tree, a program that makes processes without end ends as any other.
/// - `killed-watchers-are-missed` — where the kill scope is the tree, a program that kills its parent fails to, or the call is `Lost`, never a result of the parent's; one that can reach its own processes only fails to.
/// - `stopped-watchers-go-on` — where the kill scope is the tree, a program that stops its parent ends as any other, with all that it started.
/// - `dropped-is-ended` — dropping a call ends it; cancelling a future is a normal way to stop.
/// - `nothing-survives-the-host` — where that is declared, nothing of a call survives its host, also when that is killed.
/// - `cpu-time-is-limited` — CPU time beyond the limit ends the program and its children, also those that no process waits for, and the outcome names the limit.
/// - `memory-is-limited` — more memory than the limit ends the program, or is refused to it.
/// - `file-size-is-limited` — no file grows beyond the limit; a program that this ends is `LimitReached`.
/// - `open-files-are-limited` — no process has more files open than the limit.
/// - `processes-are-limited` — a program cannot have more processes than the limit.
/// - `files-stay-in-the-grants` — where paths are granted, nothing else can be read or changed, by whatever name, and what may be read stays as it is.
/// - `denied-paths-are-closed` — a denied path can be neither read nor changed, whatever is granted and wherever it is moved.
/// - `read-only-paths-stay-as-they-are` — a path that is read-only can be read, and neither changed, removed, replaced nor moved, whatever is granted.
/// - `network-off-is-off` — a program without network is heard by nobody, on this machine either.
/// - `named-hosts-are-all-there-is` — a program whose network is limited to named hosts is heard by those, and by nobody else: not under another name, nor by a name that leads inside of a network.
/// - `the-machine-around-is-closed` — a program whose network is off or limited gets no socket to the machine that this one runs on (vsock(7)).
/// - `local-sockets-off-are-off` — a program without local sockets is heard by none of them.
/// - `restricted-system-calls-fail` — with restricted system calls ordinary work goes on, and namespaces cannot be made.
/// - `rings-are-closed` — with restricted system calls no ring for others can be made (io_uring(7)).
/// - `set-id-bits-are-refused` — with restricted system calls no file gets a set-user-ID or set-group-ID bit (inode(7)), and other modes are set as ever.
/// - `others-are-out-of-reach` — an isolated program can neither signal the program of another call nor read its environment.
/// - `others-are-not-traced` — an isolated program cannot trace the program of another call.
/// - `shared-objects-of-others-are-closed` — an isolated program can reach no shared memory, semaphore or message queue that the program of another call has made (sysvipc(7), mq_overview(7)).
/// - `shared-memory-is-ones-own` — a program with shared memory of its own finds none that the program of another call has made by name (shm_overview(7)), also not an earlier one with the same isolation.
/// - `signals-reach-the-tree` — a signal to the tree reaches the leader and its children, one to the leader reaches it alone; undeclared, they are `Unsupported`.
/// - `usage-is-reported` — CPU time and peak memory are there where they are declared, and absent elsewhere.
/// - `usage-covers-the-tree` — CPU time of descendants that lost their parents, or that no process waits for, counts where that is declared; elsewhere the outcome does not say so.
#[async_trait]
pub trait Control: fmt::Debug + Send + Sync + 'static {
    /// Waits for the leader's end. Cancel-safe and repeatable. Pipes may stay open longer: a
    /// descendant can hold them.
    ///
    /// # Errors
    ///
    /// [`ExecErrorKind::Lost`](crate::ExecErrorKind::Lost) when its end cannot be known.
    async fn wait(&self) -> Result<Exit, ExecError>;

    /// Sends a signal. A target that is gone is no error. Never blocks.
    ///
    /// Where [`Capability::Signals`](crate::Capability::Signals) is not declared, the handle sends
    /// nothing but [`Signal::KILL`] to [`Target::Tree`].
    ///
    /// # Errors
    ///
    /// The signal could not be sent: no permission, no connection.
    fn signal(&self, signal: Signal, target: Target) -> Result<(), ExecError>;

    /// Ends everything in the spec's kill scope and says what there was to end.
    ///
    /// With a grace above zero the tree is asked first and given that time: `SIGTERM`, then `SIGCONT`,
    /// and this again while the grace lasts, so that processes hear it that are stopped or stop
    /// themselves meanwhile. Then it is killed, and its end is confirmed within a
    /// bound of the backend's own. After a [`wait`](Control::wait) that returned, it ends what the
    /// leader left behind.
    ///
    /// # Errors
    ///
    /// [`ExecErrorKind::Lost`](crate::ExecErrorKind::Lost) when nothing is known any more.
    async fn end(&self, grace: Duration) -> Result<Ended, ExecError>;
}

/// Whom a signal is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Target {
    /// The program itself.
    Leader,
    /// Everything in the spec's kill scope.
    Tree,
}

const _: () = {
    const fn stays_dyn(_: Option<(&dyn Executor, &dyn Control)>) {}
    stays_dyn(None);
};
