//! Why a program could not be run, or was lost sight of.

use std::{error::Error, fmt};

/// What a caller can act on.
///
/// What a program did (its exit code, a signal, a deadline) is no error but an
/// [`Outcome`](crate::Outcome).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExecErrorKind {
    /// The spec cannot be carried out by any backend: a NUL byte, a relative working directory.
    InvalidSpec,
    /// The policy of the class refuses every program; the source says why. The caller may choose another policy, or a
    /// place to which the reason does not apply.
    Refused,
    /// The spec demands what the backend does not declare, or names a backend that is not there.
    Unsupported,
    /// No such program: neither at the path nor in the spec's `PATH`.
    ProgramNotFound,
    /// The file is there and may not be executed, or is in no format that the system runs.
    NotExecutable,
    /// The program is a directory.
    IsDirectory,
    /// The interpreter in the script's first line is missing or cannot be run.
    BadInterpreter,
    /// The working directory is missing, no directory, or closed to the user.
    BadWorkingDir,
    /// Arguments and environment are longer than the system allows.
    TooLong,
    /// The file's digest is not the one that was demanded.
    DigestMismatch,
    /// The machine is short of processes, memory or descriptors at the moment.
    Exhausted,
    /// The backend itself cannot be reached.
    Unreachable,
    /// The program was started and lost sight of: what became of it is unknown.
    Lost,
    /// Anything else that the system reported.
    Other,
}

impl ExecErrorKind {
    /// Every kind, in declaration order.
    pub const ALL: &[Self] = &[
        Self::InvalidSpec,
        Self::Refused,
        Self::Unsupported,
        Self::ProgramNotFound,
        Self::NotExecutable,
        Self::IsDirectory,
        Self::BadInterpreter,
        Self::BadWorkingDir,
        Self::TooLong,
        Self::DigestMismatch,
        Self::Exhausted,
        Self::Unreachable,
        Self::Lost,
        Self::Other,
    ];

    /// The name that wire formats and logs use, such as `program-not-found`. It stays the same in later versions.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::InvalidSpec => "invalid-spec",
            Self::Refused => "refused",
            Self::Unsupported => "unsupported",
            Self::ProgramNotFound => "program-not-found",
            Self::NotExecutable => "not-executable",
            Self::IsDirectory => "is-directory",
            Self::BadInterpreter => "bad-interpreter",
            Self::BadWorkingDir => "bad-working-dir",
            Self::TooLong => "too-long",
            Self::DigestMismatch => "digest-mismatch",
            Self::Exhausted => "exhausted",
            Self::Unreachable => "unreachable",
            Self::Lost => "lost",
            Self::Other => "other",
        }
    }

    /// The kind of this name; `None` for one that this version does not know, which a caller takes for
    /// [`Other`](Self::Other).
    ///
    /// ```
    /// use flyto_execenv::ExecErrorKind;
    ///
    /// let kind = ExecErrorKind::BadWorkingDir;
    /// assert_eq!(ExecErrorKind::from_name(kind.name()), Some(kind));
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|it| it.name() == name)
    }

    /// Whether the same spec may succeed a little later.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Exhausted | Self::Unreachable)
    }
}

/// A program could not be run, or was lost sight of.
///
/// `Display` is one line that says what was attempted; the cause is the
/// [`source`](Error::source), so the code that prints walks the chain and nothing is said twice.
///
/// ```
/// use flyto_execenv::{ExecEnv, ExecErrorKind, Spec, local::Local};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), flyto_execenv::ExecError> {
/// let env = ExecEnv::new(Local::new());
/// let err = env.run(Spec::new("/no/such/program")).await.expect_err("it is not there");
/// assert_eq!(err.kind(), ExecErrorKind::ProgramNotFound);
/// assert!(!err.did_start() && !err.kind().is_retryable());
/// assert_eq!(err.to_string(), "failed to start \"/no/such/program\"");
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct ExecError {
    kind: ExecErrorKind,
    what: String,
    did_start: bool,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl ExecError {
    /// An error of `kind` while doing `what`, in words that follow "failed to": `start "jq"`.
    ///
    /// Only [`ExecErrorKind::Lost`] says that something ran; see [`ExecError::started`].
    #[must_use]
    pub fn new(kind: ExecErrorKind, what: impl Into<String>) -> Self {
        let did_start = kind == ExecErrorKind::Lost;
        Self { kind, what: what.into(), did_start, source: None }
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Says that something ran, so that trying again may do its work twice.
    #[must_use]
    pub fn started(mut self) -> Self {
        self.did_start = true;
        self
    }

    /// What a caller can act on.
    #[must_use]
    pub fn kind(&self) -> ExecErrorKind {
        self.kind
    }

    /// Whether anything ran. Where this is false, trying again does no work twice.
    #[must_use]
    pub fn did_start(&self) -> bool {
        self.did_start
    }
}

impl fmt::Display for ExecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to {}", self.what)
    }
}

impl Error for ExecError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|it| it as _)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_has_a_name_of_its_own_that_leads_back() {
        let names: BTreeSet<_> = ExecErrorKind::ALL.iter().map(|it| it.name()).collect();
        assert_eq!(names.len(), ExecErrorKind::ALL.len());
        // The last one of the declaration: none is left out of the list.
        assert_eq!(ExecErrorKind::Other as usize + 1, ExecErrorKind::ALL.len());
        for kind in ExecErrorKind::ALL {
            assert_eq!(ExecErrorKind::from_name(kind.name()), Some(*kind));
        }
        assert_eq!(ExecErrorKind::from_name("Lost"), None);
    }
}
