//! Programs that are started before their calls, below supervisors.

#![cfg(supervised)]

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use flyto_execenv::{
    Capability, ColdStart, ExecEnv, ExecReadiness, Executor, Exit, Filesystem, Isolation,
    KillScope, Limits, Network, Outcome, Ready, ReadyOptions, Signal, Spec, Stdin, SystemCalls,
    Target,
};
use flyto_execenv_linux::Linux;
use tempfile::TempDir;
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
    let isolation = Isolation::new()
        .filesystem(Filesystem::Grants { read: system().collect(), write: [].into() })
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
    let filesystem =
        Filesystem::Grants { read: system().collect(), write: [granted.clone()].into() };
    let spec = spec("read -r line; echo $line").isolation(Isolation::new().filesystem(filesystem));
    served_ready(&env, &spec).await;
    until_waiting(&env, 1).await;
    fs::rename(&granted, granted.with_extension("old")).expect("it is ours");
    fs::create_dir(&granted).expect("it is ours");
    let err = env.run(spec).await.expect_err("another directory is granted");
    assert!(err.to_string().contains("another directory took its place"), "{err}");
}

/// What every shell needs to read.
fn system() -> impl Iterator<Item = PathBuf> {
    ["/bin", "/usr", "/lib", "/lib64", "/etc/ld.so.cache"].into_iter().map(Into::into)
}

/// A directory with this in it, for what is confined by paths, which is old enough that another change of it would show.
fn settled(dirs: &[&str]) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().canonicalize().expect("it is there");
    for dir in dirs {
        fs::create_dir(path.join(dir)).expect("it is ours");
    }
    let changed = fs::metadata(&path).and_then(|it| it.modified()).expect("it is there");
    while SystemTime::now() < changed + Duration::from_millis(200) {
        std::thread::yield_now();
    }
    (dir, path)
}

/// Checks that a process which waits serves no call after `change`, that this path is told as the reason, and that the
/// call's own process says `expect`; then, that the next call is served by one that waited.
async fn check_outdated(
    env: &ExecEnv,
    spec: Spec,
    change: impl FnOnce(),
    by: PathBuf,
    expect: &str,
) {
    served_ready(env, &spec).await;
    until_waiting(env, 1).await;
    change();
    let outcome = env.run(spec.clone()).await.expect("it starts");
    assert_eq!(outcome.readiness, ExecReadiness::Cold(ColdStart::Changed(by)));
    assert_eq!(text(&outcome), expect);
    until_waiting(env, 1).await;
    let outcome = env.run(spec).await.expect("it starts");
    assert!(matches!(outcome.readiness, ExecReadiness::Ready { .. }), "{outcome:?}");
    assert_eq!(text(&outcome), expect);
}

#[tokio::test]
async fn what_cannot_be_changed_is_what_is_there_at_the_call() {
    let linux = Linux::new();
    if !linux.capabilities().has(Capability::FilesystemReadOnly) {
        println!("skipped: this machine confines no programs");
        return;
    }
    let env = ExecEnv::builder(linux).ready(ReadyOptions::new()).build();
    let (_dir, project) = settled(&["sub"]);
    let (hooks, settings) = (project.join("hooks"), project.join("sub/settings"));
    let filesystem = Filesystem::Grants {
        read: system().collect(),
        write: [project.clone(), "/dev/null".into()].into(),
    };
    let isolation = Isolation::new().filesystem(filesystem).read_only(&hooks).read_only(&settings);
    let script = format!(
        "read -r line; cd {project:?}; for it in hooks/hook sub/settings; do \
         [ -e $it ] && ( echo $line >>$it ) 2>/dev/null && echo $it; done; :"
    );
    let spec = spec(&script).isolation(isolation);
    let make_hook = || {
        fs::create_dir(&hooks).expect("it is ours");
        fs::write(hooks.join("hook"), "ours\n").expect("it is ours");
    };
    check_outdated(&env, spec.clone(), make_hook, hooks.clone(), "").await;
    let make_settings = || fs::write(&settings, "ours\n").expect("it is ours");
    until_waiting(&env, 1).await;
    make_settings();
    let outcome = env.run(spec).await.expect("it starts");
    let why = ColdStart::Changed(settings.clone());
    assert_eq!(
        (outcome.readiness.clone(), text(&outcome)),
        (ExecReadiness::Cold(why), String::new())
    );
    for it in [hooks.join("hook"), settings] {
        assert_eq!(fs::read_to_string(it).expect("it is there"), "ours\n");
    }
}

#[tokio::test]
async fn what_lies_beside_a_denied_path_is_read_as_it_is_at_the_call() {
    let linux = Linux::new();
    let needed = [Capability::FilesystemGrants, Capability::FilesystemDenials];
    if !needed.iter().all(|it| linux.capabilities().has(*it)) {
        println!("skipped: this machine confines no programs");
        return;
    }
    let env = ExecEnv::builder(linux).ready(ReadyOptions::new()).build();
    let (_dir, home) = settled(&["keys"]);
    let filesystem = Filesystem::Grants {
        read: system().chain([home.clone()]).collect(),
        write: ["/dev/null".into()].into(),
    };
    let isolation = Isolation::new().filesystem(filesystem).deny(home.join("keys"));
    let script = format!("read -r line; cd /; cat {:?} 2>/dev/null; :", home.join("notes"));
    let make_notes = || fs::write(home.join("notes"), "new\n").expect("it is ours");
    check_outdated(&env, spec(&script).isolation(isolation), make_notes, home.clone(), "new\n")
        .await;
}

#[tokio::test]
async fn what_is_granted_is_what_is_there_at_the_call() {
    let linux = Linux::new();
    if !linux.capabilities().has(Capability::FilesystemGrants) {
        println!("skipped: this machine confines no programs");
        return;
    }
    let env = ExecEnv::builder(linux).ready(ReadyOptions::new()).build();
    let (_dir, project) = settled(&["granted"]);
    let granted = project.join("granted");
    let (file, notes) = (project.join("file"), granted.join("notes"));
    let read = system().chain([file.clone(), granted.clone()]).collect();
    let filesystem = Filesystem::Grants { read, write: ["/dev/null".into()].into() };
    let script = format!("read -r line; cd /; cat {file:?} {notes:?} 2>/dev/null; :");
    let spec = spec(&script).isolation(Isolation::new().filesystem(filesystem));
    let make = || fs::write(&file, "made\n").expect("it is ours");
    check_outdated(&env, spec.clone(), make, file.clone(), "made\n").await;
    let save = || {
        fs::write(project.join("new"), "saved\n").expect("it is ours");
        fs::rename(project.join("new"), &file).expect("it is ours");
    };
    let calls = |change: &dyn Fn(), expect: &'static str| {
        change();
        let (env, spec) = (&env, spec.clone());
        async move {
            let outcome = env.run(spec).await.expect("it starts");
            assert!(!matches!(outcome.readiness, ExecReadiness::Ready { .. }), "{outcome:?}");
            assert_eq!(text(&outcome), expect);
        }
    };
    calls(&save, "saved\n").await;
    let replace = || {
        fs::create_dir(project.join("next")).expect("it is ours");
        fs::write(project.join("next/notes"), "replaced\n").expect("it is ours");
        fs::rename(&granted, project.join("old")).expect("it is ours");
        fs::rename(project.join("next"), &granted).expect("it is ours");
    };
    calls(&replace, "saved\nreplaced\n").await;
}

#[tokio::test]
async fn what_it_left_is_ended_where_it_ended_before_its_call() {
    let env = env();
    let dir = tempfile::tempdir().expect("a directory");
    let leaves = "setsid sleep 1000 >/dev/null 2>&1 & echo $! >new; mv new pid";
    env.run(spec(&format!("cd {:?}; {leaves}", dir.path()))).await.expect("it starts");
    let pid = || fs::read_to_string(dir.path().join("pid")).expect("the call wrote it");
    let called = pid();
    let left = loop {
        match pid() {
            pid if pid != called => break pid,
            _ => yield_now().await,
        }
    };
    // The time that one may wait is not over, and no call comes.
    let gone = async {
        while Path::new("/proc").join(left.trim()).exists() {
            yield_now().await;
        }
    };
    tokio::time::timeout(GUARD, gone).await.expect("in time");
    until_waiting(&env, 0).await;
}

/// A call whose script does not find its file `called`, once it is known how the process before it ended; that, and what came of
/// the call.
async fn after_its_end(env: &ExecEnv, spec: &Spec, dir: &Path) -> (ColdStart, Outcome) {
    let calls = async {
        loop {
            until_waiting(env, 0).await;
            fs::remove_file(dir.join("called")).expect("a call made it");
            let outcome = env.run(spec.clone()).await.expect("it starts");
            match &outcome.readiness {
                ExecReadiness::Cold(ColdStart::NoneWaiting) => yield_now().await,
                ExecReadiness::Cold(why) => return (why.clone(), outcome),
                _ => panic!("it was taken for one that waits: {outcome:?}"),
            }
        }
    };
    tokio::time::timeout(GUARD, calls).await.expect("in time")
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
    let (why, outcome) = after_its_end(&env, &spec, dir.path()).await;
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
    let (why, outcome) = after_its_end(&env, &spec, dir.path()).await;
    assert!(why.is_unfit(), "{why}");
    assert_eq!(outcome.exit, Some(Exit::Code(0)));
}

#[tokio::test]
async fn a_bound_on_cpu_time_is_the_calls() {
    let linux = Linux::new();
    if !linux.capabilities().has(Capability::CpuLimit) {
        println!("skipped: no bound on CPU time here");
        return;
    }
    let env = ExecEnv::builder(linux).ready(ReadyOptions::new()).build();
    let dir = tempfile::tempdir().expect("a directory");
    // One that waits works, and works as long again in its call: each less than the bound, both together more.
    let work = "(ulimit -t 1; while :; do :; done) 2>/dev/null";
    let script = format!(
        "cd {:?}; [ -e called ] && {{ {work}; : >loaded; }}; : >called; read -r line; {work}; echo $line",
        dir.path()
    );
    let spec = spec(&script).limits(Limits::new().cpu_time(Duration::from_millis(1_500)));
    assert_eq!(text(&env.run(spec.clone()).await.expect("it starts")), "x\n");
    let loaded = async {
        while !dir.path().join("loaded").exists() || env.waiting_processes() == 0 {
            yield_now().await;
        }
    };
    tokio::time::timeout(GUARD, loaded).await.expect("in time");
    let outcome = env.run(spec).await.expect("it starts");
    assert!(matches!(outcome.readiness, ExecReadiness::Ready { .. }), "{outcome:?}");
    assert_eq!((outcome.exit, &*text(&outcome)), (Some(Exit::Code(0)), "x\n"), "{outcome:?}");
}

#[tokio::test]
async fn one_that_was_not_stopped_gets_no_signal() {
    let script = "trap 'echo resumed' CONT; read -r line; echo $line";
    assert_eq!(text(&served_ready(&env(), &spec(script)).await), "x\n");
}

#[tokio::test]
async fn one_that_was_stopped_while_it_waited_goes_on() {
    let dir = tempfile::tempdir().expect("a directory");
    let script = format!("cd {:?}; echo $$ >new; mv new pid; read -r line; echo $line", dir.path());
    let (env, spec) = (env(), spec(&script));
    let pid = || fs::read_to_string(dir.path().join("pid")).expect("the call wrote it");
    env.run(spec.clone()).await.expect("it starts");
    let called = pid();
    until_waiting(&env, 1).await;
    while pid() == called {
        yield_now().await;
    }
    let waits = pid().trim().parse().ok().and_then(rustix::process::Pid::from_raw);
    let stop = rustix::process::Signal::STOP;
    rustix::process::kill_process(waits.expect("a process id"), stop).expect("it is ours");
    let status = || fs::read_to_string(format!("/proc/{}/status", pid().trim()));
    while !status().expect("it is there").contains("State:\tT") {
        yield_now().await;
    }
    let outcome = env.run(spec).await.expect("it starts");
    assert!(matches!(outcome.readiness, ExecReadiness::Ready { .. }), "{outcome:?}");
    assert_eq!(text(&outcome), "x\n");
}
