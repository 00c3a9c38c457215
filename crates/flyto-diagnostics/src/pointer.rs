//! Paths into a JSON document, as RFC 6901 writes them.

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};

/// A JSON Pointer: the path from a document's root to one of its values, such as `/tools/0/name`.
///
/// The empty pointer is the root. `~` and `/` inside a key are written `~0` and `~1`, which is done
/// here, so keys are passed in as they are. All other characters of a key stay as they are too, so
/// what goes to a terminal should go through [`quoted`](crate::quoted).
///
/// ```
/// use flyto_diagnostics::Pointer;
///
/// let mut pointer = Pointer::root().join("paths").join("/etc/hosts");
/// pointer.push_index(0);
/// assert_eq!(pointer.as_str(), "/paths/~1etc~1hosts/0");
/// assert_eq!(pointer.tokens().collect::<Vec<_>>(), ["paths", "/etc/hosts", "0"]);
/// assert!(Pointer::parse("paths").is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointer {
    /// The written form: empty, or tokens that each follow a `/`, escaped.
    text: String,
}

impl Pointer {
    /// The pointer to the whole document.
    pub const fn root() -> Self {
        Self { text: String::new() }
    }

    /// Reads the written form.
    ///
    /// # Errors
    ///
    /// [`InvalidPointer`] when the text is neither empty nor begins with `/`, or when a `~` is
    /// followed by something else than `0` or `1`.
    pub fn parse(text: &str) -> Result<Self, InvalidPointer> {
        let bad_start = !text.is_empty() && !text.starts_with('/');
        if bad_start || raw_tokens(text).any(|token| unescape(token).is_none()) {
            return Err(InvalidPointer { text: text.to_owned() });
        }
        Ok(Self { text: text.to_owned() })
    }

    /// Goes down to the member of that name.
    pub fn push(&mut self, key: &str) {
        self.text.push('/');
        for c in key.chars() {
            match c {
                '~' => self.text.push_str("~0"),
                '/' => self.text.push_str("~1"),
                c => self.text.push(c),
            }
        }
    }

    /// Goes down to the item at `index`, counted from 0.
    pub fn push_index(&mut self, index: usize) {
        self.text.push('/');
        self.text.push_str(&index.to_string());
    }

    /// Goes up one level and says whether there was one.
    pub fn pop(&mut self) -> bool {
        match self.text.rfind('/') {
            Some(at) => {
                self.text.truncate(at);
                true
            }
            None => false,
        }
    }

    /// The pointer to the member `key` of what this one points to.
    #[must_use]
    pub fn join(&self, key: &str) -> Self {
        let mut res = self.clone();
        res.push(key);
        res
    }

    /// The steps from the root, unescaped: keys, and indices in decimal.
    pub fn tokens(&self) -> impl Iterator<Item = Cow<'_, str>> {
        raw_tokens(&self.text).filter_map(unescape)
    }

    /// The written form; empty for the root.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Pointer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

/// A text that is no JSON Pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidPointer {
    text: String,
}

impl fmt::Display for InvalidPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to read {} as a JSON Pointer", crate::quote::quoted(&self.text))
    }
}

impl std::error::Error for InvalidPointer {}

/// The tokens as written, of a text that is empty or begins with `/`.
pub(crate) fn raw_tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split('/').skip(1)
}

/// The key that a token stands for, or nothing when it has a `~` that is no escape.
pub(crate) fn unescape(token: &str) -> Option<Cow<'_, str>> {
    if !token.contains('~') {
        return Some(Cow::Borrowed(token));
    }
    let mut res = String::with_capacity(token.len());
    let mut chars = token.chars();
    while let Some(c) = chars.next() {
        res.push(match c {
            '~' => match chars.next() {
                Some('0') => '~',
                Some('1') => '/',
                _ => return None,
            },
            c => c,
        });
    }
    Some(Cow::Owned(res))
}

/// The index that a token stands for: decimal without leading zeros (RFC 6901 section 4).
pub(crate) fn array_index(token: &str) -> Option<usize> {
    let plain = token.bytes().all(|byte| byte.is_ascii_digit());
    let leading_zero = token.len() > 1 && token.starts_with('0');
    if plain && !leading_zero { token.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_are_escaped() {
        let mut pointer = Pointer::root();
        assert_eq!(pointer.to_string(), "");
        pointer.push("a/b~c");
        pointer.push_index(12);
        pointer.push("");
        assert_eq!(pointer.as_str(), "/a~1b~0c/12/");
        assert_eq!(pointer.tokens().collect::<Vec<_>>(), ["a/b~c", "12", ""]);
        assert!(pointer.pop() && pointer.pop() && pointer.pop());
        assert_eq!(pointer, Pointer::root());
        assert!(!pointer.pop());
    }

    #[test]
    fn what_is_no_pointer_is_refused() {
        for text in ["a", " /a", "/~", "/~2", "/a/~~0"] {
            assert!(Pointer::parse(text).is_err(), "{text:?}");
        }
        for text in ["", "/", "//", "/~0~1", "/~01"] {
            assert_eq!(Pointer::parse(text).unwrap().as_str(), text);
        }
        let err = Pointer::parse("a\n").unwrap_err();
        assert_eq!(err.to_string(), r#"failed to read "a\n" as a JSON Pointer"#);
    }

    #[test]
    fn indices_are_plain_decimals() {
        assert_eq!(array_index("0"), Some(0));
        assert_eq!(array_index("10"), Some(10));
        for token in ["", "01", "-1", "+1", "-", "1.0", "99999999999999999999999"] {
            assert_eq!(array_index(token), None, "{token:?}");
        }
    }

    proptest! {
        #[test]
        fn any_keys_come_back(keys in proptest::collection::vec(".*", 0..5)) {
            let mut pointer = Pointer::root();
            for key in &keys {
                pointer.push(key);
            }
            prop_assert_eq!(&Pointer::parse(pointer.as_str()).unwrap(), &pointer);
            prop_assert_eq!(pointer.tokens().collect::<Vec<_>>(), keys.clone());
            for _ in &keys {
                prop_assert!(pointer.pop());
            }
            prop_assert_eq!(pointer, Pointer::root());
        }
    }
}
