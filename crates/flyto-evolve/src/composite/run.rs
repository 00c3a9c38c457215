//! One call of a composite: which steps run when, and what becomes of the call.
//!
//! A step starts when those that it needs are over, and runs beside others only where all their tools allow it; else the
//! written order holds. All steps share one cancellation and one time limit, which stands still while a person is asked.
//! Everything runs in the task of the caller, so dropping the call drops every step; nothing is undone then.

mod items; // a list

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
    time::{Duration, Instant},
};

use flyto_execenv::SpillDir;
use flyto_program::{deadline_reached, grace_over};
use flyto_tools::{CallContext, Failure, Input, Omitted, ToolCaller, ToolErrorKind};
use serde_json::Value;

use super::{
    Composite, MAX_CALLS, MAX_PARALLEL, OnError, Step, StepReport, StepStatus, UndoReport,
    approved::StillApproved,
    cut::omitted_of,
    kept::Kept,
    outcome::{abandoned, error_value, kind_of, value_of, why_failed},
    results::StepValue,
    value::Scope,
};
use crate::{
    RecordedStep,
    usage::{Fault, is_of_tool},
};

/// How long steps that run may take to end once the call is over.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// The most bytes of inputs that are kept for the undo of calls: 16 MiB.
pub(super) const MAX_UNDO_BYTES: usize = 16 * 1024 * 1024;

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ended {
    Done,
    /// The step with this index failed, and did not say that the others go on.
    Failed(usize),
    /// What the tool delivers could not be made.
    NoOutput(String),
    TimedOut,
    Cancelled,
}

/// What became of a call.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) ended: Ended,
    pub(super) failure: Option<Failure>,
    pub(super) fault: Fault,
    pub(super) output: Option<Value>,
    pub(super) omitted: Option<Omitted>,
    /// None where the call succeeded.
    pub(super) steps: Vec<StepReport>,
    pub(super) undo: Option<UndoReport>,
}

/// One call of a composite, while it runs. Everything in it is borrowed or shared, so that steps
/// that run side by side need no copy of it.
pub(super) struct Run<'a> {
    pub(super) composite: &'a Composite,
    pub(super) caller: &'a dyn ToolCaller,
    /// `None` where recorded results stand for the tools.
    pub(super) still: Option<StillApproved<'a>>,
    /// That of the call, with the time limit of the composite.
    pub(super) ctx: CallContext,
    /// The same, for the calls of steps.
    pub(super) inner: CallContext,
    pub(super) input: Arc<Value>,
    /// Whether calls of each step's tool may run beside others.
    pub(super) is_safe: Vec<bool>,
    pub(super) n_calls: AtomicUsize,
    pub(super) completed: Mutex<Vec<Completed>>,
    /// Of [`MAX_UNDO_BYTES`].
    pub(super) undo_bytes_left: AtomicUsize,
    /// What is kept for a record, where the host wants one.
    pub(super) kept: Option<Mutex<Kept>>,
    /// Where the whole of a result lies that is too long.
    pub(super) spill_dir: Option<&'a SpillDir>,
}

/// A call that ran to its end, for its undo.
#[derive(Debug)]
pub(super) struct Completed {
    pub(super) step: usize,
    pub(super) item: Option<usize>,
    /// What the undo is called with, as JSON, or why that cannot be made; `None` where the step declares no undo.
    ///
    /// It is made when the call has ended: to keep what it is made of would keep each result.
    pub(super) undo: Option<Result<String, String>>,
}

/// What became of a step.
pub(super) struct StepEnd {
    pub(super) status: StepStatus,
    pub(super) value: Option<Arc<StepValue>>,
    pub(super) why: Option<String>,
    failure: Option<Failure>,
    /// Whether the tool of the step is what failed: it gave a result, and the failure is its own.
    is_of_tool: bool,
    pub(super) n_calls: usize,
    pub(super) wall: Duration,
}

/// What became of one call of a step, retries included.
struct CallEnd {
    value: StepValue,
    /// Why it failed.
    why: Option<String>,
    failure: Option<Failure>,
    is_of_tool: bool,
    n_calls: usize,
}

/// What came of calling the tool of a step once.
struct Attempt {
    value: StepValue,
    why: Option<String>,
    failure: Option<Failure>,
    may_retry: bool,
    /// Whether the host gave an error and no result.
    is_refused: bool,
}

/// What the loop of a call waits for.
enum Event {
    Step(usize, Box<StepEnd>),
    Cancelled,
    TimedOut,
}

/// A step that runs, with its index.
type Pending<'a> = (usize, Pin<Box<dyn Future<Output = StepEnd> + Send + 'a>>);

impl Run<'_> {
    /// Runs all steps to their end, or to the end of the call.
    ///
    /// The loop starts what may start, waits for one event, and goes on. An event is the end of a
    /// step, the cancellation of the call, or its deadline. After one of the latter two, no step is
    /// started, and those that run have 2 seconds to end: a cancellation and a deadline are theirs as
    /// well. A composite among them takes back first what it did. What is left then is dropped and told as abandoned. What was completed is undone where the
    /// failed step asks for it, and after a cancellation or a deadline.
    pub(super) async fn run(&self) -> Ran {
        let n_steps = self.composite.steps.len();
        let mut ends: Vec<Option<StepEnd>> = (0..n_steps).map(|_| None).collect();
        let mut scope = Scope::new(Arc::clone(&self.input));
        let mut running: Vec<Pending<'_>> = Vec::new();
        let mut started = vec![false; n_steps];
        let mut ended = Ended::Done;
        let mut grace = None;
        // From the end of its time on, calls around this one wait for what it takes back.
        let mut undoing = None;
        loop {
            // No step begins once the call is over, also where those before it go on after a failure.
            if ended == Ended::Done && started.contains(&false) {
                ended = self.over().unwrap_or(Ended::Done);
            }
            if matches!(ended, Ended::TimedOut | Ended::Cancelled) {
                undoing.get_or_insert_with(|| self.ctx.undoing());
            }
            if ended == Ended::Done {
                for (index, started) in started.iter_mut().enumerate() {
                    if !*started && running.len() < MAX_PARALLEL && self.may_start(index, &ends) {
                        *started = true;
                        running.push((index, Box::pin(self.step(index, scope.clone()))));
                    }
                }
            }
            if running.is_empty() {
                break;
            }
            match self.next(&mut running, grace).await {
                Event::Step(index, end) => {
                    let step = &self.composite.steps[index];
                    if end.status == StepStatus::Failed
                        && step.on_error != OnError::Continue
                        && ended == Ended::Done
                    {
                        ended = self.over().unwrap_or(Ended::Failed(index));
                    }
                    if let Some(value) = &end.value
                        && self.composite.is_referred_to(index)
                    {
                        scope.steps.insert(step.id.clone(), Arc::clone(value));
                    }
                    ends[index] = Some(*end);
                }
                // The grace is over as well: dropping a call ends it.
                _ if grace.is_some() => break,
                event => {
                    ended = if matches!(event, Event::Cancelled) {
                        Ended::Cancelled
                    } else {
                        Ended::TimedOut
                    };
                    grace = Some(Instant::now() + GRACE);
                }
            }
        }
        drop(running);
        let (mut output, mut omitted) = (None, None);
        if ended == Ended::Done {
            let scope = scope.for_all([&self.composite.output].into_iter(), None);
            match self.composite.output.eval(&scope) {
                Ok(value) => {
                    output = Some(value);
                    omitted = omitted_of(&self.composite.output, &scope);
                }
                Err(why) => ended = Ended::NoOutput(why),
            }
        }
        let failure = match &ended {
            Ended::Done => None,
            Ended::Failed(index) => {
                let failure = ends[*index].as_ref().and_then(|it| it.failure.clone());
                // An input that another step had a part in is no fault of the caller.
                let is_callers = self.composite.needs(*index).is_empty();
                let failure = failure.filter(|it| *it != Failure::BadInput || is_callers);
                Some(failure.unwrap_or(Failure::reported()))
            }
            Ended::NoOutput(_) => Some(Failure::reported()),
            Ended::TimedOut => Some(Failure::TimedOut { after: None }),
            Ended::Cancelled => Some(Failure::Cancelled),
        };
        // A composite does nothing but what its steps do, so its time is theirs.
        let fault = match &ended {
            Ended::NoOutput(_) => Fault::Own,
            Ended::Failed(index) if ends[*index].as_ref().is_some_and(|it| it.is_of_tool) => {
                Fault::Step
            }
            Ended::Failed(_) | Ended::Done | Ended::TimedOut | Ended::Cancelled => Fault::None,
        };
        let wants_undo = match &ended {
            // One that ran beside the first may have failed after it.
            Ended::Failed(_) => ends.iter().zip(&self.composite.steps).any(|(end, step)| {
                step.on_error == OnError::Undo
                    && end.as_ref().is_some_and(|it| it.status == StepStatus::Failed)
            }),
            Ended::TimedOut | Ended::Cancelled => true,
            Ended::Done | Ended::NoOutput(_) => false,
        };
        let undo = if wants_undo { Some(self.undo().await) } else { None };
        drop(undoing);
        // Only a failure is told with them.
        let steps = match failure {
            Some(_) => self.reports(&started, ends),
            None => Vec::new(),
        };
        Ran { ended, failure, fault, output, omitted, steps, undo }
    }

    /// Whether what a step waits for is over: steps that it needs, and earlier ones that may not run beside it.
    fn may_start(&self, index: usize, ends: &[Option<StepEnd>]) -> bool {
        let needs = self.composite.needs(index);
        (0..index).all(|other| {
            let waits = needs.contains(&other) || !self.is_safe[index] || !self.is_safe[other];
            !waits || ends[other].is_some()
        })
    }

    /// How the call ended, once it is cancelled or its time is over.
    fn over(&self) -> Option<Ended> {
        if self.ctx.is_late() {
            return Some(Ended::TimedOut);
        }
        self.ctx.cancellation().is_cancelled().then_some(Ended::Cancelled)
    }

    /// Waits for a step to end, or for the end of the call.
    async fn next(&self, running: &mut Vec<Pending<'_>>, grace: Option<Instant>) -> Event {
        let mut cancelled = pin!(self.ctx.cancellation().cancelled());
        let mut over = pin!(async {
            match grace {
                Some(at) => {
                    grace_over(&self.inner, at.saturating_duration_since(Instant::now())).await
                }
                None => deadline_reached(&self.ctx).await,
            }
        });
        poll_fn(|cx| {
            for at in 0..running.len() {
                if let Poll::Ready(end) = running[at].1.as_mut().poll(cx) {
                    let (index, _) = running.remove(at);
                    return Poll::Ready(Event::Step(index, Box::new(end)));
                }
            }
            // What began to end has its grace.
            if grace.is_none() && !self.ctx.is_late() && cancelled.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Event::Cancelled);
            }
            over.as_mut().poll(cx).map(|()| Event::TimedOut)
        })
        .await
    }

    /// One step, with the time that it took: waiting between retries is part of it.
    async fn step(&self, index: usize, scope: Scope) -> StepEnd {
        let started = Instant::now();
        let step = &self.composite.steps[index];
        let mut end = self.step_end(index, step, scope).await;
        end.wall = started.elapsed();
        end
    }

    /// The condition, then the items or the one call. A condition that cannot be evaluated, since a
    /// value is missing, fails the step; it is not taken for "no".
    async fn step_end(&self, index: usize, step: &Step, scope: Scope) -> StepEnd {
        match step.when.as_ref().map_or(Ok(true), |it| it.holds(&scope)) {
            Ok(true) => {}
            Ok(false) => {
                let value = StepValue {
                    status: "skipped".into(),
                    is_error: false.into(),
                    truncated: false.into(),
                    text: None,
                    output: None,
                    omitted: None,
                };
                return StepEnd {
                    status: StepStatus::Skipped,
                    value: Some(value.into()),
                    why: None,
                    failure: None,
                    is_of_tool: false,
                    n_calls: 0,
                    wall: Duration::ZERO,
                };
            }
            Err(why) => return failed(why, None, 0),
        }
        let mut exprs = Vec::new();
        step.each_expr(&mut |it| exprs.push(it));
        let scope = scope.for_all(exprs.into_iter(), Some(&step.id));
        let Some(items) = &step.for_each else {
            let CallEnd { value, why, failure, is_of_tool, n_calls } =
                self.call(index, step, &scope).await;
            let status = if why.is_some() { StepStatus::Failed } else { StepStatus::Done };
            return StepEnd {
                status,
                value: Some(value.into()),
                why,
                failure,
                is_of_tool,
                n_calls,
                wall: Duration::ZERO,
            };
        };
        let items = match items.eval(&scope) {
            Ok(Value::Array(items)) => items,
            Ok(other) => {
                let kind = kind_of(&other);
                return failed(
                    format!("\"for_each\" takes a list, and the value is {kind}"),
                    None,
                    0,
                );
            }
            Err(why) => return failed(why, None, 0),
        };
        if items.len() > step.max_items {
            let what = format!(
                "there are {} items, and at most {} are taken",
                items.len(),
                step.max_items
            );
            return failed(what, None, 0);
        }
        self.items(index, step, scope, items).await
    }

    /// One call, and again as often as the step says.
    ///
    /// The input is evaluated once, so a retry has the same one. A failure is tried again unless
    /// the tool says that trying again is no use: bad input, denied, cancelled, an environment that
    /// is not there. Calls of the whole composite are counted, and the one beyond [`MAX_CALLS`]
    /// fails.
    async fn call(&self, index: usize, step: &Step, scope: &Scope) -> CallEnd {
        let input = match step.with.eval(scope) {
            Ok(input) if input.is_object() => Input::from_value(input),
            Ok(other) => {
                let what = format!(
                    "a tool is called with an object, and \"with\" gives {}",
                    kind_of(&other)
                );
                return not_called(what);
            }
            Err(why) => return not_called(why),
        };
        let mut n_calls = 0;
        loop {
            if let Some(over) = self.over() {
                let failure = failure_of(&over);
                let why = failure.to_string();
                return CallEnd { n_calls, failure: Some(failure), ..not_called(why) };
            }
            if self.n_calls.fetch_add(1, Ordering::Relaxed) >= MAX_CALLS {
                return CallEnd {
                    n_calls,
                    ..not_called(format!("the tool made {MAX_CALLS} calls, and that is the most"))
                };
            }
            n_calls += 1;
            let Attempt { value, why, failure, may_retry, is_refused } =
                self.call_once(step, input.clone()).await;
            let is_over = self.over().is_some();
            if why.is_none()
                || !may_retry
                || is_over
                || n_calls > usize::try_from(step.retries).unwrap_or(0)
            {
                self.keep(|| RecordedStep {
                    step: step.id.clone(),
                    item: scope.item.as_ref().map(|it| it.1),
                    is_undo: false,
                    tool: step.tool.clone(),
                    input: input.value().clone(),
                    text: value.text().to_owned(),
                    output: value.json().and_then(|_| value.output()),
                    failure: failure.clone(),
                    is_refused,
                    is_truncated: value.truncated == Value::Bool(true),
                });
                let is_of_tool = !is_refused && failure.as_ref().is_some_and(is_of_tool);
                if why.is_some() {
                    return CallEnd { value, why, failure, is_of_tool, n_calls };
                }
                let value = Arc::new(value);
                let kept = self.complete(index, step, scope, &value);
                let value = Arc::unwrap_or_clone(value);
                return match kept {
                    Ok(()) => CallEnd { value, why, failure, is_of_tool, n_calls },
                    Err(why) => {
                        let failure = Some(Failure::limit("undo"));
                        CallEnd { value: error_value(&why), failure, n_calls, ..not_called(why) }
                    }
                };
            }
            // The end of the call ends the wait; the next round sees it.
            tokio::select! {
                () = tokio::time::sleep(step.delay) => {}
                () = self.ctx.cancellation().cancelled() => {}
                () = deadline_reached(&self.ctx) => {}
            }
        }
    }

    /// Keeps what the undo of a call needs.
    ///
    /// # Errors
    ///
    /// There is no room for it. The call stays, and is told as one that could not be undone.
    fn complete(
        &self,
        index: usize,
        step: &Step,
        scope: &Scope,
        value: &Arc<StepValue>,
    ) -> Result<(), String> {
        let mut res = Ok(());
        let undo = step.undo.as_ref().map(|undo| {
            let mut scope = scope.clone();
            scope.steps.insert(step.id.clone(), Arc::clone(value));
            let input = undo.with.eval(&scope)?.to_string();
            let room = &self.undo_bytes_left;
            let n_bytes = input.len();
            room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |it| it.checked_sub(n_bytes))
                .map(|_| input)
                .map_err(|_| {
                    let why =
                        format!("what is kept to undo calls has more than {MAX_UNDO_BYTES} bytes");
                    res = Err(why.clone());
                    why
                })
        });
        let item = scope.item.as_ref().map(|it| it.1);
        let completed = Completed { step: index, item, undo };
        self.completed.lock().unwrap_or_else(PoisonError::into_inner).push(completed);
        res
    }

    /// The deadline of the call is that of the step or of the composite, whichever is earlier.
    async fn call_once(&self, step: &Step, input: Input) -> Attempt {
        let mut ctx = self.inner.clone();
        if let Some(timeout) = step.timeout {
            ctx = ctx.with_time_limit(timeout);
        }
        let called = self.called(&ctx, &step.tool, step.version, input);
        let result = match in_time(&ctx, called).await {
            Some(Ok(result)) => result,
            Some(Err(err)) => {
                let may_retry = err.retryable();
                let why = err.chain();
                return Attempt {
                    value: error_value(&why),
                    why: Some(why),
                    failure: Some(match err.kind() {
                        ToolErrorKind::Refused => Failure::Denied,
                        _ => Failure::reported(),
                    }),
                    may_retry,
                    is_refused: true,
                };
            }
            None => abandoned(step.timeout),
        };
        let may_retry = !matches!(
            result.failure,
            Some(
                Failure::BadInput
                    | Failure::Denied
                    | Failure::Cancelled
                    | Failure::Environment { .. }
            )
        );
        let why = why_failed(&result);
        let failure = result.failure.clone();
        let value = value_of(result, self.spill_dir);
        Attempt { value, why, failure, may_retry, is_refused: false }
    }

    /// Keeps a call for the record, where one is made. `call` is not evaluated otherwise.
    pub(super) fn keep(&self, call: impl FnOnce() -> RecordedStep) {
        if let Some(kept) = &self.kept {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(call());
        }
    }
}

/// The failure of what the end of a call ended.
fn failure_of(over: &Ended) -> Failure {
    match over {
        Ended::TimedOut => Failure::TimedOut { after: None },
        _ => Failure::Cancelled,
    }
}

/// The end of a call that was not made, since its input could not be made.
fn not_called(why: String) -> CallEnd {
    CallEnd {
        value: error_value(&why),
        why: Some(why),
        failure: Some(Failure::BadInput),
        is_of_tool: false,
        n_calls: 0,
    }
}

/// The end of a step that failed before, or beside, its calls.
fn failed(why: String, failure: Option<Failure>, n_calls: usize) -> StepEnd {
    StepEnd {
        status: StepStatus::Failed,
        value: Some(error_value(&why).into()),
        why: Some(why),
        failure: failure.or(Some(Failure::BadInput)),
        is_of_tool: false,
        n_calls,
        wall: Duration::ZERO,
    }
}

/// Waits for a call no longer than 2 seconds behind its deadline, and for what it takes back. A tool that has not ended then is
/// dropped, which ends it.
pub(super) async fn in_time<T>(ctx: &CallContext, called: impl Future<Output = T>) -> Option<T> {
    let over = async {
        deadline_reached(ctx).await;
        grace_over(ctx, GRACE).await;
    };
    tokio::select! {
        biased;
        called = called => Some(called),
        () = over => None,
    }
}
