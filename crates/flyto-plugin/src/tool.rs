//! A declaration as a tool.
//!
//! A [`PluginTool`] builds a spec and hands it to the host's
//! [`ExecEnv`](flyto_execenv::ExecEnv), or a request to its session. Permissions are the host's:
//! it asks for none. The program is not started before [`execute`](Tool::execute).

use std::{
    borrow::Cow,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use flyto_execenv::{
    Capability, Capture, Class, Environment, ExecError, ExecErrorKind, Installed, Isolation,
    KillScope, Limits, Output, Ready, Spec, SpillDir, Stdin,
};
use flyto_program::{MAX_CONTENT_BYTES, chain, spilled, tool_error, tool_error_kind, with_named};
use flyto_tools::{
    CallContext, DescribeContext, Failure, Input, Metadata, Origin, Preview, Problem, ProblemKind,
    Tool, ToolError, ToolErrorKind, ToolResult, UndoInfo,
};
use serde_json::Value;

use crate::{
    context::PluginContext,
    environment::{Unresolved, Variable},
    files,
    load::Plugin,
    manifest::{DEFAULT_TIMEOUT, Invocation, Schema, ToolDef, ToolForm},
    result::{self, Declares},
    rpc::{self, call::LONGEST_REPLY_BYTES, program::Escape},
    rules::PluginRule,
    session::{self, Session},
    start::{Start, Unfit},
    template::{Filled, Refusal},
};

/// The tool that a plugin declares.
///
/// A call starts the program as a Unix filter: the input is what it reads on stdin, byte for byte,
/// and end of input comes at once where there is none; its stdout is the result, untrimmed. The
/// program of a template reads nothing, and has its values in its arguments; values that cannot
/// stand there are [`Failure::BadInput`], with the text `invalid input: /name: …`. The program of a
/// binary plugin reads a request in JSON-RPC 2.0, one line; the last line of stdout that is a response
/// is the result, of at most 16 MiB, and lines about progress are reported as they come. A program runs
/// as [`Class::PLUGIN_TOOL`] in a process group of its own, and sees four kinds of variables: `PATH`,
/// `HOME`, `LANG` and `LC_ALL` of the host, [`PLUGIN_ROOT`](crate::PLUGIN_ROOT) and
/// [`PLUGIN_DATA`](crate::PLUGIN_DATA), what the operator granted, what the manifest declares.
///
/// The text of a result:
///
/// | what happened | text |
/// | --- | --- |
/// | it exited with 0 | what it printed on stdout, or what it answered |
/// | it exited with another code | `exit code 3`, then lines `stdout: …` and `stderr: …` |
/// | a signal ended it | `exit code -1 (killed by signal 9, SIGKILL)` in place of `exit code 3` |
/// | its time was over | `plugin tool "p:t" timed out after 30s` and a line `stderr: …` |
/// | the caller cancelled | `plugin tool "p:t" cancelled after 1.5s` and a line `stderr: …` |
/// | it reached a limit | `plugin tool "p:t" reached its limit of output`, then lines `stdout: …` and `stderr: …` |
/// | a declared variable has no value | `plugin tool "p:t": resolve env failed: …` |
/// | it declares `"content": "mcp"` and printed `{"content": […]}` | its texts, and a line such as `[image, image/png, 3 bytes]` for each other block; the blocks are the data |
/// | it declares that and printed something else | what it printed, and a line `[stdout is no list of blocks: …]` |
/// | it declares an output schema and printed no JSON | `plugin tool "p:t": stdout is no JSON: …` and a line `stdout: …` |
/// | it answered with an error, whatever its exit code | `error (code -32000): …` and nothing else |
/// | it exited with 0 and answered nothing | `plugin tool "p:t": no JSON-RPC response on stdout`, then lines `stdout: …` and `stderr: …` |
/// | its process stays, and ended before it answered | `plugin tool "p:t": the session ended: exit code 3` and a line `stderr: …` |
///
/// A program of JSON-RPC whose process [stays](crate::Lifetime::Session) is asked and answers while it
/// runs; it is started by the first call, with the variables above. The time of a call covers the
/// start, and the pause before it where the last process crashed; when it is over, the process is told
/// and goes on. Where the call waited for something else than the plugin's work on it, the text for
/// that has a line `session: …`.
///
/// Output of a failure that is longer than [`PluginContext::capture_bytes`] stands there with its first and its last 4 KiB, and
/// a line between them that names the file with the whole.
///
/// All but the first are errors, and [`ToolResult::failure`] says which. A program that cannot be
/// started, also because arguments and variables are too long for the system, is a [`ToolError`] with the text
/// `plugin tool "p:t" exec failed` and its cause; of a template whose values are too long the input is to blame.
#[derive(Debug)]
pub struct PluginTool {
    /// The full name, `PLUGIN:NAME`.
    name: String,
    def: ToolDef,
    /// That of the declaration, with full names as aliases and the plugin as origin.
    metadata: Metadata,
    dir: PathBuf,
    plugin: String,
    ctx: Arc<PluginContext>,
    /// The variables of its programs, made at the first call: all that they depend on is above, and stays.
    env: OnceLock<Result<Environment, Unresolved>>,
    /// The process that all calls go to, where it stays.
    session: Option<Arc<Session>>,
    /// The name within the plugin, as requests share it.
    local_name: Arc<str>,
    /// Those of the plugin, for calls of all its tools.
    rules: Arc<[PluginRule]>,
}

impl PluginTool {
    /// Makes the tool. `dir` is the plugin's directory; a relative one is taken from the current
    /// directory. `plugin` is the plugin's name, which stands before the tool's own; it may be empty.
    ///
    /// A host with many tools shares one context: `ctx` may be an `Arc<PluginContext>`.
    ///
    /// Nothing is checked and nothing is started. Session tools that are made one by one have a
    /// process each; [`all`](Self::all) lets them share.
    ///
    /// ```
    /// use flyto_execenv::{Environment, ExecEnv, local::Local};
    /// use flyto_plugin::{PluginContext, PluginTool, ToolDef};
    /// use flyto_tools::Tool;
    ///
    /// let host_env = Environment::from_iter([("PATH", "/usr/bin:/bin"), ("TOKEN", "secret")]);
    /// let ctx = PluginContext::new(ExecEnv::new(Local::new()), host_env);
    /// let def = ToolDef::argv("kernel", "uname", ["-r"]);
    /// let tool = PluginTool::new(def, "/opt/plugins/host", "host", ctx);
    /// assert_eq!(tool.name(), "host:kernel");
    /// let names: Vec<_> = tool.variables().into_iter().map(|it| it.name).collect();
    /// assert_eq!(names, ["PATH", "PLUGIN_ROOT"]);
    /// ```
    #[must_use]
    pub fn new(
        def: ToolDef,
        dir: impl AsRef<Path>,
        plugin: impl Into<String>,
        ctx: impl Into<Arc<PluginContext>>,
    ) -> Self {
        let plugin = plugin.into();
        let full = |name: &str| match plugin.as_str() {
            "" => name.to_owned(),
            plugin => format!("{plugin}:{name}"),
        };
        let name = full(&def.name);
        let mut metadata = def.metadata.clone();
        // A further name lives where the tool's own does; a plugin cannot take one outside.
        metadata.aliases = metadata.aliases.iter().map(|it| full(it)).collect();
        if !plugin.is_empty() {
            metadata.origin = Origin::Plugin { plugin: plugin.clone() };
        }
        let (dir, ctx) = (files::absolute(dir.as_ref()), ctx.into());
        let session = session::of(&def, dir.clone(), &plugin, &ctx);
        let local_name = def.name.as_str().into();
        let (rules, env) = (Arc::default(), OnceLock::new());
        Self { name, metadata, dir, plugin, ctx, env, session, local_name, def, rules }
    }

    /// Every tool of a plugin, in the order of its manifest. A tool without a version of its own has
    /// the plugin's.
    ///
    /// Tools of a session plugin share one process, with the variables that any of them declares; those
    /// that give one of these another value, or declare another directory, other limits, another network or another
    /// profile, have one of their own.
    ///
    /// Tools that were refused are not among them.
    pub fn all(plugin: &Plugin, ctx: &Arc<PluginContext>) -> Vec<Self> {
        let version = &plugin.manifest().version;
        let mut defs = plugin.tools().to_vec();
        let shared_with = session::share(&mut defs);
        let mut res: Vec<Self> = Vec::with_capacity(defs.len());
        for (mut def, first) in defs.into_iter().zip(shared_with) {
            def.metadata.version = def.metadata.version.take().or_else(|| version.clone());
            let mut tool = Self::new(def, plugin.dir(), plugin.name(), Arc::clone(ctx));
            if let Some(first) = res.get(first) {
                tool.session.clone_from(&first.session);
            }
            tool.rules = Arc::clone(&plugin.manifest().rules);
            res.push(tool);
        }
        res
    }

    /// The declaration.
    ///
    /// Of a session, its variables may be those of all tools that share the process.
    #[must_use]
    pub fn definition(&self) -> &ToolDef {
        &self.def
    }

    /// The rules of permission of the plugin, as they were when the tool was made; all its tools share them. The
    /// host decides each call by them. A tool made by [`new`](Self::new) has none.
    #[must_use]
    pub fn rules(&self) -> &Arc<[PluginRule]> {
        &self.rules
    }

    /// The plugin's name; empty for a tool without one.
    #[must_use]
    pub fn plugin(&self) -> &str {
        &self.plugin
    }

    /// The plugin's directory, absolute.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The variables that the program sees, and why, in order of their names.
    ///
    /// Those that the host does not have are left out, unless they are declared.
    #[must_use]
    pub fn variables(&self) -> Vec<Variable> {
        self.start().with_sources(|it| it.variables())
    }

    /// The variables of the host that declared values read and may not, in order of their names: those
    /// that the operator has to grant. None where [`StrictEnv`](crate::StrictEnv) is off.
    #[must_use]
    pub fn ungranted(&self) -> Vec<String> {
        self.start().with_sources(|it| it.ungranted())
    }

    /// The variables that the host has and the operator did not grant, in whose place declared values use
    /// their default. None where [`StrictEnv`](crate::StrictEnv) is off.
    #[must_use]
    pub fn defaulted(&self) -> Vec<String> {
        self.start().with_sources(|it| it.defaulted())
    }

    /// The variables without which declared values cannot be made and which the host does not have, in
    /// order of their names.
    ///
    /// A call fails while there are any, with the result for a variable that has no value.
    #[must_use]
    pub fn unset(&self) -> Vec<String> {
        self.start().with_sources(|it| it.unset())
    }

    /// The bounds that hold for the program: the manifest's, the class's and what is granted taken
    /// together.
    ///
    /// A bound that is not set is none.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.narrowed().limits
    }

    /// How far the program is cut off from the machine, by its class and what is granted.
    #[must_use]
    pub fn isolation(&self) -> Isolation {
        self.narrowed().isolation
    }

    /// The names of the sandbox profiles that hold for the program: the one that it asks for itself, and those of its class.
    #[must_use]
    pub fn profiles(&self) -> Vec<String> {
        self.narrowed().profiles
    }

    /// How much is ended with the program.
    ///
    /// At least the process group of the program.
    #[must_use]
    pub fn kill(&self) -> KillScope {
        self.narrowed().kill
    }

    /// Bounds that hold for the program and that its backend cannot keep, so that no call is made. Nothing
    /// is started to tell.
    ///
    /// Empty where the backend of the class is not known, as a call then says why.
    #[must_use]
    pub fn unkept(&self) -> Vec<Capability> {
        let exec_env = &self.ctx.exec_env;
        let declared = exec_env.capabilities(&Class::PLUGIN_TOOL);
        declared.map_or_else(|_| Vec::new(), |it| it.missing(&self.narrowed().requirements()))
    }

    /// What is opened beyond the grants so that the program can start, and what stays closed of it. Nothing is started to
    /// tell.
    #[must_use]
    pub fn installed(&self) -> Installed {
        let program = match (&self.def.invocation, self.invoked(&Input::empty())) {
            (_, Ok((program, ..))) => program,
            // Values choose arguments, and never the program.
            (Invocation::Template(it), Err(_)) => match it.program() {
                Some(program) => program.into(),
                None => "sh".into(),
            },
            (_, Err(_)) => return Installed::default(),
        };
        let env = self.env().unwrap_or_default();
        self.ctx.exec_env.installed(self.start().base_spec(program, env))
    }

    /// A spec of this tool's class, with its bounds, as the policy leaves it.
    ///
    /// Only its bounds are of use: the program in it is the tool's name.
    fn narrowed(&self) -> Spec {
        let mut res = self.start().bounded(OsStr::new(&self.name).into());
        self.ctx.exec_env.policy(&Class::PLUGIN_TOOL).apply(&mut res);
        res
    }

    /// What each of its processes is started with.
    fn start(&self) -> Start<'_> {
        Start { ctx: &self.ctx, plugin: &self.plugin, dir: &self.dir, def: &self.def }
    }

    /// The variables of each of its programs.
    fn env(&self) -> Result<Environment, &Unresolved> {
        self.env.get_or_init(|| self.start().env()).as_ref().cloned()
    }

    /// The program of a call with its arguments, and what it reads.
    ///
    /// For a binary plugin its links are resolved now, which reads the file system.
    fn invoked(&self, input: &Input) -> Result<(OsString, Vec<OsString>, Stdin), Unfit> {
        match &self.def.invocation {
            Invocation::Argv { command, args } => {
                let stdin = if input.is_empty() {
                    Stdin::Null
                } else {
                    // The text is shared, not copied: an input may have many megabytes.
                    Stdin::Bytes(Bytes::from_owner(Arc::<[u8]>::from(input.text())))
                };
                Ok((command.clone(), args.clone(), stdin))
            }
            Invocation::Template(template) => {
                let filled = template.fill(self.def.input_schema.value(), input);
                let Filled { program, args } = filled.map_err(Unfit::Input)?;
                let args = args.into_iter().map(Into::into).collect();
                Ok((program.into(), args, Stdin::Null))
            }
            Invocation::Rpc { path, .. } => {
                let file = rpc::program::resolve(&self.dir, path).map_err(Unfit::Program)?;
                let request = rpc::call::request(&self.def.name, input);
                Ok((file.into(), Vec::new(), Stdin::Bytes(request)))
            }
        }
    }

    /// All that a call starts, with these variables.
    ///
    /// Stdout and stderr are kept up to [`PluginContext::capture_bytes`]; what is beyond goes to
    /// a file in `dir` or is lost. A preview, for which no program writes, does without: the names take their time.
    fn spec(&self, env: Environment, input: &Input, dir: Option<&SpillDir>) -> Result<Spec, Unfit> {
        let def = &self.def;
        let (program, args, stdin) = self.invoked(input)?;
        let capture = Capture::limit(self.ctx.capture_bytes);
        let (mut stdout, mut stderr) = (capture.clone(), capture);
        if def.form() == ToolForm::Binary {
            stdout.limit_bytes = stdout.limit_bytes.max(LONGEST_REPLY_BYTES);
        } else if def.blocks {
            stdout.limit_bytes = stdout.limit_bytes.max(MAX_CONTENT_BYTES);
        }
        if let Some(dir) = dir {
            stdout = spilled(stdout, dir, &self.name);
            stderr = spilled(stderr, dir, &self.name);
        }
        let spec = self
            .start()
            .base_spec(program, env)
            .args(args)
            .stdin(stdin)
            .stdout(Output::Captured(stdout))
            .stderr(Output::Captured(stderr))
            .deadline(self.timeout());
        let spec = match def.ready {
            true => spec.ready(Ready::new().watch(&self.dir).cpu_time(self.timeout())),
            false => spec,
        };
        Ok(if def.grace.is_zero() { spec } else { spec.grace(def.grace) })
    }

    /// The error for a program that leads out of the plugin's directory.
    fn not_ours(&self, escape: Escape) -> ToolError {
        ToolError::new(ToolErrorKind::NotStartable, self.exec_failed()).with_source(escape)
    }

    /// The text of every error that means that nothing could be started.
    fn exec_failed(&self) -> String {
        format!("plugin tool {:?} exec failed", self.name)
    }

    /// Whether the program did not start because of what the input says. Of a template, the values are among the
    /// arguments.
    fn blames_values(&self, err: &ExecError) -> bool {
        err.kind() == ExecErrorKind::TooLong
            && self.def.form() == ToolForm::Template
            && !result::blames_variables(err)
    }

    /// The reason that nothing would be started.
    fn problem(&self, err: &ExecError) -> Problem {
        let kind = if self.blames_values(err) {
            ProblemKind::BadInput
        } else {
            ProblemKind::Error(tool_error_kind(err.kind()))
        };
        Problem::new(kind, chain(err))
    }

    /// The reason that declared variables have no values.
    fn unresolved(&self, err: &Unresolved) -> Problem {
        let kind = match result::unresolved(&self.name, err) {
            Ok(_) => ProblemKind::Failed,
            Err(err) => ProblemKind::Error(err.kind()),
        };
        Problem::new(kind, err.to_string())
    }

    /// One call in a process of its own.
    async fn run(&self, ctx: &CallContext, input: &Input) -> Result<ToolResult, ToolError> {
        let env = match self.env() {
            Ok(env) => env,
            Err(err) => return result::unresolved(&self.name, err),
        };
        let spec = match self.spec(env, input, self.ctx.spill_dir.as_ref()) {
            Ok(spec) => spec,
            Err(Unfit::Input(refusals)) => {
                return Ok(ToolResult::failed(Failure::BadInput, refused(&refusals)));
            }
            Err(Unfit::Program(escape)) => return Err(self.not_ours(escape)),
        };
        if let Err(err) = self.start().check_profile() {
            return Err(tool_error(self.exec_failed(), err));
        }
        self.start().make_data_dir();
        let streaming = self.start().streaming();
        let ran = match flyto_program::run(&self.ctx.exec_env, spec, ctx, streaming).await {
            Ok(ran) => ran,
            Err(err) if err.kind() == ExecErrorKind::Lost => {
                return Ok(result::lost(&self.name, &err));
            }
            Err(err) if self.blames_values(&err) => {
                return Ok(ToolResult::failed(
                    Failure::BadInput,
                    refused(&[Refusal::too_long(&err)]),
                ));
            }
            Err(err) => return Err(tool_error(self.exec_failed(), err)),
        };
        let declares = Declares::of(&self.def);
        Ok(match self.def.invocation {
            Invocation::Argv { .. } | Invocation::Template(_) => {
                result::of(&self.name, &ran, declares)
            }
            Invocation::Rpc { .. } => rpc::call::result(&self.name, &ran, declares),
        })
    }

    /// What a process that stays is asked.
    fn request(&self, input: &Input) -> session::Request {
        static NO_ARGS: LazyLock<Arc<str>> = LazyLock::new(|| "{}".into());
        session::Request {
            tool: Arc::clone(&self.local_name),
            args: if input.is_empty() { Arc::clone(&NO_ARGS) } else { input.text() },
            timeout: self.timeout(),
            grace: self.def.grace,
        }
    }

    /// The declared time; zero stands for [`DEFAULT_TIMEOUT`].
    fn timeout(&self) -> Duration {
        if self.def.timeout.is_zero() { DEFAULT_TIMEOUT } else { self.def.timeout }
    }

    /// Offers the call that takes a successful one back.
    fn with_undo(&self, res: ToolResult, input: &Input) -> ToolResult {
        let undo = self.undo(input).filter(|_| !res.is_error());
        match undo {
            Some(undo) => res.with_undo(undo),
            None => res,
        }
    }

    /// The call that takes this one back.
    fn undo(&self, input: &Input) -> Option<UndoInfo> {
        let undo = self.def.undo.as_ref()?;
        let tool = match self.plugin.as_str() {
            "" => undo.tool.clone(),
            plugin => format!("{plugin}:{}", undo.tool),
        };
        Some(UndoInfo::new(&undo.description, tool, input.value().clone()))
    }
}

#[async_trait]
impl Tool for PluginTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self, _: &DescribeContext) -> Cow<'_, str> {
        self.def.description.as_str().into()
    }

    fn input_schema(&self) -> &Value {
        self.def.input_schema.value()
    }

    fn output_schema(&self) -> Option<&Value> {
        self.def.output_schema.as_ref().map(Schema::value)
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn preview(&self, input: &Input) -> Option<Preview> {
        let built = self.env();
        let names = self.start().names(built.as_ref().ok());
        let unresolved = built.as_ref().err().map(|it| self.unresolved(it));
        let spec = match self.spec(built.unwrap_or_default(), input, None) {
            Ok(spec) => spec,
            Err(unfit) => {
                let mut res = Preview::new()
                    .with_env_names(names)
                    .with_working_dir(self.start().working_dir().to_string_lossy());
                res.deadline = Some(self.timeout());
                if let Invocation::Template(template) = &self.def.invocation {
                    res = res.with_command_line(template.as_written());
                }
                // In the order in which a call comes to them.
                res.problems.extend(unresolved);
                res.problems.extend(match unfit {
                    Unfit::Input(mut refusals) => {
                        // A look without any input asks about the tool, not about a call.
                        refusals.retain(|it| !(it.required && input.is_empty()));
                        let text = || Problem::new(ProblemKind::BadInput, refused(&refusals));
                        (!refusals.is_empty()).then(text)
                    }
                    Unfit::Program(escape) => {
                        let err = self.not_ours(escape);
                        Some(Problem::new(ProblemKind::Error(err.kind()), err.chain()))
                    }
                });
                return Some(res);
            }
        };
        let words = std::iter::once(spec.program.as_os_str())
            .chain(spec.args.iter().map(OsString::as_os_str))
            .map(OsStr::to_string_lossy);
        let mut res = Preview::new().with_command_line(words).with_env_names(names);
        res.working_dir = Some(spec.working_dir.to_string_lossy().into_owned());
        res.deadline = spec.deadline;
        let (class, schema) = (&self.metadata.permission_class, self.input_schema());
        res = with_named(res, class, schema, input.value());
        res = match (&spec.stdin, &self.def.invocation) {
            // The text of the input is shared.
            (Stdin::Bytes(_), Invocation::Argv { .. }) => res.with_stdin(input.text()),
            (Stdin::Bytes(bytes), _) => res.with_stdin(String::from_utf8_lossy(bytes)),
            _ => res,
        };
        let known = match unresolved {
            // Without its variables it is not known where the program is looked for.
            Some(problem) => {
                res = res.with_problem(problem);
                self.ctx.exec_env.check(spec).map(drop)
            }
            None => {
                self.start().check_profile().and_then(|()| self.ctx.exec_env.check(spec).map(drop))
            }
        };
        Some(match known {
            Ok(()) => res,
            Err(err) => res.with_problem(self.problem(&err)),
        })
    }

    async fn preflight(&self, input: &Input) -> Vec<Problem> {
        let Ok(env) = self.env() else { return Vec::new() };
        match self.spec(env, input, self.ctx.spill_dir.as_ref()) {
            Ok(spec) => {
                let err = self.ctx.exec_env.preflight(spec).await.err();
                err.iter().map(|it| self.problem(it)).collect()
            }
            // The preview says why.
            Err(_) => Vec::new(),
        }
    }

    async fn execute(&self, ctx: &CallContext, input: Input) -> Result<ToolResult, ToolError> {
        let res = match &self.session {
            Some(session) => {
                let called = session.call(ctx, self.request(&input)).await;
                called.into_result(&self.name, Declares::of(&self.def))?
            }
            // In a box of its own, since its state is many times that of a call of a session.
            None => Box::pin(self.run(ctx, &input)).await?,
        };
        Ok(self.with_undo(res, &input))
    }
}

/// The text about values that no command can have.
fn refused(refusals: &[Refusal]) -> String {
    let each: Vec<_> = refusals.iter().map(ToString::to_string).collect();
    format!("invalid input: {}", each.join("; "))
}
