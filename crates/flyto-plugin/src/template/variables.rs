//! Variables that choose what runs.

/// Names of variables that say where programs and code are found, or are run as code themselves.
const NAMES: [&str; 30] = [
    "PATH",
    "BASH_ENV",
    "ENV",
    "IFS",
    "SHELL",
    "SHELLOPTS",
    "BASHOPTS",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "CDPATH",
    "HOME",
    "ZDOTDIR",
    "XDG_CONFIG_HOME",
    "NODE_OPTIONS",
    "NODE_PATH",
    "RUBYOPT",
    "RUBYLIB",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LUA_INIT",
    "MAKEFLAGS",
    "EDITOR",
    "PAGER",
    "VISUAL",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "RUSTC_WRAPPER",
];

const PREFIXES: [&str; 8] =
    ["LD_", "DYLD_", "BASH_FUNC_", "PYTHON", "PERL5", "GIT_", "LUA_INIT_", "npm_config_"];

const SUFFIXES: [&str; 5] = ["_COMMAND", "_EDITOR", "_PAGER", "_WRAPPER", "_RSH"];

/// Whether the value of a variable decides which program or which code runs.
pub(super) fn choose_what_runs(name: &str) -> bool {
    NAMES.contains(&name)
        || PREFIXES.iter().any(|it| name.starts_with(it))
        || SUFFIXES.iter().any(|it| name.ends_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_things_are_free() {
        for name in ["PATH", "LD_PRELOAD", "PYTHONSTARTUP", "GIT_SSH", "PROMPT_COMMAND", "ENV"] {
            assert!(choose_what_runs(name), "{name}");
        }
        for name in ["A", "LANG", "TZ", "MY_PATH", "ENVIRONMENT", "COMMAND", "PAGER_LINES"] {
            assert!(!choose_what_runs(name), "{name}");
        }
    }
}
