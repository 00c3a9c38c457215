//! What a registered tool was made of, seen through what the host wrapped it in.

use std::sync::Arc;

use flyto_tools::{Tool, Validated};

use super::CompositeTool;
use crate::{DefinitionHash, EvolvedTool, ToolDefinition, pipeline::Tracked};

/// The composite that a registered tool is.
pub(crate) fn composite_of(tool: &dyn Tool) -> Option<&CompositeTool> {
    made_of(tool)
}

/// The definition that a registered tool was made of; `None` for a tool of another kind.
pub(crate) fn definition_of(tool: &dyn Tool) -> Option<&ToolDefinition> {
    let composite = composite_of(tool).map(CompositeTool::definition);
    composite.or_else(|| made_of(tool).map(EvolvedTool::definition))
}

/// The hash of the definition that a registered tool was made of; `None` for a tool of another kind.
pub(super) fn definition_hash(tool: &dyn Tool) -> Option<DefinitionHash> {
    let composite = composite_of(tool).map(CompositeTool::approved);
    composite.or_else(|| made_of(tool).map(EvolvedTool::approved))
}

/// The tool without the check of its input and the count of its calls.
fn made_of<T: Tool>(tool: &dyn Tool) -> Option<&T>
where
    Tracked<T>: Tool,
{
    let tool = match tool.downcast_ref::<Validated<Arc<dyn Tool>>>() {
        Some(checked) => &**checked.get_ref(),
        None => tool,
    };
    match tool.downcast_ref::<Tracked<T>>() {
        Some(tracked) => Some(tracked.get_ref()),
        None => tool.downcast_ref::<T>(),
    }
}

/// What to do where a step's tool is not there. Only a tool that was made at run time can be archived, and the command is
/// told for a name that a shell takes for one word. It begins with `command`.
pub(super) fn not_there(tool: &str, command: &str) -> String {
    const SEARCH: &str = "search the tools that are there, or create it first";
    match tool.bytes().all(|it| it.is_ascii_alphanumeric() || b"_-".contains(&it)) {
        true => {
            format!(
                "where it was archived, `{command} restore {tool}` brings it back; else {SEARCH}"
            )
        }
        false => SEARCH.to_owned(),
    }
}
