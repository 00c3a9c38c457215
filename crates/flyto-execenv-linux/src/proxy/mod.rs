//! The way out of a network namespace: a proxy that lets through what was granted.
//!
//! A program whose network is limited to hosts lives in a network namespace with nothing in it
//! (network_namespaces(7)), so it can send no packet to any machine. Its supervisor has made one socket there
//! that listens, the [`ProxyListener`], and given it to the host: a socket belongs to the namespace where it was
//! made, whichever process holds it. What comes in through it are requests to a proxy: HTTP requests with an absolute
//! target, `CONNECT` (RFC 9110, 9.3.6) and SOCKS 5 (RFC 1928). For each the host
//!
//! - looks whether a pattern names the host and the port ([`EgressPolicy`]);
//! - finds the addresses itself, so that a program needs no resolver, and passes over those that lie
//!   inside of a private network ([`address`]): the owner of a name can point it anywhere, so a name is no way to them;
//! - connects to the very address that it looked at;
//! - compares each name that a TLS connection is asked for under, as long as it is not encrypted, to the one that
//!   the program asked the proxy for ([`tls`]).
//!
//! What is said inside of a connection after that is not looked at, since most of it is encrypted: a granted
//! host that passes things on to others can do so.
//!
//! Read `listener.rs` for a call, `relay.rs` for one connection, then `egress.rs` for what may be
//! reached. All input is hostile: heads, lines and hellos are bounded in bytes, connections in
//! number and time. What is refused is told to the program in the protocol that it speaks, and in
//! the outcome of the call.

mod address;
mod egress;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod http;
mod listener;
mod relay;
mod session;
mod socks;
#[cfg(test)]
mod tests;
mod tls;

pub(crate) use self::{
    egress::{EgressPolicy, Outside, System},
    listener::{Proxy, ProxyListener},
};
