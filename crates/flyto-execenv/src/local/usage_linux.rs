//! What running processes have used, as proc(5) tells it.

use std::{fs, path::Path, time::Duration};

use rustix::process::Pid;

use crate::{PeakMemory, Usage};

/// How many processes are looked at: 256 for what they used, and for the memory that they hold the 1,024 that a tree may have by
/// default.
const MAX_PROCESSES: usize = 256;
const MAX_HOLDERS: usize = 1024;

/// What a process and its descendants have used so far: their CPU time, and the memory of the largest one at its peak.
/// With `is_counted` false, what is below the process counts alone.
///
/// CPU time is that of threads that still run. [`Usage::unknown`] where the system does not tell.
#[must_use]
pub fn usage_so_far(process: Pid, is_counted: bool) -> Usage {
    let mut cpu = None;
    let mut peak = None;
    let on_thread = |thread: &Path| {
        let used = on_cpu(thread);
        cpu = used.map(|it| it + cpu.unwrap_or_default()).or(cpu);
    };
    let on_process = |process: &Path| peak = peak.max(peak_bytes(process));
    each_in_tree(process, is_counted, MAX_PROCESSES, on_thread, on_process);
    let peak = peak.map_or(PeakMemory::Unknown, PeakMemory::LargestProcess);
    let res = Usage::unknown().peak_memory(peak);
    // The scheduler counts time in user mode and in system mode together (proc_pid_schedstat(5)).
    match cpu {
        Some(cpu) => res.user_cpu(cpu).system_cpu(Duration::ZERO),
        None => res,
    }
}

/// Bytes of memory that a process and its descendants hold now, swapped ones included; what several processes share counts once,
/// by parts. With `is_counted` false, what is below the process counts alone. `None` where the system does not tell.
///
/// Memory that no process has mapped, as that of a file of memfd_create(2), is not seen.
#[must_use]
pub fn memory_held(process: Pid, is_counted: bool) -> Option<u64> {
    let mut sum = None;
    let on_process = |process: &Path| {
        let held = held_bytes(process);
        sum = held.map(|it| sum.unwrap_or(0) + it).or(sum);
    };
    each_in_tree(process, is_counted, MAX_HOLDERS, |_| (), on_process);
    sum
}

/// Whether a process or one of its descendants is stopped.
pub(super) fn may_be_stopped(process: Pid) -> bool {
    let mut is_stopped = false;
    let on_process = |process: &Path| {
        let text = fs::read_to_string(process.join("status")).unwrap_or_default();
        is_stopped |= text.lines().any(|it| it.starts_with("State:\tT"));
    };
    each_in_tree(process, true, MAX_PROCESSES, |_| (), on_process);
    is_stopped
}

/// Visits a process and its descendants, so many of them at most, by their directories in proc(5): each thread, then its process.
fn each_in_tree(
    process: Pid,
    is_counted: bool,
    most: usize,
    mut on_thread: impl FnMut(&Path),
    mut on_process: impl FnMut(&Path),
) {
    let mut found = vec![process];
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        let dir = format!("/proc/{}", pid.as_raw_nonzero());
        let room = most.saturating_sub(found.len());
        for thread in fs::read_dir(Path::new(&dir).join("task")).into_iter().flatten().flatten() {
            let thread = thread.path();
            if next > 0 || is_counted {
                on_thread(&thread);
            }
            let children = fs::read_to_string(thread.join("children")).unwrap_or_default();
            let children = children.split_ascii_whitespace().filter_map(|it| it.parse().ok());
            found.extend(children.filter_map(Pid::from_raw).take(room));
        }
        if next > 0 || is_counted {
            on_process(Path::new(&dir));
        }
        next += 1;
        found.truncate(most);
    }
}

/// The time of one thread on a CPU; `None` where the thread is gone, or the kernel counts none.
fn on_cpu(thread: &Path) -> Option<Duration> {
    let text = fs::read_to_string(thread.join("schedstat")).ok()?;
    text.split_ascii_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// `VmHWM` of proc_pid_status(5).
fn peak_bytes(process: &Path) -> Option<u64> {
    bytes_in(&process.join("status"), &["VmHWM"])
}

/// Its part of all memory that it has mapped (proc_pid_smaps_rollup(5)), or all of it where that may not be read.
fn held_bytes(process: &Path) -> Option<u64> {
    bytes_in(&process.join("smaps_rollup"), &["Pss", "SwapPss"])
        .or_else(|| bytes_in(&process.join("status"), &["VmRSS", "VmSwap"]))
}

/// The sum of the sizes with these names; `None` where the file has none of them.
fn bytes_in(file: &Path, names: &[&str]) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let sizes = text.lines().filter_map(|line| {
        let (name, size) = line.split_once(':')?;
        let kib = size.trim().strip_suffix("kB").filter(|_| names.contains(&name))?;
        kib.trim().parse::<u64>().ok()?.checked_mul(1024)
    });
    sizes.reduce(u64::saturating_add)
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
    fn this_process_holds_some_memory() {
        let block = vec![1_u8; 32 << 20];
        let held = memory_held(rustix::process::getpid(), true);
        assert!(held > Some(32 << 20), "{held:?} with {}", std::hint::black_box(block).len());
    }

    #[test]
    fn a_process_that_is_not_there_has_no_usage() {
        let nowhere = Pid::from_raw(i32::MAX).expect("above zero");
        assert_eq!(memory_held(nowhere, true), None);
        assert_eq!(usage_so_far(nowhere, true), Usage::unknown());
    }
}
