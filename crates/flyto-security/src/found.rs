//! What a scan reports.
//!
//! [`SecretMatch`] is what a guard gives: it says which rule, where, and how sure, and holds at
//! most four characters of the secret itself. [`ScanError`] is what a guard gives in its place, and
//! means the same to a caller: stop.

use std::{fmt, ops::Range, str::FromStr};

use serde::{Deserialize, Serialize, de::Error as _};

/// How sure a rule is, and so what a caller does about a match. Ordered: [`Note`](Self::Note) is least.
///
/// ```
/// use flyto_security::Tier;
///
/// // Stop at the strongest of several matches.
/// let tiers = [Tier::Note, Tier::Block, Tier::Ask];
/// assert_eq!(tiers.iter().max(), Some(&Tier::Block));
/// assert_eq!(Tier::Ask.to_string(), "ask");
/// ```
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
    ///
    /// For options that name one, and for tables.
    pub const ALL: [Self; 3] = [Self::Note, Self::Ask, Self::Block];

    /// The name in files and reports: `note`, `ask`, `block`.
    ///
    /// What `Display` and serde write, too.
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
///
/// The span of a match is that of the form in the text, and its sample, length and fingerprint are
/// those of what was found in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum View {
    /// As it stands there.
    AsWritten,
    /// In what a run of Base64 decodes to (RFC 4648, either alphabet, with or without padding), also where that is
    /// UTF-16.
    Base64,
    /// In what a run of hexadecimal digits decodes to.
    /// Either case; an even number of digits.
    Hex,
    /// Behind percent-encoding (RFC 3986, section 2.1).
    /// Of ASCII characters; others stay encoded.
    Percent,
    /// Behind the escapes of JSON, C, a shell or other languages: `\u0067`, `\u{67}`, `\U00000067`, `\x67`, `\147`.
    Escapes,
    /// Behind the character references of HTML and XML: `&#103;`, `&#x67;`, `&lowbar;`.
    References,
    /// In parts that the text joins: `$A$B` of shell variables, `"a" + "b"`, `'a''b'`, words of a shell such as `a'b'c` and
    /// `a\b`, also over an escaped line end, and what `printf '%s%s' a b` prints.
    /// A match has a copy for each part, so that a redacted text holds none of them.
    Joined,
    /// Back to front, in a text that reverses something.
    /// Each run of characters that tokens are made of is read from its end; the text has to hold
    /// `rev`, `tac`, `reverse` or `[::-1]`.
    Reversed,
    /// As a terminal shows it: without control sequences (ECMA-48), control characters and characters without a width (U+200B
    /// and the like), which may stand within a token; also with what a backspace takes away.
    /// A match has the span of all its parts, with what stands between them.
    Displayed,
}

impl View {
    /// The name in files and reports, such as `as-written` or `base64`.
    ///
    /// What `Display` and serde write, too.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AsWritten => "as-written",
            Self::Base64 => "base64",
            Self::Hex => "hex",
            Self::Percent => "percent",
            Self::Escapes => "escapes",
            Self::References => "references",
            Self::Joined => "joined",
            Self::Reversed => "reversed",
            Self::Displayed => "displayed",
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
///
/// ```
/// use flyto_security::{DefaultGuard, Fingerprint, SecretGuard};
///
/// let key = [7; 32];
/// let text = b"mysql --password=gr8-Horse-Battery";
/// let found = DefaultGuard::builder().fingerprint_key(&key).build().scan("a.sh", text)?;
///
/// // A person has looked at it; the list of acknowledged secrets holds 64 digits.
/// let acknowledged: Fingerprint = found[0].fingerprint.to_string().parse()?;
/// let guard = DefaultGuard::builder().fingerprint_key(&key).allow(acknowledged).build();
/// assert!(guard.scan("a.sh", text)?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
///
/// Digits of either case are read; anything else is refused, white space too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a fingerprint is 64 hexadecimal digits, as a match shows it")]
pub struct InvalidFingerprint;

impl FromStr for Fingerprint {
    type Err = InvalidFingerprint;

    /// # Errors
    ///
    /// [`InvalidFingerprint`] where the text has not exactly 64 hexadecimal digits.
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
///
/// Made by a guard; a guard of your own makes one by [`new`](Self::new) and the setters.
///
/// ```
/// use flyto_security::{Fingerprint, SecretMatch, Tier};
///
/// let content = "id: ACME-4711-0815-2342";
/// let span = content.find("ACME").expect("it is there")..content.len();
/// let secret = content[span.clone()].as_bytes();
/// let fingerprint = Fingerprint([0; 32]); // an HMAC with a key of yours
/// let it = SecretMatch::new("acme-id", "ACME id", Tier::Block, span, secret, fingerprint)
///     .with_variable(Some("ACME_ID"));
/// assert_eq!(it.to_string(), "line 1: ACME id (acme-id, block): ACME… (19 characters)");
/// assert_eq!(it.advice(), "read it from the environment: \"$ACME_ID\"");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SecretMatch {
    /// The rule's id, such as `github-token`; ids stay the same between versions.
    pub rule: String,
    /// What was found, for people: `GitHub token`.
    /// Not stable, unlike [`rule`](Self::rule); may hold the name of a variable that the guard was
    /// given.
    pub label: String,
    /// How sure the rule is.
    /// Some rules look at the place too: a password for a local host is one to ask about.
    pub tier: Tier,
    /// The bytes of the content that hold the secret, or its encoded form, or its last part where it is joined.
    /// Offsets in bytes. Spans of several matches may overlap; [`redact`](crate::redact()) takes
    /// care of that.
    pub span: Range<usize>,
    /// The line of the span's first byte, counted from 1.
    /// Lines end at a line feed.
    pub line: usize,
    /// In which form of the text it was found.
    pub view: View,
    /// The first 4 characters of the secret (fewer of a short one), and `…`.
    /// A quarter of the characters at most, so that a short password is not shown; control
    /// characters are dots.
    pub sample: String,
    /// How many characters the secret has, decoded.
    /// Of bytes that are no UTF-8, what stands for them counts (U+FFFD).
    pub length: usize,
    /// Which secret it is.
    pub fingerprint: Fingerprint,
    /// The environment variable that usually holds such a secret, such as `GITHUB_TOKEN`.
    /// For a value that the guard was given, the variable it came from.
    pub variable: Option<String>,
}

impl SecretMatch {
    /// A match as a guard of your own reports it; `secret` is what the span holds, and only its first characters,
    /// its length and its fingerprint are kept.
    ///
    /// The line is 1, the view [`View::AsWritten`], and there is no variable, until a setter says
    /// something else.
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
    ///
    /// Counted from 1.
    #[must_use]
    pub fn at_line(mut self, line: usize) -> Self {
        self.line = line;
        self
    }

    /// Sets the form of the text.
    ///
    /// The secret that was passed to [`new`](Self::new) is then what was found in that form.
    #[must_use]
    pub fn in_view(mut self, view: View) -> Self {
        self.view = view;
        self
    }

    /// Sets the environment variable that usually holds such a secret.
    ///
    /// A name without `$`; `None` takes it away.
    #[must_use]
    pub fn with_variable(mut self, variable: Option<&str>) -> Self {
        self.variable = variable.map(str::to_owned);
        self
    }

    /// What the author of the text does instead.
    ///
    /// A sentence for people, in lower case without a full stop.
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
///
/// Its text names the location that the caller gave and no part of the content.
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
        /// In bytes.
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
    /// The rules of users took longer than they may for one content.
    #[error(
        "failed to scan {location} for secrets: the rules of the user took more than {seconds} s, the last of them {rule:?}; make its pattern narrower, or give it a keyword"
    )]
    TooSlow {
        /// What was scanned, as the caller named it.
        location: String,
        /// The id of the rule that was at work.
        rule: String,
        /// The longest time, in seconds.
        seconds: u64,
    },
}
