//! Arguments of the tools that the server itself has.

use std::fmt::Display;

use flyto_tools::compile;
use serde_json::Value;

/// Why the arguments of one of the server's own tools are not taken, in words for a model: as for any tool, each place where they
/// do not fit its schema. `err` is what is told where they fit, such as of a key that stands twice.
pub(crate) fn refusal(
    tools: impl IntoIterator<Item = Value>,
    name: &str,
    arguments: &str,
    err: &dyn Display,
) -> String {
    let tool = tools.into_iter().find(|it| it["name"] == name);
    let schema = tool.and_then(|it| compile(&it["inputSchema"]).ok());
    let value = serde_json::from_str::<Value>(arguments).ok();
    let checked = schema.zip(value).map(|(schema, value)| schema.check(&value));
    match checked {
        Some(Err(violations)) => violations.into_result().output,
        _ => format!("failed to read the arguments: {err}"),
    }
}
