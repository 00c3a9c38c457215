//! Tools whose programs may be started before a call.

use std::sync::Arc;

use flyto_diagnostics::{Diagnostic, Location};
use flyto_exectool::ExecTool;
use flyto_plugin::PluginTool;
use flyto_tools::{Entry, Execution, Origin, Readiness, Tool, Validated};

use crate::codes;

/// Whether the program of this tool may be started before a call: its plugin or its file says `ready`. Which processes are
/// kept is the host's ([`Host::waiting_processes`](crate::Host::waiting_processes)).
#[must_use]
pub fn may_wait(entry: &Entry) -> bool {
    let Some(tool) = program(entry) else { return false };
    let plugins = tool.downcast_ref::<PluginTool>().map(|it| it.definition().ready);
    let files = tool.downcast_ref::<ExecTool>().map(|it| it.definition().is_ready());
    plugins.or(files).unwrap_or_default()
}

/// Whether the program of this tool gives a list of blocks, such as texts and images: its plugin or its file says
/// `"content": "mcp"`. See [`Content`](flyto_tools::Content).
#[must_use]
pub fn gives_blocks(entry: &Entry) -> bool {
    let Some(tool) = program(entry) else { return false };
    let plugins = tool.downcast_ref::<PluginTool>().map(|it| it.definition().blocks);
    let files = tool.downcast_ref::<ExecTool>().map(|it| it.definition().prints_blocks());
    plugins.or(files).unwrap_or_default()
}

/// The finding about a tool that says `ready` and whose program cannot be kept ready, from how a call of it was carried out;
/// `None` where nothing is wrong.
#[must_use]
pub fn not_ready(entry: &Entry, execution: &Execution) -> Option<Diagnostic> {
    let Some(Readiness::Cold { why, help: Some(help) }) = &execution.readiness else { return None };
    let tool = program(entry)?;
    let file = match (tool.downcast_ref::<PluginTool>(), &tool.metadata().origin) {
        (Some(tool), _) => tool.dir().join("plugin.json").to_string_lossy().into_owned(),
        (None, Origin::ExecFile { path }) => path.clone(),
        _ => return None,
    };
    let name = entry.id().as_str();
    let what = format!("the tool {name:?} says `ready`, and its program cannot be kept ready");
    let diag = Diagnostic::warning(codes::NOT_READY, Location::file(file), what);
    Some(diag.with_reason(why.clone()).with_help(format!("{help}, or remove `ready`")))
}

/// The tool below the check of its schemas.
fn program(entry: &Entry) -> Option<&Arc<dyn Tool>> {
    entry.tool().downcast_ref::<Validated<Arc<dyn Tool>>>().map(Validated::get_ref)
}
