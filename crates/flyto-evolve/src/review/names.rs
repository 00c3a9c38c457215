//! Names of variables that are read without a dollar.
//!
//! | where | which names |
//! | --- | --- |
//! | `$((…))`, `((…))`, `$[…]`, `let …`, `declare -i …`, `${a[…]}`, `${a:…}` | all: bash calculates with them |
//! | `[[ … -eq … ]]` and its kin | on either side |
//! | `[ -v NAME ]`, `printenv NAME`, `declare -p NAME` | that one |
//! | `env.NAME`, `env["NAME"]`, `env \| .NAME`, `$ENV` in the same ways | that one, in a text with `jq` |
//! | `declare -i` | all that follow on the line: their values are calculated |
//! | `ENVIRON["NAME"]`, `os.environ`, `getenv("NAME")`, `process.env.NAME` and their kin | that one: code of other languages |
//!
//! It is a look at words: a comment, or a text that is printed, may have such words too, and names are told too often then. A
//! name that the text has in no place, since it is made when the script runs, cannot be found.

use std::ops::Range;

/// The farthest that the end of an expression is looked for, in bytes.
const MAX_BYTES: usize = 1024;

/// How code of other languages, and jq, reads a variable; the name follows.
const OTHER_LANGUAGES: &[&str] = &[
    "ENVIRON[",
    "environ[",
    "environ.get(",
    "getenv(",
    "env::var(",
    "process.env.",
    "process.env[",
    "ENV[",
    "ENV{",
    "ENV.fetch(",
    "$ENV.",
    "$_SERVER[",
];

/// How code of other languages has the whole environment, with what takes one variable of it where it follows.
const WHOLE: &[(&str, &[&str])] = &[
    ("ENVIRON", &["["]),
    ("environ", &["[", ".get("]),
    ("process.env", &["[", "."]),
    ("env::vars", &[]),
    ("%ENV", &[]),
    ("$_ENV", &["["]),
    ("$_SERVER", &["["]),
    ("getenv()", &[]),
    (" ENV.", &["fetch("]),
    ("'ENV.", &["fetch("]),
];

/// Whether a line has code of another language that takes the whole environment.
pub(super) fn lists_in_code(line: &str) -> bool {
    let is_of_word = |it: char| it == '_' || it.is_ascii_alphanumeric();
    WHOLE.iter().any(|(mark, one)| {
        line.match_indices(mark).any(|(at, _)| {
            let (before, rest) = (&line[..at], &line[at + mark.len()..]);
            let is_other = mark.starts_with(is_of_word) && before.ends_with(is_of_word)
                || mark.ends_with(is_of_word)
                    && rest.starts_with(is_of_word)
                    && *mark != "env::vars";
            !is_other && !one.iter().any(|it| rest.starts_with(it))
        })
    })
}

/// Whether a text is a name of a variable.
pub(super) fn is_name(text: &str) -> bool {
    let is_of_name = |it: char| it == '_' || it.is_ascii_alphanumeric();
    text.starts_with(|it: char| !it.is_ascii_digit()) && text.chars().all(is_of_name)
}

/// The names, each with the byte at which it is read. The work is the length of the text times a bound.
pub(super) fn without_dollar(text: &str) -> Vec<(usize, &str)> {
    let mut expressions: Vec<Range<usize>> = Vec::new();
    let mut all_of = |begin: usize, end: &[&str]| {
        let rest = &text[begin..text.floor_char_boundary(begin + MAX_BYTES)];
        let end = end.iter().filter_map(|it| rest.find(it)).min().unwrap_or(rest.len());
        expressions.push(begin..begin + end);
    };
    // `f((a, b))` of another language is none.
    let begins = |at: &usize| {
        let before = text[..*at].chars().next_back();
        before.is_none_or(|it| it.is_whitespace() || "$;&|!{(".contains(it))
    };
    let arithmetic = text.match_indices("((").filter(|it| begins(&it.0));
    for (at, found) in arithmetic.chain(text.match_indices("$[")) {
        all_of(at + found.len(), &[if found == "((" { "))" } else { "]" }]);
    }
    for (at, _) in text.match_indices("let ") {
        let before = text[..at].trim_end_matches([' ', '\t']);
        let begins = before.is_empty() || before.ends_with(['\n', ';', '&', '|', '(', '{', '!']);
        if !begins && !["then", "do", "else"].iter().any(|it| before.ends_with(it)) {
            continue; // A word of a sentence.
        }
        all_of(at + 4, &["\n", ";"]);
    }
    for mark in ["declare -i ", "local -i ", "typeset -i "] {
        text.match_indices(mark).for_each(|(at, _)| all_of(at + mark.len(), &["\n", ";"]));
    }
    for (at, _) in text.match_indices("${") {
        let rest = &text[at + 2..];
        let begin = rest.find(|it: char| it != '_' && it != '!' && !it.is_ascii_alphanumeric());
        let begin = begin.unwrap_or(rest.len());
        match &rest.as_bytes()[begin..] {
            [b'[', ..] => all_of(at + 2 + begin, &["]"]),
            [b':', b'-' | b'=' | b'?' | b'+', ..] => {}
            [b':', ..] => all_of(at + 2 + begin, &["}"]),
            _ => {}
        }
    }
    expressions.sort_by_key(|it| it.start);
    let mut res = Vec::new();
    let mut end = 0;
    for it in expressions {
        // What two of them have in common is looked at once.
        let begin = it.start.max(end);
        end = it.end.max(end);
        res.extend(words(&text[begin.min(end)..end]).map(|(at, name)| (begin + at, name)));
    }
    for mark in OTHER_LANGUAGES {
        for (at, _) in text.match_indices(mark) {
            let rest = &text[at + mark.len()..];
            let trimmed = rest.trim_start_matches(['"', '\'', '\\', ' ', '(']);
            let begin = text.len() - trimmed.len();
            res.extend(words(&trimmed[..name_end(trimmed)]).map(|it| (begin, it.1)));
        }
    }
    if JQ.iter().any(|it| text.contains(it)) {
        res.extend(jq_reads(text).filter_map(|it| Some((it.at, it.name?))));
    }
    arguments(text, &mut res);
    res
}

/// Programs that run code of jq.
const JQ: &[&str] = &["jq", "jaq"];

/// Options of jq with a name and a value behind them, which are no code.
const JQ_VALUES: &[&str] = &["--arg", "--argjson", "--slurpfile", "--rawfile"];

/// Where code of jq has the environment.
struct JqRead<'a> {
    /// The byte where it stands.
    at: usize,
    /// The one name that it takes of it.
    name: Option<&'a str>,
    /// It may take more of it.
    is_more: bool,
}

/// The places of a text where code of jq may have the environment.
///
/// | code | name | more |
/// | --- | --- | --- |
/// | `env.A`, `$ENV.A`, `env."A"` | `A` | no |
/// | `env["A"]`, `env \| .A` | `A` | no |
/// | `env \| .A, .B` | `A` | yes |
/// | `env`, `env \| keys`, `env[$name]` | none | yes |
fn jq_reads(text: &str) -> impl Iterator<Item = JqRead<'_>> {
    let is_of_word = |it: char| it == '_' || it.is_ascii_alphanumeric();
    let found = text.match_indices("env").chain(text.match_indices("$ENV"));
    found.filter_map(move |(at, word)| {
        let (before, rest) = (&text[..at], &text[at + word.len()..]);
        // `.env` and `$env` are others.
        let is_other = word == "env" && before.ends_with(|it| is_of_word(it) || ".$".contains(it));
        (!is_other && !rest.starts_with(is_of_word)).then(|| {
            let rest = rest.trim_start();
            let piped = rest.strip_prefix('|').map(str::trim_start);
            let rest = piped.unwrap_or(rest);
            let (rest, has_dot) = rest.strip_prefix('.').map_or((rest, false), |it| (it, true));
            let (rest, has_bracket) = rest.strip_prefix('[').map_or((rest, false), |it| (it, true));
            let name = rest.trim_start_matches([' ', '\\', '"']);
            let is_quoted = name.len() < rest.len();
            let (name, behind) = name.split_at(name_end(name));
            let is_one = if has_bracket { is_quoted } else { has_dot };
            let name = Some(name).filter(|it| is_one && is_name(it));
            let is_more = name.is_none() || piped.is_some() && behind.trim_start().starts_with(',');
            JqRead { at, name, is_more }
        })
    })
}

/// Whether a command gives code to jq that takes the whole environment.
pub(super) fn lists_in_jq(words: &[&str]) -> bool {
    let is_jq = |it: &&str| {
        let name = it.trim_matches(['"', '\'', '\\']).rsplit('/').next().unwrap_or_default();
        JQ.iter().any(|it| name.ends_with(it))
    };
    let mut words = words.iter().skip_while(|it| !is_jq(it)).skip(1);
    while let Some(word) = words.next() {
        if JQ_VALUES.contains(word) {
            words.nth(1);
            continue;
        }
        // Else bash has a variable there.
        let is_code = |at: usize| {
            !word[at..].starts_with('$') || word.contains('\'') || word[..at].ends_with('\\')
        };
        if jq_reads(word).any(|it| it.is_more && is_code(it.at)) {
            return true;
        }
    }
    false
}

/// Names that are words of a command, such as `[ -v NAME ]`. Quotes around them are taken off, since bash takes them off.
fn arguments<'a>(text: &'a str, res: &mut Vec<(usize, &'a str)>) {
    let tokens: Vec<&str> = text
        .split(|it: char| it.is_whitespace() || ";|&()`".contains(it))
        .filter(|it| !it.is_empty())
        .collect();
    let place = |token: &str| token.as_ptr() as usize - text.as_ptr() as usize;
    let bare = |token: &'a str| token.trim_matches(['"', '\'', '\\']);
    let mut tell = |token: &'a str| {
        let name = bare(token);
        // `-v 'list[0]'` asks for an item.
        let name = &name[..name_end(name)];
        if is_name(name) {
            res.push((place(token), name));
        }
    };
    for (index, token) in tokens.iter().enumerate() {
        let before = index.checked_sub(1).map_or("", |it| bare(tokens[it]));
        match bare(token) {
            "-v" if matches!(before, "[" | "[[" | "test" | "!" | "-a" | "-o") => {
                tokens.get(index + 1).copied().into_iter().for_each(&mut tell);
            }
            "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => {
                [index.checked_sub(1), Some(index + 1)]
                    .into_iter()
                    .flatten()
                    .filter_map(|it| tokens.get(it).copied())
                    .for_each(&mut tell);
            }
            "printenv" => names_behind(text, &tokens[index + 1..], &mut tell),
            "-p" if matches!(before, "declare" | "typeset" | "export") => {
                names_behind(text, &tokens[index + 1..], &mut tell);
            }
            _ => {}
        }
    }
}

/// The words up to the end of the command, twenty at most: `printenv` prints each of them.
fn names_behind<'a>(text: &'a str, tokens: &[&'a str], tell: &mut impl FnMut(&'a str)) {
    for token in tokens.iter().take(20) {
        let at = token.as_ptr() as usize - text.as_ptr() as usize;
        let gap =
            text[..at].trim_end_matches(|it: char| !";|&()`\n".contains(it) && it.is_whitespace());
        if gap.ends_with([';', '|', '&', '(', ')', '`', '\n']) || token.starts_with(['>', '<']) {
            return;
        }
        tell(token);
    }
}

/// How many bytes of a name a text begins with.
fn name_end(text: &str) -> usize {
    text.find(|it: char| it != '_' && !it.is_ascii_alphanumeric()).unwrap_or(text.len())
}

/// The names in a text, with their places. A word that begins with a digit is a number.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split(|it: char| it != '_' && !it.is_ascii_alphanumeric()).filter_map(move |it| {
        let begin = it.as_ptr() as usize - text.as_ptr() as usize;
        is_name(it).then_some((begin, it))
    })
}
