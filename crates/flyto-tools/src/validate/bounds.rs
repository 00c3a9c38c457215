//! Whether a schema is one that can be checked against in bounded time and stack.
//!
//! A short schema can ask for more work than there are atoms: thirty definitions that each use the
//! next one twice are a billion checks of one value. The validator remembers results where a
//! schema is recursive and nowhere else, so what it would do is counted here before it starts.
//! Everything in this file walks with a list of its own instead of the call stack.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{
    error::{SchemaError, SchemaErrorKind},
    pattern, show,
    survey::{MAX_VALUES, REFERENCES, Survey, sum, too_large},
};

/// How much work a schema asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cost {
    /// Most subschemas that one value is checked against, one inside of the other. Each takes
    /// stack.
    pub(super) nesting: u64,
    /// Most often that one value is looked at.
    pub(super) visits: u64,
    /// Regular expressions.
    pub(super) n_patterns: usize,
    /// States of the regular expressions for names of properties, about.
    pub(super) name_states: u64,
    /// Steps that compiling a part of the schema may take beside those for its size.
    pub(super) part_steps: u64,
    /// Steps that compiling the whole schema takes, about.
    pub(super) steps: u64,
}

/// Edges between the parts of a schema, and places that are looked at for where its references lead.
const MAX_EDGES: usize = MAX_VALUES * 4;
/// Values of a schema that is small.
const MAX_SMALL_VALUES: usize = 2_000;
/// References of a schema that is small.
const MAX_SMALL_REFERENCES: usize = 200;
/// States of all regular expressions of a schema that is small.
const MAX_SMALL_STATES: u64 = 2_000;
/// Steps for each value that is compiled: 2 µs.
const STEPS_OF_VALUE: u64 = 130;
/// Steps for each state that is compiled: 2 µs.
const STEPS_OF_STATE: u64 = 130;
/// Steps for each pair of references that are compiled: 0.1 µs.
const STEPS_OF_REFERENCES: u64 = 7;
/// Steps for each visit that `unevaluated…` expands while it is compiled: 0.2 ms.
const STEPS_OF_UNEVALUATED: u64 = 13_000;
/// Looks at one value: a million take about 0.1 s.
const MAX_VISITS: u64 = 1_000_000;
/// The same where `unevaluatedProperties` or `unevaluatedItems` is used, which the validator
/// expands while it compiles, at about 0.2 ms each.
const MAX_VISITS_UNEVALUATED: u64 = 4_000;

/// Keywords with one subschema for the same value.
const SAME: &[&str] = &["not", "if", "then", "else"];
/// Keywords with a list of subschemas for the same value.
const SAME_LIST: &[&str] = &["allOf", "anyOf", "oneOf"];
/// Keywords with subschemas for the same value by name.
const SAME_MAP: &[&str] = &["dependentSchemas", "dependencies"];
/// Keywords with one or several subschemas for each part of the value that others leave over.
const REST: &[&str] = &["additionalProperties", "items", "prefixItems", "additionalItems"];
/// Keywords with a subschema for parts of the value that others look at as well.
const ALSO: &[&str] =
    &["contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems", "contentSchema"];

/// Keywords for the parts that no other keyword has looked at.
const UNEVALUATED: &[&str] = &["unevaluatedProperties", "unevaluatedItems"];

/// Counts what `schema` asks for.
///
/// # Errors
///
/// [`SchemaErrorKind::TooLarge`], and [`SchemaErrorKind::Circular`] where a schema leads back to
/// itself without going into the value.
///
/// Takes time in proportion to the size of the schema and the number of its edges, both of which
/// are bounded.
pub(super) fn cost(schema: &Value) -> Result<Cost, SchemaError> {
    let survey = Survey::of(schema)?;
    let graph = Graph::of(schema, &survey)?;
    let Survey { n_patterns, name_states, n_references, has_unevaluated, .. } = survey;
    let cost = graph.cost()?;
    let unevaluated = if has_unevaluated { cost.visits * STEPS_OF_UNEVALUATED } else { 0 };
    let part_steps = n_references * n_references * STEPS_OF_REFERENCES + unevaluated;
    let steps = survey.n_values * STEPS_OF_VALUE + survey.states * STEPS_OF_STATE + part_steps;
    Ok(Cost { n_patterns, name_states, part_steps, steps, ..cost })
}

/// Whether a schema is compiled in some milliseconds: nearly all are.
///
/// Such a schema is compiled in the task of the call, without a thread.
pub(super) fn is_small(schema: &Value) -> bool {
    let (mut n_values, mut n_references, mut states) = (0, 0, 0_u64);
    let mut todo = vec![schema];
    while let Some(value) = todo.pop() {
        n_values += 1;
        match value {
            Value::Array(items) => todo.extend(items),
            Value::Object(map) => {
                let texts = map.get("pattern").and_then(Value::as_str).into_iter();
                let named = map.get("patternProperties").and_then(Value::as_object);
                let named = named.into_iter().flat_map(|it| it.keys().map(String::as_str));
                states =
                    texts.chain(named).map(pattern::compiling).fold(states, u64::saturating_add);
                n_references += REFERENCES.iter().filter(|key| map.contains_key(**key)).count();
                if UNEVALUATED.iter().any(|key| map.contains_key(*key)) {
                    return false;
                }
                todo.extend(map.values());
            }
            _ => {}
        }
        if n_values + todo.len() > MAX_SMALL_VALUES
            || n_references > MAX_SMALL_REFERENCES
            || states > MAX_SMALL_STATES
        {
            return false;
        }
    }
    true
}

/// One subschema: where its work goes. The numbers are places in [`Graph::nodes`].
///
/// The same subschema is in a list as often as it is used.
#[derive(Debug, Default)]
struct Node {
    /// Further schemas for the same value.
    same: Vec<usize>,
    /// Of these, one applies to a part of the value.
    either: Vec<usize>,
    /// Each of these may apply to a part of the value.
    each: Vec<usize>,
    unevaluated: Option<&'static str>,
}

impl Node {
    /// Schemas for parts of the value.
    fn parts(&self) -> impl Iterator<Item = usize> {
        self.either.iter().chain(&self.each).copied()
    }

    /// Every schema that this one leads to.
    fn all(&self) -> impl Iterator<Item = usize> {
        self.same.iter().copied().chain(self.parts())
    }
}

/// The subschemas that can be reached from the root, which is the first.
///
/// `schemas` and `nodes` have the same order. A cycle in it is allowed where it goes into the
/// value.
#[derive(Debug)]
struct Graph<'a> {
    root: &'a Value,
    schemas: Vec<&'a Value>,
    nodes: Vec<Node>,
    has_unevaluated: bool,
}

impl<'a> Graph<'a> {
    /// # Errors
    ///
    /// [`SchemaErrorKind::TooLarge`] for more than [`MAX_EDGES`].
    fn of(root: &'a Value, survey: &Survey<'a>) -> Result<Self, SchemaError> {
        let mut builder = Builder { places: HashMap::new(), found: Vec::new() };
        builder.place(root);
        let mut nodes = Vec::new();
        let mut n_edges = 0;
        while let Some(schema) = builder.found.get(nodes.len()).copied() {
            let node = match schema {
                Value::Object(map) => builder.node(map, survey),
                _ => Node::default(),
            };
            n_edges += node.all().count();
            if n_edges + survey.n_looked_at.get() > MAX_EDGES {
                let n_ids = survey.resources.len();
                return Err(too_large(format!(
                    "{} references may lead to any of the {n_ids} parts with an `$id` or `id`: \
                     leave some of either out",
                    survey.n_references
                )));
            }
            nodes.push(node);
        }
        let has_unevaluated = survey.has_unevaluated;
        Ok(Self { root, schemas: builder.found, nodes, has_unevaluated })
    }

    /// # Errors
    ///
    /// Those of [`innermost_first`](Self::innermost_first), and [`SchemaErrorKind::TooLarge`] for
    /// too many visits.
    fn cost(&self) -> Result<Cost, SchemaError> {
        let order = self.innermost_first()?;
        let component = self.components();
        let mut nesting = vec![1_u64; self.nodes.len()];
        for &at in &order {
            let below = self.nodes[at].same.iter().map(|it| nesting[*it]).max();
            nesting[at] = 1 + below.unwrap_or(0);
        }

        // Components come leaves first; within one, schemas for the same value come first. What is
        // left leads back into a component, where the validator remembers results: one visit.
        let mut by_component = order;
        by_component.sort_by_key(|at| component[*at]);
        let mut visits = vec![1_u64; self.nodes.len()];
        for &at in &by_component {
            let node = &self.nodes[at];
            let of = |it: usize| if component[it] == component[at] { 1 } else { visits[it] };
            let either = node.either.iter().map(|it| of(*it)).max().unwrap_or(0);
            let each = sum(node.each.iter().map(|it| of(*it)));
            let same = sum(node.same.iter().map(|it| visits[*it]));
            // `unevaluated…` goes through the others once more, to find what they looked at.
            let rounds = if node.unevaluated.is_some() { 3 } else { 1 };
            visits[at] = sum([1, either, each, same.saturating_mul(rounds)]);
        }

        let res = Cost {
            nesting: nesting.iter().copied().max().unwrap_or(1),
            visits: visits.iter().copied().max().unwrap_or(1),
            n_patterns: 0,
            name_states: 0,
            part_steps: 0,
            steps: 0,
        };
        let max = if self.has_unevaluated { MAX_VISITS_UNEVALUATED } else { MAX_VISITS };
        if res.visits > max {
            let keywords = self.nodes.iter().map(|it| it.unevaluated).enumerate();
            return Err(match keywords.filter_map(|(at, key)| Some((at, key?))).next() {
                Some((at, key)) => SchemaError {
                    pointer: show::join(&self.pointer(at), key),
                    ..too_large(format!(
                        "with {key:?}, one value may be looked at {max} times, and it is more here"
                    ))
                },
                None => too_large(format!(
                    "its parts refer to each other so that one value is looked at more than {max} times"
                )),
            });
        }
        Ok(res)
    }

    /// The place of a node in the schema, as a JSON pointer.
    fn pointer(&self, at: usize) -> String {
        show::pointer_to(self.root, self.schemas[at]).unwrap_or_default()
    }

    /// All schemas, each after those that it applies to the same value.
    ///
    /// # Errors
    ///
    /// [`SchemaErrorKind::Circular`] at one of the schemas of the circle.
    fn innermost_first(&self) -> Result<Vec<usize>, SchemaError> {
        let mut n_waiting_for: Vec<usize> = self.nodes.iter().map(|it| it.same.len()).collect();
        let mut used_by = vec![Vec::new(); self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate() {
            for inner in &node.same {
                used_by[*inner].push(at);
            }
        }
        let mut order: Vec<usize> =
            (0..self.nodes.len()).filter(|at| n_waiting_for[*at] == 0).collect();
        let mut next = 0;
        while let Some(inner) = order.get(next).copied() {
            next += 1;
            for &outer in &used_by[inner] {
                n_waiting_for[outer] -= 1;
                if n_waiting_for[outer] == 0 {
                    order.push(outer);
                }
            }
        }
        if let Some(at) = n_waiting_for.iter().position(|n| *n > 0) {
            return Err(SchemaError {
                pointer: self.pointer(at),
                kind: SchemaErrorKind::Circular,
                why: "a schema refers to itself without going into the value".into(),
            });
        }
        Ok(order)
    }

    /// Numbers the strongly connected components, those that lead nowhere else first (Tarjan).
    fn components(&self) -> Vec<usize> {
        const NONE: usize = usize::MAX;
        let n_nodes = self.nodes.len();
        let (mut component, mut seen_as, mut low) =
            (vec![NONE; n_nodes], vec![NONE; n_nodes], vec![0; n_nodes]);
        let (mut stack, mut n_seen, mut n_components) = (Vec::new(), 0, 0);
        for start in 0..n_nodes {
            if seen_as[start] != NONE {
                continue;
            }
            let mut path = vec![(start, self.nodes[start].all())];
            while let Some((at, edges)) = path.last_mut() {
                let at = *at;
                if seen_as[at] == NONE {
                    seen_as[at] = n_seen;
                    low[at] = n_seen;
                    n_seen += 1;
                    stack.push(at);
                }
                match edges.next() {
                    Some(to) if seen_as[to] == NONE => path.push((to, self.nodes[to].all())),
                    Some(to) => {
                        if component[to] == NONE {
                            low[at] = low[at].min(seen_as[to]);
                        }
                    }
                    None => {
                        path.pop();
                        if let Some((outer, _)) = path.last() {
                            low[*outer] = low[*outer].min(low[at]);
                        }
                        if low[at] == seen_as[at] {
                            while let Some(it) = stack.pop() {
                                component[it] = n_components;
                                if it == at {
                                    break;
                                }
                            }
                            n_components += 1;
                        }
                    }
                }
            }
        }
        component
    }
}

/// Finds subschemas and gives each a place.
///
/// A subschema is known by its address, so that two references to one place are one node.
struct Builder<'a> {
    places: HashMap<*const Value, usize>,
    found: Vec<&'a Value>,
}

impl<'a> Builder<'a> {
    /// The same number for the same subschema.
    fn place(&mut self, schema: &'a Value) -> usize {
        let next = self.found.len();
        let place = *self.places.entry(std::ptr::from_ref(schema)).or_insert(next);
        if place == next {
            self.found.push(schema);
        }
        place
    }

    fn node(&mut self, map: &'a Map<String, Value>, survey: &Survey<'a>) -> Node {
        let mut res = Node {
            unevaluated: UNEVALUATED.iter().copied().find(|key| map.contains_key(*key)),
            ..Node::default()
        };
        for (key, value) in map {
            let key = key.as_str();
            let into = if SAME.contains(&key) || SAME_LIST.contains(&key) || SAME_MAP.contains(&key)
            {
                &mut res.same
            } else if key == "properties" || REST.contains(&key) {
                &mut res.either
            } else if key == "patternProperties" || ALSO.contains(&key) {
                &mut res.each
            } else {
                if let (true, Value::String(reference)) = (REFERENCES.contains(&key), value) {
                    let targets = survey.targets(reference);
                    res.same.extend(targets.iter().map(|it| self.place(it)));
                }
                continue;
            };
            let named =
                ["properties", "patternProperties"].contains(&key) || SAME_MAP.contains(&key);
            match value {
                Value::Object(schemas) if named => {
                    into.extend(schemas.values().map(|it| self.place(it)));
                }
                Value::Array(schemas) => into.extend(schemas.iter().map(|it| self.place(it))),
                schema => into.push(self.place(schema)),
            }
        }
        res
    }
}
