//! Plugins and values that mean harm, through the whole program.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Pid;

use crate::live::is_alive;
use crate::place::Place;

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
