//! Pinned programs whose files change, copies that are tampered with, and what is left of copies.

#![cfg(all(unix, feature = "local"))]

mod support;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use flyto_execenv::{
    Ending, ExecEnv, ExecError, ExecErrorKind, Exit, RunOptions, Spec, Stdin, local::Local,
};
use support::{GUARD, cancelled, pinned, ready, text, write_executable};
use tokio::{sync::mpsc, task::JoinSet};

const GOOD: &str = "#!/bin/sh\necho good\n";
/// As long as the good one.
const EVIL: &str = "#!/bin/sh\necho evil\n";

fn dir() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

/// A backend that keeps private files in `dir`.
fn env_in(dir: &Path) -> ExecEnv {
    ExecEnv::new(Local::new().pinned_dirs([dir]))
}

fn n_entries(dir: &Path) -> usize {
    fs::read_dir(dir).expect("a directory").count()
}

async fn output(env: &ExecEnv, spec: Spec) -> Result<String, ExecError> {
    env.run(spec).await.map(|it| text(&it))
}

#[track_caller]
fn assert_mismatch(res: Result<String, ExecError>) {
    let err = res.expect_err("it is another file");
    assert_eq!((err.kind(), err.did_start()), (ExecErrorKind::DigestMismatch, false));
}

/// Puts `content` in the place of the file at `path`, which is at no time missing.
fn replace(path: &Path, content: &[u8]) {
    let next = path.with_extension("next");
    write_executable(&next, content);
    fs::rename(next, path).expect("ours");
}

#[tokio::test]
async fn a_file_that_was_replaced_or_rewritten_is_refused_until_it_is_back() {
    let dir = dir();
    let (tool, env) = (dir.path().join("tool"), env_in(dir.path()));
    write_executable(&tool, GOOD);
    let call = || output(&env, pinned(&tool, GOOD));
    assert_eq!(call().await.expect("it starts"), "good\n");
    // A new size shows whatever the clock of the file system.
    let longer = format!("{EVIL}# and more\n");
    replace(&tool, longer.as_bytes());
    assert_mismatch(call().await);
    assert_mismatch(call().await);
    // Identical content in another file is the same program.
    replace(&tool, GOOD.as_bytes());
    assert_eq!(call().await.expect("it starts"), "good\n");
    fs::write(&tool, &longer).expect("ours");
    assert_mismatch(call().await);
    fs::write(&tool, GOOD).expect("ours");
    assert_eq!(call().await.expect("it starts"), "good\n");
    fs::remove_file(&tool).expect("ours");
    let err = call().await.expect_err("it is gone");
    assert_eq!(err.kind(), ExecErrorKind::ProgramNotFound);
}

#[tokio::test]
async fn a_link_that_leads_elsewhere_is_another_program() {
    let dir = dir();
    let env = env_in(dir.path());
    let (link, good, evil) =
        (dir.path().join("link"), dir.path().join("good"), dir.path().join("evil"));
    write_executable(&good, GOOD);
    write_executable(&evil, EVIL);
    std::os::unix::fs::symlink(&good, &link).expect("ours");
    let call = || output(&env, pinned(&link, GOOD));
    assert_eq!(call().await.expect("it starts"), "good\n");
    std::os::unix::fs::symlink(&evil, dir.path().join("next")).expect("ours");
    fs::rename(dir.path().join("next"), &link).expect("ours");
    assert_mismatch(call().await);
}

/// Calls while another thread swaps the file as fast as it can, in all ways and also between the check
/// and the start: whatever ran was the pinned program.
fn race(good: &[u8], evil: &[u8], printed: &str) {
    let dir = dir();
    let (tool, env) = (dir.path().join("tool"), env_in(dir.path()));
    write_executable(&tool, good);
    let is_over = AtomicBool::new(false);
    let (n_ran, n_refused) = thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                replace(&tool, evil);
                fs::write(&tool, good).expect("ours");
                fs::write(&tool, evil).expect("ours");
                replace(&tool, good);
            }
        });
        // It is over also when an assertion fails.
        let _over = Over(&is_over);
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(2).enable_all().build().expect("a runtime");
        runtime.block_on(calls(&env, &tool, good, printed))
    });
    // The file was caught in both of its states.
    assert!(n_ran > 0 && n_refused > 0, "{n_ran} ran, {n_refused} were refused");
}

struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Makes calls until some ran and some were refused, 200 at least.
async fn calls(env: &ExecEnv, tool: &Path, good: &[u8], printed: &str) -> (usize, usize) {
    let (mut n_ran, mut n_refused) = (0, 0);
    let mut at_work = JoinSet::new();
    for n in 0..20_000 {
        if n >= 200 && n_ran > 0 && n_refused > 0 {
            break;
        }
        let (env, spec) = (env.clone(), pinned(tool, good));
        at_work.spawn(async move { output(&env, spec).await });
        if at_work.len() < 8 {
            continue;
        }
        match at_work.join_next().await.expect("some are at work").expect("no call panics") {
            Ok(text) => {
                assert_eq!(text, printed);
                n_ran += 1;
            }
            Err(err) => {
                assert_eq!(err.kind(), ExecErrorKind::DigestMismatch, "{err:?}");
                n_refused += 1;
            }
        }
    }
    (n_ran, n_refused)
}

#[test]
fn no_swap_gets_another_script_to_run() {
    race(GOOD.as_bytes(), EVIL.as_bytes(), "good\n");
}

#[test]
fn no_swap_gets_another_binary_to_run() {
    let [good, evil] = ["/bin/pwd", "/bin/ls"].map(|it| fs::read(it).expect("a program"));
    race(&good, &evil, "/\n");
}

/// The private copy of a script that runs, by its own account.
async fn copy_of(env: &ExecEnv, tool: &Path) -> PathBuf {
    const WHERE: &str = "#!/bin/sh\necho \"$0\"\n";
    write_executable(tool, WHERE);
    PathBuf::from(output(env, pinned(tool, WHERE)).await.expect("it starts").trim_end())
}

#[tokio::test]
async fn a_copy_that_was_tampered_with_is_made_anew() {
    let dir = dir();
    let (tool, env) = (dir.path().join("tool"), env_in(dir.path()));
    let call = || output(&env, pinned(&tool, "#!/bin/sh\necho \"$0\"\n"));
    let first = copy_of(&env, &tool).await;
    assert_eq!(call().await.expect("it starts").trim_end(), first.to_string_lossy());
    // Rewritten …
    fs::remove_file(&first).expect("ours");
    write_executable(&first, EVIL);
    let second = PathBuf::from(call().await.expect("it starts").trim_end());
    assert_ne!(second, first);
    assert!(!first.exists(), "what was tampered with is removed");
    // … removed …
    fs::remove_file(&second).expect("ours");
    let third = PathBuf::from(call().await.expect("it starts").trim_end());
    assert_ne!(third, second);
    // … and its whole directory removed.
    let home = third.ancestors().nth(2).expect("a directory of ours");
    fs::remove_dir_all(home).expect("ours");
    let fourth = PathBuf::from(call().await.expect("it starts").trim_end());
    assert_ne!(fourth.ancestors().nth(2), Some(home));
}

#[tokio::test]
async fn a_copy_that_is_changed_while_it_runs_fails_its_call() {
    let dir = dir();
    let (tool, places) = (dir.path().join("tool"), dir.path().join("not/there/yet"));
    let env = env_in(&places);
    // The shell reads on after the line that changes its script.
    let script = "#!/bin/sh\nchmod u+w \"$0\"\necho 'echo evil' >> \"$0\"\necho good\n";
    write_executable(&tool, script);
    let err = output(&env, pinned(&tool, script)).await.expect_err("the copy is another one");
    assert_eq!((err.kind(), err.did_start()), (ExecErrorKind::DigestMismatch, true));
    // The next call has a copy of its own.
    let err = output(&env, pinned(&tool, script)).await.expect_err("so is that");
    assert_eq!((err.kind(), err.did_start()), (ExecErrorKind::DigestMismatch, true));
}

#[tokio::test]
async fn a_thousand_calls_leave_nothing() {
    let dir = dir();
    let (tool, places) = (dir.path().join("tool"), dir.path().join("places"));
    fs::create_dir(&places).expect("ours");
    write_executable(&tool, GOOD);
    let local = Local::new().pinned_dirs([&places]);
    // A clone shares what there is.
    let env = ExecEnv::new(local.clone());
    assert_eq!(n_entries(&places), 0);
    for n in 0..1_000 {
        match n % 100 {
            0 => write_executable(&tool, EVIL),
            1 => write_executable(&tool, GOOD),
            _ => {}
        }
        match output(&env, pinned(&tool, GOOD)).await {
            Ok(text) => assert_eq!(text, "good\n"),
            Err(err) => assert_eq!(err.kind(), ExecErrorKind::DigestMismatch),
        }
    }
    // One directory with one copy in a directory of its own.
    assert_eq!(n_entries(&places), 1);
    let home = fs::read_dir(&places).expect("ours").next().expect("one").expect("ours").path();
    assert!(n_entries(&home) <= 1);
    drop(env);
    assert_eq!(n_entries(&places), 1);
    drop(local);
    assert_eq!(n_entries(&places), 0);
}

#[tokio::test]
async fn a_program_keeps_its_copy_after_the_backend_is_gone() {
    let dir = dir();
    let (tool, places) = (dir.path().join("tool"), dir.path().join("places"));
    fs::create_dir(&places).expect("ours");
    let script = "#!/bin/sh\nread line\ntest -f \"$0\" && exit 7\n";
    write_executable(&tool, script);
    let env = env_in(&places);
    let spec = pinned(&tool, script).stdin(Stdin::Piped);
    let mut process = env.start(spec, RunOptions::new()).await.expect("it starts");
    drop(env);
    assert_eq!(n_entries(&places), 1);
    drop(process.stdin.take());
    let outcome = process.wait().await.expect("it ends");
    assert_eq!(outcome.ending, Ending::Exited(Exit::Code(7)));
    assert_eq!(n_entries(&places), 0);
}

#[tokio::test]
async fn a_call_that_ends_early_leaves_nothing() {
    let dir = dir();
    let (tool, places) = (dir.path().join("tool"), dir.path().join("places"));
    fs::create_dir(&places).expect("ours");
    let script = "#!/bin/sh\necho ready $$\nexec sleep 100\n";
    write_executable(&tool, script);
    let env = env_in(&places);
    let (outcome, pids) = cancelled(&env, pinned(&tool, script)).await;
    assert_eq!(outcome.ending, Ending::Cancelled);
    support::assert_gone(&pids);
    let (observer, mut chunks) = mpsc::channel(4);
    let options = RunOptions::new().observer(observer);
    let pids = tokio::select! {
        _ = env.run_with(pinned(&tool, script), options) => panic!("it does not end by itself"),
        pids = ready(&mut chunks) => pids,
    };
    support::assert_gone(&pids);
    drop(env);
    assert_eq!(n_entries(&places), 0);
}

#[tokio::test]
async fn what_a_killed_process_left_is_removed_and_what_others_use_is_not() {
    let dir = dir();
    let (tool, places) = (dir.path().join("tool"), dir.path().join("places"));
    fs::create_dir(&places).expect("ours");
    // One that is alive, …
    let other = env_in(&places);
    let used = copy_of(&other, &tool).await;
    // … one whose owner is gone, since it is not locked, …
    let left = places.join("flyto-pinned-0123456789abcdef");
    fs::create_dir_all(left.join("0")).expect("ours");
    fs::write(left.join("0/tool"), EVIL).expect("ours");
    // … and what is none of ours.
    fs::write(places.join("flyto-pinned-notes"), "no directory").expect("ours");
    fs::create_dir(places.join("pinned")).expect("ours");
    let env = env_in(&places);
    copy_of(&env, &tool).await;
    assert!(!left.exists());
    assert!(used.exists());
    assert!(places.join("flyto-pinned-notes").exists() && places.join("pinned").exists());
    assert_eq!(n_entries(&places), 4);
}

#[tokio::test]
async fn a_large_program_obeys_the_deadline_and_leaves_nothing() {
    let dir = dir();
    let (tool, places) = (dir.path().join("tool"), dir.path().join("places"));
    fs::create_dir(&places).expect("ours");
    write_executable(&tool, "#!/bin/sh\n");
    let file = fs::OpenOptions::new().write(true).open(&tool).expect("ours");
    file.set_len(1 << 30).expect("it takes no room");
    let env = env_in(&places);
    let spec = pinned(&tool, GOOD).deadline(std::time::Duration::from_millis(20));
    let outcome = env.run(spec).await.expect("a deadline is an outcome");
    assert_eq!((outcome.ending, outcome.exit), (Ending::TimedOut, None));
    drop(env);
    // The thread that copies sees at its next piece that no call waits.
    let give_up = std::time::Instant::now() + GUARD;
    while n_entries(&places) > 0 {
        assert!(std::time::Instant::now() < give_up, "the copy is still there");
        thread::yield_now();
    }
}
