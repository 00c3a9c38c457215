//! Servers of the Model Context Protocol that a plugin declares.
//!
//! Three places declare servers, each with rules of its own: `native` is the block in a manifest, in
//! which references to variables are expanded, `conformant` is the file `mcp.json`, in which
//! only the plugin's own two directories are, and `claude` is the file `.mcp.json`, with the references of
//! Claude Code. All end in the same [`ServerDef`]. A server that
//! cannot be used costs itself. Nothing is started, and no address is looked up.

pub(super) mod beside; //     a file of them beside a manifest
pub(super) mod claude; //     in the files of plugins of Claude Code
pub(super) mod conformant; // in the file `mcp.json` beside an Agent Plugins manifest
pub(super) mod def; //        what is declared
mod header; //                headers that can be sent
pub(super) mod native; //     in the block `mcpServers` of a manifest
mod url; //                   addresses of servers

use std::collections::BTreeMap;

use flyto_diagnostics::{At, Diagnostic, Findings, ObjectReader, Reported, Span, quoted};
use flyto_execenv::{Environment, Template};

use self::def::ServerDef;
use super::{
    dialect::Dialect,
    env::{self, Budget},
    field::{check_bytes, check_nul},
    literal::span_within,
};
use crate::{
    codes,
    environment::{PLUGIN_DATA, PLUGIN_ROOT},
    names::NameKind,
    options::Depth,
    place::{about_key, moved},
};

/// What to do with rules of permission beside the declaration of servers, and in it.
pub(super) const RULES_ELSEWHERE: &str =
    "rules stand in \"permissions\" of `plugin.json`, beside \"name\", or of the configuration";

/// What other programs call the plugin's directories.
///
/// A server that needs one of these gets a help that names the variable of this format.
const OTHER_ROOTS: [(&str, &str); 5] = [
    ("CLAUDE_PLUGIN_ROOT", PLUGIN_ROOT),
    ("extensionPath", PLUGIN_ROOT),
    ("__dirname", PLUGIN_ROOT),
    ("CLAUDE_PLUGIN_DATA", PLUGIN_DATA),
    ("pluginRoot", PLUGIN_ROOT),
];

/// Reads every server of an object of them with `read`; one that cannot be used costs itself.
/// `read` is called for each object whose name is in order, in the order of the text, and gives
/// `None` for a server that is switched off. Of a name that occurs twice both servers are left
/// out.
///
/// `parse` reads a value with references as `read` does.
fn read_all(
    at: At<'_>,
    findings: &mut Findings,
    parse: impl Fn(&str) -> Option<Template>,
    read: impl Fn(&str, At<'_>, &mut Findings) -> Result<Option<ServerDef>, Reported>,
) -> Vec<ServerDef> {
    // The reader tells of names that occur twice; which of the two was meant is not known.
    if ObjectReader::new(at, findings).map(drop).is_err() {
        return Vec::new();
    }
    let mut n_same: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, _) in at.members() {
        *n_same.entry(name).or_default() += 1;
    }
    let mut res = Vec::new();
    let mut budget = Budget::of_servers(at);
    for (name, value) in at.members() {
        if n_same[name] > 1 || check_name(at, name, findings).is_err() {
            continue;
        }
        if value.value().as_object().is_none() {
            let found = value.value().describe();
            let what = format!("the server {} must be an object, found {found}", quoted(name));
            let diag = value.error(flyto_diagnostics::codes::WRONG_TYPE, what);
            findings.push(diag.with_help("write `{\"command\": …, \"args\": […]}`"));
            continue;
        }
        if let Err(diag) = budget.spend(value, &parse) {
            findings.push(diag);
            continue;
        }
        res.extend(read(name, value, findings).ok().flatten());
    }
    res
}

/// The name stands before the names of the server's tools, so it has a rule. A near name that
/// keeps it is the suggestion.
fn check_name(servers: At<'_>, name: &str, findings: &mut Findings) -> Result<(), Reported> {
    let Err(fault) = NameKind::Server.check(name) else { return Ok(()) };
    let what = format!("the name {} of a server {fault}", quoted(name));
    let diag = about_key(servers, name, codes::BAD_SERVER_NAME, what);
    let diag = diag.with_help(format!("a name is made of {}", NameKind::Server.rule()));
    let key = servers.value().member(name).map(|it| it.key.span);
    Err(findings.push(match (NameKind::Server.mended(name), key) {
        (Some(better), Some(key)) => diag.with_suggestion(key, quoted(&better)),
        _ => diag,
    }))
}

/// Reports the variables that a server needs and the host does not have. It is kept, and not to be
/// started.
/// Without `host` nothing is known, and nothing is said. The finding names each variable with
/// the values that use it.
fn report_unset(
    server: &mut ServerDef,
    at: At<'_>,
    host: Option<&Environment>,
    depth: Depth,
    findings: &mut Findings,
) {
    let Some(host) = host else { return };
    let missing = server.look_up(host);
    if missing.is_empty() {
        return;
    }
    let noun = match missing.missing.len() {
        1 => "a variable that is",
        _ => "variables that are",
    };
    let list = missing.listed();
    let what = format!("the server {} needs {noun} not set: {list}", quoted(&server.name));
    let diag = match depth {
        Depth::Quick => at.warning(codes::SERVER_UNSET, what),
        Depth::Full => at.error(codes::SERVER_UNSET, what),
    };
    let other = OTHER_ROOTS.into_iter().find(|it| missing.missing.contains_key(it.0));
    findings.push(diag.with_reason("it is not started without them").with_help(match other {
        Some((other, own)) => format!("write `${{{own}}}` in place of `${{{other}}}`"),
        None => "set them for the host, or write a default: `${NAME:-default}`".to_owned(),
    }));
}

/// A value with references to variables.
/// `label` names the value in a message: `"url"`, `argument 2`.
fn template(
    at: At<'_>,
    label: &str,
    text: &str,
    dialect: Dialect,
) -> Result<Template, Box<Diagnostic>> {
    check_nul(at, label)?;
    let res = env::parse(at, &label, text, dialect)?;
    check_bytes(at, label, res.min_bytes())?;
    Ok(res)
}

/// A text that some programs read as a variable and that is taken literally here.
/// `{env:NAME}` with no `$` in front; the warning has `${NAME}` as suggestion.
fn foreign_reference(at: At<'_>, text: &str) -> Option<Diagnostic> {
    let start =
        text.match_indices("{env:").map(|it| it.0).find(|&it| !text[..it].ends_with('$'))?;
    let end = start + text[start..].find('}')? + 1;
    let name = &text[start + 5..end - 1];
    let span: Span = span_within(at, start, end);
    let what = format!("{} stays as it is", quoted(&text[start..end]));
    let diag = at.warning(codes::BAD_REFERENCE, what);
    let help = format!("a variable of the host is written `${{{name}}}`");
    Some(moved(diag, at, span).with_help(help).with_suggestion(span, format!("${{{name}}}")))
}
