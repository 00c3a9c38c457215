//! The servers of a host, as the verbs use them.

use std::time::Duration;

use flyto_mcp::{ServerReport, ServerStatus};
use tokio::runtime::Runtime;

use crate::commands::by_flyto;
use crate::exit::Why;
use crate::screen::Screen;
use crate::session::{Backend, Loaded, Session};
use crate::stop::Stop;
use crate::words::{counted, one_line};

/// How long a verb that tells what there is waits for servers that were never connected to, and `serve` before it answers its
/// client: their tools are to be in the first list, and clients wait for an answer at least twice as long.
const FIRST_LIST_TIME: Duration = Duration::from_secs(10);

impl Loaded {
    /// Ends the processes of plugins and of servers in order.
    pub(crate) async fn close(&self) {
        tokio::join!(self.host.close(), self.servers.close());
    }

    /// Kills the processes of plugins and of servers.
    pub(crate) async fn abort(&self) {
        self.servers.abort();
        self.host.abort().await;
    }

    /// Finds out what tools a server has, where the name is that of a tool of one that was never connected to.
    ///
    /// # Errors
    ///
    /// It cannot be connected to.
    pub(crate) fn learn(&self, tool: &str, screen: &Screen) -> Result<(), Stop> {
        let names_tool_of = |server: &str| {
            let rest = tool.strip_prefix("mcp__").unwrap_or(tool).strip_prefix(server);
            rest.is_some_and(|it| it.starts_with(':') || it.starts_with("__"))
        };
        let unknown = self.servers.unknown();
        if !unknown.iter().any(|it| names_tool_of(it)) {
            return Ok(());
        }
        for report in self.look(None, names_tool_of)? {
            if let Some(problem) = &report.problem {
                return Err(unreachable(&report.name, problem));
            }
            if let Some(note) = first_seen(&report) {
                screen.note(note);
            }
        }
        Ok(())
    }

    /// Connects to the servers that `choose` takes, tells what they are, and ends them. Their tools stay. Each has `time`, or
    /// without one as long as a call would wait.
    pub(crate) fn look(
        &self,
        time: Option<Duration>,
        choose: impl Fn(&str) -> bool,
    ) -> Result<Vec<ServerReport>, Stop> {
        let runtime = runtime()?;
        let reports = runtime.block_on(async {
            match time {
                Some(time) => self.servers.connect_within(time, &choose).await,
                None => self.servers.connect(&choose).await,
            }
            let reports = self.servers.reports();
            self.servers.disconnect().await;
            reports
        });
        Ok(reports.into_iter().filter(|it| choose(&it.name)).collect())
    }

    /// Connects to all servers for as long as the host serves. Those that were never tried are waited for.
    pub(crate) async fn join_servers(&self) {
        let reports = self.servers.reports().into_iter();
        let unknown = reports.filter(|it| it.status == ServerStatus::Unknown);
        let unknown: Vec<_> = unknown.map(|it| it.name).collect();
        if !unknown.is_empty() {
            let first = self.servers.connect(|it| unknown.iter().any(|name| name == it));
            let _ = tokio::time::timeout(FIRST_LIST_TIME, first).await;
        }
        self.servers.keep_connected();
    }
}

impl Session {
    /// Like `load`, for a verb that only tells: servers of the configuration that were never tried are connected to, so that
    /// their tools are known. Those of plugins are not: telling what a plugin has starts none of its programs.
    pub(crate) fn load_with_servers(&self) -> Result<Loaded, Stop> {
        let loaded = self.load(None, Backend::Unused)?;
        let reports = loaded.servers.reports().into_iter();
        let unknown: Vec<_> = reports
            .filter(|it| it.status == ServerStatus::Unknown && it.plugin.is_none())
            .map(|it| it.name)
            .collect();
        if unknown.is_empty() {
            return Ok(loaded);
        }
        // Now programs run.
        let loaded = self.load(None, Backend::Used)?;
        let reports =
            loaded.look(Some(FIRST_LIST_TIME), |it| unknown.iter().any(|name| name == it))?;
        for note in reports.iter().filter_map(first_seen) {
            self.screen.note(note);
        }
        Ok(loaded)
    }
}

/// What is said of a server whose tools are known from now on.
fn first_seen(report: &ServerReport) -> Option<String> {
    let n_tools = counted(report.tools.len(), "tool");
    let name = one_line(&report.name);
    let is_new = report.status == ServerStatus::Connected;
    is_new.then(|| {
        format!("the server {name} has {n_tools}; what it changes later needs your approval")
    })
}

/// A server that is not there.
pub(crate) fn unreachable(name: &str, problem: &str) -> Stop {
    Stop::new(Why::Failed, format!("the server {}: {}", one_line(name), one_line(problem)))
        .with_help(format!("{} shows the state of each", by_flyto(["servers"])))
}

/// A runtime for one look at servers.
pub(crate) fn runtime() -> Result<Runtime, Stop> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|err| Stop::new(Why::Failed, format!("no server can be reached: {err}")))
}
