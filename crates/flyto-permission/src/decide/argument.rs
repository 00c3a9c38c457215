//! Commands in the arguments of a program.
//!
//! A program that no list knows may run its arguments, so a rule that asks or denies is compared
//! with them too: with the words from each argument on, and with each text that may be a command
//! line. It is a guess (`git rm x` runs no `rm`), so what is found is asked and never denied, and a
//! rule that allows answers for the words that it names: `Bash(git rm:*)`.

use super::{
    Judge, Source,
    command::{Found, MAX_STEPS, known},
};
use crate::{
    Cause, Reason, Rule, Subject, Verdict,
    bash::{self, Argument, Command},
    rules::Narrows,
};

/// How deep texts in arguments of texts are read. Deeper ones are taken as plain words.
const MAX_TEXTS: usize = 3;

/// A search through the arguments of one command and of the texts in them.
struct Search<'a> {
    rules: Vec<&'a Rule>,
    n_steps: usize,
}

impl<'a> Judge<'a> {
    /// Asks for arguments that may run what a rule asks or denies.
    ///
    /// `is_named` says of a word that a rule which allows the command names it.
    pub(super) fn narrow_arguments(&mut self, command: &Command, is_named: impl Fn(usize) -> bool) {
        if !self.index.narrows_programs() {
            return;
        }
        let mut search = Search { rules: Vec::new(), n_steps: MAX_STEPS };
        // A program may take the value of a variable for a command line, as that of `GIT_PAGER`.
        for at in command.risky.iter().filter(|it| !is_named(**it)) {
            let word = &command.words[*at];
            let value = known(word).and_then(|it| it.split_once('=')).map(|(_, value)| value);
            let analysis = bash::analyse_text(value.unwrap_or_default());
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
        for rule in search.rules {
            let subject = Subject::Command { text: command.text.clone() };
            let cause = Cause::Possible { rule: rule.clone() };
            self.reasons.push(Reason::new(Verdict::Ask, subject, cause));
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
            match Argument::of(&command.words[at]) {
                Some(Argument::Text(text)) if depth < MAX_TEXTS => {
                    for inner in &bash::analyse_text(text).commands {
                        self.search_whole(inner, depth + 1, search);
                    }
                }
                Some(Argument::Program(name)) => {
                    let rest = command.words_from(at + 1);
                    self.search_words(name, rest, command.more_from.is_some(), search);
                }
                Some(Argument::Text(_)) | None => {}
            }
        }
    }

    /// A command that an argument may be: its programs, and their arguments.
    fn search_whole(&self, command: &Command, depth: usize, search: &mut Search<'a>) {
        for level in &command.levels {
            if let Some((name, rest)) = command.words_from(level.start).split_first() {
                let name = known(name).unwrap_or("");
                self.search_words(name, rest, command.more_from.is_some(), search);
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
        let base = name.rsplit('/').next().unwrap_or(name);
        if ![name, base].iter().any(|it| self.index.narrows_program(it)) {
            return;
        }
        let mut found = Found::default();
        let words = std::iter::once(Some(name)).chain(rest.iter().map(known));
        found.add(&self.index.by_words(words, has_more));
        self.find_narrowing(name, rest, has_more, &mut search.n_steps, &mut found);
        for rule in found.rules.into_iter().chain(found.possible) {
            if !search.rules.contains(&rule) {
                search.rules.push(rule);
            }
        }
    }
}
