//! The stage that records a call.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use flyto_audit::AuditError;
use flyto_program::chain;
use flyto_security::SecretGuard;
use flyto_tools::CallContext;

use super::{
    Call, MissingCall, Next, Stage, StageResult,
    checkpoint::{CallEnd, unless_over},
    names,
};
use crate::{
    audit::{Recorder, Writing, end_body},
    config::{AuditConfig, OnUnrecorded},
    error::Refusal,
    secrets::Secrets,
};

/// Writes two records of each call, its begin and its end, also of a call that another stage refused. A call that cannot
/// be recorded is refused, unless the configuration says otherwise. A call that is dropped is recorded as dropped, wherever it
/// was.
///
/// While another writer has the log, the call waits no longer than its deadline and its cancellation allow: one that has
/// not begun ends as timed out or cancelled, and is recorded as dropped afterwards; one that has run gives its result, and
/// its end follows.
///
/// A host has this stage where its user has a [state directory](crate::Places::state_dir) and the configuration records
/// calls. A program can put it elsewhere in the list, with a log of its own. In front of `permission` its begins name no
/// decision:
///
/// ```
/// use std::sync::Arc;
///
/// use flyto_execenv::{ExecEnv, local::Local};
/// use flyto_host::{
///     Config, Host, HostGuard, Places, Surroundings,
///     stages::{Audit, Guard, Stages, names},
/// };
///
/// # let dir = tempfile::tempdir()?;
/// let config = Config::default();
/// // Of a user without any place, nothing is recorded.
/// let surroundings = Surroundings::ambient()?.with_places(Places::default());
/// let guard = Arc::new(HostGuard::new(surroundings.env.clone()));
/// let audit = Audit::new(dir.path().join("calls"), &config.audit, guard.clone());
/// // What is found stays in the result, and the report has it.
/// let guard = Guard::new(guard, Some(flyto_host::OutputGuard::Report));
/// let host = Host::builder(ExecEnv::new(Local::new()), surroundings, config)
///     .stages(|stages: Stages| {
///         stages
///             .insert_before(names::VALIDATE, audit)?
///             .remove(names::OUTPUT_GUARD)?
///             .insert_after(names::BOUND, guard)
///     })?
///     .build();
/// assert_eq!(host.stages().next(), Some("audit"));
/// assert_eq!(host.stages().last(), Some("output guard"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Audit {
    recorder: Arc<Recorder>,
    on_failure: OnUnrecorded,
}

impl Audit {
    /// A stage that records calls in this directory, which is made where it does not exist (mode 0700). Whether
    /// [`AuditConfig::is_enabled`] is set makes no difference here. `guard` finds the secrets that inputs are recorded
    /// without.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>, config: &AuditConfig, guard: Arc<dyn SecretGuard>) -> Self {
        let recorder = Recorder::new(dir.into(), config, Secrets::new(guard));
        Self { recorder: Arc::new(recorder), on_failure: config.on_failure }
    }
}

#[async_trait]
impl Stage for Audit {
    fn name(&self) -> &str {
        names::AUDIT
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> StageResult {
        let since = Instant::now();
        let begun = match recorded(call.ctx(), self.recorder.begin(call)).await {
            Ok(Ok(recording)) => Ok(recording),
            Ok(Err(err)) => Err(chain(&err)),
            // It would end at once, whatever becomes of calls that cannot be recorded.
            Err(end) => return Ok(call.end_in(names::AUDIT, end, Some(WAITED))),
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
            let ended = end_body(call, &end, since.elapsed()).map(|body| recording.end(body));
            // What has run has run: its result is not withheld.
            match recorded(call.ctx(), ended).await {
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
        let both = body.and_then(|body| self.recorder.both(call, body));
        // Where the call ends meanwhile, its records follow.
        if let Ok(Err(err)) = recorded(call.ctx(), both).await {
            tracing::warn!(error = chain(&err), "a call that was not made could not be recorded");
        }
    }

    fn dropped(&self, call: &Call) {
        self.recorder.dropped(call);
    }

    async fn missing(&self, call: &MissingCall<'_>) {
        if let Ok(Err(err)) = recorded(call.ctx, self.recorder.missing(call)).await {
            tracing::warn!(error = chain(&err), "a call that led to no tool could not be recorded");
        }
    }
}

/// Waits for a record no longer than the call may take.
async fn recorded<T>(
    ctx: &CallContext,
    writing: Result<Writing<T>, AuditError>,
) -> Result<Result<T, AuditError>, CallEnd> {
    match writing {
        Ok(Writing::Done(res)) => Ok(res),
        // Boxed, since few calls wait and the future of each would have room for it.
        Ok(Writing::Waits(waiting)) => Box::pin(unless_over(ctx, waiting)).await,
        Err(err) => Ok(Err(err)),
    }
}

const WAITED: &str = "another writer still had the log";
