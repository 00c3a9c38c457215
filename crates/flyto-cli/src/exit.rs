//! What the program's exit code says.

use std::process::ExitCode;

use flyto_tools::{Failure, ToolError, ToolErrorKind, ToolResult};

/// Why the program ends. The numbers are a promise to scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All is well.
    Ok,
    /// The tool was called and failed.
    ToolFailed,
    /// The command line is wrong.
    Usage,
    /// An input or a file is not what its schema or its reader takes.
    Invalid,
    /// There is no such tool, file or code.
    NotFound,
    /// A rule, a block or a missing approval stands in the way.
    NotAllowed,
    /// The call took longer than it was given.
    TimedOut,
    /// The call could not be tried.
    NotTried,
    /// This machine lacks what every tool is given by default.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux is examined"))]
    Lacking,
    /// A fault of this program.
    Internal,
    /// The answer could not be written: a full disk, not a reader who has enough.
    OutputLost,
    /// A signal ended the program: its number.
    Signal(u8),
}

impl Exit {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::ToolFailed => 1,
            Self::Usage => 2,
            Self::Invalid => 3,
            Self::NotFound => 4,
            Self::NotAllowed => 5,
            Self::TimedOut => 6,
            Self::NotTried => 7,
            // EX_UNAVAILABLE of sysexits(3).
            Self::Lacking => 69,
            // EX_SOFTWARE of the same page.
            Self::Internal => 70,
            // EX_IOERR of the same page.
            Self::OutputLost => 74,
            // What a shell reports of a command that a signal ended.
            Self::Signal(number) => 128 + number,
        }
    }

    /// A word for programs: the `kind` of an error.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ToolFailed => "tool_failed",
            Self::Usage => "usage",
            Self::Invalid => "invalid",
            Self::NotFound => "not_found",
            Self::NotAllowed => "not_allowed",
            Self::TimedOut => "timed_out",
            Self::NotTried => "not_tried",
            Self::Lacking => "lacking",
            Self::Internal => "internal",
            Self::OutputLost => "output_lost",
            Self::Signal(_) => "interrupted",
        }
    }

    /// What a call came to that took place.
    pub(crate) fn of_result(result: &ToolResult) -> Self {
        result.failure.as_ref().map_or(Self::Ok, Self::of_failure)
    }

    /// What a call came to that could not be tried.
    pub(crate) fn of_error(err: &ToolError) -> Self {
        match err.kind() {
            ToolErrorKind::NotFound => Self::NotFound,
            ToolErrorKind::Refused => Self::NotAllowed,
            ToolErrorKind::Internal => Self::Internal,
            _ => Self::NotTried,
        }
    }

    fn of_failure(failure: &Failure) -> Self {
        match failure {
            Failure::BadInput => Self::Invalid,
            Failure::TimedOut { .. } => Self::TimedOut,
            Failure::Denied => Self::NotAllowed,
            // Nobody but a person at the keyboard cancels a call of this program.
            Failure::Cancelled => Self::Signal(SIGINT),
            _ => Self::ToolFailed,
        }
    }
}

/// The number of SIGINT everywhere (POSIX, kill(1)).
pub(crate) const SIGINT: u8 = 2;

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(failure: Option<Failure>, expect: u8) {
        let mut result = ToolResult::text("");
        result.failure = failure;
        assert_eq!(Exit::of_result(&result).code(), expect, "{:?}", result.failure);
    }

    #[test]
    fn results_have_their_codes() {
        check(None, 0);
        check(Some(Failure::exit_code(1)), 1);
        check(Some(Failure::exit_code(130)), 1);
        check(Some(Failure::Signal { number: 9, name: None }), 1);
        check(Some(Failure::limit("memory")), 1);
        check(Some(Failure::BadOutput), 1);
        check(Some(Failure::Environment { missing: vec!["TOKEN".into()] }), 1);
        check(Some(Failure::NotStarted), 1);
        check(Some(Failure::Lost), 1);
        check(Some(Failure::reported()), 1);
        check(Some(Failure::BadInput), 3);
        check(Some(Failure::Denied), 5);
        check(Some(Failure::TimedOut { after: None }), 6);
        check(Some(Failure::Cancelled), 130);
    }

    #[test]
    fn what_could_not_be_tried_has_its_codes() {
        for (kind, expect) in [
            (ToolErrorKind::NotFound, 4),
            (ToolErrorKind::ProgramMissing, 7),
            (ToolErrorKind::NotStartable, 7),
            (ToolErrorKind::Refused, 5),
            (ToolErrorKind::Unsupported, 7),
            (ToolErrorKind::DigestMismatch, 7),
            (ToolErrorKind::Unreachable, 7),
            (ToolErrorKind::Overloaded, 7),
            (ToolErrorKind::InvalidSchema, 7),
            (ToolErrorKind::Internal, 70),
        ] {
            let err = ToolError::new(kind, "x");
            assert_eq!(Exit::of_error(&err).code(), expect, "{kind:?}");
        }
    }

    #[test]
    fn signals_are_told_as_a_shell_does() {
        assert_eq!(Exit::Signal(SIGINT).code(), 130);
        assert_eq!(Exit::Signal(15).code(), 143);
    }
}
