//! Ten thousand calls as children of the host leave nothing behind: no zombie, descriptor or thread.
//!
//! The one test of its binary, so that everything it counts is its own.

#![cfg(supervised)]

use std::{
    fs,
    time::{Duration, Instant},
};

use flyto_execenv::{Ending, ExecEnv, Exit, Spec};
use flyto_execenv_linux::{KillMechanism, Linux};
use tokio::task::JoinSet;

const CALLS: usize = 10_000;
const AT_ONCE: usize = 32;
/// A backstop for broken code; no test compares times.
const GUARD: Duration = Duration::from_secs(60);

/// Children, zombies among them; descriptors; threads.
fn counts() -> [usize; 3] {
    let own = std::process::id().to_string();
    let is_child = |stat: &str| {
        // `… (name) state ppid …`
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        rest.split_whitespace().nth(1) == Some(&own)
    };
    let entries = |dir: &str| fs::read_dir(dir).expect("proc(5)");
    let children = entries("/proc")
        .flatten()
        .filter_map(|it| fs::read_to_string(it.path().join("stat")).ok())
        .filter(|it| is_child(it))
        .count();
    [children, entries("/proc/self/fd").count(), entries("/proc/self/task").count()]
}

/// Most calls end by themselves; the others time out, are dropped, or do not start.
async fn call(env: &ExecEnv, n: usize) {
    let sleeping = || Spec::new("/bin/sleep").arg("100");
    match n % 8 {
        0 => {
            let outcome = env.run(sleeping().deadline(Duration::from_millis(5))).await;
            assert_eq!(outcome.expect("it runs").ending, Ending::TimedOut);
        }
        1 => {
            let dropped = tokio::time::timeout(Duration::from_millis(5), env.run(sleeping()));
            dropped.await.expect_err("it does not end by itself");
        }
        2 => {
            let err = env.run(Spec::new("/no/such/program").stdin_bytes("x")).await;
            assert!(!err.expect_err("there is none").did_start());
        }
        3 => {
            let err = env.run(Spec::new("/bin/true").working_dir("/no/such/dir")).await;
            assert!(!err.expect_err("there is none").did_start());
        }
        _ => {
            let outcome = env.run(Spec::new("/bin/cat").stdin_bytes("input")).await;
            let outcome = outcome.expect("it runs");
            assert_eq!(outcome.ending, Ending::Exited(Exit::Code(0)));
            assert_eq!(&*outcome.stdout.bytes(), b"input");
        }
    }
}

async fn calls(env: &ExecEnv, n_calls: usize) {
    let mut at_work = JoinSet::new();
    for n in 0..n_calls {
        if at_work.len() == AT_ONCE {
            at_work.join_next().await.expect("some are at work").expect("no call panics");
        }
        let env = env.clone();
        at_work.spawn(async move { call(&env, n).await });
    }
    while let Some(joined) = at_work.join_next().await {
        joined.expect("no call panics");
    }
}

/// Killed programs take a moment to be reaped, and the thread that reaps them one to end.
fn settled(is_settled: impl Fn([usize; 3]) -> bool) -> [usize; 3] {
    let give_up = Instant::now() + GUARD;
    loop {
        let now = counts();
        if is_settled(now) || Instant::now() > give_up {
            return now;
        }
        std::thread::yield_now();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_calls_leave_nothing_behind() {
    let linux = Linux::with_mechanism(KillMechanism::Group).expect("it needs nothing");
    let env = ExecEnv::new(linux);
    // What is there once and for all is there after a few calls.
    calls(&env, 2 * AT_ONCE).await;
    let before = settled(|it| it[0] == 0);
    assert_eq!(before[0], 0, "a child is left");
    calls(&env, CALLS).await;
    // Fewer are no leak: the thread that reaps may still have been there the first time.
    let none_more = |now: [usize; 3]| now.iter().zip(&before).all(|(now, before)| now <= before);
    let after = settled(none_more);
    assert!(none_more(after), "children, descriptors, threads: {before:?} before, {after:?} after");
}
