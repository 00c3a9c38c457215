//! One process for one call.
//!
//! The program reads one request and end of input. Progress is reported as it comes; the answer
//! is looked for once the program has ended, from the end of what it printed. Its exit code and
//! its answer together make the result.

use bytes::Bytes;
use flyto_execenv::{Captured, Ending};
use flyto_program::Ran;
use flyto_tools::{Input, Progress, ToolResult};

use super::{
    frame::{self, Message},
    reply,
};
use crate::result::{self, Declares};

/// How much of stdout is kept in memory at least, and with it the longest answer: 16 MiB, four
/// times what is kept of other programs, as an escaped text can have several times its length.
pub(crate) const LONGEST_REPLY_BYTES: u64 = 16 * 1024 * 1024;

/// What the program reads: the request. No input is an object without members.
/// The id is always 1. The arguments are the text of the input, so that its numbers and the
/// order of its keys arrive as the caller wrote them.
pub(crate) fn request(tool: &str, input: &Input) -> Bytes {
    let args = if input.is_empty() { "{}" } else { input.as_str() };
    let mut res = Vec::new();
    frame::request(&mut res, 1, tool, args);
    res.into()
}

/// What a line of stdout says about the progress of the call.
/// The id is not compared: there is one call.
pub(crate) fn progress(line: &[u8]) -> Option<Progress> {
    match frame::parse(line)? {
        Message::Progress { progress, detail, .. } => Progress::new(progress, detail),
        _ => None,
    }
}

/// The result of the tool `name`.
/// An error that the program answers wins over its exit code, and a failed exit over an answer
/// that is no error, which stands in the text then. Without an answer the exit tells; after exit
/// code 0 that is [`Failure::BadOutput`](flyto_tools::Failure::BadOutput). Removes the file with
/// the whole of stdout once the answer is found.
pub(crate) fn result(name: &str, ran: &Ran, declares: Declares) -> ToolResult {
    let Ending::Exited(_) = ran.outcome.ending else {
        // What it had answered until then may not be all that the call was to do.
        return result::of(name, ran, Declares::Text);
    };
    let stdout = &ran.outcome.stdout;
    let mut res = match (find(stdout), ran.failure()) {
        (Some(Message::Response { outcome, .. }), None) => reply::result(name, outcome, declares),
        (Some(Message::Response { outcome: Err(err), .. }), Some(_)) => {
            reply::result(name, Err(err), declares)
        }
        (Some(Message::Response { outcome: Ok(output), .. }), Some(failure)) => {
            let stderr = ran.failed_stderr().text;
            // The text of a failure may be anything.
            let declares = if declares == Declares::Json { Declares::Text } else { declares };
            let mut res = reply::result(name, Ok(output), declares).with_failure(failure);
            res.output = format!("{}\nstdout: {}\nstderr: {stderr}", ran.exit_text(), res.output);
            res
        }
        (_, Some(_)) => return result::of(name, ran, Declares::Text),
        (found, None) => return no_answer(name, ran, found),
    };
    // The answer is whole; what was printed beside it was left out of every result.
    if let Some(whole) = stdout.whole() {
        let _ = std::fs::remove_file(whole);
    }
    res.execution = Some(ran.execution());
    res
}

/// The answer in what a program printed: the last line that is one.
/// Of output that was not kept whole, the end is searched before the start.
fn find(stdout: &Captured) -> Option<Message> {
    if stdout.is_complete() {
        let bytes = stdout.bytes();
        // Over several lines it is what was meant, where there is nothing beside it.
        return last(&bytes).or_else(|| frame::parse(&bytes).filter(is_answer));
    }
    // What begins before the end of the stream that was kept is cut, and so is what goes on after its
    // start. An answer in between cannot be known of; a program that has answered rarely does so again.
    let is_end = |it: &u8| *it == b'\n';
    let of_tail = stdout.tail.iter().position(is_end).and_then(|it| last(&stdout.tail[it + 1..]));
    let of_head = || stdout.head.iter().rposition(is_end).and_then(|it| last(&stdout.head[..it]));
    of_tail.or_else(of_head)
}

/// The last line of `bytes` that is an answer.
fn last(bytes: &[u8]) -> Option<Message> {
    bytes.rsplit(|it| *it == b'\n').filter_map(frame::parse).find(is_answer)
}

/// Whether a message ends the call: an answer, in order or not. Progress does not.
fn is_answer(message: &Message) -> bool {
    match message {
        Message::Response { .. } | Message::Malformed { .. } => true,
        Message::Progress { .. } => false,
    }
}

/// The result of a program that ended as it should and said nothing that can be used.
/// It says, as far as it can: what is wrong with the answer, that stdout was too long, or that
/// it holds something near to an answer.
fn no_answer(name: &str, ran: &Ran, found: Option<Message>) -> ToolResult {
    let (stdout, stderr) = (ran.failed_stdout(), ran.failed_stderr());
    let n_bytes = ran.outcome.stdout.total_bytes;
    let why = match (found, &stdout.omitted) {
        (Some(Message::Malformed { why, .. }), _) => why,
        (_, Some(omitted)) => {
            let longest = LONGEST_REPLY_BYTES;
            let what = format!("stdout has {n_bytes} bytes, and an answer at most {longest}");
            match &omitted.whole {
                Some(whole) => format!("{what}; all of it is in {whole}"),
                None => what,
            }
        }
        (_, None) => match frame::near_miss(&ran.outcome.stdout.bytes()) {
            Some(near) => format!("no JSON-RPC response on stdout: {near}"),
            None => "no JSON-RPC response on stdout".to_owned(),
        },
    };
    let why = format!("{why}\nstdout: {}\nstderr: {}", stdout.text, stderr.text);
    let mut res = reply::bad(name, &why);
    res.raw = stdout.raw;
    res.omitted = stdout.omitted.or(stderr.omitted);
    res.execution = Some(ran.execution());
    res
}
