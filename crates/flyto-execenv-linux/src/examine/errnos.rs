//! The names of error numbers.
//!
//! Programs show a name rather than the system's text, which depends on the language of the C
//! library.

/// The name of an error number that starting or confining a program can meet, such as `EPERM`
/// (errno(3)).
///
/// `None` for every other number. 0 is the code of this crate for a call that succeeded without
/// effect.
///
/// ```
/// use flyto_execenv_linux::examine::errno_name;
///
/// assert_eq!(errno_name(1), Some("EPERM"));
/// assert_eq!(errno_name(0), Some("no effect"));
/// assert_eq!(errno_name(999), None);
/// ```
#[must_use]
pub const fn errno_name(errno: i32) -> Option<&'static str> {
    Some(match errno {
        // A trial found that a call which succeeded had done nothing.
        0 => "no effect",
        libc::EPERM => "EPERM",
        libc::ENOENT => "ENOENT",
        libc::ESRCH => "ESRCH",
        libc::EIO => "EIO",
        libc::E2BIG => "E2BIG",
        libc::ENOEXEC => "ENOEXEC",
        libc::EBADF => "EBADF",
        libc::EAGAIN => "EAGAIN",
        libc::ENOMEM => "ENOMEM",
        libc::EACCES => "EACCES",
        libc::EBUSY => "EBUSY",
        libc::EEXIST => "EEXIST",
        libc::ENODEV => "ENODEV",
        libc::ENOTDIR => "ENOTDIR",
        libc::EINVAL => "EINVAL",
        libc::ENFILE => "ENFILE",
        libc::EMFILE => "EMFILE",
        libc::ETXTBSY => "ETXTBSY",
        libc::ENOSPC => "ENOSPC",
        libc::EROFS => "EROFS",
        libc::ENOSYS => "ENOSYS",
        libc::EUSERS => "EUSERS",
        libc::EOPNOTSUPP => "EOPNOTSUPP",
        libc::EAFNOSUPPORT => "EAFNOSUPPORT",
        libc::EADDRNOTAVAIL => "EADDRNOTAVAIL",
        libc::ENETDOWN => "ENETDOWN",
        libc::ECONNRESET => "ECONNRESET",
        libc::ENOBUFS => "ENOBUFS",
        libc::ETIMEDOUT => "ETIMEDOUT",
        _ => return None,
    })
}
