//! Plugin tools: what they start, and the words of their results.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use expect_test::{Expect, expect};
use flyto_diagnostics::{At, Findings, Source, json::parse};
use flyto_execenv::{
    Declared, Environment, ExecEnv, Isolation, Limits, Sha256, Template, local::Local,
};
use flyto_plugin::{PluginConfig, PluginContext, PluginTool, ToolDef, UndoDef, expand_home};
use flyto_tools::{
    CallContext, CancellationToken, DescribeContext, Failure, Input, Origin, OutputChunk,
    ProblemKind, Progress, Tool, ToolErrorKind, ToolResult,
};
use serde_json::json;
use tempfile::TempDir;

/// A plugin's directory, and the context of a host.
struct Host {
    dir: TempDir,
    ctx: PluginContext,
}

impl Host {
    fn new() -> Self {
        let env = [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("LANG", "C"), ("TOKEN", "secret")];
        let env: Environment = env.into_iter().collect();
        let ctx = PluginContext::new(ExecEnv::new(Local::new()), env);
        Self { dir: tempfile::tempdir().expect("a directory"), ctx }
    }

    fn tool(&self, def: ToolDef) -> PluginTool {
        PluginTool::new(def, self.dir.path(), "p", self.ctx.clone())
    }

    async fn call(&self, def: ToolDef, input: &str) -> ToolResult {
        let input =
            if input.is_empty() { Input::empty() } else { Input::parse(input).expect("JSON") };
        self.tool(def).execute(&CallContext::new(), input).await.expect("it was tried")
    }

    /// Text without the part of the paths that is another one each time.
    fn redacted(&self, text: &str) -> String {
        text.replace(self.dir.path().to_str().expect("UTF-8"), "DIR")
    }
}

/// A tool that runs a line of shell.
fn sh(line: &str) -> ToolDef {
    ToolDef::argv("t", "sh", ["-c", line])
}

#[track_caller]
fn check(result: &ToolResult, expect: Expect) {
    let failure = result.failure.as_ref().map_or_else(|| "ok".to_owned(), ToString::to_string);
    expect.assert_eq(&format!("{failure}: {:?}\n", result.output));
}

#[tokio::test]
async fn stdin_is_the_input_and_stdout_the_result() {
    let host = Host::new();
    let text = "{ \"b\": 1.50,\n \"a\": \"é\" }";
    check(
        &host.call(sh("cat"), text).await,
        expect![[r#"
        ok: "{ \"b\": 1.50,\n \"a\": \"é\" }"
    "#]],
    );
    check(
        &host.call(sh("cat; echo ' end '"), "").await,
        expect![[r#"
        ok: " end \n"
    "#]],
    );
    check(
        &host.call(sh("echo hidden >&2"), "{}").await,
        expect![[r#"
        ok: ""
    "#]],
    );
}

#[tokio::test]
async fn a_large_unread_input_is_no_error() {
    let text = format!("{:?}", "x".repeat(3_000_000));
    check(
        &Host::new().call(sh("echo done"), &text).await,
        expect![[r#"
        ok: "done\n"
    "#]],
    );
}

#[tokio::test]
async fn failures_in_words() {
    let host = Host::new();
    check(
        &host.call(sh("echo out; echo err >&2; exit 3"), "").await,
        expect![[r#"
        exit code 3: "exit code 3\nstdout: out\n\nstderr: err\n"
    "#]],
    );
    check(
        &host.call(sh("exit 1"), "").await,
        expect![[r#"
        exit code 1: "exit code 1\nstdout: \nstderr: "
    "#]],
    );
    check(
        &host.call(sh("echo out; kill -KILL $$"), "").await,
        expect![[r#"
        signal 9 (SIGKILL): "exit code -1 (killed by signal 9, SIGKILL)\nstdout: out\n\nstderr: "
    "#]],
    );

    // What it printed until then is in `words.rs`, where time stands still.
    let mut slow = sh("exec sleep 60");
    slow.timeout = Duration::from_millis(300);
    let res = host.call(slow, "").await;
    assert_eq!(res.failure, Some(Failure::TimedOut { after: Some(Duration::from_millis(300)) }));

    let mut chatty = sh("while echo 0123456789; do :; done");
    chatty.limits = Limits::new().output_bytes(50);
    let res = host.call(chatty, "").await;
    assert_eq!(res.failure, Some(Failure::limit("output")));
    let first = res.output.lines().next().expect("a line");
    expect![[r#"plugin tool "p:t" reached its limit of output"#]].assert_eq(first);
}

#[tokio::test]
async fn cancellation_in_words() {
    let host = Host::new();
    let token = CancellationToken::new();
    let seen = token.clone();
    // Cancelled by what the tool prints, so that no time is involved.
    let ctx = CallContext::new()
        .with_cancellation(token)
        .with_output(move |_: OutputChunk<'_>| seen.cancel());
    let mut def = sh("echo so far >&2; exec sleep 60");
    def.stream = true;
    let res = host.tool(def).execute(&ctx, Input::empty()).await.expect("it was tried");
    assert_eq!(res.failure, Some(Failure::Cancelled));
    let (before, rest) = res.output.split_once("after ").expect("a time");
    let (time, after) = rest.split_once('\n').expect("a second line");
    assert!(time.ends_with("ms") || time.ends_with('s'), "{time}");
    expect![[r#"
        plugin tool "p:t" cancelled … stderr: so far
    "#]]
    .assert_eq(&format!("{before}… {after}"));
}

#[tokio::test]
async fn the_callers_deadline_tightens_the_tools() {
    let host = Host::new();
    let ctx = CallContext::new().with_deadline(Instant::now() + Duration::from_millis(200));
    let tool = host.tool(sh("exec sleep 60"));
    let res = tool.execute(&ctx, Input::empty()).await.expect("it was tried");
    assert!(matches!(res.failure, Some(Failure::TimedOut { .. })), "{res:?}");
    let (before, _) = res.output.split_once(" after ").expect("a time");
    expect![[r#"plugin tool "p:t" timed out"#]].assert_eq(before);
}

#[tokio::test]
async fn a_program_that_cannot_be_started_is_an_error() {
    let host = Host::new();
    fs::write(host.dir.path().join("plain"), "").expect("written");
    let mut lines = String::new();
    let program = host.dir.path().join("pinned");
    fs::write(&program, "#!/bin/sh\n").expect("written");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("set");
    }
    let mut pinned = ToolDef::argv("t", "./pinned", [] as [&str; 0]);
    pinned.sha256 = Some(Sha256([7; 32]));
    let mut elsewhere = sh("exit");
    elsewhere.work_dir = Some("nowhere".into());
    let nothing: [&str; 0] = [];
    for def in [
        ToolDef::argv("t", "no-such-program", nothing),
        ToolDef::argv("t", "./missing", nothing),
        ToolDef::argv("t", "./plain", nothing),
        ToolDef::argv("t", "a\0b", nothing),
        elsewhere,
        pinned,
    ] {
        let res = host.tool(def).execute(&CallContext::new(), Input::empty()).await;
        let err = res.expect_err("not started");
        lines += &format!("{:?} {}\n", err.kind(), host.redacted(&err.chain()));
    }
    expect![[r#"
        ProgramMissing plugin tool "p:t" exec failed: failed to start "no-such-program": no such program in PATH=/usr/local/bin:/usr/bin:/bin
        ProgramMissing plugin tool "p:t" exec failed: failed to start "./missing": looked for DIR/./missing: No such file or directory (os error 2)
        NotStartable plugin tool "p:t" exec failed: failed to start "./plain": DIR/./plain lacks the right to execute: Permission denied (os error 13)
        NotStartable plugin tool "p:t" exec failed: failed to start "a\0b": its name holds a NUL byte
        NotStartable plugin tool "p:t" exec failed: failed to start "sh": its working directory is DIR/nowhere: No such file or directory (os error 2)
        DigestMismatch plugin tool "p:t" exec failed: failed to start "./pinned": its SHA-256 is a8076d3d28d21e02012b20eaf7dbf75409a6277134439025f282e368e3305abf where 0707070707070707070707070707070707070707070707070707070707070707 is demanded; `sha256sum DIR/pinned` prints the one it has
    "#]].assert_eq(&lines);
}

#[tokio::test]
async fn the_environment_is_nothing_but_what_it_should_be() {
    let mut host = Host::new();
    let data = host.dir.path().join("data");
    host.ctx = host.ctx.clone().data_root(&data);
    let mut def = ToolDef::argv("t", "env", [] as [&str; 0]);
    def.env.insert("MINE", Template::parse("${PLUGIN_ROOT}:${TOKEN}").expect("valid"));
    let res = host.call(def.clone(), "").await;
    let mut lines: Vec<_> = res.output.lines().collect();
    lines.sort_unstable();
    expect![[r#"
        LANG=C
        MINE=DIR:secret
        PATH=/usr/local/bin:/usr/bin:/bin
        PLUGIN_DATA=DIR/data/p
        PLUGIN_ROOT=DIR"#]]
    .assert_eq(&host.redacted(&lines.join("\n")));
    let made = fs::metadata(data.join("p")).expect("made for the call");
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&made.permissions()) & 0o777, 0o700);
    assert!(made.is_dir());

    let shown: Vec<_> = host
        .tool(def)
        .variables()
        .into_iter()
        .map(|it| format!("{} {:?} {}", it.name, it.origin, it.reads.join(" ")).trim().to_owned())
        .collect();
    expect![[r#"
        LANG Host
        MINE Declared PLUGIN_ROOT TOKEN
        PATH Host
        PLUGIN_DATA Plugin
        PLUGIN_ROOT Plugin"#]]
    .assert_eq(&shown.join("\n"));
}

#[tokio::test]
async fn a_grant_holds_for_its_plugin() {
    let mut host = Host::new();
    let text = r#"{"grants": {"p": {"env": ["TOKEN"], "limits": {"output_bytes": 6}}, "q": {}}}"#;
    let source = Source::new("config.json", text);
    let root = parse(&source).expect("JSON");
    let expand = |path: &str| expand_home(path, None, |_| None);
    let config = PluginConfig::read(At::root(&source, &root), expand, &mut Findings::new());
    host.ctx = host.ctx.grants(&config.expect("valid"));
    let tool = host.tool(sh("echo $TOKEN"));
    assert_eq!(tool.limits(), Limits::new().output_bytes(6));
    assert_eq!(tool.isolation(), Isolation::new());
    let res = host.call(sh("echo $TOKEN"), "").await;
    assert!(matches!(res.failure, Some(Failure::Limit { .. })), "{res:?}");
    // What a manifest asks for is narrowed, never widened.
    let mut def = sh("echo $TOKEN");
    def.limits.output_bytes = Some(1_000_000);
    let res = host.call(def, "").await;
    assert!(matches!(res.failure, Some(Failure::Limit { .. })), "{res:?}");
    let other =
        PluginTool::new(sh("echo ${TOKEN-none given}"), host.dir.path(), "q", host.ctx.clone());
    let res = other.execute(&CallContext::new(), Input::empty()).await.expect("it was tried");
    assert_eq!(res.output, "none given\n");
}

#[tokio::test]
async fn a_variable_without_a_value_is_a_result() {
    let host = Host::new();
    let mut def = sh("echo started");
    def.env.insert("A", Template::parse("${NONE}$TOKEN").expect("valid"));
    def.env.insert("B", Template::parse("$NONE/$OTHER").expect("valid"));
    let res = host.call(def, "").await;
    check(
        &res,
        expect![[r#"
        no value for NONE, OTHER: "plugin tool \"p:t\": resolve env failed: variables not set: NONE (used in A, B), OTHER (used in B)"
    "#]],
    );
    let missing = vec!["NONE".to_owned(), "OTHER".to_owned()];
    assert_eq!(res.failure, Some(Failure::Environment { missing }));
}

/// It is no failed result: nothing that a caller says makes the tool startable.
#[tokio::test]
async fn a_value_that_no_environment_holds_starts_nothing() {
    let host = Host::new();
    let mut def = sh("echo started");
    def.env.insert("A", Template::parse(&"${TOKEN}".repeat(60_000)).expect("valid"));
    let tool = host.tool(def);
    let err = tool.execute(&CallContext::new(), Input::empty()).await.expect_err("it is too long");
    assert_eq!(err.kind(), ToolErrorKind::NotStartable);
    expect!["plugin tool \"p:t\": resolve env failed: value too long: A would have more than 131071 bytes"]
        .assert_eq(&err.chain());
    let preview = tool.preview(&Input::empty()).expect("it has one");
    let kinds: Vec<_> = preview.problems.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [ProblemKind::Error(ToolErrorKind::NotStartable)]);
}

/// Each value is short enough, and all of them are more than any system takes: 6 MiB without what stands around each.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn variables_that_no_start_takes_together_are_named() {
    let host = Host::new();
    let big = || Template::parse(&"v".repeat(104_850)).expect("valid");
    let mut argv = sh("echo started");
    let mut template =
        ToolDef::template("t", "echo {{x}}", json!({"properties": {"x": {}}})).expect("valid");
    for def in [&mut argv, &mut template] {
        (0..60).for_each(|at| def.env.insert(format!("BIG_{at}"), big()));
    }
    for def in [argv, template] {
        let tool = host.tool(def);
        let input = Input::from_value(json!({"x": "a"}));
        let problems = tool.preflight(&input).await;
        let [problem] = &problems[..] else { panic!("{problems:?}") };
        assert_eq!(problem.kind, ProblemKind::Error(ToolErrorKind::NotStartable));
        let err = tool.execute(&CallContext::new(), input).await.expect_err("it is too long");
        assert_eq!(err.kind(), ToolErrorKind::NotStartable);
        let text = err.chain();
        assert!(text.starts_with("plugin tool \"p:t\" exec failed: failed to start \""), "{text}");
        for text in [&text, &problem.text] {
            assert!(
                text.contains(" that the system takes together; shorten the variables"),
                "{text}"
            );
        }
    }
}

#[tokio::test]
async fn it_starts_in_the_plugins_directory_or_where_it_says() {
    let host = Host::new();
    fs::create_dir(host.dir.path().join("sub")).expect("created");
    let real = fs::canonicalize(host.dir.path()).expect("there");
    for (work_dir, expect) in
        [(None, real.clone()), (Some("sub"), real.join("sub")), (Some("/"), "/".into())]
    {
        let mut def = sh("pwd -P");
        def.work_dir = work_dir.map(Into::into);
        let res = host.call(def, "").await;
        assert_eq!(Path::new(res.output.trim_end()), expect);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_relative_command_is_taken_from_the_working_directory() {
    let host = Host::new();
    fs::create_dir(host.dir.path().join("sub")).expect("created");
    let script = host.dir.path().join("sub/run.sh");
    fs::write(&script, "#!/bin/sh\necho \"$0\" \"$1\"\n").expect("written");
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("changed");
    let mut def = ToolDef::argv("t", "./run.sh", ["a b"]);
    def.work_dir = Some("sub".into());
    let res = host.call(def, "").await;
    assert!(res.output.ends_with("run.sh a b\n"), "{}", res.output);
}

#[tokio::test]
async fn bytes_that_are_no_text_are_kept() {
    let res = Host::new().call(sh(r"printf 'a\377b'"), "").await;
    check(
        &res,
        expect![[r#"
        ok: "a�b"
    "#]],
    );
    assert_eq!(res.raw.as_deref(), Some(&b"a\xffb"[..]));
}

#[tokio::test]
async fn output_beyond_the_limit_has_its_start_and_its_end() {
    let mut host = Host::new();
    host.ctx = host.ctx.clone().capture_bytes(20);
    let digits = sh("printf 0123456789; printf 0123456789; printf 0123456789");
    let res = host.call(digits.clone(), "").await;
    check(
        &res,
        expect![[r#"
        ok: "0123456789\n[… 10 bytes omitted …]\n0123456789"
    "#]],
    );
    assert_eq!(res.omitted.expect("told").bytes, 10);

    let spill = host.dir.path().join("spill");
    host.ctx = host.ctx.clone().spill_dir(&spill);
    let res = host.call(digits, "").await;
    let whole = res.omitted.expect("told").whole.expect("kept");
    assert_eq!(fs::read_to_string(&whole).expect("there"), "0123456789".repeat(3));
    assert!(res.output.contains(&whole));
    // What fits leaves no file behind.
    host.call(sh("echo small"), "").await;
    assert_eq!(fs::read_dir(&spill).expect("made").count(), 1);
}

#[tokio::test]
async fn promised_json_is_read() {
    let host = Host::new();
    let json = |line: &str| {
        let mut def = sh(line);
        def.output_schema = Some(json!({"type": "object"}).into());
        def
    };
    let res = host.call(json(r#"echo '{"n": 1}'"#), "").await;
    check(
        &res,
        expect![[r#"
        ok: "{\"n\": 1}\n"
    "#]],
    );
    assert_eq!(res.data, Some(json!({"n": 1})));

    let res = host.call(json("echo no"), "").await;
    check(
        &res,
        expect![[r#"
        output breaks the schema: "plugin tool \"p:t\": stdout is no JSON: expected ident at line 1 column 2\nstdout: no\n"
    "#]],
    );
    assert_eq!((res.failure, res.data), (Some(Failure::BadOutput), None));

    // A tool that failed promised nothing.
    let res = host.call(json("echo '{}'; exit 2"), "").await;
    assert_eq!((res.failure, res.data), (Some(Failure::exit_code(2)), None));
}

#[tokio::test]
async fn streams_show_lines_and_progress() {
    let host = Host::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (progress, output) = (Arc::clone(&seen), Arc::clone(&seen));
    let ctx = CallContext::new()
        .with_progress(move |it: Progress| {
            progress.lock().expect("not poisoned").push(it.to_string())
        })
        .with_output(move |it: OutputChunk<'_>| {
            let text = String::from_utf8_lossy(it.bytes).into_owned();
            output.lock().expect("not poisoned").push(text);
        });
    let mut def = sh("echo '::progress 0.4 half' >&2; echo word >&2; exit 1");
    def.stream = true;
    let res = host.tool(def).execute(&ctx, Input::empty()).await.expect("it was tried");
    assert_eq!(*seen.lock().expect("not poisoned"), ["40% half", "word\n"]);
    check(
        &res,
        expect![[r#"
        exit code 1: "exit code 1\nstdout: \nstderr: word\n"
    "#]],
    );
}

#[tokio::test]
async fn a_call_says_how_it_is_taken_back() {
    let host = Host::new();
    let mut def = sh("exit $(cat | tr -dc 0-9)");
    def.undo = Some(UndoDef::new("remove", "remove the note"));
    let undo = host.call(def.clone(), r#"{"n": 0}"#).await.undo.expect("told");
    assert_eq!((undo.what.as_str(), undo.tool.as_str()), ("remove the note", "p:remove"));
    assert_eq!(undo.input, json!({"n": 0}));
    assert_eq!(host.call(def, r#"{"n": 1}"#).await.undo, None);
}

#[test]
fn names_and_metadata() {
    let host = Host::new();
    let mut def = ToolDef::argv("t", "ls", [] as [&str; 0]);
    def.metadata.aliases = vec!["u".to_owned()];
    def.description = "Lists.".to_owned();
    let tool = host.tool(def.clone());
    assert_eq!((tool.name(), tool.plugin(), tool.dir()), ("p:t", "p", host.dir.path()));
    assert_eq!(tool.metadata().aliases, ["p:u"]);
    assert_eq!(tool.metadata().origin, Origin::Plugin { plugin: "p".to_owned() });
    assert_eq!(tool.metadata().permission_class.as_str(), "bash");
    assert_eq!(tool.description(&DescribeContext::new()), "Lists.");

    let bare = PluginTool::new(def, host.dir.path(), "", host.ctx.clone());
    assert_eq!((bare.name(), &bare.metadata().origin), ("t", &Origin::Native));
    assert_eq!(bare.metadata().aliases, ["u"]);
}

#[test]
fn a_preview_starts_nothing() {
    let mut host = Host::new();
    host.ctx = host.ctx.clone().data_root(host.dir.path().join("data"));
    let mut def = ToolDef::argv("t", "rm", ["-rf", "a b"]);
    def.env = Declared::new();
    def.env.insert("A", Template::parse("$NONE").expect("valid"));
    def.work_dir = Some("sub".into());
    def.limits = Limits::new().memory_bytes(1);
    let preview = host.tool(def).preview(&Input::parse("{}").expect("JSON")).expect("known");
    let text = serde_json::to_string_pretty(&preview).expect("data");
    expect![[r#"
        {
          "command_line": [
            "rm",
            "-rf",
            "a b"
          ],
          "env_names": [
            "A",
            "LANG",
            "PATH",
            "PLUGIN_DATA",
            "PLUGIN_ROOT"
          ],
          "working_dir": "DIR/sub",
          "deadline_seconds": 30.0,
          "stdin": "{}",
          "problems": [
            "variable not set: NONE (used in A)",
            "failed to start \"rm\": the local backend does not offer memory-limit"
          ]
        }"#]]
    .assert_eq(&host.redacted(&text));
    assert_eq!(fs::read_dir(host.dir.path()).expect("there").count(), 0);
}
