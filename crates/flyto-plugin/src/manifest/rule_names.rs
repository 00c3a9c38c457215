//! Rules of a plugin that name none of its tools.
//!
//! Such a rule holds for no call, and its author counts on it. It is told as a warning, since a manifest may be read by
//! programs that know more of its tools. Names are those that the text declares, also of an entry that cannot be used: that
//! has a finding of its own. Which tools a server offers is known only when it is connected to.

use std::collections::BTreeSet;

use flyto_diagnostics::{At, Diagnostic, closest, quoted};
use serde_json::Value;

use super::servers::def::ServerDef;
use crate::{codes, rules::NamedTools};

/// What a plugin declares: tools with their further names, and servers.
pub(super) struct Declared<'v> {
    tools: BTreeSet<&'v str>,
    servers: Vec<&'v str>,
}

impl<'v> Declared<'v> {
    /// `tools` is the value of that key.
    pub(super) fn new(tools: Option<At<'v>>, servers: &'v [ServerDef]) -> Self {
        let names = |entry: At<'v>| {
            let aliases = entry.member("aliases").into_iter().flat_map(|it| it.items());
            let all = entry.member("name").into_iter().chain(aliases);
            all.filter_map(|it| it.value().as_str())
        };
        Self {
            tools: tools.into_iter().flat_map(|it| it.items()).flat_map(names).collect(),
            servers: servers.iter().map(|it| it.name.as_str()).collect(),
        }
    }

    /// The finding about a rule that names none of the tools; `None` where one may be meant.
    ///
    /// `text` is the rule at `at`. With `suggests`, the rule that was probably meant is looked for.
    pub(super) fn unmatched(
        &self,
        (plugin, at, text): (&str, At<'_>, &str),
        named: &NamedTools,
        suggests: bool,
    ) -> Option<Diagnostic> {
        let (is_there, kind) = match &named.server {
            None => (self.has_tool(named), "tool"),
            Some(server) => (self.servers.contains(&server.as_str()), "server"),
        };
        if is_there {
            return None;
        }
        let what = format!("the rule {} names no {kind} of the plugin", shown(text));
        let diag = at.warning(codes::UNMATCHED_RULE, what);
        let diag = diag.with_reason("it holds for no call");
        let meant = suggests.then(|| self.meant(plugin, named)).flatten();
        Some(match meant {
            Some(rule) => diag
                .with_help(format!("did you mean {}?", quoted(&rule)))
                // A name is whatever stands in the text.
                .with_suggestion(at.span(), Value::from(rule).to_string()),
            None => diag.with_help(format!("write the name of a {kind}, or remove the rule")),
        })
    }

    fn has_tool(&self, named: &NamedTools) -> bool {
        let name = named.name.as_str();
        match named.is_prefix {
            true => self.tools.range(name..).next().is_some_and(|it| it.starts_with(name)),
            false => self.tools.contains(name),
        }
    }

    /// The rule that was probably meant: one with the nearest name.
    fn meant(&self, plugin: &str, named: &NamedTools) -> Option<String> {
        let NamedTools { server, name, is_prefix } = named;
        let star = if *is_prefix { "*" } else { "" };
        if let Some(server) = server {
            let near = closest(server, self.servers.iter().copied())?;
            return Some(format!("mcp__{plugin}.{near}__{name}{star}"));
        }
        if name.is_empty() {
            let server = self.servers.first()?;
            return Some(format!("mcp__{plugin}.{server}__{star}"));
        }
        let tools = self.tools.iter().copied();
        let near = match is_prefix {
            true => closest(name, tools.map(|it| &it[..it.floor_char_boundary(name.len())])),
            false => closest(name, tools),
        }?;
        Some(format!("{plugin}:{near}{star}"))
    }
}

/// The text in quotes, cut.
pub(super) fn shown(text: &str) -> String {
    const MAX_SHOWN: usize = 256;
    quoted(&text[..text.floor_char_boundary(MAX_SHOWN)])
}
