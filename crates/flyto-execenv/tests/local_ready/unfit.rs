//! Processes that end, or are ended, while they wait, and programs that are given up.

use std::{fs, path::Path, time::Duration};

use flyto_execenv::{ColdStart, ExecEnv, ExecReadiness, Exit, Ready, ReadyOptions, Signal, Spec};
use tokio::task::yield_now;

use crate::{
    ECHO, call, env, is_ready, kill, pid_of, spec,
    support::{GUARD, is_alive},
    tells, told, until_waiting, write_settled,
};

#[tokio::test]
async fn a_program_that_writes_beside_itself_is_given_up() {
    let dir = tempfile::tempdir().expect("a directory");
    let (program, log) = (dir.path().join("run"), dir.path().join("log"));
    // It acts before it reads. The end of a call is later than the last change by more than the clock's step.
    write_settled(&program, "#!/bin/sh\necho $$ >>log; sleep 0.3; echo $$ >ran; echo done\n");
    fs::write(&log, "").expect("it is ours");
    let spec = || {
        let spec = Spec::new(program.as_os_str()).working_dir(dir.path()).deadline(GUARD);
        let spec = spec.env_var("PATH", "/usr/bin:/bin");
        spec.stdin_bytes("x\n").ready(Ready::new().watch(&log))
    };
    let env = env(ReadyOptions::new());
    let n_runs = || fs::read_to_string(&log).expect("it is there").lines().count();
    let (n_calls, _) = until_turned_off(&env, spec).await;
    assert_eq!(n_runs(), n_calls as usize + 3, "three acted before a call");
    for n_more in 1..=5 {
        let ExecReadiness::Cold(why) = env.run(spec()).await.expect("it starts").readiness else {
            panic!("it was served by a process that acted before");
        };
        assert!(matches!(why, ColdStart::TurnedOff(_)), "{why}");
        assert_eq!(n_runs(), n_calls as usize + 3 + n_more, "what a call writes is no edit");
    }
    // Another program gets a chance, whatever its files are.
    write_settled(&program, "#!/bin/sh\nread -r line; echo $line");
    env.run(spec()).await.expect("it starts");
    until_waiting(&env, 1).await;
    let next = env.run(spec()).await.expect("it starts");
    assert!(is_ready(&next), "{next:?}");
}

#[tokio::test]
async fn a_program_that_writes_beside_itself_within_its_call_is_kept() {
    let dir = tempfile::tempdir().expect("a directory");
    let log = dir.path().join("log");
    write_settled(&log, "");
    let env = env(ReadyOptions::new());
    let script = format!("read -r line; echo $line >> {log:?}; echo $line");
    let spec = || spec(&script, "x").ready(Ready::new().watch(dir.path()));
    for n_calls in 1..=5 {
        let outcome = env.run(spec()).await.expect("it starts");
        assert_eq!(is_ready(&outcome), n_calls > 1, "{outcome:?}");
        until_waiting(&env, 1).await;
    }
    assert_eq!(fs::read_to_string(&log).expect("written"), "x\n".repeat(5));
}

fn is_younger(file: &Path, age: Duration) -> bool {
    let changed = fs::metadata(file).and_then(|it| it.modified()).expect("it is there");
    changed.elapsed().is_ok_and(|it| it < age)
}

/// What a call says that is served by no process which waited.
async fn cold(env: &ExecEnv, spec: Spec) -> ColdStart {
    match env.run(spec).await.expect("it starts").readiness {
        ExecReadiness::Cold(why) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn edits_turn_no_program_off() {
    let dir = tempfile::tempdir().expect("a directory");
    let library = dir.path().join("lib");
    write_settled(&library, "0");
    let env = env(ReadyOptions::new());
    let spec = || spec(ECHO, "x").ready(Ready::new().watch(dir.path()));
    env.run(spec()).await.expect("it starts");
    for n_edits in 1..=8 {
        until_waiting(&env, 1).await;
        fs::write(&library, n_edits.to_string()).expect("it is ours");
        assert_eq!(cold(&env, spec()).await, ColdStart::Changed(library.clone()));
    }
    // From here on it is looked at what changes without a process, and that is found out.
    let calls = async {
        while !is_ready(&env.run(spec()).await.expect("it starts")) {
            yield_now().await;
        }
    };
    tokio::time::timeout(GUARD, calls).await.expect("in time");
    // Edits go on.
    for n_edits in 9..=40 {
        fs::write(&library, n_edits.to_string()).expect("it is ours");
        let why = cold(&env, spec()).await;
        assert!(!why.is_unfit(), "{why}");
        yield_now().await;
    }
}

#[tokio::test]
async fn one_edit_counts_once_however_many_wait() {
    let dir = tempfile::tempdir().expect("a directory");
    let library = dir.path().join("lib");
    write_settled(&library, "0");
    let env = env(ReadyOptions::new());
    let spec = || spec(ECHO, "x").ready(Ready::new().watch(dir.path()));
    let three = || async { tokio::join!(env.run(spec()), env.run(spec()), env.run(spec())) };
    three().await.0.expect("it starts");
    for n_edits in 1..=7 {
        until_waiting(&env, 3).await;
        fs::write(&library, n_edits.to_string()).expect("it is ours");
        let (one, two, other) = three().await;
        for outcome in [one, two, other] {
            let why = ExecReadiness::Cold(ColdStart::Changed(library.clone()));
            assert_eq!(outcome.expect("it starts").readiness, why);
        }
    }
    until_waiting(&env, 3).await;
    assert!(is_ready(&env.run(spec()).await.expect("it starts")));
}

#[tokio::test]
async fn a_program_that_writes_while_it_waits_is_given_up() {
    let dir = tempfile::tempdir().expect("a directory");
    let log = dir.path().join("log");
    write_settled(&log, "");
    let env = env(ReadyOptions::new());
    let script = "echo $$ >>log; read -r line; echo $line";
    let spec = || {
        let spec = spec(script, "x").working_dir(dir.path());
        spec.ready(Ready::new().watch(&log))
    };
    let n_runs = || fs::read_to_string(&log).expect("it is there").lines().count();
    let mut n_held_back = 0;
    let calls = async {
        loop {
            let before = n_runs();
            match cold(&env, spec()).await {
                ColdStart::TurnedOff(why) => return *why,
                ColdStart::HeldBack(_) => n_held_back += 1,
                ColdStart::NoneWaiting | ColdStart::Changed(_) | ColdStart::Unsettled => {}
                other => panic!("{other}"),
            }
            // The next call begins once a process has written that waits, or the call has been over for so long that most
            // likely none was to be started.
            let is_recent = || is_younger(&log, Duration::from_millis(400));
            while n_runs() < before + 2 && (env.waiting_processes() > 0 || is_recent()) {
                yield_now().await;
            }
        }
    };
    let why = tokio::time::timeout(GUARD, calls).await.expect("in time");
    assert_eq!(why, ColdStart::Changed(log.clone()));
    assert!(n_held_back >= 7, "{n_held_back} calls were made without one");
    // An edit between two calls gives it another try.
    let calls = async {
        while matches!(cold(&env, spec()).await, ColdStart::TurnedOff(_)) {
            yield_now().await;
            fs::write(&log, "edited").expect("it is ours");
        }
    };
    tokio::time::timeout(GUARD, calls).await.expect("in time");
    until_waiting(&env, 1).await;
}

/// Checks that a program is given up whose processes are not fit to wait. `script` writes its process id to `pid` once that can be
/// seen.
async fn check_useless(script: &str, expect: ColdStart) {
    let dir = tempfile::tempdir().expect("a directory");
    let (env, script) = (env(ReadyOptions::new()), format!("cd {:?}; {script}", dir.path()));
    let mut reasons = Vec::new();
    for _ in 0..4 {
        let ExecReadiness::Cold(why) = call(&env, &script, "x").await.readiness else {
            panic!("it was taken for one that waits: {script} {reasons:?}");
        };
        if why == ColdStart::TurnedOff(expect.clone().into()) {
            return assert_eq!(reasons, [ColdStart::NoneWaiting, expect.clone(), expect]);
        }
        reasons.push(why);
        let called = pid_of(dir.path(), None).await;
        pid_of(dir.path(), Some(called)).await;
        until_waiting(&env, 1).await;
        fs::remove_file(dir.path().join("pid")).expect("it is there");
    }
    panic!("it is not given up: {reasons:?}");
}

#[tokio::test]
async fn a_program_that_does_not_wait_is_not_kept() {
    let told = "echo $$ >new; mv new pid";
    let chatty = format!("head -c 65536 /dev/zero; {told}; read -r line");
    check_useless(&chatty, ColdStart::Printed).await;
    let mute = format!("exec >&- 2>&-; {told}; sleep 1000");
    let mute = format!("[ -e pid ] || {{ {told}; exit; }}; {mute}");
    check_useless(&mute, ColdStart::Closed).await;
}

/// Calls until the program is given up, each time when none of its processes is there that has not ended yet; the number of calls,
/// and why it was given up.
async fn until_turned_off(env: &ExecEnv, spec: impl Fn() -> Spec) -> (u32, ColdStart) {
    let calls = async {
        for n_calls in 1.. {
            match env.run(spec()).await.expect("it starts").readiness {
                ExecReadiness::Cold(ColdStart::TurnedOff(why)) => return (n_calls, *why),
                ExecReadiness::Cold(
                    ColdStart::NoneWaiting | ColdStart::Ended(_) | ColdStart::Changed(_),
                ) => until_waiting(env, 0).await,
                other => panic!("it was taken for one that waits: {other:?}"),
            }
        }
        unreachable!("the calls have no end")
    };
    tokio::time::timeout(GUARD, calls).await.expect("in time")
}

#[tokio::test]
async fn a_program_that_ends_before_it_reads_is_not_kept() {
    let dir = tempfile::tempdir().expect("a directory");
    let (env, script) =
        (env(ReadyOptions::new()), format!("cd {:?}; echo $$ >>pids; exit 3", dir.path()));
    let (n_calls, why) = until_turned_off(&env, || spec(&script, "x")).await;
    assert_eq!(why, ColdStart::Ended(Exit::Code(3)));
    let pids = fs::read_to_string(dir.path().join("pids")).expect("it wrote them");
    assert_eq!(pids.lines().count(), n_calls as usize + 3, "three were started before a call");
    assert_eq!(env.waiting_processes(), 0);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_program_that_works_for_longer_than_it_may_is_not_kept() {
    let dir = tempfile::tempdir().expect("a directory");
    let env = env(ReadyOptions::new());
    // The calls answer.
    let script = format!("cd {:?}; [ -e called ] && while :; do :; done; : >called", dir.path());
    let ready = Ready::new().cpu_time(Duration::from_millis(50));
    let mut reasons = Vec::new();
    while reasons.len() < 4 {
        let outcome = env.run(spec(&script, "x").ready(ready.clone())).await.expect("it starts");
        let ExecReadiness::Cold(why) = outcome.readiness else { panic!("it was kept") };
        reasons.push(why);
        if reasons.len() < 4 {
            until_waiting(&env, 1).await;
            until_waiting(&env, 0).await;
        }
        fs::remove_file(dir.path().join("called")).expect("the call made it");
    }
    let is_busy =
        |it: &ColdStart| matches!(it, ColdStart::Busy { cpu } if *cpu > Duration::from_millis(50));
    let [ColdStart::NoneWaiting, one, other, ColdStart::TurnedOff(last)] = &*reasons else {
        panic!("{reasons:?}")
    };
    assert!([one, other, &**last].into_iter().all(is_busy), "{reasons:?}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_process_that_has_worked_for_longer_than_it_may_serves_no_call() {
    let env = env(ReadyOptions::new());
    let ready = Ready::new().cpu_time(Duration::from_nanos(1));
    let calls = async {
        loop {
            let outcome = env.run(spec(ECHO, "x").ready(ready.clone())).await.expect("it starts");
            match outcome.readiness {
                ExecReadiness::Cold(ColdStart::Busy { .. }) => return,
                // One that was taken before it ran has used nothing.
                ExecReadiness::Ready { .. } | ExecReadiness::Cold(ColdStart::NoneWaiting) => {}
                other => panic!("{other:?}"),
            }
            until_waiting(&env, 1).await;
        }
    };
    tokio::time::timeout(GUARD, calls).await.expect("in time");
}

#[tokio::test]
async fn what_a_process_left_that_ended_before_its_call_is_ended_at_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let env = env(ReadyOptions::new());
    let leaves = "sleep 1000 >/dev/null 2>&1 & echo $! >new; mv new pid";
    call(&env, &format!("cd {:?}; {leaves}", dir.path()), "x").await;
    let called = pid_of(dir.path(), None).await;
    let left = pid_of(dir.path(), Some(called)).await;
    // The time that one may wait is not over, and no call comes.
    let gone = async {
        while is_alive(left) {
            yield_now().await;
        }
    };
    tokio::time::timeout(GUARD, gone).await.expect("in time");
    until_waiting(&env, 0).await;
}

#[tokio::test]
async fn a_process_that_was_killed_while_it_waited_serves_no_call() {
    let dir = tempfile::tempdir().expect("a directory");
    let (env, script) = (env(ReadyOptions::new()), tells(dir.path()));
    let first = told(&call(&env, &script, "x").await).0;
    let waits = pid_of(dir.path(), Some(first)).await;
    until_waiting(&env, 1).await;
    kill(waits, rustix::process::Signal::KILL);
    until_waiting(&env, 0).await;
    let next = call(&env, &script, "x").await;
    assert_eq!(next.readiness, ExecReadiness::Cold(ColdStart::Ended(Exit::Signal(Signal::KILL))));
    assert!(next.success());
}

/// A script with children that hold so many MiB each, before it reads.
fn holds(mib: u32, children: u32) -> String {
    let block = format!("x=$(head -c {} /dev/zero | tr '\\0' x)", mib << 20);
    let child = format!("( {block}; sleep 1000; : ) >/dev/null 2>&1 &");
    format!("for i in $(seq {children}); do {child} done; read -r line")
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn all_of_them_hold_no_more_memory_than_they_may() {
    const MIB: u64 = 1 << 20;
    let env = env(ReadyOptions::new().memory_bytes(48 * MIB));
    let [one, other] = ["", "; :"].map(|it| format!("{}{it}", holds(8, 4)));
    call(&env, &one, "x").await;
    call(&env, &other, "x").await;
    until_waiting(&env, 2).await;
    // Each is a tree of 32 MiB. The one that was called least lately goes.
    until_waiting(&env, 1).await;
    assert_eq!(call(&env, &one, "x").await.readiness, ExecReadiness::Cold(ColdStart::Memory));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_program_that_is_above_the_bound_is_given_up() {
    const MIB: u64 = 1 << 20;
    let env = env(ReadyOptions::new().memory_bytes(20 * MIB));
    call(&env, ECHO, "x").await;
    until_waiting(&env, 1).await;
    // No process of it is as large as the bound, all of them are larger.
    let script = holds(8, 4);
    for n in 0..4 {
        let ExecReadiness::Cold(why) = call(&env, &script, "x").await.readiness else {
            panic!("it was kept")
        };
        match (n, why) {
            (0, ColdStart::NoneWaiting) | (1 | 2, ColdStart::TooLarge { .. }) => {
                until_waiting(&env, 2).await;
                until_waiting(&env, 1).await;
            }
            (3, ColdStart::TurnedOff(_)) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(is_ready(&call(&env, ECHO, "x").await), "the others were not evicted");
}
