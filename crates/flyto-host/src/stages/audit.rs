//! The stage that records a call.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use flyto_program::chain;

use super::{Call, Next, Stage, StageResult, checkpoint::unless_ended, names};
use crate::{
    audit::{Recorder, end_body},
    config::OnUnrecorded,
    error::Refusal,
};

/// Writes two records of each call, its begin and its end, also of a call that another stage refused. A call that cannot
/// be recorded is refused, unless the configuration says otherwise. A call that is dropped is recorded as dropped.
///
/// While another writer has the log, the call waits no longer than its deadline and its cancellation allow: one that has
/// not begun is refused, and recorded as dropped afterwards; one that has run gives its result, and its end follows.
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
        let begun = match unless_ended(call, self.recorder.begin(call)).await {
            Ok(Ok(recording)) => Ok(recording),
            Ok(Err(err)) => Err(chain(&err)),
            // It would end at once, so it is refused whatever becomes of calls that cannot be recorded.
            Err(end) => {
                let why = format!("it cannot be recorded: {WAITED} when {end}");
                return Err(Refusal::new(call, names::AUDIT, why).into());
            }
        };
        let recording = match begun {
            Ok(recording) => Some(recording),
            Err(why) if self.on_failure == OnUnrecorded::Run => {
                call.set_unrecorded(why);
                None
            }
            Err(why) => {
                let why = format!("it cannot be recorded: {why}");
                return Err(Refusal::new(call, names::AUDIT, why).into());
            }
        };
        let end = next.run(call).await;
        if let Some(recording) = recording {
            let body = end_body(call, &end, since.elapsed());
            // What has run has run: its result is not withheld.
            match unless_ended(call, recording.end(body)).await {
                Ok(Ok(())) => {}
                Ok(Err(err)) => call.set_unrecorded(chain(&err)),
                Err(end) => {
                    call.set_unrecorded(format!("{WAITED} when {end}; its end is to follow"))
                }
            }
        }
        end
    }

    async fn not_reached(&self, call: &Call, end: &StageResult) {
        let body = end_body(call, end, Duration::ZERO);
        // Where the call ends meanwhile, its records follow.
        if let Ok(Err(err)) = unless_ended(call, self.recorder.both(call, body)).await {
            tracing::warn!(error = chain(&err), "a call that was not made could not be recorded");
        }
    }
}

const WAITED: &str = "another writer still had the log";
