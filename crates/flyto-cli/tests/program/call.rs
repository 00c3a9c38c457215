//! `flyto call`, end to end: what is on stdout, what beside it, and the exit code.

use expect_test::expect;

use crate::place::Place;

/// Prints its input.
const CAT: (&str, &str, &str) = ("cat", "cat", "");

#[test]
fn stdout_is_the_output_and_nothing_else() {
    let place = Place::with_tools(&[
        ("line", "echo one; printf two", ""),
        ("nothing", ":", ""),
        ("bytes", r"printf '\377\000\n'", ""),
    ]);
    place.call(&["p:line"]).check(expect![[r#"
        exit code 0
        -- stdout
        one
        two⏎
    "#]]);
    place.call(&["p:nothing"]).check(expect![[r#"
        exit code 0
    "#]]);
    assert_eq!(place.call(&["p:bytes"]).run().stdout, b"\xff\x00\n");
}

#[test]
fn the_input_arrives_as_it_is_written() {
    let place = Place::with_tools(&[CAT]);
    place.call(&["p:cat"]).check(expect![[r#"
        exit code 0
        -- stdout
        {}⏎
    "#]]);
    place.call(&["p:cat", "a=1", "b:=1.50", "n:=-1", "c:={\"x\": [1,  2]}"]).check(expect![[r#"
        exit code 0
        -- stdout
        {"a":"1","b":1.50,"n":-1,"c":{"x": [1,  2]}}⏎
    "#]]);
    place.call(&["p:cat", "--json", " {\"b\":1,  \"a\":1e2}"]).check(expect![[r#"
        exit code 0
        -- stdout
         {"b":1,  "a":1e2}⏎
    "#]]);
    place.call(&["p:cat", "--json", "-"]).stdin(b"{\"from\":\n \"stdin\"}\n").check(expect![[r#"
        exit code 0
        -- stdout
        {"from":
         "stdin"}
    "#]]);
    place.call(&["p:cat", "--", "-x=1", "--y=2"]).check(expect![[r#"
        exit code 0
        -- stdout
        {"-x":"1","--y":"2"}⏎
    "#]]);
}

#[test]
fn a_large_input_arrives_whole() {
    let place = Place::with_tools(&[("count", "wc -c", "")]);
    let text = format!("{{\"a\": \"{}\"}}", "x".repeat(8 << 20));
    let ran = place.call(&["p:count", "--json", "-"]).stdin(text.as_bytes()).run();
    assert_eq!(ran.stdout().trim(), text.len().to_string());
}

#[test]
fn a_large_output_arrives_whole() {
    let place = Place::with_tools(&[("flood", "head -c 9000000 /dev/zero", "")]);
    let ran = place.call(&["p:flood"]).run();
    assert_eq!((ran.code, ran.stdout.len()), (Some(0), 9_000_000));
    assert!(ran.stdout.iter().all(|it| *it == 0));
}

#[test]
fn an_output_limit_cuts_the_middle_and_says_so() {
    let place = Place::with_tools(&[("digits", "printf 0123456789", "")]);
    let ran = place.call(&["p:digits", "--output-limit", "4"]).run();
    assert!(ran.stdout().starts_with("01\n[… 6 bytes omitted"), "{}", ran.stdout());
    assert!(ran.stdout().ends_with("\n89"), "{}", ran.stdout());
    assert!(ran.stderr().starts_with("6 B of the output were left out"), "{}", ran.stderr());
}

#[test]
fn an_output_limit_of_the_configuration_holds_too() {
    let place = Place::with_tools(&[("digits", "printf 0123456789", "")]);
    let config = place.write("limit.json", r#"{"output_limit_bytes": 4}"#);
    let ran = place.call(&["p:digits", "--config", &config.display().to_string()]).run();
    assert!(ran.stdout().starts_with("01\n[… 6 bytes omitted"), "{}", ran.stdout());
}

#[test]
fn a_tool_of_a_refused_file_says_why_it_is_not_there() {
    let place = Place::with_tools(&[CAT]);
    let file = place.write("tools.json", r#"{"name": "hi", "description": "x", "exex": ["cat"]}"#);
    let ran = place.flyto(&["--exec-tools", &file.display().to_string(), "call", "hi"]).run();
    assert_eq!(ran.code, Some(4));
    assert!(ran.stderr().contains("error[F0022]"), "{}", ran.stderr());
    assert!(!ran.stderr().contains("switched off"), "{}", ran.stderr());
}

#[test]
fn hostile_values_are_values() {
    let place = Place::with_tools(&[CAT]);
    place
        .call(&["p:cat", "a='; touch pwned", "b=$(touch pwned)\n`touch pwned`", "c={{x}}", "d=-rf"])
        .check(expect![[r#"
            exit code 0
            -- stdout
            {"a":"'; touch pwned","b":"$(touch pwned)\n`touch pwned`","c":"{{x}}","d":"-rf"}⏎
        "#]]);
    place.call(&["p:cat", "--json", "{\"a\": \"\\u0000\"}"]).check(expect![[r#"
        exit code 0
        -- stdout
        {"a": "\u0000"}⏎
    "#]]);
    assert!(!place.exists("pwned") && !place.exists("plugins/p/pwned"));
}

#[test]
fn a_tool_has_several_names() {
    let place = Place::with_tools(&[("cat", "cat", r#""aliases": ["kitty"]"#)]);
    for name in ["p:cat", "p__cat", "p:kitty"] {
        assert_eq!(place.call(&[name, "a=b"]).run().stdout(), r#"{"a":"b"}"#, "{name}");
    }
}

#[test]
fn a_failure_is_on_stdout_too() {
    let place = Place::with_tools(&[
        ("fails", "echo half; echo why >&2; exit 3", ""),
        ("killed", "kill -KILL $$", ""),
        ("needs", "echo no", r#""env": {"TOKEN": "${FLYTO_TEST_TOKEN}"}"#),
    ]);
    place.call(&["p:fails"]).check(expect![[r#"
        exit code 1
        -- stdout
        exit code 3
        stdout: half

        stderr: why
    "#]]);
    place.call(&["p:killed"]).check(expect![[r#"
        exit code 1
        -- stdout
        exit code -1 (killed by signal 9, SIGKILL)
        stdout: 
        stderr: ⏎
    "#]]);
    place.call(&["p:needs"]).check(expect![[r#"
        exit code 1
        -- stdout
        plugin tool "p:needs": resolve env failed: variable not set: FLYTO_TEST_TOKEN (used in TOKEN)⏎
        -- stderr
        to set  FLYTO_TEST_TOKEN in the environment of flyto
    "#]]);
}

#[test]
fn what_a_tool_says_beside_its_output_is_on_stderr() {
    let place = Place::with_tools(&[("warns", "echo done; printf 'careful' >&2", "")]);
    place.call(&["p:warns"]).check(expect![[r#"
        exit code 0
        -- stdout
        done
        -- stderr
        careful
    "#]]);
    place.call(&["p:warns", "-q"]).check(expect![[r#"
        exit code 0
        -- stdout
        done
    "#]]);
}

#[test]
fn an_input_that_breaks_the_schema_starts_nothing() {
    let schema = r#""input_schema": {"type": "object", "properties": {"n": {"type": "integer"}},
        "required": ["n"], "additionalProperties": false}"#;
    let place = Place::with_tools(&[("strict", "touch ran; cat", schema)]);
    place.call(&["p:strict", "n=3"]).check(expect![[r#"
        exit code 3
        -- stdout
        invalid input: /n: expected an integer, got the string "3"⏎
        -- stderr
        for an integer, write n:=3
    "#]]);
    place.call(&["p:strict", "m:=3"]).check(expect![[r#"
        exit code 3
        -- stdout
        invalid input:
          /n: expected an integer (it is required), got nothing
          /m: unknown property; known: n⏎
    "#]]);
    assert!(!place.exists("plugins/p/ran"));
    place.call(&["p:strict", "n:=3"]).check(expect![[r#"
        exit code 0
        -- stdout
        {"n":3}⏎
    "#]]);
}

#[test]
fn a_call_that_takes_too_long_is_ended() {
    let place = Place::with_tools(&[
        ("hangs", "echo so far; echo beside >&2; sleep 1000", r#""timeout_seconds": 1"#),
        ("patient", "sleep 1000", ""),
    ]);
    place.call(&["p:hangs"]).check(expect![[r#"
        exit code 6
        -- stdout
        plugin tool "p:hangs" timed out after 1s
        stderr: beside
        -- stderr
        until then it had printed:
        so far
    "#]]);
    let ran = place.call(&["p:patient", "--timeout", "0.2"]).run();
    assert_eq!(ran.code, Some(6));
    assert!(ran.stdout().starts_with("plugin tool \"p:patient\" timed out after "));
}

#[test]
fn an_unknown_tool_has_neighbours_and_reasons() {
    let place = Place::with_tools(&[CAT]);
    place.call(&["p:cta"]).check(expect![[r#"
        exit code 4
        -- stderr
        error: there is no tool "p:cta"
          help: did you mean p:cat?
    "#]]);
    // A tool of another plugin may do something else under the same name.
    place.call(&["pp:cat"]).check(expect![[r#"
        exit code 4
        -- stderr
        error: there is no tool "pp:cat"
          help: there is no plugin "pp"
    "#]]);
    place.call(&["elsewhere:cat"]).check(expect![[r#"
        exit code 4
        -- stderr
        error: there is no tool "elsewhere:cat"
          help: there is no plugin "elsewhere"
    "#]]);
    place.write(
        "plugins/broken/plugin.json",
        r#"{"name": "broken", "tools": [{"name": "t", "comand": "true"}]}"#,
    );
    place.call(&["broken:t"]).check(expect![[r#"
        exit code 4
        -- stderr
        warning[F0121]: the tool "t" has no description
         --> DIR/plugins/broken/plugin.json:1:30
          |
        1 | {"name": "broken", "tools": [{"name": "t", "comand": "true"}]}
          |                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          |
          = at: /tools/0
          = note: a model chooses a tool by its description
          = help: say in a sentence or two what the tool does and when to use it

        error[F0022]: the key "command" is missing
         --> DIR/plugins/broken/plugin.json:1:30
          |
        1 | {"name": "broken", "tools": [{"name": "t", "comand": "true"}]}
          |                              ^             -------- this key is unknown
          |
          = at: /tools/0
        help: "comand" looks like it; write "command"
          |
        1 | {"name": "broken", "tools": [{"name": "t", "command": "true"}]}
          |                                                +

        error: there is no tool "broken:t"
    "#]]);
}

#[test]
fn a_missing_source_is_no_such_file() {
    let place = Place::new();
    place.flyto(&["--plugins", "nowhere", "call", "p:t"]).check(expect![[r#"
        exit code 4
        -- stderr
        error: there is no file or directory nowhere
    "#]]);
    place.flyto(&["--exec-tools", "nowhere.json", "list"]).check(expect![[r#"
        exit code 4
        -- stderr
        error: there is no file or directory nowhere.json
    "#]]);
    place.flyto(&["--config", "nowhere.json", "list"]).check(expect![[r#"
        exit code 4
        -- stderr
        error: there is no file or directory nowhere.json
    "#]]);
}

#[test]
fn a_plugin_that_is_held_back_is_not_called() {
    let place = Place::with_tools(&[CAT]);
    place.write("blocks.json", r#"{"plugins": {"blocked_plugins": ["p"]}}"#);
    place.call(&["p:cat", "--config", "blocks.json"]).check(expect![[r#"
        exit code 5
        -- stderr
        error: the tool "p:cat" cannot be used: plugin "p" is blocked
          help: `plugins.blocked_plugins` in DIR/blocks.json:1 names it
    "#]]);
    place.write("off.json", r#"{"plugins": {"enabled": false, "plugin_dirs": ["plugins"]}}"#);
    place.flyto(&["--config", "off.json", "call", "p:cat"]).check(expect![[r#"
        exit code 5
        -- stderr
        error: the tool "p:cat" cannot be used: plugin "p" is disabled
          help: `plugins.enabled` in DIR/off.json:1 is false; `--plugins DIR` is used all the same
    "#]]);
    let user = "{\"plugins\": {\n\"allowed_plugins\": [\"q\", \"p\"]}}";
    place.write("home/.config/flyto/config.json", user);
    place.write(".flyto/config.json", "{\"plugins\": {\n\n\"allowed_plugins\": [\"q\"]}}");
    let told = |place: &Place| place.call(&["p:cat"]).run().stderr();
    let narrowed = told(&place);
    assert!(narrowed.contains(".flyto/config.json:3 does not name it"), "{narrowed}");
    place.write("home/.config/flyto/config.json", &user.replace(", \"p\"", ""));
    let theirs = told(&place);
    let name = "`plugins.allowed_plugins` in DIR/home/.config/flyto/config.json:2 does not name it";
    assert!(theirs.contains(&name.replace("DIR", &place.path().display().to_string())), "{theirs}");
}

#[test]
fn what_cannot_be_tried_says_why() {
    let place = Place::new();
    place.write(
        "plugins/p/plugin.json",
        r#"{"name": "p", "tools": [
            {"name": "gone", "description": "x", "command": "flyto-no-such-program"},
            {"name": "lost", "description": "x", "command": "true", "work_dir": "nowhere"}]}"#,
    );
    place.call(&["p:gone"]).check(expect![[r#"
        exit code 7
        -- stderr
        error: plugin tool "p:gone" exec failed: failed to start "flyto-no-such-program": no such program in PATH=/usr/local/bin:/usr/bin:/bin
    "#]]);
    place.call(&["p:lost"]).check(expect![[r#"
        exit code 7
        -- stderr
        error: plugin tool "p:lost" exec failed: failed to start "true": its working directory is DIR/plugins/p/nowhere: No such file or directory (os error 2)
    "#]]);
}

#[test]
fn a_call_without_descriptors_is_not_tried() {
    let place = Place::with_tools(&[CAT]);
    // From the least with which a program starts to more than a runtime takes.
    for n_files in 6..12 {
        let limited = format!(r#"ulimit -n {n_files}; exec "$@""#);
        place.call(&["p:cat"]).started_by(&limited).check(expect![[r#"
            exit code 7
            -- stderr
            error: the call cannot be prepared: Too many open files (os error 24)
              help: raise the limit of open files, as with `ulimit -n 256`
        "#]]);
    }
}

#[test]
fn an_exec_tool_that_does_not_start_is_a_result() {
    let place = Place::new();
    place.write(
        "tools.json",
        r#"{"name": "gone", "description": "x", "exec": ["no-such-program"]}"#,
    );
    place.flyto(&["--tools-schema", "tools.json", "call", "gone"]).check(expect![[r#"
        exit code 1
        -- stdout
        error: failed to start "no-such-program": no such program in PATH=/usr/local/bin:/usr/bin:/bin⏎
    "#]]);
}

#[test]
fn a_wrong_command_line_is_explained() {
    let place = Place::with_tools(&[CAT]);
    place.call(&["p:cat", "foo"]).check(expect![[r#"
        exit code 2
        -- stderr
        error: the argument "foo" is no pair of key and value
          help: write key=text, or key:=JSON for numbers, booleans, arrays and objects
    "#]]);
    place.call(&["p:cat", "a=1", "a=2"]).check(expect![[r#"
        exit code 2
        -- stderr
        error: the key "a" is given twice
          help: for an array, write a:='[…]'
    "#]]);
    place.call(&["p:cat", "n:=01"]).check(expect![[r#"
        exit code 2
        -- stderr
        error[F0010]: "01" is not a number
         --> the value of n:1:1
          |
        1 | 01
          | ^^
          |
        help: a number has no leading zeros; write 1
          |
        1 - 01
        1 + 1
          |

        error: the value of n is not usable JSON
          help: for the text as it is, write n=…
    "#]]);
    place.call(&["p:cat", "a=1", "--json", "{}"]).check(expect![[r#"
        exit code 2
        -- stderr
        error: the input is given twice: by --json and by pairs
          help: put everything into --json, or leave --json out
    "#]]);
    place.call(&["p:cat", "--json", "{\"a\": }"]).check(expect![[r#"
        exit code 2
        -- stderr
        error[F0005]: expected a value after the colon, found `}`
         --> --json:1:7
          |
        1 | {"a": }
          |       ^
          |
          = help: write a value, such as `null`

        error: --json is not usable JSON
    "#]]);
    place.call(&["p:cat", "--timeout", "0"]).check(expect![[r#"
        exit code 2
        -- stderr
        error: invalid value '0' for '--timeout <SECONDS>': expected more than 0 seconds

        For more information, try '--help'.
    "#]]);
    for (value, why) in [
        ("-1", "expected more than 0 seconds"),
        ("-1s", "expected more than 0 seconds"),
        ("90s", "expected a number of seconds; write 90"),
        ("1.5m", "expected a number of seconds; write 90"),
        ("soon", "expected a number of seconds"),
    ] {
        let ran = place.call(&["p:cat", "--timeout", value]).run();
        assert_eq!(ran.code, Some(2), "{value}");
        let line = format!("error: invalid value '{value}' for '--timeout <SECONDS>': {why}\n");
        assert!(ran.stderr().starts_with(&line), "{}", ran.stderr());
    }
    place.call(&["p:cat", "--dry-rnu"]).check(expect![[r#"
        exit code 2
        -- stderr
        error: unexpected argument '--dry-rnu' found

          tip: a similar argument exists: '--dry-run'

        Usage: flyto call --dry-run <NAME> [KEY=VALUE]...

        For more information, try '--help'.
    "#]]);
}

#[test]
fn verbose_says_what_ran() {
    let place = Place::with_tools(&[("t", "echo hi", "")]);
    place.call(&["p:t", "-v"]).check(expect![[r#"
        exit code 0
        -- stdout
        hi
        -- stderr
        tool      p:t
        ended     ok
        ran       sh t.sh
        in        DIR/plugins/p
        on        linux
        took         MEASURED
        wrote     3 B to stdout, 0 B to stderr
        in force  tree-kill
    "#]]);
}

#[test]
fn verbose_says_of_a_failure_what_held() {
    let place = Place::with_tools(&[("t", "exit 3", "")]);
    let rows = |words: &[&str]| {
        let shown = place.call(words).run().stderr();
        let is_asked = |it: &&str| it.starts_with("sandbox") || it.starts_with("limits");
        shown.lines().filter(is_asked).map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    let shown = place.flyto(&["--plugins", "plugins", "show", "p:t"]).run().stdout();
    let failed = rows(&["p:t", "-v"]);
    assert_eq!(failed.len(), 2, "{failed:?}");
    for row in failed {
        let (name, value) = row.split_once(' ').expect("a name and a value");
        let is_there = |it: &str| it.starts_with(name) && it.ends_with(value.trim());
        assert!(shown.lines().any(is_there), "{row}\n{shown}");
    }
}

#[test]
fn json_is_one_document() {
    let place = Place::with_tools(&[
        ("ok", "echo hi; echo beside >&2", ""),
        ("fails", "exit 3", ""),
        ("bytes", r"printf '\377'", ""),
    ]);
    let call = |name: &str| {
        let ran = place.call(&[name, "--format", "json", "-v"]).run();
        assert_eq!(ran.stderr(), "");
        (ran.code, ran.json())
    };
    let (code, ok) = call("p:ok");
    assert_eq!((code, &ok["exit_code"], &ok["output"]), (Some(0), &0.into(), &"hi\n".into()));
    assert_eq!((&ok["tool"], &ok["is_error"]), (&"p:ok".into(), &false.into()));
    assert_eq!(ok["execution"]["stderr"], "beside\n");
    assert_eq!(ok["execution"]["confirmed"], true);
    let (code, fails) = call("p:fails");
    assert_eq!((code, &fails["exit_code"]), (Some(1), &1.into()));
    assert_eq!(fails["failure"], serde_json::json!({"kind": "exit_code", "code": 3}));
    assert_eq!(call("p:bytes").1["raw_base64"], "/w==");
    let dry = place.call(&["p:ok", "--dry-run", "--format", "json"]).run().json();
    assert_eq!(dry["preview"]["command_line"], serde_json::json!(["sh", "ok.sh"]));
    let home = serde_json::json!({"name": "HOME", "origin": "host", "reads": []});
    assert_eq!(dry["variables"][0], home);
}

#[test]
fn errors_as_json_are_one_document_on_stderr() {
    let place = Place::with_tools(&[CAT]);
    for (words, code, kind) in [
        (&["p:cta"][..], 4, "not_found"),
        (&["p:cat", "foo"], 2, "usage"),
        (&["p:cat", "a:=tru"], 2, "usage"),
        (&["p:cat", "--no-such-flag"], 2, "usage"),
    ] {
        let ran = place.call(&[words, &["--format", "json"]].concat()).run();
        let error = &ran.json_error()["error"];
        assert_eq!(ran.code, Some(code), "{words:?}");
        assert_eq!(
            (&error["exit_code"], &error["kind"]),
            (&code.into(), &kind.into()),
            "{words:?}"
        );
        assert!(error["message"].is_string() && error["findings"].is_array(), "{words:?}");
    }
}

#[test]
fn ten_at_once_do_not_meet() {
    let place = Place::with_tools(&[CAT]);
    let running: Vec<_> =
        (0..10).map(|n| (n, place.call(&["p:cat", &format!("n:={n}")]).start())).collect();
    for (n, child) in running {
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{{\"n\":{n}}}"));
        assert_eq!(output.status.code(), Some(0));
    }
}

#[test]
fn a_configuration_that_does_not_all_hold_is_mentioned() {
    let place = Place::with_tools(&[("t", "echo out", "")]);
    let config =
        r#"{"plugins": {"grants": {"p": {"env": ["LANG"]}, "q": {}}}, "exec_tools": ["x"]}"#;
    place.write(".flyto/config.json", config);
    let call = ["--plugins", "plugins", "call", "p:t"];
    place.flyto(&call).check(expect![[r#"
        exit code 0
        -- stdout
        out
        -- stderr
        DIR/.flyto/config.json: "exec_tools" of an untrusted project is left out: it can only narrow, and 1 more; `flyto --plugins plugins list --problems` shows it
    "#]]);
    let quiet = place.flyto(&[&call[..], &["--quiet"]].concat()).run();
    assert_eq!((quiet.stdout(), quiet.stderr()), ("out\n".to_owned(), String::new()));
}

#[test]
fn a_schema_that_cannot_be_used_refuses_its_tool_with_the_place() {
    let place = Place::with_tools(&[
        (
            "pattern",
            "touch ran",
            r#""input_schema": {"type": "object", "properties": {"a": {"pattern": "("}}}"#,
        ),
        ("loop", "touch ran", r##""input_schema": {"type": "object", "$ref": "#"}"##),
    ]);
    for (words, pointer, why) in [
        (&["p:pattern", "a=b"][..], "/tools/0/input_schema/properties/a/pattern", "as a pattern"),
        (&["p:pattern", "--dry-run"], "/tools/0/input_schema/properties/a/pattern", "as a pattern"),
        (&["p:loop"], "/tools/1/input_schema", "a schema refers to itself"),
    ] {
        let ran = place.call(words).run();
        assert_eq!(ran.code, Some(4), "{}", ran.shown());
        for part in ["error[F0119]: \"input_schema\" cannot be used: ", pointer, why, "  = help: "]
        {
            assert!(ran.stderr().contains(part), "{part}\n{}", ran.shown());
        }
    }
    assert!(!place.exists("plugins/p/ran"));
}
