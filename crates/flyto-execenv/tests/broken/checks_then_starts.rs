//! Hashes a pinned program at each call, and then starts whatever lies at the path by then.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use flyto_execenv::{Program, Sha256, Spec, local::resolve_program};
use sha2::Digest;

use super::{Fault, check};

/// Time between the check and the start, unless the file changes before: long enough for the suite's
/// swaps on a busy machine.
const BETWEEN: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct ChecksThenStarts;

impl Fault for ChecksThenStarts {
    fn spec(&self, mut spec: Spec) -> Spec {
        let Program::Pinned { sha256, .. } = spec.program else { return spec };
        let Ok(path) = resolve_program(&spec) else { return spec };
        let is_right =
            || fs::read(&path).is_ok_and(|it| Sha256(sha2::Sha256::digest(it).into()) == sha256);
        if !is_right() {
            return spec;
        }
        let give_up = Instant::now() + BETWEEN;
        while is_right() && Instant::now() < give_up {
            thread::yield_now();
        }
        spec.program = spec.program.as_os_str().into();
        spec
    }
}

#[test]
fn a_file_that_changes_between_check_and_start_runs() {
    check::<ChecksThenStarts>(&["pinned-swap-is-caught"]);
}
