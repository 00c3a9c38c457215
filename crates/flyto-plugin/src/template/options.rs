//! Programs that run the values of some of their options, and nothing else of their words.

use super::{
    fault::Fault,
    roles::{Opt, Whole, code_of, option},
    text::Word,
};

/// Which words of a program are run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    /// Letters of options whose value is run.
    code: &'static str,
    /// Letters of options with another value.
    valued: &'static str,
    /// Names of options whose value is run. They may be cut short behind two dashes.
    long: &'static [&'static str],
    /// Names of other options with which one of those begins.
    other: &'static [&'static str],
    /// Names of other options that have a value in a word of its own.
    long_valued: &'static [&'static str],
    /// One dash may stand in front of a name, too.
    one_dash: bool,
    /// Operands behind which a program or code follows.
    commands: &'static [&'static str],
    /// How many operands there are before those that are code.
    n_operands: usize,
    /// The option with which code in operands can do no harm.
    safe: &'static str,
    /// The first word may be letters without a dash.
    bundle: bool,
    /// What to write instead.
    help: &'static str,
}

const NO_OPERAND: usize = usize::MAX;

const OPTIONS: Options = Options {
    code: "",
    valued: "",
    long: &[],
    other: &[],
    long_valued: &[],
    one_dash: false,
    commands: &[],
    n_operands: NO_OPERAND,
    safe: "",
    bundle: false,
    help: "write it out in the command, or write a script that takes the value as an argument",
};

/// A program that hands its operands on.
const FRONT: Options =
    Options { help: "write the program itself, and the value among its arguments", ..OPTIONS };

/// What is known of the program of this name.
pub(super) fn of(name: &str) -> Option<Options> {
    Some(match name {
        "sqlite" | "duckdb" => Options {
            code: "cs",
            long: &["cmd", "init"],
            long_valued: &["separator", "newline", "nullvalue", "vfs", "mmap", "maxsize"],
            one_dash: true,
            n_operands: 1,
            safe: "-safe",
            help: "write `-safe` in front, which keeps a query from running programs, and the query \
                   behind the file",
            ..OPTIONS
        },
        "psql" => Options {
            // The output may be a pipe to a program, and a script may run some.
            code: "cof",
            valued: "dhpvFLPRTU",
            long: &["command", "output", "file"],
            help: "write the query into a file and hand the value over as a variable, as in \
                   `psql -v x={{x}} -f FILE`, where it is `:'x'`",
            ..OPTIONS
        },
        "mysql" | "mariadb" => Options {
            code: "e",
            valued: "hPuSD",
            long: &["execute", "init-command", "pager", "defaults-file", "defaults-extra-file"],
            ..OPTIONS
        },
        "mongosh" | "mongo" => Options { long: &["eval"], ..OPTIONS },
        "redis-cli" => Options {
            valued: "hpanu",
            commands: &["eval", "EVAL", "eval_ro", "EVAL_RO"],
            help: "hand the value over as an argument, as in `redis-cli eval '…' 0 {{x}}`, where it \
                   is `ARGV[1]`",
            ..FRONT
        },
        "rsync" => Options {
            code: "eM",
            valued: "fBT@",
            long: &["rsh", "rsync-path", "remote-option"],
            ..OPTIONS
        },
        "scp" | "sftp" => Options { code: "oSFDb", valued: "cilPXRJB", ..OPTIONS },
        "emacs" => Options {
            code: "fl",
            long: &["eval", "execute", "funcall", "load", "script"],
            one_dash: true,
            valued: "dtTLu",
            help: "write the code in the command, and read the value from \
                   `command-line-args-left`, as in `emacs --batch --eval '…' {{x}}`",
            ..OPTIONS
        },
        "tar" | "gtar" | "bsdtar" => Options {
            code: "IF",
            valued: "fCTXbgKLNVH",
            long: &[
                "to-command",
                "checkpoint-action",
                "use-compress-program",
                "rsh-command",
                "rmt-command",
                "info-script",
                "new-volume-script",
            ],
            other: &["checkpoint"],
            bundle: true,
            ..OPTIONS
        },
        "zip" => {
            Options { long: &["TT", "unzip-command"], one_dash: true, valued: "bnt", ..OPTIONS }
        }
        "wget" => Options {
            code: "e",
            valued: "aBiIloOPQtTUwADRX",
            long: &["execute", "use-askpass", "config"],
            ..OPTIONS
        },
        "rg" => Options { valued: "eABCfgmtTjMEdr", long: &["pre", "hostname-bin"], ..OPTIONS },
        "sort" => Options { valued: "kotTS", long: &["compress-program"], ..OPTIONS },
        "split" => Options { valued: "abCln", long: &["filter"], ..OPTIONS },
        "man" => {
            Options { code: "PHCp", valued: "MSsLmRerEt", long: &["pager", "html"], ..OPTIONS }
        }
        "less" | "more" => Options { code: "k", valued: "oTpPbhjxyzt", ..OPTIONS },
        "m4" => Options { code: "D", valued: "IUFR", long: &["define"], ..OPTIONS },
        "nc" | "ncat" | "netcat" => Options {
            code: "ec",
            valued: "gGiopqswxXmT",
            long: &["exec", "sh-exec", "lua-exec"],
            ..OPTIONS
        },
        "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" => Options {
            code: "B",
            valued: "DUILloOgmx",
            long: &["wrapper", "fplugin", "specs"],
            one_dash: true,
            ..OPTIONS
        },
        "java" => Options {
            valued: "D",
            long: &["agentpath", "agentlib", "javaagent"],
            one_dash: true,
            ..OPTIONS
        },
        "erl" | "matlab" => {
            Options { long: &["eval", "batch", "r", "s", "run"], one_dash: true, ..OPTIONS }
        }
        "hg" => Options { valued: "Rrumlbd", long: &["config"], ..OPTIONS },
        "svn" => Options {
            valued: "rmFcx",
            long: &["config-option", "diff-cmd", "diff3-cmd", "editor-cmd", "config-dir"],
            ..OPTIONS
        },
        "ansible" => Options { code: "a", valued: "miuefltP", long: &["args"], ..OPTIONS },
        "vagrant" => Options { code: "c", long: &["command"], ..OPTIONS },
        "docker" | "podman" => Options { long: &["entrypoint"], ..FRONT },
        "cargo" => Options { long: &["config"], ..FRONT },
        "go" => Options { long: &["exec", "toolexec", "vettool"], one_dash: true, ..FRONT },
        "npm" => Options { long: &["call"], code: "c", commands: &["exec", "x"], ..FRONT },
        "pnpm" | "yarn" | "bundle" | "stack" => Options { commands: &["exec", "dlx"], ..FRONT },
        "uv" | "poetry" | "pipx" | "rye" | "hatch" => Options { commands: &["run"], ..FRONT },
        _ => return None,
    })
}

impl Options {
    fn runs(&self, long: &str) -> bool {
        !self.other.contains(&long) && self.long.iter().any(|it| it.starts_with(long))
    }

    /// Whether an option with one dash has a name of several letters, and its value is run.
    fn runs_behind_one_dash(&self, name: &str) -> bool {
        self.one_dash
            && self.long.iter().any(|it| name == *it || it.len() == 2 && name.ends_with(it))
    }
}

/// What a word is to the program.
#[derive(Clone, Copy)]
enum Meaning {
    /// An option; its value, if it has one that is not run, is in it.
    Option,
    /// An option with a value in the next word.
    Valued,
    /// An option whose value is run: it is in this word, or in the next.
    Runs {
        attached: bool,
    },
    Operand,
}

impl Whole<'_> {
    /// Refuses values that a program runs. `at_front` tells that it is the program of the command,
    /// and no word of another that may be something else.
    pub(super) fn options(
        &self,
        name: &str,
        options: &Options,
        args: &[&mut Word],
        at_front: bool,
    ) -> Result<(), Box<Fault>> {
        let place = format!("where `{name}` is told what to run");
        let (mut only_operands, mut is_safe) = (false, false);
        let mut n_operands = 0;
        let mut at = 0;
        while at < args.len() {
            let fixed = args[at].fixed().unwrap_or_default();
            if !only_operands && fixed == "--" {
                only_operands = true;
                at += 1;
                continue;
            }
            is_safe |= !options.safe.is_empty() && fixed == options.safe;
            let meaning = if only_operands {
                Meaning::Operand
            } else {
                self.meaning(name, options, args[at])?
            };
            match meaning {
                Meaning::Option => {}
                Meaning::Valued => {
                    at += 2;
                    continue;
                }
                Meaning::Runs { attached } => {
                    self.refuse(args[at], &place, options.help)?;
                    if let Some(value) = args.get(at + 1).filter(|_| !attached) {
                        self.refuse(value, &place, options.help)?;
                    }
                }
                Meaning::Operand => {
                    if at_front {
                        self.operand(name, options, args, (at, n_operands), is_safe)?;
                    }
                    n_operands += 1;
                }
            }
            at += 1;
        }
        Ok(())
    }

    fn meaning(&self, name: &str, options: &Options, word: &Word) -> Result<Meaning, Box<Fault>> {
        let lead = word.lead();
        let named = |long: &str, runs: bool, attached: bool| {
            if runs {
                return Ok(Meaning::Runs { attached });
            }
            let is_named = attached && !long.is_empty();
            self.refuse_unnamed(name, word, is_named).map(|()| Meaning::Option)
        };
        match option(lead) {
            None => {
                self.refuse_unnamed(name, word, false)?;
                Ok(Meaning::Operand)
            }
            Some(Opt::Long(long, None)) if options.long_valued.contains(&long) => {
                Ok(Meaning::Valued)
            }
            Some(Opt::Long(long, value)) => named(long, options.runs(long), value.is_some()),
            Some(Opt::Short(letters)) => {
                let end = letters.find(['=', ':']).unwrap_or(letters.len());
                let attached = end < letters.len();
                if options.runs_behind_one_dash(&letters[..end]) {
                    return Ok(Meaning::Runs { attached: attached || word.value().is_some() });
                }
                if options.one_dash && options.long_valued.contains(&letters) {
                    return Ok(Meaning::Valued);
                }
                let known = |c| options.code.contains(c) || options.valued.contains(c);
                // Behind one dash, a name of several letters is no list of options.
                let known = letters.find(known).filter(|it| !options.one_dash || *it == 0);
                let Some(stop) = known else { return named("", false, false) };
                let last = stop + 1 == letters.len() && word.value().is_none();
                let runs = letters[stop..].starts_with(|c| options.code.contains(c));
                Ok(match (runs, last) {
                    (true, last) if !options.one_dash || letters.len() == 1 => {
                        Meaning::Runs { attached: !last }
                    }
                    (false, true) => Meaning::Valued,
                    _ => Meaning::Option,
                })
            }
        }
    }

    fn operand(
        &self,
        name: &str,
        options: &Options,
        args: &[&mut Word],
        (at, n_operands): (usize, usize),
        is_safe: bool,
    ) -> Result<(), Box<Fault>> {
        if n_operands >= options.n_operands && !is_safe {
            self.refuse(args[at], &code_of(name), options.help)?;
        }
        let fixed = args[at].fixed().unwrap_or_default();
        if options.commands.contains(&fixed.as_str()) {
            let place = format!("behind `{name} {fixed}`, which runs it");
            let mut maybe_value = false;
            for word in &args[at + 1..] {
                let is_option = word.lead().starts_with('-');
                let is_named = is_option && word.lead().contains('=');
                if !is_named {
                    self.refuse(word, &place, options.help)?;
                }
                if !is_option && !maybe_value {
                    break;
                }
                maybe_value = is_option && !is_named && word.lead() != "--";
            }
        }
        if options.bundle && at == 0 && fixed.contains(|c| options.code.contains(c)) {
            let place = format!("where `{name}` is told what to run");
            for word in args.iter().skip(1).take(fixed.len()) {
                self.refuse(word, &place, options.help)?;
            }
        }
        Ok(())
    }

    /// Refuses a value in the place of a program behind options of which nothing is known.
    pub(super) fn launched(&self, name: &str, args: &mut [&mut Word]) -> Result<(), Box<Fault>> {
        let place = format!("where `{name}` is told what to run");
        let help =
            "write the program itself; the value of an option in front of it stands behind `=`";
        let (mut only_operands, mut maybe_value) = (false, false);
        for at in 0..args.len() {
            let lead = args[at].lead();
            if !only_operands && args[at].fixed().as_deref() == Some("--") {
                (only_operands, maybe_value) = (true, false);
                continue;
            }
            if !only_operands && option(lead).is_some() {
                self.refuse_unnamed(name, args[at], lead.contains('='))?;
                maybe_value = !lead.contains('=');
                continue;
            }
            self.refuse(args[at], &place, help)?;
            if !std::mem::take(&mut maybe_value) {
                return self.program(&mut args[at..]);
            }
        }
        Ok(())
    }
}
