//! Secrets in parts that the text puts together: shell variables side by side, literals with `+` between them.

use std::{collections::HashMap, ops::Range};

use super::{Piece, Scan};
use crate::{ScanError, View};

/// As many variables as are remembered.
const MAX_VARIABLES: usize = 4096;

/// A longer value is cut.
const MAX_VALUE_BYTES: usize = 512;

/// A longer text is not put together.
const MAX_JOINED_BYTES: usize = 4096;

/// As many parts as are put together.
const MAX_PARTS: usize = 64;

impl Scan<'_> {
    /// Puts parts together and looks at what comes of it. All joined texts together have at most four times the
    /// bytes of the piece.
    pub(super) fn joined(&mut self, piece: &Piece<'_>) -> Result<(), ScanError> {
        let mut budget = (piece.text.len() * 4).max(4096);
        let mut joined = Vec::new();
        literals(piece.text, &mut budget, &mut joined);
        if memchr::memchr(b'$', piece.text).is_some()
            || memchr::memmem::find(piece.text, b"+=").is_some()
        {
            variables(piece.text, &mut budget, &mut joined);
        }
        for (span, text) in joined {
            self.decoded(piece, span, View::Joined, &text)?;
        }
        Ok(())
    }
}

/// Literals that follow each other: `"a" + "b"`, `'a''b'`, `"a"  "b"`.
fn literals(text: &[u8], budget: &mut usize, res: &mut Vec<(Range<usize>, Vec<u8>)>) {
    let mut done = 0;
    for at in memchr::memchr2_iter(b'"', b'\'', text) {
        // A closing quote with a literal behind it.
        if at < done || at == 0 || next_literal(text, at + 1).is_none() {
            continue;
        }
        let Some(first) = literal_before(text, at, done) else { continue };
        let mut joined = text[first.clone()].to_vec();
        let mut end = at + 1;
        let mut n_parts = 1;
        while let Some(next) = next_literal(text, end) {
            if joined.len() + next.len() > MAX_JOINED_BYTES || n_parts >= MAX_PARTS {
                break;
            }
            joined.extend_from_slice(&text[next.clone()]);
            end = next.end + 1;
            n_parts += 1;
        }
        done = end;
        if n_parts > 1 && joined.len() >= 12 && joined.len() <= *budget {
            *budget -= joined.len();
            res.push((first.start..end, joined));
        }
    }
}

/// The literal that the quote at `at` closes.
fn literal_before(text: &[u8], at: usize, from: usize) -> Option<Range<usize>> {
    let first = from.max(at.saturating_sub(MAX_VALUE_BYTES));
    let before = &text[first..at];
    let open = memchr::memrchr2(text[at], b'\n', before)?;
    let start = first + open + 1;
    (text[start - 1] == text[at]).then_some(start..at)
}

/// The literal behind `at`, with nothing, blanks, `+`, `.` or an escaped line end before it.
fn next_literal(text: &[u8], at: usize) -> Option<Range<usize>> {
    let is_glue = |it: &&u8| matches!(it, b' ' | b'\t' | b'+' | b'.' | b'\n' | b'\\' | b'\r');
    let glue = text.get(at..)?.iter().take(48).take_while(is_glue).count();
    let quote = *text.get(at + glue)?;
    // A blank alone is between two arguments of a shell.
    let is_glued =
        glue == 0 || text[at..at + glue].iter().any(|it| matches!(it, b'+' | b'.' | b'\n'));
    if !matches!(quote, b'"' | b'\'') || !is_glued {
        return None;
    }
    let start = at + glue + 1;
    let rest = &text[start..text.len().min(start + MAX_VALUE_BYTES)];
    let len = memchr::memchr2(quote, b'\n', rest)?;
    (rest[len] == quote && len > 0).then_some(start..start + len)
}

/// Words with shell variables in them, whose values the text has: `$A$B`, `"${A}rest"`; and values that grow by `+=`.
fn variables(text: &[u8], budget: &mut usize, res: &mut Vec<(Range<usize>, Vec<u8>)>) {
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut done = 0;
    for at in memchr::memchr_iter(b'$', text) {
        if at < done {
            continue;
        }
        let is_end = |it: &u8| {
            *it <= b' ' || matches!(it, b';' | b'|' | b'&' | b'<' | b'>' | b'(' | b')' | b'`')
        };
        let first = done.max(at.saturating_sub(MAX_VALUE_BYTES));
        let start = text[first..at].iter().rposition(is_end).map_or(first, |it| first + it + 1);
        let to = text.len().min(at + MAX_JOINED_BYTES);
        let end = text[at..to].iter().position(is_end).map_or(to, |it| at + it);
        done = end;
        words.push(start..end);
    }
    let values = assignments(text, budget, res);
    if values.is_empty() {
        return;
    }
    for word in words {
        let Some(joined) = substitute(&text[word.clone()], &values) else { continue };
        if joined.len() > *budget {
            return;
        }
        if joined.len() >= 12 {
            *budget -= joined.len();
            res.push((word, joined));
        }
    }
}

/// The word with the values of its variables; `None` where it has fewer than two parts, or a variable whose value is
/// not in the text.
fn substitute(word: &[u8], values: &HashMap<&[u8], Vec<u8>>) -> Option<Vec<u8>> {
    let mut res = Vec::new();
    let (mut at, mut n_values, mut n_plain) = (0, 0, 0);
    while at < word.len() && res.len() <= MAX_JOINED_BYTES {
        if word[at] == b'$' {
            let is_braced = word.get(at + 1) == Some(&b'{');
            let from = at + 1 + usize::from(is_braced);
            let n = word[from.min(word.len())..]
                .iter()
                .take_while(|it| it.is_ascii_alphanumeric() || **it == b'_')
                .count();
            if n == 0 {
                return None;
            }
            at = from + n;
            if is_braced {
                if word.get(at) != Some(&b'}') {
                    return None;
                }
                at += 1;
            }
            res.extend_from_slice(values.get(&word[from..from + n])?);
            n_values += 1;
        } else {
            if !matches!(word[at], b'"' | b'\'' | b'\\') {
                res.push(word[at]);
                n_plain += usize::from(word[at].is_ascii_alphanumeric());
            }
            at += 1;
        }
    }
    (n_values > 1 || (n_values == 1 && n_plain > 0)).then_some(res)
}

/// The literal values of variables, by name. A value that grew by `+=` is put into `res` as well.
fn assignments<'t>(
    text: &'t [u8],
    budget: &mut usize,
    res: &mut Vec<(Range<usize>, Vec<u8>)>,
) -> HashMap<&'t [u8], Vec<u8>> {
    let mut values: HashMap<&[u8], Vec<u8>> = HashMap::new();
    let mut grown: HashMap<&[u8], Range<usize>> = HashMap::new();
    for at in memchr::memchr_iter(b'=', text) {
        let grows = at > 0 && text[at - 1] == b'+';
        let mut name_end = at - usize::from(grows);
        while name_end > 0 && grows && text[name_end - 1] == b' ' && at - name_end < 4 {
            name_end -= 1;
        }
        let first = name_end.saturating_sub(64);
        let n = text[first..name_end]
            .iter()
            .rev()
            .take_while(|it| it.is_ascii_alphanumeric() || **it == b'_')
            .count();
        if n == 0 || n == 64 {
            continue;
        }
        let name = &text[name_end - n..name_end];
        let blanks = if grows {
            text[at + 1..].iter().take(4).take_while(|it| **it == b' ').count()
        } else {
            0
        };
        let Some(value) = value_at(text, at + 1 + blanks) else { continue };
        if values.len() >= MAX_VARIABLES && !values.contains_key(name) {
            continue;
        }
        let known = values.entry(name).or_default();
        if !grows {
            known.clear();
        } else if !known.is_empty() {
            let whole = grown.entry(name).or_insert(value.clone());
            whole.end = value.end;
        }
        if known.len() < MAX_JOINED_BYTES {
            known.extend_from_slice(&text[value]);
        }
    }
    for (name, span) in grown {
        if let Some(value) = values.get(name)
            && value.len() <= *budget
        {
            *budget -= value.len();
            res.push((span, value.clone()));
        }
    }
    values
}

/// The literal at `at`, quoted or bare, without what a shell would put in.
fn value_at(text: &[u8], at: usize) -> Option<Range<usize>> {
    let quote = text.get(at).copied().filter(|it| matches!(it, b'"' | b'\''));
    let start = at + usize::from(quote.is_some());
    let rest = &text[start.min(text.len())..text.len().min(start + MAX_VALUE_BYTES)];
    let is_end = |it: &u8| match quote {
        Some(quote) => *it == quote || *it == b'\n',
        None => {
            *it <= b' '
                || matches!(
                    it,
                    b';' | b'|' | b'&' | b'<' | b'>' | b'(' | b')' | b'`' | b'"' | b'\'' | b'='
                )
        }
    };
    let len = rest.iter().position(is_end).unwrap_or(rest.len());
    let value = &rest[..len];
    (len > 0 && (quote == Some(b'\'') || !value.contains(&b'$'))).then_some(start..start + len)
}
