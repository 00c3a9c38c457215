//! Forgets a descriptor with each program.

use std::fs::File;

use flyto_execenv::{Running, Spec};

use super::{Fault, check};

#[derive(Debug)]
pub(super) struct KeepsDescriptors;

impl Fault for KeepsDescriptors {
    fn running(&self, _: &Spec, running: Running) -> Running {
        std::mem::forget(File::open("/dev/null").expect("it is always there"));
        running
    }
}

#[test]
fn descriptors_pile_up() {
    check::<KeepsDescriptors>(&["nothing-is-left-behind"]);
}
