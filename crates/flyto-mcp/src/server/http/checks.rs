//! Which requests are answered at all, and what their headers must say.
//!
//! Headers of the new era repeat members of the message, for proxies that do not read messages. A server that acted on the message alone
//! would let a client say one thing to the proxy and another one to the server; so both must say the same.

use std::net::{IpAddr, Ipv6Addr};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use hyper::{
    HeaderMap, StatusCode,
    header::{AUTHORIZATION, HOST, HeaderName, ORIGIN},
};

use super::{Message, Outcome, Params, header};
use crate::server::{
    fault::{self, Fault},
    revision::Revision,
    seal::digest,
};

/// Checks on whose behalf a request comes.
///
/// A page of another origin that a browser shows can send requests here; it cannot choose their `Host` and `Origin`. A name
/// that leads to a loopback address by a trick (DNS rebinding) is no loopback name.
///
/// # Errors
///
/// The status of the refusal.
pub(super) fn caller(headers: &HeaderMap, token: &str) -> Result<(), StatusCode> {
    let host = single(headers, &HOST)?.ok_or(StatusCode::BAD_REQUEST)?;
    if !is_loopback(host) {
        return Err(StatusCode::FORBIDDEN);
    }
    if let Some(origin) = single(headers, &ORIGIN)?
        && !origin.split_once("://").is_some_and(|(_, host)| is_loopback(host))
    {
        return Err(StatusCode::FORBIDDEN);
    }
    let given = header(headers, AUTHORIZATION.as_str()).and_then(|it| it.split_once(' '));
    let is_right = given.is_some_and(|(scheme, given)| {
        // Digests are compared, so that the time tells nothing about the token.
        scheme.eq_ignore_ascii_case("bearer") && digest(given.trim()) == digest(token)
    });
    if is_right { Ok(()) } else { Err(StatusCode::UNAUTHORIZED) }
}

/// The value of a header that may stand once. Of two, another reader of the request may take the other one.
///
/// # Errors
///
/// The status of the refusal: it stands twice, or is no text.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, StatusCode> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| StatusCode::BAD_REQUEST),
        _ => Err(StatusCode::BAD_REQUEST),
    }
}

/// Whether a text is a loopback name, with a port or without, and nothing else.
fn is_loopback(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((name, port)) if name.parse::<Ipv6Addr>().is_ok() => (name, port),
            _ => return false,
        },
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_digits = |it: &str| it.bytes().all(|it| it.is_ascii_digit());
    let is_port = |it: &str| is_digits(it) && it.parse::<u16>().is_ok();
    if !port.is_empty() && !port.strip_prefix(':').is_some_and(is_port) {
        return false;
    }
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|it| it.is_loopback())
}

/// To which era a message belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// It carries its revision and capabilities.
    Modern,
    /// It opens a session.
    Handshake,
    /// It belongs to a session.
    InSession,
}

/// The era of a message, where its headers say the same as it does.
///
/// # Errors
///
/// The headers do not fit, or name a revision that is not spoken.
pub(super) fn era(headers: &HeaderMap, message: &Message<'_>) -> Result<Era, Fault> {
    let named = header(headers, "mcp-protocol-version");
    let (method, params) = match message {
        Message::Request { method, params, .. } | Message::Notification { method, params } => {
            (method, *params)
        }
        Message::Response { .. } => return Ok(Era::InSession),
    };
    let params = Params::read(params)?;
    if let Some(revision) = params.meta.as_ref().and_then(|it| it.revision.as_deref()) {
        same("MCP-Protocol-Version", named, revision)?;
        same("Mcp-Method", header(headers, "mcp-method"), method)?;
        let name = match method.as_ref() {
            "tools/call" => params.name.as_deref(),
            "tasks/get" | "tasks/update" | "tasks/cancel" => params.task_id.as_deref(),
            _ => None,
        };
        if let Some(name) = name {
            let given = header(headers, "mcp-name").map(plain_value);
            same("Mcp-Name", given.as_deref(), name)?;
        }
        return Ok(Era::Modern);
    }
    let known = named.map(|it| (it, Revision::parse(it)));
    match known {
        Some((named, None)) => Err(Fault::unsupported_revision(named)),
        // The revision of the header has the capabilities in each message.
        Some((_, Some(revision))) if revision.is_modern() && method != "initialize" => {
            Ok(Era::Modern)
        }
        _ if method == "initialize" => Ok(Era::Handshake),
        _ => Ok(Era::InSession),
    }
}

/// Compares a header with the member of the message that it mirrors.
///
/// # Errors
///
/// It is missing, or has another value.
fn same(name: &str, given: Option<&str>, meant: &str) -> Result<(), Fault> {
    if given == Some(meant) {
        return Ok(());
    }
    let what = if given.is_some() { "does not say what the message says" } else { "is missing" };
    Err(Fault::new(fault::HEADER_MISMATCH, format!("the header {name:?} {what}")))
}

/// A value that may be written as `=?base64?…?=`.
fn plain_value(value: &str) -> String {
    let encoded = value.strip_prefix("=?base64?").and_then(|it| it.strip_suffix("?="));
    let decoded = encoded.and_then(|it| BASE64_STANDARD.decode(it).ok());
    decoded.and_then(|it| String::from_utf8(it).ok()).unwrap_or_else(|| value.to_owned())
}

/// The status that goes with an answer.
pub(super) fn status(outcome: &Outcome) -> StatusCode {
    match outcome.as_ref().map_err(|it| it.code) {
        Ok(_) => StatusCode::OK,
        Err(fault::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Err(fault::INTERNAL_ERROR) => StatusCode::INTERNAL_SERVER_ERROR,
        Err(_) => StatusCode::BAD_REQUEST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_names_are_hosts() {
        for host in
            ["localhost", "LOCALHOST:80", "127.0.0.1:65535", "127.9.9.9", "[::1]:80", "[::1]"]
        {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "",
            "example.org",
            "localhost.example.org",
            "127.0.0.1.nip.io:80",
            "10.0.0.1",
            "[::2]",
            "[::1",
            "null",
            "localhost:80@evil.org",
            "127.0.0.1:80@evil",
            "[::1]@evil.org",
            "[::1]80",
            "[127.0.0.1]",
            "localhost:",
            "localhost:80:90",
            "localhost:65536",
            "localhost:+80",
            "localhost:80/",
            "user@localhost",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
