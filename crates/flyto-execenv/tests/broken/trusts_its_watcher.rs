//! Declares that it ends trees, and leaves that to a parent of the program, which it believes.

use std::{ffi::OsString, time::Duration};

use async_trait::async_trait;
use flyto_execenv::{
    Capabilities, Capability, Control, Ended, ExecError, KillScope, Running, Signal, Spec, Target,
};

use super::{ControlFault, Fault, break_control, check};

#[derive(Debug)]
pub(super) struct TrustsItsWatcher;

/// Ends its group when it is asked to, and with the program.
const WATCHER: &str = "trap 'trap \"\" TERM; kill -s TERM 0; exit 1' TERM
    \"$@\" & wait $!";

/// Whether it is one of the programs that this is about. Others show the same as without a tree kill.
fn strikes(spec: &Spec) -> bool {
    spec.args.iter().any(|it| it == "strike")
}

impl Fault for TrustsItsWatcher {
    fn capabilities(&self, right: Capabilities) -> Capabilities {
        right.with([Capability::TreeKill])
    }

    fn spec(&self, spec: Spec) -> Spec {
        let mut spec =
            if spec.kill == KillScope::Tree { spec.kill(KillScope::Group) } else { spec };
        if strikes(&spec) {
            let program = spec.program.as_os_str().to_owned();
            let head = ["-c", WATCHER, "watcher"].map(OsString::from).into_iter().chain([program]);
            spec.args = head.chain(spec.args).collect();
            spec.program = "/bin/sh".into();
        }
        spec
    }

    fn running(&self, spec: &Spec, right: Running) -> Running {
        if strikes(spec) { break_control(right, Asks) } else { right }
    }
}

struct Asks;

#[async_trait]
impl ControlFault for Asks {
    async fn end(&self, control: &dyn Control, _grace: Duration) -> Result<Ended, ExecError> {
        control.signal(Signal::TERM, Target::Leader)?;
        // One that is stopped does not hear it.
        control.wait().await?;
        control.end(Duration::ZERO).await
    }
}

#[test]
fn a_program_ends_or_stops_the_watcher() {
    check::<TrustsItsWatcher>(&[
        "escapees-are-ended",
        "escapees-end-by-the-deadline",
        "escapees-end-when-cancelled",
        "escapees-end-when-dropped",
        "killed-watchers-are-missed",
        "stopped-watchers-go-on",
    ]);
}
