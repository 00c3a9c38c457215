//! Waiting for supervisors that were let go, without blocking and without a runtime.

use std::{
    cell::RefCell,
    os::fd::{AsFd, OwnedFd},
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{WaitId, WaitIdOptions, waitid},
};

use super::rescue;
use crate::cgroup::Leaf;

/// A supervisor whose socket is closed: it ends everything it started, then itself.
#[derive(Debug)]
pub(super) struct LetGo {
    pub(super) pidfd: OwnedFd,
    pub(super) pid: i32,
    /// Whether it had a program, in a session that it led.
    pub(super) led_session: bool,
    /// Goes when the supervisor has gone. Who is in it then is killed.
    pub(super) leaf: Option<Leaf>,
    /// When it was let go.
    pub(super) since: Instant,
}

/// How long a supervisor has to end its programs and itself, where their group can be killed: 2 s. It finds
/// those too that have left the group.
const MERCY: Duration = Duration::from_secs(2);

/// Those that have not ended yet, and whether a thread waits for them.
static LEFT: Mutex<(Vec<LetGo>, bool)> = Mutex::new((Vec::new(), false));

thread_local! {
    /// Where [`attend`] collects those that this thread lets go.
    static ATTENDED: RefCell<Option<Vec<LetGo>>> = const { RefCell::new(None) };
}

/// Lets supervisors go and blocks until they have ended, or for this long: a host that ends right after
/// that leaves nobody, and nothing that was theirs. Those that take longer are waited for as ever.
///
/// A supervisor without a program takes some 100 µs.
pub(crate) fn attend(at_most: Duration, let_go: impl FnOnce()) {
    // A thread that is ending may have no list any more, and attends to nobody.
    let _ = ATTENDED.try_with(|it| it.replace(Some(Vec::new())));
    let_go();
    let attended = ATTENDED.try_with(RefCell::take);
    let mut attended = attended.ok().flatten().unwrap_or_default();
    let give_up = Instant::now() + at_most;
    loop {
        attended.retain(|it| !it.has_ended());
        let left = give_up.saturating_duration_since(Instant::now());
        if attended.is_empty() || left.is_zero() {
            break;
        }
        let Ok(left) = left.try_into() else { break };
        let mut ends: Vec<_> =
            attended.iter().map(|it| PollFd::new(&it.pidfd, PollFlags::IN)).collect();
        // A signal of the host's is no reason to wait longer or less.
        let _ = poll(&mut ends, Some(&left));
    }
    attended.into_iter().for_each(wait_in_a_thread);
}

/// Waits for a supervisor that was let go.
pub(super) fn bury(supervisor: LetGo) {
    rescue::wake(&supervisor.pidfd);
    let mut supervisor = Some(supervisor);
    let _ = ATTENDED.try_with(|it| {
        if let Some(attended) = &mut *it.borrow_mut() {
            attended.extend(supervisor.take());
        }
    });
    if let Some(supervisor) = supervisor.filter(|it| !it.has_ended()) {
        wait_in_a_thread(supervisor);
    }
}

fn wait_in_a_thread(supervisor: LetGo) {
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    left.0.push(supervisor);
    if !left.1 {
        // Without a thread the next one that is let go tries again.
        left.1 = thread::Builder::new().name("flyto-reaper".into()).spawn(wait_for_all).is_ok();
    }
}

fn wait_for_all() {
    let mut pause = Duration::from_micros(200);
    loop {
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
        let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
        left.0.retain(|it| !it.has_ended());
        if left.0.is_empty() {
            left.1 = false;
            return;
        }
        for supervisor in &left.0 {
            rescue::kill_below_stopped(supervisor.pid);
            rescue::wake(&supervisor.pidfd);
            if supervisor.since.elapsed() > MERCY {
                supervisor.leaf.iter().for_each(Leaf::kill);
            }
        }
    }
}

impl LetGo {
    /// Whether it has ended. Then it is reaped, and what it could not end any more is ended.
    fn has_ended(&self) -> bool {
        let wait = |more| {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | more;
            waitid(WaitId::PidFd(self.pidfd.as_fd()), options)
        };
        // An error means that it is no child of ours any more: this process ignores SIGCHLD, or something in
        // it reaps whatever it finds. Its number may be a stranger's by now.
        let ended = wait(WaitIdOptions::NOWAIT);
        if matches!(ended, Ok(None)) {
            return false;
        }
        if !matches!(&ended, Ok(Some(status)) if status.exit_status() == Some(0)) {
            if ended.is_ok() && self.led_session {
                rescue::kill_session(self.pid);
            }
            self.leaf.iter().for_each(Leaf::kill);
        }
        let _ = wait(WaitIdOptions::empty());
        true
    }
}
