//! Words that a shell puts together: quoted parts beside bare ones, escaped characters, lines that go on; and what
//! `printf` makes of its arguments.
//!
//! A secret has no blanks, so a word ends at one whether it is in quotes or not, and no quote has to be paired with
//! another: what a shell would leave out is left out. A word is looked for only where a quote or a backslash stands
//! within letters and digits.

use std::ops::Range;

use super::joined::{
    Joined, MAX_JOINED_BYTES, MAX_PARTS, MAX_VALUE_BYTES, MIN_JOINED_BYTES, Variable,
};

/// The most quotes and backslashes side by side.
const MAX_SEAM_BYTES: usize = 8;

/// The bytes of words: ASCII letters and digits, `_` and `-`.
const PARTS: [bool; 256] = {
    let mut res = [false; 256];
    let mut at = 0;
    while at < res.len() {
        let byte = at as u8;
        res[at] = byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        at += 1;
    }
    res
};

/// Words with seams in them: `g"h"p_…`, `ghp_16C'7e…'`, `ghp_16\C7…`, and the same over the end of a line.
///
/// Each word is put together once. `seams` are the places of quotes and backslashes that are [some](is_seam); `budget` is what
/// joined texts may still have together, in bytes.
pub(super) fn words(text: &[u8], mut seams: Vec<usize>, budget: &mut usize, res: &mut Vec<Joined>) {
    seams.sort_unstable();
    let mut done = 0;
    for at in seams {
        if at < done {
            continue;
        }
        let first = done.max(at.saturating_sub(MAX_VALUE_BYTES));
        let start = text[first..at].iter().rposition(is_end).map_or(first, |it| first + it + 1);
        let (joined, end) = word(text, start);
        done = end.max(at + 1);
        push(joined, start..end, budget, res);
    }
}

/// What `printf` puts together of words: `printf '%s%s' ghp_ 16C7…`. A format with anything else than texts, `%s` and
/// `%b` is not read.
pub(super) fn printed(text: &[u8], budget: &mut usize, res: &mut Vec<Joined>) {
    let mut done = 0;
    for at in memchr::memmem::find_iter(text, b"printf ") {
        if at < done {
            continue;
        }
        let (mut parts, mut end) = (Vec::new(), at + b"printf".len());
        while parts.len() < MAX_PARTS {
            let n = text[end..].iter().take(64).take_while(|it| matches!(it, b' ' | b'\t')).count();
            let (next, to) = word(text, end + n);
            if n == 0 || to == end + n {
                break;
            }
            end = to;
            // Options of bash and of programs: `--`, `-v NAME` has no output.
            if next.value != b"--" {
                parts.push(next);
            }
        }
        done = end;
        if let Some((format, words)) = parts.split_first()
            && let Some(printed) = print(format, words)
        {
            push(printed, at..end, budget, res);
        }
    }
}

/// The texts of `words` as the format has them; the format is used again while there are words.
fn print(format: &Variable, words: &[Variable]) -> Option<Variable> {
    let has_place = |it: &[u8]| it.windows(2).any(|it| matches!(it, b"%s" | b"%b"));
    if !has_place(&format.value) || words.len() < 2 {
        return None;
    }
    let mut res = Variable::default();
    let mut words = words.iter();
    while words.len() > 0 {
        let mut at = 0;
        while let Some(byte) = format.value.get(at) {
            match (byte, format.value.get(at + 1)) {
                (b'%', Some(b's' | b'b')) => {
                    if let Some(word) = words.next() {
                        res.append(word);
                    }
                    at += 2;
                }
                (b'%', _) => return None,
                (byte, _) => {
                    res.value.push(*byte);
                    at += 1;
                }
            }
        }
        if res.value.len() > MAX_JOINED_BYTES {
            return None;
        }
    }
    Some(res)
}

fn push(joined: Variable, span: Range<usize>, budget: &mut usize, res: &mut Vec<Joined>) {
    let Variable { value, parts } = joined;
    if parts.len() > 1 && value.len() >= MIN_JOINED_BYTES && value.len() <= *budget {
        *budget -= value.len();
        res.push(Joined { span, text: value, parts });
    }
}

/// Whether the quotes and backslashes that begin at `at` stand within letters and digits.
///
/// It is asked of each quote of a text, and mostly answered by the bytes on both sides.
pub(super) fn is_seam(text: &[u8], at: usize) -> bool {
    let is_part = |it: Option<&u8>| it.is_some_and(|it| PARTS[usize::from(*it)]);
    if !is_part(text.get(at.wrapping_sub(1))) {
        return false;
    }
    if is_blank_escape(text, at) {
        return false;
    }
    let next = text.get(at + 1);
    if !next.is_some_and(|it| matches!(it, b'"' | b'\'' | b'\\' | b'\n')) {
        return is_part(next);
    }
    let rest = &text[at..text.len().min(at + MAX_SEAM_BYTES + 1)];
    let is_left_out = |it: &&u8| matches!(it, b'"' | b'\'' | b'\\' | b'\n');
    let n = rest.iter().take_while(is_left_out).count();
    let has_line_end = |it: &[u8]| memchr::memchr(b'\n', it).is_some();
    is_part(rest.get(n))
        // A line goes on behind a backslash only.
        && (!has_line_end(&rest[..n]) || rest[..n] == *b"\\\n")
}

/// The word that begins at `start` without its quotes and backslashes, and where it ends.
fn word(text: &[u8], start: usize) -> (Variable, usize) {
    let mut res = Variable::default();
    let to = text.len().min(start + MAX_JOINED_BYTES);
    let (mut at, mut part) = (start, start);
    while at < to && res.parts.len() < MAX_PARTS {
        let goes_on = text[at] == b'\\' && text.get(at + 1) == Some(&b'\n');
        if is_end(&text[at]) || is_blank_escape(text, at) {
            break;
        }
        if !matches!(text[at], b'"' | b'\'' | b'\\') {
            at += 1;
            continue;
        }
        res.push(text, part..at);
        at += 1 + usize::from(goes_on);
        part = at;
    }
    let at = at.min(to);
    res.push(text, part.min(at)..at);
    (res, at)
}

/// Whether `at` is the `\n`, `\r` or `\t` of JSON and of most languages. To a shell it is a letter; elsewhere it ends the
/// token before it, and text in JSON is looked at more often than words that are escaped so.
fn is_blank_escape(text: &[u8], at: usize) -> bool {
    matches!(text[at..], [b'\\', b'n' | b'r' | b't', ..])
}

/// What ends a word, in quotes or not.
fn is_end(it: &u8) -> bool {
    *it <= b' '
        || matches!(
            it,
            b';' | b'|'
                | b'&'
                | b'<'
                | b'>'
                | b'('
                | b')'
                | b'`'
                | b','
                | b'{'
                | b'}'
                | b'['
                | b']'
        )
}
