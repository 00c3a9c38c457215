//! What names say of their values: `DB_PASSWORD`, `apiKey`, `token_url`.
//!
//! A name is looked at twice: by parts that it holds anywhere, and by its last part, which says
//! what it is a name of: `TOKEN_PATH` is a path.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::catalogue::automaton;

/// What a name says of its value.
///
/// What a value has to look like follows from it: the less the name says, the more the value has
/// to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A person may have chosen it.
    Password,
    /// A machine made it.
    Token,
    /// `key`, `auth`: perhaps a secret.
    Weak,
}

/// What the name of a member of JSON hides, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hides {
    /// It names no secret, or something that only may be one.
    Nothing,
    /// `tokens`, `secrets`: a number beside it is a count.
    Texts,
    /// `password`, `api_key`: numbers too.
    All,
}

impl Hides {
    /// What a name in any spelling hides.
    pub(crate) fn by_name(name: &[u8]) -> Self {
        let ends_with = |end: &[u8]| {
            name.len() >= end.len() && name[name.len() - end.len()..].eq_ignore_ascii_case(end)
        };
        match Kind::of(name) {
            Some(Kind::Password | Kind::Token) => Self::All,
            Some(Kind::Weak) if ends_with(b"tokens") || ends_with(b"secrets") => Self::Texts,
            Some(Kind::Weak) | None => Self::Nothing,
        }
    }
}

/// Parts of names, in lower case without `_`, `-` and `.`, whose values are no secrets.
///
/// One of them is enough, whatever else the name holds.
#[rustfmt::skip] // A list reads best as one.
const OTHER_NAMES: &[&str] = &[
    "public", "pubkey", "keyboard", "keyword", "keytab", "monkey", "primarykey", "foreignkey", "bypass", "compass",
    "passthr", "passive", "passed", "passing", "tokeniz", "hotkey", "keyframe", "keyspace", "sortkey", "cachekey",
    "partitionkey", "keyring", "passwordless", "maxtoken", "mintoken", "numtokens", "totaltoken", "prompttoken",
    "completiontoken", "keyusage", "keycode", "keypress", "sha256", "sha512", "sha1", "md5", "checksum",
    "fingerprint", "turkey", "passenger", "authentic", "incredib", "accredit", "integrity", "keystroke",
];

/// Last parts of names that tell of something beside the secret.
///
/// In lower case; only the whole last part counts.
#[rustfmt::skip] // A list reads best as one.
const OTHER_ENDS: &[&str] = &[
    "id", "ids", "url", "uri", "file", "files", "path", "paths", "name", "names", "type", "size", "len", "length",
    "count", "expiry", "expires", "in", "ttl", "policy", "field", "prefix", "suffix", "dir", "endpoint", "algorithm",
    "alg", "format", "limit", "max", "min", "version", "label", "column", "param", "arn", "index", "exists",
    "required", "enabled", "valid", "usage", "scope", "class", "provider", "method", "mode", "stdin", "date", "time",
    "age", "hint", "changed", "store", "server", "host", "port", "region", "sock", "socket", "pub", "regex",
    "pattern", "manager", "service", "callback", "handler", "error", "message", "text", "title", "placeholder",
    "input", "digest", "ref", "helper", "keys", "at", "by", "owner",
];

/// Parts of names that are surely a secret's.
const PASSWORDS: &[&str] =
    &["password", "passwd", "passphrase", "passwort", "passwrd", "pwd", "identified by"];

/// Parts of names that are surely a token's.
#[rustfmt::skip] // A list reads best as one.
const TOKENS: &[&str] = &[
    "secret", "token", "apikey", "accesskey", "privatekey", "secretkey", "authkey", "credential", "encryptionkey",
    "signingkey", "masterkey", "sharedkey", "accountkey", "licensekey", "servicekey", "deploykey", "appkey",
    "sshkey", "authorization", "bearer", "xapikey", "privkey", "clientkey", "userkey", "serverkey", "integrationkey",
    "routingkey", "ingestionkey", "writekey", "readkey", "storagekey",
];

impl Kind {
    /// The kind of a name in any spelling; `None` where its value is no secret.
    pub(super) fn of(name: &[u8]) -> Option<Self> {
        // Names are looked at by the thousand: those of a usual length without an allocation.
        let (mut short, mut long) = ([0; 64], Vec::new());
        let buffer = match short.get_mut(..name.len()) {
            Some(short) => short,
            None => {
                long.resize(name.len(), 0);
                &mut long[..]
            }
        };
        let mut n_flat = 0;
        for it in name.iter().filter(|it| !matches!(it, b'_' | b'-' | b'.')) {
            buffer[n_flat] = it.to_ascii_lowercase();
            n_flat += 1;
        }
        let flat = &buffer[..n_flat];
        let (mut is_other, mut is_password, mut is_token) = (false, false, false);
        for hit in finder().find_overlapping_iter(flat) {
            match hit.pattern().as_usize() {
                it if it < OTHER_NAMES.len() => is_other = true,
                it if it < OTHER_NAMES.len() + PASSWORDS.len() => is_password = true,
                _ => is_token = true,
            }
        }
        let has = |part: &[u8]| memchr::memmem::find(flat, part).is_some();
        if is_other || (has(b"author") && !has(b"authori")) {
            return None;
        }
        let last = last_part(name);
        if OTHER_ENDS.contains(&last.as_str()) {
            return None;
        }
        if is_password {
            return Some(Self::Password);
        }
        // `tokens`, `secrets`: a list, or a section of a file.
        if flat.ends_with(b"tokens") || flat.ends_with(b"secrets") {
            return Some(Self::Weak);
        }
        if is_token {
            return Some(Self::Token);
        }
        match last.as_str() {
            "pass" | "pw" | "userpass" | "dbpass" => Some(Self::Password),
            "key" | "auth" | "cred" | "creds" | "signature" => Some(Self::Weak),
            _ if last.ends_with("pass") && last.len() <= 10 => Some(Self::Password),
            _ if last.ends_with("key") || has(b"auth") || has(b"pass") => Some(Self::Weak),
            _ => None,
        }
    }
}

/// Finds the parts of all three lists, in their order.
///
/// The number of a pattern says which list it is from.
fn finder() -> &'static AhoCorasick {
    static FINDER: LazyLock<AhoCorasick> =
        LazyLock::new(|| automaton(OTHER_NAMES.iter().chain(PASSWORDS).chain(TOKENS), false));
    &FINDER
}

/// The last part of a name, in lower case: `path` of `TOKEN_PATH`, `token-path` and `tokenPath`.
///
/// A part begins behind a sign and at an upper-case letter behind a lower-case one.
fn last_part(name: &[u8]) -> String {
    let mut start = 0;
    for i in 1..name.len() {
        let (before, it) = (name[i - 1], name[i]);
        if !before.is_ascii_alphanumeric()
            || (before.is_ascii_lowercase() && it.is_ascii_uppercase())
        {
            start = i;
        }
    }
    name[start..].iter().map(|it| char::from(it.to_ascii_lowercase())).collect()
}
