//! A table by call ids.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

/// A table whose keys the session gives out itself, counting up: no plugin can choose them to collide,
/// so a multiplication is enough of a hash.
pub(super) type IdMap<T> = HashMap<u64, T, BuildHasherDefault<IdHasher>>;

/// Not safe for keys that come from outside; the alias above is its only use.
#[derive(Debug, Default)]
pub(super) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, id: u64) {
        // 2^64 divided by the golden ratio spreads neighbours over all bits (Knuth, vol. 3, 6.4).
        self.0 = (self.0 ^ id).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}
