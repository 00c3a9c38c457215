//! What the host asks of the rest of this module, as safe calls.

use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    ptr::null,
};

use super::child::{self, Cgroup, Failed, Image, Launch, ProcessGroup};

/// Starts a supervisor from `image`, with a socket as its descriptor 3 and a null device as 0, 1 and 2. All
/// three are 4 or greater. It puts itself on the list of `members` of a cgroup of version 1 before its first
/// instruction, and is cloned into `cgroup` of version 2, which is a directory and its list of members. Gives its
/// process and a pidfd for it.
///
/// The thread is blocked until the supervisor's image is in place. Its environment is empty, its
/// working directory the root, and its name `flyto-supervisor`.
///
/// # Errors
///
/// The error number of the step that failed; nothing runs then.
pub(crate) fn supervisor(
    image: BorrowedFd<'_>,
    (socket, null_device): (BorrowedFd<'_>, BorrowedFd<'_>),
    pgrp: ProcessGroup,
    members: Option<BorrowedFd<'_>>,
    cgroup: Option<(BorrowedFd<'_>, BorrowedFd<'_>)>,
) -> io::Result<(i32, OwnedFd)> {
    let name = c"flyto-supervisor";
    let (args, env) = ([name.as_ptr().cast(), null()], [null()]);
    let null_device = null_device.as_raw_fd();
    let launch = Launch {
        image: Image::Descriptor(image.as_raw_fd()),
        args: args.as_ptr(),
        env: env.as_ptr(),
        dir: c"/".as_ptr().cast(),
        streams: [null_device; 3],
        fourth: Some(socket.as_raw_fd()),
        pgrp,
        bounds: &[],
        ends_with: None,
        no_new_privs: false,
        ruleset: None,
        cgroup: cgroup
            .map(|(dir, list)| Cgroup { dir: dir.as_raw_fd(), members: list.as_raw_fd() }),
        members: members.map(|it| it.as_raw_fd()),
        cookie: [0; 2],
        is_clean: false,
        busy_waits_us: &[],
    };
    // SAFETY: the strings end with NUL bytes, the arrays with null pointers; they and the descriptors
    // outlive the call.
    let child = unsafe { child::start(&launch) }
        .map_err(|Failed { errno, .. }| io::Error::from_raw_os_error(errno as i32))?;
    // SAFETY: the start made this descriptor for us.
    Ok((child.pid, unsafe { OwnedFd::from_raw_fd(child.pidfd) }))
}
