//! Starts a pinned program through code of its own, which hands on no arguments.

use flyto_execenv::{Program, Spec};

use super::{Fault, check};

#[derive(Debug)]
pub(super) struct DropsArgumentsOfPinned;

impl Fault for DropsArgumentsOfPinned {
    fn spec(&self, mut spec: Spec) -> Spec {
        if matches!(spec.program, Program::Pinned { .. }) {
            spec.args.clear();
        }
        spec
    }
}

#[test]
fn a_pinned_program_gets_no_arguments() {
    check::<DropsArgumentsOfPinned>(&["pinned-bytes-run"]);
}
