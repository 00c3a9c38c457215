//! The plugins of some directories at one moment.

use std::{fmt, path::PathBuf, sync::Arc};

use flyto_diagnostics::{Diagnostic, Findings};

use crate::{filter::Filter, load::Plugin, options::LoadOptions};

/// The plugins of some directories at one moment, each with what became of it.
///
/// A value: it stays as it is whatever happens to the files. [`reload`](Self::reload) makes the next
/// one and says what has changed.
/// The default has searched nothing and holds nothing.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Catalogue {
    /// The directories that were searched, in the order given.
    ///
    /// One for each path that was given, also for those that are missing.
    pub dirs: Vec<SearchedDir>,
    /// Every plugin that was found, in the order of the directories and by file name within each.
    pub found: Vec<Found>,
    /// How it was made, for the next one.
    pub(super) asked: Arc<Asked>,
}

/// What a catalogue was asked for, beside its directories.
///
/// Shared by the catalogues of one line of reloads.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) filter: Filter,
    pub(super) options: LoadOptions,
}

/// Equal when the same was found, in the same directories.
impl PartialEq for Catalogue {
    fn eq(&self, other: &Self) -> bool {
        self.dirs == other.dirs && self.found == other.found
    }
}

/// Shows what was found.
impl fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalogue")
            .field("dirs", &self.dirs)
            .field("found", &self.found)
            .finish_non_exhaustive()
    }
}

/// A directory in which plugins were searched.
///
/// A report lists it even where nothing was found: skipping is never silent.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SearchedDir {
    /// The path as it was given.
    pub path: PathBuf,
    /// What it turned out to be.
    pub state: DirState,
    /// Why it, or an entry of it, could not be read.
    pub findings: Findings,
}

/// What a directory turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DirState {
    /// It was searched.
    Searched,
    /// It is a plugin itself, and nothing below it was searched.
    ///
    /// A manifest that was in use and is gone is looked for once more before the directory is
    /// searched.
    Plugin,
    /// It is not there.
    Missing,
    /// It could not be read, or not to its end.
    Unreadable,
    /// It is the same directory as one before it.
    ///
    /// Compared with links resolved. Its plugins are found once, under the first path.
    Repeated,
}

/// A directory with a manifest.
///
/// A directory without a manifest is no plugin, and has no `Found`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Found {
    /// The plugin's directory, as a path from the one that was searched.
    pub dir: PathBuf,
    /// The name that it goes by, where the manifest could be read that far. That is the name as it is
    /// written, but for one that is no name of a plugin in a format that knows other names.
    pub name: Option<String>,
    /// What became of it.
    pub state: PluginState,
    /// The plugin, where one is in use.
    ///
    /// The same [`Arc`] in two catalogues means that nothing about the plugin has changed.
    pub plugin: Option<Arc<Plugin>>,
    /// Everything that is wrong or odd about it. A plugin that the filter holds back is not looked
    /// at beyond its name.
    pub findings: Findings,
}

/// What became of a plugin.
///
/// The first three are in use, with a plugin; the others have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PluginState {
    /// It is loaded, whole. There may be warnings.
    Loaded,
    /// It is loaded without the parts that have errors.
    LoadedWithErrors,
    /// The last good version is in use, since an edit cannot be; the findings are about the edit. Only
    /// after a [`Catalogue::reload`].
    Kept,
    /// It is not loaded; the findings say why.
    Refused,
    /// The operator blocked its name.
    Blocked,
    /// There is a list of allowed plugins, and it is not on it.
    NotAllowed,
    /// Plugins are switched off.
    Disabled,
}

impl PluginState {
    /// A few words for a report: `loaded`, `not allowed`.
    ///
    /// In lower case. [`Display`](fmt::Display) shows the same.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loaded => "loaded",
            Self::LoadedWithErrors => "loaded with errors",
            Self::Kept => "kept",
            Self::Refused => "refused",
            Self::Blocked => "blocked",
            Self::NotAllowed => "not allowed",
            Self::Disabled => "disabled",
        }
    }
}

impl fmt::Display for PluginState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Found {
    /// The findings about one tool, by the name that the manifest gives it; empty where there is
    /// nothing to say, or no such tool. What is wrong with an edit is not about the tools of the
    /// version that was kept.
    pub fn findings_about(&self, tool: &str) -> impl Iterator<Item = &Diagnostic> {
        let plugin = self.plugin.as_ref().filter(|_| self.state != PluginState::Kept);
        let entries: Vec<_> = plugin.into_iter().flat_map(|it| it.entries(tool)).collect();
        let manifest = plugin.map(|it| it.source().name());
        // A plugin may have a second file, with places of its own.
        let of_manifest = move |it: &&Diagnostic| Some(it.location.name()) == manifest;
        self.findings.iter().filter(of_manifest).filter(move |finding| {
            finding.location.span().is_some_and(|place| {
                entries.iter().any(|it| it.start <= place.start && place.end <= it.end)
            })
        })
    }
}

impl Catalogue {
    /// The plugins in use, in order.
    pub fn plugins(&self) -> impl Iterator<Item = &Arc<Plugin>> {
        self.found.iter().filter_map(|it| it.plugin.as_ref())
    }

    /// The plugin in use of this name.
    ///
    /// `name` is compared exactly.
    #[must_use]
    pub fn plugin(&self, name: &str) -> Option<&Arc<Plugin>> {
        self.plugins().find(|it| it.name() == name)
    }

    /// All findings, about directories first.
    pub fn findings(&self) -> impl Iterator<Item = &Diagnostic> {
        let dirs = self.dirs.iter().flat_map(|it| &it.findings);
        dirs.chain(self.found.iter().flat_map(|it| &it.findings))
    }
}

const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Catalogue>();
};
