//! Keeps its notes in the working directory of the program.

use std::path::Path;

use flyto_execenv::{Running, Spec};

use super::{Fault, check};

#[derive(Debug)]
pub(super) struct Litters;

impl Fault for Litters {
    fn running(&self, spec: &Spec, running: Running) -> Running {
        if spec.working_dir != Path::new("/") {
            std::fs::write(spec.working_dir.join(".notes"), "started")
                .expect("a scratch directory");
        }
        running
    }
}

#[test]
fn a_file_stays_in_the_working_directory() {
    check::<Litters>(&["working-dir-stays-clean"]);
}
