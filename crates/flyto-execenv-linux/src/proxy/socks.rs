//! SOCKS 5 (RFC 1928), without authentication: `CONNECT` to a name or an address.
//!
//! The client says its methods, then one request; both have a fixed bound by their format. Of the
//! commands only `CONNECT` is served: `BIND` and `UDP ASSOCIATE` would open ways of their own.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::egress::{Refusal, Target};

pub(super) const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const CONNECT: u8 = 1;

/// What is answered (RFC 1928, 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    /// The way is open, and bytes follow.
    Done = 0,
    /// No pattern names it, or only addresses inside were found.
    NotAllowed = 2,
    /// Not found, or not reached.
    HostUnreachable = 4,
    /// Another command than `CONNECT`.
    UnknownCommand = 7,
    /// No kind of address that is known, or no host.
    UnknownAddress = 8,
}

impl From<&Refusal> for Reply {
    fn from(refusal: &Refusal) -> Self {
        match refusal {
            Refusal::NotGranted(_) | Refusal::Inside(..) => Self::NotAllowed,
            Refusal::NotFound(..) | Refusal::NotReached(..) => Self::HostUnreachable,
        }
    }
}

/// Reads what is asked for; the version's byte was read. `None` where it was refused already.
///
/// No byte after the request is read, and a name has at most 255 bytes by its format.
///
/// # Errors
///
/// The connection's, or [`io::ErrorKind::InvalidData`] for another version in the request.
pub(super) async fn ask(
    inside: &mut (impl AsyncRead + AsyncWrite + Unpin),
) -> io::Result<Option<Target>> {
    let n = inside.read_u8().await?;
    let mut methods = [0; 255];
    let methods = &mut methods[..n.into()];
    inside.read_exact(methods).await?;
    if !methods.contains(&NO_AUTHENTICATION) {
        inside.write_all(&[VERSION, 0xff]).await?;
        return Ok(None);
    }
    inside.write_all(&[VERSION, NO_AUTHENTICATION]).await?;
    let mut head = [0; 4];
    inside.read_exact(&mut head).await?;
    let [version, command, _, kind] = head;
    if version != VERSION {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = [0; 255];
    let host = match kind {
        1 => IpAddr::from(Ipv4Addr::from_bits(inside.read_u32().await?)).to_string(),
        4 => IpAddr::from(Ipv6Addr::from_bits(inside.read_u128().await?)).to_string(),
        3 => {
            let n = inside.read_u8().await?;
            let text = &mut text[..n.into()];
            inside.read_exact(text).await?;
            String::from_utf8_lossy(text).into_owned()
        }
        _ => return reply(inside, Reply::UnknownAddress).await.map(|()| None),
    };
    let port = inside.read_u16().await?;
    if command != CONNECT {
        return reply(inside, Reply::UnknownCommand).await.map(|()| None);
    }
    match Target::new(&host, port) {
        Some(target) => Ok(Some(target)),
        None => reply(inside, Reply::UnknownAddress).await.map(|()| None),
    }
}

/// Answers. The address that stands in the answer means nothing.
pub(super) async fn reply(inside: &mut (impl AsyncWrite + Unpin), reply: Reply) -> io::Result<()> {
    inside.write_all(&[VERSION, reply as u8, 0, 1, 0, 0, 0, 0, 0, 0]).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_is_as_long_as_names_may_be() {
        for (n, is_name) in [(0, false), (1, true), (253, true), (254, false), (255, false)] {
            let name = vec![b'a'; n.into()];
            let request = [&[1, 0, 5, 1, 0, 3, n], name.as_slice(), &[1, 0xbb], b"early"].concat();
            let (mut program, mut proxy) = tokio::io::duplex(1024);
            program.write_all(&request).await.expect("there is room");
            let target = ask(&mut proxy).await.expect("it is in order");
            assert_eq!(target.is_some(), is_name, "{n}");
            let mut answer = vec![0; if is_name { 2 } else { 12 }];
            program.read_exact(&mut answer).await.expect("it is there");
            assert!(is_name || answer[3] == Reply::UnknownAddress as u8, "{answer:?}");
            let mut rest = vec![0; 5];
            proxy.read_exact(&mut rest).await.expect("it was left there");
            assert_eq!(rest, b"early");
        }
    }
}
