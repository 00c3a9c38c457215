//! What is told of a server.

use std::fmt;

use serde::{Serialize, Serializer};
use tokio::sync::watch;

use super::definition::id;
use crate::Revision;

/// A server, and what became of it. Serialised, it is an object with these members; those that say nothing are left out.
///
/// ```
/// use flyto_mcp::{ServerReport, ServerStatus};
///
/// /// What an operator has to do about a server, if anything.
/// fn advice(server: &ServerReport) -> Option<String> {
///     if let (ServerStatus::Failed, Some(problem)) = (server.status, &server.problem) {
///         return Some(format!("{} ({}): {problem}", server.name, server.declared_in));
///     }
///     let changes = server.held_back.iter().map(|it| format!("{} ({})", it.name, it.change));
///     let changes = changes.collect::<Vec<_>>().join(", ");
///     (!changes.is_empty()).then(|| format!("{}: approve {changes}", server.name))
/// }
/// ```
///
/// Texts of the server are within bounds, and of those the definitions in `held_back` are as the server wrote them: a
/// program that shows them escapes what a screen would obey.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ServerReport {
    /// The name before those of its tools.
    /// For a server of a plugin it begins with the name of the plugin.
    pub name: String,
    /// The plugin that declares it; `None` for the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// The file that declares it.
    pub declared_in: String,
    /// What became of it.
    pub status: ServerStatus,
    /// Why there is no connection, in words.
    /// Present with [`ServerStatus::Failed`] alone. For a program, it may end with the last line of its stderr, cut to
    /// 300 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Whether that is how an attempt of an earlier process ended, and this process has not tried: the server was not ready in
    /// time, and was never connected to.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub failed_before: bool,
    /// The revision that was agreed on.
    /// Of the last connection of this process, also after its end; `None` before one, and once an attempt after it has
    /// failed.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    pub revision: Option<Revision>,
    /// The version of the server; empty where it says none.
    /// At most 128 characters, none of them a control character. Without a connection, that of the last approval.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The ids of the tools that can be called, in order.
    pub tools: Vec<String>,
    /// Tools that are held back until they are approved, in order of their names.
    /// Known from connections of this process alone: before one it is empty, and a call of a tool whose definition
    /// differs is refused when it connects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held_back: Vec<HeldBack>,
    /// What is wrong with single tools, and with what is kept of the server, in words.
    /// Of the faults in a list of tools, 10 are told and the others are counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
}

impl ServerReport {
    /// Whether the server has a tool of this name, in use or held back: the name that the server has for it, or the id.
    ///
    /// A tool that the server does not offer any more is there until that is approved.
    #[must_use]
    pub fn has_tool(&self, name: &str) -> bool {
        let is_held_back = self.held_back.iter().any(|it| it.name == name);
        is_held_back || self.tools.iter().any(|it| it == name || *it == id(&self.name, name))
    }
}

/// What became of a server.
///
/// Serialised, it is its name in lower case: `connected`. As text it is what a table shows.
///
/// ```
/// use flyto_mcp::ServerStatus;
///
/// assert_eq!(ServerStatus::Known.to_string(), "not started");
/// assert_eq!(serde_json::json!(ServerStatus::Known), "known");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ServerStatus {
    /// It was never connected to: its tools are not known.
    Unknown,
    /// Its tools are known from an earlier connection; it is connected to at the first call.
    Known,
    /// There is a connection.
    Connected,
    /// There was no connection when one was tried, or it ended. A later call tries again.
    Failed,
}

impl ServerStatus {
    /// In words, as in a table: `not started`.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Unknown => "not connected yet",
            Self::Known => "not started",
            Self::Connected => "connected",
            Self::Failed => "failed",
        }
    }
}

/// In words.
impl fmt::Display for ServerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.words())
    }
}

/// Tells when the report of a server may be another: it was connected to, it failed, it declares other tools, or they were
/// approved. From [`Servers::changes`](super::Servers::changes).
///
/// It keeps no server alive. Several changes before a look are one.
#[derive(Debug, Clone)]
pub struct ServerChanges(pub(super) watch::Receiver<()>);

impl ServerChanges {
    /// Waits for the next change; `None` once the servers are gone. A caller that wants to know what is different compares the
    /// [reports](super::Servers::reports).
    ///
    /// Dropping the future loses no change.
    pub async fn changed(&mut self) -> Option<()> {
        self.0.changed().await.ok()
    }
}

/// A tool that a server declares in another way than what the operator knows.
///
/// It cannot be called. Both definitions are whole, with the members of `tools/list`, so that a program can show what is
/// different; texts in them are the server's, and may hold anything.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HeldBack {
    /// The name that the server has for it.
    pub name: String,
    /// What is different.
    pub change: DefinitionChange,
    /// The definition that was known; `None` for a tool that is new.
    /// The members that are compared, as an object: name, title, description, both schemas, annotations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<serde_json::Value>,
    /// The definition as it is now; `None` for a tool that is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<serde_json::Value>,
}

/// How a definition differs from the one that is known.
///
/// ```
/// use flyto_mcp::DefinitionChange;
///
/// let change = DefinitionChange::Changed(vec!["description", "inputSchema"]);
/// assert_eq!(change.to_string(), "changed: description, inputSchema");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DefinitionChange {
    /// The tool is new.
    New,
    /// The server does not offer it any more.
    Gone,
    /// These members are others: `description`, `inputSchema`.
    Changed(Vec<&'static str>),
}

impl DefinitionChange {
    /// Why a tool that is held back is not called.
    pub(super) fn refusal(&self, id: &str, server: &str) -> String {
        let advice = format!(
            "`flyto servers show {server}` shows it, `flyto servers approve {server}` approves it"
        );
        match self {
            Self::New => format!(
                "{id} is not called: its server declares it since the last approval; {advice}"
            ),
            Self::Gone => format!("failed to call {id}: its server does not offer it any more"),
            Self::Changed(members) => format!(
                "{id} is not called: its server declares it in another way than what was approved ({}); {advice}",
                members.join(", ")
            ),
        }
    }
}

/// `new`, `gone`, or what is different.
impl fmt::Display for DefinitionChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New => f.write_str("new"),
            Self::Gone => f.write_str("gone"),
            Self::Changed(members) => write!(f, "changed: {}", members.join(", ")),
        }
    }
}

fn as_text<S: Serializer>(revision: &Option<Revision>, serializer: S) -> Result<S::Ok, S::Error> {
    match revision {
        Some(revision) => serializer.collect_str(revision),
        None => serializer.serialize_none(),
    }
}
