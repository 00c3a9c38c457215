//! A user's rules, in the form of gitleaks' configuration file.
//!
//! Taken are `rules` with `id`, `description`, `regex`, `path`, `entropy`, `keywords`, `secretGroup` and their allow
//! lists, and the allow lists of the whole file; see the documentation of gitleaks 8 for their meaning. Patterns are
//! those of Go's regexp, which Rust's regex crate takes but for a bare brace. They are parsed when the file is read
//! and compiled when a keyword of theirs is met.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, MatchKind};
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

use crate::{ScanError, Tier, literal::entropy};

/// The most bytes of a file: gitleaks' own has 200 KB.
const MAX_BYTES: usize = 4 << 20;

/// The most rules of a guard: the largest public file has 412.
const MAX_RULES: usize = 4096;

/// The most memory of one compiled pattern.
const PATTERN_BYTES: usize = 32 << 20;

/// Why a user's rules are not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RulesError {
    /// The text is larger than a rules file may be.
    #[error(
        "failed to read the rules: the file has {bytes} bytes, more than {max_bytes}; split it"
    )]
    TooLarge {
        /// The size of the text.
        bytes: usize,
        /// The most that is taken.
        max_bytes: usize,
    },
    /// There are more rules than a guard takes.
    #[error("failed to read the rules: there are more than {max}; leave some out")]
    TooMany {
        /// The most that are taken.
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

#[derive(Debug, Deserialize)]
struct File {
    #[serde(default)]
    rules: Vec<RuleEntry>,
    allowlist: Option<AllowEntry>,
    #[serde(default)]
    allowlists: Vec<AllowEntry>,
}

#[derive(Debug, Deserialize)]
struct RuleEntry {
    id: String,
    #[serde(default)]
    description: String,
    regex: Option<String>,
    path: Option<String>,
    #[serde(default)]
    entropy: f64,
    #[serde(default)]
    keywords: Vec<String>,
    #[serde(default, rename = "secretGroup")]
    secret_group: usize,
    allowlist: Option<AllowEntry>,
    #[serde(default)]
    allowlists: Vec<AllowEntry>,
    tier: Option<Tier>,
}

#[derive(Debug, Default, Deserialize)]
struct AllowEntry {
    condition: Option<String>,
    #[serde(default)]
    paths: Vec<String>,
    #[serde(default)]
    regexes: Vec<String>,
    #[serde(default, rename = "regexTarget")]
    regex_target: String,
    #[serde(default)]
    stopwords: Vec<String>,
    /// Rules that a list of the whole file is for; empty for all.
    #[serde(default, rename = "targetRules")]
    target_rules: Vec<String>,
}

/// A pattern that is compiled when it is first used.
#[derive(Debug)]
struct Lazy {
    text: String,
    compiled: OnceLock<Option<Regex>>,
}

impl Lazy {
    /// Checks the pattern, and takes it as Go's regexp means it: a brace that opens no repetition is a brace.
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

    fn all(texts: &[String], rule: &str, key: &'static str) -> Result<Vec<Self>, RulesError> {
        texts.iter().map(|it| Self::new(it, rule, key)).collect()
    }
}

/// Puts a backslash before each `{` that begins no repetition.
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

#[derive(Debug)]
struct Allow {
    needs_all: bool,
    paths: Vec<Lazy>,
    regexes: Vec<Lazy>,
    target: Target,
    stopwords: Vec<String>,
    target_rules: Vec<String>,
}

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
fn line_around(text: &[u8], span: &std::ops::Range<usize>) -> std::ops::Range<usize> {
    let from = span.start.saturating_sub(1024);
    let to = text.len().min(span.end + 1024);
    let start = memchr::memrchr(b'\n', &text[from..span.start]).map_or(from, |it| from + it + 1);
    let end = memchr::memchr(b'\n', &text[span.end..to]).map_or(to, |it| span.end + it);
    start..end
}

#[derive(Debug)]
struct Rule {
    id: String,
    label: String,
    regex: Lazy,
    path: Option<Lazy>,
    entropy: f64,
    secret_group: usize,
    has_keywords: bool,
    allow: Vec<Allow>,
    tier: Tier,
}

/// One match of a user's rule.
struct Hit {
    whole: std::ops::Range<usize>,
    secret: std::ops::Range<usize>,
}

/// What a user's rule found.
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
    allow: Vec<Allow>,
    /// Finds the keywords; letters match in either case.
    keywords: Option<AhoCorasick>,
    /// The rule of each keyword.
    owners: Vec<usize>,
    texts: Vec<String>,
}

impl UserRules {
    pub(crate) fn len(&self) -> usize {
        self.rules.len()
    }

    pub(crate) fn add(&mut self, text: &str) -> Result<(), RulesError> {
        if text.len() > MAX_BYTES {
            return Err(RulesError::TooLarge { bytes: text.len(), max_bytes: MAX_BYTES });
        }
        let File { rules, allowlist, allowlists } = toml::from_str(text)?;
        if self.rules.len() + rules.len() > MAX_RULES {
            return Err(RulesError::TooMany { max: MAX_RULES });
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
    pub(crate) fn scan(&self, location: &str, text: &[u8]) -> Result<Vec<UserHit<'_>>, ScanError> {
        let mut is_due: Vec<bool> = self.rules.iter().map(|it| !it.has_keywords).collect();
        for hit in self.keywords.iter().flat_map(|it| it.find_overlapping_iter(text)) {
            is_due[self.owners[hit.pattern().as_usize()]] = true;
        }
        let mut res = Vec::new();
        for (rule, _) in self.rules.iter().zip(is_due).filter(|it| it.1) {
            self.apply(rule, location, text, &mut res)?;
        }
        Ok(res)
    }

    fn apply<'a>(
        &'a self,
        rule: &'a Rule,
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
        for groups in rule.regex.get().ok_or_else(too_large)?.captures_iter(text) {
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
        Ok(())
    }
}
