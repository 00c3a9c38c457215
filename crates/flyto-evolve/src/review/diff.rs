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
    /// are written as `\u{202e}`; see [`visible`](crate::visible). Where one of the texts alone ends its last line, a line that
    /// begins with `\` says so behind the other one.
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
        // Each text is shown in one way that no other text has, so equal ones are the same.
        let (mut before, mut after) = (text(old.get(field)), text(new.get(field)));
        if before == after {
            continue;
        }
        let is_new_or_gone = before.is_empty() || after.is_empty();
        let ends_alike = is_new_or_gone || before.ends_with('\n') == after.ends_with('\n');
        if ends_alike {
            for it in [&mut before, &mut after] {
                if !it.is_empty() && !it.ends_with('\n') {
                    it.push('\n');
                }
            }
        }
        let unified = TextDiff::configure()
            .timeout(MAX_TIME)
            .diff_lines(&before, &after)
            .unified_diff()
            .context_radius(3)
            .missing_newline_hint(!ends_alike)
            .to_string();
        res.push(FieldDiff { field: field.clone(), unified });
    }
    res
}

/// All fields of a text that stays as it is, in the order of the keys: their lines begin with ` `.
pub(super) fn unchanged(content: &Value) -> Vec<FieldDiff> {
    let fields = content.as_object().into_iter().flatten();
    let lines = |value| text(Some(value)).lines().map(|it| format!(" {it}\n")).collect();
    fields.map(|(key, value)| FieldDiff { field: key.clone(), unified: lines(value) }).collect()
}

/// A value as lines: texts as they are, others as indented JSON.
fn text(value: Option<&Value>) -> String {
    match value {
        None => String::new(),
        Some(Value::String(text)) => visible(text),
        Some(other) => visible(&format!("{other:#}")),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(old: &str, new: &str, expect: Expect) {
        let script = |text: &str| ToolDefinition::script("t", "Tests.", text);
        let found = diff(Some(&script(old)), &script(new));
        let found: Vec<String> =
            found.iter().map(|it| format!("{}:\n{}", it.field, it.unified)).collect();
        expect.assert_eq(&found.concat());
    }

    #[test]
    fn texts_that_differ_are_shown_to_differ() {
        check("echo a\n", "echo a\n", expect![""]);
        check(
            "echo \\u{a0}\n",
            "echo \u{a0}\n",
            expect![[r"
            script:
            @@ -1 +1 @@
            -echo \u{5c}u{a0}
            +echo \u{a0}
        "]],
        );
        check(
            "a\necho \u{202e}b\n",
            "a\necho \\u{202e}b\n",
            expect![[r"
            script:
            @@ -1,2 +1,2 @@
             a
            -echo \u{202e}b
            +echo \u{5c}u{202e}b
        "]],
        );
        check(
            "echo a",
            "echo a\n",
            expect![[r"
            script:
            @@ -1 +1 @@
            -echo a
            \ No newline at end of file
            +echo a
        "]],
        );
        check(
            "echo a",
            "echo b",
            expect![[r"
            script:
            @@ -1 +1 @@
            -echo a
            +echo b
        "]],
        );
    }
}
