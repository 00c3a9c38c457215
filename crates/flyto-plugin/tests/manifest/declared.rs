//! How much the tools and servers of a manifest declare.

use std::{fs, path::Path};

use expect_test::{Expect, expect};
use flyto_diagnostics::{Findings, Source};
use flyto_execenv::Environment;
use flyto_plugin::{
    CLAUDE_MANIFEST_FILE, CLAUDE_MCP_FILE, Depth, LoadOptions, Loaded, load_source,
};

use crate::{loaded, plugin_dir};

/// What was found, without the text of the manifest that goes on for megabytes.
#[track_caller]
fn check_findings(text: &str, expect: &Expect) {
    let Loaded { plugin, findings, .. } = loaded(text, Depth::Quick);
    let mut res: String =
        findings.iter().map(|it| format!("{}: {}\n", it.code, it.message)).collect();
    let plugin = plugin.expect("its head is in order");
    res +=
        &format!("{} tools, {} servers\n", plugin.tools().len(), plugin.manifest().servers.len());
    expect.assert_eq(&res);
}

/// A dollar that refers to nothing costs as much as any other character.
#[test]
fn a_dollar_that_is_no_reference_does_not_count() {
    let text = |key: &str, value: &str| {
        let tool = r#"{"name": "t", "description": "d", "command": "ls""#;
        let server = r#"{"s": {"command": "x""#;
        match key {
            "env" => format!(r#"{{"name": "p", "tools": [{tool}, "env": {{"A": "{value}"}}}}]}}"#),
            _ => format!(r#"{{"name": "p", "mcpServers": {server}, "args": ["{value}"]}}}}}}"#),
        }
    };
    // Each has more than 10,000 dollars.
    let values = [("$$", 6000), ("$1 ", 12_000), ("${A:-$$$B}", 3000)];
    for value in values.map(|(value, n)| value.repeat(n)) {
        check_findings(&text("env", &value), &expect!["1 tools, 0 servers\n"]);
        check_findings(&text("args", &value), &expect!["0 tools, 1 servers\n"]);
    }
    check_findings(
        &text("env", &"$$$A".repeat(10_000)),
        &expect![[r#"
        F0024: with it, more than 10000 variables and references are declared
        0 tools, 0 servers
    "#]],
    );
}

/// What a check at full depth finds in the one tool of a plugin, with its pointer: `tool` holds keys of the tool.
#[track_caller]
fn check_in_full(tool: &str, big: usize, max_bytes: impl Into<Option<u64>>, expect: &Expect) {
    let text =
        format!(r#"{{"name": "p", "tools": [{{"name": "t", "description": "d", {tool}}}]}}"#);
    let Loaded { plugin, findings, .. } =
        in_full("plugin.json", text, Path::new("/"), big, max_bytes);
    assert_eq!(plugin.expect("it is kept").tools().len(), 1);
    expect.assert_eq(&with_pointers(&findings));
}

/// What is read at full depth where a variable `BIG` has so many bytes.
fn in_full(
    name: &str,
    text: String,
    dir: &Path,
    big: usize,
    max_bytes: impl Into<Option<u64>>,
) -> Loaded {
    let host: Environment =
        [("BIG", "x".repeat(big)), ("PATH", "/bin".to_owned())].into_iter().collect();
    let options = LoadOptions::new().depth(Depth::Full).env(host).max_words_bytes(max_bytes.into());
    load_source(&Source::new(name, text), dir, &options)
}

fn with_pointers(findings: &Findings) -> String {
    let found = findings.iter().map(|it| {
        let pointer = it.pointer.as_ref().map_or("", |it| it.as_str());
        format!("{:?} {} {pointer}: {}\n", it.severity, it.code, it.message)
    });
    found.collect()
}

/// Where a server is declared.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Native,
    Conformant,
    Claude,
}

/// What a check at full depth finds in the one server of a plugin, of which `server` holds the keys. `max_bytes` gives the
/// bound by the length of the plugin's directory.
#[track_caller]
fn server_in_full(form: Form, server: &str, max_bytes: impl Fn(u64) -> u64) -> String {
    let dir = plugin_dir();
    let servers = format!(r#"{{"mcpServers": {{"s": {{"type": "stdio", {server}}}}}}}"#);
    let head = r#""$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json""#;
    let (file, text) = match form {
        Form::Native => (None, format!(r#"{{"name": "p", {}"#, &servers[1..])),
        Form::Conformant => (Some("mcp.json"), format!(r#"{{"name": "p", {head}}}"#)),
        Form::Claude => (Some(CLAUDE_MCP_FILE), r#"{"name": "p"}"#.to_owned()),
    };
    if let Some(file) = file {
        fs::write(dir.path().join(file), servers).expect("written");
    }
    let name = if form == Form::Claude { CLAUDE_MANIFEST_FILE } else { "plugin.json" };
    let root = dir.path().to_str().expect("UTF-8").len() as u64;
    let Loaded { plugin, findings, .. } = in_full(name, text, dir.path(), 100_000, max_bytes(root));
    let res = with_pointers(&findings);
    assert_eq!(plugin.expect("it is kept").manifest().servers.len(), 1, "{res}");
    res
}

#[test]
fn variables_that_no_start_takes_are_told_to_an_author_who_asks() {
    let tool =
        r#""command": "/bin/ls", "env": {"A": "$BIG", "B": "$BIG", "C": "$NONE$PLUGIN_ROOT"}"#;
    check_in_full(
        tool,
        100_000,
        200_000,
        &expect![[r#"
        Warning F0024 /tools/0/env: up to B, the variables have 200022 bytes with what stands around each, and at most 200000 can be handed over
    "#]],
    );
    let long = tool.replace("\"$BIG\",", "\"$BIG$BIG\",");
    check_in_full(
        &long,
        100_000,
        None,
        &expect![[r#"
        Warning F0024 /tools/0/env/A: the variable A would have more than 131071 bytes with its name
    "#]],
    );
    for fits in [Some(300_000), None] {
        check_in_full(tool, 100_000, fits, &expect![""]);
    }
}

/// The system takes `NAME=value` as one string.
#[test]
fn the_name_of_a_variable_counts() {
    let value = |n_bytes: usize| {
        let value = "x".repeat(n_bytes);
        format!(
            r#"{{"name": "p", "tools": [{{"name": "t", "description": "d", "command": "ls", "env": {{"NAME": "{value}"}}}}]}}"#
        )
    };
    check_findings(&value(131_066), &expect!["1 tools, 0 servers\n"]);
    check_findings(
        &value(131_067),
        &expect![[r#"
        F0024: the variable NAME, with its name, has 131072 bytes, and at most 131071 can be handed over
        0 tools, 0 servers
    "#]],
    );
    let tool = r#""command": "/bin/ls", "env": {"NAME": "$BIG"}"#;
    check_in_full(tool, 131_066, None, &expect![""]);
    check_in_full(
        tool,
        131_067,
        None,
        &expect![[r#"
        Warning F0024 /tools/0/env/NAME: the variable NAME would have more than 131071 bytes with its name
    "#]],
    );
}

/// A value is as long as it is after expansion: `$$` is one dollar, and a default may never be used.
#[test]
fn a_value_is_as_long_as_it_expands() {
    let text = |value: &str, argument: &str| {
        format!(
            r#"{{"name": "p", "tools": [{{"name": "t", "description": "d", "command": "ls", "env": {{"A": "{value}"}}}}],
                "mcpServers": {{"s": {{"command": "x", "args": ["{argument}"], "env": {{"A": "{value}"}}}}}}}}"#
        )
    };
    let dollars = |n| "$$".repeat(n);
    let default = format!("${{BIG:-{}}}", "x".repeat(200_000));
    check_findings(&text(&dollars(131_069), &dollars(131_071)), &expect!["1 tools, 1 servers\n"]);
    check_findings(&text(&default, &default), &expect!["1 tools, 1 servers\n"]);
    check_findings(
        &text(&dollars(131_070), &dollars(131_071)),
        &expect![[r#"
        F0024: the variable A, with its name, has 131072 bytes, and at most 131071 can be handed over
        F0024: the variable A, with its name, has 131072 bytes, and at most 131071 can be handed over
        0 tools, 0 servers
    "#]],
    );
    check_findings(
        &text(&dollars(131_069), &dollars(131_072)),
        &expect![[r#"
        F0024: argument 1 has 131072 bytes, and at most 131071 can be handed over
        1 tools, 0 servers
    "#]],
    );
    // It depends on the variables of the host whether that of the tool is too long.
    let tool = format!(r#""command": "/bin/ls", "env": {{"A": "{default}"}}"#);
    check_in_full(&tool, 1000, None, &expect![""]);
    check_in_full(
        &tool,
        0,
        None,
        &expect![[r#"
        Warning F0024 /tools/0/env/A: the variable A would have more than 131071 bytes with its name
    "#]],
    );
}

/// Each is short enough, and all together are not.
#[test]
fn arguments_count_with_the_variables() {
    let argument = "y".repeat(100_000);
    // `/bin/ls` twice, `-l`, the argument; `A=x…`, `PATH=/bin` and `PLUGIN_ROOT=/`; a NUL and a pointer for each.
    let all = 8 + 16 + 11 + 100_009 + 50_011 + 18 + 22;
    let argv =
        format!(r#""command": "/bin/ls", "args": ["-l", "{argument}"], "env": {{"A": "$BIG"}}"#);
    check_in_full(&argv, 50_000, all, &expect![""]);
    check_in_full(
        &argv,
        50_000,
        all - 1,
        &expect![[r#"
        Warning F0024 /tools/0/args: arguments of 100044 bytes and variables of 50051 are 1 bytes more than the 150094 that the system takes together; shorten the arguments, or raise the limit of the stack (`ulimit -s`), of which they get a quarter, at most 6 MiB
    "#]],
    );
    // The larger part is named.
    let variables = argv.replace("$BIG", "$BIG$BIG");
    check_in_full(
        &variables,
        60_000,
        200_000,
        &expect![[r#"
        Warning F0024 /tools/0/env: arguments of 100044 bytes and variables of 120051 are 20095 bytes more than the 200000 that the system takes together; shorten the variables, or raise the limit of the stack (`ulimit -s`), of which they get a quarter, at most 6 MiB
    "#]],
    );
    // Values of a call may be empty, and one that is not required leaves its word out.
    let template = |command: &str| {
        format!(r#""parameters": {{"properties": {{"x": {{}}}}}}, "command": "{command}""#)
    };
    for (command, n_bytes) in [("ls -l {{x}} a{{x}}", 11), ("ls {{x}} $HOME", 11)] {
        let all = 3 + 11 + n_bytes + 18 + 22;
        check_in_full(&template(command), 0, all, &expect![""]);
        check_in_full(
            &template(command),
            0,
            all - 1,
            &expect![[r#"
            Warning F0024 /tools/0/command: arguments of 25 bytes and variables of 40 are 1 bytes more than the 64 that the system takes together; shorten the variables, or raise the limit of the stack (`ulimit -s`), of which they get a quarter, at most 6 MiB
        "#]],
        );
    }
}

/// The system hands a server no more than a tool, and it is told in each of the forms.
#[test]
fn arguments_and_variables_of_a_server_count() {
    let server = r#""command": "s", "args": ["-l", "${BIG}"], "env": {"A": "b"}"#;
    // `s` twice, `-l`, `A=b`, `PATH=/bin` and `PLUGIN_ROOT=…`, with a NUL and a pointer each; then the other argument.
    let others = 2 + 10 + 11 + 12 + 18 + 21;
    for (form, n_bytes, n_roots) in [
        (Form::Native, others + 100_009, 1),
        // There the reference is a text.
        (Form::Conformant, others + 6 + 9, 1),
        // `CLAUDE_PLUGIN_ROOT=…` and `CLAUDE_PLUGIN_DATA=`.
        (Form::Claude, others + 100_009 + 2 * 28, 2),
    ] {
        let all = |root| n_bytes + n_roots * root;
        assert_eq!(server_in_full(form, server, all), "", "{form:?}");
        let found = server_in_full(form, server, |root| all(root) - 1);
        let key = if form == Form::Conformant { "env" } else { "args" };
        assert!(
            found.starts_with(&format!("Warning F0024 /mcpServers/s/{key}: arguments of ")),
            "{found}"
        );
        assert!(found.contains(" are 1 bytes more than "), "{found}");
    }
}

#[test]
fn a_value_of_a_server_that_expands_to_too_much_is_told() {
    let check = |server: &str, expect: Expect| {
        for form in [Form::Native, Form::Claude] {
            expect.assert_eq(&server_in_full(form, server, |_| 6 << 20));
        }
    };
    check(r#""command": "s", "args": ["${BIG}"], "env": {"A": "${BIG}"}"#, expect![[""]]);
    check(
        r#""command": "s", "args": ["a", "${PLUGIN_ROOT:-}${BIG}${BIG}"]"#,
        expect![[r#"
            Warning F0024 /mcpServers/s/args/1: argument 2 would have more than 131071 bytes
        "#]],
    );
    check(
        r#""command": "s", "env": {"A": "${BIG}${BIG}"}"#,
        expect![[r#"
            Warning F0024 /mcpServers/s/env/A: the variable A would have more than 131071 bytes with its name
        "#]],
    );
    check(
        r#""command": "${BIG}${BIG}""#,
        expect![[r#"
            Warning F0024 /mcpServers/s/command: "command" would have more than 131071 bytes
        "#]],
    );
    check(
        r#""command": "s", "cwd": "${BIG}${BIG}""#,
        expect![[r#"
            Warning F0024 /mcpServers/s/cwd: "cwd" would have more than 131071 bytes
        "#]],
    );
    // One that is switched off is not started.
    let off = r#""command": "s", "args": ["${BIG}${BIG}"], "disabled": true"#;
    let host = Environment::from_iter([("BIG", "x".repeat(100_000))]);
    let text = format!(r#"{{"name": "p", "mcpServers": {{"s": {{{off}}}}}}}"#);
    let options = LoadOptions::new().depth(Depth::Full).env(host);
    let loaded = load_source(&Source::new("plugin.json", text), "/", &options);
    assert!(!with_pointers(&loaded.findings).contains("F0024"), "{:?}", loaded.findings);
}

#[test]
fn a_quick_look_at_a_server_adds_up_nothing() {
    let host = Environment::from_iter([("BIG", "x".repeat(100_000))]);
    let text = r#"{"name": "p", "mcpServers": {"s": {"command": "s", "args": ["${BIG}${BIG}"]}}}"#;
    let loaded = load_source(&Source::new("plugin.json", text), "/", &LoadOptions::new().env(host));
    assert!(loaded.findings.is_empty(), "{:?}", loaded.findings);
}

#[test]
fn what_declared_values_refer_to_is_bounded() {
    let tool = |name: &str, env: &str| {
        format!(r#"{{"name": "{name}", "description": "d", "command": "ls", "env": {env}}}"#)
    };
    let tools = |it: &[String]| format!(r#"{{"name": "p", "tools": [{}]}}"#, it.join(", "));
    let long = format!(r#"{{"A": "{}"}}"#, "x".repeat(131_072));
    let name = format!(r#"{{"A": "${}"}}"#, "N".repeat(256));
    let references = format!(r#"{{"A": "{}"}}"#, "$HOME".repeat(6000));
    let members: Vec<_> = (0..9_999).map(|it| format!(r#""V{it}": """#)).collect();
    let many = format!("{{{}}}", members.join(","));
    let text = tools(&[
        tool("a", r#"{"A": "$HOME"}"#),
        tool("long", &long),
        tool("name", &name),
        tool("refs1", &references),
        tool("refs2", &references),
        tool("many", &many),
        tool("z", r#"{"A": "$HOME"}"#),
    ]);
    check_findings(
        &text,
        &expect![[r#"
        F0024: the variable A, with its name, has 131074 bytes, and at most 131071 can be handed over
        F0118: the value of A refers to a variable whose name has 256 bytes, and 255 are the most
        F0024: with it, more than 10000 variables and references are declared
        F0024: with it, more than 10000 variables and references are declared
        3 tools, 0 servers
    "#]],
    );
    let servers: Vec<_> = (0..3)
        .map(|it| {
            format!(r#""s{it}": {{"command": "x", "args": ["$A", "{}"]}}"#, "$B".repeat(4000))
        })
        .collect();
    let text = format!(r#"{{"name": "p", "mcpServers": {{{}}}}}"#, servers.join(", "));
    check_findings(
        &text,
        &expect![[r#"
        F0024: with it, more than 10000 variables and references are declared
        0 tools, 2 servers
    "#]],
    );
}
