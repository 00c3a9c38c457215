//! What each API gets to see.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use expect_test::{Expect, expect};

use super::*;
use crate::{CallContext, Input, Metadata, Registry, Tool, ToolError, ToolResult};

/// A tool of which everything that is exported can be set.
#[derive(Debug, Default)]
struct Shown {
    name: &'static str,
    schema: Value,
    output: Option<Value>,
    metadata: Metadata,
}

#[async_trait]
impl Tool for Shown {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self, ctx: &DescribeContext) -> Cow<'_, str> {
        match ctx.fact("working_dir") {
            Some(dir) => format!("Counts words below {dir}.").into(),
            None => "Counts words.".into(),
        }
    }

    fn input_schema(&self) -> &Value {
        &self.schema
    }

    fn output_schema(&self) -> Option<&Value> {
        self.output.as_ref()
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    async fn execute(&self, _: &CallContext, input: Input) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::text(input.as_str()))
    }
}

fn count() -> Shown {
    let mut metadata = Metadata::new();
    metadata.title = Some("Count words".into());
    metadata.read_only = Some(true);
    metadata.open_world = Some(false);
    Shown {
        name: "text-stats:count",
        schema: json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "extra": true, "none": false},
            "required": ["path"],
            "additionalProperties": false,
        }),
        output: Some(json!({"type": "object", "properties": {"words": {"type": "integer"}}})),
        metadata,
    }
}

#[track_caller]
fn check(tools: Vec<Shown>, format: Format, expect: Expect) {
    let registry = Registry::new();
    for tool in tools {
        registry.register("test", Arc::new(tool)).unwrap();
    }
    let ctx = DescribeContext::new().with_fact("working_dir", "/srv");
    let res = export(registry.snapshot().iter(), format, &ctx);
    let mut shown = format!("{:#}\n", res.tools);
    for err in res.refused {
        shown.push_str(&format!("{err}\n"));
    }
    expect.assert_eq(&shown);
}

#[test]
fn a_schema_that_clients_cannot_read_costs_its_tool_only() {
    let object = |members: Value| {
        let mut schema = json!({"type": "object"});
        schema.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        schema
    };
    let tool = |name, schema| Shown { name, schema, ..Shown::default() };
    let mut tools = vec![
        tool("a", object(json!({"properties": null}))),
        tool("b", object(json!({"properties": {"x": "string"}}))),
        tool("c", object(json!({"required": "x"}))),
        tool("d", object(json!({"required": [1]}))),
        tool("f", object(json!({"$schema": 5}))),
    ];
    let mut shown = tool("e", json!({}));
    shown.output = Some(object(json!({"properties": []})));
    tools.push(shown);
    check(
        tools,
        Format::Mcp,
        expect![[r#"
            [
              {
                "name": "e",
                "description": "Counts words below \"/srv\".",
                "inputSchema": {
                  "type": "object"
                },
                "annotations": {
                  "readOnlyHint": false,
                  "destructiveHint": false,
                  "idempotentHint": false,
                  "openWorldHint": true
                }
              }
            ]
            failed to export a as mcp: clients cannot read the "properties" of its input schema
            failed to export b as mcp: clients cannot read the "properties" of its input schema
            failed to export c as mcp: clients cannot read the "required" of its input schema
            failed to export d as mcp: clients cannot read the "required" of its input schema
            failed to export f as mcp: clients cannot read the "$schema" of its input schema
        "#]],
    );
}

#[test]
fn a_reference_that_leads_out_of_a_schema_costs_its_tool_only() {
    let refused = |schema: Value| {
        let registry = Registry::new();
        registry
            .register("test", Arc::new(Shown { name: "t", schema, ..Shown::default() }))
            .unwrap();
        let res = export(registry.snapshot().iter(), Format::Mcp, &DescribeContext::new());
        res.refused.iter().any(|it| it.why == ExportErrorKind::Reference)
    };
    let property = |schema: Value| json!({"type": "object", "properties": {"default": schema}});
    for reference in ["http://127.0.0.1:9/s.json", "https://example.com/a#/b", "file:///a", "a"] {
        assert!(refused(property(json!({"$ref": reference}))), "{reference}");
        assert!(refused(json!({"$defs": {"a": {"items": [{"$dynamicRef": reference}]}}})));
        // No schema stands there.
        assert!(!refused(property(json!({"const": {"$ref": reference}}))), "{reference}");
    }
    for reference in ["#", "#/$defs/a", "#name", "point.json", "https://example.com/point.json#/x"]
    {
        let mut schema = property(json!({"$ref": reference}));
        schema["$defs"] = json!({"point": {"$id": "https://example.com/point.json"}});
        assert!(!refused(schema), "{reference}");
    }
}

#[test]
fn mcp_shows_every_hint() {
    let plain = Shown { name: "7zip:list", schema: json!({}), ..Shown::default() };
    check(
        vec![count(), plain],
        Format::Mcp,
        expect![[r#"
        [
          {
            "name": "zip__list-1f5bb9",
            "description": "Counts words below \"/srv\".",
            "inputSchema": {
              "type": "object"
            },
            "annotations": {
              "readOnlyHint": false,
              "destructiveHint": false,
              "idempotentHint": false,
              "openWorldHint": true
            }
          },
          {
            "name": "text-stats__count",
            "title": "Count words",
            "description": "Counts words below \"/srv\".",
            "inputSchema": {
              "type": "object",
              "properties": {
                "path": {
                  "type": "string"
                },
                "extra": {},
                "none": {
                  "not": {}
                }
              },
              "required": [
                "path"
              ],
              "additionalProperties": false
            },
            "outputSchema": {
              "type": "object",
              "properties": {
                "words": {
                  "type": "integer"
                }
              }
            },
            "annotations": {
              "title": "Count words",
              "readOnlyHint": true,
              "destructiveHint": false,
              "idempotentHint": false,
              "openWorldHint": false
            }
          }
        ]
    "#]],
    );
}

#[test]
fn openai_responses() {
    check(
        vec![count()],
        Format::OpenAiResponses,
        expect![[r#"
        [
          {
            "type": "function",
            "name": "text-stats__count",
            "description": "Counts words below \"/srv\".",
            "parameters": {
              "type": "object",
              "properties": {
                "path": {
                  "type": "string"
                },
                "extra": true,
                "none": false
              },
              "required": [
                "path"
              ],
              "additionalProperties": false
            },
            "strict": false
          }
        ]
    "#]],
    );
}

#[test]
fn openai_chat() {
    check(
        vec![count()],
        Format::OpenAiChat,
        expect![[r#"
        [
          {
            "type": "function",
            "function": {
              "name": "text-stats__count",
              "description": "Counts words below \"/srv\".",
              "parameters": {
                "type": "object",
                "properties": {
                  "path": {
                    "type": "string"
                  },
                  "extra": true,
                  "none": false
                },
                "required": [
                  "path"
                ],
                "additionalProperties": false
              },
              "strict": false
            }
          }
        ]
    "#]],
    );
}

#[test]
fn anthropic() {
    check(
        vec![count()],
        Format::Anthropic,
        expect![[r#"
        [
          {
            "name": "text-stats__count",
            "description": "Counts words below \"/srv\".",
            "input_schema": {
              "type": "object",
              "properties": {
                "path": {
                  "type": "string"
                },
                "extra": true,
                "none": false
              },
              "required": [
                "path"
              ],
              "additionalProperties": false
            }
          }
        ]
    "#]],
    );
}

#[test]
fn gemini() {
    check(
        vec![count()],
        Format::Gemini,
        expect![[r#"
        {
          "functionDeclarations": [
            {
              "name": "text-stats__count",
              "description": "Counts words below \"/srv\".",
              "parametersJsonSchema": {
                "type": "object",
                "properties": {
                  "path": {
                    "type": "string"
                  },
                  "extra": true,
                  "none": false
                },
                "required": [
                  "path"
                ],
                "additionalProperties": false
              }
            }
          ]
        }
    "#]],
    );
}

#[test]
fn a_schema_that_no_api_takes_costs_its_own_tool_only() {
    let tool = |name, schema| Shown { name, schema, ..Shown::default() };
    for (format, expect) in [
        (
            Format::Mcp,
            expect![[r#"
            [
              {
                "name": "c",
                "description": "Counts words below \"/srv\".",
                "inputSchema": {
                  "type": "object",
                  "oneOf": [
                    {
                      "required": [
                        "x"
                      ]
                    },
                    {
                      "required": [
                        "y"
                      ]
                    }
                  ]
                },
                "annotations": {
                  "readOnlyHint": false,
                  "destructiveHint": false,
                  "idempotentHint": false,
                  "openWorldHint": true
                }
              },
              {
                "name": "d",
                "description": "Counts words below \"/srv\".",
                "inputSchema": {
                  "type": "object",
                  "not": {
                    "required": [
                      "x"
                    ]
                  }
                },
                "annotations": {
                  "readOnlyHint": false,
                  "destructiveHint": false,
                  "idempotentHint": false,
                  "openWorldHint": true
                }
              },
              {
                "name": "f",
                "description": "Counts words below \"/srv\".",
                "inputSchema": {
                  "type": "object"
                },
                "annotations": {
                  "readOnlyHint": false,
                  "destructiveHint": false,
                  "idempotentHint": false,
                  "openWorldHint": true
                }
              }
            ]
            failed to export a as mcp: the type at the root of its input schema is not "object"
            failed to export b as mcp: the type at the root of its input schema is not "object"
            failed to export e as mcp: the type at the root of its input schema is not "object"
        "#]],
        ),
        (
            Format::OpenAiChat,
            expect![[r#"
            [
              {
                "type": "function",
                "function": {
                  "name": "f",
                  "description": "Counts words below \"/srv\".",
                  "parameters": {
                    "type": "object"
                  },
                  "strict": false
                }
              }
            ]
            failed to export a as openai-chat: the type at the root of its input schema is not "object"
            failed to export b as openai-chat: the type at the root of its input schema is not "object"
            failed to export c as openai-chat: its input schema has "oneOf" at the root, which the API does not take
            failed to export d as openai-chat: its input schema has "not" at the root, which the API does not take
            failed to export e as openai-chat: the type at the root of its input schema is not "object"
        "#]],
        ),
        (
            Format::Anthropic,
            expect![[r#"
            [
              {
                "name": "d",
                "description": "Counts words below \"/srv\".",
                "input_schema": {
                  "type": "object",
                  "not": {
                    "required": [
                      "x"
                    ]
                  }
                }
              },
              {
                "name": "f",
                "description": "Counts words below \"/srv\".",
                "input_schema": {
                  "type": "object"
                }
              }
            ]
            failed to export a as anthropic: the type at the root of its input schema is not "object"
            failed to export b as anthropic: the type at the root of its input schema is not "object"
            failed to export c as anthropic: its input schema has "oneOf" at the root, which the API does not take
            failed to export e as anthropic: the type at the root of its input schema is not "object"
        "#]],
        ),
    ] {
        check(
            vec![
                tool("a", json!({"type": "array"})),
                tool("b", json!({"type": ["object", "null"]})),
                tool("c", json!({"oneOf": [{"required": ["x"]}, {"required": ["y"]}]})),
                tool("d", json!({"not": {"required": ["x"]}})),
                tool("e", json!(false)),
                tool("f", json!(true)),
            ],
            format,
            expect,
        );
    }
}

#[test]
fn an_output_schema_that_is_no_object_is_left_out() {
    let tool = Shown {
        name: "list",
        schema: json!({"type": "object"}),
        output: Some(json!({"type": "array"})),
        ..Shown::default()
    };
    check(
        vec![tool],
        Format::Mcp,
        expect![[r#"
        [
          {
            "name": "list",
            "description": "Counts words below \"/srv\".",
            "inputSchema": {
              "type": "object"
            },
            "annotations": {
              "readOnlyHint": false,
              "destructiveHint": false,
              "idempotentHint": false,
              "openWorldHint": true
            }
          }
        ]
    "#]],
    );
}

/// One of them would cost a client every tool.
#[test]
fn an_output_schema_that_not_every_client_compiles_is_left_out() {
    let tool = |name, pattern| Shown {
        name,
        schema: json!({"type": "object", "properties": {"a": {"pattern": pattern}}}),
        output: Some(json!({"type": "object", "properties": {"a": {"pattern": pattern}}})),
        ..Shown::default()
    };
    let registry = Registry::new();
    for tool in [tool("flag", "^(?i)ok$"), tool("plain", "^ok$")] {
        registry.register("me", Arc::new(tool)).expect("the name is free");
    }
    let tools = registry.snapshot();
    let res = export(tools.iter(), Format::Mcp, &DescribeContext::new());
    let has_output = |name: &str| {
        let tools = res.tools.as_array().expect("it is a list");
        let tool = tools.iter().find(|it| it["name"] == name).expect("it is in the list");
        assert!(tool["inputSchema"]["properties"]["a"]["pattern"].is_string());
        tool.get("outputSchema").is_some()
    };
    assert!(has_output("plain"));
    assert!(!has_output("flag"));
    let flag = tools.get("flag").and_then(|it| it.tool().output_schema()).expect("it has one");
    assert_eq!(readable_output(flag), None);
}

#[test]
fn formats_are_found_by_their_names() {
    for format in Format::ALL {
        assert_eq!(format.to_string().parse(), Ok(*format));
    }
    "OpenAI".parse::<Format>().unwrap_err();
}
