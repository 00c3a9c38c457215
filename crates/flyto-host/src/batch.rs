//! Several calls of one turn, and calls on behalf of a tool.

use std::{
    collections::VecDeque,
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
};

use async_trait::async_trait;
use flyto_tools::{CallContext, CallId, Input, ToolCaller, ToolError, ToolErrorKind, ToolResult};

use crate::{
    error::CallError,
    host::Host,
    stages::{MissingCall, StageResult},
};

/// Calls of one batch that run at the same time, at most.
const MOST_AT_ONCE: usize = 8;

impl Host {
    /// Makes the calls of one turn. The results have the order of the calls.
    ///
    /// Calls of tools that declare themselves safe for it
    /// ([`concurrency_safe`](flyto_tools::Metadata::concurrency_safe)) run at the same time where they stand beside
    /// each other, at most 8 of them. Any other call waits for those before it, and those behind it wait for it. Each
    /// call goes through all stages by itself, and one that fails or is refused keeps no other from being made.
    ///
    /// The deadline, the cancellation and the listeners of `ctx` are those of every call; each has an id of its own.
    /// Dropping the future ends what runs and makes no further call.
    ///
    /// ```
    /// use flyto_execenv::{ExecEnv, local::Local};
    /// use flyto_host::{Config, Host, Surroundings};
    /// use flyto_tools::{CallContext, Input, NativeTool, NoInput};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut config = Config::default();
    /// config.permissions.allow("class:undeclared")?;
    /// # let dir = tempfile::tempdir()?;
    /// let surroundings = Surroundings::ambient()?;
    /// # let surroundings = surroundings.with_places(flyto_host::Places::below(dir.path()));
    /// let host = Host::new(ExecEnv::new(Local::new()), surroundings, config);
    /// for name in ["a", "b"] {
    ///     host.add_tool("me", NativeTool::builder(name, "Answers.").run(async |_, _: NoInput| "done")?)?;
    /// }
    /// let calls = ["a", "nothing", "b"].map(|name| (name, Input::empty()));
    /// let results = host.call_all(calls, &CallContext::new()).await;
    /// assert!(results[0].is_ok() && results[1].is_err() && results[2].is_ok());
    /// # Ok(()) }
    /// ```
    pub async fn call_all<N: AsRef<str>>(
        &self,
        calls: impl IntoIterator<Item = (N, Input)>,
        ctx: &CallContext,
    ) -> Vec<Result<ToolResult, CallError>> {
        let mut results: Vec<Option<StageResult>> = Vec::new();
        let mut at_once = Running::default();
        for (index, (name, input)) in calls.into_iter().enumerate() {
            results.push(None);
            let ctx = ctx.clone().with_id(CallId::next());
            let call = match self.find(name.as_ref()) {
                Ok(entry) => self.prepare_entry(entry, input),
                Err(err) => {
                    self.missing(MissingCall::new(name.as_ref(), &ctx, &err).input(&input)).await;
                    results[index] = Some(Err(err));
                    continue;
                }
            };
            let is_safe = call.entry().tool().metadata().concurrency_safe == Some(true);
            if !is_safe {
                at_once.finish(&mut results).await;
            }
            at_once.waiting.push_back((index, Box::pin(async move { call.run(&ctx).await })));
            if !is_safe {
                at_once.finish(&mut results).await;
            }
        }
        at_once.finish(&mut results).await;
        results.into_iter().flatten().collect()
    }
}

type Pending = (usize, Pin<Box<dyn Future<Output = StageResult> + Send>>);

/// Calls that may run at the same time, in the task of their caller: they end when it is dropped.
#[derive(Default)]
struct Running {
    waiting: VecDeque<Pending>,
    started: Vec<Pending>,
}

impl Running {
    /// Waits until every call has its result.
    async fn finish(&mut self, results: &mut [Option<StageResult>]) {
        poll_fn(|cx| self.poll(cx, results)).await;
    }

    fn poll(&mut self, cx: &mut Context<'_>, results: &mut [Option<StageResult>]) -> Poll<()> {
        loop {
            while self.started.len() < MOST_AT_ONCE
                && let Some(next) = self.waiting.pop_front()
            {
                self.started.push(next);
            }
            let n_before = self.started.len();
            self.started.retain_mut(|(index, call)| match call.as_mut().poll(cx) {
                Poll::Ready(result) => {
                    results[*index] = Some(result);
                    false
                }
                Poll::Pending => true,
            });
            if self.started.is_empty() && self.waiting.is_empty() {
                return Poll::Ready(());
            }
            // Room for calls that wait was made; they have not been polled yet.
            let has_room = self.started.len() < n_before && !self.waiting.is_empty();
            if !has_room {
                return Poll::Pending;
            }
        }
    }
}

#[async_trait]
impl ToolCaller for Host {
    async fn call_tool(
        &self,
        parent: &CallContext,
        name: &str,
        input: Input,
    ) -> Result<ToolResult, ToolError> {
        let ctx = parent.nested();
        Ok(self.prepare_for_tool(name, input, parent.id(), &ctx).await?.run(&ctx).await?)
    }
}

/// What a tool that has others called is told of one that gave no result. The [`CallError`] is the source, so that
/// [`Refusal::of`](crate::Refusal::of) finds the stage and the rule.
impl From<CallError> for ToolError {
    fn from(err: CallError) -> Self {
        let err = match err {
            CallError::Tool(err) => return err,
            err => err,
        };
        let (kind, tool) = match &err {
            CallError::NotFound { name, .. } => (ToolErrorKind::NotFound, name.clone()),
            CallError::PluginHeldBack { name, .. } => (ToolErrorKind::Refused, name.clone()),
            CallError::Refused(refusal) => (ToolErrorKind::Refused, refusal.tool.clone()),
            CallError::Tool(_) => unreachable!("it was given back"),
        };
        Self::new(kind, format!("failed to call {tool:?}")).with_source(err)
    }
}
