//! Two tools in place of a long list: one that finds tools, and one that calls what was found.
//!
//! A client hands every description and every schema of a list to its model with each request. With hundreds of tools that
//! is most of what the model reads; here it reads the two, and the schemas of the few tools that fit its task.

use flyto_tools::DescribeContext;
use serde::Deserialize;
use serde_json::{
    Number, Value, json,
    value::{RawValue, to_raw_value},
};

use super::{
    Shared, listing::describe, own_arguments::refusal, params::Negotiated, peer::Outcome, result,
};

/// The name of the tool that finds tools.
pub(crate) const SEARCH: &str = "search_tools";
/// The name of the tool that calls one.
pub(crate) const CALL: &str = "call_tool";
/// Tools that a search gives where it does not say how many.
const DEFAULT_FOUND: usize = 5;
/// Most tools that a search gives.
const MAX_FOUND: usize = 20;
/// Bytes of the tools that a search gives, at most: 256 KiB. A longer tool is given alone.
const MAX_FOUND_BYTES: usize = 256 * 1024;
/// Most characters of a query, as `maxLength` counts them.
const MAX_QUERY_CHARS: usize = 1000;

/// The arguments of [`SEARCH`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct Search {
    /// Words for what the tool should do.
    query: String,
    /// Most tools that are wanted.
    #[serde(default)]
    limit: Option<Number>,
}

impl Search {
    /// How many tools are wanted; `None` for a number that is not in bounds. By JSON Schema 5.0 is an integer.
    fn limit(&self) -> Option<usize> {
        let Some(limit) = &self.limit else { return Some(DEFAULT_FOUND) };
        (1..=MAX_FOUND).find(|it| limit.as_f64() == Some(*it as f64))
    }
}

/// The arguments of [`CALL`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub(crate) struct InnerCall<'a> {
    /// The name of the tool, as a search gave it.
    pub(crate) name: String,
    /// What it is called with.
    #[serde(borrow, default)]
    pub(crate) arguments: Option<&'a RawValue>,
}

/// The two tools as elements of a list, in the order of their names.
pub(crate) fn tools() -> [Value; 2] {
    let call = json!({
        "name": CALL,
        "title": "Call a tool",
        "description": "Calls a tool that search_tools found. \"arguments\" must fit its inputSchema.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "The name of the tool, as search_tools gives it"},
                "arguments": {"type": "object", "description": "The arguments of the tool"},
            },
            "required": ["name"],
            "additionalProperties": false,
        },
        // What it does is what the tool does, of which nothing is known here.
        "annotations": {
            "title": "Call a tool", "readOnlyHint": false, "destructiveHint": true,
            "idempotentHint": false, "openWorldHint": true,
        },
    });
    let search = json!({
        "name": SEARCH,
        "title": "Search tools",
        "description": "Finds tools by words in their names and descriptions, best first, and gives the inputSchema of \
                        each. An empty query lists tools by name.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "Words for what the tool should do", "maxLength": MAX_QUERY_CHARS},
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_FOUND, "default": DEFAULT_FOUND},
            },
            "required": ["query"],
            "additionalProperties": false,
        },
        "annotations": {
            "title": "Search tools", "readOnlyHint": true, "destructiveHint": false,
            "idempotentHint": true, "openWorldHint": false,
        },
    });
    [call, search]
}

/// The result of a search: names, descriptions, schemas and hints, as JSON.
pub(crate) fn search(server: &Shared, negotiated: &Negotiated, arguments: &str) -> Outcome {
    let search: Search = match serde_json::from_str(arguments) {
        Ok(search) => search,
        Err(err) => {
            let text = refusal(tools(), SEARCH, arguments, &err);
            return result::error(server, negotiated, &text);
        }
    };
    let is_short = search.query.chars().count() <= MAX_QUERY_CHARS;
    let Some(limit) = search.limit().filter(|_| is_short) else {
        let text = refusal(tools(), SEARCH, arguments, &"they are out of bounds");
        return result::error(server, negotiated, &text);
    };
    let snapshot = server.host.registry().snapshot();
    let ctx = DescribeContext::new().with_tools(snapshot.clone());
    let hits = snapshot.search(&search.query, limit);
    let is_modern = negotiated.revision.is_modern();
    let mut n_bytes = 0;
    let mut found: Vec<Box<RawValue>> = Vec::new();
    for hit in &hits {
        let tool = describe(&hit.entry, &ctx, is_modern).and_then(|it| to_raw_value(&it).ok());
        let Some(tool) = tool else { continue };
        n_bytes += tool.get().len();
        if n_bytes > MAX_FOUND_BYTES && !found.is_empty() {
            break;
        }
        found.push(tool);
    }
    let found = json!({"tools": found, "of": snapshot.len()});
    result::value(server, negotiated, &found)
}
