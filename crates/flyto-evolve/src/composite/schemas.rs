//! Which parts a value may have, as far as its schema tells before a call.

use flyto_diagnostics::{closest, quoted};
use serde_json::Value;

/// Whether a schema lets a value have this part. What it does not say is taken for possible.
pub(super) fn reaches(schema: &Value, tokens: &[String]) -> Result<(), (String, String)> {
    let Some((token, rest)) = tokens.split_first() else { return Ok(()) };
    if schema.get("$ref").is_some() {
        return Ok(());
    }
    match schema["type"].as_str() {
        Some("object") | None => {}
        Some("array") => {
            return match (token.parse::<usize>(), schema.get("items")) {
                (Ok(_), Some(items)) => reaches(items, rest),
                (Ok(_), None) => Ok(()),
                (Err(_), _) => Err((
                    format!("{} is no position in a list", quoted(token)),
                    "write a number".into(),
                )),
            };
        }
        Some(kind) => {
            return Err((
                format!("a value of the type {kind:?} has no parts"),
                "refer to the value itself".into(),
            ));
        }
    }
    let properties = schema["properties"].as_object().filter(|it| !it.is_empty());
    match properties.and_then(|it| it.get(token)) {
        Some(part) => reaches(part, rest),
        None => {
            // A schema that names properties has no others, unless it says so; one that names none has any, unless it says so.
            let others = schema.get("additionalProperties");
            let is_open = schema.get("patternProperties").is_some()
                || schema.get("allOf").is_some()
                || others.map_or(properties.is_none(), |it| *it != false);
            if is_open {
                return Ok(());
            }
            let names = properties.into_iter().flat_map(|it| it.keys());
            let help = match closest(token, names.map(String::as_str)) {
                Some(meant) => format!("did you mean {}?", quoted(meant)),
                None => format!("add {} to the schema", quoted(token)),
            };
            Err((format!("the schema has no {}", quoted(token)), help))
        }
    }
}
