//! Whether there is such a tool already.
//!
//! Two measures, both without a model: the same text but for comments and blanks that change nothing, and the share of common
//! trigrams, of the texts and of names with descriptions. The second one is a hint, so the author may explain; the first one is not.

use std::collections::HashSet;

use flyto_diagnostics::Source;
use flyto_tools::{DescribeContext, Owner, Registry};

use super::Refusal;
use crate::{Body, Pending, ToolDefinition, Version, definition::sorted, parse};

/// From this share of common parts on, two texts are alike.
const ALIKE: f64 = 0.85;
/// From this share on, a reader is told.
const NEAR: f64 = 0.5;
/// The most names that a reader is told.
const MAX_NEAR: usize = 5;

/// Compares a definition with the tools that are there, and gives the names of those that are near.
///
/// | what is found | what follows |
/// | --- | --- |
/// | the same text under any name | refused, and the twin is named |
/// | 0.85 or more of the trigrams in common | refused, unless the author says why both are needed |
/// | 0.5 or more | the reader is told, up to 5 names |
///
/// Of each text the first 16 KiB count, so a comparison with 200 tools takes milliseconds.
pub(super) fn check(
    def: &ToolDefinition,
    distinct_because: Option<&str>,
    active: &[Version],
    registry: &Registry,
    owner: &Owner,
) -> Result<Vec<String>, Refusal> {
    let body = bare(def);
    let (text, about) = (trigrams(&body), trigrams(&about(&def.name, &def.description)));
    let mut near: Vec<(f64, String)> = Vec::new();
    for other in active {
        let other = &other.definition;
        let other_body = bare(other);
        if other.name == def.name {
            if other.canonical_text() == def.canonical_text() {
                return Err(Refusal::Duplicate { twin: other.name.clone(), is_same: true });
            }
            continue;
        }
        if runs_the_same(def, other) {
            return Err(Refusal::Duplicate { twin: other.name.clone(), is_same: true });
        }
        let of_text = share(&text, &trigrams(&other_body));
        let of_words = share(&about, &trigrams(&self::about(&other.name, &other.description)));
        near.push((of_text.max(of_words), other.name.clone()));
    }
    let snapshot = registry.snapshot();
    for entry in snapshot.iter().filter(|it| it.owner() != owner) {
        let description = entry.tool().description(&DescribeContext::new());
        let other = trigrams(&self::about(entry.id().tool(), &description));
        near.push((share(&about, &other), entry.id().to_string()));
    }
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    if let Some((score, twin)) = near.first()
        && *score >= ALIKE
        && distinct_because.is_none_or(|it| it.trim().is_empty())
    {
        return Err(Refusal::Duplicate { twin: twin.clone(), is_same: false });
    }
    Ok(near.into_iter().filter(|it| it.0 >= NEAR).take(MAX_NEAR).map(|it| it.1).collect())
}

/// The id of a proposal of another name that waits with the same text, by the first measure.
///
/// One of the same name is another version of it: a description that is mended, say. A person decides about each text
/// once, and an author cannot have it waiting under many names.
pub(super) fn waiting_twin(def: &ToolDefinition, waiting: &[Pending]) -> Option<String> {
    let is_twin = |it: &&Pending| {
        let source = Source::new("a proposal that waits", it.definition.as_str());
        parse(&source)
            .definition
            .is_some_and(|other| other.name != def.name && runs_the_same(def, &other))
    };
    waiting.iter().find(is_twin).map(|it| it.id.clone())
}

/// Whether two definitions run the same: the same text, but for comments and blanks where these change nothing.
fn runs_the_same(a: &ToolDefinition, b: &ToolDefinition) -> bool {
    if a.body.execution_type() != b.body.execution_type() || bare(a) != bare(b) {
        return false;
    }
    let is_plain = |it: &ToolDefinition| has_plain_blanks(it.body.text().unwrap_or_default());
    a.body.text() == b.body.text() || (is_plain(a) && is_plain(b))
}

/// Whether every blank of a text separates words, so that two are as good as one. Those within quotes, here-documents, expansions
/// and patterns are characters of a word, and so are all that bash does not take for blanks (bash(1), "DEFINITIONS").
fn has_plain_blanks(text: &str) -> bool {
    const WITHIN_WORDS: [&str; 8] = ["<<", "${", "=~", "?(", "*(", "+(", "@(", "!("];
    !text.contains(['\'', '"', '`', '\\'])
        && !WITHIN_WORDS.iter().any(|it| text.contains(it))
        && text.chars().filter(|it| it.is_whitespace()).all(|it| matches!(it, ' ' | '\t' | '\n'))
}

/// The text without comments and blanks.
fn bare(def: &ToolDefinition) -> String {
    if let Body::Composite(value) = &def.body {
        return sorted(value).to_string();
    }
    let text = def.body.text().unwrap_or_default();
    let lines = text.lines().map(str::trim).filter(|it| !it.is_empty() && !it.starts_with('#'));
    lines
        .map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect::<Vec<_>>()
        .join("\n")
}

/// What a model chooses a tool by, in lower case.
fn about(name: &str, description: &str) -> String {
    // A model is told more by the first words than by the last ones.
    let end = description.floor_char_boundary(crate::MAX_DESCRIPTION_BYTES);
    format!("{name} {}", &description[..end]).to_lowercase()
}

/// Three characters each. Of long texts the first 16 KiB count.
fn trigrams(text: &str) -> HashSet<[char; 3]> {
    let chars: Vec<char> = text.chars().take(16 * 1024).collect();
    chars.windows(3).map(|it| [it[0], it[1], it[2]]).collect()
}

/// The share of common parts (Jaccard index).
fn share(a: &HashSet<[char; 3]>, b: &HashSet<[char; 3]>) -> f64 {
    let n_common = a.intersection(b).count();
    let n_all = a.len() + b.len() - n_common;
    // Counts of this size are exact.
    #[expect(clippy::cast_precision_loss, reason = "there are 32,768 at most")]
    let share = if n_all == 0 { 0.0 } else { n_common as f64 / n_all as f64 };
    share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_that_are_characters_of_a_word_make_another_text() {
        let same = |a: &str, b: &str| {
            let of = |text: &str| ToolDefinition::script("t", "T.", text);
            runs_the_same(&of(a), &of(b))
        };
        assert!(same("# a\nls  -l |\twc\n\n", "ls -l | wc\n"));
        for (a, b) in [
            ("echo ${X//  /-}\n", "echo ${X// /-}\n"),
            ("echo ${X:- a}\n", "echo ${X:-  a}\n"),
            ("[[ $X =~ (a  b) ]]\n", "[[ $X =~ (a b) ]]\n"),
            ("[[ $X == @(a  b|c) ]]\n", "[[ $X == @(a b|c) ]]\n"),
            ("echo a\u{a0}b\n", "echo a b\n"),
            ("echo a\r\n", "echo a\n"),
            ("echo 'a  b'\n", "echo 'a b'\n"),
            ("cat <<E\na  b\nE\n", "cat <<E\na b\nE\n"),
        ] {
            assert!(!same(a, b), "{a:?} {b:?}");
            assert!(same(a, a));
        }
    }
}
