//! Starts a helper that starts the program, and takes the helper's start for the program's.

use flyto_execenv::{ExecError, ExecErrorKind};

use super::{Fault, check};

#[derive(Debug)]
pub(super) struct SaysThatItStarted;

impl Fault for SaysThatItStarted {
    fn error(&self, err: ExecError) -> ExecError {
        if err.kind() == ExecErrorKind::BadInterpreter { err.started() } else { err }
    }
}

#[test]
fn a_refusal_looks_like_a_run() {
    check::<SaysThatItStarted>(&["bad-interpreter"]);
}
