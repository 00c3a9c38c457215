//! Plugins with one program that answers JSON-RPC.

use std::{fs, time::Duration};

use expect_test::{Expect, expect};
use flyto_plugin::{Depth, Invocation, Lifetime, ToolDef, ToolForm};

use crate::{check, common, load_in, loaded, plugin_dir};

/// A manifest with this as `binary`, and one tool of which this is the text behind its name.
fn manifest(section: &str, tool: &str) -> String {
    format!(
        "{{\"name\": \"p\", \"execution\": \"binary\",\n\"binary\": {section},\n\"tools\": [{{\"name\": \"t\", \"description\": \"d\"{tool}}}]}}"
    )
}

#[track_caller]
fn check_section(section: &str, expect: Expect) {
    check(&manifest(section, ""), expect);
}

#[track_caller]
fn check_tool(members: &str, expect: Expect) {
    check(&manifest(r#"{"path": "run.sh"}"#, &format!(",\n{members}")), expect);
}

/// The only tool of a manifest without findings.
#[track_caller]
fn tool(section: &str, members: &str) -> ToolDef {
    let loaded = loaded(&manifest(section, members), Depth::Full);
    assert!(loaded.findings.is_empty(), "{}", common::show(&loaded.findings));
    loaded.plugin.expect("a plugin").tools()[0].clone()
}

#[test]
fn the_plugins_program_runs_for_each_tool() {
    let def = tool(r#"{"path": "run.sh"}"#, "");
    assert_eq!(def.form(), ToolForm::Binary);
    assert_eq!(def.invocation, Invocation::Rpc { path: "run.sh".into(), lifetime: Lifetime::Call });
    assert_eq!((def.timeout, def.sha256, def.work_dir), (Duration::from_secs(30), None, None));
    assert_eq!(def.input_schema.value()["additionalProperties"], true);
    assert_eq!(def.metadata.permission_class.as_str(), "bash");

    let schema = r#"{"type": "object", "properties": {"n": {"type": "integer"}}}"#;
    for key in ["parameters", "input_schema"] {
        let def = tool(
            r#"{"path": "./run.sh", "protocol": "jsonrpc"}"#,
            &format!(
                r#", "{key}": {schema}, "command": "", "working_dir": "sub", "env": {{"A": "b"}},
                "read_only": true, "grace_seconds": 2, "limits": {{"open_files": 9}}"#
            ),
        );
        assert_eq!(
            def.input_schema.value().to_string(),
            schema.replace(": ", ":").replace(", ", ",")
        );
        assert_eq!(def.work_dir, Some("sub".into()));
        assert_eq!((def.env.iter().count(), def.metadata.read_only), (1, Some(true)));
        assert_eq!((def.grace, def.limits.open_files), (Duration::from_secs(2), Some(9)));
    }
}

#[test]
fn the_time_of_the_program_wins() {
    let timeout = |section: &str, tool_members: &str| {
        tool(&format!(r#"{{"path": "run.sh"{section}}}"#), tool_members).timeout.as_secs()
    };
    assert_eq!(timeout("", ""), 30);
    assert_eq!(timeout("", r#", "timeout_secs": 5"#), 5);
    assert_eq!(timeout(r#", "timeout_secs": 60"#, ""), 60);
    assert_eq!(timeout(r#", "timeout_secs": 60"#, r#", "timeout_secs": 5"#), 60);
    assert_eq!(timeout(r#", "timeout_secs": null"#, r#", "timeout_secs": 5"#), 5);
    let text = manifest(r#"{"path": "run.sh", "timeout_secs": 0}"#, r#", "timeout_secs": 5"#);
    check(
        &text,
        expect![[r#"
        2:46: warning[F0124]: 0 stands for the default of 30 s
            at /binary/timeout_secs
            help: write how many seconds the tool may take, or leave it out
        p: loaded [t] refused []
    "#]],
    );
    let plugin = loaded(&text, Depth::Quick).plugin.expect("a warning costs nothing");
    assert_eq!(plugin.tools()[0].timeout.as_secs(), 30);
}

#[test]
fn lifetimes() {
    let lifetime =
        |section: &str| match tool(&format!(r#"{{"path": "run.sh"{section}}}"#), "").invocation {
            Invocation::Rpc { lifetime, .. } => lifetime,
            other => panic!("{other:?}"),
        };
    let session = |secs| Lifetime::Session { idle: Duration::from_secs(secs) };
    assert_eq!(lifetime(r#", "lifetime": "call""#), Lifetime::Call);
    assert_eq!(lifetime(r#", "lifetime": "session""#), session(300));
    assert_eq!(lifetime(r#", "lifetime": "session", "idle_timeout_secs": 7"#), session(7));
    check_section(
        r#"{"path": "run.sh", "idle_timeout_secs": 7, "idle": 7}"#,
        expect![[r#"
        2:51: warning[F0128]: "idle_timeout_secs" has no effect without `"lifetime": "session"`
            at /binary/idle_timeout_secs
            because a program that is started for each call is never idle
        2:54: warning[F0021]: unknown key "idle"
            at /binary/idle
            help: "idle_timeout_secs" is there as well; remove this key
        p: loaded [t] refused []
    "#]],
    );
    check_section(
        r#"{"path": "run.sh", "lifetime": "session", "idle_timeout_seconds": 0}"#,
        expect![[r#"
            2:53: warning[F0025]: "idle_timeout_seconds" is another spelling of "idle_timeout_secs"
                at /binary/idle_timeout_seconds
                help: write "idle_timeout_secs"
                "idle_timeout_seconds" -> "idle_timeout_secs"
            2:77: warning[F0124]: 0 stands for the default of 300 s
                at /binary/idle_timeout_seconds
                help: write how many seconds the program may be idle
            p: loaded [t] refused []
        "#]],
    );
    check_section(
        r#"{"path": "run.sh", "lifetime": "sesion", "idle_timeout_secs": "5 min"}"#,
        expect![[r#"
            2:42: error[F0024]: "lifetime" must be one of "call", "session", found the string "sesion"
                at /binary/lifetime
                help: did you mean "session"?
                "sesion" -> "session"
            2:73: error[F0023]: "idle_timeout_secs" must be a whole number of seconds, found the string "5 min"
                at /binary/idle_timeout_secs
                help: write 300
                "5 min" -> 300
            no plugin
        "#]],
    );
}

#[test]
fn digests() {
    let digest = "a8076d3d28d21e02012B20EAF7DBF75409a6277134439025F282E368E3305ABF";
    let section = format!(r#"{{"path": "run.sh", "sha256": "{digest}"}}"#);
    let def = tool(&section, "");
    assert_eq!(def.sha256.map(|it| it.to_string()), Some(digest.to_lowercase()));
    // A tool may say the same.
    assert_eq!(tool(&section, &format!(r#", "sha256": "{digest}""#)).sha256, def.sha256);
    check_section(
        r#"{"path": "sub/../../run.sh", "sha256": "a1b2c3d4e5f6..."}"#,
        expect![[r#"
            2:20: error[F0108]: the path "sub/../../run.sh" of the program leaves the plugin's directory
                at /binary/path
                help: write the path of a file within the plugin's directory, such as `bin/tool`
            2:50: error[F0125]: "a1b2c3d4e5f6..." stands for a SHA-256 digest and is none
                at /binary/sha256
                help: `sha256sum FILE` prints it; leave the key out if the file may change
            no plugin
        "#]],
    );
    check_section(
        r#"{"path": "run.sh", "sha256": "a1b2c3d4e5f6..."}"#,
        expect![[r#"
        2:40: error[F0125]: "a1b2c3d4e5f6..." stands for a SHA-256 digest and is none
            at /binary/sha256
            help: `sha256sum run.sh` prints it; leave the key out if the file may change
        no plugin
    "#]],
    );
    check_section(
        r#"{"path": "a b", "sha256": "<digest>"}"#,
        expect![[r#"
        2:20: warning[F0114]: the program "a b" is not there
            at /binary/path
            because it is looked for at "DIR/a b"
            help: build it before the first call
        2:37: error[F0125]: "<digest>" stands for a SHA-256 digest and is none
            at /binary/sha256
            help: `sha256sum 'a b'` prints it; leave the key out if the file may change
        no plugin
    "#]],
    );
    check_section(
        &format!(r#"{{"path": "run.sh", "sha256": "sha256:{digest}"}}"#),
        expect![[r#"
            2:40: error[F0125]: a SHA-256 digest stands for itself here, without `sha256:`
                at /binary/sha256
                help: `sha256sum run.sh` prints it; leave the key out if the file may change
                "sha256:a8076d3d28d21e02012B20EAF7DBF75409a6277134439025F282E368E3305ABF" -> "a8076d3d28d21e02012B20EAF7DBF75409a6277134439025F282E368E3305ABF"
            no plugin
        "#]],
    );
    check_tool(
        &format!(r#""sha256": "{digest}""#),
        expect![[r#"
        4:11: error[F0125]: the program of a binary plugin has one digest, which is not this
            at /tools/0/sha256
            help: write it as "sha256" of "binary", and remove it here
        p: loaded [] refused [t (binary)]
    "#]],
    );
}

#[test]
fn what_a_tool_cannot_have() {
    check_tool(
        r#""command": "bin/solve", "parameters": {}"#,
        expect![[r#"
            4:12: error[F0127]: a tool of a binary plugin has no command of its own
                at /tools/0/command
                because its calls go to "run.sh", the program of the plugin
                help: remove it; the program reads from each request which tool is called, and with what
            p: loaded [] refused [t (binary)]
        "#]],
    );
    check_tool(
        r#""command": ["bin/solve"]"#,
        expect![[r#"
            4:12: error[F0127]: a tool of a binary plugin has no command of its own
                at /tools/0/command
                because its calls go to "run.sh", the program of the plugin
                help: remove it; the program reads from each request which tool is called, and with what
            p: loaded [] refused [t (binary)]
        "#]],
    );
    check_tool(
        r#""args": ["-x"]"#,
        expect![[r#"
            4:9: error[F0127]: a tool of a binary plugin has no arguments of its own
                at /tools/0/args
                because its calls go to "run.sh", the program of the plugin
                help: remove it; the program reads from each request which tool is called, and with what
            p: loaded [] refused [t (binary)]
        "#]],
    );
    check_tool(
        r#""parameters": {"type": "object"}, "input_schema": {"type": "object"}"#,
        expect![[r#"
            4:35: error[F0026]: "parameters" and "input_schema" exclude each other
                at /tools/0/input_schema
                because both are the schema of the input
                help: remove one of them
                4:1: "parameters" is here
            p: loaded [] refused [t (binary)]
        "#]],
    );
    check_tool(
        r#""parameters": 5"#,
        expect![[r#"
            4:15: error[F0119]: "parameters" must be a schema, which is an object, found the number 5
                at /tools/0/parameters
                help: write `{"type": "object", "properties": {}}` to accept any object
                5 -> {"type": "object", "properties": {}}
            p: loaded [] refused [t (binary)]
        "#]],
    );
    check(
        &manifest(r#"{"path": "run.sh"}"#, "").replace(r#""t""#, r#""t-u""#),
        expect![[r#"
        3:20: error[F0102]: the name "t-u" of a tool holds '-'
            at /tools/0/name
            help: a name is made of letters, digits and `_`, a letter first
            "t-u" -> "t_u"
        p: loaded [] refused [t-u (binary)]
    "#]],
    );
}

#[test]
fn a_section_that_cannot_be_used_costs_the_plugin() {
    for section in [
        "null",
        "5",
        "{}",
        r#"{"path": null}"#,
        r#"{"path": ""}"#,
        r#"{"path": "../x"}"#,
        r#"{"path": "a/../../x"}"#,
        r#"{"path": "/x"}"#,
        r#"{"path": "x\u0000"}"#,
        r#"{"path": "run.sh", "protocol": "grpc"}"#,
        r#"{"path": "run.sh", "timeout_secs": 1.5}"#,
        r#"{"path": "run.sh", "lifetime": "forever"}"#,
        r#"{"path": "run.sh", "sha256": "a1b2c3d4e5f6..."}"#,
    ] {
        let loaded = loaded(&manifest(section, ""), Depth::Quick);
        assert!(loaded.plugin.is_none() && loaded.findings.has_errors(), "{section}");
    }
    // Two dots within a name lead nowhere.
    let loaded = loaded(&manifest(r#"{"path": "a..b/./c"}"#, ""), Depth::Quick);
    assert!(loaded.plugin.is_some());
    check_section(
        r#"{"command": "run.sh", "file": "x"}"#,
        expect![[r#"
        2:11: error[F0022]: the key "path" is missing
            at /binary
            help: add `"path": "…"`
        2:12: warning[F0021]: unknown key "command"
            at /binary/command
            help: did you mean "path"?
            "command" -> "path"
        2:33: warning[F0021]: unknown key "file"
            at /binary/file
            help: did you mean "path"?
            "file" -> "path"
        no plugin
    "#]],
    );
}

#[test]
fn a_program_that_cannot_be_started_yet_costs_nothing() {
    check_section(
        r#"{"path": "bin/later"}"#,
        expect![[r#"
        2:20: warning[F0114]: the program "bin/later" is not there
            at /binary/path
            because it is looked for at "DIR/bin/later"
            help: build it before the first call
        p: loaded [t] refused []
    "#]],
    );
    check_section(
        r#"{"path": "sub"}"#,
        expect![[r#"
        2:20: warning[F0114]: the program "sub" is a directory
            at /binary/path
            help: write the path of an executable file
        p: loaded [t] refused []
    "#]],
    );
    #[cfg(unix)]
    check_section(
        r#"{"path": "plain.txt"}"#,
        expect![[r#"
        2:20: warning[F0114]: the program "plain.txt" is not executable
            at /binary/path
            help: chmod +x DIR/plain.txt
        p: loaded [t] refused []
    "#]],
    );
}

#[cfg(unix)]
#[test]
fn links_lead_to_files_of_the_plugin() {
    use std::os::unix::fs::symlink;

    let dir = plugin_dir();
    symlink("../run.sh", dir.path().join("sub/inside")).expect("linked");
    symlink("/bin", dir.path().join("bin")).expect("linked");
    symlink("nowhere", dir.path().join("dangling")).expect("linked");
    let shown = |path: &str| {
        let loaded =
            load_in(&dir, &manifest(&format!(r#"{{"path": "{path}"}}"#), ""), Depth::Quick);
        let sh = fs::canonicalize("/bin/sh").expect("there");
        common::show(&loaded.findings)
            .replace(dir.path().to_str().expect("UTF-8"), "DIR")
            .replace(sh.to_str().expect("UTF-8"), "SH")
    };
    expect![""].assert_eq(&shown("sub/inside"));
    expect![[r#"
        2:20: error[F0108]: the program "bin/sh" is not in the plugin's directory
            at /binary/path
            because a link leads to "SH"
            help: put the file itself where the link is
    "#]]
    .assert_eq(&shown("bin/sh"));
    expect![[r#"
        2:20: warning[F0114]: the program "dangling" is not there
            at /binary/path
            because it is looked for at "DIR/dangling"
            help: build it before the first call
    "#]]
    .assert_eq(&shown("dangling"));

    // The plugin itself may be a link.
    let elsewhere = tempfile::tempdir().expect("a directory");
    let link = elsewhere.path().join("p");
    symlink(dir.path(), &link).expect("linked");
    let source =
        flyto_diagnostics::Source::new("plugin.json", manifest(r#"{"path": "run.sh"}"#, ""));
    let loaded = flyto_plugin::load_source(&source, &link, &flyto_plugin::LoadOptions::new());
    assert!(loaded.findings.is_empty(), "{}", common::show(&loaded.findings));
}

#[test]
fn a_session_is_not_started_before_a_call() {
    let ready = r#", "ready": true"#;
    assert!(tool(r#"{"path": "run.sh"}"#, ready).ready);
    let session = r#"{"path": "run.sh", "lifetime": "session"}"#;
    check(
        &manifest(session, &format!(",\n{}", &ready[2..])),
        expect![[r#"
        4:10: warning[F0168]: `"ready": true` has no effect
            at /tools/0/ready
            because the process of a session stays between calls
            help: remove it
        p: loaded [t] refused []
    "#]],
    );
}

#[test]
fn keys_beside_the_section_are_told_to_belong_into_it() {
    check_section(
        r#"{"path": "run.sh"}, "sha256": "ab", "lifetime": "session""#,
        expect![[r#"
        2:31: warning[F0021]: unknown key "sha256"
            at /sha256
            help: move it into "binary": `binary.sha256`
        2:47: warning[F0021]: unknown key "lifetime"
            at /lifetime
            help: move it into "binary": `binary.lifetime`
        p: loaded [t] refused []
    "#]],
    );
}
