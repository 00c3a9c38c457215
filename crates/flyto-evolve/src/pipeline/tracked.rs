//! A tool whose calls are counted, and that is set aside when it fails again and again by its own fault.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::{Arc, PoisonError, Weak},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use flyto_tools::{
    CallContext, DescribeContext, Input, Metadata, Preview, Problem, Tool, ToolError, ToolResult,
};
use serde_json::{Value, json};

use super::{Refusal, ToolBuilder, build::Inner};
use crate::{
    Change, CompositeTool, DecayPolicy, DecayStep, DefinitionHash, Delivered, EvolvedTool,
    RecordedCall, ToolDefinition, Version,
    composite::Composite,
    usage::{CallUse, Called, Decay, Fault, ToolUsage, UsedTool, decay, fault_of},
};

/// How long counts stay in memory before they are written.
const FLUSH_AFTER: Duration = Duration::from_secs(2);
/// How long a call waits for other processes that write to the store: 100 ms, twice what a save takes. A process that was
/// stopped in a save holds up each call for so long, and its counts wait.
pub(super) const CALL_WAIT: Duration = Duration::from_millis(100);
/// The same for a host that ends.
const END_WAIT: Duration = Duration::from_secs(1);
/// The most calls that wait to be written.
const MAX_WAITING: usize = 1000;

/// Calls that are not written yet.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    calls: Vec<CallUse>,
    written: Option<Instant>,
}

/// A tool, with the builder that counts its calls and records them where the host wants that.
///
/// The builder is held weakly: a registry that outlives it still calls the tool, without counts.
#[derive(Debug)]
pub(crate) struct Tracked<T> {
    pub(super) tool: T,
    pub(super) builder: Weak<Inner>,
    pub(super) version: u64,
    /// The hash of a version that is saved; `None` for a tool of this session only, which is not recorded.
    pub(super) saved: Option<DefinitionHash>,
}

/// A tool that can say what it called, and by what it failed.
#[async_trait]
pub(super) trait Traced: Tool {
    /// What the tool is.
    fn definition(&self) -> &ToolDefinition;

    /// A call, of which `keep_bytes` of its steps are kept in all.
    async fn call(
        &self,
        ctx: &CallContext,
        input: Input,
        keep_bytes: usize,
    ) -> Result<Called, ToolError>;
}

#[async_trait]
impl Traced for EvolvedTool {
    fn definition(&self) -> &ToolDefinition {
        self.definition()
    }

    async fn call(&self, ctx: &CallContext, input: Input, _: usize) -> Result<Called, ToolError> {
        let own = Instant::now() + self.definition().timeout();
        let result = self.execute(ctx, input).await?;
        let is_callers_deadline = ctx.deadline().is_some_and(|it| it < own);
        let fault = fault_of(result.failure.as_ref(), is_callers_deadline);
        Ok(Called { result, steps: Some(Vec::new()), fault })
    }
}

#[async_trait]
impl Traced for CompositeTool {
    fn definition(&self) -> &ToolDefinition {
        self.definition()
    }

    async fn call(
        &self,
        ctx: &CallContext,
        input: Input,
        keep_bytes: usize,
    ) -> Result<Called, ToolError> {
        self.traced(ctx, &input, keep_bytes).await
    }
}

impl<T> Tracked<T> {
    /// The tool without the counting.
    pub(crate) fn get_ref(&self) -> &T {
        &self.tool
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<T: Traced> Tool for Tracked<T> {
    fn name(&self) -> &str {
        self.tool.name()
    }

    fn description(&self, ctx: &DescribeContext) -> Cow<'_, str> {
        self.tool.description(ctx)
    }

    fn input_schema(&self) -> &Value {
        self.tool.input_schema()
    }

    fn output_schema(&self) -> Option<&Value> {
        self.tool.output_schema()
    }

    fn metadata(&self) -> &Metadata {
        self.tool.metadata()
    }

    fn preview(&self, input: &Input) -> Option<Preview> {
        self.tool.preview(input)
    }

    async fn preflight(&self, input: &Input) -> Vec<Problem> {
        self.tool.preflight(input).await
    }

    async fn execute(&self, ctx: &CallContext, input: Input) -> Result<ToolResult, ToolError> {
        let started = Instant::now();
        let recording = self.builder.upgrade().and_then(|it| it.recording);
        let recording = recording.zip(self.saved);
        let keep_bytes = recording.map_or(0, |it| it.0.max_bytes);
        // Only what can be recorded is copied.
        let is_short = input.as_str().len() <= keep_bytes;
        let recorded_input = recording.filter(|_| is_short).map(|_| input.clone());
        let is_certain = self.tool.definition().has_to_work_with(input.value());
        let res = self.tool.call(ctx, input, keep_bytes).await;
        // What could not be tried says nothing about the tool.
        if let (Ok(Called { result, steps, fault }), Some(inner)) = (&res, self.builder.upgrade()) {
            let call = CallUse {
                tool: self.tool.name().to_owned(),
                version: self.version,
                failure: result.failure.clone(),
                fault: *fault,
                is_certain,
                wall: started.elapsed(),
                at: flyto_audit::Timestamp::now().to_string(),
            };
            // Statistics that cannot be written change nothing about the result. A tool that is not saved is no version that
            // could have any.
            let builder = ToolBuilder { inner };
            if self.saved.is_some() {
                drop(builder.count(call).await);
            }
            if let (Some((recording, sha256)), Some(input), Some(steps)) =
                (recording, recorded_input, steps)
            {
                let call = RecordedCall {
                    id: RecordedCall::new_id(),
                    tool: self.tool.name().to_owned(),
                    version: self.version,
                    sha256,
                    at: flyto_audit::Timestamp::now().to_string(),
                    input: input.value().clone(),
                    steps: steps.clone(),
                    result: Delivered::of(result),
                    redacted: Vec::new(),
                };
                // So does a record.
                drop(builder.keep_call(call, result.omitted.is_some(), recording).await);
            }
        }
        res.map(|it| it.result)
    }
}

impl ToolBuilder {
    /// Counts a call, and sets the tool aside where it failed too often in a row and no input can have been the reason. A
    /// caller that hands in what a tool cannot handle takes it from no other caller.
    ///
    /// Counts are written every 2 seconds and at each failure, so that a tool that fails in several
    /// processes at once is set aside after as many failures as in one.
    async fn count(&self, call: CallUse) -> Result<(), Refusal> {
        let is_failure = call.fault == Fault::Own;
        let (name, version) = (call.tool.clone(), call.version);
        {
            let mut waiting = self.inner.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            if waiting.calls.len() < MAX_WAITING {
                waiting.calls.push(call);
            }
            let is_recent = waiting.written.is_some_and(|it| it.elapsed() < FLUSH_AFTER);
            if is_recent && !is_failure {
                return Ok(());
            }
        }
        let usage = self.write_usage(CALL_WAIT).await?;
        let used = usage.get(&name).and_then(|it| it.get(&version)).filter(|_| is_failure);
        let (Some(used), Some(after)) = (used, self.inner.quarantine_after) else { return Ok(()) };
        let after = after.max(1);
        if used.n_certain_in_a_row >= after {
            self.quarantine(&name, version, used.n_certain_in_a_row).await?;
        } else if used.n_failures_in_a_row == after {
            let body = json!({"tool": name, "version": version, "in_a_row": after});
            self.record("tool_failing", body).await;
        }
        Ok(())
    }

    /// Writes what was counted and is not written yet, which also happens with calls, every 2 seconds and at each failure.
    /// A host calls it before it ends. Gives the statistics of all processes, by name of the tool.
    ///
    /// A host that wants percentiles, failures and times of last use of a tool reads them here;
    /// other processes of the same store are in the numbers.
    ///
    /// # Errors
    ///
    /// [`Refusal::Store`], as where another process has the store locked for a second. The counts wait for the next call or flush
    /// then, see [`n_uncounted`](Self::n_uncounted).
    pub async fn flush_usage(&self) -> Result<BTreeMap<String, ToolUsage>, Refusal> {
        self.write_usage(END_WAIT).await
    }

    /// The number of calls that are in the counts of this process only, at most 1,000. Where a host ends with some, they are lost.
    #[must_use]
    pub fn n_uncounted(&self) -> usize {
        self.inner.waiting.lock().unwrap_or_else(PoisonError::into_inner).calls.len()
    }

    async fn write_usage(&self, wait: Duration) -> Result<BTreeMap<String, ToolUsage>, Refusal> {
        let calls = {
            let mut waiting = self.inner.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.written = Some(Instant::now());
            std::mem::take(&mut waiting.calls)
        };
        if calls.is_empty() {
            return self.blocking(|store| store.usage()).await;
        }
        let inner = Arc::clone(&self.inner);
        self.blocking(move |store| {
            let added = store.waiting_at_most(wait).add_usage(&calls);
            if added.is_err() {
                let mut waiting = inner.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                let n_free = MAX_WAITING.saturating_sub(waiting.calls.len());
                waiting.calls.splice(0..0, calls.into_iter().take(n_free));
            }
            added
        })
        .await
    }

    /// Archives the version, unless it is pinned or another one took its place.
    async fn quarantine(&self, name: &str, version: u64, in_a_row: u32) -> Result<(), Refusal> {
        let owned = name.to_owned();
        let why = format!("it failed {in_a_row} times in a row by its own fault");
        let archived =
            self.blocking(move |store| store.archive_failing(&owned, version, why)).await?;
        let Some(archived) = archived else { return Ok(()) };
        self.exchange(name, archived.number, None)?;
        self.record(
            "tool_quarantined",
            json!({"tool": name, "version": version, "in_a_row": in_a_row}),
        )
        .await;
        Ok(())
    }

    /// Says which tools are not used any more, by the rule of [`decay`](crate::decay). With `Some` name of a person or
    /// program, those to archive are archived; with `None`, nothing changes.
    ///
    /// ```
    /// use flyto_evolve::{DecayPolicy, HostContext, Store, ToolBuilder};
    /// use flyto_execenv::{Environment, ExecEnv, local::Local};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let temp = tempfile::tempdir()?;
    /// # let store = Store::new(temp.path().join("evolution"));
    /// # let host = HostContext::new(Environment::ambient(), "/tmp");
    /// # let builder = ToolBuilder::builder(store, ExecEnv::new(Local::new()), host, Default::default()).build();
    /// for step in builder.decay(&DecayPolicy::default(), None).await? {
    ///     println!("{}: {:?}, not used for {} days", step.name, step.decay, step.unused_days);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Refusal::Store`], also where the counts or the pins cannot be read: no tool is known to be out of use then. What was
    /// archived until then stays so.
    pub async fn decay(
        &self,
        policy: &DecayPolicy,
        archive_by: Option<&str>,
    ) -> Result<Vec<DecayStep>, Refusal> {
        // Writing what waits would begin a new file in place of a damaged one.
        self.blocking(|store| store.usage().map(drop)).await?;
        let usage = self.flush_usage().await?;
        let since = self.blocking(|store| store.counted_since()).await?;
        // Before that, each tool may have been used.
        let since = since.map_or(i64::MIN, |it| it.unix_ms());
        let (loaded, pins, firsts) = self
            .blocking(|store| {
                let loaded = store.load()?;
                let mut firsts = Vec::new();
                for it in &loaded.active {
                    let history = store.history(&it.definition.name)?;
                    let is_of_agent =
                        |it: &Version| it.change == Change::Created && !it.is_of_person;
                    firsts.push(history.first().is_some_and(is_of_agent));
                }
                Ok((loaded, store.pins()?, firsts))
            })
            .await?;
        let ms =
            |text: &str| text.parse::<flyto_audit::Timestamp>().map_or(i64::MAX, |it| it.unix_ms());
        let tools = loaded.active.iter().zip(firsts).map(|(version, first)| {
            let name = &version.definition.name;
            let used = usage.get(name).into_iter().flatten().map(|it| ms(&it.1.last_used)).max();
            let needed = loaded.active.iter().any(|it| {
                Composite::of(&it.definition).is_some_and(|it| it.tools().any(|tool| tool == name))
            });
            UsedTool {
                name: name.clone(),
                last_touched_ms: used.unwrap_or(since).max(since).max(ms(&version.saved_at)),
                is_made_by_agent: first,
                is_pinned: pins.contains_key(name),
                is_needed: needed,
            }
        });
        let tools: Vec<UsedTool> = tools.collect();
        let steps = decay(flyto_audit::Timestamp::now().unix_ms(), &tools, policy);
        if let Some(by) = archive_by {
            for it in steps.iter().filter(|it| it.decay == Decay::Archive) {
                self.archive(&it.name, by).await?;
            }
        }
        Ok(steps)
    }
}
