//! The files of the machine: what can be found, and what can be executed.
//!
//! A flat table of absolute paths. There are no links, owners or times; the right to execute is one
//! flag. Looking a program up follows the rules of the contract: the spec's `PATH`, the working
//! directory for relative paths, and the kinds of error that a real system's answers lead to.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use sha2::Digest;

use super::{ProgramFn, absolute, lock};
use crate::{ExecError, ExecErrorKind, Program, Sha256, Spec};

/// The files of one in-memory machine. Paths are absolute; clones share the files.
///
/// ```
/// use flyto_execenv::scripted::Files;
///
/// let files = Files::default();
/// files.write("/etc/motd", "hello", false);
/// assert_eq!(files.read("/etc/motd").as_deref(), Some(&b"hello"[..]));
/// assert_eq!(files.list("/etc"), ["motd"]);
/// files.remove("/etc");
/// assert!(files.read("/etc/motd").is_none());
/// ```
#[derive(Clone)]
pub struct Files(Arc<Mutex<BTreeMap<PathBuf, Node>>>);

/// What lies at a path.
#[derive(Clone)]
enum Node {
    Directory,
    Program(ProgramFn),
    File { content: Bytes, executable: bool },
}

impl Default for Files {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(BTreeMap::from([(PathBuf::from("/"), Node::Directory)]))))
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(lock(&self.0).keys()).finish()
    }
}

/// A program that was found, and the arguments that it gets.
pub(super) struct Found {
    pub(super) program: ProgramFn,
    pub(super) args: Vec<OsString>,
}

impl Files {
    /// A clone of what is there; contents are shared.
    fn get(&self, path: &Path) -> Option<Node> {
        lock(&self.0).get(path).cloned()
    }

    /// Replaces what is there, and makes the directories above.
    fn put(&self, path: &Path, node: Node) {
        let path = absolute(Path::new("/"), path);
        if let Some(parent) = path.parent() {
            self.create_dir(parent);
        }
        lock(&self.0).insert(path, node);
    }

    /// A program has no content: it cannot be read, and has no digest.
    pub(super) fn add_program(&self, path: &Path, program: ProgramFn) {
        self.put(path, Node::Program(program));
    }

    /// Makes a directory and the ones above it.
    ///
    /// A directory that is there stays as it is.
    pub fn create_dir(&self, path: impl AsRef<Path>) {
        let path = absolute(Path::new("/"), path.as_ref());
        let mut files = lock(&self.0);
        for dir in path.ancestors() {
            files.entry(dir.to_owned()).or_insert(Node::Directory);
        }
    }

    /// Writes a file. An executable one whose first line is `#!PROGRAM` runs that program with the
    /// file's path before the arguments.
    ///
    /// A file that is there is replaced, directories above it are made. The path is taken from `/`.
    pub fn write(&self, path: impl AsRef<Path>, content: impl Into<Bytes>, executable: bool) {
        self.put(path.as_ref(), Node::File { content: content.into(), executable });
    }

    /// The content of a file; `None` where there is none.
    #[must_use]
    pub fn read(&self, path: impl AsRef<Path>) -> Option<Bytes> {
        match self.get(path.as_ref()) {
            Some(Node::File { content, .. }) => Some(content),
            _ => None,
        }
    }

    /// The names in a directory, in order.
    ///
    /// Directly below it. Empty where there is no such directory.
    #[must_use]
    pub fn list(&self, dir: impl AsRef<Path>) -> Vec<OsString> {
        let files = lock(&self.0);
        let inside = files.keys().filter(|it| it.parent() == Some(dir.as_ref()));
        inside.filter_map(|it| it.file_name()).map(OsStr::to_owned).collect()
    }

    /// Removes a file, or a directory with all that it holds.
    ///
    /// Nothing happens where there is no such path.
    pub fn remove(&self, path: impl AsRef<Path>) {
        lock(&self.0).retain(|it, _| !it.starts_with(path.as_ref()));
    }

    /// Puts a file in the place of another one.
    #[cfg(feature = "conformance")]
    pub(crate) fn rename(&self, from: &Path, to: &Path) {
        let mut files = lock(&self.0);
        if let Some(node) = files.remove(from) {
            files.insert(to.to_owned(), node);
        }
    }

    /// Finds the spec's program as a real system would.
    ///
    /// # Errors
    ///
    /// The kinds that the contract names: `ProgramNotFound`, `NotExecutable`, `IsDirectory`,
    /// `BadInterpreter`, `BadWorkingDir` and `DigestMismatch`.
    pub(super) fn find(&self, spec: &Spec) -> Result<Found, ExecError> {
        let name = spec.program.as_os_str();
        let refuse = |kind| Err(ExecError::new(kind, format!("start {name:?}")));
        let path = if name.as_encoded_bytes().contains(&b'/') {
            absolute(&spec.working_dir, Path::new(name))
        } else {
            match self.look_up(spec, name) {
                Ok(path) => path,
                Err(kind) => return refuse(kind),
            }
        };
        if !matches!(self.get(&absolute(Path::new("/"), &spec.working_dir)), Some(Node::Directory))
        {
            return refuse(ExecErrorKind::BadWorkingDir);
        }
        match self.get(&path) {
            None => refuse(ExecErrorKind::ProgramNotFound),
            Some(Node::Directory) => refuse(ExecErrorKind::IsDirectory),
            // A function has no bytes and so no digest.
            Some(Node::Program(_)) if matches!(spec.program, Program::Pinned { .. }) => {
                refuse(ExecErrorKind::DigestMismatch)
            }
            Some(Node::Program(program)) => Ok(Found { program, args: spec.args.clone() }),
            Some(Node::File { executable: false, .. }) => refuse(ExecErrorKind::NotExecutable),
            Some(Node::File { content, .. }) => {
                let path = match &spec.program {
                    Program::Pinned { sha256, .. } => self.pin(&path, &content, *sha256, spec)?,
                    Program::Named(_) => path,
                };
                let Some(line) = content.strip_prefix(b"#!") else {
                    return refuse(ExecErrorKind::NotExecutable);
                };
                let line = line.split(|it| *it == b'\n').next().unwrap_or(line);
                let interpreter = String::from_utf8_lossy(line.trim_ascii()).into_owned();
                match self.get(Path::new(&interpreter)) {
                    Some(Node::Program(program)) => {
                        let args = [path.into_os_string()].into_iter().chain(spec.args.clone());
                        Ok(Found { program, args: args.collect() })
                    }
                    _ => refuse(ExecErrorKind::BadInterpreter),
                }
            }
        }
    }

    /// A copy of the file at `path`, if its content has the digest: the file may change before its
    /// interpreter reads it.
    fn pin(
        &self,
        path: &Path,
        content: &Bytes,
        wanted: Sha256,
        spec: &Spec,
    ) -> Result<PathBuf, ExecError> {
        let got = Sha256(sha2::Sha256::digest(content).into());
        if got != wanted {
            let what = format!("start {:?}", spec.program.as_os_str());
            let why = format!("its SHA-256 is {got} where {wanted} is demanded");
            return Err(ExecError::new(ExecErrorKind::DigestMismatch, what).with_source(why));
        }
        let dir = Path::new("/pinned").join(got.to_string());
        let copy = dir.join(path.file_name().unwrap_or_default());
        self.write(&copy, content.clone(), true);
        Ok(copy)
    }

    /// # Errors
    ///
    /// `NotExecutable` where a file of the name was found that may not be executed, else
    /// `ProgramNotFound`.
    fn look_up(&self, spec: &Spec, name: &OsStr) -> Result<PathBuf, ExecErrorKind> {
        let mut reason = ExecErrorKind::ProgramNotFound;
        for dir in spec.env.get("PATH").map(std::env::split_paths).into_iter().flatten() {
            let candidate = absolute(&spec.working_dir, &dir.join(name));
            match self.get(&candidate) {
                Some(Node::Program(_) | Node::File { executable: true, .. }) => {
                    return Ok(candidate);
                }
                Some(Node::File { .. }) => reason = ExecErrorKind::NotExecutable,
                Some(Node::Directory) | None => {}
            }
        }
        Err(reason)
    }
}
