//! The tools that a composite calls, for the person that decides about it.
//!
//! What a tool declares is told in these words, and what it does not declare counts as unsafe:
//!
//! | declared | told |
//! | --- | --- |
//! | `read_only` | changes nothing |
//! | `destructive: true` | destroys |
//! | `destructive: false` | destroys nothing |
//! | neither | may destroy |
//! | `open_world: true` | reaches other systems |
//! | `open_world` not at all | may reach other systems |
//! | `requires_checkpoint` | needs a checkpoint |
//!
//! Of a script, the variables that it reads and the addresses that it names follow; its dangers are lines of their own.

use std::fmt;

use flyto_tools::Metadata;
use serde::Serialize;

use super::{Facts, one_line};
use crate::DefinitionHash;

/// A tool that a composite calls, or that a composite among its tools does. A composite is never safer than these.
///
/// ```
/// use flyto_evolve::{CalledTool, Review};
///
/// fn told(review: &Review) -> Vec<String> {
///     review.calls.iter().map(CalledTool::to_string).collect()
/// }
/// # let _ = told;
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CalledTool {
    /// Its name, as the step has it: an id, or an alias of one.
    pub name: String,
    /// What calls it, for people: `step log`, `undo of log`, `the tool inner`.
    pub called_by: Vec<String>,
    /// What it says of itself: its origin, its class, and what its calls may do. The class is what the rules of a host judge a
    /// call by, and each step goes through them as a call of its own.
    pub metadata: Metadata,
    /// The hash of its text, where it was made at run time.
    pub sha256: Option<DefinitionHash>,
    /// What its text was seen to do, where it was made at run time. Facts for a reader, no verdict, and not complete; of a
    /// composite only the claims.
    pub facts: Option<Facts>,
}

impl fmt::Display for CalledTool {
    /// One line: the name, where it comes from, what its calls may do, and what calls it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Metadata { origin, version, permission_class, .. } = &self.metadata;
        write!(f, "{}", one_line(&self.name))?;
        self.sha256.iter().try_for_each(|it| write!(f, ", sha256 {}", it.short()))?;
        write!(f, ": {}", one_line(&origin.to_string()))?;
        if let (None, Some(version)) = (&self.sha256, version) {
            write!(f, ", version {}", one_line(version))?;
        }
        write!(f, ", class {}", one_line(&permission_class.to_string()))?;
        effects(&self.metadata).into_iter().try_for_each(|it| write!(f, ", {it}"))?;
        let facts = self.facts.iter();
        for (what, found) in facts.flat_map(|it| [("reads", &it.env_names), ("names", &it.urls)]) {
            if !found.is_empty() {
                write!(f, ", {what} {}", one_line(&found.join(" ")))?;
            }
        }
        write!(f, "; for {}", one_line(&self.called_by.join(", ")))
    }
}

/// What calls of a tool may do, in the words of the table above.
fn effects(it: &Metadata) -> Vec<&'static str> {
    let mut res = vec![match it.destructive {
        _ if it.is_read_only() => "changes nothing",
        Some(true) => "destroys",
        Some(false) => "destroys nothing",
        None => "may destroy",
    }];
    match it.open_world {
        Some(true) => res.push("reaches other systems"),
        None => res.push("may reach other systems"),
        Some(false) => {}
    }
    if it.requires_checkpoint {
        res.push("needs a checkpoint");
    }
    res
}
