//! The rules that hold for every command, whatever its programs are: a value is no program and sets
//! no variable.
//!
//! What known programs do with their words is [`lint`]'s. The words are marked on the way: whether
//! one can be left out when its value is missing, and whether a `--` protects it. A call relies on
//! both marks.

use smallvec::SmallVec;

use super::{
    checker::Checker,
    fault::Fault,
    lint, refused,
    words::{Word, is_assignment},
};

/// Whether a shell reads a command behind this word: it is a reserved word that one may follow (POSIX XCU 2.4).
#[rustfmt::skip]
fn is_keyword(raw: &str) -> bool {
    matches!(
        raw,
        "!" | "do" | "done" | "elif" | "else" | "fi" | "if" | "then" | "until" | "while" | "{" | "}"
    )
}

/// Whether a word as it is written means something to a shell itself: its other reserved words, special builtins (POSIX
/// XCU 2.15), builtins that have an effect on the shell alone, and those that bash adds.
#[rustfmt::skip]
fn is_shells_own(raw: &str) -> bool {
    is_keyword(raw) || matches!(
        raw,
        "." | ":" | "[[" | "alias" | "bg" | "break" | "builtin" | "case" | "cd" | "command" | "continue" | "coproc"
        | "declare" | "dirs" | "disown" | "esac" | "eval" | "exec" | "exit" | "export" | "fc" | "fg" | "for"
        | "function" | "getopts" | "hash" | "in" | "jobs" | "let" | "local" | "mapfile" | "popd" | "pushd" | "read"
        | "readarray" | "readonly" | "return" | "select" | "set" | "shift" | "shopt" | "source" | "times" | "trap"
        | "type" | "typeset" | "ulimit" | "umask" | "unalias" | "unset" | "wait"
    )
}

/// Whether the first word of a text says that the text is one for a shell.
pub(super) fn is_for_shell(text: &str, first: &Word) -> bool {
    let raw = &text[first.span.clone()];
    is_shells_own(raw)
        || is_assignment(raw)
        || first.fixed(text).is_some_and(|it| *it != *raw && is_shells_own(&it))
}

/// Looks at what stands right before a redirection at `at`: digits name its descriptor, and are no
/// word.
///
/// # Errors
///
/// A fault for `{name}`, as some shells have it there.
pub(super) fn redirection(
    checker: &Checker<'_>,
    words: &mut [Word],
    at: usize,
) -> Result<(), Box<Fault>> {
    let before = words.last_mut().filter(|it| it.span.end == at && !it.redirects);
    let Some(before) = before else { return Ok(()) };
    let raw = checker.raw(before);
    let name = raw.strip_prefix('{').and_then(|it| it.strip_suffix('}'));
    if name.is_some_and(|it| !it.contains(['{', '}', ','])) {
        return Err(refused::NAMED_STREAM.at(before.span.clone(), ""));
    }
    before.redirects = raw.bytes().all(|it| it.is_ascii_digit());
    Ok(())
}

/// The target of a redirection: a file may be a value, the number of a stream may not. It cannot be
/// left out in either case.
///
/// # Errors
///
/// A fault for a value in the number, and for text behind `>&-`.
pub(super) fn target(
    checker: &Checker<'_>,
    word: &mut Word,
    operator: &str,
) -> Result<(), Box<Fault>> {
    if operator.ends_with('&') {
        let help = "write the number of the stream, as in `2>&1`";
        checker.refuse(word, "where a stream is named", help)?;
        let raw = checker.raw(word);
        if raw.len() > 1 && raw.starts_with('-') {
            return Err(refused::NOT_CLOSED.at(word.span.clone(), ""));
        }
    }
    (word.needed, word.redirects) = (true, true);
    Ok(())
}

/// Looks at one simple command, or at the beginning of a compound one. Keywords and assignments in
/// front are passed over.
///
/// # Errors
///
/// A fault for a value in an assignment or in the place of the program, and for what the lint
/// finds.
pub(super) fn command(checker: &mut Checker<'_>, words: &mut [Word]) -> Result<(), Box<Fault>> {
    let mut words: SmallVec<[&mut Word; 16]> =
        words.iter_mut().filter(|it| !it.redirects).collect();
    let mut at = 0;
    while let Some((first, after)) = words[at.min(words.len())..].split_first() {
        match checker.raw(first) {
            "for" => {
                let name = after.first();
                let help = "write a name of your own";
                name.map_or(Ok(()), |it| checker.refuse(it, "where a variable is named", help))?;
                // Without `in`, a command may follow on the same line.
                if after.get(1).is_some_and(|it| checker.raw(it) == "in") {
                    return Ok(());
                }
                at += 1;
            }
            raw if is_keyword(raw) => {}
            raw if is_assignment(raw) => {
                let help = "set the variable under \"env\" in the manifest, or hand the value over as an \
                            argument, as in `sh -c '… \"$1\"' _ {{x}}`, where it is \"$1\"";
                checker.refuse(first, "in an assignment to a variable of the shell", help)?;
                // A shell with arrays reads `a[…]=` up to the bracket, across blanks.
                if raw.find(['[', '=']).is_some_and(|it| raw[it..].starts_with('[')) {
                    let help = "write a variable for each, or put the text into a script";
                    checker.not_everywhere(first.span.clone(), raw, help);
                }
            }
            raw => {
                if raw == "time" {
                    timed(checker, after);
                }
                return program(checker, &mut words[at..]);
            }
        }
        at += 1;
    }
    Ok(())
}

/// `time` is a reserved word of some shells, and a program for others. Both read a program behind
/// it, where no other reserved word and no assignment stands there.
fn timed(checker: &mut Checker<'_>, after: &[&mut Word]) {
    let first = after.iter().find(|it| !matches!(checker.raw(it), "-p" | "--"));
    let differs = |raw| is_shells_own(raw) || is_assignment(raw) || raw == "time";
    if let Some(word) = first.filter(|it| differs(checker.raw(it))) {
        let help = "write the program behind it, as in `time -p program`";
        checker.not_everywhere(word.span.clone(), "time", help);
    }
}

/// The rules for the name of a program, then the lint for its words.
fn program(checker: &mut Checker<'_>, words: &mut [&mut Word]) -> Result<(), Box<Fault>> {
    if words[0].fixed(checker.text).is_some_and(|it| it.is_empty()) {
        return Err(refused::EMPTY.at(words[0].span.clone(), ""));
    }
    checker.refuse_program(words)?;
    lint::check(checker, words)
}
