//! Templates as they stand in manifests.

use expect_test::expect;
use flyto_plugin::Depth;

use crate::{check_tool, loaded};

#[test]
fn what_loads_in_silence() {
    check_tool(
        r#""parameters": {"type": "object", "properties": {"x": {"type": "string"}}}, "command": "ls -- {{x}}", "category": "shell", "timeout_secs": 5, "env": {"A": "b"}"#,
        expect![[r#"
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""parameters": {}, "command": "echo hello""#,
        expect![[r#"
        p: loaded [t] refused []
    "#]],
    );
    check_tool(
        r#""parameters": {"properties": {"x": {}}}, "command": "echo {{x}}""#,
        expect![[r#"
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""parameters": {"type": "object", "properties": {"x": {"type": "string"}}}, "command": "sh -c 'wc -l \"$1\" | cut -d\" \" -f1' _ {{x}}""#,
        expect![[r#"
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""parameters": {"type": "object", "properties": {"x": {"type": "string"}}}, "command": "find . -name {{x}} -exec wc {} \\;""#,
        expect![[r#"
            p: loaded [t] refused []
        "#]],
    );
}

#[test]
fn schemas_that_are_none() {
    check_tool(
        r#""parameters": null, "command": "date""#,
        expect![[r#"
        5:15: warning[F0119]: "parameters" is no schema, and any object is accepted
            at /tools/0/parameters
            help: write `{"type": "object", "properties": {}}`
            null -> {"type": "object", "properties": {}}
        p: loaded [t] refused []
    "#]],
    );
    check_tool(
        r#""parameters": true, "command": "date""#,
        expect![[r#"
        5:15: warning[F0119]: "parameters" is no schema, and any object is accepted
            at /tools/0/parameters
            help: write `{"type": "object", "properties": {}}`
            true -> {"type": "object", "properties": {}}
        p: loaded [t] refused []
    "#]],
    );
    check_tool(
        r#""parameters": 5, "command": "date""#,
        expect![[r#"
            5:15: error[F0119]: "parameters" must be a schema, which is an object, found the number 5
                at /tools/0/parameters
                help: write `{"type": "object", "properties": {}}` to accept any object
                5 -> {"type": "object", "properties": {}}
            p: loaded [] refused [t (template)]
        "#]],
    );
    check_tool(
        r#""parameters": {"type": "string"}, "command": "date""#,
        expect![[r#"
        5:24: error[F0119]: the root of "parameters" must have the type "object"
            at /tools/0/parameters/type
            because the input of a call is always an object
            "string" -> "object"
        p: loaded [] refused [t (template)]
    "#]],
    );
    check_tool(
        r#""parameters": {"properties": {"x": {"type": "str"}}}, "command": "date {{x}}""#,
        expect![[r#"
            5:45: error[F0119]: there is no type "str"
                at /tools/0/parameters/properties/x/type
                help: did you mean "string"?
                "str" -> "string"
            p: loaded [] refused [t (template)]
        "#]],
    );
}

#[test]
fn keys_of_the_other_forms() {
    check_tool(
        r#""parameters": {}, "input_schema": {}, "command": "ls""#,
        expect![[r#"
        5:19: error[F0026]: "parameters" and "input_schema" exclude each other
            at /tools/0/input_schema
            because "parameters" makes the tool a template, whose input has no other schema
            help: remove one of them
            5:1: "parameters" is here
        p: loaded [] refused [t (template)]
    "#]],
    );
    check_tool(
        r#""parameters": {}, "args": [], "command": "ls", "timeout_seconds": 5"#,
        expect![[r#"
            5:19: error[F0026]: "parameters" and "args" exclude each other
                at /tools/0/args
                because "parameters" makes the tool a template, which has no list of arguments
                help: remove one of them
                5:1: "parameters" is here
            5:48: warning[F0025]: "timeout_seconds" is another spelling of "timeout_secs"
                at /tools/0/timeout_seconds
                help: write "timeout_secs"
                "timeout_seconds" -> "timeout_secs"
            p: loaded [] refused [t (template)]
        "#]],
    );
    check_tool(
        r#""parameters": {"type": "object", "properties": {"x": {"type": "string"}}}, "command": ["echo", "a b", "--t={{x}}"]"#,
        expect![[r#"
            5:87: error[F0023]: "command" must be a string, found an array
                at /tools/0/command
                because the command of a template is one line, in which words may be quoted
                help: write `"echo 'a b' --t={{x}}"`
                ["echo", "a b", "--t={{x}}"] -> "echo 'a b' --t={{x}}"
            p: loaded [] refused [t (template)]
        "#]],
    );
    check_tool(
        r#""parameters": {}, "command": " ""#,
        expect![[r#"
            5:31: error[F0024]: the command names no program
                at /tools/0/command
                help: write the command line that runs, such as `git -C {{path}} status`
            p: loaded [] refused [t (template)]
        "#]],
    );
    check_tool(
        r#""parameters": {}"#,
        expect![[r#"
        3:11: error[F0022]: the key "command" is missing
            at /tools/0
            help: add `"command": "…"`
        p: loaded [] refused [t (template)]
    "#]],
    );
    check_tool(
        r#""parameters": {}, "command": "echo a\u0000b""#,
        expect![[r#"
        5:37: error[F0115]: "command" holds a NUL character
            at /tools/0/command
            because the system ends arguments, variables and paths at it
            help: remove it
            \u0000 -> 
        p: loaded [] refused [t (template)]
    "#]],
    );
    check_tool(
        r#""parameters": {}, "command": "date", "category": "filesystem-read""#,
        expect![[r#"
            5:50: error[F0024]: "category" must be one of "filesystem_read", "filesystem_write", "network_read", "network_write", "shell", "hardware", "memory", "messaging", "destructive", found the string "filesystem-read"
                at /tools/0/category
                help: did you mean "filesystem_read"?
                "filesystem-read" -> "filesystem_read"
            p: loaded [] refused [t (template)]
        "#]],
    );
    check_tool(
        r#""parameters": {}, "command": "date", "working_dir": "~/x""#,
        expect![[r#"
        5:53: warning[F0123]: the working directory "~/x" is not a home directory
            at /tools/0/working_dir
            help: `~` is not expanded here; write the whole path
        p: loaded [t] refused []
    "#]],
    );
    check_tool(
        r#""parameters": {}, "command": "date", "working_dir": "/nowhere/at/all""#,
        expect![[r#"
            5:53: warning[F0123]: the working directory "/nowhere/at/all" is not there
                at /tools/0/working_dir
                because it is looked for at "/nowhere/at/all"
            p: loaded [t] refused []
        "#]],
    );
}

#[test]
fn a_digest_is_that_of_a_program() {
    let digest = "0".repeat(64);
    check_tool(
        &format!(r#""parameters": {{}}, "command": "/bin/sh", "sha256": "{digest}""#),
        expect![[r#"
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        &format!(r#""parameters": {{}}, "command": "/bin/sh > x", "sha256": "{digest}""#),
        expect![[r#"
            5:55: error[F0125]: "sha256" is the digest of a program, and a shell runs this command
                at /tools/0/sha256
                because which programs the shell runs is not known before it does
                help: write a command that needs no shell, or remove the digest
            p: loaded [] refused [t (template)]
        "#]],
    );
}

#[test]
fn placeholders_and_parameters() {
    check_tool(
        r#""parameters": {"type": "object", "properties": {"x": {"type": "string"}}}, "command": "echo {{ x }} {{.State}} {{ y }}""#,
        expect![[r#"
            5:93: warning[F0154]: `{{x}}` is written with blanks
                at /tools/0/command
                help: write `{{x}}`
                {{ x }} -> {{x}}
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""parameters": {"type": "object", "properties": {"x": {"type": "string"}}}, "command": "echo {{X1}}""#,
        expect![[r#"
            5:49: warning[F0155]: the command never uses the parameter "x"
                at /tools/0/parameters/properties/x
                help: put `{{x}}` into the command, or remove the parameter
            5:93: warning[F0153]: `{{X1}}` names no parameter
                at /tools/0/command
                because a model does not know of it, and without a value its word is left out
                help: add "X1" to "properties" of "parameters"; for the braces themselves, part them by quotes, as in `'{''{X1}}'`
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""parameters": {"type": "object", "properties": {"x": {"type": "string"}}}, "command": "echo {{title}} {{x}}""#,
        expect![[r#"
            5:93: warning[F0153]: `{{title}}` names no parameter
                at /tools/0/command
                because a model does not know of it, and without a value its word is left out
                help: add "title" to "properties" of "parameters"; for the braces themselves, part them by quotes, as in `'{''{title}}'`
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""parameters": {"type": "object", "properties": {"x": {}, "unused": {}}}, "command": "echo {{x}}""#,
        expect![[r#"
            5:58: warning[F0155]: the command never uses the parameter "unused"
                at /tools/0/parameters/properties/unused
                help: put `{{unused}}` into the command, or remove the parameter
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""parameters": {"type": "object", "properties": {"x": {"type": "string"}}}, "command": "echo \u007b{x}} && id""#,
        expect![[r#"
            5:104: error[F0150]: `&&` outside of quotes joins commands, and a template is one command
                at /tools/0/command
                because what runs besides the program would be neither shown nor judged
                help: quote it if the program is to see it; for several commands, write a script or `sh -c '…' _ {{name}}`, where the value is "$1"
            p: loaded [] refused [t (template)]
        "#]],
    );
}

#[test]
fn more_than_one_command() {
    check_tool(
        r#""parameters": {"type": "object", "properties": {"x": {"type": "string"}}}, "command": "echo {{x}} && id""#,
        expect![[r#"
            5:99: error[F0150]: `&&` outside of quotes joins commands, and a template is one command
                at /tools/0/command
                because what runs besides the program would be neither shown nor judged
                help: quote it if the program is to see it; for several commands, write a script or `sh -c '…' _ {{name}}`, where the value is "$1"
            p: loaded [] refused [t (template)]
        "#]],
    );
    check_tool(
        r#""parameters": {"type": "object", "properties": {"x": {"type": "string"}}}, "command": "echo {{x}} || id""#,
        expect![[r#"
            5:99: error[F0150]: `||` outside of quotes joins commands, and a template is one command
                at /tools/0/command
                because what runs besides the program would be neither shown nor judged
                help: quote it if the program is to see it; for several commands, write a script or `sh -c '…' _ {{name}}`, where the value is "$1"
            p: loaded [] refused [t (template)]
        "#]],
    );
    check_tool(
        r#""parameters": {"type": "object", "properties": {"x": {"type": "string"}}}, "command": "echo {{x}} | id""#,
        expect![[r#"
            5:99: error[F0150]: `|` outside of quotes joins commands, and a template is one command
                at /tools/0/command
                because what runs besides the program would be neither shown nor judged
                help: quote it if the program is to see it; for several commands, write a script or `sh -c '…' _ {{name}}`, where the value is "$1"
            p: loaded [] refused [t (template)]
        "#]],
    );
    check_tool(
        r#""parameters": {"type": "object", "properties": {"x": {"type": "string"}}}, "command": "echo {{x}}; id""#,
        expect![[r#"
            5:98: error[F0150]: `;` outside of quotes joins commands, and a template is one command
                at /tools/0/command
                because what runs besides the program would be neither shown nor judged
                help: quote it if the program is to see it; for several commands, write a script or `sh -c '…' _ {{name}}`, where the value is "$1"
            p: loaded [] refused [t (template)]
        "#]],
    );
    check_tool(
        r#""parameters": {"type": "object", "properties": {"x": {"type": "string"}}}, "command": "echo `id` {{x}}""#,
        expect![[r#"
            5:93: error[F0150]: a backtick runs a command of its own, and a template is one command
                at /tools/0/command
                because what runs besides the program would be neither shown nor judged
                help: write `\`` or put it in single quotes if the program is to see it
            p: loaded [] refused [t (template)]
        "#]],
    );
    check_tool(
        r#""parameters": {"type": "object", "properties": {"x": {"type": "string"}}}, "command": "echo \"`id`\" {{x}}""#,
        expect![[r#"
            5:95: error[F0150]: a backtick runs a command of its own, and a template is one command
                at /tools/0/command
                because what runs besides the program would be neither shown nor judged
                help: write `\`` or put it in single quotes if the program is to see it
            p: loaded [] refused [t (template)]
        "#]],
    );
}

#[test]
fn values_that_would_be_code() {
    check_tool(
        r#""parameters": {"type": "object", "properties": {"x": {"type": "string"}}}, "command": "{{x}} --version""#,
        expect![[r#"
            5:88: error[F0151]: `{{x}}` stands in the place of the program
                at /tools/0/command
                because the caller that gives the value would decide what runs
                help: write the program itself; hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            p: loaded [] refused [t (template)]
        "#]],
    );
    check_tool(
        r#""parameters": {"type": "object", "properties": {"x": {"type": "string"}}}, "command": "sh -c 'echo {{x}}'""#,
        expect![[r#"
            5:100: error[F0151]: `{{x}}` stands in the code that `sh` runs
                at /tools/0/command
                because the caller that gives the value would decide what runs
                help: hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            p: loaded [] refused [t (template)]
        "#]],
    );
    check_tool(
        r#""parameters": {"type": "object", "properties": {"x": {"type": "string"}}}, "command": "/usr/bin/env -i A=1 /usr/bin/python3.12 -Ic {{x}}""#,
        expect![[r#"
            5:132: error[F0151]: `{{x}}` stands in the code that `python3.12` runs
                at /tools/0/command
                because the caller that gives the value would decide what runs
                help: hand the value over as an argument, as in `python3 -c '…' {{x}}`, where it is `sys.argv[1]`, or in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            p: loaded [] refused [t (template)]
        "#]],
    );
    check_tool(
        r#""parameters": {"type": "object", "properties": {"x": {"type": "string"}}}, "command": "awk {{x}} notes""#,
        expect![[r#"
            5:92: error[F0151]: `{{x}}` stands in the code that `awk` runs
                at /tools/0/command
                because the caller that gives the value would decide what runs
                help: hand the value over as an argument, as in `awk 'BEGIN { x = ARGV[1]; ARGV[1] = "" } …' {{x}} FILE`, where it is the variable `x`, or in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            p: loaded [] refused [t (template)]
        "#]],
    );
    check_tool(
        r#""parameters": {"type": "object", "properties": {"x": {"type": "string"}}}, "command": "eval {{x}}""#,
        expect![[r#"
            5:93: error[F0151]: `{{x}}` stands in the code that `eval` runs
                at /tools/0/command
                because the caller that gives the value would decide what runs
                help: hand the value over as an argument, as in `sh -c '… "$1"' _ {{x}}`, where it is "$1"
            p: loaded [] refused [t (template)]
        "#]],
    );
    check_tool(
        r#""parameters": {"type": "object", "properties": {"x": {"type": "string"}}}, "command": "echo $((1 + {{x}}))""#,
        expect![[r#"
            5:100: error[F0151]: `{{x}}` stands within `$((…))`
                at /tools/0/command
                because the caller that gives the value would decide what runs
                help: set a variable in `sh -c '…' _ {{name}}`, where the value is "$1"
            p: loaded [] refused [t (template)]
        "#]],
    );
}

#[test]
fn programs_that_are_not_there() {
    let text = crate::with_tool(r#""parameters": {}, "command": "no-such-program -x""#);
    expect![[r#"
        5:31: warning[F0114]: the program "no-such-program" is not in the PATH
            at /tools/0/command
            help: install it, or write the path of the program; a program of the plugin is `"$PLUGIN_ROOT/run.sh"`
        p: loaded [t] refused []
    "#]].assert_eq(&crate::shown(&text, Depth::Full));
    let text = crate::with_tool(r#""parameters": {}, "command": "/no/such/program -x""#);
    expect![[r#"
        5:31: warning[F0114]: the program "/no/such/program" is not there
            at /tools/0/command
        p: loaded [t] refused []
    "#]]
    .assert_eq(&crate::shown(&text, Depth::Quick));
}

/// The class and the flags that a category stands for, beside other keys: of a template, and the same of an argv tool.
fn category(members: &str) -> String {
    let metadata = |form: &str| {
        let text = crate::with_tool(&format!(r#"{form}"command": "date", {members}"#));
        let plugin = loaded(&text, Depth::Quick).plugin.expect("it loads");
        plugin.tools()[0].metadata.clone()
    };
    let it = &metadata(r#""parameters": {}, "#);
    assert_eq!(it, &metadata(""), "{members}");
    let flags = [
        ("read_only", it.read_only),
        ("destructive", it.destructive),
        ("requires_checkpoint", Some(it.requires_checkpoint).filter(|it| *it)),
    ];
    let flags = flags.into_iter().filter_map(|(name, flag)| Some(format!(" {name}={}", flag?)));
    format!("{members}: {}{}\n", it.permission_class.as_str(), flags.collect::<String>())
}

#[test]
fn categories() {
    let names = [
        "filesystem_read",
        "filesystem_write",
        "network_read",
        "network_write",
        "shell",
        "hardware",
        "memory",
        "messaging",
        "destructive",
    ];
    let mut res: String =
        names.iter().map(|it| category(&format!(r#""category": "{it}""#))).collect();
    res += &category(r#""category": null"#);
    res += &category(r#""category": "filesystem_read", "permission_class": "bash""#);
    res += &category(r#""category": "filesystem_read", "read_only": false"#);
    res += &category(r#""category": "messaging", "requires_checkpoint": false"#);
    expect![[r#"
        "category": "filesystem_read": file read_only=true
        "category": "filesystem_write": file
        "category": "network_read": webfetch
        "category": "network_write": webfetch
        "category": "shell": bash
        "category": "hardware": generic
        "category": "memory": generic
        "category": "messaging": generic requires_checkpoint=true
        "category": "destructive": bash destructive=true
        "category": null: bash
        "category": "filesystem_read", "permission_class": "bash": bash read_only=true
        "category": "filesystem_read", "read_only": false: file read_only=false
        "category": "messaging", "requires_checkpoint": false: generic
    "#]]
    .assert_eq(&res);
}

#[test]
fn a_schema_without_a_type_becomes_one_of_an_object() {
    for (parameters, expect) in [
        ("{}", expect![[r#"{"type":"object","properties":{}}"#]]),
        (
            r#"{"required": ["x"], "properties": {"x": {}}}"#,
            expect![[r#"{"type":"object","properties":{"x":{}},"required":["x"]}"#]],
        ),
        ("null", expect![[r#"{"type":"object","properties":{},"additionalProperties":true}"#]]),
    ] {
        let text = crate::with_tool(&format!(r#""parameters": {parameters}, "command": "date""#));
        let plugin = loaded(&text, Depth::Full).plugin.expect("it loads");
        expect.assert_eq(&plugin.tools()[0].input_schema.value().to_string());
    }
}

#[test]
fn what_has_a_default_may_be_left_out() {
    let text = crate::with_tool(
        r#""parameters": {"type": "object", "properties": {"x": {"type": "string", "default": "hi"}, "y": {"type": "string"}}, "required": ["x", "y"]}, "command": "echo {{x}} {{y}}""#,
    );
    let plugin = loaded(&text, Depth::Quick).plugin.expect("it loads");
    let schema = plugin.tools()[0].input_schema.value();
    assert_eq!(schema["required"], serde_json::json!(["y"]));
    assert_eq!(schema["properties"]["x"]["default"], "hi");
}
