//! What differs between two values, place by place.

use std::time::Duration;

use flyto_diagnostics::Pointer;
use serde::Serialize;
use serde_json::Value;
use similar::TextDiff;

use super::MAX_DIFFERENCES;

/// How deep two values are compared; what is nested deeper differs as a whole.
const MAX_DEPTH: usize = 64;
/// The longest value that is shown, in bytes as JSON.
const MAX_SHOWN_BYTES: usize = 512;
/// The longest text that is compared line by line, and the longest result of that, in bytes.
const MAX_TEXT_BYTES: usize = 64 * 1024;
/// How long one text is compared before what is left counts as different.
const MAX_TIME: Duration = Duration::from_millis(200);

/// One place at which two values differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Difference {
    /// JSON Pointer of the place; the root is the empty text.
    pub pointer: String,
    /// How they differ.
    pub kind: DifferenceKind,
    /// What was there before. `None` for what was added, and beside [`unified`](Self::unified); a value of more than 512
    /// bytes is told by its length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// What is there now. `None` for what was removed, and beside [`unified`](Self::unified).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// For two texts of several lines: a unified difference with three lines of context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unified: Option<String>,
}

/// How two values differ at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DifferenceKind {
    /// Only the later value has the place.
    Added,
    /// Only the earlier value has the place.
    Removed,
    /// Both have it, with other values.
    Changed,
}

/// Where `after` differs from `before`, in the order of the places: members of objects by name, items of lists by position.
/// Equal values give an empty list. At most [`MAX_DIFFERENCES`] places are told; the work is bounded by the size of the
/// values, and by 200 ms for each pair of texts.
///
/// ```
/// use flyto_evolve::{DifferenceKind, differences};
/// use serde_json::json;
///
/// let found = differences(&json!({"n": 1, "old": true}), &json!({"n": 2, "new": [7]}));
/// let places: Vec<_> = found.iter().map(|it| (it.pointer.as_str(), it.kind)).collect();
/// assert_eq!(places, [
///     ("/n", DifferenceKind::Changed),
///     ("/new", DifferenceKind::Added),
///     ("/old", DifferenceKind::Removed),
/// ]);
/// assert_eq!(differences(&json!([1]), &json!([1])), []);
/// ```
#[must_use]
pub fn differences(before: &Value, after: &Value) -> Vec<Difference> {
    let mut res = Vec::new();
    compare(Some(before), Some(after), &mut Pointer::root(), 0, &mut res);
    res
}

/// Adds what differs between two values to `res`; `None` is a value that is not there. `depth` is that of `at`.
fn compare(
    before: Option<&Value>,
    after: Option<&Value>,
    at: &mut Pointer,
    depth: usize,
    res: &mut Vec<Difference>,
) {
    if res.len() >= MAX_DIFFERENCES || before == after {
        return;
    }
    match (before, after) {
        (Some(Value::Object(old)), Some(Value::Object(new))) if depth < MAX_DEPTH => {
            let mut keys: Vec<&String> = old.keys().chain(new.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys {
                at.push(key);
                compare(old.get(key), new.get(key), at, depth + 1, res);
                at.pop();
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) if depth < MAX_DEPTH => {
            for index in 0..old.len().max(new.len()) {
                at.push_index(index);
                compare(old.get(index), new.get(index), at, depth + 1, res);
                at.pop();
            }
        }
        (Some(Value::String(old)), Some(Value::String(new))) if is_text(old) || is_text(new) => {
            let unified = Some(unified(old, new));
            let pointer = at.as_str().to_owned();
            let kind = DifferenceKind::Changed;
            res.push(Difference { pointer, kind, before: None, after: None, unified });
        }
        _ => {
            let kind = match (before, after) {
                (None, _) => DifferenceKind::Added,
                (_, None) => DifferenceKind::Removed,
                _ => DifferenceKind::Changed,
            };
            res.push(Difference {
                pointer: at.as_str().to_owned(),
                kind,
                before: before.map(shown),
                after: after.map(shown),
                unified: None,
            });
        }
    }
}

/// Whether a text is shown as lines.
fn is_text(text: &str) -> bool {
    text.trim_end_matches('\n').contains('\n') || text.len() > MAX_SHOWN_BYTES
}

/// Two texts as a unified diff; of texts beyond [`MAX_TEXT_BYTES`] how long they are.
fn unified(old: &str, new: &str) -> String {
    if old.len().max(new.len()) > MAX_TEXT_BYTES {
        return format!("a text of {} bytes became one of {} bytes\n", old.len(), new.len());
    }
    let mut res = TextDiff::configure()
        .timeout(MAX_TIME)
        .diff_lines(old, new)
        .unified_diff()
        .context_radius(3)
        .to_string();
    if res.len() > MAX_TEXT_BYTES {
        res.truncate(res.floor_char_boundary(MAX_TEXT_BYTES));
        res.push_str("\n[the rest is left out]\n");
    }
    res
}

/// A value, or its length where it is long.
fn shown(value: &Value) -> Value {
    let n_bytes = value.to_string().len();
    match n_bytes > MAX_SHOWN_BYTES {
        true => format!("[a value of {n_bytes} bytes]").into(),
        false => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_of_several_lines_are_compared_by_lines() {
        let found = differences(&json!({"t": "a\nb\nc\n"}), &json!({"t": "a\nx\nc\n"}));
        assert_eq!(found[0].unified.as_deref(), Some("@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"));
        let found = differences(&json!("a\n"), &json!("b\n"));
        assert_eq!((found[0].pointer.as_str(), &found[0].unified), ("", &None));
    }

    #[test]
    fn what_is_told_is_bounded() {
        let many = |n: i64| Value::from_iter((0..1000).map(|it| it * n));
        assert_eq!(differences(&many(1), &many(2)).len(), MAX_DIFFERENCES);
        let mut deep = (json!(1), json!(2));
        for _ in 0..500 {
            deep = (json!([deep.0]), json!([deep.1]));
        }
        let found = differences(&deep.0, &deep.1);
        assert_eq!(found[0].pointer.len(), 2 * MAX_DEPTH);
        let long = differences(&json!("x".repeat(100_000)), &json!("y".repeat(100_001)));
        let told = "a text of 100000 bytes became one of 100001 bytes\n";
        assert_eq!(long[0].unified.as_deref(), Some(told));
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..4_i64).prop_map(Value::from),
            "[ab/~\n]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                prop::collection::btree_map("[ab/~]{0,2}", inner, 0..4)
                    .prop_map(|it| Value::Object(it.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn each_place_is_where_the_values_differ(a in value(), b in value()) {
            let found = differences(&a, &b);
            prop_assert_eq!(found.is_empty(), a == b);
            for it in found {
                let (old, new) = (a.pointer(&it.pointer), b.pointer(&it.pointer));
                prop_assert_ne!(old, new);
                match it.kind {
                    DifferenceKind::Added => prop_assert!(old.is_none() && new.is_some()),
                    DifferenceKind::Removed => prop_assert!(old.is_some() && new.is_none()),
                    DifferenceKind::Changed => prop_assert!(old.is_some() && new.is_some()),
                }
            }
        }
    }
}
