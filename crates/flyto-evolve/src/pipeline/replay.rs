//! Running another version over recorded calls.
//!
//! Nothing outside is reached: scripts and commands run [confined](super::confined), and the steps of composites get what
//! was recorded. A step is matched by its tool and its input, so a version whose steps have other names or another order is
//! run all the same.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use flyto_security::SecretGuard;
use flyto_tools::{
    CallContext, Failure, Input, Omitted, ToolCaller, ToolError, ToolErrorKind, ToolResult,
};
use serde_json::Value;

use super::{
    Refusal, ToolBuilder,
    comparable::{met_bound, reads_outside},
    confined::{self, Confined},
    recorded::delivered_without_secrets,
};
use crate::{
    Body, CompositeTool, Delivered, RecordedCall, RecordedStep, Replay, ReplayOutcome,
    ReplayedCall, RollbackAdvice, StoreError, ToolDefinition, differences, rollback_advice,
};

/// How many calls a proposal and a rollback's advice are compared over.
const REVIEW_CALLS: usize = 10;
/// How long a whole replay may take; the calls that are left are told as not reproduced.
const MAX_TIME: Duration = Duration::from_secs(60);
/// How long one composite may take, whose steps are all there.
const MAX_COMPOSITE_TIME: Duration = Duration::from_secs(10);

impl ToolBuilder {
    /// Runs a version over the last `n_calls` recorded calls of its tool, and compares what it delivers with what was
    /// recorded. No tool is called and no host is reached; see [`Replay`] for what is told. An archived tool can be replayed.
    ///
    /// It takes 60 seconds at most, and 10 for each run of a version.
    ///
    /// # Errors
    ///
    /// [`Refusal::Store`] where there is no such version, or the store cannot be read. Calls that cannot be run again are no
    /// error.
    pub async fn replay(
        &self,
        name: &str,
        version: u64,
        n_calls: usize,
    ) -> Result<Replay, Refusal> {
        let name = name.to_owned();
        let saved = self.blocking(move |store| store.version(&name, version)).await?;
        self.replayed(&saved.definition, Some(version), n_calls).await
    }

    /// The comparison that a proposal carries; `None` where no call was recorded.
    pub(super) async fn replay_of_proposal(
        &self,
        definition: &ToolDefinition,
    ) -> Result<Option<Replay>, Refusal> {
        let replay = self.replayed(definition, None, REVIEW_CALLS).await?;
        Ok((!replay.is_empty()).then_some(replay))
    }

    /// Whether a rollback should be looked at, by the rule of [`rollback_advice`](crate::rollback_advice), with what the
    /// earlier version would have delivered for recorded calls. `None` where the rule sees no reason.
    ///
    /// # Errors
    ///
    /// As [`replay`](Self::replay).
    pub async fn rollback_advice(&self, name: &str) -> Result<Option<RollbackAdvice>, Refusal> {
        let usage = self.flush_usage().await?.remove(name).unwrap_or_default();
        let Some((from, to)) = rollback_advice(&usage) else { return Ok(None) };
        let of = |version| usage.get(&version).cloned().unwrap_or_default();
        let replay = self.replay(name, to, REVIEW_CALLS).await?;
        let tool = name.to_owned();
        let (usage_from, usage_to) = (of(from), of(to));
        Ok(Some(RollbackAdvice { tool, from, to, usage_from, usage_to, replay }))
    }

    /// Runs a definition over the newest recorded calls, at most `n_calls` of them.
    ///
    /// # Errors
    ///
    /// [`Refusal`] where no call was recorded, or the store cannot be read.
    async fn replayed(
        &self,
        definition: &ToolDefinition,
        version: Option<u64>,
        n_calls: usize,
    ) -> Result<Replay, Refusal> {
        let (name, host) = (definition.name.clone(), self.inner.host.clone());
        let guard = self.inner.guard.clone();
        let read = move |store: &crate::Store| {
            let (calls, n_unreadable) = store.calls_read(&name, n_calls)?;
            let mut versions: BTreeMap<u64, Option<ToolDefinition>> = BTreeMap::new();
            for it in &calls {
                if let Entry::Vacant(entry) = versions.entry(it.version) {
                    entry.insert(match store.version(&name, it.version) {
                        Ok(found) => Some(found.definition),
                        Err(StoreError::NotFound { .. } | StoreError::Damaged { .. }) => None,
                        Err(err) => return Err(err),
                    });
                }
            }
            Ok((calls, n_unreadable, versions, guard.get(store, &host.env)?))
        };
        let (calls, n_unreadable, versions, guard) = self.blocking(read).await?;
        let over = Instant::now() + MAX_TIME;
        let mut res = Vec::new();
        for call in calls {
            let outcome = if Instant::now() >= over {
                let why = format!("the {} seconds of a replay were over", MAX_TIME.as_secs());
                Err(why)
            } else {
                let recorded = versions.get(&call.version).and_then(Option::as_ref);
                self.one(&call, recorded, definition, guard.as_deref()).await
            };
            res.push(ReplayedCall {
                outcome: outcome.unwrap_or_else(|why| ReplayOutcome::NotReproduced { why }),
                id: call.id,
                at: call.at,
                version: call.version,
                input: call.input,
            });
        }
        let (tool, sha256) = (definition.name.clone(), definition.hash());
        let beyond = reads_outside(definition, &Delivered::default());
        Ok(Replay { tool, version, sha256, beyond, n_unreadable, calls: res })
    }

    /// One call; the error says what could not be reproduced.
    ///
    /// The order of the reasons is that of their certainty: what the record says by itself, then
    /// what the recorded version shows when it runs again. Only a call that it reproduces is
    /// compared with the other version, and a difference that the confinement may make is none.
    async fn one(
        &self,
        call: &RecordedCall,
        recorded: Option<&ToolDefinition>,
        other: &ToolDefinition,
        guard: Option<&dyn SecretGuard>,
    ) -> Result<ReplayOutcome, String> {
        if let Some(at) = call.redacted.iter().find(|it| !it.starts_with("/result")) {
            return Err(format!("a secret was taken out of the record at {at}"));
        }
        let ended = match &call.result.failure {
            Some(Failure::TimedOut { .. }) => Some("ran out of time"),
            Some(Failure::Cancelled) => Some("was cancelled"),
            Some(Failure::Lost | Failure::NotStarted) => Some("did not run to its end"),
            _ => None,
        };
        if let Some(ended) = ended {
            return Err(format!("the recorded call {ended}"));
        }
        let recorded = recorded.filter(|it| it.hash() == call.sha256).ok_or_else(|| {
            format!("version {} is not in the store as it was called", call.version)
        })?;
        let clean = |delivered: Delivered| match guard {
            Some(guard) => {
                let cleaned = delivered_without_secrets(guard, &delivered)
                    .ok_or("what it delivers cannot be looked through for secrets")?;
                let has_secret = cleaned != delivered;
                Ok((cleaned, has_secret))
            }
            None => Ok::<_, &str>((delivered, false)),
        };
        let before = call.result.to_value();
        let (control, _) = clean(self.run_again(recorded, call).await?)?;
        let control = control.to_value();
        if let Some(first) = differences(&before, &control).first() {
            let version = call.version;
            return Err(format!(
                "version {version} itself gives something else when it runs again, at {}: it depends on time, chance, \
                 files, the environment or the network",
                first.pointer
            ));
        }
        if recorded.hash() == other.hash() {
            return Ok(ReplayOutcome::Equal);
        }
        let (delivered, has_secret) = clean(self.run_again(other, call).await?)?;
        let after = delivered.to_value();
        let differences = differences(&before, &after);
        if !differences.is_empty()
            && let Some(why) = self.not_comparable(other, call, &delivered).await?
        {
            return Err(format!(
                "what is run delivers something else, and cannot be compared: {why}"
            ));
        }
        if differences.is_empty() && has_secret {
            let why = "a secret was taken out of what both deliver, and it may be another one";
            return Err(why.to_owned());
        }
        Ok(match differences.is_empty() {
            true => ReplayOutcome::Equal,
            false => ReplayOutcome::Different { differences },
        })
    }

    /// Why a difference says nothing about a definition: the replay's own bounds, something else each time, or something
    /// that a confined run does not have.
    async fn not_comparable(
        &self,
        definition: &ToolDefinition,
        call: &RecordedCall,
        first: &Delivered,
    ) -> Result<Option<String>, String> {
        let is_composite = matches!(definition.body, Body::Composite(_));
        let most_time = if is_composite { MAX_COMPOSITE_TIME } else { confined::MAX_TIME };
        if let Some(why) = met_bound(definition, first.failure.as_ref(), most_time) {
            return Ok(Some(format!("{why}, a bound of the replay")));
        }
        if is_composite {
            return Ok(None); // Its steps give what was recorded.
        }
        if let Some(why) = reads_outside(definition, first) {
            return Ok(Some(why));
        }
        let confined = Confined::new(definition, &self.inner.env, &self.inner.host)?;
        confined.add_file()?;
        let second = Delivered::of(&confined.call(&call.input).await?);
        let is_same = differences(&first.to_value(), &second.to_value()).is_empty();
        Ok((!is_same).then(|| {
            "it gives something else when it runs a second time, by time, chance or files"
                .to_owned()
        }))
    }

    /// What a definition delivers for a recorded call.
    async fn run_again(
        &self,
        definition: &ToolDefinition,
        call: &RecordedCall,
    ) -> Result<Delivered, String> {
        let Body::Composite(_) = definition.body else {
            let confined = Confined::new(definition, &self.inner.env, &self.inner.host)?;
            return Ok(Delivered::of(&confined.call(&call.input).await?));
        };
        let caller = std::sync::Arc::new(Recorded::new(&call.steps));
        let registry = std::sync::Arc::clone(&self.inner.registry);
        let tool = CompositeTool::new(definition.clone(), caller.clone() as _, registry)
            .map_err(|err| err.chain())?;
        let ctx = CallContext::new().with_timeout(MAX_COMPOSITE_TIME);
        let input = Input::from_value(call.input.clone());
        let (result, steps) = tool.replayed(&ctx, &input).await;
        if let Some(missing) = caller.missing() {
            return Err(missing.told(&steps));
        }
        Ok(Delivered::of(&result))
    }
}

/// Answers the calls of a composite by what was recorded.
///
/// A record is given out once, in the order in which it was made, so two calls with the same input
/// get the results of two calls. The first call for which there is none is remembered: whatever the
/// composite makes of the error, the outcome is that it was not reproduced.
#[derive(Debug)]
struct Recorded {
    inner: Mutex<Answers>,
}

/// The recorded results of steps, and the first call that none of them answers.
#[derive(Debug)]
struct Answers {
    /// What was recorded, each entry with whether it was given out.
    steps: Vec<(RecordedStep, bool)>,
    missing: Option<Missing>,
}

/// A call for which nothing was recorded.
#[derive(Debug, Clone)]
struct Missing {
    tool: String,
    input: Value,
    /// Whether the tool was called at all.
    was_called: bool,
}

impl Missing {
    /// The step that made the call, and what is missing.
    fn told(&self, steps: &[RecordedStep]) -> String {
        let is_it =
            |it: &&RecordedStep| it.is_refused && it.tool == self.tool && it.input == self.input;
        let step = steps.iter().find(is_it);
        let id = step.map_or("", |it| it.step.as_str());
        match self.was_called {
            true => {
                format!("step {id:?} calls {:?} with an input that was not recorded", self.tool)
            }
            false => format!("step {id:?} calls {:?}, which was not called", self.tool),
        }
    }
}

impl Recorded {
    /// Answers from these steps, each once.
    fn new(steps: &[RecordedStep]) -> Self {
        let steps = steps.iter().map(|it| (it.clone(), false)).collect();
        Self { inner: Mutex::new(Answers { steps, missing: None }) }
    }

    /// The first call for which nothing was recorded; `None` where each was answered.
    fn missing(&self) -> Option<Missing> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).missing.clone()
    }
}

#[async_trait]
impl ToolCaller for Recorded {
    async fn call_tool(
        &self,
        _: &CallContext,
        name: &str,
        input: Input,
    ) -> Result<ToolResult, ToolError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let Answers { steps, missing } = &mut *inner;
        let found = steps
            .iter_mut()
            .find(|(it, was_given)| !was_given && it.tool == name && &it.input == input.value());
        let Some((step, was_given)) = found else {
            let was_called = steps.iter().any(|it| it.0.tool == name);
            let (tool, input) = (name.to_owned(), input.value().clone());
            missing.get_or_insert(Missing { tool, input, was_called });
            return Err(ToolError::new(ToolErrorKind::NotFound, "no such call was recorded"));
        };
        *was_given = true;
        if step.is_refused {
            return Err(ToolError::new(ToolErrorKind::Refused, step.text.clone()));
        }
        let mut res = match &step.failure {
            Some(failure) => ToolResult::failed(failure.clone(), step.text.clone()),
            None => ToolResult::text(step.text.clone()),
        };
        res.data = step.output.clone();
        // How much was left out is not known any more, and only that it was.
        res.omitted = step.is_truncated.then(|| Omitted::new(0));
        Ok(res)
    }
}
