//! What a scan reports.

use std::{fmt, ops::Range, str::FromStr};

use serde::{Deserialize, Serialize, de::Error as _};

/// How sure a rule is, and so what a caller does about a match. Ordered: [`Note`](Self::Note) is least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Tier {
    /// Looks like a token and has no name: text without a known format, 16 characters or more. Show it to a
    /// person, and stop nothing.
    Note,
    /// A value that the text itself calls a secret: `password=…`, `--token …`. A person decides; where none can
    /// be asked, treat it as [`Block`](Self::Block).
    Ask,
    /// A documented token format, a private key, a password in a URL, or a value that the guard was given. Stop.
    Block,
}

impl Tier {
    /// All of them, the least first.
    pub const ALL: [Self; 3] = [Self::Note, Self::Ask, Self::Block];

    /// The name in files and reports: `note`, `ask`, `block`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Ask => "ask",
            Self::Block => "block",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// In which form of the text a secret was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum View {
    /// As it stands there.
    AsWritten,
    /// In what a run of Base64 decodes to (RFC 4648, either alphabet, with or without padding).
    Base64,
    /// In what a run of hexadecimal digits decodes to.
    Hex,
    /// Behind percent-encoding (RFC 3986, section 2.1).
    Percent,
    /// Behind the escapes of JSON, C or a shell: `\u0067`, `\x67`, `\147`.
    Escapes,
    /// In parts that the text joins: `$A$B` of shell variables, `"a" + "b"`, `'a''b'`.
    Joined,
    /// Back to front, in a text that reverses something.
    Reversed,
}

impl View {
    /// The name in files and reports, such as `as-written` or `base64`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AsWritten => "as-written",
            Self::Base64 => "base64",
            Self::Hex => "hex",
            Self::Percent => "percent",
            Self::Escapes => "escapes",
            Self::Joined => "joined",
            Self::Reversed => "reversed",
        }
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Says which secret a match is, without saying what it is: HMAC-SHA-256 (RFC 2104) of the secret with the key of
/// the guard.
///
/// Equal secrets have equal fingerprints under one key. A plain digest of a weak password can be found by trying
/// passwords; this one cannot without the key. It is written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub [u8; 32]);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// A text that is no fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a fingerprint is 64 hexadecimal digits, as a match shows it")]
pub struct InvalidFingerprint;

impl FromStr for Fingerprint {
    type Err = InvalidFingerprint;

    fn from_str(text: &str) -> Result<Self, InvalidFingerprint> {
        if text.len() != 64 {
            return Err(InvalidFingerprint);
        }
        let mut res = [0; 32];
        for (byte, digits) in res.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digit = |it: u8| char::from(it).to_digit(16).ok_or(InvalidFingerprint);
            *byte = (digit(digits[0])? * 16 + digit(digits[1])?) as u8;
        }
        Ok(Self(res))
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// One secret that was found. It can be logged, stored and shown: the secret itself is not in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SecretMatch {
    /// The rule's id, such as `github-token`; ids stay the same between versions.
    pub rule: String,
    /// What was found, for people: `GitHub token`.
    pub label: String,
    /// How sure the rule is.
    pub tier: Tier,
    /// The bytes of the content that hold the secret, or its encoded form, or its last part where it is joined.
    pub span: Range<usize>,
    /// The line of the span's first byte, counted from 1.
    pub line: usize,
    /// In which form of the text it was found.
    pub view: View,
    /// The first 4 characters of the secret (fewer of a short one), and `…`.
    pub sample: String,
    /// How many characters the secret has, decoded.
    pub length: usize,
    /// Which secret it is.
    pub fingerprint: Fingerprint,
    /// The environment variable that usually holds such a secret, such as `GITHUB_TOKEN`.
    pub variable: Option<String>,
}

impl SecretMatch {
    /// A match as a guard of your own reports it; `secret` is what the span holds, and only its first characters,
    /// its length and its fingerprint are kept.
    #[must_use]
    pub fn new(
        rule: impl Into<String>,
        label: impl Into<String>,
        tier: Tier,
        span: Range<usize>,
        secret: &[u8],
        fingerprint: Fingerprint,
    ) -> Self {
        let text = String::from_utf8_lossy(secret);
        let length = text.chars().count();
        let shown = (length / 4).min(4);
        let mut sample: String =
            text.chars().take(shown).map(|it| if it.is_control() { '.' } else { it }).collect();
        sample.push('…');
        Self {
            rule: rule.into(),
            label: label.into(),
            tier,
            span,
            line: 1,
            view: View::AsWritten,
            sample,
            length,
            fingerprint,
            variable: None,
        }
    }

    /// Sets the line.
    #[must_use]
    pub fn at_line(mut self, line: usize) -> Self {
        self.line = line;
        self
    }

    /// Sets the form of the text.
    #[must_use]
    pub fn in_view(mut self, view: View) -> Self {
        self.view = view;
        self
    }

    /// Sets the environment variable that usually holds such a secret.
    #[must_use]
    pub fn with_variable(mut self, variable: Option<&str>) -> Self {
        self.variable = variable.map(str::to_owned);
        self
    }

    /// What the author of the text does instead.
    #[must_use]
    pub fn advice(&self) -> String {
        match &self.variable {
            Some(name) => format!("read it from the environment: \"${name}\""),
            None => "read it from an environment variable".to_owned(),
        }
    }
}

/// As one line: `line 3: GitHub token (github-token, block): ghp_… (40 characters)`.
impl fmt::Display for SecretMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, label, tier, line, view, sample, length, .. } = self;
        write!(f, "line {line}: {label} ({rule}, {tier}")?;
        if *view != View::AsWritten {
            write!(f, ", {view}")?;
        }
        write!(f, "): {sample} ({length} characters)")
    }
}

/// Why a content could not be scanned. Treat it as a match of tier [`Tier::Block`]: nothing is known about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScanError {
    /// The content is larger than the guard takes.
    #[error(
        "failed to scan {location} for secrets: it has {bytes} bytes, more than {max_bytes}; shorten it, or raise the bound of the guard"
    )]
    TooLarge {
        /// What was scanned, as the caller named it.
        location: String,
        /// Its size.
        bytes: u64,
        /// The most that the guard takes.
        max_bytes: u64,
    },
    /// A user's rule needs more memory than a pattern may have once it is compiled.
    #[error(
        "failed to scan {location} for secrets: the pattern of the rule {rule:?} is too large to compile; use smaller repetition counts"
    )]
    RuleTooLarge {
        /// What was scanned, as the caller named it.
        location: String,
        /// The rule's id.
        rule: String,
    },
}
