//! The digest that a pinned program is known by.

use std::fmt;

/// A SHA-256 digest. `Display` writes it as 64 hexadecimal digits in lower case.
///
/// ```
/// use flyto_execenv::Sha256;
///
/// assert_eq!(Sha256([0xab; 32]).to_string(), "ab".repeat(32));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256(pub [u8; 32]);

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|it| write!(f, "{it:02x}"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sha256({self})")
    }
}
