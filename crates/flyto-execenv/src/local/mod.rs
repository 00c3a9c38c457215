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
//! A pinned program ([`Program::Pinned`]) runs as a private copy of the bytes that were hashed: a sealed
//! memfd on Linux, a file of its own for scripts and elsewhere ([`Local::pinned_dirs`]). So a script
//! sees the copy as `$0`. A file that did not change is hashed once. Files up to 1 GiB are copied;
//! copies of 64 programs and of 256 MiB are kept. The shared libraries of a program, the interpreter
//! of a script and whatever it loads are not covered by its digest.
//!
//! Starting blocks the calling thread until the program's image is in place, which is about 50 µs
//! with a warm cache and longer on a cold or remote file system.

mod control;
#[cfg(target_os = "linux")]
mod exit_linux;
#[cfg(any(not(target_os = "linux"), test))]
mod exit_unix;
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
mod reaper;
mod resolve;
mod wide;

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

use std::{
    io::{self, PipeWriter, Write},
    os::{fd::OwnedFd, unix::process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use rustix::{
    io::{Errno, ioctl_fionbio},
    pipe::PIPE_BUF,
};
use tokio::net::unix::pipe;

pub use self::resolve::{explain_start, resolve_program};
use self::{control::LocalControl, pinned::Pinned, pinned_copy::Image};
use crate::{
    Capabilities, Capability, ErrorOutput, ExecError, Executor, KillScope, Output, Program,
    Running, Spec, Stdin,
    traits::{BoxedReader, BoxedWriter},
};

/// Input up to this size is written into the pipe before the program starts: 64 KiB, what a pipe
/// holds by default (pipe(7)). It needs neither a writer nor a place in the event loop then.
const PREFILL_BYTES: usize = 64 * 1024;

/// How long a start is tried again while the program's file is open for writing: 100 ms in all.
/// Another thread that is just starting a program holds such a descriptor for microseconds.
const BUSY_FILE_WAITS: [Duration; 7] = [
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
    pinned: Arc<Pinned>,
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
            C::CpuUsage,
            C::PeakMemory,
            C::LeakCount,
        ]);
        let dirs = PINNED_DIRS.map(PathBuf::from).into();
        Self { capabilities, pinned: Arc::new(Pinned::new(dirs)) }
    }

    /// Sets the directories for private copies of pinned scripts, in order of preference. The first one
    /// counts that is on a file system where programs may be executed and that takes the copy; by
    /// default `/tmp`, `/var/tmp` and `/dev/shm`.
    ///
    /// Each backend, together with its clones, makes one directory there, open to its user only. It goes
    /// with the backend and the last program that it started; what a killed process left is removed by
    /// the next one.
    #[must_use]
    pub fn pinned_dirs(mut self, dirs: impl IntoIterator<Item: Into<PathBuf>>) -> Self {
        let dirs = dirs.into_iter().map(Into::into).collect();
        self.pinned = Arc::new(Pinned::new(dirs));
        self
    }
}

/// What every Unix has, and memory for a machine whose temporary directories hold no programs. No
/// variable such as `TMPDIR` is asked: what the host's environment says is the host's to pass on.
const PINNED_DIRS: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

#[async_trait]
impl Executor for Local {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn foresee(&self, spec: &Spec) -> Result<(), ExecError> {
        resolve::foresee(spec)
    }

    async fn start(&self, spec: Spec) -> Result<Running, ExecError> {
        let program = resolve_program(&spec)?;
        let image = match &spec.program {
            Program::Pinned { sha256, .. } => {
                Some(self.pinned.image(&spec, &program, *sha256).await?)
            }
            Program::Named(_) => None,
        };
        let (mut file, mut other) = match &image {
            Some(image) => image.paths(),
            None => (program.clone(), None),
        };
        let mut waits = BUSY_FILE_WAITS.iter();
        loop {
            let err = match spawn(&spec, &file) {
                Ok(started) => return started.watch(&spec, image),
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

fn is_busy(err: &io::Error) -> bool {
    err.raw_os_error() == Some(Errno::TXTBSY.raw_os_error())
}

/// A program that runs, and our ends of its pipes.
struct Started {
    child: Child,
    stdin: Option<OwnedFd>,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
}

#[expect(clippy::disallowed_methods, reason = "this backend is the door that others go through")]
fn spawn(spec: &Spec, program: &Path) -> io::Result<Started> {
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

    let mut stdin = None;
    command.stdin(match &spec.stdin {
        Stdin::Null => Stdio::null(),
        Stdin::Bytes(bytes) => match prefilled(bytes)? {
            Some(reader) => reader.into(),
            None => input_pipe(&mut stdin)?,
        },
        Stdin::Piped => input_pipe(&mut stdin)?,
    });

    let mut stdout = None;
    let mut stderr = None;
    match (&spec.stdout, &spec.stderr) {
        (Output::Null, ErrorOutput::Merged) => {
            command.stdout(Stdio::null()).stderr(Stdio::null());
        }
        (_, ErrorOutput::Merged) => {
            let writer = output_pipe(&mut stdout)?;
            command.stderr(writer.try_clone()?).stdout(writer);
        }
        (out, ErrorOutput::Separate(err)) => {
            command.stdout(output(out, &mut stdout)?).stderr(output(err, &mut stderr)?);
        }
    }
    Ok(Started { child: command.spawn()?, stdin, stdout, stderr })
    // The command goes here, and with it our copies of the program's ends.
}

/// A pipe that already holds all of `bytes`, if one pipe can.
fn prefilled(bytes: &[u8]) -> io::Result<Option<io::PipeReader>> {
    if bytes.len() > PREFILL_BYTES {
        return Ok(None);
    }
    let (reader, mut writer) = io::pipe()?;
    // Every pipe takes this much at once; a user with many gets small ones (pipe(7)).
    if bytes.len() > PIPE_BUF {
        ioctl_fionbio(&writer, true)?;
    }
    Ok(match writer.write(bytes) {
        Ok(n) if n == bytes.len() => Some(reader),
        _ => None,
    })
}

fn input_pipe(ours: &mut Option<OwnedFd>) -> io::Result<Stdio> {
    let (reader, writer) = io::pipe()?;
    *ours = Some(writer.into());
    Ok(reader.into())
}

fn output_pipe(ours: &mut Option<OwnedFd>) -> io::Result<PipeWriter> {
    let (reader, writer) = io::pipe()?;
    *ours = Some(reader.into());
    Ok(writer)
}

fn output(wanted: &Output, ours: &mut Option<OwnedFd>) -> io::Result<Stdio> {
    Ok(match wanted {
        Output::Null => Stdio::null(),
        Output::Captured(_) | Output::Piped => output_pipe(ours)?.into(),
    })
}

impl Started {
    /// Registers the program's end and its pipes with the runtime.
    fn watch(self, spec: &Spec, image: Option<Arc<Image>>) -> Result<Running, ExecError> {
        let Self { child, stdin, stdout, stderr } = self;
        // From here on the control kills and reaps the program, also when the next lines fail.
        let control = LocalControl::new(child, spec, image)?;
        let register = || -> io::Result<_> {
            let (stdin, stdout, stderr) = (
                stdin.map(writer).transpose()?,
                stdout.map(reader).transpose()?,
                stderr.map(reader).transpose()?,
            );
            Ok((stdin, stdout, stderr))
        };
        let (stdin, stdout, stderr) =
            register().map_err(|err| resolve::lost(spec, "watch the pipes of", err))?;
        let mut running = Running::new(control);
        running.stdin = stdin;
        running.stdout = stdout;
        running.stderr = stderr;
        Ok(running)
    }
}

fn reader(fd: OwnedFd) -> io::Result<BoxedReader> {
    ioctl_fionbio(&fd, true)?;
    Ok(Box::new(wide::WideningReader::new(pipe::Receiver::from_owned_fd_unchecked(fd)?)))
}

fn writer(fd: OwnedFd) -> io::Result<BoxedWriter> {
    ioctl_fionbio(&fd, true)?;
    Ok(Box::new(pipe::Sender::from_owned_fd_unchecked(fd)?))
}
