//! Learning of a program's exit through its pidfd, which leaves it to be reaped.
//!
//! Waiting costs no thread and no signal handler: the pidfd becomes readable at the exit
//! (pidfd_open(2), Linux 5.3). The child is looked at with `WNOWAIT` (waitid(2)) and stays a
//! zombie.

use std::{io, os::fd::OwnedFd};

use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, WaitIdStatus, pidfd_open, waitid};
use tokio::io::{Interest, unix::AsyncFd};

/// Watches one child of this process.
#[derive(Debug)]
pub(super) struct ExitWatch {
    pidfd: AsyncFd<OwnedFd>,
}

impl ExitWatch {
    /// Watches `pid`, which must not have been reaped, through its pidfd if there is one.
    ///
    /// # Errors
    ///
    /// The system is short of descriptors, or the runtime's event loop takes no more.
    pub(super) fn new(pid: Pid, pidfd: Option<OwnedFd>) -> io::Result<Self> {
        let pidfd = pidfd.map_or_else(|| pidfd_open(pid, PidfdFlags::empty()), Ok)?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe for types that change their descriptor; an `OwnedFd` never does"
        )]
        let pidfd = AsyncFd::with_interest(pidfd, Interest::READABLE)?;
        Ok(Self { pidfd })
    }

    /// Waits until the child has exited. It stays a zombie, so its id stays taken.
    pub(super) async fn exited(&self) -> io::Result<WaitIdStatus> {
        loop {
            let mut ready = self.pidfd.readable().await?;
            if let Some(status) = self.try_exited()? {
                return Ok(status);
            }
            ready.clear_ready();
        }
    }

    /// How the child exited, if it has.
    pub(super) fn try_exited(&self) -> io::Result<Option<WaitIdStatus>> {
        use std::os::fd::AsFd;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        Ok(waitid(WaitId::PidFd(self.pidfd.get_ref().as_fd()), options)?)
    }
}
