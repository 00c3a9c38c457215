//! What a configuration says about plugins that are not there, and what plugins declare that nobody
//! starts.

use std::collections::BTreeMap;

use flyto_diagnostics::{Diagnostic, Findings, Location, Pointer, closest, quoted};
use flyto_plugin::{Catalogue, Plugin};

use crate::{
    codes,
    config::{Config, Origin},
};

/// The plugins for which the configuration has a grant, and where it says so.
///
/// Where a flag or a variable names other directories than the configuration, its grants are for
/// plugins of those that it names itself, so that nothing can be said.
pub(crate) fn granted(config: &Config) -> BTreeMap<String, Location> {
    let dirs = config.origins.get("plugins.plugin_dirs");
    if matches!(dirs, Some(Origin::Flag(_) | Origin::Variable(_))) {
        return BTreeMap::new();
    }
    let names = config.plugins.grants.keys();
    names
        .map(|name| {
            let place = config.grant_places.get(name).cloned();
            (name.clone(), place.unwrap_or_else(|| Location::file("the configuration")))
        })
        .collect()
}

/// What is odd about the plugins that are there, given the grants and what this host can do.
pub(crate) fn check(granted: &BTreeMap<String, Location>, catalogue: &Catalogue) -> Findings {
    let mut res = Findings::new();
    let names = || catalogue.found.iter().filter_map(|it| it.name.as_deref());
    for (name, place) in granted.iter().filter(|it| names().all(|found| found != it.0)) {
        let what = format!("there is no plugin {}, to which something is granted", quoted(name));
        let mut diag = Diagnostic::warning(codes::NOBODY_GRANTED, place.clone(), what);
        diag.pointer = Pointer::parse("/plugins/grants").ok().map(|it| it.join(name));
        // A plugin with a grant of its own was not meant.
        let others = names().filter(|it| !granted.contains_key(*it));
        res.push(match (closest(name, others), place.span()) {
            (Some(near), Some(span)) => diag
                .with_help(format!("did you mean {}?", quoted(near)))
                .with_suggestion(span, quoted(near)),
            (Some(near), None) => diag.with_help(format!("did you mean {}?", quoted(near))),
            (None, _) => diag.with_help("write the name of a plugin as its manifest does"),
        });
    }
    for plugin in catalogue.plugins() {
        if let Some(note) = unstarted(plugin) {
            res.push(note);
        }
    }
    res
}

/// A note about the servers of a plugin.
fn unstarted(plugin: &Plugin) -> Option<Diagnostic> {
    let names: Vec<_> = plugin.manifest().servers.iter().map(|it| quoted(&it.name)).collect();
    if names.is_empty() {
        return None;
    }
    let noun = if names.len() == 1 { "server" } else { "servers" };
    let what = format!(
        "the plugin {} declares the {noun} {}, and this program starts none",
        quoted(plugin.name()),
        names.join(", ")
    );
    let note = Diagnostic::note(codes::SERVER_NOT_STARTED, plugin.name_location(), what);
    Some(note.with_help("a client of the Model Context Protocol can be told to start it"))
}
