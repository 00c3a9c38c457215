//! How much is read, and how much is shown.

use expect_test::expect;
use flyto_diagnostics::{Source, json};

use super::check;

#[test]
fn long_text_is_cut_in_messages() {
    check(
        &format!("[{}]", "x".repeat(100)),
        expect![[r#"
        f:1:2: error[F0008]: the string "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…" has no double quotes
        help: put strings between double quotes
        suggested: "[\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"]" -> JSON
    "#]],
    );
}

#[test]
fn nesting_has_a_limit() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    json::parse(&Source::new("f", nested(json::MAX_DEPTH))).expect("as deep as it may be");
    let source = Source::new("f", nested(json::MAX_DEPTH + 1));
    let diag = json::parse(&source).unwrap_err();
    expect!["f:1:129: error[F0014]: arrays and objects are nested more than 128 deep"]
        .assert_eq(&diag.to_string());
    // A quarter of the stack that threads get by default (std::thread, "Stack size").
    let objects = "{\"a\":".repeat(json::MAX_DEPTH) + "1" + &"}".repeat(json::MAX_DEPTH);
    let small = std::thread::Builder::new().stack_size(512 * 1024);
    let thread = small.spawn(move || json::parse(&Source::new("f", objects)).unwrap().to_json());
    assert!(thread.unwrap().join().unwrap().is_object());
}

#[test]
fn values_have_a_limit() {
    let many = |n: usize| format!("[{}0]", "0,".repeat(n - 2));
    json::parse(&Source::new("f", many(json::MAX_VALUES))).expect("as many as there may be");
    let diag = json::parse(&Source::new("f", many(json::MAX_VALUES + 1))).unwrap_err();
    expect!["f:1:2000000: error[F0014]: there are more than 1000000 values"]
        .assert_eq(&diag.to_string());
}
