//! Finding a tool by what it is for.

use std::collections::BTreeSet;

use super::{Entry, Snapshot};
use crate::tool::DescribeContext;

/// A tool that a search found.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Hit {
    /// The tool.
    pub entry: Entry,
    /// How well it fits, to be compared within one search only. Higher is better.
    pub score: u32,
}

impl Snapshot {
    /// Finds tools by words: in names and aliases, titles, search hints and descriptions, in this
    /// order of weight.
    ///
    /// Case does not count. A word also finds longer ones that begin with it, or hold it if it has
    /// at least four letters. A tool fits that has at least one of the words; those with more of
    /// them come first. A query that is the name of a tool puts that tool at the head. An empty
    /// query finds every tool, in the order of ids.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use flyto_tools::{CallContext, NativeTool, NoInput, Registry};
    ///
    /// async fn nothing(_: CallContext, _: NoInput) {}
    ///
    /// let registry = Registry::new();
    /// for (name, about) in [("git:log", "Lists commits."), ("web:fetch", "Fetches a page.")] {
    ///     registry.register("host", Arc::new(NativeTool::builder(name, about).run(nothing)?))?;
    /// }
    /// let hits = registry.snapshot().search("commits of a branch", 5);
    /// assert_eq!(hits[0].entry.id().as_str(), "git:log");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn search(&self, query: &str, limit: usize) -> Vec<Hit> {
        let words: BTreeSet<String> = words(query).collect();
        let named = self.get(query.trim()).map(Entry::id);
        let ctx = DescribeContext::new().with_tools(self.clone());
        let mut hits: Vec<(usize, Hit)> = self
            .iter()
            .filter_map(|entry| {
                let page = Page::of(entry, &ctx);
                let scores = words.iter().map(|word| page.score(word));
                let found = scores.clone().filter(|score| *score > 0).count();
                let named = named == Some(entry.id());
                let score = scores.sum::<u32>() + if named { NAMED } else { 0 };
                let fits = words.is_empty() || found > 0 || named;
                let found = if named { usize::MAX } else { found };
                fits.then(|| (found, Hit { entry: entry.clone(), score }))
            })
            .collect();
        // The sort is stable, and the tools came in the order of ids.
        hits.sort_by(|(found_a, a), (found_b, b)| (found_b, b.score).cmp(&(found_a, a.score)));
        hits.into_iter().take(limit).map(|(_, hit)| hit).collect()
    }
}

/// What the query names outright stands above any sum of words.
const NAMED: u32 = 1_000_000;

/// The texts of one tool in lower case, each with the weight of a word in it.
struct Page {
    fields: [(u32, String); 4],
}

impl Page {
    fn of(entry: &Entry, ctx: &DescribeContext) -> Self {
        let tool = entry.tool();
        let metadata = tool.metadata();
        let mut names: Vec<String> = words(entry.id().as_str()).collect();
        names.extend(entry.aliases().iter().flat_map(|alias| words(alias.as_str())));
        let lower = |text: Option<&String>| text.map(|it| it.to_lowercase()).unwrap_or_default();
        Self {
            fields: [
                (16, names.join(" ")),
                (8, lower(metadata.title.as_ref())),
                (8, lower(metadata.search_hint.as_ref())),
                (2, tool.description(ctx).to_lowercase()),
            ],
        }
    }

    /// The best field counts; a whole word counts double, its beginning half as much again.
    fn score(&self, word: &str) -> u32 {
        let in_field = |(weight, text): &(u32, String)| {
            let mut best = 0;
            for (at, _) in text.match_indices(word) {
                let begins = !text[..at].ends_with(char::is_alphanumeric);
                let ends = !text[at + word.len()..].starts_with(char::is_alphanumeric);
                best = best.max(match (begins, ends) {
                    (true, true) => weight * 4,
                    (true, false) => weight * 3,
                    // `it` is in `git` by accident. Scripts without spaces say more per letter.
                    _ if word.is_ascii() && word.len() < 4 => 0,
                    _ => weight * 2,
                });
            }
            best
        };
        self.fields.iter().map(in_field).max().unwrap_or(0)
    }
}

/// The words of a text in lower case. `readFile`, `read_file` and `read-file` are two words each.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut spaced = String::with_capacity(text.len());
    let mut after_lower = false;
    for it in text.chars() {
        if after_lower && it.is_uppercase() {
            spaced.push(' ');
        }
        after_lower = it.is_lowercase();
        spaced.push(it);
    }
    let words: Vec<String> = spaced
        .split(|it: char| !it.is_alphanumeric())
        .filter(|it| !it.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.into_iter()
}
