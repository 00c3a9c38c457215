//! How much memory a call takes.

use std::{path::Path, sync::Arc};

use flyto_evolve::{CompositeTool, ToolDefinition};
use flyto_tools::{
    CallContext, Input, Metadata, NativeTool, Registry, Tool as _, ToolCaller, ToolError,
    ToolErrorKind, ToolResult,
};
use serde_json::{Value, json};

use crate::child;

/// Calls what is registered.
#[derive(Debug)]
struct Direct(Arc<Registry>);

#[async_trait::async_trait]
impl ToolCaller for Direct {
    async fn call_tool(
        &self,
        ctx: &CallContext,
        name: &str,
        input: Input,
    ) -> Result<ToolResult, ToolError> {
        let entry =
            self.0.get(name).ok_or_else(|| ToolError::new(ToolErrorKind::NotFound, name))?;
        entry.tool().execute(ctx, input).await
    }
}

/// Results that have many times the size of their text once they are taken apart: ten lists, to which nothing refers but, one
/// after the other, a condition.
///
/// Prints the most memory that this process had, in KiB.
pub(crate) fn many_results() {
    let registry = Arc::new(Registry::new());
    let mut metadata = Metadata::new();
    (metadata.read_only, metadata.concurrency_safe) = (Some(true), Some(true));
    let nest = NativeTool::builder("nest", "Gives many small objects.").metadata(metadata);
    let nest = nest.run(async |_, _: serde_json::Map<String, Value>| {
        ToolResult::text(format!("[{}0]", "{\"\":{}},".repeat(16_383)))
    });
    registry.register("test", Arc::new(nest.unwrap())).unwrap();
    let lists = (0..10).map(
        |it| json!({"id": format!("s{it}"), "tool": "nest", "for_each": [1, 2, 3, 4, 5, 6, 7]}),
    );
    let exist = (0..10).map(|it| json!({"exists": {"$ref": format!("/steps/s{it}/output/0")}}));
    let exist: Vec<Value> = exist.collect();
    let last = json!({"id": "last", "tool": "nest", "when": {"all": exist}});
    let steps: Vec<Value> = lists.chain([last]).collect();
    let output = json!({"$ref": "/steps/last/status"});
    let composite = json!({"steps": steps, "output": output, "timeout_ms": 600_000});
    let mut def = ToolDefinition::composite("many", "Has many results.", composite);
    def.timeout_seconds = 600;
    let caller = Arc::new(Direct(Arc::clone(&registry)));
    let tool = CompositeTool::new(def, caller, registry).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let result = runtime.block_on(tool.execute(&CallContext::new(), Input::empty())).unwrap();
    assert_eq!(result.output, "done");
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|it| it.strip_prefix("VmHWM:")).unwrap();
    println!("{}", peak.trim().trim_end_matches(" kB"));
}

/// The results of one call, taken apart, would have 600 MB.
pub(crate) fn of_results(dir: &Path) {
    let out = child("many_results", dir).output().unwrap();
    assert!(out.status.success());
    let peak_kib: u64 = String::from_utf8(out.stdout).unwrap().trim().parse().unwrap();
    assert!(peak_kib < 300 * 1024, "{peak_kib} KiB");
}
