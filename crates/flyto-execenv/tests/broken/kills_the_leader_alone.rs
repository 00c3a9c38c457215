//! Declares that it ends groups, and ends leaders.

use flyto_execenv::{KillScope, Spec};

use super::{Fault, check};

#[derive(Debug)]
pub(super) struct KillsTheLeaderAlone;

impl Fault for KillsTheLeaderAlone {
    fn spec(&self, spec: Spec) -> Spec {
        spec.kill(KillScope::Leader)
    }
}

/// Whatever ends a group is broken with it. A chatty leaker alone ends by itself, since nothing reads
/// its pipe any more.
#[test]
fn children_survive() {
    check::<KillsTheLeaderAlone>(&[
        "output-limit-ends-the-tree",
        "exited-then-closed",
        "leaked-are-ended",
        "deadline-ends-the-tree",
        "cancel-ends-the-tree",
        "grace-is-bounded",
        "dropped-is-ended",
        "signals-reach-the-tree",
    ]);
}
