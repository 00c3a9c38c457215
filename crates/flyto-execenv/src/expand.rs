//! `${NAME}` in declared values: strict, in one pass, never on input from a model.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt,
    sync::Arc,
};

use crate::Environment;

/// A declared value, parsed once when it is loaded.
///
/// | written | means |
/// | --- | --- |
/// | `${NAME}`, `$NAME` | the variable; unset is an error at expansion |
/// | `${NAME:-default}` | the variable, or the default where it is unset or empty |
/// | `$$` | one dollar |
/// | any other `$` | itself |
///
/// `NAME` is `[A-Za-z_][A-Za-z0-9_]*`. A default ends at the first `}` and is taken literally; what
/// a variable holds is not expanded again.
///
/// ```
/// use flyto_execenv::{Environment, Template};
///
/// let host: Environment = [("HOME", "/home/ada")].into_iter().collect();
/// let cache = Template::parse("${HOME}/.cache/${TOOL:-default}")?;
/// assert_eq!(cache.expand(&host), Ok("/home/ada/.cache/default".into()));
///
/// let key = Template::parse("$API_KEY")?;
/// assert_eq!(key.expand(&host), Err(vec!["API_KEY".to_owned()]));
/// # Ok::<(), flyto_execenv::TemplateError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Template {
    /// As it is written: it was read once without an error, and is read again for each use.
    text: Box<str>,
}

/// One piece of a value.
enum Part<'a> {
    Literal(&'a str),
    Variable { name: &'a str, default: Option<&'a str> },
}

/// Equal when both mean the same, however it is written.
impl PartialEq for Template {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text || self.meaning() == other.meaning()
    }
}

impl Eq for Template {}

/// As it is written, with its references.
impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A `${` that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// `${` without a `}` after it.
    #[error("`${{` at byte {offset} is not closed: write `${{NAME}}`, or `$$` for a dollar")]
    Unclosed {
        /// Where the `$` stands, in bytes from the start of the value.
        offset: usize,
    },
    /// What stands between the braces is neither `NAME` nor `NAME:-default`.
    #[error(
        "`${{{found}}}` at byte {offset} is not understood: write `${{NAME}}`, `${{NAME:-default}}`, \
         or `$$` for a dollar"
    )]
    BadName {
        /// Where the `$` stands, in bytes from the start of the value.
        offset: usize,
        /// What stands between the braces.
        found: String,
    },
}

impl TemplateError {
    /// Where the `$` stands, in bytes from the start of the value.
    #[must_use]
    pub fn offset(&self) -> usize {
        match self {
            Self::Unclosed { offset } | Self::BadName { offset, .. } => *offset,
        }
    }
}

impl Template {
    /// Reads a declared value.
    ///
    /// # Errors
    ///
    /// A `${` that is not closed or that holds no name.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        Parts { text, rest: text }.try_for_each(|part| part.map(drop))?;
        Ok(Self { text: text.into() })
    }

    fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        // All of them are there: no part failed when the value was read.
        Parts { text: &self.text, rest: &self.text }.map_while(Result::ok)
    }

    /// The value in one way of writing: the others of the same meaning give the same text.
    fn meaning(&self) -> String {
        self.parts().fold(String::new(), |mut res, part| {
            match part {
                Part::Literal(text) => res += &text.replace('$', "$$"),
                Part::Variable { name, default: None } => res.extend(["${", name, "}"]),
                Part::Variable { name, default: Some(text) } => {
                    res.extend(["${", name, ":-", text, "}"]);
                }
            }
            res
        })
    }

    /// The variables that the value refers to, in order, repeated ones repeated.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts().filter_map(|it| match it {
            Part::Variable { name, .. } => Some(name),
            Part::Literal(_) => None,
        })
    }

    /// The value under `host`.
    ///
    /// # Errors
    ///
    /// Every variable that is unset and has no default.
    pub fn expand(&self, host: &Environment) -> Result<OsString, Vec<String>> {
        let mut res = OsString::new();
        let mut missing = Vec::new();
        for part in self.parts() {
            match part {
                Part::Literal(text) => res.push(text),
                Part::Variable { name, default } => match (host.get(name), default) {
                    (Some(value), Some(default)) if value.is_empty() => res.push(default),
                    (Some(value), _) => res.push(value),
                    (None, Some(default)) => res.push(default),
                    (None, None) => missing.push(name.to_owned()),
                },
            }
        }
        if missing.is_empty() { Ok(res) } else { Err(missing) }
    }
}

/// The parts of a value, up to the first that cannot be read.
struct Parts<'a> {
    text: &'a str,
    /// What is not read yet.
    rest: &'a str,
}

impl<'a> Iterator for Parts<'a> {
    type Item = Result<Part<'a>, TemplateError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest;
        let (part, used) = match rest.find('$') {
            None if rest.is_empty() => return None,
            None => (Part::Literal(rest), rest.len()),
            Some(0) => match self.at_dollar(&rest[1..]) {
                Ok(found) => found,
                Err(err) => return Some(Err(err)),
            },
            Some(dollar) => (Part::Literal(&rest[..dollar]), dollar),
        };
        self.rest = &rest[used..];
        Some(Ok(part))
    }
}

impl<'a> Parts<'a> {
    /// What begins with the dollar in front of `after`, and how many bytes it has with the dollar.
    fn at_dollar(&self, after: &'a str) -> Result<(Part<'a>, usize), TemplateError> {
        if after.starts_with('$') {
            return Ok((Part::Literal("$"), 2));
        }
        let Some(braced) = after.strip_prefix('{') else {
            return Ok(match name_len(after) {
                0 => (Part::Literal("$"), 1),
                len => (Part::Variable { name: &after[..len], default: None }, 1 + len),
            });
        };
        let offset = self.text.len() - self.rest.len();
        let end = braced.find('}').ok_or(TemplateError::Unclosed { offset })?;
        let inner = &braced[..end];
        let name = &inner[..name_len(inner)];
        let default = match inner[name.len()..].split_at_checked(2) {
            _ if name.is_empty() => None,
            None if inner.len() == name.len() => Some(None),
            Some((":-", default)) => Some(Some(default)),
            _ => None,
        };
        match default {
            Some(default) => Ok((Part::Variable { name, default }, end + 3)),
            None => Err(TemplateError::BadName { offset, found: inner.to_owned() }),
        }
    }
}

/// The length of the variable name that `text` starts with.
///
/// 0 where it starts with none.
fn name_len(text: &str) -> usize {
    let is_name = |(at, it): (usize, u8)| {
        it == b'_' || it.is_ascii_alphabetic() || (at > 0 && it.is_ascii_digit())
    };
    text.bytes().enumerate().take_while(|it| is_name(*it)).count()
}

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

    /// Every value under `host`.
    ///
    /// # Errors
    ///
    /// All variables that are unset and have no default, each with the names that use it. An unset
    /// variable never becomes an empty string.
    pub fn expand(
        &self,
        host: &Environment,
    ) -> Result<Vec<(OsString, OsString)>, MissingVariables> {
        let mut res = Vec::with_capacity(self.0.len());
        let mut missing: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, template) in &*self.0 {
            match template.expand(host) {
                Ok(value) => res.push((OsStr::new(&**name).to_owned(), value)),
                Err(names) => {
                    for it in names {
                        let used_in = missing.entry(it).or_default();
                        if used_in.last().is_none_or(|last| **last != **name) {
                            used_in.push(name.to_string());
                        }
                    }
                }
            }
        }
        if missing.is_empty() { Ok(res) } else { Err(MissingVariables { missing }) }
    }
}

/// Variables that declared values need and the host does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingVariables {
    /// Each missing variable with the declared names that use it.
    pub missing: BTreeMap<String, Vec<String>>,
}

impl fmt::Display for MissingVariables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.missing.len() == 1 { "variable" } else { "variables" };
        write!(f, "{what} not set: ")?;
        for (at, (name, used_in)) in self.missing.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{name} (used in {})", used_in.join(", "))?;
        }
        Ok(())
    }
}

impl std::error::Error for MissingVariables {}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    fn host() -> Environment {
        [("A", "1"), ("EMPTY", ""), ("NESTED", "${A} $A")].into_iter().collect()
    }

    #[track_caller]
    fn check(text: &str, expect: Expect) {
        let res = match Template::parse(text) {
            Ok(template) => format!("{:?}", template.expand(&host())),
            Err(err) => err.to_string(),
        };
        expect.assert_eq(&res);
    }

    #[test]
    fn the_table_of_forms() {
        check("plain", expect![[r#"Ok("plain")"#]]);
        check("", expect![[r#"Ok("")"#]]);
        check("<${A}|$A>", expect![[r#"Ok("<1|1>")"#]]);
        check("$A_B", expect![[r#"Err(["A_B"])"#]]);
        check("$A-B é$A", expect![[r#"Ok("1-B é1")"#]]);
        check("${EMPTY}", expect![[r#"Ok("")"#]]);
        check("${EMPTY:-d}${NONE:-d}${A:-d}", expect![[r#"Ok("dd1")"#]]);
        check("${NONE:-}", expect![[r#"Ok("")"#]]);
        check("${NONE:-a:-$A}", expect![[r#"Ok("a:-$A")"#]]);
        check("$$A $ $1 $", expect![[r#"Ok("$A $ $1 $")"#]]);
        check("$${A}", expect![[r#"Ok("${A}")"#]]);
        check("${NESTED}", expect![[r#"Ok("${A} $A")"#]]);
        check("$X ${Y} $X", expect![[r#"Err(["X", "Y", "X"])"#]]);
    }

    #[test]
    fn a_bad_brace_is_a_load_error() {
        check(
            "a ${A",
            expect!["`${` at byte 2 is not closed: write `${NAME}`, or `$$` for a dollar"],
        );
        check(
            "${1A}",
            expect![
                "`${1A}` at byte 0 is not understood: write `${NAME}`, `${NAME:-default}`, or `$$` for a dollar"
            ],
        );
        for bad in ["${}", "${A B}", "${env:A}", "${A-b}", "${A:}", "${A:é}", "${é}", "${A:+x}"] {
            assert!(Template::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn values_of_one_meaning_are_equal() {
        let parsed = |text| Template::parse(text).expect("valid");
        assert_eq!(parsed("a$A$"), parsed("a${A}$$"));
        assert_ne!(parsed("$A"), parsed("$$A"));
        assert_ne!(parsed("${A}"), parsed("${A:-}"));
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

    proptest! {
        #[test]
        fn text_without_a_dollar_stays(text in "[^$]*") {
            let template = Template::parse(&text).expect("no dollar, no error");
            prop_assert_eq!(template.expand(&Environment::new()), Ok(OsString::from(text)));
        }

        #[test]
        fn doubled_dollars_give_any_text_back(text in ".*") {
            let template = Template::parse(&text.replace('$', "$$")).expect("escaped");
            prop_assert_eq!(template.expand(&host()), Ok(OsString::from(text)));
        }

        #[test]
        fn a_value_is_never_expanded_again(value in ".*") {
            let host: Environment = [("V", value.clone())].into_iter().collect();
            let template = Template::parse("<${V}>").expect("valid");
            prop_assert_eq!(template.expand(&host), Ok(OsString::from(format!("<{value}>"))));
        }
    }
}
