//! Patterns of paths that a program reads by itself.
//!
//! Wildcards of a shell are listed ([`reach`](super::reach)). Those in an input, and in a
//! word between quotes, may be none, so what is found is asked, and found is what they
//! spell:
//!
//! | text | under `Read(./secret/**)` |
//! | --- | --- |
//! | `s*/k`, `secre[t]/k`, `**/secret/k` | asked: a part with a letter, or behind a wildcard, is `secret` |
//! | `{secret,x}/**`, `s{ecret,x}/k` | asked: one of the cases is |
//! | `:/secret`, `:(top)secret`: a pathspec of git | asked |
//! | `*`, `**/*`, `**/*.rs`, `[a-z]*/k` | not asked: what a program finds by itself is not known by its words |

use flyto_tools::Access;

use super::{Judge, cut};
use crate::{
    Cause, Reason, Subject, Verdict,
    glob::{Anchor, Glob},
    index::paths::below,
};

/// Longest text with wildcards that is read as a path: twice the longest name of a file.
pub(super) const MAX_GLOB_BYTES: usize = 512;
/// Most cases of the braces of a text.
const MAX_CASES: usize = 64;

impl Judge<'_> {
    /// A path with wildcards that a program may read: a rule whose place it spells is
    /// asked. Not so for a part of stars alone: what a program finds by itself in `**/*`
    /// is not known by its words.
    ///
    /// What the wildcards stand for is not listed, and a rule for a pattern that is found
    /// anywhere, as `*.pem`, is compared with the text alone.
    pub(super) fn narrow_pattern(&mut self, path: &str) {
        let Some(n_leading) = path.find(['*', '?', '[']).filter(|_| path.len() <= MAX_GLOB_BYTES)
        else {
            return;
        };
        let n_dir = path[..n_leading].rfind('/').map_or(0, |it| it + 1);
        let Ok(glob) = Glob::parse(&format!("/{}", &path[n_dir..])) else { return };
        if !self.steps().take_path(path, 1) {
            return;
        }
        let dir = if n_dir == 0 { "." } else { &path[..n_dir] };
        let located = self.starts.locate(dir).ok().or_else(|| self.starts.by_text(dir));
        let Some(location) = located else { return };
        let spells = |place: &str| {
            [&location.written, &location.resolved].iter().any(|dir| {
                below(place, dir).is_some_and(|it| {
                    let names: Vec<&str> = it.split('/').filter(|it| !it.is_empty()).collect();
                    glob.spells(&names)
                })
            })
        };
        let may_apply = |it: &Glob| match it.anchor {
            Anchor::Anywhere => it.plain_name().is_some_and(|it| glob.spells_name(it)),
            _ => self.any_place(it, spells),
        };
        if let Some(rule) = self.index.narrowing_path(may_apply) {
            let access = Access::Unknown;
            let subject = Subject::Path { path: cut(path), resolved: None, access };
            let cause = Cause::Possible { rule: rule.clone() };
            self.reasons.push(Reason::new(Verdict::Ask, subject, cause));
        }
    }

    /// Whether a place that the literal parts of a pattern name is `wanted`: from each
    /// directory in which the pattern may start.
    pub(super) fn any_place(&self, glob: &Glob, wanted: impl Fn(&str) -> bool) -> bool {
        let base = glob.base();
        let wanted = |dir: &str| wanted(&format!("{}/{base}", dir.trim_end_matches('/')));
        let (request, starts) = (self.request, &self.starts);
        match glob.anchor {
            Anchor::Root => wanted(""),
            Anchor::Home => {
                let homes = [request.home_text(), starts.real_home()];
                homes.into_iter().flatten().any(wanted)
            }
            Anchor::Relative => {
                let dirs = [
                    request.working_dir_text(),
                    request.program_dir_text(),
                    starts.real_working_dir(),
                    starts.real_program_dir(),
                ];
                let roots = self.index.roots().iter().map(String::as_str);
                dirs.into_iter().flatten().chain(roots).any(wanted)
            }
            Anchor::Anywhere => false,
        }
    }

    /// What a text stands for where a program reads lists in braces: none without one,
    /// and none for more than [`MAX_CASES`], which are asked for a path.
    pub(super) fn cases(&mut self, text: &str) -> Vec<String> {
        let cases = braces(text);
        if cases.is_none() && text.contains('/') {
            self.unread_paths(text, "it stands for more paths than are read");
        }
        cases.unwrap_or_default()
    }
}

/// What stands behind the magic of a pathspec of git: `a` in `:/a`, `:!a` and `:(top)a`
/// ([gitglossary(7)](https://git-scm.com/docs/gitglossary#Documentation/gitglossary.txt-aiddefpathspecapathspec)).
/// `None` for any other text.
#[cfg(feature = "bash")]
pub(super) fn path_of_pathspec(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(':')?;
    let path = match rest.strip_prefix('(') {
        Some(words) => words.split_once(')')?.1,
        None => {
            let path = rest.trim_start_matches(['/', '!', '^']);
            path.strip_prefix(':').unwrap_or(path)
        }
    };
    Some(path).filter(|it| !it.is_empty() && it.len() < rest.len())
}

/// What a text without quotes stands for, where a program reads lists in braces:
/// `secret/k` and `x/k` for `{secret,x}/k`. Empty without a list, and for a text that is
/// longer than [`MAX_GLOB_BYTES`]. `None` for more than [`MAX_CASES`].
fn braces(text: &str) -> Option<Vec<String>> {
    let is_short = text.len() <= MAX_GLOB_BYTES && !text.contains(['"', '\'', '`']);
    let mut res = vec![String::new()];
    let mut rest = if is_short { text } else { "" };
    while let Some((before, behind)) = rest.split_once('{') {
        let list =
            behind.split_once('}').filter(|(list, _)| list.contains(',') && !list.contains('{'));
        let cases: Vec<&str> = match list {
            Some((list, _)) => list.split(',').collect(),
            None => vec!["{"],
        };
        if res.len() * cases.len() > MAX_CASES {
            return None;
        }
        let all =
            res.iter().flat_map(|it| cases.iter().map(move |case| format!("{it}{before}{case}")));
        res = all.collect();
        rest = list.map_or(behind, |(_, behind)| behind);
    }
    let has_list = res.len() > 1;
    Some(res.into_iter().filter(|_| has_list).map(|it| it + rest).collect())
}
