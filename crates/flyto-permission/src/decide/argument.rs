//! Commands in the arguments of a program.
//!
//! A program that no list knows may run its arguments, so a rule that asks or
//! denies is compared with them too: with the words from each argument on, and with
//! each text that may be a command line. It is a guess (`git rm x` runs no `rm`),
//! so what is found is asked and never denied, and a rule that allows answers for
//! the words that it names: `Bash(git rm:*)`.
//!
//! A text that does not read as a command line, such as a script of another language,
//! or that is known only in part, is asked where it mentions the first word of such a
//! rule anywhere: `os.system("rm x")`. One that reads as a command line may be another
//! language all the same (`system"rm x"`), so its words without quotes, brackets and
//! signs are compared as well. So is a text that the program gets as a here-string or
//! here-document, or from `cat`, `echo` and their like by a pipe or as `<(…)`, which it
//! may run as well. A text with backslashes is read without them too:
//! `printf 'ls\nrm x' | ssh h` prints two lines.

use std::collections::HashSet;

use super::{
    Judge, Source,
    command::{Found, MAX_STEPS, known},
    escape::unescaped,
};
use crate::{
    Cause, Reason, Rule, Subject, Verdict,
    bash::{self, Analysis, Argument, Command, Input},
    index::Narrows,
};

/// How deep texts in arguments of texts are read. Deeper ones are taken as plain
/// words.
const MAX_TEXTS: usize = 3;
/// Most bytes of texts that are read for one command, in which the values of one
/// word overlap. In further texts, mentions are looked for.
const MAX_READ: usize = 4 * 64 * 1024;

/// A search through the arguments of one command and of the texts in them.
struct Search<'a> {
    rules: Vec<&'a Rule>,
    /// Those of `rules`, by their places in an index.
    seen: HashSet<*const Rule>,
    n_steps: usize,
    /// What is left of [`MAX_READ`].
    n_bytes: usize,
}

impl<'a> Search<'a> {
    fn new(n_steps: usize, n_bytes: usize) -> Self {
        Self { rules: Vec::new(), seen: HashSet::new(), n_steps, n_bytes }
    }

    /// Takes rules, each once.
    fn add(&mut self, rules: impl Iterator<Item = &'a Rule>) {
        let Self { rules: all, seen, .. } = self;
        all.extend(rules.filter(|it| seen.insert(std::ptr::from_ref(*it))));
    }
}

impl<'a> Judge<'a> {
    /// Asks for arguments that may run what a rule asks or denies.
    ///
    /// `is_named` says of a word that a rule which allows the command names it.
    /// `analysis` is that of the line.
    pub(super) fn narrow_arguments(
        &mut self,
        command: &Command,
        analysis: &Analysis,
        is_named: impl Fn(usize) -> bool,
    ) {
        if !self.index.narrows_programs() {
            return;
        }
        let mut search = Search::new(MAX_STEPS, MAX_READ);
        // A program may take the value of a variable for a command line, as that of `GIT_PAGER`.
        for at in command.risky.iter().filter(|it| !is_named(**it)) {
            let word = &command.words[*at];
            let value = known(word).and_then(|it| it.split_once('=')).map(|(_, value)| value);
            let value_text = value.unwrap_or_default();
            if !self.steps().take_line(value_text.len()) {
                return;
            }
            let analysis = bash::analyse_text(value_text);
            for inner in &analysis.commands {
                self.search_whole(inner, 1, &mut search);
            }
            // One plain word, as the directory `.`, has no part that is not read.
            let is_word = value.is_none_or(|it| {
                it.bytes().all(|it| it.is_ascii_graphic() && !b"$`(<".contains(&it))
            });
            if let Some(it) = analysis.unclear.first().filter(|_| !is_word) {
                let subject = Subject::Command { text: command.text.clone() };
                self.unclear((subject, it.why, &it.near), Narrows::ANYTHING, Source::Guess);
            }
        }
        self.search(command, is_named, 0, &mut search);
        for at in command.arguments() {
            for slot in command.words[at].documents() {
                self.search_text(analysis.heredoc(slot).unwrap_or_default(), 0, &mut search);
            }
        }
        if command.feeds_runner {
            self.search_printed(command, &mut search);
        }
        for input in command.inputs_that_may_run() {
            match input {
                Input::Word { word, .. } => match word.literal() {
                    Some(text) => self.search_text(text, 0, &mut search),
                    None => self.search_mentions(word.known_text(), &mut search),
                },
                Input::Heredoc { slot, .. } => match analysis.heredoc(*slot) {
                    Some(text) => self.search_text(text, 0, &mut search),
                    None => {
                        let subject = Subject::Command { text: command.text.clone() };
                        let why = "a text that it may run is known only when it runs";
                        let hides = Narrows { commands: true, paths: false, hosts: false };
                        self.unclear((subject, why, ""), hides, Source::Guess);
                    }
                },
            }
        }
        for rule in search.rules {
            let subject = Subject::Command { text: command.text.clone() };
            let cause = Cause::Possible { rule: rule.clone() };
            self.reasons.push(Reason::new(Verdict::Ask, subject, cause));
        }
    }

    /// Asks for the words of a text in any language that a rule asks or denies.
    pub(super) fn narrow_unquoted(&mut self, text: &str) {
        let mut search = Search::new(MAX_STEPS, 0);
        self.search_unquoted(text, &mut search);
        for rule in search.rules {
            let cause = Cause::Possible { rule: rule.clone() };
            self.reasons.push(Reason::new(Verdict::Ask, self.tool(), cause));
        }
    }

    /// Asks for a text that mentions what a rule asks or denies.
    pub(super) fn narrow_mentions(&mut self, text: &str) {
        let mut search = Search::new(0, 0);
        self.search_mentions(text, &mut search);
        for rule in search.rules {
            let cause = Cause::Possible { rule: rule.clone() };
            self.reasons.push(Reason::new(Verdict::Ask, self.tool(), cause));
        }
    }

    /// What `echo` and its like print for a program that may run it.
    fn search_printed(&self, command: &Command, search: &mut Search<'a>) {
        let words = command.words_from(command.innermost() + 1);
        let texts: Vec<&str> = words.iter().map(bash::Word::known_text).collect();
        match words.iter().all(|it| known(it).is_some()) {
            true => self.search_text(&texts.join(" "), 0, search),
            false => texts.iter().for_each(|it| self.search_mentions(it, search)),
        }
    }

    /// Looks at each argument once, and at texts in it as at commands of their own.
    fn search(
        &self,
        command: &Command,
        is_named: impl Fn(usize) -> bool,
        depth: usize,
        search: &mut Search<'a>,
    ) {
        for at in command.arguments().filter(|it| !is_named(*it)) {
            if self.steps().are_spent() {
                return;
            }
            let word = &command.words[at];
            let Some(text) = known(word) else {
                self.search_mentions(word.known_text(), search);
                continue;
            };
            if text.bytes().filter(|it| *it == b'=').count() > bash::MAX_VALUES {
                self.search_mentions(text, search);
            }
            if command.runs_sed() {
                self.search_replacements(text, search);
            }
            for argument in Argument::all_of(text) {
                match argument {
                    Argument::Text(text) => self.search_text(text, depth, search),
                    Argument::Program(name) => {
                        let rest = command.words_from(at + 1);
                        self.search_words(name, rest, command.more_from.is_some(), search);
                    }
                }
            }
        }
    }

    /// A text that may be a command line, or a script of another language; as it is, and
    /// without its escapes, as in `printf 'ls\nrm x'`.
    fn search_text(&self, text: &str, depth: usize, search: &mut Search<'a>) {
        self.search_reading(text, depth, search);
        if text.contains('\\') && self.steps().take_line(text.len()) {
            for reading in unescaped(text) {
                self.search_reading(&reading, depth, search);
            }
        }
    }

    /// One reading of such a text.
    fn search_reading(&self, text: &str, depth: usize, search: &mut Search<'a>) {
        let is_word = !text.contains(|it: char| it.is_ascii_whitespace());
        let left = search.n_bytes.checked_sub(text.len());
        let Some(left) = left.filter(|_| !is_word && depth < MAX_TEXTS) else {
            return self.search_mentions(text, search);
        };
        search.n_bytes = left;
        if !self.steps().take_line(text.len()) {
            return;
        }
        let analysis = bash::analyse_text(text);
        for inner in analysis.commands.iter().take_while(|_| self.steps().take_command()) {
            self.search_whole(inner, depth + 1, search);
        }
        match analysis.unclear.is_empty() {
            true => self.search_unquoted(text, search),
            false => self.search_mentions(text, search),
        }
    }

    /// What `s/x/rm y/e` of sed runs, between any characters: behind each `s` the next
    /// one ends a part.
    fn search_replacements(&self, text: &str, search: &mut Search<'a>) {
        /// Most letters that are looked at.
        const MAX_LETTERS: usize = 16;
        for (at, _) in text.match_indices('s').take(MAX_LETTERS) {
            let behind = &text[at + 1..];
            let Some(delimiter) = behind.chars().next() else { break };
            for part in behind[delimiter.len_utf8()..].split(delimiter).take(MAX_LETTERS) {
                if self.steps().are_spent() {
                    return;
                }
                self.search_mentions(part, search);
            }
        }
    }

    /// The words of a text in any language, without what quotes them.
    fn search_unquoted(&self, text: &str, search: &mut Search<'a>) {
        if !self.steps().take_line(text.len()) {
            return;
        }
        let words: Vec<_> = bash::tokens(text).map(bash::Word::literal_of).collect();
        for (i, word) in words.iter().enumerate() {
            self.search_words(word.known_text(), &words[i + 1..], false, search);
        }
    }

    /// Rules that ask or deny a program that a text mentions, with any words.
    fn search_mentions(&self, text: &str, search: &mut Search<'a>) {
        if !self.steps().take_line(text.len()) {
            return;
        }
        let has_blank = text.contains(|it: char| it.is_ascii_whitespace());
        for name in bash::tokens(text) {
            let base = bash::base_name(name);
            let behind_letter = bash::behind_letter(base).filter(|_| has_blank);
            let mut found = Found::default();
            let spellings = self.other_spellings(name, &mut found);
            search.add(found.possible.into_iter());
            let names = [Some(name), Some(base), behind_letter].into_iter().flatten();
            for name in names.chain(spellings) {
                if !self.index.narrows_program(name) {
                    continue;
                }
                let matched = self.index.by_words(std::iter::once(Some(name)), true);
                let rules = [matched.hits.narrowing(), matched.possible];
                search.add(rules.into_iter().flatten().take(1));
            }
        }
    }

    /// A command that an argument may be: its programs, and their arguments.
    fn search_whole(&self, command: &Command, depth: usize, search: &mut Search<'a>) {
        for level in &command.levels {
            if let Some((word, rest)) = command.words_from(level.start).split_first() {
                match known(word) {
                    Some(name) => {
                        self.search_words(name, rest, command.more_from.is_some(), search);
                        // What stands next to the words behind it: `erm` in `1{erm x`.
                        let last = bash::tokens(name).last().unwrap_or(name);
                        let base = bash::base_name(last);
                        if let Some(name) = bash::behind_letter(base).filter(|_| !rest.is_empty()) {
                            self.search_words(name, rest, command.more_from.is_some(), search);
                        }
                        // The name of no program, as `%q{rm` in a script of another language.
                        if matches!(Argument::of(name), Argument::Text(_)) {
                            self.search_mentions(name, search);
                        }
                    }
                    None => self.search_mentions(word.known_text(), search),
                }
            }
        }
        self.search(command, |_| false, depth, search);
    }

    /// Rules that ask or deny a program with these words behind it.
    fn search_words(
        &self,
        name: &str,
        rest: &[bash::Word],
        has_more: bool,
        search: &mut Search<'a>,
    ) {
        let base = bash::base_name(name);
        let narrows = |it: &str| self.index.narrows_program(it);
        let mut found = Found::default();
        let by_path = self.index.programs_by_path(base).next().is_some();
        let is_named = narrows(name) || by_path || name != base && narrows(base);
        if !is_named {
            return;
        }
        let words = std::iter::once(Some(name)).chain(rest.iter().map(known));
        found.add(&self.index.by_words(words, has_more));
        self.find_narrowing(name, rest, has_more, &mut search.n_steps, &mut found);
        if by_path && name == base {
            // The name of a file, as in `bash deploy.sh`.
            let name = format!("./{name}");
            self.find_narrowing(&name, rest, has_more, &mut search.n_steps, &mut found);
        }
        search.add(found.rules.into_iter().chain(found.possible));
    }
}
