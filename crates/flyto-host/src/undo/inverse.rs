//! Which tool takes a call back: told apart from another one of the same name.

use std::path::Path;

use flyto_plugin::PluginTool;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{error::Refusal, ids::hash, prepared::Prepared};

/// What identifies the inverse tool of a record.
///
/// The digest is over where the tool is declared (a plugin's directory, a file, a version), its input schema, and the
/// command line that the recorded input makes. Its description, its time limit and what the program does may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InverseTool {
    /// Its id.
    pub tool: String,
    /// Where it was declared, for people.
    pub origin: String,
    /// SHA-256, as 64 hexadecimal digits.
    pub sha256: String,
}

impl InverseTool {
    /// That of a call which was looked up.
    pub(crate) fn of(call: &Prepared) -> Self {
        let tool = call.entry().tool();
        let origin = &tool.metadata().origin;
        let dir = call.plugin_tool().map(PluginTool::dir);
        let command_line = call.preview().and_then(|it| it.command_line.as_ref());
        // One directory has several paths: by a link, or from another current directory.
        let within = |word: &String| match dir.and_then(|it| Path::new(word).strip_prefix(it).ok())
        {
            Some(path) => path.to_string_lossy().into_owned(),
            None => word.clone(),
        };
        let command_line = command_line.map(|it| it.iter().map(within).collect::<Vec<_>>());
        let real = |it: &Path| it.canonicalize().unwrap_or_else(|_| it.to_owned());
        let dir = dir.map(|it| real(it).to_string_lossy().into_owned());
        let schema = tool.input_schema();
        let declared = json!([call.id().as_str(), origin.to_string(), dir, schema, command_line]);
        Self {
            tool: call.id().to_string(),
            origin: match dir {
                Some(dir) => format!("{origin} in {dir}"),
                None => origin.to_string(),
            },
            sha256: hash(declared.to_string().as_bytes()),
        }
    }

    /// Refuses a call of another tool than this one.
    pub(super) fn check(&self, call: &Prepared) -> Result<(), Box<Refusal>> {
        let found = Self::of(call);
        if found == *self {
            return Ok(());
        }
        let Self { tool, origin, .. } = self;
        let why = match found.tool == *tool && found.origin == *origin {
            true => format!(
                "its schema or its command line is not that of the {tool:?} that was recorded"
            ),
            false => format!(
                "it is the {:?} of {}, and recorded was {tool:?} of {origin}",
                found.tool, found.origin
            ),
        };
        Err(Box::new(Refusal {
            tool: call.id().to_string(),
            stage: crate::stages::names::UNDO.to_owned(),
            why: format!("{why}; where it does what is wanted, call it by name"),
            rule: None,
            allowed_by: Vec::new(),
        }))
    }
}
