//! A version of a tool, as the history keeps it.

use std::collections::BTreeMap;

use flyto_diagnostics::Source;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    DefinitionHash, ToolDefinition,
    definition::{parse_stored, pretty, sorted},
};

/// The largest file of a version, in bytes: a definition at its bound twice, for its results, and the rest.
pub(super) const MAX_RECORD_BYTES: u64 = 2 * 1024 * 1024;

/// One version of a tool. It never changes; a later state of the tool is a version of its own.
///
/// Its file is `history/NAME/000007.json`: the definition as indented JSON with its keys in order, and what is known of how
/// it came to be. Reading it compares the hash that was recorded with that of the definition, so a file that was changed is
/// [`StoreError::Damaged`](crate::StoreError::Damaged) and not another text under the same number.
///
/// ```
/// # use flyto_evolve::{Approval, Change, NewVersion, Status, Store, ToolDefinition};
/// # let temp = tempfile::tempdir()?;
/// # let store = Store::new(temp.path().join("evolution"));
/// let def = ToolDefinition::script("now", "The time.", "date\n");
/// let approval = Approval::now("ada", def.hash());
/// store.commit(NewVersion::new(def, None, Change::Created).approved(approval))?;
///
/// let version = store.version("now", 1)?;
/// assert!(version.is_approved() && version.status == Status::Active);
/// assert_eq!((version.parent, version.definition.version), (None, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Version {
    /// Its number, counted from 1 for each name. A number is never given twice, also where its file was lost. The first one
    /// of a folder without a history is what the file says.
    pub number: u64,
    /// The version before, on which it is based; `None` for the first.
    pub parent: Option<u64>,
    /// Whether the tool can be called.
    pub status: Status,
    /// What made the version.
    pub change: Change,
    /// When it was saved, in RFC 3339.
    pub saved_at: String,
    /// By which session, agent or person it was proposed.
    pub proposed_by: String,
    /// Whether a person proposed it.
    pub is_of_person: bool,
    /// By which person the text was approved.
    pub approval: Option<Approval>,
    /// The id of the proposal that it decided, which waited until then.
    pub decides: Option<String>,
    /// What a person was shown beside the text: what was found and how the examples went, as data.
    pub evidence: Value,
    /// The definition, with `version` set to the number.
    pub definition: ToolDefinition,
}

/// What a change of a tool's versions comes to, where the tool can be so already.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Settled {
    /// The version that the tool has now.
    pub version: Version,
    /// Whether this change made it. Else the tool was so already, as where another process was a moment faster.
    pub is_new: bool,
}

impl Settled {
    pub(super) fn made(version: Version) -> Self {
        Self { version, is_new: true }
    }

    pub(super) fn already(version: Version) -> Self {
        Self { version, is_new: false }
    }
}

impl Version {
    /// The hash of the definition.
    #[must_use]
    pub fn hash(&self) -> DefinitionHash {
        self.definition.hash()
    }

    /// Whether a person approved exactly this text.
    #[must_use]
    pub fn is_approved(&self) -> bool {
        self.approval.as_ref().is_some_and(|it| it.sha256 == self.hash())
    }
}

/// Whether a tool can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Status {
    /// It can.
    Active,
    /// It was set aside; a later version restores it.
    Archived,
}

/// What made a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
#[non_exhaustive]
pub enum Change {
    /// The first version of a name.
    Created,
    /// A proposal based on the version before.
    Updated,
    /// The text of an earlier version.
    RolledBack {
        /// Its number.
        to: u64,
    },
    /// The tool was set aside.
    Archived,
    /// The tool was set aside since it failed again and again; a person restores it, or a proposal mends it.
    Quarantined {
        /// Why.
        why: String,
    },
    /// An archived tool is back, with the text that it had.
    Restored,
    /// The text of the version before, approved again: a tool that its steps call had changed.
    Reviewed,
    /// A person edited the file, and approved it.
    HumanEdit,
    /// A file that was in the folder without a history, and was approved.
    Adopted,
    /// It came from another store.
    Imported {
        /// From where, for people.
        from: String,
    },
}

/// A person's yes to a text.
///
/// It holds for the text with its hash, in any version: a rollback has the approval of the version whose text it has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Approval {
    /// By which person, or by which channel.
    pub by: String,
    /// When, in RFC 3339.
    pub at: String,
    /// The hash of the definition that was shown.
    pub sha256: DefinitionHash,
    /// The run-time tools that the steps of a composite called then, with the hashes of their texts: the yes holds for
    /// these. Empty for a script and a command.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, DefinitionHash>,
}

impl Approval {
    /// A yes to the text with this hash, now.
    #[must_use]
    pub fn now(by: impl Into<String>, sha256: DefinitionHash) -> Self {
        let at = flyto_audit::Timestamp::now().to_string();
        Self { by: by.into(), at, sha256, tools: BTreeMap::new() }
    }

    /// Sets the run-time tools that the steps of a composite call, with the hashes of their texts.
    #[must_use]
    pub fn with_tools(mut self, tools: BTreeMap<String, DefinitionHash>) -> Self {
        self.tools = tools;
        self
    }
}

/// The file of a version.
#[derive(Serialize, Deserialize)]
struct Record {
    format: u32,
    name: String,
    version: u64,
    parent: Option<u64>,
    status: Status,
    change: Change,
    saved_at: String,
    #[serde(default)]
    proposed_by: String,
    #[serde(default, skip_serializing_if = "is_false")]
    is_of_person: bool,
    approval: Option<Approval>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decides: Option<String>,
    #[serde(default)]
    evidence: Value,
    sha256: DefinitionHash,
    /// `created_at` of the definition, which is no part of what is approved.
    #[serde(default)]
    created_at: String,
    #[serde(default)]
    created_by: String,
    definition: Value,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_false(it: &bool) -> bool {
    !*it
}

/// The only format there is so far. Another one is not read.
const FORMAT: u32 = 1;

pub(super) fn to_text(version: &Version) -> String {
    let definition = &version.definition;
    let record = Record {
        format: FORMAT,
        name: definition.name.clone(),
        version: version.number,
        parent: version.parent,
        status: version.status,
        change: version.change.clone(),
        saved_at: version.saved_at.clone(),
        proposed_by: version.proposed_by.clone(),
        is_of_person: version.is_of_person,
        approval: version.approval.clone(),
        decides: version.decides.clone(),
        evidence: version.evidence.clone(),
        sha256: version.hash(),
        created_at: definition.created_at.clone(),
        created_by: definition.created_by.clone(),
        definition: definition.content(),
    };
    let value = serde_json::to_value(record).expect("all its keys are texts");
    pretty(&sorted(&value))
}

/// Reads a version; the error says what is wrong with the file.
pub(super) fn from_bytes(name: &str, number: u64, bytes: &[u8]) -> Result<Version, String> {
    let record: Record = serde_json::from_slice(bytes)
        .map_err(|err| format!("it is no version of a tool: {err}"))?;
    if record.format != FORMAT {
        return Err(format!("its format is {}, and {FORMAT} is read", record.format));
    }
    if record.version != number || record.name != name {
        return Err(format!("it says that it is version {} of {:?}", record.version, record.name));
    }
    let mut definition = definition_of(name, &record.definition.to_string())?;
    if definition.name != name {
        return Err(format!("its definition has the name {:?}", definition.name));
    }
    let found = definition.hash();
    if found != record.sha256 {
        return Err(format!(
            "its definition was changed: recorded is {}, found {}",
            record.sha256.short(),
            found.short()
        ));
    }
    definition.version = number;
    definition.created_at = record.created_at;
    definition.created_by = record.created_by;
    Ok(Version {
        number,
        parent: record.parent,
        status: record.status,
        change: record.change,
        saved_at: record.saved_at,
        proposed_by: record.proposed_by,
        is_of_person: record.is_of_person,
        approval: record.approval,
        decides: record.decides,
        evidence: record.evidence,
        definition,
    })
}

/// Reads a definition of a store; the error is the first finding.
pub(super) fn definition_of(name: &str, text: &str) -> Result<ToolDefinition, String> {
    let parsed = parse_stored(&Source::new(name, text));
    parsed.definition.ok_or_else(|| {
        let first =
            parsed.findings.iter().find(|it| it.severity == flyto_diagnostics::Severity::Error);
        first.map_or_else(|| "it holds no definition".to_owned(), |it| it.message.clone())
    })
}
