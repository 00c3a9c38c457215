//! Finding a tool by what it is for.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use memchr::memmem::Finder;

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
    /// The first search keeps the texts of each tool in lower case, 32 KiB of a tool at most, for those that come
    /// later. Each search asks the tools for their descriptions, so one that changes is found by what it says now.
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
        let words: Vec<Word<'_>> = words.iter().map(|it| Word::new(it)).collect();
        let named = self.get(query.trim()).map(Entry::id);
        let ctx = DescribeContext::new().with_tools(self.clone());
        let mut hits = Vec::new();
        for entry in self.iter() {
            let (mut found, mut score) = Page::read(entry, &ctx, |page| {
                let scores = words.iter().map(|word| page.score(word));
                scores.fold((0, 0), |(n, sum), it| (n + usize::from(it > 0), sum + it))
            });
            if named == Some(entry.id()) {
                (found, score) = (usize::MAX, score + NAMED);
            }
            if words.is_empty() || found > 0 {
                hits.push((found, score, entry));
            }
        }
        // The sort is stable, and the tools came in the order of ids.
        hits.sort_by_key(|(found, score, _)| Reverse((*found, *score)));
        let hits = hits.into_iter().take(limit);
        hits.map(|(_, score, entry)| Hit { entry: entry.clone(), score }).collect()
    }
}

/// What the query names outright stands above any sum of words.
const NAMED: u32 = 1_000_000;

/// The weight of a word in each part of a page, the greatest first.
const WEIGHTS: [u32; 4] = [16, 8, 8, 2];

/// The most bytes of a page that is kept with its tool. A longer one is made again in each search.
const MAX_KEPT_BYTES: usize = 32 * 1024;

/// The texts of one tool in lower case: names, title, search hint, description. It is kept with the tool's entry from
/// the first search on, since making the pages of 10,000 tools takes several times as long as looking through them.
#[derive(Debug)]
pub(super) struct Page {
    /// The description that it was made of: a tool may have another one next time.
    description: Box<str>,
    /// The parts, with a line break behind each.
    text: Box<str>,
    /// Where each part begins.
    begins: [usize; 4],
}

impl Page {
    /// Gives what `read` makes of the page of a tool.
    fn read<T>(entry: &Entry, ctx: &DescribeContext, read: impl FnOnce(&Self) -> T) -> T {
        let description = entry.tool().description(ctx);
        let kept = &entry.0.page;
        if let Some(page) = kept.get().filter(|it| *it.description == *description) {
            return read(page);
        }
        let page = Self::new(entry, &description);
        let res = read(&page);
        if page.description.len() + page.text.len() <= MAX_KEPT_BYTES {
            // The page of another description stays where there is one: that tool changes what it says.
            let _ = kept.set(page);
        }
        res
    }

    fn new(entry: &Entry, description: &str) -> Self {
        let metadata = entry.tool().metadata();
        let mut names: Vec<String> = words(entry.id().as_str()).collect();
        names.extend(entry.aliases().iter().flat_map(|alias| words(alias.as_str())));
        let lower = |text: Option<&String>| text.map(|it| it.to_lowercase()).unwrap_or_default();
        let parts = [
            names.join(" "),
            lower(metadata.title.as_ref()),
            lower(metadata.search_hint.as_ref()),
            description.to_lowercase(),
        ];
        let mut text = String::with_capacity(parts.iter().map(|it| it.len() + 1).sum());
        let begins = parts.map(|part| {
            let at = text.len();
            text += &part;
            text.push('\n');
            at
        });
        Self { description: description.into(), text: text.into(), begins }
    }

    /// The best place counts; a whole word counts double, its beginning half as much again.
    fn score(&self, word: &Word<'_>) -> u32 {
        let mut best = 0;
        for at in word.finder.find_iter(self.text.as_bytes()) {
            // No word has a line break, so each place is in one part.
            let part = self.begins.iter().rposition(|begin| *begin <= at).unwrap_or(0);
            let weight = WEIGHTS[part];
            if best >= weight * 4 {
                // Neither this part nor those behind it have more to give.
                break;
            }
            let begins = !self.text[..at].ends_with(char::is_alphanumeric);
            let ends = !self.text[at + word.text.len()..].starts_with(char::is_alphanumeric);
            best = best.max(match (begins, ends) {
                (true, true) => weight * 4,
                (true, false) => weight * 3,
                // `it` is in `git` by accident. Scripts without spaces say more per letter.
                _ if word.text.is_ascii() && word.text.len() < 4 => 0,
                _ => weight * 2,
            });
        }
        best
    }
}

/// A word that is searched, in lower case.
struct Word<'a> {
    text: &'a str,
    finder: Finder<'a>,
}

impl<'a> Word<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, finder: Finder::new(text) }
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
