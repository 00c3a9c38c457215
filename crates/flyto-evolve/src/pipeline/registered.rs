//! Tools that can be called: loading, registering, and changes that a person makes to them.
//!
//! The registry has the tools of one owner, which are exchanged in one step; a reader sees the set before or the set behind.
//! Each tool asks the store before each call whether its version is in force.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, PoisonError},
    time::Duration,
};

use flyto_security::Tier;
use flyto_tools::{DescribeContext, LeftOut, Tool, ToolError, Validated};
use serde_json::json;

use super::{
    Applied, Proposal, ProposalSource, Refusal, ToolBuilder, build::Inner, tracked::Tracked,
};
use crate::{
    Body, CompositeTool, Damaged, DefinitionHash, EvolvedTool, MAX_COMPOSITE_DEPTH, Pending,
    Recovered, Settled, Status, Store, StoreError, ToolDefinition, Unapproved, Version,
    composite::{Catalog, NeedsReview, ToolHashes, composite_of},
    run::Gate,
};

/// How long a start waits for other processes that write to the store, before it loads the store as it is.
const START_WAIT: Duration = Duration::from_secs(1);

/// What came of loading a store.
///
/// Only [`loaded`](Self::loaded) can be called. A host shows the rest to a person: files without approval are taken up by
/// [`ToolBuilder::adopt`], proposals that wait by [`ToolBuilder::resume`].
///
/// ```
/// use flyto_evolve::LoadReport;
///
/// /// What an operator reads at the start.
/// fn told(report: &LoadReport) -> Vec<String> {
///     let damaged = report.damaged.iter().map(|it| format!("{}: {}", it.path.display(), it.why));
///     let waiting = report.pending.iter().map(|it| format!("{:?} waits for an answer", it.id));
///     let edited = report.unapproved.iter().map(|it| {
///         format!("{:?} was never approved: adopt it, or discard it", it.definition.name)
///     });
///     damaged.chain(waiting).chain(edited).collect()
/// }
/// assert!(told(&LoadReport::default()).is_empty());
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct LoadReport {
    /// Names and versions of the tools that can be called.
    pub loaded: Vec<(String, u64)>,
    /// Tools whose name another owner has; they cannot be called.
    pub left_out: Vec<LeftOut>,
    /// Files that no person approved.
    pub unapproved: Vec<Unapproved>,
    /// Composites that refuse their calls until a person approves them again.
    pub needs_review: Vec<NeedsReview>,
    /// Proposals that wait.
    pub pending: Vec<Pending>,
    /// Files that cannot be used.
    pub damaged: Vec<Damaged>,
    /// Files that were set aside earlier since they could not be used; see [`Loaded::set_aside`](crate::Loaded::set_aside).
    pub set_aside: Vec<PathBuf>,
    /// What was put in order.
    pub recovered: Vec<Recovered>,
    /// Why nothing could be put in order, for people: the store cannot be written to, say.
    pub not_recovered: Option<String>,
}

/// A tool that is registered, and the hash of its text.
#[derive(Debug, Clone)]
pub(super) struct Current {
    hash: DefinitionHash,
    tool: Arc<dyn Tool>,
    /// Whether it was approved for this session, and is no version of the store.
    is_once: bool,
}

/// A tool that a search found.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Found {
    /// Its name.
    pub name: String,
    /// Its version; `None` for a tool of another owner.
    pub version: Option<u64>,
    /// What it does.
    pub description: String,
}

impl ToolBuilder {
    /// Registers every approved tool of the store in one step, and says what else is there. A store that does not exist is
    /// empty.
    ///
    /// A host calls it at its start, and again to take up what other processes did: tools whose version is the same stay the
    /// same tool, so that no reader of the registry sees a change. A tool that was approved for this session stays until the
    /// builder is dropped, or a version with its number or a higher one is saved or archived.
    ///
    /// ```
    /// use flyto_evolve::{HostContext, Store, ToolBuilder};
    /// use flyto_execenv::{Environment, ExecEnv, local::Local};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let host = HostContext::new(Environment::ambient(), "/tmp");
    /// let store = Store::new("/nonexistent/evolution");
    /// let builder = ToolBuilder::builder(store, ExecEnv::new(Local::new()), host, Default::default()).build();
    /// assert!(builder.load_all().await?.loaded.is_empty());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Refusal::Store`] where the store cannot be read. A file that cannot be used costs its own tool only.
    pub async fn load_all(&self) -> Result<LoadReport, Refusal> {
        let mut report = LoadReport::default();
        let recovered = |store: &Store| store.waiting_at_most(START_WAIT).recover_and_load();
        let loaded = match self.blocking(recovered).await {
            Ok((recovered, loaded)) => {
                report.recovered = recovered;
                loaded
            }
            Err(refusal) => {
                report.not_recovered = Some(chain(&refusal));
                self.blocking(|store| store.load()).await?
            }
        };
        // Where they cannot be listed, `damaged` says so, and tools can be called all the same.
        report.pending = self.blocking(|store| store.pending()).await.unwrap_or_default();
        report.needs_review = loaded.needs_review();
        report.unapproved = loaded.unapproved;
        report.damaged = loaded.damaged;
        report.set_aside = loaded.set_aside;
        // What a person set aside since is not to run, not even for this session.
        let archived: BTreeMap<String, u64> =
            loaded.archived.iter().map(|it| (it.definition.name.clone(), it.number)).collect();
        let mut tools = Vec::new();
        let known = self.inner.tools.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // Composites may call tools that are registered with them.
        let catalog =
            loaded.active.iter().fold(self.catalog(), |it, version| it.with(&version.definition));
        for version in loaded.active {
            let (name, number, hash) =
                (version.definition.name.clone(), version.number, version.hash());
            // The same version is the same tool, so that a reader of the registry sees no change.
            if let Some((_, same)) =
                known.get(&name).filter(|it| it.0 == number && it.1.hash == hash)
            {
                tools.push((name, number, same.clone()));
                continue;
            }
            match self.tool_of(&version, hash, &catalog) {
                Ok(tool) => tools.push((name, number, Current { hash, tool, is_once: false })),
                Err(refusal) => {
                    let path = self.store().view_path(&name);
                    report.damaged.push(Damaged { path, why: chain(&refusal) });
                }
            }
        }
        let mut registered = self.inner.tools.lock().unwrap_or_else(PoisonError::into_inner);
        // What was approved for this session may have come meanwhile.
        for (name, (number, current)) in registered.iter().filter(|(_, it)| it.1.is_once) {
            let saved = tools.iter().position(|it| it.0 == *name);
            match saved.map(|at| &mut tools[at]) {
                Some(saved) if saved.1 >= *number => {}
                Some(saved) => (saved.1, saved.2) = (*number, current.clone()),
                None if archived.get(name).is_some_and(|it| it >= number) => {}
                None => tools.push((name.clone(), *number, current.clone())),
            }
        }
        let set = tools.iter().map(|it| Arc::clone(&it.2.tool));
        let replaced = self.inner.registry.replace_owner_where_free(&self.inner.owner, set);
        registered.clear();
        for (index, (name, number, tool)) in tools.into_iter().enumerate() {
            if !replaced.left_out.iter().any(|it| it.index == index) {
                report.loaded.extend((!tool.is_once).then(|| (name.clone(), number)));
                registered.insert(name, (number, tool));
            }
        }
        self.derive_anew(&mut registered)?;
        drop(registered);
        report.left_out = replaced.left_out;
        Ok(report)
    }

    /// The tool of a saved version, whose calls ask first whether the version is in force.
    fn tool_of(
        &self,
        version: &Version,
        approved: DefinitionHash,
        catalog: &Catalog,
    ) -> Result<Arc<dyn Tool>, Refusal> {
        let (store, name, number) =
            (self.store().clone(), version.definition.name.clone(), version.number);
        let gate = move || {
            store.in_force(&name, number, approved).inspect_err(|why| {
                // As well as that can be done: the call is refused in any case.
                let body = json!({"tool": name, "version": number, "why": why.to_string()});
                drop(store.log().map(|it| it.event("", "not_run", &body)));
            })
        };
        let tools = version.approval.as_ref().map(|it| it.tools.clone()).unwrap_or_default();
        let saved: (Arc<Gate>, DefinitionHash) = (Arc::new(gate), approved);
        self.made(version.definition.clone(), tools, Some(saved), catalog)
    }

    /// The tool of a definition. `catalog` has the tools that a composite may call, `tools` those that were approved with
    /// it; a version that is saved has a gate and a hash.
    fn made(
        &self,
        definition: ToolDefinition,
        tools: ToolHashes,
        saved: Option<(Arc<Gate>, DefinitionHash)>,
        catalog: &Catalog,
    ) -> Result<Arc<dyn Tool>, Refusal> {
        let failed = |err: ToolError| Refusal::Syntax { message: err.chain() };
        let Inner { env, host, registry, caller, .. } = &*self.inner;
        let version = definition.version;
        let (gate, saved) = saved.unzip();
        if let Body::Composite(_) = definition.body {
            let unsupported =
                Refusal::Unsupported { execution_type: definition.body.execution_type() };
            let caller = Arc::clone(caller.as_ref().ok_or(unsupported)?);
            let made =
                CompositeTool::with_catalog(definition, caller, Arc::clone(registry), catalog);
            let made = made.map_err(failed)?.with_tools(tools, self.command());
            let made = host.spill_dir.iter().fold(made, |it, dir| it.spill_dir(dir.clone()));
            return Ok(checked(self.tracked(
                match gate {
                    Some(gate) => made.with_gate(gate),
                    None => made,
                },
                version,
                saved,
            )));
        }
        let made = EvolvedTool::new(definition, env.clone(), Arc::clone(host)).map_err(failed)?;
        Ok(checked(self.tracked(
            match gate {
                Some(gate) => made.with_gate(gate),
                None => made,
            },
            version,
            saved,
        )))
    }

    /// The tool with its calls counted.
    fn tracked<T: Tool>(&self, tool: T, version: u64, saved: Option<DefinitionHash>) -> Tracked<T> {
        Tracked { tool, builder: Arc::downgrade(&self.inner), version, saved }
    }

    /// The tools that are registered now.
    fn catalog(&self) -> Catalog {
        Catalog::new(self.inner.registry.snapshot())
    }

    /// Offers a version in place of what has its name. The tools of its steps are those that are registered now.
    ///
    /// # Errors
    ///
    /// [`Refusal`] where the version cannot be run here, or another owner has the name.
    pub(super) fn register(&self, version: &Version) -> Result<(), Refusal> {
        let hash = version.hash();
        let tool = self.tool_of(version, hash, &self.catalog())?;
        let tool = Current { hash, tool, is_once: false };
        self.exchange(&version.definition.name, version.number, Some(tool))
    }

    /// Registers a tool that is not saved.
    pub(super) fn register_once(
        &self,
        definition: ToolDefinition,
        tools: ToolHashes,
    ) -> Result<(), Refusal> {
        self.check_name(&definition.name, &[])?;
        let (name, number, hash) = (definition.name.clone(), definition.version, definition.hash());
        let tool = self.made(definition, tools, None, &self.catalog())?;
        self.exchange(&name, number, Some(Current { hash, tool, is_once: true }))
    }

    /// Whether a tool was approved for this session only.
    pub(super) fn is_once(&self, name: &str) -> bool {
        let tools = self.inner.tools.lock().unwrap_or_else(PoisonError::into_inner);
        tools.get(name).is_some_and(|it| it.1.is_once)
    }

    /// Exchanges one tool of the owner, in one step for readers of the registry. Of two changes that are made at the same
    /// time, the one with the higher version stays.
    pub(super) fn exchange(
        &self,
        name: &str,
        number: u64,
        tool: Option<Current>,
    ) -> Result<(), Refusal> {
        let mut tools = self.inner.tools.lock().unwrap_or_else(PoisonError::into_inner);
        if tools.get(name).is_some_and(|it| it.0 > number) {
            return Ok(());
        }
        let mut next = tools.clone();
        match tool {
            Some(tool) => next.insert(name.to_owned(), (number, tool)),
            None => next.remove(name),
        };
        let set = next.values().map(|it| Arc::clone(&it.1.tool));
        let replaced = self.inner.registry.replace_owner(&self.inner.owner, set);
        replaced.map_err(|err| Refusal::Registry(Box::new(err)))?;
        *tools = next;
        self.derive_anew(&mut tools)
    }

    /// Has every composite say what the tools of its steps make of it now. Readers of the registry see the change in one step;
    /// until then, a composite that says too little refuses its calls.
    fn derive_anew(&self, tools: &mut BTreeMap<String, (u64, Current)>) -> Result<(), Refusal> {
        // What an inner composite says counts for the outer one.
        for _ in 0..MAX_COMPOSITE_DEPTH {
            let catalog = self.catalog();
            let mut is_changed = false;
            for (version, current) in tools.values_mut() {
                let Some(composite) = composite_of(&*current.tool) else { continue };
                let saved = tracked_hash(&*current.tool);
                if let Some(anew) = composite.derived_anew(&catalog) {
                    current.tool = checked(self.tracked(anew, *version, saved));
                    is_changed = true;
                }
            }
            if !is_changed {
                break;
            }
            let set = tools.values().map(|it| Arc::clone(&it.1.tool));
            let replaced = self.inner.registry.replace_owner(&self.inner.owner, set);
            replaced.map_err(|err| Refusal::Registry(Box::new(err)))?;
        }
        Ok(())
    }

    /// Makes a version with the text of an earlier one, and registers it. The text was approved before, and is looked
    /// through for secrets again.
    ///
    /// What the earlier version would have delivered for recorded calls is told by
    /// [`rollback_advice`](Self::rollback_advice) and [`replay`](Self::replay) before.
    ///
    /// # Errors
    ///
    /// [`Refusal::Secret`], [`Refusal::Store`] and [`Refusal::Registry`]; [`Refusal::Steps`] where tools would call each
    /// other then, or be too deep.
    pub async fn roll_back(&self, name: &str, to: u64, by: &str) -> Result<Settled, Refusal> {
        let (name, by) = (name.to_owned(), self.redacted_text(by));
        let old = {
            let name = name.clone();
            self.blocking(move |store| store.version(&name, to)).await?
        };
        if !old.is_approved() {
            return Err(Refusal::NotApproved { why: format!("version {to} was never approved") });
        }
        self.scan_again(&old.definition).await?;
        self.check_graph_now(&old.definition, None).await?;
        let settled = self.blocking(move |store| store.roll_back(&name, to, &by)).await?;
        self.register(&settled.version)?;
        Ok(settled)
    }

    /// Sets a tool aside: it cannot be called any more, and every version stays. Calls that run go on; other processes refuse
    /// further ones, though they have it registered.
    ///
    /// ```
    /// # use flyto_evolve::{Approval, Change, HostContext, NewVersion, Store, ToolBuilder, ToolDefinition};
    /// # use flyto_execenv::{Environment, ExecEnv, local::Local};
    /// # use flyto_tools::Registry;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let temp = tempfile::tempdir()?;
    /// # let store = Store::new(temp.path().join("evolution"));
    /// # let def = ToolDefinition::script("now", "The time.", "date\n");
    /// # let approval = Approval::now("ada", def.hash());
    /// # store.commit(NewVersion::new(def, None, Change::Created).approved(approval))?;
    /// # let host = HostContext::new(Environment::ambient(), "/tmp");
    /// # let registry = std::sync::Arc::new(Registry::new());
    /// let builder = ToolBuilder::builder(store, ExecEnv::new(Local::new()), host, registry.clone()).build();
    /// builder.load_all().await?;
    /// assert!(registry.get("now").is_some());
    ///
    /// builder.archive("now", "ada").await?;
    /// assert!(registry.get("now").is_none());
    /// builder.restore("now", "ada").await?;
    /// assert!(registry.get("now").is_some());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Refusal::Store`].
    pub async fn archive(&self, name: &str, by: &str) -> Result<Settled, Refusal> {
        let (owned, by) = (name.to_owned(), self.redacted_text(by));
        let settled = self.blocking(move |store| store.archive(&owned, &by)).await?;
        self.exchange(name, settled.version.number, None)?;
        Ok(settled)
    }

    /// Brings an archived tool back.
    ///
    /// # Errors
    ///
    /// As [`roll_back`](Self::roll_back).
    pub async fn restore(&self, name: &str, by: &str) -> Result<Settled, Refusal> {
        let (name, by) = (name.to_owned(), self.redacted_text(by));
        let last = {
            let name = name.clone();
            self.blocking(move |store| {
                let missing = || StoreError::NotFound { name: name.clone(), version: None };
                store.last(&name)?.ok_or_else(missing)
            })
            .await?
        };
        self.scan_again(&last.definition).await?;
        self.check_graph_now(&last.definition, None).await?;
        let settled = self.blocking(move |store| store.restore(&name, &by)).await?;
        self.register(&settled.version)?;
        Ok(settled)
    }

    /// Looks for secrets in a version that was approved before: the rules may know more by now.
    ///
    /// # Errors
    ///
    /// [`Refusal::Secret`] where there is one that no person may let pass.
    async fn scan_again(&self, definition: &ToolDefinition) -> Result<(), Refusal> {
        let findings = self.scan(definition, Vec::new()).await?;
        match findings.iter().any(|it| it.found.tier >= Tier::Block) {
            true => Err(Refusal::Secret { findings }),
            false => Ok(()),
        }
    }

    /// Takes up a proposal that waits: it goes through all checks again, and is shown to the approver. It waits no longer
    /// when the answer is yes or no.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply). [`StoreError::Decided`] where it was decided while the approver was asked: of two answers the
    /// first one holds.
    pub async fn resume(&self, id: &str) -> Result<Applied, Refusal> {
        let owned = id.to_owned();
        let pending = self.blocking(move |store| store.pending_one(&owned)).await?;
        let res = self.apply(pending.proposal()).await;
        if res.as_ref().is_err_and(|it| !matches!(it, Refusal::Denied { .. })) {
            // What was saved meanwhile is the reason of many a refusal.
            let id = id.to_owned();
            self.blocking(move |store| store.check_waits(&id)).await?;
        }
        res
    }

    /// Shows the approver what a person wrote into the file of a tool, or a file of a folder without a history. Saved, it is
    /// the next version.
    ///
    /// What becomes of the file follows from the answer:
    ///
    /// | answer | the file | the tool |
    /// | --- | --- | --- |
    /// | save | as it is, the next version | runs what the file says |
    /// | edit | what was approved in its place | runs the edited text |
    /// | deny, later | as it is | is not run until a decision |
    ///
    /// [`Store::discard_edit`] sets it aside and has the file say the last version again.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply); [`Refusal::Store`] where the file says what was approved.
    pub async fn adopt(&self, name: &str, by: &str) -> Result<Applied, Refusal> {
        let owned = name.to_owned();
        let found = self.blocking(move |store| store.unapproved(&owned)).await?;
        let mut proposal = Proposal::of(&found.definition, by).source(ProposalSource::File);
        proposal.base = found.base;
        proposal.replaces_edit = Some(found.definition.hash());
        self.apply(proposal).await
    }

    /// The tools of this store that can be called, and those of other owners, in the order in which they fit a few words
    /// ([`Snapshot::search`](flyto_tools::Snapshot::search)). At most `limit` are given.
    #[must_use]
    pub fn search(&self, words: &str, limit: usize) -> Vec<Found> {
        let tools = self.inner.registry.snapshot();
        let ctx = DescribeContext::new().with_tools(tools.clone());
        let found = tools.search(words, limit).into_iter().map(|it| {
            let version = match it.entry.tool().metadata().origin {
                flyto_tools::Origin::Evolved { version } => Some(version),
                _ => None,
            };
            let description = it.entry.tool().description(&ctx).into_owned();
            Found { name: it.entry.id().to_string(), version, description }
        });
        found.collect()
    }

    /// The tools of this store that can be called now, in the order of their names.
    #[must_use]
    pub fn tools(&self) -> Vec<Found> {
        let snapshot = self.inner.registry.snapshot();
        let own = snapshot.owned_by(&self.inner.owner).map(|entry| {
            let version = match entry.tool().metadata().origin {
                flyto_tools::Origin::Evolved { version } => Some(version),
                _ => None,
            };
            let description = entry.tool().description(&DescribeContext::new()).into_owned();
            Found { name: entry.id().to_string(), version, description }
        });
        own.collect()
    }
}

impl Store {
    /// Whether a tool has a version that can be called.
    ///
    /// # Errors
    ///
    /// As [`Store::last`].
    pub fn is_active(&self, name: &str) -> Result<bool, StoreError> {
        Ok(self.last(name)?.is_some_and(|it| it.status == Status::Active && it.is_approved()))
    }
}

/// The hash of a composite that is saved.
fn tracked_hash(tool: &dyn Tool) -> Option<DefinitionHash> {
    let checked = tool.downcast_ref::<Validated<Arc<dyn Tool>>>()?;
    checked.get_ref().downcast_ref::<Tracked<CompositeTool>>()?.saved
}

/// Every tool of a host has this type, so that its input is checked first.
fn checked(tool: impl Tool) -> Arc<dyn Tool> {
    let tool: Arc<dyn Tool> = Arc::new(tool);
    Arc::new(Validated::lazy(tool))
}

/// An error with its causes on one line, as events record it.
fn chain(err: &dyn std::error::Error) -> String {
    flyto_program::chain(err)
}
