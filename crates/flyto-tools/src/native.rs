//! Tools that are functions.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;

use async_trait::async_trait;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::CallContext;
use crate::error::{Chain, ToolError, ToolErrorKind};
use crate::failure::Failure;
use crate::input::Input;
use crate::metadata::Metadata;
use crate::name::{InvalidName, ToolId};
use crate::preview::Preview;
use crate::result::ToolResult;
use crate::tool::{DescribeContext, Tool};

#[cfg(test)]
mod tests;

/// A tool that is an async function of one argument type, whose JSON Schema is derived.
///
/// Field names, doc comments and serde attributes of the type become the schema that the model
/// reads. Input that does not fit the type gives a result with
/// [`Failure::BadInput`] and never reaches the function.
///
/// ```
/// use flyto_tools::{CallContext, NativeTool, Tool};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Repeat {
///     /// What to repeat.
///     text: String,
///     /// How often.
///     #[serde(default = "twice")]
///     times: u8,
/// }
///
/// fn twice() -> u8 {
///     2
/// }
///
/// async fn repeat(_ctx: CallContext, args: Repeat) -> String {
///     args.text.repeat(args.times.into())
/// }
///
/// let tool = NativeTool::builder("repeat", "Repeats a text.").run(repeat)?;
/// assert_eq!(tool.input_schema()["required"], serde_json::json!(["text"]));
/// # Ok::<(), flyto_tools::NativeToolError>(())
/// ```
pub struct NativeTool {
    about: Builder,
    input_schema: Value,
    function: Box<dyn Function>,
}

/// Collects what a [`NativeTool`] says about itself; [`run`](Self::run) completes it.
#[must_use = "a builder makes no tool before `run`"]
pub struct Builder {
    name: String,
    description: String,
    metadata: Metadata,
    output_schema: Option<Value>,
    preview: Option<Box<PreviewFn>>,
    on_cancel: OnCancel,
}

type PreviewFn = dyn Fn(&Input) -> Option<Preview> + Send + Sync;

/// What cancelling a call does to the function of a [`NativeTool`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnCancel {
    /// Drops it where it waits. The result has [`Failure::Cancelled`].
    #[default]
    Drop,
    /// Leaves it alone: it watches [`CallContext::cancellation`] itself and comes to an end.
    Tell,
}

/// Why a function is no tool.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NativeToolError {
    /// The name cannot be used.
    #[error(transparent)]
    InvalidName(#[from] InvalidName),
    /// Model APIs send an object, and only that.
    #[error(
        "failed to make the tool {name}: the schema of {type_name} is not that of an object; \
         take a struct with named fields"
    )]
    NoObject {
        /// Name of the tool.
        name: String,
        /// Name of the argument type.
        type_name: &'static str,
    },
}

/// The argument type of a tool that takes none. Fields that a caller sends all the same are
/// ignored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub struct NoInput {}

/// By hand, for a derived one would tell the model what the type is for.
impl JsonSchema for NoInput {
    fn schema_name() -> Cow<'static, str> {
        "NoInput".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "object", "properties": {}})
    }
}

impl NativeTool {
    /// Starts a tool with its name and what it does, for the model.
    pub fn builder(name: impl Into<String>, description: impl Into<String>) -> Builder {
        Builder {
            name: name.into(),
            description: description.into(),
            metadata: Metadata::new(),
            output_schema: None,
            preview: None,
            on_cancel: OnCancel::Drop,
        }
    }
}

impl Builder {
    /// Sets what the tool declares about itself.
    pub fn metadata(mut self, metadata: Metadata) -> Self {
        self.metadata = metadata;
        self
    }

    /// Promises a structured result of type `T`. Return [`Json<T>`](Json) to keep the promise.
    pub fn output<T: JsonSchema>(mut self) -> Self {
        self.output_schema = Some(schema_of::<T>(SchemaSettings::draft2020_12().for_serialize()));
        self
    }

    /// Sets what tells the host what a call would touch.
    pub fn preview(
        mut self,
        preview: impl Fn(&Input) -> Option<Preview> + Send + Sync + 'static,
    ) -> Self {
        self.preview = Some(Box::new(preview));
        self
    }

    /// Sets what cancelling a call does to the function. Default: [`OnCancel::Drop`].
    pub fn on_cancel(mut self, on_cancel: OnCancel) -> Self {
        self.on_cancel = on_cancel;
        self
    }

    /// Completes the tool with its function. See [`IntoToolResult`] for what it may return.
    ///
    /// # Errors
    ///
    /// [`NativeToolError::InvalidName`], and [`NativeToolError::NoObject`] where `A` is no struct
    /// with named fields and no map.
    pub fn run<A, R, F, Fut>(self, function: F) -> Result<NativeTool, NativeToolError>
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        R: IntoToolResult + 'static,
        F: Fn(CallContext, A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = R> + Send + 'static,
    {
        ToolId::parse(&self.name)?;
        let input_schema = schema_of::<A>(SchemaSettings::draft2020_12());
        if input_schema.get("type").and_then(Value::as_str) != Some("object") {
            let type_name = std::any::type_name::<A>();
            return Err(NativeToolError::NoObject { name: self.name, type_name });
        }
        let function = Box::new(Typed { function, types: PhantomData });
        Ok(NativeTool { about: self, input_schema, function })
    }
}

#[async_trait]
impl Tool for NativeTool {
    fn name(&self) -> &str {
        &self.about.name
    }

    fn description(&self, _: &DescribeContext) -> Cow<'_, str> {
        Cow::Borrowed(&self.about.description)
    }

    fn input_schema(&self) -> &Value {
        &self.input_schema
    }

    fn output_schema(&self) -> Option<&Value> {
        self.about.output_schema.as_ref()
    }

    fn metadata(&self) -> &Metadata {
        &self.about.metadata
    }

    fn preview(&self, input: &Input) -> Option<Preview> {
        self.about.preview.as_deref()?(input)
    }

    async fn execute(&self, ctx: &CallContext, input: Input) -> Result<ToolResult, ToolError> {
        if ctx.cancellation().is_cancelled() {
            let message = format!("failed to start {}: the call was taken back", self.about.name);
            return Err(ToolError::new(ToolErrorKind::Cancelled, message));
        }
        let call = match self.function.call(ctx.clone(), &input) {
            Ok(call) => call,
            Err(why) => return Ok(ToolResult::failed(Failure::BadInput, why)),
        };
        match self.about.on_cancel {
            OnCancel::Tell => call.await,
            OnCancel::Drop => match ctx.cancellation().run_until_cancelled(call).await {
                Some(res) => res,
                None => {
                    let text = format!("{} was cancelled", self.about.name);
                    Ok(ToolResult::failed(Failure::Cancelled, text))
                }
            },
        }
    }
}

impl fmt::Debug for NativeTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NativeTool").field(&self.about.name).finish()
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Builder").field(&self.name).finish()
    }
}

type Call = Pin<Box<dyn Future<Output = Result<ToolResult, ToolError>> + Send>>;

/// A function with its argument type hidden.
trait Function: Send + Sync + 'static {
    /// Reads the input and starts the call, or says why the input does not fit.
    fn call(&self, ctx: CallContext, input: &Input) -> Result<Call, String>;
}

struct Typed<A, R, F> {
    function: F,
    types: PhantomData<fn(A) -> R>,
}

impl<A, R, F, Fut> Function for Typed<A, R, F>
where
    A: DeserializeOwned + Send + 'static,
    R: IntoToolResult + 'static,
    F: Fn(CallContext, A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
{
    fn call(&self, ctx: CallContext, input: &Input) -> Result<Call, String> {
        let call = (self.function)(ctx, read_arguments(input)?);
        Ok(Box::pin(async move { call.await.into_tool_result() }))
    }
}

fn read_arguments<A: DeserializeOwned>(input: &Input) -> Result<A, String> {
    // serde would read a struct from an array as well, which no schema says.
    if !input.value().is_object() {
        return Err("invalid input: (root): expected an object".to_owned());
    }
    serde_path_to_error::deserialize(input.value()).map_err(|err| {
        let pointer = json_pointer(err.path());
        let place = if pointer.is_empty() { "(root)" } else { &pointer };
        format!("invalid input: {place}: {}", err.inner())
    })
}

fn json_pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let mut res = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => res.push_str(&format!("/{index}")),
            // serde writes a variant with content as an object of one key.
            Segment::Map { key } | Segment::Enum { variant: key } => {
                res.push('/');
                res.push_str(&key.replace('~', "~0").replace('/', "~1"));
            }
            Segment::Unknown => {}
        }
    }
    res
}

/// The schema of `T` without the name of the Rust type, which is noise to a model.
fn schema_of<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    if schema.get("title").and_then(Value::as_str) == Some(&*T::schema_name()) {
        schema.remove("title");
    }
    schema.to_value()
}

/// What the function of a [`NativeTool`] may return.
///
/// Texts become the output; [`Json`] becomes output and data; `()` is an empty output.
///
/// ```
/// use flyto_tools::{IntoToolResult, Json};
/// use serde_json::json;
///
/// let result = Json(json!({"lines": 3})).into_tool_result()?;
/// assert_eq!(result.output, r#"{"lines":3}"#);
/// let failed = Err::<String, _>("the file is empty").into_tool_result()?;
/// assert!(failed.is_error());
/// # Ok::<(), flyto_tools::ToolError>(())
/// ```
///
/// The error of
/// a `Result` becomes a result with [`Failure::Reported`] that tells the
/// error with its causes, for the model to react to, unless it is a [`ToolError`], which stays one.
pub trait IntoToolResult {
    /// Makes the result.
    ///
    /// # Errors
    ///
    /// The tool could not be tried.
    fn into_tool_result(self) -> Result<ToolResult, ToolError>;
}

impl IntoToolResult for ToolResult {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(self)
    }
}

impl IntoToolResult for String {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::text(self))
    }
}

impl IntoToolResult for &str {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::text(self))
    }
}

impl IntoToolResult for Cow<'_, str> {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::text(self))
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::text(""))
    }
}

impl<R: IntoToolResult, E: Into<Box<dyn Error + Send + Sync>>> IntoToolResult for Result<R, E> {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        match self {
            Ok(res) => res.into_tool_result(),
            Err(err) => match err.into().downcast::<ToolError>() {
                Ok(err) => Err(*err),
                Err(err) => {
                    let text = Chain(&*err).to_string();
                    Ok(ToolResult::failed(Failure::reported(), text))
                }
            },
        }
    }
}

/// A structured result: data for programs, and the same as compact JSON for the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoToolResult for Json<T> {
    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        let data = serde_json::to_value(self.0).map_err(|err| {
            ToolError::new(ToolErrorKind::Internal, "failed to write the result as JSON")
                .with_source(err)
        })?;
        Ok(ToolResult::text(data.to_string()).with_data(data))
    }
}
