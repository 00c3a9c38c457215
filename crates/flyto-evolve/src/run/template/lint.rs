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
//!    which no other one has a value or may write a file: bash writes none, and their programs are those of a list.
//!
//! | a text | what becomes of it |
//! | --- | --- |
//! | `f={{.x}}; cat "$f"` | taken: no program has the variable `f` |
//! | `F={{.x}}; cat "$F"` | refused: the environment may have `F`, and programs would get the value |
//! | `export f=1; f={{.x}}; cat a` | refused: programs get the value, by rule 3 |
//! | `f={{.x}} cat a` | refused: the same |
//! | `cd a; python3 a.py {{.x}} \| sort` | taken: `cd` and `sort` write no file |
//! | `cp {{.x}} a.py; python3 a.py` | refused: `cp` has a value, by rule 5 |
//! | `tee a.py; python3 a.py {{.x}}` | refused: `tee` may write the file, and the whole input is its standard input |
//! | `bash -c 'python3 a.py' _ {{.x}}` | refused: which command of the code has the value is not looked at |
//!
//! What another program does with its words and its input is its own matter; see [`programs`](super::programs).

use std::collections::{BTreeMap, HashSet};

use super::{
    MayBeOption, TemplateFault,
    builtins::{self, FIXED},
    parse::{UNKNOWN, Word},
    programs,
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

/// The most words that are looked at, and bytes of code among them. A word counts for each program of which it may be one: a
/// long option of a wrapper may have the next word for its value, or it is the program.
const MAX_STEPS: usize = 500_000;

/// What the commands of a text do together.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// How many programs stand around the one that is looked at.
    n_around: usize,
    /// See [`MAX_STEPS`].
    n_steps: usize,
    /// How deep code stands in code.
    pub(super) depth: usize,
    /// Variables that the text exports.
    pub(super) exported: HashSet<String>,
    /// Variables that get what is known at run time only.
    pub(super) made: Vec<(String, TemplateFault)>,
    /// The command that is looked at, by its place in the order in which they end.
    pub(super) command: usize,
    /// How many commands there were.
    pub(super) n_commands: usize,
    /// The commands with a value in their words or their redirections.
    pub(super) with_values: Vec<usize>,
    /// Whether the command is one among others within the words of one.
    pub(super) is_within: bool,
    /// Where the text has a file of code run, and by which command; `None` is one within the words of another.
    pub(super) files: Vec<(Option<usize>, TemplateFault)>,
    /// Whether bash writes a file.
    pub(super) writes: bool,
    /// The commands whose program is none of [`WRITES_NOTHING`].
    may_write: Vec<usize>,
    /// Words that begin with a value, by their place.
    options: BTreeMap<usize, MayBeOption>,
}

/// What ends the options of a program.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Ends {
    /// The word `--`.
    Dashes,
    /// The same, and behind the name of a shell or an interpreter another one.
    OwnDashes,
    Never,
}

impl Seen {
    /// Counts so many words, or bytes of code, behind this word.
    ///
    /// # Errors
    ///
    /// There are more than are looked at.
    pub(super) fn look(&mut self, n: usize, word: &Word) -> Res<()> {
        self.n_steps = self.n_steps.saturating_add(n + 1);
        match self.n_steps > MAX_STEPS {
            true => Err(at(word, "stands among too many words that may each be a program")),
            false => Ok(()),
        }
    }

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

    /// The rules that concern several commands, once all of them are seen, and the words that begin with a value.
    ///
    /// The order of the commands does not count, since a loop may run the first one again, and `&` two at a time.
    ///
    /// # Errors
    ///
    /// The fault of the first variable that breaks rule 3, else of the first file that breaks rule 5.
    pub(super) fn finish(self) -> Res<Vec<MayBeOption>> {
        let Self { with_values, writes, files, exported, made, may_write, options, .. } = self;
        if let Some((_, fault)) = made.into_iter().find(|(name, _)| exported.contains(name)) {
            return Err(fault);
        }
        let is_other =
            |own: Option<usize>| with_values.iter().chain(&may_write).any(|it| Some(*it) != own);
        match files.into_iter().find(|(own, _)| writes || is_other(*own)) {
            Some((_, fault)) => Err(fault),
            None => Ok(options.into_values().collect()),
        }
    }
}

type Res<T> = Result<T, TemplateFault>;

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

/// Whether further words of a command come from the input of the program that starts it.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Input {
    Own,
    /// As `xargs` has it.
    Words,
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

/// The name of a program without its directory, its kind of build, and its version.
pub(super) fn base_name(path: &str) -> &str {
    let mut name = path.rsplit('/').next().unwrap_or_default();
    for kind in [".exe", "-dbg", "-static"] {
        name = name.strip_suffix(kind).unwrap_or(name);
    }
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    if plain.is_empty() { name } else { plain }
}

/// Builtins and filters that write no file, and run none.
#[rustfmt::skip]
const WRITES_NOTHING: &[&str] = &[
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

/// Whether a path may lead to a stream or to another program: below `/proc` and `/dev`, also by a relative way.
pub(super) fn is_device(path: &str) -> bool {
    path.split('/').any(|it| matches!(it, "proc" | "dev" | "fd"))
}

/// A file whose content is run. It must not be what the text itself writes.
pub(super) fn file_of_code(path: &str, word: &Word, seen: &mut Seen) -> Res<()> {
    if path.is_empty() || path == "-" || is_device(path) {
        return Err(at(word, "has the input run, which holds the values"));
    }
    let fault = TemplateFault {
        help: "run it by a text with this command alone, or make it a script (execution_type \"script\")".to_owned(),
        ..at(
            word,
            "is a file that is run, and another command has a value or may write a file, which may be that one",
        )
    };
    let is_within = seen.is_within || seen.depth > 0;
    seen.files.push(((!is_within).then_some(seen.command), fault));
    Ok(())
}

/// What is wrong with a variable of [`has_text_run`].
pub(super) const TEXT_RUN: &str =
    "is a variable whose text bash runs, or reads options and files of code from";

/// Whether bash runs the text of a variable, or a file that it names (bash(1), "Shell Variables").
pub(super) fn has_text_run(name: &str) -> bool {
    // `ENV` is read by interactive shells alone.
    const NAMES: &[&str] = &["SHELLOPTS", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS3", "PS4"];
    name.starts_with("BASH") || NAMES.contains(&name)
}

/// A variable that gets what is known at run time only.
///
/// By convention the names of variables in the environment are in upper case (POSIX, XBD 8.1), so one in lower case is
/// new, and bash hands it to no program unless the text exports it.
pub(super) fn variable(word: &Word, seen: &mut Seen) -> Res<()> {
    own(fixed(word, "where a variable is named")?, word, seen)
}

/// Takes the name of a variable which only this text reads.
///
/// Whether the text exports it shows at the end alone, so the name is kept for [`Seen::finish`]. What the environment of
/// the host exports is not known here: a few names are refused that it often has, which is a help and no promise.
///
/// # Errors
///
/// A fault with the name in lower case as the help, or for a name that bash or a program reads.
pub(super) fn own(name: &str, word: &Word, seen: &mut Seen) -> Res<()> {
    /// Variables in lower case that bash itself reads.
    const OF_BASH: &[&str] = &["histchars", "auto_resume"];
    let is_lower = name.starts_with(|it: char| it == '_' || it.is_ascii_lowercase())
        && name.chars().all(|it| it == '_' || it.is_ascii_lowercase() || it.is_ascii_digit());
    if !is_lower {
        let what = "gets what is known at run time only, and a program may read it";
        let help = match word.values.first() {
            Some(value) => {
                format!(
                    "write the name in lower case, as in `{}={{{{.{value}}}}}`",
                    name.to_lowercase()
                )
            }
            None => format!("write the name in lower case: `{}`", name.to_lowercase()),
        };
        return Err(TemplateFault { help, ..at(word, what) });
    }
    if OF_BASH.contains(&name) || name.ends_with("_proxy") || name.starts_with("npm_") {
        return Err(at(
            word,
            "gets what is known at run time only, and bash or a program reads it",
        ));
    }
    let fault = at(word, "gets what is known at run time only, and the text exports it");
    seen.made.push((name.to_owned(), fault));
    Ok(())
}

/// `A=1`, `A+=1` and `A[i]=1`.
pub(super) fn is_assignment(raw: &str) -> bool {
    let rest = raw.trim_start_matches(|c: char| c == '_' || c.is_ascii_alphanumeric());
    let is_name = rest.len() < raw.len() && !raw.starts_with(|c: char| c.is_ascii_digit());
    is_name && (rest.starts_with(['=', '[']) || rest.starts_with("+="))
}

/// An assignment: of a fixed text to any variable, and of any other to one of this text's own. Whether it is of the latter
/// kind, which no program may get.
pub(super) fn assignment(word: &Word, seen: &mut Seen) -> Res<bool> {
    let name = word.text.split('=').next().unwrap_or_default();
    if name.contains('[') {
        return Err(at(word, "has an index, which bash calculates"));
    }
    if has_text_run(name.trim_end_matches('+')) {
        return Err(at(word, TEXT_RUN));
    }
    let is_made = word.text.contains(UNKNOWN);
    if is_made {
        own(name.trim_end_matches('+'), word, seen)?;
    }
    Ok(is_made)
}

/// Refuses any value in a word.
pub(super) fn refuse(word: &Word, place: &str) -> Res<()> {
    match word.values.first() {
        Some(name) => Err(TemplateFault::code(word.start, name, place)),
        None => Ok(()),
    }
}

/// What a word means, which must be written here.
pub(super) fn fixed<'a>(word: &'a Word, place: &str) -> Res<&'a str> {
    refuse(word, place)?;
    let why = || at(word, &format!("stands {place}, and what it is shows at run time only"));
    word.fixed().ok_or_else(why)
}

/// Refuses a word that may become several, where those behind the first would have another meaning.
pub(super) fn one_word(word: &Word) -> Res<()> {
    match word.is_split {
        true => {
            Err(at(word, "may become several words: put it in double quotes, and `$@` is not one"))
        }
        false => Ok(()),
    }
}

/// A fault of a word.
///
/// The word is told as it was written, up to 60 bytes.
pub(super) fn at(word: &Word, what: &str) -> TemplateFault {
    /// How much of a word is told, in bytes.
    const MAX_SHOWN_BYTES: usize = 60;
    let end = word.raw.floor_char_boundary(MAX_SHOWN_BYTES);
    let more = if end < word.raw.len() { "…" } else { "" };
    TemplateFault::new(word.start, format!("`{}{more}` {what}", &word.raw[..end]))
}
