//! The end of a stream, for messages.
//!
//! Memory is [`KEPT_BYTES`] for each stream, however much comes. A position counts all bytes of
//! a session, so it stays right when the process is replaced.

use std::collections::VecDeque;

use flyto_program::omission_notice;
use flyto_tools::Omitted;

/// Bytes that are kept: 8 KiB, a long traceback.
const KEPT_BYTES: usize = 8 * 1024;

/// The last bytes of a stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail {
    kept: VecDeque<u8>,
    /// All bytes that came, kept or not, from every process of the session.
    total_bytes: u64,
    /// Where the stream of the process at hand begins.
    start_bytes: u64,
}

impl Tail {
    /// Adds what came; the oldest bytes make room.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total_bytes += bytes.len() as u64;
        let new = &bytes[bytes.len().saturating_sub(KEPT_BYTES)..];
        let excess = (self.kept.len() + new.len()).saturating_sub(KEPT_BYTES);
        self.kept.drain(..excess);
        self.kept.extend(new);
    }

    /// Begins anew with the stream of another process. Positions go on.
    pub(super) fn clear(&mut self) {
        self.kept.clear();
        self.start_bytes = self.total_bytes;
    }

    /// Where the stream is now.
    pub(super) fn position(&self) -> u64 {
        self.total_bytes
    }

    /// What came since a position, as text; a line says how much of it was not kept.
    /// A position before the process at hand counts as its start. A cut begins at a whole line,
    /// and bytes that are no UTF-8 are shown as U+FFFD.
    pub(super) fn text_since(&self, position: u64) -> String {
        let came = self.total_bytes - position.clamp(self.start_bytes, self.total_bytes);
        let n = usize::try_from(came).unwrap_or(usize::MAX).min(self.kept.len());
        let bytes: Vec<u8> = self.kept.iter().skip(self.kept.len() - n).copied().collect();
        let omitted = came - n as u64;
        if omitted == 0 {
            return String::from_utf8_lossy(&bytes).into_owned();
        }
        // The cut went through a line, and perhaps through a character.
        let whole_lines = bytes.iter().position(|it| *it == b'\n').map_or(0, |at| at + 1);
        let notice = omission_notice(&Omitted::new(omitted + whole_lines as u64));
        format!("{notice}\n{}", String::from_utf8_lossy(&bytes[whole_lines..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_in_whole_lines() {
        let mut tail = Tail::default();
        tail.push(b"one\n");
        tail.push(b"two");
        assert_eq!(tail.text_since(0), "one\ntwo");

        tail.push(&[b'x'; KEPT_BYTES - 4]);
        tail.push(b"\nlast\n");
        assert_eq!(tail.text_since(0), format!("[… {} bytes omitted …]\nlast\n", KEPT_BYTES + 4));
        assert_eq!(tail.kept.len(), KEPT_BYTES);

        tail.push(&vec![b'y'; 3 * KEPT_BYTES]);
        assert!(tail.text_since(0).ends_with(&"y".repeat(KEPT_BYTES)));
        tail.clear();
        assert_eq!(tail.text_since(0), "");
    }

    #[test]
    fn a_position_parts_what_came_before_from_what_came_since() {
        let mut tail = Tail::default();
        tail.push(b"before\n");
        let position = tail.position();
        assert_eq!(tail.text_since(position), "");
        tail.push(b"since\n");
        assert_eq!(tail.text_since(position), "since\n");
        assert_eq!(tail.text_since(0), "before\nsince\n");

        // Another process: nothing of the first is left, and positions are still in order.
        tail.clear();
        tail.push(b"other\n");
        assert_eq!(
            (tail.text_since(0), tail.text_since(position)),
            ("other\n".into(), "other\n".into())
        );
        let position = tail.position();
        tail.push(&[b'x'; 2 * KEPT_BYTES]);
        let text = tail.text_since(position);
        assert!(text.starts_with(&format!("[… {KEPT_BYTES} bytes omitted …]")), "{text}");
    }
}
