//! Dangers in a command line that have a name.
//!
//! They are found by the words as they are known, at each program of a command; a
//! name counts without its directory. What is found informs, and
//! [`DangerKind::is_asked`] says what is asked for it.

use std::collections::HashSet;

use super::{Analysis, Command, Word, base_name};
use crate::decision::{Danger, DangerKind};

/// Dangers of each command, by its index, without repetition.
///
/// Those of single commands come first, then those of pipelines. A download and a
/// shell of one pipeline are a danger where the shell stands behind it.
pub(crate) fn find_dangers(analysis: &Analysis) -> Vec<(usize, Danger)> {
    let mut res: Vec<(usize, Danger)> = Vec::new();
    let mut seen: HashSet<(usize, DangerKind)> = HashSet::new();
    let mut add = |kind, i: usize| {
        if seen.insert((i, kind)) {
            res.push((i, Danger { kind, command: analysis.commands[i].text.clone() }));
        }
    };
    for (i, command) in analysis.commands.iter().enumerate() {
        for level in &command.levels {
            for kind in of_program(command.words_from(level.start)) {
                add(kind, i);
            }
        }
        let mut contained = analysis.commands[command.contains.clone()].iter();
        if contained.any(downloads) && runs_script(command) {
            add(DangerKind::PipesDownload, i);
        }
    }
    for pipeline in analysis.pipelines.iter().filter(|it| it.len() > 1) {
        let mut downloaded = false;
        for part in pipeline {
            for i in part.clone().filter(|_| downloaded) {
                if runs_script(&analysis.commands[i]) {
                    add(DangerKind::PipesDownload, i);
                }
            }
            downloaded |= analysis.commands[part.clone()].iter().any(downloads);
        }
    }
    res
}

/// The last part of a path; empty without words.
fn name_of(words: &[Word]) -> &str {
    let text = words.first().map_or("", Word::known_text);
    base_name(text)
}

/// The program that a command runs in the end.
fn program(command: &Command) -> &str {
    name_of(command.words_from(command.innermost()))
}

/// Whether what it prints may come from the network.
fn downloads(command: &Command) -> bool {
    matches!(program(command), "curl" | "wget" | "fetch" | "nc" | "ncat")
}

/// Whether it may run what it reads or is given.
fn runs_script(command: &Command) -> bool {
    is_interpreter(program(command)) || matches!(program(command), "eval" | "source" | ".")
}

/// Digits and dots of a version do not count: `python3.12`.
fn is_interpreter(name: &str) -> bool {
    let name = name.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.');
    matches!(
        name,
        "sh" | "bash"
            | "dash"
            | "ash"
            | "zsh"
            | "ksh"
            | "python"
            | "perl"
            | "ruby"
            | "node"
            | "php"
    )
}

/// What one program does by its options; `words` begin with its name. Options are
/// found anywhere among the arguments.
fn of_program(words: &[Word]) -> Vec<DangerKind> {
    let args = words.get(1..).unwrap_or_default();
    let has = |wanted: &[&str]| args.iter().any(|it| wanted.contains(&it.known_text()));
    let has_letter = |letters: &[char]| {
        args.iter().any(|it| {
            let text = it.known_text();
            text.starts_with('-') && !text.starts_with("--") && text.contains(letters)
        })
    };
    let recursive = || has_letter(&['r', 'R']) || has(&["--recursive"]);
    let mut res = Vec::new();
    let name = name_of(words);
    match name {
        "rm" => {
            if recursive() {
                res.push(DangerKind::RemovesRecursively);
            }
            if recursive() && args.iter().any(is_whole_system) {
                res.push(DangerKind::RemovesEverything);
            }
        }
        "find" if has(&["-delete"]) => res.push(DangerKind::RemovesFound),
        "chmod" | "chown" | "chgrp" if recursive() => res.push(DangerKind::ChangesRights),
        "sudo" | "doas" | "su" | "pkexec" => res.push(DangerKind::OtherRights),
        "dd" if args.iter().any(|it| it.known_text().starts_with("of=/dev/")) => {
            res.push(DangerKind::WritesDevice);
        }
        "git" => {
            let forced = has(&["push"]) && (has(&["--force"]) || has_letter(&['f']));
            let discarded = (has(&["reset"]) && has(&["--hard"]))
                || (has(&["clean"]) && (has_letter(&['f']) || has(&["--force"])));
            if forced || discarded {
                res.push(DangerKind::DiscardsWork);
            }
        }
        _ if name.starts_with("mkfs") => res.push(DangerKind::WritesDevice),
        // The text of a shell is taken apart, and its commands have dangers of their own.
        _ if is_interpreter(name)
            && !name.ends_with("sh")
            && args.iter().any(|it| matches!(it.known_text(), "-c" | "-e" | "--eval" | "-r")) =>
        {
            res.push(DangerKind::RunsText);
        }
        _ => {}
    }
    res
}

/// `/`, a home directory, or all that lies in one of them.
fn is_whole_system(word: &Word) -> bool {
    let text = word.known_text();
    let whole = text.trim_end_matches('*').trim_end_matches('/');
    let is_root = whole.is_empty() && (text.starts_with('/') || text == "*");
    is_root || whole == "~" || (word.literal().is_none() && whole.is_empty())
}
