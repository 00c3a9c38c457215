//! Words of commands that name a path which is known only when the line runs.
//!
//! A word with `*`, `?` and `[…]` is compared part by part with what rules name, so
//! that `ls *.rs` reaches no hidden file. The names that it stands for are listed
//! too, since one of them may be a link.

use std::{fs, io};

use super::{Judge, Source, protected::KEYS};
use crate::{
    Cause, Reason, Subject, Verdict,
    bash::Word,
    glob::Anchor,
    index::{Narrows, paths::below},
    links::Links,
};

/// Most names in directories that one decision looks at for wildcards. A wildcard
/// beyond it is asked.
pub(super) const MAX_ENTRIES: usize = 16 * 1024;

/// A file that a wildcard stands for.
pub(super) struct Match {
    /// As the word becomes it.
    pub(super) written: String,
    /// The way there leads through a link or back.
    leads_elsewhere: bool,
}

impl Judge<'_> {
    /// A path with wildcards: rules that ask or deny, and may name what it stands
    /// for, are asked; whether it may lead to keys.
    pub(super) fn narrow_glob(&mut self, text: &str) -> bool {
        let n_leading = text.find(['*', '?', '[']).unwrap_or(text.len());
        let n_dir = text[..n_leading].rfind('/').map_or(0, |it| it + 1);
        let mut touches_keys = text[n_dir..].split('/').any(|it| names_key(|key| fits(it, key)));
        let dir = if n_dir == 0 { "." } else { &text[..n_dir] };
        let located = self.starts.locate(dir).ok().or_else(|| self.starts.by_text(dir));
        let Some(location) = located else {
            self.unclear(
                (subject(text), "it cannot be told where the path starts", ""),
                Narrows::PATHS,
                Source::Guess,
            );
            return touches_keys;
        };
        for dir in [&location.written, &location.resolved] {
            let dir = dir.trim_end_matches('/');
            let whole = crate::location::normalise(&format!("{dir}/{}", &text[n_dir..]));
            let parts: Vec<&str> = whole.split('/').filter(|it| !it.is_empty()).collect();
            touches_keys |= self.key_places().any(|it| may_name(&parts, &it));
            self.narrow_parts(&parts, text);
            let renamed = |links: &Links| links.renamed(&parts, fits).collect::<Vec<_>>();
            let (of_rules, of_places) = self.links();
            let of_rules: Vec<_> = of_rules.iter().flat_map(|it| renamed(it)).collect();
            let of_places = renamed(of_places);
            for parts in &of_places {
                touches_keys |= self.key_places().any(|it| may_name(&borrowed(parts), &it));
            }
            for parts in &of_rules {
                self.narrow_parts(&borrowed(parts), text);
            }
            if location.written == location.resolved {
                break;
            }
        }
        if self.index.narrows_paths() {
            match self.matches(text) {
                Some(matches) => {
                    for it in matches.iter().filter(|it| it.leads_elsewhere) {
                        touches_keys |= self.narrow_path(&it.written, text, false);
                    }
                }
                None => {
                    let why = "what a wildcard stands for cannot be listed";
                    self.unclear((subject(text), why, ""), Narrows::PATHS, Source::Guess);
                }
            }
        }
        touches_keys
    }

    /// Whether a word that may be any text behind its start may lead to keys.
    ///
    /// A word without a directory that is known, such as `$x`, is left alone: the
    /// value that the line gives to a variable is looked up by itself. `moved` says
    /// that relative paths start anywhere.
    pub(super) fn may_reach_keys(&self, word: &Word, moved: bool) -> bool {
        let value = |text: &str| text.split_once('=').map_or(0, |(name, _)| name.len() + 1);
        let n_option = value(word.leading());
        let leading = &word.leading()[n_option..];
        let text = word.known_text().get(n_option..).unwrap_or_default();
        if text.starts_with('-') {
            return false;
        }
        let n_dir = leading.rfind('/').map_or(0, |it| it + 1);
        let (dir, partial) = leading.split_at(n_dir);
        let touches_keys = hides_key(text, partial);
        let is_relative = !dir.starts_with(['/', '~']);
        if touches_keys || dir.is_empty() || (moved && is_relative) {
            return touches_keys;
        }
        let located = self.starts.locate(dir).ok().or_else(|| self.starts.by_text(dir));
        let Some(location) = located else { return false };
        [&location.written, &location.resolved].iter().any(|dir| {
            let start = format!("{}/{partial}", dir.trim_end_matches('/'));
            let dir = start.rfind('/').map_or("", |it| &start[..it]);
            self.key_places().any(|it| it.starts_with(&start) || below(dir, &it).is_some())
        })
    }

    /// Absolute places of keys.
    fn key_places(&self) -> impl Iterator<Item = String> + '_ {
        let homes = [self.request.home_text(), self.starts.real_home()];
        KEYS.iter().flat_map(move |(place, _)| {
            let is_absolute = place.starts_with('/');
            let of_homes = homes.into_iter().flatten().filter(move |_| !is_absolute);
            let of_homes = of_homes.map(move |it| format!("{it}/{place}"));
            is_absolute.then(|| (*place).to_owned()).into_iter().chain(of_homes)
        })
    }

    /// Rules that may name what these parts stand for.
    ///
    /// A pattern that is found anywhere is left out only where it is a plain name
    /// that no part fits.
    fn narrow_parts(&mut self, parts: &[&str], path: &str) {
        let index = self.index;
        if !index.narrows_paths() || !self.spend(index.n_patterns()) {
            return;
        }
        let may_apply = |it: &crate::glob::Glob| match (it.anchor, it.plain_name()) {
            (Anchor::Anywhere, Some(name)) => parts.iter().any(|it| fits(it, name)),
            (Anchor::Anywhere, None) => true,
            _ => self.any_place(it, |place| may_name(parts, place)),
        };
        let found = index.narrowing_path(may_apply);
        if let Some(rule) = found {
            let cause = Cause::Possible { rule: rule.clone() };
            self.reasons.push(Reason::new(Verdict::Ask, subject(path), cause));
        }
    }

    /// The files that a path with wildcards stands for now; `None` where they
    /// cannot be listed.
    pub(super) fn matches(&mut self, text: &str) -> Option<Vec<Match>> {
        let n_leading = text.find(['*', '?', '[']).unwrap_or(text.len());
        let n_dir = text[..n_leading].rfind('/').map_or(0, |it| it + 1);
        let dir = if n_dir == 0 { "." } else { &text[..n_dir] };
        let start = self.starts.locate(dir).ok()?.resolved;
        let leads_elsewhere = false;
        let first = Match { written: text[..n_dir].to_owned(), leads_elsewhere };
        let mut found = vec![(start, first)];
        for part in text[n_dir..].split('/').filter(|it| !it.is_empty()) {
            let mut next = Vec::new();
            for (dir, so_far) in found {
                for (name, is_link) in self.names(&dir, part)? {
                    let separator = match so_far.written.as_str() {
                        "" => "",
                        it if it.ends_with('/') => "",
                        _ => "/",
                    };
                    let written = format!("{}{separator}{name}", so_far.written);
                    let leads_elsewhere = so_far.leads_elsewhere || is_link;
                    next.push((format!("{dir}/{name}"), Match { written, leads_elsewhere }));
                }
            }
            found = next;
        }
        Some(found.into_iter().map(|(_, it)| it).collect())
    }

    /// Names in a directory that fit a part of a path, and whether each leads
    /// elsewhere.
    fn names(&mut self, dir: &str, part: &str) -> Option<Vec<(String, bool)>> {
        self.entries = self.entries.checked_sub(1)?;
        if !is_wild(part) {
            let leads_elsewhere = part == ".."
                || fs::symlink_metadata(format!("{dir}/{part}")).is_ok_and(|it| it.is_symlink());
            return Some(vec![(part.to_owned(), leads_elsewhere)]);
        }
        let entries = match fs::read_dir(dir) {
            Ok(it) => it,
            Err(err) => {
                let is_missing =
                    matches!(err.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
                return is_missing.then(Vec::new);
            }
        };
        let mut res = Vec::new();
        for entry in entries {
            self.entries = self.entries.checked_sub(1)?;
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            if fits(part, &name) {
                let is_link = entry.file_type().ok()?.is_symlink();
                res.push((name, is_link));
            }
        }
        // `.*` stands for these too, in some shells.
        res.extend(
            ["..", "."].iter().filter(|it| fits(part, it)).map(|it| ((*it).to_owned(), true)),
        );
        Some(res)
    }
}

fn subject(path: &str) -> Subject {
    let access = flyto_tools::Access::Unknown;
    Subject::Path { path: super::cut(path), resolved: None, access }
}

fn borrowed(parts: &[String]) -> Vec<&str> {
    parts.iter().map(String::as_str).collect()
}

/// Whether a text holds a wildcard.
pub(super) fn is_wild(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Whether these parts may name this absolute place, or what lies below it.
fn may_name(parts: &[&str], place: &str) -> bool {
    let mut parts = parts.iter();
    let mut names = place.split('/').filter(|it| !it.is_empty());
    names.all(|name| parts.next().is_some_and(|it| fits(it, name)))
}

/// Whether a name of [`KEYS`] that lies anywhere is one that `may_be` takes.
fn names_key(may_be: impl Fn(&str) -> bool) -> bool {
    KEYS.iter().any(|(place, _)| !place.starts_with('/') && may_be(place))
}

/// Whether a word of which any part may be unknown holds the start of a name of
/// keys.
///
/// `partial` is the name that its known text ends in. Each case of a brace is
/// looked at, and one that is absolute may be any place.
fn hides_key(text: &str, partial: &str) -> bool {
    let starts_key = |it: &str| {
        let it = it.to_ascii_lowercase();
        it.starts_with('.') && names_key(|key| key.starts_with(&it))
    };
    let has_brace = text.contains('{') && text.contains([',', '.']);
    starts_key(partial)
        || (has_brace
            && (["{/", ",/", "~"].iter().any(|it| text.contains(it) && !text.starts_with(it))
                || text.starts_with("{/")
                || text.split(['{', ',', '}', '/']).any(starts_key)))
}

/// Whether a name fits a part of a glob, without regard to ASCII case.
///
/// A star and what follows a bracket fit anything; a hidden name needs its dot
/// spelled out, since an option of the shell that changes this is asked. The work
/// is the product of both lengths.
fn fits(part: &str, name: &str) -> bool {
    if name.starts_with('.') && !part.starts_with('.') {
        return false;
    }
    let (known, is_open) = match part.split_once('[') {
        Some((known, _)) => (known, true),
        None => (part, false),
    };
    let name: Vec<char> = name.chars().collect();
    // `reached[i]`: the first `i` characters of the name fit the pattern so far.
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    for it in known.chars() {
        let mut next = vec![false; name.len() + 1];
        for i in 0..=name.len() {
            next[i] = match it {
                '*' => reached[i] || (i > 0 && next[i - 1]),
                '?' => i > 0 && reached[i - 1],
                it => i > 0 && reached[i - 1] && it.eq_ignore_ascii_case(&name[i - 1]),
            };
        }
        reached = next;
    }
    reached[name.len()] || (is_open && reached.contains(&true))
}
