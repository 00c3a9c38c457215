//! What an HTTP client asks of a proxy (RFC 9110, RFC 9112).
//!
//! A proxy that reads a request otherwise than the server behind it lets requests through that it
//! never saw. So what is ambiguous is refused: several lengths, lengths beside chunks, other
//! encodings. The head is written anew, fields between client and proxy are left out, and each
//! connection serves one request.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

use super::egress::{Refusal, Target};

/// Bytes of a request's head: 32 KiB, twice to four times what servers take.
const MAX_HEAD_BYTES: u64 = 32 * 1024;

/// Fields of a head.
const MAX_FIELDS: usize = 128;

/// Fields that are between a client and its proxy (RFC 9110, 7.6.1), and the host, which is written anew from
/// the target as a proxy must (RFC 9112, 3.2.2).
const HOP_BY_HOP: &[&str] = &[
    "connection",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "upgrade",
];

/// What a client wants.
#[derive(Debug)]
pub(super) enum Wanted {
    /// A connection; `early` is what the client said without waiting for it.
    Tunnel { target: Target, early: Vec<u8> },
    /// One request, with the head that goes on and the beginning of what follows it.
    Request { target: Target, head: Vec<u8>, body: Body, early: Vec<u8> },
}

/// Why something is no request to a proxy.
///
/// Each has an answer of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Odd {
    /// More than [`MAX_HEAD_BYTES`] or [`MAX_FIELDS`].
    TooLong,
    /// Not HTTP/1.
    NoRequest,
    /// A request as to a server, or for another scheme than `http`.
    NoTarget,
    /// The end of the body is not certain.
    Framing,
}

impl Odd {
    /// Status 400, or 431 for a head that is too long.
    pub(super) fn answer(self) -> Vec<u8> {
        let (status, why) = match self {
            Self::TooLong => {
                ("431 Request Header Fields Too Large", "The request's head is too long.")
            }
            Self::NoRequest => ("400 Bad Request", "This is no HTTP/1 request."),
            Self::NoTarget => (
                "400 Bad Request",
                "This is a proxy. It takes CONNECT with a host and a port, and requests for http:// targets.",
            ),
            Self::Framing => ("400 Bad Request", "It is not clear where the request's body ends."),
        };
        answer(status, "http_request_error", why)
    }
}

/// The answer to a client whose target is not reached.
pub(super) fn refusal(refusal: &Refusal) -> Vec<u8> {
    // Names of RFC 9209, 2.3.
    let (status, error) = match refusal {
        Refusal::NotGranted(_) => ("403 Forbidden", "http_request_denied"),
        Refusal::Inside(..) => ("403 Forbidden", "destination_ip_prohibited"),
        Refusal::NotFound(..) => ("502 Bad Gateway", "dns_error"),
        Refusal::NotReached(..) => ("502 Bad Gateway", "connection_refused"),
    };
    answer(status, error, &refusal.to_string())
}

/// A whole response with a text body, after which the connection is closed. `error` is a name of
/// RFC 9209, 2.3.
fn answer(status: &str, error: &str, why: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
         Proxy-Status: flyto; error={error}\r\nConnection: close\r\n\r\n{why}\n",
        why.len() + 1
    )
    .into_bytes()
}

/// Reads the head of a request that begins with this byte.
///
/// # Errors
///
/// The outer error is the connection's, or its end in the middle of the head. The inner one is the
/// client's mistake.
pub(super) async fn ask(
    inside: &mut (impl AsyncRead + Unpin),
    first: u8,
) -> io::Result<Result<Wanted, Odd>> {
    let mut bytes = Vec::with_capacity(2048);
    bytes.push(first);
    // No byte is read that is beyond the limit, so that a head which passes it is never seen whole.
    let mut inside = inside.take(MAX_HEAD_BYTES - 1);
    // What is no request at all shows at once. After that, only a head that may have ended is read: a client
    // that sends single bytes would have all of it read for each.
    let mut may_be_whole = true;
    loop {
        match if may_be_whole { read(&bytes) } else { Ok(None) } {
            Ok(Some(wanted)) => return Ok(Ok(wanted)),
            Ok(None) if bytes.len() as u64 == MAX_HEAD_BYTES => return Ok(Err(Odd::TooLong)),
            Ok(None) => {}
            Err(odd) => return Ok(Err(odd)),
        }
        let seen = bytes.len().saturating_sub(2);
        bytes.reserve(2048);
        if inside.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        may_be_whole = bytes.get(seen..).is_some_and(has_empty_line);
    }
}

/// Whether an empty line ends in these bytes.
fn has_empty_line(bytes: &[u8]) -> bool {
    bytes.windows(3).any(|it| matches!(it, [_, b'\n', b'\n'] | [b'\n', b'\r', b'\n']))
}

/// Reads what is there of a request; `None` where its head has not ended.
///
/// # Errors
///
/// What is wrong with the head so far.
fn read(bytes: &[u8]) -> Result<Option<Wanted>, Odd> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let n = match request.parse(bytes) {
        Ok(httparse::Status::Complete(n)) => n,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Odd::TooLong),
        Err(_) => return Err(Odd::NoRequest),
    };
    let (Some(method), Some(path), Some(version)) = (request.method, request.path, request.version)
    else {
        return Err(Odd::NoRequest);
    };
    let early = bytes.get(n..).unwrap_or_default().to_vec();
    if method == "CONNECT" {
        let target = Target::read(path, None).ok_or(Odd::NoTarget)?;
        return Ok(Some(Wanted::Tunnel { target, early }));
    }
    let (scheme, rest) = path.split_at_checked(7).ok_or(Odd::NoTarget)?;
    if !scheme.eq_ignore_ascii_case("http://") {
        return Err(Odd::NoTarget);
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let target = Target::read(authority, Some(80)).ok_or(Odd::NoTarget)?;
    let body = Body::of(request.headers, version)?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mut head =
        format!("{method} {slash}{path} HTTP/1.{version}\r\nHost: {authority}\r\n").into_bytes();
    let named: Vec<_> = request
        .headers
        .iter()
        .filter(|it| it.name.eq_ignore_ascii_case("connection"))
        .flat_map(|it| it.value.split(|it| *it == b','))
        .map(<[u8]>::trim_ascii)
        .collect();
    for field in request.headers.iter() {
        let name = field.name;
        let frames = name.eq_ignore_ascii_case("content-length")
            || name.eq_ignore_ascii_case("transfer-encoding");
        let is_ours = HOP_BY_HOP.iter().any(|it| it.eq_ignore_ascii_case(name))
            || (named.iter().any(|it| it.eq_ignore_ascii_case(name.as_bytes())) && !frames);
        if !is_ours {
            head.extend_from_slice(name.as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(field.value);
            head.extend_from_slice(b"\r\n");
        }
    }
    head.extend_from_slice(b"Connection: close\r\n\r\n");
    Ok(Some(Wanted::Request { target, head, body, early }))
}

/// How much of what follows a head belongs to its request (RFC 9112, 6.3).
///
/// A request without either field has no body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// So many bytes more.
    Length(u64),
    /// Chunks (RFC 9112, 7.1).
    Chunked(Chunk),
}

/// Where in a chunk the next byte is.
///
/// Bytes are followed and not changed: chunks go on as they come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Chunk {
    /// In the line with the size, which so far is this.
    Size { text: Vec<u8> },
    /// So many bytes before its end.
    Data(u64),
    /// In the line break after it, with so many bytes to come.
    Break(u8),
    /// In the fields after the last one; so many bytes of the present line were read.
    Trailer { line_bytes: usize },
    /// After it all.
    Over,
}

/// Bytes of a line with a chunk's size, or of a field after the last one.
const MAX_LINE_BYTES: usize = 4096;

impl Body {
    /// # Errors
    ///
    /// [`Odd::Framing`] where it is not certain where the body ends.
    fn of(fields: &[httparse::Header<'_>], version: u8) -> Result<Self, Odd> {
        let all = |name: &'static str| {
            fields.iter().filter(move |it| it.name.eq_ignore_ascii_case(name)).map(|it| it.value)
        };
        let mut lengths = all("content-length");
        let mut encodings = all("transfer-encoding");
        match (lengths.next(), lengths.next(), encodings.next(), encodings.next()) {
            (None, None, None, None) => Ok(Self::Length(0)),
            (Some(length), None, None, None) if length.iter().all(u8::is_ascii_digit) => {
                let length = str::from_utf8(length).ok().and_then(|it| it.parse().ok());
                length.map(Self::Length).ok_or(Odd::Framing)
            }
            (None, None, Some(it), None) if version == 1 && it.eq_ignore_ascii_case(b"chunked") => {
                Ok(Self::Chunked(Chunk::Size { text: Vec::new() }))
            }
            // Two of them, and server and proxy may not agree on which counts (RFC 9112, 6.3).
            _ => Err(Odd::Framing),
        }
    }

    /// Whether the next byte is beyond the body.
    pub(super) fn is_over(&self) -> bool {
        matches!(self, Self::Length(0) | Self::Chunked(Chunk::Over))
    }

    /// How many of these bytes are of the body.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidData`] for chunks that are not in order.
    pub(super) fn part_of(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Length(left) => {
                let n = bytes.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= n as u64;
                Ok(n)
            }
            Self::Chunked(chunk) => chunk.part_of(bytes),
        }
    }
}

impl Chunk {
    fn part_of(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let odd = || io::Error::from(io::ErrorKind::InvalidData);
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            match self {
                Self::Size { text } => {
                    at += 1;
                    match byte {
                        b'\n' => *self = Self::after_line(text).ok_or_else(odd)?,
                        _ if text.len() == MAX_LINE_BYTES => return Err(odd()),
                        _ => text.push(*byte),
                    }
                }
                Self::Data(left) => {
                    let n = (bytes.len() - at).min(usize::try_from(*left).unwrap_or(usize::MAX));
                    at += n;
                    *left -= n as u64;
                    if *left == 0 {
                        *self = Self::Break(2);
                    }
                }
                Self::Break(left) => {
                    at += 1;
                    match (*left, byte) {
                        (2, b'\r') => *left = 1,
                        (1, b'\n') => *self = Self::Size { text: Vec::new() },
                        _ => return Err(odd()),
                    }
                }
                Self::Trailer { line_bytes } => {
                    at += 1;
                    match (byte, *line_bytes) {
                        (b'\n', 0) => *self = Self::Over,
                        (b'\n', _) => *line_bytes = 0,
                        (b'\r', _) => {}
                        (_, MAX_LINE_BYTES) => return Err(odd()),
                        _ => *line_bytes += 1,
                    }
                }
                Self::Over => return Ok(at),
            }
        }
        Ok(at)
    }

    /// What follows the line with a size.
    ///
    /// `None` for a line that is no size: 1 to 15 hexadecimal digits, then perhaps extensions, then
    /// CR LF.
    fn after_line(line: &[u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\r")?;
        let size = line.split(|it| *it == b';').next()?.trim_ascii_end();
        if !(1..=15).contains(&size.len()) || !size.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        Some(match u64::from_str_radix(str::from_utf8(size).ok()?, 16).ok()? {
            0 => Self::Trailer { line_bytes: 0 },
            n => Self::Data(n),
        })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(request: &str, expect: Expect) {
        let shown = match read(request.as_bytes()) {
            Ok(None) => "unfinished".to_owned(),
            Ok(Some(Wanted::Tunnel { target, early })) => {
                format!("tunnel to {target} {:?}", String::from_utf8_lossy(&early))
            }
            Ok(Some(Wanted::Request { target, head, body, early })) => {
                let (head, early) =
                    (String::from_utf8_lossy(&head), String::from_utf8_lossy(&early));
                format!("request to {target} {body:?} {early:?}\n{}", head.replace("\r\n", "\n"))
            }
            Err(odd) => format!("{odd:?}"),
        };
        expect.assert_eq(&shown);
        for n in 0..request.find("\r\n\r\n").unwrap_or(0) {
            let cut = read(&request.as_bytes()[..n]);
            assert!(!matches!(cut, Ok(Some(_))), "{n}: {cut:?}");
        }
    }

    #[test]
    fn a_tunnel_has_a_host_and_a_port() {
        check(
            "CONNECT A.org.:443 HTTP/1.1\r\n\r\nearly",
            expect![[r#"tunnel to a.org:443 "early""#]],
        );
        check(
            "CONNECT [::1]:443 HTTP/1.1\r\nHost: b\r\n\r\n",
            expect![[r#"tunnel to [::1]:443 """#]],
        );
        check("CONNECT a.org HTTP/1.1\r\n\r\n", expect!["NoTarget"]);
        check("CONNECT a.org:+1 HTTP/1.1\r\n\r\n", expect!["NoTarget"]);
        check("CONNECT a.org:70000 HTTP/1.1\r\n\r\n", expect!["NoTarget"]);
        check("CONNECT user@a.org:443 HTTP/1.1\r\n\r\n", expect!["NoTarget"]);
        check("CONNECT ::1:443 HTTP/1.1\r\n\r\n", expect!["NoTarget"]);
        check("CONNECT a.org:44", expect!["unfinished"]);
    }

    #[test]
    fn a_request_goes_on_with_the_host_of_its_target() {
        check(
            "POST http://A.org:8080/x?y HTTP/1.1\r\nHost: evil.org\r\nConnection: X-Hop, content-length\r\n\
             X-Hop: 1\r\nUpgrade: h2c\r\nProxy-Authorization: secret\r\nContent-Length: 3\r\nAccept: */*\r\n\
             \r\nabcGET",
            expect![[r#"
                request to a.org:8080 Length(3) "abcGET"
                POST /x?y HTTP/1.1
                Host: A.org:8080
                Content-Length: 3
                Accept: */*
                Connection: close

            "#]],
        );
        check(
            "GET HTTP://a.org?q HTTP/1.0\r\n\r\n",
            expect![[r#"
                request to a.org:80 Length(0) ""
                GET /?q HTTP/1.0
                Host: a.org
                Connection: close

            "#]],
        );
    }

    #[test]
    fn what_is_no_request_to_a_proxy_is_refused() {
        check("GET / HTTP/1.1\r\nHost: a.org\r\n\r\n", expect!["NoTarget"]);
        check("GET https://a.org/ HTTP/1.1\r\n\r\n", expect!["NoTarget"]);
        check("GET http://user@a.org/ HTTP/1.1\r\n\r\n", expect!["NoTarget"]);
        check("GET http:///x HTTP/1.1\r\n\r\n", expect!["NoTarget"]);
        check("\u{16}\u{3}\u{1}", expect!["NoRequest"]);
        let with = |fields: &str| format!("POST http://a.org/ HTTP/1.1\r\n{fields}\r\n\r\n");
        let both = "Content-Length: 3\r\nTransfer-Encoding: chunked";
        for fields in [both, "Content-Length: 3\r\nContent-Length: 3", "Content-Length: +3"] {
            check(&with(fields), expect!["Framing"]);
        }
        check(&with("Transfer-Encoding: gzip, chunked"), expect!["Framing"]);
        check(
            "POST http://a.org/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
            expect!["Framing"],
        );
        check(&with(&"a: b\r\n".repeat(200)), expect!["TooLong"]);
    }

    #[tokio::test]
    async fn a_head_over_its_limit_is_refused_at_the_limit() {
        let limit = usize::try_from(MAX_HEAD_BYTES).expect("it is small");
        let start = "CONNECT a.org:443 HTTP/1.1\r\nX: ";
        for (n, is_read) in [(limit - 1, true), (limit, true), (limit + 1, false), (40_000, false)]
        {
            let head = format!("{start}{:x<1$}\r\n\r\n", "", n - start.len() - 4);
            assert_eq!(head.len(), n);
            // What follows is not a part of it.
            let bytes = [head.as_bytes(), &[b'y'; 5000]].concat();
            let (first, mut rest) = bytes.split_first().expect("there are some");
            match ask(&mut rest, *first).await.expect("it can be read") {
                Ok(Wanted::Tunnel { early, .. }) => {
                    assert!(is_read, "{n}");
                    assert_eq!(early.len() + rest.len(), 5000);
                }
                other => assert!(!is_read && matches!(other, Err(Odd::TooLong)), "{n}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_body_ends_where_it_says() {
        let chunks = b"5;x=y\r\nhello\r\n00a\r\n0123456789\r\n0\r\nTrailer: 1\r\n\r\n";
        let text = [chunks.as_slice(), b"GET / HTTP/1.1"].concat();
        for cut in 0..text.len() {
            let mut body = Body::Chunked(Chunk::Size { text: Vec::new() });
            let (one, two) = text.split_at(cut);
            let n = body.part_of(one).expect("it is in order");
            let n = n + body.part_of(two).expect("it is in order");
            assert!(body.is_over() && n == chunks.len(), "{cut}: {n} {body:?}");
        }
        for odd in ["\r\n", "g\r\n", "5\nhello", "1\r\nab\r\n", "fffffffffffffffff\r\n", "-1\r\n"] {
            let mut body = Body::Chunked(Chunk::Size { text: Vec::new() });
            assert!(body.part_of(odd.as_bytes()).is_err(), "{odd:?}");
        }
        let mut body = Body::Length(3);
        assert_eq!(body.part_of(b"ab").ok(), Some(2));
        assert_eq!(body.part_of(b"cGET").ok(), Some(1));
        assert!(body.is_over());
    }
}
