//! What the program's exit code says. [`Exit`] has one variant for each kind of end, and [`Exit::code`] is
//! the one function that gives a kind its number. How a call ended is told by [`CallEnd`], for every program with a host.
//!
//! [`Exit::of`] is the one function that chooses the kind of what a verb came to. A verb that stops early says why
//! ([`Why`]), as only the code that stops it knows whether a file is missing or cannot be read. A verb that came to its
//! end and has nothing else to say is [`Exit::Ok`].

use std::path::Path;
use std::process::ExitCode;

use flyto_evolve::{Refusal, StoreError};
use flyto_host::{
    CallEnd, CallError,
    jobs::{JobError, JobState},
    undo::UndoError,
};
use flyto_tools::{ProblemKind, ToolResult};

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
    /// The log of calls is not as it was written.
    Tampered,
    /// This machine lacks what every tool is given by default.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux is examined"))]
    Lacking,
    /// A fault of this program.
    Internal,
    /// The answer could not be written: a full disk, not a reader that has enough.
    OutputLost,
    /// The job has no result yet.
    StillRunning,
    /// The call of a job ended with this code.
    Recorded(u8),
    /// A signal ended the program: its number.
    Signal(u8),
}

impl Exit {
    /// The exit code. No other code of this program has a number for one.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Ok => CallEnd::Ok.exit_code(),
            Self::ToolFailed => CallEnd::ToolFailed.exit_code(),
            Self::Usage => 2,
            Self::Invalid => CallEnd::Invalid.exit_code(),
            Self::NotFound => CallEnd::NotFound.exit_code(),
            Self::NotAllowed => CallEnd::NotAllowed.exit_code(),
            Self::TimedOut => CallEnd::TimedOut.exit_code(),
            Self::NotTried => CallEnd::NotTried.exit_code(),
            Self::Tampered => 8,
            // EX_UNAVAILABLE of sysexits(3).
            Self::Lacking => 69,
            Self::Internal => CallEnd::Internal.exit_code(),
            // EX_IOERR of the same page.
            Self::OutputLost => 74,
            // EX_TEMPFAIL of the same page: a later attempt may succeed.
            Self::StillRunning => 75,
            Self::Recorded(code) => code,
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
            Self::Tampered => "tampered",
            Self::Lacking => "lacking",
            Self::Internal => "internal",
            Self::OutputLost => "output_lost",
            Self::StillRunning => "still_running",
            Self::Recorded(_) => "recorded",
            Self::Signal(_) => "interrupted",
        }
    }

    /// Chooses the kind for whatever a verb came to.
    pub(crate) fn of(ending: &Ending<'_>) -> Self {
        match ending {
            Ending::Called { result, signal } => match (CallEnd::of_result(result), signal) {
                // A signal cancels a call of this program, and `jobs cancel` one in the background.
                (CallEnd::Cancelled, Some(number)) => Self::Signal(*number),
                (end, _) => Self::of_call(end),
            },
            Ending::NotMade(refusal) => Self::of_refusal(refusal),
            Ending::NotCalled(err) => Self::of_call(CallEnd::of_error(err)),
            Ending::Job { state: JobState::Running, .. } => Self::StillRunning,
            Ending::Job { recorded: Some(code), .. } => Self::Recorded(*code),
            // The tool ended with its worker, as one that a signal killed.
            Ending::Job { .. } => Self::ToolFailed,
            Ending::NoJob(err) => match err {
                JobError::NotFound { .. } => Self::NotFound,
                JobError::Ambiguous { .. } => Self::Usage,
                JobError::Running { .. } => Self::StillRunning,
                JobError::Unusable { .. } => Self::Invalid,
                _ => Self::NotTried,
            },
            Ending::NotUndone(err) => match err {
                UndoError::NotFound { .. } => Self::NotFound,
                UndoError::Ambiguous { .. } => Self::Usage,
                UndoError::AlreadyUndone { .. } | UndoError::Unsure { .. } => Self::NotAllowed,
                UndoError::Unusable { .. } => Self::Invalid,
                _ => Self::NotTried,
            },
            Ending::DryRun { is_refused: true, .. } => Self::NotAllowed,
            Ending::DryRun { is_invalid: true, .. } => Self::Invalid,
            Ending::DryRun { problem, .. } => match problem {
                None => Self::Ok,
                Some(ProblemKind::BadInput) => Self::Invalid,
                Some(ProblemKind::Error(kind)) => Self::of_call(CallEnd::of_kind(*kind)),
                Some(_) => Self::ToolFailed,
            },
            Ending::Decided { is_allowed: true } => Self::Ok,
            Ending::Decided { is_allowed: false } => Self::NotAllowed,
            Ending::Validated { has_errors } => {
                if *has_errors {
                    Self::Invalid
                } else {
                    Self::Ok
                }
            }
            Ending::Verified { is_intact: true } => Self::Ok,
            Ending::Verified { is_intact: false } => Self::Tampered,
            #[cfg(target_os = "linux")]
            Ending::Examined { serves_by_default } => {
                if *serves_by_default {
                    Self::Ok
                } else {
                    Self::Lacking
                }
            }
            Ending::Killed(number) => Self::Signal(*number),
            Ending::Stopped(why) => Self::of_reason(*why),
        }
    }

    const fn of_reason(why: Why) -> Self {
        match why {
            Why::Usage => Self::Usage,
            Why::Broken => Self::Invalid,
            Why::Missing => Self::NotFound,
            Why::Refused => Self::NotAllowed,
            Why::Failed => Self::NotTried,
            Why::ProgramFailed => Self::ToolFailed,
            Why::Running => Self::StillRunning,
            Why::OutputLost => Self::OutputLost,
            Why::Internal => Self::Internal,
        }
    }

    fn of_refusal(refusal: &Refusal) -> Self {
        match refusal {
            Refusal::Invalid { .. }
            | Refusal::Unsupported { .. }
            | Refusal::Steps { .. }
            | Refusal::Syntax { .. }
            | Refusal::ExampleFailed { .. } => Self::Invalid,
            Refusal::NoSuchTool { .. } => Self::NotFound,
            Refusal::NoBash { .. } => Self::NotTried,
            Refusal::Store(err) => match &**err {
                StoreError::NotFound { .. } => Self::NotFound,
                StoreError::Conflict { .. }
                | StoreError::Decided { .. }
                | StoreError::Waiting { .. }
                | StoreError::Full { .. }
                | StoreError::EditedByHand { .. } => Self::NotAllowed,
                // The definition is not at fault.
                StoreError::Damaged { path, .. } if is_of_no_tool(path) => Self::NotTried,
                StoreError::Damaged { .. } | StoreError::InvalidName { .. } => Self::Invalid,
                _ => Self::NotTried,
            },
            // A limit, a name or a base that is taken, a twin, a secret, an answer.
            _ => Self::NotAllowed,
        }
    }

    const fn of_call(end: CallEnd) -> Self {
        match end {
            CallEnd::Ok => Self::Ok,
            CallEnd::ToolFailed => Self::ToolFailed,
            CallEnd::Invalid => Self::Invalid,
            CallEnd::NotFound => Self::NotFound,
            CallEnd::NotAllowed => Self::NotAllowed,
            CallEnd::TimedOut => Self::TimedOut,
            CallEnd::Internal => Self::Internal,
            CallEnd::Cancelled => Self::Signal(SIGINT),
            // What a later host ends for a reason of its own did not take place either.
            _ => Self::NotTried,
        }
    }
}

/// What a verb came to, as far as the exit code depends on it.
#[derive(Debug)]
pub(crate) enum Ending<'a> {
    /// A call has a result.
    Called {
        result: &'a ToolResult,
        /// The number of the signal that ended the call, where one did.
        signal: Option<u8>,
    },
    /// A call has no result.
    NotCalled(&'a CallError),
    /// A proposal became no tool, or a store could not do what it was told.
    NotMade(&'a Refusal),
    /// The result of a call in the background was asked for.
    Job {
        state: JobState,
        /// The exit code that its worker recorded.
        recorded: Option<u8>,
    },
    /// Nothing can be done with a job.
    NoJob(&'a JobError),
    /// A call was not undone.
    NotUndone(&'a UndoError),
    /// A call was looked at and not made.
    DryRun {
        /// A rule of the operator's is against it.
        is_refused: bool,
        /// The input does not fit the schema.
        is_invalid: bool,
        /// What the tool knows of that would keep it from running; the first where there are several.
        problem: Option<ProblemKind>,
    },
    /// The rules decided about a call that was not made.
    Decided { is_allowed: bool },
    /// Files were checked.
    Validated { has_errors: bool },
    /// The log of calls was checked.
    Verified { is_intact: bool },
    /// The machine was examined.
    #[cfg(target_os = "linux")]
    Examined {
        /// All that tools are given by default works.
        serves_by_default: bool,
    },
    /// The signal of this number ended the verb.
    Killed(u8),
    /// The verb stopped before it had an answer.
    Stopped(Why),
}

/// Whether a file of a store belongs to no tool and no proposal, but to all of them.
fn is_of_no_tool(path: &Path) -> bool {
    ["acks.json", "fingerprint.key", "pins.json", "usage.json"].iter().any(|it| path.ends_with(it))
}

/// Why a verb stops early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The command line is wrong.
    Usage,
    /// An input or a file is not what its reader takes.
    Broken,
    /// What was named is not there.
    Missing,
    /// A rule, a switch or a missing approval is against it.
    Refused,
    /// The system, or another program, could not do it.
    Failed,
    /// A program that the verb ran has failed.
    ProgramFailed,
    /// A job has not ended yet.
    Running,
    /// The answer could not be written.
    OutputLost,
    /// A fault of this program.
    Internal,
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
    use flyto_tools::{Failure, ToolError, ToolErrorKind};

    use super::*;

    #[track_caller]
    fn check(failure: Option<Failure>, expect: u8) {
        let mut result = ToolResult::text("");
        result.failure = failure;
        let ending = Ending::Called { result: &result, signal: None };
        assert_eq!(Exit::of(&ending).code(), expect, "{:?}", result.failure);
    }

    #[test]
    fn each_kind_has_a_code_of_its_own() {
        let kinds = [
            Exit::Ok,
            Exit::ToolFailed,
            Exit::Usage,
            Exit::Invalid,
            Exit::NotFound,
            Exit::NotAllowed,
            Exit::TimedOut,
            Exit::NotTried,
            Exit::Tampered,
            Exit::Internal,
            Exit::OutputLost,
            Exit::StillRunning,
            Exit::Recorded(99),
            Exit::Signal(SIGINT),
        ];
        let codes = kinds.map(Exit::code);
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7, 8, 70, 74, 75, 99, 130]);
        let words: std::collections::BTreeSet<_> = kinds.map(Exit::word).into();
        assert_eq!(words.len(), kinds.len());
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
            let err = CallError::Tool(ToolError::new(kind, "x"));
            assert_eq!(Exit::of(&Ending::NotCalled(&err)).code(), expect, "{kind:?}");
        }
    }

    #[test]
    fn a_dry_run_names_the_first_obstacle() {
        let of = |is_refused, is_invalid, problem| {
            Exit::of(&Ending::DryRun { is_refused, is_invalid, problem }).code()
        };
        let error = |kind| Some(ProblemKind::Error(kind));
        assert_eq!(of(true, true, Some(ProblemKind::Failed)), 5);
        assert_eq!(of(false, true, Some(ProblemKind::Failed)), 3);
        assert_eq!(of(false, false, Some(ProblemKind::BadInput)), 3);
        assert_eq!(of(false, false, Some(ProblemKind::Failed)), 1);
        assert_eq!(of(false, false, error(ToolErrorKind::NotStartable)), 7);
        assert_eq!(of(false, false, error(ToolErrorKind::Refused)), 5);
        assert_eq!(of(false, false, None), 0);
    }

    #[test]
    fn a_proposal_that_became_no_tool_has_its_codes() {
        let io = || std::io::Error::other("x");
        let store = |err: StoreError| Refusal::from(err);
        let name = || "t".to_owned();
        for (refusal, expect) in [
            (Refusal::Invalid { findings: Vec::new() }, 3),
            (Refusal::Syntax { message: "x".into() }, 3),
            (Refusal::NoSuchTool { name: name() }, 4),
            (Refusal::Exists { name: name(), version: 1 }, 5),
            (Refusal::Conflict { name: name(), base: None, current: 1, diff: Vec::new() }, 5),
            (Refusal::Secret { findings: Vec::new() }, 5),
            (Refusal::Denied { reason: "x".into() }, 5),
            (Refusal::NotApproved { why: "x".into() }, 5),
            (store(StoreError::NotFound { name: name(), version: Some(2) }), 4),
            (store(StoreError::Waiting { name: Some(name()), limit: 8 }), 5),
            (store(StoreError::Damaged { path: "x".into(), why: "x".into() }), 3),
            (store(StoreError::Damaged { path: "s/acks.json".into(), why: "x".into() }), 7),
            (store(StoreError::NoSpace { doing: "x", path: "x".into(), source: io() }), 7),
            (Refusal::NoBash { why: "x".into() }, 7),
        ] {
            assert_eq!(Exit::of(&Ending::NotMade(&refusal)).code(), expect, "{refusal:?}");
        }
    }

    #[test]
    fn a_job_has_the_code_of_its_call() {
        let of = |state, recorded| Exit::of(&Ending::Job { state, recorded }).code();
        assert_eq!(of(JobState::Running, None), 75);
        assert_eq!(of(JobState::Ended, Some(0)), 0);
        assert_eq!(of(JobState::Ended, Some(6)), 6);
        assert_eq!(of(JobState::Lost, None), 1);
    }

    #[test]
    fn a_log_that_was_changed_has_a_code_of_its_own() {
        let of = |is_intact| Exit::of(&Ending::Verified { is_intact }).code();
        assert_eq!((of(true), of(false)), (0, 8));
    }

    #[test]
    fn a_cancelled_call_has_the_code_of_its_signal() {
        let mut result = ToolResult::text("");
        result.failure = Some(Failure::Cancelled);
        let ending = Ending::Called { result: &result, signal: Some(15) };
        assert_eq!(Exit::of(&ending).code(), 143);
    }

    #[test]
    fn signals_are_told_as_a_shell_does() {
        assert_eq!(Exit::Signal(SIGINT).code(), 130);
        assert_eq!(Exit::Signal(15).code(), 143);
    }
}
