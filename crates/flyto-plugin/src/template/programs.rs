//! Programs that run what they are given: others by name, or code.

use super::special;

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
}

const WRAPPER: Wrapper =
    Wrapper { valued: "", long_valued: &[], n_operands: 0, assigns: false, only_looks: "" };

const INTERPRETER: Interpreter =
    Interpreter { code: "e", valued: "", attached: "", last: "", long_code: &[], permutes: false };

/// What the program of this name does; `name` is without directory.
pub(super) fn of(name: &str) -> Runs {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    // A name that is all digits is nobody's.
    let plain = if plain.is_empty() { name } else { plain };
    wrapper(plain).map(Runs::Other).or_else(|| interpreter(plain).map(Runs::Code)).unwrap_or(
        match plain {
            "sh" | "bash" | "rbash" | "dash" | "ash" | "zsh" | "ksh" | "mksh" | "yash" | "csh"
            | "tcsh" | "fish" => Runs::Shell,
            "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => Runs::Awk,
            "sed" | "gsed" | "ssed" => Runs::Sed,
            "find" => Runs::OtherBehindExec,
            "ssh" => Runs::Remote,
            "git" => Runs::Git,
            "pwsh" | "powershell" => Runs::Behind(special::powershell),
            "deno" => Runs::Behind(special::deno),
            "gdb" | "lldb" => Runs::Behind(special::debugger),
            // `flock FILE -c CODE` has an option where its program would be.
            "eval" | "trap" | "alias" | "let" | "watch" | "parallel" | "tmux" | "screen" | "-c"
            | "--command" => Runs::AllCode,
            "." | "source" => Runs::Source,
            "read" | "unset" | "getopts" | "export" | "readonly" | "declare" | "typeset"
            | "local" | "mapfile" | "readarray" => Runs::Names,
            "set" | "shift" => Runs::SetsPositional,
            _ if name == "." => Runs::Source,
            _ => Runs::Itself,
        },
    )
}

/// Whether the program of this name may take code among its words.
pub(super) fn takes_code(name: &str) -> bool {
    matches!(of(name), Runs::Shell | Runs::Code(_))
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
        "chroot" => Wrapper { n_operands: 1, ..WRAPPER },
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
        "R" | "Rscript" | "osascript" | "groovy" | "scala" | "ghc" | "elixir" => {
            Interpreter { long_code: &["eval"], ..INTERPRETER }
        }
        "emacs" => {
            Interpreter { code: "", long_code: &["eval", "execute"], permutes: true, ..INTERPRETER }
        }
        "octave" | "octave-cli" => {
            Interpreter { code: "", long_code: &["eval"], permutes: true, ..INTERPRETER }
        }
        "expect" => Interpreter { code: "c", valued: "f", ..INTERPRETER },
        "make" | "gmake" | "bmake" => Interpreter {
            code: "E",
            valued: "CfIjlmoW",
            long_code: &["eval"],
            permutes: true,
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
        "vim" | "vi" | "nvim" | "ex" | "view" => Interpreter {
            code: "c",
            valued: "uUwWsTt",
            long_code: &["cmd"],
            permutes: true,
            ..INTERPRETER
        },
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
