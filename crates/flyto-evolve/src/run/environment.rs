//! What of the host's environment a run-time tool sees.

use std::ffi::OsStr;

use flyto_execenv::Environment;

use super::variables::PREFIX;

/// Names of variables by which bash runs other text, or reads the approved one differently, beside those that begin with
/// `BASH` (bash(1), "Shell Variables" and "Invocation").
///
/// The rule is closed: every variable of bash's manual that acts on a shell that is not interactive, and that the shell
/// does not set anew at its start.
const DROPPED: &[&str] = &[
    // Files and text that are run: at the start, before a prompt, and with each traced command.
    "ENV",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    // Options of the shell.
    "SHELLOPTS",
    "POSIXLY_CORRECT",
    "POSIX_PEDANTIC",
    // How words are split, files are matched, and which directory and which program a name means.
    "IFS",
    "GLOBIGNORE",
    "GLOBSORT",
    "EXECIGNORE",
    "CDPATH",
    // When functions, `read` and `time` stop, and what they print.
    "FUNCNEST",
    "TMOUT",
    "TIMEFORMAT",
    "OPTERR",
    "OPTIND",
    "CHILD_MAX",
];

/// The host's environment as a run-time tool inherits it: all of it, less `TOOL_INPUT_*` and what makes bash run other
/// text than the one that was approved.
///
/// The second part is a closed rule: names that begin with `BASH` (`BASH_ENV`, `BASHOPTS`, exported functions), the
/// variables of bash's manual that act on a script, and any variable whose value begins with `() {`, which older versions
/// of bash take for a function.
///
/// ```
/// use flyto_execenv::Environment;
///
/// let host: Environment = [("PATH", "/bin"), ("GITHUB_TOKEN", "t"), ("BASH_ENV", "/x"), ("TOOL_INPUT_A", "1")]
///     .into_iter()
///     .collect();
/// let env = flyto_evolve::inherited(&host);
/// assert_eq!(env.names().collect::<Vec<_>>(), ["GITHUB_TOKEN", "PATH"]);
/// ```
#[must_use]
pub fn inherited(host: &Environment) -> Environment {
    host.iter().filter(|(name, value)| !is_dropped(name, value)).collect()
}

fn is_dropped(name: &OsStr, value: &OsStr) -> bool {
    let (name, value) = (name.as_encoded_bytes(), value.as_encoded_bytes());
    let is_function = name.starts_with(b"__BASH_FUNC") || value.starts_with(b"() {");
    name.starts_with(PREFIX.as_bytes())
        || name.starts_with(b"BASH")
        || is_function
        || DROPPED.iter().any(|it| it.as_bytes() == name)
}
