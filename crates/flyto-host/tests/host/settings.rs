//! Grants for plugins that are not there, and servers that are not started.

use expect_test::{Expect, expect};
use flyto_diagnostics::Severity;
use flyto_execenv::{ExecEnv, local::Local};
use flyto_host::{Flags, Host, Surroundings, load_config, validate_path_under};

use flyto_tools::Input;

use crate::world::World;

/// A host with the configuration of this text, whose flags name no directories.
fn host(world: &World, plugins: &str, flags: &Flags) -> Host {
    let dir = world.path("plugins");
    let text = format!(
        "{{\"plugins\": {{\"enabled\": true, \"plugin_dirs\": [{:?}], {plugins}}}}}",
        dir.display().to_string()
    );
    world.write(".config/flyto/config.json", &text);
    let (config, findings) = load_config(&world.surroundings(), flags).expect("it can be used");
    assert!(findings.is_empty(), "{findings:?}");
    Host::new(ExecEnv::new(Local::new()), world.surroundings(), config)
}

#[track_caller]
fn check(host: &Host, expect: Expect) {
    let report = host.report();
    let lines: Vec<String> = report
        .settings
        .iter()
        .map(|it| {
            let pointer = it.pointer.as_ref().map_or("", |it| it.as_str());
            let help = it.help.as_deref().unwrap_or_default();
            let place = it.location.place().map_or_else(String::new, |it| it.to_string());
            format!("{place} {}[{}] {}; {help} {pointer}", it.severity, it.code, it.message)
        })
        .collect();
    expect.assert_eq(&lines.join("\n"));
}

#[test]
fn a_grant_for_no_plugin_is_told_with_a_name_that_is_near() {
    let world = World::new().plugin("notes", "true").plugin("git-info", "true");
    let grants =
        r#""grants": {"note": {}, "git-info": {"env": ["X"]}, "gitinfo": {}, "other": {}}"#;
    let host = host(&world, grants, &Flags::default());
    check(
        &host,
        expect![[r#"
        1:126 warning[F0308] there is no plugin "gitinfo", to which something is granted; write the name of a plugin as its manifest does /plugins/grants/gitinfo
        1:86 warning[F0308] there is no plugin "note", to which something is granted; did you mean "notes"? /plugins/grants/note
        1:141 warning[F0308] there is no plugin "other", to which something is granted; write the name of a plugin as its manifest does /plugins/grants/other"#]],
    );
    let granted = |tool| host.prepare(tool, Input::empty()).expect("it is there").outline().granted;
    assert!(granted("git-info:run").is_some_and(|it| it.env.contains("X")));
    assert!(granted("notes:run").is_some_and(|it| it.env.is_empty()));
    // It holds for the plugins that are there now.
    world.add_plugin("other", "true");
    host.reload();
    check(
        &host,
        expect![[r#"
        1:126 warning[F0308] there is no plugin "gitinfo", to which something is granted; write the name of a plugin as its manifest does /plugins/grants/gitinfo
        1:86 warning[F0308] there is no plugin "note", to which something is granted; did you mean "notes"? /plugins/grants/note"#]],
    );
}

#[test]
fn a_list_of_plugins_that_are_not_there_is_told() {
    let world = World::new().plugin("notes", "true").plugin("git-info", "true");
    let lists = r#""blocked_plugins": ["gitinfo", "notes", "note"], "allowed_plugins": ["else"]"#;
    check(
        &host(&world, lists, &Flags::default()),
        expect![[r#"
        1:144 warning[F0311] there is no plugin "else", which "allowed_plugins" names; write the name of a plugin as its manifest does /plugins/allowed_plugins/0
        1:95 warning[F0311] there is no plugin "gitinfo", which "blocked_plugins" names; did you mean "git-info"? /plugins/blocked_plugins/0
        1:115 warning[F0311] there is no plugin "note", which "blocked_plugins" names; write the name of a plugin as its manifest does /plugins/blocked_plugins/2"#]],
    );
    let off = format!(r#"{lists}, "enabled": false"#);
    let text = format!("{{\"plugins\": {{{off}}}}}");
    world.write(".config/flyto/config.json", &text);
    let res = load_config(&world.surroundings(), &Flags::default());
    let (config, _) = res.expect("it can be used");
    check(&Host::new(ExecEnv::new(Local::new()), world.surroundings(), config), expect![[""]]);
    let mut flags = Flags::default();
    flags.plugins.push(world.path("plugins"));
    check(&host(&world, lists, &flags), expect![[""]]);
}

#[test]
fn other_directories_say_nothing_about_grants() {
    let world = World::new().plugin("notes", "true");
    let mut flags = Flags::default();
    flags.plugins.push(world.path("plugins"));
    check(&host(&world, r#""grants": {"else": {}}"#, &flags), expect![[""]]);
}

#[test]
fn servers_are_declared_and_not_started() {
    let world = World::new();
    let text = r#"{"name": "tickets", "mcpServers": {"a": {"command": "node"}, "b": {"command": "${NONE}"}}}"#;
    world.write("plugins/tickets/plugin.json", text);
    let host = host(&world, r#""strict_env": false"#, &Flags::default());
    check(
        &host,
        expect![[
            r#"1:10 note[F0309] the plugin "tickets" declares the servers "a", "b", and this program starts none; a client of the Model Context Protocol can be told to start it "#
        ]],
    );
    let json = serde_json::to_value(&*host.report()).expect("a report");
    assert_eq!(json["plugins"][0]["servers"], serde_json::json!(["a", "b"]));
    let unset = host.report().findings().any(|it| it.code == flyto_plugin::codes::SERVER_UNSET);
    assert!(unset, "the host knows its environment");
}

#[test]
fn many_servers_of_a_plugin_are_counted() {
    let world = World::new();
    let servers: Vec<_> =
        (0..12).map(|it| format!("\"s{it:02}\": {{\"command\": \"x\"}}")).collect();
    let text = format!("{{\"name\": \"many\", \"mcpServers\": {{{}}}}}", servers.join(", "));
    world.write("plugins/many/plugin.json", &text);
    check(
        &host(&world, r#""strict_env": false"#, &Flags::default()),
        expect![[
            r#"1:10 note[F0309] the plugin "many" declares the servers "s00", "s01", "s02", "s03", "s04", "s05", "s06", "s07", "s08", "s09", and 2 more, and this program starts none; a client of the Model Context Protocol can be told to start it "#
        ]],
    );
}

/// Lists that are searched once for each name would take minutes here.
#[test]
fn a_large_configuration_is_read_in_time() {
    const N: usize = flyto_diagnostics::MAX_ENTRIES;
    let world = World::new();
    let list = |name: &str, item: &dyn Fn(usize) -> String| {
        let items: Vec<_> = (0..N).map(item).collect();
        format!("\"{name}\": {}", items.join(", "))
    };
    for it in 0..300 {
        world.add_plugin(&format!("other{it}"), "true");
    }
    let blocked =
        list("blocked_plugins", &|it| format!("\"b{it}\"")).replacen(": ", ": [", 1) + "]";
    let read = world.path("plugins").display().to_string();
    let grants = list("grants", &|it| format!("\"p{it}\": {{\"read\": [{read:?}]}}"));
    let grants = grants.replacen(": ", ": {", 1) + "}";
    let host = host(&world, &format!("{blocked}, {grants}"), &Flags::default());
    let n_warnings = host.report().settings.count(flyto_diagnostics::Severity::Warning);
    assert_eq!(n_warnings, 2 * N);
}

/// A configuration of 300,000 unknown keys and one more.
fn many_keys(last: &str) -> String {
    let keys: String = (0..300_000).map(|it| format!("\"key{it}\": 1, ")).collect();
    format!("{{{keys}{last}}}")
}

#[test]
fn a_misspelt_rule_behind_many_unknown_keys_is_an_error() {
    let world = World::new();
    for path in [".config/flyto/config.json", "project/.flyto/config.json"] {
        let file = world.write(path, &many_keys(r#""sanbox": "strict""#));
        let surroundings = Surroundings::new(
            [("HOME", world.dir.path().as_os_str())].into_iter().collect(),
            world.path("project"),
        );
        let findings = match load_config(&surroundings, &Flags::default()) {
            // A project that is not trusted keeps what it can narrow, and no configuration from being used.
            Ok((_, findings)) => {
                assert!(path.starts_with("project"));
                findings
            }
            Err(err) => err.findings,
        };
        let message = r#"unknown key "sanbox", which looks like "sandbox""#;
        let refused: Vec<_> = findings.iter().filter(|it| it.code.as_str() == "F0141").collect();
        let [refused] = &refused[..] else { panic!("{path}: {findings:?}") };
        assert_eq!(refused.message, message, "{path}");
        // Few of the others are told one by one.
        assert!(findings.count(Severity::Warning) < 20, "{path}");
        std::fs::remove_file(file).expect("it is there");
    }
}

#[test]
fn a_section_of_rules_that_stands_too_deep_is_an_error() {
    let world = World::new();
    let text =
        r#"{"security": {"x": 1, "sandbox": "strict"}, "editor": {"limits": 3, "audit": {}}}"#;
    world.write(".config/flyto/config.json", text);
    let err = load_config(&world.surroundings(), &Flags::default()).expect_err("a rule is unread");
    let refused: Vec<_> = err.findings.iter().filter(|it| it.code.as_str() == "F0141").collect();
    let [refused] = &refused[..] else { panic!("{:?}", err.findings) };
    assert_eq!(refused.message, r#""sandbox" within "security", which is no section"#);
    assert_eq!(refused.help.as_deref(), Some(r#"write "sandbox" at the root of the file"#));
    assert_eq!(err.findings.count(Severity::Error), 1);
    // What other programs keep in the file is a warning, as before.
    world.write(".config/flyto/config.json", r#"{"plugins": {}, "editor": {"limits": 3}}"#);
    let (_, findings) = load_config(&world.surroundings(), &Flags::default()).expect("it is read");
    assert_eq!((findings.count(Severity::Error), findings.count(Severity::Warning)), (0, 1));
    // Of many, a few are told.
    let keys: Vec<_> = (0..20_000).map(|it| format!("\"k{it}\": {{\"sandbox\": 1}}")).collect();
    world.write(".config/flyto/config.json", &format!("{{{}}}", keys.join(", ")));
    let err = load_config(&world.surroundings(), &Flags::default()).expect_err("a rule is unread");
    assert_eq!(err.findings.count(Severity::Error), 32);
}

#[test]
fn keys_without_end_that_look_like_rules_are_refused_after_the_first_of_them() {
    let world = World::new();
    let keys: Vec<_> = (0..20_000).map(|it| format!("\"sandbox_{it}\": 1")).collect();
    world.write(".config/flyto/config.json", &format!("{{{}}}", keys.join(", ")));
    let err = load_config(&world.surroundings(), &Flags::default()).expect_err("a rule is unread");
    assert_eq!(err.findings.count(Severity::Error), 32);
    let told =
        err.findings.iter().any(|it| it.message.contains("more keys of this object are unknown"));
    assert!(told, "{:?}", err.findings);
}

#[test]
fn a_tool_that_asks_for_a_profile_that_is_not_there_is_told() {
    let world = World::new();
    let tool = |name: &str, profile: &str| {
        format!(
            r#"{{"name": "{name}", "description": "d", "command": "true", "sandbox": "{profile}"}}"#
        )
    };
    let tools = [tool("a", "stict"), tool("b", "strict"), tool("c", "nope")].join(",\n");
    let manifest = format!("{{\"name\": \"p\", \"tools\": [\n{tools}]}}");
    world.write("plugins/p/plugin.json", &manifest);
    // The finding stands at the value, for a host and for a check of the file or of its directory.
    let at = |start: usize, line: &str| format!("{start} {line}");
    let found = |path: &str| {
        let (config, _) =
            load_config(&world.surroundings(), &Flags::default()).expect("it is none");
        let found = validate_path_under(&world.path(path), &world.surroundings(), &config);
        let found = found.expect("it is there").findings.into_vec();
        let values = found.iter().map(|it| {
            let span = it.location.span().expect("it is in a text");
            at(span.start, &manifest[span.start..span.end])
        });
        values.collect::<Vec<_>>()
    };
    let value = |name: &str| {
        let name = format!("{name:?}");
        at(manifest.find(&name).expect("it is there"), &name)
    };
    for path in ["plugins", "plugins/p", "plugins/p/plugin.json"] {
        assert_eq!(found(path), [value("stict"), value("nope")], "{path}");
    }
    check(
        &host(&world, r#""grants": {}"#, &Flags::default()),
        expect![[r#"
            2:65 warning[F0312] the tool "a" asks for the sandbox profile "stict", which is not there; did you mean "strict"? 
            4:65 warning[F0312] the tool "c" asks for the sandbox profile "nope", which is not there; there are workspace, strict "#]],
    );
}
