//! How manifests are looked at.
//!
//! Every option has a default that looks less closely: without the host's `PATH` and environment
//! nothing can be said about them, so nothing is.

use std::{ffi::OsString, sync::Arc};

use flyto_execenv::Environment;
#[cfg(doc)]
use flyto_execenv::MAX_VALUES_BYTES;

use crate::rules::RuleCheck;

/// How manifests are looked at.
///
/// ```
/// use flyto_plugin::{Depth, LoadOptions};
///
/// let options = LoadOptions::new().depth(Depth::Full).path("/usr/bin:/bin");
/// assert_eq!(options.depth, Depth::Full);
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LoadOptions {
    /// How closely.
    pub depth: Depth,
    /// The `PATH` that programs will have; without one it is not known whether a program that is
    /// called by its bare name is there.
    /// Entries are separated as the system does it. A tool that declares a `PATH` of its own is
    /// not looked up in this one.
    pub path: Option<OsString>,
    /// The host's environment, from which declared servers read; without one it is not known whether
    /// the variables are there that they need.
    pub env: Option<Arc<Environment>>,
    /// What reads the rules of permission in a manifest; without it no plugin loads that has some, since
    /// a rule that is not read would not hold.
    pub rules: Option<RuleCheck>,
    /// The most bytes that the system takes of arguments and variables together, as
    /// `flyto_execenv::local::max_words_bytes` tells; without it, [`MAX_VALUES_BYTES`].
    pub max_words_bytes: Option<u64>,
}

/// How closely a manifest is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Depth {
    /// Everything that can be told from the text and a look at the files it names. Schemas are
    /// checked in their shape, and compiled where that leaves a doubt: with intricate patterns,
    /// references or another dialect. Beyond about a second's work in one manifest, that one does not compile shows
    /// when its tool is first used.
    #[default]
    Quick,
    /// That, and all schemas are compiled and compared with what clients take, and programs looked up in the `PATH`: for an author
    /// who asks.
    ///
    /// It also hashes each file that must have a digest, looks whether the arguments and variables of a tool or server are too
    /// long, and a server without its variables is an error rather than a warning. It may take long, since the size of these
    /// files has no bound.
    Full,
}

impl LoadOptions {
    /// Looks quickly, and knows no `PATH`.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how closely manifests are looked at.
    #[must_use]
    pub fn depth(mut self, depth: Depth) -> Self {
        self.depth = depth;
        self
    }

    /// Sets the host's environment.
    #[must_use]
    pub fn env(mut self, env: impl Into<Arc<Environment>>) -> Self {
        self.env = Some(env.into());
        self
    }

    /// Sets what reads the rules of permission in a manifest: for a host that decides each call of a plugin by
    /// [`PluginTool::rules`](crate::PluginTool::rules).
    #[must_use]
    pub fn rules(mut self, check: RuleCheck) -> Self {
        self.rules = Some(check);
        self
    }

    /// Sets the most bytes of arguments and variables together; `None` where that is not known.
    #[must_use]
    pub fn max_words_bytes(mut self, max_bytes: Option<u64>) -> Self {
        self.max_words_bytes = max_bytes;
        self
    }

    /// Sets the `PATH` that programs will have.
    #[must_use]
    pub fn path(mut self, path: impl Into<OsString>) -> Self {
        self.path = Some(path.into());
        self
    }
}
