//! Output as lines while it comes, and the progress that is among them.

use std::collections::VecDeque;

use flyto_execenv::{Capture, Captured, Chunk, Stream};
use flyto_tools::{CallContext, OutputChannel, Progress};

use crate::call::Streaming;

/// A line longer than this, with its newline, is shown in pieces, so that a program without newlines cannot fill
/// memory: 64 KiB, what one read brings. It tells of no progress.
const LONGEST_LINE_BYTES: usize = 64 * 1024;

/// What a line of stderr starts with when it tells of progress.
const PROGRESS: &[u8] = b"::progress ";

/// Shows whole lines to the listeners of a call.
pub(crate) struct Shown<'a> {
    ctx: &'a CallContext,
    streaming: Streaming,
    stdout: Vec<u8>,
    stderr: StderrLines,
    /// What is kept of stderr.
    kept: KeptStderr,
    /// Whether the line of stdout that is coming in is too long to be a message about progress.
    skipping: bool,
}

impl<'a> Shown<'a> {
    /// Keeps of stderr what `kept` has room for.
    pub(crate) fn new(ctx: &'a CallContext, streaming: Streaming, kept: KeptStderr) -> Self {
        let stderr = StderrLines::default();
        Self { ctx, streaming, stdout: Vec::new(), stderr, kept, skipping: false }
    }

    pub(crate) fn take(&mut self, chunk: &Chunk) {
        match (chunk.stream, self.streaming) {
            // As it comes: the tool gives no meaning to its lines.
            (Stream::Stderr, _) if !self.streaming.shows_stderr() => {
                return self.pass_on(OutputChannel::Error, &chunk.bytes);
            }
            (_, Streaming::Quiet) => return self.pass_on(OutputChannel::Output, &chunk.bytes),
            (Stream::Stderr, _) => return self.take_stderr(&chunk.bytes),
            (_, Streaming::Messages { progress, .. }) => {
                return self.take_messages(&chunk.bytes, progress);
            }
            _ => {}
        }
        let pending = &mut self.stdout;
        pending.extend_from_slice(&chunk.bytes);
        let complete = match pending.iter().rposition(|it| *it == b'\n') {
            Some(at) => at + 1,
            None if pending.len() >= LONGEST_LINE_BYTES => pending.len(),
            None => return,
        };
        let lines: Vec<u8> = pending.drain(..complete).collect();
        self.ctx.emit(OutputChannel::Output, &lines);
    }

    fn pass_on(&self, channel: OutputChannel, bytes: &[u8]) {
        if self.ctx.wants_all_output() {
            self.ctx.emit(channel, bytes);
        }
    }

    fn take_stderr(&mut self, bytes: &[u8]) {
        let Self { ctx, stderr, kept, .. } = self;
        kept.n_seen += bytes.len() as u64;
        stderr.take(bytes, |line| show(ctx, kept, line));
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

    /// Shows what came without a newline at the end, and gives what is kept of stderr.
    pub(crate) fn finish(mut self) -> KeptStderr {
        if !matches!(self.streaming, Streaming::Messages { .. }) && !self.stdout.is_empty() {
            self.ctx.emit(OutputChannel::Output, &self.stdout);
        }
        // Not that of what is kept, to which more may come.
        let mut last = self.stderr.clone();
        last.finish(|line| show_only(self.ctx, line));
        self.kept.lines = self.stderr;
        self.kept
    }
}

/// A part of stderr.
enum StderrLine<'a> {
    Progress(Progress),
    /// A line, or a piece of one that is too long.
    Text(&'a [u8]),
}

fn show_only(ctx: &CallContext, line: StderrLine<'_>) {
    match line {
        StderrLine::Progress(it) => ctx.report(it.progress(), it.detail()),
        StderrLine::Text(text) => ctx.emit(OutputChannel::Error, text),
    }
}

fn show(ctx: &CallContext, kept: &mut KeptStderr, line: StderrLine<'_>) {
    if let StderrLine::Text(text) = line {
        kept.keep(text);
    }
    show_only(ctx, line);
}

/// Splits stderr into lines, however it comes in pieces.
#[derive(Clone, Debug, Default)]
struct StderrLines {
    pending: Vec<u8>,
    /// The line that is coming in is too long, and its first piece was handed on.
    in_long_line: bool,
}

impl StderrLines {
    fn take(&mut self, bytes: &[u8], mut each: impl FnMut(StderrLine<'_>)) {
        for mut piece in bytes.split_inclusive(|it| *it == b'\n') {
            while !piece.is_empty() {
                let room = LONGEST_LINE_BYTES - self.pending.len();
                let (now, rest) = piece.split_at(piece.len().min(room));
                self.pending.extend_from_slice(now);
                piece = rest;
                let is_end = now.ends_with(b"\n");
                if is_end || self.pending.len() == LONGEST_LINE_BYTES {
                    self.hand_on(is_end, &mut each);
                }
            }
        }
    }

    /// Hands on what came without a newline at the end.
    fn finish(&mut self, mut each: impl FnMut(StderrLine<'_>)) {
        if !self.pending.is_empty() {
            self.hand_on(true, &mut each);
        }
    }

    fn hand_on(&mut self, is_end: bool, each: &mut impl FnMut(StderrLine<'_>)) {
        let is_line = is_end && !self.in_long_line;
        let progress = is_line.then(|| parse_progress(&self.pending)).flatten();
        each(progress.map_or(StderrLine::Text(&self.pending), StderrLine::Progress));
        self.pending.clear();
        self.in_long_line = !is_end;
    }
}

/// Stderr without the lines that tell of progress: its start and its end, as the
/// [capture](Capture) of the program keeps those of the whole.
#[derive(Debug)]
pub(crate) struct KeptStderr {
    head: Vec<u8>,
    head_bytes: usize,
    tail: VecDeque<u8>,
    tail_bytes: usize,
    total_bytes: u64,
    /// How many bytes of stderr came by, those about progress included.
    n_seen: u64,
    /// The line that is coming in.
    lines: StderrLines,
}

impl KeptStderr {
    pub(crate) fn new(capture: &Capture) -> Self {
        let (head, tail) = capture.kept_bytes();
        let bytes = |it| usize::try_from(it).unwrap_or(usize::MAX);
        Self {
            head: Vec::new(),
            head_bytes: bytes(head),
            tail: VecDeque::new(),
            tail_bytes: bytes(tail),
            total_bytes: 0,
            n_seen: 0,
            lines: StderrLines::default(),
        }
    }

    fn keep(&mut self, text: &[u8]) {
        self.total_bytes += text.len() as u64;
        let (start, rest) = text.split_at(text.len().min(self.head_bytes - self.head.len()));
        self.head.extend_from_slice(start);
        let rest = &rest[rest.len().saturating_sub(self.tail_bytes)..];
        let n_over = (self.tail.len() + rest.len()).saturating_sub(self.tail_bytes);
        self.tail.drain(..n_over);
        self.tail.extend(rest);
    }

    /// Puts what is kept in place of what was captured. `captured` has what the program printed while it was being
    /// ended as well, which was not shown.
    pub(crate) fn replace(mut self, captured: &mut Captured) {
        let n_unseen = captured.total_bytes.saturating_sub(self.n_seen);
        let end: Vec<u8> = captured.head.iter().chain(&captured.tail).copied().collect();
        let n_there = usize::try_from(n_unseen).unwrap_or(usize::MAX).min(end.len());
        let mut lines = std::mem::take(&mut self.lines);
        if n_unseen > n_there as u64 {
            // Between the two there is a gap, so the start ends before it.
            lines.finish(|line| self.keep_line(line));
            self.head_bytes = self.head.len();
            self.tail.clear();
            self.total_bytes += n_unseen - n_there as u64;
        }
        lines.take(&end[end.len() - n_there..], |line| self.keep_line(line));
        lines.finish(|line| self.keep_line(line));
        captured.head = self.head;
        captured.tail = self.tail.into();
        captured.total_bytes = self.total_bytes;
    }

    fn keep_line(&mut self, line: StderrLine<'_>) {
        if let StderrLine::Text(text) = line {
            self.keep(text);
        }
    }
}

/// Reads a line `::progress 0.4 text`: a share of the whole from 0 to 1, then optional words.
///
/// `None` for every other line, among them one whose share is no finite number. A call also takes a line of more than
/// 64 KiB as text.
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
    let mut res = Vec::with_capacity(bytes.len());
    let mut lines = StderrLines::default();
    let mut keep = |line: StderrLine<'_>| {
        if let StderrLine::Text(text) = line {
            res.extend_from_slice(text);
        }
    };
    lines.take(bytes, &mut keep);
    lines.finish(keep);
    res
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

    /// Stderr as it is kept where it comes in pieces of `n` bytes.
    fn kept(text: &[u8], limit: u64, n: usize) -> Captured {
        let ctx = CallContext::new();
        let mut shown = Shown::new(&ctx, Streaming::Lines, KeptStderr::new(&Capture::limit(limit)));
        text.chunks(n).for_each(|it| shown.take_stderr(it));
        let mut captured = Captured::complete(text);
        shown.finish().replace(&mut captured);
        captured
    }

    #[test]
    fn progress_leaves_before_the_middle_is_omitted() {
        let text: String =
            (0..1_000).map(|it| format!("line {it}\n::progress 0.5 step {it}\n")).collect();
        let whole: String = (0..1_000).map(|it| format!("line {it}\n")).collect();
        for n in [1, 7, 100, 1 << 20] {
            let kept = kept(text.as_bytes(), 100, n);
            assert_eq!(kept.head, &whole.as_bytes()[..50]);
            assert_eq!(kept.tail, &whole.as_bytes()[whole.len() - 50..]);
            assert_eq!(kept.total_bytes, whole.len() as u64);
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_text() {
        for n_over in [0, 1, LONGEST_LINE_BYTES] {
            let detail = "y".repeat(LONGEST_LINE_BYTES - "::progress 0.5 \n".len() + n_over);
            let long = format!("::progress 0.5 {detail}\n");
            let text = format!("{long}::progress 0.6\nend");
            let expect = if n_over == 0 { "end".to_owned() } else { long + "end" };
            for n in [1, 4096, LONGEST_LINE_BYTES, 1 << 20] {
                assert!(
                    kept(text.as_bytes(), 1 << 20, n).head == expect.as_bytes(),
                    "{n_over} {n}"
                );
            }
            assert!(without_progress(text.as_bytes()) == expect.as_bytes());
        }
    }

    /// What a program prints while it is being ended was captured and not shown.
    #[test]
    fn the_end_that_was_not_shown_is_kept() {
        let ctx = CallContext::new();
        let mut shown = Shown::new(&ctx, Streaming::Lines, KeptStderr::new(&Capture::limit(100)));
        shown.take_stderr(b"a\n::progress 0.5 be");
        let mut captured = Captured::complete("a\n::progress 0.5 begun\nend\n");
        shown.finish().replace(&mut captured);
        assert_eq!(captured.head, b"a\nend\n");
        assert_eq!(captured.total_bytes, 6);
    }
}
