//! Private keys.
//!
//! A key is known by its first line and by what a key is made of behind it, so that a text which
//! only speaks of keys is none. Keys of PEM (RFC 7468), OpenPGP, PuTTY and SSH2 (with four dashes
//! and a blank, as RFC 4716 writes public keys) are found, also as a string of a program with
//! escaped line ends.

use std::{borrow::Cow, ops::Range};

use super::{Finding, Piece, Scan};
use crate::Tier;

/// The longest key that is looked for: an RSA key of 16,384 bits has 13 KB.
const MAX_KEY_BYTES: usize = 24 * 1024;

/// Less than so many letters, digits and signs of Base64 is no key but a mention of one: a line of a key has 64
/// (RFC 7468, section 2), and other programs write a little less.
const MIN_KEY_BYTES: usize = 60;

/// So far behind the first line a key has begun: its headers (RFC 1421, RFC 9580) are a few lines.
///
/// In bytes. What follows a mention of a key is not read on.
const MAX_HEADER_BYTES: usize = 2048;

/// Lines that begin one.
const LABELS: &[&str] = &["PRIVATE KEY", "PGP PRIVATE KEY BLOCK", "SSH2 ENCRYPTED PRIVATE KEY"];

impl Scan<'_> {
    /// A key that begins at `at`; returns where it ends.
    ///
    /// Where it is none, that is the end of the words it was known by.
    pub(super) fn key(&mut self, piece: &Piece<'_>, at: Range<usize>) -> usize {
        let text = piece.text;
        let to = text.len().min(at.start + MAX_KEY_BYTES);
        let rest = &text[at.start..to];
        // A key holds no other one, so keys are looked at one after the other.
        let next = memchr::memmem::find(&rest[at.len()..], &text[at.clone()]);
        let rest = &rest[..next.map_or(rest.len(), |it| at.len() + it)];
        let head = &rest[..rest.len().min(100)];
        let is_putty = !head.starts_with(b"-");
        let has_label = LABELS.iter().any(|it| memchr::memmem::find(head, it.as_bytes()).is_some());
        if !is_putty && !has_label {
            return at.end;
        }
        let end = if is_putty {
            memchr::memmem::find(rest, b"Private-MAC").map_or(rest.len(), |it| it + 11)
        } else {
            let body = at.len() + 8;
            let last: &[u8] = if head.starts_with(b"-----") { b"-----END" } else { b"---- END" };
            match memchr::memmem::find(&rest[body.min(rest.len())..], last) {
                Some(it) => body + it + last.len(),
                None => rest.len(),
            }
        };
        let body = &rest[head.len().min(30).min(end)..end];
        if !has_row(&body[..body.len().min(MAX_HEADER_BYTES)]) {
            return at.end;
        }
        self.add(
            piece,
            Finding {
                rule: "private-key",
                label: Cow::Borrowed("private key"),
                tier: Tier::Block,
                variable: None,
                secret: at.start..at.start + end,
            },
        );
        at.start + end
    }
}

/// Whether [`MIN_KEY_BYTES`] characters of Base64 stand in a row, with nothing between them but line ends, quotes and
/// escapes of these.
fn has_row(body: &[u8]) -> bool {
    let mut n = 0;
    for byte in body {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' | b'=' => n += 1,
            b'\n' | b'\r' | b'\\' | b'"' | b'\'' | b',' | b'#' | b'>' | b'*' => {}
            _ => n = 0,
        }
        if n >= MIN_KEY_BYTES {
            return true;
        }
    }
    false
}
