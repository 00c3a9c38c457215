//! A file is replaced in one step: a reader sees the former or the new content, whole.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use crate::ids;

/// Whether a file is on the disk when the function that writes it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flush {
    /// It is, also after a loss of power.
    Now,
    /// The system writes it when it likes. A process that dies loses nothing.
    Later,
}

/// Replaces a file of the user's state in one step: a reader sees the former or the new content, whole, also where two
/// processes write at once. A new file, and each directory that is missing, is the user's alone.
///
/// It does not wait for the disk: what a process wrote is there when that process dies, and may not be after a loss of power.
///
/// ```
/// let dir = tempfile::tempdir()?;
/// let file = dir.path().join("state/known.json");
/// flyto_host::replace_file(&file, b"{}")?;
/// assert_eq!(std::fs::read(&file)?, b"{}");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// The file cannot be written. `path` is as it was.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes, Flush::Later)
}

/// The file that is to be replaced where `path` is a link: what links lead to, also where that is not there yet. Of a path
/// at which there is nothing, it is the path.
///
/// # Errors
///
/// A link cannot be followed, or leads to a file in a directory that is missing.
pub fn file_behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut file = path.to_owned();
    loop {
        match fs::canonicalize(&file) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => {}
            // Also for links in a circle, and for too many of them.
            res => return res,
        }
        let Ok(target) = fs::read_link(&file) else { break };
        file = parent(&file).join(target);
    }
    if file != path && !parent(&file).is_dir() {
        let why = format!("a link leads to {}, whose directory is missing", file.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, why));
    }
    Ok(file)
}

/// Writes `bytes` into a new file beside `path`, and gives it the name `path`. Several processes may do so at once; the
/// last one counts.
///
/// Directories that are missing are made, for the user alone. A new file is the user's alone as well; the rights of one
/// that was there are kept. On an error `path` is as it was.
pub(crate) fn replace(path: &Path, bytes: &[u8], flush: Flush) -> io::Result<()> {
    let dir = parent(path);
    create_dir(dir)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let new = path.with_extension(format!("{}.new", ids::digits()));
    let written = options.open(&new).and_then(|mut file| {
        if let Ok(former) = fs::metadata(path) {
            file.set_permissions(rights_of(&former))?;
        }
        file.write_all(bytes)?;
        if flush == Flush::Now { file.sync_all() } else { Ok(()) }
    });
    if let Err(err) = written.and_then(|()| fs::rename(&new, path)) {
        let _ = fs::remove_file(&new);
        return Err(err);
    }
    if flush == Flush::Now { sync_dir(dir) } else { Ok(()) }
}

/// The directory in which a file lies.
pub(crate) fn parent(path: &Path) -> &Path {
    path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes a directory, with those above it, for the user alone. One that is there stays as it is.
pub(crate) fn create_dir(dir: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// The rights of a file without the bits that give a program the rights of its owner: the new content is not what they
/// were given to.
fn rights_of(former: &fs::Metadata) -> fs::Permissions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::Permissions::from_mode(former.permissions().mode() & 0o777)
    }
    #[cfg(not(unix))]
    former.permissions()
}

/// Waits until the names in a directory are on the disk.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a");
        for flush in [Flush::Later, Flush::Now] {
            replace(&path, b"first", flush).expect("written");
            replace(&path, b"2nd", flush).expect("written");
            assert_eq!(fs::read(&path).expect("there"), b"2nd");
        }
        // A directory cannot be replaced by a file, and no new file stays behind.
        let other = dir.path().join("b");
        fs::create_dir(&other).expect("made");
        replace(&other, b"third", Flush::Later).expect_err("it is a directory");
        assert_eq!(fs::read_dir(dir.path()).expect("listed").count(), 2);
    }

    #[test]
    fn a_link_to_a_file_that_is_missing_leads_there() {
        use std::os::unix::fs::symlink;

        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().canonicalize().expect("it is there");
        let path = |name: &str| root.join(name);
        fs::create_dir(path("sub")).expect("made");
        for (link, target) in [
            ("first", "sub/second"),
            ("sub/second", "../new"),
            ("broken", "none/new"),
            ("circle", "circle"),
        ] {
            symlink(target, path(link)).expect("linked");
        }
        let behind = |name: &str| file_behind_links(&path(name));
        assert_eq!(behind("first").expect("found"), path("sub/../new"));
        assert_eq!(behind("nothing/here").expect("found"), path("nothing/here"));
        let err = behind("broken").expect_err("no directory").to_string();
        assert!(err.ends_with("none/new, whose directory is missing"), "{err}");
        behind("circle").expect_err("no end");
        fs::write(path("new"), "").expect("written");
        assert_eq!(behind("first").expect("found"), path("new"));
    }

    #[test]
    fn rights_are_kept_without_those_of_the_owner() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a");
        replace(&path, b"1", Flush::Later).expect("written");
        let mode = || fs::metadata(&path).expect("there").permissions().mode() & 0o7777;
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o4755)).expect("set");
        replace(&path, b"2", Flush::Later).expect("written");
        assert_eq!(mode(), 0o755);
    }
}
