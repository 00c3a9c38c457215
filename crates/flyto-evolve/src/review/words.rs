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
//! It decides nothing about safety: the rules by which a value runs in no command read bash exactly, and refuse what they do not
//! know. This reads any text, and says as much of it as it can.

/// How deep substitutions are followed.
const MAX_DEPTH: usize = 64;
/// How far the end of an arithmetic expression is looked for, in bytes; a longer one counts as commands.
const MAX_ARITHMETIC_BYTES: usize = 1024;

/// A script that was taken apart.
#[derive(Debug, Default)]
pub(crate) struct Script<'a> {
    /// The words of each simple command as they are written. A redirection is a word of its own, without its target.
    pub(crate) commands: Vec<Vec<&'a str>>,
    /// All of it was understood. Else a quote or a parenthesis stays open, or it is nested too deep, and a reader that must miss
    /// nothing looks at the words of the text as well.
    pub(crate) is_whole: bool,
}

/// Takes a text apart; time is linear in it.
pub(crate) fn script(text: &str) -> Script<'_> {
    let res = Script { commands: Vec::new(), is_whole: true };
    let mut scan = Scan { text, at: 0, depth: 0, res, here: Vec::new() };
    scan.commands(None, false);
    scan.res
}

/// A here-document whose body begins on the next line.
struct Here<'a> {
    /// The line that ends it.
    end: &'a str,
    /// Nothing in it is expanded.
    is_quoted: bool,
}

/// A walk over a text, from its begin to its end: nothing is read twice but the begin of an arithmetic expression.
struct Scan<'a> {
    text: &'a str,
    /// The byte that is read next.
    at: usize,
    /// How many substitutions, quotes and lists are open around it.
    depth: usize,
    /// What was found so far.
    res: Script<'a>,
    /// Here-documents of this line, whose bodies follow it.
    here: Vec<Here<'a>>,
}

/// The command that is being read.
#[derive(Default)]
struct Current<'a> {
    words: Vec<&'a str>,
    /// Where the word begins that is being read.
    begin: Option<usize>,
    /// The next word ends a here-document.
    is_here: bool,
    /// How many `case` are open among these commands.
    n_cases: usize,
}

impl Current<'_> {
    /// Whether the command begins with this word, behind other reserved words.
    fn begins(&self, word: &str) -> bool {
        let mut words = self.words.iter();
        let is_reserved = |it: &&&str| ["then", "do", "else", "{", "!"].contains(*it);
        words.find(|it| !is_reserved(it)) == Some(&word)
    }
}

impl<'a> Scan<'a> {
    /// What was not read yet.
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The character that comes next; `None` at the end.
    fn next(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Steps over one character; at the end of the text something is not closed.
    fn step(&mut self) -> Option<char> {
        let it = self.next();
        self.res.is_whole &= it.is_some();
        self.at += it.map_or(0, char::len_utf8);
        it
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
            let is_pattern = next == ')' && (now.n_cases > 0 || now.begins("case"));
            if Some(next) == end && !is_pattern {
                break;
            }
            match next {
                ' ' | '\t' | '\r' => {
                    self.end_word(&mut now);
                    self.step();
                }
                '\n' => {
                    self.end_command(&mut now, is_list);
                    self.step();
                    self.here_documents();
                }
                '#' if now.begin.is_none() => {
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                }
                '&' if self.rest().starts_with("&>") => self.redirection(&mut now),
                ';' | '&' | '|' => {
                    self.end_command(&mut now, is_list);
                    self.step();
                }
                '(' => {
                    let is_value =
                        now.begin.is_some_and(|it| self.text[it..self.at].ends_with('='));
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
                    now.n_cases += usize::from(now.begins("case"));
                    (now.begin, now.is_here) = (None, false);
                    now.words.clear();
                    self.step();
                }
                '<' | '>' if !self.rest()[1..].starts_with('(') => self.redirection(&mut now),
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

    /// One character of a word, or what a quote, a dollar or a backtick begins.
    fn piece(&mut self, next: char, is_quoted: bool) {
        match next {
            '`' => self.within('`', false),
            '<' | '>' if !is_quoted => {
                self.step();
                self.within(')', false);
            }
            '$' => self.dollar(is_quoted),
            '\\' => {
                self.step();
                self.step();
            }
            '\'' if !is_quoted => {
                self.step();
                while self.step().is_some_and(|it| it != '\'') {}
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
            Some('(') => self.within(')', false),
            Some('{') => {
                self.step();
                self.pieces('}', is_quoted);
            }
            Some('\'') if !is_quoted => {
                self.step();
                while let Some(it) = self.step().filter(|it| *it != '\'') {
                    if it == '\\' {
                        self.step();
                    }
                }
            }
            _ => {}
        }
    }

    /// Whether an arithmetic expression begins here: what `((` opens ends with `))`.
    fn is_arithmetic(&self) -> bool {
        let mut n_open = 0;
        let bytes = self.rest().as_bytes();
        if !bytes.starts_with(b"((") {
            return false;
        }
        for (at, it) in bytes.iter().take(MAX_ARITHMETIC_BYTES).enumerate() {
            n_open += i32::from(*it == b'(') - i32::from(*it == b')');
            if n_open == 1 && *it == b')' {
                // The inner one is closed.
                return bytes.get(at + 1) == Some(&b')');
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

    /// A redirection, as a word; its target is the next word.
    fn redirection(&mut self, now: &mut Current<'a>) {
        let begin = match now.begin {
            Some(begin) if self.text[begin..self.at].bytes().all(|it| it.is_ascii_digit()) => begin,
            _ => {
                self.end_word(now);
                self.at
            }
        };
        now.begin = None;
        let operator = self.rest();
        let end = operator.find(|it| !"<>&|".contains(it)).unwrap_or(operator.len());
        self.at += end;
        if &operator[..end] == "<<" {
            now.is_here = true;
            self.at += usize::from(self.rest().starts_with('-'));
        }
        now.words.push(&self.text[begin..self.at]);
    }

    /// Ends the word that is being read, where there is one.
    fn end_word(&mut self, now: &mut Current<'a>) {
        let Some(begin) = now.begin.take() else { return };
        let word = &self.text[begin..self.at];
        if std::mem::take(&mut now.is_here) {
            let end = word.trim_matches(['"', '\'', '\\']);
            self.res.is_whole &= !end.contains(['"', '\'', '\\']);
            self.here.push(Here { end, is_quoted: end.len() != word.len() });
        }
        now.words.push(word);
    }

    /// Ends the command that is being read, where there is one.
    fn end_command(&mut self, now: &mut Current<'a>, is_list: bool) {
        self.end_word(now);
        now.n_cases += usize::from(now.begins("case"));
        now.n_cases -= usize::from(now.begins("esac") && now.n_cases > 0);
        let words = std::mem::take(&mut now.words);
        if !words.is_empty() && !is_list {
            self.res.commands.push(words);
        }
    }

    /// The bodies of the here-documents of the line before. Where the word at the end had no quotes, bash runs substitutions in
    /// them.
    fn here_documents(&mut self) {
        for here in std::mem::take(&mut self.here) {
            loop {
                let line = self.rest().split('\n').next().unwrap_or_default();
                let (is_last, end) =
                    (self.at + line.len() == self.text.len(), self.at + line.len());
                if line.trim_start_matches('\t') == here.end || is_last {
                    self.at = end;
                    break;
                }
                while !here.is_quoted && self.at < end {
                    match self.next() {
                        Some(next @ ('$' | '`' | '\\')) => self.piece(next, true),
                        _ => drop(self.step()),
                    }
                }
                self.at = self.at.max(end);
                // A substitution may have ended in a later line.
                self.at += self.rest().find('\n').map_or(0, |it| it + 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Expect) {
        let script = script(text);
        let mut lines: Vec<String> = script.commands.iter().map(|it| it.join(" ~ ")).collect();
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
            script(&part.repeat(20_000));
        }
    }
}
