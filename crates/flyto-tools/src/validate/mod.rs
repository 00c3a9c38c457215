//! Checking input, and structured output, against JSON Schemas.
//!
//! A schema is compiled once, and nothing that it refers to is ever fetched: a reference leads to
//! another place in the same schema, or to one of the published dialects, or is an error. Both
//! schema and value may come from somebody who wishes no good: patterns are matched in linear time,
//! and work that would grow without measure is refused, at [`compile`] or at
//! [`Validator::check`].

use std::fmt;
use std::sync::Arc;

use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use bounds::Cost;

mod bounds;
mod explain;
#[cfg(test)]
mod hostile_tests;
mod show;
#[cfg(test)]
mod tests;
mod validated;
mod words;

pub use validated::{InvalidSchema, SchemaRole, Validated, validated};

/// A compiled schema. Cloning is cheap.
///
/// ```
/// use serde_json::json;
///
/// let validator = flyto_tools::compile(&json!({
///     "type": "object",
///     "properties": {"count": {"type": "integer", "minimum": 1}},
///     "required": ["count"],
/// }))?;
/// assert!(validator.check(&json!({"count": 3})).is_ok());
///
/// let err = validator.check(&json!({"count": "3"})).unwrap_err();
/// assert_eq!(err.to_string(), r#"/count: expected an integer, got the string "3""#);
/// # Ok::<(), flyto_tools::SchemaError>(())
/// ```
#[derive(Clone)]
pub struct Validator(Arc<Compiled>);

struct Compiled {
    schema: Value,
    checker: jsonschema::Validator,
    cost: Cost,
}

/// A schema that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to use the schema: at {}: {why}", show::pointer(pointer))]
#[non_exhaustive]
pub struct SchemaError {
    /// JSON pointer to the place in the schema; empty for the whole.
    pub pointer: String,
    /// What is wrong.
    pub kind: SchemaErrorKind,
    /// The same for people.
    pub why: String,
}

/// What is wrong with a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SchemaErrorKind {
    /// A keyword has a value that it cannot have.
    Invalid,
    /// `$schema` names no known dialect. Known are the drafts 4, 6, 7, 2019-09 and 2020-12.
    UnknownDialect,
    /// A reference leads nowhere, or out of the schema: nothing is fetched.
    Reference,
    /// A regular expression is none, is very large, or uses look-around or back-references, which
    /// cannot be matched in linear time.
    Pattern,
    /// The schema leads back to itself without going into the value.
    Circular,
    /// Checking against it could take time or stack without measure.
    TooLarge,
}

/// Places where a value does not fit its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violations {
    /// The first of them, at most [`Violations::MAX_SHOWN`] and at least one.
    pub shown: Vec<Violation>,
    /// How many more there are. The search for them ends after a while, so it may be a few more
    /// than that in a value where everything is wrong.
    pub n_more: usize,
}

/// One place where a value does not fit its schema.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize)]
#[non_exhaustive]
pub struct Violation {
    /// JSON pointer to the place in the value; empty for the whole. A property that is missing has
    /// the pointer that it would have.
    pub pointer: String,
    /// What the schema expects there: `an integer`.
    pub expected: String,
    /// What came: `the string "3"`.
    pub got: String,
}

impl Violations {
    /// Most places that are told one by one.
    pub const MAX_SHOWN: usize = 8;

    fn one(violation: Violation) -> Self {
        Self { shown: vec![violation], n_more: 0 }
    }
}

impl std::error::Error for Violations {}

/// One line, with semicolons between the places.
impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, violation) in self.shown.iter().enumerate() {
            let separator = if nth == 0 { "" } else { "; " };
            write!(f, "{separator}{violation}")?;
        }
        if self.n_more > 0 { write!(f, "; and {} more", self.n_more) } else { Ok(()) }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pointer, expected, got } = self;
        write!(f, "{}: expected {expected}, got {got}", show::pointer(pointer))
    }
}

/// Levels of a value. serde_json reads 128; deeper ones are built by hand.
const MAX_DEPTH: u64 = 128;
/// Subschemas inside of each other for one value, times levels of the value. In a build without
/// optimisation, a thread with 2 MiB of stack stands more than twice as many.
const MAX_STACK: u64 = 2_500;
/// Looks at all values of an input together, some seconds in the worst of cases.
const MAX_WORK: u64 = 100_000_000;

/// Compiles a schema: JSON Schema 2020-12, or the dialect that its `$schema` names.
///
/// The keyword `format` is checked where the dialect says so, which 2020-12 does not.
///
/// # Errors
///
/// [`SchemaError`] with the place in the schema. Nothing is ever fetched.
pub fn compile(schema: &Value) -> Result<Validator, SchemaError> {
    if !matches!(schema, Value::Object(_) | Value::Bool(_)) {
        return Err(SchemaError {
            pointer: String::new(),
            kind: SchemaErrorKind::Invalid,
            why: format!("a schema is an object, true or false, not {}", show::value(schema)),
        });
    }
    let cost = bounds::cost(schema)?;
    let checker = options().build(schema).map_err(|err| schema_error(schema, &err))?;
    Ok(Validator(Arc::new(Compiled { schema: schema.clone(), checker, cost })))
}

fn options() -> jsonschema::ValidationOptions<'static> {
    jsonschema::options()
        .with_retriever(Nothing)
        .with_pattern_options(jsonschema::PatternOptions::regex().size_limit(MAX_PATTERN_BYTES))
}

/// Size of a compiled pattern: enough for a thousand repetitions of a class of letters; the next
/// power of two takes more than 10 ms to compile.
const MAX_PATTERN_BYTES: usize = 2 << 20;

/// Fetches nothing.
struct Nothing;

impl jsonschema::Retrieve for Nothing {
    fn retrieve(
        &self,
        uri: &jsonschema::Uri<String>,
    ) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("{uri} is not fetched").into())
    }
}

/// Puts an error of the compiler into our words, which name the place and not the machinery.
fn schema_error(schema: &Value, err: &jsonschema::ValidationError<'_>) -> SchemaError {
    if let ValidationErrorKind::Referencing(err) = err.kind() {
        return reference_error(schema, err);
    }
    let pointer = err.instance_path().as_str().to_owned();
    let value = show::value(err.instance());
    let keyword = pointer.rsplit('/').next().unwrap_or_default();
    let (kind, why) = match err.kind() {
        ValidationErrorKind::Format { format } if format == "regex" => (
            SchemaErrorKind::Pattern,
            format!(
                "{value} cannot be used as a pattern: it is none, or very large, or has \
                 look-around or back-references"
            ),
        ),
        _ if keyword == "type" => (
            SchemaErrorKind::Invalid,
            format!(
                "{value} is no type; the types are array, boolean, integer, null, number, object \
                 and string"
            ),
        ),
        _ => (SchemaErrorKind::Invalid, format!("{value} cannot stand here")),
    };
    SchemaError { pointer, kind, why }
}

fn reference_error(schema: &Value, err: &jsonschema::ReferencingError) -> SchemaError {
    use jsonschema::ReferencingError as Cause;
    let place = |is_meant: &dyn Fn(&str) -> bool| {
        bounds::find_reference(schema, is_meant).unwrap_or_default()
    };
    let (pointer, kind, why) = match err {
        Cause::UnknownSpecification { specification } => (
            "/$schema".to_owned(),
            SchemaErrorKind::UnknownDialect,
            format!("{specification:?} is no known dialect of JSON Schema"),
        ),
        Cause::Unretrievable { uri, .. } => (
            place(&|it| {
                uri.ends_with(it.split('#').next().unwrap_or_default()) && !it.starts_with('#')
            }),
            SchemaErrorKind::Reference,
            format!("{uri} is not part of the schema, and nothing is fetched"),
        ),
        Cause::PointerToNowhere { pointer } => (
            place(&|it| it.ends_with(pointer.as_str())),
            SchemaErrorKind::Reference,
            format!("there is nothing at {pointer}"),
        ),
        Cause::NoSuchAnchor { anchor } => (
            place(&|it| it.ends_with(&format!("#{anchor}"))),
            SchemaErrorKind::Reference,
            format!("there is no anchor {anchor}"),
        ),
        err => (
            String::new(),
            SchemaErrorKind::Reference,
            format!("a reference cannot be followed: {err}"),
        ),
    };
    SchemaError { pointer, kind, why }
}

impl Validator {
    /// The schema it was compiled from.
    #[must_use]
    pub fn schema(&self) -> &Value {
        &self.0.schema
    }

    /// Checks a value.
    ///
    /// # Errors
    ///
    /// [`Violations`] with the places where the value does not fit, or with one that says that it
    /// is nested too deeply or too large to be checked against this schema.
    pub fn check(&self, value: &Value) -> Result<(), Violations> {
        self.bound(value)?;
        if self.0.checker.is_valid(value) { Ok(()) } else { Err(explain::explain(self, value)) }
    }

    fn bound(&self, value: &Value) -> Result<(), Violations> {
        let Cost { nesting, visits } = self.0.cost;
        let max_depth = (MAX_STACK / nesting).clamp(1, MAX_DEPTH);
        let max_values = MAX_WORK / visits;
        let mut n_values = 0_u64;
        let mut todo = vec![(value, 0_u64)];
        while let Some((value, depth)) = todo.pop() {
            n_values += 1;
            let too_much = |expected: String, got: &str| {
                let (pointer, got) = (String::new(), got.to_owned());
                Err(Violations::one(Violation { pointer, expected, got }))
            };
            if depth > max_depth {
                let expected = format!("at most {max_depth} levels of nesting for this schema");
                return too_much(expected, "more");
            }
            if n_values > max_values {
                let expected = format!("at most {max_values} values for this schema");
                return too_much(expected, "more");
            }
            match value {
                Value::Array(items) => todo.extend(items.iter().map(|it| (it, depth + 1))),
                Value::Object(map) => todo.extend(map.values().map(|it| (it, depth + 1))),
                _ => {}
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Validator").field("cost", &self.0.cost).finish_non_exhaustive()
    }
}
