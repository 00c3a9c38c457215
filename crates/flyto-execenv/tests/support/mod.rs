//! What the tests of the local backend share.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use flyto_execenv::{Chunk, ExecEnv, Outcome, Output, RunOptions, Spec, local::Local};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// A backstop for broken code; no test compares times.
pub(crate) const GUARD: Duration = Duration::from_secs(60);

pub(crate) fn env() -> ExecEnv {
    ExecEnv::new(Local::new())
}

/// A shell script with the usual programs on its `PATH`. It is bounded by [`GUARD`].
pub(crate) fn sh(script: &str) -> Spec {
    Spec::new("/bin/sh").args(["-c", script]).env_var("PATH", "/usr/bin:/bin").deadline(GUARD)
}

pub(crate) fn text(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&outcome.stdout.bytes()).into_owned()
}

/// Writes an executable file.
pub(crate) fn write_executable(path: &Path, content: impl AsRef<[u8]>) {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, content).expect("the directory is ours");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("the file is ours");
}

/// Waits for a line of output that begins with `ready`, and gives the words after it.
pub(crate) async fn ready(chunks: &mut mpsc::Receiver<Chunk>) -> Vec<u32> {
    let mut seen = String::new();
    loop {
        let chunk = chunks.recv().await.expect("the program says that it is ready");
        seen.push_str(&String::from_utf8_lossy(&chunk.bytes));
        let line = seen.lines().find(|it| it.starts_with("ready"));
        // A line may come in pieces.
        if let Some(line) = line
            && seen.ends_with('\n')
        {
            return line.split(' ').skip(1).map(|it| it.parse().expect("a process id")).collect();
        }
    }
}

/// Runs `spec` until it is ready, then cancels it; gives the process ids that it named.
pub(crate) async fn cancelled(env: &ExecEnv, spec: Spec) -> (Outcome, Vec<u32>) {
    let cancel = CancellationToken::new();
    let (observer, mut chunks) = mpsc::channel(16);
    let options = RunOptions::new().cancel(cancel.clone()).observer(observer);
    let watch = async {
        let pids = ready(&mut chunks).await;
        cancel.cancel();
        while chunks.recv().await.is_some() {}
        pids
    };
    let (outcome, pids) = tokio::join!(env.run_with(spec, options), watch);
    (outcome.expect("it was started"), pids)
}

/// Whether a process is there and no zombie.
pub(crate) fn is_alive(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start().starts_with(['Z', 'X']));
    state == Some(false)
}

/// Waits until none of the processes is alive.
#[track_caller]
pub(crate) fn assert_gone(pids: &[u32]) {
    assert!(!pids.is_empty(), "the program named its processes");
    let give_up = Instant::now() + GUARD;
    for pid in pids {
        while is_alive(*pid) {
            assert!(Instant::now() < give_up, "process {pid} is still alive");
            std::thread::yield_now();
        }
    }
}

/// Output kept up to `limit_bytes`.
pub(crate) fn captured(limit_bytes: u64) -> Output {
    Output::Captured(flyto_execenv::Capture::limit(limit_bytes))
}
