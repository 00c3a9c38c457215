//! The stage that looks for secrets in a result.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Call, Next, Stage, StageResult, names};
use crate::{
    error::Refusal,
    permission::Caller,
    secrets::{OutputGuard, Secrets},
};

/// Reports, replaces or withholds what looks like a secret in the result of a tool, before a model sees it.
///
/// The file with the whole of an output that was too long for the program's runner is not changed.
#[derive(Debug, Clone)]
pub struct Guard {
    secrets: Arc<Secrets>,
    /// `None`: that of the caller.
    action: Option<OutputGuard>,
}

/// A result with more bytes is looked at on a thread of its own.
const AT_ONCE_BYTES: usize = 128 * 1024;

impl Guard {
    pub(crate) fn new(secrets: Arc<Secrets>, action: Option<OutputGuard>) -> Self {
        Self { secrets, action }
    }
}

#[async_trait]
impl Stage for Guard {
    fn name(&self) -> &str {
        names::OUTPUT_GUARD
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> StageResult {
        // A person reads what the operator calls; what a model reads is kept, and sent to others.
        let action = self.action.unwrap_or(match call.prepared().caller() {
            Caller::Operator => OutputGuard::Off,
            Caller::Agent => OutputGuard::Redact,
        });
        if action == OutputGuard::Off {
            return next.run(call).await;
        }
        let Some(result) = call.take_result() else { return next.run(call).await };
        let redacts = action == OutputGuard::Redact;
        let looked = if result.output.len() <= AT_ONCE_BYTES {
            self.secrets.look(result, redacts)
        } else {
            let secrets = Arc::clone(&self.secrets);
            let looking = tokio::task::spawn_blocking(move || secrets.look(result, redacts));
            match looking.await {
                Ok(looked) => looked,
                Err(err) => {
                    let why = format!("its result could not be looked at: {err}");
                    return Err(Refusal::new(call, names::OUTPUT_GUARD, why).into());
                }
            }
        };
        match looked {
            Ok((result, found)) => {
                let first = found.first().map(|it| format!("{}, {}", it.part, it.found));
                call.set_secrets(found);
                if let Some(first) = first.filter(|_| action == OutputGuard::Refuse) {
                    let why = format!("the tool has run, and its result is withheld: {first}");
                    return Err(Refusal::new(call, names::OUTPUT_GUARD, why).into());
                }
                call.set_result(result);
                next.run(call).await
            }
            Err(err) => {
                let why = format!("the tool has run, and its result is withheld: {err}");
                Err(Refusal::new(call, names::OUTPUT_GUARD, why).into())
            }
        }
    }
}
