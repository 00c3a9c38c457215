//! The portable backend: programs on this machine, started with `posix_spawn(3)`.
//!
//! Starting a program costs the same whatever the size of the host, since nothing forks its address
//! space: the standard library takes `posix_spawn` as long as the program is an absolute path and
//! nothing has to run between fork and exec, and this backend asks for nothing else.
//!
//! It ends a program together with its process group. A descendant that leaves the group (setsid(2))
//! is not covered: [`Capability::TreeKill`] is not declared, and a spec that demands it is refused.
//! Limits and isolation are not declared either.
//!
//! A pinned program ([`Program::Pinned`](crate::Program::Pinned)) runs as a private copy of the bytes that were hashed: a sealed
//! memfd on Linux, a file of its own for scripts and elsewhere ([`Local::pinned_dirs`]). So a script
//! sees the copy as `$0`. A file that did not change is hashed once. Files up to 1 GiB are copied;
//! copies of 64 programs and of 256 MiB are kept. The shared libraries of a program, the interpreter
//! of a script and whatever it loads are not covered by its digest.
//!
//! Starting blocks the calling thread until the program's image is in place, which is about 50 µs
//! with a warm cache and longer on a cold or remote file system.

mod argument; // parts of it that may be paths
mod control;
mod detached; // programs that outlive their starter
#[cfg(target_os = "linux")]
mod exit_linux;
#[cfg(any(not(target_os = "linux"), test))]
mod exit_unix;
mod installed; // what a program was installed with
mod late;
#[cfg(target_os = "linux")]
mod members_linux;
#[cfg(not(target_os = "linux"))]
mod members_unix;
mod pinned;
mod pinned_copy;
mod pinned_dir;
#[cfg(target_os = "linux")]
mod pinned_linux;
#[cfg(not(target_os = "linux"))]
mod pinned_unix;
mod reader;
mod reaper;
mod resolve;
mod shipped; // files that a spec names
mod start_files; // what a start reads, to compare
mod streams;
#[cfg(target_os = "linux")]
mod system_linux;
#[cfg(not(target_os = "linux"))]
mod system_unix;
#[cfg(target_os = "linux")]
mod usage_linux;
#[cfg(not(target_os = "linux"))]
mod usage_unix;

#[cfg(target_os = "linux")]
use self::exit_linux as exit;
#[cfg(not(target_os = "linux"))]
use self::exit_unix as exit;
#[cfg(target_os = "linux")]
use self::members_linux as members;
#[cfg(not(target_os = "linux"))]
use self::members_unix as members;
#[cfg(target_os = "linux")]
use self::pinned_linux as sealed;
#[cfg(not(target_os = "linux"))]
use self::pinned_unix as sealed;
#[cfg(target_os = "linux")]
use self::system_linux as system;
#[cfg(not(target_os = "linux"))]
use self::system_unix as system;
#[cfg(target_os = "linux")]
use self::usage_linux as usage;
#[cfg(not(target_os = "linux"))]
use self::usage_unix as usage;

use std::{
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use rustix::io::Errno;

use self::control::StdChild;
pub use self::{
    control::{GroupControl, Leader},
    detached::{DetachedSpec, start_detached},
    installed::Installations,
    pinned::PinnedPrograms,
    pinned_copy::PinnedImage,
    resolve::{explain_start, max_words_bytes, preflight, resolve_program},
    shipped::check_files,
    start_files::start_files,
    streams::{HostEnds, Streams},
    usage::{memory_held, usage_so_far},
};
use crate::{
    Capabilities, Capability, ColdStart, ExecError, Executor, KillScope, Running, Spec, StartFiles,
};

/// How long a start is tried again while the program's file is open for writing (`ETXTBSY`): 100 ms
/// in all. Another thread that is just starting a program holds such a descriptor for microseconds.
pub const BUSY_FILE_WAITS: [Duration; 7] = [
    Duration::from_micros(500),
    Duration::from_millis(1),
    Duration::from_millis(3),
    Duration::from_millis(8),
    Duration::from_millis(15),
    Duration::from_millis(25),
    Duration::from_millis(48),
];

/// Runs programs on this machine.
///
/// ```
/// use flyto_execenv::{ExecEnv, Spec, local::Local};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), flyto_execenv::ExecError> {
/// let env = ExecEnv::new(Local::new());
/// let outcome = env.run(Spec::new("/bin/echo").arg("hi")).await?;
/// assert_eq!(&*outcome.stdout.bytes(), b"hi\n");
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Local {
    capabilities: Capabilities,
    pinned: Arc<PinnedPrograms>,
}

impl Default for Local {
    fn default() -> Self {
        Self::new()
    }
}

impl Local {
    /// A backend for this machine.
    ///
    /// It marks every descriptor from 3 upwards that this process has open as close-on-exec, so that
    /// none reaches a program. What Rust opens is marked from the start; only a C library that opens
    /// one later without the mark can still pass it on. A host that hands descriptors to programs of
    /// its own takes [`Local::keep_descriptors`] instead.
    #[must_use]
    pub fn new() -> Self {
        close_fds::set_fds_cloexec_threadsafe(3, &[]);
        Self::keep_descriptors()
    }

    /// A backend that leaves the descriptors of this process as they are: one that is open without
    /// close-on-exec is inherited by every program.
    #[must_use]
    pub fn keep_descriptors() -> Self {
        use Capability as C;
        let capabilities = Capabilities::new("local").with([
            C::GroupKill,
            C::Grace,
            C::Signals,
            C::PipedStreams,
            C::MergedStderr,
            C::NonUtf8,
            C::PinnedProgram,
            C::ShippedFiles,
            C::CpuUsage,
            C::PeakMemory,
            C::LeakCount,
        ]);
        Self { capabilities, pinned: Arc::default() }
    }

    /// Sets the directories for private copies of pinned scripts, in order of preference. The first one
    /// counts that is on a file system where programs may be executed and that takes the copy; by
    /// default `/tmp`, `/var/tmp` and `/dev/shm`. One that is not there is made, for its user alone.
    ///
    /// **Where programs run confined, name directories that none of them may write to.** A program of the same
    /// user that may can replace the copy in the instant before an interpreter opens it. That is found out after
    /// the call, which fails then.
    ///
    /// Each backend, together with its clones, makes one directory there, open to its user only. It goes
    /// with the backend and the last program that it started; what a killed process left is removed by
    /// the next one.
    #[must_use]
    pub fn pinned_dirs(mut self, dirs: impl IntoIterator<Item: Into<PathBuf>>) -> Self {
        self.pinned = Arc::new(PinnedPrograms::new(dirs));
        self
    }
}

#[async_trait]
impl Executor for Local {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    async fn preflight(&self, spec: &Spec) -> Result<(), ExecError> {
        resolve::preflight(spec)
    }

    fn start_files(&self, spec: &Spec) -> Result<StartFiles, ColdStart> {
        start_files(spec)
    }

    async fn start(&self, spec: Spec) -> Result<Running, ExecError> {
        check_files(&spec).await?;
        let program = resolve_program(&spec)?;
        let image = self.pinned.image(&spec, &program).await?;
        let (mut file, mut other) = match &image {
            Some(image) => image.paths(),
            None => (program.clone(), None),
        };
        let mut waits = BUSY_FILE_WAITS.iter();
        loop {
            let err = match spawn(&spec, &file) {
                Ok((child, host)) => return watch(child, host, &spec, image),
                Err(err) => err,
            };
            if !is_busy(&err)
                && let Some(other) = other.take()
            {
                file = other;
                continue;
            }
            match waits.next() {
                Some(wait) if is_busy(&err) => tokio::time::sleep(*wait).await,
                _ => return Err(explain_start(&spec, &program, err)),
            }
        }
    }
}

/// Whether the program's file was open for writing at that moment (execve(2), `ETXTBSY`).
fn is_busy(err: &io::Error) -> bool {
    err.raw_os_error() == Some(Errno::TXTBSY.raw_os_error())
}

/// Starts the program by posix_spawn(3), as the leader of a process group of its own where the kill scope asks for one.
#[expect(clippy::disallowed_methods, reason = "a backend starts programs for all other code")]
fn spawn(spec: &Spec, program: &Path) -> io::Result<(Child, HostEnds)> {
    let mut command = Command::new(program);
    command
        .arg0(spec.program.as_os_str())
        .args(&spec.args)
        .env_clear()
        .envs(spec.env.iter())
        .current_dir(&spec.working_dir);
    if spec.kill != KillScope::Leader {
        command.process_group(0);
    }
    let Streams { child: [stdin, stdout, stderr], host } = Streams::open(spec)?;
    command.stdin(stdin).stdout(stdout).stderr(stderr);
    Ok((command.spawn()?, host))
    // The command goes here, and with it our copies of the program's ends.
}

/// Registers the program's end and its pipes with the runtime.
fn watch(
    child: Child,
    host: HostEnds,
    spec: &Spec,
    image: Option<Arc<PinnedImage>>,
) -> Result<Running, ExecError> {
    // From here on the control kills and reaps the program, also when the next lines fail.
    let mut running = Running::new(GroupControl::new(StdChild(child), spec, image)?);
    host.attach(&mut running).map_err(|err| resolve::lost(spec, "watch the pipes of", err))?;
    Ok(running)
}
