//! What a host does where a supervisor was killed or stopped.
//!
//! A program of the same user can do both, unless a sandbox's scope for signals or a PID namespace is in
//! the way.
//!
//! All of it is best effort: `/proc` may be hidden, and a process that left the session of a killed
//! supervisor is not found. The proof that a tree is gone lies elsewhere, with the supervisor's
//! exit code or with the control group.

use std::path::Path;

use crate::processes::{Stat, children, entries, kill_below, kill_if};

/// How often a session is looked through: a program that forks as fast as it is killed is not waited
/// for. Two rounds are the rule.
const MAX_ROUNDS: u32 = 100;

/// Kills every process of the session that a killed supervisor led: programs that stayed in it. One
/// that made a session of its own is not found: its descent is lost with the supervisor. The supervisor is dead
/// and not reaped, so that no other process has its number, and with it the session's.
///
/// Only for supervisors that led a session: those of programs with isolation.
pub(super) fn kill_session(leader: i32) {
    for _ in 0..MAX_ROUNDS {
        let mut is_over = true;
        for pid in entries(Path::new("/proc")).filter(|it| *it != leader) {
            is_over &= !kill_if(pid, |it| it.session == leader && it.is_alive());
        }
        if is_over {
            return;
        }
    }
}

/// Kills everything below a supervisor that is stopped: the process that stops it is there as well. Below one
/// that is not, kills the children that are stopped, as the first process of a namespace can be.
///
/// One pass. The callers repeat it for as long as the supervisor does not end.
pub(super) fn kill_below_stopped(supervisor: i32) {
    let Some(top) = Stat::of(supervisor) else { return };
    if top.is_stopped() {
        kill_below(supervisor);
        return;
    }
    for child in children(supervisor) {
        let is_stopped_child = |it: &Stat| {
            let is_ours = || Stat::of(supervisor).is_some_and(|it| it.start_tick == top.start_tick);
            it.is_stopped() && it.parent == supervisor && is_ours()
        };
        if Stat::of(child).is_some_and(|it| is_stopped_child(&it)) {
            kill_below(child);
            kill_if(child, is_stopped_child);
        }
    }
}
