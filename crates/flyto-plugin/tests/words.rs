//! The exact words about time and signals, told by a clock that no test waits for.

use std::time::Duration;

use expect_test::{Expect, expect};
use flyto_execenv::{Environment, ExecEnv, Exit, Signal, scripted::Scripted};
use flyto_plugin::{PluginContext, PluginTool, ToolDef};
use flyto_tools::{CallContext, CancellationToken, Input, Tool};
use tokio::time::sleep;

/// A machine with one program, which says `out` and `err` and ends in the way it is made for.
fn machine(end: Option<Exit>) -> Scripted {
    let backend = Scripted::new().program("/bin/x", move |call| async move {
        // The reader may be gone when the call is over.
        let _ = call.stdout.write(b"out").await;
        let _ = call.stderr.write(b"err").await;
        match end {
            Some(Exit::Signal(signal)) => {
                call.raise(signal);
                std::future::pending().await
            }
            Some(exit) => exit,
            None => std::future::pending().await,
        }
    });
    backend.files().create_dir("/plugins/p");
    backend
}

/// Calls a tool that may take `timeout`, and cancels it after `cancel`.
async fn call(end: Option<Exit>, timeout: Duration, cancel: Option<Duration>) -> String {
    let backend = machine(end);
    let ctx = PluginContext::new(ExecEnv::new(backend.clone()), Environment::new());
    let mut def = ToolDef::argv("t", "/bin/x", [] as [&str; 0]);
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
    backend.assert_clean();
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
