//! The stdout of a server as lines of bounded length.
//!
//! A line that is too long costs its own message: its start is handed over, the rest is thrown away as it comes, and the
//! lines behind it are read as before.

use memchr::memchr;

/// Room for each read: 64 KiB, what a pipe holds by default (pipe(7)).
const READ_BYTES: usize = 64 * 1024;

/// Of a line that is too long, this much of its start is kept: an id near it tells whose answer it is.
const KEPT_START_BYTES: usize = 1024;

/// One line, borrowed from the buffer.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    /// Without the line feed at its end.
    Whole(&'a [u8]),
    /// A longer one than is taken, of which the rest was thrown away.
    TooLong { start: &'a [u8], bytes: u64 },
}

/// Cuts what was read into lines. In memory is at most one line, and the piece that was read last.
#[derive(Debug)]
pub(super) struct Lines {
    buffer: Vec<u8>,
    /// Up to here there is no line feed.
    searched: usize,
    /// Bytes of the line at hand that were thrown away; the buffer holds its start.
    skipped: u64,
    longest: usize,
}

/// A line that is this many times as long as the longest one that is taken has no end: 4. What a server sends costs time also
/// where it is thrown away.
const ENDLESS: u64 = 4;

impl Lines {
    /// Whether the line at hand is so long that its end is not waited for.
    pub(super) fn is_endless(&self) -> bool {
        self.skipped > (self.longest as u64).saturating_mul(ENDLESS)
    }

    /// Lines of at most this many bytes, the line feed not counted.
    pub(super) fn new(longest: usize) -> Self {
        Self { buffer: Vec::new(), searched: 0, skipped: 0, longest }
    }

    /// Where the next read goes: behind what is there.
    pub(super) fn room(&mut self) -> &mut Vec<u8> {
        if self.buffer.is_empty() && self.buffer.capacity() > 16 * READ_BYTES {
            self.buffer.shrink_to(READ_BYTES);
        }
        self.buffer.reserve(READ_BYTES);
        &mut self.buffer
    }

    /// Hands every line that is complete to `take`, and keeps the start of the next one. Each byte is searched once.
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
        self.buffer.drain(..from);
        self.searched = self.buffer.len();
    }
}

/// The line with these bytes, of which `skipped` more were thrown away.
fn line(bytes: &[u8], skipped: u64, longest: usize) -> Line<'_> {
    match skipped == 0 && bytes.len() <= longest {
        true => Line::Whole(bytes),
        false => Line::TooLong {
            start: &bytes[..bytes.len().min(KEPT_START_BYTES).min(longest)],
            bytes: bytes.len() as u64 + skipped,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(input: &[u8], piece: usize, longest: usize) -> Vec<String> {
        let mut lines = Lines::new(longest);
        let mut res = Vec::new();
        for piece in input.chunks(piece) {
            lines.room().extend_from_slice(piece);
            lines.take(|it| {
                res.push(match it {
                    Line::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                    Line::TooLong { start, bytes } => format!("{} of {bytes}", start.len()),
                });
            });
        }
        res
    }

    #[test]
    fn a_line_without_end_is_told() {
        let mut lines = Lines::new(1000);
        let mut n_bytes = 0;
        while !lines.is_endless() {
            lines.room().extend_from_slice(&[b'x'; 100]);
            n_bytes += 100;
            lines.take(|_| panic!("it has no end"));
        }
        assert!((4000..=5100).contains(&n_bytes), "{n_bytes}");
    }

    #[test]
    fn pieces_do_not_matter() {
        let long = "x".repeat(3000);
        let input = format!("a\n\n{long}\nbc\nrest");
        for piece in [1, 7, 700, 5000] {
            assert_eq!(
                cut(input.as_bytes(), piece, 2000),
                ["a", "", "1024 of 3000", "bc"],
                "{piece}"
            );
        }
        assert_eq!(cut(b"12345\n123456\n", 3, 5), ["12345", "5 of 6"]);
    }
}
