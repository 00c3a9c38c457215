//! Ending everything in a cgroup of version 2, and knowing it.
//!
//! A write to `cgroup.kill` is no proof. It leaves a process alive whose first thread has ended before, it fails
//! in a cgroup that was made threaded (`cgroup.type`), and it says nothing of what happens afterwards. The proof
//! is `populated 0` in `cgroup.events`, which counts the cgroups below too; what remains until then is found
//! through `cgroup.threads` (cgroups(7)).

use std::{
    fs::{self, OpenOptions},
    io::{self, ErrorKind},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::home::{cgroups_below, number, write};
use crate::{
    bare::lock,
    processes::{kill_below, kill_threads_of, wake},
};

/// The longest wait between two looks at a cgroup that is being ended: 5 ms.
///
/// The first wait is 50 µs, and each is twice the one before.
const LAST_PAUSE: Duration = Duration::from_millis(5);

/// How long the supervisor of an abandoned cgroup is left to finish: 2 s. It gives itself a quarter of that for
/// what it can find, before it kills the cgroup.
const FINISH_TIME: Duration = Duration::from_secs(2);

/// How long the end of an abandoned cgroup is waited for after that: 1 s. What is left then, the next host finds.
const END_TIME: Duration = Duration::from_secs(1);

/// Kills everything in a cgroup and in those below it, once; says whether nothing is left.
///
/// After that the cgroup is not to be used again: Linux kills whatever is started in it later.
///
/// Does not wait: a process that sleeps in the kernel may still be there, and then this says
/// `false`.
pub(super) fn kill(cgroup: &Path) -> bool {
    // In a threaded cgroup, which a program with the right to write here can make of it, this fails.
    let _ = write(&cgroup.join("cgroup.kill"), "1");
    if is_empty(cgroup) {
        return true;
    }
    kill_threads_below(cgroup);
    is_empty(cgroup)
}

/// Kills again and again until nothing is left; says whether it came to that in time.
///
/// Blocks the thread for `at_most` and the time of one round.
pub(super) fn end(cgroup: &Path, at_most: Duration) -> bool {
    let give_up = Instant::now() + at_most;
    let mut pause = Duration::from_micros(50);
    while !kill(cgroup) {
        if Instant::now() >= give_up {
            return false;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LAST_PAUSE);
    }
    true
}

/// Whether no process that has not ended is in a cgroup or in one below it. A cgroup that is gone is empty; one
/// that cannot be asked is not.
pub(super) fn is_empty(cgroup: &Path) -> bool {
    match fs::read_to_string(cgroup.join("cgroup.events")) {
        Ok(events) => events.contains("populated ") && number(&events, "populated") == 0,
        Err(err) => err.kind() == ErrorKind::NotFound && !cgroup.exists(),
    }
}

/// Recursive over the cgroups below; their depth is bounded by `cgroup.max.depth` (cgroups(7)).
fn kill_threads_below(cgroup: &Path) {
    let _ = kill_threads_of(cgroup);
    cgroups_below(cgroup).for_each(|it| kill_threads_below(&it));
}

/// Ends what is in the cgroups of a host that is gone, below `home`.
///
/// A supervisor that is still there ends its programs, those included that have left its cgroup, and then itself:
/// to kill the cgroup would stop it half way. So it is left to finish. One that has not finished in time is held
/// by something, and its work is done here: what is below it is killed wherever it is, then its cgroup.
///
/// Blocks for [`FINISH_TIME`] and twice [`END_TIME`] at most, for one held supervisor; each further
/// one adds [`END_TIME`].
pub(super) fn finish_abandoned(home: &Path) {
    let cgroups: Vec<_> = cgroups_below(home).collect();
    let supervisors = || cgroups.iter().filter_map(|it| supervisor_of(it));
    // One that a program has stopped or frozen goes on.
    cgroups.iter().for_each(|it| _ = write(&it.join("cgroup.freeze"), "0"));
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

/// The process number of the supervisor that has claimed a cgroup; 0 where it is of a PID namespace that has none
/// for it here.
fn supervisor_of(cgroup: &Path) -> Option<i32> {
    let file = OpenOptions::new().write(true).open(cgroup.join("cgroup.kill")).ok()?;
    let holder: io::Result<Option<i32>> = lock::holder(&file);
    holder.ok().flatten()
}
