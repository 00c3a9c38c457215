//! What the operator decides about plugins: the `plugins` object of a configuration.

use std::collections::{BTreeMap, BTreeSet};

use flyto_diagnostics::{At, Diagnostic, Findings, Location, ObjectReader, Reported, Span, quoted};

use crate::{
    codes,
    filter::Filter,
    manifest::{flag, is_reserved, name_fault},
    names::check_plugin_name,
    place::moved,
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

/// What one plugin gets beyond what every plugin gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grant {
    /// Names of variables of the host that its programs see. One that the host does not have is not
    /// there for them either.
    pub env: BTreeSet<String>,
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
    /// Reads the object at a place. What is not said is as in the default.
    ///
    /// # Errors
    ///
    /// [`Reported`] when a part cannot be read. None of it is used then: a list of blocked plugins
    /// that is half understood would let something through.
    pub fn read(at: At<'_>, findings: &mut Findings) -> Result<Self, Reported> {
        let mut reader = ObjectReader::new(at, findings)?;
        reader.also_spelled("plugin_dirs", "directories");
        let enabled = flag(&mut reader, "enabled");
        let plugin_dirs = reader.optional_string_array("plugin_dirs");
        let allowed_plugins = names(&mut reader, "allowed_plugins");
        let blocked_plugins = names(&mut reader, "blocked_plugins");
        let grants = reader.optional_object("grants");
        let grants = grants.and_then(|at| match at {
            Some(at) => read_grants(at, reader.findings()),
            None => Ok(BTreeMap::new()),
        });
        let strict_env = flag(&mut reader, "strict_env");
        reader.suggest_for("paths", "plugin_dirs");
        reader.finish();

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
fn no_plugin(at: At<'_>, place: Span, name: &str) -> Option<Diagnostic> {
    let fault = check_plugin_name(name).err()?;
    let what = format!("no plugin has the name {}: it {fault}", quoted(name));
    let diag = at.warning(codes::NEVER_MATCHES, what);
    let diag =
        diag.with_help("write the name of a plugin as its manifest does; there are no patterns");
    Some(moved(diag, at, place))
}

fn read_grants(at: At<'_>, findings: &mut Findings) -> Result<BTreeMap<String, Grant>, Reported> {
    let mut res = BTreeMap::new();
    let mut failed = None;
    let mut first_places: BTreeMap<&str, Span> = BTreeMap::new();
    let keys = at.value().as_object().unwrap_or_default().iter().map(|it| it.key.span);
    for ((plugin, value), key) in at.members().zip(keys) {
        if let Some(first) = first_places.get(plugin) {
            let what = format!("the plugin {} has two grants", quoted(plugin));
            let diag = value.error(flyto_diagnostics::codes::DUPLICATE_KEY, what);
            let first = Location::text(at.source(), *first);
            let diag = diag.with_help("put them into one").with_related(first, "the other is here");
            failed = Some(findings.push(moved(diag, at, key)));
            continue;
        }
        first_places.insert(plugin, key);
        if let Some(warning) = no_plugin(value, key, plugin) {
            findings.push(warning);
        }
        match read_grant(value, findings) {
            Ok(grant) => {
                res.insert(plugin.to_owned(), grant);
            }
            Err(reported) => failed = Some(reported),
        }
    }
    failed.map_or(Ok(res), Err)
}

fn read_grant(at: At<'_>, findings: &mut Findings) -> Result<Grant, Reported> {
    let mut reader = ObjectReader::new(at, findings)?;
    let names = reader.optional_string_array("env");
    let env = names.and_then(|names| {
        let names = names.unwrap_or_default();
        let mut failed = None;
        for (name, at) in names.iter().zip(reader.at("env").items()) {
            if let Some(diagnostic) = ungrantable(at, name) {
                failed = Some(reader.push(diagnostic));
            }
        }
        failed.map_or_else(|| Ok(names.into_iter().map(ToOwned::to_owned).collect()), Err)
    });
    reader.suggest_for("variables", "env");
    reader.finish();
    Ok(Grant { env: env? })
}

fn ungrantable(at: At<'_>, name: &str) -> Option<Diagnostic> {
    if let Some(why) = name_fault(name) {
        let what = format!("the name {} of a variable {why}", quoted(name));
        let diag = at.error(codes::BAD_VARIABLE, what);
        return Some(diag.with_help("name a variable of the host; its value comes from there"));
    }
    if is_reserved(name) {
        let what = format!("{name} is set by the host for every plugin");
        return Some(at.error(codes::RESERVED_VARIABLE, what));
    }
    None
}
