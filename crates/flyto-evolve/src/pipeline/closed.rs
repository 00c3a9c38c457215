//! Whether what a text delivers depends on its input alone, as far as that can be seen.
//!
//! What is taken is closed, so that a program that is not known counts as one that depends on more: on files, variables, the
//! network, or processes of the machine.
//!
//! | part of the text | what is taken |
//! | --- | --- |
//! | a builtin of bash | those of [`BUILTINS`]; a condition that asks for no file |
//! | a program | the filters of [`FILTERS`], with these options and no file as an operand |
//! | code of `awk`, `sed`, `jq` | in single quotes, without what reads files and variables |
//! | a redirection | a here-document, a here-string, a stream, `/dev/null` |
//! | a word | without a pattern that stands for files, and without `~` |
//!
//! Variables are those of [`Facts`](crate::Facts), which [`comparable`](super::comparable) looks at.
//!
//! The first text below is taken, since what it prints is made of a parameter alone. Each of the others is refused, with what
//! a person is told of it:
//!
//! ```text
//! tr a-z A-Z <<< "$TOOL_INPUT_X" | head -n 1
//! cat notes || echo none      it runs "cat" with the operand "notes", which may be a file
//! echo "$(git log | wc -l)"   it runs "git", which may use files, variables or the network
//! for f in *.c; do :; done    it has the pattern "*.c", and a replay has no files
//! wc -c < notes               it opens "notes", which a replay may not have
//! ```
//!
//! A text that is refused without need costs a person one comparison, and one that is taken without right tells of a difference
//! that is none. So what is left out here is left out on purpose:
//!
//! - `date`, `id`, `pwd`, `ls` and `ps` tell of the machine;
//! - interpreters such as `python3` have all of it in reach;
//! - functions of the script are not followed, and their names count as programs;
//! - files that the script itself writes are not known again when it reads them.

use crate::review::{joined, redirection, script};

/// Builtins that give something of their words and of standard input only.
///
/// Not among them are `declare`, `export` and `set` without words, which print variables, `cd`, `source` and `exec`, which
/// reach files, and `eval`, `trap` and `command`, behind which another command stands.
const BUILTINS: &str =
    ": break continue echo exit false let local printf read return shift test true unset wait [ [[";

/// Words of bash in front of a command.
const RESERVED: &str = "if then elif else fi while until do done ! { } esac";

/// A program that gives something of its standard input only, with these options and so many operands.
struct Filter {
    /// The program, which is called by its name alone: a path may lead to another one.
    name: &'static str,
    /// The most operands that are no file, such as the pattern of `grep`.
    n_operands: usize,
    /// Letters of options, beside digits.
    options: &'static str,
    /// Those of them that have a value, in the word or in the next one.
    with_value: &'static str,
}

/// One line of the table of [`FILTERS`].
const fn filter(
    name: &'static str,
    n_operands: usize,
    options: &'static str,
    with_value: &'static str,
) -> Filter {
    Filter { name, n_operands, options, with_value }
}

/// Filters. `-f` of most of them names a file, and no option that does is here.
///
/// Long options are not taken: each program knows some that name a file (`--files0-from`, `--from-file`, `--rawfile`), and the
/// short ones say the same as the others. `-e` of `grep` and `sed` is not taken either, since it makes an operand a file.
const FILTERS: &[Filter] = &[
    filter("awk", 1, "Fv", "Fv"),
    filter("base64", 0, "diw", "w"),
    filter("basename", 2, "", ""),
    filter("bc", 0, "lq", ""),
    filter("cat", 0, "AbEensTtuv", ""),
    filter("cut", 0, "bcdfns", "bcdf"),
    filter("dirname", 1, "", ""),
    filter("expand", 0, "it", "t"),
    filter("expr", 99, "", ""),
    filter("fold", 0, "bsw", "w"),
    filter("grep", 1, "ABCEFGPchimnoqsvwx", "ABCm"),
    filter("head", 0, "cnqz", "cn"),
    filter("jq", 1, "MRSacejnrs", ""),
    filter("md5sum", 0, "b", ""),
    filter("od", 0, "ANcjtvwx", "ANjtw"),
    filter("paste", 0, "ds", "d"),
    filter("rev", 0, "", ""),
    filter("sed", 1, "Enrsuz", ""),
    filter("seq", 3, "fsw", "fs"),
    filter("sha1sum", 0, "b", ""),
    filter("sha256sum", 0, "b", ""),
    filter("sleep", 1, "", ""),
    filter("sort", 0, "Vbdfghiknrstuz", "kt"),
    filter("tac", 0, "", ""),
    filter("tail", 0, "cnqz", "cn"),
    filter("tr", 2, "Ccdst", ""),
    filter("uniq", 0, "cdfisuwz", "fsw"),
    filter("wc", 0, "Lclmw", ""),
    filter("xxd", 0, "clpru", "cl"),
];

/// What in code reads more than the input, or runs something.
///
/// | program | what is looked for |
/// | --- | --- |
/// | `awk` | variables of the host, the list of files, reading and running, the time |
/// | `jq` | variables of the host, names of files, modules, the time |
const CODE: &[(&str, &[&str])] = &[
    ("awk", &["ENVIRON", "PROCINFO", "ARG", "getline", "system", "|", "@", "time"]),
    ("jq", &["env", "ENV", "input", "import", "include", "now", "local", "__", "get_search"]),
];

/// What in a text may depend on more than its input, for people; `None` where all of it is known.
///
/// The first reason is told, in the order of the text: one is enough to know that a comparison says nothing.
pub(super) fn depends_on_more(text: &str) -> Option<String> {
    let text = joined(text);
    let script = script(&text);
    if !script.is_whole {
        return Some("its text is not understood".to_owned());
    }
    script.commands.iter().find_map(|it| command(&it.words()).err())
}

/// One simple command; the error says what is not known of it.
///
/// Reserved words and assignments may stand in front of it. An assignment alone is one, too: `x=$(…)` has what is in the
/// parentheses as a command of its own.
fn command(words: &[&str]) -> Result<(), String> {
    let words = without_redirections(words)?;
    let mut words = words.as_slice();
    while let [first, rest @ ..] = words {
        let is_reserved = RESERVED.split(' ').any(|it| it == *first);
        let name = first.split('=').next().unwrap_or_default().trim_end_matches('+');
        let is_assignment = first.contains('=') && is_name(name);
        if name == "PATH" && is_assignment {
            return Err("it sets \"PATH\", and so what is run".to_owned());
        }
        if !is_reserved && !is_assignment {
            break;
        }
        if is_assignment {
            no_pattern(first)?;
        }
        words = rest;
    }
    let [name, words @ ..] = words else { return Ok(()) };
    // The words of a condition in `[[` stand for no files.
    if *name != "[[" {
        words.iter().try_for_each(|it| no_pattern(it))?;
    }
    match *name {
        "for" | "case" => Ok(()),
        "[" | "[[" | "test" => match words.iter().find(|it| asks_for_file(it)) {
            Some(test) => Err(format!("it asks for a file ({test}), and a replay has none")),
            None => Ok(()),
        },
        // Without words it lists the variables.
        "set" if words.first().is_some_and(|it| it.starts_with(['-', '+'])) => Ok(()),
        name if BUILTINS.split(' ').any(|it| it == name) => Ok(()),
        name => match FILTERS.iter().find(|it| it.name == name) {
            Some(filter) => operands(filter, words),
            None => Err(format!("it runs {name:?}, which may use files, variables or the network")),
        },
    }
}

/// The words without redirections to what a replay has too.
///
/// # Errors
///
/// A target that may be there or not, be it read or written: where it cannot be written, the text may go another way.
fn without_redirections<'a>(words: &[&'a str]) -> Result<Vec<&'a str>, String> {
    let mut res = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(operator) = redirection(word) else {
            res.push(*word);
            continue;
        };
        let target = words.next().copied().unwrap_or_default();
        let is_known = match operator {
            "<<" | "<<-" | "<<<" => true,
            ">&" | "<&" => target == "-" || target.bytes().all(|it| it.is_ascii_digit()),
            _ => ["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"].contains(&target),
        };
        if !is_known {
            return Err(format!("it opens {target:?}, which a replay may not have"));
        }
    }
    Ok(res)
}

/// Whether a word of a condition asks for a file or a terminal. `-v` is about a variable.
fn asks_for_file(word: &str) -> bool {
    let mut chars = word.chars();
    let is_unary = chars.next() == Some('-')
        && chars.next().is_some_and(|it| it.is_ascii_alphabetic() && !"nzov".contains(it))
        && chars.next().is_none();
    is_unary || ["-nt", "-ot", "-ef"].contains(&word)
}

/// Whether the words of a filter name no file.
///
/// # Errors
///
/// An option that is not in the table, more operands than there are, and code that is not written in the text, or reads more.
fn operands(filter: &Filter, words: &[&str]) -> Result<(), String> {
    let Filter { name, n_operands, options, with_value } = filter;
    let mut operands = Vec::new();
    let mut is_value = false;
    let mut is_option = true;
    for word in words {
        if std::mem::take(&mut is_value) {
            continue;
        }
        match word.strip_prefix('-').filter(|it| is_option && !it.is_empty()) {
            Some("-") => is_option = false,
            Some(letters) => {
                for (at, letter) in letters.char_indices() {
                    if with_value.contains(letter) {
                        is_value = at + 1 == letters.len();
                        break;
                    }
                    if !letter.is_ascii_digit() && !options.contains(letter) {
                        return Err(format!(
                            "it runs {name:?} with {word:?}, which may name a file"
                        ));
                    }
                }
            }
            None if *word == "-" => {}
            None => operands.push(*word),
        }
    }
    if operands.len() > *n_operands {
        let word = operands.last().copied().unwrap_or_default();
        return Err(format!("it runs {name:?} with the operand {word:?}, which may be a file"));
    }
    let code = operands.first().copied().unwrap_or_default();
    let is_known = match *name {
        "sed" => is_plain_sed(code),
        "awk" | "jq" => {
            let words = CODE.iter().find(|it| it.0 == *name).map_or(&[][..], |it| it.1);
            let literal = code.strip_prefix('\'').and_then(|it| it.strip_suffix('\''));
            let is_plain =
                |it: &str| !it.contains('\'') && !words.iter().any(|word| it.contains(word));
            literal.map_or(code == ".", is_plain)
        }
        _ => true,
    };
    if is_known {
        Ok(())
    } else {
        Err(format!("it runs code of {name:?} that may read more than its input"))
    }
}

/// A substitution, or lines that are printed or left out: nothing that reads or runs a file.
fn is_plain_sed(code: &str) -> bool {
    let is_quoted =
        |quote: char| code.len() > 1 && code.starts_with(quote) && code.ends_with(quote);
    let code = if is_quoted('\'') || is_quoted('"') { &code[1..code.len() - 1] } else { code };
    if code.contains(['\'', '"', '`', '\n']) {
        return false;
    }
    let mut chars = code.chars();
    match (chars.next(), chars.next()) {
        (Some('s'), Some(mark)) if mark.is_ascii_punctuation() && mark != '\\' => {
            let parts: Vec<&str> = code[2..].split(mark).collect();
            let [_, _, flags] = parts[..] else { return false };
            flags.chars().all(|it| "gpiI".contains(it) || it.is_ascii_digit())
        }
        _ => {
            let lines = |it: char| it.is_ascii_digit() || ",$!".contains(it);
            matches!(code.trim_start_matches(lines), "p" | "d" | "q")
        }
    }
}

/// A pattern outside of quotes stands for the files that it fits.
fn no_pattern(word: &str) -> Result<(), String> {
    let told = || Err(format!("it has the pattern {word:?}, and a replay has no files"));
    let mut chars = word.char_indices().peekable();
    let mut quote = None;
    let mut n_open = 0;
    while let Some((at, it)) = chars.next() {
        match (quote, it) {
            (None | Some('"'), '\\') => drop(chars.next()),
            (None, '\'' | '"') => quote = Some(it),
            (Some(open), it) if open == it => quote = None,
            (_, '$') => match chars.peek() {
                Some((_, '{' | '(')) => {}
                _ => drop(chars.next()),
            },
            // What stands in `${…}` and `$(…)` is no pattern, or a command of its own.
            (None, '{' | '(') if word[..at].ends_with('$') || n_open > 0 => n_open += 1,
            (None, '}' | ')') if n_open > 0 => n_open -= 1,
            (None, '*' | '?' | '[') if n_open == 0 => return told(),
            (None, '~') if at == 0 || word[..at].ends_with(['=', ':']) => return told(),
            _ => {}
        }
    }
    Ok(())
}

/// Whether a text may be the name of a variable, so that `=` behind it assigns.
fn is_name(text: &str) -> bool {
    text.starts_with(|it: char| it == '_' || it.is_ascii_alphabetic())
        && text.chars().all(|it| it == '_' || it.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_of_the_input_depend_on_it_alone() {
        for text in [
            "echo b",
            "set -eu\nx=$(tr a-z A-Z <<< \"$TOOL_INPUT_X\" | sort -rn | uniq -c | head -n 5)\necho \"$x\"",
            "printf 'a\\n' | grep -o 'a*' | wc -l | tr -d ' '",
            "for i in a b; do if [ \"$i\" = a ]; then echo \"$i\" >&2; else exit 3; fi; done 2>/dev/null",
            "cat <<E | sed 's/a/b/g' | sed -n 1,3p\n$TOOL_INPUT_X\nE",
            "jq -r '.a[0]' | awk '{ if ($1 > 5) print $2 }' | cut -d , -f 1",
            "case $TOOL_INPUT_X in\n a*) echo a ;;\n *) echo b\nesac",
            "[[ $TOOL_INPUT_X == good* ]] && echo $? ${a[0]} \"*\" $((2 * 3))",
        ] {
            assert_eq!(depends_on_more(text), None, "{text}");
        }
    }

    #[test]
    fn anything_else_may_depend_on_more() {
        for (text, part) in [
            ("echo \"$(git ls-remote origin 2>/dev/null | head -1)z\"", "runs \"git\""),
            ("python3 -c 'print(1)'", "runs \"python3\""),
            ("echo \"t=$(printenv GITHUB_TOKEN)\"", "runs \"printenv\""),
            ("cat notes 2>/dev/null || echo nofile", "operand \"notes\""),
            ("wc -c < notes", "opens \"notes\""),
            ("for f in *.c; do echo \"$f\"; done", "pattern \"*.c\""),
            ("echo ~ada", "pattern"),
            ("[[ -f notes ]] && echo y", "asks for a file (-f)"),
            ("[ a -nt b ]", "asks for a file"),
            ("grep -r x", "\"-r\""),
            ("grep -f notes x", "\"-f\""),
            ("sort -o x", "\"-o\""),
            ("sort --files0-from=x", "--files0-from"),
            ("sed 'r notes'", "code of \"sed\""),
            ("sed 's/a/b/e'", "code of \"sed\""),
            ("awk 'BEGIN { getline x < \"notes\" }'", "code of \"awk\""),
            ("awk \"$TOOL_INPUT_X\"", "code of \"awk\""),
            ("jq -n 'env.HOME'", "code of \"jq\""),
            ("set", "runs \"set\""),
            ("PATH=/x cat", "PATH"),
            ("echo a {fd}> notes", "opens \"notes\""),
            ("true && \\\ncat notes", "operand \"notes\""),
            ("echo `echo \\`git log\\``", "runs \"git\""),
            ("echo 'a", "not understood"),
            ("cd x; pwd", "runs \"cd\""),
            ("\"$TOOL_INPUT_X\" a", "runs"),
        ] {
            let found = depends_on_more(text).unwrap_or_else(|| panic!("{text}"));
            assert!(found.contains(part), "{text}: {found}");
        }
    }
}
