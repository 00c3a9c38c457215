//! Waiting for supervisors that were let go, without blocking and without a runtime.

use std::{
    os::fd::{AsFd, OwnedFd},
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use rustix::process::{WaitId, WaitIdOptions, waitid};

use super::rescue;
use crate::cgroup::Leaf;

/// A supervisor whose socket is closed: it ends everything it started, then itself.
#[derive(Debug)]
pub(super) struct LetGo {
    pub(super) pidfd: OwnedFd,
    pub(super) pid: i32,
    /// Whether it had a program, in a session that it led.
    pub(super) led_session: bool,
    /// Goes when the supervisor has gone.
    pub(super) _leaf: Option<Leaf>,
}

/// Those that have not ended yet, and whether a thread waits for them.
static LEFT: Mutex<(Vec<LetGo>, bool)> = Mutex::new((Vec::new(), false));

/// Waits for a supervisor that was let go.
pub(super) fn bury(supervisor: LetGo) {
    rescue::wake(&supervisor.pidfd);
    if supervisor.has_ended() {
        return;
    }
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
        match wait(WaitIdOptions::NOWAIT) {
            Ok(None) => return false,
            Ok(Some(status)) if status.exit_status() != Some(0) && self.led_session => {
                rescue::kill_session(self.pid);
            }
            // An error means that it is no child of ours any more: this process ignores SIGCHLD, or
            // something in it reaps whatever it finds. Its number may be a stranger's by now.
            _ => {}
        }
        let _ = wait(WaitIdOptions::empty());
        true
    }
}
