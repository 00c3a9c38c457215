//! The stage that looks for secrets in a result.

use std::sync::Arc;

use async_trait::async_trait;
use flyto_security::{ScanError, SecretGuard};
use flyto_tools::Progress;

use super::{Call, Next, Stage, StageResult, names};
use crate::{
    error::Refusal,
    permission::Caller,
    secrets::{Looked, Outcome, OutputGuard, Secrets, scanned_bytes},
};

/// Reports, replaces or withholds what looks like a secret in the result of a tool, and in the reason why it could not be
/// tried, before a model sees it.
///
/// The words of a tool about its progress are looked at too, as they come: a secret in them is replaced, or they are left out
/// where results are withheld. The file with the whole of an output that was too long for the program's runner is not changed.
#[derive(Debug, Clone)]
pub struct Guard {
    secrets: Secrets,
    /// `None`: that of the caller.
    action: Option<OutputGuard>,
}

impl Guard {
    /// A stage that does this with what `guard` finds; without an action, a secret is replaced for an
    /// [agent](Caller::Agent) and not looked for where the [operator](Caller::Operator) calls. The example of
    /// [`Audit`](super::Audit) inserts one.
    #[must_use]
    pub fn new(guard: Arc<dyn SecretGuard>, action: Option<OutputGuard>) -> Self {
        Self { secrets: Secrets::new(guard), action }
    }
}

#[async_trait]
impl Stage for Guard {
    fn name(&self) -> &str {
        names::OUTPUT_GUARD
    }

    fn begins(&self, call: &mut Call) {
        let action = self.action_of(call);
        if !call.ctx().wants_progress()
            || !matches!(action, OutputGuard::Redact | OutputGuard::Refuse)
        {
            return;
        }
        let secrets = self.secrets.clone();
        call.set_ctx(call.ctx().clone().map_progress(move |it| {
            let detail = secrets.detail(it.detail(), action == OutputGuard::Redact);
            Progress::new(it.progress(), detail).unwrap_or(it)
        }));
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> StageResult {
        let action = self.action_of(call);
        if action == OutputGuard::Off {
            return next.run(call).await;
        }
        let Some(outcome) = &call.outcome else { return next.run(call).await };
        let looked = if self.secrets.is_quick_with(scanned_bytes(outcome)) {
            self.look(call, action)
        } else {
            // Boxed, since few calls come here and the future of each would have room for it.
            Box::pin(self.look_elsewhere(call, action)).await
        };
        match looked {
            Ok(()) => next.run(call).await,
            Err(why) => Err(Refusal::new(call, names::OUTPUT_GUARD, why).into()),
        }
    }
}

impl Guard {
    /// A person reads what the operator calls; what a model reads is kept, and sent to others.
    fn action_of(&self, call: &Call) -> OutputGuard {
        self.action.unwrap_or(match call.prepared().caller() {
            Caller::Operator => OutputGuard::Off,
            Caller::Agent => OutputGuard::Redact,
        })
    }

    /// Looks at what came of the tool.
    ///
    /// # Errors
    ///
    /// Why it is not given.
    fn look(&self, call: &mut Call, action: OutputGuard) -> Result<(), String> {
        let Some(outcome) = call.outcome.take() else { return Ok(()) };
        let what = name_of(&outcome);
        let looked = self.secrets.look(outcome, action == OutputGuard::Redact);
        give(call, what, looked, action)
    }

    /// The same on a thread of its own, which is not waited for where the call is cancelled.
    async fn look_elsewhere(&self, call: &mut Call, action: OutputGuard) -> Result<(), String> {
        let Some(outcome) = call.outcome.take() else { return Ok(()) };
        let what = name_of(&outcome);
        let (secrets, redacts) = (self.secrets.clone(), action == OutputGuard::Redact);
        let looking = tokio::task::spawn_blocking(move || secrets.look(outcome, redacts));
        let cancelled = call.ctx().cancellation().clone();
        let looked = tokio::select! {
            looked = looking => looked,
            () = cancelled.cancelled() => {
                return Err(format!("{what} is withheld: the call was cancelled while it was looked at for secrets"));
            }
        };
        match looked {
            Ok(looked) => give(call, what, looked, action),
            Err(err) => Err(format!("{what} could not be looked at: {err}")),
        }
    }
}

/// What came of a tool, for the reason why it is not given.
fn name_of(outcome: &Outcome) -> &'static str {
    match outcome {
        Ok(_) => "the tool has run, and its result",
        Err(_) => "the tool could not be tried, and the reason",
    }
}

/// Gives the call what was looked at.
///
/// # Errors
///
/// Why it is withheld.
fn give(
    call: &mut Call,
    what: &str,
    looked: Result<Looked, ScanError>,
    action: OutputGuard,
) -> Result<(), String> {
    let (outcome, found) = looked.map_err(|err| format!("{what} is withheld: {err}"))?;
    let first = found.first().map(|it| format!("{}, {}", it.part, it.found));
    call.set_secrets(found);
    match first.filter(|_| action == OutputGuard::Refuse) {
        Some(first) => {
            // What ran is recorded, although nothing of what it said is given.
            call.withheld = outcome.ok().and_then(|it| it.execution);
            Err(format!("{what} is withheld: {first}"))
        }
        None => {
            call.outcome = Some(outcome);
            Ok(())
        }
    }
}
