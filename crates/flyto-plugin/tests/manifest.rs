//! What becomes of a manifest: the findings, and what is left of the plugin.

mod common;

use std::fs;

use expect_test::{Expect, expect};
use flyto_diagnostics::Source;
use flyto_plugin::{Depth, Invocation, LoadOptions, Loaded, load_source};
use tempfile::TempDir;

/// A directory with an executable `run.sh`, a `plain.txt` and a directory `sub`.
fn plugin_dir() -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let script = dir.path().join("run.sh");
    fs::write(&script, "#!/bin/sh\n").expect("written");
    #[cfg(unix)]
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("changed");
    fs::write(dir.path().join("plain.txt"), "").expect("written");
    fs::create_dir(dir.path().join("sub")).expect("created");
    dir
}

fn load_in(dir: &TempDir, text: &str, depth: Depth) -> Loaded {
    let options = LoadOptions::new().depth(depth).path("/bin:/usr/bin");
    load_source(&Source::new("plugin.json", text), dir.path(), &options)
}

fn loaded(text: &str, depth: Depth) -> Loaded {
    load_in(&plugin_dir(), text, depth)
}

/// The findings, and the tools that are left.
fn shown(text: &str, depth: Depth) -> String {
    let dir = plugin_dir();
    let Loaded { plugin, findings, .. } = load_in(&dir, text, depth);
    let mut res = common::show(&findings);
    res += &match plugin {
        None => "no plugin".to_owned(),
        Some(plugin) => {
            let tools: Vec<_> = plugin.tools().iter().map(|it| it.name.as_str()).collect();
            let refused: Vec<_> = plugin
                .refused()
                .iter()
                .map(|it| format!("{} ({})", it.name.as_deref().unwrap_or("?"), it.form))
                .collect();
            let refused = refused.join(", ");
            format!("{}: loaded [{}] refused [{refused}]", plugin.name(), tools.join(", "))
        }
    };
    res.push('\n');
    res.replace(dir.path().to_str().expect("UTF-8"), "DIR")
}

#[track_caller]
fn check(text: &str, expect: Expect) {
    expect.assert_eq(&shown(text, Depth::Quick));
}

/// Checks a manifest with one tool, of which this is the text behind name and description.
#[track_caller]
fn check_tool(members: &str, expect: Expect) {
    expect.assert_eq(&shown(&with_tool(members), Depth::Quick));
}

#[track_caller]
fn check_tool_in_full(members: &str, expect: Expect) {
    expect.assert_eq(&shown(&with_tool(members), Depth::Full));
}

fn with_tool(members: &str) -> String {
    format!(
        "{{\n\"name\": \"p\",\n\"tools\": [{{\n\"name\": \"t\", \"description\": \"d\",\n{members}\n}}]\n}}"
    )
}

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
            "sha256": "E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855",
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
                    invocation: Argv {
                        command: "./run.sh",
                        args: [
                            "-a",
                            "",
                        ],
                    },
                    env: Declared(
                        {
                            "A": Template {
                                parts: [
                                    Variable {
                                        name: "HOME",
                                        default: None,
                                    },
                                    Literal(
                                        "/",
                                    ),
                                    Variable {
                                        name: "B",
                                        default: Some(
                                            "b",
                                        ),
                                    },
                                ],
                            },
                        },
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
                    sha256: Some(
                        Sha256(e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855),
                    ),
                    stream: true,
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
            invocation: Argv {
                command: "ls",
                args: [],
            },
            env: Declared(
                {},
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
            sha256: None,
            stream: false,
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
            help: add `"tools": […]`
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
                help: the keys here are "name", "version", "description", "author", "execution", "binary", "tools", "mcpServers"
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
            1:77: error[F0106]: "command" belongs to a tool, and the manifest has no "tools"
                at /command
                help: move "command", "parameters" into a tool: `"tools": [{"name": …, "description": …, "command": …}]`
            no plugin
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
            4:13: error[F0023]: "tools[2]" must be an object, found the string "ls"
                at /tools/2
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

#[test]
fn commands() {
    check_tool(
        r#""command": """#,
        expect![[r#"
            5:12: error[F0024]: "command" is empty
                at /tools/0/command
                help: write the name of a program, or the path of one, such as `./run.sh`
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "a\u0000b", "args": ["x", "\u0000"]"#,
        expect![[r#"
            5:14: error[F0115]: "command" holds a NUL character
                at /tools/0/command
                because the system ends arguments, variables and paths at it
            5:39: error[F0115]: argument 2 holds a NUL character
                at /tools/0/args/1
                because the system ends arguments, variables and paths at it
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "git status --porcelain""#,
        expect![[r#"
            5:12: error[F0112]: "git status --porcelain" is a command line, and no program has that name
                at /tools/0/command
                because "command" is one program and "args" are its arguments; no shell is involved
                help: write `"command": "git", "args": ["status", "--porcelain"]`
                "git status --porcelain" -> "git", "args": ["status", "--porcelain"]
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "python3 -u", "args": ["x.py"]"#,
        expect![[r#"
            5:12: error[F0112]: "python3 -u" is a command line, and no program has that name
                at /tools/0/command
                because "command" is one program and "args" are its arguments; no shell is involved
                help: write `"command": "python3", "args": ["-u"]`, and put these in front of the arguments that are there
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "uptime | cut -d, -f1""#,
        expect![[r#"
            5:12: error[F0112]: "uptime | cut -d, -f1" is a command line, and no program has that name
                at /tools/0/command
                because "command" is one program and "args" are its arguments; no shell is involved
                help: write `"command": "sh", "args": ["-c", "uptime | cut -d, -f1"]`
                "uptime | cut -d, -f1" -> "sh", "args": ["-c", "uptime | cut -d, -f1"]
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "grep -r {{word}} .""#,
        expect![[r#"
            5:12: error[F0113]: "grep -r {{word}} ." has a placeholder, and nothing is put into a command
                at /tools/0/command
                because the program of this form reads the input as JSON from stdin
                help: take it from there; or, for a template, write "parameters" in place of "input_schema", and no "args"
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "./missing.sh""#,
        expect![[r#"
            5:12: warning[F0114]: the program "DIR/missing.sh" is not there
                at /tools/0/command
                help: a relative path is taken from the working directory of the tool
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""command": "./plain.txt""#,
        expect![[r#"
            5:12: warning[F0114]: the program "DIR/plain.txt" is not executable
                at /tools/0/command
                help: chmod +x DIR/plain.txt
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""command": "./sub""#,
        expect![[r#"
            5:12: warning[F0114]: "DIR/sub" is a directory
                at /tools/0/command
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""command": "run.sh""#,
        expect![[r#"
            5:12: warning[F0114]: "run.sh" is looked up in the PATH, where it is not
                at /tools/0/command
                help: write "./run.sh" for the file in the working directory
                "run.sh" -> "./run.sh"
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""command": "../run.sh", "work_dir": "sub""#,
        expect![[r#"
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""command": "/no/such/program""#,
        expect![[r#"
            5:12: warning[F0114]: the program "/no/such/program" is not there
                at /tools/0/command
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""command": "~/bin/x""#,
        expect![[r#"
            5:12: warning[F0114]: the program "DIR/~/bin/x" is not there
                at /tools/0/command
                help: `~` is not expanded here; write the whole path
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""command": "no-such-program""#,
        expect![[r#"
            p: loaded [t] refused []
        "#]],
    );
    check_tool_in_full(
        r#""command": "no-such-program""#,
        expect![[r#"
            5:12: warning[F0114]: the program "no-such-program" is not in the PATH
                at /tools/0/command
            p: loaded [t] refused []
        "#]],
    );
    check_tool_in_full(
        r#""command": "no-such-program", "env": {"PATH": "/opt/bin"}"#,
        expect![[r#"
            p: loaded [t] refused []
        "#]],
    );
}

#[test]
fn a_file_whose_name_has_blanks_is_a_program() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("my {{tool}}"), "#!/bin/sh\n").expect("written");
    let text = with_tool(r#""command": "./my {{tool}}""#);
    let loaded = load_source(&Source::new("p", text), dir.path(), &LoadOptions::new());
    let plugin = loaded.plugin.expect("valid");
    let [tool] = plugin.tools() else { panic!("one tool") };
    let Invocation::Argv { command, args } = &tool.invocation else { panic!("argv") };
    assert_eq!((command.to_str(), args.len()), (Some("./my {{tool}}"), 0));
}

#[test]
fn arguments() {
    check_tool(
        r#""command": "ls", "args": "-l""#,
        expect![[r#"
            5:26: error[F0023]: "args" must be an array of strings, found the string "-l"
                at /tools/0/args
                help: write `["-l"]`
                "-l" -> ["-l"]
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "ls", "args": ["-l", 5]"#,
        expect![[r#"
            5:33: error[F0023]: "args[1]" must be a string, found the number 5
                at /tools/0/args/1
                help: write `"5"`
                5 -> "5"
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "docker", "args": ["{{.Name}}", "x{{ word }}"],
"input_schema": {"type": "object", "properties": {"word": {}}}"#,
        expect![[r#"
            5:44: warning[F0113]: "x{{ word }}" stays as it is; nothing is put into arguments
                at /tools/0/args/1
                help: take "word" from the input, which is on stdin as JSON
            p: loaded [t] refused []
        "#]],
    );
}

#[test]
fn both_spellings() {
    check_tool(
        r#""command": "ls", "timeout_secs": 5, "working_dir": "sub""#,
        expect![[r#"
            5:18: warning[F0025]: "timeout_secs" is another spelling of "timeout_seconds"
                at /tools/0/timeout_secs
                help: write "timeout_seconds"
                "timeout_secs" -> "timeout_seconds"
            5:37: warning[F0025]: "working_dir" is another spelling of "work_dir"
                at /tools/0/working_dir
                help: write "work_dir"
                "working_dir" -> "work_dir"
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""command": "ls", "timeout_secs": 5, "timeout_seconds": 5, "work_dir": "sub", "working_dir": "sub""#,
        expect![[r#"
            5:37: error[F0026]: "timeout_secs" and "timeout_seconds" exclude each other
                at /tools/0/timeout_seconds
                because "timeout_secs" is another spelling of "timeout_seconds"
                help: remove one of them
                5:18: "timeout_secs" is here
            5:78: error[F0026]: "work_dir" and "working_dir" exclude each other
                at /tools/0/working_dir
                because "working_dir" is another spelling of "work_dir"
                help: remove one of them
                5:59: "work_dir" is here
            p: loaded [] refused [t (argv)]
        "#]],
    );
}

#[test]
fn times() {
    check_tool(
        r#""command": "ls", "timeout_seconds": 0"#,
        expect![[r#"
            5:37: warning[F0124]: 0 stands for the default of 30 s
                at /tools/0/timeout_seconds
                help: write how many seconds the tool may take, or leave it out
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""command": "ls", "timeout_seconds": -5"#,
        expect![[r#"
            5:37: warning[F0124]: -5 stands for the default of 30 s
                at /tools/0/timeout_seconds
                help: write how many seconds the tool may take, or leave it out
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""command": "ls", "timeout_seconds": 604800, "grace_seconds": 600"#,
        expect![[r#"
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""command": "ls", "timeout_seconds": 604801, "grace_seconds": 601"#,
        expect![[r#"
            5:37: error[F0024]: "timeout_seconds" is at most 604800 s, found 604801 s
                at /tools/0/timeout_seconds
                help: the unit is seconds, not milliseconds
            5:62: error[F0024]: "grace_seconds" is at most 600 s, found 601 s
                at /tools/0/grace_seconds
                help: the unit is seconds, not milliseconds
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "ls", "timeout_seconds": 99999999999999999999"#,
        expect![[r#"
            5:37: error[F0024]: "timeout_seconds" must be a whole number, found the number 99999999999999999999
                at /tools/0/timeout_seconds
                help: write digits only, in the range -9223372036854775808 to 9223372036854775807
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "ls", "timeout_seconds": 1.5, "grace_seconds": -1"#,
        expect![[r#"
            5:37: error[F0024]: "timeout_seconds" must be a whole number, found the number 1.5
                at /tools/0/timeout_seconds
            5:59: error[F0024]: "grace_seconds" must be a whole number that is not negative, found the number -1
                at /tools/0/grace_seconds
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "ls", "timeout_seconds": "30""#,
        expect![[r#"
            5:37: error[F0023]: "timeout_seconds" must be a whole number, found the string "30"
                at /tools/0/timeout_seconds
                help: write `30`
                "30" -> 30
            p: loaded [] refused [t (argv)]
        "#]],
    );
}

#[test]
fn variables() {
    check_tool(
        r#""command": "ls", "env": {"A": 1}"#,
        expect![[r#"
            5:31: error[F0023]: "A" must be a string, found the number 1
                at /tools/0/env/A
                help: write `"1"`
                1 -> "1"
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "ls", "env": {"": "", "A=B": "", "C": "x\u0000"}"#,
        expect![[r#"
            5:26: error[F0116]: the name "" of a variable is empty
                at /tools/0/env/
            5:34: error[F0116]: the name "A=B" of a variable holds `=`, which stands between name and value
                at /tools/0/env/A=B
            5:52: error[F0115]: the value of C holds a NUL character
                at /tools/0/env/C
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "ls", "env": {"PLUGIN_ROOT": "/", "X": "$PLUGIN_DATA"}"#,
        expect![[r#"
            5:26: error[F0117]: PLUGIN_ROOT is set by the host
                at /tools/0/env/PLUGIN_ROOT
                help: use ${PLUGIN_ROOT} in the value of another variable, or read it as it is
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "ls", "env": {"A": "\té${B"}"#,
        expect![[r#"
            5:35: error[F0118]: `${` in the value of A is not closed
                at /tools/0/env/A
                help: write `${NAME}` or `${NAME:-default}`, and `$$` for a dollar
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "ls", "env": {"A": "\"${1X}\""}"#,
        expect![[r#"
            5:34: error[F0118]: `${1X}` in the value of A names no variable
                at /tools/0/env/A
                help: write `${NAME}` or `${NAME:-default}`, and `$$` for a dollar
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "ls", "env": {"A": "x/${env:HOME}/y"}"#,
        expect![[r#"
            5:34: error[F0118]: `${env:HOME}` in the value of A names no variable
                at /tools/0/env/A
                help: write `${NAME}` or `${NAME:-default}`, and `$$` for a dollar
                ${env:HOME} -> ${HOME}
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "ls", "env": {"A": "1", "A": "2"}"#,
        expect![[r#"
            5:36: error[F0020]: the key "A" occurs twice
                at /tools/0/env/A
                because programs disagree about which one counts, so none is used
                help: remove all but one
                5:26: it is here first
            p: loaded [] refused [t (argv)]
        "#]],
    );
}

#[test]
fn schemas() {
    check_tool(
        r#""command": "ls", "input_schema": true"#,
        expect![[r#"
            5:34: error[F0119]: "input_schema" must be a schema, which is an object, found true
                at /tools/0/input_schema
                help: leave the key out to accept any object
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "ls", "input_schema": null, "output_schema": null"#,
        expect![[r#"
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""command": "ls", "input_schema": {}"#,
        expect![[r#"
            5:34: warning[F0119]: the root of "input_schema" names no type
                at /tools/0/input_schema
                because several clients drop a tool whose schema does not say that it is an object
                help: add `"type": "object"`
                 -> "type": "object"
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""command": "ls", "input_schema": {"properties": {}}"#,
        expect![[r#"
            5:34: warning[F0119]: the root of "input_schema" names no type
                at /tools/0/input_schema
                because several clients drop a tool whose schema does not say that it is an object
                help: add `"type": "object"`
                 -> "type": "object", 
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""command": "ls", "input_schema": {"type": ["object", "null"]}"#,
        expect![[r#"
            5:43: error[F0119]: the root of "input_schema" must have the type "object"
                at /tools/0/input_schema/type
                because the input of a call is always an object
                ["object", "null"] -> "object"
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "ls", "output_schema": {"type": "array"}"#,
        expect![[r#"
            5:44: error[F0119]: the root of "output_schema" must have the type "object"
                at /tools/0/output_schema/type
                because clients accept nothing but an object as a structured result
                help: put the value under a key of an object, such as `result`
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r##""command": "ls", "input_schema": {"type": "object", "properties": {
    "a": {"type": "str", "required": true},
    "b": {"type": ["string", "nul"], "minLength": -1, "enum": "x"},
    "c": "string",
    "d": {"type": "array", "items": [{"type": "string"}]},
    "e": {"anyOf": [], "multipleOf": 0},
    "f": {"$ref": "#/$defs/f"},
    "g": {"$ref": "https://example.org/g.json"}
  }}"##,
        expect![[r#"
            6:19: error[F0119]: there is no type "str"
                at /tools/0/input_schema/properties/a/type
                help: did you mean "string"?
                "str" -> "string"
            6:38: error[F0119]: "required" must be an array of names, found true
                at /tools/0/input_schema/properties/a/required
                help: list the names of the properties that must be there, beside "properties"
            7:30: error[F0119]: there is no type "nul"
                at /tools/0/input_schema/properties/b/type/1
                help: did you mean "null"?
                "nul" -> "null"
            7:51: error[F0119]: "minLength" must be a whole number that is not negative, found the number -1
                at /tools/0/input_schema/properties/b/minLength
            7:63: error[F0119]: "enum" must be an array, found the string "x"
                at /tools/0/input_schema/properties/b/enum
            8:10: error[F0119]: expected a schema, which is an object, found the string "string"
                at /tools/0/input_schema/properties/c
            9:37: error[F0119]: "items" is one schema for all items
                at /tools/0/input_schema/properties/d/items
                help: a schema for each position goes into "prefixItems"
            10:20: error[F0119]: "anyOf" must be an array of schemas that is not empty, found an array
                at /tools/0/input_schema/properties/e/anyOf
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r##""command": "ls", "input_schema": {"type": "object", "$defs": {"a": {"$ref": "#"}},
  "properties": {"a": {"$ref": "#/$defs/a", "x-note": 1}, "b": true, "type": {"const": 1}}}"##,
        expect![[r#"
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r##""command": "ls", "input_schema": {"$schema": "http://json-schema.org/draft-07/schema#",
  "type": "object", "properties": {"a": {"items": [{"type": "string"}]}}}"##,
        expect![[r#"
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""command": "ls", "input_schema": {"type": "object", "title": "a", "title": "b"}"#,
        expect![[r#"
            5:67: error[F0020]: the key "title" occurs twice
                at /tools/0/input_schema/title
                because programs disagree about which one counts, so none is used
                help: remove all but one
                5:53: it is here first
            p: loaded [] refused [t (argv)]
        "#]],
    );
}

#[test]
fn what_only_a_compiler_finds() {
    let bad = r#""command": "ls", "input_schema": {"type": "object", "properties": {"a": {"pattern": "(["}}}"#;
    check_tool(
        bad,
        expect![[r#"
            p: loaded [t] refused []
        "#]],
    );
    check_tool_in_full(
        bad,
        expect![[r#"
            5:85: error[F0119]: "input_schema" cannot be used: the string "([" cannot be used as a pattern: it is none, or very large, or has look-around or back-references
                at /tools/0/input_schema/properties/a/pattern
            p: loaded [] refused [t (argv)]
        "#]],
    );
}

#[test]
fn metadata() {
    check_tool(
        r#""command": "ls", "read_only": "yes", "destructive": "false""#,
        expect![[r#"
            5:31: error[F0023]: "read_only" must be `true` or `false`, found the string "yes"
                at /tools/0/read_only
            5:53: error[F0023]: "destructive" must be `true` or `false`, found the string "false"
                at /tools/0/destructive
                help: write `false`
                "false" -> false
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "ls", "readOnly": true, "cwd": "sub", "category": "shell""#,
        expect![[r#"
            5:18: warning[F0021]: unknown key "readOnly"
                at /tools/0/readOnly
                help: did you mean "read_only"?
                "readOnly" -> "read_only"
            5:36: warning[F0021]: unknown key "cwd"
                at /tools/0/cwd
                help: did you mean "work_dir"?
                "cwd" -> "work_dir"
            5:50: warning[F0021]: unknown key "category"
                at /tools/0/category
                help: did you mean "permission_class"?
                "category" -> "permission_class"
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""command": "ls", "permission_class": "read_only""#,
        expect![[r#"
            5:38: warning[F0122]: the permission class "read_only" is not known
                at /tools/0/permission_class
                because a host that does not know the class decides by its rules, and asks where none fits
                help: did you mean "readonly"?
                "read_only" -> "readonly"
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""command": "ls", "permission_class": "database", "title": """#,
        expect![[r#"
            5:38: note[F0122]: the permission class "database" is not one of Flyto's own
                at /tools/0/permission_class
                because a host that does not know the class decides by its rules, and asks where none fits
                help: its own are "bash", "file", "webfetch", "readonly", "generic"
            5:59: warning[F0104]: "title" is blank and counts as left out
                at /tools/0/title
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""command": "ls", "limits": {"memory": 1, "processes": 0}"#,
        expect![[r#"
            5:29: warning[F0021]: unknown key "memory"
                at /tools/0/limits/memory
                help: did you mean "memory_bytes"?
                "memory" -> "memory_bytes"
            5:55: error[F0024]: "processes" must be above 0; leave it out for no limit
                at /tools/0/limits/processes
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "ls", "sha256": "a1b2c3d4e5f6...""#,
        expect![[r#"
            5:28: error[F0125]: "a1b2c3d4e5f6..." is no SHA-256 digest
                at /tools/0/sha256
                help: `sha256sum FILE` prints it; leave the key out if the file may change
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "ls", "sha256": "da39a3ee5e6b4b0d3255bfef95601890afd80709""#,
        expect![[r#"
            5:28: error[F0125]: a SHA-256 digest has 64 hexadecimal digits, found 40
                at /tools/0/sha256
                help: `sha256sum FILE` prints it; leave the key out if the file may change
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "ls", "undo": {"tool": "p:t"}"#,
        expect![[r#"
            5:35: error[F0126]: "p:t" is no tool of this plugin that can be called
                at /tools/0/undo/tool
                help: name a tool of the same plugin, without the plugin's name
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""command": "ls", "undo": {"description": "x"}"#,
        expect![[r#"
            5:26: error[F0022]: the key "tool" is missing
                at /tools/0/undo
                help: add `"tool": "…"`
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check(
        r#"{"name": "p", "tools": [{"name": "t", "command": "ls"}, {"name": "u", "description": " ", "command": "ls"}]}"#,
        expect![[r#"
            1:25: warning[F0121]: the tool "t" has no description
                at /tools/0
                because a model chooses a tool by its description
                help: say in a sentence or two what the tool does and when to use it
            1:86: warning[F0121]: the tool "u" has no description
                at /tools/1/description
                because a model chooses a tool by its description
                help: say in a sentence or two what the tool does and when to use it
            p: loaded [t, u] refused []
        "#]],
    );
}

#[test]
fn forms_that_cannot_be_run_yet() {
    check(
        r#"{"name": "git-tools", "version": "1.0.0", "tools": [
            {"name": "status", "description": "d", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
             "command": "git -C {{path}} status", "working_dir": "/tmp", "timeout_secs": 10, "category": "shell"},
            {"name": "now", "description": "d", "command": "date"}
        ]}"#,
        expect![[r#"
            2:66: error[F0109]: the tool "status" is a template, which cannot be run yet
                at /tools/0/parameters
                because "parameters" makes a tool a template, with `{{name}}` in its command
                help: declare it with "input_schema", a program as "command" and its "args"; the program reads the input as JSON from stdin
            git-tools: loaded [now] refused [status (template)]
        "#]],
    );
    check(
        r#"{"name": "p", "tools": [
            {"name": "t", "description": "d", "parameters": {}, "input_schema": {}, "command": "ls"},
            {"name": "u", "description": "d", "parameters": {}, "args": [], "command": "ls", "timeout_seconds": 5}
        ]}"#,
        expect![[r#"
            2:61: error[F0109]: the tool "t" is a template, which cannot be run yet
                at /tools/0/parameters
                because "parameters" makes a tool a template, with `{{name}}` in its command
                help: declare it with "input_schema", a program as "command" and its "args"; the program reads the input as JSON from stdin
            2:65: error[F0026]: "parameters" and "input_schema" exclude each other
                at /tools/0/input_schema
                because "parameters" makes the tool a template, whose input has no other schema
                help: remove one of them
                2:47: "parameters" is here
            3:65: error[F0026]: "parameters" and "args" exclude each other
                at /tools/1/args
                because "parameters" makes the tool a template, which has no list of arguments
                help: remove one of them
                3:47: "parameters" is here
            3:94: warning[F0025]: "timeout_seconds" is another spelling of "timeout_secs"
                at /tools/1/timeout_seconds
                help: write "timeout_secs"
                "timeout_seconds" -> "timeout_secs"
            p: loaded [] refused [t (template), u (template)]
        "#]],
    );
    check(
        r#"{"name": "solver", "execution": "binary",
            "binary": {"path": "bin/solver", "protocol": "jsonrpc", "timeout_secs": 60, "lifetime": "session"},
            "tools": [{"name": "solve", "description": "d", "parameters": {}}, {"name": "sol-ve", "description": "d", "input_schema": {}}]}"#,
        expect![[r#"
            3:32: error[F0110]: the tool "solve" belongs to a binary plugin, which cannot be run yet
                at /tools/0/name
                help: declare it with "input_schema", a program as "command" and its "args"; the program reads the input as JSON from stdin
            3:89: error[F0102]: the name "sol-ve" of a tool holds '-'
                at /tools/1/name
                help: a name is made of letters, digits and `_`, a letter first
                "sol-ve" -> "sol_ve"
            3:89: error[F0110]: a tool belongs to a binary plugin, which cannot be run yet
                at /tools/1/name
                help: declare it with "input_schema", a program as "command" and its "args"; the program reads the input as JSON from stdin
            solver: loaded [] refused [solve (binary), sol-ve (binary)]
        "#]],
    );
    check(
        r#"{"name": "tickets", "mcpServers": {"a": {"command": "node"}, "b": "node"},
            "tools": [{"name": "t", "description": "d", "command": "ls"}]}"#,
        expect![[r#"
            1:41: error[F0111]: the server "a" cannot be started yet
                at /mcpServers/a
                because servers of the Model Context Protocol are understood and not started
                help: declare what it offers as tools of the plugin
            1:67: error[F0023]: the server "b" must be an object, found the string "node"
                at /mcpServers/b
            tickets: loaded [t] refused []
        "#]],
    );
}

#[test]
fn a_binary_section_that_cannot_be_used_costs_the_plugin() {
    for section in [
        "null",
        r#"{"path": "../x"}"#,
        r#"{"path": "/x"}"#,
        r#"{"path": "a..b/./c", "protocol": "grpc"}"#,
        r#"{"path": "x", "sha256": "a1b2c3d4e5f6..."}"#,
    ] {
        let text = format!(
            r#"{{"name": "p", "execution": "binary", "binary": {section}, "tools": [{{"name": "t", "description": "d", "parameters": {{}}}}]}}"#
        );
        assert!(loaded(&text, Depth::Quick).plugin.is_none(), "{section}");
    }
    check(
        r#"{"name": "p", "execution": "binary", "binary": {"path": "bin/x", "sha256": "a1b2c3d4e5f6..."},
            "tools": [{"name": "t", "description": "d", "parameters": {}}]}"#,
        expect![[r#"
            1:76: error[F0125]: "a1b2c3d4e5f6..." is no SHA-256 digest
                at /binary/sha256
                help: `sha256sum FILE` prints it; leave the key out if the file may change
            no plugin
        "#]],
    );
}
