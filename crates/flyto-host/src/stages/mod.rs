//! The path of a call: an ordered list of named stages, each around the ones behind it.
//!
//! A stage sees the call before the stages behind it do, and the result after them, as a middleware of a web
//! framework does. The list is data: [`Stages`] is changed before a host is built, and a host
//! [lists](crate::Host::stages) what it has.

mod audit;
mod bound;
mod challenge;
mod checkpoint;
mod execute;
mod guard;
mod list;
mod missing;
mod permission;
#[cfg(unix)]
mod undo;
mod validate;

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use flyto_tools::{
    CallContext, Entry, Execution, Failure, Input, ToolError, ToolErrorKind, ToolResult,
};

use self::checkpoint::CallEnd;
#[cfg(unix)]
pub use self::undo::RecordUndo;
pub use self::{
    audit::Audit,
    bound::Bound,
    challenge::{Challenge, Challenged, Challenger, Deliverable},
    checkpoint::{Answer, Checkpoint, CheckpointHandler, Question, Release},
    execute::Execute,
    guard::Guard,
    list::{StageError, Stages},
    missing::MissingCall,
    permission::Permission,
    validate::Validate,
};
use tracing::{Instrument as _, Span};

use crate::{
    error::CallError,
    native,
    permission::Decision,
    prepared::Prepared,
    secrets::{FoundSecret, Outcome},
    trace,
};

/// What a stage gives: the result of the call, or why there is none.
pub type StageResult = Result<ToolResult, CallError>;

/// Names of the stages that a host has by default.
pub mod names {
    /// Checks the input against the tool's schema.
    pub const VALIDATE: &str = "validate";
    /// Decides by the rules whether the call may run, and asks where they want it.
    pub const PERMISSION: &str = "permission";
    /// Has a challenger look at the call of a tool with `requires_reverse_thinking`.
    pub const REVERSE_THINKING: &str = "reverse thinking";
    /// Waits for the release of a tool with `requires_checkpoint`.
    pub const CHECKPOINT: &str = "checkpoint";
    /// Records the begin and the end of the call.
    pub const AUDIT: &str = "audit";
    /// Runs the tool.
    pub const EXECUTE: &str = "execute";
    /// Looks for secrets in the result.
    pub const OUTPUT_GUARD: &str = "output guard";
    /// Truncates the text of the result.
    pub const BOUND: &str = "bound";
    /// Records how the call is taken back, where the host has a place for that.
    pub const UNDO: &str = "undo";
}

/// One step of every call, around the steps behind it.
///
/// ```
/// use async_trait::async_trait;
/// use flyto_execenv::{ExecEnv, local::Local};
/// use flyto_host::{
///     CallError, Config, Host, Refusal, Surroundings,
///     permission::Caller,
///     stages::{Call, Next, Stage, StageResult, names},
/// };
/// use flyto_tools::{CallContext, Input, NativeTool, NoInput};
///
/// /// Lets each tool be called once.
/// #[derive(Debug, Default)]
/// struct Once(std::sync::Mutex<std::collections::HashSet<String>>);
///
/// #[async_trait]
/// impl Stage for Once {
///     fn name(&self) -> &str {
///         "once"
///     }
///
///     async fn run(&self, call: &mut Call, next: Next<'_>) -> StageResult {
///         let is_first = self.0.lock().expect("not poisoned").insert(call.entry().id().to_string());
///         if !is_first {
///             return Err(Refusal::new(call, self.name(), "it was called already").into());
///         }
///         next.run(call).await
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// let surroundings = Surroundings::ambient()?;
/// # let surroundings = surroundings.with_places(flyto_host::Places::below(dir.path()));
/// let host = Host::builder(ExecEnv::new(Local::new()), surroundings, Config::default())
///     .caller(Caller::Operator)
///     .stages(|stages| stages.insert_before(names::EXECUTE, Once::default()))?
///     .build();
/// host.add_tool("me", NativeTool::builder("ping", "Answers.").run(async |_, _: NoInput| "pong")?)?;
/// assert_eq!(host.call("ping", Input::empty(), &CallContext::new()).await?.output, "pong");
/// match host.call("ping", Input::empty(), &CallContext::new()).await {
///     Err(CallError::Refused(refusal)) => assert_eq!(refusal.stage, "once"),
///     other => panic!("{other:?}"),
/// }
/// # Ok(()) }
/// ```
#[async_trait]
pub trait Stage: fmt::Debug + Send + Sync + 'static {
    /// The name in the list; unique there.
    fn name(&self) -> &str;

    /// Takes its part in a call. [`Next::run`] goes on with the stages behind; a stage that does not call it
    /// ends the call with what it returns.
    ///
    /// # Errors
    ///
    /// What keeps the call from taking place. What the tool did, a failure included, is a result.
    async fn run(&self, call: &mut Call, next: Next<'_>) -> StageResult;

    /// Why it would refuse a call whatever its input, as far as that is known before; for plans.
    fn refuses(&self, prepared: &Prepared) -> Option<String> {
        let _ = prepared;
        None
    }

    /// Hears of a call before the first stage runs: for what holds during the whole of it, such as a listener. This waits for
    /// nothing.
    fn begins(&self, call: &mut Call) {
        let _ = call;
    }

    /// Hears of a call that ended before it came to this stage.
    async fn not_reached(&self, call: &Call, end: &StageResult) {
        let _ = (call, end);
    }

    /// Hears of a call that was dropped before it came to this stage, as by a client that is gone. The call is dropped with
    /// it, so this waits for nothing.
    fn dropped(&self, call: &Call) {
        let _ = call;
    }

    /// Hears of a call whose name leads to no tool that may be used, and which comes to no stage for that reason.
    async fn missing(&self, call: &MissingCall<'_>) {
        let _ = call;
    }
}

/// One call on its way through the stages.
#[derive(Debug)]
pub struct Call {
    prepared: Prepared,
    ctx: CallContext,
    /// The time that the call was given when it began, or when a stage last exchanged its context.
    time_given: Option<Duration>,
    /// Whether the input is known to fit the schema.
    is_checked: bool,
    has_decided: bool,
    challenged: Challenged,
    /// What came of the tool.
    outcome: Option<Outcome>,
    secrets: Vec<FoundSecret>,
    /// Why the call could not be recorded whole.
    unrecorded: Option<String>,
    #[cfg(unix)]
    undo: Option<Result<String, crate::undo::UndoError>>,
    /// The stage in which it was cancelled or timed out, before it came to its tool.
    ended_in: Option<String>,
    release: Release,
    /// What ran, where its result is withheld.
    withheld: Option<Execution>,
    tool_run: ToolRun,
    /// How many stages have begun.
    n_begun: usize,
    /// From the innermost outwards: how long each stage took, those behind it included, and its place in the list.
    times: Vec<(usize, Duration)>,
}

impl Call {
    pub(crate) fn new(prepared: Prepared, ctx: CallContext) -> Self {
        Self {
            prepared,
            time_given: ctx.time_given(),
            ctx,
            is_checked: false,
            has_decided: false,
            challenged: Challenged::default(),
            outcome: None,
            secrets: Vec::new(),
            unrecorded: None,
            #[cfg(unix)]
            undo: None,
            ended_in: None,
            release: Release::NotRequired,
            withheld: None,
            tool_run: ToolRun::NotReached,
            n_begun: 0,
            times: Vec::new(),
        }
    }

    /// What is known of the call: the tool, its preview, what holds for its program.
    #[must_use]
    pub fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// The tool that was looked up, which is the one that runs.
    #[must_use]
    pub fn entry(&self) -> &Entry {
        self.prepared.entry()
    }

    /// The input. No stage can exchange it: what was checked is what runs.
    #[must_use]
    pub fn input(&self) -> &Input {
        self.prepared.input()
    }

    /// The deadline, the cancellation and the listeners of the call.
    #[must_use]
    pub fn ctx(&self) -> &CallContext {
        &self.ctx
    }

    /// Exchanges the context: for a stage that shortens the deadline, or listens to the output.
    pub fn set_ctx(&mut self, ctx: CallContext) {
        if ctx.deadline() != self.ctx.deadline() {
            self.time_given = ctx.time_given();
        }
        self.ctx = ctx;
    }

    /// What the rules decided; `None` where the call did not come to the stage `permission`.
    #[must_use]
    pub fn decision(&self) -> Option<Arc<Decision>> {
        self.has_decided.then(|| self.prepared.decision())
    }

    /// What looks like a secret in the result or the error, behind the stage `output guard`.
    #[must_use]
    pub fn secrets(&self) -> &[FoundSecret] {
        &self.secrets
    }

    pub(crate) fn set_secrets(&mut self, found: Vec<FoundSecret>) {
        self.secrets = found;
    }

    /// The stage in which it was cancelled or timed out, before it came to its tool.
    pub(crate) fn ended_in(&self) -> Option<&str> {
        self.ended_in.as_deref()
    }

    pub(crate) fn set_unrecorded(&mut self, why: String) {
        self.unrecorded = Some(why);
    }

    /// What became of the checkpoint.
    #[must_use]
    pub fn release(&self) -> Release {
        self.release
    }

    /// What ran, where the result is withheld.
    pub(crate) fn withheld(&self) -> Option<&Execution> {
        self.withheld.as_ref()
    }

    /// What a challenger said before the call.
    #[must_use]
    pub fn challenged(&self) -> &Challenged {
        &self.challenged
    }

    /// The result, behind the stage that executes the tool; `None` where the tool [could not be tried](Self::error).
    #[must_use]
    pub fn result(&self) -> Option<&ToolResult> {
        self.outcome.as_ref()?.as_ref().ok()
    }

    /// Takes the result out, to put another one in its place with [`set_result`](Self::set_result).
    #[must_use]
    pub fn take_result(&mut self) -> Option<ToolResult> {
        let outcome = self.outcome.take_if(|it| it.is_ok());
        outcome.and_then(Result::ok)
    }

    /// Puts a result there for the stages behind: a stage of its own that answers in place of the tool, or
    /// one that changes what the tool gave. It takes the place of an error.
    pub fn set_result(&mut self, result: ToolResult) {
        self.note_run(Ok(&result));
        self.outcome = Some(Ok(result));
    }

    /// Why the tool could not be tried, behind the stage that executes it. The call ends with it behind the last
    /// stage.
    #[must_use]
    pub fn error(&self) -> Option<&ToolError> {
        self.outcome.as_ref()?.as_ref().err()
    }

    /// Ends the call with this error behind the last stage: for a stage that executes tools, or changes what such a
    /// stage says. It takes the place of a result.
    pub fn set_error(&mut self, err: ToolError) {
        self.note_run(Err(&err));
        self.outcome = Some(Err(err));
    }

    /// What is known of the tool itself. Stages behind the one that executes it change the result, and not this.
    #[must_use]
    pub fn tool_run(&self) -> &ToolRun {
        &self.tool_run
    }

    /// The first outcome of a call is that of its tool, or of the stage that answered in its place.
    fn note_run(&mut self, outcome: Result<&ToolResult, &ToolError>) {
        if matches!(self.tool_run, ToolRun::NotReached | ToolRun::Begun) {
            self.tool_run = match outcome {
                Ok(result) => ToolRun::Ended { failure: result.failure.clone() },
                Err(err) => ToolRun::NotTried { kind: err.kind(), why: err.to_string() },
            };
        }
    }

    /// The result of a call whose time is over behind this stage, and which has not come to its tool.
    fn timed_out_in(&mut self, stage: &str) -> Option<ToolResult> {
        let is_over = self.ctx.is_late() && self.time_given.is_some() && self.outcome.is_none();
        is_over.then(|| self.end_in(stage, CallEnd::TimedOut, None))
    }

    /// The result of a call that ends while a stage waits, before it has come to its tool. `why` says for what the stage
    /// waited.
    fn end_in(&mut self, stage: &str, end: CallEnd, why: Option<&str>) -> ToolResult {
        self.ended_in = Some(stage.to_owned());
        let after = match end {
            CallEnd::Cancelled => None,
            CallEnd::TimedOut => Some(self.time_given.unwrap_or_default()),
        };
        native::ended_in(self.entry(), stage, after, why)
    }
}

/// How far a call came with its tool, whatever a later stage made of the result: for programs that undo or repeat calls.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ToolRun {
    /// The call ended before its tool: it was refused, cancelled or timed out, or a stage answered it.
    NotReached,
    /// The tool was begun, and how it ended is not known.
    Begun,
    /// The tool ended.
    Ended {
        /// How it failed; `None` where it did not.
        failure: Option<Failure>,
    },
    /// The tool could not be tried.
    NotTried {
        /// The kind of the reason.
        kind: ToolErrorKind,
        /// The reason.
        why: String,
    },
}

/// The stages behind one.
#[derive(Debug)]
pub struct Next<'a> {
    stages: &'a Stages,
    index: usize,
}

impl<'a> Next<'a> {
    pub(crate) fn first(stages: &'a Stages) -> Self {
        Self { stages, index: 0 }
    }

    /// Goes on with the next stage; behind the last one, the result or the error that the call has by then is given. Where
    /// the time of the call is over and it has neither yet, no further stage begins:
    /// [`Failure::TimedOut`] names the stage that was the last.
    ///
    /// # Errors
    ///
    /// Those of the stages behind; [`Call::error`]; [`ToolErrorKind::Internal`] where none of all stages gave a result.
    pub async fn run(self, call: &mut Call) -> StageResult {
        let Self { stages, index } = self;
        let Some(stage) = stages.at(index) else {
            let outcome = call.outcome.take().unwrap_or_else(|| {
                let what = format!("failed to call {}: no stage executes tools", call.entry().id());
                Err(ToolError::new(ToolErrorKind::Internal, what))
            });
            return outcome.map_err(CallError::Tool);
        };
        if let Some(before) = index.checked_sub(1).and_then(|it| stages.at(it))
            && let Some(ended) = call.timed_out_in(before.name())
        {
            return Ok(ended);
        }
        call.n_begun = index + 1;
        let begun = Instant::now();
        let span = trace::stage(stage.name());
        let res = stage.run(call, Next { stages, index: index + 1 }).instrument(span).await;
        call.times.push((index, begun.elapsed()));
        res
    }
}

/// How long a stage took, without those behind it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct StageTime {
    /// The name of the stage.
    pub stage: String,
    /// The time.
    #[serde(serialize_with = "seconds")]
    pub time: Duration,
}

fn seconds<S: serde::Serializer>(it: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(it.as_secs_f64())
}

/// Everything that came of a call.
#[derive(Debug)]
#[non_exhaustive]
pub struct CallReport {
    /// The result, or why there is none.
    pub result: StageResult,
    /// The stages that the call came to, in their order, with the time that each took by itself.
    pub stages: Vec<StageTime>,
    /// What a challenger said before the call.
    pub challenged: Challenged,
    /// What the rules decided; `None` where the call did not come to the stage `permission`.
    pub decision: Option<Arc<Decision>>,
    /// What looks like a secret in the result, or in the reason why the tool could not be tried, and where.
    pub secrets: Vec<FoundSecret>,
    /// What became of the checkpoint.
    pub release: Release,
    /// The stage in which the call was cancelled, or its time was over, before it came to its tool.
    pub ended_in: Option<String>,
    /// How far the call came with its tool. A call whose result a stage behind the tool withheld is told by this from one
    /// that was refused before.
    pub tool_run: ToolRun,
    /// Why the call is not in the log, or its end is not; `None` for one that is recorded whole, and for a host
    /// without a log.
    pub unrecorded: Option<String>,
    /// The id of the record by which the call can be undone, or why there is none; `None` where the result has no inverse
    /// call, or the host no place for records.
    #[cfg(unix)]
    pub undo: Option<Result<String, crate::undo::UndoError>>,
}

/// Takes a call through all stages. Gives it back with its result.
pub(crate) async fn run(stages: &Stages, call: Call) -> (StageResult, Call) {
    let span = trace::call(&call);
    let mut underway = Underway { stages, call: Some(call) };
    let call = underway.call.as_mut().expect("it is taken out below");
    stages.iter().for_each(|it| it.begins(call));
    let result = Next::first(stages).run(call).instrument(span.clone()).await;
    let call = underway.call.take().expect("nothing else takes it");
    not_reached(stages, &call, &result, &span).await;
    (result, call)
}

/// Tells what came of a call that these stages have seen.
pub(crate) fn report(stages: &Stages, (result, call): (StageResult, Call)) -> CallReport {
    let mut inner = Duration::ZERO;
    let mut times = Vec::with_capacity(call.times.len());
    for (index, time) in &call.times {
        let stage = stages.at(*index).map(|it| it.name().to_owned()).unwrap_or_default();
        times.push(StageTime { stage, time: time.saturating_sub(inner) });
        inner = *time;
    }
    times.reverse();
    CallReport {
        result,
        stages: times,
        decision: call.decision(),
        challenged: call.challenged,
        secrets: call.secrets,
        release: call.release,
        ended_in: call.ended_in,
        tool_run: call.tool_run,
        unrecorded: call.unrecorded,
        #[cfg(unix)]
        undo: call.undo,
    }
}

/// A call that goes through the stages. Dropped with the call in it, it tells those to which the call did not come.
struct Underway<'a> {
    stages: &'a Stages,
    call: Option<Call>,
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        if let Some(call) = &self.call {
            self.stages.iter().skip(call.n_begun).for_each(|it| it.dropped(call));
        }
    }
}

/// Ends a call that no stage has seen.
pub(crate) async fn end(stages: &Stages, mut call: Call, result: &StageResult) {
    let span = trace::call(&call);
    // What refuses a call knows what the rules say of it; an input that breaks its schema ends it before.
    call.has_decided = result.is_err() && stages.get(names::PERMISSION).is_some();
    if matches!(result, Err(CallError::Refused(it)) if it.stage == names::CHECKPOINT) {
        call.release = Release::NoHandler;
    }
    not_reached(stages, &call, result, &span).await;
}

/// Tells the stages to which a call did not come how it ended.
async fn not_reached(stages: &Stages, call: &Call, end: &StageResult, span: &Span) {
    trace::ended(span, call, end);
    for stage in stages.iter().skip(call.n_begun) {
        stage.not_reached(call, end).await;
    }
}
