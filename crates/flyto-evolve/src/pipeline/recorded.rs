//! Recording a call: what is kept, and what is taken out of it first.
//!
//! Four looks find secrets. The value of a member whose name says that it is a secret (`password`, `token`, `api_key`) is one
//! however it looks, also in a text that is JSON. Each text is looked at by itself; each member of an object is looked at with
//! its name, since `gr8-Horse` is a secret as the value of `db` only; and the whole record is looked at last, with
//! [neighbours](super::neighbours) joined, so that parts in several places are found. A value that its name makes a secret, and that is long enough to be told from a word
//! ([`MIN_ANYWHERE_BYTES`], [`MIN_WORD_BYTES`]), is one in every other text of the record too, since the output of a call often
//! repeats its input. What the first three find is replaced. Where the last still finds something, the call is not kept.

use flyto_diagnostics::Pointer;
use flyto_security::{ScanError, SecretGuard, Tier, redact, redact_named};
use flyto_tools::ToolResult;
use serde_json::{Map, Value, json};

use super::{Refusal, ToolBuilder, neighbours::neighbours, tracked::CALL_WAIT};
use crate::{CallRecording, Delivered, RecordedCall};

/// How deep a value may be nested to be recorded.
const MAX_DEPTH: usize = 64;

/// What stands in the place of a member whose name makes it a secret.
const REDACTED: &str = "[redacted]";

impl Delivered {
    /// What a caller gets of a result: without how it was run.
    pub(crate) fn of(result: &ToolResult) -> Self {
        let (text, data, failure) =
            (result.output.clone(), result.data.clone(), result.failure.clone());
        Self { text, data, failure }
    }
}

impl ToolBuilder {
    /// Keeps a call without its secrets. One that is too long, was cut, or cannot be looked through is not kept, and none is while
    /// another process has the store locked.
    pub(super) async fn keep_call(
        &self,
        call: RecordedCall,
        is_cut: bool,
        recording: CallRecording,
    ) -> Result<bool, Refusal> {
        let most = recording.max_bytes.min(crate::MAX_RECORDED_BYTES);
        let too_long = move |it: &RecordedCall| json!(it).to_string().len() > most;
        if is_cut || call.result.text.len() > most || too_long(&call) {
            return Ok(false);
        }
        let (guard, host) = (self.inner.guard.clone(), self.inner.host.clone());
        self.blocking(move |store| {
            let kept = match guard.get(store, &host.env)? {
                Some(guard) => without_secrets(&*guard, call),
                None => Some(call),
            };
            // A mark may be longer than what it stands for.
            let Some(kept) = kept.filter(|it| !too_long(it)) else { return Ok(false) };
            let store = store.waiting_at_most(CALL_WAIT);
            store.keep_call(&kept, recording.n_calls).map(|()| true)
        })
        .await
    }
}

/// The call with marks in the place of secrets; `None` where it cannot be made so.
///
/// Nothing of a record is kept that the guard could not look through: an error of a scan, a value
/// that is nested too deep, and a secret that only the whole shows all end the record.
fn without_secrets(guard: &dyn SecretGuard, call: RecordedCall) -> Option<RecordedCall> {
    let mut found = Vec::new();
    let whole = json!({"input": call.input, "steps": call.steps, "result": call.result});
    let mut look = Look::new(guard, &whole, &mut found)?;
    let mut cleaned = look.value(&whole).ok()??;
    let mut part = |key: &str| cleaned.as_object_mut().and_then(|it| it.remove(key));
    let res = RecordedCall {
        input: part("input")?,
        steps: serde_json::from_value(part("steps")?).ok()?,
        result: serde_json::from_value(part("result")?).ok()?,
        redacted: found,
        ..call
    };
    let whole = json!({"input": res.input, "steps": res.steps, "result": res.result});
    let left = guard.scan("call", whole.to_string().as_bytes()).ok()?;
    if left.iter().any(|it| it.tier >= Tier::Ask) {
        return None;
    }
    for it in neighbours(&whole) {
        let found = guard.scan("call", it.text.as_bytes()).ok()?;
        if found.iter().any(|found| found.tier >= Tier::Block && it.is_across(&found.span)) {
            return None;
        }
    }
    Some(res)
}

/// The shortest value that is replaced wherever it stands, in bytes.
const MIN_ANYWHERE_BYTES: usize = 8;

/// The shortest value that is replaced where it stands as a word of its own, in bytes.
const MIN_WORD_BYTES: usize = 6;

/// The most such values of a record, since each text is searched for each of them.
const MAX_NAMED_VALUES: usize = 200;

/// Collects the values of members whose names say that they are secrets, where they are long enough to be told from words.
///
/// A value that is nested deeper than [`MAX_DEPTH`] has no record, so it is not looked at.
fn named_secrets(value: &Value, hides_around: [bool; 2], depth: usize, res: &mut Vec<String>) {
    let [texts, numbers] = hides_around;
    let mut take = |text: String| {
        let json = json!(text).to_string();
        // A text that is JSON has it with escapes.
        let escaped = json[1..json.len() - 1].to_owned();
        for it in [text, escaped] {
            if it.len() >= MIN_WORD_BYTES && res.len() <= MAX_NAMED_VALUES && !res.contains(&it) {
                res.push(it);
            }
        }
    };
    match value {
        _ if depth > MAX_DEPTH => {}
        Value::String(text) if texts => take(text.clone()),
        Value::String(text) if text.trim_start().starts_with(['{', '[']) => {
            if let Ok(inner) = serde_json::from_str(text) {
                named_secrets(&inner, hides_around, depth + 1, res);
            }
        }
        Value::Number(number) if numbers => take(number.to_string()),
        Value::Array(items) => {
            items.iter().for_each(|it| named_secrets(it, hides_around, depth + 1, res));
        }
        Value::Object(members) => {
            for (key, it) in members {
                let [more_texts, more_numbers] = hides(key);
                let around = [texts || more_texts, numbers || more_numbers];
                named_secrets(it, around, depth + 1, res);
            }
        }
        _ => {}
    }
}

/// The text with a mark for each of these values; `None` where none is in it.
///
/// The longest stands first in `values`, so that no part of one is left. The work is the length of the text times the
/// number of values, which [`MAX_NAMED_VALUES`] bounds.
fn without_values(text: &str, values: &[String]) -> Option<String> {
    let mut res: Option<String> = None;
    for value in values {
        let text = res.as_deref().unwrap_or(text);
        let mut kept = String::new();
        let mut end = 0;
        for (at, found) in text.match_indices(value.as_str()) {
            let is_part = |it: Option<char>| it.is_some_and(char::is_alphanumeric);
            let is_word = !is_part(text[..at].chars().next_back())
                && !is_part(text[at + found.len()..].chars().next());
            if value.len() >= MIN_ANYWHERE_BYTES || is_word {
                kept.push_str(&text[end..at]);
                kept.push_str(REDACTED);
                end = at + found.len();
            }
        }
        if end > 0 {
            kept.push_str(&text[end..]);
            res = Some(kept);
        }
    }
    res
}

/// The result of a call without its secrets, as a record would have it.
pub(super) fn delivered_without_secrets(
    guard: &dyn SecretGuard,
    delivered: &Delivered,
) -> Option<Delivered> {
    let mut found = Vec::new();
    let whole = json!(delivered);
    let cleaned = Look::new(guard, &whole, &mut found)?.value(&whole).ok()??;
    serde_json::from_value(cleaned).ok()
}

/// One walk over a record.
struct Look<'a> {
    guard: &'a dyn SecretGuard,
    at: Pointer,
    found: &'a mut Vec<String>,
    /// Values of members with the name of a secret, the longest first; each is a secret wherever it stands.
    values: Vec<String>,
}

/// Whether a name says that a text, or a number, of its member is a secret.
///
/// `flyto-security` has the names; a member of that name is handed to it, and its answer is compared.
fn hides(name: &str) -> [bool; 2] {
    [json!("x"), json!(1)].map(|value| {
        let member = json!({name: value}).to_string();
        redact_named(&member, &[]) != member
    })
}

/// The value with a mark for each text, and each number where `numbers` says so.
fn hidden(value: &Value, numbers: bool) -> Value {
    match value {
        Value::String(text) if !text.is_empty() => REDACTED.into(),
        Value::Number(_) if numbers => REDACTED.into(),
        Value::Array(items) => items.iter().map(|it| hidden(it, numbers)).collect(),
        Value::Object(members) => {
            members.iter().map(|(key, it)| (key.clone(), hidden(it, numbers))).collect()
        }
        other => other.clone(),
    }
}

impl<'a> Look<'a> {
    /// `None` where there are too many values to search for.
    fn new(guard: &'a dyn SecretGuard, whole: &Value, found: &'a mut Vec<String>) -> Option<Self> {
        let mut values = Vec::new();
        named_secrets(whole, [false; 2], 0, &mut values);
        values.sort_by_key(|it| std::cmp::Reverse(it.len()));
        let is_bounded = values.len() <= MAX_NAMED_VALUES;
        is_bounded.then_some(Self { guard, at: Pointer::root(), found, values })
    }

    /// The value with marks; `None` for one that is nested too deep.
    fn value(&mut self, value: &Value) -> Result<Option<Value>, ScanError> {
        if self.at.tokens().count() > MAX_DEPTH {
            return Ok(None);
        }
        Ok(Some(match value {
            Value::String(text) => match self.text(text)? {
                Some(marked) => {
                    self.found.push(self.at.as_str().to_owned());
                    marked.into()
                }
                None => value.clone(),
            },
            Value::Number(number) if self.values.contains(&number.to_string()) => {
                self.found.push(self.at.as_str().to_owned());
                REDACTED.into()
            }
            Value::Array(items) => {
                let mut res = Vec::new();
                for (index, it) in items.iter().enumerate() {
                    self.at.push_index(index);
                    let Some(it) = self.value(it)? else { return Ok(None) };
                    res.push(it);
                    self.at.pop();
                }
                Value::Array(res)
            }
            Value::Object(members) => {
                let mut res = Map::new();
                for (key, it) in members {
                    let [texts, numbers] = hides(key);
                    let bare = if texts { hidden(it, numbers) } else { it.clone() };
                    let is_hidden = bare != *it;
                    let it = &bare;
                    let marked_key = self.text(key)?;
                    // The places of what is below hold the mark as well.
                    self.at.push(marked_key.as_deref().unwrap_or(key));
                    let named = match it {
                        Value::String(text) => format!("\"{key}\": {}", json!(text)),
                        Value::Number(number) => format!("\"{key}\": \"{number}\""),
                        _ => String::new(),
                    };
                    let is_secret =
                        !is_hidden && self.text(&named)?.is_some() && self.is_plain(it)?;
                    if is_hidden {
                        self.found.push(self.at.as_str().to_owned());
                    }
                    let it = if is_secret {
                        self.found.push(self.at.as_str().to_owned());
                        Some(REDACTED.into())
                    } else {
                        self.value(it)?
                    };
                    let Some(it) = it else { return Ok(None) };
                    if marked_key.is_some() {
                        self.found.push(self.at.as_str().to_owned());
                    }
                    res.insert(marked_key.unwrap_or_else(|| key.clone()), it);
                    self.at.pop();
                }
                Value::Object(res)
            }
            other => other.clone(),
        }))
    }

    /// The text with marks; `None` where nothing was found.
    fn text(&self, text: &str) -> Result<Option<String>, ScanError> {
        if text.is_empty() {
            return Ok(None);
        }
        let mut found = self.guard.scan("call", text.as_bytes())?;
        // A digest or an identifier is no secret that a person would have to decide about, as with proposals that wait.
        found.retain(|it| it.tier >= Tier::Ask);
        // A tool may give JSON as text. Names of members in it are looked at; of other text they are words.
        let marked = match text.trim_start().starts_with(['{', '[']) {
            true => redact_named(text, &found),
            false => redact(text, &found),
        };
        let marked = without_values(&marked, &self.values).unwrap_or(marked);
        Ok((marked != text).then_some(marked))
    }

    /// Whether nothing is found in a value by itself, so that its name alone makes it a secret.
    fn is_plain(&self, value: &Value) -> Result<bool, ScanError> {
        match value {
            Value::String(text) => Ok(self.text(text)?.is_none()),
            _ => Ok(true),
        }
    }
}
