//! Whether a step runs.

use std::cmp::Ordering;

use serde_json::Value;

use super::{
    MAX_VALUE_BYTES,
    value::{Expr, Scope},
};

/// How deep conditions may be nested.
const MAX_DEPTH: usize = 16;
/// The most bytes of values that one condition compares, all of its parts together: 4 MiB.
const MAX_COPIED_BYTES: usize = 4 * MAX_VALUE_BYTES;
/// The most bytes of results that are taken apart for one condition. Each is, once, unless they do not fit beside each other.
const MAX_PARSED_BYTES: usize = 4 * MAX_COPIED_BYTES;

/// A condition over values.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Condition {
    /// There is a value, and it is not null.
    Exists(Expr),
    /// There is a value, and it is none of: null, false, an empty text, list or object.
    NotEmpty(Expr),
    Equals(Expr, Expr),
    /// The first one is in the list that the second one is.
    In(Expr, Expr),
    /// Both are numbers, or both are texts.
    Less(Expr, Expr),
    Not(Box<Condition>),
    All(Vec<Condition>),
    Any(Vec<Condition>),
}

impl Condition {
    /// Reads a condition; `None` after a fault that was told.
    pub(super) fn parse(
        value: &Value,
        at: &str,
        depth: usize,
        fault: &mut dyn FnMut(&str, String, &'static str),
    ) -> Option<Self> {
        const HELP: &str = "write one of `exists`, `not_empty`, `equals` [a, b], `in` [a, list], `less` [a, b], `not`, `all` and \
                            `any`";
        let single = value.as_object().filter(|it| it.len() == 1).and_then(|it| it.iter().next());
        let Some((key, of)) = single.filter(|_| depth <= MAX_DEPTH) else {
            let what =
                format!("a condition is an object with one key, nested {MAX_DEPTH} deep at most");
            fault(at, what, HELP);
            return None;
        };
        let inside = format!("{at}/{key}");
        let two = of.as_array().filter(|it| it.len() == 2);
        Some(match (key.as_str(), of, two) {
            ("exists", of, _) => Self::Exists(Expr::parse(of, &inside, fault)),
            ("not_empty", of, _) => Self::NotEmpty(Expr::parse(of, &inside, fault)),
            ("equals" | "in" | "less", _, Some(two)) => {
                let a = Expr::parse(&two[0], &format!("{inside}/0"), fault);
                let b = Expr::parse(&two[1], &format!("{inside}/1"), fault);
                match key.as_str() {
                    "equals" => Self::Equals(a, b),
                    "in" => Self::In(a, b),
                    _ => Self::Less(a, b),
                }
            }
            ("equals" | "in" | "less", ..) => {
                fault(&inside, format!("{key:?} compares two values"), "write a list of two");
                return None;
            }
            ("not", of, _) => Self::Not(Box::new(Self::parse(of, &inside, depth + 1, fault)?)),
            ("all" | "any", Value::Array(items), _) => {
                let items = items.iter().enumerate();
                let items: Option<Vec<_>> = items
                    .map(|(i, it)| Self::parse(it, &format!("{inside}/{i}"), depth + 1, fault))
                    .collect();
                if key == "all" { Self::All(items?) } else { Self::Any(items?) }
            }
            _ => {
                fault(&inside, format!("there is no condition {key:?} of this shape"), HELP);
                return None;
            }
        })
    }

    /// Visits every value in it, in the written order.
    pub(super) fn each_expr<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        match self {
            Self::Exists(it) | Self::NotEmpty(it) => visit(it),
            Self::Equals(a, b) | Self::In(a, b) | Self::Less(a, b) => {
                visit(a);
                visit(b);
            }
            Self::Not(it) => it.each_expr(visit),
            Self::All(items) | Self::Any(items) => items.iter().for_each(|it| it.each_expr(visit)),
        }
    }

    /// Every reference of which a missing value is an error.
    pub(super) fn each_strict<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        match self {
            Self::Exists(_) | Self::NotEmpty(_) => {}
            Self::Equals(..) | Self::In(..) | Self::Less(..) => self.each_expr(visit),
            Self::Not(it) => it.each_strict(visit),
            Self::All(items) | Self::Any(items) => {
                items.iter().for_each(|it| it.each_strict(visit));
            }
        }
    }

    /// Whether it holds; the error says which values cannot be compared, or that it looks at too much.
    ///
    /// `exists` and `not_empty` take a missing value for "no"; in the other conditions it is an
    /// error with its pointer, so that a mistyped name does not pass for a condition that fails.
    /// `all` and `any` stop at the first part that decides.
    pub(super) fn holds(&self, scope: &Scope) -> Result<bool, String> {
        let n_parsed_before = scope.parsed.n_bytes();
        self.holds_within(&mut Look { scope, left: MAX_COPIED_BYTES, n_parsed_before })
    }

    fn holds_within(&self, look: &mut Look<'_>) -> Result<bool, String> {
        Ok(match self {
            Self::Exists(it) => look.at(it)?.is_ok_and(|it| !it.is_null()),
            Self::NotEmpty(it) => match look.at(it)? {
                Err(_) | Ok(Value::Null) => false,
                Ok(Value::Bool(it)) => it,
                Ok(Value::Number(_)) => true,
                Ok(Value::String(it)) => !it.is_empty(),
                Ok(Value::Array(it)) => !it.is_empty(),
                Ok(Value::Object(it)) => !it.is_empty(),
            },
            Self::Equals(a, b) => same(&look.value(a)?, &look.value(b)?),
            Self::In(a, b) => {
                let (a, b) = (look.value(a)?, look.value(b)?);
                let Value::Array(items) = &b else {
                    return Err("\"in\" looks into a list, and the second value is none".into());
                };
                items.iter().any(|it| same(it, &a))
            }
            Self::Less(a, b) => {
                let (a, b) = (look.value(a)?, look.value(b)?);
                match (&a, &b) {
                    (Value::String(a), Value::String(b)) => a < b,
                    (Value::Number(_), Value::Number(_)) => {
                        compared(&a, &b) == Some(Ordering::Less)
                    }
                    _ => return Err("\"less\" compares two numbers or two texts".into()),
                }
            }
            Self::Not(it) => !it.holds_within(look)?,
            Self::All(items) => {
                for it in items {
                    if !it.holds_within(look)? {
                        return Ok(false);
                    }
                }
                true
            }
            Self::Any(items) => {
                for it in items {
                    if it.holds_within(look)? {
                        return Ok(true);
                    }
                }
                false
            }
        })
    }
}

/// What one condition looks at. It runs at once and hears no deadline, so all that it looks at together is bounded.
struct Look<'a> {
    scope: &'a Scope,
    /// What is left of [`MAX_COPIED_BYTES`].
    left: usize,
    /// Of results of steps, before the condition.
    n_parsed_before: usize,
}

impl Look<'_> {
    /// The inner error is the pointer of a value that is missing.
    fn at(&mut self, expr: &Expr) -> Result<Result<Value, String>, String> {
        let given = self.left.min(MAX_VALUE_BYTES);
        let mut left = given;
        let too_much = || {
            format!(
                "a condition looks at no more than {} MiB of values together: refer to the members that it needs",
                MAX_COPIED_BYTES / (1024 * 1024)
            )
        };
        let found = expr.look_up(self.scope, &mut left).map_err(|why| match given {
            MAX_VALUE_BYTES => why,
            _ => too_much(),
        })?;
        self.left -= given - left;
        match self.scope.parsed.n_bytes() - self.n_parsed_before > MAX_PARSED_BYTES {
            true => Err(too_much()),
            false => Ok(found),
        }
    }

    fn value(&mut self, expr: &Expr) -> Result<Value, String> {
        self.at(expr)?.map_err(|missing| format!("there is no value at {missing:?}"))
    }
}

/// Equality as JSON Schema has it: 1 and 1.0 are the same number.
///
/// Numbers are equal by their value, so `1` equals `1.0`; all other values by type and content, and
/// a text never equals a number.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(_), Value::Number(_)) => compared(a, b) == Some(Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(k, it)| b.get(k).is_some_and(|b| same(it, b)))
        }
        _ => a == b,
    }
}

/// The order of two numbers: integers exactly, also beyond what a float holds and also where one is written as a float; others as
/// floats. A value that is no number has no order here.
fn compared(a: &Value, b: &Value) -> Option<Ordering> {
    /// Far more than 64 bits hold, and less than 128 bits do.
    const TOO_LARGE: f64 = 1e30;
    #[expect(clippy::cast_possible_truncation, reason = "it has no fraction, and is in range")]
    let of_float = |it: f64| (it.fract() == 0.0 && it.abs() < TOO_LARGE).then_some(it as i128);
    let whole = |it: &Value| {
        let integer = it.as_i64().map(i128::from).or(it.as_u64().map(i128::from));
        integer.or_else(|| of_float(it.as_f64()?))
    };
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    #[test]
    fn conditions_compare_values_with_their_types() {
        let input =
            json!({"n": 2, "big": u64::MAX, "text": "b", "list": [1, {"a": 1.0}], "no": null});
        let scope = Scope::new(Arc::new(input));
        let of = |name: &str| json!({"$ref": format!("/input/{name}")});
        for (condition, expected) in [
            (json!({"exists": of("n")}), Ok(true)),
            (json!({"exists": of("no")}), Ok(false)),
            (json!({"exists": of("missing")}), Ok(false)),
            (json!({"not_empty": of("list")}), Ok(true)),
            (json!({"not_empty": of("missing")}), Ok(false)),
            (json!({"equals": [of("n"), 2.0]}), Ok(true)),
            (json!({"equals": [of("n"), "2"]}), Ok(false)),
            (json!({"equals": [9_007_199_254_740_992.0, 9_007_199_254_740_993_u64]}), Ok(false)),
            (json!({"less": [9_007_199_254_740_992.0, 9_007_199_254_740_993_u64]}), Ok(true)),
            (json!({"less": [of("big"), 18_446_744_073_709_551_616.0]}), Ok(true)),
            (json!({"less": [1.5, 2]}), Ok(true)),
            (json!({"equals": [of("missing"), 2]}), Err(())),
            (json!({"in": [{"a": 1}, of("list")]}), Ok(true)),
            (json!({"in": [1, of("n")]}), Err(())),
            (json!({"less": [of("n"), of("big")]}), Ok(true)),
            (json!({"less": [of("big"), of("big")]}), Ok(false)),
            (json!({"less": ["a", of("text")]}), Ok(true)),
            (json!({"less": ["a", 1]}), Err(())),
            (json!({"not": {"exists": of("n")}}), Ok(false)),
            (json!({"all": [{"exists": of("n")}, {"exists": of("no")}]}), Ok(false)),
            (json!({"any": [{"exists": of("no")}, {"exists": of("n")}]}), Ok(true)),
            (json!({"all": []}), Ok(true)),
        ] {
            let parsed =
                Condition::parse(&condition, "", 0, &mut |at, what, _| panic!("{at}: {what}"));
            assert_eq!(parsed.unwrap().holds(&scope).map_err(drop), expected, "{condition}");
        }
    }
    #[test]
    fn a_condition_is_bounded_in_what_it_looks_at() {
        let scope = Scope::new(Arc::new(json!({"text": "x".repeat(100_000), "n": 1})));
        let text = json!({"$ref": "/input/text"});
        let holds = |parts: Vec<Value>| {
            let condition = json!({ "any": parts });
            let parsed =
                Condition::parse(&condition, "", 0, &mut |at, what, _| panic!("{at}: {what}"));
            parsed.unwrap().holds(&scope)
        };
        let unequal = json!({"equals": [text, {"$concat": [text, "y"]}]});
        assert_eq!(holds(vec![unequal.clone(); 10]), Ok(false));
        let why = holds(vec![unequal; 1_000]).unwrap_err();
        let told = "a condition looks at no more than 4 MiB of values together";
        assert!(why.starts_with(told), "{why}");
        assert!(holds(vec![json!({"not": {"exists": text}}); 1_000]).is_err());
        assert_eq!(holds(vec![json!({"equals": [{"$ref": "/input/n"}, 2]}); 10_000]), Ok(false));
    }
}
