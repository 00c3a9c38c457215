//! What a session of tool making consists of: its parts, its settings, and what it did so far.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use flyto_execenv::ExecEnv;
use flyto_security::{DefaultGuard, RulesError, SecretGuard};
use flyto_tools::{Owner, Registry, ToolCaller};
use serde_json::Value;

use super::{Refusal, guard::Guard, registered::Current, tracked::Waiting};
use crate::{
    Approver, CallRecording, DEFAULT_QUARANTINE_AFTER, DefinitionHash, HostContext, Store,
    StoreError,
};

/// How many tools a session may make where the host says nothing else.
pub const DEFAULT_MAX_PER_SESSION: u32 = 10;

/// Makes tools of proposals: checks, asks, saves and registers them, for one session.
///
/// Clones share the session. Without an [`Approver`], every proposal is refused.
///
/// ```
/// use std::sync::Arc;
///
/// use flyto_evolve::{
///     Answer, Applied, Approver, ApproverError, Decision, HostContext, Proposal, Review, Store, ToolBuilder, ToolDefinition,
/// };
/// use flyto_execenv::{Environment, ExecEnv, local::Local};
/// use flyto_tools::{CallContext, Input, Registry};
///
/// #[derive(Debug)]
/// struct Yes;
///
/// #[async_trait::async_trait]
/// impl Approver for Yes {
///     async fn review(&self, _: &Review) -> Result<Decision, ApproverError> {
///         Ok(Decision::new(Answer::Save, "a test"))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let temp = tempfile::tempdir()?;
/// let registry = Arc::new(Registry::new());
/// let host = HostContext::new(Environment::ambient(), "/tmp");
/// let store = Store::new(temp.path().join("evolution"));
/// let builder = ToolBuilder::builder(store, ExecEnv::new(Local::new()), host, Arc::clone(&registry))
///     .approver(Arc::new(Yes))
///     .build();
///
/// let def = ToolDefinition::script("shout", "Prints its input in capitals.", "tr a-z A-Z <<< \"$TOOL_INPUT_TEXT\"\n");
/// let Applied::Saved(version) = builder.apply(Proposal::of(&def, "session-1")).await? else { panic!("it is saved") };
/// assert_eq!(version.number, 1);
///
/// let entry = registry.get("shout").expect("it can be called at once");
/// let result = entry.tool().execute(&CallContext::new(), Input::parse(r#"{"text": "hi"}"#)?).await?;
/// assert_eq!(result.output, "HI\n");
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct ToolBuilder {
    pub(super) inner: Arc<Inner>,
}

/// What the clones of a [`ToolBuilder`] share.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) store: Store,
    pub(super) env: ExecEnv,
    pub(super) host: Arc<HostContext>,
    pub(super) registry: Arc<Registry>,
    pub(super) owner: Owner,
    /// Through what the steps of composites are called.
    pub(super) caller: Option<Arc<dyn ToolCaller>>,
    pub(super) quarantine_after: Option<u32>,
    /// How much of calls is recorded; `None` where nothing is.
    pub(super) recording: Option<CallRecording>,
    pub(super) waiting: Mutex<Waiting>,
    pub(super) approver: Option<Arc<dyn Approver>>,
    pub(super) guard: Guard,
    /// Names of tools that a host has beside its registry.
    pub(super) protected: Vec<String>,
    /// The beginning of the command line by which a person comes to the store.
    command: String,
    pub(super) max_per_session: u32,
    session: Mutex<Session>,
    /// The tools of this process by name, with their versions: what the registry has of the owner.
    pub(super) tools: Mutex<BTreeMap<String, (u64, Current)>>,
}

/// What a session did so far.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) n_applied: u32,
    /// Proposals that are being decided, each with a place of its own.
    pub(super) n_deciding: u32,
    pub(super) n_proposed: u32,
    pub(super) denied: BTreeMap<DefinitionHash, u32>,
    /// What waits for a person, by its id.
    pub(super) waits: BTreeMap<String, Waits>,
    /// What was denied after it had waited, in its order.
    pub(super) denials: Vec<Denial>,
}

/// A proposal that began to wait for a person.
#[derive(Debug, Clone)]
pub(super) struct Waits {
    /// The hash of its definition, by which the log of events names a version that was made of it.
    pub(super) hash: DefinitionHash,
    /// Since when: an earlier answer to the same text is none.
    pub(super) since: flyto_audit::Timestamp,
}

/// A person's no to a proposal that waited.
#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct Denial {
    /// The id of the proposal.
    pub(crate) id: String,
    /// Why, in the words of the person; `None` where the person gave no reason.
    pub(crate) reason: Option<String>,
    /// Whether the agent was told.
    #[serde(skip)]
    pub(super) is_told: bool,
}

/// Collects what a [`ToolBuilder`] needs; [`build`](Self::build) completes it.
///
/// | setting | without it |
/// | --- | --- |
/// | [`approver`](Self::approver) | every proposal is refused |
/// | [`caller`](Self::caller) | composites are refused |
/// | [`guard`](Self::guard) | the guard of `flyto-security`, with the host's own secrets |
/// | [`max_per_session`](Self::max_per_session) | 10 tools, and 30 proposals |
/// | [`quarantine_after`](Self::quarantine_after) | 3 failures in a row that no input can have caused |
/// | [`record_calls`](Self::record_calls) | no call is recorded |
/// | [`owner`](Self::owner) | tools are registered for `evolve` |
/// | [`command`](Self::command) | models are told of `flyto evolve approve ID` |
/// | [`protected_names`](Self::protected_names) | [`PROTECTED_NAMES`](crate::PROTECTED_NAMES), and what the registry has of others |
///
/// ```
/// use flyto_evolve::{CallRecording, HostContext, Store, ToolBuilder};
/// use flyto_execenv::{Environment, ExecEnv, local::Local};
///
/// let host = HostContext::new(Environment::new(), "/tmp").spill_dir("/tmp/flyto");
/// let builder = ToolBuilder::builder(Store::new("/nonexistent"), ExecEnv::new(Local::new()), host, Default::default())
///     .record_calls(CallRecording::default())
///     .quarantine_after(Some(5))
///     .max_per_session(3)
///     .build();
/// assert!(builder.tools().is_empty());
/// ```
#[derive(Debug)]
#[must_use = "a builder makes nothing before `build`"]
pub struct Builder {
    inner: Inner,
}

impl Builder {
    /// Sets the approver. Without one, every proposal is refused.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.inner.approver = Some(approver);
        self
    }

    /// Sets through what the steps of composite tools are called: the host's own way to call a tool, with all its gates.
    /// Without one, composites are refused.
    pub fn caller(mut self, caller: Arc<dyn ToolCaller>) -> Self {
        self.inner.caller = Some(caller);
        self
    }

    /// Sets after how many failures in a row that no input can have caused a tool is archived; with `None`, none is. A tool
    /// that is pinned stays. [`DEFAULT_QUARANTINE_AFTER`] otherwise.
    pub fn quarantine_after(mut self, n_failures: Option<u32>) -> Self {
        self.inner.quarantine_after = n_failures;
        self
    }

    /// Records calls of saved tools in the store, so that a later version can be run over them; see
    /// [`ToolBuilder::replay`]. Secrets are taken out first, and a call that cannot be looked through is not kept. Without
    /// this, no input and no output of a call is written anywhere.
    pub fn record_calls(mut self, recording: CallRecording) -> Self {
        self.inner.recording = Some(recording);
        self
    }

    /// Sets how many proposals of the session may succeed; three times as many may be made. One that waits for a person
    /// counts as well, until it is denied: another process may approve it at any time.
    ///
    /// | a proposal that was | counts as a success |
    /// | --- | --- |
    /// | saved, or approved once | yes |
    /// | kept for a person, who did not answer yet | yes |
    /// | kept for a person, who approved it in any process | yes |
    /// | kept for a person, who denied it in any process | no |
    /// | refused by a check, or denied | no |
    ///
    /// Beyond the limit, proposals are refused with [`Refusal::SessionLimit`].
    /// [`DEFAULT_MAX_PER_SESSION`] otherwise.
    pub fn max_per_session(mut self, max: u32) -> Self {
        self.inner.max_per_session = max;
        self
    }

    /// Sets the owner under whose name tools are registered; `evolve` otherwise.
    pub fn owner(mut self, owner: impl Into<Owner>) -> Self {
        self.inner.owner = owner.into();
        self
    }

    /// Sets the beginning of the command line by which a person comes to the store, as `flyto --evolve DIR evolve`: a model is
    /// told to hand it on where a proposal waits.
    ///
    /// ```
    /// # use flyto_evolve::{HostContext, Store, ToolBuilder};
    /// # use flyto_execenv::{Environment, ExecEnv, local::Local};
    /// # let host = HostContext::new(Environment::new(), "/tmp");
    /// let store = Store::new("/srv/tools");
    /// let builder = ToolBuilder::builder(store, ExecEnv::new(Local::new()), host, Default::default())
    ///     .command("flyto --evolve /srv/tools evolve")
    ///     .build();
    /// assert!(builder.tools().is_empty());
    /// ```
    pub fn command(mut self, words: impl Into<String>) -> Self {
        self.inner.command = words.into();
        self
    }

    /// Protects more names, those of tools that are beside the registry: of a server that adds some, for example. A name that
    /// looks like one of them is refused as well, with [`Refusal::LookAlike`].
    ///
    /// ```
    /// # use flyto_evolve::{HostContext, Proposal, Refusal, Store, ToolBuilder, ToolDefinition};
    /// # use flyto_execenv::{Environment, ExecEnv, local::Local};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// # let host = HostContext::new(Environment::ambient(), "/tmp");
    /// # let store = Store::new("/nonexistent");
    /// let builder = ToolBuilder::builder(store, ExecEnv::new(Local::new()), host, Default::default())
    ///     .protected_names(["jobs__start"])
    ///     .build();
    /// let def = ToolDefinition::script("Jobs_Start", "Starts a job.", "sleep 1 &\n");
    /// let refusal = builder.dry_run(&Proposal::of(&def, "session-1")).await.unwrap_err();
    /// assert!(matches!(refusal, Refusal::LookAlike { .. }));
    /// # }
    /// ```
    pub fn protected_names<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.inner.protected.extend(names.into_iter().map(Into::into));
        self
    }

    /// Sets another guard against secrets. The default is that of `flyto-security`, with the values of the host's
    /// variables whose names look secret.
    pub fn guard(mut self, guard: Arc<dyn SecretGuard>) -> Self {
        self.inner.guard = Guard::Own(guard);
        self
    }

    /// Adds rules to the default guard, in the form of gitleaks' `gitleaks.toml`; without one, nothing changes.
    ///
    /// # Errors
    ///
    /// Those of [`gitleaks_toml`](flyto_security::Builder::gitleaks_toml), for all texts together.
    pub fn secret_rules(mut self, text: impl Into<Arc<str>>) -> Result<Self, RulesError> {
        if let Guard::Default(rules) = &mut self.inner.guard {
            rules.push(text.into());
            let all = DefaultGuard::builder();
            let _checked = rules.iter().try_fold(all, |all, it| all.gitleaks_toml(it))?;
        }
        Ok(self)
    }

    /// Looks for no secrets: what an agent writes reaches the disk as it is.
    pub fn without_secret_guard(mut self) -> Self {
        self.inner.guard = Guard::Off;
        self
    }

    /// Completes it. Nothing is loaded yet; see [`ToolBuilder::load_all`].
    #[must_use]
    pub fn build(self) -> ToolBuilder {
        ToolBuilder { inner: Arc::new(self.inner) }
    }
}

impl ToolBuilder {
    /// Starts to put one together. `env` is where tools and their checks run.
    pub fn builder(
        store: Store,
        env: ExecEnv,
        host: impl Into<Arc<HostContext>>,
        registry: Arc<Registry>,
    ) -> Builder {
        Builder {
            inner: Inner {
                store,
                env,
                host: host.into(),
                registry,
                owner: Owner::new("evolve"),
                caller: None,
                quarantine_after: Some(DEFAULT_QUARANTINE_AFTER),
                recording: None,
                waiting: Mutex::default(),
                approver: None,
                guard: Guard::Default(Vec::new()),
                protected: Vec::new(),
                command: "flyto evolve".to_owned(),
                max_per_session: DEFAULT_MAX_PER_SESSION,
                session: Mutex::default(),
                tools: Mutex::default(),
            },
        }
    }

    /// The beginning of the command line by which a person comes to the store.
    pub(crate) fn command(&self) -> &str {
        &self.inner.command
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// What this session has proposed and saved. The lock is held for no work that waits.
    pub(super) fn session(&self) -> MutexGuard<'_, Session> {
        self.inner.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what waits for the disk where it may.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Refusal> {
        let store = self.inner.store.clone();
        let done = tokio::task::spawn_blocking(move || work(&store)).await;
        let lost =
            |why: String| StoreError::Damaged { path: self.inner.store.dir().to_owned(), why };
        let done = done.map_err(|err| lost(format!("the work on it did not end: {err}")))?;
        Ok(done?)
    }

    /// Records what happened, as well as that can be done: a full disk keeps no proposal from being refused.
    pub(super) async fn record(&self, event: &'static str, body: Value) {
        self.record_with(event, move |_| body).await;
    }

    /// The same, of what the store tells. Every event of the pipeline comes through here, and loses what looks like a secret.
    pub(super) async fn record_with(
        &self,
        event: &'static str,
        body: impl FnOnce(&Store) -> Value + Send + 'static,
    ) {
        let (guard, host) = (self.inner.guard.clone(), Arc::clone(&self.inner.host));
        let record = move |store: &Store| {
            let body = guard.redacted_record(&host.env, body(store));
            Ok(store.log()?.event("", event, &body)?)
        };
        drop(self.blocking(record).await);
    }
}
