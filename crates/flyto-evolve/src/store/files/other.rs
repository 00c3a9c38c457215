//! Files on other systems, by paths.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::PathBuf,
    time::Duration,
};

use super::{Disk, Files, LOCK, lock_file};

impl Disk {
    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// A new file with these bytes.
    fn written(&self, path: &str, bytes: &[u8]) -> io::Result<File> {
        let mut file = OpenOptions::new().write(true).create_new(true).open(self.path(path))?;
        file.write_all(bytes)?;
        Ok(file)
    }
}

fn or_missing<T>(res: io::Result<T>) -> io::Result<Option<T>> {
    match res {
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

impl Files for Disk {
    fn make_dir(&self, dir: &str) -> io::Result<()> {
        fs::create_dir_all(self.path(dir))
    }

    fn read(&self, path: &str, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
        let Some(meta) = or_missing(fs::symlink_metadata(self.path(path)))? else {
            return Ok(None);
        };
        if !meta.is_file() || meta.len() > max_bytes {
            return Err(io::Error::other(format!("it is no file of at most {max_bytes} bytes")));
        }
        let mut res = Vec::new();
        File::open(self.path(path))?.take(max_bytes).read_to_end(&mut res)?;
        Ok(Some(res))
    }

    fn names(&self, dir: &str) -> io::Result<Vec<String>> {
        let Some(entries) = or_missing(fs::read_dir(self.path(dir)))? else {
            return Ok(Vec::new());
        };
        let mut res = Vec::new();
        for entry in entries {
            res.extend(entry?.file_name().into_string());
        }
        res.sort_unstable();
        Ok(res)
    }

    fn write_new(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.written(path, bytes)?.sync_all()
    }

    fn write_unsynced(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.written(path, bytes).map(drop)
    }

    fn link(&self, from: &str, to: &str) -> io::Result<()> {
        fs::hard_link(self.path(from), self.path(to))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        or_missing(fs::remove_file(self.path(path))).map(drop)
    }

    /// Directories cannot be opened there; a rename is on the disk with its file.
    fn sync_dir(&self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, wait: Duration) -> io::Result<Option<File>> {
        let file =
            OpenOptions::new().write(true).create(true).truncate(false).open(self.path(LOCK))?;
        lock_file(file, wait)
    }
}
