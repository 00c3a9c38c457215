//! Values and places in words.

use std::fmt::Write as _;

use serde_json::Value;

use crate::hidden::is_hidden;

/// Characters of a string that are shown; enough to recognise it.
const MAX_CHARS: usize = 40;
/// Entries of a list that are shown.
const MAX_ITEMS: usize = 8;

/// A JSON pointer for people, which the empty one tells nothing. Its keys may come from any author, so
/// what a terminal obeys, or what turns the direction of writing, is escaped.
pub(super) fn pointer(pointer: &str) -> String {
    if pointer.is_empty() {
        return "(root)".to_owned();
    }
    escaped(pointer)
}

/// A text of others in which every character is escaped that a terminal obeys, or that reorders or
/// hides text.
pub(super) fn escaped(text: &str) -> String {
    let mut res = String::with_capacity(text.len());
    for it in text.chars() {
        match acts(it) {
            true => res.extend(it.escape_unicode()),
            false => res.push(it),
        }
    }
    res
}

fn acts(c: char) -> bool {
    // Joiners are part of words.
    is_hidden(c) && !matches!(c, '\u{200c}' | '\u{200d}')
}

/// A pointer one step further.
pub(super) fn join(pointer: &str, step: &str) -> String {
    format!("{pointer}/{}", step.replace('~', "~0").replace('/', "~1"))
}

/// A JSON pointer as the fragment of a URI.
pub(super) fn fragment(pointer: &str) -> String {
    let mut res = String::with_capacity(pointer.len());
    for byte in pointer.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            res.push(byte.into());
        } else {
            res.push_str(&format!("%{byte:02X}"));
        }
    }
    res
}

/// The pointer to a part of a document, found by its address.
pub(super) fn pointer_to(root: &Value, part: &Value) -> Option<String> {
    pointer_where(root, |it| std::ptr::eq(it, part))
}

/// The pointer to the first part of a document that is meant.
pub(super) fn pointer_where(root: &Value, is_meant: impl Fn(&Value) -> bool) -> Option<String> {
    let mut todo = vec![(root, String::new())];
    while let Some((value, pointer)) = todo.pop() {
        if is_meant(value) {
            return Some(pointer);
        }
        match value {
            Value::Array(items) => {
                let steps = items.iter().enumerate();
                todo.extend(steps.map(|(nth, it)| (it, format!("{pointer}/{nth}"))));
            }
            Value::Object(map) => {
                todo.extend(map.iter().map(|(key, it)| (it, join(&pointer, key))));
            }
            _ => {}
        }
    }
    None
}

/// Keywords whose work nothing counts while it is done, the most costly first.
const UNCOUNTED: &[&str] = &[
    "unevaluatedProperties",
    "unevaluatedItems",
    "uniqueItems",
    "patternProperties",
    "propertyNames",
    "contains",
    "oneOf",
    "anyOf",
    "allOf",
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
];

/// Where the most work is likely to be in a check of which no keyword is known: the pointer to a keyword, or the
/// empty one of the whole.
pub(super) fn costliest(schema: &Value) -> String {
    let place = |key: &&str| {
        let place = pointer_where(schema, |it| it.get(*key).is_some())?;
        Some(join(&place, key))
    };
    UNCOUNTED.iter().find_map(place).unwrap_or_default()
}

/// A value in words: `the string "3"`, `an array of 2 items`.
pub(super) fn value(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(it) => it.to_string(),
        Value::Number(it) => format!("the number {it}"),
        Value::String(it) => format!("the string {}", quoted(it)),
        Value::Array(items) => match items.len() {
            0 => "an empty array".into(),
            1 => "an array of 1 item".into(),
            n => format!("an array of {n} items"),
        },
        Value::Object(map) if map.is_empty() => "an empty object".into(),
        Value::Object(map) => format!("an object with {}", list(map.keys(), "and")),
    }
}

/// A value as JSON, cut.
pub(super) fn literal(value: &Value) -> String {
    match value {
        Value::String(it) => quoted(it),
        Value::Array(_) | Value::Object(_) => {
            let text = value.to_string();
            let mut chars = text.chars();
            let head: String = chars.by_ref().take(MAX_CHARS).collect();
            if chars.next().is_some() { format!("{head}…") } else { head }
        }
        it => it.to_string(),
    }
}

/// A string in quotes, cut; control characters are escaped.
pub(super) fn quoted(text: &str) -> String {
    let mut chars = text.chars();
    let head: String = chars.by_ref().take(MAX_CHARS).collect();
    if chars.next().is_none() {
        return format!("{head:?}");
    }
    let mut res = format!("{head:?}");
    res.pop();
    let _ = write!(res, "…\" ({} characters)", text.chars().count());
    res
}

/// `a, b and c`, cut.
pub(super) fn list(items: impl IntoIterator<Item = impl AsRef<str>>, last: &str) -> String {
    let items: Vec<_> = items.into_iter().collect();
    let shown: Vec<&str> = items.iter().take(MAX_ITEMS).map(AsRef::as_ref).collect();
    joined(&shown, items.len() - shown.len(), last)
}

/// `1, 2 or "c"`, cut. Only what is shown is written out.
pub(super) fn literals(values: &[Value]) -> String {
    let shown: Vec<String> = values.iter().take(MAX_ITEMS).map(literal).collect();
    let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
    joined(&shown, values.len() - shown.len(), "or")
}

fn joined(shown: &[&str], n_more: usize, last: &str) -> String {
    match shown.split_last() {
        None => String::new(),
        Some(_) if n_more > 0 => format!("{} {last} {n_more} more", shown.join(", ")),
        Some((only, [])) => (*only).to_owned(),
        Some((end, rest)) => format!("{} {last} {end}", rest.join(", ")),
    }
}

/// A type of JSON with its article.
pub(super) fn json_type(name: &str) -> &str {
    match name {
        "array" => "an array",
        "boolean" => "true or false",
        "integer" => "an integer",
        "number" => "a number",
        "object" => "an object",
        "string" => "a string",
        other => other,
    }
}

/// `3 items`, `1 item`.
pub(super) fn count(n: &Value, one: &str, many: &str) -> String {
    if n.as_f64() == Some(1.0) { format!("1 {one}") } else { format!("{n} {many}") }
}
