//! Which process has locked a file.
//!
//! A supervisor locks the `cgroup.kill` of its cgroup. The lock goes with the process, and tells its
//! number to every process that may open the file.

use std::{fs::File, io, os::fd::AsRawFd};

/// The process that holds a lock on a file for itself (`F_GETLK`, fcntl_locking(2)); 0 where its PID namespace
/// is out of sight.
///
/// # Errors
///
/// Those of fcntl(2).
pub(crate) fn holder(file: &File) -> io::Result<Option<i32>> {
    let mut lock = libc::flock {
        l_type: libc::F_WRLCK as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    // SAFETY: the descriptor is open, and the kernel reads and writes the structure on this frame.
    let res = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLK, &raw mut lock) };
    match res {
        -1 => Err(io::Error::last_os_error()),
        _ if i32::from(lock.l_type) == libc::F_UNLCK => Ok(None),
        _ => Ok(Some(lock.l_pid)),
    }
}
