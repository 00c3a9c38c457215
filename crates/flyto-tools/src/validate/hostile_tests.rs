//! Schemas and values from a hostile author.

use serde_json::{Map, json};

use super::tests::WithSchema;
use super::*;
use crate::{CallContext, Failure, Input, Tool as _};

/// `n` definitions, each of which uses the next one as `link` says; the last is `end`.
fn linked(n: usize, end: Value, link: impl Fn(Value) -> Value) -> Value {
    let mut defs = Map::new();
    for nth in 0..n {
        let next = json!({"$ref": format!("#/$defs/d{}", nth + 1)});
        defs.insert(format!("d{nth}"), link(next));
    }
    defs.insert(format!("d{n}"), end);
    json!({"$ref": "#/$defs/d0", "$defs": defs})
}

#[test]
fn schemas_that_grow_without_measure_are_refused() {
    let integer = json!({"type": "integer"});
    let mut deep = integer.clone();
    for _ in 0..200 {
        deep = json!({"properties": {"a": deep}});
    }
    let patterns: Vec<Value> = (0..600).map(|nth| json!({"pattern": nth.to_string()})).collect();
    for (schema, kind) in [
        (json!({"$ref": "#"}), SchemaErrorKind::Circular),
        (json!({"allOf": [{"anyOf": [{"$ref": "#"}]}]}), SchemaErrorKind::Circular),
        (linked(1, json!({"$ref": "#/$defs/d0"}), |next| next), SchemaErrorKind::Circular),
        (linked(40, integer.clone(), |it| json!({"allOf": [it, it]})), SchemaErrorKind::TooLarge),
        (linked(40, integer.clone(), |it| json!({"anyOf": [it, it]})), SchemaErrorKind::TooLarge),
        (
            linked(
                40,
                integer.clone(),
                |it| json!({"properties": {"x": it}, "patternProperties": {"x": it}}),
            ),
            SchemaErrorKind::TooLarge,
        ),
        (
            linked(
                40,
                integer.clone(),
                |it| json!({"allOf": [it], "unevaluatedProperties": false}),
            ),
            SchemaErrorKind::TooLarge,
        ),
        (linked(3_000, integer, |next| next), SchemaErrorKind::TooLarge),
        (deep, SchemaErrorKind::TooLarge),
        (json!({"anyOf": patterns}), SchemaErrorKind::TooLarge),
        (json!({"enum": vec![0; 200_000]}), SchemaErrorKind::TooLarge),
        (json!({"pattern": "((a{1000}){1000}){1000}"}), SchemaErrorKind::TooLarge),
        (json!({"anyOf": many_large_patterns()}), SchemaErrorKind::TooLarge),
        (json!({"pattern": r"\w".repeat(3_000)}), SchemaErrorKind::TooLarge),
        (json!({"patternProperties": {r"\s".repeat(3_000): true}}), SchemaErrorKind::TooLarge),
    ] {
        assert_eq!(compile(&schema).map_err(|err| err.kind).err(), Some(kind));
    }
}

/// Patterns that are small to write and large to match.
fn many_large_patterns() -> Vec<Value> {
    (300..790).map(|n| json!({"pattern": format!("[ab]{{{n}}}[cd]*e")})).collect()
}

#[test]
fn the_place_where_patterns_become_too_many_is_named() {
    let err = compile(&json!({"anyOf": many_large_patterns()})).unwrap_err();
    assert!(err.pointer.starts_with("/anyOf/"), "{err}");
}

/// `n_references` to one definition, beside `n_ids` objects with an `id`.
fn with_ids(n_references: usize, n_ids: usize, key: &str) -> Value {
    let properties = (0..n_references).map(|n| (format!("p{n}"), json!({"$ref": "#/$defs/x"})));
    let ids: Vec<_> = (0..n_ids).map(|n| json!({"id": format!("a{n}")})).collect();
    json!({"type": "object", "properties": Map::from_iter(properties),
        "$defs": {"x": {"type": "string"}, "y": {key: ids}}})
}

#[test]
fn where_references_lead_is_looked_up_once_for_each_text() {
    // Members of values have names of their own, and make no reference ambiguous.
    for key in ["enum", "examples"] {
        compile(&with_ids(1_000, 40_000, key)).unwrap();
    }
    // Elsewhere one may be the start of a pointer: each is looked at once, and not for each reference.
    let schema = with_ids(1_000, 2_000, "anyOf");
    let validator = compile(&schema).unwrap();
    let input = json!({"p7": 7});
    let violations = validator.check(&input).unwrap_err();
    assert_eq!(violations.to_string().lines().count(), 1, "{violations}");
}

#[test]
fn references_that_may_lead_to_very_many_parts_are_refused() {
    let mut schema = with_ids(20, 25_000, "anyOf");
    for (n, property) in schema["properties"].as_object_mut().unwrap().values_mut().enumerate() {
        // As many texts as references.
        *property = json!({"$ref": format!("#/$defs/{n}")});
    }
    let err = compile(&schema).unwrap_err();
    assert_eq!(err.kind, SchemaErrorKind::TooLarge);
    assert!(err.why.starts_with("20 references may lead to any of the 25000 parts"), "{err}");
}

/// Names of properties that the schema does not know cost no copy of those that it knows.
#[test]
fn unknown_properties_are_counted_up_to_a_bound() {
    let known = (0..100).map(|n| (format!("a{n}"), json!({"type": "string"})));
    let closed = json!({"properties": Map::from_iter(known), "additionalProperties": false});
    let input = Value::Object((0..50_000).map(|n| (format!("b{n}"), json!(n))).collect());
    let violations = compile(&closed).unwrap().check(&input).unwrap_err();
    assert_eq!(violations.shown.len(), Violations::MAX_SHOWN);
    assert!(violations.n_more < 200, "{}", violations.n_more);
    let open = json!({"properties": {"a": true}, "unevaluatedProperties": false});
    let violations = compile(&open).unwrap().check(&input).unwrap_err();
    assert_eq!(violations.shown.len() + violations.n_more, 1, "{violations}");
}

/// Runs on a thread with half the stack that Rust gives a thread.
fn on_small_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(test).unwrap();
    thread.join().unwrap();
}

#[test]
fn recursive_schemas_with_many_ways_stay_quick() {
    on_small_stack(|| {
        let operators = ["add", "sub", "mul", "div"].map(|op| {
            json!({
                "type": "object",
                "properties": {
                    "left": {"$ref": "#/$defs/e"}, "right": {"$ref": "#/$defs/e"}, "op": {"const": op},
                },
                "required": ["op"],
            })
        });
        for key in ["anyOf", "oneOf"] {
            let mut ways = operators.to_vec();
            ways.push(json!({"type": "integer"}));
            let schema = json!({"$ref": "#/$defs/e", "$defs": {"e": {key: ways}}});
            let validator = compile(&schema).unwrap();
            let mut value = json!("x");
            for _ in 0..100 {
                value = json!({"left": value, "op": "div"});
            }
            let err = validator.check(&value).unwrap_err();
            assert_eq!(err.shown.len(), 1);
        }
    });
}

#[test]
fn the_deepest_that_is_taken_fits_the_stack() {
    for link in [
        (|it| it) as fn(Value) -> Value,
        |it| json!({"allOf": [it]}),
        |it| json!({"oneOf": [it]}),
        |it| json!({"if": true, "then": it}),
        |it| json!({"not": {"not": it}}),
        |it| json!({"dependentSchemas": {"x": it}}),
    ] {
        on_small_stack(move || {
            for n in [1, 18, 60, 200] {
                let end = json!({"properties": {"x": {"$ref": "#/$defs/d0"}}, "type": "object"});
                let validator = compile(&linked(n, end, link)).unwrap();
                let max_depth = (MAX_STACK / validator.0.cost.nesting).clamp(1, MAX_DEPTH);
                let mut value = json!({"x": 7});
                for _ in 1..max_depth {
                    value = json!({"x": value});
                }
                let too_deep = |value: &Value| {
                    validator.check(value).is_err_and(|it| it.shown[0].got == "more")
                };
                assert!(!too_deep(&value), "{n}");
                assert!(too_deep(&json!({"x": value})), "{n}");
            }
        });
    }
}

#[test]
fn patterns_match_in_linear_time() {
    let validator = compile(&json!({"pattern": "^(a+)+$"})).unwrap();
    validator.check(&json!("a".repeat(50_000) + "!")).unwrap_err();
}

/// A text that the linear engine has to go through state by state, 900 for each byte.
fn slow_text(n_bytes: usize) -> String {
    let mut seed = 1_u32;
    (0..n_bytes)
        .map(|at| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if at % 800 == 799 {
                'c'
            } else if seed >> 31 == 0 {
                'a'
            } else {
                'b'
            }
        })
        .collect()
}

#[test]
fn a_pattern_that_takes_too_many_steps_is_named() {
    let schema = json!({"properties": {"x": {"pattern": "a[ab]{900}c"}}});
    let err = compile(&schema).unwrap().check(&json!({"x": slow_text(4_000_000)})).unwrap_err();
    assert_eq!(
        err.to_string(),
        "/x: expected less text for the pattern at /properties/x/pattern of the schema, which takes too many steps, got more"
    );
}

#[track_caller]
fn check_words(schema: &Value, value: &Value, expect: expect_test::Expect) {
    let err = compile(schema).unwrap().check(value).unwrap_err();
    expect.assert_eq(&err.to_string());
}

#[test]
fn a_large_value_is_refused_with_its_place() {
    let schema = json!({"properties": {"a": {"type": "string", "pattern": "a[ab]{900}c"}}});
    check_words(
        &schema,
        &json!({"a": "a".repeat(100_000)}),
        expect_test::expect![[
            r#"/a: expected a string that matches a[ab]{900}c, got the string "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…" (100000 characters)"#
        ]],
    );
    let patterns: Vec<_> =
        (0..50).map(|nth| json!({"pattern": format!("[ab]{{{}}}c", 400 + nth)})).collect();
    let schema = json!({"properties": {"a": {"type": "array", "items": {"allOf": patterns}}}});
    let value = json!({"a": vec!["ab".repeat(50_000); 300]});
    check_words(
        &schema,
        &value,
        expect_test::expect![[
            r#"/a/0: expected a value that fits /properties/a/items/allOf/0/pattern of the schema, got the string "abababababababababababababababababababab…" (100000 characters)"#
        ]],
    );
}

/// However few steps there are for the words, only what does not fit is named.
#[test]
fn words_that_are_cut_short_say_nothing_false() {
    let text = |pattern: &str| json!({"type": "string", "pattern": pattern});
    let schema = json!({
        "type": "object",
        "properties": {
            "one": {"oneOf": [text("^a"), text("^b"), {"type": "integer"}]},
            "any": {"anyOf": [text("^b"), text("^a")]},
            "has": {"contains": text("^a"), "maxContains": 1},
            "not": {"not": text("^b")},
            "bad": {"type": "object", "properties": {"x": {
                "type": "string", "minLength": 1, "pattern": "^b", "maxLength": 9,
            }}},
        },
        "patternProperties": {"^o": {"type": ["string", "integer"]}, "^p": {}},
        "additionalProperties": false,
    });
    let value = json!({
        "one": "a", "any": "a", "has": ["a", "b"], "not": "a", "p": 1, "bad": {"x": "a"},
    });
    let validator = compile(&schema).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for steps in (0..200_000).step_by(1_000) {
        let budget = Budget::new(steps);
        let err = validator.check_within(&value, &budget).unwrap_err();
        seen.insert(err.to_string());
    }
    let seen: Vec<_> = seen.into_iter().collect();
    expect_test::expect![[r#"
        (root): expected a value that fits the schema, got an object with one, any, has, not, p and bad
        /bad/x: expected a string that matches ^b, got the string "a"
        /bad/x: expected a value that fits /properties/bad/properties/x of the schema, got the string "a"
        /bad: expected a value that fits /properties/bad of the schema, got an object with x
        /bad: expected a value that fits /properties/bad/properties of the schema, got an object with x
        /one: expected less text for the pattern at /properties/one/oneOf/0/pattern of the schema, which takes too many steps, got more"#]].assert_eq(&seen.join("\n"));
}

#[test]
fn the_keyword_that_costs_much_is_named() {
    for (key, inner) in [
        ("unevaluatedProperties", json!({"allOf": [{}, {}, {}]})),
        ("unevaluatedItems", json!({"anyOf": [{}, {}, {}]})),
    ] {
        let schema = linked(40, json!({"type": "integer"}), |next| {
            let mut it = inner.clone();
            it["if"] = next;
            it[key] = json!(false);
            it
        });
        let err = compile(&schema).map(drop).unwrap_err();
        assert_eq!(err.pointer, format!("/$defs/d0/{key}"));
        assert!(err.why.contains(key), "{err}");
    }
}

#[test]
fn a_check_that_is_stopped_ends() {
    let schema = json!({"items": {"pattern": "a[ab]{900}c"}});
    let validator = compile(&schema).unwrap();
    let budget = Budget::new(MAX_STEPS);
    budget.stop();
    // Every item alone takes seconds.
    let value = json!(vec![slow_text(200_000); 10]);
    let _ = validator.check_within(&value, &budget);
    assert_eq!(budget.place(), None, "no pattern was matched");
}

#[test]
fn look_around_is_matched_within_a_bound() {
    let schema = json!({"type": "string", "pattern": "^(?=.*[0-9])(?!secret).{3,}$"});
    let validator = compile(&schema).unwrap();
    validator.check(&json!("abc1")).unwrap();
    let err = validator.check(&json!("secret1")).unwrap_err();
    assert!(err.to_string().contains("a string that matches ^(?="), "{err}");
    let err = validator.check(&json!("a".repeat(100_000))).unwrap_err();
    assert!(err.to_string().contains("too many steps"), "{err}");
    // Tries every way to split the text.
    let validator = compile(&json!({"pattern": "^(?:(?=a)a+)+$"})).unwrap();
    let err = validator.check(&json!("a".repeat(500) + "!")).unwrap_err();
    assert!(err.to_string().contains("too many steps"), "{err}");
}

#[test]
fn a_check_that_takes_too_much_names_the_place_in_the_value() {
    let schema = json!({"properties": {"x": {"items": {"pattern": "^(a+)+(?=b)b$"}}}});
    let err = compile(&schema).unwrap().check(&json!({"x": ["ab", "a".repeat(60_000)]}));
    let err = err.unwrap_err();
    assert_eq!(err.shown[0].pointer, "/x/1", "{err}");
    assert!(err.to_string().contains("/properties/x/items/pattern of the schema"), "{err}");
    let schema = json!({"properties": {"x": {"patternProperties": {"a[ab]{900}c": {}}}}});
    let err = compile(&schema).unwrap().check(&json!({"x": {slow_text(4_000_000): 1}}));
    assert_eq!(err.unwrap_err().shown[0].pointer, "/x");
}

#[test]
fn what_is_not_known_in_a_pattern_is_named() {
    #[track_caller]
    fn check(pattern: &str, expected: &str) {
        let err = compile(&json!({"pattern": pattern})).unwrap_err();
        let (_, why) = err.why.split_once("cannot be used as a pattern: ").unwrap();
        assert_eq!(why, expected, "{pattern}");
    }
    check(r"\p{L}\cA(?<n>a)\k<n>", r"unrecognized escape sequence: `\k`");
    check("([", "unclosed character class: `[`");
    check("é(", "unclosed group: `(`");
    check(r"(?=a)\p{Nope}", r"Unicode property not found: `\p{nope}`");
}

#[test]
fn the_costliest_keyword_is_named_where_no_other_is_known() {
    let schema = json!({"properties": {"x": {"anyOf": [{}], "unevaluatedProperties": false}}});
    assert_eq!(show::costliest(&schema), "/properties/x/unevaluatedProperties");
    assert_eq!(show::costliest(&json!({"type": "object"})), "");
}

#[test]
fn names_of_properties_are_matched_within_a_bound() {
    let schema = json!({"patternProperties": {"a[ab]{900}c": {}}});
    let validator = compile(&schema).unwrap();
    validator.check(&json!({slow_text(1_000): 1})).unwrap();
    let err = validator.check(&json!({slow_text(4_000_000): 1})).unwrap_err();
    assert!(err.to_string().contains("bytes in names of properties"), "{err}");
}

#[test]
fn patterns_that_cannot_be_compiled_are_refused_with_their_place() {
    for pattern in ["(".repeat(100_000), "(?<=a+b".to_owned(), r"(?=a)\p{Nothing}".to_owned()] {
        let err = compile(&json!({"items": {"pattern": pattern}})).unwrap_err();
        assert_eq!((err.pointer.as_str(), err.kind), ("/items/pattern", SchemaErrorKind::Pattern));
    }
}

#[test]
fn many_schemas_of_one_file_are_compiled_within_a_bound() {
    let bad = json!({"pattern": "("});
    let mut checker = SchemaChecker::new();
    assert_eq!(checker.check(&bad).unwrap_err().kind, SchemaErrorKind::Pattern);
    let before = checker.steps_left;
    checker.check(&json!({"enum": vec![0; 10_000]})).unwrap();
    assert!(checker.steps_left < before - 10_000);
    let mut spent = SchemaChecker { steps_left: 0 };
    spent.check(&bad).unwrap();
    let endless = json!({"$ref": "#"});
    assert_eq!(spent.check(&endless).unwrap_err().kind, SchemaErrorKind::Circular);
}

#[test]
fn only_checks_that_may_take_long_leave_the_task() {
    let schema = json!({"properties": {"x": {"pattern": "^[a-z]{1,64}$"}, "text": {}}});
    let validator = compile(&schema).unwrap();
    let text = "x".repeat(100_000);
    assert_eq!(validator.check_quickly(&json!({"x": "abc", "text": text})), Some(Ok(())));
    assert!(validator.check_quickly(&json!({"x": "A"})).is_some_and(|it| it.is_err()));
    assert_eq!(validator.check_quickly(&json!({"x": text})), None);
}

#[test]
fn a_value_is_looked_up_in_a_long_list() {
    let values: Vec<Value> = (0..33_000).map(|it| json!({"k": it})).collect();
    let validator = compile(&json!({"items": {"enum": values}})).unwrap();
    let given: Vec<Value> = (1..=3_000).map(|it| json!({"k": -it})).collect();
    let err = validator.check(&json!(given)).unwrap_err();
    assert_eq!(err.shown[0].pointer, "/0");
}

#[test]
fn a_key_that_a_terminal_would_obey_is_escaped() {
    let key = "k\u{9b}\u{61c}\u{2028}\u{e0041}";
    let schema = json!({
        "properties": {key: {"enum": [[key]]}},
        "additionalProperties": false,
        "dependentRequired": {key: ["a"]},
    });
    let checked = compile(&schema).expect("a schema").check(&json!({key: {key: 1}, "b": 1}));
    let text = checked.expect_err("it breaks the schema").to_string();
    assert!(text.contains(r"k\u{9b}\u{61c}\u{2028}\u{e0041}"), "{text}");
    assert!(!text.contains(['\u{9b}', '\u{61c}', '\u{2028}', '\u{e0041}']), "{text}");

    let schema = json!({"required": ["k\u{1b}[31m\u{202e}x"]});
    let err = compile(&schema).unwrap().check(&json!({})).unwrap_err();
    assert!(err.to_string().starts_with(r"/k\u{1b}[31m\u{202e}x: expected"), "{err}");
    // For programs it is what it is.
    assert_eq!(err.shown[0].pointer, "/k\u{1b}[31m\u{202e}x");
}

/// A tool that takes text which its schema takes long to check.
fn slow() -> (Validated<WithSchema>, Input) {
    let schema = json!({"properties": {"x": {"items": {"pattern": "a[ab]{900}c"}}}});
    let text = json!({"x": vec![slow_text(60_000); 20]}).to_string();
    (validated(WithSchema(schema)).unwrap(), Input::parse(text).unwrap())
}

#[tokio::test]
async fn a_check_counts_against_the_deadline() {
    let (tool, input) = slow();
    let deadline = std::time::Instant::now() + std::time::Duration::from_millis(200);
    let ctx = CallContext::new().with_deadline(deadline);
    let result = tool.execute(&ctx, input).await.unwrap();
    assert!(matches!(result.failure, Some(Failure::TimedOut { .. })), "{result:?}");
    let end = "while its input was checked, at /properties/x/items/pattern of the schema; \
               nothing was started";
    assert!(result.output.starts_with(r#"tool "with-schema" timed out after "#), "{result:?}");
    assert!(result.output.ends_with(end), "{result:?}");
}

#[tokio::test]
async fn a_check_tells_the_time_that_the_caller_gave() {
    let (tool, input) = slow();
    let given = std::time::Duration::from_millis(200);
    let ctx = CallContext::new().with_timeout(given);
    let result = tool.execute(&ctx, input).await.unwrap();
    assert_eq!(result.failure, Some(Failure::TimedOut { after: Some(given) }));
    assert!(result.output.starts_with(r#"tool "with-schema" timed out after 200ms while"#));
}

#[tokio::test]
async fn a_check_ends_when_the_call_is_cancelled() {
    let (tool, input) = slow();
    let ctx = CallContext::new();
    let mut call = tool.execute(&ctx, input);
    // The first look starts the check.
    let waker = std::task::Waker::noop();
    assert!(call.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_pending());
    ctx.cancellation().cancel();
    let result = call.await.unwrap();
    assert_eq!(result.failure, Some(Failure::Cancelled), "{result:?}");
}
