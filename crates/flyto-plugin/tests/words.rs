//! The exact words about time and signals, told by a clock that nobody waits for.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use expect_test::{Expect, expect};
use flyto_execenv::{
    Capabilities, Capability, Control, Ended, Environment, ExecEnv, ExecError, Executor, Exit,
    Running, Signal, Spec, Target,
};
use flyto_plugin::{PluginContext, PluginTool, ToolDef};
use flyto_tools::{CallContext, CancellationToken, Input, Tool};
use tokio::{sync::watch, time::sleep};

/// A backend with one program that says `out` and `err`, and ends in the way it is made for.
#[derive(Debug)]
struct Pretend {
    capabilities: Capabilities,
    end: Option<Exit>,
}

impl Pretend {
    /// A program that ends like this, or never.
    fn new(end: Option<Exit>) -> Self {
        let declared = [Capability::GroupKill, Capability::Grace];
        Self { capabilities: Capabilities::new("pretend").with(declared), end }
    }
}

#[async_trait]
impl Executor for Pretend {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    async fn start(&self, _: Spec) -> Result<Running, ExecError> {
        let (ended, _) = watch::channel(self.end);
        let mut running = Running::new(Pretended { ended: Arc::new(ended) });
        running.stdout = Some(Box::new(&b"out"[..]));
        running.stderr = Some(Box::new(&b"err"[..]));
        Ok(running)
    }
}

struct Pretended {
    ended: Arc<watch::Sender<Option<Exit>>>,
}

impl fmt::Debug for Pretended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pretended")
    }
}

#[async_trait]
impl Control for Pretended {
    async fn wait(&self) -> Result<Exit, ExecError> {
        let mut ended = self.ended.subscribe();
        let exit = ended.wait_for(Option::is_some).await.expect("the sender is in `self`");
        Ok(exit.expect("waited for"))
    }

    fn signal(&self, signal: Signal, _: Target) -> Result<(), ExecError> {
        self.ended.send_if_modified(|it| it.replace(Exit::Signal(signal)).is_none());
        Ok(())
    }

    async fn end(&self, grace: Duration) -> Result<Ended, ExecError> {
        // It ignores the request to end.
        if self.ended.borrow().is_none() {
            sleep(grace).await;
        }
        self.signal(Signal::KILL, Target::Tree)?;
        Ok(Ended::clean(self.wait().await?))
    }
}

/// Calls a tool that may take `timeout`, and cancels it after `cancel`.
async fn call(end: Option<Exit>, timeout: Duration, cancel: Option<Duration>) -> String {
    let ctx = PluginContext::new(ExecEnv::new(Pretend::new(end)), Environment::new());
    let mut def = ToolDef::argv("t", "x", [] as [&str; 0]);
    def.timeout = timeout;
    let tool = PluginTool::new(def, "/plugins/p", "p", ctx);
    let token = CancellationToken::new();
    let call = CallContext::new().with_cancellation(token.clone());
    let cancelled = async move {
        match cancel {
            Some(after) => sleep(after).await,
            None => std::future::pending().await,
        }
        token.cancel();
        std::future::pending().await
    };
    let result = tokio::select! {
        result = tool.execute(&call, Input::empty()) => result,
        never = cancelled => never,
    };
    result.expect("it was tried").output
}

async fn check(end: Option<Exit>, timeout_secs: u64, cancel: Option<Duration>, expect: Expect) {
    let text = call(end, Duration::from_secs(timeout_secs), cancel).await;
    expect.assert_eq(&format!("{text:?}"));
}

#[tokio::test(start_paused = true)]
async fn time_that_is_over() {
    check(None, 0, None, expect![[r#""plugin tool \"p:t\" timed out after 30s\nstderr: err""#]])
        .await;
    check(None, 30, None, expect![[r#""plugin tool \"p:t\" timed out after 30s\nstderr: err""#]])
        .await;
    check(None, 60, None, expect![[r#""plugin tool \"p:t\" timed out after 1m0s\nstderr: err""#]])
        .await;
    check(None, 90, None, expect![[r#""plugin tool \"p:t\" timed out after 1m30s\nstderr: err""#]])
        .await;
    check(
        None,
        3600,
        None,
        expect![[r#""plugin tool \"p:t\" timed out after 1h0m0s\nstderr: err""#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_taken_back() {
    check(
        None,
        30,
        Some(Duration::from_millis(1_500)),
        expect![[r#""plugin tool \"p:t\" cancelled after 1.5s\nstderr: err""#]],
    )
    .await;
    check(
        None,
        3600,
        Some(Duration::from_secs(75)),
        expect![[r#""plugin tool \"p:t\" cancelled after 1m15s\nstderr: err""#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn codes_and_signals() {
    check(Some(Exit::Code(0)), 30, None, expect![[r#""out""#]]).await;
    check(Some(Exit::Code(3)), 30, None, expect![[r#""exit code 3\nstdout: out\nstderr: err""#]])
        .await;
    check(
        Some(Exit::Signal(Signal::KILL)),
        30,
        None,
        expect![[r#""exit code -1 (killed by signal 9, SIGKILL)\nstdout: out\nstderr: err""#]],
    )
    .await;
    check(
        Some(Exit::Signal(Signal(64))),
        30,
        None,
        expect![[r#""exit code -1 (killed by signal 64)\nstdout: out\nstderr: err""#]],
    )
    .await;
}
