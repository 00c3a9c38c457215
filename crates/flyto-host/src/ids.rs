//! Ids that differ among all processes of a user.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::atomic::{AtomicU64, Ordering},
    time::SystemTime,
};

use sha2::{Digest as _, Sha256};

/// Hexadecimal digits of an id: 48 bits, so that two of 1,000 are the same with a probability of 2 in 1,000,000,000.
pub(crate) const DIGITS: usize = 12;

/// Makes 12 hexadecimal digits from the time, the process, a count and a random key: they cannot be told from the time of
/// their making.
pub(crate) fn digits() -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let count = LAST.fetch_add(1, Ordering::Relaxed);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut text = since.as_nanos().to_le_bytes().to_vec();
    text.extend(std::process::id().to_le_bytes());
    text.extend(RandomState::new().hash_one(count).to_le_bytes());
    hash(&text)[..DIGITS].to_owned()
}

/// The SHA-256, in hexadecimal digits.
pub(crate) fn hash(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digest = Sha256::digest(bytes);
    let digits = digest.iter().flat_map(|it| [it >> 4, it & 15]);
    digits.map(|it| char::from(DIGITS[usize::from(it)])).collect()
}
