//! A backend on the other side of a connection: it has a clock of its own, and sends what is kept and nothing else.

#![cfg(all(unix, feature = "local", feature = "conformance"))]

use std::{
    collections::VecDeque,
    fmt, io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use async_trait::async_trait;
use flyto_execenv::{
    BoxedReader, Capabilities, Capability, Capture, Chunk, Control, Ended, Ending, ErrorOutput,
    ExecEnv, ExecError, Executor, Exit, LimitKind, Limits, Output, RunOptions, Running, Signal,
    SkippedBytes, Spec, Target, local::Local,
};
use tokio::{
    io::{AsyncRead, ReadBuf},
    sync::mpsc,
    time::{Instant, sleep_until},
};

/// The far end runs programs as the local backend does. Clones share what crossed the connection.
#[derive(Debug, Clone)]
struct Remote {
    local: Local,
    capabilities: Capabilities,
    /// Its clock is ahead by this much.
    ahead: Duration,
    crossed: Arc<AtomicU64>,
}

impl Remote {
    fn new() -> Self {
        let local = Local::new();
        let supported: Vec<_> = local.capabilities().supported.iter().copied().collect();
        // What it says about itself is known at run time only.
        let means = format!("agent-{}", std::process::id());
        let capabilities =
            Capabilities::new("remote").with(supported).with_means(Capability::GroupKill, means);
        Self { local, capabilities, ahead: Duration::from_millis(5), crossed: Arc::default() }
    }
}

#[async_trait]
impl Executor for Remote {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    async fn start(&self, spec: Spec) -> Result<Running, ExecError> {
        let (stdout, stderr) = (spec.stdout.clone(), spec.stderr.clone());
        // With a grace, the handle asks the program to end, and its clock is the right one.
        let has_clock = spec.grace.is_none_or(|it| it.is_zero());
        let deadline = spec.deadline.filter(|_| has_clock);
        let deadline = deadline.and_then(|it| Instant::now().checked_add(it - self.ahead.min(it)));
        let mut running = self.local.start(spec).await?;
        running.stdout = self.sent(running.stdout, &stdout, &running.stdout_skipped);
        if let ErrorOutput::Separate(stderr) = &stderr {
            running.stderr = self.sent(running.stderr, stderr, &running.stderr_skipped);
        }
        let fired = AtomicBool::new(false);
        running.control = Box::new(Clocked { inner: running.control, deadline, fired });
        Ok(running)
    }
}

impl Remote {
    /// A stream as it comes over the connection.
    fn sent(
        &self,
        reader: Option<BoxedReader>,
        output: &Output,
        skipped: &SkippedBytes,
    ) -> Option<BoxedReader> {
        let (inner, crossed) = (reader?, Arc::clone(&self.crossed));
        let kept = match output {
            Output::Captured(it) if it.may_skip => it.kept_bytes(),
            _ => (u64::MAX, 0),
        };
        let (skipped, tail, left_out) = (skipped.clone(), VecDeque::new(), 0);
        Some(Box::new(Sent { inner, kept, tail, left_out, skipped, crossed, ended: false }))
    }
}

/// The start of a stream as it comes; of the rest, the end.
struct Sent {
    inner: BoxedReader,
    /// What is still to be sent of the start, and what is kept of the end.
    kept: (u64, u64),
    tail: VecDeque<u8>,
    left_out: u64,
    skipped: SkippedBytes,
    crossed: Arc<AtomicU64>,
    ended: bool,
}

impl AsyncRead for Sent {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.kept.0 > 0 {
            let most = usize::try_from(this.kept.0).unwrap_or(usize::MAX).min(buf.remaining());
            let mut part = buf.take(most);
            ready!(Pin::new(&mut this.inner).poll_read(cx, &mut part))?;
            let n = part.filled().len();

            let bytes = part.filled().to_vec();
            buf.put_slice(&bytes);
            this.kept.0 -= n as u64;
            this.crossed.fetch_add(n as u64, Ordering::Relaxed);
            return Poll::Ready(Ok(()));
        }
        while !this.ended {
            let mut bytes = [0; 8192];
            let mut part = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut this.inner).poll_read(cx, &mut part))?;
            this.ended = part.filled().is_empty();
            this.tail.extend(part.filled());
            while this.tail.len() as u64 > this.kept.1 {
                this.tail.pop_front();
                this.left_out += 1;
            }
        }
        this.skipped.add(std::mem::take(&mut this.left_out));
        let n = this.tail.len().min(buf.remaining());
        let bytes: Vec<u8> = this.tail.drain(..n).collect();
        buf.put_slice(&bytes);
        this.crossed.fetch_add(n as u64, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

/// A program that the far end kills at its deadline, by the clock there.
struct Clocked {
    inner: Box<dyn Control>,
    deadline: Option<Instant>,
    fired: AtomicBool,
}

impl fmt::Debug for Clocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[async_trait]
impl Control for Clocked {
    async fn wait(&self) -> Result<Exit, ExecError> {
        let Some(deadline) = self.deadline else { return self.inner.wait().await };
        tokio::select! {
            biased;
            exit = self.inner.wait() => return exit,
            () = sleep_until(deadline) => {}
        }
        self.fired.store(true, Ordering::Relaxed);
        self.inner.signal(Signal::KILL, Target::Tree)?;
        self.inner.wait().await
    }

    fn signal(&self, signal: Signal, target: Target) -> Result<(), ExecError> {
        self.inner.signal(signal, target)
    }

    async fn end(&self, grace: Duration) -> Result<Ended, ExecError> {
        let ended = self.inner.end(grace).await?;
        Ok(ended.timed_out(self.fired.load(Ordering::Relaxed)))
    }
}

flyto_execenv::executor_conformance!(ExecEnv::new(Remote::new()));

fn sh(script: &str) -> Spec {
    Spec::new("/bin/sh").args(["-c", script]).env_var("PATH", "/usr/bin:/bin")
}

#[tokio::test]
async fn a_remote_clock_that_is_early_is_no_signal() {
    let mut remote = Remote::new();
    // All of the time that the test waits at most, so that it is sure to be the first.
    remote.ahead = Duration::from_secs(3600);
    let spec = sh("echo so far; exec sleep 600").deadline(Duration::from_secs(3601));
    let outcome = ExecEnv::new(remote).run(spec).await.expect("it runs");
    assert_eq!(outcome.ending, Ending::TimedOut);
    assert_eq!(outcome.exit, Some(Exit::Signal(Signal::KILL)));
    assert_eq!(&*outcome.stdout.bytes(), b"so far\n");
}

/// Prints 256 MiB between two lines.
const MUCH: &str = "echo first; dd if=/dev/zero bs=65536 count=4096 2>/dev/null; echo last";
const MUCH_BYTES: u64 = 4096 * 65536 + "first\nlast\n".len() as u64;

#[tokio::test]
async fn what_is_not_kept_does_not_cross() {
    let remote = Remote::new();
    let env = ExecEnv::new(remote.clone());
    let limit = 100_000;
    let capture = Output::Captured(Capture::limit(limit));
    let outcome = env.run(sh(MUCH).stdout(capture)).await.expect("it runs");
    let stdout = &outcome.stdout;
    assert_eq!((stdout.total_bytes, stdout.bytes().len() as u64), (MUCH_BYTES, limit));
    assert!(stdout.head.starts_with(b"first\n") && stdout.tail.ends_with(b"last\n"));
    assert_eq!(remote.crossed.load(Ordering::Relaxed), limit);
}

#[tokio::test]
async fn all_of_it_crosses_where_something_reads_all_of_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let much = "dd if=/dev/zero bs=65536 count=64 2>/dev/null";
    let n_bytes = 64 * 65536;
    let small = Capture::limit(1000);

    let remote = Remote::new();
    let spill = small.clone().spill_to(dir.path().join("whole"));
    let spec = sh(much).stdout(Output::Captured(spill));
    let outcome = ExecEnv::new(remote.clone()).run(spec).await.expect("it runs");
    let whole = outcome.stdout.whole().expect("it fits").metadata().expect("it is there");
    assert_eq!((whole.len(), remote.crossed.load(Ordering::Relaxed)), (n_bytes, n_bytes));

    let remote = Remote::new();
    let (observer, mut chunks) = mpsc::channel::<Chunk>(4);
    let env = ExecEnv::new(remote.clone());
    let spec = sh(much).stdout(Output::Captured(small.clone()));
    let seen = async {
        let mut n = 0;
        while let Some(chunk) = chunks.recv().await {
            n += chunk.bytes.len() as u64;
        }
        n
    };
    let (outcome, seen) =
        tokio::join!(env.run_with(spec, RunOptions::new().observer(observer)), seen);
    assert_eq!((outcome.expect("it runs").stdout.total_bytes, seen), (n_bytes, n_bytes));

    // A bound on output is counted as it comes.
    let limits = Limits::new().output_bytes(100_000);
    let spec = sh("exec yes").stdout(Output::Captured(small)).limits(limits);
    let outcome = ExecEnv::new(Remote::new()).run(spec).await.expect("it runs");
    assert_eq!(outcome.ending, Ending::LimitReached(LimitKind::Output));
}
