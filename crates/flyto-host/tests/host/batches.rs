//! Several calls of one turn, and calls on behalf of a tool.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use flyto_host::{CallError, Host};
use flyto_tools::{
    CallContext, Failure, Input, Metadata, NativeTool, NoInput, ToolCaller, ToolErrorKind,
};
use tokio::sync::Barrier;

use crate::world::World;

fn safe() -> Metadata {
    let mut metadata = Metadata::default();
    metadata.concurrency_safe = Some(true);
    metadata
}

/// Adds a tool that ends when so many calls of it are there.
fn with_meeting(host: &Host, n_calls: usize) {
    let barrier = Arc::new(Barrier::new(n_calls));
    let meet = move |_: CallContext, _: NoInput| {
        let barrier = Arc::clone(&barrier);
        async move {
            barrier.wait().await;
            "met"
        }
    };
    let tool = NativeTool::builder("meet", "Waits for others.").metadata(safe()).run(meet);
    host.add_tool("test", tool.expect("a tool")).expect("its name is free");
}

/// Adds a tool that says how many of its calls run with it.
fn with_alone(host: &Host, metadata: Metadata) {
    let running = Arc::new(AtomicUsize::new(0));
    let alone = move |_: CallContext, _: NoInput| {
        let running = Arc::clone(&running);
        async move {
            let n_others = running.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            running.fetch_sub(1, Ordering::SeqCst);
            format!("{n_others} others")
        }
    };
    let tool = NativeTool::builder("alone", "Counts.").metadata(metadata).run(alone);
    host.add_tool("test", tool.expect("a tool")).expect("its name is free");
}

async fn call_all(host: &Host, names: &[&str]) -> Vec<String> {
    let calls = names.iter().map(|name| (*name, Input::empty()));
    let results = host.call_all(calls, &CallContext::new()).await;
    results.into_iter().map(|it| it.map_or_else(|err| err.to_string(), |it| it.output)).collect()
}

#[tokio::test]
async fn safe_calls_run_at_the_same_time() {
    let host = World::new().host();
    with_meeting(&host, 8);
    // All end only because eight of them are there at once; sixteen are two such groups.
    assert_eq!(call_all(&host, &["meet"; 16]).await, ["met"; 16]);
}

#[tokio::test]
async fn other_calls_run_alone_in_their_order() {
    let host = World::new().host();
    with_meeting(&host, 2);
    with_alone(&host, Metadata::default());
    assert_eq!(
        call_all(&host, &["alone", "meet", "meet", "alone", "alone", "nowhere", "alone"]).await,
        [
            "0 others",
            "met",
            "met",
            "0 others",
            "0 others",
            "there is no tool \"nowhere\"",
            "0 others"
        ]
    );
}

#[tokio::test]
async fn a_batch_of_programs_has_its_results_in_order() {
    let world = World::new().plugin("p", "echo p").plugin("q", "exit 3");
    let calls = [("p:run", "{}"), ("q:run", "{}"), ("p:run", "{\"x\": 1}")];
    let calls = calls.map(|(name, input)| (name, Input::parse(input).expect("JSON")));
    let results = world.host().call_all(calls, &CallContext::new()).await;
    let results: Vec<_> = results.into_iter().map(|it| it.expect("a result").failure).collect();
    assert_eq!(results[..2], [None, Some(Failure::exit_code(3))]);
}

#[tokio::test]
async fn a_tool_has_others_called_through_all_stages() {
    let mut world = World::new();
    world.config.permissions.allow("class:undeclared").expect("a rule");
    let host = world.host();
    with_alone(&host, Metadata::default());
    let mut metadata = Metadata::default();
    metadata.requires_checkpoint = true;
    let gated = NativeTool::builder("gated", "Waits.").metadata(metadata);
    host.add_tool("test", gated.run(async |_, _: NoInput| "ran").expect("a tool")).expect("free");

    let caller: &dyn ToolCaller = &host;
    let call = async |name| caller.call_tool(&CallContext::new(), name, Input::empty()).await;
    assert_eq!(call("alone").await.expect("a result").output, "0 others");
    assert_eq!(call("gated").await.expect_err("it waits").kind(), ToolErrorKind::Refused);
    assert_eq!(call("nowhere").await.expect_err("there is none").kind(), ToolErrorKind::NotFound);
    let ended = CallContext::new().with_timeout(std::time::Duration::ZERO);
    let late = caller.call_tool(&ended, "alone", Input::empty()).await.expect("a result");
    assert!(matches!(late.failure, Some(Failure::TimedOut { .. })));
    let err = host.call("gated", Input::empty(), &CallContext::new()).await.expect_err("it waits");
    assert!(matches!(err, CallError::Refused(_)));
}
