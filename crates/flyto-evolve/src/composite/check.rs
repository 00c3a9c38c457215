//! Whether the tools of a composite are there, take what they are given, and are as safe as the author claims.
//!
//! Safety is derived from the steps and their undo steps, and what a tool does not declare counts as unsafe. The walk over
//! composites that call composites visits each tool once and ends at [`MAX_COMPOSITE_DEPTH`].

use std::{collections::BTreeMap, fmt, sync::Arc};

use flyto_diagnostics::{closest, quoted};
use flyto_tools::{Metadata, Snapshot, compile};
use serde::Serialize;
use serde_json::Value;

use super::{
    Composite, Expr, MAX_COMPOSITE_DEPTH,
    approved::{composites_below, wrong_version},
    read,
    registered::{composite_of, definition_hash, definition_of, not_there},
    schemas::reaches,
    value::escaped,
};
use crate::{Body, DefinitionHash, ToolDefinition, run::metadata_of};

/// Tools that no composite calls: what makes tools, and what starts agents, is decided on by itself.
const NOT_IN_COMPOSITES: [&str; 4] = ["create_tool", "update_tool", "Agent", "Task"];

/// What keeps the steps of a composite from running as declared, at a place of the definition.
///
/// All faults of a proposal are told at once, in [`Refusal::Steps`](crate::Refusal::Steps). A call
/// that is refused for the same reason has the first one in its error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StepFault {
    /// JSON Pointer into the definition, such as `/composite/steps/2/with/path`.
    pub pointer: String,
    /// What is wrong, in one sentence.
    pub what: String,
    /// What to write instead.
    pub help: String,
}

impl StepFault {
    /// A fault at a JSON Pointer of the definition.
    fn new(pointer: &str, what: String, help: impl Into<String>) -> Self {
        Self { pointer: pointer.to_owned(), what, help: help.into() }
    }
}

impl fmt::Display for StepFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.pointer, self.what)
    }
}

/// The tools that a composite may call: those of a registry, and definitions that take the place of theirs.
#[derive(Debug, Clone)]
pub(crate) struct Catalog {
    snapshot: Snapshot,
    own: BTreeMap<String, Known>,
}

/// What is known of a tool.
#[derive(Debug, Clone)]
struct Known {
    metadata: Metadata,
    input_schema: Value,
    output_schema: Option<Value>,
    composite: Option<Arc<Composite>>,
    version: Option<u64>,
    sha256: Option<DefinitionHash>,
}

/// What the steps of a composite make of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Derived {
    pub(crate) read_only: bool,
    pub(crate) concurrency_safe: bool,
    /// `None` where a step does not declare it and no other is destructive.
    pub(crate) destructive: Option<bool>,
    pub(crate) open_world: Option<bool>,
    pub(crate) requires_checkpoint: bool,
    pub(crate) requires_reverse_thinking: bool,
    /// How many composites are above each other, this one included; 0 for any other tool.
    height: usize,
}

impl Derived {
    /// What a tool says of itself. What it does not declare is not safe.
    fn of(metadata: &Metadata) -> Self {
        Self {
            read_only: metadata.is_read_only(),
            concurrency_safe: metadata.is_concurrency_safe(),
            destructive: metadata.destructive,
            open_world: metadata.open_world,
            requires_checkpoint: metadata.requires_checkpoint,
            requires_reverse_thinking: metadata.requires_reverse_thinking,
            height: 0,
        }
    }

    /// What two steps make of their composite together. A promise holds only where both make it,
    /// and a danger holds where one has it; `None`, which is "not declared", lies between: it beats
    /// a "no", and a "yes" beats it.
    fn and(self, other: Self) -> Self {
        // Yes beats unknown, and unknown beats no.
        let either = |a: Option<bool>, b: Option<bool>| match (a, b) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (None, _) | (_, None) => None,
            _ => Some(false),
        };
        Self {
            read_only: self.read_only && other.read_only,
            concurrency_safe: self.concurrency_safe && other.concurrency_safe,
            destructive: either(self.destructive, other.destructive),
            open_world: either(self.open_world, other.open_world),
            requires_checkpoint: self.requires_checkpoint || other.requires_checkpoint,
            requires_reverse_thinking: self.requires_reverse_thinking
                || other.requires_reverse_thinking,
            height: self.height.max(other.height),
        }
    }
}

impl Catalog {
    pub(crate) fn new(snapshot: Snapshot) -> Self {
        Self { snapshot, own: BTreeMap::new() }
    }

    /// Puts a definition in the place of the tool of its name.
    pub(crate) fn with(mut self, def: &ToolDefinition) -> Self {
        let composite = match &def.body {
            Body::Composite(value) => read(value).ok().map(Arc::new),
            _ => None,
        };
        let known = Known {
            metadata: metadata_of(def),
            input_schema: def.input_schema.clone(),
            output_schema: None,
            composite,
            version: Some(def.version),
            sha256: Some(def.hash()),
        };
        self.own.insert(def.name.clone(), known);
        self
    }

    /// What is known of a tool by its name or an alias; a definition that takes the place of a tool
    /// comes first.
    fn find(&self, name: &str) -> Option<Known> {
        if let Some(known) = self.own.get(name) {
            return Some(known.clone());
        }
        let tool = self.snapshot.get(name)?.tool();
        let composite = composite_of(&**tool);
        // An alias finds what took the place of its tool.
        if let Some(known) = composite.and_then(|it| self.own.get(&it.definition().name)) {
            return Some(known.clone());
        }
        let version = match tool.metadata().origin {
            flyto_tools::Origin::Evolved { version } => Some(version),
            _ => None,
        };
        Some(Known {
            metadata: tool.metadata().clone(),
            input_schema: tool.input_schema().clone(),
            output_schema: tool.output_schema().cloned(),
            composite: composite.map(|it| Arc::clone(it.composite())),
            version,
            sha256: definition_hash(&**tool),
        })
    }

    /// The names of all tools, for the advice where one is mistyped.
    fn names(&self) -> Vec<String> {
        let registered = self.snapshot.iter().map(|it| it.id().to_string());
        registered.chain(self.own.keys().cloned()).collect()
    }

    /// Whether calls of the tool may run beside others, as it is registered now.
    pub(super) fn is_concurrency_safe(&self, name: &str) -> bool {
        self.find(name).is_some_and(|it| it.metadata.is_concurrency_safe())
    }

    /// The hash of a tool that was made at run time.
    pub(super) fn hash_of(&self, name: &str) -> Option<DefinitionHash> {
        self.find(name)?.sha256
    }

    /// What a tool says of itself.
    pub(super) fn metadata_of(&self, name: &str) -> Option<Metadata> {
        self.find(name).map(|it| it.metadata)
    }

    /// The text of a tool that was made at run time, as it is registered.
    pub(super) fn definition_of(&self, name: &str) -> Option<ToolDefinition> {
        definition_of(&**self.snapshot.get(name)?.tool()).cloned()
    }

    /// The version of a tool that was made at run time.
    pub(super) fn version_of(&self, name: &str) -> Option<u64> {
        self.find(name)?.version
    }

    /// A tool that is a composite.
    pub(super) fn composite_of(&self, name: &str) -> Option<Arc<Composite>> {
        self.find(name)?.composite
    }

    /// What the tools of a composite make of it.
    pub(crate) fn derive(&self, name: &str, composite: &Composite) -> Result<Derived, StepFault> {
        self.walk(name, composite, &mut Vec::new(), &mut BTreeMap::new())
    }

    /// What the steps of one composite make of it. `path` has the names of the composites that are
    /// being walked, so a name that comes again is a cycle; `known` has what was found of a tool
    /// before, so each tool is walked once.
    ///
    /// # Errors
    ///
    /// A tool that is not there, a cycle with the names on it, and more than
    /// [`MAX_COMPOSITE_DEPTH`] composites above each other.
    fn walk(
        &self,
        name: &str,
        composite: &Composite,
        path: &mut Vec<String>,
        known: &mut BTreeMap<String, Derived>,
    ) -> Result<Derived, StepFault> {
        path.push(name.to_owned());
        let mut res: Option<Derived> = None;
        for (index, step) in composite.steps.iter().enumerate() {
            let at = format!("/composite/steps/{index}");
            let undo = step.undo.as_ref().map(|it| (format!("{at}/undo/tool"), &it.tool));
            for (at, tool) in [(format!("{at}/tool"), &step.tool)].into_iter().chain(undo) {
                let found = self.tool(&at, tool, path, known)?;
                res = Some(res.map_or(found, |it| it.and(found)));
            }
        }
        path.pop();
        let mut res = res.unwrap_or_else(|| Derived::of(Metadata::undeclared()));
        res.height += 1;
        if res.height + path.len() > MAX_COMPOSITE_DEPTH {
            let what =
                format!("composite tools call each other more than {MAX_COMPOSITE_DEPTH} deep");
            return Err(StepFault::new(
                "/composite/steps",
                what,
                "write the steps of the inner tools here",
            ));
        }
        Ok(res)
    }

    /// What one tool that a step calls makes of the composite. `at` is the pointer of its name, for
    /// the fault.
    ///
    /// An inner composite counts by its steps and by its claims, whichever is less safe: a claim
    /// that it does not make is taken from its steps.
    fn tool(
        &self,
        at: &str,
        tool: &str,
        path: &mut Vec<String>,
        known: &mut BTreeMap<String, Derived>,
    ) -> Result<Derived, StepFault> {
        if path.iter().any(|it| it == tool) {
            let what = format!("the tools call each other: {} -> {tool}", path.join(" -> "));
            return Err(StepFault::new(at, what, "call a tool that does not call this one"));
        }
        if let Some(res) = known.get(tool) {
            return Ok(*res);
        }
        let Some(found) = self.find(tool) else {
            let what = format!("there is no tool {}", quoted(tool));
            let names = self.names();
            // One of those above would call itself.
            let others =
                names.iter().map(String::as_str).filter(|it| !path.iter().any(|above| above == it));
            let help = match closest(tool, others) {
                Some(meant) => format!("did you mean {}?", quoted(meant)),
                None => not_there(tool, "flyto evolve"),
            };
            return Err(StepFault::new(at, what, help));
        };
        if path.len() > MAX_COMPOSITE_DEPTH {
            let what =
                format!("composite tools call each other more than {MAX_COMPOSITE_DEPTH} deep");
            return Err(StepFault::new(at, what, "write the steps of the inner tools here"));
        }
        let res = match &found.composite {
            Some(inner) => {
                let inner = self.walk(tool, inner, path, known)?;
                // What the inner one declares beyond its steps holds as well.
                Derived {
                    height: inner.height,
                    ..inner.and(Derived { height: 0, ..Derived::of_claims(&found.metadata, inner) })
                }
            }
            None => Derived::of(&found.metadata),
        };
        known.insert(tool.to_owned(), res);
        Ok(res)
    }
}

impl Derived {
    /// The claims of a composite, of which those that it does not make are its steps'.
    fn of_claims(metadata: &Metadata, steps: Self) -> Self {
        Self {
            read_only: metadata.is_read_only(),
            concurrency_safe: metadata.is_concurrency_safe(),
            destructive: metadata.destructive.or(steps.destructive),
            ..steps
        }
    }
}

/// Compares a definition with the tools that it calls. Gives what its steps make of it, and what a reader should know.
pub(crate) fn check(
    def: &ToolDefinition,
    composite: &Composite,
    catalog: &Catalog,
) -> Result<(Derived, Vec<String>), Vec<StepFault>> {
    let mut faults = Vec::new();
    for (index, step) in composite.steps.iter().enumerate() {
        let at = format!("/composite/steps/{index}");
        call(catalog, &at, &step.tool, &step.with, &mut faults);
        if let Some(undo) = &step.undo {
            call(catalog, &format!("{at}/undo"), &undo.tool, &undo.with, &mut faults);
        }
        let is_safe = catalog.is_concurrency_safe(&step.tool);
        if step.max_parallel > 1 && !is_safe {
            let what = format!("calls of {} may not run beside each other", quoted(&step.tool));
            faults.push(StepFault::new(&format!("{at}/max_parallel"), what, "leave it out"));
        }
    }
    lists(composite, &mut faults);
    pointers(def, composite, catalog, &mut faults);
    if !faults.is_empty() {
        return Err(faults);
    }
    let derived = catalog.derive(&def.name, composite).map_err(|it| vec![it])?;
    versions(&def.name, composite, catalog).map_err(|it| vec![it])?;
    claims(def, composite, catalog, derived).map_err(|it| vec![it])?;
    let unused = composite.unused();
    let mut notes: Vec<String> =
        unused.into_iter().map(|it| format!("no step uses what the step {it:?} gives")).collect();
    if composite.steps.iter().any(|it| it.undo.is_some()) {
        let bare = composite.steps.iter().filter(|it| it.undo.is_none()).map(|it| it.id.as_str());
        let bare: Vec<&str> = bare.collect();
        let rest = if bare.is_empty() {
            String::new()
        } else {
            format!("; steps without one: {}", bare.join(", "))
        };
        notes.push(format!("undo is tried as well as it can be, and may fail{rest}"));
    }
    Ok((derived, notes))
}

/// Whether each step over items is given what may be a list: one with another constant would fail at each call.
fn lists(composite: &Composite, faults: &mut Vec<StepFault>) {
    for (index, step) in composite.steps.iter().enumerate() {
        if step.for_each.as_ref().is_some_and(|it| !it.may_be_list()) {
            let at = format!("/composite/steps/{index}/for_each");
            let what = "\"for_each\" takes a list, and the value is never one".to_owned();
            faults.push(StepFault::new(&at, what, "write a list, or a reference to one"));
        }
    }
}

/// What has to hold at each call: the tools are there, at the versions asked for, and as safe as was approved.
pub(super) fn check_again(
    def: &ToolDefinition,
    composite: &Composite,
    catalog: &Catalog,
) -> Result<(), StepFault> {
    let derived = catalog.derive(&def.name, composite)?;
    versions(&def.name, composite, catalog)?;
    claims(def, composite, catalog, derived)
}

/// Whether each step that asks for a version gets it, those of composites below included. A tool that has no versions, since it
/// was not made at run time, fits no step that asks for one.
fn versions(name: &str, composite: &Composite, catalog: &Catalog) -> Result<(), StepFault> {
    let inner = composites_below(composite, |it| catalog.composite_of(it));
    let inner = inner.iter().map(|it| (it.0.as_str(), &*it.1));
    let version = |tool: &str| catalog.version_of(tool);
    for (of, composite) in [(name, composite)].into_iter().chain(inner) {
        if let Some((index, what)) = wrong_version(composite, version) {
            return Err(match of == name {
                true => StepFault::new(
                    &format!("/composite/steps/{index}/version"),
                    what,
                    "write the version that is there, or leave it out",
                ),
                false => StepFault::new(
                    "/composite/steps",
                    format!("the tool {}, which it calls, cannot be called: {what}", quoted(of)),
                    format!(
                        "propose {} again first, with the version that is there or without one",
                        quoted(of)
                    ),
                ),
            });
        }
    }
    Ok(())
}

/// Whether the definition claims no more than its steps give.
fn claims(
    def: &ToolDefinition,
    composite: &Composite,
    catalog: &Catalog,
    derived: Derived,
) -> Result<(), StepFault> {
    let first = |is: &dyn Fn(&Metadata) -> bool| {
        let mut tools = composite.tools();
        let found = tools.find(|it| catalog.find(it).is_none_or(|it| is(&it.metadata)));
        found.unwrap_or("a tool that one of them calls").to_owned()
    };
    let refuse = |key: &str, what: &str, tool: String| {
        let what = format!(
            "\"{key}\" says that {what}, and the step tool {} does not declare that",
            quoted(&tool)
        );
        Err(StepFault::new(
            &format!("/{key}"),
            what,
            "a composite is never safer than its steps: leave it out",
        ))
    };
    if def.read_only && !derived.read_only {
        return refuse("read_only", "calls change nothing", first(&|it| !it.is_read_only()));
    }
    if def.concurrency_safe && !derived.concurrency_safe {
        return refuse(
            "concurrency_safe",
            "calls may run beside each other",
            first(&|it| !it.is_concurrency_safe()),
        );
    }
    if composite.destructive == Some(false) && derived.destructive != Some(false) {
        return refuse(
            "composite/destructive",
            "calls destroy nothing",
            first(&Metadata::counts_as_destructive),
        );
    }
    Ok(())
}

/// Compares what a call is given with the schema of the tool.
///
/// Three things are compared, as far as they are known before a call: that required members are
/// given, that no member is given which the schema closes out, and that each value without a
/// reference in it fits the schema of its member.
fn call(catalog: &Catalog, at: &str, tool: &str, with: &Expr, faults: &mut Vec<StepFault>) {
    let in_with = |key: &str| format!("{at}/with/{}", escaped(key));
    if NOT_IN_COMPOSITES.contains(&tool) {
        let what = format!("{} is not called by other tools", quoted(tool));
        faults.push(StepFault::new(&format!("{at}/tool"), what, "let the agent call it"));
    }
    // A tool that is not there is told with the graph.
    let Some(known) = catalog.find(tool) else { return };
    let schema = &known.input_schema;
    let members: Vec<(&str, Option<&Value>)> = match with {
        Expr::Object(members) => members
            .iter()
            .map(|(key, it)| {
                (
                    key.as_str(),
                    match it {
                        Expr::Literal(value) => Some(value),
                        _ => None,
                    },
                )
            })
            .collect(),
        Expr::Literal(Value::Object(map)) => {
            map.iter().map(|(key, it)| (key.as_str(), Some(it))).collect()
        }
        Expr::Ref(_) | Expr::Default(..) => return,
        _ => {
            let what = "what a tool is called with is an object".to_owned();
            faults.push(StepFault::new(&format!("{at}/with"), what, "write `{\"NAME\": value}`"));
            return;
        }
    };
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for name in required.filter(|it| !members.iter().any(|member| member.0 == *it)) {
        let what = format!("the tool {} needs {}", quoted(tool), quoted(name));
        faults.push(StepFault::new(
            &format!("{at}/with"),
            what,
            format!("add {} to \"with\"", quoted(name)),
        ));
    }
    let properties = schema["properties"].as_object();
    for (key, literal) in members {
        match properties.and_then(|it| it.get(key)) {
            None if schema["additionalProperties"] == false => {
                let what = format!("the tool {} takes no {}", quoted(tool), quoted(key));
                let names = properties.into_iter().flat_map(|it| it.keys()).map(String::as_str);
                let help = match closest(key, names) {
                    Some(meant) => format!("did you mean {}?", quoted(meant)),
                    None => "remove it".to_owned(),
                };
                faults.push(StepFault::new(&in_with(key), what, help));
            }
            Some(part) => {
                let Some(literal) = literal else { continue };
                // A part that refers to another one is checked when the tool is called.
                if part.to_string().contains("\"$ref\"") {
                    continue;
                }
                if let Ok(validator) = compile(part)
                    && let Err(violations) = validator.check(literal)
                {
                    let what =
                        format!("the tool {} does not take this: {violations}", quoted(tool));
                    faults.push(StepFault::new(
                        &in_with(key),
                        what,
                        "write a value that fits its schema",
                    ));
                }
            }
            None => {}
        }
    }
}

/// Compares every reference with the schema of what it refers to, where there is one.
fn pointers(
    def: &ToolDefinition,
    composite: &Composite,
    catalog: &Catalog,
    faults: &mut Vec<StepFault>,
) {
    let mut look = |at: &str, expr: &Expr| {
        expr.each_ref(&mut |it| {
            let schema = match it.tokens[0].as_str() {
                "input" => Some((def.input_schema.clone(), 1)),
                "steps" if it.tokens.get(2).is_some_and(|it| it == "output") => {
                    let step =
                        composite.steps.iter().find(|step| Some(step.id.as_str()) == it.step());
                    let step = step.filter(|it| it.for_each.is_none());
                    step.and_then(|it| catalog.find(&it.tool)?.output_schema).map(|it| (it, 3))
                }
                _ => None,
            };
            let Some((schema, n_before)) = schema else { return };
            if let Err((what, help)) = reaches(&schema, &it.tokens[n_before..]) {
                faults.push(StepFault::new(
                    at,
                    format!("{} has no value: {what}", quoted(&it.pointer)),
                    help,
                ));
            }
        });
    };
    for (index, step) in composite.steps.iter().enumerate() {
        step.each_expr(&mut |it| look(&format!("/composite/steps/{index}"), it));
    }
    look("/composite/output", &composite.output);
}
