//! What is told of a version of a tool.

use std::collections::{BTreeMap, BTreeSet};

use flyto_evolve::{Change, Status, Store, ToolUsage, Usage, Version};
use serde::Serialize;

use crate::words::{one_line, time};

/// A version with what is known of it beside its text.
#[derive(Debug, Serialize)]
pub(crate) struct Evolution {
    pub(crate) version: u64,
    pub(crate) sha256: String,
    /// `active`, `failing`, `archived`, `quarantined`, `needs_review`, `edited`, `damaged`, `unapproved`.
    pub(crate) state: &'static str,
    pub(crate) parent: Option<u64>,
    pub(crate) change: Change,
    pub(crate) saved_at: String,
    pub(crate) proposed_by: String,
    pub(crate) approved_by: Option<String>,
    pub(crate) approved_at: Option<String>,
    pub(crate) pinned_by: Option<String>,
    /// The tools of its steps that changed since it was approved: it refuses its calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) changed_tools: Vec<String>,
    /// How it was used; `None` where it was never called.
    pub(crate) usage: Option<Usage>,
}

/// Whether a version can be called, in one word; one that fails again and again can.
fn state(version: &Version, usage: Option<&Usage>) -> &'static str {
    match (&version.change, version.status) {
        (Change::Quarantined { .. }, _) => "quarantined",
        (_, Status::Archived) => "archived",
        _ if !version.is_approved() => "unapproved",
        _ if usage.is_some_and(Usage::is_failing) => "failing",
        _ => "active",
    }
}

/// What a store knows of all its tools beside their versions.
#[derive(Debug)]
pub(crate) struct Known {
    usage: BTreeMap<String, ToolUsage>,
    pins: BTreeMap<String, String>,
    /// Composites that refuse their calls, with the tools that changed.
    needs_review: BTreeMap<(String, u64), Vec<String>>,
    /// Tools that refuse their calls, since a person edited their file.
    edited: BTreeSet<String>,
    /// Tools that cannot be called, since the newest file of their history cannot be used.
    held: BTreeSet<String>,
}

impl Known {
    /// What cannot be read is left out: neither statistics nor pins decide what runs.
    pub(crate) fn of(store: &Store) -> Self {
        let (usage, pins) = (store.usage().unwrap_or_default(), store.pins().unwrap_or_default());
        let loaded = store.load().unwrap_or_default();
        let needs_review = loaded.needs_review();
        let needs_review =
            needs_review.into_iter().map(|it| ((it.name, it.version), it.tools)).collect();
        let edited = loaded.unapproved.into_iter().map(|it| it.definition.name).collect();
        let held = loaded.held.into_iter().map(|it| it.definition.name).collect();
        Self { usage, pins, needs_review, edited, held }
    }

    /// The calls of all versions of a tool.
    pub(crate) fn n_calls(&self, name: &str) -> u64 {
        self.usage.get(name).into_iter().flatten().map(|it| it.1.n_calls).sum()
    }
}

impl Evolution {
    pub(crate) fn of(version: &Version, known: &Known) -> Self {
        let name = &version.definition.name;
        let usage = known.usage.get(name).and_then(|it| it.get(&version.number)).cloned();
        let approval = version.approval.as_ref();
        let changed = known.needs_review.get(&(name.clone(), version.number));
        Self {
            version: version.number,
            sha256: version.hash().to_string(),
            state: match (changed, state(version, usage.as_ref())) {
                (_, "active" | "failing") if known.held.contains(name) => "damaged",
                (_, "active" | "failing") if known.edited.contains(name) => "edited",
                (Some(_), _) => "needs_review",
                (None, it) => it,
            },
            parent: version.parent,
            change: version.change.clone(),
            saved_at: version.saved_at.clone(),
            proposed_by: version.proposed_by.clone(),
            approved_by: approval.map(|it| it.by.clone()),
            approved_at: approval.map(|it| it.at.clone()),
            pinned_by: known.pins.get(name).cloned(),
            changed_tools: changed.cloned().unwrap_or_default(),
            usage,
        }
    }

    /// The same for people.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        let approved = match (&self.approved_by, &self.approved_at) {
            (Some(by), Some(at)) => format!("by {}, {}", one_line(by), one_line(at)),
            _ => "never".to_owned(),
        };
        let mut res = vec![
            ("version", format!("{}, {}", self.version, self.state)),
            ("sha256", self.sha256.clone()),
            ("made", format!("{}, {}", change(&self.change), one_line(&self.saved_at))),
            ("proposed", format!("by {}", one_line(&self.proposed_by))),
            ("approved", approved),
        ];
        if !self.changed_tools.is_empty() {
            let tools: Vec<String> = self.changed_tools.iter().map(|it| one_line(it)).collect();
            res.push(("changed since", tools.join(", ")));
        }
        res.extend(self.pinned_by.iter().map(|by| ("pinned", format!("by {}", one_line(by)))));
        res.push(("calls", self.usage.as_ref().map_or_else(|| "none".to_owned(), calls)));
        res
    }
}

/// What made a version, in words.
pub(crate) fn change(change: &Change) -> String {
    match change {
        Change::Created => "created".to_owned(),
        Change::Updated => "updated".to_owned(),
        Change::RolledBack { to } => format!("rolled back to {to}"),
        Change::Archived => "archived".to_owned(),
        Change::Quarantined { why } => format!("quarantined: {}", one_line(why)),
        Change::Restored => "restored".to_owned(),
        Change::Reviewed => "approved again".to_owned(),
        Change::HumanEdit => "edited by hand".to_owned(),
        Change::Adopted => "adopted".to_owned(),
        Change::Imported { from } => format!("imported from {}", one_line(from)),
        _ => "changed".to_owned(),
    }
}

/// How a version was used, in one line.
fn calls(usage: &Usage) -> String {
    let mut res = format!("{}, {} ok", usage.n_calls, usage.n_ok);
    if let Some(failure) = &usage.last_failure {
        res.push_str(&format!(", the last failure: {}", one_line(failure)));
    }
    if let Some(median) = usage.percentile(50) {
        res.push_str(&format!(", half of them within {}", time(median)));
    }
    res
}
