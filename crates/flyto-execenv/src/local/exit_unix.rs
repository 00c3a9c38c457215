//! Learning of a program's exit where there is no pidfd: by `SIGCHLD`, and leaving it to be reaped.
//!
//! Each SIGCHLD of this process wakes every watch, which then looks at its own child only. Tokio's
//! handler for the signal stays for the life of the process.

use std::{io, os::fd::OwnedFd};

use rustix::process::{Pid, WaitId, WaitIdOptions, WaitIdStatus, waitid};
use tokio::signal::unix::{SignalKind, signal};

/// Watches one child of this process.
#[derive(Debug)]
pub(super) struct ExitWatch {
    pid: Pid,
}

impl ExitWatch {
    /// Watches `pid`, which must not have been reaped. There is no pidfd here.
    ///
    /// Never fails.
    pub(super) fn new(pid: Pid, _pidfd: Option<OwnedFd>) -> io::Result<Self> {
        Ok(Self { pid })
    }

    /// Waits until the child has exited. It stays a zombie, so its id stays taken.
    pub(super) async fn exited(&self) -> io::Result<WaitIdStatus> {
        // Listening starts before the first look, so that no exit falls between the two.
        let mut some_child = signal(SignalKind::child())?;
        loop {
            if let Some(status) = self.try_exited()? {
                return Ok(status);
            }
            some_child.recv().await;
        }
    }

    /// How the child exited, if it has.
    pub(super) fn try_exited(&self) -> io::Result<Option<WaitIdStatus>> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        Ok(waitid(WaitId::Pid(self.pid), options)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "the watch is tested without a backend")]
    async fn an_exit_is_seen_and_left_to_be_reaped() {
        let mut child = std::process::Command::new("/bin/cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("cat starts");
        let watch = ExitWatch::new(Pid::from_child(&child), None).expect("a watch");
        assert!(watch.try_exited().expect("a child of ours").is_none());
        drop(child.stdin.take());
        let status = watch.exited().await.expect("a child of ours");
        assert_eq!(status.exit_status(), Some(0));
        assert!(child.wait().expect("still to be reaped").success());
    }
}
