//! The contract of a tool.

use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::call::CallContext;
use crate::error::ToolError;
use crate::input::Input;
use crate::metadata::Metadata;
use crate::preview::{Preview, Problem};
use crate::registry::Snapshot;
use crate::result::ToolResult;

/// Something that an agent can call by name, with JSON.
///
/// A tool carries out its work and nothing else: it draws nothing and decides no permission. What
/// it says about itself stays the same as long as it is registered; a tool that changed is
/// registered anew.
///
/// Most native tools are easier to write as a function; see [`NativeTool`](crate::NativeTool). A tool with a
/// state of its own, or whose schema comes from elsewhere, implements the trait:
///
/// ```
/// use std::borrow::Cow;
///
/// use flyto_tools::{CallContext, DescribeContext, Input, Tool, ToolError, ToolResult};
/// use serde_json::{Value, json};
///
/// #[derive(Debug)]
/// struct Greet {
///     schema: Value,
/// }
///
/// #[async_trait::async_trait]
/// impl Tool for Greet {
///     fn name(&self) -> &str {
///         "greet"
///     }
///
///     fn description(&self, _: &DescribeContext) -> Cow<'_, str> {
///         "Greets a person by name.".into()
///     }
///
///     fn input_schema(&self) -> &Value {
///         &self.schema
///     }
///
///     async fn execute(&self, _: &CallContext, input: Input) -> Result<ToolResult, ToolError> {
///         Ok(ToolResult::text(format!("Hello, {}!", input.value()["name"].as_str().unwrap_or("you"))))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let greet = Greet { schema: json!({"type": "object", "properties": {"name": {"type": "string"}}}) };
/// let result = greet.execute(&CallContext::new(), Input::parse(r#"{"name": "Ada"}"#)?).await?;
/// assert_eq!(result.output, "Hello, Ada!");
/// # Ok(()) }
/// ```
#[async_trait]
pub trait Tool: Any + fmt::Debug + Send + Sync {
    /// The name: `tool`, or `owner:tool`. See [`ToolId`](crate::ToolId) for what it may hold.
    fn name(&self) -> &str;

    /// What the tool does and when to use it, for the model.
    fn description(&self, ctx: &DescribeContext) -> Cow<'_, str>;

    /// JSON Schema (2020-12, unless `$schema` says otherwise) of the input.
    fn input_schema(&self) -> &Value;

    /// JSON Schema of [`ToolResult::data`], for tools that promise a structured result.
    fn output_schema(&self) -> Option<&Value> {
        None
    }

    /// What the tool declares about itself. By default nothing, which reads conservatively.
    fn metadata(&self) -> &Metadata {
        Metadata::undeclared()
    }

    /// What a call with `input` would touch. `None`: the tool cannot say.
    ///
    /// Nothing is started, and answering is quick. `input` need not fit the schema.
    fn preview(&self, input: &Input) -> Option<Preview> {
        let _ = input;
        None
    }

    /// What is known to keep a call with `input` from starting, beyond what [`preview`](Self::preview) tells: a program that
    /// is not there, say. None promises nothing.
    ///
    /// Nothing is started. Unlike a preview it may wait for an answer, of the machine on which a program would run.
    async fn preflight(&self, input: &Input) -> Vec<Problem> {
        let _ = input;
        Vec::new()
    }

    /// Carries out a call.
    ///
    /// `input` may be assumed to fit the schema: hosts check it first. Dropping the future is a
    /// normal way to end a call; cancelling `ctx` is the gentler one.
    ///
    /// # Errors
    ///
    /// A [`ToolError`] says that the tool could not be tried. What the model can react to, a
    /// program's exit code or a missed deadline included, is a [`ToolResult`] with a failure.
    async fn execute(&self, ctx: &CallContext, input: Input) -> Result<ToolResult, ToolError>;
}

impl dyn Tool {
    /// The tool as the type that it has, for a host that put it into a registry and asks for more than the
    /// trait tells.
    ///
    /// What a wrapper holds is asked of the wrapper: of a [`Validated`](crate::Validated), `get_ref` gives it.
    ///
    /// ```
    /// use flyto_tools::{NativeTool, NoInput, Tool};
    ///
    /// let tool: Box<dyn Tool> =
    ///     Box::new(NativeTool::builder("ping", "Answers.").run(async |_, _: NoInput| "pong")?);
    /// assert!(tool.downcast_ref::<NativeTool>().is_some());
    /// # Ok::<(), flyto_tools::NativeToolError>(())
    /// ```
    #[must_use]
    pub fn downcast_ref<T: Tool>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }
}

/// Calls tools by their names on behalf of a tool that is being called: a composite, a batch.
///
/// A host implements it, so that such a call goes through the same gates as any other, and a crate below the
/// host can have tools called without knowing it. The deadline, the cancellation and the listeners are those of
/// the parent call.
#[async_trait]
pub trait ToolCaller: fmt::Debug + Send + Sync {
    /// Calls the tool with this id, alias or wire name.
    ///
    /// # Errors
    ///
    /// The tool is not there ([`ToolErrorKind::NotFound`](crate::ToolErrorKind::NotFound)), a gate refused the call
    /// ([`ToolErrorKind::Refused`](crate::ToolErrorKind::Refused)), or it could not be tried. What it did, a failure
    /// included, is the result.
    async fn call_tool(
        &self,
        parent: &CallContext,
        name: &str,
        input: Input,
    ) -> Result<ToolResult, ToolError>;
}

const _: () = {
    const fn stays_dyn(_: Option<&dyn Tool>) {}
    stays_dyn(None);
};

/// Shared tools are tools.
#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<T: Tool + ?Sized> Tool for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn description(&self, ctx: &DescribeContext) -> Cow<'_, str> {
        (**self).description(ctx)
    }

    fn input_schema(&self) -> &Value {
        (**self).input_schema()
    }

    fn output_schema(&self) -> Option<&Value> {
        (**self).output_schema()
    }

    fn metadata(&self) -> &Metadata {
        (**self).metadata()
    }

    fn preview(&self, input: &Input) -> Option<Preview> {
        (**self).preview(input)
    }

    async fn preflight(&self, input: &Input) -> Vec<Problem> {
        (**self).preflight(input).await
    }

    async fn execute(&self, ctx: &CallContext, input: Input) -> Result<ToolResult, ToolError> {
        (**self).execute(ctx, input).await
    }
}

/// The reader for which a tool describes itself: which other tools are there, and what the host lets it know.
///
/// The default knows nothing, and every tool has a description for that.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DescribeContext {
    tools: Snapshot,
    facts: BTreeMap<String, Value>,
}

impl DescribeContext {
    /// Knows nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the tools that the reader of the description has, too.
    #[must_use]
    pub fn with_tools(mut self, tools: Snapshot) -> Self {
        self.tools = tools;
        self
    }

    /// Adds something the host lets tools know, such as `working_dir` or `model`.
    #[must_use]
    pub fn with_fact(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.facts.insert(name.into(), value.into());
        self
    }

    /// The tools that the reader of the description has, too.
    #[must_use]
    pub fn tools(&self) -> &Snapshot {
        &self.tools
    }

    /// Something the host lets tools know.
    #[must_use]
    pub fn fact(&self, name: &str) -> Option<&Value> {
        self.facts.get(name)
    }
}
