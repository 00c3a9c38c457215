//! What a process of this user is allowed, found out by one that tries it and does nothing else.
//!
//! It shares the host's memory for the 20 µs that it lives (`CLONE_VM`, `CLONE_VFORK`), makes system
//! calls only, and reports its end to us alone: it is made without a signal, so that no wait(2) of the
//! host's for children in general finds it.

use std::{
    ffi::c_void,
    io,
    mem::MaybeUninit,
    os::fd::{AsRawFd, BorrowedFd},
    ptr::null_mut,
};

use super::{
    clone3,
    sys::{self, CloneArgs, Entry, Errno, MadeBy, address, clone, int, number},
};

/// A process can be cloned into the cgroup with this directory (`CLONE_INTO_CGROUP`, clone3(2)), and lives. Where
/// clone3(2) is refused, it can put itself into that cgroup.
///
/// # Errors
///
/// Those of clone3(2), else of open(2) and write(2). Of kind [`io::ErrorKind::Other`] where the process was killed at once: Linux does
/// that in a cgroup that was killed before.
pub(crate) fn clone_into_cgroup(cgroup: BorrowedFd<'_>) -> io::Result<()> {
    let cgroup = Some(cgroup.as_raw_fd());
    run(Attempt::Nothing, cgroup).map(drop)
}

/// A namespace for a process alone.
///
/// Either shows what the user may make; the cheap one stands for all kinds that need the same
/// capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Namespace {
    /// One for the names of hosts (uts_namespaces(7)), the cheapest.
    Names,
    /// One for processes (pid_namespaces(7)).
    Processes,
}

/// A process can be cloned into a namespace that is its own, in a user namespace that is its own as well if that
/// is wanted (user_namespaces(7)).
///
/// # Errors
///
/// Those of clone3(2): `EPERM` where the user may not, `ENOSPC` where there may be no more.
pub(crate) fn clone_into_namespace(
    namespace: Namespace,
    in_user_namespace: bool,
) -> io::Result<()> {
    let user = if in_user_namespace { clone::NEWUSER } else { 0 };
    let own = match namespace {
        Namespace::Names => clone::NEWUTS,
        Namespace::Processes => clone::NEWPID,
    };
    run_in(Attempt::Nothing, None, own | user).map(drop)
}

/// A process can put itself into the cgroup whose list of members this file is.
///
/// # Errors
///
/// Those of write(2), and of clone3(2).
pub(crate) fn join(members: BorrowedFd<'_>) -> io::Result<()> {
    run(Attempt::Join(members.as_raw_fd()), None).map(drop)
}

/// How many tasks the kernel counts for this user against `RLIMIT_NPROC` (getrlimit(2)), in the user
/// namespace of this process; `None` where that bound does not hold, as for root.
///
/// It is the kernel's own number, found by bisection: what `/proc` shows can be a part of it, since one
/// user can be in several containers.
///
/// # Errors
///
/// Those of clone3(2): `EAGAIN` where the user may have no further process at all.
pub(crate) fn tasks_of_user() -> io::Result<Option<u64>> {
    run(Attempt::Count, None)
}

/// What a confined process tries, each of which any other process may do.
///
/// None of them changes anything that outlives the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Open the root directory.
    OpenRoot,
    /// Bind a TCP socket of this machine to a port.
    BindPort,
    /// Ask whether it could send a signal to this process.
    SignalHost,
    /// Make a TCP socket.
    MakeSocket,
    /// Change its execution domain (personality(2)).
    ChangeDomain,
}

/// What a process enters before it tries something.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Walls<'a> {
    /// A Landlock ruleset.
    pub(crate) ruleset: Option<BorrowedFd<'a>>,
    /// Instructions of a filter of system calls; none is no filter.
    pub(crate) filter: &'a [u8],
}

/// Tries something from within these walls: the error number with which it was refused, or `None`
/// where it was not.
///
/// # Errors
///
/// The walls cannot be entered: those of landlock_restrict_self(2), seccomp(2) and clone3(2).
pub(crate) fn confined(walls: &Walls<'_>, deed: Deed) -> io::Result<Option<i32>> {
    let confined = Confined {
        ruleset: walls.ruleset.map(|it| it.as_raw_fd()),
        filter: Filter {
            instructions: u16::try_from(walls.filter.len() / 8).map_err(io::Error::other)?,
            at: walls.filter.as_ptr(),
        },
        deed,
    };
    let refused = run(Attempt::Confined(confined), None)?;
    Ok(refused.and_then(|it| i32::try_from(it).ok()))
}

#[derive(Clone, Copy)]
struct Confined {
    ruleset: Option<i32>,
    filter: Filter,
    deed: Deed,
}

/// `struct sock_fprog`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Filter {
    instructions: u16,
    at: *const u8,
}

#[derive(Clone, Copy)]
enum Attempt {
    Nothing,
    Join(i32),
    Count,
    Confined(Confined),
}

/// Bytes of stack: as for the child that executes a program.
const STACK_BYTES: usize = 16 * 1024;

#[repr(C, align(16))]
struct Stack(MaybeUninit<[u8; STACK_BYTES]>);

/// What both processes see of each other.
///
/// Lies on the frame of the parent, which waits.
struct Shared {
    attempt: Attempt,
    /// The directory of the cgroup to clone into.
    cgroup: Option<i32>,
    /// The stack of a child's child.
    inner: *mut Stack,
    res: Result<Option<u64>, Errno>,
}

/// In the namespaces of the host.
fn run(attempt: Attempt, cgroup: Option<i32>) -> io::Result<Option<u64>> {
    run_in(attempt, cgroup, 0)
}

/// The same, in these namespaces of the process's own.
fn run_in(attempt: Attempt, cgroup: Option<i32>, namespaces: u64) -> io::Result<Option<u64>> {
    let mut stack = MaybeUninit::<Stack>::uninit();
    let mut inner = MaybeUninit::<Stack>::uninit();
    let mut shared = Shared { attempt, cgroup, inner: inner.as_mut_ptr(), res: Ok(None) };
    let shared_at = &raw mut shared;
    let failed = |errno: Errno| io::Error::from_raw_os_error(errno.cast_signed());
    // SAFETY: this frame, with both stacks, stays until the child has ended: `CLONE_VFORK` holds us here.
    let pid = unsafe { spawn(stack.as_mut_ptr(), cgroup, namespaces, child, shared_at.cast()) }
        .map_err(failed)?;
    let was_killed = wait(pid) & 0x7f != 0;
    if was_killed {
        return Err(io::Error::other("the kernel killed the process when it was cloned"));
    }
    // SAFETY: the child has written it or left it alone, through a pointer that we gave away.
    unsafe { (&raw const (*shared_at).res).read_volatile() }.map_err(failed)
}

/// # Safety
///
/// The stack is free, and stays with what `arg` leads to until the process has ended, which is when this
/// returns.
unsafe fn spawn(
    stack: *mut Stack,
    cgroup: Option<i32>,
    namespaces: u64,
    entry: Entry,
    arg: *mut c_void,
) -> Result<i32, Errno> {
    let into_cgroup = if cgroup.is_some() { clone::INTO_CGROUP } else { 0 };
    let args = CloneArgs {
        flags: clone::VM | clone::VFORK | clone::CLEAR_SIGHAND | into_cgroup | namespaces,
        stack: address(stack) as u64,
        stack_size: STACK_BYTES as u64,
        cgroup: cgroup.map_or(0, |it| it as u64),
        ..CloneArgs::default()
    };
    // SAFETY: the caller's promise.
    unsafe { clone3::make(&args, [0, 0], entry, arg) }
}

/// `__WALL`: children of every kind, also those that end without a signal.
const WALL: usize = 0x4000_0000;

/// The status as wait(2) encodes it.
fn wait(pid: i32) -> u32 {
    let mut status = 0_u32;
    loop {
        let at = address(&raw mut status);
        // SAFETY: our own child, and room for its status.
        match unsafe { sys::call(number::WAIT4, [int(pid), at, WALL, 0, 0, 0]) } {
            Err(sys::errno::INTR) => {}
            _ => return status,
        }
    }
}

/// Where the process of a trial begins.
extern "C" fn child(arg: *mut c_void, made_by: MadeBy) -> ! {
    let shared = arg.cast::<Shared>();
    // SAFETY: `run` lends it to us, and waits.
    let (attempt, cgroup, inner) =
        unsafe { ((*shared).attempt, (*shared).cgroup, (*shared).inner) };
    let joined = match (made_by, cgroup) {
        (MadeBy::Clone, Some(dir)) => clone3::members(dir).and_then(clone3::join),
        _ => Ok(()),
    };
    // By clone(2), signals stay blocked until the end.
    let res = joined.and_then(|()| match attempt {
        Attempt::Nothing => Ok(None),
        Attempt::Join(members) => clone3::join(members).map(|()| None),
        // SAFETY: the stack is lent to us for this.
        Attempt::Count => unsafe { count(inner) },
        // SAFETY: the filter is lent to us as well.
        Attempt::Confined(confined) => unsafe { try_confined(&confined) },
    });
    // SAFETY: as above; `run` reads it once we have ended.
    unsafe { (&raw mut (*shared).res).write_volatile(res) };
    end(null_mut(), made_by)
}

extern "C" fn end(_: *mut c_void, _: MadeBy) -> ! {
    loop {
        // SAFETY: ends this process only. It is no thread of the host's.
        let _ = unsafe { sys::numbers(number::EXIT, &[0]) };
    }
}

const PR_SET_NO_NEW_PRIVS: usize = 38;
const SECCOMP_SET_MODE_FILTER: usize = 1;

/// Enters the walls and tries the deed. Both hold for this process alone: credentials and filters are
/// copied, whatever memory it shares.
///
/// # Safety
///
/// The filter is as long as it says.
unsafe fn try_confined(confined: &Confined) -> Result<Option<u64>, Errno> {
    // SAFETY: numbers, and a filter that the kernel copies.
    unsafe {
        sys::numbers(number::PRCTL, &[PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0])?;
        if let Some(ruleset) = confined.ruleset {
            sys::numbers(number::LANDLOCK_RESTRICT_SELF, &[int(ruleset), 0])?;
        }
        if confined.filter.instructions > 0 {
            let at = address(&raw const confined.filter);
            sys::call(number::SECCOMP, [SECCOMP_SET_MODE_FILTER, 0, at, 0, 0, 0])?;
        }
    }
    let refused = match confined.deed {
        Deed::OpenRoot => open_root(),
        Deed::BindPort => make_socket().and_then(bind),
        Deed::SignalHost => signal_host(),
        Deed::MakeSocket => make_socket().map(drop),
        Deed::ChangeDomain => change_domain(),
    };
    Ok(refused.err().map(u64::from))
}

/// Without reading it: what is refused is opening.
fn open_root() -> Result<(), Errno> {
    const AT_FDCWD: i32 = -100;
    const DIRECTORY_CLOEXEC: usize = 0o200_000 | 0o2_000_000;
    let args = [int(AT_FDCWD), address(c"/".as_ptr()), DIRECTORY_CLOEXEC, 0, 0, 0];
    // SAFETY: the path ends with a NUL byte. The descriptor goes with the process.
    unsafe { sys::call(number::OPENAT, args) }.map(drop)
}

const SOCKET: usize = 41;
const BIND: usize = 49;
const GETPPID: usize = 110;
const PERSONALITY: usize = 135;

fn make_socket() -> Result<usize, Errno> {
    const AF_INET: usize = 2;
    const STREAM_CLOEXEC: usize = 1 | 0o2_000_000;
    // SAFETY: makes a descriptor, which goes with the process.
    unsafe { sys::numbers(SOCKET, &[AF_INET, STREAM_CLOEXEC, 0]) }
}

/// To a port that the kernel chooses, of the loopback device.
fn bind(socket: usize) -> Result<(), Errno> {
    // `struct sockaddr_in`: the family, the port, the address, and eight bytes of nothing.
    let local = [2_u8, 0, 0, 0, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    // SAFETY: the kernel reads the address, with its length.
    unsafe { sys::call(BIND, [socket, address(&raw const local), local.len(), 0, 0, 0]) }.map(drop)
}

/// Signal 0 asks for the permission and sends nothing (kill(2)).
fn signal_host() -> Result<(), Errno> {
    // SAFETY: numbers; signal 0 is none.
    unsafe { sys::numbers(GETPPID, &[]).and_then(|host| sys::numbers(number::KILL, &[host, 0])) }
        .map(drop)
}

fn change_domain() -> Result<(), Errno> {
    /// An old layout of memory for programs that this process executes, of which there are none.
    const ADDR_COMPAT_LAYOUT: usize = 0x0020_0000;
    // SAFETY: numbers.
    unsafe { sys::numbers(PERSONALITY, &[ADDR_COMPAT_LAYOUT]) }.map(drop)
}

const RLIMIT_NPROC: usize = 6;
const EAGAIN: Errno = 11;

/// No system has more tasks: `PID_MAX_LIMIT` of the kernel.
const MOST_TASKS: u64 = 1 << 22;

/// # Safety
///
/// The stack is free.
///
/// Sets its own soft limit step by step and tries to make a process under each: some forty times at
/// most, and each process ends at once.
unsafe fn count(stack: *mut Stack) -> Result<Option<u64>, Errno> {
    let mut bounds = [0_u64; 2];
    let bounds_at = address(bounds.as_mut_ptr());
    // SAFETY: the kernel writes two numbers.
    unsafe { sys::call(number::PRLIMIT64, [0, RLIMIT_NPROC, 0, bounds_at, 0, 0])? };
    let hard = bounds[1];
    // SAFETY: the stack is free between two calls, since a process on it has ended when one returns.
    let fits = |soft| unsafe { fits(stack, soft, hard) };
    if fits(0)? {
        return Ok(None);
    }
    let most = hard.min(MOST_TASKS);
    // More than `too_few` are needed, and `enough` do. From below, since a process that may not be costs
    // a fifth of one that is made.
    let (mut too_few, mut enough) = (0, 4.min(most));
    while !fits(enough)? {
        if enough == most {
            return Err(EAGAIN);
        }
        too_few = enough;
        enough = enough.saturating_mul(2).min(most);
    }
    while enough - too_few > 1 {
        let middle = too_few + (enough - too_few) / 2;
        if fits(middle)? {
            enough = middle;
        } else {
            too_few = middle;
        }
    }
    // This process and its child are none of the user's.
    Ok(Some(enough.saturating_sub(2)))
}

/// Whether there can be one more process under this bound.
///
/// # Safety
///
/// The stack is free.
unsafe fn fits(stack: *mut Stack, soft: u64, hard: u64) -> Result<bool, Errno> {
    let bounds = [soft, hard];
    // SAFETY: the kernel reads two numbers. The bounds are of this process: it shares memory with the
    // host and nothing else.
    unsafe { sys::call(number::PRLIMIT64, [0, RLIMIT_NPROC, address(&bounds), 0, 0, 0])? };
    // SAFETY: the caller's promise; the process ends at once.
    match unsafe { spawn(stack, None, 0, end, null_mut()) } {
        Ok(pid) => {
            wait(pid);
            Ok(true)
        }
        Err(EAGAIN) => Ok(false),
        Err(errno) => Err(errno),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::Barrier, thread};

    use super::*;
    use crate::ordinary::{is_alone, is_ordinary};

    #[test]
    fn without_walls_nothing_is_refused() {
        let all = [
            Deed::OpenRoot,
            Deed::BindPort,
            Deed::SignalHost,
            Deed::MakeSocket,
            Deed::ChangeDomain,
        ];
        for deed in all {
            let refused = confined(&Walls::default(), deed).expect("there are no walls");
            assert_eq!(refused, None, "{deed:?}");
        }
        // What is no filter cannot be entered.
        let walls = Walls { filter: &[0xff; 8], ..Walls::default() };
        let refused = confined(&walls, Deed::OpenRoot).expect_err("refused");
        assert_eq!(refused.raw_os_error(), Some(libc::EINVAL));
        let status = fs::read_to_string("/proc/thread-self/status").expect("proc is there");
        assert!(status.contains("NoNewPrivs:\t0") && status.contains("Seccomp:\t0"), "{status}");
    }

    #[test]
    fn no_child_is_left_behind() {
        tasks_of_user().expect("there is room for two processes");
        for namespace in [Namespace::Names, Namespace::Processes] {
            let apart = clone_into_namespace(namespace, true).map_err(|it| it.raw_os_error());
            assert!(matches!(apart, Ok(()) | Err(Some(libc::EPERM | libc::ENOSPC))), "{apart:?}");
        }
        let children = fs::read_to_string("/proc/thread-self/children").expect("proc is there");
        assert_eq!(children.trim(), "");
    }

    #[tokio::test]
    async fn the_kernels_own_number_is_found() {
        if !is_ordinary("bare::trial::tests::the_kernels_own_number_is_found").await {
            return;
        }
        let count = || tasks_of_user().expect("there is room for two processes");
        let (begun, done) = (Barrier::new(101), Barrier::new(101));
        let (before, after) = thread::scope(|scope| {
            let before = count();
            for _ in 0..100 {
                scope.spawn(|| (begun.wait(), done.wait()));
            }
            begun.wait();
            let after = count();
            done.wait();
            (before, after)
        });
        // Others of the same user come and go.
        if is_alone() {
            assert_eq!(after, before.map(|it| it + 100));
        } else {
            assert!(after.is_none_or(|it| it > 100), "{after:?}");
        }
    }
}
