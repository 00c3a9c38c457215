//! Values that the caller has: what must not appear is looked for as it is.
//!
//! The surest rule: no form is needed, and no text is taken for a secret by mistake but where a
//! value is a common word; those are left out. Values stay in the memory of the guard as long as it
//! lives; its `Debug` shows names alone.

use std::fmt;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::literal::{distinct, is_weak};

/// A shorter value is a word that any text may have.
const MIN_BYTES: usize = 8;

/// A longer value is cut: its head says enough.
///
/// In bytes. A match has the span of the head, and what follows stays in a redacted text.
const MAX_BYTES: usize = 1024;

/// As many values as a guard takes; an environment has some hundred variables.
///
/// Further ones are left out. With [`MAX_BYTES`] they bound the automaton to 4 MiB of patterns.
const MAX_VALUES: usize = 4096;

/// Parts of the names of variables that hold secrets, in upper case.
///
/// One of them has to be in the name, in either case.
#[rustfmt::skip] // A list reads best as one.
const SECRET_NAMES: &[&str] = &[
    "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "PASSWRD", "_PASS", "PWD", "APIKEY", "API_KEY", "_KEY",
    "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIAL", "_AUTH", "AUTH_", "_DSN", "DATABASE_URL", "REDIS_URL", "MONGO_URL",
    "AMQP_URL", "CONNECTION_STRING", "CONNECTIONSTRING", "_PAT", "COOKIE", "WEBHOOK",
];

/// Values under secret names that are none: directories of the shell, sockets, settings.
///
/// The whole name, in either case.
const OTHER_NAMES: &[&str] = &["PWD", "OLDPWD", "SSH_AUTH_SOCK", "XAUTHORITY", "GPG_KEY", "KEYMAP"];

/// Whether a variable's name says that it holds a secret.
///
/// It is not asked for values that are given as secrets whatever their names.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    !OTHER_NAMES.contains(&upper.as_str()) && SECRET_NAMES.iter().any(|it| upper.contains(it))
}

/// The values with their names.
///
/// Values that are too weak to be looked for are not in it.
#[derive(Default)]
pub(crate) struct Known {
    values: Vec<(String, Vec<u8>)>,
    /// Its patterns are the values, in their order; `None` without a value.
    automaton: Option<AhoCorasick>,
}

/// Without the values.
impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.values.iter().map(|it| &it.0)).finish()
    }
}

impl Known {
    /// A value is left out where it is short, has fewer than four different bytes, is a well-known
    /// password or an absolute path of several parts. White space at its end is cut off first.
    pub(crate) fn new(values: Vec<(String, Vec<u8>)>) -> Self {
        let mut res = Self::default();
        for (name, mut value) in values {
            // What ends a line in a file ends no secret.
            while value.last().is_some_and(u8::is_ascii_whitespace) {
                value.pop();
            }
            value.truncate(MAX_BYTES);
            let is_path =
                value.starts_with(b"/") && value.iter().filter(|it| **it == b'/').count() > 1;
            let says_something =
                value.len() >= MIN_BYTES && distinct(&value) >= 4 && !is_weak(&value);
            if says_something && !is_path && res.values.len() < MAX_VALUES {
                res.values.push((name, value));
            }
        }
        if !res.values.is_empty() {
            let built = AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .build(res.values.iter().map(|it| &it.1));
            res.automaton = Some(built.expect("4 MiB of patterns fit into an automaton"));
        }
        res
    }

    /// The names of the values that `text` holds, with their places.
    ///
    /// From left to right without overlaps; of values that begin at one place, the longest.
    pub(crate) fn find<'a>(
        &'a self,
        text: &'a [u8],
    ) -> impl Iterator<Item = (&'a str, std::ops::Range<usize>)> {
        let found = self.automaton.iter().flat_map(move |it| it.find_iter(text));
        found.map(|it| (self.values[it.pattern().as_usize()].0.as_str(), it.range()))
    }

    /// Of those that are looked for.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }
}
