//! Rules for files, found by the directories that their patterns start with.
//!
//! `/srv/data/**` is filed under `srv/data`, so a path looks up each of its own
//! directories and tries only the patterns it finds there. A pattern such as
//! `*.pem` has no directory: those are tried one by one.
//!
//! An index cannot miss: each pattern is filed once, and a path looks under every
//! directory of its own, under each of its names, and at all patterns without
//! either. Whether a pattern fits is decided by
//! [`Glob::matches`](crate::glob::Glob::matches) alone.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use super::{Hits, Index};
use crate::{
    glob::{Anchor, Glob},
    links::{Cache, Links},
    steps::Steps,
};

/// The numbers in its maps are places in `patterns`.
#[derive(Debug, Default)]
pub(crate) struct PathIndex {
    patterns: Vec<PathRule>,
    /// By whether they are for writing, by anchor, and by the parts before the first wildcard.
    by_base: [HashMap<Anchor, HashMap<String, Vec<usize>>>; 2],
    /// Patterns that are one plain name, found anywhere.
    by_name: HashMap<String, Vec<usize>>,
    /// Those that start with a wildcard anywhere.
    others: Vec<usize>,
    /// How many patterns ask or deny.
    n_narrowing: usize,
    links: Cache,
    links_of_places: Cache,
}

/// A pattern with the place of its rule in [`Index`]. `writes` is true for `Edit`
/// and `Write`, `narrows` for a rule that asks or denies.
#[derive(Debug)]
struct PathRule {
    rule: u32,
    writes: bool,
    narrows: bool,
    glob: Glob,
}

/// Directories that patterns start at.
///
/// All absolute. A directory that is not known is left out, and patterns that start
/// there match nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Anchors<'a> {
    pub(crate) home: Option<&'a str>,
    pub(crate) working_dir: Option<&'a str>,
    /// Where the program of a call starts. Its author chose it, so only rules that
    /// ask or deny start there.
    pub(crate) program_dir: Option<&'a str>,
    pub(crate) roots: &'a [String],
}

/// How many bytes of a key are hashed in a step.
const HASHED: usize = 32;

impl PathIndex {
    /// `rule` is the place of the rule in [`Index`].
    pub(super) fn add(&mut self, rule: u32, writes: bool, narrows: bool, glob: Glob) {
        let at = self.patterns.len();
        self.n_narrowing += usize::from(narrows);
        match (glob.anchor, glob.plain_name()) {
            (_, Some(name)) => self.by_name.entry(name.to_owned()).or_default().push(at),
            (Anchor::Anywhere, None) => self.others.push(at),
            (anchor, None) => {
                let of_anchor = self.by_base[usize::from(writes)].entry(anchor).or_default();
                of_anchor.entry(glob.base()).or_default().push(at);
            }
        }
        self.patterns.push(PathRule { rule, writes, narrows, glob });
    }

    /// Whether a rule asks or denies by a pattern.
    ///
    /// Where none does, words of commands need not be looked up as paths.
    pub(crate) fn narrows(&self) -> bool {
        self.n_narrowing > 0
    }

    /// The other names of what rules that ask or deny name before their first
    /// wildcard, as far as it is known where that lies.
    pub(crate) fn links(&self, anchors: Anchors<'_>) -> Arc<Links> {
        let Anchors { home, working_dir, roots, .. } = anchors;
        let behind = |dir: &str, base: &str| format!("{}/{base}", dir.trim_end_matches('/'));
        self.links.get(&[home, working_dir], || {
            let relative: Vec<_> = roots.iter().map(String::as_str).chain(working_dir).collect();
            let mut res = BTreeSet::new();
            let in_work: Vec<_> = relative.iter().copied().chain(home).collect();
            for it in self.patterns.iter().filter(|it| it.narrows) {
                let starts: &[&str] = match it.glob.anchor {
                    Anchor::Root => &[""],
                    Anchor::Home => home.as_slice(),
                    Anchor::Relative => &relative,
                    // It may lie anywhere, and most often does here.
                    Anchor::Anywhere => &in_work,
                };
                let base = it.glob.base();
                if !base.is_empty() {
                    res.extend(starts.iter().map(|dir| behind(dir, &base)));
                }
            }
            res
        })
    }

    /// The same of protected `places`: a name without a slash at its start lies in
    /// the home directory.
    pub(crate) fn links_of_places<'p>(
        &self,
        home: Option<&str>,
        places: impl Iterator<Item = &'p str>,
    ) -> Arc<Links> {
        self.links_of_places.get(&[home], || {
            let absolute = |place: &str| match place.starts_with('/') {
                true => Some(place.to_owned()),
                false => home.map(|it| format!("{}/{place}", it.trim_end_matches('/'))),
            };
            places.filter_map(absolute).collect()
        })
    }

    /// How many patterns a path is compared with one by one.
    pub(crate) fn n_scanned(&self) -> usize {
        self.others.len()
    }

    /// How many patterns there are.
    #[cfg(feature = "bash")]
    pub(crate) fn len(&self) -> usize {
        self.patterns.len()
    }

    /// The strongest rule that asks or denies by a pattern that `may_apply`.
    pub(crate) fn narrowing<'a>(
        &self,
        index: &'a Index,
        may_apply: impl Fn(&Glob) -> bool,
    ) -> Option<&'a crate::Rule> {
        let mut hits = Hits::default();
        for it in self.patterns.iter().filter(|it| it.narrows && may_apply(&it.glob)) {
            hits.add_rule(index, it.rule);
        }
        hits.narrowing()
    }

    /// Adds the rules that name an absolute path to `hits`, those that `wanted`
    /// lets through.
    ///
    /// `writes` says which of both kinds of rules is meant. A rule that narrows
    /// covers also what lies below what it names. `wanted` is given the pattern,
    /// and whether it narrows.
    pub(crate) fn find<'a>(
        &self,
        index: &'a Index,
        (path, steps): (&str, &Steps),
        writes: bool,
        anchors: Anchors<'_>,
        wanted: impl Fn(&Glob, bool) -> bool,
        hits: &mut Hits<'a>,
    ) {
        let mut consider = |at: usize, parts: &[&str]| {
            let it = &self.patterns[at];
            if it.writes == writes
                && wanted(&it.glob, it.narrows)
                && steps.take(it.glob.n_steps(parts))
                && it.glob.matches(parts, it.narrows)
            {
                hits.add_rule(index, it.rule);
            }
            !steps.are_spent()
        };
        let roots = anchors.roots.iter().map(String::as_str);
        let relative = roots.chain(anchors.working_dir).map(|it| (Anchor::Relative, it, false));
        let of_program = anchors.program_dir.map(|it| (Anchor::Relative, it, true));
        let home = anchors.home.map(|it| (Anchor::Home, it, false));
        let starts = [(Anchor::Root, "/", false)].into_iter().chain(home).chain(relative);
        for (anchor, dir, only_narrows) in starts.chain(of_program) {
            let Some(of_anchor) = self.by_base[usize::from(writes)].get(&anchor) else { continue };
            let Some(below) = below(path, dir) else { continue };
            let parts: Vec<&str> = below.split('/').filter(|it| !it.is_empty()).collect();
            let ends = below.match_indices('/').map(|(at, _)| at).chain([below.len()]);
            let bases = std::iter::once("").chain(ends.map(|end| &below[..end]));
            let mut last = None;
            for base in bases {
                if last.replace(base) == Some(base) {
                    continue;
                }
                if !steps.take(1 + base.len() / HASHED) {
                    return;
                }
                let found = of_anchor.get(base).into_iter().flatten();
                let found = found.filter(|at| !only_narrows || self.patterns[**at].narrows);
                if !found.copied().all(|at| consider(at, &parts)) {
                    return;
                }
            }
        }
        if !self.by_name.is_empty() || !self.others.is_empty() {
            let parts: Vec<&str> = path.split('/').filter(|it| !it.is_empty()).collect();
            let named = parts.iter().flat_map(|it| self.by_name.get(*it).into_iter().flatten());
            let _ = steps.take(parts.len())
                && named.chain(&self.others).copied().all(|at| consider(at, &parts));
        }
    }
}

/// The part of `path` below `dir`, without a slash at its start; both absolute.
///
/// `None` where it is not below; empty where both are one. `/a` is not below `/ab`.
pub(crate) fn below<'a>(path: &'a str, dir: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(dir.trim_end_matches('/'))?;
    if rest.is_empty() {
        return Some("");
    }
    rest.strip_prefix('/')
}
