//! The plugin as a whole, and what a mistake costs.

use expect_test::expect;
use flyto_plugin::Depth;

use crate::{check, loaded, with_tool};

#[test]
fn the_smallest_and_the_largest() {
    check(
        r#"{"name": "p", "tools": [{"name": "t", "description": "d", "command": "ls"}]}"#,
        expect![[r#"
            p: loaded [t] refused []
        "#]],
    );
    let full = r#"{
        "$schema": "https://example.org/plugin.json",
        "name": "p", "version": "1", "description": "d", "author": "a", "execution": "command",
        "tools": [{
            "name": "t", "title": "T", "description": "d", "version": "2",
            "aliases": ["u"], "search_hint": "words",
            "input_schema": {"type": "object"}, "output_schema": {"type": "object"},
            "command": "./run.sh", "args": ["-a", ""], "env": {"A": "$HOME/${B:-b}"},
            "work_dir": ".", "timeout_seconds": 60, "grace_seconds": 2, "stream": true,
            "limits": {
                "cpu_seconds": 1, "memory_bytes": 2, "processes": 3, "file_size_bytes": 4,
                "open_files": 5, "output_bytes": 6
            },
            "sha256": "A8076D3D28D21E02012B20EAF7DBF75409A6277134439025F282E368E3305ABF",
            "undo": {"tool": "t", "description": "again"},
            "permission_class": "file", "audit_operation": "read", "concurrency_safe": true,
            "read_only": true, "destructive": false, "idempotent": true, "open_world": false,
            "requires_checkpoint": true, "requires_reverse_thinking": true
        }]
    }"#;
    check(
        full,
        expect![[r#"
            p: loaded [t] refused []
        "#]],
    );
    let plugin = loaded(full, Depth::Full).plugin.expect("valid");
    expect![[r#"
        Manifest {
            name: "p",
            version: Some(
                "1",
            ),
            description: Some(
                "d",
            ),
            author: Some(
                "a",
            ),
            tools: [
                ToolDef {
                    name: "t",
                    description: "d",
                    input_schema: Schema({"type":"object"}),
                    output_schema: Some(
                        Schema({"type":"object"}),
                    ),
                    blocks: false,
                    invocation: Argv {
                        command: "./run.sh",
                        args: [
                            "-a",
                            "",
                        ],
                    },
                    env: Declared(
                        [
                            (
                                "A",
                                Template {
                                    text: "$HOME/${B:-b}",
                                },
                            ),
                        ],
                    ),
                    work_dir: Some(
                        ".",
                    ),
                    timeout: 60s,
                    grace: 2s,
                    limits: Limits {
                        cpu_time: Some(
                            1s,
                        ),
                        memory_bytes: Some(
                            2,
                        ),
                        processes: Some(
                            3,
                        ),
                        file_size_bytes: Some(
                            4,
                        ),
                        open_files: Some(
                            5,
                        ),
                        output_bytes: Some(
                            6,
                        ),
                    },
                    network: None,
                    sandbox: None,
                    sha256: Some(
                        Sha256(a8076d3d28d21e02012b20eaf7dbf75409a6277134439025f282e368e3305abf),
                    ),
                    stream: true,
                    ready: false,
                    undo: Some(
                        UndoDef {
                            tool: "t",
                            description: "again",
                        },
                    ),
                    metadata: Metadata {
                        title: Some(
                            "T",
                        ),
                        concurrency_safe: Some(
                            true,
                        ),
                        read_only: Some(
                            true,
                        ),
                        destructive: Some(
                            false,
                        ),
                        idempotent: Some(
                            true,
                        ),
                        open_world: Some(
                            false,
                        ),
                        permission_class: PermissionClass(
                            "file",
                        ),
                        audit_operation: Some(
                            AuditOperation(
                                "read",
                            ),
                        ),
                        requires_checkpoint: true,
                        requires_reverse_thinking: true,
                        aliases: [
                            "u",
                        ],
                        search_hint: Some(
                            "words",
                        ),
                        origin: Native,
                        version: Some(
                            "2",
                        ),
                    },
                },
            ],
            servers: [],
            rules: [],
        }
    "#]]
    .assert_debug_eq(plugin.manifest());
}

#[test]
fn defaults() {
    let plugin = loaded(&with_tool(r#""command": "ls""#), Depth::Quick).plugin.expect("valid");
    let [tool] = plugin.tools() else { panic!("one tool") };
    let mut expected = flyto_plugin::ToolDef::argv("t", "ls", [] as [&str; 0]);
    expected.description = "d".to_owned();
    assert_eq!(*tool, expected);
    expect![[r#"
        ToolDef {
            name: "t",
            description: "d",
            input_schema: Schema({"type":"object","properties":{},"additionalProperties":true}),
            output_schema: None,
            blocks: false,
            invocation: Argv {
                command: "ls",
                args: [],
            },
            env: Declared(
                [],
            ),
            work_dir: None,
            timeout: 30s,
            grace: 0ns,
            limits: Limits {
                cpu_time: None,
                memory_bytes: None,
                processes: None,
                file_size_bytes: None,
                open_files: None,
                output_bytes: None,
            },
            network: None,
            sandbox: None,
            sha256: None,
            stream: false,
            ready: false,
            undo: None,
            metadata: Metadata {
                title: None,
                concurrency_safe: None,
                read_only: None,
                destructive: None,
                idempotent: None,
                open_world: None,
                permission_class: PermissionClass(
                    "bash",
                ),
                audit_operation: None,
                requires_checkpoint: false,
                requires_reverse_thinking: false,
                aliases: [],
                search_hint: None,
                origin: Native,
                version: None,
            },
        }
    "#]]
    .assert_debug_eq(tool);
}

#[test]
fn a_bad_head_costs_the_plugin() {
    check(
        "[]",
        expect![[r#"
        1:1: error[F0023]: the document must be an object, found an array
        no plugin
    "#]],
    );
    check(
        r#"{"tools": [{"name": "t", "description": "d", "command": "ls"}]}"#,
        expect![[r#"
        1:1: error[F0022]: the key "name" is missing
            help: add `"name": "…"`
        no plugin
    "#]],
    );
    check(
        r#"{"name": "git_info", "tools": [{"name": "t", "description": "d", "command": "ls"}]}"#,
        expect![[r#"
            1:10: error[F0101]: the name "git_info" of a plugin holds '_'
                at /name
                help: a name is made of letters, digits and `-`, a letter or digit first
                "git_info" -> "git-info"
            no plugin
        "#]],
    );
    check(
        r#"{"name": "p"}"#,
        expect![[r#"
            1:1: error[F0022]: the key "tools" is missing
                help: add `"tools": […]` for programs that are tools, or `"mcpServers": {…}` for servers of the Model Context Protocol
            no plugin
        "#]],
    );
    check(
        r#"{"name": "p", "tools": []}"#,
        expect![[r#"
        1:24: error[F0105]: the plugin has neither a tool nor a server
            at /tools
            help: add a tool to "tools"
        no plugin
    "#]],
    );
    check(
        r#"{"name": "p", "mcpServers": {}}"#,
        expect![[r#"
        1:29: error[F0105]: the plugin has neither a tool nor a server
            at /mcpServers
            help: add a tool to "tools"
        no plugin
    "#]],
    );
    check(
        r#"{"name": "p", "tools": {"t": {"command": "ls"}}}"#,
        expect![[r#"
            1:24: error[F0023]: "tools" must be an array, found an object
                at /tools
                help: write `[{"name": "t", …}]`, one object for each tool
            no plugin
        "#]],
    );
    check(
        r#"{"name": "p", "execution": "Binary", "binary": {}, "tools": [{"name": "t", "parameters": {}}]}"#,
        expect![[r#"
            1:28: error[F0024]: "execution" must be one of "command", "binary", found the string "Binary"
                at /execution
                help: did you mean "binary"?
                "Binary" -> "binary"
            no plugin
        "#]],
    );
}

#[test]
fn odd_parts_of_the_head_cost_themselves() {
    let rest = r#""tools": [{"name": "t", "description": "d", "command": "ls"}]}"#;
    check(
        &format!(r#"{{"name": "p", "version": 1.0, {rest}"#),
        expect![[r#"
            1:26: error[F0023]: "version" must be a string, found the number 1.0
                at /version
                help: write `"1.0"`
                1.0 -> "1.0"
            p: loaded [t] refused []
        "#]],
    );
    check(
        &format!(r#"{{"name": "p", "version": " ", {rest}"#),
        expect![[r#"
            1:26: error[F0104]: "version" is blank
                at /version
                help: write a version, such as "1.0.0", or leave the key out
            p: loaded [t] refused []
        "#]],
    );
    check(
        &format!(r#"{{"name": "p", "author": ["a"], "homepage": "x", {rest}"#),
        expect![[r#"
            1:25: error[F0023]: "author" must be a string, found an array
                at /author
            1:32: warning[F0021]: unknown key "homepage"
                at /homepage
                help: the keys here are "name", "version", "description", "author", "execution", "binary", "tools", "mcpServers", "permissions"
            p: loaded [t] refused []
        "#]],
    );
    check(
        &format!(r#"{{"name": "p", "binary": {{"path": "x"}}, {rest}"#),
        expect![[r#"
            1:25: warning[F0107]: "binary" has no effect without `"execution": "binary"`
                at /binary
            p: loaded [t] refused []
        "#]],
    );
}

#[test]
fn a_tool_where_the_plugin_belongs() {
    check(
        r#"{"name": "github_pr", "description": "d", "parameters": {"type": "object"}, "command": "gh pr create --title {{title}}"}"#,
        expect![[r#"
            1:77: warning[F0106]: the manifest is one tool, with no plugin around it
                at /command
                because a manifest describes a plugin, and what it runs stands in "tools"
                help: write `{"name": "github-pr", "tools": [{"name": …, "command": …}]}`
                {"name": "github_pr", "description": "d", "parameters": {"type": "object"}, "command": "gh pr create --title {{title}}"} -> {"name": "github-pr", "tools": [{"name": "github_pr", "description": "d", "parameters": {"type": "object"}, "command": "gh pr create --title {{title}}"}]}
            1:110: warning[F0153]: `{{title}}` names no parameter
                at /command
                because a model does not know of it, and without a value its word is left out
                help: add "title" to "properties" of "parameters"; for the braces themselves, part them by quotes, as in `'{''{title}}'`
            github-pr: loaded [github_pr] refused []
        "#]],
    );
}

#[test]
fn a_bad_tool_costs_itself() {
    check(
        r#"{"name": "p", "tools": [
            {"name": "good", "description": "d", "command": "ls"},
            {"name": "bad", "description": "d", "comand": "ls"},
            "ls",
            {"name": "a b", "description": "d", "command": "ls"},
            {"description": "d", "command": "ls"},
            {"name": "good2", "description": "d", "command": "ls"}
        ]}"#,
        expect![[r#"
            3:13: error[F0022]: the key "command" is missing
                at /tools/1
                help: "comand" looks like it; write "command"
                "comand" -> "command"
                3:49: this key is unknown
            4:13: error[F0023]: a tool must be an object, found the string "ls"
                at /tools/2
                help: write `{"name": …, "description": …, "command": "ls"}`
            5:22: error[F0102]: the name "a b" of a tool holds ' '
                at /tools/3/name
                help: a name is made of letters, digits, `_` and `-`, a letter first
                "a b" -> "a_b"
            6:13: error[F0022]: the key "name" is missing
                at /tools/4
                help: add `"name": "…"`
            p: loaded [good, good2] refused [bad (argv), ? (argv), a b (argv), ? (argv)]
        "#]],
    );
}

#[test]
fn a_tool_has_at_most_256_aliases() {
    let tool = |n: usize| {
        let names: Vec<_> = (0..n).map(|it| format!("\"a{it}\"")).collect();
        with_tool(&format!("\"command\": \"ls\", \"aliases\": [{}]", names.join(", ")))
    };
    let most = loaded(&tool(256), Depth::Quick).plugin.expect("as many as there may be");
    assert_eq!(most.tools()[0].metadata.aliases.len(), 256);
    check(
        &tool(257),
        expect![[r#"
            5:1968: error[F0024]: the tool has 257 aliases, and 256 are the most
                at /tools/0/aliases/256
                help: keep the names that callers still use
            p: loaded [] refused [t (argv)]
        "#]],
    );
}

#[test]
fn names_of_a_plugin_stand_for_one_tool() {
    check(
        r#"{"name": "p", "tools": [
            {"name": "a", "description": "d", "command": "ls", "aliases": ["b"]},
            {"name": "b", "description": "d", "command": "ls", "aliases": ["c"]},
            {"name": "b", "description": "d", "command": "df"},
            {"name": "d", "description": "d", "command": "ls", "aliases": ["c", "e"]},
            {"name": "f", "description": "d", "command": "ls", "aliases": ["e", "1"]}
        ]}"#,
        expect![[r#"
            2:76: error[F0103]: the alias "b" is taken
                at /tools/0/aliases/0
                because a tool is called by its name, so every name of a plugin stands for one tool
                help: choose another name
                3:22: it is here first
            4:22: error[F0103]: the name "b" is taken
                at /tools/2/name
                because a tool is called by its name, so every name of a plugin stands for one tool
                help: choose another name
                3:22: it is here first
            5:76: error[F0103]: the alias "c" is taken
                at /tools/3/aliases/0
                because a tool is called by its name, so every name of a plugin stands for one tool
                help: choose another name
                3:76: it is here first
            6:81: error[F0102]: the alias "1" begins with '1'
                at /tools/4/aliases/1
                help: a name is made of letters, digits, `_` and `-`, a letter first
            p: loaded [b] refused [a (argv), b (argv), d (argv), f (argv)]
        "#]],
    );
}

/// What is made of a tool or a server takes many times its bytes.
#[test]
fn a_plugin_has_so_many_tools_and_servers_at_most() {
    let n = flyto_diagnostics::MAX_ENTRIES + 1;
    let tools: Vec<_> =
        (0..n).map(|it| format!("{{\"name\": \"t{it}\", \"command\": \"a\"}}")).collect();
    let servers: Vec<_> = (0..n).map(|it| format!("\"s{it}\": {{\"command\": \"a\"}}")).collect();
    for (key, list) in [
        ("tools", format!("[{}]", tools.join(","))),
        ("mcpServers", format!("{{{}}}", servers.join(","))),
    ] {
        let text = format!(
            "{{\"name\": \"p\", \"version\": \"1\", \"description\": \"d\", \"{key}\": {list}}}"
        );
        let loaded = loaded(&text, Depth::Quick);
        assert!(loaded.plugin.is_none());
        let [finding] = &loaded.findings.into_vec()[..] else { panic!("{key}") };
        assert_eq!(finding.code.as_str(), "F0014");
        assert!(finding.message.contains("10001 entries, and 10000 are the most"), "{finding}");
    }
}
