//! Output schemas that every client of the Model Context Protocol can compile.
//!
//! Clients compile the output schemas of a tool list to check results. The official TypeScript SDK does so for the whole list at
//! once, so that one schema that its validator refuses costs every tool of the server. Validators differ in their dialect, in
//! their keywords and in their regular expressions, so what is checked here is a list of what is known to mean the same in all of
//! them: a keyword that is not on it is unportable. Keys that are no keywords are left out of what is [sent].
//!
//! Measured against: Ajv 8 in the TypeScript SDK 1.x (the class for draft 7, `strict: false`, `validateSchema: false`) and in 2.x
//! (the class for the dialect that is named), and `jsonschema` in the Python SDK.

mod pattern;
mod sent;

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Map, Value};

pub(super) use self::sent::sent;

/// A part of an output schema for which some clients would lose the whole list, or would refuse results that fit.
///
/// ```
/// use flyto_tools::export::{UnportableKind, check_output};
/// use serde_json::json;
///
/// let err = check_output(&json!({"properties": {"id": {"pattern": "^(?i)[a-z]+$"}}})).unwrap_err();
/// assert_eq!((err.pointer.as_str(), err.why), ("/properties/id/pattern", UnportableKind::Pattern));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at {pointer}: {why}")]
#[non_exhaustive]
pub struct Unportable {
    /// JSON pointer to the part; empty for the whole.
    pub pointer: String,
    /// What clients read in different ways.
    pub why: UnportableKind,
}

/// What clients read in different ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum UnportableKind {
    /// A keyword that some validators refuse, or take for something else.
    #[error("not every validator of JSON Schema reads this keyword alike")]
    Keyword,
    /// A keyword with a value that some validators refuse.
    #[error("not every validator of JSON Schema takes this value")]
    Value,
    /// A regular expression that is none in JavaScript (with the flag `u`) or in Python.
    #[error("the pattern is not read alike in JavaScript and in Python")]
    Pattern,
    /// A reference to anything but a schema in the same document, by a pointer.
    #[error("the reference is no pointer to a schema in the same document")]
    Reference,
    /// More parts than every validator can compile: more than 128 references in the document, which are compiled within each
    /// other, or more than 512 schemas in one list.
    #[error("not every validator can compile as many")]
    Size,
    /// A `$schema` other than the drafts 6, 7, 2019-09 and 2020-12.
    #[error("clients know the drafts 6, 7, 2019-09 and 2020-12 only")]
    Dialect,
}

/// What a keyword takes.
#[derive(Clone, Copy, PartialEq)]
enum Takes {
    /// A schema.
    Schema,
    /// An array of schemas, not empty.
    SchemaList,
    /// An object of schemas.
    SchemaMap,
    /// An object of schemas whose names are patterns.
    PatternMap,
    /// A pattern.
    Pattern,
    /// The pointer to a schema.
    Reference,
    /// The address of a dialect.
    Dialect,
    /// A name of a type, or an array of them that is not empty.
    Type,
    /// An array of strings.
    Names,
    /// An object of such arrays.
    NamesMap,
    /// A string.
    Text,
    /// A number.
    Number,
    /// A whole number, 0 or above.
    Count,
    /// A truth value.
    Flag,
    /// An array of any values, not empty.
    Values,
    /// Any value, which is never searched for schemas.
    Value,
    /// What asserts nothing. Ajv searches it for addresses of schemas.
    Remark,
}

/// What the keywords take that are portable. [`is_loose`] has those among them that some validators do not know.
fn takes(keyword: &str) -> Option<Takes> {
    Some(match keyword {
        "additionalProperties"
        | "contains"
        | "contentSchema"
        | "else"
        | "if"
        | "items"
        | "not"
        | "propertyNames"
        | "then"
        | "unevaluatedItems"
        | "unevaluatedProperties" => Takes::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Takes::SchemaList,
        "$defs" | "definitions" | "dependentSchemas" | "properties" => Takes::SchemaMap,
        "patternProperties" => Takes::PatternMap,
        "pattern" => Takes::Pattern,
        "$ref" => Takes::Reference,
        "$schema" => Takes::Dialect,
        "type" => Takes::Type,
        "required" => Takes::Names,
        "dependentRequired" => Takes::NamesMap,
        "format" => Takes::Text,
        "exclusiveMaximum" | "exclusiveMinimum" | "maximum" | "minimum" | "multipleOf" => {
            Takes::Number
        }
        "maxItems" | "maxLength" | "maxProperties" | "minItems" | "minLength" | "minProperties" => {
            Takes::Count
        }
        "uniqueItems" => Takes::Flag,
        "enum" => Takes::Values,
        "const" | "default" => Takes::Value,
        "$comment" | "contentEncoding" | "contentMediaType" | "deprecated" | "description"
        | "discriminator" | "example" | "examples" | "readOnly" | "title" | "writeOnly" => {
            Takes::Remark
        }
        _ if keyword.starts_with("x-") => Takes::Remark,
        _ => return None,
    })
}

/// Whether a validator for draft 7 lets more values pass than this keyword does. That is harmless where more values that pass the
/// part are more that pass the whole.
fn is_loose(keyword: &str) -> bool {
    matches!(
        keyword,
        "dependentRequired"
            | "dependentSchemas"
            | "prefixItems"
            | "unevaluatedItems"
            | "unevaluatedProperties"
    )
}

/// Whether this keyword may refuse a value because a part lets it pass.
fn is_inverting(keyword: &str) -> bool {
    matches!(keyword, "if" | "not" | "oneOf")
}

/// The most references of a document. Ajv compiles each within the one that leads to it, and has no stack for 300.
const MAX_REFERENCES: usize = 128;
/// The most schemas of one `anyOf`, `oneOf`, `allOf` or `prefixItems`. Ajv nests the code of each, and has no stack for 2,000.
const MAX_LISTED: usize = 512;

/// Whether every client can compile an output schema as it is sent, and takes results that fit it. A tool with another schema
/// is offered without it.
///
/// What says nothing about a result is not sent: keys that are no keywords of JSON Schema, and the `$id` of the whole. A
/// tuple is sent as `prefixItems`, without what is for the elements behind it.
///
/// # Errors
///
/// The first part that is not portable. In a tuple of the drafts 6 and 7 its pointer goes through `prefixItems`.
pub fn check_output(schema: &Value) -> Result<(), Unportable> {
    check_sent(&sent(schema))
}

/// The same for a schema as it is [sent].
pub(super) fn check_sent(schema: &Value) -> Result<(), Unportable> {
    let mut document =
        Document { root: schema, schemas: HashSet::new(), is_inverted: false, n_references: 0 };
    document.find(schema);
    document.check(schema)
}

/// A schema with what must be known of the whole to judge a part.
struct Document<'s> {
    root: &'s Value,
    /// The addresses of the objects in it that are schemas: where a reference may lead.
    schemas: HashSet<*const Value>,
    /// Whether there is a keyword that [inverts](is_inverting). References may lead from it to any part.
    is_inverted: bool,
    /// How many references there are.
    n_references: usize,
}

impl<'s> Document<'s> {
    fn find(&mut self, schema: &'s Value) {
        self.schemas.insert(schema);
        for (keyword, value) in schema.as_object().into_iter().flatten() {
            self.is_inverted |= is_inverting(keyword);
            self.n_references += usize::from(keyword == "$ref");
            let parts = takes(keyword).map(|it| parts(it, value)).unwrap_or_default();
            parts.into_iter().for_each(|(_, part)| self.find(part));
        }
    }

    fn check(&self, schema: &'s Value) -> Result<(), Unportable> {
        let members = match schema {
            Value::Bool(_) => return Ok(()),
            Value::Object(members) => members,
            _ => return Err(Unportable::here(UnportableKind::Value)),
        };
        for (keyword, value) in members {
            self.check_keyword(keyword, value, members).map_err(|err| err.below(keyword))?;
        }
        Ok(())
    }

    fn check_keyword(
        &self,
        keyword: &str,
        value: &'s Value,
        beside: &Map<String, Value>,
    ) -> Result<(), Unportable> {
        // Up to 2019-09, `items` is for all items, also those that `prefixItems` describes.
        let is_other = keyword == "items" && beside.contains_key("prefixItems");
        let takes = takes(keyword).filter(|_| !is_other);
        let takes = takes.filter(|_| !(self.is_inverted && is_loose(keyword)));
        let takes = takes.ok_or_else(|| Unportable::here(UnportableKind::Keyword))?;
        let is_long = value.as_array().is_some_and(|it| it.len() > MAX_LISTED);
        if takes == Takes::SchemaList && is_long
            || takes == Takes::Reference && self.n_references > MAX_REFERENCES
        {
            return Err(Unportable::here(UnportableKind::Size));
        }
        if let Some(why) = self.fault(takes, value) {
            return Err(Unportable::here(why));
        }
        for (name, part) in parts(takes, value) {
            let is_readable = takes != Takes::PatternMap || pattern::is_portable(&name);
            let verdict = match is_readable {
                true => self.check(part),
                false => Err(Unportable::here(UnportableKind::Pattern)),
            };
            // A single schema has no name in its keyword.
            verdict.map_err(|err| if takes == Takes::Schema { err } else { err.below(&name) })?;
        }
        Ok(())
    }

    /// What is wrong with the value of a keyword, but for the schemas in it.
    fn fault(&self, takes: Takes, value: &Value) -> Option<UnportableKind> {
        let text = value.as_str();
        let is_filled = value.as_array().is_some_and(|it| !it.is_empty());
        let (fits, why) = match takes {
            Takes::Pattern => (text.is_some_and(pattern::is_portable), UnportableKind::Pattern),
            Takes::Reference => {
                (text.is_some_and(|it| self.leads_to_schema(it)), UnportableKind::Reference)
            }
            Takes::Dialect => (text.is_some_and(is_known_dialect), UnportableKind::Dialect),
            other => (
                match other {
                    Takes::Schema | Takes::Value => true,
                    Takes::SchemaList | Takes::Values => is_filled,
                    Takes::SchemaMap | Takes::PatternMap => value.is_object(),
                    Takes::Type => is_type(value) || is_filled && all(value, is_type),
                    Takes::Names => all(value, Value::is_string),
                    Takes::NamesMap => value
                        .as_object()
                        .is_some_and(|it| it.values().all(|it| all(it, Value::is_string))),
                    Takes::Text => text.is_some(),
                    Takes::Number => value.is_number(),
                    Takes::Count => value.as_f64().is_some_and(|it| it >= 0.0 && it.fract() == 0.0),
                    Takes::Flag => value.is_boolean(),
                    _ => is_inert(value),
                },
                UnportableKind::Value,
            ),
        };
        (!fits).then_some(why)
    }

    /// Whether a reference is the pointer to a schema. Escapes of addresses are not read alike.
    fn leads_to_schema(&self, reference: &str) -> bool {
        let pointer = reference.strip_prefix('#').filter(|it| !it.contains('%'));
        let target = pointer.and_then(|it| self.root.pointer(it));
        target.is_some_and(|it| self.schemas.contains(&std::ptr::from_ref(it)))
    }
}

impl Unportable {
    /// At the root of what is checked.
    const fn here(why: UnportableKind) -> Self {
        Self { pointer: String::new(), why }
    }

    /// The same, as it is seen from the object or array around.
    fn below(mut self, name: &str) -> Self {
        let name = name.replace('~', "~0").replace('/', "~1");
        self.pointer.insert_str(0, &format!("/{name}"));
        self
    }
}

/// The schemas in the value of a keyword, with their names in it.
fn parts(takes: Takes, value: &Value) -> Vec<(Cow<'_, str>, &Value)> {
    match (takes, value) {
        (Takes::Schema, part) => vec![("".into(), part)],
        (Takes::SchemaList, Value::Array(parts)) => {
            parts.iter().enumerate().map(|(nth, it)| (nth.to_string().into(), it)).collect()
        }
        (Takes::SchemaMap | Takes::PatternMap, Value::Object(parts)) => {
            parts.iter().map(|(name, it)| (name.into(), it)).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether it is an array of such elements.
fn all(value: &Value, is_such: fn(&Value) -> bool) -> bool {
    value.as_array().is_some_and(|it| it.iter().all(is_such))
}

fn is_type(value: &Value) -> bool {
    let types = ["array", "boolean", "integer", "null", "number", "object", "string"];
    value.as_str().is_some_and(|it| types.contains(&it))
}

/// Whether clients know a `$schema`.
fn is_known_dialect(address: &str) -> bool {
    let known =
        ["draft-06/schema", "draft-07/schema", "draft/2019-09/schema", "draft/2020-12/schema"];
    dialect(address).is_some_and(|it| known.contains(&it))
}

/// The path of a published dialect.
fn dialect(address: &str) -> Option<&str> {
    let address = address.strip_suffix('#').unwrap_or(address);
    let path = address.strip_prefix("http").map(|it| it.strip_prefix('s').unwrap_or(it));
    path?.strip_prefix("://json-schema.org/")
}

/// Whether a remark has no key that Ajv takes for the address of a schema.
fn is_inert(remark: &Value) -> bool {
    match remark {
        Value::Object(members) => {
            members.iter().all(|(key, it)| !key.starts_with('$') && is_inert(it))
        }
        Value::Array(elements) => elements.iter().all(is_inert),
        _ => true,
    }
}

#[cfg(test)]
mod tests;
