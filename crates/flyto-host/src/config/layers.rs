//! Which of several sources of configuration wins.
//!
//! [`load_config`] starts from the defaults and lays each source over the last one with
//! [`overlay`], which replaces whole keys and merges none. A project that is not trusted goes
//! through [`narrow`] instead, which can only take away: nothing that a project's file holds may
//! open what the user's own file keeps closed.
//!
//! Files are read once and are bounded by the reader of `flyto-diagnostics`; nothing is started.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use flyto_diagnostics::{At, Diagnostic, Findings, Location, Severity, Source, files, json};
use flyto_plugin::{DEFAULT_PLUGIN_DIRS, LoadOptions};

use super::{
    Config, Listed, Origin, audit, evolve,
    file::{FileConfig, expand_path, read_config_file},
    permissions::KEYS,
    project::apply_projects,
    secret_rules::{self, SecretRules},
    servers,
};
use crate::{codes, places::Surroundings, secrets::OutputGuard};

/// What the program's flags say; they win over everything else.
///
/// Relative paths start from [`Surroundings::current_dir`]. An empty list and `None`, the defaults,
/// leave the value to the other sources.
///
/// ```
/// use flyto_execenv::Environment;
/// use flyto_host::{Flags, Origin, Surroundings, load_config};
///
/// # let dir = tempfile::tempdir()?;
/// let env: Environment = [("FLYTO_OUTPUT_LIMIT", "4096")].into_iter().collect();
/// let surroundings = Surroundings::new(env, dir.path());
/// let (config, _) = load_config(&surroundings, &Flags::default())?;
/// assert_eq!(config.output_limit_bytes, 4096);
///
/// let mut flags = Flags::default();
/// flags.output_limit_bytes = Some(512);
/// let (config, _) = load_config(&surroundings, &flags)?;
/// assert_eq!(config.output_limit_bytes, 512);
/// assert_eq!(config.origins["output_limit_bytes"], Origin::Flag("--output-limit"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Flags {
    /// The configuration file to read in place of the user's and the project's: `--config FILE`.
    ///
    /// It wins over `FLYTO_CONFIG`. A file that is not there is an error.
    pub config: Option<PathBuf>,
    /// Directories of plugins in place of the configured ones: `--plugins DIR`. They are used also
    /// where plugins are switched off.
    pub plugins: Vec<PathBuf>,
    /// Files with tool definitions in place of the configured ones: `--exec-tools FILE`.
    pub exec_tools: Vec<PathBuf>,
    /// The directory of the store of evolved tools in place of the configured one: `--evolve DIR`. It is used also where
    /// the store is switched off.
    pub evolve: Option<PathBuf>,
    /// Bytes of a result's text: `--output-limit BYTES`.
    ///
    /// It wins over `FLYTO_OUTPUT_LIMIT`.
    pub output_limit_bytes: Option<u64>,
}

/// Reads all sources of configuration and weighs them.
///
/// A flag wins over a variable `FLYTO_…`, that over the project's `.flyto/config.json`, that over
/// the user's file, that over the defaults. The project's file belongs to the nearest directory from
/// the current one upwards that has one. It only narrows what the user's file allows, unless the operator has recorded
/// in the [`TrustStore`](crate::TrustStore) that exactly its content is trusted. A file that is named by a flag or by
/// `FLYTO_CONFIG` is read in place of both.
///
/// A file that is not there is no problem unless it was named. The findings are warnings. What is wrong with a
/// project's file is a warning as well: what can be read of it narrows.
///
/// # Errors
///
/// Part of a file or of a variable was not read, a key that a security rule may stand under included.
///
/// The variables are `FLYTO_CONFIG`, `FLYTO_PLUGINS` and `FLYTO_EXEC_TOOLS` (paths, joined as those
/// of `PATH` are) and `FLYTO_OUTPUT_LIMIT` (bytes). A variable that is set and empty counts as not
/// set.
pub fn load_config(
    surroundings: &Surroundings,
    flags: &Flags,
) -> Result<(Config, Findings), ConfigError> {
    let mut findings = Findings::new();
    let mut config = defaults(surroundings);
    let named = match &flags.config {
        Some(path) => Some(surroundings.current_dir.join(path)),
        None => variable(surroundings, "FLYTO_CONFIG").map(|it| surroundings.current_dir.join(it)),
    };
    if let Some(path) = named {
        // The next call may read this one.
        config.files.extend(surroundings.places.config_file.clone().filter(|it| is_there(it)));
        config.grants_file = Some(path.clone());
        config.rules_file = Some(path.clone());
        config.files.insert(path.clone());
        if let Some(file) = open(&path, surroundings, &mut findings) {
            overlay(&mut config, file, &Origin::Named(path));
        }
    } else {
        config = user_config(surroundings, &mut findings);
        apply_projects(&mut config, surroundings, &mut findings);
    }
    apply_variables(&mut config, surroundings, &mut findings);
    apply_flags(&mut config, surroundings, flags);
    read_secret_rules(&mut config, &mut findings);
    match findings.has_errors() {
        true => Err(ConfigError { findings }),
        false => Ok((config, findings)),
    }
}

/// Reads the rules for secrets that the operator named.
fn read_secret_rules(config: &mut Config, findings: &mut Findings) {
    let Some(path) = &config.secret_rules_file else { return };
    config.files.insert(path.clone());
    if let Ok(rules) = findings.take(SecretRules::read(path)) {
        config.secret_rules = Some(rules);
    }
}

/// A configuration that cannot be used: a rule that was not read would not hold.
///
/// Shown, it names the first error with its file.
#[derive(Debug, Clone, thiserror::Error)]
#[error("failed to read the configuration{}", first_error(.findings))]
#[non_exhaustive]
pub struct ConfigError {
    /// What is wrong, with its places, and what is odd beside it.
    pub findings: Findings,
}

/// The first finding that is an error, for one line of text; empty where there is none.
fn first_error(findings: &Findings) -> String {
    let first = findings.iter().find(|it| it.severity == Severity::Error);
    first.map_or_else(String::new, |it| format!(": {}: {}", it.location.name(), it.message))
}

/// [`Config::default`] with the directories of plugins and the file for grants that these
/// surroundings have.
fn defaults(surroundings: &Surroundings) -> Config {
    let mut res = Config::default();
    // Without a home there are no directories by default.
    let expand = |it: &&str| expand_path(it, &surroundings.current_dir, &surroundings.places).ok();
    res.plugins.plugin_dirs = DEFAULT_PLUGIN_DIRS.iter().filter_map(expand).collect();
    res.grants_file.clone_from(&surroundings.places.config_file);
    res.rules_file.clone_from(&surroundings.places.config_file);
    res.evolve.dir.clone_from(&surroundings.places.evolve_dir);
    res
}

/// What the user's own file says, over the defaults.
pub(super) fn user_config(surroundings: &Surroundings, findings: &mut Findings) -> Config {
    let mut res = defaults(surroundings);
    if let Some(path) = surroundings.places.config_file.as_deref().filter(|it| is_there(it)) {
        res.files.insert(path.to_owned());
        if let Some(file) = open(path, surroundings, findings) {
            overlay(&mut res, file, &Origin::User(path.to_owned()));
        }
    }
    res
}

/// Whether something has this name, be it a link that leads nowhere or a file that cannot be
/// reached: a block in it must not be lost in silence.
pub(crate) fn is_there(path: &Path) -> bool {
    use std::io::ErrorKind;
    match path.symlink_metadata() {
        Ok(_) => true,
        Err(err) => !matches!(err.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

/// Reads a file that was named or found; `None` where it cannot be used, and then `findings` has an
/// error.
fn open(path: &Path, surroundings: &Surroundings, findings: &mut Findings) -> Option<FileConfig> {
    let source = findings.take(files::open(path)).ok()?;
    let dir = path.parent().unwrap_or(path);
    read_config_file(&source, dir, &surroundings.places, &LoadOptions::new(), findings)
}

/// Sets everything that `file` sets.
///
/// A key replaces what was set before, with its origin and its places; lists are not joined. Keys
/// that `file` does not have stay as they are. Rules of permission alone add up: one that denies is not lost by
/// another file.
pub(super) fn overlay(config: &mut Config, file: FileConfig, origin: &Origin) {
    let FileConfig {
        plugins,
        exec_tools,
        servers: declared,
        output_limit_bytes,
        sandbox,
        permissions,
        audit: recorded,
        evolve: evolved,
        output_guard,
        secret_rules,
        set,
        text,
        ..
    } = file;
    let takes = |key: &'static str, config: &mut Config| {
        let is_set = set.contains(key);
        if is_set {
            config.origins.insert(key, origin.clone());
            config.set_values(key, origin, text.as_ref());
        }
        is_set
    };
    if takes("plugins.enabled", config) {
        config.plugins.enabled = plugins.enabled;
    }
    if takes("plugins.plugin_dirs", config) {
        config.plugins.plugin_dirs = plugins.plugin_dirs;
    }
    if takes("plugins.allowed_plugins", config) {
        config.plugins.allowed_plugins = plugins.allowed_plugins;
        config.unnamed_plugins.clear();
        replace_listed(&mut config.listed, "allowed_plugins", text.as_ref());
    }
    if takes("plugins.blocked_plugins", config) {
        config.plugins.blocked_plugins = plugins.blocked_plugins;
        replace_listed(&mut config.listed, "blocked_plugins", text.as_ref());
    }
    if takes("plugins.grants", config) {
        config.plugins.grants = plugins.grants;
        if let Origin::User(path) | Origin::Project(path) | Origin::Named(path) = origin {
            config.grants_file = Some(path.clone());
        }
        config.grant_places =
            text.as_ref().map(|(source, root)| grant_places(source, root)).unwrap_or_default();
    }
    if takes("plugins.strict_env", config) {
        config.plugins.strict_env = plugins.strict_env;
    }
    if takes("plugins.ready", config) {
        config.plugins.ready = plugins.ready;
    }
    if takes("exec_tools", config) {
        config.exec_tools = exec_tools;
    }
    if set.contains(servers::KEY)
        && let Origin::User(path) | Origin::Project(path) | Origin::Named(path) = origin
    {
        config.origins.insert(servers::KEY, origin.clone());
        config.add_values(servers::KEY, origin, text.as_ref());
        servers::add(&mut config.servers, declared, path);
    }
    if takes("output_limit_bytes", config) {
        config.output_limit_bytes = output_limit_bytes;
    }
    if takes("sandbox", config) {
        config.sandbox = sandbox;
    }
    for (_, key, _) in KEYS.iter().filter(|it| set.contains(it.1)) {
        config.origins.insert(key, origin.clone());
        config.add_values(key, origin, text.as_ref());
    }
    for (_, key) in audit::KEYS {
        takes(key, config);
    }
    config.audit.take(&recorded, |key| set.contains(key));
    for (_, key) in evolve::KEYS {
        takes(key, config);
    }
    config.evolve.take(evolved, |key| set.contains(key));
    if takes("output_guard", config) {
        config.output_guard = output_guard;
    }
    if takes(secret_rules::KEY, config) {
        config.secret_rules_file = secret_rules;
    }
    match origin {
        Origin::Project(path) => config.permissions.extend_trusted(permissions, path),
        _ => config.permissions.extend(permissions),
    }
}

/// Puts the names of one list of a file in place of those that were known.
fn replace_listed(
    listed: &mut Vec<Listed>,
    list: &'static str,
    text: Option<&(Source, json::Value<'_>)>,
) {
    listed.retain(|it| it.list != list);
    let Some((source, root)) = text else { return };
    let Some(at) = At::root(source, root).at_pointer(&format!("/plugins/{list}")) else { return };
    for (index, at) in at.items().enumerate() {
        let Some(name) = at.value().as_str() else { continue };
        listed.push(Listed { list, index, name: name.to_owned(), place: at.location() });
    }
}

/// Where the name of each plugin stands to which a file grants something.
fn grant_places(source: &Source, root: &json::Value<'_>) -> BTreeMap<String, Location> {
    let grants = root.get_pointer("/plugins/grants").and_then(|it| it.as_object());
    let keys = grants.unwrap_or_default().iter().map(|it| &it.key);
    keys.map(|it| (it.value.to_string(), Location::text(source, it.span))).collect()
}

/// Takes from an untrusted `file` what allows less, warns of the rest, and gives the keys of which it took something.
///
/// By key: `enabled` only switches off, `strict_env` only on, blocks are added, an allow list is
/// cut to what both lists have, an output limit only sinks, sandbox profiles are added beside the
/// user's, rules that ask or deny are added. Every other key is left out with a warning of the code [`UNTRUSTED`](codes::UNTRUSTED).
pub(super) fn narrow(
    config: &mut Config,
    file: FileConfig,
    path: &Path,
    findings: &mut Findings,
) -> BTreeSet<&'static str> {
    let FileConfig {
        plugins,
        output_limit_bytes,
        sandbox,
        permissions,
        output_guard,
        set,
        text,
        ..
    } = file;
    let origin = Origin::Project(path.to_owned());
    let mut took: BTreeSet<&'static str> = BTreeSet::new();
    if set.contains("plugins.enabled") && !plugins.enabled {
        config.plugins.enabled = false;
        took.insert("plugins.enabled");
    }
    if set.contains("plugins.blocked_plugins") {
        config.plugins.blocked_plugins.extend(plugins.blocked_plugins);
        took.insert("plugins.blocked_plugins");
    }
    if set.contains("plugins.allowed_plugins") && !plugins.allowed_plugins.is_empty() {
        let allowed = &mut config.plugins.allowed_plugins;
        if allowed.is_empty() {
            config.unnamed_plugins.clone_from(&plugins.allowed_plugins);
            *allowed = plugins.allowed_plugins;
        } else {
            // Blocking instead of taking off the list: an empty list would allow everything, and a
            // block holds against every flag.
            let others = allowed.difference(&plugins.allowed_plugins).cloned();
            config.plugins.blocked_plugins.extend(others);
        }
        took.insert("plugins.allowed_plugins");
    }
    if set.contains("plugins.strict_env") && plugins.strict_env {
        config.plugins.strict_env = true;
        took.insert("plugins.strict_env");
    }
    if set.contains("output_limit_bytes") && output_limit_bytes <= config.output_limit_bytes {
        config.output_limit_bytes = output_limit_bytes;
        took.insert("output_limit_bytes");
    }
    if set.contains("sandbox") {
        // Beside the user's profiles, others can only take.
        config.sandbox.narrow(&sandbox);
        took.insert("sandbox");
    }
    // Without a setting, what a model called is redacted.
    let held = config.output_guard.unwrap_or(OutputGuard::Redact);
    if let Some(action) = output_guard.filter(|it| *it >= held) {
        config.output_guard = Some(action);
        took.insert("output_guard");
    }
    config.permissions.extend_narrowing(permissions, path);
    took.extend(["permissions.ask", "permissions.deny"].iter().filter(|it| set.contains(*it)));
    for key in &took {
        config.origins.insert(key, origin.clone());
        match *key {
            "plugins.enabled" | "plugins.strict_env" | "output_limit_bytes" | "output_guard" => {
                config.set_values(key, &origin, text.as_ref());
            }
            _ => config.add_values(key, &origin, text.as_ref()),
        }
    }
    let Some((source, root)) = text else { return took };
    let dir = path.parent().and_then(Path::parent).unwrap_or(path);
    for key in set.difference(&took) {
        let message = format!("{key:?} of an untrusted project is left out: it can only narrow");
        let help = format!("to trust the project, read the file, then run `flyto trust {dir:?}`");
        let pointer = format!("/{}", key.replace('.', "/"));
        let at = At::root(&source, &root);
        let at = at.at_pointer(&pointer).unwrap_or(at);
        findings.push(at.warning(codes::UNTRUSTED, message).with_help(help));
    }
    took
}

/// A number that cannot be read is an error of the code [`BAD_VARIABLE`](codes::BAD_VARIABLE): the
/// operator asked for a limit, and a default in its place would be another one.
fn apply_variables(config: &mut Config, surroundings: &Surroundings, findings: &mut Findings) {
    let paths = |name| -> Option<Vec<PathBuf>> {
        let value = variable(surroundings, name)?;
        let dir = &surroundings.current_dir;
        Some(std::env::split_paths(&value).map(|it| dir.join(it)).collect())
    };
    if let Some(dirs) = paths("FLYTO_PLUGINS") {
        use_plugin_dirs(config, dirs, Origin::Variable("FLYTO_PLUGINS"));
    }
    if let Some(files) = paths("FLYTO_EXEC_TOOLS") {
        use_exec_tools(config, files, Origin::Variable("FLYTO_EXEC_TOOLS"));
    }
    if let Some(dir) = variable(surroundings, "FLYTO_EVOLVE") {
        use_evolve_dir(config, surroundings, dir.as_ref(), &Origin::Variable("FLYTO_EVOLVE"));
    }
    if let Some(value) = variable(surroundings, "FLYTO_OUTPUT_LIMIT") {
        match value.to_str().map(str::parse) {
            Some(Ok(limit)) => {
                limit_output(config, limit, Origin::Variable("FLYTO_OUTPUT_LIMIT"));
            }
            _ => {
                let message = format!("{value:?} is no number of bytes");
                findings.push(
                    Diagnostic::error(
                        codes::BAD_VARIABLE,
                        Location::file("$FLYTO_OUTPUT_LIMIT"),
                        message,
                    )
                    .with_help("write a number such as 65536, or unset the variable"),
                );
            }
        }
    }
}

/// The flags come last. Their paths are made absolute.
fn apply_flags(config: &mut Config, surroundings: &Surroundings, flags: &Flags) {
    let absolute = |paths: &[PathBuf]| -> Vec<PathBuf> {
        // Collecting the components drops a `.` and slashes at the end.
        let clean = |it: PathBuf| it.components().collect();
        paths.iter().map(|it| clean(surroundings.current_dir.join(it))).collect()
    };
    if !flags.plugins.is_empty() {
        use_plugin_dirs(config, absolute(&flags.plugins), Origin::Flag("--plugins"));
    }
    if !flags.exec_tools.is_empty() {
        use_exec_tools(config, absolute(&flags.exec_tools), Origin::Flag("--exec-tools"));
    }
    if let Some(dir) = &flags.evolve {
        use_evolve_dir(config, surroundings, dir, &Origin::Flag("--evolve"));
    }
    if let Some(limit) = flags.output_limit_bytes {
        limit_output(config, limit, Origin::Flag("--output-limit"));
    }
}

/// Replaces the files of tool definitions, with their origin.
fn use_exec_tools(config: &mut Config, files: Vec<PathBuf>, origin: Origin) {
    config.set_value("exec_tools", &origin, &texts(&files));
    config.exec_tools = files;
    config.origins.insert("exec_tools", origin);
}

/// A user that names the store of evolved tools wants it used.
fn use_evolve_dir(config: &mut Config, surroundings: &Surroundings, dir: &Path, origin: &Origin) {
    let dir: PathBuf = surroundings.current_dir.join(dir).components().collect();
    config.set_value(evolve::ENABLED, origin, &true.into());
    config.set_value(evolve::DIR, origin, &dir.display().to_string().into());
    config.evolve.is_enabled = true;
    config.evolve.dir = Some(dir);
    config.origins.insert(evolve::ENABLED, origin.clone());
    config.origins.insert(evolve::DIR, origin.clone());
}

/// Replaces the output limit, with its origin.
fn limit_output(config: &mut Config, limit: u64, origin: Origin) {
    config.set_value("output_limit_bytes", &origin, &limit.into());
    config.output_limit_bytes = limit;
    config.origins.insert("output_limit_bytes", origin);
}

/// The paths as values of a configuration, for [`Config::values`].
fn texts(paths: &[PathBuf]) -> serde_json::Value {
    paths.iter().map(|it| it.display().to_string()).collect()
}

/// A user that names directories of plugins wants plugins.
fn use_plugin_dirs(config: &mut Config, dirs: Vec<PathBuf>, origin: Origin) {
    config.set_value("plugins.enabled", &origin, &true.into());
    config.set_value("plugins.plugin_dirs", &origin, &texts(&dirs));
    config.plugins.enabled = true;
    config.plugins.plugin_dirs = dirs;
    config.origins.insert("plugins.enabled", origin.clone());
    config.origins.insert("plugins.plugin_dirs", origin);
}

/// A variable of the environment; set but empty counts as not set.
fn variable<'a>(surroundings: &'a Surroundings, name: &str) -> Option<&'a std::ffi::OsStr> {
    surroundings.env.get(name).filter(|it| !it.is_empty())
}
