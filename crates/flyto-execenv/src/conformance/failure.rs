//! Why a case failed.
//!
//! [`ensure`] and [`equal`] are what cases compare with. A failure is one sentence: values are cut
//! after 200 characters, and an error of the backend is shown with its whole chain of causes.

use std::{error::Error, fmt};

use crate::{ExecError, Outcome};

/// What a backend did instead of keeping its promise, in one sentence for a person.
///
/// `Display` is the sentence. There is no source: causes are part of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure(String);

impl Failure {
    /// `what` says what was expected and what came.
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Failure {}

impl From<ExecError> for Failure {
    fn from(err: ExecError) -> Self {
        let mut what = format!("{err} ({:?}, did_start: {})", err.kind(), err.did_start());
        let mut cause = err.source();
        while let Some(err) = cause {
            what.push_str(&format!(": {err}"));
            cause = err.source();
        }
        Self(what)
    }
}

/// Fails with `what` unless `holds`.
pub(super) fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(Failure(what())) }
}

/// Fails unless `got` is `expected`; `about` says what is compared.
pub(super) fn equal<T: PartialEq + fmt::Debug>(
    about: &str,
    got: T,
    expected: T,
) -> Result<(), Failure> {
    ensure(got == expected, || {
        format!("{about}: expected {}, got {}", short(&expected), short(&got))
    })
}

/// Enough of a value to recognise it by.
fn short(value: &impl fmt::Debug) -> String {
    let text = format!("{value:?}");
    match text.char_indices().nth(200) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// An outcome as far as a failure needs it.
///
/// The fields that tell how a call ended, and the beginning of what it printed.
pub(super) fn summary(outcome: &Outcome) -> String {
    let Outcome { ending, exit, stdout, stderr, pipe_held, leaked, confirmed, .. } = outcome;
    let text = |bytes: &[u8]| short(&String::from_utf8_lossy(bytes));
    format!(
        "{ending:?}, exit {exit:?}, stdout {}, stderr {}, pipe_held {pipe_held}, leaked {leaked:?}, \
         confirmed {confirmed}",
        text(&stdout.bytes()),
        text(&stderr.bytes()),
    )
}
