//! Rules of permission that a plugin has for its own tools.
//!
//! This crate knows where they stand and that they only narrow. What a text means is known to the
//! host, which gives a [`RuleCheck`] for the reading and decides each call by them.

use std::ops::Range;

/// A rule of a plugin, from `permissions` of its manifest: what follows for calls of its own tools.
///
/// It never allows anything, and holds for no tool of another plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginRule {
    /// What follows for a call that it names.
    pub effect: RuleEffect,
    /// The text as it is written.
    pub text: String,
    /// The manifest, as its findings name it.
    pub file: String,
    /// The line of the text, from 1.
    pub line: usize,
    /// The column of the text in characters, from 1.
    pub column: usize,
    /// The JSON pointer of the text in the manifest.
    pub pointer: String,
}

/// What a rule of a plugin can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RuleEffect {
    /// A person is asked first.
    Ask,
    /// The call is refused.
    Deny,
}

/// Reads a rule of a plugin: its name, and the text. Gives the tools that the rule names; `None` where it names calls by
/// something else, such as a command. Given to
/// [`LoadOptions::rules`](crate::LoadOptions::rules) by a host that decides calls by rules.
pub type RuleCheck = fn(plugin: &str, text: &str) -> Result<Option<NamedTools>, RuleFault>;

/// The tools of its plugin that a rule names, whether or not there are any.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamedTools {
    /// The server of the plugin that offers them; `None` for those of `tools`.
    pub server: Option<String>,
    /// The name of a tool, or what names start with.
    pub name: String,
    /// Whether the names start with `name`.
    pub is_prefix: bool,
}

impl NamedTools {
    /// The tool of this name in `tools`.
    #[must_use]
    pub fn one(name: impl Into<String>) -> Self {
        Self { server: None, name: name.into(), is_prefix: false }
    }

    /// The tools whose names start so.
    #[must_use]
    pub fn starting_with(prefix: impl Into<String>) -> Self {
        Self { is_prefix: true, ..Self::one(prefix) }
    }

    /// Those of a server in place of those of `tools`.
    #[must_use]
    pub fn of_server(mut self, server: impl Into<String>) -> Self {
        self.server = Some(server.into());
        self
    }
}

/// Why a text is no rule of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleFault {
    /// What is wrong, as the words behind "it is no rule: ".
    pub why: String,
    /// The bytes of the text that are wrong.
    pub span: Range<usize>,
    /// The rule that was probably meant.
    pub suggestion: Option<String>,
}

impl RuleFault {
    /// A fault at these bytes of the text.
    #[must_use]
    pub fn new(why: impl Into<String>, span: Range<usize>) -> Self {
        Self { why: why.into(), span, suggestion: None }
    }

    /// Says which rule was probably meant.
    #[must_use]
    pub fn with_suggestion(mut self, rule: impl Into<String>) -> Self {
        self.suggestion = Some(rule.into());
        self
    }
}
