//! Texts that stand beside each other, as one: a secret may be cut into members or items.
//!
//! The texts of a value are taken in their order, however they are nested, and each 2, 3 and 4 that follow each other are joined. A
//! text that is JSON counts as what it holds. Of a long text its begin or its end is taken. So the work is linear in the value, and
//! a secret in more than four parts, or in parts with another text between them, is not found.
//!
//! ```text
//! {"a": "ghp_16C7e42F29", "b": ["2c6912E7710c", "838347Ae178B4a"]}
//!
//! ghp_16C7e42F292c6912E7710c
//! 2c6912E7710c838347Ae178B4a
//! ghp_16C7e42F292c6912E7710c838347Ae178B4a
//! ```
//!
//! The first two are looked through without a finding, and the third has one that lies in all of its parts. What lies in one of
//! them is found in that text by itself, so only what is across a joint counts, and only where a rule is sure: two texts that stand
//! beside each other by chance look like a password more often than like a token.

use std::ops::Range;

use flyto_diagnostics::Pointer;
use serde_json::Value;

/// The most texts that are joined.
const MAX_TEXTS: usize = 4;
/// The most bytes that each of them has a share of: more than any token that a rule is sure of has.
const MAX_PART_BYTES: usize = 512;
/// The fewest bytes together: no rule is sure of less.
const MIN_BYTES: usize = 12;
/// How deep a value is looked at; readers take none that is deeper.
const MAX_DEPTH: usize = 128;

/// Texts that were joined.
///
/// Lengths and places are in bytes of [`text`](Self::text), as spans of findings are.
pub(super) struct Joined {
    /// Where the first one stands.
    pub(super) pointer: String,
    /// All of them, without anything between.
    pub(super) text: String,
    /// Where one ends and the next begins.
    joints: Vec<usize>,
}

impl Joined {
    /// Whether a span has parts of two texts. What is in one of them alone is found there.
    pub(super) fn is_across(&self, span: &Range<usize>) -> bool {
        self.joints.iter().any(|it| span.start < *it && *it < span.end)
    }
}

/// The neighbours in a value, joined.
pub(super) fn neighbours(value: &Value) -> Vec<Joined> {
    let mut texts = Vec::new();
    collect(value, &mut Pointer::root(), 0, &mut texts);
    let mut res = Vec::new();
    for n_texts in 2..=MAX_TEXTS {
        for window in texts.windows(n_texts) {
            let between = &window[1..n_texts - 1];
            if between.iter().any(|it| it.1.len() > MAX_PART_BYTES) {
                continue; // What is not taken of it would be left out between its neighbours.
            }
            let mut joined =
                Joined { pointer: window[0].0.clone(), text: String::new(), joints: Vec::new() };
            for (index, (_, text)) in window.iter().enumerate() {
                if index > 0 {
                    joined.joints.push(joined.text.len());
                }
                let part = match index {
                    0 => {
                        &text[text.ceil_char_boundary(text.len().saturating_sub(MAX_PART_BYTES))..]
                    }
                    _ => &text[..text.floor_char_boundary(MAX_PART_BYTES)],
                };
                joined.text.push_str(part);
            }
            if joined.text.len() >= MIN_BYTES {
                res.push(joined);
            }
        }
    }
    res
}

/// The texts of a value in their order, with their places.
fn collect(value: &Value, at: &mut Pointer, depth: usize, res: &mut Vec<(String, String)>) {
    match value {
        _ if depth > MAX_DEPTH => {}
        Value::String(text) => {
            let looks_so = text.trim_start().starts_with(['{', '[']);
            match looks_so.then(|| serde_json::from_str::<Value>(text).ok()).flatten() {
                Some(inner) => collect(&inner, at, depth + 1, res),
                None if text.is_empty() => {}
                None => res.push((at.as_str().to_owned(), text.clone())),
            }
        }
        Value::Number(number) => res.push((at.as_str().to_owned(), number.to_string())),
        Value::Array(items) => {
            for (index, it) in items.iter().enumerate() {
                at.push_index(index);
                collect(it, at, depth + 1, res);
                at.pop();
            }
        }
        Value::Object(members) => {
            for (key, it) in members {
                at.push(key);
                collect(it, at, depth + 1, res);
                at.pop();
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn neighbours_are_joined_however_they_are_nested() {
        let value = json!({"a": ["first part", {"b": "second"}], "c": "{\"d\": 34}", "e": ""});
        let joined = neighbours(&value);
        let texts: Vec<&str> = joined.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(texts, ["first partsecond", "first partsecond34"]);
        assert_eq!((joined[0].pointer.as_str(), &joined[0].joints), ("/a/0", &vec![10]));
        assert!(joined[0].is_across(&(9..11)) && !joined[0].is_across(&(10..12)));
    }

    #[test]
    fn of_a_long_text_what_is_near_the_joint_is_taken() {
        let (a, b) = ("ä".repeat(1000), "ö".repeat(1000));
        let joined = neighbours(&json!([a, b, a]));
        assert!(joined.iter().all(|it| it.text.len() <= MAX_TEXTS * MAX_PART_BYTES));
        assert!(joined[0].text.starts_with('ä') && joined[0].text.ends_with('ö'));
        assert_eq!(joined.len(), 2);
    }
}
