//! Regular expressions of ECMA-262 that are matched in bounded time and memory.
//!
//! Two engines: one in linear time for most patterns, one that backtracks for those with
//! look-around or back-references. Both get their size and their memory bounded when they are
//! compiled, and [`Pattern::is_match`] counts their time beforehand by the pattern's [`weight`].

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
    compiled: Arc<Mutex<HashMap<String, Option<Arc<Pattern>>>>>,
}

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

    /// The compiled form of a pattern; `None` where it is none or too large.
    pub(super) fn get(&self, text: &str) -> Option<Arc<Pattern>> {
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
    /// `None` for a text that is no pattern of ECMA-262, or one that is too large.
    fn compile(text: &str, cache_bytes: usize) -> Option<Self> {
        let translated = jsonschema_regex::to_rust_regex(text).ok()?;
        let linear = regex::RegexBuilder::new(&translated)
            .size_limit(MAX_PATTERN_BYTES)
            .dfa_size_limit(cache_bytes)
            .build();
        let matcher = match linear {
            Ok(it) => Matcher::Linear(it),
            Err(regex::Error::CompiledTooBig(_)) => return None,
            // The syntax has more than the linear engine knows.
            Err(_) => Matcher::Backtracking(
                fancy_regex::RegexBuilder::new(&translated)
                    .backtrack_limit(MAX_BACKTRACKS)
                    .delegate_size_limit(MAX_PATTERN_BYTES)
                    .delegate_dfa_size_limit(cache_bytes)
                    .build()
                    .ok()?,
            ),
        };
        Some(Self { matcher, weight: weight(text) })
    }

    /// Whether a text matches, for the keyword at `place`. False as well where the check is to end.
    ///
    /// The steps are weight times length, and weight times the square of the length where the
    /// engine backtracks.
    pub(super) fn is_match(&self, text: &str, place: &Arc<str>) -> bool {
        let len = text.len() as u64;
        let steps = match self.matcher {
            Matcher::Linear(_) => self.weight.saturating_mul(len),
            Matcher::Backtracking(_) => self.weight.saturating_mul(len.saturating_mul(len)),
        };
        if !budget::spend_at(place, steps) {
            return false;
        }
        match &self.matcher {
            Matcher::Linear(it) => it.is_match(text),
            Matcher::Backtracking(it) => it.is_match(text).unwrap_or_else(|_| {
                budget::exhaust();
                false
            }),
        }
    }
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
