//! Taking a tool from one store to another.
//!
//! What goes is a definition and its hash. What stays are approvals, acknowledgements and statistics: a tool from elsewhere
//! is a proposal like any other, with a line that tells the person where it came from.

mod front_matter;
mod skill;

use flyto_diagnostics::Source;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use skill::{SkillError, export_skill, import_skill};

use crate::{
    DefinitionHash, Proposal, ProposalSource, Version,
    definition::{pretty, sorted},
    parse,
};

/// What a file of a tool is, so that it is known again.
const FORMAT: &str = "flyto-evolve-tool/1";

/// A tool on its way.
#[derive(Serialize, Deserialize)]
struct Exported {
    format: String,
    definition: Value,
    sha256: DefinitionHash,
    version: u64,
    exported_at: String,
}

/// Why a text is no tool that was exported.
///
/// ```
/// use flyto_evolve::{ImportError, import};
///
/// let err = import("[]", "a file", "ada").expect_err("it is no tool");
/// assert!(matches!(err, ImportError::NotExported { .. }));
/// let text = "the text is no exported tool: one is an object with \"format\", ";
/// assert!(err.to_string().starts_with(text), "{err}");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// It is something else.
    #[error("the text is no exported tool: {why}")]
    NotExported {
        /// What is wrong.
        why: String,
    },
    /// The definition in it is not the one that was exported.
    #[error(
        "the definition was changed since it was exported: {exported} was exported, found {found}"
    )]
    Changed {
        /// The first digits of the hash that was exported.
        exported: String,
        /// Those of the hash that was found.
        found: String,
    },
}

/// A version as one JSON document, to be imported elsewhere. Approvals stay: they hold for one store.
///
/// ```
/// use flyto_evolve::{Approval, Change, NewVersion, Store, ToolDefinition, export, import};
///
/// # let temp = tempfile::tempdir()?;
/// # let store = Store::new(temp.path().join("evolution"));
/// let def = ToolDefinition::script("now", "The time.", "date\n");
/// let approval = Approval::now("ada", def.hash());
/// let version = store.commit(NewVersion::new(def, None, Change::Created).approved(approval))?;
///
/// let proposal = import(&export(&version), "https://example.org/now.json", "session-7")?;
/// assert_eq!(proposal.base, None);
/// assert!(import(&export(&version).replace("date", "halt"), "elsewhere", "session-7").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn export(version: &Version) -> String {
    let exported = Exported {
        format: FORMAT.to_owned(),
        definition: version.definition.content(),
        sha256: version.hash(),
        version: version.number,
        exported_at: flyto_audit::Timestamp::now().to_string(),
    };
    let value = serde_json::to_value(exported).expect("all its keys are texts");
    pretty(&sorted(&value))
}

/// The proposal to have an exported tool here. It goes through all checks, and a person is asked, as with any other; `from`
/// is shown to the person.
///
/// # Errors
///
/// [`ImportError`]: the text is something else, or was changed.
pub fn import(text: &str, from: &str, by: &str) -> Result<Proposal, ImportError> {
    let not_exported = |why: String| ImportError::NotExported { why };
    let read = serde_json::from_str(text);
    let value: Value = read.map_err(|err| not_exported(err.to_string()))?;
    if !value.is_object() {
        let keys = r#""format", "definition", "sha256", "version" and "exported_at""#;
        return Err(not_exported(format!("one is an object with {keys}")));
    }
    let read = serde_json::from_value(value);
    let exported: Exported = read.map_err(|err| not_exported(err.to_string()))?;
    if exported.format != FORMAT {
        return Err(not_exported(format!(
            "its format is {:?}, and {FORMAT:?} is read",
            exported.format
        )));
    }
    let definition = exported.definition.to_string();
    let parsed = parse(&Source::new(from, definition.as_str()));
    // What is wrong with a definition is told when it is proposed.
    if let Some(found) = parsed.definition.map(|it| it.hash())
        && found != exported.sha256
    {
        let (exported, found) = (exported.sha256.short(), found.short());
        return Err(ImportError::Changed { exported, found });
    }
    let source = ProposalSource::Imported { from: from.to_owned() };
    Ok(Proposal::new(definition, by).source(source).read_from(format!("the definition in {from}")))
}
