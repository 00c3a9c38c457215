//! What goes to the peer: a queue with a bound on its messages and on their bytes, and the thread or task that writes it.

use std::{
    io::{self, Write},
    sync::Arc,
    thread,
};

use serde::Serialize;
#[cfg(unix)]
use tokio::io::{Interest, unix::AsyncFd};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

#[cfg(unix)]
use super::no_wait::{self, NoWait};

/// Messages that wait to be written, at most. A peer that does not read delays what would queue another one.
const MAX_QUEUED: usize = 64;
/// Bytes of the messages that wait to be written, at most: 4 MiB. A longer message takes all of the room.
const MAX_QUEUED_BYTES: u32 = 4 * 1024 * 1024;
/// Bytes that are written at once where so many wait: the capacity of a pipe on Linux, pipe(7).
const WRITE_BYTES: usize = 64 * 1024;

/// The way to the peer. Cloning is cheap; what writes it ends with the last clone, once all is written.
#[derive(Debug, Clone)]
pub(crate) struct Outbox {
    queue: mpsc::Sender<Queued>,
    /// A permit for each byte that may still be queued.
    room: Arc<Semaphore>,
}

/// A message that waits to be written, and its part of the room, which is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Queued {
    pub(crate) bytes: Vec<u8>,
    room: OwnedSemaphorePermit,
}

/// The peer does not read any more.
#[derive(Debug)]
pub(crate) struct Gone;

impl Outbox {
    /// Starts the thread that writes one message a line. Its end is told by the receiver: whether all was written.
    ///
    /// # Errors
    ///
    /// The system has no thread left.
    pub(crate) fn start(
        writer: impl Write + Send + 'static,
    ) -> io::Result<(Self, oneshot::Receiver<io::Result<()>>)> {
        let (outbox, receiver) = Self::channel();
        let (ended, has_ended) = oneshot::channel();
        thread::Builder::new().name("mcp-writer".to_owned()).spawn(move || {
            let _ = ended.send(write(receiver, writer));
        })?;
        Ok((outbox, has_ended))
    }

    /// The same with a task in place of the thread, for a stream that never waits. The task ends with the receiver, too.
    ///
    /// # Errors
    ///
    /// The system does not watch the stream (epoll_ctl(2)).
    ///
    /// # Panics
    ///
    /// There is no runtime with I/O around this.
    #[cfg(unix)]
    pub(crate) fn start_polled(
        stream: NoWait,
    ) -> io::Result<(Self, oneshot::Receiver<io::Result<()>>)> {
        let stream = no_wait::watch(stream, Interest::WRITABLE)?;
        let (outbox, receiver) = Self::channel();
        let (mut ended, has_ended) = oneshot::channel();
        tokio::spawn(async move {
            let written = tokio::select! {
                written = write_polled(receiver, stream) => written,
                () = ended.closed() => return,
            };
            let _ = ended.send(written);
        });
        Ok((outbox, has_ended))
    }

    /// A queue whose messages the caller of this takes out.
    pub(crate) fn channel() -> (Self, mpsc::Receiver<Queued>) {
        let (queue, receiver) = mpsc::channel(MAX_QUEUED);
        let room = Arc::new(Semaphore::new(MAX_QUEUED_BYTES as usize));
        (Self { queue, room }, receiver)
    }

    /// Queues a sign of life, which is an empty message, where there is room.
    pub(crate) fn keep_alive(&self) {
        self.try_queue(Vec::new());
    }

    /// Queues a message, once there is room.
    ///
    /// # Errors
    ///
    /// The peer has gone.
    pub(crate) async fn send(&self, message: &impl Serialize) -> Result<(), Gone> {
        let bytes = bytes(message);
        // What waits gives its room back when it was written, and when the receiver is dropped.
        let room = Arc::clone(&self.room).acquire_many_owned(size(&bytes)).await;
        let queued = Queued { bytes, room: room.map_err(|_| Gone)? };
        self.queue.send(queued).await.map_err(|_| Gone)
    }

    /// Queues a message where there is room, else drops it: for what the next one repeats.
    pub(crate) fn offer(&self, message: &impl Serialize) {
        if self.queue.capacity() > 0 {
            self.try_queue(bytes(message));
        }
    }

    fn try_queue(&self, bytes: Vec<u8>) {
        if let Ok(room) = Arc::clone(&self.room).try_acquire_many_owned(size(&bytes)) {
            let _ = self.queue.try_send(Queued { bytes, room });
        }
    }

    /// Waits until the peer does not read any more.
    pub(crate) async fn closed(&self) {
        self.queue.closed().await;
    }
}

/// How much of the room a message takes.
fn size(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).map_or(MAX_QUEUED_BYTES, |it| it.min(MAX_QUEUED_BYTES))
}

fn bytes(message: &impl Serialize) -> Vec<u8> {
    // The messages of this crate have texts for keys, which is all that can go wrong.
    serde_json::to_vec(message).unwrap_or_default()
}

/// Writes until no sender is left.
fn write(mut messages: mpsc::Receiver<Queued>, mut writer: impl Write) -> io::Result<()> {
    while let Some(first) = messages.blocking_recv() {
        let round = Round::of(first, &mut messages);
        writer.write_all(&round.lines)?;
        writer.flush()?;
    }
    Ok(())
}

/// The same in a task.
#[cfg(unix)]
async fn write_polled(
    mut messages: mpsc::Receiver<Queued>,
    mut stream: AsyncFd<NoWait>,
) -> io::Result<()> {
    while let Some(first) = messages.recv().await {
        let round = Round::of(first, &mut messages);
        let mut rest = &round.lines[..];
        while !rest.is_empty() {
            match stream.async_io_mut(Interest::WRITABLE, |it| it.write(rest)).await {
                Ok(n) => rest = &rest[n..],
                Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
                Err(err) => return Err(err),
            }
        }
    }
    Ok(())
}

/// What is written at once: several short messages where they wait.
struct Round {
    lines: Vec<u8>,
    /// Those messages give their room back once this is dropped.
    _rooms: Vec<OwnedSemaphorePermit>,
}

impl Round {
    /// With `first`, and with those behind it that are there.
    fn of(first: Queued, messages: &mut mpsc::Receiver<Queued>) -> Self {
        let (mut lines, mut rooms) = (first.bytes, vec![first.room]);
        lines.push(b'\n');
        while lines.len() < WRITE_BYTES
            && let Ok(next) = messages.try_recv()
        {
            lines.extend_from_slice(&next.bytes);
            lines.push(b'\n');
            rooms.push(next.room);
        }
        Self { lines, _rooms: rooms }
    }
}
