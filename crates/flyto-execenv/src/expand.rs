//! `${NAME}` in declared values: strict, in one pass, never on input from a model.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fmt,
};

use crate::Environment;

/// The most bytes that one expanded value has: 131,071.
///
/// The system takes no longer string (`MAX_ARG_STRLEN`, execve(2)), so a longer value would start nothing; expansion stops
/// there, whatever a value refers to. The string of a variable is `NAME=value`: its value has less by the name and the `=`.
pub const MAX_VALUE_BYTES: usize = 131_071;

/// How many names a message lists before it counts the rest.
pub(crate) const MAX_LISTED: usize = 10;

/// How many characters of one name a message shows.
const MAX_SHOWN_CHARS: usize = 100;

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
/// use flyto_execenv::{Environment, Template, ValueError};
///
/// let host: Environment = [("HOME", "/home/ada")].into_iter().collect();
/// let cache = Template::parse("${HOME}/.cache/${TOOL:-default}")?;
/// assert_eq!(cache.expand(&host), Ok("/home/ada/.cache/default".into()));
///
/// let key = Template::parse("$API_KEY")?;
/// assert_eq!(key.expand(&host), Err(ValueError::Missing(vec!["API_KEY".to_owned()])));
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

    /// The variables without which the value cannot be made: unset in `host`, and without a default.
    ///
    /// In order of their names, each once. Makes no value.
    #[must_use]
    pub fn missing(&self, host: &Environment) -> BTreeSet<&str> {
        let mut res = BTreeSet::new();
        for part in self.parts() {
            if let Part::Variable { name, default: None } = part
                && !res.contains(name)
                && host.get(name).is_none()
            {
                res.insert(name);
            }
        }
        res
    }

    /// The fewest bytes that the value has, whatever the variables hold. Makes no value.
    ///
    /// ```
    /// use flyto_execenv::Template;
    ///
    /// assert_eq!(Template::parse("$$5 ${A}${B:-default}")?.min_bytes(), "$5 b".len());
    /// # Ok::<(), flyto_execenv::TemplateError>(())
    /// ```
    #[must_use]
    pub fn min_bytes(&self) -> usize {
        let least = |it| match it {
            Part::Literal(text) => text.len(),
            Part::Variable { default: None, .. } => 0,
            // The default takes the place of an empty value.
            Part::Variable { default: Some(default), .. } => default.len().min(1),
        };
        self.parts().map(least).sum()
    }

    /// The value under `host`.
    ///
    /// # Errors
    ///
    /// Variables are unset and have no default, or the value passes [`MAX_VALUE_BYTES`]; expansion stops there.
    pub fn expand(&self, host: &Environment) -> Result<OsString, ValueError> {
        let mut res = OsString::new();
        for part in self.parts() {
            let piece = match part {
                Part::Literal(text) => OsStr::new(text),
                Part::Variable { name, default } => match (host.get(name), default) {
                    (Some(value), Some(default)) if value.is_empty() => OsStr::new(default),
                    (Some(value), _) => value,
                    (None, Some(default)) => OsStr::new(default),
                    (None, None) => return Err(self.unfilled(host)),
                },
            };
            if res.len() + piece.len() > MAX_VALUE_BYTES {
                return Err(self.unfilled(host));
            }
            res.push(piece);
        }
        Ok(res)
    }

    /// Why there is no value: a missing variable counts more than the length, which depends on it.
    fn unfilled(&self, host: &Environment) -> ValueError {
        let missing = self.missing(host);
        if missing.is_empty() {
            return ValueError::TooLong;
        }
        ValueError::Missing(missing.into_iter().map(ToOwned::to_owned).collect())
    }
}

/// Why a value could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// Variables that are unset and have no default, in order of their names, each once.
    #[error("not set: {}", Listed(.0.iter().map(String::as_str)))]
    Missing(Vec<String>),
    /// The value passes [`MAX_VALUE_BYTES`].
    #[error("value too long: {MAX_VALUE_BYTES} bytes are the most")]
    TooLong,
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
        // Values are short: a search that prepares itself for long ones costs more.
        let (part, used) = match rest.bytes().position(|it| it == b'$') {
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

/// Names as a message lists them: the first ten, and how many more there are.
pub(crate) struct Listed<I>(pub(crate) I);

impl<'a, I: ExactSizeIterator<Item = &'a str> + Clone> fmt::Display for Listed<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.clone().take(MAX_LISTED).map(shortened).collect();
        f.write_str(&with_rest(&names, self.0.len()))
    }
}

pub(crate) fn with_rest<T: std::borrow::Borrow<str>>(shown: &[T], n_all: usize) -> String {
    match n_all - shown.len() {
        0 => shown.join(", "),
        n_more => format!("{} and {n_more} more", shown.join(", ")),
    }
}

/// The beginning of a name that is very long.
pub(crate) fn shortened(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => Cow::Owned(format!("{}…", &name[..end])),
        None => Cow::Borrowed(name),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;
    use crate::{Declared, ExpandError};

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
        check("$A_B", expect![[r#"Err(Missing(["A_B"]))"#]]);
        check("$A-B é$A", expect![[r#"Ok("1-B é1")"#]]);
        check("${EMPTY}", expect![[r#"Ok("")"#]]);
        check("${EMPTY:-d}${NONE:-d}${A:-d}", expect![[r#"Ok("dd1")"#]]);
        check("${NONE:-}", expect![[r#"Ok("")"#]]);
        check("${NONE:-a:-$A}", expect![[r#"Ok("a:-$A")"#]]);
        check("$$A $ $1 $", expect![[r#"Ok("$A $ $1 $")"#]]);
        check("$${A}", expect![[r#"Ok("${A}")"#]]);
        check("${NESTED}", expect![[r#"Ok("${A} $A")"#]]);
        check("$X ${Y} $X", expect![[r#"Err(Missing(["X", "Y"]))"#]]);
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
    fn expansion_stops_at_the_longest_value() {
        let host: Environment =
            [("BIG", "x".repeat(100_000)), ("E", String::new())].into_iter().collect();
        let parsed = |text: &str| Template::parse(text).expect("valid");
        let longest = parsed(&format!("${{BIG}}{}", "y".repeat(MAX_VALUE_BYTES - 100_000)));
        assert_eq!(longest.expand(&host).expect("it fits").len(), MAX_VALUE_BYTES);
        for text in [format!("${{BIG}}{}", "$BIG".repeat(60_000)), "z".repeat(MAX_VALUE_BYTES + 1)]
        {
            let template = parsed(&text);
            assert_eq!(template.expand(&host), Err(ValueError::TooLong));
            let declared: Declared = [("A", parsed("$E")), ("B", template)].into_iter().collect();
            let err = ExpandError::ValueTooLong { name: "B".to_owned() };
            assert_eq!(declared.expand(&host), Err(err));
        }
        // What is missing counts more: the length depends on it.
        let both = parsed("$BIG$BIG$NONE");
        assert_eq!(both.expand(&host), Err(ValueError::Missing(vec!["NONE".to_owned()])));
    }

    proptest! {
        #[test]
        fn no_value_has_fewer_bytes_than_the_least(text in r"(\$\$|\$A|\$\{A\}|\$\{A:-\}|\$\{A:-de\}|[-$}])*", value in ".?") {
            let template = Template::parse(&text).expect("it is in order");
            let host: Environment = [("A", value)].into_iter().collect();
            let expanded = template.expand(&host).expect("it is set").len();
            prop_assert!(template.min_bytes() <= expanded);
            let empty: Environment = [("A", "")].into_iter().collect();
            if !text.contains("de") {
                prop_assert_eq!(template.min_bytes(), template.expand(&empty).expect("it is set").len());
            }
        }

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
