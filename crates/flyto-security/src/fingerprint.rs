//! Fingerprints of secrets.
//!
//! A fingerprint goes into logs and into lists of acknowledged secrets, so it must not help to
//! guess the secret: hence HMAC with a key, and not a digest.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::Fingerprint;

/// The key of a guard, ready for use.
#[derive(Clone)]
pub(crate) struct FingerprintKey(Hmac<Sha256>);

impl FingerprintKey {
    /// A key of any length, an empty one too; 32 random bytes are what a guard makes by itself.
    pub(crate) fn new(key: &[u8]) -> Self {
        Self(Hmac::new_from_slice(key).expect("HMAC takes a key of any length (RFC 2104)"))
    }

    /// Of the decoded secret, so that one secret has one fingerprint in whatever form it stands.
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
