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

    /// A row from a Markdown file: `# `, the title, a blank line, then the explanation.
    ///
    /// ```
    /// use flyto_diagnostics::{Code, CodeInfo};
    ///
    /// const INFO: CodeInfo =
    ///     CodeInfo::from_markdown(Code::new("F9001"), "# no eggs\n\nA cake needs eggs.\n");
    /// assert_eq!((INFO.title, INFO.explanation), ("no eggs", "A cake needs eggs.\n"));
    /// ```
    ///
    /// # Panics
    ///
    /// When the text has another shape; in a constant that is a compile error.
    pub const fn from_markdown(code: Code, text: &'static str) -> Self {
        let bytes = text.as_bytes();
        assert!(bytes.len() > 2 && bytes[0] == b'#' && bytes[1] == b' ', "no title after `# `");
        let mut end = 2;
        while bytes[end] != b'\n' {
            end += 1;
        }
        assert!(bytes[end + 1] == b'\n', "no blank line after the title");
        let (head, explanation) = text.split_at(end + 2);
        let (title, _) = head.split_at(2).1.split_at(end - 2);
        Self { code, title, explanation }
    }
}

/// Declares a constant for each code of a crate, and `CODES`, the table of their explanations.
///
/// A row is the name of the constant and the code. The explanation is the file `codes/CODE.md`
/// beside the file with the table, in the shape that [`CodeInfo::from_markdown`] reads; it becomes
/// part of the program. A missing file is a compile error.
///
/// ```ignore
/// flyto_diagnostics::code_table! {
///     /// The recipe has no eggs.
///     NO_EGGS = "F9001"; // explained in codes/F9001.md
/// }
/// ```
#[macro_export]
macro_rules! code_table {
    ($($(#[$attribute:meta])* $name:ident = $code:literal;)+) => {
        $($(#[$attribute])* pub const $name: $crate::Code = $crate::Code::new($code);)+

        /// Every code of this crate with its explanation, in the order of the codes.
        pub const CODES: &[$crate::CodeInfo] = &[$(
            $crate::CodeInfo::from_markdown(
                $name,
                include_str!(concat!("codes/", $code, ".md")),
            ),
        )+];
    };
}
