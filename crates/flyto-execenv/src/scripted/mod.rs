//! Programs that are functions: a backend in memory, for testing callers without processes.
//!
//! Everything is there but the processes: files with the right to execute, a `PATH`, streams of
//! bounded size, signals, children that hold a stream open, sessions that escape the group. It is
//! stricter than any real backend: whatever the handle does against the contract is written down, and
//! [`Scripted::assert_clean`] tells.
//!
//! ```
//! use flyto_execenv::{ExecEnv, Exit, Spec, scripted::Scripted};
//! use tokio::io::AsyncReadExt;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), flyto_execenv::ExecError> {
//! let backend = Scripted::new().program("/bin/shout", async |mut call| {
//!     let mut text = String::new();
//!     if call.stdin.read_to_string(&mut text).await.is_err() {
//!         return Exit::Code(1);
//!     }
//!     call.stdout.line(&text.to_uppercase()).await;
//!     Exit::Code(0)
//! });
//! let env = ExecEnv::new(backend.clone());
//! let outcome = env.run(Spec::new("/bin/shout").stdin_bytes("hi")).await?;
//! assert_eq!(&*outcome.stdout.bytes(), b"HI\n");
//! backend.assert_clean();
//! # Ok(()) }
//! ```
//!
//! A program is an async function from a [`Call`] to an [`Exit`]. It runs as a task on the current
//! Tokio runtime, and stops at its next `await` when it is killed. Deadlines go by Tokio's clock,
//! so with `tokio::time::pause` they cost no time in a test.

mod control;
mod files;
mod process;
mod streams;

use std::{
    fmt,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;

use self::{control::ScriptedControl, files::Found, process::Tree};
pub use self::{
    files::Files,
    process::{Call, Disposition},
    streams::Writer,
};
use crate::{
    Capabilities, Capability, ErrorOutput, ExecError, Executor, Exit, Output, Running, Spec, Stdin,
};

/// A program's future.
type Body = Pin<Box<dyn Future<Output = Exit> + Send>>;
/// A program can be started any number of times, also at once.
type ProgramFn = Arc<dyn Fn(Call) -> Body + Send + Sync>;

/// An in-memory backend. Clones share their files and their record of violations.
///
/// It declares what it can honour in memory: all kill scopes, grace, signals, piped streams, merged
/// stderr, non-UTF-8 bytes, pinned programs and the count of leaked processes. Limits, isolation and
/// usage are not declared.
///
/// A pinned program is a file; a function has no digest. It runs as a copy under `/pinned`, which is what
/// it gets as its path.
#[derive(Clone)]
pub struct Scripted {
    capabilities: Capabilities,
    files: Files,
    violations: Violations,
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted").field("capabilities", &self.capabilities).finish_non_exhaustive()
    }
}

impl Default for Scripted {
    fn default() -> Self {
        Self::new()
    }
}

impl Scripted {
    /// A machine with the directories `/` and `/tmp` and no programs.
    #[must_use]
    pub fn new() -> Self {
        use Capability as C;
        let capabilities = Capabilities::new("scripted").with([
            C::GroupKill,
            C::TreeKill,
            C::Grace,
            C::Signals,
            C::PipedStreams,
            C::MergedStderr,
            C::NonUtf8,
            C::PinnedProgram,
            C::LeakCount,
        ]);
        let files = Files::default();
        files.create_dir("/tmp");
        Self { capabilities, files, violations: Violations::default() }
    }

    /// Installs a program at an absolute path; its directory comes with it.
    ///
    /// A program at the path before is replaced. The spec finds it by its path, or by a name on its
    /// `PATH`.
    #[must_use]
    pub fn program<F, R>(self, path: impl AsRef<Path>, program: F) -> Self
    where
        F: Fn(Call) -> R + Send + Sync + 'static,
        R: Future<Output = Exit> + Send + 'static,
    {
        self.files.add_program(path.as_ref(), Arc::new(move |call| Box::pin(program(call))));
        self
    }

    /// Withdraws a capability, to see how a caller takes the refusal.
    #[must_use]
    pub fn without(mut self, capability: Capability) -> Self {
        self.capabilities = self.capabilities.without(capability);
        self
    }

    /// The files of this machine.
    #[must_use]
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// What was done against the contract so far, one sentence each.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.violations.lock().clone()
    }

    /// Expects that nothing was done against the contract.
    ///
    /// # Panics
    ///
    /// Something was; the message lists it.
    #[track_caller]
    pub fn assert_clean(&self) {
        let violations = self.violations();
        assert!(violations.is_empty(), "the contract was violated:\n{}", violations.join("\n"));
    }

    /// Writes down what no spec that comes here should be.
    ///
    /// The handle checks both before a start; a backend that is called directly shows here.
    fn inspect(&self, spec: &Spec) {
        let program = spec.program.as_os_str();
        if let Err(err) = spec.check() {
            self.violations.add(format!("a spec that is invalid came to the backend: {err}"));
        }
        for missing in self.capabilities.missing(&spec.requirements()) {
            self.violations.add(format!("{program:?} demands {missing}, which is not declared"));
        }
    }
}

#[async_trait]
impl Executor for Scripted {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    async fn start(&self, spec: Spec) -> Result<Running, ExecError> {
        self.inspect(&spec);
        let Found { program, args } = self.files.find(&spec)?;

        let (stdin, reader, input) = match &spec.stdin {
            Stdin::Null => (None, streams::nothing(), None),
            // What fits into a pipe is there before the program starts; the rest is the handle's.
            Stdin::Bytes(bytes) if bytes.len() <= streams::PIPE_BYTES => {
                (None, streams::all_of(bytes.clone()), None)
            }
            Stdin::Bytes(bytes) => {
                let (writer, reader, input) = streams::input(Some(bytes.len()));
                (Some(writer), reader, Some(input))
            }
            Stdin::Piped => {
                let (writer, reader, input) = streams::input(None);
                (Some(writer), reader, Some(input))
            }
        };
        let make = |wanted: &Output| match wanted {
            Output::Null => (Writer::nowhere(), None, None),
            Output::Captured(_) => streams::output(true),
            Output::Piped => streams::output(false),
        };
        let (stdout, from_stdout, watched_out) = make(&spec.stdout);
        let (stderr, from_stderr, watched_err) = match &spec.stderr {
            ErrorOutput::Merged => (stdout.clone(), None, None),
            ErrorOutput::Separate(wanted) => make(wanted),
        };

        let tree = Tree::new();
        let call = Call {
            args,
            env: spec.env.clone(),
            working_dir: spec.working_dir.clone(),
            stdin: reader,
            stdout,
            stderr,
            files: self.files.clone(),
            me: tree.leader(),
        };
        tree.begin(call, move |call| program(call));
        let watched = watched_out.into_iter().chain(watched_err).collect();
        let mut running = Running::new(ScriptedControl::new(
            tree,
            &spec,
            &self.capabilities,
            watched,
            input,
            self.violations.clone(),
        ));
        running.stdin = stdin;
        running.stdout = from_stdout;
        running.stderr = from_stderr;
        Ok(running)
    }
}

/// What was done against the contract.
///
/// In the order in which they were seen.
#[derive(Debug, Clone, Default)]
struct Violations(Arc<Mutex<Vec<String>>>);

impl Violations {
    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        lock(&self.0)
    }

    fn add(&self, what: impl Into<String>) {
        self.lock().push(what.into());
    }
}

/// A program that panics while it holds a lock leaves nothing half done here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `path` from `base`, without `.` and `..`.
fn absolute(base: &Path, path: &Path) -> PathBuf {
    use std::path::Component as C;
    let mut res = PathBuf::new();
    for part in base.join(path).components() {
        match part {
            C::CurDir => {}
            C::ParentDir => drop(res.pop()),
            part => res.push(part),
        }
    }
    res
}
