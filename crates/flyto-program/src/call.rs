//! One call of a program: its deadline, its cancellation, and its exit as a result.

use std::{
    pin::pin,
    time::{Duration, Instant},
};

use flyto_execenv::{
    Capture, ColdStart, Ending, ErrorOutput, ExecEnv, ExecError, Exit, Outcome, Output, RunOptions,
    Signal, Spec,
};
use flyto_tools::{CallContext, DeniedHost, Execution, Failure, Progress, Readiness};
use tokio::sync::mpsc;

use crate::{
    duration::time_text,
    lines::{KeptStderr, Shown},
    text::Text,
};

/// Chunks on their way from the program to the listener. More only hides that the listener
/// is slow; a full queue makes the program wait.
const CHUNKS_UNDERWAY: usize = 4;

/// Whether output is shown while it comes.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub enum Streaming {
    /// Output is in the result and nowhere else, unless the caller [asks for all of it](CallContext::wants_all_output).
    #[default]
    Quiet,
    /// Lines of stdout are shown as they come. A line `::progress 0.4 text` on stderr is progress
    /// and leaves the captured stderr; the other lines of stderr are shown.
    Lines,
    /// Lines of stdout are messages between programs, and are not shown.
    Messages {
        /// What a line of stdout says about progress.
        progress: fn(&[u8]) -> Option<Progress>,
        /// Whether stderr is treated as for [`Lines`](Self::Lines).
        shows_stderr: bool,
    },
}

impl Streaming {
    /// Whether output is looked at while it comes: to take progress out of stderr, or for the listeners.
    fn reads_along(self, ctx: &CallContext) -> bool {
        self.shows_stderr()
            || ctx.wants_all_output()
            || matches!(self, Self::Messages { .. } if ctx.wants_progress())
    }

    pub(crate) const fn shows_stderr(self) -> bool {
        match self {
            Self::Quiet => false,
            Self::Lines => true,
            Self::Messages { shows_stderr, .. } => shows_stderr,
        }
    }
}

/// A program that ran, and what came of it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Ran {
    /// What came of it.
    pub outcome: Outcome,
    /// The program and its arguments as they were given, for people.
    pub command_line: Vec<String>,
    /// The time it was given: the tool's own, or [the caller's](CallContext::time_given) if that was less.
    pub deadline: Option<Duration>,
}

/// Waits until the deadline of a call has come, which [moves](CallContext::asking) while a person is asked; without one for ever.
/// It needs the timers of a Tokio runtime.
pub async fn deadline_reached(ctx: &CallContext) {
    loop {
        match ctx.deadline() {
            Some(at) if at <= Instant::now() => return,
            Some(at) => tokio::time::sleep_until(at.into()).await,
            None => std::future::pending().await,
        }
    }
}

/// Waits for the time that a call has to end once it is over, and as long as it, or a call within it, [takes back what it
/// did](CallContext::undoing): a call around that has its own to take back afterwards, so the time begins anew.
pub async fn grace_over(ctx: &CallContext, grace: Duration) {
    loop {
        tokio::time::sleep(grace).await;
        if !ctx.is_undoing() {
            return;
        }
        ctx.undone().await;
    }
}

/// Runs `spec` as the program of the call `ctx`.
///
/// The caller's cancellation ends the program, and its deadline tightens the spec's. A cancellation that comes once the
/// deadline has passed ends it as the deadline does: [`Ran::failure`] is [`Failure::TimedOut`], with the time in
/// [`Ran::deadline`].
///
/// With [`Streaming::Lines`] or [`Streaming::Messages`], or where `ctx` [asks for all output](CallContext::wants_all_output), its
/// listeners are told what comes while the program runs; a listener that is slow makes the program wait. A call that was
/// permitted once is not served by a process that waited, and none is started after it.
///
/// ```
/// use flyto_execenv::{ExecEnv, Spec, local::Local};
/// use flyto_program::{Streaming, run};
/// use flyto_tools::CallContext;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), flyto_execenv::ExecError> {
/// let env = ExecEnv::new(Local::new());
/// let spec = Spec::new("/bin/sh").args(["-c", "echo so far; exit 3"]);
/// let ran = run(&env, spec, &CallContext::new(), Streaming::Quiet).await?;
/// assert_eq!(ran.stdout().text, "so far\n");
/// assert_eq!(ran.failure(), Some(flyto_tools::Failure::exit_code(3)));
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// Those of [`ExecEnv::run_with`]: the program could not be run, or was lost sight of. What a program did,
/// a failure included, is in [`Ran`].
pub async fn run(
    env: &ExecEnv,
    mut spec: Spec,
    ctx: &CallContext,
    streaming: Streaming,
) -> Result<Ran, ExecError> {
    if ctx.is_permitted_once() {
        spec.ready = None;
    }
    let mut deadline = spec.deadline;
    if let Some(at) = ctx.deadline() {
        let left = at.saturating_duration_since(Instant::now());
        if deadline.is_none_or(|own| left < own) {
            spec.deadline = Some(left);
            let given = ctx.time_given().unwrap_or(left);
            deadline = Some(deadline.map_or(given, |own| own.min(given)));
        }
    }
    let command_line = std::iter::once(spec.program.as_os_str())
        .chain(spec.args.iter().map(|it| it.as_os_str()))
        .map(|it| it.to_string_lossy().into_owned())
        .collect();
    let options = RunOptions::new().cancel(ctx.cancellation().clone());

    if !streaming.reads_along(ctx) {
        let outcome = told_by_deadline(ctx, env.run_with(spec, options)).await?;
        return Ok(Ran { outcome, command_line, deadline });
    }
    let (sender, mut chunks) = mpsc::channel(CHUNKS_UNDERWAY);
    let kept = match &spec.stderr {
        ErrorOutput::Separate(Output::Captured(capture)) => KeptStderr::new(capture),
        _ => KeptStderr::new(&Capture::limit(0)),
    };
    let mut shown = Shown::new(ctx, streaming, kept);
    let running = env.run_with(spec, options.observer(sender));
    let (outcome, kept) = tokio::join!(told_by_deadline(ctx, running), async {
        while let Some(chunk) = chunks.recv().await {
            shown.take(&chunk);
        }
        shown.finish()
    });
    let mut outcome = outcome?;
    if streaming.shows_stderr() {
        kept.replace(&mut outcome.stderr);
    }
    Ok(Ran { outcome, command_line, deadline })
}

/// Has a cancellation that comes after the deadline told as [the deadline's](CallContext::is_late). Without a deadline this is
/// the run itself.
async fn told_by_deadline(
    ctx: &CallContext,
    run: impl Future<Output = Result<Outcome, ExecError>>,
) -> Result<Outcome, ExecError> {
    if ctx.deadline().is_none() {
        return run.await;
    }
    let mut run = pin!(run);
    let (outcome, is_late) = tokio::select! {
        biased;
        outcome = &mut run => (outcome, ctx.is_late()),
        () = ctx.cancellation().cancelled() => {
            let is_late = ctx.is_late();
            (run.await, is_late)
        }
    };
    let mut outcome = outcome?;
    if is_late && outcome.ending == Ending::Cancelled {
        outcome.ending = Ending::TimedOut;
    }
    Ok(outcome)
}

impl Ran {
    /// stdout as text.
    #[must_use]
    pub fn stdout(&self) -> Text {
        Text::new(&self.outcome.stdout)
    }

    /// stderr as text.
    #[must_use]
    pub fn stderr(&self) -> Text {
        Text::new(&self.outcome.stderr)
    }

    /// stdout as text for the result of a call that failed: of output that was too long to be captured whole, the first
    /// and the last 4 KiB, with a line between them that names the file with the whole, if there is one.
    #[must_use]
    pub fn failed_stdout(&self) -> Text {
        Text::for_failure(&self.outcome.stdout)
    }

    /// stderr as text for the result of a call that failed, as [`failed_stdout`](Self::failed_stdout) gives stdout.
    #[must_use]
    pub fn failed_stderr(&self) -> Text {
        Text::for_failure(&self.outcome.stderr)
    }

    /// Why the call failed; `None` when the program exited with code 0.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        match self.outcome.ending {
            Ending::Exited(Exit::Code(0)) => None,
            Ending::Exited(Exit::Code(code)) => Some(Failure::exit_code(code)),
            Ending::Exited(Exit::Signal(signal)) => Some(Failure::Signal {
                number: signal.0,
                name: signal.name().map(ToOwned::to_owned),
            }),
            Ending::TimedOut => Some(Failure::TimedOut { after: self.deadline }),
            Ending::Cancelled => Some(Failure::Cancelled),
            Ending::LimitReached(limit) => Some(Failure::limit(limit.name())),
            _ => Some(Failure::Lost),
        }
    }

    /// The time it was given, as result texts say it: `30s`. Without a deadline, the time it took.
    #[must_use]
    pub fn deadline_text(&self) -> String {
        self.deadline.map_or_else(|| self.wall_text(), time_text)
    }

    /// The time it took, as result texts say it: `1.5s`.
    #[must_use]
    pub fn wall_text(&self) -> String {
        time_text(self.outcome.wall)
    }

    /// How it ended, as result texts say it: `exit code 3`, `exit code -1 (killed by signal 9,
    /// SIGKILL)`.
    #[must_use]
    pub fn exit_text(&self) -> String {
        match (self.outcome.ending, self.outcome.exit) {
            (Ending::Exited(exit), _) | (_, Some(exit)) => exit_text(exit),
            (_, None) => "exit code -1".to_owned(),
        }
    }

    /// How the call was carried out.
    #[must_use]
    pub fn execution(&self) -> Execution {
        let outcome = &self.outcome;
        let mut res = Execution::new(&outcome.backend);
        res.command_line.clone_from(&self.command_line);
        res.wall = outcome.wall;
        res.cpu = outcome.usage.cpu();
        res.peak_memory_bytes = outcome.usage.peak_memory.bytes();
        res.stdout_bytes = outcome.stdout.total_bytes;
        res.stderr_bytes = outcome.stderr.total_bytes;
        res.stderr = Some(self.stderr().text).filter(|it| !it.is_empty());
        res.enforced = outcome.enforced.iter().map(ToString::to_string).collect();
        res.max_processes = outcome.limits.processes;
        res.sandbox.clone_from(&outcome.profiles);
        // What was ended so far is not how many there were.
        res.leaked = outcome.leaked.filter(|_| outcome.confirmed);
        res.confirmed = Some(outcome.confirmed);
        let denied = outcome.denied_hosts.iter();
        res.denied_hosts =
            denied.map(|it| DeniedHost::new(it.place(), it.why.to_string())).collect();
        res.pipe_held = outcome.pipe_held;
        res.readiness = readiness(outcome);
        res
    }
}

fn readiness(outcome: &Outcome) -> Option<Readiness> {
    match &outcome.readiness {
        flyto_execenv::ExecReadiness::Ready { waited } => {
            let startup_cpu = outcome.usage.startup_cpu;
            Some(Readiness::Ready { waited: *waited, startup_cpu })
        }
        flyto_execenv::ExecReadiness::Cold(why) => {
            let help = why.is_unfit().then(|| help(why).to_owned());
            Some(Readiness::Cold { why: why.to_string(), help })
        }
        _ => None,
    }
}

/// What the author of a program that cannot be kept ready can change, as words that `or` may follow.
fn help(why: &ColdStart) -> &'static str {
    match why {
        ColdStart::TurnedOff(why) => help(why),
        ColdStart::Changed(_) => "let no program write into its directory while it waits",
        ColdStart::TooManyFiles => {
            "move what the program does not load out of its directory and out of those of its arguments"
        }
        ColdStart::TooLarge { .. } => "let the program fill its memory after it has read its input",
        _ => "let the program read its input before it does anything",
    }
}

fn exit_text(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(signal @ Signal(_)) => format!("exit code -1 (killed by {signal})"),
        _ => "exit code -1".to_owned(),
    }
}
