//! Hosts in an unusual state.

use std::thread;

use flyto_execenv::{Ending, ExecEnv, ExecErrorKind, Exit, KillScope, Spec};
use flyto_execenv_linux::{KillMechanism, Linux};
use nix::{
    errno::Errno,
    sys::{
        signal::SigSet,
        stat::{Mode, umask},
        wait::{WaitStatus, waitpid},
    },
    unistd::Pid,
};
use rustix::process::getpriority_process;

use crate::{
    fork,
    support::{Counts, alone, backends, children, runtime, sh, text},
};

#[test]
fn without_streams() {
    alone("state::without_streams", &[], || {
        for fd in 0..3 {
            nix::unistd::close(fd).expect("it is open");
        }
        let before = Counts::before();
        for (_, kill, linux) in backends() {
            let spec = sh("cat; echo warning >&2").stdin_bytes("input\n").kill(kill);
            let outcome = runtime().block_on(ExecEnv::new(linux).run(spec)).expect("it runs");
            // A panic is not shown here; its exit code tells of it.
            assert_eq!(&*outcome.stdout.bytes(), b"input\n");
            assert_eq!(&*outcome.stderr.bytes(), b"warning\n");
        }
        before.come_back();
    });
}

/// What calls come to where this host cannot wait for its children.
fn check_without_children() {
    for (mechanism, kill, linux) in backends() {
        let env = ExecEnv::new(linux);
        let runtime = runtime();
        for _ in 0..5 {
            let res = runtime.block_on(env.run(sh("echo hi; exit 3").kill(kill)));
            match res {
                Ok(outcome) => {
                    assert_eq!(outcome.ending, Ending::Exited(Exit::Code(3)), "{mechanism:?}");
                    assert_eq!(text(&outcome), "hi\n");
                }
                // It was a child of this process, and another part of it has its exit code.
                Err(err) => {
                    assert_eq!(
                        (mechanism, err.kind()),
                        (KillMechanism::Group, ExecErrorKind::Lost)
                    );
                }
            }
        }
        let leaver = sh("setsid sleep 60 > /dev/null 2>&1 & exit 3").kill(kill);
        if kill == KillScope::Tree {
            let outcome = runtime.block_on(env.run(leaver)).expect("it runs");
            assert_eq!((outcome.leaked, outcome.confirmed), (Some(1), true), "{mechanism:?}");
        }
    }
}

#[test]
fn that_ignores_the_end_of_children() {
    // What is ignored stays so when a program is executed.
    let ignoring = ["/bin/sh", "-c", r#"trap "" CHLD; exec "$0" "$@""#];
    alone("state::that_ignores_the_end_of_children", &ignoring, || {
        let before = Counts::before();
        check_without_children();
        before.come_back();
    });
}

#[test]
fn that_waits_for_whatever_child_there_is() {
    alone("state::that_waits_for_whatever_child_there_is", &[], || {
        let before = Counts::before();
        // It stays until the end of the process.
        thread::spawn(|| {
            loop {
                if waitpid(None, None) == Err(Errno::ECHILD) {
                    thread::yield_now();
                }
            }
        });
        check_without_children();
        Counts { threads: before.threads + 1, ..before }.come_back();
    });
}

#[test]
fn that_blocks_signals() {
    alone("state::that_blocks_signals", &[], || {
        SigSet::all().thread_block().expect("a full set is a set");
        let before = Counts::before();
        for (mechanism, kill, linux) in backends() {
            let env = ExecEnv::new(linux);
            let runtime = runtime();
            let spec = sh("grep SigBlk /proc/self/status").kill(kill);
            let outcome = runtime.block_on(env.run(spec)).expect("it runs");
            assert_eq!(text(&outcome), format!("SigBlk:\t{}\n", "0".repeat(16)), "{mechanism:?}");
            let hanging = sh("sleep 60").kill(kill).deadline(std::time::Duration::from_millis(20));
            let outcome = runtime.block_on(env.run(hanging)).expect("it runs");
            assert_eq!(
                (outcome.ending, outcome.confirmed),
                (Ending::TimedOut, true),
                "{mechanism:?}"
            );
        }
        before.come_back();
    });
}

#[test]
fn with_a_mask_and_a_priority() {
    alone("state::with_a_mask_and_a_priority", &["/usr/bin/nice", "-n", "7"], || {
        umask(Mode::from_bits_truncate(0o027));
        let own = getpriority_process(None).expect("this process is there");
        let before = Counts::before();
        for (mechanism, kill, linux) in backends() {
            let env = ExecEnv::new(linux);
            let runtime = runtime();
            let see = || sh("umask; nice").kill(kill);
            let outcome = runtime.block_on(env.run(see())).expect("it runs");
            assert_eq!(text(&outcome), format!("0027\n{own}\n"), "{mechanism:?}");
            // A supervisor is what it was when it was started; a child of this process is what this is.
            umask(Mode::from_bits_truncate(0o077));
            let outcome = runtime.block_on(env.run(see())).expect("it runs");
            let mask = if kill == KillScope::Tree { "0027" } else { "0077" };
            assert_eq!(text(&outcome), format!("{mask}\n{own}\n"), "{mechanism:?}");
            umask(Mode::from_bits_truncate(0o027));
        }
        before.come_back();
    });
}

#[test]
fn that_forks() {
    alone("state::that_forks", &[], || {
        let before = Counts::before();
        for (mechanism, kill, linux) in backends() {
            let env = ExecEnv::new(linux);
            let see = |env: &ExecEnv| {
                let outcome = runtime().block_on(env.run(sh("echo $PPID; exit 3").kill(kill)));
                let outcome = outcome.expect("it runs");
                assert_eq!((outcome.exit, outcome.confirmed), (Some(Exit::Code(3)), true));
                text(&outcome)
            };
            let first = see(&env);
            let supervisors = children();
            for uses in [false, true] {
                let theirs = env.clone();
                let ours = env.clone();
                let child = fork::child(move || {
                    if uses {
                        see(&theirs);
                    }
                    // Whatever this ends is ours, or nothing.
                    drop((theirs, ours));
                });
                assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0)), "{mechanism:?}");
                assert_eq!(
                    (children(), see(&env)),
                    (supervisors.clone(), first.clone()),
                    "{mechanism:?}"
                );
            }
        }
        before.come_back();
        assert_eq!(waitpid(Pid::from_raw(-1), None), Err(Errno::ECHILD));
    });
}

#[test]
fn that_forks_while_a_call_is_in_flight() {
    alone("state::that_forks_while_a_call_is_in_flight", &[], || {
        let before = Counts::before();
        let env = ExecEnv::new(Linux::new());
        runtime().block_on(async {
            let (observer, mut chunks) = tokio::sync::mpsc::channel(4);
            let options = flyto_execenv::RunOptions::new().observer(observer);
            let dir = tempfile::tempdir().expect("there is room");
            let fifo = dir.path().join("fifo");
            nix::unistd::mkfifo(&fifo, Mode::S_IRWXU).expect("it is new");
            let spec = sh("echo ready; cat fifo").working_dir(dir.path()).kill(KillScope::Tree);
            let call = env.run_with(spec, options);
            let watch = async {
                chunks.recv().await.expect("it says that it is ready");
                let theirs = env.clone();
                let child = fork::child(move || drop(theirs));
                assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0)));
                std::fs::write(&fifo, "more").expect("it is read");
            };
            let (outcome, ()) = tokio::join!(call, watch);
            assert_eq!(text(&outcome.expect("it runs")), "ready\nmore");
        });
        let again = Spec::new("/bin/true").kill(KillScope::Tree);
        assert!(runtime().block_on(env.run(again)).expect("it runs").success());
        drop(env);
        before.come_back();
    });
}
