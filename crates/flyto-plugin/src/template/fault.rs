//! What is wrong with the text of a template.
//!
//! A fault is not yet a finding: it knows bytes of the command, and not where the command
//! stands. The loader makes a finding of it, [`TemplateError`] an error for a host without a
//! manifest.

use std::{error::Error, fmt, ops::Range};

use flyto_diagnostics::{Code, quoted};

use crate::codes;

/// One thing that is wrong with a text, at some of its bytes.
/// The texts follow the style of a finding: lower case, no full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// One of `F0150` to `F0152`, or the general code of a bad value.
    pub(crate) code: Code,
    /// The bytes of the text that it is about.
    pub(crate) span: Range<usize>,
    /// What is wrong, in one line.
    pub(crate) what: String,
    /// What to write instead, in words.
    pub(crate) help: Option<String>,
    /// What could stand there instead.
    pub(crate) instead: Option<String>,
}

impl Fault {
    /// Why it is refused, where that is not plain: the same for all that is found under one code.
    pub(crate) fn reason(&self) -> Option<&'static str> {
        match self.code {
            codes::SHELL_OPERATOR => {
                Some("what runs besides the program would be neither shown nor judged")
            }
            codes::CODE_PLACEHOLDER => {
                Some("the caller that gives the value would decide what runs")
            }
            _ => None,
        }
    }
}

/// Why a command is no template.
///
/// Shows what is wrong, where, and what to write.
///
/// The text of the error shows the command, cut after 60 characters. It is for the author of a
/// tool, and no call ever has it.
///
/// ```
/// use flyto_plugin::{ToolDef, codes};
/// use serde_json::json;
///
/// let err = ToolDef::template("two", "make && make install", json!({})).unwrap_err();
/// assert_eq!(err.code(), codes::SHELL_OPERATOR);
/// assert_eq!(err.span(), 5..7);
/// assert!(err.help().is_some());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    fault: Box<Fault>,
    command: String,
}

impl TemplateError {
    pub(crate) fn new(command: &str, fault: Box<Fault>) -> Self {
        Self { fault, command: command.to_owned() }
    }

    /// The finding that a manifest with this command would get.
    #[must_use]
    pub fn code(&self) -> Code {
        self.fault.code
    }

    /// The bytes of the command that it is about.
    ///
    /// The text is the one that the constructor was given.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.fault.span.clone()
    }

    /// What to write instead, in words.
    ///
    /// In English, in one line; `None` where there is nothing better to say than what is wrong.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.fault.help.as_deref()
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fault, command } = self;
        let (what, at) = (&fault.what, fault.span.start);
        write!(f, "failed to read the command {}: {what} (byte {at})", quoted(command))?;
        match &fault.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl Error for TemplateError {}
