//! Rust text without its comments and strings, so that a search finds code only.

/// Blanks out comments and literals. Offsets and line breaks stay, so a place in the result is the
/// same place in `text`.
pub(crate) fn code_only(text: &str) -> String {
    let mut res: Vec<u8> = text.as_bytes().to_vec();
    let mut at = 0;
    while at < text.len() {
        let end = at + skip_len(text, at);
        if end == at {
            at += 1;
            continue;
        }
        for byte in res[at..end].iter_mut().filter(|byte| **byte != b'\n') {
            *byte = b' ';
        }
        at = end;
    }
    String::from_utf8(res).expect("whole tokens are replaced, and each begins and ends at a char")
}

/// The comments with their offsets, each with the signs that begin it.
pub(crate) fn comments(text: &str) -> Vec<(usize, &str)> {
    let mut res = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let len = skip_len(text, at);
        if len > 0 && text.as_bytes()[at] == b'/' {
            res.push((at, &text[at..at + len]));
        }
        at += len.max(1);
    }
    res
}

/// The string literals with their offsets, each with its quotes.
pub(crate) fn strings(text: &str) -> Vec<(usize, &str)> {
    let mut res = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let len = skip_len(text, at);
        if len > 0 && matches!(text.as_bytes()[at], b'"' | b'r' | b'b' | b'c') {
            res.push((at, &text[at..at + len]));
        }
        at += len.max(1);
    }
    res
}

/// The length of the comment or literal that begins at `at`, or 0 where code stands.
fn skip_len(text: &str, at: usize) -> usize {
    let rest = &text.as_bytes()[at..];
    let after_word = at > 0 && is_word(text.as_bytes()[at - 1]);
    match rest {
        [b'/', b'/', ..] => rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
        [b'/', b'*', ..] => block_comment_len(rest),
        [b'"', ..] => quoted_len(rest, b'"'),
        [b'\'', ..] => char_len(text, at),
        [b'r' | b'b' | b'c', ..] if !after_word => raw_string_len(rest),
        _ => 0,
    }
}

fn block_comment_len(rest: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => {
                depth += 1;
                at += 2;
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    rest.len()
}

/// A literal between two `quote`s with escapes.
fn quoted_len(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// A char literal; a lifetime has no second quote and is code.
fn char_len(text: &str, at: usize) -> usize {
    let mut chars = text[at + 1..].chars();
    match (chars.next(), chars.next()) {
        (Some('\\'), _) => quoted_len(&text.as_bytes()[at..], b'\''),
        (Some(it), Some('\'')) => 2 + it.len_utf8(),
        _ => 0,
    }
}

/// `r"…"`, `r#"…"#`, `br"…"`, `cr"…"`; 0 for a plain identifier. The prefix of `b"…"` and `c"…"`
/// counts as code, which does no harm.
fn raw_string_len(rest: &[u8]) -> usize {
    let prefix = if rest.starts_with(b"br") || rest.starts_with(b"cr") { 2 } else { 1 };
    if rest[prefix - 1] != b'r' {
        return 0;
    }
    let hashes = rest[prefix..].iter().take_while(|byte| **byte == b'#').count();
    let open = prefix + hashes;
    if rest.get(open) != Some(&b'"') {
        return 0;
    }
    let mut close = vec![b'"'];
    close.resize(1 + hashes, b'#');
    let body = &rest[open + 1..];
    let end = body.windows(close.len()).position(|it| it == close);
    end.map_or(rest.len(), |end| open + 1 + end + close.len())
}

/// Whether `byte` can stand in an identifier.
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Where `word` stands in `code` with no further identifier character at either end.
pub(crate) fn find_word(code: &str, word: &str) -> Option<usize> {
    let bytes = code.as_bytes();
    let is_alone = |at: usize| {
        let end = at + word.len();
        let open_front = is_word(word.as_bytes()[0]) && at > 0 && is_word(bytes[at - 1]);
        let open_back =
            is_word(word.as_bytes()[word.len() - 1]) && bytes.get(end).is_some_and(|b| is_word(*b));
        !open_front && !open_back
    };
    code.match_indices(word).map(|(at, _)| at).find(|at| is_alone(*at))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{code_only, comments, find_word, strings};

    #[track_caller]
    fn check(text: &str, expect: Expect) {
        let res = code_only(text);
        assert_eq!(res.len(), text.len());
        let squeezed: Vec<&str> = res.split_whitespace().collect();
        expect.assert_eq(&squeezed.join(" "));
    }

    #[test]
    fn comments_are_blanked() {
        check("a // b\nc /* d /* e */ f */ g /// h", expect!["a c g"]);
        check("a /* never closed", expect!["a"]);
    }

    #[test]
    fn strings_are_blanked() {
        check(
            r##"f("a // \" b", r#"c " d"#, br"e\", b"g", c) r#mod"##,
            expect!["f( , , , b , c) r#mod"],
        );
        check("\"größe\" x", expect!["x"]);
        check("x \"never closed", expect!["x"]);
    }

    #[test]
    fn chars_are_not_lifetimes() {
        check(r#"'"' <'a> '\'' 'ß' b'"' &'static"#, expect!["<'a> b &'static"]);
    }

    #[test]
    fn comments_are_found() {
        let text = "a // b\n\"// c\" /* d\ne */ f 'ß' // g";
        assert_eq!(comments(text), [(2, "// b"), (14, "/* d\ne */"), (31, "// g")]);
    }

    #[test]
    fn strings_are_found() {
        let text = "f(\"a \\\" b\", r#\"c\"#, '\"') // \"d\"\nb\"e\"";
        assert_eq!(strings(text), [(2, "\"a \\\" b\""), (12, "r#\"c\"#"), (33, "\"e\"")]);
    }

    #[test]
    fn words_stand_alone() {
        assert_eq!(find_word("forbid(unsafe_code) unsafe {", "unsafe"), Some(20));
        assert_eq!(find_word("not_todo!() todo!()", "todo!"), Some(12));
        assert_eq!(find_word("is_unsafe unsafely", "unsafe"), None);
    }
}
