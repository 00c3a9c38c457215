//! A server that is a program: its three streams.
//!
//! Three tasks serve one process: one writes, one reads answers, one keeps the end of what it complains about. None waits for
//! another, so a server that waits for its output to be read gets on. The process belongs to the [`Child`], not
//! to the tasks: dropping that kills it with all its descendants.

use std::{
    collections::VecDeque,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use flyto_execenv::{BoxedReader, BoxedWriter, Output, Process, Spec, Stdin};
use flyto_host::DeclaredServer;
use flyto_tools::CancellationToken;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    sync::mpsc,
    task::{JoinHandle, yield_now},
    time::{sleep, timeout},
};

use super::{
    lines::{Line, Lines},
    pace::Pace,
    peer::{Outgoing, Peer},
};

/// The end of stderr that is kept for messages.
const STDERR_BYTES: usize = 8 * 1024;

/// The end of what a program complained about, in at most [`STDERR_BYTES`] bytes.
#[derive(Debug, Clone, Default)]
pub(super) struct Tail(Arc<Mutex<VecDeque<u8>>>);

impl Tail {
    /// Adds bytes, and drops those at the front that are too many.
    fn push(&self, bytes: &[u8]) {
        let mut tail = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = &bytes[bytes.len().saturating_sub(STDERR_BYTES)..];
        let too_many = (tail.len() + bytes.len()).saturating_sub(STDERR_BYTES);
        tail.drain(..too_many);
        tail.extend(bytes);
    }

    /// The last line that is not blank; control characters are blanks.
    pub(super) fn last_line(&self) -> Option<String> {
        /// Characters of a line that are shown.
        const SHOWN: usize = 300;
        let tail = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = tail.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let line = text.lines().rev().map(str::trim).find(|it| !it.is_empty())?;
        Some(line.chars().map(|it| if it.is_control() { ' ' } else { it }).take(SHOWN).collect())
    }
}

/// The program of a server. Dropping it kills it at once, with all its descendants where the backend can do that.
///
/// Its streams are pipes of its own: neither the input nor the output of this process reaches it.
#[derive(Debug)]
pub(super) struct Child {
    process: Option<Process>,
    /// Kills the program.
    kill: CancellationToken,
    writer: JoinHandle<()>,
}

impl Child {
    /// Starts the program, and connects its streams with the peer.
    ///
    /// # Errors
    ///
    /// Why it could not be started.
    pub(super) async fn start(
        declared: &DeclaredServer,
        spec: Spec,
        peer: &Arc<Peer>,
        messages: mpsc::Receiver<Outgoing>,
        longest: usize,
    ) -> Result<Self, flyto_execenv::ExecError> {
        let spec = spec.stdin(Stdin::Piped).stdout(Output::Piped).stderr(Output::Piped);
        let kill = CancellationToken::new();
        let mut process = declared.start(spec, kill.clone()).await?;
        let tail = Tail::default();
        let writer = process.stdin.take().map(|stdin| write(stdin, messages));
        let writer = tokio::spawn(async move {
            if let Some(writer) = writer {
                writer.await;
            }
        });
        if let Some(stderr) = process.stderr.take() {
            tokio::spawn(keep(stderr, tail.clone()));
        }
        if let Some(stdout) = process.stdout.take() {
            tokio::spawn(read(stdout, Arc::clone(peer), tail, longest));
        }
        Ok(Self { process: Some(process), kill, writer })
    }

    /// Ends the program: the end of its input first, and after `grace` a kill. Returns when it and what it left behind are
    /// gone, or cannot be told to be; `false` for the latter.
    pub(super) async fn end(mut self, grace: Duration) -> bool {
        self.writer.abort();
        let Some(process) = self.process.take() else { return true };
        let mut wait = pin!(process.wait());
        let outcome = match timeout(grace, &mut wait).await {
            Ok(outcome) => outcome,
            Err(_) => {
                self.kill.cancel();
                wait.await
            }
        };
        outcome.is_ok_and(|it| it.confirmed)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.writer.abort();
    }
}

/// Writes messages until there are no more of them, or the program does not read any more.
async fn write(mut stdin: BoxedWriter, mut messages: mpsc::Receiver<Outgoing>) {
    while let Some(Outgoing { mut text, .. }) = messages.recv().await {
        text.push('\n');
        if stdin.write_all(text.as_bytes()).await.is_err() || stdin.flush().await.is_err() {
            // The end of its output tells the rest.
            return;
        }
    }
}

/// Keeps the end of stderr. A program that complains without end waits for its reader, others do not.
async fn keep(mut stderr: BoxedReader, tail: Tail) {
    let (mut piece, mut pace) = (vec![0; 4 * 1024], Pace::complaints());
    while let Ok(n @ 1..) = stderr.read(&mut piece).await {
        tail.push(&piece[..n]);
        match pace.pause(n) {
            Some(pause) => sleep(pause).await,
            None => yield_now().await,
        }
    }
}

/// Reads messages until the end of the stream, which ends the connection.
async fn read(mut stdout: BoxedReader, peer: Arc<Peer>, tail: Tail, longest: usize) {
    let (mut lines, mut pace) = (Lines::new(longest), Pace::unasked());
    loop {
        let read = tokio::select! {
            read = stdout.read_buf(lines.room()) => read,
            () = peer.closed.cancelled() => return,
        };
        let n_bytes = match read {
            Ok(n @ 1..) => n,
            _ => break,
        };
        lines.take(|line| match line {
            Line::Whole(line) => peer.receive(line),
            Line::TooLong { start, bytes } => peer.receive_too_long(start, bytes),
        });
        if lines.is_endless() {
            return peer.close("it sent a line without end");
        }
        // A flood keeps no other task waiting.
        yield_now().await;
        peer.keep_pace(&mut pace, n_bytes).await;
    }
    let said = tail.last_line().map(|it| format!("; it said last: {it}")).unwrap_or_default();
    peer.close(format!("its program closed its output{said}"));
}
