//! Texts, as the paths that a program may take them for.
//!
//! Of a text of an input it is not known whether it is a path. It is compared with
//! rules that ask or deny in each way that a program may read it:
//!
//! | of a text | verdict where a rule names it |
//! | --- | --- |
//! | the whole, without blanks at its ends, up to a NUL | that of the rule |
//! | without blanks: what stands between `=`, `,`, `:`, `@` | that of the rule |
//! | the path of an address with the scheme `file` | that of the rule |
//! | what stands behind three slashes of another one: `sqlite:///a/b` is `a/b` | that of the rule |
//! | with wildcards, which a program may read: `s*/k`, `**/secret`, `s{ecret,x}` | ask, where it spells the place |
//! | with blanks, quotes or brackets: its parts | ask |
//! | without its escapes (`a\/b`, `a%2Fb`): the whole, and its parts | ask |
//! | of several lines: each line that is one word, or begins as a path | ask |

use std::borrow::Cow;

use flyto_tools::Access;
use percent_encoding::percent_decode_str;

use super::{Judge, Source, cut, escape::unescaped, file::Purpose};
use crate::{Subject, glob::Glob, index::Narrows};

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

/// How many bytes of a text are looked through in a step.
const LOOKED_THROUGH: usize = 16;
/// How many parts of a text are sorted in a step.
const SORTED: usize = 2;
/// What comparing a part of a text by its letters costs, in comparisons of patterns.
const BY_TEXT: usize = 16;

impl Judge<'_> {
    /// Judges a text of which it is not known whether it is a path, for rules that
    /// ask or deny and for protected places: the whole, what follows the first `=`
    /// (`--file=/etc/passwd`), and what follows the first `@` (`@/etc/passwd`). A
    /// text that does not look like a path, as a sentence about one, its parts, and
    /// what else a program may take it for ([`further_readings`]) are compared with
    /// rules alone.
    ///
    /// `access` is [`Access::Read`] for a text that is known to be read, and not
    /// written.
    pub(super) fn narrow_possible_path(&mut self, text: &str, access: Access) {
        let before = std::mem::replace(&mut self.only_reads, access == Access::Read);
        if self.index.narrows_paths() {
            self.narrow_parts_of_text(text);
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
        self.only_reads = false;
        if !self.is_line {
            self.narrow_unescaped(text);
        }
        self.only_reads = before;
    }

    /// What a text is without its escapes: a guess, so what a rule names is asked. One
    /// that is a path behind percent signs is looked at as a path; with backslashes, as
    /// `\/usr\/`, it is most likely a pattern. The words of a command line are looked at
    /// one by one.
    fn narrow_unescaped(&mut self, text: &str) {
        let narrows = self.index.narrows_paths();
        for reading in unescaped(text) {
            // What it costs to look at a part is counted for the part.
            if !self.steps().take(1 + reading.len() / LOOKED_THROUGH) {
                return;
            }
            let only = reading.split('\0').next().unwrap_or(&reading).trim();
            let is_path = only.starts_with(['/', '~']) && !only.contains('\n');
            if is_path && only.len() <= MAX_PATH_BYTES && !text.contains('\\') {
                self.narrow_reading(only, Access::Unknown);
            }
            if !narrows {
                continue;
            }
            let is_word = !only.contains(char::is_whitespace);
            let words = if is_word { path_words(only) } else { Vec::new() };
            let before = guessed_parts(text);
            let parts: Vec<_> = guessed_parts(only).into_iter().chain(words).collect();
            if !self.steps().take(parts.len() / SORTED) {
                return;
            }
            let is_new =
                |it: &&str| it.len() <= MAX_PATH_BYTES && before.binary_search(it).is_err();
            for part in parts.into_iter().filter(is_new) {
                if !self.narrow_guess(part) {
                    return;
                }
            }
        }
    }

    /// Parts of a text, each of which may be a path. In a text with blanks, or with
    /// quotes and brackets, they are a guess, so what rules name is asked.
    ///
    /// Not so of a text that was read as a command line: its words were compared with
    /// the rules one by one, and what its quotes hold is known.
    ///
    /// Each part is looked up once, and ends the search where the work of the decision
    /// is spent: the call is asked then.
    fn narrow_parts_of_text(&mut self, text: &str) {
        let only = text.split('\0').next().unwrap_or(text).trim();
        if only.contains(is_separator) && !only.contains(char::is_whitespace) {
            for path in path_words(only).into_iter().filter(|it| it.len() < text.len()) {
                if !self.spend(4 * self.index.n_scanned()) {
                    break;
                }
                if let Ok(location) = self.starts.locate(path) {
                    self.narrow_location(path, &location, true);
                }
                self.narrow_pattern(path);
            }
        }
        if !only.contains(char::is_whitespace) {
            self.narrow_pattern(only);
            for path in self.cases(only) {
                if !self.narrow_guess(&path) {
                    break;
                }
                self.narrow_pattern(&path);
            }
        }
        if self.is_line {
            return;
        }
        let parts = guessed_parts(only);
        if !self.steps().take(parts.len() / SORTED) {
            return;
        }
        for part in parts {
            if part.len() < text.len() && part.len() <= MAX_PATH_BYTES && !self.narrow_guess(part) {
                break;
            }
        }
    }

    /// A part of a text that may be a path. A bare name is no directory that a rule
    /// is for: `secrets` in a sentence is a word. `false`: there is no work left.
    ///
    /// A bare name is compared by its text, without a system call, since a sentence has
    /// many; a link of that name is not followed. Anything with a slash, and what
    /// begins with `~` or a dot, is looked up.
    pub(super) fn narrow_guess(&mut self, part: &str) -> bool {
        let n_patterns = 4 * self.index.n_scanned();
        let is_bare = !part.contains('/') && !part.starts_with(['~', '.']);
        let has_work = match is_bare {
            true => self.steps().take(BY_TEXT) && self.spend_work(BY_TEXT + n_patterns),
            false => self.steps().take_path(part, 1) && self.spend(n_patterns),
        };
        if !has_work {
            return false;
        }
        let located = match is_bare {
            true => None,
            false => self.starts.locate(part).ok(),
        };
        if let Some(location) = located.or_else(|| self.starts.by_text(part)) {
            let wanted = |it: &Glob, _| !is_bare || !it.names_place(part);
            self.narrow_location_by(part, &location, false, wanted);
        }
        true
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
            self.unread_paths(text, "it holds longer addresses, or more of them, than are read");
        }
        self.narrow_expanding_address(text);
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

    /// A text with the address of a file that a program may expand to others.
    pub(super) fn narrow_expanding_address(&mut self, text: &str) {
        if has_expanding_address(text) {
            self.unread_paths(text, "a program may expand braces and brackets in its path");
        }
    }

    pub(super) fn unread_paths(&mut self, text: &str, why: &'static str) {
        let subject = Subject::Path { path: cut(text), resolved: None, access: Access::Unknown };
        self.unclear((subject, why, ""), Narrows::PATHS, Source::Guess);
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
        let end = rest.find(ends_address);
        let part = path_of_address(&rest[..end.unwrap_or(rest.len())]);
        let is_short = rest.len() <= MAX_DECODED_BYTES;
        let whole = end.filter(|_| is_short).map(|_| path_of_address(rest)).unwrap_or_default();
        // Some programs take the scheme off, and nothing else.
        let raw = is_short.then(|| Cow::Borrowed(rest.strip_prefix("//").unwrap_or(rest)));
        [raw].into_iter().chain(whole).chain(part).flatten().filter(|it| !it.is_empty())
    })
}

/// What stands behind each scheme of an address of a file, up to the end of the text. A relative one, as SQLite and
/// Python take it, begins a word.
fn behind_schemes(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(':').filter_map(|(at, _)| {
        let (before, behind) = (&text[..=at], &text[at + 1..]);
        let scheme = before.as_bytes().last_chunk::<{ SCHEME.len() }>()?;
        let is_scheme = scheme.eq_ignore_ascii_case(SCHEME.as_bytes());
        let is_absolute = behind.starts_with('/');
        let is_relative = || {
            let begins = !behind.is_empty() && !behind.starts_with(ends_address);
            let before = before[..at + 1 - SCHEME.len()].chars().next_back();
            begins
                && !before.is_some_and(|it| it.is_alphanumeric() || matches!(it, '+' | '-' | '.'))
        };
        (is_scheme && (is_absolute || is_relative())).then_some(behind)
    })
}

/// Whether an address in a text ends before this character.
fn ends_address(it: char) -> bool {
    it.is_whitespace() || matches!(it, '"' | '\'' | '<' | '>')
}

/// Whether a text holds the address of a file with braces or brackets, which curl expands.
///
/// `file:///a/s[e-e]cret` is `/a/secret` to it. Only absolute addresses count: a
/// relative one is none to curl.
fn has_expanding_address(text: &str) -> bool {
    let absolute = behind_schemes(text).take(MAX_ADDRESSES).filter(|it| it.starts_with('/'));
    let mut addresses = absolute.filter_map(|it| it.split(ends_address).next());
    addresses.any(|it| it.contains(['{', '}', '[', ']']))
}

/// What stands behind the scheme `file:`, as a path: a relative one is also one from the root, as for readers by the URL
/// standard.
fn path_of_address(rest: &str) -> [Option<Cow<'_, str>>; 2] {
    let path = match rest.strip_prefix("//") {
        Some(behind) => behind.find('/').map(|at| &behind[at..]),
        None => Some(rest),
    };
    let path = path.map(|it| it.split(['?', '#']).next().unwrap_or(it));
    let path = path.map(|it| percent_decode_str(it).decode_utf8_lossy());
    let relative = path.as_ref().filter(|it| !it.is_empty() && !it.starts_with('/'));
    let from_root = relative.map(|it| Cow::Owned(format!("/{it}")));
    [path, from_root]
}

/// The relative paths of addresses without a host, as clients of databases read them:
/// `sqlite:///a/b` is `a/b`, and `sqlite:////a/b` is `/a/b`
/// ([SQLAlchemy](https://docs.sqlalchemy.org/en/20/dialects/sqlite.html#connect-strings)).
/// Some take it from behind two slashes, which is a host to others, so that counts for
/// schemes that begin with `sqlite`.
///
/// Up to the end of a word, and up to a query. Those with the scheme `file` are from
/// the root.
fn relative_paths(text: &str) -> impl Iterator<Item = &str> {
    let addresses = text.match_indices("://").take(MAX_ADDRESSES);
    let relative = addresses.filter_map(|(at, sign)| {
        let is_of_scheme = |it: char| it.is_ascii_alphanumeric() || matches!(it, '+' | '-' | '.');
        let scheme = text[..at].rsplit(|it| !is_of_scheme(it)).next().unwrap_or_default();
        let begins =
            |name: &str| scheme.get(..name.len()).is_some_and(|it| it.eq_ignore_ascii_case(name));
        let rest = &text[at + sign.len()..];
        let rest = rest.split(ends_address).next().unwrap_or(rest);
        match rest.strip_prefix('/') {
            Some(path) => Some(path).filter(|it| !it.starts_with('/') && !begins("file")),
            None => Some(rest).filter(|_| begins("sqlite")),
        }
    });
    relative.flat_map(|it| [it, it.split(['?', '#']).next().unwrap_or(it)])
}

/// Parts of a text with blanks, quotes or brackets that may be paths.
///
/// Each once: what stands between separators, and what stands between these, blanks,
/// quotes and brackets. Of a text of several lines, whole lines that are one word or
/// begin as a path.
fn guessed_parts(text: &str) -> Vec<&str> {
    let is_around = |it: char| is_quoting(it) || is_separator(it);
    let mut res: Vec<&str> = Vec::new();
    if text.contains('\n') {
        let begins_path = |it: &str| ["/", "~/", "./", "../"].iter().any(|dir| it.starts_with(dir));
        let lines = text.lines().map(|it| it.trim_matches(is_around));
        res.extend(lines.filter(|it| begins_path(it) || !it.contains(char::is_whitespace)));
    } else if text.contains(is_quoting) {
        res.extend(text.split(is_separator).map(|it| it.trim_matches(is_quoting)));
        res.extend(text.split(is_around));
        res.extend(relative_paths(text));
    }
    res.retain(|it| !it.is_empty());
    res.sort_unstable();
    res.dedup();
    res
}

/// Characters that a path stands between in a text that is read by a program.
pub(super) fn is_quoting(it: char) -> bool {
    it.is_whitespace()
        || matches!(
            it,
            '"' | '\''
                | '`'
                | '('
                | ')'
                | '['
                | ']'
                | '{'
                | '}'
                | '<'
                | '>'
                | ';'
                | '|'
                | '&'
                | '!'
        )
}

/// Characters between which a program may look for a path in a word: `a=b`, `a,b`,
/// `a:b`, `@a`.
pub(super) fn is_separator(it: char) -> bool {
    matches!(it, '=' | ',' | ':' | '@')
}

/// What of a word may be a path: all of it, what stands behind and between
/// separators, what follows the letters of an option, and relative paths of addresses.
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
    res.extend(relative_paths(word));
    res.retain(|it| !it.is_empty());
    res
}
