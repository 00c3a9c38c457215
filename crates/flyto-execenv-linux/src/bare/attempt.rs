//! System calls that tests try from where they must fail.

use super::sys::{self, Errno};

/// Makes a system call without any buffer: arguments are numbers, and those that are not given 0. What
/// comes of it is no more than an error number, or 0.
///
/// It is for calls that are refused, and asks for nothing that could harm if they were not: without a
/// buffer such a call has nothing to work on.
pub(crate) fn without_buffers(number: libc::c_long, args: &[u32]) -> Errno {
    let args: Vec<_> = args.iter().map(|it| *it as usize).collect();
    // SAFETY: the process is one that a test started for this, and no pointer is handed over.
    let res = unsafe { sys::numbers(number as usize, &args) };
    res.err().unwrap_or(0)
}
