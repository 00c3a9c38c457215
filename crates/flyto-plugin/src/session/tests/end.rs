use std::{
    fs, io,
    pin::Pin,
    sync::{Mutex, atomic::Ordering},
    task::{Context, Poll},
    time::Duration,
};

use async_trait::async_trait;
use expect_test::expect;
use flyto_execenv::{
    Capabilities, Control, Ended, ExecEnv, ExecError, Executor, Exit, Running, Signal, Spec,
    Target, local::Local,
};
use flyto_tools::{CallContext, Failure, ToolErrorKind};
use tokio::io::{AsyncRead, ReadBuf};

use super::{
    GUARD, HANGING, Host, PRELUDE, Request, cancelled_by_progress, gone, in_words, is_alive,
    listening, request,
};
use crate::result::Declares;

const DYING: &str = r#"
for method, id, tool, args in requests():
    if tool == "die":
        print("out of luck", file=sys.stderr, flush=True)
        os._exit(3)
    elif tool == "kill":
        os.kill(os.getpid(), 9)
    elif tool == "pid":
        reply(id, str(os.getpid()))
"#;

#[tokio::test]
async fn calls_in_flight_are_answered_when_the_process_dies() {
    let host = Host::new(DYING);
    let pid = host.text("pid", "{}").await;
    let ctx = CallContext::new();
    let (a, b, c) = tokio::join!(
        host.call(&ctx, "hang", "{}"),
        host.call(&ctx, "hang", "{}"),
        host.call(&ctx, "die", "{}")
    );
    for res in [a, b, c] {
        let res = in_words(res);
        assert_eq!(res.failure, Some(Failure::exit_code(3)));
        expect![[r#"
            plugin tool "p:t": the session ended: exit code 3
            stderr: out of luck
        "#]]
        .assert_eq(&res.output);
    }
    // The next call starts another one, whose words are its own.
    assert_ne!(host.text("pid", "{}").await, pid);
    let res = in_words(host.call(&ctx, "kill", "{}").await);
    let killed = Failure::Signal { number: 9, name: Some("SIGKILL".into()) };
    assert_eq!(res.failure, Some(killed));
    expect![[r#"
        plugin tool "p:t": the session ended: killed by signal 9, SIGKILL
        stderr: "#]]
    .assert_eq(&res.output);
    assert_eq!(host.starts(), 2);
}

/// The local backend, which never sees the last of a program go.
#[derive(Debug)]
struct Unsure(Local);

#[async_trait]
impl Executor for Unsure {
    fn capabilities(&self) -> &Capabilities {
        self.0.capabilities()
    }

    async fn start(&self, spec: Spec) -> Result<Running, ExecError> {
        let mut running = self.0.start(spec).await?;
        running.control = Box::new(UnsureControl(running.control));
        Ok(running)
    }
}

#[derive(Debug)]
struct UnsureControl(Box<dyn Control>);

#[async_trait]
impl Control for UnsureControl {
    async fn wait(&self) -> Result<Exit, ExecError> {
        self.0.wait().await
    }

    fn signal(&self, signal: Signal, target: Target) -> Result<(), ExecError> {
        self.0.signal(signal, target)
    }

    async fn end(&self, grace: Duration) -> Result<Ended, ExecError> {
        Ok(self.0.end(grace).await?.confirmed(false))
    }
}

#[tokio::test]
async fn an_end_that_is_not_confirmed_is_told_also_when_there_is_no_call() {
    let check = async |env: ExecEnv, is_confirmed: bool| {
        let script = format!("{PRELUDE}{DYING}");
        let spec = Spec::new("/usr/bin/env").args(["python3", "-c", &script]);
        let host = Host::on(env, spec, GUARD);
        let res = in_words(host.call(&CallContext::new(), "die", "{}").await);
        assert_eq!(res.execution.expect("it ran").confirmed, Some(is_confirmed));

        let told: &[&str] = if is_confirmed { &[] } else { &["/usr/bin/env"] };
        assert!(host.sessions.unended().iter().eq(told), "{:?}", host.sessions.unended());
    };
    check(ExecEnv::new(Local::new()), true).await;
    check(ExecEnv::new(Unsure(Local::new())), false).await;

    let spec = Spec::new("/usr/bin/env").args(["python3", "-c", &format!("{PRELUDE}{DYING}")]);
    let host = Host::on(ExecEnv::new(Unsure(Local::new())), spec, GUARD);
    host.text("pid", "{}").await;
    assert!(host.sessions.unended().is_empty());
    host.sessions.close().await;
    assert!(host.sessions.unended().iter().eq(["/usr/bin/env"]));
}

#[tokio::test]
async fn a_program_that_is_no_session_is_shown_with_what_it_said() {
    let host =
        Host::of(Spec::new("/bin/sh").args(["-c", "read line; echo \"got it\"; exit 0"]), GUARD);
    let res = in_words(host.call(&CallContext::new(), "t", "{}").await);
    assert_eq!(res.failure, Some(Failure::BadOutput));
    expect![[r#"
        plugin tool "p:t": the session ended: exit code 0
        stdout: got it

        stderr: "#]]
    .assert_eq(&res.output);
}

/// One answer a process is what a plugin gives that was made for one call.
#[tokio::test]
async fn a_program_that_ends_after_each_answer_works_without_pauses() {
    let host = Host::new("for method, id, tool, args in requests(): reply(id, tool); break\n");
    for n in 0..5 {
        let ctx = CallContext::new();
        // A call may meet the end of the one before, which it then cannot tell from its own.
        let res = loop {
            let res = in_words(host.call(&ctx, "t", "{}").await);
            if res.failure != Some(Failure::BadOutput) {
                break res;
            }
        };
        assert_eq!((res.failure, &*res.output), (None, "t"), "call {n}");
        host.gone().await;
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_an_error_of_each_call() {
    let host = Host::of(Spec::new("/no/such/program"), GUARD);
    for n in 1..=3 {
        let called = host.call(&CallContext::new(), "t", "{}").await;
        let err = called.into_result("p:t", Declares::Text).expect_err("there is none");
        assert_eq!(err.kind(), ToolErrorKind::ProgramMissing);
        assert_eq!(err.to_string(), r#"plugin tool "p:t" exec failed"#);
        assert!(err.chain().contains("/no/such/program"), "{}", err.chain());
        assert_eq!(host.starts(), n);
    }
}

#[tokio::test]
async fn after_a_crash_the_next_start_waits() {
    let host = Host::new(DYING);
    let ctx = CallContext::new();
    // The pause would be 25 s.
    host.text("pid", "{}").await;
    host.session.shared.set_crashes(8);
    assert_eq!(in_words(host.call(&ctx, "die", "{}").await).failure, Some(Failure::exit_code(3)));
    let late = Request { timeout: Duration::from_millis(20), ..request("pid", "{}") };
    let res = in_words(host.session.call(&ctx, late).await);
    expect![[r#"
        plugin tool "p:t" timed out after 20ms
        session: it waited to be started again, after the session ended: exit code 3
        stderr: out of luck
    "#]]
    .assert_eq(&res.output);
    assert_eq!(host.starts(), 1);
    // The call that closes the host does not wait for it.
    tokio::time::timeout(Duration::from_secs(20), host.sessions.close()).await.expect("at once");
}

#[tokio::test]
async fn a_session_without_calls_ends_and_is_started_by_the_next() {
    let host = Host::python(DYING, &[], Duration::from_millis(20));
    let pid = host.text("pid", "{}").await;
    host.gone().await;
    assert!(!is_alive(&pid));
    assert_ne!(host.text("pid", "{}").await, pid);
}

#[tokio::test]
async fn a_session_that_is_let_go_may_end_in_peace() {
    let host = Host::new(&format!("{DYING}\nopen('bye', 'w').close()\n"));
    host.text("pid", "{}").await;
    let Host { session, sessions, dir, .. } = host;
    drop(session);
    gone(&sessions).await;
    assert!(dir.path().join("bye").exists(), "it saw the end of its input");
}

/// Closes the sessions once there was progress.
async fn close_when_told(host: &Host, told: &Mutex<Vec<String>>) {
    while told.lock().expect("nobody panics").is_empty() {
        tokio::task::yield_now().await;
    }
    host.sessions.close().await;
}

#[tokio::test]
async fn closing_waits_for_answers_and_refuses_later_calls() {
    // What it was asked is answered at the end of the input.
    let host = Host::new(
        r#"
held = []
for method, id, tool, args in requests():
    held.append(id)
    progress(id, 0)
for id in held: reply(id, "after all")
"#,
    );
    let (ctx, told) = listening();
    let (called, ()) = tokio::join!(host.call(&ctx, "t", "{}"), close_when_told(&host, &told));
    assert_eq!(in_words(called).output, "after all");

    let called = host.call(&CallContext::new(), "t", "{}").await;
    let err = called.into_result("p:t", Declares::Text).expect_err("closed");
    assert_eq!(err.kind(), ToolErrorKind::Cancelled);
    assert_eq!(err.to_string(), r#"plugin tool "p:t": the sessions of plugins are closed"#);
    host.sessions.close().await;
    assert_eq!(host.starts(), 1);
}

#[tokio::test]
async fn what_ignores_the_end_of_its_input_is_killed_with_its_children() {
    let host = Host::new(
        r#"
import signal, subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "1000"])
for method, id, tool, args in requests():
    if tool == "pids":
        reply(id, f"{os.getpid()} {child.pid}")
    else:
        progress(id, 0)
threading.Event().wait()
"#,
    );
    let pids = host.text("pids", "{}").await;
    let (ctx, told) = listening();
    let (called, ()) = tokio::join!(host.call(&ctx, "hang", "{}"), close_when_told(&host, &told));
    let res = in_words(called);
    assert_eq!(res.failure, Some(Failure::Cancelled));
    expect![[r#"
        plugin tool "p:t": the session was closed
        stderr: "#]]
    .assert_eq(&res.output);
    assert!(pids.split(' ').all(|it| !is_alive(it)), "{pids}");
}

#[tokio::test]
async fn a_plugin_that_closes_its_output_is_not_talked_to_any_more() {
    let host = Host::new("os.close(1)\nfor it in requests(): pass\n");
    let res = in_words(host.call(&CallContext::new(), "t", "{}").await);
    assert_eq!(res.failure, Some(Failure::BadOutput), "{}", res.output);
}

#[test]
fn a_runtime_takes_its_processes_along() {
    let runtime =
        || tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let host = Host::new(HANGING);
    let first = runtime();
    let pid = first.block_on(host.text("pid", "{}"));
    assert!(is_alive(&pid));
    drop(first);
    let give_up = std::time::Instant::now() + GUARD;
    while is_alive(&pid) {
        assert!(std::time::Instant::now() < give_up, "process {pid} is still alive");
        std::thread::yield_now();
    }
    let other = runtime().block_on(host.text("pid", "{}"));
    assert_ne!(other, pid);
    assert_eq!(host.starts.load(Ordering::Relaxed), 2);
}

#[test]
fn a_runtime_that_ends_before_a_session_began_is_no_end_of_it() {
    let runtime =
        || tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let host = Host::new(HANGING);
    let first = runtime();
    // Asked, and dropped before the task that would start the process had its turn.
    first.block_on(async {
        let ctx = CallContext::new();
        tokio::select! {
            biased;
            _ = host.call(&ctx, "pid", "{}") => panic!("nothing runs yet"),
            () = std::future::ready(()) => {}
        }
    });
    drop(first);
    assert_eq!(host.starts(), 0);
    runtime().block_on(host.text("pid", "{}"));
}

#[tokio::test]
async fn a_plugin_that_prints_without_end_is_ended_all_the_same() {
    let host = Host::new(
        r#"
for method, id, tool, args in requests():
    reply(id, str(os.getpid()))
    while True: os.write(1, b"noise\n" * 10000)
"#,
    );
    let pid = host.text("pid", "{}").await;
    host.sessions.close().await;
    assert!(!is_alive(&pid));
}

/// The local backend, on whose stdout there is always more to read.
#[derive(Debug)]
struct Flooded(Local);

struct Flood;

impl AsyncRead for Flood {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        buf.put_slice(&b"noise\n".repeat(100)[..600.min(buf.remaining())]);
        Poll::Ready(Ok(()))
    }
}

#[async_trait]
impl Executor for Flooded {
    fn capabilities(&self) -> &Capabilities {
        self.0.capabilities()
    }

    async fn start(&self, spec: Spec) -> Result<Running, ExecError> {
        let mut running = self.0.start(spec).await?;
        running.stdout = Some(Box::new(Flood));
        Ok(running)
    }
}

#[tokio::test]
async fn a_flood_that_never_pauses_keeps_no_session_from_its_end() {
    let spec = Spec::new("/bin/sh").args(["-c", "exec sleep 600"]);
    let host = Host::on(ExecEnv::new(Flooded(Local::new())), spec, GUARD);
    let ctx = CallContext::new();
    let end = async {
        while host.starts() == 0 {
            tokio::task::yield_now().await;
        }
        host.sessions.close().await;
    };
    let (called, ()) = tokio::join!(host.call(&ctx, "t", "{}"), end);
    assert!(in_words(called).is_error());
}

#[tokio::test]
async fn unread_stderr_does_not_stop_the_plugin() {
    let host = Host::new(
        r#"
for method, id, tool, args in requests():
    sys.stderr.write("x" * 1000000 + "\nthe end\n")
    if tool == "die": sys.exit(1)
    reply(id, "done")
"#,
    );
    assert_eq!(host.text("t", "{}").await, "done");
    let res = in_words(host.call(&CallContext::new(), "die", "{}").await);
    assert!(res.output.ends_with("bytes omitted …]\nthe end\n"), "{}", res.output);
    assert!(fs::read_dir(host.dir.path()).expect("a directory").next().is_none());
}

/// The end of its input comes right behind, and no process is there any more to write a message late.
#[tokio::test]
async fn a_call_that_is_taken_back_just_before_the_end_is_still_cancelled() {
    let host = Host::new(
        r#"
told = open("told", "w")
for method, id, tool, args in requests():
    print(method, id, file=told, flush=True)
    if tool == "hang": progress(id, 0.5)
"#,
    );
    let res = in_words(host.call(&cancelled_by_progress(), "hang", "{}").await);
    assert_eq!(res.failure, Some(Failure::Cancelled));
    host.sessions.close().await;
    let told = fs::read_to_string(host.dir.path().join("told")).expect("it ran");
    assert_eq!(told, "execute 1\ncancel 1\n");
}

/// Says that its input has ended, and goes on.
const STAYING: &str = r#"
for method, id, tool, args in requests():
    if tool == "pid":
        reply(id, str(os.getpid()))
open("ended", "w").close()
threading.Event().wait()
"#;

#[tokio::test]
async fn an_abort_gives_no_process_a_grace() {
    let host = Host::new(STAYING);
    let pid = host.text("pid", "{}").await;
    host.sessions.abort().await;
    assert!(!is_alive(&pid));
    assert!(!host.dir.path().join("ended").exists(), "it was killed before its input ended");
    let refused =
        host.call(&CallContext::new(), "pid", "{}").await.into_result("p:t", Declares::Text);
    refused.expect_err("it is not started again");
    assert_eq!(host.starts(), 1);
}
