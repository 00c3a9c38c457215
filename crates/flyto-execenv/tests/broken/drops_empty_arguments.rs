//! Sends the command line as text and splits it again: empty arguments vanish on the way.

use flyto_execenv::Spec;

use super::{Fault, check};

#[derive(Debug)]
pub(super) struct DropsEmptyArguments;

impl Fault for DropsEmptyArguments {
    fn spec(&self, mut spec: Spec) -> Spec {
        spec.args.retain(|it| !it.is_empty());
        spec
    }
}

#[test]
fn empty_arguments_vanish() {
    check::<DropsEmptyArguments>(&["argv-verbatim"]);
}
