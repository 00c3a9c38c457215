//! Calls that are refused, and what their preflight says.

use expect_test::expect;
use rustix::process::Signal;

use crate::live;
use crate::place::Place;

#[test]
fn a_tool_that_needs_a_checkpoint_is_refused() {
    let place = Place::with_tools(&[("t", "touch ran", r#""requires_checkpoint": true"#)]);
    place.call(&["p:t"]).check(expect![[r#"
        exit code 5
        -- stderr
        error: the call of "p:t" was refused by the stage "checkpoint": it needs a checkpoint before each call, and stdin is no terminal
          help: call it in the foreground at a terminal, which asks
          help: to allow it, put {"permissions":{"allow":["p:t"]}} into DIR/home/.config/flyto/config.json
    "#]]);
    place.call(&["p:t", "--dry-run"]).check(expect![[r#"
        exit code 5
        -- stdout
        runs         sh t.sh
        in           DIR/plugins/p
        environment  HOME PATH (the host's)
                     PLUGIN_DATA PLUGIN_ROOT (the plugin's)
        deadline     30 s
        stdin        2 B
        permission   ask: `sh t.sh`: no rule allows it; to allow it: p:t
                     a call by name is the operator's yes
        problem      it needs a checkpoint before each call, and stdin is no terminal
        backend      linux
        ended        every descendant, with the call
        sandbox      none
        limits       1024 processes (by default; one more gets EAGAIN)
        isolation    none
        to grant     {"plugins": {"grants": {"p": {"env": ["ANOTHER_VARIABLE"]}}}}
                     in DIR/home/.config/flyto/config.json
    "#]]);
    let dry = place.call(&["p:t", "--dry-run", "--format", "json"]).run();
    assert_eq!(dry.code, Some(5));
    let refused = &dry.json()["refused"];
    assert_eq!((&refused["stage"], &refused["tool"]), (&"checkpoint".into(), &"p:t".into()));
    assert_eq!(refused["allowed_by"], serde_json::json!(["p:t"]));
    let page = place.flyto(&["--plugins", "plugins", "show", "p:t"]).run().shown();
    let line = page.lines().find(|it| it.starts_with("checkpoint"));
    expect!["checkpoint   needed before each call"].assert_eq(line.expect("it is said"));
    assert!(!place.exists("plugins/p/ran"));
}

#[test]
fn a_dry_run_says_what_keeps_a_call_from_starting() {
    let place = Place::with_tools(&[("nowhere", "", r#""work_dir": "gone""#)]);
    place.write("plugins/q/no-right", "#!/bin/sh\n");
    place.write(
        "plugins/q/plugin.json",
        r#"{"name": "q", "tools": [
            {"name": "missing", "description": "x", "command": "no-such-program"},
            {"name": "closed", "description": "x", "command": "./no-right"}]}"#,
    );
    let mut res = String::new();
    for tool in ["p:nowhere", "q:missing", "q:closed"] {
        let ran = place.call(&[tool, "--dry-run"]).run();
        let shown = ran.shown();
        let problems = shown.lines().filter(|it| it.starts_with("problem"));
        res.push_str(&format!("{tool}: {:?}\n", ran.code));
        problems.for_each(|it| res.push_str(&format!("{it}\n")));
    }
    expect![[r#"
        p:nowhere: Some(7)
        problem      failed to start "sh": its working directory is DIR/plugins/p/gone
        q:missing: Some(7)
        problem      failed to start "no-such-program": no such program in PATH=/usr/local/bin:/usr/bin:/bin
        q:closed: Some(7)
        problem      failed to start "./no-right": DIR/plugins/q/./no-right lacks the right to execute
    "#]].assert_eq(&res);
}

#[test]
fn a_dry_run_says_once_what_is_wrong_with_an_input() {
    let place = Place::new();
    place.write(
        "plugins/w/plugin.json",
        r#"{"name": "w", "version": "1", "description": "x", "tools": [
            {"name": "t", "description": "x", "command": "echo {{n}}", "parameters": {
            "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}]}"#,
    );
    let ran = place.call(&["w:t", "n:=[]", "--dry-run"]).run();
    let shown = ran.shown();
    let said = shown.lines().filter(|it| it.starts_with("input") || it.starts_with("problem"));
    assert_eq!((ran.code, said.count()), (Some(3), 1), "{shown}");
}

/// Calls a tool that needs a checkpoint at a terminal, answers, and gives the exit code and what was shown.
fn answered(place: &Place, answer: &str) -> (Option<i32>, String) {
    live::answered(place.call(&["p:t", "--color", "never", "x=1"]), 80, "", &[("(N) ", answer)])
}

#[test]
fn a_dry_run_at_a_terminal_says_that_the_call_asks() {
    let place = Place::with_tools(&[("t", "echo ran", r#""requires_checkpoint": true"#)]);
    let dry = place.call(&["p:t", "--dry-run", "--color", "never"]);
    let (code, seen) = live::answered(dry, 80, "", &[]);
    let rows: Vec<_> = seen.lines().filter(|it| it.starts_with("checkpoint")).collect();
    assert_eq!(
        (code, &*rows),
        (Some(0), &["checkpoint   the call asks at the terminal first"][..])
    );
    assert!(!seen.contains("problem"), "{seen}");
    let dry = place.call(&["p:t", "--dry-run", "--format", "json"]);
    let (code, seen) = live::answered(dry, 80, "", &[]);
    let document: serde_json::Value = serde_json::from_str(&seen).unwrap();
    assert_eq!((code, &document["asks"]), (Some(0), &"checkpoint".into()));
    // A call in the background has no terminal, wherever it is started.
    let (code, seen) = live::answered(place.call(&["p:t", "--background"]), 80, "", &[]);
    assert!(seen.contains("a call in the background asks no question"), "{seen}");
    assert!(seen.contains("call it in the foreground at a terminal"), "{seen}");
    assert!(seen.contains(r#"to allow it, put {"permissions":{"allow":["p:t"]}} into"#), "{seen}");
    assert_eq!(code, Some(5));
}

#[test]
fn what_was_typed_before_a_question_is_no_answer() {
    let place = Place::with_tools(&[("t", "echo ran", r#""requires_checkpoint": true"#)]);
    let (code, seen) = live::answered(place.call(&["p:t"]), 80, "y\n", &[("(N) ", "n\n")]);
    assert_eq!(code, Some(5), "{seen}");
    assert!(!seen.contains("ran\n"), "{seen}");
}

#[test]
fn a_long_input_is_shown_when_it_is_asked_for() {
    let place = Place::with_tools(&[("t", "echo ran", r#""requires_checkpoint": true"#)]);
    let input = format!("x={}MIDDLE{}", "a".repeat(4000), "b".repeat(4000));
    let call = || place.call(&["p:t", "--color", "never", &input]);
    let (code, seen) = live::answered(call(), 80, "", &[("(N) ", "n\n")]);
    assert!(seen.contains("a … 3.8 KiB left out … b") && !seen.contains("MIDDLE"), "{seen}");
    assert_eq!((code, seen.contains("show the whole input (i), once (y)")), (Some(5), true));
    let (code, seen) = live::answered(call(), 80, "", &[("(N) ", "i\n"), ("(N) ", "y\n")]);
    assert!(seen.contains("aMIDDLEb") && seen.ends_with("ran\n"), "{seen}");
    assert_eq!(code, Some(0));
}

#[test]
fn a_person_at_a_terminal_releases_a_call() {
    let place = Place::with_tools(&[("t", "echo ran", r#""requires_checkpoint": true"#)]);
    let (code, seen) = answered(&place, "y\n");
    assert_eq!(code, Some(0), "{seen}");
    assert!(
        seen.contains("checkpoint   p:t\n") && seen.contains("input        {\"x\":\"1\"}"),
        "{seen}"
    );
    assert!(seen.contains("runs         sh t.sh") && seen.ends_with("ran\n"), "{seen}");
}

#[test]
fn a_person_at_a_terminal_refuses_a_call() {
    let place = Place::with_tools(&[("t", "echo ran", r#""requires_checkpoint": true"#)]);
    for answer in ["n\n", "\n", "yess\n"] {
        let (code, seen) = answered(&place, answer);
        assert_eq!(code, Some(5), "{seen}");
        assert!(
            seen.contains("was refused by the stage \"checkpoint\": it was not released"),
            "{seen}"
        );
        assert!(!seen.contains("ran\n"), "{seen}");
    }
}

#[test]
fn a_call_that_ends_at_its_question_is_no_refusal() {
    let place = Place::with_tools(&[("t", "echo ran", r#""requires_checkpoint": true"#)]);
    // What ends the wait, the exit code, and the failure that is recorded.
    for (signal, code, failure) in [
        (Some(Signal::INT), 130, "cancelled"),
        (Some(Signal::TERM), 143, "cancelled"),
        (None, 6, "timed_out"),
    ] {
        let time = if signal.is_some() { "60" } else { "4" };
        let (mut controller, user) = live::terminal(80);
        let (input, output) = (user.try_clone().unwrap(), user.try_clone().unwrap());
        let flyto = place.call(&["p:t", "--timeout", time]);
        let mut flyto = flyto.command(|it| _ = it.stdin(input).stdout(output).stderr(user)).start();
        live::read_until(&mut controller, "(N) ");
        if let Some(signal) = signal {
            live::interrupt(&flyto, signal);
        }
        assert_eq!(flyto.wait().unwrap().code(), Some(code), "{signal:?}");
        let calls = place.flyto(&["audit", "list", "--format", "json"]).run().json();
        let last = calls["calls"].as_array().unwrap().last().unwrap()["id"].as_str().unwrap();
        let shown = place.flyto(&["audit", "show", last]).run().stdout();
        assert!(shown.contains(failure) && shown.contains("checkpoint"), "{shown}");
    }
}

#[test]
fn an_answer_for_always_is_a_rule_in_the_configuration() {
    let place = Place::with_tools(&[("t", "echo ran", r#""requires_checkpoint": true"#)]);
    let (code, seen) = answered(&place, "a\n");
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("always       adds p:t to permissions.allow in "), "{seen}");
    expect![[r#"
        {
          "permissions": {"allow": ["p:t"]}
        }
    "#]]
    .assert_eq(
        &std::fs::read_to_string(place.path().join("home/.config/flyto/config.json")).unwrap(),
    );
    // The next call needs no terminal.
    let ran = place.call(&["p:t", "x=1"]).run();
    assert_eq!((ran.code, &*ran.stdout), (Some(0), &b"ran\n"[..]), "{}", ran.shown());
}

#[test]
fn a_rule_that_denies_stops_the_operator_too() {
    let place = Place::with_tools(&[("t", "echo ran", "")]);
    place.write("config.json", "{\"permissions\": {\n\"deny\": [\"p:t\"]}}");
    place.call(&["p:t", "--config", "config.json"]).check(expect![[r#"
        exit code 5
        -- stderr
        error: the call of "p:t" was refused by the stage "permission": the rules deny it: tool p:t: p:t (deny, operator, DIR/config.json:2:10)
          help: the rule stands in DIR/config.json:2:10; `flyto --plugins plugins --config config.json permission test` explains each part of a call
    "#]]);
    let dry = place.call(&["p:t", "--config", "config.json", "--dry-run", "--format", "json"]);
    let refused = &dry.run().json()["refused"];
    assert_eq!(
        (&refused["stage"], &refused["rule"]["text"]),
        (&"permission".into(), &"p:t".into())
    );
    assert_eq!(refused["rule"]["place"]["line"], 2);
    place.call(&["p:t", "--config", "config.json", "--dry-run"]).check(expect![[r#"
        exit code 5
        -- stdout
        runs         sh t.sh
        in           DIR/plugins/p
        environment  HOME PATH (the host's)
                     PLUGIN_DATA PLUGIN_ROOT (the plugin's)
        deadline     30 s
        stdin        2 B
        permission   deny: tool p:t: p:t (deny, operator, DIR/config.json:2:10)
        backend      linux
        ended        every descendant, with the call
        sandbox      none
        limits       1024 processes (by default; one more gets EAGAIN)
        isolation    none
        to grant     {"plugins": {"grants": {"p": {"env": ["ANOTHER_VARIABLE"]}}}}
                     in DIR/config.json
    "#]]);
}

#[test]
fn a_rule_of_a_plugin_is_named_with_its_line() {
    let place = Place::with_tools(&[("t", "echo ran", "")]);
    place.write("config.json", r#"{"permissions": {"allow": ["p:*"]}}"#);
    let path = place.path().join("plugins/p/plugin.json");
    let text = std::fs::read_to_string(&path).expect("read");
    let rules = |rules: &str| {
        let text = text.replacen('{', &format!("{{\n\"permissions\": {rules},\n"), 1);
        place.write("plugins/p/plugin.json", &text);
    };
    let words = ["permission", "test", "p:t", "--plugins", "plugins", "--config", "config.json"];
    rules(r#"{"deny": ["Bash(sh:*)"]}"#);
    place.flyto(&words).check(expect![[r#"
        exit code 5
        -- stdout
        deny: `sh t.sh`: Bash(sh:*) (deny, plugin p, DIR/plugins/p/plugin.json:2:26)
    "#]]);
    rules(r#"{"ask": ["p:t"]}"#);
    place.flyto(&words).check(expect![[r#"
        exit code 5
        -- stdout
        ask: tool p:t: p:t (ask, plugin p, DIR/plugins/p/plugin.json:2:25)
    "#]]);
    let shown =
        place.flyto(&["show", "p:t", "--plugins", "plugins", "--config", "config.json"]).run();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("ask: tool p:t: p:t (ask, plugin p, "), "{shown}");
    rules(r#"{"deny": ["q:t"]}"#);
    place.flyto(&["validate", "plugins/p"]).check(expect![[r#"
        exit code 3
        -- stdout
        error[F0169]: "q:t" is no rule: a rule of a plugin names no tools but the plugin's own
         --> plugins/p/plugin.json:2:27
          |
        2 | "permissions": {"deny": ["q:t"]},
          |                           ^^^
          |
          = at: /permissions/deny/0
          = note: a rule that is not read would not hold
          = help: `flyto explain F0169` shows rules of a plugin

        -- stderr
        failed: 1 error in 1 plugin
    "#]]);
    place.flyto(&words).check(expect![[r#"
        exit code 4
        -- stderr
        error[F0169]: "q:t" is no rule: a rule of a plugin names no tools but the plugin's own
         --> DIR/plugins/p/plugin.json:2:27
          |
        2 | "permissions": {"deny": ["q:t"]},
          |                           ^^^
          |
          = at: /permissions/deny/0
          = note: a rule that is not read would not hold
          = help: `flyto explain F0169` shows rules of a plugin

        error: there is no tool "p:t"
    "#]]);
}

#[test]
fn the_rules_decide_without_a_call() {
    let place = Place::with_tools(&[("t", "echo ran", "")]);
    place.write("config.json", r#"{"permissions": {"allow": ["p:t"], "deny": ["Bash(rm:*)"]}}"#);
    place.write(
        "exec.json",
        r#"[{"name": "run", "description": "x", "exec": ["sh", "-c", "true"],
            "input_schema": {"type": "object", "properties": {"n": {"type": "integer"}}}}]"#,
    );
    let test = |words: &[&str]| {
        let sources =
            ["--plugins", "plugins", "--config", "config.json", "--exec-tools", "exec.json"];
        place.flyto(&[&["permission", "test"], words, &sources].concat())
    };
    test(&["p:t"]).check(expect![[r#"
        exit code 0
        -- stdout
        allow: `sh t.sh`: p:t (allow, operator, DIR/config.json:1:28)
    "#]]);
    test(&["run"]).check(expect![[r#"
        exit code 5
        -- stdout
        ask: tool run: no rule allows it; to allow it: run
    "#]]);
    test(&["p:t", "--format", "json"]).check(expect![[r#"
        exit code 0
        -- stdout
        {
          "tool": "p:t",
          "verdict": "allow",
          "reasons": [
            {
              "verdict": "allow",
              "subject": {
                "kind": "command",
                "text": "sh t.sh"
              },
              "cause": {
                "kind": "rule",
                "rule": {
                  "text": "p:t",
                  "effect": "allow",
                  "layer": "operator",
                  "place": {
                    "file": "DIR/config.json",
                    "line": 1,
                    "column": 28,
                    "pointer": "/permissions/allow/0"
                  }
                }
              }
            }
          ],
          "allowed_by": [],
          "violations": []
        }
    "#]]);
    test(&["run", "n=x"]).check(expect![[r#"
        exit code 5
        -- stdout
        ask: tool run: no rule allows it; to allow it: run
        the input breaks the schema of the tool: /n: expected an integer, got the string "x"
        -- stderr
        for an integer, write n:=JSON
    "#]]);
    test(&["run", "n=x", "--format", "json"]).check(expect![[r#"
        exit code 5
        -- stdout
        {
          "tool": "run",
          "verdict": "ask",
          "reasons": [
            {
              "verdict": "ask",
              "subject": {
                "kind": "tool",
                "name": "run"
              },
              "cause": {
                "kind": "default",
                "default": {
                  "name": "no_rule"
                }
              },
              "suggestion": "run"
            }
          ],
          "allowed_by": [
            "run"
          ],
          "violations": [
            {
              "pointer": "/n",
              "expected": "an integer",
              "got": "the string \"x\""
            }
          ]
        }
    "#]]);
    test(&["p:nothing"]).check(expect![[r#"
        exit code 4
        -- stderr
        error: there is no tool "p:nothing"
    "#]]);
}

#[test]
fn a_checkpoint_is_told_beside_the_decision() {
    let gated = r#""requires_checkpoint": true"#;
    let place = Place::with_tools(&[("g", "echo ran", gated)]);
    let test = |rule: &str, more: &[&str]| {
        let config = serde_json::json!({"permissions": {"allow": [rule]}});
        place.write("config.json", &config.to_string());
        let words =
            ["--plugins", "plugins", "--config", "config.json", "permission", "test", "p:g"];
        place.flyto(&[&words, more].concat())
    };
    test("p:*", &[]).check(expect![[r#"
        exit code 5
        -- stdout
        allow: `sh g.sh`: p:* (allow, operator, DIR/config.json:1:26)
        ask: the tool needs a checkpoint; to release it: p:g
    "#]]);
    let told = test("p:*", &["--format", "json"]).run().json();
    assert_eq!(told["checkpoint"]["released_by"], serde_json::json!(["p:g"]));
    let released = test("p:g", &["--format", "json"]).run();
    assert_eq!(released.code, Some(0), "{}", released.shown());
    assert!(released.json().get("checkpoint").is_none());
}

#[test]
fn a_document_has_the_stages_and_the_refusal() {
    let place = Place::with_tools(&[("t", "echo ran", ""), ("d", "echo ran", "")]);
    place.write("config.json", r#"{"permissions": {"deny": ["p:d"]}}"#);
    let call = |words: &[&str]| {
        let fixed = ["--format", "json", "--config", "config.json"];
        place.call(&[words, &fixed].concat()).run()
    };
    let names = |it: &serde_json::Value| -> Vec<String> {
        let stages = it["stages"].as_array().unwrap().iter();
        stages
            .map(|it| {
                assert!(it["time"].as_f64().is_some());
                it["stage"].as_str().unwrap().to_owned()
            })
            .collect()
    };
    assert_eq!(names(&call(&["p:t", "-vv"]).json()).len(), 9);
    assert!(call(&["p:t", "-v"]).json().get("stages").is_none());
    let error = call(&["p:d", "-vv"]).json_error()["error"].take();
    assert_eq!(names(&error), ["validate", "permission"]);
    let refusal = &error["refusal"];
    assert_eq!((&refusal["tool"], &refusal["stage"]), (&"p:d".into(), &"permission".into()));
    assert_eq!(refusal["rule"]["place"]["line"], 1);
    assert!(refusal["rule"]["place"]["file"].as_str().unwrap().ends_with("/config.json"));
    let error = call(&["p:d", "--background"]).json_error()["error"].take();
    assert_eq!(error["refusal"], *refusal);
}

#[test]
fn the_stages_of_a_call_are_timed() {
    let gated = r#""requires_checkpoint": true"#;
    let place = Place::with_tools(&[("t", "echo ran", ""), ("g", "echo ran", gated)]);
    let stages = |tool: &str| {
        let shown = place.call(&[tool, "-vv"]).run().stderr();
        let stages = shown.lines().skip_while(|it| !it.starts_with("stages"));
        let names = stages.map_while(|it| it.split_once(" µs  ").map(|it| it.1.to_owned()));
        names.collect::<Vec<_>>().join(", ")
    };
    let all = "validate, permission, reverse thinking, checkpoint, audit, execute, undo, output guard, bound";
    assert_eq!(stages("p:t"), all);
    // The stages behind the one that refused were not reached.
    expect!["validate, permission, reverse thinking, checkpoint"].assert_eq(&stages("p:g"));
    expect![""].assert_eq(&{
        let shown = place.call(&["p:t", "-v"]).run().stderr();
        shown.lines().filter(|it| it.starts_with("stages")).collect::<String>()
    });
}

#[test]
fn a_dry_run_ends_with_the_exit_code_of_the_call() {
    let place = Place::with_tools(&[("nowhere", "", r#""work_dir": "gone""#), ("fine", "", "")]);
    place.write("plugins/q/no-right", "#!/bin/sh\n");
    place.write(
        "plugins/q/plugin.json",
        r#"{"name": "q", "version": "1", "description": "x", "tools": [
            {"name": "missing", "description": "x", "command": "no-such-program"},
            {"name": "closed", "description": "x", "command": "./no-right"},
            {"name": "unset", "description": "x", "command": "true", "env": {"A": "${NOT_SET_ANYWHERE}"}},
            {"name": "value", "description": "x", "command": "echo {{n}}", "parameters": {
            "type": "object", "properties": {"n": {"type": "string"}}, "required": ["n"]}}]}"#,
    );
    place.write(
        "exec.json",
        r#"[{"name": "gone", "description": "x", "input_schema": {"type": "object"}, "exec": ["no-such-program"]}]"#,
    );
    for (words, code) in [
        (&["p:fine"][..], 0),
        (&["p:nowhere"], 7),
        (&["q:missing"], 7),
        (&["q:closed"], 7),
        (&["q:unset"], 1),
        (&["q:value"], 3),
        (&["q:value", "n=-x"], 3),
        (&["q:value", "n=x"], 0),
        (&["gone", "--exec-tools", "exec.json"], 1),
    ] {
        let ran = place.call(words).run();
        assert_eq!(ran.code, Some(code), "{words:?}: {}", ran.shown());
        let dry = place.call(&[words, &["--dry-run"]].concat()).run();
        assert_eq!(dry.code, Some(code), "{words:?}: {}", dry.shown());
    }
}

#[test]
fn a_variable_that_is_not_set_is_named_with_where_to_set_it() {
    let place = Place::with_tools(&[("t", "true", r#""env": {"T": "${NOPE}"}"#)]);
    place.call(&["p:t"]).check(expect![[r#"
        exit code 1
        -- stdout
        plugin tool "p:t": resolve env failed: variable not set: NOPE (used in T)⏎
        -- stderr
        to set  NOPE in the environment of flyto
    "#]]);
    let ran = place.call(&["p:t", "--format", "json"]).run();
    assert_eq!((ran.code, &ran.json()["to_set"]), (Some(1), &serde_json::json!(["NOPE"])));
    assert_eq!(place.call(&["p:t"]).env("NOPE", "x").run().code, Some(0));
}

#[test]
fn pairs_that_break_the_schema_are_told_with_how_to_write_them() {
    let place = Place::with_tools(&[(
        "t",
        "true",
        r#""input_schema": {"type": "object", "required": ["name"],
            "properties": {"name": {"type": "string"}, "count": {"type": "integer"}}}"#,
    )]);
    place.call(&["p:t", "nam=Ada", "count=2"]).check(expect![[r#"
        exit code 3
        -- stdout
        invalid input:
          /name: expected a string (it is required), got nothing
          /count: expected an integer, got the string "2"⏎
        -- stderr
        did you mean name in place of nam?
        for an integer, write count:=2
    "#]]);
    let told = "did you mean name in place of nam?\nfor an integer, write count:=2\n";
    for more in ["--dry-run", "--background"] {
        let ran = place.call(&["p:t", "nam=Ada", "count=2", more]).run();
        assert!(ran.code == Some(3) && ran.stderr().ends_with(told), "{}", ran.shown());
    }
    let words = ["--plugins", "plugins", "permission", "test", "p:t", "nam=Ada", "count=2"];
    let ran = place.flyto(&words).run();
    assert!(ran.stderr().ends_with(told), "{}", ran.shown());
}
