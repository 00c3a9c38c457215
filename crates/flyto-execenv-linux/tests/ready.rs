//! Programs that are started before their calls, below supervisors.

#![cfg(supervised)]

use std::{fs, path::Path, time::Duration};

use flyto_execenv::{
    Capability, ExecEnv, ExecReadiness, Executor, Exit, Filesystem, Isolation, KillScope, Limits,
    Network, Outcome, Ready, ReadyOptions, Signal, Spec, Stdin, SystemCalls, Target,
};
use flyto_execenv_linux::Linux;
use tokio::task::yield_now;

/// A backstop for broken code; no test compares times.
const GUARD: Duration = Duration::from_secs(60);

fn env() -> ExecEnv {
    ExecEnv::builder(Linux::new()).ready(ReadyOptions::new()).build()
}

/// A script that may be started before its calls, whose tree is ended.
fn spec(script: &str) -> Spec {
    Spec::new("/bin/sh")
        .args(["-c", script])
        .env_var("PATH", "/usr/bin:/bin")
        .kill(KillScope::Tree)
        .deadline(GUARD)
        .stdin_bytes("x\n")
        .ready(Ready::new())
}

fn text(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&outcome.stdout.bytes()).into_owned()
}

async fn until_waiting(env: &ExecEnv, processes: usize) {
    let waiting = async {
        while env.waiting_processes() != processes {
            yield_now().await;
        }
    };
    tokio::time::timeout(GUARD, waiting).await.expect("in time");
}

/// Calls twice; the second call is served by a process that waited.
async fn served_ready(env: &ExecEnv, spec: &Spec) -> Outcome {
    let cold = env.run(spec.clone()).await.expect("it starts");
    assert!(matches!(cold.readiness, ExecReadiness::Cold(_)), "{cold:?}");
    until_waiting(env, 1).await;
    let ready = env.run(spec.clone()).await.expect("it starts");
    assert!(matches!(ready.readiness, ExecReadiness::Ready { .. }), "{ready:?}");
    assert_eq!(ready.enforced, cold.enforced);
    assert_eq!(text(&ready), text(&cold));
    ready
}

#[tokio::test]
async fn what_it_leaves_behind_is_ended() {
    let env = env();
    let dir = tempfile::tempdir().expect("a directory");
    let script = format!(
        "read -r line; setsid sleep 1000 >/dev/null & echo $! >{:?}",
        dir.path().join("pid")
    );
    let outcome = served_ready(&env, &spec(&script)).await;
    assert!(outcome.success() && outcome.confirmed, "{outcome:?}");
    let left = fs::read_to_string(dir.path().join("pid")).expect("it wrote that");
    assert!(!Path::new("/proc").join(left.trim()).exists());
    assert!(outcome.usage.startup_cpu.is_some(), "{:?}", outcome.usage);
}

#[tokio::test]
async fn its_input_does_not_end_with_its_host() {
    let linux = Linux::new();
    let mut spec = spec("read -r line || echo ended");
    (spec.stdin, spec.deadline) = (Stdin::Piped, None);
    let mut running = linux.start(spec).await.expect("it starts");
    // As it goes where the host is killed.
    drop(running.stdin.take());
    let waited = tokio::time::timeout(Duration::from_millis(100), running.control.wait()).await;
    assert!(waited.is_err(), "it saw the end of its input: {waited:?}");
    // With the call it ends with what the caller writes.
    running.control.signal(Signal(18), Target::Tree).expect("it runs");
    assert_eq!(running.control.wait().await.expect("it is there"), Exit::Code(0));
    running.control.end(Duration::ZERO).await.expect("it is there");
}

#[tokio::test]
async fn it_waits_under_the_isolation_of_its_calls() {
    let linux = Linux::new();
    let needed =
        [Capability::FilesystemGrants, Capability::NetworkOff, Capability::SystemCallFilter];
    if !needed.iter().all(|it| linux.capabilities().has(*it)) {
        println!("skipped: this machine confines no programs");
        return;
    }
    let env = ExecEnv::builder(linux).ready(ReadyOptions::new()).build();
    let closed = tempfile::tempdir().expect("a directory");
    fs::write(closed.path().join("secret"), "it is read").expect("it is ours");
    let system = ["/bin", "/usr", "/lib", "/lib64", "/etc/ld.so.cache"].map(Into::into);
    let isolation = Isolation::new()
        .filesystem(Filesystem::Grants { read: system.into(), write: [].into() })
        .network(Network::Off)
        .system_calls(SystemCalls::Restricted);
    // It looks before it is asked, and after.
    let look = format!("cat {:?} 2>&1", closed.path().join("secret"));
    let script = format!("{look}; read -r line; {look}; echo $line");
    let outcome = served_ready(&env, &spec(&script).isolation(isolation)).await;
    assert!(!text(&outcome).contains("it is read"), "{}", text(&outcome));
    assert!(text(&outcome).ends_with("x\n"));
}

#[tokio::test]
async fn a_granted_directory_that_was_replaced_refuses_the_call() {
    let linux = Linux::new();
    if !linux.capabilities().has(Capability::FilesystemGrants) {
        println!("skipped: this machine confines no programs");
        return;
    }
    let env = ExecEnv::builder(linux).ready(ReadyOptions::new()).build();
    let dir = tempfile::tempdir().expect("a directory");
    let granted = dir.path().canonicalize().expect("it is there").join("granted");
    fs::create_dir(&granted).expect("it is ours");
    let system = ["/bin", "/usr", "/lib", "/lib64", "/etc/ld.so.cache"].map(Into::into);
    let filesystem = Filesystem::Grants { read: system.into(), write: [granted.clone()].into() };
    let spec = spec("read -r line; echo $line").isolation(Isolation::new().filesystem(filesystem));
    served_ready(&env, &spec).await;
    until_waiting(&env, 1).await;
    fs::rename(&granted, granted.with_extension("old")).expect("it is ours");
    fs::create_dir(&granted).expect("it is ours");
    let err = env.run(spec).await.expect_err("another directory is granted");
    assert!(err.to_string().contains("another directory took its place"), "{err}");
}

#[tokio::test]
async fn a_bound_ends_it_while_it_waits() {
    let linux = Linux::new();
    if !linux.capabilities().has(Capability::CpuLimit) {
        println!("skipped: no bound on CPU time here");
        return;
    }
    let env = ExecEnv::builder(linux).ready(ReadyOptions::new()).build();
    let dir = tempfile::tempdir().expect("a directory");
    // The first of them answers; the others work until the bound.
    let script = format!(
        "cd {:?}; [ -e called ] && {{ echo $$ >new; mv new pid; while :; do :; done; }}; \
         : >called; read -r line",
        dir.path()
    );
    let spec = spec(&script).limits(Limits::new().cpu_time(Duration::from_millis(300)));
    env.run(spec.clone()).await.expect("it starts");
    let pid = loop {
        match fs::read_to_string(dir.path().join("pid")) {
            Ok(pid) => break pid,
            Err(_) => yield_now().await,
        }
    };
    while Path::new("/proc").join(pid.trim()).exists() {
        yield_now().await;
    }
    fs::remove_file(dir.path().join("called")).expect("it is there");
    until_waiting(&env, 1).await;
    let outcome = env.run(spec).await.expect("it starts");
    let ExecReadiness::Cold(why) = &outcome.readiness else { panic!("{outcome:?}") };
    assert!(why.to_string().contains("was ended by signal"), "{why}");
    assert_eq!(outcome.exit, Some(Exit::Code(0)));
}

#[tokio::test]
async fn one_that_ran_out_of_memory_while_it_waited_serves_no_call() {
    let linux = Linux::new();
    if !linux.capabilities().has(Capability::MemoryLimit) {
        println!("skipped: no bound on memory here");
        return;
    }
    let env = ExecEnv::builder(linux).ready(ReadyOptions::new()).build();
    let dir = tempfile::tempdir().expect("a directory");
    // The first of them answers; the others fill their memory.
    let script = format!(
        "cd {:?}; [ -e called ] && {{ echo $$ >new; mv new pid; x=$(tr '\\0' x </dev/zero); }}; \
         : >called; read -r line",
        dir.path()
    );
    let spec = spec(&script).limits(Limits::new().memory_bytes(32 << 20));
    env.run(spec.clone()).await.expect("it starts");
    let pid = loop {
        match fs::read_to_string(dir.path().join("pid")) {
            Ok(pid) => break pid,
            Err(_) => yield_now().await,
        }
    };
    while Path::new("/proc").join(pid.trim()).exists() {
        yield_now().await;
    }
    fs::remove_file(dir.path().join("called")).expect("it is there");
    until_waiting(&env, 1).await;
    let outcome = env.run(spec).await.expect("it starts");
    let ExecReadiness::Cold(why) = &outcome.readiness else { panic!("{outcome:?}") };
    assert!(why.is_unfit(), "{why}");
    assert_eq!(outcome.exit, Some(Exit::Code(0)));
}
