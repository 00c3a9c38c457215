//! The rules of this crate, read from `rules.toml` once per process.
//!
//! A new rule is an entry there: the vendor's page, the literal part, alphabet and length of the rest, and two
//! examples. The literal part is what makes it cheap: the longer and rarer, the better. A token without one is an
//! `assigned` entry, which needs the name before it. A pattern is compiled when its literal is met for the first time,
//! so a process that scans a script pays for a handful.

use std::{
    ops::Range,
    sync::{LazyLock, OnceLock},
};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

use crate::Tier;

/// The rules as they stand in the source.
const TEXT: &str = include_str!("rules.toml");

/// How far a token reaches to the left of its prefix, in bytes.
pub(crate) const BEFORE_BYTES: usize = 96;

/// How far a token reaches to the right of its prefix, in bytes, where its rule says nothing else.
const AFTER_BYTES: usize = 400;

/// A format that is known by a literal part of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Format {
    pub(crate) id: String,
    pub(crate) label: String,
    /// The environment variable that usually holds such a token.
    pub(crate) variable: Option<String>,
    /// Where the vendor describes the format.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for readers of the file; a test demands it")
    )]
    pub(crate) docs: String,
    #[serde(default = "block")]
    pub(crate) tier: Tier,
    /// The literal parts, one of which a token has.
    prefixes: Vec<String>,
    /// What stands directly before the literal part.
    before: Option<String>,
    /// What stands directly behind it.
    body: String,
    /// How many bytes of the body are looked at.
    #[serde(default = "after_bytes")]
    pub(crate) reach: usize,
    /// The least number of different bytes in a token, without the literal part: fewer is a placeholder.
    #[serde(default = "min_distinct")]
    pub(crate) min_distinct: usize,
    /// Texts that hold a token, with placeholders that the tests fill in.
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "for the tests"))]
    pub(crate) hits: Vec<String>,
    /// Texts that hold none.
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "for the tests"))]
    pub(crate) misses: Vec<String>,
    #[serde(skip)]
    compiled: OnceLock<(Option<Regex>, Regex)>,
}

/// A value without a literal part of its own, known by the name that it is assigned to.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Assigned {
    pub(crate) id: String,
    pub(crate) label: String,
    pub(crate) variable: Option<String>,
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for readers of the file; a test demands it")
    )]
    pub(crate) docs: String,
    #[serde(default = "ask")]
    pub(crate) tier: Tier,
    /// Lower-case parts of names without `_` and `-`; one of them is in the name.
    pub(crate) names: Vec<String>,
    /// The whole value.
    value: String,
    /// As with [`Format::hits`].
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "for the tests"))]
    pub(crate) hits: Vec<String>,
    /// As with [`Format::misses`].
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "for the tests"))]
    pub(crate) misses: Vec<String>,
    #[serde(skip)]
    compiled: OnceLock<Regex>,
}

fn block() -> Tier {
    Tier::Block
}

fn ask() -> Tier {
    Tier::Ask
}

fn after_bytes() -> usize {
    AFTER_BYTES
}

fn min_distinct() -> usize {
    5
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: Vec<Format>,
    assigned: Vec<Assigned>,
}

/// What a word in a text is looked at for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cue {
    /// A part of a name that values are assigned to.
    Name,
    /// Behind it, a value follows without an operator: `Bearer …`.
    Scheme,
    /// `://`, which may have a password behind it.
    Url,
    /// `-----BEGIN` and the like.
    Key,
    /// An option of a program that takes `user:password`, or a password.
    Option,
    /// `--password-stdin` and the like, whose secret stands before it.
    Stdin,
    /// Something that turns text round.
    Reversal,
}

/// Literals that are no prefixes. Letters match in either case.
const CUES: &[(&str, Cue)] = &[
    ("pass", Cue::Name),
    ("pwd", Cue::Name),
    ("pw", Cue::Name),
    ("secret", Cue::Name),
    ("token", Cue::Name),
    ("key", Cue::Name),
    ("auth", Cue::Name),
    ("cred", Cue::Name),
    ("signature", Cue::Name),
    ("identified by", Cue::Name),
    ("bearer ", Cue::Scheme),
    ("basic ", Cue::Scheme),
    ("://", Cue::Url),
    ("-----BEGIN", Cue::Key),
    ("PuTTY-User-Key-File-", Cue::Key),
    (" -u", Cue::Option),
    (" -p", Cue::Option),
    (" --user", Cue::Option),
    (" --proxy-user", Cue::Option),
    ("password-stdin", Cue::Stdin),
    ("token-stdin", Cue::Stdin),
    ("--with-token", Cue::Stdin),
    ("rev ", Cue::Reversal),
    ("rev)", Cue::Reversal),
    ("rev\n", Cue::Reversal),
    ("|rev", Cue::Reversal),
    ("tac ", Cue::Reversal),
    ("[::-1]", Cue::Reversal),
    ("reverse", Cue::Reversal),
];

/// All rules, and the automata that find where they may apply.
#[derive(Debug)]
pub(crate) struct Catalogue {
    pub(crate) formats: Vec<Format>,
    pub(crate) assigned: Vec<Assigned>,
    /// Finds the literal parts of the formats, letters as they are.
    literals: AhoCorasick,
    /// The format of each pattern of `literals`.
    owners: Vec<usize>,
    /// Finds the words of [`CUES`], letters in either case.
    words: AhoCorasick,
}

/// The rules of this crate.
pub(crate) fn catalogue() -> &'static Catalogue {
    static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(Catalogue::read);
    &CATALOGUE
}

impl Catalogue {
    fn read() -> Self {
        let File { format: formats, assigned } =
            toml::from_str(TEXT).expect("the rules are part of the source, and a test reads them");
        let prefixes =
            |(i, it): (usize, &Format)| it.prefixes.iter().map(|_| i).collect::<Vec<_>>();
        let owners = formats.iter().enumerate().flat_map(prefixes).collect();
        let literals = automaton(formats.iter().flat_map(|it| &it.prefixes), false);
        let words = automaton(CUES.iter().map(|it| it.0), true);
        Self { formats, assigned, literals, owners, words }
    }

    /// Where literal parts of formats are, each with the place of its format in `formats`.
    pub(crate) fn literals<'a>(
        &'a self,
        text: &'a [u8],
    ) -> impl Iterator<Item = (usize, Range<usize>)> {
        let found = self.literals.find_overlapping_iter(text);
        found.map(|it| (self.owners[it.pattern().as_usize()], it.range()))
    }

    /// Where words are that a secret may stand beside.
    pub(crate) fn cues<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = (Cue, Range<usize>)> {
        let found = self.words.find_overlapping_iter(text);
        found.map(|it| (CUES[it.pattern().as_usize()].1, it.range()))
    }
}

/// An automaton that finds each of `literals`, one step a byte.
pub(crate) fn automaton<L: AsRef<[u8]>>(
    literals: impl IntoIterator<Item = L>,
    any_case: bool,
) -> AhoCorasick {
    AhoCorasick::builder()
        .ascii_case_insensitive(any_case)
        .match_kind(MatchKind::Standard)
        .kind(Some(AhoCorasickKind::DFA))
        .build(literals)
        .expect("some hundred short literals fit into an automaton")
}

/// Compiles a pattern of the rules file: bytes, no Unicode classes.
fn compile(pattern: &str) -> Regex {
    RegexBuilder::new(pattern)
        .unicode(false)
        .size_limit(1 << 22)
        .build()
        .expect("the rules are part of the source, and a test compiles them")
}

impl Format {
    /// The bytes of a token whose literal part is at `literal`, or nothing where there is no token.
    pub(crate) fn token(&self, text: &[u8], literal: Range<usize>) -> Option<Range<usize>> {
        let (before, body) = self.compiled.get_or_init(|| {
            let before = self.before.as_ref().map(|it| compile(&format!("(?:{it})$")));
            (before, compile(&format!("^(?:{})", self.body)))
        });
        let start = match before {
            None => literal.start,
            Some(before) => {
                let from = literal.start.saturating_sub(BEFORE_BYTES);
                from + before.find(&text[from..literal.start])?.start()
            }
        };
        let to = text.len().min(literal.end + self.reach);
        let end = literal.end + body.find(&text[literal.end..to])?.end();
        Some(start..end)
    }

    /// Whether something stands before the literal part.
    pub(crate) fn has_before(&self) -> bool {
        self.before.is_some()
    }

    /// The patterns, compiled now.
    #[cfg(test)]
    pub(crate) fn patterns(&self) -> (Option<&String>, &String, &[String]) {
        (self.before.as_ref(), &self.body, &self.prefixes)
    }
}

impl Assigned {
    /// Whether `name`, in lower case and without `_` and `-`, and `value` are what the rule is about.
    pub(crate) fn matches(&self, name: &str, value: &[u8]) -> bool {
        self.names.iter().any(|it| name.contains(it.as_str()))
            && self
                .compiled
                .get_or_init(|| compile(&format!("^(?:{})$", self.value)))
                .is_match(value)
    }
}
