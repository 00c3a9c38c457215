//! What a configuration says about plugins that are not there, and what plugins declare that is not
//! started.
//!
//! A name that is granted, blocked or allowed and belongs to no plugin is most often misspelt, and
//! then a block does not hold. Nothing is said where the plugins that were meant may lie in
//! directories that were not searched.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use flyto_diagnostics::{Diagnostic, Findings, Location, Pointer, closest, quoted};
use flyto_execenv::Profile;
use flyto_plugin::{Catalogue, DirState, Plugin, SearchedDir, check_plugin_name};

use crate::{
    codes,
    config::{Config, Listed, Origin},
};

/// The plugins for which the configuration has a grant, and where it says so.
///
/// Where a flag or a variable names other directories than the configuration, its grants are for
/// plugins of those that it names itself, so that nothing can be said.
pub(crate) fn granted(config: &Config) -> BTreeMap<String, Location> {
    if names_no_dirs(config) {
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

/// The names of plugins that the configuration blocks and allows, where it can be told whether they
/// are there: under the same condition as for grants, and where plugins are used at all.
pub(crate) fn listed(config: &Config) -> Vec<Listed> {
    if names_no_dirs(config) || !config.plugins.enabled {
        return Vec::new();
    }
    // Of a name that no plugin can have, the reader of the file has spoken.
    let names = config.listed.iter().filter(|it| check_plugin_name(&it.name).is_ok());
    names.cloned().collect()
}

/// The directories of plugins that the operator names, and where; none where nothing names one, as the directories are
/// those of every user then.
pub(crate) fn named_dirs(config: &Config) -> BTreeMap<PathBuf, Location> {
    let dirs = &config.plugins.plugin_dirs;
    let Some(origin) = config.origins.get(PLUGIN_DIRS).filter(|_| config.plugins.enabled) else {
        return BTreeMap::new();
    };
    let written: Vec<_> = config.values.iter().filter(|it| it.0 == PLUGIN_DIRS).collect();
    // An entry that is passed over has no directory.
    let places =
        written.iter().map(|it| it.1.place.clone()).filter(|_| written.len() == dirs.len());
    let places = places.chain(std::iter::repeat(None));
    let place = |it: Option<Location>| it.unwrap_or_else(|| Location::file(origin.to_string()));
    dirs.iter().cloned().zip(places.map(place)).collect()
}

/// The key of the directories of plugins.
const PLUGIN_DIRS: &str = "plugins.plugin_dirs";

/// Whether the directories are not those of the files.
fn names_no_dirs(config: &Config) -> bool {
    let dirs = config.origins.get(PLUGIN_DIRS);
    matches!(dirs, Some(Origin::Flag(_) | Origin::Variable(_)))
}

/// What is odd about the plugins that are there, given the grants, the lists and what this host can do.
pub(crate) fn check(
    dirs: &BTreeMap<PathBuf, Location>,
    granted: &BTreeMap<String, Location>,
    listed: &[Listed],
    catalogue: &Catalogue,
    starts_servers: bool,
) -> Findings {
    let mut res = Findings::new();
    for it in catalogue.dirs.iter().filter(|it| it.state == DirState::Missing) {
        let Some(place) = dirs.get(&it.path) else { continue };
        let what = format!("there is no directory {}", quoted(&it.path.to_string_lossy()));
        let diag = Diagnostic::warning(codes::NO_PLUGIN_DIR, place.clone(), what);
        res.push(diag.with_help("make it, or name the directory that holds the plugins"));
    }
    let names = || catalogue.found.iter().filter_map(|it| it.name.as_deref());
    let found: HashSet<&str> = names().collect();
    // A plugin with a grant of its own was not meant.
    let others = some(names().filter(|it| !granted.contains_key(*it)));
    for (name, place) in granted.iter().filter(|it| !found.contains(it.0.as_str())) {
        let what = format!("there is no plugin {}, to which something is granted", quoted(name));
        let mut diag = Diagnostic::warning(codes::UNKNOWN_GRANTED, place.clone(), what);
        diag.pointer = Pointer::parse("/plugins/grants").ok().map(|it| it.join(name));
        let near = meant(name, &others, &res);
        res.push(with_help(diag, place, near));
    }
    let was_searched = |it: &SearchedDir| matches!(it.state, DirState::Searched | DirState::Plugin);
    if catalogue.dirs.iter().any(was_searched) {
        let in_list: HashSet<_> = listed.iter().map(|it| (it.list, it.name.as_str())).collect();
        let mut others: HashMap<&str, Vec<&str>> = HashMap::new();
        for it in listed.iter().filter(|it| !found.contains(it.name.as_str())) {
            // A plugin that the list names as well was not meant.
            let others = others.entry(it.list).or_insert_with(|| {
                some(names().filter(|name| !in_list.contains(&(it.list, name))))
            });
            let near = meant(&it.name, others, &res);
            res.push(unknown(it, near));
        }
    }
    for plugin in catalogue.plugins().filter(|_| !starts_servers) {
        if let Some(note) = unstarted(plugin) {
            res.push(note);
        }
    }
    res
}

/// The tools that ask for a sandbox profile that is not there: each call of one is refused.
pub(crate) fn unknown_profiles<'a>(
    names: &[String],
    plugins: impl IntoIterator<Item = &'a Plugin>,
) -> Findings {
    // That a tool was meant to run without one is no guess to make.
    let protecting: Vec<_> =
        names.iter().map(|it| &**it).filter(|it| *it != Profile::None.name()).collect();
    let mut res = Findings::new();
    for plugin in plugins {
        for tool in plugin.tools() {
            let asked = tool.sandbox.as_ref().filter(|it| !names.contains(it));
            let Some(profile) = asked else { continue };
            let (tool_name, name) = (quoted(&tool.name), quoted(profile));
            let what = format!(
                "the tool {tool_name} asks for the sandbox profile {name}, which is not there"
            );
            // Of one that is only counted, nothing is looked up.
            let (place, near) = match res.is_full() {
                true => (None, None),
                false => (
                    plugin.tool_value_location(&tool.name, "sandbox"),
                    closest(profile, protecting.iter().copied()),
                ),
            };
            let place = place.unwrap_or_else(|| plugin.name_location());
            let diag = Diagnostic::warning(codes::UNKNOWN_PROFILE, place, what);
            let diag = diag.with_reason("each call of it is refused");
            res.push(match near {
                Some(near) => diag.with_help(format!("did you mean {}?", quoted(near))),
                None => diag.with_help(format!("there are {}", protecting.join(", "))),
            });
        }
    }
    res
}

/// The most names of plugins that a misspelt one is compared with: 256, as many as [`closest`] takes.
const MOST_OTHERS: usize = 256;

/// The first [`MOST_OTHERS`] names.
fn some<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    names.take(MOST_OTHERS).collect()
}

/// The name that was meant. Not looked for where one more finding is only counted.
fn meant<'a>(name: &str, others: &[&'a str], findings: &Findings) -> Option<&'a str> {
    if findings.is_full() { None } else { closest(name, others.iter().copied()) }
}

/// A warning about a name in a list that no plugin has.
fn unknown(listed: &Listed, near: Option<&str>) -> Diagnostic {
    let Listed { list, index, name, place } = listed;
    let what = format!("there is no plugin {}, which {} names", quoted(name), quoted(list));
    let mut diag = Diagnostic::warning(codes::UNKNOWN_LISTED, place.clone(), what);
    diag.pointer = Pointer::parse(&format!("/plugins/{list}/{index}")).ok();
    with_help(diag, place, near)
}

/// The help for a name of no plugin that stands at a place.
fn with_help(diag: Diagnostic, place: &Location, near: Option<&str>) -> Diagnostic {
    let Some(near) = near else {
        return diag.with_help("write the name of a plugin as its manifest does");
    };
    let diag = diag.with_help(format!("did you mean {}?", quoted(near)));
    match place.span() {
        Some(span) => diag.with_suggestion(span, quoted(near)),
        None => diag,
    }
}

/// The most servers of a plugin that are named.
const MOST_SERVERS: usize = 10;

/// A note about the servers of a plugin.
fn unstarted(plugin: &Plugin) -> Option<Diagnostic> {
    let servers = &plugin.manifest().servers;
    if servers.is_empty() {
        return None;
    }
    let mut names: Vec<_> = servers.iter().take(MOST_SERVERS).map(|it| quoted(&it.name)).collect();
    if let n_more @ 1.. = servers.len() - names.len() {
        names.push(format!("and {n_more} more"));
    }
    let noun = if servers.len() == 1 { "server" } else { "servers" };
    let what = format!(
        "the plugin {} declares the {noun} {}, and this program starts none",
        quoted(plugin.name()),
        names.join(", ")
    );
    let note = Diagnostic::note(codes::SERVER_NOT_STARTED, plugin.name_location(), what);
    Some(note.with_help("a client of the Model Context Protocol can be told to start it"))
}
