use std::{fs, io, sync::Arc, time::Duration};

use super::*;
use crate::cgroup::Cgroups;

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

/// Children of this thread, and of those that have ended.
fn children() -> String {
    fs::read_to_string("/proc/thread-self/children").expect("proc is there")
}

#[test]
fn whom_somebody_attends_to_has_ended_and_is_reaped() {
    let pool = Pool::new(Kind::default(), Arc::new(Cgroups::none()));
    pool.probe().expect("it starts").expect("it is set up");
    assert_eq!(children().split_whitespace().count(), 1);
    attend(Duration::from_secs(60), || pool.let_idle_go());
    assert_eq!(children(), "");
    // One that nobody attends to is waited for elsewhere, and nobody here is held up.
    pool.probe().expect("it starts").expect("it is set up");
    attend(Duration::ZERO, || pool.let_idle_go());
    drop(pool);
}
