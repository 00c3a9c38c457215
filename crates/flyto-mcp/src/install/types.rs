//! A server that is added to a file, and why that cannot be.

use thiserror::Error;

use crate::import::MAX_FILE_BYTES;

/// A server that a client starts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerEntry {
    /// Its name in the client.
    pub name: String,
    /// The program: a path, or a name that the client looks up.
    pub command: String,
    /// The arguments of the program.
    pub args: Vec<String>,
}

impl ServerEntry {
    /// A server without arguments.
    #[must_use]
    pub fn new(name: impl Into<String>, command: impl Into<String>) -> Self {
        Self { name: name.into(), command: command.into(), args: Vec::new() }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item: Into<String>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Whether a server in a file is this one: it starts the same program with the same arguments.
    pub(super) fn matches<'a>(
        &'a self,
        command: Option<&str>,
        args: impl IntoIterator<Item = Option<&'a str>>,
    ) -> bool {
        command == Some(&self.command)
            && args.into_iter().eq(self.args.iter().map(|it| Some(it.as_str())))
    }
}

/// Why a file cannot be changed. Its `Display` follows the name of the file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The file is longer than [`MAX_FILE_BYTES`].
    #[error("is longer than {} MiB", MAX_FILE_BYTES >> 20)]
    TooLong,
    /// The file is no text.
    #[error("is no UTF-8")]
    NotUtf8,
    /// The text is no JSON.
    #[error("is not read as JSON: {message}")]
    Json {
        /// What the reader of JSON says, with the line.
        message: String,
    },
    /// The text is no TOML.
    #[error("is not read as TOML: {message}")]
    Toml {
        /// What the reader of TOML says, with the line.
        message: String,
    },
    /// The text is JSON of another kind.
    #[error("is no object")]
    NoObject,
    /// What has the key of the servers is none of theirs.
    #[error("has a {key:?} that is no object")]
    NoServers {
        /// The key.
        key: String,
    },
    /// A key stands twice where clients read one of the two.
    #[error("has {key:?} twice")]
    Twice {
        /// The key.
        key: String,
    },
    /// There is a server of that name that starts something else.
    #[error("has another server {name:?}")]
    OtherServer {
        /// The name.
        name: String,
    },
    /// The servers stand in a form to which no table can be added.
    #[error("has {key:?} in a form to which no table can be added")]
    NoTable {
        /// The key.
        key: String,
    },
}
