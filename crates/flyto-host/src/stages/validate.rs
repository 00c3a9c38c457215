//! The stage that checks the input.

use async_trait::async_trait;
use flyto_tools::Checked;

use super::{Call, Next, Stage, StageResult, names};

/// Ends a call whose input breaks the tool's schema, with a result that names every place
/// ([`Failure::BadInput`](flyto_tools::Failure::BadInput)). The check counts against the deadline.
///
/// Without this stage, a tool of a host checks its input when it is executed, behind all gates.
#[derive(Debug, Clone, Copy)]
pub struct Validate;

#[async_trait]
impl Stage for Validate {
    fn name(&self) -> &str {
        names::VALIDATE
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> StageResult {
        if let Some(tool) = call.prepared.checked_tool() {
            match tool.check(&call.ctx, call.prepared.input()).await? {
                Checked::Fits(ctx) => {
                    if let Some(ctx) = ctx {
                        call.set_ctx(ctx);
                    }
                    call.is_checked = true;
                }
                Checked::Violates(violations) => return Ok(violations.into_result()),
                Checked::Ended(result) => return Ok(*result),
            }
        }
        next.run(call).await
    }
}
