//! Processes as `/proc` shows them, and ending them by what it shows.
//!
//! A number in `/proc` may be another process's an instant later. So a process is held first (pidfd_open(2)),
//! looked at then, and killed through what holds it: it is the one that was looked at, or nothing.
//!
//! A process whose first thread has ended while others run looks dead (`Z`) and is not. Linux sends a signal
//! for the process to any thread that runs, but cgroup.kill (cgroups(7)) to the first one only.
//!
//! Every function takes numbers that may be stale and answers for the process that it held. A
//! process that ends meanwhile is no error: `None`, `false` or an empty list. Nothing here waits
//! for a process to end.

use std::{
    fs,
    io::{self, ErrorKind},
    os::fd::OwnedFd,
    path::Path,
};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// What is needed of `/proc/PID/stat` (proc_pid_stat(5)).
///
/// A snapshot: the process may have ended by the time it is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stat {
    state: u8,
    /// The number of its parent, of this process's PID namespace; 0 where the parent is outside of
    /// that.
    pub(crate) parent: i32,
    /// The number of the process that led its session (setsid(2)).
    pub(crate) session: i32,
    n_threads: u32,
    /// The clock tick of its start, which tells it from others that have had its number.
    pub(crate) start_tick: u64,
}

impl Stat {
    /// `None` where no process has this number, or `/proc` does not show it. The name in the second
    /// field may hold blanks and parentheses, so fields are counted from the last parenthesis.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The name may hold anything; what follows it begins with the state, field 3. The parent is field 4,
        // the session 6, the number of threads 20, the start 22.
        let name_end = stat.iter().rposition(|it| *it == b')')?;
        let mut fields = str::from_utf8(stat.get(name_end + 2..)?).ok()?.split(' ');
        Some(Self {
            state: *fields.next()?.as_bytes().first()?,
            parent: fields.next()?.parse().ok()?,
            session: fields.nth(1)?.parse().ok()?,
            n_threads: fields.nth(13)?.parse().ok()?,
            start_tick: fields.nth(1)?.parse().ok()?,
        })
    }

    /// Whether a thread of it runs. One that has ended counts itself until its parent has reaped it.
    pub(crate) fn is_alive(&self) -> bool {
        !matches!(self.state, b'Z' | b'X') || self.n_threads > 1
    }

    /// By a signal, or by a process that traces it.
    ///
    /// A stopped process ends by SIGKILL, but answers nothing until SIGCONT.
    pub(crate) fn is_stopped(&self) -> bool {
        matches!(self.state, b'T' | b't')
    }
}

/// Kills a process if it is one of those that are meant, and says whether it is.
///
/// Sends SIGKILL. `is_meant` is asked after the process is held, so its answer is about the process
/// that is killed.
pub(crate) fn kill_if(pid: i32, is_meant: impl Fn(&Stat) -> bool) -> bool {
    // What is read of it is of the process that is held, or that one has ended and cannot be hit.
    kill_held(pid, || Stat::of(pid).is_some_and(|it| is_meant(&it)))
}

/// Kills the process that has this number when `is_meant` says yes, and says whether it did.
fn kill_held(pid: i32, is_meant: impl FnOnce() -> bool) -> bool {
    let held = Pid::from_raw(pid).and_then(|it| pidfd_open(it, PidfdFlags::empty()).ok());
    let Some(held) = held.filter(|_| is_meant()) else { return false };
    let _ = pidfd_send_signal(held, Signal::KILL);
    true
}

/// Lets a stopped process go on. One that is not stopped does not notice.
pub(crate) fn wake(process: &OwnedFd) {
    // It may have ended.
    let _ = pidfd_send_signal(process, Signal::CONT);
}

/// The children of a process. Each belongs to one of the threads of its parent.
///
/// Direct children only, those of all of its threads. Empty where the kernel was built without
/// `CONFIG_PROC_CHILDREN`.
pub(crate) fn children(pid: i32) -> Vec<i32> {
    let mut res = Vec::new();
    for thread in entries(&Path::new("/proc").join(pid.to_string()).join("task")) {
        let list = format!("/proc/{pid}/task/{thread}/children");
        res.extend(numbers(&fs::read_to_string(list).unwrap_or_default()));
    }
    res
}

/// Kills every descendant of a process; says whether there was one that had not ended.
///
/// One pass from the top down. A process that forks meanwhile may leave children that were not
/// seen, so the caller repeats this until it says `false`.
pub(crate) fn kill_below(top: i32) -> bool {
    let Some(stat) = Stat::of(top) else { return false };
    let mut any = false;
    let mut next: Vec<_> = children(top).into_iter().map(|it| (it, top, stat)).collect();
    while let Some((pid, parent, parents)) = next.pop() {
        // A parent that is still the same process had its number all the while. An orphan has become a child of `top`.
        let is_below = |it: &Stat| {
            [(parent, parents), (top, stat)].into_iter().any(|(pid, stat)| {
                it.parent == pid && Stat::of(pid).is_some_and(|it| it.start_tick == stat.start_tick)
            })
        };
        let Some(stat) = Stat::of(pid).filter(is_below) else { continue };
        next.extend(children(pid).into_iter().map(|it| (it, pid, stat)));
        any |= stat.is_alive() && kill_if(pid, is_below);
    }
    any
}

/// Entries that are numbers; none where there is no such directory.
pub(crate) fn entries(dir: &Path) -> impl Iterator<Item = i32> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|it| it.file_name().to_str()?.parse().ok())
}

/// Kills every process that has a thread in this cgroup (`cgroup.threads`, cgroups(7)), by its process rather
/// than by its thread.
///
/// # Errors
///
/// Those of reading the list; a cgroup that is gone is no error.
///
/// This reaches processes that `cgroup.kill` misses: those whose first thread has ended before.
pub(crate) fn kill_threads_of(cgroup: &Path) -> io::Result<()> {
    let list = cgroup.join("cgroup.threads");
    let threads = match fs::read_to_string(&list) {
        Err(err) if err.kind() == ErrorKind::NotFound => return Ok(()),
        res => res?,
    };
    for thread in numbers(&threads) {
        let Some(process) = process_of(thread) else { continue };
        kill_held(process, || {
            // The thread is in the cgroup, and of the process that is held.
            let now = fs::read_to_string(&list).unwrap_or_default();
            numbers(&now).any(|it| it == thread) && process_of(thread) == Some(process)
        });
    }
    Ok(())
}

/// The process of a thread (`Tgid`, proc_pid_status(5)).
fn process_of(thread: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    status.lines().find_map(|it| it.strip_prefix("Tgid:"))?.trim().parse().ok()
}

fn numbers(text: &str) -> impl Iterator<Item = i32> {
    text.split_ascii_whitespace().flat_map(str::parse)
}
