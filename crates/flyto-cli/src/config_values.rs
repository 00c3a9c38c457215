//! Where the configuration says something, for a person to find it.

use flyto_host::{Config, ConfigValue};
use flyto_plugin::PluginState;

use crate::words::one_line;

/// The values that decide which plugins are used.
#[derive(Debug)]
pub(crate) struct PluginValues(Vec<ConfigValue>);

impl PluginValues {
    pub(crate) fn of(config: &Config) -> Self {
        let mut res = config.values();
        res.retain(|it| it.origin.is_some() && it.key.starts_with("plugins."));
        Self(res)
    }

    /// The value that keeps the tools of a plugin from being used, with its place; `None` where no source set one.
    pub(crate) fn holding_back(&self, plugin: &str, state: PluginState) -> Option<String> {
        let of = |key: &str| -> Vec<_> {
            self.0.iter().filter(|it| it.key.split('[').next() == Some(key)).collect()
        };
        let place = |it: &ConfigValue| one_line(&set_by(it));
        let not_allowed = |it: &ConfigValue| {
            format!("`plugins.allowed_plugins` in {} does not name it", place(it))
        };
        let (blocked, allowed) = (of("plugins.blocked_plugins"), of("plugins.allowed_plugins"));
        match state {
            PluginState::Blocked => match blocked.iter().find(|it| it.value == plugin) {
                Some(it) => Some(format!("`plugins.blocked_plugins` in {} names it", place(it))),
                // A project that names fewer than the user blocks the others.
                None => allowed.last().map(|it| not_allowed(it)),
            },
            PluginState::NotAllowed => allowed.first().map(|it| not_allowed(it)),
            PluginState::Disabled => of("plugins.enabled").first().map(|it| {
                format!(
                    "`plugins.enabled` in {} is false; `--plugins DIR` is used all the same",
                    place(it)
                )
            }),
            _ => None,
        }
    }
}

/// `/home/ada/.config/flyto/config.json:3`, `$FLYTO_PLUGINS`, `--plugins`, `default`.
pub(crate) fn set_by(it: &ConfigValue) -> String {
    let origin = it.origin.as_ref().map_or_else(|| "default".to_owned(), ToString::to_string);
    match it.place.as_ref().and_then(|it| it.place()) {
        Some(place) => format!("{origin}:{}", place.line),
        None => origin,
    }
}
