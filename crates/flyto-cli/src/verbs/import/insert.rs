//! A configuration with more servers, and everything else in it as it stands there.

use flyto_diagnostics::{Source, json};
use serde_json::{Map, Value};

const KEY: &str = "mcpServers";

/// The servers of a configuration.
///
/// # Errors
///
/// It cannot be read; in words that follow its name.
pub(super) fn servers(text: &str) -> Result<Map<String, Value>, String> {
    let source = Source::new("config.json", text);
    let root = json::parse(&source).map_err(|it| format!("cannot be read: {}", it.message))?;
    if root.as_object().is_none() {
        return Err("is no object".to_owned());
    }
    match root.get(KEY) {
        None => Ok(Map::new()),
        Some(it) => match it.to_json() {
            Value::Object(servers) => Ok(servers),
            _ => Err(format!("has a {KEY:?} that is no object")),
        },
    }
}

/// The text with these servers in front of those that it has.
///
/// # Errors
///
/// See [`servers`].
pub(super) fn with(text: &str, added: &Map<String, Value>) -> Result<String, String> {
    servers(text)?;
    let source = Source::new("config.json", text);
    let root = json::parse(&source).map_err(|it| format!("cannot be read: {}", it.message))?;
    let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
    let (object, members) = match root.get(KEY) {
        Some(there) => {
            let members = added.iter().map(|(name, it)| {
                let name = Value::from(name.as_str());
                format!("{name}: {}", pretty(it).replace('\n', "\n    "))
            });
            (there, members.collect::<Vec<_>>().join(",\n    "))
        }
        None => {
            let all = pretty(&Value::Object(added.clone())).replace('\n', "\n  ");
            (&root, format!("{:?}: {all}", KEY))
        }
    };
    let at = object.span.start + 1;
    let blanks = if root.get(KEY).is_some() { "\n    " } else { "\n  " };
    let is_empty = object.as_object().is_none_or(<[_]>::is_empty);
    let end = if is_empty && text[at..object.span.end].contains('\n') { "" } else { "\n" };
    let comma = if is_empty { end } else { "," };
    let res = format!("{}{blanks}{members}{comma}{}", &text[..at], &text[at..]);
    match servers(&res)? {
        now if added.iter().all(|(name, it)| now.get(name) == Some(it)) => Ok(res),
        _ => Err("would not be read as it was written".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Expect) {
        let added = json!({"a": {"command": "x"}});
        let added = added.as_object().expect("one");
        expect.assert_eq(&with(text, added).unwrap_or_else(|why| format!("{why}\n")));
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        check(
            "{\n}\n",
            expect![[r#"
            {
              "mcpServers": {
                "a": {
                  "command": "x"
                }
              }
            }
        "#]],
        );
        check(
            "{}",
            expect![[r#"
            {
              "mcpServers": {
                "a": {
                  "command": "x"
                }
              }
            }"#]],
        );
        check(
            "{\n\t\"x\":  [1]\n}\n",
            expect![[r#"
            {
              "mcpServers": {
                "a": {
                  "command": "x"
                }
              },
            	"x":  [1]
            }
        "#]],
        );
        check(
            "{\n  \"mcpServers\": {\n    \"b\": {\"command\": \"y\"}\n  }\n}\n",
            expect![[r#"
                {
                  "mcpServers": {
                    "a": {
                      "command": "x"
                    },
                    "b": {"command": "y"}
                  }
                }
            "#]],
        );
        check(
            "{\"mcpServers\": {}}",
            expect![[r#"
            {"mcpServers": {
                "a": {
                  "command": "x"
                }
            }}"#]],
        );
        check(
            "{\"mcpServers\": []}",
            expect![[r#"
            has a "mcpServers" that is no object
        "#]],
        );
        check(
            "[]",
            expect![[r#"
            is no object
        "#]],
        );
        check(
            "{",
            expect![[r#"
            cannot be read: the text ends inside an object
        "#]],
        );
    }
}
