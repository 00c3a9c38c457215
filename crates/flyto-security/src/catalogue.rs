//! The rules of this crate, read from `rules.toml` once per process.
//!
//! A new rule is an entry there: the vendor's page, the literal part, alphabet and length of the rest, and two
//! examples. The literal part is what makes it cheap: the longer and rarer, the better. A token without one is an
//! `assigned` entry, which needs the name before it. A pattern is compiled when its literal is met for the first time,
//! so a process that scans a script pays for a handful.
//!
//! Three kinds of entry: a [`Format`] has a literal part and is looked for everywhere; an
//! [`Assigned`] has none and counts behind a name only; a [`Cue`] is a word beside which a parser
//! of `scan` looks. Two automata find the literals and the cues, one step for each byte of a text,
//! whatever the number of rules.

use std::{
    ops::Range,
    sync::{LazyLock, OnceLock},
};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

use crate::Tier;

/// The rules as they stand in the source.
///
/// The tests compile each pattern and try each example.
const TEXT: &str = include_str!("rules.toml");

/// How far a token reaches to the left of its prefix, in bytes.
///
/// A pattern `before` sees no more than that, so a look costs a bounded time.
pub(crate) const BEFORE_BYTES: usize = 96;

/// How far a token reaches to the right of its prefix, in bytes, where its rule says nothing else.
///
/// A rule for longer tokens sets `reach`.
const AFTER_BYTES: usize = 400;

/// A format that is known by a literal part of it.
///
/// A key of the file that is not a field here is refused, so that a misspelt one shows in the
/// tests.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Format {
    /// Part of the public API: it is in matches, in redacted texts and in what users acknowledge.
    pub(crate) id: String,
    /// For people, such as `GitHub token`.
    pub(crate) label: String,
    /// The environment variable that usually holds such a token.
    pub(crate) variable: Option<String>,
    /// Where the vendor describes the format.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for readers of the file; a test demands it")
    )]
    pub(crate) docs: String,
    /// [`Tier::Block`] unless the entry says something else.
    #[serde(default = "block")]
    pub(crate) tier: Tier,
    /// The literal parts, one of which a token has.
    /// Letters as they are: case counts.
    prefixes: Vec<String>,
    /// What stands directly before the literal part.
    /// A pattern of bytes, matched up to the literal part.
    before: Option<String>,
    /// What stands directly behind it.
    /// A pattern of bytes, matched from the end of the literal part on; it may match nothing.
    body: String,
    /// How many bytes of the body are looked at.
    /// 400 unless the entry says something else.
    #[serde(default = "after_bytes")]
    pub(crate) reach: usize,
    /// The least number of different bytes in a token, without the literal part: fewer is a placeholder.
    /// 5 unless the entry says something else.
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
    /// `before` and `body`, once the literal part was met.
    #[serde(skip)]
    compiled: OnceLock<(Option<Regex>, Regex)>,
}

/// A value without a literal part of its own, known by the name that it is assigned to.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Assigned {
    /// Part of the public API, as that of a [`Format`].
    pub(crate) id: String,
    pub(crate) label: String,
    pub(crate) variable: Option<String>,
    /// Where the vendor describes the value.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for readers of the file; a test demands it")
    )]
    pub(crate) docs: String,
    /// [`Tier::Ask`] unless the entry says something else.
    #[serde(default = "ask")]
    pub(crate) tier: Tier,
    /// Lower-case parts of names without `_` and `-`; one of them is in the name.
    pub(crate) names: Vec<String>,
    /// The whole value.
    /// A pattern of bytes that the value fits from its first byte to its last.
    value: String,
    /// As with [`Format::hits`].
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "for the tests"))]
    pub(crate) hits: Vec<String>,
    /// As with [`Format::misses`].
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "for the tests"))]
    pub(crate) misses: Vec<String>,
    /// `value`, once one of the names was met.
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

/// `aaaa-bbbb` has three.
fn min_distinct() -> usize {
    5
}

/// `rules.toml` as a whole.
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
    /// `-----BEGIN`, `---- BEGIN` and the like.
    Key,
    /// An option of a program that takes `user:password`, or a password.
    Option,
    /// A program whose options are read one by one, as their letters stand in one word: `-su user:password`.
    Client,
    /// `--password-stdin` and the like, whose secret stands before it.
    Stdin,
    /// Something that turns text round.
    Reversal,
    /// A program that turns text round, where it is a word of its own.
    Command,
    /// Something that puts words together.
    Print,
}

/// Literals that are no prefixes. Letters match in either case.
///
/// A word may be part of another one (`key` of `monkey`): what stands around it is looked at by its
/// parser.
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
    ("---- BEGIN", Cue::Key),
    ("PuTTY-User-Key-File-", Cue::Key),
    (" -u", Cue::Option),
    (" -p", Cue::Option),
    (" --user", Cue::Option),
    (" --proxy-user", Cue::Option),
    // As an element of an array of JSON.
    ("\"-u", Cue::Option),
    ("\"-p", Cue::Option),
    ("\"--user", Cue::Option),
    ("\"--proxy-user", Cue::Option),
    ("curl", Cue::Client),
    ("password-stdin", Cue::Stdin),
    ("token-stdin", Cue::Stdin),
    ("--with-token", Cue::Stdin),
    ("rev", Cue::Command),
    ("tac", Cue::Command),
    ("[::-1]", Cue::Reversal),
    ("reverse", Cue::Reversal),
    ("printf ", Cue::Print),
];

/// All rules, and the automata that find where they may apply.
#[derive(Debug)]
pub(crate) struct Catalogue {
    pub(crate) formats: Vec<Format>,
    pub(crate) assigned: Vec<Assigned>,
    /// Finds the literal parts of the formats, letters as they are.
    literals: AhoCorasick,
    /// The format of each pattern of `literals`.
    /// As places in `formats`.
    owners: Vec<usize>,
    /// Finds the words of [`CUES`], letters in either case.
    words: AhoCorasick,
}

/// The rules of this crate.
///
/// Read at the first call of the process.
pub(crate) fn catalogue() -> &'static Catalogue {
    static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(Catalogue::read);
    &CATALOGUE
}

impl Catalogue {
    /// Panics where the file in the source is no such file, which the tests would show.
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
    ///
    /// In the order of their ends; they may overlap.
    pub(crate) fn literals<'a>(
        &'a self,
        text: &'a [u8],
    ) -> impl Iterator<Item = (usize, Range<usize>)> {
        let found = self.literals.find_overlapping_iter(text);
        found.map(|it| (self.owners[it.pattern().as_usize()], it.range()))
    }

    /// Where words are that a secret may stand beside.
    ///
    /// In the order of their ends; they may overlap.
    pub(crate) fn cues<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = (Cue, Range<usize>)> {
        let found = self.words.find_overlapping_iter(text);
        found.map(|it| (CUES[it.pattern().as_usize()].1, it.range()))
    }
}

/// An automaton that finds each of `literals`, one step a byte.
///
/// A DFA: more memory than other kinds, and time that no text can raise.
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
///
/// A compiled pattern takes 4 MiB at most.
fn compile(pattern: &str) -> Regex {
    RegexBuilder::new(pattern)
        .unicode(false)
        .size_limit(1 << 22)
        .build()
        .expect("the rules are part of the source, and a test compiles them")
}

impl Format {
    /// The bytes of a token whose literal part is at `literal`, or nothing where there is no token.
    ///
    /// Looks at [`BEFORE_BYTES`] before the literal part and `reach` behind it. What stands next to
    /// the token is not looked at.
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
    ///
    /// A name matches where it holds one of the rule's, so `MY_CF_API_TOKEN` has the `cfapi` of
    /// one.
    pub(crate) fn matches(&self, name: &str, value: &[u8]) -> bool {
        self.names.iter().any(|it| name.contains(it.as_str()))
            && self
                .compiled
                .get_or_init(|| compile(&format!("^(?:{})$", self.value)))
                .is_match(value)
    }
}
