//! A process for each test, and what is counted in it.

use std::{
    env, fs,
    process::exit,
    thread,
    time::{Duration, Instant},
};

use flyto_execenv::{ExecEnv, Exit, KillScope, Outcome, Spec, local::Local};
use flyto_execenv_linux::{KillMechanism, Linux};
use tokio::runtime::{Builder, Runtime};

/// A backstop for broken code; no test compares times.
pub(crate) const GUARD: Duration = Duration::from_secs(60);

/// Says to this program that it is the process of one test.
const ALONE: &str = "FLYTO_ROBUST_ALONE";

/// No exit code of a test's own.
const PASSED: i32 = 42;

/// How much is tried: everything when it is `all`.
const HOW_MUCH: &str = "FLYTO_ROBUST";

pub(crate) fn calls() -> usize {
    if env::var_os(HOW_MUCH).is_some_and(|it| it == "all") { 10_000 } else { 1_000 }
}

/// Runs `body` in a process of its own, whose other thread waits for this one: the test with this path, once
/// more, as a program that the words of `before` start.
#[track_caller]
pub(crate) fn alone(test: &str, before: &[&str], body: impl FnOnce()) {
    if env::var_os(ALONE).is_some() {
        body();
        exit(PASSED);
    }
    let own = env::current_exe().expect("it runs");
    let (first, rest) = before.split_first().unwrap_or((&"/usr/bin/env", &[]));
    let mut spec = Spec::new(first)
        .args(rest)
        .arg(own.into_os_string())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env_var("PATH", "/usr/bin:/bin")
        .env_var("RUST_BACKTRACE", "1")
        .env_var(ALONE, "1")
        .deadline(3 * GUARD);
    if let Some(much) = env::var_os(HOW_MUCH) {
        spec = spec.env_var(HOW_MUCH, much);
    }
    let outcome = runtime().block_on(ExecEnv::new(Local::new()).run(spec)).expect("it is there");
    let [stdout, stderr] = [&outcome.stdout, &outcome.stderr]
        .map(|it| String::from_utf8_lossy(&it.bytes()).into_owned());
    assert_eq!(outcome.exit, Some(Exit::Code(PASSED)), "{stdout}\n{stderr}");
}

pub(crate) fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("descriptors")
}

/// What a host has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Zombies among them.
    pub(crate) children: usize,
    pub(crate) descriptors: usize,
    pub(crate) threads: usize,
}

impl Counts {
    pub(crate) fn now() -> Self {
        Self {
            children: children().len(),
            descriptors: fs::read_dir("/proc/self/fd").expect("proc(5)").count(),
            threads: fs::read_dir("/proc/self/task").expect("proc(5)").count(),
        }
    }

    /// What is there before anything is done. What stays once and for all is there already.
    pub(crate) fn before() -> Self {
        drop((Linux::new(), runtime()));
        Self::settled(None)
    }

    /// Waits for this again: supervisors that were let go take a moment to end.
    #[track_caller]
    pub(crate) fn come_back(self) {
        assert_eq!(Self::settled(Some(self)), self);
    }

    fn settled(expected: Option<Self>) -> Self {
        let give_up = Instant::now() + GUARD;
        loop {
            let now = Self::now();
            let is_settled = expected.map_or(now.children == 0 && now.threads == 2, |it| it == now);
            if is_settled || Instant::now() > give_up {
                return now;
            }
            thread::yield_now();
        }
    }
}

/// The numbers of this process's children.
pub(crate) fn children() -> Vec<i32> {
    let threads = fs::read_dir("/proc/self/task").expect("proc(5)").flatten();
    let lists = threads.filter_map(|it| fs::read_to_string(it.path().join("children")).ok());
    let lists: Vec<_> = lists.collect();
    lists.iter().flat_map(|it| it.split_whitespace()).flat_map(str::parse).collect()
}

/// How many processes have this text in their arguments.
pub(crate) fn n_alive(marker: &str) -> usize {
    let processes = fs::read_dir("/proc").expect("proc(5)").flatten();
    let arguments = processes.filter_map(|it| fs::read(it.path().join("cmdline")).ok());
    arguments.filter(|it| it.windows(marker.len()).any(|it| it == marker.as_bytes())).count()
}

/// A backend for each means that works here, with what its programs ask to be ended by.
pub(crate) fn backends() -> Vec<(KillMechanism, KillScope, Linux)> {
    let all = [
        KillMechanism::Group,
        KillMechanism::Subreaper,
        KillMechanism::PidNamespace,
        KillMechanism::Cgroup,
    ];
    let scope = |it| if it == KillMechanism::Group { KillScope::Group } else { KillScope::Tree };
    let here =
        all.into_iter().filter_map(|it| Some((it, scope(it), Linux::with_mechanism(it).ok()?)));
    let here: Vec<_> = here.collect();
    assert!(here.len() > 1, "there is a means to end trees");
    here
}

pub(crate) fn sh(script: &str) -> Spec {
    Spec::new("/bin/sh").args(["-c", script]).env_var("PATH", "/usr/bin:/bin").deadline(GUARD)
}

pub(crate) fn text(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&outcome.stdout.bytes()).into_owned()
}
