//! How much the tools and servers of a manifest declare.

use expect_test::{Expect, expect};
use flyto_diagnostics::Source;
use flyto_execenv::Environment;
use flyto_plugin::{Depth, LoadOptions, Loaded, load_source};

use crate::loaded;

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

#[test]
fn variables_that_no_start_takes_are_told_to_an_author_who_asks() {
    let text = r#"{"name": "p", "tools": [{"name": "t", "description": "d", "command": "/bin/ls",
        "env": {"A": "$BIG", "B": "$BIG", "C": "$NONE$PLUGIN_ROOT"}}]}"#;
    let options = |max_bytes| {
        let host: Environment = [("BIG", "x".repeat(100_000))].into_iter().collect();
        LoadOptions::new().depth(Depth::Full).env(host).max_words_bytes(max_bytes)
    };
    let found = |options: &LoadOptions, text: &str| {
        let loaded = load_source(&Source::new("plugin.json", text), "/", options);
        assert_eq!(loaded.plugin.expect("it is kept").tools().len(), 1);
        loaded
            .findings
            .iter()
            .map(|it| format!("{:?} {}: {}\n", it.severity, it.code, it.message))
            .collect::<String>()
    };
    expect![[r#"
        Warning F0024: up to B, the variables have 200022 bytes with what stands around each, and at most 200000 can be handed over
    "#]].assert_eq(&found(&options(Some(200_000)), text));
    let long = text.replace("\"$BIG\",", "\"$BIG$BIG\",");
    expect![[r#"
        Warning F0024: the value of A would have more than 131071 bytes
    "#]]
    .assert_eq(&found(&options(None), &long));
    for fits in [options(Some(300_000)), options(None), LoadOptions::new()] {
        assert_eq!(found(&fits, text), "");
    }
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
        F0024: the value of A has 131072 bytes, and at most 131071 can be handed over
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
