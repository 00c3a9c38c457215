//! What a host does where somebody has killed or stopped a supervisor.
//!
//! A program of the same user can do both, unless a sandbox's scope for signals or a PID namespace is in
//! the way.

use std::{fs, os::fd::OwnedFd, path::Path};

use rustix::process::{Pid, Signal, kill_process, pidfd_send_signal};

/// How often a session is looked through: a program that forks as fast as it is killed is not waited
/// for. Two rounds are the rule.
const MAX_ROUNDS: u32 = 100;

/// Kills every process of the session that a killed supervisor led: programs that stayed in it. One
/// that made a session of its own is not found: its descent is lost with the supervisor. That one is dead
/// and not reaped, so that nobody else has its number, and with it the session's.
pub(super) fn kill_session(leader: i32) {
    for _ in 0..MAX_ROUNDS {
        let members = entries(Path::new("/proc")).filter(|pid| {
            *pid != leader && Stat::of(*pid).is_some_and(|it| it.session == leader && it.is_alive())
        });
        let mut is_over = true;
        for pid in members {
            is_over = false;
            kill(pid);
        }
        if is_over {
            return;
        }
    }
}

/// Lets a stopped supervisor go on. One that is not stopped does not notice.
pub(super) fn wake(supervisor: &OwnedFd) {
    // It may have ended.
    let _ = pidfd_send_signal(supervisor, Signal::CONT);
}

/// Kills everything below a supervisor that is stopped: whoever stops it is there as well. Below one
/// that is not, kills the children that are stopped, as the first process of a namespace can be.
pub(super) fn kill_below_stopped(supervisor: i32) {
    let is_stopped = |pid: &i32| Stat::of(*pid).is_some_and(|it| it.is_stopped());
    let mut next = children(supervisor);
    if !is_stopped(&supervisor) {
        next.retain(is_stopped);
    }
    while let Some(pid) = next.pop() {
        next.extend(children(pid));
        kill(pid);
    }
}

/// Each belongs to one of the threads of its parent.
fn children(pid: i32) -> Vec<i32> {
    let mut res = Vec::new();
    for thread in entries(&Path::new("/proc").join(pid.to_string()).join("task")) {
        let list = format!("/proc/{pid}/task/{thread}/children");
        let list = fs::read_to_string(list).unwrap_or_default();
        res.extend(list.split_ascii_whitespace().flat_map(str::parse::<i32>));
    }
    res
}

fn kill(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Entries that are numbers; none where there is no such directory.
fn entries(dir: &Path) -> impl Iterator<Item = i32> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|it| it.file_name().to_str()?.parse().ok())
}

/// What is needed of `/proc/PID/stat` (proc_pid_stat(5)).
struct Stat {
    state: u8,
    session: i32,
}

impl Stat {
    fn of(pid: i32) -> Option<Self> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The name may hold anything; the state follows it, and the session is the fourth after it.
        let name_end = stat.iter().rposition(|it| *it == b')')?;
        let mut fields = str::from_utf8(stat.get(name_end + 2..)?).ok()?.split(' ');
        Some(Self {
            state: *fields.next()?.as_bytes().first()?,
            session: fields.nth(2)?.parse().ok()?,
        })
    }

    fn is_alive(&self) -> bool {
        !matches!(self.state, b'Z' | b'X')
    }

    /// By a signal, or by somebody who traces it.
    fn is_stopped(&self) -> bool {
        matches!(self.state, b'T' | b't')
    }
}
