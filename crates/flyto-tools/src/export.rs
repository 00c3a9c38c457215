//! Tools in the shapes that model APIs and clients take.
//!
//! Names are wire names; [`Snapshot::get`](crate::Snapshot::get) leads back from them. Schemas are
//! passed on as they are, with their key order, with two exceptions that change no meaning, because
//! one tool that breaks either rule makes clients drop the whole list:
//!
//! - a root without `type` gets `"type": "object"`: arguments are an object in all of these APIs;
//! - for MCP, a property whose schema is `true` or `false` gets `{}` or `{"not": {}}`.
//!
//! A schema that an API cannot take is an error of that tool, and the other tools are exported. For MCP, an output schema is left
//! out unless every client is known to compile it: see [`check_output`].
//! Limits that depend on the model behind an API (depth, number of properties, supported keywords)
//! are not checked.
//!
//! ```
//! use flyto_tools::export::{Format, export};
//! use flyto_tools::{DescribeContext, Registry};
//!
//! let registry = Registry::new();
//! let res = export(registry.snapshot().iter(), Format::Gemini, &DescribeContext::new());
//! assert_eq!(res.tools, serde_json::json!({"functionDeclarations": []}));
//! assert!(res.refused.is_empty());
//! ```

mod portable;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::name::ToolId;
use crate::registry::Entry;
use crate::tool::DescribeContext;

pub use portable::{Unportable, UnportableKind, check_output};

/// A shape in which tools are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// [Model Context Protocol]: the `tools` of `tools/list`.
    ///
    /// All four hints are given, because clients take a missing `destructiveHint` or
    /// `openWorldHint` for true. They show what is declared, as
    /// [`is_destructive`](crate::Metadata::is_destructive) does: they inform, and clients must not
    /// trust them. An output schema is given if its root is an object, which older clients demand, and if it is
    /// [portable](check_output).
    ///
    /// [Model Context Protocol]: https://modelcontextprotocol.io/specification/2025-11-25/server/tools
    Mcp,
    /// [OpenAI Responses API]: `tools`. `strict` is false, for strict schemas are a dialect.
    ///
    /// [OpenAI Responses API]: https://platform.openai.com/docs/guides/function-calling
    OpenAiResponses,
    /// [OpenAI Chat Completions API]: `tools`.
    ///
    /// [OpenAI Chat Completions API]: https://platform.openai.com/docs/guides/function-calling?api-mode=chat
    OpenAiChat,
    /// [Anthropic Messages API]: `tools`.
    ///
    /// [Anthropic Messages API]: https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/overview
    Anthropic,
    /// [Gemini API]: one element of `tools`. Schemas go into `parametersJsonSchema`, which takes
    /// JSON Schema, not into `parameters`, which takes a dialect.
    ///
    /// [Gemini API]: https://ai.google.dev/api/caching#FunctionDeclaration
    Gemini,
}

/// Tools in one shape, ready to be sent.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Export {
    /// The tools: an array, or for Gemini the object that holds it.
    pub tools: Value,
    /// Tools that cannot be handed over, and why.
    pub refused: Vec<ExportError>,
}

/// A tool that cannot be handed over in some shape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to export {tool} as {format}: {why}")]
#[non_exhaustive]
pub struct ExportError {
    /// The tool.
    pub tool: ToolId,
    /// The shape.
    pub format: Format,
    /// What is in the way.
    pub why: ExportErrorKind,
}

/// What keeps a tool from being handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ExportErrorKind {
    /// The root of the input schema describes something else than an object.
    #[error("the type at the root of its input schema is not \"object\"")]
    NoObject,
    /// Clients read this member of the input schema as something else, and lose every tool with it. A registry takes such a schema
    /// from a server of other tools, whose tools it does not check.
    #[error("clients cannot read the {0:?} of its input schema")]
    Member(&'static str),
    /// A reference in the input schema leads out of it. Nothing is fetched for a schema, so no call of the tool could be checked,
    /// and services refuse every tool with it.
    #[error(
        "a reference in its input schema leads to no part of the schema, and nothing is fetched"
    )]
    Reference,
    /// The API refuses this keyword at the root of an input schema.
    #[error("its input schema has {0:?} at the root, which the API does not take")]
    Keyword(&'static str),
}

/// Hands over several tools. The order is kept. A tool that the format cannot take is left out, and
/// [`Export`] says why: one tool that a service refuses would make it refuse the whole list.
#[must_use]
pub fn export<'a>(
    entries: impl IntoIterator<Item = &'a Entry>,
    format: Format,
    ctx: &DescribeContext,
) -> Export {
    let mut tools = Vec::new();
    let mut refused = Vec::new();
    for entry in entries {
        match export_one(entry, format, ctx) {
            Ok(tool) => tools.push(tool),
            Err(err) => refused.push(err),
        }
    }
    let tools = match format {
        Format::Gemini => json!({ "functionDeclarations": tools }),
        _ => Value::Array(tools),
    };
    Export { tools, refused }
}

/// Hands over one tool: an element of the array in [`Export::tools`].
///
/// # Errors
///
/// [`ExportError`] where the API cannot take its schema.
pub fn export_one(
    entry: &Entry,
    format: Format,
    ctx: &DescribeContext,
) -> Result<Value, ExportError> {
    let schema = || taken_schema(entry, format);
    let name = entry.wire_name();
    let description = || entry.tool().description(ctx);
    Ok(match format {
        Format::Mcp => {
            let tool = serde_json::to_value(McpTool::of(entry, ctx)?);
            tool.expect("its keys are texts")
        }
        Format::OpenAiResponses => json!({
            "type": "function",
            "name": name,
            "description": description(),
            "parameters": schema()?,
            "strict": false,
        }),
        Format::OpenAiChat => json!({
            "type": "function",
            "function": {
                "name": name,
                "description": description(),
                "parameters": schema()?,
                "strict": false,
            },
        }),
        Format::Anthropic => json!({
            "name": name,
            "description": description(),
            "input_schema": schema()?,
        }),
        Format::Gemini => json!({
            "name": name,
            "description": description(),
            "parametersJsonSchema": schema()?,
        }),
    })
}

/// The tools that a format cannot take, and why: what [`export`] refuses, without the work of describing the others.
///
/// ```
/// use flyto_tools::{
///     Registry,
///     export::{Format, refused},
/// };
///
/// let tools = Registry::new().snapshot();
/// assert!(refused(tools.iter(), Format::Mcp).is_empty());
/// ```
#[must_use]
pub fn refused<'a>(
    entries: impl IntoIterator<Item = &'a Entry>,
    format: Format,
) -> Vec<ExportError> {
    entries.into_iter().filter_map(|it| check_schema(it, format).err()).collect()
}

/// The input schema of a tool as a format takes it.
fn taken_schema(entry: &Entry, format: Format) -> Result<Cow<'_, Map<String, Value>>, ExportError> {
    check_schema(entry, format)?;
    let schema = object_schema(entry.tool().input_schema());
    Ok(match format {
        Format::Mcp => spelled_out(schema),
        _ => schema,
    })
}

/// Whether a format takes the input schema of a tool. Nothing is copied: a server asks at its start, for every tool.
fn check_schema(entry: &Entry, format: Format) -> Result<(), ExportError> {
    let refuse = |why| Err(ExportError { tool: entry.id().clone(), format, why });
    let schema = entry.tool().input_schema();
    let root = match schema {
        Value::Bool(true) => return Ok(()),
        Value::Object(root) if root.get("type").is_none_or(|it| it == "object") => root,
        _ => return refuse(ExportErrorKind::NoObject),
    };
    if let Some(keyword) = format.refused_keywords().iter().find(|it| root.contains_key(**it)) {
        return refuse(ExportErrorKind::Keyword(keyword));
    }
    if leads_out(schema) {
        return refuse(ExportErrorKind::Reference);
    }
    match unreadable_member(root).filter(|_| format == Format::Mcp) {
        Some(member) => refuse(ExportErrorKind::Member(member)),
        None => Ok(()),
    }
}

/// A keyword at the root of an input schema that APIs of models refuse, and the formats of these APIs. Clients of the Model Context
/// Protocol are given such a schema, and many hand it on as it is: the API then refuses the request with all its tools.
///
/// ```
/// use flyto_tools::export::{Format, refused_keyword};
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]});
/// let (keyword, formats) = refused_keyword(&schema).ok_or("refused")?;
/// assert_eq!(keyword, "anyOf");
/// assert!(formats.contains(&Format::Anthropic) && !formats.contains(&Format::Gemini));
/// # Ok::<(), &str>(())
/// ```
#[must_use]
pub fn refused_keyword(schema: &Value) -> Option<(&'static str, Vec<Format>)> {
    let root = schema.as_object()?;
    let mut all = Format::ALL.iter().flat_map(|it| it.refused_keywords());
    let keyword = *all.find(|it| root.contains_key(**it))?;
    let refuses = |it: &Format| it.refused_keywords().contains(&keyword);
    Some((keyword, Format::ALL.iter().copied().filter(refuses).collect()))
}

/// A tool as an element of `tools` of the [Model Context Protocol](Format::Mcp), to be written as JSON: what [`export_one`] gives,
/// without a copy of its schemas. A list of a thousand tools is made of these.
///
/// ```
/// use flyto_tools::{
///     DescribeContext, Registry,
///     export::{Format, McpTool, export_one},
/// };
/// # use std::sync::Arc;
/// # use flyto_tools::{NativeTool, NoInput};
///
/// let registry = Registry::new();
/// # let ping = NativeTool::builder("ping", "Answers.").run(async |_, _: NoInput| "pong")?;
/// # registry.register("me", Arc::new(ping))?;
/// let ctx = DescribeContext::new();
/// for entry in registry.snapshot().iter() {
///     let written = serde_json::to_string(&McpTool::of(entry, &ctx)?)?;
///     assert_eq!(written, export_one(entry, Format::Mcp, &ctx)?.to_string());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct McpTool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    description: Cow<'a, str>,
    input_schema: Cow<'a, Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<Cow<'a, Map<String, Value>>>,
    annotations: Annotations<'a>,
}

/// What a tool says of its effects: all four hints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Annotations<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    read_only_hint: bool,
    destructive_hint: bool,
    idempotent_hint: bool,
    open_world_hint: bool,
}

impl<'a> McpTool<'a> {
    /// The tool of this entry, described for `ctx`.
    ///
    /// # Errors
    ///
    /// [`ExportError`] where clients cannot take its schema.
    pub fn of(entry: &'a Entry, ctx: &'a DescribeContext) -> Result<Self, ExportError> {
        let metadata = entry.tool().metadata();
        let title = metadata.title.as_deref();
        let is_object = |it: &Value| it.get("type").is_some_and(|it| it == "object");
        let output_schema = entry.tool().output_schema().filter(|it| is_object(it));
        Ok(Self {
            name: entry.wire_name(),
            title,
            input_schema: taken_schema(entry, Format::Mcp)?,
            description: entry.tool().description(ctx),
            output_schema: output_schema.and_then(readable),
            annotations: Annotations {
                title,
                read_only_hint: metadata.is_read_only(),
                destructive_hint: metadata.is_destructive(),
                idempotent_hint: metadata.is_idempotent(),
                open_world_hint: metadata.is_open_world(),
            },
        })
    }

    /// Whether its output schema is given, which is so where the root of one is an object and [every client](check_output) can
    /// compile it.
    #[must_use]
    pub fn has_output_schema(&self) -> bool {
        self.output_schema.is_some()
    }
}

/// The schema with `"type": "object"` at its root, of one that may have it.
fn object_schema(schema: &Value) -> Cow<'_, Map<String, Value>> {
    match schema.as_object() {
        Some(map) if map.contains_key("type") => Cow::Borrowed(map),
        map => {
            let mut typed = Map::from_iter([("type".into(), "object".into())]);
            typed.extend(map.cloned().into_iter().flatten());
            Cow::Owned(typed)
        }
    }
}

/// An output schema as clients of the Model Context Protocol can read it: without keys that are no keywords, with tuples of
/// older drafts as `prefixItems`, and with the schemas `true` and `false` of properties as objects. `None` where they cannot, as [`check_output`] tells: then the tool goes without.
///
/// ```
/// use flyto_tools::export::readable_output;
/// use serde_json::json;
///
/// let schema = readable_output(&json!({"properties": {"any": true}})).ok_or("readable")?;
/// assert_eq!(schema["properties"]["any"], json!({}));
/// assert!(readable_output(&json!({"properties": null})).is_none());
/// # Ok::<(), &str>(())
/// ```
#[must_use]
pub fn readable_output(schema: &Value) -> Option<Map<String, Value>> {
    readable(schema).map(Cow::into_owned)
}

/// The same without a copy, where nothing is written in another way.
fn readable(schema: &Value) -> Option<Cow<'_, Map<String, Value>>> {
    let sent = portable::sent(schema);
    portable::check_sent(&sent).ok()?;
    Some(spelled_out(match sent {
        Cow::Borrowed(schema) => Cow::Borrowed(schema.as_object()?),
        Cow::Owned(Value::Object(members)) => Cow::Owned(members),
        Cow::Owned(_) => return None,
    }))
}

/// The member of an input schema that strict clients cannot read. The protocol gives four members of a schema a type ("MCP 2025-11-25, Schema
/// Reference, Tool"): `$schema`, `type`, `properties` and `required`. The official SDKs refuse a whole list for another one.
/// A property whose schema is a boolean is [written as an object](spelled_out).
fn unreadable_member(schema: &Map<String, Value>) -> Option<&'static str> {
    let is_readable = |member: &str, value: &Value| match member {
        "$schema" => value.is_string(),
        "properties" => {
            let is_schema = |it: &Value| it.is_object() || it.is_boolean();
            value.as_object().is_some_and(|it| it.values().all(is_schema))
        }
        _ => value.as_array().is_some_and(|it| it.iter().all(Value::is_string)),
    };
    let members = ["$schema", "properties", "required"];
    members.into_iter().find(|it| schema.get(*it).is_some_and(|value| !is_readable(it, value)))
}

/// Whether a reference in a schema leads to no part of it: neither to a fragment of the schema nor to a resource that has its
/// address for `$id`.
fn leads_out(schema: &Value) -> bool {
    let (mut references, mut ids) = (Vec::new(), Vec::new());
    collect(schema, &mut references, &mut ids);
    let leads_out = |it: &&str| {
        let (resource, _) = it.split_once('#').unwrap_or((it, ""));
        // An `$id` is resolved against those around it, so the reference may be longer or shorter by a directory.
        let is_own = |id: &&str| {
            let id = id.trim_end_matches('#');
            id == resource
                || id.strip_suffix(resource).is_some_and(|it| it.ends_with('/'))
                || resource.strip_suffix(id).is_some_and(|it| it.ends_with('/'))
        };
        !resource.is_empty() && !ids.iter().any(is_own)
    };
    references.iter().any(leads_out)
}

/// The references of a schema, and the addresses of its parts.
fn collect<'a>(schema: &'a Value, references: &mut Vec<&'a str>, ids: &mut Vec<&'a str>) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                match (key.as_str(), value) {
                    ("$ref" | "$dynamicRef", Value::String(it)) => references.push(it),
                    ("$id", Value::String(it)) => ids.push(it),
                    // Values that are no schemas.
                    ("const" | "enum" | "default" | "examples", _) => {}
                    // Schemas by names, which may be any.
                    (
                        "properties" | "patternProperties" | "dependentSchemas" | "$defs"
                        | "definitions",
                        Value::Object(schemas),
                    ) => schemas.values().for_each(|it| collect(it, references, ids)),
                    _ => collect(value, references, ids),
                }
            }
        }
        Value::Array(elements) => elements.iter().for_each(|it| collect(it, references, ids)),
        _ => {}
    }
}

/// The schema with the schemas `true` and `false` of properties as objects, for services that take nothing else.
fn spelled_out(mut schema: Cow<'_, Map<String, Value>>) -> Cow<'_, Map<String, Value>> {
    let properties = schema.get("properties").and_then(Value::as_object);
    if !properties.into_iter().flat_map(Map::values).any(Value::is_boolean) {
        return schema;
    }
    let properties = schema.to_mut().get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(Map::values_mut) {
        match property {
            Value::Bool(true) => *property = json!({}),
            Value::Bool(false) => *property = json!({"not": {}}),
            _ => {}
        }
    }
    schema
}

impl Format {
    /// Every shape.
    pub const ALL: &[Self] =
        &[Self::Mcp, Self::OpenAiResponses, Self::OpenAiChat, Self::Anthropic, Self::Gemini];

    /// Its name, as people type it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::OpenAiResponses => "openai",
            Self::OpenAiChat => "openai-chat",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    /// Keywords that the API refuses at the root of an input schema.
    fn refused_keywords(self) -> &'static [&'static str] {
        match self {
            Self::Mcp | Self::Gemini => &[],
            Self::OpenAiResponses | Self::OpenAiChat => &["oneOf", "anyOf", "allOf", "enum", "not"],
            Self::Anthropic => &["oneOf", "anyOf", "allOf"],
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A name that no [`Format`] has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "failed to find the format {name:?}: there are mcp, openai, openai-chat, anthropic, gemini"
)]
pub struct UnknownFormat {
    /// The name.
    pub name: String,
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let mut all = Self::ALL.iter().copied();
        all.find(|it| it.as_str() == name).ok_or_else(|| UnknownFormat { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests;
