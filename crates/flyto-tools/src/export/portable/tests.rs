//! Which output schemas every client takes.

use expect_test::expect;
use serde_json::json;

use super::*;

#[test]
fn what_programs_and_generators_write_is_portable() {
    for schema in [
        json!({}),
        json!({"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "integer"}}}}),
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Report",
            "type": "object",
            "properties": {
                "count": {"type": "integer", "format": "uint32", "minimum": 0, "default": {"$id": "a"}},
                "state": {"oneOf": [{"const": "open", "description": "Open."}, {"enum": ["closed", null]}]},
                "next": {"anyOf": [{"$ref": "#/$defs/Page"}, {"type": "null"}]},
                "self": {"$ref": "#"},
                "any": true,
                "$id": {"type": ["string", "null"], "pattern": r"^[a-z][\w.-]*$", "x-order": 1},
            },
            "patternProperties": {"^x-": {"maxLength": 3}},
            "additionalProperties": false,
            "required": ["count"],
            "$defs": {"Page": {"type": "object", "if": {"minProperties": 1}, "then": {"not": {"uniqueItems": true}}}},
        }),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {}}, "allOf": [{"$ref": "#/definitions/a"}]}),
        json!({"properties": {
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {}], "minItems": 2},
        }, "unevaluatedProperties": false, "dependentRequired": {"a": ["b"]}}),
        json!({"properties": {"a/b": {"items": {}}, "c": {"$ref": "#/properties/a~1b/items"}}}),
    ] {
        assert_eq!(check_output(&schema), Ok(()), "{schema}");
    }
}

#[track_caller]
fn check_sent_as(schema: Value, expect: Value) {
    assert_eq!(check_output(&schema), Ok(()), "{schema}");
    assert_eq!(*sent(&schema), expect);
}

/// What authors and generators write beside keywords: pydantic's `json_schema_extra`, zod's `meta`, OpenAPI.
#[test]
fn keys_that_are_no_keywords_are_not_sent() {
    check_sent_as(
        json!({
            "$id": "https://example.org/report",
            "internal": true,
            "id": "report",
            "$async": true,
            "x-order": 1,
            "x-part": {"$anchor": "1 2"},
            "properties": {
                "units": {"type": "number", "units": "m", "formatMinimum": 1, "nullable": true},
                "examples": {"examples": [{"$id": "a"}], "title": "T"},
            },
            "default": {"units": {"$id": "a"}},
            "anyOf": [{"required": ["units"], "errorMessage": {"required": "no"}}],
            "$defs": {"internal": {"internal": true}},
        }),
        json!({
            "x-order": 1,
            "properties": {"units": {"type": "number"}, "examples": {"title": "T"}},
            "default": {"units": {"$id": "a"}},
            "anyOf": [{"required": ["units"]}],
            "$defs": {"internal": {}},
        }),
    );
    let plain = json!({"properties": {"a": {"items": {"title": "A"}}}});
    assert!(matches!(sent(&plain), Cow::Borrowed(_)));
}

/// As zod and schemars write them.
#[test]
fn tuples_are_sent_as_prefix_items_alone() {
    let draft_7 = "http://json-schema.org/draft-07/schema#";
    check_sent_as(
        json!({"$schema": draft_7, "definitions": {
            "pair": {"type": "array", "items": [{"type": "string", "hint": 1}, {}], "minItems": 2, "maxItems": 2},
            "closed": {"items": [{}, {}], "additionalItems": false},
            "shorter": {"items": [{}, {}], "additionalItems": false, "maxItems": 1},
            "longer": {"items": [{}, {}], "additionalItems": false, "maxItems": 5},
            "open": {"items": [{"properties": {"items": {"items": [{}]}}}], "additionalItems": {"type": "string"}},
            "list": {"items": {}, "additionalItems": false},
            "first": {"$ref": "#/definitions/pair/items/0"},
            "deep": {"$ref": "#/definitions/open/items/0/properties/items/items/0"},
        }}),
        json!({"$schema": draft_7, "definitions": {
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {}], "minItems": 2, "maxItems": 2},
            "closed": {"prefixItems": [{}, {}], "maxItems": 2},
            "shorter": {"prefixItems": [{}, {}], "maxItems": 1},
            "longer": {"prefixItems": [{}, {}], "maxItems": 2},
            "open": {"prefixItems": [{"properties": {"items": {"prefixItems": [{}]}}}]},
            "list": {"items": {}},
            "first": {"$ref": "#/definitions/pair/prefixItems/0"},
            "deep": {"$ref": "#/definitions/open/prefixItems/0/properties/items/prefixItems/0"},
        }}),
    );
    let text = json!({"type": "string"});
    check_sent_as(
        json!({"properties": {
            "closed": {"prefixItems": [{}, {}], "items": false},
            "open": {"prefixItems": [text], "items": {"type": "number"}, "maxItems": 3},
            "list": {"items": false},
            "first": {"$ref": "#/properties/open/prefixItems/0"},
        }}),
        json!({"properties": {
            "closed": {"prefixItems": [{}, {}], "maxItems": 2},
            "open": {"prefixItems": [text], "maxItems": 3},
            "list": {"items": false},
            "first": {"$ref": "#/properties/open/prefixItems/0"},
        }}),
    );
    // Where a part that takes more has the whole take less, and in a dialect without such tuples.
    for (schema, at) in [
        (
            json!({"prefixItems": [{}], "items": {}, "allOf": [{"unevaluatedItems": false}]}),
            "/items",
        ),
        (json!({"prefixItems": [{}], "items": {}, "not": {}}), "/prefixItems"),
        (
            json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "items": [{}]}),
            "/items",
        ),
        (json!({"$schema": draft_7, "not": {"items": [{}]}}), "/not/prefixItems"),
        (json!({"$schema": draft_7, "items": []}), "/items"),
        (json!({"$schema": draft_7, "items": [{"pattern": "(?i)a"}]}), "/prefixItems/0/pattern"),
        (json!({"items": [{}]}), "/items"),
        (json!({"$ref": "#/a", "a": {}}), "/$ref"),
    ] {
        assert_eq!(check_output(&schema).unwrap_err().pointer, at, "{schema}");
    }
}

/// Each of these ends the list of one client at least, or has it refuse a result that fits.
#[test]
fn anything_else_is_told_with_its_place() {
    let inverted =
        |part| json!({"properties": {"a": part, "b": {"oneOf": [{}, {"$ref": "#/properties/a"}]}}});
    let verdicts: Vec<_> = [
        json!({"properties": {"a": {"pattern": "^(?i)abc$"}}}),
        json!({"properties": {"a/b": {"items": {"patternProperties": {"(?P<n>a)": {}}}}}}),
        json!({"properties": {"a": {"anyOf": [{}, {"enum": []}]}}}),
        json!({"properties": {"a": {"minimum": 1, "exclusiveMinimum": true}}}),
        json!({"properties": {"a": {"items": [{}]}}}),
        json!({"properties": {"a": {"prefixItems": [], "items": {"type": "string"}}}}),
        json!({"properties": {"a": {"contains": {}, "minContains": 0}}}),
        json!({"properties": {"a": {"type": "text"}}}),
        json!({"properties": {"a": {"type": []}}}),
        json!({"properties": {"a": null}}),
        json!({"properties": []}),
        json!({"required": true}),
        json!({"$defs": {"a": {"$id": "https://example.org/a"}}}),
        json!({"$defs": {"a": {"$anchor": "1 2"}}}),
        json!({"$ref": "#/x-a", "x-a": {}}),
        json!({"$ref": "#/$defs/b", "$defs": {"a": {}}}),
        json!({"$ref": "https://example.org/a"}),
        json!({"$schema": "http://json-schema.org/draft-04/schema#"}),
        json!({"dependencies": {"a": ["b"]}}),
        json!({"format": 1}),
        inverted(json!({"dependentRequired": {"a": ["b"]}})),
        json!({"then": 1}),
    ]
    .iter()
    .map(|it| check_output(it).expect_err(&it.to_string()).to_string())
    .collect();
    expect![[r#"
        at /properties/a/pattern: the pattern is not read alike in JavaScript and in Python
        at /properties/a~1b/items/patternProperties/(?P<n>a): the pattern is not read alike in JavaScript and in Python
        at /properties/a/anyOf/1/enum: not every validator of JSON Schema takes this value
        at /properties/a/exclusiveMinimum: not every validator of JSON Schema takes this value
        at /properties/a/items: not every validator of JSON Schema takes this value
        at /properties/a/prefixItems: not every validator of JSON Schema takes this value
        at /properties/a/minContains: not every validator of JSON Schema reads this keyword alike
        at /properties/a/type: not every validator of JSON Schema takes this value
        at /properties/a/type: not every validator of JSON Schema takes this value
        at /properties/a: not every validator of JSON Schema takes this value
        at /properties: not every validator of JSON Schema takes this value
        at /required: not every validator of JSON Schema takes this value
        at /$defs/a/$id: not every validator of JSON Schema reads this keyword alike
        at /$defs/a/$anchor: not every validator of JSON Schema reads this keyword alike
        at /$ref: the reference is no pointer to a schema in the same document
        at /$ref: the reference is no pointer to a schema in the same document
        at /$ref: the reference is no pointer to a schema in the same document
        at /$schema: clients know the drafts 6, 7, 2019-09 and 2020-12 only
        at /dependencies: not every validator of JSON Schema reads this keyword alike
        at /format: not every validator of JSON Schema takes this value
        at /properties/a/dependentRequired: not every validator of JSON Schema reads this keyword alike
        at /then: not every validator of JSON Schema takes this value"#]].assert_eq(&verdicts.join("\n"));
}

#[test]
fn patterns_of_both_languages_are_portable() {
    for pattern in [
        "",
        "^$",
        "^[a-z0-9-]+$",
        r"^\d{4}-\d{2}-\d{2}(T[\d:.]+Z?)?$",
        r"^(?:https?://)?[\w.-]+(:\d+)?(/.*)?$",
        r"(?=.*\d)(?!.*\s).{8,}?",
        r"^[^\s@]+@[^\s@]+$",
        r"\^\$\\\.\*\+\?\(\)\[\]\{\}\|\/",
        r"[\b\-\]\\^$.*+?()\[{}|/]",
        r"\u00e4[ä-ü]\x41\0",
        "[a-z-9]|[-a]|[--a]|[a-]",
        r"\bа+\B",
    ] {
        assert!(pattern::is_portable(pattern), "{pattern}");
    }
    for pattern in [
        "^(?i)abc$",
        "(?i:a)",
        "(?P<n>a)",
        "(?<n>a)",
        "(?<=a)b",
        r"\_",
        r"a\-b",
        r"\A[[:alpha:]]+\z",
        r"\p{L}",
        r"(a)\1",
        r"\cA",
        r"\u{41}",
        r"\ud83d",
        r"\x4",
        r"\u00ä",
        r"\01",
        "[]",
        "[^]",
        "[z-a]",
        r"[\d-z]",
        r"[a-\d]",
        r"[\B]",
        "[a",
        "(",
        ")",
        "a{2",
        "a{,2}",
        "a{3,2}",
        "a{999999}",
        "{",
        "}",
        "]",
        "*",
        "^*",
        "(?=a)*",
        r"\b+",
        "a**",
        "a*+",
        "a???",
        "(?",
        "(?#a)",
        "\\",
    ] {
        assert!(!pattern::is_portable(pattern), "{pattern}");
    }
    let nested = |depth| "(".repeat(depth) + &")".repeat(depth);
    assert!(pattern::is_portable(&nested(64)));
    assert!(!pattern::is_portable(&nested(65)));
}

/// More of either ends the list of the TypeScript SDK 1.x with "Maximum call stack size exceeded".
#[test]
fn what_a_validator_has_no_stack_for_is_not_portable() {
    let chain = |n: usize| {
        let next =
            |at: usize| json!({"properties": {"n": {"$ref": format!("#/$defs/d{}", at + 1)}}});
        let defs: Map<String, Value> = (0..n).map(|at| (format!("d{at}"), next(at))).collect();
        let mut schema = json!({"properties": {}, "$defs": defs});
        schema["$defs"][format!("d{n}")] = json!({});
        schema
    };
    let list =
        |n: usize| json!({"anyOf": (0..n).map(|it| json!({"const": it})).collect::<Vec<_>>()});
    for (fits, is_too_much) in [(chain(128), chain(129)), (list(512), list(513))] {
        assert_eq!(check_output(&fits), Ok(()));
        let why = check_output(&is_too_much).unwrap_err().why;
        assert_eq!(why, UnportableKind::Size);
    }
}
