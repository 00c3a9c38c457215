//! Calls of the host's own tools: the caller's deadline holds for them, and a panic ends the call and not the host.
//!
//! A program is ended by its handle at the deadline. A tool that is a function of the host has no
//! process to end, so this module keeps the deadline around it: cancellation first,
//! [`DEFAULT_GRACE`] to end by itself, then the task is dropped at its next `await`. A function
//! that blocks its thread and never awaits cannot be stopped; it goes on in its task while the
//! caller has its answer.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use flyto_execenv::DEFAULT_GRACE;
use flyto_program::{deadline_reached, grace_over, time_text};
use flyto_tools::{
    CallContext, Entry, Failure, Input, Origin, Preview, Problem, ProblemKind, Tool, ToolError,
    ToolErrorKind, ToolResult, Validated,
};
use tokio::{
    runtime::Handle,
    task::{AbortHandle, JoinError},
};
use tracing::Instrument as _;

/// Calls a tool that is no program, in a task of its own: a tool that blocks its thread keeps neither the caller nor its
/// deadline, where the runtime has another thread.
///
/// At the deadline the call is cancelled, and dropped when it has not ended [`DEFAULT_GRACE`] later and takes nothing back. A result that
/// comes in this time is kept; one that says that the call was cancelled says that its time was over.
///
/// `is_checked` says that the input is known to fit.
pub(crate) async fn call(
    entry: &Entry,
    ctx: &CallContext,
    input: Input,
    is_checked: bool,
) -> Result<ToolResult, ToolError> {
    let name = entry.id().to_string();
    let Ok(runtime) = Handle::try_current() else {
        let what = format!("failed to call {name}: a host needs a Tokio runtime");
        return Err(ToolError::new(ToolErrorKind::Internal, what));
    };
    let given = ctx.time_given();
    if ctx.is_late() {
        return Ok(timed_out(&name, given.unwrap_or_default()));
    }
    let stop = ctx.cancellation().child_token();
    let tool = entry.tool().clone();
    let own = ctx.clone().with_cancellation(stop.clone());
    let task = async move { execute(&*tool, &own, input, is_checked).await };
    // What the tool does, calls of other tools included, is within this call's span.
    let mut task = runtime.spawn(task.in_current_span());
    let _ended = EndedOnDrop(task.abort_handle());

    let Some(given) = given else {
        return task.await.unwrap_or_else(|err| lost(&name, err));
    };
    let in_time = tokio::select! {
        biased;
        res = &mut task => Some(res),
        () = deadline_reached(ctx) => None,
    };
    let ended = match in_time {
        // A call around this one can be the first to see that their time is over.
        Some(res) if !ctx.is_late() => return res.unwrap_or_else(|err| lost(&name, err)),
        Some(res) => Some(res),
        None => {
            stop.cancel();
            tokio::select! {
                biased;
                res = &mut task => Some(res),
                () = grace_over(ctx, DEFAULT_GRACE) => None,
            }
        }
    };
    match ended {
        Some(Ok(Ok(res))) if res.failure != Some(Failure::Cancelled) => Ok(res),
        // The tool says what it did until then; why it was cancelled is told in front of it.
        Some(Ok(Ok(mut res))) => {
            let ended = timed_out(&name, given);
            res.failure = ended.failure;
            res.output = match res.output.is_empty() {
                true => ended.output,
                false => format!("{}\n{}", ended.output, res.output),
            };
            Ok(res)
        }
        Some(Ok(Err(err))) if err.kind() != ToolErrorKind::Cancelled => Err(err),
        Some(Err(err)) => lost(&name, err),
        _ => Ok(timed_out(&name, given)),
    }
}

/// Executes a tool; one whose input was not checked yet checks it itself.
pub(crate) async fn execute(
    tool: &dyn Tool,
    ctx: &CallContext,
    input: Input,
    is_checked: bool,
) -> Result<ToolResult, ToolError> {
    match tool.downcast_ref::<Validated<Arc<dyn Tool>>>().filter(|_| is_checked) {
        Some(tool) => tool.execute_checked(ctx, input).await,
        None => tool.execute(ctx, input).await,
    }
}

/// What the tool says that a call would touch. Of one that panics, that it does.
pub(crate) fn preview(entry: &Entry, input: &Input) -> Option<Preview> {
    catch_unwind(AssertUnwindSafe(|| entry.tool().preview(input))).unwrap_or_else(|panic| {
        let what = format!("its preview panicked: {}", message(&*panic));
        let kind = ProblemKind::Error(ToolErrorKind::Internal);
        Some(Preview::new().with_problem(Problem::new(kind, what)))
    })
}

/// Ends the call with the future that waits for it.
///
/// Dropping the future of [`call`] thereby aborts the task. After the task has ended this does
/// nothing.
struct EndedOnDrop(AbortHandle);

impl Drop for EndedOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The result of a call that was ended at its deadline. `after` is the time that the call was
/// given; the failure has it exactly, the text in milliseconds.
fn timed_out(name: &str, after: Duration) -> ToolResult {
    let text = format!("tool {name:?} timed out after {}", time_text(after));
    ToolResult::failed(Failure::TimedOut { after: Some(after) }, text)
}

/// The result of a call whose time was over in a stage, before its tool was reached, or that was cancelled there (no
/// time). `why` says what the stage waited for.
pub(crate) fn ended_in(
    entry: &Entry,
    stage: &str,
    after: Option<Duration>,
    why: Option<&str>,
) -> ToolResult {
    let name = entry.id().to_string();
    let tool = match &entry.tool().metadata().origin {
        Origin::Plugin { .. } => format!("plugin tool {name:?}"),
        Origin::ExecFile { .. } => format!("error: exec_tool {name:?}"),
        _ => format!("tool {name:?}"),
    };
    let (what, failure) = match after {
        Some(after) => {
            let time = time_text(after);
            (format!("timed out after {time}"), Failure::TimedOut { after: Some(after) })
        }
        None => ("was cancelled".to_owned(), Failure::Cancelled),
    };
    let why = why.map(|it| format!(": {it}")).unwrap_or_default();
    let text = format!("{tool} {what} in the stage {stage:?}{why}; nothing was started");
    ToolResult::failed(failure, text)
}

/// What became of a task that gave no result.
///
/// A panic is a result. That the task was aborted without the caller's doing means that the runtime
/// was shut down, which is an error.
fn lost(name: &str, err: JoinError) -> Result<ToolResult, ToolError> {
    match err.try_into_panic() {
        Ok(panic) => {
            let text = format!("tool {name:?} panicked: {}", message(&*panic));
            Ok(ToolResult::failed(Failure::Panicked, text))
        }
        Err(_) => {
            let what = format!("failed to call {name}: the runtime was shut down");
            Err(ToolError::new(ToolErrorKind::Internal, what))
        }
    }
}

pub(crate) fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
