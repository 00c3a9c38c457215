//! Ends what the leader left behind and says that there was nothing.

use flyto_execenv::{Ended, Running, Spec};

use super::{ControlFault, Fault, break_control, check};

#[derive(Debug)]
pub(super) struct CountsNoLeaked;

impl Fault for CountsNoLeaked {
    fn running(&self, _: &Spec, running: Running) -> Running {
        break_control(running, Self)
    }
}

impl ControlFault for CountsNoLeaked {
    fn ended(&self, ended: Ended) -> Ended {
        ended.leaked(Some(0))
    }
}

#[test]
fn leaked_processes_are_not_counted() {
    check::<CountsNoLeaked>(&["leaked-are-ended"]);
}
