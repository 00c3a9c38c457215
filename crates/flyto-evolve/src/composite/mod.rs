//! Tools that call other tools: a pipeline that is declared, checked and reviewed as data.
//!
//! A value of a step is JSON, in which a reference is a JSON Pointer (RFC 6901) to the input or to the result of an earlier
//! step. A reference gives one value with its type, or none; nothing is ever pasted into a text, and nothing is evaluated.
//! So the graph of the steps is what their references say, and whether it can run is known before a person is asked.
//!
//! ```json
//! {"steps": [
//!    {"id": "log", "tool": "git_log", "with": {"dir": {"$ref": "/input/repo"}, "limit": 50}},
//!    {"id": "save", "tool": "write_file",
//!     "with": {"path": "NOTES.md", "text": {"$concat": ["# log\n", {"$ref": "/steps/log/text"}]}},
//!     "when": {"not_empty": {"$ref": "/steps/log/text"}},
//!     "undo": {"tool": "delete_file", "with": {"path": "NOTES.md"}}, "on_error": "undo"}],
//!  "output": {"saved": {"$default": [{"$ref": "/steps/save/output"}, null]}},
//!  "timeout_ms": 120000}
//! ```

mod approved;
mod calls;
mod check;
mod condition;
mod cut;
mod kept;
mod outcome;
mod places;
mod read;
mod registered;
mod report;
mod results;
mod run;
mod schemas;
mod tool;
mod undo;
mod value;

use std::time::Duration;

pub use approved::NeedsReview;
pub(crate) use approved::{ToolHashes, changed};
pub(crate) use calls::{Calls, cycle, depth};
pub use check::StepFault;
pub(crate) use check::{Catalog, check};
use condition::Condition;
pub(crate) use read::read;
pub(crate) use registered::{composite_of, definition_of};
pub use report::{StepReport, StepStatus, UndoReport};
pub use tool::CompositeTool;
use value::Expr;

use crate::{Body, ToolDefinition};

/// The most steps of a composite tool.
pub const MAX_STEPS: usize = 32;
/// The longest declaration of steps and output, in bytes as compact JSON: 64 KiB, as with scripts.
pub const MAX_COMPOSITE_BYTES: usize = 64 * 1024;
/// How deep composite tools may call each other. One that calls no composite has depth 1.
pub const MAX_COMPOSITE_DEPTH: usize = 5;
/// The most items of `for_each` that a step may ask for by `max_items`; 100 unless it asks.
pub const MAX_ITEMS: usize = 1000;
/// How much of the text of one result is kept, in bytes: 256 KiB. Of a longer one, the start and the end are, with a line
/// between them that says how much is missing and where the whole lies.
pub const MAX_STEP_BYTES: usize = 256 * 1024;
/// The largest value that a step is given, that all items of a step give together, or that the tool delivers, in bytes as
/// JSON: 1 MiB.
pub const MAX_VALUE_BYTES: usize = 1024 * 1024;
/// The most calls that one call of a composite makes, retries and undo included.
pub const MAX_CALLS: usize = 2000;

const DEFAULT_ITEMS: usize = 100;
const MAX_PARALLEL: usize = 8;
const MAX_RETRIES: u64 = 5;
const MAX_RETRY_DELAY: Duration = Duration::from_secs(60);

/// A declaration that was read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Composite {
    pub(crate) steps: Vec<Step>,
    /// What the tool delivers; the output of the last step where it does not say.
    output: Expr,
    timeout: Option<Duration>,
    /// What the author claims; `None` where nothing is said.
    pub(crate) destructive: Option<bool>,
}

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step {
    id: String,
    tool: String,
    /// The version of a run-time tool that it has to be.
    version: Option<u64>,
    with: Expr,
    after: Vec<usize>,
    when: Option<Condition>,
    for_each: Option<Expr>,
    max_items: usize,
    max_parallel: usize,
    retries: u64,
    delay: Duration,
    timeout: Option<Duration>,
    on_error: OnError,
    undo: Option<Undo>,
}

/// The call that takes a step back.
#[derive(Debug, Clone, PartialEq)]
struct Undo {
    tool: String,
    with: Expr,
}

/// What becomes of the rest when a step fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnError {
    /// No further step is started.
    Stop,
    /// The other steps go on.
    Continue,
    /// As `Stop`, and what was done is taken back.
    Undo,
}

impl Composite {
    /// The declaration of a definition; `None` for a script, and for one that cannot be read.
    pub(crate) fn of(def: &ToolDefinition) -> Option<Self> {
        match &def.body {
            Body::Composite(value) => read(value).ok(),
            _ => None,
        }
    }

    /// The same with one try for each step.
    fn without_retries(&self) -> Self {
        let steps = self.steps.iter().map(|it| Step { retries: 0, ..it.clone() });
        Self { steps: steps.collect(), ..self.clone() }
    }

    /// The tools of steps and of undo steps, each as often as it is used.
    pub(crate) fn tools(&self) -> impl Iterator<Item = &str> {
        let undo = self.steps.iter().filter_map(|it| it.undo.as_ref());
        self.steps.iter().map(|it| it.tool.as_str()).chain(undo.map(|it| it.tool.as_str()))
    }

    /// Whether another step, or what the tool delivers, refers to what a step gives.
    fn is_referred_to(&self, index: usize) -> bool {
        let id = &self.steps[index].id;
        let mut res = false;
        let mut look = |it: &Expr| it.each_ref(&mut |it| res |= it.step() == Some(id));
        look(&self.output);
        let others = self.steps.iter().enumerate().filter(|it| it.0 != index);
        others.for_each(|it| it.1.each_expr(&mut look));
        res
    }

    /// The steps that have to be over before a step starts: those that it refers to and those that it names in `after`.
    fn needs(&self, index: usize) -> Vec<usize> {
        let step = &self.steps[index];
        let mut res = step.after.clone();
        let mut refer = |id: &str| {
            let found = self.steps[..index].iter().position(|it| it.id == id);
            res.extend(found);
        };
        step.each_expr(&mut |expr| {
            expr.each_ref(&mut |it| it.step().into_iter().for_each(&mut refer))
        });
        res.sort_unstable();
        res.dedup();
        res
    }

    /// Steps that only read, and of which no reference and no `after` speaks.
    fn unused(&self) -> Vec<&str> {
        let mut used: Vec<String> = Vec::new();
        self.output.each_ref(&mut |it| used.extend(it.step().map(str::to_owned)));
        for step in &self.steps {
            used.extend(step.after.iter().map(|it| self.steps[*it].id.clone()));
            step.each_expr(&mut |expr| {
                expr.each_ref(&mut |it| {
                    used.extend(it.step().filter(|it| *it != step.id).map(str::to_owned));
                });
            });
        }
        let ids = self.steps.iter().map(|it| it.id.as_str());
        ids.filter(|it| !used.iter().any(|u| u == it)).collect()
    }
}

impl Step {
    /// Every value of the step, that of its undo included.
    fn each_expr<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        visit(&self.with);
        self.for_each.iter().for_each(&mut *visit);
        self.undo.iter().for_each(|it| visit(&it.with));
        if let Some(when) = &self.when {
            when.each_expr(visit);
        }
    }

    /// Whether its output may be missing though the composite goes on.
    fn may_be_missing(&self) -> bool {
        self.when.is_some() || self.on_error == OnError::Continue
    }
}
