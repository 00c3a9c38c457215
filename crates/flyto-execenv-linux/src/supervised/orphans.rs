//! Processes that a killed supervisor has left to this process.
//!
//! A process that loses its parent becomes a child of the nearest subreaper above it (`PR_SET_CHILD_SUBREAPER`,
//! prctl(2)). That is the supervisor, as long as it lives, and the host after that, if the host has asked for it
//! with [`adopt`]. A library must not: it would take over the children of the program that it is part of.

use std::{
    collections::BTreeSet,
    io, process,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, set_child_subreaper, waitid,
};

use crate::processes::{Stat, children, kill_below};

/// Whether this process has orphans.
///
/// Set once by [`adopt`] and never taken back.
static ADOPTS: AtomicBool = AtomicBool::new(false);

/// The children that this backend has started and not reaped.
///
/// Kept only where this process adopts orphans. A child that is missing here would be killed as an
/// orphan.
static OWN: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// How often the children are looked through in one go: two rounds are the rule.
const MAX_ROUNDS: u32 = 100;

/// Has the kernel give this process what killed supervisors leave.
///
/// # Errors
///
/// Those of prctl(2). After success every unknown child of this process counts as an orphan.
pub(crate) fn adopt() -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    ADOPTS.store(true, Ordering::Relaxed);
    Ok(())
}

fn own() -> MutexGuard<'static, BTreeSet<i32>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a child that is no orphan.
///
/// `pid` tells the number of what was started. Without adoption this only calls `start`.
///
/// # Errors
///
/// Those of `start`.
pub(crate) fn start<T, E>(
    start: impl FnOnce() -> Result<T, E>,
    pid: impl Fn(&T) -> i32,
) -> Result<T, E> {
    if !ADOPTS.load(Ordering::Relaxed) {
        return start();
    }
    // Held meanwhile: a child that is not on the list yet would be taken for an orphan.
    let mut own = own();
    let started = start()?;
    own.insert(pid(&started));
    Ok(started)
}

/// Takes a child off the list that was reaped.
///
/// Called after the child was reaped, when its number may be used again.
pub(crate) fn forget(pid: i32) {
    if ADOPTS.load(Ordering::Relaxed) {
        own().remove(&pid);
    }
}

/// Kills orphans with all that they have started, and says whether none is left. They are reaped when all are
/// dead: until then they count against the bound on processes, so that a program that multiplies as fast as it
/// is killed comes to a stop.
///
/// `true` at once where this process does not adopt orphans: then there is nothing that it could
/// find.
pub(super) fn end() -> bool {
    if !ADOPTS.load(Ordering::Relaxed) {
        return true;
    }
    let own = own();
    let host = i32::try_from(process::id()).unwrap_or_default();
    let orphans = || -> Vec<i32> {
        let mut res = children(host);
        res.retain(|it| !own.contains(it));
        res
    };
    for _ in 0..MAX_ROUNDS {
        let found = orphans();
        if found.is_empty() {
            return true;
        }
        let mut alive = 0;
        for pid in &found {
            // A child that was not reaped keeps its number.
            if Stat::of(*pid).is_some_and(|it| it.is_alive()) {
                alive += 1;
                let _ = Pid::from_raw(*pid).map(|it| kill_process(it, Signal::KILL));
                kill_below(*pid);
            }
        }
        if alive == 0 && orphans().len() == found.len() {
            for pid in found.into_iter().filter_map(Pid::from_raw) {
                let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
                let _ = waitid(WaitId::Pid(pid), options);
            }
        }
    }
    false
}
