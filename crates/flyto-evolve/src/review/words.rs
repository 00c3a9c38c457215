//! The simple commands of a script, as words.
//!
//! This takes a text apart as bash does before it runs it, as far as a reader needs it: words with their quotes, commands within
//! `$(…)`, `<(…)` and backticks, also where these stand in double quotes or in a here-document. Reserved words and assignments
//! are words here. What is not understood, such as a quote that is never closed, is told by [`Script::is_whole`].
//!
//! | text | commands, in the order in which they end |
//! | --- | --- |
//! | `a "$(b \| c)" > d` | `b`; `c`; `a "$(b \| c)" > d` |
//! | `if a; then b; fi` | `if a`; `then b`; `fi` |
//! | `x=(a b) y=$(c)` | `c`; `x=(a b) y=$(c)` |
//! | `case $x in a) b ;; esac` | `b`; `esac` |
//! | `((i < n)) && echo $((i + 1))` | `echo $((i + 1))` |
//!
//! A backslash at the end of a line is no part of a word and ends none: bash takes both out before it looks at words, but for
//! single quotes, comments and here-documents with a quoted end. [`joined`] has the text without them.
//!
//! It decides nothing about safety: the rules by which a value runs in no command read bash exactly, and refuse what they do not
//! know. This reads any text, and says as much of it as it can.

mod here;

use std::{borrow::Cow, collections::BTreeSet, ops::Range};

use super::grammar::{Front, Kind, OPERATORS, is_descriptor, unquoted};

/// How deep substitutions are followed.
const MAX_DEPTH: usize = 64;
/// How far the end of an arithmetic expression is looked for, in bytes; a longer one counts as commands.
const MAX_ARITHMETIC_BYTES: usize = 1024;
/// What bash takes out of a text before it looks at words.
const JOIN: &str = "\\\n";

/// A script that was taken apart.
#[derive(Debug, Default)]
pub(crate) struct Script<'a> {
    /// Each simple command.
    pub(crate) commands: Vec<Command<'a>>,
    /// Texts between backticks as bash runs them, where that is not as they are written: without some of their backslashes.
    pub(crate) inner: Vec<String>,
    /// All of it was understood. Else a quote or a parenthesis stays open, or it is nested too deep, and a reader that must miss
    /// nothing looks at the words of the text as well.
    pub(crate) is_whole: bool,
}

/// A simple command.
#[derive(Debug)]
pub(crate) struct Command<'a> {
    /// The words as they are written. A redirection is a word of its own, without its target.
    pub(crate) words: Vec<Cow<'a, str>>,
    /// Where in the text it stands.
    pub(crate) span: Range<usize>,
}

impl Command<'_> {
    /// The words.
    pub(crate) fn words(&self) -> Vec<&str> {
        self.words.iter().map(AsRef::as_ref).collect()
    }
}

/// Takes a text apart; time is linear in it.
pub(crate) fn script(text: &str) -> Script<'_> {
    Scan::over(text, 0).res
}

/// The text without the line ends that bash takes out.
pub(crate) fn joined(text: &str) -> Cow<'_, str> {
    if !text.contains(JOIN) {
        return text.into();
    }
    without(text, 0, Scan::over(text, 0).joins.iter())
}

/// A text that begins at this byte of another one, without what stands at these places of that one.
fn without<'t, 'j>(
    text: &'t str,
    begin: usize,
    joins: impl Iterator<Item = &'j usize>,
) -> Cow<'t, str> {
    let mut res = Cow::from("");
    let mut from = 0;
    for at in joins {
        res += &text[from..at - begin];
        from = at - begin + JOIN.len();
    }
    res + &text[from..]
}

/// A here-document whose body begins on the next line.
struct Here {
    /// The line that ends it.
    end: String,
    /// Nothing in it is expanded.
    is_quoted: bool,
    /// Tabs in front of its lines do not count.
    is_indented: bool,
}

/// A walk over a text, from its begin to its end: nothing is read twice but the begin of an arithmetic expression, a
/// here-document, and what stands in backticks.
struct Scan<'a> {
    text: &'a str,
    /// The byte that is read next. No line end that bash takes out stands there.
    at: usize,
    /// How many substitutions, quotes and lists are open around it.
    depth: usize,
    /// How many `$(` are open around it.
    n_substitutions: usize,
    /// What was found so far.
    res: Script<'a>,
    /// Places of line ends that bash takes out.
    joins: BTreeSet<usize>,
    /// Here-documents of this line, whose bodies follow it.
    here: Vec<Here>,
}

/// The command that is being read.
#[derive(Default)]
struct Current<'a> {
    words: Vec<Cow<'a, str>>,
    /// Where its first word begins.
    start: usize,
    /// Where the word begins that is being read.
    begin: Option<usize>,
    /// The next word ends a here-document, and whether tabs do not count in it.
    here: Option<bool>,
    /// How many `case` are open among these commands.
    n_cases: usize,
    /// What the next word can be.
    front: Front,
}

impl<'a> Current<'a> {
    /// A word of the command, which begins at this byte.
    fn push(&mut self, word: Cow<'a, str>, begin: usize) {
        if self.words.is_empty() {
            self.start = begin;
        }
        match self.front.next(&word) {
            Kind::Case => self.n_cases += 1,
            Kind::Esac => self.n_cases = self.n_cases.saturating_sub(1),
            _ => {}
        }
        self.words.push(word);
    }
}

impl<'a> Scan<'a> {
    /// A walk that is done.
    fn over(text: &'a str, depth: usize) -> Self {
        let res = Script { is_whole: true, ..Script::default() };
        let (joins, here) = (BTreeSet::new(), Vec::new());
        let mut res = Self { text, at: 0, depth, n_substitutions: 0, res, joins, here };
        res.skip_joins();
        res.commands(None, false);
        res
    }

    /// What was not read yet.
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The character that comes next; `None` at the end.
    fn next(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// The character behind that one.
    fn second(&self) -> Option<char> {
        let mut rest = self.rest().chars();
        rest.next();
        rest.as_str().trim_start_matches(JOIN).chars().next()
    }

    /// Steps over one character; at the end of the text something is not closed.
    fn step_raw(&mut self) -> Option<char> {
        let it = self.next();
        self.res.is_whole &= it.is_some();
        self.at += it.map_or(0, char::len_utf8);
        it
    }

    /// Steps over one character where bash takes line ends out behind it.
    fn step(&mut self) -> Option<char> {
        let it = self.step_raw();
        self.skip_joins();
        it
    }

    /// Steps over line ends that bash takes out.
    fn skip_joins(&mut self) {
        while self.rest().starts_with(JOIN) {
            self.joins.insert(self.at);
            self.at += JOIN.len();
        }
    }

    /// A part of the text as bash reads it.
    fn cut(&self, range: Range<usize>) -> Cow<'a, str> {
        without(&self.text[range.clone()], range.start, self.joins.range(range))
    }

    /// Walks as if the text ended here, and goes on from here.
    fn limited(&mut self, end: usize, walk: impl FnOnce(&mut Self)) {
        let (text, here) = (self.text, std::mem::take(&mut self.here));
        self.text = &text[..end];
        walk(self);
        (self.text, self.here, self.at) = (text, here, end);
    }

    /// Commands up to this character, which is left. Those of a list of values, as in `x=(a b)`, are words only.
    fn commands(&mut self, end: Option<char>, is_list: bool) {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            (self.at, self.res.is_whole) = (self.text.len(), false);
        }
        let mut now = Current::default();
        loop {
            let Some(next) = self.next() else {
                self.res.is_whole &= end.is_none();
                break;
            };
            if next == ')' && now.begin.is_some_and(|it| self.cut(it..self.at) == "esac") {
                self.end_word(&mut now);
            }
            if Some(next) == end && (next != ')' || now.n_cases == 0) {
                break;
            }
            match next {
                ' ' | '\t' | '\r' => {
                    self.end_word(&mut now);
                    self.step();
                }
                '\n' => {
                    self.end_command(&mut now, is_list);
                    self.step_raw();
                    self.here_documents();
                    self.skip_joins();
                }
                '#' if now.begin.is_none() => {
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                }
                '&' if self.second() == Some('>') => self.redirection(&mut now),
                ';' | '&' | '|' => {
                    self.end_command(&mut now, is_list);
                    self.step();
                }
                '(' => {
                    let is_value = now.begin.is_some_and(|it| self.cut(it..self.at).ends_with('='));
                    if !is_value {
                        self.end_command(&mut now, is_list);
                    }
                    match self.is_arithmetic() {
                        true => self.arithmetic(),
                        false => self.within(')', is_value),
                    }
                }
                // What stands before is the pattern of a `case`, or its last part.
                ')' => {
                    now = Current { n_cases: now.n_cases, ..Current::default() };
                    self.step();
                }
                '<' | '>' if self.second() != Some('(') => self.redirection(&mut now),
                '[' if now.begin.is_some_and(|it| now.front.is_item(&self.cut(it..self.at))) => {
                    self.balanced('[', ']');
                }
                _ => {
                    now.begin.get_or_insert(self.at);
                    self.piece(next, false);
                }
            }
        }
        self.end_command(&mut now, is_list);
        self.depth -= 1;
    }

    /// What stands from here to the character that closes it.
    fn within(&mut self, end: char, is_list: bool) {
        self.step();
        self.commands(Some(end), is_list);
        self.step();
    }

    /// What a dollar and a parenthesis begin.
    fn substitution(&mut self) {
        self.n_substitutions += 1;
        self.within(')', false);
        self.n_substitutions -= 1;
    }

    /// One character of a word, or what a quote, a dollar or a backtick begins.
    fn piece(&mut self, next: char, is_quoted: bool) {
        match next {
            '`' => self.backticks(is_quoted),
            '<' | '>' if !is_quoted => {
                self.step();
                self.substitution();
            }
            '$' => self.dollar(is_quoted),
            '\\' => {
                self.step_raw();
                self.step();
            }
            '\'' if !is_quoted => {
                self.step_raw();
                while self.step_raw().is_some_and(|it| it != '\'') {}
                self.skip_joins();
            }
            '"' => {
                self.step();
                self.pieces('"', true);
            }
            _ => drop(self.step()),
        }
    }

    /// Pieces up to this character, which is stepped over.
    fn pieces(&mut self, end: char, is_quoted: bool) {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            (self.at, self.res.is_whole) = (self.text.len(), false);
        }
        while let Some(next) = self.next().filter(|it| *it != end) {
            match next {
                '<' | '>' => drop(self.step()),
                _ => self.piece(next, is_quoted),
            }
        }
        self.step();
        self.depth -= 1;
    }

    /// A dollar, and the substitution or the quote that it begins. A name behind it is read as part of the word.
    fn dollar(&mut self, is_quoted: bool) {
        self.step();
        match self.next() {
            Some('(') if self.is_arithmetic() => self.arithmetic(),
            Some('(') => self.substitution(),
            Some('{') if self.second().is_some_and(|it| it.is_whitespace() || it == '|') => {
                // Commands, as of bash 5.3.
                self.within('}', false);
            }
            Some('{') => {
                self.step();
                self.pieces('}', is_quoted);
            }
            Some('\'') if !is_quoted => {
                self.step_raw();
                while let Some(it) = self.step_raw().filter(|it| *it != '\'') {
                    if it == '\\' {
                        self.step_raw();
                    }
                }
                self.skip_joins();
            }
            _ => {}
        }
    }

    /// What stands in backticks. They end at the next one without a backslash, whatever quotes are between, and bash takes a
    /// backslash in front of `\`, `$` and a backtick away before it runs the text, so that `` \` `` begins another one in it.
    fn backticks(&mut self, is_quoted: bool) {
        self.step();
        let begin = self.at;
        while let Some(next) = self.next().filter(|it| *it != '`') {
            if next == '\\' {
                self.step_raw();
            }
            self.step();
        }
        let end = self.at;
        let text = self.cut(begin..end);
        let mut run = String::with_capacity(text.len());
        let mut chars = text.chars().peekable();
        while let Some(it) = chars.next() {
            let is_taken = |next: &char| "\\`$".contains(*next) || is_quoted && *next == '"';
            match chars.next_if(|next| it == '\\' && is_taken(next)) {
                Some(next) => run.push(next),
                None => run.push(it),
            }
        }
        if run == text {
            self.at = begin;
            self.limited(end, |it| it.commands(None, false));
        } else {
            let run = joined(&run).into_owned();
            let found = Scan::over(&run, self.depth).res;
            let own = found.commands.into_iter().map(|it| Command {
                words: it.words.into_iter().map(|it| it.into_owned().into()).collect(),
                span: begin..end,
            });
            self.res.commands.extend(own);
            self.res.inner.extend(found.inner);
            self.res.is_whole &= found.is_whole;
            self.res.inner.push(run);
        }
        self.step();
    }

    /// Whether an arithmetic expression begins here: what `((` opens ends with `))`.
    fn is_arithmetic(&self) -> bool {
        if self.next() != Some('(') || self.second() != Some('(') {
            return false;
        }
        let rest = self.rest();
        let rest = &rest[..rest.floor_char_boundary(MAX_ARITHMETIC_BYTES)];
        let mut bytes = rest.split(JOIN).flat_map(str::bytes).peekable();
        let mut n_open = 0;
        while let Some(it) = bytes.next() {
            n_open += i32::from(it == b'(') - i32::from(it == b')');
            if n_open == 1 && it == b')' {
                // The inner one is closed.
                return bytes.peek() == Some(&b')');
            }
        }
        false
    }

    /// An arithmetic expression, in which commands may stand behind a dollar.
    fn arithmetic(&mut self) {
        let mut n_open = 0;
        while let Some(next) = self.next() {
            n_open += i32::from(next == '(') - i32::from(next == ')');
            match next {
                '<' | '>' | '\'' | '"' => drop(self.step()),
                _ => self.piece(next, false),
            }
            if n_open == 0 {
                break;
            }
        }
    }

    /// What stands from here to the character that closes it, with quotes.
    fn balanced(&mut self, open: char, close: char) {
        let mut n_open = 0;
        while let Some(next) = self.next() {
            n_open += i32::from(next == open) - i32::from(next == close);
            match next {
                '<' | '>' => drop(self.step()),
                _ => self.piece(next, false),
            }
            if n_open == 0 {
                return;
            }
        }
        self.res.is_whole = false;
    }

    /// A redirection, as a word; its target is the next word.
    fn redirection(&mut self, now: &mut Current<'a>) {
        let begin = match now.begin {
            Some(begin) if is_descriptor(&self.cut(begin..self.at)) => begin,
            _ => {
                self.end_word(now);
                self.at
            }
        };
        now.begin = None;
        let mut operator = String::new();
        while let Some(next) = self.next() {
            operator.push(next);
            if !OPERATORS.iter().any(|it| it.starts_with(&operator)) {
                operator.pop();
                break;
            }
            self.step();
        }
        now.here = ["<<", "<<-"].contains(&operator.as_str()).then(|| operator.ends_with('-'));
        now.push(self.cut(begin..self.at), begin);
    }

    /// Ends the word that is being read, where there is one.
    fn end_word(&mut self, now: &mut Current<'a>) {
        let Some(begin) = now.begin.take() else { return };
        let word = self.cut(begin..self.at);
        if let Some(is_indented) = now.here.take() {
            self.res.is_whole &= !word.contains("$'");
            let end = unquoted(&word);
            let is_quoted = end != word;
            self.here.push(Here { end, is_quoted, is_indented });
        }
        now.push(word, begin);
    }

    /// Ends the command that is being read, where there is one.
    fn end_command(&mut self, now: &mut Current<'a>, is_list: bool) {
        self.end_word(now);
        let Current { words, start, n_cases, .. } = std::mem::take(now);
        now.n_cases = n_cases;
        if !words.is_empty() && !is_list {
            self.res.commands.push(Command { words, span: start..self.at });
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Expect) {
        let text = joined(text);
        let script = script(&text);
        let mut lines: Vec<String> =
            script.commands.iter().map(|it| it.words().join(" ~ ")).collect();
        lines.extend((!script.is_whole).then(|| "not whole".to_owned()));
        expect.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn commands_are_found_wherever_bash_runs_them() {
        check(
            "a 'b; c' \"d $(e \"$(f)\" | g) `h`\" <(i) # j\nk=(l m $(n)) o=$(p)",
            expect![[r#"
            f
            e ~ "$(f)"
            g
            h
            i
            a ~ 'b; c' ~ "d $(e "$(f)" | g) `h`" ~ <(i)
            n
            p
            k=(l m $(n)) ~ o=$(p)"#]],
        );
        check(
            "echo $((1 + $(a))) $((b); c) \"${x:-$(d)}\"; ((i < n)) && f() { g; }",
            expect![[r#"
            a
            b
            c
            d
            echo ~ $((1 + $(a))) ~ $((b); c) ~ "${x:-$(d)}"
            f
            { ~ g
            }"#]],
        );
        check(
            "cat <<E 2>&1 | b >> c\nit's $(d) \\$(e)\nE\nf <<'E'; g\n$(h)\nE\ni &>j &",
            expect![[r#"
                cat ~ << ~ E ~ 2>& ~ 1
                b ~ >> ~ c
                d
                f ~ << ~ 'E'
                g
                i ~ &> ~ j"#]],
        );
        check(
            "case $x in\n a|b) c ;;\n *) d\nesac; e $'it\\'s' f\\ g",
            expect![[r#"
            case ~ $x ~ in
            a
            c
            d
            esac
            e ~ $'it\'s' ~ f\ g"#]],
        );
        check(
            "echo \"$(case $x in a) b ;; *) c; esac; d)\"; e",
            expect![[r#"
            b
            c
            esac
            d
            echo ~ "$(case $x in a) b ;; *) c; esac; d)"
            e"#]],
        );
        check(
            "echo 'a",
            expect![[r#"
            echo ~ 'a
            not whole"#]],
        );
        check(
            "echo \"$(a",
            expect![[r#"
            a
            echo ~ "$(a
            not whole"#]],
        );
    }

    #[test]
    fn any_text_is_taken_apart() {
        for text in [
            "", "$", "${", "\\", "<<", "a <<", "a <<E", "a <<E\n", "<(", "$((", ")", "`", "é$é",
            "a=(", "&>", "\"`",
        ] {
            script(text);
        }
        for part in ["$(", "\"$(", "((", "${", "`\"", "(", "<(", "$((", "a<<E\n"] {
            script(&part.repeat(5_000));
        }
    }
}
