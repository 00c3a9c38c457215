//! What to write in place of pairs of the command line that break the schema of a tool.

use std::ffi::OsString;

use flyto_diagnostics::closest;
use flyto_tools::json_value;
use serde_json::Value;

use crate::words::{command_line, one_line};

/// One sentence for each pair that the schema shows to be written in the wrong form, and for each key that is near to
/// one of the schema's. Only the properties of the schema itself are looked at, and of those only their types.
pub(crate) fn corrections(pairs: &[OsString], schema: &Value) -> Vec<String> {
    let Some(properties) = schema["properties"].as_object() else { return Vec::new() };
    let given: Vec<_> = pairs.iter().filter_map(|it| Pair::read(it.to_str()?)).collect();
    let is_given = |name: &str| given.iter().any(|it| it.key == name);
    let correct = |it: &Pair<'_>| match properties.get(it.key) {
        Some(property) => it.in_the_other_form(&types(property)),
        None => {
            let free = properties.keys().map(String::as_str).filter(|name| !is_given(name));
            let meant = closest(it.key, free)?;
            Some(format!("did you mean {} in place of {}?", one_line(meant), one_line(it.key)))
        }
    };
    given.iter().filter_map(correct).collect()
}

/// A pair: `key=text`, or `key:=JSON`.
struct Pair<'a> {
    key: &'a str,
    is_json: bool,
    value: &'a str,
}

impl<'a> Pair<'a> {
    fn read(pair: &'a str) -> Option<Self> {
        let (key, value) = pair.split_once('=')?;
        Some(match key.strip_suffix(':') {
            Some(key) => Self { key, is_json: true, value },
            None => Self { key, is_json: false, value },
        })
    }

    /// What to write for a value of these types.
    fn in_the_other_form(&self, types: &[&str]) -> Option<String> {
        let Self { key, is_json, value } = self;
        let takes_text = types.contains(&"string");
        let json = json_value(value).ok();
        if *is_json {
            let is_of_type = json.as_ref().is_some_and(|it| types.iter().any(|one| is(it, one)));
            return (takes_text && !is_of_type).then(|| {
                format!("for the text, write {}", command_line([format!("{key}={value}")]))
            });
        }
        if types.is_empty() || takes_text {
            return None;
        }
        let fitting = json.filter(|it| types.iter().any(|one| is(it, one)));
        let what = types.iter().map(|it| article(it)).collect::<Vec<_>>().join(" or ");
        let written = match fitting {
            Some(_) => command_line([format!("{key}:={value}")]),
            None => format!("{}:=JSON", one_line(key)),
        };
        Some(format!("for {what}, write {written}"))
    }
}

/// The types that a property may have; empty where the schema does not say, or says it elsewhere.
fn types(property: &Value) -> Vec<&str> {
    match &property["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Whether a value is of a type of JSON Schema.
fn is(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(it) => name == "number" || name == "integer" && (it.is_i64() || it.is_u64()),
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}

fn article(name: &str) -> String {
    match name {
        "null" => "null".to_owned(),
        "integer" | "array" | "object" => format!("an {name}"),
        _ => format!("a {}", one_line(name)),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(pairs: &[&str], expect: Expect) {
        let schema = json!({"properties": {
            "name": {"type": "string"},
            "count": {"type": "integer"},
            "tags": {"type": ["array", "null"]},
            "any": {"type": ["string", "number"]},
            "elsewhere": {"$ref": "#/$defs/x"},
        }});
        let pairs: Vec<_> = pairs.iter().map(OsString::from).collect();
        expect.assert_eq(&corrections(&pairs, &schema).join("\n"));
    }

    #[test]
    fn a_value_in_the_wrong_form_is_written_in_the_other() {
        check(&["count=2"], expect!["for an integer, write count:=2"]);
        check(&["count=two"], expect!["for an integer, write count:=JSON"]);
        check(&["count=2.5"], expect!["for an integer, write count:=JSON"]);
        check(&["tags=[1, 2]"], expect!["for an array or null, write 'tags:=[1, 2]'"]);
        check(&["name:=5"], expect!["for the text, write name=5"]);
        check(&["name=5", "count:=2", "any=1", "any:=1", "elsewhere=1"], expect![""]);
        check(&["any:=[1]"], expect!["for the text, write 'any=[1]'"]);
    }

    #[test]
    fn a_key_that_is_near_to_one_of_the_schema_is_told() {
        check(&["nam=Ada"], expect!["did you mean name in place of nam?"]);
        check(&["nam=Ada", "name=Ada"], expect![""]);
        check(&["colour=red"], expect![""]);
        let pairs = ["count=2".into()];
        assert_eq!(corrections(&pairs, &json!(true)), [""; 0]);
        assert_eq!(corrections(&pairs, &json!({"properties": {"count": false}})), [""; 0]);
    }
}
