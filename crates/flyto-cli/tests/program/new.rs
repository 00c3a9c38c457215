//! `flyto new`.

use std::path::Path;

use expect_test::expect;

use crate::place::{Place, Ran};

/// The directories in which the test's programs are looked up: those of the system, and that of the
/// Cargo which built this test.
fn path() -> String {
    let ours = std::env::var("PATH").unwrap();
    let cargo = Path::new(env!("CARGO")).parent().unwrap();
    format!("{}:{ours}", cargo.display())
}

/// A program that the system lacks. Under CI everything that tests need is installed.
fn is_missing(program: &str) -> bool {
    let path = path();
    let missing = !std::env::split_paths(&path).any(|it| it.join(program).is_file());
    assert!(!(missing && std::env::var_os("CI").is_some()), "{program} is not installed");
    missing
}

fn run(place: &Place, words: &[&str]) -> Ran {
    let mut flyto = place.flyto(words).env("PATH", &path());
    // A shim of a version manager looks below the real home, and so does Cargo for what it fetched to
    // build this test. It finds all that a generated plugin needs there, and fetches nothing.
    for name in ["PYENV_ROOT", "RUSTUP_HOME"] {
        if let Ok(value) = std::env::var(name) {
            flyto = flyto.env(name, &value);
        }
    }
    if let Some(home) = cargo_home() {
        flyto = flyto.env("CARGO_HOME", &home);
    }
    flyto.env("CARGO_NET_OFFLINE", "true").run()
}

/// Where Cargo keeps what it fetched.
fn cargo_home() -> Option<String> {
    let below_home = || Some(format!("{}/.cargo", std::env::var("HOME").ok()?));
    std::env::var("CARGO_HOME").ok().or_else(below_home)
}

/// Writes a plugin, checks it strictly, and calls its tools.
#[track_caller]
fn check(lang: &str, more: &[&str], program: &str, tools: &[(&str, &str, &str)]) {
    if is_missing(program) {
        return;
    }
    let place = Place::new();
    let words = [&["new", "plugin", "my-own", "--lang", lang, "--dir", "a b"], more].concat();
    let ran = run(&place, &words);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let dir = "a b/my-own";
    let validated = run(&place, &["validate", "--strict", dir]);
    assert_eq!(validated.code, Some(0), "{}", validated.shown());
    for (tool, input, output) in tools {
        let called = run(&place, &["--plugins", dir, "call", &format!("my-own:{tool}"), input]);
        let came = (called.code, called.stdout().trim_end().to_owned());
        assert_eq!(came, (Some(0), (*output).to_owned()), "{}", called.shown());
    }
}

const SLUG: (&str, &str, &str) = ("slug", r#"text=  "Hello", World! 2 \ 🦀 "#, "hello-world-2");
const WAIT: (&str, &str, &str) = ("wait", "seconds:=0.01", "waited for 0.01 s");

#[test]
fn a_shell_plugin_runs_at_once() {
    check("sh", &[], "jq", &[SLUG]);
    let escaped = ("slug", r#"text:="\"\u0041\\\\\u00e9\ud83d\ude00\u0042\t\/c""#, "a-b-c");
    check("sh", &[], "jq", &[escaped]);
}

#[test]
fn a_python_plugin_runs_at_once() {
    check("python", &[], "python3", &[SLUG]);
    check("python", &["--lifetime", "session"], "python3", &[SLUG, WAIT]);
}

#[test]
fn a_node_plugin_runs_at_once() {
    check("node", &[], "node", &[SLUG, WAIT]);
    check("node", &["--lifetime", "session"], "node", &[SLUG, WAIT]);
}

#[test]
fn a_rust_plugin_is_built_and_runs_at_once() {
    let escaped = ("slug", r#"text:="\"\u0041\\\\\u00e9\ud83d\ude00\u0042\t\/c""#, "a-b-c");
    check("rust", &[], "cargo", &[SLUG, escaped, WAIT]);
    check("rust", &["--lifetime", "session"], "cargo", &[SLUG, WAIT]);
}

#[test]
fn a_ping_is_answered() {
    for (lang, program, file) in
        [("python", "python3", "plugin.py"), ("node", "node", "plugin.mjs")]
    {
        if is_missing(program) {
            continue;
        }
        let place = Place::new();
        run(&place, &["new", "plugin", "own", "--lang", lang, "--lifetime", "session"]);
        let file = place.path().join("own").join(file);
        let ping = r#"{"jsonrpc":"2.0","id":9,"method":"ping","params":{}}"#;
        place.plugin("p", &[("t", &format!("echo '{ping}' | {program} '{}'", file.display()), "")]);
        let answer = run(&place, &["--plugins", "plugins", "call", "p:t"]).json();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&9.into(), &(-32601).into()));
    }
}

#[test]
fn what_to_type_next_is_told() {
    let place = Place::new();
    place.flyto(&["new", "plugin", "p", "--lang", "sh", "--dir", "a b"]).check(expect![[r#"
        exit code 0
        -- stdout
        a b/p: README.md plugin.json slug.sh

        Next:
          flyto validate --strict 'a b/p'
          flyto --plugins 'a b/p' show p:slug
          flyto --plugins 'a b/p' call p:slug 'text=Hello, World!'
    "#]]);
    place.flyto(&["new", "plugin", "r", "--lang", "rust", "--no-build"]).check(expect![[r#"
        exit code 0
        -- stdout
        r: .gitignore Cargo.toml README.md plugin.json src/main.rs

        Next:
          (cd r && cargo build --release --target-dir target)
          flyto validate --strict r
          flyto --plugins r call r:slug 'text=Hello, World!'
    "#]]);
    assert!(!place.exists("r/target"));
}

/// Writes a plugin, and types what it says to type next, as it stands there.
#[track_caller]
fn check_next(lang: &str, program: &str) {
    if is_missing(program) {
        return;
    }
    let place = Place::new();
    let ran = run(&place, &["new", "plugin", "my-own", "--lang", lang, "--dir", "it's mine"]);
    let text = ran.stdout();
    let (_, next) = text.split_once("Next:\n").expect("there are commands");
    let commands: Vec<&str> = next.lines().collect();
    assert_eq!(commands.len(), 3, "{next}");
    let bin = Path::new(env!("CARGO_BIN_EXE_flyto")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), path());
    let mut last = String::new();
    for command in commands {
        let typed = place.flyto(&[]).env("PATH", &path).started_by(command).run();
        assert_eq!(typed.code, Some(0), "{command}\n{}", typed.shown());
        last = typed.stdout();
    }
    assert_eq!(last.trim_end(), "hello-world");
}

#[test]
fn what_to_type_next_works_as_it_is_printed() {
    check_next("sh", "jq");
    check_next("python", "python3");
}

#[test]
fn nothing_is_written_over() {
    let place = Place::new();
    place.write("p/notes", "mine");
    place.flyto(&["new", "plugin", "p", "--lang", "sh"]).check(expect![[r#"
        exit code 2
        -- stderr
        error: there is something at p already
          help: take another name or `--dir`; nothing is ever written over
    "#]]);
    assert!(!place.exists("p/plugin.json"));
}

#[test]
fn what_cannot_be_is_refused_with_a_way_out() {
    let place = Place::new();
    place.flyto(&["new", "plugin", "my_own", "--lang", "sh"]).check(expect![[r#"
        exit code 2
        -- stderr
        error: the name "my_own" of a plugin holds '_'
          help: take my-own
    "#]]);
    place.flyto(&["new", "plugin", "p", "--lang", "sh", "--lifetime", "session"]).check(expect![[
        r#"
        exit code 2
        -- stderr
        error: a shell script cannot serve a session
          help: take `--lang python`, `--lang node` or `--lang rust`
    "#
    ]]);
    let left = std::fs::read_dir(place.path()).unwrap().count();
    assert_eq!(left, 1, "only the home is there");
}

#[test]
fn plugins_of_every_form_and_lifetime_get_along() {
    if ["node", "python3", "jq"].into_iter().any(is_missing) {
        return;
    }
    let place = Place::new();
    for (name, lang, lifetime) in
        [("argv", "sh", "call"), ("once", "node", "call"), ("stays", "python", "session")]
    {
        let words = ["new", "plugin", name, "--lang", lang, "--lifetime", lifetime];
        let ran = run(&place, &[&words[..], &["--dir", "plugins"]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.shown());
    }
    place.write(
        "plugins/words/plugin.json",
        r#"{"name": "words", "version": "1", "description": "x", "tools": [{"name": "slug",
            "description": "Prints it.", "command": "printf %s \"{{text}}\"",
            "parameters": {"type": "object", "properties": {"text": {"type": "string"}},
            "required": ["text"]}}]}"#,
    );
    let listed = run(&place, &["--plugins", "plugins", "list", "--problems"]);
    assert_eq!((listed.code, listed.stdout()), (Some(0), String::new()));
    for (plugin, output) in [("argv", "a-b"), ("once", "a-b"), ("stays", "a-b"), ("words", "a B")] {
        let tool = format!("{plugin}:slug");
        let called = run(&place, &["--plugins", "plugins", "call", &tool, "text=a B"]);
        assert_eq!(called.stdout().trim_end(), output, "{}", called.shown());
    }
}
