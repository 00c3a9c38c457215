//! The steps of a child between its start and its program.

use core::{ffi::c_void, mem::MaybeUninit};

use flyto_supervision::{Bound, Stage};

use super::sys::{self, CloneArgs, Cookie, Errno, address, clone, int, number};

/// Where the new process belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(
    dead_code,
    reason = "a host starts only supervisors yet, which leave nobody in their group"
)]
pub(crate) enum Group {
    /// In the group of its parent.
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
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) image: Image,
    pub(crate) args: *const *const u8,
    pub(crate) env: *const *const u8,
    /// The working directory; absolute.
    pub(crate) dir: *const u8,
    /// What becomes descriptors 0, 1 and 2. All are 3 or greater.
    pub(crate) streams: [i32; 3],
    /// What becomes descriptor 3; with it, the image's descriptor is not 3 itself.
    pub(crate) fourth: Option<i32>,
    pub(crate) group: Group,
    pub(crate) bounds: &'a [Bound],
    /// Gaining privileges by execution is given up (`PR_SET_NO_NEW_PRIVS`).
    pub(crate) no_new_privs: bool,
    /// A Landlock ruleset to enter.
    pub(crate) ruleset: Option<i32>,
    /// A cgroup to start in, as a descriptor of its directory.
    pub(crate) cgroup: Option<i32>,
    /// What the system call filter of the caller wants to see.
    pub(crate) cookie: Cookie,
}

/// A child that has its program.
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

#[repr(C, align(16))]
struct Stack(MaybeUninit<[u8; STACK_BYTES]>);

/// What both processes see of each other.
struct Shared<'a> {
    launch: &'a Launch<'a>,
    failed: Option<Failed>,
}

/// Starts a process that shares the caller's memory until its program is in place, and returns then.
///
/// # Safety
///
/// The pointers of `launch` must be good, and its descriptors open.
pub(crate) unsafe fn start(launch: &Launch<'_>) -> Result<Child, Failed> {
    let mut stack = MaybeUninit::<Stack>::uninit();
    let mut shared = Shared { launch, failed: None };
    let mut pidfd = -1_i32;
    let into_cgroup = if launch.cgroup.is_some() { clone::INTO_CGROUP } else { 0 };
    let args = CloneArgs {
        flags: clone::VM | clone::VFORK | clone::CLEAR_SIGHAND | clone::PIDFD | into_cgroup,
        pidfd: address(&raw mut pidfd) as u64,
        exit_signal: u64::from(sys::SIGCHLD),
        stack: address(stack.as_mut_ptr()) as u64,
        stack_size: STACK_BYTES as u64,
        cgroup: launch.cgroup.map_or(0, |it| it as u64),
        ..CloneArgs::default()
    };
    let shared_at = &raw mut shared;
    // SAFETY: this frame, with the stack and all that `shared` leads to, stays until the child has
    // executed or ended, since `CLONE_VFORK` holds us here until then.
    let pid = unsafe { sys::clone3(&args, launch.cookie, child, shared_at.cast()) }
        .map_err(|errno| Failed { stage: Stage::Clone, errno })?;
    // SAFETY: the child has written both or left them alone, through pointers that we gave away.
    let (failed, pidfd) =
        unsafe { (shared_at.read_volatile().failed, (&raw const pidfd).read_volatile()) };
    let Some(failed) = failed else { return Ok(Child { pid, pidfd }) };
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
/// The descriptor must not be needed by anybody.
pub(crate) unsafe fn close(fd: i32) {
    // SAFETY: the caller's promise.
    let _ = unsafe { sys::numbers(number::CLOSE, &[int(fd)]) };
}

extern "C" fn child(arg: *mut c_void) -> ! {
    let shared = arg.cast::<Shared<'_>>();
    // SAFETY: `start` lends it to us, and waits.
    let failed = unsafe { steps((*shared).launch) };
    // SAFETY: as above; `start` reads it once we have ended.
    unsafe { (&raw mut (*shared).failed).write_volatile(Some(failed)) };
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
unsafe fn steps(launch: &Launch<'_>) -> Failed {
    macro_rules! step {
        ($stage:ident: $call:expr) => {
            // SAFETY: numbers, or pointers that the parent holds still.
            match unsafe { $call } {
                Ok(res) => res,
                Err(errno) => return Failed { stage: Stage::$stage, errno },
            }
        };
    }

    for (target, fd) in launch.streams.into_iter().enumerate() {
        // The copy is not closed on execution.
        step!(Streams: sys::numbers(number::DUP3, &[int(fd), target, 0]));
    }
    // Everything else is: also what some library of the host opened without saying so.
    step!(Streams: sys::numbers(number::CLOSE_RANGE, &[3, u32::MAX as usize, CLOSE_RANGE_CLOEXEC]));
    if let Some(fd) = launch.fourth {
        step!(Streams: sys::numbers(number::DUP3, &[int(fd), 3, 0]));
    }
    step!(Dir: sys::numbers(number::CHDIR, &[address(launch.dir)]));
    match launch.group {
        Group::Stay => {}
        Group::Own => drop(step!(Group: sys::numbers(number::SETPGID, &[0, 0]))),
        Group::Session => drop(step!(Group: sys::numbers(number::SETSID, &[]))),
    }
    for bound in launch.bounds {
        let values = [bound.soft, bound.hard];
        let resource = bound.resource as usize;
        step!(Bounds: sys::call(number::PRLIMIT64, [0, resource, address(&values), 0, 0, 0]));
    }
    // Handlers are gone (`CLONE_CLEAR_SIGHAND`). Rust's runtime ignores SIGPIPE, which would be
    // inherited; what else is ignored was so on purpose, as by nohup(1).
    let default = [0_usize; 4];
    let mask = 0_u64;
    let pipe = sys::SIGPIPE as usize;
    step!(Group: sys::call(number::RT_SIGACTION, [pipe, address(&default), 0, 8, 0, 0]));
    step!(Group: sys::call(number::RT_SIGPROCMASK, [SIG_SETMASK, address(&mask), 0, 8, 0, 0]));
    if launch.no_new_privs {
        step!(Privileges: sys::numbers(number::PRCTL, &[PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0]));
    }
    if let Some(ruleset) = launch.ruleset {
        step!(Landlock: sys::numbers(number::LANDLOCK_RESTRICT_SELF, &[int(ruleset), 0]));
    }
    let (args, env) = (address(launch.args), address(launch.env));
    match launch.image {
        Image::Path(path) => {
            step!(Exec: sys::call(number::EXECVE, [address(path), args, env, 0, 0, 0]));
        }
        Image::Descriptor(fd) => {
            let empty = c"".as_ptr();
            step!(Exec: sys::call(number::EXECVEAT, [int(fd), address(empty), args, env, AT_EMPTY_PATH, 0]));
        }
    }
    Failed { stage: Stage::Exec, errno: sys::errno::INVAL }
}

const CLOSE_RANGE_CLOEXEC: usize = 4;
const SIG_SETMASK: usize = 2;
const PR_SET_NO_NEW_PRIVS: usize = 38;
const AT_EMPTY_PATH: usize = 0x1000;
