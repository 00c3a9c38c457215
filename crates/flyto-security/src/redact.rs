//! A text without its secrets.
//!
//! What is written in the place of a secret names the rule and the length, and no character of it.
//! Both functions go over the matches once in the order of their spans; the work is that of sorting
//! them and copying the text.

use std::{borrow::Cow, ops::Range};

use crate::SecretMatch;

/// Replaces each span of `matches` by what it was: `[redacted: github-token, 40 characters]`. The rest of the text
/// stays as it is, so that a reader can go on with it.
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
        res.push_str(&mark(it));
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
        res.extend_from_slice(mark(it).as_bytes());
        done = span.end;
    }
    res.extend_from_slice(&content[done..]);
    res
}

/// What stands in the place of a secret.
fn mark(it: &SecretMatch) -> Cow<'static, str> {
    format!("[redacted: {}, {} characters]", it.rule, it.length).into()
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
