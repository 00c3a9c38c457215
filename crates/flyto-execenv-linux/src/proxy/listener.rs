//! The socket in a network namespace, and the proxy that serves it during a call.
//!
//! The listener belongs to a supervisor and outlives its calls; a [`Proxy`] serves it for one call.
//! A number tells the calls apart: connections that an earlier program left are closed before the
//! next one starts, and a proxy that is late takes none of the next call's.

use std::{
    future::poll_fn,
    io,
    net::TcpListener as StdListener,
    os::fd::OwnedFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
    time::Duration,
};

use flyto_execenv::DeniedHost;
use tokio::{
    net::{TcpListener, TcpStream},
    task::{AbortHandle, JoinSet},
};

use super::{egress::EgressPolicy, relay, session::ProxySession};

/// Connections of one call that are served at the same time; more wait until one has ended. Browsers and
/// package managers make some 30 to 50 through a proxy.
const MAX_CONNECTIONS: usize = 128;

/// How long nothing is taken after the system had no room for a connection: 50 ms.
const PAUSE: Duration = Duration::from_millis(50);

/// A socket that listens in the network namespace of a supervisor.
#[derive(Debug)]
pub(crate) struct ProxyListener {
    listener: StdListener,
    /// The call that connections belong to.
    call: Mutex<u64>,
}

impl ProxyListener {
    /// # Errors
    ///
    /// Those of fcntl(2).
    pub(crate) fn new(socket: OwnedFd) -> io::Result<Self> {
        let listener = StdListener::from(socket);
        listener.set_nonblocking(true)?;
        Ok(Self { listener, call: Mutex::default() })
    }

    /// Held while a connection is accepted.
    fn call(&self) -> MutexGuard<'_, u64> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From here on, each connection belongs to the next call. What an earlier program left at the listener is
    /// closed: no process of it is alive.
    ///
    /// # Errors
    ///
    /// Those of accept(2), descriptors that are short above all: connections of the earlier program may be
    /// left then, and this listener is not to be used again.
    pub(crate) fn next_call(&self) -> io::Result<()> {
        let mut call = self.call();
        *call += 1;
        loop {
            match self.listener.accept().map_err(|err| (err.kind(), err)) {
                // One that gave up waiting is gone as well.
                Ok(_) | Err((io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted, _)) => {
                }
                Err((io::ErrorKind::WouldBlock, _)) => return Ok(()),
                Err((_, err)) => return Err(err),
            }
        }
    }
}

/// Serves a listener during one call. Dropping it ends every connection.
#[derive(Debug)]
pub(crate) struct Proxy {
    task: AbortHandle,
    session: Arc<ProxySession>,
}

impl Proxy {
    /// Accepts the connections that come during the present call.
    ///
    /// # Errors
    ///
    /// Those of epoll_ctl(2).
    ///
    /// Must run in a Tokio runtime with I/O and time enabled.
    pub(crate) fn start(
        proxy_listener: Arc<ProxyListener>,
        policy: Arc<EgressPolicy>,
    ) -> io::Result<Self> {
        let call = *proxy_listener.call();
        let listener = TcpListener::from_std(proxy_listener.listener.try_clone()?)?;
        let session = Arc::new(ProxySession::new(policy));
        let task = tokio::spawn(serve(proxy_listener, listener, call, Arc::clone(&session)));
        Ok(Self { task: task.abort_handle(), session })
    }

    /// What the program was blocked from connecting to so far.
    ///
    /// Each host once, [`MAX_DENIED`](super::session) at most.
    pub(crate) fn denied(&self) -> Vec<DeniedHost> {
        self.session.denied()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Runs until the call is over or the proxy is dropped. A full house leaves further connections in
/// the kernel's queue.
async fn serve(
    proxy_listener: Arc<ProxyListener>,
    listener: TcpListener,
    call: u64,
    session: Arc<ProxySession>,
) {
    // They end with this future.
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = accept(&proxy_listener, &listener, call), if connections.len() < MAX_CONNECTIONS => accepted,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
        };
        match accepted {
            Ok(Some(inside)) => {
                let session = Arc::clone(&session);
                connections.spawn(async move { relay::serve(inside, &session).await });
            }
            Ok(None) => return,
            // Descriptors or memory are short, or the other end has gone again (accept(2)).
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// The next connection of this call; `None` where it is over.
async fn accept(
    proxy_listener: &ProxyListener,
    listener: &TcpListener,
    call: u64,
) -> io::Result<Option<TcpStream>> {
    poll_fn(|cx| {
        // Held while one is taken, so that no connection of a later call is.
        let current = proxy_listener.call();
        if *current != call {
            return Poll::Ready(Ok(None));
        }
        listener.poll_accept(cx).map_ok(|(stream, _)| Some(stream))
    })
    .await
}
