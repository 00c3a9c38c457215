//! The way of a proposal.
//!
//! Read, name, base, `bash -n`, duplicates, secrets, examples, the person, save, register. What costs little comes first, and
//! what runs the text of the proposal comes behind everything that can refuse it without that. Nothing of a proposal reaches
//! the disk before it was looked through for secrets; the log of events gets its hash alone until then.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use flyto_diagnostics::Source;
use flyto_execenv::ExecEnv;
use flyto_security::{SecretGuard, Tier};
use flyto_tools::{Owner, Registry, ToolCaller};
use serde_json::{Value, json};

use super::{
    Applied, Proposal, ProposalSource, Refusal, duplicate, example,
    guard::{self, Guard},
    names,
    registered::Current,
    syntax,
    tracked::Waiting,
};
use crate::{
    Answer, Approval, Approver, Body, Change, DEFAULT_QUARANTINE_AFTER, DefinitionHash,
    ExampleReport, Facts, HostContext, NewVersion, Pending, Review, SecretFinding, Store,
    StoreError, ToolDefinition, Version, diff, hidden_characters, parse, parse_proposal,
    review::ask,
};

/// How many tools a session may make where the host says nothing else.
pub const DEFAULT_MAX_PER_SESSION: u32 = 10;

/// The most tools of a store that can be called.
pub const MAX_ACTIVE_TOOLS: usize = 200;

/// A session may propose so many times as often as it may have tools.
const PROPOSALS_PER_TOOL: u32 = 3;

/// How often a person may edit one proposal before it counts as denied.
const MAX_EDITS: u32 = 8;

/// How often a person denies a text before the person is not asked again about it.
const MAX_DENIALS: u32 = 2;

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
    pub(super) waiting: Mutex<Waiting>,
    approver: Option<Arc<dyn Approver>>,
    guard: Guard,
    max_per_session: u32,
    session: Mutex<Session>,
    /// The tools of this process by name, with their versions: what the registry has of the owner.
    pub(super) tools: Mutex<BTreeMap<String, (u64, Current)>>,
}

/// What a session did so far.
#[derive(Debug, Default)]
struct Session {
    n_applied: u32,
    n_proposed: u32,
    denied: BTreeMap<DefinitionHash, u32>,
}

/// Collects what a [`ToolBuilder`] needs; [`build`](Self::build) completes it.
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

    /// Sets after how many failures of its own in a row a tool is archived; with `None`, none is. A tool that is pinned
    /// stays. [`DEFAULT_QUARANTINE_AFTER`] otherwise.
    pub fn quarantine_after(mut self, n_failures: Option<u32>) -> Self {
        self.inner.quarantine_after = n_failures;
        self
    }

    /// Sets how many proposals of the session may succeed; three times as many may be made.
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

    /// Sets another guard against secrets. The default is that of `flyto-security`, with the values of the host's
    /// variables whose names look secret.
    pub fn guard(mut self, guard: Arc<dyn SecretGuard>) -> Self {
        self.inner.guard = Guard::Own(guard);
        self
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

/// A definition that went through all checks.
struct Checked {
    definition: ToolDefinition,
    last: Option<Version>,
    secrets: Vec<SecretFinding>,
    similar: Vec<String>,
    examples: ExampleReport,
    notes: Vec<String>,
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
                waiting: Mutex::default(),
                approver: None,
                guard: Guard::Default,
                max_per_session: DEFAULT_MAX_PER_SESSION,
                session: Mutex::default(),
                tools: Mutex::default(),
            },
        }
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// Makes a tool of a proposal, or says why not. A tool that is made can be called when this returns.
    ///
    /// # Errors
    ///
    /// [`Refusal`] says at which step, and what to do instead. Nothing of the proposal is left behind then.
    pub async fn apply(&self, proposal: Proposal) -> Result<Applied, Refusal> {
        self.count_proposal()?;
        let sha256 = DefinitionHash::of_bytes(proposal.text.as_bytes());
        let res = self.decide(proposal).await;
        match &res {
            Ok(Applied::Saved(_) | Applied::Once { .. }) => self.session().n_applied += 1,
            Ok(Applied::Staged { .. }) => {} // What waits is no success yet.
            Err(refusal) => {
                // Neither the text nor its name: before the scan, either may hold a secret.
                let body = json!({"stage": refusal.stage(), "text_sha256": sha256});
                self.record("refused", body).await;
            }
        }
        res
    }

    /// Goes through all checks but the person's, and gives what a person would be shown. Nothing is kept but a record in the
    /// log of events, and the session's counts stay. Examples are run as for a proposal.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply).
    pub async fn dry_run(&self, proposal: &Proposal) -> Result<Review, Refusal> {
        let checked = self.check(proposal).await?;
        Ok(Self::review(proposal, &checked, false))
    }

    fn count_proposal(&self) -> Result<(), Refusal> {
        let mut session = self.session();
        let limit = self.inner.max_per_session;
        if session.n_applied >= limit {
            return Err(Refusal::SessionLimit { limit });
        }
        let limit = limit.saturating_mul(PROPOSALS_PER_TOOL);
        if session.n_proposed >= limit {
            return Err(Refusal::ProposalLimit { limit });
        }
        session.n_proposed += 1;
        Ok(())
    }

    async fn decide(&self, mut proposal: Proposal) -> Result<Applied, Refusal> {
        for n_edits in 0..=MAX_EDITS {
            let checked = self.check(&proposal).await?;
            let hash = checked.definition.hash();
            if self.session().denied.get(&hash).is_some_and(|it| *it >= MAX_DENIALS) {
                let reason =
                    "this very text was denied before; a person is not asked again".to_owned();
                return Err(Refusal::Denied { reason });
            }
            let Some(approver) = &self.inner.approver else {
                return Err(Refusal::NotApproved { why: "there is no approver".to_owned() });
            };
            let review = Self::review(&proposal, &checked, n_edits > 0);
            let name = &checked.definition.name;
            self.record("shown", json!({"tool": name, "sha256": hash, "by": proposal.by})).await;
            let decision = ask(&**approver, &review)
                .await
                .map_err(|err| Refusal::NotApproved { why: err.to_string() })?;
            match decision.answer {
                Answer::Once => {
                    let mut definition = checked.definition;
                    definition.version = review.to;
                    self.record(
                        "once",
                        json!({"tool": definition.name, "sha256": hash, "by": decision.by}),
                    )
                    .await;
                    let name = definition.name.clone();
                    self.register_once(definition)?;
                    return Ok(Applied::Once { name });
                }
                Answer::Save => {
                    let approval = Approval::now(decision.by, hash);
                    return self.save(&proposal, checked, &review, approval).await;
                }
                Answer::Edit(text) => proposal.text = text,
                Answer::Deny { reason } => {
                    *self.session().denied.entry(hash).or_default() += 1;
                    self.record("denied", json!({"tool": name, "sha256": hash, "by": decision.by}))
                        .await;
                    return Err(Refusal::Denied { reason });
                }
                Answer::Later => return self.stage(&proposal, checked).await,
            }
        }
        Err(Refusal::NotApproved {
            why: format!("it was edited {MAX_EDITS} times without an answer"),
        })
    }

    /// All checks, the cheap ones first.
    async fn check(&self, proposal: &Proposal) -> Result<Checked, Refusal> {
        let (definition, mut notes) = read(proposal)?;
        if matches!(definition.body, Body::Composite(_)) && self.inner.caller.is_none() {
            return Err(Refusal::Unsupported { execution_type: definition.body.execution_type() });
        }
        let name = definition.name.clone();
        let loaded = self.blocking(|store| store.load()).await?;
        let all = loaded.active.iter().chain(&loaded.archived);
        let own: Vec<String> = all.map(|it| it.definition.name.clone()).collect();
        names::check(&name, &self.inner.registry, &self.inner.owner, &own)?;

        let last = {
            let name = name.clone();
            self.blocking(move |store| store.last(&name)).await?
        };
        base(proposal, &definition, last.as_ref())?;
        if last.is_none() && loaded.active.len() >= MAX_ACTIVE_TOOLS {
            return Err(Refusal::StoreFull { limit: MAX_ACTIVE_TOOLS });
        }
        if let Body::Composite(value) = &definition.body {
            notes.extend(syntax::steps(&definition, value, &self.inner.registry)?);
        } else {
            syntax::check(&definition, &self.inner.env, &self.inner.host).await?;
        }
        let why = proposal.distinct_because.as_deref();
        let similar = duplicate::check(
            &definition,
            why,
            &loaded.active,
            &self.inner.registry,
            &self.inner.owner,
        );
        // A file that is there already is no further tool.
        let similar = match similar {
            Err(Refusal::Duplicate { twin, .. }) if proposal.source == ProposalSource::File => {
                vec![twin]
            }
            other => other?,
        };
        let secrets = self.scan(&definition, further(proposal)).await?;
        if secrets.iter().any(|it| it.found.tier >= Tier::Block) {
            return Err(Refusal::Secret { findings: secrets });
        }
        let body = json!({
            "tool": name, "sha256": definition.hash(), "base": proposal.base, "by": proposal.by,
            "secrets": secrets.iter().map(|it| it.found.fingerprint).collect::<Vec<_>>(),
        });
        self.record("proposed", body).await;
        let examples = example::run(&definition, &self.inner.env, &self.inner.host).await;
        let examples = self.redacted(examples).await?;
        if let ExampleReport::Ran { outcomes } = &examples
            && outcomes.iter().any(|it| it.problem.is_some())
        {
            return Err(Refusal::ExampleFailed { outcomes: outcomes.clone() });
        }
        Ok(Checked { definition, last, secrets, similar, examples, notes })
    }

    fn review(proposal: &Proposal, checked: &Checked, is_edited: bool) -> Review {
        let Checked { definition, last, secrets, similar, examples, notes } = checked;
        let imported_from = match &proposal.source {
            ProposalSource::Imported { from } => Some(from.clone()),
            _ => None,
        };
        Review {
            name: definition.name.clone(),
            from: last.as_ref().map(|it| it.number),
            to: last.as_ref().map_or(definition.version.max(1), |it| it.number + 1),
            proposed_by: proposal.by.clone(),
            imported_from,
            is_edited,
            sha256: definition.hash(),
            definition: definition.content(),
            signature: definition.signature(),
            diff: diff(last.as_ref().map(|it| &it.definition), definition),
            facts: Facts::of(definition),
            secrets: secrets.clone(),
            notes: notes.clone(),
            similar: similar.clone(),
            examples: examples.clone(),
            hidden_characters: hidden_characters(definition),
        }
    }

    async fn save(
        &self,
        proposal: &Proposal,
        checked: Checked,
        review: &Review,
        approval: Approval,
    ) -> Result<Applied, Refusal> {
        let mut definition = checked.definition;
        // The store sets the time of this version; what a file says of itself stays.
        if proposal.source != ProposalSource::File {
            definition.created_at = String::new();
            definition.created_by.clone_from(&proposal.by);
        }
        // Another owner may have taken the name while the person was asked.
        names::check(&definition.name, &self.inner.registry, &self.inner.owner, &[])?;
        let base = checked.last.as_ref().map(|it| it.number);
        let change = match (&proposal.source, base) {
            (ProposalSource::File, None) => Change::Adopted,
            (ProposalSource::File, Some(_)) => Change::HumanEdit,
            (ProposalSource::Imported { from }, _) => Change::Imported { from: from.clone() },
            (ProposalSource::Agent, None) => Change::Created,
            (ProposalSource::Agent, Some(_)) => Change::Updated,
        };
        let evidence =
            json!({"examples": review.examples, "secrets": review.secrets, "notes": review.notes});
        let mut new =
            NewVersion::new(definition.clone(), base, change).approved(approval).evidence(evidence);
        new.proposed_by.clone_from(&proposal.by);
        new.replaces_edit = proposal.replaces_edit;
        let saved = self.blocking(move |store| store.commit(new)).await;
        let version = saved.map_err(|err| conflict(err, &definition))?;
        if let Err(refusal) = self.register(&version) {
            // It is saved and cannot be called, so it is set aside.
            let name = version.definition.name.clone();
            self.blocking(move |store| store.archive(&name, "flyto: the name was taken").map(drop))
                .await?;
            return Err(refusal);
        }
        let number = version.number;
        self.record(
            "registered",
            json!({"tool": version.definition.name, "version": number, "sha256": version.hash()}),
        )
        .await;
        Ok(Applied::Saved(Box::new(version)))
    }

    /// Keeps a proposal for a person.
    async fn stage(&self, proposal: &Proposal, checked: Checked) -> Result<Applied, Refusal> {
        // No person has seen what may be a secret, so it does not reach the disk.
        if checked.secrets.iter().any(|it| it.found.tier >= Tier::Ask) {
            return Err(Refusal::Secret { findings: checked.secrets });
        }
        let definition = checked.definition;
        let sha256 = definition.hash();
        let id = format!("{}-{}", definition.name, sha256.short());
        let imported_from = match &proposal.source {
            ProposalSource::Imported { from } => Some(from.clone()),
            _ => None,
        };
        let pending = Pending {
            id: id.clone(),
            definition: definition.file_text(),
            sha256,
            base: proposal.base,
            proposed_by: proposal.by.clone(),
            at: flyto_audit::Timestamp::now().to_string(),
            distinct_because: proposal.distinct_because.clone(),
            imported_from,
        };
        // A file waits where it is.
        if proposal.source != ProposalSource::File {
            self.blocking(move |store| store.stage(&pending)).await?;
        }
        Ok(Applied::Staged { id })
    }

    /// What in a definition looks like a secret.
    pub(super) async fn scan(
        &self,
        definition: &ToolDefinition,
        further: Vec<(&'static str, String)>,
    ) -> Result<Vec<SecretFinding>, Refusal> {
        let (kind, definition) = (self.inner.guard.clone(), definition.clone());
        let host = Arc::clone(&self.inner.host);
        let scan =
            move |store: &Store| Ok(guard::scan(&kind, store, &host.env, &definition, &further));
        self.blocking(scan).await?
    }

    /// Outputs of examples are shown and kept, so they are looked through as well.
    async fn redacted(&self, examples: ExampleReport) -> Result<ExampleReport, Refusal> {
        let ExampleReport::Ran { mut outcomes } = examples else { return Ok(examples) };
        let (guard, host) = (self.inner.guard.clone(), Arc::clone(&self.inner.host));
        let redact = move |store: &Store| {
            for it in &mut outcomes {
                it.output = guard.redacted(store, &host.env, &it.output)?;
            }
            Ok(ExampleReport::Ran { outcomes })
        };
        self.blocking(redact).await
    }

    fn session(&self) -> MutexGuard<'_, Session> {
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
        let recorded = self.blocking(move |store| Ok(store.log()?.event("", event, &body)?)).await;
        drop(recorded);
    }
}

/// Reads a proposal; notes are what a person should know of it.
fn read(proposal: &Proposal) -> Result<(ToolDefinition, Vec<String>), Refusal> {
    let source = Source::new("proposal", proposal.text.as_str());
    let parsed = match proposal.source {
        ProposalSource::File => parse(&source),
        ProposalSource::Agent | ProposalSource::Imported { .. } => parse_proposal(&source),
    };
    let Some(definition) = parsed.definition else {
        return Err(Refusal::Invalid { findings: parsed.findings.into_vec() });
    };
    let mut notes: Vec<String> = parsed.findings.iter().map(|it| it.message.clone()).collect();
    if let Some(why) = &proposal.distinct_because {
        notes.push(format!("the author says why it is no duplicate: {why}"));
    }
    if !definition.name.is_ascii() {
        notes.push(format!(
            "the name has characters beyond ASCII: {}",
            definition.name.escape_unicode()
        ));
    }
    // What a person wrote stays as it is, so that it is known again.
    let is_file = proposal.source == ProposalSource::File;
    Ok((if is_file { definition } else { definition.normalised() }, notes))
}

/// Texts that are kept beside a definition.
fn further(proposal: &Proposal) -> Vec<(&'static str, String)> {
    let mut res = vec![("by", proposal.by.clone())];
    res.extend(proposal.distinct_because.clone().map(|it| ("distinct_because", it)));
    if let ProposalSource::Imported { from } = &proposal.source {
        res.push(("from", from.clone()));
    }
    res
}

/// Compares the base of a proposal with the version that is there.
fn base(
    proposal: &Proposal,
    definition: &ToolDefinition,
    last: Option<&Version>,
) -> Result<(), Refusal> {
    let name = definition.name.clone();
    match (proposal.base, last) {
        (None, None) => Ok(()),
        (Some(base), Some(last)) if base == last.number => Ok(()),
        (None, Some(last)) => Err(Refusal::Exists { name, version: last.number }),
        (Some(_), None) => Err(Refusal::NoSuchTool { name }),
        (base, Some(last)) => {
            let diff = diff(Some(&last.definition), definition);
            Err(Refusal::Conflict { name, base, current: last.number, diff })
        }
    }
}

/// A conflict of the store with what the proposal changes in the version that is there.
fn conflict(refusal: Refusal, definition: &ToolDefinition) -> Refusal {
    match refusal {
        Refusal::Store(err) => match *err {
            StoreError::Conflict { name, base, current: Some(current) } => {
                let diff = diff(Some(&current.definition), definition);
                Refusal::Conflict { name, base, current: current.number, diff }
            }
            other => other.into(),
        },
        other => other,
    }
}
