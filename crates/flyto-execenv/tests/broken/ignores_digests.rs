//! Declares pinned programs and runs them as any other.

use flyto_execenv::{Program, Spec};

use super::{Fault, check};

#[derive(Debug)]
pub(super) struct IgnoresDigests;

impl Fault for IgnoresDigests {
    fn spec(&self, mut spec: Spec) -> Spec {
        if matches!(spec.program, Program::Pinned { .. }) {
            spec.program = spec.program.as_os_str().into();
        }
        spec
    }
}

#[test]
fn any_bytes_run() {
    check::<IgnoresDigests>(&["pinned-mismatch-is-refused", "pinned-swap-is-caught"]);
}
