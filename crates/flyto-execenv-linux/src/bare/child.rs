//! The steps of a child between its start and its program.
//!
//! The order of the steps is fixed: control group, streams, other descriptors, working directory,
//! process group or session, bounds, signals, parent death signal, privileges, Landlock, execution.
//! What a later step may no longer do comes before it. A step that fails ends the child with its
//! [`Stage`] and error number; the parent reaps it and gives both as [`Failed`].
//!
//! The child shares memory with its parent: it allocates nothing, takes no lock, and touches only
//! its [`Attempt`].

use core::{
    cell::UnsafeCell,
    ffi::c_void,
    mem::MaybeUninit,
    sync::atomic::{AtomicBool, Ordering},
};

use flyto_supervision::{Bound, Stage};

use super::{
    clone3,
    sys::{self, CloneArgs, Cookie, Errno, MadeBy, address, clone, int, number},
};

/// Where the new process belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "a supervisor starts each program in another process group")]
pub(crate) enum ProcessGroup {
    /// In the process group of its parent.
    Stay,
    /// At the head of a process group of its own.
    Own,
    /// At the head of a session of its own.
    Session,
}

/// What runs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Image {
    /// The file with this path.
    Path(*const u8),
    /// The file behind this descriptor, which the program does not inherit.
    Descriptor(i32),
}

/// All that a child needs, in memory of its parent.
///
/// Pointers lead to NUL-terminated strings, and to arrays of such pointers that end with a null one.
///
/// Made on the frame of the caller, which outlives the child's steps.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) image: Image,
    /// Argument 0 included.
    pub(crate) args: *const *const u8,
    pub(crate) env: *const *const u8,
    /// The working directory; absolute.
    pub(crate) dir: *const u8,
    /// What becomes descriptors 0, 1 and 2. All are 3 or greater.
    pub(crate) streams: [i32; 3],
    /// What becomes descriptor 3; with it, the image's descriptor is not 3 itself.
    pub(crate) fourth: Option<i32>,
    pub(crate) pgrp: ProcessGroup,
    /// Set by prlimit(2) and read back, since a filter may answer without making the call.
    pub(crate) bounds: &'a [Bound],
    /// The caller's process number. The program is killed when the caller's thread ends (`PR_SET_PDEATHSIG`,
    /// prctl(2)); so is not what the program starts.
    pub(crate) ends_with: Option<i32>,
    /// Gaining privileges by execution is given up (`PR_SET_NO_NEW_PRIVS`).
    pub(crate) no_new_privs: bool,
    /// A Landlock ruleset to enter.
    pub(crate) ruleset: Option<i32>,
    /// A cgroup to start in.
    pub(crate) cgroup: Option<Cgroup>,
    /// The list of members of a cgroup of version 1 that the child puts itself on, as a descriptor.
    pub(crate) members: Option<i32>,
    /// What the system call filter of the caller wants to see.
    pub(crate) cookie: Cookie,
    /// Whether nothing is to be taken back that the caller's own execution left behind: each of its
    /// descriptors from 3 on is closed on execution, and it does not ignore `SIGPIPE`.
    pub(crate) is_clean: bool,
    /// How long to wait, each time in microseconds, before another try while the program's file is open
    /// for writing.
    pub(crate) busy_waits_us: &'a [u64],
}

/// A cgroup, as two descriptors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cgroup {
    /// Its directory.
    pub(crate) dir: i32,
    /// Its list of members, open for writing; -1 where clone3(2) is not refused, and clones a child into it.
    pub(crate) members: i32,
}

/// A child that has its program.
///
/// It has not been reaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Child {
    pub(crate) pid: i32,
    /// A descriptor that is the caller's to close.
    pub(crate) pidfd: i32,
}

/// Why there is none. Nothing of the program ran, and the process that tried is reaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failed {
    pub(crate) stage: Stage,
    pub(crate) errno: Errno,
}

/// Bytes of stack for the steps below: they nest three calls deep and hold no arrays. 16 KiB is what
/// the same steps take several times over, unoptimised.
const STACK_BYTES: usize = 16 * 1024;

/// Aligned as the x86-64 calling convention asks for.
#[repr(C, align(16))]
struct Stack(MaybeUninit<[u8; STACK_BYTES]>);

/// A start, as both processes see it: the child runs in it until its program is in place.
pub(crate) struct Attempt<'a> {
    launch: &'a Launch<'a>,
    /// `CLONE_VFORK`, `CLONE_PIDFD`.
    flags: u64,
    pidfd: UnsafeCell<i32>,
    /// Why there is no program, once the child has ended for that; and whether that was written.
    failed: UnsafeCell<Failed>,
    has_failed: AtomicBool,
    stack: UnsafeCell<MaybeUninit<Stack>>,
}

impl<'a> Attempt<'a> {
    /// With `CLONE_VFORK` among these flags, the program is in place once it has been started, or it has
    /// failed; otherwise that comes about while the caller goes on.
    pub(crate) const fn new(launch: &'a Launch<'a>, flags: u64) -> Self {
        let stack = UnsafeCell::new(MaybeUninit::uninit());
        let failed = UnsafeCell::new(Failed { stage: Stage::None, errno: 0 });
        let (pidfd, has_failed) = (UnsafeCell::new(-1), AtomicBool::new(false));
        Self { launch, flags, pidfd, failed, has_failed, stack }
    }

    /// Starts the child, once.
    ///
    /// # Safety
    ///
    /// The pointers of the launch must be good, and its descriptors open. This and all that the launch
    /// leads to must stay where it is until the child has its program or has ended.
    pub(crate) unsafe fn start(&self) -> Result<i32, Failed> {
        let cgroup = self.launch.cgroup;
        let into_cgroup = if cgroup.is_some() { clone::INTO_CGROUP } else { 0 };
        let args = CloneArgs {
            flags: clone::VM | clone::CLEAR_SIGHAND | into_cgroup | self.flags,
            pidfd: match self.flags & clone::PIDFD {
                0 => 0,
                _ => address(self.pidfd.get()) as u64,
            },
            exit_signal: u64::from(sys::SIGCHLD),
            stack: address(self.stack.get()) as u64,
            stack_size: STACK_BYTES as u64,
            cgroup: cgroup.map_or(0, |it| it.dir as u64),
            ..CloneArgs::default()
        };
        let at = (&raw const *self).cast_mut().cast();
        // SAFETY: the stack and all that this leads to stay, as the caller promises.
        unsafe { clone3::make(&args, self.launch.cookie, child, at) }
            .map_err(|errno| Failed { stage: Stage::Clone, errno })
    }

    /// Why there is no program. A child that still tries has not said it.
    pub(crate) fn failed(&self) -> Option<Failed> {
        let has_failed = self.has_failed.load(Ordering::Acquire);
        // SAFETY: the child writes it once, before it says so.
        has_failed.then(|| unsafe { self.failed.get().read_volatile() })
    }

    /// The descriptor that `CLONE_PIDFD` made.
    fn pidfd(&self) -> i32 {
        // SAFETY: the kernel writes it before the child runs.
        unsafe { self.pidfd.get().read_volatile() }
    }
}

/// Starts a process that shares the caller's memory until its program is in place, and returns then.
///
/// # Safety
///
/// The pointers of `launch` must be good, and its descriptors open.
pub(crate) unsafe fn start(launch: &Launch<'_>) -> Result<Child, Failed> {
    let attempt = Attempt::new(launch, clone::VFORK | clone::PIDFD);
    // SAFETY: this frame stays until the child has its program or has ended, since `CLONE_VFORK` holds us
    // here until then; the rest is the caller's promise.
    let pid = unsafe { attempt.start() }?;
    let pidfd = attempt.pidfd();
    let Some(failed) = attempt.failed() else { return Ok(Child { pid, pidfd }) };
    // SAFETY: our own child, which has ended, and our own descriptor.
    unsafe {
        // A handler of the host's may get in between.
        while sys::call(number::WAIT4, [int(pid), 0, WALL, 0, 0, 0]) == Err(sys::errno::INTR) {}
        close(pidfd);
    }
    Err(failed)
}

/// `__WALL`: children of every kind.
const WALL: usize = 0x4000_0000;

/// # Safety
///
/// The descriptor must not be in use any more.
pub(crate) unsafe fn close(fd: i32) {
    // SAFETY: the caller's promise.
    let _ = unsafe { sys::numbers(number::CLOSE, &[int(fd)]) };
}

/// Where the new process begins. It never returns: it executes a program, or ends with code 127.
extern "C" fn child(arg: *mut c_void, made_by: MadeBy) -> ! {
    // SAFETY: the process that started us lends it to us, and reads what we write once we have ended.
    let attempt = unsafe { &*arg.cast::<Attempt<'_>>() };
    let is_without_pidfd = attempt.flags & clone::PIDFD != 0 && attempt.pidfd() == -1;
    let failed = match made_by {
        // A kernel that is none, or one before Linux 5.2, takes the flag for one without a meaning.
        MadeBy::Clone if is_without_pidfd => {
            Failed { stage: Stage::Clone, errno: sys::errno::NOSYS }
        }
        // SAFETY: as above.
        _ => unsafe { steps(attempt.launch, made_by) },
    };
    // SAFETY: as above.
    unsafe { attempt.failed.get().write_volatile(failed) };
    // By itself: another process may kill us at any time.
    attempt.has_failed.store(true, Ordering::Release);
    loop {
        // SAFETY: ends this process only. It is no thread of the host's.
        let _ = unsafe { sys::numbers(number::EXIT, &[127]) };
    }
}

/// Prepares the process and executes the program; returns only where that failed.
///
/// # Safety
///
/// As for [`start`]; and this is a process of its own, with a copy of the descriptor table.
unsafe fn steps(launch: &Launch<'_>, made_by: MadeBy) -> Failed {
    macro_rules! step {
        ($stage:ident: $call:expr) => {
            // SAFETY: numbers, or pointers that the parent holds still.
            match unsafe { $call } {
                Ok(res) => res,
                Err(errno) => return Failed { stage: Stage::$stage, errno },
            }
        };
    }

    let by_hand = made_by == MadeBy::Clone;
    let in_place_of_clone3 = launch.cgroup.filter(|_| by_hand).map(|it| it.members);
    // Before anything takes the places of these descriptors.
    for members in launch.members.into_iter().chain(in_place_of_clone3) {
        if let Err(errno) = clone3::join(members) {
            return Failed { stage: Stage::Cgroup, errno };
        }
    }
    for (target, fd) in launch.streams.into_iter().enumerate() {
        // The copy is not closed on execution.
        step!(Streams: sys::numbers(number::DUP3, &[int(fd), target, 0]));
    }
    if !launch.is_clean {
        // Everything else is: also what some library of the host opened without saying so.
        step!(Streams: sys::numbers(number::CLOSE_RANGE, &[3, u32::MAX as usize, CLOSE_RANGE_CLOEXEC]));
    }
    if let Some(fd) = launch.fourth {
        step!(Streams: sys::numbers(number::DUP3, &[int(fd), 3, 0]));
    }
    step!(Dir: sys::numbers(number::CHDIR, &[address(launch.dir)]));
    match launch.pgrp {
        ProcessGroup::Stay => {}
        ProcessGroup::Own => drop(step!(ProcessGroup: sys::numbers(number::SETPGID, &[0, 0]))),
        ProcessGroup::Session => drop(step!(ProcessGroup: sys::numbers(number::SETSID, &[]))),
    }
    for bound in launch.bounds {
        let values = [bound.soft, bound.hard];
        let resource = bound.resource as usize;
        step!(Bounds: sys::call(number::PRLIMIT64, [0, resource, address(&values), 0, 0, 0]));
        // A filter of system calls can have answered in the kernel's place (`SECCOMP_RET_ERRNO` with 0).
        let mut now = [!bound.soft, !bound.hard];
        let at = address(&raw mut now);
        step!(Bounds: sys::call(number::PRLIMIT64, [0, resource, 0, at, 0, 0]));
        if now != values {
            return Failed { stage: Stage::Bounds, errno: 0 };
        }
    }
    if by_hand {
        step!(ProcessGroup: clone3::forget_handlers());
    }
    // Handlers are gone (`CLONE_CLEAR_SIGHAND`, or just now). Rust's runtime ignores SIGPIPE, which would be
    // inherited; what else is ignored was so on purpose, as by nohup(1).
    if !launch.is_clean {
        let default = [0_usize; 4];
        let pipe = sys::SIGPIPE as usize;
        step!(ProcessGroup: sys::call(number::RT_SIGACTION, [pipe, address(&default), 0, 8, 0, 0]));
    }
    clone3::set_mask(0);
    if let Some(parent) = launch.ends_with {
        step!(ProcessGroup: sys::numbers(number::PRCTL, &[PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0]));
        // It may have ended before that.
        if step!(ProcessGroup: sys::numbers(number::GETPPID, &[])) != parent as usize {
            return Failed { stage: Stage::Clone, errno: sys::errno::SRCH };
        }
    }
    if launch.no_new_privs {
        step!(Privileges: sys::numbers(number::PRCTL, &[PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0]));
    }
    if let Some(ruleset) = launch.ruleset {
        step!(Landlock: sys::numbers(number::LANDLOCK_RESTRICT_SELF, &[int(ruleset), 0]));
    }
    let mut waits_us = launch.busy_waits_us.iter();
    loop {
        // SAFETY: the parent holds the strings and arrays still. It returns only where it failed.
        match unsafe { execute(launch) } {
            Err(sys::errno::TXTBSY) => match waits_us.next() {
                Some(wait_us) => pause(*wait_us),
                None => return Failed { stage: Stage::Exec, errno: sys::errno::TXTBSY },
            },
            Err(errno) => return Failed { stage: Stage::Exec, errno },
            Ok(_) => return Failed { stage: Stage::Exec, errno: sys::errno::INVAL },
        }
    }
}

/// # Safety
///
/// As for [`steps`].
///
/// Executes by path, or by a descriptor with an empty path (execveat(2), `AT_EMPTY_PATH`).
unsafe fn execute(launch: &Launch<'_>) -> Result<usize, Errno> {
    let (args, env) = (address(launch.args), address(launch.env));
    // SAFETY: the caller's promise.
    unsafe {
        match launch.image {
            Image::Path(path) => sys::call(number::EXECVE, [address(path), args, env, 0, 0, 0]),
            Image::Descriptor(fd) => {
                let empty = address(c"".as_ptr());
                sys::call(number::EXECVEAT, [int(fd), empty, args, env, AT_EMPTY_PATH, 0])
            }
        }
    }
}

/// Sleeps for so many microseconds.
fn pause(us: u64) {
    let time = [us / 1_000_000, us % 1_000_000 * 1_000];
    // SAFETY: the kernel reads the time; there is nothing to poll.
    let _ = unsafe { sys::call(number::PPOLL, [0, 0, address(&time), 0, 0, 0]) };
}

const CLOSE_RANGE_CLOEXEC: usize = 4;
const PR_SET_PDEATHSIG: usize = 1;
const PR_SET_NO_NEW_PRIVS: usize = 38;
const SIGKILL: usize = 9;
const AT_EMPTY_PATH: usize = 0x1000;
