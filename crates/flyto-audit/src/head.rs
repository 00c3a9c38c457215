//! The end of the chain, kept beside it.
//!
//! `head.json` has 512 bytes, is JSON with blanks behind it, and is overwritten in place under the
//! lock after each append. A writer that is killed may leave it behind the files, and none leaves
//! it ahead: a head that is ahead means that the files lost something.

use std::{borrow::Cow, fmt, fs::File, io, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{ChainHash, line::MAX_SEQ, process, sys};

/// The last record of a log: enough to show later that no record up to it was changed or removed.
///
/// A program with write access to the whole directory can write a chain of its own, with a head to match. A head that
/// was copied elsewhere before, to another machine or onto paper, convicts it: see
/// [`VerifyOptions::anchors`](crate::VerifyOptions::anchors). The text has the form `SEQ:HASH`.
///
/// ```
/// use flyto_audit::{ChainHash, Head};
///
/// let head = Head::new(12, ChainHash::ZERO);
/// assert_eq!(head.to_string().parse(), Ok(head));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Head {
    /// The number of the record; 0 for a log without one.
    pub seq: u64,
    /// Its hash.
    pub hash: ChainHash,
}

/// A text is no [`Head`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a head is written as SEQ:HASH, with a number and 64 lowercase hexadecimal digits")]
pub struct InvalidHead;

impl Head {
    /// The head of a log without a record.
    pub const EMPTY: Self = Self { seq: 0, hash: ChainHash::ZERO };

    /// A head that was noted elsewhere.
    ///
    /// Nothing is compared here: [`verify_with`](crate::verify_with) does that.
    #[must_use]
    pub fn new(seq: u64, hash: ChainHash) -> Self {
        Self { seq, hash }
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.seq, self.hash)
    }
}

impl FromStr for Head {
    type Err = InvalidHead;

    fn from_str(text: &str) -> Result<Self, InvalidHead> {
        let (seq, hash) = text.split_once(':').ok_or(InvalidHead)?;
        let seq = seq.parse().map_err(|_| InvalidHead)?;
        Ok(Self { seq, hash: hash.parse().map_err(|_| InvalidHead)? })
    }
}

/// The length of `head.json`: one sector of a disk, so that it is written whole or not at all.
pub(crate) const BLOCK_BYTES: usize = 512;

/// What `head.json` says: up to where the files were written, and what the last record was.
///
/// An unknown member makes it unreadable, as a version that is not known does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HeadFile {
    /// Always 1.
    version: Version,
    seq: u64,
    hash: ChainHash,
    /// The number of the first record in `audit.jsonl`, also of one that is not yet there.
    pub(crate) file_first: u64,
    /// How long `audit.jsonl` is.
    pub(crate) file_bytes: u64,
    /// The number of the first record in the file before, for the name in [`Record::follows`](crate::Record::follows).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) previous_first: Option<u64>,
    /// [`Process::boot`](crate::Process::boot) at the last append.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) boot: Option<Cow<'static, str>>,
}

/// The version of the format: 1. Another one is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
struct Version;

impl TryFrom<u32> for Version {
    type Error = &'static str;

    fn try_from(version: u32) -> Result<Self, &'static str> {
        if version == 1 { Ok(Self) } else { Err("expected version 1") }
    }
}

impl From<Version> for u32 {
    fn from(Version: Version) -> Self {
        1
    }
}

impl HeadFile {
    /// A log without a record.
    pub(crate) fn empty() -> Self {
        let Head { seq, hash } = Head::EMPTY;
        Self {
            version: Version,
            seq,
            hash,
            file_first: 1,
            file_bytes: 0,
            previous_first: None,
            boot: process::boot().map(Cow::Borrowed),
        }
    }

    /// The same file with another last record and length.
    ///
    /// `file_bytes` is the length of `audit.jsonl` with that record, in bytes. The boot is the
    /// present one.
    pub(crate) fn with_last(&self, head: Head, file_bytes: u64) -> Self {
        let Head { seq, hash } = head;
        let Self { version, seq: _, hash: _, file_first, file_bytes: _, previous_first, boot: _ } =
            *self;
        let boot = process::boot().map(Cow::Borrowed);
        Self { version, seq, hash, file_first, file_bytes, previous_first, boot }
    }

    /// The file behind, without a record.
    ///
    /// The chain goes on: number and hash of the last record stay.
    pub(crate) fn rotated(&self) -> Self {
        let (file_first, previous_first) = (self.seq + 1, Some(self.file_first));
        Self { file_first, file_bytes: 0, previous_first, ..self.clone() }
    }

    pub(crate) fn head(&self) -> Head {
        Head { seq: self.seq, hash: self.hash }
    }

    /// The bytes of the file: JSON, filled up with blanks.
    pub(crate) fn to_block(&self) -> [u8; BLOCK_BYTES] {
        let mut res = [b' '; BLOCK_BYTES];
        let mut rest = &mut res[..BLOCK_BYTES - 1];
        serde_json::to_writer(&mut rest, self)
            .expect("its numbers and its hash have 200 digits at most");
        res[BLOCK_BYTES - 1] = b'\n';
        res
    }

    /// `None` where the bytes are anything else than one such object, with white space around it.
    pub(crate) fn from_block(block: &[u8]) -> Option<Self> {
        serde_json::from_slice(block).ok().filter(|it: &Self| it.seq <= MAX_SEQ)
    }

    /// Reads the start of the file into `block`, and gives what was read: less than the whole where the file is shorter.
    pub(crate) fn read_block<'b>(
        file: &File,
        block: &'b mut [u8; BLOCK_BYTES],
    ) -> io::Result<&'b [u8]> {
        let n_read = sys::read_full_at(file, block, 0)?;
        Ok(&block[..n_read])
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK_BYTES, Head, HeadFile, InvalidHead};
    use crate::{ChainHash, line::MAX_SEQ};

    #[test]
    fn the_longest_head_fits() {
        let file = |seq| HeadFile {
            file_first: u64::MAX,
            previous_first: Some(u64::MAX),
            ..HeadFile::empty().with_last(Head::new(seq, ChainHash::of_bytes(b"")), u64::MAX)
        };
        let block = file(MAX_SEQ).to_block();
        assert_eq!(block.len(), BLOCK_BYTES);
        assert_eq!(HeadFile::from_block(&block), Some(file(MAX_SEQ)));
        assert_eq!(HeadFile::from_block(&file(MAX_SEQ + 1).to_block()), None);
    }

    #[test]
    fn another_version_is_not_read() {
        let block = HeadFile::empty().to_block();
        let text = String::from_utf8(block.to_vec()).unwrap();
        assert!(HeadFile::from_block(text.as_bytes()).is_some());
        let newer = text.replace(r#""version":1"#, r#""version":2"#);
        assert_eq!(HeadFile::from_block(newer.as_bytes()), None);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "1", "1:", ":00", "-1:00", "x:00"] {
            assert_eq!(text.parse::<Head>(), Err(InvalidHead), "{text}");
        }
    }
}
