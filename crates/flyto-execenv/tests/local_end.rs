//! Ending programs on this machine: deadlines, cancellation, and calls that are dropped.

#![cfg(all(unix, feature = "local"))]

mod support;

use std::{thread, time::Duration};

use flyto_execenv::{
    DEFAULT_GRACE, Ending, ExecEnv, ExecErrorKind, Exit, KillScope, Output, RunOptions, Signal,
    Spec, Stdin, Target,
};
use support::{GUARD, assert_gone, cancelled, env, ready, sh, text};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    runtime::Runtime,
    sync::mpsc,
};

/// A shell with two children, one of which ignores `SIGTERM`; it names all three.
const FAMILY: &str = "(trap '' TERM; exec sleep 100) & a=$!; sleep 100 & echo ready $$ $a $!; wait";

/// A grace that a deaf program uses up.
const SHORT: Duration = Duration::from_millis(50);

/// Runs a program to a deadline in which it becomes ready, which takes longer on a busy machine.
async fn timed_out(make: impl Fn() -> Spec) -> (flyto_execenv::Outcome, Vec<u32>) {
    let mut deadline = Duration::from_millis(100);
    loop {
        let outcome = env().run(make().deadline(deadline)).await.expect("it runs");
        assert_eq!(outcome.ending, Ending::TimedOut);
        let printed = text(&outcome);
        if let Some(line) = printed.lines().find_map(|it| it.strip_prefix("ready ")) {
            let pids = line.split(' ').map(|it| it.parse().expect("a process id")).collect();
            return (outcome, pids);
        }
        assert!(deadline < GUARD, "the program is never ready");
        deadline *= 2;
    }
}

#[tokio::test]
async fn a_deadline_ends_the_group() {
    let (outcome, pids) = timed_out(|| sh(FAMILY)).await;
    assert_eq!(outcome.exit, Some(Exit::Signal(Signal::KILL)));
    assert_eq!((outcome.leaked, outcome.confirmed, outcome.pipe_held), (Some(0), true, false));
    assert_eq!(pids.len(), 3);
    assert_gone(&pids);
}

#[tokio::test]
async fn a_deadline_ends_stopped_processes() {
    const STOPPED: &str = "sleep 100 & kill -STOP $!; echo ready $$ $!; kill -STOP $$; sleep 100";
    for make in [|| sh(STOPPED), || sh(STOPPED).grace(SHORT)] {
        let (outcome, pids) = timed_out(make).await;
        assert!(outcome.confirmed);
        assert_gone(&pids);
    }
}

#[tokio::test]
async fn a_grace_is_over_when_the_whole_group_is_gone() {
    // The leader goes at once; what it left is asked as well and has the rest of the grace.
    let polite = "(trap 'echo child; exit' TERM; echo up; while :; do sleep 1 & wait; done) & \
                  a=$!; trap 'echo leader; exit 4' TERM; read up <&3; \
                  echo ready $$ $a; while :; do sleep 1 & wait; done";
    // The child is up before it is asked: its `up` travels through a pipe that only the two share.
    let script =
        format!("mkfifo $0/up; exec 3<>$0/up; {}", polite.replace("echo up", "echo up >&3"));
    let dir = tempfile::tempdir().expect("a directory");
    let spec = sh(&script).arg(dir.path()).grace(GUARD);
    let (outcome, pids) = cancelled(&env(), spec).await;
    assert_eq!((outcome.ending, outcome.exit), (Ending::Cancelled, Some(Exit::Code(4))));
    let printed = text(&outcome);
    assert!(printed.contains("leader\n") && printed.contains("child\n"), "{printed}");
    assert_eq!((outcome.leaked, outcome.confirmed), (Some(0), true));
    assert_gone(&pids);
}

#[tokio::test]
async fn a_grace_ends_with_a_kill() {
    let deaf = "trap '' TERM; sleep 100 & echo ready $$ $!; wait";
    let (outcome, pids) = cancelled(&env(), sh(deaf).grace(SHORT)).await;
    assert_eq!(outcome.exit, Some(Exit::Signal(Signal::KILL)));
    assert_gone(&pids);
}

#[tokio::test]
async fn the_leader_alone_is_ended_where_that_is_asked() {
    // The child is let go by closing its stdin, which is its end.
    let script = "sleep 3 <&0 & echo ready $$; wait";
    let (outcome, pids) = cancelled(&env(), sh(script).kill(KillScope::Leader)).await;
    assert_eq!(outcome.exit, Some(Exit::Signal(Signal::KILL)));
    assert_eq!((outcome.leaked, outcome.confirmed), (None, true));
    assert_gone(&pids);
}

/// Polls a call until its program is ready, and gives the call and the process ids.
fn ready_call(runtime: &Runtime) -> (impl Future<Output = ()> + Send + use<>, Vec<u32>) {
    let (observer, mut chunks) = mpsc::channel(16);
    let mut call = Box::pin(async move {
        let _ = env().run_with(sh(FAMILY), RunOptions::new().observer(observer)).await;
    });
    let pids = runtime.block_on(async {
        tokio::select! {
            () = &mut call => panic!("it does not end by itself"),
            pids = ready(&mut chunks) => pids,
        }
    });
    (call, pids)
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("one")
}

#[test]
fn a_dropped_call_ends_its_program() {
    let runtime = runtime();
    let (call, pids) = ready_call(&runtime);
    drop(call);
    assert_gone(&pids);
}

#[test]
fn a_call_that_outlives_its_runtime_ends_its_program_when_it_is_dropped() {
    let runtime = runtime();
    let (call, pids) = ready_call(&runtime);
    drop(runtime);
    assert!(pids.iter().all(|it| support::is_alive(*it)), "nothing has ended it yet");
    thread::spawn(move || drop(call)).join().expect("a drop does not panic");
    assert_gone(&pids);
}

#[test]
fn a_started_program_ends_when_its_handle_is_dropped() {
    for runtime_first in [false, true] {
        let runtime = runtime();
        let (observer, mut chunks) = mpsc::channel(16);
        let (process, pids) = runtime.block_on(async {
            let options = RunOptions::new().observer(observer);
            let process = env().start(sh(FAMILY), options).await.expect("it starts");
            (process, ready(&mut chunks).await)
        });
        if runtime_first {
            drop(runtime);
            drop(process);
        } else {
            thread::spawn(move || drop(process)).join().expect("a drop does not panic");
        }
        assert_gone(&pids);
    }
}

#[test]
fn programs_end_with_their_runtime() {
    let runtime = runtime();
    let (observer, mut chunks) = mpsc::channel(16);
    let pids = runtime.block_on(async {
        tokio::spawn(async move {
            env().run_with(sh(FAMILY), RunOptions::new().observer(observer)).await
        });
        ready(&mut chunks).await
    });
    drop(runtime);
    assert_gone(&pids);
}

async fn echo(env: &ExecEnv) -> flyto_execenv::Process {
    let script = "echo err >&2; while read -r line; do echo \"got $line\"; done; exit 6";
    let spec = sh(script).stdin(Stdin::Piped).stdout(Output::Piped).grace(DEFAULT_GRACE);
    env.start(spec, RunOptions::new()).await.expect("it starts")
}

#[tokio::test]
async fn a_started_program_talks_and_says_how_it_ended() {
    let mut process = echo(&env()).await;
    let mut stdin = process.stdin.take().expect("it was asked for");
    let mut lines = BufReader::new(process.stdout.take().expect("it was asked for")).lines();
    assert!(process.stderr.is_none(), "stderr is captured");
    for word in ["a", "b"] {
        stdin.write_all(format!("{word}\n").as_bytes()).await.expect("it reads");
        let answer = lines.next_line().await.expect("a pipe");
        assert_eq!(answer, Some(format!("got {word}")));
    }
    drop(stdin);
    let outcome = process.wait().await.expect("it was watched");
    assert_eq!(outcome.ending, Ending::Exited(Exit::Code(6)));
    assert_eq!(&*outcome.stderr.bytes(), b"err\n");
    assert_eq!(outcome.stdout.total_bytes, 0, "the caller had it");
}

#[tokio::test]
async fn a_started_program_can_be_cancelled_and_signalled() {
    let mut process = echo(&env()).await;
    let mut rest = process.stdout.take().expect("it was asked for");
    process.cancel();
    let read = rest.read_to_end(&mut Vec::new()).await;
    assert_eq!(read.expect("a pipe"), 0);
    let outcome = process.wait().await.expect("it was watched");
    assert_eq!(outcome.ending, Ending::Cancelled);
    assert_eq!(outcome.exit, Some(Exit::Signal(Signal::TERM)));

    let mut process = echo(&env()).await;
    drop(process.stdout.take());
    // One that no program is started to ignore, as SIGHUP is by `nohup`.
    let alarm = Signal(14);
    process.signal(alarm, Target::Leader).expect("it is there");
    let outcome = process.wait().await.expect("it was watched");
    assert_eq!(outcome.ending, Ending::Exited(Exit::Signal(alarm)));
}

#[tokio::test]
async fn a_started_program_has_a_deadline() {
    let spec = sh("exec sleep 100").stdin(Stdin::Piped).deadline(Duration::from_millis(20));
    let process = env().start(spec, RunOptions::new()).await.expect("it starts");
    let outcome = process.wait().await.expect("it was watched");
    assert_eq!(outcome.ending, Ending::TimedOut);
}

#[tokio::test]
async fn a_signal_that_cannot_be_sent_is_refused_with_the_reason() {
    let process = env().start(sh("exec sleep 100"), RunOptions::new()).await.expect("it starts");
    let refused = |number| process.signal(Signal(number), Target::Tree).expect_err("it is refused");
    for number in [0, -1, 65, 1000] {
        assert_eq!(refused(number).kind(), ExecErrorKind::InvalidSpec, "{number}");
        assert!(refused(number).to_string().contains("no such signal"), "{number}");
    }
    #[cfg(target_os = "linux")]
    for number in [34, 64] {
        assert_eq!(refused(number).kind(), ExecErrorKind::Unsupported, "{number}");
        assert!(refused(number).to_string().contains("no real-time signals"), "{number}");
    }
}
