//! What holds for every text, however broken.

use flyto_security::{DefaultGuard, SecretGuard, redact, redact_bytes};
use proptest::prelude::*;

/// Pieces of what the scan looks for, and of what it gets wrong most easily.
const PIECES: &[&str] = &[
    "password",
    "=",
    ": ",
    "\"",
    "'",
    "\\\"",
    "\\",
    "\n",
    " ",
    "--token ",
    "https://",
    "user:",
    "@",
    "/",
    "curl -u ",
    "$A",
    "${A}",
    "${A:-",
    "}",
    "A=",
    "+=",
    "' + '",
    "%41",
    "%",
    "\\u0041",
    "\\x4",
    "-----BEGIN",
    " PRIVATE KEY-----",
    "-----END",
    "eyJ",
    ".eyJ",
    "sk-",
    "AKIA",
    "T3BlbkFJ",
    "a1B2c3D4e5F6g7H8",
    "QUtJQQ==",
    "414b4941",
    "Bearer ",
    "Basic ",
    "echo ",
    " | x --password-stdin",
    "rev ",
    "value=",
    "ä",
    "…",
    "(",
    "<",
    ">",
    "identified by",
    "machine a login b ",
    "hooks.slack.com/",
    "\0",
    "key",
    "=====",
    "Q~",
    ":A",
    "-us1",
];

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => proptest::sample::select(PIECES).prop_map(str::to_owned),
        1 => "[A-Za-z0-9+/_-]{1,60}",
        1 => any::<String>(),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|it| it.concat())
}

proptest! {
    #[test]
    fn spans_lie_in_the_text_and_in_order(text in text()) {
        let guard = DefaultGuard::builder().known_values([("X", "a1B2c3D4e5F6g7H8")]).build();
        let found = guard.scan("any", text.as_bytes()).expect("the text is short");
        for it in &found {
            prop_assert!(text.get(it.span.clone()).is_some_and(|it| !it.is_empty()), "{it:?}");
            prop_assert_eq!(it.line, 1 + text[..it.span.start].matches('\n').count());
        }
        prop_assert!(found.is_sorted_by_key(|it| it.span.start));
        prop_assert_eq!(redact_bytes(text.as_bytes(), &found), redact(&text, &found).into_bytes());
    }

    #[test]
    fn a_redacted_text_holds_no_known_value(text in text()) {
        let guard = DefaultGuard::builder().known_values([("X", "a1B2c3D4e5F6g7H8")]).build();
        let found = guard.scan("any", text.as_bytes()).expect("the text is short");
        prop_assert!(!redact(&text, &found).contains("a1B2c3D4e5F6g7H8"));
    }

    #[test]
    fn any_bytes_are_scanned(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let found = DefaultGuard::default().scan("any", &bytes).expect("the content is short");
        prop_assert!(found.iter().all(|it| it.span.start < it.span.end && it.span.end <= bytes.len()));
    }

    #[test]
    fn any_rules_are_read_or_refused(text in "(\\[\\[rules\\]\\]\nid = \"a\"\nregex = '[a-z(){}\\[\\]\\\\|*+?.0-9]{0,20}'\n)?[a-z\\[\\]= \"]{0,20}") {
        if let Ok(builder) = DefaultGuard::builder().gitleaks_toml(&text) {
            let found = builder.build().scan("any", b"some text {1} a(b)");
            prop_assert!(found.is_ok());
        }
    }
}

/// A known value counts up to its 1,024th byte, here within a character.
#[test]
fn a_value_that_is_cut_ends_behind_a_character() {
    let value = format!("a1B2c3D{}", "\u{e9}".repeat(600));
    let guard = DefaultGuard::builder().known_values([("X", &value)]).build();
    let text = format!("x {value} y");
    let found = guard.scan("any", text.as_bytes()).expect("the text is short");
    assert_eq!(found[0].span, 2..2 + 1025);
    assert!(text.get(found[0].span.clone()).is_some());
    // What is no UTF-8 has spans as well.
    let bytes = [&b"\xbf\xbf"[..], value.as_bytes(), b"\xbf\xbf"].concat();
    let found = guard.scan("any", &bytes).expect("the content is short");
    assert!(found[0].span.end <= bytes.len());
    let redacted = redact_bytes(&bytes, &found);
    assert!(!redacted.windows(7).any(|it| it == b"a1B2c3D"));
}
