//! Starting a program that outlives its starter.

use std::{
    ffi::OsString,
    io,
    os::fd::OwnedFd,
    path::PathBuf,
    process::{Child, Command},
};

use crate::Environment;

/// A program that is to outlive the process that starts it, and everything that it gets.
///
/// This is for a host's own processes, such as the worker of a call in the background. Tools are
/// started through an [`ExecEnv`](crate::ExecEnv), which ends what it started.
#[derive(Debug)]
#[non_exhaustive]
pub struct DetachedSpec {
    /// The program's file; absolute, since no search path is used.
    pub program: PathBuf,
    /// Its name for itself, `argv[0]`; that of its file by default.
    pub name: Option<OsString>,
    /// Its arguments, without its own name.
    pub args: Vec<OsString>,
    /// The variables that it sees, and no others.
    pub env: Environment,
    /// The directory it starts in; `/` by default, so that it keeps no file system from being unmounted.
    pub working_dir: PathBuf,
    /// Its standard input.
    pub stdin: OwnedFd,
    /// Its standard output.
    pub stdout: OwnedFd,
    /// Its standard error.
    pub stderr: OwnedFd,
}

impl DetachedSpec {
    /// A program without arguments and without variables, with these three streams.
    ///
    /// Each stream is given explicitly, because an inherited one would hold a pipe or a terminal of
    /// the starter open for as long as the program runs.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>, streams: [OwnedFd; 3]) -> Self {
        let [stdin, stdout, stderr] = streams;
        Self {
            program: program.into(),
            name: None,
            args: Vec::new(),
            env: Environment::new(),
            working_dir: "/".into(),
            stdin,
            stdout,
            stderr,
        }
    }

    /// Sets `argv[0]`.
    #[must_use]
    pub fn name(mut self, name: impl Into<OsString>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item: Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets all variables.
    #[must_use]
    pub fn env(mut self, env: Environment) -> Self {
        self.env = env;
        self
    }
}

/// Starts a program that is not ended with its starter.
///
/// It gets no descriptor of this process but its three streams: every other one is marked as
/// close-on-exec first, as [`Local::new`](super::Local::new) does. It stays in the session and the process group of the
/// starter until it leaves them itself (setsid(2)): nothing runs between its start and its first
/// instruction, so that the system's `posix_spawn(3)` starts it, at the same cost whatever the size
/// of this process.
///
/// Nothing ends the program: it has no deadline, no bounds and no isolation. The handle neither kills nor
/// reaps it when it is dropped; a starter that goes on to live waits for it, or keeps a zombie.
///
/// ```
/// use std::{fs::File, io::Read as _, os::fd::OwnedFd};
///
/// use flyto_execenv::local::{DetachedSpec, start_detached};
///
/// # fn main() -> std::io::Result<()> {
/// let null = || File::options().read(true).write(true).open("/dev/null").map(OwnedFd::from);
/// let (mut reader, writer) = std::io::pipe()?;
/// let spec = DetachedSpec::new("/bin/echo", [null()?, writer.into(), null()?]).args(["hi"]);
/// let mut echo = start_detached(spec)?;
/// let mut said = String::new();
/// reader.read_to_string(&mut said)?;
/// assert_eq!((said.as_str(), echo.wait()?.success()), ("hi\n", true));
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// The system's: the file is missing or cannot be executed, or there are too many processes. Then
/// nothing runs. A path that is not absolute is [`io::ErrorKind::InvalidInput`].
#[expect(clippy::disallowed_methods, reason = "the one place for processes that are not ended")]
pub fn start_detached(spec: DetachedSpec) -> io::Result<Child> {
    let DetachedSpec { program, name, args, env, working_dir, stdin, stdout, stderr } = spec;
    if !program.is_absolute() {
        let what = format!("{program:?} is no absolute path");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    close_fds::set_fds_cloexec_threadsafe(3, &[]);
    let mut command = Command::new(&program);
    if let Some(name) = name {
        std::os::unix::process::CommandExt::arg0(&mut command, name);
    }
    command
        .args(args)
        .env_clear()
        .envs(env.iter())
        .current_dir(working_dir)
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr);
    command.spawn()
}
