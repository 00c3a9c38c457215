//! The bounds of a client, and how it names itself.

use std::{path::PathBuf, time::Duration};

/// How a client names itself, and what a server can make it spend.
///
/// ```
/// use std::time::Duration;
///
/// use flyto_mcp::ClientOptions;
///
/// let mut options = ClientOptions::default();
/// assert_eq!(options.connect_timeout, Duration::from_secs(30));
/// options.call_timeout = Duration::from_secs(60);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClientOptions {
    /// The name that servers are told. Default: `flyto`.
    pub name: String,
    /// The version that servers are told. Default: that of this crate.
    pub version: String,
    /// A file in PEM with the certificate authorities that are trusted for `https`. Default: none, and those of the system are.
    pub ca_file: Option<PathBuf>,
    /// From the start of a server's program to the end of its list of tools: 30 s, room for a program that loads a large
    /// runtime on a busy machine.
    pub connect_timeout: Duration,
    /// For one call of a tool where neither its declaration nor the call itself says how long it may take: 5 minutes.
    pub call_timeout: Duration,
    /// Bytes of a message from a server, 16 MiB. A longer one fails the request that it answers.
    pub max_message_bytes: usize,
    /// Tools of one server, 1,000. Those behind them are left out, and the state of the server says so.
    pub max_tools: usize,
    /// Requests to one server that wait for an answer, 256. A further call fails as overloaded.
    pub max_in_flight: usize,
    /// Time that a server's program has to end after the end of its input: 2 s. Then it is killed.
    pub grace: Duration,
    /// The pause after a connection that failed, 1 s; doubled with each failure in a row, up to 1 minute. A call within
    /// it fails at once.
    pub backoff: Duration,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            name: "flyto".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ca_file: None,
            connect_timeout: Duration::from_secs(30),
            call_timeout: Duration::from_secs(5 * 60),
            max_message_bytes: 16 << 20,
            max_tools: 1000,
            max_in_flight: 256,
            grace: flyto_execenv::DEFAULT_GRACE,
            backoff: Duration::from_secs(1),
        }
    }
}
