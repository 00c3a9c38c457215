//! Values of JSON whose names say that they are secrets.
//!
//! A scan of text leaves a short value alone, because `password: later` is a sentence. In the input
//! of a call the name of a member says what its value is, so each is a secret there however it looks:
//! a PIN, a password that is a word. [`named_values`] reads the text in one pass, without recursion,
//! in memory for one entry for each level of nesting.

use std::{borrow::Cow, ops::Range};

use crate::{Fingerprint, SecretMatch, Tier, redact, scan::Hides};

/// Replaces what `matches` tell and, in a text that is JSON, each value of a member whose name says that it is a
/// secret (`password`, `passwd`, `pwd`, `secret`, `token`, `api_key`, `authorization`, `creds`, …), however short it is.
///
/// Of such a member every string and number is replaced, also those in lists and objects in it; of a name in the plural
/// (`tokens`, `secrets`) every string. Names that tell of something beside a secret (`token_url`, `max_tokens`,
/// `password_hint`) and those that only may be one (`key`, `auth`) hide nothing. Strings that hold JSON themselves are
/// texts like any other. Of a text that is no JSON, the members before the error count.
///
/// Where a match and a member overlap, both are covered, and the match of the higher tier gives the name.
///
/// ```
/// use flyto_security::redact_named;
///
/// let input = r#"{"user": "ada", "password": "pin1", "login": {"api-key": 7, "token_url": "https://a.example"}}"#;
/// assert_eq!(
///     redact_named(input, &[]),
///     r#"{"user": "ada", "password": "[redacted: named-value, 4 characters]", "login": {"api-key": "[redacted: named-value, 1 characters]", "token_url": "https://a.example"}}"#
/// );
/// ```
#[must_use]
pub fn redact_named(json: &str, matches: &[SecretMatch]) -> String {
    let of_members = named_values(json).into_iter().map(|span| {
        let secret = unescaped(&json[span.clone()]);
        let id = Fingerprint([0; 32]);
        let label = "value of a member with a secret name";
        SecretMatch::new("named-value", label, Tier::Ask, span, secret.as_bytes(), id)
    });
    let all: Vec<SecretMatch> = matches.iter().cloned().chain(of_members).collect();
    redact(json, &all)
}

/// What the reader is inside of.
#[derive(Debug, Clone, Copy)]
struct Level {
    /// In an object, the next string is a name unless a colon stands before it.
    is_object: bool,
    /// What the name of the member with this object or list hides.
    hides: Hides,
}

/// Spans of the values, strings without their quotes, in order and apart from each other.
fn named_values(json: &str) -> Vec<Range<usize>> {
    let bytes = json.as_bytes();
    let mut res = Vec::new();
    let mut levels: Vec<Level> = Vec::new();
    // What the name of the member hides whose value comes next.
    let mut member: Option<Hides> = None;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let around = levels.last().map_or(Hides::Nothing, |it| it.hides);
        let hides = member.unwrap_or(around);
        match byte {
            b'{' | b'[' => {
                levels.push(Level { is_object: *byte == b'{', hides });
                member = None;
                at += 1;
            }
            b'}' | b']' => {
                levels.pop();
                member = None;
                at += 1;
            }
            b',' => {
                member = None;
                at += 1;
            }
            b'"' => {
                let Some(end) = end_of_string(bytes, at + 1) else { return res };
                let span = at + 1..end;
                let is_name = member.is_none() && levels.last().is_some_and(|it| it.is_object);
                if is_name {
                    let name = unescaped(&json[span]);
                    let is_creds =
                        name.eq_ignore_ascii_case("creds") || name.eq_ignore_ascii_case("cred");
                    let own = match is_creds {
                        true => Hides::All,
                        false => Hides::by_name(name.as_bytes()),
                    };
                    member = Some(around.max(own));
                } else if hides > Hides::Nothing && !span.is_empty() {
                    res.push(span);
                }
                at = end + 1;
            }
            b'-' | b'0'..=b'9' => {
                let is_number =
                    |it: &&u8| matches!(it, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                let end = at + bytes[at..].iter().take_while(is_number).count();
                if hides == Hides::All {
                    res.push(at..end);
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    res
}

/// Where the quote stands that closes a string; `None` for one that is open.
fn end_of_string(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// A string of JSON with its escapes read. One that is wrong stays as it is.
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    match serde_json::from_str(&format!("\"{text}\"")) {
        Ok(text) => Cow::Owned(text),
        Err(_) => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is hidden in a text.
    #[track_caller]
    fn check(json: &str, expect: &[&str]) {
        let found: Vec<&str> = named_values(json).into_iter().map(|it| &json[it]).collect();
        assert_eq!(found, expect, "{json}");
    }

    #[test]
    fn names_of_secrets_hide_short_values() {
        for name in [
            "password",
            "Password",
            "passwd",
            "pwd",
            "db_pass",
            "secret",
            "client_secret",
            "token",
            "accessToken",
            "api_key",
            "apiKey",
            "x-api-key",
            "authorization",
            "Authorization",
            "private_key",
            "passphrase",
            "credentials",
            "creds",
            "Cred",
        ] {
            check(&format!(r#"{{"{name}": "x", "user": "ada"}}"#), &["x"]);
            check(&format!(r#"{{"user": "ada", "{name}":"later"}}"#), &["later"]);
        }
    }

    #[test]
    fn other_names_hide_nothing() {
        for name in [
            "user",
            "key",
            "auth",
            "pin",
            "creds_file",
            "token_url",
            "max_tokens",
            "password_hint",
            "author",
            "path",
        ] {
            check(&format!(r#"{{"{name}": "x"}}"#), &[]);
        }
        check(r#"["password", "x", {"a": "password"}, "token"]"#, &[]);
        check(r#""password""#, &[]);
    }

    #[test]
    fn all_of_a_member_is_hidden() {
        check(r#"{"password": 1234, "n": 5}"#, &["1234"]);
        check(
            r#"{"password": [1, "a", {"x": "b", "y": [-2e3]}], "n": "c"}"#,
            &["1", "a", "b", "-2e3"],
        );
        check(r#"{"tokens": ["a", 7], "secrets": {"db": "b"}}"#, &["a", "b"]);
        check(r#"{"secret": {"token_url": "a"}, "b": "c"}"#, &["a"]);
        check(r#"{"password": true, "token": null, "secret": ""}"#, &[]);
    }

    #[test]
    fn escapes_hide_no_name() {
        check(r#"{"p\u0061ssword": "a\"b", "c": "d"}"#, &[r#"a\"b"#]);
        check(r#"{"a\\": "b", "pwd": "c\\"}"#, &[r"c\\"]);
    }

    #[test]
    fn what_is_no_json_is_read_to_the_error() {
        check(r#"{"password": "open"#, &[]);
        check(r#"{"pwd": "a", "token": "b\"#, &["a"]);
        check("}}]]{", &[]);
        check(&"[".repeat(100_000), &[]);
    }

    #[test]
    fn a_match_and_a_member_are_one() {
        let json = r#"{"token": "Bearer abc"}"#;
        let span = 18..21;
        let it = SecretMatch::new("r", "l", Tier::Block, span, b"abc", Fingerprint([0; 32]));
        assert_eq!(redact_named(json, &[it]), r#"{"token": "[redacted: r, 3 characters]"}"#);
    }
}
