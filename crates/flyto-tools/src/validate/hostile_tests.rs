//! Schemas and values from somebody who wishes no good.

use serde_json::{Map, json};

use super::*;

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
        (json!({"pattern": "((a{1000}){1000}){1000}"}), SchemaErrorKind::Pattern),
    ] {
        assert_eq!(compile(&schema).map_err(|err| err.kind).err(), Some(kind));
    }
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

#[test]
fn a_key_that_a_terminal_would_obey_is_escaped() {
    let schema = json!({"required": ["k\u{1b}[31m\u{202e}x"]});
    let err = compile(&schema).unwrap().check(&json!({})).unwrap_err();
    assert!(err.to_string().starts_with(r"/k\u{1b}[31m\u{202e}x: expected"), "{err}");
    // For programs it is what it is.
    assert_eq!(err.shown[0].pointer, "/k\u{1b}[31m\u{202e}x");
}
