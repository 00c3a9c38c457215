//! Calls that are over before they start, listeners that do not listen, programs that stop in their
//! grace.

#![cfg(all(unix, feature = "local"))]

use std::time::Duration;

use flyto_execenv::{Ending, ExecEnv, Exit, RunOptions, Spec, local::Local};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

fn sh(script: &str) -> Spec {
    Spec::new("/bin/sh").args(["-c", script]).env_var("PATH", "/usr/bin:/bin")
}

#[tokio::test]
async fn a_call_that_is_over_starts_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let env = ExecEnv::new(Local::new());
    let touch = || sh("touch ran").working_dir(dir.path());

    let late = env.run(touch().deadline(Duration::ZERO)).await.expect("an outcome");
    assert_eq!((late.ending, late.exit), (Ending::TimedOut, None));

    let token = CancellationToken::new();
    token.cancel();
    let options = RunOptions::new().cancel(token);
    let cancelled = env.run_with(touch(), options).await.expect("an outcome");
    assert_eq!((cancelled.ending, cancelled.exit), (Ending::Cancelled, None));

    assert!(!dir.path().join("ran").exists());
}

#[tokio::test]
async fn an_observer_that_does_not_listen_is_no_held_pipe() {
    let env = ExecEnv::new(Local::new());
    // One chunk finds room, the other waits for a listener until the drain time is over.
    let (observer, _unread) = mpsc::channel(1);
    let spec = sh("echo one; echo two >&2; exit 4");
    let outcome = env.run_with(spec, RunOptions::new().observer(observer)).await.expect("it ran");
    assert_eq!(outcome.ending, Ending::Exited(Exit::Code(4)));
    assert!(!outcome.pipe_held);
    assert_eq!(outcome.leaked, Some(0));
}

#[tokio::test]
async fn what_stops_itself_in_its_grace_is_woken() {
    let env = ExecEnv::new(Local::new());
    // The handler stops the shell, after the first SIGCONT has come and gone.
    let spec = sh("trap 'kill -STOP $$; echo bye; exit 3' TERM; echo ready; \
                   while :; do sleep 1 & wait $!; done")
    .grace(Duration::from_secs(60));
    let (observer, mut chunks) = mpsc::channel(16);
    let cancel = CancellationToken::new();
    let options = RunOptions::new().cancel(cancel.clone()).observer(observer);
    let (outcome, ()) = tokio::join!(env.run_with(spec, options), async {
        chunks.recv().await.expect("it says that it is ready");
        cancel.cancel();
        while chunks.recv().await.is_some() {}
    });
    let outcome = outcome.expect("it ran");
    assert_eq!((outcome.ending, outcome.exit), (Ending::Cancelled, Some(Exit::Code(3))));
    assert_eq!(&*outcome.stdout.bytes(), b"ready\nbye\n");
}
