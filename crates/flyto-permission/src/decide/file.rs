//! Paths.
//!
//! A path is looked up once ([`Location`]) and then judged for reading, for writing
//! or for both. Rules that narrow count for the path as it is written and as it
//! leads, what allows only for where it leads. Between the decision and the call a
//! link can change, which only a sandbox prevents.

use std::sync::Arc;

use flyto_tools::Access;

use super::{
    Judge, Source, cut,
    protected::{Protected, linked_places, protection},
};
use crate::{
    Cause, Reason, Standing, Subject, Verdict,
    glob::Glob,
    index::{
        Hits, Narrows,
        paths::{Anchors, below},
    },
    links::Links,
    location::{Location, absolute_location, may_be_opened},
    rule::Form,
};

/// Why a path is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A file tool touches it.
    Tool,
    /// A shell writes to it: roots do not allow that, only rules.
    Redirect,
    /// Only rules that ask or deny, and protected places, count.
    Narrow,
}

impl<'a> Judge<'a> {
    /// A tool of class `file`.
    ///
    /// Without a path in its preview it is judged by its name.
    pub(super) fn file(&mut self) {
        let paths = self.request.preview.map(|it| &it.paths).filter(|it| !it.is_empty());
        let Some(paths) = paths else { return self.whole(Standing::Unpreviewed) };
        for it in paths {
            self.judge_path(&it.path, it.access, Purpose::Tool);
        }
    }

    /// Judges one path, for each kind of access that is meant.
    ///
    /// A path that cannot be looked up is compared by its text with rules that
    /// narrow, and is asked.
    pub(crate) fn judge_path(&mut self, path: &str, access: Access, purpose: Purpose) {
        let source = if purpose == Purpose::Narrow { Source::Guess } else { Source::Class };
        let kinds: &[bool] = match access {
            Access::Read => &[false],
            Access::Write => &[true],
            _ => &[false, true],
        };
        let subject = Subject::Path { path: cut(path), resolved: None, access };
        if !self.spend(2 * kinds.len() * self.index.n_scanned()) {
            let why = "the call names more paths than are compared with rules";
            return self.unclear((subject, why, ""), Narrows::PATHS, source);
        }
        let location = match self.starts.locate(path) {
            Ok(it) => it,
            Err(why) => {
                if let Some(location) = self.starts.by_text(path) {
                    for writes in kinds {
                        self.judge_access(path, &location, *writes, Purpose::Narrow);
                    }
                }
                if purpose != Purpose::Narrow || may_be_opened(why) {
                    self.unclear((subject, why, ""), Narrows::PATHS, source);
                }
                return;
            }
        };
        for writes in kinds {
            self.judge_access(path, &location, *writes, purpose);
        }
    }

    /// In this order: a rule that denies ends it; a protected place needs a rule
    /// that names it; then rules that allow, the roots for file tools, and the
    /// default.
    fn judge_access(&mut self, path: &str, location: &Location, writes: bool, purpose: Purpose) {
        let access = if writes { Access::Write } else { Access::Read };
        let resolved = (location.resolved != path).then(|| cut(&location.resolved));
        let subject = || Subject::Path { path: cut(path), resolved: resolved.clone(), access };
        let hits = self.path_hits(location, writes, |_| true);
        if let Some(rule) = hits.narrowing() {
            self.reasons.push(Reason::rule(subject(), rule));
            if rule.effect() == Verdict::Deny {
                return;
            }
        }
        if let Some(protected) = self.protected(location, access) {
            let named = self.allow_that_names(location, writes, protected);
            let place = protected.place;
            self.reasons.push(match named {
                Some(reason_rule) if purpose != Purpose::Narrow => {
                    Reason::rule(subject(), reason_rule)
                }
                Some(_) => return,
                None => {
                    let standing = Standing::Protected { place };
                    Reason::default(protected.verdict, subject(), standing)
                }
            });
            return;
        }
        if purpose == Purpose::Narrow {
            return;
        }
        let suggestion = || suggestion(&location.resolved, writes);
        let allow = hits.allow.or(self.of_tool.allow.filter(|_| purpose == Purpose::Tool));
        let reason = if let Some(rule) = allow {
            Reason::rule(subject(), rule)
        } else if purpose == Purpose::Tool && self.in_roots(&location.resolved) {
            Reason::default(Verdict::Allow, subject(), Standing::InsideRoots)
        } else if let Some(rule) = hits.kept {
            let cause = Cause::KeptOnly { rule: rule.clone() };
            Reason::new(Verdict::Ask, subject(), cause).suggest(suggestion())
        } else {
            let standing = match purpose {
                Purpose::Redirect => Standing::NoRule,
                _ => Standing::OutsideRoots,
            };
            Reason::default(Verdict::Ask, subject(), standing).suggest(suggestion())
        };
        self.reasons.push(reason);
    }

    /// Rules that ask or deny the path, for reading and for writing.
    ///
    /// For words of commands, of which it is not known whether they are read or
    /// written. Where the path is one of several that the word may name, it is
    /// asked.
    pub(super) fn narrow_location(&mut self, path: &str, location: &Location, is_certain: bool) {
        self.narrow_location_by(path, location, is_certain, |_, _| true);
    }

    /// The same for rules whose pattern is `wanted`, for reading or for writing.
    pub(super) fn narrow_location_by(
        &mut self,
        path: &str,
        location: &Location,
        is_certain: bool,
        wanted: impl Fn(&Glob, bool) -> bool,
    ) {
        let kinds: &[bool] = if self.only_reads { &[false] } else { &[false, true] };
        for writes in kinds.iter().copied() {
            let access = if writes { Access::Write } else { Access::Read };
            if let Some(rule) =
                self.path_hits(location, writes, |it| wanted(it, writes)).narrowing()
            {
                let resolved = (location.resolved != path).then(|| cut(&location.resolved));
                let subject = Subject::Path { path: cut(path), resolved, access };
                self.reasons.push(match is_certain {
                    true => Reason::rule(subject, rule),
                    false => {
                        Reason::new(Verdict::Ask, subject, Cause::Possible { rule: rule.clone() })
                    }
                });
            }
        }
    }

    /// What rules, and what protected places name through links.
    pub(super) fn links(&self) -> &(Vec<Arc<Links>>, Arc<Links>) {
        self.links.get_or_init(|| {
            let home = self.request.home_text();
            let of_rules = self.index.links(self.anchors());
            (of_rules, self.index.links_of_places(home, linked_places()))
        })
    }

    /// The names on the way to where a path leads, and those that protected places
    /// have for it, beside its own.
    pub(super) fn protected_names(&self, location: &Location) -> Vec<String> {
        let on_the_way = &location.on_the_way;
        let paths = [&location.resolved].into_iter().chain(on_the_way);
        let names = paths.flat_map(|it| self.links().1.names(it));
        names.chain(on_the_way.iter().cloned()).collect()
    }

    /// Every further name of where a path leads that rules know: those between its
    /// own name and its end, and those that rules have for each.
    fn other_names(&self, location: &Location) -> Vec<String> {
        let paths = [&location.written, &location.resolved].into_iter().chain(&location.on_the_way);
        let names = |path| self.links().0.iter().flat_map(move |it| it.names(path));
        location.on_the_way.iter().cloned().chain(paths.flat_map(|it| names(it))).collect()
    }

    /// Rules that narrow count for the path as it is written, as it leads and under
    /// each name that a link gives to that place; rules that allow only as it leads.
    fn path_hits(
        &self,
        location: &Location,
        writes: bool,
        wanted: impl Fn(&Glob) -> bool,
    ) -> Hits<'a> {
        let index = self.index;
        let mut res = index.any_path(writes);
        let anchors = self.anchors();
        index.find_path(&location.resolved, writes, anchors, |it, _| wanted(it), &mut res);
        if location.written != location.resolved {
            let narrows = |it: &Glob, narrows: bool| narrows && wanted(it);
            index.find_path(&location.written, writes, anchors, narrows, &mut res);
        }
        for name in self.other_names(location) {
            let narrows = |it: &Glob, narrows: bool| narrows && wanted(it);
            index.find_path(&name, writes, anchors, narrows, &mut res);
        }
        // Links above a home directory or a root lead there from both names.
        let (home, working_dir) = (self.starts.real_home(), self.starts.real_working_dir());
        let program_dir = self.starts.real_program_dir();
        if home.is_some() || working_dir.is_some() || program_dir.is_some() {
            let anchors = Anchors { home, working_dir, program_dir, roots: &[] };
            index.find_path(&location.resolved, writes, anchors, |it, _| wanted(it), &mut res);
        }
        res
    }

    /// Of the path as it is written, as it leads, under the other names of that place,
    /// and with a home directory that is itself behind a link: the strongest.
    fn protected(&self, location: &Location, access: Access) -> Option<Protected> {
        let home = self.request.home_text();
        let written = protection(&location.written, access, home);
        let resolved = protection(&location.resolved, access, home);
        let real_home = self.starts.real_home();
        let real = real_home.and_then(|it| protection(&location.resolved, access, Some(it)));
        let names = self.protected_names(location);
        let of_names = names.iter().filter_map(|it| protection(it, access, home));
        // Of equals the last one counts, which a rule that allows has to name: that of the place itself.
        let found = [written, resolved, real].into_iter().flatten();
        of_names.chain(found).max_by_key(|it| it.verdict)
    }

    /// A rule that allows the path and names the protected place in words. A place
    /// that a user keeps elsewhere has the name of the link; where a path has
    /// several such names, each needs its rule.
    fn allow_that_names(
        &self,
        location: &Location,
        writes: bool,
        protected: Protected,
    ) -> Option<&'a crate::Rule> {
        let found = |path: &str, parts: &[&str]| {
            let mut hits = Hits::default();
            let names = |glob: &Glob, _: bool| glob.names(parts);
            self.index.find_path(path, writes, self.anchors(), names, &mut hits);
            hits.allow
        };
        if let Some(rule) = found(&location.resolved, protected.parts) {
            return Some(rule);
        }
        let access = if writes { Access::Write } else { Access::Read };
        let home = self.request.home_text();
        if protection(&location.resolved, access, home).is_some() {
            return None;
        }
        let mut res = None;
        for name in self.links().1.names(&location.resolved) {
            if let Some(it) = protection(&name, access, home) {
                res = Some(found(&name, it.parts)?);
            }
        }
        res
    }

    /// The roots are compared as they are written first, then where they lead,
    /// which is looked up once per decision.
    fn in_roots(&mut self, resolved: &str) -> bool {
        if self.index.roots().iter().any(|root| below(resolved, root).is_some()) {
            return true;
        }
        let roots = self.index.roots();
        let real = self.real_roots.get_or_insert_with(|| {
            let locations = roots.iter().filter_map(|it| absolute_location(it).ok());
            locations.map(|it| it.resolved).collect()
        });
        real.iter().any(|root| below(resolved, root).is_some())
    }
}

/// A rule that names this path, as a literal pattern. `None` where the path would
/// be read as another one: a star in the name of a file is a wildcard in a rule.
fn suggestion(path: &str, writes: bool) -> Option<String> {
    let head = if writes { "Edit" } else { "Read" };
    let text = format!("{head}({path})");
    match Form::parse(&text).ok()? {
        Form::Path { glob: Some(glob), .. } if glob.is_literal() => Some(text),
        _ => None,
    }
}
