//! Starts programs without a look at the files that they need.

use flyto_execenv::Spec;

use super::{Fault, check};

#[derive(Debug)]
pub(super) struct ShipsNothing;

impl Fault for ShipsNothing {
    fn spec(&self, mut right: Spec) -> Spec {
        right.files.clear();
        right
    }
}

#[test]
fn files_are_not_compared() {
    check::<ShipsNothing>(&["shipped-files-are-there"]);
}
