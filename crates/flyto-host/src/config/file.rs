//! One configuration file.
//!
//! The reader goes through the whole file, whatever it finds. It never passes over a key that a
//! security rule may stand under: one that is near to such a key, or stands in the wrong section,
//! is an error. Other unknown keys are warnings of the [`ObjectReader`].

use std::{
    collections::BTreeSet,
    mem,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use flyto_diagnostics::{At, Findings, KnownNames, Location, ObjectReader, Source, json, quoted};
use flyto_plugin::{
    LIMIT_KEYS, LoadOptions, PluginConfig, ServerDef, ambient_home_of, expand_home,
};

use super::audit::{self, AuditConfig};
use super::evolve::{self, EvolveConfig};
use super::permissions::{self, Written};
use super::sandbox::{self, Sandbox, grant_path};
use super::{secret_rules, servers};
use crate::{codes, places::Places, secrets::OutputGuard};

/// What one file says, and which of its keys it has.
///
/// Fields whose key is not in `set` have their defaults and mean nothing.
#[derive(Debug, Default)]
pub(crate) struct FileConfig {
    pub(crate) plugins: PluginConfig,
    pub(crate) exec_tools: Vec<PathBuf>,
    pub(crate) servers: Vec<ServerDef>,
    pub(crate) output_limit_bytes: u64,
    pub(crate) sandbox: Sandbox,
    pub(crate) permissions: Vec<Written>,
    pub(crate) audit: AuditConfig,
    pub(crate) evolve: EvolveConfig,
    pub(crate) output_guard: Option<OutputGuard>,
    pub(crate) secret_rules: Option<PathBuf>,
    /// Keys that are there, with dots: `plugins.enabled`.
    pub(crate) set: BTreeSet<&'static str>,
    /// The text, for findings about a value of it.
    pub(crate) text: Option<(Source, json::Value<'static>)>,
    /// What could not be read.
    pub(crate) unread: Unread,
}

/// What of a file could not be read.
///
/// Both are `false` for a file that was read whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Unread {
    /// Some protection or other.
    pub(crate) any: bool,
    /// The section `sandbox`, or the whole file.
    pub(crate) sandbox: bool,
}

impl FileConfig {
    /// A file of which nothing can be read.
    pub(crate) fn unreadable() -> Self {
        Self { unread: Unread { any: true, sandbox: true }, ..Self::default() }
    }
}

/// The keys that say that a file is a configuration.
const KEYS: [&str; 11] = [
    "plugins",
    "exec_tools",
    servers::KEY,
    "output_limit_bytes",
    "sandbox",
    PERMISSIONS,
    "audit",
    "evolve",
    "output_guard",
    secret_rules::KEY,
    TRUSTED_DIRS,
];

/// Where the schema of the file lies, for editors.
const SCHEMA: &str = "$schema";

/// A key of former versions.
const TRUSTED_DIRS: &str = "trusted_dirs";

/// Keys that hold security rules, each with the place that it belongs into, in words: the sections with rules, and every key of
/// them. The place of a section is empty.
static RULES: LazyLock<Vec<(&'static str, &'static str)>> = LazyLock::new(|| {
    fn of<'k, T>(
        section: &'k str,
        keys: &'k [(&'k str, T)],
    ) -> impl Iterator<Item = (&'k str, &'k str)> {
        keys.iter().map(move |it| (it.0, section))
    }
    let sections =
        ["plugins", "sandbox", PERMISSIONS, "audit", "evolve", "output_guard", secret_rules::KEY];
    let mut res: Vec<(&str, &str)> = sections.map(|it| (it, "")).to_vec();
    res.extend(of("\"plugins\"", &PLUGIN_KEYS));
    res.extend(of("\"sandbox\"", &sandbox::CLASSES).filter(|it| it.0 != "evolve"));
    res.push(("profiles", "\"sandbox\""));
    res.extend(permissions::KEYS.iter().map(|it| (it.0, "\"permissions\"")));
    res.extend(sandbox::PROFILE_KEYS.map(|it| (it, "a profile of \"sandbox\"")));
    res.extend(LIMIT_KEYS.map(|it| (it, "the \"limits\" of a profile")));
    res.extend(of("\"audit\"", &audit::KEYS));
    res.extend(of("\"evolve\"", &evolve::KEYS));
    // Of a key of several sections, the first is told.
    let mut known = BTreeSet::new();
    res.retain(|it| known.insert(it.0));
    res
});

/// The keys of [`KEYS`], to find the one that was meant.
static NEAR_KEYS: LazyLock<KnownNames<'static>> = LazyLock::new(|| KnownNames::new(KEYS));

/// Those of [`KEYS`] and of [`RULES`].
static NEAR_RULES: LazyLock<KnownNames<'static>> =
    LazyLock::new(|| KnownNames::new(KEYS.into_iter().chain(RULES.iter().map(|it| it.0))));

/// How many keys of one file are refused because a rule may stand under them. Beyond them the rest of the file counts
/// as unread.
const MOST_MISPLACED: usize = 32;

/// Why what may be a rule is no warning.
const NOT_READ: &str = "a rule that is not read would not hold";

/// The section with the rules of permission.
const PERMISSIONS: &str = "permissions";

/// Keys of the section about plugins, as [`FileConfig::set`] names them.
const PLUGIN_KEYS: [(&str, &str); 8] = [
    ("enabled", "plugins.enabled"),
    ("plugin_dirs", "plugins.plugin_dirs"),
    ("directories", "plugins.plugin_dirs"),
    ("allowed_plugins", "plugins.allowed_plugins"),
    ("blocked_plugins", "plugins.blocked_plugins"),
    ("grants", "plugins.grants"),
    ("strict_env", "plugins.strict_env"),
    ("ready", "plugins.ready"),
];

/// Sections of ZeptoClaw's configuration, each with what can be made of it.
const FOREIGN: [(&str, &str); 2] = [
    (
        "custom_tools",
        "write each of its entries as a tool of a plugin, with a JSON Schema as \"parameters\"",
    ),
    ("providers", "a provider of models has no tools; remove it"),
];

/// What to do about a `~` that stands for nothing.
pub(super) const WRITE_OUT: &str = "write the path out";

/// Whether an object is a configuration, judged by its keys. One of them may be misspelt. One without keys of its
/// own, such as `{}`, sets nothing.
pub(crate) fn is_config(root: &json::Value<'_>) -> bool {
    let Some(members) = root.as_object() else { return false };
    let mut keys = members.iter().map(|it| &*it.key.value);
    let is_foreign = |key: &str| FOREIGN.iter().any(|it| it.0 == key);
    let is_misplaced = |key: &str| key.ends_with("_plugins") || key == "strict_env";
    let sets_nothing = keys.clone().all(|key| key == SCHEMA);
    let is_own =
        |key: &str| NEAR_KEYS.closest(key).is_some() || is_foreign(key) || is_misplaced(key);
    sets_nothing || keys.any(is_own)
}

/// Reads a file; `None` where it cannot be used at all. Relative paths in it start from its
/// directory. `options` say how closely its servers are looked at.
pub(crate) fn read_config_file(
    source: &Source,
    dir: &Path,
    places: &Places,
    options: &LoadOptions,
    findings: &mut Findings,
) -> Option<FileConfig> {
    Some(read_file(source, dir, places, options, findings)).filter(|it| !it.unread.any)
}

/// Reads what can be read of a file that only narrows.
pub(crate) fn read_project_file(
    source: &Source,
    dir: &Path,
    places: &Places,
    findings: &mut Findings,
) -> FileConfig {
    read_file(source, dir, places, &LoadOptions::new(), findings)
}

fn read_file(
    source: &Source,
    dir: &Path,
    places: &Places,
    options: &LoadOptions,
    findings: &mut Findings,
) -> FileConfig {
    let Ok(root) = findings.take(json::parse(source)) else { return FileConfig::unreadable() };
    let mut res = read_root(At::root(source, &root), dir, places, options, findings);
    res.text = Some((source.clone(), root.into_owned()));
    res
}

/// Reads on after a mistake, so that a file that narrows still narrows with what can be read.
fn read_root(
    at: At<'_>,
    dir: &Path,
    places: &Places,
    options: &LoadOptions,
    findings: &mut Findings,
) -> FileConfig {
    let Ok(mut reader) = ObjectReader::new(at, findings) else { return FileConfig::unreadable() };
    let mut res = FileConfig::default();
    // Editors look for it; the host does not.
    reader.allow(SCHEMA);
    for (key, help) in FOREIGN {
        if reader.is_present(key) {
            let what = format!("{key:?} is another program's section, and is passed over");
            let warning = reader.at(key).warning(codes::FOREIGN_SECTION, what);
            reader.push(warning.with_help(help));
        }
        reader.allow(key);
    }
    if let Ok(Some(section)) = reader.optional_object("plugins") {
        let expand = |path: &str| expand_home(path, places.home.as_deref(), ambient_home_of);
        match PluginConfig::read(section, expand, reader.findings()) {
            Ok(plugins) => {
                res.plugins = plugins;
                let keys = PLUGIN_KEYS.iter().filter(|it| section.member(it.0).is_some());
                res.set.extend(keys.map(|it| it.1));
            }
            Err(_) => {
                res.unread.any = true;
                read_blocks(section, &mut res);
            }
        }
        leave_out_links(&mut res.plugins, section, places, reader.findings());
        let mut dirs = Vec::new();
        let written = section.member("plugin_dirs").or_else(|| section.member("directories"));
        for at in written.into_iter().flat_map(|it| it.items()) {
            match expand_path(at.value().as_str().unwrap_or_default(), dir, places) {
                Ok(path) => dirs.push(path),
                // Fewer plugins are no danger, and the others are no less in order.
                Err(why) => {
                    reader.push(at.warning(codes::NO_HOME, why).with_help(WRITE_OUT));
                }
            }
        }
        res.plugins.plugin_dirs = dirs;
    }
    if let Some(paths) = read_paths(&mut reader, "exec_tools", dir, places) {
        res.exec_tools = paths;
        res.set.insert("exec_tools");
    }
    if let Ok(Some(section)) = reader.optional_object(servers::KEY) {
        res.servers = servers::read(section, dir, options, reader.findings());
        res.set.insert(servers::KEY);
    }
    if reader.is_present(TRUSTED_DIRS) {
        let what = format!("the key {TRUSTED_DIRS:?} has no effect");
        let diag = reader.at(TRUSTED_DIRS).warning(codes::TRUSTED_DIRS, what);
        let diag =
            diag.with_reason("trust is of the content of a project's file, not of its directory");
        let help = "remove the key, and run `flyto trust DIR` for each project";
        reader.push(diag.with_help(help));
    }
    reader.allow(TRUSTED_DIRS);
    if let Ok(Some(limit)) = reader.optional_u64("output_limit_bytes") {
        res.output_limit_bytes = limit;
        res.set.insert("output_limit_bytes");
    }
    let sandbox = reader.optional("sandbox").and_then(|it| match it {
        Some(at) => Sandbox::read(at, places, reader.findings()).map(Some),
        None => Ok(None),
    });
    match sandbox {
        Ok(Some(sandbox)) => {
            res.sandbox = sandbox;
            res.set.insert("sandbox");
        }
        Ok(None) => {}
        Err(_) => res.unread = Unread { any: true, sandbox: true },
    }
    match reader.optional(PERMISSIONS) {
        Ok(Some(at)) => {
            let (rules, read) = permissions::read(at, reader.findings());
            res.permissions = rules;
            res.set.extend(
                permissions::KEYS.iter().filter(|it| at.member(it.0).is_some()).map(|it| it.1),
            );
            res.unread.any |= read.is_err();
        }
        Ok(None) => {}
        Err(_) => res.unread.any = true,
    }
    match reader.optional("audit").map(|it| it.map(|at| AuditConfig::read(at, reader.findings()))) {
        Ok(Some(Ok(audit))) => {
            res.audit = audit;
            let section = reader.at("audit");
            let keys = audit::KEYS.iter().filter(|it| section.member(it.0).is_some());
            res.set.extend(keys.map(|it| it.1));
        }
        Ok(None) => {}
        Ok(Some(Err(_))) | Err(_) => res.unread.any = true,
    }
    let evolve = reader.optional("evolve").and_then(|it| {
        it.map(|at| Ok((at, EvolveConfig::read(at, dir, places, reader.findings())?))).transpose()
    });
    match evolve {
        Ok(Some((section, evolve))) => {
            res.evolve = evolve;
            let keys = evolve::KEYS.iter().filter(|it| section.member(it.0).is_some());
            res.set.extend(keys.map(|it| it.1));
        }
        Ok(None) => {}
        Err(_) => res.unread.any = true,
    }
    match reader.optional_one_of("output_guard", &OUTPUT_GUARDS) {
        Ok(Some(action)) => {
            res.output_guard = Some(action);
            res.set.insert("output_guard");
        }
        Ok(None) => {}
        Err(_) => res.unread.any = true,
    }
    match reader.optional_string(secret_rules::KEY) {
        Ok(Some(text)) => match expand_path(text, dir, places) {
            Ok(path) => {
                res.secret_rules = Some(path);
                res.set.insert(secret_rules::KEY);
            }
            Err(why) => {
                let error = reader.at(secret_rules::KEY).error(codes::NO_HOME, why);
                reader.push(error.with_help(WRITE_OUT));
                res.unread.any = true;
            }
        },
        Ok(None) => {}
        Err(_) => res.unread.any = true,
    }
    for meant in refuse_misplaced_rules(at, &mut reader) {
        res.unread.any = true;
        res.unread.sandbox |= is_of_sandbox(meant);
    }
    reader.finish();
    res
}

/// What becomes of secrets in results, as a configuration names it.
const OUTPUT_GUARDS: [(&str, OutputGuard); 4] = [
    ("off", OutputGuard::Off),
    ("report", OutputGuard::Report),
    ("redact", OutputGuard::Redact),
    ("refuse", OutputGuard::Refuse),
];

/// Takes what keeps plugins out from a section that cannot be read whole.
fn read_blocks(section: At<'_>, res: &mut FileConfig) {
    let bool = |key: &str| section.member(key).and_then(|it| it.value().as_bool());
    let names = |key: &str| -> BTreeSet<String> {
        let items = section.member(key).into_iter().flat_map(|it| it.items());
        items.filter_map(|it| Some(it.value().as_str()?.to_owned())).collect()
    };
    if bool("enabled") == Some(false) {
        res.plugins.enabled = false;
        res.set.insert("plugins.enabled");
    }
    if bool("strict_env") == Some(true) {
        res.plugins.strict_env = true;
        res.set.insert("plugins.strict_env");
    }
    res.plugins.allowed_plugins = names("allowed_plugins");
    if !res.plugins.allowed_plugins.is_empty() {
        res.set.insert("plugins.allowed_plugins");
    }
    res.plugins.blocked_plugins = names("blocked_plugins");
    if !res.plugins.blocked_plugins.is_empty() {
        res.set.insert("plugins.blocked_plugins");
    }
}

/// Takes the paths with a link on the way out of the grants of plugins, with a warning each.
fn leave_out_links(
    plugins: &mut PluginConfig,
    section: At<'_>,
    places: &Places,
    findings: &mut Findings,
) {
    for (name, written) in section.member("grants").into_iter().flat_map(|it| it.members()) {
        let Some(grant) = plugins.grants.get_mut(name) else { continue };
        for (key, paths) in [("read", &mut grant.read), ("write", &mut grant.write)] {
            let Some(list) = written.member(key) else { continue };
            let each = mem::take(paths).into_iter().zip(list.items());
            let grant = |(path, at)| grant_path(at, path, places, findings);
            paths.extend(each.filter_map(grant));
        }
    }
}

/// Whether this is the section about sandboxes, or a key of it.
fn is_of_sandbox(key: &str) -> bool {
    let is_of = |place: &str| place.contains("sandbox") || place.contains("profile");
    key == "sandbox" || RULES.iter().any(|it| it.0 == key && is_of(it.1))
}

/// Refuses the unknown keys that a security rule may stand under: those near to a section with such rules, or to a
/// key of one, and those with such a section in them. Says which keys were meant.
fn refuse_misplaced_rules<'v>(
    at: At<'v>,
    reader: &mut ObjectReader<'v, '_>,
) -> BTreeSet<&'static str> {
    let mut res = BTreeSet::new();
    let mut n_refused = 0;
    let spans = at.value().as_object().unwrap_or_default().iter().map(|it| it.key.span);
    for ((key, value), span) in at.members().zip(spans).filter(|it| !KEYS.contains(&it.0.0)) {
        let rule = |name: &str| RULES.iter().find(|it| it.0 == name);
        let meant = rule(key).or_else(|| NEAR_RULES.closest(key).and_then(rule));
        let Some(&(meant, section)) = meant else {
            for (name, within) in too_deep(value) {
                res.insert(name);
                n_refused += 1;
                if n_refused > MOST_MISPLACED {
                    continue;
                }
                reader.allow(key);
                let what = format!("{} within {}, which is no section", quoted(name), quoted(key));
                let diag = within.error(flyto_plugin::codes::MISSPELT_LIST, what);
                let help = format!("write {} at the root of the file", quoted(name));
                reader.push(diag.with_reason(NOT_READ).with_help(help));
            }
            continue;
        };
        if !res.insert(meant) && key == meant {
            // It stands there twice, which is an error by itself.
            continue;
        }
        if n_refused >= MOST_MISPLACED {
            // Any rule may stand under the keys that are not looked at.
            res.extend(RULES.iter().map(|it| it.0));
            break;
        }
        n_refused += 1;
        reader.allow(key);
        let what = match key == meant {
            true => format!("unknown key {}", quoted(key)),
            false => format!("unknown key {}, which looks like {}", quoted(key), quoted(meant)),
        };
        let diag = value.error(flyto_plugin::codes::MISSPELT_LIST, what);
        let mut diag = diag.with_reason(NOT_READ).with_help(match section {
            "" => format!("write {}", quoted(meant)),
            place => format!("write {} within {place}", quoted(meant)),
        });
        diag.location = Location::text(at.source(), span);
        if section.is_empty() {
            diag = diag.with_suggestion(span, quoted(meant));
        }
        reader.push(diag);
    }
    res
}

/// The sections whose rules hold for each call, where they stand within a section that is not known.
fn too_deep<'v>(section: At<'v>) -> impl Iterator<Item = (&'static str, At<'v>)> {
    let sections = ["sandbox", PERMISSIONS, "output_guard", secret_rules::KEY];
    sections.into_iter().filter_map(move |it| Some((it, section.member(it)?)))
}

/// `None` where the key is not there or is no list of texts. A path that cannot be expanded is an
/// error.
fn read_paths(
    reader: &mut ObjectReader<'_, '_>,
    key: &'static str,
    dir: &Path,
    places: &Places,
) -> Option<Vec<PathBuf>> {
    let texts = reader.optional_string_array(key).ok()??;
    let at = reader.at(key);
    let mut res = Vec::with_capacity(texts.len());
    for (index, text) in texts.into_iter().enumerate() {
        match expand_path(text, dir, places) {
            Ok(path) => res.push(path),
            Err(why) => {
                let place = at.item(index).unwrap_or(at);
                reader.push(place.error(codes::NO_HOME, why).with_help(WRITE_OUT));
            }
        }
    }
    Some(res)
}

/// A path of a configuration: `~` is a home directory, a relative path starts from `dir`.
///
/// # Errors
///
/// Why `~` or `~USER` stands for no directory, in words.
pub(crate) fn expand_path(text: &str, dir: &Path, places: &Places) -> Result<PathBuf, String> {
    expand_home(text, places.home.as_deref(), ambient_home_of)
        .map(|path| dir.join(path))
        .map_err(|err| err.to_string())
}
