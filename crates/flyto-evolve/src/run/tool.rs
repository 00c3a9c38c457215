//! A definition as a tool.

use std::{borrow::Cow, ffi::OsStr, fmt, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use flyto_execenv::{
    Capture, Class, Ending, Environment, ExecEnv, ExecError, ExecErrorKind, Output, Spec, SpillDir,
    Stdin,
};
use flyto_program::{Ran, Streaming, chain, spilled, tool_error, tool_error_kind};
use flyto_tools::{
    AuditOperation, CallContext, DescribeContext, Failure, Input, Metadata, Origin,
    PermissionClass, Preview, Problem, ProblemKind, Tool, ToolError, ToolErrorKind, ToolResult,
};
use serde_json::Value;

use super::{
    environment::inherited,
    render,
    template::{MayBeOption, Piece},
    text::{exit_text, length_fault, option_fault},
    variables::{too_long, variable_name, variables},
};
use crate::{Body, DefinitionHash, ToolDefinition};

/// What run-time tools get of the host: its environment, and the directory of the session.
///
/// ```
/// use flyto_evolve::HostContext;
/// use flyto_execenv::Environment;
///
/// let env: Environment = [("PATH", "/usr/bin:/bin"), ("GITHUB_TOKEN", "…")].into_iter().collect();
/// let host = HostContext::new(env, "/home/ada/project").spill_dir("/tmp/flyto");
/// assert_eq!(host.working_dir, std::path::Path::new("/home/ada/project"));
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HostContext {
    /// The host's environment. Tools see all of it but what [`inherited`] leaves out; its `PATH` is
    /// where bash is looked up.
    pub env: Environment,
    /// The session's working directory, absolute. Tools start in it.
    pub working_dir: PathBuf,
    /// The directory for output that is too long to be kept in memory. Without one, the middle of such output is lost.
    pub spill_dir: Option<SpillDir>,
}

impl HostContext {
    /// Tools see `env` and start in `working_dir`, which must be absolute. There is no place for long output.
    #[must_use]
    pub fn new(env: Environment, working_dir: impl Into<PathBuf>) -> Self {
        Self { env, working_dir: working_dir.into(), spill_dir: None }
    }

    /// Sets the directory for long output.
    #[must_use]
    pub fn spill_dir(mut self, dir: impl Into<SpillDir>) -> Self {
        self.spill_dir = Some(dir.into());
        self
    }
}

/// Why the version that would run is not the one that is in force: looked at before each call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotCurrent {
    /// The stored text is not the one that was approved.
    #[error(
        "the definition on the disk is not the one that was approved (approved {approved}, found {found})"
    )]
    Changed { approved: String, found: String },
    /// A file with its text cannot be used.
    #[error("its text cannot be read as it was approved: {0}")]
    Unusable(String),
    /// The tool was archived since.
    #[error("the tool was archived; restore it to call it")]
    Archived,
    /// The newest file of its history cannot be used, or is gone.
    #[error("the newest file of its history cannot be used: {0}")]
    Held(String),
    /// The store cannot say.
    #[error("the store cannot be read: {0}")]
    Unreadable(String),
}

/// Says before each call whether the approved text is still in force.
pub(crate) type Gate = dyn Fn() -> Result<(), NotCurrent> + Send + Sync;

/// The tool that a definition makes.
///
/// A call runs `bash -c TEXT NAME` in the session's working directory, as [`Class::EVOLVE`], with stdout and stderr in one
/// stream. Parameters are in `TOOL_INPUT_` variables, strings as they are and other values as compact JSON in which numbers
/// keep their text, and the whole input is on standard input. The text of a result:
///
/// | what happened | text |
/// | --- | --- |
/// | it exited with 0 | what it printed |
/// | it exited with 3 | what it printed, and a line `exit: exit status 3` |
/// | a signal ended it, or its time was over, or the caller cancelled | what it printed, and a line `exit: signal: killed` |
/// | bash did not start | a line `exit: …` with the reason |
/// | the input is no object, or a value cannot be handed over | `invalid input: …` |
/// | a value of a command begins with `-`, in a place where a program may read it as an option | `invalid input: …` |
///
/// All but the first are errors, and [`ToolResult::failure`] says which. What the operator refuses, and what the backend
/// does not offer, is a [`ToolError`].
///
/// ```
/// use flyto_evolve::{EvolvedTool, HostContext, ToolDefinition};
/// use flyto_execenv::{Environment, ExecEnv, local::Local};
/// use flyto_tools::{CallContext, Input, Tool};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let def = ToolDefinition::command("greet", "Greets.", "echo hello {{.name}}")
///     .with_input_schema(serde_json::json!({"type": "object", "properties": {"name": {"type": "string"}}}));
/// let host = HostContext::new(Environment::ambient(), "/tmp");
/// let tool = EvolvedTool::new(def, ExecEnv::new(Local::new()), host)?;
/// let result = tool.execute(&CallContext::new(), Input::parse(r#"{"name": "$(id)"}"#)?).await?;
/// assert_eq!(result.output, "hello $(id)\n");
/// # Ok(()) }
/// ```
pub struct EvolvedTool {
    def: ToolDefinition,
    approved: DefinitionHash,
    metadata: Metadata,
    env: ExecEnv,
    /// All of a call's spec but the variables, the input and the file for long output.
    spec: Spec,
    spill_dir: Option<SpillDir>,
    /// Words of a command that begin with a value, without `--` before them.
    may_be_options: Vec<MayBeOption>,
    gate: Option<Arc<Gate>>,
}

impl EvolvedTool {
    /// Makes the tool; `env` is where bash will run. What is passed in counts as approved: its hash is compared before
    /// each call, and nothing else is asked.
    ///
    /// # Errors
    ///
    /// [`ToolErrorKind::Unsupported`] for a composite, which is a [`CompositeTool`](crate::CompositeTool), and [`ToolErrorKind::NotStartable`] for a command whose
    /// placeholders stand where a value would be code, and for a text that bash would take for options, or that is longer than
    /// one argument may be.
    pub fn new(
        def: ToolDefinition,
        env: ExecEnv,
        host: impl Into<Arc<HostContext>>,
    ) -> Result<Self, ToolError> {
        let host = host.into();
        let mut may_be_options = Vec::new();
        let text = match &def.body {
            Body::Script(text) => text.clone(),
            Body::Command(text) => {
                let rendered = render(text, |name| def.is_parameter(name));
                let rendered = rendered.map_err(|fault| {
                    let what = format!("{}; {}", fault.what, fault.help);
                    ToolError::new(ToolErrorKind::NotStartable, what)
                })?;
                may_be_options = rendered.may_be_options;
                rendered.text
            }
            Body::Composite(_) => {
                let what = format!("the tool {:?} is a composite, and bash runs none", def.name);
                return Err(ToolError::new(ToolErrorKind::Unsupported, what));
            }
        };
        let why = option_fault(&text).map(ToOwned::to_owned);
        if let Some(why) = why.or_else(|| length_fault(text.len())) {
            let what = format!("the text of {:?} {why}", def.name);
            return Err(ToolError::new(ToolErrorKind::NotStartable, what));
        }
        let spec = Spec::new("bash")
            .class(Class::EVOLVE)
            .args(["-c", &text, &def.name])
            .env(inherited(&host.env))
            .working_dir(&host.working_dir)
            .deadline(def.timeout())
            .merge_stderr();
        let metadata = metadata_of(&def);
        let approved = def.hash();
        let spill_dir = host.spill_dir.clone();
        Ok(Self { def, approved, metadata, env, spec, spill_dir, may_be_options, gate: None })
    }

    /// Has a call ask first whether the approved text is still in force.
    pub(crate) fn with_gate(mut self, gate: Arc<Gate>) -> Self {
        self.gate = Some(gate);
        self
    }

    /// The definition that the tool was made of.
    #[must_use]
    pub fn definition(&self) -> &ToolDefinition {
        &self.def
    }

    /// The hash that was approved, and that each call compares.
    #[must_use]
    pub fn approved(&self) -> DefinitionHash {
        self.approved
    }

    /// The spec of one call; the error is the text of the result.
    ///
    /// A value that begins with `-`, in a place where a program may read it as an option, is
    /// refused unless the schema allows it.
    pub(crate) fn spec(&self, input: &Input) -> Result<Spec, String> {
        let variables = variables(input).map_err(|why| format!("invalid input: {why}"))?;
        if let Some(why) = self.option_in(input, &variables) {
            return Err(format!("invalid input: {why}"));
        }
        let mut spec = self.spec.clone();
        spec.env.extend(variables);
        spec.stdin = if input.is_empty() {
            Stdin::Null
        } else {
            // The text is shared, not copied.
            Stdin::Bytes(Bytes::from_owner(Arc::<[u8]>::from(input.text())))
        };
        if let Some(dir) = &self.spill_dir {
            let capture = spilled(Capture::default(), dir, &self.def.name);
            spec = spec.stdout(Output::Captured(capture));
        }
        Ok(spec)
    }

    /// What is wrong where a word of the command becomes an option, which the schema does not allow.
    ///
    /// It is the word that counts: of `{{.a}}{{.b}}` the second value is the begin where the first one is empty. A lone dash
    /// is no option, and neither is a number of JSON.
    fn option_in(&self, input: &Input, variables: &[(String, String)]) -> Option<String> {
        let value = |name: &str| {
            let variable = variable_name(name)?;
            Some(variables.iter().find(|it| it.0 == variable)?.1.as_str())
        };
        for word in &self.may_be_options {
            let (mut text, mut names) = (String::new(), Vec::new());
            for piece in &word.pieces {
                match piece {
                    Piece::Value(name) => {
                        let value = value(name).unwrap_or_default();
                        if !value.is_empty() {
                            names.push((name, value));
                        }
                        text.push_str(value);
                    }
                    Piece::Text(it) => text.push_str(it),
                    Piece::Unknown => text.push('?'),
                }
            }
            // Without a value, the dash is one that the author wrote.
            let Some((name, _)) = names.first() else { continue };
            let is_number = word.pieces.len() == 1 && input.value()[name.as_str()].is_number();
            if text.len() < 2 || !text.starts_with('-') || is_number {
                continue;
            }
            let is_allowed = |(name, value): &(&String, &str)| {
                let schema = &self.def.input_schema["properties"][name.as_str()];
                names_value(schema, value) || (!word.is_code && schema["x-flyto-dash"] == true)
            };
            if !names.iter().all(is_allowed) {
                let or = if word.is_code {
                    ", which could be code: no schema allows it here"
                } else {
                    ", or with \"x-flyto-dash\": true in the schema of the parameter"
                };
                return Some(format!(
                    "parameter {name:?} begins with `-`, and a program may read it as an option; the command takes such \
                     values behind `--`{or}"
                ));
            }
        }
        None
    }

    /// The result of a call by the table above.
    pub(crate) fn result(ran: &Ran) -> ToolResult {
        let failure = ran.failure();
        let output = if failure.is_some() { ran.failed_stdout() } else { ran.stdout() };
        let mut res = ToolResult::text(output.text);
        res.raw = output.raw;
        res.omitted = output.omitted;
        if let Some(failure) = failure {
            let exit = match ran.outcome.ending {
                Ending::Exited(exit) => Some(exit),
                // It was killed, also where it answered an earlier signal by an exit code.
                _ => None,
            };
            res.output = format!("{}\nexit: {}", res.output, exit_text(exit));
            res.raw = None;
            res.failure = Some(failure);
        }
        res.execution = Some(ran.execution());
        res
    }

    fn check_current(&self) -> Result<(), NotCurrent> {
        check_current(&self.def, self.approved, self.gate.as_deref())
    }

    fn refused(&self, why: &NotCurrent) -> ToolError {
        refused(&self.def.name, why)
    }
}

/// Compares the text with the one that was approved, and asks the store.
pub(crate) fn check_current(
    def: &ToolDefinition,
    approved: DefinitionHash,
    gate: Option<&Gate>,
) -> Result<(), NotCurrent> {
    let found = def.hash();
    if found != approved {
        let (approved, found) = (approved.short(), found.short());
        return Err(NotCurrent::Changed { approved, found });
    }
    gate.map_or(Ok(()), |gate| gate())
}

/// The error of a call that is not made.
pub(crate) fn refused(name: &str, why: &NotCurrent) -> ToolError {
    let kind = match why {
        NotCurrent::Changed { .. } | NotCurrent::Unusable(_) | NotCurrent::Held(_) => {
            ToolErrorKind::DigestMismatch
        }
        NotCurrent::Archived => ToolErrorKind::NotFound,
        NotCurrent::Unreadable(_) => ToolErrorKind::Unreachable,
    };
    ToolError::new(kind, format!("the tool {name:?} is not run: {why}"))
}

/// What a definition says about its tool. Claims were approved with it; what is not claimed stays undeclared.
pub(crate) fn metadata_of(def: &ToolDefinition) -> Metadata {
    let mut metadata = Metadata::new();
    (metadata.permission_class, metadata.audit_operation) = match &def.body {
        // Each step is judged by itself.
        Body::Composite(_) => (PermissionClass::GENERIC, Some(AuditOperation::INVOKE)),
        _ => (PermissionClass::BASH, Some(AuditOperation::EXECUTE)),
    };
    metadata.origin = Origin::Evolved { version: def.version };
    metadata.version = Some(def.version.to_string());
    if !def.tags.is_empty() {
        metadata.search_hint = Some(def.tags.join(" "));
    }
    metadata.concurrency_safe = def.concurrency_safe.then_some(true);
    metadata.read_only = def.read_only.then_some(true);
    metadata
}

impl fmt::Debug for EvolvedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EvolvedTool")
            .field("name", &self.def.name)
            .field("version", &self.def.version)
            .field("approved", &self.approved)
            .finish_non_exhaustive()
    }
}

/// Whether the schema of a parameter names the value, so that the approver has seen it.
fn names_value(schema: &Value, value: &str) -> bool {
    let named = schema["enum"].as_array();
    schema["const"] == value || named.is_some_and(|it| it.iter().any(|it| it == value))
}

/// Whether the reason that nothing ran is nothing that a model could mend.
fn is_for_operators(err: &ExecError) -> bool {
    matches!(err.kind(), ExecErrorKind::Refused | ExecErrorKind::Unsupported)
}

/// The reason that nothing would run.
fn problem(input: &Input, err: &ExecError) -> Problem {
    if let Some(why) = too_long(input, err) {
        return Problem::new(ProblemKind::BadInput, format!("invalid input: {why}"));
    }
    let kind = if is_for_operators(err) {
        ProblemKind::Error(tool_error_kind(err.kind()))
    } else {
        ProblemKind::Failed
    };
    Problem::new(kind, chain(err))
}

#[async_trait]
impl Tool for EvolvedTool {
    fn name(&self) -> &str {
        &self.def.name
    }

    fn description(&self, _: &DescribeContext) -> Cow<'_, str> {
        self.def.description.as_str().into()
    }

    fn input_schema(&self) -> &Value {
        &self.def.input_schema
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn preview(&self, input: &Input) -> Option<Preview> {
        let words = std::iter::once(self.spec.program.as_os_str())
            .chain(self.spec.args.iter().map(|it| it.as_os_str()));
        let preview = Preview::new()
            .with_command_line(words.map(OsStr::to_string_lossy))
            .with_working_dir(self.spec.working_dir.to_string_lossy())
            .with_deadline(self.def.timeout());
        let preview = if input.is_empty() { preview } else { preview.with_stdin(input.text()) };
        let preview = match self.check_current() {
            Ok(()) => preview,
            Err(why) => {
                let err = self.refused(&why);
                preview.with_problem(Problem::new(ProblemKind::Error(err.kind()), err.to_string()))
            }
        };
        Some(match self.spec(input) {
            Ok(spec) => {
                let names: Vec<_> =
                    spec.env.names().map(OsStr::to_string_lossy).map(Cow::into_owned).collect();
                let preview = preview.with_env_names(names);
                match self.env.check(spec) {
                    Ok(_) => preview,
                    Err(err) => preview.with_problem(problem(input, &err)),
                }
            }
            Err(text) => preview.with_problem(Problem::new(ProblemKind::BadInput, text)),
        })
    }

    async fn preflight(&self, input: &Input) -> Vec<Problem> {
        let Ok(spec) = self.spec(input) else { return Vec::new() };
        self.env.preflight(spec).await.err().iter().map(|err| problem(input, err)).collect()
    }

    async fn execute(&self, ctx: &CallContext, input: Input) -> Result<ToolResult, ToolError> {
        self.check_current().map_err(|why| self.refused(&why))?;
        let spec = match self.spec(&input) {
            Ok(spec) => spec,
            Err(text) => return Ok(ToolResult::failed(Failure::BadInput, text)),
        };
        match flyto_program::run(&self.env, spec, ctx, Streaming::Quiet).await {
            Ok(ran) => Ok(Self::result(&ran)),
            Err(err) if is_for_operators(&err) => {
                Err(tool_error(format!("the tool {:?} cannot be run", self.def.name), err))
            }
            Err(err) => {
                if let Some(why) = too_long(&input, &err) {
                    let text = format!("invalid input: {why}");
                    return Ok(ToolResult::failed(Failure::BadInput, text));
                }
                let failure = if err.did_start() { Failure::Lost } else { Failure::NotStarted };
                Ok(ToolResult::failed(failure, format!("\nexit: {}", chain(&err))))
            }
        }
    }
}
