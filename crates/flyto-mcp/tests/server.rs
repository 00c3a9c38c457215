//! A server in this process, with tools of its own: bounds, shapes of results, and clients that misbehave.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    io::{BufRead as _, BufReader, Lines, PipeReader, PipeWriter, Write as _},
    sync::Arc,
    time::Duration,
};

use flyto_execenv::{Environment, ExecEnv, local::Local};
use flyto_host::{Config, Host, Surroundings};
use flyto_mcp::{ConnectionEnd, Server, ServerOptions};
use flyto_tools::{CallContext, CancellationToken, Json, NativeTool, NoInput, Tool, ToolResult};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::{sync::Semaphore, task::JoinHandle};

/// A client, and the server that it talks to.
struct Peers {
    requests: Option<PipeWriter>,
    answers: Lines<BufReader<PipeReader>>,
    stop: CancellationToken,
    serving: JoinHandle<std::io::Result<ConnectionEnd>>,
}

impl Peers {
    /// A server with these tools, which any client may call.
    fn new(options: ServerOptions, tools: Vec<NativeTool>) -> Self {
        let mut config = Config::default();
        for tool in &tools {
            config.permissions.allow(tool.name()).unwrap();
        }
        let surroundings = Surroundings::new(Environment::new(), "/");
        let host = Host::new(ExecEnv::new(Local::new()), surroundings, config);
        for tool in tools {
            host.add_tool("test", tool).unwrap();
        }
        let server = Server::new(Arc::new(host), options).unwrap();
        let (reader, requests) = std::io::pipe().unwrap();
        let (answers, writer) = std::io::pipe().unwrap();
        let stop = CancellationToken::new();
        let token = stop.clone();
        let serving = tokio::spawn(async move { server.serve(reader, writer, &token).await });
        let answers = BufReader::new(answers).lines();
        Self { requests: Some(requests), answers, stop, serving }
    }

    /// Sends a call of the era of this revision.
    fn call(&mut self, id: u64, name: &str, meta: Value) {
        let mut all = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        all.as_object_mut().unwrap().extend(meta.as_object().unwrap().clone());
        self.send(&json!({
            "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": name, "_meta": all},
        }));
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.requests.as_mut().unwrap(), "{message}").unwrap();
    }

    fn initialize(&mut self, revision: &str) {
        let params = json!({"protocolVersion": revision, "capabilities": {}});
        self.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
        assert_eq!(self.receive()["result"]["protocolVersion"], revision);
    }

    fn receive(&mut self) -> Value {
        serde_json::from_str(&self.answers.next().unwrap().unwrap()).unwrap()
    }

    /// Closes the client's end, and waits for that of the server.
    async fn end(mut self) -> ConnectionEnd {
        self.requests = None;
        self.serving.await.unwrap().unwrap()
    }
}

fn text(response: &Value) -> &str {
    response["result"]["content"][0]["text"].as_str().unwrap()
}

/// A tool that waits for a permit, and tells of its begin by another one.
fn waiting(begun: &Arc<Semaphore>, permits: &Arc<Semaphore>) -> NativeTool {
    let (begun, permits) = (Arc::clone(begun), Arc::clone(permits));
    NativeTool::builder("wait", "Waits.")
        .run(move |ctx: CallContext, _: NoInput| {
            let (begun, permits) = (Arc::clone(&begun), Arc::clone(&permits));
            async move {
                ctx.report(0.5, "half");
                begun.add_permits(1);
                permits.acquire().await.unwrap().forget();
                "done"
            }
        })
        .unwrap()
}

fn semaphores() -> (Arc<Semaphore>, Arc<Semaphore>) {
    (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)))
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_beyond_the_bound_get_a_result_that_says_so() {
    let (begun, permits) = semaphores();
    let mut options = ServerOptions::default();
    options.max_calls = 2;
    let mut peers = Peers::new(options, vec![waiting(&begun, &permits)]);
    for id in 1..=3 {
        peers.call(id, "wait", json!({}));
    }
    let response = peers.receive();
    assert_eq!((&response["id"], &response["result"]["isError"]), (&json!(3), &json!(true)));
    assert!(text(&response).contains("too many calls are in flight"), "{response}");
    // The id of a call in flight is not to be had.
    peers.call(1, "wait", json!({}));
    assert_eq!(peers.receive()["error"]["code"], -32600);
    permits.add_permits(2);
    let ids = [peers.receive()["id"].clone(), peers.receive()["id"].clone()];
    assert!(ids.contains(&json!(1)) && ids.contains(&json!(2)), "{ids:?}");
    // Their places are free again.
    permits.add_permits(1);
    peers.call(1, "wait", json!({}));
    assert_eq!(text(&peers.receive()), "done");
    assert!(matches!(peers.end().await, ConnectionEnd::Closed));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_tool_reports_is_a_share_that_grows() {
    let (begun, permits) = semaphores();
    let mut options = ServerOptions::default();
    options.heartbeat = Duration::from_millis(1);
    let mut peers = Peers::new(options, vec![waiting(&begun, &permits)]);
    peers.call(1, "wait", json!({"progressToken": 7}));
    let mut last = 0.0;
    let (mut n_notes, mut has_share) = (0, false);
    // The tool may begin after several heartbeats.
    while n_notes < 3 || !has_share {
        n_notes += 1;
        let params = peers.receive()["params"].take();
        assert_eq!(params["progressToken"], 7);
        let progress = params["progress"].as_f64().unwrap();
        assert!(progress > last, "{progress} follows {last}");
        last = progress;
        if params["message"] == "half" {
            has_share = true;
            assert_eq!((progress, &params["total"]), (50.0, &json!(100.0)));
        }
    }
    permits.add_permits(1);
    loop {
        let message = peers.receive();
        if message["id"] == 1 {
            break;
        }
        assert_eq!(message["params"]["progressToken"], 7);
    }
    peers.end().await;
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_is_a_block_behind_the_text() {
    let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
    let link = json!({"type": "resource_link", "uri": "file:///a", "name": "a"});
    let content = json!([{"type": "text", "text": "see"}, image, link]);
    let tools = || {
        let data = json!({"content": content});
        let shown = NativeTool::builder("shown", "Gives an image.").run(move |_, _: NoInput| {
            let data = data.clone();
            async move { ToolResult::text("see\n[image]").with_data(data) }
        });
        let document =
            NativeTool::builder("document", "Gives a document.").run(async |_, _: NoInput| {
                let data = json!({"content": [{"type": "paragraph", "children": []}]});
                ToolResult::text("a document").with_data(data)
            });
        vec![shown.unwrap(), document.unwrap()]
    };
    let check = |result: &Value, blocks: &[&Value]| {
        let text = json!({"type": "text", "text": "see\n[image]"});
        let expect: Vec<_> = std::iter::once(&text).chain(blocks.iter().copied()).collect();
        assert_eq!(result["content"], json!(expect));
        assert_eq!(result.get("structuredContent"), None);
    };
    let mut modern = Peers::new(ServerOptions::default(), tools());
    modern.call(1, "shown", json!({}));
    check(&modern.receive()["result"], &[&image, &link]);
    // A document whose parts have types is no list of blocks, and a client gets it.
    modern.call(2, "document", json!({}));
    let result = modern.receive()["result"].take();
    assert_eq!(result["structuredContent"]["content"][0]["type"], "paragraph", "{result}");
    modern.end().await;
    // That revision knows no links.
    let mut legacy = Peers::new(ServerOptions::default(), tools());
    legacy.initialize("2025-03-26");
    let params = json!({"name": "shown", "arguments": {}});
    legacy.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    check(&legacy.receive()["result"], &[&image]);
    legacy.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_structured_result_has_the_shape_that_its_era_takes() {
    fn tools() -> Vec<NativeTool> {
        let object = NativeTool::builder("object", "Gives an object.")
            .run(async |_, _: NoInput| Json(Sum { sum: 3 }))
            .unwrap();
        let list = NativeTool::builder("list", "Gives a list.")
            .run(async |_, _: NoInput| ToolResult::text("two").with_data(json!([1, 2])))
            .unwrap();
        vec![object, list]
    }
    let mut modern = Peers::new(ServerOptions::default(), tools());
    modern.call(1, "object", json!({}));
    let response = modern.receive();
    assert_eq!(response["result"]["structuredContent"], json!({"sum": 3}), "{response}");
    assert_eq!(serde_json::from_str::<Value>(text(&response)).unwrap(), json!({"sum": 3}));
    modern.call(2, "list", json!({}));
    assert_eq!(modern.receive()["result"]["structuredContent"], json!([1, 2]));
    modern.end().await;

    for (revision, has_it) in [("2025-11-25", true), ("2025-03-26", false)] {
        let mut legacy = Peers::new(ServerOptions::default(), tools());
        legacy.initialize(revision);
        for (name, is_given) in [("object", has_it), ("list", false)] {
            let params = json!({"name": name, "arguments": {}});
            legacy.send(
                &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}),
            );
            let result = legacy.receive()["result"].take();
            assert_eq!(result.get("structuredContent").is_some(), is_given, "{result}");
            assert_eq!(result["isError"], false);
        }
        legacy.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_does_not_end_is_cancelled_and_then_dropped() {
    let (sender, mut begun) = tokio::sync::mpsc::channel::<()>(1);
    let tool = NativeTool::builder("wait", "Waits for ever.")
        .run(move |_: CallContext, _: NoInput| {
            let sender = sender.clone();
            async move {
                sender.send(()).await.unwrap();
                std::future::pending::<&'static str>().await
            }
        })
        .unwrap();
    let mut options = ServerOptions::default();
    options.drain = Duration::ZERO;
    options.grace = Duration::ZERO;
    let mut peers = Peers::new(options, vec![tool]);
    peers.call(1, "wait", json!({}));
    assert_eq!(begun.recv().await, Some(()));
    assert!(matches!(peers.end().await, ConnectionEnd::Closed));
    // The future of the tool is gone, and with it the last sender.
    assert_eq!(begun.recv().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_keeps_no_server_from_its_end() {
    let long = "x".repeat(60_000);
    let tool = NativeTool::builder("long", "Gives a lot.")
        .run(move |_: CallContext, _: NoInput| {
            let long = long.clone();
            async move { long }
        })
        .unwrap();
    let mut options = ServerOptions::default();
    options.grace = Duration::ZERO;
    let mut peers = Peers::new(options, vec![tool]);
    // Far more than a pipe and the queue hold.
    for id in 0..200 {
        peers.call(id, "long", json!({}));
    }
    peers.stop.cancel();
    let Peers { serving, answers, .. } = peers;
    assert!(matches!(serving.await.unwrap().unwrap(), ConnectionEnd::Stopped));
    drop(answers);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_closed_its_end_for_reading_ends_the_server() {
    let (begun, permits) = semaphores();
    let mut peers = Peers::new(ServerOptions::default(), vec![waiting(&begun, &permits)]);
    peers.call(1, "wait", json!({}));
    begun.acquire().await.unwrap().forget();
    let Peers { mut requests, answers, serving, .. } = peers;
    drop(answers);
    writeln!(
        requests.as_mut().unwrap(),
        r#"{{"jsonrpc":"2.0","id":9,"method":"server/discover"}}"#
    )
    .unwrap();
    // The client still could write.
    let end = serving.await.unwrap().unwrap();
    assert!(
        matches!(&end, ConnectionEnd::Broken(err) if err.kind() == std::io::ErrorKind::BrokenPipe),
        "{end:?}"
    );
    drop(requests);
}
