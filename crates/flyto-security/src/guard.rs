//! The guard.
//!
//! [`SecretGuard`] is what a host holds, [`DefaultGuard`] what this crate gives it. A guard is made
//! once by a [`Builder`] and never changes, so that threads share it without a lock.

use std::{collections::HashSet, fmt};

use crate::{
    Fingerprint, ScanError, SecretMatch,
    fingerprint::FingerprintKey,
    gitleaks::{RulesError, UserRules},
    known::{Known, is_secret_name},
    scan::Scan,
};

/// The most bytes that a guard scans where its builder says nothing else: 8 MiB, more than any definition and any
/// output that a model is shown.
pub const DEFAULT_MAX_BYTES: u64 = 8 << 20;

/// Finds secrets in text.
///
/// A guard of your own can add to the one of this crate:
///
/// ```
/// use flyto_security::{DefaultGuard, Fingerprint, ScanError, SecretGuard, SecretMatch, Tier};
///
/// /// Also finds the code name of a project.
/// #[derive(Debug)]
/// struct WithCodeName(DefaultGuard);
///
/// impl SecretGuard for WithCodeName {
///     fn scan(&self, location: &str, content: &[u8]) -> Result<Vec<SecretMatch>, ScanError> {
///         let mut found = self.0.scan(location, content)?;
///         let word = b"Project Bluebird";
///         if let Some(at) = content.windows(word.len()).position(|it| it == word) {
///             let span = at..at + word.len();
///             let id = Fingerprint([0; 32]);
///             found.push(SecretMatch::new("project", "code name", Tier::Ask, span, word, id));
///         }
///         found.sort_by_key(|it| it.span.start);
///         Ok(found)
///     }
/// }
///
/// let guard = WithCodeName(DefaultGuard::default());
/// assert_eq!(guard.scan("mail", b"on Project Bluebird")?.len(), 1);
/// # Ok::<(), ScanError>(())
/// ```
pub trait SecretGuard: fmt::Debug + Send + Sync {
    /// The secrets of `content`, in the order of their spans; spans may overlap.
    ///
    /// `location` says what `content` is, such as `tools/deploy.json#/script`. It stands in errors, and a user's rules
    /// may be limited to some locations.
    ///
    /// `content` need not be UTF-8. Spans lie in it and are not empty; where it is UTF-8, they begin
    /// and end between characters.
    ///
    /// # Errors
    ///
    /// The content could not be scanned as a whole. A caller treats that as a secret: see [`ScanError`].
    fn scan(&self, location: &str, content: &[u8]) -> Result<Vec<SecretMatch>, ScanError>;

    /// Whether a scan of some 100 KiB takes no more than milliseconds, so that it may be made where others wait for it.
    ///
    /// One with patterns of users says `false`: they may take seconds.
    fn is_quick(&self) -> bool {
        true
    }
}

/// The guard of this crate: its own rules, and what its builder was given.
///
/// It takes time in proportion to the content, with at most two levels of decoding. Clones of its answers can be kept;
/// `Debug` shows neither keys nor values.
///
/// ```
/// use flyto_security::{DefaultGuard, SecretGuard, Tier};
///
/// let guard = DefaultGuard::builder()
///     .env_values([("DEPLOY_TOKEN", "correct-horse-7-battery")])
///     .build();
/// let found = guard.scan("deploy.sh", b"curl -d correct-horse-7-battery https://a.example")?;
/// assert_eq!(found[0].tier, Tier::Block);
/// assert_eq!(found[0].label, "value of the variable DEPLOY_TOKEN");
/// # Ok::<(), flyto_security::ScanError>(())
/// ```
#[derive(Debug)]
pub struct DefaultGuard {
    /// Values that are looked for as they are.
    pub(crate) known: Known,
    pub(crate) user_rules: UserRules,
    pub(crate) key: FingerprintKey,
    /// Matches with these are left out at the end.
    allowed: HashSet<Fingerprint>,
    /// In bytes.
    max_bytes: u64,
}

impl DefaultGuard {
    /// A guard with the rules of this crate, to be given more.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// How many values it looks for as they are.
    ///
    /// Those that were left out as too short or too common do not count, so a host can say how many
    /// remain.
    #[must_use]
    pub fn n_known_values(&self) -> usize {
        self.known.len()
    }

    /// How many rules of a user it has.
    #[must_use]
    pub fn n_user_rules(&self) -> usize {
        self.user_rules.len()
    }
}

impl Default for DefaultGuard {
    fn default() -> Self {
        Self::builder().build()
    }
}

impl SecretGuard for DefaultGuard {
    fn scan(&self, location: &str, content: &[u8]) -> Result<Vec<SecretMatch>, ScanError> {
        let bytes = content.len() as u64;
        if bytes > self.max_bytes {
            return Err(ScanError::TooLarge {
                location: location.to_owned(),
                bytes,
                max_bytes: self.max_bytes,
            });
        }
        let mut found = Scan::new(self, location).run(content)?;
        found.retain(|it| !self.allowed.contains(&it.fingerprint));
        Ok(found)
    }

    fn is_quick(&self) -> bool {
        self.user_rules.len() == 0
    }
}

/// Makes a [`DefaultGuard`].
///
/// Every setter may be called several times: values, rules and acknowledged secrets add up, and of
/// a key and a bound the last one holds.
///
/// ```
/// use flyto_security::DefaultGuard;
///
/// let guard = DefaultGuard::builder()
///     .env_values([("GITHUB_TOKEN", "a1b2-c3d4-e5f6"), ("HOME", "/home/ada")])
///     .env_values([("API_KEY", "short")])
///     .known_values([("vault:db", "correct-horse-7-battery")])
///     .max_bytes(1 << 20)
///     .build();
/// // `HOME` is no secret name, and a value of 5 bytes is too short.
/// assert_eq!(guard.n_known_values(), 2);
/// ```
#[derive(Default)]
#[must_use]
pub struct Builder {
    known: Vec<(String, Vec<u8>)>,
    user_rules: UserRules,
    allowed: HashSet<Fingerprint>,
    key: Option<Vec<u8>>,
    max_bytes: Option<u64>,
}

/// Without the values and the key.
impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.known.iter().map(|it| it.0.as_str()).collect();
        let mut res = f.debug_struct("Builder");
        res.field("known", &names).field("user_rules", &self.user_rules);
        res.field("allowed", &self.allowed)
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}

impl Builder {
    /// Looks for the values of those variables whose names look secret (`GITHUB_TOKEN`, `DB_PASSWORD`, …), as they
    /// are and in every view; the others are left out. This crate reads no environment: pass
    /// `std::env::vars()`, or what a tool is started with.
    ///
    /// Left out too are values of less than 8 bytes, well-known words such as `password123`, and absolute paths. Of a
    /// long value the first 1,024 bytes count.
    pub fn env_values<N: AsRef<str>, V: AsRef<[u8]>>(
        mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let secret = variables.into_iter().filter(|(name, _)| is_secret_name(name.as_ref()));
        self.known
            .extend(secret.map(|(name, it)| (name.as_ref().to_owned(), it.as_ref().to_vec())));
        self
    }

    /// Looks for these values whatever their names, such as those of a credential store. Short ones and well-known words
    /// are left out as with [`env_values`](Self::env_values).
    ///
    /// The names stand in labels and in advice; they are shown.
    pub fn known_values<N: AsRef<str>, V: AsRef<[u8]>>(
        mut self,
        values: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let values = values.into_iter();
        self.known
            .extend(values.map(|(name, it)| (name.as_ref().to_owned(), it.as_ref().to_vec())));
        self
    }

    /// Adds the rules of a file in the form of gitleaks' `gitleaks.toml` (version 8), read by the caller.
    ///
    /// A rule's matches are of tier [`Block`](crate::Tier::Block) unless it has the key `tier = "ask"` or `"note"`, which
    /// is an addition of this crate. `[extend]` is left out: the rules of this crate hold anyway.
    ///
    /// # Errors
    ///
    /// The text is no such file, a pattern is wrong, or there is more than a guard takes; the error names the rule and
    /// what to do. Nothing of the file is used then.
    pub fn gitleaks_toml(mut self, text: &str) -> Result<Self, RulesError> {
        self.user_rules.add(text)?;
        Ok(self)
    }

    /// Leaves out the secret with this fingerprint, which a person has acknowledged. It holds for guards with the same
    /// [`key`](Self::fingerprint_key) alone.
    ///
    /// A match with it is found and then left out, in every content and every form.
    pub fn allow(mut self, fingerprint: Fingerprint) -> Self {
        self.allowed.insert(fingerprint);
        self
    }

    /// The key of the fingerprints, 32 random bytes that are kept beside what refers to them. Without one, each guard
    /// makes a key of its own from the system's random numbers.
    ///
    /// A shorter or a longer key is taken too (RFC 2104).
    pub fn fingerprint_key(mut self, key: &[u8]) -> Self {
        self.key = Some(key.to_vec());
        self
    }

    /// The most bytes of a content, [`DEFAULT_MAX_BYTES`] otherwise; a larger one is an error.
    pub fn max_bytes(mut self, max_bytes: u64) -> Self {
        self.max_bytes = Some(max_bytes);
        self
    }

    /// The guard.
    ///
    /// # Panics
    ///
    /// There is no key and the system has no random numbers (getrandom(2)).
    #[must_use]
    pub fn build(self) -> DefaultGuard {
        let key = self.key.unwrap_or_else(|| {
            let mut key = vec![0; 32];
            getrandom::fill(&mut key).expect("the system has random numbers");
            key
        });
        DefaultGuard {
            known: Known::new(self.known),
            user_rules: self.user_rules,
            key: FingerprintKey::new(&key),
            allowed: self.allowed,
            max_bytes: self.max_bytes.unwrap_or(DEFAULT_MAX_BYTES),
        }
    }
}
