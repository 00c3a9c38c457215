//! What to run: plain data that hands over nothing by itself.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    time::Duration,
};

use bytes::Bytes;

use crate::{
    Capability, Class, Environment, ErrorOutput, ExecError, ExecErrorKind, Filesystem, Grants,
    Isolation, KillScope, Limits, LocalSockets, Network, Output, Processes, Ready, Sha256,
    SharedMemory, ShippedFile, SystemCalls,
};

/// Grace between `SIGTERM` and `SIGKILL` for callers that want one and have no better number: 2 s.
///
/// Long enough for a handler that flushes and removes its temporary files, short enough that a
/// person who pressed Ctrl-C does not press it again.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(2);

/// Which program to run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Program {
    /// A path or a name.
    ///
    /// A name without a slash is looked up in the spec's `PATH`, a relative path is taken from the
    /// spec's working directory, an absolute one as it is.
    Named(OsString),
    /// A path or a name, and the digest of the bytes that must run. Demands
    /// [`Capability::PinnedProgram`].
    ///
    /// The file is found as for [`Program::Named`], so that a digest changes whether a program runs and
    /// never which one. Other bytes are [`ExecErrorKind::DigestMismatch`], at each start anew.
    Pinned {
        /// Where the program lies, or its name.
        path: PathBuf,
        /// The digest of the whole file.
        sha256: Sha256,
    },
}

impl Program {
    /// The name or path as the caller wrote it.
    #[must_use]
    pub fn as_os_str(&self) -> &OsStr {
        match self {
            Self::Named(name) => name,
            Self::Pinned { path, .. } => path.as_os_str(),
        }
    }
}

impl<T: Into<OsString>> From<T> for Program {
    fn from(name: T) -> Self {
        Self::Named(name.into())
    }
}

/// What the program reads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Stdin {
    /// Nothing: end of input at once.
    #[default]
    Null,
    /// These bytes, then end of input. A program that does not read them is no error.
    Bytes(Bytes),
    /// A stream that the caller writes. Demands [`Capability::PipedStreams`].
    Piped,
}

/// One program to run: everything it gets, and everything it is bounded by.
///
/// [`Spec::new`] hands over nothing: no environment, no input, no descriptor beyond 0, 1 and 2, and
/// the root directory to start in. Each grant is a call.
///
/// | field | default |
/// | --- | --- |
/// | class | [`Class::PLUGIN_TOOL`], the least trusted |
/// | args, env, files | none |
/// | working directory | `/` |
/// | stdin | [`Stdin::Null`] |
/// | stdout, stderr | captured, 4 MiB each |
/// | kill | [`KillScope::Group`] |
/// | deadline, grace | none |
/// | limits, isolation, grants, profiles | none |
/// | ready | no: a process is started for the call |
///
/// ```
/// use std::time::Duration;
///
/// use flyto_execenv::{Capability, KillScope, Limits, Spec};
///
/// let spec = Spec::new("rustfmt")
///     .args(["--check", "src/lib.rs"])
///     .env_var("PATH", "/usr/local/bin:/usr/bin:/bin")
///     .working_dir("/home/ada/project")
///     .deadline(Duration::from_secs(30))
///     .limits(Limits::new().memory_bytes(1 << 30))
///     .kill(KillScope::Tree);
/// // What a backend has to offer so that nothing of this is left out.
/// let required = spec.requirements();
/// assert!(required.contains(&Capability::TreeKill) && required.contains(&Capability::MemoryLimit));
/// assert!(spec.check().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spec {
    /// The class, which decides how far the program is trusted.
    pub class: Class,
    /// Which program.
    pub program: Program,
    /// Its arguments, without the program itself; byte for byte.
    pub args: Vec<OsString>,
    /// Its whole environment.
    pub env: Environment,
    /// The directory it starts in; absolute.
    pub working_dir: PathBuf,
    /// Files that are there when it starts, by digest. One at least demands [`Capability::ShippedFiles`].
    pub files: Vec<ShippedFile>,
    /// What it reads.
    pub stdin: Stdin,
    /// What becomes of its output.
    pub stdout: Output,
    /// What becomes of its error output.
    pub stderr: ErrorOutput,
    /// How much is ended with it.
    pub kill: KillScope,
    /// Time from the start until it is ended. Writing stdin and reading output are inside it.
    pub deadline: Option<Duration>,
    /// Time between asking and killing, at a deadline or a cancellation. `None` kills at once.
    pub grace: Option<Duration>,
    /// Upper bounds.
    pub limits: Limits,
    /// What it is cut off from.
    pub isolation: Isolation,
    /// What the operator decided for it in place of what its class gets.
    pub grants: Grants,
    /// The names of the profiles that narrowed it, for messages and reports ([`Policy::apply`](crate::Policy::apply)
    /// adds those of the policy). They ask for nothing by themselves.
    pub profiles: Vec<String>,
    /// That a process of it may be started before it is asked for, where it reads bytes ([`Stdin::Bytes`]) and the host
    /// keeps some ([`ExecEnvBuilder::ready`](crate::ExecEnvBuilder::ready)). `None` starts it for the call.
    ///
    /// A backend gets it with [`Stdin::Piped`] for a process that is to wait. When its call begins, the handle sends
    /// `SIGCONT` to its tree, where the backend sends signals, and writes the input then.
    pub ready: Option<Ready>,
}

impl Spec {
    /// A spec for `program` with the defaults of the table above.
    #[must_use]
    pub fn new(program: impl Into<Program>) -> Self {
        Self {
            class: Class::PLUGIN_TOOL,
            program: program.into(),
            args: Vec::new(),
            env: Environment::new(),
            working_dir: PathBuf::from("/"),
            files: Vec::new(),
            stdin: Stdin::default(),
            stdout: Output::default(),
            stderr: ErrorOutput::default(),
            kill: KillScope::default(),
            deadline: None,
            grace: None,
            limits: Limits::default(),
            isolation: Isolation::default(),
            grants: Grants::default(),
            profiles: Vec::new(),
            ready: None,
        }
    }

    /// Sets the class.
    #[must_use]
    pub fn class(mut self, class: Class) -> Self {
        self.class = class;
        self
    }

    /// Adds one argument, byte for byte: no shell reads it.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item: Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets the whole environment.
    #[must_use]
    pub fn env(mut self, env: Environment) -> Self {
        self.env = env;
        self
    }

    /// Sets one variable.
    #[must_use]
    pub fn env_var(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.set(name, value);
        self
    }

    /// Sets the working directory; it must be absolute.
    #[must_use]
    pub fn working_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.working_dir = dir.as_ref().to_owned();
        self
    }

    /// Adds a file that is there when the program starts.
    #[must_use]
    pub fn ship(mut self, file: ShippedFile) -> Self {
        self.files.push(file);
        self
    }

    /// Sets what the program reads.
    #[must_use]
    pub fn stdin(mut self, stdin: Stdin) -> Self {
        self.stdin = stdin;
        self
    }

    /// Gives the program these bytes to read, then end of input. They are shared, not copied.
    #[must_use]
    pub fn stdin_bytes(self, bytes: impl Into<Bytes>) -> Self {
        self.stdin(Stdin::Bytes(bytes.into()))
    }

    /// Sets what becomes of stdout.
    #[must_use]
    pub fn stdout(mut self, output: Output) -> Self {
        self.stdout = output;
        self
    }

    /// Sets what becomes of stderr, as a stream of its own.
    #[must_use]
    pub fn stderr(mut self, output: Output) -> Self {
        self.stderr = ErrorOutput::Separate(output);
        self
    }

    /// Sends stderr where stdout goes.
    #[must_use]
    pub fn merge_stderr(mut self) -> Self {
        self.stderr = ErrorOutput::Merged;
        self
    }

    /// Sets how much is ended with the program.
    #[must_use]
    pub fn kill(mut self, scope: KillScope) -> Self {
        self.kill = scope;
        self
    }

    /// Sets the time after which the program is ended.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Asks for a grace between `SIGTERM` and `SIGKILL`; [`DEFAULT_GRACE`] is a good one. Demands
    /// [`Capability::Grace`].
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }

    /// Sets the upper bounds.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets what the program is cut off from.
    #[must_use]
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = isolation;
        self
    }

    /// Sets what the operator decided for this program in place of what its class gets.
    #[must_use]
    pub fn grants(mut self, grants: Grants) -> Self {
        self.grants = grants;
        self
    }

    /// Lets a process of it be started before it is asked for.
    #[must_use]
    pub fn ready(mut self, ready: Ready) -> Self {
        self.ready = Some(ready);
        self
    }

    /// What a backend must declare to be given this spec.
    ///
    /// The patterns name every field, so that a new field does not compile until its
    /// demand is decided; an old backend cannot ignore it in silence.
    #[must_use]
    pub fn requirements(&self) -> BTreeSet<Capability> {
        let Self {
            class: _,
            program,
            args,
            env,
            working_dir,
            files,
            stdin,
            stdout,
            stderr,
            kill,
            // The handle's own clock ends the program; every backend can end a program.
            deadline: _,
            grace,
            limits,
            isolation,
            // They change what the class's policy makes of limits and isolation, before this.
            grants: _,
            profiles: _,
            // Where no process can be kept ready, the call starts one.
            ready: _,
        } = self;
        let Limits { cpu_time, memory_bytes, processes, file_size_bytes, open_files, output_bytes } =
            limits;
        // The handle counts output itself.
        let _ = output_bytes;
        let Isolation {
            network,
            local_sockets,
            filesystem,
            denied,
            read_only,
            system_calls,
            processes: others,
            shared_memory,
        } = isolation;

        let mut res = BTreeSet::new();
        let mut demand = |needed: bool, capability| {
            if needed {
                res.insert(capability);
            }
        };
        demand(matches!(program, Program::Pinned { .. }), Capability::PinnedProgram);
        demand(!files.is_empty(), Capability::ShippedFiles);
        demand(
            args.iter().any(|it| it.to_str().is_none())
                || program.as_os_str().to_str().is_none()
                || working_dir.to_str().is_none()
                || files.iter().any(|it| it.path.to_str().is_none())
                || env
                    .iter()
                    .any(|(name, value)| name.to_str().is_none() || value.to_str().is_none()),
            Capability::NonUtf8,
        );
        demand(
            *stdin == Stdin::Piped
                || *stdout == Output::Piped
                || *stderr == ErrorOutput::Separate(Output::Piped),
            Capability::PipedStreams,
        );
        demand(*stderr == ErrorOutput::Merged, Capability::MergedStderr);
        demand(*kill == KillScope::Group, Capability::GroupKill);
        demand(*kill == KillScope::Tree, Capability::TreeKill);
        demand(grace.is_some_and(|it| !it.is_zero()), Capability::Grace);
        demand(cpu_time.is_some(), Capability::CpuLimit);
        demand(memory_bytes.is_some(), Capability::MemoryLimit);
        demand(processes.is_some(), Capability::ProcessLimit);
        demand(file_size_bytes.is_some(), Capability::FileSizeLimit);
        demand(open_files.is_some(), Capability::OpenFilesLimit);
        demand(*network == Network::Off, Capability::NetworkOff);
        demand(matches!(network, Network::Hosts(_)), Capability::NetworkHosts);
        demand(*local_sockets == LocalSockets::Off, Capability::LocalSocketsOff);
        demand(matches!(filesystem, Filesystem::Grants { .. }), Capability::FilesystemGrants);
        demand(!denied.is_empty(), Capability::FilesystemDenials);
        demand(!read_only.is_empty(), Capability::FilesystemReadOnly);
        demand(*system_calls == SystemCalls::Restricted, Capability::SystemCallFilter);
        demand(*others == Processes::Own, Capability::ProcessIsolation);
        demand(*shared_memory == SharedMemory::Own, Capability::OwnSharedMemory);
        res
    }

    /// Checks what no backend could carry out.
    ///
    /// ```
    /// use flyto_execenv::{ExecErrorKind, Spec};
    ///
    /// let err = Spec::new("ls").working_dir("src").check().expect_err("it is relative");
    /// assert_eq!(err.kind(), ExecErrorKind::InvalidSpec);
    /// ```
    ///
    /// # Errors
    ///
    /// [`ExecErrorKind::InvalidSpec`] names the first fault: an empty program, a NUL byte in a
    /// program, argument, variable or path, a variable without a name or with `=` in it, a working
    /// directory or a path of the isolation that is not absolute, or such a path with `..` in it.
    pub fn check(&self) -> Result<(), ExecError> {
        let refuse = |what: String| Err(ExecError::new(ExecErrorKind::InvalidSpec, what));
        let has_nul = |text: &OsStr| text.as_encoded_bytes().contains(&0);
        let program = self.program.as_os_str();
        if program.is_empty() {
            return refuse("start a program without a name".to_owned());
        }
        if has_nul(program) {
            return refuse(format!("start {program:?}: its name holds a NUL byte"));
        }
        if let Some(at) = self.args.iter().position(|it| has_nul(it)) {
            return refuse(format!("start {program:?}: argument {} holds a NUL byte", at + 1));
        }
        for (name, value) in self.env.iter() {
            if name.is_empty() || name.as_encoded_bytes().contains(&b'=') || has_nul(name) {
                return refuse(format!("start {program:?}: {name:?} is no name of a variable"));
            }
            if has_nul(value) {
                return refuse(format!("start {program:?}: variable {name:?} holds a NUL byte"));
            }
        }
        if !self.working_dir.is_absolute() || has_nul(self.working_dir.as_os_str()) {
            let dir = &self.working_dir;
            return refuse(format!("start {program:?}: working directory {dir:?} is not absolute"));
        }
        let is_odd = |it: &&Path| !it.is_absolute() || has_nul(it.as_os_str());
        if let Some(path) = self.files.iter().map(|it| &*it.path).find(is_odd) {
            return refuse(format!("start {program:?}: the file {path:?} is not absolute"));
        }
        if let Some(path) = self.isolation.odd_path() {
            let what = format!(
                "start {program:?}: a path of its isolation must be absolute and without \
                 `..`, found {path:?}"
            );
            return refuse(what);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check_requirements(spec: Spec, expect: Expect) {
        let names: Vec<_> = spec.requirements().iter().map(|it| it.name()).collect();
        expect.assert_eq(&names.join(" "));
    }

    #[test]
    fn each_grant_demands_its_capability() {
        let spec = || Spec::new("x");
        check_requirements(spec(), expect!["group-kill"]);
        check_requirements(spec().kill(KillScope::Leader), expect![""]);
        check_requirements(spec().kill(KillScope::Tree), expect!["tree-kill"]);
        check_requirements(spec().grace(DEFAULT_GRACE), expect!["group-kill grace"]);
        check_requirements(spec().grace(Duration::ZERO), expect!["group-kill"]);
        check_requirements(spec().merge_stderr(), expect!["group-kill merged-stderr"]);
        check_requirements(spec().stdin(Stdin::Piped), expect!["group-kill piped-streams"]);
        check_requirements(
            Spec::new(Program::Pinned { path: "/x".into(), sha256: Sha256([0; 32]) }),
            expect!["group-kill pinned-program"],
        );
        check_requirements(
            spec().limits(Limits::new().memory_bytes(1).processes(1).output_bytes(1)),
            expect!["group-kill memory-limit process-limit"],
        );
        check_requirements(
            spec().isolation(Isolation::new().network(Network::Off)),
            expect!["group-kill network-off"],
        );
    }

    #[test]
    fn each_part_of_the_isolation_demands_its_capability() {
        let check = |isolation, expect| {
            check_requirements(Spec::new("x").kill(KillScope::Leader).isolation(isolation), expect);
        };
        let none = Isolation::new;
        let grants = Filesystem::Grants { read: [].into(), write: [].into() };
        check(none(), expect![""]);
        check(none().network(Network::Hosts(Vec::new())), expect!["network-hosts"]);
        check(none().local_sockets(LocalSockets::Off), expect!["local-sockets-off"]);
        check(none().filesystem(grants), expect!["filesystem-grants"]);
        check(none().deny("/a"), expect!["filesystem-denials"]);
        check(none().read_only("/a"), expect!["filesystem-read-only"]);
        check(none().system_calls(SystemCalls::Restricted), expect!["system-call-filter"]);
        check(none().processes(Processes::Own), expect!["process-isolation"]);
        check(none().shared_memory(SharedMemory::Own), expect!["own-shared-memory"]);
    }

    #[cfg(unix)]
    #[test]
    fn bytes_that_are_no_utf8_are_a_demand() {
        use std::os::unix::ffi::OsStringExt;
        let odd = OsString::from_vec(vec![b'a', 0xff]);
        check_requirements(Spec::new("x").arg(odd), expect!["group-kill non-utf8"]);
    }

    #[track_caller]
    fn check_refusal(spec: Spec, expect: Expect) {
        let err = spec.check().expect_err("the spec has a fault");
        assert_eq!(err.kind(), ExecErrorKind::InvalidSpec);
        assert!(!err.did_start());
        expect.assert_eq(&err.to_string());
    }

    #[test]
    fn what_no_backend_could_carry_out_is_refused() {
        check_refusal(Spec::new(""), expect!["failed to start a program without a name"]);
        check_refusal(
            Spec::new("x").args(["a", "b\0c"]),
            expect![[r#"failed to start "x": argument 2 holds a NUL byte"#]],
        );
        check_refusal(
            Spec::new("x").env_var("A=B", "c"),
            expect![[r#"failed to start "x": "A=B" is no name of a variable"#]],
        );
        check_refusal(
            Spec::new("x").env_var("A", "\0"),
            expect![[r#"failed to start "x": variable "A" holds a NUL byte"#]],
        );
        check_refusal(
            Spec::new("x").working_dir("sub"),
            expect![[r#"failed to start "x": working directory "sub" is not absolute"#]],
        );
        check_refusal(
            Spec::new("x").isolation(Isolation::new().deny("/a/../b")),
            expect![[
                r#"failed to start "x": a path of its isolation must be absolute and without `..`, found "/a/../b""#
            ]],
        );
    }
}
