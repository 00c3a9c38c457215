//! On whose behalf a program runs.

use std::{borrow::Cow, fmt};

/// The kind of thing on whose behalf a program runs, which decides how far it is trusted.
///
/// The handle's [`Policies`](crate::Policies) say what each class gets. The set is open: a host may
/// name its own.
///
/// ```
/// use flyto_execenv::{Class, Policies, Policy};
///
/// let build = Class::new("ci_job");
/// let policies = Policies::new().class(build.clone(), Policy::new().refuse("no jobs on this host"));
/// assert!(policies.get(&build).refused.is_some());
/// assert!(policies.get(&Class::USER_HOOK).refused.is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class(Cow<'static, str>);

impl Class {
    /// A tool that a plugin's manifest declares.
    pub const PLUGIN_TOOL: Self = Self(Cow::Borrowed("plugin_tool"));
    /// A server of the Model Context Protocol.
    pub const MCP_SERVER: Self = Self(Cow::Borrowed("mcp_server"));
    /// A hook that a plugin declares.
    pub const PLUGIN_HOOK: Self = Self(Cow::Borrowed("plugin_hook"));
    /// A command that the user wrote down: trusted like a Git hook.
    pub const USER_HOOK: Self = Self(Cow::Borrowed("user_hook"));
    /// A tool that the agent wrote at run time and a person approved.
    pub const EVOLVE: Self = Self(Cow::Borrowed("evolve"));

    /// A class of the host's own.
    #[must_use]
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        Self(name.into())
    }

    /// The name that configuration uses, such as `plugin_tool`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
