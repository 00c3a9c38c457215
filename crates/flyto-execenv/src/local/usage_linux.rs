//! What running processes have used, as proc(5) tells it.

use std::{fs, path::Path, time::Duration};

use rustix::process::Pid;

use crate::{PeakMemory, Usage};

/// How many processes are looked at: 256.
const MAX_PROCESSES: usize = 256;

/// What a process and its descendants have used so far: their CPU time, and the memory of the largest one at its peak.
/// With `is_counted` false, what is below the process counts alone.
///
/// CPU time is that of threads that still run. [`Usage::unknown`] where the system does not tell.
#[must_use]
pub fn usage_so_far(process: Pid, is_counted: bool) -> Usage {
    let mut cpu = None;
    let mut peak = None;
    let mut found = vec![process];
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        let dir = format!("/proc/{}", pid.as_raw_nonzero());
        let room = MAX_PROCESSES - found.len();
        for thread in fs::read_dir(Path::new(&dir).join("task")).into_iter().flatten().flatten() {
            let thread = thread.path();
            if next > 0 || is_counted {
                let used = on_cpu(&thread);
                cpu = used.map(|it| it + cpu.unwrap_or_default()).or(cpu);
            }
            let children = fs::read_to_string(thread.join("children")).unwrap_or_default();
            let children = children.split_ascii_whitespace().filter_map(|it| it.parse().ok());
            found.extend(children.filter_map(Pid::from_raw).take(room));
        }
        if next > 0 || is_counted {
            peak = peak.max(peak_bytes(Path::new(&dir)));
        }
        next += 1;
        found.truncate(MAX_PROCESSES);
    }
    let peak = peak.map_or(PeakMemory::Unknown, PeakMemory::LargestProcess);
    let res = Usage::unknown().peak_memory(peak);
    // The scheduler counts time in user mode and in system mode together (proc_pid_schedstat(5)).
    match cpu {
        Some(cpu) => res.user_cpu(cpu).system_cpu(Duration::ZERO),
        None => res,
    }
}

/// The time of one thread on a CPU; `None` where the thread is gone, or the kernel counts none.
fn on_cpu(thread: &Path) -> Option<Duration> {
    let text = fs::read_to_string(thread.join("schedstat")).ok()?;
    text.split_ascii_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// `VmHWM` of proc_pid_status(5).
fn peak_bytes(process: &Path) -> Option<u64> {
    let text = fs::read_to_string(process.join("status")).ok()?;
    let line = text.lines().find_map(|it| it.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_used_something() {
        let usage = usage_so_far(rustix::process::getpid(), true);
        assert!(usage.cpu() > Some(Duration::ZERO));
        assert!(usage.peak_memory.bytes() > Some(1 << 20), "{usage:?}");
    }

    #[test]
    fn a_process_that_is_not_there_has_no_usage() {
        let nowhere = Pid::from_raw(i32::MAX).expect("above zero");
        assert_eq!(usage_so_far(nowhere, true), Usage::unknown());
    }
}
