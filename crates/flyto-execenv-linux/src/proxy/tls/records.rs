//! The records of a TLS connection before it is encrypted, and the handshake messages in them (RFC 8446, 5.1).
//!
//! [`Records`] keeps the five bytes of a head, [`Messages`] at most [`MAX_BYTES`]. Both take bytes
//! in pieces of any size and give the same result for all of them.

use std::{mem, ops::RangeInclusive};

use super::MAX_BYTES;

pub(super) const CHANGE_CIPHER_SPEC: u8 = 20;
pub(super) const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;

/// From change_cipher_spec to heartbeat (RFC 6520).
pub(super) const KINDS: RangeInclusive<u8> = 20..=24;

/// The longest record that is not encrypted.
const MAX_RECORD_BYTES: usize = 1 << 14;

/// What encryption may add to a record: in TLS 1.2 (RFC 5246, 6.2.3), where it is most.
const MAX_EXPANSION_BYTES: usize = 2048;

const HEAD_BYTES: usize = 5;

/// Cuts bytes into records.
#[derive(Debug, Default)]
pub(super) struct Records {
    /// That of the present record, as far as it was read.
    head: [u8; HEAD_BYTES],
    n_head: usize,
    /// Bytes to come of its content.
    left: usize,
}

/// A part of a record.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// A head that has not ended.
    Unfinished,
    /// The end of a head, with the record's kind.
    Head(u8),
    /// Some of a record's content, with its kind.
    Content(u8, &'a [u8]),
}

impl Records {
    /// Takes the next piece off these bytes, of which there are some. Where they are no record of TLS, the first
    /// byte of what stands in the place of its head.
    ///
    /// The major version must be 3, as it is from SSL 3 to TLS 1.3; the minor one is not looked at.
    pub(super) fn next<'a>(&mut self, rest: &mut &'a [u8]) -> Result<Piece<'a>, u8> {
        if self.left > 0 {
            let content = take(rest, self.left);
            self.left -= content.len();
            return Ok(Piece::Content(self.head[0], content));
        }
        if self.n_head == HEAD_BYTES {
            self.n_head = 0;
        }
        let part = take(rest, HEAD_BYTES - self.n_head);
        self.head[self.n_head..][..part.len()].copy_from_slice(part);
        self.n_head += part.len();
        let [kind, major, _, high, low] = self.head;
        if !KINDS.contains(&kind) || (self.n_head > 1 && major != 3) {
            return Err(kind);
        }
        if self.n_head < HEAD_BYTES {
            return Ok(Piece::Unfinished);
        }
        self.left = usize::from(high) << 8 | usize::from(low);
        let is_allowed = match kind {
            HANDSHAKE => (1..=MAX_RECORD_BYTES).contains(&self.left),
            APPLICATION_DATA => self.left <= MAX_RECORD_BYTES + MAX_EXPANSION_BYTES,
            _ => self.left <= MAX_RECORD_BYTES,
        };
        if is_allowed { Ok(Piece::Head(kind)) } else { Err(kind) }
    }
}

/// Puts together the messages of one kind from the content of handshake records, and passes over all others.
#[derive(Debug)]
pub(super) struct Messages {
    kind: u8,
    /// The present message as far as it was read, until it is known to be of another kind.
    bytes: Vec<u8>,
    /// Bytes to come of a message of another kind.
    left: usize,
}

/// What has come of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// They end in a message that is, or may become, one of the kind.
    Unfinished,
    /// A message of the kind.
    Whole(Vec<u8>),
    /// A part of a message of another kind.
    Other,
    /// A message of the kind that is longer than [`MAX_BYTES`].
    TooLong,
}

/// The kind and the length.
const MESSAGE_HEAD_BYTES: usize = 4;

impl Messages {
    pub(super) fn new(kind: u8) -> Self {
        Self { kind, bytes: Vec::new(), left: 0 }
    }

    /// Whether the last message has ended.
    ///
    /// Then a record of another kind may stand here (RFC 8446, 5.1).
    pub(super) fn is_between(&self) -> bool {
        self.bytes.is_empty() && self.left == 0
    }

    /// Takes bytes of one message off these, of which there are some.
    ///
    /// One message at a time: what is left in `rest` belongs to the next.
    pub(super) fn take(&mut self, rest: &mut &[u8]) -> Progress {
        if self.left > 0 {
            self.left -= take(rest, self.left).len();
            return Progress::Other;
        }
        self.bytes
            .extend_from_slice(take(rest, MESSAGE_HEAD_BYTES.saturating_sub(self.bytes.len())));
        let [kind, a, b, c, ..] = *self.bytes.as_slice() else { return Progress::Unfinished };
        let length = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        if kind != self.kind {
            self.bytes.clear();
            self.left = length;
            return Progress::Other;
        }
        let whole = MESSAGE_HEAD_BYTES + length;
        if whole > MAX_BYTES {
            return Progress::TooLong;
        }
        self.bytes.extend_from_slice(take(rest, whole - self.bytes.len()));
        match self.bytes.len() == whole {
            true => Progress::Whole(mem::take(&mut self.bytes)),
            false => Progress::Unfinished,
        }
    }
}

/// Takes up to so many bytes off the front.
fn take<'a>(rest: &mut &'a [u8], n: usize) -> &'a [u8] {
    let (taken, left) = rest.split_at(n.min(rest.len()));
    *rest = left;
    taken
}
