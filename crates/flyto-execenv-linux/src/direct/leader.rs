//! A child that has not been reaped.
//!
//! [`DirectChild`] is what [`GroupControl`](flyto_execenv::local::GroupControl) holds of a program
//! that was started by [`direct`](super). Its number stays the program's until
//! [`try_reap`](Leader::try_reap) has reaped it, so a signal cannot hit another process.

use std::{
    io,
    os::fd::OwnedFd,
    sync::atomic::{AtomicU64, Ordering},
};

use flyto_execenv::{Ended, Exit, LimitKind, Limits, PeakMemory, Signal, Usage, local::Leader};
use flyto_supervision::Reached;

use crate::{
    bare::program::{self, Reaped, Started},
    cgroup::Events,
    enforcement,
    supervised::orphans,
};

/// A child of this process, and what it was bounded by.
///
/// The pidfd becomes readable at the program's end and is taken once, by the control that waits.
#[derive(Debug)]
pub(super) struct DirectChild {
    pid: i32,
    pidfd: Option<OwnedFd>,
    limits: Limits,
}

impl DirectChild {
    /// Takes over a program that was started with these limits.
    pub(super) fn new(started: Started, limits: &Limits) -> Self {
        let Started { pid, pidfd } = started;
        Self { pid, pidfd: Some(pidfd), limits: limits.clone() }
    }
}

impl Leader for DirectChild {
    fn id(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    fn take_pidfd(&mut self) -> Option<OwnedFd> {
        self.pidfd.take()
    }

    fn try_reap(&mut self) -> io::Result<Option<Ended>> {
        let reaped = program::try_reap(self.pid);
        let reaped = reaped.map_err(|errno| io::Error::from_raw_os_error(errno.cast_signed()))?;
        if reaped.is_some() {
            orphans::forget(self.pid);
        }
        Ok(reaped.map(|it| ended(&it, &self.limits)))
    }
}

const SIGKILL: u32 = 9;

/// What the kernel told of a child at its end, as a result.
///
/// CPU time covers the child and those of its descendants that were waited for. The peak of memory
/// is the largest process among them; a value that may be the host's own, since the child shared
/// its memory at first, is reported as an upper bound.
fn ended(reaped: &Reaped, limits: &Limits) -> Ended {
    let Reaped { status, user_cpu, system_cpu, max_rss_bytes } = *reaped;
    let exit = exit_of(status);
    let mut usage = Usage::unknown();
    usage.user_cpu = Some(user_cpu);
    usage.system_cpu = Some(system_cpu);
    // Until its program was in place, the child had the host's memory. So only what is more than the
    // host ever had is sure to be the program's.
    usage.peak_memory = if is_more_than_own_peak(max_rss_bytes) {
        PeakMemory::LargestProcess(max_rss_bytes)
    } else {
        PeakMemory::AtMost(max_rss_bytes)
    };
    let res = Ended::clean(exit).usage(usage);
    // A process that catches SIGXCPU is killed a second later.
    let out_of_cpu = status & 0x7f == SIGKILL
        && limits.cpu_time.is_some_and(|limit| user_cpu + system_cpu > limit);
    match enforcement::reached(limits, Reached::Nothing, status, Events::default()) {
        Some(limit) => res.limit(limit),
        None if out_of_cpu => res.limit(LimitKind::CpuTime),
        None => res,
    }
}

/// Whether this process never had as much memory as this. Its peak only grows, so what it had once is enough
/// to know that it is not.
///
/// Reads the own peak again only where the known one does not decide.
fn is_more_than_own_peak(bytes: u64) -> bool {
    static KNOWN: AtomicU64 = AtomicU64::new(0);
    if bytes <= KNOWN.load(Ordering::Relaxed) {
        return false;
    }
    let peak = program::own_peak_bytes();
    KNOWN.store(peak, Ordering::Relaxed);
    bytes > peak
}

/// A status as wait(2) encodes it: a signal in its lowest seven bits, or a code in the next byte.
fn exit_of(status: u32) -> Exit {
    match (status & 0x7f).cast_signed() {
        0 => Exit::Code(((status >> 8) & 0xff).cast_signed()),
        signal => Exit::Signal(Signal(signal)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn reaped(status: u32, cpu: Duration) -> Reaped {
        let (user_cpu, system_cpu) = (cpu / 2, cpu / 2);
        Reaped { status, user_cpu, system_cpu, max_rss_bytes: 1 }
    }

    #[track_caller]
    fn check(status: u32, limits: Limits, exit: Exit, limit: Option<LimitKind>) {
        let ended = ended(&reaped(status, Duration::from_secs(2)), &limits);
        assert_eq!((ended.exit, ended.limit), (Some(exit), limit));
    }

    #[test]
    fn a_status_tells_the_exit_and_the_bound() {
        let bounds = || Limits::new().cpu_time(Duration::from_secs(1)).file_size_bytes(9);
        let signal = |it| Exit::Signal(Signal(it));
        check(0, bounds(), Exit::Code(0), None);
        check(255 << 8, bounds(), Exit::Code(255), None);
        check(24, bounds(), signal(24), Some(LimitKind::CpuTime));
        check(25 | 0x80, bounds(), signal(25), Some(LimitKind::FileSize));
        check(9, bounds(), signal(9), Some(LimitKind::CpuTime));
        check(9, Limits::new().cpu_time(Duration::from_secs(3)), signal(9), None);
        check(24, Limits::new(), signal(24), None);
    }

    #[test]
    fn only_more_than_the_hosts_own_memory_is_the_programs() {
        let of = |max_rss_bytes| {
            let reaped = Reaped { max_rss_bytes, ..reaped(0, Duration::ZERO) };
            ended(&reaped, &Limits::new()).usage.peak_memory
        };
        assert_eq!(of(1), PeakMemory::AtMost(1));
        assert_eq!(of(1 << 60), PeakMemory::LargestProcess(1 << 60));
    }
}
