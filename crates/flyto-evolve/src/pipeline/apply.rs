//! The way of a proposal, from what was proposed to a tool that can be called.
//!
//! First come the [checks](super::check), then a person is asked, and what the person approved is saved and registered. A
//! refusal at any step leaves nothing behind but a record of it.

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use flyto_security::Tier;
use flyto_tools::CallContext;
use serde::Deserialize;
use serde_json::json;

use super::{
    Applied, Proposal, ProposalSource, Refusal, ToolBuilder,
    check::{Checked, base, conflict, told_hash},
    duplicate,
    waits::Place,
};
use crate::{
    Answer, Approval, Approver, Change, NewVersion, Pending, Replay, Review, Store,
    definition::file_name_fault, review::ask,
};

/// A session may propose so many times as often as it may have tools.
const PROPOSALS_PER_TOOL: u32 = 3;

/// How often a person may edit one proposal before it counts as denied.
const MAX_EDITS: u32 = 8;

/// How often a person denies a text before the person is not asked again about it.
const MAX_DENIALS: u32 = 2;

/// Who answers a proposal.
#[derive(Clone, Copy)]
struct Asked<'a> {
    approver: Option<&'a Arc<dyn Approver>>,
    /// The call that makes the proposal.
    call: Option<&'a CallContext>,
    /// Whether the approver is the one of that call, which asks a person by its channel.
    is_within: bool,
}

impl<'a> Asked<'a> {
    fn by(approver: Option<&'a Arc<dyn Approver>>) -> Self {
        Self { approver, call: None, is_within: false }
    }

    fn within(approver: &'a Arc<dyn Approver>, call: &'a CallContext) -> Self {
        Self { approver: Some(approver), call: Some(call), is_within: true }
    }
}

impl ToolBuilder {
    /// Makes a tool of a proposal, or says why not. A tool that is made can be called when this returns.
    ///
    /// # Errors
    ///
    /// [`Refusal`] says at which step, and what to do instead. Nothing of the proposal is left behind then.
    pub async fn apply(&self, proposal: Proposal) -> Result<Applied, Refusal> {
        self.apply_by(Asked::by(self.inner.approver.as_ref()), proposal).await
    }

    /// Does the same for a proposal that a call makes. A person is asked by the channel of that call where the approver has
    /// [one for it](Approver::within), and a [time limit](CallContext::with_time_limit) of the call stands still meanwhile. A
    /// deadline of the caller does not, and its cancellation ends the wait. While that person is asked the text waits in the
    /// store, so that it can still be answered where the client or this process ends before an answer comes.
    ///
    /// | what becomes of the question | the tool | the text |
    /// | --- | --- | --- |
    /// | saved, or let run once | can be called | waits no longer |
    /// | denied | | waits no longer |
    /// | kept for later, or not answered in time | | waits |
    /// | the call is cancelled, the client or the process ends | | waits |
    /// | the client ends, and the text may hold a secret, so that it did not reach the disk | | is gone |
    /// | refused after the answer, as one whose base is old by now | | waits no longer, unless it waited before |
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply).
    pub async fn apply_within(
        &self,
        call: &CallContext,
        mut proposal: Proposal,
    ) -> Result<Applied, Refusal> {
        let approver = self.inner.approver.as_ref();
        match approver.and_then(|it| it.within(call)) {
            Some(own) => self.apply_by(Asked::within(&own, call), proposal).await,
            None => {
                proposal.is_untested = approver.is_some_and(|it| it.only_stages());
                self.apply_by(Asked { call: Some(call), ..Asked::by(approver) }, proposal).await
            }
        }
    }

    /// Makes a tool of a proposal.
    async fn apply_by(&self, asked: Asked<'_>, mut proposal: Proposal) -> Result<Applied, Refusal> {
        self.learn_answers().await;
        let mut place = self.count_proposal(&proposal)?;
        let (text, by) = (proposal.text.clone(), proposal.by.clone());
        let res = self.decide(asked, &mut proposal, &mut place).await;
        let waited = proposal.waits_as.take().filter(|_| place.is_of_waiting);
        match &res {
            Ok(Applied::Saved(it)) => self.session().made(waited, Some(it.hash())),
            Ok(Applied::Once { .. }) => self.session().made(waited, None),
            Ok(Applied::Staged { .. }) => {} // It has its place since it waits.
            Err(refusal) => {
                if let Some(id) = place.kept.take() {
                    self.session().waits.remove(&id);
                    drop(self.blocking(move |store| store.unstage(&id)).await);
                }
                // Not the text, which may hold a secret. A plain hash would let a reader of the log try out short ones.
                let stage = refusal.stage();
                let tool = Some(name_in(&text)).filter(|it| !it.is_empty());
                let rules: BTreeSet<String> = match refusal {
                    Refusal::Secret { findings } => {
                        findings.iter().map(|it| it.found.rule.clone()).collect()
                    }
                    _ => BTreeSet::new(),
                };
                let body = move |store: &Store| {
                    let text_hmac = store.keyed_hash("refused", text.as_bytes()).ok();
                    json!({"stage": stage, "tool": tool, "by": by, "rules": rules, "text_hmac": text_hmac})
                };
                self.record_with("refused", body).await;
            }
        }
        res
    }

    /// Goes through all checks but the person's, and gives what a person would be shown. Nothing is kept but a record in the
    /// log of events, and the session's counts stay. Examples are run as for a proposal, unless it is
    /// [untested](Proposal::untested).
    ///
    /// ```
    /// # use flyto_evolve::{HostContext, Proposal, Refusal, Store, ToolBuilder, ToolDefinition};
    /// # use flyto_execenv::{Environment, ExecEnv, local::Local};
    /// # use flyto_tools::Registry;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let temp = tempfile::tempdir()?;
    /// # let store = Store::new(temp.path().join("evolution"));
    /// # let host = HostContext::new(Environment::ambient(), "/tmp");
    /// # let registry = std::sync::Arc::new(Registry::new());
    /// let builder = ToolBuilder::builder(store, ExecEnv::new(Local::new()), host, registry.clone()).build();
    /// let shown = ToolDefinition::script("now", "The time.", "date\n");
    /// let review = builder.dry_run(&Proposal::of(&shown, "session-1")).await?;
    /// assert_eq!((review.name.as_str(), review.to), ("now", 1));
    ///
    /// let torn = ToolDefinition::script("now", "The time.", "if true; then date\n");
    /// let refusal = builder.dry_run(&Proposal::of(&torn, "session-1")).await.unwrap_err();
    /// assert!(matches!(refusal, Refusal::Syntax { .. }));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply).
    pub async fn dry_run(&self, proposal: &Proposal) -> Result<Review, Refusal> {
        let checked = self.check(proposal).await?;
        let review = Self::review(proposal, &checked, false);
        self.record_shown(proposal, &checked).await;
        Ok(review)
    }

    /// Has a text wait from now on, before a person is asked who may be gone before an answer comes. One that cannot wait, as it
    /// may hold a secret, is asked about all the same.
    async fn keep_while_asked(
        &self,
        proposal: &mut Proposal,
        checked: &Checked,
        place: &mut Place<'_>,
    ) {
        if matches!(proposal.source, ProposalSource::File | ProposalSource::Again) {
            return; // It waits where it is.
        }
        let own = checked.definition.hash().with_tools(&checked.tools);
        let own = own.proposal_id(&checked.definition.name);
        let waited = {
            let id = own.clone();
            self.blocking(move |store| store.check_waits(&id)).await.is_ok()
        };
        match self.stage(proposal, checked).await {
            Ok(Applied::Staged { id }) if id == own => {
                place.keep(&id, waited);
                proposal.waits_as = Some(id);
            }
            // Another text waits in its place, or it cannot be written.
            _ => {}
        }
    }

    /// Counts one more proposal of the session, or refuses it. Proposals that are refused count as
    /// well, so that an agent in a loop comes to an end. One that waits was counted.
    fn count_proposal(&self, proposal: &Proposal) -> Result<Place<'_>, Refusal> {
        let mut session = self.session();
        if session.has_place(proposal) {
            return Ok(Place::of_waiting(self));
        }
        let limit = self.inner.max_per_session;
        if session.n_taken() >= limit {
            return Err(Refusal::SessionLimit { limit, n_waiting: session.n_waiting() });
        }
        let limit = limit.saturating_mul(PROPOSALS_PER_TOOL);
        if session.n_proposed >= limit {
            return Err(Refusal::ProposalLimit { limit });
        }
        session.n_proposed += 1;
        Ok(Place::new(self, &mut session))
    }

    /// Checks, asks, and does what the answer says. An answer that edits the text begins anew with
    /// the checks, so no text is saved that did not go through them.
    async fn decide(
        &self,
        asked: Asked<'_>,
        proposal: &mut Proposal,
        place: &mut Place<'_>,
    ) -> Result<Applied, Refusal> {
        let Asked { approver, call, is_within } = asked;
        // The text before an edit, which is asked about again where the edit is refused.
        let (mut before, mut is_edited) = (None, false);
        for n_edits in 0..=MAX_EDITS {
            let checked = match (self.check(proposal).await, before.take()) {
                (Err(why), Some((former, was_edited))) => {
                    if let Some(approver) = approver {
                        approver.refused_edit(&proposal.text, &why.to_string());
                    }
                    (*proposal, is_edited) = (former, was_edited);
                    self.check(proposal).await?
                }
                (checked, _) => checked?,
            };
            if n_edits == 0 && proposal.waits_as.is_none() {
                self.record_proposed(proposal, &checked).await;
            }
            let hash = checked.definition.hash();
            if self.session().denied.get(&hash).is_some_and(|it| *it >= MAX_DENIALS) {
                let reason =
                    "this very text was denied before; a person is not asked again".to_owned();
                return Err(Refusal::Denied { reason });
            }
            let Some(approver) = approver else {
                return Err(Refusal::NotApproved { why: "there is no approver".to_owned() });
            };
            let review = Self::review(proposal, &checked, is_edited);
            let name = &checked.definition.name;
            let told = told_hash(&checked.definition, &checked.secrets);
            if is_within && n_edits == 0 && proposal.waits_as.is_none() {
                self.keep_while_asked(proposal, &checked, place).await;
            }
            let decision = {
                let _asking = call.map(CallContext::asking);
                ask(&**approver, &review).await
            };
            let decision = decision.map_err(|err| Refusal::NotApproved { why: err.to_string() })?;
            if decision.was_shown {
                self.record_shown(proposal, &checked).await;
            }
            let by = self.redacted_text(&decision.by);
            match decision.answer {
                Answer::Once => {
                    let mut definition = checked.definition;
                    // Another process may have decided on it, or saved a version, while the person was asked.
                    if let Some(id) = proposal.waits_as.clone() {
                        self.blocking(move |store| store.check_waits(&id)).await?;
                    }
                    let last = {
                        let name = definition.name.clone();
                        self.blocking(move |store| store.last(&name)).await?
                    };
                    base(proposal, &definition, last.as_ref())?;
                    self.settle(proposal).await?;
                    definition.version = review.to;
                    self.record("once", json!({"tool": definition.name, "sha256": hash, "by": by}))
                        .await;
                    let name = definition.name.clone();
                    self.register_once(definition, checked.tools)?;
                    return Ok(Applied::Once { name });
                }
                Answer::Save => {
                    let approval = Approval::now(by, hash).with_tools(checked.tools.clone());
                    // What is saved waits no longer, also where it was proposed before.
                    if proposal.waits_as.is_none() {
                        proposal.waits_as = self.twin(proposal, &review).await;
                    }
                    return self.save(proposal, checked, &review, approval).await;
                }
                Answer::Edit(text) => {
                    before = Some((proposal.clone(), is_edited));
                    is_edited = true;
                    proposal.text = text;
                    proposal.place = "the edited text".to_owned();
                }
                Answer::Deny { reason } => {
                    // What is denied waits no longer, also where it was proposed again meanwhile.
                    if proposal.waits_as.is_none() {
                        proposal.waits_as = self.twin(proposal, &review).await;
                    }
                    if is_within && let Some(id) = &proposal.waits_as {
                        // This answer goes to the session by itself, and not as an event of the log.
                        self.session().waits.remove(id);
                    }
                    self.settle(proposal).await?;
                    let kept = self.redacted_text(&reason);
                    let mut body = json!({"tool": name, "sha256": told, "by": by, "reason": &kept});
                    if let Some(id) = &proposal.waits_as {
                        body["id"] = json!(id);
                    }
                    self.record("denied", body).await;
                    // The session learns of an answer to what waits from the log.
                    if !self.session().has_place(proposal) {
                        *self.session().denied.entry(hash).or_default() += 1;
                    }
                    // An agent reads it, and the log keeps it.
                    return Err(Refusal::Denied { reason: kept });
                }
                Answer::Later => {
                    if let Some(id) = proposal.waits_as.clone() {
                        self.blocking(move |store| store.check_waits(&id)).await?;
                    }
                    return self.stage(proposal, &checked).await;
                }
            }
        }
        Err(Refusal::NotApproved {
            why: format!("it was edited {MAX_EDITS} times without an answer"),
        })
    }

    async fn record_shown(&self, proposal: &Proposal, checked: &Checked) {
        let name = &checked.definition.name;
        let told = told_hash(&checked.definition, &checked.secrets);
        self.record("shown", json!({"tool": name, "sha256": told, "by": proposal.by})).await;
    }

    async fn record_proposed(&self, proposal: &Proposal, checked: &Checked) {
        let secrets = &checked.secrets;
        let body = json!({
            "tool": checked.definition.name, "sha256": told_hash(&checked.definition, secrets), "base": proposal.base,
            "by": proposal.by, "secrets": secrets.iter().map(|it| it.found.fingerprint).collect::<Vec<_>>(),
        });
        self.record("proposed", body).await;
    }

    /// The id of this very text where it waits as well, as that of an earlier proposal.
    async fn twin(&self, proposal: &Proposal, review: &Review) -> Option<String> {
        let id = review.id();
        let is_new = proposal.waits_as.is_none();
        let waits = {
            let id = id.clone();
            self.blocking(move |store| store.check_waits(&id)).await.is_ok()
        };
        (is_new && waits).then_some(id)
    }

    /// Has a proposal wait no longer, after an answer that makes no version.
    ///
    /// # Errors
    ///
    /// Another person decided meanwhile, so that this answer is none.
    async fn settle(&self, proposal: &Proposal) -> Result<(), Refusal> {
        let Some(id) = proposal.waits_as.clone() else { return Ok(()) };
        self.blocking(move |store| store.unstage(&id)).await
    }

    /// Saves the approved text and registers it. A version that is saved and cannot be registered,
    /// since another owner took the name meanwhile, is archived, so that it does not appear at the
    /// next start.
    async fn save(
        &self,
        proposal: &Proposal,
        checked: Checked,
        review: &Review,
        approval: Approval,
    ) -> Result<Applied, Refusal> {
        let mut definition = checked.definition;
        // The store sets the time of this version; what a file says of itself stays.
        let is_saved = matches!(proposal.source, ProposalSource::File | ProposalSource::Again);
        if !is_saved {
            definition.created_at = String::new();
            definition.created_by.clone_from(&proposal.by);
        }
        // Another owner may have taken the name while the person was asked.
        self.check_name(&definition.name, &[])?;
        // Or another process changed a tool that it calls.
        self.check_graph_now(&definition, Some(&checked.tools)).await?;
        let base = checked.last.as_ref().map(|it| it.number);
        let change = match (&proposal.source, base) {
            (ProposalSource::File, None) => Change::Adopted,
            (ProposalSource::File, Some(_)) => Change::HumanEdit,
            (ProposalSource::Again, _) => Change::Reviewed,
            (ProposalSource::Imported { from }, _) => Change::Imported { from: from.clone() },
            (ProposalSource::Agent | ProposalSource::Person, None) => Change::Created,
            (ProposalSource::Agent | ProposalSource::Person, Some(_)) => Change::Updated,
        };
        let evidence = json!({
            "examples": review.examples, "secrets": review.secrets, "notes": review.notes,
            "replay": review.replay.as_ref().map(Replay::counts),
        });
        let mut new =
            NewVersion::new(definition.clone(), base, change).approved(approval).evidence(evidence);
        new.proposed_by.clone_from(&proposal.by);
        new.is_of_person = proposal.source == ProposalSource::Person;
        new.replaces_edit = proposal.replaces_edit;
        new.decides.clone_from(&proposal.waits_as);
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

    /// Keeps a proposal for a person. One whose text waits already, under any name, is answered with what waits.
    async fn stage(&self, proposal: &Proposal, checked: &Checked) -> Result<Applied, Refusal> {
        // No person has seen what may be a secret, so it does not reach the disk.
        if checked.secrets.iter().any(|it| it.found.tier >= Tier::Ask) {
            return Err(Refusal::Secret { findings: checked.secrets.clone() });
        }
        let definition = &checked.definition;
        let sha256 = definition.hash();
        // A file waits where it is, and so does a version.
        let is_saved = matches!(proposal.source, ProposalSource::File | ProposalSource::Again);
        let waiting = self.blocking(|store| store.pending()).await?;
        if let Some(twin) = duplicate::waiting_twin(definition, &waiting).filter(|_| !is_saved) {
            self.record("waits_already", json!({"id": twin, "sha256": sha256})).await;
            return Ok(Applied::Staged { id: twin });
        }
        let id = sha256.with_tools(&checked.tools).proposal_id(&definition.name);
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
            is_of_person: proposal.source == ProposalSource::Person,
            tools: checked.tools.clone(),
        };
        if !is_saved {
            let since = flyto_audit::Timestamp::now();
            self.blocking(move |store| store.stage(&pending)).await?;
            self.session().wait(&id, sha256, since);
        }
        Ok(Applied::Staged { id })
    }
}

/// The name in a proposed text; empty where there is none, or none that may be one.
fn name_in(text: &str) -> String {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow, default)]
        name: Cow<'a, str>,
    }
    let name =
        serde_json::from_str(text).map_or_else(|_| String::new(), |it: Named<'_>| it.name.into());
    if file_name_fault(&name).is_none() { name } else { String::new() }
}
