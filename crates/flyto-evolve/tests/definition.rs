//! Reading definitions: what is accepted, and what a finding says.
#![expect(clippy::unwrap_used, reason = "all of it is a test")]

use expect_test::{Expect, expect};
use flyto_diagnostics::Source;
use flyto_evolve::{Example, MAX_DEFINITION_BYTES, ToolDefinition, parse, parse_proposal};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A good definition with some keys changed; `null` removes a key.
fn text_with(change: Value) -> String {
    let mut def = json!({
        "name": "count_lines",
        "description": "Counts the lines of a file.",
        "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
        "execution_type": "script",
        "script": "wc -l < \"$TOOL_INPUT_PATH\"\n",
    });
    for (key, value) in change.as_object().unwrap() {
        def[key] = value.clone();
    }
    def.to_string()
}

#[track_caller]
fn check(change: Value, expect: Expect) {
    let source = Source::new("proposal", text_with(change));
    let parsed = parse_proposal(&source);
    let lines: Vec<String> = parsed
        .findings
        .iter()
        .map(|it| {
            let help = it.help.as_deref().unwrap_or("-");
            let pointer = it.pointer.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("{} {pointer}: {} [{help}]", it.code, it.message)
        })
        .collect();
    assert_eq!(parsed.definition.is_none(), parsed.findings.has_errors());
    expect.assert_eq(&lines.join("\n"));
}

#[test]
fn a_good_proposal_has_no_findings() {
    check(json!({}), expect![""]);
    check(
        json!({
            "timeout_seconds": 600, "rationale": "often needed", "tags": ["files"], "read_only": true, "concurrency_safe": true,
            "examples": [{"input": {"path": "/dev/null"}, "output": "0", "contains": ["0"]}]
        }),
        expect![""],
    );
    let command =
        json!({"execution_type": "command", "script": null, "command": "wc -l -- {{.path}}"});
    check(command, expect![""]);
}

#[test]
fn findings_say_what_to_write_instead() {
    check(
        json!({"name": "count lines"}),
        expect![[
            r#"F0402 /name: the name "count lines" holds white space, a control character or an invisible one [write "count_lines"]"#
        ]],
    );
    check(
        json!({"name": "mcp__x__Bash"}),
        expect![[
            r#"F0402 /name: the name "mcp__x__Bash" holds `__`, which stands between a plugin and its tool [write "mcp_x_Bash"]"#
        ]],
    );
    check(
        json!({"name": "../x"}),
        expect![[r#"F0402 /name: the name "../x" holds a character of paths [write "x"]"#]],
    );
    check(
        json!({"name": "工具"}),
        expect![[
            r#"F0402 /name: the name "工具" begins with something else than a letter of ASCII [write what the tool does in ASCII, such as "count_lines"]"#
        ]],
    );
    check(
        json!({"description": " "}),
        expect![
            "F0402 /description: the description is empty, and a model chooses tools by theirs [say what the tool does and what it returns]"
        ],
    );
    check(
        json!({"description": "x".repeat(1025)}),
        expect![
            "F0405 /description: there are 1025 bytes of description, and at most 1024 are taken [write less: a person reads all of it]"
        ],
    );
    check(
        json!({"script": ""}),
        expect![[
            r#"F0404 /script: a tool of the type "script" needs a script, and it is empty [write the text that bash runs]"#
        ]],
    );
    check(
        json!({"script": "a\u{0}b"}),
        expect![[
            r#"F0404 /script: the script holds a NUL character, at which the system would cut it off [write `\0` for printf, or leave it out]"#
        ]],
    );
    check(
        json!({"script": "#!/usr/bin/env python3\nprint(1)"}),
        expect![[
            r##"F0404 /script: bash runs the text, and the first line "#!/usr/bin/env python3" has no effect [let bash start the program, as in `python3 - <<'EOF'`, and remove the line]"##
        ]],
    );
    check(
        json!({"script": "x".repeat(70_000)}),
        expect![
            "F0405 /script: there are 70000 bytes of script, and at most 65536 are taken [make two tools of it]"
        ],
    );
    check(
        json!({"script": null}),
        expect![[
            r#"F0404 /execution_type: a tool of the type "script" needs the key "script" [write the text that is run under that key]"#
        ]],
    );
    check(
        json!({"command": "date"}),
        expect![[
            r#"F0404 /command: a tool of the type "script" has no "command" [remove it, or write "execution_type": "command"]"#
        ]],
    );
    check(
        json!({"execution_type": "python"}),
        expect![[
            r#"F0404 /execution_type: "execution_type" must be "script", "command" or "composite", found "python" [-]"#
        ]],
    );
    check(
        json!({"execution_type": "command", "script": null, "command": "bash -c {{.path}}"}),
        expect![[
            r#"F0407 /command: `{{.path}}` stands where `bash` looks for code, so the caller would decide what runs [hand the value over as an argument, as in `bash -c '… "$1"' _ {{.path}}`, where it is "$1"]"#
        ]],
    );
    check(
        json!({"execution_type": "command", "script": null, "command": "wc {{.pth}} {{.pth}} {{.a.b}}"}),
        expect![[
            r#"F0407 /command: `{{.pth}}` is no parameter that the schema lists [did you mean `{{.path}}`? Else list it in "properties"; where another program is to read it, make a script of the command]"#
        ]],
    );
    check(
        json!({"execution_type": "command", "script": null, "command": "wc {{.path}} {{ .Names }}"}),
        expect![[
            r#"F0407 /command: `{{.Names}}` is no parameter that the schema lists [list it in "properties"; where another program is to read it, make a script of the command]"#
        ]],
    );
    check(
        json!({"script": "wc -l {{.path}}; docker ps --format '{{.Names}}'"}),
        expect![[
            r#"F0407 /script: `{{.path}}` is no placeholder in a script [write `"$TOOL_INPUT_PATH"`, or make a command of the script]"#
        ]],
    );
    // It is for another program.
    check(json!({"script": "echo '{{.path}}' | fill \"$TOOL_INPUT_PATH\""}), expect![[""]]);
    // Each placeholder of 6 bytes becomes 15.
    check(
        json!({
            "execution_type": "command", "script": null, "command": format!("echo {}", "{{.x}}".repeat(9000)),
            "input_schema": {"type": "object", "properties": {"x": {}}},
        }),
        expect![[
            r#"F0405 /command: the command, with a variable for each placeholder, has 135005 bytes, and bash can be given 131071 at most [write each placeholder once, as in `f={{.file}}; cat "$f" "$f"`, or make it a script]"#
        ]],
    );
    check(
        json!({"timeout_seconds": 601}),
        expect![
            "F0405 /timeout_seconds: a call may take 600 seconds at most, and 601 are asked for [write 600 or less]"
        ],
    );
    check(
        json!({"timeout_seconds": "30"}),
        expect![[
            r#"F0023 /timeout_seconds: "timeout_seconds" must be a whole number, found the string "30" [write `30`]"#
        ]],
    );
    check(
        json!({"input_schema": {"type": "string"}}),
        expect![[
            r#"F0403 /input_schema/type: the schema has the root type "string", and a call passes in an object [write "object"]"#
        ]],
    );
    check(
        json!({"input_schema": {"type": "object", "properties": {"a": {"type": "strin"}}}}),
        expect![[
            r#"F0403 /input_schema/properties/a/type: the schema cannot be used: the string "strin" is no type; the types are array, boolean, integer, null, number, object and string [write JSON Schema 2020-12, or name another dialect in "$schema"]"#
        ]],
    );
    check(
        json!({"input_schema": []}),
        expect![[
            r#"F0403 /input_schema: the schema is no object [write `{"type": "object", "properties": {…}}`]"#
        ]],
    );
    check(
        json!({"input_schema": {"properties": {"a-b": {}, "a_b": {}, "c.d": {}}}}),
        expect![[r#"
        F0406 /input_schema/properties/a_b: the parameters "a-b" and "a_b" have one variable, TOOL_INPUT_A_B [give one of them another name]
        F0406 /input_schema/properties/c.d: the parameter "c.d" cannot be the name of a variable [write letters of ASCII, digits and `_`]"#]],
    );
    check(
        json!({"examples": [{"input": 1}, {"input": {}}, {"input": {"path": "a"}, "outputs": "b"}]}),
        expect![[r#"
        F0021 /examples/2/outputs: unknown key "outputs" [did you mean "output"?]
        F0408 /examples/0/input: the input of an example is no object [write the input of a call, such as `{}`]
        F0408 /examples/1/input: the input of the example does not fit the schema: /path: expected a string (it is required), got nothing [change the example or the schema]"#]],
    );
    check(
        json!({"tags": ["", "a"]}),
        expect![[
            r#"F0405 /tags/0: the tag "" is empty, longer than 64 bytes or holds a control character [-]"#
        ]],
    );
    check(
        json!({"timeout": 3}),
        expect![[r#"F0021 /timeout: unknown key "timeout" [did you mean "timeout_seconds"?]"#]],
    );
}

#[test]
fn what_is_no_definition_is_refused() {
    for text in [
        "",
        "[]",
        "1",
        "{",
        "{\"name\": \"a\", \"name\": \"b\"}",
        &"[".repeat(200),
        &"x".repeat(MAX_DEFINITION_BYTES + 1),
    ] {
        let parsed = parse(&Source::new("t.json", text));
        assert!(parsed.definition.is_none() && parsed.findings.has_errors());
    }
}

#[test]
fn a_file_is_read_with_warnings_where_a_proposal_is_refused() {
    let text = text_with(json!({"nmae": 1}));
    let parsed = parse(&Source::new("t.json", text.as_str()));
    assert!(
        parsed.definition.is_some()
            && parsed.findings.count(flyto_diagnostics::Severity::Warning) == 1
    );
    assert!(parse_proposal(&Source::new("t.json", text)).definition.is_none());
}

#[test]
fn the_canonical_text_is_what_is_approved() {
    let def = ToolDefinition::script("t", "Tests.", "date\n").with_tags(["b", "a"]);
    expect![[r#"{"concurrency_safe":false,"description":"Tests.","execution_type":"script","input_schema":{"properties":{},"type":"object"},"name":"t","read_only":false,"script":"date\n","tags":["b","a"]}"#]]
        .assert_eq(&def.canonical_text());
    assert_ne!(def.hash(), def.clone().with_timeout_seconds(61).hash());
    assert_eq!(def.hash(), def.clone().with_timeout_seconds(60).with_created_by("x").hash());
    assert_eq!(def.hash().to_string().parse(), Ok(def.hash()));
}

prop_compose! {
    fn any_definition()(
        script in "\\PC{1,40}",
        description in "\\PC{1,20}[a-z]",
        timeout in 1_u64..600,
        tags in prop::collection::vec("[a-z]{1,8}", 0..3),
        flags in any::<(bool, bool, bool)>(),
        is_command in any::<bool>(),
        output in prop::option::of("\\PC{0,10}"),
    ) -> ToolDefinition {
        let mut def = if is_command {
            ToolDefinition::command("t", description, format!("echo {}", script.replace("{{", "")))
        } else {
            ToolDefinition::script("t", description, format!("echo {script}"))
        };
        def = def.with_timeout_seconds(timeout).with_tags(tags).with_version(3).with_created_by("me");
        (def.concurrency_safe, def.read_only) = (flags.0, flags.1);
        if flags.2 {
            let mut example = Example::new(json!({"a": [1, 2.5, {"b": null}]}));
            example.output = output;
            def = def.with_example(example);
        }
        def
    }
}

proptest! {
    #[test]
    fn a_written_definition_is_read_again(def in any_definition()) {
        let parsed = parse(&Source::new("t.json", def.file_text()));
        prop_assert_eq!(parsed.definition.as_ref(), Some(&def));
        let again = parse(&Source::new("t.json", def.canonical_text())).definition.unwrap();
        prop_assert_eq!(again.canonical_text(), def.canonical_text());
        prop_assert_eq!(again.hash(), def.hash());
    }

    #[test]
    fn any_text_gives_a_definition_or_a_finding(text in "\\PC{0,60}") {
        let parsed = parse_proposal(&Source::new("t.json", text));
        prop_assert!(parsed.definition.is_some() || parsed.findings.has_errors());
    }
}
