//! Lets the program have a descriptor that is none of its business.

use flyto_execenv::Spec;

use super::{Fault, check};

#[derive(Debug)]
pub(super) struct HandsOnADescriptor;

impl Fault for HandsOnADescriptor {
    fn spec(&self, mut spec: Spec) -> Spec {
        // The shell opens the descriptor and becomes the shell that was asked for. Other programs are
        // spared, since this would change why they do not start.
        if spec.program.as_os_str() == "/bin/sh" {
            let before = ["-c", "exec 7</dev/null; exec /bin/sh \"$@\"", "sh"];
            spec.args.splice(0..0, before.map(Into::into));
        }
        spec
    }
}

#[test]
fn the_program_finds_a_descriptor() {
    check::<HandsOnADescriptor>(&["no-extra-descriptors"]);
}
