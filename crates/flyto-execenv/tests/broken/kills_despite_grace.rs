//! Declares a grace and gives none.

use std::time::Duration;

use async_trait::async_trait;
use flyto_execenv::{Control, Ended, ExecError, Running, Spec};

use super::{ControlFault, Fault, break_control, check};

#[derive(Debug)]
pub(super) struct KillsDespiteGrace;

impl Fault for KillsDespiteGrace {
    fn running(&self, _: &Spec, running: Running) -> Running {
        break_control(running, Self)
    }
}

#[async_trait]
impl ControlFault for KillsDespiteGrace {
    async fn end(&self, control: &dyn Control, _: Duration) -> Result<Ended, ExecError> {
        control.end(Duration::ZERO).await
    }
}

#[test]
fn no_process_is_asked() {
    check::<KillsDespiteGrace>(&["grace-asks-first"]);
}
