//! What a backend says about a bound that it keeps reaches the outcome.
#![cfg(unix)]

use std::time::Duration;

use async_trait::async_trait;
use flyto_execenv::{
    Capabilities, Control, Ended, Ending, ExecEnv, ExecError, Executor, Exit, LimitKind, Running,
    Signal, Spec, Target, local::Local,
};

/// Says of every program that a bound on memory ended it.
#[derive(Debug)]
struct Strict(Local);

#[async_trait]
impl Executor for Strict {
    fn capabilities(&self) -> &Capabilities {
        self.0.capabilities()
    }

    async fn start(&self, spec: Spec) -> Result<Running, ExecError> {
        let mut running = self.0.start(spec).await?;
        running.control = Box::new(StrictControl(running.control));
        Ok(running)
    }
}

#[derive(Debug)]
struct StrictControl(Box<dyn Control>);

#[async_trait]
impl Control for StrictControl {
    async fn wait(&self) -> Result<Exit, ExecError> {
        self.0.wait().await
    }

    fn signal(&self, signal: Signal, target: Target) -> Result<(), ExecError> {
        self.0.signal(signal, target)
    }

    async fn end(&self, grace: Duration) -> Result<Ended, ExecError> {
        Ok(self.0.end(grace).await?.limit(LimitKind::Memory))
    }
}

#[tokio::test]
async fn a_bound_that_the_backend_keeps_is_the_reason() {
    let env = ExecEnv::new(Strict(Local::new()));
    let outcome = env.run(Spec::new("/bin/sh").args(["-c", "exit 9"])).await.expect("sh starts");
    assert_eq!(outcome.ending, Ending::LimitReached(LimitKind::Memory));
    assert_eq!(outcome.exit, Some(Exit::Code(9)));

    // A deadline that passed first stays the reason.
    let hang = Spec::new("/bin/sh").args(["-c", "while :; do :; done"]);
    let outcome = env.run(hang.deadline(Duration::from_millis(1))).await.expect("sh starts");
    assert_eq!(outcome.ending, Ending::TimedOut);
}
