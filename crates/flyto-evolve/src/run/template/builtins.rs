//! Builtins that evaluate their words, and programs whose words are all written in the text.
//!
//! | a text | what becomes of it |
//! | --- | --- |
//! | `printf '%s' {{.x}}` | taken |
//! | `printf "$f" {{.x}}` | refused: the format may hold `%n`, which sets a variable |
//! | `printf '%n' {{.x}}` | refused: the value would name that variable |
//! | `[ {{.x}} = a ]` | taken: the operator is written in the text |
//! | `[ {{.x}} {{.y}} ]` | refused: a value could be an operator, such as `-v` |
//! | `[[ a -eq {{.x}} ]]` | refused: bash calculates with it |
//! | `read -r a <<< {{.x}}` | taken: the variable is one of this text alone |
//! | `read -r PATH <<< {{.x}}` | refused: programs would get it |
//! | `set -a` | refused: variables would be exported |
//! | `make -C a all` | taken |
//! | `make --eval TEXT` | refused: the text is a rule with commands of a shell |
//! | `npx -c TEXT` | refused: a shell would run the text |

use super::{
    rendered::TemplateFault,
    seen::{Input, Seen, TEXT_RUN, has_text_run, is_device, own, variable},
    word::{Word, at, fixed, is_assignment, refuse},
};

type Res<T> = Result<T, TemplateFault>;

/// Options that have a name, of `set -o` and of shells.
pub(super) const SHELL_OPTIONS: &[&str] =
    &["pipefail", "errexit", "nounset", "xtrace", "noglob", "posix"];

/// What evaluates one of its words: each is written here.
#[rustfmt::skip]
pub(super) const FIXED: &[&str] = &[
    "export", "readonly", "unset", "wait", "read", "mapfile", "readarray", "set", "shopt", "make", "gmake", "npx",
];

/// Names of `shopt` that change neither what is a command nor where text is run.
#[rustfmt::skip]
const SHOPT_NAMES: &[&str] = &[
    "nullglob", "failglob", "dotglob", "globstar", "nocaseglob", "nocasematch", "inherit_errexit", "lastpipe", "xpg_echo",
];

/// One word of what evaluates its words.
///
/// A fixed word can still do harm: an option of `set` that has bash read words in another way, a callback of `mapfile`, an
/// index in the name of a variable, a file of rules that `make` reads from its input.
pub(super) fn fixed_word(name: &str, word: &Word, place: &str, seen: &mut Seen) -> Res<()> {
    let text = fixed(word, place)?;
    match name {
        "set" => {
            let is_option = |it: &str| !it.is_empty() && it.chars().all(|it| "euxfo".contains(it));
            let is_known = text.strip_prefix(['-', '+']).is_some_and(is_option)
                || SHELL_OPTIONS.contains(&text);
            if is_known { Ok(()) } else { Err(at(word, "is no option of `set` that is read here")) }
        }
        "shopt" if !matches!(text, "-s" | "-u" | "-q" | "-p") && !SHOPT_NAMES.contains(&text) => {
            Err(at(word, "is no option of `shopt` that is read here"))
        }
        "export" | "readonly" if text.split(['=', '+']).next().is_some_and(has_text_run) => {
            Err(at(word, TEXT_RUN))
        }
        "read" | "mapfile" | "readarray" | "wait" => {
            // Behind the letter `a`, and that of `wait`, may stand the name of a variable.
            let is_option = text.strip_prefix('-').is_some_and(|it| {
                let plain = it.strip_suffix(['a', 'p']).unwrap_or(it);
                let is_plain = |it: char| {
                    !matches!(it, 'a' | 'p') && (it.is_ascii_lowercase() || it.is_ascii_digit())
                };
                it == "N" || plain.chars().all(is_plain)
            });
            let is_value = !text.contains(|it: char| it.is_alphabetic() || it == '[');
            if is_option || is_value { Ok(()) } else { variable(word, seen) }
        }
        "export" | "readonly" | "unset" if text.split('=').next().unwrap_or(text).contains('[') => {
            Err(at(word, "has an index, which bash calculates"))
        }
        "export" if !matches!(text, "-p" | "--") => {
            let Some((variable, _)) = text.split_once('=').filter(|_| is_assignment(text)) else {
                return Err(at(
                    word,
                    "is no `NAME=VALUE`, so programs would get a value that is not written here",
                ));
            };
            seen.exported.insert(variable.trim_end_matches('+').to_owned());
            Ok(())
        }
        "make" | "gmake" => make(word, text),
        "npx" if text.starts_with("-c") || text.starts_with("--cal") => {
            Err(at(word, "has a text run by a shell"))
        }
        _ => Ok(()),
    }
}

/// Targets, variables and a few options. `make` expands what has a dollar, and `--eval` is a rule with commands of a shell.
fn make(word: &Word, text: &str) -> Res<()> {
    const OPTIONS: &[&str] = &[
        "-C",
        "-f",
        "--",
        "--silent",
        "--quiet",
        "--no-print-directory",
        "--keep-going",
        "--always-make",
    ];
    if is_device(text) || text == "-" {
        return Err(at(word, "has the input run, which holds the values"));
    }
    let is_short = |it: &str| {
        let letters = it.trim_end_matches(|it: char| it.is_ascii_digit());
        !letters.is_empty() && letters.chars().all(|it| "sknBijqrR".contains(it))
    };
    let is_option = OPTIONS.contains(&text) || text.strip_prefix('-').is_some_and(is_short);
    if text.contains('$') || (text.starts_with('-') && !is_option) {
        return Err(at(word, "is no option of `make` that is read here, or has a dollar"));
    }
    Ok(())
}

/// Bash reads the words of `[[` as an expression of its own.
///
/// `[[` calculates with the operands of `-eq` and its kin, and with the index of a name.
pub(super) fn double_brackets(first: &Word, args: &[Word]) -> Res<()> {
    args.iter().try_for_each(|it| refuse(it, "within `[[`, which calculates"))?;
    const CALCULATE: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"];
    if let Some(word) = args.iter().find(|it| CALCULATE.contains(&it.raw.as_str())) {
        return Err(at(word, "calculates within `[[`: write `[`"));
    }
    match args.last() {
        Some(last) if last.raw == "]]" => Ok(()),
        _ => Err(at(first, "with `&&` or `||` in it is not read here")),
    }
}

/// `test` takes a value for an operator where none is fixed.
///
/// `test a = b` reads its words by their number, and a value such as `-v` beside no fixed operator
/// would be one. So a value stands beside an operator, or is the only word, and no word becomes several. Of more than four
/// words, which ones are operators is not specified (POSIX, test), so that there are no more where one shows at run time only.
pub(super) fn condition(args: &[Word]) -> Res<()> {
    const MAX_WORDS: usize = 4;
    let n_words = args.len() - usize::from(args.last().and_then(Word::fixed) == Some("]"));
    if let Some(fifth) = args.get(MAX_WORDS).filter(|_| n_words > MAX_WORDS)
        && args.iter().any(|it| it.fixed().is_none())
    {
        let help = "write several tests, as in `[ … ] && [ … ]`".to_owned();
        return Err(TemplateFault { help, ..at(fifth, "is the fifth word of a test with values") });
    }
    let is_operator = |it: Option<&Word>| {
        let fixed = it.and_then(Word::fixed);
        fixed.is_some_and(|it| it.starts_with('-') || matches!(it, "=" | "==" | "!=" | "<" | ">"))
    };
    let is_end = |it: Option<&Word>| it.is_none_or(|it| it.fixed() == Some("]"));
    let place = "where `test` looks for an operator or a variable";
    for (index, word) in args.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|it| args.get(it));
        let after = args.get(index + 1);
        let names_variable =
            before.and_then(Word::fixed).is_some_and(|it| it == "-v" || it == "-R");
        if names_variable {
            let name = fixed(word, place)?;
            if !name.chars().all(|it| it == '_' || it.is_ascii_alphanumeric()) {
                return Err(at(word, "has an index, which bash calculates"));
            }
        }
        if word.is_split {
            return Err(at(word, "may become several words: put it in double quotes"));
        }
        if word.fixed().is_some() {
            continue;
        }
        let is_only = before.is_none() && is_end(after);
        if !(is_operator(before) || is_operator(after) || is_only) {
            fixed(word, place)?;
        }
    }
    Ok(())
}

/// `printf` sets a variable by `-v`, and takes its format for options where that begins with a dash.
pub(super) fn printf(program: &Word, args: &[Word], input: Input, seen: &mut Seen) -> Res<()> {
    let place = "where `printf` looks for code";
    let mut args = args;
    if let [first, rest @ ..] = args
        && first.text.starts_with("-v")
    {
        let option = fixed(first, place)?;
        if option == "-v" {
            rest.first().map_or(Ok(()), |it| variable(it, seen))?;
            args = rest.get(1..).unwrap_or_default();
        } else {
            own(&option[2..], first, seen)?;
            args = rest;
        }
    }
    if let [first, rest @ ..] = args
        && first.fixed() == Some("--")
    {
        args = rest;
    }
    match args.first() {
        Some(format) => {
            let text = fixed(format, place).map_err(|err| TemplateFault {
                help: "write the format here, as in `printf '%s\\n' VALUE`".to_owned(),
                ..err
            })?;
            if text.starts_with('-') {
                return Err(at(format, "is no format of `printf` that is read here"));
            }
            if sets_variable(text) {
                return Err(at(format, "has `%n`, which sets the variable that a word names"));
            }
            Ok(())
        }
        None if input == Input::Words => Err(at(program, "gets its format from the input")),
        None => Ok(()),
    }
}

/// Whether a format has `%n`, with flags, a width or a size in it.
fn sets_variable(format: &str) -> bool {
    let mut rest = format;
    while let Some((_, behind)) = rest.split_once('%') {
        rest = behind.trim_start_matches(|it| "-+ #'0123456789*.hjlLtzq".contains(it));
        if rest.starts_with('n') {
            return true;
        }
        // A second percent sign is text, and begins nothing.
        rest = rest.strip_prefix('%').unwrap_or(rest);
    }
    false
}
