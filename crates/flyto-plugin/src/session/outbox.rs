//! What is being written to a process.

use super::shared::{Request, Shared};
use crate::rpc::frame;

/// Requests are gathered into writes of about this size: 64 KiB, what a pipe holds by default
/// (pipe(7)).
const WRITE_BYTES: usize = 64 * 1024;

/// A buffer beyond this size is given back once it is written.
const LARGE_BUFFER_BYTES: usize = 1024 * 1024;

/// Messages on their way, and which requests they are.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    bytes: Vec<u8>,
    written: usize,
    /// The requests in `bytes`, in their order.
    requests: Vec<Request>,
    /// Where each of them starts.
    starts: Vec<usize>,
    /// Scratch.
    cancels: Vec<u64>,
}

impl Outbox {
    pub(super) fn is_written(&self) -> bool {
        self.written == self.bytes.len()
    }

    pub(super) fn rest(&self) -> &[u8] {
        &self.bytes[self.written..]
    }

    pub(super) fn advance(&mut self, n: usize) {
        self.written += n;
        if self.is_written() {
            self.clear();
        }
    }

    /// Takes what is queued, once everything before is written.
    pub(super) fn fill(&mut self, shared: &Shared) {
        self.clear();
        shared.take(WRITE_BYTES, &mut self.requests, &mut self.cancels);
        // What is cancelled was asked in an earlier write, and what is asked now may depend on it.
        for id in self.cancels.drain(..) {
            frame::cancel(&mut self.bytes, id);
        }
        for request in &self.requests {
            self.starts.push(self.bytes.len());
            frame::request(&mut self.bytes, request.id, &request.tool, &request.args);
        }
    }

    /// The requests of which not one byte was written.
    pub(super) fn unseen(mut self) -> Vec<Request> {
        let seen = self.starts.partition_point(|it| *it < self.written);
        self.requests.split_off(seen)
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(LARGE_BUFFER_BYTES);
        self.written = 0;
        // Their places in the queue are free now.
        self.requests.clear();
        self.starts.clear();
    }
}
