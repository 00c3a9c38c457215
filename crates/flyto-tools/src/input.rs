//! The arguments of a call, as they were received.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, LazyLock};

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};
use serde_json::Value;

/// The arguments of one call: the text exactly as it arrived, and its meaning.
///
/// Programs get the text byte for byte, so key order, the spelling of numbers and white space
/// survive; checks read [`value`](Self::value). Both always say the same thing, which is why an
/// object that holds one key twice is refused: readers disagree about which of the two counts, and
/// a check could approve one while the program acts on the other.
///
/// Cloning is cheap.
///
/// ```
/// use flyto_tools::Input;
///
/// let input = Input::parse(r#"{"count": 1.50}"#)?;
/// assert_eq!(input.as_str(), r#"{"count": 1.50}"#);
/// assert_eq!(input.value()["count"], 1.5);
/// assert_eq!(Input::empty().as_str(), "");
/// # Ok::<(), flyto_tools::InputError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Input {
    text: Arc<str>,
    value: Arc<Value>,
}

/// Why a text is no input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The text is not one JSON value.
    #[error("failed to read the input as JSON: {why}")]
    NotJson {
        /// What the parser found, with line and column.
        why: String,
        /// Line of the fault, from 1.
        line: usize,
        /// Column of the fault in bytes, from 1.
        column: usize,
    },
    /// An object holds the same key twice.
    #[error(
        "failed to read the input: the key {key:?} stands twice in one object \
         (line {line} column {column})"
    )]
    DuplicateKey {
        /// The key.
        key: String,
        /// Line of the second occurrence, from 1.
        line: usize,
        /// Column of the second occurrence in bytes, from 1.
        column: usize,
    },
    /// There are more values than [`Input::MAX_VALUES`].
    #[error(
        "failed to read the input: it holds more than {} values (line {line} column {column})",
        Input::MAX_VALUES
    )]
    TooManyValues {
        /// Line of the first value beyond, from 1.
        line: usize,
        /// Column of the first value beyond in bytes, from 1.
        column: usize,
    },
}

impl Input {
    /// How many values an input may hold, those in arrays and objects counted: 1,000,000.
    ///
    /// A value takes up to a hundred bytes of memory and as few as two of text, so that a bound on
    /// bytes alone would let 30 MB of empty arrays take a gigabyte.
    pub const MAX_VALUES: usize = 1_000_000;

    /// Reads `text` as one JSON value of any type and keeps the text.
    ///
    /// A number beyond the range of `u64`, `i64` and `f64` digits is kept in the text and rounded
    /// to the nearest `f64` in the value.
    ///
    /// # Errors
    ///
    /// [`InputError::NotJson`] for anything else than one JSON value (also for the empty text: use
    /// [`Input::empty`] where there is no input), for a number beyond `f64`, and beyond 128 levels;
    /// [`InputError::DuplicateKey`] where an object repeats a key; [`InputError::TooManyValues`]
    /// beyond [`MAX_VALUES`](Self::MAX_VALUES).
    pub fn parse(text: impl Into<Arc<str>>) -> Result<Self, InputError> {
        let text = text.into();
        // Before anything is kept of it.
        let mut found = Found { n_values: 0, duplicate: None, refuses_duplicates: true };
        let value = walk(&text, &mut found).and_then(|()| serde_json::from_str(&text));
        let value = value.map_err(|err| {
            let (line, column) = (err.line(), err.column());
            match found.duplicate.take() {
                Some(key) => InputError::DuplicateKey { key, line, column },
                None if found.n_values > Self::MAX_VALUES => {
                    InputError::TooManyValues { line, column }
                }
                None => InputError::NotJson { why: err.to_string(), line, column },
            }
        })?;
        Ok(Self { text, value: Arc::new(value) })
    }

    /// Makes an input from a value; its text is the compact JSON of it.
    #[must_use]
    pub fn from_value(value: Value) -> Self {
        Self { text: value.to_string().into(), value: Arc::new(value) }
    }

    /// No input at all: the text is empty, and the value is `{}`.
    #[must_use]
    pub fn empty() -> Self {
        static EMPTY: LazyLock<Input> = LazyLock::new(|| Input {
            text: "".into(),
            value: Arc::new(Value::Object(serde_json::Map::new())),
        });
        EMPTY.clone()
    }

    /// True for [`Input::empty`]; false for `{}`, which was written. A program reads end of input at once for the
    /// one, and two bytes for the other.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The text as received.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text as received, to be shared without a copy.
    #[must_use]
    pub fn text(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    /// What the text means.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.value
    }
}

/// No input at all.
impl Default for Input {
    fn default() -> Self {
        Self::empty()
    }
}

impl From<Value> for Input {
    fn from(value: Value) -> Self {
        Self::from_value(value)
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Input").field(&self.text).finish()
    }
}

/// Serialises the meaning; the spelling of the text is not kept.
impl Serialize for Input {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

/// Reads what a tool printed as one JSON value, of at most [`Input::MAX_VALUES`] values.
///
/// Of a key that an object holds twice, the last value counts, as for most readers.
///
/// ```
/// assert_eq!(flyto_tools::json_value("[1, 2]")?, serde_json::json!([1, 2]));
/// let many = format!("[{}1]", "1,".repeat(flyto_tools::Input::MAX_VALUES));
/// let err = flyto_tools::json_value(&many).unwrap_err();
/// assert!(err.to_string().starts_with("more than 1000000 values"));
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Errors
///
/// The text is not one JSON value, is nested beyond 128 levels, or holds more values.
pub fn json_value(text: &str) -> Result<Value, serde_json::Error> {
    walk(text, &mut Found { n_values: 0, duplicate: None, refuses_duplicates: false })?;
    serde_json::from_str(text)
}

/// Stops at the first fault of a text: it is no JSON, or it holds what `found` then names.
fn walk(text: &str, found: &mut Found) -> Result<(), serde_json::Error> {
    Walk(found).deserialize(&mut serde_json::Deserializer::from_str(text))
}

/// What a walk through a text came to.
struct Found {
    n_values: usize,
    /// The first key that its object has already seen.
    duplicate: Option<String>,
    refuses_duplicates: bool,
}

/// Walks a JSON text and stops where it is to be refused. Nothing of it is kept but the keys of open objects.
struct Walk<'a>(&'a mut Found);

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        self.0.n_values += 1;
        if self.0.n_values > Input::MAX_VALUES {
            return Err(D::Error::custom(format_args!("more than {} values", Input::MAX_VALUES)));
        }
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if seen.contains(&key) {
                self.0.duplicate = Some(key);
                return Err(A::Error::custom("duplicate key"));
            }
            if self.0.refuses_duplicates {
                seen.insert(key);
            }
            map.next_value_seed(Walk(self.0))?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(Walk(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Expect) {
        expect.assert_eq(&match Input::parse(text) {
            Ok(input) => {
                assert_eq!(input.as_str(), text);
                input.value().to_string()
            }
            Err(err) => err.to_string(),
        });
    }

    #[test]
    fn text_is_kept_as_received() {
        check("{ \"b\" : 1.50,\n \"a\": 1e2 }", expect![[r#"{"b":1.5,"a":100.0}"#]]);
        check("\"any value\"", expect![[r#""any value""#]]);
        check("[{\"a\":1},{\"a\":1}]", expect![[r#"[{"a":1},{"a":1}]"#]]);
        check("123456789012345678901234567890", expect!["1.2345678901234568e+29"]);
    }

    #[test]
    fn what_is_no_json_is_refused() {
        check(
            "",
            expect![
                "failed to read the input as JSON: EOF while parsing a value at line 1 column 0"
            ],
        );
        check(
            "{} {}",
            expect!["failed to read the input as JSON: trailing characters at line 1 column 4"],
        );
        check(
            "1e999",
            expect!["failed to read the input as JSON: number out of range at line 1 column 5"],
        );
        check(
            "\"\\ud800\"",
            expect![
                "failed to read the input as JSON: unexpected end of hex escape at line 1 column 8"
            ],
        );
        check(
            &"[".repeat(200),
            expect![
                "failed to read the input as JSON: recursion limit exceeded at line 1 column 128"
            ],
        );
    }

    #[test]
    fn a_key_twice_is_refused_wherever_it_stands() {
        check(
            r#"{"path": "a", "path": "/etc/shadow"}"#,
            expect![[
                r#"failed to read the input: the key "path" stands twice in one object (line 1 column 20)"#
            ]],
        );
        check(
            "[0, {\"x\": {\"k\": 1,\n \"\\u006b\": 2}}]",
            expect![[
                r#"failed to read the input: the key "k" stands twice in one object (line 2 column 9)"#
            ]],
        );
    }

    #[test]
    fn values_have_a_limit() {
        let text = |n: usize| format!("[{}0]", "[],".repeat(n - 2));
        assert!(Input::parse(text(Input::MAX_VALUES)).is_ok());
        let err = Input::parse(text(Input::MAX_VALUES + 1)).unwrap_err();
        expect![
            "failed to read the input: it holds more than 1000000 values (line 1 column 2999998)"
        ]
        .assert_eq(&err.to_string());
    }

    #[test]
    fn no_input_reads_as_an_empty_object() {
        let input = Input::empty();
        assert!(input.is_empty());
        assert_eq!((input.as_str(), input.value()), ("", &serde_json::json!({})));
        assert!(!Input::from_value(serde_json::json!({})).is_empty());
    }

    proptest! {
        #[test]
        fn parsing_agrees_with_serde_json(text in r#"[\[\]{}:,"a0-9 .eE\\-]{0,24}"#) {
            let ours = Input::parse(text.as_str());
            let theirs = serde_json::from_str::<Value>(&text);
            match (ours, theirs) {
                (Ok(input), Ok(value)) => prop_assert_eq!(input.value(), &value),
                (Err(InputError::DuplicateKey { .. }), Ok(_)) | (Err(_), Err(_)) => {}
                (ours, theirs) => prop_assert!(false, "{ours:?} but {theirs:?}"),
            }
        }
    }
}
