//! What ClientHello and ServerHello say (RFC 8446, 4.1).
//!
//! Readers of bytes that a program or a server chose. They take what they need and leave the rest;
//! lengths are checked against what is there, so every message is read in one pass or is none.

use super::Version;

pub(super) const CLIENT_HELLO: u8 = 1;
pub(super) const SERVER_HELLO: u8 = 2;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;
const SUPPORTED_VERSIONS: u16 = 43;

/// The random number of a ServerHello that is a HelloRetryRequest (RFC 8446, 4.1.3).
const RETRY: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// What a ClientHello says about its name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ClientHello {
    /// That of its `server_name` extension (RFC 6066, 3), in lower case and without a dot at its end.
    pub(super) name: Option<String>,
    /// Whether it has `encrypted_client_hello` (RFC 9849), in which a ClientHello with another name may be.
    pub(super) has_hidden_name: bool,
}

/// What a ServerHello says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It is a HelloRetryRequest.
    Retry,
    Chosen(Version),
}

/// Whether an extension is `encrypted_client_hello`, of the standard or of its drafts, or their forerunner
/// `encrypted_server_name`.
fn hides_name(extension: u16) -> bool {
    matches!(extension, 0xfe08..=0xfe0d | 0xffce)
}

/// Reads a ClientHello; `None` where it is none, or has several names.
///
/// Two names, or two extensions of names, are refused: servers differ in which one they take (RFC
/// 6066, 3).
pub(super) fn of_client(message: &[u8]) -> Option<ClientHello> {
    let mut reader = Reader(message.get(4..)?);
    reader.take(2 + 32)?;
    reader.short()?;
    reader.long()?;
    reader.short()?;
    let mut res = ClientHello { name: None, has_hidden_name: false };
    let mut extensions = reader.extensions()?;
    while let Some((kind, content)) = extensions.extension()? {
        res.has_hidden_name |= hides_name(kind);
        if kind != SERVER_NAME {
            continue;
        }
        let mut content = Reader(content);
        let mut names = Reader(content.long()?);
        let (kind, text) = (names.u8()?, names.long()?);
        let is_one = names.0.is_empty() && content.0.is_empty() && kind == HOST_NAME;
        if !is_one || res.name.is_some() {
            return None;
        }
        let text = str::from_utf8(text).ok()?;
        res.name = Some(text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase());
    }
    Some(res)
}

/// Reads a ServerHello; `None` where it is none.
///
/// The version is TLS 1.3 exactly where the extension `supported_versions` is there.
pub(super) fn of_server(message: &[u8]) -> Option<Answer> {
    let mut reader = Reader(message.get(4..)?);
    reader.take(2)?;
    let random = reader.take(32)?;
    reader.short()?;
    reader.take(2 + 1)?;
    let mut extensions = reader.extensions()?;
    let mut version = Version::Tls12OrOlder;
    while let Some((kind, _)) = extensions.extension()? {
        if kind == SUPPORTED_VERSIONS {
            // An older version is chosen without it (RFC 8446, 4.2.1).
            version = Version::Tls13;
        }
    }
    Some(if random == RETRY { Answer::Retry } else { Answer::Chosen(version) })
}

/// Each function takes its bytes off the front; `None` where there are too few.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(head)
    }

    fn u8(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_be_bytes)
    }

    /// Bytes behind a length of one byte.
    fn short(&mut self) -> Option<&'a [u8]> {
        let n = self.u8()?;
        self.take(n.into())
    }

    /// Bytes behind a length of two bytes.
    fn long(&mut self) -> Option<&'a [u8]> {
        let n = self.u16()?;
        self.take(n.into())
    }

    /// The extensions, with which a message ends; it may have none.
    fn extensions(mut self) -> Option<Self> {
        if self.0.is_empty() {
            return Some(self);
        }
        let extensions = self.long()?;
        self.0.is_empty().then_some(Self(extensions))
    }

    /// The next extension; the outer `None` where it is cut off.
    fn extension(&mut self) -> Option<Option<(u16, &'a [u8])>> {
        if self.0.is_empty() {
            return Some(None);
        }
        Some(Some((self.u16()?, self.long()?)))
    }
}
