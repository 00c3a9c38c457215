//! `tools/list`: the tools in the shape that clients take, page by page.
//!
//! The list is made once for each state of the registry and each era, and kept as JSON: clients ask for it again and again, and a list of
//! a thousand tools takes longer to make than to send. Pages follow the order of the wire names, and a cursor is the last name of a
//! page, so that a reload between two pages neither repeats a tool that stays nor leaves one out.
//!
//! Clients refuse a whole list for one schema that they cannot read: a root that is no object, properties that are none, a property whose
//! schema is a boolean. The last is written in another way; any other costs the tool its place in the list, or its output schema.

use std::sync::{Arc, Mutex, PoisonError};

use flyto_tools::{
    DescribeContext, Entry, Snapshot,
    export::{McpTool, readable_output},
};
use serde::Serialize;
use serde_json::{
    Map, Value,
    value::{RawValue, to_raw_value},
};

use super::{
    Shared, background::tools, discovery, fault::Fault, params::Negotiated, peer::Outcome,
};

/// How long a client may keep a list without asking again, in milliseconds: a minute. One that listens for changes is
/// told of them at once.
/// The number is that of `ttlMs` ("MCP 2026-07-28, Caching"), and the scope beside it is `private`: which tools there
/// are depends on the configuration and the plugins of one user.
const LIST_TTL_MS: u64 = 60 * 1000;
/// Bytes of the tools on one page, at most: 4 MiB. A longer tool has a page of its own.
const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;
/// What a cursor begins with.
const CURSOR: &str = "after:";

/// The lists that were made last, one for each era.
#[derive(Debug, Default)]
pub(crate) struct Listings(Mutex<[Option<Arc<Listing>>; 2]>);

/// All tools at one moment, each as JSON, in the order of their wire names.
#[derive(Debug)]
pub(crate) struct Listing {
    /// Of the registry; another one means other tools.
    generation: u64,
    /// Each with its wire name.
    tools: Vec<(String, Box<RawValue>)>,
}

/// The result of `tools/list`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page<'a> {
    tools: Vec<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(flatten)]
    modern: Option<Modern>,
}

/// What the result has in the new era.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Modern {
    result_type: &'static str,
    ttl_ms: u64,
    cache_scope: &'static str,
    #[serde(rename = "_meta")]
    meta: Value,
}

impl Shared {
    /// One page of the tools, from the one behind the cursor on. A cursor that is none of this server's is a fault of the
    /// request; that of a tool that is gone by now leads to the tools behind it.
    pub(crate) fn list_tools(&self, negotiated: &Negotiated, cursor: Option<&str>) -> Outcome {
        let listing = self.listing(negotiated.revision.is_modern());
        let begin = match cursor {
            None => 0,
            // The place behind a name stays what it is when tools come and go between two pages.
            Some(cursor) => {
                let name = cursor.strip_prefix(CURSOR).filter(|it| is_wire_name(it));
                let name =
                    name.ok_or_else(|| Fault::invalid_params("the cursor is none of this server"))?;
                listing.tools.partition_point(|(it, _)| it.as_str() <= name)
            }
        };
        let rest = &listing.tools[begin..];
        let page = page(rest, self.options.page_tools);
        let next_cursor = match page.last() {
            Some((name, _)) if page.len() < rest.len() => Some(format!("{CURSOR}{name}")),
            _ => None,
        };
        let modern = negotiated.revision.is_modern().then(|| Modern {
            result_type: "complete",
            ttl_ms: LIST_TTL_MS,
            cache_scope: "private",
            meta: self.result_meta(),
        });
        let tools = page.iter().map(|(_, tool)| &**tool).collect();
        to_raw_value(&Page { tools, next_cursor, modern }).map_err(|err| Fault::unwritable(&err))
    }

    /// The list of an era, made anew where the tools have changed.
    fn listing(&self, is_modern: bool) -> Arc<Listing> {
        let snapshot = self.host.registry().snapshot();
        let jobs = || if self.has_job_tools(&snapshot) { tools::tools() } else { Vec::new() };
        if self.options.discovery {
            return Arc::new(Listing::discovery(jobs()));
        }
        let mut kept = self.listings.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = &mut kept[usize::from(is_modern)];
        match kept {
            Some(listing) if listing.generation == snapshot.generation() => Arc::clone(listing),
            _ => {
                let limit = self.options.output_limit_bytes;
                Arc::clone(kept.insert(Arc::new(Listing::new(&snapshot, is_modern, limit, jobs()))))
            }
        }
    }
}

impl Listing {
    /// The two tools that stand for all, and those for jobs.
    fn discovery(jobs: Vec<Value>) -> Self {
        let tools = discovery::tools().into_iter().chain(jobs);
        Self { generation: 0, tools: tools.filter_map(named).collect() }
    }

    /// The tools of a registry, and those for jobs.
    fn new(
        snapshot: &Snapshot,
        is_modern: bool,
        output_limit_bytes: Option<u64>,
        jobs: Vec<Value>,
    ) -> Self {
        let ctx = DescribeContext::new().with_tools(snapshot.clone());
        let tool = |entry: &Entry| {
            let mut tool = describe(entry, &ctx, is_modern)?;
            tool.meta = hints(entry, output_limit_bytes);
            Some((entry.wire_name().to_owned(), to_raw_value(&tool).ok()?))
        };
        let mut tools: Vec<_> = snapshot.iter().filter_map(tool).collect();
        tools.extend(jobs.into_iter().filter_map(named));
        tools.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Self { generation: snapshot.generation(), tools }
    }
}

/// The first tools, as many as a page takes: one at least.
fn page(rest: &[(String, Box<RawValue>)], most_tools: usize) -> &[(String, Box<RawValue>)] {
    let mut n_bytes = 0;
    let fitting = rest.iter().take(most_tools).take_while(|(_, tool)| {
        n_bytes += tool.get().len();
        n_bytes <= MAX_PAGE_BYTES
    });
    let n_tools = fitting.count().max(1);
    &rest[..n_tools.min(rest.len())]
}

/// An element of the list with its name.
fn named(tool: Value) -> Option<(String, Box<RawValue>)> {
    Some((tool["name"].as_str()?.to_owned(), to_raw_value(&tool).ok()?))
}

/// A tool as an element of the list, which copies nothing of it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Described<'a> {
    #[serde(flatten)]
    tool: McpTool<'a>,
    /// One whose root is no object.
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<Map<String, Value>>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Hints>,
}

/// The `_meta` of a tool: what Claude Code reads of it.
#[derive(Debug, Serialize)]
struct Hints {
    /// Characters of its result that are shown to the model.
    #[serde(rename = "anthropic/maxResultSizeChars", skip_serializing_if = "Option::is_none")]
    max_chars: Option<u64>,
    /// `true` where the user is asked each time, also where the client lets other tools pass.
    #[serde(rename = "anthropic/requiresUserInteraction", skip_serializing_if = "Option::is_none")]
    asks_user: Option<bool>,
}

/// A tool as an element of the list; `None` for one whose schema no client takes, for it would cost them the whole
/// list.
pub(crate) fn describe<'a>(
    entry: &'a Entry,
    ctx: &'a DescribeContext,
    is_modern: bool,
) -> Option<Described<'a>> {
    let tool = McpTool::of(entry, ctx).ok()?;
    // Any schema in the new era: the structured part of a result may be any value.
    let takes_any = is_modern && !tool.has_output_schema();
    let output_schema = entry.tool().output_schema().filter(|_| takes_any);
    Some(Described { tool, output_schema: output_schema.and_then(readable_output), meta: None })
}

fn hints(entry: &Entry, output_limit_bytes: Option<u64>) -> Option<Hints> {
    /// The largest value that the client takes.
    const MAX_CHARS: u64 = 500_000;
    /// For the line that tells what was cut out.
    const LINE_CHARS: u64 = 500;
    let max_chars = output_limit_bytes.map(|it| it.saturating_add(LINE_CHARS).min(MAX_CHARS));
    let asks_user = entry.tool().metadata().requires_checkpoint.then_some(true);
    let is_empty = max_chars.is_none() && asks_user.is_none();
    (!is_empty).then_some(Hints { max_chars, asks_user })
}

/// Whether a text may be the wire name of a tool.
fn is_wire_name(text: &str) -> bool {
    let is_legal = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-');
    (1..=64).contains(&text.len()) && text.bytes().all(is_legal)
}
