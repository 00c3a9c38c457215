//! One connection from inside, from what it asks for to its end.

use std::{
    io,
    sync::{Mutex, PoisonError},
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
    http::{self, Body, Wanted},
    reach::Target,
    socks::{self, Reply},
    tls,
    visit::Visit,
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
pub(super) async fn serve(mut inside: TcpStream, visit: &Visit) {
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
            let _ = socks_tunnel(&mut inside, visit, target).await;
        }
        Ok(Ok(Some(Asked::Http(Ok(Wanted::Tunnel { target, early }))))) => {
            let _ = http_tunnel(&mut inside, visit, target, early).await;
        }
        Ok(Ok(Some(Asked::Http(Ok(Wanted::Request { target, head, body, early }))))) => {
            let _ = request(&mut inside, visit, &target, &head, body, early).await;
        }
        Ok(Ok(Some(Asked::Http(Err(odd))))) => part(&mut inside, &odd.answer()).await,
        Ok(Ok(None)) | Ok(Err(_)) | Err(_) => {}
    }
}

enum Asked {
    Socks(Target),
    Http(Result<Wanted, http::Odd>),
}

async fn socks_tunnel(inside: &mut TcpStream, visit: &Visit, target: Target) -> io::Result<()> {
    match visit.open(&target).await {
        Ok(mut outside) => {
            socks::reply(inside, Reply::Done).await?;
            tunnel(inside, &mut outside, visit, &target, Vec::new()).await
        }
        Err(refusal) => socks::reply(inside, Reply::from(&refusal)).await,
    }
}

async fn http_tunnel(
    inside: &mut TcpStream,
    visit: &Visit,
    target: Target,
    early: Vec<u8>,
) -> io::Result<()> {
    match visit.open(&target).await {
        Ok(mut outside) => {
            inside.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
            tunnel(inside, &mut outside, visit, &target, early).await
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
struct Clock(Mutex<Instant>);

impl Clock {
    fn new() -> Self {
        Self(Mutex::new(Instant::now()))
    }

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

/// Moves bytes both ways. Those from inside may start a TLS connection to the host that was asked for, and to
/// no other.
async fn tunnel(
    inside: &mut TcpStream,
    outside: &mut TcpStream,
    visit: &Visit,
    target: &Target,
    early: Vec<u8>,
) -> io::Result<()> {
    let _ = outside.set_nodelay(true);
    let clock = Clock::new();
    let (mut from_inside, mut to_inside) = inside.split();
    let (mut from_outside, mut to_outside) = outside.split();
    let (is_refused, res) = {
        let up = async {
            let Some(start) = greeting(&mut from_inside, visit, target, early).await? else {
                return Ok(true);
            };
            to_outside.write_all(&start).await?;
            drop(start);
            pass(&mut from_inside, &mut to_outside, &clock).await.map(|()| false)
        };
        let down = pass(&mut from_outside, &mut to_inside, &clock);
        tokio::pin!(up, down);
        let mut is_up_over = false;
        let mut is_down_over = false;
        loop {
            tokio::select! {
                res = &mut up, if !is_up_over => match res {
                    Ok(false) => is_up_over = true,
                    res => break (matches!(res, Ok(true)), res.map(drop)),
                },
                res = &mut down, if !is_down_over => match res {
                    Ok(()) => is_down_over = true,
                    Err(err) => break (false, Err(err)),
                },
                () = clock.silence() => break (false, Ok(())),
            }
            if is_up_over && is_down_over {
                break (false, Ok(()));
            }
        }
    };
    if is_refused {
        visit.deny(target, HostDenial::OtherName);
        part(inside, tls::REFUSED).await;
    }
    res
}

/// The first bytes from inside, once they may go on; `None` where they start a connection to another host.
async fn greeting(
    inside: &mut ReadHalf<'_>,
    visit: &Visit,
    target: &Target,
    mut start: Vec<u8>,
) -> io::Result<Option<Vec<u8>>> {
    loop {
        match tls::start(&start) {
            tls::Start::Other => return Ok(Some(start)),
            tls::Start::Hello(name) => {
                return Ok(may_greet(visit, target, name.as_deref()).then_some(start));
            }
            tls::Start::Broken => return Ok(None),
            tls::Start::Unfinished => {}
        }
        start.reserve(4096);
        if inside.read_buf(&mut start).await? == 0 {
            // Whatever it was to become, it is nothing yet.
            return Ok(Some(start));
        }
    }
}

/// Whether a TLS connection to this target may start with this name. One to an address has none, or that of
/// a host that is granted itself.
fn may_greet(visit: &Visit, target: &Target, name: Option<&str>) -> bool {
    match (target.address(), name) {
        (None, name) => name == Some(&target.host),
        (Some(_), Some(name)) => visit.names(name, target.port),
        (Some(_), None) => true,
    }
}

/// Moves bytes one way until their end, and ends the other side's reading then.
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
async fn request(
    inside: &mut TcpStream,
    visit: &Visit,
    target: &Target,
    head: &[u8],
    body: Body,
    early: Vec<u8>,
) -> io::Result<()> {
    let mut outside = match visit.open(target).await {
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
