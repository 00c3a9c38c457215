//! CPU time of one tree: what its control group counted, else what was waited for and what was seen.
//!
//! The kernel adds the time of a process to its parent when that waits for it. It adds it to no process where the
//! parent ignores SIGCHLD (wait(2)). A control group of version 2 counts it in any case (`cpu.stat`, cgroups(7)),
//! with or without the controller for CPUs.
//!
//! | call | what is read | when |
//! | --- | --- | --- |
//! | in a cgroup, without a bound on CPU time | the cgroup's count | once, at the end |
//! | in a cgroup, with one | the cgroup's count and this process's own time | at the start, every 20 ms, at the end |
//! | without a cgroup, with a bound | `/proc/PID/stat` of each process that is alive | every 20 ms |

use core::sync::atomic::{AtomicU64, Ordering};

use crate::{
    bare::sys::{self, Errno, address, int, number},
    memory::Pages,
    process::Used,
};

/// Time in user and in system mode, in microseconds, and both together.
#[derive(Clone, Copy, Default)]
struct Times {
    all_us: u64,
    user_us: u64,
    system_us: u64,
}

impl Times {
    const fn since(self, before: Self) -> Self {
        Self {
            all_us: self.all_us.saturating_sub(before.all_us),
            user_us: self.user_us.saturating_sub(before.user_us),
            system_us: self.system_us.saturating_sub(before.system_us),
        }
    }
}

/// `cpu.stat` of the cgroup that programs are in.
pub(crate) struct CgroupTime {
    fd: i32,
    /// Whether the supervisor is in that cgroup as well.
    counts_supervisor: bool,
    /// What it had counted when it was last read at the end of a call.
    last: [AtomicU64; 3],
}

impl CgroupTime {
    /// Reads it for the first time. The descriptor stays open.
    pub(crate) fn new(fd: i32, counts_supervisor: bool) -> Result<Self, Errno> {
        let res = Self { fd, counts_supervisor, last: Default::default() };
        res.set_last(res.read()?);
        Ok(res)
    }

    fn last(&self) -> Times {
        let [all_us, user_us, system_us] =
            self.last.each_ref().map(|it| it.load(Ordering::Relaxed));
        Times { all_us, user_us, system_us }
    }

    fn set_last(&self, times: Times) {
        let Times { all_us, user_us, system_us } = times;
        for (slot, value) in self.last.iter().zip([all_us, user_us, system_us]) {
            slot.store(value, Ordering::Relaxed);
        }
    }

    fn read(&self) -> Result<Times, Errno> {
        // What is asked for stands in the first three lines.
        let mut text = [0_u8; 128];
        // SAFETY: the kernel writes into what is on this frame, with its length.
        let n = unsafe {
            let to = address(text.as_mut_ptr());
            sys::call(number::PREAD64, [int(self.fd), to, text.len(), 0, 0, 0])
        }?;
        let mut res = Times::default();
        let mut n_found = 0;
        for line in text.get(..n).unwrap_or_default().split(|it| *it == b'\n') {
            let mut put = |slot: &mut u64, digits: &[u8]| {
                *slot = crate::tree::decimal(digits);
                n_found += 1;
            };
            if let Some(digits) = line.strip_prefix(b"usage_usec ") {
                put(&mut res.all_us, digits);
            } else if let Some(digits) = line.strip_prefix(b"user_usec ") {
                put(&mut res.user_us, digits);
            } else if let Some(digits) = line.strip_prefix(b"system_usec ") {
                put(&mut res.system_us, digits);
                // A fourth line may be cut.
                break;
            }
        }
        if n_found == 3 { Ok(res) } else { Err(sys::errno::BADMSG) }
    }
}

/// What a cgroup may have counted beyond what was waited for without a process having got lost: 1 ms. The work of
/// the supervisor for a call is in it, some 50 µs.
const OWN_WORK_US: u64 = 1_000;

/// The CPU time of the tree of one call.
pub(crate) struct TreeTime<'a> {
    cgroup: Option<&'a CgroupTime>,
    start: Times,
    /// Where the call has a bound and the supervisor is in the cgroup: what this process had used at the start.
    own_start_us: Option<u64>,
    /// Where the call has a bound and no cgroup counts.
    seen: Option<Seen>,
}

impl<'a> TreeTime<'a> {
    /// Begins to count for a call, with a bound on CPU time or without.
    pub(crate) fn begin(cgroup: Option<&'a CgroupTime>, is_bounded: bool) -> Self {
        let mut res = Self {
            cgroup,
            start: cgroup.map_or_else(Times::default, CgroupTime::last),
            own_start_us: None,
            seen: None,
        };
        match cgroup {
            Some(cgroup) if is_bounded => {
                res.own_start_us = cgroup.counts_supervisor.then(own_us);
                res.start = cgroup.read().unwrap_or(res.start);
            }
            None if is_bounded => res.seen = Seen::new().ok(),
            _ => {}
        }
        res
    }

    /// Where what a look sees is kept.
    pub(crate) fn seen(&mut self) -> Option<&mut Seen> {
        self.seen.as_mut()
    }

    /// What the tree has used until now, in microseconds, as far as the cgroup or earlier looks tell.
    pub(crate) fn now_us(&self) -> u64 {
        let counted = self.cgroup.and_then(|it| it.read().ok()).map(|it| self.counted(it).all_us);
        counted.or(self.seen.as_ref().map(|it| it.times.all_us)).unwrap_or(0)
    }

    /// Completes what was used by processes that were waited for. Called once, when nothing is left of the call.
    pub(crate) fn complete(&self, used: &mut Used) {
        let waited_us = used.user_us + used.system_us;
        let other = match self.cgroup {
            Some(cgroup) => {
                let Ok(now) = cgroup.read() else { return };
                cgroup.set_last(now);
                used.covers_tree = true;
                let other = self.counted(now);
                if self.own_start_us.is_none() && other.all_us <= waited_us + OWN_WORK_US {
                    return;
                }
                other
            }
            None => self.seen.as_ref().map(|it| it.times).unwrap_or_default(),
        };
        if other.all_us > waited_us {
            // The kernel knows the parts by its clock ticks only, and the sum exactly.
            let parts = (other.user_us + other.system_us).max(1);
            let system_us =
                u128::from(other.all_us) * u128::from(other.system_us) / u128::from(parts);
            used.system_us = (system_us as u64).min(other.all_us);
            used.user_us = other.all_us - used.system_us;
        }
    }

    /// What the cgroup has counted for this call.
    fn counted(&self, now: Times) -> Times {
        let mut res = now.since(self.start);
        let own = self.own_start_us.map_or(0, |it| own_us().saturating_sub(it));
        res.all_us = res.all_us.saturating_sub(own);
        res
    }
}

/// CPU time of this process, in microseconds.
fn own_us() -> u64 {
    const CLOCK_PROCESS_CPUTIME_ID: usize = 2;
    let mut time = [0_u64; 2];
    // SAFETY: the kernel writes both numbers.
    let _ = unsafe {
        let args = [CLOCK_PROCESS_CPUTIME_ID, address(time.as_mut_ptr()), 0, 0, 0, 0];
        sys::call(number::CLOCK_GETTIME, args)
    };
    time[0] * 1_000_000 + time[1] / 1_000
}

/// Microseconds of a clock tick as Linux shows it to programs, 100 a second (`USER_HZ`, time(7)).
const TICK_US: u64 = 10_000;

/// Processes that are remembered: 8,192, twice as many as one look can follow.
const SLOTS: usize = 8192;

/// Slots that a process can be in: 8, from the one of its number on.
const TRIES: usize = 8;

/// Looks after which a process that was not seen again has ended: 50, a second.
const STALE_LOOKS: u32 = 50;

/// The own time of every process that was ever seen, as it was when it was last seen.
pub(crate) struct Seen {
    slots: Pages,
    look: u32,
    times: Times,
}

/// One process, told from others that have had its number by the tick of its start.
#[repr(C)]
#[derive(Clone, Copy)]
struct Sample {
    pid: i32,
    start_tick: u32,
    /// The look that saw it last.
    look: u32,
    user: u32,
    system: u32,
}

impl Seen {
    fn new() -> Result<Self, Errno> {
        let slots = Pages::new(SLOTS * size_of::<Sample>())?;
        Ok(Self { slots, look: 0, times: Times::default() })
    }

    /// Begins another look.
    pub(crate) fn next_look(&mut self) {
        self.look += 1;
    }

    /// Takes in the own time of a process that is alive, in ticks. A process for which there is no slot, because
    /// all of those that it can be in hold processes that are alive, is left out.
    pub(crate) fn add(&mut self, pid: i32, start_tick: u32, user: u64, system: u64) {
        let (look, times) = (self.look, &mut self.times);
        let first = pid.unsigned_abs() as usize;
        let place = |n: usize| (first + n) % SLOTS;
        // SAFETY: a page holds zeroes or samples, which any bytes are, and is aligned for both.
        let slots: &mut [Sample] = unsafe { self.slots.as_mut_slice() };
        let is_same = |it: &Sample| (it.pid, it.start_tick) == (pid, start_tick);
        let is_free = |it: &Sample| it.pid == 0 || look.wrapping_sub(it.look) > STALE_LOOKS;
        let same = (0..TRIES).map(place).find(|at| is_same(&slots[*at]));
        let Some(at) = same.or_else(|| (0..TRIES).map(place).find(|at| is_free(&slots[*at])))
        else {
            return;
        };
        let before =
            if same.is_some() { slots[at] } else { Sample { user: 0, system: 0, ..slots[at] } };
        let user = (user as u32).max(before.user);
        let system = (system as u32).max(before.system);
        slots[at] = Sample { pid, start_tick, look, user, system };
        times.user_us += u64::from(user - before.user) * TICK_US;
        times.system_us += u64::from(system - before.system) * TICK_US;
        times.all_us = times.user_us + times.system_us;
    }
}
