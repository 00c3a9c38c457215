//! Gives every program a stdin that is neither written nor closed, as a terminal is.

use flyto_execenv::{BoxedWriter, Running, Spec, Stdin};

use super::{ControlFault, Fault, break_control, check};

#[derive(Debug)]
pub(super) struct KeepsStdinOpen;

impl Fault for KeepsStdinOpen {
    fn spec(&self, spec: Spec) -> Spec {
        if spec.stdin == Stdin::Null { spec.stdin(Stdin::Piped) } else { spec }
    }

    fn running(&self, spec: &Spec, mut running: Running) -> Running {
        if spec.stdin != Stdin::Null {
            return running;
        }
        let stdin = running.stdin.take().expect("it was asked for");
        break_control(running, Open { _stdin: std::sync::Mutex::new(stdin) })
    }
}

struct Open {
    /// A writer is not `Sync` by itself.
    _stdin: std::sync::Mutex<BoxedWriter>,
}

impl ControlFault for Open {}

#[test]
fn there_is_no_end_of_input() {
    check::<KeepsStdinOpen>(&["stdin-is-never-the-hosts"]);
}
