//! Tests of what an ordinary user may do, also where root runs them.

use std::{
    env, fs,
    ops::Range,
    os::unix::fs::PermissionsExt,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use flyto_execenv::{ExecEnv, Outcome, Spec, local::Local};

/// A backstop for broken code; no test compares times.
pub(crate) const GUARD: Duration = Duration::from_secs(60);

/// Whether the caller is an ordinary user. For root the test with this path is run once more, by a user
/// that no other process has: bounds by user count what other tests run.
pub(crate) async fn is_ordinary(test: &str) -> bool {
    if !rustix::process::geteuid().is_root() {
        return true;
    }
    // Where this program was built, others may not look. Another program makes the copy: while a child of
    // ours still held it open for writing, no process could execute it (execve(2), `ETXTBSY`).
    let dir = tempfile::tempdir().expect("there is room");
    let program = dir.path().join("tests");
    let own = env::current_exe().expect("it runs");
    let copy = Spec::new("/bin/cp").args([own.as_os_str(), program.as_os_str()]);
    assert!(run(copy).await.success(), "there is room");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let user = (UNUSED_USERS.start + std::process::id() % 100_000 * 16 + n % 16).to_string();
    let spec = Spec::new("setpriv")
        .args(["--reuid", &user, "--regid", &user, "--clear-groups"])
        .arg(program.into_os_string())
        .args(["--exact", test, "--nocapture"])
        .env_var("PATH", "/usr/bin:/bin");
    let outcome = run(spec).await;
    let [stdout, stderr] = [&outcome.stdout, &outcome.stderr]
        .map(|it| String::from_utf8_lossy(&it.bytes()).into_owned());
    assert!(outcome.success() && stdout.contains("1 passed"), "{stdout}\n{stderr}");
    false
}

/// Whether no other process runs as this user.
#[allow(dead_code, reason = "each test binary uses a part")]
pub(crate) fn is_alone() -> bool {
    UNUSED_USERS.contains(&rustix::process::geteuid().as_raw())
}

/// Users without an owner: outside of all ranges that login.defs(5) and systemd give out.
const UNUSED_USERS: Range<u32> = 2_000_000_000..2_001_600_000;

/// Tests of one process run at the same time.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// Runs a program for which there is no doubt that it can be started.
pub(crate) async fn run(spec: Spec) -> Outcome {
    ExecEnv::new(Local::new()).run(spec.deadline(GUARD)).await.expect("the program is there")
}
