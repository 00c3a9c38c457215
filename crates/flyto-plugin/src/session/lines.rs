//! A stream of bytes as lines.

use memchr::memchr;

use crate::rpc::call::LONGEST_REPLY_BYTES;

/// The longest line that is a message: 16 MiB. What is longer fails its call; see [`Line::TooLong`].
pub(super) const LONGEST_LINE_BYTES: usize = LONGEST_REPLY_BYTES as usize;

/// Room for each read: 64 KiB, what a pipe holds by default (pipe(7)).
const READ_BYTES: usize = 64 * 1024;

/// Of a line that is too long, this much of its start is kept: an id near it tells whose reply it is.
const KEPT_START_BYTES: usize = 1024;

/// A buffer beyond this size is given back once it is empty.
const LARGE_BUFFER_BYTES: usize = 1024 * 1024;

/// Borrowed from the buffer: it has to be used before the next read.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    /// Without the line feed at its end.
    Whole(&'a [u8]),
    /// A line of more than [`LONGEST_LINE_BYTES`], of which the rest was thrown away.
    TooLong { start: &'a [u8], bytes: u64 },
}

/// Cuts what was read into lines. In memory is at most one line.
/// A line that grows beyond [`LONGEST_LINE_BYTES`] is cut to its start as it comes.
#[derive(Debug)]
pub(super) struct Lines {
    buffer: Vec<u8>,
    /// Up to here there is no line feed.
    searched: usize,
    /// Bytes of the line at hand that were thrown away; the buffer holds its start.
    skipped: u64,
    /// [`LONGEST_LINE_BYTES`], or less in tests.
    longest: usize,
}

impl Lines {
    pub(super) fn new() -> Self {
        Self::with_longest(LONGEST_LINE_BYTES)
    }

    fn with_longest(longest: usize) -> Self {
        Self { buffer: Vec::new(), searched: 0, skipped: 0, longest }
    }

    /// Where the next read goes: behind what is there.
    pub(super) fn room(&mut self) -> &mut Vec<u8> {
        if self.buffer.capacity() - self.buffer.len() < READ_BYTES {
            self.buffer.reserve(READ_BYTES);
        }
        &mut self.buffer
    }

    /// Hands every line that is complete to `take`, and keeps the start of the next one.
    /// The caller has read into [`room`](Self::room) before. Each byte is searched once.
    pub(super) fn take(&mut self, mut take: impl FnMut(Line<'_>)) {
        let mut from = 0;
        while let Some(at) = memchr(b'\n', &self.buffer[self.searched..]) {
            let end = self.searched + at;
            take(line(&self.buffer[from..end], self.skipped, self.longest));
            self.skipped = 0;
            from = end + 1;
            self.searched = from;
        }
        let rest = self.buffer.len() - from;
        if self.skipped > 0 || rest > self.longest {
            let kept = from + rest.min(KEPT_START_BYTES.min(self.longest));
            self.skipped += (self.buffer.len() - kept) as u64;
            self.buffer.truncate(kept);
        }
        self.remove(from);
        self.searched = self.buffer.len();
    }

    /// Hands over what came after the last line feed.
    /// A stream may end without a line feed; its last line counts. The reader is empty after
    /// that.
    pub(super) fn finish(&mut self, mut take: impl FnMut(Line<'_>)) {
        if !self.buffer.is_empty() {
            take(line(&self.buffer, self.skipped, self.longest));
        }
        *self = Self::with_longest(self.longest);
    }

    /// Removes the first bytes.
    fn remove(&mut self, n: usize) {
        self.buffer.drain(..n);
        if self.buffer.capacity() > LARGE_BUFFER_BYTES && self.buffer.len() <= READ_BYTES {
            self.buffer.shrink_to(READ_BYTES);
        }
    }
}

/// The line with these bytes, of which `skipped` more were thrown away.
fn line(bytes: &[u8], skipped: u64, longest: usize) -> Line<'_> {
    match skipped == 0 && bytes.len() <= longest {
        true => Line::Whole(bytes),
        false => Line::TooLong {
            start: &bytes[..bytes.len().min(KEPT_START_BYTES)],
            bytes: bytes.len() as u64 + skipped,
        },
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    /// The lines of `input` when it is read in these pieces.
    fn cut(input: &[u8], pieces: &[usize], longest: usize) -> Vec<String> {
        let mut lines = Lines::with_longest(longest);
        let mut res = Vec::new();
        let mut keep = |line: Line<'_>| res.push(format!("{line:?}"));
        let mut rest = input;
        for n in pieces.iter().copied().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at(n.min(rest.len()));
            rest = after;
            lines.room().extend_from_slice(piece);
            lines.take(&mut keep);
        }
        lines.finish(&mut keep);
        res
    }

    #[track_caller]
    fn check(input: &str, expect: Expect) {
        let whole = cut(input.as_bytes(), &[1000], 5).join("\n");
        expect.assert_eq(&whole);
        assert_eq!(cut(input.as_bytes(), &[1], 5).join("\n"), whole);
    }

    #[test]
    fn lines_of_one_read_and_of_many() {
        check("", expect![""]);
        check(
            "a\nbc\n",
            expect![[r#"
            Whole([97])
            Whole([98, 99])"#]],
        );
        check(
            "\n\nd",
            expect![[r#"
            Whole([])
            Whole([])
            Whole([100])"#]],
        );
        check("12345\n", expect!["Whole([49, 50, 51, 52, 53])"]);
    }

    #[test]
    fn a_line_that_is_too_long_costs_only_itself() {
        let long = "x".repeat(3000);
        let lines = cut(format!("a\n{long}\nb\n").as_bytes(), &[700], 2000);
        assert_eq!(lines.len(), 3);
        assert_eq!((&*lines[0], &*lines[2]), ("Whole([97])", "Whole([98])"));
        assert!(lines[1].ends_with("bytes: 3000 }"), "{}", lines[1]);
    }

    #[test]
    fn a_large_buffer_is_given_back() {
        let mut lines = Lines::new();
        lines.room().resize(4 * LARGE_BUFFER_BYTES, b'x');
        lines.take(|_| panic!("no line ended"));
        lines.room().push(b'\n');
        let mut seen = 0;
        lines.take(|line| seen += usize::from(matches!(line, Line::Whole(_))));
        assert_eq!(seen, 1);
        assert!(lines.buffer.capacity() <= LARGE_BUFFER_BYTES);
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(
            input in proptest::collection::vec(prop_oneof![3 => any::<u8>(), 1 => Just(b'\n')], 0..200),
            pieces in proptest::collection::vec(1usize..20, 1..20),
        ) {
            let expected: Vec<String> = input
                .split_inclusive(|it| *it == b'\n')
                .map(|it| format!("{:?}", Line::Whole(it.strip_suffix(b"\n").unwrap_or(it))))
                .collect();
            prop_assert_eq!(cut(&input, &pieces, 1000), expected);
        }
    }
}
