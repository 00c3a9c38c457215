//! One record as the bytes of its line.
//!
//! Members stand in one order and the hash is the last of them, so that the hashed bytes are a
//! piece of the line itself and no canonical form of JSON is needed: what is hashed is what is in
//! the file. A reader takes a line for a record only where it ends as [`write()`] ends one.

use std::{borrow::Cow, io::Write as _};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{ChainHash, Process, Timestamp};

/// The longest line that a log writes or takes for a record, without its newline: 4 MiB. It bounds the memory of
/// every reader.
pub const MAX_RECORD_BYTES: u64 = 4 * 1024 * 1024;

/// How deep the body of a record may be nested: 100, less than the 128 at which serde_json stops reading.
pub const MAX_BODY_DEPTH: usize = 100;

/// The largest number of a record, which no log reaches: at a million records a second after 292,000
/// years. A larger one was made up, and would leave no numbers for those behind it.
pub(crate) const MAX_SEQ: u64 = u64::MAX / 2;

/// Bytes of `,"hash":"…"}`, with which each line ends.
const HASH_MEMBER_BYTES: usize = 75;

/// What a record says beside its place in the chain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Content<'a> {
    pub(crate) id: &'a str,
    pub(crate) event: &'a str,
    pub(crate) process: Option<&'a Process>,
    /// JSON without a newline.
    /// Nested no deeper than [`MAX_BODY_DEPTH`].
    pub(crate) body: &'a [u8],
}

/// The place of a record in the chain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) seq: u64,
    /// The hash of the record before; [`ChainHash::ZERO`] for the first one.
    pub(crate) prev: &'a ChainHash,
    /// The name of the file before, for the first record of a file.
    pub(crate) follows: Option<&'a str>,
}

/// Appends the line of a record with its newline.
///
/// Returns the hash of the record. Nothing is checked: ids, names and lengths are the caller's.
pub(crate) fn write(out: &mut Vec<u8>, place: Place<'_>, content: Content<'_>) -> ChainHash {
    const FITS: &str = "a vector takes all, and texts are JSON";
    let start = out.len();
    let Place { seq, prev, follows } = place;
    let Content { id, event, process, body } = content;
    write!(out, r#"{{"seq":{seq},"at":"{}","id":"#, Timestamp::now()).expect(FITS);
    serde_json::to_writer(&mut *out, id).expect(FITS);
    out.extend_from_slice(br#","event":"#);
    serde_json::to_writer(&mut *out, event).expect(FITS);
    if let Some(process) = process {
        out.extend_from_slice(br#","process":"#);
        serde_json::to_writer(&mut *out, process).expect(FITS);
    }
    if let Some(name) = follows {
        out.extend_from_slice(br#","follows":"#);
        serde_json::to_writer(&mut *out, name).expect(FITS);
    }
    out.extend_from_slice(br#","body":"#);
    out.extend_from_slice(body);
    out.extend_from_slice(br#","prev":""#);
    out.extend_from_slice(&prev.hex());
    out.push(b'"');
    let hash = ChainHash::of_record(prev, &out[start..]);
    out.extend_from_slice(br#","hash":""#);
    out.extend_from_slice(&hash.hex());
    out.extend_from_slice(b"\"}\n");
    hash
}

/// A line that is a record, its content still as written.
///
/// An unknown member, one that occurs twice, and one that is missing (but for `process` and
/// `follows`) make it no record.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line<'a> {
    pub(crate) seq: u64,
    pub(crate) at: Timestamp,
    #[serde(borrow)]
    pub(crate) id: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) event: Cow<'a, str>,
    #[serde(default)]
    pub(crate) process: Option<Process>,
    /// The name of the file before, in the first record of a file.
    #[serde(default, borrow)]
    pub(crate) follows: Option<Cow<'a, str>>,
    /// The bytes of the body: valid JSON of any depth, which serde_json skips without recursion.
    #[serde(borrow)]
    pub(crate) body: &'a RawValue,
    pub(crate) prev: ChainHash,
    pub(crate) hash: ChainHash,
    /// The line up to its hash.
    #[serde(skip)]
    hashed: &'a [u8],
}

impl<'a> Line<'a> {
    /// Reads a line without its newline. `None` where it is no record; its hash may still be wrong.
    ///
    /// The hash that is read as JSON has to be the one that the line ends with: else a hash in an
    /// escape, or one in the middle, would stand for bytes that are not hashed.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (hashed, member) =
            bytes.split_at_checked(bytes.len().checked_sub(HASH_MEMBER_BYTES)?)?;
        let mut res: Self = serde_json::from_slice(bytes).ok()?;
        // Serde refuses a member that occurs twice, so the last one is the hash.
        let ends_so = member.strip_prefix(br#","hash":""#)?.strip_suffix(br#""}"#)?;
        res.hashed = (ends_so == res.hash.hex()).then_some(hashed)?;
        (res.seq <= MAX_SEQ).then_some(res)
    }

    /// Whether the hash fits the rest of the line.
    ///
    /// It says nothing of the chain: `prev` is taken as the line has it.
    pub(crate) fn is_sound(&self) -> bool {
        ChainHash::of_record(&self.prev, self.hashed) == self.hash
    }
}

/// Takes newlines out of JSON. They are white space there, which raw values may bring along.
pub(crate) fn flatten(json: &mut [u8]) {
    let mut rest = json;
    while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
        rest[at] = b' ';
        rest = &mut rest[at + 1..];
    }
}

/// Whether JSON is nested more than `limit` deep.
///
/// It counts brackets outside of texts, and takes the JSON for valid.
pub(crate) fn is_deeper_than(json: &[u8], limit: usize) -> bool {
    // Few bodies have as many brackets at all, and to count them takes a tenth of the time.
    if memchr::memchr2_iter(b'{', b'[', json).count() <= limit {
        return false;
    }
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in json {
        match (in_text, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => in_text = !in_text,
            (false, b'{' | b'[') => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            (false, b'}' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{Content, Line, Place, flatten, is_deeper_than, write};
    use crate::{ChainHash, Process};

    fn line(id: &str, body: &str) -> Vec<u8> {
        let process = Process::current();
        let content =
            Content { id, event: "begin", process: Some(&process), body: body.as_bytes() };
        let mut res = Vec::new();
        let place =
            Place { seq: 7, prev: &ChainHash::of_bytes(b"before"), follows: Some("audit-1") };
        write(&mut res, place, content);
        assert_eq!(res.pop(), Some(b'\n'));
        res
    }

    #[test]
    fn a_written_line_is_read_again() {
        let bytes = line("a \"b\"\n\u{e9}", r#"{"x":[1,{"y":2,"hash":"z"}]}"#);
        let read = Line::parse(&bytes).unwrap();
        assert_eq!((read.seq, &*read.id, &*read.event), (7, "a \"b\"\n\u{e9}", "begin"));
        assert_eq!(read.body.get(), r#"{"x":[1,{"y":2,"hash":"z"}]}"#);
        assert_eq!(read.prev, ChainHash::of_bytes(b"before"));
        assert_eq!(read.process, Some(Process::current()));
        assert_eq!(read.follows.as_deref(), Some("audit-1"));
        assert!(read.is_sound());
    }

    #[test]
    fn every_changed_byte_shows() {
        let bytes = line("id", r#"{"n":1}"#);
        for i in 0..bytes.len() {
            for flip in [1, 2, 32] {
                let mut changed = bytes.clone();
                changed[i] ^= flip;
                let read = Line::parse(&changed);
                assert!(read.is_none_or(|it| !it.is_sound()), "byte {i} ^ {flip}");
            }
        }
    }

    #[test]
    fn members_that_are_unknown_or_occur_twice_are_refused() {
        let text = String::from_utf8(line("id", "null")).unwrap();
        assert!(Line::parse(text.as_bytes()).is_some());
        for (from, to) in [
            (r#""id":"id""#, r#""id":"id","id":"other""#),
            (r#""id":"id""#, r#""id":"id","more":1"#),
            (r#""body":null,"#, ""),
        ] {
            assert!(Line::parse(text.replace(from, to).as_bytes()).is_none(), "{to}");
        }
    }

    #[test]
    fn depth_is_counted_outside_of_texts() {
        assert!(!is_deeper_than(br#"[[1],{"[":"\"[[["}]"#, 2));
        assert!(is_deeper_than(br#"[[1],{"[":["\"[[["]}]"#, 2));
        assert!(!is_deeper_than(br#""\\",[]"#, 1));
    }

    #[test]
    fn newlines_become_blanks() {
        let mut json = b"{\r\n\"a\\n\": 1\n}".to_vec();
        flatten(&mut json);
        assert_eq!(json, b"{  \"a\\n\": 1 }");
    }
}
