//! Servers of a plugin of Claude Code.
//!
//! They stand in `.mcp.json` at the root of the plugin, under `mcpServers` or as the whole of the file, and in
//! `mcpServers` of the plugin's own manifest. The rules are those of a native block, with the references that Claude
//! Code knows. A server also finds `CLAUDE_PLUGIN_ROOT` and `CLAUDE_PLUGIN_DATA` in its environment.

use std::path::Path;

use flyto_diagnostics::{At, Findings};

use super::{RULES_ELSEWHERE, beside::Beside, def::ServerDef, native};
use crate::{
    files,
    manifest::{dialect::Dialect, place::Place, rule_keys, within::leaves},
};

/// The file at the root of a plugin in which Claude Code has its servers.
pub const CLAUDE_MCP_FILE: &str = ".mcp.json";

/// Reads `.mcp.json`, where there is one. One that cannot be used costs its servers alone.
pub(in crate::manifest) fn read(place: Place<'_>, findings: &mut Findings) -> Beside {
    // Most plugins have none, which one system call tells here.
    if !is_there(place) {
        return Beside::default();
    }
    file(Path::new(CLAUDE_MCP_FILE), place, findings)
}

/// Whether a plugin has `.mcp.json`.
pub(in crate::manifest) fn is_there(place: Place<'_>) -> bool {
    files::is_there(&files::joined(place.dir, CLAUDE_MCP_FILE))
}

/// Reads what a manifest of Claude Code says under `mcpServers`, and `.mcp.json`. Of two servers with one name the first
/// one counts.
pub(in crate::manifest) fn declared(
    declared: Option<At<'_>>,
    place: Place<'_>,
    findings: &mut Findings,
) -> Beside {
    let mut res = Beside::default();
    let mut names_default = false;
    let parts = match declared {
        Some(at) if at.value().as_array().is_some() => at.items().collect(),
        declared => Vec::from_iter(declared),
    };
    for at in parts {
        let more = match at.value().as_str() {
            Some(text) => {
                let path = Path::new(text);
                if let Some(diagnostic) = leaves(at, path, place) {
                    findings.push(diagnostic);
                    continue;
                }
                names_default |=
                    path.strip_prefix(".").unwrap_or(path) == Path::new(CLAUDE_MCP_FILE);
                file(path, place, findings)
            }
            None if at.value().as_object().is_some() => {
                let servers = servers(at, place, findings);
                Beside { servers, was_there: true, unread_rules: None }
            }
            None => {
                let what =
                    "\"mcpServers\" must be an object of servers, or the path of a file with one";
                findings.push(at.error(flyto_diagnostics::codes::WRONG_TYPE, what));
                continue;
            }
        };
        add(&mut res, more);
    }
    if !names_default {
        add(&mut res, read(place, findings));
    }
    res
}

fn add(to: &mut Beside, more: Beside) {
    to.was_there |= more.was_there;
    to.unread_rules = to.unread_rules.or(more.unread_rules);
    for server in more.servers {
        if to.servers.iter().all(|it| it.name != server.name) {
            to.servers.push(server);
        }
    }
}

/// The servers of a file in the plugin's directory.
fn file(path: &Path, place: Place<'_>, findings: &mut Findings) -> Beside {
    Beside::read(path, place, findings, |root, mut reader| {
        // Files of plugins have the servers as the whole of the file as well.
        if !reader.is_present("mcpServers") {
            return (Ok(servers(root, place, reader.findings())), Ok(()));
        }
        let at = reader.required_object("mcpServers");
        let elsewhere = rule_keys::Standing::Elsewhere(RULES_ELSEWHERE);
        let unread_rules = rule_keys::refuse(&mut reader, elsewhere);
        (at.map(|at| servers(at, place, reader.findings())), unread_rules)
    })
}

fn servers(at: At<'_>, place: Place<'_>, findings: &mut Findings) -> Vec<ServerDef> {
    let place = Place { dialect: Dialect::Claude, ..place };
    native::read(at, place, findings)
}
