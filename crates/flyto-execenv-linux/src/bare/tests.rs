//! Programs where a filter refuses clone3(2): this test program runs once more below one.

use std::{
    env, fs,
    os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
    ptr::null,
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
};

use flyto_execenv::{
    Capability, ExecEnv, Executor, Isolation, KillScope, Outcome, Policies, Policy, Spec,
    SystemCalls,
    conformance::{Probe, play_host, run_all},
};
use flyto_supervision::Stage;
use rustix::process::{WaitId, WaitIdOptions, waitid};

use super::{
    child::{self, Cgroup, Child, Failed, Image, Launch, ProcessGroup},
    clone3,
    program::try_reap,
    sys::errno,
};
#[cfg(feature = "examine")]
use crate::examine::{Layer, State, examine};
use crate::{
    KillMechanism, Linux,
    ordinary::{GUARD, is_ordinary},
    sandbox::inside::{INSIDE, Scene, is_without_clone3},
};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime").block_on(future)
}

/// Programs that are all ended in this way.
fn by(mechanism: KillMechanism) -> ExecEnv {
    let linux = Linux::with_mechanism(mechanism).expect("the mechanism works without clone3");
    let scope = if mechanism == KillMechanism::Group { KillScope::Group } else { KillScope::Tree };
    ExecEnv::builder(linux).policies(Policies::new().other(Policy::new().kill(scope))).build()
}

/// Runs the contract inside.
#[track_caller]
fn check_contract(test: &str, mechanism: KillMechanism) {
    if !is_without_clone3(test) {
        return;
    }
    let again = ["--exact", test, "--nocapture", "--test-threads=1"];
    let make = || (by(mechanism), Probe::posix_sh().start_again(again));
    play_host(make);
    let report = block_on(async {
        let (env, probe) = make();
        run_all(&env, &probe).await.expect("the backend is there")
    });
    assert!(report.failed().is_empty(), "{report}");
    assert_eq!(clone3::refusal(), Some(errno::NOSYS));
}

#[test]
fn the_contract_holds_by_subreaper() {
    check_contract("bare::tests::the_contract_holds_by_subreaper", KillMechanism::Subreaper);
}

#[test]
fn the_contract_holds_by_pid_namespace() {
    check_contract("bare::tests::the_contract_holds_by_pid_namespace", KillMechanism::PidNamespace);
}

#[test]
fn the_contract_holds_by_cgroup() {
    check_contract("bare::tests::the_contract_holds_by_cgroup", KillMechanism::Cgroup);
}

#[test]
fn the_contract_holds_by_process_group() {
    check_contract("bare::tests::the_contract_holds_by_process_group", KillMechanism::Group);
}

fn sh(script: &str) -> Spec {
    Spec::new("/bin/sh").args(["-c", script]).env_var("PATH", "/usr/bin:/bin").deadline(GUARD)
}

fn text(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&outcome.stdout.bytes()).into_owned()
}

/// Leaves two processes behind, one of which has left its session and its parent.
fn leaver() -> Spec {
    let script =
        "(setsid sh -c 'echo; sleep 600 >/dev/null 2>&1 & exec sleep 600 >/dev/null 2>&1' &)
        read -r line";
    sh(&format!("{{ {script}; }} | read -r line")).kill(KillScope::Tree)
}

async fn ends_trees(linux: Linux) {
    assert!(linux.capabilities().has(Capability::TreeKill), "{linux:?}");
    let outcome = ExecEnv::new(linux).run(leaver()).await.expect("there is a shell");
    assert!(outcome.confirmed && outcome.leaked >= Some(2), "{outcome:?}");
}

#[tokio::test]
async fn an_ordinary_user_ends_trees_as_well() {
    let test = "bare::tests::an_ordinary_user_ends_trees_as_well";
    if (env::var_os(INSIDE).is_none() && !is_ordinary(test).await) || !is_without_clone3(test) {
        return;
    }
    ends_trees(Linux::new()).await;
    ends_trees(Linux::for_one_call()).await;
    assert_eq!(clone3::refusal(), Some(errno::NOSYS));
}

#[tokio::test]
async fn a_strict_program_has_programs_of_its_own() {
    let test = "bare::tests::a_strict_program_has_programs_of_its_own";
    let isolation = |_: &_| Isolation::new().system_calls(SystemCalls::Restricted);
    if Scene::enter(test, isolation).await.is_none() {
        return;
    }
    // That filter refuses namespaces as well, and a supervisor of root's would not need one before its
    // first program.
    let refused =
        Linux::with_mechanism(KillMechanism::PidNamespace).expect_err("it cannot be made");
    assert_eq!(clone3::refusal(), Some(errno::NOSYS), "{refused}");
    let linux = Linux::new();
    if linux.mechanism() > KillMechanism::Group {
        return ends_trees(linux).await;
    }
    // Where nothing bounds the processes of root without its capabilities, no tree kill is declared.
    assert!(rustix::process::geteuid().is_root(), "{linux:?}");
    let outcome = ExecEnv::new(linux).run(sh("echo hi").kill(KillScope::Group)).await;
    assert_eq!(text(&outcome.expect("there is a shell")), "hi\n");
}

#[tokio::test]
async fn a_program_is_in_its_cgroup_and_a_restricted_one_in_its_namespace() {
    let test = "bare::tests::a_program_is_in_its_cgroup_and_a_restricted_one_in_its_namespace";
    if !is_without_clone3(test) {
        return;
    }
    let cgroups = by(KillMechanism::Cgroup).run(sh("cat /proc/self/cgroup")).await;
    let cgroups = text(&cgroups.expect("there is a shell"));
    let own = format!("flyto-{}-", std::process::id());
    let version_2 = cgroups.lines().find(|it| it.starts_with("0::"));
    assert!(version_2.is_some_and(|it| it.contains(&own)), "{cgroups}");

    // By clone(2) with a flag that the program's own filter refuses to all other processes.
    let restricted = Isolation::new().system_calls(SystemCalls::Restricted);
    let spec = sh("echo $$; unshare --pid true 2>/dev/null && echo made").isolation(restricted);
    let outcome = by(KillMechanism::PidNamespace).run(spec).await.expect("there is a shell");
    assert_eq!(text(&outcome), "2\n");
}

#[cfg(feature = "examine")]
#[tokio::test]
async fn an_examination_tells_what_stands_in() {
    let test = "bare::tests::an_examination_tells_what_stands_in";
    if !is_without_clone3(test) {
        return;
    }
    let linux = Linux::new();
    let found = examine(&linux).await;
    let check = found.check(Layer::InProcessStart).expect("it was tried");
    let State::Partly { by, trouble } = &check.state else { panic!("{check:?}") };
    assert!(by.starts_with("clone, "), "{by}");
    assert_eq!(trouble.errno, Some(libc::ENOSYS));
    assert!(trouble.cause.contains("refuses clone3"), "{trouble:?}");
    assert!(trouble.instead.starts_with("clone does the same"), "{trouble:?}");
    assert!(linux.mechanism() > KillMechanism::Group && found.serves_by_default(), "{found:?}");
    for layer in [Layer::Supervisor, Layer::Subreaper, Layer::PidNamespace, Layer::CgroupKill] {
        let check = found.check(layer).expect("it was tried");
        assert!(matches!(check.state, State::Works { .. }), "{check:?}");
    }
}

/// A program that is found by its path.
fn launch<'a>(path: &'a [u8], dir: &'a [u8], streams: [i32; 3]) -> Launch<'a> {
    assert!([path, dir].iter().all(|it| it.ends_with(b"\0")));
    Launch {
        image: Image::Path(path.as_ptr()),
        args: &raw const NOTHING.0,
        env: &raw const NOTHING.0,
        dir: dir.as_ptr(),
        streams,
        fourth: None,
        pgrp: ProcessGroup::Stay,
        bounds: &[],
        ends_with: None,
        no_new_privs: false,
        ruleset: None,
        members: None,
        cgroup: None,
        cookie: [0; 2],
        is_clean: false,
        busy_waits_us: &[],
    }
}

/// A list of strings without any.
struct Nothing(*const u8);

// SAFETY: a null pointer leads to no memory.
unsafe impl Sync for Nothing {}

static NOTHING: Nothing = Nothing(null());

/// `/dev/null` three times, with a place for a descriptor that is not among the first four.
fn streams() -> (OwnedFd, [i32; 3]) {
    let null = fs::File::options().read(true).write(true).open("/dev/null").expect("it is there");
    let null = rustix::io::fcntl_dupfd_cloexec(null, 4).expect("there is a place");
    let number = null.as_raw_fd();
    (null, [number; 3])
}

#[test]
fn a_start_that_fails_tells_its_stage_and_leaves_no_child() {
    let test = "bare::tests::a_start_that_fails_tells_its_stage_and_leaves_no_child";
    if !is_without_clone3(test) {
        return;
    }
    let (_null, streams) = streams();
    let fine = launch(b"/bin/true\0", b"/\0", streams);
    let no_cgroup = Cgroup { dir: -1, members: -1 };
    for (launch, stage, errno) in [
        (launch(b"/no/such/program\0", b"/\0", streams), Stage::Exec, libc::ENOENT),
        (launch(b"/bin/true\0", b"/no/such/dir\0", streams), Stage::Dir, libc::ENOENT),
        (Launch { streams: [99; 3], ..fine }, Stage::Streams, libc::EBADF),
        (Launch { cgroup: Some(no_cgroup), ..fine }, Stage::Cgroup, libc::EBADF),
    ] {
        let before = fs::read_dir("/proc/self/fd").expect("proc(5)").count();
        // SAFETY: its strings are there, and what is no descriptor is meant to be none.
        let failed = unsafe { child::start(&launch) }.expect_err("it cannot start");
        assert_eq!(failed, Failed { stage, errno: errno as u32 });
        assert_eq!(fs::read_dir("/proc/self/fd").expect("proc(5)").count(), before);
    }
    let children = fs::read_to_string("/proc/thread-self/children").expect("proc(5)");
    assert_eq!((&*children, clone3::refusal()), ("", Some(errno::NOSYS)));

    // SAFETY: its strings are there, and its streams are open.
    let Child { pid, pidfd } = unsafe { child::start(&fine) }.expect("it is there");
    // SAFETY: the start opened it for us.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    let ended = waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED).expect("our child");
    assert_eq!(ended.and_then(|it| it.exit_status()), Some(0));
    assert_eq!(try_reap(pid).err(), Some(errno::CHILD));
}

/// The process that has handlers.
static HOST: AtomicU32 = AtomicU32::new(0);
/// How often a handler ran there, and elsewhere.
static AT_HOME: AtomicU32 = AtomicU32::new(0);
static ELSEWHERE: AtomicU32 = AtomicU32::new(0);

extern "C" fn handler(_: libc::c_int) {
    // SAFETY: asks for a number.
    let own = unsafe { libc::getpid() };
    let is_host = HOST.load(Ordering::Relaxed) == own as u32;
    let counter = if is_host { &AT_HOME } else { &ELSEWHERE };
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Has the signal handled, or ignored.
fn handle(signal: libc::c_int, is_ignored: bool) {
    HOST.store(std::process::id(), Ordering::Relaxed);
    let handler: extern "C" fn(libc::c_int) = handler;
    let action = if is_ignored { libc::SIG_IGN } else { handler as usize };
    // SAFETY: the handler counts, and does nothing else.
    let before = unsafe { libc::signal(signal, action) };
    assert_ne!(before, libc::SIG_ERR);
}

/// A set of signals in proc_pid_status(5).
fn signals(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|it| it.strip_prefix(name)?.strip_prefix(":\t"));
    u64::from_str_radix(line.expect("it is there"), 16).expect("a set")
}

fn set(of: &[libc::c_int]) -> u64 {
    of.iter().fold(0, |set, it| set | 1 << (it - 1))
}

#[test]
fn handlers_are_forgotten_and_what_is_ignored_stays_ignored() {
    let test = "bare::tests::handlers_are_forgotten_and_what_is_ignored_stays_ignored";
    if !is_without_clone3(test) {
        return;
    }
    for signal in [libc::SIGUSR1, libc::SIGCHLD, libc::SIGRTMIN(), libc::SIGRTMAX()] {
        handle(signal, false);
    }
    handle(libc::SIGHUP, true);
    let own = || fs::read_to_string("/proc/self/status").expect("proc(5)");
    let before = own();
    // The process that started this test ignores one or the other as well; Rust's runtime ignores SIGPIPE.
    let ignored = signals(&before, "SigIgn");
    assert_eq!(ignored & set(&[libc::SIGHUP, libc::SIGPIPE]), set(&[libc::SIGHUP, libc::SIGPIPE]));
    let handled = set(&[libc::SIGUSR1, libc::SIGCHLD, libc::SIGRTMIN(), libc::SIGRTMAX()]);
    assert_eq!(signals(&before, "SigCgt") & handled, handled);

    // Programs find it as with clone3(2).
    clone3::set_mask(set(&[libc::SIGUSR2]));
    let env = by(KillMechanism::Group);
    let outcome = block_on(env.run(sh("cat /proc/self/status"))).expect("there is a shell");
    let theirs = text(&outcome);
    let found = ["SigBlk", "SigIgn", "SigCgt"].map(|it| signals(&theirs, it));
    assert_eq!(found, [0, ignored & !set(&[libc::SIGPIPE]), 0]);
    // … and this thread has what it had.
    assert_eq!(clone3::set_mask(0), set(&[libc::SIGUSR2]));
    assert_eq!(signals(&own(), "SigCgt"), signals(&before, "SigCgt"));

    // SAFETY: this process ends after the next lines.
    unsafe { clone3::forget_handlers() }.expect("they can be set");
    let after = own();
    assert_eq!((signals(&after, "SigCgt"), signals(&after, "SigIgn")), (0, ignored));
}

#[test]
fn no_handler_of_the_host_runs_in_a_child() {
    let test = "bare::tests::no_handler_of_the_host_runs_in_a_child";
    if !is_without_clone3(test) {
        return;
    }
    handle(libc::SIGUSR1, false);
    let (_null, streams) = streams();
    let launch = launch(b"/bin/true\0", b"/\0", streams);
    let is_over = Arc::new(AtomicBool::new(false));
    let begun = Arc::new(Barrier::new(2));
    let storm = thread::spawn({
        let (is_over, begun) = (Arc::clone(&is_over), Arc::clone(&begun));
        move || {
            begun.wait();
            while !is_over.load(Ordering::Relaxed) {
                // To all of the process group, which this process made: children that stay in it hear it too.
                let _ = rustix::process::kill_current_process_group(rustix::process::Signal::USR1);
            }
        }
    });
    begun.wait();
    let mut n_killed = 0;
    for _ in 0..200 {
        // SAFETY: its strings are there, and its streams are open.
        let started = unsafe { child::start(&launch) };
        // A process that is killed before its program is in place has started all the same.
        let Child { pid, pidfd } = started.expect("it is there");
        // SAFETY: the start opened it for us.
        let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
        let by = loop {
            match waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED) {
                Ok(ended) => break ended.and_then(|it| it.terminating_signal()),
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => panic!("process {pid}: {errno}"),
            }
        };
        n_killed += u32::from(by == Some(libc::SIGUSR1));
    }
    is_over.store(true, Ordering::Relaxed);
    storm.join().expect("it counts");
    // They were hit on their way, and did what is the default.
    assert!(n_killed > 0 && AT_HOME.load(Ordering::Relaxed) > 0);
    assert_eq!(ELSEWHERE.load(Ordering::Relaxed), 0);
}
