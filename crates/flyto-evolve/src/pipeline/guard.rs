//! Looking a definition through for secrets.

use std::sync::Arc;

use flyto_diagnostics::Pointer;
use flyto_execenv::Environment;
use flyto_security::{DefaultGuard, SecretGuard, SecretMatch, Tier, redact};
use serde_json::Value;

use super::{
    Refusal,
    neighbours::{Joined, neighbours},
};
use crate::{SecretFinding, Store, StoreError, ToolDefinition};

/// The key of a composite under which parts are joined.
const CONCAT: &str = "$concat";
/// That under which a value stands beside the one that takes its place.
const DEFAULT: &str = "$default";

/// What stands in the place of a text that cannot be looked through.
const NOT_SHOWN: &str = "[not shown: it could not be looked through for secrets]";

/// Which guard looks.
#[derive(Debug, Clone)]
pub(super) enum Guard {
    /// That of `flyto-security`, with the values of the host's variables, the key of the store, and further rules.
    Default(Vec<Arc<str>>),
    /// One of the host's.
    Own(Arc<dyn SecretGuard>),
    /// None, which the host has said.
    Off,
}

impl Guard {
    /// The guard that looks; `None` where none does.
    pub(super) fn get(
        &self,
        store: &Store,
        env: &Environment,
    ) -> Result<Option<Arc<dyn SecretGuard>>, StoreError> {
        Ok(match self {
            Self::Off => None,
            Self::Own(guard) => Some(Arc::clone(guard)),
            Self::Default(rules) => {
                let guard = default_guard(rules, env).fingerprint_key(&store.fingerprint_key()?);
                Some(Arc::new(guard.build()))
            }
        })
    }

    /// What the store keeps, such as a record of the log, without what looks like a secret in one of its texts. It needs no key, so that
    /// a store without a usable one has its events as well.
    ///
    /// Digests and identifiers, of which a record has many, stay.
    pub(super) fn redacted_record(&self, env: &Environment, body: Value) -> Value {
        match self {
            Self::Off => body,
            Self::Own(guard) => redacted_texts(&**guard, body),
            Self::Default(rules) => redacted_texts(&default_guard(rules, env).build(), body),
        }
    }

    /// The text without what looks like a secret; nothing of a text that cannot be looked through. What was found and no person
    /// acknowledged is added to `findings`, with this place.
    pub(super) fn redacted(
        &self,
        store: &Store,
        env: &Environment,
        place: &str,
        text: &str,
        findings: &mut Vec<SecretFinding>,
    ) -> Result<String, StoreError> {
        let Some(guard) = self.get(store, env)? else { return Ok(text.to_owned()) };
        let Ok(found) = guard.scan("output", text.as_bytes()) else {
            return Ok(NOT_SHOWN.to_owned());
        };
        let res = redact(text, &found);
        findings.extend(found.into_iter().map(|it| SecretFinding::new(place.to_owned(), it)));
        without_acknowledged(store, findings)?;
        Ok(res)
    }
}

/// The value with marks in the place of secrets, in each text and each name of a member.
///
/// A text that cannot be looked through is left out as a whole. Texts are looked at one by one: what a record joins of several
/// places was looked through where it came from.
fn redacted_texts(guard: &dyn SecretGuard, value: Value) -> Value {
    let text = |text: String| match guard.scan("event", text.as_bytes()) {
        Ok(mut found) => {
            found.retain(|it| it.tier >= Tier::Ask);
            redact(&text, &found)
        }
        Err(_) => NOT_SHOWN.to_owned(),
    };
    match value {
        Value::String(it) => text(it).into(),
        Value::Array(items) => items.into_iter().map(|it| redacted_texts(guard, it)).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(key, it)| (text(key), redacted_texts(guard, it))).collect()
        }
        other => other,
    }
}

/// What was found, without what a person acknowledged. `further` are texts that are kept beside the definition, each with
/// a name for its place.
///
/// A finding names the place, the rule and the first characters. What a person acknowledged by its
/// fingerprint is left out, and so are notes that are found in the whole text alone.
///
/// # Errors
///
/// [`Refusal::Unscanned`] for a text that the guard refuses, and [`Refusal::Store`] where the key
/// or the acknowledgements cannot be read: nothing counts as clean by default.
pub(super) fn scan(
    guard: &Guard,
    store: &Store,
    env: &Environment,
    def: &ToolDefinition,
    further: &[(&str, String)],
) -> Result<Vec<SecretFinding>, Refusal> {
    let Some(guard) = guard.get(store, env)? else { return Ok(Vec::new()) };
    let file = format!("{}.json", def.name);
    let mut res: Vec<SecretFinding> = Vec::new();
    let content = def.content();
    let mut looked = Vec::new();
    // Each text by itself, so that lines are told, and the whole, so that parts in several fields are found.
    let further = further.iter().map(|(place, text)| ((*place).to_owned(), text.clone()));
    looked.extend(def.texts().into_iter().chain(further).map(Looked::text));
    collect_joined(&content, &mut Pointer::root(), &mut looked);
    looked.extend(neighbours(&content).into_iter().map(Looked::Neighbours));
    looked.push(Looked::text((String::new(), def.file_text())));
    for it in &looked {
        let (pointer, text) = it.parts();
        let scan = |text: &str| {
            let found = guard.scan(&format!("{file}#{pointer}"), text.as_bytes());
            found.map_err(|_| unscanned(text.len()))
        };
        let mut found = scan(text)?;
        found.retain(|found| it.counts(found));
        if found.is_empty() {
            continue;
        }
        // A name of a member may be the secret itself.
        let shown = redact(pointer, &scan(pointer)?);
        for found in found {
            // What was found in a text is found in the whole again.
            let is_known = |it: &SecretFinding| {
                it.found.fingerprint == found.fingerprint
                    && (pointer.is_empty() || it.pointer == shown)
            };
            if !res.iter().any(is_known) {
                res.push(SecretFinding::new(shown.clone(), found));
            }
        }
    }
    without_acknowledged(store, &mut res)?;
    // A digest or an identifier in the whole text is told where it stands.
    res.retain(|it| !it.pointer.is_empty() || it.found.tier > Tier::Note);
    Ok(res)
}

/// Leaves out what a person acknowledged, by its fingerprint: that very text, wherever it stands.
///
/// # Errors
///
/// The acknowledgements cannot be read. Nothing is left out then.
fn without_acknowledged(
    store: &Store,
    findings: &mut Vec<SecretFinding>,
) -> Result<(), StoreError> {
    let acknowledged = store.acknowledgements()?;
    findings.retain(|it| !acknowledged.iter().any(|ack| ack.fingerprint == it.found.fingerprint));
    Ok(())
}

/// A text that is looked through, and what of it counts.
enum Looked {
    /// One text, or several as the tool itself joins them.
    Text { pointer: String, text: String },
    /// A text that a tool may make, by what is known when it runs: only what a rule is sure of counts.
    Possible { pointer: String, text: String },
    /// Texts that no tool is known to join: only what a rule is sure of, and what is in no one of them.
    Neighbours(Joined),
}

impl Looked {
    /// A text of which everything counts, with its place.
    fn text((pointer, text): (String, String)) -> Self {
        Self::Text { pointer, text }
    }

    /// Its place, and the text.
    fn parts(&self) -> (&str, &str) {
        match self {
            Self::Text { pointer, text } | Self::Possible { pointer, text } => (pointer, text),
            Self::Neighbours(it) => (&it.pointer, &it.text),
        }
    }

    /// Whether a finding in it is one. What does not count here is found in another text, or is a chance.
    fn counts(&self, found: &SecretMatch) -> bool {
        match self {
            Self::Text { .. } => true,
            Self::Possible { .. } => found.tier >= Tier::Block,
            Self::Neighbours(it) => found.tier >= Tier::Block && it.is_across(&found.span),
        }
    }
}

/// The texts that a composite would join of what is written in it: each run of parts of a `$concat` without a reference, and all
/// of them where the references give nothing.
///
/// Each has the pointer of the object with the `$concat`. A `$concat` within another one is a part of it, and is looked at
/// by itself as well.
fn collect_joined(value: &Value, at: &mut Pointer, res: &mut Vec<Looked>) {
    match value {
        Value::Array(items) => {
            for (index, it) in items.iter().enumerate() {
                at.push_index(index);
                collect_joined(it, at, res);
                at.pop();
            }
        }
        Value::Object(members) => {
            if let Some(Value::Array(parts)) = members.get(CONCAT) {
                let (mut run, mut whole) = (String::new(), String::new());
                for text in parts.iter().map(literal).chain([None]) {
                    match text {
                        Some(text) => run.push_str(&text),
                        None if run.is_empty() => {}
                        None => {
                            whole.push_str(&run);
                            res.push(Looked::text((
                                at.as_str().to_owned(),
                                std::mem::take(&mut run),
                            )));
                        }
                    }
                }
                res.push(Looked::Possible { pointer: at.as_str().to_owned(), text: whole });
            }
            for (key, it) in members {
                at.push(key);
                collect_joined(it, at, res);
                at.pop();
            }
        }
        _ => {}
    }
}

/// The text of a part of a `$concat` as far as it is written there: of a `$default` that of the first of its values that has one.
fn literal(part: &Value) -> Option<String> {
    match part {
        Value::String(text) => Some(text.clone()),
        Value::Object(members) => {
            if let Some(parts) = members.get(CONCAT) {
                return parts.as_array()?.iter().map(literal).collect();
            }
            members.get(DEFAULT)?.as_array()?.iter().find_map(literal)
        }
        Value::Array(_) => None,
        other => Some(other.to_string()),
    }
}

/// What was found in a text of a person that is to be kept, such as the reason of an answer.
pub(super) fn scan_text(
    guard: &Guard,
    store: &Store,
    env: &Environment,
    place: &str,
    text: &str,
) -> Result<Vec<SecretFinding>, Refusal> {
    let Some(guard) = guard.get(store, env)? else { return Ok(Vec::new()) };
    let found = guard.scan(place, text.as_bytes()).map_err(|_| unscanned(text.len()))?;
    let found = found.into_iter().filter(|it| it.tier >= Tier::Ask);
    Ok(found.map(|it| SecretFinding::new(place.to_owned(), it)).collect())
}

/// The guard's own words name the place, which may hold a secret.
fn unscanned(n_bytes: usize) -> Refusal {
    Refusal::Unscanned { why: format!("the guard refuses a text of {n_bytes} bytes") }
}

/// The guard of `flyto-security` with the values of variables whose names look secret, so that a
/// pasted live key is found in any form, and these rules, which were read before.
fn default_guard(rules: &[Arc<str>], env: &Environment) -> flyto_security::Builder {
    let variables =
        env.iter().filter_map(|(name, value)| Some((name.to_str()?, value.as_encoded_bytes())));
    let guard = DefaultGuard::builder().env_values(variables);
    rules.iter().fold(guard, |guard, text| {
        guard.gitleaks_toml(text).expect("`Builder::secret_rules` took them")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn literal_parts_are_joined_as_a_composite_joins_them() {
        let value = json!({"steps": [{"with": {
            "a": {"$concat": ["gh", "p_", {"$concat": ["x", 1]}, {"$ref": "/input/a"}, "end"]},
            "b": ["not", "joined"],
            "c": {"$concat": ["a", {"$default": [{"$ref": "/input/a"}, "b"]}]},
        }}]});
        let mut res = Vec::new();
        collect_joined(&value, &mut Pointer::root(), &mut res);
        let parts: Vec<_> = res.iter().map(Looked::parts).collect();
        let (of_a, of_x) = ("/steps/0/with/a", "/steps/0/with/a/$concat/2");
        let expected = [
            (of_a, "ghp_x1"),
            (of_a, "end"),
            (of_a, "ghp_x1end"),
            (of_x, "x1"),
            (of_x, "x1"),
            ("/steps/0/with/c", "ab"),
            ("/steps/0/with/c", "ab"),
        ];
        assert_eq!(parts, expected);
    }
}
