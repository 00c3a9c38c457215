//! Checking input, and structured output, against JSON Schemas.
//!
//! A schema is compiled once, and nothing that it refers to is ever fetched: a reference leads to
//! another place in the same schema, or to one of the published dialects, or is an error. Both
//! schema and value may come from a hostile author, so work has a bound:
//!
//! - [`compile`] refuses a schema with more than 100,000 values, 500 patterns, 50,000 states of
//!   automata in all patterns together, or a million looks at one value.
//! - [`Validator::check`] refuses a value that is nested too deeply or has too many values for its
//!   schema, and ends after 2,000,000,000 steps: one step is one state for one byte of text.
//! - [`Validated`] counts checks against the deadline of the call. A check of more than 2,000,000
//!   steps runs in a thread of its own, which is abandoned at the deadline and when the call is
//!   cancelled. At most four such threads exist in a process, and at most 64 checks wait for one;
//!   one more is [`ToolErrorKind::Overloaded`](crate::ToolErrorKind::Overloaded).
//!
//! A pattern is one of ECMA-262. Most are matched in linear time. One with look-around or
//! back-references may take time in the square of the text, which counts as so many steps; it
//! cannot be a name in `patternProperties`, where steps are not counted.

use std::fmt;
use std::sync::{Arc, PoisonError};

use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use bounds::Cost;
use budget::{Budget, MAX_STEPS};
use keywords::{BadPattern, options};
use pattern::{Patterns, Unusable};

mod background;
mod bounds;
mod budget;
mod error;
mod explain;
#[cfg(test)]
mod hostile_tests;
mod keywords;
mod pattern;
mod show;
mod survey;
#[cfg(test)]
mod tests;
mod validated;
mod words;

pub use error::{SchemaError, SchemaErrorKind};
pub use validated::{Checked, InvalidSchema, SchemaRole, Validated, validated};

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
    patterns: Patterns,
    cost: Cost,
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
    /// Where the place is a property that the schema does not know: those that it knows. `Display` says
    /// `unknown property; known: …` then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<Vec<String>>,
}

impl Violation {
    fn new(
        pointer: impl Into<String>,
        expected: impl Into<String>,
        got: impl Into<String>,
    ) -> Self {
        Self { pointer: pointer.into(), expected: expected.into(), got: got.into(), known: None }
    }

    /// A property that the schema does not know.
    fn unknown(pointer: String, known: &[&str], value: &Value) -> Self {
        let (expected, got) = ("no property of this name".to_owned(), show::value(value));
        let known = known.iter().map(|it| (*it).to_owned()).collect();
        Self { pointer, expected, got, known: Some(known) }
    }
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
        let Self { pointer, expected, got, known } = self;
        if let Some(known) = known {
            write!(f, "{}: unknown property", show::pointer(pointer))?;
            if !known.is_empty() {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                write!(f, "; known: {}", show::escaped(&show::list(&known, "and")))?;
            }
            return Ok(());
        }
        let (expected, got) = (show::escaped(expected), show::escaped(got));
        write!(f, "{}: expected {expected}, got {got}", show::pointer(pointer))
    }
}

/// Levels of a value. serde_json reads 128; deeper ones are built by hand.
const MAX_DEPTH: u64 = 128;
/// Subschemas inside of each other for one value, times levels of the value. In a build without
/// optimisation, a thread with 2 MiB of stack stands more than twice as many.
const MAX_STACK: u64 = 2_500;
/// Steps of a check that runs in the task of the call: 30 ms in the worst of cases.
const MAX_QUICK_STEPS: u64 = 2_000_000;
/// Steps for compiling the schemas of one file: about a second.
const MAX_STEPS_OF_FILE: u64 = 70_000_000;
/// Looks at all values of an input together: some seconds in the worst of cases.
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
    let (patterns, bad) = (Patterns::new(cost.n_patterns), BadPattern::default());
    let checker = options(&patterns, &bad).build(schema).map_err(|err| {
        let bad = bad.lock().unwrap_or_else(PoisonError::into_inner).take();
        match bad {
            Some(pointer) => pattern_error(schema, pointer, &patterns),
            None => schema_error(schema, &err, &patterns),
        }
    })?;
    Ok(Validator(Arc::new(Compiled { schema: schema.clone(), checker, patterns, cost })))
}

/// Tells of the schemas in one file whether they compile, up to a bound of work.
///
/// A small file can hold thousands of schemas that take long to compile. The first of them are
/// compiled, about a second's work; of those behind, only the size is compared with the bounds of
/// [`compile`], and a call tells the rest.
#[derive(Debug)]
pub struct SchemaChecker {
    steps_left: u64,
}

impl SchemaChecker {
    /// A checker for one file.
    #[must_use]
    pub fn new() -> Self {
        Self { steps_left: MAX_STEPS_OF_FILE }
    }

    /// Checks whether a schema compiles.
    ///
    /// # Errors
    ///
    /// Those of [`compile`].
    pub fn check(&mut self, schema: &Value) -> Result<(), SchemaError> {
        let steps = bounds::cost(schema)?.steps;
        match self.steps_left.checked_sub(steps) {
            Some(left) => {
                self.steps_left = left;
                compile(schema).map(drop)
            }
            None => Ok(()),
        }
    }
}

impl Default for SchemaChecker {
    fn default() -> Self {
        Self::new()
    }
}

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
fn schema_error(
    schema: &Value,
    err: &jsonschema::ValidationError<'_>,
    patterns: &Patterns,
) -> SchemaError {
    if let ValidationErrorKind::Referencing(err) = err.kind() {
        return reference_error(schema, err);
    }
    let pointer = err.instance_path().as_str().to_owned();
    let value = show::value(err.instance());
    let keyword = pointer.rsplit('/').next().unwrap_or_default();
    let (kind, why) = match err.kind() {
        ValidationErrorKind::Format { format } if format == "regex" => {
            return pattern_error(schema, pointer, patterns);
        }
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

fn pattern_error(schema: &Value, pointer: String, patterns: &Patterns) -> SchemaError {
    // The name of a property stands in the pointer itself.
    let (place, name) = pointer.rsplit_once('/').unwrap_or_default();
    let is_name = place.ends_with("/patternProperties");
    let name = Value::String(name.replace("~1", "/").replace("~0", "~"));
    let rule = if is_name { &name } else { schema.pointer(&pointer).unwrap_or(&Value::Null) };
    let why = match rule.as_str().map(|it| patterns.get(it)) {
        None => "it is no text".to_owned(),
        Some(Err(err)) => err.to_string(),
        Some(Ok(_)) if is_name => {
            "it is very large, or has look-around or back-references, which names cannot have"
                .to_owned()
        }
        Some(Ok(_)) => Unusable::TooLarge.to_string(),
    };
    let why = format!("{} cannot be used as a pattern: {why}", show::value(rule));
    SchemaError { pointer, kind: SchemaErrorKind::Pattern, why }
}

fn reference_error(schema: &Value, err: &jsonschema::ReferencingError) -> SchemaError {
    use jsonschema::ReferencingError as Cause;
    let place = |is_meant: &dyn Fn(&str) -> bool| {
        survey::find_reference(schema, is_meant).unwrap_or_default()
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
    /// Takes half a minute in the worst of cases, and nothing interrupts it; [`Validated`] keeps
    /// deadlines.
    ///
    /// # Errors
    ///
    /// [`Violations`] with the places where the value does not fit, or with one that says that it
    /// is nested too deeply or too large to be checked against this schema.
    pub fn check(&self, value: &Value) -> Result<(), Violations> {
        self.check_within(value, &Budget::new(MAX_STEPS))
    }

    /// Checks a value unless that takes long.
    fn check_quickly(&self, value: &Value) -> Option<Result<(), Violations>> {
        match self.bound(value) {
            Err(violations) => Some(Err(violations)),
            Ok(steps) if steps > MAX_QUICK_STEPS => None,
            Ok(_) => {
                let budget = Budget::new(MAX_QUICK_STEPS);
                let verdict = self.check_bounded(value, &budget);
                (!budget.is_spent()).then_some(verdict)
            }
        }
    }

    fn check_within(&self, value: &Value, budget: &Arc<Budget>) -> Result<(), Violations> {
        self.bound(value)?;
        self.check_bounded(value, budget)
    }

    fn check_bounded(&self, value: &Value, budget: &Arc<Budget>) -> Result<(), Violations> {
        budget.during(|| {
            let fits = self.0.checker.is_valid(value);
            if budget.is_spent() {
                let place = budget.place();
                let place = show::pointer(place.as_deref().unwrap_or_default());
                let expected = format!(
                    "less text for the pattern at {place} of the schema, which takes too many steps"
                );
                let pointer = show::pointer_where(value, |it| budget.is_at(it));
                return too_much(pointer.unwrap_or_default(), expected);
            }
            if fits {
                return Ok(());
            }
            budget.limit_to_words();
            Err(explain::explain(self, value))
        })
    }

    /// Compares the size of a value with what can be checked against this schema. Gives the steps of
    /// a check, without those of keywords that count their own.
    fn bound(&self, root: &Value) -> Result<u64, Violations> {
        let Cost { nesting, visits, name_states, .. } = self.0.cost;
        let max_depth = (MAX_STACK / nesting).clamp(1, MAX_DEPTH);
        let max_values = MAX_WORK / visits;
        let max_name_bytes = MAX_STEPS / name_states.max(1) / visits;
        let (mut n_values, mut name_bytes, mut text_bytes) = (0_u64, 0_u64, 0_u64);
        let mut todo = vec![(root, 0_u64)];
        while let Some((value, depth)) = todo.pop() {
            n_values += 1;
            match value {
                Value::Array(items) => todo.extend(items.iter().map(|it| (it, depth + 1))),
                Value::Object(map) => {
                    name_bytes += map.keys().map(|it| it.len() as u64).sum::<u64>();
                    todo.extend(map.values().map(|it| (it, depth + 1)));
                }
                Value::String(text) => text_bytes += text.len() as u64,
                _ => {}
            }
            if depth > max_depth {
                let expected = format!("at most {max_depth} levels of nesting for this schema");
                return too_much(String::new(), expected);
            }
            if n_values > max_values {
                let expected = format!("at most {max_values} values for this schema");
                return too_much(String::new(), expected);
            }
            if name_states > 0 && name_bytes > max_name_bytes {
                let expected = format!(
                    "at most {max_name_bytes} bytes in names of properties for this schema"
                );
                let pointer = show::pointer_to(root, value);
                return too_much(pointer.unwrap_or_default(), expected);
            }
        }
        let looks = n_values * 16 + (text_bytes + name_bytes) / 16;
        let names = name_bytes.saturating_mul(name_states);
        Ok(visits.saturating_mul(looks.saturating_add(names)))
    }
}

fn too_much<T>(pointer: String, expected: String) -> Result<T, Violations> {
    Err(Violations::one(Violation::new(pointer, expected, "more")))
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Validator").field("cost", &self.0.cost).finish_non_exhaustive()
    }
}
