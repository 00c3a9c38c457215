//! A program that stays and is talked to.

use std::{
    collections::BTreeSet,
    fmt, io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, ReadBuf},
    sync::oneshot,
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use crate::{
    Capability, Control, ExecError, ExecErrorKind, Outcome, Running, Signal, Target,
    drive::{Plan, Streams, drive},
    report::Report,
    traits::{BoxedReader, BoxedWriter},
};

/// A started program with its piped streams. Dropping it kills the tree at once.
///
/// ```
/// use flyto_execenv::{ExecEnv, Output, RunOptions, Spec, Stdin, local::Local};
/// use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let env = ExecEnv::new(Local::new());
/// let spec = Spec::new("/bin/cat").stdin(Stdin::Piped).stdout(Output::Piped);
/// let mut cat = env.start(spec, RunOptions::new()).await?;
///
/// let mut stdin = cat.stdin.take().expect("it was asked for");
/// let mut stdout = BufReader::new(cat.stdout.take().expect("it was asked for"));
/// let mut line = String::new();
/// stdin.write_all(b"one\n").await?;
/// stdout.read_line(&mut line).await?;
/// assert_eq!(line, "one\n");
///
/// drop(stdin); // end of input
/// assert!(cat.wait().await?.success());
/// # Ok(()) }
/// ```
///
/// A task on the runtime where it was started drives it; the streams that were piped are the
/// caller's.
pub struct Process {
    /// Where to write its input, if that is piped.
    ///
    /// Take it out, and drop it to end the program's input.
    pub stdin: Option<BoxedWriter>,
    /// Where to read its output, if that is piped.
    ///
    /// A reader that is not read makes the program wait once the pipe is full.
    pub stdout: Option<BoxedReader>,
    /// Where to read its error output, if that is piped.
    pub stderr: Option<BoxedReader>,
    control: Arc<dyn Control>,
    takes_signals: bool,
    enforced: BTreeSet<Capability>,
    cancel: CancellationToken,
    task: Option<JoinHandle<Result<Outcome, ExecError>>>,
}

impl Process {
    /// The three flags say which of stdin, stdout and stderr were asked for as pipes.
    pub(crate) fn new(
        running: Running,
        [stdin_piped, stdout_piped, stderr_piped]: [bool; 3],
        plan: Plan,
        mut report: Report,
        cancel: CancellationToken,
    ) -> Self {
        let Running { stdin, stdout, stderr, stdout_skipped, stderr_skipped, control, enforced } =
            running;
        report.enforced.extend(enforced);
        let enforced = report.enforced.clone();
        let control: Arc<dyn Control> = Arc::from(control);
        let takes_signals = report.takes_signals;
        let mut handed_out = Vec::new();
        // A stream goes to the caller or to the loop, never to both.
        let mut split = |reader: Option<BoxedReader>, piped: bool| match reader {
            Some(inner) if piped => {
                let (open, closed) = oneshot::channel();
                handed_out.push(closed);
                (Some(Box::new(HandedOut { inner, open: Some(open) }) as BoxedReader), None)
            }
            reader => (None, reader),
        };
        let (stdout, kept_stdout) = split(stdout, stdout_piped);
        let (stderr, kept_stderr) = split(stderr, stderr_piped);
        let (stdin, kept_stdin) = if stdin_piped { (stdin, None) } else { (None, stdin) };
        let streams = Streams {
            stdin: kept_stdin,
            stdout: kept_stdout,
            stderr: kept_stderr,
            stdout_skipped,
            stderr_skipped,
            handed_out,
        };
        let task = tokio::spawn({
            let (control, cancel) = (Arc::clone(&control), cancel.clone());
            async move {
                let driven = drive(&*control, streams, plan, &cancel).await?;
                Ok(report.finished(driven))
            }
        });
        let task = Some(task);
        Self { stdin, stdout, stderr, control, takes_signals, enforced, cancel, task }
    }

    /// What is in force, as its outcome will say.
    #[must_use]
    pub fn enforced(&self) -> &BTreeSet<Capability> {
        &self.enforced
    }

    /// Waits until the program and what it left behind have ended, and says what came of it.
    ///
    /// A stream that was handed out counts as open until its end was read or it was dropped; after
    /// the leader's exit it is waited for like any other, for [`DRAIN_TIME`](crate::DRAIN_TIME) at
    /// most. Close [`Process::stdin`] first if the program reads to the end of its input.
    ///
    /// # Errors
    ///
    /// The program was lost sight of.
    pub async fn wait(mut self) -> Result<Outcome, ExecError> {
        let task = self.task.as_mut().expect("only `wait`, which consumes `self`, takes it");
        let res = task.await;
        self.task = None;
        res.unwrap_or_else(|err| {
            Err(ExecError::new(ExecErrorKind::Lost, "watch the program").with_source(err))
        })
    }

    /// Sends a signal.
    ///
    /// # Errors
    ///
    /// [`ExecErrorKind::Unsupported`] where the backend does not declare
    /// [`Capability::Signals`]; else the signal could not be sent.
    pub fn signal(&self, signal: Signal, target: Target) -> Result<(), ExecError> {
        if !self.takes_signals {
            let what = format!("send {signal}: the backend does not offer signals");
            return Err(ExecError::new(ExecErrorKind::Unsupported, what).started());
        }
        self.control.signal(signal, target)
    }

    /// Asks for the end: with the spec's grace, then by killing. [`Process::wait`] tells when it is
    /// over.
    ///
    /// May be called more than once. Returns at once.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            // The kill does not depend on a runtime; the task's end, which reaps, follows.
            let _ = self.control.signal(Signal::KILL, Target::Tree);
            task.abort();
        }
    }
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").field("control", &self.control).finish_non_exhaustive()
    }
}

/// A stream in the caller's hands that tells the loop when it is done with.
///
/// A read that brings no bytes into a buffer with room is the end of the stream.
struct HandedOut {
    inner: BoxedReader,
    open: Option<oneshot::Sender<()>>,
}

impl AsyncRead for HandedOut {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = (buf.filled().len(), buf.remaining());
        let res = Pin::new(&mut self.inner).poll_read(cx, buf);
        if matches!(res, Poll::Ready(Ok(()))) && before.1 > 0 && buf.filled().len() == before.0 {
            self.open = None;
        }
        res
    }
}
