//! Commands of the shell itself that change what later commands run, or that evaluate their words.
//!
//! A shell's own commands run no program, yet `alias ls=rm` or `export PATH=…` changes what the
//! next line does. What evaluates words is unclear; what sets a variable names it in
//! [`Command::risky`] unless it is known to be harmless.

use super::super::{
    Command, Word,
    variables::{assigned_name, is_harmless, is_harmless_inside, is_name},
};

const EVALUATES: &str = "a command of the shell that evaluates its words or changes what runs";
const SETS_UNKNOWN: &str = "which variable is set is known only when it runs";

/// Looks at a command that runs no other program. Variables it sets are added to `command.risky`.
///
/// `start` is the place of the name in the words. Programs that are not listed pass.
pub(super) fn check(name: &str, command: &mut Command, start: usize) -> Result<(), &'static str> {
    let words = command.words_from(start).get(1..).unwrap_or_default();
    match name {
        "." | "source" | "alias" | "bind" | "compgen" | "complete" | "coproc" | "enable" | "fc"
        | "getopts" | "hash" | "history" | "let" | "shopt" | "trap" => Err(EVALUATES),
        // `set -k` takes assignments from anywhere in a command.
        "set" => match words.iter().any(|it| it.literal().is_none_or(|it| it.contains('k'))) {
            true => Err(EVALUATES),
            false => Ok(()),
        },
        // These evaluate the subscript of an element.
        "test" | "[" | "wait" => {
            let evaluates = |it: &Word| matches!(it.known_text(), "-v" | "-R" | "-p");
            let is_wait = name == "wait";
            match words.iter().any(|it| evaluates(it) && (is_wait || it.known_text() != "-p")) {
                true => Err(EVALUATES),
                false => Ok(()),
            }
        }
        "printf" => match words.first().map(Word::known_text) {
            Some(first) if first.starts_with("-v") => names(&words[1..words.len().min(2)], ""),
            _ => Ok(()),
        },
        "unset" => match words.iter().all(|it| it.literal().is_some_and(is_name_or_flag)) {
            true => Ok(()),
            false => Err(SETS_UNKNOWN),
        },
        "read" => names(words, "rs"),
        "mapfile" | "readarray" => names(words, "t"),
        "export" | "declare" | "typeset" | "local" | "readonly" => {
            let mut risky = Vec::new();
            for (i, word) in words.iter().enumerate() {
                let text = word.known_text();
                let is_flag = text.strip_prefix('-').is_some_and(|it| {
                    word.literal().is_some() && it.chars().all(|it| "xrpglun".contains(it))
                });
                // `declare -n` makes one name stand for another.
                if is_flag && !(text.contains('n') && name != "export") {
                    continue;
                }
                let set = assigned_name(text).or_else(|| word.literal().filter(|it| is_name(it)));
                let Some(set) = set else { return Err(SETS_UNKNOWN) };
                if !is_harmless(set) {
                    risky.push(start + 1 + i);
                }
            }
            command.risky.extend(risky);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// What `unset` takes.
fn is_name_or_flag(word: &str) -> bool {
    is_name(word) || matches!(word, "-v" | "-f")
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
