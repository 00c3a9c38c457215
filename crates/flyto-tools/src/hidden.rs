//! Characters that a reader does not see as what they are.

use std::ops::RangeInclusive;

/// Whether a reader does not see this character as what it is: it shows as nothing, moves the cursor, reorders its
/// neighbours, or shows as whatever a font makes of it.
///
/// These are the characters with the general categories control (Cc), format (Cf), private use (Co), line separator (Zl) and
/// paragraph separator (Zp), those with the property `Default_Ignorable_Code_Point` (Unicode Standard Annex 44), the empty
/// Braille pattern U+2800, and noncharacters (Unicode Technical Report 36, section 3.1).
///
/// Line feeds, tabs and the joiners U+200C and U+200D are among them: a caller whose texts are laid out with the former, or
/// have words and emoji with the latter, leaves these out by itself. Blanks (Zs) are not.
///
/// ```
/// use flyto_tools::is_hidden;
///
/// assert!(["\u{202e}", "\u{3164}", "\u{2800}", "\u{1b}"].iter().all(|it| it.contains(is_hidden)));
/// assert!(!"grün 字 🦀".contains(is_hidden));
/// ```
#[must_use]
pub fn is_hidden(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    // The two at the end of each plane.
    let is_last_of_a_plane = u32::from(c) & 0xfffe == 0xfffe;
    let after = HIDDEN.partition_point(|it| *it.start() <= c);
    is_last_of_a_plane || after.checked_sub(1).is_some_and(|at| HIDDEN[at].contains(&c))
}

/// Those beyond ASCII, but for the last two of each plane, in their order. A test compares them with the tables of another
/// crate.
const HIDDEN: &[RangeInclusive<char>] = &[
    '\u{80}'..='\u{9f}',
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{600}'..='\u{605}',
    '\u{61c}'..='\u{61c}',
    '\u{6dd}'..='\u{6dd}',
    '\u{70f}'..='\u{70f}',
    '\u{890}'..='\u{891}',
    '\u{8e2}'..='\u{8e2}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{200b}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{2800}'..='\u{2800}',
    '\u{3164}'..='\u{3164}',
    '\u{e000}'..='\u{f8ff}',
    '\u{fdd0}'..='\u{fdef}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{feff}'..='\u{feff}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{fff0}'..='\u{fffb}',
    '\u{110bd}'..='\u{110bd}',
    '\u{110cd}'..='\u{110cd}',
    '\u{13430}'..='\u{1343f}',
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0000}'..='\u{e0fff}',
    '\u{f0000}'..='\u{10ffff}',
];

/// A text in quotes, with every hidden character escaped.
pub(crate) fn quoted(text: &str) -> String {
    let mut res = String::new();
    for c in format!("{text:?}").chars() {
        match is_hidden(c) {
            true => res.extend(c.escape_unicode()),
            false => res.push(c),
        }
    }
    res
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn quoted_texts_hide_nothing() {
        assert_eq!(quoted("a\"\u{3164}\u{2800}\n"), r#""a\"\u{3164}\u{2800}\n""#);
    }

    /// The rule, by the tables of another crate.
    #[test]
    fn the_class_is_closed() {
        let class = r"[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\u{2800}\u{fdd0}-\u{fdef}]";
        let class = regex::Regex::new(class).unwrap();
        let all: String = ('\0'..=char::MAX).collect();
        // One pass over all of them: a match for each would take seconds.
        let found: BTreeSet<_> =
            class.find_iter(&all).filter_map(|it| it.as_str().chars().next()).collect();
        for c in all.chars() {
            let expect = found.contains(&c) || u32::from(c) % 0x10000 >= 0xfffe;
            assert_eq!(is_hidden(c), expect, "{c:?}");
        }
    }
}
