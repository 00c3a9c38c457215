//! The part of a TLS connection that is not encrypted, and the names in it.
//!
//! A client may send several ClientHellos, and the last one counts: a server that asks for another key with a
//! HelloRetryRequest takes the name from the second (RFC 8446, 4.1.2 and 4.1.4). So [`Client`] looks at every record
//! of the client until no further ClientHello can come, and [`Server`] at the records of the server, which tell when
//! that is:
//!
//! - A ServerHello of TLS 1.3 that is no HelloRetryRequest: all that the client sends after it is encrypted.
//! - A ServerHello of TLS 1.2 or older, and then a change_cipher_spec of the client.
//!
//! What the client sends alone does not tell it. It may send change_cipher_spec and encrypted early data before its
//! second ClientHello (RFC 8446, D.4 and 4.2.10), and a server that has asked for another key skips both.
//!
//! Bytes are held back from the start of a ClientHello until its name is known. Everything else goes on as it comes,
//! so a program that sends early data waits for no answer.

use self::{
    hello::{Answer, ClientHello},
    records::{CHANGE_CIPHER_SPEC, HANDSHAKE, KINDS, Messages, Piece, Progress, Records},
};

mod hello;
mod records;
#[cfg(test)]
pub(super) mod tests;

/// Bytes that are held back until the name of a ClientHello is known, the heads of its records included: 16 KiB. A
/// ClientHello with keys against quantum computers has 2 KiB.
const MAX_BYTES: usize = 16 * 1024;

/// The alert for a name that is not served here (`unrecognized_name`, RFC 6066, 3), which is fatal.
pub(super) const REFUSED: &[u8] = &[21, 3, 3, 0, 2, 2, 112];

/// What a server has chosen.
///
/// All that matters here: from which point on the client's bytes are encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    Tls12OrOlder,
    Tls13,
}

/// Why a connection does not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// A ClientHello has a name that is not granted, or none where one is needed.
    Name,
    /// A ClientHello has a second name that is encrypted.
    HiddenName,
    /// It claims to be TLS and is not in order, or a ClientHello is longer than what is held back.
    Broken,
}

/// What a client sends, until all of it is encrypted or it turns out not to be TLS.
///
/// Memory is bounded by [`MAX_BYTES`] of one message and the head of one record.
#[derive(Debug)]
pub(super) struct Client {
    at: At,
    records: Records,
    hellos: Messages,
    /// Bytes that were seen and may not go on yet.
    n_held: usize,
}

/// Only `Over` is final.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Start,
    /// Behind so many bytes of what may be a ClientHello in the format of SSL 2.
    Old(usize),
    FirstRecord,
    Records,
    Over,
}

impl Client {
    pub(super) fn new() -> Self {
        Self {
            at: At::Start,
            records: Records::default(),
            hellos: Messages::new(hello::CLIENT_HELLO),
            n_held: 0,
        }
    }

    /// Whether nothing is left to look at: all that was held back and all that comes may go on.
    pub(super) fn is_over(&self) -> bool {
        self.at == At::Over
    }

    /// Looks at the next bytes. `answered` is what the server has chosen so far, `is_granted` decides about the name
    /// in a ClientHello.
    ///
    /// Returns how many bytes may go on, counted from the first one that was held back before.
    pub(super) fn look(
        &mut self,
        bytes: &[u8],
        answered: Option<Version>,
        is_granted: impl Fn(Option<&str>) -> bool,
    ) -> Result<usize, Refused> {
        if answered == Some(Version::Tls13) {
            self.at = At::Over;
        }
        if let (At::Start, Some(first)) = (self.at, bytes.first()) {
            self.at = match first {
                first if KINDS.contains(first) => At::FirstRecord,
                0x80.. => At::Old(0),
                _ => At::Over,
            };
        }
        let all = self.n_held + bytes.len();
        let free = match self.at {
            At::Start | At::Over => all,
            At::Old(n) => self.look_at_old(n, bytes)?,
            At::FirstRecord | At::Records => self.look_at_records(bytes, answered, is_granted)?,
        };
        self.n_held = all - free;
        Ok(free)
    }

    /// OpenSSL 3 still takes a first ClientHello in the format of SSL 2, which has no name: two bytes of length,
    /// the kind of message, and the version (RFC 5246, E.2). Nothing is held back, since four bytes are no ClientHello.
    fn look_at_old(&mut self, n_before: usize, bytes: &[u8]) -> Result<usize, Refused> {
        for (at, byte) in (n_before..4).zip(bytes) {
            match (at, byte) {
                (0 | 1, _) | (2, 1) => self.at = At::Old(at + 1),
                (3, 3) => return Err(Refused::Name),
                _ => {
                    self.at = At::Over;
                    break;
                }
            }
        }
        Ok(bytes.len())
    }

    /// # Errors
    ///
    /// [`Refused::Broken`] also for a record between the parts of a ClientHello, and for a message
    /// of another kind before the server has answered.
    fn look_at_records(
        &mut self,
        bytes: &[u8],
        answered: Option<Version>,
        is_granted: impl Fn(Option<&str>) -> bool,
    ) -> Result<usize, Refused> {
        let all = self.n_held + bytes.len();
        let mut free = 0;
        let mut rest = bytes;
        while !rest.is_empty() {
            let piece = match self.records.next(&mut rest) {
                Ok(piece) => piece,
                // Also where only the head of the first record is none: some servers pass over an alert of an odd
                // version, and read the ClientHello behind it. No other protocol in use begins with these bytes.
                Err(_) => return Err(Refused::Broken),
            };
            match piece {
                Piece::Unfinished => {}
                Piece::Head(HANDSHAKE) => self.at = At::Records,
                Piece::Head(kind) => {
                    self.at = At::Records;
                    // Servers differ in what they make of a message that is interrupted (RFC 8446, 5.1).
                    if !self.hellos.is_between() {
                        return Err(Refused::Broken);
                    }
                    if kind == CHANGE_CIPHER_SPEC && answered == Some(Version::Tls12OrOlder) {
                        self.at = At::Over;
                        return Ok(all);
                    }
                    free = all - rest.len();
                }
                Piece::Content(HANDSHAKE, mut content) => {
                    while !content.is_empty() {
                        let progress = self.hellos.take(&mut content);
                        let end = all - rest.len() - content.len();
                        let is_too_long = end - free > MAX_BYTES;
                        match progress {
                            // The first answer to a ServerHello is not there before it.
                            Progress::Other if answered.is_none() => return Err(Refused::Broken),
                            Progress::Other => {}
                            Progress::Unfinished if !is_too_long => continue,
                            Progress::Whole(message) if !is_too_long => {
                                check(&message, &is_granted)?;
                            }
                            Progress::Unfinished | Progress::Whole(_) | Progress::TooLong => {
                                return Err(Refused::Broken);
                            }
                        }
                        free = end;
                    }
                }
                Piece::Content(..) => free = all - rest.len(),
            }
        }
        Ok(free)
    }
}

/// # Errors
///
/// A name that is not granted comes before one that is hidden.
fn check(message: &[u8], is_granted: impl Fn(Option<&str>) -> bool) -> Result<(), Refused> {
    let ClientHello { name, has_hidden_name } = hello::of_client(message).ok_or(Refused::Broken)?;
    match (is_granted(name.as_deref()), has_hidden_name) {
        (false, _) => Err(Refused::Name),
        (true, true) => Err(Refused::HiddenName),
        (true, false) => Ok(()),
    }
}

/// What a server sends, until it has chosen a version or turns out not to speak TLS.
///
/// It never refuses: what is not TLS ends the look.
#[derive(Debug)]
pub(super) struct Server {
    records: Records,
    hellos: Messages,
    is_over: bool,
}

impl Server {
    pub(super) fn new() -> Self {
        let hellos = Messages::new(hello::SERVER_HELLO);
        Self { records: Records::default(), hellos, is_over: false }
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Looks at the next bytes; the version, once they tell it.
    pub(super) fn look(&mut self, bytes: &[u8]) -> Option<Version> {
        if self.is_over {
            return None;
        }
        let found = self.find(bytes);
        self.is_over = !matches!(found, Ok(None));
        found.ok().flatten()
    }

    fn find(&mut self, bytes: &[u8]) -> Result<Option<Version>, NoTls> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let Piece::Content(kind, mut content) =
                self.records.next(&mut rest).map_err(|_| NoTls)?
            else {
                continue;
            };
            while kind == HANDSHAKE && !content.is_empty() {
                match self.hellos.take(&mut content) {
                    Progress::Unfinished | Progress::Other => {}
                    Progress::Whole(message) => match hello::of_server(&message).ok_or(NoTls)? {
                        Answer::Retry => {}
                        Answer::Chosen(version) => return Ok(Some(version)),
                    },
                    Progress::TooLong => return Err(NoTls),
                }
            }
        }
        Ok(None)
    }
}

/// A server's bytes are not TLS.
struct NoTls;
