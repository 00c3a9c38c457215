//! A user's rules, in the form of gitleaks' configuration file.
//!
//! Taken are `rules` with `id`, `description`, `regex`, `path`, `entropy`, `keywords`, `secretGroup` and their allow
//! lists, and the allow lists of the whole file; see the documentation of gitleaks 8 for their meaning. Patterns are
//! those of Go's regexp, which Rust's regex crate takes but for a bare brace. They are parsed when the file is read
//! and compiled when a keyword of theirs is met.
//!
//! A file is taken as a whole or not at all. Its bounds: [`MAX_BYTES`] for the text, [`MAX_RULES`]
//! and [`MAX_KEYWORDS`] for a guard, [`MAX_PATTERN_BYTES`] for one pattern and [`MAX_CLASSES`] for all of them, [`PATTERN_BYTES`] of memory for one compiled pattern. Matching is linear in the
//! content for each rule, since the regex crate does not backtrack; what a user pays is one pass
//! for each rule of which a keyword is in the content.

use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

use aho_corasick::{AhoCorasick, MatchKind};
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

use crate::{ScanError, Tier, literal::entropy};

/// The longest time that the rules of users may take for one content: with many matches, a pattern takes time with
/// the square of the content.
const MAX_TIME: Duration = Duration::from_secs(5);

/// The most bytes of a file: gitleaks' own has 200 KB.
///
/// Of one text; a guard may be given several.
const MAX_BYTES: usize = 4 << 20;

/// The most rules of a guard: the largest public file has 412.
const MAX_RULES: usize = 4096;
/// Most keywords, those of former files counted: to build their automaton takes time with the square of their number.
const MAX_KEYWORDS: usize = 8192;

/// The longest pattern, in bytes: gitleaks' own have up to some 2,000.
const MAX_PATTERN_BYTES: usize = 16 * 1024;
/// Most classes in all patterns of a guard, those of former files counted. To read one as `\w` or `[^a]` takes time and
/// memory for hundreds of ranges: 6 kB. Gitleaks' own file has some 2,000.
const MAX_CLASSES: usize = 16 * 1024;

/// The most memory of one compiled pattern.
///
/// In bytes. A larger one is an error of the scan, not of the reading: it shows when the pattern is
/// first used.
const PATTERN_BYTES: usize = 32 << 20;

/// Why a user's rules are not taken.
///
/// The rules that the guard had before are as they were.
///
/// ```
/// use flyto_security::{DefaultGuard, RulesError};
///
/// let text = "[[rules]]\nid = \"acme\"\nregex = '''acme_[0-9a-f]{16'''\n";
/// assert!(DefaultGuard::builder().gitleaks_toml(text).is_ok(), "Go reads a bare brace as itself");
///
/// let text = text.replace("acme_[", "acme_([");
/// let err = DefaultGuard::builder().gitleaks_toml(&text).expect_err("the bracket is not closed");
/// assert!(matches!(&err, RulesError::Pattern { rule, key: "regex", .. } if rule == "acme"));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RulesError {
    /// The text is larger than a rules file may be.
    #[error(
        "failed to read the rules: the file has {bytes} bytes, more than {max_bytes}; split it"
    )]
    TooLarge {
        /// The size of the text.
        /// In bytes.
        bytes: usize,
        /// The most that is taken.
        /// In bytes: 4 MiB.
        max_bytes: usize,
    },
    /// There are more rules than a guard takes.
    #[error("failed to read the rules: there are more than {max}; leave some out")]
    TooMany {
        /// The most that are taken.
        /// 4,096, with those that the guard had before.
        max: usize,
    },
    /// There are more keywords than a guard takes.
    #[error("failed to read the rules: they have more than {max} keywords; leave some out")]
    TooManyKeywords {
        /// The most that are taken.
        /// 8,192, with those that the guard had before.
        max: usize,
    },
    /// A pattern is longer than one may be.
    #[error(
        "failed to read the rule {rule:?}: its key {key:?} has a pattern of {bytes} bytes, more than {max_bytes}; split it"
    )]
    LongPattern {
        /// The rule's id; empty for the allow lists of the whole file.
        rule: String,
        /// The key that has the pattern.
        key: &'static str,
        /// How long it is.
        bytes: usize,
        /// The most that is taken: 16 KiB.
        max_bytes: usize,
    },
    /// The patterns have more classes of characters than a guard takes, such as `\w`, `\p{L}` and `[^a]`.
    #[error(
        "failed to read the rule {rule:?}: the rules up to it have more than {max} classes such as \\w or [^a]; leave some out"
    )]
    TooManyClasses {
        /// The id of the first rule that is too much; empty for the allow lists of the whole file.
        rule: String,
        /// The most that are taken: 16,384, with those that the guard had before.
        max: usize,
    },
    /// It is no TOML, or not in gitleaks' form; the source has line and column.
    #[error("failed to read the rules")]
    Syntax(#[from] toml::de::Error),
    /// A pattern cannot be used.
    #[error(
        "failed to read the rule {rule:?}: its key {key:?} is no pattern that Rust's regex crate takes"
    )]
    Pattern {
        /// The rule's id; empty for the allow lists of the whole file.
        rule: String,
        /// The key that has the pattern.
        key: &'static str,
        /// What is wrong with the pattern, and where.
        source: Box<regex_syntax::Error>,
    },
}

/// What is taken of a file. Keys that are not listed are left out, as `title` and `extend` are.
#[derive(Debug, Deserialize)]
struct File {
    #[serde(default)]
    rules: Vec<RuleEntry>,
    allowlist: Option<AllowEntry>,
    #[serde(default)]
    allowlists: Vec<AllowEntry>,
}

/// A rule as it is written. One without `regex` is about names of files, and is left out.
#[derive(Debug, Deserialize)]
struct RuleEntry {
    id: String,
    #[serde(default)]
    description: String,
    regex: Option<String>,
    path: Option<String>,
    /// Bits per byte that a secret must have more of; 0 for no bound.
    #[serde(default)]
    entropy: f64,
    /// One of them has to be in the text; without any, the rule goes over every text.
    #[serde(default)]
    keywords: Vec<String>,
    /// The group of the pattern that is the secret; 0 for the first that is not empty.
    #[serde(default, rename = "secretGroup")]
    secret_group: usize,
    allowlist: Option<AllowEntry>,
    #[serde(default)]
    allowlists: Vec<AllowEntry>,
    /// An addition of this crate; [`Tier::Block`] unless set.
    tier: Option<Tier>,
}

/// An allow list as it is written.
#[derive(Debug, Default, Deserialize)]
struct AllowEntry {
    /// `AND` or `OR`; `OR` unless set.
    condition: Option<String>,
    /// Patterns of the location.
    #[serde(default)]
    paths: Vec<String>,
    /// Patterns of what [`regex_target`](Self::regex_target) says.
    #[serde(default)]
    regexes: Vec<String>,
    /// `match`, `line`, or else the secret.
    #[serde(default, rename = "regexTarget")]
    regex_target: String,
    /// Texts in the secret, in either case.
    #[serde(default)]
    stopwords: Vec<String>,
    /// Rules that a list of the whole file is for; empty for all.
    #[serde(default, rename = "targetRules")]
    target_rules: Vec<String>,
}

/// A pattern that is compiled when it is first used.
///
/// A guard may have hundreds of patterns of which a content needs none.
#[derive(Debug)]
struct Lazy {
    text: String,
    /// `None` within: it is too large.
    compiled: OnceLock<Option<Regex>>,
}

impl Lazy {
    /// Checks the pattern, and takes it as Go's regexp means it: a brace that opens no repetition is a brace.
    ///
    /// # Errors
    ///
    /// [`RulesError::Pattern`] for a text that the regex crate does not parse, or that is nested
    /// more than 100 deep.
    fn new(text: &str, rule: &str, key: &'static str) -> Result<Self, RulesError> {
        let text = escape_braces(text);
        let parser =
            regex_syntax::ParserBuilder::new().utf8(false).nest_limit(100).build().parse(&text);
        match parser {
            Ok(_) => Ok(Self { text, compiled: OnceLock::new() }),
            Err(err) => {
                Err(RulesError::Pattern { rule: rule.to_owned(), key, source: Box::new(err) })
            }
        }
    }

    /// `None` where it is too large.
    fn get(&self) -> Option<&Regex> {
        self.compiled
            .get_or_init(|| RegexBuilder::new(&self.text).size_limit(PATTERN_BYTES).build().ok())
            .as_ref()
    }

    /// Stops at the first that is wrong.
    fn all(texts: &[String], rule: &str, key: &'static str) -> Result<Vec<Self>, RulesError> {
        texts.iter().map(|it| Self::new(it, rule, key)).collect()
    }
}

impl RuleEntry {
    /// All patterns of the rule, each with its key.
    fn patterns(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let own = self.regex.iter().map(|it| ("regex", it));
        let lists = self.allowlist.iter().chain(&self.allowlists).flat_map(AllowEntry::patterns);
        own.chain(self.path.iter().map(|it| ("path", it))).chain(lists)
    }
}

impl AllowEntry {
    /// All patterns of the list, each with its key.
    fn patterns(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let paths = self.paths.iter().map(|it| ("allowlists.paths", it));
        paths.chain(self.regexes.iter().map(|it| ("allowlists.regexes", it)))
    }
}

/// How many classes of characters a pattern has that stand for hundreds of ranges: `\w`, `\P{L}`, `[^a]`. What is taken out
/// by a backslash counts as well, so it may be too many and never too few.
fn count_classes(pattern: &str) -> usize {
    let pairs = pattern.as_bytes().windows(2);
    pairs.filter(|it| *it == b"[^" || it[0] == b'\\' && b"wWdDsSpPbB".contains(&it[1])).count()
}

/// Puts a backslash before each `{` that begins no repetition.
///
/// A class (`[{]`) and what a backslash takes out stay as they are.
fn escape_braces(pattern: &str) -> String {
    let mut res = String::with_capacity(pattern.len());
    let mut chars = pattern.char_indices();
    let mut in_class = false;
    while let Some((i, it)) = chars.next() {
        match it {
            '\\' => {
                res.push(it);
                res.extend(chars.next().map(|(_, next)| next));
                // `\p{Greek}` and `\x{41}` have braces of their own.
                if pattern[i + 1..].starts_with(['p', 'P', 'x'])
                    && pattern[i + 2..].starts_with('{')
                {
                    res.extend(chars.next().map(|(_, next)| next));
                }
                continue;
            }
            '[' => in_class = true,
            ']' => in_class = false,
            '{' if !in_class => {
                let inner = pattern[i + 1..].split('}').next().unwrap_or_default();
                let is_count = inner.len() < pattern.len() - i - 1
                    && inner.starts_with(|it: char| it.is_ascii_digit())
                    && inner.bytes().all(|it| it.is_ascii_digit() || it == b',');
                if !is_count {
                    res.push('\\');
                }
            }
            _ => {}
        }
        res.push(it);
    }
    res
}

/// An allow list, ready for use. An empty one allows nothing.
#[derive(Debug)]
struct Allow {
    /// All kinds of conditions that it has must hold, and not one of them.
    needs_all: bool,
    paths: Vec<Lazy>,
    regexes: Vec<Lazy>,
    target: Target,
    stopwords: Vec<String>,
    target_rules: Vec<String>,
}

/// What the patterns of an allow list are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Secret,
    Match,
    Line,
}

impl Allow {
    fn new(entry: &AllowEntry, rule: &str) -> Result<Self, RulesError> {
        Ok(Self {
            needs_all: entry
                .condition
                .as_deref()
                .is_some_and(|it| it.eq_ignore_ascii_case("and") || it == "&&"),
            paths: Lazy::all(&entry.paths, rule, "allowlists.paths")?,
            regexes: Lazy::all(&entry.regexes, rule, "allowlists.regexes")?,
            target: match entry.regex_target.as_str() {
                "match" => Target::Match,
                "line" => Target::Line,
                _ => Target::Secret,
            },
            stopwords: entry.stopwords.iter().map(|it| it.to_lowercase()).collect(),
            target_rules: entry.target_rules.clone(),
        })
    }

    /// `rule` is the id of the rule that found `hit` in `text`. A pattern that is too large to
    /// compile allows nothing.
    fn allows(&self, rule: &str, location: &str, text: &[u8], hit: &Hit) -> bool {
        if !self.target_rules.is_empty() && !self.target_rules.iter().any(|it| it == rule) {
            return false;
        }
        let any = |list: &[Lazy], text: &[u8]| {
            list.iter().any(|it| it.get().is_some_and(|it| it.is_match(text)))
        };
        let target = match self.target {
            Target::Secret => &text[hit.secret.clone()],
            Target::Match => &text[hit.whole.clone()],
            Target::Line => &text[line_around(text, &hit.whole)],
        };
        let lower = text[hit.secret.clone()].to_ascii_lowercase();
        let has_stopword = || {
            self.stopwords.iter().any(|it| memchr::memmem::find(&lower, it.as_bytes()).is_some())
        };
        let mut checks = Vec::new();
        if !self.paths.is_empty() {
            checks.push(any(&self.paths, location.as_bytes()));
        }
        if !self.regexes.is_empty() {
            checks.push(any(&self.regexes, target));
        }
        if !self.stopwords.is_empty() {
            checks.push(has_stopword());
        }
        match self.needs_all {
            true => !checks.is_empty() && checks.iter().all(|it| *it),
            false => checks.contains(&true),
        }
    }
}

/// The line of `span`, at most 1 KiB to each side.
///
/// Without its line end. A match of several lines has all of them.
fn line_around(text: &[u8], span: &std::ops::Range<usize>) -> std::ops::Range<usize> {
    let from = span.start.saturating_sub(1024);
    let to = text.len().min(span.end + 1024);
    let start = memchr::memrchr(b'\n', &text[from..span.start]).map_or(from, |it| from + it + 1);
    let end = memchr::memchr(b'\n', &text[span.end..to]).map_or(to, |it| span.end + it);
    start..end
}

/// A rule, ready for use.
#[derive(Debug)]
struct Rule {
    id: String,
    label: String,
    regex: Lazy,
    path: Option<Lazy>,
    entropy: f64,
    secret_group: usize,
    /// Else it is applied to every text.
    has_keywords: bool,
    allow: Vec<Allow>,
    tier: Tier,
}

/// One match of a user's rule.
///
/// Ranges of the text; `secret` lies in `whole`.
struct Hit {
    whole: std::ops::Range<usize>,
    secret: std::ops::Range<usize>,
}

/// What a user's rule found.
///
/// `secret` is never empty.
pub(crate) struct UserHit<'a> {
    pub(crate) rule: &'a str,
    pub(crate) label: &'a str,
    pub(crate) tier: Tier,
    pub(crate) secret: std::ops::Range<usize>,
}

/// All rules that users added to a guard.
#[derive(Debug, Default)]
pub(crate) struct UserRules {
    rules: Vec<Rule>,
    /// Allow lists of whole files, which hold for all rules or for those that they name.
    allow: Vec<Allow>,
    /// Finds the keywords; letters match in either case.
    keywords: Option<AhoCorasick>,
    /// The rule of each keyword.
    /// As places in `rules`.
    owners: Vec<usize>,
    /// The keywords, for the next automaton.
    texts: Vec<String>,
    /// Classes in all patterns.
    n_classes: usize,
}

impl UserRules {
    /// Rules without a pattern do not count.
    pub(crate) fn len(&self) -> usize {
        self.rules.len()
    }

    /// Adds the rules of a file to those that are there, and builds the automaton of keywords anew.
    ///
    /// # Errors
    ///
    /// [`RulesError`]; nothing is added then.
    pub(crate) fn add(&mut self, text: &str) -> Result<(), RulesError> {
        if text.len() > MAX_BYTES {
            return Err(RulesError::TooLarge { bytes: text.len(), max_bytes: MAX_BYTES });
        }
        let File { rules, allowlist, allowlists } = toml::from_str(text)?;
        if self.rules.len() + rules.len() > MAX_RULES {
            return Err(RulesError::TooMany { max: MAX_RULES });
        }
        let n_keywords: usize = rules.iter().map(|it| it.keywords.len()).sum();
        if self.texts.len() + n_keywords > MAX_KEYWORDS {
            return Err(RulesError::TooManyKeywords { max: MAX_KEYWORDS });
        }
        let mut n_classes = self.n_classes;
        let of_file = allowlist.iter().chain(&allowlists).flat_map(AllowEntry::patterns);
        let of_rules = rules.iter().flat_map(|rule| {
            rule.patterns().map(|(key, pattern)| (rule.id.as_str(), key, pattern))
        });
        for (rule, key, pattern) in of_file.map(|(key, it)| ("", key, it)).chain(of_rules) {
            let (rule, bytes) = (rule.to_owned(), pattern.len());
            if bytes > MAX_PATTERN_BYTES {
                let max_bytes = MAX_PATTERN_BYTES;
                return Err(RulesError::LongPattern { rule, key, bytes, max_bytes });
            }
            n_classes += count_classes(pattern);
            if n_classes > MAX_CLASSES {
                return Err(RulesError::TooManyClasses { rule, max: MAX_CLASSES });
            }
        }
        let mut allow = Vec::new();
        for entry in allowlist.iter().chain(&allowlists) {
            allow.push(Allow::new(entry, "")?);
        }
        let mut added = Vec::new();
        let mut keywords = Vec::new();
        for entry in &rules {
            // A rule with a path and no pattern is about files and not about what is in them.
            let Some(regex) = &entry.regex else { continue };
            let lists = entry.allowlist.iter().chain(&entry.allowlists);
            added.push(Rule {
                regex: Lazy::new(regex, &entry.id, "regex")?,
                path: entry.path.as_ref().map(|it| Lazy::new(it, &entry.id, "path")).transpose()?,
                entropy: entry.entropy,
                secret_group: entry.secret_group,
                has_keywords: entry.keywords.iter().any(|it| !it.is_empty()),
                allow: lists.map(|it| Allow::new(it, &entry.id)).collect::<Result<_, _>>()?,
                tier: entry.tier.unwrap_or(Tier::Block),
                label: match entry.description.trim_end_matches('.') {
                    "" => entry.id.clone(),
                    it => it.to_owned(),
                },
                id: entry.id.clone(),
            });
            let owner = self.rules.len() + added.len() - 1;
            let filled = entry.keywords.iter().filter(|it| !it.is_empty());
            keywords.extend(filled.map(|it| (owner, it.clone())));
        }
        self.n_classes = n_classes;
        self.rules.extend(added);
        self.allow.extend(allow);
        for (owner, keyword) in keywords {
            self.owners.push(owner);
            self.texts.push(keyword);
        }
        self.keywords = (!self.texts.is_empty()).then(|| {
            AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .match_kind(MatchKind::Standard)
                .build(&self.texts)
                .expect("4 MiB of keywords fit into an automaton")
        });
        Ok(())
    }

    /// What the rules find in `text`. Each rule with a keyword in it goes over the text once.
    ///
    /// # Errors
    ///
    /// [`ScanError::RuleTooLarge`] where a pattern that is needed cannot be compiled within
    /// [`PATTERN_BYTES`], and [`ScanError::TooSlow`] behind [`MAX_TIME`].
    pub(crate) fn scan(&self, location: &str, text: &[u8]) -> Result<Vec<UserHit<'_>>, ScanError> {
        self.scan_until(Instant::now() + MAX_TIME, location, text)
    }

    fn scan_until(
        &self,
        end: Instant,
        location: &str,
        text: &[u8],
    ) -> Result<Vec<UserHit<'_>>, ScanError> {
        let mut is_due: Vec<bool> = self.rules.iter().map(|it| !it.has_keywords).collect();
        for hit in self.keywords.iter().flat_map(|it| it.find_overlapping_iter(text)) {
            is_due[self.owners[hit.pattern().as_usize()]] = true;
        }
        let mut res = Vec::new();
        for (rule, _) in self.rules.iter().zip(is_due).filter(|it| it.1) {
            self.apply(rule, end, location, text, &mut res)?;
        }
        Ok(res)
    }

    /// Goes over the text once. Matches of one rule do not overlap.
    fn apply<'a>(
        &'a self,
        rule: &'a Rule,
        end: Instant,
        location: &str,
        text: &[u8],
        res: &mut Vec<UserHit<'a>>,
    ) -> Result<(), ScanError> {
        let too_large =
            || ScanError::RuleTooLarge { location: location.to_owned(), rule: rule.id.clone() };
        if let Some(path) = &rule.path
            && !path.get().ok_or_else(too_large)?.is_match(location.as_bytes())
        {
            return Ok(());
        }
        let mut matches = rule.regex.get().ok_or_else(too_large)?.captures_iter(text);
        loop {
            // Also before the first one: the rules before this one took time.
            if Instant::now() >= end {
                let (location, rule) = (location.to_owned(), rule.id.clone());
                return Err(ScanError::TooSlow { location, rule, seconds: MAX_TIME.as_secs() });
            }
            let Some(groups) = matches.next() else { return Ok(()) };
            let Some(whole) = groups.get(0) else { continue };
            let secret = match rule.secret_group {
                0 => groups.iter().skip(1).flatten().find(|it| !it.is_empty()).unwrap_or(whole),
                n => groups.get(n).unwrap_or(whole),
            };
            let hit = Hit { whole: whole.range(), secret: secret.range() };
            let is_allowed =
                |list: &[Allow]| list.iter().any(|it| it.allows(&rule.id, location, text, &hit));
            let is_dull = rule.entropy > 0.0 && entropy(secret.as_bytes()) <= rule.entropy;
            if hit.secret.is_empty()
                || is_dull
                || is_allowed(&rule.allow)
                || is_allowed(&self.allow)
            {
                continue;
            }
            let Rule { id, label, tier, .. } = rule;
            res.push(UserHit { rule: id, label, tier: *tier, secret: hit.secret });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_takes_too_long_fails_the_scan() {
        let mut rules = UserRules::default();
        rules.add("[[rules]]\nid = \"slow\"\nregex = 'a'").expect("they are rules");
        let found = rules.scan("x", b"banana").expect("it is short");
        assert_eq!(found.len(), 3);
        let err = rules.scan_until(Instant::now(), "x", b"banana").err().expect("no time is left");
        assert!(matches!(err, ScanError::TooSlow { rule, seconds: 5, .. } if rule == "slow"));
    }
}
