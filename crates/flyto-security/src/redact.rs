//! A text without its secrets.

use std::{borrow::Cow, ops::Range};

use crate::SecretMatch;

/// Replaces each span of `matches` by what it was: `[redacted: github-token, 40 characters]`. The rest of the text
/// stays as it is, so that a reader can go on with it.
///
/// Spans that overlap become one, named for the match of the highest tier. Spans beyond the text, or of another
/// text, are cut to characters of this one; nothing panics.
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

fn mark(it: &SecretMatch) -> Cow<'static, str> {
    format!("[redacted: {}, {} characters]", it.rule, it.length).into()
}

/// The spans in order, each within `len` and apart from the others, with the match that names it.
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
