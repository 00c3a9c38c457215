//! Servers in the files of other clients, and what they are in a configuration of flyto.
//!
//! [`ClientFile::parse`] finds the servers of a file; [`ClientServer::convert`] makes of one what stands under
//! `"mcpServers"` of a configuration. Both are functions of texts: reading the file, and writing the configuration, is the
//! caller's.
//!
//! ```
//! use std::path::Path;
//!
//! use flyto_mcp::import::{ClientFile, ClientFileContext};
//!
//! let text = r#"{"mcpServers": {"time": {"command": "mcp-time", "env": {"API_TOKEN": "hunter2"}}}}"#;
//! let context = ClientFileContext::new("/project/.mcp.json", "/project");
//! let file = ClientFile::parse(text, &context)?;
//! let imported = file.servers[0].convert()?;
//! assert_eq!(imported.declaration["env"]["API_TOKEN"], "${API_TOKEN}");
//! assert_eq!(imported.notes[0].to_string(), "a secret is not copied; set the variable API_TOKEN");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ## Files
//!
//! | client | the file, by its name | its servers | variables in it |
//! | --- | --- | --- | --- |
//! | Codex | `*.toml` | `mcp_servers` | none |
//! | Claude Code | any other name | `mcpServers`, and those of the project of the current directory | `${NAME}`, `${NAME:-default}`, `${env:NAME}` |
//! | Gemini CLI | in a directory `.gemini` | `mcpServers` | the same, and `$NAME` |
//! | Cursor | in a directory `.cursor` | `mcpServers` | `${env:NAME}` |
//! | VS Code | any other name | `servers`, `mcp.servers` | `${env:NAME}` |
//!
//! Comments in JSON are left out, and so are a comma behind the last member and a byte order mark. Of members that stand in an
//! object more than once the last one counts ([`ClientFile::repeated`]).
//!
//! ## Secrets
//!
//! A value that has the form of a secret, or stands under the name of one, is left out: a variable of the host is read in its
//! place ([`ImportNote::SecretLeftOut`]), another one for each secret of
//! a server, and of a file where its servers are converted beside each other ([`ClientServer::convert_beside`]). The default in `${API_KEY:-default}` stands
//! under the name of its variable; the reference stays without it.
//!
//! Left out are also an address with the name of a user, but for an account of SSH, a value of its query under the name of a
//! secret, and a part of its path that looks made by a machine. A name (of a server, a variable, a header, an option) cannot be
//! exchanged: where one looks like a secret the server is refused ([`ImportError::SecretName`]).
//!
//! ## What is not taken over
//!
//! Each member of a declaration is used, or named in a note ([`ImportNote::LeftOut`]): one that flyto does not know, and one that
//! means nothing for such a server, as `headers` of a program. A server is refused where a guess would run something else: for a
//! member of another type ([`ImportError::WrongType`]), an unknown `type`, or a command beside an address. `null` is as nothing.
//!
//! ## Bounds
//!
//! | what | at most | beyond it |
//! | --- | --- | --- |
//! | bytes of a text | 16 MiB ([`MAX_FILE_BYTES`]) | [`ClientFileError::TooLong`], before it is read |
//! | depth of JSON, and of TOML | 127, 80 | [`ClientFileError::Json`], [`ClientFileError::Toml`] |
//! | servers | 1,000 ([`MAX_SERVERS`]) | [`ClientFileError::TooManyServers`] |
//! | bytes of a converted server and of its notes | 64 KiB ([`MAX_SERVER_BYTES`]) | [`ImportError::TooLong`] |
//!
//! Time and memory grow no faster than the text.

mod types; // a server, and what can be wrong with it

// Where servers stand in a file,
mod file;

mod repeated; // members that stand more than once

// and what becomes of one.
mod convert;

mod secrets; // values that are not copied

pub use self::{
    file::{ClientFile, ClientFileContext, ClientFileError, MAX_FILE_BYTES, MAX_SERVERS},
    types::{
        ClientServer, ImportError, ImportNote, ImportedServer, ImportedVariables, MAX_SERVER_BYTES,
    },
};
