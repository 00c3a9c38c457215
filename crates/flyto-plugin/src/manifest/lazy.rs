//! Schemas that become values when they are first used.
//!
//! A host with thousands of tools would otherwise hold a value for each property of each schema,
//! most of them for tools that are never called.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use flyto_diagnostics::{At, Source, Span};
use serde_json::Value;

/// A JSON Schema. Cloning is cheap.
///
/// One that comes from a manifest stays a part of its text until it is first looked at: most
/// tools of most plugins are found and never called. One that comes from a manifest keeps the
/// text of the whole manifest in memory.
///
/// ```
/// use flyto_plugin::Schema;
/// use serde_json::json;
///
/// let schema = Schema::from(json!({"type": "object"}));
/// assert_eq!(schema.value()["type"], "object");
/// assert_eq!(schema, schema.clone());
/// ```
#[derive(Clone)]
pub struct Schema(Arc<Inner>);

struct Inner {
    /// Where the value comes from, if it is not made yet.
    text: Option<(Source, Span)>,
    /// Made once, by the thread that asks first.
    value: OnceLock<Value>,
}

impl Schema {
    /// The schema at a place that was parsed.
    ///
    /// The caller has checked the place: no key occurs twice in it.
    pub(super) fn at(at: At<'_>) -> Self {
        Self::part(at.source(), at.span())
    }

    /// The same, for a part of a text that is a schema.
    pub(super) fn part(source: &Source, span: Span) -> Self {
        let text = Some((source.clone(), span));
        Self(Arc::new(Inner { text, value: OnceLock::new() }))
    }

    /// The schema as a value.
    ///
    /// The first call parses the text of a schema that comes from a manifest; later calls, also
    /// those of clones, give the same value.
    #[must_use]
    pub fn value(&self) -> &Value {
        let Inner { text, value } = &*self.0;
        value.get_or_init(|| {
            let text = text.as_ref().and_then(|(source, span)| source.slice(*span));
            serde_json::from_str(text.unwrap_or("null"))
                .expect("the text was parsed as JSON before")
        })
    }
}

impl From<Value> for Schema {
    fn from(value: Value) -> Self {
        Self(Arc::new(Inner { text: None, value: OnceLock::from(value) }))
    }
}

/// Equal when the values are.
impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.value() == other.value()
    }
}

/// Shows the value.
impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({})", self.value())
    }
}

#[cfg(test)]
mod tests {
    use flyto_diagnostics::json;
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str) {
        let source = Source::new("x", text);
        if let Ok(root) = json::parse(&source) {
            let at = At::root(&source, &root);
            assert_eq!(*Schema::at(at).value(), root.to_json());
            assert_eq!(Schema::at(at), Schema::from(root.to_json()));
        }
    }

    #[test]
    fn the_value_is_the_one_that_was_parsed() {
        check(r#"{"type": "object", "properties": {"é\u00e9\ud83e\udd80": {"maximum": 1.50}}}"#);
        check(
            "[18446744073709551615, -9223372036854775808, 1e300, -0, 123456789012345678901234567890]",
        );
        check(&format!("{}1{}", "[".repeat(120), "]".repeat(120)));
    }

    proptest! {
        #[test]
        fn whatever_is_parsed_becomes_a_value(text in r#"[\[\]{}:,"a0-9 .eE\\u-]{0,24}"#) {
            check(&text);
        }
    }
}
