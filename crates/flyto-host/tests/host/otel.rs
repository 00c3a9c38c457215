//! What a collector receives of calls: spans, their attributes, and nothing that may be secret.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::Arc,
    thread::{self, JoinHandle},
};

use expect_test::{Expect, expect};
use flyto_host::{
    Host, Surroundings,
    otel::{self, Guard, OtelError},
};
use flyto_tools::{
    CallContext, CallId, Input, Metadata, NativeTool, NoInput, Origin, ToolCaller as _,
};
use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState,
};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest, common::v1::any_value::Value, trace::v1::Span,
};
use prost::Message as _;
use tracing::{Instrument as _, info_span, subscriber::DefaultGuard};
use tracing_subscriber::prelude::*;

use crate::world::World;

const TOKEN: &str = "hunter2-d41d8cd98f";

/// A collector for one request.
struct Collector {
    address: SocketAddr,
    thread: JoinHandle<(String, Vec<u8>)>,
}

impl Collector {
    fn new(answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("it is bound");
        let thread = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("one connection");
            let request = read_request(&mut stream);
            stream.write_all(answer.as_bytes()).expect("sent");
            request
        });
        Self { address, thread }
    }

    /// The head and the body of the request.
    fn received(self) -> (String, Vec<u8>) {
        self.thread.join().expect("a request")
    }
}

fn read_request(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a head");
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).expect("text");
    let length = head.lines().find_map(|it| it.strip_prefix("Content-Length: "));
    let mut body = vec![0; length.expect("a length").parse().expect("a number")];
    stream.read_exact(&mut body).expect("a body");
    (head, body)
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// Exports what this thread does from now on.
fn export_to(address: SocketAddr, more: &[(&str, &str)]) -> (DefaultGuard, Guard) {
    let endpoint = format!("http://{address}");
    let mut env = more.to_vec();
    env.push(("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint));
    let surroundings = Surroundings::new(env.into_iter().collect(), "/");
    let (layer, guard) = otel::layer(&surroundings).expect("usable").expect("a collector");
    (tracing_subscriber::registry().with(layer).set_default(), guard)
}

fn decoded(body: &[u8]) -> (String, Vec<Span>) {
    let request = ExportTraceServiceRequest::decode(body).expect("the message of OTLP");
    let [resource] = <[_; 1]>::try_from(request.resource_spans).expect("one resource");
    let attributes = resource.resource.expect("a resource").attributes;
    let service = attributes.iter().find(|it| it.key == "service.name").expect("a service");
    let service = shown(service.value.as_ref().and_then(|it| it.value.as_ref()));
    (service, resource.scope_spans.into_iter().flat_map(|it| it.spans).collect())
}

fn shown(value: Option<&Value>) -> String {
    match value {
        Some(Value::StringValue(text)) => text.clone(),
        other => format!("{other:?}"),
    }
}

/// Spans as a tree, without ids; a parent that is not there is shown as `outside`.
fn tree(spans: &[Span]) -> String {
    fn add(spans: &[Span], parent: &Span, depth: usize, res: &mut String) {
        let (indent, status) = ("  ".repeat(depth), parent.status.clone().unwrap_or_default());
        *res += &format!("{indent}{} kind={} status={}", parent.name, parent.kind, status.code);
        *res += &format!("{} events={}\n", status.message, parent.events.len());
        let mut attributes: Vec<_> = parent.attributes.iter().collect();
        attributes.sort_by_key(|it| &it.key);
        for it in attributes {
            let value = shown(it.value.as_ref().and_then(|it| it.value.as_ref()));
            // Ids that hosts make differ from run to run.
            let value =
                if value.starts_with("call-") && value != "call-1" { "made" } else { &value };
            *res += &format!("{indent}  {}={value}\n", it.key);
        }
        for child in spans.iter().filter(|it| it.parent_span_id == parent.span_id) {
            add(spans, child, depth + 1, res);
        }
    }
    let is_there = |id: &[u8]| spans.iter().any(|it| it.span_id == id);
    let mut res = String::new();
    for root in spans.iter().filter(|it| !is_there(&it.parent_span_id)) {
        if !root.parent_span_id.is_empty() {
            res += "outside\n";
        }
        add(spans, root, 0, &mut res);
    }
    res
}

fn ctx() -> CallContext {
    CallContext::new().with_id(CallId::new("call-1").expect("printable"))
}

/// The stages of a call say little here.
fn without_stages(spans: Vec<Span>) -> Vec<Span> {
    let stages: Vec<Span> = spans.iter().filter(|it| it.name == "flyto.stage").cloned().collect();
    let mut rest: Vec<Span> = spans.into_iter().filter(|it| it.name != "flyto.stage").collect();
    for span in &mut rest {
        while let Some(stage) = stages.iter().find(|it| it.span_id == span.parent_span_id) {
            span.parent_span_id = stage.parent_span_id.clone();
        }
    }
    rest
}

async fn check(host: &Host, tool: &str, expect: Expect) {
    let collector = Collector::new(OK);
    let (default, guard) = export_to(collector.address, &[]);
    let _ = host.call(tool, Input::empty(), &ctx()).await;
    drop(default);
    guard.finish().expect("exported");
    let (_, spans) = decoded(&collector.received().1);
    expect.assert_eq(&tree(&without_stages(spans)));
}

#[tokio::test]
async fn a_call_is_exported_below_the_span_of_the_program_without_a_secret() {
    let world = World::new();
    world.write(
        "plugins/p/plugin.json",
        r#"{"name": "p", "tools": [{"name": "run", "description": "x", "command": "sh",
            "args": ["-c", "cat; cat >&2; exit 3"]}]}"#,
    );
    let host = world.host();
    let tells =
        NativeTool::builder("tells", "Tells all.").run(async |_: CallContext, _: NoInput| {
            let span = info_span!("inner", secret = TOKEN, otel.status_description = TOKEN);
            span.in_scope(|| tracing::error!(error = TOKEN, "{TOKEN}"));
            Err::<String, _>(std::io::Error::other(TOKEN))
        });
    host.add_tool("me", tells.expect("a tool")).expect("it is new");
    let collector = Collector::new(OK);
    let (default, guard) = export_to(
        collector.address,
        &[("OTEL_SERVICE_NAME", "agent"), ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b")],
    );
    let trace = TraceId::from(0x4bf9);
    let outside = SpanContext::new(
        trace,
        SpanId::from(0x00f0),
        TraceFlags::SAMPLED,
        true,
        TraceState::default(),
    );
    let outside = opentelemetry::Context::new().with_remote_span_context(outside).attach();
    let turn = info_span!("turn", prompt = TOKEN);
    drop(outside);
    let input = Input::parse(format!(r#"{{"password": "{TOKEN}"}}"#)).expect("JSON");
    let res = host.call("p:run", input, &ctx()).instrument(turn.clone()).await.expect("it ran");
    assert!(res.output.contains(TOKEN), "{res:?}");
    let res = host.call("tells", Input::empty(), &ctx()).instrument(turn).await.expect("it ran");
    assert!(res.output.contains(TOKEN), "{res:?}");
    drop(default);
    guard.finish().expect("exported");

    let (head, body) = collector.received();
    assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("\r\nContent-Type: application/x-protobuf\r\n"), "{head}");
    assert!(head.contains("\r\nx-key: a b\r\n"), "{head}");
    let has_token = body.windows(TOKEN.len()).any(|it| it == TOKEN.as_bytes());
    assert!(!has_token, "{}", String::from_utf8_lossy(&body));
    let (service, spans) = decoded(&body);
    assert_eq!(service, "agent");
    assert!(spans.iter().all(|it| it.trace_id == trace.to_bytes()));
    expect![[r#"
        outside
        turn kind=1 status=0 events=0
          execute_tool p:run kind=1 status=2 events=0
            error.type=exit_code
            flyto.permission.verdict=ask
            flyto.tool.origin=plugin
            gen_ai.operation.name=execute_tool
            gen_ai.tool.call.id=call-1
            gen_ai.tool.name=p:run
            gen_ai.tool.type=function
            flyto.stage kind=1 status=0 events=0
              flyto.stage.name=validate
              flyto.stage kind=1 status=0 events=0
                flyto.stage.name=permission
                flyto.stage kind=1 status=0 events=0
                  flyto.stage.name=reverse thinking
                  flyto.stage kind=1 status=0 events=0
                    flyto.stage.name=checkpoint
                    flyto.stage kind=1 status=0 events=0
                      flyto.stage.name=audit
                      flyto.stage kind=1 status=0 events=0
                        flyto.stage.name=execute
                        flyto.stage kind=1 status=0 events=0
                          flyto.stage.name=output guard
                          flyto.stage kind=1 status=0 events=0
                            flyto.stage.name=bound
          execute_tool tells kind=1 status=2 events=0
            error.type=reported
            flyto.permission.verdict=ask
            flyto.tool.origin=native
            gen_ai.operation.name=execute_tool
            gen_ai.tool.call.id=call-1
            gen_ai.tool.name=tells
            gen_ai.tool.type=function
            flyto.stage kind=1 status=0 events=0
              flyto.stage.name=validate
              flyto.stage kind=1 status=0 events=0
                flyto.stage.name=permission
                flyto.stage kind=1 status=0 events=0
                  flyto.stage.name=reverse thinking
                  flyto.stage kind=1 status=0 events=0
                    flyto.stage.name=checkpoint
                    flyto.stage kind=1 status=0 events=0
                      flyto.stage.name=audit
                      flyto.stage kind=1 status=0 events=0
                        flyto.stage.name=execute
                        inner kind=1 status=2 events=0
                        flyto.stage kind=1 status=0 events=0
                          flyto.stage.name=output guard
                          flyto.stage kind=1 status=0 events=0
                            flyto.stage.name=bound
    "#]]
    .assert_eq(&tree(&spans));
}

#[tokio::test]
async fn a_call_that_the_rules_deny_has_its_verdict() {
    let mut world = World::new().plugin("p", "true");
    world.config.permissions.deny("p:run").expect("a rule");
    check(
        &world.host(),
        "p:run",
        expect![[r#"
        execute_tool p:run kind=1 status=2 events=0
          error.type=refused
          flyto.permission.verdict=deny
          flyto.refused_by=permission
          flyto.tool.origin=plugin
          gen_ai.operation.name=execute_tool
          gen_ai.tool.call.id=call-1
          gen_ai.tool.name=p:run
          gen_ai.tool.type=function
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_call_within_another_one_names_it() {
    let mut world = World::new();
    world.config.permissions.allow("inner").expect("a rule");
    let host = Arc::new(world.host());
    let inner = NativeTool::builder("inner", "Ends.").run(async |_: CallContext, _: NoInput| "x");
    host.add_tool("me", inner.expect("a tool")).expect("it is new");
    let weak = Arc::downgrade(&host);
    let outer = NativeTool::builder("outer", "Calls.").run(move |ctx: CallContext, _: NoInput| {
        let host = weak.upgrade().expect("it makes this call");
        async move {
            let res = host.call_tool(&ctx, "inner", Input::empty()).await;
            res.map(|it| it.output)
        }
    });
    host.add_tool("me", outer.expect("a tool")).expect("it is new");
    check(
        &host,
        "outer",
        expect![[r#"
            execute_tool outer kind=1 status=0 events=0
              flyto.permission.verdict=ask
              flyto.tool.origin=native
              gen_ai.operation.name=execute_tool
              gen_ai.tool.call.id=call-1
              gen_ai.tool.name=outer
              gen_ai.tool.type=function
              execute_tool inner kind=1 status=0 events=0
                flyto.parent_call.id=call-1
                flyto.permission.verdict=allow
                flyto.tool.origin=native
                gen_ai.operation.name=execute_tool
                gen_ai.tool.call.id=made
                gen_ai.tool.name=inner
                gen_ai.tool.type=function
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_tool_of_an_mcp_server_has_the_attributes_of_its_conventions() {
    let host = World::new().host();
    let mut metadata = Metadata::default();
    metadata.origin = Origin::McpServer { server: "s".to_owned() };
    let tool = NativeTool::builder("t", "Imported.")
        .metadata(metadata)
        .run(async |_: CallContext, _: NoInput| "x");
    host.add_tool("me", tool.expect("a tool")).expect("it is new");
    check(
        &host,
        "t",
        expect![[r#"
        execute_tool t kind=3 status=0 events=0
          flyto.permission.verdict=ask
          flyto.tool.origin=mcp_server
          gen_ai.operation.name=execute_tool
          gen_ai.tool.call.id=call-1
          gen_ai.tool.name=t
          gen_ai.tool.type=function
          mcp.method.name=tools/call
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_collector_that_takes_nothing_is_told_and_fails_no_call() {
    let host = World::new().host();
    let tool = NativeTool::builder("t", "Ends.").run(async |_: CallContext, _: NoInput| "x");
    host.add_tool("me", tool.expect("a tool")).expect("it is new");
    for answer in ["HTTP/1.1 503 Busy\r\n\r\n", "", "220 mail\r\n"] {
        let collector = Collector::new(answer);
        let (default, guard) = export_to(collector.address, &[]);
        let res = host.call("t", Input::empty(), &ctx()).await.expect("it ran");
        assert_eq!(res.output, "x");
        drop(default);
        let err = guard.finish().expect_err("nothing was taken");
        assert!(matches!(err, OtelError::NotExported { .. }), "{err}");
        collector.received();
    }
}

#[tokio::test]
async fn a_collector_that_never_answers_is_not_waited_for() {
    let host = World::new().host();
    let tool = NativeTool::builder("t", "Ends.").run(async |_: CallContext, _: NoInput| "x");
    host.add_tool("me", tool.expect("a tool")).expect("it is new");
    // The system accepts connections, and no thread reads them before the test ends.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (default, guard) = export_to(listener.local_addr().expect("it is bound"), &[]);
    host.call("t", Input::empty(), &ctx()).await.expect("it ran");
    drop(default);
    let err = guard.finish().expect_err("there is no answer").to_string();
    assert_eq!(err, "failed to export all spans: the collector did not answer within 1s");
}

#[test]
fn without_a_collector_there_is_no_layer() {
    let surroundings = Surroundings::new(Default::default(), "/");
    let layer = otel::layer::<tracing_subscriber::Registry>(&surroundings).expect("usable");
    assert!(layer.is_none());
}
