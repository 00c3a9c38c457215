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
/// ```
/// assert_eq!(flyto_evolve::visible("a\u{202e}b\r\n"), "a\\u{202e}b\\u{d}\n");
/// ```
#[must_use]
pub fn visible(text: &str) -> String {
    let mut res = String::with_capacity(text.len());
    for it in text.chars() {
        match kind_of(it) {
            Some(_) => res.extend(it.escape_unicode()),
            None => res.push(it),
        }
    }
    res
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
}
