//! Waiting for supervisors that were let go, without blocking a call and without a runtime.
//!
//! A supervisor that is let go needs some 100 µs to end its programs and itself, and longer where a
//! program resists. It is waited for in one of two places: by [`attend`], where a backend is
//! dropped and blocks for a bounded time, or by one thread of the process, which exists only as
//! long as there is something to wait for and looks at growing intervals, [`FIRST_PAUSE`] to
//! [`LAST_PAUSE`].
//!
//! A supervisor that ends with code 0 has proved that its tree is gone. One that was killed has
//! not; what it left is searched and killed here for [`PROOF_TIME`] at most.

use std::{
    cell::RefCell,
    os::fd::{AsFd, OwnedFd},
    process,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{WaitId, WaitIdOptions, waitid},
};

use super::{orphans, rescue};
use crate::{cgroup::Leaf, processes::wake};

/// A supervisor whose socket is closed: it ends everything it started, then itself.
///
/// States follow each other: `Ending`, then `Finished`, with `Killed` between them where the
/// supervisor could not prove its end.
#[derive(Debug)]
pub(super) struct ClosingSupervisor {
    pidfd: OwnedFd,
    pid: i32,
    /// Whether it had a program, in a session that it led.
    led_session: bool,
    /// Goes when nothing is left in it. What is in it when the supervisor has ended is killed.
    leaf: Option<Leaf>,
    /// When it was let go.
    since: Instant,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It has not ended.
    Ending,
    /// It was killed, and may have left processes.
    Killed,
    /// Nothing that it started is left, as far as that can be known.
    Finished,
}

/// How long a supervisor has to end its programs and itself, where their cgroup can be killed: 2 s. It also finds
/// those that have left the cgroup.
const FINISH_TIME: Duration = Duration::from_secs(2);

/// How long the proof is waited for that a killed supervisor has left nothing: 10 s, as long as the end of a
/// call. SIGKILL ends a process in microseconds unless it sleeps uninterruptibly in the kernel.
const PROOF_TIME: Duration = Duration::from_secs(10);

/// How long a backend that is dropped waits for supervisors that were let go before, and for the end of what a
/// killed one has left: 4 s, twice the time after which their cgroups are killed.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(4);

/// The supervisors that have not finished.
static LEFT: Mutex<Left> = Mutex::new(Left { supervisors: Vec::new(), thread_of: 0 });

/// Tells that a supervisor has finished.
static FINISHED: Condvar = Condvar::new();

/// The lock is held while supervisors are looked at, which takes system calls but no waiting.
struct Left {
    supervisors: Vec<ClosingSupervisor>,
    /// The process whose thread waits for them; 0 for none. A fork of it has the list without the thread.
    thread_of: u32,
}

/// A poisoned lock is used on: the list is whole between any two statements that change it.
fn left() -> MutexGuard<'static, Left> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    /// Where [`attend`] collects those that this thread lets go.
    static ATTENDED: RefCell<Option<Vec<ClosingSupervisor>>> = const { RefCell::new(None) };
}

/// Lets supervisors go and blocks until they have finished, or for this long; then until those have finished that
/// were let go before, for at most 4 s. So a host that ends right after that leaves no process of a call, and
/// no control group. Those that take longer are waited for as ever, for as long as the host lives.
///
/// A supervisor without a program takes some 100 µs.
///
/// `let_go` drops the supervisors; those that this thread drops meanwhile are collected. Nothing is
/// shown where they do not finish in time.
pub(crate) fn attend(at_most: Duration, let_go: impl FnOnce()) {
    // A thread that is ending may have no list any more, and attends to none.
    let _ = ATTENDED.try_with(|it| it.replace(Some(Vec::new())));
    let_go();
    let attended = ATTENDED.try_with(RefCell::take);
    let mut attended = attended.ok().flatten().unwrap_or_default();
    let give_up = Instant::now() + at_most;
    loop {
        attended.retain_mut(|it| !it.has_finished());
        let left = give_up.saturating_duration_since(Instant::now());
        if attended.is_empty() || left.is_zero() {
            break;
        }
        let Ok(left) = left.try_into() else { break };
        let mut ends: Vec<_> =
            attended.iter().map(|it| PollFd::new(&it.pidfd, PollFlags::IN)).collect();
        // A signal of the host's is no reason to wait longer or less. poll(2) fails where another process has
        // lowered RLIMIT_NOFILE.
        if poll(&mut ends, Some(&left)) == Err(rustix::io::Errno::INVAL) {
            thread::sleep(FIRST_PAUSE);
        }
    }
    attended.into_iter().for_each(wait_in_a_thread);
    wait_for_the_thread();
}

/// Waits until the thread has no supervisor to wait for.
fn wait_for_the_thread() {
    let is_waited_for = |it: &mut Left| it.thread_of == process::id() && !it.supervisors.is_empty();
    drop(FINISHED.wait_timeout_while(left(), SHUTDOWN_TIMEOUT, is_waited_for));
}

/// Waits for a supervisor that was let go.
///
/// Continues the supervisor first where it was stopped. Returns at once, with the supervisor handed
/// to [`attend`] on this thread or to the thread of the process.
pub(super) fn wait_for(supervisor: ClosingSupervisor) {
    wake(&supervisor.pidfd);
    let mut supervisor = Some(supervisor);
    let _ = ATTENDED.try_with(|it| {
        if let Some(attended) = &mut *it.borrow_mut() {
            attended.extend(supervisor.take());
        }
    });
    let Some(mut supervisor) = supervisor else { return };
    if !supervisor.has_finished() {
        wait_in_a_thread(supervisor);
    }
}

/// The first interval at which closing supervisors are looked at: twice what an idle one takes to
/// end.
const FIRST_PAUSE: Duration = Duration::from_micros(200);
/// The longest interval between two looks.
const LAST_PAUSE: Duration = Duration::from_millis(50);

/// Starts the thread where there is none. Where the system has no thread left, the supervisor waits
/// in the list until the next one comes.
fn wait_in_a_thread(supervisor: ClosingSupervisor) {
    let mut left = left();
    if left.thread_of != process::id() {
        // Those of the process that this one is a fork of are that one's to wait for.
        left.supervisors.clear();
        // Without a thread the next one that is let go tries again.
        let thread = thread::Builder::new().name("flyto-reaper".into()).spawn(wait_for_all);
        left.thread_of = thread.map_or(0, |_| process::id());
    }
    left.supervisors.push(supervisor);
}

/// The thread's body: ends when the list is empty.
fn wait_for_all() {
    let mut pause = FIRST_PAUSE;
    loop {
        thread::sleep(pause);
        pause = (pause * 2).min(LAST_PAUSE);
        let mut left = left();
        left.supervisors.retain_mut(|it| !it.has_finished());
        left.supervisors.iter().for_each(ClosingSupervisor::help);
        if left.supervisors.is_empty() {
            left.thread_of = 0;
            FINISHED.notify_all();
            return;
        }
    }
}

impl ClosingSupervisor {
    /// A supervisor that ends from now on.
    pub(super) fn new(pidfd: OwnedFd, pid: i32, led_session: bool, leaf: Option<Leaf>) -> Self {
        Self { pidfd, pid, led_session, leaf, since: Instant::now(), state: State::Ending }
    }

    /// Whether it has ended and left nothing. When it has ended it is reaped, and what it could not end any more
    /// is ended here.
    fn has_finished(&mut self) -> bool {
        if self.state == State::Ending {
            self.state = self.look();
        }
        if self.state == State::Killed {
            let is_empty = self.leaf.iter().all(Leaf::kill) & orphans::end();
            if is_empty || self.since.elapsed() > PROOF_TIME {
                self.state = State::Finished;
            }
        }
        self.state == State::Finished
    }

    /// Asks without reaping first (`WNOWAIT`, waitid(2)): as long as the supervisor is not reaped
    /// its number, and with it the number of its session, is no other's.
    fn look(&mut self) -> State {
        let wait = |more| {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | more;
            waitid(WaitId::PidFd(self.pidfd.as_fd()), options)
        };
        // An error means that it is no child of this process any more: this process ignores SIGCHLD, or something
        // in it reaps whatever it finds. Its number may be another process's by now.
        let ended = wait(WaitIdOptions::NOWAIT);
        if matches!(ended, Ok(None)) {
            return State::Ending;
        }
        let has_proved_it = matches!(&ended, Ok(Some(status)) if status.exit_status() == Some(0));
        if !has_proved_it && ended.is_ok() && self.led_session {
            rescue::kill_session(self.pid);
        }
        let _ = wait(WaitIdOptions::empty());
        orphans::forget(self.pid);
        self.since = Instant::now();
        if has_proved_it { State::Finished } else { State::Killed }
    }

    /// Lets one go on that a program has stopped; kills its cgroup where it takes too long.
    fn help(&self) {
        if self.state != State::Ending {
            return;
        }
        rescue::kill_below_stopped(self.pid);
        wake(&self.pidfd);
        if self.since.elapsed() > FINISH_TIME {
            self.leaf.iter().for_each(|it| _ = it.kill());
        }
    }
}
