//! Patterns that are known to compile without compiling them.
//!
//! Compiling a schema takes many times what reading its tool takes, and most patterns that people
//! write are a few classes and repetitions. [`plain_weight`] reads such a pattern in one pass. It is
//! exact for what it accepts, and leaves everything else to the compiler: look-around, properties
//! of Unicode, names of groups, text beyond ASCII, large repetitions.

/// The longest pattern that is looked at, in bytes.
const MAX_BYTES: usize = 256;

/// How deep groups may stand in each other.
const MAX_DEPTH: usize = 8;

/// The most repetitions that the counts of one pattern, such as `{2,5}`, may ask for together.
const MAX_REPETITIONS: usize = 256;

/// States of an automaton for one character of a pattern, at most about.
const STATES: usize = 12;

/// What a pattern weighs beside its characters.
const BASE: usize = 64;

/// A number that no automaton for the pattern exceeds in states, if the pattern is of a kind that
/// every engine compiles; `None` where only compiling tells.
pub(super) fn plain_weight(pattern: &str) -> Option<usize> {
    if pattern.len() > MAX_BYTES {
        return None;
    }
    let mut rest = pattern.as_bytes();
    let mut depth = 0_usize;
    let mut n_repetitions = 0;
    // What stands before, if a repetition may follow it, and whether that is a group.
    let mut atom: Option<Atom> = None;
    while let [first, tail @ ..] = rest {
        rest = tail;
        atom = match first {
            b'^' | b'$' | b'|' => None,
            b'(' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return None;
                }
                if let [b'?', tail @ ..] = rest {
                    rest = tail.strip_prefix(b":")?;
                }
                None
            }
            b')' => {
                depth = depth.checked_sub(1)?;
                Some(Atom::Group)
            }
            b'*' | b'+' | b'?' => {
                atom?;
                rest = rest.strip_prefix(b"?").unwrap_or(rest);
                None
            }
            b'{' => {
                // Counts in counts multiply, which is for the compiler to bound.
                let (Atom::Single, (most, tail)) = (atom?, count(rest)?) else { return None };
                n_repetitions += most;
                rest = tail.strip_prefix(b"?").unwrap_or(tail);
                None
            }
            b'[' => {
                rest = class(rest)?;
                Some(Atom::Single)
            }
            b'\\' => {
                rest = escape(rest)?.1;
                Some(Atom::Single)
            }
            b'.' => Some(Atom::Single),
            it if is_literal(*it) => Some(Atom::Single),
            _ => return None,
        };
    }
    let is_small = depth == 0 && n_repetitions <= MAX_REPETITIONS;
    is_small.then(|| BASE + STATES * (pattern.len() + n_repetitions))
}

/// What a repetition applies to.
#[derive(Clone, Copy)]
enum Atom {
    /// One character or class.
    Single,
    /// A group.
    Group,
}

/// Whether a character stands for itself outside of classes, in every engine.
const fn is_literal(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b' ' | b'!' | b'"' | b'%' | b'\'' | b',' | b'-' | b'/' | b':' | b';')
        || matches!(byte, b'<' | b'=' | b'>' | b'@' | b'_')
}

/// What stands behind a backslash: whether it is one character, and the rest.
const fn escape(rest: &[u8]) -> Option<(bool, &[u8])> {
    match rest {
        [b'd' | b'D' | b'w' | b'W' | b's' | b'S', tail @ ..] => Some((false, tail)),
        [b'.' | b'/' | b'-' | b'\\' | b'+' | b'*' | b'?' | b'^' | b'$' | b'|', tail @ ..]
        | [b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'n' | b't' | b'r', tail @ ..] => {
            Some((true, tail))
        }
        _ => None,
    }
}

/// The rest behind a class, whose opening bracket was read.
fn class(mut rest: &[u8]) -> Option<&[u8]> {
    rest = rest.strip_prefix(b"^").unwrap_or(rest);
    let mut is_empty = true;
    // A hyphen stands for itself at the start and at the end.
    if let [b'-', tail @ ..] = rest {
        (rest, is_empty) = (tail, false);
    }
    loop {
        match rest {
            [b']', tail @ ..] => return (!is_empty).then_some(tail),
            [b'-', b']', tail @ ..] => return Some(tail),
            [first, b'-', last, tail @ ..] if *last != b']' => {
                let same = |kind: fn(&u8) -> bool| kind(first) && kind(last);
                let is_range = same(u8::is_ascii_digit)
                    || same(u8::is_ascii_lowercase)
                    || same(u8::is_ascii_uppercase);
                if !is_range || first > last {
                    return None;
                }
                rest = tail;
            }
            [b'\\', tail @ ..] => {
                rest = escape(tail)?.1;
                // Not the beginning of a range.
                if matches!(rest, [b'-', it, ..] if *it != b']') {
                    return None;
                }
            }
            [first, tail @ ..] if is_literal(*first) && *first != b'-' => rest = tail,
            [b'.' | b'+' | b'*' | b'?' | b'(' | b')' | b'$', tail @ ..] => rest = tail,
            _ => return None,
        }
        is_empty = false;
    }
}

/// The larger number of a count whose brace was read, `{3}`, `{3,}` or `{3,5}`, and the rest.
fn count(rest: &[u8]) -> Option<(usize, &[u8])> {
    let (least, rest) = number(rest)?;
    match rest {
        [b'}', tail @ ..] | [b',', b'}', tail @ ..] => Some((least, tail)),
        [b',', tail @ ..] => {
            let (most, tail) = number(tail)?;
            (least <= most).then_some((most, tail.strip_prefix(b"}")?))
        }
        _ => None,
    }
}

/// A number of at most three digits, and the rest.
fn number(rest: &[u8]) -> Option<(usize, &[u8])> {
    let len = rest.iter().take(3).take_while(|it| it.is_ascii_digit()).count();
    let (digits, rest) = rest.split_at(len);
    let value = digits.iter().fold(0, |value, digit| value * 10 + usize::from(digit - b'0'));
    (len > 0).then_some((value, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn patterns_that_people_write_are_plain() {
        for pattern in [
            "^/",
            "",
            "^[a-z0-9-]+$",
            "^[A-Za-z_][A-Za-z0-9_]{0,63}$",
            r"^\d{4}-\d{2}-\d{2}$",
            r"^(?:https?://)?[\w.-]+(:\d+)?(/.*)?$",
            "^(asc|desc)$",
            r"^#?[0-9a-fA-F]{6}$|^\S+@\S+\.\S+$",
        ] {
            let is_plain = plain_weight(pattern).is_some();
            assert_eq!(is_plain, !pattern.contains('#'), "{pattern}");
        }
    }

    #[test]
    fn the_rest_is_for_the_compiler() {
        for pattern in [
            "(",
            ")",
            "[",
            "[]",
            "[^]",
            "[z-a]",
            "[a-Z]",
            "a{2",
            "a{,2}",
            "a{3,2}",
            "a{999}",
            "*",
            "a**",
            "(?=a)",
            "(?<n>a)",
            r"\p{L}",
            r"\1",
            "ä",
            "[[:alpha:]]",
            "[a&&b]",
            "a{9}{9}",
            "(a{9}){9}",
            r"[\w-z]",
            "\\",
            "]",
            "}",
        ] {
            assert_eq!(plain_weight(pattern), None, "{pattern}");
        }
        assert_eq!(plain_weight(&"a".repeat(MAX_BYTES + 1)), None);
        assert_eq!(plain_weight(&"a{99}".repeat(3)), None);
    }

    #[track_caller]
    fn compiles(pattern: &str) {
        let compiled = flyto_tools::compile(&json!({"properties": {"x": {"pattern": pattern}}}));
        assert!(compiled.is_ok(), "{pattern:?}: {compiled:?}");
    }

    #[test]
    fn the_heaviest_patterns_compile() {
        for part in ["[^a]", ".", r"\W", r"\S", "[^\\s]", "a"] {
            compiles(&format!("{part}{{{MAX_REPETITIONS}}}"));
            compiles(&part.repeat(MAX_BYTES / part.len()));
        }
        let (open, close) = ("(".repeat(MAX_DEPTH), ")+".repeat(MAX_DEPTH));
        let pattern = format!(r"{open}\W{{100,}}\S{{0,156}}{close}");
        assert!(plain_weight(&pattern).is_some());
        compiles(&pattern);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2048))]

        #[test]
        fn whatever_is_plain_compiles(pattern in r"([-a-cX-Z0-4^$|()\[\]{}.*+?\\/:,_&~#! dwsDWSnbB=<]|\[\^?|\\[a-zA-Z]|\{[0-9]{1,2},?[0-9]{0,2}\}){0,12}") {
            if plain_weight(&pattern).is_some() {
                compiles(&pattern);
            }
        }

        #[test]
        fn whatever_looks_like_a_pattern_and_is_plain_compiles(
            pattern in r"\^?((\(|\(\?:)?([a-z]|\.|\\[dwsDWS./-]|\[\^?-?([a-f]-[g-z]|[0-9]|\\[wd.-]|[.+*?()$,:]){1,3}-?\])([*+?]|\{[0-9]{1,2}(,[0-9]{0,2})?\})?\??[)|]?){0,6}\$?"
        ) {
            if plain_weight(&pattern).is_some() {
                compiles(&pattern);
            }
        }
    }
}
