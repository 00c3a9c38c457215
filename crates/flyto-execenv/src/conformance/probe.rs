//! The programs that cases run.

use std::{ffi::OsString, time::Duration};

use crate::Spec;

/// The steps that a program under test carries out, in POSIX shell.
pub(super) const SCRIPT: &str = include_str!("probe.sh");

/// Where the suite finds its programs and its scratch space on the backend's side.
///
/// Cases run a POSIX shell with one script, `/usr/bin/env`, and files that they write through the
/// backend itself; nothing has to be installed there.
#[derive(Debug, Clone)]
pub struct Probe {
    shell: String,
    env_program: String,
    path: String,
    scratch: String,
    system: Vec<String>,
    perl: String,
    guard: Duration,
    start_again: Option<Vec<OsString>>,
}

impl Default for Probe {
    fn default() -> Self {
        Self::posix_sh()
    }
}

impl Probe {
    /// `/bin/sh`, `/usr/bin/env`, the `PATH` `/usr/bin:/bin`, scratch space under `/tmp`, and 60 s
    /// for each case.
    #[must_use]
    pub fn posix_sh() -> Self {
        Self {
            shell: "/bin/sh".to_owned(),
            env_program: "/usr/bin/env".to_owned(),
            path: "/usr/bin:/bin".to_owned(),
            scratch: "/tmp".to_owned(),
            system: ["/bin", "/usr", "/lib", "/lib64", "/etc", "/nix"].map(str::to_owned).into(),
            perl: "/usr/bin/perl".to_owned(),
            guard: Duration::from_secs(60),
            start_again: None,
        }
    }

    /// Sets the absolute path of a POSIX shell: dash, bash and busybox are known to do.
    #[must_use]
    pub fn shell(mut self, path: impl Into<String>) -> Self {
        self.shell = path.into();
        self
    }

    /// Sets the absolute path of `env`, which prints its environment.
    #[must_use]
    pub fn env_program(mut self, path: impl Into<String>) -> Self {
        self.env_program = path.into();
        self
    }

    /// Sets the `PATH` on which the script finds `cat`, `chmod`, `dd`, `ls`, `mkdir`, `mkfifo`,
    /// `mktemp`, `mv`, `rm` and `sleep`; for a backend with tree kill also `setsid`, for one with isolation
    /// `ln` and `unshare`.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Sets an absolute directory in which cases make, and remove, directories of their own. Calls
    /// must see each other's files there.
    #[must_use]
    pub fn scratch(mut self, dir: impl Into<String>) -> Self {
        self.scratch = dir.into();
        self
    }

    /// Sets the paths that the programs above need to be able to read, with the libraries that they
    /// load: what a program gets that is granted nothing else. By default `/bin`, `/usr`, `/lib`,
    /// `/lib64`, `/etc` and `/nix`; one that is not there does no harm.
    #[must_use]
    pub fn system(mut self, paths: impl IntoIterator<Item: Into<String>>) -> Self {
        self.system = paths.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the absolute path of `perl`, version 5.8 or later, whose modules `Config`, `Fcntl` and `Socket` are all
    /// that is used: a shell has no sockets, makes no system calls by number, and need not ignore SIGCHLD when it
    /// is told to. Only a backend that declares a bound on CPU time, CPU time of the tree, or isolation of the
    /// network, of system calls or of processes needs it.
    #[must_use]
    pub fn perl(mut self, path: impl Into<String>) -> Self {
        self.perl = path.into();
        self
    }

    /// Sets how long a case may take before it has failed: a backstop for broken backends. Cases wait
    /// for events and never compare times.
    #[must_use]
    pub fn guard(mut self, guard: Duration) -> Self {
        self.guard = guard;
        self
    }

    /// Sets the arguments with which this very program, started again, comes to
    /// [`play_host`](super::play_host): to be the host that a case kills. Only a backend that declares
    /// [`Capability::EndsWithHost`](crate::Capability::EndsWithHost) needs it, and
    /// [`executor_conformance!`](crate::executor_conformance) sets it by itself.
    #[must_use]
    pub fn start_again(mut self, args: impl IntoIterator<Item: Into<OsString>>) -> Self {
        self.start_again = Some(args.into_iter().map(Into::into).collect());
        self
    }

    /// The same, unless it is set.
    pub(super) fn or_start_again(self, args: [&str; 4]) -> Self {
        if self.start_again.is_some() { self } else { self.start_again(args) }
    }

    pub(super) fn started_again_by(&self) -> Option<&[OsString]> {
        self.start_again.as_deref()
    }

    /// A program that carries out `steps`, which the script `probe.sh` lists.
    pub(super) fn spec(&self, steps: impl IntoIterator<Item: Into<OsString>>) -> Spec {
        self.environment(Spec::new(self.shell.as_str()).args(["-c", SCRIPT, "probe"]).args(steps))
    }

    /// What the script needs of its environment.
    pub(super) fn environment(&self, spec: Spec) -> Spec {
        spec.env_var("PATH", self.path.as_str())
            .env_var("PROBE_SHELL", self.shell.as_str())
            .env_var("PROBE_SCRIPT", SCRIPT)
    }

    /// The content of a file that, once it is executable, carries out `first` and then the steps that
    /// it is given. The words of `first` hold no blanks and nothing that is special to a shell.
    pub(super) fn executable(&self, first: &[&str]) -> Vec<u8> {
        format!("#!{}\nset -- {} \"$@\"\n{SCRIPT}", self.shell, first.join(" ")).into_bytes()
    }

    pub(super) fn shell_path(&self) -> &str {
        &self.shell
    }

    pub(super) fn env_program_path(&self) -> &str {
        &self.env_program
    }

    pub(super) fn path_value(&self) -> &str {
        &self.path
    }

    pub(super) fn system_paths(&self) -> &[String] {
        &self.system
    }

    pub(super) fn perl_path(&self) -> &str {
        &self.perl
    }

    pub(super) fn scratch_dir(&self) -> &str {
        &self.scratch
    }

    pub(super) fn guard_time(&self) -> Duration {
        self.guard
    }
}
