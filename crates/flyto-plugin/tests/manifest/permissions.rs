//! The rules of permission that a plugin has for its own tools.

use expect_test::{Expect, expect};
use flyto_diagnostics::Source;
use flyto_plugin::{
    CLAUDE_MANIFEST_FILE, CLAUDE_MCP_FILE, Depth, LoadOptions, NamedTools, PluginRule, RuleEffect,
    RuleFault, load, load_source,
};

use crate::{check, loaded};

/// What a host knows of rules, as far as these tests need it.
pub(crate) fn reads(plugin: &str, text: &str) -> Result<Option<NamedTools>, RuleFault> {
    let named = |name: &str| match name.strip_suffix('*') {
        Some(prefix) => NamedTools::starting_with(prefix),
        None => NamedTools::one(name),
    };
    if let Some(rest) = text.strip_prefix("mcp__")
        && let Some((server, tool)) =
            rest.strip_prefix(&format!("{plugin}.")).and_then(|it| it.split_once("__"))
    {
        return Ok(Some(named(tool).of_server(server)));
    }
    match text.split_once(':') {
        Some((owner, name)) if owner == plugin => Ok(Some(named(name))),
        _ if text.starts_with("Bash(") && text.ends_with(')') => Ok(None),
        Some(_) => Err(RuleFault::new("it names another's tools", 0..text.len())),
        None => {
            let fault = RuleFault::new("it is a bare name", 0..text.len());
            Err(fault.with_suggestion(format!("{plugin}:{text}")))
        }
    }
}

/// A plugin with one tool and these members beside it.
fn with(members: &str) -> String {
    format!(
        "{{\n\"name\": \"p\",\n{members},\n\"tools\": [{{\"name\": \"t\", \"description\": \"d\", \"command\": \"ls\"}}]\n}}"
    )
}

#[track_caller]
fn check_head(members: &str, expect: Expect) {
    check(&with(members), expect);
}

#[test]
fn rules_have_their_places() {
    let text = with(
        "\"permissions\": {\n  \"deny\": [\"p:t\"],\n  \"ask\": [\"Bash(rm:*)\",\n    \"p:*\"]}",
    );
    let plugin = loaded(&text, Depth::Quick).plugin.expect("it loads");
    let rules: Vec<_> = plugin.manifest().rules.iter().collect();
    let shown = |it: &&PluginRule| {
        (
            it.effect,
            it.text.clone(),
            format!("{}:{}:{}", it.file, it.line, it.column),
            it.pointer.clone(),
        )
    };
    let rule = |effect, text: &str, place: &str, pointer: &str| {
        (effect, text.to_owned(), format!("plugin.json:{place}"), pointer.to_owned())
    };
    assert_eq!(
        rules.iter().map(shown).collect::<Vec<_>>(),
        [
            rule(RuleEffect::Ask, "Bash(rm:*)", "5:11", "/permissions/ask/0"),
            rule(RuleEffect::Ask, "p:*", "6:5", "/permissions/ask/1"),
            rule(RuleEffect::Deny, "p:t", "4:12", "/permissions/deny/0"),
        ]
    );
}

#[test]
fn no_rules_are_no_rules() {
    for members in ["\"version\": \"1\"", "\"permissions\": null", "\"permissions\": {}"] {
        let loaded = loaded(&with(members), Depth::Full);
        assert!(loaded.findings.is_empty(), "{members}: {:?}", loaded.findings);
        assert!(loaded.plugin.expect("it loads").manifest().rules.is_empty());
    }
}

#[test]
fn a_plugin_cannot_allow() {
    check_head(
        r#""permissions": {"allow": ["p:t"], "deny": ["p:t"]}"#,
        expect![[r#"
        3:26: error[F0169]: a plugin cannot allow its own calls
            at /permissions/allow
            because what a plugin may do is the operator's to decide, and its rules only narrow that
            help: remove it; write calls to be asked into "ask"
        no plugin
    "#]],
    );
}

#[test]
fn a_text_that_is_no_rule_costs_the_plugin() {
    check_head(
        r#""permissions": {"deny": ["p:t", "t"]}"#,
        expect![[r#"
        3:34: error[F0169]: "t" is no rule: it is a bare name
            at /permissions/deny/1
            because a rule that is not read would not hold
            help: write "p:t"
            "t" -> "p:t"
        no plugin
    "#]],
    );
    check_head(
        r#""permissions": {"ask": ["other:t"]}"#,
        expect![[r#"
        3:26: error[F0169]: "other:t" is no rule: it names another's tools
            at /permissions/ask/0
            because a rule that is not read would not hold
            help: `flyto explain F0169` shows rules of a plugin
        no plugin
    "#]],
    );
    check_head(
        r#""permissions": {"ask": ["p:t", 1], "deny": "p:t"}"#,
        expect![[r#"
        3:32: error[F0023]: "ask[1]" must be a string, found the number 1
            at /permissions/ask/1
            help: write `"1"`
            1 -> "1"
        3:44: error[F0023]: "deny" must be an array of strings, found the string "p:t"
            at /permissions/deny
            help: write `["p:t"]`
            "p:t" -> ["p:t"]
        no plugin
    "#]],
    );
    check_head(
        r#""permissions": ["p:t"]"#,
        expect![[r#"
        3:16: error[F0023]: "permissions" must be an object, found an array
            at /permissions
        no plugin
    "#]],
    );
}

/// Elsewhere an unknown key is a warning.
#[test]
fn a_misspelt_key_costs_the_plugin() {
    check_head(
        r#""permission": {"deny": ["p:t"]}"#,
        expect![[r#"
        3:1: error[F0021]: the key "permission" is unknown
            at /permission
            because a rule that is not read would not hold
            help: write "permissions"
            "permission" -> "permissions"
        no plugin
    "#]],
    );
    check_head(
        r#""Permissions": {"deny": ["p:t"]}, "permissions": {}"#,
        expect![[r#"
        3:1: error[F0021]: the key "Permissions" is unknown
            at /Permissions
            because a rule that is not read would not hold
            help: write "permissions"
            "Permissions" -> "permissions"
        no plugin
    "#]],
    );
    check_head(
        r#""permissions": {"denied": ["p:t"]}"#,
        expect![[r#"
        3:17: error[F0021]: unknown key "denied"
            at /permissions/denied
            because a rule that is not read would not hold
            help: did you mean "deny"?
            "denied" -> "deny"
        no plugin
    "#]],
    );
    check_head(
        r#""permissions": {}, "permissions": {"deny": ["p:t"]}"#,
        expect![[r#"
        3:20: error[F0020]: the key "permissions" occurs twice
            at /permissions
            because programs disagree about which one counts, so none is used
            help: remove all but one
            3:1: it is here first
        no plugin
    "#]],
    );
}

#[test]
fn rules_stand_at_the_head() {
    check(
        r#"{"name": "p", "tools": [
            {"name": "t", "description": "d", "command": "ls", "permissions": {"deny": ["p:t"]}},
            {"name": "u", "description": "d", "command": "ls"}
        ]}"#,
        expect![[r#"
            2:79: error[F0166]: "permissions" has no place here
                at /tools/0/permissions
                because a rule that is not read would not hold
                help: rules stand beside "name" and "tools" of the plugin: `"permissions": {"deny": ["PLUGIN:TOOL"]}`
            no plugin
        "#]],
    );
    // A tool without a plugin around it.
    check(
        r#"{"name": "t", "description": "d", "command": "ls", "permissions": {"deny": ["t:t"]}}"#,
        expect![[r#"
            1:35: warning[F0106]: the manifest is one tool, with no plugin around it
                at /command
                because a manifest describes a plugin, and what it runs stands in "tools"
                help: write `{"name": "t", "tools": [{"name": …, "command": …}]}`
                {"name": "t", "description": "d", "command": "ls", "permissions": {"deny": ["t:t"]}} -> {"name": "t", "permissions": {"deny": ["t:t"]}, "tools": [{"name": "t", "description": "d", "command": "ls"}]}
            1:67: error[F0166]: "permissions" has no place here
                at /permissions
                because a rule that is not read would not hold
                help: rules stand beside "name" and "tools" of the plugin: `"permissions": {"deny": ["PLUGIN:TOOL"]}`
            no plugin
        "#]],
    );
}

#[test]
fn rules_hold_for_servers_alone() {
    let text = r#"{"name": "p", "permissions": {"deny": ["Bash(rm:*)", "mcp__p.s__*"]},
        "mcpServers": {"s": {"command": "ls"}}}"#;
    let loaded = loaded(text, Depth::Full);
    assert!(loaded.findings.is_empty(), "{:?}", loaded.findings);
    assert_eq!(loaded.plugin.expect("it loads").manifest().rules.len(), 2);
}

#[test]
fn a_list_that_is_null_is_no_list() {
    check_head(
        r#""permissions": {"ask": null, "deny": [null]}"#,
        expect![[r#"
            3:24: error[F0023]: "ask" must be an array of strings, found null
                at /permissions/ask
                because a rule that is not read would not hold
                help: write `[]` for no rules, or remove the key
                null -> []
            3:39: error[F0023]: "deny[0]" must be a string, found null
                at /permissions/deny/0
            no plugin
        "#]],
    );
}

/// Such a rule holds for no call.
#[test]
fn a_rule_that_names_no_tool_is_told() {
    check(
        r#"{"name": "p", "permissions": {
            "deny": ["p:drop-table", "p:drop_*", "p:drap_*", "p:zzz"],
            "ask": ["p:d", "p:*", "p:refused", "p:x*", "mcp__p.admn__*", "mcp__p.admin__any", "mcp__p.q__*"]},
        "tools": [
            {"name": "drop_table", "description": "d", "command": "ls", "aliases": ["d"]},
            {"name": "refused", "description": "d", "command": 1}
        ],
        "mcpServers": {"admin": {"command": "ls"}}}"#,
        expect![[r#"
            2:22: warning[F0170]: the rule "p:drop-table" names no tool of the plugin
                at /permissions/deny/0
                because it holds for no call
                help: did you mean "p:drop_table"?
                "p:drop-table" -> "p:drop_table"
            2:50: warning[F0170]: the rule "p:drap_*" names no tool of the plugin
                at /permissions/deny/2
                because it holds for no call
                help: did you mean "p:drop_*"?
                "p:drap_*" -> "p:drop_*"
            2:62: warning[F0170]: the rule "p:zzz" names no tool of the plugin
                at /permissions/deny/3
                because it holds for no call
                help: write the name of a tool, or remove the rule
            3:48: warning[F0170]: the rule "p:x*" names no tool of the plugin
                at /permissions/ask/3
                because it holds for no call
                help: write the name of a tool, or remove the rule
            3:56: warning[F0170]: the rule "mcp__p.admn__*" names no server of the plugin
                at /permissions/ask/4
                because it holds for no call
                help: did you mean "mcp__p.admin__*"?
                "mcp__p.admn__*" -> "mcp__p.admin__*"
            3:95: warning[F0170]: the rule "mcp__p.q__*" names no server of the plugin
                at /permissions/ask/6
                because it holds for no call
                help: write the name of a server, or remove the rule
            6:64: error[F0023]: "command" must be a string, found the number 1
                at /tools/1/command
                help: write `"1"`
                1 -> "1"
            p: loaded [drop_table] refused [refused (argv)]
        "#]],
    );
    check(
        r#"{"name": "p", "permissions": {"deny": ["p:*"]}, "mcpServers": {"s": {"command": "ls"}}}"#,
        expect![[r#"
            1:40: warning[F0170]: the rule "p:*" names no tool of the plugin
                at /permissions/deny/0
                because it holds for no call
                help: did you mean "mcp__p.s__*"?
                "p:*" -> "mcp__p.s__*"
            p: loaded [] refused []
        "#]],
    );
}

/// A rule that is not read would not hold, wherever it stands.
#[test]
fn keys_of_rules_elsewhere_cost_the_plugin() {
    for key in ["deny", "ask", "Deny", "denied", "perms", "permision", "user_permissions"] {
        let text = with(&format!(r#""{key}": ["p:t"]"#));
        let at_head = loaded(&text, Depth::Quick);
        assert!(at_head.plugin.is_none() && at_head.findings.has_errors(), "{key}");
        let text = format!(
            r#"{{"name": "p", "tools": [{{"name": "t", "description": "d", "command": "ls"}},
                {{"name": "u", "description": "d", "command": "ls", "{key}": ["p:t"]}}]}}"#
        );
        let in_tool = loaded(&text, Depth::Quick);
        assert!(in_tool.plugin.is_none() && in_tool.findings.has_errors(), "{key}");
    }
    check_head(
        r#""deny": ["p:t"], "perms": {}"#,
        expect![[r#"
        3:1: error[F0021]: the key "deny" is unknown
            at /deny
            because a rule that is not read would not hold
            help: write "deny" within "permissions"
        3:18: error[F0021]: the key "perms" is unknown
            at /perms
            because a rule that is not read would not hold
            help: write "permissions"
            "perms" -> "permissions"
        no plugin
    "#]],
    );
    // Not these, which are near to none or to a key that is known.
    for key in ["licence", "params", "allow", "flags", "keywords"] {
        let text = with(&format!(r#""{key}": {{}}"#));
        let loaded = loaded(&text, Depth::Quick);
        assert!(loaded.plugin.is_some(), "{key}: {:?}", loaded.findings);
    }
    // A text is the class of a tool.
    check(
        r#"{"name": "p", "tools": [{"name": "t", "description": "d", "command": "ls", "permission": "readonly"}]}"#,
        expect![[r#"
            1:76: warning[F0021]: unknown key "permission"
                at /tools/0/permission
                help: did you mean "permission_class"?
                "permission" -> "permission_class"
            p: loaded [t] refused []
        "#]],
    );
    check(
        r#"{"name": "p", "execution": "binary", "binary": {"path": "run.sh", "deny": ["p:t"]},
            "tools": [{"name": "t", "description": "d"}]}"#,
        expect![[r#"
            1:67: error[F0021]: the key "deny" is unknown
                at /binary/deny
                because a rule that is not read would not hold
                help: rules stand beside "name" and "tools" of the plugin: `"permissions": {"deny": ["PLUGIN:TOOL"]}`
            no plugin
        "#]],
    );
    check(
        r#"{"name": "p", "mcpServers": {"a": {"command": "ls", "permissions": {"deny": ["x"]}}, "b": {"command": "ls"}}}"#,
        expect![[r#"
            1:68: error[F0166]: "permissions" has no place here
                at /mcpServers/a/permissions
                because a rule that is not read would not hold
                help: rules stand in "permissions" of `plugin.json`, beside "name", or of the configuration
            p: loaded [] refused []
        "#]],
    );
}

#[test]
fn keys_of_rules_without_end_are_refused_after_the_first_of_them() {
    let keys: Vec<_> = (0..20_000).map(|it| format!("\"deny_{it}\": []")).collect();
    let loaded = loaded(&with(&keys.join(", ")), Depth::Quick);
    assert!(loaded.plugin.is_none());
    assert_eq!(loaded.findings.count(flyto_diagnostics::Severity::Error), 32);
}

#[test]
fn rules_in_the_files_of_other_programs_cost_the_plugin() {
    let place = |manifest: &str, servers: &str| {
        let dir = tempfile::tempdir().expect("a directory");
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().expect("one")).expect("made");
            std::fs::write(path, text).expect("written");
        };
        let (file, text) = match manifest.strip_prefix("claude ") {
            Some(text) => (CLAUDE_MANIFEST_FILE, text),
            None => ("plugin.json", manifest),
        };
        write(file, text);
        write(CLAUDE_MCP_FILE, servers);
        let loaded = load(dir.path(), &LoadOptions::new().rules(reads));
        let shown = crate::common::show(&loaded.findings);
        let shown = shown.replace(&*dir.path().to_string_lossy(), "DIR");
        format!("{shown}{}", if loaded.plugin.is_some() { "loaded" } else { "no plugin" })
    };
    let servers = r#"{"mcpServers": {"s": {"command": "ls"}}}"#;
    let claude = r#"claude {"name": "c", "permissions": {"deny": ["Bash(rm:*)"]}}"#;
    expect![[r#"
        1:30: error[F0166]: "permissions" has no place here
            at /permissions
            because a rule that is not read would not hold
            help: rules stand in "permissions" of `plugin.json`, beside "name", or of the configuration
        no plugin"#]].assert_eq(&place(claude, servers));
    let with_rules = r#"{"permissions": {"deny": ["x"]}, "mcpServers": {"s": {"command": "ls"}}}"#;
    expect![[r#"
        1:17: error[F0166]: "permissions" has no place here
            at /permissions
            because a rule that is not read would not hold
            help: rules stand in "permissions" of `plugin.json`, beside "name", or of the configuration
        no plugin"#]].assert_eq(&place(r#"claude {"name": "c"}"#, with_rules));
    let native = with(r#""version": "1""#);
    expect![[r#"
        1:17: error[F0166]: "permissions" has no place here
            at /permissions
            because a rule that is not read would not hold
            help: rules stand in "permissions" of `plugin.json`, beside "name", or of the configuration
        no plugin"#]].assert_eq(&place(&native, with_rules));
    // A server of this name is none of rules.
    let named = r#"{"mcpServers": {"permissions": {"command": "ls"}, "ask": {"command": "ls"}}}"#;
    expect![["loaded"]].assert_eq(&place(&native, named));
    let whole = r#"{"permissions": {"command": "ls"}}"#;
    expect![["loaded"]].assert_eq(&place(&native, whole));
}

#[test]
fn in_agent_plugins_they_stand_beside_the_tools() {
    let schema = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json";
    let tools = r#""tools": [{"name": "t", "description": "d", "command": "ls"}]"#;
    let text = format!(
        r#"{{"$schema": "{schema}", "name": "a.b", "extensions": {{"dev.flyto": {{
            {tools}, "permissions": {{"deny": ["a-b:t"]}}}}}}}}"#
    );
    let plugin = loaded(&text, Depth::Quick).plugin.expect("it loads");
    assert_eq!(plugin.manifest().rules[0].text, "a-b:t");
    check(
        &format!(
            r#"{{"$schema": "{schema}", "name": "a.b", "permissions": {{"deny": ["a-b:t"]}},
            "extensions": {{"dev.flyto": {{{tools}}}}}}}"#
        ),
        expect![[r#"
            1:105: error[F0166]: "permissions" has no place here
                at /permissions
                because a rule that is not read would not hold
                help: rules stand in `"extensions": {"dev.flyto": {"permissions": {…}}}`
            no plugin
        "#]],
    );
}

#[test]
fn agent_plugins_with_a_misspelt_key_are_refused() {
    let schema = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json";
    let tools = r#""tools": [{"name": "t", "description": "d", "command": "ls"}]"#;
    let rules = r#""permission": {"deny": ["a:t"]}"#;
    for text in [
        format!(
            r#"{{"$schema": "{schema}", "name": "a", {rules}, "extensions": {{"dev.flyto": {{{tools}}}}}}}"#
        ),
        format!(
            r#"{{"$schema": "{schema}", "name": "a", "extensions": {{"dev.flyto": {{{tools}, {rules}}}}}}}"#
        ),
    ] {
        assert!(loaded(&text, Depth::Quick).plugin.is_none(), "{text}");
    }
}

#[test]
fn a_program_without_rules_loads_no_plugin_with_some() {
    let text = with(r#""permissions": {"deny": ["p:t"]}"#);
    let loaded = load_source(&Source::new("plugin.json", text), "/", &LoadOptions::new());
    assert!(loaded.plugin.is_none());
    let finding = loaded.findings.iter().next().expect("it says why");
    assert_eq!(
        (finding.code, finding.location.place().map(|it| it.line)),
        (flyto_plugin::codes::PLUGIN_RULE, Some(3))
    );
}

#[test]
fn rules_are_bounded() {
    let rules = |n: usize| vec!["\"p:t\""; n].join(", ");
    let text = |ask, deny| {
        with(&format!(r#""permissions": {{"ask": [{}], "deny": [{}]}}"#, rules(ask), rules(deny)))
    };
    let count = |text: &str| loaded(text, Depth::Quick).plugin.map(|it| it.manifest().rules.len());
    assert_eq!(count(&text(200, 56)), Some(256));
    assert_eq!(count(&text(200, 57)), None);
    assert_eq!(count(&text(100_000, 0)), None);
    let long =
        |n: usize| with(&format!(r#""permissions": {{"ask": ["p:{}"]}}"#, "x".repeat(n - 2)));
    assert_eq!(count(&long(4096)), Some(1));
    assert_eq!(count(&long(4097)), None);
}

#[test]
fn values_that_are_no_rules_cost_the_plugin_wherever_they_stand() {
    let deep = format!("{}\"p:t\"{}", "[".repeat(100), "]".repeat(100));
    for rules in [
        format!(r#"{{"deny": {deep}}}"#),
        deep.clone(),
        r#"{"deny": [{"p:t": true}], "ask": ["p:t"]}"#.to_owned(),
        r#"{"deny": ["p:t"], "deny": ["p:t"]}"#.to_owned(),
        r#"{"deny": ["p:t"], "Deny": []}"#.to_owned(),
        r#"{"deny": [true, null, 1.5, ""]}"#.to_owned(),
        "true".to_owned(),
    ] {
        let loaded = loaded(&with(&format!("\"permissions\": {rules}")), Depth::Quick);
        assert!(loaded.plugin.is_none() && loaded.findings.has_errors(), "{rules}");
    }
}

/// What stands in a manifest draws nothing on a terminal, and a suggestion is JSON.
#[test]
fn names_with_control_characters_are_shown_escaped() {
    let text = with(r#""permissions": {"deny": ["p:drop\u001b[2Jx", "drop\u0007"]}"#)
        .replace(r#""name": "t""#, r#""name": "drop\u001b[2Jy\"""#);
    let loaded = loaded(&text, Depth::Quick);
    let finding = loaded.findings.iter().find(|it| it.code.as_str() == "F0170").expect("told");
    let suggestion = finding.suggestion.as_ref().expect("the name is near");
    let rule: String = serde_json::from_str(&suggestion.replacement).expect("JSON");
    assert_eq!(rule, "p:drop\u{1b}[2Jy\"");
    let shown = crate::common::show(&loaded.findings);
    let help = finding.help.as_deref().unwrap_or_default();
    assert!(!finding.message.contains('\u{1b}') && !help.contains('\u{1b}'), "{shown}");
}

/// Of 10,000 tools a few are looked at for the one that was meant.
#[test]
fn many_rules_and_many_tools_are_compared_in_bounded_time() {
    let tools: Vec<_> = (0..10_000)
        .map(|it| format!(r#"{{"name": "tool_{it}", "description": "d", "command": "ls"}}"#))
        .collect();
    let rules: Vec<_> = (0..256).map(|it| format!("\"p:tool_x{it}\"")).collect();
    let text = format!(
        r#"{{"name": "p", "permissions": {{"deny": [{}]}}, "tools": [{}]}}"#,
        rules.join(", "),
        tools.join(", ")
    );
    let loaded = loaded(&text, Depth::Quick);
    assert_eq!(loaded.plugin.expect("it loads").tools().len(), 10_000);
    let told = loaded.findings.iter().filter(|it| it.code.as_str() == "F0170").count();
    assert!(told >= 100, "{told}");
}

/// Each of them looks like a key of rules, and more like one of a tool.
#[test]
fn keys_without_end_that_look_like_others_are_warnings() {
    let keys: Vec<_> = (0..30_000).map(|it| format!("\"permission_class_{it}\": 1")).collect();
    let text = format!(
        r#"{{"name": "p", "tools": [{{"name": "t", "description": "d", "command": "ls", {}}}]}}"#,
        keys.join(", ")
    );
    let loaded = loaded(&text, Depth::Quick);
    assert_eq!(loaded.plugin.expect("it loads").tools().len(), 1);
    assert!(!loaded.findings.has_errors());
}
