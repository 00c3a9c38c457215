//! Output as text, truncated in the middle where it is too long.

use flyto_execenv::Captured;
use flyto_tools::Omitted;

/// Captured output as text.
///
/// Output that was captured whole is its text. Of longer output the start and the end were kept; then the
/// text has both, with [`omission_notice`] as a line between them, and no character is cut in two.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Text {
    /// The text. Bytes that are not UTF-8 are shown as U+FFFD; where something was left out, a line
    /// says how much.
    pub text: String,
    /// The bytes, where all of them were kept and they are not UTF-8; `None` where the text says
    /// everything.
    pub raw: Option<Vec<u8>>,
    /// How many bytes were left out, and the file with all of them, or why there is none; `None` where
    /// nothing was.
    pub omitted: Option<Omitted>,
}

/// How much of each end of an output that is too long to be captured whole stands in the text of a failure: 4 KiB, about
/// 50 lines. The file with the whole has the rest.
const FAILURE_ENDS_BYTES: usize = 4 * 1024;

impl Text {
    pub(crate) fn new(captured: &Captured) -> Self {
        Self::with_ends(captured, usize::MAX)
    }

    /// The text for a failure: of output that was not captured whole, the first and the last 4 KiB.
    pub(crate) fn for_failure(captured: &Captured) -> Self {
        Self::with_ends(captured, FAILURE_ENDS_BYTES)
    }

    /// Of output that was not captured whole, at most so many bytes of each end.
    fn with_ends(captured: &Captured, most_bytes: usize) -> Self {
        if captured.is_complete() {
            return match String::from_utf8(captured.bytes().into_owned()) {
                Ok(text) => Self { text, raw: None, omitted: None },
                Err(err) => Self {
                    text: String::from_utf8_lossy(err.as_bytes()).into_owned(),
                    raw: Some(err.into_bytes()),
                    omitted: None,
                },
            };
        }
        // A character that the cut went through is left out whole.
        let (head, tail) = (&captured.head, &captured.tail);
        let head = without_cut_end(&head[..head.len().min(most_bytes)]);
        let tail = without_cut_start(&tail[tail.len().saturating_sub(most_bytes)..]);
        let bytes = captured.total_bytes - (head.len() + tail.len()) as u64;
        let mut omitted = Omitted::new(bytes);
        if let Some(spill) = &captured.spill {
            let path = spill.path.to_string_lossy();
            omitted = match &spill.error {
                None => omitted.with_whole(path),
                Some(err) => omitted.with_not_kept(format!("{path}: {err}")),
            };
        }
        let text = format!(
            "{}\n{}\n{}",
            String::from_utf8_lossy(head),
            omission_notice(&omitted),
            String::from_utf8_lossy(tail)
        );
        Self { text, raw: None, omitted: Some(omitted) }
    }
}

/// The line that stands where output was left out: how much it was, and where the whole of it lies or why it does not.
///
/// ```
/// use flyto_program::omission_notice;
/// use flyto_tools::Omitted;
///
/// let omitted = Omitted::new(512).with_whole("/tmp/out.txt");
/// assert_eq!(omission_notice(&omitted), "[… 512 bytes omitted, the whole is in /tmp/out.txt …]");
/// ```
#[must_use]
pub fn omission_notice(omitted: &Omitted) -> String {
    let bytes = omitted.bytes;
    match (&omitted.whole, &omitted.not_kept) {
        (Some(whole), _) => format!("[… {bytes} bytes omitted, the whole is in {whole} …]"),
        (None, Some(why)) => format!("[… {bytes} bytes omitted, the whole is not kept: {why} …]"),
        (None, None) => format!("[… {bytes} bytes omitted …]"),
    }
}

/// `bytes` without a character that is incomplete at the end.
fn without_cut_end(bytes: &[u8]) -> &[u8] {
    for back in 1..=bytes.len().min(3) {
        let at = bytes.len() - back;
        let wanted = match bytes[at] {
            0b1100_0000..=0b1101_1111 => 2,
            0b1110_0000..=0b1110_1111 => 3,
            0b1111_0000..=0b1111_0111 => 4,
            0b1000_0000..=0b1011_1111 => continue,
            _ => return bytes,
        };
        return if wanted > back { &bytes[..at] } else { bytes };
    }
    bytes
}

/// `bytes` without the rest of a character at the start.
fn without_cut_start(bytes: &[u8]) -> &[u8] {
    let rest = bytes.iter().take(3).take_while(|it| (0x80..0xc0).contains(*it)).count();
    &bytes[rest..]
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use flyto_execenv::{Capture, ExecEnv, Output, Spec, local::Local};
    use proptest::prelude::*;

    use super::*;

    fn captured(head: &[u8], tail: &[u8], total_bytes: u64) -> Captured {
        let mut res = Captured::complete(head);
        res.tail = tail.to_vec();
        res.total_bytes = total_bytes;
        res
    }

    #[track_caller]
    fn check(captured: &Captured, expect: Expect) {
        expect.assert_eq(&format!("{:?}", Text::new(captured)));
    }

    #[test]
    fn complete_output_is_the_text() {
        check(
            &captured("hé\n".as_bytes(), b"", 4),
            expect![[r#"Text { text: "hé\n", raw: None, omitted: None }"#]],
        );
        check(
            &captured(b"a\xff", b"b", 3),
            expect![[r#"Text { text: "a�b", raw: Some([97, 255, 98]), omitted: None }"#]],
        );
    }

    #[test]
    fn what_is_left_out_is_said() {
        check(
            &captured(b"ab", b"yz", 26),
            expect![[
                r#"Text { text: "ab\n[… 22 bytes omitted …]\nyz", raw: None, omitted: Some(Omitted { bytes: 22, whole: None, not_kept: None }) }"#
            ]],
        );
    }

    #[test]
    fn a_failure_has_the_ends_of_what_is_too_long() {
        let long = [b'x'; 2 * FAILURE_ENDS_BYTES];
        let whole = captured(&long, &long, 2 * long.len() as u64);
        assert_eq!(Text::for_failure(&whole), Text::new(&whole));
        let cut = captured(&long, &long, 1 << 20);
        let text = Text::for_failure(&cut);
        let n_omitted = (1 << 20) - 2 * FAILURE_ENDS_BYTES as u64;
        assert_eq!(text.omitted, Some(Omitted::new(n_omitted)));
        let end = "x".repeat(FAILURE_ENDS_BYTES);
        assert_eq!(text.text, format!("{end}\n[… {n_omitted} bytes omitted …]\n{end}"));
    }

    #[tokio::test]
    async fn why_there_is_no_file_with_the_whole_is_said() {
        let capture = Capture::limit(4).spill_to("/dev/null/out");
        let spec = Spec::new("/bin/sh").args(["-c", "printf 0123456789"]);
        let spec = spec.stdout(Output::Captured(capture));
        let outcome = ExecEnv::new(Local::new()).run(spec).await.expect("it ran");
        let omitted = Text::new(&outcome.stdout).omitted.expect("something is left out");
        assert_eq!((omitted.bytes, omitted.whole), (6, None));
        let why = omitted.not_kept.expect("it was not kept");
        assert!(why.starts_with("/dev/null/out: "), "{why}");
    }

    proptest! {
        #[test]
        fn a_cut_through_a_character_leaves_no_replacement(
            text in "\\PC{0,40}",
            head in 0usize..60,
            tail in 0usize..60,
        ) {
            let bytes = text.as_bytes();
            prop_assume!(head + tail < bytes.len());
            let cut = captured(&bytes[..head], &bytes[bytes.len() - tail..], bytes.len() as u64);
            let res = Text::new(&cut);
            prop_assert!(!res.text.contains('\u{fffd}') || text.contains('\u{fffd}'), "{}", res.text);
            let omitted = res.omitted.expect("something is left out");
            let notice = omission_notice(&omitted);
            let kept = res.text.len() - notice.len() - 2;
            prop_assert_eq!(kept as u64 + omitted.bytes, bytes.len() as u64);
        }
    }
}
