//! Processes: what this one is, what it waits for, what it signals.

use core::ffi::CStr;

use flyto_supervision::Report;

use crate::bare::{
    child::close,
    sys::{self, Errno, address, errno, int, number},
};

const PR_SET_PDEATHSIG: usize = 1;
const PR_SET_DUMPABLE: usize = 4;
const PR_SET_CHILD_SUBREAPER: usize = 36;
const SIG_SETMASK: usize = 2;

pub(crate) const SIGKILL: u32 = 9;
pub(crate) const SIGTERM: u32 = 15;
pub(crate) const SIGCONT: u32 = 18;

/// Makes this process what it is: the subreaper, closed to signals that can be blocked.
pub(crate) fn prepare() {
    let default = [0_usize; 4];
    let all = u64::MAX;
    let child = sys::SIGCHLD as usize;
    // SAFETY: numbers, and pointers to what is on this frame. A call that fails leaves less than
    // intended; nothing later relies on any of them but the subreaper, which Linux 3.4 has.
    unsafe {
        let _ = sys::numbers(number::PRCTL, &[PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0]);
        // One that was stopped goes on when the host ends, and hears of it. The signal comes
        // also when only the thread ends that started it, and does nothing then (prctl(2)).
        let _ = sys::numbers(number::PRCTL, &[PR_SET_PDEATHSIG, SIGCONT as usize, 0, 0, 0]);
        // A host that ignores SIGCHLD would leave nothing to wait for.
        // One that ignores SIGPIPE, as Rust's runtime does, would have programs inherit that.
        for signal in [child, sys::SIGPIPE as usize] {
            let _ = sys::call(number::RT_SIGACTION, [signal, address(&default), 0, 8, 0, 0]);
        }
        let _ = sys::call(number::RT_SIGPROCMASK, [SIG_SETMASK, address(&all), 0, 8, 0, 0]);
    }
}

/// Keeps debuggers of the same user out (`PR_SET_DUMPABLE`, prctl(2)). A program that is executed is
/// open to them again.
pub(crate) fn close_to_debuggers() {
    // SAFETY: numbers.
    let _ = unsafe { sys::numbers(number::PRCTL, &[PR_SET_DUMPABLE, 0, 0, 0, 0]) };
}

/// A descriptor of ours, closed when dropped.
pub(crate) struct Descriptor(i32);

pub(crate) const O_RDONLY: usize = 0;
pub(crate) const O_WRONLY: usize = 1;
pub(crate) const O_DIRECTORY: usize = 0o200_000;
const O_CLOEXEC: usize = 0o2_000_000;
const AT_FDCWD: i32 = -100;

impl Descriptor {
    /// Takes over a descriptor.
    ///
    /// # Safety
    ///
    /// It is open, and no other code closes it.
    pub(crate) const unsafe fn new(fd: i32) -> Self {
        Self(fd)
    }

    pub(crate) const fn fd(&self) -> i32 {
        self.0
    }

    pub(crate) fn open(path: &CStr, flags: usize) -> Result<Self, Errno> {
        // SAFETY: the path ends with a NUL byte.
        unsafe {
            let args = [int(AT_FDCWD), address(path.as_ptr()), flags | O_CLOEXEC, 0, 0, 0];
            sys::call(number::OPENAT, args).map(|it| Self(it as i32))
        }
    }

    pub(crate) fn read(&self, into: &mut [u8]) -> Result<usize, Errno> {
        // SAFETY: the kernel writes into the slice, with its length.
        unsafe {
            let at = address(into.as_mut_ptr());
            sys::call(number::READ, [int(self.0), at, into.len(), 0, 0, 0])
        }
    }

    pub(crate) fn write(&self, text: &[u8]) -> Result<(), Errno> {
        // SAFETY: the kernel reads the slice, with its length.
        unsafe {
            let at = address(text.as_ptr());
            sys::call(number::WRITE, [int(self.0), at, text.len(), 0, 0, 0]).map(drop)
        }
    }

    /// Reads from this place in the file on.
    pub(crate) fn read_at(&self, into: &mut [u8], at: usize) -> Result<usize, Errno> {
        // SAFETY: the kernel writes into the slice, with its length.
        unsafe {
            let to = address(into.as_mut_ptr());
            sys::call(number::PREAD64, [int(self.0), to, into.len(), at, 0, 0])
        }
    }

    /// The next entries of a directory, as getdents64(2) gives them.
    pub(crate) fn entries(&self, into: &mut [u8]) -> Result<usize, Errno> {
        // SAFETY: the kernel writes into the slice, with its length.
        unsafe {
            let at = address(into.as_mut_ptr());
            sys::call(number::GETDENTS64, [int(self.0), at, into.len(), 0, 0, 0])
        }
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: ours, and its number is not in use.
        unsafe { close(self.0) };
    }
}

/// What the reaped processes of one call used.
#[derive(Default)]
pub(crate) struct Used {
    pub(crate) user_us: u64,
    pub(crate) system_us: u64,
    pub(crate) max_rss_kib: u64,
    /// Whether the times are those of the whole tree, as its control group counted them.
    pub(crate) covers_tree: bool,
}

impl Used {
    pub(crate) fn add_to(&self, report: Report) -> Report {
        Report {
            user_us: self.user_us,
            system_us: self.system_us,
            max_rss_kib: self.max_rss_kib,
            covers_tree: self.covers_tree,
            ..report
        }
    }
}

/// A child that was waited for.
pub(crate) struct Reaped {
    pub(crate) pid: i32,
    /// As wait(2) encodes it.
    pub(crate) status: u32,
}

impl Reaped {
    pub(crate) const fn was_killed(&self) -> bool {
        self.status & 0x7f == SIGKILL
    }
}

pub(crate) enum Wait {
    Reaped(Reaped),
    /// There are children, and none of those meant has ended.
    Alive,
    /// There is none.
    None,
}

const WNOHANG: usize = 1;
const WALL: usize = 0x4000_0000;
/// How a status begins that tells of a stop (wait(2)).
const STOPPED: u32 = 0x7f;

/// Looks whether `pid`, or any child with -1, has ended, and counts what it used.
pub(crate) fn reap(pid: i32, used: &mut Used) -> Wait {
    wait(pid, WNOHANG | WALL, used)
}

/// Waits until `pid` has ended, and counts what it used.
pub(crate) fn wait_for(pid: i32, used: &mut Used) -> Wait {
    wait(pid, WALL, used)
}

fn wait(pid: i32, options: usize, used: &mut Used) -> Wait {
    // `struct rusage`: two times of two numbers, then the largest resident set (getrusage(2)).
    let mut usage = [0_u64; 18];
    let mut status = 0_u32;
    loop {
        // SAFETY: the kernel writes into what is on this frame, for which there is room.
        let res = unsafe {
            let (status, usage) = (address(&raw mut status), address(usage.as_mut_ptr()));
            sys::call(number::WAIT4, [int(pid), status, options, usage, 0, 0])
        };
        match res {
            Ok(0) => return Wait::Alive,
            Err(errno::INTR) => {}
            Err(_) => return Wait::None,
            // Not an end: a child that asked to be traced has stopped (`PTRACE_TRACEME`, ptrace(2)), and
            // stays so until it is killed.
            Ok(_) if status & 0xff == STOPPED => {}
            Ok(pid) => {
                used.user_us += usage[0] * 1_000_000 + usage[1];
                used.system_us += usage[2] * 1_000_000 + usage[3];
                used.max_rss_kib = used.max_rss_kib.max(usage[4]);
                return Wait::Reaped(Reaped { pid: pid as i32, status });
            }
        }
    }
}

/// Whether a child has ended. It stays one that can be waited for.
pub(crate) fn has_ended(child: i32) -> bool {
    const P_PID: usize = 1;
    const WEXITED: usize = 4;
    const WNOWAIT: usize = 0x100_0000;
    // `siginfo_t`: the process stands in its fifth number, and is 0 where none has ended.
    let mut info = [0_i32; 32];
    // SAFETY: the kernel writes into what is on this frame, for which there is room.
    let res = unsafe {
        let options = WEXITED | WNOWAIT | WNOHANG | WALL;
        sys::call(number::WAITID, [P_PID, int(child), address(info.as_mut_ptr()), options, 0, 0])
    };
    res.is_err() || info[4] != 0
}

/// Sends a signal to a child, or with -1 to every other process in a namespace of our own. A target that is
/// gone has what it needs.
pub(crate) fn signal(pid: i32, signal: u32) {
    // SAFETY: a number of a child, which no other process can have: it is reaped by this process.
    let _ = unsafe { sys::numbers(number::KILL, &[int(pid), signal as usize]) };
}

/// Sends a signal to a process that is held by a descriptor ([`watch`]): to that one and no other.
pub(crate) fn signal_held(process: &Descriptor, signal: u32) {
    // SAFETY: numbers, and no pointer (pidfd_send_signal(2)).
    let _ = unsafe {
        sys::numbers(number::PIDFD_SEND_SIGNAL, &[int(process.0), signal as usize, 0, 0])
    };
}

/// Sends a signal to the whole process group of a child, unless that is ours. No process of a process group
/// forks past a signal to all of it (kill(2)), so that most programs which make new processes as fast
/// as old ones are killed end here.
pub(crate) fn signal_pgrp(child: i32, signal: u32) {
    // SAFETY: numbers. A process group has members of one session only, so all of them are descendants.
    unsafe {
        let own = sys::numbers(number::GETPGID, &[0]);
        let Ok(pgrp @ 2..) = sys::numbers(number::GETPGID, &[int(child)]) else { return };
        if own != Ok(pgrp) {
            let _ = sys::numbers(number::KILL, &[pgrp.wrapping_neg(), signal as usize]);
        }
    }
}

/// A descriptor that is readable once the host has ended.
pub(crate) fn watch_host() -> Result<Descriptor, Errno> {
    // SAFETY: asks for a number.
    watch(unsafe { sys::numbers(number::GETPPID, &[]) }? as i32)
}

/// A descriptor that is readable once the process has ended.
pub(crate) fn watch(pid: i32) -> Result<Descriptor, Errno> {
    // SAFETY: makes a descriptor.
    unsafe { sys::numbers(number::PIDFD_OPEN, &[int(pid), 0]) }.map(|it| Descriptor(it as i32))
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Polled {
    pub(crate) fd: i32,
    pub(crate) events: u16,
    pub(crate) happened: u16,
}

impl Polled {
    /// Waits for the end of file alone.
    pub(crate) const fn hung_up(fd: i32) -> Self {
        Self { fd, events: 0, happened: 0 }
    }

    /// Waits for something to read, or the end of file. A negative descriptor is left out.
    pub(crate) const fn readable(fd: i32) -> Self {
        Self { fd, events: 1, happened: 0 }
    }
}

/// Waits until something happened, at most `timeout_ns`.
pub(crate) fn poll(what: &mut [Polled], timeout_ns: Option<u64>) {
    let mut time = timeout_ns.map(|it| [it / 1_000_000_000, it % 1_000_000_000]);
    let time_at = time.as_mut().map_or(0, |it| address(it.as_mut_ptr()));
    // SAFETY: the kernel writes into the slice, with its length, and into the time on this frame. An error
    // leaves everything as not happened.
    let res = unsafe {
        sys::call(number::PPOLL, [address(what.as_mut_ptr()), what.len(), time_at, 0, 0, 0])
    };
    if res == Err(errno::INVAL) {
        select(what, time_at);
    }
}

/// Words of a set of descriptors, which holds 1,024 (select(2)).
const SET_WORDS: usize = 16;

/// The same by select(2), without the end of file of descriptors that are not read.
///
/// ppoll(2) refuses more descriptors than `RLIMIT_NOFILE`, and another process of the same user may lower that
/// to 0 (prlimit(2)). select(2) does not look at it.
fn select(what: &mut [Polled], time_at: usize) {
    let mut set = [0_u64; SET_WORDS];
    let mut end = 0;
    let read = |it: &Polled| usize::try_from(it.fd).ok().filter(|_| it.events != 0);
    for fd in what.iter().filter_map(read) {
        if let Some(word) = set.get_mut(fd / 64) {
            *word |= 1 << (fd % 64);
            end = end.max(fd + 1);
        }
    }
    // SAFETY: the kernel writes into the set, which has room for every descriptor below `end`, and into the
    // time of the caller's frame.
    let res =
        unsafe { sys::call(number::PSELECT6, [end, address(set.as_mut_ptr()), 0, 0, time_at, 0]) };
    for it in what {
        let is_set = |fd: usize| set.get(fd / 64).is_some_and(|word| word & 1 << (fd % 64) != 0);
        it.happened = u16::from(res.is_ok() && read(it).is_some_and(is_set));
    }
}

/// Nanoseconds on a clock that only goes forward.
pub(crate) fn now_ns() -> u64 {
    let mut time = [0_u64; 2];
    // SAFETY: the kernel writes both numbers. 1 is CLOCK_MONOTONIC, which every system has.
    let _ =
        unsafe { sys::call(number::CLOCK_GETTIME, [1, address(time.as_mut_ptr()), 0, 0, 0, 0]) };
    time[0] * 1_000_000_000 + time[1]
}

pub(crate) fn sleep_ns(ns: u64) {
    poll(&mut [], Some(ns));
}

/// A descriptor that is readable once a child has ended (signalfd(2)).
pub(crate) struct ChildEnds(Descriptor);

impl ChildEnds {
    pub(crate) fn new() -> Result<Self, Errno> {
        let mask = 1_u64 << (sys::SIGCHLD - 1);
        const NONBLOCK_CLOEXEC: usize = 0o4000 | 0o2_000_000;
        // SAFETY: the kernel reads the mask.
        let res = unsafe {
            sys::call(number::SIGNALFD4, [int(-1), address(&mask), 8, NONBLOCK_CLOEXEC, 0, 0])
        };
        res.map(|it| Self(Descriptor(it as i32)))
    }

    /// What to poll.
    pub(crate) const fn polled(&self) -> Polled {
        Polled::readable(self.0.fd())
    }

    /// Forgets what happened until now.
    pub(crate) fn clear(&self) {
        let mut info = [0_u8; 128];
        // It does not block, and there is one at most: signals of one kind are kept once.
        let _ = self.0.read(&mut info);
    }
}
