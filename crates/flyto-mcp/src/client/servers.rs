//! All servers of a host.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::Poll,
    time::Duration,
};

use flyto_host::{Host, ToolSource};
use flyto_tools::Owner;
use tokio::sync::watch;

use super::{
    elicitation::ElicitationHandler,
    options::ClientOptions,
    pins::PinStore,
    report::{HeldBack, ServerChanges, ServerReport},
    server::ServerState,
};

/// The servers of the Model Context Protocol that a host declares: their tools are tools of the host, and go through all its
/// gates.
///
/// Nothing is started at first. The tools that are known from an earlier connection are registered at once, and a call of
/// one starts its server. A server that was never connected to has no tools before [`connect`](Self::connect).
///
/// ```
/// use std::sync::Arc;
///
/// use flyto_execenv::{ExecEnv, local::Local};
/// use flyto_host::{Config, Host, Surroundings};
/// use flyto_mcp::{ClientOptions, Servers};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let host = Host::new(ExecEnv::new(Local::new()), Surroundings::ambient()?, Config::default());
/// let host = Arc::new(host);
/// let servers = Servers::new(&host, None, ClientOptions::default());
/// servers.connect(|_| true).await;
/// for server in servers.reports() {
///     println!("{}: {} with {} tools", server.name, server.status, server.tools.len());
/// }
/// servers.close().await;
/// # assert!(servers.reports().is_empty());
/// # Ok(()) }
/// ```
///
/// A report tells what became of each, and what its tools are called in the registry:
///
/// ```
/// # use std::sync::Arc;
/// # use flyto_execenv::{ExecEnv, local::Local};
/// # use flyto_host::{Flags, Host, Surroundings, load_config};
/// # use flyto_mcp::{ClientOptions, ServerStatus, Servers};
/// # let dir = tempfile::tempdir()?;
/// # let mut flags = Flags::default();
/// # flags.config = Some(dir.path().join("flyto.json"));
/// let text = r#"{"mcpServers": {"time": {"command": "mcp-server-time"}}}"#;
/// std::fs::write(dir.path().join("flyto.json"), text)?;
/// # let surroundings = Surroundings::new(Default::default(), dir.path());
/// let (config, _) = load_config(&surroundings, &flags)?;
/// let host = Arc::new(Host::new(ExecEnv::new(Local::new()), surroundings, config));
/// let servers = Servers::new(&host, Some(dir.path().join("known")), ClientOptions::default());
/// let report = &servers.reports()[0];
/// // Nothing was started: what the server has is not known yet.
/// assert_eq!((&*report.name, report.status), ("time", ServerStatus::Unknown));
/// assert!(report.tools.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Cloning is cheap, and all clones are the same servers. The programs of servers end with the last clone and the host, at the
/// latest; [`close`](Self::close) ends them in order.
#[derive(Debug, Clone)]
pub struct Servers(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    host: Weak<Host>,
    options: Arc<ClientOptions>,
    handler: Option<Arc<dyn ElicitationHandler>>,
    store: Option<PinStore>,
    servers: Mutex<Vec<Arc<ServerState>>>,
    changes: Arc<watch::Sender<()>>,
}

/// The directory of the pins, for a host that watches its sources: what another process approves is offered at once.
#[derive(Debug)]
struct PinSource {
    dir: PathBuf,
    inner: Weak<Inner>,
}

impl ToolSource for PinSource {
    /// Each server owns its tools; this owns none.
    fn owner(&self) -> Owner {
        Owner::new("MCP servers")
    }

    fn path(&self) -> &Path {
        &self.dir
    }

    fn watched_dir(&self) -> PathBuf {
        self.dir.clone()
    }

    fn reload(&self) {
        let Some(inner) = self.inner.upgrade() else { return };
        let servers = inner.servers().clone();
        servers.iter().for_each(ServerState::refresh);
    }
}

/// Why no tool of a server was approved. What was known of its tools is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApproveError {
    /// No server has the name.
    #[error("there is no server {name:?}")]
    NoServer {
        /// The name.
        name: String,
    },
    /// It declares tools in another way than what was shown, and none was approved.
    ///
    /// To go on, show [`ServerReport::held_back`] again, and approve what it has by then.
    #[error("the server {server} declares {} in another way than what was shown", tools.join(", "))]
    Changed {
        /// The name of the server.
        server: String,
        /// The names that the server has for the tools, in order.
        tools: Vec<String>,
    },
    /// What it offers is not known: there is no connection.
    ///
    /// [`Servers::connect`] makes one.
    #[error("the server {server} is not connected: {why}")]
    NotConnected {
        /// The name of the server.
        server: String,
        /// Why, in words.
        why: String,
    },
}

impl Servers {
    /// The servers of this host, and their known tools in its registry. `pins` is the directory in which it is kept what the
    /// operator knows of their tools; without one, whatever a server offers when it is first connected to is in use until
    /// this value ends.
    ///
    /// The directory is made with the first file in it. A file of a server that cannot be read approves none of its
    /// tools; the fault is in [`ServerReport::faults`]. Several processes may share a directory: each replaces a file
    /// in one step, and the last one that approves has its way. A host that watches its sources
    /// (`Host::watch`, with the feature `watch` of flyto-host), or [reloads](Host::reload) them, has what another process approved.
    ///
    /// No program is started here, no address is connected to, and no runtime is needed yet.
    #[must_use]
    pub fn new(host: &Arc<Host>, pins: Option<PathBuf>, options: ClientOptions) -> Self {
        Self::with_handler(host, pins, options, None)
    }

    /// The same, where `handler` answers what servers ask their user.
    ///
    /// Only with a handler is `elicitation` among the capabilities that servers are told. One handler serves all
    /// servers, and [`Elicitation::server`](crate::Elicitation::server) tells them apart.
    #[must_use]
    pub fn with_handler(
        host: &Arc<Host>,
        pins: Option<PathBuf>,
        options: ClientOptions,
        handler: Option<Arc<dyn ElicitationHandler>>,
    ) -> Self {
        let res = Self(Arc::new(Inner {
            host: Arc::downgrade(host),
            options: Arc::new(options),
            handler,
            store: pins.map(PinStore::new),
            servers: Mutex::default(),
            changes: Arc::new(watch::Sender::new(())),
        }));
        res.0.sync(host);
        if let Some(store) = &res.0.store {
            let dir = store.dir().to_owned();
            host.add_source(Arc::new(PinSource { dir, inner: Arc::downgrade(&res.0) }));
        }
        res
    }

    /// Connects to the servers that `choose` takes by their names, all at once, and waits until each is connected or has
    /// failed. What is offered then is in the registry; what failed is in the [`reports`](Self::reports).
    ///
    /// A connection that is there stays. A server within its pause after a failure ([`ClientOptions::backoff`]) fails
    /// at once, with the reason of that failure. When this future is dropped, the attempts go on by themselves.
    ///
    /// Must run within a Tokio runtime, which serves the connections from then on.
    pub async fn connect(&self, choose: impl Fn(&str) -> bool) {
        self.connect_within(self.0.options.connect_timeout, choose).await;
    }

    /// The same, where each server has this time in place of [`ClientOptions::connect_timeout`]. For a program that only tells
    /// what there is.
    ///
    /// A server that was never connected to and is not ready in time is kept as such, so that later processes can leave
    /// it out: [`ServerReport::failed_before`].
    pub async fn connect_within(&self, time: Duration, choose: impl Fn(&str) -> bool) {
        let chosen: Vec<_> =
            self.0.servers().iter().filter(|it| choose(&it.name)).cloned().collect();
        let attempts = chosen.into_iter().map(|it| {
            tokio::spawn(async move {
                let _ = it.connection_within(time).await;
            })
        });
        for attempt in attempts.collect::<Vec<_>>() {
            let _ = attempt.await;
        }
    }

    /// Keeps connections to all servers until [`close`](Self::close), and follows the host: servers of plugins that come and go
    /// with a reload are connected to and closed. After a failure the next attempt follows a pause,
    /// [`ClientOptions::backoff`].
    ///
    /// For a program that serves tools until it ends. Must run within a Tokio runtime; returns at once.
    pub fn keep_connected(&self) {
        for server in self.0.servers().iter() {
            tokio::spawn(ServerState::keep_connected(Arc::downgrade(server)));
        }
        let Some(host) = self.0.host.upgrade() else { return };
        let (inner, mut reloads) = (Arc::downgrade(&self.0), host.reloads());
        drop(host);
        tokio::spawn(async move {
            while reloads.changed().await.is_some() {
                let Some(inner) = inner.upgrade() else { return };
                let Some(host) = inner.host.upgrade() else { return };
                for server in inner.sync(&host) {
                    tokio::spawn(ServerState::keep_connected(Arc::downgrade(&server)));
                }
            }
        });
    }

    /// The names of the servers that were never connected to: their tools are not known.
    #[must_use]
    pub fn unknown(&self) -> Vec<String> {
        let servers = self.0.servers();
        servers.iter().filter(|it| !it.is_known()).map(|it| it.name.clone()).collect()
    }

    /// What became of each server, in the order of the host.
    ///
    /// A snapshot: nothing is asked of a server, and nothing waits. It is empty after [`close`](Self::close).
    #[must_use]
    pub fn reports(&self) -> Vec<ServerReport> {
        self.0.servers().iter().map(|it| it.report()).collect()
    }

    /// Tells of changes of the [`reports`](Self::reports) from now on.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use flyto_execenv::{ExecEnv, local::Local};
    /// # use flyto_host::{Config, Host, Surroundings};
    /// # use flyto_mcp::{ClientOptions, Servers};
    /// # fn f() -> Result<(), Box<dyn std::error::Error>> {
    /// # let host = Host::new(ExecEnv::new(Local::new()), Surroundings::ambient()?, Config::default());
    /// let servers = Servers::new(&Arc::new(host), None, ClientOptions::default());
    /// let mut changes = servers.changes();
    /// # async move {
    /// while changes.changed().await.is_some() {
    ///     for server in servers.reports() {
    ///         println!("{}: {}", server.name, server.status);
    ///     }
    /// }
    /// # };
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn changes(&self) -> ServerChanges {
        ServerChanges(self.0.changes.subscribe())
    }

    /// Why the tool of this name is held back, where it is. The name is an id or that of clients.
    pub(crate) fn refusal(&self, tool: &str) -> Option<String> {
        self.0.servers().iter().find_map(|it| it.refusal(tool))
    }

    /// Approves tools of a server that were held back, as [`ServerReport::held_back`] gave them: what was read is what is known
    /// from then on. The server has to be connected. All of them are approved, or none.
    ///
    /// For a tool that is [gone](crate::DefinitionChange::Gone), approval means that its definition is forgotten. What
    /// is approved is in the registry when this returns, and on disk; where the disk refuses, it is in use until this
    /// value ends, and the fault is in [`ServerReport::faults`].
    ///
    /// # Errors
    ///
    /// There is no such server, there is no connection, or the server declares a tool in another way by now.
    pub fn approve(&self, server: &str, shown: &[HeldBack]) -> Result<(), ApproveError> {
        let state = self.0.servers().iter().find(|it| it.name == server).cloned();
        let state = state.ok_or_else(|| ApproveError::NoServer { name: server.to_owned() })?;
        let report = state.report();
        if report.revision.is_none() {
            let why = report.problem.unwrap_or_else(|| "it was not tried".to_owned());
            return Err(ApproveError::NotConnected { server: server.to_owned(), why });
        }
        let changed = |tools| ApproveError::Changed { server: server.to_owned(), tools };
        state.approve(shown).map_err(changed)
    }

    /// Ends all connections and programs, and keeps the tools: the next call of one connects again. Gives what
    /// [`close`](Self::close) gives.
    pub async fn disconnect(&self) -> Vec<String> {
        let servers = self.0.servers().clone();
        ended(servers, async |it| it.disconnect().await).await
    }

    /// Ends all connections and programs, and returns when they are gone: each program has [`ClientOptions::grace`] after the
    /// end of its input. Gives the names of the servers of which processes may still be running.
    pub async fn close(&self) -> Vec<String> {
        let servers = std::mem::take(&mut *self.0.servers());
        ended(servers, async |it| {
            let is_gone = it.close().await;
            it.withdraw();
            is_gone
        })
        .await
    }

    /// Kills all programs, and does not wait.
    ///
    /// Their tools leave the registry, and calls in flight end as [lost](flyto_tools::Failure::Lost). For a program
    /// that has to end at once; the kernel may still be ending processes when this returns.
    pub fn abort(&self) {
        for server in std::mem::take(&mut *self.0.servers()) {
            server.abort();
            server.withdraw();
        }
    }
}

/// Ends all servers at once by `end`; gives the names of those for which it gave `false`.
async fn ended(
    servers: Vec<Arc<ServerState>>,
    end: impl AsyncFn(&Arc<ServerState>) -> bool,
) -> Vec<String> {
    let ending = servers.iter().map(|it| async { (!end(it).await).then(|| it.name.clone()) });
    let mut res = Vec::new();
    let mut ending: Vec<_> = ending.map(Box::pin).collect();
    std::future::poll_fn(|cx| {
        ending.retain_mut(|it| match it.as_mut().poll(cx) {
            Poll::Ready(name) => {
                res.extend(name);
                false
            }
            Poll::Pending => true,
        });
        if ending.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    res
}

impl Inner {
    fn servers(&self) -> MutexGuard<'_, Vec<Arc<ServerState>>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings the servers to those that the host declares now; what has not changed is not touched. Gives those that are new.
    fn sync(&self, host: &Arc<Host>) -> Vec<Arc<ServerState>> {
        let declared = if self.options.uses_servers { host.servers() } else { Vec::new() };
        let (mut added, mut gone, mut ruled) = (Vec::new(), Vec::new(), Vec::new());
        {
            let mut servers = self.servers();
            let mut former = std::mem::take(&mut *servers);
            for declared in declared {
                let same = former.iter().position(|it| it.declared.is_same(&declared));
                servers.push(match same {
                    Some(at) => {
                        let same = former.swap_remove(at);
                        if same.take_rules(declared.rules()) {
                            ruled.push(Arc::clone(&same));
                        }
                        same
                    }
                    None => {
                        let registry = Arc::downgrade(host.registry());
                        let (options, handler) = (Arc::clone(&self.options), self.handler.clone());
                        let store = self.store.clone();
                        let changes = Arc::clone(&self.changes);
                        let new =
                            ServerState::new(declared, options, handler, store, changes, registry);
                        added.push(Arc::clone(&new));
                        new
                    }
                });
            }
            gone.append(&mut former);
        }
        for server in gone {
            server.abort();
            server.withdraw();
        }
        for server in added.iter().chain(&ruled) {
            server.offer();
        }
        added
    }
}
