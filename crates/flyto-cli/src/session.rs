//! From the options of a command line to a host with its tools.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flyto_diagnostics::{Diagnostic, Findings, Severity};
use flyto_evolve::{Approver, CallRecording, Store};
use flyto_execenv::local::Local;
use flyto_execenv::{Environment, ExecEnv, ReadyOptions};
use flyto_host::permission::Caller;
use flyto_host::stages::{MissingCall, names};
use flyto_host::undo::UndoStore;
use flyto_host::{
    CallError, Config, Flags, Host, HostBuilder, LoadReport, OnUnrecorded, Places, Prepared,
    Refusal, Surroundings, codes, load_config,
};
use flyto_mcp::{ClientOptions, ElicitationHandler, SERVED_BY, Servers};
use flyto_tools::{CallContext, Entry, Input, ToolErrorKind};

use crate::ancestors;
use crate::args::Common;
use crate::backend;
use crate::commands::{by_flyto, read_elsewhere, remember_sources};
use crate::config_values::PluginValues;
use crate::evolve::{Evolved, Hints, Later};
use crate::exit::{Ending, Why};
use crate::screen::Screen;
use crate::source_paths;
use crate::stop::{Stop, chain};
use crate::terminal::{Form, escape};
use crate::words::{command_line, one_line};

/// What every verb has: the options, the environment, and the screen.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) screen: Screen,
    env: Environment,
    flags: Flags,
    /// The profile in place of those of the configuration.
    sandbox: Option<String>,
    /// The directory in place of the process's own.
    dir: Option<PathBuf>,
}

/// Whether a verb runs programs, for whom, or tells what would hold for them. To find out what a backend can do
/// takes as long as everything else that is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    /// One call of the operator. No process of it waits for another one.
    Used,
    /// The call of a job, which may make others.
    Job,
    /// Calls of a model, until the program is ended: each is asked first unless a rule allows it, and the text of a
    /// result is limited.
    Serving,
    Unused,
}

/// What answers for a person while a host runs.
#[derive(Debug)]
pub(crate) struct Answers {
    /// For proposals of evolved tools.
    pub(crate) approver: Arc<dyn Approver>,
    /// For questions of servers; without it, servers are told that there is none.
    pub(crate) elicitation: Option<Arc<dyn ElicitationHandler>>,
}

/// No proposal is approved, and no question answered.
impl Default for Answers {
    fn default() -> Self {
        Self { approver: Arc::new(Later), elicitation: None }
    }
}

impl Session {
    pub(crate) fn new(common: Common, screen: Screen, env: Environment) -> Self {
        let mut flags = Flags::default();
        flags.config = common.config;
        flags.plugins = common.plugins;
        flags.exec_tools = common.exec_tools;
        flags.evolve = common.evolve;
        let res = Self { screen, env, flags, sandbox: None, dir: None };
        let sources = res.sources().map(|(option, path)| (option, path.as_os_str().to_owned()));
        remember_sources(sources.collect());
        res
    }

    /// Runs programs under this profile, whatever the configuration says.
    pub(crate) fn with_sandbox(mut self, profile: Option<String>) -> Self {
        self.sandbox = profile;
        self
    }

    /// The profile that the command line names.
    pub(crate) fn sandbox(&self) -> Option<&str> {
        self.sandbox.as_deref()
    }

    /// Takes the place of a process that was started in this directory.
    pub(crate) fn in_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }

    /// The environment of the process.
    pub(crate) fn env(&self) -> &Environment {
        &self.env
    }

    /// The configuration file that the command line names.
    pub(crate) fn named_config(&self) -> Option<&Path> {
        self.flags.config.as_deref()
    }

    /// The words of a command line that name the same sources.
    pub(crate) fn source_words(&self) -> Vec<OsString> {
        let word = |(option, path): (&str, &Path)| {
            let mut res = OsString::from(option);
            res.push("=");
            res.push(path);
            res
        };
        self.sources().map(word).collect()
    }

    /// The options of the command line that name sources, each with its path.
    fn sources(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let Flags { plugins, exec_tools, evolve, config, .. } = &self.flags;
        let plugins = plugins.iter().map(|it| ("--plugins", &**it));
        let exec_tools = exec_tools.iter().map(|it| ("--exec-tools", &**it));
        let evolve = evolve.iter().map(|it| ("--evolve", &**it));
        let config = config.iter().map(|it| ("--config", &**it));
        plugins.chain(exec_tools).chain(evolve).chain(config)
    }

    /// The host with all sources loaded. What did not load is in its report.
    ///
    /// `output_limit` is how many bytes of a result's text are kept. Without it, and where neither
    /// the environment nor a file says anything, that is all of them: a person reads it, no model.
    pub(crate) fn load(&self, output_limit: Option<u64>, backend: Backend) -> Result<Loaded, Stop> {
        self.load_with(output_limit, backend, Answers::default(), |host, _| host)
    }

    /// The same with what answers for a person, and with what `with` adds to the host; it is given the file to which rules
    /// are added.
    pub(crate) fn load_with(
        &self,
        output_limit: Option<u64>,
        backend: Backend,
        answers: Answers,
        with: impl FnOnce(HostBuilder, Option<PathBuf>) -> HostBuilder,
    ) -> Result<Loaded, Stop> {
        if backend == Backend::Serving {
            read_elsewhere();
        }
        let surroundings = self.surroundings()?;
        let pins = surroundings.places.state_dir.as_ref().map(|it| it.join("mcp"));
        let (mut config, mut findings) = self.config(output_limit, &surroundings)?;
        let is_limited = config.origins.contains_key("output_limit_bytes");
        if !is_limited && backend != Backend::Serving {
            config.output_limit_bytes = u64::MAX;
        }
        if let Some(name) = &self.sandbox {
            let Some(profile) = config.sandbox.profile(name) else {
                let names = config.sandbox.names().join(", ");
                return Err(Stop::usage(format!("there is no sandbox profile {name:?}"))
                    .with_help(format!("there are {names}")));
            };
            config.sandbox.use_for_all(&profile);
        }
        let mut profile_findings = config.place_findings(&surroundings);
        if self.sandbox.is_none() {
            findings.append(std::mem::take(&mut profile_findings));
        }
        let output_limit_bytes = config.output_limit_bytes;
        let plugin_values = PluginValues::of(&config);
        let plugins_off = !config.plugins.enabled;
        let audit = &config.audit;
        if backend != Backend::Unused && audit.is_enabled && audit.on_failure == OnUnrecorded::Run {
            self.screen.note(
                "the configuration has calls run that cannot be recorded (`audit.on_failure` is \"run\")",
            );
        }
        let grants_file = config.grants_file.clone();
        let rules_file = config.rules_file.clone();
        let env = match backend {
            Backend::Used | Backend::Job => {
                ExecEnv::new(backend::backend(config.pinned_dirs(&surroundings)))
            }
            Backend::Serving => {
                ExecEnv::new(backend::serving_backend(config.pinned_dirs(&surroundings)))
            }
            Backend::Unused => ExecEnv::new(Local::new()),
        };
        let dir = surroundings.current_dir.display().to_string();
        let undo_store = UndoStore::of(&surroundings.places);
        let evolve_dir = config.evolve_dir().map(Path::to_owned);
        let recording = config.evolve.record_calls.then(CallRecording::default);
        let secret_rules = config.secret_rules.clone();
        let asks_client = config.evolve.ask_client;
        // Of several calls, a program that makes one has nothing to say.
        let gives_hints =
            config.evolve.hints && evolve_dir.is_some() && backend == Backend::Serving;
        let caller = match backend {
            Backend::Serving => Caller::Agent,
            Backend::Used | Backend::Job | Backend::Unused => Caller::Operator,
        };
        let mut host =
            Host::builder(env, surroundings.clone(), config).caller(caller).starts_servers();
        // One call has no next one.
        if backend != Backend::Serving {
            host = host.ready(ReadyOptions::new().processes(0));
        }
        let mut host = undo_store.into_iter().fold(host, HostBuilder::undo_store);
        if gives_hints {
            let added = host.stages(|it| it.insert_after(names::BOUND, Hints::default()));
            host = added.map_err(Stop::internal)?;
        }
        let host = Arc::new(with(host, rules_file.clone()).build());
        let mut options = ClientOptions::default();
        // The variable that other programs with TLS read.
        let ca_file = surroundings.env.get("SSL_CERT_FILE").filter(|it| !it.is_empty());
        options.ca_file = ca_file.map(PathBuf::from);
        let has_servers = !host.servers().is_empty();
        // A host that serves may get servers later, by a plugin that is reloaded.
        if has_servers || backend == Backend::Serving {
            let is_served = surroundings.env.get(SERVED_BY).is_some_and(|it| !it.is_empty());
            let marked = is_served.then(|| {
                format!("another flyto started this one as a server ({SERVED_BY} is set)")
            });
            let objection = marked.or_else(ancestors::objection);
            options.uses_servers = objection.is_none();
            if let Some(why) = objection.filter(|_| has_servers) {
                self.screen.note(format_args!("no servers are started: {why}"));
            }
        }
        let Answers { mut approver, elicitation } = answers;
        if backend == Backend::Serving && !asks_client {
            approver = Arc::new(Later);
        }
        let servers = Servers::with_handler(&host, pins, options, elicitation);
        let report = host.report();
        let evolved = match evolve_dir {
            Some(dir) => {
                let rules = secret_rules.as_ref();
                Some(Evolved::join(&host, &dir, &surroundings, approver, recording, rules)?)
            }
            None => None,
        };
        Ok(Loaded {
            host,
            servers,
            evolved,
            report,
            config: findings,
            profile: profile_findings,
            dir,
            grants_file,
            rules_file,
            plugin_values,
            plugins_off,
            is_limited,
            output_limit_bytes,
        })
    }

    /// The store of evolved tools, whether it is there or not.
    ///
    /// # Errors
    ///
    /// The configuration cannot be used or switches the store off, or there is no home to keep it in.
    pub(crate) fn evolve_store(&self) -> Result<Store, Stop> {
        let (config, _) = self.config(None, &self.surroundings()?)?;
        if !config.evolve.is_enabled {
            return Err(Stop::new(Why::Refused, "the configuration switches evolved tools off")
                .with_help("`--evolve DIR` uses a store all the same"));
        }
        config.evolve.dir.map(Store::new).ok_or_else(|| {
            Stop::new(Why::Failed, "there is no home directory to keep evolved tools in")
                .with_help("name a directory by `--evolve DIR`")
        })
    }

    /// This session, in which the store of evolved tools is used also where it is not there yet.
    ///
    /// # Errors
    ///
    /// Those of [`evolve_store`](Self::evolve_store).
    pub(crate) fn with_evolve_store(&self) -> Result<Self, Stop> {
        let mut res = self.clone();
        res.flags.evolve = Some(self.evolve_store()?.dir().to_owned());
        Ok(res)
    }

    /// The configuration, and what is odd about it.
    ///
    /// # Errors
    ///
    /// A file that an option names is not there or of another kind, or the configuration cannot be used.
    pub(crate) fn config(
        &self,
        output_limit: Option<u64>,
        surroundings: &Surroundings,
    ) -> Result<(Config, Findings), Stop> {
        let mut flags = self.flags.clone();
        flags.output_limit_bytes = output_limit;
        source_paths::check(&flags, surroundings)?;
        load_config(surroundings, &flags).map_err(|err| {
            Stop::new(Why::Broken, "the configuration cannot be used")
                .with_findings(err.findings.into_vec())
        })
    }

    /// The environment and the current directory, which some verbs do without.
    ///
    /// # Errors
    ///
    /// The current directory was removed, or may not be read.
    pub(crate) fn surroundings(&self) -> Result<Surroundings, Stop> {
        if let Some(dir) = &self.dir {
            return Ok(Surroundings::new(self.env.clone(), dir));
        }
        let dir = std::env::current_dir().map_err(|err| {
            Stop::new(Why::Failed, format!("the current directory cannot be told: {err}"))
                .with_help("change to a directory that is there")
        })?;
        let mut res = Surroundings::new(self.env.clone(), dir);
        if self.env.get("HOME").is_none_or(|it| it.is_empty()) {
            // The rules of the user and the log of calls have their place without the variable too.
            let mut env = self.env.clone();
            if let Some(home) = std::env::home_dir().filter(|it| it.is_absolute()) {
                env.set("HOME", home);
                res.places = Places::from_env(&env);
            }
        }
        Ok(res)
    }
}

/// The first of these findings in one line, the number of the others, and where to see them.
fn remark<'a>(mut findings: impl Iterator<Item = &'a Diagnostic>) -> Option<String> {
    let first = said(findings.next()?);
    let more = match findings.count() {
        0 => String::new(),
        n => format!(", and {n} more"),
    };
    Some(format!("{first}{more}; {} shows it", by_flyto(["list", "--problems"])))
}

fn said(it: &Diagnostic) -> String {
    format!("{}: {}", one_line(it.location.name()), one_line(&it.message))
}

/// Whether a finding is about a declaration under `mcpServers`, of the configuration or of a plugin.
fn is_about_servers(finding: &Diagnostic) -> bool {
    let first = finding.pointer.as_ref().and_then(|it| it.tokens().next());
    first.is_some_and(|it| it == "mcpServers")
}

/// A host with its tools, and what was said about the configuration on the way.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) host: Arc<Host>,
    /// The servers whose tools are among those of the host.
    pub(crate) servers: Servers,
    /// The store of evolved tools, where it is used.
    pub(crate) evolved: Option<Evolved>,
    /// What became of the sources.
    pub(crate) report: Arc<LoadReport>,
    config: Findings,
    /// What is odd about the profile of the command line, which no other verb finds.
    profile: Findings,
    /// The current directory.
    dir: String,
    /// The configuration file in which grants take effect.
    pub(crate) grants_file: Option<PathBuf>,
    /// The configuration file to which rules are added.
    pub(crate) rules_file: Option<PathBuf>,
    /// What decides which plugins are used.
    plugin_values: PluginValues,
    /// Whether plugins are switched off.
    plugins_off: bool,
    /// Whether the user limited the text of results.
    pub(crate) is_limited: bool,
    /// Most bytes of the text of a result.
    pub(crate) output_limit_bytes: u64,
}

impl Loaded {
    /// The tool of this name.
    pub(crate) fn find(&self, name: &str) -> Result<Entry, Stop> {
        self.host.find(name).map_err(|err| self.not_called(err))
    }

    /// The tool of this name, for a call of it: where there is none, the log has the call.
    pub(crate) fn find_to_call(&self, name: &str, input: Option<&Input>) -> Result<Entry, Stop> {
        self.host.find(name).map_err(|err| {
            let ctx = CallContext::new();
            let call = MissingCall::new(name, &ctx, &err);
            let call = input.into_iter().fold(call, MissingCall::input);
            // Without a runtime there is no call that the log lacks.
            if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build()
            {
                runtime.block_on(self.host.missing(call));
            }
            self.not_called(err)
        })
    }

    /// Everything that is wrong or odd about the sources, the configuration first.
    pub(crate) fn findings(&self) -> impl Iterator<Item = &Diagnostic> {
        self.config.iter().chain(&self.profile).chain(self.report.findings())
    }

    /// One line where the configuration does not all hold: the first of what is wrong with it, and
    /// where to see the rest. One more for each thing that is wrong with the profile of the command line.
    pub(crate) fn config_remarks(&self) -> Vec<String> {
        // A call that is refused for its directory says so itself.
        let is_said =
            |it: &Diagnostic| it.code == codes::TOO_WIDE && it.location.name() == self.dir;
        let is_odd = |it: &&Diagnostic| it.severity != Severity::Note && !is_said(it);
        let of_profile = self.profile.iter().filter(is_odd).map(|it| {
            let help = it.help.iter().map(|it| format!("; {}", one_line(it)));
            said(it) + &help.collect::<String>()
        });
        remark(self.config.iter().filter(is_odd)).into_iter().chain(of_profile).collect()
    }

    /// One line where the sources do not all hold: the first of what is wrong with them, that with servers before others,
    /// and where to see the rest.
    pub(crate) fn servers_remark(&self) -> Option<String> {
        let odd = self.findings().filter(|it| it.severity != Severity::Note);
        let (about, others): (Vec<_>, Vec<_>) = odd.partition(|it| is_about_servers(it));
        remark(about.into_iter().chain(others))
    }

    /// Whether something is wrong with the declaration of a server. It may be left out.
    pub(crate) fn has_odd_servers(&self) -> bool {
        self.findings().any(|it| it.severity != Severity::Note && is_about_servers(it))
    }

    /// What to do about missing tools where plugins are switched off.
    pub(crate) fn switched_off(&self) -> Option<&'static str> {
        let help = "plugins are switched off; `--plugins DIR` or `\"enabled\": true` in the \
                    configuration switches them on";
        self.plugins_off.then_some(help)
    }

    /// Why a call gave no result; where its declaration is the reason, with the
    /// command that shows the place.
    pub(crate) fn failed_call(&self, call: &Prepared, err: CallError) -> Stop {
        let is = |kind| matches!(&err, CallError::Tool(err) if err.kind() == kind);
        let is_schema = is(ToolErrorKind::InvalidSchema);
        let evolved = self.evolved.as_ref().filter(|_| is(ToolErrorKind::DigestMismatch));
        let edited = evolved.and_then(|it| it.decides_edit(call.id().as_str()));
        let stop = edited.into_iter().fold(self.not_called(err), Stop::with_help);
        match self.declared_in(call.entry()).filter(|_| is_schema) {
            Some(path) => {
                let path = path.display().to_string();
                stop.with_help(format!("`{}` shows it", command_line(["flyto", "validate", &path])))
            }
            None => stop,
        }
    }

    /// The directory of the plugin or the file that declares a tool.
    fn declared_in(&self, entry: &Entry) -> Option<&Path> {
        if let Some(plugin) = entry.id().owner() {
            return self.report.plugin(plugin).map(|it| &*it.dir);
        }
        let declares = |tools: &Vec<String>| tools.iter().any(|it| it == entry.id().tool());
        let mut files = self.report.exec_files.iter();
        files.find(|it| it.tools.as_ref().is_some_and(declares)).map(|it| &*it.path)
    }

    /// Why a call gave no result.
    pub(crate) fn not_called(&self, err: CallError) -> Stop {
        let stop = Stop::of(&Ending::NotCalled(&err), chain(&err));
        let stop = match &err {
            CallError::Refused(refusal) => stop.with_refusal(Refusal::clone(refusal)),
            _ => stop,
        };
        match err {
            CallError::NotFound {
                name, similar, missing_plugin, findings, held_back, ..
            } => {
                // Where it is known what is wrong with this very tool, no other one is meant.
                let is_known = !findings.is_empty() || held_back.is_some();
                let mut stop = stop.with_findings(findings);
                let similar: Vec<_> = similar.iter().map(|it| one_line(it)).collect();
                let meant = format!("did you mean {}?", similar.join(" or "));
                if let Some(plugin) = missing_plugin.filter(|_| !is_known) {
                    let what = format!("there is no plugin \"{}\"", one_line(&plugin));
                    stop = stop.with_help(match similar.is_empty() {
                        true => what,
                        false => format!("{what}; {meant}"),
                    });
                } else if !similar.is_empty() && !is_known {
                    stop = stop.with_help(meant);
                }
                let server = name.split_once(':').or_else(|| name.split_once("__"));
                let is_server = |it: &str| self.servers.reports().iter().any(|one| one.name == it);
                if let Some((server, _)) = server.filter(|it| is_server(it.0)) {
                    let show = by_flyto(["servers", "show", server]);
                    let server = one_line(server);
                    return stop.with_help(format!("{show} shows what the server {server} has"));
                }
                // A name of a definition file has nothing to do with plugins.
                let may_be_plugins = name.contains(':') || name.contains("__");
                match self.switched_off().filter(|_| may_be_plugins && !is_known) {
                    Some(help) => stop.with_help(help),
                    None => stop,
                }
            }
            CallError::PluginHeldBack { plugin, state, .. } => {
                let why = self.plugin_values.holding_back(&plugin, state);
                why.into_iter().fold(stop, Stop::with_help)
            }
            // A person who said no needs no way round it.
            CallError::Refused(it) if it.stage == names::CHECKPOINT && it.why.contains("not released") => {
                stop
            }
            CallError::Refused(it) if it.stage == names::CHECKPOINT => stop
                .with_help("call it in the foreground at a terminal, which asks")
                .with_help(allow(&it.allowed_by, self.rules_file.as_deref())),
            CallError::Refused(it) if it.stage == names::AUDIT => stop
                .with_help("to have the log elsewhere, set XDG_STATE_HOME to a directory in which only you can write")
                .with_help(format!(
                    "to have calls run that cannot be recorded, put {{\"audit\": {{\"on_failure\": \"run\"}}}} into {}",
                    self.rules_file.as_deref().map_or(file_name(None), |it| format!("{} or a file for --config", file_name(Some(it))))
                )),
            CallError::Refused(it) if it.stage == names::PERMISSION => match &it.rule {
                Some(rule) => stop.with_help(format!(
                    "the rule stands in {}; {} explains each part of a call",
                    one_line(&rule.place().to_string()),
                    by_flyto(["permission", "test"])
                )),
                None => stop.with_help(allow(&it.allowed_by, self.rules_file.as_deref())),
            },
            _ => stop,
        }
    }
}

/// The configuration file that the operator would edit.
fn file_name(file: Option<&Path>) -> String {
    file.map_or("a file for --config".to_owned(), |it| one_line(&it.to_string_lossy()))
}

/// How a call is allowed that was asked first, or denied by a default.
fn allow(rules: &[String], file: Option<&Path>) -> String {
    let file = file_name(file);
    match rules {
        [] => {
            let test = by_flyto(["permission", "test"]);
            format!("no rule allows it; {test} explains each part of a call")
        }
        rules => {
            let entry = serde_json::json!({"permissions": {"allow": rules}});
            // To be copied: an escape that JSON knows, and every blank.
            format!("to allow it, put {} into {file}", escape(&entry.to_string(), Form::Json))
        }
    }
}
