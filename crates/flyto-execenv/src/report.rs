//! The outcome of a call, from what the handle knows and what the loop found out.

use std::{collections::BTreeSet, time::Duration};

use tokio::time::Instant;

use crate::{
    Capability, Captured, Ending, ExecReadiness, Executor, Limits, Outcome, Spec, Usage,
    drive::Driven,
};

/// What an outcome says beyond what the loop found out.
pub(crate) struct Report {
    backend: String,
    /// Whether the backend declares signals.
    pub(crate) takes_signals: bool,
    pub(crate) enforced: BTreeSet<Capability>,
    /// The bounds of the spec, and those that the backend keeps where it ends the tree.
    limits: Limits,
    tree_limits: Limits,
    profiles: Vec<String>,
    pub(crate) started: Instant,
    pub(crate) queued: Duration,
    pub(crate) readiness: ExecReadiness,
    /// What its process used before the call.
    pub(crate) startup: Usage,
}

impl Report {
    pub(crate) fn new(
        executor: &dyn Executor,
        enforced: BTreeSet<Capability>,
        spec: &Spec,
    ) -> Self {
        let capabilities = executor.capabilities();
        let (limits, profiles) = (spec.limits.clone(), spec.profiles.clone());
        let tree_limits = capabilities.tree_limits.clone();
        let backend = capabilities.backend.clone();
        let takes_signals = capabilities.has(Capability::Signals);
        Self {
            backend,
            takes_signals,
            enforced,
            limits,
            tree_limits,
            profiles,
            started: Instant::now(),
            queued: Duration::ZERO,
            readiness: ExecReadiness::NotAsked,
            startup: Usage::unknown(),
        }
    }

    /// The bounds that held.
    fn limits(&self) -> Limits {
        match self.enforced.contains(&Capability::TreeKill) {
            true => self.limits.or(&self.tree_limits),
            false => self.limits.clone(),
        }
    }

    pub(crate) fn never_ran(self, ending: Ending) -> Outcome {
        Outcome {
            ending,
            exit: None,
            stdout: Captured::default(),
            stderr: Captured::default(),
            pipe_held: false,
            leaked: Some(0),
            confirmed: true,
            wall: self.started.elapsed(),
            queued: self.queued,
            usage: Usage::unknown(),
            denied_hosts: Vec::new(),
            limits: self.limits(),
            profiles: self.profiles,
            readiness: self.readiness,
            backend: self.backend,
            enforced: self.enforced,
        }
    }

    pub(crate) fn finished(self, driven: Driven) -> Outcome {
        let Driven { ending, ended, stdout, stderr, pipe_held } = driven;
        Outcome {
            ending,
            exit: ended.exit,
            stdout,
            stderr,
            pipe_held,
            leaked: ended.leaked,
            confirmed: ended.confirmed,
            wall: self.started.elapsed(),
            queued: self.queued,
            usage: ended.usage.since(&self.startup),
            denied_hosts: ended.denied_hosts,
            limits: self.limits(),
            profiles: self.profiles,
            readiness: self.readiness,
            backend: self.backend,
            enforced: self.enforced,
        }
    }
}
