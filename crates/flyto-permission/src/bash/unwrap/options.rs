//! Options of a shell that change neither which programs run nor what their
//! variables are.
//!
//! A shell takes them on its command line and by `set`. The lists name what is
//! harmless in bash, dash, ksh and mksh
//! ([The Set Builtin](https://www.gnu.org/software/bash/manual/html_node/The-Set-Builtin.html));
//! all else is asked. Not on them: `-k` and `-o keyword`, by which a variable
//! anywhere in a command is set for it, and `-a` and `-o allexport`, by which each
//! variable of the shell is handed to programs.

/// Whether the option of this letter is harmless, switched on or off.
pub(super) fn is_harmless_letter(letter: char) -> bool {
    "befhmnpuvxBCEHPT".contains(letter)
}

/// Whether the option of this name, as behind `-o`, is harmless, switched on or
/// off.
pub(super) fn is_harmless_name(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "braceexpand",
        "errexit",
        "errtrace",
        "functrace",
        "hashall",
        "ignoreeof",
        "monitor",
        "noclobber",
        "noexec",
        "noglob",
        "notify",
        "nounset",
        "physical",
        "pipefail",
        "posix",
        "verbose",
        "xtrace",
    ];
    NAMES.contains(&name)
}
