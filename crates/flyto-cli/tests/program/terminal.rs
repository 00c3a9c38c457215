//! What acts on a terminal does not leave through any text.

use std::io::Read as _;
use std::process::Stdio;

use crate::live::terminal;
use crate::place::{Place, Ran};

/// A control character of each kind, marks that reorder or hide text, separators and a tag.
const ACTS: [char; 19] = [
    '\u{1}',
    '\u{7}',
    '\u{8}',
    '\u{1b}',
    '\u{7f}',
    '\u{80}',
    '\u{85}',
    '\u{9b}',
    '\u{9d}',
    '\u{61c}',
    '\u{200b}',
    '\u{200e}',
    '\u{202e}',
    '\u{2028}',
    '\u{2029}',
    '\u{2066}',
    '\u{2069}',
    '\u{feff}',
    '\u{e0041}',
];

/// All of them in one text, with a sequence that sets a colour and one that erases the screen.
pub(crate) fn hostile() -> String {
    ACTS.iter().collect::<String>() + "\u{1b}[45m\u{1b}[2J"
}

/// A plugin with them in every text that a manifest has.
fn place() -> Place {
    let place = Place::new();
    let text = serde_json::Value::from(hostile());
    let key = &text;
    let manifest = format!(
        r#"{{"name": "p", "description": {text}, {key}: 1, "tools": [
            {{"name": "t", "title": {text}, "description": {text}, "command": "printf x",
              "parameters": {{"type": "object", "additionalProperties": false,
                "properties": {{{key}: {{"type": "string", "description": {text}}},
                  "n": {{"enum": [{text}, [{text}], {{{key}: 1}}]}}}}}}}},
            {{"name": "lines", "description": "d", "command": "printf", "args": ["%s\\n", {text}],
              "stream": true}},
            {{"name": "fails", "description": "d", "command": "sh", "args": ["-c", "echo {more} >&2; exit 3"]}},
            {{"name": {text}, "description": 3}}]}}"#,
        more = "\\\"\\u202e\\u009b2J\\\"",
    );
    // What a file has raw, not escaped.
    let manifest = manifest.replacen("\\u202e", "\u{202e}\u{9b}", 1);
    place.write("plugins/p/plugin.json", &manifest);
    place
}

/// The ways to each text: the words behind `--plugins plugins`.
fn ways() -> Vec<Vec<String>> {
    let acts = hostile();
    let key = format!("{acts}=1");
    let pair = format!("n={acts}");
    let ways: &[&[&str]] = &[
        &["list"],
        &["list", "--problems"],
        &["list", &acts],
        &["show", "p:t"],
        &["show", &acts],
        &["validate", "plugins/p"],
        &["validate", &acts],
        &["call", "p:t", &pair],
        &["call", "p:t", &key],
        &["call", "p:t", "n:=[1"],
        &["call", "p:t", "--json", &acts],
        &["call", "p:t", &acts],
        &["call", "p:t", &pair, "--dry-run"],
        &["call", "p:t", "--dry-run"],
        &["call", "p:t", "--verbose", "--quiet"],
        &["call", &acts],
        &["explain", &acts],
        &["trust", &acts],
        &["--config", &acts, "list"],
        &[&acts],
        &["list", "--timeout", &acts],
        &["schema", &acts],
        &["call", "p:t", "--timeout", &acts],
        &["new", "plugin", &acts, "--lang", "sh"],
    ];
    ways.iter().map(|it| it.iter().map(ToString::to_string).collect()).collect()
}

#[track_caller]
pub(crate) fn check_clean(what: &[String], text: &str, may_have_colors: bool) {
    let mut text = text.replace("\r\n", "\n");
    if may_have_colors {
        // What this program itself sets, one at a time; the text of others has 45.
        assert!(!text.contains("\u{1b}[45m"), "{what:?}: {text:?}");
        while let Some((before, rest)) = text.split_once("\u{1b}[") {
            let (codes, after) = rest.split_once('m').unwrap();
            assert!(codes.chars().all(|it| it.is_ascii_digit() || it == ';'), "{what:?}: {text:?}");
            text = format!("{before}{after}");
        }
    }
    for it in ACTS {
        assert!(!text.contains(it), "{what:?} shows {it:?}: {text:?}");
    }
}

fn run(place: &Place, options: &[&str], way: &[String]) -> Ran {
    let mut words = vec!["--plugins", "plugins"];
    words.extend(options);
    words.extend(way.iter().map(String::as_str));
    place.flyto(&words).run()
}

#[test]
fn no_text_for_people_acts_on_a_terminal() {
    let place = place();
    for way in ways() {
        for options in [&["--color", "never"][..], &["--color", "always"]] {
            let ran = run(&place, options, &way);
            let has_colors = options[1] == "always";
            // The tool's own bytes are not this program's text.
            if ran.code != Some(0) || way[0] != "call" || way.iter().any(|it| it == "--dry-run") {
                check_clean(&way, &ran.stdout(), has_colors);
            }
            check_clean(&way, &ran.stderr(), has_colors);
        }
    }
}

#[test]
fn no_document_acts_on_a_terminal() {
    let place = place();
    for way in ways() {
        let ran = run(&place, &["--format", "json"], &way);
        check_clean(&way, &ran.stdout(), false);
        check_clean(&way, &ran.stderr(), false);
        let text = if ran.stdout.is_empty() { ran.stderr() } else { ran.stdout() };
        serde_json::from_str::<serde_json::Value>(&text).unwrap();
    }
    // A program reads what was there.
    let list = run(&place, &["--format", "json"], &["list".to_owned()]).json();
    let tools = list["tools"].as_array().unwrap();
    assert!(tools.iter().any(|it| it["description"] == hostile()), "{list}");
}

#[test]
fn a_tools_own_bytes_are_escaped_on_a_terminal_only() {
    let place = Place::with_tools(&[
        ("whole", r"printf '\033[2J\302\233\377a\r\n'; printf '\033[1m' >&2", ""),
        ("stream", r"printf '\033[2J\302\233\377a\r\n'; printf '\033[1m' >&2", r#""stream": true"#),
    ]);
    for name in ["p:whole", "p:stream"] {
        let ran = place.call(&[name]).run();
        assert_eq!(ran.stdout, b"\x1b[2J\xc2\x9b\xffa\r\n", "{name}");
        assert!(ran.stderr().contains("\u{1b}[1m"), "{name}: {:?}", ran.stderr());

        let (mut controller, user) = terminal(80);
        let other = user.try_clone().unwrap();
        let mut child = place
            .call(&[name])
            .command(|it| {
                it.stdout(Stdio::from(user)).stderr(Stdio::from(other));
            })
            .start();
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let mut seen = Vec::new();
        // A terminal whose last user is gone ends with an error on Linux.
        let _ = controller.read_to_end(&mut seen);
        let seen = String::from_utf8(seen).unwrap();
        assert!(seen.contains("␛[2J\\u{9b}\u{fffd}a"), "{name}: {seen:?}");
        assert!(seen.contains("␛[1m") && !seen.contains("\u{1b}[1m"), "{name}: {seen:?}");
    }
}

#[test]
fn an_invalid_input_is_told_without_what_acts() {
    let place = place();
    for pair in [format!("n={}x", hostile()), "other=1".to_owned()] {
        let ran = place.call(&["p:t", &pair]).run();
        assert_eq!(ran.code, Some(3), "{}", ran.shown());
        assert!(ran.stdout().contains("invalid input") && ran.stdout().contains("202e"));
    }
}
