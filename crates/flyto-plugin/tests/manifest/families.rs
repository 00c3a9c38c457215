//! What people bring along from ZeptoClaw: manifests that load, and other files.

use expect_test::expect;
use flyto_plugin::{Depth, ToolForm};

use crate::{check, loaded};

/// Loads a manifest without a finding, and gives its tools.
#[track_caller]
fn loads(text: &str, expect: &[(&str, ToolForm)]) {
    let loaded = loaded(text, Depth::Quick);
    assert!(!loaded.findings.has_errors(), "{}", crate::common::show(&loaded.findings));
    let plugin = loaded.plugin.expect("loaded");
    let tools: Vec<_> = plugin.tools().iter().map(|it| (it.name.as_str(), it.form())).collect();
    assert_eq!(tools, expect);
}

#[test]
fn manifests_that_are_valid_there_are_valid_here() {
    loads(
        r#"{"name": "minimal", "version": "1.0.0", "description": "d",
            "tools": [{"name": "noop", "description": "Does nothing",
                "parameters": {"type": "object", "properties": {}}, "command": "true"}]}"#,
        &[("noop", ToolForm::Template)],
    );
    loads(
        r#"{"name": "old-plugin", "version": "1.0.0", "description": "d",
            "tools": [{"name": "old", "description": "d", "parameters": {}, "command": "echo hello"}]}"#,
        &[("old", ToolForm::Template)],
    );
    loads(
        r#"{"name": "full", "version": "2.0.0", "description": "d", "author": "Ada", "tools": [
            {"name": "one", "description": "d", "parameters": {"type": "object",
                "properties": {"path": {"type": "string"}}, "required": ["path"]},
             "command": "ls {{path}}", "working_dir": "/tmp", "timeout_secs": 5,
             "env": {"LANG": "en_US.UTF-8"}, "category": "filesystem_read"},
            {"name": "two", "description": "d", "parameters": {"type": "object", "properties": {}},
             "command": "date"}]}"#,
        &[("one", ToolForm::Template), ("two", ToolForm::Template)],
    );
    loads(
        r#"{"name": "greeter", "version": "1.0.0", "description": "问候", "tools": [
            {"name": "greet", "description": "问候", "parameters": {"type": "object",
                "properties": {"name": {"type": "string"}}, "required": ["name"]},
             "command": "echo Hello, {{name}}!", "timeout_secs": 10}]}"#,
        &[("greet", ToolForm::Template)],
    );
    for binary in [
        r#"{"path": "run.sh"}"#,
        r#"{"path": "bin/my-plugin", "protocol": "jsonrpc", "timeout_secs": 60}"#,
    ] {
        loads(
            &format!(
                r#"{{"name": "bin", "version": "1.0.0", "description": "d", "execution": "binary",
                    "binary": {binary}, "tools": [{{"name": "t", "description": "d", "parameters": {{}}}}]}}"#
            ),
            &[("t", ToolForm::Binary)],
        );
    }
}

#[test]
fn one_tool_in_place_of_a_plugin() {
    check(
        r#"{"name": "github_pr", "description": "Opens a pull request", "version": "1.0.0",
            "parameters": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
            "command": "gh pr create --title {{title}} --body 'Made by an agent'"}"#,
        expect![[r#"
            3:13: warning[F0106]: the manifest is one tool, with no plugin around it
                at /command
                because a manifest describes a plugin, and what it runs stands in "tools"
                help: write `{"name": "github-pr", "tools": [{"name": …, "command": …}]}`
                {"name": "github_pr", "description": "Opens a pull request", "version": "1.0.0",
                        "parameters": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
                        "command": "gh pr create --title {{title}} --body 'Made by an agent'"} -> {"name": "github-pr", "version": "1.0.0", "tools": [{"name": "github_pr", "description": "Opens a pull request", "parameters": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}, "command": "gh pr create --title {{title}} --body 'Made by an agent'"}]}
            github-pr: loaded [github_pr] refused []
        "#]],
    );
    check(
        r#"{"name": "github-pr", "description": "d", "parameters": {}, "command": "gh pr list"}"#,
        expect![[r#"
            1:61: warning[F0106]: the manifest is one tool, with no plugin around it
                at /command
                because a manifest describes a plugin, and what it runs stands in "tools"
                help: write `{"name": "github-pr", "tools": [{"name": …, "command": …}]}`
                {"name": "github-pr", "description": "d", "parameters": {}, "command": "gh pr list"} -> {"name": "github-pr", "tools": [{"name": "github_pr", "description": "d", "parameters": {}, "command": "gh pr list"}]}
            github-pr: loaded [github_pr] refused []
        "#]],
    );
    check(
        r#"{"description": "d", "command": "gh", "author": {"name": "Ada"}}"#,
        expect![[r#"
        1:1: error[F0022]: the key "name" is missing
            help: add `"name": "…"`
        1:22: warning[F0106]: the manifest is one tool, with no plugin around it
            at /command
            because a manifest describes a plugin, and what it runs stands in "tools"
            help: write `{"name": "…", "tools": [{"name": …, "command": …}]}`
            {"description": "d", "command": "gh", "author": {"name": "Ada"}} -> {"name": "…", "author": {"name": "Ada"}, "tools": [{"description": "d", "command": "gh"}]}
        no plugin
    "#]],
    );
    check(
        r#"{"name": "é", "description": "d", "command": "gh"}"#,
        expect![[r#"
        1:10: error[F0102]: the name "é" of a tool holds 'é' (U+00E9)
            at /name
            help: a name is made of letters, digits, `_` and `-`, a letter first
        1:10: error[F0101]: the name "é" of a plugin holds 'é' (U+00E9)
            at /name
            help: a name is made of letters, digits and `-`, a letter or digit first
        1:35: warning[F0106]: the manifest is one tool, with no plugin around it
            at /command
            because a manifest describes a plugin, and what it runs stands in "tools"
            help: write `{"name": "é", "tools": [{"name": …, "command": …}]}`
            {"name": "é", "description": "d", "command": "gh"} -> {"name": "é", "tools": [{"name": "é", "description": "d", "command": "gh"}]}
        no plugin
    "#]],
    );
}

#[test]
fn other_files_are_recognised() {
    check(
        r#"{"name": "my-channel", "version": "0.1.0", "description": "d", "binary": "channel",
            "env": {}, "timeout_secs": 30}"#,
        expect![[r#"
            1:64: error[F0167]: this is the manifest of a channel
                at /binary
                because a plugin has a name and tools, each of which runs a program
                help: a channel carries messages and has no tools; a program that carries out tools is declared with `"execution": "binary", "binary": {"path": …}, "tools": […]`
            no plugin
        "#]],
    );
    check(
        r#"{"name": "summarize", "description": "d", "action": "Fetch {{url}} and sum it up",
            "parameters": {"url": {"param_type": "string", "required": true}}}"#,
        expect![[r#"
            1:43: error[F0167]: this is a tool composed of instructions
                at /action
                because a plugin has a name and tools, each of which runs a program
                help: instructions for a model are no program; write a command that carries them out: `"tools": [{"name": "summarize", "parameters": {…}, "command": …}]`
            no plugin
        "#]],
    );
    check(
        r#"{"custom_tools": [{"name": "cpu", "description": "d", "command": "cat /proc/loadavg | cut -c1-4"}]}"#,
        expect![[r#"
            1:2: error[F0167]: this is a configuration with tools of its own
                at /custom_tools
                because a plugin has a name and tools, each of which runs a program
                help: write each of its entries as a tool of a plugin, with `{{name}}` in "command" where a value belongs and a JSON Schema as "parameters"
            no plugin
        "#]],
    );
    check(
        r#"{"providers": {"plugins": [{"name": "p", "command": "/bin/p"}]}}"#,
        expect![[r#"
        1:2: error[F0167]: this is a configuration with providers of models
            at /providers
            because a plugin has a name and tools, each of which runs a program
            help: a provider of models has no tools; there is nothing here to load
        no plugin
    "#]],
    );
    check(
        r#"{"plugins": {"enabled": true}}"#,
        expect![[r#"
        1:2: error[F0167]: this is a configuration
            at /plugins
            because a plugin has a name and tools, each of which runs a program
            help: give it to `flyto --config`, or write it into the configuration of the host
        no plugin
    "#]],
    );
    check(
        r#"{"name": "gcal", "description": "d", "parameters": {}, "category": "network_write"}"#,
        expect![[r#"
            1:38: error[F0167]: this is a tool without a command, and no plugin around it
                at /parameters
                because a plugin has a name and tools, each of which runs a program
                help: put it into a plugin, and say what it runs: `{"name": …, "tools": [{"name": "gcal", "parameters": {…}, "command": …}]}`
            no plugin
        "#]],
    );
    check(
        r#"{"name": "incomplete", "version": "1.0.0", "description": "d"}"#,
        expect![[r#"
        1:1: error[F0022]: the key "tools" is missing
            help: add `"tools": […]` for programs that are tools, or `"mcpServers": {…}` for servers of the Model Context Protocol
        no plugin
    "#]],
    );
}
