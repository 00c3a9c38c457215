//! Schemas of input and output.

use expect_test::expect;

use flyto_plugin::Depth;

use crate::{check_tool, check_tool_in_full, shown, with_tool};

#[test]
fn schemas() {
    check_tool(
        r#""command": "ls", "input_schema": true"#,
        expect![[r#"
            5:34: error[F0119]: "input_schema" must be a schema, which is an object, found true
                at /tools/0/input_schema
                help: leave the key out to accept any object
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "ls", "input_schema": null, "output_schema": null"#,
        expect![[r#"
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""command": "ls", "input_schema": {}"#,
        expect![[r#"
            5:34: warning[F0119]: the root of "input_schema" names no type
                at /tools/0/input_schema
                because several clients drop a tool whose schema does not say that it is an object
                help: add `"type": "object"`
                 -> "type": "object"
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""command": "ls", "input_schema": {"properties": {}}"#,
        expect![[r#"
            5:34: warning[F0119]: the root of "input_schema" names no type
                at /tools/0/input_schema
                because several clients drop a tool whose schema does not say that it is an object
                help: add `"type": "object"`
                 -> "type": "object", 
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""command": "ls", "input_schema": {"type": ["object", "null"]}"#,
        expect![[r#"
            5:43: error[F0119]: the root of "input_schema" must have the type "object"
                at /tools/0/input_schema/type
                because the input of a call is always an object
                ["object", "null"] -> "object"
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "ls", "output_schema": {"type": "array"}"#,
        expect![[r#"
            5:44: error[F0119]: the root of "output_schema" must have the type "object"
                at /tools/0/output_schema/type
                because clients accept nothing but an object as a structured result
                help: put the value under a key of an object, such as `result`
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r##""command": "ls", "input_schema": {"type": "object", "properties": {
    "a": {"type": "str", "required": true},
    "b": {"type": ["string", "nul"], "minLength": -1, "enum": "x"},
    "c": "string",
    "d": {"type": "array", "items": [{"type": "string"}]},
    "e": {"anyOf": [], "multipleOf": 0},
    "f": {"$ref": "#/$defs/f"},
    "g": {"$ref": "https://example.org/g.json"}
  }}"##,
        expect![[r#"
            6:19: error[F0119]: there is no type "str"
                at /tools/0/input_schema/properties/a/type
                help: did you mean "string"?
                "str" -> "string"
            6:38: error[F0119]: "required" must be an array of names, found true
                at /tools/0/input_schema/properties/a/required
                help: list the names of the properties that must be there, beside "properties"
            7:30: error[F0119]: there is no type "nul"
                at /tools/0/input_schema/properties/b/type/1
                help: did you mean "null"?
                "nul" -> "null"
            7:51: error[F0119]: "minLength" must be a whole number that is not negative, found the number -1
                at /tools/0/input_schema/properties/b/minLength
            7:63: error[F0119]: "enum" must be an array, found the string "x"
                at /tools/0/input_schema/properties/b/enum
            8:10: error[F0119]: expected a schema, which is an object, found the string "string"
                at /tools/0/input_schema/properties/c
            9:37: error[F0119]: "items" is one schema for all items
                at /tools/0/input_schema/properties/d/items
                help: a schema for each position goes into "prefixItems"
            10:20: error[F0119]: "anyOf" must be an array of schemas that is not empty, found an array
                at /tools/0/input_schema/properties/e/anyOf
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r##""command": "ls", "input_schema": {"type": "object", "$defs": {"a": {"$ref": "#"}},
  "properties": {"a": {"$ref": "#/$defs/a", "x-note": 1}, "b": true, "type": {"const": 1}}}"##,
        expect![[r#"
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r##""command": "ls", "input_schema": {"$schema": "http://json-schema.org/draft-07/schema#",
  "type": "object", "properties": {"a": {"items": [{"type": "string"}]}}}"##,
        expect![[r#"
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""command": "ls", "input_schema": {"type": "object", "title": "a", "title": "b"}"#,
        expect![[r#"
            5:67: error[F0020]: the key "title" occurs twice
                at /tools/0/input_schema/title
                because programs disagree about which one counts, so none is used
                help: remove all but one
                5:53: it is here first
            p: loaded [] refused [t (argv)]
        "#]],
    );
}

/// A manifest of each form, with one tool of which this is the schema under the key for the input
/// or the output.
fn in_every_form(schema: &str) -> Vec<String> {
    let binary = |section: &str| {
        format!(
            r#"{{"name": "p", "execution": "binary", "binary": {section}, "tools": [{{"name": "t", "description": "d",
                "parameters": {schema}}}]}}"#
        )
    };
    vec![
        with_tool(&format!(r#""command": "ls", "input_schema": {schema}"#)),
        with_tool(&format!(r#""command": "ls", "output_schema": {schema}"#)),
        with_tool(&format!(r#""command": "ls {{{{x}}}}", "parameters": {schema}"#)),
        binary(r#"{"path": "run.sh"}"#),
        binary(r#"{"path": "run.sh", "lifetime": "session"}"#),
    ]
}

#[test]
fn a_schema_that_does_not_compile_is_found_in_every_form() {
    for (rule, place) in [
        (r##""pattern": "([""##, "/properties/x/pattern"),
        (r##""patternProperties": {"(?=a)b": {}}"##, "/properties/x/patternProperties/(?=a)b"),
        (r##""$ref": "#/properties/x""##, "/properties/x"),
        (r##""$ref": "#nowhere""##, "/properties/x/$ref"),
        (r##""dependentRequired": {"a": ["b", "b"]}"##, "/properties/x/dependentRequired/a"),
        (r##""pattern": "[ab]{60000}""##, "/properties/x"),
    ] {
        let schema = format!(r#"{{"type": "object", "properties": {{"x": {{{rule}}}}}}}"#);
        for text in in_every_form(&schema) {
            let shown = shown(&text, Depth::Quick);
            assert!(shown.contains("error[F0119]"), "{text}\n{shown}");
            assert!(
                shown.contains(&format!("schema{place}\n"))
                    || shown.contains(&format!("parameters{place}\n")),
                "{text}\n{shown}"
            );
            assert!(shown.contains("help: ") && shown.contains("loaded []"), "{text}\n{shown}");
        }
    }
    for text in in_every_form(
        r#"{"type": "object", "properties": {"x": {"type": "string", "pattern": "^(?!-)a"}}}"#,
    ) {
        assert!(shown(&text, Depth::Quick).ends_with("p: loaded [t] refused []\n"), "{text}");
    }
}

#[test]
fn what_only_a_compiler_finds() {
    let bad = r#""command": "ls", "input_schema": {"type": "object", "properties": {"a": {"pattern": "(["}}}"#;
    check_tool(
        bad,
        expect![[r#"
            5:85: error[F0119]: "input_schema" cannot be used: the string "([" cannot be used as a pattern: unclosed character class: `[`
                at /tools/0/input_schema/properties/a/pattern
                help: write a pattern of ECMA-262 without what is named; a large one needs fewer repetitions
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool_in_full(
        bad,
        expect![[r#"
            5:85: error[F0119]: "input_schema" cannot be used: the string "([" cannot be used as a pattern: unclosed character class: `[`
                at /tools/0/input_schema/properties/a/pattern
                help: write a pattern of ECMA-262 without what is named; a large one needs fewer repetitions
            p: loaded [] refused [t (argv)]
        "#]],
    );
}

/// Told to an author who asks; clients get the tool without the schema.
#[test]
fn an_output_schema_that_not_every_client_compiles_is_a_warning() {
    let with = |rule: &str| {
        let schema = format!(r#"{{"type": "object", "properties": {{"a": {rule}}}}}"#);
        format!(r#""command": "ls", "input_schema": {schema}, "output_schema": {schema}"#)
    };
    check_tool_in_full(
        &with(r#"{"type": "string", "pattern": "^(?i)ok$"}"#),
        expect![[r#"
        5:204: warning[F0171]: clients are not sent "output_schema": the pattern is not read alike in JavaScript and in Python
            at /tools/0/output_schema/properties/a/pattern
            because one output schema that a client cannot compile costs it all tools
            help: `flyto explain F0171` shows what is portable
        p: loaded [t] refused []
    "#]],
    );
    check_tool_in_full(
        &with(r#"{"enum": []}"#),
        expect![[r#"
        5:154: warning[F0171]: clients are not sent "output_schema": not every validator of JSON Schema takes this value
            at /tools/0/output_schema/properties/a/enum
            because one output schema that a client cannot compile costs it all tools
            help: `flyto explain F0171` shows what is portable
        p: loaded [t] refused []
    "#]],
    );
    check_tool_in_full(
        &with(r#"{"type": "string", "pattern": "^[Oo][Kk]$"}"#),
        expect![[r#"
            p: loaded [t] refused []
        "#]],
    );
}

/// The protocol allows it, and clients hand it on to APIs that do not.
#[test]
fn a_choice_at_the_root_of_an_input_schema_is_a_warning() {
    let choice = r#"{"type": "object", "properties": {"x": {"anyOf": [{}]}}, "anyOf": [{"required": ["x"]}, {}]}"#;
    check_tool_in_full(
        &format!(r#""command": "ls", "input_schema": {choice}"#),
        expect![[r#"
        5:100: warning[F0171]: the root of "input_schema" has "anyOf", which APIs refuse: openai, openai-chat, anthropic
            at /tools/0/input_schema/anyOf
            because many clients hand the schema on, and the API refuses the request with all its tools
            help: `flyto explain F0171` shows what is portable
        p: loaded [t] refused []
    "#]],
    );
    check_tool_in_full(
        &format!(r#""command": "ls {{{{x}}}}", "parameters": {choice}"#),
        expect![[r#"
        5:104: warning[F0171]: the root of "parameters" has "anyOf", which APIs refuse: openai, openai-chat, anthropic
            at /tools/0/parameters/anyOf
            because many clients hand the schema on, and the API refuses the request with all its tools
            help: `flyto explain F0171` shows what is portable
        p: loaded [t] refused []
    "#]],
    );
    check_tool(
        &format!(r#""command": "ls", "input_schema": {choice}"#),
        expect![[r#"
            p: loaded [t] refused []
        "#]],
    );
}
