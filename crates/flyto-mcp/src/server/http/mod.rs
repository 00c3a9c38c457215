//! Clients over [streamable HTTP](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http).
//!
//! Each message of a client is a POST of its own. What can be answered at once is answered as JSON; a call and a subscription are
//! answered as a stream of events that carries progress, questions and at last the result. A client that closes the stream takes
//! the call back.
//!
//! Messages of the era of handshakes belong to a session, which `initialize` opens and a DELETE ends. A GET of its client is
//! answered with a stream that tells when the tools change, until the session ends. With the session its jobs end.
//!
//! In the new era the end of a stream takes its call back because the protocol says so ("MCP 2026-07-28, Basic,
//! Transports, Streamable HTTP, Cancellation"). The era before has resumable streams, and says that a client that goes
//! away takes nothing back; here no stream can be resumed, a result would reach no client, and so the call ends in
//! that era as well.
//!
//! A task of the runtime serves each connection, and another one each call. No body is collected before the token was
//! checked.

mod checks; // which requests are answered at all
mod events; // answers that come in parts
mod own_wakes; // a task that wakes itself
mod room; // for all clients
mod sessions; // clients of the era of handshakes

use std::{io, net::TcpListener, sync::Arc, time::Duration};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use flyto_tools::{CancellationToken, Watch};
use http_body_util::{BodyExt as _, Full, Limited, combinators::UnsyncBoxBody};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::{Body as _, Incoming},
    header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{sync::mpsc, task::JoinSet, time::timeout};

use self::{
    events::Events,
    own_wakes::OwnWakes,
    room::{AnswerBody, Connections, Shares},
    sessions::Sessions,
};
use super::{
    Server, Shared,
    background::OwnJobs,
    call::BegunCall,
    fault::Fault,
    message::{Frame, Id, Message, Response as Answer, Unreadable},
    outbox::Outbox,
    params::Params,
    peer::{Outcome, Peer, Session, Work},
    waiting::WaitingCalls,
};

/// The path of the one endpoint.
const PATH: &str = "/mcp";
/// The header that names the session of the era of handshakes.
const SESSION_HEADER: &str = "mcp-session-id";
/// How long the head of a request may take to come: 10 s.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long its body may take: 30 s.
const BODY_TIME: Duration = Duration::from_secs(30);
/// How often a silent stream shows that it is alive: every 15 s.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How long the head of an answer waits for the result of its call, at most: 100 ms. A short call is answered with one write then.
const HEAD_PATIENCE: Duration = Duration::from_millis(100);

/// What a client reads for which there is no room.
const NO_ROOM: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n";

type Body = UnsyncBoxBody<Bytes, std::convert::Infallible>;

/// How a server is reached over HTTP.
///
/// ```
/// use std::io::{self, Read as _, Write as _};
/// use std::net::{TcpListener, TcpStream};
/// use std::sync::Arc;
///
/// use flyto_execenv::{ExecEnv, local::Local};
/// use flyto_host::{Config, Host, Surroundings};
/// use flyto_mcp::{HttpOptions, Server, ServerOptions};
/// use flyto_tools::CancellationToken;
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut options = HttpOptions::generated()?;
/// options.max_connections = 8;
/// let token = options.token.clone();
/// // What a log shows of the options is not the token.
/// assert!(!format!("{options:?}").contains(&token));
///
/// let host = Host::new(ExecEnv::new(Local::new()), Surroundings::ambient()?, Config::default());
/// let server = Server::new(Arc::new(host), ServerOptions::default())?;
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// let address = listener.local_addr()?;
/// let stop = CancellationToken::new();
/// let stopped = stop.clone();
/// let serving = tokio::spawn(async move { server.serve_http(listener, options, &stopped).await });
///
/// let status = move |token: &str| -> io::Result<String> {
///     let body = concat!(
///         r#"{"jsonrpc":"2.0","id":1,"method":"initialize","#,
///         r#""params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#,
///     );
///     let head = format!(
///         "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
///          Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
///         body.len(),
///     );
///     let mut stream = TcpStream::connect(address)?;
///     stream.write_all(format!("{head}{body}").as_bytes())?;
///     let mut answer = String::new();
///     stream.read_to_string(&mut answer)?;
///     Ok(answer.lines().next().unwrap_or_default().to_owned())
/// };
/// let (right, wrong) =
///     tokio::task::spawn_blocking(move || (status(&token), status("a guess"))).await?;
/// assert_eq!(right?, "HTTP/1.1 200 OK");
/// assert_eq!(wrong?, "HTTP/1.1 401 Unauthorized");
/// stop.cancel();
/// serving.await??;
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpOptions {
    /// What each request must have in `Authorization: Bearer`.
    /// A secret: a process that has it calls tools as the user. It has to be text that a header can hold, without
    /// white space at its ends; digests are compared, so that the time of a refusal tells nothing of it.
    pub token: String,
    /// Most connections at once: 256. For a further one, that which has been silent longest is closed; where each of them answers a
    /// request, the further one gets status 503.
    ///
    /// Half of them may be calls, a quarter those of one session (or of all requests that belong to none), and a quarter
    /// streams of changes. A further call gets a result that says so, and a further stream status 503. So no client keeps
    /// others from what is answered at once. With fewer than 4 there are no streams, and with 0 nothing is answered.
    pub max_connections: usize,
    /// Most sessions of the era of handshakes: 64. Of those without a call, a job or an open stream, the one that was used least
    /// recently makes room for a new one; its next request gets status 404, upon which a client begins a new session
    /// ("MCP 2025-11-25, Basic, Transports, Session Management"). Where there is none of these, a new one gets status 503. 0
    /// counts as 1.
    pub max_sessions: usize,
}

/// Without the token.
impl std::fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { token: _, max_connections, max_sessions } = self;
        f.debug_struct("HttpOptions")
            .field("max_connections", max_connections)
            .field("max_sessions", max_sessions)
            .finish_non_exhaustive()
    }
}

impl HttpOptions {
    /// The default bounds, and this token.
    #[must_use]
    pub fn with_token(token: impl Into<String>) -> Self {
        Self { token: token.into(), max_connections: 256, max_sessions: 64 }
    }

    /// The default bounds, and a token of 256 random bits.
    /// As text it has 43 characters of the alphabet of base64url.
    ///
    /// # Errors
    ///
    /// The system gives no random numbers.
    pub fn generated() -> io::Result<Self> {
        random_name::<32>().map(Self::with_token)
    }
}

/// Random bytes as a text that stands in a header.
fn random_name<const N: usize>() -> io::Result<String> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// What all connections share.
#[derive(Debug)]
struct Endpoint {
    /// What clients over streams share as well.
    server: Arc<Shared>,
    /// The token and the bounds.
    options: HttpOptions,
    /// Clients of the era of handshakes.
    sessions: Sessions,
    /// The jobs of requests that belong to no session.
    jobs: Arc<OwnJobs>,
    /// Calls of such requests that wait for an answer.
    waiting: Arc<WaitingCalls<BegunCall>>,
    /// What each kind of request may take of the connections.
    shares: Shares,
    /// Ends everything once it is cancelled.
    stop: CancellationToken,
    /// Held by each call that runs; the end waits for the last one.
    alive: mpsc::Sender<()>,
}

impl Server {
    /// Serves clients over HTTP at `/mcp` until `stop` is cancelled.
    ///
    /// A request is answered where its `Host` is a loopback name, its `Origin`, if it has one, too, and it has the
    /// [token](HttpOptions::token): what a browser sends for a foreign page has neither.
    ///
    /// ```
    /// use std::{net::TcpListener, sync::Arc};
    ///
    /// use flyto_execenv::{ExecEnv, local::Local};
    /// use flyto_host::{Config, Host, Surroundings};
    /// use flyto_mcp::{HttpOptions, Server, ServerOptions};
    /// use flyto_tools::CancellationToken;
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let host = Host::new(ExecEnv::new(Local::new()), Surroundings::ambient()?, Config::default());
    /// let server = Server::new(Arc::new(host), ServerOptions::default())?;
    /// let (listener, options) = (TcpListener::bind("127.0.0.1:0")?, HttpOptions::generated()?);
    /// println!("http://{}/mcp with the token {}", listener.local_addr()?, options.token);
    ///
    /// let stop = CancellationToken::new();
    /// # stop.cancel();
    /// server.serve_http(listener, options, &stop).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] where the listener is bound to an address that other machines reach: the tokens would
    /// cross the network in the clear. A proxy that speaks TLS stands before such a server.
    pub async fn serve_http(
        &self,
        listener: TcpListener,
        options: HttpOptions,
        stop: &CancellationToken,
    ) -> io::Result<()> {
        if !listener.local_addr()?.ip().is_loopback() {
            let why = "only a loopback address is served over HTTP";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let places = Connections::new(options.max_connections);
        let (alive, mut ended) = mpsc::channel(1);
        let sessions = Sessions::new(options.max_sessions);
        let shares = Shares::of(options.max_connections);
        let (server, stop_all) = (Arc::clone(&self.0), stop.clone());
        let jobs = Arc::new(OwnJobs::beside_others());
        let waiting = Arc::new(WaitingCalls::default());
        let calls_waiting = Arc::clone(&waiting);
        let endpoint =
            Endpoint { server, options, sessions, jobs, waiting, shares, stop: stop_all, alive };
        let endpoint = Arc::new(endpoint);
        let mut connections = JoinSet::new();
        loop {
            let stream = tokio::select! {
                () = stop.cancelled() => break,
                Some(_) = connections.join_next(), if !connections.is_empty() => continue,
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    // A connection that ended before it was accepted, or no descriptor for it: others may go on.
                    Err(_) => {
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        continue;
                    }
                },
            };
            let Some(place) = places.enter() else {
                // The client has not sent anything yet, or it is in the queue of the system.
                let _ = stream.try_write(NO_ROOM);
                continue;
            };
            // The parts of an answer go out at once. Else each waits for the client to acknowledge the one before, which takes
            // clients 40 ms (tcp(7), TCP_NODELAY). Without it the answers are the same, only later.
            let _ = stream.set_nodelay(true);
            let (endpoint, token) = (Arc::clone(&endpoint), stop.clone());
            connections.spawn(OwnWakes::new(async move {
                let place = Arc::new(place);
                let makes_way = place.makes_way.clone();
                let service = service_fn(move |request| {
                    let (endpoint, place) = (Arc::clone(&endpoint), Arc::clone(&place));
                    async move {
                        let answering = place.request();
                        let response = endpoint.answer(request).await;
                        let response =
                            response.map(|body| AnswerBody { body, _answering: answering });
                        Ok::<_, std::convert::Infallible>(response)
                    }
                });
                let connection = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEAD_TIME)
                    .serve_connection(TokioIo::new(stream), service);
                tokio::pin!(connection);
                // What is wrong with a connection concerns its client alone.
                tokio::select! {
                    _ = connection.as_mut() => {}
                    () = makes_way.cancelled() => {}
                    () = token.cancelled() => {
                        // The answer that it waits for is its last one.
                        connection.as_mut().graceful_shutdown();
                        let _ = connection.await;
                    }
                }
            }));
        }
        let grace = endpoint.server.options.grace;
        drop(endpoint);
        calls_waiting.end();
        // Calls end with their cancellation; their answers still go out, for their connections are there.
        let all_ended = async {
            while connections.join_next().await.is_some() {}
            ended.recv().await
        };
        let _ = timeout(grace, async { tokio::join!(all_ended, calls_waiting.all_ended()) }).await;
        calls_waiting.clear();
        connections.shutdown().await;
        Ok(())
    }
}

impl Endpoint {
    /// The response to one request.
    async fn answer(self: &Arc<Self>, request: Request<Incoming>) -> Response<Body> {
        let (head, body) = request.into_parts();
        if let Err(status) = checks::caller(&head.headers, &self.options.token) {
            let mut res = plain(status);
            if status == StatusCode::UNAUTHORIZED {
                res.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            return res;
        }
        if head.uri.path() != PATH {
            return plain(StatusCode::NOT_FOUND);
        }
        match head.method {
            Method::POST => {}
            Method::GET if head.headers.contains_key(SESSION_HEADER) => {
                return self.changes(&head.headers);
            }
            Method::DELETE => {
                let session =
                    header(&head.headers, SESSION_HEADER).and_then(|it| self.sessions.remove(it));
                let Some(session) = session else { return plain(StatusCode::NOT_FOUND) };
                session.questions.close();
                session.cancel_all();
                return plain(StatusCode::NO_CONTENT);
            }
            _ => {
                let mut res = plain(StatusCode::METHOD_NOT_ALLOWED);
                res.headers_mut().insert(ALLOW, HeaderValue::from_static("POST, GET, DELETE"));
                return res;
            }
        }
        let kind = header(&head.headers, CONTENT_TYPE.as_str()).unwrap_or_default();
        if kind
            .split(';')
            .next()
            .is_none_or(|it| !it.trim().eq_ignore_ascii_case("application/json"))
        {
            return plain(StatusCode::UNSUPPORTED_MEDIA_TYPE);
        }
        let max_bytes =
            usize::try_from(self.server.options.max_message_bytes).unwrap_or(usize::MAX);
        // The length that the client declares. A longer one is not waited for.
        if body.size_hint().lower() > self.server.options.max_message_bytes {
            return plain(StatusCode::PAYLOAD_TOO_LARGE);
        }
        let body = match timeout(BODY_TIME, Limited::new(body, max_bytes).collect()).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(_)) => return plain(StatusCode::PAYLOAD_TOO_LARGE),
            Err(_) => return plain(StatusCode::REQUEST_TIMEOUT),
        };
        self.take(&head.headers, &body).await
    }

    /// A stream that tells a client of the era of handshakes when the tools change.
    fn changes(self: &Arc<Self>, headers: &HeaderMap) -> Response<Body> {
        let session = header(headers, SESSION_HEADER).and_then(|it| self.sessions.get(it));
        let Some(session) = session else { return plain(StatusCode::NOT_FOUND) };
        let Ok(permit) = Arc::clone(&self.shares.streams).try_acquire_owned() else {
            return plain(StatusCode::SERVICE_UNAVAILABLE);
        };
        let (outbox, events) = Outbox::channel();
        let peer = Peer::new(Arc::clone(&self.server), outbox, session);
        let endpoint = Arc::clone(self);
        // From here on no change is missed.
        let changes = self.server.host.registry().watch();
        tokio::spawn(async move {
            let _permit = permit;
            endpoint.tell_changes(&peer, changes).await;
        });
        Events::response(events)
    }

    /// Takes the message of a request. What takes time becomes a task, whose messages are the events of the response. The response
    /// begins with the first of them, which comes after [`HEAD_PATIENCE`] at the latest; nothing else here waits.
    async fn take(self: &Arc<Self>, headers: &HeaderMap, body: &[u8]) -> Response<Body> {
        let message = match Frame::parse(body) {
            Frame::One(Ok(message)) => message,
            Frame::One(Err(Unreadable { id, fault })) => return json(id.as_ref(), &Err(fault)),
            Frame::Batch(_) => {
                let fault =
                    Fault::invalid_request("over HTTP each message is a request of its own");
                return json(None, &Err(fault));
            }
        };
        let mut opens = None;
        let session = match checks::era(headers, &message) {
            Err(fault) => return json(message_id(&message), &Err(fault)),
            Ok(checks::Era::Modern) => Session::of_one_message(
                self.shares.of_no_session(),
                Arc::clone(&self.jobs),
                Arc::clone(&self.waiting),
            ),
            Ok(checks::Era::Handshake) => {
                let session = Session::lasting(Some(self.shares.of_session()));
                opens = Some(Arc::clone(&session));
                session
            }
            Ok(checks::Era::InSession) => {
                let Some(name) = header(headers, SESSION_HEADER) else {
                    let fault = Fault::invalid_request("the header \"Mcp-Session-Id\" is missing");
                    return json(message_id(&message), &Err(fault));
                };
                match self.sessions.get(name) {
                    Some(session) => session,
                    None => return plain(StatusCode::NOT_FOUND),
                }
            }
        };
        let (outbox, events) = Outbox::channel();
        let peer = Peer::new(Arc::clone(&self.server), outbox, session);
        match peer.receive(Ok(message)) {
            Work::Silent => plain(StatusCode::ACCEPTED),
            // A handshake that is refused opens no session.
            Work::Answered(id, outcome) => match opens.filter(|_| outcome.is_ok()) {
                Some(session) => self.opened(session, id.as_ref(), &outcome),
                None => json(id.as_ref(), &outcome),
            },
            Work::Subscribed(id) => {
                let Ok(permit) = Arc::clone(&self.shares.streams).try_acquire_owned() else {
                    return plain(StatusCode::SERVICE_UNAVAILABLE);
                };
                let endpoint = Arc::clone(self);
                tokio::spawn(async move {
                    let _permit = permit;
                    endpoint.tell(&peer, &id).await;
                });
                Events::response(events)
            }
            Work::Running(id, work) => {
                let endpoint = Arc::clone(self);
                tokio::spawn(async move { endpoint.run(&peer, &id, work).await });
                Events::begun(events).await
            }
        }
    }

    /// The answer to a handshake that opens a session; 503 where there is no room for one.
    fn opened(&self, session: Arc<Session>, id: Option<&Id>, outcome: &Outcome) -> Response<Body> {
        match self.sessions.keep(session) {
            Ok(name) => {
                let mut res = json(id, outcome);
                // Its alphabet is that of base64url.
                let name = HeaderValue::try_from(name).ok();
                res.headers_mut()
                    .extend(name.map(|it| (HeaderName::from_static(SESSION_HEADER), it)));
                res
            }
            Err(why) => {
                let mut res = json(id, &Err(Fault::internal(why)));
                *res.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                res
            }
        }
    }

    /// Runs a call to its end. A client that closes the stream takes it back.
    async fn run(&self, peer: &Arc<Peer>, id: &Id, work: impl Future<Output = Option<Outcome>>) {
        let _alive = self.alive.clone();
        tokio::pin!(work);
        let mut pause = HEAD_PATIENCE;
        let outcome = loop {
            tokio::select! {
                biased;
                outcome = &mut work => break outcome,
                () = peer.outbox.closed() => {
                    peer.take_back(id);
                    break work.await;
                }
                () = self.stop.cancelled() => {
                    peer.session.questions.close();
                    peer.session.cancel_all();
                    break work.await;
                }
                () = tokio::time::sleep(pause) => {
                    peer.outbox.keep_alive();
                    pause = KEEP_ALIVE;
                }
            }
        };
        if let Some(outcome) = outcome {
            peer.answer(Some(id), &outcome).await;
        }
    }

    /// Tells a subscription of changes until the client closes it, or the server ends.
    async fn tell(&self, peer: &Peer, id: &Id) {
        let changes = self.server.host.registry().watch();
        peer.acknowledge(id).await;
        self.tell_changes(peer, changes).await;
        // A client that closed its stream does not get this.
        peer.end_subscriptions().await;
    }

    /// Tells a client of changes until it closes its stream, its session ends, or the server does.
    async fn tell_changes(&self, peer: &Peer, mut changes: Watch) {
        let _alive = self.alive.clone();
        loop {
            tokio::select! {
                () = peer.outbox.closed() => return,
                () = self.stop.cancelled() => return,
                () = peer.session.ended.cancelled() => return,
                Some(_) = changes.changed() => peer.tell_changes().await,
                () = tokio::time::sleep(KEEP_ALIVE) => peer.outbox.keep_alive(),
            }
        }
    }
}

/// A response without a body.
fn plain(status: StatusCode) -> Response<Body> {
    let mut res = Response::new(Full::default().boxed_unsync());
    *res.status_mut() = status;
    res
}

/// An answer that is there: as JSON, with the status that the protocol gives its error.
fn json(id: Option<&Id>, outcome: &Outcome) -> Response<Body> {
    let bytes = serde_json::to_vec(&Answer::new(id, outcome)).unwrap_or_default();
    let mut res = Response::new(Full::new(Bytes::from(bytes)).boxed_unsync());
    *res.status_mut() = checks::status(outcome);
    res.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    res
}

/// The value of a header that is text.
fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// The id of a request; `None` for what is not answered.
fn message_id<'a>(message: &'a Message<'_>) -> Option<&'a Id> {
    match message {
        Message::Request { id, .. } => Some(id),
        _ => None,
    }
}
