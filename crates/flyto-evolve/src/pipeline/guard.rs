//! Looking a definition through for secrets.

use std::sync::Arc;

use flyto_diagnostics::Pointer;
use flyto_execenv::Environment;
use flyto_security::{DefaultGuard, SecretGuard, Tier, redact};
use serde_json::Value;

use super::Refusal;
use crate::{SecretFinding, Store, StoreError, ToolDefinition};

/// The key of a composite under which parts are joined.
const CONCAT: &str = "$concat";

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

    /// The text without what looks like a secret; nothing of a text that cannot be looked through.
    pub(super) fn redacted(
        &self,
        store: &Store,
        env: &Environment,
        text: &str,
    ) -> Result<String, StoreError> {
        let Some(guard) = self.get(store, env)? else { return Ok(text.to_owned()) };
        Ok(match guard.scan("output", text.as_bytes()) {
            Ok(found) => redact(text, &found),
            Err(_) => NOT_SHOWN.to_owned(),
        })
    }
}

/// The value with marks in the place of secrets, in each text and each name of a member.
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
    // Each text by itself, so that lines are told, and the whole, so that parts in several fields are found.
    let whole = def.file_text();
    let further = further.iter().map(|(place, text)| ((*place).to_owned(), text.clone()));
    let mut joined = Vec::new();
    collect_joined(&def.content(), &mut Pointer::root(), &mut joined);
    let texts = def.texts().into_iter().chain(joined).chain(further);
    let texts = texts.chain([(String::new(), whole)]);
    for (pointer, text) in texts {
        let scan = |text: &str| {
            let found = guard.scan(&format!("{file}#{pointer}"), text.as_bytes());
            found.map_err(|_| unscanned(text.len()))
        };
        let found = scan(&text)?;
        if found.is_empty() {
            continue;
        }
        // A name of a member may be the secret itself.
        let shown = redact(&pointer, &scan(&pointer)?);
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
    let acknowledged = store.acknowledgements()?;
    res.retain(|it| !acknowledged.iter().any(|ack| ack.fingerprint == it.found.fingerprint));
    // A digest or an identifier in the whole text is told where it stands.
    res.retain(|it| !it.pointer.is_empty() || it.found.tier > Tier::Note);
    Ok(res)
}

/// The texts that a composite would join of what is written in it: each run of parts of a `$concat` without a reference.
///
/// Each has the pointer of the object with the `$concat`. A `$concat` within another one is a part of it, and is looked at
/// by itself as well.
fn collect_joined(value: &Value, at: &mut Pointer, res: &mut Vec<(String, String)>) {
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
                let mut run = String::new();
                for text in parts.iter().map(literal).chain([None]) {
                    match text {
                        Some(text) => run.push_str(&text),
                        None if run.is_empty() => {}
                        None => res.push((at.as_str().to_owned(), std::mem::take(&mut run))),
                    }
                }
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

/// The text of a part of a `$concat` in which nothing is known at run time only.
fn literal(part: &Value) -> Option<String> {
    match part {
        Value::String(text) => Some(text.clone()),
        Value::Object(members) if members.contains_key(CONCAT) => {
            members[CONCAT].as_array()?.iter().map(literal).collect()
        }
        Value::Array(_) | Value::Object(_) => None,
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
        }}]});
        let mut res = Vec::new();
        collect_joined(&value, &mut Pointer::root(), &mut res);
        let text: Vec<&str> = res.iter().map(|it| it.1.as_str()).collect();
        assert_eq!(text, ["ghp_x1", "end", "x1"]);
        assert!(res.iter().take(2).all(|it| it.0 == "/steps/0/with/a"), "{res:?}");
    }
}
