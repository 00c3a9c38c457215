//! Paths.
//!
//! A path is looked up once ([`Location`]) and then judged for reading, for writing
//! or for both. Rules that narrow count for the path as it is written and as it
//! leads, what allows only for where it leads. Between the decision and the call a
//! link can change, which only a sandbox prevents.

use std::{borrow::Cow, sync::Arc};

use flyto_tools::Access;
use percent_encoding::percent_decode_str;

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

/// Longest path that the system opens (path_resolution(7)).
const MAX_PATH_BYTES: usize = 4096;
/// Most separators of a word between all of which paths are looked for. With more,
/// a path holds one or all behind it.
const MAX_SEPARATORS: usize = 6;
/// Most separators of a word behind which a path may go to its end. With more, it
/// goes to the next one.
pub(super) const MAX_ENDS: usize = 64;
/// How the address of a file begins.
const SCHEME: &str = "file:";
/// Most addresses of one text whose paths are looked at.
const MAX_ADDRESSES: usize = 64;
/// The longest text that is read as one address: three times a path, as each byte may
/// stand behind a percent sign.
const MAX_DECODED_BYTES: usize = 3 * MAX_PATH_BYTES;
/// How far behind the dash of `-xfFILE` the value of an option may start.
const MAX_LETTERS: usize = 8;

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

    /// Judges a text of which it is not known whether it is a path, for rules that
    /// ask or deny and for protected places: the whole, what follows the first `=`
    /// (`--file=/etc/passwd`), and what follows the first `@` (`@/etc/passwd`). A
    /// text that does not look like a path, as a sentence about one, other parts of
    /// a text without blanks, and what else a program may take it for
    /// ([`further_readings`]) are compared with rules alone.
    ///
    /// `access` is [`Access::Read`] for a text that is known to be read, and not
    /// written.
    pub(super) fn narrow_possible_path(&mut self, text: &str, access: Access) {
        let before = std::mem::replace(&mut self.only_reads, access == Access::Read);
        if self.index.narrows_paths()
            && text.contains(is_separator)
            && !text.contains(char::is_whitespace)
        {
            for path in path_words(text).into_iter().filter(|it| it.len() < text.len()) {
                if !self.spend(4 * self.index.n_scanned()) {
                    break;
                }
                if let Ok(location) = self.starts.locate(path) {
                    self.narrow_location(path, &location, true);
                }
            }
        }
        let parts = ['=', '@'].into_iter().filter_map(|it| Some(text.split_once(it)?.1));
        for (path, is_whole) in [(text, true)].into_iter().chain(parts.map(|it| (it, false))) {
            let path = path.strip_prefix("file://").unwrap_or(path);
            // What is known of the whole is not known of a part.
            self.only_reads &= is_whole;
            let access = if is_whole { access } else { Access::Unknown };
            if !path.is_empty() && !path.contains(['\0', '\n']) {
                self.narrow_reading(path, access);
            }
        }
        self.narrow_further_readings(text, access);
        self.only_reads = before;
    }

    /// The same for [`further_readings`] of a text. What is known of the whole is known of it without the blanks at its
    /// ends, and of no part.
    fn narrow_further_readings(&mut self, text: &str, access: Access) {
        let only = text.split('\0').next().unwrap_or(text).trim();
        let begins = only.chars().filter(|it| !matches!(it, '\t' | '\n' | '\r')).take(SCHEME.len());
        let is_address = begins.collect::<String>().eq_ignore_ascii_case(SCHEME);
        // A text that is nothing but a path is one with blanks at its ends, and as an address.
        if !only.contains(char::is_whitespace) {
            if only.len() < text.len() && only.starts_with(['/', '~']) {
                self.narrow_reading(only, access);
            }
            if is_address && only.len() <= MAX_PATH_BYTES {
                for path in paths_of_addresses(only) {
                    self.narrow_reading(&path, Access::Unknown);
                }
            }
        }
        if !self.index.narrows().paths {
            return;
        }
        let is_long = only.len() > MAX_DECODED_BYTES;
        if behind_schemes(only).nth(MAX_ADDRESSES).is_some() || is_long && is_address {
            let subject =
                Subject::Path { path: cut(text), resolved: None, access: Access::Unknown };
            let why = "it holds longer addresses, or more of them, than are read";
            self.unclear((subject, why, ""), Narrows::PATHS, Source::Guess);
        }
        for path in further_readings(text) {
            if !self.steps().take_path(&path, 1) {
                break;
            }
            self.only_reads = access == Access::Read && path == only;
            if path.len() > MAX_PATH_BYTES && !path.contains(char::is_whitespace) {
                self.judge_long_path(&path, Access::Unknown);
            } else {
                self.narrow_by_rules(&path);
            }
        }
    }

    /// A text as it is written, or a part of it, as a path.
    fn narrow_reading(&mut self, path: &str, access: Access) {
        let is_word = path.contains('/') && !path.contains(char::is_whitespace);
        let looks_like_one = path.starts_with(['/', '~', '.']) || is_word;
        if path.len() > MAX_PATH_BYTES {
            if looks_like_one {
                self.judge_long_path(path, access);
            }
        } else if looks_like_one {
            let is_other_home = path.starts_with('~') && !path.starts_with("~/") && path != "~";
            match is_other_home {
                // No shell reads it, so it is a name like any other, but for programs that read it as shells do.
                true => {
                    self.judge_path(&format!("./{path}"), access, Purpose::Narrow);
                    if names_home(path) {
                        self.judge_path(path, access, Purpose::Narrow);
                    }
                }
                false => self.judge_path(path, access, Purpose::Narrow),
            }
        } else if self.index.narrows().paths {
            self.narrow_by_rules(path);
        }
    }

    /// A path that is compared with rules alone. Where it cannot be located, as with
    /// `x y/../.env`, it may be a sentence, and what its text names is asked; one
    /// with quotes is probably a line of code.
    fn narrow_by_rules(&mut self, path: &str) {
        if path.len() > MAX_PATH_BYTES || !self.spend(4 * self.index.n_scanned()) {
            return;
        }
        if let Ok(location) = self.starts.locate(path) {
            self.narrow_location(path, &location, true);
        } else if !path.contains(['\'', '"', '`', '(', ')', '[', ']', '<', '>'])
            && let Some(location) = self.starts.by_text(path)
        {
            self.narrow_location(path, &location, false);
        }
    }

    /// A path that no system call takes: without `.` and empty parts it may be
    /// shorter, and a program that shortens it opens another path. Else it is not
    /// read, but for data in Base64, which has no dots.
    fn judge_long_path(&mut self, path: &str, access: Access) {
        let mut short = String::new();
        for part in path.split('/').filter(|it| !it.is_empty() && *it != ".") {
            if !short.is_empty() || path.starts_with('/') {
                short.push('/');
            }
            short.push_str(part);
        }
        if short.len() <= MAX_PATH_BYTES || path.contains("./") {
            self.judge_path(&short, access, Purpose::Narrow);
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

/// What else a program may take a text for than the text as it is written, each
/// once: without the blanks at its ends, up to a NUL, so also behind the first `=`
/// and the first `@`, and the paths of addresses with the scheme `file`. A text of
/// several lines is none.
fn further_readings(text: &str) -> Vec<Cow<'_, str>> {
    let mut res: Vec<Cow<'_, str>> = Vec::new();
    // To a program in C a text ends at a NUL.
    let c_text = text.split('\0').next().unwrap_or(text);
    let parts = ['=', '@'].into_iter().filter_map(|it| Some(c_text.split_once(it)?.1));
    let is_line = !c_text.trim().contains('\n');
    for written in [c_text].into_iter().chain(parts).filter(|_| is_line) {
        let path = written.trim();
        if path.len() < written.len() || c_text.len() < text.len() {
            res.push(path.into());
        }
    }
    res.extend(paths_of_addresses(c_text));
    let is_odd = |it: &str| it.contains(['\t', '\n', '\r', '\\']) && it.contains(':');
    let only = c_text.trim();
    if only.len() <= MAX_DECODED_BYTES && is_odd(only) {
        // Readers of addresses leave tabs and line breaks out, and take `\` for `/` (URL Standard, section 4.4).
        let tidied = only.replace(['\t', '\n', '\r'], "").replace('\\', "/");
        res.extend(paths_of_addresses(&tidied).map(|it| Cow::Owned(it.into_owned())));
    }
    res.retain(|it| !it.is_empty());
    res.sort_unstable();
    res.dedup();
    res
}

/// Whether a text may begin with the home directory of a user by name, as `~ada/x`
/// does for some programs.
fn names_home(text: &str) -> bool {
    let name = text.strip_prefix('~').and_then(|it| it.split_once('/')).map(|it| it.0);
    let is_word = !text.contains(char::is_whitespace) || text.contains("/../");
    name.filter(|_| is_word).is_some_and(|it| {
        it.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
            && it.bytes().all(|it| it.is_ascii_alphanumeric() || b"_-.".contains(&it))
    })
}

/// The paths of the addresses with the scheme `file` in a text ([RFC 8089]), up to a
/// blank or a quote, and where that is no more than [`MAX_DECODED_BYTES`] to its
/// end: without host, query and fragment, and with what stands behind a percent sign
/// decoded. And as they are written.
///
/// [RFC 8089]: https://www.rfc-editor.org/rfc/rfc8089
pub(super) fn paths_of_addresses(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    behind_schemes(text).take(MAX_ADDRESSES).flat_map(|rest| {
        let end = rest.find(|it: char| it.is_whitespace() || matches!(it, '"' | '\'' | '<' | '>'));
        let part = path_of_address(&rest[..end.unwrap_or(rest.len())]);
        let is_short = rest.len() <= MAX_DECODED_BYTES;
        let whole = end.filter(|_| is_short).and_then(|_| path_of_address(rest));
        // Some programs take the scheme off, and nothing else.
        let raw = is_short.then(|| Cow::Borrowed(rest.strip_prefix("//").unwrap_or(rest)));
        [raw, whole, part].into_iter().flatten().filter(|it| !it.is_empty())
    })
}

/// What stands behind each scheme of an address of a file, up to the end of the text.
fn behind_schemes(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(':').filter_map(|(at, _)| {
        let behind = &text[at + 1..];
        let scheme = text.as_bytes()[..=at].last_chunk::<{ SCHEME.len() }>()?;
        let is_scheme = scheme.eq_ignore_ascii_case(SCHEME.as_bytes());
        (is_scheme && behind.starts_with('/')).then_some(behind)
    })
}

/// What stands behind the scheme `file:`, as a path.
fn path_of_address(rest: &str) -> Option<Cow<'_, str>> {
    let path = match rest.strip_prefix("//") {
        Some(behind) => &behind[behind.find('/')?..],
        None => rest,
    };
    let path = path.split(['?', '#']).next().unwrap_or(path);
    Some(percent_decode_str(path).decode_utf8_lossy())
}

/// Characters between which a program may look for a path in a word: `a=b`, `a,b`,
/// `a:b`, `@a`.
pub(super) fn is_separator(it: char) -> bool {
    matches!(it, '=' | ',' | ':' | '@')
}

/// What of a word may be a path: all of it, what stands behind and between
/// separators, and what follows the letters of an option.
pub(super) fn path_words(word: &str) -> Vec<&str> {
    let is_option = word.starts_with('-');
    let separators: Vec<usize> = word.match_indices(is_separator).map(|(at, _)| at).collect();
    let first = separators.first().copied().unwrap_or(word.len());
    let mut starts: Vec<usize> = separators.iter().map(|it| it + 1).collect();
    if !is_option {
        starts.push(0);
    } else if !word.starts_with("--") {
        let letters = word.char_indices().map(|(at, _)| at).skip(2).take(MAX_LETTERS);
        starts.extend(letters.take_while(|it| *it < first));
    }
    let all = separators.len() <= MAX_SEPARATORS;
    let mut res = Vec::new();
    for start in starts {
        let ends = &separators[separators.partition_point(|it| *it <= start)..];
        if start == 0 || separators.len() <= MAX_ENDS || ends.is_empty() {
            res.push(&word[start..]);
        }
        let n_ends = if all { ends.len() } else { 1 };
        res.extend(ends.iter().take(n_ends).map(|end| &word[start..*end]));
    }
    res.retain(|it| !it.is_empty());
    res
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
