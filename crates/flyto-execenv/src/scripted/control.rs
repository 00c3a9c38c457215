//! Ending in-memory programs, and watching that the handle keeps the contract.
//!
//! [`ScriptedControl`] does what [`Control`] says, and notes what the handle must not do: waiting
//! twice at once, waiting after the end, ending twice, leaving captured output unread, writing more
//! input than the spec has. A note is one sentence in
//! [`Scripted::violations`](super::Scripted::violations).

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tokio::time::timeout;

use super::{
    Violations,
    process::Tree,
    streams::{InputWatch, OutputWatch},
};
use crate::{
    Capabilities, Capability, Control, Ended, ExecError, Exit, KillScope, Signal, Spec, Target,
};

/// Dropping it kills what is in the kill scope.
#[derive(Debug)]
pub(super) struct ScriptedControl {
    tree: Arc<Tree>,
    scope: KillScope,
    counts_leaked: bool,
    /// For messages.
    ///
    /// The name of the spec's program.
    program: String,
    /// The streams that the handle has to read to their end.
    outputs: Vec<OutputWatch>,
    /// `None` where the input was there before the start.
    input: Option<InputWatch>,
    is_watched: AtomicBool,
    was_ended: AtomicBool,
    violations: Violations,
}

impl ScriptedControl {
    pub(super) fn new(
        tree: Arc<Tree>,
        spec: &Spec,
        capabilities: &Capabilities,
        outputs: Vec<OutputWatch>,
        input: Option<InputWatch>,
        violations: Violations,
    ) -> Self {
        Self {
            tree,
            scope: spec.kill,
            // Beyond the leader nothing is ended in its scope, so that nothing is counted either.
            counts_leaked: capabilities.has(Capability::LeakCount)
                && spec.kill != KillScope::Leader,
            program: format!("{:?}", spec.program.as_os_str()),
            outputs,
            input,
            is_watched: AtomicBool::new(false),
            was_ended: AtomicBool::new(false),
            violations,
        }
    }

    /// Adds the program's name to the sentence.
    fn violation(&self, what: &str) {
        self.violations.add(format!("{}: {what}", self.program));
    }

    /// Notes a second `wait` or `end` beside the first.
    fn watch(&self) -> Watching<'_> {
        if self.is_watched.swap(true, Ordering::Relaxed) {
            self.violation("waited for or ended from two places at once");
        }
        Watching(&self.is_watched)
    }
}

/// Frees the place for the next call when it is dropped.
struct Watching<'a>(&'a AtomicBool);

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

#[async_trait]
impl Control for ScriptedControl {
    async fn wait(&self) -> Result<Exit, ExecError> {
        if self.was_ended.load(Ordering::Relaxed) {
            self.violation("waited for after its end");
        }
        let _watching = self.watch();
        Ok(self.tree.leader_exit().await)
    }

    fn signal(&self, signal: Signal, target: Target) -> Result<(), ExecError> {
        let scope = match target {
            Target::Leader => KillScope::Leader,
            Target::Tree => self.scope,
        };
        self.tree.signal(signal, scope);
        Ok(())
    }

    async fn end(&self, grace: Duration) -> Result<Ended, ExecError> {
        if self.was_ended.swap(true, Ordering::Relaxed) {
            self.violation("ended twice");
        }
        let _watching = self.watch();
        let by_itself = self.tree.exit().is_some();
        if !by_itself && !grace.is_zero() {
            self.tree.signal(Signal::TERM, self.scope);
            self.tree.signal(Signal(18), self.scope);
            // What is still there after the grace is killed.
            let _ = timeout(grace, self.tree.gone(self.scope)).await;
        }
        let n_left = u32::try_from(self.tree.count(self.scope)).unwrap_or(u32::MAX);
        self.tree.signal(Signal::KILL, self.scope);
        self.tree.gone(self.scope).await;
        let exit = self.tree.leader_exit().await;
        let n_leaked = if by_itself { n_left } else { 0 };
        Ok(Ended::clean(exit).leaked(self.counts_leaked.then_some(n_leaked)))
    }
}

impl Drop for ScriptedControl {
    fn drop(&mut self) {
        self.tree.signal(Signal::KILL, self.scope);
        if self.was_ended.load(Ordering::Relaxed) && self.outputs.iter().any(OutputWatch::was_left)
        {
            self.violation("captured output was not read to its end");
        }
        let excess = self.input.as_ref().map_or(0, InputWatch::excess);
        if excess > 0 {
            self.violation(&format!("{excess} bytes of input more than the spec has"));
        }
    }
}
