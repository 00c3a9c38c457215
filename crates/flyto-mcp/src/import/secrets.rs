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

/// The name of a variable that is made of these words: `my-server Authorization` is `MY_SERVER_AUTHORIZATION`.
pub(super) fn variable(words: &str) -> String {
    let words = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|it| !it.is_empty());
    let res = words.map(str::to_ascii_uppercase).collect::<Vec<_>>().join("_");
    match res.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("_{res}"),
        false => res,
    }
}
