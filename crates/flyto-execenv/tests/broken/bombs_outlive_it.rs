//! Declares that it ends trees and limits processes; a bomb in a session of its own goes on.

use flyto_execenv::{Capabilities, Capability, KillScope, Limits, Spec};

use super::{Fault, check};

#[derive(Debug)]
pub(super) struct BombsOutliveIt;

impl Fault for BombsOutliveIt {
    fn capabilities(&self, right: Capabilities) -> Capabilities {
        right.with([Capability::TreeKill, Capability::ProcessLimit])
    }

    fn spec(&self, spec: Spec) -> Spec {
        let spec = spec.limits(Limits::new());
        if spec.kill == KillScope::Tree { spec.kill(KillScope::Group) } else { spec }
    }
}

/// What ends escapees would end these as well.
#[test]
fn the_bomb_goes_on() {
    check::<BombsOutliveIt>(&[
        "escapees-are-ended",
        "escapees-end-by-the-deadline",
        "escapees-end-when-cancelled",
        "escapees-end-when-dropped",
        "fork-bomb-is-ended",
        "processes-are-limited",
    ]);
}
