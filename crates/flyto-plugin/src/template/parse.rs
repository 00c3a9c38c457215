//! The text of a template, parsed as a POSIX shell does it.
//!
//! The grammar is that of POSIX (XCU, chapter 2); text that shells are known to read in
//! different ways is a fault. The parser runs nothing and expands nothing: it finds words, and
//! in them what is literal, what is a value, and what a shell would replace. Recursion is at
//! most [`MAX_DEPTH`] deep.

use std::{collections::BTreeMap, ops::Range};

use smallvec::SmallVec;

use super::{
    fault::Fault,
    words::{Gap, Item, Parsed, Part, Placeholder, Quote, Word},
};

/// How deep commands stand within commands, as in `$(a $(b))`: deeper than people write by hand,
/// and far from the end of a thread's stack.
const MAX_DEPTH: usize = 32;

/// How many names a text can have. A call would have as many arguments.
const MAX_NAMES: usize = 1024;

/// Characters that mean something in a word, in single and in double quotes, one bit each.
const WORD: u128 = bits(b" \t\n&;|<>()\\'\"`$*?[{~");
const SINGLE: u128 = bits(b"'{");
const DOUBLE: u128 = bits(b"\"\\`${");

/// Characters that stand in no name of a placeholder.
const NO_NAME: u128 = bits(b"{}'\"\\`$\n");

const fn bits(chars: &[u8]) -> u128 {
    match chars {
        [first, rest @ ..] => 1 << *first | bits(rest),
        [] => 0,
    }
}

/// Room for what stands in most commands that people write. It stays below 1 KiB, up to which
/// allocators have pieces at hand.
const COMMON_ITEMS: usize = 11;

/// How many names are told apart by comparing them one by one.
const FEW_NAMES: usize = 16;

/// The longest name of a placeholder, in bytes with the blanks around it.
const MAX_NAME_BYTES: usize = 256;

/// Parses a text. `is_declared` tells the names of parameters: what else stands in braces is a
/// placeholder only when it looks like a name.
pub(super) fn parse(text: &str, is_declared: &dyn Fn(&str) -> bool) -> Result<Parsed, Box<Fault>> {
    let mut reader = Reader {
        text,
        pos: 0,
        is_declared,
        parsed: Parsed::default(),
        names: Vec::new(),
        numbers: BTreeMap::new(),
        newline: false,
        has_words: false,
        braces: None,
        depth: 0,
    };
    let items = reader.commands(None)?;
    if let Some(span) = reader.braces.take().filter(|_| !reader.names.is_empty()) {
        return Err(Fault::braces(span).into());
    }
    if reader.names.len() > MAX_NAMES {
        let what = format!("a template has at most {MAX_NAMES} parameters");
        return Err(Fault::syntax(0..text.len(), what).into());
    }
    let Reader { mut parsed, names, .. } = reader;
    parsed.items = items;
    parsed.params = names.into_iter().map(ToOwned::to_owned).collect();
    Ok(parsed)
}

/// `pos` is a byte of `text`, and always at the start of a character.
struct Reader<'a> {
    text: &'a str,
    pos: usize,
    is_declared: &'a dyn Fn(&str) -> bool,
    parsed: Parsed,
    /// The names of the placeholders, each once.
    names: Vec<&'a str>,
    /// The number of each name, where there are more than [`FEW_NAMES`].
    numbers: BTreeMap<&'a str, usize>,
    /// A newline came, which counts only when something follows.
    newline: bool,
    /// A word came, so a newline behind it may part two commands.
    has_words: bool,
    /// The first braces that are several words to some shells.
    braces: Option<Range<usize>>,
    /// How many `$(` are open.
    depth: usize,
}

impl<'a> Reader<'a> {
    /// What is not read yet.
    fn rest(&self) -> &'a str {
        &self.text[self.pos..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn starts(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    /// Goes on by so many bytes, and gives them.
    fn take(&mut self, n_bytes: usize) -> &'a str {
        &self.text[self.skip(n_bytes)]
    }

    /// Goes on up to one of these characters, and gives what is before it.
    fn run(&mut self, stops: u128) -> &'a str {
        let bytes = self.rest().bytes();
        let is_stop = |it: &u8| it.is_ascii() && stops >> it & 1 != 0;
        self.take(bytes.take_while(|it| !is_stop(it)).count())
    }

    /// Goes on by so many bytes, and gives their place.
    fn skip(&mut self, n_bytes: usize) -> Range<usize> {
        let start = self.pos;
        self.pos += n_bytes;
        start..self.pos
    }

    /// Reads commands up to the end, or up to the `)` that belongs to the place `opened`.
    fn commands(&mut self, opened: Option<usize>) -> Result<Vec<Item>, Box<Fault>> {
        let mut items = Vec::with_capacity(if opened.is_none() { COMMON_ITEMS } else { 0 });
        let mut depth = 0_usize;
        while let Some(c) = self.peek() {
            let at = self.pos;
            let gap = match c {
                ' ' | '\t' => {
                    self.pos += 1;
                    continue;
                }
                '\\' if self.starts("\\\n") => {
                    self.continuation()?;
                    continue;
                }
                '\n' => {
                    self.newline |= self.has_words;
                    (Gap::Newline, self.skip(1))
                }
                '#' => {
                    self.comment()?;
                    self.parsed.needs_shell = true;
                    continue;
                }
                '&' if self.starts("&&") => return Err(Fault::operator(at..at + 2, "&&").into()),
                '&' => (Gap::Background, self.skip(1)),
                ';' => return Err(Fault::operator(at..at + 1, ";").into()),
                '|' if self.starts("||") => return Err(Fault::operator(at..at + 2, "||").into()),
                '|' => return Err(Fault::operator(at..at + 1, "|").into()),
                '<' if self.starts("<<") => return Err(Fault::heredoc(at..at + 2).into()),
                '<' | '>' => self.redirection(),
                '(' if self.starts("((") => {
                    let what = "`((` means something else in each shell";
                    let fault = Fault::syntax(at..at + 2, what);
                    return Err(Box::new(fault));
                }
                '(' => {
                    depth += 1;
                    (Gap::Open, self.skip(1))
                }
                ')' if depth > 0 => {
                    depth -= 1;
                    (Gap::Close, self.skip(1))
                }
                ')' if opened.is_some() => return Ok(items),
                ')' => return Err(Fault::unopened(at).into()),
                _ => {
                    self.parsed.needs_shell |= self.newline;
                    self.has_words = true;
                    let word = self.word()?;
                    items.push(Item::Word(word));
                    continue;
                }
            };
            self.parsed.needs_shell |= gap.0 != Gap::Newline;
            items.push(Item::Gap(gap.0, gap.1));
        }
        match opened {
            Some(at) => Err(Fault::unclosed(at..at + 2, "$(").into()),
            None if depth > 0 => {
                let open = items.iter().rfind(|it| matches!(it, Item::Gap(Gap::Open, _)));
                let span = match open {
                    Some(Item::Gap(_, span)) => span.clone(),
                    _ => 0..self.text.len(),
                };
                Err(Fault::unclosed(span, "(").into())
            }
            None => Ok(items),
        }
    }

    /// A backslash at the end of a line. In the middle of a word it would hide what the characters
    /// around it mean together.
    fn continuation(&mut self) -> Result<(), Box<Fault>> {
        let before = self.text[..self.pos].chars().next_back();
        let span = self.skip(2);
        match before {
            None | Some(' ' | '\t' | '\n') => Ok(()),
            Some(_) => Err(Fault::continued(span).into()),
        }
    }

    /// A `#` at the start of a word, up to the end of the line. A placeholder in it is a fault.
    fn comment(&mut self) -> Result<(), Box<Fault>> {
        let len = self.rest().find('\n').unwrap_or(self.rest().len());
        let start = self.pos;
        let comment = start..start + len;
        for (index, c) in self.text[comment.clone()].char_indices() {
            let at = start + index;
            if c == '`' {
                return Err(Fault::backtick(at).into());
            }
            if let Some(found) = self.placeholder_at(at) {
                let what =
                    format!("`{{{{{}}}}}` stands in a comment, which is not run", found.name);
                let help = "quote the `#` if the program is to see it";
                let mut fault = Fault::syntax(found.span, what);
                fault.help = Some(help.to_owned());
                return Err(Box::new(fault));
            }
        }
        self.pos = comment.end;
        Ok(())
    }

    /// `<`, `>`, `>>`, `<>`, `<&` or `>&`; `<<` is refused before.
    fn redirection(&mut self) -> (Gap, Range<usize>) {
        match self.rest().as_bytes() {
            [b'<' | b'>', b'&', ..] => (Gap::Duplicate, self.skip(2)),
            [b'>', b'>', ..] | [b'<', b'>', ..] => (Gap::Redirect, self.skip(2)),
            _ => (Gap::Redirect, self.skip(1)),
        }
    }

    /// One word, up to a blank or a character that ends it.
    fn word(&mut self) -> Result<Word, Box<Fault>> {
        let mut word = Parts { start: self.pos, ..Parts::default() };
        let start = self.pos;
        // Where braces open, and whether a comma or two dots follow.
        let (mut opening, mut parted) = (None, false);
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | '&' | ';' | '|' | '<' | '>' | '(' | ')' => break,
                '\\' => self.escape(&mut word)?,
                '\'' => self.single_quotes(&mut word)?,
                '"' => self.double_quotes(&mut word)?,
                '`' => return Err(Fault::backtick(self.pos).into()),
                '$' => self.dollar(&mut word, Quote::None)?,
                '{' if self.value(&mut word, Quote::None) => {}
                '*' | '?' | '[' | '{' | '~' => {
                    let begins =
                        || self.pos == start || self.text[..self.pos].ends_with(['=', ':']);
                    self.parsed.needs_shell |= c != '~' || begins();
                    opening = opening.or((c == '{').then_some(self.pos));
                    word.written(self.take(1));
                }
                _ => {
                    let text = self.run(WORD);
                    for (at, c) in text.char_indices().filter(|_| opening.is_some()) {
                        parted |= c == ',' || text[at..].starts_with("..");
                        if c == '}' && parted && self.braces.is_none() {
                            self.braces = opening.map(|it| it..self.pos - text.len() + at + 1);
                        }
                    }
                    word.written(text);
                }
            }
        }
        word.end_literal(self.pos);
        let Parts { parts, .. } = word;
        Ok(Word { span: start..self.pos, parts, ..Word::default() })
    }

    /// A backslash outside of quotes: the next character stands for itself.
    fn escape(&mut self, word: &mut Parts) -> Result<(), Box<Fault>> {
        if self.starts("\\\n") {
            self.continuation()?;
            return Ok(());
        }
        self.refuse_escaped_placeholder()?;
        let cooked = word.cooked(&self.text[word.start..self.pos]);
        self.pos += 1;
        // At the very end, a backslash stands for itself.
        let c = self.peek().unwrap_or('\\');
        cooked.push(c);
        self.pos = (self.pos + c.len_utf8()).min(self.text.len());
        Ok(())
    }

    /// A backslash in front of a placeholder is a fault, as it would fall on the value.
    fn refuse_escaped_placeholder(&self) -> Result<(), Box<Fault>> {
        match self.placeholder_at(self.pos + 1) {
            Some(found) => Err(Fault::backslash(self.pos..found.span.end, found.name).into()),
            None => Ok(()),
        }
    }

    /// Text in which a placeholder is the only thing with a meaning.
    fn single_quotes(&mut self, word: &mut Parts) -> Result<(), Box<Fault>> {
        word.cooked(&self.text[word.start..self.pos]);
        let opening = self.skip(1);
        loop {
            match self.peek() {
                None => return Err(Fault::unclosed(opening, "'").into()),
                Some('\'') => break,
                Some('{') if self.value(word, Quote::Single) => {}
                Some('{') => word.written(self.take(1)),
                Some(_) => word.written(self.run(SINGLE)),
            }
        }
        word.cooked(&self.text[word.start..self.pos]);
        self.pos += 1;
        Ok(())
    }

    /// Text in which `$`, a backslash and placeholders have a meaning.
    fn double_quotes(&mut self, word: &mut Parts) -> Result<(), Box<Fault>> {
        word.cooked(&self.text[word.start..self.pos]);
        let opening = self.skip(1);
        loop {
            match self.peek() {
                None => return Err(Fault::unclosed(opening, "\"").into()),
                Some('"') => break,
                Some('\\') if self.starts("\\\n") => {
                    word.cooked(&self.text[word.start..self.pos]);
                    self.continuation()?;
                }
                Some('\\') => {
                    self.refuse_escaped_placeholder()?;
                    let cooked = word.cooked(&self.text[word.start..self.pos]);
                    self.pos += 1;
                    match self.peek() {
                        Some(c @ ('$' | '`' | '"' | '\\')) => {
                            cooked.push(c);
                            self.pos += 1;
                        }
                        _ => cooked.push('\\'),
                    }
                }
                Some('`') => return Err(Fault::backtick(self.pos).into()),
                Some('$') => self.dollar(word, Quote::Double)?,
                Some('{') if self.value(word, Quote::Double) => {}
                Some('{') => word.written(self.take(1)),
                Some(_) => word.written(self.run(DOUBLE)),
            }
        }
        word.cooked(&self.text[word.start..self.pos]);
        self.pos += 1;
        Ok(())
    }

    /// A `$`: an expansion, a substitution, or a dollar where nothing follows that a shell would
    /// read.
    fn dollar(&mut self, word: &mut Parts, quote: Quote) -> Result<(), Box<Fault>> {
        let at = self.pos;
        if let Some(found) = self.placeholder_at(at + 1) {
            return Err(Fault::dollar(at..found.span.end, found.name).into());
        }
        let after: Vec<char> = self.rest().chars().skip(1).take(2).collect();
        let part = match after[..] {
            ['(', '('] => Part::Expansion(self.calculation(quote)?),
            ['(', ..] => {
                if self.depth == MAX_DEPTH {
                    let what = format!("`$(` stands within more than {MAX_DEPTH} others");
                    return Err(Fault::syntax(at..at + 2, what).into());
                }
                self.pos += 2;
                self.depth += 1;
                word.end_literal(at);
                let items = self.commands(Some(at))?;
                self.depth -= 1;
                self.pos += 1;
                Part::Substitution(at..self.pos, items)
            }
            ['{', ..] => Part::Expansion(self.braced(quote)?),
            [c, ..] if c == '_' || c.is_ascii_alphabetic() => {
                let name = self.rest()[1..].bytes();
                let len = name.take_while(|it| *it == b'_' || it.is_ascii_alphanumeric()).count();
                Part::Expansion(self.skip(1 + len))
            }
            [c, ..] if c.is_ascii_digit() || "@*#?-$!".contains(c) => Part::Expansion(self.skip(2)),
            ['[', ..] => return Err(Fault::bracket(at..at + 2).into()),
            ['\'' | '"', ..] if quote == Quote::None => {
                return Err(Fault::dollar_quote(at..at + 2).into());
            }
            _ => {
                word.written(self.take(1));
                return Ok(());
            }
        };
        self.parsed.needs_shell = true;
        word.end_literal(at);
        word.parts.push(part);
        word.start = self.pos;
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
            // Else it is a command in parentheses, which a shell tells from a calculation by its end.
            if depth == 1 && c == ')' && !self.rest()[index + 1..].starts_with(')') {
                return Err(Fault::not_calculated(start..start + index + 1).into());
            }
            if depth == 0 {
                let span = self.skip(index + 1);
                self.check_expansion(span.start + 3..span.end - 1, quote, "$((…))")?;
                return Ok(span);
            }
        }
        Err(Fault::unclosed(start..start + 3, "$((").into())
    }

    /// `${…}`.
    fn braced(&mut self, quote: Quote) -> Result<Range<usize>, Box<Fault>> {
        let start = self.pos;
        let Some(len) = self.rest().find('}') else {
            return Err(Fault::unclosed(start..start + 2, "${").into());
        };
        let inside = start + 2..start + len;
        // `${!a}` names a variable by another one, and `${ a }` runs a command, in some shells.
        let name = &self.text[inside.clone()];
        let is_name =
            name.starts_with(|c: char| c.is_ascii_alphanumeric() || "_@*#?-$!".contains(c));
        if !is_name || name.len() > 1 && name.starts_with('!') {
            return Err(Fault::not_plain(start..inside.end + 1).into());
        }
        self.check_expansion(inside, quote, "${…}")?;
        Ok(self.skip(len + 1))
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
            let found = self.placeholder_at(at);
            if let Some(found) = found {
                let place = format!("within `{label}`");
                let help = "set a variable in `sh -c '…' _ {{name}}`, where the value is \"$1\"";
                return Err(Fault::place(found.span, found.name, &place, help.to_owned()).into());
            }
            match c {
                '`' => return Err(Fault::backtick(at).into()),
                ';' | '|' if quote == Quote::None => {
                    return Err(Fault::operator(at..at + 1, &c.to_string()).into());
                }
                '\'' | '"' | '\\' | '{' => {
                    return Err(Fault::intricate(at..at + 1, label).into());
                }
                '(' if before == Some('$')
                    || label == "${…}" && matches!(before, Some('<' | '>')) =>
                {
                    return Err(Fault::intricate(at - 1..at + 1, label).into());
                }
                _ => {}
            }
            before = Some(c);
        }
        Ok(())
    }

    /// Reads the placeholder that stands here, and says whether one does.
    fn value(&mut self, word: &mut Parts, quote: Quote) -> bool {
        let Some(found) = self.placeholder_at(self.pos) else { return false };
        word.end_literal(self.pos);
        let Found { name, span, spaced } = found;
        let param = self.number_of(name);
        word.parts.push(Part::Value { param, quote, span: span.clone() });
        self.pos = span.end;
        word.start = self.pos;
        self.parsed.placeholders.push(Placeholder { param, span, spaced });
        true
    }

    /// The number of a name, which is a new one where the name is.
    fn number_of(&mut self, name: &'a str) -> usize {
        let is_known = match self.numbers.is_empty() {
            true => self.names.iter().position(|it| *it == name),
            false => self.numbers.get(name).copied(),
        };
        let number = is_known.unwrap_or(self.names.len());
        // One more than there may be is enough to tell.
        if number == self.names.len() && number <= MAX_NAMES {
            self.names.push(name);
            if !self.numbers.is_empty() {
                self.numbers.insert(name, number);
            } else if number == FEW_NAMES {
                self.numbers.extend(self.names.iter().copied().zip(0..));
            }
        }
        number
    }

    /// The placeholder that begins at this byte. Blanks within the braces are let pass around the
    /// name of a parameter only: `{{ end }}` is the language of other programs.
    fn placeholder_at(&self, at: usize) -> Option<Found<'a>> {
        let inside = self.text.get(at..)?.strip_prefix("{{")?;
        let is_end = |it: &u8| it.is_ascii() && NO_NAME >> it & 1 != 0;
        let close = inside.bytes().take(MAX_NAME_BYTES).position(|it| is_end(&it))?;
        if !inside[close..].starts_with("}}") {
            return None;
        }
        let inside = &inside[..close];
        let name = inside.trim();
        let spaced = name.len() < inside.len();
        if (spaced || !is_name(name)) && !(self.is_declared)(name) {
            return None;
        }
        let span = at..at + inside.len() + 4;
        Some(Found { name, span, spaced })
    }
}

/// A placeholder that was found in the text.
struct Found<'a> {
    name: &'a str,
    span: Range<usize>,
    spaced: bool,
}

/// Whether a text looks like the name of a parameter.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && text.chars().all(|c| c == '_' || c == '-' || c.is_ascii_alphanumeric())
}

/// The parts of a word that is being read.
/// Literal text is gathered until something else follows, and then closed by `end_literal`.
#[derive(Default)]
struct Parts {
    /// Where the text begins that is no part yet.
    start: usize,
    parts: SmallVec<[Part; 1]>,
    /// There is such text, be it an empty pair of quotes.
    is_text: bool,
    /// What it means, where that is not what is written.
    cooked: Option<String>,
}

impl Parts {
    /// Adds text that means what is written.
    fn written(&mut self, text: &str) {
        self.is_text = true;
        if let Some(cooked) = &mut self.cooked {
            cooked.push_str(text);
        }
    }

    /// What the text means so far, to add what differs from what is written. `before` is what is written so far.
    fn cooked(&mut self, before: &str) -> &mut String {
        self.is_text = true;
        self.cooked.get_or_insert_with(|| before.to_owned())
    }

    /// Makes a part of the text up to `end`, where there is any.
    fn end_literal(&mut self, end: usize) {
        let cooked = self.cooked.take().map(String::into_boxed_str);
        if std::mem::take(&mut self.is_text) {
            self.parts.push(Part::Literal { raw: self.start..end, cooked });
        }
        self.start = end;
    }
}
