//! One server: what is known of it, its connection, and its tools in the registry.
//!
//! The tools that a host offers are the pinned ones. They are there before the server is started, and a call of one starts it.
//! With a connection, what the server lists is compared with the pins: a tool that differs is held back.
//!
//! Two locks guard the two halves of a server. `slot` is held while a connection is made, which may take seconds, so callers
//! wait for it without a thread. `known` is held for moments only, and never across a wait; where both are needed, `slot` is
//! taken first.
//!
//! | event | connection | tools in the registry |
//! | --- | --- | --- |
//! | made | none | the pinned ones |
//! | connected | one | those that are pinned and listed alike |
//! | the server says that its tools changed | the same | compared anew |
//! | the connection ends | none; the next call makes one, after the pause | they stay |
//! | approved, also by another process | the same | what was shown is pinned, and offered; the list is read anew where the process is another one |
//! | closed | none, and no further one | none |

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use flyto_host::{DeclaredServer, ServerRules};
use flyto_tools::{Owner, Registry, Tool, ToolId, Validated};
use tokio::{sync::watch, time::Instant};

use super::{
    connection::{self, ConnectError, Connection},
    definition::{self, Definition},
    elicitation::ElicitationHandler,
    handshake::Begin,
    listing::Listed,
    options::ClientOptions,
    pins::{PinStore, Pins, Stamp},
    report::{DefinitionChange, HeldBack, ServerReport, ServerStatus},
    tool::ServerTool,
};

/// The longest pause after failures in a row.
/// With a first pause of 1 s, the seventh failure in a row comes to it.
const MAX_BACKOFF: Duration = Duration::from_secs(60);

/// A server, for its tools and for the list of all servers.
///
/// It lives as long as one of its tools or the list. Its program lives as long as its connection.
#[derive(Debug)]
pub(super) struct ServerState {
    pub(super) name: String,
    pub(super) declared: DeclaredServer,
    pub(super) options: Arc<ClientOptions>,
    pub(super) handler: Option<Arc<dyn ElicitationHandler>>,
    store: Option<PinStore>,
    /// Tells that the report may be another.
    changes: Arc<watch::Sender<()>>,
    /// Weak: the registry holds the tools, and they hold this.
    registry: Weak<Registry>,
    /// Held while a connection is made.
    /// That takes [`ClientOptions::connect_timeout`] at most; a call that waits here is bounded by its own time.
    slot: tokio::sync::Mutex<Slot>,
    known: Mutex<Known>,
}

/// The connection, and how the attempts before went. A connection that has ended stays here until the next caller looks.
#[derive(Debug, Default)]
struct Slot {
    connection: Option<Arc<Connection>>,
    /// When the last connection was made.
    connected_at: Option<Instant>,
    /// Attempts in a row that failed or whose connections did not last, and when the next one may be.
    n_failures: u32,
    not_before: Option<Instant>,
}

/// What is known of a server without asking it. All of it can be told at any time, by a program that only lists.
#[derive(Debug, Default)]
struct Known {
    /// What the operator knows; `None` before the first connection.
    pins: Option<Pins>,
    /// The file from which they were read, or to which they were written.
    stamp: Option<Stamp>,
    /// What the server listed last.
    /// It stays after the end of its connection: a tool that differed then is not offered again because nothing is
    /// connected.
    listed: Option<Listed>,
    /// The last connection, which may have ended; `None` after a failed attempt and after the operator disconnected.
    current: Option<Arc<Connection>>,
    problem: Option<String>,
    /// Whether the problem is one of an earlier process, and this one has not tried.
    failed_before: bool,
    /// What went wrong with the file of the pins, and which tools have no place in the registry.
    store_fault: Option<String>,
    left_out: Vec<String>,
    /// The rules of the plugin that declares the server.
    rules: ServerRules,
    /// The tools that are offered, so that one whose definition stays stays the same tool. Weak: they hold the server.
    offered: HashMap<String, (Definition, Weak<dyn Tool>)>,
    is_closed: bool,
}

impl ServerState {
    /// A server and its pins. Its tools are not offered yet.
    pub(super) fn new(
        declared: DeclaredServer,
        options: Arc<ClientOptions>,
        handler: Option<Arc<dyn ElicitationHandler>>,
        store: Option<PinStore>,
        changes: Arc<watch::Sender<()>>,
        registry: Weak<Registry>,
    ) -> Arc<Self> {
        let mut known = Known { rules: declared.rules(), ..Known::default() };
        if let Some(store) = &store {
            known.load(store, &declared);
        }
        if known.pins.is_none() {
            known.problem = store.as_ref().and_then(|it| it.load_late(&declared));
            known.failed_before = known.problem.is_some();
        }
        Arc::new(Self {
            name: declared.name().to_owned(),
            declared,
            options,
            handler,
            store,
            changes,
            registry,
            slot: tokio::sync::Mutex::default(),
            known: Mutex::new(known),
        })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it was connected to before, by this process or another one.
    pub(super) fn is_known(&self) -> bool {
        self.known().pins.is_some()
    }

    /// The owner of its tools in the registry: of two servers with one name, one after the other, the same.
    fn owner(&self) -> Owner {
        Owner::new(format!("MCP server {}", self.name))
    }

    /// The connection: the one that there is, or a new one. Several callers wait for the same attempt.
    ///
    /// # Errors
    ///
    /// The attempt failed, or the last one failed a short while ago.
    pub(super) async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>, ConnectError> {
        self.connection_within(self.options.connect_timeout).await
    }

    /// The same, where a new connection has this time.
    pub(super) async fn connection_within(
        self: &Arc<Self>,
        time: Duration,
    ) -> Result<Arc<Connection>, ConnectError> {
        let mut slot = self.slot.lock().await;
        if let Some(connection) = slot.connection.take_if(|it| !it.is_open()) {
            let why = connection.peer.why_closed().to_string();
            slot.ended(self.options.backoff);
            self.known().problem = Some(why);
            self.changes.send_replace(());
        }
        if let Some(connection) = &slot.connection {
            return Ok(Arc::clone(connection));
        }
        if self.known().is_closed {
            return Err(ConnectError::Closed);
        }
        if let Some(wait) = slot.not_before.and_then(|it| it.checked_duration_since(Instant::now()))
            && !wait.is_zero()
        {
            let why = self.known().problem.clone().unwrap_or_default();
            let seconds = wait.as_secs_f64().ceil();
            return Err(ConnectError::Failed(format!("{why} (next attempt in {seconds} s)")));
        }
        let begin = match self.known().pins.as_ref().and_then(|it| it.revision) {
            Some(revision) if !revision.is_modern() => Begin::Remembered,
            _ => Begin::Discovery,
        };
        let (declared, handler) = (&self.declared, self.handler.as_ref());
        let opening = connection::open(declared, &self.options, time, handler, begin);
        match opening.await {
            Ok((connection, listed)) => {
                if !self.connected(&connection, listed) {
                    connection.kill();
                    return Err(ConnectError::Closed);
                }
                slot.connection = Some(Arc::clone(&connection));
                slot.connected_at = Some(Instant::now());
                slot.not_before = None;
                Ok(connection)
            }
            Err(err) => {
                slot.failed(self.options.backoff);
                let mut known = self.known();
                let problem = err.to_string();
                if let (ConnectError::TimedOut(_), None, Some(store)) =
                    (&err, &known.pins, &self.store)
                {
                    store.save_late(&self.declared, &problem);
                }
                known.problem = Some(problem);
                known.failed_before = false;
                known.current = None;
                drop(known);
                self.changes.send_replace(());
                Err(err)
            }
        }
    }

    /// Takes what a new connection brings; `false` where the server was closed meanwhile.
    ///
    /// The first connection of all pins what is listed. From then on a list changes no pin: an approval does.
    fn connected(self: &Arc<Self>, connection: &Arc<Connection>, listed: Listed) -> bool {
        {
            let mut known = self.known();
            if known.is_closed {
                return false;
            }
            known.current = Some(Arc::clone(connection));
            known.problem = None;
            known.failed_before = false;
            known.listed = Some(listed);
            if known.pins.is_none() {
                // What stays of a file that cannot be removed is not read once there are pins.
                let _ = self.store.as_ref().map(|it| it.forget_late(&self.declared));
                // The operator declared the server: what it offers at first is what was asked for.
                self.pin(&mut known, |_| true);
            } else {
                // Another process may have approved a tool meanwhile.
                self.reread(&mut known);
                let before = known.pins.as_ref().and_then(|it| it.revision);
                // A damaged file stays for the operator to look at.
                if before != Some(connection.agreed.revision) && known.store_fault.is_none() {
                    self.pin(&mut known, |_| false);
                }
            }
        }
        self.offer();
        let state = Arc::downgrade(self);
        connection.follow(self.options.max_tools, move |listed| {
            if let Some(state) = state.upgrade() {
                state.known().listed = Some(listed);
                state.offer();
            }
        });
        true
    }

    /// Reads the pins again where their file is another one: what another process approved is offered from now on, without a new
    /// connection.
    pub(super) fn refresh(self: &Arc<Self>) {
        let is_other = self.reread(&mut self.known());
        if is_other {
            self.offer();
            // What was approved may be what the server declares by now, without having told.
            if let Some(connection) = &self.known().current {
                connection.peer.tools_changed.notify_one();
            }
        }
    }

    fn reread(&self, known: &mut Known) -> bool {
        let Some(store) = &self.store else { return false };
        let now = store.stamp(&self.name, self.declared.file());
        let is_other = now.is_some() && now != known.stamp;
        if is_other {
            known.load(store, &self.declared);
        }
        is_other
    }

    /// Takes what the server lists into the pins, for the tools of these names. A pinned tool of such a name that is not listed
    /// loses its pin. Where the file cannot be written, the pins hold for this process, and the report says so.
    fn pin(&self, known: &mut Known, takes: impl Fn(&str) -> bool) {
        let Known { pins, stamp, listed, current, store_fault, .. } = known;
        let Some(listed) = listed else { return };
        let mut next = pins.clone().unwrap_or_default();
        let is_approval = pins.is_none() || listed.tools.iter().any(|it| takes(&it.name));
        let is_listed = |name: &str| listed.tools.iter().any(|it| it.name == name);
        next.tools.retain(|name, _| is_listed(name) || !takes(name));
        for tool in listed.tools.iter().filter(|it| takes(&it.name)) {
            next.tools.insert(tool.name.clone(), tool.clone());
        }
        if let Some(connection) = current {
            if is_approval {
                next.version.clone_from(&connection.agreed.version);
            }
            next.revision = Some(connection.agreed.revision);
        }
        let saved = match &self.store {
            Some(store) => store.save(&self.name, self.declared.file(), &next),
            None => Ok(()),
        };
        *stamp = self.store.as_ref().and_then(|it| it.stamp(&self.name, self.declared.file()));
        *store_fault =
            saved.err().map(|err| format!("what is known of its tools cannot be kept: {err}"));
        *pins = Some(next);
    }

    /// Approves tools as they were shown. Where the server lists one of them in another way by now, none is approved.
    ///
    /// # Errors
    ///
    /// The names of the tools that are declared in another way than what was shown, in order.
    pub(super) fn approve(self: &Arc<Self>, shown: &[HeldBack]) -> Result<(), Vec<String>> {
        {
            let mut known = self.known();
            // What another process approved meanwhile stays approved.
            self.reread(&mut known);
            let listed = known.listed.iter().flat_map(|it| &it.tools);
            let listed: HashMap<&str, &Definition> =
                listed.map(|it| (it.name.as_str(), it)).collect();
            let is_other =
                |it: &&HeldBack| listed.get(it.name.as_str()).map(|it| it.to_value()) != it.now;
            let others: Vec<_> = shown.iter().filter(is_other).map(|it| it.name.clone()).collect();
            if !others.is_empty() {
                return Err(others);
            }
            let names: HashSet<&str> = shown.iter().map(|it| it.name.as_str()).collect();
            self.pin(&mut known, |it| names.contains(it));
        }
        self.offer();
        Ok(())
    }

    /// Brings the registry to the tools that can be called: those that are pinned and that the server, as far as it was
    /// asked, declares in the same way. A server that is closed leaves the registry alone: another server may have its
    /// name by then, and with it the tools there.
    pub(super) fn offer(self: &Arc<Self>) {
        let Some(registry) = self.registry.upgrade() else { return };
        // Held until the registry has them: of two offers the later one stays.
        let mut known = self.known();
        if known.is_closed {
            return;
        }
        let known = &mut *known;
        let pins = known.pins.as_ref();
        let usable: Vec<Definition> = pins
            .into_iter()
            .flat_map(|it| it.tools.values())
            .filter(|pinned| {
                let Some(listed) = &known.listed else { return true };
                listed.tools.iter().any(|it| it == *pinned)
            })
            .cloned()
            .collect();
        let version = pins.map(|it| it.version.clone()).unwrap_or_default();
        let mut former = std::mem::take(&mut known.offered);
        let mut tools: Vec<Arc<dyn Tool>> = Vec::with_capacity(usable.len());
        for definition in usable {
            let tool = match former.remove(&definition.name) {
                Some((before, tool)) if before == definition => tool.upgrade(),
                _ => None,
            };
            let tool = tool.unwrap_or_else(|| self.tool(&definition, &version, &known.rules));
            let offered = (definition.clone(), Arc::downgrade(&tool));
            known.offered.insert(definition.name, offered);
            tools.push(tool);
        }
        let replaced = registry.replace_owner_where_free(self.owner(), tools);
        known.left_out = replaced.left_out.into_iter().map(|it| it.error.to_string()).collect();
        self.changes.send_replace(());
    }

    /// Has these rules decide the calls of its tools from now on; whether they are others than before. The tools are then to
    /// be [offered](Self::offer) anew.
    pub(super) fn take_rules(&self, rules: ServerRules) -> bool {
        let mut known = self.known();
        let is_other = known.rules != rules;
        if is_other {
            known.rules = rules;
            known.offered.clear();
        }
        is_other
    }

    fn tool(
        self: &Arc<Self>,
        definition: &Definition,
        version: &str,
        rules: &ServerRules,
    ) -> Arc<dyn Tool> {
        let id = definition::id(&self.name, &definition.name);
        let metadata = definition.metadata(&self.name, version);
        let tool = ServerTool::new(Arc::clone(self), id, definition.clone(), metadata);
        // Every tool of a host has this type; its schema is compiled at the first call.
        let tool: Arc<dyn Tool> = rules.bind(Arc::new(tool));
        Arc::new(Validated::lazy(tool))
    }

    /// What is listed in another way than it is pinned, or not pinned, or pinned and not listed; in order of the names. Nothing
    /// before the first list of this process.
    fn held_back(&self) -> Vec<HeldBack> {
        let known = self.known();
        let (Some(pins), Some(listed)) = (&known.pins, &known.listed) else { return Vec::new() };
        let mut res = Vec::new();
        for now in &listed.tools {
            let before = pins.tools.get(&now.name);
            let change = match before {
                Some(before) if before == now => continue,
                Some(before) => DefinitionChange::Changed(before.differences(now)),
                None => DefinitionChange::New,
            };
            let before = before.map(Definition::to_value);
            res.push(HeldBack {
                name: now.name.clone(),
                change,
                before,
                now: Some(now.to_value()),
            });
        }
        let is_gone = |it: &&Definition| listed.tools.iter().all(|now| now.name != it.name);
        for before in pins.tools.values().filter(is_gone) {
            res.push(HeldBack {
                name: before.name.clone(),
                change: DefinitionChange::Gone,
                before: Some(before.to_value()),
                now: None,
            });
        }
        res.sort_by(|a, b| a.name.cmp(&b.name));
        res
    }

    /// Why the tool of this name is held back, where it is. The name is an id or that of clients.
    pub(super) fn refusal(&self, tool: &str) -> Option<String> {
        self.held_back().iter().find_map(|it| {
            let id = definition::id(&self.name, &it.name);
            let is_meant = id == tool || ToolId::parse(&id).is_ok_and(|it| it.wire_name() == tool);
            is_meant.then(|| it.change.refusal(&id, &self.name))
        })
    }

    /// What is told of it. A connection wins over a problem, and that over what is only known.
    pub(super) fn report(&self) -> ServerReport {
        let held_back = self.held_back();
        let known = self.known();
        let current = known.current.as_ref().filter(|it| it.is_open());
        let ended = known.current.as_ref().filter(|it| !it.is_open());
        let problem = known.problem.clone();
        let problem = problem.or_else(|| ended.map(|it| it.peer.why_closed().to_string()));
        let status = match (current, &problem, &known.pins) {
            (Some(_), ..) => ServerStatus::Connected,
            (None, Some(_), _) => ServerStatus::Failed,
            (None, None, Some(_)) => ServerStatus::Known,
            (None, None, None) => ServerStatus::Unknown,
        };
        let agreed = known.current.as_ref().map(|it| &it.agreed);
        let pinned = known.pins.as_ref().map(|it| it.version.clone()).unwrap_or_default();
        let mut tools: Vec<_> =
            known.offered.keys().map(|it| definition::id(&self.name, it)).collect();
        tools.sort();
        let faults = known.listed.iter().flat_map(|it| &it.faults);
        let faults = known.store_fault.iter().chain(&known.left_out).chain(faults);
        ServerReport {
            name: self.name.clone(),
            plugin: self.declared.plugin().map(ToOwned::to_owned),
            declared_in: self.declared.declared_in().display().to_string(),
            status,
            problem: problem.filter(|_| status == ServerStatus::Failed),
            failed_before: known.failed_before && status == ServerStatus::Failed,
            revision: agreed.map(|it| it.revision),
            version: agreed.map_or(pinned, |it| it.version.clone()),
            tools,
            held_back,
            faults: faults.cloned().collect(),
        }
    }

    /// Ends the connection; the next call makes another one. `false` where processes of the server may still be running.
    pub(super) async fn disconnect(self: &Arc<Self>) -> bool {
        let connection = self.slot.lock().await.connection.take();
        self.known().current = None;
        match connection {
            Some(connection) => connection.close().await,
            None => true,
        }
    }

    /// Ends the connection; no further one is made, and the tools leave the registry. `false` where processes of the server
    /// may still be running.
    pub(super) async fn close(self: &Arc<Self>) -> bool {
        let connection = self.shut();
        match connection {
            Some(connection) => connection.close().await,
            None => true,
        }
    }

    /// The same without a wait: the program is killed.
    pub(super) fn abort(self: &Arc<Self>) {
        if let Some(connection) = self.shut() {
            connection.kill();
        }
    }

    fn shut(self: &Arc<Self>) -> Option<Arc<Connection>> {
        let mut known = self.known();
        known.is_closed = true;
        known.current.take()
    }

    /// Takes the tools out of the registry.
    pub(super) fn withdraw(&self) {
        if let Some(registry) = self.registry.upgrade() {
            registry.remove_owner(self.owner());
        }
    }

    /// Keeps a connection until the server is closed: after the end of one, and after an attempt that failed, the next one
    /// follows the pause.
    ///
    /// It holds the server weakly while it waits, so that this task alone keeps no server alive.
    pub(super) async fn keep_connected(state: Weak<Self>) {
        loop {
            let Some(server) = state.upgrade() else { return };
            let closed = match server.connection().await {
                Ok(connection) => connection.peer.closed.clone(),
                Err(ConnectError::Closed) => return,
                Err(_) => {
                    let until = server.slot.lock().await.not_before;
                    drop(server);
                    match until {
                        Some(until) => tokio::time::sleep_until(until).await,
                        None => return,
                    }
                    continue;
                }
            };
            drop(server);
            closed.cancelled().await;
        }
    }
}

impl Known {
    /// Reads the pins. Of a file that cannot be read nothing is approved.
    fn load(&mut self, store: &PinStore, declared: &DeclaredServer) {
        let (name, file) = (declared.name(), declared.file());
        // Before the file itself: one that is replaced meanwhile is read once more.
        self.stamp = store.stamp(name, file);
        match store.load(name, file) {
            Ok(pins) => {
                // A file that is gone takes nothing away.
                self.pins = pins.or(self.pins.take());
                self.store_fault = None;
            }
            Err(err) => {
                self.store_fault =
                    Some(format!("what is known of its tools cannot be read: {err}"));
                self.pins = Some(Pins::default());
            }
        }
    }
}

impl Slot {
    /// The connection has ended. One that lasted ends a row of failures; a server that connects and dies adds to it.
    fn ended(&mut self, backoff: Duration) {
        if self.connected_at.is_some_and(|it| it.elapsed() >= MAX_BACKOFF) {
            self.n_failures = 0;
        }
        self.failed(backoff);
    }

    /// One more failure: the next attempt follows after `backoff`, doubled with each failure in a row, at most
    /// [`MAX_BACKOFF`].
    fn failed(&mut self, backoff: Duration) {
        let pause = backoff.saturating_mul(1 << self.n_failures.min(16)).min(MAX_BACKOFF);
        self.n_failures = self.n_failures.saturating_add(1);
        self.not_before = Some(Instant::now() + pause);
    }
}

#[cfg(test)]
mod tests;
