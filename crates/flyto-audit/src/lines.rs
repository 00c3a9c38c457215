//! Lines of a file, forwards and backwards, in bounded memory.
//!
//! Forwards they are borrowed from one buffer, backwards each is a copy. A line that is longer than
//! [`MAX_RECORD_BYTES`] is no record: it is passed over with its place and, forwards, its length
//! and SHA-256, and hardly more than that bound is held of it. The work of one pass is linear in
//! the bytes of the records and [`MAX_FOREIGN_BYTES`]: a sparse file of a terabyte costs its writer nothing.

use std::{borrow::Borrow, fs::File, io};

use crate::{
    MAX_RECORD_BYTES,
    hash::{ChainHash, Hasher},
    sys::read_full_at,
};

/// How much is read at once.
const BLOCK: usize = 64 * 1024;

/// [`MAX_RECORD_BYTES`] in memory.
const MAX_LINE: usize = MAX_RECORD_BYTES as usize;

/// How many bytes of a file may be in lines that are no records: 64 MiB, the size at which a file is rotated. A log has
/// one such line for each writer that was killed.
pub(crate) const MAX_FOREIGN_BYTES: u64 = 64 * 1024 * 1024;

/// What is left of [`MAX_FOREIGN_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ForeignLeft(u64);

impl Default for ForeignLeft {
    fn default() -> Self {
        Self(MAX_FOREIGN_BYTES)
    }
}

impl ForeignLeft {
    /// Takes bytes off that are no record.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidData`] where there are more of them than the bound.
    fn take(&mut self, bytes: u64) -> io::Result<()> {
        let left = self.0.checked_sub(bytes);
        self.0 = left.unwrap_or(0);
        left.map(drop).ok_or_else(|| {
            let kind = io::ErrorKind::InvalidData;
            io::Error::new(kind, "more than 64 MiB of it are in lines that are no records")
        })
    }
}

/// None where too much of the file is no record.
pub(crate) fn none_beyond_bound<T>(found: io::Result<Option<T>>) -> io::Result<Option<T>> {
    match found {
        Err(err) if err.kind() == io::ErrorKind::InvalidData => Ok(None),
        found => found,
    }
}

/// A line without its newline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawLine<'a> {
    /// Where it begins.
    /// In bytes from the start of the file.
    pub(crate) offset: u64,
    /// How long it is.
    pub(crate) len: u64,
    /// What it says; `None` where it is longer than [`MAX_RECORD_BYTES`].
    pub(crate) bytes: Option<&'a [u8]>,
    /// Whether a newline follows.
    /// False for the last line only.
    pub(crate) is_ended: bool,
    /// The SHA-256 of a line that is too long.
    long_digest: Option<ChainHash>,
}

impl RawLine<'_> {
    /// The SHA-256 of the line.
    pub(crate) fn digest(&self) -> ChainHash {
        match self.bytes {
            Some(bytes) => ChainHash::of_bytes(bytes),
            None => self.long_digest.unwrap_or(ChainHash::ZERO),
        }
    }
}

/// The lines of a file from an offset on. A line of any length takes [`MAX_RECORD_BYTES`] and a block at most.
#[derive(Debug)]
pub(crate) struct Lines<F> {
    file: F,
    /// Where reading stops.
    end: u64,
    /// Where the bytes in `buf[start..filled]` are in the file.
    offset: u64,
    buf: Vec<u8>,
    start: usize,
    filled: usize,
    foreign: ForeignLeft,
}

impl<F: Borrow<File>> Lines<F> {
    /// The lines between two offsets, the first of which is the start of a line.
    pub(crate) fn new(file: F, offset: u64, end: u64) -> Self {
        Self {
            file,
            end,
            offset,
            buf: vec![0; BLOCK],
            start: 0,
            filled: 0,
            foreign: ForeignLeft::default(),
        }
    }

    /// Begins with what other files have left.
    pub(crate) fn with_foreign(mut self, left: ForeignLeft) -> Self {
        self.foreign = left;
        self
    }

    /// What this file leaves.
    pub(crate) fn foreign(&self) -> ForeignLeft {
        self.foreign
    }

    /// Counts the line that was given last, of as many bytes, as one that is no record. Without a number it was too long,
    /// and is counted already.
    pub(crate) fn count_foreign(&mut self, bytes: Option<u64>) -> io::Result<()> {
        bytes.map_or(Ok(()), |it| self.foreign.take(it + 1))
    }

    /// The next line. The last one may be without a newline.
    pub(crate) fn next(&mut self) -> io::Result<Option<RawLine<'_>>> {
        let mut n_scanned = 0;
        loop {
            let unread = &self.buf[self.start..self.filled];
            if let Some(i) = memchr::memchr(b'\n', &unread[n_scanned..]) {
                return Ok(Some(self.take(n_scanned + i, true)));
            }
            n_scanned = unread.len();
            // Without a newline it is as long at least.
            if n_scanned > MAX_LINE {
                return self.skip_long().map(Some);
            }
            if !self.fill()? {
                return Ok((n_scanned > 0).then(|| self.take(n_scanned, false)));
            }
        }
    }

    /// The next line, once its newline is there. What comes before is read again the next time: a writer whose disk
    /// is full cuts it off.
    pub(crate) fn next_ended(&mut self) -> io::Result<Option<RawLine<'_>>> {
        let mut n_scanned = 0;
        loop {
            let unread = &self.buf[self.start..self.filled];
            if let Some(i) = memchr::memchr(b'\n', &unread[n_scanned..]) {
                return Ok(Some(self.take(n_scanned + i, true)));
            }
            n_scanned = unread.len();
            if n_scanned > MAX_LINE {
                return self.skip_long().map(Some);
            }
            if !self.fill()? {
                self.filled = self.start;
                return Ok(None);
            }
        }
    }

    /// Takes a line of `len` bytes out of the buffer.
    ///
    /// The line is in the buffer, and so is its newline where `is_ended` says so.
    fn take(&mut self, len: usize, is_ended: bool) -> RawLine<'_> {
        let (start, offset) = (self.start, self.offset);
        let n_taken = len + usize::from(is_ended);
        self.start += n_taken;
        self.offset += n_taken as u64;
        let bytes = &self.buf[start..start + len];
        let is_long = len > MAX_LINE;
        let long_digest = is_long.then(|| ChainHash::of_bytes(bytes));
        let bytes = (!is_long).then_some(bytes);
        RawLine { offset, len: len as u64, bytes, is_ended, long_digest }
    }

    /// Reads to the end of a line that is too long, and keeps its digest only. Its bytes count against the bound as they
    /// are read.
    ///
    /// The bytes that are in the buffer already are its start.
    fn skip_long(&mut self) -> io::Result<RawLine<'_>> {
        let offset = self.offset;
        let (mut hasher, mut len, mut is_ended) = (Hasher::default(), 0, false);
        loop {
            let unread = &self.buf[self.start..self.filled];
            let newline = memchr::memchr(b'\n', unread);
            let part = &unread[..newline.unwrap_or(unread.len())];
            self.foreign.take(part.len() as u64)?;
            hasher.update(part);
            len += part.len() as u64;
            let n_taken = part.len() + usize::from(newline.is_some());
            self.start += n_taken;
            self.offset += n_taken as u64;
            if newline.is_some() {
                is_ended = true;
                break;
            }
            if !self.fill()? {
                break;
            }
        }
        let long_digest = Some(hasher.finish());
        Ok(RawLine { offset, len, bytes: None, is_ended, long_digest })
    }

    /// Reads more behind what is unread; false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        self.buf.copy_within(self.start..self.filled, 0);
        self.filled -= self.start;
        self.start = 0;
        if self.buf.len() < self.filled + BLOCK {
            self.buf
                .resize((self.buf.len() * 2).min(MAX_LINE + 1 + BLOCK).max(self.filled + BLOCK), 0);
        }
        let at = self.offset + self.filled as u64;
        let most = usize::try_from(self.end.saturating_sub(at)).unwrap_or(usize::MAX);
        let room = (self.buf.len() - self.filled).min(most);
        let n_read = read_full_at(self.file.borrow(), &mut self.buf[self.filled..][..room], at)?;
        self.filled += n_read;
        Ok(n_read > 0)
    }
}

/// A line without its newline, as [`LinesBack`] gives it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OwnedLine {
    /// Where it begins.
    pub(crate) offset: u64,
    /// What it says; `None` where it is longer than [`MAX_RECORD_BYTES`].
    pub(crate) bytes: Option<Vec<u8>>,
}

/// The lines of a file from its end on, in the memory of two lines of [`MAX_RECORD_BYTES`].
#[derive(Debug)]
pub(crate) struct LinesBack {
    file: File,
    /// Where that part of the file ends which was not given yet: at its end, or behind a newline.
    end: u64,
    /// No line that ends before this is given.
    floor: u64,
    /// The bytes before `end`, as far as they are read.
    buf: Vec<u8>,
    foreign: ForeignLeft,
}

/// `end` and `buf` go together: the buffer holds the `buf.len()` bytes before `end`, and none
/// behind it.
impl LinesBack {
    /// The lines before an offset.
    pub(crate) fn new(file: File, end: u64) -> Self {
        Self { file, end, floor: 0, buf: Vec::new(), foreign: ForeignLeft::default() }
    }

    /// Gives the lines of the last `bytes` only, and what begins before them where it is no longer than
    /// [`MAX_RECORD_BYTES`].
    pub(crate) fn within(mut self, bytes: u64) -> Self {
        self.floor = self.end.saturating_sub(bytes);
        self
    }

    /// Counts the line that was given last as one that is no record. A line that is too long is counted already.
    pub(crate) fn count_foreign(&mut self, bytes: Option<u64>) -> io::Result<()> {
        bytes.map_or(Ok(()), |it| self.foreign.take(it + 1))
    }

    /// The line before those that were given.
    pub(crate) fn next(&mut self) -> io::Result<Option<OwnedLine>> {
        if self.end <= self.floor {
            return Ok(None);
        }
        if self.buf.is_empty() {
            self.fill()?;
        }
        // Its own newline ends the line; the one before that ends another one.
        let mut len = self.buf.len() - usize::from(self.buf.last() == Some(&b'\n'));
        loop {
            let newline = memchr::memrchr(b'\n', &self.buf[..len]);
            let start = newline.map_or(0, |it| it + 1);
            if newline.is_some() || self.buf.len() as u64 == self.end {
                let bytes = self.buf[start..len].to_vec();
                self.cut(start);
                let bytes = (bytes.len() <= MAX_LINE).then_some(bytes);
                return Ok(Some(OwnedLine { offset: self.end, bytes }));
            }
            if len > MAX_LINE {
                return self.skip_long().map(Some);
            }
            len += self.fill()?;
        }
    }

    /// Leaves a line out that is too long.
    ///
    /// What is in the buffer is its end, and is dropped; the offset that is returned is where the
    /// line begins, or where reading ends.
    fn skip_long(&mut self) -> io::Result<OwnedLine> {
        loop {
            self.foreign.take(self.buf.len() as u64)?;
            self.cut(0);
            if self.end <= self.floor {
                break;
            }
            self.fill()?;
            if let Some(i) = memchr::memrchr(b'\n', &self.buf) {
                self.cut(i + 1);
                break;
            }
        }
        Ok(OwnedLine { offset: self.end, bytes: None })
    }

    /// Cuts what was given off the end.
    ///
    /// `keep` is how many bytes of the buffer stay, from its start on.
    fn cut(&mut self, keep: usize) {
        self.end -= (self.buf.len() - keep) as u64;
        self.buf.truncate(keep);
    }

    /// Reads more before what is there, at least as much as that, so that the work stays linear. Returns how much.
    fn fill(&mut self) -> io::Result<usize> {
        let start = self.end - self.buf.len() as u64;
        let wanted = self.buf.len().max(BLOCK);
        let n_more = usize::try_from(start).map_or(wanted, |it| it.min(wanted));
        let mut buf = vec![0; n_more + self.buf.len()];
        let n_read = read_full_at(&self.file, &mut buf[..n_more], start - n_more as u64)?;
        if n_read < n_more {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        buf[n_more..].copy_from_slice(&self.buf);
        self.buf = buf;
        Ok(n_more)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, io::Write as _};

    use super::{BLOCK, Lines, LinesBack, MAX_LINE};
    use crate::hash::ChainHash;

    fn file(content: &[u8]) -> File {
        let mut res = tempfile::tempfile().unwrap();
        res.write_all(content).unwrap();
        res
    }

    /// Reads `content` both ways, and compares with `(offset, length)` of each line.
    #[track_caller]
    fn check(content: &[u8], expected: &[(usize, usize)]) {
        let file = file(content);
        let end = content.len() as u64;
        let mut forwards = Vec::new();
        let mut lines = Lines::new(&file, 0, end);
        while let Some(line) = lines.next().unwrap() {
            let (start, len) = (line.offset as usize, line.len as usize);
            let bytes = &content[start..start + len];
            assert_eq!(line.digest(), ChainHash::of_bytes(bytes));
            assert_eq!(line.is_ended, start + len < content.len());
            assert!(line.bytes == (len <= MAX_LINE).then_some(bytes), "the line at {start}");
            forwards.push((start, len));
        }
        assert_eq!(forwards, expected);
        let mut backwards = Vec::new();
        let mut lines = LinesBack::new(file.try_clone().unwrap(), end);
        while let Some(line) = lines.next().unwrap() {
            let start = line.offset as usize;
            let len = memchr::memchr(b'\n', &content[start..]).unwrap_or(content.len() - start);
            let bytes = &content[start..start + len];
            let expected = (len <= MAX_LINE).then_some(bytes);
            assert!(line.bytes.as_deref() == expected, "the line at {start}");
            backwards.push((start, len));
        }
        backwards.reverse();
        assert_eq!(backwards, expected);
    }

    #[test]
    fn short_lines() {
        check(b"", &[]);
        check(b"\n", &[(0, 0)]);
        check(b"a", &[(0, 1)]);
        check(b"a\n", &[(0, 1)]);
        check(b"a\n\nbc", &[(0, 1), (2, 0), (3, 2)]);
    }

    #[test]
    fn lines_across_blocks() {
        let lens = [BLOCK - 1, BLOCK, 0, BLOCK + 1, 3 * BLOCK, 5, 10 * BLOCK + 7];
        let (mut content, mut expected) = (Vec::new(), Vec::new());
        for (i, len) in lens.into_iter().enumerate() {
            expected.push((content.len(), len));
            content.resize(content.len() + len, b'a' + i as u8);
            content.push(b'\n');
        }
        check(&content, &expected);
    }

    #[test]
    fn a_line_that_is_too_long_is_left_out() {
        let lens = [3, MAX_LINE, MAX_LINE + 1, 4, MAX_LINE + 9 * BLOCK];
        let (mut content, mut expected) = (Vec::new(), Vec::new());
        for len in lens {
            expected.push((content.len(), len));
            content.resize(content.len() + len, b'x');
            content.push(b'\n');
        }
        check(&content, &expected);
        content.pop();
        check(&content, &expected);
    }
}
