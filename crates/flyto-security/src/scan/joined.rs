//! Secrets in parts that the text puts together: shell variables side by side, literals with `+` between them, and the
//! words of a shell.
//!
//! No language is read: literals that stand side by side are put together, and variables are known
//! by `NAME=value` wherever it stands. All that is put together is bounded by a budget, so that a
//! text of variables of variables does not grow. What is found has the span of the joined word and
//! of each part.

use std::{collections::HashMap, ops::Range};

use super::{
    Piece, Scan,
    words::{is_seam, printed, words},
};
use crate::{ScanError, SecretMatch, View};

/// As many variables as are remembered.
///
/// Further ones are not known.
const MAX_VARIABLES: usize = 4096;

/// A longer value is cut.
pub(super) const MAX_VALUE_BYTES: usize = 512;

/// A shorter text is no secret.
pub(super) const MIN_JOINED_BYTES: usize = 12;

/// A longer text is not put together.
pub(super) const MAX_JOINED_BYTES: usize = 4096;

/// As many parts as are put together.
pub(super) const MAX_PARTS: usize = 64;

/// A text that was put together.
pub(super) struct Joined {
    /// Where it is put together.
    /// In the piece.
    pub(super) span: Range<usize>,
    pub(super) text: Vec<u8>,
    pub(super) parts: Vec<Part>,
}

/// A part of a joined text.
#[derive(Clone)]
pub(super) struct Part {
    /// Where it begins in the joined text.
    at: usize,
    /// Where it stands in the piece.
    source: Range<usize>,
}

impl Part {
    /// What `span` of the joined text has of this part, in the piece.
    ///
    /// `None` where it has nothing of it.
    fn overlap(&self, span: &Range<usize>) -> Option<Range<usize>> {
        let start = span.start.max(self.at);
        let end = span.end.min(self.at + self.source.len());
        let source = |it: usize| self.source.start + it - self.at;
        (start < end).then(|| source(start)..source(end))
    }
}

/// The value of a variable.
///
/// The value may have come in several parts, by `+=`; `parts` say where each stands.
#[derive(Default)]
pub(super) struct Variable {
    pub(super) value: Vec<u8>,
    pub(super) parts: Vec<Part>,
}

impl Variable {
    /// Empty parts, and what would make the value longer than its bound and one part, are left out.
    pub(super) fn push(&mut self, text: &[u8], source: Range<usize>) {
        if self.value.len() < MAX_JOINED_BYTES && !source.is_empty() {
            self.parts.push(Part { at: self.value.len(), source: source.clone() });
            self.value.extend_from_slice(&text[source]);
        }
    }

    /// Adds another one behind it.
    pub(super) fn append(&mut self, other: &Self) {
        let n_before = self.value.len();
        let moved = |it: &Part| Part { at: n_before + it.at, source: it.source.clone() };
        self.parts.extend(other.parts.iter().map(moved));
        self.value.extend_from_slice(&other.value);
    }
}

impl Scan<'_> {
    /// Puts parts together and looks at what comes of it. All joined texts together have at most four times the
    /// bytes of the piece.
    ///
    /// `seams` are the backslashes within words; `prints` says that there is a `printf`.
    pub(super) fn joined(
        &mut self,
        piece: &Piece<'_>,
        mut seams: Vec<usize>,
        prints: bool,
    ) -> Result<(), ScanError> {
        let mut budget = (piece.text.len() * 4).max(4096);
        let mut joined = Vec::new();
        literals(piece.text, &mut seams, &mut budget, &mut joined);
        words(piece.text, seams, &mut budget, &mut joined);
        if prints {
            printed(piece.text, &mut budget, &mut joined);
        }
        if memchr::memchr(b'$', piece.text).is_some()
            || memchr::memmem::find(piece.text, b"+=").is_some()
        {
            variables(piece.text, &mut budget, &mut joined);
        }
        for Joined { span, text, parts } in joined {
            let n_before = self.found.len();
            self.look_at(&Piece { text: &text, view: View::Joined, outer: None, depth: 1 })?;
            // Each part is a place of the secret, which a redacted text must not show.
            for it in self.found.split_off(n_before) {
                let places = parts.iter().filter_map(|part| part.overlap(&it.span));
                let copies = places.map(|span| SecretMatch { span, ..it.clone() });
                self.found.extend(copies);
                self.found.push(SecretMatch { span: span.clone(), ..it });
            }
        }
        Ok(())
    }
}

/// Literals that follow each other: `"a" + "b"`, `'a''b'`, `"a"  "b"`.
///
/// Each literal is part of one joined text at most. `seams` gets the quotes that stand within words.
fn literals(text: &[u8], seams: &mut Vec<usize>, budget: &mut usize, res: &mut Vec<Joined>) {
    let mut done = 0;
    for at in memchr::memchr2_iter(b'"', b'\'', text) {
        if is_seam(text, at) {
            seams.push(at);
        }
        // A closing quote with a literal behind it.
        if at < done || at == 0 || next_literal(text, at + 1).is_none() {
            continue;
        }
        let Some(first) = literal_before(text, at, done) else { continue };
        let mut joined = Variable::default();
        joined.push(text, first.clone());
        let mut end = at + 1;
        while let Some(next) = next_literal(text, end) {
            if joined.value.len() + next.len() > MAX_JOINED_BYTES || joined.parts.len() >= MAX_PARTS
            {
                break;
            }
            end = next.end + 1;
            joined.push(text, next);
        }
        done = end;
        let Variable { value, parts } = joined;
        if parts.len() > 1 && value.len() >= MIN_JOINED_BYTES && value.len() <= *budget {
            *budget -= value.len();
            res.push(Joined { span: parts[0].source.clone(), text: value, parts });
        }
    }
}

/// The literal that the quote at `at` closes.
///
/// `from` is where the last joined text ended. A literal has no line end and at most
/// [`MAX_VALUE_BYTES`].
fn literal_before(text: &[u8], at: usize, from: usize) -> Option<Range<usize>> {
    let first = from.max(at.saturating_sub(MAX_VALUE_BYTES));
    let before = &text[first..at];
    let open = memchr::memrchr2(text[at], b'\n', before)?;
    let start = first + open + 1;
    (text[start - 1] == text[at]).then_some(start..at)
}

/// The literal behind `at`, with nothing, blanks, `+`, `.` or an escaped line end before it.
///
/// Without its quotes. At most 48 bytes stand before it.
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
///
/// `budget` is what joined texts may still have together, in bytes.
fn variables(text: &[u8], budget: &mut usize, res: &mut Vec<Joined>) {
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
        let Variable { value, parts } = joined;
        if value.len() > *budget {
            return;
        }
        if value.len() >= MIN_JOINED_BYTES {
            *budget -= value.len();
            res.push(Joined { span: word, text: value, parts });
        }
    }
}

/// The word with the values of its variables; `None` where it has fewer than two parts, or a variable whose value is
/// not in the text.
///
/// Quotes and backslashes are left out. A variable whose name has no end, such as `${A:-x}`, is not
/// known.
fn substitute(word: &[u8], values: &HashMap<&[u8], Variable>) -> Option<Variable> {
    let mut res = Variable::default();
    let (mut at, mut n_values, mut n_plain) = (0, 0, 0);
    while at < word.len() && res.value.len() <= MAX_JOINED_BYTES {
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
            let known = values.get(&word[from..from + n])?;
            // Many parts, one after the other, are no secret.
            if res.parts.len() + known.parts.len() > MAX_PARTS {
                return None;
            }
            res.append(known);
            n_values += 1;
        } else {
            if !matches!(word[at], b'"' | b'\'' | b'\\') {
                res.value.push(word[at]);
                n_plain += usize::from(word[at].is_ascii_alphanumeric());
            }
            at += 1;
        }
    }
    (n_values > 1 || (n_values == 1 && n_plain > 0)).then_some(res)
}

/// The literal values of variables, by name. A value that grew by `+=` is put into `res` as well.
///
/// The last value of a name holds. Names have fewer than 64 bytes.
fn assignments<'t>(
    text: &'t [u8],
    budget: &mut usize,
    res: &mut Vec<Joined>,
) -> HashMap<&'t [u8], Variable> {
    let mut values: HashMap<&[u8], Variable> = HashMap::new();
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
            *known = Variable::default();
        } else if !known.parts.is_empty() {
            grown.insert(name, value.clone());
        }
        if known.parts.len() < MAX_PARTS {
            known.push(text, value);
        }
    }
    // In the order of the text, so that a scan says the same each time.
    let mut grown: Vec<(&[u8], Range<usize>)> = grown.into_iter().collect();
    grown.sort_by_key(|it| it.1.start);
    for (name, span) in grown {
        if let Some(Variable { value, parts }) = values.get(name)
            && value.len() <= *budget
        {
            *budget -= value.len();
            res.push(Joined { span, text: value.clone(), parts: parts.clone() });
        }
    }
    values
}

/// The literal at `at`, quoted or bare, without what a shell would put in.
///
/// `None` for an empty one, and for one with `$` outside of single quotes.
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
