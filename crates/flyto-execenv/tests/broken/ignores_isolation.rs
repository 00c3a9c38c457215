//! Declares isolation, and has none.

use flyto_execenv::{Capabilities, Capability, Isolation, Spec};

use super::{Fault, check};

#[derive(Debug)]
pub(super) struct IgnoresIsolation;

impl Fault for IgnoresIsolation {
    fn capabilities(&self, right: Capabilities) -> Capabilities {
        right.with([
            Capability::FilesystemGrants,
            Capability::FilesystemDenials,
            Capability::NetworkOff,
            Capability::LocalSocketsOff,
            Capability::SystemCallFilter,
            Capability::ProcessIsolation,
        ])
    }

    fn spec(&self, spec: Spec) -> Spec {
        spec.isolation(Isolation::new())
    }
}

#[test]
fn programs_reach_what_they_must_not() {
    check::<IgnoresIsolation>(&[
        "files-stay-in-the-grants",
        "denied-paths-are-closed",
        "network-off-is-off",
        "local-sockets-off-are-off",
        "restricted-system-calls-fail",
        "others-are-out-of-reach",
    ]);
}
