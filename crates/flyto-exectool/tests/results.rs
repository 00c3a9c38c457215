//! What a call gives, for every way in which a program can end.

mod player;

use std::{sync::Arc, time::Duration};

use expect_test::{Expect, expect};
use flyto_execenv::{
    Class, Environment, ExecEnv, ExecErrorKind, Exit, Limits, Policies, Policy, Signal, Stdin,
};
use flyto_exectool::{ExecTool, ExecToolDef, HostContext};
use flyto_tools::{CallContext, Failure, Input, Omitted, Tool, ToolErrorKind, ToolResult};
use player::{Ends, Play, Player};

fn host() -> HostContext {
    let env: Environment = [("PATH", "/usr/bin:/bin"), ("HOME", "/home/me"), ("API_KEY", "secret")]
        .into_iter()
        .collect();
    HostContext::new(env, "/srv")
}

fn def() -> ExecToolDef {
    ExecToolDef::new("stock", ["bin/stock", "--json"])
        .expect("a name and a program")
        .with_timeout(Duration::from_secs(10))
}

fn play(stdout: &str, stderr: &str, ends: Ends) -> Play {
    Play { stdout: stdout.into(), stderr: stderr.into(), ends }
}

/// The clock stands still while anything can be done and else moves to the next thing that is due.
fn block_on<T>(call: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(call)
}

fn run(def: ExecToolDef, env: ExecEnv) -> ToolResult {
    let tool = ExecTool::new(def, env, host());
    block_on(tool.execute(&CallContext::new(), Input::empty())).expect("it is always a result")
}

#[track_caller]
fn check(play: Play, expect: Expect) -> ToolResult {
    let res = run(def(), ExecEnv::new(Player::new(play)));
    expect.assert_eq(&shown(&res));
    res
}

fn shown(res: &ToolResult) -> String {
    let failure = res.failure.as_ref().map_or("ok".to_owned(), ToString::to_string);
    format!("{failure}: {:?}", res.output)
}

#[test]
fn stdout_alone_is_the_text() {
    check(play("12\n", "", Ends::Well), expect![[r#"ok: "12\n""#]]);
    check(play(" 12 \n\n", "a warning", Ends::Well), expect![[r#"ok: " 12 \n\n""#]]);
    check(play("", "", Ends::Well), expect![[r#"ok: """#]]);
    check(play("", "a warning", Ends::Well), expect![[r#"ok: """#]]);
    check(
        play("half\n", "disk full", Ends::With(Exit::Code(3))),
        expect![[r#"exit code 3: "half\n""#]],
    );
    check(
        play("half\n", "", Ends::With(Exit::Signal(Signal::KILL))),
        expect![[r#"signal 9 (SIGKILL): "half\n""#]],
    );
}

#[test]
fn a_tool_that_prints_blocks() {
    let check = |stdout: &str, ends, expect: Expect| {
        let res = run(def().with_blocks(), ExecEnv::new(Player::new(play(stdout, "err", ends))));
        let data = res.data.as_ref().map_or_else(String::new, |it| format!(" {it}"));
        expect.assert_eq(&format!("{}{data}", shown(&res)));
    };
    let image = r#"{"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]}"#;
    check(
        image,
        Ends::Well,
        expect![[
            r#"ok: "[image, image/png, 3 bytes]" {"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]}"#
        ]],
    );
    check(
        image,
        Ends::With(Exit::Code(3)),
        expect![[
            r#"exit code 3: "[image, image/png, 3 bytes]" {"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]}"#
        ]],
    );
    check(
        "12\n",
        Ends::Well,
        expect![[
            r#"ok: "12\n[stdout is no list of blocks: expected an object with \"content\"]""#
        ]],
    );
    check("", Ends::With(Exit::Code(3)), expect![[r#"exit code 3: "exit code 3\n[stderr] err""#]]);
}

#[test]
fn without_stdout_a_failure_says_how_it_ended() {
    check(
        play("", "no such record\n", Ends::With(Exit::Code(4))),
        expect![[r#"exit code 4: "exit code 4\n[stderr] no such record\n""#]],
    );
    check(
        play("", "", Ends::With(Exit::Code(5))),
        expect![[r#"exit code 5: "exit code 5 (no output)""#]],
    );
    check(
        play("", "", Ends::With(Exit::Signal(Signal::KILL))),
        expect![[
            r#"signal 9 (SIGKILL): "exit code -1 (killed by signal 9, SIGKILL) (no output)""#
        ]],
    );
    check(
        play("", "bye", Ends::With(Exit::Signal(Signal::TERM))),
        expect![[
            r#"signal 15 (SIGTERM): "exit code -1 (killed by signal 15, SIGTERM)\n[stderr] bye""#
        ]],
    );
    check(
        play("", "", Ends::With(Exit::Signal(Signal(63)))),
        expect![[r#"signal 63: "exit code -1 (killed by signal 63) (no output)""#]],
    );
}

#[test]
fn a_program_that_does_not_start_is_a_result() {
    check(
        play("", "", Ends::NotStarted(ExecErrorKind::ProgramNotFound)),
        expect![[r#"not started: "error: failed to start \"bin/stock\": the reason""#]],
    );
    check(
        play("", "", Ends::NotStarted(ExecErrorKind::Unreachable)),
        expect![[r#"not started: "error: failed to start \"bin/stock\": the reason""#]],
    );
}

#[test]
fn a_program_that_is_lost_sight_of_is_a_result() {
    check(
        play("", "", Ends::OutOfSight),
        expect![[
            r#"outcome unknown: "error: exec_tool \"stock\" wait failed: failed to wait for the program: gone""#
        ]],
    );
}

#[test]
fn a_demand_that_the_backend_does_not_meet_is_an_error() {
    let env = ExecEnv::builder(Player::new(Play::default()))
        .policies(
            Policies::new()
                .class(Class::USER_HOOK, Policy::new().limits(Limits::new().memory_bytes(1))),
        )
        .build();
    let tool = ExecTool::new(def(), env, host());
    let res = block_on(tool.execute(&CallContext::new(), Input::empty()));
    let err = res.expect_err("nothing ran, and no input changes that");
    assert_eq!(err.kind(), ToolErrorKind::Unsupported);
    expect![[r#"exec_tool "stock" cannot be run: failed to start "bin/stock": the player backend does not offer memory-limit"#]]
        .assert_eq(&flyto_program::chain(&err));
}

#[test]
fn time_is_up() {
    let res = check(
        play("so far", "", Ends::Never),
        expect![[r#"timed out: "error: exec_tool \"stock\" timed out after 10s""#]],
    );
    assert_eq!(res.execution.expect("it ran").stdout_bytes, 6);
    for (timeout, expect) in [
        (0, expect![[r#"error: exec_tool "stock" timed out after 30s"#]]),
        (1, expect![[r#"error: exec_tool "stock" timed out after 1s"#]]),
        (60, expect![[r#"error: exec_tool "stock" timed out after 1m0s"#]]),
        (90, expect![[r#"error: exec_tool "stock" timed out after 1m30s"#]]),
        (3600, expect![[r#"error: exec_tool "stock" timed out after 1h0m0s"#]]),
    ] {
        let def = def().with_timeout(Duration::from_secs(timeout));
        expect.assert_eq(&run(def, ExecEnv::new(Player::new(play("", "", Ends::Never)))).output);
    }
}

#[test]
fn the_callers_deadline_tightens_the_tools() {
    let tool = ExecTool::new(def(), ExecEnv::new(Player::new(play("", "", Ends::Never))), host());
    let ctx = CallContext::new().with_deadline(std::time::Instant::now());
    let res = block_on(tool.execute(&ctx, Input::empty())).expect("a result");
    expect![[r#"timed out: "error: exec_tool \"stock\" timed out after 0s""#]]
        .assert_eq(&shown(&res));
}

#[test]
fn a_cancelled_call_says_after_what_time() {
    let tool =
        ExecTool::new(def(), ExecEnv::new(Player::new(play("so far", "", Ends::Never))), host());
    let ctx = CallContext::new();
    let res = block_on(async {
        let canceller = async {
            tokio::time::sleep(Duration::from_micros(1_500_700)).await;
            ctx.cancellation().cancel();
        };
        tokio::join!(tool.execute(&ctx, Input::empty()), canceller).0
    });
    let res = res.expect("a result");
    expect![[r#"cancelled: "error: exec_tool \"stock\" cancelled after 1.501s""#]]
        .assert_eq(&shown(&res));
}

#[test]
fn a_limit_is_named_and_keeps_the_output() {
    let run = |stdout| {
        let env = ExecEnv::builder(Player::new(play(stdout, "", Ends::Never)))
            .policies(
                Policies::new()
                    .class(Class::USER_HOOK, Policy::new().limits(Limits::new().output_bytes(4))),
            )
            .build();
        run(def(), env)
    };
    let res = run("abcdefgh");
    expect![[r#"output limit reached: "error: exec_tool \"stock\" reached its limit of output\nabcdefgh""#]].assert_eq(&shown(&res));
}

#[test]
fn bytes_that_are_no_text_are_kept() {
    let play = Play { stdout: b"a\xffb".to_vec(), ..Play::default() };
    let res = check(play, expect![[r#"ok: "a�b""#]]);
    assert_eq!(res.raw.as_deref(), Some(&b"a\xffb"[..]));
}

#[test]
fn output_beyond_the_limit_has_a_start_and_an_end() {
    let limit = flyto_execenv::DEFAULT_CAPTURE_BYTES as usize;
    let printed = vec![b'x'; limit + 7];
    for (play, lead, kept) in [
        (Play { stdout: printed.clone(), ..Play::default() }, "", limit),
        (
            Play { stderr: printed.clone(), ends: Ends::With(Exit::Code(1)), ..Play::default() },
            "exit code 1\n[stderr] ",
            2 * 4096,
        ),
    ] {
        let res = run(def(), ExecEnv::new(Player::new(play)));
        let omitted = limit + 7 - kept;
        assert_eq!(res.omitted, Some(Omitted::new(omitted as u64)));
        let text = res.output.strip_prefix(lead).expect("the words of the tool come first");
        let notice = format!("\n[… {omitted} bytes omitted …]\n");
        let (start, end) = text.split_once(&notice).expect("the cut is said");
        assert_eq!(start.len() + end.len(), kept);
        assert!(!start.is_empty() && !end.is_empty());
    }
}

#[test]
fn a_call_is_the_fixed_command_with_the_input_as_it_came() {
    let player = Player::new(Play::default());
    let last_spec = Arc::clone(&player.last_spec);
    let def = def().with_grace(Duration::from_secs(2));
    let tool = ExecTool::new(def, ExecEnv::new(player), host());
    for (input, stdin) in [
        (Input::empty(), Stdin::Null),
        (Input::parse("{}").unwrap(), Stdin::Bytes("{}".into())),
        (
            Input::parse("{ \"b\": 1.50,\n\"a\": \"$(id); {{x}} -rf\" }\n").unwrap(),
            Stdin::Bytes("{ \"b\": 1.50,\n\"a\": \"$(id); {{x}} -rf\" }\n".into()),
        ),
    ] {
        block_on(tool.execute(&CallContext::new(), input)).expect("a result");
        let spec = last_spec.lock().unwrap().take().expect("it was started");
        assert_eq!(spec.stdin, stdin);
        assert_eq!(spec.class, Class::USER_HOOK);
        assert_eq!(spec.program, "bin/stock".into());
        assert_eq!(spec.args, ["--json"]);
        assert_eq!(spec.env, host().env);
        assert_eq!(spec.working_dir, host().current_dir);
        assert_eq!(spec.deadline, Some(Duration::from_secs(10)));
        assert_eq!(spec.grace, Some(Duration::from_secs(2)));
    }
}

#[test]
fn a_preview_starts_nothing_and_tells_all() {
    let player = Player::new(Play::default());
    let last_spec = Arc::clone(&player.last_spec);
    let tool = ExecTool::new(def(), ExecEnv::new(player), host());
    let preview = tool.preview(&Input::parse("{\"article\":7}").unwrap()).expect("it can tell");
    expect![[r#"
        {
          "command_line": [
            "bin/stock",
            "--json"
          ],
          "env_names": [
            "API_KEY",
            "HOME",
            "PATH"
          ],
          "working_dir": "/srv",
          "deadline_seconds": 10.0,
          "stdin": "{\"article\":7}"
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&preview).unwrap());
    assert_eq!(*last_spec.lock().unwrap(), None);

    let nowhere = HostContext::new(host().env, "srv");
    let tool = ExecTool::new(def(), ExecEnv::new(Player::new(Play::default())), nowhere);
    let preview = tool.preview(&Input::empty()).expect("it can tell");
    expect![[r#"failed to start "bin/stock": working directory "srv" is not absolute"#]]
        .assert_eq(&preview.problems[0].text);
}

#[test]
fn nothing_is_declared_safe() {
    let env = ExecEnv::new(Player::new(Play::default()));
    let tool = ExecTool::new(def().with_file("tools.json"), env.clone(), host());
    expect![[r#"
        {
          "permission_class": "generic",
          "audit_operation": "execute",
          "origin": {
            "kind": "exec_file",
            "path": "tools.json"
          }
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(tool.metadata()).unwrap());
    let metadata = ExecTool::new(def(), env, host()).metadata().clone();
    assert!(!metadata.is_concurrency_safe() && !metadata.is_read_only());
    assert!(!metadata.is_destructive() && metadata.counts_as_destructive());
    assert_eq!(metadata.origin, flyto_tools::Origin::Native);
}

#[test]
fn failures_are_typed() {
    let failure_of = |ends| run(def(), ExecEnv::new(Player::new(play("x", "", ends)))).failure;
    assert_eq!(failure_of(Ends::Well), None);
    assert_eq!(failure_of(Ends::With(Exit::Code(3))), Some(Failure::exit_code(3)));
    assert_eq!(failure_of(Ends::OutOfSight), Some(Failure::Lost));
    let not_started = Ends::NotStarted(ExecErrorKind::ProgramNotFound);
    assert_eq!(failure_of(not_started), Some(Failure::NotStarted));
    assert_eq!(
        failure_of(Ends::Never),
        Some(Failure::TimedOut { after: Some(Duration::from_secs(10)) })
    );
}
