//! Which content of a project's configuration is trusted.

use expect_test::expect;

use crate::place::{Flyto, Place};

/// A project with a plugin of its own, and a configuration that allows it.
fn place() -> Place {
    let place = Place::new();
    place.write("project/old", "x");
    place.write("project/plugins/p/t.sh", "echo done");
    place.write(
        "project/plugins/p/plugin.json",
        r#"{"name": "p", "tools": [{"name": "t", "description": "x", "command": "sh", "args": ["t.sh"]}]}"#,
    );
    project(
        &place,
        r#"{"plugins": {"enabled": true, "plugin_dirs": ["../plugins"], "blocked_plugins": ["q"]}}"#,
    );
    place
}

fn project(place: &Place, text: &str) {
    place.write("project/.flyto/config.json", text);
}

fn flyto<'a>(place: &'a Place, words: &[&str]) -> Flyto<'a> {
    place.flyto(words).command(|it| {
        it.current_dir(place.path().join("project"));
    })
}

#[track_caller]
fn check_call(place: &Place, code: i32, part: &str) {
    let ran = flyto(place, &["call", "p:t"]).run();
    assert_eq!(ran.code, Some(code), "{}", ran.shown());
    assert!(ran.stderr().contains(part), "{}", ran.shown());
}

/// The projects and what has become of their files.
fn listed(place: &Place) -> String {
    let document = flyto(place, &["trust", "--list", "--format", "json"]).run().json();
    let trusted = document["trusted"].as_array().unwrap().iter();
    let shown = trusted.map(|it| format!("{} {}", it["project"], it["state"]));
    let shown = shown.collect::<Vec<_>>().join(" ").replace(place.path().to_str().unwrap(), "DIR");
    shown.replace('"', "")
}

#[test]
fn exactly_what_was_read_is_trusted() {
    let place = place();
    check_call(&place, 4, "plugins are switched off");
    let told = flyto(&place, &["trust"]).run();
    let shown = told.shown();
    // The digest is that of the file, in which no path of this test stands.
    let (shown, digest) = shown.rsplit_once("trusted ").unwrap();
    assert_eq!(digest.trim().len(), 64, "{digest}");
    expect![[r#"
        exit code 0
        -- stdout
        file    DIR/project/.flyto/config.json
        allows  plugins.enabled: true
        allows  plugins.plugin_dirs: ["../plugins"]
    "#]]
    .assert_eq(shown);
    check_call(&place, 0, "");
    assert_eq!(listed(&place), "DIR/project unchanged");
    let table = flyto(&place, &["trust", "--list"]).run().stdout();
    assert!(table.starts_with("PROJECT ") && table.contains(" unchanged\n"), "{table}");

    project(&place, r#"{"plugins": {"enabled": true, "plugin_dirs": ["../plugins"]}}"#);
    check_call(&place, 4, "the project's configuration has changed since it was trusted on 20");
    assert_eq!(listed(&place), "DIR/project changed");
    let document = flyto(&place, &["trust", "--format", "json"]).run().json();
    assert_eq!(document["widens"][0]["key"], "plugins.enabled");
    check_call(&place, 0, "");

    std::fs::remove_file(place.path().join("project/.flyto/config.json")).unwrap();
    check_call(&place, 4, "the project's configuration is gone since it was trusted on 20");
    assert_eq!(listed(&place), "DIR/project gone");

    // The directory that is meant is that of the record.
    let removed = flyto(&place, &["trust", "--remove", "--format", "json"]).run();
    let project = place.path().join("project").canonicalize().unwrap();
    let expected = serde_json::json!({"project": project, "removed": true});
    assert_eq!((removed.code, removed.json()), (Some(0), expected));
    flyto(&place, &["trust", "--list"]).check(expect![[r#"
        exit code 0
        -- stderr
        no project is trusted
    "#]]);
    check_call(&place, 4, "");
    flyto(&place, &["trust", "--remove", "."]).check(expect![[r#"
        exit code 4
        -- stderr
        error: no content of DIR/project is trusted
          help: `flyto trust --list` shows what is
    "#]]);
}

/// The lines of the file are others by then, or it is gone.
#[test]
fn a_rule_that_was_trusted_says_where_it_stands() {
    let place = place();
    project(&place, "{\n \"permissions\": {\n  \"deny\": [\n   \"p:t\"]}}");
    assert_eq!(flyto(&place, &["trust", "."]).run().code, Some(0));
    project(&place, "{}");
    let words = ["--plugins", "plugins", "permission", "test", "p:t"];
    let shown = flyto(&place, &words).run().stdout();
    assert!(shown.contains("/project/.flyto/config.json (as trusted on 20"), "{shown}");
    assert!(shown.contains("):4:4"), "{shown}");
}

#[test]
fn what_cannot_be_read_whole_is_not_trusted() {
    let place = place();
    project(&place, r#"{"exec_tools": 5}"#);
    flyto(&place, &["trust", "."]).check(expect![[r#"
        exit code 3
        -- stderr
        error[F0023]: "exec_tools" must be an array of strings, found the number 5
         --> DIR/project/.flyto/config.json:1:16
          |
        1 | {"exec_tools": 5}
          |                ^
          |
          = at: /exec_tools

        error: the project's configuration is broken, and was not trusted
    "#]]);
    let file = place.path().join("project/.flyto/config.json");
    std::fs::remove_file(&file).unwrap();
    flyto(&place, &["trust"]).check(expect![[r#"
        exit code 4
        -- stderr
        error: neither DIR/project nor a directory above holds a .flyto/config.json
          help: name the directory of the project
    "#]]);
    flyto(&place, &["trust", "."]).check(expect![[r#"
        exit code 4
        -- stderr
        error: there is no file DIR/project/.flyto/config.json
    "#]]);
    place.write("project/real.json", "{}");
    std::os::unix::fs::symlink("../real.json", &file).unwrap();
    flyto(&place, &["trust", "."]).check(expect![[r#"
        exit code 3
        -- stderr
        error: DIR/project/.flyto/config.json is a link, and what a link leads to can be exchanged
          help: put a file in the place of the link
    "#]]);
    assert!(!place.exists("home/.local/state/flyto/trust"));
}

#[test]
fn a_broken_project_stops_no_call() {
    let place = place();
    place.plugin("p", &[("t", "echo done", "")]);
    project(&place, "{");
    let call = || flyto(&place, &["--plugins", "../plugins", "call", "p:t", "--sandbox", "none"]);
    let ran = call().run();
    assert_eq!((ran.code, &*ran.stdout()), (Some(0), "done\n"), "{}", ran.shown());
    let told = "the project's configuration is broken, and only what can be read of it narrows";
    assert!(ran.stderr().contains(told), "{}", ran.shown());
    let path = ".flyto/config.json";
    assert_eq!(flyto(&place, &["validate", path]).run().code, Some(3));
    assert_eq!(flyto(&place, &["--config", path, "list"]).run().code, Some(3));
    place.write("home/.config/flyto/config.json", "{");
    assert_eq!(call().run().code, Some(3));
}
