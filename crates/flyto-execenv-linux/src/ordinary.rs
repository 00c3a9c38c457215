//! Tests of what an ordinary user may do, also where root runs them.

use std::{env, fs, os::unix::fs::PermissionsExt, time::Duration};

use flyto_execenv::{ExecEnv, Outcome, Spec, local::Local};

/// A backstop for broken code; no test compares times.
const GUARD: Duration = Duration::from_secs(60);

/// Whether the caller is somebody ordinary. For root the test with this path is run once more, by a user
/// that nobody else is: bounds by user count what other tests run.
pub(crate) async fn is_ordinary(test: &str) -> bool {
    if !rustix::process::geteuid().is_root() {
        return true;
    }
    // Where this program was built, others may not look.
    let dir = tempfile::tempdir().expect("there is room");
    let program = dir.path().join("tests");
    fs::copy(env::current_exe().expect("it runs"), &program).expect("there is room");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    let user = (600_000 + std::process::id() % 100_000).to_string();
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

/// Runs a program for which there is no doubt that it can be started.
pub(crate) async fn run(spec: Spec) -> Outcome {
    ExecEnv::new(Local::new()).run(spec.deadline(GUARD)).await.expect("the program is there")
}
