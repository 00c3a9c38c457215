//! What the operator decides about plugins: the `plugins` object of a configuration.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use flyto_diagnostics::{At, Diagnostic, Findings, ObjectReader, Reported, Span, closest, quoted};

use crate::{
    codes,
    filter::Filter,
    grant::{self, Grant},
    home::HomeError,
    manifest::flag,
    names::check_plugin_name,
    place::{about_key, moved},
};

/// The directories that are searched unless the configuration names others.
pub const DEFAULT_PLUGIN_DIRS: [&str; 2] = ["~/.flyto/plugins", "~/.zeptoclaw/plugins"];

/// The `plugins` object of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginConfig {
    /// Whether plugins are used at all.
    pub enabled: bool,
    /// Where plugins are searched, as it is written; see [`expand_home`](crate::expand_home).
    pub plugin_dirs: Vec<String>,
    /// The only plugins that are used; all where it is empty.
    pub allowed_plugins: BTreeSet<String>,
    /// Plugins that are never used.
    pub blocked_plugins: BTreeSet<String>,
    /// What plugins get beyond what every one of them gets, by name.
    pub grants: BTreeMap<String, Grant>,
    /// Whether a variable that a manifest reads from the host must be granted, too.
    pub strict_env: bool,
}

impl Default for PluginConfig {
    /// Plugins are off; the directories are [`DEFAULT_PLUGIN_DIRS`].
    fn default() -> Self {
        Self {
            enabled: false,
            plugin_dirs: DEFAULT_PLUGIN_DIRS.map(str::to_owned).to_vec(),
            allowed_plugins: BTreeSet::new(),
            blocked_plugins: BTreeSet::new(),
            grants: BTreeMap::new(),
            strict_env: false,
        }
    }
}

impl PluginConfig {
    /// Reads the object at a place. What is not said is as in the default. `expand` is what a `~` in
    /// a granted path stands for; see [`expand_home`](crate::expand_home).
    ///
    /// # Errors
    ///
    /// [`Reported`] when a part cannot be read. None of it is used then: a list of blocked plugins
    /// that is half understood, or stands under a misspelt key, would let something through, and so
    /// would a misspelt key of a grant.
    pub fn read(
        at: At<'_>,
        expand: impl Fn(&str) -> Result<PathBuf, HomeError>,
        findings: &mut Findings,
    ) -> Result<Self, Reported> {
        let mut reader = ObjectReader::new(at, findings)?;
        reader.also_spelled("plugin_dirs", "directories");
        let enabled = flag(&mut reader, "enabled");
        let plugin_dirs = reader.optional_string_array("plugin_dirs");
        if plugin_dirs.is_ok() {
            for at in reader.at("plugin_dirs").items() {
                if let Some(warning) = no_dir(at) {
                    reader.push(warning);
                }
            }
        }
        let allowed_plugins = names(&mut reader, ALLOWED);
        let blocked_plugins = names(&mut reader, BLOCKED);
        let grants = reader.optional_object("grants");
        let grants = grants.and_then(|at| match at {
            Some(at) => grant::read_all(at, &expand, reader.findings()),
            None => Ok(BTreeMap::new()),
        });
        let strict_env = flag(&mut reader, STRICT);
        let lists = refuse_misspelt(at, &mut reader);
        reader.suggest_for("paths", "plugin_dirs");
        reader.suggest_for("permissions", "grants");
        reader.finish();

        lists?;
        let default = Self::default();
        Ok(Self {
            enabled: enabled?.unwrap_or(default.enabled),
            plugin_dirs: plugin_dirs?.map_or(default.plugin_dirs, |dirs| {
                dirs.into_iter().map(ToOwned::to_owned).collect()
            }),
            allowed_plugins: allowed_plugins?,
            blocked_plugins: blocked_plugins?,
            grants: grants?,
            strict_env: strict_env?.unwrap_or(default.strict_env),
        })
    }

    /// Which plugins may be used.
    #[must_use]
    pub fn filter(&self) -> Filter {
        let filter = if self.enabled { Filter::new() } else { Filter::disabled() };
        filter.allow(&self.allowed_plugins).block(&self.blocked_plugins)
    }
}

/// The keys of the object.
const KEYS: [&str; 7] = ["enabled", "plugin_dirs", "directories", ALLOWED, BLOCKED, GRANTS, STRICT];

const ALLOWED: &str = "allowed_plugins";
const BLOCKED: &str = "blocked_plugins";
const GRANTS: &str = "grants";
const STRICT: &str = "strict_env";

/// Keys that protect, each with what would happen without it.
const PROTECTIONS: [(&str, &str); 4] = [
    (ALLOWED, "a list that is not read would let plugins through that it keeps out"),
    (BLOCKED, "a list that is not read would let plugins through that it keeps out"),
    (GRANTS, "bounds that are not read would not hold"),
    (STRICT, "a plugin would read variables that nobody granted"),
];

/// What other programs call them.
const OTHER_NAMES: [(&str, &str); 18] = [
    ("allow", ALLOWED),
    ("allowed", ALLOWED),
    ("allowlist", ALLOWED),
    ("allow_list", ALLOWED),
    ("whitelist", ALLOWED),
    ("include", ALLOWED),
    ("only", ALLOWED),
    ("deny", BLOCKED),
    ("denied", BLOCKED),
    ("denylist", BLOCKED),
    ("denied_plugins", BLOCKED),
    ("blocklist", BLOCKED),
    ("block_list", BLOCKED),
    ("blacklist", BLOCKED),
    ("disabled_plugins", BLOCKED),
    ("exclude", BLOCKED),
    ("strict", STRICT),
    ("strict_environment", STRICT),
];

/// The protection that an unknown key was meant to be, with what would happen without it.
fn meant_protection(key: &str) -> Option<(&'static str, &'static str)> {
    if KEYS.contains(&key) {
        return None;
    }
    let lower = key.to_ascii_lowercase();
    let other = OTHER_NAMES.iter().find(|it| it.0 == lower).map(|it| it.1);
    let near = other.or_else(|| closest(key, KEYS))?;
    PROTECTIONS.into_iter().find(|it| it.0 == near)
}

/// Refuses a key that was meant to be one that protects. A warning would leave the plugins in use
/// that a list is there to keep out, and those unbound that a grant binds.
fn refuse_misspelt<'v>(at: At<'v>, reader: &mut ObjectReader<'v, '_>) -> Result<(), Reported> {
    let mut failed = None;
    for (key, _) in at.members() {
        let Some((meant, why)) = meant_protection(key) else { continue };
        reader.allow(key);
        let what = format!("unknown key {}, which looks like {}", quoted(key), quoted(meant));
        let diag = about_key(at, key, codes::MISSPELT_LIST, what).with_reason(why);
        let there = at.member(meant).is_some();
        let place = at.value().member(key).filter(|_| !there);
        failed = Some(
            reader.push(match place {
                Some(member) => diag
                    .with_help(format!("write {}", quoted(meant)))
                    .with_suggestion(member.key.span, quoted(meant)),
                None if meant == STRICT => diag.with_help("remove one of the two"),
                None => {
                    diag.with_help(format!("put its names into {} and remove it", quoted(meant)))
                }
            }),
        );
    }
    failed.map_or(Ok(()), Err)
}

/// A warning about a directory of plugins that cannot be meant as it is written.
fn no_dir(at: At<'_>) -> Option<Diagnostic> {
    let path = at.value().as_str()?;
    if path.trim().is_empty() {
        let what = "a directory of plugins is an empty text";
        let help = "write the path of a directory, or remove the entry";
        return Some(at.warning(codes::PLUGIN_DIR, what).with_help(help));
    }
    if !path.starts_with('$') && !path.contains("/$") && !path.contains("${") {
        return None;
    }
    let what = format!("{} names a variable, and stays as it is", quoted(path));
    let diag = at.warning(codes::PLUGIN_DIR, what);
    let diag = diag.with_reason(
        "in a path of the configuration, `~` and `~user` are expanded and nothing else",
    );
    let home = path.strip_prefix("$HOME").or_else(|| path.strip_prefix("${HOME}"));
    Some(match home.filter(|it| it.is_empty() || it.starts_with('/')) {
        Some(rest) => {
            let better = quoted(&format!("~{rest}"));
            diag.with_help(format!("write {better}")).with_suggestion(at.span(), better)
        }
        None => diag.with_help("write the path out"),
    })
}

fn names(
    reader: &mut ObjectReader<'_, '_>,
    key: &'static str,
) -> Result<BTreeSet<String>, Reported> {
    let names = reader.optional_string_array(key)?.unwrap_or_default();
    for (name, at) in names.iter().zip(reader.at(key).items()) {
        if let Some(warning) = no_plugin(at, at.span(), name) {
            reader.push(warning);
        }
    }
    Ok(names.into_iter().map(ToOwned::to_owned).collect())
}

/// A warning about a name that no plugin can have.
pub(crate) fn no_plugin(at: At<'_>, place: Span, name: &str) -> Option<Diagnostic> {
    let fault = check_plugin_name(name).err()?;
    let what = format!("no plugin has the name {}: it {fault}", quoted(name));
    let diag = at.warning(codes::NEVER_MATCHES, what);
    let diag =
        diag.with_help("write the name of a plugin as its manifest does; there are no patterns");
    Some(moved(diag, at, place))
}
