//! What stands where in a schema: its size, its patterns, and where its references lead.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
};

use serde_json::{Map, Value};

use super::{
    error::{SchemaError, SchemaErrorKind},
    pattern, show,
};

/// Levels of JSON in a schema. serde_json reads 128; deeper ones are built by hand.
const MAX_DEPTH: usize = 128;
/// References: compiling takes time in the square of their number, 0.1 s for a thousand in a row.
const MAX_REFERENCES: usize = 2_000;
/// Regular expressions. Compiling a large one takes some milliseconds.
const MAX_PATTERNS: usize = 500;
/// States of all regular expressions of a schema together: what takes 0.1 s to compile, and 100 MB to
/// match in the worst of cases.
const MAX_STATES: u64 = 50_000;
/// Keywords with lists of values, which hold no schema.
const LISTS_OF_VALUES: &[&str] = &["enum", "examples"];
/// Keywords that lead to a schema elsewhere, for the same value.
pub(super) const REFERENCES: &[&str] = &["$ref", "$dynamicRef", "$recursiveRef"];
/// JSON values in a schema. The largest published ones (FHIR, OpenAPI of large services) have
/// some tens of thousands.
pub(super) const MAX_VALUES: usize = 100_000;

/// What stands where in a schema.
///
/// Made once for a schema; [`explain`](super::explain) uses it for references.
#[derive(Debug)]
pub(super) struct Survey<'a> {
    root: &'a Value,
    /// Subtrees with an id, by that id.
    pub(super) resources: Vec<(&'a str, &'a Value)>,
    /// Subtrees by `$anchor` and `$dynamicAnchor`; a name may stand at several.
    anchors: HashMap<&'a str, Vec<&'a Value>>,
    /// Where references lead, by their text: each is looked up once.
    targets: RefCell<HashMap<String, Rc<[&'a Value]>>>,
    /// Places that were looked at for that.
    pub(super) n_looked_at: Cell<usize>,
    pub(super) has_unevaluated: bool,
    pub(super) n_values: u64,
    pub(super) n_references: u64,
    pub(super) n_patterns: usize,
    pub(super) states: u64,
    pub(super) name_states: u64,
}

impl<'a> Survey<'a> {
    /// # Errors
    ///
    /// [`SchemaErrorKind::TooLarge`]: levels, values, references, patterns or states.
    pub(super) fn of(root: &'a Value) -> Result<Self, SchemaError> {
        let mut res = Self::new(root);
        let (mut n_values, mut n_references) = (0, 0);
        // `true` for what stands in a list of values: `id` is the name of a member there.
        let mut todo = vec![(root, 0, false)];
        while let Some((value, depth, is_value)) = todo.pop() {
            n_values += 1;
            if depth > MAX_DEPTH {
                return Err(too_large(format!("it has more than {MAX_DEPTH} levels")));
            }
            match value {
                Value::Array(items) => {
                    todo.extend(items.iter().map(|it| (it, depth + 1, is_value)));
                }
                Value::Object(map) => {
                    if !is_value {
                        res.note(map, value);
                    }
                    let has = |key: &&str| map.get(*key).is_some_and(Value::is_string);
                    n_references += REFERENCES.iter().filter(|key| has(key)).count();
                    if let Some(text) = map.get("pattern").and_then(Value::as_str) {
                        res.n_patterns += 1;
                        res.states = res.states.saturating_add(pattern::compiling(text));
                    }
                    if let Some(named) = map.get("patternProperties").and_then(Value::as_object) {
                        res.n_patterns += named.len();
                        let weight = sum(named.keys().map(|it| pattern::weight(it)));
                        res.name_states = res.name_states.saturating_add(weight);
                        let compiling = sum(named.keys().map(|it| pattern::compiling(it)));
                        res.states = res.states.saturating_add(compiling);
                    }
                    if res.states > MAX_STATES {
                        let why = format!(
                            "its patterns up to here have more than {MAX_STATES} states together: \
                             repeat less often in them, use fewer escapes such as `\\w`, or leave \
                             some out"
                        );
                        let pointer = show::pointer_to(root, value).unwrap_or_default();
                        return Err(SchemaError { pointer, ..too_large(why) });
                    }
                    todo.extend(map.iter().map(|(key, it)| {
                        let is_list = it.is_array() && LISTS_OF_VALUES.contains(&&**key);
                        (it, depth + 1, is_value || is_list)
                    }));
                }
                _ => {}
            }
            for (count, max, what) in [
                (n_values + todo.len(), MAX_VALUES, "values"),
                (n_references, MAX_REFERENCES, "references"),
                (res.n_patterns, MAX_PATTERNS, "patterns"),
            ] {
                if count > max {
                    return Err(too_large(format!("it has more than {max} {what}")));
                }
            }
        }
        (res.n_values, res.n_references) = (n_values as u64, n_references as u64);
        Ok(res)
    }

    /// Surveys a schema that was found to be within bounds before.
    ///
    /// Where it is not, the survey is empty.
    pub(super) fn unbounded(root: &'a Value) -> Self {
        Self::of(root).unwrap_or_else(|_| Self::new(root))
    }

    fn new(root: &'a Value) -> Self {
        Self {
            root,
            resources: Vec::new(),
            anchors: HashMap::new(),
            targets: RefCell::default(),
            n_looked_at: Cell::new(0),
            has_unevaluated: false,
            n_values: 0,
            n_references: 0,
            n_patterns: 0,
            states: 0,
            name_states: 0,
        }
    }

    /// Takes note of an object's id, anchors and `unevaluated…`.
    fn note(&mut self, map: &'a Map<String, Value>, value: &'a Value) {
        // The second is how draft 4 writes it.
        if let Some(Value::String(id)) = map.get("$id").or_else(|| map.get("id")) {
            self.resources.push((id.trim_end_matches('#'), value));
        }
        for key in ["$anchor", "$dynamicAnchor"] {
            if let Some(Value::String(name)) = map.get(key) {
                self.anchors.entry(name).or_default().push(value);
            }
        }
        self.has_unevaluated |=
            map.contains_key("unevaluatedProperties") || map.contains_key("unevaluatedItems");
    }

    /// Every place that a reference can mean. Where that is not certain, there are several; a
    /// reference to one of the known dialects has none. What does not exist is for the compiler to
    /// say.
    pub(super) fn targets(&self, reference: &str) -> Rc<[&'a Value]> {
        if let Some(found) = self.targets.borrow().get(reference) {
            return Rc::clone(found);
        }
        let found: Rc<[&Value]> = self.look_up(reference).into();
        self.targets.borrow_mut().insert(reference.to_owned(), Rc::clone(&found));
        found
    }

    fn look_up(&self, reference: &str) -> Vec<&'a Value> {
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let is_named = |id: &str| {
            id.strip_suffix(uri).is_some_and(|start| start.is_empty() || start.ends_with('/'))
        };
        let inner = || self.resources.iter().filter(|(_, it)| !std::ptr::eq(*it, self.root));
        let roots: Vec<&Value> = if uri.is_empty() {
            // A pointer counts from the innermost subtree with an id, whichever that is.
            [self.root].into_iter().chain(inner().map(|it| it.1)).collect()
        } else {
            let named = self.resources.iter().filter(|(id, _)| is_named(id));
            let named: Vec<_> = named.map(|it| it.1).collect();
            match named.is_empty() {
                // Perhaps a relative form of an id.
                true => inner().map(|it| it.1).collect(),
                false => named,
            }
        };
        self.n_looked_at.set(self.n_looked_at.get() + self.resources.len() + 1);
        let pointer = percent_decoded(fragment);
        if pointer.is_empty() || pointer.starts_with('/') {
            roots.iter().filter_map(|root| root.pointer(&pointer)).collect()
        } else {
            self.anchors.get(pointer.as_str()).cloned().unwrap_or_default()
        }
    }
}

pub(super) fn too_large(why: String) -> SchemaError {
    SchemaError { pointer: String::new(), kind: SchemaErrorKind::TooLarge, why }
}

/// As in the fragment of a URI (RFC 3986, 2.1). A `%` without two hexadecimal digits stays.
fn percent_decoded(text: &str) -> String {
    let mut res = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let digits = tail.get(..2).and_then(|it| std::str::from_utf8(it).ok());
        match digits.and_then(|it| u8::from_str_radix(it, 16).ok()) {
            Some(decoded) if byte == b'%' => {
                res.push(decoded);
                rest = &tail[2..];
            }
            _ => {
                res.push(byte);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&res).into_owned()
}

/// The first reference in a schema of which `is_meant` is true: the pointer to its keyword.
pub(super) fn find_reference(schema: &Value, is_meant: impl Fn(&str) -> bool) -> Option<String> {
    let mut todo = vec![schema];
    while let Some(value) = todo.pop() {
        match value {
            Value::Array(items) => todo.extend(items.iter().rev()),
            Value::Object(map) => {
                for key in REFERENCES {
                    let reference = map.get(*key).filter(|it| it.as_str().is_some_and(&is_meant));
                    if let Some(reference) = reference {
                        return show::pointer_to(schema, reference);
                    }
                }
                todo.extend(map.values().rev());
            }
            _ => {}
        }
    }
    None
}

/// Sums that pass the range stay at its end, which is above every bound.
pub(super) fn sum(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().fold(0, u64::saturating_add)
}
