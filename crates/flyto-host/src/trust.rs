//! Which content of a project's configuration the operator trusts.
//!
//! Trust is of content and not of a directory: a tool that works on a project can write the project's files.
//!
//! A record holds the whole content, not only its digest: what narrowed in the trusted file goes on
//! to narrow when the file is changed or gone. They lie below the state directory, which the
//! profiles `workspace` and `strict` close to programs.

use std::{
    error::Error,
    fmt, fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use flyto_diagnostics::files::{self, ReadError};
use serde::{Deserialize, Serialize};

use crate::{
    clock::day,
    ids::hash,
    links,
    places::Places,
    replace::{Flush, replace, sync_dir},
};

/// The records of trust below the user's state directory, one file for each project.
///
/// A file has its name from the SHA-256 of the project's canonical path, and only the user can read it.
///
/// ```
/// use std::path::Path;
///
/// use flyto_execenv::Environment;
/// use flyto_host::{Places, TrustStore};
///
/// # let dir = tempfile::tempdir()?;
/// let env: Environment = [("XDG_STATE_HOME", dir.path())].into_iter().collect();
/// let store = TrustStore::of(&Places::from_env(&env)).expect("there is a state directory");
/// let project = Path::new("/home/ada/project");
/// store.trust(project, "{\"exec_tools\": [\"tools.json\"]}")?;
/// assert!(store.find(project)?.is_some_and(|it| it.content.contains("tools.json")));
/// assert!(store.remove(project)? && store.find(project)?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustStore {
    dir: PathBuf,
}

/// A record: the operator trusts this content of a project's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trusted {
    /// The project's canonical path; bytes that are not UTF-8 are replaced.
    pub project: PathBuf,
    /// The SHA-256 of the content, as 64 hexadecimal digits in lower case.
    pub sha256: String,
    /// When the operator trusted it.
    pub since: SystemTime,
    /// The content, as it was when the operator trusted it; what narrows in it holds beside a file that has
    /// changed since.
    pub content: String,
}

/// A record that cannot be used.
#[derive(Debug)]
pub struct TrustError {
    /// The file of the record.
    pub path: PathBuf,
    source: Box<dyn Error + Send + Sync>,
}

impl fmt::Display for TrustError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to read the record of trust {:?}", self.path)
    }
}

impl Error for TrustError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.source)
    }
}

/// A record as it is written.
#[derive(Serialize, Deserialize)]
struct Record {
    project: String,
    sha256: String,
    /// Seconds since 1970.
    trusted_at: u64,
    content: String,
}

impl TrustStore {
    /// The store of one user; `None` where the user has no state directory.
    #[must_use]
    pub fn of(places: &Places) -> Option<Self> {
        Some(Self { dir: places.state_dir.as_ref()?.join("trust") })
    }

    /// Whether there are no records at all.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(fs::symlink_metadata(&self.dir), Err(err) if err.kind() == io::ErrorKind::NotFound)
    }

    /// Records that the operator trusts this content. `project` is a canonical path.
    ///
    /// The record is there whole or not at all, also after a loss of power.
    ///
    /// # Errors
    ///
    /// The record cannot be written.
    ///
    /// A record of the same project is replaced. The file has mode 0600, its directory 0700.
    pub fn trust(&self, project: &Path, content: &str) -> io::Result<Trusted> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let record = Record {
            project: project.to_string_lossy().into_owned(),
            sha256: hash(content.as_bytes()),
            trusted_at: now.as_secs(),
            content: content.to_owned(),
        };
        let text = serde_json::to_string_pretty(&record)?;
        let path = self.path(project);
        let named = |err: io::Error| io::Error::new(err.kind(), format!("{path:?}: {err}"));
        replace(&path, text.as_bytes(), Flush::Now).map_err(named)?;
        Ok(Trusted::new(record))
    }

    /// The record of a project; `None` where there is none. `project` is a canonical path.
    ///
    /// # Errors
    ///
    /// There is a record, and it cannot be used.
    ///
    /// Another project's record in this place, content that does not have its digest, and a file
    /// that cannot be read are errors; a directory of another user that is closed to this one is no
    /// record.
    pub fn find(&self, project: &Path) -> Result<Option<Trusted>, TrustError> {
        let path = self.path(project);
        let found = match read(&path) {
            // Where another user keeps this one out, this one has recorded nothing.
            Err(_) if is_kept_out(&path) => None,
            found => found?,
        };
        match found {
            Some(it) if it.project.to_string_lossy() == project.to_string_lossy() => Ok(Some(it)),
            Some(_) => {
                Err(TrustError { path, source: "it is the record of another project".into() })
            }
            None => Ok(None),
        }
    }

    /// All records in the order of their projects, and those that cannot be used.
    ///
    /// # Errors
    ///
    /// The records cannot be listed.
    ///
    /// Files with another ending than `.json` are passed over.
    pub fn list(&self) -> io::Result<(Vec<Trusted>, Vec<TrustError>)> {
        let (mut res, mut bad) = (Vec::new(), Vec::new());
        if self.is_empty() {
            return Ok((res, bad));
        }
        for entry in fs::read_dir(&self.dir)? {
            let path = entry?.path();
            if path.extension().is_some_and(|it| it == EXTENSION) {
                match read(&path) {
                    Ok(found) => res.extend(found),
                    Err(err) => bad.push(err),
                }
            }
        }
        res.sort_by(|a, b| a.project.cmp(&b.project));
        bad.sort_by(|a, b| a.path.cmp(&b.path));
        Ok((res, bad))
    }

    /// Removes the record of a project, also one that cannot be used, and says whether there was one.
    ///
    /// # Errors
    ///
    /// The record cannot be removed.
    ///
    /// `true` is returned only after the removal is on the disk.
    pub fn remove(&self, project: &Path) -> io::Result<bool> {
        match fs::remove_file(self.path(project)) {
            Ok(()) => self.sync().map(|()| true),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(err) => Err(err),
        }
    }

    /// The SHA-256 of the path's bytes, as 64 hexadecimal digits.
    fn path(&self, project: &Path) -> PathBuf {
        let name = hash(project.as_os_str().as_encoded_bytes());
        self.dir.join(name).with_extension(EXTENSION)
    }

    /// Waits until the names in the directory are on the disk.
    fn sync(&self) -> io::Result<()> {
        sync_dir(&self.dir)
    }
}

/// The ending of a record's file.
const EXTENSION: &str = "json";

impl Trusted {
    fn new(record: Record) -> Self {
        let Record { project, sha256, trusted_at, content } = record;
        let since = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(trusted_at));
        let since = since.unwrap_or(SystemTime::UNIX_EPOCH);
        Self { project: project.into(), sha256, since, content }
    }

    /// The day on which the operator trusted it, in UTC: `2026-11-22`.
    ///
    /// The year has four digits at least.
    #[must_use]
    pub fn day(&self) -> String {
        let since = self.since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        day(since.as_secs() / (24 * 60 * 60))
    }
}

/// The record in a file; `None` where there is no file.
fn read(path: &Path) -> Result<Option<Trusted>, TrustError> {
    let unusable = |source| TrustError { path: path.to_owned(), source };
    let bytes = match files::read(path) {
        Ok(bytes) => bytes,
        Err(ReadError::Missing) => return Ok(None),
        Err(err) => return Err(unusable(err.into())),
    };
    let record: Record = serde_json::from_slice(&bytes).map_err(|err| unusable(err.into()))?;
    if hash(record.content.as_bytes()) != record.sha256 {
        return Err(unusable("the content does not have the recorded digest".into()));
    }
    Ok(Some(Trusted::new(record)))
}

/// Whether a directory of another user is closed on the way to a path. One of this user's own can have been closed by a
/// program of this user, which must not loosen anything by that.
fn is_kept_out(path: &Path) -> bool {
    let seen = path.ancestors().find_map(|it| it.symlink_metadata().ok());
    seen.is_some_and(|it| it.is_dir() && !links::is_own(&it))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, TrustStore) {
        let dir = tempfile::tempdir().expect("there is room");
        let places = Places { state_dir: Some(dir.path().join("state")), ..Places::default() };
        (dir, TrustStore::of(&places).expect("there is a state directory"))
    }

    #[test]
    fn a_record_is_found_until_it_is_removed() {
        let (_dir, store) = store();
        let project = Path::new("/p");
        assert!(store.is_empty() && store.list().expect("empty").0.is_empty());
        assert_eq!(store.find(project).expect("none"), None);
        assert!(!store.remove(project).expect("none"));

        let first = store.trust(project, "{}").expect("written");
        assert_eq!(store.find(project).expect("one"), Some(first));
        let second = store.trust(project, "{ }").expect("written");
        assert_eq!(store.find(project).expect("one"), Some(second.clone()));
        assert_eq!(store.find(Path::new("/q")).expect("none"), None);
        let other = store.trust(Path::new("/a"), "{}").expect("written");
        assert_eq!(store.list().expect("two").0, [other, second]);

        assert!(store.remove(project).expect("removed"));
        assert_eq!(store.find(project).expect("none"), None);
    }

    #[cfg(unix)]
    #[test]
    fn only_the_user_reads_a_record_and_nothing_else_is_left() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_dir, store) = store();
        store.trust(Path::new("/p"), "{}").expect("written");
        let mode =
            |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
        assert_eq!(mode(&store.dir), 0o700);
        let entries: Vec<_> = fs::read_dir(&store.dir).expect("listed").flatten().collect();
        let [entry] = &entries[..] else { panic!("one file: {entries:?}") };
        assert_eq!(mode(&entry.path()), 0o600);
        let hash = "5e59ddd9eb76e9dff8c8a4b6acbf39a3c4f67ce7e1e2f0a5f6e6a0f9cdbd8c07".len();
        assert_eq!(entry.file_name().len(), hash + ".json".len());
    }

    #[test]
    fn a_record_that_was_changed_is_told() {
        let (_dir, store) = store();
        let project = Path::new("/p");
        store.trust(project, r#"{"sandbox": "strict"}"#).expect("written");
        let path = store.path(project);
        let text = fs::read_to_string(&path).expect("it is there");
        for bad in [text.replace("strict", "nothin"), text.replace("/p", "/q"), "{".to_owned()] {
            fs::write(&path, bad).expect("written");
            assert_eq!(store.find(project).expect_err("unusable").path, path);
        }
        assert_eq!(store.list().expect("listed").1.len(), 1);
        assert!(store.remove(project).expect("removed"));
    }

    #[cfg(unix)]
    #[test]
    fn a_directory_of_another_user_keeps_a_record_out_and_ones_own_does_not() {
        let (dir, store) = store();
        assert!(!is_kept_out(&store.path(Path::new("/p"))));
        // Root may give a directory away; for any other user, `/` is another user's.
        let other = match rustix::process::geteuid().is_root() {
            true => {
                std::os::unix::fs::chown(dir.path(), Some(65_534), None).expect("root may");
                dir.path()
            }
            false => Path::new("/"),
        };
        assert!(is_kept_out(&other.join("trust/record.json")));
        assert!(is_kept_out(other));
    }
}
