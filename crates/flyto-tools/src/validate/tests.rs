use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    CallContext, Failure, Input, NativeTool, NoInput, Tool, ToolErrorKind, ToolResult, UndoInfo,
};

/// Checks each value against the schema and shows what is wrong with it.
#[track_caller]
fn check(schema: &Value, values: &[Value], expect: Expect) {
    let validator = compile(schema).unwrap();
    let mut shown = String::new();
    for value in values {
        let lines = match validator.check(value) {
            Ok(()) => "fits".into(),
            Err(err) => err.to_string().replace("; ", "\n  "),
        };
        shown.push_str(&format!("{value}\n  {lines}\n"));
    }
    expect.assert_eq(&shown);
}

#[test]
fn a_violation_names_place_expectation_and_value() {
    check(
        &json!({
            "type": "object",
            "properties": {
                "count": {"type": "integer", "minimum": 1, "maximum": 9},
                "name": {"type": "string", "minLength": 2, "pattern": "^[a-z]+$"},
                "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": true, "minItems": 1},
                "mode": {"enum": ["fast", "slow", 3]},
                "a/b~c": {"const": {"x": 1}},
            },
            "required": ["count"],
            "additionalProperties": false,
        }),
        &[
            json!({"count": 3, "name": "ab", "tags": ["x"], "mode": 3, "a/b~c": {"x": 1}}),
            json!({"count": "3"}),
            json!({"count": 1.5}),
            json!({"count": 0, "name": "A"}),
            json!({}),
            json!({"count": 3, "tags": ["a", 1, null]}),
            json!({"count": 3, "tags": ["a", "a"], "mode": "medium"}),
            json!({"count": 3, "tags": [], "a/b~c": {"x": 2}}),
            json!({"count": 3, "colour": "red\n", "size": [1, 2]}),
            json!([1]),
            json!(null),
        ],
        expect![[r#"
            {"count":3,"name":"ab","tags":["x"],"mode":3,"a/b~c":{"x":1}}
              fits
            {"count":"3"}
              /count: expected an integer, got the string "3"
            {"count":1.5}
              /count: expected an integer, got the number 1.5
            {"count":0,"name":"A"}
              /count: expected at least 1, got the number 0
              /name: expected at least 2 characters, got 1 in the string "A"
              /name: expected a string that matches ^[a-z]+$, got the string "A"
            {}
              /count: expected an integer (it is required), got nothing
            {"count":3,"tags":["a",1,null]}
              /tags/1: expected a string, got the number 1
              /tags/2: expected a string, got null
            {"count":3,"tags":["a","a"],"mode":"medium"}
              /tags: expected items that differ from each other, got an array of 2 items
              /mode: expected one of "fast", "slow" or 3, got the string "medium"
            {"count":3,"tags":[],"a/b~c":{"x":2}}
              /tags: expected at least 1 item, got an empty array
              /a~1b~0c: expected {"x":1}, got an object with x
            {"count":3,"colour":"red\n","size":[1,2]}
              /colour: unknown property
              known: count, name, tags, mode and a/b~c
              /size: unknown property
              known: count, name, tags, mode and a/b~c
            [1]
              (root): expected an object, got an array of 1 item
            null
              (root): expected an object, got null
        "#]],
    );
}

#[test]
fn many_violations_are_bounded() {
    let items: Vec<Value> = (0..11).map(|nth| json!(nth.to_string())).collect();
    check(
        &json!({"items": {"type": "integer"}}),
        &[json!(items)],
        expect![[r#"
        ["0","1","2","3","4","5","6","7","8","9","10"]
          /0: expected an integer, got the string "0"
          /1: expected an integer, got the string "1"
          /2: expected an integer, got the string "2"
          /3: expected an integer, got the string "3"
          /4: expected an integer, got the string "4"
          /5: expected an integer, got the string "5"
          /6: expected an integer, got the string "6"
          /7: expected an integer, got the string "7"
          and 3 more
    "#]],
    );
    let many = vec![json!("x"); 100_000];
    let err =
        compile(&json!({"items": {"type": "integer"}})).unwrap().check(&json!(many)).unwrap_err();
    assert_eq!((err.shown.len(), err.n_more), (8, 92));
}

#[test]
fn alternatives_are_told_by_the_one_that_was_meant() {
    check(
        &json!({
            "anyOf": [
                {"type": "string"},
                {"type": "object", "properties": {"op": {"const": "add"}, "n": {"type": "integer"}}, "required": ["op", "n"]},
                {"$ref": "#/$defs/delete"},
            ],
            "$defs": {"delete": {
                "type": "object",
                "properties": {"op": {"const": "delete"}, "path": {"type": "string"}},
                "required": ["op", "path"],
            }},
        }),
        &[
            json!({"op": "add", "n": "1"}),
            json!({"op": "delete", "path": 7}),
            json!({"op": "rename"}),
            json!({"n": 1}),
            json!(5),
        ],
        expect![[r#"
            {"op":"add","n":"1"}
              /n: expected an integer, got the string "1"
            {"op":"delete","path":7}
              /path: expected a string, got the number 7
            {"op":"rename"}
              /op: expected "add" or "delete", got the string "rename"
            {"n":1}
              /op: expected "add" or "delete" (it is required), got nothing
            5
              (root): expected a string or an object, got the number 5
        "#]],
    );
    check(
        &json!({"oneOf": [{"type": "integer"}, {"minimum": 2}, {"type": ["null", "boolean"]}]}),
        &[json!(3), json!(1.5), json!(false)],
        expect![[r#"
            3
              (root): expected a value that fits exactly one of 3 alternatives, got one that fits the alternatives 1 and 2
            1.5
              (root): expected at least 2, got the number 1.5
            false
              (root): expected a value that fits exactly one of 3 alternatives, got one that fits the alternatives 2 and 3
        "#]],
    );
}

#[test]
fn alternatives_that_cannot_be_told_apart_are_counted() {
    check(
        &json!({"anyOf": [
            {"type": "object", "required": ["a"]},
            {"type": "object", "required": ["b"]},
            {"type": "null"},
        ]}),
        &[json!({}), json!("x")],
        expect![[r#"
            {}
              (root): expected a value that fits one of 3 alternatives, got an empty object
            "x"
              (root): expected an object or null, got the string "x"
        "#]],
    );
}

#[test]
fn every_kind_of_keyword_has_words() {
    check(
        &json!({
            "allOf": [{"not": {"const": "no"}}, {"maxLength": 4}],
            "if": {"type": "number"}, "then": {"exclusiveMinimum": 0, "multipleOf": 3}, "else": {"type": ["string", "object", "array"]},
            "maxProperties": 2, "propertyNames": {"pattern": "^[a-z]"},
            "patternProperties": {"^n_": {"type": "number"}},
            "dependentRequired": {"a": ["b"]},
            "prefixItems": [{"type": "integer"}], "items": {"type": "string"},
            "contains": {"const": "x"},
        }),
        &[
            json!("no"),
            json!("longer"),
            json!(-1),
            json!(4),
            json!(true),
            json!({"a": 1}),
            json!({"n_a": "1", "X": 1, "c": 3}),
            json!(["1", 2, "x"]),
            json!([1, "y"]),
        ],
        expect![[r#"
            "no"
              (root): expected anything but "no", got the string "no"
            "longer"
              (root): expected at most 4 characters, got 6 in the string "longer"
            -1
              (root): expected more than 0, got the number -1
              (root): expected a multiple of 3, got the number -1
            4
              (root): expected a multiple of 3, got the number 4
            true
              (root): expected a string, an object or an array, got true
            {"a":1}
              /b: expected a value (required beside a), got nothing
            {"n_a":"1","X":1,"c":3}
              (root): expected at most 2 properties, got 3
              (root): expected a string that matches ^[a-z] as the name of each property, got the string "X"
              /n_a: expected a number, got the string "1"
            ["1",2,"x"]
              /0: expected an integer, got the string "1"
              /1: expected a string, got the number 2
            [1,"y"]
              (root): expected at least 1 item like "x", got 0
        "#]],
    );
    check(
        &json!({"properties": {"a": true, "b": false}, "unevaluatedProperties": false}),
        &[json!({"a": 1, "c": 2}), json!({"b": 2})],
        expect![[r#"
            {"a":1,"c":2}
              /c: unknown property
            {"b":2}
              /b: expected nothing, got the number 2
        "#]],
    );
    check(
        &json!({
            "$schema": "http://json-schema.org/draft-04/schema#",
            "minimum": 3, "exclusiveMinimum": true, "format": "date",
            "items": [{"type": "integer"}], "additionalItems": {"type": "null"},
            "dependencies": {"a": ["b"], "b": {"required": ["c"]}},
        }),
        &[json!(3), json!("yesterday"), json!([1, 2]), json!({"a": 1}), json!({"b": 1})],
        expect![[r#"
            3
              (root): expected more than 3, got the number 3
            "yesterday"
              (root): expected a string in the format date, got the string "yesterday"
            [1,2]
              /1: expected null, got the number 2
            {"a":1}
              /b: expected a value (required beside a), got nothing
            {"b":1}
              /c: expected a value (it is required), got nothing
        "#]],
    );
}

#[test]
fn references_within_the_schema_are_followed() {
    check(
        &json!({
            "$ref": "#/$defs/tree",
            "$defs": {
                "tree": {"type": "object", "properties": {"child": {"$ref": "#/$defs/tree"}, "at": {"$ref": "#here"}}},
                "here": {"$anchor": "here", "type": "integer"},
            },
        }),
        &[
            json!({"child": {"child": {}}}),
            json!({"child": {"child": 7}}),
            json!({"child": {"at": "x"}}),
        ],
        expect![[r#"
            {"child":{"child":{}}}
              fits
            {"child":{"child":7}}
              /child/child: expected an object, got the number 7
            {"child":{"at":"x"}}
              /child/at: expected an integer, got the string "x"
        "#]],
    );
    check(
        &json!({
            "$id": "https://example.com/root.json",
            "properties": {"p": {"$ref": "point.json"}, "%": {"$ref": "#/$defs/a%25b"}},
            "$defs": {
                "point": {"$id": "point.json", "properties": {"x": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "number"}}},
                "a%b": {"type": "null"},
            },
        }),
        &[json!({"p": {"x": 1}}), json!({"p": {"x": "1"}}), json!({"%": 1})],
        expect![[r#"
            {"p":{"x":1}}
              fits
            {"p":{"x":"1"}}
              /p/x: expected a number, got the string "1"
            {"%":1}
              /%: expected null, got the number 1
        "#]],
    );
}

#[track_caller]
fn check_schema(schemas: &[Value], expect: Expect) {
    let mut shown = String::new();
    for schema in schemas {
        let line = match compile(schema) {
            Ok(_) => "ok".into(),
            Err(err) => format!("{:?}: {err}", err.kind),
        };
        shown.push_str(&format!("{schema}\n  {line}\n"));
    }
    expect.assert_eq(&shown);
}

#[test]
fn a_bad_schema_is_refused_with_its_place() {
    check_schema(
        &[
            json!(true),
            json!(null),
            json!([]),
            json!({"type": "objekt"}),
            json!({"properties": {"a": {"minimum": "x"}}}),
            json!({"properties": ["a"]}),
            json!({"required": "a"}),
            json!({"$schema": "https://example.com/mine"}),
            json!({"$schema": 5}),
            json!({"$ref": "#/$defs/none"}),
            json!({"$ref": "#none"}),
            json!({"pattern": "(?=a)b"}),
            json!({"patternProperties": {"(": true}}),
        ],
        expect![[r##"
            true
              ok
            null
              Invalid: failed to use the schema: at (root): a schema is an object, true or false, not null
            []
              Invalid: failed to use the schema: at (root): a schema is an object, true or false, not an empty array
            {"type":"objekt"}
              Invalid: failed to use the schema: at /type: the string "objekt" is no type; the types are array, boolean, integer, null, number, object and string
            {"properties":{"a":{"minimum":"x"}}}
              Invalid: failed to use the schema: at /properties/a/minimum: the string "x" cannot stand here
            {"properties":["a"]}
              Invalid: failed to use the schema: at /properties: an array of 1 item cannot stand here
            {"required":"a"}
              Invalid: failed to use the schema: at /required: the string "a" cannot stand here
            {"$schema":"https://example.com/mine"}
              UnknownDialect: failed to use the schema: at /$schema: "https://example.com/mine" is no known dialect of JSON Schema
            {"$schema":5}
              Invalid: failed to use the schema: at /$schema: the number 5 cannot stand here
            {"$ref":"#/$defs/none"}
              Reference: failed to use the schema: at /$ref: there is nothing at /$defs/none
            {"$ref":"#none"}
              Reference: failed to use the schema: at /$ref: there is no anchor none
            {"pattern":"(?=a)b"}
              ok
            {"patternProperties":{"(":true}}
              Pattern: failed to use the schema: at /patternProperties/(: the string "(" cannot be used as a pattern: unclosed group: `(`
        "##]],
    );
}

#[test]
fn nothing_is_fetched() {
    check_schema(
        &[
            json!({"$ref": "http://127.0.0.1:9/schema.json"}),
            json!({"properties": {"a": {"$ref": "https://example.com/a#/b"}}}),
            json!({"$ref": "file:///etc/passwd"}),
            json!({"$id": "https://example.com/dir/", "$ref": "other.json"}),
            json!({"$ref": "json-schema:///other"}),
            json!({"$ref": "https://json-schema.org/draft/2020-12/schema"}),
        ],
        expect![[r#"
            {"$ref":"http://127.0.0.1:9/schema.json"}
              Reference: failed to use the schema: at /$ref: http://127.0.0.1:9/schema.json is not part of the schema, and nothing is fetched
            {"properties":{"a":{"$ref":"https://example.com/a#/b"}}}
              Reference: failed to use the schema: at /properties/a/$ref: https://example.com/a is not part of the schema, and nothing is fetched
            {"$ref":"file:///etc/passwd"}
              Reference: failed to use the schema: at /$ref: file:///etc/passwd is not part of the schema, and nothing is fetched
            {"$id":"https://example.com/dir/","$ref":"other.json"}
              Reference: failed to use the schema: at /$ref: https://example.com/dir/other.json is not part of the schema, and nothing is fetched
            {"$ref":"json-schema:///other"}
              Reference: failed to use the schema: at /$ref: json-schema:///other is not part of the schema, and nothing is fetched
            {"$ref":"https://json-schema.org/draft/2020-12/schema"}
              ok
        "#]],
    );
}

/// A tool that counts its calls.
fn counting(calls: &Arc<AtomicUsize>, result: ToolResult) -> NativeTool {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Args {
        #[serde(default)]
        #[schemars(range(min = 1))]
        n: Option<u8>,
    }

    #[derive(schemars::JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Promised {
        total: u32,
    }

    let calls = Arc::clone(calls);
    NativeTool::builder("count", "Counts.")
        .output::<Promised>()
        .run(move |_, args: Args| {
            calls.fetch_add(1 + usize::from(args.n.unwrap_or(0)), Ordering::Relaxed);
            std::future::ready(result.clone())
        })
        .unwrap()
}

async fn call(tool: &impl Tool, input: Input) -> String {
    let res = tool.execute(&CallContext::new(), input).await.unwrap();
    let failure = res.failure.map(|it| format!("[{it}] ")).unwrap_or_default();
    format!("{failure}{}", res.output)
}

#[tokio::test]
async fn bad_input_never_reaches_the_tool() {
    let calls = Arc::new(AtomicUsize::new(0));
    let good = ToolResult::text("done").with_data(json!({"total": 1}));
    let tool = validated(counting(&calls, good)).unwrap();
    expect!["[input breaks the schema] invalid input: /n: expected at least 1, got the number 0"]
        .assert_eq(&call(&tool, json!({"n": 0}).into()).await);
    expect![[r#"
        [input breaks the schema] invalid input:
          /m: unknown property; known: n
          /n: expected an integer or null, got the string "x""#]]
    .assert_eq(&call(&tool, json!({"n": "x", "m": 1}).into()).await);
    expect![
        "[input breaks the schema] invalid input: (root): expected an object, got an empty array"
    ]
    .assert_eq(&call(&tool, json!([]).into()).await);
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    assert_eq!(call(&tool, Input::empty()).await, "done");
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn output_that_breaks_its_promise_is_an_error_that_keeps_everything() {
    let calls = Arc::new(AtomicUsize::new(0));
    let bad = ToolResult::text("done").with_data(json!({"total": -1})).with_undo(UndoInfo::new(
        "take it back",
        "undo",
        json!({}),
    ));
    let tool = validated(counting(&calls, bad.clone())).unwrap();
    let res = tool.execute(&CallContext::new(), Input::empty()).await.unwrap();
    expect![[r#"
        invalid output: /total: expected at least 0, got the number -1
        done"#]]
    .assert_eq(&res.output);
    assert_eq!((res.failure, res.data, res.undo), (Some(Failure::BadOutput), bad.data, bad.undo));

    let tool = validated(counting(&calls, ToolResult::text("done"))).unwrap();
    expect![[r#"
        [output breaks the schema] invalid output: (root): expected structured data, got nothing
        done"#]]
    .assert_eq(&call(&tool, Input::empty()).await);

    let failed = ToolResult::failed(Failure::exit_code(1), "no");
    let tool = validated(counting(&calls, failed)).unwrap();
    assert_eq!(call(&tool, Input::empty()).await, "[exit code 1] no");
}

/// A tool whose input schema is whatever the test says.
#[derive(Debug)]
pub(super) struct WithSchema(pub(super) Value);

#[async_trait::async_trait]
impl Tool for WithSchema {
    fn name(&self) -> &str {
        "with-schema"
    }

    fn description(&self, _: &crate::DescribeContext) -> std::borrow::Cow<'_, str> {
        "Echoes.".into()
    }

    fn input_schema(&self) -> &Value {
        &self.0
    }

    async fn execute(&self, _: &CallContext, input: Input) -> Result<ToolResult, crate::ToolError> {
        Ok(ToolResult::text(input.as_str()))
    }
}

#[tokio::test]
async fn a_schema_that_cannot_be_used_shows_at_once_or_at_the_call() {
    let err = validated(WithSchema(json!({"type": "objekt"}))).unwrap_err();
    assert_eq!((err.role, err.source.kind), (SchemaRole::Input, SchemaErrorKind::Invalid));

    let lazy = Validated::lazy(WithSchema(json!({"type": "objekt"})));
    let err = lazy.execute(&CallContext::new(), Input::empty()).await.unwrap_err();
    assert_eq!(err.kind(), ToolErrorKind::InvalidSchema);
    expect![[r#"failed to check the input of with-schema: failed to compile the input schema of with-schema: failed to use the schema: at /type: the string "objekt" is no type; the types are array, boolean, integer, null, number, object and string"#]].assert_eq(&err.chain());
}

#[tokio::test]
async fn the_text_of_the_input_reaches_the_tool_unchanged() {
    let tool = validated(WithSchema(json!({"type": "object"}))).unwrap();
    let text = "{ \"b\": 1.50, \"a\": 1e2 }";
    assert_eq!(call(&tool, Input::parse(text).unwrap()).await, text);
    assert_eq!(call(&tool, Input::empty()).await, "");
}

#[test]
fn a_tool_without_arguments_takes_an_empty_object() {
    let tool = NativeTool::builder("now", "Tells the time.").run(|_, _: NoInput| async {}).unwrap();
    let tool = validated(tool).unwrap();
    let validator = tool.input_validator().unwrap();
    validator.check(&json!({})).unwrap();
    validator.check(&json!("x")).unwrap_err();
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-3..4).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("[a-c]", inner, 0..3)
                .prop_map(|it| Value::Object(it.into_iter().collect())),
        ]
    })
}

fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        prop::sample::select(vec!["integer", "string", "object", "array", "null"])
            .prop_map(|it| json!({"type": it})),
        any_json().prop_map(|it| json!({"const": it})),
        (-3..4).prop_map(|it: i32| json!({"minimum": it, "minLength": it.max(0)})),
        Just(json!({"required": ["a"]})),
        Just(json!({"properties": {"a": {"$ref": "#"}}})),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        let list = proptest::collection::vec(inner.clone(), 1..3);
        prop_oneof![
            (prop::sample::select(vec!["allOf", "anyOf", "oneOf", "prefixItems"]), list)
                .prop_map(|(key, it)| json!({key: it})),
            (
                prop::sample::select(vec!["not", "items", "contains", "additionalProperties"]),
                inner.clone()
            )
                .prop_map(|(key, it)| json!({key: it})),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| json!({"if": a, "then": b, "else": c})),
            inner.prop_map(|it| json!({"properties": {"a": it, "b": {"type": "integer"}}})),
        ]
    })
}

proptest! {
    /// The words never disagree with the verdict: a value that fits has none, and every place that
    /// is named exists in the value, or is a property that is missing from an object there.
    #[test]
    fn every_refusal_is_explained(schema in any_schema(), value in any_json()) {
        let Ok(validator) = compile(&schema) else { return Ok(()) };
        let options = options(&Patterns::new(0), &BadPattern::default());
        let fits = options.build(&schema).unwrap().is_valid(&value);
        match validator.check(&value) {
            Ok(()) => prop_assert!(fits),
            Err(violations) => {
                prop_assert!(!fits && !violations.shown.is_empty());
                for it in &violations.shown {
                    let (parent, _) = it.pointer.rsplit_once('/').unwrap_or(("", ""));
                    prop_assert!(value.pointer(&it.pointer).is_some() || value.pointer(parent).is_some_and(Value::is_object), "{it}");
                }
            }
        }
    }
}
