//! Variables that a line sets.
//!
//! A variable is risky where a program or the shell may take it for a command, a
//! place to load code from or an address. The lists name what is harmless; all else
//! is risky.
//!
//! | variable | before a program | alone, for the shell itself |
//! | --- | --- | --- |
//! | `LANG`, `TZ`, `NO_COLOR` and others of the list | harmless | harmless |
//! | in small letters, as `n` | risky | harmless |
//! | with `path` or `proxy` in it | risky | risky |
//! | any other | risky | risky |

/// Whether `name` can be the name of a variable.
///
/// ASCII letters, digits and `_`, and no digit first, as a name of POSIX.
pub(crate) fn is_name(name: &str) -> bool {
    name.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_')
        && name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_')
}

/// Whether a program with this variable in its environment runs the same programs
/// as without it.
///
/// Any other name may be read by some program as a command, a path to load code
/// from or an address: `PATH`, `LD_PRELOAD`, `GIT_SSH_COMMAND`, `PAGER`,
/// `NODE_OPTIONS`, `https_proxy`. The list of those does not end, so the list is of
/// the others: locale ([locale(7)]), terminal and verbosity.
///
/// [locale(7)]: https://man7.org/linux/man-pages/man7/locale.7.html
pub(crate) fn is_harmless(name: &str) -> bool {
    const HARMLESS: &[&str] = &[
        "CI",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "COLUMNS",
        "FORCE_COLOR",
        "LANG",
        "LINES",
        "NO_COLOR",
        "RUST_BACKTRACE",
        "RUST_LOG",
        "TZ",
    ];
    HARMLESS.contains(&name)
        || matches!(
            name,
            "LC_ALL" | "LC_COLLATE" | "LC_CTYPE" | "LC_MESSAGES" | "LC_NUMERIC" | "LC_TIME"
        )
}

/// Whether a shell can set this variable for itself without changing what its
/// programs run. One in small letters is the shell's own, but for the addresses of
/// proxies and the `path` of zsh.
pub(crate) fn is_harmless_inside(name: &str) -> bool {
    let small = name.bytes().all(|it| !it.is_ascii_uppercase());
    (small && !name.contains("proxy") && !name.contains("path")) || is_harmless(name)
}

/// The name in `NAME=value` or `NAME+=value`.
///
/// `None` for a text that assigns nothing, such as `--name=value`.
pub(crate) fn assigned_name(word: &str) -> Option<&str> {
    let (name, _) = word.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    is_name(name).then_some(name)
}
