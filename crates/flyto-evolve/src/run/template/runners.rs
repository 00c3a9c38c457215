//! Programs that run others: wrappers, which run the one that their words name, `find`, whose words are an expression that may run
//! some, and shells, whose code is read by the same rules.
//!
//! | a text | what becomes of it |
//! | --- | --- |
//! | `timeout 5 nice wc {{.x}}` | taken: `wc` is looked at |
//! | `timeout 5 {{.x}}` | refused: the value would be the program |
//! | `timeout {{.x}} wc` | refused: a value could take the place of an option |
//! | `env -S TEXT` | refused: the text would be split into a command |
//! | `env -- ls {{.x}}` | taken; the `--` is of `env`, and ends no option of `ls` |
//! | `xargs -0 wc` | taken: the words of the input are arguments of `wc` |
//! | `xargs` | taken: it runs `echo` |
//! | `chroot a` | refused: it starts a shell, which reads the input |
//!
//! Of `find`:
//!
//! | a text | what becomes of it |
//! | --- | --- |
//! | `find {{.x}} -name {{.y}}` | taken; a call is refused whose value begins with a dash |
//! | `find "$d" -type f -name {{.x}}` | taken: as `-exec`, the variable would run `-type` |
//! | `find "$d" sh {{.x}} \;` | refused: as `-exec`, the variable would run `sh` with the value |
//! | `find . -exec wc {{.x}} {} \;` | taken: `wc` is looked at as a program |
//! | `find . -exec {{.x}} \;` | refused: the value would be the program |
//! | `find . "-exe$n" {{.x}} \;` | refused: what the option is shows at run time only |
//! | `find . -exec echo {{.x}} -exec {{.y}} \;` | refused: with `;` for `x`, `y` would run |
//! | `xargs find` | refused: words of the input may be `-exec` |
//!
//! Of a value in `bash -c CODE _ {{.x}}` the code sees `$1`, which is known at run time only, as any other expansion is.
//! Code of `bash` may have all of the grammar that is read here. Code of `sh`, `dash` and `ash` has none of `&>`, `|&`,
//! `<<<`, `<(…)`, `[[` and `+=`: those shells read them in another way, so that `a &>b eval "$1"` would be three commands.

use super::{
    builtins::SHELL_OPTIONS,
    lint::program,
    parse,
    rendered::TemplateFault,
    seen::{Ends, Input, Seen, assignment, file_of_code},
    word::{UNKNOWN, Word, at, fixed, is_assignment, one_word},
};

type Res<T> = Result<T, TemplateFault>;

/// Programs that run the one that their words name.
pub(super) struct Wrapper {
    pub(super) names: &'static [&'static str],
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

pub(super) const WRAPPERS: &[Wrapper] = &[
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

/// Wrappers whose options leave the directory as it is.
#[rustfmt::skip]
const STAYS: &[&str] = &[
    "timeout", "gtimeout", "nice", "gnice", "ionice", "nohup", "builtin", "command", "exec", "time", "stdbuf", "gstdbuf", "setsid", "taskset",
    "chrt", "flock", "xargs", "gxargs",
];

/// A program that runs the one that its words name.
///
/// Where none does, some start a shell (`chroot`, `unshare`, `nsenter`, `setarch`), which would read the values from its
/// input. So only those of [`MAY_BE_ALONE`] are taken without one.
///
/// No word before that one is known at run time only, since it could take the place of an option.
pub(super) fn wrapped(
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
        seen.moves |= text.starts_with('-') && text != "--" && !STAYS.contains(&name);
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

/// Tests with one operand, and actions that write one.
#[rustfmt::skip]
const WITH_OPERAND: &[&str] = &[
    "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-lname", "-ilname", "-type", "-xtype", "-size",
    "-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin", "-newer", "-anewer", "-cnewer", "-newermt", "-user", "-group", "-uid", "-gid",
    "-perm", "-maxdepth", "-mindepth", "-links", "-inum", "-fstype", "-samefile", "-printf", "-regextype", "-used", "-fprint", "-fprint0",
    "-fls", "-context", "-ilname", "-xattr", "-D",
];

/// What has no operand, beside `-O` with its number, `(`, `)`, `!` and `,`.
#[rustfmt::skip]
const WITHOUT_OPERAND: &[&str] = &[
    "-a", "-and", "-o", "-or", "-not", "-print", "-print0", "-ls", "-delete", "-prune", "-quit", "-depth", "-d", "-xdev", "-mount", "-daystart",
    "-empty", "-executable", "-readable", "-writable", "-nouser", "-nogroup", "-true", "-false", "-follow", "-noleaf", "-L", "-H", "-P",
    "-ignore_readdir_race", "-noignore_readdir_race", "-warn", "-nowarn", "-X", "-E", "-s", "-x", "-f", "--", "-O1", "-O2", "-O3",
];

/// Looks at the words of `find`.
///
/// A placeholder stands anywhere, since the call refuses a value with a dash in front. A variable is the operand of a test, or no
/// value stands behind it but as one: it could be `-exec`.
///
/// Every option is one that is known, for the operand of another one may look like an option.
///
/// # Errors
///
/// What `-exec` and its kin run breaks a rule, an option is not known or shows at run time only, or a variable may be one.
pub(super) fn find(own: &Word, args: &[Word], input: Input, seen: &mut Seen) -> Res<()> {
    if input == Input::Words {
        return Err(at(own, "gets words from the input, which may have it run a program"));
    }
    let is_unknown = |it: &Word| it.text.contains(UNKNOWN);
    // A pattern gives names of files, and an expansion words as well.
    args.iter().filter(|it| is_unknown(it)).try_for_each(one_word)?;
    let mut operands = vec![false; args.len()];
    // The last word that is known at run time only, and no operand.
    let mut last_free = 0;
    for (index, word) in args.iter().enumerate() {
        let before = index.checked_sub(1);
        operands[index] = before.is_some_and(|it| {
            !operands[it] && args[it].fixed().is_some_and(|it| WITH_OPERAND.contains(&it))
        });
        if is_unknown(word) && !operands[index] {
            last_free = index;
        }
    }
    let last_unknown = args.iter().rposition(is_unknown).unwrap_or_default();
    let has_unknown = args.iter().any(is_unknown);
    let mut is_program = false;
    for (index, word) in args.iter().enumerate() {
        if operands[index] {
            continue;
        }
        let runs = matches!(word.fixed(), Some("-exec" | "-execdir" | "-ok" | "-okdir"));
        is_program = (is_program || runs) && !matches!(word.fixed(), Some(";" | "+"));
        if let Some(text) = word.fixed().filter(|it| it.starts_with('-') && it.len() > 1)
            && has_unknown
            && !is_program
            && !WITH_OPERAND.contains(&text)
            && !WITHOUT_OPERAND.contains(&text)
        {
            return Err(at(word, "is no option of `find` that is read here"));
        }
        if runs && let Some(first) = args.get(index + 1) {
            let is_within = std::mem::replace(&mut seen.is_within, true);
            program(first, &args[index + 2..], Input::Own, seen)?;
            seen.is_within = is_within;
        }
        if is_unknown(word) && word.text.starts_with('-') {
            return Err(at(word, "may be `-exec`: write the option here"));
        }
        if word.begins_unseen() {
            // Behind it, `-exec` would run a word of the expression, which is no name of a program.
            let next = args.get(index + 1).map_or("(", |it| &it.text);
            let last = if next.starts_with(['-', '(', '!']) { last_free } else { last_unknown };
            if last > index {
                return Err(at(word, "may be `-exec`, which would run what is behind it"));
            }
        }
    }
    seen.guard(args, Ends::Never, &|it| !operands[it]);
    Ok(())
}

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
