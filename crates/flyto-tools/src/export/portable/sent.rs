//! Output schemas as they are sent: without what says nothing about a result, and with tuples as `prefixItems` alone.
//!
//! What fits a schema fits the schema that is sent. It may take more: a validator for draft 7 does not know `prefixItems`, and
//! would hold all elements to what is for those behind a tuple, so that is not sent. A document with a keyword that inverts is
//! not portable with `prefixItems`, so that no other result is refused for it.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{Takes, dialect, is_inert, parts, takes};

/// Keywords of the drafts 6 to 2020-12 that are not portable, beside those that [`takes`] has. Every other key is none.
const UNPORTABLE: [&str; 10] = [
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$recursiveAnchor",
    "$recursiveRef",
    "$vocabulary",
    "dependencies",
    "maxContains",
    "minContains",
];

/// What becomes of a member of a schema.
#[derive(PartialEq)]
enum Fate {
    /// It is sent, and so are the schemas in it.
    Sent,
    /// It is left out.
    LeftOut,
    /// It is an array for `items`, and is sent as `prefixItems`.
    Tuple,
}

/// The keywords of a tuple in one dialect.
struct TupleForm {
    /// What has the schemas of the first elements.
    first: &'static str,
    /// What has the schema of those behind them.
    rest: &'static str,
}

impl TupleForm {
    /// That of a document; `None` for 2019-09, which generators pass over, and beside `unevaluatedItems`, which may be about
    /// what stands behind a tuple.
    fn of(root: &Value) -> Option<Self> {
        let named = root.get("$schema").map(|it| it.as_str().and_then(dialect));
        let res = match named {
            Some(Some("draft-06/schema" | "draft-07/schema")) => {
                Self { first: "items", rest: "additionalItems" }
            }
            None | Some(Some("draft/2020-12/schema")) => {
                Self { first: "prefixItems", rest: "items" }
            }
            _ => return None,
        };
        (!has_key(root, "unevaluatedItems")).then_some(res)
    }
}

/// A schema that is written as it is sent.
struct Document<'s> {
    root: &'s Value,
    /// What a tuple is in it.
    form: Option<TupleForm>,
}

/// The schema as it is sent; the same where nothing in it is left out or written in another way.
pub(crate) fn sent(root: &Value) -> Cow<'_, Value> {
    let document = Document { root, form: TupleForm::of(root) };
    match document.is_sent_as_it_is(root) {
        true => Cow::Borrowed(root),
        false => Cow::Owned(document.written(root)),
    }
}

impl Document<'_> {
    fn fate(&self, keyword: &str, value: &Value, schema: &Value) -> Fate {
        match keyword {
            _ if self.tuple(schema).is_some_and(|it| it.0.rest == keyword) => Fate::LeftOut,
            "items" if self.tuple(schema).is_some() => Fate::Tuple,
            // It says something beside a tuple only.
            "additionalItems" => Fate::LeftOut,
            // References are pointers, which do not name it.
            "$id" if std::ptr::eq(schema, self.root) => Fate::LeftOut,
            _ => match takes(keyword) {
                Some(Takes::Remark) if !is_inert(value) => Fate::LeftOut,
                None if !UNPORTABLE.contains(&keyword) => Fate::LeftOut,
                _ => Fate::Sent,
            },
        }
    }

    /// The form of a schema's tuple, and its first elements, of which there is one at least.
    fn tuple<'v>(&self, schema: &'v Value) -> Option<(&TupleForm, &'v [Value])> {
        let form = self.form.as_ref()?;
        let is_one = form.first == "prefixItems" || schema.get("prefixItems").is_none();
        let elements = schema.get(form.first).filter(|_| is_one)?.as_array()?;
        (!elements.is_empty()).then_some((form, elements))
    }

    fn is_sent_as_it_is(&self, schema: &Value) -> bool {
        schema.as_object().into_iter().flatten().all(|(keyword, value)| {
            let parts = takes(keyword).map(|it| parts(it, value)).unwrap_or_default();
            self.fate(keyword, value, schema) == Fate::Sent
                && parts.into_iter().all(|(_, part)| self.is_sent_as_it_is(part))
        })
    }

    fn written(&self, schema: &Value) -> Value {
        let Some(members) = schema.as_object() else { return schema.clone() };
        let mut res = Map::new();
        for (keyword, value) in members {
            match self.fate(keyword, value, schema) {
                Fate::LeftOut => {}
                Fate::Tuple => {
                    let elements = self.with_parts(Takes::SchemaList, value);
                    res.insert("prefixItems".to_owned(), elements);
                }
                Fate::Sent => {
                    let value = match takes(keyword) {
                        Some(Takes::Reference) => self.moved(value),
                        Some(takes) => self.with_parts(takes, value),
                        None => value.clone(),
                    };
                    res.insert(keyword.clone(), value);
                }
            }
        }
        if let Some((form, elements)) = self.tuple(schema)
            && members.get(form.rest) == Some(&Value::Bool(false))
        {
            let n = elements.len() as u64;
            let is_bound = |it: &Value| it.as_f64().is_some_and(|it| it <= n as f64);
            if !members.get("maxItems").is_some_and(is_bound) {
                res.insert("maxItems".to_owned(), n.into());
            }
        }
        res.into()
    }

    /// The value of a keyword, with the schemas in it as they are sent.
    fn with_parts(&self, takes: Takes, value: &Value) -> Value {
        match (takes, value) {
            (Takes::Schema, part) => self.written(part),
            (Takes::SchemaList, Value::Array(parts)) => {
                parts.iter().map(|it| self.written(it)).collect()
            }
            (Takes::SchemaMap | Takes::PatternMap, Value::Object(parts)) => {
                parts.iter().map(|(name, it)| (name.clone(), self.written(it))).collect()
            }
            (_, other) => other.clone(),
        }
    }

    /// A reference, through `prefixItems` where it leads into a tuple.
    fn moved(&self, reference: &Value) -> Value {
        let Some(pointer) = reference.as_str().and_then(|it| it.strip_prefix("#/")) else {
            return reference.clone();
        };
        let mut res = String::from("#");
        let mut at = Some(self.root);
        for token in pointer.split('/') {
            let is_tuple = |it: &Value| self.tuple(it).is_some_and(|it| it.0.first == token);
            res.push('/');
            res.push_str(if at.is_some_and(is_tuple) { "prefixItems" } else { token });
            at = at.and_then(|it| it.pointer(&format!("/{token}")));
        }
        res.into()
    }
}

/// Whether an object in a value has this key.
fn has_key(value: &Value, key: &str) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(name, it)| name == key || has_key(it, key)),
        Value::Array(elements) => elements.iter().any(|it| has_key(it, key)),
        _ => false,
    }
}
