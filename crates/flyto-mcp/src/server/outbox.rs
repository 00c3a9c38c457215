//! What goes to the peer: a bounded queue, and the thread that writes it.

use std::{
    io::{self, Write},
    thread,
};

use serde::Serialize;
use tokio::sync::{mpsc, oneshot};

/// Messages that wait to be written, at most. A peer that does not read delays what would queue another one.
const MAX_QUEUED: usize = 64;
/// Bytes that are written at once where so many wait: the capacity of a pipe on Linux, pipe(7).
const WRITE_BYTES: usize = 64 * 1024;

/// The way to the peer. Cloning is cheap; the thread that writes ends with the last clone, once all is written.
#[derive(Debug, Clone)]
pub(crate) struct Outbox(mpsc::Sender<Vec<u8>>);

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
        let (sender, receiver) = mpsc::channel(MAX_QUEUED);
        let (ended, has_ended) = oneshot::channel();
        thread::Builder::new().name("mcp-writer".to_owned()).spawn(move || {
            let _ = ended.send(write(receiver, writer));
        })?;
        Ok((Self(sender), has_ended))
    }

    /// A queue whose messages the caller of this takes out.
    pub(crate) fn channel() -> (Self, mpsc::Receiver<Vec<u8>>) {
        let (sender, receiver) = mpsc::channel(MAX_QUEUED);
        (Self(sender), receiver)
    }

    /// Queues a sign of life, which is an empty message, where there is room.
    pub(crate) fn keep_alive(&self) {
        let _ = self.0.try_send(Vec::new());
    }

    /// Queues a message, once there is room.
    ///
    /// # Errors
    ///
    /// The peer has gone.
    pub(crate) async fn send(&self, message: &impl Serialize) -> Result<(), Gone> {
        self.0.send(bytes(message)).await.map_err(|_| Gone)
    }

    /// Queues a message where there is room, else drops it: for what the next one repeats.
    pub(crate) fn offer(&self, message: &impl Serialize) {
        if let Ok(permit) = self.0.try_reserve() {
            permit.send(bytes(message));
        }
    }

    /// Waits until the peer does not read any more.
    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }
}

fn bytes(message: &impl Serialize) -> Vec<u8> {
    // The messages of this crate have texts for keys, which is all that can go wrong.
    serde_json::to_vec(message).unwrap_or_default()
}

/// Writes until no sender is left, several short messages at once where they wait.
fn write(mut messages: mpsc::Receiver<Vec<u8>>, mut writer: impl Write) -> io::Result<()> {
    while let Some(mut lines) = messages.blocking_recv() {
        lines.push(b'\n');
        while lines.len() < WRITE_BYTES
            && let Ok(next) = messages.try_recv()
        {
            lines.extend_from_slice(&next);
            lines.push(b'\n');
        }
        writer.write_all(&lines)?;
        writer.flush()?;
    }
    Ok(())
}
