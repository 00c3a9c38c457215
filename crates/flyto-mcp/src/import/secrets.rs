//! Values that are not copied, since they are secrets or are named as such.

use std::iter;

use flyto_security::{DefaultGuard, SecretGuard as _};
use serde_json::Value;

/// Parts of names whose values are secrets.
const NAMES: [&str; 12] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "APIKEY",
    "ACCESSKEY",
    "PRIVATEKEY",
    "API_KEY",
    "CREDENTIAL",
    "AUTHORIZATION",
    "COOKIE",
];

/// Whether the value under this name is a secret by the name alone.
pub(super) fn is_secret_name(name: &str) -> bool {
    let name = variable(name);
    // `DB_PASS_2` and `DB_PASS2` are as `DB_PASS`.
    let end = name.trim_end_matches(|c: char| c == '_' || c.is_ascii_digit());
    let (words, last) = end.rsplit_once('_').unwrap_or(("", end));
    let is_switch = SWITCHES.contains(&words.split('_').next().unwrap_or_default());
    NAMES.iter().any(|it| name.contains(it))
        || end.ends_with("_KEY")
        || end.ends_with("_PAT")
        || (LAST_WORDS.iter().any(|it| last.ends_with(it))
            && !OTHER_LAST_WORDS.contains(&last)
            && end != "PWD"
            && !is_switch)
}

/// Ends of the last words of names whose values are secrets: `MYSQL_PWD`, `PGPASS`, `X-Auth`. `AUTHOR` and `PASSAGE` have others.
const LAST_WORDS: [&str; 3] = ["PASS", "PWD", "AUTH"];

/// Words that end like those and mean something else. `PWD` alone is the directory of a shell, as `OLDPWD` is.
const OTHER_LAST_WORDS: [&str; 10] = [
    "BYPASS",
    "COMPASS",
    "ENCOMPASS",
    "OAUTH",
    "OLDPWD",
    "OVERPASS",
    "SURPASS",
    "TRESPASS",
    "UNDERPASS",
    "XAUTH",
];

/// First words of names that switch something: what stands behind the option `--no-auth` is no secret.
const SWITCHES: [&str; 7] = ["DISABLE", "ENABLE", "NO", "REQUIRE", "SKIP", "USE", "WITHOUT"];

/// Further names of members of a query whose values are secrets. Elsewhere they are words as others: `PWD` is a directory.
const QUERY_NAMES: [&str; 6] = ["KEY", "PAT", "PWD", "CODE", "SIG", "SIGNATURE"];

/// A part of an address that is shorter is no token without a name.
const MIN_TOKEN_BYTES: usize = 16;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The address of a server. Each part of it that looks made by a machine counts as a token.
    Address,
    /// Any other text, in which an address may name a commit or an archive by its digest.
    Text,
}

/// Tells secrets by their form.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    guard: DefaultGuard,
}

impl Secrets {
    /// Whether a value is a secret, or an address with one in it. What cannot be scanned counts as one.
    pub(super) fn is_in(&self, role: Role, name: &str, value: &str) -> bool {
        self.is_one(name, value)
            || value.split_whitespace().any(|word| {
                // Each part but the last ends with the scheme of the next: one word may hold several addresses.
                let parts: Vec<_> = word.split("://").collect();
                parts.windows(2).any(|it| self.is_in_address(role, scheme(it[0]), it[1]))
            })
    }

    /// Whether a name that would be copied looks like a secret.
    pub(super) fn is_a_name(&self, name: &str) -> bool {
        name.len() >= MIN_TOKEN_BYTES && self.is_one("", name)
    }

    /// Whether a secret stands where the name of a variable is to stand. Most names of variables are in capitals.
    pub(super) fn is_for_a_name(&self, text: &str) -> bool {
        let is_capital = !text.contains(|c: char| c.is_ascii_lowercase());
        self.is_one("", text) || (!is_capital && self.is_one("token", text))
    }

    fn is_one(&self, name: &str, value: &str) -> bool {
        // Some rules look at what a value is assigned to.
        let text = format!("{name}={value}");
        self.guard.scan(name, text.as_bytes()).map_or(true, |found| !found.is_empty())
    }

    /// Whether there is a secret in what stands behind the scheme of an address.
    fn is_in_address(&self, role: Role, scheme: &str, address: &str) -> bool {
        // `git+ssh` goes over the second one.
        let transport = scheme.rsplit('+').next().unwrap_or_default();
        // A file is one of this machine, and its path is read by no other.
        if transport == "file" {
            return false;
        }
        let (authority, rest) =
            address.split_at(address.find(['/', '?', '#']).unwrap_or(address.len()));
        let user = authority.rsplit_once('@').map_or("", |it| it.0);
        // `ssh://git@example.org` names an account, whose key is elsewhere. Of other schemes the name alone may be the secret.
        let is_account = matches!(transport, "ssh" | "sftp") && !user.contains(':');
        let has_secret_user = match is_account {
            true => self.is_token(role, user),
            false => user.contains(|c| c != ':'),
        };
        has_secret_user
            || rest.split(['/', '?', '&', '#', ';']).any(|part| {
                // The end of Base64 is no assignment.
                let part = part.trim_end_matches('=');
                match part.split_once('=') {
                    Some((name, value)) => {
                        is_secret_name(name)
                            || QUERY_NAMES.contains(&&*variable(name))
                            || self.is_one(name, value)
                            || self.is_token(role, value)
                    }
                    None => self.is_token(role, part),
                }
            })
    }

    /// Whether a part of an address looks like a token.
    fn is_token(&self, role: Role, part: &str) -> bool {
        // A commit, or the content of an archive: SHA-1 and SHA-256.
        let is_digest =
            |it: &str| matches!(it.len(), 40 | 64) && it.bytes().all(|it| it.is_ascii_hexdigit());
        let mut parts = part.split('@').filter(|it| it.len() >= MIN_TOKEN_BYTES);
        parts.any(|it| !(role == Role::Text && is_digest(it)) && self.is_one("token", it))
    }
}

/// The scheme at the end of what stands before `://` (RFC 3986, 3.1).
fn scheme(before: &str) -> &str {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    &before[before.trim_end_matches(is_part).len()..]
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

/// The names behind each `$` in the texts of a declaration.
pub(super) fn references(declared: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    let name = |it| {
        let it = str::strip_prefix(it, '{').unwrap_or(it);
        let it = it.strip_prefix("env:").unwrap_or(it);
        let end = it.find(|c: char| c != '_' && !c.is_ascii_alphanumeric());
        &it[..end.unwrap_or(it.len())]
    };
    match declared {
        Value::String(text) => Box::new(text.split('$').skip(1).map(name)),
        Value::Array(items) => Box::new(items.iter().flat_map(references)),
        Value::Object(members) => Box::new(members.values().flat_map(references)),
        _ => Box::new(iter::empty()),
    }
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

/// Whether a text is the name of a variable, as a reference has it.
pub(super) fn is_variable(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets() {
        for name in [
            "AUTH",
            "BASIC_AUTH",
            "X-Auth",
            "basicAuth",
            "MYSQL_PWD",
            "DB_PASS",
            "DB_PASS_2",
            "DB_PASS2",
            "PGPASS",
            "PGPASSWORD",
            "SSHPASS",
            "--pass",
            "dbPwd",
            "SSH_PASSPHRASE",
            "accessKey",
            "PRIVATEKEY",
            "S3_KEY_1",
            "GITHUB_PAT",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "",
            "_",
            "AUTHOR",
            "GIT_AUTHOR_NAME",
            "AUTHORITY",
            "SSH_AUTH_SOCK",
            "AUTH_TYPE",
            "OAUTH",
            "NO_AUTH",
            "--no-auth",
            "--skip-auth",
            "PASSAGE",
            "PASSTHROUGH",
            "PASS_THROUGH",
            "BYPASS",
            "--bypass",
            "PGPASSFILE",
            "PWD",
            "OLDPWD",
            "PATH",
            "KEY",
            "KEYBOARD",
            "MONKEY",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
