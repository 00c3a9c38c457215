//! What differs between two definitions, field by field, with texts as lines.
//!
//! Fields are compared by their text: a script as its lines, other values as indented JSON. So a
//! change of layout alone is none, and a change of one line is shown as one line.

use std::{collections::BTreeSet, time::Duration};

use serde::Serialize;
use serde_json::Value;
use similar::TextDiff;

use super::visible;
use crate::ToolDefinition;

/// How long one field is compared before what is left counts as different.
const MAX_TIME: Duration = Duration::from_millis(500);

/// What differs in one field.
///
/// A field that is new has lines with `+` alone, and one that is gone lines with `-` alone. The
/// hash of the definition decides what is approved; this is for reading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FieldDiff {
    /// The key, such as `script`.
    pub field: String,
    /// A unified difference with three lines of context: lines begin with ` `, `-` or `+`. Characters that are not seen
    /// are written as `\u{202e}`.
    pub unified: String,
}

/// What `new` changes in `old`, in the order of the keys. Without `old`, every field is new. What the store counts is left
/// out, so two versions with the same text differ in nothing.
///
/// ```
/// use flyto_evolve::{ToolDefinition, diff};
///
/// let old = ToolDefinition::script("t", "Says a.", "echo a\necho b\n");
/// let new = ToolDefinition::script("t", "Says a.", "echo a\necho c\n");
/// let found = diff(Some(&old), &new);
/// assert_eq!(found.len(), 1);
/// assert_eq!(found[0].unified, "@@ -1,2 +1,2 @@\n echo a\n-echo b\n+echo c\n");
/// ```
#[must_use]
pub fn diff(old: Option<&ToolDefinition>, new: &ToolDefinition) -> Vec<FieldDiff> {
    let old = old.map_or(Value::Null, ToolDefinition::content);
    let new = new.content();
    let keys = |it: &Value| -> BTreeSet<String> {
        it.as_object().into_iter().flat_map(|it| it.keys().cloned()).collect()
    };
    let mut res = Vec::new();
    for field in keys(&old).union(&keys(&new)) {
        let (before, after) = (text(old.get(field)), text(new.get(field)));
        if before == after {
            continue;
        }
        let unified = TextDiff::configure()
            .timeout(MAX_TIME)
            .diff_lines(&before, &after)
            .unified_diff()
            .context_radius(3)
            .missing_newline_hint(false)
            .to_string();
        res.push(FieldDiff { field: field.clone(), unified });
    }
    res
}

/// A value as lines: texts as they are, others as indented JSON.
fn text(value: Option<&Value>) -> String {
    let mut res = match value {
        None => return String::new(),
        Some(Value::String(text)) => visible(text),
        Some(other) => visible(&format!("{other:#}")),
    };
    if !res.ends_with('\n') {
        res.push('\n');
    }
    res
}
