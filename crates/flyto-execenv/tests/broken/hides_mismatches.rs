//! Says of a file with another digest that there is no such program.

use flyto_execenv::{ExecError, ExecErrorKind};

use super::{Fault, check};

#[derive(Debug)]
pub(super) struct HidesMismatches;

impl Fault for HidesMismatches {
    fn error(&self, right: ExecError) -> ExecError {
        match right.kind() {
            ExecErrorKind::DigestMismatch => {
                ExecError::new(ExecErrorKind::ProgramNotFound, "start it")
            }
            _ => right,
        }
    }
}

#[test]
fn a_mismatch_is_told_as_something_else() {
    check::<HidesMismatches>(&["pinned-mismatch-is-refused", "shipped-files-are-there"]);
}
