//! The rules that one decision looks at: those of the host, and further ones that
//! only narrow.
//!
//! Each question is put to both indexes, and of the second only the rules that ask
//! or deny are kept. So whatever stands in it, nothing is allowed by it.
//!
//! Each question is counted. When the steps of the decision are spent, all answers are empty.

use std::sync::Arc;

use crate::{
    Rule,
    glob::Glob,
    host::Address,
    index::{
        Argument, Hits, Index, Matched, Narrows,
        paths::{Anchors, PathIndex},
    },
    links::Links,
    steps::Steps,
};

/// Where a decision looks rules up. The methods are those of [`Index`] and of
/// [`PathIndex`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lookup<'a> {
    base: &'a Index,
    narrower: Option<&'a Index>,
    steps: &'a Steps,
}

/// Steps for a pattern that a path with wildcards is compared with.
const PATTERN: usize = 8;

impl<'a> Lookup<'a> {
    pub(crate) fn new(base: &'a Index, narrower: Option<&'a Index>, steps: &'a Steps) -> Self {
        Self { base, narrower, steps }
    }

    /// What is left of the work of the decision.
    pub(crate) fn steps(self) -> &'a Steps {
        self.steps
    }

    /// Both answers: all of the first, what narrows of the second.
    fn hits(self, find: impl Fn(&'a Index) -> Hits<'a>) -> Hits<'a> {
        if !self.steps.take(1) {
            return Hits::default();
        }
        let mut res = find(self.base);
        if let Some(narrower) = self.narrower {
            res.narrow(find(narrower));
        }
        res
    }

    /// As [`hits`](Self::hits). What the second index allows does not count, and so
    /// neither do the number of words nor the exact words that it allows.
    fn matched(self, mut find: impl FnMut(&'a Index) -> Matched<'a>) -> Matched<'a> {
        let mut res = find(self.base);
        if let Some(narrower) = self.narrower {
            let found = find(narrower);
            res.hits.narrow(found.hits);
            res.possible = res.possible.or(found.possible);
        }
        res
    }

    fn all(self) -> impl Iterator<Item = &'a Index> {
        std::iter::once(self.base).chain(self.narrower)
    }

    fn all_paths(self) -> impl Iterator<Item = &'a PathIndex> {
        self.all().map(|it| &it.paths)
    }

    /// Allowed roots of file tools, as they are written. Those of the host.
    pub(crate) fn roots(self) -> &'a [String] {
        &self.base.roots
    }

    /// Of what rules ask or deny some.
    pub(crate) fn narrows(self) -> Narrows {
        self.all().fold(Narrows::default(), |res, it| res.or(it.narrows))
    }

    pub(crate) fn by_name(self, name: &str, is_of_server: bool) -> Hits<'a> {
        self.hits(|it| it.by_name(name, is_of_server))
    }

    pub(crate) fn by_class(self, class: &str) -> Hits<'a> {
        self.hits(|it| it.by_class(class))
    }

    pub(crate) fn any_command(self) -> Hits<'a> {
        self.hits(Index::any_command)
    }

    pub(crate) fn by_words<'w>(
        self,
        words: impl Iterator<Item = Option<&'w str>> + Clone,
        has_more: bool,
    ) -> Matched<'a> {
        self.matched(|it| {
            let mut n_words = 0;
            let words = words.clone().inspect(|_| n_words += 1);
            let res = it.by_words(words, has_more);
            if self.steps.take(n_words) { res } else { Matched::default() }
        })
    }

    pub(crate) fn by_spread_words<'w>(
        self,
        names: &[&str],
        rest: impl Iterator<Item = Argument<'w>> + Clone,
        has_more: bool,
        n_steps: &mut usize,
    ) -> Matched<'a> {
        self.matched(|it| {
            let before = (*n_steps).min(self.steps.left());
            let mut left = before;
            let res = it.by_spread_words(names, rest.clone(), has_more, &mut left);
            let n_made = before - left;
            *n_steps = n_steps.saturating_sub(n_made);
            // What was not looked at is possible.
            let _ = self.steps.take(n_made + 1);
            res
        })
    }

    pub(crate) fn narrows_program(self, name: &str) -> bool {
        self.steps.take(1) && self.all().any(|it| it.narrows_program(name))
    }

    pub(crate) fn narrows_program_as(self, start: &str) -> bool {
        self.steps.take(1) && self.all().any(|it| it.narrows_program_as(start))
    }

    pub(crate) fn narrows_programs(self) -> bool {
        self.all().any(Index::narrows_programs)
    }

    #[cfg(feature = "bash")]
    pub(crate) fn programs_by_path(self, base: &str) -> impl Iterator<Item = &'a str> {
        self.all()
            .flat_map(move |it| it.programs_by_path(base))
            .take_while(move |_| self.steps.take(1))
    }

    pub(crate) fn any_path(self, writes: bool) -> Hits<'a> {
        self.hits(|it| it.any_path(writes))
    }

    pub(crate) fn narrowing_host(self, host: &str) -> Option<&'a Rule> {
        if !self.steps.take(1 + host.len() / 16) {
            return None;
        }
        let mut found = self.all().filter_map(|it| it.narrowing_host(host));
        let first = found.next()?;
        Some(found.next().filter(|it| it.effect() > first.effect()).unwrap_or(first))
    }

    pub(crate) fn by_host(self, address: &Address) -> (Hits<'a>, Hits<'a>) {
        if !self.steps.take(1 + address.host.len() / 16) {
            return Default::default();
        }
        let (mut wide, mut exact) = self.base.by_host(address);
        if let Some((of_all, of_one)) = self.narrower.map(|it| it.by_host(address)) {
            wide.narrow(of_all);
            exact.narrow(of_one);
        }
        (wide, exact)
    }

    pub(crate) fn narrows_paths(self) -> bool {
        self.all_paths().any(PathIndex::narrows)
    }

    /// The other names of what rules that ask or deny name, of each index.
    pub(crate) fn links(self, anchors: Anchors<'_>) -> Vec<Arc<Links>> {
        self.all_paths().map(|it| it.links(anchors)).collect()
    }

    /// The other names of protected places.
    pub(crate) fn links_of_places<'p>(
        self,
        home: Option<&str>,
        places: impl Iterator<Item = &'p str>,
    ) -> Arc<Links> {
        self.base.paths.links_of_places(home, places)
    }

    /// How many patterns a path is compared with one by one.
    pub(crate) fn n_scanned(self) -> usize {
        self.all_paths().map(PathIndex::n_scanned).sum()
    }

    /// How many patterns there are.
    #[cfg(feature = "bash")]
    pub(crate) fn n_patterns(self) -> usize {
        self.all_paths().map(PathIndex::len).sum()
    }

    /// The strongest rule that asks or denies by a pattern that `may_apply`.
    pub(crate) fn narrowing_path(self, may_apply: impl Fn(&Glob) -> bool) -> Option<&'a Rule> {
        let may_apply = |it: &Glob| self.steps.take(PATTERN) && may_apply(it);
        let mut found = self.all().filter_map(|it| it.paths.narrowing(it, may_apply));
        let first = found.next()?;
        Some(found.next().filter(|it| it.effect() > first.effect()).unwrap_or(first))
    }

    /// Adds the rules that name an absolute path to `hits`.
    pub(crate) fn find_path(
        self,
        path: &str,
        writes: bool,
        anchors: Anchors<'_>,
        wanted: impl Fn(&Glob, bool) -> bool,
        hits: &mut Hits<'a>,
    ) {
        let wanted = |glob: &Glob, narrows: bool| self.steps.take(1) && wanted(glob, narrows);
        let steps = self.steps;
        self.base.paths.find(self.base, (path, steps), writes, anchors, wanted, hits);
        if let Some(narrower) = self.narrower {
            let wanted = |glob: &Glob, narrows: bool| narrows && wanted(glob, narrows);
            narrower.paths.find(narrower, (path, steps), writes, anchors, wanted, hits);
        }
    }
}
