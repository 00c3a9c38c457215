//! New processes as hostile programs make them: without executing anything.

use nix::{
    sched::{CloneFlags, clone},
    sys::signal::Signal,
    unistd::{ForkResult, Pid, fork},
};

/// Which of the two processes goes on here.
pub(crate) enum Side {
    Parent(Pid),
    Child,
    /// There is one only: the limit of processes is reached.
    Alone,
}

/// Forks, as fork(2) does.
pub(crate) fn split() -> Side {
    // SAFETY: hostile programs here have one thread, or one more that waits for it or sleeps, so no
    // lock is held by a thread that the child lacks.
    match unsafe { fork() } {
        Ok(ForkResult::Parent { child }) => Side::Parent(child),
        Ok(ForkResult::Child) => Side::Child,
        Err(_) => Side::Alone,
    }
}

/// A process that runs `body` and ends. Another process reaps it.
pub(crate) fn child(body: impl FnOnce()) -> Pid {
    match split() {
        Side::Parent(child) => child,
        Side::Child => {
            body();
            std::process::exit(0)
        }
        Side::Alone => panic!("the limit of processes is reached"),
    }
}

/// Ends this thread and no other of its process, also where it is the first one (pthread_exit(3)).
pub(crate) fn end_this_thread() -> ! {
    loop {
        // SAFETY: ends the thread; nothing of it is used by another one.
        unsafe { libc::syscall(libc::SYS_exit, 0) };
    }
}

/// A process that is not our child but our parent's (`CLONE_PARENT`, clone(2)).
pub(crate) fn sibling(body: impl Fn()) {
    let mut stack = vec![0; 256 << 10];
    let run = Box::new(|| {
        body();
        0
    });
    // SAFETY: as above; memory is not shared, so that the stack is a copy of the child's own.
    let made =
        unsafe { clone(run, &mut stack, CloneFlags::CLONE_PARENT, Some(Signal::SIGCHLD as i32)) };
    made.expect("the limit of processes is not reached");
}
