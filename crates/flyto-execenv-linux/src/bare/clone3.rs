//! How a process is made: by clone3(2), or by clone(2) where a filter of system calls refuses that.
//!
//! clone3(2) has its flags in memory, where a filter cannot look. So filters that keep namespaces from
//! programs refuse it as a whole, and let clone(2) through without the flags of namespaces: those of
//! containers, of `RestrictNamespaces=` in systemd.exec(5), and our own. What clone(2) does not know is then
//! done by hand:
//!
//! | clone3(2) | clone(2) |
//! | --- | --- |
//! | `CLONE_CLEAR_SIGHAND` | all signals are blocked from before the call until the child has [forgotten](forget_handlers) the handlers that it came with |
//! | `CLONE_INTO_CGROUP` | the child [joins](join) |
//! | `CLONE_PIDFD` | the same, since Linux 5.2 |

use core::{
    ffi::c_void,
    sync::atomic::{AtomicU32, Ordering},
};

use super::sys::{self, CloneArgs, Cookie, Entry, Errno, address, clone, errno, int, number};

/// With which error clone3(2) was refused; 0 as long as it was not.
///
/// Process-wide: a filter of system calls holds for all threads of a host, as a rule, and is never
/// taken off.
static REFUSED: AtomicU32 = AtomicU32::new(0);

/// With which error clone3(2) is refused to this process, as far as is known yet.
pub(crate) fn refusal() -> Option<Errno> {
    Some(REFUSED.load(Ordering::Relaxed)).filter(|it| *it != 0)
}

/// From now on processes are made by clone(2).
///
/// Called where clone(2) has made what clone3(2) refused, and in a supervisor whose host has found
/// that out.
pub(crate) fn refuse(errno: Errno) {
    REFUSED.store(errno, Ordering::Relaxed);
}

/// Whether this answer is that of a filter, and not the kernel's to these flags.
///
/// Docker refuses clone3(2) with `ENOSYS` since 20.10.10, so that libraries take clone(2), and refused it
/// with `EPERM` before, as it does with everything else. To the kernel that means namespaces and cgroups
/// which this user may not have.
const fn is_refusal(errno: Errno, flags: u64) -> bool {
    const FORBIDDEN_TO_SOME: u64 =
        clone::NEWUTS | clone::NEWUSER | clone::NEWPID | clone::NEWNET | clone::INTO_CGROUP;
    errno == errno::NOSYS || (errno == errno::PERM && flags & FORBIDDEN_TO_SOME == 0)
}

/// Makes a process by clone3(2), or else by clone(2). What a child by clone(2) has to do for itself is
/// told by the second argument of `entry`: all signals are blocked, handlers are its parent's, and so is
/// its cgroup.
///
/// # Safety
///
/// As for [`sys::clone3`] and [`sys::clone()`].
pub(crate) unsafe fn make(
    args: &CloneArgs,
    cookie: Cookie,
    entry: Entry,
    arg: *mut c_void,
) -> Result<i32, Errno> {
    let mut refused = None;
    if refusal().is_none() {
        // SAFETY: the caller's promise.
        match unsafe { sys::clone3(args, cookie, entry, arg) } {
            Err(errno) if is_refusal(errno, args.flags) => refused = Some(errno),
            res => return res,
        }
    }
    let before = set_mask(u64::MAX);
    // SAFETY: the caller's promise.
    let res = unsafe { sys::clone(args, cookie, entry, arg) };
    set_mask(before);
    if let (Some(errno), Ok(_)) = (refused, res) {
        refuse(errno);
    }
    res
}

const SIG_SETMASK: usize = 2;

/// Blocks these signals and no others in this thread; gives those that were blocked before.
pub(crate) fn set_mask(mask: u64) -> u64 {
    let mut before = 0_u64;
    // SAFETY: the kernel reads one number and writes another. It fails for bad arguments only.
    let _ = unsafe {
        let (new, old) = (address(&raw const mask), address(&raw mut before));
        sys::call(number::RT_SIGPROCMASK, [SIG_SETMASK, new, old, 8, 0, 0])
    };
    before
}

/// The last signal.
const SIGRTMAX: usize = 64;
const SIGKILL: usize = 9;
const SIGSTOP: usize = 19;
/// `SIG_IGN`; what is above it is a handler.
const IGNORED: usize = 1;

/// Lets every signal that has a handler do what it does by default, in this process. What is ignored
/// stays ignored, as with `CLONE_CLEAR_SIGHAND`.
///
/// # Safety
///
/// Nothing of this process needs its handlers.
pub(crate) unsafe fn forget_handlers() -> Result<(), Errno> {
    for signal in (1..=SIGRTMAX).filter(|it| ![SIGKILL, SIGSTOP].contains(it)) {
        // `struct sigaction` of the kernel: the handler, flags, a restorer, a mask.
        let (default, mut action) = ([0_usize; 4], [0_usize; 4]);
        // SAFETY: the kernel writes and reads structures of this size.
        unsafe {
            let at = address(action.as_mut_ptr());
            sys::call(number::RT_SIGACTION, [signal, 0, at, 8, 0, 0])?;
            if action[0] > IGNORED {
                sys::call(number::RT_SIGACTION, [signal, address(&default), 0, 8, 0, 0])?;
            }
        }
    }
    Ok(())
}

/// Puts this process into the cgroup whose list of members this file is: "0" stands for the process that writes it
/// (cgroups(7)).
///
/// # Errors
///
/// Those of write(2).
pub(crate) fn join(members: i32) -> Result<(), Errno> {
    let text = b"0";
    // SAFETY: the kernel reads one byte.
    unsafe { sys::call(number::WRITE, [int(members), address(text), 1, 0, 0, 0]) }.map(drop)
}

/// The list of members of a version 2 cgroup, which a descriptor of its directory leads to.
///
/// # Errors
///
/// Those of open(2).
pub(crate) fn members(dir: i32) -> Result<i32, Errno> {
    const WRITE_CLOEXEC: usize = 1 | 0o2_000_000;
    let path = address(c"cgroup.procs".as_ptr());
    // SAFETY: the path ends with a NUL byte. The descriptor is the caller's.
    unsafe { sys::call(number::OPENAT, [int(dir), path, WRITE_CLOEXEC, 0, 0, 0]) }
        .map(|it| it as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_from_what_the_kernel_says() {
        let plain = clone::VM | clone::VFORK | clone::CLEAR_SIGHAND | clone::PIDFD;
        let [names, processes, user, network] =
            [clone::NEWUTS, clone::NEWPID, clone::NEWUSER, clone::NEWNET].map(|it| plain | it);
        for flags in [plain, plain | clone::INTO_CGROUP, names, processes, user, network] {
            assert!(is_refusal(errno::NOSYS, flags), "{flags:#x}");
            assert_eq!(is_refusal(errno::PERM, flags), flags == plain, "{flags:#x}");
            for other in [errno::AGAIN, errno::NOMEM, errno::INVAL] {
                assert!(!is_refusal(other, flags), "{flags:#x}");
            }
        }
    }
}
