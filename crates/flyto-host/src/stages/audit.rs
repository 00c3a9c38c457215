//! The stage that records a call.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use flyto_program::chain;

use super::{Call, Next, Stage, StageResult, names};
use crate::{
    audit::{Recorder, end_body},
    config::OnUnrecorded,
    error::Refusal,
};

/// Writes two records of each call, its begin and its end, also of a call that another stage refused. A call that cannot
/// be recorded is refused, unless the configuration says otherwise. A call that is dropped is recorded as dropped.
#[derive(Debug, Clone)]
pub struct Audit {
    recorder: Recorder,
    on_failure: OnUnrecorded,
}

impl Audit {
    pub(crate) fn new(recorder: Recorder, on_failure: OnUnrecorded) -> Self {
        Self { recorder, on_failure }
    }
}

#[async_trait]
impl Stage for Audit {
    fn name(&self) -> &str {
        names::AUDIT
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> StageResult {
        let since = Instant::now();
        let begun = match self.recorder.begin(call).await {
            Ok(begun) => Some(begun),
            Err(err) if self.on_failure == OnUnrecorded::Run => {
                call.set_unrecorded(chain(&err));
                None
            }
            Err(err) => {
                let why = format!("it cannot be recorded: {}", chain(&err));
                return Err(Refusal::new(call, names::AUDIT, why).into());
            }
        };
        let end = next.run(call).await;
        if let Some(begun) = begun {
            let body = end_body(call, &end, since.elapsed());
            // What has run has run: its result is not withheld.
            if let Err(err) = self.recorder.end(begun, body).await {
                call.set_unrecorded(chain(&err));
            }
        }
        end
    }

    async fn not_reached(&self, call: &Call, end: &StageResult) {
        let body = end_body(call, end, Duration::ZERO);
        let recorded = match self.recorder.begin(call).await {
            Ok(begun) => self.recorder.end(begun, body).await,
            Err(err) => Err(err),
        };
        if let Err(err) = recorded {
            tracing::warn!(error = chain(&err), "a call that was not made could not be recorded");
        }
    }
}
