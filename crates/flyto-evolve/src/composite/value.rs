//! Values of steps: JSON with references.
//!
//! An object whose only key is `$ref`, `$concat` or `$default` is an expression; `$$ref` is the key `$ref` itself, and
//! likewise for the others. Every other value stands for itself. Evaluation visits each part once and copies no more than
//! the bytes that it is allowed.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value};

use super::{
    MAX_VALUE_BYTES,
    places::{Places, array_index},
    results::{Output, Parsed, StepValue},
};

/// How deep a value of a step may be nested.
const MAX_DEPTH: usize = 64;

/// JSON in which some parts are looked up.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expr {
    Literal(Value),
    Ref(Ref),
    /// Joined as text: strings as they are, other values as compact JSON.
    Concat(Vec<Expr>),
    /// The second one where the first is missing or null.
    Default(Box<Expr>, Box<Expr>),
    Array(Vec<Expr>),
    Object(Vec<(String, Expr)>),
}

/// A JSON Pointer, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ref {
    pub(super) pointer: String,
    pub(super) tokens: Vec<String>,
}

/// What references are looked up in.
///
/// Each step has a scope of its own: values are shared and never changed, so a step sees what was
/// there when it started.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    pub(super) input: Arc<Value>,
    pub(super) steps: BTreeMap<String, Arc<StepValue>>,
    /// What steps of the call looked into.
    pub(super) parsed: Arc<Parsed>,
    /// Where the references of the step lead to.
    pub(super) places: Arc<Places>,
    pub(super) item: Option<(Arc<Value>, usize)>,
}

impl Scope {
    /// The input, before any step.
    pub(super) fn new(input: Arc<Value>) -> Self {
        let (parsed, places) = Default::default();
        Self { input, steps: BTreeMap::new(), parsed, places, item: None }
    }

    /// The same for expressions that are evaluated in it, once or for many items: each result that they refer to is read once
    /// here. `own` is the step that they are of, whose output is different at each call, and so is looked into then.
    pub(super) fn for_all<'a>(
        self,
        exprs: impl Iterator<Item = &'a Expr>,
        own: Option<&str>,
    ) -> Self {
        let mut refs: BTreeMap<&str, BTreeMap<&str, &[String]>> = BTreeMap::new();
        exprs.for_each(|expr| {
            expr.each_ref(&mut |it| {
                let is_output = it.tokens.get(2).is_some_and(|it| it == "output");
                if let Some(id) = it.step().filter(|id| is_output && Some(*id) != own) {
                    refs.entry(id).or_default().insert(&it.pointer, &it.tokens[3..]);
                }
            });
        });
        let places = Arc::new(Places::find(refs, &self.steps, &self.parsed));
        Self { places, ..self }
    }
}

/// The members of a step that a reference may name.
pub(super) const STEP_MEMBERS: [&str; 5] = ["output", "text", "is_error", "status", "truncated"];

impl Ref {
    /// Takes a pointer apart by RFC 6901; `None` where it is none.
    pub(super) fn parse(pointer: &str) -> Option<Self> {
        let rest = pointer.strip_prefix('/')?;
        let tokens = rest.split('/').map(|token| {
            let mut chars = token.chars();
            let mut res = String::new();
            while let Some(it) = chars.next() {
                res.push(match it {
                    '~' => match chars.next()? {
                        '0' => '~',
                        '1' => '/',
                        _ => return None,
                    },
                    other => other,
                });
            }
            Some(res)
        });
        Some(Self { pointer: pointer.to_owned(), tokens: tokens.collect::<Option<_>>()? })
    }

    /// The step that it refers to.
    pub(super) fn step(&self) -> Option<&str> {
        (self.tokens[0] == "steps").then(|| self.tokens.get(1).map(String::as_str))?
    }

    /// Looks at the value, if there is one.
    ///
    /// The value is what the reference names, or `None`: a member that is not there, a position beyond
    /// the end, an item outside of `for_each`, the output of a step that was skipped or failed. No
    /// part of a text is ever reached.
    ///
    /// # Errors
    ///
    /// The output of a step is nested too deep to be looked into.
    pub(super) fn get<T>(
        &self,
        scope: &Scope,
        index: &Value,
        look: impl FnOnce(&Value) -> T,
    ) -> Result<Option<T>, String> {
        let taken_apart;
        let found = match self.tokens[0].as_str() {
            "input" => Some((&*scope.input, 1)),
            "item" => scope.item.as_ref().map(|it| (&*it.0, 1)),
            "index" => Some((index, 1)),
            _ => {
                let step = self.tokens.get(1).and_then(|it| scope.steps.get(it));
                let Some((step, member)) = step.zip(self.tokens.get(2)) else { return Ok(None) };
                let member = match member.as_str() {
                    "output" => match &step.output {
                        None => None,
                        Some(Output::Text) => step.text.as_ref(),
                        Some(_) => match (scope.places.get(&self.pointer), step.json()) {
                            (Some(place), Some(json)) => {
                                let part = place.map(|it| scope.parsed.part(&json[it]));
                                return Ok(part.transpose()?.as_ref().map(look));
                            }
                            _ => {
                                taken_apart = scope.parsed.get(step)?;
                                Some(&*taken_apart)
                            }
                        },
                    },
                    "text" => step.text.as_ref(),
                    "is_error" => Some(&step.is_error),
                    "status" => Some(&step.status),
                    "truncated" => Some(&step.truncated),
                    _ => None,
                };
                member.map(|it| (it, 3))
            }
        };
        let found = found.and_then(|(root, n_tokens)| {
            self.tokens[n_tokens..].iter().try_fold(root, |value, token| match value {
                Value::Object(map) => map.get(token),
                Value::Array(items) => items.get(array_index(token)?),
                _ => None,
            })
        });
        Ok(found.map(look))
    }
}

impl Expr {
    /// Whether the value may be a list; what a reference gives is known at a call only.
    pub(super) fn may_be_list(&self) -> bool {
        match self {
            Self::Literal(value) => value.is_array(),
            Self::Ref(_) | Self::Array(_) => true,
            Self::Default(a, b) => a.may_be_list() || b.may_be_list(),
            Self::Concat(_) | Self::Object(_) => false,
        }
    }

    /// Reads a value; `fault` is told the pointer of what cannot be one, what is wrong, and what to write.
    pub(super) fn parse(
        value: &Value,
        at: &str,
        fault: &mut dyn FnMut(&str, String, &'static str),
    ) -> Self {
        Self::parse_at(value, at, 0, fault)
    }

    /// As [`parse`](Self::parse), at a depth. A part without an expression in it becomes one
    /// literal, so that evaluating it is one copy.
    fn parse_at(
        value: &Value,
        at: &str,
        depth: usize,
        fault: &mut dyn FnMut(&str, String, &'static str),
    ) -> Self {
        if depth > MAX_DEPTH {
            let what = format!("the value is nested more than {MAX_DEPTH} deep");
            fault(at, what, "let a script make it");
            return Self::Literal(Value::Null);
        }
        match value {
            Value::Array(items) => {
                let parsed = items.iter().enumerate();
                let parsed = parsed
                    .map(|(i, it)| Self::parse_at(it, &format!("{at}/{i}"), depth + 1, fault));
                let parsed: Vec<_> = parsed.collect();
                match parsed.iter().all(Self::is_literal) {
                    true => Self::Literal(Value::Array(
                        parsed.into_iter().filter_map(Self::literal).collect(),
                    )),
                    false => Self::Array(parsed),
                }
            }
            Value::Object(map) => {
                if let Some((key, of)) = map.iter().next().filter(|_| map.len() == 1)
                    && key.starts_with('$')
                    && !key.starts_with("$$")
                {
                    return Self::expression(key, of, at, depth, fault);
                }
                let mut parsed = Vec::new();
                for (key, it) in map {
                    let at = format!("{at}/{}", escaped(key));
                    if matches!(key.as_str(), "$ref" | "$concat" | "$default") {
                        let what =
                            format!("{key:?} stands beside other keys, and an expression has one");
                        fault(&at, what, "write `$$` in front where the key itself is meant");
                    }
                    let key = match key.strip_prefix("$$") {
                        Some(rest) => format!("${rest}"),
                        None => key.clone(),
                    };
                    parsed.push((key, Self::parse_at(it, &at, depth + 1, fault)));
                }
                match parsed.iter().all(|it| it.1.is_literal()) {
                    true => {
                        let members = parsed.into_iter();
                        let members = members.filter_map(|(key, it)| Some((key, it.literal()?)));
                        Self::Literal(Value::Object(members.collect()))
                    }
                    false => Self::Object(parsed),
                }
            }
            other => Self::Literal(other.clone()),
        }
    }

    /// An object with one key that begins with a single `$`: an expression, or a fault where there
    /// is none of that name. What could not be read stands as null, which no call sees, since the
    /// fault keeps the declaration from being used.
    fn expression(
        key: &str,
        of: &Value,
        at: &str,
        depth: usize,
        fault: &mut dyn FnMut(&str, String, &'static str),
    ) -> Self {
        let inside = format!("{at}/{key}");
        match (key, of) {
            ("$ref", Value::String(pointer)) => match Ref::parse(pointer) {
                Some(it) => return Self::Ref(it),
                None => fault(
                    &inside,
                    format!("{pointer:?} is no JSON Pointer"),
                    "write one such as \"/input/NAME\" or \"/steps/ID/output\"",
                ),
            },
            ("$concat", Value::Array(items)) => {
                let items = items.iter().enumerate();
                let items = items
                    .map(|(i, it)| Self::parse_at(it, &format!("{inside}/{i}"), depth + 1, fault));
                return Self::Concat(items.collect());
            }
            ("$default", Value::Array(items)) if items.len() == 2 => {
                let mut part = |i: usize| {
                    Self::parse_at(&items[i], &format!("{inside}/{i}"), depth + 1, fault)
                };
                return Self::Default(Box::new(part(0)), Box::new(part(1)));
            }
            ("$ref", _) => fault(&inside, "a reference is a text".into(), "write a JSON Pointer"),
            ("$concat", _) => {
                fault(&inside, "what is joined is a list".into(), "write `{\"$concat\": [a, b]}`");
            }
            ("$default", _) => fault(
                &inside,
                "a default is a list of two: a value, and what stands in for it".into(),
                "write `{\"$default\": [{\"$ref\": \"/steps/ID/output\"}, null]}`",
            ),
            _ => fault(
                at,
                format!("there is no expression {key:?}"),
                "write `$ref`, `$concat` or `$default`, and `$$` in front where the key itself is meant",
            ),
        }
        Self::Literal(Value::Null)
    }

    fn is_literal(&self) -> bool {
        matches!(self, Self::Literal(_))
    }

    fn literal(self) -> Option<Value> {
        match self {
            Self::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// Every reference in it.
    pub(super) fn each_ref<'a>(&'a self, visit: &mut dyn FnMut(&'a Ref)) {
        self.each_ref_with(false, &mut |it, _| visit(it));
    }

    /// Every reference in it, and whether something stands in where its value is missing.
    pub(super) fn each_ref_with<'a>(
        &'a self,
        has_default: bool,
        visit: &mut dyn FnMut(&'a Ref, bool),
    ) {
        match self {
            Self::Literal(_) => {}
            Self::Ref(it) => visit(it, has_default),
            Self::Concat(items) | Self::Array(items) => {
                items.iter().for_each(|it| it.each_ref_with(has_default, visit));
            }
            Self::Default(first, other) => {
                first.each_ref_with(true, visit);
                other.each_ref_with(has_default, visit);
            }
            Self::Object(members) => {
                members.iter().for_each(|it| it.1.each_ref_with(has_default, visit));
            }
        }
    }

    /// The value, of at most [`MAX_VALUE_BYTES`]; the error says what is missing or too large.
    pub(super) fn eval(&self, scope: &Scope) -> Result<Value, String> {
        let missing = |it| format!("there is no value at {it:?}");
        self.look_up(scope, &mut { MAX_VALUE_BYTES })?.map_err(missing)
    }

    /// The same, for a caller that has a bound of its own: what is copied is taken from `left`. The inner error is the
    /// pointer of a value that is missing.
    pub(super) fn look_up(
        &self,
        scope: &Scope,
        left: &mut usize,
    ) -> Result<Result<Value, String>, String> {
        let index = Value::from(scope.item.as_ref().map(|it| it.1));
        self.eval_within(scope, &index, left)
    }

    /// The outer error is a bound; the inner one is the pointer of a value that is missing.
    ///
    /// Every copy is taken from `left`, whichever expression makes it, before it is made.
    fn eval_within(
        &self,
        scope: &Scope,
        index: &Value,
        left: &mut usize,
    ) -> Result<Result<Value, String>, String> {
        let copied = |value: &Value, left: &mut usize| -> Result<Value, String> {
            spend(n_bytes(value), left)?;
            Ok(value.clone())
        };
        Ok(Ok(match self {
            Self::Literal(value) => copied(value, left)?,
            Self::Ref(it) => match it.get(scope, index, |value| copied(value, left))? {
                Some(value) => value?,
                None => return Ok(Err(it.pointer.clone())),
            },
            Self::Default(first, other) => match first.eval_within(scope, index, left)? {
                Ok(value) if !value.is_null() => value,
                _ => return other.eval_within(scope, index, left),
            },
            Self::Concat(items) => {
                let mut text = String::new();
                for it in items {
                    match it.eval_within(scope, index, left)? {
                        Ok(Value::String(part)) => text.push_str(&part),
                        Ok(other) => text.push_str(&other.to_string()),
                        Err(missing) => return Ok(Err(missing)),
                    }
                }
                Value::String(text)
            }
            Self::Array(items) => {
                let mut res = Vec::new();
                for it in items {
                    match it.eval_within(scope, index, left)? {
                        Ok(value) => res.push(value),
                        Err(missing) => return Ok(Err(missing)),
                    }
                }
                Value::Array(res)
            }
            Self::Object(members) => {
                let mut res = Map::new();
                for (key, it) in members {
                    spend(key.len(), left)?;
                    match it.eval_within(scope, index, left)? {
                        Ok(value) => drop(res.insert(key.clone(), value)),
                        Err(missing) => return Ok(Err(missing)),
                    }
                }
                Value::Object(res)
            }
        }))
    }
}

/// Takes from what is left of the bound on a value. References may repeat one large input many
/// times, so what is counted is what is copied.
fn spend(n: usize, left: &mut usize) -> Result<(), String> {
    *left = left
        .checked_sub(n)
        .ok_or_else(|| format!("the value has more than {MAX_VALUE_BYTES} bytes"))?;
    Ok(())
}

/// About how many bytes a value has as JSON.
pub(super) fn n_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 20,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|it| n_bytes(it) + 1).sum::<usize>() + 2,
        Value::Object(map) => {
            map.iter().map(|it| it.0.len() + n_bytes(it.1) + 4).sum::<usize>() + 2
        }
    }
}

/// A name as a token of a JSON Pointer.
pub(super) fn escaped(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn scope(input: Value) -> Scope {
        Scope::new(Arc::new(input))
    }

    fn parsed(value: &Value) -> Expr {
        Expr::parse(value, "", &mut |at, what, _| panic!("{at}: {what}"))
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
                prop::collection::btree_map("[a$~/ é0-9]{0,4}", inner, 0..5)
                    .prop_map(|it| Value::Object(it.into_iter().collect())),
            ]
        })
    }

    /// The value with `$$` where a key begins with `$`.
    fn quoted(value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(quoted).collect(),
            Value::Object(map) => map
                .iter()
                .map(|(key, it)| match key.strip_prefix('$') {
                    Some(rest) => (format!("$${rest}"), quoted(it)),
                    None => (key.clone(), quoted(it)),
                })
                .collect(),
            other => other.clone(),
        }
    }

    /// Every value with its pointer.
    fn places(value: &Value, at: String, res: &mut Vec<(String, Value)>) {
        res.push((at.clone(), value.clone()));
        match value {
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(i, it)| places(it, format!("{at}/{i}"), res));
            }
            Value::Object(map) => {
                map.iter().for_each(|(k, it)| places(it, format!("{at}/{}", escaped(k)), res));
            }
            _ => {}
        }
    }

    proptest! {
        #[test]
        fn a_literal_stands_for_itself(value in json_value()) {
            prop_assert_eq!(parsed(&quoted(&value)).eval(&scope(json!({}))).unwrap(), value);
        }

        #[test]
        fn a_reference_keeps_the_value_and_its_type(input in json_value()) {
            let mut all = Vec::new();
            places(&input, "/input".into(), &mut all);
            let scope = scope(input);
            for (pointer, value) in all {
                let got = parsed(&json!({"a": [{"$ref": pointer}]})).eval(&scope).unwrap();
                prop_assert_eq!(&got["a"][0], &value);
            }
        }

        #[test]
        fn any_text_is_a_pointer_or_none(text in ".{0,20}", input in json_value()) {
            if let Some(it) = Ref::parse(&text) {
                // serde_json reads pointers by the same RFC.
                if it.tokens[0] == "input" && it.tokens.len() > 1 {
                    let rest = &text["/input".len()..];
                    let scope = scope(input);
                    let got = it.get(&scope, &Value::Null, Value::clone).unwrap();
                    prop_assert_eq!(got.as_ref(), scope.input.pointer(rest));
                }
            }
        }
    }

    #[test]
    fn what_is_missing_is_told_or_replaced() {
        let scope = scope(json!({"a": null, "n": 1.50, "list": [1, "x"]}));
        let eval = |value: Value| parsed(&value).eval(&scope);
        assert_eq!(
            eval(json!({"$ref": "/input/b"})).unwrap_err(),
            "there is no value at \"/input/b\""
        );
        assert_eq!(eval(json!({"$default": [{"$ref": "/input/b"}, 7]})).unwrap(), json!(7));
        assert_eq!(eval(json!({"$default": [{"$ref": "/input/a"}, 7]})).unwrap(), json!(7));
        let concat = json!({"$concat": ["n=", {"$ref": "/input/n"}, {"$ref": "/input/list"}]});
        assert_eq!(eval(concat).unwrap(), json!("n=1.5[1,\"x\"]"));
        assert_eq!(
            eval(json!({"$ref": "/input/list/01"})).unwrap_err(),
            "there is no value at \"/input/list/01\""
        );
    }

    #[test]
    fn a_small_text_makes_no_large_value() {
        let scope = scope(json!({"a": "x".repeat(MAX_VALUE_BYTES / 4)}));
        let many: Vec<Value> = (0..5).map(|_| json!({"$ref": "/input/a"})).collect();
        assert!(parsed(&json!(many[..3])).eval(&scope).is_ok());
        for value in [json!(many), json!({"$concat": many})] {
            assert!(parsed(&value).eval(&scope).unwrap_err().contains("more than 1048576 bytes"));
        }
    }
}
