//! Declares that programs end with their host, and leaves them alone.

use flyto_execenv::{Capabilities, Capability, conformance::play_host};

use super::{Fault, broken, check, probe};

/// What brings this program to [`programs_go_on`] alone.
pub(super) const AS_A_HOST: [&str; 3] =
    ["--exact", "broken::outlived_by_its_programs::programs_go_on", "--nocapture"];

#[derive(Debug)]
pub(super) struct OutlivedByItsPrograms;

impl Fault for OutlivedByItsPrograms {
    fn capabilities(&self, right: Capabilities) -> Capabilities {
        right.with([Capability::EndsWithHost])
    }
}

#[test]
fn programs_go_on() {
    play_host(|| (broken(OutlivedByItsPrograms).1, probe()));
    check::<OutlivedByItsPrograms>(&["nothing-survives-the-host"]);
}
