//! Programs that run other programs: what a command runs in the end.
//!
//! A rule for a wrapper is no rule for what it runs: `Bash(env:*)` does not allow
//! `env rm`. A rule allows a program at a level if its words reach that far, as
//! `Bash(sudo systemctl status:*)` does.
//!
//! | program | what it runs |
//! | --- | --- |
//! | `env`, `sudo`, `nice`, `timeout` and their like | the program behind the options (`wrappers`) |
//! | `xargs` | that program, with more words than are known |
//! | `sh -c`, `eval`, `ssh`, `watch` | a text, read as a script of its own |
//! | `trap` | a text that runs at a time that is not known |
//! | `sh` without a text | what it reads from its input: a here-document, else unclear |
//! | `find` | the words behind `-exec` up to their end |
//! | `cd` and its like | nothing, and relative paths behind it lead elsewhere |
//! | a builtin that evaluates words or changes what runs | unclear (`builtins`) |
//!
//! A wrapper adds a level and the search goes on at the program behind its options,
//! at most [`MAX_DEPTH`] times for one command. What cannot be told (an option that
//! is not listed, a word that is not known) is unclear and belongs to the command,
//! so that a rule with its exact words can answer for it.

mod builtins;
mod options;
mod wrappers;

use flyto_tools::Access;

use self::wrappers::Wrapper;
use super::{
    Analysis, Command, Dialect, Level, MAX_DEPTH, Redirect, Stdin, Unclear, Word, base_name,
    moves::Move,
    parse::{Context, read},
    variables::{self, assigned_name},
};

/// Fills in the levels of each command, and adds the commands in texts that a
/// command runs.
///
/// Commands that are added stand behind, and are looked at in their turn. Texts
/// count against the bounds of the whole line.
pub(super) fn unwrap_all(out: &mut Analysis) {
    let mut next = 0;
    while next < out.commands.len() {
        let mut command = std::mem::take(&mut out.commands[next]);
        let unwrapped = unwrap_one(&mut command);
        command.habits = command.find_habits();
        if matches!(unwrapped, Ok(Runs::Known)) {
            out.commands[next] = command;
            next += 1;
            continue;
        }
        let text = command.text.clone();
        let stdin = command.stdin.clone();
        out.commands[next] = command;
        let fail = |out: &mut Analysis, mut unclear: Unclear| {
            unclear.command = Some(next);
            out.unclear.push(unclear);
        };
        match unwrapped {
            Ok(Runs::Known) => {}
            Ok(Runs::Commands(inner, why)) => {
                if let Some(why) = why {
                    fail(out, Unclear::new(why, &text));
                }
                for words in inner {
                    let text = text.clone();
                    let more_from = Some(0);
                    let parent = Some(next);
                    let Command { depth, repeated, dialect, .. } = out.commands[next];
                    let inner = Command {
                        words,
                        text,
                        more_from,
                        parent,
                        depth,
                        repeated,
                        dialect,
                        ..Command::default()
                    };
                    out.commands.push(inner);
                }
            }
            Ok(Runs::Text(script)) => {
                run_text(out, next, Some(next), &script).unwrap_or_else(|err| fail(out, err));
            }
            Ok(Runs::Later(script)) => {
                out.commands[next].repeated = true;
                run_text(out, next, Some(next), &script).unwrap_or_else(|err| fail(out, err));
                let why = builtins::CHANGES;
                fail(out, Unclear { is_read: true, ..Unclear::new(why, &text) });
            }
            Ok(Runs::Stdin) => {
                let script = match stdin {
                    Stdin::Text(text) => Some(text),
                    Stdin::Heredoc(slot) => out.heredocs.get(slot).cloned().flatten(),
                    Stdin::Inherited | Stdin::Unknown => None,
                };
                // No rule for the words of the shell answers for what it reads.
                const FROM_INPUT: &str = "a shell that reads its commands from input";
                let res = match script {
                    Some(script) => {
                        // Its words are read as commands.
                        out.commands[next].inputs.retain(|it| !it.is_stdin());
                        run_text(out, next, None, &script)
                    }
                    None => Err(Unclear::new(FROM_INPUT, &text)),
                };
                out.unclear.extend(res.err());
            }
            Err(why) => {
                let is_read = builtins::READ.contains(&why);
                fail(out, Unclear { is_read, ..Unclear::new(why, &text) });
            }
        }
        next += 1;
    }
    out.note_feeding();
    // A function runs what stands before a change of directory behind it too.
    if out.commands.iter().any(|it| !it.moves.is_empty()) {
        out.commands.iter_mut().for_each(|it| it.moved = true);
    }
}

/// Reads a text that the command `runner` runs. A rule for the words of `parent`
/// may answer for it.
///
/// Commands of the text know their depth, so that texts within texts end at
/// [`MAX_DEPTH`].
fn run_text(
    out: &mut Analysis,
    runner: usize,
    parent: Option<usize>,
    script: &str,
) -> Result<(), Unclear> {
    let depth = out.commands[runner].depth + 1;
    if depth > MAX_DEPTH {
        return Err(Unclear::new("commands lie too deep in each other", script));
    }
    let n_before = out.commands.len();
    let repeated = out.commands[runner].repeated;
    let dialect = out.commands[runner].dialect_of_text();
    out.commands.reserve((script.len() / 16).min(MOST_RESERVED));
    let res = read(script, out, Context { depth, piped: false, parent, repeated, dialect });
    for command in &mut out.commands[n_before..] {
        command.depth = depth;
    }
    if out.commands.len() == n_before {
        // Nothing was found that could be judged in its place.
        out.commands[runner].levels.iter_mut().for_each(|it| it.needs_rule = true);
    }
    res
}

impl Command {
    /// The shell that reads the text that this command runs.
    fn dialect_of_text(&self) -> Dialect {
        match base_name(self.program()) {
            "bash" | "rbash" => Dialect::Bash,
            "eval" | "trap" => self.dialect,
            _ => Dialect::Any,
        }
    }
}

/// What a command runs beside the programs at its levels.
enum Runs {
    Known,
    /// A text, as `sh -c` does.
    Text(String),
    /// A text that may run at any time, as that of `trap` does.
    Later(String),
    /// What comes on standard input, as `sh` does.
    Stdin,
    /// Further commands, as `find -exec` does; unknown words follow each. With a
    /// reason where it may run others too.
    Commands(Vec<Vec<Word>>, Option<&'static str>),
}

/// Most commands for which a text has room made before it is read: a line of 1 KiB.
const MOST_RESERVED: usize = 64;

const UNKNOWN_NAME: &str = "the name of the command is known only when it runs";
const UNKNOWN_WORD: &str = "which command is run depends on a word that is known only when it runs";

/// Finds the programs of one command: notes variables that may change what runs,
/// adds a level for each program, and gives what is run beside them.
///
/// A level needs a rule of its own, unless the program only runs what stands behind
/// it and is the installed one of its name: `./env` may be any program.
///
/// On `Err`: why it cannot be told what runs. Levels that were found by then stay.
fn unwrap_one(command: &mut Command) -> Result<Runs, &'static str> {
    let has_program = command.words.len() > command.n_assignments;
    for i in 0..command.n_assignments {
        let name = assigned_name(command.words[i].known_text()).unwrap_or("");
        let harmless = match has_program {
            true => variables::is_harmless(name),
            false => variables::is_harmless_inside(name),
        };
        if !harmless {
            command.risky.push(i);
        }
    }
    let mut start = command.n_assignments;
    while start < command.words.len() {
        if command.levels.len() >= MAX_DEPTH {
            return Err("programs that run programs lie too deep in each other");
        }
        let program = command.words[start].literal().map(str::to_owned);
        let Some(program) = program.as_deref() else {
            command.levels.push(Level { start, needs_rule: true });
            return Err(UNKNOWN_NAME);
        };
        let name = base_name(program);
        let trusted_name = is_installed(program);
        let words = command.words_from(start);
        let runs = match name {
            "sh" | "bash" | "dash" | "ash" | "zsh" | "ksh" | "mksh" | "rbash" => {
                shell(words).map(|(runs, at)| {
                    command.script = at.map_or(0..0, |at| start + at..start + at + 1);
                    runs
                })
            }
            "eval" => {
                let text = joined(&words[1..]).map(Runs::Text);
                command.script = start + 1..command.words.len();
                text
            }
            "trap" if words.len() > 2 && !words[1].may_start_with("-") => {
                let text = joined(&words[1..2]).map(Runs::Later);
                command.script = start + 1..start + 2;
                text
            }
            "find" => {
                command.levels.push(Level { start, needs_rule: true });
                return find(command, start);
            }
            "cd" | "pushd" | "popd" => {
                let made = Move::of(name, words);
                command.moves.push(made);
                Ok(Runs::Known)
            }
            _ => {
                let Some(wrapper) = wrappers::named(name, words) else {
                    command.levels.push(Level { start, needs_rule: true });
                    return builtins::check(name, command, start).map(|()| Runs::Known);
                };
                let needs_rule = wrapper.needs_rule || !trusted_name;
                command.levels.push(Level { start, needs_rule });
                match inner(command, start, wrapper)? {
                    Inner::At(inner) => {
                        start = inner;
                        continue;
                    }
                    Inner::Text(text) => return Ok(Runs::Text(text)),
                    Inner::Nothing => {
                        if let Some(level) = command.levels.last_mut() {
                            level.needs_rule = true;
                        }
                        // The words that `xargs` appends are the program then.
                        return match command.more_from {
                            Some(_) => Err(UNKNOWN_WORD),
                            None => Ok(Runs::Known),
                        };
                    }
                }
            }
        };
        let needs_rule = !matches!(runs, Ok(Runs::Text(_) | Runs::Stdin)) || !trusted_name;
        command.levels.push(Level { start, needs_rule });
        return runs;
    }
    Ok(Runs::Known)
}

/// Whether a program is the one of its name: a file of that name elsewhere can be
/// any program.
pub(super) fn is_installed(program: &str) -> bool {
    let name = ["/bin/", "/usr/bin/"].iter().find_map(|it| program.strip_prefix(it));
    !name.unwrap_or(program).contains('/')
}

/// What follows the options of a wrapper.
enum Inner {
    /// A program, at this word of the command.
    At(usize),
    /// A text for a shell, as with `ssh` and `watch`.
    Text(String),
    /// The wrapper stands alone, and is a command itself: `env` prints its
    /// variables.
    Nothing,
}

/// Skips the options of a wrapper, and finds what it runs.
///
/// Notes risky variables and changes of directory on the way.
fn inner(command: &mut Command, start: usize, wrapper: &Wrapper) -> Result<Inner, &'static str> {
    let options = wrapper.options(command.words_from(start))?;
    let mut at = start + options.n_words;
    command.moves.extend(options.moves);
    if wrapper.assignments {
        // They take any name: `BASH_FUNC_ls%%=() { rm x; }` is a function for bash.
        let assigned = |it: &Word| it.leading().contains('=');
        while command.words.get(at).is_some_and(assigned) {
            let word = &command.words[at];
            if word.may_split() {
                return Err(UNKNOWN_WORD);
            }
            if !assigned_name(word.leading()).is_some_and(variables::is_harmless) {
                command.risky.push(at);
            }
            at += 1;
        }
    }
    if at >= command.words.len() {
        return Ok(Inner::Nothing);
    }
    if wrapper.joins {
        command.script = at..command.words.len();
        return joined(&command.words[at..]).map(Inner::Text);
    }
    if wrapper.appends {
        command.more_from.get_or_insert(at);
    }
    if let Some(replaced) = options.replaced {
        for word in &mut command.words[at..] {
            if let Some(start) = word.known_text().find(&replaced) {
                word.forget(start);
            }
        }
    }
    Ok(Inner::At(at))
}

/// Words as the one text that a shell reads.
///
/// As `eval` and `ssh` do, with a blank between each. `Err` where one is not known.
fn joined(words: &[Word]) -> Result<String, &'static str> {
    let texts: Option<Vec<_>> = words.iter().map(Word::literal).collect();
    texts.map(|it| it.join(" ")).ok_or(UNKNOWN_WORD)
}

/// A shell: with `-c` it runs a text, whose place is given; with a file that file,
/// else its input.
///
/// The second value is the place of the text in `words`. Options that load a file,
/// such as `--rcfile`, and those that change what runs, such as `-o keyword`, make
/// it unclear.
fn shell(words: &[Word]) -> Result<(Runs, Option<usize>), &'static str> {
    const HARMLESS: &[&str] =
        &["--login", "--norc", "--noprofile", "--posix", "--restricted", "--verbose"];
    const UNREAD: &str = "an option of a shell that is not read";
    let mut has_text = false;
    let mut from_input = false;
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let option = word.literal().ok_or(UNKNOWN_WORD)?;
        if option == "--" || option == "-" {
            at += 1;
            break;
        }
        if HARMLESS.contains(&option) {
            at += 1;
            continue;
        }
        let Some(letters) = option.strip_prefix(['-', '+']) else { break };
        at += 1;
        for letter in letters.chars() {
            match letter {
                'c' if option.starts_with('-') => has_text = true,
                's' => from_input = true,
                'o' => {
                    let name = words.get(at).and_then(Word::literal).ok_or(UNREAD)?;
                    if !options::is_harmless_name(name) {
                        return Err(UNREAD);
                    }
                    at += 1;
                }
                it if options::is_harmless_letter(it) => {}
                'l' | 'r' => {}
                _ => return Err(UNREAD),
            }
        }
    }
    match words.get(at) {
        Some(text) if has_text => {
            let text = text.literal().ok_or(UNKNOWN_WORD)?;
            Ok((Runs::Text(text.to_owned()), Some(at)))
        }
        None if has_text => Err(UNREAD),
        None => Ok((Runs::Stdin, None)),
        Some(_) if from_input => Ok((Runs::Stdin, None)),
        Some(file) => match file.literal() {
            Some(path) if !names_stream(path) => Ok((Runs::Known, None)),
            _ => Err(UNKNOWN_WORD),
        },
    }
}

/// Whether a path may be a stream of the process, whose text the line may hold:
/// `/dev/stdin`, `/dev/fd/3`, `/proc/self/fd/3`, and `fd/3` behind `cd /dev`.
pub(crate) fn names_stream(path: &str) -> bool {
    let mut parts = path.rsplit('/').filter(|it| !matches!(*it, "" | "."));
    let last = parts.next().unwrap_or_default();
    let is_number = !last.is_empty() && last.bytes().all(|it| it.is_ascii_digit());
    last == "stdin" || is_number && parts.next() == Some("fd")
}

/// `find`, which runs commands and writes files on its own.
///
/// A word with `{}` in it is not known, since file names take its place. Files that
/// it writes become redirections. Any word that is not known can be `-exec` or
/// `-delete`, or hold it.
///
/// A command ends at `;`, and one of `-exec` and `-execdir` at `{} +` as well
/// ([POSIX](https://pubs.opengroup.org/onlinepubs/9799919799/utilities/find.html)).
/// The `find` of BusyBox ends it at any `+`, so where that would run or write
/// something else the line is unclear.
fn find(command: &mut Command, start: usize) -> Result<Runs, &'static str> {
    let words = &command.words[start..];
    let is_known = command.more_from.is_none() && words.iter().all(|it| it.literal().is_some());
    let mut why = (!is_known).then_some(UNKNOWN_WORD);
    let mut res = Vec::new();
    let mut targets = Vec::new();
    let mut moves = Vec::new();
    let mut at = 1;
    while at < words.len() {
        match words[at].literal() {
            Some(action @ ("-exec" | "-execdir" | "-ok" | "-okdir")) => {
                if action.ends_with("dir") {
                    moves.push(Move::Unknown);
                }
                let rest = &words[at + 1..];
                let is = |i: usize, text| rest.get(i).and_then(Word::literal) == Some(text);
                let ends_at_plus = action.starts_with("-exec");
                let end = (0..rest.len()).find(|i| {
                    is(*i, ";") || (ends_at_plus && *i > 0 && is(*i, "+") && is(i - 1, "{}"))
                });
                let end = end.ok_or("`find -exec` without an end")?;
                let plus = (0..end).find(|i| is(*i, "+"));
                if plus.is_some_and(|it| rest[it..end].iter().any(acts)) {
                    why = why.or(Some("a `+` at which not every `find` ends a command"));
                }
                let mut inner = rest[..end].to_vec();
                for word in &mut inner {
                    if let Some(start) = word.known_text().find("{}") {
                        word.forget(start);
                    }
                }
                if !inner.is_empty() {
                    res.push(inner);
                }
                at += end + 2;
            }
            Some("-fprint" | "-fprint0" | "-fprintf" | "-fls") => {
                targets.extend(words.get(at + 1).cloned());
                at += 2;
            }
            _ => at += 1,
        }
    }
    let write = |target| Redirect { target, access: Access::Write };
    command.redirects.extend(targets.into_iter().map(write));
    command.moves.extend(moves);
    Ok(Runs::Commands(res, why))
}

/// Whether a word has `find` run a command, or write or remove a file.
fn acts(word: &Word) -> bool {
    const ACTIONS: [&str; 5] = ["-exec", "-ok", "-delete", "-fprint", "-fls"];
    ACTIONS.iter().any(|it| word.may_start_with(it))
}
