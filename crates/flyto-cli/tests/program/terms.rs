//! What `flyto show`, `flyto list` and `--dry-run` say about what runs, and on which terms.

use expect_test::{Expect, expect};
use serde_json::Value;

use crate::place::Place;

/// A plugin of each form and lifetime.
fn place() -> Place {
    let place = Place::new();
    place.write(
        "plugins/words/plugin.json",
        r#"{"name": "words", "version": "1", "description": "x", "tools": [
            {"name": "find", "description": "Finds a word.", "command": "grep -n '{{word}}' notes",
             "parameters": {"type": "object", "properties": {"word": {"type": "string"}},
             "required": ["word"]}, "env": {"MODE": "${MODE:-fast}", "KEY": "$WORDS_KEY"}},
            {"name": "count", "description": "Counts it.", "command": "grep '{{word}}' ~/*.txt",
             "parameters": {"type": "object", "properties": {"word": {"type": "string"}},
             "required": ["word"]}, "limits": {"output_bytes": 5000}}]}"#,
    );
    let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    for (name, more) in [
        ("once", format!(r#""sha256": "{digest}""#)),
        ("stays", r#""lifetime": "session", "idle_timeout_secs": 90"#.to_owned()),
    ] {
        place.write(&format!("plugins/{name}/run"), "abc");
        let manifest = format!(
            r#"{{"name": "{name}", "version": "1", "description": "x", "execution": "binary",
                "binary": {{"path": "run", {more}}}, "tools": [{{"name": "ask",
                "description": "Asks it.", "parameters": {{"type": "object"}}}}]}}"#
        );
        place.write(&format!("plugins/{name}/plugin.json"), &manifest);
    }
    place
}

fn show(place: &Place, tool: &str, more: &[&str]) -> String {
    place.flyto(&[&["--plugins", "plugins", "show", tool], more].concat()).run().shown()
}

/// The facts of the page, without the schema.
#[track_caller]
fn check(place: &Place, tool: &str, more: &[&str], expect: Expect) {
    let page = show(place, tool, more);
    let facts =
        page.split("\n\n").find(|it| it.starts_with("from ")).unwrap_or_else(|| panic!("{page}"));
    let until = facts.find("class  ").expect("facts about the program stand above");
    expect.assert_eq(&facts[..until]);
}

#[test]
fn show_says_what_runs_in_every_form() {
    let place = place();
    check(
        &place,
        "words:find",
        &[],
        expect![[r#"
            from         plugin words 1 in DIR/plugins/words
            wire name    words__find
            form         template run without a shell; one process for each call
            template     grep -n '{{word}}' notes
            runs         grep -n '{{word}}' notes
            in           DIR
            environment  HOME PATH (the host's)
                         PLUGIN_DATA PLUGIN_ROOT (the plugin's)
                         KEY (declared, reads WORDS_KEY)
                         MODE (declared, reads MODE)
            deadline     30 s
            problem      variable not set: WORDS_KEY (used in KEY)
            backend      linux
            ended        every descendant, with the call
            sandbox      none
            limits       1024 processes (by default; one more gets EAGAIN)
            isolation    none
            granted      nothing
            to set       WORDS_KEY in the environment of flyto
            to grant     {"plugins": {"grants": {"words": {"env": ["ANOTHER_VARIABLE"]}}}}
                         in DIR/home/.config/flyto/config.json
        "#]],
    );
    check(
        &place,
        "words:count",
        &[],
        expect![[r#"
            from         plugin words 1 in DIR/plugins/words
            wire name    words__count
            form         template run by sh; one process for each call
            template     grep '{{word}}' ~/*.txt
            runs         sh -c 'grep '\''{{word}}'\'' ~/*.txt'
            in           DIR
            environment  HOME PATH (the host's)
                         PLUGIN_DATA PLUGIN_ROOT (the plugin's)
            deadline     30 s
            backend      linux
            ended        every descendant, with the call
            sandbox      none
            limits       4.9 KiB of output, 1024 processes (by default; one more gets EAGAIN)
            isolation    none
            granted      nothing
            to grant     {"plugins": {"grants": {"words": {"env": ["ANOTHER_VARIABLE"]}}}}
                         in DIR/home/.config/flyto/config.json
        "#]],
    );
    check(
        &place,
        "once:ask",
        &[],
        expect![[r#"
            from         plugin once 1 in DIR/plugins/once
            wire name    once__ask
            form         binary; one process for each call
            sha256       ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad
            runs         DIR/plugins/once/run
            in           DIR
            environment  HOME PATH (the host's)
                         PLUGIN_DATA PLUGIN_ROOT (the plugin's)
            deadline     30 s
            stdin        78 B
            problem      failed to start "DIR/plugins/once/run": DIR/plugins/once/run lacks the right to execute
            backend      linux
            ended        every descendant, with the call
            sandbox      none
            limits       1024 processes (by default; one more gets EAGAIN)
            isolation    none
            granted      nothing
            to grant     {"plugins": {"grants": {"once": {"env": ["ANOTHER_VARIABLE"]}}}}
                         in DIR/home/.config/flyto/config.json
        "#]],
    );
    check(
        &place,
        "stays:ask",
        &[],
        expect![[r#"
            from         plugin stays 1 in DIR/plugins/stays
            wire name    stays__ask
            form         binary; one process for all calls, ended after 1 min 30 s without one
            runs         DIR/plugins/stays/run
            in           DIR
            environment  HOME PATH (the host's)
                         PLUGIN_DATA PLUGIN_ROOT (the plugin's)
            deadline     30 s
            stdin        78 B
            problem      failed to start "DIR/plugins/stays/run": DIR/plugins/stays/run lacks the right to execute
            backend      linux
            ended        every descendant, with the call
            sandbox      none
            limits       1024 processes (by default; one more gets EAGAIN)
            isolation    none
            granted      nothing
            to grant     {"plugins": {"grants": {"stays": {"env": ["ANOTHER_VARIABLE"]}}}}
                         in DIR/home/.config/flyto/config.json
        "#]],
    );
}

#[test]
fn show_says_what_is_granted() {
    let place = place();
    let config = place.write(
        "config.json",
        r#"{"plugins": {"strict_env": true, "grants": {"words": {"env": ["WORDS_KEY", "LOG"],
            "limits": {"output_bytes": 4000, "processes": 9}, "network": "on",
            "read": ["/srv/a b"], "write": ["/srv/w"]}}}}"#,
    );
    let config = ["--config", config.to_str().unwrap()];
    check(
        &place,
        "words:count",
        &config,
        expect![[r#"
            from         plugin words 1 in DIR/plugins/words
            wire name    words__count
            form         template run by sh; one process for each call
            template     grep '{{word}}' ~/*.txt
            runs         sh -c 'grep '\''{{word}}'\'' ~/*.txt'
            in           DIR
            environment  HOME PATH (the host's)
                         PLUGIN_DATA PLUGIN_ROOT (the plugin's)
            deadline     30 s
            backend      linux
            ended        every descendant, with the call
            sandbox      none
            limits       9 processes, 3.9 KiB of output
            isolation    none
            granted      variables LOG WORDS_KEY
                         limits in place of the class's: 9 processes, 3.9 KiB of output
                         network on
                         read /srv/a b
                         write /srv/w
            to grant     {"plugins": {"grants": {"words": {"env": ["LOG", "WORDS_KEY", "ANOTHER_VARIABLE"]}}}}
                         in DIR/config.json
        "#]],
    );
    check(
        &place,
        "words:find",
        &config,
        expect![[r#"
            from         plugin words 1 in DIR/plugins/words
            wire name    words__find
            form         template run without a shell; one process for each call
            template     grep -n '{{word}}' notes
            runs         grep -n '{{word}}' notes
            in           DIR
            environment  HOME PATH (the host's)
                         PLUGIN_DATA PLUGIN_ROOT (the plugin's)
                         KEY (declared, reads WORDS_KEY)
                         MODE (declared, reads MODE)
            deadline     30 s
            problem      variable not set: WORDS_KEY (used in KEY)
            backend      linux
            ended        every descendant, with the call
            sandbox      none
            limits       9 processes, 3.9 KiB of output
            isolation    none
            granted      variables LOG WORDS_KEY
                         limits in place of the class's: 9 processes, 3.9 KiB of output
                         network on
                         read /srv/a b
                         write /srv/w
            to set       WORDS_KEY in the environment of flyto
            to grant     {"plugins": {"grants": {"words": {"env": ["LOG", "WORDS_KEY", "MODE"]}}}}
                         in DIR/config.json
        "#]],
    );
}

/// The parts of a JSON document about what runs.
#[track_caller]
fn check_document(document: &Value, expect: Expect) {
    const KEYS: [&str; 9] = [
        "form",
        "lifetime",
        "idle_seconds",
        "runs",
        "limits",
        "isolation",
        "granted",
        "to_set",
        "to_grant",
    ];
    let parts = KEYS.iter().filter_map(|key| Some(format!("{key}: {}\n", document.get(key)?)));
    expect.assert_eq(&parts.collect::<String>());
}

#[test]
fn documents_have_the_same_facts() {
    let place = place();
    place.write("home/.config/flyto/config.json", r#"{"plugins": {"strict_env": true}}"#);
    let document = |tool: &str| {
        let text = show(&place, tool, &["--format", "json"]);
        let (_, document) = text.split_once("-- stdout\n").expect("an answer");
        serde_json::from_str::<Value>(document).expect("JSON")
    };
    check_document(
        &document("words:find"),
        expect![[r#"
            form: "template"
            lifetime: "call"
            runs: {"template":"grep -n '{{word}}' notes","shell":false}
            limits: {"processes":1024}
            isolation: {"network":"on"}
            granted: {"env":[],"limits":{},"read":[],"write":[]}
            to_set: ["WORDS_KEY"]
            to_grant: {"names":["MODE","WORDS_KEY"],"file":"DIR/home/.config/flyto/config.json","entry":{"plugins":{"grants":{"words":{"env":["MODE","WORDS_KEY"]}}}}}
        "#]],
    );
    check_document(
        &document("once:ask"),
        expect![[r#"
            form: "binary"
            lifetime: "call"
            runs: {"path":"DIR/plugins/once/run","sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}
            limits: {"processes":1024}
            isolation: {"network":"on"}
            granted: {"env":[],"limits":{},"read":[],"write":[]}
            to_set: []
            to_grant: {"names":[],"file":"DIR/home/.config/flyto/config.json","entry":{"plugins":{"grants":{"once":{"env":["ANOTHER_VARIABLE"]}}}}}
        "#]],
    );
    check_document(
        &document("stays:ask"),
        expect![[r#"
            form: "binary"
            lifetime: "session"
            idle_seconds: 90.0
            runs: {"path":"DIR/plugins/stays/run"}
            limits: {"processes":1024}
            isolation: {"network":"on"}
            granted: {"env":[],"limits":{},"read":[],"write":[]}
            to_set: []
            to_grant: {"names":[],"file":"DIR/home/.config/flyto/config.json","entry":{"plugins":{"grants":{"stays":{"env":["ANOTHER_VARIABLE"]}}}}}
        "#]],
    );
    let listed = place.flyto(&["--plugins", "plugins", "list", "--format", "json"]).run().json();
    let mut forms = String::new();
    for tool in listed["tools"].as_array().expect("tools") {
        let (form, lifetime) = (&tool["form"], &tool["lifetime"]);
        forms.push_str(&format!("{} {form} {lifetime}\n", tool["name"]));
    }
    expect![[r#"
        "once:ask" "binary" "call"
        "stays:ask" "binary" "session"
        "words:count" "template" "call"
        "words:find" "template" "call"
    "#]]
    .assert_eq(&forms);
}

#[test]
fn a_dry_run_shows_what_would_run() {
    let place = Place::with_tools(&[
        ("t", "touch ran", r#""env": {"MODE": "${MODE:-fast}"}, "timeout_seconds": 90"#),
        ("needs", "touch ran", r#""env": {"TOKEN": "${FLYTO_TEST_TOKEN}"}"#),
    ]);
    place.call(&["p:t", "a=b", "--dry-run"]).check(expect![[r#"
        exit code 0
        -- stdout
        runs         sh t.sh
        in           DIR/plugins/p
        environment  HOME PATH (the host's)
                     PLUGIN_DATA PLUGIN_ROOT (the plugin's)
                     MODE (declared, reads MODE)
        deadline     1 min 30 s
        stdin        9 B
        permission   ask: `sh t.sh`: no rule allows it; to allow it: p:t
                     a call by name is the operator's yes
        backend      linux
        ended        every descendant, with the call
        sandbox      none
        limits       1024 processes (by default; one more gets EAGAIN)
        isolation    none
        to grant     {"plugins": {"grants": {"p": {"env": ["ANOTHER_VARIABLE"]}}}}
                     in DIR/home/.config/flyto/config.json
    "#]]);
    place.call(&["p:t", "--dry-run", "--timeout", "1.5"]).check(expect![[r#"
        exit code 0
        -- stdout
        runs         sh t.sh
        in           DIR/plugins/p
        environment  HOME PATH (the host's)
                     PLUGIN_DATA PLUGIN_ROOT (the plugin's)
                     MODE (declared, reads MODE)
        deadline     1.5 s
        stdin        2 B
        permission   ask: `sh t.sh`: no rule allows it; to allow it: p:t
                     a call by name is the operator's yes
        backend      linux
        ended        every descendant, with the call
        sandbox      none
        limits       1024 processes (by default; one more gets EAGAIN)
        isolation    none
        to grant     {"plugins": {"grants": {"p": {"env": ["ANOTHER_VARIABLE"]}}}}
                     in DIR/home/.config/flyto/config.json
    "#]]);
    place.call(&["p:needs", "--dry-run"]).check(expect![[r#"
        exit code 1
        -- stdout
        runs         sh needs.sh
        in           DIR/plugins/p
        environment  HOME PATH (the host's)
                     PLUGIN_DATA PLUGIN_ROOT (the plugin's)
                     TOKEN (declared, reads FLYTO_TEST_TOKEN)
        deadline     30 s
        stdin        2 B
        problem      variable not set: FLYTO_TEST_TOKEN (used in TOKEN)
        permission   ask: `sh needs.sh`: no rule allows it; to allow it: p:needs
                     a call by name is the operator's yes
        backend      linux
        ended        every descendant, with the call
        sandbox      none
        limits       1024 processes (by default; one more gets EAGAIN)
        isolation    none
        to set       FLYTO_TEST_TOKEN in the environment of flyto
        to grant     {"plugins": {"grants": {"p": {"env": ["ANOTHER_VARIABLE"]}}}}
                     in DIR/home/.config/flyto/config.json
    "#]]);
    assert!(!place.exists("plugins/p/ran"));
}

#[test]
fn a_dry_run_names_the_variables_to_grant() {
    let place = place();
    let config = r#"{"plugins": {"strict_env": true, "grants": {"words": {"env": ["LOG"]}}}}"#;
    place.write("home/.config/flyto/config.json", config);
    place.call(&["words:find", "word=x", "--dry-run"]).env("WORDS_KEY", "k").check(expect![[r#"
        exit code 1
        -- stdout
        runs         grep -n x notes
        in           DIR
        environment  HOME PATH (the host's)
                     PLUGIN_DATA PLUGIN_ROOT (the plugin's)
                     KEY (declared, reads WORDS_KEY)
                     MODE (declared, reads MODE)
        deadline     30 s
        problem      variable not granted: WORDS_KEY (used in KEY)
        permission   ask: `grep -n x notes`: no rule allows it; to allow it: Bash(grep -n x notes)
                     a call by name is the operator's yes
        backend      linux
        ended        every descendant, with the call
        sandbox      none
        limits       1024 processes (by default; one more gets EAGAIN)
        isolation    none
        to grant     {"plugins": {"grants": {"words": {"env": ["LOG", "MODE", "WORDS_KEY"]}}}}
                     in DIR/home/.config/flyto/config.json
    "#]]);
    let document = place.call(&["words:find", "word=x", "--dry-run", "--format", "json"]);
    let document = document.run().shown().replacen("exit code 1\n-- stdout\n", "", 1);
    check_document(
        &serde_json::from_str(&document).expect("JSON"),
        expect![[r#"
            limits: {"processes":1024}
            isolation: {"network":"on"}
            to_set: ["WORDS_KEY"]
            to_grant: {"names":["MODE","WORDS_KEY"],"file":"DIR/home/.config/flyto/config.json","entry":{"plugins":{"grants":{"words":{"env":["LOG","MODE","WORDS_KEY"]}}}}}
        "#]],
    );
}

#[test]
fn what_is_granted_as_told_is_there() {
    let place = place();
    let file = "home/.config/flyto/config.json";
    place.write(file, r#"{"plugins": {"strict_env": true}}"#);
    let dry_run = || {
        let words = ["words:find", "word=x", "--dry-run", "--format", "json"];
        place.call(&words).env("WORDS_KEY", "k").run()
    };
    let before = dry_run();
    assert_eq!(before.code, Some(1));
    let to_grant = &before.json()["to_grant"];
    assert_eq!(to_grant["file"], place.path().join(file).to_str().unwrap());
    let mut config = to_grant["entry"].clone();
    config["plugins"]["strict_env"] = true.into();
    place.write(file, &config.to_string());
    assert_eq!(dry_run().code, Some(0));
}

#[test]
fn tools_of_one_process_have_the_variables_of_all() {
    let place = Place::new();
    place.write("plugins/stays/run", "abc");
    place.write(
        "plugins/stays/plugin.json",
        r#"{"name": "stays", "version": "1", "description": "x", "execution": "binary",
            "binary": {"path": "run", "lifetime": "session"}, "tools": [
            {"name": "a", "description": "x", "parameters": {"type": "object"}},
            {"name": "b", "description": "x", "parameters": {"type": "object"},
             "env": {"B": "$OF_B"}}]}"#,
    );
    let ran = place.flyto(&["--plugins", "plugins", "show", "stays:a", "--format", "json"]).run();
    assert_eq!(ran.json()["to_set"], serde_json::json!(["OF_B"]));
}

#[test]
fn list_mentions_servers_that_are_not_started() {
    let place = Place::new();
    place.write(
        "plugins/docs/plugin.json",
        r#"{"name": "docs", "version": "1", "description": "x",
            "mcpServers": {"search": {"command": "search-server"}}}"#,
    );
    place.flyto(&["--plugins", "plugins", "list"]).check(expect![[r#"
        exit code 0
        -- stderr
        there are no tools; `--plugins DIR` and `--exec-tools FILE` add some
        the server docs.search is not connected yet: `flyto --plugins plugins servers` starts it and finds out its tools
    "#]]);
    place.flyto(&["--plugins", "plugins", "list", "--problems"]).check(expect![[r#"
        exit code 0
        -- stderr
        there are no tools; `--plugins DIR` and `--exec-tools FILE` add some
    "#]]);
}

#[test]
fn a_call_for_want_of_a_grant_says_how_to_grant() {
    let place = place();
    place.write("home/.config/flyto/config.json", r#"{"plugins": {"strict_env": true}}"#);
    let call = |more: &[&str]| {
        let words = [&["--plugins", "plugins", "call", "words:find", "word=x"], more].concat();
        place.flyto(&words).env("WORDS_KEY", "k")
    };
    call(&[]).check(expect![[r#"
        exit code 1
        -- stdout
        plugin tool "words:find": resolve env failed: variable not granted: WORDS_KEY (used in KEY)⏎
        -- stderr
        to grant  {"plugins": {"grants": {"words": {"env": ["MODE", "WORDS_KEY"]}}}}
                  in DIR/home/.config/flyto/config.json
    "#]]);
    let document = call(&["--format", "json"]).run().json();
    assert!(document["to_grant"]["names"].as_array().unwrap().contains(&"WORDS_KEY".into()));
    assert!(document["to_grant"]["file"].as_str().unwrap().ends_with("config.json"));
}

#[test]
fn a_default_in_the_place_of_a_set_variable_is_told() {
    let env = r#""env": {"A": "${TOKEN:-none}"}"#;
    let place = Place::with_tools(&[("t", r#"echo "$A""#, env)]);
    let config = place.write("strict.json", r#"{"plugins": {"strict_env": true}}"#);
    let words = ["--config", config.to_str().unwrap()];
    place.call(&[&["p:t"], &words[..]].concat()).env("TOKEN", "secret").check(expect![[r#"
        exit code 0
        -- stdout
        none
        -- stderr
        default value used, variable set but not granted: TOKEN
    "#]]);
    let ran = place.call(&[&["p:t", "--format", "json"], &words[..]].concat());
    assert_eq!(ran.env("TOKEN", "secret").run().json()["defaulted"][0], "TOKEN");
    place.call(&[&["p:t"], &words[..]].concat()).check(expect![[r#"
        exit code 0
        -- stdout
        none
    "#]]);
}

#[test]
fn why_an_output_was_not_kept_is_told() {
    let place = Place::with_tools(&[("t", "echo 0123456789", "")]);
    // A file where the directory of states would be.
    place.write("states", "");
    place.write("config.json", r#"{"audit": {"enabled": false}}"#);
    let call = place.call(&["p:t", "--output-limit", "4", "--config", "config.json"]);
    let ran = call.env("XDG_STATE_HOME", place.path().join("states").to_str().unwrap()).run();
    let text = ran.stderr();
    assert!(text.contains("; the whole could not be kept: "), "{text}");
    assert!(text.contains("/states/flyto/output: Not a directory"), "{text}");
}
