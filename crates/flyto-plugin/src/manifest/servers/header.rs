//! Headers of requests to a server.

use flyto_diagnostics::{At, Diagnostic, quoted};

use crate::{
    codes,
    manifest::literal::span_within,
    place::{about_key, as_warning, moved},
};

/// Headers of one connection, and those that say where a message ends and how it is encoded (RFC 9110: 6.6.2, 7.2, 7.6.1, 7.8,
/// 8.4, 8.6, 10.1.1, 10.1.4; RFC 9112: 6.1). The client writes those that hold; another value cuts the message or hides a second one in it.
const OF_CONNECTION: [&str; 11] = [
    "connection",
    "content-encoding",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// Headers that the transport of the protocol sets in each message.
const OF_PROTOCOL: [&str; 6] =
    ["accept", "content-type", "mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id"];

/// What keeps a header of `object` from being sent: an error where its name is none, is that of another one or of the
/// connection, or its value has a line end, behind which another header would stand. A warning where the client sends
/// the header with a value of its own.
///
/// References in the value are expanded later, and are not looked at here.
pub(super) fn fault(object: At<'_>, name: &str, at: At<'_>, value: &str) -> Option<Diagnostic> {
    let wrong = |what: String| about_key(object, name, codes::BAD_HEADER, what);
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(is_token) {
        let diag = wrong(format!("{} is no name of a header", quoted(name)));
        return Some(diag.with_help("a name is made of letters, digits and `-`"));
    }
    let is_one_of = |names: &[&str]| names.iter().any(|it| it.eq_ignore_ascii_case(name));
    if is_one_of(&OF_CONNECTION) {
        let diag = wrong(format!("the header {name} is about the connection and cannot be set"));
        return Some(diag.with_help("remove it; the client sends what the connection needs"));
    }
    // A name that occurs twice in the same letters is told by the reader of the object.
    let mut before = object.members().map(|it| it.0).take_while(|it| *it != name);
    if let Some(first) = before.find(|it| it.eq_ignore_ascii_case(name)) {
        let diag = wrong(format!("the header {name} stands here as {first} already"));
        let diag = diag.with_reason("upper and lower case are the same in names of headers");
        return Some(diag.with_help("remove one of the two"));
    }
    if is_one_of(&OF_PROTOCOL) {
        let diag = as_warning(wrong(format!("the header {name} has no effect here")));
        let diag = diag.with_reason("the protocol says what it holds in each message");
        return Some(diag.with_help("remove it"));
    }
    let bad = value.find(|c: char| c.is_control() && c != '\t')?;
    let span = span_within(at, bad, bad + 1);
    let what = format!("the value of the header {name} holds a control character");
    Some(moved(at.error(codes::BAD_HEADER, what), at, span).with_help("remove it"))
}
