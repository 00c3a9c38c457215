//! A declaration as a tool.

use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicUsize},
};

use async_trait::async_trait;
use flyto_execenv::SpillDir;
use flyto_tools::{
    CallContext, DescribeContext, Failure, Input, Metadata, Preview, Problem, ProblemKind,
    Registry, Tool, ToolCaller, ToolError, ToolErrorKind, ToolResult,
};
use serde_json::{Value, json};

use super::{
    Catalog, Composite, StepStatus, ToolHashes,
    approved::{self, StillApproved},
    check,
    kept::Kept,
    read,
    registered::not_there,
    run::{Ended, MAX_UNDO_BYTES, Ran, Run},
};
use crate::{
    Body, DefinitionHash, RecordedStep, ToolDefinition,
    run::{Gate, check_current, metadata_of, refused},
    usage::Called,
};

/// The tool that a composite definition makes.
///
/// Each step is a call through the host's [`ToolCaller`], so it goes through the gates of a direct call, with the call of
/// the composite as its parent. A step that is denied fails. All steps share the deadline of the call, that of the
/// definition and the cancellation; a step starts when those that it refers to are over, and runs beside others only where
/// all their tools declare `concurrency_safe`.
///
/// The result is what `output` says: a text as it is, other values as JSON and in [`ToolResult::data`]. A call that fails
/// keeps what was done: its data has `failed` (the id of a step), `steps` ([`StepReport`](crate::StepReport)) and `undo`
/// ([`UndoReport`](crate::UndoReport)). What was completed is taken back, the last first, where the step that failed has
/// `"on_error": "undo"`, and where the call is cancelled or its time is over. Undo is a call like any other and can fail;
/// it has 60 seconds of its own, of which each call has half of what is left, and the last one the rest. Dropping the future ends all steps and takes nothing back.
///
/// | what ends a call | steps that run | what was completed |
/// | --- | --- | --- |
/// | a step fails, `"on_error": "stop"` | go on to their end | stays, and is named |
/// | a step fails, `"on_error": "undo"`, also as a second one | the same | is taken back |
/// | its time, or that of a call around it | end by the same deadline, else 2 s behind it | is taken back |
/// | its cancellation | are cancelled, and dropped 2 s later | is taken back |
///
/// Taking back has 60 s of its own, and calls around this one wait for it: see [`CallContext::undoing`].
///
/// | kept during a call | at most |
/// | --- | --- |
/// | the result of a step | 256 KiB of text, and as much data |
/// | results of the items of a step | 1 MiB together, as JSON; no item begins once they are reached |
/// | results of all steps | 32 MiB of text, by these bounds and [`MAX_STEPS`](crate::MAX_STEPS) |
/// | results that are taken apart, since a reference leads into them | those of 2 MiB of text, the others anew when they are needed |
/// | inputs of what takes calls back | 16 MiB together; the call beyond fails |
///
/// A call is refused where a step's tool changed so that the composite would be more permissive than what was approved: a
/// tool that is gone, a version that a step asks for and that is not there, a claim that the steps no longer give, a
/// cycle. One that a person approved through a [`ToolBuilder`](crate::ToolBuilder) is refused too where a run-time tool
/// of its steps has another text than it had then; it [needs review](crate::NeedsReview). What follows from the steps without a claim, such as whether calls destroy something, is derived anew when a
/// [`ToolBuilder`](crate::ToolBuilder) registers or loads tools; before that, a composite whose metadata says too little
/// refuses its calls.
///
/// ```
/// use std::sync::Arc;
///
/// use flyto_evolve::{CompositeTool, ToolDefinition};
/// use flyto_tools::{CallContext, Input, NativeTool, Registry, Tool, ToolCaller, ToolError, ToolErrorKind, ToolResult};
/// use serde_json::json;
///
/// /// A host has gates here: rules, a person, a log.
/// #[derive(Debug)]
/// struct Direct(Arc<Registry>);
///
/// #[async_trait::async_trait]
/// impl ToolCaller for Direct {
///     async fn call_tool(&self, ctx: &CallContext, name: &str, input: Input) -> Result<ToolResult, ToolError> {
///         let entry = self.0.get(name).ok_or_else(|| ToolError::new(ToolErrorKind::NotFound, name))?;
///         entry.tool().execute(ctx, input).await
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let registry = Arc::new(Registry::new());
/// let echo = NativeTool::builder("echo", "Gives its input back.").run(async |_, it: serde_json::Map<_, _>| {
///     ToolResult::text(serde_json::Value::Object(it).to_string())
/// })?;
/// registry.register("host", Arc::new(echo))?;
/// let def = ToolDefinition::composite("twice", "Echoes twice.", json!({
///     "steps": [
///         {"id": "one", "tool": "echo", "with": {"n": {"$ref": "/input/n"}}},
///         {"id": "two", "tool": "echo", "with": {"was": {"$ref": "/steps/one/output/n"}}},
///     ],
/// }));
/// let tool = CompositeTool::new(def, Arc::new(Direct(Arc::clone(&registry))), registry)?;
/// let result = tool.execute(&CallContext::new(), Input::parse(r#"{"n": 7}"#)?).await?;
/// assert_eq!(result.output, r#"{"was":7}"#);
/// # Ok(()) }
/// ```
pub struct CompositeTool {
    def: ToolDefinition,
    composite: Arc<Composite>,
    approved: DefinitionHash,
    metadata: Metadata,
    caller: Arc<dyn ToolCaller>,
    registry: Arc<Registry>,
    gate: Option<Arc<Gate>>,
    /// The run-time tools that were approved with it; `None` where the host answers for them.
    tools: Option<Arc<ToolHashes>>,
    /// The beginning of the command line by which a person comes to the store.
    command: String,
    /// Where the whole of a step's result lies that is too long.
    spill_dir: Option<SpillDir>,
}

impl CompositeTool {
    /// Makes the tool. Steps are called through `caller`; `registry` tells what the tools of the steps declare. What is
    /// passed in counts as approved: its hash is compared before each call.
    ///
    /// The tools need not be there yet: a call looks for them.
    ///
    /// # Errors
    ///
    /// [`ToolErrorKind::Unsupported`] for a script or a command, and [`ToolErrorKind::NotStartable`] for a declaration
    /// that cannot be read, with every mistake.
    pub fn new(
        def: ToolDefinition,
        caller: Arc<dyn ToolCaller>,
        registry: Arc<Registry>,
    ) -> Result<Self, ToolError> {
        let catalog = Catalog::new(registry.snapshot());
        Self::with_catalog(def, caller, registry, &catalog)
    }

    /// As [`new`](Self::new), with tools that are about to be registered.
    pub(crate) fn with_catalog(
        def: ToolDefinition,
        caller: Arc<dyn ToolCaller>,
        registry: Arc<Registry>,
        catalog: &Catalog,
    ) -> Result<Self, ToolError> {
        let Body::Composite(value) = &def.body else {
            let what = format!("the tool {:?} is no composite", def.name);
            return Err(ToolError::new(ToolErrorKind::Unsupported, what));
        };
        let composite = read(value).map_err(|faults| {
            let faults: Vec<String> =
                faults.iter().map(|it| format!("{}: {}", it.pointer, it.what)).collect();
            ToolError::new(ToolErrorKind::NotStartable, faults.join("; "))
        })?;
        let metadata = derived_metadata(&def, &composite, catalog);
        let approved = def.hash();
        let composite = Arc::new(composite);
        Ok(Self {
            def,
            composite,
            approved,
            metadata,
            caller,
            registry,
            gate: None,
            tools: None,
            command: String::new(),
            spill_dir: None,
        })
    }

    /// Sets the directory for the whole of a step's result that is longer than
    /// [`MAX_STEP_BYTES`](crate::MAX_STEP_BYTES). Without one, the result says how much is missing.
    ///
    /// The directory is made with mode 0700 and each file with 0600, where they are not there. A tool whose own output is in
    /// a file already gets no second one. [`ToolResult::omitted`] tells what is missing of the results that the output of the
    /// composite refers to, all of them together; each text names its own file.
    #[must_use]
    pub fn spill_dir(mut self, dir: impl Into<SpillDir>) -> Self {
        self.spill_dir = Some(dir.into());
        self
    }

    /// Has a call ask first whether the approved text is still in force.
    pub(crate) fn with_gate(mut self, gate: Arc<Gate>) -> Self {
        self.gate = Some(gate);
        self
    }

    /// Has a call compare the run-time tools of its steps with those that were approved. `command` begins the line by which a
    /// person has one of them back.
    pub(crate) fn with_tools(mut self, tools: ToolHashes, command: &str) -> Self {
        self.tools = Some(Arc::new(tools));
        command.clone_into(&mut self.command);
        self
    }

    /// The definition that the tool was made of.
    #[must_use]
    pub fn definition(&self) -> &ToolDefinition {
        &self.def
    }

    /// The hash that was approved, and that each call compares.
    #[must_use]
    pub fn approved(&self) -> DefinitionHash {
        self.approved
    }

    pub(crate) fn composite(&self) -> &Arc<Composite> {
        &self.composite
    }

    /// Whether the tools of the steps are still what was approved.
    fn check(&self) -> Result<Catalog, ToolError> {
        check_current(&self.def, self.approved, self.gate.as_deref())
            .map_err(|why| refused(&self.def.name, &why))?;
        let catalog = Catalog::new(self.registry.snapshot()).with(&self.def);
        self.check_owners(&catalog)?;
        check::check_again(&self.def, &self.composite, &catalog).map_err(|fault| {
            let help = self.gone(&catalog).unwrap_or_else(|| fault.help.clone());
            let what = format!("the tool {:?} is not run: {fault}; {help}", self.def.name);
            ToolError::new(ToolErrorKind::Refused, what)
        })?;
        self.check_tools(&catalog)?;
        self.check_metadata(&catalog)?;
        Ok(catalog)
    }

    /// What to do where a run-time tool that was approved with this one is not there any more.
    fn gone(&self, catalog: &Catalog) -> Option<String> {
        let name = self.tools.as_ref()?.keys().find(|it| catalog.hash_of(it).is_none())?;
        Some(not_there(name, &self.command))
    }

    /// Whether the names of run-time tools that were approved with it lead to tools of another source.
    fn check_owners(&self, catalog: &Catalog) -> Result<(), ToolError> {
        let mut names = self.tools.iter().flat_map(|it| it.keys());
        let Some(name) = names.find(|it| catalog.hash_of(it).is_none()) else { return Ok(()) };
        // One that is nowhere is told as such.
        let Some(entry) = self.registry.get(name) else { return Ok(()) };
        let owner = entry.owner();
        // An approval is one of a tool of another owner only where the store has none of that name.
        let what = format!(
            "the tool {:?} is not run: since it was approved, tools that it calls changed: {name}, which is a tool of {owner} \
             now; give that one another name or leave its source out, or, where the run-time tool {name} was archived, ask the \
             user to approve this one again",
            self.def.name
        );
        Err(ToolError::new(ToolErrorKind::Refused, what))
    }

    /// Whether the run-time tools of the steps have the texts that they had when a person approved this one.
    fn check_tools(&self, catalog: &Catalog) -> Result<(), ToolError> {
        let Some(tools) = &self.tools else { return Ok(()) };
        let changed = approved::changed(tools, &catalog.hashes(&self.composite));
        if changed.is_empty() {
            return Ok(());
        }
        let what = format!(
            "the tool {:?} needs review and is not run: since it was approved, tools that it calls changed: {}; ask the \
             user to approve it again",
            self.def.name,
            changed.join(", ")
        );
        Err(ToolError::new(ToolErrorKind::Refused, what))
    }

    /// Whether the tools of the steps are still as harmless as this tool says of itself. A host decides by what it says, so
    /// a tool that says too little is not run before it was registered anew.
    fn check_metadata(&self, catalog: &Catalog) -> Result<(), ToolError> {
        let now = derived_metadata(&self.def, &self.composite, catalog);
        let is_worse = |said: Option<bool>, is: Option<bool>| said == Some(false) && is != said;
        let said = &self.metadata;
        let worse = [
            (is_worse(said.destructive, now.destructive), "calls may destroy something"),
            (is_worse(said.open_world, now.open_world), "calls may reach other systems"),
            (!said.requires_checkpoint && now.requires_checkpoint, "calls need a checkpoint"),
            (
                !said.requires_reverse_thinking && now.requires_reverse_thinking,
                "calls need a second thought",
            ),
        ];
        let Some((_, what)) = worse.iter().find(|it| it.0) else { return Ok(()) };
        let what = format!(
            "the tool {:?} is not run: a tool of its steps changed, and {what} now, which it does not declare; load the \
             tools again",
            self.def.name
        );
        Err(ToolError::new(ToolErrorKind::Refused, what))
    }

    /// The same tool with what the tools of its steps make of it now; `None` where that is what it says already.
    pub(crate) fn derived_anew(&self, catalog: &Catalog) -> Option<Self> {
        let metadata = derived_metadata(&self.def, &self.composite, catalog);
        (metadata != self.metadata).then(|| Self {
            def: self.def.clone(),
            composite: Arc::clone(&self.composite),
            approved: self.approved,
            metadata,
            caller: Arc::clone(&self.caller),
            registry: Arc::clone(&self.registry),
            gate: self.gate.clone(),
            tools: self.tools.clone(),
            command: self.command.clone(),
            spill_dir: self.spill_dir.clone(),
        })
    }

    /// A call, and what was called for it, where that has no more than `keep_bytes`. With 0, nothing is kept.
    pub(crate) async fn traced(
        &self,
        ctx: &CallContext,
        input: &Input,
        keep_bytes: usize,
    ) -> Result<Called, ToolError> {
        let still = StillApproved::new(&self.registry, self.tools.as_deref());
        let catalog = self.check()?;
        let steps = self.composite.steps.iter();
        let is_safe = steps.map(|it| catalog.is_concurrency_safe(&it.tool)).collect();
        Ok(self.ran(Some(still), ctx, input, is_safe, keep_bytes).await)
    }

    /// A call whose steps are answered by what was recorded: the tools of the steps are not asked for, since they may be
    /// others by now, and one step runs after the other. Each step is tried once, as its last call is what is kept.
    pub(crate) async fn replayed(
        &self,
        ctx: &CallContext,
        input: &Input,
    ) -> (ToolResult, Vec<RecordedStep>) {
        let once = Self {
            def: self.def.clone(),
            composite: Arc::new(self.composite.without_retries()),
            approved: self.approved,
            metadata: self.metadata.clone(),
            caller: Arc::clone(&self.caller),
            registry: Arc::clone(&self.registry),
            gate: None,
            tools: None,
            command: String::new(),
            spill_dir: None,
        };
        let is_safe = vec![false; once.composite.steps.len()];
        let called = once.ran(None, ctx, input, is_safe, usize::MAX).await;
        (called.result, called.steps.unwrap_or_default())
    }

    /// One call. It ends by its own deadline, by that of the context, or by its cancellation. `still` is asked before each
    /// call of a tool.
    async fn ran(
        &self,
        still: Option<StillApproved<'_>>,
        ctx: &CallContext,
        input: &Input,
        is_safe: Vec<bool>,
        keep_bytes: usize,
    ) -> Called {
        let timeout =
            self.composite.timeout.map_or(self.def.timeout(), |it| it.min(self.def.timeout()));
        let own = ctx.clone().with_time_limit(timeout);
        let mut run = Run {
            composite: &self.composite,
            caller: &*self.caller,
            still,
            inner: own.for_inner_calls(),
            ctx: own,
            input: Arc::new(if input.is_empty() { json!({}) } else { input.value().clone() }),
            is_safe,
            n_calls: AtomicUsize::new(0),
            completed: Mutex::default(),
            undo_bytes_left: MAX_UNDO_BYTES.into(),
            kept: (keep_bytes > 0).then(|| Mutex::new(Kept::new(keep_bytes))),
            spill_dir: self.spill_dir.as_ref(),
        };
        let mut ran = run.run().await;
        if let Some(Failure::TimedOut { after: after @ None }) = &mut ran.failure {
            *after = Some(ctx.time_given().map_or(timeout, |it| it.min(timeout)));
        }
        let kept =
            run.kept.take().map(|it| it.into_inner().unwrap_or_else(PoisonError::into_inner));
        let fault = ran.fault;
        Called {
            result: self.result(ran, &run.left_done()),
            steps: kept.and_then(Kept::into_calls),
            fault,
        }
    }

    /// The text says which step failed and what became of each one; the data has the same for
    /// programs. Of a call that succeeded, the text is the output itself, or its JSON.
    ///
    /// `left_done` are the calls that could have been taken back and were not.
    fn result(&self, ran: Ran, left_done: &[String]) -> ToolResult {
        let Some(failure) = ran.failure else {
            let output = ran.output.unwrap_or_default();
            let text = match &output {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let res = ToolResult::text(text).with_data(output);
            return ran.omitted.into_iter().fold(res, ToolResult::with_omitted);
        };
        let failed = match &ran.ended {
            Ended::Failed(index) => Some(self.composite.steps[*index].id.as_str()),
            _ => None,
        };
        let mut text = match (&ran.ended, failed) {
            (_, Some(id)) => format!("step {id:?} failed"),
            (Ended::NoOutput(why), _) => {
                format!("the steps ran, and the output could not be made: {why}")
            }
            (Ended::Cancelled, _) => "the call was cancelled".to_owned(),
            _ => "the time of the call was over".to_owned(),
        };
        for it in &ran.steps {
            let what = match it.status {
                StepStatus::Done => "done",
                StepStatus::Failed => "failed",
                StepStatus::Skipped => "skipped",
                StepStatus::NotRun => "not run",
                StepStatus::Abandoned => "abandoned",
            };
            let why = it.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            text.push_str(&format!("\n{}: {what}{why}", it.id));
        }
        if let Some(undo) = &ran.undo {
            if !undo.undone.is_empty() {
                text.push_str(&format!("\nundone: {}", undo.undone.join(", ")));
            }
            for (step, why) in &undo.failed {
                text.push_str(&format!("\nnot undone: {step}: {why}"));
            }
            if !undo.not_undoable.is_empty() {
                text.push_str(&format!("\nwithout undo: {}", undo.not_undoable.join(", ")));
            }
        }
        if !left_done.is_empty() {
            text.push_str(&format!("\nleft as they are: {}", left_done.join(", ")));
            if let Some(id) = failed {
                text.push_str(&format!("; the step {id:?} does not say \"on_error\": \"undo\""));
            }
        }
        text.push('\n');
        let data = json!({"failed": failed, "steps": ran.steps, "undo": ran.undo});
        ToolResult::failed(failure, text).with_data(data)
    }
}

/// What a composite says about itself: its claims, and what its steps make of it. What is not known before the tools are there
/// stays undeclared, which counts as unsafe.
fn derived_metadata(def: &ToolDefinition, composite: &Composite, catalog: &Catalog) -> Metadata {
    let mut res = metadata_of(def);
    res.destructive = composite.destructive.filter(|it| *it);
    if let Ok(derived) = catalog.derive(&def.name, composite) {
        res.destructive = res.destructive.or(derived.destructive);
        res.open_world = derived.open_world;
        res.requires_checkpoint = derived.requires_checkpoint;
        res.requires_reverse_thinking = derived.requires_reverse_thinking;
    }
    res
}

impl fmt::Debug for CompositeTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompositeTool")
            .field("name", &self.def.name)
            .field("version", &self.def.version)
            .field("approved", &self.approved)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Tool for CompositeTool {
    fn name(&self) -> &str {
        &self.def.name
    }

    fn description(&self, _: &DescribeContext) -> Cow<'_, str> {
        self.def.description.as_str().into()
    }

    fn input_schema(&self) -> &Value {
        &self.def.input_schema
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Steps are previewed when they are called: what they are given is not known before.
    fn preview(&self, _: &Input) -> Option<Preview> {
        let preview = Preview::new().with_deadline(self.def.timeout());
        Some(match self.check() {
            Ok(_) => preview,
            Err(err) => {
                preview.with_problem(Problem::new(ProblemKind::Error(err.kind()), err.to_string()))
            }
        })
    }

    async fn execute(&self, ctx: &CallContext, input: Input) -> Result<ToolResult, ToolError> {
        Ok(self.traced(ctx, &input, 0).await?.result)
    }
}
