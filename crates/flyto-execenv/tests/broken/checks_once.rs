//! Hashes a pinned program at its first call and trusts the path from then on.

use std::sync::Mutex;

use flyto_execenv::{Program, Running, Spec};

use super::{Fault, check};

#[derive(Debug, Default)]
pub(super) struct ChecksOnce {
    seen: Mutex<Vec<Program>>,
}

impl Fault for ChecksOnce {
    fn spec(&self, mut spec: Spec) -> Spec {
        let seen = self.seen.lock().expect("nobody panics with it");
        if seen.contains(&spec.program) {
            spec.program = spec.program.as_os_str().into();
        }
        spec
    }

    fn running(&self, spec: &Spec, running: Running) -> Running {
        if matches!(spec.program, Program::Pinned { .. }) {
            self.seen.lock().expect("nobody panics with it").push(spec.program.clone());
        }
        running
    }
}

#[test]
fn a_file_that_changes_later_runs() {
    check::<ChecksOnce>(&["pinned-swap-is-caught"]);
}
