//! What a call gets beside its input: a way to stop, a clock, a name, and listeners.

use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use serde::{Serialize, Serializer};
pub use tokio_util::sync::CancellationToken;

use crate::asked::{AskedTime, Asking, TimeLimit};
use crate::progress::{Progress, ProgressSink};
use crate::undoing::{Undoing, UndoingCalls};

/// Needed data of one call. Cloning is cheap, and clones belong to the same call.
///
/// ```
/// use flyto_tools::{CallContext, Progress};
///
/// let ctx = CallContext::new().with_progress(|it: Progress| eprintln!("{it}"));
/// ctx.report(0.5, "half the files");
/// ctx.cancellation().cancel();
/// ```
#[derive(Clone)]
pub struct CallContext {
    id: CallId,
    /// The outermost call; `None` where it is this one.
    root: Option<CallId>,
    cancellation: CancellationToken,
    deadline: Option<Instant>,
    /// The time that the deadline was made from.
    timeout: Option<Duration>,
    limit: Option<TimeLimit>,
    /// Of this call, those around it and those within it.
    asked: AskedTime,
    /// Of this call and those within it.
    undoing: UndoingCalls,
    progress: Option<Arc<dyn ProgressSink>>,
    output: Option<Arc<dyn OutputSink>>,
    /// Whether the sink also takes what a tool keeps for its result.
    takes_all_output: bool,
    is_permitted_once: bool,
}

impl CallContext {
    /// A context with an id of its own without cancellation, deadline or listeners.
    #[must_use]
    pub fn new() -> Self {
        Self {
            id: CallId::next(),
            root: None,
            cancellation: CancellationToken::new(),
            deadline: None,
            timeout: None,
            limit: None,
            asked: AskedTime::default(),
            undoing: UndoingCalls::default(),
            progress: None,
            output: None,
            takes_all_output: false,
            is_permitted_once: false,
        }
    }

    /// Sets the name of the call.
    #[must_use]
    pub fn with_id(mut self, id: CallId) -> Self {
        self.id = id;
        self
    }

    /// The context of a call that the tool of this one makes: a name of its own, and the deadline, the cancellation and
    /// the listeners of this one.
    ///
    /// ```
    /// use flyto_tools::CallContext;
    ///
    /// let composite = CallContext::new();
    /// let step = composite.nested();
    /// assert_ne!(step.id(), composite.id());
    /// assert_eq!(step.nested().root(), composite.id());
    /// ```
    #[must_use]
    pub fn nested(&self) -> Self {
        Self { id: CallId::next(), root: Some(self.root().clone()), ..self.clone() }
    }

    /// Sets the token whose cancellation ends the call.
    #[must_use]
    pub fn with_cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = token;
        self
    }

    /// Sets the moment at which the caller gives up. A tool with a shorter limit keeps its own. What the tool did
    /// until then is a result with [`Failure::TimedOut`](crate::Failure::TimedOut).
    #[must_use]
    pub fn with_deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        (self.timeout, self.limit) = (None, None);
        self
    }

    /// The context of a call whose caller never gives up: for what has a time of its own, as undoing has.
    #[must_use]
    pub fn without_deadline(mut self) -> Self {
        (self.deadline, self.timeout, self.limit) = (None, None, None);
        self
    }

    /// Shortens the deadline to a time from now on that stands still while a person [is asked](Self::asking), in this call
    /// or in one within it: for a tool that has other tools called.
    ///
    /// ```
    /// use std::{thread, time::{Duration, Instant}};
    ///
    /// use flyto_tools::CallContext;
    ///
    /// let composite = CallContext::new().with_time_limit(Duration::from_secs(5));
    /// let before = composite.deadline().unwrap();
    /// let question = composite.nested().asking();
    /// thread::sleep(Duration::from_millis(2));
    /// drop(question);
    /// assert!(composite.deadline().unwrap() >= before + Duration::from_millis(2));
    /// ```
    #[must_use]
    pub fn with_time_limit(mut self, limit: Duration) -> Self {
        let asked = self.asked.total();
        let own = TimeLimit::new(limit, asked);
        let reached = |it: &Option<TimeLimit>| it.as_ref().and_then(|it| it.reached(asked));
        let is_shorter = reached(&own).is_some_and(|own| self.deadline().is_none_or(|it| own < it));
        if is_shorter {
            self.timeout = None;
        }
        if reached(&own).is_some_and(|own| reached(&self.limit).is_none_or(|it| own < it)) {
            self.limit = own;
        }
        self
    }

    /// Says that a person is asked, until what it gives is dropped: [time limits](Self::with_time_limit) of this call, those
    /// around it and those within it stand still. A [deadline](Self::with_deadline) does not.
    pub fn asking(&self) -> Asking {
        self.asked.begin()
    }

    /// A context for calls within this one. What they take back is told apart from what this call does:
    ///
    /// ```
    /// let outer = flyto_tools::CallContext::new();
    /// let inner = outer.for_inner_calls();
    /// let own = outer.undoing();
    /// assert!(outer.is_undoing() && !inner.is_undoing());
    /// drop(own);
    /// let undoing = inner.undoing();
    /// assert!(outer.is_undoing() && inner.is_undoing());
    /// drop(undoing);
    /// assert!(!outer.is_undoing());
    /// ```
    #[must_use]
    pub fn for_inner_calls(&self) -> Self {
        Self { undoing: self.undoing.inner(), ..self.clone() }
    }

    /// Says that this call takes back what it did, or is about to, until what it gives is dropped. What waits for it, or for
    /// a call around it, although their time is over, waits for that as well. The call bounds the time by itself.
    pub fn undoing(&self) -> Undoing {
        self.undoing.begin()
    }

    /// Whether this call, or one within it, takes back what it did.
    #[must_use]
    pub fn is_undoing(&self) -> bool {
        self.undoing.has_any()
    }

    /// Waits until none of them does.
    pub async fn undone(&self) {
        self.undoing.ended().await;
    }

    /// Sets how long the call may take, from now on. As [`with_deadline`](Self::with_deadline), and texts tell this
    /// time, not the little less that is left when a program starts.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let ctx = flyto_tools::CallContext::new().with_timeout(Duration::from_secs(2));
    /// assert_eq!(ctx.time_given(), Some(Duration::from_secs(2)));
    /// ```
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        // A moment beyond what clocks can tell is no deadline.
        self.deadline = Instant::now().checked_add(timeout);
        (self.timeout, self.limit) = (self.deadline.map(|_| timeout), None);
        self
    }

    /// Shortens the deadline to a time that began at `started`, and that texts then tell. A deadline that comes before
    /// stays.
    #[cfg(feature = "validate")]
    pub(crate) fn within(mut self, started: Instant, timeout: Duration) -> Self {
        let deadline = started.checked_add(timeout);
        if let Some(deadline) = deadline.filter(|own| self.deadline().is_none_or(|it| *own < it)) {
            (self.deadline, self.timeout) = (Some(deadline), Some(timeout));
        }
        self
    }

    /// Whether the [deadline](Self::deadline) has passed.
    ///
    /// A call that has run out of time cancels the calls within it, and their deadline is the same. So a cancellation that
    /// comes when a call is late is told as [`Failure::TimedOut`](crate::Failure::TimedOut).
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    ///
    /// use flyto_tools::CallContext;
    ///
    /// assert!(!CallContext::new().is_late());
    /// assert!(CallContext::new().with_deadline(Instant::now()).is_late());
    /// assert!(!CallContext::new().with_timeout(Duration::from_secs(60)).is_late());
    /// ```
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.deadline().is_some_and(|it| it <= Instant::now())
    }

    /// Sets the sink of progress.
    #[must_use]
    pub fn with_progress(mut self, sink: impl ProgressSink) -> Self {
        self.progress = Some(Arc::new(sink));
        self
    }

    /// Has each report changed before the sink of progress gets it; without a sink this does nothing.
    ///
    /// ```
    /// use flyto_tools::{CallContext, Progress};
    ///
    /// let ctx = CallContext::new()
    ///     .with_progress(|it: Progress| assert_eq!(it.detail(), "…"))
    ///     .map_progress(|it| Progress::new(it.progress(), "…").unwrap_or(it));
    /// ctx.report(0.5, "a password");
    /// ```
    #[must_use]
    pub fn map_progress(
        mut self,
        change: impl Fn(Progress) -> Progress + Send + Sync + 'static,
    ) -> Self {
        if let Some(sink) = self.progress.take() {
            self.progress = Some(Arc::new(move |it| sink.report(change(it))));
        }
        self
    }

    /// Sets the sink of output, which gets it as it arrives, before the result is there.
    #[must_use]
    pub fn with_output(mut self, sink: impl OutputSink) -> Self {
        self.output = Some(Arc::new(sink));
        self.takes_all_output = false;
        self
    }

    /// Sets the sink of output as [`with_output`](Self::with_output) does, and asks for the output of each program, also of a
    /// tool that keeps it for its result: for a caller that records it, or watches a call that runs long.
    #[must_use]
    pub fn with_all_output(mut self, sink: impl OutputSink) -> Self {
        self.output = Some(Arc::new(sink));
        self.takes_all_output = true;
        self
    }

    /// Says that a person permitted this call alone: what it does is for no later one.
    #[must_use]
    pub fn with_permission_once(mut self) -> Self {
        self.is_permitted_once = true;
        self
    }

    /// Whether a person permitted this call alone, so that nothing is started for a later one.
    #[must_use]
    pub fn is_permitted_once(&self) -> bool {
        self.is_permitted_once
    }

    /// The name of the call.
    #[must_use]
    pub fn id(&self) -> &CallId {
        &self.id
    }

    /// The name of the outermost call, for which this one is made: its own, unless a tool makes it.
    #[must_use]
    pub fn root(&self) -> &CallId {
        self.root.as_ref().unwrap_or(&self.id)
    }

    /// The token whose cancellation ends the call.
    #[must_use]
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancellation
    }

    /// When the caller gives up, if at all. With a [time limit](Self::with_time_limit) it moves while a person is asked.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let limit = self.limit.and_then(|it| it.reached(self.asked.total()));
        self.deadline.into_iter().chain(limit).min()
    }

    /// How long the caller gave the call, as texts tell it: that of [`with_timeout`](Self::with_timeout), else what is
    /// left until the deadline. `None` without a deadline.
    #[must_use]
    pub fn time_given(&self) -> Option<Duration> {
        let left = || Some(self.deadline()?.saturating_duration_since(Instant::now()));
        self.timeout.or_else(left)
    }

    /// Tells the listener, if there is one, how far the call has come.
    ///
    /// `progress` is a share of the whole; see [`Progress::new`] for what becomes of other values.
    pub fn report(&self, progress: f64, detail: impl Into<String>) {
        if let Some(sink) = &self.progress
            && let Some(progress) = Progress::new(progress, detail)
        {
            sink.report(progress);
        }
    }

    /// Whether a sink listens to [`report`](Self::report).
    #[must_use]
    pub fn wants_progress(&self) -> bool {
        self.progress.is_some()
    }

    /// Shows the listener, if there is one, a piece of output. The result holds it as well.
    pub fn emit(&self, channel: OutputChannel, bytes: &[u8]) {
        if let Some(sink) = &self.output {
            sink.output(OutputChunk { channel, bytes });
        }
    }

    /// Whether a sink listens to [`emit`](Self::emit).
    #[must_use]
    pub fn wants_output(&self) -> bool {
        self.output.is_some()
    }

    /// Whether a sink listens to [`emit`](Self::emit) also for a tool that shows nothing by itself.
    #[must_use]
    pub fn wants_all_output(&self) -> bool {
        self.takes_all_output
    }
}

impl Default for CallContext {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CallContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallContext")
            .field("id", &self.id)
            .field("cancelled", &self.cancellation.is_cancelled())
            .field("deadline", &self.deadline())
            .field("progress", &self.progress.is_some())
            .field("output", &self.output.is_some())
            .finish()
    }
}

/// The name of one call, as it stands in logs and protocols.
///
/// ```
/// use flyto_tools::CallId;
///
/// assert_ne!(CallId::next(), CallId::next());
/// assert_eq!(CallId::new("toolu_01A")?.as_str(), "toolu_01A");
/// assert!(CallId::new("two words").is_err());
/// # Ok::<(), flyto_tools::InvalidCallId>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(Arc<str>);

/// A text that is no [`CallId`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "failed to name a call {id:?}: an id is 1 to 128 printable ASCII characters without blanks"
)]
pub struct InvalidCallId {
    /// The text, cut to 128 characters.
    pub id: String,
}

impl CallId {
    /// Longest id in bytes: one that fits a log line and every model API (theirs have up to 64).
    pub const MAX_BYTES: usize = 128;

    /// Takes an id from outside, such as one of a model API.
    ///
    /// # Errors
    ///
    /// [`InvalidCallId`] unless `id` is 1 to 128 printable ASCII characters without blanks, so
    /// that it can stand unquoted in a log line, a file name list or a terminal.
    pub fn new(id: impl Into<Arc<str>>) -> Result<Self, InvalidCallId> {
        let id = id.into();
        let fits = (1..=Self::MAX_BYTES).contains(&id.len());
        if fits && id.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(id))
        } else {
            Err(InvalidCallId { id: id.chars().take(Self::MAX_BYTES).collect() })
        }
    }

    /// Makes an id that no other call has, as in `call-5f2c90d1a7e3-1`: 48 random bits of the process, so that records
    /// of several processes can lie in one place, and a count within it.
    #[must_use]
    pub fn next() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        // The standard library takes the keys of its hash tables from the system's random numbers.
        static PROCESS: LazyLock<u64> =
            LazyLock::new(|| RandomState::new().build_hasher().finish() >> 16);
        Self(format!("call-{:012x}-{}", *PROCESS, LAST.fetch_add(1, Ordering::Relaxed) + 1).into())
    }

    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for CallId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// Which of a tool's two outputs a chunk belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OutputChannel {
    /// What becomes the result.
    Output,
    /// What is said beside it: warnings, logs.
    Error,
}

/// A piece of output on its way. It may end anywhere, also within a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutputChunk<'a> {
    /// Where it belongs.
    pub channel: OutputChannel,
    /// The bytes.
    pub bytes: &'a [u8],
}

/// A listener for output as it arrives. Closures of one [`OutputChunk`] are sinks.
///
/// The tool waits while a sink runs: a slow sink slows the tool down, and nothing piles up.
pub trait OutputSink: Send + Sync + 'static {
    /// Takes a piece of output. Pieces of one channel arrive in order.
    fn output(&self, chunk: OutputChunk<'_>);
}

impl<F: Fn(OutputChunk<'_>) + Send + Sync + 'static> OutputSink for F {
    fn output(&self, chunk: OutputChunk<'_>) {
        self(chunk);
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Mutex, thread};

    use super::*;

    #[track_caller]
    fn check(progress: f64, expected: Option<&str>) {
        let seen = Arc::new(Mutex::new(None));
        let sink = Arc::clone(&seen);
        let ctx = CallContext::new().with_progress(move |it: Progress| {
            *sink.lock().unwrap() = Some(it.to_string());
        });
        ctx.report(progress, "reading");
        assert_eq!(seen.lock().unwrap().as_deref(), expected);
    }

    #[test]
    fn time_limits_stand_still_for_questions_of_any_call_of_theirs() {
        let outer = CallContext::new().with_time_limit(Duration::from_secs(60));
        let inner = outer.nested().with_time_limit(Duration::from_secs(30));
        let fixed = inner.clone().with_deadline(Instant::now() + Duration::from_secs(30));
        let at = |it: &CallContext| it.deadline().unwrap();
        let before = [at(&outer), at(&inner), at(&fixed)];
        let began = Instant::now();
        let questions = [inner.asking(), outer.nested().asking()];
        thread::sleep(Duration::from_millis(5));
        drop(questions);
        let most = began.elapsed();
        let moved = [at(&outer) - before[0], at(&inner) - before[1]];
        for moved in moved {
            assert!(moved >= Duration::from_millis(5), "{moved:?}");
            assert!(moved <= most, "both questions count once: {moved:?} of {most:?}");
        }
        assert_eq!(moved[0], moved[1]);
        assert_eq!(at(&fixed), before[2], "a deadline is one moment");
        // Nothing moves once the answer is there, and the shorter one of two holds.
        assert_eq!(at(&inner), at(&inner));
        assert_eq!(at(&inner.clone().with_time_limit(Duration::from_secs(40))), at(&inner));
        assert_eq!(inner.without_deadline().deadline(), None);
    }

    #[test]
    fn progress_stays_within_its_range() {
        check(0.4, Some("40% reading"));
        check(0.999, Some("99% reading"));
        check(7.0, Some("100% reading"));
        check(-0.0, Some("0% reading"));
        check(f64::NEG_INFINITY, Some("0% reading"));
        check(f64::INFINITY, Some("100% reading"));
        check(f64::NAN, None);
    }

    #[test]
    fn no_listener_is_needed() {
        let ctx = CallContext::new();
        assert!(!ctx.wants_progress() && !ctx.wants_output() && !ctx.wants_all_output());
        let all = ctx.clone().with_all_output(|_: OutputChunk<'_>| {});
        assert!(all.wants_output() && all.wants_all_output());
        let shown = all.with_output(|_: OutputChunk<'_>| {});
        assert!(shown.wants_output() && !shown.wants_all_output());
        ctx.report(0.5, "unheard");
        ctx.emit(OutputChannel::Output, b"unseen");
    }

    #[test]
    fn output_arrives_in_order_and_as_bytes() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&seen);
        let ctx = CallContext::new().with_output(move |chunk: OutputChunk<'_>| {
            sink.lock().unwrap().push((chunk.channel, chunk.bytes.to_vec()));
        });
        ctx.emit(OutputChannel::Output, b"\xff");
        ctx.clone().emit(OutputChannel::Error, b"warning");
        assert_eq!(
            *seen.lock().unwrap(),
            [
                (OutputChannel::Output, b"\xff".to_vec()),
                (OutputChannel::Error, b"warning".to_vec())
            ]
        );
    }

    #[test]
    fn ids_are_printable_and_distinct() {
        assert_ne!(CallId::next(), CallId::next());
        for good in ["toolu_01A", "call-7", "~", &"x".repeat(128)] {
            assert_eq!(CallId::new(good).map(|id| id.to_string()).as_deref(), Ok(good));
        }
        for bad in ["", "a b", "a\n", "\u{1b}[31m", "é", &"x".repeat(129)] {
            CallId::new(bad).unwrap_err();
        }
    }

    #[test]
    fn a_clone_is_cancelled_with_its_origin() {
        let ctx = CallContext::new();
        let clone = ctx.clone();
        ctx.cancellation().cancel();
        assert!(clone.cancellation().is_cancelled());
    }
}
