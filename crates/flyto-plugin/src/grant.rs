//! What the operator grants to one plugin: an entry of `plugins.grants`.
//!
//! The grants stand under the names of the plugins, as in the example. Every key may be left
//! out, and an unknown one refuses the whole configuration:
//!
//! ```json
//! {"git": {"env": ["EDITOR"], "network": ["example.org:443"], "read": ["~/src"],
//!          "limits": {"memory_bytes": 268435456}}}
//! ```
//!
//! The paths in [`Grant`] are absolute: a `~` is expanded while the configuration is read.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use flyto_diagnostics::{
    At, Diagnostic, Findings, Location, ObjectReader, Reported, Span, codes::DUPLICATE_KEY, quoted,
};
use flyto_execenv::{Grants, Limits, Network};

use crate::{
    codes,
    home::HomeError,
    manifest::{check_system_text, is_reserved, name_fault, read_limits, read_network},
    names::check_plugin_name,
    place::moved,
};

/// What one plugin gets in place of, or beyond, what every plugin gets.
///
/// The variables are added to those that every program of a plugin sees. The rest is put onto the
/// [`Spec`](flyto_execenv::Spec) of a call, where it replaces what the policy of the backend's class
/// says, one field at a time. A manifest can only ask for less than is granted.
///
/// The default grants nothing: every plugin runs with it that the configuration does not name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grant {
    /// Names of variables of the host that its programs see. One that the host does not have is not
    /// there for them either.
    /// Never [`PLUGIN_ROOT`](crate::PLUGIN_ROOT) or [`PLUGIN_DATA`](crate::PLUGIN_DATA) from a
    /// configuration.
    pub env: BTreeSet<String>,
    /// Upper bounds in place of those of its class; one that is not set is the class's.
    pub limits: Limits,
    /// What it may reach on the network; `None` is what its class may.
    /// [`Network::Hosts`] names the hosts that may be reached, and no others.
    pub network: Option<Network>,
    /// Absolute paths that it may read and execute, with what lies below them.
    /// Nothing checks that they exist.
    pub read: Vec<PathBuf>,
    /// Absolute paths that it may read and write, with what lies below them.
    pub write: Vec<PathBuf>,
}

impl Grant {
    /// Grants nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What of it a backend has to know: all but the variables, which are part of a program's
    /// environment.
    ///
    /// Destructured without `..`, so that a new field cannot be forgotten here.
    #[must_use]
    pub fn for_backend(&self) -> Grants {
        let Self { env: _, limits, network, read, write } = self;
        let mut res = Grants::new().limits(limits.clone());
        res.network.clone_from(network);
        res.read.clone_from(read);
        res.write.clone_from(write);
        res
    }
}

/// What a `~` stands for.
///
/// [`expand_home`](crate::expand_home) with the home directories of the host.
type Expand<'a> = &'a dyn Fn(&str) -> Result<PathBuf, HomeError>;

/// Reads the grants of all plugins. One that cannot be read refuses them all.
/// A plugin that is named twice is an error, because which of the two was meant is not known.
/// All entries are read even after one failed, so that one run shows every finding.
pub(crate) fn read_all(
    at: At<'_>,
    expand: Expand<'_>,
    findings: &mut Findings,
) -> Result<BTreeMap<String, Grant>, Reported> {
    let mut res = BTreeMap::new();
    let mut failed = None;
    let mut first_places: BTreeMap<&str, Span> = BTreeMap::new();
    let keys = at.value().as_object().unwrap_or_default().iter().map(|it| it.key.span);
    for ((plugin, value), key) in at.members().zip(keys) {
        if let Some(first) = first_places.get(plugin) {
            let what = format!("the plugin {} has two grants", quoted(plugin));
            let diag = value.error(DUPLICATE_KEY, what);
            let first = Location::text(at.source(), *first);
            let diag = diag.with_help("put them into one").with_related(first, "the other is here");
            failed = Some(findings.push(moved(diag, at, key)));
            continue;
        }
        first_places.insert(plugin, key);
        if let Some(warning) = no_plugin(value, key, plugin) {
            findings.push(warning);
        }
        match read(value, expand, findings) {
            Ok(grant) => {
                res.insert(plugin.to_owned(), grant);
            }
            Err(reported) => failed = Some(reported),
        }
    }
    failed.map_or(Ok(res), Err)
}

/// One grant. Unknown keys are errors, unlike in a manifest.
fn read(at: At<'_>, expand: Expand<'_>, findings: &mut Findings) -> Result<Grant, Reported> {
    let mut reader = ObjectReader::new(at, findings)?;
    let env = env(&mut reader);
    let limits = read_limits(&mut reader, NOT_READ);
    let network = read_network(&mut reader);
    let read = paths(&mut reader, "read", expand);
    let write = paths(&mut reader, "write", expand);
    for (other, key) in [("variables", "env"), ("net", "network"), ("paths", "read")] {
        reader.suggest_for(other, key);
    }
    reader.refuse_unknown(NOT_READ)?;
    Ok(Grant { env: env?, limits: limits?, network: network?, read: read?, write: write? })
}

/// Why an unknown key of a grant is an error.
const NOT_READ: &str = "a bound that is not read would not hold, and no message would say so";

/// The names of variables, each checked by [`ungrantable`].
fn env(reader: &mut ObjectReader<'_, '_>) -> Result<BTreeSet<String>, Reported> {
    let names = reader.optional_string_array("env")?.unwrap_or_default();
    let mut failed = None;
    for (name, at) in names.iter().zip(reader.at("env").items()) {
        if let Some(diagnostic) = ungrantable(at, name) {
            failed = Some(reader.push(diagnostic));
        }
    }
    failed.map_or_else(|| Ok(names.into_iter().map(ToOwned::to_owned).collect()), Err)
}

/// Why the name of a variable cannot be granted: it is none, or the host sets it for every
/// plugin.
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

/// The paths under `read` or `write`, in the order of the text. One wrong path fails the grant.
fn paths(
    reader: &mut ObjectReader<'_, '_>,
    key: &'static str,
    expand: Expand<'_>,
) -> Result<Vec<PathBuf>, Reported> {
    let texts = reader.optional_string_array(key)?.unwrap_or_default();
    let mut res = Vec::with_capacity(texts.len());
    let mut failed = None;
    for (text, at) in texts.into_iter().zip(reader.at(key).items()) {
        match path(at, text, expand) {
            Ok(path) => res.push(path),
            Err(diagnostic) => failed = Some(reader.push(diagnostic)),
        }
    }
    failed.map_or(Ok(res), Err)
}

/// One path: expanded, and absolute after that.
fn path(at: At<'_>, text: &str, expand: Expand<'_>) -> Result<PathBuf, Box<Diagnostic>> {
    check_system_text(at, "the path")?;
    let path = expand(text)
        .map_err(|err| Box::new(at.error(codes::GRANTED_PATH, err.to_string()).with_help(HELP)))?;
    if path.is_absolute() {
        return Ok(path);
    }
    let what = match text.trim().is_empty() {
        true => "a granted path is blank".to_owned(),
        false => format!("the granted path {} is relative", quoted(text)),
    };
    let reason =
        "a program runs in more than one directory, so only an absolute path says what is granted";
    Err(Box::new(at.error(codes::GRANTED_PATH, what).with_reason(reason).with_help(HELP)))
}

/// What to write in place of a path that cannot be granted.
const HELP: &str = "write the whole path, or one that begins with `~/`";

/// A warning about a name that no plugin can have.
///
/// `place` is where the name stands: a key, or an item of a list.
pub(crate) fn no_plugin(at: At<'_>, place: Span, name: &str) -> Option<Diagnostic> {
    let fault = check_plugin_name(name).err()?;
    let what = format!("no plugin has the name {}: it {fault}", quoted(name));
    let diag = at.warning(codes::NEVER_MATCHES, what);
    let diag =
        diag.with_help("write the name of a plugin as its manifest does; there are no patterns");
    Some(moved(diag, at, place))
}
