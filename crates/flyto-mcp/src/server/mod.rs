//! The server: the tools of a host for any client.

mod options; //    its bounds
mod revision; //   what is spoken

// from bytes to messages,
mod fault;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod incoming;
mod line;
mod message;
#[cfg(unix)]
mod no_wait;
mod outbox;
mod params;
#[cfg(unix)]
mod stdio;

// and what is done with them.
mod approval; //     what the user of a client is asked
mod background; //   calls that go on by themselves
mod call; //         one call of a tool
mod connection; //   one connection, from its begin to its end
mod discovery; //    two tools in place of many
mod http; //         clients over HTTP
mod instructions; // what a model is told of the server
mod lifecycle; //    how the two agree
mod listing; //      the tools
mod missing; //      a call of no tool
mod own_arguments; // arguments of the tools of the server itself
mod peer; //         one client
mod plan_text; //    the plan of a call, for a person
mod progress; //     how far a call has come
mod question; //     requests to a client
mod result; //       what came of a call
mod seal; //         what a client keeps for the server
mod subscription; // changes of the tools
mod waiting; //      calls that wait for an answer between two requests

use std::{
    io::{self, Read, Write},
    panic,
    sync::Arc,
    time::Duration,
};

use flyto_host::Host;
use flyto_tools::CancellationToken;
use serde_json::{Value, json};
use tokio::{
    task::JoinSet,
    time::{Instant, timeout_at},
};

pub use self::{
    approval::ClientApprovals,
    connection::ConnectionEnd,
    http::HttpOptions,
    options::ServerOptions,
    question::{CallClient, FormAnswer, FormError},
    revision::Revision,
};
use self::{
    background::Jobs, connection::Streams, lifecycle::ServerInfo, listing::Listings, seal::Sealer,
};
use crate::Servers;

/// The names of the tools that a server offers beside those of its host. Where a tool of the host has one of those for jobs, it keeps
/// the name, and the server offers none for jobs.
pub const SERVER_TOOL_NAMES: &[&str] = &[
    background::tools::START,
    background::tools::STATUS,
    background::tools::RESULT,
    background::tools::CANCEL,
    discovery::SEARCH,
    discovery::CALL,
];

/// Offers the tools of a host to clients of the Model Context Protocol.
///
/// A server is `Send` and `Sync`, cloning is cheap, and each connection is served by itself: what one client agreed on, has in
/// flight or was asked is not known to another one.
///
/// ```
/// use std::io::{BufRead as _, BufReader, Write as _};
/// use std::sync::Arc;
///
/// use flyto_execenv::{ExecEnv, local::Local};
/// use flyto_host::{Config, Host, Surroundings};
/// use flyto_mcp::{ConnectionEnd, Server, ServerOptions};
/// use flyto_tools::{CancellationToken, NativeTool, NoInput};
/// use serde_json::{Value, json};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut config = Config::default();
/// config.permissions.allow("ping")?;
/// let host = Host::new(ExecEnv::new(Local::new()), Surroundings::ambient()?, config);
/// host.add_tool("me", NativeTool::builder("ping", "Answers.").run(async |_, _: NoInput| "pong")?)?;
/// let server = Server::new(Arc::new(host), ServerOptions::default())?;
///
/// let (requests, mut client) = std::io::pipe()?;
/// let (answers, writer) = std::io::pipe()?;
/// let call = json!({
///     "jsonrpc": "2.0", "id": 1, "method": "tools/call",
///     "params": {"name": "ping", "_meta": {
///         "io.modelcontextprotocol/protocolVersion": "2026-07-28",
///         "io.modelcontextprotocol/clientCapabilities": {},
///     }},
/// });
/// writeln!(client, "{call}")?;
/// drop(client);
///
/// let end = server.serve(requests, writer, &CancellationToken::new()).await?;
/// assert!(matches!(end, ConnectionEnd::Closed));
/// let answer = BufReader::new(answers).lines().next().ok_or("an answer")??;
/// let answer: Value = serde_json::from_str(&answer)?;
/// assert_eq!(answer["result"]["content"][0]["text"], "pong");
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Server(Arc<Shared>);

/// What all connections of a server share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) host: Arc<Host>,
    pub(crate) options: ServerOptions,
    pub(crate) info: ServerInfo,
    pub(crate) listings: Listings,
    /// Where questions about calls go; `None` where they go to no client.
    pub(crate) approvals: Option<ClientApprovals>,
    pub(crate) sealer: Sealer,
    /// Calls that go on by themselves; `None` where none may.
    pub(crate) jobs: Option<Arc<Jobs>>,
    /// Tools that are still to come; `None` where all are there from the begin.
    pub(crate) coming: Option<Coming>,
    /// Those whose tools the host has, which know what is held back.
    pub(crate) servers: Option<Servers>,
}

/// Tools that are still to come, such as those of servers that are being connected to.
#[derive(Debug)]
pub(crate) struct Coming {
    /// Cancelled once they are there.
    complete: CancellationToken,
    /// Until when a list waits for them.
    until: Instant,
}

/// How long a list waits for tools that are still to come: 5 s from the begin of the server. Clients wait 30 s and more for a list, and
/// some never ask again.
const LIST_PATIENCE: Duration = Duration::from_secs(5);

impl Server {
    /// A server for the tools of this host.
    ///
    /// # Errors
    ///
    /// The system gives no random numbers, of which the key is made that seals what clients keep.
    pub fn new(host: Arc<Host>, options: ServerOptions) -> io::Result<Self> {
        let info = ServerInfo { name: options.name.clone(), version: options.version.clone() };
        let (listings, sealer) = (Listings::default(), Sealer::new()?);
        let jobs = options.jobs.clone().map(|it| Jobs::new(it, options.max_jobs));
        let shared = Shared {
            host,
            options,
            info,
            listings,
            approvals: None,
            sealer,
            jobs,
            coming: None,
            servers: None,
        };
        Ok(Self(Arc::new(shared)))
    }

    /// Has the users of clients answer what the host asks about a call. The host must have the same value as its
    /// [handler](flyto_host::HostBuilder::checkpoint_handler). To be called before a connection is served; later it has no
    /// effect.
    #[must_use]
    pub fn approvals(mut self, approvals: ClientApprovals) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.0) {
            shared.approvals = Some(approvals);
        }
        self
    }

    /// Has a call of a tool that these servers declare and that is held back answered with the reason. To be called before a
    /// connection is served; later it has no effect.
    #[must_use]
    pub fn servers(mut self, servers: Servers) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.0) {
            shared.servers = Some(servers);
        }
        self
    }

    /// Has lists of tools wait until `complete` is cancelled, for 5 s from now at most: for a host some of whose tools are still
    /// to come. Every other request is answered at once, and what comes later is told as a change of the list. To be called
    /// before a connection is served; later it has no effect.
    #[must_use]
    pub fn lists_wait_for(mut self, complete: CancellationToken) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.0) {
            shared.coming = Some(Coming { complete, until: Instant::now() + LIST_PATIENCE });
        }
        self
    }

    /// Serves one client over a pair of streams, one message a line, until the client closes its end, does not read any
    /// more, or `stop` is cancelled.
    ///
    /// The streams are read and written in threads of their own, which may wait. After the end of the client's stream,
    /// calls in flight have [`ServerOptions::drain`] to end, then they are cancelled; what `stop` ends has
    /// [`ServerOptions::grace`]. The thread that reads ends with the reader: after `stop`, it may wait until the process
    /// ends.
    ///
    /// # Errors
    ///
    /// The system has no thread left for the streams.
    pub async fn serve(
        &self,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        stop: &CancellationToken,
    ) -> io::Result<ConnectionEnd> {
        let streams = Streams::of(reader, writer, &self.0.options)?;
        Ok(self.serve_streams(streams, stop).await)
    }

    /// The same over stdin and stdout of this process. Where both are pipes or sockets, as clients start a server, no thread
    /// waits for them, and a call costs no change of threads: on Linux from 6.4 on, and elsewhere with sockets. Their flags stay
    /// as they are.
    ///
    /// # Errors
    ///
    /// The system has no thread or descriptor left for the streams.
    ///
    /// # Panics
    ///
    /// The runtime around this has no I/O.
    pub async fn serve_stdio(&self, stop: &CancellationToken) -> io::Result<ConnectionEnd> {
        let streams = Streams::of_stdio(&self.0.options)?;
        Ok(self.serve_streams(streams, stop).await)
    }

    /// Serves in a task, so that the calls of the client begin on the thread that has read them.
    async fn serve_streams(&self, streams: Streams, stop: &CancellationToken) -> ConnectionEnd {
        // It aborts its task where this future is dropped.
        let mut serving = JoinSet::new();
        serving.spawn(connection::serve(Arc::clone(&self.0), streams, stop.clone()));
        match serving.join_next().await {
            Some(Ok(end)) => end,
            Some(Err(err)) if err.is_panic() => panic::resume_unwind(err.into_panic()),
            _ => ConnectionEnd::Stopped,
        }
    }

    /// Cancels calls that [go on by themselves](ServerOptions::jobs), and waits for their ends, for
    /// [`ServerOptions::grace`] at most. To be called when no connection is served any more; what it is not called for
    /// ends with the runtime, and counts as lost.
    ///
    /// ```
    /// use std::io::{BufRead as _, BufReader, Write as _};
    /// use std::sync::Arc;
    ///
    /// use flyto_execenv::{ExecEnv, local::Local};
    /// use flyto_host::{Config, Host, Surroundings, jobs::JobStore};
    /// use flyto_mcp::{Server, ServerOptions};
    /// use flyto_tools::{CancellationToken, NativeTool, NoInput};
    /// use serde_json::{Value, json};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// let mut config = Config::default();
    /// config.permissions.allow("wait")?;
    /// let host = Host::new(ExecEnv::new(Local::new()), Surroundings::ambient()?, config);
    /// let wait = NativeTool::builder("wait", "Waits.").run(async |ctx, _: NoInput| {
    ///     ctx.cancellation().cancelled().await;
    ///     "waited"
    /// })?;
    /// host.add_tool("me", wait)?;
    ///
    /// let mut options = ServerOptions::default();
    /// let store = JobStore::new(dir.path().join("jobs"));
    /// options.jobs = Some(store.clone());
    /// let server = Server::new(Arc::new(host), options)?;
    ///
    /// let (requests, mut client) = std::io::pipe()?;
    /// let (answers, writer) = std::io::pipe()?;
    /// let start = json!({
    ///     "jsonrpc": "2.0", "id": 1, "method": "tools/call",
    ///     "params": {"name": "jobs__start", "arguments": {"tool": "wait"}, "_meta": {
    ///         "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    ///         "io.modelcontextprotocol/clientCapabilities": {},
    ///     }},
    /// });
    /// writeln!(client, "{start}")?;
    /// drop(client);
    /// server.serve(requests, writer, &CancellationToken::new()).await?;
    /// let answer = BufReader::new(answers).lines().next().ok_or("an answer")??;
    /// let answer: Value = serde_json::from_str(&answer)?;
    ///
    /// // The client has gone, and its call goes on.
    /// let id = answer["result"]["structuredContent"]["job"].as_str().ok_or("an id")?;
    /// assert!(store.find(id)?.ended.is_none());
    /// server.end_jobs().await;
    /// assert!(store.find(id)?.ended.is_some());
    /// # Ok(()) }
    /// ```
    pub async fn end_jobs(&self) {
        if let Some(jobs) = &self.0.jobs {
            jobs.end(self.0.options.grace).await;
        }
    }
}

impl Coming {
    /// Whether a list waits.
    pub(crate) fn is_awaited(&self) -> bool {
        !self.complete.is_cancelled() && Instant::now() < self.until
    }

    /// Waits until the tools are there, or a list waits no longer.
    pub(crate) async fn wait(&self) {
        let _ = timeout_at(self.until, self.complete.cancelled()).await;
    }
}

impl Shared {
    /// The `_meta` of every result of the new era.
    pub(crate) fn result_meta(&self) -> Value {
        json!({ "io.modelcontextprotocol/serverInfo": self.info })
    }
}
