//! How a chore ends early.

use std::{error::Error, fmt};

/// Why a chore did not succeed. The text is one line for people; programs look at the exit code.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The command line makes no sense: exit code 2, with the usage.
    Usage(String),
    /// The chore found something wrong, or could not be done: exit code 1.
    Failed(String),
    /// As [`Stop::Failed`], and the chore has already printed why.
    Reported,
}

impl Stop {
    pub(crate) fn usage(why: impl Into<String>) -> Self {
        Self::Usage(why.into())
    }

    pub(crate) fn failed(why: impl Into<String>) -> Self {
        Self::Failed(why.into())
    }

    /// A failure with its whole chain of causes on one line.
    pub(crate) fn because(what: impl fmt::Display, err: &dyn Error) -> Self {
        let mut why = format!("failed to {what}: {err}");
        let mut cause = err.source();
        while let Some(err) = cause {
            why.push_str(&format!(": {err}"));
            cause = err.source();
        }
        Self::Failed(why)
    }
}
