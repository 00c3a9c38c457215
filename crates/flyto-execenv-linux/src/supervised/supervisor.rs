//! One supervisor, as its host holds it.
//!
//! Records and orders go out over one socket, reports come in; each is one message. Sending never
//! blocks, receiving is asynchronous but for the probe. The socket stays registered with the
//! runtime that used it last, which saves two system calls for each call.
//!
//! Dropping a [`Supervisor`] never blocks either: its end is waited for by the [`reaper`].

use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::{MaybeUninit, forget, take},
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    sync::{Arc, OnceLock},
    task::{Context, Poll, ready},
    time::Instant,
};

use flyto_supervision::{Order, REPORT_BYTES, Report, ReportKind};
use rustix::{
    fs::{MemfdFlags, memfd_create},
    io::{Errno, fcntl_dupfd_cloexec},
    net::{
        AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
        SendAncillaryBuffer, SendAncillaryMessage, SendFlags, Shutdown, SocketFlags, SocketType,
        recvmsg, send, sendmsg, shutdown, socketpair,
    },
    process::{Pid, getpid},
};
use tokio::{
    io::{Interest, unix::AsyncFd},
    runtime,
};

use super::{
    image::image,
    orphans,
    reaper::{self, ClosingSupervisor},
};
use crate::{
    bare::{child::ProcessGroup, host},
    cgroup::Leaf,
    processes::wake,
    proxy::ProxyListener,
};

/// The largest record that goes into a message by itself: the supervisor has room for 32 KiB.
///
/// Larger records, with long arguments or many variables, are written to a memfd whose descriptor
/// is sent.
const INLINE_BYTES: usize = 32 * 1024;

/// Says that the record is a file, which goes with the message as its last descriptor.
const IN_A_FILE: &[u8] = &[0];

/// Descriptors of one message.
///
/// More than any record has; the kernel's own bound is 253 (`SCM_MAX_FD`, unix(7)).
const MAX_DESCRIPTORS: usize = 8;

/// A supervisor. Dropping it closes its socket, and with that it ends whatever it runs, and itself.
#[derive(Debug)]
pub(super) struct Supervisor {
    /// The descriptors are taken by the destructor only.
    socket: Option<Arc<OwnedFd>>,
    pub(super) pidfd: Option<OwnedFd>,
    pid: i32,
    /// The cgroup of its programs. It goes after the supervisor.
    leaf: Option<Leaf>,
    /// Where its programs come in, once it has said that it is ready.
    listener: OnceLock<Arc<ProxyListener>>,
    /// The process that started it. A fork of that has copies of all this, which are not its own.
    owner: Pid,
    /// Whether it leads a session, in which programs are that did not leave it.
    leads_session: bool,
    /// Whether it has a program.
    serves: bool,
    /// The socket in the event loop of a runtime. It stays there from call to call.
    watched: Option<(runtime::Id, AsyncFd<Arc<OwnedFd>>)>,
}

impl Supervisor {
    /// Starts one for programs of this cgroup. It does nothing before its first message, which must be its
    /// setup.
    ///
    /// The caller's thread waits until the supervisor's image is in place, some 50 µs.
    ///
    /// The descriptors that the supervisor gets are moved to 4 and above first, since it has 0 to 3
    /// for others.
    ///
    /// # Errors
    ///
    /// Those of socketpair(2), open(2), memfd_create(2) and clone3(2): this process is short of
    /// something, or may not start it.
    pub(super) fn start(leaf: Option<Leaf>, pgrp: ProcessGroup) -> io::Result<Self> {
        let (ours, its) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        // A host without standard streams must not write into this instead.
        let ours = if ours.as_raw_fd() > 2 { ours } else { fcntl_dupfd_cloexec(&ours, 3)? };
        // The places up to 3 are taken in a child.
        let its = fcntl_dupfd_cloexec(&its, 4)?;
        let null = fcntl_dupfd_cloexec(
            rustix::fs::open(
                c"/dev/null",
                rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC,
                rustix::fs::Mode::empty(),
            )?,
            4,
        )?;
        let image = image()?;
        let members = leaf.as_ref().map(Leaf::members).transpose()?.flatten();
        let members = members.as_ref().map(AsFd::as_fd);
        let cgroup = leaf.as_ref().map(Leaf::dir_of_supervisor).transpose()?.flatten();
        let cgroup = cgroup.as_ref().map(|(dir, list)| (*dir, list.as_fd()));
        let streams = (its.as_fd(), null.as_fd());
        let start = || host::supervisor(image, streams, pgrp, members, cgroup);
        let (pid, pidfd) = orphans::start(start, |it| it.0)?;
        Ok(Self {
            socket: Some(Arc::new(ours)),
            pidfd: Some(pidfd),
            pid,
            leaf,
            listener: OnceLock::new(),
            owner: getpid(),
            leads_session: pgrp == ProcessGroup::Session,
            serves: false,
            watched: None,
        })
    }

    /// Its process, as this process sees it.
    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// The cgroup of its programs.
    pub(super) fn leaf(&self) -> Option<&Leaf> {
        self.leaf.as_ref()
    }

    /// The same, to set bounds.
    pub(super) fn leaf_mut(&mut self) -> Option<&mut Leaf> {
        self.leaf.as_mut()
    }

    /// Where its programs come in, if it has left the network of the machine and said so.
    pub(super) fn listener(&self) -> Option<&Arc<ProxyListener>> {
        self.listener.get()
    }

    /// Whether this process has started it, rather than one that this is a fork of.
    ///
    /// A fork has copies of the descriptors; using them would mix up two processes' calls.
    pub(super) fn is_ours(&self) -> bool {
        self.owner == getpid()
    }

    /// Lets it go on if it was stopped from outside.
    pub(super) fn wake(&self) {
        self.pidfd.iter().for_each(wake);
    }

    /// Kills its programs, and it with them if need be: it does not do that any more.
    pub(super) fn kill_cgroup(&self) {
        self.leaf.iter().for_each(|it| _ = it.kill());
    }

    /// Whether it has a program.
    pub(super) fn serves(&self) -> bool {
        self.serves
    }

    /// Notes that it has a program, or has none.
    ///
    /// Decides what the destructor does: a cgroup is killed, and a session looked through, only
    /// where a program may be left.
    pub(super) fn set_serves(&mut self, serves: bool) {
        self.serves = serves;
    }

    /// # Panics
    ///
    /// Never outside of the destructor, which takes the socket last.
    pub(super) fn socket(&self) -> &Arc<OwnedFd> {
        self.socket.as_ref().expect("only the destructor takes it")
    }

    /// Sends a record with descriptors. Never blocks: a supervisor takes its messages one by one, and
    /// at most a handful is under way.
    ///
    /// # Errors
    ///
    /// `EPIPE` or `ECONNRESET` where the supervisor is gone, `EMFILE` and the like where this
    /// process is short of something.
    pub(super) fn send(&self, record: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        if record.len() <= INLINE_BYTES {
            return Ok(self.send_inline(record, descriptors)?);
        }
        let file = memfd_create("flyto-record", MemfdFlags::CLOEXEC)?;
        let mut file = std::fs::File::from(file);
        io::Write::write_all(&mut file, record)?;
        let all: Vec<_> = descriptors.iter().copied().chain([file.as_fd()]).collect();
        Ok(self.send_inline(IN_A_FILE, &all)?)
    }

    /// The record has at most [`INLINE_BYTES`] and at least one byte: an empty message would read
    /// as the end of the socket.
    fn send_inline(&self, record: &[u8], descriptors: &[BorrowedFd<'_>]) -> Result<(), Errno> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(Errno::TOOBIG);
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        sendmsg(self.socket(), &[IoSlice::new(record)], &mut control, flags).map(drop)
    }

    /// Sends an order. A supervisor that is gone has ended everything, or cannot be asked to.
    pub(super) fn order(&self, order: Order) -> Result<(), Errno> {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let res = send(self.socket(), &order.to_bytes(), flags);
        self.wake();
        res.map(drop)
    }

    /// The next report, without waiting: `None` where there is none yet.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::UnexpectedEof`] where the supervisor has closed its end, `ECONNRESET` where
    /// it did so with a message unread, [`io::ErrorKind::InvalidData`] for what is no report.
    pub(super) fn try_report(&self) -> io::Result<Option<Report>> {
        match self.receive() {
            // It has ended with a message of ours unread, which is said before what it has sent (unix(7)).
            Err(err) if err.kind() == io::ErrorKind::ConnectionReset => match self.receive() {
                Ok(Some(report)) => Ok(Some(report)),
                _ => Err(err),
            },
            res => res,
        }
    }

    /// The first report of a supervisor that left the network brings its listener as a descriptor,
    /// which is kept here.
    fn receive(&self) -> io::Result<Option<Report>> {
        let mut record = [0; REPORT_BYTES];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let res = recvmsg(self.socket(), &mut [IoSliceMut::new(&mut record)], &mut control, flags);
        let descriptors = control.drain().filter_map(|it| match it {
            RecvAncillaryMessage::ScmRights(all) => Some(all),
            _ => None,
        });
        for descriptor in descriptors.flatten() {
            // It has one listener.
            let _ = self.listener.set(Arc::new(ProxyListener::new(descriptor)?));
        }
        if res.as_ref().is_ok_and(|it| it.flags.contains(ReturnFlags::CTRUNC)) {
            // The system had no descriptor left for its listener, and sends it once.
            return Err(Errno::MFILE.into());
        }
        match res.map(|it| it.bytes) {
            Ok(n) if n > 0 => match record.get(..n).and_then(Report::read) {
                Some(report) => Ok(Some(report)),
                None => {
                    Err(io::Error::new(io::ErrorKind::InvalidData, "no record of a supervisor"))
                }
            },
            Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Puts the socket into the event loop of the current runtime, where it is not there already.
    ///
    /// Moves the registration where the last call ran in another runtime.
    pub(super) fn watch(&mut self) -> io::Result<()> {
        let runtime = runtime::Handle::current().id();
        if self.watched.as_ref().is_none_or(|(id, _)| *id != runtime) {
            // The old registration goes first: a descriptor can be in one place of a loop only once.
            self.watched = None;
            #[expect(
                deprecated,
                reason = "its successor is unsafe for types that change their descriptor; an `OwnedFd` never does"
            )]
            let watched = AsyncFd::with_interest(Arc::clone(self.socket()), Interest::READABLE)?;
            self.watched = Some((runtime, watched));
        }
        Ok(())
    }

    /// The next report, once there is one. The socket is watched; one task at a time waits.
    ///
    /// Needs [`watch`](Self::watch) before. Only the last task that polled is woken.
    pub(super) fn poll_report(&self, cx: &mut Context<'_>) -> Poll<io::Result<Report>> {
        let Some((_, watched)) = &self.watched else {
            return Poll::Ready(Err(io::ErrorKind::NotConnected.into()));
        };
        loop {
            let mut ready = ready!(watched.poll_read_ready(cx))?;
            match self.try_report()? {
                Some(report) => {
                    if matches!(report.kind, ReportKind::Ended | ReportKind::Failed) {
                        // The last of a call. The next call does not begin with a look in vain.
                        ready.clear_ready();
                    }
                    return Poll::Ready(Ok(report));
                }
                None => ready.clear_ready(),
            }
        }
    }

    /// Waits for the next report, blocking the thread for at most `timeout`.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::TimedOut`] after `timeout`, else those of [`try_report`](Self::try_report).
    pub(super) fn report_blocking(&self, timeout: std::time::Duration) -> io::Result<Report> {
        let give_up = Instant::now() + timeout;
        loop {
            let left = give_up.saturating_duration_since(Instant::now());
            let left = left.try_into().map_err(io::Error::other)?;
            let mut polled =
                [rustix::event::PollFd::new(self.socket(), rustix::event::PollFlags::IN)];
            match rustix::event::poll(&mut polled, Some(&left)) {
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                // A signal of the host's says nothing about the supervisor.
                Err(Errno::INTR) => {}
                res => _ = res?,
            }
            if let Some(report) = self.try_report()? {
                return Ok(report);
            }
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let watched = take(&mut self.watched);
        if !self.is_ours() {
            // A fork shares the event loop with the process that it comes from, and would take the
            // socket out of that.
            forget(watched);
            return;
        }
        drop(watched);
        if let Some(leaf) = self.leaf.as_ref().filter(|it| self.serves && it.spares_supervisor()) {
            // Also where the supervisor was killed or stopped from outside.
            leaf.kill();
        }
        if let Some(socket) = take(&mut self.socket) {
            // Forks have copies of the socket, so that closing ours need not be its end.
            let _ = shutdown(&socket, Shutdown::Both);
        }
        if let Some(pidfd) = take(&mut self.pidfd) {
            let led_session = self.serves && self.leads_session;
            reaper::wait_for(ClosingSupervisor::new(
                pidfd,
                self.pid,
                led_session,
                take(&mut self.leaf),
            ));
        }
    }
}
