//! Declares that it ends trees, and ends groups.

use flyto_execenv::{Capabilities, Capability, KillScope, Spec};

use super::{Fault, check};

#[derive(Debug)]
pub(super) struct KillsTheGroupForTheTree;

impl Fault for KillsTheGroupForTheTree {
    fn capabilities(&self, right: Capabilities) -> Capabilities {
        right.with([Capability::TreeKill])
    }

    fn spec(&self, spec: Spec) -> Spec {
        if spec.kill == KillScope::Tree { spec.kill(KillScope::Group) } else { spec }
    }
}

#[test]
fn escapees_survive() {
    check::<KillsTheGroupForTheTree>(&[
        "escapees-are-ended",
        "escapees-end-by-the-deadline",
        "escapees-end-when-cancelled",
        "escapees-end-when-dropped",
    ]);
}
