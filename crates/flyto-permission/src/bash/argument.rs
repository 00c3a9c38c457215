//! Arguments that may be commands themselves.
//!
//! No list names all programs that run others, so any argument may be the start of a command that is
//! run, and any text a command line: `foo rm -rf x`, `foo -c 'rm -rf x'`. What is found so is a
//! guess, which [`Judge`](crate::decide::Judge) asks for and never denies.

use super::{Command, Word, unwrap};

/// Programs that run none of their arguments, whatever their options. A gap in the list costs a
/// question. `sort`, `split`, `sed`, `tar`, `awk` and `man` are not on it: they have options that run
/// a program. The commands that `find` runs are read by `unwrap`.
#[rustfmt::skip] // A list reads best as one.
const RUN_NOTHING: &[&str] = &[
    "[", "basename", "cat", "cd", "chgrp", "chmod", "chown", "cksum", "cmp", "comm", "command", "cp", "cut", "date",
    "df", "diff", "dirname", "du", "echo", "egrep", "expr", "false", "fgrep", "file", "find", "grep", "head", "id",
    "kill", "ln", "ls", "md5sum", "mkdir", "mktemp", "mv", "nl", "paste", "printf", "pwd", "readlink", "realpath",
    "rm", "rmdir", "seq", "sha256sum", "sleep", "stat", "tail", "tee", "test", "touch", "tr", "true", "type", "uname",
    "uniq", "wc", "whereis", "which", "whoami",
];

/// Programs that open no file that their arguments name and connect to nothing, beside a shell's own commands of that kind. A
/// gap in the list costs a question.
#[rustfmt::skip] // A list reads best as one.
const OPEN_NOTHING: &[&str] = &[
    ":", "[", "basename", "break", "cd", "continue", "declare", "dirname", "echo", "exit", "export", "expr", "false", "id",
    "kill", "local", "popd", "printf", "pushd", "pwd", "read", "readonly", "return", "seq", "set", "shift", "sleep", "test",
    "tr", "true", "type", "typeset", "umask", "uname", "unset", "wait", "which", "whoami",
];

/// What an argument may be, where it may be run.
#[derive(Debug)]
pub(crate) enum Argument<'w> {
    /// The name of a program, followed by the words behind it.
    Program(&'w str),
    /// A command line.
    Text(&'w str),
}

impl Argument<'_> {
    /// What a word may be; `None` for one that is not known.
    ///
    /// Of an option with a value, `--name=value`, the value counts.
    pub(crate) fn of(word: &Word) -> Option<Argument<'_>> {
        let word = word.literal().filter(|_| !word.may_split())?;
        let text = match word.split_once('=') {
            Some((_, value)) if word.starts_with('-') => value,
            _ => word,
        };
        let is_text = text.contains([' ', '\t', '\n', ';', '&', '|', '`']) || text.contains("$(");
        Some(if is_text { Argument::Text(text) } else { Argument::Program(text) })
    }
}

impl Command {
    /// Whether it is known to open no file that a word of it names; also assignments without a program.
    pub(crate) fn opens_nothing(&self) -> bool {
        self.words.len() == self.n_assignments || self.is_one_of(OPEN_NOTHING)
    }

    /// Whether it is known to connect to no host that a word of it names.
    pub(crate) fn connects_to_nothing(&self) -> bool {
        self.opens_nothing() || self.is_one_of(RUN_NOTHING)
    }

    /// Whether the installed program of one of these names runs in the end.
    fn is_one_of(&self, names: &[&str]) -> bool {
        let program = self.words.get(self.innermost()).and_then(Word::literal).unwrap_or("");
        let name = program.rsplit('/').next().unwrap_or(program);
        unwrap::is_installed(program) && names.contains(&name)
    }

    /// Indices of the words that may be run by the program that runs in the end.
    ///
    /// None for programs that are known to run none of their arguments, and none within a text that
    /// is read by itself.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = usize> + '_ {
        let start = self.innermost();
        let end = if self.is_one_of(RUN_NOTHING) { 0 } else { self.words.len() };
        (start + 1..end).filter(|it| !self.script.contains(it))
    }
}
