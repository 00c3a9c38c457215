//! That a tool could not be tried.

use std::error::Error;
use std::fmt;

/// A tool could not be tried: nothing happened that the model could react to.
///
/// The message is the tool's own, one line and without the cause; the code that prints walks
/// [`source`](Error::source).
///
/// ```
/// use flyto_tools::{ToolError, ToolErrorKind};
///
/// let cause = std::io::Error::from(std::io::ErrorKind::NotFound);
/// let err = ToolError::new(ToolErrorKind::ProgramMissing, "plugin tool \"p:t\" exec failed")
///     .with_source(cause);
/// assert_eq!(err.kind(), ToolErrorKind::ProgramMissing);
/// assert_eq!(err.chain(), "plugin tool \"p:t\" exec failed: entity not found");
/// ```
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    kind: ToolErrorKind,
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// What a caller can do about a [`ToolError`].
///
/// ```
/// use flyto_tools::ToolErrorKind;
///
/// assert!(ToolErrorKind::Overloaded.retryable());
/// assert!(!ToolErrorKind::ProgramMissing.retryable());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolErrorKind {
    /// There is no such tool.
    NotFound,
    /// The tool's program is not there.
    ProgramMissing,
    /// The tool's program is there and cannot be started: not executable, a bad interpreter, a
    /// working directory that is not there.
    NotStartable,
    /// The host refuses to start the tool's program, by a decision of the operator's.
    Refused,
    /// The backend cannot give what the tool demands.
    Unsupported,
    /// The program's bytes are not the ones that were approved.
    DigestMismatch,
    /// The backend or server that would run the tool cannot be reached.
    Unreachable,
    /// There is no room for the call just now.
    Overloaded,
    /// The call was taken back before it started.
    Cancelled,
    /// A schema of the tool cannot be used, so no input can be checked.
    InvalidSchema,
    /// A fault of the host or the tool's wrapper.
    Internal,
}

impl ToolErrorKind {
    /// The name in documents and logs: `program_missing`. It stays as it is.
    ///
    /// ```
    /// assert_eq!(flyto_tools::ToolErrorKind::ProgramMissing.name(), "program_missing");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::ProgramMissing => "program_missing",
            Self::NotStartable => "not_startable",
            Self::Refused => "refused",
            Self::Unsupported => "unsupported",
            Self::DigestMismatch => "digest_mismatch",
            Self::Unreachable => "unreachable",
            Self::Overloaded => "overloaded",
            Self::Cancelled => "cancelled",
            Self::InvalidSchema => "invalid_schema",
            Self::Internal => "internal",
        }
    }

    /// Whether the same call may well succeed a little later.
    #[must_use]
    pub fn retryable(self) -> bool {
        match self {
            Self::Unreachable | Self::Overloaded => true,
            Self::NotFound
            | Self::ProgramMissing
            | Self::NotStartable
            | Self::Refused
            | Self::Unsupported
            | Self::DigestMismatch
            | Self::Cancelled
            | Self::InvalidSchema
            | Self::Internal => false,
        }
    }
}

impl ToolError {
    /// Makes an error with one line of text.
    #[must_use]
    pub fn new(kind: ToolErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What a caller can do about it.
    #[must_use]
    pub fn kind(&self) -> ToolErrorKind {
        self.kind
    }

    /// Whether the same call may well succeed a little later.
    #[must_use]
    pub fn retryable(&self) -> bool {
        self.kind.retryable()
    }

    /// The message and its causes in one line, separated by colons.
    #[must_use]
    pub fn chain(&self) -> String {
        Chain(self).to_string()
    }
}

/// Shows an error with its causes: `a: b: c`.
pub(crate) struct Chain<'a>(pub(crate) &'a (dyn Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(err) = cause {
            write!(f, ": {err}")?;
            cause = err.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_passing_troubles_are_retryable() {
        for kind in [ToolErrorKind::Unreachable, ToolErrorKind::Overloaded] {
            assert!(ToolError::new(kind, "x").retryable(), "{kind:?}");
        }
        for kind in
            [ToolErrorKind::NotFound, ToolErrorKind::DigestMismatch, ToolErrorKind::Cancelled]
        {
            assert!(!ToolError::new(kind, "x").retryable(), "{kind:?}");
        }
    }

    #[test]
    fn a_cause_is_told_once() {
        let inner = ToolError::new(ToolErrorKind::Unreachable, "no answer").with_source("reset");
        let outer = ToolError::new(ToolErrorKind::Internal, "call failed").with_source(inner);
        assert_eq!(outer.to_string(), "call failed");
        assert_eq!(outer.chain(), "call failed: no answer: reset");
    }
}
