//! A definition as a tool.

use std::{
    borrow::Cow,
    ffi::{OsStr, OsString},
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use async_trait::async_trait;
use bytes::Bytes;
use flyto_execenv::{
    Capture, Class, Ending, EnvPolicy, Environment, ExecEnv, ExecError, ExecErrorKind, Output,
    Ready, Spec, SpillDir, Stdin,
};
use flyto_program::{
    MAX_CONTENT_BYTES, Ran, Streaming, Text, chain, spilled, tool_error, tool_error_kind,
};
use flyto_tools::{
    AuditOperation, CallContext, DescribeContext, Failure, Input, Metadata, Omitted, Origin,
    PermissionClass, Preview, Problem, ProblemKind, Tool, ToolError, ToolResult,
};
use serde_json::Value;

use crate::ExecToolDef;

/// What the programs of exec tools get of the host: all of its environment, and its directory.
///
/// A program of a definition file is trusted like a Git hook of the user's. A tool that should get less is
/// declared by a plugin.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HostContext {
    /// The host's environment. Programs see the whole of it; their `PATH` is where a bare program
    /// name is looked up.
    pub env: Environment,
    /// The host's current directory, absolute. Programs start in it, and a relative program is
    /// taken from it.
    pub current_dir: PathBuf,
    /// The directory for stdout and stderr that are too long to be kept in memory. Without one, the middle of
    /// such output is lost. It is made when it is needed; the host
    /// removes the files.
    pub spill_dir: Option<SpillDir>,
}

impl HostContext {
    /// Programs see all of `env` and start in `current_dir`, which must be absolute. There is no
    /// place for long output.
    #[must_use]
    pub fn new(env: Environment, current_dir: impl Into<PathBuf>) -> Self {
        Self { env, current_dir: current_dir.into(), spill_dir: None }
    }

    /// Sets the directory for long output.
    #[must_use]
    pub fn spill_dir(mut self, dir: impl Into<SpillDir>) -> Self {
        self.spill_dir = Some(dir.into());
        self
    }
}

/// The tool that a definition declares.
///
/// A call starts the program with the arguments of the definition and nothing else; the input is
/// what the program reads on its standard input, byte for byte; where there is none, end of input
/// comes at once. The program is trusted like a Git hook: it runs as [`Class::USER_HOOK`] with the
/// whole environment of the host.
///
/// The text of a result:
///
/// | what happened | text |
/// | --- | --- |
/// | the program printed something | what it printed, whatever its exit code |
/// | it exited with 0 and printed nothing | nothing |
/// | it declares `"content": "mcp"` and printed `{"content": […]}` | its texts, and a line such as `[image, image/png, 3 bytes]` for each other block; the blocks are the data |
/// | it declares that and printed something else | what it printed, and a line `[stdout is no list of blocks: …]` |
/// | it failed and printed on stderr only | `exit code 3` and a line `[stderr] …` |
/// | it failed and printed nothing | `exit code 3 (no output)` |
/// | a signal ended it | `exit code -1 (killed by signal 9, SIGKILL)` in place of `exit code 3` |
/// | it did not start | `error: failed to start "prog": …` |
/// | its time was over | `error: exec_tool "n" timed out after 10s` |
/// | the caller cancelled | `error: exec_tool "n" cancelled after 1.5s` |
/// | it reached a limit | `error: exec_tool "n" reached its limit of output`, what it printed |
/// | it was lost sight of | `error: exec_tool "n" wait failed: …` |
///
/// All but the first two are errors, and so is the first with another exit code than 0;
/// [`ToolResult::failure`] says which. Output that outgrew the capture limit has its start and its
/// end, with a line between them that says how much is missing and names the file with the whole, if there is one. In
/// the text of an error these are 4 KiB each.
///
/// What the operator asks for and the backend does not offer is an error
/// ([`ToolErrorKind::Unsupported`](flyto_tools::ToolErrorKind::Unsupported)), no result; so is what the operator
/// refuses ([`ToolErrorKind::Refused`](flyto_tools::ToolErrorKind::Refused)).
#[derive(Debug)]
pub struct ExecTool {
    def: ExecToolDef,
    metadata: Metadata,
    env: ExecEnv,
    /// All of a call's spec but the input and the file for long output.
    spec: Spec,
    spill_dir: Option<SpillDir>,
    /// The preview of a call without input. That of another one has the input beside it: the handle never changes, and looks
    /// at nothing that a call adds to the spec.
    preview: OnceLock<Preview>,
}

impl ExecTool {
    /// Makes the tool. `env` is where its program will run.
    ///
    /// A host with many tools shares one context: `host` may be an `Arc<HostContext>`.
    ///
    /// ```
    /// use flyto_execenv::{Environment, ExecEnv, local::Local};
    /// use flyto_exectool::{ExecTool, ExecToolDef, HostContext};
    /// use flyto_tools::{CallContext, Input, Tool};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let env: Environment = [("PATH", "/usr/bin:/bin")].into_iter().collect();
    /// let host = HostContext::new(env, "/tmp");
    /// let tool = ExecTool::new(ExecToolDef::new("echo_input", ["cat"])?, ExecEnv::new(Local::new()), host);
    /// let result = tool.execute(&CallContext::new(), Input::parse("[1, 2]")?).await?;
    /// assert_eq!(result.output, "[1, 2]");
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn new(def: ExecToolDef, env: ExecEnv, host: impl Into<Arc<HostContext>>) -> Self {
        let host = host.into();
        let nothing_declared: [(&str, &str); 0] = [];
        let mut spec = Spec::new(def.program())
            .class(Class::USER_HOOK)
            .args(def.args())
            .env(EnvPolicy::FullInherit.build(&host.env, nothing_declared))
            .working_dir(&host.current_dir)
            .deadline(def.timeout());
        if !def.grace().is_zero() {
            spec = spec.grace(def.grace());
        }
        if def.is_ready() {
            spec = spec.ready(Ready::new().watch_beside_arguments().cpu_time(def.timeout()));
        }
        let mut metadata = Metadata::new();
        metadata.permission_class = PermissionClass::GENERIC;
        metadata.audit_operation = Some(AuditOperation::EXECUTE);
        if let Some(path) = def.file() {
            metadata.origin = Origin::ExecFile { path: path.to_owned() };
        }
        let (spill_dir, preview) = (host.spill_dir.clone(), OnceLock::new());
        Self { def, metadata, env, spec, spill_dir, preview }
    }

    /// The definition that the tool was made of.
    #[must_use]
    pub fn definition(&self) -> &ExecToolDef {
        &self.def
    }

    /// What this host would run for `input`, with files for long output.
    fn spec(&self, input: &Input) -> Spec {
        let stdin = if input.is_empty() {
            Stdin::Null
        } else {
            // The text is shared, not copied: an input may have many megabytes.
            Stdin::Bytes(Bytes::from_owner(Arc::<[u8]>::from(input.text())))
        };
        let spec = self.spec.clone().stdin(stdin);
        match &self.spill_dir {
            Some(dir) => {
                let spill = |it| Output::Captured(spilled(it, dir, self.def.name()));
                spec.stdout(spill(self.stdout())).stderr(spill(Capture::default()))
            }
            None => spec.stdout(Output::Captured(self.stdout())),
        }
    }

    fn preview_without_input(&self) -> Preview {
        let words = std::iter::once(self.def.program())
            .chain(self.def.args().iter().map(OsString::as_os_str));
        let preview = Preview::new()
            .with_command_line(words.map(OsStr::to_string_lossy))
            .with_env_names(self.spec.env.names().map(OsStr::to_string_lossy))
            .with_working_dir(self.spec.working_dir.to_string_lossy())
            .with_deadline(self.def.timeout());
        match self.env.check(self.spec.clone()) {
            Ok(_) => preview,
            Err(err) => preview.with_problem(problem(&err)),
        }
    }

    /// How much of stdout is kept.
    fn stdout(&self) -> Capture {
        let mut res = Capture::default();
        if self.def.prints_blocks() {
            res.limit_bytes = res.limit_bytes.max(MAX_CONTENT_BYTES);
        }
        res
    }

    /// The result of a call by the table above.
    fn result(&self, ran: &Ran) -> ToolResult {
        let name = self.def.name();
        let stdout = ran.stdout();
        let ended_early = matches!(ran.outcome.ending, Ending::TimedOut | Ending::Cancelled);
        // The texts for these have no place for stdout.
        let kept = Some(stdout.text.clone()).filter(|it| ended_early && !it.is_empty());
        // Nor for stderr; a file that holds one of the two is named all the same.
        let omitted = || stdout.omitted.clone().or_else(|| ran.failed_stderr().omitted);
        let mut res = match (ran.outcome.ending, ran.failure()) {
            (Ending::TimedOut, Some(failure)) => {
                let time = ran.deadline_text();
                let text = format!("error: exec_tool {name:?} timed out after {time}");
                with_omitted(ToolResult::failed(failure, text), omitted())
            }
            (Ending::Cancelled, Some(failure)) => {
                let time = ran.wall_text();
                let text = format!("error: exec_tool {name:?} cancelled after {time}");
                with_omitted(ToolResult::failed(failure, text), omitted())
            }
            (Ending::LimitReached(limit), Some(failure)) => {
                let limit = limit.name();
                let mut text = format!("error: exec_tool {name:?} reached its limit of {limit}");
                let stdout = ran.failed_stdout();
                // Half of an image is of no use.
                if !stdout.text.is_empty() && !self.def.prints_blocks() {
                    text.push('\n');
                    text.push_str(&stdout.text);
                }
                with_omitted(ToolResult::failed(failure, text), stdout.omitted)
            }
            (_, Some(failure)) if stdout.text.is_empty() => failed_without_stdout(ran, failure),
            (_, failure) => self.printed(ran, stdout, failure),
        };
        let mut execution = ran.execution();
        execution.stdout = kept;
        res.execution = Some(execution);
        res
    }

    /// What the program printed, whether it failed or not.
    fn printed(&self, ran: &Ran, stdout: Text, failure: Option<Failure>) -> ToolResult {
        let stdout = match self.def.prints_blocks().then(|| ran.content()) {
            Some(Ok(content)) => {
                let mut res = ToolResult::content(content);
                res.failure = failure;
                return res;
            }
            Some(Err(text)) if failure.is_none() => text,
            _ if failure.is_some() => ran.failed_stdout(),
            _ => stdout,
        };
        let mut res = ToolResult::text(stdout.text);
        (res.failure, res.raw) = (failure, stdout.raw);
        with_omitted(res, stdout.omitted)
    }

    /// A program that did not run to an end that was seen.
    fn not_run(&self, err: &ExecError) -> ToolResult {
        if err.did_start() {
            let text =
                format!("error: exec_tool {:?} wait failed: {}", self.def.name(), chain(err));
            return ToolResult::failed(Failure::Lost, text);
        }
        // The error says most often itself what failed to start; once is enough.
        let start = format!("failed to start {:?}", self.def.program());
        let chain = chain(err);
        let text = if chain.starts_with(&start) {
            format!("error: {chain}")
        } else {
            format!("error: {start}: {chain}")
        };
        ToolResult::failed(Failure::NotStarted, text)
    }
}

fn failed_without_stdout(ran: &Ran, failure: Failure) -> ToolResult {
    let (exit, stderr) = (ran.exit_text(), ran.failed_stderr());
    if stderr.text.is_empty() {
        return ToolResult::failed(failure, format!("{exit} (no output)"));
    }
    let text = format!("{exit}\n[stderr] {}", stderr.text);
    with_omitted(ToolResult::failed(failure, text), stderr.omitted)
}

fn with_omitted(mut result: ToolResult, omitted: Option<Omitted>) -> ToolResult {
    result.omitted = omitted;
    result
}

/// Whether the reason that nothing ran is nothing that a model could mend. A call is an error then, and otherwise has a
/// result that says it.
fn is_for_operators(err: &ExecError) -> bool {
    matches!(err.kind(), ExecErrorKind::Refused | ExecErrorKind::Unsupported)
}

/// The reason that nothing would run.
fn problem(err: &ExecError) -> Problem {
    let kind = if is_for_operators(err) {
        ProblemKind::Error(tool_error_kind(err.kind()))
    } else {
        ProblemKind::Failed
    };
    Problem::new(kind, chain(err))
}

#[async_trait]
impl Tool for ExecTool {
    fn name(&self) -> &str {
        self.def.name()
    }

    fn description(&self, _: &DescribeContext) -> Cow<'_, str> {
        self.def.description().into()
    }

    fn input_schema(&self) -> &Value {
        self.def.input_schema()
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn preview(&self, input: &Input) -> Option<Preview> {
        let preview = self.preview.get_or_init(|| self.preview_without_input()).clone();
        Some(if input.is_empty() { preview } else { preview.with_stdin(input.text()) })
    }

    async fn preflight(&self, input: &Input) -> Vec<Problem> {
        let spec = self.spec(input);
        self.env.preflight(spec).await.err().iter().map(problem).collect()
    }

    async fn execute(&self, ctx: &CallContext, input: Input) -> Result<ToolResult, ToolError> {
        let spec = self.spec(&input);
        let streaming = match self.def.prints_blocks() {
            // base64 is nothing to look at.
            true => Streaming::Messages { progress: |_| None, shows_stderr: false },
            false => Streaming::Quiet,
        };
        let ran = flyto_program::run(&self.env, spec, ctx, streaming).await;
        match ran {
            Ok(ran) => Ok(self.result(&ran)),
            // The operator asked for what the backend cannot do, which is nothing for a model to mend.
            Err(err) if is_for_operators(&err) => {
                let what = format!("exec_tool {:?} cannot be run", self.def.name());
                Err(tool_error(what, err))
            }
            Err(err) => Ok(self.not_run(&err)),
        }
    }
}
