//! The probe does what it says, seen through an `ExecEnv`.

#![forbid(unsafe_code)]

use std::time::Duration;

use expect_test::{Expect, expect};
use flyto_execenv::{Capture, ExecEnv, Outcome, Output, Spec, local::Local};

fn probe<'a>(args: impl IntoIterator<Item = &'a str>) -> Spec {
    Spec::new(env!("CARGO_BIN_EXE_probe")).args(args).deadline(Duration::from_secs(30))
}

fn run(spec: Spec) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let env = ExecEnv::new(Local::new());
    runtime.expect("a runtime").block_on(env.run(spec)).expect("the probe runs")
}

#[track_caller]
fn check(spec: Spec, expect: Expect) {
    let Outcome { ending, exit, stdout, leaked, pipe_held, confirmed, .. } = run(spec);
    let mut shown = format!("{ending:?}");
    if let Some(exit) = exit.filter(|it| !shown.contains(&format!("{it:?}"))) {
        shown += &format!(" by {exit:?}");
    }
    shown += &format!(", {:?}", String::from_utf8_lossy(&stdout.bytes()));
    if stdout.omitted_bytes() > 0 {
        shown += &format!(" of {} bytes", stdout.total_bytes);
    }
    if leaked != Some(0) {
        shown += &format!(", leaked {leaked:?}");
    }
    if pipe_held {
        shown += ", pipe held";
    }
    assert!(confirmed, "{shown}");
    expect.assert_eq(&shown);
}

/// Long enough for the probe to be ready on a busy machine; a test waits it out.
fn brief(spec: Spec) -> Spec {
    spec.deadline(Duration::from_secs(1))
}

#[test]
fn ends_as_told() {
    check(probe(["exit", "0"]), expect![[r#"Exited(Code(0)), """#]]);
    check(probe(["exit", "255"]), expect![[r#"Exited(Code(255)), """#]]);
    check(probe(["die", "SIGKILL"]), expect![[r#"Exited(Signal(Signal(9))), """#]]);
    check(probe(["die", "SIGSEGV"]), expect![[r#"Exited(Signal(Signal(11))), """#]]);
}

#[test]
fn a_wrong_request_is_told_from_a_failure() {
    check(probe([]), expect![[r#"Exited(Code(2)), """#]]);
    check(probe(["dance"]), expect![[r#"Exited(Code(2)), """#]]);
    check(probe(["exit", "256"]), expect![[r#"Exited(Code(1)), """#]]);
    check(probe(["die", "SIGPIPE"]), expect![[r#"Exited(Code(1)), """#]]);
}

#[test]
fn prints_what_it_was_given() {
    check(probe(["print-args", "a b", "", "$c"]), expect![[r#"Exited(Code(0)), "a b\0\0$c\0""#]]);
    check(
        probe(["print-env"]).env_var("B", "2").env_var("A", "1=1"),
        expect![[r#"Exited(Code(0)), "A=1=1\0B=2\0""#]],
    );
}

#[test]
fn invalid_utf8_is_byte_for_byte() {
    let outcome = run(probe(["invalid-utf8"]));
    assert_eq!(&*outcome.stdout.bytes(), b"a\xffb\xc3(c\xed\xa0\x80d\n");
}

#[test]
fn floods_with_so_many_bytes() {
    check(
        probe(["flood", "1000001"]).stdout(Output::Captured(Capture::limit(4))),
        expect![[r#"Exited(Code(0)), "xxxx" of 1000001 bytes"#]],
    );
}

#[test]
fn unread_input_is_no_error() {
    let much = vec![b'x'; 1_000_000];
    check(
        probe(["never-read"]).stdin_bytes(much.clone()),
        expect![[r#"Exited(Code(0)), "done\n""#]],
    );
    check(probe(["close-stdin"]).stdin_bytes(much), expect![[r#"Exited(Code(0)), "done\n""#]]);
}

#[test]
fn hangs_until_it_is_ended() {
    let grace = Duration::from_millis(200);
    check(
        brief(probe(["hang"]).grace(grace)),
        expect![[r#"TimedOut by Signal(Signal(15)), "ready\n""#]],
    );
    check(
        brief(probe(["ignore-term"]).grace(grace)),
        expect![[r#"TimedOut by Signal(Signal(9)), "ready\n""#]],
    );
    check(brief(probe(["stop-self"])), expect![[r#"TimedOut by Signal(Signal(9)), "ready\n""#]]);
}

#[test]
fn leaves_a_grandchild_behind() {
    check(
        probe(["stubborn-grandchild"]),
        expect![[r#"Exited(Code(0)), "ready\n", leaked Some(1), pipe held"#]],
    );
    let outcome = run(probe(["chatty-grandchild"]));
    assert_eq!((outcome.leaked, outcome.pipe_held), (Some(1), true));
    assert!(outcome.stdout.bytes().starts_with(b"still here\nstill here\n"));
}
