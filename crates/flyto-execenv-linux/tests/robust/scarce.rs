//! Too much for the kernel, or too little left of something.

use std::fs;

use flyto_execenv::{ExecEnv, ExecError, ExecErrorKind, KillScope, Outcome, Spec};
use flyto_execenv_linux::Linux;
use rustix::process::{Resource, Rlimit, geteuid, getrlimit, setrlimit};
use tokio::task::JoinSet;

use crate::{
    ordinary::is_ordinary,
    support::{Counts, alone, backends, children, runtime},
};

/// The longest single argument or variable, with the NUL byte at its end: 32 pages (execve(2)).
const MAX_STRING: usize = 32 * 4096;

/// The room for all of them: a quarter of the stack, 6 MiB at most.
fn all_strings() -> usize {
    let stack = getrlimit(Resource::Stack).current.unwrap_or(u64::MAX);
    usize::try_from((stack / 4).min(6 << 20)).expect("it is short")
}

#[test]
fn arguments_and_variables_up_to_the_kernels_limit() {
    alone("scarce::arguments_and_variables_up_to_the_kernels_limit", &[], || {
        let before = Counts::before();
        // What is beside the strings: pointers, the program's name, what the kernel adds.
        let (under, over) = (all_strings() - (64 << 10), all_strings() + (64 << 10));
        let many = |bytes: usize| vec!["x".repeat(1023); bytes / (1024 + 8)];
        let variable = |bytes: usize| Spec::new("/bin/true").env_var("V", "x".repeat(bytes - 3));
        let good = [
            Spec::new("/bin/true").arg("x".repeat(MAX_STRING - 1)),
            variable(MAX_STRING),
            Spec::new("/bin/true").args(many(under)),
        ];
        let bad = [
            Spec::new("/bin/true").arg("x".repeat(MAX_STRING)),
            variable(MAX_STRING + 1),
            Spec::new("/bin/true").args(many(over)),
            Spec::new("/bin/true").args(many(10 * over)),
        ];
        for (mechanism, kill, linux) in backends() {
            let env = ExecEnv::new(linux);
            let runtime = runtime();
            let run = |spec: &Spec| runtime.block_on(env.run(spec.clone().kill(kill)));
            for (n, spec) in good.iter().enumerate() {
                let outcome = run(spec).unwrap_or_else(|err| panic!("{mechanism:?}, {n}: {err:?}"));
                assert!(outcome.success(), "{mechanism:?}, {n}: {outcome:?}");
            }
            let supervisors = children();
            for (n, spec) in bad.iter().enumerate() {
                let err = run(spec).expect_err("it is too long");
                let expected = (ExecErrorKind::TooLong, false);
                assert_eq!((err.kind(), err.did_start()), expected, "{mechanism:?}, {n}: {err:?}");
                assert_eq!(children(), supervisors, "{mechanism:?}, {n}");
            }
            assert!(run(&good[0]).expect("it runs").success(), "{mechanism:?}");
        }
        before.come_back();
    });
}

fn set(resource: Resource, soft: Option<u64>) -> Rlimit {
    let was = getrlimit(resource);
    setrlimit(resource, Rlimit { current: soft, ..was }).expect("it is below the hard limit");
    was
}

/// Some calls at once, each of which runs, or is told that there is no room. Says how many ran.
fn some_calls(env: &ExecEnv, kill: KillScope) -> usize {
    let check = |res: Result<Outcome, ExecError>| match res {
        Ok(outcome) => {
            assert!(outcome.success() && outcome.confirmed, "{outcome:?}");
            1
        }
        Err(err) => {
            assert_eq!((err.kind(), err.did_start()), (ExecErrorKind::Exhausted, false), "{err:?}");
            0
        }
    };
    runtime().block_on(async {
        let mut calls = JoinSet::new();
        for _ in 0..SOME {
            let env = env.clone();
            let spec = Spec::new("/bin/cat").stdin_bytes("x").kill(kill);
            calls.spawn(async move { env.run(spec).await });
        }
        let mut n = 0;
        while let Some(joined) = calls.join_next().await {
            n += check(joined.expect("no call panics"));
        }
        n
    })
}

const SOME: usize = 6;

/// There is room again. A supervisor that was started meanwhile has the limit of that time, and is given up
/// when it comes up against that; a call may be told so once for each of them.
#[track_caller]
fn recover(env: &ExecEnv, kill: KillScope) {
    let rounds = if kill == KillScope::Tree { SOME } else { 0 };
    let ran = (0..=rounds).map(|_| some_calls(env, kill)).find(|it| *it == SOME);
    assert_eq!(ran, Some(SOME), "there is room again");
}

#[test]
fn descriptors() {
    alone("scarce::descriptors", &[], || {
        let before = Counts::before();
        for (mechanism, kill, linux) in backends() {
            let env = ExecEnv::new(linux);
            let mut least = SOME;
            // From no room at all for a call to room for all of them.
            for room in (6..100).step_by(3) {
                let open = fs::read_dir("/proc/self/fd").expect("proc(5)").count() as u64;
                let was = set(Resource::Nofile, Some(open + room));
                least = least.min(some_calls(&env, kill));
                setrlimit(Resource::Nofile, was).expect("it is as it was");
                recover(&env, kill);
            }
            assert!(least < SOME, "{mechanism:?}: there is always room");
        }
        before.come_back();
    });
}

/// Processes and threads of this user.
fn n_tasks() -> u64 {
    use std::os::unix::fs::MetadataExt;
    let own = geteuid().as_raw();
    let processes = fs::read_dir("/proc").expect("proc(5)").flatten();
    let is_own = |it: &fs::DirEntry| it.metadata().is_ok_and(|it| it.uid() == own);
    let tasks = processes.filter(is_own).map(|it| fs::read_dir(it.path().join("task")));
    tasks.flatten().map(|it| it.count() as u64).sum()
}

#[test]
fn processes_of_an_ordinary_user() {
    let name = "scarce::processes_of_an_ordinary_user";
    if !runtime().block_on(is_ordinary(name)) {
        return;
    }
    for (mechanism, kill, linux) in backends() {
        let env = ExecEnv::new(linux);
        let mut least = SOME;
        for room in 0..2 * SOME as u64 {
            // No process is left of the calls before: supervisors that wait for the next one are counted.
            let was = set(Resource::Nproc, Some(n_tasks() + room));
            least = least.min(some_calls(&env, kill));
            setrlimit(Resource::Nproc, was).expect("it is as it was");
            recover(&env, kill);
        }
        assert!(least < SOME, "{mechanism:?}: there is always room");
    }
    // The thread that waits for supervisors to end is gone after the last of them.
    let alone =
        Linux::with_mechanism(flyto_execenv_linux::KillMechanism::Group).expect("it needs nothing");
    assert_eq!(some_calls(&ExecEnv::new(alone), KillScope::Group), SOME);
}
