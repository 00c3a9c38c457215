//! What a tool says about itself, and parts that cannot be used yet.

use expect_test::expect;

use crate::{check, check_tool};

#[test]
fn metadata() {
    check_tool(
        r#""command": "ls", "read_only": "yes", "destructive": "false""#,
        expect![[r#"
            5:31: error[F0023]: "read_only" must be `true` or `false`, found the string "yes"
                at /tools/0/read_only
                help: write `true`
                "yes" -> true
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
            5:28: error[F0125]: "a1b2c3d4e5f6..." stands for a SHA-256 digest and is none
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
fn what_a_value_of_another_type_was_meant_to_be() {
    check_tool(
        r#""command": ["date", "-u", "+%F"]"#,
        expect![[r#"
        5:12: error[F0023]: "command" must be a string, found an array
            at /tools/0/command
            because "command" is one program and "args" are its arguments
            help: write `"command": "date", "args": ["-u", "+%F"]`
            ["date", "-u", "+%F"] -> "date", "args": ["-u", "+%F"]
        p: loaded [] refused [t (argv)]
    "#]],
    );
    check_tool(
        r#""command": ["date", "-u"], "args": ["+%F"]"#,
        expect![[r#"
        5:12: error[F0023]: "command" must be a string, found an array
            at /tools/0/command
            because "command" is one program and "args" are its arguments
            help: write `"command": "date"`, and the rest in front of "args"
        p: loaded [] refused [t (argv)]
    "#]],
    );
    check_tool(
        r#""command": ["date", 5], "timeout_seconds": "soon""#,
        expect![[r#"
        5:12: error[F0023]: "command" must be a string, found an array
            at /tools/0/command
        5:44: error[F0023]: "timeout_seconds" must be a whole number, found the string "soon"
            at /tools/0/timeout_seconds
        p: loaded [] refused [t (argv)]
    "#]],
    );
    check_tool(
        r#""command": "date", "timeout_seconds": "1.5 min", "grace_seconds": 0.2"#,
        expect![[r#"
            5:39: error[F0023]: "timeout_seconds" must be a whole number of seconds, found the string "1.5 min"
                at /tools/0/timeout_seconds
                help: write 90
                "1.5 min" -> 90
            5:67: error[F0024]: "grace_seconds" must be a whole number of seconds, found the number 0.2
                at /tools/0/grace_seconds
                help: write 1
                0.2 -> 1
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "date", "content": "MCP""#,
        expect![[r#"
        5:31: error[F0024]: "content" must be "mcp", found the string "MCP"
            at /tools/0/content
            help: did you mean "mcp"?
            "MCP" -> "mcp"
        p: loaded [] refused [t (argv)]
    "#]],
    );
    check_tool(
        r#""command": "date", "content": "mcp", "output_schema": {"type": "object"}"#,
        expect![[r#"
            5:38: error[F0026]: "content" and "output_schema" exclude each other
                at /tools/0/output_schema
                because a program prints blocks, or JSON by its schema
                help: remove one of them
                5:20: "content" is here
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "date", "env": ["A=1", "B=\"2\"=3"], "stream": "off""#,
        expect![[r#"
        5:27: error[F0023]: "env" must be an object of strings, found an array
            at /tools/0/env
            help: write `{"A": "1", "B": "\"2\"=3"}`
            ["A=1", "B=\"2\"=3"] -> {"A": "1", "B": "\"2\"=3"}
        5:59: error[F0023]: "stream" must be `true` or `false`, found the string "off"
            at /tools/0/stream
            help: write `false`
            "off" -> false
        p: loaded [] refused [t (argv)]
    "#]],
    );
    check_tool(
        r#""command": "date {{x}}", "parameters": {"properties": {"x": {}}}, "ready": true"#,
        expect![[r#"
            5:76: warning[F0168]: `"ready": true` has no effect
                at /tools/0/ready
                because a template has its values in its arguments, and reads nothing
                help: remove it
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""command": "date", "ready": "yes""#,
        expect![[r#"
        5:29: error[F0023]: "ready" must be `true` or `false`, found the string "yes"
            at /tools/0/ready
            help: write `true`
            "yes" -> true
        p: loaded [] refused [t (argv)]
    "#]],
    );
    check_tool(
        r#""command": "date", "env": ["A"], "read_only": "maybe""#,
        expect![[r#"
        5:27: error[F0023]: "env" must be an object of strings, found an array
            at /tools/0/env
        5:47: error[F0023]: "read_only" must be `true` or `false`, found the string "maybe"
            at /tools/0/read_only
        p: loaded [] refused [t (argv)]
    "#]],
    );
    check(
        r#"{"name": "p", "author": {"name": "Ada"}, "mcpServers": [], "tools": ["ls | wc -l", ""]}"#,
        expect![[r#"
            1:25: error[F0023]: "author" must be a string, found an object
                at /author
                help: write `"Ada"`
                {"name": "Ada"} -> "Ada"
            1:56: error[F0023]: "mcpServers" must be an object, found an array
                at /mcpServers
                help: write `{"…": {…}}`: each server under its name
            1:70: error[F0023]: a tool must be an object, found the string "ls | wc -l"
                at /tools/0
                help: write `{"name": …, "description": …, "command": "sh", "args": ["-c", "ls | wc -l"]}`
            1:84: error[F0023]: "tools[1]" must be an object, found the string ""
                at /tools/1
            no plugin
        "#]],
    );
}
