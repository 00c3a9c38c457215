//! What became of every source of tools.

use std::path::PathBuf;

use flyto_diagnostics::{Diagnostic, Findings};
use flyto_plugin::{Catalogue, DirState, Found};
use serde::{Serialize, Serializer, ser::SerializeStruct};

/// What became of every source of tools: nothing is left out silently.
///
/// Serialised, it is an object with `plugin_dirs`, `plugins`, `exec_files` and `findings`, each an array in the
/// order of the sources.
///
/// A program that starts tells its user the [`findings`](Self::findings); one that lists tools
/// takes the state of each source from here.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct LoadReport {
    /// The plugins, and the directories in which they were searched.
    pub catalogue: Catalogue,
    /// The files with tool definitions.
    pub exec_files: Vec<ExecFile>,
    /// Tools that could not be registered: another one has the name.
    pub names: Findings,
    /// What the configuration says about plugins that are not there, and what plugins declare that
    /// this program does not start.
    pub settings: Findings,
    /// Why changes of some files are noticed late. Empty unless a host watches its sources.
    ///
    /// Warnings of the code [`NOT_WATCHED`](crate::codes::NOT_WATCHED).
    pub watching: Findings,
}

/// A file with tool definitions.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ExecFile {
    /// The path as it was given.
    pub path: PathBuf,
    /// What became of it.
    pub state: ExecFileState,
    /// The names of its tools; `None` where the file was refused.
    pub tools: Option<Vec<String>>,
    /// What is wrong or odd about it.
    pub findings: Findings,
}

/// What became of a file with tool definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExecFileState {
    /// It is loaded.
    Loaded,
    /// An edit cannot be used, and the tools of the last good version are still there.
    Kept,
    /// It is not loaded; the findings say why.
    Refused,
}

impl ExecFileState {
    /// One word for a report: `loaded`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loaded => "loaded",
            Self::Kept => "kept",
            Self::Refused => "refused",
        }
    }
}

impl LoadReport {
    /// Everything that is wrong or odd, in the order of the sources.
    pub fn findings(&self) -> impl Iterator<Item = &Diagnostic> {
        let files = self.exec_files.iter().flat_map(|it| it.findings.iter());
        let own = [&self.names, &self.settings, &self.watching];
        self.catalogue.findings().chain(files).chain(own.into_iter().flatten())
    }

    /// What became of the plugin of this name, loaded or not. Where several have it, the one that
    /// is in use comes first.
    #[must_use]
    pub fn plugin(&self, name: &str) -> Option<&Found> {
        let named = || self.catalogue.found.iter().filter(|it| it.name.as_deref() == Some(name));
        named().find(|it| it.plugin.is_some()).or_else(|| named().next())
    }
}

impl Serialize for LoadReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let dirs: Vec<_> = self
            .catalogue
            .dirs
            .iter()
            .map(|it| Dir { path: it.path.display().to_string(), state: dir_state(it.state) })
            .collect();
        let plugins: Vec<_> = self.catalogue.found.iter().map(Plugin::new).collect();
        let files: Vec<_> = self
            .exec_files
            .iter()
            .map(|it| File {
                path: it.path.display().to_string(),
                state: it.state.name(),
                tools: it.tools.as_deref().unwrap_or_default(),
            })
            .collect();
        let findings: Vec<_> = self.findings().collect();
        let mut shown = serializer.serialize_struct("LoadReport", 4)?;
        shown.serialize_field("plugin_dirs", &dirs)?;
        shown.serialize_field("plugins", &plugins)?;
        shown.serialize_field("exec_files", &files)?;
        shown.serialize_field("findings", &findings)?;
        shown.end()
    }
}

/// A directory of plugins, as it is serialised.
#[derive(Serialize)]
struct Dir {
    path: String,
    state: &'static str,
}

/// A plugin, as it is serialised.
#[derive(Serialize)]
struct Plugin<'a> {
    name: Option<&'a str>,
    dir: String,
    version: Option<&'a str>,
    state: &'static str,
    tools: Vec<&'a str>,
    /// Declared, and not started.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    servers: Vec<&'a str>,
}

/// A file of tool definitions, as it is serialised.
#[derive(Serialize)]
struct File<'a> {
    path: String,
    state: &'static str,
    tools: &'a [String],
}

impl<'a> Plugin<'a> {
    fn new(found: &'a Found) -> Self {
        let plugin = found.plugin.as_deref();
        Self {
            name: found.name.as_deref(),
            dir: found.dir.display().to_string(),
            version: plugin.and_then(|it| it.manifest().version.as_deref()),
            state: found.state.name(),
            tools: plugin
                .map(|it| it.tools().iter().map(|tool| tool.name.as_str()).collect())
                .unwrap_or_default(),
            servers: plugin
                .map(|it| it.manifest().servers.iter().map(|it| it.name.as_str()).collect())
                .unwrap_or_default(),
        }
    }
}

/// One word; `unknown` for a state that this version does not know.
fn dir_state(state: DirState) -> &'static str {
    match state {
        DirState::Searched => "searched",
        DirState::Plugin => "plugin",
        DirState::Missing => "missing",
        DirState::Unreadable => "unreadable",
        DirState::Repeated => "repeated",
        _ => "unknown",
    }
}
