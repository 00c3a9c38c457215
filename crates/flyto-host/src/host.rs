//! All sources of tools in one registry, and the path of a call.
//!
//! The module holds the state of a [`Host`]; the order of the gates of a call is that of its stages, and what each
//! gate does lies in a module of its own. A call never takes the lock of the sources, so a reload
//! does not delay calls.

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

#[cfg(feature = "watch")]
use flyto_diagnostics::Findings;
use flyto_diagnostics::{Diagnostic, closest};
use flyto_execenv::{Capability, Class, ExecEnv, KillScope, SpillDir};
use flyto_exectool::HostContext;
use flyto_plugin::{Catalogue, Found, LoadOptions, PluginContext, PluginState};
use flyto_tools::{CallContext, CallId, Entry, Input, Registry, RegistryError, Tool, ToolResult};
use tokio::sync::watch;

use crate::{
    builder::HostBuilder,
    changes::{HostChanges, Moment, Reloads, Roster},
    config::{Config, ConfigServer},
    error::CallError,
    links,
    permission::{Caller, Gate},
    places::Surroundings,
    plugin_rules,
    prepared::{HostState, Prepared},
    report::{ExecFileState, LoadReport},
    secrets::Secrets,
    servers::{self, DeclaredServer},
    sources::{Sources, checked},
    spill,
    stages::MissingCall,
    tool_source::ToolSource,
};

/// Similar names that an error lists at most.
const MAX_SIMILAR: usize = 3;

/// Tools from all sources, and the one path that a call takes: the name is looked up once, and the call goes
/// through an ordered list of named [stages](crate::stages).
///
/// ```
/// use std::path::Path;
///
/// use flyto_execenv::{ExecEnv, local::Local};
/// use flyto_host::{Config, Host, Surroundings};
/// use flyto_tools::{CallContext, Input};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut config = Config::default();
/// config.exec_tools.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/tools.json"));
///
/// config.permissions.allow("echo_input")?;
/// # let dir = tempfile::tempdir()?;
/// let surroundings = Surroundings::ambient()?;
/// # let surroundings = surroundings.with_places(flyto_host::Places::below(dir.path()));
/// let host = Host::new(ExecEnv::new(Local::new()), surroundings, config);
/// let input = Input::parse(r#"{"text": "two words"}"#)?;
/// let result = host.call("echo_input", input, &CallContext::new()).await?;
/// assert_eq!(result.output, r#"{"text": "two words"}"#);
/// # Ok(()) }
/// ```
///
/// A host is `Send` and `Sync`, and its methods take `&self`: share it in an `Arc`. Dropping it
/// kills the processes of session plugins in the middle of what they do; [`close`](Self::close)
/// ends them in order.
#[derive(Debug)]
pub struct Host {
    registry: Arc<Registry>,
    /// What was loaded last.
    pub(crate) moment: watch::Sender<Moment>,
    /// Servers of the configuration.
    config_servers: Vec<ConfigServer>,
    /// Held by the call that changes what is loaded.
    sources: Mutex<Sources>,
    /// What calls need; they may outlive a reload.
    pub(crate) shared: Arc<HostState>,
    /// On whose behalf calls are made.
    caller: Caller,
}

impl Host {
    /// Loads the tools of all sources that `config` names. What cannot be loaded is in the
    /// [`report`](Self::report).
    ///
    /// Every program runs under the sandbox profiles of `config`, and under the policies that `env` has already. A
    /// profile that the backend cannot keep refuses each call, as [`ToolErrorKind::Unsupported`](flyto_tools::ToolErrorKind::Unsupported): the portable
    /// backend keeps `none` only. Programs are ended with all their descendants where the backend can do that, else
    /// with their process group.
    ///
    /// Where tools are pinned by a digest, give the backend the directories of
    /// [`Config::pinned_dirs`](Config::pinned_dirs) first.
    ///
    /// Files are read now, and each is small; nothing is started.
    #[must_use]
    pub fn new(env: ExecEnv, surroundings: Surroundings, config: Config) -> Self {
        Self::builder(env, surroundings, config).build()
    }

    pub(crate) fn load(builder: HostBuilder) -> Self {
        let HostBuilder {
            env,
            surroundings,
            config,
            output_dir,
            stages,
            guard,
            caller,
            starts_servers,
        } = builder;
        let gate = Gate::new(&config, &surroundings);
        let env = env.narrowed_by(&config.policies(|class| kill_scope(&env, class), &surroundings));
        let env = env.with_ready(config.plugins.ready);
        // The stage `bound` says why what was left out is not kept.
        let output_dir = output_dir.filter(|it| spill::refused(it).is_none());
        if let Some(dir) = &output_dir {
            spill::Cleaning::default().clean(dir);
        }
        let options = LoadOptions::new().rules(plugin_rules::check);
        let mut options = options.env(surroundings.env.clone());
        if let Some(path) = surroundings.env.get("PATH") {
            options = options.path(path);
        }
        let plugin_ctx =
            Arc::new(plugin_context(&env, &surroundings, &config, output_dir.as_deref()));
        let exec_vars = surroundings.env.clone();
        let mut exec_ctx = HostContext::new(surroundings.env, surroundings.current_dir);
        exec_ctx.spill_dir = output_dir.as_deref().map(spill::dir);

        let registry = Arc::new(Registry::new());
        let ctx = Arc::clone(&plugin_ctx);
        let mut sources = Sources::new(env, ctx, exec_ctx, &config, starts_servers);
        let filter = config.plugins.filter();
        let catalogue = Catalogue::discover(&config.plugins.plugin_dirs, &filter, &options);
        let report = Arc::new(sources.update(&registry, catalogue));
        let moment =
            Moment { report, roster: Arc::new(Roster::of(&registry)), added: Arc::default() };
        Self {
            registry: Arc::clone(&registry),
            moment: watch::Sender::new(moment),
            config_servers: config.servers,
            sources: Mutex::new(sources),
            caller,
            shared: Arc::new(HostState {
                registry,
                stages,
                secrets: Secrets::new(guard),
                gate,
                plugin_ctx,
                exec_vars,
                grants_file: config.grants_file,
            }),
        }
    }

    /// Adds a store of tools that the embedding program has joined to the [registry](Self::registry): from now on,
    /// [`reload`](Self::reload) has it look again. What is watched includes it, where the host watches already from its next
    /// look on. The tools that the store has registered by now are told as changes to no caller.
    pub fn add_source(&self, source: Arc<dyn ToolSource>) {
        let _sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let roster = Arc::new(Roster::of(&self.registry));
        self.moment.send_if_modified(|moment| {
            moment.added = moment.added.iter().cloned().chain([source]).collect();
            moment.roster = roster;
            false
        });
    }

    /// Looks at all sources again: plugins and files of tool definitions that are new, changed or
    /// gone, and [stores that were added](Self::add_source). Each source has its tools exchanged in
    /// one step, and what has not changed is not touched.
    ///
    /// Of a source whose edit cannot be used, the last good version stays in use; the report says
    /// so. A call that runs goes on with the tool that it was started with, and so does each holder of
    /// an [`Entry`]. Where two tools want one name, the one that has it keeps it, and the other gets
    /// it when it is free.
    ///
    /// The configuration is not read again: which directories and files there are, what is blocked
    /// and granted stays as it was at the start.
    ///
    /// Where a source has changed, the processes that wait for a call are ended: the next call of each tool starts its own.
    ///
    /// This reads files, and waits 50 ms where one is gone that may be about to be replaced. Of
    /// several threads that do this at once, one goes after the other.
    pub fn reload(&self) -> HostChanges {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.moment.borrow().clone();
        before.added.iter().for_each(|it| it.reload());
        let catalogue = before.report.catalogue.reload().catalogue;
        let mut report = sources.update(&self.registry, catalogue);
        report.watching.clone_from(&before.report.watching);
        let changes = self.publish(&before, report);
        if !changes.is_empty() {
            self.exec_env().end_waiting();
        }
        changes
    }

    /// Tells of each later change of what is loaded: tools, plugins, and the servers that plugins declare, which are no tools of
    /// the [registry](Self::registry).
    ///
    /// ```
    /// # use flyto_execenv::{ExecEnv, local::Local};
    /// # use flyto_host::{Config, Host, Surroundings};
    /// # fn f() -> Result<(), Box<dyn std::error::Error>> {
    /// let host = Host::new(ExecEnv::new(Local::new()), Surroundings::ambient()?, Config::default());
    /// let mut reloads = host.reloads();
    /// # async move {
    /// while reloads.changed().await.is_some() {
    ///     println!("{} servers are declared", host.servers().len());
    /// }
    /// # };
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn reloads(&self) -> Reloads {
        Reloads(self.moment.subscribe())
    }

    /// Says why changes of some files are noticed late. That it is said already is no change.
    #[cfg(feature = "watch")]
    pub(crate) fn set_watching(&self, findings: Findings) {
        let _sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.moment.borrow().clone();
        let messages = |it: &Findings| it.iter().map(|it| it.message.clone()).collect::<Vec<_>>();
        if messages(&before.report.watching) != messages(&findings) {
            let mut report = LoadReport::clone(&before.report);
            report.watching = findings;
            self.publish(&before, report);
        }
    }

    /// Makes a report the current one, and wakes the callers that wait for changes, if there are any.
    fn publish(&self, before: &Moment, report: LoadReport) -> HostChanges {
        let roster = Arc::new(Roster::of(&self.registry));
        let now = Moment { report: Arc::new(report), roster, added: Arc::clone(&before.added) };
        let changes = HostChanges::between(before, &now);
        self.moment.send_if_modified(|moment| {
            *moment = now;
            !changes.is_empty()
        });
        changes
    }

    /// How many processes wait for a call: of tools that say `ready`, and that were called lately.
    #[must_use]
    pub fn waiting_processes(&self) -> usize {
        self.exec_env().waiting_processes()
    }

    /// Ends the processes of session plugins and those that wait for a call, and returns when they are gone. Each has 2 s to answer
    /// what it was asked; later calls of their tools are refused.
    ///
    /// To be called before the program ends, where it may have called such a tool: what is left then
    /// is killed in the middle of whatever it does.
    pub async fn close(&self) {
        self.exec_env().stop_waiting().await;
        self.shared.plugin_ctx.sessions.close().await;
    }

    /// Kills the processes of session plugins and those that wait for a call, and returns when they are gone; later calls of their
    /// tools are refused. For a host that has no time, after a call that took too long, say.
    pub async fn abort(&self) {
        self.exec_env().stop_waiting().await;
        self.shared.plugin_ctx.sessions.abort().await;
    }

    /// The programs of session plugins that have ended without it being known that everything they started has;
    /// see [`Sessions::unended`](flyto_plugin::Sessions::unended). To be asked after [`close`](Self::close) or
    /// [`abort`](Self::abort), and told to the user of the host.
    #[must_use]
    pub fn unended(&self) -> BTreeSet<String> {
        self.shared.plugin_ctx.sessions.unended()
    }

    /// Adds a tool of the host's own under the name of an owner that reports show. Its input is
    /// checked like that of any other, and [`reload`](Self::reload) does not touch it.
    ///
    /// ```
    /// use flyto_execenv::{ExecEnv, local::Local};
    /// use flyto_host::{Config, Host, Surroundings};
    /// use flyto_tools::{CallContext, Input, NativeTool, NoInput};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// async fn pong(_: CallContext, _: NoInput) -> &'static str {
    ///     "pong"
    /// }
    ///
    /// let mut config = Config::default();
    /// config.permissions.allow("ping")?;
    /// # let dir = tempfile::tempdir()?;
    /// let surroundings = Surroundings::ambient()?;
    /// # let surroundings = surroundings.with_places(flyto_host::Places::below(dir.path()));
    /// let host = Host::new(ExecEnv::new(Local::new()), surroundings, config);
    /// host.add_tool("my program", NativeTool::builder("ping", "Answers.").run(pong)?)?;
    /// let result = host.call("ping", Input::empty(), &CallContext::new()).await?;
    /// assert_eq!(result.output, "pong");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`RegistryError::InvalidName`] for its name or one of its aliases, and
    /// [`RegistryError::Taken`] where another tool has one of them. Then the registry is as it was.
    pub fn add_tool(&self, owner: &str, tool: impl Tool) -> Result<(), RegistryError> {
        // Compiled at the first call: of many tools, few are called.
        self.registry.register(owner, checked(tool)).map(|_| ())
    }

    /// The tools. What the embedding program registers here, under an owner of its own, can be called like any other
    /// tool, and [`reload`](Self::reload) does not touch it.
    #[must_use]
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Where programs run, under the sandbox profiles of the configuration: for tools that the embedding program makes
    /// itself, each with the class of its programs.
    ///
    /// ```
    /// use flyto_execenv::{Class, ExecEnv, local::Local};
    /// use flyto_host::{Config, Host, Surroundings};
    ///
    /// let host = Host::new(ExecEnv::new(Local::new()), Surroundings::ambient()?, Config::default());
    /// // Without a section `sandbox`, programs run as the user does.
    /// assert!(host.exec_env().policy(&Class::EVOLVE).profiles.is_empty());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn exec_env(&self) -> &ExecEnv {
        &self.shared.plugin_ctx.exec_env
    }

    /// What became of every source, as of the last look at them.
    #[must_use]
    pub fn report(&self) -> Arc<LoadReport> {
        Arc::clone(&self.moment.borrow().report)
    }

    /// The servers of the Model Context Protocol that the configuration and the plugins in use declare, in this order. Of two
    /// with one name the first one counts, and the other is not there.
    ///
    /// A host starts none of them. The program that embeds it does, where it speaks the protocol, and registers their
    /// tools; `flyto-mcp` has both.
    #[must_use]
    pub fn servers(&self) -> Vec<DeclaredServer> {
        servers::declared(&self.config_servers, &self.report(), &self.shared.plugin_ctx)
    }

    /// The tool with this id, alias or wire name. The gates of [`call`](Self::call) are not asked.
    ///
    /// # Errors
    ///
    /// [`CallError::PluginHeldBack`] where the plugin in the name is blocked, not allowed or
    /// disabled, else [`CallError::NotFound`] with near names and the reasons that are known.
    pub fn find(&self, name: &str) -> Result<Entry, CallError> {
        self.registry.get(name).ok_or_else(|| self.explain_missing(name))
    }

    /// A call of the tool with this id, alias or wire name: looked up, and not made yet.
    ///
    /// # Errors
    ///
    /// Those of [`find`](Self::find).
    pub fn prepare(&self, name: &str, input: Input) -> Result<Prepared, CallError> {
        Ok(self.prepare_entry(self.find(name)?, input))
    }

    /// A call of a tool that was [found](Self::find) already.
    #[must_use]
    pub fn prepare_entry(&self, entry: Entry, input: Input) -> Prepared {
        Prepared::new(Arc::clone(&self.shared), entry, input, self.caller)
    }

    /// A call that a tool makes of another one: that of an agent, also where the operator called the first.
    pub(crate) async fn prepare_for_tool(
        &self,
        name: &str,
        input: Input,
        parent: &CallId,
        ctx: &CallContext,
    ) -> Result<Prepared, CallError> {
        match self.find(name) {
            Ok(entry) => {
                let call = Prepared::new(Arc::clone(&self.shared), entry, input, Caller::Agent);
                Ok(call.within(parent))
            }
            Err(err) => {
                let call = MissingCall::new(name, ctx, &err).input(&input);
                self.tell_missing(&MissingCall { parent: Some(parent), ..call }).await;
                Err(err)
            }
        }
    }

    /// Tells the stages of a call that led to no tool, so that the log has it. [`call`](Self::call) and the other
    /// methods that make calls by name do this by themselves; a program that looks a name up by [`find`](Self::find)
    /// or [`prepare`](Self::prepare) in order to call it does it here.
    pub async fn missing(&self, call: MissingCall<'_>) {
        self.tell_missing(&MissingCall { caller: self.caller, ..call }).await;
    }

    async fn tell_missing(&self, call: &MissingCall<'_>) {
        for stage in self.shared.stages.iter() {
            stage.missing(call).await;
        }
    }

    /// Where the whole of an output is kept that was truncated, with the bounds for all of them: for tools that a program
    /// around the host makes. `None` where none is kept.
    #[must_use]
    pub fn output_dir(&self) -> Option<&SpillDir> {
        self.shared.plugin_ctx.spill_dir.as_ref()
    }

    /// The names of the stages that every call goes through, in their order.
    pub fn stages(&self) -> impl Iterator<Item = &str> {
        self.shared.stages.names()
    }

    /// Calls a tool.
    ///
    /// Dropping the future ends the call at once; cancelling `ctx` gives the tool its grace.
    ///
    /// The deadline of `ctx` holds for every tool. One of the host's own runs in a task of the current Tokio runtime, so
    /// that a tool that blocks its thread does not keep the caller, where the runtime has several. At the deadline its
    /// context is cancelled; what has not ended 2 s later is dropped, and the result has
    /// [`Failure::TimedOut`](flyto_tools::Failure::TimedOut). A panic in it is a result with
    /// [`Failure::Panicked`](flyto_tools::Failure::Panicked).
    ///
    /// # Errors
    ///
    /// The tool is not there, may not be used, a stage refused the call, or it could not be tried. What it did,
    /// a failure included, is the result.
    ///
    /// What a name leads to is decided at the start: a reload in the meantime does not change the
    /// call. The text of the result is at most [`Config::output_limit_bytes`] long, beside one line
    /// that says what was cut.
    pub async fn call(
        &self,
        name: &str,
        input: Input,
        ctx: &CallContext,
    ) -> Result<ToolResult, CallError> {
        match self.find(name) {
            Ok(entry) => self.prepare_entry(entry, input).run(ctx).await,
            Err(err) => {
                self.missing(MissingCall::new(name, ctx, &err).input(&input)).await;
                Err(err)
            }
        }
    }

    fn explain_missing(&self, name: &str) -> CallError {
        let (plugin, tool) = name.split_once(':').or_else(|| name.split_once("__")).unzip();
        let report = self.report();
        let found = plugin.and_then(|it| report.plugin(it));
        let added = Arc::clone(&self.moment.borrow().added);
        let held_back = added.iter().find_map(|it| it.why_not(name));
        match (found, plugin) {
            (Some(Found { state, .. }), Some(plugin))
                if matches!(
                    state,
                    PluginState::Blocked | PluginState::NotAllowed | PluginState::Disabled
                ) =>
            {
                CallError::PluginHeldBack {
                    name: name.to_owned(),
                    plugin: plugin.to_owned(),
                    state: *state,
                }
            }
            (None, Some(server)) if self.servers().iter().any(|it| it.name() == server) => {
                CallError::NotFound {
                    name: name.to_owned(),
                    similar: self.similar(name, Some(server)),
                    missing_plugin: None,
                    findings: Vec::new(),
                    held_back,
                }
            }
            (None, Some(plugin)) if name.contains(':') => CallError::NotFound {
                name: name.to_owned(),
                // A tool of another plugin may do something else under the same name.
                similar: self.similar_plugin(plugin).into_iter().collect(),
                missing_plugin: Some(plugin.to_owned()),
                findings: refused_files_with(&report, name),
                held_back,
            },
            (found, _) => CallError::NotFound {
                name: name.to_owned(),
                similar: self.similar(name, plugin.filter(|_| found.is_some())),
                missing_plugin: None,
                findings: match found {
                    Some(found) => why_not(found, tool.unwrap_or(name)),
                    None => refused_files_with(&report, name),
                },
                held_back,
            },
        }
    }

    /// The plugin with tools whose name is near.
    fn similar_plugin(&self, plugin: &str) -> Option<String> {
        let tools = self.registry.snapshot();
        let owners: BTreeSet<_> = tools.iter().filter_map(|it| it.id().owner()).collect();
        closest(plugin, owners).map(ToOwned::to_owned)
    }

    /// Names near to one that is not there: those that differ by a slip, then those of which it is
    /// a part, then, if nothing is near, what a search finds. Of a plugin that is there, no tool of another
    /// one is meant, and what it lacks says more than what a search finds.
    fn similar(&self, name: &str, plugin: Option<&str>) -> Vec<String> {
        let tools = self.registry.snapshot();
        let names = || {
            let may_be_meant = |it: &&Entry| plugin.is_none() || it.id().owner() == plugin;
            tools.iter().filter(may_be_meant).flat_map(|it| {
                std::iter::once(it.id().as_str()).chain(it.aliases().iter().map(|it| it.as_str()))
            })
        };
        let mut res: Vec<String> =
            closest(name, names()).map(ToOwned::to_owned).into_iter().collect();
        // A name without the plugin means the tool.
        let tool = |it: &str| it.split_once(':').is_some_and(|(_, tool)| tool == name);
        res.extend(names().filter(|it| tool(it)).map(ToOwned::to_owned));
        if res.is_empty() && plugin.is_none() {
            res.extend(
                tools.search(name, MAX_SIMILAR).into_iter().map(|it| it.entry.id().to_string()),
            );
        }
        res.dedup();
        res.truncate(MAX_SIMILAR);
        res
    }
}

/// What kept a tool of a plugin that was found from being loaded.
fn why_not(found: &Found, tool: &str) -> Vec<Diagnostic> {
    if found.plugin.is_some() {
        found.findings_about(tool).cloned().collect()
    } else {
        found.findings.iter().cloned().collect()
    }
}

/// What is wrong with the files of tool definitions that cannot be used and hold this name.
fn refused_files_with(report: &LoadReport, name: &str) -> Vec<Diagnostic> {
    let quoted = format!("\"{name}\"");
    let refused = report.exec_files.iter().filter(|it| it.state != ExecFileState::Loaded);
    let findings = refused.flat_map(|it| it.findings.iter());
    let holds = |it: &&Diagnostic| {
        it.location.source().is_some_and(|source| source.text().contains(&quoted))
    };
    findings.filter(holds).cloned().collect()
}

/// The widest scope that the backend of this class can end. Less would be no reason to refuse a call.
fn kill_scope(env: &ExecEnv, class: &Class) -> KillScope {
    match env.capabilities(class) {
        Ok(it) if it.has(Capability::TreeKill) => KillScope::Tree,
        Ok(it) if it.has(Capability::GroupKill) => KillScope::Group,
        _ => KillScope::Leader,
    }
}

fn plugin_context(
    env: &ExecEnv,
    surroundings: &Surroundings,
    config: &Config,
    output_dir: Option<&Path>,
) -> PluginContext {
    let mut res = PluginContext::new(env.clone(), surroundings.env.clone())
        .session_dir(&surroundings.current_dir);
    if let Some(dir) = &surroundings.places.plugin_data_dir {
        // Its directories are granted, so they are named without the links that may be followed.
        let home = surroundings.home();
        res = res.data_root(links::granted_path(dir, home).unwrap_or_else(|_| dir.clone()));
    }
    if let Some(dir) = output_dir {
        res = res.spill_dir(spill::dir(dir));
    }
    let (config, places) = (config.clone(), surroundings.clone());
    res.grants(&config.plugins).profiles(move |name| config.profile_policy(name, &places))
}

const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Host>();
};
