//! The tools of each source, and how they get into the registry.
//!
//! A source is a plugin or a file of tool definitions. [`Sources::update`] brings the [`Registry`]
//! to the state of all sources, at the start and at each reload.
//!
//! The tools of a source are exchanged in one step, so a reader of the registry sees the old set or
//! the new one and nothing between. A tool whose declaration is the same keeps its `Arc`, and with
//! it its compiled schema. A source whose edit cannot be read keeps its former tools.
//!
//! Nothing here starts a program. The lock in [`Host`](crate::Host) allows one update at a time.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    mem,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use flyto_diagnostics::{Diagnostic, Findings, Location, Pointer, Source, files, json};
use flyto_execenv::ExecEnv;
use flyto_exectool::{ExecTool, ExecToolDef, HostContext};
use flyto_plugin::{Catalogue, Invocation, Lifetime, Plugin, PluginContext, PluginTool, ToolDef};
use flyto_tools::{LeftOut, Owner, Registry, Tool, Validated};

use crate::{
    codes,
    config::{Config, Listed, is_there},
    report::{ExecFile, ExecFileState, LoadReport},
    settings,
};

/// How long a file may be gone while it is replaced: 50 ms, as for the manifests of plugins. An
/// editor needs far less between taking the old file away and having the new one there.
///
/// Paid at most once for each file in an update, and only where the file had tools before.
const GONE: Duration = Duration::from_millis(50);

/// The sources of a host, and the tools that each has at the moment.
///
/// Between two updates, `slots` are the sources in the order in which they were registered: plugins
/// in the order of the catalogue, then files in the order of the configuration. At the first update
/// an earlier one wins a name over a later one; from then on the source that has a name keeps it.
#[derive(Debug)]
pub(crate) struct Sources {
    env: ExecEnv,
    plugin_ctx: Arc<PluginContext>,
    exec_ctx: Arc<HostContext>,
    /// The files of the configuration, each once. They stay the same for the life of the host.
    exec_files: Vec<PathBuf>,
    /// The directories of plugins that the operator names, and where that is said.
    named_dirs: BTreeMap<PathBuf, Location>,
    /// The plugins to which something is granted, and where that is said.
    granted: BTreeMap<String, Location>,
    /// The plugins that are blocked or allowed by name, and where that is said.
    listed: Vec<Listed>,
    /// Whether the servers that plugins declare are started.
    /// The names of the sandbox profiles that there are.
    profiles: Vec<String>,
    starts_servers: bool,
    slots: Vec<Slot>,
}

/// The tools of one source.
///
/// `tools` are in the order of the declaration, item by item the same as those of `version`.
#[derive(Debug)]
struct Slot {
    owner: Owner,
    /// The file that findings name.
    place: String,
    version: Version,
    /// All of them, also those that another tool keeps out of the registry.
    tools: Vec<Arc<dyn Tool>>,
    /// The tools that are not in the registry, and why. They are offered again at each update, since
    /// a name may be free by then.
    left_out: Vec<LeftOut>,
    /// Whether the registry has still the tools of another version.
    is_new: bool,
}

/// What the tools of a source were made from.
#[derive(Debug)]
enum Version {
    /// The same `Arc` means that no file of the plugin has changed.
    Plugin(Arc<Plugin>),
    /// Compared by value: a file that was written again with the same definitions has not changed.
    File(Vec<ExecToolDef>),
}

impl Sources {
    /// Sources without tools; [`update`](Self::update) loads them.
    pub(crate) fn new(
        env: ExecEnv,
        plugin_ctx: Arc<PluginContext>,
        exec_ctx: HostContext,
        config: &Config,
        starts_servers: bool,
    ) -> Self {
        // A file that is given twice has its tools once.
        let mut seen = HashSet::new();
        let files = config.exec_tools.iter().filter(|it| seen.insert(*it)).cloned().collect();
        let exec_ctx = Arc::new(exec_ctx);
        let named_dirs = settings::named_dirs(config);
        let granted = settings::granted(config);
        let listed = settings::listed(config);
        let profiles = config.sandbox.names().into_iter().map(str::to_owned).collect();
        Self {
            env,
            plugin_ctx,
            exec_ctx,
            exec_files: files,
            named_dirs,
            granted,
            listed,
            profiles,
            starts_servers,
            slots: Vec::new(),
        }
    }

    /// Brings the registry to the plugins of `catalogue` and to the files as they are now. What has
    /// not changed is not touched.
    ///
    /// The order matters. Tools of sources that are gone leave first, then new versions are
    /// offered, then tools that were left out are tried again: a name that one source gives up
    /// reaches the other in the same update.
    pub(crate) fn update(&mut self, registry: &Registry, catalogue: Catalogue) -> LoadReport {
        let mut former: HashMap<Owner, Slot> =
            mem::take(&mut self.slots).into_iter().map(|it| (it.owner.clone(), it)).collect();
        let mut slots = Vec::new();
        for plugin in catalogue.plugins() {
            let owner = Owner::new(format!("plugin {}", plugin.name()));
            let former = former.remove(&owner);
            slots.push(Slot::plugin(owner, plugin, &self.plugin_ctx, former));
        }
        let mut exec_files = Vec::with_capacity(self.exec_files.len());
        for path in &self.exec_files {
            let owner = file_owner(path);
            let (file, slot) = self.file(&owner, path, former.remove(&owner));
            exec_files.push(file);
            if slot.is_none() {
                registry.remove_owner(owner);
            }
            slots.extend(slot);
        }
        // What is left has no plugin any more.
        for owner in former.into_keys() {
            registry.remove_owner(owner);
        }
        for slot in slots.iter_mut().filter(|it| it.is_new) {
            slot.offer(registry);
        }
        // A name that was taken may be free by now.
        for slot in slots.iter_mut().filter(|it| !it.left_out.is_empty()) {
            slot.offer(registry);
        }
        let names = slots.iter().flat_map(Slot::findings).fold(Findings::new(), |mut res, it| {
            res.push(it);
            res
        });
        self.slots = slots;
        let plugins = catalogue.plugins().map(|it| &**it);
        let mut settings = settings::check(
            &self.named_dirs,
            &self.granted,
            &self.listed,
            &catalogue,
            self.starts_servers,
        );
        settings.append(settings::unknown_profiles(&self.profiles, plugins));
        LoadReport { catalogue, exec_files, names, settings, watching: Findings::new() }
    }

    /// Reads one file. A file that cannot be used but is there keeps its former tools (`Kept`),
    /// with a note of the code [`FILE_KEPT`](codes::FILE_KEPT); without former tools it is
    /// `Refused`. A file that is gone after [`GONE`] loses its tools.
    fn file(&self, owner: &Owner, path: &Path, former: Option<Slot>) -> (ExecFile, Option<Slot>) {
        let mut loaded = flyto_exectool::load_file(path);
        if loaded.tools.is_none() && former.is_some() && !is_there(path) {
            thread::sleep(GONE);
            loaded = flyto_exectool::load_file(path);
        }
        let (state, slot) = match loaded.tools {
            Some(defs) => {
                (ExecFileState::Loaded, Some(self.file_slot(owner.clone(), path, defs, former)))
            }
            None if is_there(path) && former.is_some() => {
                let place = Location::file(path.display().to_string());
                let what = "the tools of the last good version are in use";
                loaded.findings.push(Diagnostic::note(codes::FILE_KEPT, place, what));
                (ExecFileState::Kept, former)
            }
            None => (ExecFileState::Refused, None),
        };
        let names = |slot: &Slot| slot.tools.iter().map(|it| it.name().to_owned()).collect();
        let tools = slot.as_ref().map(names);
        let file = ExecFile { path: path.to_owned(), state, tools, findings: loaded.findings };
        // Where a file that was there is gone, its tools go with it.
        (file, slot)
    }

    /// The slot of a file that was read. Where the definitions are those of `former`, it is
    /// returned as it is; else each tool whose definition is the same keeps its `Arc`.
    fn file_slot(
        &self,
        owner: Owner,
        path: &Path,
        defs: Vec<ExecToolDef>,
        former: Option<Slot>,
    ) -> Slot {
        let mut kept: HashMap<String, (ExecToolDef, Arc<dyn Tool>)> = HashMap::new();
        if let Some(former) = former {
            match former.version {
                Version::File(former_defs) if former_defs == defs => {
                    return Slot { version: Version::File(former_defs), ..former };
                }
                Version::File(former_defs) => {
                    let tools = former_defs.into_iter().zip(former.tools);
                    kept.extend(tools.map(|(def, tool)| (def.name().to_owned(), (def, tool))));
                }
                Version::Plugin(_) => {}
            }
        }
        let tools = defs.iter().map(|def| match kept.remove(def.name()) {
            Some((former, tool)) if former == *def => tool,
            _ => {
                let ctx = Arc::clone(&self.exec_ctx);
                checked(ExecTool::new(def.clone(), self.env.clone(), ctx))
            }
        });
        let tools = tools.collect();
        let place = path.display().to_string();
        let version = Version::File(defs);
        Slot { owner, place, version, tools, left_out: Vec::new(), is_new: true }
    }
}

impl Slot {
    /// The slot of a plugin in use. The same `Arc` as in `former` returns that slot as it is. Else
    /// a tool is kept where its definition is the same, the plugin lies in the same directory with
    /// the same version and rules, and the tool has no process that stays.
    fn plugin(
        owner: Owner,
        plugin: &Arc<Plugin>,
        ctx: &Arc<PluginContext>,
        former: Option<Self>,
    ) -> Self {
        let mut kept: HashMap<&str, (&ToolDef, Arc<dyn Tool>)> = HashMap::new();
        let mut old = None;
        if let Some(former) = former {
            match former.version {
                Version::Plugin(it) if Arc::ptr_eq(&it, plugin) => {
                    return Self { version: Version::Plugin(it), ..former };
                }
                Version::Plugin(it) => old = Some((it, former.tools)),
                Version::File(_) => {}
            }
        }
        if let Some((old, tools)) = &old
            && is_alike(old, plugin)
        {
            let defs = old.tools().iter().zip(tools);
            kept.extend(defs.map(|(def, tool)| (def.name.as_str(), (def, Arc::clone(tool)))));
        }
        let tools = PluginTool::all(plugin, ctx).into_iter().zip(plugin.tools());
        let tools = tools.map(|(tool, def)| match kept.remove(def.name.as_str()) {
            Some((former, tool)) if former == def && !has_session(def) => tool,
            _ => checked(tool),
        });
        let tools = tools.collect();
        let place = plugin.source().name().to_owned();
        let version = Version::Plugin(Arc::clone(plugin));
        Self { owner, place, version, tools, left_out: Vec::new(), is_new: true }
    }

    /// Puts the tools into the registry in place of those that the source had, in one step. A tool
    /// whose name leads to another one is left out.
    fn offer(&mut self, registry: &Registry) {
        self.is_new = false;
        let tools = self.tools.iter().cloned();
        self.left_out = registry.replace_owner_where_free(&self.owner, tools).left_out;
    }

    /// One error of the code [`NAME_TAKEN`](codes::NAME_TAKEN) for each tool that was left out, at
    /// the place of its name in the declaring file where that can be found.
    fn findings(&self) -> impl Iterator<Item = Diagnostic> {
        let source = match &self.version {
            _ if self.left_out.is_empty() => None,
            Version::Plugin(plugin) => Some(plugin.source().clone()),
            // It is read once more, since names are seldom taken.
            Version::File(_) => files::open(Path::new(&self.place)).ok(),
        };
        let places = source.as_ref().map(declarations).unwrap_or_default();
        self.left_out.iter().map(move |it| {
            let name = self.tools[it.index].name();
            let name = name.split_once(':').map_or(name, |(_, tool)| tool);
            let (place, pointer) = places.get(name).cloned().unzip();
            let place = place.unwrap_or_else(|| Location::file(self.place.as_str()));
            let found = Diagnostic::error(codes::NAME_TAKEN, place, it.error.to_string());
            let found = pointer.into_iter().fold(found, Diagnostic::with_pointer);
            found.with_help("rename one of the two, or leave out the source that is not wanted")
        })
    }
}

/// Where the names of a file's tools stand, by the name without its plugin's; of equal names the last.
///
/// Handles the three shapes of a file: an object with `tools`, an array of tools, and a single
/// tool. Empty where the text is no JSON any more.
fn declarations(source: &Source) -> HashMap<String, (Location, Pointer)> {
    let Ok(document) = json::parse(source) else { return HashMap::new() };
    let mut pointer = Pointer::root();
    let in_plugin = document.get("tools").inspect(|_| pointer.push("tools"));
    let name_of = |it: &json::Value<'_>, pointer: Pointer| {
        let name = it.get("name")?;
        let place = Location::text(source, name.span);
        Some((name.as_str()?.to_owned(), (place, pointer.join("name"))))
    };
    match in_plugin.unwrap_or(&document).as_array() {
        Some(tools) => {
            let tools = tools.iter().enumerate();
            tools.filter_map(|(index, it)| name_of(it, pointer.join(&index.to_string()))).collect()
        }
        None => name_of(&document, pointer).into_iter().collect(),
    }
}

/// The owner under whose name the tools of a file are registered.
pub(crate) fn file_owner(path: &Path) -> Owner {
    Owner::new(format!("file {}", path.display()))
}

/// A tool whose input is checked. The schema is compiled at the first call: of many tools, few are
/// called.
///
/// Every tool of a host has this type, so that a stage can check its input, and a plan find the tool inside.
pub(crate) fn checked(tool: impl Tool) -> Arc<dyn Tool> {
    let tool: Arc<dyn Tool> = Arc::new(tool);
    Arc::new(Validated::lazy(tool))
}

/// Whether a tool with the same declaration is the same tool in both versions of a plugin.
///
/// Another directory or version may mean another program behind the same declaration, and a tool has the rules
/// of its plugin, with their places.
fn is_alike(old: &Plugin, new: &Plugin) -> bool {
    let (was, is) = (old.manifest(), new.manifest());
    old.dir() == new.dir() && was.version == is.version && was.rules == is.rules
}

/// Whether the tool shares a process with others of its plugin. Then all of them move to the next one.
fn has_session(def: &ToolDef) -> bool {
    matches!(def.invocation, Invocation::Rpc { lifetime: Lifetime::Session { .. }, .. })
}
