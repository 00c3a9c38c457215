//! Lines of bounded length: each message of the protocol on stdio is one.

use std::io::{self, BufRead, BufReader, Read};

/// Bytes that are read at once: the capacity of a pipe on Linux, pipe(7).
const READ_BYTES: usize = 64 * 1024;

/// One line of the peer, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line within the bound.
    Whole(Vec<u8>),
    /// A longer one, of which nothing is kept; how long it was.
    TooLong(u64),
}

/// Splits what a reader gives into lines. At most `max_bytes` of one line are held.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    max_bytes: u64,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(reader: R, max_bytes: u64) -> Self {
        Self { reader: BufReader::with_capacity(READ_BYTES, reader), max_bytes }
    }

    /// The next line; `None` at the end of input. What stands behind the last end of line is a line, too.
    ///
    /// # Errors
    ///
    /// Those of the reader, but for an interruption.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line>> {
        let mut line = Vec::new();
        let mut total = 0;
        loop {
            let available = match self.reader.fill_buf() {
                Ok(bytes) => bytes,
                Err(err) if err.kind() == io::ErrorKind::Interrupted => continue,
                Err(err) => return Err(err),
            };
            if available.is_empty() {
                return Ok((total > 0).then(|| self.line(line, total)));
            }
            let end = memchr::memchr(b'\n', available);
            let piece = &available[..end.unwrap_or(available.len())];
            total += piece.len() as u64;
            if total <= self.max_bytes {
                line.extend_from_slice(piece);
            } else {
                line = Vec::new();
            }
            let n_used = piece.len() + usize::from(end.is_some());
            self.reader.consume(n_used);
            if end.is_some() {
                return Ok(Some(self.line(line, total)));
            }
        }
    }

    fn line(&self, line: Vec<u8>, total: u64) -> Line {
        if total > self.max_bytes { Line::TooLong(total) } else { Line::Whole(line) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &[u8], max_bytes: u64, expected: &[Line]) {
        let mut lines = Lines::new(input, max_bytes);
        let mut res = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            res.push(line);
        }
        assert_eq!(res, expected);
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.into())
    }

    #[test]
    fn lines_end_at_a_newline_or_with_the_input() {
        check(b"", 9, &[]);
        check(b"a\nb", 9, &[whole("a"), whole("b")]);
        check(b"a\r\n\nb\n", 9, &[whole("a\r"), whole(""), whole("b")]);
    }

    #[test]
    fn a_line_beyond_the_bound_is_counted_and_not_kept() {
        check(b"abc\nabcd\nab\n", 3, &[whole("abc"), Line::TooLong(4), whole("ab")]);
        let mut long = vec![b'x'; 3 * READ_BYTES];
        long.extend_from_slice(b"\nok");
        check(&long, 100, &[Line::TooLong(3 * READ_BYTES as u64), whole("ok")]);
        check(b"abcd", 3, &[Line::TooLong(4)]);
    }
}
