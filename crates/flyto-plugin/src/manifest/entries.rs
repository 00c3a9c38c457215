//! The tools of a plugin, and the program that some of them share.
//!
//! An entry that cannot be used costs itself: it moves from the tools to the refused ones, and
//! the rest of the plugin stays. Names are compared once all entries are read, also those of
//! refused entries: the later of two equal names is refused even where the first entry cannot be
//! used.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use flyto_diagnostics::{At, Diagnostic, Findings, ObjectReader, Reported, Span, quoted};

use super::{
    binary,
    def::{RefusedTool, ToolDef, ToolForm},
    dialect::Dialect,
    env::Budget,
    form::Execution,
    meant, permissions,
    place::Place,
    rule_names::Declared,
    servers::def::ServerDef,
    tool::{self, Refused, Standing},
};
use crate::{codes, rules::PluginRule};

/// Reads `version`. Any text that is not blank is a version; no order is read from it.
///
/// # Errors
///
/// [`Reported`] when it is blank or no string. A native manifest is loaded without a version
/// then.
pub(super) fn version<'v>(reader: &mut ObjectReader<'v, '_>) -> Result<Option<&'v str>, Reported> {
    let version = reader.optional_string("version")?;
    if version.is_none_or(|it| !it.trim().is_empty()) {
        return Ok(version);
    }
    let at = reader.at("version");
    let diag = at.error(codes::BLANK, "\"version\" is blank");
    Err(reader.push(diag.with_help("write a version, such as \"1.0.0\", or leave the key out")))
}

/// What an object with the keys `tools`, `execution` and `binary` offers.
#[derive(Default)]
pub(super) struct Offered {
    /// The tools that can be used, in the order of the text.
    pub(super) tools: Vec<ToolDef>,
    /// Where each of `tools` stands, in the same order.
    pub(super) spans: Vec<Span>,
    /// The entries that cannot be used, in the order of the text.
    pub(super) refused: Vec<RefusedTool>,
    /// How many tools are declared, right or wrong.
    pub(super) n_entries: usize,
    /// The rules of permission for calls of the tools.
    pub(super) rules: Arc<[PluginRule]>,
}

/// Reads an object that holds those keys and no others.
///
/// For the extension of a manifest of the format Agent Plugins. An unknown key is a warning. `plugin` is the
/// name of the plugin, where it has one, and `servers` are those that it declares.
///
/// # Errors
///
/// [`Reported`] when the object, `execution`, `binary`, `permissions` or the array of `tools` cannot be read. A
/// single tool does not fail it, unless rules of permission stand in it.
pub(super) fn offered(
    at: At<'_>,
    plugin: Option<&str>,
    servers: &[ServerDef],
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
    let declared = || Declared::new(tools.ok().flatten(), servers);
    let rules = permissions::read(&mut reader, plugin, declared, place);
    reader.finish();
    execution?;
    tools?;
    let rules = rules?;
    let Entries { tools, spans, refused, unread_rules } = entries;
    unread_rules.map_or(Ok(()), Err)?;
    Ok(Offered { tools, spans, refused, n_entries, rules })
}

/// Reads `execution`, and `binary` where that is what it says. Without the key each tool has a
/// command.
///
/// # Errors
///
/// [`Reported`] for another word and for a `binary` that cannot be used: without it no tool of
/// the plugin could run.
pub(super) fn execution(
    reader: &mut ObjectReader<'_, '_>,
    place: Place<'_>,
) -> Result<Execution, Reported> {
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

/// The entries of `tools`, sorted by whether they can be used. The fields are those of
/// [`Offered`].
#[derive(Default)]
pub(super) struct Entries {
    pub(super) tools: Vec<ToolDef>,
    pub(super) spans: Vec<Span>,
    pub(super) refused: Vec<RefusedTool>,
    /// Rules of permission stand in an entry, where none is read. They may be about any tool, so that the plugin cannot be
    /// used.
    pub(super) unread_rules: Option<Reported>,
}

/// Reads the items of `tools` one by one; no finding of one keeps another from being read.
/// `execution` says which form each of them has.
pub(super) fn entries(
    tools: At<'_>,
    execution: &Execution,
    place: Place<'_>,
    findings: &mut Findings,
) -> Entries {
    let mut budget = Budget::of_tools(tools);
    let mut unread_rules = None;
    let mut read: Vec<_> = tools
        .items()
        .map(|at| {
            let form = ToolForm::of(at, execution);
            if let Err(diag) = budget.spend(at, |it| Dialect::Own.parse(it).ok()) {
                findings.push(diag);
                return Entry { at, form, tool: None };
            }
            let tool = tool::read(at, form, Standing::Entry, execution.binary(), place, findings);
            if let Err(Refused::Plugin(reported)) = tool {
                unread_rules = Some(reported);
            }
            Entry { at, form, tool: tool.ok() }
        })
        .collect();
    refuse_equal_names(&mut read, findings);
    drop_wrong_undo(&mut read, findings);

    let mut res = Entries {
        tools: Vec::with_capacity(read.len()),
        spans: Vec::with_capacity(read.len()),
        refused: Vec::new(),
        unread_rules,
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

/// One entry while the entries are compared with each other.
struct Entry<'v> {
    at: At<'v>,
    form: ToolForm,
    /// `None` once there is a finding that refuses it.
    tool: Option<ToolDef>,
}

/// The name as it stands in the text, whether or not the entry can be used.
fn written_name(at: At<'_>) -> Option<&str> {
    at.member("name")?.value().as_str()
}

/// The first of two equal names stays; further names of a tool yield to any tool's name.
/// Names come first in all entries, aliases after them, so that the order of two entries does
/// not decide between a name and an alias. Time grows with `n log n` in the number of names.
fn refuse_equal_names<'v>(entries: &mut [Entry<'v>], findings: &mut Findings) {
    if has_unique_names(entries) {
        return;
    }
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
    let has_aliases =
        |it: &&mut Entry<'_>| it.tool.as_ref().is_some_and(|it| !it.metadata.aliases.is_empty());
    for entry in entries.iter_mut().filter(has_aliases) {
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

/// Whether all entries can be used so far and every name is there once. No is not certain.
fn has_unique_names(entries: &[Entry<'_>]) -> bool {
    let tools =
        entries.iter().map(|it| it.tool.as_ref().filter(|it| it.metadata.aliases.is_empty()));
    let names = tools.map(|it| it.map(|it| it.name.as_str()));
    names.collect::<Option<Vec<_>>>().is_some_and(are_unique)
}

/// Whether every name is there once.
pub(super) fn are_unique(mut names: Vec<&str>) -> bool {
    names.sort_unstable();
    names.is_sorted_by(|a, b| a != b)
}

/// The finding that `name`, which is a `what`, stands for a tool already.
fn taken(at: At<'_>, name: &str, what: &str, first: At<'_>) -> Diagnostic {
    at.error(codes::DUPLICATE_TOOL, format!("the {what} {} is taken", quoted(name)))
        .with_reason("a tool is called by its name, so every name of a plugin stands for one tool")
        .with_help("choose another name")
        .with_related(first.location(), "it is here first")
}

/// What takes a call back must be a tool that can be called; else that entry alone has no effect.
/// Only names count, not aliases, and only those of tools that are still in use. The tool that
/// names itself passes.
fn drop_wrong_undo(entries: &mut [Entry<'_>], findings: &mut Findings) {
    if entries.iter().flat_map(|it| &it.tool).all(|it| it.undo.is_none()) {
        return;
    }
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
