//! Which variables of the environment a script reads.
//!
//! Every name behind a dollar counts, and every one that is read [without it](super::names), but where the script itself has
//! certainly set it before. What is certain is closed:
//!
//! | what sets a name | where it holds |
//! | --- | --- |
//! | `NAME=VALUE` as a command of its own, at top level, that runs in any case and reads `NAME` nowhere, in a list that does not end with `&` | from there on |
//! | `for NAME in …` | between `do` and `done` |
//! | `while read -r NAME` | between `do` and `done` |
//!
//! An assignment in a branch, a function, a subshell or a pipeline may not be run, one behind `&&` neither, and one that
//! fails (a name made `readonly`, a division by zero) leaves the former value while bash goes on with the next line. A list that ends
//! with `&`, such as `NAME=VALUE && a &`, runs in a shell of its own. So
//! nothing is certain any more behind the first thing that may change what an assignment does, or that this look does not
//! know: `readonly`, `declare`, `eval`, `source`, most `trap`s, a program named by a variable, `case`, a here-document, backticks, a
//! redirection in front of a command. Names are told too often then, and
//! never too rarely; a name that the script makes when it runs is none here, and is told as a danger.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use super::{
    names::{is_name, without_dollar},
    words::{joined, script},
};

/// How deep a text is looked at.
const MAX_DEPTH: usize = 64;

/// Commands by which a later assignment may do something else, or nothing.
const UNKNOWN: &[&str] = &[
    ".", "alias", "builtin", "case", "command", "coproc", "declare", "enable", "eval", "function",
    "readonly", "select", "shopt", "source", "typeset",
];

/// Names that a script takes from the environment.
pub(crate) fn names_read(text: &str) -> BTreeSet<String> {
    let whole = joined(text);
    let script = script(&whole);
    let mut res = names_of(&whole);
    // In backticks there may be code with a backslash in front of its dollars.
    res.extend(script.inner.iter().flat_map(|it| names_of(it)));
    if !script.is_whole {
        // Where quotes end is not known, and so neither is which line ends bash takes out.
        res.extend(all_names(text).map(|it| it.1.to_owned()));
        res.extend(all_names(&text.replace("\\\n", "")).map(|it| it.1.to_owned()));
    }
    res
}

/// The names of a text whose line ends are joined.
fn names_of(text: &str) -> BTreeSet<String> {
    let mut look = Look::new(text);
    // What was certain before the end of the look stays so.
    let _ = look.run();
    let mut set: BTreeMap<&str, Vec<Range<usize>>> = BTreeMap::new();
    for (name, range) in look.set {
        set.entry(name).or_default().push(range);
    }
    let is_set = |name: &str, at: usize| {
        set.get(name).is_some_and(|it| it.iter().any(|it| it.contains(&at)))
    };
    let read = all_names(text).filter(|(at, name)| !is_set(name, *at));
    read.map(|it| it.1.to_owned()).collect()
}

/// Each name that is read anywhere, with its place.
fn all_names(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let behind_dollar = text.match_indices('$').map(|(at, _)| {
        let rest = text[at + 1..].trim_start_matches(['{', '!', '#']);
        (at, &rest[..name_end(rest)])
    });
    behind_dollar.chain(without_dollar(text)).filter(|it| is_name(it.1))
}

/// How many bytes of a name a text begins with.
fn name_end(text: &str) -> usize {
    text.find(|it: char| it != '_' && !it.is_ascii_alphanumeric()).unwrap_or(text.len())
}

/// A look at the commands of a text, in their order. It ends where something is not known.
#[derive(Debug)]
struct Look<'a> {
    text: &'a str,
    at: usize,
    /// The compound commands around this place.
    blocks: Vec<Block<'a>>,
    /// The next command runs only if another one ends so or so, or in a pipeline.
    is_conditional: bool,
    /// Nothing before on this line can fail in a way that ends the line.
    is_clean: bool,
    /// Names, and where in the text they certainly have a value of the script.
    set: Vec<(&'a str, Range<usize>)>,
    /// The same of the list whose end is not known yet: with `&` it runs in a shell of its own.
    of_list: Vec<(&'a str, Range<usize>)>,
    /// How many parentheses, braces and quotes are open around this place.
    depth: usize,
}

/// A compound command.
#[derive(Debug)]
struct Block<'a> {
    /// The word that ends it.
    end: &'static str,
    /// What its head sets for its body.
    names: Vec<&'a str>,
    /// Where its body begins.
    body: Option<usize>,
}

/// A word of a command.
#[derive(Debug, Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    /// Without quotes and expansions.
    is_plain: bool,
}

impl<'a> Look<'a> {
    /// A look from the begin of a script, where no block is open.
    fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            blocks: Vec::new(),
            is_conditional: false,
            is_clean: true,
            set: Vec::new(),
            of_list: Vec::new(),
            depth: 0,
        }
    }

    /// Ends a list of commands that runs in this shell.
    fn end_list(&mut self) {
        if self.blocks.is_empty() && !self.is_conditional {
            self.set.append(&mut self.of_list);
        }
    }

    /// What was not looked at yet.
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The character that comes next; `None` at the end of the script.
    fn next(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Steps over one character.
    fn step(&mut self) -> Option<char> {
        let it = self.next()?;
        self.at += it.len_utf8();
        Some(it)
    }

    /// Steps over a text, if it comes next.
    fn eat(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        self.at += if is_next { text.len() } else { 0 };
        is_next
    }

    /// Steps over blanks and over line ends behind a backslash, which bash takes out.
    fn blanks(&mut self) {
        while self.eat(" ") || self.eat("\t") || self.eat("\\\n") {}
    }

    /// Steps over the rest of the line.
    fn comment(&mut self) {
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
    }

    /// All commands, or `None` behind the first one that is not known.
    fn run(&mut self) -> Option<()> {
        loop {
            self.blanks();
            let Some(next) = self.next() else {
                self.end_list();
                return Some(());
            };
            match next {
                '#' => self.comment(),
                '\n' => {
                    self.end_list();
                    self.step();
                    self.is_clean |= self.blocks.is_empty() && !self.is_conditional;
                }
                '&' | '|' => {
                    let is_list = self.eat("&&") || self.eat("||") || self.eat("|&");
                    let is_pipe = !is_list && self.step() == Some('|');
                    self.is_conditional = is_list || is_pipe;
                    if !is_list && !is_pipe && self.blocks.is_empty() {
                        self.of_list.clear();
                    }
                }
                ';' => {
                    self.end_list();
                    self.step();
                }
                '(' => {
                    self.step();
                    if self.next() == Some('(') {
                        return None;
                    }
                    self.open(")", Vec::new());
                }
                ')' => {
                    self.step();
                    self.close(")")?;
                }
                _ => self.command()?,
            }
        }
    }

    /// Begins a block that ends with the word `end`. `names` are set in its body, as the head of a loop sets them.
    fn open(&mut self, end: &'static str, names: Vec<&'a str>) {
        self.blocks.push(Block { end, names, body: None });
        (self.is_conditional, self.is_clean) = (false, false);
    }

    /// Ends the block that was opened last; `None` where that ends with another word, so that the script is not understood.
    fn close(&mut self, end: &str) -> Option<()> {
        let block = self.blocks.pop().filter(|it| it.end == end)?;
        if let Some(body) = block.body {
            self.set.extend(block.names.into_iter().map(|it| (it, body..self.at)));
        }
        Some(())
    }

    /// One simple command, or the word that begins or ends a compound one.
    fn command(&mut self) -> Option<()> {
        let mut assigned: Vec<(&str, &str)> = Vec::new();
        let is_conditional = self.is_conditional;
        while let Some(word) = self.assignment()? {
            assigned.push(word);
            self.blanks();
        }
        if self.is_end() {
            // A single `|` or `&` has the command in a shell of its own.
            let rest = self.rest();
            let is_own_shell = rest.starts_with('|') && !rest.starts_with("||")
                || rest.starts_with('&') && !rest.starts_with("&&");
            let is_sure = assigned.iter().all(|(name, value)| certainly_sets(name, value));
            if self.blocks.is_empty()
                && self.is_clean
                && is_sure
                && !is_conditional
                && !is_own_shell
            {
                let (at, end) = (self.at, self.text.len());
                self.of_list.extend(assigned.iter().map(|it| (it.0, at..end)));
            } else {
                self.is_clean = false;
            }
            self.forget_head();
            self.is_conditional = false;
            return Some(());
        }
        let word = self.word()?;
        let is_number = word.text.bytes().all(|it| it.is_ascii_digit());
        if is_number && self.rest().starts_with(['<', '>', '&']) {
            return None; // A redirection, with the command behind it.
        }
        let is_name = |it: char| it.is_ascii_alphanumeric() || "_-./+:@".contains(it);
        // `{a,b}` and `a?` become other words.
        let is_literal = word.is_plain && word.text.chars().all(is_name)
            || ["[", "[[", "{", "}", "!"].contains(&word.text);
        if !is_literal || UNKNOWN.contains(&word.text) {
            return None;
        }
        let begin = self.at;
        let reserved = match word.text {
            "if" => Some("fi"),
            "while" | "until" | "for" => Some("done"),
            "{" => Some("}"),
            "[[" | "fi" | "done" | "}" | "then" | "else" | "elif" | "do" | "!" | "time" => Some(""),
            _ => None,
        };
        self.is_clean &= reserved.is_none();
        if reserved.is_some() && !assigned.is_empty() {
            return None;
        }
        match (word.text, reserved) {
            ("for", _) => {
                self.blanks();
                let name = self.word()?;
                if !name.is_plain || name_end(name.text) != name.text.len() {
                    return None;
                }
                self.open("done", vec![name.text]);
            }
            ("while", _) => {
                self.open("done", Vec::new());
                return self.head_of_while();
            }
            ("do", _) => {
                let at = self.at;
                self.blocks.last_mut()?.body = Some(at);
                return Some(());
            }
            ("then" | "else" | "elif" | "!" | "time", _) => return Some(()),
            ("[[", _) => self.test()?,
            (end @ ("fi" | "done" | "}"), _) => self.close(end)?,
            (_, Some(end)) => {
                self.open(end, Vec::new());
                return Some(());
            }
            _ => self.forget_head(),
        }
        self.words()?;
        if word.text == "trap" && !is_at_exit(&self.text[begin..self.at]) {
            return None;
        }
        // An expansion may fail, and ends the line then.
        self.is_clean &= word.text == "set" && !self.text[begin..self.at].contains('$');
        self.is_conditional = false;
        Some(())
    }

    /// `read -r NAME …` alone between `while` and `do` sets the names for the body.
    fn head_of_while(&mut self) -> Option<()> {
        let begin = self.at;
        self.blanks();
        while self.assignment()?.is_some() {
            self.blanks();
        }
        let mut names = Vec::new();
        let mut words = Vec::new();
        while !self.is_end() && !self.rest().starts_with(['<', '>']) {
            words.push(self.word().filter(|it| !it.text.is_empty())?);
            if words[0].text != "read" {
                break;
            }
            self.blanks();
        }
        if let Some((first, rest)) = words.split_first()
            && first.text == "read"
            && rest
                .iter()
                .all(|it| it.is_plain && (it.text == "-r" || name_end(it.text) == it.text.len()))
            && self.rest().trim_start_matches([';', '\n', ' ', '\t']).starts_with("do")
        {
            let ends_in_do = self.rest().trim_start_matches([';', '\n', ' ', '\t'])[2..]
                .starts_with(|it: char| it.is_whitespace());
            names.extend(rest.iter().map(|it| it.text).filter(|it| *it != "-r" && ends_in_do));
        }
        if let Some(block) = self.blocks.last_mut() {
            block.names.clone_from(&names);
        }
        if names.is_empty() {
            // Any other command.
            self.at = begin;
        }
        Some(())
    }

    /// A head with a further command has its body run for another reason.
    fn forget_head(&mut self) {
        if let Some(block) = self.blocks.last_mut().filter(|it| it.body.is_none()) {
            block.names.clear();
        }
    }

    /// Whether a command ends here.
    fn is_end(&self) -> bool {
        let rest = self.rest();
        rest.is_empty()
            || rest.starts_with(['\n', ';', '|', '(', ')', '#'])
            || rest.starts_with('&') && !rest.starts_with("&>")
    }

    /// The words of a command up to its end.
    fn words(&mut self) -> Option<()> {
        loop {
            self.blanks();
            if self.is_end() {
                return Some(());
            }
            if self.rest().starts_with("<<") && !self.rest().starts_with("<<<") {
                return None;
            }
            if self.rest().starts_with(['<', '>', '&']) {
                while self.rest().starts_with(['<', '>', '&', '|']) {
                    self.step();
                }
                if self.next() == Some('(') {
                    self.parens()?;
                }
                continue;
            }
            // A character that ends a word and begins none.
            if self.word()?.text.is_empty() {
                return None;
            }
        }
    }

    /// What stands between `[[` and `]]`.
    fn test(&mut self) -> Option<()> {
        loop {
            match self.next()? {
                it if it.is_whitespace() || "&|()<>;!".contains(it) => drop(self.step()),
                '#' => return None,
                _ if self.word()?.text == "]]" => return Some(()),
                _ => {}
            }
        }
    }

    /// An assignment, with its name and value. The value is empty for `+=`, which reads the name.
    fn assignment(&mut self) -> Option<Option<(&'a str, &'a str)>> {
        let rest = self.rest();
        let end = name_end(rest);
        let name = &rest[..end];
        let is_append = rest[end..].starts_with("+=");
        if end == 0 || name.starts_with(|it: char| it.is_ascii_digit()) {
            return Some(None);
        }
        if !is_append && !rest[end..].starts_with('=') {
            return Some(None);
        }
        self.at += end + 1 + usize::from(is_append);
        let begin = self.at;
        match self.next() {
            Some('(') => self.parens()?,
            _ => drop(self.word()?),
        }
        let value = &self.text[begin..self.at];
        // The name itself as its value: it is read.
        Some(Some((name, if is_append { name } else { value })))
    }

    /// One word; none where another character comes first.
    fn word(&mut self) -> Option<Word<'a>> {
        let begin = self.at;
        let mut is_plain = true;
        while let Some(next) = self.next() {
            if next.is_ascii_whitespace() || ";&|()<>".contains(next) {
                break;
            }
            is_plain &= !"\\'\"$".contains(next);
            self.piece(next, false)?;
        }
        Some(Word { text: &self.text[begin..self.at], is_plain })
    }

    /// One character, or what a quote or a dollar begins.
    fn piece(&mut self, next: char, is_quoted: bool) -> Option<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        self.piece_within(next, is_quoted)?;
        self.depth -= 1;
        Some(())
    }

    /// The same, at a depth that is counted.
    fn piece_within(&mut self, next: char, is_quoted: bool) -> Option<()> {
        self.step();
        match next {
            '\\' => drop(self.step()?),
            '`' => return None,
            '\'' if !is_quoted => while self.step()? != '\'' {},
            '"' if !is_quoted => loop {
                match self.next()? {
                    '"' => {
                        self.step();
                        break;
                    }
                    it => self.piece(it, true)?,
                }
            },
            '$' if self.next() == Some('(') => self.parens()?,
            '$' if self.next() == Some('{') => self.braces()?,
            '$' if self.next() == Some('\'') && !is_quoted => {
                self.step();
                loop {
                    match self.step()? {
                        '\'' => break,
                        '\\' => drop(self.step()?),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        Some(())
    }

    /// What stands in parentheses. It runs in a shell of its own, or is a list of values.
    fn parens(&mut self) -> Option<()> {
        let begin = self.at;
        let mut n_open = 0;
        let mut before = ' ';
        loop {
            let next = self.next()?;
            match next {
                '(' => n_open += 1,
                ')' => n_open -= 1,
                '#' if before.is_whitespace() || "();&|".contains(before) => return None,
                '<' if self.rest().starts_with("<<") => return None,
                _ => {}
            }
            self.piece(next, false)?;
            before = next;
            if n_open == 0 {
                break;
            }
        }
        let inside = &self.text[begin..self.at];
        let mut words = inside.split(|it: char| it != '_' && !it.is_ascii_alphanumeric());
        // The patterns of `case` have a closing parenthesis alone.
        (!words.any(|it| it == "case")).then_some(())
    }

    /// `{…}` behind a dollar.
    fn braces(&mut self) -> Option<()> {
        self.step();
        loop {
            match self.next()? {
                '}' => return self.step().map(drop),
                // What a quote means here depends on what is around.
                '\'' | '{' => return None,
                it => self.piece(it, false)?,
            }
        }
    }
}

/// Whether a `trap` with these words runs at the end or by a signal only: one for `DEBUG` runs before each assignment.
fn is_at_exit(words: &str) -> bool {
    const SIGNALS: &[&str] = &["EXIT", "HUP", "INT", "QUIT", "TERM"];
    let upper = words.to_ascii_uppercase();
    upper.split_whitespace().next_back().is_some_and(|it| SIGNALS.contains(&it))
        && !["DEBUG", "ERR", "RETURN"].iter().any(|it| upper.contains(it))
}

/// Whether an assignment reads nothing of the name, and cannot fail.
fn certainly_sets(name: &str, value: &str) -> bool {
    let mut words = value.split(|it: char| it != '_' && !it.is_ascii_alphanumeric());
    // Arithmetic may fail, and so do most forms of `${…}`.
    let is_simple = value.match_indices("${").all(|(at, _)| {
        let rest = &value[at + 2..];
        let end = name_end(rest);
        end > 0 && rest[end..].starts_with(['}', '-', ':']) && !rest[end..].starts_with(":?") && {
            let rest = rest[end..].strip_prefix(':').unwrap_or("-");
            rest.starts_with('-')
        }
    });
    !words.any(|it| it == name) && is_simple && !value.contains("$((") && !value.contains("$[")
}

#[cfg(test)]
mod tests;
