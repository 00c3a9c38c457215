//! Tools that are functions of the host: a deadline and a panic end their calls, and nothing else.

use std::{
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use flyto_host::Host;
use flyto_tools::{
    CallContext, Failure, Input, NativeTool, NoInput, OnCancel, Preview, ToolResult,
};
use tokio::sync::oneshot;

use crate::world::{World, call};

const SHORT: Duration = Duration::from_millis(50);

fn host_with(tool: NativeTool) -> Host {
    let host = World::new().host();
    host.add_tool("test", tool).expect("it is new");
    host
}

async fn call_for(host: &Host, time: Duration) -> ToolResult {
    let ctx = CallContext::new().with_timeout(time);
    host.call("t", Input::empty(), &ctx).await.expect("it was tried")
}

#[tokio::test]
async fn the_callers_deadline_holds() {
    let never = NativeTool::builder("t", "Never ends.")
        .run(|_: CallContext, _: NoInput| std::future::pending::<&str>());
    let res = call_for(&host_with(never.expect("a tool")), SHORT).await;
    assert_eq!(res.failure, Some(Failure::TimedOut { after: Some(SHORT) }));
    assert!(res.output.starts_with("tool \"t\" timed out after 50ms"), "{}", res.output);
}

#[tokio::test]
async fn what_a_tool_says_when_it_is_cancelled_at_the_deadline_is_kept() {
    let tells = NativeTool::builder("t", "Ends when it is told to.").on_cancel(OnCancel::Tell).run(
        async |ctx: CallContext, _: NoInput| {
            ctx.cancellation().cancelled().await;
            "half of it"
        },
    );
    // Time enough to reach the tool on a machine under load.
    let res = call_for(&host_with(tells.expect("a tool")), Duration::from_secs(2)).await;
    assert_eq!((res.failure, &*res.output), (None, "half of it"));
}

#[tokio::test]
async fn a_cancelled_result_keeps_what_the_tool_did_until_the_deadline() {
    let tells = NativeTool::builder("t", "Ends when it is told to.").on_cancel(OnCancel::Tell).run(
        async |ctx: CallContext, _: NoInput| {
            ctx.cancellation().cancelled().await;
            ToolResult::failed(Failure::Cancelled, "two of three steps")
                .with_data(serde_json::json!({"n_done": 2}))
        },
    );
    let given = Duration::from_secs(2);
    let res = call_for(&host_with(tells.expect("a tool")), given).await;
    assert_eq!(res.failure, Some(Failure::TimedOut { after: Some(given) }));
    assert_eq!(res.output, "tool \"t\" timed out after 2s\ntwo of three steps");
    assert_eq!(res.data, Some(serde_json::json!({"n_done": 2})));
}

/// As within a call that has the same deadline, and sees first that it has passed.
#[tokio::test]
async fn a_tool_that_is_cancelled_after_the_deadline_is_timed_out() {
    let late =
        NativeTool::builder("t", "Is cancelled late.").run(async |ctx: CallContext, _: NoInput| {
            // In this thread, so that the call sees the result first, and its clock afterwards.
            std::thread::sleep(ctx.deadline().unwrap().saturating_duration_since(Instant::now()));
            ToolResult::failed(Failure::Cancelled, "two of three steps")
        });
    let given = Duration::from_secs(2);
    let res = call_for(&host_with(late.expect("a tool")), given).await;
    assert_eq!(res.failure, Some(Failure::TimedOut { after: Some(given) }));
    assert_eq!(res.output, "tool \"t\" timed out after 2s\ntwo of three steps");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_blocks_its_thread_does_not_keep_the_caller() {
    let (sender, receiver) = mpsc::channel::<()>();
    let receiver = std::sync::Mutex::new(receiver);
    let blocks = NativeTool::builder("t", "Blocks.").run(move |_: CallContext, _: NoInput| {
        // Until the test lets it go.
        let _ = receiver.lock().expect("one call").recv();
        async { "late" }
    });
    let res = call_for(&host_with(blocks.expect("a tool")), SHORT).await;
    assert!(matches!(res.failure, Some(Failure::TimedOut { .. })), "{res:?}");
    drop(sender);
}

#[tokio::test]
async fn a_dropped_call_drops_the_tool() {
    let (sender, dropped) = oneshot::channel::<()>();
    let (started, starts) = oneshot::channel();
    let both = Arc::new(std::sync::Mutex::new(Some((sender, started))));
    let waits = NativeTool::builder("t", "Waits.").run(move |_: CallContext, _: NoInput| {
        let (sender, started) = both.lock().expect("one call").take().expect("one call");
        async move {
            let _held = sender;
            started.send(()).expect("the test waits");
            std::future::pending::<&str>().await
        }
    });
    let host = host_with(waits.expect("a tool"));
    tokio::select! {
        _ = call(&host, "t", "{}") => panic!("it never ends"),
        it = starts => it.expect("it starts"),
    }
    dropped.await.expect_err("the sender went with the tool");
}

#[tokio::test]
async fn a_panic_is_a_failure_of_the_call() {
    let panics = NativeTool::builder("t", "Panics.")
        .preview(|_: &Input| -> Option<Preview> { panic!("no preview") })
        .run(|_: CallContext, _: NoInput| async {
            if true {
                panic!("at {}", "once");
            }
            "never"
        });
    let host = host_with(panics.expect("a tool"));
    let res = call(&host, "t", "{}").await.expect("it was tried");
    assert_eq!(res.failure, Some(Failure::Panicked));
    assert_eq!(res.output, "tool \"t\" panicked: at once");
    let call = host.prepare("t", Input::empty()).expect("it is there");
    let plan = call.plan(&CallContext::new()).await.expect("a plan");
    assert_eq!(
        plan.preview.expect("what is known").problems[0].text,
        "its preview panicked: no preview"
    );
}
