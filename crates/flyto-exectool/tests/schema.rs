//! The schema for editors.

use expect_test::expect;
use flyto_diagnostics::Source;
use flyto_exectool::{load, schema};
use serde_json::Value;

#[test]
fn the_schema_as_it_is_shipped() {
    expect![[r##"
        {
          "anyOf": [
            {
              "$ref": "#/$defs/Definition"
            },
            {
              "type": "array",
              "items": {
                "$ref": "#/$defs/Definition"
              }
            }
          ],
          "title": "Flyto exec tools",
          "description": "A file of exec tools: one definition, or an array of definitions.",
          "$schema": "https://json-schema.org/draft/2020-12/schema",
          "$defs": {
            "Definition": {
              "type": "object",
              "additionalProperties": false,
              "properties": {
                "$schema": {
                  "type": [
                    "string",
                    "null"
                  ],
                  "description": "Where the schema of this file lies, for editors."
                },
                "name": {
                  "type": "string",
                  "description": "By what the tool is called: no white space, no colon, no `__`.",
                  "minLength": 1,
                  "maxLength": 256,
                  "pattern": "^[^\\s:\\u0000-\\u001f\\u007f-\\u009f]*$",
                  "not": {
                    "pattern": "__"
                  }
                },
                "description": {
                  "type": [
                    "string",
                    "null"
                  ],
                  "description": "What the tool does, what it returns, and when to use it. A model chooses tools by this text.",
                  "pattern": "\\S"
                },
                "input_schema": {
                  "type": [
                    "object",
                    "null"
                  ],
                  "additionalProperties": true,
                  "description": "JSON Schema of the input. Default: any object without declared properties.",
                  "properties": {
                    "type": {
                      "const": "object"
                    }
                  }
                },
                "exec": {
                  "type": "array",
                  "items": {
                    "type": "string",
                    "pattern": "^[^\\u0000]*$"
                  },
                  "description": "The program and its fixed arguments, one string each. No shell reads them. A program without\na slash is looked up in the `PATH` of the host, a relative path is taken from its current\ndirectory.",
                  "minItems": 1,
                  "prefixItems": [
                    {
                      "type": "string",
                      "minLength": 1,
                      "pattern": "^[^\\u0000]*$"
                    }
                  ]
                },
                "timeout_seconds": {
                  "type": [
                    "integer",
                    "null"
                  ],
                  "format": "int64",
                  "description": "How long a call may take, in seconds. Default, also for 0: 30.",
                  "minimum": 0
                },
                "grace_seconds": {
                  "type": [
                    "integer",
                    "null"
                  ],
                  "format": "uint64",
                  "minimum": 0,
                  "description": "Seconds between asking the program to end and killing it, at the time limit. Default: 0,\nwhich kills at once."
                },
                "content": {
                  "type": [
                    "string",
                    "null"
                  ],
                  "description": "`mcp`: the program prints `{\"content\": […]}`, a list of blocks of the Model Context Protocol such as text and images.",
                  "enum": [
                    "mcp",
                    null
                  ]
                },
                "ready": {
                  "type": [
                    "boolean",
                    "null"
                  ],
                  "description": "The program does nothing but load before it reads its input, so that a host may start it before a call. Each\nprocess serves one call."
                }
              },
              "required": [
                "name",
                "exec"
              ],
              "description": "A tool: a command that is fixed here. The input of a call arrives on its standard input, and\nwhat it prints is the result."
            }
          }
        }"##]].assert_eq(&serde_json::to_string_pretty(&schema::exec_tool()).expect("JSON"));
}

/// Schema and loader agree on a text that both can judge.
#[track_caller]
fn check(text: &str, good: bool) {
    let document: Value = serde_json::from_str(text).expect("JSON");
    let validator = jsonschema::validator_for(&schema::exec_tool()).expect("a schema");
    assert_eq!(validator.is_valid(&document), good, "schema: {text}");
    let findings = load(&Source::new("t.json", text)).findings;
    assert_eq!(findings.is_empty(), good, "loader: {text}");
}

#[test]
fn schema_and_loader_agree() {
    check("[]", true);
    check("{}", false);
    check("null", false);
    check("[[]]", false);
    let with = |key: &str, value: &str| {
        let mut res = vec![("name", r#""a""#), ("description", r#""b""#), ("exec", r#"["c"]"#)];
        res.retain(|it| it.0 != key);
        res.push((key, value));
        let members: Vec<_> = res.iter().map(|it| format!("{:?}: {}", it.0, it.1)).collect();
        format!("{{{}}}", members.join(", "))
    };
    for (key, good, bad) in [
        (
            "name",
            &[r#""stock-level_2""#, r#""a_b""#, r#""查询""#][..],
            &[r#""""#, r#""a b""#, r#""a:b""#, r#""a__b""#, r#""a\u0000b""#, r#""a\u2003b""#, "1"]
                [..],
        ),
        ("description", &[r#""x""#, r#""\n x""#], &[r#""""#, r#"" \n""#, "1"]),
        (
            "exec",
            &[r#"["a", ""]"#, r#"["/a b"]"#],
            &["[]", r#"[""]"#, r#"["a", "\u0000"]"#, r#""a""#, "[1]", r#"["a", 1]"#],
        ),
        (
            "input_schema",
            &["{}", r#"{"type": "object"}"#, "null"],
            &["[]", "true", r#"{"type": "array"}"#, r#"{"type": ["object"]}"#],
        ),
        ("timeout_seconds", &["1", "0", "30.0", "null"], &["-1", "2.5", r#""30""#, "true"]),
        ("grace_seconds", &["0", "2", "null"], &["-1", "0.5", r#""2""#]),
        ("$schema", &[r#""exec-tool.schema.json""#], &[]),
        ("timeout", &[], &["1"]),
    ] {
        for value in good {
            check(&with(key, value), true);
        }
        for value in bad {
            check(&with(key, value), false);
        }
    }
}
