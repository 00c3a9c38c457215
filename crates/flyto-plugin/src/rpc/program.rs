//! The file of a plugin's program.
//!
//! A binary plugin may start its own file only. The check is made when the manifest is read, and
//! again before every start.

use std::{
    error::Error,
    fmt, fs,
    path::{Component, Path, PathBuf},
};

use flyto_diagnostics::files::is_link_free;

/// A path that leads out of the plugin's directory, by a link.
#[derive(Debug)]
pub(crate) struct Escape {
    /// The path as the manifest has it, from the plugin's directory.
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
/// resolved. Where there is none, the path as it is written: the start of the program says what is
/// missing, and a backend that is elsewhere may have it.
///
/// What is given here is what runs, and no part of it was a link: one that is exchanged after this
/// look leads nowhere else. A process that may write to the plugin can still put another file, or a link,
/// in the place of what was found, or where nothing was. Against them a digest holds, which is that
/// of the bytes that run; this keeps a plugin from being a way to start other programs.
/// # Errors
///
/// [`Escape`] where the file is there and lies outside.
pub(crate) fn resolve(dir: &Path, path: &Path) -> Result<PathBuf, Escape> {
    let written = dir.join(path);
    // Without a `..` and a link it is below the directory as it is written, and one look tells that.
    let plain: PathBuf = written.components().collect();
    let goes_up = plain.components().any(|it| it == Component::ParentDir);
    if !goes_up && plain.starts_with(dir) && is_link_free(&plain) {
        return Ok(plain);
    }
    let (Ok(dir), Ok(target)) = (fs::canonicalize(dir), fs::canonicalize(&written)) else {
        return Ok(written);
    };
    if target.starts_with(dir) { Ok(target) } else { Err(Escape { path: written, target }) }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_that_is_exchanged_after_the_look_leads_nowhere_else() {
        let plugin = tempfile::tempdir().expect("a directory");
        let dir = fs::canonicalize(plugin.path()).expect("it is there");
        fs::create_dir(dir.join("v1")).expect("ours");
        fs::write(dir.join("v1/tool"), "ours").expect("ours");
        for (link, target, path) in [("bin", "v1", "bin/tool"), ("tool", "v1/tool", "tool")] {
            symlink(target, dir.join(link)).expect("ours");
            let found = resolve(&dir, path.as_ref()).expect("it stays in the directory");
            assert_eq!(found, dir.join("v1/tool"));

            fs::remove_file(dir.join(link)).expect("ours");
            symlink("/bin", dir.join(link)).expect("ours");
            assert_eq!(fs::read(found).expect("it is there"), b"ours");
            let escape = resolve(&dir, link.as_ref()).expect_err("it leads out");
            assert_eq!(escape.target, fs::canonicalize("/bin").expect("it is there"));
        }
    }
}
