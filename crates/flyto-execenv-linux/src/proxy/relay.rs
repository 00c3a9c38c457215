//! One connection from inside, from what it asks for to its end.
//!
//! [`serve`] reads what the client asks for, opens the way out through the session, and moves bytes
//! until both sides have ended. Each wait has a bound: [`ASK_TIME`], [`IDLE_TIME`],
//! [`PARTING_TIME`]. Errors of a connection end it and are told nowhere else.

use std::{
    io,
    sync::{Mutex, OnceLock, PoisonError},
    time::Duration,
};

use flyto_execenv::HostDenial;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpStream,
        tcp::{ReadHalf, WriteHalf},
    },
    time::{Instant, sleep_until, timeout},
};

use super::{
    egress::Target,
    http::{self, Body, Wanted},
    session::ProxySession,
    socks::{self, Reply},
    tls,
};

/// How long a client may take to say what it wants: 30 s.
const ASK_TIME: Duration = Duration::from_secs(30);

/// How long a connection may be silent: 15 minutes. Servers that compute an answer take some of them.
const IDLE_TIME: Duration = Duration::from_secs(15 * 60);

/// How long a client is listened to after a refusal, so that it reads what was said: 2 s.
const PARTING_TIME: Duration = Duration::from_secs(2);

/// Bytes that are moved at once, in each direction: 16 KiB, the largest TLS record.
const CHUNK_BYTES: usize = 16 * 1024;

/// Serves a connection until either side ends it. Its faults are those of its program.
pub(super) async fn serve(mut inside: TcpStream, session: &ProxySession) {
    // What is interactive waits for single packets otherwise (tcp(7)).
    let _ = inside.set_nodelay(true);
    let mut first = [0];
    let asked = timeout(ASK_TIME, async {
        inside.read_exact(&mut first).await?;
        match first {
            [socks::VERSION] => Ok(socks::ask(&mut inside).await?.map(Asked::Socks)),
            _ => http::ask(&mut inside, first[0]).await.map(|it| Some(Asked::Http(it))),
        }
    });
    match asked.await {
        Ok(Ok(Some(Asked::Socks(target)))) => {
            let _ = socks_tunnel(&mut inside, session, target).await;
        }
        Ok(Ok(Some(Asked::Http(Ok(Wanted::Tunnel { target, early }))))) => {
            let _ = http_tunnel(&mut inside, session, target, early).await;
        }
        Ok(Ok(Some(Asked::Http(Ok(Wanted::Request { target, head, body, early }))))) => {
            let _ = request(&mut inside, session, &target, &head, body, early).await;
        }
        Ok(Ok(Some(Asked::Http(Err(odd))))) => part(&mut inside, &odd.answer()).await,
        Ok(Ok(None)) | Ok(Err(_)) | Err(_) => {}
    }
}

/// What a client wants, by the protocol that its first byte shows.
enum Asked {
    Socks(Target),
    Http(Result<Wanted, http::Odd>),
}

/// A refusal is the reply code; SOCKS has no room for words.
async fn socks_tunnel(
    inside: &mut TcpStream,
    session: &ProxySession,
    target: Target,
) -> io::Result<()> {
    match session.open(&target).await {
        Ok(mut outside) => {
            socks::reply(inside, Reply::Done).await?;
            tunnel(inside, &mut outside, session, &target, Vec::new()).await
        }
        Err(refusal) => socks::reply(inside, Reply::from(&refusal)).await,
    }
}

/// `early` is what the client sent behind its request.
async fn http_tunnel(
    inside: &mut TcpStream,
    session: &ProxySession,
    target: Target,
    early: Vec<u8>,
) -> io::Result<()> {
    match session.open(&target).await {
        Ok(mut outside) => {
            inside.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
            tunnel(inside, &mut outside, session, &target, early).await
        }
        Err(refusal) => {
            part(inside, &http::refusal(&refusal)).await;
            Ok(())
        }
    }
}

/// Answers, and waits for the client to go: a connection that is closed with something unread takes the
/// answer with it (RFC 9112, 9.6).
async fn part(inside: &mut TcpStream, answer: &[u8]) {
    let _ = timeout(PARTING_TIME, async {
        inside.write_all(answer).await?;
        inside.shutdown().await?;
        let mut rest = [0; 4096];
        while inside.read(&mut rest).await? > 0 {}
        io::Result::Ok(())
    })
    .await;
}

/// When something was last moved.
///
/// One for both directions: a connection is silent when neither moves.
struct Clock(Mutex<Instant>);

impl Clock {
    fn new() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    /// Called after each read and write.
    fn tick(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns once nothing was moved for as long as that is borne.
    async fn silence(&self) {
        loop {
            let until = *self.0.lock().unwrap_or_else(PoisonError::into_inner) + IDLE_TIME;
            if until <= Instant::now() {
                return;
            }
            sleep_until(until).await;
        }
    }
}

/// Moves bytes both ways. Each ClientHello from inside has to name the host that was asked for, or is refused.
///
/// A refusal inside is answered with a TLS alert.
async fn tunnel(
    inside: &mut TcpStream,
    outside: &mut TcpStream,
    session: &ProxySession,
    target: &Target,
    early: Vec<u8>,
) -> io::Result<()> {
    let _ = outside.set_nodelay(true);
    let clock = Clock::new();
    let answered = OnceLock::new();
    let greeting = Greeting { answered: &answered, clock: &clock };
    let (mut from_inside, mut to_inside) = inside.split();
    let (mut from_outside, mut to_outside) = outside.split();
    let (refused, res) = {
        let up = async {
            let is_granted = |name: Option<&str>| may_greet(session, target, name);
            let greeted =
                greeting.ask(&mut from_inside, &mut to_outside, early, is_granted).await?;
            if let Err(refused) = greeted {
                return Ok(Some(refused));
            }
            pass(&mut from_inside, &mut to_outside, &clock).await.map(|()| None)
        };
        let down = async {
            greeting.answer(&mut from_outside, &mut to_inside).await?;
            pass(&mut from_outside, &mut to_inside, &clock).await
        };
        tokio::pin!(up, down);
        let mut is_up_over = false;
        let mut is_down_over = false;
        loop {
            tokio::select! {
                res = &mut up, if !is_up_over => match res {
                    Ok(None) => is_up_over = true,
                    Ok(Some(refused)) => break (Some(refused), Ok(())),
                    Err(err) => break (None, Err(err)),
                },
                res = &mut down, if !is_down_over => match res {
                    Ok(()) => is_down_over = true,
                    Err(err) => break (None, Err(err)),
                },
                () = clock.silence() => break (None, Ok(())),
            }
            if is_up_over && is_down_over {
                break (None, Ok(()));
            }
        }
    };
    if let Some(refused) = refused {
        let why = match refused {
            tls::Refused::HiddenName => HostDenial::HiddenName,
            tls::Refused::Name | tls::Refused::Broken => HostDenial::OtherName,
        };
        session.deny(target, why);
        part(inside, tls::REFUSED).await;
    }
    res
}

/// Whether a TLS connection to this target may have this name. One to an address has none, or that of a host
/// that is granted itself.
fn may_greet(session: &ProxySession, target: &Target, name: Option<&str>) -> bool {
    match (target.address(), name) {
        (None, name) => name == Some(&target.host),
        (Some(_), Some(name)) => session.names(name, target.port),
        (Some(_), None) => true,
    }
}

/// What both sides of a tunnel say before a TLS connection in it is encrypted.
///
/// Both directions run at once; `answered` goes from the server's side to the client's.
#[derive(Clone, Copy)]
struct Greeting<'a> {
    /// What the server has chosen.
    answered: &'a OnceLock<tls::Version>,
    clock: &'a Clock,
}

impl Greeting<'_> {
    /// Moves bytes from inside, which begin with `early`, as long as names may be among them.
    ///
    /// Bytes that may be part of a ClientHello are held back until its name is known.
    ///
    /// # Errors
    ///
    /// The outer error is a connection's; the inner one says why the client is refused.
    async fn ask(
        self,
        inside: &mut ReadHalf<'_>,
        outside: &mut WriteHalf<'_>,
        early: Vec<u8>,
        is_granted: impl Fn(Option<&str>) -> bool,
    ) -> io::Result<Result<(), tls::Refused>> {
        let mut client = tls::Client::new();
        let mut held = early;
        let mut n_seen = 0;
        loop {
            let bytes = held.get(n_seen..).unwrap_or_default();
            let n = match client.look(bytes, self.answered.get().copied(), &is_granted) {
                Ok(n) => n,
                Err(refused) => return Ok(Err(refused)),
            };
            if n > 0 {
                outside.write_all(held.get(..n).unwrap_or_default()).await?;
                held.drain(..n);
                self.clock.tick();
            }
            if client.is_over() {
                return Ok(Ok(()));
            }
            n_seen = held.len();
            held.reserve(4096);
            if inside.read_buf(&mut held).await? == 0 {
                // A ClientHello that is cut off names no host to any server.
                outside.write_all(&held).await?;
                return Ok(Ok(()));
            }
            self.clock.tick();
        }
    }

    /// Moves bytes from outside until they tell which version the server has chosen.
    ///
    /// Returns as soon as the version is known, or the bytes are not TLS.
    async fn answer(
        self,
        outside: &mut ReadHalf<'_>,
        inside: &mut WriteHalf<'_>,
    ) -> io::Result<()> {
        let mut server = tls::Server::new();
        let mut chunk = vec![0; 4096];
        while !server.is_over() {
            let n = outside.read(&mut chunk).await?;
            self.clock.tick();
            let Some(read @ [_, ..]) = chunk.get(..n) else { return Ok(()) };
            // Noted first, since the client may reply as soon as it has them.
            if let Some(version) = server.look(read) {
                self.answered.get_or_init(|| version);
            }
            inside.write_all(read).await?;
            self.clock.tick();
        }
        Ok(())
    }
}

/// Moves bytes one way until their end, and ends the other side's reading then.
///
/// Half-closed connections stay open in the other direction.
async fn pass(from: &mut ReadHalf<'_>, to: &mut WriteHalf<'_>, clock: &Clock) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let n = from.read(&mut chunk).await?;
        clock.tick();
        match chunk.get(..n) {
            Some([]) | None => return to.shutdown().await,
            Some(read) => to.write_all(read).await?,
        }
        clock.tick();
    }
}

/// Sends one request, with its body and nothing that comes after it, and gives back the answer.
///
/// `head` is the one that was written anew. After the answer the connection is closed.
async fn request(
    inside: &mut TcpStream,
    session: &ProxySession,
    target: &Target,
    head: &[u8],
    body: Body,
    early: Vec<u8>,
) -> io::Result<()> {
    let mut outside = match session.open(target).await {
        Ok(outside) => outside,
        Err(refusal) => {
            part(inside, &http::refusal(&refusal)).await;
            return Ok(());
        }
    };
    let _ = outside.set_nodelay(true);
    let clock = Clock::new();
    let (mut from_inside, mut to_inside) = inside.split();
    let (mut from_outside, mut to_outside) = outside.split();
    let up = async {
        to_outside.write_all(head).await?;
        let mut body = body;
        let mut chunk = early;
        loop {
            let n = body.part_of(&chunk)?;
            if let Some(part @ [_, ..]) = chunk.get(..n) {
                to_outside.write_all(part).await?;
                clock.tick();
            }
            if body.is_over() {
                break;
            }
            chunk.clear();
            chunk.reserve(CHUNK_BYTES);
            if from_inside.read_buf(&mut chunk).await? == 0 {
                // The server learns that the rest does not come.
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            clock.tick();
        }
        // What a client says now is not for this server; that it goes is seen by writing to it.
        std::future::pending().await
    };
    let down = pass(&mut from_outside, &mut to_inside, &clock);
    tokio::select! {
        res = up => return res,
        res = down => res?,
        () = clock.silence() => return Ok(()),
    }
    // A server may answer before it has the whole body.
    part(inside, &[]).await;
    Ok(())
}
