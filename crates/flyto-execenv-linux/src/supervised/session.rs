//! What is left to do when a supervisor was killed.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// Kills every process of the session that a killed supervisor led: programs that stayed in it. One
/// that made a session of its own is not found; that is what a sandbox's scope for signals is for.
pub(super) fn kill(leader: i32) {
    let Ok(processes) = fs::read_dir("/proc") else { return };
    let pids = processes.flatten().filter_map(|it| it.file_name().to_str()?.parse::<i32>().ok());
    for pid in pids.filter(|it| session_of(*it) == Some(leader)) {
        if let Some(pid) = Pid::from_raw(pid) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// The sixth field of `/proc/PID/stat`, the fourth after the name (proc_pid_stat(5)).
fn session_of(pid: i32) -> Option<i32> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let name_end = stat.iter().rposition(|it| *it == b')')?;
    let fields = str::from_utf8(stat.get(name_end + 2..)?).ok()?;
    fields.split(' ').nth(3)?.parse().ok()
}
