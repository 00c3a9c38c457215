//! Places that are protected by themselves.
//!
//! Two kinds: where keys are kept, which tools are refused, and where a changed
//! file changes which programs run, which is asked. A rule that allows opens such a
//! place only if its plain part names it: `Read(~/.ssh/config)` does, `Read(**)`
//! does not.
//!
//! The lists are short and not complete: they hold what a rule such as `Edit(~/**)`
//! would open by mistake. Names that are protected anywhere are compared without
//! regard to ASCII case, because some file systems do so; absolute places and those
//! of a home directory are compared as they are.

use flyto_tools::Access;

use crate::{Verdict, index::paths::below};

/// A protected place that a path leads into.
///
/// `verdict` holds where no rule names the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Protected {
    pub(crate) verdict: Verdict,
    /// For people.
    pub(crate) place: &'static str,
    /// What a pattern must hold to mean this place.
    pub(crate) parts: &'static [&'static str],
}

/// Directories and files of keys, anywhere.
///
/// Refused for reading and for writing.
pub(crate) const KEYS: &[(&str, &[&str])] = &[
    (".ssh", &[".ssh"]),
    (".gnupg", &[".gnupg"]),
    (".aws", &[".aws"]),
    (".kube", &[".kube"]),
    (".netrc", &[".netrc"]),
    (".git-credentials", &[".git-credentials"]),
    ("/etc/shadow", &["etc", "shadow"]),
    ("/etc/gshadow", &["etc", "gshadow"]),
    ("/etc/sudoers", &["etc", "sudoers"]),
];

/// Directories of the system, as [hier(7)] has them, that are not for tools to
/// write to.
///
/// [hier(7)]: https://man7.org/linux/man-pages/man7/hier.7.html
///
/// Writing is asked; reading is left to rules and roots.
const SYSTEM: &[(&str, &[&str])] = &[
    ("/etc", &["etc"]),
    ("/boot", &["boot"]),
    ("/usr", &["usr"]),
    ("/bin", &["bin"]),
    ("/sbin", &["sbin"]),
    ("/lib", &["lib"]),
    ("/lib64", &["lib64"]),
    ("/var/spool/cron", &["var", "spool", "cron"]),
    ("/Library", &["Library"]),
    ("/System", &["System"]),
];

/// Kernel interfaces: also reading has effects or shows secrets of processes.
///
/// Both are asked.
const KERNEL: &[(&str, &[&str])] = &[("/dev", &["dev"]), ("/proc", &["proc"]), ("/sys", &["sys"])];

/// Files in a home directory from which programs start, without slashes.
const START_FILES: &[(&str, &[&str])] = &[
    (".bashrc", &[".bashrc"]),
    (".bash_profile", &[".bash_profile"]),
    (".bash_login", &[".bash_login"]),
    (".bash_logout", &[".bash_logout"]),
    (".profile", &[".profile"]),
    (".zshrc", &[".zshrc"]),
    (".zshenv", &[".zshenv"]),
    (".zprofile", &[".zprofile"]),
    (".gitconfig", &[".gitconfig"]),
    (".config/flyto", &[".config", "flyto"]),
    (".config/git", &[".config", "git"]),
    (".config/autostart", &[".config", "autostart"]),
    (".config/systemd", &[".config", "systemd"]),
];

/// Directories of a project whose files decide what programs run.
const PROJECT: &[(&str, &[&str])] = &[(".git", &[".git"]), (".flyto", &[".flyto"])];

/// Those that a user may keep elsewhere and have a link to: a name without a slash at its start lies in the home
/// directory.
pub(crate) fn linked_places() -> impl Iterator<Item = &'static str> {
    KEYS.iter().chain(START_FILES).map(|(place, _)| *place)
}

/// The strongest protection of an absolute path.
///
/// Keys go before kernel interfaces, and those before places that only writing is
/// asked for.
pub(crate) fn protection(path: &str, access: Access, home: Option<&str>) -> Option<Protected> {
    let writes = access != Access::Read;
    let with = |verdict, (place, parts): &(&'static str, &'static [&'static str])| Protected {
        verdict,
        place,
        parts,
    };
    let has_part = |name: &str| path.split('/').any(|it| it.eq_ignore_ascii_case(name));
    let lies_in = |place: &str| match place.starts_with('/') {
        true => below(path, place).is_some(),
        false => has_part(place),
    };
    if let Some(it) = KEYS.iter().find(|(place, _)| lies_in(place)) {
        return Some(with(Verdict::Deny, it));
    }
    if let Some(it) = KERNEL.iter().find(|(place, _)| lies_in(place)) {
        return Some(with(Verdict::Ask, it));
    }
    if !writes {
        return None;
    }
    let in_home = |name: &str| {
        home.and_then(|it| below(path, it)).is_some_and(|it| below(it, name).is_some())
    };
    let mut system = SYSTEM.iter().filter(|(place, _)| lies_in(place));
    let mut start = START_FILES.iter().filter(|(place, _)| in_home(place));
    let mut project = PROJECT.iter().filter(|(place, _)| has_part(place));
    let found = system.next().or_else(|| start.next()).or_else(|| project.next())?;
    Some(with(Verdict::Ask, found))
}

/// Whether a word that may be a path, as far as it is known, leads to keys.
///
/// A word is split at `/`, `=`, `:` and `@`, as paths stand in options, in
/// `host:path` and in `user@host`.
pub(crate) fn may_touch_keys(word: &str) -> bool {
    // Most words have neither a dot, with which the names of keys begin, nor two slashes, as places have.
    if !word.bytes().any(|it| it == b'.') && word.bytes().filter(|it| *it == b'/').count() < 2 {
        return false;
    }
    // Each part and each slash of the word is looked at once, since most words hold none of them.
    let names_key = |part: &str| KEYS.iter().any(|(name, _)| part.eq_ignore_ascii_case(name));
    let is_place = |rest: &str| KEYS.iter().any(|(place, _)| rest.starts_with(place));
    word.split(['/', '=', ':', '@']).any(names_key)
        || word.match_indices('/').any(|(at, _)| is_place(&word[at..]))
}
