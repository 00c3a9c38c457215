//! Why a verb did not come to its end.

use std::error::Error;
use std::io;
use std::path::Path;

use flyto_diagnostics::Diagnostic;
use flyto_host::Refusal;
use flyto_host::stages::StageTime;
use serde::Serialize;

use crate::exit::{Ending, Exit, Why};
use crate::words::one_line;

/// Why a verb ends early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The reader of stdout has enough. That is no failure, and is not reported.
    Closed,
    /// The signal of this number ended the verb before it had an answer. Its sender knows.
    Killed(u8),
    /// Something is to be said.
    Error(Box<Trouble>),
}

/// What is to be said about an error.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) exit: Exit,
    /// One sentence in lower case without a full stop.
    pub(crate) message: String,
    /// What to do about it, one sentence each.
    pub(crate) help: Vec<String>,
    /// What was found in files or texts and led to this.
    pub(crate) findings: Vec<Diagnostic>,
    /// The stage that refused a call, with the rule and its place.
    refusal: Option<Refusal>,
    /// The time that each stage of a call took, where the user wants it.
    stages: Vec<StageTime>,
}

impl Stop {
    /// A reason of this kind.
    pub(crate) fn new(why: Why, message: impl Into<String>) -> Self {
        Self::of(&Ending::Stopped(why), message)
    }

    /// What a verb came to that has no answer.
    pub(crate) fn of(ending: &Ending<'_>, message: impl Into<String>) -> Self {
        Self::Error(Box::new(Trouble {
            exit: Exit::of(ending),
            message: message.into(),
            help: Vec::new(),
            findings: Vec::new(),
            refusal: None,
            stages: Vec::new(),
        }))
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Why::Usage, message)
    }

    pub(crate) fn internal(err: impl Error) -> Self {
        Self::new(Why::Internal, chain(&err))
    }

    /// The end of a verb that cannot write its answer.
    pub(crate) fn output(err: io::Error) -> Self {
        match err.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::new(Why::OutputLost, format!("stdout cannot be written: {err}")),
        }
    }

    /// The end of a verb that cannot write the file that it is to write.
    pub(crate) fn not_written(file: &Path, err: &io::Error) -> Self {
        let file = one_line(&file.to_string_lossy());
        Self::new(Why::OutputLost, format!("failed to write {file}: {err}"))
    }

    /// What went wrong, without what to do about it; empty where nothing is to be said.
    pub(crate) fn message(&self) -> &str {
        match self {
            Self::Error(trouble) => &trouble.message,
            Self::Closed | Self::Killed(_) => "",
        }
    }

    /// The first thing to do about it.
    pub(crate) fn first_help(&self) -> Option<&str> {
        match self {
            Self::Error(trouble) => trouble.help.first().map(String::as_str),
            Self::Closed | Self::Killed(_) => None,
        }
    }

    /// How the program ends for it; `None` where nothing is to be said.
    pub(crate) fn exit(&self) -> Option<Exit> {
        match self {
            Self::Error(trouble) => Some(trouble.exit),
            Self::Closed | Self::Killed(_) => None,
        }
    }

    /// Adds what to do about it.
    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        if let Self::Error(trouble) = &mut self {
            trouble.help.push(help.into());
        }
        self
    }

    /// Adds what was found in files or texts.
    pub(crate) fn with_findings(mut self, findings: impl IntoIterator<Item = Diagnostic>) -> Self {
        if let Self::Error(trouble) = &mut self {
            trouble.findings.extend(findings);
        }
        self
    }

    /// Adds which stage refused the call: for programs, which do not read the message.
    pub(crate) fn with_refusal(mut self, refusal: Refusal) -> Self {
        if let Self::Error(trouble) = &mut self {
            trouble.refusal = Some(refusal);
        }
        self
    }

    /// Adds the times of the stages that the call came to.
    pub(crate) fn with_stages(mut self, stages: Vec<StageTime>) -> Self {
        if let Self::Error(trouble) = &mut self {
            trouble.stages = stages;
        }
        self
    }

    /// The exit code, and the error as the one JSON document.
    pub(crate) fn into_document(self) -> (Exit, String) {
        match self {
            Self::Closed => (Exit::Ok, String::new()),
            Self::Killed(number) => {
                Self::of(&Ending::Killed(number), "a signal ended it").into_document()
            }
            Self::Error(trouble) => (trouble.exit, trouble.document()),
        }
    }
}

impl Trouble {
    /// The one JSON document.
    pub(crate) fn document(&self) -> String {
        let Self { exit, message, help, findings, refusal, stages } = self;
        let (kind, exit_code) = (exit.word(), exit.code());
        let refusal = refusal.as_ref();
        let error = ErrorDocument { kind, message, exit_code, help, findings, refusal, stages };
        // Texts, numbers and findings have no reason to fail.
        let text = serde_json::to_string_pretty(&Wrapped { error }).unwrap_or_default();
        format!("{text}\n")
    }
}

/// The one JSON document of an error.
#[derive(Serialize)]
struct Wrapped<'a> {
    error: ErrorDocument<'a>,
}

#[derive(Serialize)]
struct ErrorDocument<'a> {
    kind: &'static str,
    message: &'a str,
    exit_code: u8,
    help: &'a [String],
    findings: &'a [Diagnostic],
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<&'a Refusal>,
    #[serde(skip_serializing_if = "<[StageTime]>::is_empty")]
    stages: &'a [StageTime],
}

/// An error and its causes in one line, separated by colons.
pub(crate) fn chain(err: &dyn Error) -> String {
    let mut res = err.to_string();
    let mut cause = err.source();
    while let Some(err) = cause {
        res.push_str(&format!(": {err}"));
        cause = err.source();
    }
    res
}
