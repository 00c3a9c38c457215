//! Words of commands that name a path which is known only when the line runs.
//!
//! Such a word may be any path behind the text that it surely starts with. One that is unknown only
//! by `*`, `?` and `[…]` is compared part by part, so that `ls *.rs` reaches no hidden file.

use super::{Judge, Source, protected::KEYS};
use crate::{
    Cause, Reason, Subject, Verdict,
    bash::Word,
    glob::Anchor,
    rules::{Narrows, paths::below},
};

/// What a word with an unknown part may name.
enum Reach {
    /// A path that fits these parts, or lies below.
    Parts(Vec<String>),
    /// Any path that starts with this text, the directory in it being absolute.
    Behind(String),
}

impl Judge<'_> {
    /// Rules that ask or deny and may name what the word becomes are asked; whether it may lead to
    /// keys.
    ///
    /// A word without a directory that is known, such as `$x`, is left alone: the value that the
    /// line gives to a variable is looked up by itself. `moved` says that relative paths start
    /// anywhere.
    pub(super) fn narrow_unknown_word(&mut self, word: &Word, moved: bool) -> bool {
        let value = |text: &str| text.split_once('=').map_or(0, |(name, _)| name.len() + 1);
        let n_option = value(word.leading());
        let leading = &word.leading()[n_option..];
        let text = word.known_text().get(n_option..).unwrap_or_default();
        let is_glob = word.is_only_glob();
        if text.starts_with('-') {
            return false;
        }
        let n_dir = leading.rfind('/').map_or(0, |it| it + 1);
        let (dir, partial) = leading.split_at(n_dir);
        let mut touches_keys = match is_glob {
            true => text[n_dir..].split('/').any(|it| names_key(|key| fits(it, key))),
            false => hides_key(text, partial),
        };
        let is_relative = !dir.starts_with(['/', '~']);
        if (dir.is_empty() && !is_glob) || (moved && is_relative) {
            return touches_keys;
        }
        let dir = if dir.is_empty() { "." } else { dir };
        let located = self.starts.locate(dir).ok().or_else(|| self.starts.by_text(dir));
        let Some(location) = located else {
            let subject = Subject::Path {
                path: super::cut(word.known_text()),
                resolved: None,
                access: flyto_tools::Access::Unknown,
            };
            let why = "it cannot be told where the path starts";
            self.unclear((subject, why, ""), Narrows::PATHS, Source::Guess);
            return touches_keys;
        };
        for dir in [&location.written, &location.resolved] {
            let dir = dir.trim_end_matches('/');
            let reach = match is_glob {
                true => {
                    let whole = crate::location::normalise(&format!("{dir}/{}", &text[n_dir..]));
                    let parts = whole.split('/').filter(|it| !it.is_empty());
                    Reach::Parts(parts.map(str::to_owned).collect())
                }
                false => Reach::Behind(format!("{dir}/{partial}")),
            };
            let homes = [self.request.home_text(), self.starts.real_home()];
            touches_keys |= KEYS.iter().any(|(place, _)| match place.starts_with('/') {
                true => reach.may_name(place),
                false => homes.iter().flatten().any(|it| reach.may_name(&format!("{it}/{place}"))),
            });
            self.narrow_reach(&reach, word.known_text());
        }
        touches_keys
    }

    /// Rules that may name what the word becomes.
    ///
    /// A pattern that is found anywhere is left out only where it is a plain name that no part fits.
    fn narrow_reach(&mut self, reach: &Reach, path: &str) {
        let index = self.index;
        if !index.paths.narrows() || !self.spend(index.paths.len()) {
            return;
        }
        let homes = [self.request.home_text(), self.starts.real_home()];
        let dirs = [self.request.working_dir_text(), self.starts.real_working_dir()];
        let roots = index.roots.iter().map(String::as_str);
        let relative: Vec<&str> = dirs.into_iter().flatten().chain(roots).collect();
        let may_apply = |it: &crate::glob::Glob| {
            let base = it.base();
            let behind =
                |dir: &str| reach.may_name(&format!("{}/{base}", dir.trim_end_matches('/')));
            match it.anchor {
                Anchor::Root => behind(""),
                Anchor::Home => homes.iter().flatten().any(|it| behind(it)),
                Anchor::Relative => relative.iter().any(|it| behind(it)),
                Anchor::Anywhere => match (it.plain_name(), reach) {
                    (Some(name), Reach::Parts(parts)) => parts.iter().any(|it| fits(it, name)),
                    _ => true,
                },
            }
        };
        let found = index.paths.narrowing(index, may_apply);
        if let Some(rule) = found {
            let subject = Subject::Path {
                path: path.to_owned(),
                resolved: None,
                access: flyto_tools::Access::Unknown,
            };
            let cause = Cause::Possible { rule: rule.clone() };
            self.reasons.push(Reason::new(Verdict::Ask, subject, cause));
        }
    }
}

impl Reach {
    /// Whether it may name this absolute place, or what lies below it.
    fn may_name(&self, place: &str) -> bool {
        match self {
            Self::Parts(parts) => {
                let mut parts = parts.iter();
                let mut names = place.split('/').filter(|it| !it.is_empty());
                names.all(|name| parts.next().is_some_and(|it| fits(it, name)))
            }
            Self::Behind(start) => {
                let dir = start.rfind('/').map_or("", |it| &start[..it]);
                place.starts_with(start.as_str()) || below(dir, place).is_some()
            }
        }
    }
}

/// Whether a name of [`KEYS`] that lies anywhere is one that `may_be` takes.
fn names_key(may_be: impl Fn(&str) -> bool) -> bool {
    KEYS.iter().any(|(place, _)| !place.starts_with('/') && may_be(place))
}

/// Whether a word of which any part may be unknown holds the start of a name of keys.
///
/// `partial` is the name that its known text ends in. Each case of a brace is looked at, and one
/// that is absolute may be any place.
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
/// A star and what follows a bracket fit anything; a hidden name needs its dot spelled out, since
/// an option of the shell that changes this is asked. The work is the product of both lengths.
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
