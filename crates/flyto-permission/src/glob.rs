//! Patterns of paths.
//!
//! A pattern is taken apart once, when its rule is added, into parts between
//! slashes; a path is compared part by part. `*`, `?` and `[…]` stay within one
//! part, `**` stands for any number of parts. There are no braces and no
//! backslashes, so that a pattern means what it shows. Bounds: [`MAX_BYTES`] bytes,
//! [`MAX_PARTS`] parts.

use crate::steps::made;

/// Longest pattern in bytes.
pub(crate) const MAX_BYTES: usize = 1024;
/// Most parts of a pattern.
const MAX_PARTS: usize = 64;

/// Where a pattern starts.
///
/// [`PathIndex`](crate::index::paths::PathIndex) files patterns by it, and passes
/// to [`Glob::matches`] what lies below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Anchor {
    /// At the root of the file system.
    /// Written with a slash first.
    Root,
    /// At the home directory.
    /// Written with `~/` first.
    Home,
    /// At each allowed root and the working directory. Written with `./` first, or
    /// with a slash further inside.
    Relative,
    /// At any directory.
    /// Written with `**/` first, or without any slash.
    Anywhere,
}

/// A pattern, taken apart at its slashes.
///
/// Without parts it names the anchor itself and all below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Glob {
    pub(crate) anchor: Anchor,
    parts: Vec<Part>,
    /// How many of them stand for the directory of the rule, and not in its text.
    n_above: usize,
    /// How much of it each character of a path is compared with: one for a part, more for one with several stars.
    width: usize,
}

/// What stands between two slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// Byte for byte; case counts, also where a file system ignores it.
    Literal(Box<str>),
    /// With `*`, `?` or `[…]`.
    Wild(Box<[Token]>),
    /// `**`: any number of directories.
    Any,
}

impl Part {
    /// Whether it has a wildcard, and a letter with which it fits this name.
    fn spells(&self, name: &str) -> bool {
        match self {
            Self::Wild(tokens) => {
                let is_extension = tokens.starts_with(&[Token::Many, Token::Char('.')])
                    && tokens[1..].iter().all(|it| matches!(it, Token::Char(_)));
                let is_meant = !is_extension || name.starts_with('.');
                is_meant && !self.is_open() && fits(tokens, name)
            }
            Self::Literal(_) | Self::Any => false,
        }
    }

    /// Whether it has no letter or digit of a name.
    fn is_open(&self) -> bool {
        let spells = |it: &Token| match it {
            Token::Char(it) => it.is_alphanumeric(),
            Token::Set { negated, ranges } => !negated && ranges.iter().all(|(a, b)| a == b),
            Token::One | Token::Many => false,
        };
        match self {
            Self::Literal(_) => false,
            Self::Wild(tokens) => !tokens.iter().any(spells),
            Self::Any => true,
        }
    }
}

/// What a wildcard part is made of, one for each character of a name or for a run
/// of them: `?` is any one character, `*` any number of them. A set is `[…]`, with
/// pairs of the first and last character of each range; `[!…]` and `[^…]` are
/// negated.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Char(char),
    One,
    Many,
    Set { negated: bool, ranges: Box<[(char, char)]> },
}

impl Glob {
    /// Reads a pattern. On `Err`: what is wrong, with the range of bytes.
    ///
    /// `..` is refused, because a path that is compared has none: it was taken out
    /// before. A slash at the end adds all that lies below.
    pub(crate) fn parse(text: &str) -> Result<Self, (&'static str, std::ops::Range<usize>)> {
        let whole = 0..text.len();
        if text.len() > MAX_BYTES {
            return Err(("the pattern is longer than 1,024 bytes", whole));
        }
        if let Some(at) = text.find(|it: char| it.is_control() || it == '\\') {
            return Err(("a pattern holds no backslash and no control character", at..at + 1));
        }
        if let Some(at) = text.find(['{', '}']) {
            return Err(("braces are not read: write one rule for each case", at..at + 1));
        }
        let (anchor, rest) = if let Some(rest) = text.strip_prefix('~') {
            match rest {
                "" => (Anchor::Home, ""),
                _ => match rest.strip_prefix('/') {
                    Some(rest) => (Anchor::Home, rest),
                    None => return Err(("`~` stands for your own home directory only", 0..1)),
                },
            }
        } else if let Some(rest) = text.strip_prefix('/') {
            (Anchor::Root, rest.trim_start_matches('/'))
        } else if let Some(rest) = text.strip_prefix("**/") {
            (Anchor::Anywhere, rest)
        } else if let Some(rest) = text.strip_prefix("./") {
            (Anchor::Relative, rest)
        } else if text.contains('/') || text == "**" || text == "." {
            (Anchor::Relative, text)
        } else {
            (Anchor::Anywhere, text)
        };
        let mut parts = Vec::new();
        for part in rest.split('/').filter(|it| !it.is_empty() && *it != ".") {
            match part {
                ".." => {
                    let at = text.find("..").unwrap_or(0);
                    return Err(("`..` cannot be part of a pattern", at..at + 2));
                }
                "**" => {
                    if parts.last() != Some(&Part::Any) {
                        parts.push(Part::Any);
                    }
                }
                _ if part.contains(['*', '?', '[']) => match tokens(part) {
                    Some(tokens) => parts.push(Part::Wild(tokens)),
                    None => return Err(("a bracket that is not closed", whole)),
                },
                _ => parts.push(Part::Literal(part.into())),
            }
        }
        if rest.ends_with('/') && !parts.is_empty() {
            parts.push(Part::Any);
        }
        if parts.len() > MAX_PARTS {
            return Err(("the pattern has more than 64 parts", whole));
        }
        if parts.is_empty() && text != "." && text != "./" && !matches!(text, "~" | "~/") {
            return Err(("the pattern names nothing below the root: write `/**`", whole));
        }
        // The last star is gone back to, so that one of them costs no more than a look at each character.
        let width = |it: &Part| match it {
            Part::Wild(tokens) if tokens.iter().filter(|it| **it == Token::Many).count() > 1 => {
                1 + tokens.len() / 4
            }
            _ => 1,
        };
        let width = parts.iter().map(width).sum();
        Ok(Self { anchor, parts, n_above: 0, width })
    }

    /// The same pattern, starting at this absolute directory where it would start at each
    /// root and the working directory.
    pub(crate) fn starting_at(mut self, dir: &str) -> Self {
        if self.anchor == Anchor::Relative {
            let above = dir.split('/').filter(|it| !it.is_empty());
            let above: Vec<_> = above.map(|it| Part::Literal(it.into())).collect();
            self.width += above.len();
            self.n_above = above.len();
            self.parts.splice(0..0, above);
            self.anchor = Anchor::Root;
        }
        self
    }

    /// The literal parts before the first wildcard, with slashes between.
    ///
    /// Empty where the first part is a wildcard.
    pub(crate) fn base(&self) -> String {
        let literal = self.parts.iter().map_while(|it| match it {
            Part::Literal(it) => Some(&**it),
            Part::Wild(_) | Part::Any => None,
        });
        literal.collect::<Vec<_>>().join("/")
    }

    /// Whether it starts at a known directory and its literal parts end with this
    /// name, as those of `a/secrets/**` do with `secrets`.
    pub(crate) fn names_place(&self, name: &str) -> bool {
        let literal = self.parts.iter().map_while(|it| match it {
            Part::Literal(it) => Some(&**it),
            Part::Wild(_) | Part::Any => None,
        });
        self.anchor != Anchor::Anywhere && literal.last() == Some(name)
    }

    /// Whether no part is a wildcard.
    pub(crate) fn is_literal(&self) -> bool {
        self.parts.iter().all(|it| matches!(it, Part::Literal(_)))
    }

    /// The only part, if it is a plain name.
    ///
    /// `.env` and `**/.env`: those are looked up by the name and not tried one by
    /// one.
    pub(crate) fn plain_name(&self) -> Option<&str> {
        match (&self.anchor, &*self.parts) {
            (Anchor::Anywhere, [Part::Literal(name)]) => Some(name),
            _ => None,
        }
    }

    /// Whether this pattern, read from where `place` starts, spells the last name of
    /// that place behind a wildcard, or in a part with one: `s*/k` and `**/secret` spell
    /// `secret`, and `*/k` does not. It may fit the place then, or what lies below it.
    ///
    /// A part of stars alone, as `*` and `**`, stands for any number of names, since
    /// some programs have a star stand for slashes. One for an extension, as `*.rs`,
    /// spells hidden names alone.
    pub(crate) fn spells(&self, place: &[&str]) -> bool {
        made(1 + self.parts.len() * place.len() / 8);
        // For the first `i` names of the place: no part so far fits them, literal ones do, or some with a wildcard.
        let mut reached = vec![0_u8; place.len() + 1];
        const LITERAL: u8 = 1;
        const WILD: u8 = 2;
        reached[0] = LITERAL;
        for part in &self.parts {
            let mut next = vec![0; place.len() + 1];
            for i in 0..=place.len() {
                next[i] = match part {
                    it if it.is_open() && (reached[i] > 0 || (i > 0 && next[i - 1] > 0)) => WILD,
                    Part::Literal(it) if i > 0 && &**it == place[i - 1] => reached[i - 1],
                    it if i > 0 && reached[i - 1] > 0 && it.spells(place[i - 1]) => WILD,
                    _ => 0,
                };
            }
            reached = next;
            if !part.is_open() && reached[place.len()] == WILD {
                return true;
            }
        }
        false
    }

    /// Whether a part with a wildcard, and with a letter, fits this name.
    pub(crate) fn spells_name(&self, name: &str) -> bool {
        self.parts.iter().any(|it| it.spells(name))
    }

    /// Whether the literal parts before the first wildcard hold `place` in one
    /// piece.
    ///
    /// A rule that allows has to spell a protected place out; `/**` and `.s*` do
    /// not.
    pub(crate) fn names(&self, place: &[&str]) -> bool {
        let literal: Vec<&str> = self
            .parts
            .iter()
            .skip(self.n_above)
            .map_while(|it| match it {
                Part::Literal(it) => Some(&**it),
                Part::Wild(_) | Part::Any => None,
            })
            .collect();
        literal.windows(place.len().max(1)).any(|it| it == place)
    }

    /// The steps of one comparison with a path of these parts.
    pub(crate) fn n_steps(&self, path: &[&str]) -> usize {
        /// Cells of the table that are filled in a step, and characters that are compared.
        const CELLS: usize = 32;
        let n_bytes: usize = path.iter().map(|it| it.len() + 2).sum();
        1 + self.width * n_bytes / CELLS
    }

    /// Whether a path, relative to the anchor, fits. With `below`, so does all
    /// below what fits.
    ///
    /// A pattern that ends in a plain name always covers what lies below it. The
    /// work is at most parts of the pattern times parts of the path times the
    /// lengths of two parts.
    pub(crate) fn matches(&self, path: &[&str], below: bool) -> bool {
        let below = below || matches!(self.parts.last(), None | Some(Part::Literal(_)));
        let anywhere = self.anchor == Anchor::Anywhere;
        made(1 + self.parts.len() * path.len() / 8);
        // `reached[i]`: the first `i` parts of the path fit the parts of the pattern so far.
        let mut reached = vec![anywhere; path.len() + 1];
        reached[0] = true;
        for part in &self.parts {
            let mut next = vec![false; path.len() + 1];
            for i in 0..=path.len() {
                next[i] = match part {
                    Part::Any => reached[i] || (i > 0 && next[i - 1]),
                    Part::Literal(it) => i > 0 && reached[i - 1] && &**it == path[i - 1],
                    Part::Wild(tokens) => i > 0 && reached[i - 1] && fits(tokens, path[i - 1]),
                };
            }
            reached = next;
        }
        reached[path.len()] || (below && reached.contains(&true))
    }
}

/// Reads a part with wildcards; `None` for a bracket that is not closed or holds
/// nothing. A `]` ends it wherever it stands.
fn tokens(part: &str) -> Option<Box<[Token]>> {
    let mut res = Vec::new();
    let mut rest = part.chars();
    while let Some(it) = rest.next() {
        res.push(match it {
            '*' => Token::Many,
            '?' => Token::One,
            '[' => {
                let (inner, behind) = rest.as_str().split_once(']')?;
                let negated = inner.starts_with(['!', '^']);
                let chars: Vec<char> = inner.chars().skip(usize::from(negated)).collect();
                let mut ranges = Vec::new();
                let mut i = 0;
                while i < chars.len() {
                    let is_range = chars.get(i + 1) == Some(&'-') && i + 2 < chars.len();
                    let last = if is_range { i + 2 } else { i };
                    ranges.push((chars[i], chars[last]));
                    i = last + 1;
                }
                if ranges.is_empty() {
                    return None;
                }
                rest = behind.chars();
                Token::Set { negated, ranges: ranges.into() }
            }
            it => Token::Char(it),
        });
    }
    Some(res.into())
}

/// Whether a name fits: the last star is the only place to go back to.
///
/// The work is at most the number of tokens, with the ranges in their sets, times
/// that of the characters.
fn fits(tokens: &[Token], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut t, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        let fits = match tokens.get(t) {
            Some(Token::Many) => {
                star = Some((t, n));
                t += 1;
                continue;
            }
            Some(Token::Char(it)) => *it == name[n],
            Some(Token::One) => true,
            Some(Token::Set { negated, ranges }) => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&name[n])) != *negated
            }
            None => false,
        };
        if fits {
            t += 1;
            n += 1;
        } else if let Some((at, from)) = star {
            star = Some((at, from + 1));
            t = at + 1;
            n = from + 1;
        } else {
            return false;
        }
    }
    tokens[t..].iter().all(|it| *it == Token::Many)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, path: &str, narrow: bool, fits: bool) {
        let glob = Glob::parse(pattern).unwrap();
        let path: Vec<&str> = path.split('/').filter(|it| !it.is_empty()).collect();
        assert_eq!(glob.matches(&path, narrow), fits, "{pattern} against {path:?}");
    }

    #[test]
    fn stars_stay_within_a_directory() {
        check("/src/*.rs", "/src/a.rs", false, true);
        check("/src/*.rs", "/src/b/a.rs", false, false);
        check("/src/**", "/src/b/a.rs", false, true);
        check("/src/**/a.rs", "/src/a.rs", false, true);
        check("/src/**/a.rs", "/src/b/c/a.rs", false, true);
        check("/a/[a-c]?/x", "/a/bz/x", false, true);
        check("/a/[!a-c]?/x", "/a/bz/x", false, false);
    }

    #[test]
    fn a_name_covers_what_lies_below() {
        check("/data", "/data/x/y", false, true);
        check("/data", "/database", false, false);
        check("/d*", "/data/x", false, false);
        check("/d*", "/data/x", true, true);
    }

    #[test]
    fn a_bare_name_is_found_anywhere() {
        check(".env", "/srv/app/.env", false, true);
        check("*.pem", "/srv/app/a.pem", false, true);
        check("**/keys/*", "/srv/app/keys/a", false, true);
        check("**/keys/*", "/srv/keys", false, false);
    }

    #[test]
    fn a_pattern_spells_a_place() {
        for (pattern, spells) in [
            ("/s*/k", true),
            ("/secre[t]/k", true),
            ("/[s][e]???[t]", true),
            ("/**/secret/k", true),
            ("/*/secret", true),
            ("/*cret", true),
            ("/secret/*", false),
            ("/*/k", false),
            ("/**/*", false),
            ("/[a-z]*/k", false),
            ("/??????/k", false),
            ("/x*/secret", false),
            ("/s*x", false),
        ] {
            let glob = Glob::parse(pattern).unwrap();
            assert_eq!(glob.spells(&["secret"]), spells, "{pattern}");
            assert!(!glob.spells(&[]), "{pattern}");
        }
        let glob = Glob::parse("/a/s*/k").unwrap();
        assert!(glob.spells(&["a", "secret"]) && glob.spells_name("secret"));
        assert!(!glob.spells(&["b", "secret"]) && !glob.spells_name("a"));
        let glob = Glob::parse("/*.rs").unwrap();
        assert!(glob.spells_name(".rs") && !glob.spells_name("build.rs"));
    }

    #[test]
    fn many_stars_cost_little() {
        let glob = Glob::parse(&format!("/{}b", "*a".repeat(400))).unwrap();
        assert!(!glob.matches(&[&"a".repeat(4000)], false));
    }
}
