//! Tools that call other tools.
#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod graph;
mod life;
mod refusals;
mod replay;
mod review;
mod running;

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use flyto_evolve::{CompositeTool, ToolDefinition};
use flyto_tools::{
    CallContext, Failure, Input, Metadata, NativeTool, Registry, Tool as _, ToolCaller, ToolError,
    ToolErrorKind, ToolResult,
};
use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

/// Calls what is registered, and keeps the names of what was called. A tool named `denied` is refused, as by a rule; a person
/// is asked about one named `asked`, for longer than the time that is left.
#[derive(Debug)]
struct Caller {
    registry: Arc<Registry>,
    called: Mutex<Vec<String>>,
}

#[async_trait::async_trait]
impl ToolCaller for Caller {
    async fn call_tool(
        &self,
        ctx: &CallContext,
        name: &str,
        input: Input,
    ) -> Result<ToolResult, ToolError> {
        self.called.lock().unwrap().push(format!("{name} {}", input.value()));
        let entry =
            self.registry.get(name).ok_or_else(|| ToolError::new(ToolErrorKind::NotFound, name))?;
        if name == "asked" {
            let question = ctx.asking();
            let limit = ctx.deadline().unwrap() - Instant::now();
            tokio::time::sleep(limit + Duration::from_millis(50)).await;
            drop(question);
            assert!(ctx.deadline().unwrap() > Instant::now(), "the limit of the step went on");
        }
        if name == "denied" {
            return Err(ToolError::new(ToolErrorKind::Refused, "a rule denies it"));
        }
        entry.tool().execute(ctx, input).await
    }
}

struct Bench {
    registry: Arc<Registry>,
    caller: Arc<Caller>,
}

fn reading() -> Metadata {
    let mut res = Metadata::new();
    (res.read_only, res.concurrency_safe) = (Some(true), Some(true));
    (res.destructive, res.open_world) = (Some(false), Some(false));
    res
}

impl Bench {
    /// `echo` gives its input; `say` gives its `text`; `fail` fails; `flaky` fails twice; `wait` waits until it is cancelled;
    /// `meet` ends once two of its calls run; `write` and `denied` declare nothing.
    fn new() -> Self {
        let registry = Arc::new(Registry::new());
        let add = |tool: NativeTool| drop(registry.register("host", Arc::new(tool)).unwrap());
        let echo = async |_, it: Object| ToolResult::text(Value::Object(it).to_string());
        add(NativeTool::builder("echo", "Gives its input.").metadata(reading()).run(echo).unwrap());
        let say = async |_, it: Object| ToolResult::text(it["text"].as_str().unwrap().to_owned());
        add(NativeTool::builder("say", "Gives a text.").metadata(reading()).run(say).unwrap());
        let fail = async |_, _: Object| ToolResult::failed(Failure::exit_code(3), "out of paper");
        add(NativeTool::builder("fail", "Fails.").run(fail).unwrap());
        let n_left = Arc::new(Mutex::new(2));
        let flaky = move |_, _: Object| {
            let mut left = n_left.lock().unwrap();
            let is_first = *left > 0;
            *left -= i32::from(is_first);
            async move {
                if is_first {
                    ToolResult::failed(Failure::reported(), "busy")
                } else {
                    ToolResult::text("at last")
                }
            }
        };
        add(NativeTool::builder("flaky", "Fails twice.").run(flaky).unwrap());
        let wait = async |ctx: CallContext, _: Object| {
            ctx.cancellation().cancelled().await;
            ToolResult::failed(Failure::Cancelled, "")
        };
        add(NativeTool::builder("wait", "Waits.").metadata(reading()).run(wait).unwrap());
        let barrier = Arc::new(tokio::sync::Barrier::new(2));
        let meet = move |_, _: Object| {
            let barrier = Arc::clone(&barrier);
            async move {
                barrier.wait().await;
                "met"
            }
        };
        add(NativeTool::builder("meet", "Waits for another call.")
            .metadata(reading())
            .run(meet)
            .unwrap());
        for name in ["write", "remove", "denied", "asked"] {
            let tool = async |_, it: Object| ToolResult::text(Value::Object(it).to_string());
            add(NativeTool::builder(name, "Changes something.").run(tool).unwrap());
        }
        let caller = Arc::new(Caller { registry: Arc::clone(&registry), called: Mutex::default() });
        Self { registry, caller }
    }

    fn tool(&self, composite: Value) -> CompositeTool {
        let def = ToolDefinition::composite("job", "Does a job.", composite);
        CompositeTool::new(def, Arc::clone(&self.caller) as _, Arc::clone(&self.registry)).unwrap()
    }

    async fn call(&self, composite: Value, input: Value) -> ToolResult {
        self.tool(composite).execute(&CallContext::new(), Input::from_value(input)).await.unwrap()
    }

    fn called(&self) -> Vec<String> {
        self.caller.called.lock().unwrap().clone()
    }
}

/// A limit that only a fault reaches.
async fn guarded<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), future).await.expect("it ends")
}

/// Without the times, which differ.
fn report(result: &ToolResult) -> String {
    let mut data = result.data.clone().unwrap();
    for step in data["steps"].as_array_mut().unwrap() {
        step.as_object_mut().unwrap().remove("duration_ms");
    }
    format!("{}\n{}\n{:?}", result.output, data["undo"], result.failure)
}

fn by_ref(pointer: &str) -> Value {
    json!({ "$ref": pointer })
}
