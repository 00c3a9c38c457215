//! System calls without a library.
//!
//! Numbers and structures are those of Linux on x86-64 (syscalls(2), `asm/unistd_64.h`).
//!
//! [`call`] is the one way into the kernel. What it returns is the kernel's own answer: a number,
//! or an error number that is positive here. Nothing sets `errno`, which is thread-local.

#![allow(dead_code, reason = "each side needs a part of it")]

use core::{arch::asm, ffi::c_void};

/// An error number (errno(3)).
pub(crate) type Errno = u32;

/// Error numbers that are told apart.
///
/// Others are passed on as they are.
pub(crate) mod errno {
    use super::Errno;

    pub(crate) const PERM: Errno = 1;
    pub(crate) const NOENT: Errno = 2;
    pub(crate) const SRCH: Errno = 3;
    pub(crate) const INTR: Errno = 4;
    pub(crate) const ACCES: Errno = 13;
    pub(crate) const AGAIN: Errno = 11;
    pub(crate) const CHILD: Errno = 10;
    pub(crate) const NOMEM: Errno = 12;
    pub(crate) const INVAL: Errno = 22;
    pub(crate) const MFILE: Errno = 24;
    pub(crate) const TXTBSY: Errno = 26;
    pub(crate) const NOSYS: Errno = 38;
    pub(crate) const BADMSG: Errno = 74;
    pub(crate) const NOBUFS: Errno = 105;
    pub(crate) const STALE: Errno = 116;
}

/// Numbers of system calls.
///
/// Those that the host, its children, or the supervisor make by themselves.
pub(crate) mod number {
    pub(crate) const READ: usize = 0;
    pub(crate) const WRITE: usize = 1;
    pub(crate) const CLOSE: usize = 3;
    pub(crate) const FSTAT: usize = 5;
    pub(crate) const MMAP: usize = 9;
    pub(crate) const MUNMAP: usize = 11;
    pub(crate) const RT_SIGACTION: usize = 13;
    pub(crate) const RT_SIGPROCMASK: usize = 14;
    pub(crate) const IOCTL: usize = 16;
    pub(crate) const PREAD64: usize = 17;
    pub(crate) const NANOSLEEP: usize = 35;
    pub(crate) const SOCKET: usize = 41;
    pub(crate) const GETPID: usize = 39;
    pub(crate) const SENDMSG: usize = 46;
    pub(crate) const RECVMSG: usize = 47;
    pub(crate) const SHUTDOWN: usize = 48;
    pub(crate) const BIND: usize = 49;
    pub(crate) const LISTEN: usize = 50;
    pub(crate) const SETSOCKOPT: usize = 54;
    pub(crate) const CLONE: usize = 56;
    pub(crate) const EXECVE: usize = 59;
    pub(crate) const EXIT: usize = 60;
    pub(crate) const WAIT4: usize = 61;
    pub(crate) const KILL: usize = 62;
    pub(crate) const CHDIR: usize = 80;
    pub(crate) const READLINK: usize = 89;
    pub(crate) const SETPGID: usize = 109;
    pub(crate) const GETPPID: usize = 110;
    pub(crate) const SETSID: usize = 112;
    pub(crate) const GETRUSAGE: usize = 98;
    pub(crate) const CAPGET: usize = 125;
    pub(crate) const CAPSET: usize = 126;
    pub(crate) const FCNTL: usize = 72;
    pub(crate) const GETPGID: usize = 121;
    pub(crate) const PRCTL: usize = 157;
    pub(crate) const FSTATFS: usize = 138;
    pub(crate) const FLISTXATTR: usize = 196;
    pub(crate) const STATFS: usize = 137;
    pub(crate) const GETDENTS64: usize = 217;
    pub(crate) const CLOCK_GETTIME: usize = 228;
    pub(crate) const EXIT_GROUP: usize = 231;
    pub(crate) const WAITID: usize = 247;
    pub(crate) const OPENAT: usize = 257;
    pub(crate) const PSELECT6: usize = 270;
    pub(crate) const UNSHARE: usize = 272;
    pub(crate) const PPOLL: usize = 271;
    pub(crate) const SIGNALFD4: usize = 289;
    pub(crate) const DUP3: usize = 292;
    pub(crate) const PRLIMIT64: usize = 302;
    pub(crate) const SECCOMP: usize = 317;
    pub(crate) const EXECVEAT: usize = 322;
    pub(crate) const STATX: usize = 332;
    pub(crate) const PIDFD_SEND_SIGNAL: usize = 424;
    pub(crate) const OPEN_TREE: usize = 428;
    pub(crate) const MOVE_MOUNT: usize = 429;
    pub(crate) const FSOPEN: usize = 430;
    pub(crate) const FSCONFIG: usize = 431;
    pub(crate) const FSMOUNT: usize = 432;
    pub(crate) const PIDFD_OPEN: usize = 434;
    pub(crate) const CLONE3: usize = 435;
    pub(crate) const CLOSE_RANGE: usize = 436;
    pub(crate) const OPENAT2: usize = 437;
    pub(crate) const MOUNT_SETATTR: usize = 442;
    pub(crate) const LANDLOCK_ADD_RULE: usize = 445;
    pub(crate) const LANDLOCK_RESTRICT_SELF: usize = 446;
}

/// Makes a system call with as many as six arguments.
///
/// # Safety
///
/// The arguments must be right for the call with this number; pointers must stay good for as long as
/// the kernel uses them.
pub(crate) unsafe fn call(number: usize, args: [usize; 6]) -> Result<usize, Errno> {
    let res: isize;
    // SAFETY: the kernel changes rax, rcx and r11 only (syscall(2)); the rest is the caller's promise.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => res,
            in("rdi") args[0],
            in("rsi") args[1],
            in("rdx") args[2],
            in("r10") args[3],
            in("r8") args[4],
            in("r9") args[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
    }
    usize::try_from(res).map_err(|_| u32::try_from(-res).unwrap_or(errno::INVAL))
}

/// Makes a system call whose arguments are numbers only.
///
/// # Safety
///
/// As for [`call`]: a number may still be one that the process depends on, such as a descriptor.
pub(crate) unsafe fn numbers(number: usize, args: &[usize]) -> Result<usize, Errno> {
    let mut six = [0; 6];
    for (slot, arg) in six.iter_mut().zip(args) {
        *slot = *arg;
    }
    // SAFETY: the caller's promise.
    unsafe { call(number, six) }
}

/// A descriptor or a process id as an argument: sign-extended, as the kernel takes it.
pub(crate) const fn int(n: i32) -> usize {
    n as isize as usize
}

/// The address of something, as an argument.
pub(crate) fn address<T: ?Sized>(of: *const T) -> usize {
    of.cast::<c_void>() as usize
}

/// The argument structure of clone3(2).
///
/// Version 2 of the structure, of 88 bytes (Linux 5.7, `CLONE_ARGS_SIZE_VER2`).
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct CloneArgs {
    pub(crate) flags: u64,
    pub(crate) pidfd: u64,
    pub(crate) child_tid: u64,
    pub(crate) parent_tid: u64,
    pub(crate) exit_signal: u64,
    pub(crate) stack: u64,
    pub(crate) stack_size: u64,
    pub(crate) tls: u64,
    pub(crate) set_tid: u64,
    pub(crate) set_tid_size: u64,
    pub(crate) cgroup: u64,
}

/// Flags of clone3(2). Those below `1 << 32` are clone(2)'s as well.
pub(crate) mod clone {
    pub(crate) const VM: u64 = 0x100;
    pub(crate) const FILES: u64 = 0x400;
    pub(crate) const PIDFD: u64 = 0x1000;
    pub(crate) const VFORK: u64 = 0x4000;
    pub(crate) const NEWNS: u64 = 0x2_0000;
    pub(crate) const NEWUTS: u64 = 0x400_0000;
    pub(crate) const NEWUSER: u64 = 0x1000_0000;
    pub(crate) const NEWPID: u64 = 0x2000_0000;
    pub(crate) const NEWNET: u64 = 0x4000_0000;
    pub(crate) const CLEAR_SIGHAND: u64 = 1 << 32;
    pub(crate) const INTO_CGROUP: u64 = 1 << 33;
}

/// The signal that tells a parent of its child's end.
pub(crate) const SIGCHLD: u32 = 17;
/// Writing to a pipe without a reader.
pub(crate) const SIGPIPE: u32 = 13;

/// Two numbers in arguments of clone3(2) and clone(2) that the kernel does not look at. A system call
/// filter that knows them lets this call through and no other one.
pub(crate) type Cookie = [u64; 2];

/// Which call made a process.
///
/// Handed to the new process, since it has to do by hand what clone(2) does not know.
#[repr(usize)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MadeBy {
    /// clone3(2), which did all that its flags say.
    Clone3,
    /// clone(2), to which the flags from `1 << 32` on mean nothing.
    Clone,
}

/// Where a new process begins; it never returns.
pub(crate) type Entry = extern "C" fn(*mut c_void, MadeBy) -> !;

/// A new process that runs `entry` with `arg` on a stack of its own, by clone3(2).
///
/// # Safety
///
/// `args` must name a stack that nothing else uses while the process runs on it, of a size that is a
/// multiple of 16 and aligned to as much, and with `CLONE_VM` everything that `entry` reaches through
/// `arg` must stay in place until it has ended or executed a program.
pub(crate) unsafe fn clone3(
    args: &CloneArgs,
    cookie: Cookie,
    entry: Entry,
    arg: *mut c_void,
) -> Result<i32, Errno> {
    let [a, b] = cookie.map(|it| it as usize);
    let registers = [address(args), size_of::<CloneArgs>(), 0, 0, a, b];
    // SAFETY: the caller's promise.
    unsafe { new_process(number::CLONE3, registers, entry, arg, MadeBy::Clone3) }
}

/// The same by clone(2), without what that does not know: the flags from `1 << 32` on, and what belongs to
/// them. The cookie is where the kernel looks with `CLONE_SETTLS` only, and in a sixth argument.
///
/// # Safety
///
/// As for [`clone3`]; and the flags are without those that give other arguments a meaning: `CLONE_SETTLS`
/// and those of thread numbers.
pub(crate) unsafe fn clone(
    args: &CloneArgs,
    cookie: Cookie,
    entry: Entry,
    arg: *mut c_void,
) -> Result<i32, Errno> {
    let flags = args.flags & u64::from(u32::MAX) | args.exit_signal;
    // It goes by the stack's upper end, and puts the pidfd where older kernels put a thread's number.
    let stack = args.stack + args.stack_size;
    let [a, b] = cookie.map(|it| it as usize);
    let registers = [flags as usize, stack as usize, args.pidfd as usize, 0, a, b];
    // SAFETY: the caller's promise.
    unsafe { new_process(number::CLONE, registers, entry, arg, MadeBy::Clone) }
}

/// # Safety
///
/// The arguments ask for a new process on a stack of its own, see [`clone3`].
///
/// Returns in the parent only.
unsafe fn new_process(
    number: usize,
    args: [usize; 6],
    entry: Entry,
    arg: *mut c_void,
    made_by: MadeBy,
) -> Result<i32, Errno> {
    let res: isize;
    // SAFETY: in the parent the kernel changes rax, rcx and r11 only. The child starts at the
    // instruction after `syscall` with these registers, on the stack that `args` names, and leaves
    // through `entry`, so that nothing of this function's frame is used twice.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r12",
            "mov rsi, r14",
            "call r13",
            "ud2",
            "2:",
            inlateout("rax") number => res,
            in("rdi") args[0],
            in("rsi") args[1],
            in("rdx") args[2],
            in("r10") args[3],
            in("r8") args[4],
            in("r9") args[5],
            in("r12") arg,
            in("r13") entry,
            in("r14") made_by as usize,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    i32::try_from(res)
        .ok()
        .filter(|it| *it > 0)
        .ok_or_else(|| u32::try_from(-res).unwrap_or(errno::INVAL))
}
