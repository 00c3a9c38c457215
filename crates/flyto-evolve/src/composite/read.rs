//! From the JSON of a declaration to its steps, with every mistake told at its place.
//!
//! Reading goes in three passes, and each tells all that it finds:
//!
//! 1. The shape: keys that are known, values of the right type and within their bounds, ids that
//!    are unique. A key that is not known gets the closest one as advice.
//! 2. The graph: `after` and references are edges, and steps that wait for each other are told as
//!    one cycle with all its ids.
//! 3. The references: each names a step that is written before, one of its five members, and has a
//!    default where the step may be skipped or may fail.
//!
//! The last two passes need the steps, so they do not run where the first one could not read a
//! step. A declaration has 64 KiB at most, so the passes may be quadratic in its 32 steps.

use std::time::Duration;

use flyto_diagnostics::{closest, quoted};
use serde_json::{Map, Value};

use super::{
    Composite, Condition, DEFAULT_ITEMS, Expr, MAX_COMPOSITE_BYTES, MAX_ITEMS, MAX_PARALLEL,
    MAX_RETRIES, MAX_RETRY_DELAY, MAX_STEPS, OnError, Step, Undo,
    value::{STEP_MEMBERS, escaped},
};
use crate::{MAX_TIMEOUT, codes, definition::Fault};

/// The keys of a declaration; any other is a fault.
const TOP_KEYS: &[&str] = &["steps", "output", "timeout_ms", "destructive"];
/// The keys of a step; any other is a fault.
const STEP_KEYS: &[&str] = &[
    "id",
    "tool",
    "version",
    "with",
    "after",
    "when",
    "for_each",
    "max_items",
    "max_parallel",
    "retry",
    "timeout_ms",
    "on_error",
    "undo",
];

/// Reads a declaration. Where something is wrong with it, all faults; their pointers begin at the definition.
pub(crate) fn read(value: &Value) -> Result<Composite, Vec<Fault>> {
    let mut reader = Reader { faults: Vec::new() };
    let res = reader.composite(value);
    match res {
        Some(res) if reader.faults.is_empty() => Ok(res),
        _ => Err(reader.faults),
    }
}

/// Collects the faults of one declaration.
struct Reader {
    faults: Vec<Fault>,
}

impl Reader {
    /// Tells what is wrong at a pointer, and what to write instead.
    fn fault(&mut self, at: &str, what: impl Into<String>, help: impl Into<String>) {
        self.faults.push(Fault::new(codes::BAD_COMPOSITE, at, what).help(help));
    }

    /// The whole declaration. `None` where a part of it could not be read, after the faults that
    /// say why.
    fn composite(&mut self, value: &Value) -> Option<Composite> {
        let at = "/composite";
        let n_bytes = value.to_string().len();
        if n_bytes > MAX_COMPOSITE_BYTES {
            let what = format!(
                "the declaration has {n_bytes} bytes, and at most {MAX_COMPOSITE_BYTES} are taken"
            );
            self.faults.push(Fault::new(codes::TOO_LARGE, at, what).help("make two tools of it"));
            return None;
        }
        let map = self.object(value, at, TOP_KEYS)?;
        let steps = match map.get("steps").and_then(Value::as_array) {
            Some(steps) if (1..=MAX_STEPS).contains(&steps.len()) => steps,
            _ => {
                let what = format!("\"steps\" is a list of 1 to {MAX_STEPS} steps");
                self.fault(
                    &format!("{at}/steps"),
                    what,
                    "write `[{\"id\": …, \"tool\": …, \"with\": {…}}]`",
                );
                return None;
            }
        };
        let mut read: Vec<Option<Step>> = Vec::new();
        let ids: Vec<&str> = steps.iter().map(|it| it["id"].as_str().unwrap_or_default()).collect();
        for (index, step) in steps.iter().enumerate() {
            let step = self.step(step, &format!("{at}/steps/{index}"), index, &ids);
            read.push(step);
        }
        let output = match map.get("output") {
            Some(it) => self.expr(it, &format!("{at}/output")),
            // What the last step gave.
            None => {
                let pointer = format!("/steps/{}/output", escaped(ids.last()?));
                Expr::Ref(super::value::Ref::parse(&pointer)?)
            }
        };
        let destructive = self.optional(map, "destructive", at, "true or false", Value::as_bool);
        let timeout = self.time(map, "timeout_ms", at, MAX_TIMEOUT);
        let steps = read.into_iter().collect::<Option<Vec<_>>>()?;
        self.cycle(&steps, &ids);
        let res = Composite { steps, output, timeout, destructive };
        self.references(&res, &ids);
        Some(res)
    }

    /// One step, at the pointer `at`. `ids` are those of all steps in their order, so that an id
    /// that is taken and an `after` that names a later step are told here.
    fn step(&mut self, value: &Value, at: &str, index: usize, ids: &[&str]) -> Option<Step> {
        let map = self.object(value, at, STEP_KEYS)?;
        let id = map.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_word = |it: u8| it.is_ascii_alphanumeric() || it == b'_' || it == b'-';
        if id.is_empty() || id.len() > 64 || !id.bytes().all(is_word) {
            let what = format!("the id {} is no name of letters, digits, `_` and `-`", quoted(&id));
            self.fault(
                &format!("{at}/id"),
                what,
                "write a short name, by which others refer to the step",
            );
        } else if ids[..index].contains(&id.as_str()) {
            let what = format!("two steps have the id {}", quoted(&id));
            self.fault(&format!("{at}/id"), what, "give one of them another id");
        }
        let tool = self.tool(map, at);
        let with = match map.get("with") {
            Some(it) => self.expr(it, &format!("{at}/with")),
            None => Expr::Literal(Value::Object(Map::new())),
        };
        let mut after = Vec::new();
        if let Some(it) = map.get("after") {
            let at = format!("{at}/after");
            let Some(names) = it.as_array() else {
                self.fault(&at, "\"after\" is a list of ids", "write `[\"ID\"]`");
                return None;
            };
            for (i, name) in names.iter().enumerate() {
                let name = name.as_str().unwrap_or_default();
                match ids.iter().position(|it| *it == name && !name.is_empty()) {
                    Some(found) => after.push(found),
                    None => self.unknown_step(&format!("{at}/{i}"), name, ids),
                }
            }
        }
        let mut found = Vec::new();
        let mut tell = |at: &str, what: String, help: &'static str| {
            found.push((at.to_owned(), what, help));
        };
        let when = map
            .get("when")
            .and_then(|it| Condition::parse(it, &format!("{at}/when"), 0, &mut tell));
        found.into_iter().for_each(|(at, what, help)| self.fault(&at, what, help));
        let for_each = map.get("for_each").map(|it| self.expr(it, &format!("{at}/for_each")));
        let max_items = self.number(map, "max_items", at, MAX_ITEMS as u64);
        let max_parallel = self.number(map, "max_parallel", at, MAX_PARALLEL as u64);
        if for_each.is_none() && (max_items.is_some() || max_parallel.is_some()) {
            let what = "\"max_items\" and \"max_parallel\" are about the items of \"for_each\"";
            self.fault(at, what, "remove them, or write \"for_each\"");
        }
        let (mut retries, mut delay) = (0, Duration::ZERO);
        if let Some(retry) = map.get("retry") {
            let at = format!("{at}/retry");
            let retry = self.object(retry, &at, &["times", "delay_ms"])?;
            retries = self.number(retry, "times", &at, MAX_RETRIES).unwrap_or(1);
            delay = self.time(retry, "delay_ms", &at, MAX_RETRY_DELAY).unwrap_or_default();
        }
        let on_error = match map.get("on_error").map(|it| it.as_str().unwrap_or_default()) {
            None | Some("stop") => OnError::Stop,
            Some("continue") => OnError::Continue,
            Some("undo") => OnError::Undo,
            Some(other) => {
                let what = format!("\"on_error\" cannot be {}", quoted(other));
                self.fault(
                    &format!("{at}/on_error"),
                    what,
                    "write \"stop\", \"continue\" or \"undo\"",
                );
                OnError::Stop
            }
        };
        let undo = match map.get("undo") {
            None => None,
            Some(undo) => {
                let at = format!("{at}/undo");
                let undo = self.object(undo, &at, &["tool", "with"])?;
                let with = match undo.get("with") {
                    Some(it) => self.expr(it, &format!("{at}/with")),
                    None => Expr::Literal(Value::Object(Map::new())),
                };
                Some(Undo { tool: self.tool(undo, &at), with })
            }
        };
        Some(Step {
            id,
            tool,
            version: self.number(map, "version", at, u64::MAX),
            with,
            after,
            when,
            for_each,
            max_items: max_items
                .map_or(DEFAULT_ITEMS, |it| usize::try_from(it).unwrap_or(MAX_ITEMS)),
            max_parallel: max_parallel.map_or(1, |it| usize::try_from(it).unwrap_or(1)),
            retries,
            delay,
            timeout: self.time(map, "timeout_ms", at, MAX_TIMEOUT),
            on_error,
            undo,
        })
    }

    /// References and `after` name steps that stand before. So there is no cycle among those that pass; one that is there is
    /// told by its ids.
    ///
    /// Each value of each step is looked at: what it refers to is written before, is there, and
    /// gives something, or has a default. `/item` and `/index` are values within `for_each` only,
    /// and a step's own output only in its undo.
    fn references(&mut self, composite: &Composite, ids: &[&str]) {
        let n_steps = composite.steps.len();
        for (index, step) in composite.steps.iter().enumerate() {
            let at = format!("/composite/steps/{index}");
            for name in step.after.iter().filter(|it| **it >= index) {
                self.later(&format!("{at}/after"), ids[*name], ids[index]);
            }
            let in_items = step.for_each.is_some();
            let mut parts: Vec<(&str, &Expr, bool, usize, bool)> =
                vec![("with", &step.with, in_items, index, true)];
            parts.extend(step.for_each.iter().map(|it| ("for_each", it, false, index, true)));
            parts.extend(
                step.undo.iter().map(|it| ("undo/with", &it.with, in_items, index + 1, true)),
            );
            if let Some(when) = &step.when {
                let mut strict = Vec::new();
                when.each_strict(&mut |it| strict.push(it as *const Expr));
                when.each_expr(&mut |it| {
                    parts.push(("when", it, false, index, strict.contains(&(it as *const Expr))));
                });
            }
            for (part, expr, has_item, n_before, is_strict) in parts {
                self.expr_references(
                    &format!("{at}/{part}"),
                    expr,
                    composite,
                    ids,
                    Place { has_item, n_before, is_strict, reader: Some(index) },
                );
            }
        }
        let place = Place { has_item: false, n_before: n_steps, is_strict: true, reader: None };
        self.expr_references("/composite/output", &composite.output, composite, ids, place);
    }

    fn expr_references(
        &mut self,
        at: &str,
        expr: &Expr,
        composite: &Composite,
        ids: &[&str],
        place: Place,
    ) {
        let mut found = Vec::new();
        expr.each_ref_with(!place.is_strict, &mut |it, has_default| found.push((it, has_default)));
        for (it, has_default) in found {
            match it.tokens[0].as_str() {
                "input" => {}
                "item" | "index" if place.has_item => {
                    if it.tokens[0] == "index" && it.tokens.len() > 1 {
                        self.fault(
                            at,
                            "\"/index\" is a number and has no parts",
                            "write \"/index\"",
                        );
                    }
                }
                "item" | "index" => {
                    let what =
                        format!("{:?} is there for the items of \"for_each\" only", it.pointer);
                    self.fault(
                        at,
                        what,
                        "add \"for_each\" to the step, or refer to \"/input/NAME\"",
                    );
                }
                "steps" => self.step_reference(at, it, has_default, composite, ids, place),
                other => {
                    let what = format!(
                        "a reference begins with \"/input\", \"/steps\", \"/item\" or \"/index\", found {}",
                        quoted(&it.pointer)
                    );
                    let help = closest(other, ["input", "steps", "item", "index"]).map_or_else(
                        || "write \"/input/NAME\" or \"/steps/ID/output\"".to_owned(),
                        |meant| format!("did you mean \"/{meant}\"?"),
                    );
                    self.fault(at, what, help);
                }
            }
        }
    }

    fn step_reference(
        &mut self,
        at: &str,
        it: &super::value::Ref,
        has_default: bool,
        composite: &Composite,
        ids: &[&str],
        place: Place,
    ) {
        let name = it.tokens.get(1).map(String::as_str).unwrap_or_default();
        let Some(found) = ids.iter().position(|it| *it == name) else {
            return self.unknown_step(at, name, ids);
        };
        let reader = place.reader.map(|it| ids[it]);
        if found >= place.n_before {
            return self.later(at, name, reader.unwrap_or_default());
        }
        let member = it.tokens.get(2).map(String::as_str).unwrap_or_default();
        if !STEP_MEMBERS.contains(&member) {
            let what = format!("a step has no {} in {}", quoted(member), quoted(&it.pointer));
            return self.fault(
                at,
                what,
                format!("write \"/steps/{name}/output\" or \"/steps/{name}/text\""),
            );
        }
        let source = &composite.steps[found];
        let own = place.reader == Some(found);
        let same_when = place
            .reader
            .is_some_and(|it| source.when.is_some() && composite.steps[it].when == source.when);
        let may_be_missing = match member {
            "output" => {
                source.may_be_missing() && !(same_when && source.on_error != OnError::Continue)
            }
            "text" => source.when.is_some() && !same_when,
            _ => false,
        };
        if may_be_missing && !has_default && !own {
            let what = format!(
                "the step {} may be skipped or fail, and then there is no value at {}",
                quoted(name),
                quoted(&it.pointer)
            );
            let help = format!(
                "write `{{\"$default\": [{{\"$ref\": {}}}, null]}}`, or give the step the same \"when\"",
                quoted(&it.pointer)
            );
            self.fault(at, what, help);
        }
    }

    /// Tells a cycle by its ids; the references that make it are told as well.
    ///
    /// Takes away the steps that wait for none that is left, again and again (Kahn's algorithm).
    /// What stays waits for itself, and is told by its ids.
    fn cycle(&mut self, steps: &[Step], ids: &[&str]) {
        let needs = |index: usize| {
            let mut res = steps[index].after.clone();
            steps[index].each_expr(&mut |expr| {
                expr.each_ref(&mut |it| {
                    let found = it.step().and_then(|it| ids.iter().position(|id| *id == it));
                    res.extend(found);
                });
            });
            // An undo may use what its own step gave.
            let own = |expr: &Expr| {
                let mut has = false;
                expr.each_ref(&mut |it| has |= it.step() == Some(ids[index]));
                has
            };
            if !own(&steps[index].with) && !steps[index].after.contains(&index) {
                res.retain(|it| *it != index);
            }
            res
        };
        // Kahn: what is left when all without open needs are taken away.
        let mut left: Vec<usize> = (0..steps.len()).collect();
        loop {
            let free = |it: &usize| !needs(*it).iter().any(|need| left.contains(need));
            let Some(found) = left.iter().position(free) else { break };
            left.remove(found);
        }
        let Some(mut at) = left.first().copied() else { return };
        // Each that is left needs another one that is left, so this walk comes back to where it was.
        let mut walk = Vec::new();
        while !walk.contains(&at) {
            walk.push(at);
            match needs(at).into_iter().find(|it| left.contains(it)) {
                Some(next) => at = next,
                None => return,
            }
        }
        let begin = walk.iter().position(|it| *it == at).unwrap_or(0);
        let mut names: Vec<&str> = walk[begin..].iter().map(|it| ids[*it]).collect();
        names.push(ids[at]);
        let what = format!("the steps wait for each other: {}", names.join(" -> "));
        self.fault("/composite/steps", what, "remove one of these references");
    }

    fn later(&mut self, at: &str, name: &str, reader: &str) {
        let what = format!(
            "{} refers to {}, which does not stand before it",
            quoted(reader),
            quoted(name)
        );
        self.fault(at, what, format!("write the step {} before {}", quoted(name), quoted(reader)));
    }

    /// The id that was meant is suggested, where one is close.
    fn unknown_step(&mut self, at: &str, name: &str, ids: &[&str]) {
        let what = format!("there is no step {}", quoted(name));
        let help = match closest(name, ids.iter().copied()) {
            Some(meant) => format!("did you mean {}?", quoted(meant)),
            None => format!("the steps are {}", ids.join(", ")),
        };
        self.fault(at, what, help);
    }

    fn tool(&mut self, map: &Map<String, Value>, at: &str) -> String {
        let name = map.get("tool").and_then(Value::as_str).unwrap_or_default();
        if name.is_empty() {
            self.fault(&format!("{at}/tool"), "the step names no tool", "write the name of a tool");
        }
        name.to_owned()
    }

    fn expr(&mut self, value: &Value, at: &str) -> Expr {
        Expr::parse(value, at, &mut |at, what, help| self.fault(at, what, help))
    }

    fn object<'a>(
        &mut self,
        value: &'a Value,
        at: &str,
        known: &[&str],
    ) -> Option<&'a Map<String, Value>> {
        let Some(map) = value.as_object() else {
            self.fault(
                at,
                "this is no object",
                format!("write an object with {}", known.join(", ")),
            );
            return None;
        };
        for key in map.keys().filter(|it| !known.contains(&it.as_str())) {
            let help = match closest(key, known.iter().copied()) {
                Some(meant) => format!("did you mean {}?", quoted(meant)),
                None => format!("the keys are {}", known.join(", ")),
            };
            self.fault(
                &format!("{at}/{}", escaped(key)),
                format!("there is no key {}", quoted(key)),
                help,
            );
        }
        Some(map)
    }

    fn optional<T>(
        &mut self,
        map: &Map<String, Value>,
        key: &str,
        at: &str,
        wanted: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Option<T> {
        let value = map.get(key)?;
        let res = read(value);
        if res.is_none() {
            let at = format!("{at}/{key}");
            self.fault(
                &at,
                format!("{} cannot be {value}", quoted(key)),
                format!("write {wanted}"),
            );
        }
        res
    }

    /// A whole number from 0 to `most`; `None` where it is not given, and after a fault.
    fn number(&mut self, map: &Map<String, Value>, key: &str, at: &str, most: u64) -> Option<u64> {
        let wanted = if most == u64::MAX {
            "a number from 1 on".to_owned()
        } else {
            format!("a number from 1 to {most}")
        };
        self.optional(map, key, at, &wanted, |it| it.as_u64().filter(|it| (1..=most).contains(it)))
    }

    /// A time in milliseconds, at most `most`.
    fn time(
        &mut self,
        map: &Map<String, Value>,
        key: &str,
        at: &str,
        most: Duration,
    ) -> Option<Duration> {
        let most = u64::try_from(most.as_millis()).unwrap_or(u64::MAX);
        self.number(map, key, at, most).map(Duration::from_millis)
    }
}

/// Where a value stands.
#[derive(Clone, Copy)]
struct Place {
    /// Whether there is an item.
    has_item: bool,
    /// How many steps are over there.
    n_before: usize,
    /// Whether a missing value is an error.
    is_strict: bool,
    /// The step that it is part of.
    reader: Option<usize>,
}
