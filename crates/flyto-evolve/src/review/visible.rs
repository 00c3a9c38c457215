//! Characters that are not seen, or that change what is seen around them.

use flyto_tools::is_hidden;
use serde::Serialize;

use crate::ToolDefinition;

/// The most characters that are listed.
const MAX_LISTED: usize = 100;

/// A character of a definition that is not seen, or hides others ("Trojan Source", CVE-2021-42574).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct HiddenCharacter {
    /// JSON Pointer of the text.
    pub pointer: String,
    /// The line in the text, counted from 1.
    pub line: usize,
    /// The character as `U+202E`.
    pub code_point: String,
    /// What it does: `direction`, `control` or, for each other one, `invisible`: it shows as nothing, as a blank, or as
    /// whatever a font makes of it.
    pub kind: &'static str,
}

/// What a character does to a reader; `None` where it is seen as it is.
fn kind_of(it: char) -> Option<&'static str> {
    match it {
        '\n' | '\t' => None,
        '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Some("direction")
        }
        // Blanks that are not the one that separates words.
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
            Some("invisible")
        }
        it if it.is_control() => Some("control"),
        it if is_hidden(it) => Some("invisible"),
        _ => None,
    }
}

/// The text with every character that is not seen, or hides others, written as `\u{202e}`. Newlines and tabs stay.
///
/// A backslash that would be read as the begin of such an escape is written as `\u{5c}`, so two texts that differ are never
/// shown as the same.
///
/// ```
/// assert_eq!(flyto_evolve::visible("a\u{202e}b\r\n"), "a\\u{202e}b\\u{d}\n");
/// assert_eq!(flyto_evolve::visible("a\\u{202e}b\n"), "a\\u{5c}u{202e}b\n");
/// ```
#[must_use]
pub fn visible(text: &str) -> String {
    let mut res = String::with_capacity(text.len());
    for (at, it) in text.char_indices() {
        match kind_of(it).is_some() || begins_as_escape(&text[at..]) {
            true => res.extend(it.escape_unicode()),
            false => res.push(it),
        }
    }
    res
}

/// Whether a text begins with the characters by which [`visible`] writes one.
fn begins_as_escape(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("\\u{") else { return false };
    // No character has more than six digits.
    let Some(end) = rest.bytes().take(7).position(|it| it == b'}') else { return false };
    let it = u32::from_str_radix(&rest[..end], 16).ok().and_then(char::from_u32);
    it.is_some_and(|it| it == '\\' || kind_of(it).is_some())
}

/// The same for a text that has one line of a page: newlines and tabs are written as escapes too, so that no text of an
/// author begins a line there.
pub(crate) fn one_line(text: &str) -> String {
    visible(text).replace('\n', "\\n").replace('\t', "\\t")
}

/// The characters of a definition that are not seen, or hide others, in the order of their places; at most 100.
///
/// ```
/// use flyto_evolve::{ToolDefinition, hidden_characters};
///
/// let def = ToolDefinition::script("t", "Tests.", "echo a\necho \u{202e}b\n");
/// let found = hidden_characters(&def);
/// assert_eq!((found[0].pointer.as_str(), found[0].line), ("/script", 2));
/// assert_eq!((found[0].code_point.as_str(), found[0].kind), ("U+202E", "direction"));
/// ```
#[must_use]
pub fn hidden_characters(def: &ToolDefinition) -> Vec<HiddenCharacter> {
    let mut res = Vec::new();
    for (pointer, text) in def.texts() {
        let mut line = 1;
        for it in text.chars() {
            if it == '\n' {
                line += 1;
            } else if let Some(kind) = kind_of(it)
                && res.len() < MAX_LISTED
            {
                let code_point = format!("U+{:04X}", u32::from(it));
                res.push(HiddenCharacter { pointer: pointer.clone(), line, code_point, kind });
            }
        }
    }
    res
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_hidden_character_passes() {
        for c in '\0'..=char::MAX {
            if is_hidden(c) && !matches!(c, '\n' | '\t') {
                assert!(kind_of(c).is_some(), "{c:?}");
            }
        }
        let kinds =
            ['\u{2067}', '\u{9b}', '\u{3164}', '\u{e000}', '\u{200d}', '\u{a0}', 'é'].map(kind_of);
        let [direction, control, hidden] = ["direction", "control", "invisible"].map(Some);
        assert_eq!(kinds, [direction, control, hidden, hidden, hidden, hidden, None]);
    }

    #[test]
    fn no_text_is_shown_as_another_one() {
        let parts =
            ["\\", "u{", "u", "{", "}", "a0", "5c", "\u{a0}", "\\u{a0}", "\\u{5c}u{a0}", "x"];
        let mut shown = std::collections::BTreeMap::new();
        let n = parts.len();
        for at in 0..n.pow(4) {
            let digits = [at, at / n, at / n.pow(2), at / n.pow(3)];
            let text = digits.map(|it| parts[it % n]).concat();
            let first = shown.entry(visible(&text)).or_insert_with(|| text.clone());
            assert_eq!(*first, text);
        }
        // What is no escape of a hidden character stays as it is written.
        for text in ["\\u{1f600}", "\\u{1F600}", "\\u{}", "\\u{a0", "\\u{0000000a0}", "\\u00a0"] {
            assert_eq!(visible(text), text);
        }
    }
}
