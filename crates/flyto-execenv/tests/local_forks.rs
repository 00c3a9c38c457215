//! Starting a program never forks this process, whatever the spec: the cost of a fork grows with the
//! host's memory.
//!
//! The one test of its binary, since it counts the forks of the whole process.

#![cfg(all(unix, feature = "local"))]

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};

use flyto_execenv::{ExecErrorKind, KillScope, Output, RunOptions, Spec, Stdin};
use support::{env, write_executable};

static FORKS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn before_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

fn forks() -> usize {
    FORKS.load(Ordering::Relaxed)
}

/// Counts from here on every fork(2) that goes through the C library; posix_spawn(3) does not.
fn count_forks() {
    // SAFETY: The handler is a function of the right type that lives as long as the program, and it
    // does nothing but an atomic addition, which is allowed between fork and exec.
    let res = unsafe { libc::pthread_atfork(Some(before_fork), None, None) };
    assert_eq!(res, 0);
}

/// Forks, and waits for the child, which ends at once.
fn fork_once() {
    // SAFETY: The child calls nothing but `_exit`, which is async-signal-safe, as fork(2) demands of a
    // process with threads.
    let pid = unsafe {
        match libc::fork() {
            0 => libc::_exit(0),
            pid => pid,
        }
    };
    assert!(pid > 0);
    let mut status = 0;
    // SAFETY: `status` is a valid place for an integer, and `pid` is our own unreaped child.
    let reaped = unsafe { libc::waitpid(pid, &mut status, 0) };
    assert_eq!((reaped, status), (pid, 0));
}

/// Specs of every shape: each way to name a program, each kind of stream, each scope.
fn specs(dir: &std::path::Path) -> Vec<Spec> {
    write_executable(&dir.join("script"), "#!/bin/sh\nexit 0\n");
    let programs = || {
        [
            Spec::new("/bin/true"),
            Spec::new("true").env_var("PATH", "/bin:/usr/bin"),
            Spec::new("./script").working_dir(dir),
            Spec::new("script").working_dir(dir).env_var("PATH", "."),
        ]
    };
    let streams: [fn(Spec) -> Spec; 6] = [
        |it| it,
        |it| it.stdin_bytes("small").stderr(Output::Null),
        |it| it.stdin_bytes(vec![b'x'; 1 << 20]).stdout(Output::Null),
        |it| it.merge_stderr(),
        |it| it.stdout(Output::Null).merge_stderr(),
        |it| it.args(["a", "b"]).env_var("A", "1"),
    ];
    let mut res = Vec::new();
    for scope in [KillScope::Leader, KillScope::Group] {
        for shape in streams {
            res.extend(programs().map(|it| shape(it.kill(scope))));
        }
    }
    res
}

#[tokio::test]
async fn no_spec_forks_this_process() {
    count_forks();
    let dir = tempfile::tempdir().expect("a directory");
    let env = env();
    let mut n_calls = 0;
    for _ in 0..2 {
        for spec in specs(dir.path()) {
            let shown = format!("{spec:?}");
            assert!(env.run(spec).await.expect("it runs").success(), "{shown}");
            n_calls += 1;
        }
        let talking = Spec::new("/bin/cat").stdin(Stdin::Piped).stdout(Output::Piped);
        let mut process = env.start(talking, RunOptions::new()).await.expect("it starts");
        drop((process.stdin.take(), process.stdout.take()));
        assert!(process.wait().await.expect("it was watched").success());
        let refused = [
            (Spec::new("/no/such/program"), ExecErrorKind::ProgramNotFound),
            (Spec::new(dir.path()), ExecErrorKind::IsDirectory),
            (Spec::new("/bin/true").working_dir("/no/such"), ExecErrorKind::BadWorkingDir),
        ];
        for (spec, kind) in refused {
            assert_eq!(env.run(spec).await.expect_err("it cannot start").kind(), kind);
        }
        n_calls += 4;
    }
    assert!(n_calls >= 100, "{n_calls} calls");
    assert_eq!(forks(), 0);

    // The counter counts.
    fork_once();
    assert_eq!(forks(), 1);
}
