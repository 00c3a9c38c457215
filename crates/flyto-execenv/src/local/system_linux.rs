//! What Linux has and other systems have not.

use std::os::fd::AsFd;

use rustix::{io::Errno, pipe::fcntl_setpipe_size};

/// The error number of a program whose interpreter is of another format (execve(2)).
pub(super) const BAD_INTERPRETER: Option<Errno> = Some(Errno::LIBBAD);

/// Gives a pipe more room, where the user may have it (pipe(7)). A narrower one works as well.
pub(super) fn widen(pipe: impl AsFd, bytes: usize) {
    let _ = fcntl_setpipe_size(pipe, bytes);
}
