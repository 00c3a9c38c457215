//! Rules that a plugin brings for its own tools.
//!
//! Tools of a plugin are `plugin:tool`, and those of a server that it declares
//! `plugin.server:tool`, so the two owners never meet: a name of a plugin holds no `.`.

use crate::{Rule, RuleError, rule::Form};

/// The tools of a plugin that one of its rules names.
///
/// ```
/// use flyto_permission::Rule;
///
/// let named = Rule::check_of_plugin("db", "db:drop_*")?.expect("it names tools");
/// assert!(named.has("drop_table") && !named.has("read"));
/// let of_server = Rule::check_of_plugin("db", "mcp__db.admin__*")?.expect("it names tools");
/// assert_eq!(of_server.server.as_deref(), Some("admin"));
/// assert_eq!(Rule::check_of_plugin("db", "Bash(rm:*)")?, None);
/// # Ok::<(), flyto_permission::RuleError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnTools {
    /// The server of the plugin that offers them; `None` for the tools of the plugin itself.
    pub server: Option<String>,
    /// The name within the plugin or the server.
    pub name: String,
    /// Whether the names of the tools start with `name`, which is empty for all of them.
    pub is_prefix: bool,
}

impl OwnTools {
    /// Whether a tool of this name, of the same plugin or server, is one of them.
    #[must_use]
    pub fn has(&self, tool: &str) -> bool {
        if self.is_prefix { tool.starts_with(&self.name) } else { tool == self.name }
    }
}

impl Rule {
    /// Reads a rule that a plugin brings, and keeps nothing of it. Tools in it are the
    /// plugin's own: it writes them as `plugin:tool` and `plugin:*`, and those of a
    /// server that it declares as `mcp__plugin.server__tool`. Other forms, such as
    /// `Bash(…)` and `class:bash`, name no tool; that they hold for calls of its own
    /// tools alone is up to the host
    /// ([`Rules::narrowed_by`](crate::Rules::narrowed_by)).
    ///
    /// Gives the tools that it names, whether or not there are any; `None` for the other forms.
    ///
    /// ```
    /// use flyto_permission::Rule;
    ///
    /// assert!(Rule::check_of_plugin("db", "db:drop").is_ok());
    /// assert!(Rule::check_of_plugin("db", "mcp__db.admin__drop").is_ok());
    /// assert!(Rule::check_of_plugin("db", "Read(~/.ssh/**)").is_ok());
    /// assert!(Rule::check_of_plugin("db", "mail:send").is_err());
    /// let bare = Rule::check_of_plugin("db", "drop").expect_err("it is no tool of a plugin");
    /// assert_eq!(bare.suggestion.as_deref(), Some("db:drop"));
    /// ```
    ///
    /// # Errors
    ///
    /// A text that is no rule, and one that names tools of another owner.
    pub fn check_of_plugin(plugin: &str, text: &str) -> Result<Option<OwnTools>, RuleError> {
        let fail = |better| {
            let why = "a rule of a plugin names no tools but the plugin's own";
            Err(RuleError::new(text, why, 0..text.len(), better))
        };
        let (owner, name, is_prefix) = match Form::parse(text)? {
            Form::Owner { owner, prefix } => (owner, prefix, true),
            Form::Tool(id) => match id.split_once(':') {
                Some((owner, name)) => (owner.to_owned(), name.to_owned(), false),
                None => {
                    let better = format!("{plugin}:{id}");
                    return fail(Self::check(&better).is_ok().then_some(better));
                }
            },
            _ => return Ok(None),
        };
        let server = match owner.strip_prefix(plugin) {
            Some("") => None,
            Some(rest) => match rest.strip_prefix('.').filter(|it| !it.is_empty()) {
                Some(server) => Some(server.to_owned()),
                None => return fail(None),
            },
            None => return fail(None),
        };
        Ok(Some(OwnTools { server, name, is_prefix }))
    }
}
