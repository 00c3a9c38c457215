//! Regular expressions of ECMA-262 that are matched in bounded time and memory.
//!
//! Two engines: one in linear time for most patterns, one that backtracks for those with
//! look-around or back-references. Both get their size and their memory bounded when they are
//! compiled, and [`Pattern::steps`] counts their time beforehand by the pattern's [`weight`].

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::budget;

/// Size of a compiled pattern: enough for a thousand repetitions of a class of letters; the next
/// power of two takes more than 10 ms to compile.
const MAX_PATTERN_BYTES: usize = 2 << 20;
/// What the matchers of one schema remember together, in each of the two directions of matching.
const MAX_CACHE_BYTES: usize = 32 << 20;
/// Attempts that look-around may take back. Each may cost the length of the text.
const MAX_BACKTRACKS: usize = 20_000;

/// The patterns of one schema, each compiled once. Clones share them.
///
/// A pattern that cannot be used is remembered as well, so that its error costs nothing the second
/// time.
#[derive(Clone)]
pub(super) struct Patterns {
    cache_bytes: usize,
    compiled: Arc<Mutex<HashMap<String, Verdict>>>,
}

/// What came of compiling one text.
type Verdict = Result<Arc<Pattern>, Unusable>;

impl Patterns {
    /// A set that will hold up to `n_patterns`.
    pub(super) fn new(n_patterns: usize) -> Self {
        let cache_bytes = (MAX_CACHE_BYTES / n_patterns.max(1)).clamp(64 << 10, 2 << 20);
        Self { cache_bytes, compiled: Arc::default() }
    }

    /// Limits for the patterns that the validator compiles itself.
    pub(super) fn options(&self) -> jsonschema::PatternOptions<jsonschema::Regex> {
        jsonschema::PatternOptions::regex()
            .size_limit(MAX_PATTERN_BYTES)
            .dfa_size_limit(self.cache_bytes)
    }

    /// The compiled form of a pattern.
    ///
    /// # Errors
    ///
    /// It is none, too large, or has what no engine here knows.
    pub(super) fn get(&self, text: &str) -> Verdict {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = compiled.get(text) {
            return found.clone();
        }
        let res = Pattern::compile(text, self.cache_bytes).map(Arc::new);
        compiled.insert(text.to_owned(), res.clone());
        res
    }
}

impl fmt::Debug for Patterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Patterns").finish_non_exhaustive()
    }
}

/// Why a text cannot be used as a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    /// Its automaton would be too large.
    TooLarge,
    /// A part of it is not understood.
    Construct {
        /// The part, as it is written.
        found: String,
        /// What an engine says about it, in its words.
        why: String,
    },
    /// What the engine that backtracks says about the whole.
    Whole(String),
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => f.write_str("it is very large"),
            Self::Construct { found, why } => write!(f, "{why}: `{found}`"),
            Self::Whole(why) => f.write_str(why),
        }
    }
}

impl Unusable {
    /// How much of a part is shown.
    const MAX_CHARS: usize = 20;

    /// Reads the report of the linear engine: the pattern, a line with carets below the part in question,
    /// and a line with the reason.
    /// `None` where it is only that the engine knows no look-around and no back-references.
    fn of_linear(report: &str) -> Option<Self> {
        let why = report.rsplit_once("error: ").map_or("it is none", |it| it.1.trim());
        if why.contains("look-around") || why.contains("backreferences") {
            return None;
        }
        let text = report.lines().nth(1).and_then(|it| it.get(4..)).unwrap_or_default();
        let is_marked = |it: &&str| it.contains('^') && it.trim_matches([' ', '^']).is_empty();
        let marks = report.lines().skip(2).find(is_marked).unwrap_or_default();
        // The pattern and the line below it are indented by four blanks.
        let start = marks.find('^').unwrap_or(4).saturating_sub(4);
        let n_chars = marks.matches('^').count().clamp(1, Self::MAX_CHARS);
        let found = text.chars().skip(start).take(n_chars).collect();
        Some(Self::Construct { found, why: why.to_owned() })
    }

    fn of_backtracking(text: &str, err: &fancy_regex::Error) -> Self {
        match err {
            fancy_regex::Error::ParseError(at, why) => {
                let rest = text.get(*at..).unwrap_or(text);
                let found = rest.chars().take(Self::MAX_CHARS).collect();
                Self::Construct { found, why: why.to_string() }
            }
            fancy_regex::Error::CompileError(why) => {
                // What the linear engine says about the part that it was given.
                let inner = match &**why {
                    fancy_regex::CompileError::InnerError(inner) => {
                        std::error::Error::source(inner)
                    }
                    _ => None,
                };
                let construct = inner.and_then(|it| Self::of_linear(&it.to_string()));
                construct.unwrap_or_else(|| Self::Whole(why.to_string()))
            }
            err => Self::Whole(err.to_string()),
        }
    }
}

/// One compiled pattern.
///
/// `weight` is the number of states, about.
#[derive(Debug)]
pub(super) struct Pattern {
    matcher: Matcher,
    weight: u64,
}

#[derive(Debug)]
enum Matcher {
    /// Takes time in proportion to the text.
    Linear(regex::Regex),
    /// Has look-around or back-references, and tries again where they fail.
    Backtracking(fancy_regex::Regex),
}

impl Pattern {
    fn compile(text: &str, cache_bytes: usize) -> Result<Self, Unusable> {
        let Ok(translated) = jsonschema_regex::to_rust_regex(text) else {
            return Err(untranslated(text));
        };
        let linear = regex::RegexBuilder::new(&translated)
            .size_limit(MAX_PATTERN_BYTES)
            .dfa_size_limit(cache_bytes)
            .build();
        let matcher = match linear {
            Ok(it) => Matcher::Linear(it),
            Err(regex::Error::CompiledTooBig(_)) => return Err(Unusable::TooLarge),
            // The syntax may have more than the linear engine knows.
            Err(linear) => Matcher::Backtracking(
                fancy_regex::RegexBuilder::new(&translated)
                    .backtrack_limit(MAX_BACKTRACKS)
                    .delegate_size_limit(MAX_PATTERN_BYTES)
                    .delegate_dfa_size_limit(cache_bytes)
                    .build()
                    .map_err(|err| {
                        Unusable::of_linear(&linear.to_string())
                            .unwrap_or_else(|| Unusable::of_backtracking(&translated, &err))
                    })?,
            ),
        };
        Ok(Self { matcher, weight: weight(text) })
    }

    /// What a match takes: weight times length, and weight times the square of the length where the
    /// engine backtracks.
    pub(super) fn steps(&self, text: &str) -> u64 {
        let len = text.len() as u64;
        match self.matcher {
            Matcher::Linear(_) => self.weight.saturating_mul(len),
            Matcher::Backtracking(_) => self.weight.saturating_mul(len.saturating_mul(len)),
        }
    }

    /// Whether a text matches. False as well where the check is to end.
    pub(super) fn is_match(&self, text: &str) -> bool {
        match &self.matcher {
            Matcher::Linear(it) => it.is_match(text),
            Matcher::Backtracking(it) => it.is_match(text).unwrap_or_else(|_| {
                budget::exhaust();
                false
            }),
        }
    }
}

/// Why a text cannot be put into the syntax of the engines.
fn untranslated(text: &str) -> Unusable {
    // Control characters can be translated, and come first in no report. Two letters in the place of three
    // characters would move what stands behind.
    let mut known = text.to_owned();
    while let Some(at) = known
        .find(r"\c")
        .filter(|at| known[at + 2..].starts_with(|it: char| it.is_ascii_alphabetic()))
    {
        known.replace_range(at..at + 3, "ccc");
    }
    let report = regex::Regex::new(&known).map_or_else(|err| err.to_string(), |_| String::new());
    Unusable::of_linear(&report)
        .unwrap_or_else(|| Unusable::Whole("it is no pattern of ECMA-262".to_owned()))
}

/// About how many states an automaton for a pattern has. Repetitions count as often as they may
/// occur, so the number is known without an automaton.
pub(super) fn weight(pattern: &str) -> u64 {
    // The sums of the groups that are open, the outermost first.
    let mut open = vec![0_u64];
    // What a repetition that follows applies to.
    let mut last = 0_u64;
    let mut chars = pattern.chars().peekable();
    while let Some(it) = chars.next() {
        let atom = match it {
            '(' => {
                open.push(0);
                last = 0;
                continue;
            }
            ')' if open.len() > 1 => open.pop().unwrap_or(0).max(1),
            '{' => {
                let mut bounds = String::new();
                while let Some(it) = chars.next_if(|it| it.is_ascii_digit() || *it == ',') {
                    bounds.push(it);
                }
                let most = bounds.split(',').filter_map(|it| it.parse::<u64>().ok()).max();
                if chars.peek() == Some(&'}')
                    && let (Some(most), Some(sum)) = (most, open.last_mut())
                {
                    let more = last.saturating_mul(most.saturating_sub(1));
                    *sum = sum.saturating_add(more);
                    last = last.saturating_add(more);
                }
                continue;
            }
            '*' | '+' | '?' | '|' | '^' | '$' | '}' => continue,
            '[' => {
                let mut weight = if chars.peek() == Some(&'^') { 12 } else { 1 };
                while let Some(it) = chars.next_if(|it| *it != ']') {
                    weight += match it {
                        '\\' => chars.next().map_or(0, escape_weight),
                        it if !it.is_ascii() => 4,
                        _ => 0,
                    };
                }
                weight
            }
            '\\' => chars.next().map_or(1, escape_weight),
            '.' => 12,
            it if it.is_ascii() => 1,
            _ => 4,
        };
        last = atom;
        if let Some(sum) = open.last_mut() {
            *sum = sum.saturating_add(atom);
        }
    }
    open.into_iter().fold(1, u64::saturating_add)
}

/// What compiling a pattern costs, as a number of states: those of its automaton, and what its translation takes.
///
/// The translation reads the whole pattern once for each escape that means another class in ECMA-262, and what
/// takes the place of one is longer: 3,000 `\w` take as long as three million states.
pub(super) fn compiling(pattern: &str) -> u64 {
    /// Bytes that stand in the place of an escape, about.
    const REPLACED: u64 = 14;
    /// Bytes that are read in the time of a state.
    const READ: u64 = 24;
    let mut chars = pattern.chars();
    let mut n_escapes = 0_u64;
    while let Some(it) = chars.next() {
        let is_replaced = it == '\\'
            && chars.next().is_some_and(|it| matches!(it, 'c' | 'd' | 'D' | 's' | 'S' | 'w' | 'W'));
        n_escapes += u64::from(is_replaced);
    }
    let read = n_escapes * (pattern.len() as u64 + REPLACED * n_escapes);
    weight(pattern).saturating_add(read / READ)
}

/// About how many states a class behind a backslash has.
fn escape_weight(name: char) -> u64 {
    match name {
        'p' | 'P' => 1_000,
        'S' | 'W' | 'D' | 's' => 12,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_escape_is_a_further_reading_of_the_pattern() {
        assert_eq!(compiling("abc"), weight("abc"));
        assert!(compiling(&r"\d".repeat(20)) < 1_000);
        for escape in [r"\w", r"\s", r"\D", r"\cA"] {
            assert!(compiling(&escape.repeat(3_000)) > 1_000_000, "{escape}");
        }
        // What is escaped is a backslash.
        assert_eq!(compiling(&r"\\w".repeat(3_000)), weight(&r"\\w".repeat(3_000)));
    }

    #[test]
    fn a_weight_counts_repetitions_as_often_as_they_may_occur() {
        for (pattern, expected) in [
            ("", 1),
            ("abc", 4),
            ("a{3}", 4),
            ("a{3,}b", 5),
            ("(ab){2,5}", 11),
            ("((a{10}){10}){10}", 1_001),
            ("[a-z{9}]{4}", 5),
            ("(a{100000000000}){100000000000}", u64::MAX),
            (r"\p{L}", 1_000),
            ("a{4000000000}", 4_000_000_001),
            ("(((", 1),
            (")))", 1),
        ] {
            let got = weight(pattern);
            assert!(got >= expected && got <= expected.saturating_add(4), "{pattern}: {got}");
        }
    }
}
