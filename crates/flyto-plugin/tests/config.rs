//! The `plugins` object of a configuration.

mod common;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use expect_test::{Expect, expect};
use flyto_diagnostics::{At, Findings, Source, json};
use flyto_execenv::{Grants, Limits, Network};
use flyto_plugin::{DEFAULT_PLUGIN_DIRS, Filter, HomeError, PluginConfig, Verdict, expand_home};

fn expand(path: &str) -> Result<PathBuf, HomeError> {
    expand_home(path, Some(Path::new("/home/ada")), |_| None)
}

fn read(text: &str) -> (Option<PluginConfig>, Findings) {
    let source = Source::new("config.json", text);
    let value = json::parse(&source).expect("JSON");
    let mut findings = Findings::new();
    let config = PluginConfig::read(At::root(&source, &value), expand, &mut findings).ok();
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
    assert_eq!(config.plugin_dirs, DEFAULT_PLUGIN_DIRS.map(std::path::PathBuf::from));
    assert_eq!(config.filter().judge("p"), Verdict::Disabled);
}

#[test]
fn everything_said() {
    check(
        r#"{"enabled": true, "plugin_dirs": ["~/p"], "allowed_plugins": ["a", "b"],
            "blocked_plugins": ["b"], "grants": {"a": {"env": ["TOKEN"]}}, "strict_env": true}"#,
        expect![[r#"
            Some(PluginConfig { enabled: true, plugin_dirs: ["~/p"], allowed_plugins: {"a", "b"}, blocked_plugins: {"b"}, grants: {"a": Grant { env: {"TOKEN"}, limits: Limits { cpu_time: None, memory_bytes: None, processes: None, file_size_bytes: None, open_files: None, output_bytes: None }, network: None, read: [], write: [] }}, strict_env: true, ready: ReadyOptions { processes: 8, idle: 300s, memory_bytes: 536870912 } })
        "#]],
    );
    let (config, _) =
        read(r#"{"enabled": true, "allowed_plugins": ["a", "b"], "blocked_plugins": ["b"]}"#);
    let filter = config.expect("valid").filter();
    assert_eq!(filter, Filter::new().allow(["a", "b"]).block(["b"]));
}

#[test]
fn a_process_waits_a_year_at_most() {
    for (seconds, days) in [(86_400, 1), (u64::MAX, 366)] {
        let (config, findings) = read(&format!(r#"{{"ready": {{"idle_seconds": {seconds}}}}}"#));
        assert!(findings.is_empty());
        let idle = config.expect("valid").ready.idle;
        assert_eq!(idle, Duration::from_secs(days * 86_400));
    }
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
            Some(PluginConfig { enabled: false, plugin_dirs: ["/opt"], allowed_plugins: {}, blocked_plugins: {}, grants: {}, strict_env: false, ready: ReadyOptions { processes: 8, idle: 300s, memory_bytes: 536870912 } })
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
            Some(PluginConfig { enabled: false, plugin_dirs: ["~/.flyto/plugins", "~/.zeptoclaw/plugins"], allowed_plugins: {}, blocked_plugins: {"git-*"}, grants: {"a_b": Grant { env: {}, limits: Limits { cpu_time: None, memory_bytes: None, processes: None, file_size_bytes: None, open_files: None, output_bytes: None }, network: None, read: [], write: [] }}, strict_env: false, ready: ReadyOptions { processes: 8, idle: 300s, memory_bytes: 536870912 } })
        "#]],
    );
    check(
        r#"{"enable": true, "grants": {"a": {"hosts": ["example.org"]}}}"#,
        expect![[r#"
            1:2: error[F0021]: unknown key "enable"
                at /enable
                because a rule about plugins that is not read would not hold
                help: did you mean "enabled"?
                "enable" -> "enabled"
            1:35: error[F0021]: unknown key "hosts"
                at /grants/a/hosts
                because a bound that is not read would not hold, and no message would say so
                help: the keys here are "env", "limits", "network", "read", "write"
            None
        "#]],
    );
}

#[test]
fn a_misspelt_protection_is_an_error() {
    for (key, value, meant) in [
        ("strictenv", "true", "strict_env"),
        ("StrictEnv", "true", "strict_env"),
        ("strict", "true", "strict_env"),
        ("grant", "{}", "grants"),
    ] {
        let (config, findings) = read(&format!(r#"{{"enabled": true, "{key}": {value}}}"#));
        assert_eq!(config, None, "{key}");
        let shown = common::show(&findings);
        assert!(shown.contains("error[F0021]"), "{shown}");
        assert!(shown.contains(&format!("did you mean \"{meant}\"")), "{shown}");
    }
    check(
        r#"{"strict_env": true, "strict-env": false,
            "grants": {"p": {"netwrok": "off", "limits": {"memroy_bytes": 5}}}}"#,
        expect![[r#"
            1:22: error[F0021]: unknown key "strict-env"
                at /strict-env
                because a rule about plugins that is not read would not hold
                help: "strict_env" is there as well; remove this key
            2:30: error[F0021]: unknown key "netwrok"
                at /grants/p/netwrok
                because a bound that is not read would not hold, and no message would say so
                help: did you mean "network"?
                "netwrok" -> "network"
            2:59: error[F0021]: unknown key "memroy_bytes"
                at /grants/p/limits/memroy_bytes
                because a bound that is not read would not hold, and no message would say so
                help: did you mean "memory_bytes"?
                "memroy_bytes" -> "memory_bytes"
            None
        "#]],
    );
}

#[test]
fn a_grant_is_more_than_variables() {
    let (config, findings) = read(
        r#"{"grants": {"a": {"limits": {"cpu_seconds": 90, "memory_bytes": 1048576}, "network": "off",
            "read": ["/opt/models", "~/models"], "write": ["~"]}, "b": {"network": "on"}, "c": {}, "d": {"network": ["a.org"]}}}"#,
    );
    assert!(findings.is_empty(), "{}", common::show(&findings));
    let grants = config.expect("valid").grants;
    let mut limits = Limits::new();
    limits.cpu_time = Some(Duration::from_secs(90));
    limits.memory_bytes = Some(1 << 20);
    assert_eq!(
        grants["a"].for_backend(),
        Grants::new()
            .limits(limits)
            .network(Network::Off)
            .read("/opt/models")
            .read("/home/ada/models")
            .write("/home/ada")
    );
    assert_eq!(grants["b"].for_backend(), Grants::new().network(Network::Host));
    let hosts = Network::Hosts(vec!["a.org".parse().expect("a pattern")]);
    assert_eq!(grants["d"].for_backend(), Grants::new().network(hosts));
    assert!(grants["c"].for_backend().is_empty());
}

#[test]
fn a_grant_that_cannot_be_read_refuses_all() {
    check(
        r#"{"grants": {"a": {"network": true, "read": ["models", "~eve/x", "", "/a\u0000b"],
            "limits": {"memory_bytes": 0}}, "b": {"network": "of", "write": "/x"}}}"#,
        expect![[r#"
            1:30: error[F0023]: "network" must be "on" or "off", found true
                at /grants/a/network
                help: write `"on"`
                true -> "on"
            1:45: error[F0142]: the granted path "models" is relative
                at /grants/a/read/0
                because a program runs in more than one directory, so only an absolute path says what is granted
                help: write the whole path, or one that begins with `~/`
            1:55: error[F0142]: failed to expand "~eve/x": there is no user "eve"
                at /grants/a/read/1
                help: write the whole path, or one that begins with `~/`
            1:65: error[F0142]: a granted path is blank
                at /grants/a/read/2
                because a program runs in more than one directory, so only an absolute path says what is granted
                help: write the whole path, or one that begins with `~/`
            1:72: error[F0115]: the path holds a NUL character
                at /grants/a/read/3
                because the system ends arguments, variables and paths at it
                help: remove it
                \u0000 -> 
            2:40: error[F0024]: "memory_bytes" must be above 0; leave it out for no limit
                at /grants/a/limits/memory_bytes
            2:62: error[F0024]: "network" must be one of "off", "on", found the string "of"
                at /grants/b/network
                help: did you mean "off"?
                "of" -> "off"
            2:77: error[F0023]: "write" must be an array of strings, found the string "/x"
                at /grants/b/write
                help: write `["/x"]`
                "/x" -> ["/x"]
            None
        "#]],
    );
}

#[test]
fn a_misspelt_list_keeps_plugins_off() {
    for key in
        ["block_plugins", "blockedPlugins", "blocked", "deny", "blacklist", "disabled_plugins", "x"]
    {
        let (config, findings) = read(&format!(r#"{{"enabled": true, "{key}": ["x"]}}"#));
        assert_eq!(config, None, "{key}");
        let shown = common::show(&findings);
        assert_eq!(shown.contains("did you mean \"blocked_plugins\""), key != "x", "{shown}");
    }
    check(
        r#"{"allow": ["a"], "blocked_plugins": ["a"], "blocked_plugin": ["b"]}"#,
        expect![[r#"
        1:2: error[F0021]: unknown key "allow"
            at /allow
            because a rule about plugins that is not read would not hold
            help: did you mean "allowed_plugins"?
            "allow" -> "allowed_plugins"
        1:44: error[F0021]: unknown key "blocked_plugin"
            at /blocked_plugin
            because a rule about plugins that is not read would not hold
            help: "blocked_plugins" is there as well; remove this key
        None
    "#]],
    );
}

#[test]
fn directories_that_cannot_be_meant() {
    check(
        r#"{"plugin_dirs": ["$HOME/x", "${HOME}", "/srv/$USER/p", " ", "~/p", "/a$b"]}"#,
        expect![[r#"
            1:18: warning[F0143]: "$HOME/x" names a variable, and stays as it is
                at /plugin_dirs/0
                because in a path of the configuration, `~` and `~user` are expanded and nothing else
                help: write "~/x"
                "$HOME/x" -> "~/x"
            1:29: warning[F0143]: "${HOME}" names a variable, and stays as it is
                at /plugin_dirs/1
                because in a path of the configuration, `~` and `~user` are expanded and nothing else
                help: write "~"
                "${HOME}" -> "~"
            1:40: warning[F0143]: "/srv/$USER/p" names a variable, and stays as it is
                at /plugin_dirs/2
                because in a path of the configuration, `~` and `~user` are expanded and nothing else
                help: write the path out
            1:56: warning[F0143]: a directory of plugins is an empty text
                at /plugin_dirs/3
                help: write the path of a directory, or remove the entry
            Some(PluginConfig { enabled: false, plugin_dirs: ["$HOME/x", "${HOME}", "/srv/$USER/p", " ", "~/p", "/a$b"], allowed_plugins: {}, blocked_plugins: {}, grants: {}, strict_env: false, ready: ReadyOptions { processes: 8, idle: 300s, memory_bytes: 536870912 } })
        "#]],
    );
}
