//! Reports death by a signal as a shell does: a code above 128.

use flyto_execenv::{Exit, Running, Spec};

use super::{ControlFault, Fault, break_control, check};

#[derive(Debug)]
pub(super) struct SwallowsSignals;

impl Fault for SwallowsSignals {
    fn running(&self, _: &Spec, running: Running) -> Running {
        break_control(running, Self)
    }
}

impl ControlFault for SwallowsSignals {
    fn exit(&self, exit: Exit) -> Exit {
        match exit {
            Exit::Signal(signal) => Exit::Code(128 + signal.0),
            exit => exit,
        }
    }
}

#[test]
fn a_signal_becomes_a_code() {
    check::<SwallowsSignals>(&["signals-are-exact"]);
}
