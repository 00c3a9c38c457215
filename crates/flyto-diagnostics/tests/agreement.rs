//! The parser against `serde_json`, and values against the text they were read from.

use flyto_diagnostics::json::{self, Node, Value};
use flyto_diagnostics::{At, Pointer, Source};
use proptest::prelude::*;

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        any::<u64>().prop_map(serde_json::Value::from),
        any::<f64>().prop_map(serde_json::Value::from),
        any::<String>().prop_map(serde_json::Value::from),
        "[ -~\\\\\"\u{0}-\u{20}\u{D7FF}-\u{10FFFF}]{0,8}".prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        let members = proptest::collection::vec((any::<String>(), inner.clone()), 0..6);
        prop_oneof![
            proptest::collection::vec(inner, 0..6).prop_map(serde_json::Value::from),
            members.prop_map(|it| serde_json::Value::Object(it.into_iter().collect())),
        ]
    })
}

/// Text that is nearly JSON: its pieces in any order.
fn nearly_json() -> impl Strategy<Value = String> {
    let pieces = &[
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\"a\"",
        "\"\\u00e9\"",
        "\\ud83e\\udd80",
        "\\ud83e",
        "0",
        "1",
        "-",
        "+",
        ".",
        "e",
        "E",
        "12",
        "1.5",
        "-0",
        "00",
        "1e400",
        "1e-400",
        "true",
        "false",
        "null",
        "t",
        "n",
        "nul",
        "u",
        " ",
        "\n",
        "\r",
        "\t",
        "/",
        "#",
        "\u{c}",
        "\u{a0}",
        "ü",
        "'",
        "\u{7f}",
        "\0",
    ];
    proptest::collection::vec(proptest::sample::select(pieces), 0..12).prop_map(|it| it.concat())
}

/// A real document with bytes changed, as an editor or a merge leaves it.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    const DOCUMENT: &str = r#"{
  "name": "csv", "version": "1.2.0", "n": [0, -1.5e+3, 12345678901234567890],
  "tools": [
    {"name": "sum", "args": ["-c", "caf\u00e9 \ud83e\udd80 \"{{x}}\"\n", "ü字"], "stream": true},
    {"name": "none", "input_schema": {"type": "object", "properties": {}}, "undo": null}
  ]
}
"#;
    const PIECES: &[&str] = &[
        "", "\"", "\\", "{", "}", "[", "]", ",", ":", "null", "tru", "0", "-", "e9", ".5", "1e999",
        "\\ud800", "\\u0000", "//", "/*", "\n", "\0", "\u{feff}", "ü", "'", "\"a\":",
    ];
    let bytes = prop_oneof![
        4 => proptest::sample::select(PIECES).prop_map(|it| it.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..3),
    ];
    let change = (any::<proptest::sample::Index>(), 0usize..8, bytes);
    proptest::collection::vec(change, 1..4).prop_map(|changes| {
        let mut res = DOCUMENT.as_bytes().to_vec();
        for (at, n_bytes, new) in changes {
            let at = at.index(res.len() + 1);
            let end = res.len().min(at + n_bytes);
            res.splice(at..end, new);
        }
        res
    })
}

/// Both accept or both refuse, and what is accepted is the same.
fn agrees(text: &str) -> Result<(), TestCaseError> {
    let source = Source::new("f", text);
    let ours = json::parse(&source);
    let theirs = serde_json::from_str::<serde_json::Value>(text);
    prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?} {:?}", &ours, &theirs);
    if let (Ok(ours), Ok(theirs)) = (ours, theirs) {
        let ours = ours.to_json();
        prop_assert_eq!(ours.to_string(), theirs.to_string());
        prop_assert_eq!(ours, theirs);
    }
    Ok(())
}

/// Every value's span holds exactly that value, and its pointer leads back to it.
fn spans_hold(source: &Source, root: &Value<'_>, value: &Value<'_>) {
    let at = root.pointer_to(value.span);
    assert_eq!(root.get_pointer(at.as_str()), Some(value));
    let text = source.slice(value.span).expect("spans lie on character boundaries");
    let alone = Source::new("f", text);
    let again = json::parse(&alone).expect("the text of a value is a document");
    assert_eq!(again.to_json(), value.to_json());
    assert_eq!(value.clone().into_owned(), *value);
    match &value.node {
        Node::Number(number) => assert_eq!(&**number, text),
        Node::Array(items) => items.iter().for_each(|item| spans_hold(source, root, item)),
        Node::Object(members) => {
            for (at, member) in members.iter().enumerate() {
                let key = source.slice(member.key.span).expect("keys have spans as well");
                let key: String = serde_json::from_str(key).expect("a key is a string");
                assert_eq!(key, member.key.value);
                // A pointer leads to the last of equal keys.
                if members[at + 1..].iter().all(|it| it.key.value != key) {
                    spans_hold(source, root, &member.value);
                }
            }
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn any_json_is_read_as_serde_json_reads_it(json in any_json(), pretty in any::<bool>()) {
        let text = if pretty { format!("{json:#}") } else { json.to_string() };
        agrees(&text)?;
        let source = Source::new("f", text);
        let value = json::parse(&source).expect("agreed");
        spans_hold(&source, &value, &value);
    }

    #[test]
    fn any_bytes_are_judged_alike(bytes in proptest::collection::vec(any::<u8>(), 0..12)) {
        if let Ok(text) = String::from_utf8(bytes) {
            agrees(&text)?;
        }
    }

    #[test]
    fn real_documents_that_were_changed_are_judged_alike(bytes in mutated()) {
        let text = String::from_utf8(bytes.clone());
        let source = match (Source::from_bytes("f", bytes), text) {
            (Ok(source), Ok(text)) => {
                prop_assert_eq!(source.text(), text);
                source
            }
            (Err(diag), Err(err)) => {
                let start = diag.location.span().map(|it| it.range().start);
                prop_assert_eq!(start, Some(err.utf8_error().valid_up_to()));
                return Ok(());
            }
            (ours, theirs) => return Err(TestCaseError::fail(format!("{ours:?} {theirs:?}"))),
        };
        agrees(source.text())?;
        match json::parse(&source) {
            Ok(value) => spans_hold(&source, &value, &value),
            Err(diag) => prop_assert!(
                diag.location.span().is_some_and(|it| source.slice(it).is_some()), "{diag:?}"
            ),
        }
    }

    #[test]
    fn nearly_json_is_judged_alike(text in nearly_json()) {
        agrees(&text)?;
    }

    #[test]
    fn every_finding_can_be_drawn(text in nearly_json()) {
        let source = Source::new("f", text.as_str());
        let Err(diag) = json::parse(&source) else { return Ok(()) };
        let spans = diag.related.iter().filter_map(|related| related.location.span());
        let spans = spans.chain(diag.location.span()).chain(diag.suggestion.iter().map(|it| it.span));
        for span in spans {
            prop_assert!(source.slice(span).is_some(), "{diag:?}");
        }
        prop_assert!(!diag.to_string().contains(char::is_control));
    }

    #[test]
    fn following_suggestions_comes_to_an_end(text in nearly_json()) {
        let mut text = text;
        // Each suggestion mends one place, and there are at most a few in a text this short.
        for _ in 0..200 {
            let source = Source::new("f", text.as_str());
            let Err(diag) = json::parse(&source) else { return Ok(()) };
            let Some(suggestion) = &diag.suggestion else { return Ok(()) };
            text.replace_range(suggestion.span.range(), &suggestion.replacement);
            prop_assert_ne!(source.text(), &text);
        }
        prop_assert!(false, "suggestions go round in circles: {text:?}");
    }
}

#[test]
fn numbers_keep_their_text() {
    let source = Source::new("f", "[1.50, 123456789012345678901234567890, -0, 1E+2]");
    let value = json::parse(&source).unwrap();
    let texts: Vec<_> = value.as_array().unwrap().iter().map(|it| &it.node).collect();
    for (node, text) in
        texts.into_iter().zip(["1.50", "123456789012345678901234567890", "-0", "1E+2"])
    {
        assert_eq!(node, &Node::Number(text.into()));
    }
    assert_eq!(value.to_json().to_string(), "[1.5,1.2345678901234568e+29,-0.0,100.0]");
}

#[test]
fn the_last_of_two_equal_keys_stays() {
    let source = Source::new("f", r#"{"a": 1, "b": 2, "\u0061": 3}"#);
    let value = json::parse(&source).unwrap();
    assert_eq!(value.as_object().unwrap().len(), 3);
    assert_eq!(value.to_json().to_string(), r#"{"a":3,"b":2}"#);
    assert_eq!(value.get("a").unwrap().to_json(), 3);
    // A pointer is to a place, so either value leads to the same one.
    let first = value.as_object().unwrap()[0].value.span;
    assert_eq!(value.pointer_to(first).as_str(), "/a");
}

#[test]
fn pointers_lead_into_the_text() {
    let source = Source::new("f", r#"{"a": [{"b/c": 1}, 2], "": {"~": 3}, "0": 4}"#);
    let value = json::parse(&source).unwrap();
    let at = At::root(&source, &value);
    for (pointer, text) in [
        ("", source.text()),
        ("/a/0", r#"{"b/c": 1}"#),
        ("/a/0/b~1c", "1"),
        ("/a/1", "2"),
        ("//~0", "3"),
        ("/0", "4"),
    ] {
        let found = at.at_pointer(pointer).expect(pointer);
        assert_eq!(source.slice(found.span()), Some(text), "{pointer}");
        assert_eq!(found.pointer(), Pointer::parse(pointer).unwrap());
    }
    for pointer in ["a", "/b", "/a/2", "/a/01", "/a/-", "/a/0/b/c", "/0/0", "/~"] {
        assert!(at.at_pointer(pointer).is_none(), "{pointer}");
    }
}
