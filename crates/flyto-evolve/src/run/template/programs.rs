//! Programs that run code from their words or their input: a short table.
//!
//! What is in it is kept to the rules of [`lint`](super::lint): code is written in the text, and none is read from the
//! input. A list of programs is never finished: what one that is not in it does with its words is its own matter, and a
//! person reads each command.
//!
//! - A wrapper runs the program that its words name, and is looked through to that one. Of its options, those are taken
//!   that are known to run nothing.
//! - A shell has its code behind `-c`, which is read in turn, or in a file.
//! - An interpreter has its code in front of the values.
//! - For every other program, values are arguments. Words such as `-exec`, and shells among the words, begin a command of
//!   their own.
//!
//! Programs are known by their base name without a version, so `/usr/bin/python3.12` is `python`.

use super::{
    TemplateFault,
    lint::{
        Input, Seen, assignment, at, base_name, file_of_code, fixed, is_assignment, is_device,
        one_word, program, refuse,
    },
    parse::{self, UNKNOWN, Word},
};

/// Options that have a name, of `set -o` and of shells.
pub(super) const SHELL_OPTIONS: &[&str] =
    &["pipefail", "errexit", "nounset", "xtrace", "noglob", "posix"];

/// Shells whose code is read: that of bash, and of those with a smaller grammar.
#[rustfmt::skip]
pub(super) const SHELLS: &[&str] = &[
    "sh", "bash", "rbash", "dash", "ash", "ksh", "mksh", "lksh", "oksh", "loksh", "pdksh", "posh", "static-sh",
];

/// Shells with another grammar, and interpreters that read commands as a shell does.
#[rustfmt::skip]
const OTHER_SHELLS: &[&str] = &[
    "zsh", "fish", "csh", "tcsh", "pwsh", "powershell", "yash", "sash", "nu", "xonsh", "elvish", "rc", "es", "osh", "ysh", "oil", "ion",
    "murex", "tclsh", "wish", "irb", "pry", "cmd",
];

/// Programs that run the one that their words name.
struct Wrapper {
    names: &'static [&'static str],
    /// Options without a value that are taken.
    flags: &'static str,
    /// Options with a value, in the next word or in their own.
    valued: &'static str,
    /// Words of its own in front of the program.
    n_operands: usize,
    /// Whether none of its long options runs anything.
    has_long: bool,
}

const fn wrapper(
    names: &'static [&'static str],
    flags: &'static str,
    valued: &'static str,
    n_operands: usize,
    has_long: bool,
) -> Wrapper {
    Wrapper { names, flags, valued, n_operands, has_long }
}

const WRAPPERS: &[Wrapper] = &[
    wrapper(&["sudo"], "AbEHknP", "CDghpRrTtUu", 0, false),
    wrapper(&["doas"], "n", "Cu", 0, false),
    wrapper(&["env", "genv"], "i0", "uC", 0, false),
    wrapper(&["nice", "gnice"], "", "n", 0, true),
    wrapper(&["ionice"], "t", "ncpPu", 0, true),
    wrapper(&["timeout", "gtimeout"], "fpv", "ks", 1, true),
    wrapper(&["chroot"], "", "", 1, false),
    wrapper(&["taskset", "chrt"], "acbfior", "pTPD", 1, true),
    wrapper(&["flock"], "nsxuoeF", "wE", 1, false),
    wrapper(&["nohup", "builtin", "busybox", "toybox"], "", "", 0, false),
    wrapper(&["setsid"], "cfw", "", 0, true),
    wrapper(&["command"], "p", "", 0, false),
    wrapper(&["exec"], "cl", "a", 0, false),
    wrapper(&["stdbuf", "gstdbuf"], "", "ioe", 0, true),
    wrapper(&["time"], "apvqV", "fo", 0, false),
    // Its other options put words of the input into the middle of a command.
    wrapper(&["xargs", "gxargs"], "0rtx", "dnPLs", 0, false),
    // `linux64`, without its number.
    wrapper(&["linux"], "RvBFILSTXZ3", "", 0, true),
    // The architecture in front of the program may be left out.
    wrapper(&["setarch"], "RvBFILSTXZ3", "", 0, true),
    wrapper(&["choom", "prlimit"], "", "npo", 0, true),
    wrapper(&["unbuffer"], "p", "", 0, false),
    wrapper(&["catchsegv", "torsocks", "firejail", "bwrap"], "", "", 0, false),
    wrapper(&["setpriv"], "d", "", 0, true),
    wrapper(&["unshare"], "muinpUCTrcf", "RwSG", 0, true),
    wrapper(&["nsenter"], "muinpCUTaF", "t", 0, true),
    wrapper(&["systemd-run"], "tPqdGr", "pEuHMC", 0, true),
    wrapper(&["systemd-inhibit", "dbus-run-session", "pkexec"], "", "", 0, true),
    wrapper(&["numactl"], "al", "CNimp", 0, true),
    wrapper(&["ssh-agent"], "csd", "aEtPO", 0, false),
    wrapper(&["fakeroot"], "u", "lsib", 0, false),
    wrapper(&["proxychains"], "q", "f", 0, false),
    wrapper(&["entr"], "acdnprxz", "", 0, false),
    wrapper(&["strace", "ltrace"], "fFqTtvyCckirxw", "eopsubaPX", 0, false),
];

/// Wrappers that run nothing where no program stands behind them.
#[rustfmt::skip]
const MAY_BE_ALONE: &[&str] = &[
    "env", "genv", "nice", "gnice", "ionice", "taskset", "chrt", "flock", "builtin", "command", "exec", "time", "choom", "prlimit",
    "numactl", "sudo",
];

/// Programs whose first operand is code or a file of it, unless an option has it.
struct Interpreter {
    names: &'static [&'static str],
    /// Options with code.
    code: &'static str,
    /// Further options with a value.
    valued: &'static str,
    /// Options that have it read its input.
    reads: &'static str,
    /// Whether its operand is a file; else it is code.
    has_file: bool,
    /// Where code finds a value.
    help: Help,
}

#[derive(Clone, Copy)]
enum Help {
    /// As a word behind the code, which the code reads by this.
    Argument(&'static str),
    /// As a variable that the code reads, with these texts around its name.
    Variable(&'static str, &'static str),
    Script,
}

const fn interpreter(
    names: &'static [&'static str],
    code: &'static str,
    valued: &'static str,
    reads: &'static str,
    has_file: bool,
    help: Help,
) -> Interpreter {
    Interpreter { names, code, valued, reads, has_file, help }
}

#[rustfmt::skip]
const INTERPRETERS: &[Interpreter] = &[
    interpreter(&["python", "pypy", "ipython"], "cm", "WX", "i", true, Help::Argument("-c '… sys.argv[1] …'")),
    interpreter(&["perl"], "eE", "I", "dsS", true, Help::Argument("-e '… $ARGV[0] …'")),
    interpreter(&["ruby", "jruby"], "e", "rI", "xS", true, Help::Argument("-e '… ARGV[0] …'")),
    interpreter(&["node", "nodejs", "bun", "deno"], "ep", "rC", "i", true, Help::Argument("-e '… process.argv[1] …'")),
    interpreter(&["php"], "rBRE", "dcz", "a", true, Help::Argument("-r '… $argv[1] …'")),
    interpreter(&["elixir", "groovy", "scala", "julia", "lua", "luajit", "R", "Rscript"], "eE", "lrIL", "i", true, Help::Script),
    interpreter(&["awk", "gawk", "mawk", "nawk", "original-awk"], "ef", "Fvi", "", false, Help::Variable("'… ENVIRON[\"", "\"] …'")),
    interpreter(&["sed", "gsed"], "ef", "l", "", false, Help::Script),
];

/// Other programs with options whose value is a program that runs.
const WITH_PROGRAMS: &[(&str, char, &[&str])] = &[("rsync", 'e', &["--rsh", "--rsync-path"])];

/// How deep code may stand in code.
const MAX_DEPTH: usize = 4;

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
    if SHELLS.contains(&name) {
        return shell(name, program, args, seen).map_err(|err| {
            err.with_help(|it| format!("hand the value over as an argument, as in `bash -c '… \"$1\"' _ {{{{.{it}}}}}`, where it is \"$1\""))
        });
    }
    // What `xargs` appends is a word like any other, and may be several.
    let appended: Vec<Word>;
    let args = match input {
        Input::Words if !SHELLS.contains(&name) => {
            appended = args.iter().cloned().chain([program.appended()]).collect();
            appended.as_slice()
        }
        _ => args,
    };
    if matches!(name, "find" | "gfind") {
        if input == Input::Words {
            return Err(at(program, "gets words from the input, which may have it run a program"));
        }
        // A pattern gives names of files, and an expansion words as well.
        args.iter().filter(|it| it.text.contains(UNKNOWN)).try_for_each(one_word)?;
    }
    if OTHER_SHELLS.contains(&name) {
        let place = format!("where `{name}` looks for code");
        args.iter().try_for_each(|it| refuse(it, &place))?;
        return Err(at(program, "has a grammar that is not read here"));
    }
    if name == "perl" {
        opens_no_value(args)?;
    }
    if let Some(it) = INTERPRETERS.iter().find(|it| it.names.contains(&name)) {
        let needs_code = input == Input::Words || it.has_file;
        return helped(it, name, interpreted(name, it, args, seen)).and_then(|has_code| {
            match has_code || !needs_code {
                true => Ok(()),
                false => Err(at(program, "reads its code from the input, which holds the values")),
            }
        });
    }
    match name {
        "git" => git(program, args, input),
        "jq" | "yq" => jq(name, args),
        _ => match WITH_PROGRAMS.iter().find(|it| it.0 == name) {
            Some((_, letter, long)) => with_programs(name, *letter, long, args),
            None => others(args, seen),
        },
    }
}

/// A program that runs the one that its words name.
///
/// Where none does, some start a shell (`chroot`, `unshare`, `nsenter`, `setarch`), which would read the values from its
/// input. So only those of [`MAY_BE_ALONE`] are taken without one.
///
/// No word before that one is known at run time only, since it could take the place of an option.
fn wrapped(
    name: &str,
    wrapper: &Wrapper,
    own: &Word,
    args: &[Word],
    input: Input,
    seen: &mut Seen,
) -> Res<()> {
    let place = format!("where `{name}` looks for the program");
    let input = if name.ends_with("xargs") { Input::Words } else { input };
    let mut n_left = wrapper.n_operands;
    let mut is_value = false;
    // Long options, of which the next word may be the value.
    let mut n_unsure = usize::from(name == "setarch");
    for (index, word) in args.iter().enumerate() {
        let text = fixed(word, &place)?;
        if std::mem::take(&mut is_value) || text == "--" {
            continue;
        }
        if let Some(long) = text.strip_prefix("--") {
            if !wrapper.has_long {
                return Err(at(word, &format!("is no option of `{name}` that is read here")));
            }
            n_unsure += usize::from(!long.contains('='));
        } else if let Some(letters) = text.strip_prefix('-') {
            if name == "command" && letters.contains(['v', 'V']) {
                // It tells where a program is, and runs none.
                return args.iter().try_for_each(|it| fixed(it, &place).map(drop));
            }
            let end = letters.find(|it| wrapper.valued.contains(it)).unwrap_or(letters.len());
            let is_number = letters.starts_with(|it: char| it.is_ascii_digit());
            if !is_number && !letters[..end].chars().all(|it| wrapper.flags.contains(it)) {
                return Err(at(word, &format!("is no option of `{name}` that is read here")));
            }
            is_value = end + 1 == letters.len();
        } else if is_assignment(&word.raw) {
            // `env A=1 prog`.
            assignment(word, seen)?;
        } else if n_left > 0 {
            n_left -= 1;
        } else {
            if name == "setarch" && index + 1 == args.len() {
                break;
            }
            // Each word that may be the program is looked at as one.
            let last = (index + n_unsure).min(args.len() - 1);
            return (index..=last)
                .try_for_each(|it| program(&args[it], &args[it + 1..], input, seen));
        }
    }
    match input {
        // `xargs` by itself runs `echo`.
        Input::Words if name.ends_with("xargs") => Ok(()),
        Input::Words => Err(at(own, "gets the program from the input")),
        // Several of them start a shell then, which reads the input.
        Input::Own if !MAY_BE_ALONE.contains(&name) => {
            Err(at(own, "has no program that is written behind it"))
        }
        Input::Own => Ok(()),
    }
}

/// A shell: its code is written in the text, and read by the same rules.
///
/// | its words | what becomes of it |
/// | --- | --- |
/// | `-c CODE` | the code is read, and what follows are its arguments |
/// | a file | taken where bash writes no file, and no other command has a value |
/// | neither, `-s`, `-`, `-i` | refused: it would read its input, which holds the values |
/// | other options | refused: they may name a file of code, or change how code is read |
fn shell(name: &str, own: &Word, args: &[Word], seen: &mut Seen) -> Res<()> {
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
            return code(text, word, seen);
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
fn code(text: &str, word: &Word, seen: &mut Seen) -> Res<()> {
    seen.look(text.len(), word)?;
    seen.depth += 1;
    if seen.depth > MAX_DEPTH {
        return Err(at(word, "is code in code in code, which is not read here"));
    }
    let (command, n_files, n_made) = (seen.command, seen.files.len(), seen.made.len());
    parse::nested(text, seen)
        .map_err(|err| at(word, &format!("holds code that is not taken: {}", err.what)))?;
    // Places in that code are none of the text.
    seen.files[n_files..].iter_mut().for_each(|(_, it)| it.at = word.start);
    seen.made[n_made..].iter_mut().for_each(|(_, it)| it.at = word.start);
    seen.command = command;
    seen.depth -= 1;
    Ok(())
}

/// Has the fault of a value in code say how the code gets it.
fn helped<T>(it: &Interpreter, name: &str, res: Res<T>) -> Res<T> {
    res.map_err(|err| match it.help {
        Help::Argument(code) => err.with_help(|value| {
            format!("hand the value over as an argument, as in `{name} {code} {{{{.{value}}}}}`")
        }),
        Help::Variable(before, after) => err.with_help(|value| {
            let variable = super::variable_name(value).unwrap_or_default();
            format!("have the code read the variable, as in `{name} {before}{variable}{after}`")
        }),
        Help::Script => err,
    })
}

/// An interpreter: its code is written in the text, and stands in front of the values. Whether there is code.
fn interpreted(name: &str, it: &Interpreter, args: &[Word], seen: &mut Seen) -> Res<bool> {
    let place = format!("where `{name}` looks for code");
    let (mut has_code, mut takes_code, mut takes_value, mut after_dashes) =
        (false, false, false, false);
    if let [only] = args
        && matches!(only.fixed(), Some("--version" | "--help" | "-V" | "-v" | "-h"))
    {
        return Ok(true);
    }
    for word in args {
        if has_code && matches!(name, "python" | "pypy") {
            // Behind the code of these, everything is an argument.
            return Ok(true);
        }
        if has_code && !takes_code && !takes_value && !after_dashes {
            not_an_option(word)?;
        }
        let text = word.text.as_str();
        if std::mem::take(&mut takes_code) {
            let code = fixed(word, &place)?;
            if code == "-" || is_device(code) {
                return Err(at(word, "has the input run, which holds the values"));
            }
            has_code = true;
        } else if std::mem::take(&mut takes_value) {
            fixed(word, &place)?;
        } else if !after_dashes && text == "--" {
            after_dashes = true;
        } else if let Some(letters) =
            text.strip_prefix('-').filter(|_| !after_dashes && text.len() > 1)
        {
            fixed(word, &place)?;
            if let Some(long) = letters.strip_prefix('-') {
                // A long option may have code, or a value, in the next word.
                takes_code = !long.contains('=');
                continue;
            }
            let end = letters.find(|letter| it.code.contains(letter) || it.valued.contains(letter));
            let flags = &letters[..end.unwrap_or(letters.len())];
            if flags.contains(|letter| it.reads.contains(letter)) {
                return Err(at(word, "has the input run, which holds the values"));
            }
            if let Some(end) = end {
                let is_code = letters[end..].starts_with(|letter| it.code.contains(letter));
                // The letter is one of ASCII, as those of the table are.
                let is_next = end + 1 == letters.len();
                takes_code = is_code && is_next;
                takes_value = !is_code && is_next;
                has_code |= is_code && !is_next;
            }
        } else if !has_code {
            let code = fixed(word, &place)?;
            if it.has_file {
                file_of_code(code, word, seen)?;
            }
            if !matches!(name, "sed" | "gsed") {
                // The options of the others end here.
                return Ok(true);
            }
            has_code = true;
        }
    }
    Ok(has_code)
}

/// Refuses the name of a file that perl opens by `<>`, which `-n` and `-p` use: a name that ends with `|` is a command then
/// (perlop, "I/O Operators").
fn opens_no_value(args: &[Word]) -> Res<()> {
    // Behind these letters stands their own value.
    const VALUED: [char; 12] = ['e', 'E', 'I', 'M', 'm', 'F', 'D', 'V', 'x', 'i', 'C', '-'];
    let opens = |it: &Word| {
        let flags = it.text.strip_prefix('-').and_then(|it| it.split(VALUED).next());
        let code = it.text.replace("<<>>", "");
        flags.is_some_and(|it| it.contains(['n', 'p']))
            || code.contains("<>")
            || code.contains("<ARGV>")
    };
    let value = args.iter().find(|it| it.fixed().is_none());
    match value.filter(|_| args.iter().any(opens)) {
        None => Ok(()),
        Some(word) => Err(TemplateFault {
            help: "hand the file over on the input, as in `perl -ne '…' < FILE`".to_owned(),
            ..at(word, "names a file that perl takes for a command where its name ends with `|`")
        }),
    }
}

/// Refuses a word that may be an option: the begin of it is known at run time only.
///
/// Of a placeholder the call itself refuses a value that begins with a dash.
fn not_an_option(word: &Word) -> Res<()> {
    match word.text.starts_with(UNKNOWN) && word.values.is_empty() {
        true => Err(at(word, "may be an option with code: write `--` in front of it")),
        false => Ok(()),
    }
}

/// `git` runs what its configuration names, which an option may set.
///
/// So the options in front of its command are those of a short list, and the command is written in the text. The
/// directory behind `-C` may be a value.
fn git(own: &Word, args: &[Word], input: Input) -> Res<()> {
    let place = "where `git` looks for code";
    let mut is_dir = false;
    for word in args {
        if std::mem::take(&mut is_dir) {
            one_word(word)?;
            continue;
        }
        let text = fixed(word, place)?;
        match text {
            "-C" => is_dir = true,
            "-P" | "-p" | "--no-pager" | "--bare" | "--version" | "--help" => {}
            _ if text.starts_with('-') => {
                return Err(at(word, "is no option of `git` that is read here"));
            }
            _ => break,
        }
    }
    match input {
        Input::Words if !args.iter().any(|it| it.fixed() == Some("--")) => Err(at(
            own,
            "gets words from the input, which may be options: write `--` behind its own",
        )),
        _ => Ok(()),
    }
}

/// `jq` takes values by `--arg`, for which its code has a name.
///
/// Its first operand is the code, or the first file where an option names a file of code.
fn jq(name: &str, args: &[Word]) -> Res<()> {
    let place = format!("where `{name}` looks for code");
    let mut has_code = false;
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        let help = |err: TemplateFault| {
            err.with_help(|it| {
                format!("name the value, as in `{name} --arg v {{{{.{it}}}}} '… $v …'`")
            })
        };
        if text.starts_with('-') && text.len() > 1 {
            match fixed(word, &place).map_err(help)? {
                "--arg" | "--argjson" | "--slurpfile" | "--rawfile" => {
                    words.next().map_or(Ok(""), |it| fixed(it, &place))?;
                    words.next().map_or(Ok(()), one_word)?;
                }
                "--indent" | "-L" => _ = words.next(),
                "-f" | "--from-file" => {
                    words.next().map_or(Ok(""), |it| fixed(it, &place))?;
                    has_code = true;
                }
                _ => {}
            }
        } else if !has_code {
            fixed(word, &place).map_err(help)?;
            has_code = true;
        }
    }
    Ok(())
}

/// A program with options whose value is a program: in the word of the option, else in the next one.
fn with_programs(name: &str, letter: char, long: &[&str], args: &[Word]) -> Res<()> {
    let place = format!("where `{name}` looks for a program");
    for (index, word) in args.iter().enumerate() {
        let text = word.text.as_str();
        if text == "--" {
            break;
        }
        not_an_option(word)?;
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
/// A program that runs what its words name is found by the options that are common for that; what
/// follows is looked at as a command.
fn others(args: &[Word], seen: &mut Seen) -> Res<()> {
    for (index, word) in args.iter().enumerate() {
        let Some(text) = word.fixed() else { continue };
        let rest = &args[index + 1..];
        if matches!(text, "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec")
            && let Some((first, rest)) = rest.split_first()
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
        // A shell among the words, as in `docker exec c sh -c …`. It may as well be a word like any other.
        let name = base_name(text);
        // Names of two letters are words of a language as well.
        let is_other = name.len() > 2 && OTHER_SHELLS.contains(&name);
        if SHELLS.contains(&name) || is_other {
            seen.look(rest.len(), word)?;
            let is_code = |it: &Word| it.text.starts_with('-') && it.text.contains('c');
            let mut options = rest.iter().take_while(|it| it.text.starts_with(['-', '+']));
            if options.any(is_code) {
                arguments(name, word, rest, Input::Own, seen)?;
            } else if let Some(first) = rest.iter().find(|it| !it.text.starts_with(['-', '+'])) {
                fixed(first, &format!("where `{name}` looks for code"))?;
            }
        } else if let Some(it) = INTERPRETERS[..5].iter().find(|it| it.names.contains(&name)) {
            seen.look(rest.len(), word)?;
            // Its files are of another place, or it is no program here.
            let mut elsewhere = Seen::default();
            helped(it, name, interpreted(name, it, rest, &mut elsewhere))?;
        }
    }
    Ok(())
}
