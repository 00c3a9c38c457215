//! What is said about the plugin as a whole.
//!
//! Of the native format a mistake in `name`,
//! `execution`, `binary`, `permissions`, or in the types of `tools` and `mcpServers`, costs the plugin; one in
//! `version`, `description` or `author` costs that text, which then counts as absent.

use flyto_diagnostics::{
    At, Diagnostic, Findings, Location, ObjectReader, Reported, Span, closest, quoted,
};

use super::{
    binary,
    def::{Manifest, Read},
    entries::{Entries, entries, execution, version},
    meant, permissions,
    place::Place,
    rule_names::Declared,
    servers::{self, beside::Beside},
};
use crate::{codes, names::NameKind};

/// Reads a manifest of the native format.
///
/// # Errors
///
/// [`Reported`] when the plugin cannot be used at all. Tools and servers that cannot be used are
/// left out of the result and do not fail it.
pub(super) fn read(
    root: At<'_>,
    place: Place<'_>,
    findings: &mut Findings,
) -> Result<Read, Reported> {
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

    let beside = match reader.is_present("mcpServers") {
        true => Beside::default(),
        false => servers::claude::read(place, reader.findings()),
    };
    let unread_rules = beside.unread_rules;
    let something = match beside.was_there {
        true => Ok(()),
        false => something(&mut reader, tools, servers),
    };
    let read_servers = match servers {
        Ok(Some(servers)) => servers::native::read(servers, place, reader.findings()),
        _ => beside.servers,
    };
    let entries = match (tools, &execution) {
        (Ok(Some(tools)), Ok(execution)) => entries(tools, execution, place, reader.findings()),
        _ => Entries::default(),
    };
    let name_span = reader.at("name").span();
    let declared = || Declared::new(tools.ok().flatten(), &read_servers);
    let rules = permissions::read(&mut reader, name.as_ref().ok().copied(), declared, place);
    reader.finish();

    let name = name?;
    execution?;
    something?;
    unread_rules.or(entries.unread_rules).map_or(Ok(()), Err)?;
    let rules = rules?;
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
        rules,
    };
    Ok(Read { manifest, name: name_span, tools: entries.spans, refused: entries.refused })
}

/// The name, by the rule of [`check_plugin_name`](crate::check_plugin_name). A near name that
/// keeps the rule is the suggestion.
pub(super) fn name<'v>(reader: &mut ObjectReader<'v, '_>) -> Result<&'v str, Reported> {
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

/// A part of the head: there, absent, or with a finding.
type Part<'v> = Result<Option<At<'v>>, Reported>;

/// Refuses a plugin that offers nothing.
/// An entry with a mistake counts as offered, so that its own finding is the one that is shown.
/// Where a key looks like `tools` or `mcpServers`, the finding is about that key. Otherwise it
/// stands at the opening brace.
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
