//! Names of plugins and tools.
//!
//! All names are ASCII: a model, a log and a shell show the same characters, and no letter of
//! another script passes for one of them. The full name of a tool is `PLUGIN:NAME`, so neither
//! part holds a `:`.

use std::fmt;

/// The most characters that the name of a plugin or of a tool may have: as many as model services
/// allow for the name of a tool.
pub const MAX_NAME_CHARS: usize = 64;

/// Why a name is none.
///
/// The first fault wins, in this order: empty, a wrong character, a wrong first character, too
/// long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameFault {
    /// There is no character at all.
    Empty,
    /// There are more than [`MAX_NAME_CHARS`] characters.
    TooLong {
        /// How many there are.
        ///
        /// More than [`MAX_NAME_CHARS`].
        n_chars: usize,
    },
    /// The first character may stand further behind, but not there.
    BadStart(char),
    /// A character that may stand nowhere in the name.
    /// A character beyond ASCII is shown with its code point.
    BadChar(char),
}

impl fmt::Display for NameFault {
    /// Words that follow the name: `is empty`, `begins with '-'`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("is empty"),
            Self::TooLong { n_chars } => {
                write!(f, "has {n_chars} characters, and {MAX_NAME_CHARS} are the most")
            }
            Self::BadStart(c) => write!(f, "begins with {c:?}"),
            Self::BadChar(c) if c.is_ascii() => write!(f, "holds {c:?}"),
            // Letters that look alike are told apart by their number.
            Self::BadChar(c) => write!(f, "holds {c:?} (U+{:04X})", *c as u32),
        }
    }
}

/// Which name is meant; each kind has characters of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameKind {
    /// A plugin, whose name may begin with a digit and has no `_`.
    Plugin,
    /// A tool that is declared with `command` and `args`.
    ArgvTool,
    /// A tool of the forms that come from ZeptoClaw, whose names have no `-`.
    OtherTool,
    /// A server, whose name stands before the names of its tools.
    Server,
}

impl NameKind {
    /// What a name is made of, for a message.
    pub(crate) const fn rule(self) -> &'static str {
        match self {
            Self::Plugin => "letters, digits and `-`, a letter or digit first",
            Self::ArgvTool => "letters, digits, `_` and `-`, a letter first",
            Self::OtherTool => "letters, digits and `_`, a letter first",
            Self::Server => "letters, digits, `_` and `-`, a letter or digit first",
        }
    }

    /// Whether the character may stand in a name of this kind, at any place but the first.
    fn allows(self, c: char) -> bool {
        c.is_ascii_alphanumeric()
            || match self {
                Self::Plugin => c == '-',
                Self::ArgvTool | Self::Server => c == '_' || c == '-',
                Self::OtherTool => c == '_',
            }
    }

    /// Whether the character may stand first. Every one that may is also [allowed](Self::allows)
    /// later.
    fn allows_first(self, c: char) -> bool {
        match self {
            Self::Plugin | Self::Server => c.is_ascii_alphanumeric(),
            Self::ArgvTool | Self::OtherTool => c.is_ascii_alphabetic(),
        }
    }

    /// The rule that the public functions of this file state.
    pub(crate) fn check(self, name: &str) -> Result<(), NameFault> {
        let first = name.chars().next().ok_or(NameFault::Empty)?;
        if let Some(c) = name.chars().find(|&c| !self.allows(c)) {
            return Err(NameFault::BadChar(c));
        }
        if !self.allows_first(first) {
            return Err(NameFault::BadStart(first));
        }
        // Every character is ASCII by now.
        if name.len() > MAX_NAME_CHARS {
            return Err(NameFault::TooLong { n_chars: name.len() });
        }
        Ok(())
    }

    /// A name that is near to `written` and allowed, if there is a useful one.
    ///
    /// Characters that are not allowed become one `-` or `_` between parts, and nothing at the
    /// ends. `None` where a character is not ASCII, where nothing is left or too much, and where
    /// the name is in order already. What comes back always passes [`check`](Self::check).
    pub(crate) fn mended(self, written: &str) -> Option<String> {
        let joint = match self {
            Self::Plugin | Self::Server => '-',
            Self::ArgvTool | Self::OtherTool => '_',
        };
        let mut res = String::new();
        for c in written.trim().chars() {
            if self.allows(c) && (!res.is_empty() || self.allows_first(c)) {
                res.push(c);
            } else if c.is_ascii() && !res.is_empty() && !res.ends_with(joint) {
                res.push(joint);
            } else if !c.is_ascii() {
                // What a foreign letter stands for is not ours to guess.
                return None;
            }
        }
        let res = res.trim_end_matches(joint).to_owned();
        (self.check(&res).is_ok() && res != written).then_some(res)
    }
}

/// Checks the name of a plugin: 1 to [`MAX_NAME_CHARS`] letters, digits and `-`, a letter or digit
/// first, all ASCII.
///
/// # Errors
///
/// [`NameFault`] names the first fault.
///
/// ```
/// use flyto_plugin::{NameFault, check_plugin_name};
///
/// assert_eq!(check_plugin_name("git-info"), Ok(()));
/// assert_eq!(check_plugin_name("git_info"), Err(NameFault::BadChar('_')));
/// ```
pub fn check_plugin_name(name: &str) -> Result<(), NameFault> {
    NameKind::Plugin.check(name)
}

/// A name near to `written` that a plugin may have, if there is a useful one.
///
/// ```
/// use flyto_plugin::nearest_plugin_name;
///
/// assert_eq!(nearest_plugin_name("my plugin").as_deref(), Some("my-plugin"));
/// assert_eq!(nearest_plugin_name("git"), None);
/// ```
#[must_use]
pub fn nearest_plugin_name(written: &str) -> Option<String> {
    NameKind::Plugin.mended(written)
}

/// Checks the name of a tool that a plugin declares: 1 to [`MAX_NAME_CHARS`] letters, digits, `_`
/// and `-`, a letter first, all ASCII.
///
/// # Errors
///
/// [`NameFault`] names the first fault.
///
/// A tool with `parameters`, and one of a binary plugin, has no `-` in its name; the loader
/// checks that.
pub fn check_tool_name(name: &str) -> Result<(), NameFault> {
    NameKind::ArgvTool.check(name)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(kind: NameKind, name: &str, expect: Expect) {
        let text = match kind.check(name) {
            Ok(()) => "ok".to_owned(),
            Err(fault) => format!("{fault}; better: {:?}", kind.mended(name)),
        };
        expect.assert_eq(&text);
    }

    #[test]
    fn plugins() {
        check(NameKind::Plugin, "git-info", expect!["ok"]);
        check(NameKind::Plugin, "7zip", expect!["ok"]);
        check(NameKind::Plugin, "", expect!["is empty; better: None"]);
        check(NameKind::Plugin, "git_info", expect![[r#"holds '_'; better: Some("git-info")"#]]);
        check(NameKind::Plugin, "-x", expect![[r#"begins with '-'; better: Some("x")"#]]);
        check(NameKind::Plugin, "../a b", expect![[r#"holds '.'; better: Some("a-b")"#]]);
        check(
            NameKind::Plugin,
            &"x".repeat(65),
            expect!["has 65 characters, and 64 are the most; better: None"],
        );
        check(NameKind::Plugin, "аbc", expect!["holds 'а' (U+0430); better: None"]);
    }

    #[test]
    fn tools() {
        check(NameKind::ArgvTool, "disk-free", expect!["ok"]);
        check(
            NameKind::OtherTool,
            "disk-free",
            expect![[r#"holds '-'; better: Some("disk_free")"#]],
        );
        check(
            NameKind::ArgvTool,
            "word count",
            expect![[r#"holds ' '; better: Some("word_count")"#]],
        );
        check(NameKind::ArgvTool, "7zip", expect![[r#"begins with '7'; better: Some("zip")"#]]);
        check(NameKind::ArgvTool, "p:t", expect![[r#"holds ':'; better: Some("p_t")"#]]);
    }

    proptest! {
        #[test]
        fn what_is_offered_is_allowed(name in ".{0,80}") {
            for kind in [
                NameKind::Plugin, NameKind::ArgvTool, NameKind::OtherTool, NameKind::Server,
            ] {
                if let Some(mended) = kind.mended(&name) {
                    prop_assert_eq!(kind.check(&mended), Ok(()));
                }
            }
        }
    }
}
