//! Definitions as a user has them, with real programs.
#![cfg(unix)]

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    time::{Duration, SystemTime},
};

use expect_test::{Expect, expect};
use flyto_diagnostics::Source;
use flyto_execenv::{Environment, ExecEnv, ReadyOptions, local::Local};
use flyto_exectool::{ExecTool, ExecToolDef, HostContext, load, load_file};
use flyto_tools::{CallContext, Input, Readiness, Tool, ToolResult};

fn host(dir: &Path) -> HostContext {
    let env: Environment =
        [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("TOKEN", "secret")].into_iter().collect();
    HostContext::new(env, dir)
}

fn call(tool: &ExecTool, input: Input) -> ToolResult {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime
        .expect("a runtime")
        .block_on(tool.execute(&CallContext::new(), input))
        .expect("it is always a result")
}

#[test]
fn the_outcomes_file_does_what_it_says() {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/exec-tools/outcomes.json");
    let env = ExecEnv::new(Local::new());
    let mut texts = String::new();
    for def in load_file(&file).tools.expect("a good file") {
        let tool = ExecTool::new(def, env.clone(), host(Path::new("/")));
        let res = call(&tool, Input::empty());
        texts += &format!("{}: {:?}\n", tool.name(), res.output);
    }
    expect![[r#"
        succeeds: "all is well\n"
        fails_with_output: "half done\n"
        fails_with_stderr_only: "exit code 4\n[stderr] no such record\n"
        fails_silently: "exit code 5 (no output)"
        killed: "exit code -1 (killed by signal 9, SIGKILL) (no output)"
        times_out: "error: exec_tool \"times_out\" timed out after 1s"
        times_out_after_asking: "error: exec_tool \"times_out_after_asking\" timed out after 1s"
        program_missing: "error: failed to start \"flyto-no-such-program\": no such program in PATH=/usr/local/bin:/usr/bin:/bin"
        default_time_limit: ""
    "#]].assert_eq(&texts);
}

#[track_caller]
fn check(exec: &str, dir: &Path, input: Input, expect: Expect) {
    let text = format!(r#"{{"name": "t", "description": "d", "exec": {exec}}}"#);
    let defs = load(&Source::new("t.json", text)).tools.expect("a good definition");
    let [def] = defs.try_into().expect("one");
    let res = call(&ExecTool::new(def, ExecEnv::new(Local::new()), host(dir)), input);
    expect.assert_eq(&res.output.replace(&dir.display().to_string(), "DIR"));
}

#[test]
fn programs_see_what_the_host_has() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = &dir.path().canonicalize().expect("it is there");
    let none = Input::empty;
    check(
        r#"["sh", "-c", "pwd; echo $TOKEN; cat"]"#,
        dir,
        none(),
        expect![[r#"
        DIR
        secret
    "#]],
    );
    let input = Input::parse("{\"b\" : 1.50,\n \"a\":\"$(id)\"}").unwrap();
    check(
        r#"["cat"]"#,
        dir,
        input,
        expect![[r#"
        {"b" : 1.50,
         "a":"$(id)"}"#]],
    );

    // A relative program is the host's, wherever the file lies.
    fs::create_dir(dir.join("bin")).expect("created");
    let script = dir.join("bin/hello");
    fs::write(&script, "#!/bin/sh\necho hello $0 \"$1\"\n").expect("written");
    check(
        r#"["bin/hello"]"#,
        dir,
        none(),
        expect![[
            r#"error: failed to start "bin/hello": DIR/bin/hello lacks the right to execute: Permission denied (os error 13)"#
        ]],
    );
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("set");
    check(
        r#"["bin/hello", "a  b"]"#,
        dir,
        none(),
        expect![[r#"
        hello DIR/bin/hello a  b
    "#]],
    );
    check(
        r#"["hello"]"#,
        dir,
        none(),
        expect![[
            r#"error: failed to start "hello": no such program in PATH=/usr/local/bin:/usr/bin:/bin"#
        ]],
    );
    check(
        r#"["./bin"]"#,
        dir,
        none(),
        expect![[r#"error: failed to start "./bin": DIR/./bin is a directory"#]],
    );
}

#[test]
fn output_that_is_too_long_lies_in_a_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let definition =
        ExecToolDef::new("long", ["head", "-c", "5000000", "/dev/zero"]).expect("a definition");
    let spill = dir.path().join("made/as needed");
    let host = host(dir.path()).spill_dir(&spill);
    let tool = ExecTool::new(definition, ExecEnv::new(Local::new()), host);
    let result = call(&tool, Input::empty());
    let omitted = result.omitted.expect("more than is kept");
    let whole = omitted.whole.expect("all of it was written");
    assert_eq!(fs::metadata(&whole).expect("it is there").len(), 5_000_000);
    assert!(
        result
            .output
            .contains(&format!("{} bytes omitted, the whole is in {whole}", omitted.bytes))
    );
}

#[tokio::test]
async fn a_process_that_loaded_before_serves_a_call() {
    let text = r#"{"name": "t", "description": "d", "ready": true,
        "exec": ["sh", "-c", "input=$(cat); echo $$ $input"]}"#;
    let defs = load(&Source::new("t.json", text)).tools.expect("a good definition");
    let [def] = defs.try_into().expect("one");
    let env = ExecEnv::builder(Local::new()).ready(ReadyOptions::new()).build();
    let tool = ExecTool::new(def, env.clone(), host(Path::new("/")));
    let mut processes = Vec::new();
    for input in ["[1]", "[2]"] {
        let parsed = Input::parse(input).expect("JSON");
        let result = tool.execute(&CallContext::new(), parsed).await.expect("it is a result");
        let (process, rest) = result.output.trim_end().split_once(' ').expect("two words");
        assert_eq!(rest, input);
        assert!(!processes.contains(&process.to_owned()), "a process served two calls");
        processes.push(process.to_owned());
        while env.waiting_processes() == 0 {
            tokio::task::yield_now().await;
        }
    }
    // Without input there is nothing to wait for.
    let call = tool.execute(&CallContext::new(), Input::empty()).await.expect("it is a result");
    assert!(!call.is_error());
    assert_eq!(call.execution.expect("it ran").readiness, None);
    assert_eq!(env.waiting_processes(), 1);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_process_that_works_for_longer_than_a_call_may_is_ended() {
    let dir = tempfile::tempdir().expect("a directory");
    // The calls answer.
    let called = dir.path().join("called");
    let script = format!("[ -e {called:?} ] && while :; do :; done; : >{called:?}");
    let def = ExecToolDef::new("t", ["/bin/sh", "-c", &script]).expect("a good definition");
    let def = def.with_timeout(Duration::from_secs(1)).with_ready();
    let env = ExecEnv::builder(Local::new()).ready(ReadyOptions::new()).build();
    let tool = ExecTool::new(def, env.clone(), host(dir.path()));
    let call = async || {
        let input = Input::parse("[1]").expect("JSON");
        let result = tool.execute(&CallContext::new(), input).await.expect("it is a result");
        result.execution.and_then(|it| it.readiness).expect("it says `ready`")
    };
    call().await;
    while env.waiting_processes() == 0 {
        tokio::task::yield_now().await;
    }
    while env.waiting_processes() != 0 {
        tokio::task::yield_now().await;
    }
    fs::remove_file(&called).expect("the call made it");
    let Readiness::Cold { why, help: Some(_) } = call().await else { panic!("it was kept") };
    assert!(why.contains("of processor time"), "{why}");
}

#[tokio::test]
async fn a_process_that_loaded_other_code_serves_no_call() {
    let dir = tempfile::tempdir().expect("a directory");
    let (script, module) = (dir.path().join("run"), dir.path().join("module"));
    fs::write(&script, ". ./module; input=$(cat); echo $module").expect("it is ours");
    fs::write(&module, "module=old").expect("it is ours");
    // A file of a moment ago is not started before a call.
    let changed = fs::metadata(&module).and_then(|it| it.modified()).expect("it is there");
    while SystemTime::now() < changed + Duration::from_millis(200) {
        std::thread::yield_now();
    }
    let exec = [OsString::from("/bin/sh"), script.into()];
    let def = ExecToolDef::new("t", exec).expect("a good definition").with_ready();
    let env = ExecEnv::builder(Local::new()).ready(ReadyOptions::new()).build();
    let tool = ExecTool::new(def, env.clone(), host(dir.path()));
    let call = async || {
        let input = Input::parse("[1]").expect("JSON");
        let result = tool.execute(&CallContext::new(), input).await.expect("it is a result");
        (result.output, result.execution.and_then(|it| it.readiness).expect("it says `ready`"))
    };
    assert_eq!(call().await.0, "old\n");
    while env.waiting_processes() == 0 {
        tokio::task::yield_now().await;
    }
    fs::write(&module, "module=new").expect("it is ours");
    let (output, readiness) = call().await;
    assert_eq!(output, "new\n");
    let why = format!("{module:?} has changed since its process was started");
    assert_eq!(readiness, Readiness::cold(why));
}
