//! The bounds of a client, and how it names itself.

use std::{path::PathBuf, time::Duration};

/// How a client names itself, and what a server can make it spend.
///
/// ```
/// use std::{sync::Arc, time::Duration};
///
/// use flyto_execenv::{ExecEnv, local::Local};
/// use flyto_host::{Config, Host, Surroundings};
/// use flyto_mcp::{ClientOptions, Servers};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let host = Host::new(ExecEnv::new(Local::new()), Surroundings::ambient()?, Config::default());
/// let host = Arc::new(host);
///
/// // Servers of a company, used from a small machine.
/// let mut options = ClientOptions::default();
/// assert_eq!(options.connect_timeout, Duration::from_secs(30));
/// options.ca_file = Some("/etc/ssl/company.pem".into());
/// options.call_timeout = Duration::from_secs(60);
/// options.max_in_flight = 8;
///
/// // The file is read when a server behind `https` is connected to; this host declares none.
/// let servers = Servers::new(&host, None, options);
/// assert!(servers.unknown().is_empty());
/// # Ok(()) }
/// ```
///
/// One value serves all servers of a host, and each bound holds for each server by itself. The options are read at each
/// connection and each call; those of [`Servers`](crate::Servers) cannot be changed later.
///
/// Times are added to the clock, so that [`Duration::MAX`] panics; a year does not.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClientOptions {
    /// The name that servers are told. Default: `flyto`. It stands in `clientInfo`: of the handshake ("MCP 2025-11-25,
    /// Basic, Lifecycle"), in the new era of each request.
    pub name: String,
    /// The version that servers are told. Default: that of this crate.
    pub version: String,
    /// A file in PEM with the certificate authorities that are trusted for `https`. Default: none, and those of the system are.
    ///
    /// It is read at each attempt to connect, 16 MiB of it at most; what is no certificate in it is left out. A file
    /// that cannot be read, or holds no certificate, fails the connection, and servers behind `http` are not
    /// concerned.
    pub ca_file: Option<PathBuf>,
    /// From the start of a server's program to the end of its list of tools: 30 s, room for a program that loads a large
    /// runtime on a busy machine.
    ///
    /// All attempts of one connection share it: the one that asks for the era, and the one with a handshake after it.
    /// A server that is not ready by then is killed, or its requests are dropped, and the next attempt follows a
    /// pause.
    pub connect_timeout: Duration,
    /// For one call of a tool where neither its declaration nor the call itself says how long it may take: 5 minutes.
    ///
    /// Where both say it, the shorter time holds. The time to connect counts for what the caller gives, and for nothing else:
    /// it has a bound of its own ([`connect_timeout`](Self::connect_timeout)). Questions of the server count. The
    /// result of a call that takes longer is [`Failure::TimedOut`](flyto_tools::Failure::TimedOut), the request is
    /// taken back ("MCP 2025-11-25, Basic, Lifecycle, Timeouts"), and a server that then gives no sign of life for 5 s
    /// is ended.
    pub call_timeout: Duration,
    /// Bytes of a message from a server, 16 MiB. A longer one fails the request that it answers.
    ///
    /// Its end of line does not count. Of a longer line the first 1,024 bytes are kept and searched for its id, the
    /// rest is thrown away while it is read. One without an id there counts as a line that is no message.
    pub max_message_bytes: usize,
    /// Tools of one server, 1,000. Those behind them are left out, and the state of the server says so.
    ///
    /// They count in the order of the server's list, and those with a fault of their own do not count.
    pub max_tools: usize,
    /// Requests to one server that wait for an answer, 256. A further call fails as overloaded.
    ///
    /// The requests of this client count as well: the list of tools, a subscription to its changes, a sign of life.
    /// With 0 no server can be connected to.
    pub max_in_flight: usize,
    /// Time that a server's program has to end after the end of its input: 2 s. Then it is killed.
    ///
    /// The end of input asks a server on stdio to end ("MCP 2025-11-25, Basic, Lifecycle, Shutdown"). The kill takes
    /// everything that the program started along. A server behind an address has no program, and its session 1 s for
    /// its end.
    pub grace: Duration,
    /// The pause after a connection that failed, 1 s; doubled with each failure in a row, up to 1 minute. A call within
    /// it fails at once.
    ///
    /// It fails with the reason of the last attempt and the seconds until the next one. A connection that lasts
    /// for 1 minute resets the pause. A value of more than 1 minute counts as 1 minute.
    pub backoff: Duration,
    /// Whether there are servers at all. Default: `true`.
    ///
    /// With `false` no server is started or reached, none has tools in the registry, and [`Servers`](crate::Servers)
    /// reports none. For a process that is itself a server of this client, told by the variable [`SERVED_BY`]:
    /// a program that is declared as a server of itself would start another one without end.
    pub uses_servers: bool,
}

/// The variable that each program of a server finds in its environment, with the value `1`, whatever its declaration says.
///
/// Its descendants have it as well, as far as the programs between hand their environment on. A program that finds it
/// starts no servers: [`ClientOptions::uses_servers`]. A command that drops it (`env -i`) needs another bound, which belongs to
/// the program: `flyto` counts the processes of its own among its ancestors.
pub const SERVED_BY: &str = "FLYTO_SERVED_BY";

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
            uses_servers: true,
        }
    }
}
