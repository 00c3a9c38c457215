//! The `plugins` object of a configuration.

mod common;

use expect_test::{Expect, expect};
use flyto_diagnostics::{At, Findings, Source, json};
use flyto_plugin::{DEFAULT_PLUGIN_DIRS, Filter, PluginConfig, Verdict};

fn read(text: &str) -> (Option<PluginConfig>, Findings) {
    let source = Source::new("config.json", text);
    let value = json::parse(&source).expect("JSON");
    let mut findings = Findings::new();
    let config = PluginConfig::read(At::root(&source, &value), &mut findings).ok();
    (config, findings)
}

#[track_caller]
fn check(text: &str, expect: Expect) {
    let (config, findings) = read(text);
    expect.assert_eq(&format!("{}{config:?}\n", common::show(&findings)));
}

#[test]
fn nothing_said_is_the_default() {
    let (config, findings) = read("{}");
    assert_eq!((config, findings.is_empty()), (Some(PluginConfig::default()), true));
    let config = PluginConfig::default();
    assert_eq!((config.enabled, config.strict_env), (false, false));
    assert_eq!(config.plugin_dirs, DEFAULT_PLUGIN_DIRS);
    assert_eq!(config.filter().judge("p"), Verdict::Disabled);
}

#[test]
fn everything_said() {
    check(
        r#"{"enabled": true, "plugin_dirs": ["~/p"], "allowed_plugins": ["a", "b"],
            "blocked_plugins": ["b"], "grants": {"a": {"env": ["TOKEN"]}}, "strict_env": true}"#,
        expect![[r#"
            Some(PluginConfig { enabled: true, plugin_dirs: ["~/p"], allowed_plugins: {"a", "b"}, blocked_plugins: {"b"}, grants: {"a": Grant { env: {"TOKEN"} }}, strict_env: true })
        "#]],
    );
    let (config, _) =
        read(r#"{"enabled": true, "allowed_plugins": ["a", "b"], "blocked_plugins": ["b"]}"#);
    let filter = config.expect("valid").filter();
    assert_eq!(filter, Filter::new().allow(["a", "b"]).block(["b"]));
}

#[test]
fn an_older_name_works() {
    check(
        r#"{"directories": ["/opt"]}"#,
        expect![[r#"
        1:2: warning[F0025]: "directories" is another spelling of "plugin_dirs"
            at /directories
            help: write "plugin_dirs"
            "directories" -> "plugin_dirs"
        Some(PluginConfig { enabled: false, plugin_dirs: ["/opt"], allowed_plugins: {}, blocked_plugins: {}, grants: {}, strict_env: false })
    "#]],
    );
    check(
        r#"{"directories": ["/opt"], "plugin_dirs": ["/srv"]}"#,
        expect![[r#"
        1:27: error[F0026]: "directories" and "plugin_dirs" exclude each other
            at /plugin_dirs
            because "directories" is another spelling of "plugin_dirs"
            help: remove one of them
            1:2: "directories" is here
        None
    "#]],
    );
}

#[test]
fn a_part_that_cannot_be_read_is_not_half_used() {
    check(
        r#"{"blocked_plugins": ["a", 3]}"#,
        expect![[r#"
        1:27: error[F0023]: "blocked_plugins[1]" must be a string, found the number 3
            at /blocked_plugins/1
            help: write `"3"`
            3 -> "3"
        None
    "#]],
    );
    check(
        r#"{"enabled": "true", "plugin_dirs": "a:b", "strict_env": 1}"#,
        expect![[r#"
            1:13: error[F0023]: "enabled" must be `true` or `false`, found the string "true"
                at /enabled
                help: write `true`
                "true" -> true
            1:36: error[F0023]: "plugin_dirs" must be an array of strings, found the string "a:b"
                at /plugin_dirs
                help: write `["a:b"]`
                "a:b" -> ["a:b"]
            1:57: error[F0023]: "strict_env" must be `true` or `false`, found the number 1
                at /strict_env
                help: write `true`
                1 -> true
            None
        "#]],
    );
    check(
        r#"{"grants": {"a": {"env": "X"}, "b": []}}"#,
        expect![[r#"
        1:26: error[F0023]: "env" must be an array of strings, found the string "X"
            at /grants/a/env
            help: write `["X"]`
            "X" -> ["X"]
        1:37: error[F0023]: "b" must be an object, found an array
            at /grants/b
        None
    "#]],
    );
    check(
        r#"{"grants": {"a": {"env": ["X=1", "PLUGIN_ROOT", ""]}}}"#,
        expect![[r#"
        1:27: error[F0116]: the name "X=1" of a variable holds `=`, which stands between name and value
            at /grants/a/env/0
            help: name a variable of the host; its value comes from there
        1:34: error[F0117]: PLUGIN_ROOT is set by the host for every plugin
            at /grants/a/env/1
        1:49: error[F0116]: the name "" of a variable is empty
            at /grants/a/env/2
            help: name a variable of the host; its value comes from there
        None
    "#]],
    );
    check(
        r#"{"grants": {"a": {}, "a": {}}}"#,
        expect![[r#"
        1:22: error[F0020]: the plugin "a" has two grants
            at /grants/a
            help: put them into one
            1:13: the other is here
        None
    "#]],
    );
}

#[test]
fn what_has_no_effect_is_told() {
    check(
        r#"{"blocked_plugins": ["git-*"], "grants": {"a_b": {"env": []}}}"#,
        expect![[r#"
        1:22: warning[F0140]: no plugin has the name "git-*": it holds '*'
            at /blocked_plugins/0
            help: write the name of a plugin as its manifest does; there are no patterns
        1:43: warning[F0140]: no plugin has the name "a_b": it holds '_'
            at /grants/a_b
            help: write the name of a plugin as its manifest does; there are no patterns
        Some(PluginConfig { enabled: false, plugin_dirs: ["~/.flyto/plugins", "~/.zeptoclaw/plugins"], allowed_plugins: {}, blocked_plugins: {"git-*"}, grants: {"a_b": Grant { env: {} }}, strict_env: false })
    "#]],
    );
    check(
        r#"{"allow_plugins": ["a"], "grants": {"a": {"network": true}}}"#,
        expect![[r#"
        1:2: warning[F0021]: unknown key "allow_plugins"
            at /allow_plugins
            help: did you mean "allowed_plugins"?
            "allow_plugins" -> "allowed_plugins"
        1:43: warning[F0021]: unknown key "network"
            at /grants/a/network
            help: the keys here are "env"
        Some(PluginConfig { enabled: false, plugin_dirs: ["~/.flyto/plugins", "~/.zeptoclaw/plugins"], allowed_plugins: {}, blocked_plugins: {}, grants: {"a": Grant { env: {} }}, strict_env: false })
    "#]],
    );
}
