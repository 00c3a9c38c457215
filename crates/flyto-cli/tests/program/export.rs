//! Tools in the shape that an API takes.

use expect_test::expect;

use crate::place::Place;

/// A place with the tools `a`, and `b` whose schema one API does not take.
fn place() -> Place {
    let schema = |it: &str| format!("\"input_schema\": {{\"type\": \"object\", {it}}}");
    let text = schema(r#""properties": {"text": {"type": "string"}}"#);
    Place::with_tools(&[("a", "cat", &text), ("b", "cat", &schema(r#""anyOf": [{}]"#))])
}

#[test]
fn all_tools_are_handed_over_at_once() {
    let place = place();
    place.flyto(&["--plugins", "plugins", "export", "--as", "anthropic"]).check(expect![[r#"
        exit code 0
        -- stdout
        [
          {
            "name": "p__a",
            "description": "The tool a.",
            "input_schema": {
              "type": "object",
              "properties": {
                "text": {
                  "type": "string"
                }
              }
            }
          }
        ]
        -- stderr
        failed to export p:b as anthropic: its input schema has "anyOf" at the root, which the API does not take
    "#]]);
    let names = |shape: &str| {
        let tools = place.flyto(&["--plugins", "plugins", "export", "--as", shape]).run().json();
        let tools = tools.get("functionDeclarations").unwrap_or(&tools).clone();
        let name = |it: &serde_json::Value| match it.pointer("/function/name") {
            Some(name) => name.clone(),
            None => it["name"].clone(),
        };
        tools.as_array().unwrap().iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(names("mcp"), ["p__a", "p__b"]);
    assert_eq!(names("gemini"), ["p__a", "p__b"]);
    assert_eq!(names("openai"), ["p__a"]);
    assert_eq!(names("openai-chat"), ["p__a"]);
}

#[test]
fn a_tool_that_is_named_is_handed_over_or_refused() {
    let place = place();
    let export = ["--plugins", "plugins", "export", "--as"];
    place.flyto(&[&export[..], &["mcp", "p:a"]].concat()).check(expect![[r#"
        exit code 0
        -- stdout
        [
          {
            "name": "p__a",
            "description": "The tool a.",
            "inputSchema": {
              "type": "object",
              "properties": {
                "text": {
                  "type": "string"
                }
              }
            },
            "annotations": {
              "readOnlyHint": false,
              "destructiveHint": false,
              "idempotentHint": false,
              "openWorldHint": true
            }
          }
        ]
    "#]]);
    place.flyto(&[&export[..], &["openai", "p:a", "p__b"]].concat()).check(expect![[r#"
        exit code 3
        -- stderr
        error: failed to export p:b as openai: its input schema has "anyOf" at the root, which the API does not take
    "#]]);
    place.flyto(&[&export[..], &["openai", "p:c"]].concat()).check(expect![[r#"
        exit code 4
        -- stderr
        error: there is no tool "p:c"
          help: did you mean p:a?
    "#]]);
}
