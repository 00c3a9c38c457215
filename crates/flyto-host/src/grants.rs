//! What a tool's program lacks, and how the operator grants it.

use std::path::Path;

use flyto_plugin::{Grant, PluginTool};
use serde::Serialize;
use serde_json::{Value, json};

/// A name of a variable in the entry that grants one, where no name is known.
const ANY_NAME: &str = "ANOTHER_VARIABLE";

/// Variables that a program has not got, and how it gets them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MissingGrants {
    /// Variables that declared values need and the host does not have.
    pub to_set: Vec<String>,
    /// How the operator grants a variable.
    pub to_grant: ToGrant,
    /// Variables that are set and not granted, in whose place declared values use their default.
    #[serde(skip)]
    pub defaulted: Vec<String>,
}

/// How the operator grants a variable to a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ToGrant {
    /// The variables that have to be granted; often none.
    pub names: Vec<String>,
    /// The configuration file in which a grant takes effect, be it there or not.
    pub file: Option<String>,
    /// What it has to say, with what it says already. A name that is not known is `ANOTHER_VARIABLE`.
    pub entry: Value,
    /// The plugin.
    #[serde(skip)]
    pub plugin: String,
}

impl MissingGrants {
    pub(crate) fn new(tool: &PluginTool, granted: Option<&Grant>, file: Option<&Path>) -> Self {
        let names = tool.ungranted();
        // What is granted already stays: the entry may be written in place of the one that is there.
        let granted = granted.into_iter().flat_map(|it| &it.env);
        let mut env: Vec<_> = granted.chain(&names).map(String::as_str).collect();
        if names.is_empty() {
            env.push(ANY_NAME);
        }
        let to_grant = ToGrant {
            entry: json!({"plugins": {"grants": {tool.plugin(): {"env": env}}}}),
            plugin: tool.plugin().to_owned(),
            file: file.map(|it| it.to_string_lossy().into_owned()),
            names,
        };
        Self { to_set: tool.unset(), to_grant, defaulted: tool.defaulted() }
    }

    /// Whether there are variables that only have to be granted.
    #[must_use]
    pub fn has_ungranted(&self) -> bool {
        !self.to_grant.names.is_empty()
    }
}
