//! What a host does where somebody has killed or stopped a supervisor.
//!
//! A program of the same user can do both, unless a sandbox's scope for signals or a PID namespace is in
//! the way.
//!
//! Who is to be killed is found in `/proc` by a number, which may be a stranger's an instant later. So a
//! process is held first (pidfd_open(2)), looked at then, and killed by what holds it.

use std::{fs, os::fd::OwnedFd, path::Path};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// How often a session is looked through: a program that forks as fast as it is killed is not waited
/// for. Two rounds are the rule.
const MAX_ROUNDS: u32 = 100;

/// Kills every process of the session that a killed supervisor led: programs that stayed in it. One
/// that made a session of its own is not found: its descent is lost with the supervisor. That one is dead
/// and not reaped, so that nobody else has its number, and with it the session's.
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

/// Lets a stopped supervisor go on. One that is not stopped does not notice.
pub(super) fn wake(supervisor: &OwnedFd) {
    // It may have ended.
    let _ = pidfd_send_signal(supervisor, Signal::CONT);
}

/// Kills everything below a supervisor that is stopped: whoever stops it is there as well. Below one
/// that is not, kills the children that are stopped, as the first process of a namespace can be.
pub(super) fn kill_below_stopped(supervisor: i32) {
    let Some(top) = Stat::of(supervisor) else { return };
    let mut next: Vec<_> =
        children(supervisor).into_iter().map(|it| (it, supervisor, top)).collect();
    if !top.is_stopped() {
        next.retain(|(pid, ..)| Stat::of(*pid).is_some_and(|it| it.is_stopped()));
    }
    while let Some((pid, parent, parents)) = next.pop() {
        // A parent that is who it was had its number all the while. Whoever has lost his is the supervisor's.
        let is_below = |it: &Stat| {
            [(parent, parents), (supervisor, top)].into_iter().any(|(pid, stat)| {
                it.parent == pid && Stat::of(pid).is_some_and(|it| it.born == stat.born)
            })
        };
        let Some(stat) = Stat::of(pid).filter(is_below) else { continue };
        next.extend(children(pid).into_iter().map(|it| (it, pid, stat)));
        kill_if(pid, is_below);
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

/// Kills a process if it is one of those that are meant, and says whether it is.
fn kill_if(pid: i32, is_meant: impl Fn(&Stat) -> bool) -> bool {
    let held = Pid::from_raw(pid).and_then(|it| pidfd_open(it, PidfdFlags::empty()).ok());
    // What is read here is of the process that is held, or that one has ended and cannot be hit.
    let Some(held) = held.filter(|_| Stat::of(pid).is_some_and(|it| is_meant(&it))) else {
        return false;
    };
    let _ = pidfd_send_signal(held, Signal::KILL);
    true
}

/// Entries that are numbers; none where there is no such directory.
fn entries(dir: &Path) -> impl Iterator<Item = i32> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|it| it.file_name().to_str()?.parse().ok())
}

/// What is needed of `/proc/PID/stat` (proc_pid_stat(5)).
#[derive(Clone, Copy)]
struct Stat {
    state: u8,
    parent: i32,
    session: i32,
    /// The clock tick of its start, which tells it from others that have had its number.
    born: u64,
}

impl Stat {
    fn of(pid: i32) -> Option<Self> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The name may hold anything; what follows it begins with the state, field 3. The parent is field 4,
        // the session 6, the start 22.
        let name_end = stat.iter().rposition(|it| *it == b')')?;
        let mut fields = str::from_utf8(stat.get(name_end + 2..)?).ok()?.split(' ');
        Some(Self {
            state: *fields.next()?.as_bytes().first()?,
            parent: fields.next()?.parse().ok()?,
            session: fields.nth(1)?.parse().ok()?,
            born: fields.nth(15)?.parse().ok()?,
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
