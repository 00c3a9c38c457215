//! What the callers of a session and the task that looks after its process know of each other: the calls
//! in flight, and the state of the process.
//!
//! After a crash the process is restarted with a backoff that doubles with each further crash.

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::Waker,
    time::Duration,
};

use flyto_execenv::{ExecEnv, Spec};
use flyto_tools::{CancellationToken, Execution};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot},
    time::Instant,
};

use super::{
    answer::{Answer, NoProcess, ProcessExit, Since},
    ids::IdMap,
    reply::{Mark, Progress, Queued, Reply},
    sessions::Sessions,
    silence::Silence,
    tail::Tail,
};

/// Requests that wait to be written hold this much at most: 1 MiB. Further ones wait outside, each
/// within its own deadline; one that is larger waits until it is alone.
const MAX_QUEUED_BYTES: u32 = 1024 * 1024;

/// Calls that were given up and are still unanswered: beyond 64 of them the plugin takes no notice
/// of cancellations, and what it still works on only piles up.
const MAX_GIVEN_UP: usize = 64;

/// Calls in a row that were given up while the plugin said nothing and did not read its input: after
/// 16 of them, and if no caller waits for an answer any more, it is stuck. One slow call is no reason to
/// end it.
const MAX_UNHEARD: u32 = 16;

/// Progress that a listener has not taken yet; what comes beyond it is dropped.
const PROGRESS_UNDERWAY: usize = 32;

/// The first backoff after a crash, doubled by each further one up to [`LONGEST_PAUSE`].
/// 100 ms.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The longest backoff between a crash and the restart.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Says what to start. It is asked before every start.
pub(crate) type Launch = Box<dyn Fn() -> Result<Spec, NoProcess> + Send + Sync>;

/// Shared by the callers of one session and its task. No lock is held across an await.
pub(super) struct SessionState {
    pub(super) launch: Launch,
    pub(super) env: ExecEnv,
    pub(super) idle: Duration,
    pub(super) stop: CancellationToken,
    pub(super) sessions: Sessions,
    /// The end of what the process said on stderr.
    pub(super) stderr: Mutex<Tail>,
    /// The end of what it said on stdout that was no message.
    noise: Mutex<Tail>,
    room: Arc<Semaphore>,
    /// Whether [`State::silence`] is there, for a look without the lock.
    is_silent: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    last_id: u64,
    /// What is not written yet, in order of the ids.
    queue: VecDeque<Request>,
    /// What is not answered yet.
    calls: IdMap<Call>,
    /// Calls that the plugin is to be told are cancelled.
    cancels: Vec<u64>,
    given_up: usize,
    unheard: u32,
    /// A call's deadline has passed, and the plugin has said nothing since.
    silence: Option<Silence>,
    /// Wakes the task while a process is up.
    waker: Option<Waker>,
    /// Whether the task has nothing to write, and so wants to hear of the next call.
    is_at_rest: bool,
    phase: Phase,
    crashes: u32,
    pause: Option<Pause>,
    /// How the process at hand is run, for results.
    execution: Option<Arc<Execution>>,
}

/// What the session is doing.
#[derive(Clone, Copy, Debug, Default)]
enum Phase {
    /// There is no process, and no task that would start one.
    #[default]
    Down,
    /// There is a task: it waits for the pause after a crash, or starts a process.
    Starting,
    /// A process has been started, and its end is not known yet.
    Up,
}

/// After a crash the next start waits.
struct Pause {
    until: Instant,
    after: Arc<ProcessExit>,
}

/// A call that is to be written.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) id: u64,
    pub(super) tool: Arc<str>,
    pub(super) args: Arc<str>,
    /// Whether a process died before it could be written.
    pub(super) carried_over: bool,
    pub(super) _room: OwnedSemaphorePermit,
}

/// A call that is to be answered.
struct Call {
    /// `None` once it was given up.
    reply: Option<oneshot::Sender<Reply>>,
    progress: Option<mpsc::Sender<Progress>>,
    is_written: bool,
    is_cancelled: bool,
    /// Where the streams were when it was written; at the start of a process, where none was up.
    mark: Arc<Mark>,
    has_met_process: bool,
}

/// What the task finds to be done.
pub(super) enum Work {
    /// There is something to write.
    Write,
    /// Others are about to add to it; a moment later all of it fits into one write.
    Soon,
    /// Nothing to write, and no reason to end the process.
    Nothing,
    /// The plugin takes no notice of its calls.
    Stuck(String),
}

impl fmt::Debug for SessionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("Session")
            .field("phase", &state.phase)
            .field("queued", &state.queue.len())
            .field("unanswered", &state.calls.len())
            .finish_non_exhaustive()
    }
}

impl SessionState {
    pub(super) fn new(env: ExecEnv, sessions: Sessions, idle: Duration, launch: Launch) -> Self {
        Self {
            launch,
            env,
            idle,
            stop: sessions.stop(),
            sessions,
            stderr: Mutex::default(),
            noise: Mutex::default(),
            room: Arc::new(Semaphore::new(MAX_QUEUED_BYTES as usize)),
            is_silent: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn stderr(&self) -> MutexGuard<'_, Tail> {
        self.stderr.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn noise(&self) -> MutexGuard<'_, Tail> {
        self.noise.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // What callers do.

    /// A place in the queue for so many bytes, if there is one now.
    pub(super) fn try_room(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.room).try_acquire_many_owned(places(bytes)).ok()
    }

    /// A place in the queue; callers get theirs in the order in which they came.
    pub(super) async fn room(&self, bytes: usize) -> OwnedSemaphorePermit {
        let room = Arc::clone(&self.room).acquire_many_owned(places(bytes)).await;
        room.expect("the semaphore is never closed")
    }

    /// Queues a call that has `timeout` from now on. The caller starts a task for it where there is none.
    pub(super) fn enqueue(
        &self,
        timeout: Duration,
        tool: Arc<str>,
        args: Arc<str>,
        room: OwnedSemaphorePermit,
        wants_progress: bool,
    ) -> Queued {
        let (reply, receiver) = oneshot::channel();
        let (progress, heard) = match wants_progress {
            true => Some(mpsc::channel(PROGRESS_UNDERWAY)).unzip(),
            false => (None, None),
        };
        let mark = Arc::new(Mark::default());
        let (id, waker, is_down) = {
            let mut state = self.lock();
            let has_met_process = matches!(state.phase, Phase::Up);
            if has_met_process {
                mark.set(self.since_now());
            }
            state.last_id += 1;
            let id = state.last_id;
            state.queue.push_back(Request { id, tool, args, carried_over: false, _room: room });
            let call = Call {
                reply: Some(reply),
                progress,
                is_written: false,
                is_cancelled: false,
                mark: Arc::clone(&mark),
                has_met_process,
            };
            state.calls.insert(id, call);
            if let Some(silence) = &mut state.silence {
                silence.shorten(timeout);
            }
            let is_down = matches!(state.phase, Phase::Down);
            if is_down {
                state.phase = Phase::Starting;
            }
            (id, state.waker_if_at_rest(), is_down)
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        Queued { id, mark, reply: receiver, progress: heard, needs_task: is_down }
    }

    /// Tells the plugin that this call is not waited for any more. Says whether it may still answer.
    pub(super) fn cancel(&self, id: u64, is_given_up: bool) -> bool {
        let mut state = self.lock();
        let state = &mut *state;
        let Some(call) = state.calls.get_mut(&id) else { return false };
        if !call.is_written {
            state.calls.remove(&id);
            if let Ok(at) = state.queue.binary_search_by_key(&id, |it| it.id) {
                state.queue.remove(at);
            }
            state.count_unheard();
        } else {
            if !std::mem::replace(&mut call.is_cancelled, true) {
                state.cancels.push(id);
            }
            if is_given_up && call.reply.take().is_some() {
                call.progress = None;
                state.given_up += 1;
                state.count_unheard();
            }
        }
        let is_written = state.calls.contains_key(&id);
        // It also looks whether the plugin takes any notice, so it is woken in any case.
        if let Some(waker) = &state.waker {
            waker.wake_by_ref();
        }
        is_written
    }

    /// Where the streams of the process are now.
    pub(super) fn since_now(&self) -> Since {
        Since { stdout: self.noise().position(), stderr: self.stderr().position() }
    }

    /// A call's deadline has passed. A plugin that has it, and says nothing from here on, is ended.
    pub(super) fn deadline_passed(&self, id: u64) {
        let mut state = self.lock();
        if state.silence.is_some() || !state.calls.get(&id).is_some_and(|it| it.is_written) {
            return;
        }
        state.silence = Some(Silence::new(state.last_id));
        self.is_silent.store(true, Ordering::Relaxed);
        if let Some(waker) = &state.waker {
            waker.wake_by_ref();
        }
    }

    /// Why a call was not answered in time, where that is not the plugin's work on it.
    pub(super) fn held_up_by(&self, id: Option<u64>) -> Option<String> {
        let state = self.lock();
        let is_written = id.and_then(|it| state.calls.get(&it)).is_some_and(|it| it.is_written);
        // Also one that was answered, or lost with its process, a moment ago.
        let is_known = id.is_none_or(|it| state.calls.contains_key(&it));
        if is_written || !is_known {
            return None;
        }
        let pause = state.pause.as_ref().filter(|it| it.until > Instant::now());
        Some(match (state.phase, pause) {
            (Phase::Down, _) => return None,
            (Phase::Starting, Some(pause)) => {
                format!("it waited to be started again, after {}", pause.after.why)
            }
            (Phase::Starting, None) => "it was still being started".to_owned(),
            (Phase::Up, _)
                if state.silence.is_some_and(|it| id.is_none_or(|id| it.is_older_than(id))) =>
            {
                "the plugin has said nothing since a call before it timed out".to_owned()
            }
            (Phase::Up, _) => "the plugin did not read what it was sent before".to_owned(),
        })
    }

    /// How the process is run that is there now.
    pub(super) fn execution(&self) -> Option<Arc<Execution>> {
        self.lock().execution.clone()
    }

    // What the task does.

    /// A process is there.
    pub(super) fn set_up(&self, execution: Execution) {
        self.stderr().clear();
        self.noise().clear();
        let mut state = self.lock();
        state.phase = Phase::Up;
        state.execution = Some(Arc::new(execution));
    }

    /// When the next start may be, if that is to wait.
    pub(super) fn pause_until(&self) -> Option<Instant> {
        self.lock().pause.as_ref().map(|it| it.until)
    }

    /// Ends the task's work, unless a caller waits for a process.
    pub(super) fn retire(&self) -> bool {
        let mut state = self.lock();
        let is_done = state.queue.is_empty();
        if is_done {
            state.phase = Phase::Down;
        }
        is_done
    }

    /// Whether a caller waits for an answer.
    pub(super) fn is_awaited(&self) -> bool {
        let state = self.lock();
        state.calls.len() > state.given_up
    }

    /// When to look at the plugin's silence, if it says nothing until then.
    pub(super) fn next_look(&self) -> Option<Instant> {
        if !self.is_silent.load(Ordering::Relaxed) {
            return None;
        }
        self.lock().silence.map(|it| it.next())
    }

    /// Looks for something to write. `busy` says whether several calls were just answered, so that
    /// several new ones are likely; `is_blocked`, whether the plugin did not read what came before.
    pub(super) fn work(&self, busy: bool, is_blocked: bool, waker: &Waker) -> Work {
        let mut state = self.lock();
        if state.given_up > MAX_GIVEN_UP {
            let why = format!(
                "{} calls that had timed out or been cancelled were never answered",
                state.given_up
            );
            return Work::Stuck(why);
        }
        if let Some(silence) = state.silence.filter(Silence::is_over) {
            let keeps = |(id, it): (&u64, &Call)| it.is_awaited() && !silence.is_older_than(*id);
            if !state.calls.iter().any(keeps) {
                let why =
                    "a call had timed out, and it answered neither the cancellation nor a ping";
                return Work::Stuck(why.to_owned());
            }
        }
        let is_deaf = is_blocked && state.unheard >= MAX_UNHEARD;
        if is_deaf && !state.calls.values().any(Call::is_awaited) {
            let why = format!("it read nothing while {} calls were given up", state.unheard);
            return Work::Stuck(why);
        }
        if !state.waker.as_ref().is_some_and(|it| it.will_wake(waker)) {
            state.waker = Some(waker.clone());
        }
        let has_requests = !state.queue.is_empty() && !state.holds_back();
        let needs_ping = state.silence.is_some_and(|it| it.needs_ping());
        state.is_at_rest = !has_requests && !needs_ping && state.cancels.is_empty();
        if state.is_at_rest {
            return Work::Nothing;
        }
        if busy || state.calls.len() > 1 { Work::Soon } else { Work::Write }
    }

    /// Takes requests of about `bytes` out of the queue, and the calls to cancel. The result is the id of a
    /// ping, where one is due.
    pub(super) fn take(
        &self,
        bytes: usize,
        requests: &mut Vec<Request>,
        cancels: &mut Vec<u64>,
    ) -> Option<u64> {
        let mut state = self.lock();
        let state = &mut *state;
        let mut taken = 0;
        let since = self.since_now();
        while taken < bytes
            && !state.holds_back()
            && let Some(request) = state.queue.pop_front()
        {
            taken += request.args.len();
            if let Some(call) = state.calls.get_mut(&request.id) {
                call.is_written = true;
                if call.has_met_process {
                    call.mark.set(since);
                }
                requests.push(request);
            }
        }
        cancels.append(&mut state.cancels);
        let silence = state.silence.as_mut().filter(|it| it.needs_ping())?;
        silence.set_pinged();
        // Its answer is to no call, and is heard all the same.
        state.last_id += 1;
        Some(state.last_id)
    }

    /// Gives answers to the callers that wait for them, and says whether others still do.
    /// An answer also ends the count of crashes.
    pub(super) fn answer(&self, answers: &mut Vec<(u64, Answer)>) -> bool {
        let mut ready = Vec::with_capacity(answers.len());
        let execution;
        let is_awaited = {
            let mut state = self.lock();
            self.heard(&mut state);
            state.crashes = 0;
            for (id, answer) in answers.drain(..) {
                // An id of no call, or a second answer, is passed over.
                match state.calls.remove(&id).map(|it| it.reply) {
                    Some(Some(reply)) => ready.push((reply, answer)),
                    Some(None) => state.given_up -= 1,
                    None => {}
                }
            }
            execution = state.execution.clone();
            state.calls.len() > state.given_up
        };
        for (reply, answer) in ready {
            // A caller that gave up in this moment needs no answer.
            let _ = reply.send((answer, execution.clone()));
        }
        is_awaited
    }

    /// The plugin said something: it is neither stopped nor stuck.
    fn heard(&self, state: &mut State) {
        state.unheard = 0;
        if state.silence.take().is_some() {
            self.is_silent.store(false, Ordering::Relaxed);
        }
    }

    /// The only call that was written and is awaited.
    pub(super) fn only_written(&self) -> Option<u64> {
        let state = self.lock();
        let mut written = state.calls.iter().filter(|(_, it)| it.is_written);
        match (written.next(), written.next()) {
            (Some((id, _)), None) => Some(*id),
            _ => None,
        }
    }

    /// Passes progress on; what the listener has no room for is dropped.
    pub(super) fn progress(&self, id: u64, progress: Progress) {
        let mut state = self.lock();
        self.heard(&mut state);
        if let Some(sender) = state.calls.get(&id).and_then(|it| it.progress.as_ref()) {
            let _ = sender.try_send(progress);
        }
    }

    /// After the end of a process: gives `process_exit` to all whose calls it may have seen, and puts back
    /// what it cannot have seen.
    pub(super) fn fail_in_flight(&self, process_exit: &Arc<ProcessExit>, unseen: Vec<Request>) {
        let mut lost = Vec::new();
        {
            let mut state = self.lock();
            let state = &mut *state;
            for mut request in unseen.into_iter().rev() {
                // Twice would be once too often: such a program dies before it reads.
                if !std::mem::replace(&mut request.carried_over, true)
                    && let Some(call) = state.calls.get_mut(&request.id)
                    && call.reply.is_some()
                    && !call.is_cancelled
                {
                    call.is_written = false;
                    state.queue.push_front(request);
                }
            }
            state.calls.retain(|_, call| {
                if call.is_written {
                    lost.extend(call.reply.take());
                }
                call.has_met_process = false;
                !call.is_written
            });
            state.cancels.clear();
            state.given_up = 0;
            // That it came to this took the time of a call, and the calls that wait have lost enough of theirs.
            let was_silent = state.silence.is_some();
            self.heard(state);
            state.waker = None;
            state.execution = None;
            let is_crash = process_exit.is_failure || !lost.is_empty();
            state.pause = None;
            state.phase = Phase::Starting;
            if is_crash && !was_silent && !process_exit.was_asked_for {
                let pause = FIRST_PAUSE.saturating_mul(1 << state.crashes.min(16));
                state.crashes += 1;
                let until = Instant::now() + pause.min(LONGEST_PAUSE);
                state.pause = Some(Pause { until, after: Arc::clone(process_exit) });
            }
        }
        for reply in lost {
            let _ = reply
                .send((Answer::Died(Arc::clone(process_exit)), process_exit.execution.clone()));
        }
    }

    /// Answers every caller whose call is not written yet.
    pub(super) fn refuse(&self, why: &NoProcess) {
        let mut refused = Vec::new();
        {
            let mut state = self.lock();
            let queue = std::mem::take(&mut state.queue);
            for request in queue {
                refused.extend(state.calls.remove(&request.id).and_then(|it| it.reply));
            }
        }
        for reply in refused {
            let _ = reply.send((Answer::NotStarted(why.clone()), None));
        }
    }

    #[cfg(test)]
    pub(super) fn set_crashes(&self, n: u32) {
        self.lock().crashes = n;
    }

    /// Forgets everything: the task was dropped with its runtime.
    pub(super) fn abandon(&self) {
        let forgotten = {
            let mut state = self.lock();
            self.heard(&mut state);
            let new = State { last_id: state.last_id, ..State::default() };
            std::mem::replace(&mut *state, new)
        };
        // The callers that wait are woken outside the lock.
        drop(forgotten);
    }
}

impl State {
    fn waker_if_at_rest(&mut self) -> Option<Waker> {
        if std::mem::take(&mut self.is_at_rest) { self.waker.clone() } else { None }
    }

    /// Whether calls wait for the plugin to say something, after one that timed out: should the process be
    /// ended, it has not seen them.
    fn holds_back(&self) -> bool {
        self.silence.is_some_and(|it| !it.is_over())
    }

    /// Counts a call that was given up; what is not running cannot be expected to answer.
    fn count_unheard(&mut self) {
        self.unheard += u32::from(matches!(self.phase, Phase::Up));
    }
}

impl Call {
    fn is_awaited(&self) -> bool {
        self.is_written && self.reply.is_some()
    }
}

/// Bytes as permits of the queue; more than it has count as all of it.
fn places(bytes: usize) -> u32 {
    u32::try_from(bytes).map_or(MAX_QUEUED_BYTES, |it| it.min(MAX_QUEUED_BYTES))
}
