//! The names of jobs.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::ids;

/// The name of a job: 12 hexadecimal digits in lower case. It is the name of the job's directory.
///
/// ```
/// use flyto_host::jobs::JobId;
///
/// let id = JobId::parse("0f3a9c51b7d2").expect("12 digits");
/// assert_eq!(id.as_str(), "0f3a9c51b7d2");
/// assert!(JobId::parse("0f3a").is_none() && JobId::parse("../../../etc").is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(String);

impl JobId {
    /// Digits of an id. One that is taken is not given again.
    pub const DIGITS: usize = ids::DIGITS;

    /// Takes a whole id; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        (text.len() == Self::DIGITS && is_prefix(text)).then(|| Self(text.to_owned()))
    }

    /// Makes an id that other jobs hardly have.
    pub(super) fn next() -> Self {
        Self(ids::digits())
    }

    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a text can be the beginning of an id. No other text is ever part of a path.
pub(super) fn is_prefix(text: &str) -> bool {
    let is_digit = |it: u8| matches!(it, b'0'..=b'9' | b'a'..=b'f');
    (1..=JobId::DIGITS).contains(&text.len()) && text.bytes().all(is_digit)
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for JobId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_and_can_be_read_back() {
        let (a, b) = (JobId::next(), JobId::next());
        assert_ne!(a, b);
        assert_eq!(JobId::parse(a.as_str()), Some(a));
    }

    #[test]
    fn nothing_else_is_an_id() {
        for text in ["", "0F3A9C51B7D2", "0f3a9c51b7d20", "../0f3a9c51b", "0f3a9c51b7d/", "é"] {
            assert_eq!(JobId::parse(text), None, "{text}");
        }
        assert!(is_prefix("0") && !is_prefix("") && !is_prefix("..") && !is_prefix("0/"));
    }
}
