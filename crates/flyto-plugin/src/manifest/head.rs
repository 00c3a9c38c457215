//! What is said about the plugin as a whole.

use std::collections::{BTreeMap, BTreeSet};

use flyto_diagnostics::{
    At, Diagnostic, Findings, Location, ObjectReader, Reported, Span, closest, quoted,
};

use super::{
    Manifest, ToolDef, ToolForm, binary, conformant, flat, foreign,
    form::Execution,
    meant, servers,
    tool::{self, Place, Standing},
};
use crate::{codes, load::RefusedTool, names::NameKind};

/// A manifest that can be used, and where in the text its parts stand.
pub(crate) struct Read {
    pub(crate) manifest: Manifest,
    pub(crate) name: Span,
    /// The entries of the tools that can be used, in their order.
    pub(crate) tools: Vec<Span>,
    pub(crate) refused: Vec<RefusedTool>,
}

/// Reads a whole manifest.
pub(crate) fn read(
    root: At<'_>,
    place: Place<'_>,
    findings: &mut Findings,
) -> Result<Read, Reported> {
    if conformant::is_conformant(root) {
        return conformant::read(root, place, findings);
    }
    if flat::is_flat(root) {
        return flat::read(root, place, findings);
    }
    if let Some(diagnostic) = foreign::recognised(root) {
        return Err(findings.push(diagnostic));
    }
    let mut reader = ObjectReader::new(root, findings)?;
    let name = name(&mut reader);
    let version = version(&mut reader);
    let description = reader.optional_string("description");
    let author = meant::check(&mut reader, "author", meant::author)
        .and_then(|()| reader.optional_string("author"));
    let execution = execution(&mut reader, place);
    let tools = meant::check(&mut reader, "tools", meant::tools)
        .and_then(|()| reader.optional_array("tools"));
    let servers = meant::check(&mut reader, "mcpServers", meant::servers)
        .and_then(|()| reader.optional_object("mcpServers"));
    if execution.as_ref().is_ok_and(|it| it.binary().is_some()) {
        binary::misplaced(&mut reader, root);
    }
    // Editors find the schema of the file by it.
    reader.allow("$schema");
    reader.suggest_for("mcp_servers", "mcpServers");
    reader.suggest_for("servers", "mcpServers");
    reader.suggest_for("id", "name");

    let something = something(&mut reader, tools, servers);
    let read_servers = match servers {
        Ok(Some(servers)) => servers::native::read(servers, place, reader.findings()),
        _ => Vec::new(),
    };
    let entries = match (tools, &execution) {
        (Ok(Some(tools)), Ok(execution)) => entries(tools, execution, place, reader.findings()),
        _ => Entries::default(),
    };
    let name_span = reader.at("name").span();
    reader.finish();

    let name = name?;
    execution?;
    something?;
    let text = |text: Result<Option<&str>, Reported>| {
        text.ok().flatten().filter(|it| !it.trim().is_empty()).map(ToOwned::to_owned)
    };
    let manifest = Manifest {
        name: name.to_owned(),
        version: text(version),
        description: text(description),
        author: text(author),
        tools: entries.tools,
        servers: read_servers,
    };
    Ok(Read { manifest, name: name_span, tools: entries.spans, refused: entries.refused })
}

fn name<'v>(reader: &mut ObjectReader<'v, '_>) -> Result<&'v str, Reported> {
    let name = reader.required_string("name")?;
    let Err(fault) = NameKind::Plugin.check(name) else { return Ok(name) };
    let at = reader.at("name");
    let what = format!("the name {} of a plugin {fault}", quoted(name));
    let diag = at.error(codes::BAD_PLUGIN_NAME, what);
    let diag = diag.with_help(format!("a name is made of {}", NameKind::Plugin.rule()));
    Err(reader.push(match NameKind::Plugin.mended(name) {
        Some(better) => diag.with_suggestion(at.span(), quoted(&better)),
        None => diag,
    }))
}

pub(super) fn version<'v>(reader: &mut ObjectReader<'v, '_>) -> Result<Option<&'v str>, Reported> {
    let version = reader.optional_string("version")?;
    if version.is_none_or(|it| !it.trim().is_empty()) {
        return Ok(version);
    }
    let at = reader.at("version");
    let diag = at.error(codes::BLANK, "\"version\" is blank");
    Err(reader.push(diag.with_help("write a version, such as \"1.0.0\", or leave the key out")))
}

/// The name that a plugin goes by, told from a manifest without reading the rest of it.
pub(crate) fn declared_name(root: At<'_>) -> Option<String> {
    let written = root.member("name")?.value().as_str()?;
    Some(if conformant::is_conformant(root) {
        conformant::id(written)
    } else if flat::is_flat(root) {
        flat::plugin_name(written)
    } else {
        written.to_owned()
    })
}

/// What an object with the keys `tools`, `execution` and `binary` offers.
#[derive(Default)]
pub(super) struct Offered {
    pub(super) tools: Vec<ToolDef>,
    pub(super) spans: Vec<Span>,
    pub(super) refused: Vec<RefusedTool>,
    /// How many tools are declared, right or wrong.
    pub(super) n_entries: usize,
}

/// Reads an object that holds those keys and no others.
pub(super) fn offered(
    at: At<'_>,
    place: Place<'_>,
    findings: &mut Findings,
) -> Result<Offered, Reported> {
    let mut reader = ObjectReader::new(at, findings)?;
    let execution = execution(&mut reader, place);
    let tools = meant::check(&mut reader, "tools", meant::tools)
        .and_then(|()| reader.optional_array("tools"));
    let n_entries = tools.ok().flatten().map_or(0, |it| it.items().len());
    let entries = match (tools, &execution) {
        (Ok(Some(tools)), Ok(execution)) => entries(tools, execution, place, reader.findings()),
        _ => Entries::default(),
    };
    reader.finish();
    execution?;
    tools?;
    let Entries { tools, spans, refused } = entries;
    Ok(Offered { tools, spans, refused, n_entries })
}

fn execution(reader: &mut ObjectReader<'_, '_>, place: Place<'_>) -> Result<Execution, Reported> {
    match reader.optional_one_of("execution", &[("command", false), ("binary", true)]) {
        Ok(Some(true)) => binary::read(reader, place).map(Execution::Binary),
        Ok(_) => {
            if let Ok(Some(binary)) =
                reader.optional("binary").map(|it| it.filter(|it| !it.value().is_null()))
            {
                let what = "\"binary\" has no effect without `\"execution\": \"binary\"`";
                reader.push(binary.warning(codes::UNUSED_BINARY, what));
            }
            Ok(Execution::Command)
        }
        Err(reported) => {
            reader.allow("binary");
            Err(reported)
        }
    }
}

type Part<'v> = Result<Option<At<'v>>, Reported>;

/// Refuses a plugin that offers nothing.
fn something(
    reader: &mut ObjectReader<'_, '_>,
    tools: Part<'_>,
    servers: Part<'_>,
) -> Result<(), Reported> {
    let n_tools = tools?.map_or(0, |it| it.items().len());
    let n_servers = servers?.map_or(0, |it| it.members().len());
    if n_tools + n_servers > 0 {
        return Ok(());
    }
    if reader.is_present("tools") || reader.is_present("mcpServers") {
        let at = reader.at(if reader.is_present("tools") { "tools" } else { "mcpServers" });
        let diag = at.error(codes::NOTHING_OFFERED, "the plugin has neither a tool nor a server");
        return Err(reader.push(diag.with_help("add a tool to \"tools\"")));
    }
    let root = reader.at("");
    let looks_like = |key: &str| {
        matches!(key, "servers" | "mcp_servers") || closest(key, ["tools", "mcpServers"]).is_some()
    };
    if root.members().any(|(key, _)| looks_like(key)) {
        // Reports the key that looks like it.
        return reader.required_array("tools").map(|_| ());
    }
    let brace = Span::new(root.span().start, root.span().start + 1);
    let what = "the key \"tools\" is missing";
    let place = Location::text(root.source(), brace);
    let diag = Diagnostic::error(flyto_diagnostics::codes::MISSING_KEY, place, what);
    Err(reader.push(diag.with_pointer(root.pointer()).with_help(
        "add `\"tools\": […]` for programs that are tools, or `\"mcpServers\": {…}` for servers of the \
         Model Context Protocol",
    )))
}

#[derive(Default)]
struct Entries {
    tools: Vec<ToolDef>,
    spans: Vec<Span>,
    refused: Vec<RefusedTool>,
}

fn entries(
    tools: At<'_>,
    execution: &Execution,
    place: Place<'_>,
    findings: &mut Findings,
) -> Entries {
    let mut read: Vec<_> = tools
        .items()
        .map(|at| {
            let form = ToolForm::of(at, execution);
            let tool = tool::read(at, form, Standing::Entry, execution.binary(), place, findings);
            Entry { at, form, tool: tool.ok() }
        })
        .collect();
    refuse_equal_names(&mut read, findings);
    drop_wrong_undo(&mut read, findings);

    let mut res = Entries {
        tools: Vec::with_capacity(read.len()),
        spans: Vec::with_capacity(read.len()),
        refused: Vec::new(),
    };
    for Entry { at, form, tool } in read {
        match tool {
            Some(tool) => {
                res.tools.push(tool);
                res.spans.push(at.span());
            }
            None => {
                let name = written_name(at).map(ToOwned::to_owned);
                res.refused.push(RefusedTool { name, form, span: at.span() });
            }
        }
    }
    res
}

struct Entry<'v> {
    at: At<'v>,
    form: ToolForm,
    tool: Option<ToolDef>,
}

/// The name as it stands in the text, whether or not the entry can be used.
fn written_name(at: At<'_>) -> Option<&str> {
    at.member("name")?.value().as_str()
}

/// The first of two equal names stays; further names of a tool yield to any tool's name.
fn refuse_equal_names<'v>(entries: &mut [Entry<'v>], findings: &mut Findings) {
    let mut owners: BTreeMap<&'v str, At<'v>> = BTreeMap::new();
    for entry in entries.iter_mut() {
        let Some(at) = entry.at.member("name") else { continue };
        let Some(name) = at.value().as_str() else { continue };
        if let Some(first) = owners.get(name) {
            findings.push(taken(at, name, "name", *first));
            entry.tool = None;
        } else {
            owners.insert(name, at);
        }
    }
    for entry in entries.iter_mut().filter(|it| it.tool.is_some()) {
        let Some(aliases) = entry.at.member("aliases") else { continue };
        for at in aliases.items() {
            let Some(name) = at.value().as_str() else { continue };
            if let Some(first) = owners.get(name) {
                findings.push(taken(at, name, "alias", *first));
                entry.tool = None;
            } else {
                owners.insert(name, at);
            }
        }
    }
}

fn taken(at: At<'_>, name: &str, what: &str, first: At<'_>) -> Diagnostic {
    at.error(codes::DUPLICATE_TOOL, format!("the {what} {} is taken", quoted(name)))
        .with_reason("a tool is called by its name, so every name of a plugin stands for one tool")
        .with_help("choose another name")
        .with_related(first.location(), "it is here first")
}

/// What takes a call back must be a tool that can be called; else that entry alone has no effect.
fn drop_wrong_undo(entries: &mut [Entry<'_>], findings: &mut Findings) {
    let names: BTreeSet<String> =
        entries.iter().filter_map(|it| it.tool.as_ref()).map(|it| it.name.clone()).collect();
    for entry in entries {
        let Some(tool) = &mut entry.tool else { continue };
        let Some(undo) = tool.undo.take_if(|it| !names.contains(&it.tool)) else { continue };
        let at = entry.at.at_pointer("/undo/tool").unwrap_or(entry.at);
        let what = format!("{} is no tool of this plugin that can be called", quoted(&undo.tool));
        let diag = at.error(codes::UNDO_TOOL, what);
        let known = names.iter().map(String::as_str);
        let near = (!findings.is_full()).then(|| flyto_diagnostics::closest(&undo.tool, known));
        findings.push(match near.flatten() {
            Some(near) => diag
                .with_help(format!("did you mean {}?", quoted(near)))
                .with_suggestion(at.span(), quoted(near)),
            None => diag.with_help("name a tool of the same plugin, without the plugin's name"),
        });
    }
}
