//! What clients and servers say to the proxy, as bytes of a stranger.

use std::{
    pin::pin,
    task::{Context, Waker},
};

use super::{
    http, socks,
    tls::{Client, Version},
};

/// The beginning of a connection: a request in HTTP or in SOCKS.
pub fn request(bytes: &[u8]) {
    let Some((first, mut rest)) = bytes.split_first() else { return };
    if *first == socks::VERSION {
        finish(socks::ask(&mut tokio::io::join(rest, tokio::io::sink())));
    } else {
        finish(http::ask(&mut rest, *first));
    }
}

/// What a client says in a tunnel, in pieces of 64 bytes.
pub fn tls(bytes: &[u8]) {
    for answered in [None, Some(Version::Tls12OrOlder), Some(Version::Tls13)] {
        let mut client = Client::new();
        for piece in bytes.chunks(64) {
            if client.look(piece, answered, |name| name.is_some()).is_err() || client.is_over() {
                break;
            }
        }
    }
}

/// Carries out what never waits: its bytes are there.
fn finish(future: impl Future) {
    let res = pin!(future).poll(&mut Context::from_waker(Waker::noop()));
    assert!(res.is_ready(), "all bytes are there");
}
