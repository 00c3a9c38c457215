//! One plugin: from its directory to what can be used of it.
//!
//! What is lost by a mistake is the smallest part that can be: a tool, a server, at most the
//! plugin. Reading takes at most [`MAX_FILE_BYTES`](flyto_diagnostics::files::MAX_FILE_BYTES) of
//! each file of text, starts no program, and writes nothing.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use flyto_diagnostics::{At, Diagnostic, Findings, Location, Source, Span, json};

use crate::{
    codes,
    files::{Identity, Unread, absolute, read_source},
    manifest::{
        self, CLAUDE_MANIFEST_FILE, Invocation, Lifetime, Manifest, Place, RefusedTool, Seen,
        ToolDef,
    },
    options::LoadOptions,
};

/// The name of the file that makes a directory a plugin.
///
/// A file of any other name can be loaded with [`load`]; a search finds this name only.
pub const MANIFEST_FILE: &str = "plugin.json";

/// A plugin whose head is in order, with those of its tools that are.
///
/// Made by [`load`], [`load_source`] and [`Catalogue::discover`](crate::Catalogue::discover),
/// and never changed: a new version of the files is a new value.
#[derive(Clone, PartialEq)]
pub struct Plugin {
    dir: PathBuf,
    /// The text of the manifest, which schemas and findings refer to.
    source: Source,
    /// Where the value of `name` stands in the text.
    name: Span,
    manifest: Manifest,
    /// Where each tool of the manifest stands, in the same order as `manifest.tools`.
    tools: Vec<Span>,
    refused: Vec<RefusedTool>,
    /// The program that a session keeps running: another one needs another session.
    /// `None` where no tool is of a session, or where the program was not there.
    session_program: Option<Identity>,
}

impl Plugin {
    /// The plugin's name.
    ///
    /// The name that stands before the names of its tools. In a manifest of the format Agent
    /// Plugins it is the written name with `-` for each `.`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// The plugin's directory, absolute.
    ///
    /// Symbolic links on the way stay as they are.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What the manifest says.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The tools that can be used, in the order of the manifest.
    ///
    /// The same as `tools` of [`manifest`](Self::manifest).
    #[must_use]
    pub fn tools(&self) -> &[ToolDef] {
        &self.manifest.tools
    }

    /// The entries of `tools` that cannot be used, in the order of the manifest.
    #[must_use]
    pub fn refused(&self) -> &[RefusedTool] {
        &self.refused
    }

    /// Whether what was read now is what was read then: the text is the same, and what lies around
    /// it, such as the program of a tool, gives it the same meaning.
    ///
    /// Called by a reload, with the earlier state as `other`. Where it is the same the earlier
    /// value stays in use, so a host can keep its tools and their sessions.
    pub(crate) fn is_the_same(&self, other: &Self) -> bool {
        let mut pairs = self.tools().iter().zip(other.tools());
        self.source == other.source
            && self.dir == other.dir
            && self.tools == other.tools
            && self.refused == other.refused
            && self.manifest.servers == other.manifest.servers
            && self.manifest.rules == other.manifest.rules
            // One that is gone is just now built anew.
            && (self.session_program.is_none() || self.session_program == other.session_program)
            && pairs.all(|(a, b)| a.invocation == b.invocation)
    }

    /// Where the entries with this name stand, whether or not they can be used.
    ///
    /// More than one where two entries have the name: the first can be used, the others are
    /// refused.
    pub(crate) fn entries(&self, tool: &str) -> impl Iterator<Item = Span> {
        let usable = self.tools().iter().zip(&self.tools).filter(move |it| it.0.name == tool);
        let refused = self.refused.iter().filter(move |it| it.name.as_deref() == Some(tool));
        usable.map(|it| *it.1).chain(refused.map(|it| it.span))
    }

    /// Where the value of a key stands in the entry of a tool that can be used; `None` where there is none of this name, or
    /// no such key. Reads the entry again.
    #[must_use]
    pub fn tool_value_location(&self, tool: &str, key: &str) -> Option<Location> {
        let at = self.tools().iter().position(|it| it.name == tool)?;
        let entry = *self.tools.get(at)?;
        let text = Source::new("", self.source.text().get(entry.start..entry.end)?);
        let span = json::parse(&text).ok()?.get(key)?.span;
        let span = Span::new(entry.start + span.start, entry.start + span.end);
        Some(Location::text(&self.source, span))
    }

    /// The text of the manifest.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Where the name stands.
    #[must_use]
    pub fn name_location(&self) -> Location {
        Location::text(&self.source, self.name)
    }
}

/// Shows the manifest without its text.
impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plugin")
            .field("dir", &self.dir)
            .field("manifest", &self.manifest)
            .field("refused", &self.refused)
            .finish_non_exhaustive()
    }
}

/// What came of looking at one plugin.
///
/// `plugin` may be there beside errors: those of tools and servers cost only these.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Loaded {
    /// The plugin, unless its head cannot be used.
    pub plugin: Option<Plugin>,
    /// Everything that is wrong or odd about it.
    pub findings: Findings,
}

/// Loads the plugin at `path`: its directory, or the manifest in it by whatever name.
///
/// A relative path is taken from the current directory. Findings name the path as it is given. What
/// cannot be read, is no file or is larger than [`MAX_FILE_BYTES`](flyto_diagnostics::files::MAX_FILE_BYTES) is a finding like any
/// other.
///
/// ```
/// use flyto_plugin::{LoadOptions, codes, load};
///
/// let loaded = load("/no/such/directory", &LoadOptions::new());
/// assert!(loaded.plugin.is_none());
/// let finding = loaded.findings.iter().next().expect("it says why");
/// assert_eq!(finding.code, codes::NO_MANIFEST);
/// ```
#[must_use]
pub fn load(path: impl AsRef<Path>, options: &LoadOptions) -> Loaded {
    let path = path.as_ref();
    let (file, dir) = if path.is_dir() {
        let file = path.join(MANIFEST_FILE);
        let claude = path.join(CLAUDE_MANIFEST_FILE);
        // A link that leads nowhere is a manifest as well.
        let is_claude = fs::symlink_metadata(&file).is_err() && claude.is_file();
        (if is_claude { claude } else { file }, path)
    } else {
        (path.to_owned(), path.parent().unwrap_or(Path::new("")))
    };
    let mut findings = Findings::new();
    let plugin = match read_source(&file) {
        Ok(source) => return load_source(&source, dir, options),
        Err(Unread::Missing) => {
            let name = file.display().to_string();
            let place = Location::file(name);
            let diag = Diagnostic::error(codes::NO_MANIFEST, place, "there is no manifest");
            findings.push(diag.with_help("a plugin is a directory with a `plugin.json`"));
            None
        }
        Err(Unread::Found(diagnostic)) => {
            findings.push(diagnostic);
            None
        }
    };
    Loaded { plugin, findings }
}

/// Loads a plugin from the text of its manifest. Programs and directories that it names are looked
/// for from `dir`, the plugin's directory; a relative one is taken from the current directory.
///
/// For an editor, whose text is not in the file yet. A file `mcp.json` of the format Agent
/// Plugins, or `.mcp.json` of Claude Code, is read from `dir` all the same. A text with a name that ends with
/// [`CLAUDE_MANIFEST_FILE`] is a manifest of Claude Code.
///
/// ```
/// use flyto_diagnostics::Source;
/// use flyto_plugin::{LoadOptions, load_source};
///
/// let text = r#"{
///   "name": "host",
///   "tools": [{"name": "kernel", "description": "Names the kernel.", "command": "uname"}]
/// }"#;
/// let source = Source::new("plugin.json", text);
/// let loaded = load_source(&source, "/opt/plugins/host", &LoadOptions::new());
/// let plugin = loaded.plugin.expect("its head is in order");
/// assert_eq!((plugin.name(), plugin.tools()[0].name.as_str()), ("host", "kernel"));
/// ```
#[must_use]
pub fn load_source(source: &Source, dir: impl AsRef<Path>, options: &LoadOptions) -> Loaded {
    let mut dir = absolute(dir.as_ref());
    let is_claude = Path::new(source.name()).ends_with(CLAUDE_MANIFEST_FILE);
    if is_claude && Path::new(CLAUDE_MANIFEST_FILE).parent().is_some_and(|it| dir.ends_with(it)) {
        dir.pop();
    }
    let mut findings = Findings::new();
    let plugin = match json::parse(source) {
        Ok(root) => {
            let seen = Seen::default();
            let place = Place::new(&dir, options, &seen);
            let place = if is_claude { place.of_claude() } else { place };
            from_json(At::root(source, &root), place, &mut findings)
        }
        Err(diagnostic) => {
            findings.push(diagnostic);
            None
        }
    };
    Loaded { plugin, findings }
}

/// Makes a plugin of a manifest that is JSON.
///
/// `None` when the head cannot be used; `findings` then has at least one error. A search calls
/// it for each manifest whose name the filter lets pass.
pub(crate) fn from_json(root: At<'_>, place: Place<'_>, findings: &mut Findings) -> Option<Plugin> {
    let read = manifest::read(root, place, findings).ok()?;
    Some(plugin(root.source(), place, read))
}

/// Makes a plugin of what its manifest says.
pub(crate) fn plugin(source: &Source, place: Place<'_>, read: manifest::Read) -> Plugin {
    let is_session = |it: &ToolDef| match &it.invocation {
        Invocation::Rpc { path, lifetime: Lifetime::Session { .. } } => Some(place.dir.join(path)),
        _ => None,
    };
    // All tools of a plugin share one program.
    let session = read.manifest.tools.iter().find_map(is_session);
    let session_program = session.and_then(|it| fs::metadata(it).ok()).map(|it| Identity::of(&it));
    Plugin {
        dir: place.dir.to_owned(),
        source: source.clone(),
        name: read.name,
        manifest: read.manifest,
        tools: read.tools,
        refused: read.refused,
        session_program,
    }
}
