//! Programs that run code from their words or their input: a lint against mistakes.
//!
//! Those in its tables are taken in shapes that are known: code is written in the text, and none is read from the input. A list of
//! programs is never finished: what one that is not in it does with its words is its own matter, and a person reads each
//! command.
//!
//! - A wrapper runs the program that its words name, and is looked through to that one. Of its options, those are taken
//!   that are known to run nothing.
//! - A shell has its code behind `-c`, which is read in turn, or in a file.
//! - An interpreter is taken in a few exact shapes, with its code in front of the values ([`interpreters`](super::interpreters)).
//! - [`git`](super::git) has a module of its own, and wrappers, shells and `find` have [one](super::runners).
//! - For every other program, values are arguments. Words such as `-exec`, and shells among the words, begin a command of
//!   their own.
//!
//! Programs are known by their base name without a version, so `/usr/bin/python3.12` is `python`.

use super::{
    git::git,
    interpreters::{interpreter, jq, not_an_option, shape},
    lint::program,
    rendered::TemplateFault,
    runners::{WRAPPERS, find, is_other_shell, is_shell as is_known_shell, shell, wrapped},
    seen::{Ends, Input, Seen, base_name},
    word::{UNKNOWN, Word, at, fixed, refuse},
};

/// Programs that run none of their words, whatever they are: names of shells and options such as `-x` are data there.
#[rustfmt::skip]
const RUNS_NOTHING: &[&str] = &[
    "grep", "egrep", "fgrep", "echo", "cat", "tac", "rev", "ls", "wc", "head", "tail", "cut", "tr", "uniq", "comm", "join", "paste", "fold",
    "nl", "od", "seq", "date", "diff", "cmp", "basename", "dirname", "realpath", "readlink", "stat", "du", "df", "md5sum", "sha1sum",
    "sha256sum", "sha512sum", "base64", "cp", "mv", "rm", "mkdir", "rmdir", "touch", "ln", "chmod", "chown", "which", "type", "pgrep", "curl",
    "cd", "pwd", "tee", "read", ":", "true", "false",
];

/// Programs that run a command of several of their words, wherever it begins: behind the first word of [`RUN`].
#[rustfmt::skip]
const RUNS_WORDS: &[&str] = &[
    "docker", "podman", "nerdctl", "crictl", "kubectl", "oc", "lxc", "incus", "machinectl", "vagrant", "toolbox", "distrobox", "flatpak",
    "flatpak-spawn", "docker-compose", "podman-compose", "fd", "fdfind",
];

/// Words by which they do so.
const RUN: &[&str] =
    &["exec", "run", "debug", "shell", "ssh", "enter", "--", "--exec", "--exec-batch", "-x", "-X"];

/// Other programs with options whose value is a program that runs.
const WITH_PROGRAMS: &[(&str, char, &[&str])] = &[
    ("rsync", 'e', &["--rsh", "--rsync-path"]),
    ("split", '\0', &["--filter"]),
    ("sort", '\0', &["--compress-program"]),
    (
        "tar",
        'I',
        &[
            "--to-command",
            "--use-compress",
            "--checkpoint-action",
            "--rsh",
            "--info-script",
            "--new-volume",
        ],
    ),
];

type Res<T> = Result<T, TemplateFault>;

/// Looks at the words behind a program of that name.
///
/// `program` is the word that names it, for what is told. The order is that of the tables; what is in none of them goes
/// to [`others`].
pub(super) fn arguments(
    name: &str,
    program: &Word,
    args: &[Word],
    input: Input,
    seen: &mut Seen,
) -> Res<()> {
    if let Some(wrapper) = WRAPPERS.iter().find(|it| it.names.contains(&name)) {
        return wrapped(name, wrapper, program, args, input, seen);
    }
    if is_known_shell(name) {
        seen.guard(args, Ends::Never, &|_| false);
        return shell(name, program, args, seen);
    }
    match name {
        "find" | "gfind" => return find(program, args, input, seen),
        "git" => return git(program, args, input, seen),
        _ => {}
    }
    // What `xargs` appends is a word like any other, and may be several.
    let appended: Vec<Word>;
    let args = match input {
        Input::Words => {
            appended = args.iter().cloned().chain([program.appended()]).collect();
            appended.as_slice()
        }
        Input::Own => args,
    };
    if is_other_shell(name) {
        let place = format!("where `{name}` looks for code");
        args.iter().try_for_each(|it| refuse(it, &place))?;
        return Err(at(program, "has a grammar that is not read here"));
    }
    if let Some(it) = interpreter(name) {
        let shape = shape(name, it, args, seen)?;
        if !shape.has_code && it.reads_code() {
            return Err(at(program, "reads its code from the input, which holds the values"));
        }
        seen.guard(args, Ends::Dashes, &|it| it < shape.n_options);
        return Ok(());
    }
    match name {
        "jq" | "yq" => jq(name, args, seen),
        _ => match WITH_PROGRAMS.iter().find(|it| it.0 == name) {
            Some((_, letter, long)) => {
                seen.guard(args, Ends::Dashes, &|_| true);
                with_programs(name, *letter, long, args)
            }
            None if RUNS_NOTHING.contains(&name) => {
                seen.guard(args, Ends::Dashes, &|_| false);
                Ok(())
            }
            None => others(name, args, seen),
        },
    }
}

/// Whether a program is a shell that is known here, so that `--` behind its code is a word for that code.
pub(super) fn is_shell(name: &str) -> bool {
    is_known_shell(name) || (name.len() > 2 && is_other_shell(name))
}

/// Whether a program is an interpreter that is known here.
pub(super) fn runs_code(name: &str) -> bool {
    interpreter(name).is_some() || matches!(name, "find" | "gfind" | "git")
}

/// A program with options whose value is a program: in the word of the option, else in the next one.
fn with_programs(name: &str, letter: char, long: &[&str], args: &[Word]) -> Res<()> {
    let place = format!("where `{name}` looks for a program");
    for (index, word) in args.iter().enumerate() {
        let text = word.text.as_str();
        if text == "--" {
            break;
        }
        // Of the others, a variable is mostly the value of an option that runs nothing.
        if name == "rsync" {
            not_an_option(word)?;
        }
        let is_long = long.iter().any(|it| text.starts_with(it));
        let is_short = text.starts_with('-') && !text.starts_with("--") && text.contains(letter);
        if is_long || is_short {
            fixed(word, &place)?;
            args.get(index + 1).map_or(Ok(()), |it| fixed(it, &place).map(drop))?;
        }
    }
    Ok(())
}

/// Programs that are in no table: some run others, which their words name.
///
/// A program that runs what its words name is found by the options that are common for that; what follows is looked at as a
/// command. Of one that is known to run its words, no variable stands in front of what is known at run time only, for it could be such
/// an option, and a shell has its code behind it.
fn others(name: &str, args: &[Word], seen: &mut Seen) -> Res<()> {
    let runs_words = RUNS_WORDS.contains(&name)
        && args.iter().any(|it| it.fixed().is_none_or(|it| RUN.contains(&it)));
    let is_unknown = |it: &Word| it.text.contains(UNKNOWN);
    let last_unknown = args.iter().rposition(is_unknown);
    for (index, word) in args.iter().enumerate() {
        let rest = &args[index + 1..];
        let Some(text) = word.fixed() else {
            let is_option = word.begins_unseen() || word.text.starts_with('-');
            if runs_words && is_option && is_unknown(word) && last_unknown > Some(index) {
                return Err(at(word, "may be an option that runs what is behind it"));
            }
            continue;
        };
        if matches!(
            text,
            "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch"
        ) && let Some((first, rest)) = rest.split_first()
        {
            match first.text.starts_with(['-', '+']) {
                // The option is one of another kind.
                true => {
                    seen.look(rest.len(), word)?;
                    rest.iter().try_for_each(|it| refuse(it, "behind a word that is no program"))?
                }
                false => {
                    let is_within = std::mem::replace(&mut seen.is_within, true);
                    program(first, rest, Input::Own, seen)?;
                    seen.is_within = is_within;
                }
            }
        }
        named_in_words(text, word, rest, runs_words, seen)?;
    }
    seen.guard(args, Ends::OwnDashes, &|_| false);
    Ok(())
}

/// A shell or an interpreter among the words, as in `docker exec c sh -c …`. It may as well be a word like any other. Its files are
/// of another place then.
fn named_in_words(
    text: &str,
    word: &Word,
    rest: &[Word],
    runs_words: bool,
    seen: &mut Seen,
) -> Res<()> {
    let name = base_name(text);
    let n_files = seen.files.len();
    if is_shell(name) {
        seen.look(rest.len(), word)?;
        let is_code = |it: &Word| {
            it.text.starts_with(['-', '+']) && !it.text.starts_with("--") && it.text.contains('c')
        };
        let has_unknown = rest.iter().any(|it| it.text.contains(UNKNOWN));
        if runs_words || has_unknown || rest.iter().any(is_code) {
            arguments(name, word, rest, Input::Own, seen)?;
        }
    } else if let Some(it) = interpreter(name).filter(|it| runs_words || !it.is_filter()) {
        seen.look(rest.len(), word)?;
        if runs_words || rest.iter().any(|it| it.text.contains(UNKNOWN)) {
            let shape = shape(name, it, rest, seen)?;
            if !shape.has_code && it.reads_code() {
                return Err(at(word, "reads its code from the input, which holds the values"));
            }
            seen.guard(rest, Ends::Dashes, &|it| it < shape.n_options);
        }
    }
    seen.files.truncate(n_files);
    Ok(())
}
