//! Plugins and values that mean harm, through the whole program.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;

use rustix::process::{Pid, Signal};

use crate::live::{interrupt, is_alive, wait_until};
use crate::place::{Place, Ran};

/// Ends every way of quoting, and would make a file if anything of it were run.
const VALUE: &str = "'; touch pwned; $(touch pwned) `touch pwned` \"; touch pwned; {{b}}";

/// A manifest with one template tool.
fn template(command: &str) -> String {
    let command = serde_json::Value::from(command);
    format!(
        r#"{{"name": "t", "version": "1", "description": "x", "tools": [{{"name": "show",
            "description": "Prints its words.", "command": {command}, "parameters": {{
            "type": "object", "properties": {{"a": {{"type": "string"}}, "b": {{"type": "string"}}}},
            "required": ["a", "b"]}}}}]}}"#
    )
}

#[track_caller]
fn check(command: &str, expect: &str) {
    let place = Place::new();
    place.write("plugins/t/plugin.json", &template(command));
    let a = format!("a={VALUE}");
    let ran = place.call(&["t:show", &a, "b=; touch pwned"]).run();
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert_eq!(ran.stdout(), expect);
    assert!(!place.exists("pwned") && !place.exists("plugins/t/pwned"));
}

#[test]
fn a_value_within_quotes_of_a_template_is_one_literal_word() {
    let line = format!("<{VALUE}>\n");
    let both = format!("<{VALUE}>\n<x {VALUE} ; touch pwned>\n<{VALUE}>\n");
    // The program itself, without a shell.
    check(r#"printf '<%s>\n' "{{a}}""#, &line);
    check(r"printf '<%s>\n' '{{a}}'", &line);
    check(r#"printf '<%s>\n' {{a}} "x {{a}} {{b}}" '{{a}}'"#, &both);
    // Through a shell, which `$HOME` needs.
    check(r#"printf '<%s>\n' "{{a}}" ${HOME:+}"#, &line);
    check(r#"printf '<%s>\n' {{a}} "x {{a}} {{b}}" '{{a}}' ${HOME:+}"#, &both);
}

/// A place with one binary plugin, whose program is a shell script.
fn binary(script: &str) -> Place {
    let place = Place::new();
    place.write(
        "plugins/b/plugin.json",
        r#"{"name": "b", "version": "1", "description": "x", "execution": "binary",
            "binary": {"path": "run.sh", "protocol": "jsonrpc", "timeout_secs": 1},
            "tools": [{"name": "t", "description": "x", "parameters": {"type": "object"}}]}"#,
    );
    let program = place.write("plugins/b/run.sh", script);
    std::fs::set_permissions(program, Permissions::from_mode(0o755)).unwrap();
    place
}

#[track_caller]
fn check_reply(script: &str) {
    let place = binary(&format!("#!/bin/sh\n{script}\n"));
    // More than a pipe holds.
    let input = format!("a={}", "x".repeat(100_000));
    let ran = place.call(&["b:t", &input]).run();
    assert_eq!((ran.code, ran.stdout()), (Some(0), "done".to_owned()), "{}", ran.shown());
}

const REPLY: &str = r#"echo '{"jsonrpc":"2.0","id":1,"result":{"output":"done"}}'"#;

#[test]
fn odd_replies_of_a_binary_plugin_are_understood() {
    check_reply(REPLY);
    check_reply(&format!("{REPLY}; echo a line of a log"));
    check_reply(&format!("cat >/dev/null; {}", REPLY.replace(":1,", r#":"1","#)));
}

#[test]
fn a_binary_plugin_that_reads_nothing_ends_with_all_it_started() {
    let place =
        binary("#!/bin/sh\nsleep 1000 & echo $! >>pids\nsleep 1000 & echo $! >>pids\nwait\n");
    let input = format!("{{\"a\": \"{}\"}}", "x".repeat(1 << 20));
    let ran = place.call(&["b:t", "--json", "-"]).stdin(input.as_bytes()).run();
    assert_eq!(ran.code, Some(6), "{}", ran.shown());
    let pids = std::fs::read_to_string(place.path().join("pids")).unwrap();
    assert_eq!(pids.lines().count(), 2);
    for pid in pids.lines() {
        let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
        assert!(!is_alive(pid), "{pid:?} has outlived the call");
    }
}

/// A place with one tool, whose input and output schema are given.
fn with_schemas(input: &str, output: &str) -> Place {
    let schemas = format!(r#""input_schema": {input}, "output_schema": {output}"#);
    Place::with_tools(&[("t", "cat answer 2>/dev/null || echo '{}'", &schemas)])
}

/// The members of a schema whose `x` takes long to check: 900 states for each byte of text.
const SLOW: &str = r#"{"type": "object", "properties": {"x": {"pattern": "a[ab]{900}c"}}}"#;
const ANY: &str = r#"{"type": "object"}"#;

/// An object for [`SLOW`] that takes some seconds. No byte of it tells what follows.
fn slow_object() -> Vec<u8> {
    let mut seed = 1_u32;
    let mut letter = |at: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        match seed >> 31 {
            _ if at % 800 == 799 => 'c',
            0 => 'a',
            _ => 'b',
        }
    };
    let text: String = (0..1 << 20).map(&mut letter).collect();
    format!("{{\"x\": \"{text}\"}}").into_bytes()
}

#[test]
fn checking_input_counts_against_the_deadline() {
    let place = with_schemas(SLOW, ANY);
    let call = place.call(&["p:t", "--json", "-", "--timeout", "0.2"]);
    let ran = call.stdin(&slow_object()).run();
    let text = "while its input was checked, at /properties/x/pattern of the schema";
    assert_eq!(ran.code, Some(6), "{}", ran.shown());
    assert!(ran.stdout().starts_with("plugin tool \"p:t\" timed out after "), "{}", ran.shown());
    assert!(ran.stdout().contains(text), "{}", ran.shown());
    let own = Place::with_tools(&[(
        "t",
        "",
        &format!(r#""input_schema": {SLOW}, "timeout_seconds": 1"#),
    )]);
    let ran = own.call(&["p:t", "--json", "-"]).stdin(&slow_object()).run();
    let text = "timed out after 1s while its input was checked, at /properties/x/pattern";
    assert_eq!(ran.code, Some(6), "{}", ran.shown());
    assert!(ran.stdout().contains(text), "{}", ran.shown());
}

#[test]
fn checking_output_counts_against_the_deadline() {
    let place = with_schemas(ANY, SLOW);
    std::fs::write(place.path().join("plugins/p/answer"), slow_object()).unwrap();
    let ran = place.call(&["p:t", "--timeout", "2"]).run();
    assert_eq!(ran.code, Some(6), "{}", ran.stderr());
    let text = "while its output was checked, at /properties/x/pattern";
    assert!(ran.stdout().contains(text), "{}", ran.stderr());
}

/// Whether the process has a thread that checks.
#[cfg(target_os = "linux")]
fn checks(pid: u32) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let names = tasks.map(|it| std::fs::read_to_string(it.path().join("comm")));
    names.flatten().any(|name| name.trim_end() == "check")
}

/// Sends a signal to a call whose input is being checked.
#[cfg(target_os = "linux")]
#[track_caller]
fn check_signal(signal: Signal, code: i32) {
    let place = with_schemas(SLOW, ANY);
    place.write("input.json", std::str::from_utf8(&slow_object()).unwrap());
    let input = std::fs::File::open(place.path().join("input.json")).unwrap();
    let call = place.call(&["p:t", "--json", "-"]);
    let child = call.command(|it| _ = it.stdin(input)).start();
    wait_until("the input is checked", || checks(child.id()));
    interrupt(&child, signal);
    let output = child.wait_with_output().unwrap();
    let ran = Ran::new(output, &place);
    assert_eq!(ran.code, Some(code), "{}", ran.shown());
    assert!(ran.stdout().contains("while its input was checked"), "{}", ran.shown());
}

#[cfg(target_os = "linux")]
#[test]
fn signals_end_the_program_while_input_is_checked() {
    check_signal(Signal::INT, 130);
    check_signal(Signal::TERM, 143);
}

#[test]
fn schemas_that_ask_for_too_much_end_the_call_at_once() {
    let pattern = |n: usize| format!(r#"{{"pattern": "[ab]{{{n}}}[cd]*e"}}"#);
    let patterns: Vec<String> = (300..790).map(pattern).collect();
    let schema = format!(r#"{{"type": "object", "anyOf": [{}]}}"#, patterns.join(","));
    let ran = with_schemas(&schema, ANY).call(&["p:t"]).run();
    let text = "more than 50000 states together";
    assert!(ran.stderr().contains(text), "{}", ran.shown());

    let values: Vec<String> = (0..33_000).map(|it| format!(r#"{{"k": {it}}}"#)).collect();
    let values = values.join(",");
    let schema = format!(
        r#"{{"type": "object", "properties": {{"x": {{"items": {{"enum": [{values}]}}}}}}}}"#
    );
    let place = with_schemas(&schema, ANY);
    let input = format!("{{\"x\": [1, {values}]}}");
    let ran = place.call(&["p:t", "--json", "-"]).stdin(input.as_bytes()).run();
    assert_eq!(ran.code, Some(3), "{}", ran.shown());
    let text = "invalid input: /x/0: expected one of";
    assert!((ran.stdout() + &ran.stderr()).contains(text), "{}", ran.shown());
}

#[test]
fn a_program_that_is_a_socket_is_named() {
    let digest = "0".repeat(64);
    for more in [String::new(), format!(r#", "sha256": "{digest}""#)] {
        let place = Place::new();
        place.write(
            "plugins/s/plugin.json",
            &format!(
                r#"{{"name": "s", "tools": [{{"name": "t", "description": "d", "command": "./socket",
                    "args": []{more}}}]}}"#
            ),
        );
        let _socket = UnixListener::bind(place.path().join("plugins/s/socket")).unwrap();
        let ran = place.call(&["s:t"]).run();
        assert_eq!(ran.code, Some(7), "{}", ran.shown());
        let text = ran.shown();
        assert!(
            text.contains("socket is a socket; write the path of an executable file"),
            "{text}"
        );
    }
}

/// Also with the deepest manifest that is read, and in a debug build, whose frames are large.
#[test]
fn a_small_limit_of_the_stack_ends_no_verb() {
    let depth = 58;
    let schema = r#"{"properties": {"a": "#.repeat(depth) + "{}" + &"}}".repeat(depth);
    let place = Place::with_tools(&[("t", "echo hi", &format!(r#""input_schema": {schema}"#))]);
    let input = r#"{"a": "#.repeat(depth) + "1" + &"}".repeat(depth);
    for words in [
        &["--version"][..],
        &["--help"],
        &["validate", "plugins"],
        &["--plugins", "plugins", "list"],
        &["--plugins", "plugins", "show", "p:t"],
        &["--plugins", "plugins", "call", "p:t", "--json", &input],
    ] {
        let ran = place.flyto(words).started_by("ulimit -s 256; exec \"$@\"").run();
        assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.shown());
    }
}
