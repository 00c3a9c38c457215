//! Names: the id inside of the host, and the wire name that every model API takes.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::hidden::{is_hidden, quoted};

/// The name of a tool inside of the host: `tool`, or `owner:tool`, where the owner is a plugin or
/// a server.
///
/// Ids are wider than any single source of tools: either part may hold every character that can be
/// seen, and the first colon parts them. Only `__` is refused in an id
/// without an owner, because there it would read as the [`wire_name`](Self::wire_name) of another
/// tool.
///
/// ```
/// use flyto_tools::ToolId;
///
/// let id: ToolId = "text-stats:count".parse()?;
/// assert_eq!((id.owner(), id.tool()), (Some("text-stats"), "count"));
/// assert_eq!(id.wire_name(), "text-stats__count");
/// assert_eq!(ToolId::parse("7zip:list")?.wire_name(), "zip__list-1f5bb9");
/// # Ok::<(), flyto_tools::InvalidName>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct ToolId {
    text: Arc<str>,
}

/// A text that is no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to use {} as the name of a tool: {why}", quoted(name))]
pub struct InvalidName {
    /// The text, cut to 256 bytes at most.
    pub name: String,
    /// What is wrong with it.
    pub why: InvalidNameKind,
}

impl InvalidName {
    fn new(name: &str, why: InvalidNameKind) -> Self {
        let end = name.floor_char_boundary(ToolId::MAX_BYTES);
        Self { name: name[..end].to_owned(), why }
    }
}

/// What is wrong with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidNameKind {
    /// The name, its owner or its tool is empty.
    #[error("it is empty, or empty on one side of the colon")]
    Empty,
    /// There is white space in it, or a character that is not seen or hides others: a control
    /// character, a zero-width one, a change of the writing direction.
    #[error("white space, control and invisible characters cannot be part of a name")]
    Blank,
    /// There is a colon in what should be an owner.
    #[error("the owner cannot hold a colon")]
    Colon,
    /// It is longer than [`ToolId::MAX_BYTES`].
    #[error("it is longer than 256 bytes")]
    TooLong,
    /// There is `__` in a name without an owner.
    #[error("`__` stands between owner and tool, so only a name with an owner can hold it")]
    Separator,
}

impl ToolId {
    /// Longest id in bytes: room for two names of 64 as plugins have them, and of 128 as servers
    /// of the Model Context Protocol may have them, with a margin.
    pub const MAX_BYTES: usize = 256;

    /// Reads an id.
    ///
    /// # Errors
    ///
    /// [`InvalidName`] with the reason.
    pub fn parse(text: &str) -> Result<Self, InvalidName> {
        match fault(text) {
            None => Ok(Self { text: text.into() }),
            Some(why) => Err(InvalidName::new(text, why)),
        }
    }

    /// Puts an id together. The owner must not hold a colon; the tool may.
    ///
    /// # Errors
    ///
    /// [`InvalidName`] with the reason.
    pub fn with_owner(owner: &str, tool: &str) -> Result<Self, InvalidName> {
        if owner.contains(':') {
            return Err(InvalidName::new(owner, InvalidNameKind::Colon));
        }
        Self::parse(&format!("{owner}:{tool}"))
    }

    /// The whole id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What stands before the first colon: a plugin or a server.
    #[must_use]
    pub fn owner(&self) -> Option<&str> {
        self.text.split_once(':').map(|(owner, _)| owner)
    }

    /// What stands after the first colon, or the whole id where there is none.
    #[must_use]
    pub fn tool(&self) -> &str {
        self.text.split_once(':').map_or(&*self.text, |(_, tool)| tool)
    }

    /// The name under which model APIs and clients know the tool, as long as no other tool is in
    /// the way. A [`Registry`](crate::Registry) settles that, and translates back.
    ///
    /// It fits `[A-Za-z][A-Za-z0-9_-]{0,63}`, which is what the strictest of them take. Where it
    /// can, it is `owner__tool` or `tool`; otherwise it is the legal characters of that, cut, with
    /// `-` and six hexadecimal digits of the SHA-256 of the id.
    #[must_use]
    pub fn wire_name(&self) -> String {
        self.plain_wire_name().unwrap_or_else(|| self.hashed_wire_name(0))
    }

    /// Every wire name the id can have, in order of preference. The sequence does not end.
    pub(crate) fn wire_names(&self) -> impl Iterator<Item = String> {
        self.plain_wire_name().into_iter().chain((0..).map(|nth| self.hashed_wire_name(nth)))
    }

    /// `owner__tool` or `tool`, if that is legal and reads back as this id.
    ///
    /// The first `__` parts the two on the way back, so `a__b:c` has no plain name: `a__b__c`
    /// belongs to `a:b__c`. Hence no two ids share a plain name.
    fn plain_wire_name(&self) -> Option<String> {
        let plain = self.joined();
        let reads_back = match plain.split_once(SEPARATOR) {
            Some((owner, tool)) => self.owner() == Some(owner) && self.tool() == tool,
            None => self.owner().is_none(),
        };
        (reads_back && is_wire_name(&plain)).then_some(plain)
    }

    /// The fallback. Six digits can be made to clash on purpose, so further ones are to be had:
    /// `nth` is part of what is hashed from 1 on.
    fn hashed_wire_name(&self, nth: u32) -> String {
        let mut hash = Sha256::new_with_prefix(self.text.as_bytes());
        if nth > 0 {
            // No id holds a NUL, so this is the hash of no other id.
            hash.update([0]);
            hash.update(nth.to_string());
        }
        let digest = hash.finalize();
        let mut stem: String = self
            .joined()
            .chars()
            .filter(|it| is_wire_char(*it))
            .skip_while(|it| !it.is_ascii_alphabetic())
            .take(WIRE_MAX_BYTES - SUFFIX_BYTES)
            .collect();
        if stem.is_empty() {
            stem.push_str("tool");
        }
        format!("{stem}-{:02x}{:02x}{:02x}", digest[0], digest[1], digest[2])
    }

    /// The id with `__` in place of the colon.
    fn joined(&self) -> String {
        match self.owner() {
            Some(owner) => format!("{owner}{SEPARATOR}{}", self.tool()),
            None => self.tool().to_owned(),
        }
    }
}

/// Stands for the colon in a wire name.
const SEPARATOR: &str = "__";
/// What OpenAI, Gemini and the clients of Anthropic take at most.
const WIRE_MAX_BYTES: usize = 64;
/// `-` and six digits.
const SUFFIX_BYTES: usize = 7;

/// What keeps a text from being an id, the first thing that is found.
fn fault(text: &str) -> Option<InvalidNameKind> {
    let (owner, tool) = match text.split_once(':') {
        Some((owner, tool)) => (Some(owner), tool),
        None => (None, text),
    };
    if tool.is_empty() || owner == Some("") {
        Some(InvalidNameKind::Empty)
    } else if text.len() > ToolId::MAX_BYTES {
        Some(InvalidNameKind::TooLong)
    } else if text.chars().any(is_unseen) {
        Some(InvalidNameKind::Blank)
    } else if owner.is_none() && tool.contains(SEPARATOR) {
        Some(InvalidNameKind::Separator)
    } else {
        None
    }
}

/// White space, and the characters by which one name passes for another ([Unicode TR 36], section 3).
///
/// [Unicode TR 36]: https://www.unicode.org/reports/tr36/
fn is_unseen(it: char) -> bool {
    it.is_whitespace() || is_hidden(it)
}

/// Whether `name` fits `[A-Za-z][A-Za-z0-9_-]{0,63}`.
pub(crate) fn is_wire_name(name: &str) -> bool {
    name.len() <= WIRE_MAX_BYTES
        && name.starts_with(|it: char| it.is_ascii_alphabetic())
        && name.chars().all(is_wire_char)
}

/// Whether model services take the character in a name.
fn is_wire_char(it: char) -> bool {
    it.is_ascii_alphanumeric() || it == '_' || it == '-'
}

impl FromStr for ToolId {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        Self::parse(text)
    }
}

impl TryFrom<String> for ToolId {
    type Error = InvalidName;

    fn try_from(text: String) -> Result<Self, InvalidName> {
        Self::parse(&text)
    }
}

/// An id sorts, hashes and compares like its text.
impl Borrow<str> for ToolId {
    fn borrow(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl fmt::Debug for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.text, f)
    }
}

impl Serialize for ToolId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(names: &[&str], expect: Expect) {
        let mut lines = String::new();
        for name in names {
            let line = match ToolId::parse(name) {
                Ok(id) => {
                    let wire = id.wire_name();
                    assert!(is_wire_name(&wire), "{wire}");
                    wire
                }
                Err(err) => format!("refused: {}", err.why),
            };
            lines.push_str(&format!("{} {line}\n", quoted(name)));
        }
        expect.assert_eq(&lines);
    }

    #[test]
    fn plain_names_stay_readable() {
        check(
            &["Read", "git:log", "text-stats:count_words", "a:b__c", "a:_b"],
            expect![[r#"
            "Read" Read
            "git:log" git__log
            "text-stats:count_words" text-stats__count_words
            "a:b__c" a__b__c
            "a:_b" a___b
        "#]],
        );
    }

    #[test]
    fn names_that_break_a_rule_are_cut_and_marked() {
        let long = format!("{}:{}", "p".repeat(64), "t".repeat(64));
        check(
            &[
                &long,
                "7zip:list",
                "42:x",
                "fs.read",
                "字数:数える",
                "a__b:c",
                "a_:b",
                "s:a:b",
                "_x",
                "-",
            ],
            expect![[r#"
                "pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp:tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt" ppppppppppppppppppppppppppppppppppppppppppppppppppppppppp-c9d780
                "7zip:list" zip__list-1f5bb9
                "42:x" x-c425cf
                "fs.read" fsread-4074bc
                "字数:数える" tool-c76eab
                "a__b:c" a__b__c-ce06b8
                "a_:b" a___b-2fda5b
                "s:a:b" s__ab-8a3c9f
                "_x" x-a01e47
                "-" tool-3973e0
            "#]],
        );
    }

    #[test]
    fn names_that_could_mislead_are_refused() {
        check(
            &[
                "",
                ":",
                "a:",
                ":b",
                "a b",
                "a\u{a0}b",
                "a\n",
                "a\0b",
                "a\u{202e}b",
                "a\u{200b}",
                "a\u{3164}",
                "a\u{2800}",
                "a__b",
                &"x".repeat(257),
            ],
            expect![[r#"
                "" refused: it is empty, or empty on one side of the colon
                ":" refused: it is empty, or empty on one side of the colon
                "a:" refused: it is empty, or empty on one side of the colon
                ":b" refused: it is empty, or empty on one side of the colon
                "a b" refused: white space, control and invisible characters cannot be part of a name
                "a\u{a0}b" refused: white space, control and invisible characters cannot be part of a name
                "a\n" refused: white space, control and invisible characters cannot be part of a name
                "a\0b" refused: white space, control and invisible characters cannot be part of a name
                "a\u{202e}b" refused: white space, control and invisible characters cannot be part of a name
                "a\u{200b}" refused: white space, control and invisible characters cannot be part of a name
                "a\u{3164}" refused: white space, control and invisible characters cannot be part of a name
                "a\u{2800}" refused: white space, control and invisible characters cannot be part of a name
                "a__b" refused: `__` stands between owner and tool, so only a name with an owner can hold it
                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" refused: it is longer than 256 bytes
            "#]],
        );
        assert_eq!(
            ToolId::with_owner("a:b", "c").map_err(|err| err.why),
            Err(InvalidNameKind::Colon)
        );
    }

    proptest! {
        #[test]
        fn wire_names_are_legal_and_plain_ones_read_back(
            owner in proptest::option::of(r"[a-c_7.:é-]{1,70}"),
            tool in r"[a-c_7.:é-]{1,70}",
        ) {
            let text = owner.map_or(tool.clone(), |owner| format!("{owner}:{tool}"));
            if let Ok(id) = ToolId::parse(&text) {
                for wire in id.wire_names().take(3) {
                    prop_assert!(is_wire_name(&wire), "{wire}");
                }
                if let Some(plain) = id.plain_wire_name() {
                    prop_assert_eq!(plain.replacen(SEPARATOR, ":", 1), text);
                }
            }
        }

        #[test]
        fn names_that_plugins_may_have_are_accepted(
            owner in "[A-Za-z0-9][A-Za-z0-9-]{0,63}",
            tool in "[A-Za-z][A-Za-z0-9_-]{0,63}",
        ) {
            let id = ToolId::with_owner(&owner, &tool).unwrap();
            prop_assert_eq!((id.owner(), id.tool()), (Some(&*owner), &*tool));
        }
    }
}
