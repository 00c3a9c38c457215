//! A tool whose input and output are checked.

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

use async_trait::async_trait;
use serde_json::Value;

use super::{SchemaError, Validator, Violation, Violations, compile};
use crate::call::CallContext;
use crate::error::{ToolError, ToolErrorKind};
use crate::failure::Failure;
use crate::input::Input;
use crate::metadata::Metadata;
use crate::preview::Preview;
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
#[derive(Debug)]
pub struct Validated<T> {
    tool: T,
    schemas: OnceLock<Result<Schemas, InvalidSchema>>,
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
        Self { tool, schemas: OnceLock::new() }
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

    fn schemas(&self) -> &Result<Schemas, InvalidSchema> {
        self.schemas.get_or_init(|| {
            let compiled = |role, schema| {
                let tool = || self.tool.name().to_owned();
                compile(schema).map_err(|source| InvalidSchema { tool: tool(), role, source })
            };
            let input = compiled(SchemaRole::Input, self.tool.input_schema())?;
            let output = self.tool.output_schema();
            let output = output.map(|it| compiled(SchemaRole::Output, it)).transpose()?;
            Ok(Schemas { input, output })
        })
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

    async fn execute(&self, ctx: &CallContext, input: Input) -> Result<ToolResult, ToolError> {
        let schemas = self.schemas().as_ref().map_err(|err| {
            let message = format!("failed to check the input of {}", self.name());
            ToolError::new(ToolErrorKind::InvalidSchema, message).with_source(err.clone())
        })?;
        if let Err(violations) = schemas.input.check(input.value()) {
            let text = paragraph("input", &violations);
            return Ok(ToolResult::failed(Failure::BadInput, text));
        }
        let res = self.tool.execute(ctx, input).await?;
        Ok(match &schemas.output {
            Some(validator) if !res.is_error() => check_output(validator, res),
            _ => res,
        })
    }
}

fn check_output(validator: &Validator, mut res: ToolResult) -> ToolResult {
    let violations = match &res.data {
        Some(data) => match validator.check(data) {
            Ok(()) => return res,
            Err(violations) => violations,
        },
        None => Violations::one(Violation {
            pointer: String::new(),
            expected: "structured data".into(),
            got: "nothing".into(),
        }),
    };
    let text = paragraph("output", &violations);
    res.output = if res.output.is_empty() { text } else { format!("{text}\n{}", res.output) };
    res.with_failure(Failure::BadOutput)
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
