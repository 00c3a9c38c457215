//! What is proposed, and what came of it.

use std::collections::BTreeMap;

use crate::{DefinitionHash, ToolDefinition, Version};

/// A definition that is to become a tool.
///
/// ```
/// use flyto_evolve::{Proposal, ToolDefinition};
///
/// let def = ToolDefinition::script("now", "The time.", "date\n");
/// let proposal = Proposal::of(&def, "session-7").based_on(2);
/// assert_eq!(proposal.base, Some(2));
///
/// let proposal = Proposal::new("{}", "ada").read_from("tools/now.json");
/// assert_eq!(proposal.place, "tools/now.json");
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Proposal {
    /// The definition as JSON.
    pub text: String,
    /// The version on which it is based; `None` where the tool is new.
    pub base: Option<u64>,
    /// By which session, agent or person it is proposed.
    pub by: String,
    /// Why it is no duplicate of a tool that is like it.
    pub distinct_because: Option<String>,
    /// Where it comes from.
    pub source: ProposalSource,
    /// How findings name the text, such as the path of its file; `proposal` unless set.
    pub place: String,
    /// Files beside the one that it was read from, which are no part of it: see [`import_skill`](crate::import_skill).
    pub left_out: Vec<String>,
    /// The edit of a person that it takes the place of, where it is a [file](ProposalSource::File).
    pub(crate) replaces_edit: Option<DefinitionHash>,
    /// The run-time tools that its steps called when it began to wait; `None` where it did not wait, or called none.
    pub(crate) tools_before: Option<BTreeMap<String, DefinitionHash>>,
    /// Its id in the store, where it waited.
    pub(crate) waits_as: Option<String>,
    /// Nothing of it runs.
    pub(crate) is_untested: bool,
}

/// Where a proposal comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProposalSource {
    /// An agent.
    Agent,
    /// A person, whose tools no [rule](crate::decay) sets aside for not being used.
    Person,
    /// A file in the store that was never approved. It may have a wider name, and larger parts.
    File,
    /// A saved version, about which a person is asked anew; see [`Proposal::again`].
    Again,
    /// Another store.
    Imported {
        /// From where, for people.
        from: String,
    },
}

impl Proposal {
    /// A new tool, proposed as JSON.
    #[must_use]
    pub fn new(text: impl Into<String>, by: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            base: None,
            by: by.into(),
            distinct_because: None,
            source: ProposalSource::Agent,
            place: "proposal".to_owned(),
            left_out: Vec::new(),
            replaces_edit: None,
            is_untested: false,
            tools_before: None,
            waits_as: None,
        }
    }

    /// A new tool.
    #[must_use]
    pub fn of(def: &ToolDefinition, by: impl Into<String>) -> Self {
        Self::new(def.file_text(), by)
    }

    /// Asks a person anew about a saved version: a composite that [needs review](crate::NeedsReview), say. It goes through
    /// all checks, and what is approved is a version of its own with the same text.
    ///
    /// ```
    /// # use flyto_evolve::{Approval, Change, NewVersion, Proposal, Store, ToolDefinition};
    /// # let temp = tempfile::tempdir()?;
    /// # let store = Store::new(temp.path().join("evolution"));
    /// # let def = ToolDefinition::script("now", "The time.", "date\n");
    /// # let approval = Approval::now("ada", def.hash());
    /// # let version = store.commit(NewVersion::new(def, None, Change::Created).approved(approval))?;
    /// let proposal = Proposal::again(&version, "ada");
    /// assert_eq!(proposal.base, Some(version.number));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn again(version: &Version, by: impl Into<String>) -> Self {
        let proposal = Self::of(&version.definition, by).source(ProposalSource::Again);
        proposal.based_on(version.number)
    }

    /// Makes it an update of the version with this number: the last one that its author saw.
    #[must_use]
    pub fn based_on(mut self, version: u64) -> Self {
        self.base = Some(version);
        self
    }

    /// Says why it is no duplicate.
    #[must_use]
    pub fn distinct_because(mut self, why: impl Into<String>) -> Self {
        self.distinct_because = Some(why.into());
        self
    }

    /// Sets how findings name the text: the path of the file that it was read from.
    #[must_use]
    pub fn read_from(mut self, place: impl Into<String>) -> Self {
        self.place = place.into();
        self
    }

    /// Has nothing of it run: its examples are untested, and no recorded calls are run again. For a person that reads it before
    /// anything else: [`ToolBuilder::dry_run`](crate::ToolBuilder::dry_run) gives what is shown then.
    #[must_use]
    pub fn untested(mut self) -> Self {
        self.is_untested = true;
        self
    }

    /// Sets where it comes from.
    #[must_use]
    pub fn source(mut self, source: ProposalSource) -> Self {
        self.source = source;
        self
    }
}

/// What came of a proposal that was not refused.
///
/// ```
/// use flyto_evolve::Applied;
///
/// fn told(applied: &Applied) -> String {
///     match applied {
///         Applied::Saved(version) => format!("version {} is saved", version.number),
///         Applied::Once { name } => format!("{name} can be called until the process ends"),
///         Applied::Staged { id } => format!("{id} waits for a person"),
///         _ => String::new(),
///     }
/// }
/// assert_eq!(told(&Applied::Staged { id: "now-1a2b".into() }), "now-1a2b waits for a person");
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Applied {
    /// It is saved, and can be called.
    Saved(Box<Version>),
    /// It can be called until this process ends.
    Once {
        /// The name of the tool.
        name: String,
    },
    /// It waits for a person, and cannot be called.
    Staged {
        /// By what it is named in the store.
        id: String,
    },
}
