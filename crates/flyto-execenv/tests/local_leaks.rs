//! Ten thousand calls leave nothing behind: no process, zombie, descriptor, thread or file.
//!
//! The one test of its binary, so that everything it counts is its own.

#![cfg(all(unix, feature = "local"))]

mod support;

use std::{
    fs,
    num::NonZeroUsize,
    path::Path,
    time::{Duration, Instant},
};

use flyto_execenv::{Capture, Ending, ExecEnv, Exit, Output, RunOptions, Spec, local::Local};
use support::{GUARD, ready, sh};
use tokio::{sync::mpsc, task::JoinSet};
use tokio_util::sync::CancellationToken;

const CALLS: usize = 10_000;
const AT_ONCE: usize = 64;

#[derive(Debug, PartialEq, Eq)]
struct Counts {
    children: usize,
    descriptors: usize,
    threads: usize,
    files: usize,
}

impl Counts {
    fn now(dir: &Path) -> Self {
        let entries = |dir: &Path| fs::read_dir(dir).expect("a directory").count();
        // Zombies are children as well.
        let own = format!(" {} ", std::process::id());
        let is_child = |stat: String| {
            let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest).to_owned();
            // ` S ppid …`
            rest.get(2..).is_some_and(|it| it.starts_with(&own))
        };
        let children = fs::read_dir("/proc")
            .expect("proc(5)")
            .flatten()
            .filter_map(|it| fs::read_to_string(it.path().join("stat")).ok())
            .filter(|it| is_child(it.clone()))
            .count();
        Self {
            children,
            descriptors: entries(Path::new("/proc/self/fd")),
            threads: entries(Path::new("/proc/self/task")),
            files: entries(dir),
        }
    }
}

/// Two of three calls end by themselves; the others time out, are cancelled or are dropped.
async fn call(env: &ExecEnv, n: usize, dir: &Path) {
    let hanging = || sh("echo ready; exec sleep 100").working_dir(dir);
    let (observer, mut chunks) = mpsc::channel(4);
    match n % 9 {
        0 => {
            let spec = Spec::new("/bin/sleep").arg("100").working_dir(dir);
            let outcome = env.run(spec.deadline(Duration::from_millis(5))).await;
            assert_eq!(outcome.expect("it runs").ending, Ending::TimedOut);
        }
        3 => {
            let cancel = CancellationToken::new();
            let options = RunOptions::new().cancel(cancel.clone()).observer(observer);
            let watch = async {
                ready(&mut chunks).await;
                cancel.cancel();
            };
            let (outcome, ()) = tokio::join!(env.run_with(hanging(), options), watch);
            assert_eq!(outcome.expect("it runs").ending, Ending::Cancelled);
        }
        6 => tokio::select! {
            _ = env.run_with(hanging(), RunOptions::new().observer(observer)) => {
                panic!("it does not end by itself")
            }
            _ = ready(&mut chunks) => {}
        },
        7 => {
            let spill = dir.join(format!("spill-{n}"));
            let capture = Capture::limit(10).spill_to(&spill);
            let spec = Spec::new("/bin/echo").arg("x".repeat(100)).working_dir(dir);
            let outcome = env.run(spec.stdout(Output::Captured(capture))).await.expect("it runs");
            assert_eq!(outcome.stdout.whole(), Some(&*spill));
            fs::remove_file(&spill).expect("it is there");
        }
        8 => {
            let err = env.run(Spec::new("/no/such/program").stdin_bytes("x")).await;
            assert!(!err.expect_err("there is none").did_start());
        }
        _ => {
            let spec = Spec::new("/bin/true").working_dir(dir).stdin_bytes("input");
            let outcome = env.run(spec).await.expect("it runs");
            assert_eq!(outcome.ending, Ending::Exited(Exit::Code(0)));
        }
    }
}

async fn calls(env: &ExecEnv, n_calls: usize, dir: &Path) {
    let mut at_work = JoinSet::new();
    for n in 0..n_calls {
        if at_work.len() == AT_ONCE {
            at_work.join_next().await.expect("some are at work").expect("no call panics");
        }
        let (env, dir) = (env.clone(), dir.to_owned());
        at_work.spawn(async move { call(&env, n, &dir).await });
    }
    while let Some(joined) = at_work.join_next().await {
        joined.expect("no call panics");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_calls_leave_nothing_behind() {
    let dir = tempfile::tempdir().expect("a directory");
    let places = NonZeroUsize::new(AT_ONCE).expect("above zero");
    let env = ExecEnv::builder(Local::new()).max_in_flight(places).build();
    // What is there once and for all is there after a few calls.
    calls(&env, 2 * AT_ONCE, dir.path()).await;
    let settled = |expected: Option<&Counts>| {
        let give_up = Instant::now() + GUARD;
        loop {
            let now = Counts::now(dir.path());
            // Killed programs take a moment to be reaped.
            if expected.map_or(now.children == 0, |it| now == *it) || Instant::now() > give_up {
                return now;
            }
            std::thread::yield_now();
        }
    };
    let before = settled(None);
    calls(&env, CALLS, dir.path()).await;
    let after = settled(Some(&before));
    assert_eq!(after, before);
    assert_eq!((after.children, after.files), (0, 0));
}
