//! All plugins of some directories.

use std::{
    collections::HashMap,
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use flyto_diagnostics::{At, Diagnostic, Findings, Location, json, quoted};

use crate::{
    codes,
    filter::{Filter, Verdict},
    load::{self, LoadOptions, MANIFEST_FILE, Plugin, Unread},
    manifest::Place,
};

/// The plugins of some directories at one moment, each with what became of it.
///
/// A value: it stays as it is whatever happens to the files, so a host makes another one to see
/// changes, and compares.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Catalogue {
    /// The directories that were searched, in the order given.
    pub dirs: Vec<SearchedDir>,
    /// Every plugin that was found, in the order of the directories and by file name within each.
    pub found: Vec<Found>,
}

/// A directory in which plugins were searched.
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
    Plugin,
    /// It is not there.
    Missing,
    /// It could not be read, or not to its end.
    Unreadable,
    /// It is the same directory as one before it.
    Repeated,
}

/// A directory with a manifest.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Found {
    /// The plugin's directory, as a path from the one that was searched.
    pub dir: PathBuf,
    /// The name as the manifest writes it, where it could be read that far.
    pub name: Option<String>,
    /// What became of it.
    pub state: PluginState,
    /// The plugin, where it is loaded.
    pub plugin: Option<Arc<Plugin>>,
    /// Everything that is wrong or odd about it. A plugin that the filter holds back is not looked
    /// at beyond its name.
    pub findings: Findings,
}

/// What became of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PluginState {
    /// It is loaded, whole. There may be warnings.
    Loaded,
    /// It is loaded without the parts that have errors.
    LoadedWithErrors,
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
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loaded => "loaded",
            Self::LoadedWithErrors => "loaded with errors",
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
    /// nothing to say, or no such tool.
    pub fn findings_about(&self, tool: &str) -> impl Iterator<Item = &Diagnostic> {
        let entries: Vec<_> = self.plugin.iter().flat_map(|it| it.entries(tool)).collect();
        self.findings.iter().filter(move |finding| {
            finding.location.span().is_some_and(|place| {
                entries.iter().any(|it| it.start <= place.start && place.end <= it.end)
            })
        })
    }
}

impl Catalogue {
    /// Searches directories for plugins, one level deep and following links.
    ///
    /// A directory that has a manifest itself is one plugin, and nothing below it is searched; so a
    /// list may name both collections and single plugins. Directories that are not there are no
    /// problem. Of two plugins with one name the first stays, and the other is refused. Whatever
    /// cannot be read costs itself only.
    #[must_use]
    pub fn discover(
        dirs: impl IntoIterator<Item: AsRef<Path>>,
        filter: &Filter,
        options: &LoadOptions,
    ) -> Self {
        let mut search = Search {
            filter,
            options,
            seen: Vec::new(),
            owners: HashMap::new(),
            res: Self::default(),
        };
        for dir in dirs {
            search.dir(dir.as_ref());
        }
        search.res
    }

    /// The loaded plugins, in order.
    pub fn plugins(&self) -> impl Iterator<Item = &Arc<Plugin>> {
        self.found.iter().filter_map(|it| it.plugin.as_ref())
    }

    /// The loaded plugin of this name.
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

struct Search<'a> {
    filter: &'a Filter,
    options: &'a LoadOptions,
    /// The directories so far, without links.
    seen: Vec<PathBuf>,
    /// Where the first loaded plugin of each name says it.
    owners: HashMap<String, Location>,
    res: Catalogue,
}

impl Search<'_> {
    fn dir(&mut self, path: &Path) {
        let mut findings = Findings::new();
        let state = self.search(path, &mut findings).unwrap_or_else(|err| match err.kind() {
            io::ErrorKind::NotFound => DirState::Missing,
            _ => {
                let what = format!("the directory cannot be read: {err}");
                let place = Location::file(path.display().to_string());
                findings.push(Diagnostic::error(codes::UNREADABLE_DIR, place, what));
                DirState::Unreadable
            }
        });
        self.res.dirs.push(SearchedDir { path: path.to_owned(), state, findings });
    }

    fn search(&mut self, path: &Path, findings: &mut Findings) -> io::Result<DirState> {
        let real = fs::canonicalize(path)?;
        if self.seen.contains(&real) {
            return Ok(DirState::Repeated);
        }
        self.seen.push(real);
        let absolute = load::absolute(path);
        if self.candidate(path, &absolute) {
            return Ok(DirState::Plugin);
        }

        let mut names = Vec::new();
        let mut state = DirState::Searched;
        for entry in fs::read_dir(path)? {
            // Everything before the failure is known, and stays.
            match entry.and_then(|it| Ok((it.file_type()?, it.file_name()))) {
                Ok((kind, name)) if kind.is_dir() || kind.is_symlink() => names.push(name),
                Ok(_) => {}
                Err(err) => {
                    let what = format!("an entry of the directory cannot be read: {err}");
                    let place = Location::file(path.display().to_string());
                    findings.push(Diagnostic::error(codes::UNREADABLE_DIR, place, what));
                    state = DirState::Unreadable;
                }
            }
        }
        names.sort();
        for name in names {
            self.candidate(&path.join(&name), &absolute.join(&name));
        }
        Ok(state)
    }

    /// Takes in a directory, and says whether it has a manifest.
    fn candidate(&mut self, shown: &Path, dir: &Path) -> bool {
        let source = match load::read_source(&shown.join(MANIFEST_FILE)) {
            Ok(source) => source,
            Err(Unread::Missing) => return false,
            Err(Unread::Found(diagnostic)) => {
                self.refuse(shown, diagnostic);
                return true;
            }
        };
        let root = match json::parse(&source) {
            Ok(root) => root,
            Err(diagnostic) => {
                self.refuse(shown, diagnostic);
                return true;
            }
        };
        let root = At::root(&source, &root);
        let name = root.value().get("name").and_then(|it| it.as_str()).map(ToOwned::to_owned);
        let mut findings = Findings::new();
        let mut plugin = None;
        let verdict = name.as_deref().map_or(Verdict::Pass, |it| self.filter.judge(it));
        let state = match verdict {
            Verdict::Blocked => PluginState::Blocked,
            Verdict::NotAllowed => PluginState::NotAllowed,
            Verdict::Disabled => PluginState::Disabled,
            Verdict::Pass => {
                let place = Place { dir, options: self.options };
                plugin = load::from_json(root, place, &mut findings);
                plugin = plugin.filter(|it| self.claim(it, &mut findings));
                match plugin {
                    None => PluginState::Refused,
                    Some(_) if findings.has_errors() => PluginState::LoadedWithErrors,
                    Some(_) => PluginState::Loaded,
                }
            }
        };
        let plugin = plugin.map(Arc::new);
        self.res.found.push(Found { dir: shown.to_owned(), name, state, plugin, findings });
        true
    }

    fn refuse(&mut self, shown: &Path, diagnostic: Box<Diagnostic>) {
        let mut findings = Findings::new();
        findings.push(diagnostic);
        self.res.found.push(Found {
            dir: shown.to_owned(),
            name: None,
            state: PluginState::Refused,
            plugin: None,
            findings,
        });
    }

    /// Takes the name for a plugin, or says who has it.
    fn claim(&mut self, plugin: &Plugin, findings: &mut Findings) -> bool {
        let place = plugin.name_location();
        if let Some(first) = self.owners.get(plugin.name()) {
            let what = format!("there is another plugin {} before this one", quoted(plugin.name()));
            let mut diag = Diagnostic::error(codes::DUPLICATE_PLUGIN, place, what)
                .with_help("rename one of the two, or block the name that is not wanted")
                .with_related(first.clone(), "it is here first");
            diag.pointer = flyto_diagnostics::Pointer::parse("/name").ok();
            findings.push(diag);
            return false;
        }
        self.owners.insert(plugin.name().to_owned(), place);
        true
    }
}
