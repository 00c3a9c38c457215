//! Why a value does not fit.
//!
//! The checker decides; this walk only finds words. It asks the checker about each part of the
//! schema, and goes down where the answer is no. Its steps are counted: where they run out, the
//! places found so far are told, or the part of the schema that the value is known not to fit. An
//! answer that was cut short is never told as one.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::keywords::{self, is_equal, options, size};
use super::pattern::Patterns;
use super::survey::Survey;
use super::words::{UNSURE, can_fail, expectation, measured, part_of_schema, types, words};
use super::{Validator, Violation, Violations, budget, show};

/// Questions to the checker. A hundred thousand would take seconds.
///
/// Each is a check of a part of the value against a part of the schema.
const MAX_QUESTIONS: usize = 2_000;
/// Schemas inside of schemas that the walk goes into, with a margin to the stack of a thread.
const MAX_LEVELS: usize = 96;
/// Violations that are counted before the walk ends.
const MAX_COUNTED: usize = 100;
/// Alternatives of an `anyOf` or `oneOf` that are looked into.
const MAX_ALTERNATIVES: usize = 16;
/// The URI of a schema that has none of its own.
const BASE: &str = "flyto:///schema";

/// Says where `value` does not fit.
///
/// Never empty: where the walk finds no words, the whole value is told. The order is that of the
/// keywords in the schema.
pub(super) fn explain(validator: &Validator, value: &Value) -> Violations {
    let schema = validator.schema();
    let draft = validator.0.checker.draft();
    // References of a schema with an id count from that id.
    let id = schema.get("$id").or_else(|| schema.get("id")).and_then(Value::as_str);
    let base = id.filter(|it| it.contains(':')).map_or(BASE, |it| it.trim_end_matches('#'));
    let registry = jsonschema::Registry::new()
        .draft(draft)
        .retriever(super::Nothing)
        .add(base, draft.create_resource_ref(schema))
        .and_then(jsonschema::RegistryBuilder::prepare);
    let mut found = Vec::new();
    if let Ok(registry) = registry {
        let mut walk = Walk {
            root: schema,
            survey: Survey::unbounded(schema),
            draft,
            base,
            registry: &registry,
            parts: HashMap::new(),
            patterns: validator.0.patterns.clone(),
            part_steps: validator.0.cost.part_steps,
            n_questions: 0,
            found: Vec::new(),
        };
        walk.schema(&Place { schema, pointer: String::new(), level: 0 }, value, "");
        found = walk.found;
    }
    if found.is_empty() {
        found.push(violation("", "a value that fits the schema", value));
    }
    let n_more = found.len().saturating_sub(Violations::MAX_SHOWN);
    found.truncate(Violations::MAX_SHOWN);
    Violations { shown: found, n_more }
}

/// Parts of the schema are compiled when they are first asked about, and kept for the rest of the
/// walk.
struct Walk<'a> {
    root: &'a Value,
    survey: Survey<'a>,
    draft: jsonschema::Draft,
    /// The URI of the schema.
    base: &'a str,
    registry: &'a jsonschema::Registry<'a>,
    /// Compiled parts of the schema, by their pointers.
    parts: HashMap<String, Option<jsonschema::Validator>>,
    patterns: Patterns,
    part_steps: u64,
    /// Asked so far, at most [`MAX_QUESTIONS`].
    n_questions: usize,
    found: Vec<Violation>,
}

/// A subschema that the value at hand does not fit.
///
/// `pointer` leads to it from the root of the schema; `level` counts the schemas that the walk is
/// in.
struct Place<'a> {
    schema: &'a Value,
    pointer: String,
    level: usize,
}

impl<'a> Place<'a> {
    /// The place of a subschema, the given steps further down.
    fn inner(&self, schema: &'a Value, steps: &[&str]) -> Self {
        let pointer = steps.iter().fold(self.pointer.clone(), |at, step| show::join(&at, step));
        Self { schema, pointer, level: self.level + 1 }
    }
}

impl<'a> Walk<'a> {
    /// Goes into a schema that `value`, which stands `at` some place, does not fit.
    ///
    /// Finds at least one violation: where no keyword has words, the expectation of the whole
    /// schema is told.
    fn schema(&mut self, place: &Place<'a>, value: &Value, at: &str) {
        let n_before = self.found.len();
        let mut unasked = Vec::new();
        match place.schema {
            Value::Object(map) if place.level < MAX_LEVELS => {
                unasked = self.keywords(place, map, value, at);
            }
            Value::Bool(false) => self.found.push(violation(at, "nothing", value)),
            _ => {}
        }
        if self.found.len() == n_before {
            self.unevaluated(place, value, at);
        }
        if self.found.len() == n_before {
            let expected = match self.is_spent() {
                true => part_of_schema(&place.pointer, &unasked),
                false => expectation(place.schema),
            };
            self.found.push(violation(at, expected, value));
        }
    }

    /// Finds a property that no part of the schema knows: without it, the value fits.
    fn unevaluated(&mut self, place: &Place<'a>, value: &Value, at: &str) {
        let rule = place.schema.get("unevaluatedProperties");
        let (Some(_), Value::Object(given)) = (rule, value) else { return };
        // Each is asked about with a copy of the others.
        if given.len() > MAX_QUESTIONS {
            return;
        }
        let mut rest = given.clone();
        for (name, part) in given {
            if self.is_spent() {
                return;
            }
            rest.shift_remove(name);
            if !self.fails(place, &Value::Object(rest.clone())) && !self.is_spent() {
                self.found.push(Violation::unknown(show::join(at, name), &[], part));
                return;
            }
        }
    }

    /// Goes through the keywords in the order of the schema. A wrong type is told alone.
    ///
    /// Gives those of which one may be what does not fit, where the steps ran out.
    fn keywords(
        &mut self,
        place: &Place<'a>,
        map: &'a Map<String, Value>,
        value: &Value,
        at: &str,
    ) -> Vec<&'a str> {
        if let Some(kind) = map.get("type")
            && self.alone_fails(map, "type", value)
        {
            // Of what has the wrong type, nothing else is worth saying.
            self.found.push(violation(at, types(kind), value));
            return Vec::new();
        }
        let is_typed = !self.is_spent();
        for (nth, (key, rule)) in map.iter().enumerate() {
            self.keyword(place, map, (key, rule), value, at);
            if self.is_spent() {
                let was_asked = |at: usize, key: &str| match key {
                    "type" => is_typed,
                    _ => at < nth && !UNSURE.contains(&key),
                };
                let keys = map.keys().map(String::as_str).enumerate();
                let keys = keys.filter(|(at, key)| can_fail(key, value) && !was_asked(*at, key));
                return keys.map(|(_, key)| key).collect();
            }
        }
        Vec::new()
    }

    /// Tells what is wrong by one keyword.
    fn keyword(
        &mut self,
        place: &Place<'a>,
        map: &'a Map<String, Value>,
        (key, rule): (&'a str, &'a Value),
        value: &Value,
        at: &str,
    ) {
        match (key, value) {
            ("$ref" | "$dynamicRef", _) => self.reference(place, rule, value, at),
            ("allOf", _) => {
                for (inner, schema) in alternatives(place, key, rule) {
                    if self.fails(&inner, value) {
                        self.schema(&Place { schema, ..inner }, value, at);
                    }
                }
            }
            ("anyOf" | "oneOf", _) => self.choice(place, key, rule, value, at),
            ("not", _) => {
                if !self.fails(&place.inner(rule, &["not"]), value) && !self.is_spent() {
                    let expected = format!("anything but {}", expectation(rule));
                    self.found.push(violation(at, expected, value));
                }
            }
            ("if", _) => {
                let branch =
                    if self.fails(&place.inner(rule, &["if"]), value) { "else" } else { "then" };
                if let Some(schema) = map.get(branch) {
                    self.go(place.inner(schema, &[branch]), value, at);
                }
            }
            ("dependentSchemas" | "dependencies", Value::Object(given)) => {
                for (name, schema) in entries(rule) {
                    if given.contains_key(name) && !schema.is_array() {
                        self.go(place.inner(schema, &[key, name]), value, at);
                    }
                }
                self.dependent(rule, given, at);
            }
            ("dependentRequired", Value::Object(given)) => self.dependent(rule, given, at),
            ("required", Value::Object(given)) => {
                let properties = map.get("properties");
                for name in strings(rule).filter(|it| !given.contains_key(*it)) {
                    let schema = properties.and_then(|it| it.get(name));
                    let expected = schema.map_or("a value".into(), expectation);
                    self.missing(at, name, format!("{expected} (it is required)"));
                }
            }
            ("properties", Value::Object(given)) => {
                for (name, schema) in entries(rule) {
                    if let Some(part) = given.get(name) {
                        let inner = place.inner(schema, &[key, name]);
                        self.go(inner, part, &show::join(at, name));
                    }
                }
            }
            ("patternProperties", Value::Object(given)) => {
                for (pattern, schema) in entries(rule) {
                    for (name, part) in self.matching(given, pattern) {
                        let inner = place.inner(schema, &[key, pattern]);
                        self.go(inner, part, &show::join(at, name));
                    }
                }
            }
            ("additionalProperties", Value::Object(given)) => {
                self.additional(place, map, rule, given, at);
            }
            ("propertyNames", Value::Object(given)) => {
                for name in given.keys() {
                    if self.is_spent() {
                        break;
                    }
                    let name = Value::String(name.clone());
                    if self.fails(&place.inner(rule, &[key]), &name) {
                        let names = expectation(rule);
                        let expected = format!("{names} as the name of each property");
                        self.found.push(violation(at, expected, &name));
                    }
                }
            }
            ("prefixItems" | "items", Value::Array(given)) if rule.is_array() => {
                for (nth, (inner, schema)) in alternatives(place, key, rule).enumerate() {
                    if let Some(part) = given.get(nth) {
                        let inner = Place { schema, ..inner };
                        self.go(inner, part, &show::join(at, &nth.to_string()));
                    }
                }
            }
            ("items" | "additionalItems", Value::Array(given)) => {
                let lead = if key == "items" { "prefixItems" } else { "items" };
                let n_lead = match map.get(lead) {
                    Some(Value::Array(schemas)) => schemas.len(),
                    // Without a list before it, there is nothing additional.
                    _ if key == "additionalItems" => given.len(),
                    _ => 0,
                };
                for (nth, part) in given.iter().enumerate().skip(n_lead) {
                    let inner = place.inner(rule, &[key]);
                    self.go(inner, part, &show::join(at, &nth.to_string()));
                }
            }
            ("contains", Value::Array(given)) => {
                self.contains(&place.inner(rule, &[key]), map, given, at);
            }
            _ => {
                if let Some(expected) = words(key, rule, map)
                    && self.alone_fails(map, key, value)
                {
                    self.found.push(Violation::new(at, expected, measured(key, value)));
                }
            }
        }
    }

    /// Goes into `inner` if the value does not fit it.
    fn go(&mut self, inner: Place<'a>, value: &Value, at: &str) {
        if !self.is_spent() && self.fails(&inner, value) {
            self.schema(&inner, value, at);
        }
    }

    fn reference(&mut self, place: &Place<'a>, rule: &Value, value: &Value, at: &str) {
        let targets = rule.as_str().map(|it| self.survey.targets(it));
        for &schema in targets.iter().flat_map(|it| it.iter()) {
            if let Some(pointer) = show::pointer_to(self.root, schema) {
                self.go(Place { schema, pointer, level: place.level + 1 }, value, at);
            }
        }
    }

    fn contains(&mut self, inner: &Place<'a>, map: &Map<String, Value>, given: &[Value], at: &str) {
        let bound = |key: &str| map.get(key).and_then(Value::as_f64);
        let n_fitting = given.iter().filter(|part| !self.fails(inner, part)).count();
        if self.is_spent() {
            return;
        }
        let (min, max) = (bound("minContains").unwrap_or(1.0), bound("maxContains"));
        let wanted = if (n_fitting as f64) < min {
            format!("at least {}", show::count(&json!(min as u64), "item", "items"))
        } else if max.is_some_and(|max| n_fitting as f64 > max) {
            format!("at most {}", show::count(&json!(max.unwrap_or(0.0) as u64), "item", "items"))
        } else {
            return;
        };
        let expected = format!("{wanted} like {}", expectation(self.resolved(inner.schema)));
        let got = n_fitting.to_string();
        self.found.push(Violation::new(at, expected, got));
    }

    /// Tells what is wrong with the alternative that was meant, if one can be told from the others:
    /// the only one whose type and constants fit.
    fn choice(&mut self, place: &Place<'a>, key: &str, rule: &'a Value, value: &Value, at: &str) {
        let places: Vec<Place<'a>> = alternatives(place, key, rule)
            .map(|(inner, schema)| Place { schema, ..inner })
            .take(MAX_ALTERNATIVES)
            .collect();
        let n_all = rule.as_array().map_or(0, Vec::len);
        let fitting: Vec<String> = (1..)
            .zip(&places)
            .filter(|(_, inner)| !self.fails(inner, value))
            .map(|(nth, _)| nth.to_string())
            .collect();
        if self.is_spent() {
            return;
        }
        if !fitting.is_empty() {
            if key == "oneOf" && fitting.len() > 1 {
                let got = format!("one that fits the alternatives {}", show::list(fitting, "and"));
                let expected = format!("a value that fits exactly one of {n_all} alternatives");
                self.found.push(Violation::new(at, expected, got));
            }
            return;
        }
        let meant: Vec<usize> = (0..places.len())
            .filter(|nth| self.could_be_meant(places[*nth].schema, value))
            .collect();
        if let [only] = meant.as_slice() {
            self.schema(&places[*only], value, at);
            return;
        }
        if self.discriminator(&places, value, at) {
            return;
        }
        let mut expected: Vec<String> = Vec::new();
        for inner in &places {
            let schema = self.resolved(inner.schema);
            let words = expectation(schema);
            let has_type = |it: &Map<String, Value>| it.contains_key("type");
            match schema.as_object().filter(|it| has_type(it)) {
                // To ask for an object where there is one would not help.
                Some(map) if !self.alone_fails(map, "type", value) => {
                    expected = vec![format!("a value that fits one of {n_all} alternatives")];
                    break;
                }
                _ if expected.contains(&words) => {}
                _ => expected.push(words),
            }
        }
        self.found.push(violation(at, show::list(expected, "or"), value));
    }

    /// Whether the type of a value fits a schema, and the constants by which one tells objects
    /// apart.
    fn could_be_meant(&mut self, schema: &'a Value, value: &Value) -> bool {
        let Value::Object(map) = self.resolved(schema) else { return false };
        let own = ["type", "const", "enum"];
        if own.iter().any(|key| map.contains_key(*key) && self.alone_fails(map, key, value)) {
            return false;
        }
        let Some(Value::Object(properties)) = map.get("properties") else { return true };
        properties.iter().all(|(name, schema)| match (schema, value.get(name)) {
            (Value::Object(schema), Some(part)) => self.constants_fit(schema, part),
            _ => true,
        })
    }

    fn constants_fit(&mut self, schema: &Map<String, Value>, value: &Value) -> bool {
        let mut constants = ["const", "enum"].iter().filter(|key| schema.contains_key(**key));
        constants.all(|key| !self.alone_fails(schema, key, value))
    }

    /// Tells which property was to say which alternative is meant, if there is one: a property for
    /// which each alternative that takes objects has a constant.
    fn discriminator(&mut self, places: &[Place<'a>], value: &Value, at: &str) -> bool {
        let Value::Object(given) = value else { return false };
        let is_constant = |it: &Value| it.get("const").is_some() || it.get("enum").is_some();
        let objects: Vec<&Map<String, Value>> = places
            .iter()
            .filter_map(|it| self.resolved(it.schema).get("properties")?.as_object())
            .collect();
        let name = objects
            .first()
            .into_iter()
            .flat_map(|it| it.keys())
            .find(|name| objects.iter().all(|it| it.get(*name).is_some_and(is_constant)));
        let Some(name) = name.filter(|_| objects.len() > 1) else { return false };
        let fits_one = given.get(name).is_some_and(|part| {
            let constants = objects.iter().filter_map(|it| it[name].as_object());
            constants.into_iter().any(|it| self.constants_fit(it, part))
        });
        if fits_one {
            return false;
        }
        let expected = show::list(objects.iter().map(|it| expectation(&it[name])), "or");
        match given.get(name) {
            Some(part) => self.found.push(violation(&show::join(at, name), expected, part)),
            None => self.missing(at, name, format!("{expected} (it is required)")),
        }
        true
    }

    /// What a schema refers to, if it is nothing but a reference to one place.
    fn resolved(&self, schema: &'a Value) -> &'a Value {
        let reference = schema.get("$ref").and_then(Value::as_str);
        match reference.map(|it| self.survey.targets(it)).as_deref() {
            Some([only]) => only,
            _ => schema,
        }
    }

    fn additional(
        &mut self,
        place: &Place<'a>,
        map: &'a Map<String, Value>,
        rule: &'a Value,
        given: &Map<String, Value>,
        at: &str,
    ) {
        let known: Vec<&str> =
            map.get("properties").into_iter().flat_map(entries).map(|(name, _)| name).collect();
        let mut has_rule: HashSet<&str> = known.iter().copied().collect();
        for (pattern, _) in map.get("patternProperties").into_iter().flat_map(entries) {
            has_rule.extend(self.matching(given, pattern).into_iter().map(|(name, _)| name));
        }
        if self.is_spent() {
            return;
        }
        for (name, part) in given.iter().filter(|it| !has_rule.contains(it.0.as_str())) {
            if self.is_spent() {
                return;
            }
            let part_at = show::join(at, name);
            if *rule == Value::Bool(false) {
                // Those that are only counted need no names to choose from.
                let is_shown = self.found.len() < Violations::MAX_SHOWN;
                let known = if is_shown { &known[..] } else { &[] };
                self.found.push(Violation::unknown(part_at, known, part));
            } else {
                self.go(place.inner(rule, &["additionalProperties"]), part, &part_at);
            }
        }
    }

    fn dependent(&mut self, rule: &Value, given: &Map<String, Value>, at: &str) {
        for (name, needed) in entries(rule).filter(|(name, _)| given.contains_key(*name)) {
            for missing in strings(needed).filter(|it| !given.contains_key(*it)) {
                self.missing(at, missing, format!("a value (required beside {name})"));
            }
        }
    }

    fn missing(&mut self, at: &str, name: &str, expected: String) {
        let pointer = show::join(at, name);
        self.found.push(Violation::new(pointer, expected, "nothing"));
    }

    /// The properties whose names match.
    fn matching<'v>(
        &mut self,
        given: &'v Map<String, Value>,
        pattern: &str,
    ) -> Vec<(&'v str, &'v Value)> {
        let Some(names) = self.compiled(&json!({ "pattern": pattern })) else { return Vec::new() };
        let fits = |name: &String| names.is_valid(&Value::String(name.clone()));
        given.iter().filter(|(name, _)| fits(name)).map(|(name, it)| (name.as_str(), it)).collect()
    }

    /// Whether a value does not fit a part of the schema.
    fn fails(&mut self, place: &Place<'_>, value: &Value) -> bool {
        self.n_questions += 1;
        if self.is_spent() {
            return false;
        }
        if !self.parts.contains_key(&place.pointer) {
            if !budget::spend(self.question_steps(place.schema)) {
                return false;
            }
            let reference =
                json!({ "$ref": format!("{}#{}", self.base, show::fragment(&place.pointer)) });
            let part = self
                .options()
                .with_draft(self.draft)
                .with_registry(self.registry)
                .build(&reference)
                .ok();
            self.parts.insert(place.pointer.clone(), part);
        }
        let fails = self.parts[&place.pointer].as_ref().is_some_and(|part| !part.is_valid(value));
        // An answer that was cut short is none.
        fails && !budget::is_over()
    }

    /// Whether a value does not fit one keyword, with those that belong to it.
    fn alone_fails(&mut self, map: &Map<String, Value>, key: &str, value: &Value) -> bool {
        if let ("enum", Some(Value::Array(values))) = (key, map.get(key)) {
            return budget::spend(values.len() as u64)
                && !values.iter().any(|it| is_equal(it, value));
        }
        let mut alone = Map::new();
        for (name, rule) in map {
            // Draft 4 says with a second keyword that a limit itself does not fit.
            let belongs = matches!(
                (key, name.as_str()),
                ("minimum", "exclusiveMinimum") | ("maximum", "exclusiveMaximum")
            ) && rule.is_boolean();
            if name == key || belongs {
                alone.insert(name.clone(), rule.clone());
            }
        }
        let part = self.compiled(&Value::Object(alone));
        part.is_some_and(|part| !part.is_valid(value)) && !budget::is_over()
    }

    /// Compiles a schema that refers to nothing.
    fn compiled(&mut self, schema: &Value) -> Option<jsonschema::Validator> {
        self.n_questions += 1;
        if self.is_spent() || !budget::spend(1_000 + size(schema).saturating_mul(20)) {
            return None;
        }
        self.options().with_draft(self.draft).build(schema).ok()
    }

    /// What it takes to compile a part of the schema.
    fn question_steps(&self, schema: &Value) -> u64 {
        1_000 + size(schema).saturating_mul(20) + self.part_steps
    }

    fn options(&self) -> jsonschema::ValidationOptions<'static> {
        options(&self.patterns, &keywords::BadPattern::default())
    }

    fn is_spent(&self) -> bool {
        self.n_questions > MAX_QUESTIONS || self.found.len() >= MAX_COUNTED || budget::is_over()
    }
}

fn violation(at: &str, expected: impl Into<String>, value: &Value) -> Violation {
    Violation::new(at, expected, show::value(value))
}

fn entries(rule: &Value) -> impl Iterator<Item = (&str, &Value)> {
    rule.as_object().into_iter().flatten().map(|(name, it)| (name.as_str(), it))
}

fn strings(rule: &Value) -> impl Iterator<Item = &str> {
    rule.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn alternatives<'a>(
    place: &Place<'a>,
    key: &str,
    rule: &'a Value,
) -> impl Iterator<Item = (Place<'a>, &'a Value)> {
    let schemas = rule.as_array().into_iter().flatten().enumerate();
    schemas.map(move |(nth, schema)| (place.inner(schema, &[key, &nth.to_string()]), schema))
}
