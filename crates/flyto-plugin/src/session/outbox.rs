//! What is being written to a process.
//!
//! A request counts as seen by the process once its first byte was written. That is the line
//! between calls that a crash fails and calls that the next process gets.

use super::state::{Request, SessionState};
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
    ///
    /// Ascending, as many as there are requests.
    starts: Vec<usize>,
    /// Scratch.
    ///
    /// Kept for its memory; empty between two fills.
    cancels: Vec<u64>,
}

impl Outbox {
    /// Whether there is nothing left to write.
    pub(super) fn is_written(&self) -> bool {
        self.written == self.bytes.len()
    }

    /// What is left to write; it stays in place until [`advance`](Self::advance).
    pub(super) fn rest(&self) -> &[u8] {
        &self.bytes[self.written..]
    }

    /// Notes that `n` bytes were written. After the last one the requests are dropped, and with
    /// them their room in the queue.
    pub(super) fn advance(&mut self, n: usize) {
        self.written += n;
        if self.is_written() {
            self.clear();
        }
    }

    /// Takes what is queued, once everything before is written.
    /// Not to be called before [`is_written`](Self::is_written): what is left would be lost.
    pub(super) fn fill(&mut self, shared: &SessionState) {
        self.clear();
        let ping = shared.take(WRITE_BYTES, &mut self.requests, &mut self.cancels);
        // What is cancelled was asked in an earlier write, and what is asked now may depend on it.
        for id in self.cancels.drain(..) {
            frame::cancel(&mut self.bytes, id);
        }
        if let Some(id) = ping {
            frame::ping(&mut self.bytes, id);
        }
        for request in &self.requests {
            self.starts.push(self.bytes.len());
            frame::request(&mut self.bytes, request.id, &request.tool, &request.args);
        }
    }

    /// Adds which calls are cancelled, and nothing that asks for an answer: the last that the process is told.
    pub(super) fn fill_last(&mut self, shared: &SessionState) {
        if self.is_written() {
            self.clear();
        }
        shared.take(0, &mut self.requests, &mut self.cancels);
        for id in self.cancels.drain(..) {
            frame::cancel(&mut self.bytes, id);
        }
    }

    /// The requests of which not one byte was written.
    /// They may be sent to another process: none of them can have had an effect.
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

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use flyto_execenv::{ExecEnv, local::Local};
    use flyto_tools::Failure;

    use super::*;
    use crate::session::{
        Sessions,
        answer::{Answer, NoProcess, ProcessExit},
        pending::Pending,
        tail::Tail,
    };

    fn crash() -> Arc<ProcessExit> {
        Arc::new(ProcessExit {
            why: "the session ended: exit code 1".to_owned(),
            failure: Failure::exit_code(1),
            stdout: Tail::default(),
            stderr: Tail::default(),
            was_asked_for: false,
            is_failure: true,
            is_confirmed: true,
            execution: None,
        })
    }

    /// No task is started, so no process is.
    #[tokio::test]
    async fn what_was_written_is_never_repeated_and_what_was_not_is_tried_once_more() {
        let launch = Box::new(|| Err(NoProcess::Closed));
        let env = ExecEnv::new(Local::new());
        let shared =
            Arc::new(SessionState::new(env, Sessions::new(), Duration::from_secs(60), launch));
        let ask = |tool: &str| -> Pending {
            let room = shared.try_room(100).expect("there is room");
            let (time, args) = (Duration::from_secs(1), "{}".into());
            let queued = shared.enqueue(time, tool.into(), args, room, false);
            Pending::new(Arc::clone(&shared), queued)
        };
        let (mut whole, mut begun, mut unseen) = (ask("whole"), ask("begun"), ask("unseen"));
        let taken_back = ask("taken_back");

        let mut outbox = Outbox::default();
        outbox.fill(&shared);
        assert_eq!(outbox.rest().iter().filter(|it| **it == b'\n').count(), 4);
        let first = outbox.rest().iter().position(|it| *it == b'\n').expect("a line") + 1;
        // All of the first and one byte of the second.
        outbox.advance(first);
        outbox.advance(1);
        drop(taken_back);
        shared.fail_in_flight(&crash(), outbox.unseen());
        for it in [&mut whole, &mut begun] {
            assert!(matches!(it.answer(|_| {}).await.0, Answer::Died(_)));
        }

        // The next process dies before it reads, too.
        let mut outbox = Outbox::default();
        outbox.fill(&shared);
        let line = String::from_utf8_lossy(outbox.rest()).into_owned();
        assert!(line.contains(r#""id":3,"#) && line.lines().count() == 1, "{line}");
        shared.fail_in_flight(&crash(), outbox.unseen());
        assert!(matches!(unseen.answer(|_| {}).await.0, Answer::Died(_)));
    }
}
