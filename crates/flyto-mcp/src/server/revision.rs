//! The revisions of the protocol that are spoken, and their two eras.

use std::fmt;

/// A revision of the protocol, by the date that names it.
///
/// There are two eras: up to 2025-11-25 a connection begins with a handshake that agrees on a revision, and both sides may send
/// requests; from 2026-07-28 on each request carries its revision and the capabilities of its client, and only the client sends
/// requests. Revisions are ordered by their dates.
///
/// ```
/// use flyto_mcp::Revision;
///
/// assert_eq!(Revision::parse("2025-11-25"), Some(Revision::V2025_11_25));
/// assert!(Revision::LATEST.is_modern() && !Revision::LATEST_LEGACY.is_modern());
/// assert_eq!(Revision::parse("1900-01-01"), None);
/// assert!(Revision::V2024_11_05 < Revision::LATEST);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Revision {
    /// [2024-11-05](https://modelcontextprotocol.io/specification/2024-11-05): tools, without hints about them.
    V2024_11_05,
    /// [2025-03-26](https://modelcontextprotocol.io/specification/2025-03-26): hints about tools, and batches.
    V2025_03_26,
    /// [2025-06-18](https://modelcontextprotocol.io/specification/2025-06-18): structured results and elicitation; no
    /// batches any more.
    V2025_06_18,
    /// [2025-11-25](https://modelcontextprotocol.io/specification/2025-11-25): the last one with a handshake.
    V2025_11_25,
    /// [2026-07-28](https://modelcontextprotocol.io/specification/2026-07-28): each request carries the revision and the
    /// capabilities of its client, and a server sends no requests.
    V2026_07_28,
}

impl Revision {
    /// Every revision, the newest first.
    pub const ALL: [Self; 5] = [
        Self::V2026_07_28,
        Self::V2025_11_25,
        Self::V2025_06_18,
        Self::V2025_03_26,
        Self::V2024_11_05,
    ];
    /// The newest one.
    pub const LATEST: Self = Self::V2026_07_28;
    /// The newest one that begins with a handshake.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;

    /// The revision of this name; `None` for one that is not spoken.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == name)
    }

    /// Its name: a date.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Whether each request carries the revision, in place of a handshake at the begin of the connection.
    #[must_use]
    pub const fn is_modern(self) -> bool {
        matches!(self, Self::V2026_07_28)
    }

    /// Whether several messages may come as one array.
    #[must_use]
    pub const fn has_batches(self) -> bool {
        matches!(self, Self::V2024_11_05 | Self::V2025_03_26)
    }

    /// Whether results of tools have a structured part, and servers may ask by elicitation.
    #[must_use]
    pub const fn has_structured_results(self) -> bool {
        !self.has_batches()
    }
}

/// The date.
impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
