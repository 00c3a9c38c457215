//! Output as lines while it comes, and the progress that is among them.

use flyto_execenv::{Chunk, Stream};
use flyto_tools::{CallContext, OutputChannel, Progress};

use crate::call::Streaming;

/// A line longer than this is shown in pieces, so that a program without newlines cannot fill
/// memory: 64 KiB, what one read brings.
const LONGEST_LINE_BYTES: usize = 64 * 1024;

/// What a line of stderr starts with when it tells of progress.
const PROGRESS: &[u8] = b"::progress ";

/// Shows whole lines to the listeners of a call.
pub(crate) struct Shown<'a> {
    ctx: &'a CallContext,
    streaming: Streaming,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// Whether the line of stdout that is coming in is too long to be a message about progress.
    skipping: bool,
}

impl<'a> Shown<'a> {
    pub(crate) fn new(ctx: &'a CallContext, streaming: Streaming) -> Self {
        Self { ctx, streaming, stdout: Vec::new(), stderr: Vec::new(), skipping: false }
    }

    pub(crate) fn take(&mut self, chunk: &Chunk) {
        let pending = match (chunk.stream, self.streaming) {
            (Stream::Stderr, _) if !self.streaming.shows_stderr() => return,
            (Stream::Stderr, _) => &mut self.stderr,
            (_, Streaming::Messages { progress, .. }) => {
                return self.take_messages(&chunk.bytes, progress);
            }
            _ => &mut self.stdout,
        };
        pending.extend_from_slice(&chunk.bytes);
        let complete = match pending.iter().rposition(|it| *it == b'\n') {
            Some(at) => at + 1,
            None if pending.len() >= LONGEST_LINE_BYTES => pending.len(),
            None => return,
        };
        let lines: Vec<u8> = pending.drain(..complete).collect();
        self.show(chunk.stream, &lines);
    }

    /// Looks for progress in whole lines. A line without an end is an answer, if anything.
    fn take_messages(&mut self, bytes: &[u8], progress: fn(&[u8]) -> Option<Progress>) {
        for piece in bytes.split_inclusive(|it| *it == b'\n') {
            if self.stdout.len() + piece.len() > LONGEST_LINE_BYTES {
                self.skipping = true;
                self.stdout.clear();
            }
            if !self.skipping {
                self.stdout.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                if let Some(it) = progress(&self.stdout) {
                    self.ctx.report(it.progress(), it.detail());
                }
                self.stdout.clear();
                self.skipping = false;
            }
        }
    }

    /// Shows what came without a newline at the end.
    pub(crate) fn finish(mut self) {
        let (stdout, stderr) = (std::mem::take(&mut self.stdout), std::mem::take(&mut self.stderr));
        if !matches!(self.streaming, Streaming::Messages { .. }) {
            self.show(Stream::Stdout, &stdout);
        }
        self.show(Stream::Stderr, &stderr);
    }

    fn show(&self, stream: Stream, lines: &[u8]) {
        if stream != Stream::Stderr {
            if !lines.is_empty() {
                self.ctx.emit(OutputChannel::Output, lines);
            }
            return;
        }
        for line in lines.split_inclusive(|it| *it == b'\n') {
            match parse_progress(line) {
                Some(progress) => self.ctx.report(progress.progress(), progress.detail()),
                None => self.ctx.emit(OutputChannel::Error, line),
            }
        }
    }
}

/// Reads a line `::progress 0.4 text`: a share of the whole from 0 to 1, then optional words.
///
/// `None` for every other line, among them one whose share is no finite number.
///
/// ```
/// use flyto_program::parse_progress;
///
/// let progress = parse_progress(b"::progress 0.4 reading\n").expect("a line of this form");
/// assert_eq!((progress.progress(), progress.detail()), (0.4, "reading"));
/// assert!(parse_progress(b"progress: 40 %\n").is_none());
/// ```
#[must_use]
pub fn parse_progress(line: &[u8]) -> Option<Progress> {
    let rest = std::str::from_utf8(line.strip_prefix(PROGRESS)?).ok()?.trim();
    let (share, detail) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    // The forms `inf` and `nan`, which parse as numbers, are no share of anything.
    let share = share.parse().ok().filter(|it: &f64| it.is_finite())?;
    Progress::new(share, detail.trim_start())
}

/// `bytes` without the lines that tell of progress. The other lines stay as they are, byte for byte.
///
/// ```
/// use flyto_program::without_progress;
///
/// assert_eq!(without_progress(b"a\n::progress 0.5\nb"), b"a\nb");
/// ```
#[must_use]
pub fn without_progress(bytes: &[u8]) -> Vec<u8> {
    bytes
        .split_inclusive(|it| *it == b'\n')
        .filter(|line| parse_progress(line).is_none())
        .flatten()
        .copied()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expect: Option<&str>) {
        assert_eq!(parse_progress(line.as_bytes()).map(|it| it.to_string()).as_deref(), expect);
    }

    #[test]
    fn progress_lines() {
        check("::progress 0.4 reading\n", Some("40% reading"));
        check("::progress 1\r\n", Some("100%"));
        check("::progress  0.5   two  words ", Some("50% two  words"));
        check("::progress 7 x", Some("100% x"));
        for other in [
            "::progress",
            "::progress x",
            "::progress nan",
            "::progress inf",
            " ::progress 1",
            "::progressing 0.4",
        ] {
            check(other, None);
        }
    }

    #[test]
    fn only_progress_leaves() {
        let kept = without_progress(b"a\n::progress 0.4 b\n::progress x\nc");
        assert_eq!(kept, b"a\n::progress x\nc");
    }
}
