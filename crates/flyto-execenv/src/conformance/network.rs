//! What isolation of the network promises. One call listens and says what it hears of others.
//!
//! Both ends are programs of the backend, since its machine may be another one: [`Listener`] hears
//! by TCP, UDP, a socket file and an abstract name, and other calls speak. A call without isolation
//! speaks before and after the isolated one; where not even that is heard, calls of the backend do
//! not share a network, and nothing can be tested.

use tokio::{sync::mpsc, time::timeout};

use super::{
    ctx::{Ctx, READY},
    end::lines_until,
    failure::{Failure, ensure, summary},
    isolation::refused,
};
use crate::{
    Capability, Chunk, HostPattern, Isolation, LocalSockets, Network, Process, RunOptions, Spec,
};

/// Both ends of the conversation, in Perl.
const SCRIPT: &str = include_str!("network.pl");

/// Nothing of the isolated program is heard in any way.
pub(super) async fn network_off_is_off(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let isolation = Isolation::new().network(Network::Off);
    if !ctx.has(Capability::NetworkOff) {
        return refused(ctx, isolation).await;
    }
    is_silent(ctx, isolation, &["tcp", "udp", "named", "unix", "abstract"]).await
}

/// Nothing is heard by socket files and abstract names; the network stays open.
pub(super) async fn local_sockets_off_are_off(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let isolation = Isolation::new().local_sockets(LocalSockets::Off);
    if !ctx.has(Capability::LocalSocketsOff) {
        return refused(ctx, isolation).await;
    }
    is_silent(ctx, isolation, &["unix", "abstract"]).await
}

/// Everything is on this machine: an address of its own is named, which opens it, and a name that leads to
/// the same address, which does not.
///
/// Four questions to a proxy or the network, of which one may be answered, and the direct ways,
/// none of which may.
pub(super) async fn named_hosts_are_all_there_is(ctx: &Ctx<'_>) -> Result<(), Failure> {
    let hosts = |all: &[&str]| -> Result<Isolation, Failure> {
        let all = all.iter().map(|it| it.parse::<HostPattern>());
        let all = all.collect::<Result<_, _>>().map_err(|err| Failure::new(err.to_string()))?;
        Ok(Isolation::new().network(Network::Hosts(all)))
    };
    if !ctx.has(Capability::NetworkHosts) {
        return refused(ctx, hosts(&["example.org"])?).await;
    }
    let mut listener = Listener::start(ctx).await?;
    reach(ctx, &mut listener, "before", Isolation::new()).await?;
    if timeout(ctx.patience(), listener.has_heard("before")).await.is_err() {
        // Calls of this backend do not hear each other anyway; there is no more to be seen from here.
        return Ok(());
    }
    let [tcp, named] = [listener.port(0), listener.port(2)];
    let open = hosts(&[&format!("127.0.0.1:{named}"), &format!("localhost:{tcp}")])?;
    let asked = [
        ("127.0.0.1", &named, "by its address"),
        ("localhost", &named, "by a name that is not granted"),
        ("127.0.0.1", &tcp, "by an address that is not granted"),
        ("localhost", &tcp, "by a name that leads inside"),
    ];
    for (host, port, text) in asked {
        let spec = perl(ctx, &["ask", host, port, text]).isolation(open.clone());
        let outcome = ctx.run(spec).await?;
        ensure(outcome.success(), || summary(&outcome))?;
    }
    reach(ctx, &mut listener, "without being let through", open).await?;
    reach(ctx, &mut listener, "after", Isolation::new()).await?;
    listener.has_heard("after").await?;
    let was_heard = |line: &str| listener.heard.lines().any(|it| it == line);
    ensure(was_heard("named by its address"), || {
        format!("the host that was named did not hear the program: {:?}", listener.heard)
    })?;
    // What is named may be reached in any way that a backend has; the rest in none.
    for (_, _, text) in &asked[1..] {
        for way in ["tcp", "named"] {
            ensure(!was_heard(&format!("{way} {text}")), || {
                format!("a program that may reach named hosts was heard {text}")
            })?;
        }
    }
    for way in ["tcp", "udp", "unix", "abstract"] {
        ensure(!was_heard(&format!("{way} without being let through")), || {
            format!("a program that may reach named hosts was heard by {way}")
        })?;
    }
    Ok(())
}

/// Expects that nothing is heard of an isolated program in any of these ways.
async fn is_silent(ctx: &Ctx<'_>, isolation: Isolation, ways: &[&str]) -> Result<(), Failure> {
    let mut listener = Listener::start(ctx).await?;
    reach(ctx, &mut listener, "before", Isolation::new()).await?;
    if timeout(ctx.patience(), listener.has_heard("before")).await.is_err() {
        // Calls of this backend do not hear each other anyway; there is no more to be seen from here.
        return Ok(());
    }
    reach(ctx, &mut listener, "isolated", isolation).await?;
    reach(ctx, &mut listener, "after", Isolation::new()).await?;
    // Each way keeps the order, so that what was sent before has been heard.
    listener.has_heard("after").await?;
    for way in ways {
        ensure(!listener.heard.contains(&format!("{way} isolated")), || {
            format!("a program that is cut off was heard by {way}")
        })?;
    }
    Ok(())
}

/// The script with these arguments.
fn perl(ctx: &Ctx<'_>, args: &[&str]) -> Spec {
    let spec = Spec::new(ctx.probe.perl_path()).args(["-e", SCRIPT]).args(args);
    spec.kill(ctx.scope()).deadline(ctx.probe.guard_time())
}

/// Sends `text` to the listener in every way that it has.
async fn reach(
    ctx: &Ctx<'_>,
    listener: &mut Listener,
    text: &str,
    isolation: Isolation,
) -> Result<(), Failure> {
    let args: Vec<&str> = listener.address.split(' ').collect();
    let args = [&["reach"], &args[..], &[&listener.dir, text]].concat();
    let outcome = ctx.run(perl(ctx, &args).isolation(isolation)).await?;
    ensure(outcome.success(), || summary(&outcome))
}

/// A program that listens and prints a line for each text: the way, a blank, the text.
struct Listener {
    dir: String,
    /// Three ports, and the name of a socket that is no file.
    address: String,
    /// The ways that this system has.
    ways: Vec<String>,
    chunks: mpsc::Receiver<Chunk>,
    heard: String,
    /// Ends with it.
    _process: Process,
}

impl Listener {
    /// Waits until it listens.
    async fn start(ctx: &Ctx<'_>) -> Result<Self, Failure> {
        let dir = ctx.mkdir("sockets").await?;
        let (observer, mut chunks) = mpsc::channel(16);
        let options = RunOptions::new().observer(observer);
        let process = ctx.env.start(perl(ctx, &["serve", &dir]), options).await?;
        let printed = lines_until(&mut chunks, &[READY]).await?;
        let printed = String::from_utf8_lossy(&printed).into_owned();
        let mut lines = printed.lines().map(str::to_owned);
        let mut line = || lines.next().unwrap_or_default();
        let ways = line().split(' ').map(str::to_owned).collect();
        Ok(Self { dir, address: line(), ways, chunks, heard: String::new(), _process: process })
    }

    /// One of the three ports, counted from 0.
    fn port(&self, n: usize) -> String {
        self.address.split(' ').nth(n).unwrap_or_default().to_owned()
    }

    /// Waits until this text has come in all ways.
    async fn has_heard(&mut self, text: &str) -> Result<(), Failure> {
        let lines: Vec<_> = self.ways.iter().map(|it| format!("{it} {text}")).collect();
        while !lines.iter().all(|line| self.heard.lines().any(|it| it == line)) {
            let Some(chunk) = self.chunks.recv().await else {
                let heard = &self.heard;
                return Err(Failure::new(format!("the listener ended; it had heard {heard:?}")));
            };
            self.heard.push_str(&String::from_utf8_lossy(&chunk.bytes));
        }
        Ok(())
    }
}
