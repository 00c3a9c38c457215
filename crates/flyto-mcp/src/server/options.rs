//! The bounds of a server, and how it presents itself.

use std::{path::PathBuf, time::Duration};

use flyto_host::jobs::JobStore;

/// How a server presents itself, and what it lets a client do.
///
/// ```
/// use std::io::{BufRead as _, BufReader, Write as _};
/// use std::{sync::Arc, time::Duration};
///
/// use flyto_execenv::{ExecEnv, local::Local};
/// use flyto_host::{Config, Host, Surroundings};
/// use flyto_mcp::{Server, ServerOptions};
/// use flyto_tools::CancellationToken;
/// use serde_json::Value;
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut options = ServerOptions::default();
/// assert_eq!(options.max_message_bytes, 16 * 1024 * 1024);
/// // A small machine, and a client that waits for long.
/// options.max_calls = 8;
/// options.drain = Duration::from_secs(60);
/// options.max_message_bytes = 100;
///
/// let host = Host::new(ExecEnv::new(Local::new()), Surroundings::ambient()?, Config::default());
/// let server = Server::new(Arc::new(host), options)?;
/// let (requests, mut client) = std::io::pipe()?;
/// let (answers, writer) = std::io::pipe()?;
/// writeln!(client, r#"{{"jsonrpc":"2.0","id":1,"method":"ping","x":"{}"}}"#, "x".repeat(100))?;
/// writeln!(client, r#"{{"jsonrpc":"2.0","id":2,"method":"ping"}}"#)?;
/// drop(client);
/// server.serve(requests, writer, &CancellationToken::new()).await?;
///
/// let mut answers = BufReader::new(answers).lines();
/// let refused: Value = serde_json::from_str(&answers.next().ok_or("an answer")??)?;
/// assert_eq!(refused["error"]["code"], -32600);
/// // The line was dropped, so that its id is not known. The next one is answered as ever.
/// assert!(refused.get("id").is_none());
/// assert_eq!(answers.next().ok_or("an answer")??, r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
/// # Ok(()) }
/// ```
///
/// Every bound is usable: a number of 0 bounds calls, messages or times to none, and a page has one tool at least.
/// What bounds calls and messages holds for each connection by itself; over HTTP for each session, and for each
/// request of the new era. [`max_jobs`](Self::max_jobs) holds for the whole server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerOptions {
    /// The name that clients show: `flyto`.
    pub name: String,
    /// The version beside it: that of this crate.
    pub version: String,
    /// Most bytes of one message: 16 MiB, as in the official SDKs. A longer one is refused, and the connection goes on.
    pub max_message_bytes: u64,
    /// Tools on one page of the list: 500. A client asks for the next page by itself.
    /// A cursor is the name behind which the next page begins, so a value that differs between two servers does no
    /// harm ("MCP 2025-11-25, Server, Utilities, Pagination": cursors are opaque to clients).
    pub page_tools: usize,
    /// Offers two tools in place of all of them: one that finds tools, and one that calls what was found.
    pub discovery: bool,
    /// The configuration file that a refusal names as the place for a rule; `None` where there is none.
    pub rules_file: Option<PathBuf>,
    /// Most calls in flight on one connection: 256. A further one gets a result that says so.
    pub max_calls: usize,
    /// How often a client that asks for progress is told of a call whose tool reports none: every 15 s. Clients end silent
    /// calls after minutes.
    ///
    /// It asks by a `progressToken` ("MCP 2025-11-25, Basic, Utilities, Progress"); without one nothing is sent. Two
    /// notifications of one call are 100 ms apart at least, so that 0 sends one every 100 ms.
    pub heartbeat: Duration,
    /// Most bytes of a result's text, for clients that would cut it at fewer; `None` leaves it to them.
    ///
    /// The text is not cut here: that is done by the host, which has an option of its own. A client reads this number,
    /// with room for the line that tells of a cut, as `anthropic/maxResultSizeChars` of each tool, 500,000 at most.
    pub output_limit_bytes: Option<u64>,
    /// Where calls that outlive their request are recorded; `None` has none outlive it.
    ///
    /// With a store, a client that declares the extension `io.modelcontextprotocol/tasks` gets a task for a call that takes
    /// long, and any client the tools `jobs__start`, `jobs__status`, `jobs__result` and `jobs__cancel`.
    pub jobs: Option<JobStore>,
    /// Most calls that outlive their requests at once: 64. A further one is refused, or its client waits.
    /// Over HTTP each session may have half of them, and so may all requests that belong to none.
    pub max_jobs: usize,
    /// After which time a call becomes a task: 2 s, beyond which a client can better do other things meanwhile.
    pub task_after: Duration,
    /// How long calls in flight go on after the client closed its end: 5 s. Then they are cancelled.
    ///
    /// A client ends a server on stdio by closing its input; a script that pipes its requests does so, too, and waits
    /// for the answers.
    pub drain: Duration,
    /// How long a cancelled call has to end its processes when the server ends: 5 s. Then it is dropped, which kills.
    ///
    /// Over HTTP it bounds the time from the stop to the return of [`Server::serve_http`](crate::Server::serve_http).
    pub grace: Duration,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            name: "flyto".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            max_message_bytes: 16 * 1024 * 1024,
            page_tools: 500,
            discovery: false,
            rules_file: None,
            max_calls: 256,
            heartbeat: Duration::from_secs(15),
            output_limit_bytes: None,
            jobs: None,
            max_jobs: 64,
            task_after: Duration::from_secs(2),
            drain: Duration::from_secs(5),
            grace: Duration::from_secs(5),
        }
    }
}
