//! Ends programs when it is told to, and does nothing when a call is dropped.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use flyto_execenv::{Control, Ended, ExecError, Exit, Running, Signal, Spec, Target};

use super::{Fault, check};

/// What was forgotten is kept, and ended together with the backend.
#[derive(Debug, Default)]
pub(super) struct Forgets(Arc<Mutex<Vec<Box<dyn Control>>>>);

impl Fault for Forgets {
    fn running(&self, _: &Spec, mut running: Running) -> Running {
        let forgotten = Arc::clone(&self.0);
        running.control = Box::new(Forgetful { right: Some(running.control), forgotten });
        running
    }
}

#[derive(Debug)]
struct Forgetful {
    right: Option<Box<dyn Control>>,
    forgotten: Arc<Mutex<Vec<Box<dyn Control>>>>,
}

impl Forgetful {
    fn right(&self) -> &dyn Control {
        self.right.as_deref().expect("only the drop takes it")
    }
}

#[async_trait]
impl Control for Forgetful {
    async fn wait(&self) -> Result<Exit, ExecError> {
        self.right().wait().await
    }

    fn signal(&self, signal: Signal, target: Target) -> Result<(), ExecError> {
        self.right().signal(signal, target)
    }

    async fn end(&self, grace: std::time::Duration) -> Result<Ended, ExecError> {
        self.right().end(grace).await
    }
}

impl Drop for Forgetful {
    fn drop(&mut self) {
        self.forgotten.lock().expect("nobody panics with it").extend(self.right.take());
    }
}

/// What is forgotten is also left behind.
#[test]
fn programs_outlive_their_calls() {
    check::<Forgets>(&["nothing-is-left-behind", "dropped-is-ended"]);
}
