//! What came of a call, as the result of `tools/call`.
//!
//! The text of a result is what a program printed, as the host bounds it. Where a tool gives structured data beside an empty text, the
//! text is that data, for a client that reads texts only. Images and resources follow the text as blocks of their own.

use flyto_host::{CallError, Refusal};
use flyto_tools::{Block, ToolResult, is_hidden};
use serde::Serialize;
use serde_json::{Value, json, value::to_raw_value};

use super::{Shared, fault::Fault, lifecycle::ServerInfo, params::Negotiated, peer::Outcome};

/// The result of `tools/call`.
///
/// Its text is the first block. "MCP 2025-11-25, Server, Tools, Structured Content" wants the structured part as text as
/// well, for clients that read no other; a text of the tool's own stays in its place.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CallToolResult<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    content: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<&'a Value>,
    is_error: bool,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Meta<'a>>,
}

/// What is said beside a result.
#[derive(Debug, Serialize)]
struct Meta<'a> {
    /// In every result of the new era, as [`Shared::result_meta`] has it.
    #[serde(
        rename = "io.modelcontextprotocol/serverInfo",
        skip_serializing_if = "Option::is_none"
    )]
    server_info: Option<&'a ServerInfo>,
    /// A refusal for programs.
    #[serde(rename = "dev.flyto/refusal", skip_serializing_if = "Option::is_none")]
    refusal: Option<Value>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Content<'a> {
    /// A block of text for the model.
    Text {
        r#type: &'static str,
        text: &'a str,
    },
    Other(Block),
}

/// The result of a call that took place: its text, its structured part, and whether it failed. A failure of the tool is a result
/// with `isError`, which the model can react to, and no error of the protocol. That of a tool with an output schema has no structured
/// part.
///
/// Blocks that are no text stand beside the structured result, or in that of a tool without an output schema (`has_schema`). There
/// they are no longer once they are blocks: a model would read them twice.
pub(crate) fn of(
    server: &Shared,
    negotiated: &Negotiated,
    result: ToolResult,
    has_schema: bool,
) -> Outcome {
    let is_error = result.is_error();
    let ToolResult { mut output, failure, mut data, blocks, .. } = result;
    // What an error says need not fit the schema, and clients throw away a result of which the structured part does not.
    let unsent = data.take_if(|_| is_error && has_schema);
    if output.is_empty() {
        // A model that reads nothing does not know whether anything happened.
        output = match (&failure, &data) {
            (Some(failure), _) => match unsent {
                Some(unsent) => format!("{failure}\n{unsent}"),
                None => failure.to_string(),
            },
            (None, Some(data)) => data.to_string(),
            (None, None) => output,
        };
    }
    let is_known = |it: &Block| negotiated.revision.has_structured_results() || !is_late(it);
    let in_data = data.as_ref().filter(|_| !has_schema && blocks.is_empty());
    if let Some(mut blocks) = in_data.and_then(Block::all_of) {
        blocks.retain(is_known);
        return write(server, negotiated, &output, blocks, None, is_error, None);
    }
    let blocks = blocks.into_iter().filter(is_known).collect();
    // Up to 2025-11-25 the structured part is an object.
    let fits = |it: &Value| negotiated.revision.is_modern() || it.is_object();
    let structured =
        data.as_ref().filter(|it| negotiated.revision.has_structured_results() && fits(it));
    write(server, negotiated, &output, blocks, structured, is_error, None)
}

/// Whether a block came with "MCP 2025-03-26" or later.
const fn is_late(block: &Block) -> bool {
    matches!(block, Block::Audio { .. } | Block::ResourceLink { .. })
}

/// A result that is an object, which is its text as well.
pub(crate) fn value(server: &Shared, negotiated: &Negotiated, value: &Value) -> Outcome {
    let structured = Some(value).filter(|_| negotiated.revision.has_structured_results());
    write(server, negotiated, &value.to_string(), Vec::new(), structured, false, None)
}

/// A result that is an error, in these words: what a model can react to.
pub(crate) fn error(server: &Shared, negotiated: &Negotiated, text: &str) -> Outcome {
    write(server, negotiated, text, Vec::new(), None, true, None)
}

/// The result of a call that did not take place: why, and for a refusal its parts for programs.
pub(crate) fn not_called(server: &Shared, negotiated: &Negotiated, err: &CallError) -> Outcome {
    let refusal = match err {
        CallError::Refused(refusal) => Some(refused(refusal)),
        _ => None,
    };
    write(server, negotiated, &why_not(server, err), Vec::new(), None, true, refusal)
}

/// A refusal for programs: the stage, the rule that decided with its place, and rules that would allow the call.
fn refused(refusal: &Refusal) -> Value {
    let mut res = json!({"stage": refusal.stage});
    if let Some(rule) = &refusal.rule {
        res["rule"] = json!(rule);
    }
    if !refusal.allowed_by.is_empty() {
        res["allowed_by"] = json!(refusal.allowed_by);
    }
    res
}

/// Writes a result: its text, blocks that are none, its structured part where the revision takes one, and whether it is an error.
fn write(
    server: &Shared,
    negotiated: &Negotiated,
    text: &str,
    blocks: Vec<Block>,
    structured_content: Option<&Value>,
    is_error: bool,
    refusal: Option<Value>,
) -> Outcome {
    let is_modern = negotiated.revision.is_modern();
    let has_meta = is_modern || refusal.is_some();
    let server_info = is_modern.then_some(&server.info);
    let text = Content::Text { r#type: "text", text };
    let content = std::iter::once(text).chain(blocks.into_iter().map(Content::Other)).collect();
    let res = CallToolResult {
        result_type: is_modern.then_some("complete"),
        content,
        structured_content,
        is_error,
        meta: has_meta.then_some(Meta { server_info, refusal }),
    };
    to_raw_value(&res).map_err(|err| Fault::unwritable(&err))
}

/// Why a call gave no result, and what to do about it: the chain of causes, and for a refusal the rule to add and its file.
pub(crate) fn why_not(server: &Shared, err: &CallError) -> String {
    match err {
        CallError::Tool(err) => err.chain(),
        CallError::Refused(refusal) => match how_to_allow(server, refusal) {
            // An approval that could not be asked for has said it.
            Some(help) if !refusal.why.contains(&help) => format!("{err}\n{help}"),
            _ => err.to_string(),
        },
        err => err.to_string(),
    }
}

/// What the operator writes to have such a call run.
fn how_to_allow(server: &Shared, refusal: &Refusal) -> Option<String> {
    if let Some(rule) = &refusal.rule {
        return Some(format!("the rule stands in {}", rule.place()));
    }
    let rules = &refusal.allowed_by;
    (!rules.is_empty()).then(|| server.allow_by(rules))
}

impl Shared {
    /// What the operator writes, and where, to allow what these rules allow.
    pub(crate) fn allow_by(&self, rules: &[String]) -> String {
        let entry = json!({"permissions": {"allow": rules}}).to_string();
        let entry: String = entry.chars().map(escaped).collect();
        match &self.options.rules_file {
            Some(file) => format!("to allow it, put {entry} into {}", file.display()),
            None => format!("to allow it, put {entry} into the configuration"),
        }
    }
}

/// A character of a JSON document, by its escape where it cannot be seen: what is copied has it then.
fn escaped(c: char) -> String {
    match is_hidden(c) {
        true => c.encode_utf16(&mut [0; 2]).iter().map(|it| format!("\\u{it:04x}")).collect(),
        false => c.to_string(),
    }
}
