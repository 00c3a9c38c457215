//! Places in which bash, or a program that it starts, would run a value.
//!
//! What bash itself would run is a closed rule. What programs do with their words is help for authors and no promise: the
//! tables are short, a list of programs is never finished, and a person reads each command.
//!
//! The closed part: a value is no program and stands behind no word that may be empty; it is in no assignment, for those
//! decide where programs are found; it names no variable, for bash calculates what stands between the brackets of a name; it
//! is no word of `eval` and its kin.
//!
//! The order in which a command is looked at:
//!
//! 1. Reserved words and assignments in front are passed over; a value in the place of a variable's
//!    name is refused.
//! 2. The program must be known when the command is proposed: a value in its place would choose
//!    what runs.
//! 3. A program that evaluates its words takes no value at all. One that runs another program is
//!    looked through to that one. An interpreter takes values behind its code, as arguments.
//! 4. For every other program, values are arguments. Words such as `-exec`, and shells among the
//!    words, begin a command of their own.
//!
//! Programs are known by their base name without a version, so `/usr/bin/python3.12` is `python`.

use super::{TemplateFault, parse::Word};

/// Reserved words of bash that a command may follow.
const KEYWORDS: &[&str] =
    &["!", "{", "}", "if", "then", "else", "elif", "fi", "do", "done", "while", "until", "time"];

/// Any of their words may be run, or names a variable, whose index bash calculates.
const EVALUATES: &[&str] = &[
    "eval",
    "source",
    ".",
    "trap",
    "let",
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "unset",
    "read",
    "alias",
    "mapfile",
    "readarray",
    "getopts",
    "wait",
    "hash",
    "enable",
    "complete",
    "compgen",
    "bind",
    "fc",
    "coproc",
    "jobs",
    "function",
    "set",
    "shopt",
    "ssh",
    "parallel",
    "watch",
    "su",
    "runuser",
    "script",
    "expect",
    "osascript",
    "make",
    "gmake",
    "npx",
];

/// Programs that run the one that their words name: options with a value of its own, and how many operands come first.
#[rustfmt::skip]
const WRAPPERS: &[(&[&str], &str, usize)] = &[
    (&["sudo"], "CDghpRrTtUu", 0),
    (&["doas"], "Cu", 0),
    (&["env", "genv"], "uCS", 0),
    (&["nice", "gnice", "ionice"], "ncpPu", 0),
    (&["timeout", "gtimeout"], "ks", 1),
    (&["chroot"], "", 1),
    (&["taskset", "chrt", "flock"], "pTPDwEc", 1),
    (&["nohup", "setsid", "command", "builtin", "busybox", "toybox", "exec"], "a", 0),
    (&["stdbuf", "gstdbuf"], "ioe", 0),
    (&["time"], "fo", 0),
    (&["xargs", "gxargs"], "adEILnPs", 0),
    (&["strace", "ltrace"], "eopsuabEIOPSX", 0),
];

/// Programs whose first operand is code or a file of it, unless an option has it: options with code, and further options
/// with a value of their own.
#[rustfmt::skip]
const INTERPRETERS: &[(&[&str], &str, &str)] = &[
    (&["sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "fish", "csh", "tcsh", "pwsh"], "c", "oO"),
    (&["python", "pypy", "ipython"], "c", "WXm"),
    (&["perl", "ruby", "jruby", "elixir", "groovy", "scala", "julia"], "eE", "IrL"),
    (&["node", "nodejs", "bun", "deno"], "ep", "rC"),
    (&["php"], "rBRE", "dcz"),
    (&["lua", "luajit", "R", "Rscript"], "e", "l"),
    (&["awk", "gawk", "mawk", "nawk", "original-awk"], "ef", "Fvi"),
    (&["sed", "gsed"], "ef", "l"),
    (&["git"], "c", "C"),
    (&["printf"], "v", ""),
    (&["jq", "yq"], "f", ""),
];

/// Other programs with options whose value is a program that runs.
const WITH_PROGRAMS: &[(&str, char, &[&str])] = &[("rsync", 'e', &["--rsh", "--rsync-path"])];

type Res<T> = Result<T, TemplateFault>;

/// Whether bash takes the word, at the begin of a command, for a part of its grammar.
pub(super) fn is_keyword(raw: &str) -> bool {
    KEYWORDS.contains(&raw)
}

/// Looks at one simple command, or at the beginning of a compound one.
pub(super) fn check(words: &[Word]) -> Res<()> {
    let mut words = words;
    while let [first, rest @ ..] = words {
        match first.raw.as_str() {
            "for" | "select" => {
                return rest.first().map_or(Ok(()), |it| refuse(it, "where a variable is named"));
            }
            "case" => return rest.iter().try_for_each(|it| refuse(it, "in a `case`")),
            "[[" => {
                return rest.iter().try_for_each(|it| refuse(it, "within `[[`, which calculates"));
            }
            "time" => {
                // Its options stand in front of the command.
                let n_options =
                    rest.iter().take_while(|it| matches!(it.fixed(), Some("-p" | "--")));
                words = &rest[n_options.count()..];
                continue;
            }
            raw if is_keyword(raw) => {}
            raw if is_assignment(raw) => refuse(first, "in an assignment")?,
            _ => return program(first, rest),
        }
        words = rest;
    }
    Ok(())
}

/// `A=1`, `A+=1` and `A[i]=1`.
fn is_assignment(raw: &str) -> bool {
    let rest = raw.trim_start_matches(|c: char| c == '_' || c.is_ascii_alphanumeric());
    let is_name = rest.len() < raw.len() && !raw.starts_with(|c: char| c.is_ascii_digit());
    is_name && (rest.starts_with(['=', '[']) || rest.starts_with("+="))
}

/// Refuses any value in a word.
fn refuse(word: &Word, place: &str) -> Res<()> {
    match word.values.first() {
        Some(name) => Err(TemplateFault::code(word.start, name, place)),
        None => Ok(()),
    }
}

/// Looks at a program and its words.
fn program(program: &Word, args: &[Word]) -> Res<()> {
    refuse(program, "in the place of the program")?;
    let is_odd = program.fixed().is_some_and(|it| it.starts_with(['-', '+']));
    if !program.is_certain || is_odd {
        let place = "behind a word that may be empty, or is no program";
        args.iter().try_for_each(|it| refuse(it, place))?;
    }
    arguments(base_name(program.fixed().unwrap_or_default()), args)
}

/// The name of a program without its directory and its version.
fn base_name(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    if plain.is_empty() { name } else { plain }
}

/// Looks at the words behind a program of that name.
fn arguments(name: &str, args: &[Word]) -> Res<()> {
    if args.iter().all(|it| it.values.is_empty()) {
        return Ok(());
    }
    if EVALUATES.contains(&name) {
        let place = format!("behind `{name}`");
        return args.iter().try_for_each(|it| refuse(it, &place));
    }
    if name == "[" || name == "test" {
        return condition(args);
    }
    if let Some((_, valued, n_operands)) = WRAPPERS.iter().find(|it| it.0.contains(&name)) {
        return wrapped(name, valued, *n_operands, args);
    }
    if let Some((_, code, valued)) = INTERPRETERS.iter().find(|it| it.0.contains(&name)) {
        return interpreted(name, code, valued, args);
    }
    if let Some((_, letter, long)) = WITH_PROGRAMS.iter().find(|it| it.0 == name) {
        return with_programs(name, *letter, long, args);
    }
    others(args)
}

/// A program with options whose value is a program: in the word of the option, else in the next one.
fn with_programs(name: &str, letter: char, long: &[&str], args: &[Word]) -> Res<()> {
    let place = format!("where `{name}` looks for a program");
    for (at, word) in args.iter().enumerate() {
        let text = word.text.as_str();
        if text == "--" {
            break;
        }
        let is_long = long.iter().any(|it| text.starts_with(it));
        let is_short = text.starts_with('-') && !text.starts_with("--") && text.contains(letter);
        if is_long || is_short {
            refuse(word, &place)?;
            args.get(at + 1).map_or(Ok(()), |it| refuse(it, &place))?;
        }
    }
    Ok(())
}

/// Programs that are in no table: some run others, which their words name.
///
/// A program that runs what its words name is found by the options that are common for that; what
/// follows is looked at as a command.
fn others(args: &[Word]) -> Res<()> {
    for (at, word) in args.iter().enumerate() {
        let Some(fixed) = word.fixed() else { continue };
        if matches!(fixed, "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec")
            && let Some((first, rest)) = args.get(at + 1..).and_then(<[Word]>::split_first)
        {
            program(first, rest)?;
        }
        // A shell among the words, as in `docker exec c sh -c …`.
        let name = base_name(fixed);
        if let Some((_, code, valued)) = INTERPRETERS[..5].iter().find(|it| it.0.contains(&name)) {
            interpreted(name, code, valued, &args[at + 1..])?;
        }
    }
    Ok(())
}

/// `test` takes a value for an operator where none is fixed.
///
/// `test a = b` reads its words by their number, and a value such as `-v` beside no fixed operator
/// would be one. So a value stands beside an operator, or is the only word.
fn condition(args: &[Word]) -> Res<()> {
    let is_operator = |it: Option<&Word>| {
        let fixed = it.and_then(Word::fixed);
        fixed.is_some_and(|it| it.starts_with('-') || matches!(it, "=" | "==" | "!=" | "<" | ">"))
    };
    let is_end = |it: Option<&Word>| it.is_none_or(|it| it.fixed() == Some("]"));
    for (at, word) in args.iter().enumerate().filter(|(_, it)| !it.values.is_empty()) {
        let before = at.checked_sub(1).and_then(|it| args.get(it));
        let after = args.get(at + 1);
        let names_variable =
            before.and_then(Word::fixed).is_some_and(|it| it == "-v" || it == "-R");
        let is_only = before.is_none() && is_end(after);
        if names_variable || !(is_operator(before) || is_operator(after) || is_only) {
            refuse(word, "where `test` looks for an operator or a variable")?;
        }
    }
    Ok(())
}

/// A program that runs the one that its words name.
///
/// Options of the wrapper come first, those in `valued` with a value in the next word, then
/// `n_operands` words of its own, as the time of `timeout`. What follows is the program that runs,
/// and is looked at as one. No value may stand before it, since it could take the place of an
/// option.
fn wrapped(name: &str, valued: &str, n_operands: usize, args: &[Word]) -> Res<()> {
    let place = format!("where `{name}` looks for the program");
    let mut n_left = n_operands;
    let mut is_value = false;
    // Long options, of which the next word may be the value.
    let mut n_unsure = 0;
    for (at, word) in args.iter().enumerate() {
        refuse(word, &place)?;
        let text = word.text.as_str();
        if std::mem::take(&mut is_value) {
            continue;
        }
        if let Some(letters) = text.strip_prefix('-') {
            let is_long = letters.starts_with('-');
            n_unsure += usize::from(is_long && letters.len() > 1 && !letters.contains('='));
            is_value = !is_long && letters.ends_with(|it| valued.contains(it));
        } else if is_assignment(&word.raw) {
            // `env A=1 prog`.
        } else if n_left > 0 {
            n_left -= 1;
        } else {
            // Each word that may be the program is looked at as one.
            let last = (at + n_unsure).min(args.len() - 1);
            return (at..=last).try_for_each(|it| program(&args[it], &args[it + 1..]));
        }
    }
    Ok(())
}

/// An interpreter: its code is fixed, and stands in front of the values.
///
/// `code` is the option behind which code stands, and `valued` are the letters of options with a
/// value. Behind the code, words are arguments of it, which is where values belong; before it, a
/// value could be an option that takes code.
fn interpreted(name: &str, code: &str, valued: &str, args: &[Word]) -> Res<()> {
    let place = format!("where `{name}` looks for code");
    let is_shell = name.ends_with("sh");
    // Behind the code of these, everything is an argument.
    let ends = is_shell || matches!(name, "python" | "git" | "printf");
    let (mut has_code, mut takes_code, mut takes_value, mut after_dashes) =
        (false, false, false, false);
    for word in args {
        let text = word.text.as_str();
        if std::mem::take(&mut takes_code) {
            refuse(word, &place)?;
            // A shell reads further options between `-c` and its code.
            takes_code = is_shell && text.starts_with(['-', '+']);
            has_code = !takes_code;
            // `bash -c bash` runs what it reads, which is the input with the values.
            let inner = base_name(text.trim());
            if has_code && is_shell && INTERPRETERS[..5].iter().any(|it| it.0.contains(&inner)) {
                let place = format!("behind `{inner}`, which runs the input");
                args.iter().try_for_each(|it| refuse(it, &place))?;
            }
        } else if std::mem::take(&mut takes_value) {
            if !(name == "git" && valued == "C") {
                refuse(word, &place)?;
            }
        } else if !after_dashes && text == "--" {
            after_dashes = true;
        } else if let Some(letters) =
            text.strip_prefix(['-', '+']).filter(|_| !after_dashes && text.len() > 1)
        {
            refuse(word, &place)?;
            match letters.strip_prefix('-') {
                // A long option may have code, or a value, in the next word.
                Some(long) => takes_code = !long.contains('='),
                None => {
                    let at = letters.find(|it| code.contains(it));
                    takes_code = at.is_some_and(|it| is_shell || it + 1 == letters.len());
                    has_code |= at.is_some() && !takes_code;
                    takes_value = at.is_none() && letters.ends_with(|it| valued.contains(it));
                }
            }
            continue;
        } else if !has_code {
            refuse(word, &place)?;
            has_code = true;
        }
        if has_code && ends {
            return Ok(());
        }
    }
    Ok(())
}
