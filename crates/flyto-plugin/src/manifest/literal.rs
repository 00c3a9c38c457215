//! Places inside a JSON string.
//!
//! A string is checked with its escapes resolved, and a finding has to point into the text with
//! its escapes. This is the one place that maps the one to the other.

use flyto_diagnostics::{At, Span};

/// The part of the text that a piece of a string stands for: `start` and `end` are bytes of the
/// string with its escapes resolved. Gives the whole string where the value is none.
/// `start` and `end` have to lie at characters of the resolved string, else the span is that of
/// a neighbour.
pub(crate) fn span_within(at: At<'_>, start: usize, end: usize) -> Span {
    let whole = at.span();
    let (Some(text), Some(literal)) = (at.value().as_str(), at.source().slice(whole)) else {
        return whole;
    };
    // Every escape is longer than what it stands for, so here are only the quotes and the text itself.
    if literal.len() == text.len() + 2 {
        let offset = |at: usize| whole.start + 1 + at.min(text.len());
        return Span::new(offset(start), offset(end));
    }
    Span::new(whole.start + offset(literal, start), whole.start + offset(literal, end))
}

/// Where the byte `wanted` of the resolved string stands in its literal, which begins with a quote.
/// Linear in the length of the literal. Gives the closing quote for the end of the string.
fn offset(literal: &str, wanted: usize) -> usize {
    let mut resolved = 0;
    let mut chars = literal.char_indices().skip(1);
    let mut high_surrogate = false;
    while let Some((at, c)) = chars.next() {
        if resolved >= wanted || c == '"' {
            return at;
        }
        resolved += match c {
            '\\' => match chars.next() {
                Some((_, 'u')) => {
                    let digits: String = chars.by_ref().take(4).map(|(_, digit)| digit).collect();
                    let unit = u32::from_str_radix(&digits, 16).unwrap_or_default();
                    // The character of a surrogate pair counts when its second half is read.
                    let second =
                        std::mem::replace(&mut high_surrogate, (0xD800..0xDC00).contains(&unit));
                    match char::from_u32(unit) {
                        Some(c) => c.len_utf8(),
                        None if second => 4,
                        None => 0,
                    }
                }
                _ => 1,
            },
            c => c.len_utf8(),
        };
    }
    literal.len()
}

#[cfg(test)]
mod tests {
    use flyto_diagnostics::{Source, json};
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(literal: &str, piece: &str, expect: &str) {
        let source = Source::new("x", literal);
        let value = json::parse(&source).expect("valid");
        let text = value.as_str().expect("a string");
        let start = text.find(piece).expect("it is there");
        let span = span_within(At::root(&source, &value), start, start + piece.len());
        assert_eq!(source.slice(span), Some(expect));
    }

    #[test]
    fn escapes_move_what_is_behind_them() {
        check(r#""a${X""#, "${X", "${X");
        check(r#""\n\t\"\\${X""#, "${X", "${X");
        check(r#""ü\u00fc字${X""#, "${X", "${X");
        check(r#""🦀\ud83e\udd80${X}y""#, "${X}", "${X}");
        check(r#""\u0024{X}""#, "${X}", r"\u0024{X}");
        check(r#""${X\u007d""#, "${X}", r"${X\u007d");
    }

    proptest! {
        #[test]
        fn a_piece_of_any_string_is_found(before in ".*", piece in "[a-z]+", after in ".*") {
            let text = format!("{before}\u{1}{piece}\u{2}{after}");
            let source = Source::new("x", serde_json::Value::from(text).to_string());
            let value = json::parse(&source).expect("valid");
            let start = before.len() + 1;
            let span = span_within(At::root(&source, &value), start, start + piece.len());
            prop_assert_eq!(source.slice(span), Some(piece.as_str()));
        }
    }
}
