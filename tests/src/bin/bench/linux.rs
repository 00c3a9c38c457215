//! What only Linux offers.

use std::fs;

use nix::{
    sched::{CpuSet, sched_getaffinity, sched_setaffinity},
    sys::prctl::set_thp_disable,
    unistd::Pid,
};

use crate::Result;

/// The CPUs that this process and the workers it starts may use.
#[derive(Debug)]
pub(crate) struct Cpus {
    all: CpuSet,
}

impl Cpus {
    pub(crate) fn current() -> Result<Self> {
        Ok(Self { all: sched_getaffinity(Pid::from_raw(0))? })
    }

    /// Keeps to one CPU: the second, since the first serves most interrupts; the only one if need
    /// be. Says which.
    pub(crate) fn pin(&self) -> Result<String> {
        let is_allowed = |cpu: &usize| self.all.is_set(*cpu).unwrap_or(false);
        let mut allowed = (0..CpuSet::count()).filter(is_allowed);
        let (first, second) = (allowed.next(), allowed.next());
        let cpu = second.or(first).ok_or("no CPU is allowed")?;
        let mut one = CpuSet::new();
        one.set(cpu)?;
        sched_setaffinity(Pid::from_raw(0), &one)?;
        Ok(format!("pinned to CPU {cpu}"))
    }

    /// Lifts [`Cpus::pin`].
    pub(crate) fn unpin(&self) -> Result<String> {
        sched_setaffinity(Pid::from_raw(0), &self.all)?;
        Ok("on all CPUs".to_owned())
    }
}

/// Keeps the workers' memory in ordinary pages: a fork copies the tables of those, and whether a
/// machine uses huge ones unasked differs.
pub(crate) fn disable_huge_pages() -> Result {
    Ok(set_thp_disable(true)?)
}

/// Memory that programs can still get, in MiB.
pub(crate) fn available_mib() -> Option<usize> {
    Some(field("/proc/meminfo", "MemAvailable:")? / 1024)
}

/// CPU time of children that are alive, and of their children that have ended, in µs: what helpers that
/// stay from call to call have used. getrusage(2) does not count them.
pub(crate) fn living_children_cpu_us() -> i64 {
    let Ok(threads) = fs::read_dir("/proc/self/task") else { return 0 };
    let children =
        threads.flatten().filter_map(|it| fs::read_to_string(it.path().join("children")).ok());
    children.map(|it| it.split_whitespace().map(cpu_us_of).sum::<i64>()).sum()
}

fn cpu_us_of(pid: &str) -> i64 {
    // Nanoseconds on a CPU of its one thread (proc_pid_schedstat); ticks of those it waited for.
    let read = |file| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let own_ns: i64 =
        read("schedstat").split(' ').next().and_then(|it| it.parse().ok()).unwrap_or(0);
    let stat = read("stat");
    let after = stat.rsplit_once(')').map_or("", |it| it.1);
    // Fields 16 and 17, where the state, field 3, is the first one after the name.
    let waited: i64 =
        after.split_whitespace().skip(13).take(2).filter_map(|it| it.parse::<i64>().ok()).sum();
    own_ns / 1_000 + waited * 10_000
}

/// Resident memory at some point of this process.
#[derive(Debug)]
pub(crate) struct Resident {
    kib: usize,
}

impl Resident {
    /// What is resident now; the peak is counted from here (proc_pid_clear_refs(5)).
    pub(crate) fn now() -> Result<Self> {
        fs::write("/proc/self/clear_refs", "5")?;
        let kib = field("/proc/self/status", "VmRSS:").ok_or("/proc tells no resident memory")?;
        Ok(Self { kib })
    }

    /// Bytes that the peak since then lies above it.
    pub(crate) fn peak_growth(&self) -> f64 {
        let peak = field("/proc/self/status", "VmHWM:").unwrap_or(self.kib);
        peak.saturating_sub(self.kib) as f64 * 1024.0
    }
}

/// The number in KiB behind `name`.
fn field(file: &str, name: &str) -> Option<usize> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|it| it.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}
