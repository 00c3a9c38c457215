//! A server in the file in which a client looks for its servers.
//!
//! [`ServerFile::with`] makes of the bytes of a file those of one with another server. It is a function of bytes: which file it
//! is, and writing it, is the caller's.
//!
//! ```
//! use flyto_mcp::install::{ServerEntry, ServerFile};
//!
//! let file = ServerFile::Json { key: "mcpServers", has_type: false, has_comments: true };
//! let entry = ServerEntry::new("flyto", "/usr/bin/flyto").args(["serve"]);
//! let text = b"{\n  // mine\n  \"theme\": \"dark\"\n}\n";
//! let changed = file.with(text, &entry)?.expect("it was not there");
//! assert!(changed.starts_with("{\n  // mine\n  \"theme\": \"dark\",\n  \"mcpServers\": {\n"));
//! assert_eq!(file.with(changed.as_bytes(), &entry)?, None);
//! # Ok::<(), flyto_mcp::install::InstallError>(())
//! ```
//!
//! ## What stays
//!
//! Every byte of a file stays. What is added is the server, with the object or table around it where there is none. In JSON it is
//! the last member of the object of servers, laid out as its neighbours are, and the member before it may get a comma; in TOML it is a
//! table at the end. A file of blanks alone counts as one that is not there.
//!
//! A file to which nothing can be added so is an error: one that the client itself would not read, or whose servers stand in
//! an inline table of TOML.
//!
//! ## Bounds
//!
//! | what | at most | beyond it |
//! | --- | --- | --- |
//! | bytes of a file | 16 MiB ([`MAX_FILE_BYTES`](crate::import::MAX_FILE_BYTES)) | [`InstallError::TooLong`], before it is read |
//! | depth of JSON, and of TOML | 128, 80 | [`InstallError::Json`], [`InstallError::Toml`] |
//! | values in JSON | 1,000,000 | [`InstallError::Json`] |
//!
//! Time and memory grow no faster than the file: it is read once, and the changed text of TOML as well.

mod types; // a server, and what can be wrong with a file

mod json; // files of JSON
mod toml; // the file of Codex

mod file; // a file with one more server

pub use self::{
    file::ServerFile,
    types::{InstallError, ServerEntry},
};
