//! From directories to plugins.
//!
//! Three steps: list the candidates, read each manifest by itself, and then give out the names
//! in order. Only the last step depends on the other plugins, so the second one may run on
//! several threads.

use std::{
    collections::HashMap,
    ffi::OsString,
    fs,
    hint::black_box,
    io,
    panic::resume_unwind,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

use flyto_diagnostics::{At, Diagnostic, Findings, Location, Pointer, json, quoted};

use super::{
    catalogue::{Asked, Catalogue, DirState, Found, PluginState, SearchedDir},
    last::{Edit, Last},
};
use crate::{
    codes,
    files::{self, Unread},
    filter::{Filter, Verdict},
    load::{self, MANIFEST_FILE, Plugin},
    manifest::{self, CLAUDE_MANIFEST_FILE, Place, Seen},
    options::LoadOptions,
};

impl Catalogue {
    /// Searches directories for plugins, one level deep and following links.
    ///
    /// A directory that has a manifest itself is one plugin, and nothing below it is searched; so a
    /// list may name both collections and single plugins. Directories that are not there are no
    /// problem. Of two plugins with one name the first stays, and the other is refused. Whatever
    /// cannot be read costs itself only.
    ///
    /// Order counts: directories as given, file names in byte order within each. From 64
    /// directories on the manifests are read by up to 8 threads, and the result is the same.
    ///
    /// ```
    /// use flyto_plugin::{Catalogue, DirState, Filter, LoadOptions};
    ///
    /// let found = Catalogue::discover(["/no/such/dir"], &Filter::new(), &LoadOptions::new());
    /// assert_eq!(found.dirs[0].state, DirState::Missing);
    /// assert_eq!(found.plugins().count(), 0);
    /// ```
    #[must_use]
    pub fn discover(
        dirs: impl IntoIterator<Item: AsRef<Path>>,
        filter: &Filter,
        options: &LoadOptions,
    ) -> Self {
        let dirs: Vec<_> = dirs.into_iter().map(|it| it.as_ref().to_owned()).collect();
        let asked = Asked { filter: filter.clone(), options: options.clone() };
        run(&dirs, Arc::new(asked), None)
    }
}

/// Searches directories: those that hold plugins, or are one. With what was there the last time,
/// versions that were good stay in use.
/// `asked` goes into the catalogue, for the next search.
pub(super) fn run(dirs: &[PathBuf], asked: Arc<Asked>, last: Option<&Last<'_>>) -> Catalogue {
    let mut search = Search { asked: &asked, last, seen: Vec::new(), candidates: Vec::new() };
    let dirs = dirs.iter().map(|it| search.dir(it)).collect();
    let found = search.found();
    Catalogue { dirs, found, asked }
}

/// From this number of manifests on, they are read on several threads: to start one costs as much as
/// reading a few.
const MANY: usize = 64;

/// The most threads that read manifests; beyond a few, they wait for the same file system.
const MOST_THREADS: usize = 8;

/// The state of the first step.
struct Search<'a> {
    asked: &'a Asked,
    last: Option<&'a Last<'a>>,
    /// The directories so far, without links.
    seen: Vec<PathBuf>,
    /// Directories that may be plugins, in the order of the result.
    candidates: Vec<Candidate>,
}

/// A directory that may have a manifest.
struct Candidate {
    /// The path as people know it: from the directory that was searched.
    shown: PathBuf,
    /// The same directory from the root on, which the plugin keeps.
    absolute: PathBuf,
}

/// What a manifest says, whatever the other plugins are.
///
/// Made on any thread; nothing in it refers to another plugin.
struct Read {
    /// The name as it is written.
    name: Option<String>,
    /// What the filter says about the name. A plugin that it holds back is not read any further.
    verdict: Verdict,
    /// `None` when the filter holds it back, or its head cannot be used.
    plugin: Option<Plugin>,
    findings: Findings,
}

impl Search<'_> {
    /// Searches one directory, and turns a failure into its state: missing is no finding,
    /// unreadable is one.
    fn dir(&mut self, path: &Path) -> SearchedDir {
        let mut findings = Findings::new();
        let state = self.list(path, &mut findings).unwrap_or_else(|err| match err.kind() {
            io::ErrorKind::NotFound => DirState::Missing,
            _ => {
                let what = format!("the directory cannot be read: {err}");
                let place = Location::file(path.display().to_string());
                findings.push(Diagnostic::error(codes::UNREADABLE_DIR, place, what));
                DirState::Unreadable
            }
        });
        SearchedDir { path: path.to_owned(), state, findings }
    }

    /// Notes what may be a plugin.
    /// A directory with a manifest is one candidate. Otherwise each directory in it is one, and
    /// each link; hidden ones, too. Entries are sorted, because readdir(3) has no order.
    ///
    /// Fails where the directory itself cannot be resolved or opened.
    fn list(&mut self, path: &Path, findings: &mut Findings) -> io::Result<DirState> {
        let real = fs::canonicalize(path)?;
        if self.seen.contains(&real) {
            return Ok(DirState::Repeated);
        }
        self.seen.push(real);
        let absolute = files::absolute(path);
        let has_manifest = || {
            let mut files = [MANIFEST_FILE, CLAUDE_MANIFEST_FILE].into_iter();
            files.any(|it| fs::symlink_metadata(path.join(it)).is_ok())
        };
        let last = self.last.filter(|it| it.plugin(path).is_some());
        if has_manifest() || last.is_some_and(|it| it.after_a_moment(has_manifest)) {
            self.candidates.push(Candidate { shown: path.to_owned(), absolute });
            return Ok(DirState::Plugin);
        }

        let mut names: Vec<OsString> = Vec::new();
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
        // A directory that is just now replaced is not listed, and looked for all the same.
        names.extend(self.last.into_iter().flat_map(|it| it.names_in(path)).map(ToOwned::to_owned));
        names.sort_unstable();
        names.dedup();
        self.candidates.extend(names.iter().map(|name| Candidate {
            shown: files::joined(path, name),
            absolute: files::joined(&absolute, name),
        }));
        Ok(state)
    }

    /// Takes in all candidates. What one says is read first; then their names are given out, in
    /// order.
    /// Manifests that were in use and are gone are looked for once more, all of them after one
    /// moment.
    fn found(self) -> Vec<Found> {
        let Self { asked, last, candidates, .. } = self;
        let mut read = read_all(&candidates, asked);
        if let Some(last) = last {
            let pairs = candidates.iter().zip(&mut read);
            let mut gone: Vec<_> = pairs
                .filter(|(candidate, read)| {
                    read.is_none() && last.plugin(&candidate.shown).is_some()
                })
                .collect();
            if !gone.is_empty() {
                last.after_a_moment(|| {
                    gone.iter_mut().for_each(|(it, read)| **read = it.read(asked, &Seen::default()))
                });
            }
        }
        let mut owners = Owners::default();
        let pairs = candidates.into_iter().zip(read);
        let pairs = pairs.filter_map(|(candidate, read)| Some((candidate.shown, read?)));
        pairs.map(|(dir, read)| settle(dir, read, asked, last, &mut owners)).collect()
    }
}

/// Reads all manifests, on all CPUs where there are many: no manifest depends on another one.
/// Results come in the order of the candidates; `None` is a directory without a manifest. A
/// panic in a thread goes on in this one.
fn read_all(candidates: &[Candidate], asked: &Asked) -> Vec<Option<Read>> {
    let read = |part: &[Candidate], before_some: fn()| {
        let seen = Seen::default();
        let mut res = Vec::with_capacity(part.len());
        for some in part.chunks(SOME) {
            before_some();
            res.extend(some.iter().map(|it| it.read(asked, &seen)));
        }
        res
    };
    let n_threads = match candidates.len() {
        ..MANY => 1,
        _ => thread::available_parallelism().map_or(1, |it| it.get().min(MOST_THREADS)),
    };
    if n_threads == 1 {
        return read(candidates, || {});
    }
    let mut parts = candidates.chunks(candidates.len().div_ceil(n_threads));
    let first = parts.next().unwrap_or_default();
    thread::scope(|scope| {
        let others: Vec<_> = parts.map(|part| scope.spawn(move || read(part, make_room))).collect();
        let mut res = read(first, || {});
        for other in others {
            res.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        res
    })
}

/// So many manifests are read between two calls of [`make_room`]: with ten tools each, what is kept of them fills most of it.
const SOME: usize = 4;

/// Makes the heap of this thread larger in one step, by a piece that is given back at once and stays at its end.
///
/// The GNU C library makes the heap of any thread but the first larger by a few pages at a time, each time with a system call
/// during which no thread of the process gets a page (mprotect(2)): 1,800 calls for 500 plugins of ten tools, and a twentieth
/// of that with the piece. It keeps up to 128 KiB at the end of a heap (mallopt(3), `M_TRIM_THRESHOLD`).
fn make_room() {
    // Without a use, the compiler would leave it out.
    drop(black_box(Vec::<u8>::with_capacity(96 << 10)));
}

impl Candidate {
    /// Reads the manifest, if there is one.
    /// `None` where there is no file. The name is judged before anything else is read, so that a
    /// blocked plugin is not even checked.
    fn read(&self, asked: &Asked, seen: &Seen) -> Option<Read> {
        let mut place = Place::new(&self.absolute, &asked.options, seen);
        let mut read = files::read_source(&files::joined(&self.shown, MANIFEST_FILE));
        if matches!(read, Err(Unread::Missing)) {
            place = place.of_claude();
            read = files::read_source(&self.shown.join(CLAUDE_MANIFEST_FILE));
        }
        let source = match read {
            Ok(source) => source,
            Err(Unread::Missing) => return None,
            Err(Unread::Found(diagnostic)) => return Some(Read::refused(diagnostic)),
        };
        // Most manifests are in order.
        let passes = |name: &str| asked.filter.judge(name) == Verdict::Pass;
        if let Some(read) = manifest::sound::read(&source, place, passes) {
            return Some(Read::sound(load::plugin(&source, place, read)));
        }
        let root = match json::parse(&source) {
            Ok(root) => root,
            Err(diagnostic) => return Some(Read::refused(diagnostic)),
        };
        let root = At::root(&source, &root);
        // The filter knows plugins by the names that they go by.
        let name = manifest::declared_name(root);
        let mut findings = Findings::new();
        let verdict = name.as_deref().map_or(Verdict::Pass, |it| asked.filter.judge(it));
        let plugin = (verdict == Verdict::Pass)
            .then(|| load::from_json(root, place, &mut findings))
            .flatten();
        Some(Read { name, verdict, plugin, findings })
    }
}

impl Read {
    /// A manifest without a finding, whose name the filter lets pass.
    fn sound(plugin: Plugin) -> Self {
        let name = Some(plugin.name().to_owned());
        let (verdict, findings) = (Verdict::Pass, Findings::new());
        Self { name, verdict, plugin: Some(plugin), findings }
    }

    /// A manifest that is no text or no JSON. It has no name, so no filter applies to it.
    fn refused(diagnostic: Box<Diagnostic>) -> Self {
        let mut findings = Findings::new();
        findings.push(diagnostic);
        Self { name: None, verdict: Verdict::Pass, plugin: None, findings }
    }
}

/// Decides what becomes of a plugin, given those before it and what it was the last time.
/// In this order: the filter, the comparison with the last good version, the name. A plugin
/// whose name is taken is refused, also when it was in use before.
fn settle(
    dir: PathBuf,
    read: Read,
    asked: &Asked,
    last: Option<&Last<'_>>,
    owners: &mut Owners,
) -> Found {
    let Read { mut name, verdict, plugin, mut findings } = read;
    let held = match verdict {
        Verdict::Pass => None,
        Verdict::Blocked => Some(PluginState::Blocked),
        Verdict::NotAllowed => Some(PluginState::NotAllowed),
        Verdict::Disabled => Some(PluginState::Disabled),
    };
    if let Some(state) = held {
        return Found { dir, name, state, plugin: None, findings };
    }
    let good = last.and_then(|it| it.plugin(&dir));
    // A version that was good may be kept from use meanwhile.
    let good = good.filter(|it| asked.filter.judge(it.name()) == Verdict::Pass);
    let edit = match good {
        Some(good) => Edit::of(good, plugin),
        None => plugin.map_or(Edit::Unusable, |it| Edit::Good(Arc::new(it))),
    };
    let (plugin, is_kept) = match (edit, good) {
        (Edit::Good(plugin), _) => (Some(plugin), false),
        (Edit::Unusable, Some(good)) => {
            name = Some(good.name().to_owned());
            let what = format!("the last good version of {} is in use", quoted(good.name()));
            let file = Location::file(good.source().name());
            findings.push(Diagnostic::note(codes::KEPT, file, what));
            (Some(Arc::clone(good)), true)
        }
        (Edit::Unusable, None) => (None, false),
    };
    let plugin = plugin.filter(|it| owners.claim(it, &mut findings));
    let state = match &plugin {
        None => PluginState::Refused,
        Some(_) if is_kept => PluginState::Kept,
        Some(_) if findings.has_errors() => PluginState::LoadedWithErrors,
        Some(_) => PluginState::Loaded,
    };
    Found { dir, name, state, plugin, findings }
}

/// Where the first plugin of each name says it.
#[derive(Default)]
struct Owners(HashMap<String, Location>);

impl Owners {
    /// Takes the name for a plugin, or says which plugin has it.
    /// Says `false` after a finding with both places; the plugin is refused then.
    fn claim(&mut self, plugin: &Plugin, findings: &mut Findings) -> bool {
        let place = plugin.name_location();
        if let Some(first) = self.0.get(plugin.name()) {
            let what = format!("there is another plugin {} before this one", quoted(plugin.name()));
            let mut diag = Diagnostic::error(codes::DUPLICATE_PLUGIN, place, what)
                .with_help("rename one of the two, or block the name that is not wanted")
                .with_related(first.clone(), "it is here first");
            diag.pointer = Pointer::parse("/name").ok();
            findings.push(diag);
            return false;
        }
        self.0.insert(plugin.name().to_owned(), place);
        true
    }
}
