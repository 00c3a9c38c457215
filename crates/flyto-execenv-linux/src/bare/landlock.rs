//! The system calls that make Landlock rulesets (landlock(7)), as safe calls.
//!
//! A ruleset is made here and entered elsewhere: by a supervisor, or by a child before its program.

use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    ptr::null,
};

use super::sys::{self, Errno, address, int};

const CREATE_RULESET: usize = 444;
const ADD_RULE: usize = 445;

/// `LANDLOCK_CREATE_RULESET_VERSION`.
const VERSION: usize = 1;
/// `LANDLOCK_RULE_PATH_BENEATH`.
const PATH_BENEATH: usize = 1;

/// `struct landlock_ruleset_attr`: what a ruleset closes unless a rule opens it. A kernel that does not
/// know the last fields takes them where they are 0.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Handled {
    /// Rights to files, `LANDLOCK_ACCESS_FS_*`.
    pub(crate) files: u64,
    /// Rights to ports, `LANDLOCK_ACCESS_NET_*`.
    pub(crate) ports: u64,
    /// What does not leave the domain, `LANDLOCK_SCOPE_*`.
    pub(crate) scoped: u64,
}

/// `struct landlock_path_beneath_attr`, which is packed.
#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: i32,
}

/// The error number as an [`io::Error`].
fn system(errno: Errno) -> io::Error {
    io::Error::from_raw_os_error(i32::try_from(errno).unwrap_or(i32::MAX))
}

/// The version of the interface that the kernel has; 0 where it has none, or is told not to use it.
pub(crate) fn version() -> u32 {
    ask_version().unwrap_or(0)
}

/// The same, with the reason why there is none.
///
/// # Errors
///
/// `EOPNOTSUPP` where the kernel has Landlock and was told not to use it, `ENOSYS` where it was built
/// without.
pub(crate) fn ask_version() -> io::Result<u32> {
    // SAFETY: a null pointer and no size are what this question is asked with.
    let version = unsafe { sys::numbers(CREATE_RULESET, &[address(null::<u8>()), 0, VERSION]) };
    version.map_err(system).and_then(|it| u32::try_from(it).map_err(io::Error::other))
}

/// A ruleset without rules: everything that it handles is closed.
///
/// # Errors
///
/// `EINVAL` for a right that the kernel does not know, `ENOMSG` for one that handles nothing,
/// `EMFILE`.
pub(crate) fn ruleset(handled: &Handled) -> io::Result<OwnedFd> {
    // SAFETY: the kernel reads the structure, with its size.
    let made = unsafe {
        sys::numbers(CREATE_RULESET, &[address(handled), size_of::<Handled>(), 0])
            .map_err(system)?
    };
    let fd = i32::try_from(made).map_err(io::Error::other)?;
    // SAFETY: the call made this descriptor for us. It is closed on execution.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Opens `rights` to a file, or to a directory and what lies below it. They are among those that the
/// ruleset handles, and for a file among those of files.
///
/// # Errors
///
/// `EINVAL` for rights outside of what the ruleset handles, or that a file cannot have.
pub(crate) fn allow(ruleset: BorrowedFd<'_>, rights: u64, file: BorrowedFd<'_>) -> io::Result<()> {
    let rule = PathBeneath { allowed: rights, parent: file.as_raw_fd() };
    // SAFETY: the kernel reads the structure, whose size its kind says.
    unsafe {
        let args = [int(ruleset.as_raw_fd()), PATH_BENEATH, address(&raw const rule), 0];
        sys::numbers(ADD_RULE, &args).map_err(system)?;
    }
    Ok(())
}
