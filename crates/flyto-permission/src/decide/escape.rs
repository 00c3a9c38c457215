//! Texts without their escapes.
//!
//! A text may be data for a program that takes escapes off. Whether there is such a
//! program is not known, so what a rule names in a reading without them is asked:
//!
//! | text | is data for | reading |
//! | --- | --- | --- |
//! | `{"url":"http:\/\/a.org"}` | a reader of JSON | `{"url":"http://a.org"}` |
//! | `{"p":"\u002eenv"}` | the same | `{"p":".env"}` |
//! | `path=secret%2Fk` | a reader of forms and queries | `path=secret/k` |
//! | `"\\/a"`, `%252Fa` | two of them, one behind the other | `\/a` and `/a`, `%2Fa` and `/a` |
//!
//! Escapes of other languages, as `&#46;` in HTML and `\x2e` in Python, are not read:
//! each would need a reader of its own.

use percent_encoding::percent_decode_str;

/// How many times escapes are taken off: a text in JSON may hold another one.
const MAX_ROUNDS: usize = 3;

/// What a text is without its escapes, those of JSON ([RFC 8259], section 7) and those
/// with a percent sign ([RFC 3986], section 2.1), one kind after the other. Empty for a
/// text without any.
///
/// No reading is longer than the one before. The work is at most twice
/// [`MAX_ROUNDS`] times the length of the text.
///
/// [RFC 8259]: https://www.rfc-editor.org/rfc/rfc8259#section-7
/// [RFC 3986]: https://www.rfc-editor.org/rfc/rfc3986#section-2.1
pub(super) fn unescaped(text: &str) -> Vec<String> {
    let mut res: Vec<String> = Vec::new();
    for take_off in [of_json, of_percent].repeat(MAX_ROUNDS) {
        let last = res.last().map_or(text, String::as_str);
        if let Some(next) = take_off(last) {
            res.push(next);
        }
    }
    res
}

/// Bytes behind percent signs; those that are no UTF-8 become U+FFFD.
///
/// `None` where nothing is escaped.
fn of_percent(text: &str) -> Option<String> {
    let is_escape = |at: usize| {
        let digits = text.as_bytes().get(at + 1..at + 3);
        digits.is_some_and(|it| it.iter().all(u8::is_ascii_hexdigit))
    };
    let is_escaped = text.match_indices('%').any(|(at, _)| is_escape(at));
    is_escaped.then(|| percent_decode_str(text).decode_utf8_lossy().into_owned())
}

/// Characters behind backslashes. A backslash before anything that JSON does not escape
/// stays, as in a pattern or a path of another system.
///
/// `None` where nothing is escaped.
fn of_json(text: &str) -> Option<String> {
    let mut res = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('\\') {
        let Some((it, n_bytes)) = escape(behind) else {
            res.push_str(&rest[..=before.len()]);
            rest = behind;
            continue;
        };
        res.push_str(before);
        res.push(it);
        rest = &behind[n_bytes..];
    }
    res.push_str(rest);
    (res.len() < text.len()).then_some(res)
}

/// The character that an escape stands for, and how long the escape is behind its
/// backslash.
fn escape(behind: &str) -> Option<(char, usize)> {
    let it = match behind.chars().next()? {
        it @ ('"' | '\\' | '/') => it,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return unicode(behind),
        _ => return None,
    };
    Some((it, 1))
}

/// The same for four digits behind a `u`, and for two such that stand for one character
/// beyond the first 65,536.
fn unicode(behind: &str) -> Option<(char, usize)> {
    /// `uXXXX`.
    const LENGTH: usize = 5;
    let unit = |at: usize| {
        let digits = behind.get(at + 1..at + LENGTH)?;
        let is_unit =
            behind[at..].starts_with('u') && digits.bytes().all(|it| it.is_ascii_hexdigit());
        u16::from_str_radix(digits, 16).ok().filter(|_| is_unit)
    };
    let first = unit(0)?;
    if let Some(it) = char::from_u32(first.into()) {
        return Some((it, LENGTH));
    }
    let second = behind.get(LENGTH..)?.starts_with('\\').then(|| unit(LENGTH + 1))??;
    let it = char::decode_utf16([first, second]).next()?.ok()?;
    Some((it, 2 * LENGTH + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(unescaped(text), expected, "{text}");
    }

    #[test]
    fn escapes_are_taken_off() {
        check(r"http:\/\/a.org", &["http://a.org"]);
        check(r"\u002eenv\n\ud83d\ude00.", &[".env\n😀."]);
        check("a%2Fb", &["a/b"]);
        check(r"a\/%2Eb", &["a/%2Eb", "a/.b"]);
        check(r"a\\\/b", &[r"a\/b", "a/b"]);
        check("%252525252e", &["%2525252e", "%25252e", "%252e"]);
    }

    #[test]
    fn what_is_no_escape_stays() {
        for text in ["a", "100%", "%d %zz", r"\d\.\u12", r"\ud83d\ud83d", r"\", r"\ud83d"] {
            check(text, &[]);
        }
        check(r"\.a\tb\.", &["\\.a\tb\\."]);
    }
}
