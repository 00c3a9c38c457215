//! The rules that plugins bring for their own tools.

use std::{fs, sync::Arc};

use expect_test::{Expect, expect};
use flyto_diagnostics::Source;
use flyto_execenv::{Environment, ExecEnv, local::Local};
use flyto_host::{
    CallError, Host,
    permission::{Decision, Verdict},
    validate_path,
};
use flyto_plugin::{LoadOptions, PluginContext, PluginTool, codes, load_source};
use flyto_tools::{CallContext, Input};
use serde_json::json;

use crate::world::{World, call, shown};

/// Writes a plugin with a tool `run` that prints a word, and these rules.
fn add(world: &World, name: &str, permissions: &str) {
    let text = format!(
        "{{\n  \"name\": \"{name}\",\n  \"permissions\": {permissions},\n  \"tools\": [{{\"name\": \"run\", \"description\": \"Runs.\", \
         \"command\": \"echo\", \"args\": [\"ran\"]}}]\n}}\n"
    );
    world.write(&format!("plugins/{name}/plugin.json"), &text);
}

/// A world whose operator allows everything, with these plugins and their rules.
fn world(plugins: &[(&str, &str)]) -> World {
    let mut world = World::new();
    for rule in ["p:*", "q:*", "Bash"] {
        world.config.permissions.allow(rule).expect("a rule");
    }
    for (name, permissions) in plugins {
        add(&world, name, permissions);
    }
    world
}

fn host(world: &World) -> Host {
    Host::builder(ExecEnv::new(Local::new()), world.surroundings(), world.config.clone()).build()
}

fn decision(host: &Host, name: &str) -> Arc<Decision> {
    let call = host.prepare(name, Input::empty()).expect("it is loaded");
    call.outline().decision.expect("a host has rules")
}

#[track_caller]
fn check(world: &World, host: &Host, name: &str, expect: Expect) {
    let text = decision(host, name).to_string();
    expect.assert_eq(&text.replace(&*world.dir.path().to_string_lossy(), "DIR"));
}

/// What came of a call.
async fn outcome(host: &Host, name: &str) -> String {
    match call(host, name, "{}").await {
        Ok(result) => result.output,
        Err(CallError::Refused(it)) => format!("refused by {}", it.stage),
        Err(err) => panic!("{err}"),
    }
}

#[tokio::test]
async fn a_plugin_denies_what_the_operator_allows() {
    let world = world(&[("p", r#"{"deny": ["p:run"]}"#)]);
    let host = host(&world);
    check(
        &world,
        &host,
        "p:run",
        expect!["deny: tool p:run: p:run (deny, plugin p, DIR/plugins/p/plugin.json:3:28)"],
    );
    assert_eq!(outcome(&host, "p:run").await, "refused by permission");
    // A call by name is the operator's answer to a question, and no answer to a rule that denies.
    let by_name = world.host();
    assert_eq!(outcome(&by_name, "p:run").await, "refused by permission");
    let CallError::Refused(refusal) = call(&host, "p:run", "{}").await.expect_err("denied") else {
        panic!("it is refused")
    };
    let rule = refusal.rule.expect("a rule denies it");
    assert_eq!((rule.place().line, rule.place().pointer.as_str()), (3, "/permissions/deny/0"));
}

#[tokio::test]
async fn a_plugin_has_its_calls_asked() {
    let world = world(&[("p", r#"{"ask": ["Bash(echo:*)"]}"#)]);
    let host = host(&world);
    check(
        &world,
        &host,
        "p:run",
        expect!["ask: `echo ran`: Bash(echo:*) (ask, plugin p, DIR/plugins/p/plugin.json:3:27)"],
    );
    // No rule that a person could add would answer it.
    assert!(decision(&host, "p:run").suggested_rules().is_empty());
    assert_eq!(outcome(&host, "p:run").await, "refused by permission");
    assert_eq!(outcome(&world.host(), "p:run").await, "ran\n");
}

#[tokio::test]
async fn rules_of_a_plugin_hold_for_its_own_tools() {
    let all = r#"{"deny": ["Bash", "Bash(echo:*)", "Read", "class:bash", "q:*"]}"#;
    let world = world(&[("q", all), ("p", "{}")]);
    let host = host(&world);
    assert_eq!(outcome(&host, "q:run").await, "refused by permission");
    assert_eq!(outcome(&host, "p:run").await, "ran\n");
}

#[test]
fn a_plugin_that_would_allow_or_name_others_does_not_load() {
    for (rules, what) in [
        (r#"{"allow": ["p:run"]}"#, "a plugin cannot allow its own calls"),
        (
            r#"{"deny": ["q:run"]}"#,
            "\"q:run\" is no rule: a rule of a plugin names no tools but the plugin's own",
        ),
        (
            r#"{"deny": ["run"]}"#,
            "\"run\" is no rule: a rule of a plugin names no tools but the plugin's own",
        ),
        (
            r#"{"deny": ["Bash(rm *)"]}"#,
            "\"Bash(rm *)\" is no rule: words that follow are written as `:*`",
        ),
    ] {
        let world = world(&[("p", rules), ("q", "{}")]);
        let host = host(&world);
        assert!(host.find("p:run").is_err() && host.find("q:run").is_ok(), "{rules}");
        let finding = host.report().plugin("p").expect("found").findings.iter().next().cloned();
        let finding = finding.expect("it says why");
        assert_eq!((finding.code, &*finding.message), (codes::PLUGIN_RULE, what));
        assert_eq!(finding.location.place().map(|it| it.line), Some(3));
        let validated = validate_path(&world.path("plugins/p"), &world.surroundings());
        let validated = validated.expect("it is there").findings;
        assert!(validated.iter().any(|it| it.message == finding.message), "{validated:?}");
    }
    // Only the mended rule is missing.
    let world = world(&[("p", r#"{"deny": ["p:run", "Bash(rm:*)"]}"#)]);
    let found =
        validate_path(&world.path("plugins/p"), &world.surroundings()).expect("it is there");
    assert!(!found.findings.has_errors(), "{:?}", found.findings);
}

/// A rule names a tool by any of its names, and holds for a call by any of them.
#[tokio::test]
async fn a_rule_for_an_alias_holds_for_the_tool() {
    let world = world(&[]);
    let text = r#"{"name": "p", "permissions": {"deny": ["p:go"]}, "tools": [
        {"name": "run", "aliases": ["go"], "description": "Runs.", "command": "echo"},
        {"name": "other", "description": "Runs.", "command": "echo"}]}"#;
    world.write("plugins/p/plugin.json", text);
    let host = host(&world);
    assert!(host.report().plugin("p").expect("found").findings.is_empty());
    for name in ["p:run", "p:go", "p__run"] {
        assert_eq!(decision(&host, name).verdict, Verdict::Deny, "{name}");
    }
    assert_eq!(decision(&host, "p:other").verdict, Verdict::Allow);
}

/// A decision compares each word of a call with rules as long as that.
#[test]
fn a_rule_of_more_than_256_words_is_refused_with_its_place() {
    let words = |n: usize| format!("Bash({})", vec!["a"; n].join(" "));
    let found = |path: &str, rule: &str| {
        let world = World::new();
        let rules =
            format!("{{\n  \"permissions\": {{\n    \"deny\": [\"Bash(b)\",\n      {rule:?}]}}}}");
        world.write("config.json", &rules);
        add(&world, "p", &format!("{{\"deny\": [\n{rule:?}]}}"));
        let found = validate_path(&world.path(path), &world.surroundings()).expect("it is there");
        let told = found.findings.iter().map(|it| {
            let place = it.location.place().map(|it| (it.line, it.column));
            format!("{} {place:?} {}", it.code, it.message.rsplit(": ").next().unwrap_or_default())
        });
        told.collect::<Vec<_>>()
    };
    let why = "a command of more than 256 words is too long for a rule";
    for (path, place) in
        [("config.json", "F0320 Some((4, 13))"), ("plugins/p", "F0169 Some((4, 7))")]
    {
        assert!(found(path, &words(256)).is_empty(), "{:?}", found(path, &words(256)));
        assert_eq!(found(path, &words(257)), [format!("{place} {why}")], "{path}");
    }
}

#[test]
fn a_rule_without_a_tool_is_told_at_load_and_by_validate() {
    let world = world(&[("p", r#"{"deny": ["p:rn", "p:r*", "mcp__p.s__x"]}"#), ("q", "{}")]);
    let host = host(&world);
    assert!(host.find("p:run").is_ok());
    let told = |findings: &flyto_diagnostics::Findings| {
        let told = findings.iter().map(|it| {
            let place = it.location.place().map(|it| (it.line, it.column));
            format!("{} {place:?} {} {:?}", it.code, it.message, it.help)
        });
        told.collect::<Vec<_>>().join("\n")
    };
    let loaded = told(&host.report().plugin("p").expect("found").findings);
    expect![[r#"
        F0170 Some((3, 28)) the rule "p:rn" names no tool of the plugin Some("did you mean \"p:run\"?")
        F0170 Some((3, 44)) the rule "mcp__p.s__x" names no server of the plugin Some("write the name of a server, or remove the rule")"#]].assert_eq(&loaded);
    let validated = validate_path(&world.path("plugins/p"), &world.surroundings());
    assert_eq!(told(&validated.expect("it is there").findings), loaded);
}

#[test]
fn a_misspelt_key_costs_its_plugin_and_no_other() {
    for key in ["deny", "perms", "permission"] {
        let world = World::new();
        let text = format!(
            r#"{{"name": "p", "{key}": ["Bash(rm:*)"],
                "tools": [{{"name": "run", "description": "Runs.", "command": "echo"}}]}}"#
        );
        world.write("plugins/p/plugin.json", &text);
        add(&world, "q", "{}");
        let host = host(&world);
        assert!(host.find("p:run").is_err() && host.find("q:run").is_ok(), "{key}");
    }
}

/// The rules of a call are those of the very tool that it runs.
#[tokio::test]
async fn a_reload_changes_the_rules_of_the_next_call() {
    let world = world(&[("p", "{}")]);
    let host = host(&world);
    let prepare = || host.prepare("p:run", Input::empty()).expect("loaded");
    let (decided, undecided) = (prepare(), prepare());
    assert_eq!(decided.outline().decision.expect("rules").verdict, Verdict::Allow);

    add(&world, "p", r#"{"deny": ["p:run"]}"#);
    assert_eq!(shown(&host.reload()), "changed p ~p:run\n");
    assert_eq!(decision(&host, "p:run").verdict, Verdict::Deny);
    let denied = prepare();
    for call in [decided, undecided] {
        let result = call.run(&CallContext::new()).await.expect("it was allowed");
        assert_eq!(result.output, "ran\n");
    }

    // A call of the tool that was denied stays denied when its plugin takes the rule back.
    add(&world, "p", "{}");
    assert_eq!(shown(&host.reload()), "changed p ~p:run\n");
    assert!(denied.run(&CallContext::new()).await.is_err());
    assert_eq!(outcome(&host, "p:run").await, "ran\n");
}

#[tokio::test]
async fn an_edit_with_a_bad_rule_keeps_the_rules() {
    let world = world(&[("p", r#"{"deny": ["p:run"]}"#)]);
    let host = host(&world);
    add(&world, "p", r#"{"denied": []}"#);
    assert_eq!(shown(&host.reload()), "kept p F0021 F0138\n");
    assert_eq!(outcome(&host, "p:run").await, "refused by permission");
}

#[tokio::test]
async fn rules_go_with_their_plugin() {
    let world = world(&[("p", r#"{"deny": ["Bash"]}"#), ("q", "{}")]);
    let host = host(&world);
    assert_eq!(outcome(&host, "p:run").await, "refused by permission");
    fs::remove_dir_all(world.path("plugins/p")).expect("removed");
    assert_eq!(shown(&host.reload()), "removed p -p:run\n");
    assert_eq!(outcome(&host, "q:run").await, "ran\n");
    // Another plugin under the name has rules of its own.
    add(&world, "p", "{}");
    assert_eq!(shown(&host.reload()), "added p +p:run\n");
    assert_eq!(outcome(&host, "p:run").await, "ran\n");
}

/// An edit above the rules moves them, and an explanation names their new line.
#[test]
fn places_follow_an_edit() {
    let world = world(&[("p", r#"{"deny": ["p:run"]}"#)]);
    let host = host(&world);
    let path = world.path("plugins/p/plugin.json");
    let text = fs::read_to_string(&path).expect("read");
    fs::write(&path, format!("\n\n{text}")).expect("written");
    host.reload();
    assert_eq!(decision(&host, "p:run").rule().expect("it denies").place().line, 5);
}

/// A program may register a tool of a plugin that it loaded with another check.
#[test]
fn a_rule_that_the_host_cannot_read_has_each_call_asked() {
    let text = json!({
        "name": "p",
        "permissions": {"deny": ["Bash(rm *)"]},
        "tools": [{
            "name": "run", "description": "Runs.", "command": "true", "permission_class": "readonly"
        }],
    });
    let options = LoadOptions::new().rules(|_, _| Ok(None));
    let source = Source::new("plugin.json", text.to_string());
    let plugin = load_source(&source, "/", &options).plugin.expect("it loads");
    let tool = || {
        let ctx = Arc::new(PluginContext::new(ExecEnv::new(Local::new()), Environment::new()));
        PluginTool::all(&plugin, &ctx).remove(0)
    };
    let mut world = World::new();
    world.config.permissions.allow("p:run").expect("a rule");
    let allowing = host(&world);
    allowing.add_tool("program", tool()).expect("its name is free");
    assert_eq!(decision(&allowing, "p:run").verdict, Verdict::Ask);
    world.config.permissions.deny("p:run").expect("a rule");
    let denying = host(&world);
    denying.add_tool("program", tool()).expect("its name is free");
    assert_eq!(decision(&denying, "p:run").verdict, Verdict::Deny);
}
