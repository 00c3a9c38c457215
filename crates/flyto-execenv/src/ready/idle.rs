//! One process that waits for a call.

use std::{
    io,
    path::PathBuf,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Buf as _, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, ReadBuf},
    task::AbortHandle,
    time::Instant,
};

use super::{ColdStart, StartFiles, watch::Watch};
use crate::{Control, MemoryMeter, Running, Signal, Target, Usage, traits::BoxedReader};

/// What a process may not have printed before it is asked: 64 KiB on one stream, as much as a pipe holds (pipe(7)). One that
/// has may be waiting for a reader, and not for its input.
pub(super) const PRINTED_BYTES: usize = 64 * 1024;

/// How long the end of a process is waited for that has closed its output: 50 ms. Most often it has ended, and that is reported a
/// little later.
const REPORT_TIME: Duration = Duration::from_millis(50);

/// How long the end of a killed process is waited for: 2 s.
const END_TIME: Duration = Duration::from_secs(2);

/// A process that was started before its call.
///
/// Dropping it ends the process before its input is closed, so that it does not take the end of its input for a call.
pub(super) struct Idle {
    running: Option<Running>,
    /// What it printed so far, on stdout and on stderr.
    printed: [BytesMut; 2],
    pub(super) id: u64,
    pub(super) started: Instant,
    pub(super) files: Arc<StartFiles>,
    /// Bytes of memory that it held when it was last looked at.
    pub(super) memory_bytes: u64,
    /// What waits for its end until a call takes it.
    pub(super) watch: Arc<Watch>,
    /// The task that looks after it.
    pub(super) task: Option<AbortHandle>,
}

/// A process that a call has taken.
pub(crate) struct Held {
    pub(crate) running: Running,
    /// How long it had been there.
    pub(crate) waited: Duration,
    /// What it used until the call.
    pub(crate) used: Usage,
}

impl Idle {
    pub(super) fn new(id: u64, running: Running, started: Instant, files: StartFiles) -> Self {
        let (printed, files) = (Default::default(), Arc::new(files));
        let control: Arc<dyn Control> = running.control.into();
        let watch = Arc::new(Watch::over(&control));
        let running = Some(Running { control: Box::new(control), ..running });
        Self { running, printed, id, started, files, memory_bytes: 0, watch, task: None }
    }

    /// What measures its memory, where that can be done.
    pub(super) fn meter(&self) -> Option<MemoryMeter> {
        self.running.as_ref()?.control.memory_meter()
    }

    /// What has changed in the place where it runs, so that a start would keep it to something else.
    pub(super) fn outdated_by(&self) -> Option<PathBuf> {
        self.running.as_ref()?.control.outdated_by()
    }

    /// Whether it still waits. Nothing is waited for, and nothing else waits for its end from now on.
    ///
    /// # Errors
    ///
    /// It has ended, has closed its output, or has printed too much.
    pub(super) async fn look(&mut self) -> Result<(), ColdStart> {
        let Some(running) = &mut self.running else { return Err(ColdStart::NoneWaiting) };
        self.watch.stop();
        // What the system reports is seen once the runtime has looked.
        tokio::task::yield_now().await;
        match at_once(running.control.wait()).await {
            Some(Ok(exit)) => return Err(ColdStart::Ended(exit)),
            Some(Err(err)) => return Err(ColdStart::not_started(&err)),
            None => {}
        }
        let [out, err] = &mut self.printed;
        let mut is_closed = false;
        for (stream, printed, is_output) in
            [(&mut running.stdout, out, true), (&mut running.stderr, err, false)]
        {
            let Some(reader) = stream else { continue };
            // A stream that has ended, or failed, says so again when the call reads it. Few large reads: a task that reads
            // often in a row is made to wait.
            printed.reserve(PRINTED_BYTES);
            loop {
                match at_once(reader.read_buf(printed)).await {
                    Some(Ok(1..)) if printed.len() < PRINTED_BYTES => {}
                    Some(Ok(1..)) => return Err(ColdStart::Printed),
                    Some(Ok(0)) => {
                        is_closed |= is_output;
                        break;
                    }
                    _ => break,
                }
            }
        }
        if !is_closed {
            return Ok(());
        }
        Err(match tokio::time::timeout(REPORT_TIME, running.control.wait()).await {
            Ok(Ok(exit)) => ColdStart::Ended(exit),
            _ => ColdStart::Closed,
        })
    }

    /// What it has used so far.
    pub(super) fn usage(&self) -> Usage {
        self.running.as_ref().map(|it| it.control.usage()).unwrap_or_default()
    }

    /// Hands it to a call, with what it has used until then.
    pub(super) fn take(mut self, used: Usage, takes_signals: bool) -> Option<Held> {
        let mut running = self.running.take()?;
        if takes_signals {
            // Where its backend holds on to its input, it lets go of it.
            running.control.begin_call();
        }
        let [out, err] = std::mem::take(&mut self.printed);
        for (stream, printed) in [(&mut running.stdout, out), (&mut running.stderr, err)] {
            if !printed.is_empty() {
                *stream = stream.take().map(|rest| Box::new(Printed { printed, rest }) as _);
            }
        }
        Some(Held { running, waited: self.started.elapsed(), used })
    }
}

impl Idle {
    /// Kills it, before its input is closed.
    fn kill(&self) {
        self.watch.stop();
        if let Some(running) = &self.running {
            let _ = running.control.signal(Signal::KILL, Target::Tree);
        }
    }

    /// Ends several at once, and returns when they are gone. One that the system holds on to for longer than [`END_TIME`]
    /// is not waited for.
    pub(super) async fn end(all: Vec<Self>) {
        all.iter().for_each(Self::kill);
        let gone = async {
            for mut idle in all {
                if let Some(running) = &mut idle.running {
                    let _ = running.control.wait().await;
                }
            }
        };
        let _ = tokio::time::timeout(END_TIME, gone).await;
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
        self.kill();
    }
}

/// What a future gives now; `None` where it would wait.
async fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        res = future => Some(res),
        () = std::future::ready(()) => None,
    }
}

/// A stream with what was read of it before the call.
struct Printed {
    printed: BytesMut,
    rest: BoxedReader,
}

impl AsyncRead for Printed {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.printed.is_empty() {
            return Pin::new(&mut self.rest).poll_read(cx, buf);
        }
        let n = self.printed.len().min(buf.remaining());
        buf.put_slice(&self.printed[..n]);
        self.printed.advance(n);
        Poll::Ready(Ok(()))
    }
}
