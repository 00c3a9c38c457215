//! What a supervisor has entered, tried once before its first program.
//!
//! A filter of system calls can answer success without making the call (`SECCOMP_RET_ERRNO` with 0, seccomp(2)). Then
//! a supervisor believes itself confined, and reports so. So each claim is tried: by asking the kernel, or by doing
//! what must fail. A trial that fails is told with the error number 0: the system said yes, and did nothing.

use core::{
    ffi::{CStr, c_void},
    sync::atomic::{AtomicBool, Ordering},
};

use flyto_supervision::{FILTER_ERRNO, FILTER_QUESTION, Setup, SetupFlags, Stage};

use crate::{
    bare::{
        clone3,
        child::Failed,
        sys::{self, CloneArgs, Errno, MadeBy, address, clone, errno, int, number},
    },
    exit,
    memory::Pages,
    process::{Descriptor, O_DIRECTORY, O_RDONLY, O_WRONLY, Used, wait_for},
    setup::SupervisorContext,
};

const PR_CAPBSET_READ: usize = 23;
const PR_GET_CHILD_SUBREAPER: usize = 37;
const PR_GET_NO_NEW_PRIVS: usize = 39;
/// Whatever else root may do is done with this one.
const CAP_SYS_ADMIN: usize = 21;
const RLIMIT_NOFILE: usize = 7;

/// Tries what every supervisor relies on.
pub(crate) fn basics() -> Result<(), Failed> {
    must(Stage::Children, is_subreaper())?;
    must(Stage::Bounds, are_bounds_kept())
}

/// Tries everything that a supervisor has entered.
pub(crate) fn entered(setup: &Setup<'_>, context: &SupervisorContext) -> Result<(), Failed> {
    let has = |flag| setup.flags.has(flag);
    if has(SetupFlags::NO_NEW_PRIVS) {
        must(Stage::Privileges, prctl(PR_GET_NO_NEW_PRIVS, 0) == Ok(1))?;
    }
    if has(SetupFlags::NO_CAPABILITIES) {
        must(Stage::Privileges, are_capabilities_gone())?;
    }
    if has(SetupFlags::ROOT_IS_CLOSED) {
        let root = Descriptor::open(c"/", O_RDONLY | O_DIRECTORY).map(drop);
        must(Stage::Landlock, root == Err(errno::ACCES))?;
    }
    if has(SetupFlags::PROC_IS_READ_ONLY) {
        let own_name = Descriptor::open(c"/proc/self/comm", O_WRONLY).map(drop);
        must(Stage::Landlock, own_name == Err(errno::ACCES))?;
    }
    if !setup.filter.is_empty() {
        let own = context.cookie[0] ^ context.cookie[1];
        must(Stage::Filter, prctl(FILTER_QUESTION as usize, own as usize) == Err(FILTER_ERRNO))?;
    }
    if let Some(ruleset) = context.inner_ruleset {
        must(Stage::Landlock, keeps_signals_inside(context, ruleset)?)?;
    }
    Ok(())
}

fn must(stage: Stage, holds: bool) -> Result<(), Failed> {
    match holds {
        true => Ok(()),
        false => Err(untrue(stage)),
    }
}

/// The system said that it did something, and it did not.
pub(crate) const fn untrue(stage: Stage) -> Failed {
    Failed { stage, errno: 0 }
}

/// Which namespace of a kind this process is in, such as `mnt:[4026531841]`.
pub(crate) fn namespace(link: &CStr) -> Result<[u8; 32], Errno> {
    let mut text = [0; 32];
    // SAFETY: the path ends with a NUL byte, and the kernel writes into the array, with its length.
    unsafe {
        let (path, to) = (address(link.as_ptr()), address(text.as_mut_ptr()));
        sys::call(number::READLINK, [path, to, text.len(), 0, 0, 0])?;
    }
    Ok(text)
}

fn prctl(option: usize, argument: usize) -> Result<usize, Errno> {
    // SAFETY: numbers.
    unsafe { sys::numbers(number::PRCTL, &[option, argument, 0, 0, 0]) }
}

fn is_subreaper() -> bool {
    let mut is = 0_i32;
    // SAFETY: the kernel writes one number.
    let res = unsafe {
        let args = [PR_GET_CHILD_SUBREAPER, address(&raw mut is), 0, 0, 0, 0];
        sys::call(number::PRCTL, args)
    };
    res.is_ok() && is == 1
}

/// Whether a bound that is set holds: tries one lower than its own, and takes that back.
fn are_bounds_kept() -> bool {
    let limit = |new: *const u64, old: *mut u64| {
        // SAFETY: the kernel reads and writes two numbers, where it is given a place.
        let res = unsafe {
            sys::call(number::PRLIMIT64, [0, RLIMIT_NOFILE, address(new), address(old), 0, 0])
        };
        res.is_ok()
    };
    // No limit, so that it shows whether the system has written there.
    const NOTHING: u64 = 0xdead_beef_dead_beef;
    let (mut own, mut now) = ([NOTHING; 2], [NOTHING; 2]);
    if !limit(core::ptr::null(), own.as_mut_ptr()) || own == [NOTHING; 2] {
        return false;
    }
    let Some(lower) = own[0].checked_sub(1) else { return true };
    let is_set = limit([lower, own[1]].as_ptr(), core::ptr::null_mut())
        && limit(core::ptr::null(), now.as_mut_ptr())
        && now[0] == lower;
    limit(own.as_ptr(), core::ptr::null_mut()) && is_set
}

/// Either no execution gives a capability, or this process has none to begin with.
fn are_capabilities_gone() -> bool {
    prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN) == Ok(0)
        || crate::setup::permitted().is_ok_and(|it| it == [0; 2])
}

/// What a trial of signals gets from the supervisor, and what it gives back.
struct Signals {
    ruleset: i32,
    supervisor: i32,
    are_kept: AtomicBool,
}

/// Bytes of stack for a trial, which makes a few system calls.
const STACK_BYTES: usize = 16 * 1024;

/// Whether a process that enters this ruleset can signal the supervisor no more.
fn keeps_signals_inside(context: &SupervisorContext, ruleset: i32) -> Result<bool, Failed> {
    let failed = |stage| move |errno| Failed { stage, errno };
    let stack = Pages::new(STACK_BYTES).map_err(failed(Stage::Memory))?;
    // SAFETY: asks for a number.
    let own = unsafe { sys::numbers(number::GETPID, &[]) }.map_err(failed(Stage::Clone))?;
    let signals = Signals { ruleset, supervisor: own as i32, are_kept: AtomicBool::new(false) };
    let args = CloneArgs {
        flags: clone::VM | clone::VFORK,
        exit_signal: u64::from(sys::SIGCHLD),
        stack: address(stack.bytes()) as u64,
        stack_size: stack.bytes().len() as u64,
        ..CloneArgs::default()
    };
    let at = (&raw const signals).cast_mut().cast();
    // SAFETY: the stack and the signals stay until that process has ended, which is waited for.
    let pid = unsafe { clone3::make(&args, context.cookie, try_signal, at) }
        .map_err(failed(Stage::Clone))?;
    wait_for(pid, &mut Used::default());
    context.ends.clear();
    Ok(signals.are_kept.load(Ordering::Acquire))
}

extern "C" fn try_signal(signals: *mut c_void, _: MadeBy) -> ! {
    // SAFETY: the supervisor lends it, and waits for our end.
    let signals = unsafe { &*signals.cast::<Signals>() };
    // SAFETY: numbers. Signal 0 is none: the system says whether one could be sent (kill(2)).
    let answer = unsafe {
        let entered =
            sys::numbers(number::LANDLOCK_RESTRICT_SELF, &[int(signals.ruleset), 0]);
        entered.and_then(|_| sys::numbers(number::KILL, &[int(signals.supervisor), 0]))
    };
    signals.are_kept.store(answer == Err(errno::PERM), Ordering::Release);
    exit(0)
}
