//! The name that a TLS connection starts with.

/// What the first bytes of a connection are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// More of them are needed to say.
    Unfinished,
    /// Not the start of a TLS connection.
    Other,
    /// The start of a TLS connection, with the name of its `server_name` extension (RFC 6066, 3), if it has
    /// one.
    Hello(Option<String>),
    /// It claims to be TLS and is not in order.
    Broken,
}

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;
/// The longest record (RFC 8446, 5.1).
const MAX_RECORD_BYTES: usize = 1 << 14;
/// Bytes of records that are looked at: 16 KiB. A ClientHello with keys against quantum computers has 2 KiB.
const MAX_BYTES: usize = 16 * 1024;

/// The alert for a name that is not served here (`unrecognized_name`, RFC 6066, 3), which is fatal.
pub(super) const REFUSED: &[u8] = &[21, 3, 3, 0, 2, 2, 112];

/// Looks at the first bytes that a client sends.
pub(super) fn start(bytes: &[u8]) -> Start {
    match bytes {
        [] => Start::Unfinished,
        [HANDSHAKE] | [HANDSHAKE, 3, ..] if bytes.len() <= MAX_BYTES => {
            let mut handshake = Vec::new();
            match collect(bytes, &mut handshake) {
                Some(true) => hello(&handshake).map_or(Start::Broken, Start::Hello),
                Some(false) => Start::Unfinished,
                None => Start::Broken,
            }
        }
        [HANDSHAKE, ..] => Start::Broken,
        _ => Start::Other,
    }
}

/// Puts together the first message from its records (RFC 8446, 5.1). Whether it is whole; `None` where there
/// is something else.
fn collect(bytes: &[u8], message: &mut Vec<u8>) -> Option<bool> {
    let mut rest = bytes;
    loop {
        if message.first().is_some_and(|it| *it != CLIENT_HELLO) {
            return None;
        }
        if let [_, a, b, c, ..] = *message.as_slice() {
            let wanted = 4 + (usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c));
            if wanted > MAX_BYTES {
                return None;
            }
            if message.len() >= wanted {
                message.truncate(wanted);
                return Some(true);
            }
        }
        let Some((head, after)) = rest.split_first_chunk::<5>() else { return Some(false) };
        let [kind, major, _, high, low] = *head;
        let n = usize::from(high) << 8 | usize::from(low);
        if (kind, major) != (HANDSHAKE, 3) || n == 0 || n > MAX_RECORD_BYTES {
            return None;
        }
        match after.split_at_checked(n) {
            Some((fragment, after)) => {
                message.extend_from_slice(fragment);
                rest = after;
            }
            None => {
                message.extend_from_slice(after);
                rest = &[];
            }
        }
    }
}

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

    fn short(&mut self) -> Option<&'a [u8]> {
        let n = self.u8()?;
        self.take(n.into())
    }

    fn long(&mut self) -> Option<&'a [u8]> {
        let n = self.u16()?;
        self.take(n.into())
    }
}

/// The name in a ClientHello (RFC 8446, 4.1.2); the outer `None` where it is none, or has several.
fn hello(message: &[u8]) -> Option<Option<String>> {
    let mut reader = Reader(message.get(4..)?);
    reader.take(2 + 32)?;
    reader.short()?;
    reader.long()?;
    reader.short()?;
    if reader.0.is_empty() {
        return Some(None);
    }
    let mut extensions = Reader(reader.long()?);
    if !reader.0.is_empty() {
        return None;
    }
    let mut name = None;
    while !extensions.0.is_empty() {
        let (kind, content) = (extensions.u16()?, extensions.long()?);
        if kind != SERVER_NAME {
            continue;
        }
        let mut content = Reader(content);
        let mut names = Reader(content.long()?);
        let (kind, text) = (names.u8()?, names.long()?);
        let is_one = names.0.is_empty() && content.0.is_empty() && kind == HOST_NAME;
        if !is_one || name.is_some() {
            return None;
        }
        let text = str::from_utf8(text).ok()?;
        name = Some(text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase());
    }
    Some(name)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The first record of a connection to this host.
    pub(in crate::proxy) fn client_hello(name: Option<&str>) -> Vec<u8> {
        let long = |it: &[u8]| [&(it.len() as u16).to_be_bytes(), it].concat();
        let server_name = name.map_or(Vec::new(), |name| {
            let names = [&[HOST_NAME], long(name.as_bytes()).as_slice()].concat();
            [&[0, 0], long(&long(&names)).as_slice()].concat()
        });
        let other = [0, 43, 0, 3, 2, 3, 4];
        let body = [
            [3, 3].as_slice(),
            &[7; 32],
            &[0],
            &long(&[0x13, 0x01]),
            &[1, 0],
            &long(&[other.as_slice(), &server_name].concat()),
        ]
        .concat();
        let message = [&[CLIENT_HELLO, 0], long(&body).as_slice()].concat();
        [&[HANDSHAKE, 3, 1], long(&message).as_slice()].concat()
    }

    #[test]
    fn the_name_is_found() {
        let named = |it: &str| Start::Hello(Some(it.to_owned()));
        assert_eq!(start(&client_hello(Some("A.example.org."))), named("a.example.org"));
        assert_eq!(start(&client_hello(None)), Start::Hello(None));
        // In records of one byte each.
        let whole = client_hello(Some("a.org"));
        let split: Vec<u8> = whole[5..].iter().flat_map(|it| [22, 3, 1, 0, 1, *it]).collect();
        assert_eq!(start(&split), named("a.org"));
    }

    #[test]
    fn what_is_cut_off_is_unfinished_and_what_is_odd_is_broken() {
        let whole = client_hello(Some("a.org"));
        for n in 0..whole.len() {
            assert_eq!(start(&whole[..n]), Start::Unfinished, "{n}");
        }
        assert_eq!(start(b"GET / HTTP/1.1"), Start::Other);
        assert_eq!(start(&[22, 2]), Start::Broken);
        assert_eq!(start(&[22, 3, 1, 0, 0]), Start::Broken);
        assert_eq!(start(&[22, 3, 1, 0, 4, 2, 0, 0, 0]), Start::Broken);
        assert_eq!(start(&[22, 3, 1, 0, 4, 1, 0, 0, 0]), Start::Broken);
        let mut two_names = whole.clone();
        // The kind of the other extension becomes that of the name.
        let at = whole.windows(4).position(|it| it == [0, 43, 0, 3]).expect("it is there");
        two_names[at + 1] = 0;
        assert_eq!(start(&two_names), Start::Broken);
        // Any bytes are something.
        for at in 0..whole.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut changed = whole.clone();
                changed[at] = byte;
                let _ = start(&changed);
            }
        }
    }
}
