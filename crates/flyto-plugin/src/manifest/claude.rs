//! Manifests of plugins of Claude Code: `.claude-plugin/plugin.json`.
//!
//! Of such a plugin only the servers are used. Its commands, agents, skills and hooks are texts and programs for another
//! host, and are passed over.

use std::sync::Arc;

use flyto_diagnostics::{At, Findings, ObjectReader, Reported};

use super::{
    def::{Manifest, Read},
    head,
    place::Place,
    rule_keys, servers,
};
use crate::codes;

/// The file that makes a directory a plugin of Claude Code, from the plugin's directory.
///
/// It counts where there is no `plugin.json` at the root.
pub const CLAUDE_MANIFEST_FILE: &str = ".claude-plugin/plugin.json";

/// Reads a manifest, and the servers in it and in `.mcp.json`.
///
/// # Errors
///
/// [`Reported`] for a name that breaks the rule, and for a plugin without servers.
pub(super) fn read(
    root: At<'_>,
    place: Place<'_>,
    findings: &mut Findings,
) -> Result<Read, Reported> {
    let mut reader = ObjectReader::new(root, findings)?;
    let name = head::name(&mut reader);
    let text = |key: &str| {
        let text = root.member(key).and_then(|it| it.value().as_str());
        text.filter(|it| !it.trim().is_empty()).map(ToOwned::to_owned)
    };
    let (version, description) = (text("version"), text("description"));
    let author = root.member("author");
    let author = author.and_then(|it| it.member("name").or(Some(it)));
    let author = author.and_then(|it| it.value().as_str()).map(ToOwned::to_owned);
    let declared = root.member("mcpServers");
    let name_span = reader.at("name").span();
    let elsewhere = rule_keys::Standing::Elsewhere(servers::RULES_ELSEWHERE);
    let unread_rules = rule_keys::refuse(&mut reader, elsewhere);
    let beside = servers::claude::declared(declared, place, reader.findings());
    let name = name?.to_owned();
    unread_rules?;
    beside.unread_rules.map_or(Ok(()), Err)?;
    if !beside.was_there {
        let what = "the plugin has no server";
        let reason = "of a plugin of Claude Code only the servers are used here";
        let help = "add servers to `.mcp.json` beside `.claude-plugin`";
        let diag = root.error(codes::NOTHING_OFFERED, what).with_reason(reason).with_help(help);
        return Err(findings.push(diag));
    }
    let manifest = Manifest {
        name,
        version,
        description,
        author,
        tools: Vec::new(),
        servers: beside.servers,
        rules: Arc::default(),
    };
    Ok(Read { manifest, name: name_span, tools: Vec::new(), refused: Vec::new() })
}
