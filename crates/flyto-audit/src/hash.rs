//! The hash that chains records.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest as _, Sha256};

/// The SHA-256 (FIPS 180-4) by which a record is chained to the one before it; in text 64 lowercase hexadecimal
/// digits.
///
/// ```
/// use flyto_audit::ChainHash;
///
/// let hash: ChainHash = "00".repeat(32).parse()?;
/// assert_eq!(hash, ChainHash::ZERO);
/// # Ok::<(), flyto_audit::InvalidHash>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChainHash([u8; 32]);

/// A text is no [`ChainHash`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a hash has 64 lowercase hexadecimal digits")]
pub struct InvalidHash;

impl ChainHash {
    /// What the first record of a log names as the hash before it.
    ///
    /// No text is known that has it as its SHA-256, so no record has it as its own.
    pub const ZERO: Self = Self([0; 32]);

    /// Its bytes.
    ///
    /// In the order in which the digits stand in the text, the first byte first.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The hash of a record: over the hexadecimal digits of the hash before it, then the bytes of its line up to
    /// `,"hash":`.
    pub(crate) fn of_record(prev: &Self, bytes: &[u8]) -> Self {
        let mut state = Sha256::new();
        state.update(prev.hex());
        state.update(bytes);
        Self(state.finalize().into())
    }

    /// The plain SHA-256 of `bytes`.
    ///
    /// It names a torn line in the record `torn`, and is no part of the chain.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Its 64 digits, in ASCII.
    pub(crate) fn hex(&self) -> [u8; 64] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut res = [0; 64];
        for (i, byte) in self.0.iter().enumerate() {
            res[2 * i] = DIGITS[usize::from(byte >> 4)];
            res[2 * i + 1] = DIGITS[usize::from(byte & 15)];
        }
        res
    }
}

/// A SHA-256 of bytes that come in parts.
#[derive(Clone, Default)]
pub(crate) struct Hasher(Sha256);

impl Hasher {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> ChainHash {
        ChainHash(self.0.finalize().into())
    }
}

impl fmt::Display for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(str::from_utf8(&self.hex()).expect("digits are ASCII"))
    }
}

impl fmt::Debug for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ChainHash {
    type Err = InvalidHash;

    fn from_str(text: &str) -> Result<Self, InvalidHash> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(InvalidHash),
        };
        let digits: &[u8; 64] = text.as_bytes().try_into().map_err(|_| InvalidHash)?;
        let mut res = [0; 32];
        for (byte, pair) in res.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Self(res))
    }
}

impl Serialize for ChainHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(str::from_utf8(&self.hex()).expect("digits are ASCII"))
    }
}

impl<'de> Deserialize<'de> for ChainHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = ChainHash;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("64 lowercase hexadecimal digits")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ChainHash, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::{ChainHash, Hasher, InvalidHash};

    #[test]
    fn text_and_back() {
        // SHA-256 of "abc", from FIPS 180-4's examples.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let hash = ChainHash::of_bytes(b"abc");
        assert_eq!(hash.to_string(), abc);
        assert_eq!(hash.hex(), abc.as_bytes());
        assert_eq!(abc.parse(), Ok(hash));
        assert_eq!(serde_json::from_str::<ChainHash>(&format!("\"{abc}\"")).unwrap(), hash);
        let mut parts = Hasher::default();
        parts.update(b"a");
        parts.update(b"bc");
        assert_eq!(parts.finish(), hash);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "ba78", &"A".repeat(64), &"g".repeat(64), &"0".repeat(65), &"é".repeat(32)]
        {
            assert_eq!(text.parse::<ChainHash>(), Err(InvalidHash), "{text}");
        }
    }
}
