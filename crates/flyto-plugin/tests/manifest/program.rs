//! What is run, where, and for how long.

use std::fs;

use expect_test::expect;
use flyto_diagnostics::Source;
use flyto_plugin::{Depth, Invocation, LoadOptions, load_source};

use crate::{check_tool, check_tool_in_full, load_in, plugin_dir, shown, with_tool};

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
                help: remove it
                \u0000 -> 
            5:39: error[F0115]: argument 2 holds a NUL character
                at /tools/0/args/1
                because the system ends arguments, variables and paths at it
                help: remove it
                \u0000 -> 
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
                help: take it from there; or write a template, which has "parameters" in place of "input_schema", no "args", and starts where the session works: `"parameters": {…}, "command": "grep -r {{word}} ."`
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "./missing.sh""#,
        expect![[r#"
            5:12: warning[F0114]: the program "./missing.sh" is not there
                at /tools/0/command
                because it is looked for at "DIR/missing.sh"
                help: a relative path is taken from the working directory of the tool
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""command": "./plain.txt""#,
        expect![[r#"
            5:12: warning[F0114]: the program "./plain.txt" is not executable
                at /tools/0/command
                help: chmod +x DIR/plain.txt
            p: loaded [t] refused []
        "#]],
    );
    check_tool(
        r#""command": "./sub""#,
        expect![[r#"
            5:12: warning[F0114]: "./sub" is a directory
                at /tools/0/command
                help: write the path of a file in it, or the name of a program in the PATH
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
            5:12: warning[F0114]: the program "~/bin/x" is not there
                at /tools/0/command
                because it is looked for at "DIR/~/bin/x"
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
                help: install it, or write the path of the program
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
                help: take "word" from the input, which is on stdin as JSON; or write a template, which has "parameters" in place of "input_schema", no "args", and starts where the session works: `"parameters": {…}, "command": "docker {{.Name}} 'x{{ word }}'"`
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
            5:37: error[F0024]: "timeout_seconds" is at most 604800 s, found the number 604801
                at /tools/0/timeout_seconds
                help: the unit is seconds, not milliseconds
            5:62: error[F0024]: "grace_seconds" is at most 600 s, found the number 601
                at /tools/0/grace_seconds
                help: the unit is seconds, not milliseconds
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "ls", "timeout_seconds": 99999999999999999999"#,
        expect![[r#"
            5:37: error[F0024]: "timeout_seconds" is at most 604800 s, found the number 99999999999999999999
                at /tools/0/timeout_seconds
                help: the unit is seconds, not milliseconds
            p: loaded [] refused [t (argv)]
        "#]],
    );
    check_tool(
        r#""command": "ls", "timeout_seconds": 1.5, "grace_seconds": -1"#,
        expect![[r#"
            5:37: error[F0024]: "timeout_seconds" must be a whole number of seconds, found the number 1.5
                at /tools/0/timeout_seconds
                help: write 2
                1.5 -> 2
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
                help: a name is made of letters, digits and `_`, a letter or `_` first
            5:34: error[F0116]: the name "A=B" of a variable holds `=`, which stands between name and value
                at /tools/0/env/A=B
                help: a name is made of letters, digits and `_`, a letter or `_` first
            5:52: error[F0115]: the value of C holds a NUL character
                at /tools/0/env/C
                because the system ends arguments, variables and paths at it
                help: remove it
                \u0000 -> 
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

/// A digest that the file has not is found where a manifest is checked in full, before a call is.
#[test]
fn digests_of_other_files() {
    let zeros = "0".repeat(64);
    for (members, depth, is_found) in [
        (r#""command": "./run.sh""#, Depth::Full, true),
        (r#""command": "./run.sh""#, Depth::Quick, false),
        (r#""command": "sh""#, Depth::Full, true),
        (r#""parameters": {}, "command": "sh run.sh""#, Depth::Full, true),
        (r#""parameters": {}, "command": "./run.sh""#, Depth::Full, false),
        (r#""command": "./none.sh""#, Depth::Full, false),
        (r#""command": "sub/""#, Depth::Full, false),
    ] {
        let shown = shown(&with_tool(&format!(r#"{members}, "sha256": "{zeros}""#)), depth);
        assert_eq!(shown.contains("F0129"), is_found, "{members}: {shown}");
        assert_eq!(shown.contains("loaded [t]"), !is_found, "{members}: {shown}");
    }
    let members = format!(r#""command": "./run.sh", "sha256": "{zeros}""#);
    check_tool_in_full(
        &members,
        expect![[r#"
        5:34: error[F0129]: the SHA-256 of "run.sh" is a8076d3d28d21e02012b20eaf7dbf75409a6277134439025f282e368e3305abf where 0000000000000000000000000000000000000000000000000000000000000000 is demanded
            at /tools/0/sha256
            help: `sha256sum DIR/run.sh` prints the one it has
        p: loaded [] refused [t (argv)]
    "#]],
    );
}

/// A slip in the other family's spelling leads to the key of this form.
#[test]
fn a_slip_in_the_other_spelling() {
    check_tool(
        r#""command": "sh", "timout_secs": 5, "workin_dir": ".""#,
        expect![[r#"
        5:18: warning[F0021]: unknown key "timout_secs"
            at /tools/0/timout_secs
            help: did you mean "timeout_seconds"?
            "timout_secs" -> "timeout_seconds"
        5:36: warning[F0021]: unknown key "workin_dir"
            at /tools/0/workin_dir
            help: did you mean "work_dir"?
            "workin_dir" -> "work_dir"
        p: loaded [t] refused []
    "#]],
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_that_is_no_file_is_named_by_its_kind() {
    use std::os::unix::net::UnixListener;

    let dir = tempfile::tempdir().expect("a directory");
    let _listener = UnixListener::bind(dir.path().join("socket")).expect("bound");
    rustix::fs::mkfifoat(rustix::fs::CWD, dir.path().join("pipe"), 0o644.into()).expect("made");
    let mut found = String::new();
    for (command, section) in
        [("./socket", false), ("./pipe", false), ("/dev/null", false), ("pipe", true)]
    {
        let text = match section {
            false => with_tool(&format!("\"command\": {command:?}")),
            true => format!(
                "{{\"name\": \"p\", \"execution\": \"binary\", \"binary\": {{\"path\": {command:?}}}, \
                 \"tools\": [{{\"name\": \"t\", \"description\": \"d\"}}]}}"
            ),
        };
        let loaded =
            load_source(&Source::new("plugin.json", text), dir.path(), &LoadOptions::default());
        for it in loaded.findings.iter() {
            found += &format!(
                "{}: {}; {}\n",
                it.code,
                it.message,
                it.help.as_deref().unwrap_or_default()
            );
        }
    }
    expect![[r#"
        F0114: "./socket" is a socket; write the path of an executable file, or the name of a program in the PATH
        F0114: "./pipe" is a named pipe; write the path of an executable file, or the name of a program in the PATH
        F0114: "/dev/null" is a device; write the path of an executable file, or the name of a program in the PATH
        F0114: the program "pipe" is a named pipe; write the path of an executable file
    "#]].assert_eq(&found);
}

#[test]
fn what_no_program_can_get_is_refused() {
    let long = "x ".repeat(70_000);
    let check = |tool: String, expect: expect_test::Expect| {
        let dir = plugin_dir();
        let text = format!(
            r#"{{"name": "p", "version": "1.0.0", "description": "d", "tools": [{{"name": "t", "description": "d", {tool}}}]}}"#
        );
        let loaded = load_in(&dir, &text, Depth::Quick);
        let findings: Vec<_> = loaded.findings.iter().map(ToString::to_string).collect();
        expect.assert_eq(&findings.join("\n"));
    };
    check(
        format!(r#""parameters": {{}}, "command": "echo {long}""#),
        expect![[
            r#"plugin.json:1:128: error[F0024]: "command" has 140005 bytes, and at most 131071 can be handed over"#
        ]],
    );
    check(
        format!(r#""command": "{long}""#),
        expect![[
            r#"plugin.json:1:110: error[F0024]: "command" has 140000 bytes, and at most 131071 can be handed over"#
        ]],
    );
    check(
        format!(r#""command": "ls", "args": ["-l", "{long}"]"#),
        expect![
            "plugin.json:1:131: error[F0024]: argument 2 has 140000 bytes, and at most 131071 can be handed over"
        ],
    );
    check(
        format!(r#""command": "ls", "work_dir": "{long}""#),
        expect![[
            r#"plugin.json:1:128: error[F0024]: "work_dir" has 140000 bytes, and at most 131071 can be handed over"#
        ]],
    );
}
