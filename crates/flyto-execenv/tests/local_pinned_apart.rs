//! Pinned programs on a machine that lacks something: each test runs this binary again, in a process
//! that something was taken from. Where nothing can take it away the test is skipped, and fails in CI.

mod support;

use std::{
    env,
    ffi::OsString,
    fs::{self, File, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::ExitCode,
};

use flyto_execenv::{ExecEnv, ExecErrorKind, Outcome, Spec, local::Local};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use tokio::runtime::{Builder, Runtime};

use support::{GUARD, env, has_executable_memory, pinned, text, write_executable};

/// A test, and what makes the process that it needs.
struct Case {
    name: &'static str,
    /// Commands that start another one so, given an empty directory. The first that works is used.
    starters: fn(&Path) -> Vec<Vec<OsString>>,
    body: fn(&Runtime, &Path),
}

const CASES: [Case; 2] = [
    Case {
        name: "a_place_where_nothing_may_be_executed_is_passed_over",
        starters: with_noexec_mount,
        body: passed_over,
    },
    Case {
        name: "what_may_not_be_read_cannot_be_checked",
        starters: without_right_to_read_everything,
        body: not_checked,
    },
];

/// The word before the name of the case that runs in this process, and its directory.
const WITHIN: &str = "--within";

fn main() -> ExitCode {
    let words: Vec<_> = env::args_os().collect();
    if let [_, within, name, dir] = &words[..]
        && within == WITHIN
    {
        let case = CASES.into_iter().find(|it| name == it.name).expect("we name our own");
        (case.body)(&runtime(), dir.as_ref());
        return ExitCode::SUCCESS;
    }
    let trials = CASES.map(|it| Trial::ignorable_test(it.name, move || it.run()));
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

impl Case {
    fn run(&self) -> Result<Completion, Failed> {
        let (runtime, dir) = (runtime(), tempfile::tempdir()?);
        let starts = |it: &Vec<OsString>| {
            start(&runtime, it, &["true".into()]).is_some_and(|it| it.success())
        };
        let starters = (self.starters)(dir.path());
        let Some(starter) = starters.iter().find(|it| starts(it)) else {
            return skip(format!("none of these works here: {starters:?}"));
        };
        let own = env::current_exe()?.into();
        let words = [own, WITHIN.into(), self.name.into(), dir.path().into()];
        let outcome = start(&runtime, starter, &words).ok_or("it has just started")?;
        if outcome.success() {
            return Ok(Completion::Completed);
        }
        let stderr = String::from_utf8_lossy(&outcome.stderr.bytes()).into_owned();
        Err(format!("{:?}\n{stderr}", outcome.ending).into())
    }
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn start(runtime: &Runtime, starter: &[OsString], words: &[OsString]) -> Option<Outcome> {
    let spec = Spec::new(starter[0].clone())
        .args(starter[1..].iter().chain(words).cloned())
        .env_var("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .deadline(GUARD);
    runtime.block_on(env().run(spec)).ok()
}

/// In CI it is a failure: a test that never runs shows nothing.
fn skip(why: String) -> Result<Completion, Failed> {
    match env::var_os("CI").is_some_and(|it| !it.is_empty() && it != "false" && it != "0") {
        true => Err(format!("cannot be run in CI: {why}").into()),
        false => Ok(Completion::ignored_with(why)),
    }
}

/// Puts a file system where nothing may be executed at `dir`, for this process alone: a user that is
/// not the administrator becomes so in a namespace (unshare(1)).
fn with_noexec_mount(dir: &Path) -> Vec<Vec<OsString>> {
    let script = r#"mount -t tmpfs -o noexec none "$0" && exec "$@""#;
    let rest = |options: &[&str]| {
        let words = [&["unshare"], options, &["sh", "-c", script]].concat();
        words.into_iter().map(Into::into).chain([dir.into()]).collect()
    };
    vec![rest(&["--mount"]), rest(&["--map-root-user", "--mount"])]
}

fn passed_over(runtime: &Runtime, noexec: &Path) {
    let dir = tempfile::tempdir().expect("a directory");
    let tool = dir.path().join("tool");
    let script = "#!/bin/sh\necho $0\n";
    write_executable(&tool, script);
    let local = Local::new().pinned_dirs([noexec, dir.path()]);
    let outcome = runtime.block_on(ExecEnv::new(local.clone()).run(pinned(&tool, script)));
    let printed = text(&outcome.expect("it starts"));
    assert!(Path::new(&printed).starts_with(dir.path()), "{printed}");
    assert_eq!(fs::read_dir(noexec).expect("ours").count(), 0);

    let nowhere = ExecEnv::new(local.pinned_dirs([noexec]));
    let err = runtime.block_on(nowhere.run(pinned(&tool, script))).expect_err("no place");
    let why = std::error::Error::source(&err).expect("a reason").to_string();
    assert!(why.contains("nothing may be executed"), "{why}");
    // Programs that the kernel loads by itself need no place at all.
    let elf = fs::read("/bin/true").expect("a program");
    let res = runtime.block_on(nowhere.run(pinned("/bin/true", &elf)));
    assert_eq!(res.is_ok(), has_executable_memory());
}

/// The administrator may read every file, and can give that up (capabilities(7)).
fn without_right_to_read_everything(_: &Path) -> Vec<Vec<OsString>> {
    let words: &[&str] = match rustix::process::geteuid().is_root() {
        true => &["setpriv", "--bounding-set=-dac_override,-dac_read_search"],
        false => &["env"],
    };
    vec![words.iter().map(Into::into).collect()]
}

fn not_checked(runtime: &Runtime, dir: &Path) {
    let tool = dir.join("tool");
    let elf = fs::read("/bin/true").expect("a program");
    write_executable(&tool, &elf);
    fs::set_permissions(&tool, Permissions::from_mode(0o111)).expect("ours");
    assert!(File::open(&tool).is_err(), "this process may not read everything");
    let err = runtime.block_on(env().run(pinned(&tool, &elf)));
    let err = err.expect_err("nothing tells its digest");
    assert_eq!((err.kind(), err.did_start()), (ExecErrorKind::NotExecutable, false));
    let why = std::error::Error::source(&err).expect("a reason").to_string();
    assert!(why.ends_with("nothing can tell its digest; make it readable"), "{why}");
}
