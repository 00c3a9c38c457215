//! Lines of bounded length: each message of the protocol on stdio is one.

use std::{
    io::{self, BufRead, BufReader, Read},
    mem,
};

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
    /// What was read of the next line; empty where that is longer than the bound.
    line: Vec<u8>,
    /// How many bytes of it were read.
    n_read: u64,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(reader: R, max_bytes: u64) -> Self {
        let reader = BufReader::with_capacity(READ_BYTES, reader);
        Self { reader, max_bytes, line: Vec::new(), n_read: 0 }
    }

    /// What is read.
    #[cfg(unix)]
    pub(crate) fn reader(&self) -> &R {
        self.reader.get_ref()
    }

    /// The next line; `None` at the end of input. What stands behind the last end of line is a line, too.
    ///
    /// # Errors
    ///
    /// Those of the reader, but for an interruption. What was read of a line is kept: where the reader would have to wait
    /// ([`io::ErrorKind::WouldBlock`]), the next call goes on.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let available = match self.reader.fill_buf() {
                Ok(bytes) => bytes,
                Err(err) if err.kind() == io::ErrorKind::Interrupted => continue,
                Err(err) => return Err(err),
            };
            if available.is_empty() {
                return Ok((self.n_read > 0).then(|| self.take_line()));
            }
            let end = memchr::memchr(b'\n', available);
            let piece = &available[..end.unwrap_or(available.len())];
            self.n_read += piece.len() as u64;
            if self.n_read <= self.max_bytes {
                self.line.extend_from_slice(piece);
            } else {
                self.line = Vec::new();
            }
            let n_used = piece.len() + usize::from(end.is_some());
            self.reader.consume(n_used);
            if end.is_some() {
                return Ok(Some(self.take_line()));
            }
        }
    }

    /// The line that was read to its end.
    fn take_line(&mut self) -> Line {
        let (line, n_read) = (mem::take(&mut self.line), mem::take(&mut self.n_read));
        if n_read > self.max_bytes { Line::TooLong(n_read) } else { Line::Whole(line) }
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

    #[test]
    fn a_reader_that_would_wait_loses_nothing() {
        /// Gives one byte of every second read, and would wait in between.
        struct Slow(&'static [u8], bool);

        impl Read for Slow {
            fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
                self.1 = !self.1;
                if self.1 {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                self.0.read(&mut bytes[..1])
            }
        }

        let mut lines = Lines::new(Slow(b"abc\nabcd\nab", false), 3);
        let mut res = Vec::new();
        loop {
            match lines.next() {
                Ok(Some(line)) => res.push(line),
                Ok(None) => break,
                Err(err) => assert_eq!(err.kind(), io::ErrorKind::WouldBlock),
            }
        }
        assert_eq!(res, [whole("abc"), Line::TooLong(4), whole("ab")]);
    }
}
