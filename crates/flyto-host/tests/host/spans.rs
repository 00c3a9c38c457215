//! Spans of calls: their names, their fields, and what is in none of them.

use std::{
    collections::BTreeMap,
    fmt::{Debug, Write as _},
    sync::{Arc, Mutex},
};

use expect_test::{Expect, expect};
use flyto_tools::{CallContext, CallId, Input, NativeTool, NoInput};
use tracing::{
    Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{Layer, layer::Context, prelude::*, registry::LookupSpan};

use crate::world::World;

/// The fields of a span.
#[derive(Debug, Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

/// Writes each span when it is over: with what it is in, and its fields.
#[derive(Debug, Clone, Default)]
struct Spans(Arc<Mutex<String>>);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        ctx.span(id).expect("it is new").extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, ctx: Context<'_, S>) {
        let span = ctx.span(id).expect("it is open");
        values.record(span.extensions_mut().get_mut::<Fields>().expect("it has fields"));
    }

    fn on_close(&self, id: Id, ctx: Context<'_, S>) {
        let span = ctx.span(&id).expect("it is open");
        let depth = span.scope().count();
        let extensions = span.extensions();
        let Fields(fields) = extensions.get::<Fields>().expect("it has fields");
        let mut seen = self.0.lock().expect("not poisoned");
        writeln!(seen, "{depth} {}", span.name()).expect("a text");
        for (name, value) in fields {
            writeln!(seen, "  {name} {value}").expect("a text");
        }
    }
}

async fn check(world: &World, tool: &str, expect: Expect) {
    let spans = Spans::default();
    let subscriber = tracing_subscriber::registry().with(spans.clone());
    let host = world.host();
    let ctx = CallContext::new().with_id(CallId::new("call-1").expect("printable"));
    let input = Input::parse(r#"{"password": "hunter2"}"#).expect("JSON");
    let guard = tracing::subscriber::set_default(subscriber);
    let _ = host.call(tool, input, &ctx).await;
    drop(guard);
    let seen = spans.0.lock().expect("not poisoned").clone();
    assert!(!seen.contains("hunter2"), "{seen}");
    expect.assert_eq(&seen);
}

#[tokio::test]
async fn a_call_is_a_span_with_its_stages() {
    let world = World::new();
    world.write(
        "plugins/p/plugin.json",
        r#"{"name": "p", "tools": [{"name": "run", "description": "x", "command": "sh",
            "args": ["-c", "cat; exit 3"]}]}"#,
    );
    check(
        &world,
        "p:run",
        expect![[r#"
            9 flyto.stage
              flyto.stage.name bound
            8 flyto.stage
              flyto.stage.name output guard
            7 flyto.stage
              flyto.stage.name execute
            6 flyto.stage
              flyto.stage.name audit
            5 flyto.stage
              flyto.stage.name checkpoint
            4 flyto.stage
              flyto.stage.name reverse thinking
            3 flyto.stage
              flyto.stage.name permission
            2 flyto.stage
              flyto.stage.name validate
            1 execute_tool
              error.type exit_code
              flyto.permission.verdict ask
              flyto.tool.origin plugin
              gen_ai.operation.name execute_tool
              gen_ai.tool.call.id call-1
              gen_ai.tool.name p:run
              gen_ai.tool.type function
              otel.name execute_tool p:run
              otel.status_code ERROR
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_refused_call_names_its_stage() {
    let world = World::new();
    world.write(
        "plugins/m/plugin.json",
        r#"{"name": "m", "tools": [{"name": "send", "description": "x", "command": "true",
            "requires_checkpoint": true}]}"#,
    );
    check(
        &world,
        "m:send",
        expect![[r#"
            5 flyto.stage
              flyto.stage.name checkpoint
            4 flyto.stage
              flyto.stage.name reverse thinking
            3 flyto.stage
              flyto.stage.name permission
            2 flyto.stage
              flyto.stage.name validate
            1 execute_tool
              error.type refused
              flyto.permission.verdict ask
              flyto.refused_by checkpoint
              flyto.tool.origin plugin
              gen_ai.operation.name execute_tool
              gen_ai.tool.call.id call-1
              gen_ai.tool.name m:send
              gen_ai.tool.type function
              otel.name execute_tool m:send
              otel.status_code ERROR
        "#]],
    )
    .await;
}

#[tokio::test]
async fn what_a_tool_of_the_host_does_is_within_its_call() {
    let spans = Spans::default();
    let host = World::new().host();
    let tool = NativeTool::builder("t", "Has a span.")
        .run(async |_: CallContext, _: NoInput| tracing::info_span!("inner").in_scope(|| "x"));
    host.add_tool("me", tool.expect("a tool")).expect("it is new");
    let guard =
        tracing::subscriber::set_default(tracing_subscriber::registry().with(spans.clone()));
    host.call("t", Input::empty(), &CallContext::new()).await.expect("it ran");
    drop(guard);
    let seen = spans.0.lock().expect("not poisoned").clone();
    // The call, and each stage until the one that executes.
    assert!(seen.starts_with("8 inner\n"), "{seen}");
}
