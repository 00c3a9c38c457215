//! What is refused before a person is asked.

use expect_test::{Expect, expect};
use flyto_diagnostics::Source;
use flyto_evolve::parse_proposal;

use super::*;

#[track_caller]
fn check(composite: Value, expect: Expect) {
    let def = json!({
        "name": "job", "description": "Does a job.", "execution_type": "composite", "composite": composite,
        "input_schema": {"type": "object", "properties": {"a": {"type": "string"}}},
    });
    let parsed = parse_proposal(&Source::new("proposal", def.to_string()));
    let found = parsed.findings.iter().map(|it| {
        let at = it.pointer.as_ref().map(ToString::to_string).unwrap_or_default();
        format!("{} {at}: {} [{}]\n", it.code, it.message, it.help.as_deref().unwrap_or("-"))
    });
    expect.assert_eq(&found.collect::<String>());
}

#[test]
fn a_parameter_of_a_composite_is_no_variable() {
    let step = json!({"id": "s", "tool": "say", "with": {"text": {"$ref": "/input/a~1b~0c"}}});
    let def = json!({
        "name": "job", "description": "Does a job.", "execution_type": "composite", "composite": {"steps": [step]},
        "input_schema": {"type": "object", "properties": {"a/b~c": {"type": "string"}, "a-b": {}, "a_b": {}}, "required": ["a/b~c"]},
    });
    let parsed = parse_proposal(&Source::new("proposal", def.to_string()));
    assert_eq!(parsed.findings.iter().count(), 0, "{:?}", parsed.findings);
}

#[test]
fn mistakes_are_told_with_what_to_write() {
    check(
        json!({"steps": []}),
        expect![[r#"
        F0409 /composite/steps: "steps" is a list of 1 to 32 steps [write `[{"id": …, "tool": …, "with": {…}}]`]
    "#]],
    );
    check(
        json!({"steps": [{"id": "a b", "tool": "", "wiht": {}, "on_error": "goto", "max_items": 3, "retry": {"times": 9}}]}),
        expect![[r#"
            F0409 /composite/steps/0/wiht: there is no key "wiht" [did you mean "with"?]
            F0409 /composite/steps/0/id: the id "a b" is no name of letters, digits, `_` and `-` [write a short name, by which others refer to the step]
            F0409 /composite/steps/0/tool: the step names no tool [write the name of a tool]
            F0409 /composite/steps/0: "max_items" and "max_parallel" are about the items of "for_each" [remove them, or write "for_each"]
            F0409 /composite/steps/0/retry/times: "times" cannot be 9 [write a number from 1 to 5]
            F0409 /composite/steps/0/on_error: "on_error" cannot be "goto" [write "stop", "continue" or "undo"]
        "#]],
    );
    check(
        json!({"steps": [
            {"id": "a", "tool": "t", "with": {"x": by_ref("input/a"), "y": {"$concat": 1}, "z": {"$reff": "/a"}, "$ref": 1}},
            {"id": "a", "tool": "t", "with": {"x": by_ref("/imput/a"), "y": by_ref("/item"), "z": by_ref("/steps/b/output")}},
            {"id": "c", "tool": "t", "with": by_ref("/steps/a/result"), "when": {"exist": 1}},
        ]}),
        expect![[r#"
            F0409 /composite/steps/0/with/x/$ref: "input/a" is no JSON Pointer [write one such as "/input/NAME" or "/steps/ID/output"]
            F0409 /composite/steps/0/with/y/$concat: what is joined is a list [write `{"$concat": [a, b]}`]
            F0409 /composite/steps/0/with/z: there is no expression "$reff" [write `$ref`, `$concat` or `$default`, and `$$` in front where the key itself is meant]
            F0409 /composite/steps/0/with/$ref: "$ref" stands beside other keys, and an expression has one [write `$$` in front where the key itself is meant]
            F0409 /composite/steps/1/id: two steps have the id "a" [give one of them another id]
            F0409 /composite/steps/2/when/exist: there is no condition "exist" of this shape [write one of `exists`, `not_empty`, `equals` [a, b], `in` [a, list], `less` [a, b], `not`, `all` and `any`]
            F0409 /composite/steps/1/with: a reference begins with "/input", "/steps", "/item" or "/index", found "/imput/a" [did you mean "/input"?]
            F0409 /composite/steps/1/with: "/item" is there for the items of "for_each" only [add "for_each" to the step, or refer to "/input/NAME"]
            F0409 /composite/steps/1/with: there is no step "b" [the steps are a, a, c]
            F0409 /composite/steps/2/with: a step has no "result" in "/steps/a/result" [write "/steps/a/output" or "/steps/a/text"]
        "#]],
    );
}

#[test]
fn steps_that_wait_for_each_other_are_named() {
    check(
        json!({"steps": [
            {"id": "a", "tool": "t", "with": {"x": by_ref("/steps/c/output")}},
            {"id": "b", "tool": "t", "after": ["a"]},
            {"id": "c", "tool": "t", "when": {"exists": by_ref("/steps/b/text")}},
        ]}),
        expect![[r#"
            F0409 /composite/steps: the steps wait for each other: a -> c -> b -> a [remove one of these references]
            F0409 /composite/steps/0/with: "a" refers to "c", which does not stand before it [write the step "c" before "a"]
            F0409 /composite: the step "c" may be skipped or fail, and then there is no value at "/steps/c/output" [write `{"$default": [{"$ref": "/steps/c/output"}, null]}`, or give the step the same "when"]
        "#]],
    );
    check(
        json!({"steps": [{"id": "a", "tool": "t", "after": ["a"]}]}),
        expect![[r#"
        F0409 /composite/steps: the steps wait for each other: a -> a [remove one of these references]
        F0409 /composite/steps/0/after: "a" refers to "a", which does not stand before it [write the step "a" before "a"]
    "#]],
    );
}

#[test]
fn a_value_that_may_be_missing_needs_one_that_stands_in() {
    let when = json!({"exists": by_ref("/input/a")});
    check(
        json!({"steps": [
            {"id": "a", "tool": "t", "when": when},
            {"id": "same", "tool": "t", "when": when, "with": {"x": by_ref("/steps/a/output")}},
            {"id": "default", "tool": "t", "with": {"x": {"$default": [by_ref("/steps/a/output"), 1]}}},
            {"id": "asks", "tool": "t", "when": {"not_empty": by_ref("/steps/a/output")}},
            {"id": "bare", "tool": "t", "with": {"x": by_ref("/steps/a/output")}},
        ], "output": 1}),
        expect![[r#"
            F0409 /composite/steps/4/with: the step "a" may be skipped or fail, and then there is no value at "/steps/a/output" [write `{"$default": [{"$ref": "/steps/a/output"}, null]}`, or give the step the same "when"]
        "#]],
    );
}
