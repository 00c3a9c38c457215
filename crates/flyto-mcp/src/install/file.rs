//! A client's file with one more server.

use super::{
    json, toml,
    types::{InstallError, ServerEntry},
};
use crate::import::MAX_FILE_BYTES;

/// The format of a client's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerFile {
    /// JSON with an object of servers.
    Json {
        /// The key of that object.
        key: &'static str,
        /// Whether each server has `"type": "stdio"`, which names its transport.
        has_type: bool,
        /// Whether the client reads a file with comments, and with a comma behind the last member.
        has_comments: bool,
    },
    /// TOML with a table `mcp_servers.NAME` for each server, as Codex has it.
    Toml,
}

impl ServerFile {
    /// A file with this server and nothing else.
    #[must_use]
    pub fn only(&self, server: &ServerEntry) -> String {
        match self {
            Self::Json { key, has_type, .. } => json::only(key, *has_type, server),
            Self::Toml => toml::table(server),
        }
    }

    /// The text of a file with this server added; `None` where the file has it.
    ///
    /// # Errors
    ///
    /// Each variant of [`InstallError`].
    pub fn with(&self, file: &[u8], server: &ServerEntry) -> Result<Option<String>, InstallError> {
        if file.len() as u64 > MAX_FILE_BYTES {
            return Err(InstallError::TooLong);
        }
        let text = std::str::from_utf8(file).map_err(|_| InstallError::NotUtf8)?;
        if text.trim_start_matches('\u{feff}').trim().is_empty() {
            return Ok(Some(self.only(server)));
        }
        match self {
            Self::Json { key, has_type, has_comments } => {
                json::with(text, key, *has_type, *has_comments, server)
            }
            Self::Toml => toml::with(text, server),
        }
    }
}
