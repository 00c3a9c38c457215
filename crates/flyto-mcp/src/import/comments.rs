//! JSON as editors write it: with comments, and with a comma behind the last member.

/// JSON without `// …` and `/* … */`, and without a comma before the end of an object or an array.
///
/// A text that is no JSON stays one that is none, but for an unclosed comment at its end, which is left out.
pub(super) fn without_comments(text: &str) -> String {
    let mut res = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let n_bytes = match c {
            '"' => string_bytes(rest),
            '/' if rest.starts_with("//") => {
                rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
                continue;
            }
            '/' if rest.starts_with("/*") => {
                rest = rest[2..].find("*/").map_or("", |at| &rest[at + 4..]);
                continue;
            }
            '}' | ']' => {
                if let Some(before) = res.trim_end().strip_suffix(',') {
                    res.truncate(before.len());
                }
                1
            }
            _ => c.len_utf8(),
        };
        res.push_str(&rest[..n_bytes]);
        rest = &rest[n_bytes..];
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
    }
}
