//! Declares that it measures, and does not.

use flyto_execenv::{Ended, Running, Spec, Usage};

use super::{ControlFault, Fault, break_control, check};

#[derive(Debug)]
pub(super) struct KnowsNoUsage;

impl Fault for KnowsNoUsage {
    fn running(&self, _: &Spec, running: Running) -> Running {
        break_control(running, Self)
    }
}

impl ControlFault for KnowsNoUsage {
    fn ended(&self, ended: Ended) -> Ended {
        ended.usage(Usage::unknown())
    }
}

#[test]
fn the_promised_numbers_are_missing() {
    check::<KnowsNoUsage>(&["usage-is-reported"]);
}
