//! Says that CPU time covers the tree, and counts the leader and what it waited for.

use flyto_execenv::{Capabilities, Capability, Ended, Running, Spec};

use super::{ControlFault, Fault, break_control, check};

#[derive(Debug)]
pub(super) struct ForgetsOrphans;

impl Fault for ForgetsOrphans {
    fn capabilities(&self, right: Capabilities) -> Capabilities {
        right.with([Capability::TreeCpuUsage])
    }

    fn running(&self, _: &Spec, running: Running) -> Running {
        break_control(running, Self)
    }
}

impl ControlFault for ForgetsOrphans {
    fn ended(&self, ended: Ended) -> Ended {
        let mut usage = ended.usage;
        usage.covers_tree = true;
        ended.usage(usage)
    }
}

#[test]
fn an_orphans_time_is_missing() {
    check::<ForgetsOrphans>(&["usage-covers-the-tree"]);
}
