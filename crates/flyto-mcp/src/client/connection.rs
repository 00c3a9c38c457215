//! Connecting to a server: its program or its address, the era, the list of tools.
//!
//! A connection is made in one go: the declaration is expanded with the variables of now, the program is started or the
//! address taken, both sides agree on a revision, and all pages of tools are read. Only then is it handed out. Whatever fails
//! before that ends what was started.
//!
//! Two tasks go with a connection. One waits for its end and ends the program then, so that a server that floods or is stuck
//! does not run on. The other reads the list of tools anew when the server says that it changed. Both hold it weakly.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use flyto_execenv::{ExecError, Spec};
use flyto_host::DeclaredServer;
use flyto_plugin::{Endpoint, EndpointError, HttpKind};
use flyto_program::chain;
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    definition::Definition,
    elicitation::ElicitationHandler,
    handshake::{Agreed, Begin, NoAgreement, agree},
    http,
    listing::{self, Listed},
    options::{ClientOptions, SERVED_BY},
    peer::{InFlight, Peer, SUBSCRIBE},
    stdio::Child,
};

/// How long a sign of life is waited for after a call that took too long: 5 s.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// The time between two looks at a list that a server says has changed: one that says so without end costs one look a second.
const BETWEEN_LISTINGS: Duration = Duration::from_secs(1);

/// A connection to a server that was agreed on. Dropping it kills the program of the server.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) peer: Arc<Peer>,
    pub(super) agreed: Agreed,
    /// What the server listed last, by name.
    tools: Mutex<Arc<HashMap<String, Definition>>>,
    link: Mutex<Option<Link>>,
    grace: Duration,
}

/// What carries the messages. Dropping it ends them: a program is killed, a request over HTTP is aborted.
#[derive(Debug)]
enum Link {
    Program(Child),
    Http(http::Link),
}

/// Why there is no connection. Its text is for people, without the name of the server, which the reader adds.
#[derive(Debug)]
pub(super) enum ConnectError {
    /// A value of the declaration cannot be made.
    Endpoint(EndpointError),
    /// The program could not be started.
    Start(ExecError),
    /// The server did not come to an agreement, in words.
    Failed(String),
    /// The time was over.
    TimedOut(Duration),
    /// The client was closed.
    Closed,
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Endpoint(err) => write!(f, "{err}"),
            Self::Start(err) => f.write_str(&chain(err)),
            Self::Failed(why) => f.write_str(why),
            Self::TimedOut(after) => write!(f, "it was not ready after {after:?}"),
            Self::Closed => f.write_str("the client was closed"),
        }
    }
}

/// Connects to a server within this time.
///
/// # Errors
///
/// See [`ConnectError`]. What was started is ended.
pub(super) async fn open(
    declared: &DeclaredServer,
    options: &ClientOptions,
    time: Duration,
    handler: Option<&Arc<dyn ElicitationHandler>>,
    begin: Begin,
) -> Result<(Arc<Connection>, Listed), ConnectError> {
    let ends = Instant::now() + time;
    let opening = open_within(declared, options, handler, begin);
    let opened = timeout_at(ends, opening).await;
    opened.unwrap_or(Err(ConnectError::TimedOut(time)))
}

/// The same without a limit of time. It is dropped at the limit, and everything that it started with it.
async fn open_within(
    declared: &DeclaredServer,
    options: &ClientOptions,
    handler: Option<&Arc<dyn ElicitationHandler>>,
    mut begin: Begin,
) -> Result<(Arc<Connection>, Listed), ConnectError> {
    let endpoint = declared.endpoint().map_err(ConnectError::Endpoint)?;
    let (peer, agreed, link) = loop {
        let (peer, messages) = Peer::new(declared.name(), options, handler.cloned());
        let link = match &endpoint {
            Endpoint::Program(spec) => {
                let (mut spec, longest) = (Spec::clone(spec), options.max_message_bytes);
                spec.env.set(SERVED_BY, "1");
                let child = Child::start(declared, spec, &peer, messages, longest).await;
                Link::Program(child.map_err(ConnectError::Start)?)
            }
            Endpoint::Http { kind: HttpKind::Sse, .. } => {
                let why = "the older way over HTTP (\"sse\") is not spoken here; write \"http\"";
                return Err(ConnectError::Failed(why.to_owned()));
            }
            Endpoint::Http { url, headers, .. } => {
                let link = http::Link::start(url, headers, &peer, messages, options);
                Link::Http(link.map_err(ConnectError::Failed)?)
            }
            _ => return Err(ConnectError::Failed("it is reached in no known way".to_owned())),
        };
        match agree(&peer, begin).await {
            Ok(agreed) => break (peer, agreed, link),
            Err(NoAgreement::EndedAtDiscovery) if begin != Begin::Handshake => {
                begin = Begin::Handshake;
            }
            Err(NoAgreement::EndedAtHandshake) if begin == Begin::Remembered => {
                begin = Begin::Discovery;
            }
            Err(NoAgreement::EndedAtDiscovery | NoAgreement::EndedAtHandshake) => {
                return Err(ConnectError::Failed(peer.why_closed().to_string()));
            }
            Err(NoAgreement::Failed(why)) => return Err(ConnectError::Failed(why)),
        }
    };
    let listed = match agreed.has_tools {
        true => listing::list(&peer, options.max_tools)
            .await
            .map_err(|err| ConnectError::Failed(err.to_string()))?,
        false => Listed::default(),
    };
    let connection = Arc::new(Connection {
        peer,
        agreed,
        tools: Mutex::default(),
        link: Mutex::new(Some(link)),
        grace: options.grace,
    });
    connection.set_tools(&listed);
    connection.end_with_peer();
    Ok((connection, listed))
}

impl Connection {
    /// Whether requests can be made.
    pub(super) fn is_open(&self) -> bool {
        !self.peer.closed.is_cancelled()
    }

    /// Takes a list, by which calls check their pins from then on.
    fn set_tools(&self, listed: &Listed) {
        let tools = listed.tools.iter().map(|it| (it.name.clone(), it.clone())).collect();
        *self.tools.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(tools);
    }

    /// The tool of this name, as the server listed it last.
    pub(super) fn tool(&self, name: &str) -> Option<Definition> {
        let tools = Arc::clone(&self.tools.lock().unwrap_or_else(PoisonError::into_inner));
        tools.get(name).cloned()
    }

    /// Ends the program when the conversation has ended, whatever ended it: one that floods or is stuck is not left running
    /// until the next call.
    fn end_with_peer(self: &Arc<Self>) {
        let (peer, connection) = (Arc::clone(&self.peer), Arc::downgrade(self));
        tokio::spawn(async move {
            peer.closed.cancelled().await;
            if let Some(connection) = connection.upgrade() {
                connection.end_link().await;
            }
        });
    }

    /// Calls `changed` with each new list of tools, for as long as the connection lasts: where the server says that it changed, and
    /// where an approval asks for it. The server is asked at most once a second.
    pub(super) fn follow(
        self: &Arc<Self>,
        max_tools: usize,
        changed: impl Fn(Listed) + Send + 'static,
    ) {
        let (peer, connection) = (Arc::clone(&self.peer), Arc::downgrade(self));
        let tells_changes = self.agreed.tells_changes;
        tokio::spawn(async move {
            let _subscription = if tells_changes { subscribe(&peer).await } else { None };
            loop {
                tokio::select! {
                    () = peer.tools_changed.notified() => {}
                    () = peer.closed.cancelled() => return,
                }
                if let Ok(listed) = listing::list(&peer, max_tools).await {
                    let Some(connection) = connection.upgrade() else { return };
                    connection.set_tools(&listed);
                    changed(listed);
                }
                tokio::select! {
                    () = tokio::time::sleep(BETWEEN_LISTINGS) => {}
                    () = peer.closed.cancelled() => return,
                }
            }
        });
    }

    /// Asks a server that did not end a call in time whether it is still there, and ends it where it is not.
    ///
    /// Returns at once. A server that is merely slow answers within [`SIGN_OF_LIFE`] and keeps its other calls; one that is
    /// stuck would let each further call run into its deadline.
    pub(super) fn expect_sign_of_life(&self) {
        let peer = Arc::clone(&self.peer);
        let is_modern = self.agreed.revision.is_modern();
        tokio::spawn(async move {
            // Whatever it answers, it answers.
            let method = if is_modern { "server/discover" } else { "ping" };
            if timeout(SIGN_OF_LIFE, peer.request(method, &[])).await.is_err() {
                peer.close("it did not answer any more after a call was cancelled");
            }
        });
    }

    /// Ends the conversation and the program; `false` where processes of it may still be running.
    pub(super) async fn close(&self) -> bool {
        self.peer.close("the client closed the connection");
        self.end_link().await
    }

    /// Ends what carries the messages, once; `false` where processes may still be running.
    async fn end_link(&self) -> bool {
        let link = self.link.lock().unwrap_or_else(PoisonError::into_inner).take();
        match link {
            Some(Link::Program(child)) => child.end(self.grace).await,
            Some(Link::Http(link)) => {
                link.end().await;
                true
            }
            None => true,
        }
    }

    /// Kills the program, and does not wait.
    pub(super) fn kill(&self) {
        self.peer.close("the client closed the connection");
        drop(self.link.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// In the new era, changes are told to clients that ask for them; the request stays open. `None` in the era of handshakes, where
/// they are told without that, and where the server refuses.
async fn subscribe(peer: &Arc<Peer>) -> Option<InFlight> {
    if !peer.revision().is_some_and(crate::Revision::is_modern) {
        return None;
    }
    let filter = r#"{"toolsListChanged":true}"#;
    peer.begin(SUBSCRIBE, &[("notifications", filter)], false).await.ok()
}
