//! A call that was looked up and not made yet: what would run, and the way to run it.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use flyto_execenv::{Class, Environment};
use flyto_plugin::{Grant, PluginContext, PluginRule, PluginTool, Variable};
use flyto_security::ScanError;
use flyto_tools::{
    CallContext, CallId, Checked, Entry, Failure, Input, Preview, Problem, ProblemKind, Registry,
    Tool, ToolError, ToolId, ToolResult, Validated, Violations,
};

use crate::{
    confinement::{self, Confinement, class_of},
    error::{CallError, Refusal},
    grants::MissingGrants,
    native,
    permission::{Caller, Decision, Gate},
    secrets::Secrets,
    server_rules::RuledTool,
    stages::{self, Call, CallReport, Checkpoint, StageResult, Stages, names},
};

/// What a prepared call needs of its host. It outlives a reload, as the tool does.
#[derive(Debug)]
pub(crate) struct HostState {
    /// For what is looked up while a call runs.
    pub(crate) registry: Arc<Registry>,
    pub(crate) stages: Stages,
    /// What looks for secrets in questions about calls.
    pub(crate) secrets: Secrets,
    /// Which calls may run.
    pub(crate) gate: Gate,
    /// What the tools of plugins get.
    pub(crate) plugin_ctx: Arc<PluginContext>,
    /// The variables of tools from definition files.
    pub(crate) exec_vars: Environment,
    /// The configuration file in which a grant takes effect.
    pub(crate) grants_file: Option<PathBuf>,
}

/// A call that was looked up and not made yet.
///
/// It holds the very tool that was found: what its plan shows is what [`run`](Self::run) carries out, also
/// when the plugin is reloaded in between. Nothing is computed before it is asked for.
///
/// ```
/// # use std::path::Path;
/// use flyto_execenv::{ExecEnv, local::Local};
/// use flyto_host::{Config, Host, Surroundings};
/// use flyto_tools::{CallContext, Input};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut config = Config::default();
/// # config.exec_tools.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/tools.json"));
/// config.permissions.allow("echo_input")?;
/// # let dir = tempfile::tempdir()?;
/// let surroundings = Surroundings::ambient()?;
/// # let surroundings = surroundings.with_places(flyto_host::Places::below(dir.path()));
/// let host = Host::new(ExecEnv::new(Local::new()), surroundings, config);
/// let prepared = host.prepare("echo_input", Input::parse(r#"{"text": "a"}"#)?)?;
///
/// let plan = prepared.plan(&CallContext::new()).await?;
/// assert_eq!(plan.preview.expect("a program").command_line, Some(vec!["cat".to_owned()]));
/// assert!(plan.violations.is_none() && plan.refused.is_none());
/// let decision = plan.decision.expect("a host has rules");
/// assert_eq!(decision.to_string(), "allow: tool echo_input: echo_input (allow, operator, the program)");
///
/// let result = prepared.run(&CallContext::new()).await?;
/// assert_eq!(result.output, r#"{"text": "a"}"#);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Prepared {
    shared: Arc<HostState>,
    entry: Entry,
    input: Input,
    caller: Caller,
    /// The call within which this one is made.
    parent: Option<CallId>,
    /// The record of the call that this one takes back.
    undoes: Option<Arc<str>>,
    preview: Arc<OnceLock<Option<Preview>>>,
    decision: Arc<OnceLock<Arc<Decision>>>,
}

/// What a call would do, and what holds for it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Plan {
    /// The tool's id.
    pub tool: String,
    /// What the tool says it would touch, with what is known to keep it from starting; `None` where it cannot say.
    pub preview: Option<Preview>,
    /// Where the input breaks the schema. The call would end there.
    pub violations: Option<Violations>,
    /// A result with which the check of the input ended the call: its time was over.
    pub ended: Option<ToolResult>,
    /// Why the host would refuse the call, and which stage. A profile that the backend cannot keep is told as by the
    /// stage `execute`.
    pub refused: Option<Refusal>,
    /// What the rules say of the call, and which rule decides; `None` for a host without the stage `permission`.
    pub decision: Option<Arc<Decision>>,
    /// The variables that the program of a plugin's tool would see, and why each is there, in order of their names.
    /// `None` for a tool that is no plugin's; an exec tool sees all of the host's.
    pub variables: Option<Vec<Variable>>,
    /// What holds for the tool's program; `None` for a tool that is no program.
    pub confinement: Option<Confinement>,
    /// What the operator granted to the tool's plugin; `None` for a tool that is no plugin's.
    pub granted: Option<Grant>,
    /// The variables that the program of a plugin's tool has not got, and how it gets them.
    pub missing: Option<MissingGrants>,
}

impl Plan {
    /// How the call would end without its tool being started, as far as that is known before it is made; `None` where
    /// nothing is known that keeps the tool from running.
    #[must_use]
    pub fn early_end(&self) -> Option<StageResult> {
        if let Some(violations) = &self.violations {
            return Some(Ok(violations.clone().into_result()));
        }
        if let Some(ended) = &self.ended {
            return Some(Ok(ended.clone()));
        }
        if let Some(refused) = &self.refused {
            return Some(Err(refused.clone().into()));
        }
        let Problem { kind, text, .. } = self.preview.as_ref()?.problems.first()?;
        Some(match kind {
            ProblemKind::BadInput => Ok(ToolResult::failed(Failure::BadInput, text)),
            ProblemKind::Error(kind) => Err(ToolError::new(*kind, text).into()),
            _ => Ok(ToolResult::failed(Failure::NotStarted, text)),
        })
    }
}

impl Prepared {
    pub(crate) fn new(shared: Arc<HostState>, entry: Entry, input: Input, caller: Caller) -> Self {
        Self {
            shared,
            entry,
            input,
            caller,
            parent: None,
            undoes: None,
            preview: Arc::default(),
            decision: Arc::default(),
        }
    }

    /// The tool that was looked up.
    #[must_use]
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// The tool's id.
    #[must_use]
    pub fn id(&self) -> &ToolId {
        self.entry.id()
    }

    /// The input.
    #[must_use]
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// The id of the call that this one takes back; `None` for a call that is no inverse of another one.
    #[must_use]
    pub fn undoes(&self) -> Option<&str> {
        self.undoes.as_deref()
    }

    /// The same call, as the inverse of another one.
    #[cfg(unix)]
    pub(crate) fn undoing(mut self, id: &str) -> Self {
        self.undoes = Some(id.into());
        self
    }

    /// A call of another tool of the same host; `None` where it has none of this name.
    #[cfg(unix)]
    pub(crate) fn another(&self, name: &str, input: Input) -> Option<Self> {
        let entry = self.shared.registry.get(name)?;
        Some(Self::new(Arc::clone(&self.shared), entry, input, self.caller))
    }

    /// Whether its tool is still the one that has the name.
    pub(crate) fn is_current(&self) -> bool {
        let now = self.shared.registry.get(self.entry().id().as_str());
        now.is_some_and(|it| Arc::ptr_eq(it.tool(), self.entry().tool()))
    }

    /// The tool as the plugin declares it; `None` for one that is no plugin's.
    #[must_use]
    pub fn plugin_tool(&self) -> Option<&PluginTool> {
        self.checked_tool()?.get_ref().downcast_ref()
    }

    /// The plugin that the tool belongs to, and the rules that it has for calls of it; `None` for a tool that is no plugin's
    /// and of no server of one, or where there are none.
    pub(crate) fn plugin_rules(&self) -> Option<(&str, &Arc<[PluginRule]>)> {
        let mut tool: &dyn Tool = &**self.entry.tool();
        // What holds a tool for the registry, however a program put it there.
        loop {
            let checked =
                || tool.downcast_ref::<Validated<Arc<dyn Tool>>>().map(Validated::get_ref);
            match checked().or_else(|| tool.downcast_ref::<Arc<dyn Tool>>()) {
                Some(inner) => tool = &**inner,
                None => break,
            }
        }
        let own = || tool.downcast_ref::<PluginTool>().map(|it| (it.plugin(), it.rules()));
        own().or_else(|| tool.downcast_ref::<RuledTool>().map(RuledTool::rules))
    }

    /// The tool with its compiled schemas; `None` for one that a caller registered by itself.
    pub(crate) fn checked_tool(&self) -> Option<&Validated<Arc<dyn Tool>>> {
        self.entry.tool().downcast_ref()
    }

    /// What the tool says that the call would touch; `None` where it cannot say. Asked once.
    pub(crate) fn preview(&self) -> Option<&Preview> {
        self.preview.get_or_init(|| native::preview(&self.entry, &self.input)).as_ref()
    }

    /// The same call within another one.
    pub(crate) fn within(mut self, parent: &CallId) -> Self {
        self.parent = Some(parent.clone());
        self
    }

    /// The id of the call within which this one is made; `None` for a call of its own.
    #[must_use]
    pub fn parent(&self) -> Option<&CallId> {
        self.parent.as_ref()
    }

    /// On whose behalf the call is made.
    #[must_use]
    pub fn caller(&self) -> Caller {
        self.caller
    }

    /// A text about this call as a question about it shows it: each secret that the host's guard is sure of is replaced by
    /// what it was, such as `[redacted: github-token, 40 characters]`. What only may be a secret stays, and so does one with a
    /// character that a shell obeys: a question hides nothing that may run.
    ///
    /// ```
    /// # use std::path::Path;
    /// use flyto_execenv::{ExecEnv, local::Local};
    /// use flyto_host::{Config, Host, Surroundings};
    /// use flyto_tools::Input;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut config = Config::default();
    /// # config.exec_tools.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/tools.json"));
    /// let host = Host::new(ExecEnv::new(Local::new()), Surroundings::ambient()?, config);
    /// let call = host.prepare("echo_input", Input::parse(r#"{"text": "a"}"#)?)?;
    /// let key = ["AKIA", "QYLPMN5HHHFPZAM2"].concat();
    /// assert_eq!(
    ///     call.for_question(&format!("runs: echo {key}"))?,
    ///     "runs: echo [redacted: aws-access-key-id, 20 characters]"
    /// );
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// The text could not be scanned as a whole, and is not to be shown.
    pub fn for_question(&self, text: &str) -> Result<String, ScanError> {
        self.shared.secrets.for_question(text)
    }

    /// What the rules say of the call, with the reasons. Decided once: what is shown is what the stage `permission`
    /// carries out.
    pub(crate) fn decision(&self) -> Arc<Decision> {
        Arc::clone(self.decision.get_or_init(|| Arc::new(self.shared.gate.decide(self))))
    }

    /// Holds these rules for the calls that are prepared later.
    pub(crate) fn allow(&self, rules: &[String]) {
        self.shared.gate.allow(rules);
    }

    /// Ends the processes that wait for a call: a person declined one.
    pub(crate) fn end_waiting(&self) {
        self.shared.plugin_ctx.exec_env.end_waiting();
    }

    /// See [`Plan::variables`].
    pub(crate) fn variables(&self) -> Option<Vec<Variable>> {
        self.plugin_tool().map(PluginTool::variables)
    }

    /// See [`Plan::confinement`].
    pub(crate) fn confinement(&self) -> Option<Confinement> {
        Confinement::of(self, &self.shared)
    }

    /// On whose behalf the tool's program runs, and [`Confinement::sandbox`], without the rest of what holds for it;
    /// `None` for a tool that is no program.
    pub(crate) fn class_and_sandbox(&self) -> Option<(Class, Vec<String>)> {
        let env = &self.shared.plugin_ctx.exec_env;
        if let Some(tool) = self.plugin_tool() {
            let profiles = confinement::named(tool.profiles(), env.policy(&Class::PLUGIN_TOOL));
            return Some((Class::PLUGIN_TOOL, profiles));
        }
        let class = class_of(self).filter(|it| *it != Class::PLUGIN_TOOL)?;
        let policy = env.policy(&class);
        let profiles = confinement::named(policy.profiles.clone(), policy);
        Some((class, profiles))
    }

    /// What the operator granted to the tool's plugin.
    pub(crate) fn granted(&self) -> Option<&Grant> {
        self.shared.plugin_ctx.grants.get(self.plugin_tool()?.plugin())
    }

    /// See [`Plan::missing`].
    pub(crate) fn missing(&self) -> Option<MissingGrants> {
        let file = self.shared.grants_file.as_deref();
        self.plugin_tool().map(|tool| MissingGrants::new(tool, self.granted(), file))
    }

    /// Why the host would refuse the call; `None` where it would not, as far as that is known before.
    pub(crate) fn refused(&self) -> Option<Refusal> {
        let tool = || self.id().to_string();
        if let Some((stage, why)) = self.shared.stages.refusal(self) {
            let res = Refusal::of_tool(tool(), stage, why);
            return Some(match stage {
                names::PERMISSION => res.decided(&self.decision()),
                names::CHECKPOINT => Refusal { allowed_by: Checkpoint::released_by(self), ..res },
                _ => res,
            });
        }
        let class = class_of(self)?;
        let why = self.shared.plugin_ctx.exec_env.policy(&class).refused.clone()?;
        Some(Refusal::of_tool(tool(), names::EXECUTE, why))
    }

    /// The names of the profiles that held for the tool's program, in the form of [`Confinement::sandbox`].
    pub(crate) fn held(&self, profiles: &[String]) -> Vec<String> {
        let profiles = profiles.to_vec();
        match class_of(self) {
            Some(class) => {
                confinement::named(profiles, self.shared.plugin_ctx.exec_env.policy(&class))
            }
            None => profiles,
        }
    }

    /// The [plan](Self::plan) without what has to be waited for: whether the input fits the schema, and what a backend
    /// elsewhere says. Nothing is started.
    #[must_use]
    pub fn outline(&self) -> Plan {
        let refused = self.refused();
        let mut preview = self.preview().cloned();
        if let (Some(preview), Some(reason)) = (&mut preview, &refused) {
            // Said once.
            preview.problems.retain(|it| !it.text.contains(&reason.why));
        }
        let has_rules = self.shared.stages.get(names::PERMISSION).is_some();
        Plan {
            tool: self.id().to_string(),
            preview,
            violations: None,
            ended: None,
            refused,
            decision: has_rules.then(|| self.decision()),
            variables: self.variables(),
            confinement: self.confinement(),
            granted: self.plugin_tool().map(|_| self.granted().cloned().unwrap_or_default()),
            missing: self.missing(),
        }
    }

    /// Everything that is known of the call before it is made. Nothing is started; a backend elsewhere may be
    /// asked. The deadline and the cancellation of `ctx` hold for the check of the input.
    ///
    /// # Errors
    ///
    /// A schema that cannot be used.
    pub async fn plan(&self, ctx: &CallContext) -> Result<Plan, CallError> {
        let (violations, ended) = match self.check(ctx).await? {
            Checked::Fits(_) => (None, None),
            Checked::Violates(violations) => (Some(violations), None),
            Checked::Ended(result) => (None, Some(*result)),
        };
        let mut res = Plan { violations, ended, ..self.outline() };
        if let Some(preview) = &mut res.preview {
            for problem in self.entry.tool().preflight(&self.input).await {
                let is_reason =
                    res.refused.as_ref().is_some_and(|it| problem.text.contains(&it.why));
                // The preview may know it already.
                if !is_reason && !preview.problems.iter().any(|it| it.text == problem.text) {
                    preview.problems.push(problem);
                }
            }
        }
        Ok(res)
    }

    async fn check(&self, ctx: &CallContext) -> Result<Checked, ToolError> {
        match self.checked_tool() {
            Some(tool) => tool.check(ctx, &self.input).await,
            None => Ok(Checked::Fits(None)),
        }
    }

    /// Makes the call: through all stages of the host.
    ///
    /// Dropping the future ends the call at once; cancelling `ctx` gives the tool its grace.
    ///
    /// # Errors
    ///
    /// A stage refused the call, or the tool could not be tried. What it did, a failure included, is the result.
    pub async fn run(self, ctx: &CallContext) -> Result<ToolResult, CallError> {
        let shared = Arc::clone(&self.shared);
        stages::run(&shared.stages, Call::new(self, ctx.clone())).await.0
    }

    /// Makes the call like [`run`](Self::run), and reports the time of each stage and what a challenger said.
    pub async fn run_reported(self, ctx: &CallContext) -> CallReport {
        let shared = Arc::clone(&self.shared);
        let ended = stages::run(&shared.stages, Call::new(self, ctx.clone())).await;
        stages::report(&shared.stages, ended)
    }

    /// Ends the call before any stage has seen it, with this result, which is given back: for a program that knows
    /// from the [plan](Self::plan) how the call would end, and does not make it. The log has it, as of a call that was
    /// made.
    ///
    /// # Errors
    ///
    /// That of `result`.
    pub async fn end(self, ctx: &CallContext, result: StageResult) -> StageResult {
        let shared = Arc::clone(&self.shared);
        stages::end(&shared.stages, Call::new(self, ctx.clone()), &result).await;
        result
    }
}
