//! Commands of the shell itself that change what later commands run, or that
//! evaluate their words.
//!
//! A shell's own commands run no program, yet `alias ls=rm` or `export PATH=…`
//! changes what the next line does. What evaluates words is unclear; what sets a
//! variable names it in [`Command::risky`] unless it is known to be harmless.
//!
//! | command | what is said of it |
//! | --- | --- |
//! | `alias`, `enable`, `hash`, `let`, `set -k` | it evaluates its words, or changes what a name runs |
//! | `source`, `shopt`, `trap - EXIT` | it changes what runs later |
//! | `read`, `unset`, `mapfile`, `printf -v` | nothing for plain names; else that the variable is not known |
//! | `export`, `declare`, `local` | nothing; the variable may be risky |
//! | `test -v`, `wait -p` | it evaluates the subscript of a name |
//! | any other | nothing |
//!
//! The second and the third kind run nothing themselves, and their words were read ([`READ`]).

use super::super::{
    Command, Word,
    variables::{assigned_name, is_harmless, is_harmless_inside, is_name},
};
use super::names_stream;
use super::options::{is_harmless_letter, is_harmless_name};

pub(super) const EVALUATES: &str =
    "a command of the shell that evaluates its words or changes what runs";
const SETS_UNKNOWN: &str = "which variable is set is known only when it runs";

pub(super) const CHANGES: &str = "a command of the shell that changes what runs later";
/// Said of commands whose words were read, and run nothing themselves.
pub(super) const READ: [&str; 2] = [SETS_UNKNOWN, CHANGES];

/// Looks at a command that runs no other program. Variables it sets are added to
/// `command.risky`.
///
/// `start` is the place of the name in the words. Programs that are not listed
/// pass.
pub(super) fn check(name: &str, command: &mut Command, start: usize) -> Result<(), &'static str> {
    let words = command.words_from(start).get(1..).unwrap_or_default();
    match name {
        // A file is read as a script of that name is run; a stream may have a text of the line.
        "." | "source" => match words.first().and_then(Word::literal) {
            Some(path) if !names_stream(path) && !path.starts_with('-') => Err(CHANGES),
            _ => Err(EVALUATES),
        },
        "shopt" => Err(CHANGES),
        "trap"
            if words.first().and_then(Word::literal).is_some_and(|it| matches!(it, "-" | "-p")) =>
        {
            Err(CHANGES)
        }
        "alias" | "bind" | "compgen" | "complete" | "coproc" | "enable" | "fc" | "getopts"
        | "hash" | "history" | "let" | "trap" => Err(EVALUATES),
        "set" => match set(words) {
            true => Ok(()),
            false => Err(EVALUATES),
        },
        "test" | "[" => match tests_variable(words) {
            true => Err(EVALUATES),
            false => Ok(()),
        },
        // `-p` evaluates the subscript of an element.
        "wait" => {
            let evaluates = |it: &Word| match it.literal() {
                Some(text) => text.starts_with('-') && text.contains('p'),
                None => it.may_start_with("-"),
            };
            match words.iter().any(evaluates) {
                true => Err(CHANGES),
                false => Ok(()),
            }
        }
        "printf" => printf(words),
        "unset" => match words.iter().all(|it| it.literal().is_some_and(is_name_or_flag)) {
            true => Ok(()),
            false => Err(SETS_UNKNOWN),
        },
        "read" => read(words),
        "mapfile" | "readarray" => names(words, "t").map_err(|_| EVALUATES),
        "export" | "declare" | "typeset" | "local" | "readonly" => {
            let (mut risky, mut sets_more) = (Vec::new(), false);
            for (i, word) in words.iter().enumerate() {
                let text = word.known_text();
                let is_flag = text.strip_prefix('-').is_some_and(|it| {
                    word.literal().is_some() && it.chars().all(|it| "xrpglunaA".contains(it))
                });
                // `declare -n` makes one name stand for another.
                if is_flag && !(text.contains('n') && name != "export") {
                    continue;
                }
                let set = assigned_name(word.leading());
                let set = set.or_else(|| word.literal().filter(|it| is_name(it)));
                // Some shells split the value, whose further words are names then.
                sets_more |= set.is_none() || word.may_split();
                if set.is_some_and(|it| !is_harmless(it)) {
                    risky.push(start + 1 + i);
                }
            }
            command.risky.extend(risky);
            if sets_more { Err(SETS_UNKNOWN) } else { Ok(()) }
        }
        _ => Ok(()),
    }
}

/// Whether `set` only switches harmless options, or sets positional parameters.
///
/// `-o` without a name prints the options.
fn set(words: &[Word]) -> bool {
    if words.iter().any(|it| it.literal().is_none()) {
        return false;
    }
    let mut words = words.iter().filter_map(Word::literal);
    while let Some(word) = words.next() {
        let Some(letters) = word.strip_prefix(['-', '+']) else { return true };
        if matches!(word, "-" | "--") {
            return true;
        }
        for letter in letters.chars() {
            let is_harmless = match letter {
                'o' => words.next().is_none_or(is_harmless_name),
                it => is_harmless_letter(it),
            };
            if !is_harmless {
                return false;
            }
        }
    }
    true
}

/// Whether `test` may look at a variable by its name, which evaluates the subscript
/// of an element.
///
/// That is `-v` or `-R` before a name. A word that is not known may be that
/// operator, where the next one may hold a subscript; one that may split may be
/// both.
fn tests_variable(words: &[Word]) -> bool {
    let has_subscript = |it: &Word| it.literal().is_none_or(|it| it.contains('['));
    words.iter().enumerate().any(|(i, word)| match word.literal() {
        Some(text) => matches!(text, "-v" | "-R"),
        None if word.may_split() => true,
        None => {
            let may_be_operator = ["-v", "-R"].iter().any(|it| it.starts_with(word.leading()));
            may_be_operator && words.get(i + 1).is_some_and(has_subscript)
        }
    })
}

/// `printf -v NAME`, also as `-vNAME` and more than once, sets a variable.
fn printf(words: &[Word]) -> Result<(), &'static str> {
    let sets = words.first().is_none_or(|it| it.may_start_with("-v"));
    if sets && words.iter().any(|it| it.known_text().contains('\\')) {
        // It may write what begins a substitution.
        return Err(EVALUATES);
    }
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let Some(text) = word.literal() else {
            let is_format = !word.leading().is_empty() && !word.leading().starts_with('-');
            return if is_format { Ok(()) } else { Err(SETS_UNKNOWN) };
        };
        let Some(name) = text.strip_prefix("-v") else { return Ok(()) };
        at += 1;
        if name.is_empty() {
            names(&words[at..words.len().min(at + 1)], "")?;
            at += 1;
        } else if !is_name(name) || !is_harmless_inside(name) {
            return Err(SETS_UNKNOWN);
        }
    }
    Ok(())
}

/// What `unset` takes.
fn is_name_or_flag(word: &str) -> bool {
    is_name(word) || matches!(word, "-v" | "-f")
}

/// `read`, whose options take a text, a number or a name ([bash(1)]). The value of one is
/// one word, of which nothing is evaluated; a name stands in a word of its own, where it
/// counts as set.
///
/// [bash(1)]: https://man7.org/linux/man-pages/man1/bash.1.html
fn read(words: &[Word]) -> Result<(), &'static str> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let letters = word.literal().and_then(|it| it.strip_prefix('-'));
        let Some(letters) = letters.filter(|it| !it.starts_with('-')) else {
            return names(&[std::slice::from_ref(word), words.as_slice()].concat(), "-");
        };
        let Some(at) = letters.find(|it| !"ers".contains(it)) else { continue };
        let is_attached = at + 1 < letters.len();
        match letters.as_bytes()[at] {
            b'a' if !is_attached => names(words.as_slice().get(..1).unwrap_or_default(), "")?,
            b'd' | b'i' | b'n' | b'N' | b'p' | b't' | b'u' => {}
            _ => return Err(SETS_UNKNOWN),
        }
        if !is_attached && words.next().is_some_and(Word::may_split) {
            return Err(SETS_UNKNOWN);
        }
    }
    Ok(())
}

/// Only names of variables that change nothing, and flags.
///
/// `flags` are the letters of options without a value.
fn names(words: &[Word], flags: &str) -> Result<(), &'static str> {
    let fits = words.iter().all(|word| {
        word.literal().is_some_and(|it| {
            let is_flag =
                it.strip_prefix('-').is_some_and(|it| it.chars().all(|it| flags.contains(it)));
            is_flag || (is_name(it) && is_harmless_inside(it))
        })
    });
    if fits { Ok(()) } else { Err(SETS_UNKNOWN) }
}
