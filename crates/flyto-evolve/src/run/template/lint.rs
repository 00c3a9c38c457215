//! Rules that each command of a text with a placeholder keeps. By the first four, which are closed, the bash that reads the text
//! runs no value; the fifth is about programs that it starts.
//!
//! A value reaches a command as a word, on its input, and through variables that the text sets (`for`, `read`, `mapfile`,
//! `printf -v`, an assignment). So each rule asks what is written in the text, and not where a value went:
//!
//! 1. A program is a plain word that is wholly written here: no expansion, no pattern, nothing below `/proc` or `/dev`.
//! 2. What evaluates text is not used: `eval`, `trap`, `alias`, `let`, `declare`, functions, `coproc` and their kin. The
//!    parser refuses arithmetic, indexes, and expansions that calculate or look a name up.
//! 3. A variable that gets what is known at run time only reaches no program: it has a name of lower-case letters, so that
//!    it is none that the environment has by convention, as `PATH` and `BASH_ENV` are, and the text exports it nowhere.
//!    Names in lower case that bash reads (`histchars`), or that are often exported (`http_proxy`), are not taken.
//! 4. Names of variables, options of `set`, and operators of `test` and `[[` are written here.
//! 5. A shell, or one of a short table of interpreters, has its code in its words and reads none from its input. That code
//!    is written here, and read by these same rules where it is a shell's. A file of code is run by one command of the text, beside
//!    which no other one has a value or may write a file: bash writes none, and their programs are those of a list. By a
//!    relative path it is run where the text neither changes `PATH` nor goes to a directory that may be one of devices.
//!
//! | a text | what becomes of it |
//! | --- | --- |
//! | `f={{.x}}; cat "$f"` | taken: no program has the variable `f` |
//! | `F={{.x}}; cat "$F"` | refused: the environment may have `F`, and programs would get the value |
//! | `export f=1; f={{.x}}; cat a` | refused: programs get the value, by rule 3 |
//! | `f={{.x}} cat a` | refused: the same |
//! | `cd a; python3 a.py {{.x}} \| sort` | taken: `cd` and `sort` write no file |
//! | `cd /dev; python3 stdin {{.x}}` | refused: the file is the input |
//! | `cp {{.x}} a.py; python3 a.py` | refused: `cp` has a value, by rule 5 |
//! | `tee a.py; python3 a.py {{.x}}` | refused: `tee` may write the file, and the whole input is its standard input |
//! | `bash -c 'python3 a.py' _ {{.x}}` | refused: which command of the code has the value is not looked at |
//!
//! What another program does with its words and its input is its own matter; see [`programs`](super::programs).

use super::{
    builtins::{self, FIXED},
    programs,
    rendered::{MayBeOption, TemplateFault},
    seen::{Ends, Input, Seen, assignment, base_name, file_of_code, is_device, variable},
    word::{Word, at, fixed, is_assignment, refuse},
};

/// Reserved words of bash that a command may follow.
const KEYWORDS: &[&str] =
    &["!", "{", "}", "if", "then", "else", "elif", "fi", "do", "done", "while", "until", "time"];

/// What runs text that is made at run time, reads commands from its input, or changes what a word means.
#[rustfmt::skip]
const NEVER: &[&str] = &[
    "eval", "trap", "alias", "unalias", "let", "declare", "typeset", "local", "coproc", "function", "hash", "enable", "complete",
    "compgen", "compopt", "bind", "fc", "getopts", "jobs", "su", "runuser", "script", "ssh", "parallel", "expect", "at", "batch",
    "watch", "osascript",
];

/// How deep programs may stand in the words of others, as in `sudo timeout 5 nice …`.
const MAX_WITHIN: usize = 32;

type Res<T> = Result<T, TemplateFault>;

impl Seen {
    /// Takes those words of a program that begin with a value, and that it may read as options. An option would be code
    /// where `is_code` says so of the word.
    ///
    /// A program is looked at once for each word of a wrapper that may name it, and the strictest look counts.
    pub(super) fn guard(&mut self, words: &[Word], ends: Ends, is_code: &dyn Fn(usize) -> bool) {
        let (mut ends, mut is_over) = (ends, false);
        for (index, word) in words.iter().enumerate() {
            if let Some(text) = word.fixed() {
                is_over |= ends != Ends::Never && text == "--";
                match ends {
                    // Behind the code of a shell, `--` is the name of that code and ends no options of what it calls.
                    Ends::OwnDashes if programs::is_shell(base_name(text)) => {
                        (ends, is_over) = (Ends::Never, false);
                    }
                    Ends::OwnDashes if programs::runs_code(base_name(text)) => is_over = false,
                    _ => {}
                }
            }
            if word.begins_with_value() && !is_over {
                let is_code = is_code(index);
                let new = || MayBeOption { pieces: word.pieces(), is_code };
                self.options.entry(word.start).or_insert_with(new).is_code |= is_code;
            }
        }
    }
}

/// Whether bash takes the word, at the begin of a command, for a part of its grammar.
pub(super) fn is_keyword(raw: &str) -> bool {
    KEYWORDS.contains(&raw)
}

/// Looks at one simple command, or at the beginning of a compound one.
pub(super) fn check(words: &[Word], seen: &mut Seen) -> Res<()> {
    let mut words = words;
    // A variable that a program behind it would get.
    let mut made: Option<&Word> = None;
    while let [first, rest @ ..] = words {
        if let Some(word) = made.filter(|_| !is_assignment(&first.raw)) {
            refuse(word, "in a variable of a program")?;
            return Err(at(word, "is handed to a program, and what it is shows at run time only"));
        }
        match first.raw.as_str() {
            "for" | "select" => {
                rest.first().map_or(Ok(()), |it| variable(it, seen))?;
                seen.guard(rest, Ends::Never, &|_| false);
                // Without `in`, the commands of the loop would be taken for its words.
                return match rest.get(1) {
                    Some(it) if it.raw != "in" => Err(at(it, "stands where `in` is expected")),
                    _ => Ok(()),
                };
            }
            "case" => {
                let help = "write `if [ … = … ]`, or make it a script".to_owned();
                return Err(TemplateFault {
                    help,
                    ..at(first, "has patterns, which are not read here")
                });
            }
            "[[" => return builtins::double_brackets(first, rest),
            "time" => {
                // Its options stand in front of the command.
                let n_options =
                    rest.iter().take_while(|it| matches!(it.fixed(), Some("-p" | "--")));
                words = &rest[n_options.count()..];
                continue;
            }
            raw if is_keyword(raw) => {}
            raw if is_assignment(raw) => {
                if assignment(first, seen)? {
                    made = Some(first);
                }
            }
            _ => {
                if !writes_nothing(first, rest) {
                    seen.may_write.push(seen.command);
                }
                return program(first, rest, Input::Own, seen);
            }
        }
        words = rest;
    }
    Ok(())
}

/// Looks at a program and its words, [`MAX_WITHIN`] of them in each other.
pub(super) fn program(program: &Word, args: &[Word], input: Input, seen: &mut Seen) -> Res<()> {
    seen.look(args.len(), program)?;
    if seen.n_around == MAX_WITHIN {
        let what = format!("stands within more than {MAX_WITHIN} other programs");
        return Err(at(program, &what));
    }
    seen.n_around += 1;
    let res = named(program, args, input, seen);
    seen.n_around -= 1;
    res
}

/// The word of the program is fixed, plain, and no way to another program. Then come what is never taken, what has fixed
/// words, and the table of [`programs`].
fn named(program: &Word, args: &[Word], input: Input, seen: &mut Seen) -> Res<()> {
    let path = fixed(program, "in the place of the program")?;
    let is_plain = |it: char| it.is_alphanumeric() || "_./-+@%,:".contains(it);
    let is_named = path == "[" || path.chars().all(is_plain);
    if path.is_empty() || path.starts_with(['-', '+']) || !is_named {
        args.iter().try_for_each(|it| refuse(it, "behind a word that is no program"))?;
        return Err(at(program, "is not the plain name of a program"));
    }
    if is_device(path) {
        return Err(at(program, "is another program each time"));
    }
    let name = base_name(path);
    if NEVER.contains(&name) {
        let place = format!("behind `{name}`");
        args.iter().try_for_each(|it| refuse(it, &place))?;
        return Err(at(
            program,
            "runs text that is made at run time, or changes what a name means",
        ));
    }
    if name.starts_with("ld-linux") || name.starts_with("ld-musl") || name == "ld.so" {
        return Err(at(program, "loads the program that a word names"));
    }
    if matches!(name, "." | "source") {
        let place = format!("behind `{name}`");
        args.iter().try_for_each(|it| refuse(it, &place))?;
        let Some(file) = args.first() else { return Ok(()) };
        return file_of_code(fixed(file, &place)?, file, seen);
    }
    // A directory that is written here, and is none of devices, has no file that is the input.
    let is_place = |it: &Word| it.fixed().is_some_and(|it| it != "-" && !is_device(it));
    seen.moves |= (name == "cd" && !args.iter().all(is_place))
        || matches!(name, "pushd" | "popd")
        || args.iter().any(|it| it.text.starts_with("PATH=") || it.text.starts_with("PATH+="));
    if FIXED.contains(&name) {
        let place = format!("behind `{name}`");
        if input == Input::Words {
            return Err(at(program, "gets words from the input"));
        }
        return args.iter().try_for_each(|it| builtins::fixed_word(name, it, &place, seen));
    }
    if matches!(name, "[" | "test" | "printf") {
        seen.guard(args, Ends::Dashes, &|_| false);
    }
    match name {
        "[" | "test" => builtins::condition(args),
        "printf" => builtins::printf(program, args, input, seen),
        _ => programs::arguments(name, program, args, input, seen),
    }
}

/// Builtins and filters that write no file, and run none.
#[rustfmt::skip]
pub(super) const WRITES_NOTHING: &[&str] = &[
    ":", "true", "false", "pwd", "echo", "printf", "[", "test", "read", "mapfile", "readarray", "set", "shopt", "export", "readonly", "unset",
    "exit", "return", "break", "continue", "shift", "wait", "sleep", "cat", "head", "tail", "wc", "cut", "tr", "grep", "basename", "dirname",
];

/// Whether a command writes no file: its program is one of [`WRITES_NOTHING`], or has words with which it writes none.
fn writes_nothing(program: &Word, args: &[Word]) -> bool {
    let all = |is: &dyn Fn(&str) -> bool| args.iter().all(|it| it.fixed().is_some_and(is));
    match program.fixed() {
        Some("cd") => all(&|_| true),
        // `-o` and `--output` name a file, and `--compress-program` a program.
        Some("sort") => all(&|it| !(it.starts_with('-') && it.contains('o'))),
        Some("command") => all(&|_| true) && args.first().and_then(Word::fixed) == Some("-v"),
        Some(name) => WRITES_NOTHING.contains(&name),
        None => false,
    }
}
