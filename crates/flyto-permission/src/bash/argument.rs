//! Arguments that may be commands themselves.
//!
//! No list names all programs that run others, so any argument may be the start of
//! a command that is run, and any text a command line: `foo rm -rf x`,
//! `foo -c 'rm -rf x'`. What is found so is a guess, which
//! [`Judge`](crate::decide::Judge) asks for and never denies.
//!
//! Three lists save questions, and a gap in one costs some. They hold for the installed
//! program of the name:
//!
//! | list | its programs |
//! | --- | --- |
//! | [`RUN_NOTHING`] | run none of their arguments and nothing of their input |
//! | [`OPEN_NOTHING`] | open no file that their arguments name |
//! | [`Command::only_mentions`] | neither open nor print what they name |
//!
//! What `cat`, `echo`, `printf` and `tee` print is known from the line. Where it goes
//! into a pipe with another program at its end than one of the first list, that program
//! may run it.

use super::{Analysis, Command, Input, Word, base_name, unwrap};

/// Programs that run none of their arguments, whatever their options. A gap in the
/// list costs a question. Sorted. `sort`, `split`, `sed`, `tar`, `awk` and `man` are not on
/// it: they have options that run a program. The commands that `find` runs are read
/// by `unwrap`.
#[rustfmt::skip] // A list reads best as one.
const RUN_NOTHING: &[&str] = &[
    "[", "basename", "cat", "cd", "chgrp", "chmod", "chown", "cksum", "cmp", "comm", "command", "cp", "cut", "date",
    "df", "diff", "dirname", "du", "echo", "egrep", "expr", "false", "fgrep", "file", "find", "grep", "head", "id",
    "kill", "ln", "ls", "md5sum", "mkdir", "mktemp", "mv", "nl", "paste", "printf", "pwd", "readlink", "realpath",
    "rm", "rmdir", "seq", "sha256sum", "sleep", "stat", "tail", "tee", "test", "touch", "tr", "true", "type", "uname",
    "uniq", "wc", "whereis", "which", "whoami",
];

/// Programs that open no file that their arguments name and connect to nothing,
/// beside a shell's own commands of that kind. A gap in the list costs a question. Sorted.
#[rustfmt::skip] // A list reads best as one.
const OPEN_NOTHING: &[&str] = &[
    ":", "[", "basename", "break", "cd", "continue", "declare", "dirname", "echo", "exit", "export", "expr", "false", "id",
    "kill", "local", "popd", "printf", "pushd", "pwd", "read", "readonly", "return", "seq", "set", "shift", "sleep", "test",
    "tr", "true", "type", "typeset", "umask", "uname", "unset", "wait", "which", "whoami",
];

/// Most values of one word that are looked at, since each of them ends where the
/// word does.
pub(crate) const MAX_VALUES: usize = 16;

/// Most letters of options in one word behind which a value is looked for.
const MAX_LETTERS: usize = 16;

/// What an argument may be, where it may be run.
#[derive(Debug)]
pub(crate) enum Argument<'w> {
    /// The name of a program, followed by the words behind it.
    Program(&'w str),
    /// A command line.
    Text(&'w str),
}

impl<'w> Argument<'w> {
    /// What a text may be.
    pub(crate) fn of(text: &'w str) -> Self {
        // What stands in names of programs and files, and in options. Anything else has a meaning in some language.
        let is_plain =
            |it: u8| it.is_ascii_alphanumeric() || b"-_./+@%,:~^=".contains(&it) || !it.is_ascii();
        match text.bytes().all(is_plain) {
            true => Self::Program(text),
            false => Self::Text(text),
        }
    }

    /// What a word may be, each part of it: the whole, the value behind each `=`, as
    /// in `--name=value` and `core.pager=value`, and what stands behind each of the
    /// letters of options, as in `-xyVALUE`.
    ///
    /// A leading `!`, `:` or `|`, by which programs tell a command from a text of
    /// another kind, is left out.
    pub(crate) fn all_of(word: &'w str) -> impl Iterator<Item = Self> {
        let values = word.match_indices('=').map(|(at, _)| &word[at + 1..]).take(MAX_VALUES);
        // The value of an option counts, not the option.
        let whole = (!(word.starts_with('-') && word.contains('='))).then_some(word);
        let is_option = word.starts_with('-') && !word.starts_with("--");
        let letters = if is_option { word } else { "" };
        let starts = letters.char_indices().map(|(at, _)| at).skip(2).take(MAX_LETTERS);
        let attached = starts.map(|at| &word[at..]);
        let parts = whole.into_iter().chain(values).chain(attached);
        parts.map(|it| Self::of(it.trim_start_matches(['!', ':', '|'])))
    }
}

/// The name behind the number of a line and one letter, as `rm` in `1erm x`, by
/// which `sed` runs `rm x`.
///
/// Without a number only behind an `e`, which is that letter: `add` is a word.
pub(crate) fn behind_letter(name: &str) -> Option<&str> {
    let rest = name.trim_start_matches(|it: char| it.is_ascii_digit());
    let has_number = rest.len() < name.len();
    let rest = rest.strip_prefix(|it: char| it == 'e' || has_number && it.is_ascii_alphabetic())?;
    (!rest.is_empty()).then_some(rest)
}

/// The words in a text of any language that may be the name of a program: `rm` in
/// `os.system("rm x")`.
pub(crate) fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let is_beside =
        |it: char| it.is_ascii() && !it.is_ascii_alphanumeric() && !"-_./+".contains(it);
    let tokens = text.split(is_beside).map(|it| it.trim_matches(['-', '+', '.', '_']));
    tokens.filter(|it| !it.is_empty())
}

/// What is known of a program by its name.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Habits {
    /// It is in [`OPEN_NOTHING`].
    opens_nothing: bool,
    /// It is in [`RUN_NOTHING`].
    runs_nothing: bool,
}

impl Analysis {
    /// Notes which commands print their own text into a pipe, at whose other end a
    /// program may run it; once the habits of all are known. What reads `<(…)` is taken
    /// for such a program.
    pub(super) fn note_feeding(&mut self) {
        for pipeline in &self.pipelines {
            let mut is_run = false;
            for part in pipeline.iter().rev() {
                for command in &mut self.commands[part.clone()] {
                    command.feeds_runner |= is_run && command.prints_its_text();
                }
                is_run |= self.commands[part.clone()].iter().any(|it| !it.habits.runs_nothing);
            }
        }
        for part in &self.read_by_others {
            for command in &mut self.commands[part.clone()] {
                command.feeds_runner |= command.prints_its_text();
            }
        }
    }
}

impl Command {
    /// Whether it is known to open no file that a word of it names; also
    /// assignments without a program. Not so a text for several commands, as in
    /// `{ a; b; } <<< text`.
    pub(crate) fn opens_nothing(&self) -> bool {
        let has_program = self.words.len() > self.n_assignments || !self.inputs.is_empty();
        !has_program || self.habits.opens_nothing
    }

    /// Whether what its words name is neither opened nor printed, as for `test`; with
    /// `echo` and `printf`, where its output is `shown` and goes to no other command.
    pub(crate) fn only_mentions(&self, shown: bool) -> bool {
        let program = self.program();
        unwrap::is_installed(program)
            && match base_name(program) {
                ":" | "[" | "false" | "test" | "true" => true,
                "echo" | "printf" => shown,
                _ => false,
            }
    }

    /// Whether it is known to connect to no host that a word of it names.
    pub(crate) fn connects_to_nothing(&self) -> bool {
        self.opens_nothing() || self.habits.runs_nothing
    }

    /// What is known of the installed program that runs in the end, to be kept once
    /// the levels are known.
    pub(super) fn find_habits(&self) -> Habits {
        let program = self.program();
        if !unwrap::is_installed(program) {
            return Habits::default();
        }
        let is_in = |names: &[&str]| names.binary_search(&base_name(program)).is_ok();
        Habits { opens_nothing: is_in(OPEN_NOTHING), runs_nothing: is_in(RUN_NOTHING) }
    }

    /// The program that runs in the end, as it is called; empty where it is not known.
    pub(super) fn program(&self) -> &str {
        self.words.get(self.innermost()).and_then(Word::literal).unwrap_or("")
    }

    /// Whether a program named `sed` runs in the end.
    pub(crate) fn runs_sed(&self) -> bool {
        matches!(base_name(self.program()), "sed" | "gsed")
    }

    /// Texts of here-strings and here-documents that the program may run.
    pub(crate) fn inputs_that_may_run(&self) -> &[Input] {
        let is_lost = self.habits.runs_nothing && !self.feeds_runner;
        if is_lost { &[] } else { &self.inputs }
    }

    /// Whether what it prints is what its words or its input say, for a program that may run it.
    fn prints_its_text(&self) -> bool {
        self.habits.runs_nothing
            && matches!(base_name(self.program()), "cat" | "echo" | "printf" | "tee")
    }

    /// Indices of the words that may be run by the program that runs in the end.
    ///
    /// None for programs that are known to run none of their arguments, and none
    /// within a text that is read by itself.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = usize> + '_ {
        let start = self.innermost();
        let end = if self.habits.runs_nothing { 0 } else { self.words.len() };
        (start + 1..end).filter(|it| !self.script.contains(it))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        assert!(RUN_NOTHING.is_sorted() && OPEN_NOTHING.is_sorted());
    }
}
