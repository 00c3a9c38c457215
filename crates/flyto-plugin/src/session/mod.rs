//! Plugins whose process stays: all their tools share it, and calls do not wait for each other.
//!
//! A [`Session`] is in the hands of its tools. The first call starts a task, which starts the process,
//! writes requests, hears answers, and ends when the process has ended and no caller waits for another.
//! Callers and task meet in the [`state`]: a caller leaves a request there and waits for its answer with
//! a clock of its own, so that no caller holds up another, and a call that is no longer waited for is
//! cancelled.
//!
//! The files are a tree: launch, handle, worker, link, outbox and response_reader, pending, state,
//! reply, answer, and what these are made of. Each knows files behind it in this row only.
//!
//! Bounds: the queue holds 1 MiB of requests, a line of an answer has 16 MiB, and 8 KiB of the
//! end of each stream are kept for failures. Where a bound is met, callers wait within their own
//! time, a line fails its call, or the process is ended.

mod answer; //          what becomes of a call, and its words
mod handle; //          what a tool holds, and one call of it
mod id; //              the id of a message of which only the start is there
mod ids; //             a table by call ids
mod launch; //          what the process is, and which tools share one
mod lines; //           a stream of bytes as lines
mod link; //            the streams of one process, and what is said over them
mod outbox; //          what is being written to a process
mod pending; //         a call that waits for its reply
mod reply; //           what passes from the task to a caller
mod response_reader; // what the lines of a process mean
mod sessions; //        all sessions of a host
mod silence; //         a plugin that says nothing after a deadline
mod state; //           what callers and the task know of each other
mod tail; //            the end of a stream, for messages
mod worker; //          the task that looks after a session

#[cfg(test)]
mod tests;

pub use self::sessions::Sessions;
pub(crate) use self::{
    handle::{Request, Session},
    launch::{of, share},
};
