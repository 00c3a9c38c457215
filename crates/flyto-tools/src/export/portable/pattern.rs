//! Regular expressions that JavaScript, with the flag `u`, and the module `re` of Python read alike.
//!
//! What is left out, beside what one of them refuses: back-references, look-behind, names of groups, properties of Unicode and
//! flags, which are written in different ways or have different bounds.

/// How deep groups may stand in each other. Python reads them with a function that calls itself.
const MAX_DEPTH: usize = 64;

/// What a repetition would apply to.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    /// Nothing that can be repeated: the start, an assertion, a repetition.
    Nothing,
    /// A character, a class or a group.
    Atom,
}

/// One element of a class, or what an escape stands for.
#[derive(Clone, Copy, PartialEq)]
enum Element {
    /// One character.
    Single(char),
    /// A set of them, such as `\d`.
    Set,
    /// A place between two characters, such as `\b`, which is none in a class.
    Assertion,
}

/// Whether both read a pattern, and alike.
pub(super) fn is_portable(pattern: &str) -> bool {
    read(pattern).is_some()
}

/// Reads a whole pattern.
fn read(mut rest: &str) -> Option<()> {
    // The groups that are open, each with what it is once it is closed.
    let mut open = Vec::new();
    let mut before = Before::Nothing;
    while let Some(first) = next(&mut rest) {
        before = match first {
            '^' | '$' | '|' => Before::Nothing,
            '(' => {
                let is_look_ahead = eat(&mut rest, "?=") || eat(&mut rest, "?!");
                open.push(if is_look_ahead { Before::Nothing } else { Before::Atom });
                // A question mark that is left is refused, since there is nothing to repeat.
                let _ = is_look_ahead || eat(&mut rest, "?:");
                (open.len() <= MAX_DEPTH).then_some(Before::Nothing)?
            }
            ')' => open.pop()?,
            '*' | '+' | '?' | '{' => {
                if before == Before::Nothing || first == '{' && !count(&mut rest)? {
                    return None;
                }
                eat(&mut rest, "?");
                Before::Nothing
            }
            '[' => {
                class(&mut rest)?;
                Before::Atom
            }
            '\\' => match escape(&mut rest, false)? {
                Element::Assertion => Before::Nothing,
                _ => Before::Atom,
            },
            ']' | '}' => return None,
            _ => Before::Atom,
        };
    }
    open.is_empty().then_some(())
}

/// Takes the next character.
fn next(rest: &mut &str) -> Option<char> {
    let mut chars = rest.chars();
    let first = chars.next()?;
    *rest = chars.as_str();
    Some(first)
}

/// Takes this text, if it is there.
fn eat(rest: &mut &str, text: &str) -> bool {
    let tail = rest.strip_prefix(text);
    *rest = tail.unwrap_or(rest);
    tail.is_some()
}

/// Takes a count whose brace was read, `3}`, `3,}` or `3,5}`: whether its numbers are in order.
fn count(rest: &mut &str) -> Option<bool> {
    let (bounds, tail) = rest.split_once('}')?;
    *rest = tail;
    let number = |text: &str| {
        let is_number = (1..=5).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_digit());
        text.parse::<u32>().ok().filter(|_| is_number)
    };
    let Some((least, most)) = bounds.split_once(',') else { return number(bounds).map(|_| true) };
    let least = number(least)?;
    Some(most.is_empty() || least <= number(most)?)
}

/// Takes a class whose bracket was read.
fn class(rest: &mut &str) -> Option<()> {
    eat(rest, "^");
    // An empty class is one in JavaScript only.
    let mut is_empty = true;
    loop {
        if eat(rest, "]") {
            return (!is_empty).then_some(());
        }
        let first = element(rest)?;
        if rest.starts_with('-') && !rest.starts_with("-]") {
            eat(rest, "-");
            match (first, element(rest)?) {
                (Element::Single(first), Element::Single(last)) if first <= last => {}
                _ => return None,
            }
        }
        is_empty = false;
    }
}

/// Takes one element of a class.
fn element(rest: &mut &str) -> Option<Element> {
    match next(rest)? {
        '\\' => escape(rest, true),
        it => Some(Element::Single(it)),
    }
}

/// Takes an escape whose backslash was read.
fn escape(rest: &mut &str, is_in_class: bool) -> Option<Element> {
    Some(match next(rest)? {
        'd' | 'D' | 'w' | 'W' | 's' | 'S' => Element::Set,
        'b' if is_in_class => Element::Single('\u{8}'),
        'b' | 'B' if !is_in_class => Element::Assertion,
        '-' if is_in_class => Element::Single('-'),
        'n' => Element::Single('\n'),
        't' => Element::Single('\t'),
        'r' => Element::Single('\r'),
        'f' => Element::Single('\u{c}'),
        'v' => Element::Single('\u{b}'),
        // Digits that follow make a number of it.
        '0' if !rest.starts_with(|it: char| it.is_ascii_digit()) => Element::Single('\0'),
        'x' => Element::Single(code(rest, 2)?),
        'u' => Element::Single(code(rest, 4)?),
        it if "^$\\.*+?()[]{}|/".contains(it) => Element::Single(it),
        _ => return None,
    })
}

/// Takes the number of a character, of so many digits. Halves of a pair are none.
fn code(rest: &mut &str, n_digits: usize) -> Option<char> {
    let digits = rest.get(..n_digits)?;
    *rest = &rest[n_digits..];
    let is_number = digits.bytes().all(|it| it.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|_| is_number).and_then(char::from_u32)
}
