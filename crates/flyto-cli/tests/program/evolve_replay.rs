//! Recorded calls, and other versions that run over them.

use std::io::ErrorKind;
use std::net::TcpListener;

use expect_test::expect;
use serde_json::json;

use crate::evolve::definition;
use crate::place::Place;

/// Counts words; a line that holds nothing has none.
const COUNT: &str = "wc -w <<< \"$TOOL_INPUT_TEXT\" | tr -d ' '\n";
/// Counts the spaces instead.
const OTHER: &str = "grep -o ' ' <<< \"$TOOL_INPUT_TEXT \" | wc -l | tr -d ' '\n";

/// A place whose user has calls recorded.
fn recording() -> Place {
    let place = Place::new();
    place.write("home/.config/flyto/config.json", r#"{"evolve": {"record_calls": true}}"#);
    place
}

/// The lines of a replay without times, which differ.
fn plain(text: &str) -> String {
    let lines = text.lines().map(|it| match it.split_once("Z, version ") {
        Some((_, rest)) => format!("version {rest}\n"),
        None => format!("{it}\n"),
    });
    lines.collect()
}

#[test]
fn no_call_is_recorded_unless_the_user_says_so() {
    let place = Place::new();
    place.approved(&definition("count", COUNT), &[]);
    assert_eq!(place.output(&["count", "text=a b"]), "2\n");
    assert!(!place.exists("tools/calls"));
    let ran = place.evolve(&["replay", "count", "--version", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(ran.stdout().starts_with("version 1 over 0 recorded calls"), "{}", ran.shown());
    assert!(ran.stderr().contains(r#"`"evolve": {"record_calls": true}`"#), "{}", ran.shown());
    // A project has no say in it.
    place.write(".flyto/config.json", r#"{"evolve": {"record_calls": true}}"#);
    assert_eq!(place.output(&["count", "text=a b"]), "2\n");
    assert!(!place.exists("tools/calls"));
}

#[test]
fn a_version_is_replayed_before_it_is_approved_and_after() {
    let place = recording();
    place.approved(&definition("count", COUNT), &[]);
    for text in ["text=one", "text=a b  c", "text="] {
        place.output(&["count", text]);
    }
    let id = place.staged(&definition("count", OTHER), &["--base", "1"]);
    let review = place.evolve(&["show", &id]).stdout();
    assert!(review.contains("note: recorded calls are run when it is approved\n"), "{review}");
    assert!(!review.contains("recorded calls: "), "{review}");
    let review = place.evolve(&["show", &id, "--run"]).stdout();
    assert!(review.contains("the proposal over 3 recorded calls: "), "{review}");
    assert_eq!(place.told(&["approve", "--yes", &id])["version"], 2);
    let ran = place.evolve(&["replay", "count", "--version", "2"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    if !cfg!(target_os = "linux") {
        // Nothing confines a script here, so none runs.
        assert_eq!(ran.stdout().matches("nothing confines them here").count(), 3);
        return;
    }
    expect![[r#"
        version 2 over 3 recorded calls: 1 equal, 2 different, 0 not reproduced
        version 1, {"text":"one"}: equal
        version 1, {"text":"a b  c"}: different
          /output: "3\n" -> "4\n"
        version 1, {"text":""}: different
          /output: "0\n" -> "1\n"
        compared is what each call delivers, and nothing else that it does
    "#]]
    .assert_eq(&plain(&ran.stdout()));
    assert!(review.contains("1 equal, 2 different, 0 not reproduced"), "{review}");
    let told = place.told(&["replay", "count", "--version", "1", "--calls", "2"]);
    let counts = json!({"n_equal": 2, "n_different": 0, "n_not_reproduced": 0});
    assert_eq!((&told["version"], &told["counts"]), (&json!(1), &counts), "{told}");
    for (words, code) in [
        (&["--version", "9"][..], 4),
        (&["--version", "1", "--calls", "0"], 2),
        (&["--version", "1", "--calls", "101"], 2),
    ] {
        let ran = place.evolve(&[&["replay", "count"], words].concat());
        assert_eq!(ran.code, Some(code), "{}", ran.shown());
    }

    // A rollback says what the earlier text makes of the same calls.
    let told = place.told(&["rollback", "count", "1"]);
    assert_eq!((&told["status"], &told["version"]), (&json!("saved"), &json!(3)), "{told}");
    assert_eq!(told["replay"]["calls"].as_array().unwrap().len(), 3, "{told}");
    // It is told before anything changes, and can be had without the change.
    let head = "version 2 over 3 recorded calls: 1 equal, 2 different, 0 not reproduced\n";
    let ran = place.evolve(&["rollback", "count", "2", "--dry-run"]);
    assert!(plain(&ran.stdout()).starts_with(head), "{}", ran.shown());
    assert!(ran.stderr().ends_with("nothing was changed\n"), "{}", ran.shown());
    let told = place.told(&["rollback", "count", "2", "--dry-run"]);
    assert_eq!((&told["status"], &told["version"]), (&json!("compared"), &json!(2)), "{told}");
    assert_eq!(place.told(&["history", "count"])["versions"].as_array().unwrap().len(), 3);
    let ran = place.evolve(&["rollback", "count", "2"]);
    let told = plain(&ran.stdout());
    assert!(told.starts_with(head), "{}", ran.shown());
    assert!(told.ends_with("count is at version 4, with the text of 2\n"), "{}", ran.shown());
}

#[test]
fn recorded_calls_are_forgotten_by_name() {
    let place = recording();
    place.approved(&definition("count", COUNT), &[]);
    place.approved(&definition("other", OTHER), &[]);
    for words in [["count", "text=a"], ["count", "text=b c"], ["other", "text=d"]] {
        place.output(&words);
    }
    assert_eq!(place.told(&["forget", "count"]), json!({"name": "count", "calls": 2}));
    let left = |name| place.told(&["replay", name])["calls"].as_array().map(Vec::len);
    assert_eq!((left("count"), left("other")), (Some(0), Some(1)));
    let ran = place.evolve(&["forget", "other"]);
    assert_eq!(ran.stdout(), "1 recorded call of other is removed\n", "{}", ran.shown());
    let ran = place.evolve(&["forget", "other"]);
    assert_eq!(ran.stdout(), "0 recorded calls of other are removed\n", "{}", ran.shown());
    // No tool of that name was ever there; a name that leads out of the store is refused.
    assert_eq!(place.evolve(&["forget", "missing"]).code, Some(4));
    assert_ne!(place.evolve(&["forget", "../tools"]).code, Some(0));
}

#[test]
fn a_replay_reaches_neither_files_nor_the_network() {
    let place = recording();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let mark = place.path().join("mark");
    let script = format!(
        "echo x >>'{}'\nexec 3<>/dev/tcp/127.0.0.1/{port} && echo reached\n",
        mark.display()
    );
    place.approved(&definition("reach", &script), &[]);
    assert_eq!(place.output(&["reach", "text=x"]), "reached\n");
    assert!(listener.accept().is_ok());
    let ran = place.evolve(&["replay", "reach", "--version", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(ran.stdout().contains("0 equal, 0 different, 1 not reproduced"), "{}", ran.shown());
    assert!(ran.stdout().contains("could not be reproduced: "), "{}", ran.shown());
    assert_eq!(std::fs::read_to_string(mark).unwrap(), "x\n");
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn a_rollback_from_a_version_that_fails_says_how_often() {
    let place = recording();
    place.approved(&definition("t", "echo \"$TOOL_INPUT_TEXT\"\n"), &[]);
    for _ in 0..5 {
        place.output(&["t", "text=good"]);
    }
    let fails = "echo \"$TOOL_INPUT_TEXT\"; [[ $TOOL_INPUT_TEXT == good ]]\n";
    place.approved(&definition("t", fails), &["--base", "1"]);
    for (text, code) in [("good", 0), ("bad", 1), ("good", 0), ("bad", 1), ("good", 0)] {
        let ran = place.evolving(&["call", "t", &format!("text={text}")]).run();
        assert_eq!(ran.code, Some(code), "{}", ran.shown());
    }
    let told = place.evolve(&["rollback", "t", "1"]).stdout();
    assert!(told.contains("t version 2: 2 of 5 calls failed\n"), "{told}");
    assert!(told.contains("t version 1: 0 of 5 calls failed\n"), "{told}");
    assert!(told.contains("version 1 over 10 recorded calls: "), "{told}");
}
