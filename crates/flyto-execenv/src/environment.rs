//! The variables that a program sees.

use std::{
    collections::{BTreeMap, btree_map},
    ffi::{OsStr, OsString},
    sync::Arc,
};

/// A complete environment: the host's as a value, or the one that a program gets.
///
/// Names and values are bytes of the system, not text. The order is by name, so that two equal
/// environments print alike.
///
/// Clones share the variables until one of them is changed, since each call of a program takes one.
///
/// ```
/// use flyto_execenv::Environment;
///
/// let mut env: Environment = [("PATH", "/usr/bin:/bin"), ("EMPTY", "")].into_iter().collect();
/// env.set("LANG", "C.UTF-8");
/// assert_eq!(env.get("EMPTY"), Some("".as_ref()));
/// assert_eq!(env.names().collect::<Vec<_>>(), ["EMPTY", "LANG", "PATH"]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment(Arc<BTreeMap<OsString, OsString>>);

impl Environment {
    /// No variables.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The variables of this process, read now.
    ///
    /// This is the one place in the crate that reaches outside; callers pass the value on.
    #[must_use]
    pub fn ambient() -> Self {
        std::env::vars_os().collect()
    }

    /// The value of `name`; set but empty is `Some("")`.
    #[must_use]
    pub fn get(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.0.get(name.as_ref()).map(OsString::as_os_str)
    }

    /// Sets `name`, replacing a former value.
    ///
    /// A name with `=` or a zero byte, or an empty one, is taken here and refused by
    /// [`Spec::check`](crate::Spec::check).
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        Arc::make_mut(&mut self.0).insert(name.into(), value.into());
    }

    /// Removes `name` and returns its value.
    pub fn remove(&mut self, name: impl AsRef<OsStr>) -> Option<OsString> {
        Arc::make_mut(&mut self.0).remove(name.as_ref())
    }

    /// Names and values in order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The names in order.
    pub fn names(&self) -> impl Iterator<Item = &OsStr> {
        self.0.keys().map(OsString::as_os_str)
    }

    /// How many variables there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<K: Into<OsString>, V: Into<OsString>> FromIterator<(K, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(iter: I) -> Self {
        let variables = iter.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self(Arc::new(variables.collect()))
    }
}

impl<K: Into<OsString>, V: Into<OsString>> Extend<(K, V)> for Environment {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, iter: I) {
        let variables = iter.into_iter().map(|(name, value)| (name.into(), value.into()));
        Arc::make_mut(&mut self.0).extend(variables);
    }
}

impl IntoIterator for Environment {
    type Item = (OsString, OsString);
    type IntoIter = btree_map::IntoIter<OsString, OsString>;

    fn into_iter(self) -> Self::IntoIter {
        Arc::unwrap_or_clone(self.0).into_iter()
    }
}

/// How much of the host's environment a program sees.
///
/// Variables that a declaration sets itself are added to either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum EnvPolicy {
    /// [`EnvPolicy::MINIMAL_NAMES`] where the host has them, and nothing else: a host's keys and
    /// tokens stay with the host.
    Minimal,
    /// Everything the host has: for programs that the user wrote down for this machine.
    FullInherit,
}

impl EnvPolicy {
    /// What [`EnvPolicy::Minimal`] passes on: enough to find programs, a home and a language.
    pub const MINIMAL_NAMES: [&str; 4] = ["PATH", "HOME", "LANG", "LC_ALL"];

    /// The environment under this policy, with `declared` on top.
    ///
    /// ```
    /// use flyto_execenv::{EnvPolicy, Environment};
    ///
    /// let host: Environment = [("PATH", "/bin"), ("API_TOKEN", "secret")].into_iter().collect();
    /// let env = EnvPolicy::Minimal.build(&host, [("MODE", "fast")]);
    /// assert_eq!(env.names().collect::<Vec<_>>(), ["MODE", "PATH"]);
    /// ```
    #[must_use]
    pub fn build<K, V>(
        self,
        host: &Environment,
        declared: impl IntoIterator<Item = (K, V)>,
    ) -> Environment
    where
        K: Into<OsString>,
        V: Into<OsString>,
    {
        let mut res = match self {
            Self::Minimal => Self::MINIMAL_NAMES
                .into_iter()
                .filter_map(|name| Some((name, host.get(name)?)))
                .collect(),
            Self::FullInherit => host.clone(),
        };
        res.extend(declared);
        res
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> Environment {
        [("PATH", "/bin"), ("LANG", ""), ("API_KEY", "secret")].into_iter().collect()
    }

    #[track_caller]
    fn check(policy: EnvPolicy, declared: &[(&str, &str)], expect: &[(&str, &str)]) {
        let built = policy.build(&host(), declared.iter().copied());
        assert_eq!(built, expect.iter().copied().collect());
    }

    #[test]
    fn minimal_passes_four_names_and_the_declared() {
        check(EnvPolicy::Minimal, &[], &[("PATH", "/bin"), ("LANG", "")]);
        check(
            EnvPolicy::Minimal,
            &[("PATH", "/opt"), ("X", "1")],
            &[("PATH", "/opt"), ("LANG", ""), ("X", "1")],
        );
    }

    #[test]
    fn full_inherit_passes_everything_and_the_declared() {
        check(
            EnvPolicy::FullInherit,
            &[("API_KEY", "other")],
            &[("PATH", "/bin"), ("LANG", ""), ("API_KEY", "other")],
        );
    }
}
