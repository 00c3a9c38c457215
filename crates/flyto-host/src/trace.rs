//! Spans of calls, for whatever subscriber the program has.
//!
//! One span for each call and, within it, one for each stage. Names and fields are a promise; the span of a call has those
//! of the OpenTelemetry conventions for tools of generative AI (semantic-conventions-genai, "execute tool"), which are
//! in development there. A call of a tool of an MCP server has those of its conventions beside them, as these ask for. Neither
//! inputs nor outputs are fields: they may hold secrets.
//!
//! | span | field | value |
//! | --- | --- | --- |
//! | `execute_tool` | `otel.name` | `execute_tool` and the tool's id |
//! | | `otel.kind` | `client`, of a tool of an MCP server |
//! | | `otel.status_code` | `ERROR`, of a call without success |
//! | | `gen_ai.operation.name` | `execute_tool` |
//! | | `gen_ai.tool.name` | the tool's id |
//! | | `gen_ai.tool.type` | `function` |
//! | | `gen_ai.tool.call.id` | the id of the call |
//! | | `mcp.method.name` | `tools/call`, of a tool of an MCP server |
//! | | `flyto.tool.origin` | `native`, `plugin`, `exec_file`, `evolved`, `mcp_server` |
//! | | `error.type` | of a call without success: the kind of the failure or of the error, `refused` |
//! | | `flyto.permission.verdict` | what the rules say of the call: `allow`, `ask`, `deny` |
//! | | `flyto.parent_call.id` | the id of the call within which this one is made |
//! | | `flyto.refused_by` | the stage that refused the call |
//! | `flyto.stage` | `flyto.stage.name` | the name of the stage |

use flyto_tools::{CallId, Failure, Origin};
use tracing::{
    Span,
    field::{Empty, display},
    info_span,
};

use crate::{
    error::CallError,
    stages::{Call, StageResult},
};

/// The span of a whole call.
pub(crate) fn call(call: &Call) -> Span {
    let (id, metadata) = (call.entry().id(), call.entry().tool().metadata());
    let is_mcp = matches!(metadata.origin, Origin::McpServer { .. });
    info_span!(
        "execute_tool",
        otel.name = format_args!("execute_tool {id}"),
        otel.kind = is_mcp.then_some("client"),
        otel.status_code = Empty,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = %id,
        gen_ai.tool.type = "function",
        gen_ai.tool.call.id = %call.ctx().id(),
        mcp.method.name = is_mcp.then_some("tools/call"),
        flyto.tool.origin = origin(&metadata.origin),
        flyto.permission.verdict = Empty,
        flyto.parent_call.id = call.prepared().parent().map(CallId::as_str),
        error.type = Empty,
        flyto.refused_by = Empty,
    )
}

/// Notes in the span of a call how it ended.
pub(crate) fn ended(span: &Span, call: &Call, end: &StageResult) {
    if span.is_disabled() {
        return;
    }
    if let Some(decision) = call.decision() {
        span.record("flyto.permission.verdict", display(decision.verdict));
    }
    let is_failure = end.as_ref().map_or(true, |it| it.failure.is_some());
    if is_failure {
        span.record("otel.status_code", "ERROR");
    }
    match end {
        Ok(result) => {
            if let Some(failure) = &result.failure {
                span.record("error.type", &*kind(failure));
            }
        }
        Err(CallError::Refused(refusal)) => {
            span.record("error.type", "refused");
            span.record("flyto.refused_by", &*refusal.stage);
        }
        Err(CallError::NotFound { .. }) => _ = span.record("error.type", "not_found"),
        Err(CallError::PluginHeldBack { .. }) => _ = span.record("error.type", "refused"),
        Err(CallError::Tool(err)) => _ = span.record("error.type", err.kind().name()),
    }
}

/// The span of a stage, with those behind it.
pub(crate) fn stage(name: &str) -> Span {
    info_span!("flyto.stage", flyto.stage.name = name)
}

/// The name of a failure as it is in JSON documents.
fn kind(it: &Failure) -> String {
    let value = serde_json::to_value(it).unwrap_or_default();
    value.get("kind").and_then(|it| it.as_str()).unwrap_or("other").to_owned()
}

fn origin(it: &Origin) -> &'static str {
    match it {
        Origin::Native => "native",
        Origin::Plugin { .. } => "plugin",
        Origin::ExecFile { .. } => "exec_file",
        Origin::Evolved { .. } => "evolved",
        Origin::McpServer { .. } => "mcp_server",
        _ => "other",
    }
}
