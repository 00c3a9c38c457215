//! The text of a template, parsed as a POSIX shell does it.
//!
//! The grammar is that of POSIX (XCU, chapter 2); text that shells are known to read in
//! different ways is refused. The parser runs nothing and expands nothing: it finds words, and
//! in them what is literal, what is a value, and what a shell would replace. Where a command
//! ends, its words are handed to the [`rules`]. Recursion is at most [`MAX_DEPTH`] deep.

use std::ops::Range;

use smallvec::SmallVec;

use super::{
    checker::Checker,
    fault::Fault,
    refused::{self, Refused},
    rules,
    words::{Parsed, Part, Placeholder, Quote, VARIABLE, Word},
};

/// How deep commands stand within commands, as in `$(a $(b))`: deeper than people write by hand,
/// and far from the end of a thread's stack.
const MAX_DEPTH: usize = 32;

/// How many names a text can have. A call would have as many arguments.
const MAX_NAMES: usize = 1024;

/// The most words of which there is room at first.
const MOST_EXPECTED: usize = 32;

/// The longest name of a placeholder, in bytes with the blanks around it.
const MAX_NAME_BYTES: usize = 256;

/// Which bytes are those of some ASCII characters.
type Bytes = [bool; 256];

/// Characters that mean something in a word, in single and in double quotes.
static WORD: Bytes = bytes(b" \t\n&;|<>()\\'\"`$*?[{~");
static SINGLE: Bytes = bytes(b"'{");
static DOUBLE: Bytes = bytes(b"\"\\`${");

/// Characters that stand in no name of a placeholder.
static NO_NAME: Bytes = bytes(b"{}'\"\\`$\n");

const fn bytes(chars: &[u8]) -> Bytes {
    let mut res = [false; 256];
    let mut at = 0;
    while at < chars.len() {
        res[chars[at] as usize] = true;
        at += 1;
    }
    res
}

/// Parses a text, checks it, and marks its words. `is_declared` tells the names of parameters: what
/// else stands in braces is a placeholder only when it looks like a name.
///
/// # Errors
///
/// The first fault in the order of the text; what only counts beside a value is found with the
/// first one.
pub(super) fn parse(text: &str, is_declared: &dyn Fn(&str) -> bool) -> Result<Parsed, Box<Fault>> {
    let mut parser = Parser {
        text,
        pos: 0,
        is_declared,
        checker: Checker::new(text),
        parsed: Parsed::default(),
        numbers: SmallVec::new(),
        newline: false,
        depth: 0,
        literal: 0,
        plain: None,
    };
    let words = parser.commands(None)?;
    let Parser { mut parsed, checker, mut numbers, .. } = parser;
    if let Some(fault) = checker.beside_value.filter(|_| !parsed.placeholders.is_empty()) {
        return Err(fault);
    }
    if words.is_empty() {
        return Err(refused::EMPTY.at(0..text.len(), ""));
    }
    if numbers.len() > MAX_NAMES {
        return Err(refused::TOO_MANY.at(0..text.len(), &format!("{MAX_NAMES} parameters")));
    }
    // Most texts have no `_` at all.
    if let Some(at) = memchr::memchr(b'_', text.as_bytes()).and_then(|_| text.find(VARIABLE)) {
        return Err(refused::OUR_NAME.at(at..at + VARIABLE.len(), VARIABLE));
    }
    parsed.words = words;
    numbers.sort_unstable_by_key(|it| it.1);
    parsed.params = numbers.iter().map(|it| it.0.to_owned()).collect();
    Ok(parsed)
}

/// `pos` is a byte of `text`, and always at the start of a character.
struct Parser<'a> {
    text: &'a str,
    pos: usize,
    is_declared: &'a dyn Fn(&str) -> bool,
    checker: Checker<'a>,
    parsed: Parsed,
    /// The names of the placeholders, sorted, and their numbers in the order of the text.
    numbers: SmallVec<[(&'a str, usize); 4]>,
    /// A newline came behind a word, which counts only when something follows.
    newline: bool,
    /// How many `$(` are open.
    depth: usize,
    /// Where the literal text begins that is being read, and what a program gets of it so far, once that may differ from
    /// what is written.
    literal: usize,
    plain: Option<String>,
}

impl<'a> Parser<'a> {
    /// What is not read yet.
    fn rest(&self) -> &'a str {
        &self.text[self.pos..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// The first byte of what is not read yet. One that is not ASCII is a part of a word.
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }

    fn starts(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    /// Goes on by so many bytes, and gives their place.
    fn skip(&mut self, n_bytes: usize) -> Range<usize> {
        let start = self.pos;
        self.pos += n_bytes;
        start..self.pos
    }

    /// Reads commands up to the end, or up to the `)` that belongs to the place `opened`. Each is
    /// checked where it ends.
    fn commands(&mut self, opened: Option<usize>) -> Result<Vec<Word>, Box<Fault>> {
        let n_blanks = || self.text.bytes().filter(|it| *it == b' ').count();
        let n_expected = opened.map_or_else(|| (n_blanks() + 1).min(MOST_EXPECTED), |_| 0);
        let mut words = Vec::with_capacity(n_expected);
        // Where the words of this command begin, and what it redirects without a target so far.
        let (mut first, mut redirection) = (0, None);
        // Each `(` that is open, and the end of the last `&`.
        let (mut groups, mut background_end) = (Vec::new(), None);
        while let Some(c) = self.byte() {
            let at = self.pos;
            match c {
                b' ' | b'\t' => self.pos += 1,
                b'\\' if self.starts("\\\n") => self.continuation()?,
                b'#' => self.comment()?,
                b'\n' | b'&' | b';' | b'|' | b'<' | b'>' | b'(' | b')' => {
                    self.refuse_operator()?;
                    if let Some(pending) = redirection.take() {
                        return Err(refused::NO_TARGET.at(pending, ""));
                    }
                    self.parsed.needs_shell |= c != b'\n';
                    if let b'<' | b'>' = c {
                        if background_end == Some(at) {
                            return Err(refused::BOTH_STREAMS.at(at - 1..at + 1, ""));
                        }
                        rules::redirection(&self.checker, &mut words[first..], at)?;
                        let is_long =
                            matches!(self.rest().get(..2), Some(">&" | "<&" | ">>" | "<>"));
                        redirection = Some(self.skip(if is_long { 2 } else { 1 }));
                        continue;
                    }
                    match c {
                        b'(' => {
                            let is_function =
                                self.rest()[1..].trim_start_matches([' ', '\t']).starts_with(')');
                            if !is_function && words.last().is_some_and(|it| it.span.end == at) {
                                return Err(refused::PARENTHESIS.at(at..at + 1, ""));
                            }
                            groups.push(at);
                        }
                        b')' if groups.pop().is_some() => {}
                        b')' if opened.is_some() => break,
                        b')' => return Err(refused::UNOPENED.at(at..at + 1, "")),
                        _ => {}
                    }
                    self.newline |= c == b'\n' && (self.depth > 0 || !words.is_empty());
                    background_end = (c == b'&').then_some(at + 1);
                    rules::command(&mut self.checker, &mut words[first..])?;
                    first = words.len();
                    self.pos += 1;
                }
                _ => {
                    self.parsed.needs_shell |= self.newline;
                    let mut word = self.word()?;
                    if let Some(operator) = redirection.take() {
                        rules::target(&self.checker, &mut word, &self.text[operator])?;
                    } else if words.is_empty() && opened.is_none() {
                        self.parsed.needs_shell |= rules::is_for_shell(self.text, &word);
                    }
                    words.push(word);
                }
            }
        }
        match (redirection, opened.filter(|_| self.peek().is_none()), groups.pop()) {
            (Some(pending), ..) => Err(refused::NO_TARGET.at(pending, "")),
            (_, Some(at), _) => Err(refused::UNCLOSED.at(at..at + 2, "$(")),
            (_, _, Some(at)) => Err(refused::UNCLOSED.at(at..at + 1, "(")),
            _ => {
                rules::command(&mut self.checker, &mut words[first..])?;
                Ok(words)
            }
        }
    }

    /// Refuses what a template has not, and what shells understand in different ways.
    fn refuse_operator(&self) -> Result<(), Box<Fault>> {
        let operators = ["&&", "||", ";", "|"].map(|it| (it, refused::OPERATOR));
        let others = [("<<", refused::HEREDOC), ("((", refused::DOUBLE_PARENTHESIS)];
        match operators.iter().chain(&others).find(|it| self.starts(it.0)) {
            Some((text, refused)) => Err(refused.at(self.pos..self.pos + text.len(), text)),
            None => Ok(()),
        }
    }

    /// A backslash at the end of a line. In the middle of a word it would hide what the characters
    /// around it mean together.
    fn continuation(&mut self) -> Result<(), Box<Fault>> {
        let before = self.text[..self.pos].chars().next_back();
        let span = self.skip(2);
        match before {
            None | Some(' ' | '\t' | '\n') => Ok(()),
            Some(_) => Err(refused::CONTINUED.instead(span, "", String::new())),
        }
    }

    /// A `#` at the start of a word, up to the end of the line. A placeholder in it is a fault.
    fn comment(&mut self) -> Result<(), Box<Fault>> {
        self.parsed.needs_shell = true;
        while let Some(c) = self.peek().filter(|it| *it != '\n') {
            if c == '`' {
                return Err(self.backtick());
            }
            if let Some(found) = self.placeholder_at(self.pos) {
                return Err(refused::COMMENT.at(found.span, found.name));
            }
            self.pos += c.len_utf8();
        }
        Ok(())
    }

    fn backtick(&self) -> Box<Fault> {
        refused::BACKTICK.at(self.pos..self.pos + 1, "")
    }

    /// One word, up to a blank or a character that ends it.
    fn word(&mut self) -> Result<Word, Box<Fault>> {
        let start = self.pos;
        let n_before = self.parsed.placeholders.len();
        let mut word = Word::default();
        self.literal = start;
        // Where braces open, and whether a comma or two dots follow.
        let (mut opening, mut parted) = (None, false);
        while let Some(c) = self.byte() {
            match c {
                b' ' | b'\t' | b'\n' | b'&' | b';' | b'|' | b'<' | b'>' | b'(' | b')' => break,
                b'\\' => self.escape(Quote::None)?,
                b'\'' => self.quoted(&mut word, Quote::Single)?,
                b'"' => self.quoted(&mut word, Quote::Double)?,
                b'`' => return Err(self.backtick()),
                b'$' => self.dollar(&mut word, Quote::None)?,
                b'{' if self.value(&mut word, Quote::None) => {}
                b'*' | b'?' | b'[' | b'{' | b'~' => {
                    let begins = self.pos == start || self.text[..self.pos].ends_with(['=', ':']);
                    self.parsed.needs_shell |= c != b'~' || begins;
                    opening = opening.or((c == b'{').then_some(self.pos));
                    self.take(1);
                }
                _ => {
                    let at = self.pos;
                    let text = self.run(&WORD);
                    let Some(open) = opening else { continue };
                    for (index, c) in text.char_indices() {
                        parted |= c == ',' || text[index..].starts_with("..");
                        if c == '}' && parted {
                            let span = open..at + index + 1;
                            self.checker.refuse_beside_value(|| refused::BRACES.at(span, ""));
                        }
                    }
                }
            }
        }
        self.end_literal(&mut word, self.pos);
        word.span = start..self.pos;
        word.value = self.parsed.placeholders.get(n_before).map(|it| it.span.clone());
        Ok(word)
    }

    /// Goes on over so many bytes of literal text that mean what is written.
    fn take(&mut self, n_bytes: usize) -> &'a str {
        let text = &self.text[self.skip(n_bytes)];
        if let Some(plain) = &mut self.plain {
            *plain += text;
        }
        text
    }

    /// Takes what is before the next one of these characters.
    fn run(&mut self, stops: &Bytes) -> &'a str {
        let rest = self.rest().as_bytes();
        let end = rest.iter().position(|it| stops[usize::from(*it)]);
        self.take(end.unwrap_or(rest.len()))
    }

    /// Makes a part of the literal text up to `end`, where there is any, be it an empty pair of
    /// quotes.
    fn end_literal(&mut self, word: &mut Word, end: usize) {
        let raw = self.literal..end;
        if !raw.is_empty() {
            let plain = self.plain.take();
            let cooked = plain.filter(|it| *it != self.text[raw.clone()]);
            word.parts.push(Part::Literal { raw, cooked: cooked.map(Box::from) });
        }
        self.plain = None;
        self.literal = end;
    }

    /// What a program gets of the literal text so far, to be changed.
    fn plain(&mut self) -> &mut String {
        let raw = &self.text[self.literal..self.pos];
        self.plain.get_or_insert_with(|| raw.to_owned())
    }

    /// Adds a part that ends here to a word, and the literal text before it.
    fn end_part(&mut self, word: &mut Word, start: usize, part: Part) {
        self.end_literal(word, start);
        word.parts.push(part);
        self.literal = self.pos;
    }

    /// A backslash. Outside of quotes the next character stands for itself.
    fn escape(&mut self, quote: Quote) -> Result<(), Box<Fault>> {
        if self.starts("\\\n") {
            self.plain();
            return self.continuation();
        }
        self.refuse_before_value(&refused::BACKSLASH)?;
        self.plain();
        self.pos += 1;
        match self.peek() {
            Some(c) if quote == Quote::None || matches!(c, '$' | '`' | '"' | '\\') => {
                self.take(c.len_utf8());
            }
            // At the very end, a backslash stands for itself.
            _ => self.plain().push('\\'),
        }
        Ok(())
    }

    /// Refuses the character here where a placeholder follows: it would fall on the value.
    fn refuse_before_value(&self, refused: &Refused) -> Result<(), Box<Fault>> {
        let Some(found) = self.placeholder_at(self.pos + 1) else { return Ok(()) };
        let plain = format!("{{{{{}}}}}", found.name);
        Err(refused.instead(self.pos..found.span.end, found.name, plain))
    }

    /// Text in quotes. In single ones, a placeholder is the only thing with a meaning.
    fn quoted(&mut self, word: &mut Word, quote: Quote) -> Result<(), Box<Fault>> {
        let is_single = quote == Quote::Single;
        let (end, stops) = if is_single { ("'", &SINGLE) } else { ("\"", &DOUBLE) };
        self.plain();
        let opening = self.skip(1);
        while !self.starts(end) {
            match self.peek() {
                None => return Err(refused::UNCLOSED.at(opening, end)),
                Some('{') if self.value(word, quote) => {}
                Some('{') => drop(self.take(1)),
                Some('\\') if !is_single => self.escape(quote)?,
                Some('$') if !is_single => self.dollar(word, quote)?,
                Some('`') if !is_single => return Err(self.backtick()),
                Some(_) => drop(self.run(stops)),
            }
        }
        self.plain();
        self.pos += 1;
        Ok(())
    }

    /// A `$`: an expansion, a substitution, or a dollar where nothing follows that a shell would
    /// read.
    fn dollar(&mut self, word: &mut Word, quote: Quote) -> Result<(), Box<Fault>> {
        let at = self.pos;
        self.refuse_before_value(&refused::DOLLAR)?;
        let part = match self.rest().as_bytes()[1..] {
            [b'(', b'(', ..] => Part::Expansion(self.calculation(quote)?),
            [b'(', ..] => {
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    let what = format!("{MAX_DEPTH} levels of `$(…)`");
                    return Err(refused::TOO_MANY.at(at..at + 2, &what));
                }
                self.end_literal(word, at);
                self.pos += 2;
                let words = self.commands(Some(at))?;
                self.depth -= 1;
                self.pos += 1;
                self.literal = at;
                Part::Substitution(at..self.pos, words)
            }
            [b'{', ..] => Part::Expansion(self.braced(quote)?),
            [c, ..] if c == b'_' || c.is_ascii_alphabetic() => {
                let name = self.rest()[1..].bytes();
                let len = name.take_while(|it| *it == b'_' || it.is_ascii_alphanumeric()).count();
                Part::Expansion(self.skip(1 + len))
            }
            [c, ..] if c.is_ascii_digit() || b"@*#?-$!".contains(&c) => {
                Part::Expansion(self.skip(2))
            }
            [b'[', ..] => return Err(refused::BRACKET.at(at..at + 2, "")),
            [b'\'' | b'"', ..] if quote == Quote::None => {
                return Err(refused::DOLLAR_QUOTE.at(at..at + 2, ""));
            }
            _ => {
                self.take(1);
                return Ok(());
            }
        };
        self.parsed.needs_shell = true;
        self.end_part(word, at, part);
        Ok(())
    }

    /// `$((…))`.
    fn calculation(&mut self, quote: Quote) -> Result<Range<usize>, Box<Fault>> {
        let start = self.pos;
        let mut depth = 0_usize;
        for (index, c) in self.rest().char_indices().skip(1) {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            // Else it is a command in parentheses, which a shell tells from a calculation by its
            // end.
            if depth == 1 && c == ')' && !self.rest()[index + 1..].starts_with(')') {
                return Err(refused::NOT_CALCULATED.at(start..start + index + 1, ""));
            }
            if depth == 0 {
                let span = self.skip(index + 1);
                self.check_expansion(span.start + 3..span.end - 1, quote, "$((…))")?;
                return Ok(span);
            }
        }
        Err(refused::UNCLOSED.at(start..start + 3, "$(("))
    }

    /// `${…}`.
    fn braced(&mut self, quote: Quote) -> Result<Range<usize>, Box<Fault>> {
        let start = self.pos;
        let Some(len) = self.rest().find('}') else {
            return Err(refused::UNCLOSED.at(start..start + 2, "${"));
        };
        let span = self.skip(len + 1);
        // `${!a}` names a variable by another one, and `${ a }` runs a command, in some shells.
        let name = &self.text[start + 2..start + len];
        let is_name =
            name.starts_with(|c: char| c.is_ascii_alphanumeric() || "_@*#?-$!".contains(c));
        if !is_name || name.len() > 1 && name.starts_with('!') {
            return Err(refused::NOT_PLAIN.at(span, ""));
        }
        self.check_expansion(start + 2..start + len, quote, "${…}")?;
        Ok(span)
    }

    /// Refuses what could mean more within an expansion than is looked at here.
    fn check_expansion(
        &self,
        inside: Range<usize>,
        quote: Quote,
        label: &str,
    ) -> Result<(), Box<Fault>> {
        let mut before = None;
        for (index, c) in self.text[inside.clone()].char_indices() {
            let at = inside.start + index;
            if let Some(found) = self.placeholder_at(at) {
                let help = "set a variable in `sh -c '…' _ {{name}}`, where the value is \"$1\"";
                return Err(self.checker.value(found.span, &format!("within `{label}`"), help));
            }
            let refused = match (before, c) {
                (_, '`') => refused::BACKTICK,
                (_, ';' | '|') if quote == Quote::None => refused::OPERATOR,
                (_, '\'' | '"' | '\\' | '{') | (Some('$'), '(') => refused::INTRICATE,
                (Some('<' | '>'), '(') if label == "${…}" => refused::INTRICATE,
                _ => {
                    before = Some(c);
                    continue;
                }
            };
            return Err(refused
                .at(at..at + 1, if c == ';' || c == '|' { &self.text[at..=at] } else { label }));
        }
        Ok(())
    }

    /// Reads the placeholder that stands here, and says whether one does.
    fn value(&mut self, word: &mut Word, quote: Quote) -> bool {
        let Some(Found { name, span, spaced }) = self.placeholder_at(self.pos) else {
            return false;
        };
        let next = self.numbers.len();
        let param = match self.numbers.binary_search_by(|it| it.0.cmp(name)) {
            Ok(at) => self.numbers[at].1,
            Err(at) => {
                // One more than there may be is enough to tell.
                if next <= MAX_NAMES {
                    self.numbers.insert(at, (name, next));
                }
                next
            }
        };
        self.pos = span.end;
        self.end_part(word, span.start, Part::Value { param, quote, span: span.clone() });
        self.parsed.placeholders.push(Placeholder { param, span, spaced });
        true
    }

    /// The placeholder that begins at this byte. Blanks within the braces are let pass around the
    /// name of a parameter only: `{{ end }}` is the language of other programs.
    fn placeholder_at(&self, at: usize) -> Option<Found<'a>> {
        let inside = self.text.get(at..)?.strip_prefix("{{")?;
        // What most people write.
        let bytes = inside.as_bytes().iter().take(MAX_NAME_BYTES);
        let plain = bytes.take_while(|it| is_name_byte(**it)).count();
        let name = &inside[..plain];
        if plain < MAX_NAME_BYTES && inside[plain..].starts_with("}}") && is_name_start(name) {
            return Some(Found { name, span: at..at + plain + 4, spaced: false });
        }
        let close = inside.bytes().take(MAX_NAME_BYTES).position(|it| NO_NAME[usize::from(it)])?;
        if !inside[close..].starts_with("}}") {
            return None;
        }
        let inside = &inside[..close];
        let name = inside.trim();
        let spaced = name.len() < inside.len();
        if (spaced || !is_name(name)) && !(self.is_declared)(name) {
            return None;
        }
        Some(Found { name, span: at..at + inside.len() + 4, spaced })
    }
}

/// A placeholder that was found in the text.
struct Found<'a> {
    name: &'a str,
    span: Range<usize>,
    spaced: bool,
}

/// Whether a text looks like the name of a parameter.
fn is_name(text: &str) -> bool {
    is_name_start(text) && text.bytes().all(is_name_byte)
}

fn is_name_start(text: &str) -> bool {
    text.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
}

fn is_name_byte(byte: u8) -> bool {
    byte == b'_' || byte == b'-' || byte.is_ascii_alphanumeric()
}
