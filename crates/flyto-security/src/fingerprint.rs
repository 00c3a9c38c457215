//! Fingerprints of secrets.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::Fingerprint;

/// The key of a guard, ready for use.
#[derive(Clone)]
pub(crate) struct FingerprintKey(Hmac<Sha256>);

impl FingerprintKey {
    pub(crate) fn new(key: &[u8]) -> Self {
        Self(Hmac::new_from_slice(key).expect("HMAC takes a key of any length (RFC 2104)"))
    }

    pub(crate) fn of(&self, secret: &[u8]) -> Fingerprint {
        Fingerprint(self.0.clone().chain_update(secret).finalize().into_bytes().into())
    }
}

/// Without the key.
impl fmt::Debug for FingerprintKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FingerprintKey")
    }
}
