//! The stage that decides whether a call may run.

use std::sync::Arc;

use async_trait::async_trait;

use super::{
    Call, Next, Stage, StageResult,
    checkpoint::{Answer, CheckpointHandler, NoAnswer, Question, guarded},
    names,
};
use crate::{
    error::Refusal,
    permission::{Caller, Decision, Verdict},
    prepared::Prepared,
};

/// Carries out what the rules decide: a call that they deny is refused, one that they ask about waits for the answer
/// of a [`CheckpointHandler`], or goes on where the operator [called](Caller::Operator) it by name. Without a handler
/// nothing that is asked runs for an agent.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Permission {
    handler: Option<Arc<dyn CheckpointHandler>>,
}

impl Permission {
    /// A stage with this handler.
    #[must_use]
    pub fn new(handler: Option<Arc<dyn CheckpointHandler>>) -> Self {
        Self { handler }
    }
}

#[async_trait]
impl Stage for Permission {
    fn name(&self) -> &str {
        names::PERMISSION
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> StageResult {
        let decision = call.prepared().decision();
        call.has_decided = true;
        if let Some(why) = refusal(&decision, call.prepared().caller(), self.handler.is_some()) {
            return Err(Refusal::new(call, names::PERMISSION, why).decided(&decision).into());
        }
        if is_asked(&decision, call.prepared().caller())
            && let Some(handler) = &self.handler
        {
            let question = Question {
                call,
                why: decision.to_string(),
                rules: decision.suggested_rules().into_iter().map(str::to_owned).collect(),
            };
            match guarded(call, handler.ask(&question)).await {
                Ok(Answer::Yes) => call.ctx = call.ctx.clone().with_permission_once(),
                Ok(Answer::Held) => {}
                Ok(Answer::Always) => call.prepared().allow(&question.rules),
                // The answer decided. What asked is no rule that a caller could have changed.
                Ok(Answer::No { reason }) => {
                    call.prepared().end_waiting();
                    let why = match reason {
                        Some(reason) => format!("the answer was no: {reason}"),
                        None => "the answer was no".to_owned(),
                    };
                    return Err(Refusal::new(call, names::PERMISSION, why).into());
                }
                Err(NoAnswer::Failed(why)) => {
                    call.prepared().end_waiting();
                    let why = format!("there was no answer: {why}");
                    let refusal = Refusal::new(call, names::PERMISSION, why).decided(&decision);
                    return Err(refusal.into());
                }
                Err(NoAnswer::Ended(end)) => return Ok(call.end_in(names::PERMISSION, end, None)),
            }
        }
        next.run(call).await
    }

    fn refuses(&self, prepared: &Prepared) -> Option<String> {
        refusal(&prepared.decision(), prepared.caller(), self.handler.is_some())
    }
}

fn is_asked(decision: &Decision, caller: Caller) -> bool {
    decision.verdict == Verdict::Ask && caller != Caller::Operator
}

/// Why a call is refused without a question, as the words that follow "was refused: ".
fn refusal(decision: &Decision, caller: Caller, has_handler: bool) -> Option<String> {
    let what = match decision.verdict {
        Verdict::Deny => "the rules deny it",
        Verdict::Ask if is_asked(decision, caller) && !has_handler => {
            "it is asked first, and there is no handler that could answer"
        }
        _ => return None,
    };
    let n_reasons = decision.deciding().count();
    let first = decision.deciding().next().map(|it| format!(": {it}")).unwrap_or_default();
    let more = if n_reasons > 1 { format!(", and {} more", n_reasons - 1) } else { String::new() };
    Some(format!("{what}{first}{more}"))
}
