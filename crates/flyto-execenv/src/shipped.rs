//! Files that have to be where a program runs.

use std::path::PathBuf;

use crate::Sha256;

/// A file that is there when a program starts, by its digest.
///
/// The file lies at this path on the machine of the handle, and the program finds the same bytes at the same path. A
/// backend on another machine fetches what it does not have yet, and knows by the digest what it has; one on the same machine
/// compares. Whether the program may read the file is for its isolation to say.
///
/// ```
/// use flyto_execenv::{Sha256, ShippedFile, Spec};
///
/// let model = ShippedFile::new("/srv/models/words.bin", Sha256([0x5a; 32]));
/// let spec = Spec::new("/usr/bin/count").ship(model);
/// assert_eq!(spec.files.len(), 1);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShippedFile {
    /// Where it lies, on both machines; absolute.
    pub path: PathBuf,
    /// The digest of the whole file.
    pub sha256: Sha256,
}

impl ShippedFile {
    /// The file at `path`, which has this digest.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, sha256: Sha256) -> Self {
        Self { path: path.into(), sha256 }
    }
}
