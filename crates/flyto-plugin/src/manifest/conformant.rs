//! Manifests of the format Agent Plugins 1.0.0, with tools in an extension of their own.
//!
//! The format is at <https://agent-plugins.org>. Its top level is closed: what it does not know is
//! reported and passed over, and any other violation costs the plugin. Nothing is ever fetched.
//!
//! Names of this format may hold `.`, and ids of tools may not; [`id`] is the one place that
//! knows both. Tools come from the extension [`EXTENSION`] with the keys and checks of a native
//! manifest, with one difference: no path in them may lead out of the plugin's directory.

use flyto_diagnostics::{At, Diagnostic, Findings, ObjectReader, Reported, quoted};

use super::{
    def::{Manifest, Read},
    entries,
    place::Place,
    rule_keys, servers,
};
use crate::{codes, names::MAX_NAME_CHARS};

/// What `$schema` says in a manifest of this format.
pub(super) const SCHEMA: &str = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json";

/// The extension that holds tools, with the keys of a native manifest.
const EXTENSION: &str = "dev.flyto";

/// Whether a manifest is of this format. Any other `$schema` is for editors.
///
/// Decided by `$schema` alone, compared exactly: a manifest says by it that it wants these
/// rules.
pub(super) fn is_conformant(root: At<'_>) -> bool {
    root.member("$schema").and_then(|it| it.value().as_str()) == Some(SCHEMA)
}

/// The name that stands before the names of tools, where `.` cannot stand.
/// What comes out keeps the rule of [`check_plugin_name`](crate::check_plugin_name), provided
/// that the name kept the rule of this format. Two names may become one, as `a.b` and `a-b` do;
/// the search then refuses the later plugin.
pub(super) fn id(name: &str) -> String {
    name.replace('.', "-")
}

/// Reads a manifest and the servers in `mcp.json` beside it.
///
/// # Errors
///
/// [`Reported`] for any part of the head that cannot be read, and for a plugin that offers
/// neither a tool nor a file `mcp.json`. A server that cannot be used costs itself.
pub(super) fn read(
    root: At<'_>,
    place: Place<'_>,
    findings: &mut Findings,
) -> Result<Read, Reported> {
    let mut reader = ObjectReader::new(root, findings)?;
    reader.allow("$schema");
    let name = name(&mut reader);
    let version = entries::version(&mut reader);
    let description = reader.optional_string("description");
    let author = author(&mut reader);
    let others = [
        reader.optional_string("homepage").map(drop),
        reader.optional_string("repository").map(drop),
        reader.optional_string("license").map(drop),
        reader.optional_string_array("keywords").map(drop),
    ];
    let extension = extension(&mut reader);
    let plugin = name.as_ref().ok().map(|it| id(it));
    for key in ["tools", "execution", "binary"] {
        if reader.is_present(key) {
            let at = reader.at(key);
            let what = format!("{} has no place at the top of this format", quoted(key));
            let help = format!("move it into `\"extensions\": {{\"{EXTENSION}\": {{…}}}}`");
            reader.push(at.warning(codes::MISPLACED, what).with_help(help));
            reader.allow(key);
        }
    }
    if reader.is_present("mcpServers") {
        let at = reader.at("mcpServers");
        let what = "\"mcpServers\" has no place in a manifest of this format";
        let help = "move it into a file `mcp.json` beside the manifest";
        reader.push(at.warning(codes::MISPLACED, what).with_help(help));
        reader.allow("mcpServers");
    }
    let in_extension = rule_keys::Standing::Elsewhere(
        "rules stand in `\"extensions\": {\"dev.flyto\": {\"permissions\": {…}}}`",
    );
    let unread_rules = rule_keys::refuse(&mut reader, in_extension);
    let name_span = reader.at("name").span();
    let read_servers = servers::conformant::read(place, reader.findings());
    let offered = match extension {
        Ok(Some(at)) => {
            let place = Place { is_confined: true, ..place };
            let servers = &read_servers.servers;
            entries::offered(at, plugin.as_deref(), servers, place, reader.findings())
        }
        Ok(None) => Ok(entries::Offered::default()),
        Err(reported) => Err(reported),
    };
    reader.finish();

    let name = name?;
    unread_rules?;
    read_servers.unread_rules.map_or(Ok(()), Err)?;
    for other in others {
        other?;
    }
    let text = |text: Option<&str>| text.filter(|it| !it.trim().is_empty()).map(ToOwned::to_owned);
    let manifest_version = text(version?);
    let (description, author, offered) = (text(description?), author?, offered?);
    if offered.n_entries == 0 && !read_servers.was_there {
        let what = "the plugin has neither a tool nor a server";
        let reason = "other parts of a plugin, such as skills, are not used here";
        let help =
            format!("add tools to \"{EXTENSION}\" in \"extensions\", or servers to `mcp.json`");
        let diag = root.error(codes::NOTHING_OFFERED, what).with_reason(reason).with_help(help);
        return Err(findings.push(diag));
    }
    let manifest = Manifest {
        name: id(name),
        version: manifest_version,
        description,
        author,
        tools: offered.tools,
        servers: read_servers.servers,
        rules: offered.rules,
    };
    Ok(Read { manifest, name: name_span, tools: offered.spans, refused: offered.refused })
}

/// The name by the rule of this format: 1 to 64 small letters, digits, `-` and `.`, with letters
/// or digits at both ends and no two signs of a kind in a row.
fn name<'v>(reader: &mut ObjectReader<'v, '_>) -> Result<&'v str, Reported> {
    let name = reader.required_string("name")?;
    let why = if name.is_empty() {
        "is empty"
    } else if name.len() > MAX_NAME_CHARS {
        "has more than 64 characters"
    } else if !name.bytes().all(|it| matches!(it, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.')) {
        "holds something other than small letters, digits, `-` and `.`"
    } else if name.starts_with(['-', '.']) || name.ends_with(['-', '.']) {
        "begins or ends with `-` or `.`"
    } else if name.contains("--") || name.contains("..") {
        "holds `--` or `..`"
    } else {
        return Ok(name);
    };
    let at = reader.at("name");
    let what = format!("the name {} of a plugin {why}", quoted(name));
    let help = "this format knows small letters, digits, and `-` and `.` between them";
    Err(reader.push(at.error(codes::BAD_PLUGIN_NAME, what).with_help(help)))
}

/// The author, which is an object in this format: the name, and an address behind it.
/// `url` is checked and dropped: a manifest has no place for it here.
fn author(reader: &mut ObjectReader<'_, '_>) -> Result<Option<String>, Reported> {
    let Some(at) = reader.optional_object("author")? else { return Ok(None) };
    let mut reader = ObjectReader::new(at, reader.findings())?;
    let name = reader.optional_string("name");
    let email = reader.optional_string("email");
    let url = reader.optional_string("url");
    reader.finish();
    url?;
    Ok(match (name?, email?) {
        (Some(name), Some(email)) => Some(format!("{name} <{email}>")),
        (name, email) => name.or(email).map(ToOwned::to_owned),
    })
}

/// The extension with tools, if there is one. Other extensions are other programs'.
/// Every extension has to be an object under a name with a `.` in it, whether or not it is read.
fn extension<'v>(reader: &mut ObjectReader<'v, '_>) -> Result<Option<At<'v>>, Reported> {
    let Some(at) = reader.optional_object("extensions")? else { return Ok(None) };
    let mut failed = None;
    for (name, value) in at.members() {
        if let Some(diagnostic) = extension_fault(name, value) {
            failed = Some(reader.push(diagnostic));
        }
    }
    // A name that occurs twice has no one meaning.
    ObjectReader::new(at, reader.findings()).map(drop)?;
    failed.map_or_else(|| Ok(at.member(EXTENSION)), Err)
}

/// What is wrong with one extension: its value is no object, or its name is no domain.
fn extension_fault(name: &str, value: At<'_>) -> Option<Diagnostic> {
    if value.value().as_object().is_none() {
        let found = value.value().describe();
        let what = format!("the extension {} must be an object, found {found}", quoted(name));
        return Some(value.error(flyto_diagnostics::codes::WRONG_TYPE, what));
    }
    if name.contains('.') {
        return None;
    }
    let what = format!("the extension {} has no domain as its name", quoted(name));
    let diag = value.error(codes::MISPLACED, what);
    Some(diag.with_help(format!("write a domain backwards, such as \"{EXTENSION}\"")))
}
