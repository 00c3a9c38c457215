//! Programs that are started before they are asked for.

#![cfg(all(unix, feature = "local"))]

mod short;
#[path = "../support/mod.rs"]
mod support;
mod unfit;

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use flyto_execenv::{
    Capture, Class, ColdStart, Ending, ExecEnv, ExecReadiness, Grants, Limits, Outcome, Output,
    PeakMemory, Policies, Policy, Ready, ReadyOptions, RunOptions, Spec, Usage, local::Local,
};
use support::{GUARD, assert_gone, is_alive, sh, text};
use tokio::task::yield_now;
use tokio_util::sync::CancellationToken;

fn env(options: ReadyOptions) -> ExecEnv {
    ExecEnv::builder(Local::new()).ready(options).build()
}

/// A script that says who it is once it has its input.
const ECHO: &str = "read -r line; echo $$ $line";

/// A script that may be started before its calls, and reads a line.
fn spec(script: &str, input: &str) -> Spec {
    sh(script).stdin_bytes(format!("{input}\n")).ready(Ready::new())
}

async fn call(env: &ExecEnv, script: &str, input: &str) -> Outcome {
    env.run(spec(script, input)).await.expect("it starts")
}

/// Waits until so many processes wait.
async fn until_waiting(env: &ExecEnv, processes: usize) {
    let waiting = async {
        while env.waiting_processes() != processes {
            yield_now().await;
        }
    };
    let found = || format!("{} wait, not {processes}", env.waiting_processes());
    tokio::time::timeout(GUARD, waiting).await.unwrap_or_else(|_| panic!("{}", found()));
}

/// The process id and the input that [`ECHO`] tells.
fn told(outcome: &Outcome) -> (u32, String) {
    let text = text(outcome);
    let (pid, line) = text.trim_end().split_once(' ').expect("two words");
    (pid.parse().expect("a process id"), line.to_owned())
}

fn is_ready(outcome: &Outcome) -> bool {
    matches!(outcome.readiness, ExecReadiness::Ready { .. })
}

#[tokio::test]
async fn each_process_serves_one_call() {
    let env = env(ReadyOptions::new());
    let first = call(&env, ECHO, "one").await;
    assert_eq!(first.readiness, ExecReadiness::Cold(ColdStart::NoneWaiting));
    let mut pids = vec![told(&first).0];
    for input in ["two", "three"] {
        until_waiting(&env, 1).await;
        let next = call(&env, ECHO, input).await;
        assert!(is_ready(&next) && next.success() && next.confirmed, "{next:?}");
        let (pid, line) = told(&next);
        assert_eq!(line, input);
        assert!(!pids.contains(&pid));
        pids.push(pid);
    }
    assert_gone(&pids);
}

#[tokio::test]
async fn a_spec_that_does_not_ask_starts_its_own() {
    let env = env(ReadyOptions::new());
    let not_asked = sh(ECHO).stdin_bytes("x\n");
    let nothing_to_read = sh("echo").ready(Ready::new());
    for spec in [not_asked, nothing_to_read] {
        let outcome = env.run(spec).await.expect("it starts");
        assert_eq!(outcome.readiness, ExecReadiness::NotAsked);
    }
    let none = self::env(ReadyOptions::new().processes(0));
    assert_eq!(call(&none, ECHO, "x").await.readiness, ExecReadiness::NotAsked);
    assert_eq!((env.waiting_processes(), none.waiting_processes()), (0, 0));
}

#[tokio::test]
async fn one_of_two_calls_at_once_gets_the_process_that_waits() {
    let env = env(ReadyOptions::new());
    call(&env, ECHO, "first").await;
    until_waiting(&env, 1).await;
    let (one, other) = tokio::join!(call(&env, ECHO, "one"), call(&env, ECHO, "other"));
    assert_eq!([&one, &other].map(is_ready), [true, false]);
    assert_eq!([&one, &other].map(|it| told(it).1), ["one", "other"]);
    // Two calls ran at once, so two processes wait.
    until_waiting(&env, 2).await;
    let (one, other) = tokio::join!(call(&env, ECHO, "one"), call(&env, ECHO, "other"));
    assert_eq!([&one, &other].map(is_ready), [true, true]);
}

#[tokio::test]
async fn another_spec_is_another_program() {
    let env = env(ReadyOptions::new());
    call(&env, ECHO, "x").await;
    until_waiting(&env, 1).await;
    let dir = tempfile::tempdir().expect("a directory");
    for other in [
        spec(ECHO, "x").env_var("A", "1"),
        spec(ECHO, "x").working_dir(dir.path()),
        spec(ECHO, "x").limits(Limits::new().output_bytes(1 << 20)),
        spec(ECHO, "x").grants(Grants::default().read("/srv")),
        spec(ECHO, "x").class(Class::EVOLVE),
    ] {
        let other = env.run(other).await.expect("it starts");
        assert_eq!(other.readiness, ExecReadiness::Cold(ColdStart::NoneWaiting));
    }
    // Under a stricter policy as well.
    let limits = Limits::new().output_bytes(1 << 10);
    let policies = Policies::new().class(Class::USER_HOOK, Policy::new().limits(limits));
    let outcome = env.narrowed_by(&policies).run(spec(ECHO, "x").class(Class::USER_HOOK)).await;
    assert_eq!(outcome.expect("it starts").readiness, ExecReadiness::Cold(ColdStart::NoneWaiting));
    // Deadline and capture are the call's own.
    let same = spec(ECHO, "x").deadline(GUARD / 2).stdout(Output::Captured(Capture::limit(4)));
    let same = env.run(same).await.expect("it starts");
    assert!(is_ready(&same) && same.stdout.head.len() + same.stdout.tail.len() == 4);
}

/// Writes a program, and waits until it is old enough to be trusted. The time of change of an inode cannot be set (stat(2)).
fn write_settled(path: &Path, text: &str) {
    support::write_executable(path, text);
    let changed = fs::metadata(path).and_then(|it| it.modified()).expect("it is there");
    while SystemTime::now() < changed + Duration::from_millis(200) {
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn a_file_that_has_changed_is_run_anew() {
    let dir = tempfile::tempdir().expect("a directory");
    let (program, library) = (dir.path().join("run"), dir.path().join("lib"));
    fs::write(&library, "echo old $line").expect("it is ours");
    write_settled(&program, "#!/bin/sh\nread -r line; . ./lib");
    let spec = || {
        let spec = Spec::new(program.as_os_str()).working_dir(dir.path()).deadline(GUARD);
        spec.stdin_bytes("x\n").ready(Ready::new().watch(dir.path()))
    };
    let env = env(ReadyOptions::new());
    env.run(spec()).await.expect("it starts");
    until_waiting(&env, 1).await;
    fs::write(&library, "echo new $line").expect("it is ours");
    let outcome = env.run(spec()).await.expect("it starts");
    assert_eq!(outcome.readiness, ExecReadiness::Cold(ColdStart::Changed(library)));
    assert_eq!(text(&outcome), "new x\n");
}

#[tokio::test]
async fn why_no_process_could_be_started_is_told_with_its_cause() {
    let dir = tempfile::tempdir().expect("a directory");
    let program = dir.path().join("run");
    write_settled(&program, "#!/bin/sh\nread -r line; mv \"$0\" \"$0.old\"");
    let env = env(ReadyOptions::new());
    let spec = || {
        let spec = Spec::new(program.as_os_str()).deadline(GUARD).env_var("PATH", "/usr/bin:/bin");
        spec.stdin_bytes("x\n").ready(Ready::new())
    };
    assert!(env.run(spec()).await.expect("it starts").success());
    // The call has moved it away, and what is started after the call finds none.
    let call = async {
        loop {
            fs::rename(program.with_extension("old"), &program).expect("it is there");
            match env.run(spec()).await.expect("it starts").readiness {
                ExecReadiness::Cold(ColdStart::NotStarted(why)) => return why,
                _ => yield_now().await,
            }
        }
    };
    let why = tokio::time::timeout(GUARD, call).await.expect("in time");
    assert!(why.starts_with("failed to start") && why.contains("No such file"), "{why}");
}

#[tokio::test]
async fn a_file_of_a_moment_ago_is_not_started_before() {
    let dir = tempfile::tempdir().expect("a directory");
    let (env, file) = (env(ReadyOptions::new()), dir.path().join("file"));
    fs::write(&file, "").expect("it is ours");
    // A time to come, whatever the clock of the file system says.
    let later = SystemTime::now() + Duration::from_secs(3600);
    fs::File::open(&file).and_then(|it| it.set_modified(later)).expect("it is ours");
    let spec = || spec(ECHO, "x").ready(Ready::new().watch(&file));
    for _ in 0..2 {
        let outcome = env.run(spec()).await.expect("it starts");
        assert_eq!(outcome.readiness, ExecReadiness::Cold(ColdStart::NoneWaiting));
        until_waiting(&env, 0).await;
    }
}

#[tokio::test]
async fn a_process_whose_files_change_ends_without_a_call() {
    let dir = tempfile::tempdir().expect("a directory");
    let library = dir.path().join("lib");
    write_settled(&library, "");
    let env = env(ReadyOptions::new());
    let spec = || spec(ECHO, "x").ready(Ready::new().watch(dir.path()));
    env.run(spec()).await.expect("it starts");
    until_waiting(&env, 1).await;
    fs::write(&library, "new").expect("it is ours");
    until_waiting(&env, 0).await;
    let why = env.run(spec()).await.expect("it starts").readiness;
    assert_eq!(why, ExecReadiness::Cold(ColdStart::Changed(library)));
}

#[tokio::test]
async fn a_time_without_an_end_is_one() {
    let env = env(ReadyOptions::new().idle(Duration::MAX));
    call(&env, ECHO, "x").await;
    until_waiting(&env, 1).await;
    assert!(is_ready(&call(&env, ECHO, "x").await));
}

#[tokio::test]
async fn what_it_printed_while_it_waited_is_output_of_the_call() {
    let env = env(ReadyOptions::new());
    let script = "echo loading; echo slowly >&2; read -r line; echo $line";
    for (n, input) in ["one", "two"].into_iter().enumerate() {
        let outcome = call(&env, script, input).await;
        assert_eq!(is_ready(&outcome), n > 0);
        assert_eq!(text(&outcome), format!("loading\n{input}\n"));
        assert_eq!(outcome.stderr.head, b"slowly\n");
        until_waiting(&env, 1).await;
    }
}

/// A script that writes down its process id before it reads.
fn tells(dir: &Path) -> String {
    format!("cd {dir:?}; echo $$ >new; mv new pid; {ECHO}")
}

/// The process id that a script wrote down.
async fn pid_of(dir: &Path, other_than: Option<u32>) -> u32 {
    let written = async {
        loop {
            let pid = fs::read_to_string(dir.join("pid")).ok();
            match pid.and_then(|it| it.trim().parse().ok()) {
                Some(pid) if Some(pid) != other_than => return pid,
                _ => yield_now().await,
            }
        }
    };
    tokio::time::timeout(GUARD, written).await.expect("it is written in time")
}

fn kill(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).expect("above zero");
    rustix::process::kill_process(pid, signal).expect("it is ours");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_process_that_was_stopped_while_it_waited_goes_on() {
    let dir = tempfile::tempdir().expect("a directory");
    let (env, script) = (env(ReadyOptions::new()), tells(dir.path()));
    let first = told(&call(&env, &script, "x").await).0;
    let waits = pid_of(dir.path(), Some(first)).await;
    until_waiting(&env, 1).await;
    kill(waits, rustix::process::Signal::STOP);
    let status = || fs::read_to_string(format!("/proc/{waits}/status")).expect("it is there");
    while !status().contains("State:\tT") {
        yield_now().await;
    }
    let next = call(&env, &script, "x").await;
    assert_eq!((told(&next).0, is_ready(&next)), (waits, true));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_process_that_was_not_stopped_gets_no_signal() {
    let env = env(ReadyOptions::new());
    let script = format!("trap 'echo resumed' CONT; {ECHO}");
    call(&env, &script, "x").await;
    until_waiting(&env, 1).await;
    let outcome = call(&env, &script, "x").await;
    assert!(is_ready(&outcome) && told(&outcome).1 == "x", "{outcome:?}");
}

#[tokio::test]
async fn deadline_and_cancellation_are_the_calls() {
    let env = env(ReadyOptions::new());
    let hangs = |input: &str| spec("read -r line; [ $line = end ] || exec sleep 1000", input);
    env.run(hangs("end")).await.expect("it starts");
    until_waiting(&env, 1).await;
    let outcome = env.run(hangs("go").deadline(Duration::from_millis(20))).await.expect("it runs");
    assert_eq!((outcome.ending, is_ready(&outcome)), (Ending::TimedOut, true));
    until_waiting(&env, 1).await;
    let cancel = CancellationToken::new();
    let call = env.run_with(hangs("go"), RunOptions::new().cancel(cancel.clone()));
    let (outcome, ()) = tokio::join!(call, async { cancel.cancel() });
    let outcome = outcome.expect("it runs");
    assert_eq!((outcome.ending, outcome.confirmed), (Ending::Cancelled, true));
}

#[tokio::test]
async fn with_the_handle_they_end_unasked() {
    let dir = tempfile::tempdir().expect("a directory");
    let (env, script) = (env(ReadyOptions::new()), tells(dir.path()));
    let script = format!("{script}; : >asked");
    let first = told(&call(&env, &script, "x").await).0;
    let waits = pid_of(dir.path(), Some(first)).await;
    until_waiting(&env, 1).await;
    fs::remove_file(dir.path().join("asked")).expect("the first call wrote it");
    drop(env);
    assert_gone(&[waits]);
    assert!(!dir.path().join("asked").exists(), "it took the end of its input for a call");
}

#[tokio::test]
async fn the_programs_that_were_called_last_are_kept() {
    let env = env(ReadyOptions::new().processes(2));
    let dirs = [(); 3].map(|()| tempfile::tempdir().expect("a directory"));
    let scripts = dirs.each_ref().map(|it| tells(it.path()));
    let mut waiting = Vec::new();
    for (dir, script) in dirs.iter().zip(&scripts) {
        let first = told(&call(&env, script, "x").await).0;
        waiting.push(pid_of(dir.path(), Some(first)).await);
    }
    until_waiting(&env, 2).await;
    // The one that was called least lately made room.
    assert_gone(&waiting[..1]);
    let readiness = call(&env, &scripts[0], "x").await.readiness;
    assert_eq!(readiness, ExecReadiness::Cold(ColdStart::NoneWaiting));
    until_waiting(&env, 2).await;
    assert!(is_ready(&call(&env, &scripts[2], "x").await));
}

#[tokio::test]
async fn a_process_waits_no_longer_than_it_may() {
    let dir = tempfile::tempdir().expect("a directory");
    let (env, script) =
        (env(ReadyOptions::new().idle(Duration::from_millis(50))), tells(dir.path()));
    // One whose time is over before it ran writes nothing, on a loaded machine.
    let attempt = Duration::from_secs(1);
    let waits = loop {
        let first = told(&call(&env, &script, "x").await).0;
        if let Ok(pid) = tokio::time::timeout(attempt, pid_of(dir.path(), Some(first))).await {
            break pid;
        }
    };
    until_waiting(&env, 0).await;
    assert_gone(&[waits]);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_time_of_its_start_is_told_apart() {
    let env = env(ReadyOptions::new());
    let script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo loaded >&2; read -r line";
    let cold = call(&env, script, "x").await.usage;
    assert_eq!(cold.startup_cpu, None);
    until_waiting(&env, 1).await;
    // One that was taken before it ran has used nothing.
    let startup = loop {
        let outcome = call(&env, script, "x").await;
        until_waiting(&env, 1).await;
        match outcome.usage {
            Usage { startup_cpu: Some(startup), .. } if !startup.is_zero() => break startup,
            _ => {}
        }
    };
    assert!(startup > Duration::ZERO && cold.cpu() > Some(Duration::ZERO));
    assert!(matches!(cold.peak_memory, PeakMemory::AtMost(_)));
}

#[tokio::test]
async fn what_is_being_started_is_gone_as_well() {
    for n_yields in 0..24 {
        let dir = tempfile::tempdir().expect("a directory");
        let env = env(ReadyOptions::new());
        let script = format!("cd {:?}; echo $$ >>pids; {ECHO}", dir.path());
        assert!(call(&env, &script, "x").await.success());
        // At each step of the start.
        for _ in 0..n_yields {
            yield_now().await;
        }
        env.stop_waiting().await;
        let pids = fs::read_to_string(dir.path().join("pids")).expect("the call wrote it");
        let pids: Vec<u32> = pids.lines().filter_map(|it| it.parse().ok()).collect();
        assert!(pids.iter().all(|it| !is_alive(*it)), "{pids:?} after {n_yields}");
        assert_eq!(env.waiting_processes(), 0);
    }
}

#[tokio::test]
async fn what_waits_can_be_ended() {
    let dir = tempfile::tempdir().expect("a directory");
    let (env, script) = (env(ReadyOptions::new()), tells(dir.path()));
    let first = told(&call(&env, &script, "x").await).0;
    let waits = pid_of(dir.path(), Some(first)).await;
    until_waiting(&env, 1).await;
    env.end_waiting();
    assert_gone(&[waits]);
    let next = call(&env, &script, "x").await;
    assert_eq!(next.readiness, ExecReadiness::Cold(ColdStart::NoneWaiting));
    until_waiting(&env, 1).await;

    // Of two handles, each has its own.
    let other = env.with_ready(ReadyOptions::new());
    assert_eq!((env.waiting_processes(), other.waiting_processes()), (1, 0));
    env.stop_waiting().await;
    for env in [&env, &other] {
        for _ in 0..2 {
            assert!(call(env, &script, "x").await.success());
        }
    }
    until_waiting(&other, 1).await;
    assert_eq!(env.waiting_processes(), 0);
}

#[tokio::test]
async fn after_a_call_that_ran_when_all_were_ended_none_is_started() {
    let dir = tempfile::tempdir().expect("a directory");
    let env = env(ReadyOptions::new());
    let does = "echo $$ >>pids; read -r line; mkfifo go; : >asked; cat go";
    let script = format!("cd {:?}; {does}", dir.path());
    let ends = async {
        while !dir.path().join("asked").exists() {
            yield_now().await;
        }
        env.end_waiting();
        fs::write(dir.path().join("go"), "").expect("it is read");
    };
    let (outcome, ()) = tokio::join!(call(&env, &script, "x"), ends);
    assert!(outcome.success(), "{outcome:?}");
    // This one's process is started after that of the other would have been.
    call(&env, ECHO, "x").await;
    until_waiting(&env, 1).await;
    assert!(is_ready(&call(&env, ECHO, "x").await));
    let pids = fs::read_to_string(dir.path().join("pids")).expect("the call wrote it");
    assert_eq!(pids.lines().count(), 1, "{pids}");
}

#[tokio::test]
async fn a_call_that_is_over_takes_no_process() {
    let env = env(ReadyOptions::new());
    call(&env, ECHO, "x").await;
    until_waiting(&env, 1).await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    let options = RunOptions::new().cancel(cancel);
    let outcome = env.run_with(spec(ECHO, "x"), options).await.expect("it is told");
    assert_eq!((outcome.ending, outcome.exit), (Ending::Cancelled, None));
    let outcome = env.run(spec(ECHO, "x").deadline(Duration::ZERO)).await;
    assert_eq!(outcome.expect("it is told").ending, Ending::TimedOut);
    assert_eq!(env.waiting_processes(), 1);
}
