//! The keywords of which the work grows with schema and value alike, checked under a budget.
//!
//! `pattern` and `enum` are the only keywords whose work no count of the schema or the value alone
//! can bound: text times automaton, and value times number of constants. Both take steps from the
//! [`budget`] before they begin, and answer "no" once there are none left; the caller then knows
//! that the verdict means nothing.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hash as _, Hasher as _, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::{Keyword, ValidationError, ValidationOptions, paths::Location};
use serde_json::{Map, Value};

use super::Nothing;
use super::budget;
use super::pattern::{Pattern, Patterns};

/// The JSON pointer to a pattern that cannot be used.
///
/// The compiler's own error does not name the place.
pub(super) type BadPattern = Arc<Mutex<Option<String>>>;

/// What a schema is compiled with. A pattern that cannot be used is told in `bad`.
pub(super) fn options(patterns: &Patterns, bad: &BadPattern) -> ValidationOptions<'static> {
    let (shared, bad) = (patterns.clone(), Arc::clone(bad));
    jsonschema::options()
        .with_retriever(Nothing)
        .with_pattern_options(patterns.options())
        .with_keyword("pattern", move |_, rule, place| pattern(rule, &place, &shared, &bad))
        .with_keyword("enum", |_, rule, place| constants(rule, &place))
}

/// What the library asks of a keyword: its checker, or an error at its place.
type Compiled<'a> = Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'a>>;

/// The same text is compiled once for a schema.
fn pattern<'a>(
    rule: &'a Value,
    place: &Location,
    patterns: &Patterns,
    bad: &BadPattern,
) -> Compiled<'a> {
    match rule.as_str().and_then(|it| patterns.get(it).ok()) {
        Some(pattern) => Ok(Box::new(OfPattern { pattern, place: place.as_str().into() })),
        None => {
            *bad.lock().unwrap_or_else(PoisonError::into_inner) = Some(place.as_str().to_owned());
            Err(ValidationError::custom("the pattern cannot be used"))
        }
    }
}

/// Compiling costs one hash for each constant, a check one hash of the value and the comparisons
/// with those of the same hash.
fn constants<'a>(rule: &'a Value, place: &Location) -> Compiled<'a> {
    let Value::Array(values) = rule else {
        return Err(ValidationError::custom("the values are no array"));
    };
    let state = RandomState::new();
    let mut by_hash: HashMap<u64, Vec<Value>> = HashMap::with_capacity(values.len());
    for value in values {
        by_hash.entry(hash(&state, value)).or_default().push(value.clone());
    }
    Ok(Box::new(Constants { by_hash, state, place: place.as_str().into() }))
}

/// The keyword `pattern`.
///
/// Values that are no text fit.
struct OfPattern {
    pattern: Arc<Pattern>,
    place: Arc<str>,
}

impl<'i> Keyword<'i> for OfPattern {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        verdict(self.is_valid(instance))
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        instance.as_str().is_none_or(|it| {
            budget::spend_at(&self.place, instance, self.pattern.steps(it))
                && self.pattern.is_match(it)
        })
    }
}

/// The keyword `enum`.
///
/// Hashes are seeded at random, so that no author of a schema can make them collide.
struct Constants {
    by_hash: HashMap<u64, Vec<Value>>,
    state: RandomState,
    place: Arc<str>,
}

impl<'i> Keyword<'i> for Constants {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        verdict(self.is_valid(instance))
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        budget::spend_at(&self.place, instance, size(instance))
            && self
                .by_hash
                .get(&hash(&self.state, instance))
                .is_some_and(|it| it.iter().any(|it| is_equal(it, instance)))
    }
}

/// The error has no words: [`explain`](super::explain) finds them.
fn verdict(fits: bool) -> Result<(), ValidationError<'static>> {
    if fits { Ok(()) } else { Err(ValidationError::custom("the value does not fit")) }
}

/// Values and bytes of text in a value.
pub(super) fn size(value: &Value) -> u64 {
    let mut size = 0_u64;
    let mut todo = vec![value];
    while let Some(value) = todo.pop() {
        size += 1;
        match value {
            Value::String(it) => size += it.len() as u64,
            Value::Array(items) => todo.extend(items),
            Value::Object(map) => {
                size += map.keys().map(|it| it.len() as u64).sum::<u64>();
                todo.extend(map.values());
            }
            _ => {}
        }
    }
    size
}

/// The same for values that [`is_equal`] takes for the same.
fn hash(state: &RandomState, value: &Value) -> u64 {
    let mut hasher = state.build_hasher();
    match value {
        Value::Null => 0_u8.hash(&mut hasher),
        Value::Bool(it) => (1_u8, it).hash(&mut hasher),
        // Adding zero makes one of both zeros.
        Value::Number(it) => (2_u8, it.as_f64().map(|it| (it + 0.0).to_bits())).hash(&mut hasher),
        Value::String(it) => (3_u8, it).hash(&mut hasher),
        Value::Array(items) => {
            4_u8.hash(&mut hasher);
            items.iter().for_each(|it| hasher.write_u64(hash(state, it)));
        }
        Value::Object(map) => {
            let entries = map.iter().map(|(key, it)| state.hash_one((key, hash(state, it))));
            (5_u8, entries.fold(0, u64::wrapping_add)).hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// Whether two values are the same to JSON Schema: numbers by what they are worth, objects in any
/// order.
pub(super) fn is_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => match (left.as_i128(), right.as_i128()) {
            (Some(left), Some(right)) => left == right,
            (Some(whole), None) => is_whole(right, whole),
            (None, Some(whole)) => is_whole(left, whole),
            (None, None) => left.as_f64() == right.as_f64(),
        },
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(a, b)| is_equal(a, b))
        }
        (Value::Object(left), Value::Object(right)) => is_equal_map(left, right),
        _ => left == right,
    }
}

/// The order of the keys does not matter.
fn is_equal_map(left: &Map<String, Value>, right: &Map<String, Value>) -> bool {
    left.len() == right.len()
        && left.iter().all(|(key, a)| right.get(key).is_some_and(|b| is_equal(a, b)))
}

/// Whether a number that was written with a fraction or an exponent is worth `whole`.
fn is_whole(number: &serde_json::Number, whole: i128) -> bool {
    number.as_f64().is_some_and(|it| it.fract() == 0.0 && it as i128 == whole)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn constants_compare_as_json_schema_says() {
        let state = RandomState::new();
        for (left, right, expected) in [
            (json!(1), json!(1.0), true),
            (json!(0), json!(-0.0), true),
            (json!(1), json!("1"), false),
            (json!({"a": 1, "b": [2]}), json!({"b": [2.0], "a": 1}), true),
            (json!([1, 2]), json!([2, 1]), false),
            (json!(u64::MAX), json!(18_446_744_073_709_551_615.0), false),
            (json!(null), json!(false), false),
        ] {
            assert_eq!(is_equal(&left, &right), expected, "{left} {right}");
            if expected {
                assert_eq!(hash(&state, &left), hash(&state, &right), "{left} {right}");
            }
        }
    }
}
