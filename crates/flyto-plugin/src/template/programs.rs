//! Programs that run what they are given: others by name, or code.

use super::{
    options::{self, Options},
    special,
};

/// What a program does with its words.
#[derive(Clone, Copy, Debug)]
pub(super) enum Runs {
    /// Nothing that is known here.
    Itself,
    /// Another program, after its own words.
    Other(Wrapper),
    /// Another program behind `-exec`, as find(1) does.
    OtherBehindExec,
    /// Code in its first operand, when an option has the letter `c`.
    Shell,
    /// Code behind an option.
    Code(Interpreter),
    /// Code in its first operand, unless an option names a file.
    Awk,
    /// As awk, and an option with code may stand anywhere.
    Sed,
    /// Code in any of its words.
    AllCode,
    /// Code in any of its words when one of them is like this.
    AllCodeWith(fn(&str) -> bool),
    /// Code or a program behind some of its options.
    Options(Options),
    /// Another program, behind options of which nothing is known.
    Launcher,
    /// Names of variables behind `-v`.
    NamesBehindV,
    /// Code in the words behind the first that is like this.
    Behind(fn(&str) -> bool),
    /// Code for a shell elsewhere, behind the host.
    Remote,
    /// Programs behind some options of some of its commands.
    Git,
    /// The file that its first word names, as code.
    Source,
    /// Names of variables; some shells calculate within them.
    Names,
    /// Other values for the positional parameters.
    SetsPositional,
}

/// How the words of a program look that stand before the program it runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wrapper {
    /// Letters of options that have a value.
    pub(super) valued: &'static str,
    /// Long options that have a value in a word of its own.
    pub(super) long_valued: &'static [&'static str],
    /// How many words stand between options and program.
    pub(super) n_operands: usize,
    /// Assignments may stand there, too.
    pub(super) assigns: bool,
    /// Letters of options with which it runs nothing.
    pub(super) only_looks: &'static str,
}

/// Where an interpreter takes code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interpreter {
    /// Letters of options whose value is code.
    pub(super) code: &'static str,
    /// Letters of options that have another value, in the same word or in the next.
    pub(super) valued: &'static str,
    /// Letters of options that have another value in the same word or none.
    pub(super) attached: &'static str,
    /// Letters of options behind whose value nothing is an option any more.
    pub(super) last: &'static str,
    pub(super) long_code: &'static [&'static str],
    /// Options may stand behind operands.
    pub(super) permutes: bool,
    /// First operands whose next word is code.
    pub(super) commands: &'static [&'static str],
    /// An operand with `=` sets a variable, and what is in it is run.
    pub(super) assigns: bool,
}

const WRAPPER: Wrapper =
    Wrapper { valued: "", long_valued: &[], n_operands: 0, assigns: false, only_looks: "" };

const INTERPRETER: Interpreter = Interpreter {
    code: "e",
    valued: "",
    attached: "",
    last: "",
    long_code: &[],
    permutes: false,
    commands: &[],
    assigns: false,
};

/// What the program of this name does; `name` is without directory.
pub(super) fn of(name: &str) -> Runs {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    // A name that is all digits is nobody's.
    let plain = if plain.is_empty() { name } else { plain };
    wrapper(plain).map(Runs::Other).or_else(|| interpreter(plain).map(Runs::Code)).unwrap_or(
        match plain {
            "sh" | "bash" | "rbash" | "dash" | "ash" | "zsh" | "ksh" | "mksh" | "yash" | "csh"
            | "tcsh" | "fish" | "osh" | "ysh" | "nu" | "elvish" | "xonsh" => Runs::Shell,
            "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => Runs::Awk,
            "sed" | "gsed" | "ssed" => Runs::Sed,
            "find" | "gfind" | "fd" | "fdfind" => Runs::OtherBehindExec,
            "ssh" | "slogin" | "rsh" | "autossh" => Runs::Remote,
            "git" => Runs::Git,
            "pwsh" | "powershell" => Runs::Behind(special::powershell),
            "deno" => Runs::Behind(special::deno),
            "gdb" | "lldb" => Runs::Behind(special::debugger),
            // `flock FILE -c CODE` has an option where its program would be.
            "eval" | "trap" | "alias" | "let" | "watch" | "parallel" | "tmux" | "screen" | "-c"
            | "--command" | "hyperfine" | "socat" => Runs::AllCode,
            "emacsclient" => Runs::AllCodeWith(special::emacsclient),
            "printf" | "test" | "[" => Runs::NamesBehindV,
            "." | "source" => Runs::Source,
            "read" | "unset" | "getopts" | "export" | "readonly" | "declare" | "typeset"
            | "local" | "mapfile" | "readarray" => Runs::Names,
            "set" | "shift" => Runs::SetsPositional,
            _ if name == "." => Runs::Source,
            _ if [name, plain].iter().any(|it| LAUNCHERS.contains(it)) => Runs::Launcher,
            _ => {
                options::of(name).or_else(|| options::of(plain)).map_or(Runs::Itself, Runs::Options)
            }
        },
    )
}

/// Whether the program of this name may take code among its words.
pub(super) fn takes_code(name: &str) -> bool {
    matches!(of(name), Runs::Shell | Runs::Code(_) | Runs::Options(_))
}

/// Programs whose first operand is the program that they run.
const LAUNCHERS: [&str; 29] = [
    "npx",
    "bunx",
    "pnpx",
    "uvx",
    "pkexec",
    "run0",
    "dbus-run-session",
    "xvfb-run",
    "unbuffer",
    "rlwrap",
    "prlimit",
    "choom",
    "setarch",
    "linux32",
    "linux64",
    "runcon",
    "tini",
    "dumb-init",
    "catatonit",
    "valgrind",
    "wine",
    "fakeroot",
    "proot",
    "firejail",
    "torsocks",
    "proxychains",
    "eatmydata",
    "entr",
    "watchexec",
];

/// Programs that run what stands behind their `--`, and nothing else.
const RUN_BEHIND_DASHES: [&str; 6] =
    ["kubectl", "oc", "setpriv", "systemd-run", "bwrap", "nsenter"];

pub(super) fn runs_behind_dashes(name: &str) -> bool {
    RUN_BEHIND_DASHES.contains(&name)
}

/// Programs that are no interpreters and hand the words behind `--` to another program.
const PASS_ON: [&str; 24] = [
    "cargo",
    "npm",
    "npx",
    "pnpm",
    "yarn",
    "kubectl",
    "oc",
    "docker",
    "podman",
    "setpriv",
    "uv",
    "poetry",
    "pipx",
    "systemd-run",
    "bwrap",
    "nsenter",
    "gosu",
    "dotnet",
    "go",
    "rustup",
    "just",
    "rye",
    "hatch",
    "direnv",
];

pub(super) fn passes_on(name: &str) -> bool {
    PASS_ON.contains(&name)
}

/// Long options of wrappers that have no value.
const FLAGS: [&str; 24] = [
    "ignore-environment",
    "null",
    "debug",
    "verbose",
    "foreground",
    "preserve-status",
    "no-run-if-empty",
    "interactive",
    "non-interactive",
    "open-tty",
    "exit",
    "login",
    "wait",
    "exclusive",
    "shared",
    "nonblock",
    "nb",
    "no-fork",
    "close",
    "unlock",
    "append",
    "portability",
    "fork",
    "idle",
];

/// Whether a wrapper's long option has no value.
pub(super) fn is_flag(long: &str) -> bool {
    FLAGS.contains(&long)
}

fn wrapper(name: &str) -> Option<Wrapper> {
    Some(match name {
        "env" => Wrapper {
            valued: "uCS",
            long_valued: &["unset", "chdir", "split-string"],
            assigns: true,
            ..WRAPPER
        },
        "command" => Wrapper { only_looks: "vV", ..WRAPPER },
        "exec" => Wrapper { valued: "a", ..WRAPPER },
        "builtin" | "coproc" | "nohup" | "setsid" | "busybox" | "toybox" | "caffeinate" => WRAPPER,
        "unshare" => Wrapper { valued: "RwSG", ..WRAPPER },
        "nice" => Wrapper { valued: "n", long_valued: &["adjustment"], ..WRAPPER },
        "ionice" => Wrapper { valued: "cnpPu", long_valued: &["class", "classdata"], ..WRAPPER },
        "stdbuf" => {
            Wrapper { valued: "ioe", long_valued: &["input", "output", "error"], ..WRAPPER }
        }
        "time" => Wrapper { valued: "fo", long_valued: &["format", "output"], ..WRAPPER },
        "timeout" => Wrapper {
            valued: "ks",
            long_valued: &["kill-after", "signal"],
            n_operands: 1,
            ..WRAPPER
        },
        "taskset" | "chrt" | "flock" => Wrapper { valued: "wE", n_operands: 1, ..WRAPPER },
        "chroot" | "gosu" | "su-exec" => Wrapper { n_operands: 1, ..WRAPPER },
        "sshpass" => Wrapper { valued: "pfdP", ..WRAPPER },
        "sudo" => Wrapper {
            valued: "ugpCcDRThrUt",
            long_valued: &["user", "group", "chdir", "chroot", "host", "prompt", "other-user"],
            assigns: true,
            ..WRAPPER
        },
        "doas" => Wrapper { valued: "uC", ..WRAPPER },
        "strace" | "ltrace" => Wrapper { valued: "aeEIopPsSuUbOX", ..WRAPPER },
        "xargs" => Wrapper {
            valued: "aEIJLnPRsd",
            long_valued: &["arg-file", "delimiter", "max-args", "max-procs", "max-chars"],
            ..WRAPPER
        },
        _ => return None,
    })
}

fn interpreter(name: &str) -> Option<Interpreter> {
    Some(match name {
        "python" | "pypy" | "ipython" | "jython" => {
            Interpreter { code: "cm", valued: "WX", last: "cm", ..INTERPRETER }
        }
        // Modules and the separator are put into the program as they are.
        "perl" => Interpreter { code: "eEMmF", valued: "I", attached: "ixCD", ..INTERPRETER },
        "ruby" | "jruby" => Interpreter { valued: "ICEr", attached: "FKWxi", ..INTERPRETER },
        "node" | "nodejs" | "bun" | "tsx" | "ts-node" => Interpreter {
            code: "epr",
            valued: "C",
            long_code: &["eval", "print", "require", "import", "loader", "experimental-loader"],
            commands: if name == "bun" { &["eval", "exec", "x"] } else { &[] },
            ..INTERPRETER
        },
        "php" => Interpreter {
            code: "rBRE",
            valued: "cdfFtz",
            long_code: &["run", "process-begin", "process-code", "process-end"],
            ..INTERPRETER
        },
        "lua" | "luajit" => Interpreter { valued: "l", ..INTERPRETER },
        "julia" => Interpreter {
            code: "eE",
            valued: "JCptLHm",
            long_code: &["eval", "print"],
            ..INTERPRETER
        },
        "R" | "Rscript" | "osascript" | "groovy" | "scala" | "ghc" | "ghci" | "elixir" | "iex"
        | "clojure" | "clj" | "bb" | "sbcl" | "qjs" | "swift" | "pry" | "gnuplot" | "mutt" => {
            Interpreter { long_code: &["eval"], permutes: true, ..INTERPRETER }
        }
        "racket" => Interpreter { valued: "ftlprk", long_code: &["eval"], ..INTERPRETER },
        "clisp" => Interpreter { code: "x", valued: "MKip", ..INTERPRETER },
        "octave" | "octave-cli" => {
            Interpreter { code: "", long_code: &["eval"], permutes: true, ..INTERPRETER }
        }
        "expect" => Interpreter { code: "c", valued: "f", ..INTERPRETER },
        "make" | "gmake" | "bmake" => Interpreter {
            code: "E",
            valued: "CfIoW",
            // Their value is a number, or the next word is none of theirs.
            attached: "jlO",
            long_code: &["eval"],
            permutes: true,
            assigns: true,
            ..INTERPRETER
        },
        "nix-shell" | "nix" => Interpreter {
            code: "Ep",
            valued: "AI",
            long_code: &["run", "command", "expr", "packages"],
            permutes: true,
            ..INTERPRETER
        },
        "guile" | "tclsh" => Interpreter { code: "ce", valued: "lLx", ..INTERPRETER },
        "vim" | "vi" | "nvim" | "ex" | "view" | "gvim" | "rvim" | "vimdiff" | "nvimdiff" => {
            Interpreter {
                code: if name == "nvim" { "cSuUl" } else { "cSuU" },
                valued: "wWsTt",
                long_code: &["cmd", "remote-send", "remote-expr"],
                permutes: true,
                ..INTERPRETER
            }
        }
        "su" | "runuser" | "script" => {
            let long_code = &["command"];
            Interpreter { code: "c", valued: "sgGw", long_code, permutes: true, ..INTERPRETER }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(names: &[&str], expect: Expect) {
        let kinds = names.iter().map(|name| {
            let kind = format!("{:?}", of(name));
            format!("{name}: {}\n", kind.split(['(', ' ']).next().unwrap_or_default())
        });
        expect.assert_eq(&kinds.collect::<String>());
    }

    #[test]
    fn a_version_is_no_part_of_the_name() {
        check(
            &["python3.12", "bash-5.2", "ruby3.2", ".", "7", "gawk", "env", "bashful", "pythonic"],
            expect![[r#"
                python3.12: Code
                bash-5.2: Shell
                ruby3.2: Code
                .: Source
                7: Itself
                gawk: Awk
                env: Other
                bashful: Itself
                pythonic: Itself
            "#]],
        );
    }
}
