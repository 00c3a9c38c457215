//! Which programs run the program in their arguments, and where it stands there.
//!
//! The options are those of the manual pages of GNU coreutils, findutils,
//! util-linux, sudo, OpenSSH, D-Bus, systemd, numactl and expect. An option that is
//! not listed makes the line unclear, so a gap in a list costs a question and
//! allows nothing. A wrapper that is missing here is a program like any other: a
//! rule that denies what it runs is asked, by the words of the command.

use std::sync::LazyLock;

use super::super::{Word, moves::Move};

/// A program that runs another.
#[derive(Debug, Default)]
pub(super) struct Wrapper {
    names: &'static [&'static str],
    /// Letters of options without a value.
    flags: &'static str,
    /// Letters of options with one.
    values: &'static str,
    /// Names of long options without a value, and without `--`.
    long_flags: &'static [&'static str],
    /// Names of long options with one, as `--name=value` or in the next word.
    /// Abbreviations are not read.
    long_values: &'static [&'static str],
    /// Words between the options and the program.
    n_positional: usize,
    /// `NAME=value` may stand before the program.
    pub(super) assignments: bool,
    /// It does more than run another program, so a rule must cover it.
    pub(super) needs_rule: bool,
    /// It appends words that are not known.
    pub(super) appends: bool,
    /// It hands its words to a shell as one text.
    pub(super) joins: bool,
    /// It cannot be read at all.
    unread: bool,
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        names: &["env"],
        flags: "i0v-",
        values: "uC",
        long_flags: &["ignore-environment", "null", "debug"],
        long_values: &["unset", "chdir"],
        assignments: true,
        ..Wrapper::NONE
    },
    Wrapper {
        names: &["sudo", "doas"],
        flags: "nEHkbSAPB",
        values: "ugpChrtTUDR",
        long_flags: &["non-interactive", "preserve-env", "set-home", "background"],
        long_values: &["user", "group", "chdir"],
        assignments: true,
        needs_rule: true,
        ..Wrapper::NONE
    },
    Wrapper {
        names: &["nice"],
        flags: "0123456789",
        values: "n",
        long_values: &["adjustment"],
        ..Wrapper::NONE
    },
    Wrapper { names: &["ionice"], flags: "t", values: "cn", ..Wrapper::NONE },
    Wrapper {
        names: &["timeout"],
        flags: "v",
        values: "ks",
        long_flags: &["foreground", "preserve-status", "verbose"],
        long_values: &["kill-after", "signal"],
        n_positional: 1,
        ..Wrapper::NONE
    },
    Wrapper { names: &["nohup", "builtin", "busybox", "toybox", "catchsegv"], ..Wrapper::NONE },
    Wrapper { names: &["unbuffer"], flags: "p", ..Wrapper::NONE },
    Wrapper { names: &["choom"], values: "n", long_values: &["adjust"], ..Wrapper::NONE },
    Wrapper {
        names: &["linux32", "linux64"],
        flags: "BFILRSTXZ3v",
        long_flags: &["32bit", "3gb", "4gb", "addr-no-randomize", "uname-2.6", "verbose"],
        ..Wrapper::NONE
    },
    Wrapper {
        names: &["numactl"],
        flags: "abl",
        values: "CNimp",
        long_flags: &["all", "balancing", "localalloc"],
        long_values: &["cpunodebind", "interleave", "membind", "physcpubind", "preferred"],
        ..Wrapper::NONE
    },
    Wrapper {
        names: &["dbus-run-session"],
        long_values: &["config-file"],
        needs_rule: true,
        ..Wrapper::NONE
    },
    Wrapper {
        names: &["ssh-agent"],
        flags: "Dcds",
        values: "EOPat",
        needs_rule: true,
        ..Wrapper::NONE
    },
    Wrapper {
        names: &["systemd-inhibit"],
        long_values: &["mode", "what", "who", "why"],
        needs_rule: true,
        ..Wrapper::NONE
    },
    Wrapper {
        names: &["setsid"],
        flags: "cfw",
        long_flags: &["ctty", "fork", "wait"],
        ..Wrapper::NONE
    },
    Wrapper {
        names: &["stdbuf"],
        values: "ioe",
        long_values: &["input", "output", "error"],
        ..Wrapper::NONE
    },
    Wrapper { names: &["time"], flags: "pv", ..Wrapper::NONE },
    Wrapper { names: &["command"], flags: "p", ..Wrapper::NONE },
    Wrapper { names: &["exec"], flags: "cl", values: "a", ..Wrapper::NONE },
    Wrapper { names: &["taskset"], flags: "c", n_positional: 1, ..Wrapper::NONE },
    Wrapper {
        names: &["xargs"],
        flags: "0rtpx",
        values: "dEILnPsa",
        long_flags: &["null", "no-run-if-empty", "verbose", "interactive", "exit"],
        long_values: &["delimiter", "max-args", "max-procs", "max-chars", "arg-file"],
        appends: true,
        ..Wrapper::NONE
    },
    Wrapper {
        names: &["watch"],
        flags: "bcdegtw",
        values: "nq",
        long_flags: &["beep", "color", "errexit", "chgexit", "no-title", "no-wrap"],
        long_values: &["interval"],
        joins: true,
        ..Wrapper::NONE
    },
    // Without `-o`, `-F`, `-S` and `-J`: with those, a program on this side can be named.
    Wrapper {
        names: &["ssh"],
        flags: "46AaCfgKkMNnqTtVvXxYy",
        values: "BbcDeiLlmpRW",
        n_positional: 1,
        needs_rule: true,
        joins: true,
        ..Wrapper::NONE
    },
    Wrapper {
        names: &[
            "su",
            "runuser",
            "pkexec",
            "parallel",
            "script",
            "strace",
            "ltrace",
            "flock",
            "chroot",
            "unshare",
            "nsenter",
            "setpriv",
            "systemd-run",
            "fakeroot",
            "entr",
            "expect",
            "prlimit",
            "setarch",
            "chrt",
            "sg",
            "firejail",
            "bwrap",
            "proxychains",
            "proxychains4",
            "torsocks",
        ],
        unread: true,
        needs_rule: true,
        ..Wrapper::NONE
    },
];

/// The wrapper of that name. `command -v` only tells where a program is.
///
/// `words` begin with the wrapper itself. A program of the same name elsewhere is
/// the same to this function; the caller looks at the path.
pub(super) fn named(name: &str, words: &[Word]) -> Option<&'static Wrapper> {
    let asks_only =
        name == "command" && matches!(words.get(1).and_then(Word::literal), Some("-v" | "-V"));
    let moves_only = name == "exec" && words.len() == 1;
    if asks_only || moves_only {
        return None;
    }
    // Nearly every command is none of them.
    static BY_NAME: LazyLock<Vec<(&str, &Wrapper)>> = LazyLock::new(|| {
        let names = |it: &'static Wrapper| it.names.iter().map(move |name| (*name, it));
        let mut res: Vec<_> = WRAPPERS.iter().flat_map(names).collect();
        res.sort_by_key(|it| it.0);
        res
    });
    let at = BY_NAME.binary_search_by_key(&name, |it| it.0).ok()?;
    Some(BY_NAME[at].1)
}

/// What the options of a wrapper came to.
pub(super) struct Options {
    /// Words up to the program. The wrapper itself and its options; never more than
    /// there are words.
    pub(super) n_words: usize,
    /// The directory that the program runs in, where it is another one.
    pub(super) moves: Vec<Move>,
    /// Words that hold this text are changed.
    pub(super) replaced: Option<String>,
}

impl Wrapper {
    const NONE: Self = Self {
        names: &[],
        flags: "",
        values: "",
        long_flags: &[],
        long_values: &[],
        n_positional: 0,
        assignments: false,
        needs_rule: false,
        appends: false,
        joins: false,
        unread: false,
    };

    /// Reads the options in `words`, of which the first is the wrapper itself.
    ///
    /// # Errors
    ///
    /// An option that is not listed, a word that is not known, or a value that is
    /// missing: the command is then unclear.
    pub(super) fn options(&self, words: &[Word]) -> Result<Options, &'static str> {
        const UNREAD: &str = "an option that is not read, of a program that runs another";
        if self.unread {
            return Err("a program that runs another, in a way that is not read");
        }
        let mut res = Options { n_words: 1, moves: Vec::new(), replaced: None };
        while let Some(word) = words.get(res.n_words) {
            let Some(option) = word.literal() else {
                // An assignment with an unknown value is still an assignment.
                let is_assignment =
                    self.assignments && super::assigned_name(word.leading()).is_some();
                if is_assignment {
                    break;
                }
                return Err(super::UNKNOWN_WORD);
            };
            if option == "--" {
                res.n_words += 1;
                break;
            }
            if !option.starts_with('-') || (option == "-" && !self.flags.contains('-')) {
                break;
            }
            res.n_words += 1;
            if let Some(long) = option.strip_prefix("--") {
                let (name, value) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (long, None),
                };
                if name == "chdir" {
                    let next = words.get(res.n_words).and_then(Word::literal);
                    res.moves.push(Move::to(value.or(next)));
                }
                if self.long_values.contains(&name) {
                    let next = words.get(res.n_words).filter(|_| value.is_none());
                    if next.is_some_and(Word::may_split) {
                        return Err(super::UNKNOWN_WORD);
                    }
                    res.n_words += usize::from(value.is_none());
                } else if !self.long_flags.contains(&name) || value.is_some() {
                    return Err(UNREAD);
                }
                continue;
            }
            let letters = &option[1..];
            for (i, letter) in letters.char_indices() {
                if self.values.contains(letter) {
                    let glued = &letters[i + letter.len_utf8()..];
                    let next = words.get(res.n_words);
                    let value = match glued.is_empty() {
                        true => next.and_then(Word::literal),
                        false => Some(glued),
                    };
                    // A value that may be several words is not one value.
                    if glued.is_empty() && next.is_some_and(Word::may_split) {
                        return Err(super::UNKNOWN_WORD);
                    }
                    // `sudo -C` takes a number, which is read as a directory too.
                    match letter {
                        'C' | 'D' if self.assignments => res.moves.push(Move::to(value)),
                        'R' if self.assignments => res.moves.push(Move::Unknown),
                        _ => {}
                    }
                    if self.appends && letter == 'I' {
                        res.replaced = Some(value.unwrap_or("").to_owned());
                    }
                    res.n_words += usize::from(glued.is_empty());
                    break;
                }
                if !self.flags.contains(letter) {
                    return Err(UNREAD);
                }
            }
        }
        for _ in 0..self.n_positional {
            if let Some(word) = words.get(res.n_words) {
                word.literal().ok_or(super::UNKNOWN_WORD)?;
                res.n_words += 1;
            }
        }
        if res.n_words > words.len() {
            return Err(UNREAD);
        }
        Ok(res)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_one_wrapper() {
        let names: Vec<_> = WRAPPERS.iter().flat_map(|it| it.names).collect();
        for (i, name) in names.iter().enumerate() {
            assert!(!names[..i].contains(name), "{name}");
            let found = named(name, &[Word::default(), Word::default()]).expect("it is listed");
            assert!(found.names.contains(name));
        }
        assert!(named("git", &[]).is_none());
    }
}
