//! Terminating a program and its process group: SIGTERM, the grace, SIGKILL, and the confirmation.

use std::{
    fmt, io,
    os::{fd::OwnedFd, unix::process::ExitStatusExt},
    process::Child,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use rustix::{
    io::Errno,
    process::{
        Pid, Signal as Sig, WaitIdStatus, kill_process, kill_process_group, test_kill_process_group,
    },
};
use tokio::time::{Instant, sleep, timeout};
use wait4::{ResUse, Wait4};

use super::{
    exit::ExitWatch,
    members,
    pinned_copy::PinnedImage,
    reaper, resolve,
    usage::{may_be_stopped, memory_held, usage_so_far},
};
use crate::{
    Control, Ended, ExecError, ExecErrorKind, Exit, KillScope, MemoryMeter, PeakMemory, Signal,
    Spec, Target, Usage,
};

/// The last signal of the system: Linux has 64 (signal(7)), and other systems no real-time signals that
/// would count here.
const LAST_SIGNAL: i32 = if cfg!(target_os = "linux") { 64 } else { 0 };

/// A child of this process that has not been reaped, however it was started.
///
/// A backend implements it for its own way of starting a child, and hands the child to
/// [`GroupControl::new`].
pub trait Leader: fmt::Debug + Send + 'static {
    /// Its process id.
    fn id(&self) -> u32;

    /// The pidfd that it came with, if it did; asked for once. Without one, it is opened.
    fn take_pidfd(&mut self) -> Option<OwnedFd> {
        None
    }

    /// Reaps it if it has ended, and says how: its exit, its usage and the bound that ended it, if one
    /// did. It must not wait, nor touch any other child of this process.
    ///
    /// # Errors
    ///
    /// It is no child of this process any more.
    fn try_reap(&mut self) -> io::Result<Option<Ended>>;
}

/// What the standard library started.
#[derive(Debug)]
pub(super) struct StdChild(pub(super) Child);

impl Leader for StdChild {
    fn id(&self) -> u32 {
        self.0.id()
    }

    fn try_reap(&mut self) -> io::Result<Option<Ended>> {
        let Some(ResUse { status, rusage }) = self.0.try_wait4()? else { return Ok(None) };
        let exit = match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, signal) => Exit::Signal(Signal(signal.unwrap_or_default())),
        };
        let mut usage = Usage::unknown();
        usage.user_cpu = Some(rusage.utime);
        usage.system_cpu = Some(rusage.stime);
        usage.peak_memory = PeakMemory::AtMost(rusage.maxrss);
        Ok(Some(Ended::clean(exit).usage(usage)))
    }
}

/// How long the end of killed processes is waited for: 5 s. `SIGKILL` ends a process in microseconds
/// unless it sleeps uninterruptibly in the kernel; then the outcome says that it is unconfirmed.
const CONFIRM_TIME: Duration = Duration::from_secs(5);

/// How often stopped processes are woken while a grace lasts: every 100 ms, a small part of any grace
/// that is worth asking for.
const CONTINUE_AFTER: Duration = Duration::from_millis(100);

/// One program and its process group, as a child of this process.
///
/// Any backend that starts programs as children of the host can hand it out, in a [`Running`](crate::Running).
///
/// The leader is reaped only in [`Control::end`]. Until then its id, which is also the group's, is
/// taken by its zombie, and no signal can hit a stranger. After that the group is signalled only
/// while it is not empty, since its members keep the id taken as well (kill(2), credentials(7)).
///
/// A process that leaves the group is not ended:
/// [`Capability::TreeKill`](crate::Capability::TreeKill) is not for a backend that uses this alone.
#[derive(Debug)]
pub struct GroupControl {
    leader: Pid,
    /// `false` for [`KillScope::Leader`]: the program is in the host's group, which must not be
    /// signalled.
    owns_group: bool,
    watch: ExitWatch,
    /// The private copy that runs: an interpreter opens it some time after the start.
    image: Option<Arc<PinnedImage>>,
    state: Mutex<State>,
}

/// What is known of the leader; under one lock, so that no signal is sent to a number that was given out again.
///
/// `exit` is known from the first look that saw the exit; `child` is there until it is reaped.
#[derive(Debug)]
struct State {
    /// `None` once it was reaped.
    child: Option<Box<dyn Leader>>,
    exit: Option<Exit>,
    ended: Option<Ended>,
}

impl GroupControl {
    /// Looks after `leader`, which was just started from `spec`, in its own process group unless the
    /// spec says otherwise. `image` is kept until the program is gone.
    ///
    /// # Errors
    ///
    /// [`ExecErrorKind::Lost`] when its end cannot be watched; then it is killed and reaped.
    pub fn new(
        leader: impl Leader,
        spec: &Spec,
        image: Option<Arc<PinnedImage>>,
    ) -> Result<Self, ExecError> {
        let mut child: Box<dyn Leader> = Box::new(leader);
        let owns_group = spec.kill != KillScope::Leader;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let leader = pid.expect("a child has an id above zero");
        match ExitWatch::new(leader, child.take_pidfd()) {
            Ok(watch) => {
                let state = State { child: Some(child), exit: None, ended: None };
                Ok(Self { leader, owns_group, watch, image, state: Mutex::new(state) })
            }
            Err(err) => {
                send(leader, owns_group, Sig::KILL);
                reaper::reap(child);
                Err(resolve::lost(spec, "watch", err))
            }
        }
    }

    /// The state is whole between any two statements that change it.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the leader has exited and nothing else is alive in its group.
    ///
    /// Looks again after 1 ms, and after twice as long each time, 50 ms at most.
    async fn gone(&self) {
        let _ = self.watch.exited().await;
        let mut pause = Duration::from_millis(1);
        while self.owns_group && members::alive_in(self.leader) != Some(0) {
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }

    /// Wakes what is stopped, or stops itself meanwhile: it hears the request to end only once it
    /// goes on (signal(7)).
    ///
    /// Never returns; the caller drops it at the end of the grace.
    async fn keep_going(&self) {
        loop {
            send(self.leader, self.owns_group, Sig::CONT);
            sleep(CONTINUE_AFTER).await;
        }
    }

    /// Reaps the leader, which has exited.
    ///
    /// # Errors
    ///
    /// It is no child of this process any more, or was reaped before.
    fn reap(&self) -> io::Result<Ended> {
        let mut state = self.state();
        let child = state.child.as_mut().ok_or(Errno::CHILD)?;
        let ended = child.try_reap()?.ok_or(Errno::CHILD)?;
        // It is reaped now and must not be signalled or waited for again.
        state.child = None;
        state.exit = ended.exit;
        Ok(ended)
    }

    /// Ends what is left of the group of a reaped leader. Returns how many there were, where that
    /// can be counted, and whether they are known to be gone.
    ///
    /// Waits [`CONFIRM_TIME`] at most.
    async fn sweep(&self) -> (Option<u32>, bool) {
        // One system call for nearly every call. Between the reaping just before and this line the
        // thread does not wait for anything, so the id cannot have come round again: the kernel
        // hands out all other ids first.
        if !self.owns_group || test_kill_process_group(self.leader).is_err() {
            return (self.owns_group.then_some(0), true);
        }
        let found = members::alive_in(self.leader);
        let give_up = Instant::now() + CONFIRM_TIME;
        let mut pause = Duration::from_millis(1);
        loop {
            let is_gone = match kill_process_group(self.leader, Sig::KILL) {
                Ok(()) => members::alive_in(self.leader) == Some(0),
                // Empty; or left with processes of another user, which are not ours to end.
                Err(err) => err == Errno::SRCH,
            };
            if is_gone || Instant::now() >= give_up {
                return (found, is_gone);
            }
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }
}

#[async_trait]
impl Control for GroupControl {
    async fn wait(&self) -> Result<Exit, ExecError> {
        if let Some(exit) = self.state().exit {
            return Ok(exit);
        }
        let status = self.watch.exited().await.map_err(|err| {
            ExecError::new(ExecErrorKind::Lost, "wait for the program").with_source(err)
        })?;
        let exit = exit_of(&status);
        self.state().exit = Some(exit);
        Ok(exit)
    }

    fn signal(&self, signal: Signal, target: Target) -> Result<(), ExecError> {
        let state = self.state();
        if state.child.is_none() {
            return Ok(());
        }
        let sig = Sig::from_named_raw(signal.0).ok_or_else(|| {
            let (kind, why) = match signal.0 {
                // Without `unsafe`, rustix makes no value for one without a name (signal(7)).
                it if (1..=LAST_SIGNAL).contains(&it) => {
                    (ExecErrorKind::Unsupported, "this backend sends no real-time signals")
                }
                _ => (ExecErrorKind::InvalidSpec, "this system has no such signal"),
            };
            ExecError::new(kind, format!("send {signal}: {why}")).started()
        })?;
        send(self.leader, self.owns_group && target == Target::Tree, sig);
        Ok(())
    }

    fn usage(&self) -> Usage {
        let state = self.state();
        state.child.as_ref().map(|_| usage_so_far(self.leader, true)).unwrap_or_default()
    }

    fn memory_meter(&self) -> Option<MemoryMeter> {
        let leader = self.leader;
        Some(Arc::new(move || memory_held(leader, true)))
    }

    fn begin_call(&self) {
        let state = self.state();
        if state.child.is_some() && may_be_stopped(self.leader) {
            send(self.leader, self.owns_group, Sig::CONT);
        }
    }

    async fn end(&self, grace: Duration) -> Result<Ended, ExecError> {
        if let Some(ended) = self.state().ended.clone() {
            return Ok(ended);
        }
        let lost = |err: io::Error| {
            ExecError::new(ExecErrorKind::Lost, "end the program").with_source(err)
        };
        let was_seen = self.state().exit.is_some();
        let left_by_itself = was_seen || self.watch.try_exited().map_err(lost)?.is_some();
        if !left_by_itself {
            if !grace.is_zero() {
                send(self.leader, self.owns_group, Sig::TERM);
                tokio::select! {
                    () = self.gone() => {}
                    () = self.keep_going() => {}
                    () = sleep(grace) => {}
                }
            }
            send(self.leader, self.owns_group, Sig::KILL);
            match timeout(CONFIRM_TIME, self.watch.exited()).await {
                Ok(status) => drop(status.map_err(lost)?),
                Err(_) => return Ok(Ended::default()),
            }
        }
        let ended = self.reap().map_err(lost)?;
        let (found, confirmed) = self.sweep().await;
        // What was killed together with the leader did not outlive it.
        let leaked = if left_by_itself { found } else { found.and(Some(0)) };
        let ended = ended.leaked(leaked).confirmed(confirmed);
        self.image.as_deref().map_or(Ok(()), PinnedImage::verify_ended)?;
        self.state().ended = Some(ended.clone());
        Ok(ended)
    }
}

impl Drop for GroupControl {
    fn drop(&mut self) {
        let child = self.state.get_mut().unwrap_or_else(PoisonError::into_inner).child.take();
        if let Some(child) = child {
            send(self.leader, self.owns_group, Sig::KILL);
            reaper::reap(child);
        }
    }
}

/// Sends a signal to the leader or its group. A target that is gone has what it needs, and one that
/// took another user's identity is beyond us; the end's confirmation tells.
///
/// Must be called only while the number is known to be the program's.
fn send(leader: Pid, to_group: bool, signal: Sig) {
    let _ =
        if to_group { kill_process_group(leader, signal) } else { kill_process(leader, signal) };
}

/// How the leader ended, from what waitid(2) tells.
///
/// A code, or the signal that ended it.
fn exit_of(status: &WaitIdStatus) -> Exit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(Signal(signal.unwrap_or_default())),
    }
}
