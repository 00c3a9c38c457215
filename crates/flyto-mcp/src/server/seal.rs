//! State that a client keeps for the server, and cannot change, use twice or use for another call.
//!
//! The state holds what the next call needs to go on: which call it was, which question was open, and what was answered before. It is
//! signed (HMAC-SHA256, [RFC 2104](https://www.rfc-editor.org/rfc/rfc2104)) with a key of the process, so a client can read it and not
//! make one. It is not secret: everything in it are digests, and answers that the client gave itself.
//!
//! A signature alone would let a client use one approval for many calls. So each state has a number that the server remembers until
//! it comes back, ten minutes at most. A server that is started again knows none of them, and asks again.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    fmt, io,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use sha2::{Digest as _, Sha256};

/// How long a question can be answered: ten minutes.
pub(crate) const LIFETIME: Duration = Duration::from_secs(10 * 60);
/// Most questions that are open at once. The oldest makes room for a new one, and cannot be answered any more.
const MAX_OPEN: usize = 1024;

/// What is sealed: which call was asked about, and what was answered so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// Found once in the process.
    nonce: String,
    /// The tool's id.
    tool: String,
    /// The digest of the [canonical] arguments.
    arguments: String,
    /// Of what the client was asked, see [`Sealer::digest_of_question`].
    pub(crate) question: String,
    /// Of the questions before, with what was answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) answers: Vec<(String, Value)>,
    /// The id of the call where it has begun and waits for the answer; without one it begins anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) waiting: Option<String>,
}

/// What a state holds beside its call.
#[derive(Debug)]
pub(crate) struct Open {
    /// See [`State::question`].
    pub(crate) question: String,
    /// See [`State::answers`].
    pub(crate) answers: Vec<(String, Value)>,
    /// See [`State::waiting`].
    pub(crate) waiting: Option<String>,
}

/// Why a state is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadState {
    /// It is not from this server, or was changed.
    Broken,
    /// It belongs to another tool or to other arguments.
    OtherCall,
    /// It was used already, or it is too old.
    Spent,
    /// The call that waited for the answer does so no more.
    Over,
}

impl fmt::Display for BadState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Broken => "\"requestState\" is not from this server, or was changed",
            Self::OtherCall => "\"requestState\" belongs to another call",
            Self::Spent => "\"requestState\" was used already, or is older than ten minutes",
            Self::Over => "the call of \"requestState\" does not wait any more; make the call again without it",
        })
    }
}

/// Seals states with a key that no other process has.
pub(crate) struct Sealer {
    key: [u8; 32],
    open: Mutex<HashMap<String, Instant>>,
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer").finish_non_exhaustive()
    }
}

impl Sealer {
    /// A sealer with a random key.
    ///
    /// # Errors
    ///
    /// The system gives no random numbers.
    pub(crate) fn new() -> io::Result<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        Ok(Self { key, open: Mutex::default() })
    }

    /// A state for one answer.
    ///
    /// # Errors
    ///
    /// The system gives no random numbers.
    pub(crate) fn seal(&self, tool: &str, arguments: &str, open: Open) -> io::Result<String> {
        let Open { question, answers, waiting } = open;
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce).map_err(io::Error::other)?;
        let nonce = BASE64_URL_SAFE_NO_PAD.encode(nonce);
        let state = State {
            nonce: nonce.clone(),
            tool: tool.to_owned(),
            arguments: digest(&canonical(arguments)),
            question,
            answers,
            waiting,
        };
        let payload = BASE64_URL_SAFE_NO_PAD.encode(serde_json::to_vec(&state)?);
        let tag = BASE64_URL_SAFE_NO_PAD.encode(self.mac(&payload).finalize().into_bytes());
        let now = Instant::now();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, issued| now.duration_since(*issued) < LIFETIME);
        if open.len() >= MAX_OPEN
            && let Some(oldest) = open.iter().min_by_key(|(_, issued)| **issued)
        {
            let oldest = oldest.0.clone();
            open.remove(&oldest);
        }
        open.insert(nonce, now);
        Ok(format!("{payload}.{tag}"))
    }

    /// What an answer to a question is bound to: what the client was asked, and the values that the text does not show.
    /// Keyed, so that the digest of a secret tells nothing of it.
    pub(crate) fn digest_of_question(&self, asked: &str, values: &str) -> String {
        let mut mac = self.mac("question");
        for text in [asked, values] {
            mac.update(&(text.len() as u64).to_le_bytes());
            mac.update(text.as_bytes());
        }
        BASE64_URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
    }

    /// Opens a state once, for the call that it was made for.
    ///
    /// # Errors
    ///
    /// Why it is not taken. One for another call stays usable for its own.
    pub(crate) fn open(&self, text: &str, tool: &str, arguments: &str) -> Result<State, BadState> {
        let (payload, tag) = text.split_once('.').ok_or(BadState::Broken)?;
        let tag = BASE64_URL_SAFE_NO_PAD.decode(tag).map_err(|_| BadState::Broken)?;
        // Compares in a time that tells nothing.
        self.mac(payload).verify_slice(&tag).map_err(|_| BadState::Broken)?;
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(payload).map_err(|_| BadState::Broken)?;
        let state: State = serde_json::from_slice(&bytes).map_err(|_| BadState::Broken)?;
        if state.tool != tool || state.arguments != digest(&canonical(arguments)) {
            return Err(BadState::OtherCall);
        }
        let issued = self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&state.nonce);
        match issued {
            Some(issued) if issued.elapsed() < LIFETIME => Ok(state),
            _ => Err(BadState::Spent),
        }
    }

    fn mac(&self, payload: &str) -> Hmac<Sha256> {
        let mut res = Hmac::<Sha256>::new_from_slice(&self.key).expect("a key may have any length");
        res.update(payload.as_bytes());
        res
    }
}

/// SHA-256 of a text.
pub(crate) fn digest(text: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(text))
}

/// The same JSON with the keys of each object in order and without white space: a client may write the same arguments in
/// another way when it makes a call again. Numbers keep their digits. A text of more than 256 KiB, about which no question is asked,
/// stays as it is.
pub(crate) fn canonical(json: &str) -> Cow<'_, str> {
    canonical_with(json, &mut |it| it)
}

/// The same with each text of it replaced, keys as well.
pub(crate) fn canonical_with<'j>(
    json: &'j str,
    replace: &mut dyn FnMut(String) -> String,
) -> Cow<'j, str> {
    /// Each level is read once more for each one above it, of which a parsed input has 128 at most.
    const MAX_BYTES: usize = 256 * 1024;
    let mut res = String::new();
    match json.len() <= MAX_BYTES && add(&mut res, json, replace).is_ok() {
        true => Cow::Owned(res),
        false => Cow::Borrowed(json),
    }
}

fn add(
    res: &mut String,
    json: &str,
    replace: &mut dyn FnMut(String) -> String,
) -> serde_json::Result<()> {
    match json.as_bytes().first() {
        Some(b'{') => {
            let members: BTreeMap<String, &RawValue> = serde_json::from_str(json)?;
            res.push('{');
            for (i, (key, value)) in members.into_iter().enumerate() {
                res.push_str(if i > 0 { "," } else { "" });
                res.push_str(&serde_json::to_string(&replace(key))?);
                res.push(':');
                add(res, value.get(), replace)?;
            }
            res.push('}');
        }
        Some(b'[') => {
            let elements: Vec<&RawValue> = serde_json::from_str(json)?;
            res.push('[');
            for (i, value) in elements.into_iter().enumerate() {
                res.push_str(if i > 0 { "," } else { "" });
                add(res, value.get(), replace)?;
            }
            res.push(']');
        }
        Some(b'"') => {
            let text: String = serde_json::from_str(json)?;
            res.push_str(&serde_json::to_string(&replace(text))?);
        }
        _ => res.push_str(json),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_question() -> Open {
        Open { question: "q".to_owned(), answers: Vec::new(), waiting: None }
    }

    #[test]
    fn a_state_is_taken_once_and_for_its_call_only() {
        let sealer = Sealer::new().unwrap();
        let arguments = r#"{"a": 1, "b": [true, "x"]}"#;
        let sealed = sealer.seal("p:t", arguments, open_question()).unwrap();
        let open = |tool: &str, arguments: &str| {
            sealer.open(&sealed, tool, arguments).map(|it| it.question)
        };
        assert_eq!(open("p:u", arguments), Err(BadState::OtherCall));
        assert_eq!(open("p:t", r#"{"a": 2, "b": [true, "x"]}"#), Err(BadState::OtherCall));
        // The order of keys is no difference.
        assert_eq!(open("p:t", r#"{"b":[true,"x"],"a":1}"#), Ok("q".to_owned()));
        assert_eq!(open("p:t", arguments), Err(BadState::Spent));
    }

    #[test]
    fn a_state_that_was_changed_is_broken() {
        let sealer = Sealer::new().unwrap();
        let sealed = sealer.seal("p:t", "{}", open_question()).unwrap();
        let mut changed = sealed.clone().into_bytes();
        changed[10] ^= 1;
        let changed = String::from_utf8(changed).unwrap();
        for text in [changed.as_str(), "", ".", "x.y", &sealed[..sealed.len() - 1]] {
            assert_eq!(sealer.open(text, "p:t", "{}").unwrap_err(), BadState::Broken, "{text}");
        }
        let other = Sealer::new().unwrap();
        assert_eq!(other.open(&sealed, "p:t", "{}").unwrap_err(), BadState::Broken);
        assert!(sealer.open(&sealed, "p:t", "{}").is_ok());
    }

    #[track_caller]
    fn check(json: &str, expected: &str) {
        assert_eq!(canonical(json), expected);
    }

    #[test]
    fn the_same_arguments_have_one_form() {
        check(
            r#"{"b": [1.0, "\u0061"], "a": {"d": null, "c": 1e2}}"#,
            r#"{"a":{"c":1e2,"d":null},"b":[1.0,"a"]}"#,
        );
        // Digits that a number of the machine does not have are kept.
        check("[12345678901234567890123, 0.1000]", "[12345678901234567890123,0.1000]");
        let long = format!("[ \"{}\" ]", "x".repeat(256 * 1024));
        check(&long, &long);
    }
}
