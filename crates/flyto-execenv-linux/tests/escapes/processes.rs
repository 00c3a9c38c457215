//! Finding processes by a word in their arguments, which forks share.

use std::{
    fs,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open},
};

/// Living processes with `marker` in their arguments. Those that have ended have none.
pub(crate) fn alive(marker: &str) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").expect("proc(5)");
    entries
        .flatten()
        .filter_map(|it| it.file_name().to_str()?.parse().ok())
        .filter(|pid: &i32| {
            let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            arguments.windows(marker.len()).any(|it| it == marker.as_bytes())
        })
        .filter_map(Pid::from_raw)
        .collect()
}

/// Waits for the end of all of them, at most `timeout`; says how many are left.
pub(crate) fn wait_for_end(marker: &str, timeout: Duration) -> usize {
    let give_up = Instant::now() + timeout;
    loop {
        let left = alive(marker);
        let Some(rest) = give_up.checked_duration_since(Instant::now()) else { return left.len() };
        let Some(first) = left.first() else { return 0 };
        if let Ok(pidfd) = pidfd_open(*first, PidfdFlags::empty()) {
            let rest = rest.try_into().expect("minutes");
            let _ = poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&rest));
        }
    }
}

/// Kills all of them, also those that they make meanwhile; somebody limits how many that can be.
pub(crate) fn kill_all(marker: &str) {
    loop {
        let left = alive(marker);
        if left.is_empty() {
            return;
        }
        for pid in left {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}
