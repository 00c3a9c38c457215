//! The layers on an architecture without a supervisor: nothing makes use of them.

use std::{env::consts::ARCH, future};

use super::{Check, Layer, Machine, State, Trouble};
use crate::Linux;

/// Every layer, none of which is tried.
pub(super) fn try_all(_: &Linux, _: &Machine) -> future::Ready<Vec<Check>> {
    let unused = |layer| Check { layer, state: State::Fails(trouble()) };
    future::ready(Layer::ALL.iter().copied().map(unused).collect())
}

fn trouble() -> Trouble {
    Trouble {
        tried: format!("use it on {ARCH}"),
        errno: None,
        cause: "there is no supervisor for this architecture".into(),
        fix: "run it on x86_64".into(),
        instead: "programs start by posix_spawn, and only process groups are ended; bounds and \
            isolation are refused"
            .into(),
    }
}
