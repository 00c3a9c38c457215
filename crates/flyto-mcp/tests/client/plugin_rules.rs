//! The rules of a plugin hold for the tools of its servers.

use std::fs;

use flyto_host::{CallError, Prepared, permission::Verdict};
use flyto_tools::Input;
use serde_json::{Value, json};

use crate::support::{World, little, options};

/// A world with a plugin `p` that has a server `one` and these rules.
fn world(rules: &Value) -> World {
    let dir = tempfile::tempdir().expect("a directory");
    fs::create_dir_all(dir.path().join("plugins/p")).expect("made");
    fs::write(dir.path().join("plugins/p/plugin.json"), manifest(rules)).expect("written");
    World::in_dir(dir, json!({}), options(), None)
}

fn manifest(rules: &Value) -> String {
    json!({"name": "p", "mcpServers": {"one": little(&[])}, "permissions": rules}).to_string()
}

fn prepared(world: &World, tool: &str, input: Value) -> Prepared {
    world.host.prepare(&format!("p.one:{tool}"), Input::from_value(input)).expect("it is offered")
}

/// The verdict, and the rule with its place in the manifest.
fn decision(world: &World, tool: &str, input: Value) -> (Verdict, Option<(String, String)>) {
    let decision = prepared(world, tool, input).outline().decision.expect("a host has rules");
    let rule = decision.rule().filter(|_| decision.verdict != Verdict::Allow);
    let rule = rule.map(|it| (it.to_string(), it.place().pointer.clone()));
    (decision.verdict, rule)
}

#[tokio::test]
async fn rules_of_a_plugin_hold_for_the_tools_of_its_servers() {
    let rules = json!({"deny": ["mcp__p.one__echo", "Read(secrets/**)"], "ask": ["class:generic"]});
    let world = world(&rules).connected().await;
    let (verdict, rule) = decision(&world, "echo", json!({"text": "x"}));
    let (rule, pointer) = rule.expect("a rule denies it");
    assert_eq!((verdict, &*pointer), (Verdict::Deny, "/permissions/deny/0"));
    assert!(rule.starts_with("mcp__p.one__echo (deny, plugin p, "), "{rule}");
    let (verdict, rule) = decision(&world, "add", json!({"a": 1}));
    assert_eq!((verdict, rule.expect("one asks").1.as_str()), (Verdict::Ask, "/permissions/ask/0"));
    // An input that names what a rule denies.
    let (verdict, rule) = decision(&world, "add", json!({"file": "secrets/key"}));
    assert_eq!((verdict, rule.expect("one").1.as_str()), (Verdict::Deny, "/permissions/deny/1"));
    let called = prepared(&world, "echo", json!({"text": "x"})).run(&Default::default()).await;
    assert!(matches!(called, Err(CallError::Refused(_))), "{called:?}");
}

#[tokio::test]
async fn rules_of_one_plugin_leave_the_servers_of_others_alone() {
    let world = world(&json!({"deny": ["Bash", "class:generic"]}));
    let other = world.dir.path().join("plugins/q");
    fs::create_dir_all(&other).expect("made");
    let manifest = json!({"name": "q", "mcpServers": {"one": little(&[])}});
    fs::write(other.join("plugin.json"), manifest.to_string()).expect("written");
    let world = world.again(json!({"s": little(&[])})).connected().await;
    for tool in ["s:echo", "q.one:echo"] {
        let call = world.host.prepare(tool, Input::from_value(json!({"text": "x"})));
        let decision = call.expect("it is offered").outline().decision.expect("rules");
        assert_ne!(decision.verdict, Verdict::Deny, "{tool}");
    }
    assert_eq!(decision(&world, "echo", json!({"text": "x"})).0, Verdict::Deny);
}

/// The process stays, and a call that was prepared before is decided as it was.
#[tokio::test]
async fn a_reload_changes_the_rules_of_a_server() {
    let world = world(&json!({"deny": ["mcp__p.one__add"]}));
    world.servers.keep_connected();
    while world.host.find("p.one:pid").is_err() {
        tokio::task::yield_now().await;
    }
    let pid = async || prepared(&world, "pid", json!({})).run(&Default::default()).await;
    let before = pid().await.expect("it is allowed").output;
    let undecided = prepared(&world, "echo", json!({"text": "x"}));
    let denies = json!({"deny": ["mcp__p.one__echo"]});
    fs::write(world.dir.path().join("plugins/p/plugin.json"), manifest(&denies)).expect("written");
    world.host.reload();
    while decision(&world, "echo", json!({"text": "x"})).0 != Verdict::Deny {
        tokio::task::yield_now().await;
    }
    assert_eq!(decision(&world, "add", json!({})).0, Verdict::Allow);
    assert_eq!(undecided.run(&Default::default()).await.expect("it was allowed").output, "x");
    assert_eq!(pid().await.expect("it is allowed").output, before);
    // Rules that cannot be read keep those that hold.
    let misspelt = json!({"denied": ["mcp__p.one__add"]});
    fs::write(world.dir.path().join("plugins/p/plugin.json"), manifest(&misspelt))
        .expect("written");
    world.host.reload();
    tokio::task::yield_now().await;
    assert_eq!(decision(&world, "echo", json!({"text": "x"})).0, Verdict::Deny);
}
