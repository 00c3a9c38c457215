//! What the lines of a process mean.
//!
//! Each line is an answer, progress, or noise. Answers are gathered, so that those of one read
//! are given out under one lock.

use super::{answer::Answer, id::id_near_start, lines::Line, reply::Progress, state::SessionState};
use crate::rpc::frame::{self, Id, Message};

/// Takes in the lines of stdout.
/// The link takes `answers` and `lost_thread` after each read.
#[derive(Debug, Default)]
pub(super) struct ResponseReader {
    /// Answers that no caller was given yet.
    pub(super) answers: Vec<(u64, Answer)>,
    /// Why it is not known any more whose answers are still to come.
    pub(super) lost_thread: Option<String>,
}

impl ResponseReader {
    /// Takes one line in. A line that is too long fails the call whose id its start has, or the
    /// only call in flight; without either the process has to be ended.
    pub(super) fn take(&mut self, shared: &SessionState, line: Line<'_>) {
        match line {
            Line::Whole(line) => match frame::parse(line) {
                Some(Message::Response { id: Id::Number(id), outcome }) => {
                    self.answers.push((id, Answer::Reply(outcome)));
                }
                Some(Message::Malformed { id: Id::Number(id), why }) => {
                    self.answers.push((id, Answer::Malformed(why)));
                }
                Some(Message::Progress { id: Id::Number(id), progress, detail }) => {
                    shared.progress(id, Progress { progress, detail });
                }
                // Without an id there is no caller that it answers.
                _ => keep(shared, line),
            },
            Line::TooLong { start, .. } if !start.trim_ascii_start().starts_with(b"{") => {
                keep(shared, start);
            }
            Line::TooLong { start, bytes } => {
                match id_near_start(start).or_else(|| shared.only_written()) {
                    Some(id) => self.answers.push((id, Answer::TooLong { bytes })),
                    None => {
                        let why =
                            "a line of stdout that does not say near its start whose answer it is";
                        self.lost_thread = Some(format!("it sent {bytes} bytes in {why}"));
                    }
                }
            }
        }
    }
}

/// Keeps what was no message.
/// It stands in the failures of the calls that were in flight then.
fn keep(shared: &SessionState, line: &[u8]) {
    let mut noise = shared.noise();
    noise.push(line);
    noise.push(b"\n");
}
