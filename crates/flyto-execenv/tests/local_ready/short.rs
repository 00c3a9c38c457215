//! Starts that find too few processes, descriptors or memory while processes wait for other calls.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use flyto_execenv::{
    Capabilities, ColdStart, Control, Ended, Ending, ExecEnv, ExecError, ExecErrorKind, Executor,
    Exit, ReadyOptions, RunOptions, Running, Signal, Spec, StartFiles, Stdin, Target, local::Local,
};
use tokio::{sync::mpsc, task::yield_now};
use tokio_util::sync::CancellationToken;

use crate::{
    ECHO, call, env, pid_of,
    support::{GUARD, assert_gone, sh, text},
    tells, told, until_waiting,
};

/// When a backend tells that it is short of something.
#[derive(Debug, Clone, Copy)]
enum Told {
    AtTheStart,
    /// As a backend does that has another process start the program.
    Afterwards,
}

/// The backend of this machine, short of something for its next starts. What waits for a call is started all the same.
#[derive(Debug)]
struct Short {
    local: Local,
    told: Told,
    n_more: AtomicU32,
    n_starts: AtomicU32,
    /// Cancelled at the first such start.
    cancel: CancellationToken,
}

fn exhausted() -> ExecError {
    ExecError::new(ExecErrorKind::Exhausted, "start it")
}

#[async_trait]
impl Executor for Short {
    fn capabilities(&self) -> &Capabilities {
        self.local.capabilities()
    }

    fn start_files(&self, spec: &Spec) -> Result<StartFiles, ColdStart> {
        self.local.start_files(spec)
    }

    async fn start(&self, spec: Spec) -> Result<Running, ExecError> {
        if spec.ready.is_some() && spec.stdin == Stdin::Piped {
            return self.local.start(spec).await;
        }
        self.n_starts.fetch_add(1, Ordering::Relaxed);
        let less_one = |it: u32| it.checked_sub(1);
        if self.n_more.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less_one).is_err() {
            return self.local.start(spec).await;
        }
        self.cancel.cancel();
        match self.told {
            Told::AtTheStart => Err(exhausted()),
            Told::Afterwards => Ok(Running::new(NotStarted)),
        }
    }
}

/// A program that was not started after all.
#[derive(Debug)]
struct NotStarted;

#[async_trait]
impl Control for NotStarted {
    async fn wait(&self) -> Result<Exit, ExecError> {
        Err(exhausted())
    }

    fn signal(&self, _: Signal, _: Target) -> Result<(), ExecError> {
        Ok(())
    }

    async fn end(&self, _: Duration) -> Result<Ended, ExecError> {
        Err(exhausted())
    }
}

/// A backend that is short of something for so many starts, and a handle.
fn short(told: Told) -> (ExecEnv, Arc<Short>) {
    let (n_more, n_starts, cancel) = Default::default();
    let short = Arc::new(Short { local: Local::new(), told, n_more, n_starts, cancel });
    let env = ExecEnv::builder(Arc::clone(&short)).ready(ReadyOptions::new()).build();
    (env, short)
}

/// Has one process wait that tells its id in this directory; so many starts are short of something then.
async fn one_waits(env: &ExecEnv, dir: &Path, short: &Short, n_more: u32) -> u32 {
    let called = told(&call(env, &tells(dir), "x").await).0;
    let waits = pid_of(dir, Some(called)).await;
    until_waiting(env, 1).await;
    short.n_more.store(n_more, Ordering::Relaxed);
    short.n_starts.store(0, Ordering::Relaxed);
    waits
}

#[tokio::test]
async fn what_waits_is_ended_for_a_start_that_is_short() {
    for told in [Told::AtTheStart, Told::Afterwards] {
        for n_short in 0..=3 {
            let dir = tempfile::tempdir().expect("a directory");
            let (env, short) = short(told);
            let waits = one_waits(&env, dir.path(), &short, n_short).await;
            let (sender, mut chunks) = mpsc::channel(4);
            let run = env.run_with(sh("echo run"), RunOptions::new().observer(sender));
            let res = run.await;
            let n_starts = short.n_starts.load(Ordering::Relaxed);
            assert_eq!(n_starts, (n_short + 1).min(3), "{told:?}");
            if n_short == 0 {
                assert_eq!(env.waiting_processes(), 1, "{told:?}: it went for nothing");
            } else {
                assert_gone(&[waits]);
            }
            match res {
                Ok(outcome) => {
                    assert!(n_short < 3, "{told:?}");
                    assert_eq!(text(&outcome), "run\n", "{told:?}");
                    let seen = chunks.recv().await.expect("it was observed");
                    assert_eq!(&*seen.bytes, b"run\n", "{told:?}");
                }
                Err(err) => {
                    assert_eq!((n_short, err.kind()), (3, ExecErrorKind::Exhausted), "{told:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_start_that_is_short_where_none_waits_is_tried_once() {
    let (env, short) = short(Told::AtTheStart);
    short.n_more.store(1, Ordering::Relaxed);
    let err = env.run(sh("echo run")).await.expect_err("it is short");
    assert_eq!(err.kind(), ExecErrorKind::Exhausted);
    assert_eq!(short.n_starts.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_call_that_was_cancelled_is_not_tried_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let (env, short) = short(Told::AtTheStart);
    one_waits(&env, dir.path(), &short, 1).await;
    let options = RunOptions::new().cancel(short.cancel.clone());
    let outcome = env.run_with(sh("echo run"), options).await.expect("it was not started");
    assert_eq!(outcome.ending, Ending::Cancelled);
    assert_eq!(short.n_starts.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_program_that_stays_is_tried_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let (env, short) = short(Told::AtTheStart);
    let waits = one_waits(&env, dir.path(), &short, 2).await;
    let stays = env.start(sh("cat").stdin(Stdin::Piped), RunOptions::new()).await;
    drop(stays.expect("it starts at the third try"));
    assert_gone(&[waits]);
}

/// Where descriptors are few, in a process of its own, since the bound holds for all tests of this one.
#[tokio::test]
async fn what_waits_keeps_no_call_from_its_start() {
    const INSIDE: &str = "FLYTO_TEST_WITH_FEW_DESCRIPTORS";
    if std::env::var_os(INSIDE).is_none() {
        let own = std::env::current_exe().expect("it runs").into_os_string();
        let test = ["--exact", "short::what_waits_keeps_no_call_from_its_start", "--nocapture"];
        let bounded = sh("ulimit -n 40; exec \"$@\"").arg("sh").arg(own).args(test);
        let env = ExecEnv::new(Local::new());
        let outcome = env.run(bounded.env_var(INSIDE, "1")).await.expect("there is a shell");
        let [out, err] = [&outcome.stdout, &outcome.stderr].map(|it| it.bytes().to_vec());
        let said = [out, err].map(|it| String::from_utf8_lossy(&it).into_owned());
        assert!(outcome.success() && said[0].contains("1 passed"), "{said:?}");
        return;
    }
    let env = env(ReadyOptions::new());
    let most = async {
        let mut n_most = 0;
        for n in 0..24 {
            let script = format!("{ECHO}; : {n}");
            assert!(call(&env, &script, "x").await.success());
            let before = env.waiting_processes();
            // One more waits, unless there is nothing left for it.
            let more = async {
                while env.waiting_processes() <= before.min(7) {
                    yield_now().await;
                }
            };
            let _ = tokio::time::timeout(Duration::from_millis(100), more).await;
            n_most = n_most.max(env.waiting_processes());
        }
        n_most
    };
    let n_most = tokio::time::timeout(GUARD, most).await.expect("in time");
    assert!((1..8).contains(&n_most), "{n_most} waited: there were enough descriptors, or too few");
    // A program that stays needs them as well.
    let stays = sh("cat").stdin(Stdin::Piped);
    let process = env.start(stays, RunOptions::new()).await.expect("it starts");
    drop(process);
}
