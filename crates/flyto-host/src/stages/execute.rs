//! The stage that runs the tool.

use async_trait::async_trait;
use flyto_tools::Origin;

use super::{Call, Next, Stage, StageResult, ToolRun, names};
use crate::{
    native,
    readiness::{may_wait, not_ready},
    secrets::Outcome,
};

/// Runs the tool. Its result is what the stages behind this one see ([`Call::result`]); where it could not be tried, they
/// see why ([`Call::error`]).
#[derive(Debug, Clone, Copy)]
pub struct Execute;

#[async_trait]
impl Stage for Execute {
    fn name(&self) -> &str {
        names::EXECUTE
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> StageResult {
        call.tool_run = ToolRun::Begun;
        if may_wait(call.entry()) && !call.prepared.is_current() {
            // Nothing is started for a later call of a tool that is gone, or another one by now.
            call.ctx = call.ctx.clone().with_permission_once();
        }
        let (entry, input) = (call.prepared.entry(), call.prepared.input().clone());
        let outcome = match &entry.tool().metadata().origin {
            // Their programs have the deadline, and are ended by the handle.
            Origin::Plugin { .. } | Origin::ExecFile { .. } => {
                native::execute(&**entry.tool(), &call.ctx, input, call.is_checked).await
            }
            // Boxed, since its future is large, and programs have no use for the room.
            _ => Box::pin(native::call(entry, &call.ctx, input, call.is_checked)).await,
        };
        take(call, outcome);
        next.run(call).await
    }
}

/// Gives the call what came of its tool.
fn take(call: &mut Call, outcome: Outcome) {
    let entry = call.prepared.entry();
    if let Ok(result) = &outcome
        && let Some(finding) = result.execution.as_ref().and_then(|it| not_ready(entry, it))
    {
        let why = finding.reason.as_deref().unwrap_or_default();
        tracing::warn!(
            tool = entry.id().as_str(),
            why,
            "a tool says `ready` and cannot be kept ready"
        );
    }
    call.note_run(outcome.as_ref());
    call.outcome = Some(outcome);
}
