//! A program that did not start, as a tool's error.

use std::{error::Error, fmt::Write};

use flyto_execenv::{ExecError, ExecErrorKind};
use flyto_tools::{ToolError, ToolErrorKind};

/// The error of a tool whose program could not be run: `message` in the tool's own words, the cause
/// as its source.
///
/// ```
/// use flyto_execenv::{ExecError, ExecErrorKind};
/// use flyto_program::{chain, tool_error};
/// use flyto_tools::ToolErrorKind;
///
/// let err = ExecError::new(ExecErrorKind::ProgramNotFound, "start \"lint\"");
/// let err = tool_error("the tool \"lint\" cannot run", err);
/// assert_eq!(err.kind(), ToolErrorKind::ProgramMissing);
/// assert_eq!(chain(&err), "the tool \"lint\" cannot run: failed to start \"lint\"");
/// ```
#[must_use]
pub fn tool_error(message: impl Into<String>, err: ExecError) -> ToolError {
    ToolError::new(tool_error_kind(err.kind()), message).with_source(err)
}

/// What the caller of a tool can do about a program that could not be run.
///
/// A kind that is added later, and one that only a mistake of the tool itself leads to, is
/// [`ToolErrorKind::Internal`].
#[must_use]
pub fn tool_error_kind(kind: ExecErrorKind) -> ToolErrorKind {
    match kind {
        ExecErrorKind::ProgramNotFound => ToolErrorKind::ProgramMissing,
        ExecErrorKind::NotExecutable
        | ExecErrorKind::IsDirectory
        | ExecErrorKind::BadInterpreter
        | ExecErrorKind::BadWorkingDir
        | ExecErrorKind::TooLong
        | ExecErrorKind::InvalidSpec => ToolErrorKind::NotStartable,
        ExecErrorKind::Refused => ToolErrorKind::Refused,
        ExecErrorKind::Unsupported => ToolErrorKind::Unsupported,
        ExecErrorKind::DigestMismatch => ToolErrorKind::DigestMismatch,
        ExecErrorKind::Exhausted => ToolErrorKind::Overloaded,
        ExecErrorKind::Unreachable => ToolErrorKind::Unreachable,
        _ => ToolErrorKind::Internal,
    }
}

/// An error and its causes in one line, separated by colons, for people. Programs look at the kind of an
/// error instead.
#[must_use]
pub fn chain(err: &dyn Error) -> String {
    let mut res = err.to_string();
    let mut cause = err.source();
    while let Some(err) = cause {
        let _ = write!(res, ": {err}");
        cause = err.source();
    }
    res
}
