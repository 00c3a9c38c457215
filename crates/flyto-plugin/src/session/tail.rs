//! The end of a stream, for messages.

use std::collections::VecDeque;

use flyto_program::omission_notice;
use flyto_tools::Omitted;

/// Bytes that are kept: 8 KiB, a long traceback.
const KEPT_BYTES: usize = 8 * 1024;

/// The last bytes of a stream.
#[derive(Debug, Default)]
pub(super) struct Tail {
    kept: VecDeque<u8>,
    total_bytes: u64,
}

impl Tail {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total_bytes += bytes.len() as u64;
        let new = &bytes[bytes.len().saturating_sub(KEPT_BYTES)..];
        let excess = (self.kept.len() + new.len()).saturating_sub(KEPT_BYTES);
        self.kept.drain(..excess);
        self.kept.extend(new);
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// What was kept as text; a line says how much was not.
    pub(super) fn text(&self) -> String {
        let bytes: Vec<u8> = self.kept.iter().copied().collect();
        let omitted = self.total_bytes - bytes.len() as u64;
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
        assert_eq!(tail.text(), "one\ntwo");

        tail.push(&[b'x'; KEPT_BYTES - 4]);
        tail.push(b"\nlast\n");
        assert_eq!(tail.text(), format!("[… {} bytes omitted …]\nlast\n", KEPT_BYTES + 4));
        assert_eq!(tail.kept.len(), KEPT_BYTES);

        tail.push(&vec![b'y'; 3 * KEPT_BYTES]);
        assert!(tail.text().ends_with(&"y".repeat(KEPT_BYTES)));
        tail.clear();
        assert_eq!(tail.text(), "");
    }
}
