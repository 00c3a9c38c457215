//! Why a call that took place failed.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Why a call that took place failed, for programs. The words for people and models are the
/// result's output.
///
/// Serialised, it is an object whose `kind` is the name of the variant in snake case; times are in seconds.
///
/// ```
/// use flyto_tools::{Failure, ToolResult};
///
/// let result = ToolResult::failed(Failure::exit_code(2), "no such file");
/// assert!(result.is_error());
/// let written = serde_json::to_string(&result.failure)?;
/// assert_eq!(written, r#"{"kind":"exit_code","code":2}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Failure {
    /// The program ended with a code other than 0.
    ExitCode {
        /// The code.
        code: i32,
    },
    /// The program was ended by a signal.
    Signal {
        /// Number of the signal where the program ran.
        number: i32,
        /// Its name there, such as `SIGKILL`, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// The call was not done in time, and was ended.
    TimedOut {
        /// How long it was given.
        #[serde(
            rename = "after_seconds",
            default,
            skip_serializing_if = "Option::is_none",
            serialize_with = "crate::seconds::serialize_option",
            deserialize_with = "crate::seconds::deserialize_option"
        )]
        after: Option<Duration>,
    },
    /// The caller took the call back while it ran.
    Cancelled,
    /// The call used more than it was given, and was ended.
    Limit {
        /// Name of the limit, such as `memory` or `output`.
        which: String,
    },
    /// The input does not fit the schema; nothing was started.
    BadInput,
    /// The structured result does not fit the schema that the tool declares.
    BadOutput,
    /// What the tool's declaration asks of its environment is not there; nothing was started.
    Environment {
        /// Names of the variables that have no value.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missing: Vec<String>,
    },
    /// A rule, a checkpoint or a person said no; nothing was started.
    Denied,
    /// The program could not be started, and the tool presents that as a result.
    NotStarted,
    /// The program was started, and what became of it is unknown.
    Lost,
    /// The code of the tool panicked. The call was ended there, and the host goes on.
    Panicked,
    /// The tool itself says that it failed.
    Reported {
        /// The tool's own code for it, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<i64>,
    },
}

impl Failure {
    /// [`Failure::ExitCode`] with `code`.
    #[must_use]
    pub fn exit_code(code: i32) -> Self {
        Self::ExitCode { code }
    }

    /// [`Failure::Limit`] named `which`.
    #[must_use]
    pub fn limit(which: impl Into<String>) -> Self {
        Self::Limit { which: which.into() }
    }

    /// [`Failure::Reported`] without a code.
    #[must_use]
    pub fn reported() -> Self {
        Self::Reported { code: None }
    }
}

/// A few words for a status line: `exit code 3`, `timed out`.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ExitCode { code } => write!(f, "exit code {code}"),
            Self::Signal { number, name: Some(name) } => write!(f, "signal {number} ({name})"),
            Self::Signal { number, name: None } => write!(f, "signal {number}"),
            Self::TimedOut { .. } => f.write_str("timed out"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Limit { which } => write!(f, "{which} limit reached"),
            Self::BadInput => f.write_str("input breaks the schema"),
            Self::BadOutput => f.write_str("output breaks the schema"),
            Self::Environment { missing } if missing.is_empty() => {
                f.write_str("environment incomplete")
            }
            Self::Environment { missing } => write!(f, "no value for {}", missing.join(", ")),
            Self::Denied => f.write_str("denied"),
            Self::NotStarted => f.write_str("not started"),
            Self::Lost => f.write_str("outcome unknown"),
            Self::Panicked => f.write_str("panicked"),
            Self::Reported { code: Some(code) } => write!(f, "error {code}"),
            Self::Reported { code: None } => f.write_str("error"),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(failures: &[Failure], expect: Expect) {
        let mut lines = String::new();
        for failure in failures {
            let json = serde_json::to_string(failure).unwrap();
            assert_eq!(serde_json::from_str::<Failure>(&json).unwrap(), *failure);
            lines.push_str(&format!("{failure}: {json}\n"));
        }
        expect.assert_eq(&lines);
    }

    #[test]
    fn failures_read_well_and_survive_being_stored() {
        check(
            &[
                Failure::exit_code(3),
                Failure::Signal { number: 9, name: Some("SIGKILL".into()) },
                Failure::Signal { number: 40, name: None },
                Failure::TimedOut { after: Some(Duration::from_millis(1500)) },
                Failure::TimedOut { after: None },
                Failure::Cancelled,
                Failure::limit("memory"),
                Failure::BadInput,
                Failure::BadOutput,
                Failure::Environment { missing: vec!["TOKEN".into(), "USER".into()] },
                Failure::Environment { missing: vec![] },
                Failure::Denied,
                Failure::NotStarted,
                Failure::Lost,
                Failure::Panicked,
                Failure::Reported { code: Some(-32602) },
                Failure::reported(),
            ],
            expect![[r#"
                exit code 3: {"kind":"exit_code","code":3}
                signal 9 (SIGKILL): {"kind":"signal","number":9,"name":"SIGKILL"}
                signal 40: {"kind":"signal","number":40}
                timed out: {"kind":"timed_out","after_seconds":1.5}
                timed out: {"kind":"timed_out"}
                cancelled: {"kind":"cancelled"}
                memory limit reached: {"kind":"limit","which":"memory"}
                input breaks the schema: {"kind":"bad_input"}
                output breaks the schema: {"kind":"bad_output"}
                no value for TOKEN, USER: {"kind":"environment","missing":["TOKEN","USER"]}
                environment incomplete: {"kind":"environment"}
                denied: {"kind":"denied"}
                not started: {"kind":"not_started"}
                outcome unknown: {"kind":"lost"}
                panicked: {"kind":"panicked"}
                error -32602: {"kind":"reported","code":-32602}
                error: {"kind":"reported"}
            "#]],
        );
    }
}
