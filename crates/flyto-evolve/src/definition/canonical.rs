//! A definition as bytes: what is hashed, and what a file holds.
//!
//! The canonical text leaves out what means the same anyway, so that a definition has one hash however its file was laid
//! out: the order of keys, blanks, escapes, keys with the value that they have without being there. Numbers are written as
//! serde_json does; what is between the quotes of a text is never touched.

use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::{Deserialize, Serialize, Serializer, de};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{Body, DEFAULT_TIMEOUT, Example, ToolDefinition};

/// SHA-256 of what is approved of a definition: its [canonical text](ToolDefinition::canonical_text).
///
/// Written as 64 lowercase hexadecimal digits.
///
/// It names a text, whichever version or store has it: an approval holds for a hash, a call
/// compares it, and an export carries it.
///
/// ```
/// use flyto_evolve::{DefinitionHash, ToolDefinition};
///
/// let hash = ToolDefinition::script("now", "The time.", "date\n").hash();
/// assert_eq!(hash.to_string().parse::<DefinitionHash>()?, hash);
/// assert_eq!(hash.short().len(), 12);
/// assert!("abc".parse::<DefinitionHash>().is_err());
/// # Ok::<(), flyto_evolve::InvalidDefinitionHash>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DefinitionHash([u8; 32]);

/// A text is no [`DefinitionHash`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the hash of a definition is written as 64 lowercase hexadecimal digits")]
pub struct InvalidDefinitionHash;

impl DefinitionHash {
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The first 12 digits, for people. Two texts with the same ones can be made: nothing is decided by them.
    #[must_use]
    pub fn short(&self) -> String {
        self.to_string()[..12].to_owned()
    }

    /// The hash of the text together with those of the run-time tools that its steps call, by name: what an approval of a
    /// composite holds for. Without such tools it is the hash itself.
    #[must_use]
    pub fn with_tools(&self, tools: &BTreeMap<String, DefinitionHash>) -> Self {
        if tools.is_empty() {
            return *self;
        }
        let lines = tools.iter().map(|(name, hash)| format!("\n{name} {hash}"));
        let text: String = std::iter::once(self.to_string()).chain(lines).collect();
        Self::of_bytes(text.as_bytes())
    }

    /// The id of a text that waits for an approval: the name of its tool, and the first 40 digits.
    ///
    /// An approval names a text by it, so two texts with one id must be out of reach also where both are chosen: 160 bits take
    /// 2^80 attempts.
    ///
    /// ```
    /// use flyto_evolve::ToolDefinition;
    ///
    /// let hash = ToolDefinition::script("now", "The time.", "date\n").hash();
    /// assert_eq!(hash.proposal_id("now"), format!("now-{}", &hash.to_string()[..40]));
    /// ```
    #[must_use]
    pub fn proposal_id(&self, name: &str) -> String {
        format!("{name}-{}", &self.to_string()[..40])
    }
}

impl fmt::Display for DefinitionHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for DefinitionHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DefinitionHash({self})")
    }
}

impl FromStr for DefinitionHash {
    type Err = InvalidDefinitionHash;

    fn from_str(text: &str) -> Result<Self, InvalidDefinitionHash> {
        let mut res = [0; 32];
        if text.len() != 64 {
            return Err(InvalidDefinitionHash);
        }
        for (byte, digits) in res.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digit = |it: u8| match it {
                b'0'..=b'9' => Ok(it - b'0'),
                b'a'..=b'f' => Ok(it - b'a' + 10),
                _ => Err(InvalidDefinitionHash),
            };
            *byte = digit(digits[0])? * 16 + digit(digits[1])?;
        }
        Ok(Self(res))
    }
}

impl Serialize for DefinitionHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DefinitionHash {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl ToolDefinition {
    /// What a person approves, as compact JSON: keys in the order of their code points, parts that say what is so
    /// anyway left out. `version`, `created_at` and `created_by` are the store's and no part of it.
    ///
    /// Two definitions that mean the same have the same canonical text.
    ///
    /// ```
    /// use flyto_evolve::{ToolDefinition, parse};
    /// use flyto_diagnostics::Source;
    ///
    /// let def = ToolDefinition::script("now", "The time.", "date\n").with_version(3);
    /// let text = r#"{"script": "date\n", "name": "now", "execution_type": "script", "description": "The time."}"#;
    /// let other = parse(&Source::new("now.json", text)).definition.expect("it is one");
    /// assert_eq!(def.canonical_text(), other.canonical_text());
    /// assert_eq!(def.hash(), other.hash());
    /// ```
    #[must_use]
    pub fn canonical_text(&self) -> String {
        self.content().to_string()
    }

    /// [`DefinitionHash`] of the canonical text.
    #[must_use]
    pub fn hash(&self) -> DefinitionHash {
        DefinitionHash::of_bytes(self.canonical_text().as_bytes())
    }

    /// The definition as a file holds it: every key of the Go layout, in the order of their names, two blanks for each
    /// level, and a newline at the end.
    #[must_use]
    pub fn file_text(&self) -> String {
        let Value::Object(mut map) = self.content() else { return String::new() };
        map.insert("version".into(), self.version.into());
        // The layout has a time always.
        let created_at = if self.created_at.is_empty() { GO_ZERO_TIME } else { &self.created_at };
        map.insert("created_at".into(), created_at.into());
        if !self.created_by.is_empty() {
            map.insert("created_by".into(), self.created_by.as_str().into());
        }
        pretty(&sorted(&Value::Object(map)))
    }

    /// What is approved, with its keys in order.
    pub(crate) fn content(&self) -> Value {
        let mut map = Map::new();
        map.insert("name".into(), self.name.as_str().into());
        map.insert("description".into(), self.description.as_str().into());
        map.insert("input_schema".into(), self.input_schema.clone());
        map.insert("execution_type".into(), self.body.execution_type().into());
        let body = match &self.body {
            Body::Script(text) | Body::Command(text) => text.as_str().into(),
            Body::Composite(value) => value.clone(),
        };
        map.insert(self.body.execution_type().into(), body);
        if self.timeout_seconds != DEFAULT_TIMEOUT.as_secs() {
            map.insert("timeout_seconds".into(), self.timeout_seconds.into());
        }
        if !self.rationale.is_empty() {
            map.insert("rationale".into(), self.rationale.as_str().into());
        }
        if !self.tags.is_empty() {
            map.insert("tags".into(), self.tags.clone().into());
        }
        map.insert("concurrency_safe".into(), self.concurrency_safe.into());
        map.insert("read_only".into(), self.read_only.into());
        if !self.examples.is_empty() {
            let examples: Vec<Value> = self.examples.iter().map(Example::to_value).collect();
            map.insert("examples".into(), examples.into());
        }
        sorted(&Value::Object(map))
    }
}

/// What Go writes for a time that was never set.
pub(super) const GO_ZERO_TIME: &str = "0001-01-01T00:00:00Z";

impl Example {
    fn to_value(&self) -> Value {
        let mut res = json!({ "input": self.input });
        if let Some(output) = &self.output {
            res["output"] = output.as_str().into();
        }
        if !self.contains.is_empty() {
            res["contains"] = self.contains.clone().into();
        }
        if self.is_error {
            res["is_error"] = true.into();
        }
        res
    }
}

/// The value with the keys of all objects in order. What is read is nested 128 deep at most.
pub(crate) fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut members: Vec<_> = map.iter().collect();
            members.sort_by_key(|(key, _)| *key);
            members.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

/// The value as a file holds it.
pub(crate) fn pretty(value: &Value) -> String {
    // `Display` with `#` writes two blanks for each level, as the layout has it.
    format!("{value:#}\n")
}
