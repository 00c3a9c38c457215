//! A text without its secrets.
//!
//! What is written in the place of a secret names the rule and the length, and no character of it.
//! Both functions go over the matches once in the order of their spans; the work is that of sorting
//! them and copying the text.

use std::ops::Range;

use crate::SecretMatch;

/// Replaces each span of `matches` by what it was: `[redacted: github-token, 40 characters]`. The rest of the text
/// stays as it is, so that a reader can go on with it.
///
/// A number that is the value of a member of JSON, or an item of a list, is replaced by a string, so that the text is JSON still.
///
/// Spans that overlap become one, named for the match of the highest tier. Spans beyond the text, or of another
/// text, are cut to characters of this one; nothing panics.
///
/// ```
/// use flyto_security::{DefaultGuard, SecretGuard, redact};
///
/// let text = "first\nDB_PASSWORD='gr8-Horse-Battery'\nlast";
/// let found = DefaultGuard::default().scan("app.env", text.as_bytes())?;
/// assert_eq!(
///     redact(text, &found),
///     "first\nDB_PASSWORD='[redacted: assigned-password, 17 characters]'\nlast"
/// );
/// # Ok::<(), flyto_security::ScanError>(())
/// ```
#[must_use]
pub fn redact(text: &str, matches: &[SecretMatch]) -> String {
    let mut res = String::with_capacity(text.len());
    let mut done = 0;
    for (span, it) in merged(text.len(), matches) {
        let start = text.floor_char_boundary(span.start).max(done);
        let end = text.ceil_char_boundary(span.end).max(start);
        res.push_str(&text[done..start]);
        res.push_str(&mark(it, is_bare(text.as_bytes(), start..end)));
        done = end;
    }
    res.push_str(&text[done..]);
    res
}

/// Does the same to bytes that need not be UTF-8.
///
/// Bytes outside of the spans stay as they are. Of a text that is UTF-8 it gives what
/// [`redact`](crate::redact()) does, where the spans end between characters, as those of a scan do.
#[must_use]
pub fn redact_bytes(content: &[u8], matches: &[SecretMatch]) -> Vec<u8> {
    let mut res = Vec::with_capacity(content.len());
    let mut done = 0;
    for (span, it) in merged(content.len(), matches) {
        res.extend_from_slice(&content[done..span.start]);
        res.extend_from_slice(mark(it, is_bare(content, span.clone())).as_bytes());
        done = span.end;
    }
    res.extend_from_slice(&content[done..]);
    res
}

/// What stands in the place of a secret; in quotes where the secret is a number of JSON.
fn mark(it: &SecretMatch, is_bare: bool) -> String {
    let quote = if is_bare { "\"" } else { "" };
    format!("{quote}[redacted: {}, {} characters]{quote}", it.rule, it.length)
}

/// How far white space around a value is looked through, in bytes.
const MAX_GAP_BYTES: usize = 256;

/// Whether a span is a whole number where JSON has a value: behind `"name":` or in a list.
fn is_bare(content: &[u8], span: Range<usize>) -> bool {
    let is_number = |it: &u8| matches!(it, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
    if !content[span.clone()].iter().all(is_number) {
        return false;
    }
    let before = content[span.start.saturating_sub(MAX_GAP_BYTES)..span.start].trim_ascii_end();
    let behind = &content[span.end..content.len().min(span.end + MAX_GAP_BYTES)];
    let next = behind.trim_ascii_start().first();
    match before.split_last() {
        Some((b':', rest)) => {
            rest.trim_ascii_end().ends_with(b"\"") && !matches!(next, Some(b'"' | b'\''))
        }
        Some((b'[' | b',', _)) => matches!(next, Some(b',' | b']')),
        _ => false,
    }
}

/// The spans in order, each within `len` and apart from the others, with the match that names it.
///
/// Empty spans are left out. Of matches of one tier the first gives the name.
fn merged(len: usize, matches: &[SecretMatch]) -> Vec<(Range<usize>, &SecretMatch)> {
    let mut spans: Vec<(Range<usize>, &SecretMatch)> = matches
        .iter()
        .map(|it| (it.span.start.min(len)..it.span.end.min(len), it))
        .filter(|(span, _)| span.start < span.end)
        .collect();
    spans.sort_by_key(|(span, _)| (span.start, span.end));
    let mut res: Vec<(Range<usize>, &SecretMatch)> = Vec::new();
    for (span, it) in spans {
        match res.last_mut() {
            Some((last, named)) if span.start < last.end => {
                last.end = last.end.max(span.end);
                if it.tier > named.tier {
                    *named = it;
                }
            }
            _ => res.push((span, it)),
        }
    }
    res
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fingerprint, Tier};

    #[track_caller]
    fn check(text: &str, secret: &str, expected: &str) {
        let start = text.find(secret).unwrap();
        let span = start..start + secret.len();
        let id = Fingerprint([0; 32]);
        let it = SecretMatch::new("r", "a secret", Tier::Ask, span, secret.as_bytes(), id);
        let mark = format!("[redacted: r, {} characters]", secret.len());
        let expected = expected.replace('_', &mark);
        assert_eq!(redact(text, std::slice::from_ref(&it)), expected);
        assert_eq!(redact_bytes(text.as_bytes(), &[it]), expected.as_bytes());
    }

    #[test]
    fn what_was_json_is_json_still() {
        check(r#"{"pin": 12345678}"#, "12345678", r#"{"pin": "_"}"#);
        check("{\"pin\" :\n -1.5e8\n}", "-1.5e8", "{\"pin\" :\n \"_\"\n}");
        check(r#"{"pins":[1, 12345678 ,2]}"#, "12345678", r#"{"pins":[1, "_" ,2]}"#);
        check(r#"{"pin": "12345678"}"#, "12345678", r#"{"pin": "_"}"#);
        check(r#"{"pin": "a12345678"}"#, "12345678", r#"{"pin": "a_"}"#);
        // Other texts get no quotes.
        check("pin: 12345678", "12345678", "pin: _");
        check("PIN=12345678", "12345678", "PIN=_");
        check("https://a:12345678@b", "12345678", "https://a:_@b");
    }
}
