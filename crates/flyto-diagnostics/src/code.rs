//! Names for kinds of findings, and what is to be said about each.

use std::fmt;

use serde::Serialize;

/// The stable name of a kind of finding, such as `F0021`: the letter F and four digits.
///
/// A code keeps its meaning for ever; scripts and search engines rely on it. `F0001` to `F0099`
/// belong to this crate, see [`codes`](crate::codes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Code(&'static str);

impl Code {
    /// Makes a code, usually in a constant.
    ///
    /// # Panics
    ///
    /// When the text is not `F` and four digits; in a constant that is a compile error.
    pub const fn new(text: &'static str) -> Self {
        let bytes = text.as_bytes();
        assert!(bytes.len() == 5 && bytes[0] == b'F', "a code is the letter F and four digits");
        let mut at = 1;
        while at < bytes.len() {
            assert!(bytes[at].is_ascii_digit(), "a code is the letter F and four digits");
            at += 1;
        }
        Self(text)
    }

    /// The code as written.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

/// What is to be said about a code.
///
/// Each crate that makes findings has a table of these, so that a program can gather all tables and
/// explain any code it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CodeInfo {
    /// The code.
    pub code: Code,
    /// A few words, in lower case without a full stop.
    pub title: &'static str,
    /// Several sentences in Markdown, with an example of what is wrong and of what is right, each
    /// in an indented block.
    pub explanation: &'static str,
}

impl CodeInfo {
    /// A row of a table of codes.
    pub const fn new(code: Code, title: &'static str, explanation: &'static str) -> Self {
        Self { code, title, explanation }
    }
}
