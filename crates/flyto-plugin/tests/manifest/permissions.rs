//! The rules of permission that a plugin has for its own tools.

use expect_test::{Expect, expect};
use flyto_diagnostics::Source;
use flyto_plugin::{Depth, LoadOptions, PluginRule, RuleEffect, RuleFault, load_source};

use crate::{check, loaded};

/// What a host knows of rules, as far as these tests need it.
pub(crate) fn reads(plugin: &str, text: &str) -> Result<(), RuleFault> {
    match text.split_once(':') {
        Some((owner, _)) if owner == plugin => Ok(()),
        _ if text.starts_with("Bash(") && text.ends_with(')') => Ok(()),
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
            p: loaded [u] refused [t (argv)]
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
            t: loaded [] refused [t (argv)]
        "#]],
    );
    // And where no tool is.
    check(
        r#"{"name": "p", "permissions": {"deny": ["Bash(rm:*)"]}, "mcpServers": {"s": {"command": "ls"}}}"#,
        expect![[r#"
            1:30: error[F0169]: the rules hold for the tools of "tools", and there is none
                at /permissions
                because a rule that is not read would not hold
                help: rules for the tools of a server stand in the operator's configuration
            no plugin
        "#]],
    );
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
                help: move it into `"extensions": {"dev.flyto": {…}}`
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
