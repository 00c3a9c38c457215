//! Each value of the configuration that holds, and what set it.
//!
//! A value is recorded when a source sets it, with its place, and dropped when a later source
//! replaces it. [`Config::values`] adds the defaults of the keys that no source set.

use flyto_diagnostics::{At, Location, Source, json};
use serde_json::{Value, json as value};

use super::{Config, Origin, secret_rules};

/// One value of a configuration: a text, a number, a truth value, or an empty list or object.
///
/// ```
/// use flyto_host::Config;
///
/// let values = Config::default().values();
/// let limit = values.iter().find(|it| it.key == "output_limit_bytes").expect("each key is there");
/// assert_eq!((limit.value.as_u64(), &limit.origin), (Some(65536), &None));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ConfigValue {
    /// The keys that lead to it, such as `plugins.grants.notes.env[0]`.
    pub key: String,
    /// The value as it is written; the path of a variable or a flag is absolute.
    pub value: Value,
    /// What set it; `None` is the default.
    pub origin: Option<Origin>,
    /// Where it stands, if a file set it.
    pub place: Option<Location>,
}

/// The keys that a file can set, in the order in which people read them, each with its default.
fn defaults() -> impl Iterator<Item = (&'static str, Value)> {
    let default = Config::default();
    let ready = default.plugins.ready;
    let ready = value!({
        "processes": ready.processes,
        "idle_seconds": ready.idle.as_secs(),
        "memory_bytes": ready.memory_bytes,
    });
    [
        ("plugins.enabled", value!(default.plugins.enabled)),
        ("plugins.plugin_dirs", value!(flyto_plugin::DEFAULT_PLUGIN_DIRS)),
        ("plugins.allowed_plugins", value!([])),
        ("plugins.blocked_plugins", value!([])),
        ("plugins.strict_env", value!(default.plugins.strict_env)),
        ("plugins.grants", value!({})),
        ("plugins.ready", ready),
        ("exec_tools", value!([])),
        ("mcpServers", value!({})),
        ("output_limit_bytes", value!(default.output_limit_bytes)),
        ("sandbox", value!("none")),
        ("permissions.allow", value!([])),
        ("permissions.ask", value!([])),
        ("permissions.deny", value!([])),
        ("audit.enabled", value!(true)),
        ("audit.fsync", value!("never")),
        ("audit.on_failure", value!("refuse")),
        ("audit.inputs", value!("digest")),
        ("audit.keep_days", value!(null)),
        ("evolve.enabled", value!(default.evolve.is_enabled)),
        ("evolve.dir", value!("~/.flyto/evolution")),
        ("evolve.record_calls", value!(default.evolve.record_calls)),
        ("evolve.hints", value!(default.evolve.hints)),
        ("evolve.ask_client", value!(default.evolve.ask_client)),
        ("output_guard", value!(null)),
        (secret_rules::KEY, value!(null)),
    ]
    .into_iter()
}

impl Config {
    /// Each value that holds, with what set it, in the order of the keys in the documentation. Where a project narrows what
    /// the user allows, the values of both are there.
    #[must_use]
    pub fn values(&self) -> Vec<ConfigValue> {
        let mut res = Vec::new();
        for (key, default) in defaults() {
            let before = res.len();
            res.extend(self.values.iter().filter(|it| it.0 == key).map(|it| it.1.clone()));
            if res.len() == before {
                flatten(key, &default, &mut |key, value| {
                    res.push(ConfigValue { key, value, origin: None, place: None });
                });
            }
        }
        res
    }

    /// Puts the value of `key` in a file in place of what was set before.
    pub(super) fn set_values(
        &mut self,
        key: &'static str,
        origin: &Origin,
        text: Option<&(Source, json::Value<'_>)>,
    ) {
        self.values.retain(|it| it.0 != key);
        self.add_values(key, origin, text);
    }

    /// Adds the value of `key` in a file to what was set before.
    ///
    /// Does nothing where `text` is `None` or has no such key.
    pub(super) fn add_values(
        &mut self,
        key: &'static str,
        origin: &Origin,
        text: Option<&(Source, json::Value<'_>)>,
    ) {
        let Some((source, root)) = text else { return };
        let at = At::root(source, root);
        let Some(at) = at.at_pointer(&pointer(key)).or_else(|| at.at_pointer(&other_pointer(key)))
        else {
            return;
        };
        leaves(key.to_owned(), at, &mut |path, at| {
            let found = ConfigValue {
                key: path,
                value: at.value().to_json(),
                origin: Some(origin.clone()),
                place: Some(at.location()),
            };
            self.values.push((key, found));
        });
    }

    /// Adds the least profile, because what a file says of `sandbox` could not be read.
    pub(super) fn set_unread_sandbox(&mut self, origin: &Origin) {
        let value = value!(flyto_execenv::Profile::Workspace.name());
        let (key, origin) = ("sandbox", Some(origin.clone()));
        self.values.push((key, ConfigValue { key: key.to_owned(), value, origin, place: None }));
    }

    /// Puts a value that stands in no file in place of what was set before.
    pub(super) fn set_value(&mut self, key: &'static str, origin: &Origin, value: &Value) {
        self.values.retain(|it| it.0 != key);
        flatten(key, value, &mut |path, value| {
            let found = ConfigValue { key: path, value, origin: Some(origin.clone()), place: None };
            self.values.push((key, found));
        });
    }
}

/// The JSON Pointer (RFC 6901) of a key with dots.
fn pointer(key: &str) -> String {
    format!("/{}", key.replace('.', "/"))
}

/// The same in another spelling that works.
fn other_pointer(key: &str) -> String {
    pointer(key).replace("/plugin_dirs", "/directories")
}

/// Tells of every value within one that holds no further ones.
fn leaves<'v>(key: String, at: At<'v>, tell: &mut impl FnMut(String, At<'v>)) {
    let (items, members) = (at.items(), at.members());
    if items.len() + members.len() == 0 {
        return tell(key, at);
    }
    for (index, at) in items.enumerate() {
        leaves(format!("{key}[{index}]"), at, tell);
    }
    for (name, at) in members {
        leaves(format!("{key}.{name}"), at, tell);
    }
}

/// As [`leaves`] does, for a value that stands in no file. Lists and objects in it have no others in them.
fn flatten(key: &str, value: &Value, tell: &mut impl FnMut(String, Value)) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            let items = items.iter().enumerate();
            items.for_each(|(index, it)| tell(format!("{key}[{index}]"), it.clone()));
        }
        Value::Object(members) if !members.is_empty() => {
            members.iter().for_each(|(name, it)| tell(format!("{key}.{name}"), it.clone()));
        }
        _ => tell(key.to_owned(), value.clone()),
    }
}
