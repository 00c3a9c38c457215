//! The checks of a proposal, in their order.
//!
//! Read, name, base, `bash -n`, duplicates, secrets, examples. What costs little comes first, and what runs the text of the
//! proposal comes behind everything that can refuse it without that. Nothing of a proposal reaches the disk before it was
//! looked through for secrets; the log of events gets its hash alone until then.
//!
//! | check | what it costs | what it refuses |
//! | --- | --- | --- |
//! | definition | reading the text | what cannot be a definition, with places |
//! | name | a look at the registry | names of others, and names that look like them |
//! | base | a read of the last version | an old base, with the difference to the version that is there |
//! | syntax | one `bash -n`, or a walk over the steps | what bash cannot read; steps that do not fit their tools |
//! | duplicate | trigrams of up to 200 tools | the same text; one that is much like it, unless explained |
//! | secrets | a scan of each text | what looks like a secret, at tier `block` |
//! | examples | a confined run of each, 10 s at most | an example that does not give what is expected |
//! | replay | confined runs of 10 recorded calls | nothing: a person sees what differs |

use std::sync::Arc;

use flyto_diagnostics::{Diagnostic, Location, Source};
use flyto_security::Tier;
use serde_json::Value;

use super::{Proposal, ProposalSource, Refusal, ToolBuilder, duplicate, example, guard, syntax};
use crate::{
    Body, CalledTool, DefinitionHash, ExampleReport, Facts, MAX_RATIONALE_BYTES, Replay, Review,
    SecretFinding, Store, StoreError, ToolChange, ToolDefinition, Version, codes,
    composite::ToolHashes, definition::placeholder_names, diff, hidden_characters, parse,
    parse_proposal,
};

/// The most tools of a store that can be called.
pub const MAX_ACTIVE_TOOLS: usize = 200;

/// A definition that went through all checks.
pub(super) struct Checked {
    pub(super) definition: ToolDefinition,
    pub(super) last: Option<Version>,
    pub(super) secrets: Vec<SecretFinding>,
    pub(super) tools: ToolHashes,
    pub(super) calls: Vec<CalledTool>,
    pub(super) tool_changes: Vec<ToolChange>,
    pub(super) similar: Vec<String>,
    pub(super) examples: ExampleReport,
    pub(super) notes: Vec<String>,
    pub(super) replay: Option<Replay>,
}

/// The hash of a definition that no person approved, for the log of events: `None` where a secret may be in it, since a reader of
/// the log could try out short ones.
pub(super) fn told_hash(
    definition: &ToolDefinition,
    secrets: &[SecretFinding],
) -> Option<DefinitionHash> {
    secrets.iter().all(|it| it.found.tier < Tier::Ask).then(|| definition.hash())
}

impl ToolBuilder {
    /// All checks, the cheap ones first.
    ///
    /// Events are recorded without the text until the scan is over: a record of a refused proposal
    /// has its keyed hash and the step at which it was refused.
    pub(super) async fn check(&self, proposal: &Proposal) -> Result<Checked, Refusal> {
        let (definition, mut notes) = read(proposal)?;
        if matches!(definition.body, Body::Composite(_)) && self.inner.caller.is_none() {
            return Err(Refusal::Unsupported { execution_type: definition.body.execution_type() });
        }
        let name = definition.name.clone();
        let loaded = self.blocking(|store| store.load()).await?;
        let all = loaded.active.iter().chain(&loaded.archived);
        let mut own: Vec<String> = all.map(|it| it.definition.name.clone()).collect();
        // A name that looks like one that waits could be approved in its place.
        own.extend(self.blocking(|store| store.waiting_names()).await?);
        self.check_name(&name, &own)?;

        let last = {
            let name = name.clone();
            self.blocking(move |store| store.last(&name)).await?
        };
        base(proposal, &definition, last.as_ref())?;
        if last.is_none() && loaded.active.len() >= MAX_ACTIVE_TOOLS {
            return Err(Refusal::StoreFull { limit: MAX_ACTIVE_TOOLS });
        }
        let (mut tools, mut calls) = (ToolHashes::new(), Vec::new());
        if let Body::Composite(value) = &definition.body {
            let steps = syntax::steps(&definition, value, &self.inner.registry)?;
            (tools, calls) = (steps.tools, steps.calls);
            notes.extend(steps.notes);
            let unsaved: Vec<&str> =
                tools.keys().map(String::as_str).filter(|it| self.is_once(it)).collect();
            if !unsaved.is_empty() {
                notes.push(format!(
                    "it can run once and not be saved: what it calls is there for this session only ({})",
                    unsaved.join(", ")
                ));
            }
        } else {
            syntax::check(&definition, &self.inner.env, &self.inner.host).await?;
        }
        self.check_graph(&definition, &loaded.active)?;
        let tool_changes = self.tool_changes(proposal, &definition, last.as_ref(), &tools).await?;
        let callers = loaded.callers(&name);
        if last.as_ref().is_some_and(|it| it.hash() != definition.hash()) && !callers.is_empty() {
            notes.push(format!(
                "called by {}, which must be approved again before they run",
                callers.join(", ")
            ));
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
            // Nor is a version that is there.
            Err(Refusal::Duplicate { .. }) if proposal.source == ProposalSource::Again => {
                Vec::new()
            }
            other => other?,
        };
        let secrets = self.scan(&definition, further(proposal)).await?;
        if secrets.iter().any(|it| it.found.tier >= Tier::Block) {
            return Err(Refusal::Secret { findings: secrets });
        }
        let examples = match proposal.is_untested {
            true => example::untested(&definition),
            false => example::run(&definition, &self.inner.env, &self.inner.host).await,
        };
        let examples = self.redacted(examples).await?;
        if let ExampleReport::Ran { outcomes } = &examples
            && outcomes.iter().any(|it| it.problem.is_some())
        {
            return Err(Refusal::ExampleFailed { outcomes: outcomes.clone() });
        }
        // A new tool has no calls; one that is archived may have.
        let replay = match last {
            Some(_) if proposal.is_untested => {
                let name = name.clone();
                if !self.blocking(move |store| store.calls(&name, 1)).await?.is_empty() {
                    notes.push("recorded calls are run when it is approved".to_owned());
                }
                None
            }
            Some(_) => self.replay_of_proposal(&definition).await?,
            None => None,
        };
        Ok(Checked {
            definition,
            last,
            secrets,
            tools,
            calls,
            tool_changes,
            similar,
            examples,
            notes,
            replay,
        })
    }

    /// What the approver is shown of a proposal that went through the checks. The same proposal
    /// gives the same review.
    pub(super) fn review(proposal: &Proposal, checked: &Checked, is_edited: bool) -> Review {
        let Checked {
            definition,
            last,
            secrets,
            tools,
            calls,
            tool_changes,
            similar,
            examples,
            notes,
            replay,
        } = checked;
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
            changed_tools: tool_changes.iter().map(|it| it.name.clone()).collect(),
            tool_changes: tool_changes.clone(),
            tools: tools.clone(),
            calls: calls.clone(),
            similar: similar.clone(),
            examples: examples.clone(),
            replay: replay.clone(),
            hidden_characters: hidden_characters(definition),
        }
    }

    /// What in a definition looks like a secret.
    ///
    /// `further` are texts that are kept beside the definition, each with a name for its place: the
    /// author, the reason why it is no duplicate, where it was imported from.
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

    /// Looks through a text of a person that is to be kept, such as the reason of an answer; `place` names it.
    ///
    /// # Errors
    ///
    /// [`Refusal::Secret`] where it holds what looks like one, [`Refusal::Unscanned`] where it is too long to be looked
    /// through, and [`Refusal::Store`].
    pub async fn check_text(&self, place: &str, text: &str) -> Result<(), Refusal> {
        let (kind, host) = (self.inner.guard.clone(), Arc::clone(&self.inner.host));
        let (place, text) = (place.to_owned(), text.to_owned());
        let scan =
            move |store: &Store| Ok(guard::scan_text(&kind, store, &host.env, &place, &text));
        let findings = self.blocking(scan).await??;
        if findings.is_empty() { Ok(()) } else { Err(Refusal::Secret { findings }) }
    }

    /// A text of a person as the store keeps it, without what looks like a secret.
    pub(super) fn redacted_text(&self, text: &str) -> String {
        match self.inner.guard.redacted_record(&self.inner.host.env, text.into()) {
            Value::String(text) => text,
            other => other.to_string(),
        }
    }

    /// Outputs of examples are shown and kept, so they are looked through as well. What a rule is sure of is a secret that the
    /// definition makes, since a confined run has none of the user's.
    ///
    /// # Errors
    ///
    /// [`Refusal::Secret`] for such a one that no person acknowledged, and [`Refusal::Store`].
    async fn redacted(&self, examples: ExampleReport) -> Result<ExampleReport, Refusal> {
        let ExampleReport::Ran { mut outcomes } = examples else { return Ok(examples) };
        let (guard, host) = (self.inner.guard.clone(), Arc::clone(&self.inner.host));
        let redact = move |store: &Store| {
            let mut findings = Vec::new();
            for (index, it) in outcomes.iter_mut().enumerate() {
                let place = format!("the output of /examples/{index}");
                it.output = guard.redacted(store, &host.env, &place, &it.output, &mut findings)?;
            }
            Ok((outcomes, findings))
        };
        let (outcomes, mut findings) = self.blocking(redact).await?;
        findings.retain(|it| it.found.tier >= Tier::Block);
        if findings.is_empty() {
            Ok(ExampleReport::Ran { outcomes })
        } else {
            Err(Refusal::Secret { findings })
        }
    }
}

/// Reads a proposal; notes are what a person should know of it.
fn read(proposal: &Proposal) -> Result<(ToolDefinition, Vec<String>), Refusal> {
    let source = Source::new(proposal.place.as_str(), proposal.text.as_str());
    let parsed = match proposal.source {
        ProposalSource::File | ProposalSource::Again => parse(&source),
        ProposalSource::Agent | ProposalSource::Person | ProposalSource::Imported { .. } => {
            parse_proposal(&source)
        }
    };
    let Some(definition) = parsed.definition else {
        return Err(Refusal::Invalid { findings: parsed.findings.into_vec() });
    };
    let mut notes: Vec<String> = parsed.findings.iter().map(|it| it.message.clone()).collect();
    if let Some(why) = &proposal.distinct_because {
        if why.len() > MAX_RATIONALE_BYTES {
            let what = format!(
                "there are {} bytes of the reason why it is no duplicate, and at most {MAX_RATIONALE_BYTES} are taken",
                why.len()
            );
            let finding = Diagnostic::error(codes::TOO_LARGE, Location::file(source.name()), what)
                .with_help("write less: a person reads all of it");
            return Err(Refusal::Invalid { findings: vec![finding] });
        }
        notes.push(format!("the author says why it is no duplicate: {why}"));
    }
    if let Body::Command(text) = &definition.body
        && definition.parameters().next().is_none()
    {
        let names = placeholder_names(text).into_iter();
        notes.extend(names.filter(|it| definition.is_parameter(it)).map(|name| {
            format!("`{{{{.{name}}}}}` is a parameter that the schema does not list: a call without it has an empty text there")
        }));
    }
    if !definition.name.is_ascii() {
        notes.push(format!(
            "the name has characters beyond ASCII: {}",
            definition.name.escape_unicode()
        ));
    }
    // What a person wrote stays as it is, so that it is known again.
    let is_saved = matches!(proposal.source, ProposalSource::File | ProposalSource::Again);
    Ok((if is_saved { definition } else { definition.normalised() }, notes))
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
pub(super) fn base(
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
pub(super) fn conflict(refusal: Refusal, definition: &ToolDefinition) -> Refusal {
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
