//! The schemas for editors accept what loads without a finding.

use std::{fs, path::Path};

use flyto_diagnostics::{At, Findings, Severity, Source, json};
use flyto_plugin::{LoadOptions, PluginConfig, expand_home, load_source, schema};
use jsonschema::Validator;
use serde_json::Value;

fn validator(schema: &Value) -> Validator {
    jsonschema::draft202012::new(schema).expect("a valid schema")
}

/// What a rule means is not this crate's to know.
fn options() -> LoadOptions {
    LoadOptions::new().rules(|_, _| Ok(None))
}

/// Whether a tool with these members is accepted, by the schema and by the loader alike.
#[track_caller]
fn check(members: &str, accepted: bool) {
    let text = format!(
        r#"{{"name": "p", "tools": [{{"name": "t", "description": "d", "command": "ls"{members}}}]}}"#
    );
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let findings = load_source(&Source::new("p", text), "/", &options()).findings;
    // A note asks for no change.
    let odd = findings.iter().any(|it| it.severity != Severity::Note);
    assert_eq!(!odd, accepted, "{findings:?}");
    let schema = validator(&schema::plugin());
    let errors: Vec<_> = schema.iter_errors(&value).map(|it| it.to_string()).collect();
    assert_eq!(errors.is_empty(), accepted, "{errors:?}");
}

#[test]
fn what_is_in_order_is_accepted() {
    for members in [
        "",
        r#", "args": ["", "-l"], "env": {"A": "$B"}, "timeout_seconds": 5"#,
        r#", "input_schema": {"type": "object", "x": 1}, "output_schema": {"type": "object"}"#,
        r#", "permission_class": "database", "audit_operation": "x", "aliases": ["u"]"#,
        r#", "parameters": {}, "category": "shell", "working_dir": "x", "timeout_secs": 5"#,
        r#", "parameters": {"properties": {}, "type": "object"}, "category": null"#,
        r#", "category": "messaging", "network": "off", "sandbox": "strict""#,
        r#", "network": ["a.org", "*.b.org:443"], "sandbox": "mine""#,
        r#", "limits": {"memory_bytes": 1}, "undo": {"tool": "t"}, "stream": true, "title": null"#,
        r#", "ready": true"#,
        r#", "parameters": {}, "ready": false"#,
        r#", "content": "mcp""#,
        r#", "content": "mcp", "output_schema": null"#,
        r#", "content": null, "output_schema": {"type": "object"}"#,
    ] {
        check(members, true);
    }
}

#[test]
fn what_has_a_finding_is_underlined() {
    for members in [
        r#", "arg": ["-l"]"#,
        r#", "args": "-l""#,
        r#", "args": ["\u0000"]"#,
        r#", "timeout_seconds": 0"#,
        r#", "timeout_seconds": 604801"#,
        r#", "input_schema": {"type": "array"}"#,
        r#", "input_schema": {}"#,
        r#", "env": {"PLUGIN_ROOT": "x"}"#,
        r#", "env": {"A=B": "x"}"#,
        r#", "sha256": "abc""#,
        r#", "limits": {"memory": 1}"#,
        r#", "title": " ""#,
        r#", "aliases": ["a b"]"#,
        r#", "parameters": {}, "args": []"#,
        r#", "parameters": {}, "input_schema": {"type": "object"}"#,
        r#", "parameters": {}, "category": "other""#,
        r#", "parameters": {}, "timeout_seconds": 5"#,
        r#", "parameters": {"type": "string"}"#,
        r#", "category": "other""#,
        r#", "network": "on""#,
        r#", "network": true"#,
        r#", "sandbox": " ""#,
        r#", "ready": "yes""#,
        r#", "parameters": {}, "ready": true"#,
        r#", "content": "image""#,
        r#", "content": true"#,
        r#", "content": "mcp", "output_schema": {"type": "object"}"#,
    ] {
        check(members, false);
    }
}

/// Whether a plugin with these rules is accepted, by the schema and by the loader alike.
#[track_caller]
fn check_rules(rules: &str, accepted: bool) {
    let text = format!(
        r#"{{"name": "p", "permissions": {rules},
        "tools": [{{"name": "t", "description": "d", "command": "ls"}}]}}"#
    );
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let findings = load_source(&Source::new("p", text), "/", &options()).findings;
    assert_eq!(findings.is_empty(), accepted, "{rules}: {findings:?}");
    let schema = validator(&schema::plugin());
    let errors: Vec<_> = schema.iter_errors(&value).map(|it| it.to_string()).collect();
    assert_eq!(errors.is_empty(), accepted, "{rules}: {errors:?}");
}

#[test]
fn rules_of_a_plugin() {
    let many = |n: usize| format!(r#"{{"ask": [{}]}}"#, vec![r#""p:t""#; n].join(", "));
    for rules in ["{}", "null", r#"{"ask": ["p:*"], "deny": []}"#, &many(256)] {
        check_rules(rules, true);
    }
    for rules in [
        "[]",
        r#"{"allow": ["p:*"]}"#,
        r#"{"allow": []}"#,
        r#"{"ask": "p:*"}"#,
        r#"{"deny": [1]}"#,
        r#"{"deny": null}"#,
        r#"{"denied": []}"#,
        &many(257),
    ] {
        check_rules(rules, false);
    }
}

/// Whether a plugin with these members beside its name and `binary` with these beside its path is
/// accepted, by the schema and by the loader alike.
#[track_caller]
fn check_binary(binary: &str, tool: &str, accepted: bool) {
    let dir = tempfile::tempdir().expect("a directory");
    let program = dir.path().join("x");
    fs::write(&program, "").expect("written");
    #[cfg(unix)]
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("changed");
    let text = format!(
        r#"{{"name": "p", "execution": "binary", "binary": {binary},
        "tools": [{{"name": "t", "description": "d"{tool}}}]}}"#
    );
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let findings = load_source(&Source::new("p", text), dir.path(), &LoadOptions::new()).findings;
    assert_eq!(findings.is_empty(), accepted, "{binary} {tool}: {findings:?}");
    let schema = validator(&schema::plugin());
    let errors: Vec<_> = schema.iter_errors(&value).map(|it| it.to_string()).collect();
    assert_eq!(errors.is_empty(), accepted, "{binary} {tool}: {errors:?}");
}

#[test]
fn binary_plugins() {
    let digest = "0123456789abcdef".repeat(4);
    for (binary, tool) in [
        (r#"{"path": "x"}"#, ""),
        (r#"{"path": "./x", "protocol": "jsonrpc", "timeout_secs": 5, "sha256": null}"#, ""),
        (&format!(r#"{{"path": "x", "sha256": "{digest}"}}"#), ""),
        (r#"{"path": "x", "lifetime": "call", "idle_timeout_secs": null}"#, ""),
        (r#"{"path": "x", "lifetime": "session", "idle_timeout_secs": 5}"#, r#", "ready": false"#),
        (r#"{"path": "x", "lifetime": "call"}"#, r#", "ready": true"#),
        (r#"{"path": "x"}"#, r#", "command": "", "args": [], "parameters": {}"#),
        (r#"{"path": "x"}"#, r#", "command": null, "input_schema": {"type": "object"}"#),
        (r#"{"path": "x"}"#, r#", "working_dir": "y", "timeout_secs": 5, "category": "memory""#),
    ] {
        check_binary(binary, tool, true);
    }
    for binary in [
        "null",
        "{}",
        r#"{"path": ""}"#,
        r#"{"path": "/x"}"#,
        r#"{"path": "../x"}"#,
        r#"{"path": "x/.."}"#,
        r#"{"path": "x", "protocol": "grpc"}"#,
        r#"{"path": "x", "timeout_secs": 0}"#,
        r#"{"path": "x", "sha256": "abc"}"#,
        r#"{"path": "x", "lifetime": "ever"}"#,
        r#"{"path": "x", "idle_timeout_secs": 5}"#,
        r#"{"path": "x", "lifetime": "call", "idle_timeout_secs": 5}"#,
        r#"{"path": "x", "file": "y"}"#,
    ] {
        check_binary(binary, "", false);
    }
    for tool in [
        r#", "command": "ls""#,
        r#", "args": ["-l"]"#,
        r#", "work_dir": "y""#,
        r#", "timeout_seconds": 5"#,
        r#", "parameters": {}, "input_schema": {"type": "object"}"#,
    ] {
        check_binary(r#"{"path": "x"}"#, tool, false);
    }
    check_binary(r#"{"path": "x", "lifetime": "session"}"#, r#", "ready": true"#, false);
    // The section alone does nothing, and the loader says so.
    let alone = r#"{"name": "p", "binary": {"path": "x"}, "tools": [{"name": "t", "description": "d", "command": "ls"}]}"#;
    assert!(!validator(&schema::plugin()).is_valid(&serde_json::from_str(alone).expect("JSON")));
}

/// Whether a plugin with these servers alone is accepted, by the schema and by the loader alike.
#[track_caller]
fn check_servers(servers: &str, accepted: bool) {
    let text = format!(r#"{{"name": "p", "mcpServers": {servers}}}"#);
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let findings = load_source(&Source::new("p", text), "/", &options()).findings;
    assert_eq!(findings.is_empty(), accepted, "{findings:?}");
    assert_eq!(validator(&schema::plugin()).is_valid(&value), accepted, "{servers}");
}

#[test]
fn servers() {
    check_servers(
        r#"{"a": {"command": "x", "args": ["$A"], "env": {"B": "c"}, "cwd": "."}}"#,
        true,
    );
    check_servers(r#"{"a": {"type": "http", "url": "https://x", "headers": {"A": "b"}}}"#, true);
    check_servers(
        r#"{"a": {"type": "streamable-http", "url": "https://x", "disabled": false}}"#,
        true,
    );
    for server in [
        "{}",
        r#"{"a b": {"command": "x"}}"#,
        r#"{"a": "x"}"#,
        r#"{"a": {"command": ""}}"#,
        r#"{"a": {"args": []}}"#,
        r#"{"a": {"command": "x", "url": "https://x"}}"#,
        r#"{"a": {"command": "x", "timeout": 1}}"#,
        r#"{"a": {"command": "x", "headers": {"A": "b"}}}"#,
        r#"{"a": {"url": "https://x", "args": []}}"#,
        r#"{"a": {"command": "x", "disabled": true}}"#,
        r#"{"a": {"type": "sse", "url": "https://x"}}"#,
        r#"{"a": {"command": "x", "env": {"PLUGIN_DATA": "x"}}}"#,
    ] {
        check_servers(server, false);
    }
}

#[test]
fn every_fixture_is_accepted() {
    let schema = validator(&schema::plugin());
    for collection in ["plugins", "hostile/plugins"] {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures");
        for entry in fs::read_dir(Path::new(dir).join(collection)).expect("fixtures") {
            let file = entry.expect("an entry").path().join("plugin.json");
            let Ok(text) = fs::read_to_string(&file) else { continue };
            let value = serde_json::from_str(&text).expect("JSON");
            let errors: Vec<_> = schema.iter_errors(&value).map(|it| it.to_string()).collect();
            assert!(errors.is_empty(), "{}: {errors:?}", file.display());
        }
    }
}

#[track_caller]
fn check_config(text: &str, accepted: bool) {
    let source = Source::new("config.json", text);
    let root = json::parse(&source).expect("JSON");
    let mut findings = Findings::new();
    let _ = PluginConfig::read(
        At::root(&source, &root),
        |path| expand_home(path, Some(Path::new("/home/ada")), |_| None),
        &mut findings,
    );
    assert_eq!(findings.is_empty(), accepted, "{findings:?}");
    let schema = validator(&schema::plugin_config());
    assert_eq!(schema.is_valid(&root.to_json()), accepted, "{text}");
}

#[test]
fn configurations() {
    check_config("{}", true);
    check_config(
        r#"{"enabled": true, "plugin_dirs": ["~/p"], "allowed_plugins": ["a"],
            "blocked_plugins": ["b"], "grants": {"a": {"env": ["T"]}}, "strict_env": false}"#,
        true,
    );
    check_config(
        r#"{"grants": {"a": {"limits": {"cpu_seconds": 5, "memory_bytes": 1}, "network": "off",
            "read": ["/opt/a b"], "write": ["~/x", "~"]}}}"#,
        true,
    );
    check_config(r#"{"grants": {"a": {"network": ["a.org", "*.b.org:443"]}}}"#, true);
    check_config(r#"{"ready": {"processes": 0, "idle_seconds": 5, "memory_bytes": 1000}}"#, true);
    check_config(r#"{"ready": {}}"#, true);
    check_config(r#"{"ready": 5}"#, false);
    check_config(r#"{"ready": {"processes": -1}}"#, false);
    check_config(r#"{"ready": {"memory": 1}}"#, false);
    check_config(r#"{"grants": {"a": {"network": true}}}"#, false);
    check_config(r#"{"grants": {"a": {"network": "maybe"}}}"#, false);
    check_config(r#"{"grants": {"a": {"read": ["x"]}}}"#, false);
    check_config(r#"{"grants": {"a": {"limits": {"memory": 1}}}}"#, false);
    check_config(r#"{"block_plugins": []}"#, false);
    check_config(r#"{"enable": true}"#, false);
    check_config(r#"{"directories": []}"#, false);
    check_config(r#"{"blocked_plugins": ["a*"]}"#, false);
    check_config(r#"{"grants": {"a_b": {}}}"#, false);
    check_config(r#"{"grants": {"a": {"env": ["A=B"]}}}"#, false);
    check_config(r#"{"grants": {"a": {"net": true}}}"#, false);
}
