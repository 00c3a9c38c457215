//! Rules that name a tool, whatever it touches.

use flyto_tools::ToolId;

use crate::{ClassTrust, Request, index::Hits, lookup::Lookup};

/// Rules that name the tool or its class.
///
/// Names that the plugin chose, and a class that it declares without being trusted,
/// count only for rules that ask or deny.
pub(super) fn of_tool<'a>(index: Lookup<'a>, request: &Request<'_>) -> Hits<'a> {
    let by_name = |name: &str| index.by_name(name, request.of_server);
    let mut res = by_name(request.id.as_str());
    let name = request.id.tool();
    let other_name = match (request.id.owner(), name.split_once("__")) {
        // `mcp__a__b` names the tool `b` of a server `a`, and as a wire name also `a__b` of a plugin `mcp`.
        (Some("mcp"), Some(other)) => Some(other),
        // What a plugin must not do, its servers must not either.
        (Some(owner), _) => owner.split_once('.').map(|(plugin, _)| (plugin, name)),
        (None, _) => None,
    };
    if let Some((owner, name)) = other_name
        && let Ok(id) = ToolId::with_owner(owner, name)
    {
        res.merge(by_name(id.as_str()).without_allow());
    }
    // Rules divide a name at its first two `_`, which may stand within the name of a server or a plugin.
    let owner = request.id.owner();
    let whole = owner.map(|it| format!("{it}__{name}"));
    for written in owner.into_iter().chain(whole.as_deref()).chain(request.wire_name) {
        if let Some((owner, name)) = written.split_once("__")
            && let Ok(id) = ToolId::with_owner(owner, name)
            && id != *request.id
        {
            res.merge(by_name(id.as_str()).without_allow());
        }
    }
    for alias in request.aliases.iter().map(String::as_str).chain(request.wire_name) {
        let hits = by_name(alias);
        res.merge(match request.class_trust {
            ClassTrust::Named => hits,
            ClassTrust::Unnamed => hits.without_allow(),
        });
    }
    // `class:a` names a class, and reads as the tool `a` of a plugin `class`: it narrows both.
    if request.id.owner() == Some("class") {
        res.merge(index.by_class(request.id.tool()).without_allow());
    }
    res.merge(index.by_class(request.effective_class().as_str()));
    if request.effective_class() != request.class {
        res.merge(index.by_class(request.class.as_str()).without_allow());
    }
    res
}
