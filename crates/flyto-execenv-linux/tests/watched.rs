//! What a program could once do to those that watch over it.

#![cfg(supervised)]
#![forbid(unsafe_code)]

use std::{
    fs::{self, DirEntry},
    time::Duration,
};

use flyto_execenv::{
    Ending, ExecEnv, ExecErrorKind, Exit, KillScope, LimitKind, Limits, Outcome, Spec,
};
use flyto_execenv_linux::{KillMechanism, Linux};
use rustix::process::{Pid, Signal, kill_process};

/// A backstop for broken code; no test compares times.
const GUARD: Duration = Duration::from_secs(60);

fn tree(script: &str) -> Spec {
    Spec::new("/bin/sh")
        .args(["-c", script])
        .env_var("PATH", "/usr/bin:/bin")
        .kill(KillScope::Tree)
        .deadline(GUARD)
}

async fn run(spec: Spec) -> Outcome {
    ExecEnv::new(Linux::new()).run(spec).await.expect("it starts")
}

/// Processes with this text in their arguments.
fn alive(marker: &str) -> Vec<Pid> {
    let processes = fs::read_dir("/proc").expect("it is there").flatten();
    let has_marker = |it: &DirEntry| {
        let args = fs::read(it.path().join("cmdline")).unwrap_or_default();
        args.windows(marker.len()).any(|it| it == marker.as_bytes())
    };
    let number = |it: DirEntry| Pid::from_raw(it.file_name().to_str()?.parse().ok()?);
    processes.filter(has_marker).filter_map(number).collect()
}

#[tokio::test]
async fn a_cgroup_ends_with_its_call_also_when_its_supervisor_was_killed() {
    let Ok(linux) = Linux::with_mechanism(KillMechanism::Cgroup) else {
        // Control groups are the host's to make or not; other mechanisms promise less.
        assert_ne!(Linux::new().mechanism(), KillMechanism::Cgroup);
        return;
    };
    let marker = format!("8{}", std::process::id());
    let script = format!("setsid sleep {marker} & sleep {marker} & kill -9 $PPID; sleep {marker}");
    let res = ExecEnv::new(linux).run(tree(&script)).await;
    assert_eq!(res.expect_err("nobody knows how it ended").kind(), ExecErrorKind::Lost);
    // The kernel has killed them; they are gone once their parent has waited for them.
    let gone = async {
        while !alive(&marker).is_empty() {
            tokio::task::yield_now().await;
        }
    };
    let is_gone = tokio::time::timeout(GUARD, gone).await.is_ok();
    for pid in alive(&marker) {
        // What a broken backend leaves is not left to others.
        let _ = kill_process(pid, Signal::KILL);
    }
    assert!(is_gone, "{marker} is alive");
}

#[tokio::test]
async fn cpu_time_of_children_that_were_waited_for_counts_against_the_bound() {
    let script = "while :; do (i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done); done";
    let outcome = run(tree(script).limits(Limits::new().cpu_time(Duration::from_secs(1)))).await;
    assert_eq!(outcome.ending, Ending::LimitReached(LimitKind::CpuTime));
}

#[tokio::test]
async fn orphans_that_have_ended_leave_their_places_while_the_program_runs() {
    // Each round leaves an orphan that ends at once, more of them than there may be processes, and waits until nothing is
    // left of it.
    let script = "i=0; while [ $i -lt 200 ]; do p=$(true >/dev/null & echo $!) || exit 7; \
        while kill -0 $p 2>/dev/null; do :; done; i=$((i+1)); done";
    let outcome = run(tree(script).limits(Limits::new().processes(20))).await;
    assert_eq!(outcome.ending, Ending::Exited(Exit::Code(0)), "{outcome:?}");
}
