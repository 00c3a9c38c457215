use std::pin::pin;
use std::task::{Context, Poll, Waker};

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::UndoInfo;

#[derive(Deserialize, JsonSchema)]
struct Args {
    /// Where to start.
    from: u64,
    /// What to do with each.
    #[serde(default)]
    steps: Vec<Step>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Step {
    Add { n: i32 },
    Skip,
}

async fn count(_ctx: CallContext, args: Args) -> String {
    let mut total = i128::from(args.from);
    for step in args.steps {
        match step {
            Step::Add { n } => total += i128::from(n),
            Step::Skip => {}
        }
    }
    total.to_string()
}

async fn call(tool: &NativeTool, input: Input) -> Result<ToolResult, ToolError> {
    tool.execute(&CallContext::new(), input).await
}

#[track_caller]
fn check(result: Result<ToolResult, ToolError>, expect: Expect) {
    expect.assert_eq(&match result {
        Ok(res) => serde_json::to_string(&res).unwrap(),
        Err(err) => format!("{:?}: {}", err.kind(), err.chain()),
    });
}

#[test]
fn the_schema_is_derived() {
    let tool = NativeTool::builder("count", "Counts.").run(count).unwrap();
    expect![[r##"
        {
          "type": "object",
          "properties": {
            "from": {
              "type": "integer",
              "format": "uint64",
              "minimum": 0,
              "description": "Where to start."
            },
            "steps": {
              "type": "array",
              "items": {
                "$ref": "#/$defs/Step"
              },
              "description": "What to do with each."
            }
          },
          "required": [
            "from"
          ],
          "$defs": {
            "Step": {
              "oneOf": [
                {
                  "type": "string",
                  "enum": [
                    "skip"
                  ]
                },
                {
                  "type": "object",
                  "properties": {
                    "add": {
                      "type": "object",
                      "properties": {
                        "n": {
                          "type": "integer",
                          "format": "int32"
                        }
                      },
                      "required": [
                        "n"
                      ]
                    }
                  },
                  "required": [
                    "add"
                  ],
                  "additionalProperties": false
                }
              ]
            }
          },
          "$schema": "https://json-schema.org/draft/2020-12/schema"
        }"##]]
    .assert_eq(&format!("{:#}", tool.input_schema()));
}

#[test]
fn a_tool_without_arguments_has_a_plain_schema() {
    let tool = NativeTool::builder("now", "Tells.").run(async |_, _: NoInput| ()).unwrap();
    expect![[r#"{"type":"object","properties":{},"$schema":"https://json-schema.org/draft/2020-12/schema"}"#]].assert_eq(&tool.input_schema().to_string());
}

#[tokio::test]
async fn input_that_does_not_fit_is_told_with_its_place() {
    let tool = NativeTool::builder("count", "Counts.").run(count).unwrap();
    let text = r#"{"from": 18446744073709551615, "steps": [{"add": {"n": 1}}, "skip"]}"#;
    check(
        call(&tool, Input::parse(text).unwrap()).await,
        expect![[r#"{"output":"18446744073709551616","is_error":false}"#]],
    );
    check(
        call(&tool, json!({"from": "3"}).into()).await,
        expect![[
            r#"{"output":"invalid input: /from: invalid type: string \"3\", expected u64","is_error":true,"failure":{"kind":"bad_input"}}"#
        ]],
    );
    check(
        call(&tool, json!({"from": 3, "steps": [{"add": {"n": 0.5}}]}).into()).await,
        expect![[
            r#"{"output":"invalid input: /steps/0/add/n: invalid type: floating point `0.5`, expected i32","is_error":true,"failure":{"kind":"bad_input"}}"#
        ]],
    );
    check(
        call(&tool, Input::empty()).await,
        expect![[
            r#"{"output":"invalid input: (root): missing field `from`","is_error":true,"failure":{"kind":"bad_input"}}"#
        ]],
    );
    check(
        call(&tool, json!([1]).into()).await,
        expect![[
            r#"{"output":"invalid input: (root): expected an object","is_error":true,"failure":{"kind":"bad_input"}}"#
        ]],
    );
}

fn unreachable() -> ToolError {
    ToolError::new(ToolErrorKind::Unreachable, "connect").with_source("refused")
}

fn undoable() -> ToolResult {
    ToolResult::text("made a").with_undo(UndoInfo::new("remove a", "rm", json!({"path": "a"})))
}

#[tokio::test]
async fn functions_return_what_suits_them() {
    macro_rules! result_of {
        ($body:expr) => {{
            let tool = NativeTool::builder("t", "Tries.").run(async |_, _: NoInput| $body).unwrap();
            call(&tool, Input::empty()).await
        }};
    }
    check(result_of!("text"), expect![[r#"{"output":"text","is_error":false}"#]]);
    check(result_of!(()), expect![[r#"{"output":"","is_error":false}"#]]);
    check(result_of!(Cow::Borrowed("cow")), expect![[r#"{"output":"cow","is_error":false}"#]]);
    check(
        result_of!(Json(vec![1, 2])),
        expect![[r#"{"output":"[1,2]","is_error":false,"data":[1,2]}"#]],
    );
    check(
        result_of!(Ok::<_, String>(Json("x"))),
        expect![[r#"{"output":"\"x\"","is_error":false,"data":"x"}"#]],
    );
    check(
        result_of!(Err::<(), _>("no luck")),
        expect![[r#"{"output":"no luck","is_error":true,"failure":{"kind":"reported"}}"#]],
    );
    check(result_of!(Err::<(), _>(unreachable())), expect!["Unreachable: connect: refused"]);
    check(
        result_of!(Err::<String, _>(std::io::Error::other(unreachable()))),
        expect![[r#"{"output":"connect: refused","is_error":true,"failure":{"kind":"reported"}}"#]],
    );
    check(
        result_of!(Json(std::collections::BTreeMap::from([(vec![1], 2)]))),
        expect!["Internal: failed to write the result as JSON: key must be a string"],
    );
    check(
        result_of!(undoable()),
        expect![[
            r#"{"output":"made a","is_error":false,"undo":{"what":"remove a","tool":"rm","input":{"path":"a"}}}"#
        ]],
    );
}

#[test]
fn a_function_that_is_no_tool_is_refused() {
    let builder = |name: &str| NativeTool::builder(name, "Tries.");
    let name = builder("a b").run(async |_, _: NoInput| ()).unwrap_err();
    let list = builder("t").run(async |_, _: Vec<String>| ()).unwrap_err();
    let variants = builder("t").run(async |_, _: Step| ()).unwrap_err();
    assert!(matches!(name, NativeToolError::InvalidName(_)));
    assert!(matches!(list, NativeToolError::NoObject { .. }));
    assert!(matches!(variants, NativeToolError::NoObject { .. }));
    expect!["failed to make the tool t: the schema of alloc::vec::Vec<alloc::string::String> is not that of an object; take a struct with named fields"].assert_eq(&list.to_string());
}

/// Calls a tool, cancels the call while it waits, and gives the result.
fn cancelled(tool: &NativeTool) -> ToolResult {
    let ctx = CallContext::new();
    let mut call = pin!(tool.execute(&ctx, Input::empty()));
    let mut poll = || call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(poll().is_pending());
    ctx.cancellation().cancel();
    let Poll::Ready(res) = poll() else { panic!("still waiting") };
    res.unwrap()
}

#[test]
fn cancelling_drops_the_function_or_tells_it() {
    let waits = |on_cancel| NativeTool::builder("wait", "Waits.").on_cancel(on_cancel);
    let forever = waits(OnCancel::Drop).run(|_, _: NoInput| std::future::pending::<()>()).unwrap();
    assert_eq!(cancelled(&forever).failure, Some(Failure::Cancelled));

    let tidy = waits(OnCancel::Tell)
        .run(async |ctx: CallContext, _: NoInput| {
            ctx.cancellation().cancelled().await;
            "tidied up"
        })
        .unwrap();
    assert_eq!(cancelled(&tidy), ToolResult::text("tidied up"));
}

#[tokio::test]
async fn a_call_that_was_taken_back_does_not_start() {
    let tool = NativeTool::builder("t", "Tries.")
        .run(async |_, _: NoInput| panic!("started") as String)
        .unwrap();
    let ctx = CallContext::new();
    ctx.cancellation().cancel();
    let err = tool.execute(&ctx, Input::empty()).await.unwrap_err();
    assert_eq!(err.kind(), ToolErrorKind::Cancelled);
}

#[test]
fn what_is_declared_is_shown() {
    let mut metadata = Metadata::new();
    metadata.read_only = Some(true);
    let tool = NativeTool::builder("count", "Counts.")
        .metadata(metadata.clone())
        .output::<Vec<u8>>()
        .preview(|input| Some(Preview::new().with_stdin(input.as_str())))
        .run(count)
        .unwrap();
    assert_eq!(*tool.metadata(), metadata);
    assert_eq!(tool.description(&DescribeContext::new()), "Counts.");
    assert_eq!(tool.output_schema().unwrap()["type"], "array");
    let preview = tool.preview(&json!({"from": 1}).into()).unwrap();
    assert_eq!(preview.stdin.as_deref(), Some(r#"{"from":1}"#));
}
