//! Declares limits, and keeps none.

use flyto_execenv::{Capabilities, Capability, Limits, Spec};

use super::{Fault, check};

#[derive(Debug)]
pub(super) struct IgnoresLimits;

impl Fault for IgnoresLimits {
    fn capabilities(&self, right: Capabilities) -> Capabilities {
        right.with([
            Capability::CpuLimit,
            Capability::MemoryLimit,
            Capability::FileSizeLimit,
            Capability::OpenFilesLimit,
            Capability::ProcessLimit,
        ])
    }

    fn spec(&self, spec: Spec) -> Spec {
        spec.limits(Limits::new())
    }
}

#[test]
fn programs_get_more_than_they_may() {
    check::<IgnoresLimits>(&[
        "cpu-time-is-limited",
        "memory-is-limited",
        "file-size-is-limited",
        "open-files-are-limited",
        "processes-are-limited",
    ]);
}
