//! Which plugins may be used.
//!
//! The rule has four lines, first fit: blocked, switched off, allowed, not on the list. A name
//! is compared byte for byte, with the name that [`Found::name`](crate::Found::name) reports.

use std::collections::BTreeSet;

/// Which plugins may be used, by their exact names. The default lets all of them pass.
///
/// ```
/// use flyto_plugin::{Filter, Verdict};
///
/// let filter = Filter::new().allow(["git", "text"]).block(["text"]);
/// assert_eq!(filter.judge("git"), Verdict::Pass);
/// assert_eq!(filter.judge("text"), Verdict::Blocked);
/// assert_eq!(filter.judge("other"), Verdict::NotAllowed);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    disabled: bool,
    allowed: BTreeSet<String>,
    blocked: BTreeSet<String>,
}

/// What a [`Filter`] says about a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The plugin may be used.
    Pass,
    /// Plugins are switched off.
    Disabled,
    /// The name is on the list of blocked ones.
    Blocked,
    /// There is a list of allowed names, and the name is not on it.
    NotAllowed,
}

impl Filter {
    /// Lets every plugin pass.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets none pass: plugins are switched off.
    #[must_use]
    pub fn disabled() -> Self {
        Self { disabled: true, ..Self::default() }
    }

    /// Adds names that pass. Once there is one, no other name does.
    ///
    /// An empty list changes nothing: without any allowed name all pass.
    #[must_use]
    pub fn allow(mut self, names: impl IntoIterator<Item: Into<String>>) -> Self {
        self.allowed.extend(names.into_iter().map(Into::into));
        self
    }

    /// Adds names that do not pass, also when they are allowed.
    #[must_use]
    pub fn block(mut self, names: impl IntoIterator<Item: Into<String>>) -> Self {
        self.blocked.extend(names.into_iter().map(Into::into));
        self
    }

    /// What becomes of a plugin of this name.
    ///
    /// A blocked name is reported as blocked also while plugins are switched off.
    #[must_use]
    pub fn judge(&self, name: &str) -> Verdict {
        if self.blocked.contains(name) {
            Verdict::Blocked
        } else if self.disabled {
            Verdict::Disabled
        } else if self.allowed.is_empty() || self.allowed.contains(name) {
            Verdict::Pass
        } else {
            Verdict::NotAllowed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(filter: &Filter, name: &str, expect: Verdict) {
        assert_eq!(filter.judge(name), expect);
    }

    #[test]
    fn block_wins_over_allow_and_names_are_exact() {
        let filter = Filter::new().allow(["a", "b"]).block(["b", "c"]);
        check(&filter, "a", Verdict::Pass);
        check(&filter, "A", Verdict::NotAllowed);
        check(&filter, "b", Verdict::Blocked);
        check(&filter, "c", Verdict::Blocked);
        check(&Filter::new(), "anything", Verdict::Pass);
        check(&Filter::new().block(["x"]), "y", Verdict::Pass);
        check(&Filter::disabled().allow(["a"]), "a", Verdict::Disabled);
        check(&Filter::disabled().block(["a"]), "a", Verdict::Blocked);
    }
}
