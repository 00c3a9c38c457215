//! How a call ended, in the kinds that scripts tell apart.

use flyto_tools::{Failure, ToolErrorKind, ToolResult};

use crate::error::CallError;

/// How a call ended: one kind for each exit code of `flyto call`. The numbers are a promise to scripts.
///
/// ```
/// use flyto_host::CallEnd;
/// use flyto_tools::{Failure, ToolResult};
///
/// let failed = ToolResult::failed(Failure::TimedOut { after: None }, "no answer");
/// assert_eq!(CallEnd::of(&Ok(failed)).exit_code(), 6);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallEnd {
    /// It has a result that is no failure: 0.
    Ok,
    /// The tool was called and failed: 1.
    ToolFailed,
    /// The input is not what the tool's schema takes: 3.
    Invalid,
    /// There is no such tool: 4.
    NotFound,
    /// A stage refused it, or the tool's plugin may not be used: 5.
    NotAllowed,
    /// It took longer than it was given: 6.
    TimedOut,
    /// The tool could not be tried: 7.
    NotTried,
    /// A fault of the host: 70, `EX_SOFTWARE` of sysexits(3).
    Internal,
    /// It was cancelled: 130, what a shell reports of a program that SIGINT ended.
    Cancelled,
}

impl CallEnd {
    /// The kind of what came of a call.
    #[must_use]
    pub fn of(end: &Result<ToolResult, CallError>) -> Self {
        match end {
            Ok(result) => Self::of_result(result),
            Err(err) => Self::of_error(err),
        }
    }

    /// The kind of a call with a result.
    #[must_use]
    pub fn of_result(result: &ToolResult) -> Self {
        match &result.failure {
            None => Self::Ok,
            Some(Failure::BadInput) => Self::Invalid,
            Some(Failure::TimedOut { .. }) => Self::TimedOut,
            Some(Failure::Denied) => Self::NotAllowed,
            Some(Failure::Cancelled) => Self::Cancelled,
            Some(_) => Self::ToolFailed,
        }
    }

    /// The kind of a call without a result.
    #[must_use]
    pub fn of_error(err: &CallError) -> Self {
        match err {
            CallError::NotFound { .. } => Self::NotFound,
            CallError::PluginHeldBack { .. } | CallError::Refused(_) => Self::NotAllowed,
            CallError::Tool(err) => Self::of_kind(err.kind()),
        }
    }

    /// The kind of a call of a tool that cannot be tried for this reason, also of one that was not made yet.
    #[must_use]
    pub const fn of_kind(kind: ToolErrorKind) -> Self {
        match kind {
            ToolErrorKind::NotFound => Self::NotFound,
            ToolErrorKind::Refused => Self::NotAllowed,
            ToolErrorKind::Internal => Self::Internal,
            _ => Self::NotTried,
        }
    }

    /// The exit code of a program that makes one call.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::ToolFailed => 1,
            Self::Invalid => 3,
            Self::NotFound => 4,
            Self::NotAllowed => 5,
            Self::TimedOut => 6,
            Self::NotTried => 7,
            Self::Internal => 70,
            Self::Cancelled => 130,
        }
    }
}
