//! What the keywords of a schema expect, in words.

use serde_json::{Map, Value};

use super::show;

/// The part of the schema that a value is known not to fit: the one keyword that is in question, or
/// all of the place.
pub(super) fn part_of_schema(place: &str, unasked: &[&str]) -> String {
    let pointer = match unasked {
        [only] => show::join(place, only),
        _ => place.to_owned(),
    };
    match pointer.as_str() {
        "" => "a value that fits the schema".to_owned(),
        pointer => format!("a value that fits {} of the schema", show::pointer(pointer)),
    }
}

/// What a schema is for, in a few words: its constants, its type, its title, or its first rule.
pub(super) fn expectation(schema: &Value) -> String {
    let Value::Object(map) = schema else { return "a value".into() };
    if let Some(value) = map.get("const") {
        return show::literal(value);
    }
    if let Some(words) = map.get("enum").and_then(|rule| words("enum", rule, map)) {
        return words;
    }
    match (map.get("type"), map.get("title")) {
        (Some(kind), _) => types(kind),
        (None, Some(Value::String(title))) => format!("a value for {}", show::quoted(title)),
        _ => {
            let first = map.iter().find_map(|(key, rule)| words(key, rule, map));
            first.unwrap_or_else(|| "a value that fits the schema".into())
        }
    }
}

/// Keywords that any value may fail.
const OF_ANY: &[&str] = &[
    "type",
    "enum",
    "const",
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
];
/// Keywords that a text may fail.
const OF_STRINGS: &[&str] =
    &["pattern", "minLength", "maxLength", "format", "contentEncoding", "contentMediaType"];
/// Keywords that a number may fail.
const OF_NUMBERS: &[&str] =
    &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
/// Keywords that an array may fail.
const OF_ARRAYS: &[&str] = &[
    "items",
    "prefixItems",
    "additionalItems",
    "contains",
    "minItems",
    "maxItems",
    "uniqueItems",
    "unevaluatedItems",
];
/// Keywords that an object may fail.
const OF_OBJECTS: &[&str] = &[
    "properties",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "required",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "minProperties",
    "maxProperties",
    "unevaluatedProperties",
];

/// Keywords that a value may fail although no words were found for it.
pub(super) const UNSURE: &[&str] = &[
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "anyOf",
    "oneOf",
    "format",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Whether a value may fail a keyword; most keywords say something about one type only.
pub(super) fn can_fail(key: &str, value: &Value) -> bool {
    let of_type = match value {
        Value::String(_) => OF_STRINGS,
        Value::Number(_) => OF_NUMBERS,
        Value::Array(_) => OF_ARRAYS,
        Value::Object(_) => OF_OBJECTS,
        Value::Null | Value::Bool(_) => &[],
    };
    OF_ANY.contains(&key) || of_type.contains(&key)
}

/// The types of a `type` keyword.
pub(super) fn types(kind: &Value) -> String {
    match kind {
        Value::Array(kinds) => {
            show::list(kinds.iter().filter_map(Value::as_str).map(show::json_type), "or")
        }
        _ => show::json_type(kind.as_str().unwrap_or("a value")).to_owned(),
    }
}

/// What a keyword without subschemas expects. `None` for all others.
pub(super) fn words(key: &str, rule: &Value, map: &Map<String, Value>) -> Option<String> {
    let strict = |word: &str| map.get(word) == Some(&Value::Bool(true));
    Some(match key {
        "const" => show::literal(rule),
        "enum" => {
            let values = rule.as_array().map_or(&[][..], Vec::as_slice);
            let one_of = if values.len() > 1 { "one of " } else { "" };
            format!("{one_of}{}", show::literals(values))
        }
        "minimum" if strict("exclusiveMinimum") => format!("more than {rule}"),
        "maximum" if strict("exclusiveMaximum") => format!("less than {rule}"),
        "minimum" => format!("at least {rule}"),
        "maximum" => format!("at most {rule}"),
        "exclusiveMinimum" if rule.is_number() => format!("more than {rule}"),
        "exclusiveMaximum" if rule.is_number() => format!("less than {rule}"),
        "multipleOf" => format!("a multiple of {rule}"),
        "minLength" => format!("at least {}", show::count(rule, "character", "characters")),
        "maxLength" => format!("at most {}", show::count(rule, "character", "characters")),
        "minItems" => format!("at least {}", show::count(rule, "item", "items")),
        "maxItems" => format!("at most {}", show::count(rule, "item", "items")),
        "minProperties" => format!("at least {}", show::count(rule, "property", "properties")),
        "maxProperties" => format!("at most {}", show::count(rule, "property", "properties")),
        "uniqueItems" => "items that differ from each other".into(),
        "pattern" => format!("a string that matches {}", rule.as_str().unwrap_or_default()),
        "format" => format!("a string in the format {}", rule.as_str().unwrap_or_default()),
        "contentEncoding" => format!("{} text", rule.as_str().unwrap_or_default()),
        "contentMediaType" => format!("a text of the type {}", rule.as_str().unwrap_or_default()),
        _ => return None,
    })
}

/// What came, measured as the keyword measures.
pub(super) fn measured(key: &str, value: &Value) -> String {
    match (key, value) {
        ("minLength" | "maxLength", Value::String(text)) => {
            format!("{} in {}", text.chars().count(), show::value(value))
        }
        ("minProperties" | "maxProperties", Value::Object(map)) => map.len().to_string(),
        _ => show::value(value),
    }
}
