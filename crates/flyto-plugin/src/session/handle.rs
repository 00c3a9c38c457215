//! What the tools of a session hold, and one call of it from its request to its answer.

use std::{
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use flyto_execenv::ExecEnv;
use flyto_tools::CallContext;

use super::{
    answer::{Answer, Called, GivenUp, Since},
    pending::Pending,
    reply::{Progress, Reply},
    sessions::Sessions,
    state::{Launch, SessionState},
    worker,
};

/// Bytes of a request beside its arguments, about.
///
/// Only the room in the queue is counted with it.
const ENVELOPE_BYTES: usize = 128;

/// The process of a plugin, whether it runs or not. Dropping it ends the process.
/// Held by every tool that shares the process. The drop of the last one tells the process to end
/// and does not wait; the task does.
#[derive(Debug)]
pub(crate) struct Session {
    pub(super) shared: Arc<SessionState>,
}

/// One call, and the time it has.
///
/// Made by the tool for each call, and taken apart here.
#[derive(Debug)]
pub(crate) struct Request {
    /// The name within the plugin.
    /// Shared with the tool, as every request carries it.
    pub(crate) tool: Arc<str>,
    /// One JSON value.
    /// The text of the input, or `{}` where there is none.
    pub(crate) args: Arc<str>,
    /// From the start of the call, with the wait for room and for a start of the process.
    pub(crate) timeout: Duration,
    /// How long an answer is waited for after the call was cancelled.
    /// Zero waits for nothing.
    pub(crate) grace: Duration,
}

/// Why a call is not waited for any longer.
///
/// The two differ in their failure, and in which late answers still count.
#[derive(Clone, Copy)]
enum Over {
    Cancelled,
    TimedOut,
}

impl Over {
    /// What a cancellation that comes now is.
    fn by_cancellation(ctx: &CallContext) -> Self {
        if ctx.is_late() { Self::TimedOut } else { Self::Cancelled }
    }

    /// Whether what the plugin said within the grace is the call's result. Where time was over, what
    /// most plugins answer to a cancellation would say that the caller took the call back.
    fn leaves_room_for(self, answer: &Answer) -> bool {
        match self {
            Self::Cancelled => answer.is_the_plugins(),
            Self::TimedOut => answer.is_output(),
        }
    }
}

impl Session {
    /// Nothing runs yet. `idle` is the time without calls after which the process is ended, and
    /// `launch` says what to start.
    pub(crate) fn new(env: ExecEnv, sessions: Sessions, idle: Duration, launch: Launch) -> Self {
        Self { shared: Arc::new(SessionState::new(env, sessions, idle, launch)) }
    }

    /// Asks the plugin, and starts it if it does not run. Dropping the future cancels the call.
    /// Always gives a [`Called`]; that nothing could be started is one of its answers. Must run
    /// within a tokio runtime, since the first call spawns the task there.
    pub(crate) async fn call(&self, ctx: &CallContext, request: Request) -> Called {
        let began = Instant::now();
        let ((answer, execution), since) = self.ask(ctx, request, began).await;
        Called { answer, execution, wall: began.elapsed(), since }
    }

    /// In order: nothing where the call is over already, then room in the queue, then the
    /// answer, and after the call is over the grace. `since` in the result says from where on
    /// the streams belong to this call.
    async fn ask(&self, ctx: &CallContext, request: Request, began: Instant) -> (Reply, Since) {
        let Request { tool, args, timeout, grace } = request;
        let left = ctx.deadline().map(|it| it.saturating_duration_since(began));
        // Texts tell the time that was given, and not the little less that is left by now.
        let given = ctx.time_given().map_or(timeout, |it| it.min(timeout));
        let timeout = left.map_or(timeout, |it| it.min(timeout));
        let given_up = |over: Over, held_up_by: Option<String>, since: Since| {
            let stdout = self.shared.noise().text_since(since.stdout);
            let stderr = self.shared.stderr().text_since(since.stderr);
            let it = |after, held_up_by| GivenUp { after, held_up_by, stdout, stderr };
            let answer = match over {
                // It was not the time that was too short.
                Over::Cancelled => Answer::Cancelled(it(began.elapsed(), None)),
                Over::TimedOut => Answer::TimedOut(it(given, held_up_by)),
            };
            ((answer, self.shared.execution()), since)
        };
        let now = self.shared.since_now();
        // A call that is over already starts nothing.
        if ctx.cancellation().is_cancelled() {
            return given_up(Over::by_cancellation(ctx), None, now);
        }
        if timeout.is_zero() {
            return given_up(Over::TimedOut, None, now);
        }
        let mut over = pin!(over(ctx, began, timeout));

        let n_bytes = args.len() + ENVELOPE_BYTES;
        let room = match self.shared.try_room(n_bytes) {
            Some(room) => room,
            None => tokio::select! {
                biased;
                room = self.shared.room(n_bytes) => room,
                why = &mut over => return given_up(why, self.shared.held_up_by(None), now),
            },
        };
        let left = timeout.saturating_sub(began.elapsed());
        let queued = self.shared.enqueue(left, tool, args, room, ctx.wants_progress());
        if queued.needs_task {
            worker::start(&self.shared);
        }
        let mut pending = Pending::new(Arc::clone(&self.shared), queued);
        let report = |it: Progress| ctx.report(it.progress, it.detail);
        let why = tokio::select! {
            biased;
            answer = pending.answer(report) => return (answer, pending.mark.since()),
            why = &mut over => why,
        };
        if let Over::TimedOut = why {
            self.shared.deadline_passed(pending.id);
        }
        let told = last_words(&mut pending, grace, report).await;
        let since = pending.mark.since();
        match told {
            Some(told) if why.leaves_room_for(&told.0) => (told, since),
            _ => given_up(why, self.shared.held_up_by(Some(pending.id)), since),
        }
    }
}

/// When the call is not waited for any longer.
///
/// Ready when the caller cancels or the time has passed. A cancellation wins where both have, unless [the call is late](CallContext::is_late).
async fn over(ctx: &CallContext, began: Instant, timeout: Duration) -> Over {
    let clock = async {
        match began.checked_add(timeout) {
            Some(at) => tokio::time::sleep_until(at.into()).await,
            // A deadline beyond the clock's range is none.
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = ctx.cancellation().cancelled() => Over::by_cancellation(ctx),
        () = clock => Over::TimedOut,
    }
}

/// Cancels a call, and waits for what the plugin answers to that if there is time for it.
/// `None` where there is no grace, where the plugin never got the call, or where it stays
/// silent.
async fn last_words(
    pending: &mut Pending,
    grace: Duration,
    report: impl FnMut(Progress),
) -> Option<Reply> {
    if grace.is_zero() || !pending.cancel() {
        return None;
    }
    tokio::time::timeout(grace, pending.answer(report)).await.ok()
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.stop.cancel();
    }
}
