//! Values and the words that they make.

use expect_test::{Expect, expect};
use flyto_plugin::ToolDef;
use flyto_tools::{Input, Tool};
use serde_json::{Value, json};

use crate::{Host, template};

/// What a call gets for these values, of which the first is that of `x`.
#[track_caller]
fn check_values(command: &str, property: Value, values: &[Value], expect: Expect) {
    let schema = json!({"type": "object", "properties": {"x": property, "y": {}}});
    let def = ToolDef::template("t", command, schema).expect("a template");
    let each = values.iter().map(|input| {
        let shown = Host::new().words(def.clone(), input.clone());
        format!("{input}\n{}", shown.lines().map(|it| format!("    {it}\n")).collect::<String>())
    });
    expect.assert_eq(&each.collect::<String>());
}

#[test]
fn values_that_look_like_options() {
    let values = [
        json!({"x": "-rf"}),
        json!({"x": "-"}),
        json!({"x": "--"}),
        json!({"x": ""}),
        json!({"x": -5}),
        json!({"x": "-5"}),
        json!({"x": "", "y": "-y"}),
        json!({"x": "-", "y": "y"}),
        json!({"x": "a", "y": "-y"}),
        json!({"x": ["-a"]}),
        json!({"x": format!("-{}", "v".repeat(100))}),
    ];
    check_values(
        "p {{x}}{{y}}",
        json!({}),
        &values,
        expect![[r#"
            {"x":"-rf"}
                "p"
            {"x":"-"}
                "p"
            {"x":"--"}
                "p"
            {"x":""}
                "p"
            {"x":-5}
                "p"
            {"x":"-5"}
                "p"
            {"x":"","y":"-y"}
                "p"
                "{{x}}{{y}}"
                ! invalid input: /y: begins with `-`, so the program could take it for an option: "-y"; for a file, write ./ in front
            {"x":"-","y":"y"}
                "p"
                "{{x}}{{y}}"
                ! invalid input: /x: begins with `-`, so the program could take it for an option: "-"; for a file, write ./ in front
            {"x":"a","y":"-y"}
                "p"
                "a-y"
            {"x":["-a"]}
                "p"
            {"x":"-vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv"}
                "p"
        "#]],
    );
    check_values(
        "p a{{x}} --b={{x}} -- {{x}}",
        json!({}),
        &values[..1],
        expect![[r#"
        {"x":"-rf"}
            "p"
            "a-rf"
            "--b=-rf"
            "--"
            "-rf"
    "#]],
    );
    check_values(
        "p \"{{x}}\" '{{y}}'",
        json!({}),
        &values[..1],
        expect![[r#"
            {"x":"-rf"}
                "p"
                "{{x}}"
                "{{y}}"
                ! invalid input: /x: begins with `-`, so the program could take it for an option: "-rf"; for a file, write ./ in front
        "#]],
    );
    check_values(
        "p $HOME {{x}} > {{y}}",
        json!({}),
        &[json!({"x": "-x", "y": "-y"})],
        expect![[r#"
            {"x":"-x","y":"-y"}
                "sh"
                "-c"
                "p $HOME {{x}} > {{y}}"
                ! invalid input: /x: begins with `-`, so the program could take it for an option: "-x"; for a file, write ./ in front; /y: begins with `-`, so the program could take it for an option: "-y"; for a file, write ./ in front
        "#]],
    );
    check_values(
        "p $HOME{{x}}",
        json!({}),
        &values[..1],
        expect![[r#"
            {"x":"-rf"}
                "sh"
                "-c"
                "p $HOME{{x}}"
                ! invalid input: /x: begins with `-`, so the program could take it for an option: "-rf"; for a file, write ./ in front
        "#]],
    );
    check_values(
        "sudo -- p {{x}}",
        json!({}),
        &values[..1],
        expect![[r#"
            {"x":"-rf"}
                "sudo"
                "--"
                "p"
                "{{x}}"
                ! invalid input: /x: begins with `-`, so the program could take it for an option: "-rf"; for a file, write ./ in front
        "#]],
    );
    check_values(
        "p {{x}}",
        json!({"x-flyto-dash": true}),
        &values[..1],
        expect![[r#"
        {"x":"-rf"}
            "p"
            "-rf"
    "#]],
    );
    check_values(
        "p {{x}}",
        json!({"x-flyto-dash": "yes"}),
        &values[..1],
        expect![[r#"
            {"x":"-rf"}
                "p"
                "{{x}}"
                ! invalid input: /x: begins with `-`, so the program could take it for an option: "-rf"; for a file, write ./ in front
        "#]],
    );
    let listed = [json!({"x": "-l"}), json!({"x": "-r"})];
    check_values(
        "p {{x}}",
        json!({"enum": ["-l", "-a"]}),
        &listed,
        expect![[r#"
            {"x":"-l"}
                "p"
                "-l"
            {"x":"-r"}
                "p"
                "{{x}}"
                ! invalid input: /x: begins with `-`, so the program could take it for an option: "-r"; for a file, write ./ in front
        "#]],
    );
    check_values(
        "p {{x}}",
        json!({"const": "-l"}),
        &listed,
        expect![[r#"
            {"x":"-l"}
                "p"
                "-l"
            {"x":"-r"}
                "p"
                "{{x}}"
                ! invalid input: /x: begins with `-`, so the program could take it for an option: "-r"; for a file, write ./ in front
        "#]],
    );
}

#[test]
fn values_that_are_no_texts() {
    check_values(
        "p {{x}}",
        json!({}),
        &[
            json!({"x": true}),
            json!({"x": null}),
            json!({"x": 1.5}),
            json!({"x": 18446744073709551615_u64}),
            json!({"x": {"b": [1, "a b"], "a": null}}),
            json!({"x": []}),
            json!({"x": "a\0b"}),
            json!({"x": ["a\0b"]}),
            json!([1]),
            json!("x"),
        ],
        expect![[r#"
            {"x":true}
                "p"
                "true"
            {"x":null}
                "p"
                "null"
            {"x":1.5}
                "p"
                "1.5"
            {"x":18446744073709551615}
                "p"
                "18446744073709551615"
            {"x":{"b":[1,"a b"],"a":null}}
                "p"
                "{\"b\":[1,\"a b\"],\"a\":null}"
            {"x":[]}
                "p"
                "[]"
            {"x":"a\u0000b"}
                "p"
                "{{x}}"
                ! invalid input: /x: holds a NUL character, which no argument can hold
            {"x":["a\u0000b"]}
                "p"
                "[\"a\\u0000b\"]"
            [1]
                "p"
                "{{x}}"
                ! invalid input: (root): expected an object
            "x"
                "p"
                "{{x}}"
                ! invalid input: (root): expected an object
        "#]],
    );
}

#[test]
fn a_whole_number_keeps_its_digits() {
    let def = template("p {{x}} {{y}} {{z}}", json!({"x": {}, "y": {}, "z": {}}));
    let text = r#"{"x": 123456789012345678901234567890, "y": -98765432109876543210, "z": 1.50}"#;
    let input = Input::parse(text).expect("JSON");
    let preview = Host::new().tool(def).preview(&input).expect("it has one");
    let words = preview.command_line.expect("words");
    assert_eq!(words[1..], ["123456789012345678901234567890", "-98765432109876543210", "1.50"]);
}

#[test]
fn values_that_are_missing() {
    let none = [json!({})];
    check_values(
        "p {{x}} a{{x}} $HOME",
        json!({}),
        &none,
        expect![[r#"
        {}
            "sh"
            "-c"
            "p   $HOME"
            "sh"
    "#]],
    );
    check_values(
        "p {{x}}",
        json!({"default": "d e"}),
        &none,
        expect![[r#"
        {}
            "p"
            "d e"
    "#]],
    );
    check_values(
        "p {{x}}",
        json!({"default": "-d"}),
        &none,
        expect![[r#"
        {}
            "p"
            "-d"
    "#]],
    );
    check_values(
        "p {{x}}",
        json!({"default": {"a": 1}}),
        &none,
        expect![[r#"
        {}
            "p"
            "{\"a\":1}"
    "#]],
    );
    check_values(
        "p {{x}}",
        json!({"default": null}),
        &none,
        expect![[r#"
        {}
            "p"
    "#]],
    );
    check_values(
        "p {{x}} {{other}}",
        json!({}),
        &[json!({"other": "o"})],
        expect![[r#"
        {"other":"o"}
            "p"
            "o"
    "#]],
    );
    // Without the word, the next one would be taken for the program, for code or for a file.
    check_values(
        "env -u {{x}} p {{y}}",
        json!({}),
        &[json!({"y": "y"})],
        expect![[r#"
            {"y":"y"}
                "env"
                "-u"
                "{{x}}"
                "p"
                "{{y}}"
                ! invalid input: /x: is missing, and the command needs a word in its place
        "#]],
    );
    check_values(
        "awk -F {{x}} '{print}' {{y}}",
        json!({}),
        &[json!({"y": "y"})],
        expect![[r#"
            {"y":"y"}
                "awk"
                "-F"
                "{{x}}"
                "{print}"
                "{{y}}"
                ! invalid input: /x: is missing, and the command needs a word in its place
        "#]],
    );
    check_values(
        "p > {{x}}",
        json!({}),
        &none,
        expect![[r#"
            {}
                "sh"
                "-c"
                "p > {{x}}"
                ! invalid input: /x: is missing, and the command needs a word in its place
        "#]],
    );

    let schema = json!({
        "type": "object",
        "properties": {"a/b": {"$ref": "#/$defs/d"}, "c": {"$ref": "#/$defs/c"}},
        "required": ["a/b"],
        "$defs": {"d": {"type": "string"}, "c": {"$ref": "#/$defs/e"}, "e": {"default": "from afar"}}
    });
    let def = ToolDef::template("t", "p {{a/b}} {{c}}", schema).expect("a template");
    expect![[r#"
        "p"
        "{{a/b}}"
        "{{c}}"
        ! invalid input: /a~1b: is required
    "#]]
    .assert_eq(&Host::new().words(def.clone(), json!({})));
    expect![[r#"
        "p"
        "1"
        "from afar"
    "#]]
    .assert_eq(&Host::new().words(def, json!({"a/b": 1})));
}

#[test]
fn numbers_keep_their_digits() {
    let schema = json!({"type": "object", "properties": {"x": {}}});
    let def = ToolDef::template("t", "p {{x}}", schema).expect("a template");
    for (given, expect) in [
        ("1E5", "1E5"),
        ("2.50", "2.50"),
        ("12345678901234567890.5", "12345678901234567890.5"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("-0.0", "-0.0"),
        ("[ 1E5, {\"a\" : 2.50} ]", "[1E5,{\\\"a\\\":2.50}]"),
        ("[\"a \\u0062\", true]", "[\\\"a b\\\",true]"),
    ] {
        let input = Input::parse(format!("{{\"x\": {given}}}")).expect("JSON");
        let shown = Host::new().words_of(def.clone(), &input);
        assert_eq!(shown, format!("\"p\"\n\"{expect}\"\n"), "{given}");
    }
}
