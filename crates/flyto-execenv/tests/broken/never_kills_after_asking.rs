//! Asks a program to end and waits for it, however long it takes.

use std::time::Duration;

use async_trait::async_trait;
use flyto_execenv::{Control, Ended, ExecError, Running, Signal, Spec, Target};

use super::{ControlFault, Fault, break_control, check};

#[derive(Debug)]
pub(super) struct NeverKills;

impl Fault for NeverKills {
    fn running(&self, _: &Spec, running: Running) -> Running {
        break_control(running, Self)
    }
}

#[async_trait]
impl ControlFault for NeverKills {
    async fn end(&self, control: &dyn Control, grace: Duration) -> Result<Ended, ExecError> {
        if !grace.is_zero() {
            control.signal(Signal::TERM, Target::Tree)?;
            // SIGCONT on Linux.
            control.signal(Signal(18), Target::Tree)?;
            control.wait().await?;
        }
        control.end(Duration::ZERO).await
    }
}

#[test]
fn a_deaf_program_is_waited_for() {
    check::<NeverKills>(&["grace-is-bounded"]);
}
