//! Waiting for supervisors that were let go, without blocking and without a runtime.

use std::{
    os::fd::{AsFd, OwnedFd},
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use rustix::process::{WaitId, WaitIdOptions, waitid};

use crate::cgroup::Leaf;

/// A supervisor that was let go, and what goes when it has gone.
struct Left {
    pidfd: OwnedFd,
    _leaf: Option<Leaf>,
}

/// Those that have not ended yet, and whether a thread waits for them.
static LEFT: Mutex<(Vec<Left>, bool)> = Mutex::new((Vec::new(), false));

/// Waits for a supervisor whose socket is closed: it ends everything it started, then itself.
pub(super) fn bury(pidfd: OwnedFd, leaf: Option<Leaf>) {
    if has_ended(&pidfd) {
        return;
    }
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    left.0.push(Left { pidfd, _leaf: leaf });
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
        left.0.retain(|it| !has_ended(&it.pidfd));
        if left.0.is_empty() {
            left.1 = false;
            return;
        }
    }
}

/// Whether it has ended; then it is reaped. An error means that it is no child of ours any more.
fn has_ended(pidfd: &OwnedFd) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    !matches!(waitid(WaitId::PidFd(pidfd.as_fd()), options), Ok(None))
}
