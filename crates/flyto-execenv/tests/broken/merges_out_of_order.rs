//! Merges the two streams itself, one after the other.

use flyto_execenv::{Capture, ErrorOutput, Output, Running, Spec};
use tokio::io::AsyncReadExt;

use super::{Fault, check};

#[derive(Debug)]
pub(super) struct MergesOutOfOrder;

impl Fault for MergesOutOfOrder {
    fn spec(&self, spec: Spec) -> Spec {
        if spec.stderr == ErrorOutput::Merged {
            spec.stderr(Output::Captured(Capture::default()))
        } else {
            spec
        }
    }

    fn running(&self, spec: &Spec, mut running: Running) -> Running {
        if spec.stderr == ErrorOutput::Merged
            && let (Some(out), Some(err)) = (running.stdout.take(), running.stderr.take())
        {
            running.stdout = Some(Box::new(out.chain(err)));
        }
        running
    }
}

#[test]
fn the_order_is_lost() {
    check::<MergesOutOfOrder>(&["merged-stderr-keeps-order"]);
}
