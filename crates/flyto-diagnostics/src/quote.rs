//! Showing text from outside.

use std::fmt;

/// The most characters of a quoted text that are shown; more would drown the message around it.
const SHOWN_CHARS: usize = 60;

/// Puts `text` into double quotes for a message.
///
/// The result is one line and safe to print: quotes, backslashes, control characters and characters
/// that reorder or hide text (bidirectional marks, zero-width spaces) are escaped. A long text is
/// cut, which an ellipsis shows.
///
/// ```
/// use flyto_diagnostics::quoted;
///
/// assert_eq!(quoted("a \"b\""), r#""a \"b\"""#);
/// // What would act on a terminal is shown instead.
/// assert!(!quoted("red\u{1b}[31m").contains('\u{1b}'));
/// ```
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", cut(text, |c| matches!(c, '"' | '\\')))
}

/// The same without quotes, for text that cannot be mistaken for the words around it.
pub(crate) fn shown(text: &str) -> String {
    cut(text, |_| false)
}

fn cut(text: &str, needs_backslash: fn(char) -> bool) -> String {
    let mut res = String::new();
    let mut chars = text.chars();
    for c in chars.by_ref().take(SHOWN_CHARS) {
        if needs_backslash(c) {
            res.push('\\');
        }
        escape_into(&mut res, c);
    }
    if chars.next().is_some() {
        res.push('…');
    }
    res
}

/// Displays a text on one line, with everything escaped that would act on a terminal.
///
/// ```
/// use flyto_diagnostics::OneLine;
///
/// assert_eq!(OneLine("a\nallow: b").to_string(), r"a\nallow: b");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct OneLine<'a>(pub &'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(at) = rest.find(acts_on_terminal) {
            let (before, from) = rest.split_at(at);
            f.write_str(before)?;
            let mut chars = from.chars();
            if let Some(c) = chars.next() {
                let mut escaped = String::new();
                escape_into(&mut escaped, c);
                f.write_str(&escaped)?;
            }
            rest = chars.as_str();
        }
        f.write_str(rest)
    }
}

fn escape_into(res: &mut String, c: char) {
    match c {
        '\n' => res.push_str("\\n"),
        '\r' => res.push_str("\\r"),
        '\t' => res.push_str("\\t"),
        c if acts_on_terminal(c) => res.push_str(&format!("\\u{{{:x}}}", c as u32)),
        c => res.push(c),
    }
}

/// Control characters, line and paragraph separators, and the invisible characters that make text
/// read differently from what it is (Unicode Technical Report 36, section 3.1).
fn acts_on_terminal(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}'
            | '\u{E0000}'..='\u{E007F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting_defuses() {
        assert_eq!(quoted("a\"b\\c"), r#""a\"b\\c""#);
        assert_eq!(quoted("\u{1b}[31m\n\t"), r#""\u{1b}[31m\n\t""#);
        assert_eq!(quoted("\u{202e}gpj"), r#""\u{202e}gpj""#);
        assert_eq!(quoted("grün 字 🦀"), "\"grün 字 🦀\"");
    }

    #[test]
    fn quoting_cuts() {
        assert_eq!(quoted(&"x".repeat(60)), format!("\"{}\"", "x".repeat(60)));
        assert_eq!(quoted(&"x".repeat(61)), format!("\"{}…\"", "x".repeat(60)));
    }

    #[test]
    fn one_line_keeps_quotes() {
        assert_eq!(OneLine("a \"b\" \\ \r\n\u{7f}ü").to_string(), "a \"b\" \\ \\r\\n\\u{7f}ü");
    }
}
