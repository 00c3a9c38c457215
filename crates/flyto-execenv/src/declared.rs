//! Variables that a program declares, with values that may refer to those of the host.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    fmt,
    sync::Arc,
};

use crate::{
    Environment,
    expand::{Listed, MAX_LISTED, MAX_VALUE_BYTES, Template, shortened, with_rest},
};

/// The most bytes that all expanded values of one [`Declared`] have together, names counted: 6 MiB.
///
/// More does not fit beside the arguments of any program (three quarters of `_STK_LIM`, execve(2)).
pub const MAX_VALUES_BYTES: usize = 6 * 1024 * 1024;

/// Declared variables whose values may refer to the host's.
///
/// They are parsed when they are declared and expanded for each call, so that a call sees what the host's
/// environment is then, and a mistake in a value is found before any call. Clones share their memory until one
/// of them is changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Declared(
    /// In order of the names, each of which is there once.
    Arc<Vec<(Box<str>, Template)>>,
);

/// Of two values of one name the last stays. For many variables it is quicker than to
/// [`insert`](Declared::insert) each.
impl<N: Into<Box<str>>> FromIterator<(N, Template)> for Declared {
    fn from_iter<I: IntoIterator<Item = (N, Template)>>(variables: I) -> Self {
        let mut list: Vec<_> =
            variables.into_iter().map(|(name, value)| (name.into(), value)).collect();
        // Stable, so that the last of equal names is behind the others.
        list.sort_by(|a, b| a.0.cmp(&b.0));
        list.dedup_by(|next, kept| {
            let is_repeated = next.0 == kept.0;
            if is_repeated {
                std::mem::swap(next, kept);
            }
            is_repeated
        });
        Self(Arc::new(list))
    }
}

impl Declared {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares `name`, replacing a former value. Moves the variables whose names come behind it.
    pub fn insert(&mut self, name: impl Into<String>, value: Template) {
        let name = name.into().into_boxed_str();
        let list = Arc::make_mut(&mut self.0);
        match list.binary_search_by(|it| it.0.cmp(&name)) {
            Ok(at) => list[at].1 = value,
            Err(at) => list.insert(at, (name, value)),
        }
    }

    /// The value of one variable, if it is declared.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Template> {
        let at = self.0.binary_search_by(|it| (*it.0).cmp(name)).ok()?;
        Some(&self.0[at].1)
    }

    /// The number of variables.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing is declared.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Names and values in order of the names; the values are not expanded.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Template)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    /// The variables that the values refer to, in order of their names, each once.
    #[must_use]
    pub fn variables(&self) -> BTreeSet<&str> {
        self.iter().flat_map(|(_, template)| template.variables()).collect()
    }

    /// The variables without which not every value can be made, each with the names that use it.
    ///
    /// Makes no value.
    ///
    /// ```
    /// use flyto_execenv::{Declared, Environment, Template};
    ///
    /// let declared: Declared = [("KEY", Template::parse("$TOKEN")?)].into_iter().collect();
    /// let missing = declared.missing(&Environment::new());
    /// assert_eq!(missing.to_string(), "variable not set: TOKEN (used in KEY)");
    /// # Ok::<(), flyto_execenv::TemplateError>(())
    /// ```
    #[must_use]
    pub fn missing(&self, host: &Environment) -> MissingVariables {
        MissingVariables::of(self.iter(), host)
    }

    /// Every value under `host`.
    ///
    /// # Errors
    ///
    /// All variables that are unset and have no default; where there are none, the first value that
    /// passes [`MAX_VALUE_BYTES`] by itself or [`MAX_VALUES_BYTES`] with those before it. An unset
    /// variable never becomes an empty string.
    pub fn expand(&self, host: &Environment) -> Result<Vec<(OsString, OsString)>, ExpandError> {
        let mut res = Vec::with_capacity(self.0.len());
        let mut n_bytes = 0;
        for (name, template) in &*self.0 {
            let value = template.expand(host).ok();
            n_bytes += name.len() + value.as_ref().map_or(0, |it| it.len());
            match value {
                Some(value) if n_bytes <= MAX_VALUES_BYTES => {
                    res.push((OsStr::new(&**name).to_owned(), value));
                }
                value => {
                    let missing = self.missing(host);
                    let name = name.to_string();
                    return Err(match value {
                        _ if !missing.missing.is_empty() => ExpandError::Missing(missing),
                        None => ExpandError::ValueTooLong { name },
                        Some(_) => ExpandError::TooLongTogether { name },
                    });
                }
            }
        }
        Ok(res)
    }
}

/// Why declared values could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExpandError {
    /// Variables are unset and have no default.
    #[error(transparent)]
    Missing(MissingVariables),
    /// One value passes [`MAX_VALUE_BYTES`].
    #[error("value too long: {} would have more than {MAX_VALUE_BYTES} bytes", shortened(.name))]
    ValueTooLong {
        /// The declared variable.
        name: String,
    },
    /// The values pass [`MAX_VALUES_BYTES`] together.
    #[error(
        "values too long: up to {} they would have more than {MAX_VALUES_BYTES} bytes together",
        shortened(.name)
    )]
    TooLongTogether {
        /// The declared variable, in order of the names, with which they do.
        name: String,
    },
}

/// Variables that declared values need and the host does not have.
///
/// The text lists ten of them, and counts the rest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MissingVariables {
    /// Each missing variable with the declared names that use it.
    pub missing: BTreeMap<String, Vec<String>>,
}

impl MissingVariables {
    /// Those without which `values`, each with its name, cannot be made under `host`.
    ///
    /// A name that stands in several values running is listed once as their user.
    pub fn of<'a>(
        values: impl IntoIterator<Item = (&'a str, &'a Template)>,
        host: &Environment,
    ) -> Self {
        let mut missing: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (user, template) in values {
            for name in template.missing(host) {
                let used_in = match missing.get_mut(name) {
                    Some(it) => it,
                    None => missing.entry(name.to_owned()).or_default(),
                };
                if used_in.last().is_none_or(|last| last != user) {
                    used_in.push(user.to_owned());
                }
            }
        }
        Self { missing }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty()
    }

    /// The names with their users, as a message lists them: the first ten of each, and how many more.
    pub fn listed(&self) -> impl fmt::Display {
        let users = |it: &[String]| Listed(it.iter().map(String::as_str)).to_string();
        let names = self.missing.iter().take(MAX_LISTED);
        let names = names
            .map(|(name, used_in)| format!("{} (used in {})", shortened(name), users(used_in)));
        with_rest(&names.collect::<Vec<_>>(), self.missing.len())
    }
}

impl fmt::Display for MissingVariables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.missing.len() == 1 { "variable" } else { "variables" };
        write!(f, "{what} not set: {}", self.listed())
    }
}

impl std::error::Error for MissingVariables {}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn host() -> Environment {
        [("A", "1")].into_iter().collect()
    }

    #[test]
    fn of_two_values_of_one_name_the_last_stays() {
        let pairs = [("B", "1"), ("A", "2"), ("B", "3"), ("C", "4"), ("B", "5")];
        let parsed = |text| Template::parse(text).expect("valid");
        let collected: Declared = pairs.iter().map(|it| (it.0, parsed(it.1))).collect();
        let mut inserted = Declared::new();
        pairs.iter().for_each(|it| inserted.insert(it.0, parsed(it.1)));
        assert_eq!(collected, inserted);
        let names: Vec<_> = collected.iter().map(|it| it.0).collect();
        assert_eq!((names, collected.get("B")), (vec!["A", "B", "C"], Some(&parsed("5"))));
    }

    #[test]
    fn all_missing_names_are_listed_with_their_users() {
        let mut declared = Declared::new();
        for (name, text) in [("ONE", "$X$Y$X"), ("TWO", "$X"), ("FINE", "$A")] {
            declared.insert(name, Template::parse(text).expect("valid"));
        }
        let err = declared.expand(&host()).expect_err("two are missing");
        expect!["variables not set: X (used in ONE, TWO), Y (used in ONE)"]
            .assert_eq(&err.to_string());
    }

    #[test]
    fn a_long_list_of_missing_names_is_counted() {
        let text: String = (0..100).map(|it| format!("${{N{it:03}}}")).collect();
        let long = "L".repeat(10_000);
        let mut declared = Declared::new();
        for user in 0..100 {
            declared.insert(format!("U{user:03}"), Template::parse(&text).expect("valid"));
        }
        declared.insert("LONG", Template::parse(&format!("${long}")).expect("valid"));
        let err = declared.expand(&host()).expect_err("they are missing").to_string();
        assert!(err.starts_with("variables not set: L"), "{err}");
        assert!(err.ends_with("U009 and 90 more) and 91 more"), "{err}");
        assert!(err.len() < 4000, "{}", err.len());
    }

    #[test]
    fn expansion_stops_at_the_longest_environment() {
        let host: Environment = [("BIG", "x".repeat(100_000))].into_iter().collect();
        let big = Template::parse("$BIG").expect("valid");
        let declared: Declared = (0..10_000).map(|it| (format!("V{it:04}"), big.clone())).collect();
        // 62 values of 100,000 bytes and names of 5 have less than 6 MiB; the next is the first beyond.
        let err = ExpandError::TooLongTogether { name: "V0062".to_owned() };
        assert_eq!(declared.expand(&host), Err(err));
    }
}
