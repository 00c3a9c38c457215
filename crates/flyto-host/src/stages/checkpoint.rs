//! The stage that waits for the release of a call.

use std::{
    any::Any,
    error::Error,
    fmt,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
};

use async_trait::async_trait;
use flyto_program::deadline_reached;
use flyto_tools::CallContext;
use serde::Serialize;

use super::{Call, Next, Stage, StageResult, names};
use crate::{
    error::Refusal,
    native::message,
    permission::{Rule, Verdict},
    prepared::Prepared,
};

/// What a handler is asked.
#[derive(Debug)]
#[non_exhaustive]
pub struct Question<'a> {
    /// The call that waits. Its [outline](crate::Prepared::outline) says what would run.
    pub call: &'a Call,
    /// Why it is asked, in one or more lines.
    pub why: String,
    /// Rules that would allow what is asked, and nothing wider. [`Answer::Always`] has this host hold them; a program
    /// that asks a person shows them first. Empty where no rule can allow it.
    pub rules: Vec<String>,
}

/// The answer of a handler.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// The call goes on.
    Yes,
    /// The call goes on, and the host holds the [rules](Question::rules) of the question until it ends. For later hosts
    /// the program writes them to a file, see [`add_rules`](crate::add_rules).
    Always,
    /// The call goes on, and the handler remembers the [rules](Question::rules) for its client: it answers later questions
    /// with the same rules itself. The host holds no rule, so that calls of other clients are asked about as before.
    Held,
    /// The call is refused, for this reason where one was given.
    No {
        /// What the caller is told.
        reason: Option<String>,
    },
}

/// What became of the checkpoint of a call, for its report and its record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Release {
    /// The tool asks for none, or the call did not come to the stage.
    #[default]
    NotRequired,
    /// A rule of the operator's allows exactly this call.
    ByRule,
    /// The handler released this call.
    Once,
    /// The handler released this call and later ones like it.
    Always,
    /// The handler did not release it.
    No,
    /// The handler gave no answer: it failed, or the call did not wait any longer.
    NoAnswer,
    /// There was no handler to ask.
    NoHandler,
}

impl Release {
    pub(crate) fn is_required(&self) -> bool {
        *self != Self::NotRequired
    }
}

/// Releases calls, or refuses them: a person at a terminal, a dialogue of a client.
///
/// The wait ends with the deadline of the call and with its cancellation; the future is dropped then, and the call ends
/// as timed out or cancelled. A panic and an error refuse the call.
#[async_trait]
pub trait CheckpointHandler: std::fmt::Debug + Send + Sync + 'static {
    /// Decides about a call.
    ///
    /// # Errors
    ///
    /// There is no answer. The call is refused.
    async fn ask(&self, question: &Question<'_>) -> Result<Answer, Box<dyn Error + Send + Sync>>;
}

/// Has each call of a tool with [`requires_checkpoint`](flyto_tools::Metadata::requires_checkpoint) released by a
/// [`CheckpointHandler`]. Without a handler such a call is refused.
///
/// A rule of the operator's that allows exactly this call is a release given in advance
/// ([`Decision::is_exactly_allowed`](crate::permission::Decision::is_exactly_allowed)); a wider one is not.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Checkpoint {
    handler: Option<Arc<dyn CheckpointHandler>>,
    /// Why there is no handler.
    why_none: Option<String>,
}

impl Checkpoint {
    /// The [reason](Question::why) of the stage's questions.
    pub const WHY: &str = "the tool asks for a release before each call";

    /// A stage with this handler.
    #[must_use]
    pub fn new(handler: Option<Arc<dyn CheckpointHandler>>) -> Self {
        Self { handler, why_none: None }
    }

    /// A stage without a handler, which says why there is none, as the words behind "and": `stdin is no terminal`.
    #[must_use]
    pub fn without(why: impl Into<String>) -> Self {
        Self { handler: None, why_none: Some(why.into()) }
    }

    /// Whether a call waits for its release: for programs that show what a call would do.
    #[must_use]
    pub fn needs_release(call: &Prepared) -> bool {
        call.entry().tool().metadata().requires_checkpoint && !call.decision().is_exactly_allowed()
    }

    /// Rules that would release calls like this one, and nothing wider; empty where no rule can.
    #[must_use]
    pub fn released_by(call: &Prepared) -> Vec<String> {
        let decision = call.decision();
        match decision.verdict {
            // A rule that asks wins over one that allows, so no rule is offered beside it.
            Verdict::Ask => decision.suggested_rules().into_iter().map(str::to_owned).collect(),
            _ => Rule::for_tool(call.id()).into_iter().collect(),
        }
    }

    fn no_handler(&self) -> String {
        let why = self.why_none.as_deref().unwrap_or("there is no handler for one");
        format!("it needs a checkpoint before each call, and {why}")
    }
}

#[async_trait]
impl Stage for Checkpoint {
    fn name(&self) -> &str {
        names::CHECKPOINT
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> StageResult {
        if Self::needs_release(call.prepared()) {
            let Some(handler) = &self.handler else {
                call.release = Release::NoHandler;
                let mut refusal = Refusal::new(call, names::CHECKPOINT, self.no_handler());
                refusal.allowed_by = Self::released_by(call.prepared());
                return Err(refusal.into());
            };
            let why = Self::WHY.to_owned();
            let rules = Self::released_by(call.prepared());
            let question = Question { call, why, rules };
            let answer = guarded(call, handler.ask(&question)).await;
            if let Ok(Answer::Always) = answer {
                call.prepared().allow(&question.rules);
            }
            let why;
            (call.release, why) = match answer {
                Ok(Answer::Yes) => (Release::Once, None),
                Ok(Answer::Always | Answer::Held) => (Release::Always, None),
                Ok(Answer::No { reason: Some(reason) }) => {
                    (Release::No, Some(format!("it was not released: {reason}")))
                }
                Ok(Answer::No { reason: None }) => {
                    (Release::No, Some("it was not released".to_owned()))
                }
                Err(NoAnswer::Failed(why)) => {
                    (Release::NoAnswer, Some(format!("it was not released: {why}")))
                }
                Err(NoAnswer::Ended(end)) => {
                    call.release = Release::NoAnswer;
                    return Ok(call.end_in(names::CHECKPOINT, end, None));
                }
            };
            if call.release == Release::Once {
                call.ctx = call.ctx.clone().with_permission_once();
            }
            if let Some(why) = why {
                call.prepared().end_waiting();
                return Err(Refusal::new(call, names::CHECKPOINT, why).into());
            }
        } else if call.entry().tool().metadata().requires_checkpoint {
            call.release = Release::ByRule;
        }
        next.run(call).await
    }

    fn refuses(&self, prepared: &Prepared) -> Option<String> {
        (self.handler.is_none() && Self::needs_release(prepared)).then(|| self.no_handler())
    }
}

/// Why a handler gave no answer.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// The call did not wait any longer.
    Ended(CallEnd),
    /// An error or a panic of the handler.
    Failed(String),
}

/// Waits for a handler no longer than the call may take.
pub(super) async fn guarded<T>(
    call: &Call,
    asked: impl Future<Output = Result<T, Box<dyn Error + Send + Sync>>>,
) -> Result<T, NoAnswer> {
    let is_cancelled = || call.ctx().cancellation().is_cancelled();
    let by_cancellation = || NoAnswer::Ended(CallEnd::by_cancellation(call.ctx()));
    if is_cancelled() {
        return Err(by_cancellation());
    }
    // The answer of a person may take longer than the tools that wait for it.
    let _asking = call.ctx().asking();
    let mut asked = pin!(asked);
    let polled = poll_fn(|cx| {
        let poll = catch_unwind(AssertUnwindSafe(|| asked.as_mut().poll(cx)));
        match poll {
            Ok(poll) => poll.map(|it| it.map_err(|err| err.to_string())),
            Err(panic) => Err(panicked(&*panic)).into(),
        }
    });
    match unless_ended(call, polled).await {
        Ok(answer) if !is_cancelled() => answer.map_err(NoAnswer::Failed),
        // A call that is cancelled while it is answered has no answer either.
        Ok(_) => Err(by_cancellation()),
        Err(end) => Err(NoAnswer::Ended(end)),
    }
}

/// What ends the wait of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallEnd {
    Cancelled,
    TimedOut,
}

impl CallEnd {
    /// What a cancellation that comes now is.
    fn by_cancellation(ctx: &CallContext) -> Self {
        if ctx.is_late() { Self::TimedOut } else { Self::Cancelled }
    }
}

impl fmt::Display for CallEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cancelled => "the call was cancelled",
            Self::TimedOut => "the time of the call was over",
        })
    }
}

/// Waits for something no longer than the call may take. What is ready at once is given also to a call that has ended.
pub(super) async fn unless_ended<T>(
    call: &Call,
    waited: impl Future<Output = T>,
) -> Result<T, CallEnd> {
    unless_over(call.ctx(), waited).await
}

/// The same for the context of a call.
pub(super) async fn unless_over<T>(
    ctx: &CallContext,
    waited: impl Future<Output = T>,
) -> Result<T, CallEnd> {
    tokio::select! {
        biased;
        res = waited => Ok(res),
        () = ctx.cancellation().cancelled() => Err(CallEnd::by_cancellation(ctx)),
        () = deadline_reached(ctx) => Err(CallEnd::TimedOut),
    }
}

fn panicked(panic: &(dyn Any + Send)) -> String {
    format!("the handler panicked: {}", message(panic))
}
