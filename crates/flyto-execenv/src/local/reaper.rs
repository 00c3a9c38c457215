//! Reaping programs that were killed when their call was dropped.
//!
//! Dropping a [`GroupControl`](super::GroupControl) must not block and needs no runtime. The
//! program was killed before, so it usually is a zombie at once; the rest is reaped by one thread
//! of the process, which looks at intervals from 1 ms to 50 ms.

use std::{
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use super::control::Leader;

/// Killed programs that have not been reaped, and whether a thread is at work on them.
static LEFT: Mutex<(Vec<Box<dyn Leader>>, bool)> = Mutex::new((Vec::new(), false));

/// Reaps `child`, which has been sent `SIGKILL`, without blocking and without a runtime.
///
/// A program that takes a moment to die is left to a thread, which ends when there is nothing left
/// to reap. One thread serves all of them, since a program in an uninterruptible sleep must not keep
/// the others from being reaped.
pub(super) fn reap(mut child: Box<dyn Leader>) {
    if is_reaped(&mut *child) {
        return;
    }
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    left.0.push(child);
    if !left.1 {
        // Without a thread the next dropped call tries again.
        left.1 = thread::Builder::new().name("flyto-reaper".into()).spawn(reap_all).is_ok();
    }
}

/// Reaps every program that has ended; those that have not stay for the next time.
fn reap_all() {
    let mut pause = Duration::from_millis(1);
    loop {
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
        let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
        left.0.retain_mut(|child| !is_reaped(&mut **child));
        if left.0.is_empty() {
            left.1 = false;
            return;
        }
    }
}

/// Asks without waiting.
fn is_reaped(child: &mut dyn Leader) -> bool {
    // An error means that it is no child of ours any more.
    !matches!(child.try_reap(), Ok(None))
}
