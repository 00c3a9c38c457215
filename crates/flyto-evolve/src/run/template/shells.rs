//! Shells: their code is written in the text, and read by the same rules.
//!
//! Of a value in `bash -c CODE _ {{.x}}` the code sees `$1`, which is known at run time only, as any other expansion is.
//! Code of `bash` may have all of the grammar that is read here. Code of `sh`, `dash` and `ash` has none of `&>`, `|&`,
//! `<<<`, `<(…)`, `[[` and `+=`: those shells read them in another way, so that `a &>b eval "$1"` would be three commands.

use super::{
    TemplateFault,
    lint::{Seen, at, file_of_code, fixed},
    parse::{self, Word},
};

type Res<T> = Result<T, TemplateFault>;

/// Options that have a name, of `set -o` and of shells.
pub(super) const SHELL_OPTIONS: &[&str] =
    &["pipefail", "errexit", "nounset", "xtrace", "noglob", "posix"];

/// Shells whose code is read: bash, and those with a part of its grammar. `sh` is one of them.
const SHELLS: &[&str] = &["sh", "bash", "rbash", "dash", "ash", "static-sh"];

/// Shells with another grammar, and interpreters that read commands as a shell does. Those of the family of `ksh` calculate
/// with what `test` compares.
#[rustfmt::skip]
const OTHER_SHELLS: &[&str] = &[
    "ksh", "mksh", "lksh", "oksh", "loksh", "pdksh", "posh",
    "zsh", "fish", "csh", "tcsh", "pwsh", "powershell", "yash", "sash", "nu", "xonsh", "elvish", "rc", "es", "osh", "ysh", "oil", "ion",
    "murex", "tclsh", "wish", "irb", "pry", "cmd", "ipython", "R", "scala",
];

/// Whether a program is a shell whose code is read.
pub(super) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// Whether a program reads code that is not read here.
pub(super) fn is_other_shell(name: &str) -> bool {
    OTHER_SHELLS.contains(&name)
}

/// How deep code may stand in code.
const MAX_DEPTH: usize = 4;

/// A shell: its code is written in the text, and read by the same rules.
///
/// | its words | what becomes of it |
/// | --- | --- |
/// | `-c CODE` | the code is read, and what follows are its arguments |
/// | a file | taken where no other command has a value or may write a file |
/// | neither, `-s`, `-`, `-i` | refused: it would read its input, which holds the values |
/// | other options | refused: they may name a file of code, or change how code is read |
pub(super) fn shell(name: &str, own: &Word, args: &[Word], seen: &mut Seen) -> Res<()> {
    code_of(name, own, args, seen).map_err(|err| {
        err.with_help(|it| format!("hand the value over as an argument, as in `bash -c '… \"$1\"' _ {{{{.{it}}}}}`, where it is \"$1\""))
    })
}

fn code_of(name: &str, own: &Word, args: &[Word], seen: &mut Seen) -> Res<()> {
    let place = format!("where `{name}` looks for code");
    let (mut has_c, mut after_dashes, mut takes_option) = (false, false, false);
    for word in args {
        let text = fixed(word, &place)?;
        if std::mem::take(&mut takes_option) {
            if !SHELL_OPTIONS.contains(&text) {
                return Err(at(word, &format!("is no option of `{name}` that is read here")));
            }
        } else if !after_dashes && matches!(text, "-" | "--") {
            after_dashes = true;
        } else if !after_dashes && text.starts_with(['-', '+']) && text.len() > 1 {
            let letters = &text[1..];
            if matches!(text, "--norc" | "--noprofile" | "--posix") {
                continue;
            }
            if !letters.chars().all(|it| "ceuxflno".contains(it)) {
                return Err(at(word, &format!("is no option of `{name}` that is read here")));
            }
            has_c |= text.starts_with('-') && letters.contains('c');
            takes_option = letters.contains('o');
        } else if has_c {
            return code(text, matches!(name, "bash" | "rbash"), word, seen);
        } else {
            return file_of_code(text, word, seen);
        }
    }
    Err(at(own, "reads its code from the input, which holds the values"))
}

/// Reads code of a shell that stands in a text.
///
/// There are no placeholders in it: a value comes to it as `$1`, which is known at run time only like any other
/// expansion. A fault of the code is told at the word that holds it.
fn code(text: &str, is_bash: bool, word: &Word, seen: &mut Seen) -> Res<()> {
    seen.look(text.len(), word)?;
    seen.depth += 1;
    if seen.depth > MAX_DEPTH {
        return Err(at(word, "is code in code in code, which is not read here"));
    }
    let (command, n_files, n_made) = (seen.command, seen.files.len(), seen.made.len());
    parse::nested(text, is_bash, seen)
        .map_err(|err| at(word, &format!("holds code that is not taken: {}", err.what)))?;
    // Places in that code are none of the text.
    seen.files[n_files..].iter_mut().for_each(|(_, it)| it.at = word.start);
    seen.made[n_made..].iter_mut().for_each(|(_, it)| it.at = word.start);
    seen.command = command;
    seen.depth -= 1;
    Ok(())
}
