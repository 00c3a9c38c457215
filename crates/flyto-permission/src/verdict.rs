//! The three answers, and where a rule comes from.
//!
//! All three types are plain data. [`Verdict`] and [`Layer`] are ordered, and the
//! order carries meaning: the greatest verdict of a call counts, and of two rules
//! with one effect the one of the smaller layer is named.

use std::fmt;

use flyto_diagnostics::OneLine;
use serde::{Serialize, Serializer};

/// What is to happen with a call. The order is that of strength: of several, the
/// greatest counts.
///
/// ```
/// use flyto_permission::Verdict;
///
/// assert_eq!(Verdict::Allow.max(Verdict::Deny), Verdict::Deny);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It runs.
    Allow,
    /// A person, or a program in a person's place, is asked first.
    Ask,
    /// It does not run.
    Deny,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        })
    }
}

/// Which source a rule comes from, the one with most say first.
///
/// Rules that ask or deny hold from every layer. Rules that allow hold from
/// [`Operator`](Self::Operator), and from [`Project`](Self::Project) where the
/// operator trusts the project
/// ([`trust_project`](crate::RulesBuilder::trust_project)); a plugin only narrows.
///
/// ```
/// use flyto_permission::Layer;
///
/// assert!(Layer::Operator < Layer::Project);
/// assert_eq!(Layer::Plugin("git-info".to_owned()).to_string(), "plugin git-info");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// The person or program that runs the host: flags, environment, user
    /// configuration.
    Operator,
    /// The configuration in the directory that is worked on.
    Project,
    /// The plugin of this name.
    Plugin(String),
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operator => f.write_str("operator"),
            Self::Project => f.write_str("project"),
            Self::Plugin(name) => write!(f, "plugin {name}"),
        }
    }
}

impl Serialize for Layer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Where a rule stands. `Display` gives `file:line:column`, or the pointer where
/// there is no line.
///
/// ```
/// use flyto_permission::Place;
///
/// let place = Place::new("config.json", 4, 9, "/permissions/allow/0");
/// assert_eq!(place.to_string(), "config.json:4:9");
/// ```
///
/// This crate opens no file: a host that reads a configuration says where each rule
/// stands, and the place comes back with every decision that the rule takes part
/// in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub struct Place {
    /// The file, or a name for a source that is none: a flag, a variable. Shown with
    /// escapes for control characters; a host chooses whether it is a whole path.
    pub file: String,
    /// Line, from 1; 0 where there are no lines.
    pub line: u32,
    /// Column in characters, from 1; 0 where there are no lines.
    pub column: u32,
    /// JSON pointer of the rule in the file; empty where there is none.
    /// RFC 6901.
    pub pointer: String,
}

impl Place {
    /// A place in a file.
    ///
    /// `line` and `column` count from 1; with a line of 0 the column is not shown.
    #[must_use]
    pub fn new(
        file: impl Into<String>,
        line: u32,
        column: u32,
        pointer: impl Into<String>,
    ) -> Self {
        Self { file: file.into(), line, column, pointer: pointer.into() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A name of a file may hold a newline, which would begin a line that no rule has said.
        write!(f, "{}", OneLine(&self.file))?;
        match (self.line, &*self.pointer) {
            (0, "") => Ok(()),
            (0, pointer) => write!(f, "#{pointer}"),
            (line, _) => write!(f, ":{line}:{}", self.column),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Place;

    #[test]
    fn the_name_of_a_file_makes_no_line_of_its_own() {
        let place = Place { file: "a\nallow: b\u{2028}".to_owned(), ..Place::default() };
        assert_eq!(place.to_string(), "a\\nallow: b\\u{2028}");
    }
}
