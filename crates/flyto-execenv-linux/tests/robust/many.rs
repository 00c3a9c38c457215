//! Many calls: one after the other, at once, and on several runtimes.

use std::{num::NonZeroUsize, thread, time::Duration};

use flyto_execenv::{Ending, ExecEnv, Exit, KillScope, RunOptions, Spec};
use flyto_execenv_linux::Linux;
use tokio::{runtime::Builder, sync::mpsc, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::support::{Counts, alone, calls, children, n_alive, runtime, sh};

fn env(places: usize) -> ExecEnv {
    let places = NonZeroUsize::new(places).expect("some");
    ExecEnv::builder(Linux::new()).max_in_flight(places).build()
}

/// A third of the calls time out, are cancelled or are dropped; of the others one leaves a process behind.
/// The marker is a number of seconds.
async fn call(env: &ExecEnv, n: usize, marker: &str) {
    let kill = if n % 4 == 1 { KillScope::Group } else { KillScope::Tree };
    let hanging = sh(&format!("echo ready; exec sleep {marker}")).kill(kill);
    let (observer, mut chunks) = mpsc::channel(4);
    let options = RunOptions::new().observer(observer);
    match n % 9 {
        0 => {
            let outcome = env.run(hanging.deadline(Duration::from_millis(5))).await;
            assert_eq!(outcome.expect("it runs").ending, Ending::TimedOut);
        }
        3 => {
            let cancel = CancellationToken::new();
            let watch = async {
                chunks.recv().await.expect("it says that it is ready");
                cancel.cancel();
            };
            let call = env.run_with(hanging, options.cancel(cancel.clone()));
            let (outcome, ()) = tokio::join!(call, watch);
            let outcome = outcome.expect("it runs");
            assert_eq!((outcome.ending, outcome.confirmed), (Ending::Cancelled, true));
        }
        6 => tokio::select! {
            _ = env.run_with(hanging, options) => panic!("it does not end by itself"),
            _ = chunks.recv() => {}
        },
        7 => {
            let leaver = format!("setsid sleep {marker} > /dev/null 2>&1 & exit 3");
            let outcome = env.run(sh(&leaver).kill(KillScope::Tree)).await.expect("it runs");
            assert_eq!(outcome.ending, Ending::Exited(Exit::Code(3)));
            assert!(outcome.confirmed, "{outcome:?}");
        }
        8 => {
            let err = env.run(Spec::new("/no/such/program").stdin_bytes("x").kill(kill)).await;
            assert!(!err.expect_err("there is none").did_start());
        }
        _ => succeed(env, n, kill).await,
    }
}

async fn succeed(env: &ExecEnv, n: usize, kill: KillScope) {
    let input = format!("input {n}");
    let outcome = env.run(Spec::new("/bin/cat").stdin_bytes(input.clone()).kill(kill)).await;
    let outcome = outcome.expect("it runs");
    assert_eq!(outcome.ending, Ending::Exited(Exit::Code(0)));
    assert_eq!(&*outcome.stdout.bytes(), input.as_bytes());
}

#[test]
fn thousands_of_calls_leave_nothing() {
    alone("many::thousands_of_calls_leave_nothing", &[], || {
        const AT_ONCE: usize = 64;
        let before = Counts::before();
        let marker = format!("8{}", std::process::id());
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("threads");
        let env = env(AT_ONCE);
        runtime.block_on(async {
            let mut at_work = JoinSet::new();
            for n in 0..calls() {
                if at_work.len() == AT_ONCE {
                    at_work.join_next().await.expect("some are at work").expect("no call panics");
                }
                let (env, marker) = (env.clone(), marker.clone());
                at_work.spawn(async move { call(&env, n, &marker).await });
            }
            while let Some(joined) = at_work.join_next().await {
                joined.expect("no call panics");
            }
        });
        drop((env, runtime));
        before.come_back();
        assert_eq!(n_alive(&marker), 0);
    });
}

#[test]
fn five_hundred_calls_at_once_wait_for_their_places() {
    alone("many::five_hundred_calls_at_once_wait_for_their_places", &[], || {
        for places in [16, 512] {
            let before = Counts::before();
            let runtime = runtime();
            let env = env(places);
            runtime.block_on(async {
                let mut calls = JoinSet::new();
                for n in 0..512 {
                    let env = env.clone();
                    calls.spawn(async move { succeed(&env, n, KillScope::Tree).await });
                }
                while let Some(joined) = calls.join_next().await {
                    joined.expect("no call panics");
                }
            });
            // Supervisors, of which there was one for each place at most, and one for the probe.
            assert!(children().len() <= places.max(1), "{} children", children().len());
            drop((env, runtime));
            before.come_back();
        }
    });
}

#[test]
fn runtimes_share_a_backend() {
    alone("many::runtimes_share_a_backend", &[], || {
        let before = Counts::before();
        let marker = format!("8{}", std::process::id());
        let env = env(64);
        // One after the other: supervisors go from the event loop of one to that of the next.
        for round in 0..4 {
            let runtime = runtime();
            for n in 0..9 {
                runtime.block_on(call(&env, round * 9 + n, &marker));
            }
            // This one ends while calls are in flight.
            let (observer, mut chunks) = mpsc::channel(4);
            let (theirs, spec) = (env.clone(), sh(&format!("echo ready; exec sleep {marker}")));
            let options = RunOptions::new().observer(observer);
            let spec = spec.kill(KillScope::Tree);
            runtime.spawn(async move { theirs.run_with(spec, options).await });
            runtime.block_on(chunks.recv()).expect("it says that it is ready");
        }
        thread::scope(|scope| {
            for worker in 0..4 {
                let (env, marker) = (&env, &marker);
                scope.spawn(move || {
                    let runtime = runtime();
                    for n in 0..18 {
                        runtime.block_on(call(env, worker + n, marker));
                    }
                });
            }
        });
        drop(env);
        before.come_back();
        assert_eq!(n_alive(&marker), 0);
    });
}
