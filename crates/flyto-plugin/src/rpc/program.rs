//! The file of a plugin's program.

use std::{
    error::Error,
    fmt, fs,
    path::{Path, PathBuf},
};

/// A path that leads out of the plugin's directory, by a link.
#[derive(Debug)]
pub(crate) struct Escape {
    path: PathBuf,
    /// Where it leads.
    pub(crate) target: PathBuf,
}

impl fmt::Display for Escape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, target } = self;
        write!(f, "{path:?} leads to {target:?}, out of the plugin's directory")
    }
}

impl Error for Escape {}

/// The file that `path`, a path within the plugin's directory `dir`, leads to with all links
/// resolved. Where there is none, the path as it is written: who starts the program says what is
/// missing, and a backend that is elsewhere may have it.
///
/// Whoever may write to the plugin can exchange the file after this look. Against them a digest holds,
/// which is that of the bytes that run; this keeps a plugin from being a way to start other programs.
pub(crate) fn resolve(dir: &Path, path: &Path) -> Result<PathBuf, Escape> {
    let written = dir.join(path);
    let (Ok(dir), Ok(target)) = (fs::canonicalize(dir), fs::canonicalize(&written)) else {
        return Ok(written);
    };
    if target.starts_with(dir) { Ok(target) } else { Err(Escape { path: written, target }) }
}
