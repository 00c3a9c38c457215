//! Ending everything in a group of version 2, and knowing it.
//!
//! A write to `cgroup.kill` is no proof. It leaves a process alive whose first thread has ended before, it fails
//! in a group that was made threaded (`cgroup.type`), and it says nothing of what happens afterwards. The proof
//! is `populated 0` in `cgroup.events`, which counts the groups below too; what remains until then is found
//! through `cgroup.threads` (cgroups(7)).

use std::{
    fs::{self, OpenOptions},
    io::{self, ErrorKind},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::home::{number, subgroups, write};
use crate::{
    bare::lock,
    processes::{kill_below, kill_threads_of, wake},
};

/// The longest wait between two looks at a group that is being ended: 5 ms.
///
/// The first wait is 50 µs, and each is twice the one before.
const LAST_PAUSE: Duration = Duration::from_millis(5);

/// How long the supervisor of an abandoned group is left to finish: 2 s. It gives itself a quarter of that for
/// what it can find, before it kills the group.
const FINISH_TIME: Duration = Duration::from_secs(2);

/// How long the end of an abandoned group is waited for after that: 1 s. What is left then, the next host finds.
const END_TIME: Duration = Duration::from_secs(1);

/// Kills everything in a group and in those below it, once; says whether nothing is left.
///
/// After that the group is not to be used again: Linux kills whatever is born in it later.
///
/// Does not wait: a process that sleeps in the kernel may still be there, and then this says
/// `false`.
pub(super) fn kill(group: &Path) -> bool {
    // In a threaded group, which a program with the right to write here can make of it, this fails.
    let _ = write(&group.join("cgroup.kill"), "1");
    if is_empty(group) {
        return true;
    }
    kill_threads_below(group);
    is_empty(group)
}

/// Kills again and again until nothing is left; says whether it came to that in time.
///
/// Blocks the thread for `at_most` and the time of one round.
pub(super) fn end(group: &Path, at_most: Duration) -> bool {
    let give_up = Instant::now() + at_most;
    let mut pause = Duration::from_micros(50);
    while !kill(group) {
        if Instant::now() >= give_up {
            return false;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LAST_PAUSE);
    }
    true
}

/// Whether no process that has not ended is in a group or in one below it. A group that is gone is empty; one
/// that cannot be asked is not.
pub(super) fn is_empty(group: &Path) -> bool {
    match fs::read_to_string(group.join("cgroup.events")) {
        Ok(events) => events.contains("populated ") && number(&events, "populated") == 0,
        Err(err) => err.kind() == ErrorKind::NotFound && !group.exists(),
    }
}

/// Recursive over the groups below; their depth is bounded by `cgroup.max.depth` (cgroups(7)).
fn kill_threads_below(group: &Path) {
    let _ = kill_threads_of(group);
    subgroups(group).for_each(|it| kill_threads_below(&it));
}

/// Ends what is in the groups of a host that is gone, below `home`.
///
/// A supervisor that is still there ends its programs, those included that have left its group, and then itself:
/// to kill the group would stop it half way. So it is left to finish. One that has not finished in time is held
/// by something, and its work is done here: what is below it is killed wherever it is, then its group.
///
/// Blocks for [`FINISH_TIME`] and twice [`END_TIME`] at most, for one held supervisor; each further
/// one adds [`END_TIME`].
pub(super) fn finish_abandoned(home: &Path) {
    let groups: Vec<_> = subgroups(home).collect();
    let supervisors = || groups.iter().filter_map(|it| supervisor_of(it));
    // One that a program has stopped or frozen goes on.
    groups.iter().for_each(|it| _ = write(&it.join("cgroup.freeze"), "0"));
    let give_up = Instant::now() + FINISH_TIME;
    let mut pause = Duration::from_micros(200);
    while supervisors().next().is_some() && Instant::now() < give_up {
        for pid in supervisors() {
            let held = Pid::from_raw(pid).and_then(|it| pidfd_open(it, PidfdFlags::empty()).ok());
            // The number is the supervisor's as long as that has the lock.
            held.iter().filter(|_| supervisors().any(|it| it == pid)).for_each(wake);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LAST_PAUSE);
    }
    for pid in supervisors() {
        let give_up = Instant::now() + END_TIME;
        while kill_below(pid) && Instant::now() < give_up {
            thread::sleep(LAST_PAUSE);
        }
    }
    end(home, END_TIME);
}

/// The process number of the supervisor that has claimed a group; 0 where it is of a PID namespace that has none
/// for it here.
fn supervisor_of(group: &Path) -> Option<i32> {
    let file = OpenOptions::new().write(true).open(group.join("cgroup.kill")).ok()?;
    let holder: io::Result<Option<i32>> = lock::holder(&file);
    holder.ok().flatten()
}
