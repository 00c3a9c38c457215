//! Expansions: what starts with a dollar sign or a backquote.
//!
//! Nothing is expanded: a word notes that part of it is not known
//! ([`Word::expansion`]), and commands in a substitution are read like any others,
//! since they run. Whatever evaluates a name or a text (arithmetic, `${!x}`,
//! subscripts) is noted as unclear, and the reading goes on behind it.

use super::{
    Input, Word,
    parse::{Context, Parsed, Parser, read},
    variables,
    word::Mark,
};

impl<'a> Parser<'a> {
    /// Reads from `$` on.
    ///
    /// `quoted` says that it stands in double quotes, so that the result is one
    /// word. A dollar sign before anything else is itself.
    pub(super) fn dollar(&mut self, word: &mut Word, quoted: bool) -> Parsed {
        if self.at("$((") {
            self.pos += 3;
            self.arithmetic("))")?;
            word.expansion_of(Mark::Number, quoted);
            return Ok(());
        }
        match self.byte(1) {
            Some(b'(') => {
                self.pos += 2;
                let (start, n_before) = (self.pos, self.out.commands.len());
                self.substitution(false)?;
                match self.printed_document(&self.text[start..self.pos], n_before) {
                    Some(slot) if quoted => word.expansion_of(Mark::Document { slot }, quoted),
                    _ => word.expansion(quoted),
                }
            }
            Some(b'{') => {
                self.pos += 2;
                let is_number = self.peek() == Some(b'#') && self.byte(1) != Some(b'}');
                match self.deeper(|it| it.parameter(quoted))? {
                    Some(name) => self.variable(name, word, quoted),
                    None if is_number => word.expansion_of(Mark::Number, quoted),
                    None => word.expansion(quoted),
                }
            }
            Some(b'[') => {
                self.note_dialect();
                self.note("arithmetic in square brackets, which not every shell reads");
                self.pos += 2;
                self.arithmetic("]")?;
                word.expansion(quoted);
            }
            Some(b'\'') if !quoted => self.ansi_c_quotes(word)?,
            Some(b'"') if !quoted => {
                self.note("a text that is translated");
                self.pos += 1;
                self.double_quotes(word)?;
                word.expansion(true);
            }
            Some(b'\\') if self.byte(2) == Some(b'\n') => {
                return Err(self.unclear("a line that is continued inside a word"));
            }
            // A number, which is one word.
            Some(b'?' | b'#' | b'$') => {
                self.pos += 2;
                word.expansion_of(Mark::Number, true);
            }
            Some(b'0'..=b'9' | b'*' | b'@' | b'-' | b'!') => {
                // `"$@"` is several words although it is quoted.
                let many = self.byte(1) == Some(b'@');
                self.pos += 2;
                word.expansion(quoted && !many);
            }
            Some(it) if it.is_ascii_alphabetic() || it == b'_' => {
                self.pos += 1;
                let rest = &self.text[self.pos..];
                let is_of_name = |it: &u8| it.is_ascii_alphanumeric() || *it == b'_';
                let name = &rest[..rest.bytes().take_while(is_of_name).count()];
                self.pos += name.len();
                self.variable(name, word, quoted);
            }
            _ => {
                self.pos += 1;
                self.out.quotes_substitution = true;
                word.push('$');
            }
        }
        Ok(())
    }

    /// The here-document that a substitution prints and nothing else, as in `$(cat
    /// <<'EOF' …`: by its number.
    ///
    /// `text` stands behind the opening bracket, and what it runs are the commands from
    /// `n_before` on.
    fn printed_document(&self, text: &str, n_before: usize) -> Option<usize> {
        let first_line =
            text.trim_start_matches([' ', '\t']).strip_prefix("cat")?.lines().next()?;
        let delimiter = first_line.trim().strip_prefix("<<")?;
        let is_delimiter = |it: u8| it.is_ascii_alphanumeric() || b"_'\"\\".contains(&it);
        let [command] = &self.out.commands[n_before..] else { return None };
        match command.inputs[..] {
            // Behind it stands no redirection and no operator.
            [Input::Heredoc { slot, is_stdin: true }] if delimiter.bytes().all(is_delimiter) => {
                Some(slot)
            }
            _ => None,
        }
    }

    /// The value of a variable, without any operator.
    fn variable(&self, name: &str, word: &mut Word, quoted: bool) {
        let in_loop = self.loops.contains(&name);
        word.expansion_of(Mark::Variable { name: name.into(), quoted, in_loop }, quoted);
    }

    /// Commands up to a closing bracket.
    ///
    /// From behind the opening bracket. `piped` says that its input is a pipe, as
    /// in `>(…)`. Here-documents of the outside wait until it ends.
    pub(super) fn substitution(&mut self, piped: bool) -> Parsed {
        let outer = self.context;
        let waiting = std::mem::take(&mut self.heredocs);
        self.context.piped = piped;
        let res = self.deeper(|it| {
            it.list()?;
            it.no_open_heredoc()?;
            it.expect(")")
        });
        self.context = outer;
        self.heredocs = waiting;
        res
    }

    /// `` `…` ``: the text has one layer of backslashes taken off and is then read
    /// by itself.
    ///
    /// In double quotes, `\"` loses its backslash too. Its bytes count once more.
    pub(super) fn backquotes(&mut self, word: &mut Word, quoted: bool) -> Parsed {
        let start = self.pos;
        self.pos += 1;
        let mut inner = String::new();
        loop {
            match self.peek() {
                None => {
                    self.pos = start;
                    return Err(self.unclear("a backquote that is not closed"));
                }
                Some(b'`') => break,
                Some(b'\\') => {
                    self.pos += 1;
                    match self.peek() {
                        Some(it @ (b'`' | b'\\' | b'$')) => {
                            inner.push(char::from(it));
                            self.pos += 1;
                        }
                        Some(b'"') if quoted => {
                            inner.push('"');
                            self.pos += 1;
                        }
                        _ => inner.push('\\'),
                    }
                }
                Some(_) => {
                    let it = self.next_char();
                    inner.push(it);
                }
            }
        }
        self.pos += 1;
        let context = Context { depth: self.context.depth + 1, piped: false, ..self.context };
        read(&inner, self.out, context)?;
        word.expansion(quoted);
        Ok(())
    }

    /// `${…}`, from behind the opening brace.
    ///
    /// The operators of POSIX and bash are passed over with the words behind them,
    /// whose substitutions are read. One that sets a variable (`=`) is read for
    /// harmless names only.
    ///
    /// Gives the name where nothing but a name stands in the braces.
    fn parameter(&mut self, quoted: bool) -> Parsed<Option<&'a str>> {
        let is_length = self.byte(1) != Some(b'}') && self.take("#");
        let is_indirect = self.peek() == Some(b'!') && self.byte(1) != Some(b'}');
        if is_indirect {
            self.note("an expansion by the name in a variable");
            self.pos += 1;
        }
        let text = self.text;
        let rest = &text[self.pos..];
        let n_name = match rest.bytes().next() {
            Some(b'*' | b'@' | b'#' | b'?' | b'-' | b'$') => 1,
            _ => rest.bytes().take_while(|it| it.is_ascii_alphanumeric() || *it == b'_').count(),
        };
        let name = &rest[..n_name];
        if name.is_empty() {
            return Err(self.unclear("an expansion that is not read"));
        }
        self.pos += n_name;
        let is_plain = !is_length && !is_indirect && self.peek() == Some(b'}');
        if self.take("[") {
            if !self.take("@]") && !self.take("*]") {
                self.arithmetic("]")?;
            }
        } else if is_indirect && matches!(self.peek(), Some(b'@' | b'*')) {
            self.pos += 1;
        }
        if self.take("}") {
            return Ok(Some(name).filter(|it| is_plain && variables::is_name(it)));
        }
        if is_length {
            return Err(self.unclear("an expansion that is not read"));
        }
        let assigns = self.at("=") || self.at(":=");
        if assigns {
            self.out.assigned.push(name.to_owned());
        }
        if assigns && !variables::is_harmless_inside(name) {
            self.note("an expansion that sets a variable");
        }
        let is_slice = self.at(":") && !matches!(self.byte(1), Some(b'-' | b'=' | b'?' | b'+'));
        if is_slice {
            self.arithmetic("}")?;
            return Ok(None);
        }
        if !matches!(
            self.peek(),
            Some(b':' | b'-' | b'=' | b'?' | b'+' | b'#' | b'%' | b'/' | b'^' | b',')
        ) {
            return Err(self.unclear("an expansion that is not read"));
        }
        self.parameter_word(quoted)?;
        Ok(None)
    }

    /// The text behind an operator, up to the closing brace. Quotes within quotes
    /// are read differently by shells, so they are not read here.
    fn parameter_word(&mut self, quoted: bool) -> Parsed {
        let mut ignored = Word::default();
        loop {
            match self.peek() {
                Some(b'}') => {
                    self.pos += 1;
                    return Ok(());
                }
                Some(b'$') => self.dollar(&mut ignored, quoted)?,
                Some(b'`') => self.backquotes(&mut ignored, quoted)?,
                Some(b'\'') if !quoted => self.single_quotes(&mut ignored)?,
                Some(b'"') if !quoted => self.double_quotes(&mut ignored)?,
                Some(b'\\') if !quoted && self.byte(1).is_some_and(|it| it != b'\n') => {
                    self.pos += 1;
                    self.next_char();
                }
                None | Some(b'\'' | b'"' | b'\\' | b'\n' | b'{') => {
                    return Err(self.unclear("an expansion that is not read"));
                }
                Some(b'<' | b'>') if self.byte(1) == Some(b'(') => {
                    return Err(self.unclear("an expansion that is not read"));
                }
                Some(_) => {
                    self.next_char();
                }
            }
        }
    }

    /// `$'…'`,
    /// [ANSI-C quoting](https://www.gnu.org/software/bash/manual/html_node/ANSI_002dC-Quoting.html).
    ///
    /// Escapes that are not listed, and those beyond ASCII, stop the reading.
    fn ansi_c_quotes(&mut self, word: &mut Word) -> Parsed {
        let start = self.pos;
        self.pos += 2;
        word.quote();
        loop {
            if self.peek().is_none() {
                self.pos = start;
                return Err(self.unclear("a quote that is not closed"));
            }
            match self.next_char() {
                '\'' => return Ok(()),
                '\\' => {
                    let decoded = match self.peek() {
                        Some(b'a') => '\x07',
                        Some(b'b') => '\x08',
                        Some(b'e' | b'E') => '\x1b',
                        Some(b'f') => '\x0c',
                        Some(b'n') => '\n',
                        Some(b'r') => '\r',
                        Some(b't') => '\t',
                        Some(b'v') => '\x0b',
                        Some(it @ (b'\\' | b'\'' | b'"' | b'?')) => {
                            // The quote ends there in another shell.
                            if it == b'\'' {
                                self.note_dialect();
                            }
                            char::from(it)
                        }
                        Some(b'0'..=b'7') => {
                            let it = self.number(8, 3)?;
                            self.out.quotes_substitution |= matches!(it, '$' | '`');
                            word.push(it);
                            continue;
                        }
                        Some(it @ (b'x' | b'u' | b'U')) => {
                            self.pos += 1;
                            let n_digits = match it {
                                b'x' => 2,
                                b'u' => 4,
                                _ => 8,
                            };
                            let it = self.number(16, n_digits)?;
                            self.out.quotes_substitution |= matches!(it, '$' | '`');
                            word.push(it);
                            continue;
                        }
                        _ => return Err(self.unclear("an escape that is not read")),
                    };
                    self.pos += 1;
                    word.push(decoded);
                }
                it => {
                    self.out.quotes_substitution |= matches!(it, '$' | '`');
                    word.push(it);
                }
            }
        }
    }

    /// Up to `max` digits. Only ASCII: beyond that the result depends on the
    /// locale, and a NUL ends the text.
    ///
    /// Without a digit it is an escape that is not read.
    fn number(&mut self, radix: u32, max: usize) -> Parsed<char> {
        let mut value = 0_u32;
        let mut n_digits = 0;
        while let Some(digit) = self.peek().and_then(|it| char::from(it).to_digit(radix)) {
            if n_digits == max {
                break;
            }
            value = value.saturating_mul(radix).saturating_add(digit);
            n_digits += 1;
            self.pos += 1;
        }
        match u8::try_from(value) {
            Ok(it) if n_digits > 0 && it.is_ascii() && it != 0 => Ok(char::from(it)),
            _ => Err(self.unclear("an escape that is not read")),
        }
    }

    /// The lines of a here-document that are expanded; whether they stay as they
    /// are written.
    ///
    /// The parser is one of the lines alone. Quotes mean nothing there; a backslash
    /// takes the next character out.
    pub(super) fn expand_body(&mut self) -> Parsed<bool> {
        let mut word = Word::default();
        let mut escapes = false;
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' => {
                    escapes = true;
                    self.pos += 1;
                    if self.peek().is_some() {
                        self.next_char();
                    }
                }
                b'$' => self.dollar(&mut word, true)?,
                b'`' => self.backquotes(&mut word, true)?,
                _ => {
                    self.next_char();
                }
            }
        }
        Ok(!escapes && word.literal().is_some())
    }
}
