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
