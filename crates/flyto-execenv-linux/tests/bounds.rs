//! Bounds hold by each means that trees are ended by, for root and for an ordinary user.

#![cfg(supervised)]

#[path = "../src/ordinary.rs"]
mod ordinary;

use std::{io::Write, time::Duration};

use flyto_execenv::{
    Capability, Ending, ExecEnv, ExecErrorKind, Executor, Exit, KillScope, LimitKind, Limits,
    Outcome, Spec,
};
use flyto_execenv_linux::{KillMechanism, Linux};
use tokio::io::AsyncReadExt;

use self::ordinary::{GUARD, is_ordinary};

const MECHANISMS: [KillMechanism; 3] =
    [KillMechanism::Subreaper, KillMechanism::PidNamespace, KillMechanism::Cgroup];

fn sh(script: &str, limits: Limits) -> Spec {
    Spec::new("/bin/sh")
        .args(["-c", script])
        .env_var("PATH", "/usr/bin:/bin")
        .kill(KillScope::Tree)
        .limits(limits)
        .deadline(GUARD)
}

/// Runs a script by every means that works here and keeps such a bound.
async fn on_each(
    needs: Capability,
    script: &str,
    limits: &Limits,
) -> Vec<(KillMechanism, Outcome)> {
    let mut res = Vec::new();
    for mechanism in MECHANISMS {
        match Linux::with_mechanism(mechanism) {
            Ok(linux) if linux.capabilities().has(needs) => {
                let env = ExecEnv::new(linux);
                let outcome = env.run(sh(script, limits.clone())).await.expect("there is a shell");
                assert!(outcome.confirmed, "{mechanism:?}: {outcome:?}");
                // What was bounded for one program is not for the next.
                let next = env.run(sh(SLEEPERS, Limits::new())).await.expect("there is a shell");
                assert_eq!(
                    (next.success(), n_started(&next)),
                    (true, 20),
                    "{mechanism:?}: {next:?}"
                );
                res.push((mechanism, outcome));
            }
            Ok(linux) => {
                let env = ExecEnv::new(linux);
                let refused = env.run(sh(script, limits.clone())).await.expect_err("undeclared");
                assert_eq!(
                    refused.kind(),
                    ExecErrorKind::Unsupported,
                    "{mechanism:?}: {refused:?}"
                );
            }
            Err(err) => assert!(!err.to_string().is_empty(), "{mechanism:?}: {err:?}"),
        }
    }
    res
}

/// Starts twenty processes, and says of each one that it was started. A shell that cannot make one
/// gives up.
const SLEEPERS: &str =
    "n=0; while [ $n -lt 20 ]; do sleep 60 >/dev/null 2>&1 & n=$((n+1)); echo; done";

fn n_started(outcome: &Outcome) -> usize {
    outcome.stdout.bytes().len()
}

async fn cpu_time_is_bounded() {
    // The shell waits; its child is what computes.
    let script = "(while :; do :; done) & wait";
    let limits = Limits::new().cpu_time(Duration::from_millis(60));
    for (mechanism, outcome) in on_each(Capability::CpuLimit, script, &limits).await {
        assert_eq!(
            outcome.ending,
            Ending::LimitReached(LimitKind::CpuTime),
            "{mechanism:?}: {outcome:?}"
        );
    }
}

/// Perl: children that use 300 ms of CPU time each, one after the other, and that no process waits for. The shell
/// need not ignore SIGCHLD when it is told to.
const UNWAITED: &str = r#"exec perl -e '$SIG{CHLD} = "IGNORE";
    for (1 .. $ARGV[0]) {
        if (!fork) {
            my ($n, @times) = (0, 0, 0);
            while ($times[0] + $times[1] < 0.3) { $n++ for 1 .. 20_000; @times = times; }
            exit 0;
        }
        wait;
    }' "#;

async fn cpu_time_that_no_process_waits_for_is_bounded() {
    let limits = Limits::new().cpu_time(Duration::from_secs(1));
    for (mechanism, outcome) in
        on_each(Capability::CpuLimit, &format!("{UNWAITED} 20"), &limits).await
    {
        assert_eq!(
            outcome.ending,
            Ending::LimitReached(LimitKind::CpuTime),
            "{mechanism:?}: {outcome:?}"
        );
        let used = outcome.usage.cpu().expect("it is measured");
        assert!(used >= Duration::from_secs(1), "{mechanism:?}: {outcome:?}");
    }
}

/// Without a bound, the outcome tells all of it or says that it does not.
async fn cpu_time_that_no_process_waits_for_is_told() {
    for linux in MECHANISMS.into_iter().filter_map(|it| Linux::with_mechanism(it).ok()) {
        let (mechanism, capabilities) = (linux.mechanism(), linux.capabilities().clone());
        let env = ExecEnv::new(linux);
        // What one program used is not the next one's.
        for (n_children, at_most) in [(2, 60_000), (0, 500)] {
            let spec = sh(&format!("{UNWAITED} {n_children}"), Limits::new());
            let outcome = env.run(spec).await.expect("there is a shell");
            assert!(outcome.success(), "{mechanism:?}: {outcome:?}");
            let usage = outcome.usage;
            assert_eq!(
                usage.covers_tree,
                capabilities.has(Capability::TreeCpuUsage),
                "{mechanism:?}"
            );
            let used = usage.cpu().expect("it is measured");
            assert!(used < Duration::from_millis(at_most), "{mechanism:?}: {outcome:?}");
            let burnt = n_children * Duration::from_millis(300);
            assert!(!usage.covers_tree || used >= burnt, "{mechanism:?}: {outcome:?}");
        }
    }
}

/// A program that computes for the whole of its grace, in several processes: none of them comes to the bound
/// of a process before all have come to that of the tree.
async fn cpu_time_is_bounded_during_a_grace() {
    let script = "trap '' TERM XCPU
        for _ in 1 2 3 4; do (while :; do :; done) & done; echo; exec >/dev/null; wait";
    for linux in MECHANISMS.into_iter().filter_map(|it| Linux::with_mechanism(it).ok()) {
        let mechanism = linux.mechanism();
        let limits = Limits::new().cpu_time(Duration::from_secs(1));
        let mut running = linux.start(sh(script, limits)).await.expect("there is a shell");
        let mut stdout = running.stdout.take().expect("it is kept");
        stdout.read_u8().await.expect("it begins");
        let ended = running.control.end(GUARD).await.expect("it ends");
        assert_eq!(ended.limit, Some(LimitKind::CpuTime), "{mechanism:?}: {ended:?}");
        assert!(ended.confirmed, "{mechanism:?}: {ended:?}");
    }
}

async fn memory_is_bounded() {
    // tail(1) keeps what may be the last line, and this one does not end. Where the bound under test does
    // not hold, another one does.
    let script = "ulimit -v 1000000; exec tail -n 1 /dev/zero";
    let limits = Limits::new().memory_bytes(64 << 20);
    for (mechanism, outcome) in on_each(Capability::MemoryLimit, script, &limits).await {
        assert_eq!(
            outcome.ending,
            Ending::LimitReached(LimitKind::Memory),
            "{mechanism:?}: {outcome:?}"
        );
    }
}

/// Perl: 80 MiB in a file that has no name (memfd_create(2)), of which nothing is mapped.
const MEMFD: &str = r#"exec perl -e '
    my $name = "held"; my $fd = syscall(319, $name, 0);
    $fd >= 0 or exit 3;
    open(my $file, ">&=", $fd) or exit 3;
    for (1 .. 80) { syswrite($file, "x" x 1048576) or exit 3 }
    sleep 10;'"#;

/// Perl: 80 MiB in a System V segment, attached for an instant only. It prints the segment's number.
const SEGMENT: &str = r#"exec perl -e '
    $| = 1;
    my $id = shmget(0, 80 << 20, 0600) // exit 3;
    print $id;
    for (0 .. 79) { shmwrite($id, "x" x 1048576, $_ << 20, 1048576) or exit 3 }
    sleep 10;'"#;

/// 80 MiB in /dev/shm, in a file that is open.
const SHARED_FILE: &str =
    "file=$(mktemp /dev/shm/flyto-bounds-XXXXXX) && exec 3>$file || exit 3; rm $file
    head -c 83886080 /dev/zero >&3; exec sleep 10";

/// Memory that no process has mapped counts as well.
async fn memory_in_files_is_bounded() {
    let limits = Limits::new().memory_bytes(50 << 20);
    for script in [MEMFD, SEGMENT, SHARED_FILE] {
        for (mechanism, outcome) in on_each(Capability::MemoryLimit, script, &limits).await {
            let segment = String::from_utf8_lossy(&outcome.stdout.bytes()).into_owned();
            if !segment.is_empty() {
                // It outlives its call.
                let remove = format!("exec perl -e 'shmctl({segment}, 0, 0)'");
                let env =
                    ExecEnv::new(Linux::with_mechanism(mechanism).expect("it has just worked"));
                env.run(sh(&remove, Limits::new())).await.expect("there is a shell");
            }
            assert_eq!(
                outcome.ending,
                Ending::LimitReached(LimitKind::Memory),
                "{mechanism:?}: {script}: {outcome:?}"
            );
        }
    }
}

/// A file in memory that was there before the call is not the call's, and one that several processes have open
/// counts once.
async fn memory_of_files_counts_once_and_for_its_owner() {
    let limits = Limits::new().memory_bytes(100 << 20);
    let mut before =
        tempfile::NamedTempFile::new_in("/dev/shm").expect("there is a file system in memory");
    before.write_all(&vec![1; 120 << 20]).expect("there is room");
    let script = r#"perl -e '
        my $name = "held"; my $fd = syscall(319, $name, 0);
        open(my $file, ">&=", $fd) or exit 3;
        for (1 .. 40) { syswrite($file, "x" x 1048576) or exit 3 }
        $^F = 1000; open(my $kept, ">&", $file) or exit 3;
        for (1 .. 2) { (fork // exit 3) or last }
        select(undef, undef, undef, 0.2);
        1 while wait > 0;'"#;
    for (mechanism, outcome) in on_each(Capability::MemoryLimit, script, &limits).await {
        assert!(outcome.success(), "{mechanism:?}: {outcome:?}");
    }
    let script = format!("exec 3<{}; head -c 1 <&3; sleep 0.2", before.path().display());
    for mechanism in MECHANISMS {
        let Ok(linux) = Linux::with_mechanism(mechanism) else { continue };
        let spec = sh(&script, limits.clone());
        let outcome = ExecEnv::new(linux).run(spec).await.expect("there is a shell");
        assert!(outcome.success(), "{mechanism:?}: {outcome:?}");
    }
}

/// A supervisor that keeps a bound ends the tree, also of a program that asked for less, and says so.
async fn a_stronger_end_than_was_asked_for_is_told() {
    // The line comes from the process that has left the session.
    let script = "(setsid sh -c 'echo; exec sleep 60 >/dev/null 2>&1' &) | read -r line";
    for linux in MECHANISMS.into_iter().filter_map(|it| Linux::with_mechanism(it).ok()) {
        let mechanism = linux.mechanism();
        let env = ExecEnv::new(linux);
        for kill in [KillScope::Leader, KillScope::Group] {
            let limits = Limits::new().cpu_time(GUARD);
            let outcome = env.run(sh(script, limits).kill(kill)).await.expect("there is a shell");
            assert!(outcome.enforced.contains(&Capability::TreeKill), "{mechanism:?}: {outcome:?}");
            assert_eq!(
                (outcome.leaked, outcome.confirmed),
                (Some(1), true),
                "{mechanism:?}: {outcome:?}"
            );

            let outcome =
                env.run(sh(":", Limits::new()).kill(kill)).await.expect("there is a shell");
            assert!(
                !outcome.enforced.contains(&Capability::TreeKill),
                "{mechanism:?}: {outcome:?}"
            );
        }
    }
}

async fn processes_are_bounded() {
    let limits = Limits::new().processes(10);
    for (mechanism, outcome) in on_each(Capability::ProcessLimit, SLEEPERS, &limits).await {
        let is_told = matches!(
            outcome.ending,
            Ending::LimitReached(LimitKind::Processes) | Ending::Exited(Exit::Code(1..))
        );
        assert!(is_told && n_started(&outcome) < 20, "{mechanism:?}: {outcome:?}");
    }
}

async fn size_of_files_is_bounded() {
    let dir = tempfile::tempdir().expect("there is room");
    let script = format!("exec head -c 2000 /dev/zero > {}/file", dir.path().display());
    let limits = Limits::new().file_size_bytes(1_000);
    for (mechanism, outcome) in on_each(Capability::FileSizeLimit, &script, &limits).await {
        assert_eq!(
            outcome.ending,
            Ending::LimitReached(LimitKind::FileSize),
            "{mechanism:?}: {outcome:?}"
        );
    }
}

async fn open_files_are_bounded() {
    let script = "exec 3</dev/null 4</dev/null 5</dev/null 6</dev/null";
    let limits = Limits::new().open_files(6);
    for (mechanism, outcome) in on_each(Capability::OpenFilesLimit, script, &limits).await {
        assert!(!outcome.success(), "{mechanism:?}: {outcome:?}");
    }
}

macro_rules! for_both {
    ($($name:ident,)*) => {
        mod this_user {
            $(#[tokio::test]
            async fn $name() {
                super::$name().await;
            })*
        }

        mod ordinary_user {
            $(#[tokio::test]
            async fn $name() {
                if super::is_ordinary(concat!("ordinary_user::", stringify!($name))).await {
                    super::$name().await;
                }
            })*
        }
    };
}

for_both! {
    cpu_time_is_bounded,
    cpu_time_that_no_process_waits_for_is_bounded,
    cpu_time_that_no_process_waits_for_is_told,
    cpu_time_is_bounded_during_a_grace,
    a_stronger_end_than_was_asked_for_is_told,
    memory_is_bounded,
    memory_in_files_is_bounded,
    memory_of_files_counts_once_and_for_its_owner,
    processes_are_bounded,
    size_of_files_is_bounded,
    open_files_are_bounded,
}
