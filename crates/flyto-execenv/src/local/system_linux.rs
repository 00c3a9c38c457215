//! What Linux has and other systems have not.

use std::os::fd::AsFd;

use rustix::{
    io::Errno,
    pipe::fcntl_setpipe_size,
    process::{Resource, getrlimit},
};

/// The error number of a program whose interpreter is of another format (execve(2)).
pub(super) const BAD_INTERPRETER: Option<Errno> = Some(Errno::LIBBAD);

/// The most bytes that arguments and variables have together, with a NUL and a pointer for each: a quarter of the soft
/// limit of the stack, at most three quarters of 8 MiB, at least 32 pages of 4 KiB (execve(2); `bprm_stack_limits` in
/// the kernel's `fs/exec.c`).
pub(super) fn max_words_bytes() -> Option<u64> {
    const MOST: u64 = 6 << 20;
    const LEAST: u64 = 128 << 10;
    let stack = getrlimit(Resource::Stack).current;
    Some(stack.map_or(MOST, |it| (it / 4).clamp(LEAST, MOST)))
}

/// Gives a pipe more room, where the user may have it (pipe(7)). A narrower one works as well.
pub(super) fn widen(pipe: impl AsFd, bytes: usize) {
    let _ = fcntl_setpipe_size(pipe, bytes);
}
