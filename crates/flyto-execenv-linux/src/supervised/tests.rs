use std::{
    fs, io,
    os::fd::AsFd,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use flyto_execenv::{Output, Spec, local::Streams};
use flyto_supervision::StartFlags;

use super::{supervisor::Supervisor, *};
use crate::{
    cgroup::{Cgroups, Leaf},
    enforcement::Plan,
};

/// A filter under which a system call fails for want of memory (`struct sock_filter` of `linux/filter.h`).
fn without_memory_for(number: u32) -> Vec<u8> {
    let out_of_memory = libc::SECCOMP_RET_ERRNO | libc::ENOBUFS as u32;
    let instructions: [(u32, u8, u8, u32); 4] = [
        (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, number),
        (libc::BPF_RET | libc::BPF_K, 0, 0, out_of_memory),
        (libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let bytes = instructions.map(|(code, yes, no, k)| {
        let code = u16::try_from(code).expect("a small number");
        [&code.to_ne_bytes()[..], &[yes, no], &k.to_ne_bytes()].concat()
    });
    bytes.concat()
}

#[test]
fn a_host_that_cannot_be_told_hears_that_its_supervisor_is_gone() {
    let filter = without_memory_for(libc::SYS_sendto as u32);
    let mut kind = Kind::default();
    kind.confinement.filter = filter;
    kind.confinement.no_new_privs = true;
    let err = Pool::new(kind, Arc::new(Cgroups::none())).probe().expect_err("it cannot answer");
    assert_eq!(err.kind(), io::ErrorKind::UnexpectedEof, "{err}");
}

/// Starts a shell script below a supervisor that is in a cgroup with it.
fn begin(pool: &Pool, script: &str) -> Supervisor {
    let spec = Spec::new("/bin/sh").args(["-c", script]).env_var("PATH", "/usr/bin:/bin");
    let spec = spec.stdout(Output::Null).merge_stderr();
    let streams = Streams::open(&spec).expect("there are descriptors");
    let plan = Plan::default();
    let mut text = Vec::new();
    let start = record::bounded(StartFlags::NONE, &spec, &plan);
    record::write(&mut text, &spec, Path::new("/bin/sh"), start);
    let [stdin, stdout, stderr] = streams.child.each_ref().map(AsFd::as_fd);
    pool.begin(&text, &[stdin, stdout, stderr], &plan).expect("it is started")
}

/// Waits until there are so many processes with this text in their arguments.
fn wait_for(marker: &str, n: usize) {
    let give_up = Instant::now() + Duration::from_secs(60);
    while with_argument(marker).len() != n {
        assert!(Instant::now() < give_up, "{:?} are there, not {n}", with_argument(marker));
        std::thread::yield_now();
    }
}

fn with_argument(marker: &str) -> Vec<i32> {
    let has = |pid: &i32| {
        let args = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        args.split(|it| *it == 0).any(|it| it == marker.as_bytes())
    };
    crate::processes::entries(Path::new("/proc")).filter(has).collect()
}

#[tokio::test]
async fn the_next_host_lets_an_abandoned_supervisor_finish() {
    let cgroups = Arc::new(Cgroups::probe());
    if !cgroups.can(crate::cgroup::Use::Kill) {
        return;
    }
    let kind = Kind { kill_by_cgroup: true, ..Kind::default() };
    let pool = Pool::new(kind, Arc::clone(&cgroups));
    let marker = format!("71{}", std::process::id());
    // One that leaves its cgroup and its session, as root may, and one that stays.
    let cgroup = |it: &Supervisor| it.leaf().and_then(Leaf::path).expect("it has one");
    let supervisor = begin(&pool, &format!("sleep {marker} & exec sleep {marker}"));
    let above = cgroup(&supervisor).parent().and_then(Path::parent).expect("so deep").to_owned();
    let leaver = format!("echo 0 > {}/cgroup.procs; exec setsid sleep {marker}", above.display());
    let second = begin(&pool, &format!("({leaver}) & exec sleep {marker}"));
    wait_for(&marker, 4);
    for it in [&supervisor, &second] {
        // Both are in the middle of something when their host ends.
        let held = it.pidfd.as_ref().expect("it runs");
        rustix::process::pidfd_send_signal(held, rustix::process::Signal::STOP).expect("ours");
        rustix::net::shutdown(it.socket(), rustix::net::Shutdown::Both).expect("it is open");
    }
    cgroups.abandon();
    let next = Cgroups::probe();
    // Nothing of either is left when the next host is there.
    assert_eq!(with_argument(&marker), [0; 0], "processes outlive their supervisor");
    drop(next);
    for it in [supervisor, second] {
        let held = it.pidfd.as_ref().expect("it runs");
        let options = rustix::process::WaitIdOptions::EXITED;
        let ended = rustix::process::waitid(rustix::process::WaitId::PidFd(held.as_fd()), options);
        let ended = ended.expect("our child").expect("it has ended");
        assert_eq!(ended.exit_status(), Some(0), "it was killed half way");
        std::mem::forget(it);
    }
}

/// Children of this thread, and of those that have ended.
fn children() -> String {
    fs::read_to_string("/proc/thread-self/children").expect("proc is there")
}

#[test]
fn a_supervisor_that_is_waited_for_has_ended_and_is_reaped() {
    let pool = Pool::new(Kind::default(), Arc::new(Cgroups::none()));
    pool.probe().expect("it starts").expect("it is set up");
    assert_eq!(children().split_whitespace().count(), 1);
    attend(Duration::from_secs(60), || pool.let_idle_go());
    assert_eq!(children(), "");
    // One without an attendant is waited for elsewhere, and no call here is held up.
    pool.probe().expect("it starts").expect("it is set up");
    attend(Duration::ZERO, || pool.let_idle_go());
    drop(pool);
}
