//! Putting the files of a plugin where they belong: all of them or none.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::templates::{File, Mode};

/// Whether a plugin can be written there: nothing is, or an empty directory.
pub(super) fn is_free(dir: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(dir) {
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(err) => Err(err),
        Ok(found) if found.is_dir() => Ok(fs::read_dir(dir)?.next().is_none()),
        Ok(_) => Ok(false),
    }
}

/// Writes the files into the new directory `dir`, whose parents are made as well.
///
/// They are written beside it and get their place in one step, which the system refuses where
/// something has come in between.
pub(super) fn write(dir: &Path, files: &[File]) -> io::Result<()> {
    let parent = dir.parent().unwrap_or(Path::new(""));
    if !parent.as_os_str().is_empty() {
        fs::create_dir_all(parent)?;
    }
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let staged = Staged::new(parent.join(format!(".{name}.new-{}", std::process::id())))?;
    for file in files {
        write_file(&staged.0, file)?;
    }
    fs::rename(&staged.0, dir)
}

fn write_file(dir: &Path, file: &File) -> io::Result<()> {
    let path = dir.join(file.path);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mode = match file.mode {
        Mode::Plain => 0o666,
        Mode::Executable => 0o777,
    };
    let mut opened = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    opened.write_all(file.text.as_bytes())?;
    // A full disk shows here at the latest on some file systems.
    opened.sync_all()
}

/// A directory that is removed again unless it is moved away.
struct Staged(PathBuf);

impl Staged {
    fn new(dir: PathBuf) -> io::Result<Self> {
        fs::create_dir(&dir)?;
        Ok(Self(dir))
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // Once it has been moved there is nothing to remove.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &'static str) -> File {
        File { path, text: "text".to_owned(), mode: Mode::Plain }
    }

    #[track_caller]
    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).expect("a directory");
        let name = |it: io::Result<fs::DirEntry>| it.expect("an entry").file_name();
        let mut res: Vec<_> = entries.map(|it| name(it).to_string_lossy().into_owned()).collect();
        res.sort();
        res
    }

    #[test]
    fn files_get_their_place_together() {
        let place = tempfile::tempdir().expect("a directory");
        let dir = place.path().join("deep/down/p");
        write(&dir, &[file("a"), file("b/c")]).expect("written");
        assert_eq!(names(&dir), ["a", "b"]);
        assert_eq!(names(dir.parent().expect("a parent")), ["p"]);
        assert!(!is_free(&dir).expect("readable"));
    }

    #[test]
    fn an_empty_directory_is_taken_and_a_full_one_is_not() {
        let place = tempfile::tempdir().expect("a directory");
        let dir = place.path().join("p");
        fs::create_dir(&dir).expect("made");
        assert!(is_free(&dir).expect("readable"));
        write(&dir, &[file("a")]).expect("written");
        write(&dir, &[file("b")]).expect_err("there is something");
        assert_eq!(names(&dir), ["a"]);
        assert_eq!(names(place.path()), ["p"]);
    }

    #[test]
    fn nothing_remains_of_what_cannot_be_written_whole() {
        let place = tempfile::tempdir().expect("a directory");
        let dir = place.path().join("p");
        // The second file needs a directory where the first one lies.
        write(&dir, &[file("a"), file("a/b")]).expect_err("no such place");
        assert_eq!(names(place.path()), [] as [&str; 0]);
    }
}
