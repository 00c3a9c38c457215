//! JSON as editors write it: with comments, and with a comma behind the last member.

/// JSON as [`blank_comments`] and [`blank_last_commas`] leave it.
///
/// A text that is no JSON stays one that is none, but for an unclosed comment at its end, which counts as blank.
pub(crate) fn without_comments(text: &str) -> String {
    blank_last_commas(&blank_comments(text))
}

/// JSON with blanks in the place of `// …` and `/* … */`. All else stands at the byte at which it stood, and in its line.
pub(crate) fn blank_comments(text: &str) -> String {
    let mut res = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (n_bytes, is_comment) = match c {
            '"' => (string_bytes(rest), false),
            '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), true),
            '/' if rest.starts_with("/*") => {
                (rest[2..].find("*/").map_or(rest.len(), |at| at + 4), true)
            }
            c => (c.len_utf8(), false),
        };
        let (piece, behind) = rest.split_at(n_bytes);
        match is_comment {
            true => res.extend(piece.bytes().map(|it| if it == b'\n' { '\n' } else { ' ' })),
            false => res.push_str(piece),
        }
        rest = behind;
    }
    res
}

/// JSON without comments, with a blank in the place of a comma behind the last member of an object or an array.
pub(crate) fn blank_last_commas(text: &str) -> String {
    let mut res = String::with_capacity(text.len());
    // The last comma, while there are blanks alone behind it.
    let mut comma = None;
    while let Some(c) = text[res.len()..].chars().next() {
        let rest = &text[res.len()..];
        match c {
            ',' => comma = Some(res.len()),
            '}' | ']' => {
                if let Some(comma) = comma.take() {
                    res.replace_range(comma..=comma, " ");
                }
            }
            ' ' | '\t' | '\r' | '\n' => {}
            _ => comma = None,
        }
        let n_bytes = if c == '"' { string_bytes(rest) } else { c.len_utf8() };
        res.push_str(&rest[..n_bytes]);
    }
    res
}

/// Bytes of the string that a text begins with, with both its quotes.
fn string_bytes(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == '"' && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |it| it.0 + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn comments_and_last_commas_are_left_out() {
        let text = "{ // a \"b\"\n \"u\": \"http://x\\\"//y\", /* c, */ \"l\": [1, 2, /* */ ],\n}";
        let value: Value = serde_json::from_str(&without_comments(text)).unwrap();
        assert_eq!(value, serde_json::json!({"u": "http://x\"//y", "l": [1, 2]}));
        for text in ["\"", "/*", "//", "\"\\", ",}", "/"] {
            without_comments(text);
        }
        // Of two commas one stays, which is a mistake as before.
        assert_eq!(without_comments("[1,,]"), "[1, ]");
    }

    proptest! {
        #[test]
        fn what_is_left_stays_where_it_is(text in r#"([ \r\n,/*"\\{}\[\]:é1]|//|/\*|\*/)*"#) {
            let res = without_comments(&text);
            prop_assert_eq!(res.len(), text.len());
            for (before, after) in text.bytes().zip(res.bytes()) {
                prop_assert!(before == after || after == b' ');
                prop_assert_eq!(before == b'\n', after == b'\n');
            }
        }
    }
}
