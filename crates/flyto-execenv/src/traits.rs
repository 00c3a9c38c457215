//! The contract between callers and backends.

use std::{collections::BTreeSet, fmt, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{
    Capabilities, Capability, ColdStart, Ended, ExecError, Exit, InstallPlaces, Installed, Signal,
    SkippedBytes, Spec, StartFiles, Usage,
};

/// A stream that a program reads.
pub type BoxedWriter = Box<dyn AsyncWrite + Send + Unpin>;
/// A stream that a program writes.
pub type BoxedReader = Box<dyn AsyncRead + Send + Unpin>;
/// Tells how many bytes of memory a program and its descendants hold now; `None` where that cannot be told, as when they have
/// ended. It may block for some milliseconds, and is asked by a thread that may.
pub type MemoryMeter = Arc<dyn Fn() -> Option<u64> + Send + Sync>;

/// Runs programs somewhere: on this machine, in a container, on another host.
///
/// A backend is small because [`ExecEnv`](crate::ExecEnv) drives it: the handle refuses what the
/// backend does not declare, feeds stdin, drains and bounds output, keeps the deadline and the
/// drain time, and asks for the end of the tree. Every clause below is a case of the conformance
/// suite under the same name.
///
/// # What a start promises
///
#[doc = crate::__clauses!(__clause_docs start)]
///
/// # What a run promises
///
#[doc = crate::__clauses!(__clause_docs run)]
#[async_trait]
pub trait Executor: fmt::Debug + Send + Sync + 'static {
    /// What this backend can honour. The answer does not change during the backend's life.
    fn capabilities(&self) -> &Capabilities;

    /// What is known to keep this spec from starting, without starting it: a program that is not there,
    /// say. `Ok` promises nothing. By default nothing is known. A backend elsewhere may ask its other end; dropping the
    /// future leaves nothing behind.
    ///
    /// # Errors
    ///
    /// What [`start`](Executor::start) would most likely answer.
    async fn preflight(&self, spec: &Spec) -> Result<(), ExecError> {
        let _ = spec;
        Ok(())
    }

    /// What the program of this spec was installed with, by the rules of [`InstallPlaces`], so that it can be read. The
    /// handle adds it to the spec's grants. By default that is nothing.
    fn installed(&self, _spec: &Spec, _places: &Arc<InstallPlaces>) -> Installed {
        Installed::default()
    }

    /// The files that a start of this spec would read now: the program, its interpreter, arguments that name files, and
    /// what [`Spec::ready`] names. A process that was started before a call serves it only where they are equal. By
    /// default a backend cannot tell, and keeps no process ready.
    ///
    /// # Errors
    ///
    /// Why no process can be kept ready.
    fn start_files(&self, _spec: &Spec) -> Result<StartFiles, ColdStart> {
        Err(ColdStart::Unsupported)
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

/// Shared and boxed executors are executors, so that a backend can be chosen at run time.
macro_rules! executor_by_pointer {
    ($($pointer:ident),*) => {$(
        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<T: Executor + ?Sized> Executor for $pointer<T> {
            fn capabilities(&self) -> &Capabilities {
                (**self).capabilities()
            }

            async fn preflight(&self, spec: &Spec) -> Result<(), ExecError> {
                (**self).preflight(spec).await
            }

            fn installed(&self, spec: &Spec, places: &Arc<InstallPlaces>) -> Installed {
                (**self).installed(spec, places)
            }

            fn start_files(&self, spec: &Spec) -> Result<StartFiles, ColdStart> {
                (**self).start_files(spec)
            }

            async fn start(&self, spec: Spec) -> Result<Running, ExecError> {
                (**self).start(spec).await
            }
        }
    )*};
}

executor_by_pointer!(Arc, Box);

/// Shared controls are controls, so that one task can wait for an end that another one brings about.
#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<T: Control + ?Sized> Control for Arc<T> {
    async fn wait(&self) -> Result<Exit, ExecError> {
        (**self).wait().await
    }

    fn signal(&self, signal: Signal, target: Target) -> Result<(), ExecError> {
        (**self).signal(signal, target)
    }

    fn usage(&self) -> Usage {
        (**self).usage()
    }

    fn memory_meter(&self) -> Option<MemoryMeter> {
        (**self).memory_meter()
    }

    fn outdated_by(&self) -> Option<PathBuf> {
        (**self).outdated_by()
    }

    fn begin_call(&self) {
        (**self).begin_call();
    }

    async fn end(&self, grace: Duration) -> Result<Ended, ExecError> {
        (**self).end(grace).await
    }
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
    /// What the reader of [`stdout`](Self::stdout) has left out; the default counts nothing.
    pub stdout_skipped: SkippedBytes,
    /// What the reader of [`stderr`](Self::stderr) has left out.
    pub stderr_skipped: SkippedBytes,
    /// What can be done to it.
    pub control: Box<dyn Control>,
    /// What is in force beyond what its spec demands, such as [`Capability::TreeKill`] where the supervisor of
    /// its bounds ends its tree.
    pub enforced: BTreeSet<Capability>,
}

impl Running {
    /// A program without streams; set the ones that it has.
    #[must_use]
    pub fn new(control: impl Control) -> Self {
        Self {
            stdin: None,
            stdout: None,
            stderr: None,
            stdout_skipped: SkippedBytes::default(),
            stderr_skipped: SkippedBytes::default(),
            control: Box::new(control),
            enforced: BTreeSet::new(),
        }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("control", &self.control).finish_non_exhaustive()
    }
}

/// The signal that lets a stopped process go on, where the system gives it this number.
const CONT: Signal = Signal(18);

/// What can be done to a running program.
///
/// The handle calls [`wait`](Control::wait) and [`end`](Control::end) from one task at a time;
/// [`signal`](Control::signal) may come from anywhere, also from a destructor without a runtime.
///
/// # What an end promises
///
#[doc = crate::__clauses!(__clause_docs end)]
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
    /// Where [`Capability::Signals`] is not declared, the handle sends
    /// nothing but [`Signal::KILL`] to [`Target::Tree`].
    ///
    /// # Errors
    ///
    /// The signal could not be sent: no permission, no connection.
    fn signal(&self, signal: Signal, target: Target) -> Result<(), ExecError>;

    /// What it has used so far, where that can be told without waiting: CPU time, and the memory at its peak. By default
    /// nothing is known.
    fn usage(&self) -> Usage {
        Usage::unknown()
    }

    /// What measures the memory that it holds, apart from this control, so that it can be asked while the program is handed to a
    /// call. By default there is none.
    fn memory_meter(&self) -> Option<MemoryMeter> {
        None
    }

    /// A path that has changed since the start, so that another start of the same spec would keep the program to something else:
    /// a file that it may not change and that was not there, say, or one that it may read since. A process that was started before
    /// its call serves none then. What [`Executor::start_files`] tells of needs no second mention.
    ///
    /// Asked before each call that such a process would serve, so it has to be quick. By default nothing has changed.
    fn outdated_by(&self) -> Option<PathBuf> {
        None
    }

    /// Takes that a process which was started before its call gets it now: what was stopped meanwhile goes on, and a bound on CPU
    /// time holds for what is used from here on. The handle calls it where [`Capability::Signals`] is declared.
    ///
    /// By default the whole tree gets SIGCONT, where that has the number 18. A backend that knows which processes are stopped sends it
    /// to these alone: a program may have a handler for it.
    fn begin_call(&self) {
        if CONT.name() == Some("SIGCONT") {
            let _ = self.signal(CONT, Target::Tree);
        }
    }

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

/// What a signal is sent to.
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
