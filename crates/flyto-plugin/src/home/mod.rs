//! `~` in paths that people write into their configuration.
//!
//! Only a `~` at the start of a path is read. Variables, and a `~` further behind, stay as they
//! are.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(not(unix), path = "other.rs")]
mod platform;

use std::{
    error::Error,
    fmt,
    path::{Path, PathBuf},
};

pub use self::platform::ambient_home_of;

/// A path whose `~` stands for nothing.
///
/// A host reports it at the place of the path; nothing falls back to another directory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HomeError {
    /// The path begins with `~`, and the host has no home directory.
    NoHome {
        /// The path as it is written.
        path: String,
    },
    /// The path begins with the name of a user that the system does not know.
    UnknownUser {
        /// The path as it is written.
        path: String,
        /// The name.
        user: String,
    },
}

impl fmt::Display for HomeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHome { path } => {
                write!(f, "failed to expand {path:?}: there is no home directory")
            }
            Self::UnknownUser { path, user } => {
                write!(f, "failed to expand {path:?}: there is no user {user:?}")
            }
        }
    }
}

impl Error for HomeError {}

/// Puts a home directory in the place of a `~` that begins the path: `home` for `~` alone and
/// before a `/`, the one that `home_of` knows for `~user`. Any other path stays as it is.
///
/// [`ambient_home_of`] is the function that asks this system.
///
/// # Errors
///
/// [`HomeError`] where there is no such directory.
///
/// ```
/// use std::path::Path;
/// use flyto_plugin::expand_home;
///
/// let home_of = |user: &str| (user == "bob").then(|| "/home/bob".into());
/// let expand = |path| expand_home(path, Some(Path::new("/home/ada")), home_of);
/// assert_eq!(expand("~/plugins")?, Path::new("/home/ada/plugins"));
/// assert_eq!(expand("~bob/plugins")?, Path::new("/home/bob/plugins"));
/// assert_eq!(expand("/opt/~x")?, Path::new("/opt/~x"));
/// assert!(expand("~eve/plugins").is_err());
/// # Ok::<(), flyto_plugin::HomeError>(())
/// ```
///
/// A relative path comes back as it is, and an empty `home` counts as none.
pub fn expand_home(
    path: &str,
    home: Option<&Path>,
    home_of: impl FnOnce(&str) -> Option<PathBuf>,
) -> Result<PathBuf, HomeError> {
    let Some(rest) = path.strip_prefix('~') else { return Ok(PathBuf::from(path)) };
    let (user, rest) = rest.split_once('/').unwrap_or((rest, ""));
    let home = if user.is_empty() {
        home.filter(|it| !it.as_os_str().is_empty())
            .map(Path::to_owned)
            .ok_or_else(|| HomeError::NoHome { path: path.to_owned() })?
    } else {
        home_of(user).ok_or_else(|| HomeError::UnknownUser {
            path: path.to_owned(),
            user: user.to_owned(),
        })?
    };
    // Joining an absolute path would throw the home away, and nothing would add a slash.
    let rest = rest.trim_start_matches('/');
    Ok(if rest.is_empty() { home } else { home.join(rest) })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(path: &str, home: Option<&str>, expect: Expect) {
        let home_of = |user: &str| (user == "bob").then(|| PathBuf::from("/srv/bob"));
        let res = expand_home(path, home.map(Path::new), home_of);
        expect.assert_eq(&match res {
            Ok(path) => path.display().to_string(),
            Err(err) => err.to_string(),
        });
    }

    #[test]
    fn a_tilde_at_the_start_is_a_home() {
        check("~", Some("/home/ada"), expect!["/home/ada"]);
        check("~/", Some("/home/ada"), expect!["/home/ada"]);
        check("~/a/b", Some("/home/ada"), expect!["/home/ada/a/b"]);
        check("~//etc", Some("/home/ada"), expect!["/home/ada/etc"]);
        check("~bob", None, expect!["/srv/bob"]);
        check("~bob/a", Some("/home/ada"), expect!["/srv/bob/a"]);
    }

    #[test]
    fn any_other_tilde_stays() {
        check("", None, expect![""]);
        check("/a/~/b", None, expect!["/a/~/b"]);
        check("a~", None, expect!["a~"]);
        check("./~bob", None, expect!["./~bob"]);
    }

    #[test]
    fn the_home_of_no_user_is_an_error() {
        check("~/a", None, expect![[r#"failed to expand "~/a": there is no home directory"#]]);
        check("~", Some(""), expect![[r#"failed to expand "~": there is no home directory"#]]);
        check(
            "~eve/a",
            Some("/h"),
            expect![[r#"failed to expand "~eve/a": there is no user "eve""#]],
        );
    }

    #[cfg(unix)]
    #[test]
    fn the_system_knows_its_first_user() {
        assert!(ambient_home_of("root").is_some_and(|it| it.is_absolute()));
        assert_eq!(ambient_home_of("no-such-user-anywhere"), None);
        assert_eq!(ambient_home_of("nul\0byte"), None);
    }
}
