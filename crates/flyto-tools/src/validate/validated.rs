//! A tool whose input and output are checked.
//!
//! A call goes through [`Validated`] in this order: the schemas are compiled if they were not yet,
//! the input is checked, the tool runs, its structured output is checked. What is quick happens in
//! the task of the call; everything else goes to [`background`], under the deadline of the call.
//! One that is over its time there ends without having reached the tool.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde_json::Value;

use super::background::{self, Abandoned};
use super::budget::{Budget, MAX_STEPS};
use super::{SchemaError, Validator, Violation, Violations, bounds, compile, show};
use crate::call::CallContext;
use crate::error::{ToolError, ToolErrorKind};
use crate::failure::Failure;
use crate::input::Input;
use crate::metadata::{Metadata, Origin};
use crate::preview::{Preview, Problem};
use crate::result::ToolResult;
use crate::tool::{DescribeContext, Tool};

/// A tool of which one of the schemas cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to compile the {role} schema of {tool}")]
#[non_exhaustive]
pub struct InvalidSchema {
    /// Name of the tool.
    pub tool: String,
    /// Which of its schemas it is.
    pub role: SchemaRole,
    /// What is wrong with it.
    pub source: SchemaError,
}

/// What a schema describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SchemaRole {
    /// The arguments of a call.
    Input,
    /// The structured result.
    Output,
}

impl fmt::Display for SchemaRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Input => "input",
            Self::Output => "output",
        })
    }
}

/// A tool whose input and structured output are checked against its schemas.
///
/// Input that does not fit gives a result with [`Failure::BadInput`] that names every place, and
/// never reaches the tool. No input at all is checked as `{}`.
///
/// A result of which the [`data`](ToolResult::data) does not fit the output schema, or is missing,
/// becomes an error with [`Failure::BadOutput`]: the violations stand before the output, and
/// everything else in it is kept, [`undo`](ToolResult::undo) above all, for the call took place.
/// Results that are errors already are not checked.
///
/// A check that may take long runs in a thread of its own, of which there are four in a process. It
/// counts against the deadline of the call, and against the tool's own, which
/// [`preview`](Tool::preview) tells: time over gives [`Failure::TimedOut`] and names the place in the
/// schema. A call that is cancelled meanwhile gives [`Failure::Cancelled`].
///
/// ```
/// use flyto_tools::{CallContext, Failure, Input, NativeTool, Tool, validated};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Wait {
///     seconds: u8,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let wait = NativeTool::builder("wait", "Waits.").run(|_ctx, _: Wait| async { "done" })?;
/// let wait = validated(wait)?;
/// let input = Input::parse(r#"{"seconds": "3"}"#)?;
/// let result = wait.execute(&CallContext::new(), input).await?;
/// assert_eq!(result.failure, Some(Failure::BadInput));
/// assert!(result.output.contains("/seconds"));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Validated<T> {
    tool: T,
    schemas: Arc<OnceLock<Result<Schemas, InvalidSchema>>>,
}

/// What became of the check of an input.
#[derive(Debug)]
pub enum Checked {
    /// The input fits. A check that took long has a context for the rest of the call: the deadline of the tool's own
    /// runs from the begin of the check.
    Fits(Option<CallContext>),
    /// The input breaks the schema; the call ends with [`Violations::into_result`].
    Violates(Violations),
    /// The call ended while its input was checked: its time was over, or it was cancelled.
    Ended(Box<ToolResult>),
}

#[derive(Debug, Clone)]
struct Schemas {
    input: Validator,
    output: Option<Validator>,
}

/// Makes a tool check its input and output. Both schemas are compiled at once.
///
/// # Errors
///
/// [`InvalidSchema`] says which of them cannot be used, and why.
pub fn validated<T: Tool>(tool: T) -> Result<Validated<T>, InvalidSchema> {
    let validated = Validated::lazy(tool);
    match validated.schemas() {
        Ok(_) => Ok(validated),
        Err(err) => Err(err.clone()),
    }
}

impl<T: Tool> Validated<T> {
    /// Like [`validated`], but compiles the schemas at the first call: for programs that register
    /// many tools and call one. A schema that cannot be used then gives a [`ToolError`].
    #[must_use]
    pub fn lazy(tool: T) -> Self {
        Self { tool, schemas: Arc::default() }
    }

    /// The tool inside.
    #[must_use]
    pub fn get_ref(&self) -> &T {
        &self.tool
    }

    /// What the input is checked with, for checks without a call.
    ///
    /// # Errors
    ///
    /// [`InvalidSchema`] where one of the schemas cannot be used.
    pub fn input_validator(&self) -> Result<&Validator, &InvalidSchema> {
        self.schemas().as_ref().map(|it| &it.input)
    }

    /// Compiles them at the first call; the error is kept as well.
    fn schemas(&self) -> &Result<Schemas, InvalidSchema> {
        let (input, output) = (self.tool.input_schema(), self.tool.output_schema());
        self.schemas.get_or_init(|| Schemas::compile(self.tool.name(), input, output))
    }

    /// The schemas, unless it takes long to compile them.
    fn schemas_soon(&self) -> Option<&Result<Schemas, InvalidSchema>> {
        let is_small = || {
            bounds::is_small(self.tool.input_schema())
                && self.tool.output_schema().is_none_or(bounds::is_small)
        };
        (self.schemas.get().is_some() || is_small()).then(|| self.schemas())
    }

    /// Checks the input of a call, without the call: its first half. The deadline and the cancellation of `ctx` hold
    /// for a check that may take long.
    ///
    /// # Errors
    ///
    /// One of the schemas cannot be used ([`ToolErrorKind::InvalidSchema`]), or four checks that take long are at
    /// work already ([`ToolErrorKind::Overloaded`]).
    pub async fn check(&self, ctx: &CallContext, input: &Input) -> Result<Checked, ToolError> {
        let started = Instant::now();
        let verdict = match self.schemas_soon() {
            Some(Err(err)) => return Err(self.not_checked(err)),
            Some(Ok(schemas)) => schemas.input.check_quickly(input.value()),
            None => None,
        };
        match verdict {
            Some(Ok(())) => Ok(Checked::Fits(None)),
            Some(Err(violations)) => Ok(Checked::Violates(violations)),
            // Boxed, since few calls come here and the future of each would have room for it.
            None => Box::pin(self.check_slowly(ctx, input, started)).await,
        }
    }

    /// Executes a tool whose input was [checked](Self::check), and checks its structured output: the second half of a
    /// call.
    ///
    /// # Errors
    ///
    /// Those of the tool.
    pub async fn execute_checked(
        &self,
        ctx: &CallContext,
        input: Input,
    ) -> Result<ToolResult, ToolError> {
        let begun = Begun { at: Instant::now(), given: ctx.time_given() };
        let res = self.tool.execute(ctx, input).await?;
        match self.schemas() {
            Ok(Schemas { output: Some(validator), .. }) if !res.is_error() => {
                Box::pin(self.check_output(ctx, validator, res, begun)).await
            }
            _ => Ok(res),
        }
    }

    /// Compiles the schemas and checks the input, in a thread of its own.
    async fn check_slowly(
        &self,
        ctx: &CallContext,
        input: &Input,
        started: Instant,
    ) -> Result<Checked, ToolError> {
        let own = self.tool.preview(input).and_then(|it| it.deadline);
        let ctx = own.into_iter().fold(ctx.clone(), |ctx, own| ctx.within(started, own));
        let begun = Begun { at: started, given: ctx.time_given() };
        let schemas = Arc::clone(&self.schemas);
        let name = self.name().to_owned();
        let given = input.clone();
        let (input, output) = (self.input_schema().clone(), self.output_schema().cloned());
        let budget = Budget::new(MAX_STEPS);
        let spent = Arc::clone(&budget);
        let check = move || {
            let compile = || Schemas::compile(&name, &input, output.as_ref());
            match schemas.get_or_init(compile) {
                Ok(schemas) => Ok(schemas.input.check_within(given.value(), &spent)),
                Err(err) => Err(err.clone()),
            }
        };
        match background::run(&ctx, ctx.deadline(), &budget, check).await {
            Ok(Ok(Ok(()))) => Ok(Checked::Fits(Some(ctx))),
            Ok(Ok(Err(violations))) => Ok(Checked::Violates(violations)),
            Ok(Err(err)) => Err(self.not_checked(&err)),
            Err(why) => {
                let ended = self.abandoned(why, &begun, "input", &budget)?;
                Ok(Checked::Ended(Box::new(ended)))
            }
        }
    }

    /// A missing output where a schema promises one breaks it.
    async fn check_output(
        &self,
        ctx: &CallContext,
        validator: &Validator,
        mut res: ToolResult,
        begun: Begun,
    ) -> Result<ToolResult, ToolError> {
        let quick = res.data.as_ref().map(|it| validator.check_quickly(it));
        let verdict = match (&res.data, quick) {
            (Some(_), Some(Some(verdict))) => verdict,
            (Some(data), _) => {
                let budget = Budget::new(MAX_STEPS);
                let (validator, data, spent) =
                    (validator.clone(), data.clone(), Arc::clone(&budget));
                let check = move || validator.check_within(&data, &spent);
                match background::run(ctx, ctx.deadline(), &budget, check).await {
                    Ok(verdict) => verdict,
                    Err(why) => {
                        // The call took place: what it gave is kept.
                        let ended = self.abandoned(why, &begun, "output", &budget)?;
                        res.output = joined(ended.output, &res.output);
                        return Ok(match ended.failure {
                            Some(failure) => res.with_failure(failure),
                            None => res,
                        });
                    }
                }
            }
            (None, _) => Err(Violations::one(Violation::new("", "structured data", "nothing"))),
        };
        let Err(violations) = verdict else { return Ok(res) };
        res.output = joined(paragraph("output", &violations), &res.output);
        Ok(res.with_failure(Failure::BadOutput))
    }

    /// The tool was not reached.
    fn not_checked(&self, err: &InvalidSchema) -> ToolError {
        let message = format!("failed to check the input of {}", self.name());
        ToolError::new(ToolErrorKind::InvalidSchema, message).with_source(err.clone())
    }

    /// The result of a call that ended while a value was checked.
    fn abandoned(
        &self,
        why: Abandoned,
        begun: &Begun,
        what: &str,
        budget: &Budget,
    ) -> Result<ToolResult, ToolError> {
        // Of a deadline, the whole time that was given, and not what was left of it when the check began.
        let given = begun.given.filter(|_| why == Abandoned::TimedOut);
        let time = given.unwrap_or_else(|| begun.at.elapsed());
        let (ended, failure) = match why {
            Abandoned::TimedOut => ("timed out", Failure::TimedOut { after: Some(time) }),
            Abandoned::Cancelled => ("cancelled", Failure::Cancelled),
            Abandoned::Failed => {
                let message = format!("failed to check the {what} of {}", self.name());
                return Err(ToolError::new(ToolErrorKind::Overloaded, message));
            }
        };
        let name = self.name();
        let tool = match self.metadata().origin {
            Origin::Plugin { .. } => format!("plugin tool {name:?}"),
            Origin::ExecFile { .. } => format!("error: exec_tool {name:?}"),
            _ => format!("tool {name:?}"),
        };
        let place = budget.place();
        let schema = match (what, self.output_schema()) {
            ("output", Some(schema)) => schema,
            _ => self.input_schema(),
        };
        // Only some keywords say that it is their turn.
        let place = place.map_or_else(|| show::costliest(schema), |it| it.to_string());
        let place = show::pointer(&place);
        let time = time_text(time);
        let not_started = if what == "input" { "; nothing was started" } else { "" };
        let text = format!(
            "{tool} {ended} after {time} while its {what} was checked, at {place} of the schema{not_started}"
        );
        Ok(ToolResult::failed(failure, text))
    }
}

/// The begin of a call or of its first half, for the text and the failure of one that ends while a value is checked.
struct Begun {
    at: Instant,
    /// The time that it was given.
    given: Option<Duration>,
}

impl Schemas {
    /// # Errors
    ///
    /// The first of the two that cannot be used.
    fn compile(tool: &str, input: &Value, output: Option<&Value>) -> Result<Self, InvalidSchema> {
        let compiled = |role, schema| {
            let tool = tool.to_owned();
            compile(schema).map_err(|source| InvalidSchema { tool, role, source })
        };
        let input = compiled(SchemaRole::Input, input)?;
        let output = output.map(|it| compiled(SchemaRole::Output, it)).transpose()?;
        Ok(Self { input, output })
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<T: Tool> Tool for Validated<T> {
    fn name(&self) -> &str {
        self.tool.name()
    }

    fn description(&self, ctx: &DescribeContext) -> Cow<'_, str> {
        self.tool.description(ctx)
    }

    fn input_schema(&self) -> &Value {
        self.tool.input_schema()
    }

    fn output_schema(&self) -> Option<&Value> {
        self.tool.output_schema()
    }

    fn metadata(&self) -> &Metadata {
        self.tool.metadata()
    }

    fn preview(&self, input: &Input) -> Option<Preview> {
        self.tool.preview(input)
    }

    async fn preflight(&self, input: &Input) -> Vec<Problem> {
        self.tool.preflight(input).await
    }

    async fn execute(&self, ctx: &CallContext, input: Input) -> Result<ToolResult, ToolError> {
        match self.check(ctx, &input).await? {
            Checked::Fits(Some(ctx)) => self.execute_checked(&ctx, input).await,
            Checked::Fits(None) => self.execute_checked(ctx, input).await,
            Checked::Violates(violations) => Ok(violations.into_result()),
            Checked::Ended(result) => Ok(*result),
        }
    }
}

impl Violations {
    /// The result of a call whose input they are found in: [`Failure::BadInput`], with every place in its text.
    #[must_use]
    pub fn into_result(self) -> ToolResult {
        ToolResult::failed(Failure::BadInput, paragraph("input", &self))
    }
}

/// Both texts on lines of their own.
fn joined(first: String, rest: &str) -> String {
    if rest.is_empty() { first } else { format!("{first}\n{rest}") }
}

/// A time to a hundredth of a second, in the units that people read: `200ms`, `1.5s`, `1m30s`.
fn time_text(time: Duration) -> String {
    let hundredths = (time.as_millis() + 5) / 10;
    if hundredths < 100 {
        return format!("{}ms", hundredths * 10);
    }
    let (minutes, seconds) = (hundredths / 6_000, (hundredths % 6_000) as f64 / 100.0);
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m{seconds}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

/// One violation on one line; several on a line each.
fn paragraph(what: &str, violations: &Violations) -> String {
    if let ([only], 0) = (violations.shown.as_slice(), violations.n_more) {
        return format!("invalid {what}: {only}");
    }
    let mut res = format!("invalid {what}:");
    for violation in &violations.shown {
        res.push_str(&format!("\n  {violation}"));
    }
    if violations.n_more > 0 {
        res.push_str(&format!("\n  and {} more", violations.n_more));
    }
    res
}
