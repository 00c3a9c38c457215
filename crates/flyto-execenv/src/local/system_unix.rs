//! Where pipes have one size, and no error number tells of a bad interpreter.

use std::os::fd::AsFd;

use rustix::io::Errno;

/// The error number of a program whose interpreter is of another format; there is none here.
pub(super) const BAD_INTERPRETER: Option<Errno> = None;

/// The most bytes that arguments and variables have together: not known here.
pub(super) fn max_words_bytes() -> Option<u64> {
    None
}

/// Gives a pipe more room: not possible here.
pub(super) fn widen(_pipe: impl AsFd, _bytes: usize) {}
