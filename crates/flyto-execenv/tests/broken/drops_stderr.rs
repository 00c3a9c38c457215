//! Keeps nothing of stderr.

use flyto_execenv::{Output, Running, Spec};

use super::{Fault, check};

#[derive(Debug)]
pub(super) struct DropsStderr;

impl Fault for DropsStderr {
    fn spec(&self, spec: Spec) -> Spec {
        if spec.stderr == flyto_execenv::ErrorOutput::Merged {
            spec
        } else {
            spec.stderr(Output::Null)
        }
    }

    fn running(&self, _: &Spec, running: Running) -> Running {
        assert!(running.stderr.is_none());
        running
    }
}

/// A stream that is lost is not observed either: no fault can break only one of the two.
#[test]
fn stderr_is_lost() {
    check::<DropsStderr>(&["streams-are-bytes", "output-arrives-while-it-runs"]);
}
