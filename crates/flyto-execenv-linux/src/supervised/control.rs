//! One call below a supervisor.
//!
//! [`start`] sends the program to a supervisor and returns a [`Running`] whose [`Control`] is
//! [`Supervised`]. All that happens to the program arrives as [`Report`]s on the supervisor's
//! socket; whichever call waits takes the next one into the shared [`State`]. The order is `Ready`
//! (of a new supervisor), `Started` where it was asked for, `Exited`, `Ended`; or `Failed` in place
//! of all that follows it.
//!
//! A supervisor goes back to its pool after `Ended`, or after a `Failed` that says that it serves
//! on. Dropping the control before that ends the program, since the supervisor's socket is closed
//! with it.

use std::{
    fmt,
    future::poll_fn,
    io,
    os::fd::AsFd,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
    time::Duration,
};

use async_trait::async_trait;
use flyto_execenv::{
    Control, Ended, ErrorOutput, ExecError, ExecErrorKind, Exit, LimitKind, MemoryMeter, Output,
    PeakMemory, Running, Signal, Spec, Stdin, Target, Usage,
    local::{PinnedImage, Streams, memory_held, usage_so_far},
};
use flyto_supervision::{Order, Reached, Report, ReportKind, StartFlags};
use rustix::process::Pid;
use tokio::time::{Instant, timeout};

use super::{pool::Pool, record, rescue, supervisor::Supervisor};
use crate::{
    cgroup::{Leaf, bytes_held},
    enforcement::{Plan, reached},
    failure,
    proxy::{EgressPolicy, Proxy},
};

/// How long a supervisor is waited for that ends a tree: 10 s beyond the grace. It gives itself half of
/// that; one that was stopped from outside does not keep a call for ever.
const ANSWER_TIME: Duration = Duration::from_secs(10);

/// When a supervisor whose program runs is woken, in case it was stopped from outside: first after 1 s, then
/// after twice as long as before, at last every minute, so that programs that stay for days cost nothing.
const FIRST_WAKE: Duration = Duration::from_secs(1);
const LAST_WAKE: Duration = Duration::from_secs(60);

/// How often a supervisor that ends a tree is looked at, in case it was stopped from outside: every 100 ms.
const LOOK_TIME: Duration = Duration::from_millis(100);

/// Starts the program of `spec`.
///
/// A program whose streams the caller holds is in place when this returns. Of others a failed start
/// shows in [`Control::wait`]: asking for it at once would cost each call two more context switches.
///
/// # Errors
///
/// Those of [`failure::of_host`] where this process could not send the program, and of
/// [`failure::of_stage`] where the supervisor could not start it. [`ExecErrorKind::Unreachable`]
/// where the supervisor was killed before it had the program, [`ExecErrorKind::Lost`] where it was
/// killed later.
pub(crate) async fn start(
    pool: &Arc<Pool>,
    mut spec: Spec,
    program: PathBuf,
    image: Option<Arc<PinnedImage>>,
    plan: Plan,
) -> Result<Running, ExecError> {
    let is_talked_to = spec.stdin == Stdin::Piped
        || spec.stdout == Output::Piped
        || spec.stderr == ErrorOutput::Separate(Output::Piped);
    let begun = begin(pool, &spec, &program, image.as_deref(), is_talked_to, &plan);
    let (streams, supervisor) = match begun {
        Ok(begun) => begun,
        Err(err) => return Err(failure::of_host(&spec, err)),
    };
    // The supervisor has copies of the child's ends; these go, so that the streams end with the program.
    let Streams { host, child: _ } = streams;
    // The input is in its pipe, or on its way there; the rest is for messages.
    spec.stdin = Stdin::Null;
    let state = State {
        supervisor: Some(supervisor),
        proxy: None,
        is_read: false,
        exit: None,
        ended: None,
    };
    let control =
        Supervised { pool: Arc::clone(pool), spec, program, plan, image, state: Mutex::new(state) };
    control.open_listener().await?;
    if is_talked_to {
        control.started().await?;
    }
    let mut running = Running::new(control);
    // From here on the control ends the program, also when the next line fails.
    host.attach(&mut running).map_err(|err| {
        ExecError::new(ExecErrorKind::Lost, "watch the program's pipes").with_source(err)
    })?;
    Ok(running)
}

/// Whether the program is started before its call, of which a SIGCONT to its tree tells.
pub(crate) fn waits_for_its_call(spec: &Spec) -> bool {
    spec.ready.is_some() && spec.stdin == Stdin::Piped
}

/// Opens the streams and sends the program to a supervisor.
///
/// Blocks for a moment where a supervisor has to be started first. The caller's ends of the streams
/// and the supervisor come back; the program's ends are copied to the supervisor and closed with
/// the first part of the result.
fn begin(
    pool: &Pool,
    spec: &Spec,
    program: &Path,
    image: Option<&PinnedImage>,
    is_talked_to: bool,
    plan: &Plan,
) -> io::Result<(Streams, Supervisor)> {
    let streams = Streams::open(spec)?;
    let sealed = image.and_then(PinnedImage::fd);
    let copy = image.filter(|_| sealed.is_none()).map(|it| it.paths().0);
    let held_input = streams.host.stdin().filter(|_| waits_for_its_call(spec));
    let flags = StartFlags::NONE
        .with_if(is_talked_to, StartFlags::REPORT_START)
        .with_if(held_input.is_some(), StartFlags::HELD_INPUT)
        .with_if(sealed.is_some(), StartFlags::IMAGE);
    let mut text = Vec::with_capacity(1024);
    record::write(
        &mut text,
        spec,
        copy.as_deref().unwrap_or(program),
        record::bounded(flags, spec, plan),
    );
    let descriptors = streams.child.iter().map(AsFd::as_fd).chain(sealed).chain(held_input);
    let supervisor = pool.begin(&text, &descriptors.collect::<Vec<_>>(), plan)?;
    Ok((streams, supervisor))
}

/// One program below a supervisor.
///
/// The [`Control`] of one call. The lock of `state` is held for single steps and never across an
/// `await`.
struct Supervised {
    pool: Arc<Pool>,
    spec: Spec,
    program: PathBuf,
    plan: Plan,
    /// The private copy that runs: an interpreter opens it some time after the start.
    image: Option<Arc<PinnedImage>>,
    state: Mutex<State>,
}

/// `exit` and `ended` are set once and kept, so that [`Control::wait`] and [`Control::end`] can be
/// called again.
struct State {
    /// `None` once it was given back or lost.
    supervisor: Option<Supervisor>,
    /// What serves the supervisor's listener during this call.
    proxy: Option<Proxy>,
    /// Whether it is known to have read the start, or nothing could tell any more that it has not.
    is_read: bool,
    /// How the program itself ended, once that was reported.
    exit: Option<Exit>,
    /// How the tree ended, once that was reported.
    ended: Option<Ended>,
}

impl fmt::Debug for Supervised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supervised").field("program", &self.program).finish_non_exhaustive()
    }
}

impl Supervised {
    /// The state is whole between any two statements that change it, so a poisoned lock is used on.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next report into the state, and says what it was.
    ///
    /// Cancel-safe: a report that was read is in the state before the future completes.
    ///
    /// # Errors
    ///
    /// A failed start, or a supervisor that cannot be read any more.
    async fn next(&self) -> Result<ReportKind, ExecError> {
        let report = poll_fn(|cx| match &self.state().supervisor {
            Some(supervisor) => supervisor.poll_report(cx),
            None => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        });
        match report.await {
            Ok(report) => self.take_in(report),
            Err(err) => Err(self.lost(err)),
        }
    }

    /// After [`ReportKind::Ended`] or [`ReportKind::Failed`] the state has no supervisor.
    fn take_in(&self, report: Report) -> Result<ReportKind, ExecError> {
        let mut state = self.state();
        state.is_read |= report.kind != ReportKind::Ready;
        match report.kind {
            ReportKind::Ready | ReportKind::Started => {}
            ReportKind::Exited => state.exit = Some(exit_of(report.status)),
            ReportKind::Ended => {
                let exit = *state.exit.insert(exit_of(report.status));
                let denied = state.proxy.as_ref().map(Proxy::denied).unwrap_or_default();
                let ended = ended_of(&report, exit)
                    .denied_hosts(denied)
                    .timed_out(report.reached == Reached::Deadline);
                state.ended = Some(match self.limit(&mut state, &report) {
                    Some(limit) => ended.limit(limit),
                    None => ended,
                });
                self.let_go(state, report.serves_on);
            }
            ReportKind::Failed => {
                let err = failure::of_stage(&self.spec, &self.program, report.stage, report.errno);
                // It has the limits that this process had when it was started, which may be what is
                // short, and not be so any more for another one.
                let is_short = err.kind() == ExecErrorKind::Exhausted;
                self.let_go(state, report.serves_on && !is_short);
                return Err(err);
            }
        }
        Ok(report.kind)
    }

    /// The bound that ended the program.
    ///
    /// Reads the counts of the control group only where the spec bounds what they count and the
    /// program failed.
    fn limit(&self, state: &mut State, report: &Report) -> Option<LimitKind> {
        let limits = &self.spec.limits;
        let is_counted = self.plan.is_counted && report.status != 0;
        let leaf = state.supervisor.as_mut().and_then(Supervisor::leaf_mut).filter(|_| is_counted);
        let events = leaf.map(Leaf::events).unwrap_or_default();
        reached(limits, report.reached, report.status, events)
    }

    /// Gives the supervisor back, or lets it end itself.
    fn let_go(&self, mut state: MutexGuard<'_, State>, serves_on: bool) {
        let supervisor = state.supervisor.take();
        state.proxy = None;
        drop(state);
        if let Some(supervisor) = supervisor.filter(|_| serves_on) {
            self.pool.give_back(supervisor);
        }
    }

    /// What is left to do without a supervisor: it was killed from outside, and what it held is free.
    ///
    /// [`ExecErrorKind::Unreachable`], which a caller may retry, is said only where it is sure that
    /// the supervisor never read the start. A message that was unread when the other end closed
    /// shows as `ECONNRESET` (unix(7)).
    fn lost(&self, err: io::Error) -> ExecError {
        let mut state = self.state();
        state.proxy = None;
        let (supervisor, is_read) = (state.supervisor.take(), state.is_read);
        drop(state);
        let was_sent = supervisor.as_ref().is_some_and(Supervisor::serves);
        // What it leaves is ended as far as it can be found.
        drop(supervisor);
        // The other end was closed with a message in it, which was the start.
        if !was_sent || err.kind() == io::ErrorKind::ConnectionReset && !is_read {
            let what = format!("start {:?}", self.spec.program.as_os_str());
            return ExecError::new(ExecErrorKind::Unreachable, what)
                .with_source("the supervisor that was to run it was killed");
        }
        let what = format!("watch {:?}", self.spec.program.as_os_str());
        let res = ExecError::new(ExecErrorKind::Lost, what);
        match err.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => res.with_source(
                "its supervisor was killed, by the program itself or from outside; what the program \
                 did until then is unknown",
            ),
            _ => res.with_source(format!("its supervisor cannot be read: {err}")),
        }
    }

    /// Serves what the program asks for through the listener of its supervisor, where there is one. What it
    /// asked for until now has waited.
    async fn open_listener(&self) -> Result<(), ExecError> {
        let Some(reach) = self.pool.reach() else { return Ok(()) };
        while !self.serve_listener(reach)? {
            // The first report of a new supervisor brings it.
            self.next().await?;
        }
        Ok(())
    }

    /// Whether there is a listener.
    ///
    /// Starts the proxy of this call on it, if there is one.
    fn serve_listener(&self, reach: &Arc<EgressPolicy>) -> Result<bool, ExecError> {
        let mut state = self.state();
        let Some(listener) = state.supervisor.as_ref().and_then(Supervisor::listener) else {
            return Ok(false);
        };
        let proxy = Proxy::start(Arc::clone(listener), Arc::clone(reach));
        state.proxy = Some(proxy.map_err(|err| failure::of_host(&self.spec, err).started())?);
        Ok(true)
    }

    /// Waits until the program's image is in place, or it is known why it is not.
    async fn started(&self) -> Result<(), ExecError> {
        while self.next().await? == ReportKind::Ready {}
        Ok(())
    }

    /// Lets a stopped supervisor go on; when it is `time` to kill, does that for it.
    ///
    /// Called by every waiting call now and then, since a program of the same user can stop its
    /// supervisor.
    fn help(&self, time: bool) {
        if let Some(supervisor) = &self.state().supervisor {
            if time {
                rescue::kill_below_stopped(supervisor.pid());
            }
            supervisor.wake();
        }
    }

    /// Sent without waiting; a supervisor that has ended is no error here.
    fn order(&self, order: Order) {
        let mut state = self.state();
        state.is_read = true;
        // One that is gone is noticed by the call that waits for its report.
        if let Some(supervisor) = &state.supervisor {
            let _ = supervisor.order(order);
        }
    }
}

#[async_trait]
impl Control for Supervised {
    async fn wait(&self) -> Result<Exit, ExecError> {
        let mut pause = FIRST_WAKE;
        loop {
            if let Some(exit) = self.state().exit {
                return Ok(exit);
            }
            match timeout(pause, self.next()).await {
                Ok(res) => _ = res?,
                Err(_) => {
                    self.help(false);
                    pause = (pause * 2).min(LAST_WAKE);
                }
            }
        }
    }

    fn signal(&self, signal: Signal, target: Target) -> Result<(), ExecError> {
        if !is_signal(signal) {
            let what = format!("send {signal}: this system has no such signal");
            return Err(ExecError::new(ExecErrorKind::InvalidSpec, what).started());
        }
        self.order(match (signal, target) {
            (Signal::KILL, Target::Tree) => Order::End { grace_ms: 0 },
            _ => Order::Signal { signal: signal.0.unsigned_abs(), to_tree: target == Target::Tree },
        });
        Ok(())
    }

    /// The supervisor's own time is not that of its program; an init of its PID namespace counts with it.
    fn usage(&self) -> Usage {
        let supervisor = self.state().supervisor.as_ref().map(Supervisor::pid);
        let supervisor = supervisor.and_then(Pid::from_raw);
        supervisor.map(|it| usage_so_far(it, false)).unwrap_or_default()
    }

    /// The larger one of what its processes hold and of what the kernel counts in the cgroup: the one leaves out what none of
    /// them has mapped, the other what a process outside has used first.
    fn memory_meter(&self) -> Option<MemoryMeter> {
        let state = self.state();
        let supervisor = state.supervisor.as_ref()?;
        let pid = Pid::from_raw(supervisor.pid())?;
        let counted = supervisor.leaf().and_then(Leaf::memory_counts);
        Some(Arc::new(move || memory_held(pid, false).max(counted.as_ref().and_then(bytes_held))))
    }

    fn outdated_by(&self) -> Option<PathBuf> {
        self.pool.outdated_by().map(Path::to_owned)
    }

    async fn end(&self, grace: Duration) -> Result<Ended, ExecError> {
        let ended = self.end_tree(grace).await?;
        self.image.as_deref().map_or(Ok(()), PinnedImage::verify_ended)?;
        Ok(ended)
    }
}

impl Supervised {
    /// Ends the tree, and waits for the supervisor's word on it.
    ///
    /// Waits for the grace and [`ANSWER_TIME`] at most, then gives up: the cgroup is killed where
    /// there is one, and the result is [`Ended::default`], which confirms nothing.
    async fn end_tree(&self, grace: Duration) -> Result<Ended, ExecError> {
        if let Some(ended) = self.state().ended.clone() {
            return Ok(ended);
        }
        let grace_ms = u32::try_from(grace.as_millis()).unwrap_or(u32::MAX);
        self.order(Order::End { grace_ms });
        let asked = Instant::now();
        loop {
            let next = timeout(LOOK_TIME, self.next()).await;
            if let Some(ended) = self.state().ended.clone() {
                return Ok(ended);
            }
            match next {
                Ok(res) => _ = res?,
                Err(_) if asked.elapsed() < grace.saturating_add(ANSWER_TIME) => {
                    self.help(asked.elapsed() > grace);
                }
                Err(_) => {
                    // Whatever keeps it, it is not used again; the end of its socket is its last order.
                    let mut state = self.state();
                    state.proxy = None;
                    if let Some(supervisor) = state.supervisor.take() {
                        supervisor.kill_cgroup();
                    }
                    return Ok(Ended::default());
                }
            }
        }
    }
}

/// Linux has signals 1 to 64 (signal(7)).
const fn is_signal(signal: Signal) -> bool {
    matches!(signal.0, 1..=64)
}

/// As wait(2) encodes it: the signal in the lowest seven bits, the code in the second byte.
fn exit_of(status: u32) -> Exit {
    match status & 0x7f {
        0 => Exit::Code((status >> 8 & 0xff) as i32),
        signal => Exit::Signal(Signal(signal as i32)),
    }
}

/// The numbers of a report as a result. The peak of memory is that of the largest process, not of
/// the tree.
fn ended_of(report: &Report, exit: Exit) -> Ended {
    let mut usage = Usage::unknown();
    usage.user_cpu = Some(Duration::from_micros(report.user_us));
    usage.system_cpu = Some(Duration::from_micros(report.system_us));
    usage.covers_tree = report.covers_tree;
    usage.peak_memory = PeakMemory::LargestProcess(report.max_rss_kib * 1024);
    Ended::clean(exit).leaked(Some(report.leaked)).confirmed(report.confirmed).usage(usage)
}
