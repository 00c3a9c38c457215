//! What the operator decides about plugins: the `plugins` object of a configuration.
//!
//! A configuration is a rule, so a part that cannot be read refuses the whole object instead of
//! loosening it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::Duration,
};

use flyto_diagnostics::{At, Diagnostic, Findings, ObjectReader, Reported, quoted};
use flyto_execenv::ReadyOptions;

use crate::{
    codes,
    filter::Filter,
    grant::{self, Grant, no_plugin},
    home::HomeError,
    manifest::flag,
};

/// The directories that are searched unless the configuration names others.
///
/// As a configuration writes them, with `~`; a directory that is not there is no problem. The
/// second is the one of ZeptoClaw, so that its plugins are found without a move.
pub const DEFAULT_PLUGIN_DIRS: [&str; 2] = ["~/.flyto/plugins", "~/.zeptoclaw/plugins"];

/// The `plugins` object of a configuration.
///
/// ```
/// use std::path::{Path, PathBuf};
///
/// use flyto_diagnostics::{At, Findings, Source, json};
/// use flyto_plugin::{PluginConfig, Verdict, expand_home};
///
/// let text = r#"{
///   "enabled": true,
///   "blocked_plugins": ["old"],
///   "grants": {"git": {"env": ["EDITOR"]}}
/// }"#;
/// let source = Source::new("flyto.json", text);
/// let root = json::parse(&source)?;
/// let mut findings = Findings::new();
/// let expand = |path: &str| expand_home(path, Some(Path::new("/home/ada")), |_| None::<PathBuf>);
/// let config = PluginConfig::read(At::root(&source, &root), expand, &mut findings)?;
/// assert_eq!(config.filter().judge("old"), Verdict::Blocked);
/// assert_eq!(config.filter().judge("git"), Verdict::Pass);
/// assert!(config.grants["git"].env.contains("EDITOR"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginConfig {
    /// Whether plugins are used at all.
    ///
    /// Default: `false`, so that a plugin never runs because its directory is there.
    pub enabled: bool,
    /// Where plugins are searched. [`read`](Self::read) gives the paths as they are written; a host makes them absolute,
    /// see [`expand_home`](crate::expand_home).
    /// Also spelt `directories`, with a warning. Default: [`DEFAULT_PLUGIN_DIRS`].
    pub plugin_dirs: Vec<PathBuf>,
    /// The only plugins that are used; all where it is empty.
    ///
    /// Exact names; there are no patterns.
    pub allowed_plugins: BTreeSet<String>,
    /// Plugins that are never used.
    ///
    /// A name on both lists is blocked.
    pub blocked_plugins: BTreeSet<String>,
    /// What plugins get beyond what every one of them gets, by name.
    ///
    /// A name that no plugin can have is a warning (`F0140`).
    pub grants: BTreeMap<String, Grant>,
    /// Whether a variable that a manifest reads from the host must be granted, too.
    ///
    /// Default: `false`. [`PluginTool::ungranted`](crate::PluginTool::ungranted) lists the names
    /// that a tool then lacks.
    pub strict_env: bool,
    /// How many processes of tools that say `ready` may wait for a call, for how long, and with how much memory. It holds
    /// for all tools of the host, exec tools included.
    pub ready: ReadyOptions,
}

impl Default for PluginConfig {
    /// Plugins are off; the directories are [`DEFAULT_PLUGIN_DIRS`].
    fn default() -> Self {
        Self {
            enabled: false,
            plugin_dirs: DEFAULT_PLUGIN_DIRS.map(PathBuf::from).to_vec(),
            allowed_plugins: BTreeSet::new(),
            blocked_plugins: BTreeSet::new(),
            grants: BTreeMap::new(),
            strict_env: false,
            ready: ReadyOptions::new(),
        }
    }
}

impl PluginConfig {
    /// Reads the object at a place. What is not said is as in the default. `expand` is what a `~` in
    /// a granted path stands for; see [`expand_home`](crate::expand_home).
    ///
    /// # Errors
    ///
    /// [`Reported`] when a part cannot be read, or a key is unknown. None of it is used then: a list of blocked
    /// plugins that is half understood, or stands under a misspelt key, would let something through, and so
    /// would a misspelt key of a grant.
    ///
    /// Warnings do not fail the read: a name that no plugin can have, a directory that cannot be
    /// meant as it is written. `expand` is called once for each granted path, and never for
    /// [`plugin_dirs`](Self::plugin_dirs).
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
        let ready = reader.optional_object("ready");
        let ready = ready.and_then(|at| match at {
            Some(at) => read_ready(at, reader.findings()),
            None => Ok(ReadyOptions::new()),
        });
        reader.suggest_for_each(&OTHER_NAMES);
        reader.refuse_unknown(NOT_READ)?;

        let default = Self::default();
        Ok(Self {
            enabled: enabled?.unwrap_or(default.enabled),
            plugin_dirs: plugin_dirs?
                .map_or(default.plugin_dirs, |dirs| dirs.into_iter().map(PathBuf::from).collect()),
            allowed_plugins: allowed_plugins?,
            blocked_plugins: blocked_plugins?,
            grants: grants?,
            strict_env: strict_env?.unwrap_or(default.strict_env),
            ready: ready?,
        })
    }

    /// Which plugins may be used.
    ///
    /// Without `enabled` no plugin passes; a blocked one still counts as blocked.
    #[must_use]
    pub fn filter(&self) -> Filter {
        let filter = if self.enabled { Filter::new() } else { Filter::disabled() };
        filter.allow(&self.allowed_plugins).block(&self.blocked_plugins)
    }
}

/// Reads the bounds on processes that wait. 0 of any of them keeps none.
fn read_ready(at: At<'_>, findings: &mut Findings) -> Result<ReadyOptions, Reported> {
    let mut reader = ObjectReader::new(at, findings)?;
    let processes = reader.optional_u64("processes");
    let idle = reader.optional_u64("idle_seconds");
    let memory = reader.optional_u64("memory_bytes");
    reader.refuse_unknown("a bound that is not read would not hold")?;
    let mut res = ReadyOptions::new();
    if let Some(processes) = processes? {
        res.processes = usize::try_from(processes).unwrap_or(usize::MAX);
    }
    // A longer one than that is as long as the host lives.
    res.idle = idle?.map_or(res.idle, |it| Duration::from_secs(it.min(MOST_IDLE_SECONDS)));
    res.memory_bytes = memory?.unwrap_or(res.memory_bytes);
    Ok(res)
}

/// The longest time that a process may wait: 366 days.
const MOST_IDLE_SECONDS: u64 = 366 * 24 * 60 * 60;

/// Why an unknown key is an error.
const NOT_READ: &str = "a rule about plugins that is not read would not hold";

/// The keys that are named in more than one place of this file.
const ALLOWED: &str = "allowed_plugins";
const BLOCKED: &str = "blocked_plugins";
const STRICT: &str = "strict_env";

/// What other programs call the keys.
///
/// Each stays an unknown key, and so an error; the finding suggests the second name of the pair.
const OTHER_NAMES: [(&str, &str); 15] = [
    ("paths", "plugin_dirs"),
    ("permissions", "grants"),
    ("allow", ALLOWED),
    ("allowed", ALLOWED),
    ("allowlist", ALLOWED),
    ("whitelist", ALLOWED),
    ("include", ALLOWED),
    ("deny", BLOCKED),
    ("denied", BLOCKED),
    ("denylist", BLOCKED),
    ("blocklist", BLOCKED),
    ("blacklist", BLOCKED),
    ("exclude", BLOCKED),
    ("disabled_plugins", BLOCKED),
    ("strict", STRICT),
];

/// A warning about a directory of plugins that cannot be meant as it is written.
///
/// The text begins with `$`, or has `/$` or `${` in it. `$HOME` at the start has `~` as the
/// suggestion.
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

/// Reads a list of names of plugins. A name that none can have is a warning, and stays on the
/// list.
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
