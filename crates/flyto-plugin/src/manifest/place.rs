//! Where a manifest lies, and what was seen there.
//!
//! A search makes one [`Seen`] for each of its threads and one [`Place`] for each manifest, so
//! that many plugins that name the same file cost one look at it.

use std::{
    cell::RefCell,
    fs::{self, Metadata},
    path::{Path, PathBuf},
};

use flyto_tools::{SchemaChecker, SchemaError};
use serde_json::Value;

use super::dialect::Dialect;
use crate::options::LoadOptions;

/// Where a manifest lies, and how closely it is looked at.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    /// The plugin's directory, absolute.
    pub(crate) dir: &'a Path,
    /// The value of `PLUGIN_ROOT`; servers that no plugin declares have none.
    pub(super) root: Option<&'a Path>,
    /// How closely to look, with the `PATH` and the environment of the host.
    pub(crate) options: &'a LoadOptions,
    /// The programs and directories that were looked at.
    pub(crate) seen: &'a Seen,
    /// Whether no path may lead out of the directory.
    pub(super) is_confined: bool,
    /// How the servers of the manifest refer to variables; with that of Claude Code it is a manifest of Claude Code.
    pub(super) dialect: Dialect,
}

impl<'a> Place<'a> {
    /// Begins the bound of work for schemas anew: it holds for each manifest.
    pub(crate) fn new(dir: &'a Path, options: &'a LoadOptions, seen: &'a Seen) -> Self {
        seen.next_manifest();
        Self { dir, root: Some(dir), options, seen, is_confined: false, dialect: Dialect::Own }
    }

    /// The same for a manifest of Claude Code.
    pub(crate) fn of_claude(self) -> Self {
        Self { dialect: Dialect::Claude, ..self }
    }
}

/// What lies at the paths that were looked at last, the newest first: the tools of a plugin often share
/// one program, and those of many plugins a directory.
#[derive(Default)]
pub(crate) struct Seen {
    /// At most [`Self::MOST`].
    paths: RefCell<Vec<SeenPath>>,
    /// What checks the schemas of the manifest at hand.
    schemas: RefCell<SchemaChecker>,
}

/// A path that was looked at.
struct SeenPath {
    /// Where it starts; empty where `path` is the whole one.
    dir: PathBuf,
    path: PathBuf,
    /// `None` where nothing is.
    metadata: Option<Metadata>,
}

impl Seen {
    /// How many paths are kept.
    const MOST: usize = 8;

    /// Begins with the next manifest.
    ///
    /// Paths that were seen stay.
    pub(super) fn next_manifest(&self) {
        *self.schemas.borrow_mut() = SchemaChecker::new();
    }

    /// Whether a schema of the manifest compiles.
    /// Schemas beyond about a second of work in one manifest pass unless they are too large; a
    /// call tells the rest.
    pub(super) fn check_schema(&self, schema: &Value) -> Result<(), SchemaError> {
        self.schemas.borrow_mut().check(schema)
    }

    /// What stat(2) tells of a path, links followed; `None` where that fails. A path is compared
    /// as it is written.
    pub(super) fn metadata(&self, path: &Path) -> Option<Metadata> {
        self.metadata_in(Path::new(""), path)
    }

    /// The same for a path that starts in `dir`, unless it is absolute.
    pub(super) fn metadata_in(&self, dir: &Path, path: &Path) -> Option<Metadata> {
        let mut seen = self.paths.borrow_mut();
        let is_it = |it: &&SeenPath| {
            it.path.as_os_str() == path.as_os_str() && it.dir.as_os_str() == dir.as_os_str()
        };
        if let Some(known) = seen.iter().find(is_it) {
            return known.metadata.clone();
        }
        let metadata = fs::metadata(dir.join(path)).ok();
        seen.truncate(Self::MOST - 1);
        let (dir, path) = (dir.to_owned(), path.to_owned());
        seen.insert(0, SeenPath { dir, path, metadata: metadata.clone() });
        metadata
    }
}
