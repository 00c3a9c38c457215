//! Values that the caller has: what must not appear is looked for as it is.

use std::fmt;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::literal::{distinct, is_weak};

/// A shorter value is a word that any text may have.
const MIN_BYTES: usize = 8;

/// A longer value is cut: its head says enough.
const MAX_BYTES: usize = 1024;

/// As many values as a guard takes; an environment has some hundred variables.
const MAX_VALUES: usize = 4096;

/// Parts of the names of variables that hold secrets, in upper case.
#[rustfmt::skip] // A list reads best as one.
const SECRET_NAMES: &[&str] = &[
    "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "PASSWRD", "_PASS", "PWD", "APIKEY", "API_KEY", "_KEY",
    "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIAL", "_AUTH", "AUTH_", "_DSN", "DATABASE_URL", "REDIS_URL", "MONGO_URL",
    "AMQP_URL", "CONNECTION_STRING", "CONNECTIONSTRING", "_PAT", "COOKIE", "WEBHOOK",
];

/// Values under secret names that are none: directories of the shell, sockets, settings.
const OTHER_NAMES: &[&str] = &["PWD", "OLDPWD", "SSH_AUTH_SOCK", "XAUTHORITY", "GPG_KEY", "KEYMAP"];

/// Whether a variable's name says that it holds a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    !OTHER_NAMES.contains(&upper.as_str()) && SECRET_NAMES.iter().any(|it| upper.contains(it))
}

/// The values with their names.
#[derive(Default)]
pub(crate) struct Known {
    values: Vec<(String, Vec<u8>)>,
    automaton: Option<AhoCorasick>,
}

/// Without the values.
impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.values.iter().map(|it| &it.0)).finish()
    }
}

impl Known {
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
    pub(crate) fn find<'a>(
        &'a self,
        text: &'a [u8],
    ) -> impl Iterator<Item = (&'a str, std::ops::Range<usize>)> {
        let found = self.automaton.iter().flat_map(move |it| it.find_iter(text));
        found.map(|it| (self.values[it.pattern().as_usize()].0.as_str(), it.range()))
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }
}
