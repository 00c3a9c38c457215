//! Simple commands and the words they are made of.
//!
//! A word is what stands between blanks and operators. Quotes are taken off, as
//! [chapter 3.1.2](https://www.gnu.org/software/bash/manual/html_node/Quoting.html)
//! of the manual of bash has it, so that `r''m`, `\rm` and `"rm"` are one word.
//! What is expanded is left open.
//!
//! | in a word | what is known of it |
//! | --- | --- |
//! | a plain character, one behind `\`, all in `'…'` | itself |
//! | `"…"` | its characters; `$` and backquotes in it are expansions that stay one word |
//! | `$…`, a backquote | where it begins; commands in it are read |
//! | `<(…)`, `>(…)` | that it is a name below `/dev/fd`; its commands are read |
//! | `*`, `?`, `[` | that it stands for names of files that fit |
//! | `{a,b}`, `{1..3}` | where it begins; it is several words (`cases`) |
//! | a control character, an unusual blank | nothing: the reading stops |
//!
//! An expansion that is not quoted may become several words, or none. The positions
//! of words behind it are then not known, and rules that allow do not match across
//! it.

use super::{
    Command, Stdin, Word, cut,
    parse::{Context, Parsed, Parser, is_meta},
    variables,
    word::Mark,
};

impl Parser<'_> {
    /// A command of words, assignments and redirections, or a function by
    /// `name ()`.
    ///
    /// Pushes one [`Command`], also one that could not be read to its end; for a
    /// function, those of its body.
    pub(super) fn simple(&mut self) -> Parsed {
        let start = self.pos;
        let first = self.out.commands.len();
        let Context { parent, repeated, dialect, .. } = self.context;
        let mut command = Command { parent, repeated, dialect, ..Command::default() };
        if self.context.piped {
            command.stdin = Stdin::Unknown;
        }
        let mut n_redirects = 0_usize;
        let mut end = start;
        let mut res = Ok(());
        loop {
            match self.simple_part(&mut command, &mut n_redirects) {
                Ok(true) => end = self.pos,
                Ok(false) => break,
                Err(err) => {
                    res = Err(err);
                    break;
                }
            }
        }
        if res.is_ok() && self.peek() == Some(b'(') {
            let is_function = command.words.len() == 1
                && command.n_assignments == 0
                && n_redirects == 0
                && command.words[0].literal().is_some();
            if !is_function {
                return Err(self.unclear("a bracket inside a command"));
            }
            self.pos += 1;
            self.skip_blanks()?;
            self.expect(")")?;
            return self.function_body();
        }
        if command.words.is_empty() && n_redirects == 0 {
            return res.and_then(|()| Err(self.unclear("a command is missing")));
        }
        // Also a command that could not be read to its end is compared with rules that deny.
        command.text = cut(&self.text[start..end]);
        command.contains = first..self.out.commands.len();
        self.out.commands.push(command);
        res
    }

    /// Reads the next assignment, word or redirection; `false` at the end of the
    /// command.
    ///
    /// An assignment counts as one before the first word alone (POSIX, Shell
    /// Command Language, 2.9.1); behind it, `a=b` is a word, but for the lists that
    /// `declare` and its like take. `{name}>file` sets a variable to a descriptor,
    /// which bash does and `sh` does not.
    fn simple_part(&mut self, command: &mut Command, n_redirects: &mut usize) -> Parsed<bool> {
        self.skip_blanks()?;
        if self.redirect(command)? {
            *n_redirects += 1;
            return Ok(true);
        }
        if matches!(self.peek(), None | Some(b'\n' | b';' | b'&' | b'|' | b'(' | b')')) {
            return Ok(false);
        }
        if command.words.len() == command.n_assignments
            && let Some(word) = self.assignment()?
        {
            command.words.push(word);
            command.n_assignments += 1;
            return Ok(true);
        }
        if self.at_array(command)
            && let Some(word) = self.assignment()?
        {
            command.words.push(word);
            return Ok(true);
        }
        let start = self.pos;
        let word = self.some_word()?;
        let names_descriptor = self.text.as_bytes()[start] == b'{'
            && self.text.as_bytes()[self.pos - 1] == b'}'
            && matches!(self.peek(), Some(b'<' | b'>'));
        if names_descriptor {
            self.note("a file descriptor in a variable");
            return Ok(true);
        }
        command.words.push(word);
        Ok(true)
    }

    /// `NAME=value`, `NAME+=value` or `NAME=(…)`, as one word.
    ///
    /// Only asked before the first word that is none. `None` where the text is no
    /// assignment; nothing is taken then. The elements of an array are read for
    /// their substitutions and not kept.
    fn assignment(&mut self) -> Parsed<Option<Word>> {
        let rest = &self.text[self.pos..];
        let n_name =
            rest.bytes().take_while(|it| it.is_ascii_alphanumeric() || *it == b'_').count();
        if !variables::is_name(&rest[..n_name]) {
            return Ok(None);
        }
        let behind = &rest[n_name..];
        let n_operator = match behind.as_bytes() {
            [b'=', ..] => 1,
            [b'+', b'=', ..] => 2,
            [b'[', ..] => return self.element(n_name),
            _ => return Ok(None),
        };
        let start = &rest[..n_name + n_operator];
        self.pos += start.len();
        if self.take("(") {
            loop {
                self.skip_lines()?;
                if self.take(")") {
                    break;
                }
                if self.take("[") {
                    self.subscript()?;
                    let _ = self.take("+");
                    if self.take("=") {
                        self.word_into(&mut Word::default())?;
                        continue;
                    }
                }
                self.some_word()?;
            }
            // Also `#` would be a part of the word.
            if !self.peek().is_none_or(is_meta) {
                return Err(self.unclear("a text behind the elements of an array"));
            }
            let mut word = Word::literal_of(start);
            word.forget(start.len());
            return Ok(Some(word));
        }
        let mut word = Word::literal_of(start);
        self.word_into(&mut word)?;
        Ok(Some(word))
    }

    /// Whether `NAME=(` or `NAME+=(` stands here as a word of `declare` and its
    /// like.
    fn at_array(&self, command: &Command) -> bool {
        const DECLARE: &[&str] = &["declare", "typeset", "local", "readonly", "export"];
        let program = command.words.get(command.n_assignments).and_then(Word::literal);
        if !program.is_some_and(|it| DECLARE.contains(&it)) {
            return false;
        }
        let rest = &self.text[self.pos..];
        let n_name =
            rest.bytes().take_while(|it| it.is_ascii_alphanumeric() || *it == b'_').count();
        rest[n_name..].starts_with("=(") || rest[n_name..].starts_with("+=(")
    }

    /// `NAME[…]=value`, as one word, of which only the name is known. `None` where
    /// the text is no assignment; nothing is taken then.
    ///
    /// The shell evaluates the subscript.
    fn element(&mut self, n_name: usize) -> Parsed<Option<Word>> {
        let rest = &self.text[self.pos + n_name + 1..];
        let n_plain =
            rest.bytes().take_while(|it| it.is_ascii_alphanumeric() || *it == b'_').count();
        let behind = &rest[n_plain..];
        if let Some(behind) = behind.strip_prefix(']')
            && !behind.starts_with(['=', '+'])
        {
            return Ok(None);
        }
        let name = format!("{}=", &self.text[self.pos..self.pos + n_name]);
        self.pos += n_name + 1;
        self.subscript()?;
        let _ = self.take("+");
        if !self.take("=") {
            return Err(self.unclear("an assignment to an element of an array"));
        }
        let mut word = Word::literal_of(name.as_str());
        word.forget(name.len());
        self.word_into(&mut word)?;
        Ok(Some(word))
    }

    /// From behind the opening bracket to behind the closing one, in which brackets
    /// may nest. Any subscript but a number is noted, since the shell evaluates it
    /// for an array with numbers; substitutions in it are read. Quotes in it stand
    /// for texts, as in an associative array.
    fn subscript(&mut self) -> Parsed {
        let mut ignored = Word::default();
        let mut n_open = 0_usize;
        let start = self.pos;
        loop {
            match self.peek() {
                None | Some(b'\n' | b'\\') => {
                    return Err(self.unclear("an assignment to an element of an array"));
                }
                Some(b']') if n_open == 0 => break,
                Some(b'$') => self.dollar(&mut ignored, true)?,
                Some(b'`') => self.backquotes(&mut ignored, true)?,
                Some(b'\'') => self.single_quotes(&mut ignored)?,
                Some(b'"') => self.double_quotes(&mut ignored)?,
                Some(byte) => {
                    n_open += usize::from(byte == b'[');
                    n_open -= usize::from(byte == b']');
                    self.next_char();
                }
            }
        }
        if !self.text[start..self.pos].bytes().all(|it| it.is_ascii_digit()) {
            self.note("an assignment to an element of an array");
        }
        self.pos += 1;
        Ok(())
    }

    /// A word, which must be there.
    ///
    /// A tilde counts only as the first character, unquoted.
    pub(super) fn some_word(&mut self) -> Parsed<Word> {
        let start = self.pos;
        let mut word = Word::default();
        if self.peek() == Some(b'~') {
            word.set_tilde();
        }
        self.word_into(&mut word)?;
        match self.pos > start {
            true => Ok(word),
            false => Err(self.unclear("a word is missing")),
        }
    }

    /// Appends to `word` up to the next blank or operator, which may be none at
    /// all.
    fn word_into(&mut self, word: &mut Word) -> Parsed {
        self.count()?;
        let start = self.pos;
        let mut brace = None;
        // The path of the program `rm` to zsh, as `=rm`.
        if self.peek() == Some(b'=') && self.byte(1).is_some_and(|it| it.is_ascii_alphanumeric()) {
            self.note_dialect();
        }
        while let Some(byte) = self.peek() {
            match byte {
                b'<' | b'>' if self.byte(1) == Some(b'(') => {
                    let is_first = self.pos == start;
                    self.pos += 2;
                    let first = self.out.commands.len();
                    self.substitution(byte == b'>')?;
                    if byte == b'<' {
                        self.out.read_by_others.push(first..self.out.commands.len());
                    }
                    word.expansion(true);
                    if is_first && self.peek().is_none_or(is_meta) {
                        word.set_process();
                    }
                }
                it if is_meta(it) => break,
                b'\'' => self.single_quotes(word)?,
                b'"' => self.double_quotes(word)?,
                b'\\' => {
                    self.pos += 1;
                    match self.peek() {
                        None => return Err(self.unclear("a backslash at the end")),
                        Some(b'\n') => {
                            self.pos -= 1;
                            return Err(self.unclear("a line that is continued inside a word"));
                        }
                        Some(_) => {
                            word.quote();
                            let it = self.next_char();
                            self.out.quotes_substitution |= matches!(it, '$' | '`');
                            word.push(it);
                        }
                    }
                }
                b'$' => self.dollar(word, false)?,
                b'`' => self.backquotes(word, false)?,
                _ => {
                    // `{a,b}` and `{1..3}` are several words; a star, a question mark or a bracket
                    // stands for names of files.
                    if byte == b'{' {
                        brace.get_or_insert(word.known_text().len());
                        word.mark(Mark::Open);
                    }
                    match byte {
                        b',' if brace.is_some() => word.mark(Mark::Comma),
                        b'}' if brace.is_some() => word.mark(Mark::Close),
                        _ => {}
                    }
                    let expands = brace.filter(|_| byte == b',' || self.at(".."));
                    if let Some(start) = expands {
                        word.expansion_from(start, false);
                    } else if matches!(byte, b'*' | b'?' | b'[') {
                        // The name of a command, alone.
                        let is_name = byte == b'[' && self.pos == start;
                        if !is_name || !self.byte(1).is_none_or(is_meta) {
                            word.wildcard();
                        }
                    }
                    let it = self.next_char();
                    if it.is_control() || (!it.is_ascii() && it.is_whitespace()) {
                        self.pos -= it.len_utf8();
                        return Err(self.unclear("a control character or an unusual blank"));
                    }
                    word.push(it);
                }
            }
        }
        if !self.heredocs.is_empty() && self.text[start..self.pos].contains('\n') {
            return Err(self.unclear("a line break between a here-document and its lines"));
        }
        Ok(())
    }

    /// Looks for a substitution in a text in which nothing is expanded.
    pub(super) fn look_at_quoted(&mut self, text: &str) {
        self.out.quotes_substitution |= text.contains(['$', '`']);
    }

    /// Takes one character; only called where there is one.
    pub(super) fn next_char(&mut self) -> char {
        let it = self.text[self.pos..].chars().next().unwrap_or('\0');
        self.pos += it.len_utf8();
        it
    }

    /// From the opening quote on; nothing in it is special.
    pub(super) fn single_quotes(&mut self, word: &mut Word) -> Parsed {
        let rest = &self.text[self.pos + 1..];
        let Some((inner, _)) = rest.split_once('\'') else {
            return Err(self.unclear("a quote that is not closed"));
        };
        inner.chars().for_each(|it| word.push(it));
        self.look_at_quoted(inner);
        word.quote();
        self.pos += inner.len() + 2;
        Ok(())
    }

    /// From the opening quote on. A backslash stays, but before `$`, a backquote,
    /// `"`, itself and a line end.
    pub(super) fn double_quotes(&mut self, word: &mut Word) -> Parsed {
        let start = self.pos;
        self.pos += 1;
        word.quote();
        loop {
            match self.peek() {
                None => {
                    self.pos = start;
                    return Err(self.unclear("a quote that is not closed"));
                }
                Some(b'"') => {
                    self.pos += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.pos += 1;
                    match self.peek() {
                        Some(b'\n') => self.pos += 1,
                        Some(it @ (b'$' | b'`' | b'"' | b'\\')) => {
                            self.out.quotes_substitution |= matches!(it, b'$' | b'`');
                            word.push(char::from(it));
                            self.pos += 1;
                        }
                        _ => word.push('\\'),
                    }
                }
                Some(b'$') => self.dollar(word, true)?,
                Some(b'`') => self.backquotes(word, true)?,
                Some(_) => {
                    let it = self.next_char();
                    word.push(it);
                }
            }
        }
    }
}
