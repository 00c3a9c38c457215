//! Reading a command: words, quotes and substitutions, and where in them placeholders stand.
//!
//! A recursive descent over what bash(1) calls quoting, lists and substitutions. What is not read exactly is a fault, so
//! a placeholder never has another context than the one that it was quoted for.
//!
//! Read are: words with single quotes, double quotes and escapes; simple commands joined by `;`, `&`, `&&`, `|`, `||` and
//! newlines; `if`, `for`, `while` and braces, whose words are commands of their own; subshells, command and process
//! substitutions; redirections of files and streams, and here-strings; comments.
//!
//! Faults are: here-documents, backticks, arithmetic, arrays, functions, `case`, quotes within `${…}` and expansions that
//! calculate or look a name up, `$'…'` and `$"…"`, a backslash at the end of a line within a word, control characters, and a
//! redirection without a target. Each of them has contexts of its own, and a script says the same with `"$TOOL_INPUT_NAME"`.
//!
//! | context | what stands in the place of `{{.name}}` |
//! | --- | --- |
//! | none | `"$TOOL_INPUT_NAME"` |
//! | double quotes | `${TOOL_INPUT_NAME}` |
//! | single quotes | `'"$TOOL_INPUT_NAME"'` |

use super::{
    lint,
    rendered::{Placeholder, Rendered, TemplateFault, placeholder_at},
    seen::Seen,
    word::{Word, is_assignment},
};

/// How deep substitutions may stand in each other.
const MAX_DEPTH: usize = 16;

/// What the target of a redirection is.
#[derive(Clone, Copy, PartialEq)]
enum Redirect {
    /// What is read: a file, or a text.
    Input,
    /// A file that is written.
    Output,
    Stream,
}

/// Reads the code of a shell that stands in a text. There are no placeholders in it. Where the shell may be another one than
/// bash, what only bash reads as it is read here is a fault.
pub(super) fn nested(text: &str, is_bash: bool, seen: &mut Seen) -> Res<()> {
    let mut parser = Parser::new(text, &|_| false);
    parser.is_bash = is_bash;
    parser.seen = std::mem::take(seen);
    let res = parser.plain().and_then(|()| parser.commands(false));
    *seen = parser.seen;
    res
}

pub(super) struct Parser<'a> {
    text: &'a str,
    is_parameter: &'a dyn Fn(&str) -> bool,
    pos: usize,
    depth: usize,
    out: String,
    is_bash: bool,
    seen: Seen,
}

type Res<T> = Result<T, TemplateFault>;

impl<'a> Parser<'a> {
    /// A reader at the begin of a command. `is_parameter` says which names are placeholders; any
    /// other `{{.name}}` is text.
    pub(super) fn new(text: &'a str, is_parameter: &'a dyn Fn(&str) -> bool) -> Self {
        Self {
            text,
            is_parameter,
            pos: 0,
            depth: 0,
            out: String::new(),
            is_bash: true,
            seen: Seen::default(),
        }
    }

    /// Reads the whole command. The work is linear in its length but for the depth of substitutions and for the words that
    /// may each be a program, which have bounds.
    pub(super) fn run(mut self) -> Res<Rendered> {
        self.plain()?;
        self.commands(false)?;
        let may_be_options = self.seen.finish()?;
        Ok(Rendered { text: self.out, may_be_options })
    }

    /// Control characters are a fault: bash has a use of its own for some of them, and in some locales they are blanks.
    fn plain(&self) -> Res<()> {
        let is_odd = |it: char| it.is_control() && !matches!(it, '\t' | '\n');
        match self.text.find(is_odd) {
            Some(at) => Err(TemplateFault::new(at, "a control character is not read here")),
            None => Ok(()),
        }
    }

    /// A fault where the text is for another shell than bash, which reads this in another way.
    fn of_bash(&self, what: &str) -> Res<()> {
        match self.is_bash {
            true => Ok(()),
            false => self.fault(format!("{what} is not read here but for bash: write `bash -c`")),
        }
    }

    /// What is not read yet.
    fn rest(&self) -> &'a str {
        &self.text[self.pos..]
    }

    /// The next character; `None` at the end.
    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Copies so many bytes to the output.
    fn copy(&mut self, len: usize) -> &'a str {
        let copied = &self.text[self.pos..self.pos + len];
        self.out.push_str(copied);
        self.pos += len;
        copied
    }

    /// A fault at the place that is read now, as an offset in bytes.
    fn fault<T>(&self, what: impl Into<String>) -> Res<T> {
        Err(TemplateFault::new(self.pos, what))
    }

    /// Reads commands up to the end, or up to the `)` that closes a substitution, which is copied.
    ///
    /// Each simple command is collected as words and handed to the lint when it ends: at `;`, `&`,
    /// `|`, a newline, a closing `)`, or the end of the text. A word behind a redirection is its
    /// target and no argument.
    fn commands(&mut self, is_nested: bool) -> Res<()> {
        let start = self.pos;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self
                .fault(format!("substitutions stand more than {MAX_DEPTH} deep in each other"));
        }
        let mut words: Vec<Word> = Vec::new();
        let mut redirect: Option<Redirect> = None;
        let mut is_value_redirected = false;
        loop {
            let Some(c) = self.peek() else {
                if is_nested {
                    return Err(TemplateFault::new(start, "`(` is not closed"));
                }
                break;
            };
            match c {
                ' ' | '\t' => _ = self.copy(1),
                '\\' if self.rest().starts_with("\\\n") => {
                    // Bash reads what stands on both sides of it as one word or operator.
                    if !self.text[..self.pos].ends_with([' ', '\t', '\n']) {
                        return self.fault("a line goes on without a blank before the backslash");
                    }
                    self.copy(2);
                }
                '#' => {
                    let len = self.rest().find('\n').unwrap_or(self.rest().len());
                    self.copy(len);
                }
                // Substitutions of processes are words, and may be the target of a redirection.
                '<' | '>' if !self.rest()[1..].starts_with('(') => {
                    self.has_target(redirect)?;
                    redirect = Some(self.redirection(&mut words)?);
                }
                '&' if self.rest().starts_with("&>") => {
                    self.has_target(redirect)?;
                    self.of_bash("`&>`")?;
                    redirect = Some(self.redirection(&mut words)?);
                }
                ')' if is_nested => {
                    self.has_target(redirect)?;
                    self.end_command(&mut words, is_value_redirected)?;
                    self.copy(1);
                    self.depth -= 1;
                    return Ok(());
                }
                ')' => {
                    return self
                        .fault("`)` closes nothing; the patterns of `case` are not read here");
                }
                '\n' | ';' | '&' | '|' => {
                    if self.rest().starts_with("|&") {
                        self.of_bash("`|&`")?;
                    }
                    self.has_target(redirect)?;
                    self.end_command(&mut words, std::mem::take(&mut is_value_redirected))?;
                    self.copy(1);
                }
                '(' if words.iter().all(|it| lint::is_keyword(&it.raw)) => {
                    self.has_target(redirect)?;
                    if self.rest().starts_with("((") {
                        return self.fault("arithmetic is not read here");
                    }
                    self.copy(1);
                    self.commands(true)?;
                }
                '(' => return self.fault("functions and arrays are not read here"),
                _ => {
                    let word = self.word()?;
                    let is_stream =
                        |it: &str| it == "-" || it.bytes().all(|it| it.is_ascii_digit());
                    self.seen.writes |= match (redirect, word.fixed()) {
                        (None | Some(Redirect::Input), _) => false,
                        (Some(Redirect::Output), target) => target != Some("/dev/null"),
                        // A word that is no number names a file.
                        (Some(Redirect::Stream), target) => !target.is_some_and(is_stream),
                    };
                    match redirect.take() {
                        Some(Redirect::Stream) if !word.values.is_empty() => {
                            return Err(TemplateFault::code(
                                word.start,
                                &word.values[0],
                                "where a stream is named",
                            ));
                        }
                        Some(_) => is_value_redirected |= !word.values.is_empty(),
                        None => words.push(word),
                    }
                }
            }
        }
        self.has_target(redirect)?;
        self.depth -= 1;
        self.end_command(&mut words, is_value_redirected)
    }

    /// A redirection is not over before the word that is its target.
    fn has_target(&self, redirect: Option<Redirect>) -> Res<()> {
        match redirect {
            None => Ok(()),
            Some(_) => self.fault("a redirection has no target"),
        }
    }

    /// Hands the words of a command that is over to the lint, and begins the next one.
    fn end_command(&mut self, words: &mut Vec<Word>, is_value_redirected: bool) -> Res<()> {
        self.seen.command = self.seen.n_commands;
        self.seen.n_commands += 1;
        if is_value_redirected || words.iter().any(|it| !it.values.is_empty()) {
            self.seen.with_values.push(self.seen.command);
        }
        let res = lint::check(words, &mut self.seen);
        words.clear();
        res
    }

    /// Copies `<`, `>>`, `<<<`, `>&` and their kin.
    ///
    /// The operator of a redirection, and whether a file or a stream stands behind it. Digits right
    /// before it name the stream. A here-document is a fault, since its text would be another context.
    fn redirection(&mut self, words: &mut Vec<Word>) -> Res<Redirect> {
        if let Some(last) = words.last().filter(|it| it.end == self.pos) {
            if last.raw.starts_with('{') {
                return self.fault("braces in front of a redirection are not read here");
            }
            // Digits right before it name the stream, and are no word. Bash takes longer ones, and those before `&>`, for
            // one.
            if last.raw.bytes().all(|it| it.is_ascii_digit()) {
                if last.raw.len() > 2 || self.peek() == Some('&') {
                    return self.fault("a number in front of this redirection is not read here");
                }
                words.pop();
            }
        }
        let len = self
            .rest()
            .find(|it| !matches!(it, '<' | '>' | '&' | '|'))
            .unwrap_or(self.rest().len());
        let operator = self.copy(len);
        match operator {
            "<<" | "<<-" => self.fault("here-documents are not read here"),
            "<<<" => self.of_bash("`<<<`").map(|()| Redirect::Input),
            "<" => Ok(Redirect::Input),
            ">" | ">>" | "<>" | ">|" | "&>" | "&>>" => Ok(Redirect::Output),
            "<&" | ">&" => Ok(Redirect::Stream),
            other => self.fault(format!("`{other}` is not read here")),
        }
    }

    /// Reads one word up to the blank or the operator behind it.
    ///
    /// Its pieces stand without quotes, in single and in double quotes, up to a blank or an
    /// operator. What it means is kept beside its text, with a mark for each part that is known at
    /// run time only.
    fn word(&mut self) -> Res<Word> {
        let mut word = Word { start: self.pos, ..Word::default() };
        while let Some(c) = self.peek() {
            if let Some(found) = self.placeholder() {
                let text = format!("\"${}\"", found.variable);
                self.value(found, &text, &mut word);
                continue;
            }
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | ')' => break,
                '<' | '>' if self.rest()[1..].starts_with('(') => {
                    self.of_bash("`<(…)`")?;
                    self.copy(2);
                    self.commands(true)?;
                    word.unknown(false);
                }
                '<' | '>' => break,
                '(' => return self.fault("parentheses within a word are not read here"),
                '\'' => self.single(&mut word)?,
                '"' => self.double(&mut word)?,
                '\\' => self.escape(&mut word, false)?,
                '$' => self.dollar(&mut word, false)?,
                '`' => return self.fault("backticks are not read here"),
                _ => {
                    word.is_split |= matches!(c, '*' | '?' | '[' | '{' | '~');
                    word.text.push_str(self.copy(c.len_utf8()));
                }
            }
        }
        word.end = self.pos;
        self.text[word.start..word.end].clone_into(&mut word.raw);
        if word.raw == "[[" || (is_assignment(&word.raw) && word.raw.contains("+=")) {
            self.of_bash("`[[` or `+=`")?;
        }
        // Words of the grammar, a program, and what `find` puts a name in place of.
        word.is_split &= !matches!(word.raw.as_str(), "[" | "[[" | "{" | "{}");
        Ok(word)
    }

    /// The placeholder that begins here, where its name is that of a parameter.
    fn placeholder(&self) -> Option<Placeholder<'a>> {
        placeholder_at(self.text, self.pos, self.is_parameter)
    }

    /// Puts the variable in the place of a placeholder, and notes the parameter in the word.
    fn value(&mut self, found: Placeholder<'_>, text: &str, word: &mut Word) {
        self.out.push_str(text);
        self.pos = found.span.end;
        word.unknown(true);
        word.values.push(found.name.to_owned());
    }

    /// A part in single quotes, in which bash reads nothing. A placeholder closes the quotes,
    /// stands in double quotes, and opens them again.
    fn single(&mut self, word: &mut Word) -> Res<()> {
        let start = self.pos;
        self.copy(1);
        loop {
            if let Some(found) = self.placeholder() {
                let text = format!("'\"${}\"'", found.variable);
                self.value(found, &text, word);
                continue;
            }
            match self.peek() {
                None => return Err(TemplateFault::new(start, "`'` is not closed")),
                Some('\'') => {
                    self.copy(1);
                    return Ok(());
                }
                Some(c) => word.text.push_str(self.copy(c.len_utf8())),
            }
        }
    }

    /// A part in double quotes: text, escapes, expansions and substitutions. A placeholder is an
    /// expansion there, which bash does not split.
    fn double(&mut self, word: &mut Word) -> Res<()> {
        let start = self.pos;
        self.copy(1);
        loop {
            if let Some(found) = self.placeholder() {
                let text = format!("${{{}}}", found.variable);
                self.value(found, &text, word);
                continue;
            }
            match self.peek() {
                None => return Err(TemplateFault::new(start, "`\"` is not closed")),
                Some('"') => {
                    self.copy(1);
                    return Ok(());
                }
                Some('`') => return self.fault("backticks are not read here"),
                Some('\\') => self.escape(word, true)?,
                Some('$') => self.dollar(word, true)?,
                Some(c) => word.text.push_str(self.copy(c.len_utf8())),
            }
        }
    }

    /// A backslash with the character that it escapes; both are copied. At the end of the text it is a fault. In double
    /// quotes it escapes few characters (bash(1), "QUOTING"), and stays in front of others.
    fn escape(&mut self, word: &mut Word, is_quoted: bool) -> Res<()> {
        self.copy(1);
        if self.placeholder().is_some() {
            return self.fault("a backslash stands in front of a placeholder");
        }
        match self.peek() {
            None => self.fault("a backslash ends the text"),
            Some('\n') => self.fault("a line goes on within a word"),
            Some(c) if is_quoted && !matches!(c, '$' | '`' | '"' | '\\') => {
                word.text.push('\\');
                Ok(())
            }
            Some(c) => {
                word.text.push_str(self.copy(c.len_utf8()));
                Ok(())
            }
        }
    }

    /// What begins with a dollar: `$name`, `${name}`, `$(…)` and single characters such as `$?`.
    /// Arithmetic and `$'…'` are faults, for values would be calculated with or read as escapes
    /// there.
    fn dollar(&mut self, word: &mut Word, is_quoted: bool) -> Res<()> {
        let rest = &self.rest()[1..];
        if placeholder_at(self.text, self.pos + 1, self.is_parameter).is_some() {
            return self.fault("`$` stands in front of a placeholder");
        }
        if rest.starts_with("((") || rest.starts_with('[') {
            return self.fault("arithmetic is not read here");
        }
        if rest.starts_with('(') {
            self.copy(2);
            self.commands(true)?;
        } else if rest.starts_with('{') {
            let Some(len) = rest.find('}') else { return self.fault("`${` is not closed") };
            let inside = &rest[1..len];
            if inside.contains(['\'', '"', '\\', '`', '{', '(', '$']) {
                return self.fault("quotes and expansions within `${…}` are not read here");
            }
            if !is_plain_expansion(inside) {
                return self.fault("an expansion that calculates, sets a variable or looks a name up is not read here");
            }
            self.copy(len + 2);
            word.is_split |= inside == "@";
        } else if !is_quoted && rest.starts_with(['\'', '"']) {
            return self.fault("`$` in front of a quote is not read here");
        } else {
            // A name, one special character, or a lone dollar.
            let is_name = |it: char| it == '_' || it.is_ascii_alphanumeric();
            let len = match rest.chars().next() {
                Some(it) if it == '_' || it.is_ascii_alphabetic() => {
                    rest.find(|it| !is_name(it)).unwrap_or(rest.len())
                }
                Some('0'..='9' | '@' | '*' | '#' | '?' | '-' | '$' | '!') => 1,
                _ => {
                    self.copy(1);
                    word.text.push('$');
                    return Ok(());
                }
            };
            // It becomes as many words as there are, in double quotes as well.
            word.is_split |= rest.starts_with('@');
            self.copy(len + 1);
        }
        word.unknown(false);
        word.is_split |= !is_quoted;
        Ok(())
    }
}

/// Whether what stands in `${…}` is a name, its length, or a name with a default or a pattern. Behind a colon bash
/// calculates, as between brackets; `!` looks up the name that a variable holds, and `@` may read its text as a prompt.
fn is_plain_expansion(inside: &str) -> bool {
    let is_name = |it: char| it == '_' || it.is_ascii_alphanumeric();
    let name = inside.strip_prefix('#').unwrap_or(inside);
    let (name, rest) = name.split_at(name.find(|it| !is_name(it)).unwrap_or(name.len()));
    let operators = ["#", "%", "/", "^", ",", "-", "+", "?", ":-", ":+", ":?"];
    let has_operator = rest.is_empty() || operators.iter().any(|it| rest.starts_with(it));
    match name {
        "" => matches!(inside, "@" | "*" | "#" | "?"),
        _ => has_operator && (rest.is_empty() || !inside.starts_with('#')),
    }
}
