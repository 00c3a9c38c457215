//! What may be reached, and how it is found.
//!
//! [`EgressPolicy::open`] is the only way out. It compares the target with the patterns, finds the
//! addresses of a name itself, leaves out those that are not public, and connects to one of the
//! rest. Nothing is resolved for a name that no pattern allows, so such a name carries no data out
//! by DNS.

use std::{
    fmt, io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use flyto_execenv::HostPattern;
use flyto_supervision::PROXY_PORT;
use tokio::{
    net::{TcpStream, lookup_host},
    sync::Semaphore,
    time::timeout,
};

use super::address::{is_ours, is_public};

/// How long one address has for its answer: 10 s, after which a lost first packet was sent again three times
/// (tcp(7), `tcp_syn_retries`).
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// How long finding the addresses of a name may take: 20 s; a resolver asks twice for 5 s each by default
/// (resolv.conf(5)), for both kinds of address.
const RESOLVE_TIME: Duration = Duration::from_secs(20);

/// Names that are resolved at the same time for the programs of one pool: each takes a thread of the runtime's,
/// of which it has 512 by default.
const MAX_RESOLVING: usize = 16;

/// Addresses of one name that are tried.
const MAX_ADDRESSES: usize = 6;

/// A host and a port, as a program asks for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// A name without a dot at its end, or an address without brackets.
    pub(super) host: String,
    /// Never guessed from the protocol inside; 80 is the default of `http://` targets alone.
    pub(super) port: u16,
}

impl Target {
    /// Reads `example.org:443`, `10.0.0.7:80` or `[2001:db8::1]:443`; the port may be left out where there
    /// is one by default.
    ///
    /// `None` for what is no host, or has no port where there is no default.
    pub(super) fn read(text: &str, default_port: Option<u16>) -> Option<Self> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']')?;
                host.parse::<std::net::Ipv6Addr>().ok()?;
                (host, rest.strip_prefix(':').or_else(|| rest.is_empty().then_some(""))?)
            }
            None => text.split_once(':').unwrap_or((text, "")),
        };
        let port = match port {
            "" => default_port?,
            port if port.bytes().all(|it| it.is_ascii_digit()) => port.parse().ok()?,
            _ => return None,
        };
        Self::new(host, port)
    }

    /// A target with this host, if it is one.
    ///
    /// The name is in lower case afterwards. At most 253 bytes (RFC 1035, 2.3.4).
    pub(super) fn new(host: &str, port: u16) -> Option<Self> {
        let host = host.strip_suffix('.').unwrap_or(host);
        let is_name = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_' | b'.');
        let is_host = host.parse::<IpAddr>().is_ok()
            || (!host.is_empty() && host.len() <= 253 && host.bytes().all(is_name));
        is_host.then(|| Self { host: host.to_ascii_lowercase(), port })
    }

    /// `None` for a name.
    pub(super) fn address(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// Why a target is not reached.
///
/// `Display` is a sentence for the program's user: what was blocked, and what the operator can
/// grant.
#[derive(Debug)]
pub(super) enum Refusal {
    /// No pattern names it.
    NotGranted(Target),
    /// It has only addresses that a name is no way to. The first of them.
    Inside(Target, IpAddr),
    /// It has no address.
    NotFound(Target, io::Error),
    /// None of its addresses answers.
    NotReached(Target, io::Error),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotGranted(target) => write!(
                f,
                "{target} is not among the hosts that this program may reach. The operator grants it by \
                 adding \"{target}\" to the hosts of the program's network."
            ),
            Self::Inside(target, address) => write!(
                f,
                "{target} has the address {address}, which is this machine's, a private network's or a \
                 cloud's own. The operator grants it by adding the address itself to the hosts of the \
                 program's network."
            ),
            Self::NotFound(target, err) => write!(f, "{target} was not found: {err}"),
            Self::NotReached(target, err) => write!(f, "{target} was not reached: {err}"),
        }
    }
}

/// The network of the machine, for names and connections.
///
/// Tests put a network of their own in its place.
#[async_trait]
pub(crate) trait Outside: fmt::Debug + Send + Sync {
    /// The addresses of a name.
    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>>;

    /// A connection to an address.
    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream>;
}

/// As the system has it (getaddrinfo(3), connect(2)).
#[derive(Debug)]
pub(crate) struct System;

#[async_trait]
impl Outside for System {
    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(lookup_host((host, port)).await?.collect())
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        TcpStream::connect(address).await
    }
}

/// The hosts that a program may reach.
///
/// One for all calls of a pool, since the hosts are part of its isolation.
#[derive(Debug)]
pub(crate) struct EgressPolicy {
    hosts: Vec<HostPattern>,
    outside: Arc<dyn Outside>,
    resolving: Semaphore,
}

impl EgressPolicy {
    /// No host at all is a policy that refuses everything.
    pub(crate) fn new(hosts: Vec<HostPattern>, outside: Arc<dyn Outside>) -> Self {
        Self { hosts, outside, resolving: Semaphore::new(MAX_RESOLVING) }
    }

    /// What tells programs where the proxy is.
    ///
    /// The namespace's own loopback addresses are reached without it, unless those of the machine were
    /// granted.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&'static str, String)> {
        let proxy = format!("http://127.0.0.1:{PROXY_PORT}");
        let is_named = |host: &str| {
            self.hosts.iter().any(|it| it.matches(host, it.port().unwrap_or(PROXY_PORT)))
        };
        let own: Vec<_> =
            ["localhost", "127.0.0.1", "::1"].into_iter().filter(|it| !is_named(it)).collect();
        let own = own.join(",");
        let proxies =
            ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
        let to_proxy = proxies.map(|it| (it, proxy.clone()));
        let others = [("NO_PROXY", own.clone()), ("no_proxy", own)];
        // Node.js looks at the variables only then.
        let node = [("NODE_USE_ENV_PROXY", "1".to_owned())];
        to_proxy.into_iter().chain(others).chain(node)
    }

    /// Whether a pattern names this host.
    pub(super) fn names(&self, host: &str, port: u16) -> bool {
        self.hosts.iter().any(|it| it.matches(host, port))
    }

    /// As it is written, and as the IPv4 address that it may stand for.
    fn names_address(&self, address: IpAddr, port: u16) -> bool {
        let written = |it: IpAddr| self.names(&it.to_string(), port);
        written(address) || written(address.to_canonical())
    }

    /// Waits while [`MAX_RESOLVING`] names are being resolved.
    async fn resolve(&self, target: &Target) -> io::Result<Vec<SocketAddr>> {
        let _place = self.resolving.acquire().await.map_err(io::Error::other)?;
        self.outside.resolve(&target.host, target.port).await
    }

    /// A connection to the target, if that is granted.
    ///
    /// Tries [`MAX_ADDRESSES`] addresses, one after the other, [`CONNECT_TIME`] each.
    ///
    /// # Errors
    ///
    /// [`Refusal::NotGranted`] before anything is resolved; the others say what came of the
    /// addresses. Where one was public and did not answer, that counts more than one that was not
    /// public.
    pub(super) async fn open(&self, target: &Target) -> Result<TcpStream, Refusal> {
        let port = target.port;
        let found = match target.address() {
            Some(address) if self.names_address(address, port) => {
                vec![SocketAddr::new(address.to_canonical(), port)]
            }
            None if self.names(&target.host, port) => {
                let resolved = timeout(RESOLVE_TIME, self.resolve(target)).await;
                let resolved = resolved.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
                resolved.map_err(|err| Refusal::NotFound(target.clone(), err))?
            }
            _ => return Err(Refusal::NotGranted(target.clone())),
        };
        let mut inside = None;
        let mut failed = None;
        for address in found.into_iter().take(MAX_ADDRESSES) {
            // The port is the one that was asked for, whatever a resolver says.
            let address = SocketAddr::new(address.ip().to_canonical(), port);
            let is_open = self.names_address(address.ip(), port)
                || (is_public(address.ip()) && !is_ours(address));
            if !is_open {
                inside = inside.or(Some(address.ip()));
                continue;
            }
            match timeout(CONNECT_TIME, self.outside.connect(address)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(err)) => failed = failed.or(Some(err)),
                Err(_) => failed = failed.or(Some(io::ErrorKind::TimedOut.into())),
            }
        }
        Err(match (failed, inside) {
            (Some(err), _) => Refusal::NotReached(target.clone(), err),
            (None, Some(address)) => Refusal::Inside(target.clone(), address),
            (None, None) => {
                Refusal::NotFound(target.clone(), io::Error::other("the name has no address"))
            }
        })
    }
}
