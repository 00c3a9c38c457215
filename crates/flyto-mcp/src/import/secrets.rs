//! Values that are not copied, since they are secrets or are named as such.

use flyto_security::{DefaultGuard, SecretGuard as _};

/// Parts of names whose values are secrets.
const NAMES: [&str; 9] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "APIKEY",
    "API_KEY",
    "CREDENTIAL",
    "AUTHORIZATION",
    "COOKIE",
];

/// Whether the value under this name is a secret by the name alone.
pub(super) fn is_secret_name(name: &str) -> bool {
    let name = variable(name);
    NAMES.iter().any(|it| name.contains(it)) || name.ends_with("_KEY") || name.ends_with("_PAT")
}

/// Tells secrets by their form.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    guard: DefaultGuard,
}

impl Secrets {
    /// Whether a value looks like a secret. What cannot be scanned counts as one.
    pub(super) fn is_one(&self, name: &str, value: &str) -> bool {
        // Some rules look at what a value is assigned to.
        let text = format!("{name}={value}");
        self.guard.scan(name, text.as_bytes()).map_or(true, |found| !found.is_empty())
    }
}

/// What a declared text holds beside the names of variables: its own words, and the defaults of its references.
pub(super) fn own_text(expanded: &str) -> String {
    let mut res = String::new();
    let mut rest = expanded;
    while let Some((before, behind)) = rest.split_once('$') {
        res.push_str(before);
        rest = match (behind.strip_prefix('$'), behind.strip_prefix('{')) {
            (Some(behind), _) => {
                res.push('$');
                behind
            }
            (None, Some(inner)) => {
                let (inner, behind) = inner.split_once('}').unwrap_or((inner, ""));
                res.push_str(inner.split_once(":-").map_or("", |it| it.1));
                behind
            }
            (None, None) => {
                behind.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_')
            }
        };
    }
    res + rest
}

/// Whether a text is nothing, or the scheme before a credential: `Bearer ` (RFC 9110, 11.4).
pub(super) fn is_scheme(own: &str) -> bool {
    let is_word = |it: &str| it.bytes().all(|it| it.is_ascii_alphabetic() || it == b'-');
    own.is_empty() || own.strip_suffix(' ').is_some_and(is_word)
}

/// The name of a variable that is made of these words: `my-server Authorization` is `MY_SERVER_AUTHORIZATION`.
pub(super) fn variable(words: &str) -> String {
    let words = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|it| !it.is_empty());
    let res = words.map(str::to_ascii_uppercase).collect::<Vec<_>>().join("_");
    match res.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("_{res}"),
        false => res,
    }
}
